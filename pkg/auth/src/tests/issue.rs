//! Certificates for tests.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, date_time_ymd,
};
use rustls::pki_types::CertificateDer;

/// A CA.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
    pub(super) der: CertificateDer<'static>,
}

/// The content of a certificate.
#[derive(Clone)]
pub(super) struct Leaf {
    /// Attributes of the subject.
    pub(super) subject: Vec<(DnType, &'static str)>,
    /// The first day of these years.
    pub(super) years: (i32, i32),
    pub(super) usages: Vec<ExtendedKeyUsagePurpose>,
}

impl Leaf {
    pub(super) fn client(name: &'static str) -> Self {
        Self {
            subject: vec![(DnType::CommonName, name)],
            years: (2025, 2027),
            usages: vec![ExtendedKeyUsagePurpose::ClientAuth],
        }
    }

    pub(super) fn with(mut self, kind: DnType, value: &'static str) -> Self {
        self.subject.push((kind, value));
        self
    }

    fn params(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in &self.subject {
            params.distinguished_name.push(kind.clone(), *value);
        }
        params.not_before = date_time_ymd(self.years.0, 1, 1);
        params.not_after = date_time_ymd(self.years.1, 1, 1);
        params.extended_key_usages.clone_from(&self.usages);
        params
    }
}

impl Authority {
    pub(super) fn new(name: &'static str) -> Self {
        Self::valid(name, (2020, 2040))
    }

    pub(super) fn valid(name: &'static str, years: (i32, i32)) -> Self {
        Self::root(Self::params(name, years))
    }

    /// A CA whose certificate has other content.
    pub(super) fn saying(name: &'static str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut params = Self::params(name, (2020, 2040));
        change(&mut params);
        Self::root(params)
    }

    /// A CA below this one.
    pub(super) fn below(&self, name: &'static str) -> Self {
        self.below_saying(name, |_| {})
    }

    /// A CA below this one, whose certificate has other content.
    pub(super) fn below_saying(
        &self,
        name: &'static str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Self {
        let (mut params, key) = (Self::params(name, (2020, 2040)), KeyPair::generate().unwrap());
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Self::of(params, key, &certificate)
    }

    pub(super) fn issue(&self, leaf: &Leaf) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        leaf.params().signed_by(&key, &self.issuer).unwrap().der().clone()
    }

    fn root(params: CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self::of(params, key, &certificate)
    }

    fn params(name: &'static str, years: (i32, i32)) -> CertificateParams {
        let leaf = Leaf { subject: vec![(DnType::CommonName, name)], years, usages: Vec::new() };
        let mut params = leaf.params();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
    }

    fn of(params: CertificateParams, key: KeyPair, certificate: &rcgen::Certificate) -> Self {
        let (pem, der) = (certificate.pem(), certificate.der().clone());
        Self { issuer: Issuer::new(params, key), pem, der }
    }
}

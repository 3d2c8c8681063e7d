//! A CA bundle: the certificates of one PEM text, and what they may sign.
//!
//! The rules are those of Go's crypto/x509 (`Verify` and `CheckSignatureFrom`): being in the bundle
//! does not make a certificate a CA. It must say that it is one, for how long, for what, and how
//! many CAs may be below it.

use std::time::Duration;

use api::Time;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{
    EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeIdIter, KeyUsage,
    RequiredEkuNotFoundContext, VerifiedPath,
};
use x509_parser::certificate::X509Certificate;
use x509_parser::x509::X509Version;

use crate::certificate::{Validity, parse};

/// The extensions that Go's crypto/x509 knows: a certificate with another critical extension is not
/// valid.
const KNOWN_EXTENSIONS: [&str; 11] = [
    "2.5.29.15",
    "2.5.29.17",
    "2.5.29.19",
    "2.5.29.30",
    "2.5.29.31",
    "2.5.29.32",
    "2.5.29.33",
    "2.5.29.35",
    "2.5.29.36",
    "2.5.29.37",
    "2.5.29.54",
];
/// anyExtendedKeyUsage of RFC 5280.
const ANY_USAGE: [usize; 5] = [2, 5, 29, 37, 0];

/// The certificates of one PEM text.
pub(crate) struct Bundle {
    members: Vec<Member>,
    /// Their source, to detect a change.
    pub(crate) pem: Vec<u8>,
}

/// One certificate of a bundle.
struct Member {
    der: CertificateDer<'static>,
    validity: Validity,
    /// Why it is not valid for clients; none: it is valid.
    useless: Option<&'static str>,
    /// What it may sign, or why it may sign nothing.
    authority: Result<Authority, &'static str>,
}

struct Authority {
    anchor: TrustAnchor<'static>,
    /// How many CAs may be between it and a client; none: any number.
    below_max: Option<u32>,
}

/// Certificates for client authentication: those with that usage, with any usage, or without a
/// usage.
struct ForClients;

// === impl Bundle ===

impl Bundle {
    /// Reads PEM; sections that are not certificates are skipped. An error if one is broken or
    /// there is none, as `NewPoolFromBytes` of k8s.io/client-go's util/cert.
    pub(crate) fn parse(pem: &[u8]) -> Result<Self, String> {
        let mut members = Vec::new();
        for section in CertificateDer::pem_slice_iter(pem) {
            let der = section.map_err(|error| format!("not PEM: {error}"))?;
            let number = members.len() + 1;
            let member = Member::new(der);
            members.push(member.map_err(|error| format!("certificate {number}: {error}"))?);
        }
        if members.is_empty() {
            return Err("holds no certificate".to_owned());
        }
        Ok(Self { members, pem: pem.to_vec() })
    }

    /// The certificates that may not sign others, by their number in the text, and why.
    pub(crate) fn powerless(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let reasons = self.members.iter().map(|member| member.authority.as_ref().err());
        reasons.enumerate().filter_map(|(index, reason)| Some((index + 1, *reason?)))
    }

    /// Verifies a chain: one of the CAs has issued it for a client, and all of it is valid at
    /// `now`; or the client's certificate is in the bundle itself, as in Go. An error says why not.
    /// The chain starts with the client's certificate.
    pub(crate) fn verify(&self, chain: &[CertificateDer<'_>], now: Time) -> Result<(), String> {
        let Some((first, others)) = chain.split_first() else {
            return Err("there is no certificate".to_owned());
        };
        if let Some(itself) = self.members.iter().find(|member| member.der == *first) {
            return itself.is_a_client(now).map_err(str::to_owned);
        }
        let client = EndEntityCert::try_from(first).map_err(|error| in_words(&error))?;
        let others: Vec<_> = others.iter().filter(|der| may_stand_between(der)).cloned().collect();
        let mut reason = "its authority is not known".to_owned();
        for member in &self.members {
            match member.vouches_for(&client, &others, now) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }
}

/// Whether a certificate may sign others, as far as the path builder does not check that.
fn may_stand_between(der: &CertificateDer<'_>) -> bool {
    parse(der).is_ok_and(|certificate| signs_certificates(&certificate))
}

// === impl Member ===

impl Member {
    fn new(der: CertificateDer<'static>) -> Result<Self, String> {
        let (validity, useless, authority) = {
            let certificate = parse(&der)?;
            let useless = uselessness(&certificate).err();
            (Validity::of(&certificate), useless, Authority::new(&der, &certificate)?)
        };
        Ok(Self { der, validity, useless, authority })
    }

    /// Whether its owner is a valid client because this very certificate is in the bundle.
    fn is_a_client(&self, now: Time) -> Result<(), &'static str> {
        match self.useless {
            Some(reason) => Err(reason),
            None if !self.validity.holds(now) => Err("it is not valid now"),
            None => Ok(()),
        }
    }

    /// Whether it issued the client's certificate, directly or through others. An error: it did, or
    /// may have, but the certificate is not valid.
    fn vouches_for(
        &self,
        client: &EndEntityCert<'_>,
        others: &[CertificateDer<'_>],
        now: Time,
    ) -> Result<bool, String> {
        let nanos = u64::try_from(now.unix_nanos()).unwrap_or(0);
        let moment = UnixTime::since_unix_epoch(Duration::from_nanos(nanos));
        let Ok(authority) = &self.authority else { return Ok(false) };
        let fits = |path: &VerifiedPath<'_>| authority.is_high_enough(path);
        let verified = client.verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            std::slice::from_ref(&authority.anchor),
            others,
            moment,
            ForClients,
            None,
            Some(&fits),
        );
        match verified {
            Ok(_) if self.validity.holds(now) => Ok(true),
            Ok(_) => Err("its authority's own certificate is not valid now".to_owned()),
            Err(webpki::Error::UnknownIssuer) => Ok(false),
            Err(error) => Err(in_words(&error)),
        }
    }
}

/// Returns an error if the certificate is not valid at all, or not for clients.
fn uselessness(certificate: &X509Certificate<'_>) -> Result<(), &'static str> {
    let is_known = |oid: &str| KNOWN_EXTENSIONS.contains(&oid);
    let mut demands = certificate.extensions().iter().filter(|extension| extension.critical);
    if !demands.all(|extension| is_known(&extension.oid.to_id_string())) {
        return Err("it has a critical extension that is not known here");
    }
    let usages = certificate.extended_key_usage();
    let usages = usages.map_err(|_| "its extended key usage makes no sense")?;
    match usages {
        Some(usages) if !(usages.value.any || usages.value.client_auth) => {
            Err("its extended key usage leaves out clients")
        }
        Some(_) | None => Ok(()),
    }
}

// === impl Authority ===

impl Authority {
    /// The outer error: the certificate is broken. The inner one: it may sign nothing.
    fn new(
        der: &CertificateDer<'static>,
        certificate: &X509Certificate<'_>,
    ) -> Result<Result<Self, &'static str>, String> {
        let anchor = webpki::anchor_from_trusted_cert(der);
        let anchor = anchor.map_err(|error| format!("not X.509: {error}"))?.to_owned();
        Ok(below_max(certificate).map(|below_max| Self { anchor, below_max }))
    }

    fn is_high_enough(&self, path: &VerifiedPath<'_>) -> Result<(), webpki::Error> {
        let below = path.intermediate_certificates().count();
        match self.below_max {
            Some(max) if below > max as usize => Err(webpki::Error::PathLenConstraintViolated),
            Some(_) | None => Ok(()),
        }
    }
}

/// How many CAs may be below this one, or why it is not a CA, as `CheckSignatureFrom` and `isValid`
/// of Go's crypto/x509.
fn below_max(certificate: &X509Certificate<'_>) -> Result<Option<u32>, &'static str> {
    uselessness(certificate)?;
    let constraints = certificate.basic_constraints();
    let constraints = constraints.map_err(|_| "its basic constraints make no sense")?;
    match &constraints {
        Some(constraints) if !constraints.value.ca => {
            return Err("its basic constraints do not say that it is a CA");
        }
        // Older certificates have no extensions for that.
        None if certificate.version() == X509Version::V3 => {
            return Err("it has no basic constraints to say that it is a CA");
        }
        Some(_) | None => {}
    }
    if !signs_certificates(certificate) {
        return Err("its key usage leaves out the signing of certificates");
    }
    Ok(constraints.and_then(|constraints| constraints.value.path_len_constraint))
}

/// Whether its key usage, if there is one, includes the signing of certificates.
fn signs_certificates(certificate: &X509Certificate<'_>) -> bool {
    match certificate.key_usage() {
        Ok(Some(usage)) => usage.value.flags == 0 || usage.value.key_cert_sign(),
        Ok(None) => true,
        Err(_) => false,
    }
}

// === impl ForClients ===

impl ExtendedKeyUsageValidator for ForClients {
    fn validate(&self, usages: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let mut present = Vec::new();
        for usage in usages {
            let usage = usage?.to_decoded_oid();
            if usage == KeyUsage::CLIENT_AUTH_REPR || usage == ANY_USAGE {
                return Ok(());
            }
            present.push(usage);
        }
        if present.is_empty() {
            return Ok(());
        }
        let required = KeyUsage::client_auth();
        let context = RequiredEkuNotFoundContext { required, present };
        Err(webpki::Error::RequiredEkuNotFoundContext(context))
    }
}

fn in_words(error: &webpki::Error) -> String {
    match error {
        webpki::Error::CertExpired { .. } => "it has expired, or an authority's has".to_owned(),
        webpki::Error::CertNotValidYet { .. } => {
            "it is not valid yet, or an authority's is not".to_owned()
        }
        webpki::Error::RequiredEkuNotFoundContext(_) => {
            "its extended key usage leaves out clients, or an authority's does".to_owned()
        }
        webpki::Error::EndEntityUsedAsCa => "an authority's certificate is none of a CA".to_owned(),
        webpki::Error::PathLenConstraintViolated => {
            "more authorities stand above it than the topmost ones allow".to_owned()
        }
        other => other.to_string(),
    }
}

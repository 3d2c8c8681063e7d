//! The keys of kubelets that join, and what they sign.

#[cfg(test)]
mod tests;

use api::Time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hollow::Wanted;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519, PublicKeyData};
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

/// PKCS 8 around the 32 bytes of a key on Ed25519 (RFC 8410).
const PKCS8: [u8; 16] = [0x30, 46, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 34, 4, 32];

/// Keys on Ed25519 that are made from their seeds, and so no secrets. Neither the keys nor their
/// signatures take any randomness.
pub(crate) struct Keys;

impl hollow::Keys for Keys {
    fn request(&self, seed: &str, wanted: &Wanted) -> String {
        // The API server refuses an empty request, as it does one for a name that no certificate
        // can have.
        signed(seed, wanted).map(|pem| STANDARD.encode(pem)).unwrap_or_default()
    }

    fn validity(&self, seed: &str, certificate: &str) -> Option<(Time, Time)> {
        let (_, pem) = parse_x509_pem(&STANDARD.decode(certificate).ok()?).ok()?;
        let (_, certificate) = X509Certificate::from_der(&pem.contents).ok()?;
        let own = key(seed).ok()?.subject_public_key_info();
        let validity = certificate.validity();
        let [from, until] = [validity.not_before, validity.not_after]
            .map(|time| Time::from_unix(time.timestamp(), 0));
        (certificate.public_key().raw == own).then_some((from, until))
    }
}

fn signed(seed: &str, wanted: &Wanted) -> Result<String, rcgen::Error> {
    let alternatives: Vec<String> =
        wanted.dns_names.iter().chain(&wanted.addresses).cloned().collect();
    let mut params = CertificateParams::new(alternatives)?;
    params.distinguished_name = DistinguishedName::new();
    // In the order in which Go writes them.
    params.distinguished_name.push(DnType::OrganizationName, wanted.organization.as_str());
    params.distinguished_name.push(DnType::CommonName, wanted.common_name.as_str());
    params.serialize_request(&key(seed)?)?.pem()
}

fn key(seed: &str) -> Result<KeyPair, rcgen::Error> {
    let digits = |at: usize| seed.get(2 * at..2 * at + 2).unwrap_or_default();
    let byte = |at: usize| u8::from_str_radix(digits(at), 16).unwrap_or_default();
    let der: Vec<u8> = PKCS8.into_iter().chain((0..32).map(byte)).collect();
    KeyPair::from_pkcs8_der_and_sign_algo(&der.as_slice().into(), &PKCS_ED25519)
}

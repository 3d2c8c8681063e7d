//! The TLS configuration: versions, cipher suites, curves, and client certificates.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring::{self, kx_group};
use rustls::crypto::{
    CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ResolvesServerCert};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};

use crate::{Error, Settings};

/// The suites that both upstream and we support, by upstream's names. The last two names are old
/// ones.
const SUITES: [(&str, CipherSuite); 11] = [
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", ECDSA_AES_128),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", ECDSA_AES_256),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", ECDSA_CHACHA20),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", RSA_AES_128),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", RSA_AES_256),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", RSA_CHACHA20),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", ECDSA_CHACHA20),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", RSA_CHACHA20),
];
const ECDSA_AES_128: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
const ECDSA_AES_256: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384;
const ECDSA_CHACHA20: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256;
const RSA_AES_128: CipherSuite = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
const RSA_AES_256: CipherSuite = CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384;
const RSA_CHACHA20: CipherSuite = CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256;

/// The suites that only upstream supports: they authenticate after encrypting, use RC4, or have no
/// forward secrecy.
const SUITES_NOT_HERE: [&str; 16] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// Go's names of versions. The first two are not supported here.
const VERSIONS: [&str; 4] = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];

/// Go's numbers of curves, and ours where supported: P-521 and the three hybrids of ML-KEM are not.
const CURVES: [(i32, Option<&dyn SupportedKxGroup>); 7] = [
    (23, Some(kx_group::SECP256R1)),
    (24, Some(kx_group::SECP384R1)),
    (25, None),
    (29, Some(kx_group::X25519)),
    (4587, None),
    (4588, None),
    (4589, None),
];

/// Requests client certificates and accepts any, or none. They are verified later, where the CAs
/// are known; here only the client's possession of the key is checked.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

/// The configuration of all connections.
///
/// Sessions are not resumed: clients of this port seldom reconnect, and sessions take memory.
/// Upstream: `tlsConfig` of secure_serving.go, `TLSCipherSuites` and `TLSVersion` of component-base
/// cli/flag/ciphersuites_flag.go, `TLSCurvePreferences` beside it.
pub(crate) fn config(
    settings: &Settings,
    certificates: Arc<dyn ResolvesServerCert>,
) -> Result<ServerConfig, Error> {
    let versions = versions(&settings.min_version)?;
    let mut provider = ring::default_provider();
    choose_suites(&mut provider, &settings.cipher_suites, &versions)?;
    choose_curves(&mut provider, &settings.curves)?;
    let clients = Arc::new(AnyCertificate(provider.signature_verification_algorithms));
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&versions)?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(certificates);
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    let protocols: &[&[u8]] = if settings.http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

/// Whether upstream supports a cipher suite of this name, whether or not we do.
pub fn is_cipher_suite(name: &str) -> bool {
    SUITES.iter().any(|(suite, _)| *suite == name) || SUITES_NOT_HERE.contains(&name)
}

/// Whether `--tls-min-version` accepts this name.
pub fn is_version(name: &str) -> bool {
    VERSIONS.contains(&name)
}

/// Upstream's errors for invalid or repeated numbers of curves (`TLSCurvePreferences` of
/// component-base cli/flag).
pub fn check_curves(numbers: &[i32]) -> Result<(), String> {
    for (index, number) in numbers.iter().enumerate() {
        if u16::try_from(*number).map_or(0, u32::from) == 0 {
            return Err(format!("curve preference {number} is out of range (must be 1-65535)"));
        }
        if numbers[..index].contains(number) {
            return Err(format!("duplicate curve preference {number}"));
        }
        if !CURVES.iter().any(|(curve, _)| curve == number) {
            let why = "is not supported by the current Go version";
            return Err(format!("curve preference {number} {why}"));
        }
    }
    Ok(())
}

fn versions(min: &str) -> Result<Vec<&'static SupportedProtocolVersion>, Error> {
    match min {
        "" | "VersionTLS12" => Ok(vec![&TLS13, &TLS12]),
        "VersionTLS13" => Ok(vec![&TLS13]),
        "VersionTLS10" | "VersionTLS11" => {
            tracing::warn!(asked = min, "--tls-min-version: served from VersionTLS12 on");
            Ok(vec![&TLS13, &TLS12])
        }
        unknown => Err(Error::Version(unknown.to_owned())),
    }
}

fn choose_suites(
    provider: &mut CryptoProvider,
    names: &[String],
    versions: &[&SupportedProtocolVersion],
) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for name in names {
        match SUITES.iter().find(|(suite, _)| suite == name) {
            Some((_, suite)) => kept.push(*suite),
            None if SUITES_NOT_HERE.contains(&name.as_str()) => left_out.push(name.as_str()),
            None => return Err(Error::CipherSuite(name.clone())),
        }
    }
    let left_out = left_out.join(",");
    if kept.is_empty() && versions.contains(&&TLS12) {
        return Err(Error::NoCipherSuite(left_out));
    }
    if !left_out.is_empty() {
        tracing::warn!(left_out, "--tls-cipher-suites: some are not served here");
    }
    // Upstream's TLS 1.3 ignores the list, too.
    provider.cipher_suites.retain(|suite| suite.tls13().is_some() || kept.contains(&suite.suite()));
    Ok(())
}

fn choose_curves(provider: &mut CryptoProvider, numbers: &[i32]) -> Result<(), Error> {
    if numbers.is_empty() {
        return Ok(());
    }
    check_curves(numbers).map_err(Error::Curve)?;
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for (number, group) in CURVES.iter().filter(|(curve, _)| numbers.contains(curve)) {
        match group {
            Some(group) => kept.push(group.name()),
            None => left_out.push(number.to_string()),
        }
    }
    let left_out = left_out.join(",");
    if kept.is_empty() {
        return Err(Error::Curve(format!("none of {left_out} is served here: name 23, 24 or 29")));
    }
    if !left_out.is_empty() {
        tracing::warn!(left_out, "--tls-curve-preferences: some are not served here");
    }
    provider.kx_groups.retain(|group| kept.contains(&group.name()));
    Ok(())
}

// === impl AnyCertificate ===

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

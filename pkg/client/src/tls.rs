//! The TLS configuration for the API server.

use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt as _;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// How a server's certificate is verified.
#[derive(Clone, Copy)]
pub(crate) enum Trust<'a> {
    /// By the CAs in this PEM.
    In(&'a [u8]),
    /// By the system's CAs.
    System,
    /// Not at all: any server is accepted.
    Blind,
    /// No server uses TLS.
    Unneeded,
}

/// TLS with this certificate and key, in PEM. An error names the field.
pub(crate) fn config(
    trust: Trust<'_>,
    identity: Option<(&[u8], &[u8])>,
) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder();
    let algorithms = builder.crypto_provider().signature_verification_algorithms;
    let builder = match trust {
        Trust::In(pem) => builder.with_root_certificates(authorities(pem)?),
        Trust::System => builder.with_native_roots().map_err(|error| {
            format!("certificate-authority: none is named, and the system has none: {error}")
        })?,
        Trust::Blind => {
            let verifier = Arc::new(Blind { schemes: algorithms.supported_schemes() });
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
        Trust::Unneeded => builder.with_root_certificates(RootCertStore::empty()),
    };
    let Some((cert, key)) = identity else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates(cert).map_err(|why| format!("client-certificate: {why}"))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("client-key: {error}"))?;
    let config = builder.with_client_auth_cert(chain, key);
    config.map_err(|error| format!("client-certificate with client-key: {error}"))
}

/// As Go's `AppendCertsFromPEM`: one usable certificate is enough.
fn authorities(pem: &[u8]) -> Result<RootCertStore, String> {
    let failed = |why: &str| format!("certificate-authority: {why}");
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(certificates(pem).map_err(|why| failed(&why))?) {
        (0, _) => Err(failed("there is no certificate in it that can be used")),
        _ => Ok(roots),
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err("there is no certificate in it".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(error.to_string()),
    }
}

/// `insecure-skip-tls-verify`: the server is not verified. Its signature would only prove that it
/// has the key of a certificate that is not checked.
#[derive(Debug)]
struct Blind {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Blind {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

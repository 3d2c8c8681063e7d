//! Whether the author of a request has the private key. As `CheckSignature` of a
//! `CertificateRequest` of Go's crypto/x509, as far as ring knows the algorithms: SHA-1 counts
//! here, and so do RSA keys of 1024 bits.

use api::CertificateRequest;
use ring::signature::{self as by, UnparsedPublicKey, VerificationAlgorithm};
use rustls::pki_types::{AlgorithmIdentifier as KnownAlgorithm, alg_id};
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

type Algorithm = &'static dyn VerificationAlgorithm;

/// The contents of object identifiers.
mod oid {
    pub(super) const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
    pub(super) const RSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5];
    /// Its name by another standard.
    pub(super) const RSA_SHA1_TOO: &[u8] = &[0x2b, 0x0e, 3, 2, 29];
    pub(super) const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
    pub(super) const RSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12];
    pub(super) const RSA_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13];
    pub(super) const RSA_PSS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10];
    pub(super) const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
    pub(super) const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    pub(super) const P384: &[u8] = &[0x2b, 0x81, 4, 0, 34];
    pub(super) const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    pub(super) const ECDSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
    /// Of keys and of signatures.
    pub(super) const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
}

/// The error says why that is not known.
pub(super) fn verify(request: &CertificateRequest) -> Result<(), String> {
    let unreadable = |what: &str| format!("its {what} cannot be read");
    let parsed = SubjectPublicKeyInfo::from_der(&request.public_key);
    let (_, key) = parsed.map_err(|_| unreadable("public key"))?;
    let parsed = AlgorithmIdentifier::from_der(&request.proof.algorithm);
    let (_, signature) = parsed.map_err(|_| unreadable("algorithm"))?;
    let unknown = "its public key and its signature are not both of RSA, ECDSA on P-256 or P-384, \
                   or Ed25519";
    let algorithm = algorithm(&key.algorithm, &signature, &request.proof.algorithm);
    let algorithm = algorithm.ok_or(unknown)?;
    let key = UnparsedPublicKey::new(algorithm, &*key.subject_public_key.data);
    let verified = key.verify(&request.proof.signed, &request.proof.signature);
    verified.map_err(|_| "it is not that of the public key".to_owned())
}

/// How a signature with this algorithm (`der`) is verified with a key of this one.
fn algorithm(
    key: &AlgorithmIdentifier<'_>,
    signature: &AlgorithmIdentifier<'_>,
    der: &[u8],
) -> Option<Algorithm> {
    let kind = signature.algorithm.as_bytes();
    match key.algorithm.as_bytes() {
        oid::RSA => rsa(kind, der),
        oid::EC => {
            let curve = key.parameters.as_ref()?.as_oid().ok()?;
            ecdsa(curve.as_bytes(), kind)
        }
        oid::ED25519 if kind == oid::ED25519 && signature.parameters.is_none() => {
            Some(&by::ED25519)
        }
        _ => None,
    }
}

fn rsa(kind: &[u8], der: &[u8]) -> Option<Algorithm> {
    // Behind identifier and length, which is below 128.
    let content = der.get(2..)?;
    let is = |known: KnownAlgorithm| *content == *known;
    Some(match kind {
        oid::RSA_SHA1 | oid::RSA_SHA1_TOO => &by::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
        oid::RSA_SHA256 => &by::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        oid::RSA_SHA384 => &by::RSA_PKCS1_2048_8192_SHA384,
        oid::RSA_SHA512 => &by::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        oid::RSA_PSS if is(alg_id::RSA_PSS_SHA256) => &by::RSA_PSS_2048_8192_SHA256,
        oid::RSA_PSS if is(alg_id::RSA_PSS_SHA384) => &by::RSA_PSS_2048_8192_SHA384,
        oid::RSA_PSS if is(alg_id::RSA_PSS_SHA512) => &by::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn ecdsa(curve: &[u8], kind: &[u8]) -> Option<Algorithm> {
    Some(match (curve, kind) {
        (oid::P256, oid::ECDSA_SHA256) => &by::ECDSA_P256_SHA256_ASN1,
        (oid::P256, oid::ECDSA_SHA384) => &by::ECDSA_P256_SHA384_ASN1,
        (oid::P384, oid::ECDSA_SHA256) => &by::ECDSA_P384_SHA256_ASN1,
        (oid::P384, oid::ECDSA_SHA384) => &by::ECDSA_P384_SHA384_ASN1,
        _ => return None,
    })
}

//! Detached signatures. As `ComputeDetachedSignature` in cluster-bootstrap's token/jws.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// Computes HMACs.
pub trait Hmac: Send + Sync + fmt::Debug {
    /// HMAC of a message with SHA-256.
    fn sha256(&self, key: &[u8], message: &[u8]) -> [u8; 32];
}

/// The signature of `content` by a token, in the compact form of RFC 7515 without the content. The
/// id needs no escapes: it is letters and digits.
pub(super) fn detached(hmac: &dyn Hmac, content: &str, id: &str, secret: &[u8]) -> String {
    let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let header = encode(format!(r#"{{"alg":"HS256","kid":"{id}"}}"#).as_bytes());
    let signed = format!("{header}.{}", encode(content.as_bytes()));
    format!("{header}..{}", encode(&hmac.sha256(secret, signed.as_bytes())))
}

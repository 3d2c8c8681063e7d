//! What the bootstrap signer signs with: ring, which the connections are made with anyway.

use controllers::bootstrapsigner::Hmac;
use ring::hmac::{HMAC_SHA256, Key, sign};

/// HMACs by ring.
#[derive(Debug)]
pub(crate) struct RingHmac;

impl Hmac for RingHmac {
    fn sha256(&self, key: &[u8], message: &[u8]) -> [u8; 32] {
        let tag = sign(&Key::new(HMAC_SHA256, key), message);
        tag.as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;

    use super::*;

    /// `TestSimpleSign` of upstream's pkg/controller/bootstrap.
    #[test]
    fn a_signature_is_upstreams() {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let header = encode(br#"{"alg":"HS256","kid":"abc123"}"#);
        let signed = format!("{header}.{}", encode(b"payload"));
        let signature = encode(&RingHmac.sha256(b"tokenSecret", signed.as_bytes()));
        assert_eq!(signature, "QSxpUG7Q542CirTI2ECPSZjvBOJURUW5a7XqFpNI958");
    }
}

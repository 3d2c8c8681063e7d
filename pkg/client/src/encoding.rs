//! Texts as parts of an address, and base64.

use std::fmt::Write as _;

use k8s_openapi::ByteString;

/// `text` as the value of a query parameter: all but unreserved characters as `%XX` (RFC 3986).
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => write!(encoded, "%{byte:02X}").expect("a String takes all text"),
        }
    }
    encoded
}

/// What `%XX` stand for; none: it is broken.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// As in Secrets and kubeconfigs.
pub(crate) fn base64(bytes: &[u8]) -> String {
    match serde_json::to_value(ByteString(bytes.to_vec())) {
        Ok(serde_json::Value::String(encoded)) => encoded,
        // Its serialization is a string and cannot fail.
        Ok(_) | Err(_) => String::new(),
    }
}

//! Texts as parts of an address or a header, and base64.

use std::fmt::Write as _;

use http::HeaderValue;
use k8s_openapi::ByteString;

/// `text` as the value of a query parameter: all but unreserved characters as `%XX` (RFC 3986).
pub fn percent_encoded(text: &str) -> String {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    percent_encoded_unless(text, is_unreserved)
}

/// `text` with everything as `%XX` except plain characters.
pub(crate) fn percent_encoded_unless(text: &str, is_plain: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a String takes all text");
        }
    }
    encoded
}

/// Decodes `%XX`; none: it is broken.
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

/// Decodes base64; none: it is broken. As in Go, line breaks are skipped.
pub(crate) fn base64_decoded(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|it| !matches!(it, '\r' | '\n')).collect();
    serde_json::from_value::<ByteString>(text.into()).ok().map(|bytes| bytes.0)
}

/// The header `Authorization` with a token; none: the token cannot be sent.
pub(crate) fn bearer(token: &[u8]) -> Option<HeaderValue> {
    secret(&[b"Bearer ", token.trim_ascii()].concat())
}

/// The header `Authorization` with a name and a password.
pub(crate) fn basic(name: &str, password: &str) -> Option<HeaderValue> {
    secret(format!("Basic {}", base64(format!("{name}:{password}").as_bytes())).as_bytes())
}

fn secret(text: &[u8]) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_bytes(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

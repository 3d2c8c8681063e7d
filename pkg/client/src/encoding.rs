//! Texts as parts of an address.

use std::fmt::Write as _;

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

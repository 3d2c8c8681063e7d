//! How long a certificate is valid.
//!
//! The API server stores what Go's parser reads as certificates, so no more is looked at here than
//! leads to the date.

use asn1_rs::{FromDer as _, Header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{Time, go};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Identifier octets.
mod tag {
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const UTC_TIME: u8 = 0x17;
    pub(super) const GENERALIZED_TIME: u8 = 0x18;
    /// `[0]`, constructed.
    pub(super) const VERSION: u8 = 0xa0;
}

/// `notAfter` of the first certificate in base64 of a PEM text.
pub(crate) fn not_after(base64: &str) -> Option<Time> {
    let pem = String::from_utf8(STANDARD.decode(base64).ok()?).ok()?;
    of_der(&first_block(&pem)?)
}

/// What the first block holds, whatever it is called: as upstream, which decodes it once.
fn first_block(pem: &str) -> Option<Vec<u8>> {
    let mut lines = pem.lines().skip_while(|line| !line.starts_with(BEGIN)).skip(1);
    let body: String = lines.by_ref().take_while(|line| !line.starts_with(END)).collect();
    let body: String = body.chars().filter(|char| !char.is_ascii_whitespace()).collect();
    STANDARD.decode(body).ok()
}

/// Reads as much of `Certificate` of RFC 5280 as it takes.
fn of_der(der: &[u8]) -> Option<Time> {
    let (mut certificate, _) = take(der, tag::SEQUENCE)?;
    let (mut content, _) = take(certificate, tag::SEQUENCE)?;
    if let Some((_, rest)) = take(content, tag::VERSION) {
        content = rest;
    }
    // Serial number, algorithm of the signature, issuer.
    for _ in 0..3 {
        (_, _, content) = any(content)?;
    }
    (certificate, _) = take(content, tag::SEQUENCE)?;
    let (_, _, rest) = any(certificate)?;
    let (identifier, text, _) = any(rest)?;
    let text = std::str::from_utf8(text).ok()?;
    match identifier {
        tag::UTC_TIME => {
            // RFC 5280, section 4.1.2.5.1.
            let century = if text.get(..2)? < "50" { "20" } else { "19" };
            date(&format!("{century}{text}"))
        }
        tag::GENERALIZED_TIME => date(text),
        _ => None,
    }
}

/// `YYYYMMDDhhmmssZ`.
fn date(text: &str) -> Option<Time> {
    let digits = text.strip_suffix('Z').filter(|it| it.len() == 14 && it.is_ascii())?;
    let part = |from: usize, to: usize| &digits[from..to];
    let (day, time) = (
        [part(0, 4), part(4, 6), part(6, 8)].join("-"),
        [part(8, 10), part(10, 12), part(12, 14)].join(":"),
    );
    go::parse_rfc3339(format!("{day}T{time}Z").as_bytes())
}

/// The content of the first element, which has this identifier, and what follows it.
fn take(der: &[u8], expected: u8) -> Option<(&[u8], &[u8])> {
    let (identifier, content, rest) = any(der)?;
    (identifier == expected).then_some((content, rest))
}

/// Identifier and content of the first element, and what follows it.
fn any(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let identifier = *der.first()?;
    let (rest, header) = Header::from_der(der).ok()?;
    let (content, rest) = rest.split_at_checked(header.length().definite().ok()?)?;
    Some((identifier, content, rest))
}

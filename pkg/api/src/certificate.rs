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
const END_OF_LINE: &str = "-----";

/// Identifier octets.
mod tag {
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const UTC_TIME: u8 = 0x17;
    pub(super) const GENERALIZED_TIME: u8 = 0x18;
    /// `[0]`, constructed.
    pub(super) const VERSION: u8 = 0xa0;
}

/// Whether a date has seconds.
#[derive(Clone, Copy)]
enum Seconds {
    MustBeThere,
    MayLack,
}

/// `notAfter` of the first certificate in base64 of a PEM text.
pub(crate) fn not_after(base64: &str) -> Option<Time> {
    let pem = STANDARD.decode(base64).ok()?;
    // Around the blocks there may be any bytes.
    of_der(&first_block(&String::from_utf8_lossy(&pem))?)
}

/// What the first block holds, whatever it is called: as upstream, which decodes it once. As Go's
/// encoding/pem, a line that begins a block counts for nothing if another one follows it before the
/// end, nor does a block that is no base64.
fn first_block(pem: &str) -> Option<Vec<u8>> {
    let mut body: Option<String> = None;
    for line in pem.lines().map(str::trim_end) {
        if line.starts_with(BEGIN) {
            body = line.ends_with(END_OF_LINE).then(String::new);
        } else if line.starts_with(END) {
            let block = body.take().and_then(|body| STANDARD.decode(body).ok());
            if block.is_some() {
                return block;
            }
        } else if let Some(body) = &mut body {
            body.extend(line.chars().filter(|char| !char.is_ascii_whitespace()));
        }
    }
    None
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
            date(&format!("{century}{text}"), Seconds::MayLack)
        }
        tag::GENERALIZED_TIME => date(text, Seconds::MustBeThere),
        _ => None,
    }
}

/// `YYYYMMDDhhmmss`, and `Z` or, as Go reads it, an offset such as `+0530`. The seconds may be left
/// out of the short form, as `ReadASN1UTCTime` of Go's cryptobyte reads it.
fn date(text: &str, seconds: Seconds) -> Option<Time> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, zone) = text.split_at(digits);
    let second = match (digits.len(), seconds) {
        (14, _) => &digits[12..],
        (12, Seconds::MayLack) => "00",
        _ => return None,
    };
    let zone = match zone.as_bytes() {
        b"Z" => "Z".to_owned(),
        // No offset is written as `Z`.
        [b'+' | b'-', offset @ ..] if offset.len() == 4 && offset != b"0000" => {
            format!("{}:{}", zone.get(..3)?, zone.get(3..)?)
        }
        _ => return None,
    };
    let part = |from: usize, to: usize| &digits[from..to];
    let (day, time) = (
        [part(0, 4), part(4, 6), part(6, 8)].join("-"),
        [part(8, 10), part(10, 12), second].join(":"),
    );
    go::parse_rfc3339(format!("{day}T{time}{zone}").as_bytes())
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

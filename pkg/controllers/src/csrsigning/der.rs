//! DER that is written: as much as a certificate takes.

use api::Time;

/// Identifier octets.
pub(super) mod tag {
    pub(in super::super) const BOOLEAN: u8 = 0x01;
    pub(in super::super) const INTEGER: u8 = 0x02;
    pub(in super::super) const BIT_STRING: u8 = 0x03;
    pub(in super::super) const OCTET_STRING: u8 = 0x04;
    pub(in super::super) const OBJECT_IDENTIFIER: u8 = 0x06;
    pub(in super::super) const UTF8_STRING: u8 = 0x0c;
    pub(in super::super) const PRINTABLE_STRING: u8 = 0x13;
    pub(in super::super) const UTC_TIME: u8 = 0x17;
    pub(in super::super) const GENERALIZED_TIME: u8 = 0x18;
    pub(in super::super) const SEQUENCE: u8 = 0x30;
    pub(in super::super) const SET: u8 = 0x31;
    /// `[n]`, primitive.
    pub(in super::super) const fn context(n: u8) -> u8 {
        0x80 | n
    }
    /// `[n]`, constructed.
    pub(in super::super) const fn wrapper(n: u8) -> u8 {
        0xa0 | n
    }
}

/// An element with this content.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let start = length.iter().position(|octet| *octet != 0).unwrap_or(length.len());
    let digits = &length[start..];
    let mut out = Vec::with_capacity(content.len() + digits.len() + 2);
    out.push(tag);
    match digits {
        [] => out.push(0),
        [short @ 0..0x80] => out.push(*short),
        long => {
            // At most eight of them.
            out.push(0x80 | u8::try_from(long.len()).unwrap_or_default());
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(content);
    out
}

/// An element with these elements.
pub(super) fn nest<T: AsRef<[u8]>>(tag: u8, elements: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut content = Vec::new();
    elements.into_iter().for_each(|it| content.extend_from_slice(it.as_ref()));
    element(tag, &content)
}

/// A number that is not negative.
pub(super) fn number(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|octet| *octet != 0).unwrap_or(bytes.len());
    let digits = &bytes[start..];
    // One whose first bit is set would be negative; zero has one octet.
    let sign: &[u8] = if digits.first().is_none_or(|octet| *octet >= 0x80) { &[0] } else { &[] };
    element(tag::INTEGER, &[sign, digits].concat())
}

/// Octets as a bit string.
pub(super) fn bits(octets: &[u8]) -> Vec<u8> {
    element(tag::BIT_STRING, &[&[0], octets].concat())
}

/// Named bits, the first one being the most significant: without the zeros at the end.
pub(super) fn flags(flags: u16) -> Vec<u8> {
    let octets = flags.to_be_bytes();
    let octets = if octets[1] == 0 { &octets[..1] } else { &octets[..] };
    let unused = octets.last().map_or(0, |last| last.trailing_zeros().min(7));
    let unused = [u8::try_from(unused).unwrap_or_default()];
    element(tag::BIT_STRING, &[&unused, octets].concat())
}

/// A text of a name, in the smallest set of characters: as Go's encoding/asn1 writes it.
pub(super) fn text(text: &str) -> Vec<u8> {
    let is_printable = |byte: u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte);
    let is_printable = text.bytes().all(is_printable);
    let tag = if is_printable { tag::PRINTABLE_STRING } else { tag::UTF8_STRING };
    element(tag, text.as_bytes())
}

/// A moment, cut to its second (RFC 5280, section 4.1.2.5).
pub(super) fn time(time: Time) -> Vec<u8> {
    let digits: String = time.to_string().chars().filter(char::is_ascii_digit).collect();
    // The first two digits of years from 1950 to 2049 are left out.
    let is_near = ("1950".."2050").contains(&&digits[..4]);
    let (tag, start) = if is_near { (tag::UTC_TIME, 2) } else { (tag::GENERALIZED_TIME, 0) };
    element(tag, format!("{}Z", &digits[start..]).as_bytes())
}

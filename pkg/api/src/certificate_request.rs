//! A request for a certificate (PKCS #10).
//!
//! The API server stores what Go's parser reads, and signers read it with Go's parser. So this one
//! is never more lenient: what it does not understand to the last byte it refuses. Two readers that
//! disagree about a request would approve one certificate and sign another.

use std::collections::BTreeSet;

use asn1_rs::{FromDer as _, Header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What is read of a request for a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateRequest {
    /// The subject of the certificate.
    pub subject: Subject,
    /// As what else the subject should be known.
    pub alternatives: Alternatives,
    /// `subjectPKInfo`, DER.
    pub public_key: Box<[u8]>,
    /// The proof that its author has the private key.
    pub proof: Proof,
}

/// What of a subject gets into a certificate: the attributes that Go's `pkix.Name` knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// `C`, in their order; so are all lists.
    pub countries: Vec<String>,
    /// `ST`.
    pub provinces: Vec<String>,
    /// `L`.
    pub localities: Vec<String>,
    /// `STREET`.
    pub streets: Vec<String>,
    /// `postalCode`.
    pub postal_codes: Vec<String>,
    /// `O`.
    pub organizations: Vec<String>,
    /// `OU`.
    pub units: Vec<String>,
    /// The last `CN`; empty if there is none.
    pub common_name: String,
    /// The last `serialNumber`; empty if there is none.
    pub serial_number: String,
}

/// The names in `subjectAltName`; those of other kinds count for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alternatives {
    /// `dNSName`, in their order, in ASCII; so are all lists.
    pub dns: Vec<String>,
    /// `rfc822Name`.
    pub emails: Vec<String>,
    /// `iPAddress`: four octets, or sixteen. One of IPv4 that is written as IPv6 has four.
    pub addresses: Vec<Box<[u8]>>,
    /// `uniformResourceIdentifier`, as it is written, but for the scheme, which is in lower case.
    pub uris: Vec<String>,
}

/// A signature, and what it is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// `signatureAlgorithm`, DER.
    pub algorithm: Box<[u8]>,
    /// `certificationRequestInfo`, DER: what is signed.
    pub signed: Box<[u8]>,
    /// The signature.
    pub signature: Box<[u8]>,
}

/// Why a request cannot be read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct RequestError(pub String);

/// Identifier octets.
mod tag {
    pub(super) const BOOLEAN: u8 = 0x01;
    pub(super) const INTEGER: u8 = 0x02;
    pub(super) const BIT_STRING: u8 = 0x03;
    pub(super) const OCTET_STRING: u8 = 0x04;
    pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
    pub(super) const UTF8_STRING: u8 = 0x0c;
    pub(super) const NUMERIC_STRING: u8 = 0x12;
    pub(super) const PRINTABLE_STRING: u8 = 0x13;
    pub(super) const T61_STRING: u8 = 0x14;
    pub(super) const IA5_STRING: u8 = 0x16;
    pub(super) const BMP_STRING: u8 = 0x1e;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const SET: u8 = 0x31;
    /// `[0]`, constructed.
    pub(super) const ATTRIBUTES: u8 = 0xa0;
}

/// The contents of object identifiers.
mod oid {
    /// The types of attributes of a subject; their last octet follows.
    pub(super) const ATTRIBUTE: &[u8] = &[0x55, 4];
    pub(super) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
    /// `extensionRequest` of PKCS #9.
    pub(super) const EXTENSION_REQUEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];
}

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const LABEL: &str = "CERTIFICATE REQUEST-----";

type Read<T> = Result<T, RequestError>;

/// DER that is read from the front.
struct Der<'a>(&'a [u8]);

// === impl CertificateRequest ===

impl CertificateRequest {
    /// Reads what `spec.request` holds in JSON: base64 of a PEM text.
    pub fn from_base64(text: &str) -> Read<Self> {
        let pem = STANDARD.decode(text).map_err(|error| wrong(&format!("base64: {error}")))?;
        let pem = std::str::from_utf8(&pem).map_err(|_| wrong("the PEM text is not UTF-8"))?;
        Self::from_pem(pem)
    }

    /// Reads the first block of a PEM text, which may have other text around it.
    pub fn from_pem(pem: &str) -> Read<Self> {
        Self::from_der(&block(pem)?)
    }

    /// Reads `CertificationRequest` of RFC 2986. Neither the key nor the signature is verified: the
    /// API server has done that.
    pub fn from_der(der: &[u8]) -> Read<Self> {
        let mut whole = Der(der);
        let mut request = whole.sequence("the request")?;
        whole.end("the request")?;
        let signed = request.element("certificationRequestInfo")?;
        let mut info = Der(signed).sequence("certificationRequestInfo")?;
        let algorithm = request.element("signatureAlgorithm")?;
        Der(algorithm).sequence("signatureAlgorithm")?;
        let signature = request.take(tag::BIT_STRING, "signature")?;
        request.end("signature")?;
        // The first octet counts the bits of the last one that do not count; in a signature all do.
        let Some((0, signature)) = signature.split_first() else {
            return Err(wrong("signature has no whole octets"));
        };

        info.take(tag::INTEGER, "version")?;
        let subject = Subject::read(info.sequence("subject")?)?;
        let public_key = info.element("subjectPKInfo")?;
        Der(public_key).sequence("subjectPKInfo")?;
        let attributes = Der(info.take(tag::ATTRIBUTES, "attributes")?);
        info.end("attributes")?;
        let proof = Proof {
            algorithm: algorithm.into(),
            signed: signed.into(),
            signature: signature.into(),
        };
        let alternatives = Alternatives::default();
        let mut found = Self { subject, alternatives, public_key: public_key.into(), proof };
        found.read_attributes(attributes)?;
        Ok(found)
    }

    fn read_attributes(&mut self, mut attributes: Der<'_>) -> Read<()> {
        let mut known = BTreeSet::new();
        while !attributes.is_empty() {
            let mut attribute = attributes.sequence("an attribute")?;
            let kind = attribute.take(tag::OBJECT_IDENTIFIER, "the type of an attribute")?;
            let mut values = Der(attribute.take(tag::SET, "the values of an attribute")?);
            attribute.end("an attribute")?;
            if kind != oid::EXTENSION_REQUEST {
                continue;
            }
            let mut extensions = values.sequence("extensionRequest")?;
            values.end("extensionRequest")?;
            while !extensions.is_empty() {
                let (kind, value) = extension(extensions.sequence("an extension")?)?;
                if !known.insert(kind) {
                    return Err(wrong("an extension is requested twice"));
                }
                if kind == oid::SUBJECT_ALT_NAME {
                    self.alternatives = Alternatives::read(value)?;
                }
            }
        }
        Ok(())
    }
}

impl Subject {
    /// As `FillFromRDNSequence` of Go's crypto/x509/pkix.
    fn read(mut names: Der<'_>) -> Read<Self> {
        let mut found = Self::default();
        while !names.is_empty() {
            let mut together = Der(names.take(tag::SET, "a name of the subject")?);
            while !together.is_empty() {
                let mut name = together.sequence("a name of the subject")?;
                let kind = name.take(tag::OBJECT_IDENTIFIER, "the type of a name")?;
                let (identifier, value) = name.any("the value of a name")?;
                name.end("a name of the subject")?;
                if let Some([kind]) = kind.strip_prefix(oid::ATTRIBUTE) {
                    found.add(*kind, identifier, value)?;
                }
            }
        }
        Ok(found)
    }

    /// Takes an attribute whose type ends with `kind`.
    fn add(&mut self, kind: u8, identifier: u8, value: &[u8]) -> Read<()> {
        let list = match kind {
            3 => {
                self.common_name = text(identifier, value)?;
                return Ok(());
            }
            5 => {
                self.serial_number = text(identifier, value)?;
                return Ok(());
            }
            6 => &mut self.countries,
            7 => &mut self.localities,
            8 => &mut self.provinces,
            9 => &mut self.streets,
            10 => &mut self.organizations,
            11 => &mut self.units,
            17 => &mut self.postal_codes,
            _ => return Ok(()),
        };
        list.push(text(identifier, value)?);
        Ok(())
    }
}

impl Alternatives {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As `parseSANExtension` of Go's crypto/x509.
    fn read(value: &[u8]) -> Read<Self> {
        let mut found = Self::default();
        let mut value = Der(value);
        let mut names = value.sequence("subjectAltName")?;
        value.end("subjectAltName")?;
        while !names.is_empty() {
            match names.any("subjectAltName")? {
                (0x81, email) => found.emails.push(ascii(email)?),
                (0x82, name) => found.dns.push(ascii(name)?),
                (0x86, uri) => found.uris.push(uri_of(uri)?),
                (0x87, address) => found.addresses.push(address_of(address)?),
                _ => {}
            }
        }
        Ok(found)
    }
}

fn ascii(name: &[u8]) -> Read<String> {
    let text = std::str::from_utf8(name).ok().filter(|name| name.is_ascii());
    text.map(str::to_owned).ok_or_else(|| wrong("a name of subjectAltName is not ASCII"))
}

/// Go parses a URI and writes it anew.
fn uri_of(uri: &[u8]) -> Read<String> {
    let mut uri = ascii(uri)?;
    let scheme = uri.find(|char: char| !(char.is_ascii_alphanumeric() || "+-.".contains(char)));
    if let Some(end) = scheme.filter(|end| uri[*end..].starts_with(':')) {
        uri[..end].make_ascii_lowercase();
    }
    Ok(uri)
}

fn address_of(address: &[u8]) -> Read<Box<[u8]>> {
    const MAPPED: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    match (address.len(), address.strip_prefix(MAPPED)) {
        (16, Some(four)) => Ok(four.into()),
        (4 | 16, _) => Ok(address.into()),
        _ => Err(wrong("an address of subjectAltName has a wrong length")),
    }
}

/// The object identifier and the value of an extension.
fn extension(mut extension: Der<'_>) -> Read<(&[u8], &[u8])> {
    let kind = extension.take(tag::OBJECT_IDENTIFIER, "the type of an extension")?;
    let (mut identifier, mut value) = extension.any("an extension")?;
    if identifier == tag::BOOLEAN {
        (identifier, value) = extension.any("the value of an extension")?;
    }
    extension.end("an extension")?;
    if identifier != tag::OCTET_STRING {
        return Err(wrong("the value of an extension has an unexpected type"));
    }
    Ok((kind, value))
}

/// A text in a subject, as Go's encoding/asn1 reads it. Types that it skips are refused.
fn text(identifier: u8, value: &[u8]) -> Read<String> {
    let is_printable = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(byte);
    let is_numeric = |byte: &u8| byte.is_ascii_digit() || *byte == b' ';
    let is_good = match identifier {
        tag::UTF8_STRING | tag::T61_STRING | tag::BMP_STRING => true,
        tag::IA5_STRING => value.is_ascii(),
        tag::PRINTABLE_STRING => value.iter().all(is_printable),
        tag::NUMERIC_STRING => value.iter().all(is_numeric),
        _ => false,
    };
    let text = match identifier {
        // Taken for Latin-1.
        tag::T61_STRING => Some(value.iter().copied().map(char::from).collect()),
        tag::BMP_STRING => two_byte_text(value),
        _ => String::from_utf8(value.to_vec()).ok(),
    };
    text.filter(|_| is_good).ok_or_else(|| wrong("a name of the subject is no plain text"))
}

/// UCS-2; a zero may end it.
fn two_byte_text(value: &[u8]) -> Option<String> {
    let value = value.strip_suffix(&[0, 0]).unwrap_or(value);
    let (pairs, rest) = value.as_chunks::<2>();
    let is_no_character = |unit: &u16| matches!(unit, 0xfdd0..=0xfdef | 0xfffe | 0xffff);
    let units: Vec<_> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
    let is_good = rest.is_empty() && !units.iter().any(is_no_character);
    // One that stands for a part of a character is no text by itself, and two are not allowed.
    let text = String::from_utf16(&units).ok();
    text.filter(|text| is_good && text.chars().count() == units.len())
}

/// What the first block of a PEM text holds. Go's parser passes over blocks that it cannot read;
/// this one refuses the text.
fn block(pem: &str) -> Read<Vec<u8>> {
    let before_end = pem.find(END).map_or("", |end| &pem[..end]);
    let Some((before, _)) = before_end.split_once(BEGIN) else {
        return Err(wrong("there must be a PEM block"));
    };
    if before_end.matches(BEGIN).count() != 1 {
        return Err(wrong("a PEM block begins in another one"));
    }
    let is_line =
        |line: &str, start| line.trim_end().strip_prefix(start).is_some_and(|rest| rest == LABEL);
    let mut lines = pem[before.len()..].split('\n').peekable();
    let is_request = lines.next().is_some_and(|line| is_line(line, BEGIN));
    if !is_request || !(before.is_empty() || before.ends_with('\n')) {
        return Err(wrong("PEM block type must be CERTIFICATE REQUEST"));
    }
    // Headers, which are ignored.
    while lines.next_if(|line| line.contains(':')).is_some() {}
    let mut body = String::new();
    for line in lines {
        if is_line(line, END) {
            return STANDARD.decode(body).map_err(|error| wrong(&format!("PEM: {error}")));
        }
        body.extend(line.chars().filter(|char| !matches!(char, ' ' | '\t' | '\r')));
    }
    Err(wrong("the PEM block does not end"))
}

fn wrong(what: &str) -> RequestError {
    RequestError(what.to_owned())
}

// === impl Der ===

impl<'a> Der<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Nothing may follow.
    fn end(&self, what: &str) -> Read<()> {
        if self.is_empty() { Ok(()) } else { Err(wrong(&format!("trailing data after {what}"))) }
    }

    /// The next element, with its identifier and its length.
    fn element(&mut self, what: &str) -> Read<&'a [u8]> {
        let whole = self.0;
        self.any(what)?;
        Ok(&whole[..whole.len() - self.0.len()])
    }

    /// The next element, which is a sequence.
    fn sequence(&mut self, what: &str) -> Read<Der<'a>> {
        self.take(tag::SEQUENCE, what).map(Der)
    }

    /// The content of the next element, which has this identifier.
    fn take(&mut self, expected: u8, what: &str) -> Read<&'a [u8]> {
        let (identifier, content) = self.any(what)?;
        let is_it = identifier == expected;
        is_it.then_some(content).ok_or_else(|| wrong(&format!("{what} has an unexpected type")))
    }

    /// Identifier and content of the next element. Identifiers are one octet: nothing here has a
    /// longer one.
    fn any(&mut self, what: &str) -> Read<(u8, &'a [u8])> {
        let broken = || wrong(&format!("{what} is not DER"));
        let identifier = *self.0.first().ok_or_else(broken)?;
        let (rest, header) = Header::from_der(self.0).map_err(|_| broken())?;
        let length = header.length().definite().map_err(|_| broken())?;
        if identifier & 0x1f == 0x1f {
            return Err(broken());
        }
        let (content, rest) = rest.split_at_checked(length).ok_or_else(broken)?;
        self.0 = rest;
        Ok((identifier, content))
    }
}

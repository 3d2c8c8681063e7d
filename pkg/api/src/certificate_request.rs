//! A request for a certificate (PKCS #10).
//!
//! The API server stores what Go's parser reads, and signers read it with Go's parser. So this one
//! is never more lenient: what it does not understand to the last byte it refuses. Two readers that
//! disagree about a request would approve one certificate and sign another.

use std::collections::BTreeSet;

use asn1_rs::{FromDer as _, Header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Text;

/// What is read of a request for a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateRequest {
    /// The last common name of its subject, as Go's parser has it; empty if there is none.
    pub common_name: String,
    /// All organizations of its subject, in their order.
    pub organizations: Vec<String>,
    /// As what else its subject should be known.
    pub alternatives: BTreeSet<Alternative>,
}

/// A kind of name in `subjectAltName`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alternative {
    /// `dNSName`.
    Dns,
    /// `rfc822Name`.
    Email,
    /// `iPAddress`.
    Address,
    /// `uniformResourceIdentifier`.
    Uri,
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
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const SET: u8 = 0x31;
    /// `[0]`, constructed.
    pub(super) const ATTRIBUTES: u8 = 0xa0;
}

/// The contents of object identifiers.
mod oid {
    pub(super) const COMMON_NAME: &[u8] = &[0x55, 4, 3];
    pub(super) const ORGANIZATION: &[u8] = &[0x55, 4, 10];
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

    /// Reads a PEM text that holds one block, and may have other text around it.
    pub fn from_pem(pem: &str) -> Read<Self> {
        Self::from_der(&block(pem)?)
    }

    /// Reads `CertificationRequest` of RFC 2986. Neither the key nor the signature is looked at:
    /// the API server has.
    pub fn from_der(der: &[u8]) -> Read<Self> {
        let mut whole = Der(der);
        let mut request = whole.sequence("the request")?;
        whole.end("the request")?;
        let mut info = request.sequence("certificationRequestInfo")?;
        request.sequence("signatureAlgorithm")?;
        request.take(tag::BIT_STRING, "signature")?;
        request.end("signature")?;

        info.take(tag::INTEGER, "version")?;
        let mut found = Self::default();
        found.read_subject(info.sequence("subject")?)?;
        info.sequence("subjectPKInfo")?;
        found.read_attributes(Der(info.take(tag::ATTRIBUTES, "attributes")?))?;
        info.end("attributes")?;
        Ok(found)
    }

    /// What keeps it from being the request of a kubelet for the certificate that it shows as a
    /// client; none: it is one. As `ValidateKubeletClientCSR` in upstream's pkg/apis/certificates.
    pub fn no_kubelet_client(&self, usages: &BTreeSet<Text>) -> Option<&'static str> {
        let has = |kind| self.alternatives.contains(&kind);
        let usages: Vec<&str> = usages.iter().map(|usage| &**usage).collect();
        let is_usual = matches!(
            usages.as_slice(),
            ["client auth", "digital signature"]
                | ["client auth", "digital signature", "key encipherment"]
        );
        [
            (self.organizations != ["system:nodes"], "subject organization is not system:nodes"),
            (has(Alternative::Dns), "DNS subjectAltNames are not allowed"),
            (has(Alternative::Email), "Email subjectAltNames are not allowed"),
            (has(Alternative::Address), "IP subjectAltNames are not allowed"),
            (has(Alternative::Uri), "URI subjectAltNames are not allowed"),
            (
                !self.common_name.starts_with("system:node:"),
                "subject common name does not begin with system:node:",
            ),
            (!is_usual, "usages did not match [client auth digital signature key encipherment]"),
        ]
        .into_iter()
        .find_map(|(is_wrong, why)| is_wrong.then_some(why))
    }

    fn read_subject(&mut self, mut names: Der<'_>) -> Read<()> {
        while !names.is_empty() {
            let mut together = Der(names.take(tag::SET, "a name of the subject")?);
            while !together.is_empty() {
                let mut name = together.sequence("a name of the subject")?;
                let kind = name.take(tag::OBJECT_IDENTIFIER, "the type of a name")?;
                let (identifier, value) = name.any("the value of a name")?;
                name.end("a name of the subject")?;
                match kind {
                    oid::COMMON_NAME => self.common_name = text(identifier, value)?,
                    oid::ORGANIZATION => self.organizations.push(text(identifier, value)?),
                    _ => {}
                }
            }
        }
        Ok(())
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
                    self.read_alternatives(value)?;
                }
            }
        }
        Ok(())
    }

    /// As `parseSANExtension` of Go's crypto/x509: names of other kinds count for nothing.
    fn read_alternatives(&mut self, value: &[u8]) -> Read<()> {
        let mut value = Der(value);
        let mut names = value.sequence("subjectAltName")?;
        value.end("subjectAltName")?;
        while !names.is_empty() {
            let (identifier, _) = names.any("subjectAltName")?;
            let kind = match identifier {
                0x81 => Alternative::Email,
                0x82 => Alternative::Dns,
                0x86 => Alternative::Uri,
                0x87 => Alternative::Address,
                _ => continue,
            };
            self.alternatives.insert(kind);
        }
        Ok(())
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

/// A text in a subject. Types that Go's parser skips, or whose bytes are ambiguous, are refused.
fn text(identifier: u8, value: &[u8]) -> Read<String> {
    let is_plain = match identifier {
        tag::UTF8_STRING => true,
        tag::NUMERIC_STRING | tag::PRINTABLE_STRING | tag::T61_STRING | tag::IA5_STRING => {
            value.is_ascii()
        }
        _ => false,
    };
    let text = std::str::from_utf8(value).ok().filter(|_| is_plain);
    text.map(str::to_owned).ok_or_else(|| wrong("a name of the subject is no plain text"))
}

/// What the only block of a PEM text holds. With more than one, it would have to be known which of
/// them a signer takes.
fn block(pem: &str) -> Read<Vec<u8>> {
    if pem.matches(BEGIN).count() != 1 || pem.matches(END).count() != 1 {
        return Err(wrong("there must be one PEM block"));
    }
    let is_line =
        |line: &str, start| line.trim_end().strip_prefix(start).is_some_and(|rest| rest == LABEL);
    let mut lines = pem.split('\n').skip_while(|line| !is_line(line, BEGIN)).skip(1).peekable();
    if lines.peek().is_none() {
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

//! How long a certificate is valid, and its encoding: what Go's `x509.CreateCertificate` makes of
//! the template of upstream's `pkg/controller/certificates/authority`, octet by octet but for the
//! serial number and the signature.

use std::time::Duration;

use api::{Alternatives, CertificateRequest, CertificateSubject, Time};
use mutant::Mutant;

use super::Issuer;
use super::der::{self, element, nest, tag};
use super::usages::Usages;

/// A certificate is valid this long before it is made, for clocks that are slow.
const BACKDATE: Duration = Duration::from_mins(5);
/// What asks for less gets this.
const MIN: Duration = Duration::from_mins(10);
/// The end of one that lasts less long is not moved with its beginning.
const SHORT: Duration = Duration::from_hours(8);

/// The contents of object identifiers; attributes of names begin with [`oid::ATTRIBUTE`].
mod oid {
    pub(super) const ATTRIBUTE: [u8; 2] = [0x55, 4];
    pub(super) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
    pub(super) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
    pub(super) const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
    pub(super) const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 35];
    pub(super) const EXT_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
}

/// From when to when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) not_before: Time,
    pub(super) not_after: Time,
}

/// How long a certificate shall be valid. As `duration` of upstream's signer.go.
pub(super) fn duration(asked_seconds: Option<i32>, max: Duration) -> Duration {
    let asked_seconds = asked_seconds.filter(|_| !mutant::is(Mutant::DurationIgnored));
    let Some(seconds) = asked_seconds else { return max };
    let asked = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    if asked > max { max } else { asked.max(MIN) }
}

// === impl Validity ===

impl Validity {
    /// As `PermissiveSigningPolicy.apply`. The error says that the authority has ended.
    pub(super) fn new(now: Time, duration: Duration, issuer_end: Time) -> Result<Self, String> {
        let not_before = now - BACKDATE;
        let not_after = if duration < SHORT { now + duration } else { now + duration - BACKDATE };
        let end = || {
            let end = issuer_end.to_string().replace('T', " ").replace('Z', "");
            format!("NotAfter={end} +0000 UTC")
        };
        if not_before >= issuer_end {
            return Err(format!("the signer has expired: {}", end()));
        }
        if now >= issuer_end {
            let refused = "refusing to sign a certificate that expired in the past";
            return Err(format!("{refused}: {}", end()));
        }
        Ok(Self { not_before, not_after: not_after.min(issuer_end) })
    }
}

/// The certificate, DER. The error says why it cannot be signed.
pub(super) fn issue(
    request: &CertificateRequest,
    usages: &Usages,
    validity: Validity,
    issuer: &Issuer,
) -> Result<Vec<u8>, String> {
    let subject = name(&request.subject);
    let version = element(tag::wrapper(0), &der::number(&[2]));
    let times = nest(tag::SEQUENCE, [validity.not_before, validity.not_after].map(der::time));
    let extensions = extensions(request, usages, &subject, issuer);
    let extensions = element(tag::wrapper(3), &nest(tag::SEQUENCE, extensions));
    let content = [
        &*issuer.algorithm,
        &*issuer.subject,
        &*times,
        &*subject,
        &*request.public_key,
        &*extensions,
    ];
    let content = content.concat();
    let serial = der::number(&issuer.signer.serial(&content));
    let content = nest(tag::SEQUENCE, [&*version, &*serial, &*content]);
    let signature = der::bits(&issuer.signer.sign(&content)?);
    Ok(nest(tag::SEQUENCE, [&*content, &*issuer.algorithm, &*signature]))
}

/// As `ToRDNSequence` of Go's crypto/x509/pkix: values of one type share a set, which is sorted.
fn name(subject: &CertificateSubject) -> Vec<u8> {
    let one = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let (common_name, serial_number) = (one(&subject.common_name), one(&subject.serial_number));
    let types: [(u8, &[String]); 9] = [
        (6, &subject.countries),
        (8, &subject.provinces),
        (7, &subject.localities),
        (9, &subject.streets),
        (17, &subject.postal_codes),
        (10, &subject.organizations),
        (11, &subject.units),
        (3, common_name.as_slice()),
        (5, serial_number.as_slice()),
    ];
    let sets = types.into_iter().filter(|(_, values)| !values.is_empty()).map(|(kind, values)| {
        let [first, second] = oid::ATTRIBUTE;
        let kind = element(tag::OBJECT_IDENTIFIER, &[first, second, kind]);
        let attribute = |value: &String| nest(tag::SEQUENCE, [&*kind, &*der::text(value)]);
        let mut attributes: Vec<_> = values.iter().map(attribute).collect();
        attributes.sort();
        nest(tag::SET, attributes)
    });
    nest(tag::SEQUENCE, sets)
}

/// As `buildCertExtensions` of Go's crypto/x509.
fn extensions(
    request: &CertificateRequest,
    usages: &Usages,
    subject: &[u8],
    issuer: &Issuer,
) -> Vec<Vec<u8>> {
    let mut extensions = Vec::new();
    if usages.key != 0 {
        extensions.push(critical(oid::KEY_USAGE, &der::flags(usages.key)));
    }
    if !usages.extended.is_empty() {
        let usages = usages.extended.iter().map(|usage| element(tag::OBJECT_IDENTIFIER, usage));
        extensions.push(extension(oid::EXT_KEY_USAGE, &nest(tag::SEQUENCE, usages)));
    }
    // Nothing in it: no authority.
    extensions.push(critical(oid::BASIC_CONSTRAINTS, &element(tag::SEQUENCE, &[])));
    if !issuer.key_id.is_empty() && *issuer.subject != *subject {
        let key_id = nest(tag::SEQUENCE, [element(tag::context(0), &issuer.key_id)]);
        extensions.push(extension(oid::AUTHORITY_KEY_ID, &key_id));
    }
    if !request.alternatives.is_empty() {
        let names = alternatives(&request.alternatives);
        // Without a subject they are the only names.
        let has_subject = subject != element(tag::SEQUENCE, &[]);
        let extension = if has_subject { extension } else { critical };
        extensions.push(extension(oid::SUBJECT_ALT_NAME, &names));
    }
    extensions
}

fn extension(kind: &[u8], value: &[u8]) -> Vec<u8> {
    let kind = element(tag::OBJECT_IDENTIFIER, kind);
    nest(tag::SEQUENCE, [kind, element(tag::OCTET_STRING, value)])
}

fn critical(kind: &[u8], value: &[u8]) -> Vec<u8> {
    let kind = element(tag::OBJECT_IDENTIFIER, kind);
    let is_critical = element(tag::BOOLEAN, &[0xff]);
    nest(tag::SEQUENCE, [kind, is_critical, element(tag::OCTET_STRING, value)])
}

/// As `marshalSANs` of Go's crypto/x509.
fn alternatives(names: &Alternatives) -> Vec<u8> {
    let texts = |kind: u8, texts: &[String]| {
        let names = texts.iter().map(|text| element(tag::context(kind), text.as_bytes()));
        names.collect::<Vec<_>>().concat()
    };
    let addresses = names.addresses.iter().map(|address| element(tag::context(7), address));
    let addresses = addresses.collect::<Vec<_>>().concat();
    let (dns, emails, uris) =
        (texts(2, &names.dns), texts(1, &names.emails), texts(6, &names.uris));
    nest(tag::SEQUENCE, [dns, emails, addresses, uris])
}

//! Client certificates: the users that they name, and their validity.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use api::Time;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::X509Name;

use crate::User;

/// The attribute of a subject that holds the user's uid, of k8s.io/apimachinery's pkg/apis/asn1.
const UID_OID: &str = "1.3.6.1.4.1.57683.2";
/// The key under which an authorizer gets the certificate's own id.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// What we use of the first certificate of a chain.
pub(crate) struct Certificate {
    pub(crate) common_name: String,
    organizations: Vec<String>,
    /// None where the attribute is not text.
    uids: Vec<Option<String>>,
    serial: String,
    sha256: String,
    validity: Validity,
}

/// Seconds since 1970, both ends included.
#[derive(Clone, Copy)]
pub(crate) struct Validity {
    from: i64,
    until: i64,
}

// === impl Validity ===

impl Validity {
    pub(crate) fn of(certificate: &X509Certificate<'_>) -> Self {
        let validity = certificate.validity();
        Self { from: validity.not_before.timestamp(), until: validity.not_after.timestamp() }
    }

    pub(crate) fn holds(self, now: Time) -> bool {
        let second = now.unix_nanos().div_euclid(1_000_000_000);
        (self.from..=self.until).contains(&second)
    }
}

// === impl Certificate ===

impl Certificate {
    /// Parses a certificate from an untrusted client.
    pub(crate) fn parse(der: &[u8]) -> Result<Self, String> {
        let certificate = parse(der)?;
        let subject = certificate.subject();
        // Of several common names the last one counts, as in Go.
        let names = texts(subject, "2.5.4.3").into_iter().flatten();
        let digest = ring::digest::digest(&ring::digest::SHA256, der);
        Ok(Self {
            common_name: names.last().unwrap_or_default(),
            organizations: texts(subject, "2.5.4.10").into_iter().flatten().collect(),
            uids: texts(subject, UID_OID),
            serial: certificate.raw_serial_as_string(),
            sha256: hex(digest.as_ref()),
            validity: Validity::of(&certificate),
        })
    }

    /// The user that it names; none if it has no common name. As `CommonNameUserConversion` of
    /// pkg/authentication/request/x509.
    pub(crate) fn user(&self) -> Result<Option<User>, String> {
        if self.common_name.is_empty() {
            return Ok(None);
        }
        let uid = match &*self.uids {
            [] => String::new(),
            [Some(uid)] if !uid.is_empty() => uid.clone(),
            [_] => return Err(format!("{self}: the uid is empty or no text")),
            [..] => return Err(format!("{self}: has more than one uid")),
        };
        let id = format!("X509SHA256={}", self.sha256);
        Ok(Some(User {
            name: self.common_name.clone(),
            uid,
            groups: self.organizations.clone(),
            extra: BTreeMap::from([(CREDENTIAL_ID.to_owned(), vec![id])]),
        }))
    }

    /// How long it is still valid, in seconds; negative after its end.
    pub(crate) fn remaining_seconds(&self, now: Time) -> f64 {
        let end = Time::from_unix(self.validity.until, 0);
        end.since(now).as_secs_f64() - now.since(end).as_secs_f64()
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "certificate of {:?} with serial number {}", self.common_name, self.serial)
    }
}

pub(crate) fn parse(der: &[u8]) -> Result<X509Certificate<'_>, String> {
    let parsed = X509Certificate::from_der(der);
    parsed.map(|(_, certificate)| certificate).map_err(|error| format!("not X.509: {error}"))
}

/// The attributes of `name` with this object identifier, none for each that is not text.
fn texts(name: &X509Name<'_>, oid: &str) -> Vec<Option<String>> {
    let attributes = name.iter_attributes().filter(|a| a.attr_type().to_id_string() == oid);
    attributes.map(|attribute| attribute.as_str().ok().map(str::to_owned)).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written");
        text
    })
}

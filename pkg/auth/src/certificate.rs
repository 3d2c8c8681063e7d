//! Client certificates: whom we trust to issue them, and whom they name.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use api::Time;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, RootCertStore};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::X509Name;

use crate::User;

/// The attribute of a subject that holds the user's uid, of k8s.io/apimachinery's pkg/apis/asn1.
const UID_OID: &str = "1.3.6.1.4.1.57683.2";
/// Under which the certificate itself is known to an authorizer.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// The authorities of one PEM text.
pub(crate) struct Bundle {
    authorities: Vec<Authority>,
    /// What they were read from, to see a change.
    pub(crate) pem: Vec<u8>,
}

struct Authority {
    verifier: Arc<dyn ClientCertVerifier>,
    validity: Validity,
}

/// What we read of the first certificate of a chain.
pub(crate) struct Certificate {
    pub(crate) common_name: String,
    organizations: Vec<String>,
    /// None where the attribute is no text.
    uids: Vec<Option<String>>,
    serial: String,
    sha256: String,
    validity: Validity,
}

/// Seconds since 1970, both included.
#[derive(Clone, Copy)]
struct Validity {
    from: i64,
    until: i64,
}

// === impl Bundle ===

impl Bundle {
    /// Reads PEM; sections that are no certificates are skipped. An error if one is broken or there
    /// is none, as `NewPoolFromBytes` of k8s.io/client-go's util/cert.
    pub(crate) fn parse(pem: &[u8]) -> Result<Self, String> {
        let mut authorities = Vec::new();
        for section in CertificateDer::pem_slice_iter(pem) {
            let der = section.map_err(|error| format!("not PEM: {error}"))?;
            let number = authorities.len() + 1;
            let authority = Authority::new(der);
            authorities.push(authority.map_err(|error| format!("certificate {number}: {error}"))?);
        }
        if authorities.is_empty() {
            return Err("holds no certificate".to_owned());
        }
        Ok(Self { authorities, pem: pem.to_vec() })
    }

    /// Whether one of the authorities issued the chain for use by a client, and all of it is valid
    /// at `now`. An error says why not. The chain starts with the client's certificate.
    pub(crate) fn verify(&self, chain: &[CertificateDer<'_>], now: Time) -> Result<(), String> {
        let Some((first, others)) = chain.split_first() else {
            return Err("there is no certificate".to_owned());
        };
        let nanos = u64::try_from(now.unix_nanos()).unwrap_or(0);
        let moment = UnixTime::since_unix_epoch(Duration::from_nanos(nanos));
        let mut reason = "its authority is not known".to_owned();
        for authority in &self.authorities {
            match authority.verifier.verify_client_cert(first, others, moment) {
                Ok(_) if authority.validity.holds(now) => return Ok(()),
                Ok(_) => "its authority's own certificate is not valid now".clone_into(&mut reason),
                Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {}
                Err(error) => reason = error.to_string(),
            }
        }
        Err(reason)
    }
}

impl Authority {
    fn new(der: CertificateDer<'static>) -> Result<Self, String> {
        // The verifier looks at names and keys of an authority only, Go at its validity too.
        let validity = Validity::of(&parse(&der)?);
        let mut roots = RootCertStore::empty();
        roots.add(der).map_err(|error| error.to_string())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().map_err(|error| error.to_string())?;
        Ok(Self { verifier, validity })
    }
}

impl Validity {
    fn of(certificate: &X509Certificate<'_>) -> Self {
        let validity = certificate.validity();
        Self { from: validity.not_before.timestamp(), until: validity.not_after.timestamp() }
    }

    fn holds(self, now: Time) -> bool {
        let second = now.unix_nanos().div_euclid(1_000_000_000);
        (self.from..=self.until).contains(&second)
    }
}

// === impl Certificate ===

impl Certificate {
    /// Reads a certificate that may have come from anybody.
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

    /// Whom it names; none if it has no common name. As `CommonNameUserConversion` of
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

fn parse(der: &[u8]) -> Result<X509Certificate<'_>, String> {
    let parsed = X509Certificate::from_der(der);
    parsed.map(|(_, certificate)| certificate).map_err(|error| format!("not X.509: {error}"))
}

/// The attributes of `name` with this object identifier, none for each that is no text.
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

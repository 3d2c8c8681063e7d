//! What a sync of a request looks at.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{CertificateRequest, CertificateSigningRequest, Key, RequestError, Time};
use controller::View;
use mutant::Mutant;

use super::certificate::duration;
use super::{Authority, Issuer, Profile};

/// A request, and how it can be signed.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The object.
    pub csr: Arc<CertificateSigningRequest>,
    /// The present moment.
    pub now: Time,
    /// What there is to sign, or why there is nothing.
    pub task: Result<Task, String>,
}

/// Something to sign.
#[derive(Clone, Debug)]
pub struct Task {
    /// The signer.
    pub profile: Profile,
    /// What the certificate should say.
    pub request: Result<CertificateRequest, RequestError>,
    /// The authority that signs.
    pub issuer: Result<Arc<Issuer>, String>,
}

pub(super) fn observe(
    key: &Key,
    view: &View<'_>,
    authorities: &BTreeMap<Profile, Arc<dyn Authority>>,
) -> Option<Snapshot> {
    let csr = view.of::<CertificateSigningRequest>().get(key)?;
    let task = match settled(&csr) {
        Some(why) => Err(why),
        None => task(&csr, authorities).ok_or_else(|| "it is for another signer".to_owned()),
    };
    Some(Snapshot { csr, now: view.now, task })
}

/// Why there is nothing to do, whoever signs. As `syncFunc` of upstream's
/// certificate_controller.go, and `handle`.
fn settled(csr: &CertificateSigningRequest) -> Option<String> {
    let why = match &csr.unreadable {
        Some(error) => return Some(format!("the object cannot be read: {error}")),
        None if csr.issued => "the certificate is there",
        None if csr.is_denied() => "it is denied",
        None if !csr.is_approved() && !mutant::is(Mutant::SignsUnapproved) => "it is not approved",
        None if csr.failed => "it has failed",
        None => return None,
    };
    Some(why.to_owned())
}

fn task(
    csr: &CertificateSigningRequest,
    authorities: &BTreeMap<Profile, Arc<dyn Authority>>,
) -> Option<Task> {
    let profile = Profile::named(&csr.signer_name)?;
    let authority = authorities.get(&profile)?;
    Some(Task { profile, request: csr.request(), issuer: authority.issuer() })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self, duration_max: Duration) -> Vec<(&'static str, String)> {
        let list = |texts: Vec<&str>| match texts.as_slice() {
            [] => "none".to_owned(),
            texts => texts.join(", "),
        };
        let csr = &self.csr;
        let mut facts = vec![
            ("signer", csr.signer_name.to_string()),
            ("usages", list(csr.usages.iter().map(|usage| &**usage).collect())),
            ("conditions", list(csr.conditions.iter().map(|kind| &**kind).collect())),
        ];
        if let Ok(task) = &self.task {
            let valid = duration(csr.expiration_seconds, duration_max);
            facts.push(("valid for", format!("{} seconds", valid.as_secs())));
            let authority = match &task.issuer {
                Ok(issuer) => format!("valid until {}", issuer.not_after),
                Err(error) => error.clone(),
            };
            facts.push(("authority", authority));
        }
        facts
    }
}

//! Which requests for certificates are approved: what a kubelet asks for, while kubelets may join.
//! Which certificates are made: those that somebody has approved. And which requests are deleted:
//! those that are over.

use std::time::Duration;

use api::Time;
use serde_json::{Value, json};

use k8s_openapi::ByteString;
use x509_parser::extensions::KeyUsage;
use x509_parser::prelude::{FromDer as _, X509Certificate, X509CertificationRequest};

use super::fields::{at, list, text, uid};
use super::{Judged, Oracle, Written};
use crate::certificates::{CLIENT, GRANT, KUBELET, SERVING, SIGNED, SIGNER};
use crate::site::START;

/// The controllers of requests, and of those of pods.
pub(super) const ACCOUNT: &str = "certificate-controller";
pub(super) const OF_PODS: &str = "podcertificaterequestcleaner";
const CERTIFICATE: &str = "/status/certificate";
/// For how many seconds certificates are valid: at least; at most, by the flag's default; and from
/// when on they are not moved as a whole. And how far their beginning is moved. As upstream's
/// `duration` in certificates/signer and `PermissiveSigningPolicy`.
const SHORTEST: i64 = 600;
const LONGEST: i64 = 8760 * 3600;
const BACKDATED: i64 = 8 * 3600;
const SLACK: i64 = 300;
/// How old a request of a pod becomes.
const OF_POD_MAX: Duration = Duration::from_mins(15);

impl Oracle {
    /// The server's response to an access review. Renewals are allowed to no user here.
    pub(crate) fn reviewed(&mut self, it: &Written<'_>) -> Value {
        let subresource = text(it.sent, "/spec/resourceAttributes/subresource");
        let allowed = subresource == "nodeclient" && self.may_join();
        if allowed {
            self.allowed.insert(it.life.to_owned(), it.at);
        }
        let mut answer = it.got.clone();
        answer["status"] = json!({ "allowed": allowed });
        answer
    }

    fn may_join(&self) -> bool {
        self.objects.get("ClusterRole", "", GRANT).is_some()
    }

    /// Why a request is not to be approved.
    pub(super) fn unapproved(&self, request: &Value, it: &Written<'_>) -> Option<&'static str> {
        // In the same sync.
        let allowed = self.allowed.get(it.life).is_some_and(|at| *at >= self.decider.begun);
        if is_decided(request) {
            Some("it is decided already")
        } else if !is_kubelets(request) {
            Some("it is no request of a kubelet")
        } else if !allowed {
            Some("no review said that its author may have it")
        } else {
            None
        }
    }

    /// Why a request is not to be deleted, as far as can be known.
    pub(super) fn request_stays(&self, request: &Value, it: &Written<'_>) -> Option<&'static str> {
        // A user may have changed it just now.
        let edited = self.touched.get(uid(request));
        if edited.is_some_and(|edited| !self.knows("CertificateSigningRequest", *edited)) {
            return None;
        }
        let now = self.now_of(it);
        let hours = |hours| Duration::from_hours(hours);
        let is_older = |at: &str, age| Time::parse(at).is_ok_and(|at| now > at + age);
        let conditions = list(request, "/status/conditions");
        let has = |kind: &str, age| {
            let is_it = |it: &Value| {
                text(it, "/type") == kind && is_older(text(it, "/lastUpdateTime"), age)
            };
            conditions.iter().any(is_it)
        };
        let is_issued = !text(request, "/status/certificate").is_empty();
        let created = text(request, "/metadata/creationTimestamp");
        let is_over = has("Denied", hours(1))
            || has("Failed", hours(1))
            || has("Approved", hours(24))
            || (is_issued && has("Approved", hours(1)))
            || (is_issued && has_passed(request, now) && is(request, "Approved"))
            || (conditions.is_empty() && is_older(created, hours(24)));
        (!is_over).then_some("it is not over")
    }

    /// Why a request of a pod is not to be deleted.
    pub(super) fn is_young(&self, request: &Value, it: &Written<'_>) -> Option<&'static str> {
        let created = Time::parse(text(request, "/metadata/creationTimestamp"));
        let is_young = created.is_ok_and(|at| self.now_of(it) < at + OF_POD_MAX);
        is_young.then_some("it is younger than 15 minutes")
    }

    /// What the manager takes for now, at most.
    fn now_of(&self, it: &Written<'_>) -> Time {
        START + it.at + self.clocks.ahead(it.life, self.decider.begun)
    }

    /// At the end, each kubelet that may join has joined. One that has a certificate, from
    /// whomever, is left alone, as upstream's (`syncFunc` in
    /// certificates/certificate_controller.go).
    pub(super) fn request_lacks(&self, request: &Value) -> Option<String> {
        let is_issued = !text(request, "/status/certificate").is_empty();
        let is_open = !is_issued && !is_decided(request);
        let waits = self.may_join() && is_kubelets(request) && is_open;
        let waits = waits.then(|| "is not approved".to_owned());
        waits.or_else(|| {
            let is_open = is_approved(request) && !is_issued && !is(request, "Failed");
            let is_ours = [CLIENT, SERVING, SIGNER].contains(&text(request, "/spec/signerName"));
            // In other cases nobody signs.
            let is_signed = text(request, "/metadata/name").starts_with(SIGNED);
            (is_open && is_ours && is_signed).then(|| "is not signed".to_owned())
        })
    }

    /// How the certificate of a request is another one than it should be.
    pub(super) fn signed_otherwise(&self, it: &Judged<'_>) -> Option<String> {
        let is_status = it.account == ACCOUNT && it.target.sub == "status";
        let request = it.before.as_deref().filter(|_| is_status)?;
        let wrong = if !is_approved(request) {
            Some("it is not approved".to_owned())
        } else if !text(request, "/status/certificate").is_empty() {
            Some("it has a certificate".to_owned())
        } else if text(it.sent, "/status/certificate").is_empty() {
            let fails = is(it.sent, "Failed") && is_refused(request);
            (!fails).then(|| "it is to be signed".to_owned())
        } else {
            self.is_other_certificate(request, it)
        };
        wrong.map(|wrong| format!("{it}: {wrong}"))
    }

    /// How a new certificate is another one than it should be.
    fn is_other_certificate(&self, request: &Value, it: &Judged<'_>) -> Option<String> {
        if is_refused(request) {
            return Some("its signer does not sign it".to_owned());
        }
        let (asked, made) = (der(at(request, "/spec/request")), der(at(it.sent, CERTIFICATE)));
        let Ok((_, asked)) = X509CertificationRequest::from_der(&asked) else {
            return Some("the request cannot be read".to_owned());
        };
        let Ok((_, made)) = X509Certificate::from_der(&made) else {
            return Some("the certificate cannot be read".to_owned());
        };
        let wanted = &asked.certification_request_info;
        if wanted.subject.to_string() != made.subject().to_string() {
            return Some(format!("it is for {}", made.subject()));
        }
        if wanted.subject_pki.raw != made.public_key().raw {
            return Some("it is for another key".to_owned());
        }
        let key = made.key_usage().ok().flatten().map(|it| *it.value);
        let extended = made.extended_key_usage().ok().flatten().map(|it| it.value.clone());
        let has = |usage: &Value| match usage.as_str() {
            Some("digital signature") => key.as_ref().is_some_and(KeyUsage::digital_signature),
            Some("key encipherment") => key.as_ref().is_some_and(KeyUsage::key_encipherment),
            Some("client auth") => extended.as_ref().is_some_and(|it| it.client_auth),
            _ => false,
        };
        let usages = list(request, "/spec/usages");
        let count = key.map_or(0, |it| it.flags.count_ones());
        let count = count + extended.as_ref().map_or(0, |it| u32::from(it.client_auth));
        let has_all = usages.iter().all(has);
        if !has_all || usize::try_from(count) != Ok(usages.len()) || made.is_ca() {
            return Some("its usages are others".to_owned());
        }
        let validity = made.validity();
        let [begin, end] = [validity.not_before, validity.not_after].map(|it| it.timestamp());
        let asked = at(request, "/spec/expirationSeconds").as_i64();
        let asked = asked.unwrap_or(LONGEST).clamp(SHORTEST, LONGEST);
        // The beginning of those that last less long is moved alone.
        let span = if asked < BACKDATED { asked + SLACK } else { asked };
        if end - begin != span {
            return Some(format!("it lasts for {} seconds instead of {span}", end - begin));
        }
        let made = Time::from_unix(begin + SLACK, 0);
        let since = START + self.decider.begun - self.clocks.behind(it.life, self.decider.begun);
        let is_now = since <= made + Duration::from_secs(1) && made <= self.now_of(it);
        (!is_now).then(|| format!("it is of {made}"))
    }
}

fn is_decided(request: &Value) -> bool {
    let decided = |it: &Value| ["Approved", "Denied"].contains(&text(it, "/type"));
    list(request, "/status/conditions").iter().any(decided)
}

fn is(request: &Value, condition: &str) -> bool {
    list(request, "/status/conditions").iter().any(|it| text(it, "/type") == condition)
}

fn is_approved(request: &Value) -> bool {
    is(request, "Approved") && !is(request, "Denied")
}

/// Whether its signer does not sign it, of the requests that there are here.
fn is_refused(request: &Value) -> bool {
    let usages = list(request, "/spec/usages");
    let has = |usage: &str| usages.iter().any(|it| it == usage);
    match text(request, "/spec/signerName") {
        CLIENT => !has("client auth") || has("server auth"),
        SIGNER => !is_kubelets(request),
        // They have no names of servers.
        _ => true,
    }
}

/// Whether a certificate has ended; one that cannot be read is one of the user's, see
/// `certificates::acts`.
fn has_passed(request: &Value, now: Time) -> bool {
    let made = der(at(request, CERTIFICATE));
    let Ok((_, made)) = X509Certificate::from_der(&made) else { return true };
    Time::from_unix(made.validity().not_after.timestamp(), 0) < now
}

/// What is in a PEM text in base64; nothing: it is none.
fn der(text: &Value) -> Vec<u8> {
    let pem = serde_json::from_value::<ByteString>(text.clone()).unwrap_or_default();
    let pem = x509_parser::pem::parse_x509_pem(&pem.0);
    pem.map(|(_, pem)| pem.contents).unwrap_or_default()
}

fn is_kubelets(request: &Value) -> bool {
    text(request, "/spec/request") == KUBELET
        && text(request, "/spec/signerName") == SIGNER
        && *at(request, "/spec/usages") == json!(["digital signature", "client auth"])
}

//! Which requests for certificates are approved: what a kubelet asks for, while kubelets may join.
//! And which are deleted: those that are over.

use std::time::Duration;

use api::Time;
use serde_json::{Value, json};

use super::fields::{at, list, text, uid};
use super::{Oracle, Written};
use crate::certificates::{GRANT, KUBELET, SIGNER};
use crate::site::START;

/// The controllers of requests, and of those of pods.
pub(super) const ACCOUNT: &str = "certificate-controller";
pub(super) const OF_PODS: &str = "podcertificaterequestcleaner";
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

    /// Why a request is not to be deleted, as far as can be known. All certificates here have
    /// ended.
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
            || (is_issued && conditions.iter().any(|it| text(it, "/type") == "Approved"))
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
    /// whomever, is left alone, as upstream's (`syncFunc` in certificates/certificate_controller.go).
    pub(super) fn request_lacks(&self, request: &Value) -> Option<String> {
        let is_issued = !text(request, "/status/certificate").is_empty();
        let is_open = !is_issued && !is_decided(request);
        let waits = self.may_join() && is_kubelets(request) && is_open;
        waits.then(|| "is not approved".to_owned())
    }
}

fn is_decided(request: &Value) -> bool {
    let decided = |it: &Value| ["Approved", "Denied"].contains(&text(it, "/type"));
    list(request, "/status/conditions").iter().any(decided)
}

fn is_kubelets(request: &Value) -> bool {
    text(request, "/spec/request") == KUBELET
        && text(request, "/spec/signerName") == SIGNER
        && *at(request, "/spec/usages") == json!(["digital signature", "client auth"])
}

//! Which requests for certificates are approved: what a kubelet asks for, while kubelets may join.

use serde_json::{Value, json};

use super::fields::{at, list, text};
use super::{Oracle, Written};
use crate::certificates::{GRANT, KUBELET, SIGNER};

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

    /// At the end, each kubelet that may join has joined.
    pub(super) fn request_lacks(&self, request: &Value) -> Option<String> {
        let waits = self.may_join() && is_kubelets(request) && !is_decided(request);
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

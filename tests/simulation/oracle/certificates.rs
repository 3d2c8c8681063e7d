//! Which requests for certificates are approved: what a kubelet asks for, while kubelets may join.

use std::time::Duration;

use serde_json::{Value, json};

use super::fields::{at, list, text};
use super::{Oracle, is_late};
use crate::certificates::{GRANT, KUBELET, SIGNER};

impl Oracle {
    /// What the server tells the manager of an access review. Renewals are nobody's here.
    pub(crate) fn reviewed(&self, asked: &Value, answer: &Value) -> Value {
        let subresource = text(asked, "/spec/resourceAttributes/subresource");
        let mut answer = answer.clone();
        answer["status"] = json!({"allowed": subresource == "nodeclient" && self.may_join()});
        answer
    }

    fn may_join(&self) -> bool {
        self.objects.get("ClusterRole", "", GRANT).is_some()
    }

    pub(super) fn learn_grant(
        &mut self,
        name: &str,
        before: Option<&Value>,
        after: Option<&Value>,
        now: Duration,
    ) {
        if name == GRANT && before.is_some() {
            self.joined = after.is_none().then_some(now);
        }
    }

    /// Why a request is not to be approved.
    pub(super) fn unapproved(&self, request: &Value, now: Duration) -> Option<&'static str> {
        let may_have_joined = self.joined.is_some_and(|last| is_late(last, now));
        if is_decided(request) {
            Some("it is decided already")
        } else if !is_kubelets(request) {
            Some("it is no request of a kubelet")
        } else if !self.may_join() && !may_have_joined {
            Some("its author may not have it")
        } else {
            None
        }
    }

    /// At the end, who may join has joined.
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

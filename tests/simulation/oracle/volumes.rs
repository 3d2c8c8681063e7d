//! Claims for storage: one that is deleted stays for as long as a pod uses it.

use std::sync::Arc;

use serde_json::Value;

use super::fields::{is_ending, list, text, uid};
use super::{Oracle, Written};

const PROTECTION: &str = "kubernetes.io/pvc-protection";

impl Oracle {
    /// Why a claim is not to be let go: a pod was on a node with it before it was deleted, and is
    /// there still. Kubelets start none later.
    pub(super) fn claim_is_used(&self, claim: &Value, it: &Written<'_>) -> Option<&'static str> {
        if !is_protected(claim) || is_protected(it.sent) {
            return None;
        }
        let Some(since) = self.dying_since(claim).filter(|_| is_ending(claim)) else {
            return Some("it is not being deleted");
        };
        let is_user = |pod: &Arc<Value>| {
            uses(pod, claim) && self.bound.get(uid(pod)).is_some_and(|bound| *bound <= since)
        };
        self.objects.of_kind("Pod").any(is_user).then_some("a pod uses it")
    }

    /// A pod on a node that uses a claim.
    pub(super) fn user_of(&self, claim: &Value) -> Option<&Arc<Value>> {
        self.objects.of_kind("Pod").find(|pod| uses(pod, claim))
    }
}

/// What a claim that is not being deleted must have.
pub(super) fn claim_lacks(claim: &Value) -> Option<String> {
    (!is_protected(claim)).then(|| "is not protected".to_owned())
}

fn is_protected(claim: &Value) -> bool {
    list(claim, "/metadata/finalizers").iter().any(|it| it == PROTECTION)
}

fn uses(pod: &Value, claim: &Value) -> bool {
    let names = |volume: &Value| {
        text(volume, "/persistentVolumeClaim/claimName") == text(claim, "/metadata/name")
    };
    text(pod, "/metadata/namespace") == text(claim, "/metadata/namespace")
        && !text(pod, "/spec/nodeName").is_empty()
        && list(pod, "/spec/volumes").iter().any(names)
}

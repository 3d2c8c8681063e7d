//! Groups of pods: one that is deleted stays for as long as a pod may run in it.

use std::sync::Arc;

use serde_json::Value;

use super::fields::{has_ended, is_ending, list, text, uid};
use super::{Judged, Oracle};

/// The controller of groups.
pub(super) const ACCOUNT: &str = "podgroup-protection-controller";
const FINALIZER: &str = "scheduling.k8s.io/podgroup-protection";

impl Oracle {
    /// Why a group is not to be let go. Its pods name it from the beginning.
    pub(super) fn group_is_used(&self, group: &Value, it: &Judged<'_>) -> Option<&'static str> {
        if it.target.plural != "podgroups" || it.method != "PUT" {
            return Some("it is for groups alone");
        }
        if !is_protected(group) || is_protected(it.sent) {
            return None;
        }
        if !is_ending(group) {
            return Some("it is not being deleted");
        }
        let is_known =
            |pod: &Arc<Value>| self.born.get(uid(pod)).is_some_and(|born| self.knows("Pod", *born));
        self.users_of(group).any(is_known).then_some("a pod may run in it")
    }

    /// Whether a group that is being deleted stays.
    pub(super) fn group_is_kept(&self, group: &Value) -> bool {
        is_protected(group) && self.users_of(group).next().is_some()
    }

    fn users_of<'a>(&'a self, group: &'a Value) -> impl Iterator<Item = &'a Arc<Value>> {
        self.objects.of_kind("Pod").filter(move |pod| {
            let group_of = text(pod, "/spec/schedulingGroup/podGroupName");
            group_of == text(group, "/metadata/name")
                && text(pod, "/metadata/namespace") == text(group, "/metadata/namespace")
                && !has_ended(pod)
        })
    }
}

fn is_protected(group: &Value) -> bool {
    list(group, "/metadata/finalizers").iter().any(|it| it == FINALIZER)
}

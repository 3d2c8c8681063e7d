//! What must be over before something else begins.
//!
//! A cache shows nothing before it is so, but what is new, or was changed by somebody, it may not
//! show yet: that is no reason to wait.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{
    at, controller, has_ended, is_ending, list, matches, node_of, number, selector, text, uid,
};
use super::{Oracle, Written};

/// How many pods a Deployment may have, as its ReplicaSets say.
const MOST: &str = "/metadata/annotations/deployment.kubernetes.io~1max-replicas";
/// Finalizers of the garbage collector, and whether all dependents are meant or only those that
/// block.
const FINALIZERS: [(&str, bool); 2] = [("orphan", true), (FOREGROUND, false)];
const FOREGROUND: &str = "foregroundDeletion";

/// Since which revision something is so, by uid.
#[derive(Default)]
pub(super) struct Order {
    /// Objects that are being deleted.
    dying: BTreeMap<String, u64>,
    /// Deployments that are paused.
    paused: BTreeMap<String, u64>,
    /// Objects that waited for their dependents, and when they last did.
    waited: BTreeMap<String, u64>,
    /// Objects that have other owners or labels, or are on another node.
    moved: BTreeMap<String, u64>,
    /// Objects that have other labels.
    relabelled: BTreeMap<String, u64>,
}

impl Order {
    /// An object has changed.
    pub(super) fn changed(&mut self, kind: &str, before: Option<&Value>, object: &Value, now: u64) {
        if let Some(before) = before {
            let has_other = |path| at(before, path) != at(object, path);
            let is_relabelled = has_other("/metadata/labels");
            if is_relabelled {
                self.relabelled.insert(uid(object).to_owned(), now);
            }
            let is_elsewhere = node_of(before) != node_of(object);
            if is_relabelled || is_elsewhere || has_other("/metadata/ownerReferences") {
                self.moved.insert(uid(object).to_owned(), now);
            }
            if is_ending(before) && has(before, FOREGROUND) {
                self.waited.insert(uid(object).to_owned(), now);
            }
        }
        let note = |of: &mut BTreeMap<String, u64>, is_so: bool| {
            if is_so {
                of.entry(uid(object).to_owned()).or_insert(now);
            } else {
                of.remove(uid(object));
            }
        };
        note(&mut self.dying, is_ending(object));
        if kind == "Deployment" {
            note(&mut self.paused, at(object, "/spec/paused") == true);
        }
    }
}

fn has(object: &Value, finalizer: &str) -> bool {
    list(object, "/metadata/finalizers").iter().any(|it| it == finalizer)
}

impl Oracle {
    /// Since when an object is being deleted.
    pub(super) fn dying_since(&self, object: &Value) -> Option<u64> {
        self.order.dying.get(uid(object)).copied()
    }

    /// Whether an owner that is being deleted waits for what it owns, or did so lately.
    pub(super) fn is_waiting(&self, owner: &Value) -> bool {
        let did = self.is_new(owner, &self.order.waited);
        is_ending(owner) && (has(owner, FOREGROUND) || did)
    }

    /// Whether whoever decided on the present write cannot know whose an object is.
    fn is_news(&self, object: &Value) -> bool {
        self.is_new(object, &self.born) || self.is_new(object, &self.order.moved)
    }

    /// Whether whoever decided on the present write cannot know this of an object.
    fn is_new(&self, object: &Value, of: &BTreeMap<String, u64>) -> bool {
        let Some((key, _)) = self.objects.find(uid(object)) else { return false };
        of.get(uid(object)).is_some_and(|then| !self.knows(&key.0, *then))
    }

    /// What an owner gets, after it was made or made larger.
    pub(super) fn judge_order(&mut self, it: &Written<'_>) {
        let Written { account, method, path, .. } = it;
        let Some(owner) = controller(it.got) else { return };
        let kind = self.objects.find(owner).map_or("", |(key, _)| &key.0);
        let since =
            |of: &BTreeMap<String, u64>| of.get(owner).is_some_and(|it| self.knows(kind, *it));
        let makes = *method == "POST";
        let wrong = if makes && since(&self.order.dying) {
            Some(("dying-makes", "its owner is being deleted".to_owned()))
        } else if makes && path.ends_with("/replicasets") && since(&self.order.paused) {
            Some(("paused", "its Deployment is paused".to_owned()))
        } else if makes && path.ends_with("/pods") && *account == "daemon-set-controller" {
            self.not_yet_gone(it, owner).map(|pod| ("daemon-waits", pod))
        } else if path.contains("/replicasets") && *account == "deployment-controller" {
            self.old_pod(it, owner).map(|pod| ("overlaps", pod))
        } else {
            None
        };
        if let Some((rule, why)) = wrong {
            let name = text(it.got, "/metadata/name");
            self.blame(rule, format!("{account} {method} {path} {name}: {why}"));
        }
    }

    /// Without a surge, a node gets its next pod of a DaemonSet when the last one is gone.
    fn not_yet_gone(&self, it: &Written<'_>, owner: &str) -> Option<String> {
        let surge = self.limits.get(owner)?.most(self.seen("DaemonSet"));
        if surge > 0 {
            return None;
        }
        let mut others = self.objects.children("Pod", owner);
        let other = others.find(|pod| {
            uid(pod) != uid(it.got)
                && node_of(pod) == node_of(it.got)
                && !has_ended(pod)
                && !self.is_news(pod)
        })?;
        Some(format!("{} is not gone yet", text(other, "/metadata/name")))
    }

    /// With Recreate, the new ReplicaSet gets pods when those of the old ones have ended.
    fn old_pod(&self, it: &Written<'_>, owner: &str) -> Option<String> {
        let begins = self.raised > 0 && number(it.got, "/spec/replicas") == self.raised;
        let (_, deployment) = self.objects.find(owner)?;
        let is_recreated = text(deployment, "/spec/strategy/type") == "Recreate"
            && at(deployment, "/spec/paused") != true;
        if !begins || !is_recreated || self.is_shaken(owner) {
            return None;
        }
        let sets = self.objects.children("ReplicaSet", owner);
        let others = sets.filter(|set| uid(set) != uid(it.got));
        let mut pods = others.flat_map(|set| self.objects.children("Pod", uid(set)));
        let old = pods.find(|pod| !has_ended(pod) && !self.is_news(pod))?;
        Some(format!("{} has not ended", text(old, "/metadata/name")))
    }

    /// What ReplicaSets are told of the most that there may be is as their Deployment says.
    pub(super) fn judge_most(&mut self, it: &Written<'_>, before: Option<&Value>) {
        let Written { account, method, path, got, .. } = it;
        let most = text(got, MOST);
        if *account != "deployment-controller"
            || !path.contains("/replicasets")
            || before.is_some_and(|before| text(before, MOST) == most)
        {
            return;
        }
        let limits = controller(got).and_then(|owner| self.limits.get(owner));
        let (Some(limits), Ok(most)) = (limits, most.parse::<i64>()) else { return };
        if !limits.had_most(most, self.seen("Deployment")) {
            let text = format!("{account} {method} {path}: not {most} pods are the most");
            self.blame("max-replicas", text);
        }
    }

    /// An owner is let go when nothing is left that it waits for.
    pub(super) fn judge_wait(&mut self, it: &Written<'_>, before: &Value) {
        // It begins although it cannot see some kinds, as upstream: of those it knows nothing.
        if it.account != "generic-garbage-collector" || it.method != "PATCH" {
            return;
        }
        for (finalizer, all) in FINALIZERS {
            if !has(before, finalizer) || has(it.got, finalizer) {
                continue;
            }
            if let Some(left) = self.dependent(before, all) {
                let text = format!("{} lets go of {finalizer}, and there is {left}", it.path);
                self.blame("owner-waits", text);
            }
        }
    }

    /// What an object still owns; `all`: whether or not it blocks.
    fn dependent(&self, owner: &Value, all: bool) -> Option<String> {
        let names = |object: &Value| {
            list(object, "/metadata/ownerReferences").iter().any(|it| {
                text(it, "/uid") == uid(owner)
                    && (all || at(it, "/blockOwnerDeletion") == true)
                    && self.owner_of(object, it).is_some()
            })
        };
        // A kind that comes and goes is not watched all the time.
        let mut others = self.objects.all().filter(|(key, _)| key.0 != "Widget");
        let (key, _) = others.find(|(_, object)| {
            uid(object) != uid(owner) && names(object) && !self.is_news(object)
        })?;
        Some(format!("{} {}/{}", key.0, key.1, key.2))
    }

    /// Whether an object is, or was lately, as its new owner selects.
    pub(super) fn is_selected(&self, object: &Value, owner: &str) -> bool {
        let Some((_, owner)) = self.objects.find(owner) else { return true };
        matches(object, selector(owner)) || self.is_new(object, &self.order.relabelled)
    }
}

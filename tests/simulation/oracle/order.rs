//! What must be over before something else begins.
//!
//! A cache shows nothing before it is so, but what is new, or was changed by a user, it may not
//! show yet: that is no reason to wait.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{
    at, controller, has_ended, is_ending, list, matches, node_of, number, selector, text, uid,
};
use super::{DAEMONS, Judged, Oracle};

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

    /// Whether the sync that decided on the present write cannot know the owner of an object.
    fn is_news(&self, object: &Value) -> bool {
        self.is_new(object, &self.born) || self.is_new(object, &self.order.moved)
    }

    /// Whether the sync that decided on the present write cannot know this of an object.
    fn is_new(&self, object: &Value, of: &BTreeMap<String, u64>) -> bool {
        let Some((key, _)) = self.objects.find(uid(object)) else { return false };
        of.get(uid(object)).is_some_and(|then| !self.knows(&key.0, *then))
    }

    /// Whether something is made for an owner of which this was known to have become so.
    fn makes_for(&self, it: &Judged<'_>, of: &BTreeMap<String, u64>) -> bool {
        let Some(owner) = controller(it.got).filter(|_| it.method == "POST") else { return false };
        let kind = self.objects.find(owner).map_or("", |(key, _)| &key.0);
        of.get(owner).is_some_and(|since| self.knows(kind, *since))
    }

    /// An owner that is being deleted gets nothing new.
    pub(super) fn dying_makes(&self, it: &Judged<'_>) -> Option<String> {
        let name = text(it.got, "/metadata/name");
        let is_dying = self.makes_for(it, &self.order.dying);
        is_dying.then(|| format!("{it} {name}: its owner is being deleted"))
    }

    /// A Deployment that is paused gets no new ReplicaSet.
    pub(super) fn paused(&self, it: &Judged<'_>) -> Option<String> {
        let name = text(it.got, "/metadata/name");
        let makes = it.path.ends_with("/replicasets");
        let is_paused = makes && self.makes_for(it, &self.order.paused);
        is_paused.then(|| format!("{it} {name}: its Deployment is paused"))
    }

    /// Without a surge, a node gets its next pod of a DaemonSet when the last one is deleted.
    pub(super) fn daemon_waits(&self, it: &Judged<'_>) -> Option<String> {
        let owner = it.owner_of_new_pod(&[DAEMONS])?;
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
        let [name, other] = [it.got, other].map(|it| text(it, "/metadata/name"));
        Some(format!("{it} {name}: {other} is not gone yet"))
    }

    /// With Recreate, the new ReplicaSet gets pods when those of the old ones have ended.
    pub(super) fn overlaps(&self, it: &Judged<'_>) -> Option<String> {
        let owner = it.deployment_of_set()?;
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
        let [name, old] = [it.got, &**old].map(|it| text(it, "/metadata/name"));
        Some(format!("{it} {name}: {old} has not ended"))
    }

    /// The maximum in the annotations of ReplicaSets is as their Deployment says.
    pub(super) fn max_replicas(&self, it: &Judged<'_>) -> Option<String> {
        let limits = self.limits.get(it.deployment_of_set()?)?;
        let most = text(it.got, MOST);
        if it.before.as_deref().is_some_and(|before| text(before, MOST) == most) {
            return None;
        }
        let most = most.parse::<i64>().ok()?;
        let had = limits.had_most(most, self.seen("Deployment"));
        (!had).then(|| format!("{it}: not {most} pods are the most"))
    }

    /// An owner loses its finalizer when nothing is left that it waits for.
    pub(super) fn owner_waits(&self, it: &Judged<'_>) -> Option<String> {
        // It begins although it cannot see some kinds, as upstream: of those it knows nothing.
        let is_collector = it.account == "generic-garbage-collector" && it.method == "PATCH";
        let before = it.changed().filter(|_| is_collector)?;
        let mut lost =
            FINALIZERS.iter().filter(|(name, _)| has(before, name) && !has(it.got, name));
        lost.find_map(|(finalizer, all)| {
            let left = self.dependent(before, *all)?;
            Some(format!("{} lets go of {finalizer}, and there is {left}", it.path))
        })
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
        let (key, _) = self.objects.all().find(|(_, object)| {
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

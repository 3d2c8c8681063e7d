//! Adoption, and the garbage collector.

use std::time::Duration;

use serde_json::Value;

use super::fields::{at, controller, is_ending, list, text, uid};
use super::{Judged, Oracle, Target};
use crate::owners::REFUSED;

/// The controllers that adopt.
const ADOPTERS: [&str; 4] = [
    "replicaset-controller",
    "replication-controller",
    "deployment-controller",
    "daemon-set-controller",
];
/// What they adopt for.
const OWNERS: [&str; 4] = ["replicasets", "replicationcontrollers", "deployments", "daemonsets"];

fn is_collection(it: &Judged<'_>) -> bool {
    it.account == "generic-garbage-collector" && it.method == "DELETE"
}

/// The garbage collector deletes only the version that it has looked at.
pub(super) fn collects_version(it: &Judged<'_>) -> Option<String> {
    let is_blind = text(it.sent, "/preconditions/resourceVersion").is_empty();
    (is_collection(it) && is_blind).then(|| format!("{} names no version", it.path))
}

/// Whether a reference is to a kind that there is, now and then at least.
fn is_kind(owner: &Value) -> bool {
    let (kind, version) = (text(owner, "/kind"), text(owner, "/apiVersion"));
    super::objects::KINDS.iter().any(|it| it.kind == kind && it.api_version() == version)
}

impl Oracle {
    /// The manager has read something.
    pub(crate) fn heard(
        &mut self,
        (life, account): (&str, &str),
        path: &str,
        body: &[u8],
        now: Duration,
    ) {
        let target = Target::of(path);
        if Self::is_job(account, &target) {
            self.heard_job(&serde_json::from_slice(body).unwrap_or_default(), now);
        }
        if target.sub == "scale" {
            self.heard_scale(life, &target);
        }
        if !ADOPTERS.contains(&account) || !OWNERS.contains(&target.plural.as_str()) {
            return;
        }
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        if !target.name.is_empty() && !is_ending(&object) {
            let of = (life.to_owned(), account.to_owned(), uid(&object).to_owned());
            self.rechecked.insert(of, now);
        }
    }

    /// The new controller of what a patch changes, if it has another one.
    fn adopter<'a>(it: &'a Judged<'_>) -> Option<&'a str> {
        let before = it.changed().filter(|_| it.method == "PATCH")?;
        let is = controller(it.got).filter(|_| uid(it.got) == uid(before))?;
        (Some(is) != controller(before)).then_some(is)
    }

    /// No owner adopts what it does not select.
    pub(super) fn adopts_unselected(&self, it: &Judged<'_>) -> Option<String> {
        let owner = Self::adopter(it)?;
        (!self.is_selected(it.got, owner)).then(|| format!("{it}: {owner} does not select it"))
    }

    /// No controller adopts for an owner that was not read live right before.
    pub(super) fn adopts_for_gone(&self, it: &Judged<'_>) -> Option<String> {
        let owner = Self::adopter(it)?;
        // In the same sync.
        let of = (it.life.to_owned(), it.account.to_owned(), owner.to_owned());
        let is_unseen = self.rechecked.get(&of).is_none_or(|seen| *seen < self.decider.begun);
        is_unseen.then(|| format!("{it}: no live read has found {owner}"))
    }

    /// The garbage collector deletes nothing that has an owner which is there and not waiting for
    /// it.
    pub(super) fn collects_owned(&self, it: &Judged<'_>) -> Option<String> {
        let before = it.before.as_deref().filter(|_| is_collection(it))?;
        let mut owners = list(before, "/metadata/ownerReferences").iter();
        let live = owners.find(|owner| self.is_owner_live(before, owner))?;
        Some(format!("{} has the owner {live}", it.path))
    }

    /// Whether an owner may be there: that one of a kind that was never served is gone nobody can
    /// know.
    fn is_owner_live(&self, object: &Value, owner: &Value) -> bool {
        !is_kind(owner) || self.owner_of(object, owner).is_some_and(|found| !self.is_waiting(found))
    }

    /// What a reference means, if it is there.
    pub(super) fn owner_of(&self, object: &Value, owner: &Value) -> Option<&Value> {
        let (key, found) = self.objects.find(text(owner, "/uid"))?;
        let is_near = key.1.is_empty() || key.1 == text(object, "/metadata/namespace");
        let is_it = key.0 == text(owner, "/kind") && key.2 == text(owner, "/name");
        (is_near && is_it).then_some(found)
    }

    /// Whether each owner of an object is known to be deleted; `None`: nobody can know of one of
    /// them, or it has none.
    pub(super) fn lost_owners(&self, object: &Value) -> Option<(usize, usize)> {
        let owners = list(object, "/metadata/ownerReferences");
        let known = owners.iter().all(|owner| {
            is_kind(owner) && (text(owner, "/kind") != "Widget" || self.serves_widgets())
        });
        if owners.is_empty() || !known || owners.iter().any(is_refused) {
            return None;
        }
        // A cluster-scoped object cannot have an owner in a namespace: it is left alone.
        if text(object, "/metadata/namespace").is_empty() {
            return None;
        }
        let lost = owners.iter().filter(|owner| self.owner_of(object, owner).is_none()).count();
        Some((lost, owners.len()))
    }

    pub(super) fn serves_widgets(&self) -> bool {
        let definition =
            self.objects.get("CustomResourceDefinition", "", "widgets.sim.example.com");
        definition.is_some_and(|it| at(it, "/metadata/deletionTimestamp").is_null())
    }
}

/// Whether an owner cannot be read, since its name cannot be in a path: upstream's collector fails
/// for ever, too (`IsValidPathSegmentName` in client-go's rest/request.go).
pub(super) fn is_refused(owner: &Value) -> bool {
    REFUSED.contains(&text(owner, "/name"))
}

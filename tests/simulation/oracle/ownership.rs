//! Adoption, and the garbage collector.

use std::time::Duration;

use serde_json::Value;

use super::fields::{at, controller, controlling, is_ending, list, text, uid};
use super::{Oracle, Target, Written};

/// Who adopts.
const ADOPTERS: [&str; 4] = [
    "replicaset-controller",
    "replication-controller",
    "deployment-controller",
    "daemon-set-controller",
];
/// What they adopt for.
const OWNERS: [&str; 4] = ["replicasets", "replicationcontrollers", "deployments", "daemonsets"];

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
        if !ADOPTERS.contains(&account) || !OWNERS.contains(&target.plural.as_str()) {
            return;
        }
        let object: Value = serde_json::from_slice(body).unwrap_or_default();
        if !target.name.is_empty() && !is_ending(&object) {
            let of = (life.to_owned(), account.to_owned(), uid(&object).to_owned());
            self.rechecked.insert(of, now);
        }
    }

    /// Nobody takes what somebody else controls, nor for an owner that was not seen there, alive,
    /// right before.
    pub(super) fn judge_adoption(&mut self, it: &Written<'_>, before: &Value) {
        let Written { account, method, path, .. } = it;
        if *method != "PATCH" || uid(it.got) != uid(before) {
            return;
        }
        let (was, is) = (controller(before), controller(it.got));
        let Some(is) = is.filter(|is| Some(*is) != was) else { return };
        if controlling(before).is_some() {
            let text = format!("{account} {method} {path}: somebody else controls it");
            self.blame("adopts-owned", text);
            return;
        }
        if !self.is_selected(it.got, is) {
            let text = format!("{account} {method} {path}: {is} does not select it");
            self.blame("adopts-unselected", text);
            return;
        }
        // In the same sync.
        let of = (it.life.to_owned(), (*account).to_owned(), is.to_owned());
        if self.rechecked.get(&of).is_none_or(|seen| *seen < self.decider.begun) {
            let text =
                format!("{account} {method} {path}: nobody has looked whether {is} is there");
            self.blame("adopts-for-gone", text);
        }
    }

    /// The garbage collector deletes nothing that has an owner which is there and not waiting for
    /// it, and only the version that it has looked at.
    pub(super) fn judge_collector(&mut self, it: &Written<'_>, before: Option<&Value>) {
        let Written { account, method, path, sent, .. } = it;
        if *account != "generic-garbage-collector" || *method != "DELETE" {
            return;
        }
        if text(sent, "/preconditions/resourceVersion").is_empty() {
            self.blame("collects-version", format!("{path} names no version"));
        }
        let Some(before) = before.filter(|_| it.code < 300) else { return };
        let owners = list(before, "/metadata/ownerReferences");
        let live = owners.iter().find(|owner| self.is_owner_live(before, owner));
        if let Some(live) = live {
            self.blame("collects-owned", format!("{path} has the owner {live}"));
        }
    }

    fn is_owner_live(&self, object: &Value, owner: &Value) -> bool {
        self.owner_of(object, owner).is_some_and(|found| !self.is_waiting(found))
    }

    /// What a reference means, if it is there.
    pub(super) fn owner_of(&self, object: &Value, owner: &Value) -> Option<&Value> {
        let (key, found) = self.objects.find(text(owner, "/uid"))?;
        let is_near = key.1.is_empty() || key.1 == text(object, "/metadata/namespace");
        let is_it = key.0 == text(owner, "/kind") && key.2 == text(owner, "/name");
        (is_near && is_it).then_some(found)
    }

    /// Whether each owner of an object is known to be gone; `None`: nobody can know of one of them,
    /// or it has none.
    pub(super) fn lost_owners(&self, object: &Value) -> Option<(usize, usize)> {
        let owners = list(object, "/metadata/ownerReferences");
        let known = owners.iter().all(|owner| {
            let (kind, version) = (text(owner, "/kind"), text(owner, "/apiVersion"));
            super::objects::KINDS.iter().any(|it| {
                let is_served = it.kind != "Widget" || self.serves_widgets();
                it.kind == kind && it.api_version() == version && is_served
            })
        });
        if owners.is_empty() || !known {
            return None;
        }
        // A cluster-scoped object cannot have an owner in a namespace: nobody touches that.
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

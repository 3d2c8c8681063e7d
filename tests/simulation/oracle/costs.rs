//! How many deletions the corruption of a field may cost: judged if all was well when it happened,
//! and the managers knew that, until a user does something else.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{at, is_ending, is_live, list, number, text, uid};
use super::{FOREIGN, Judged, Oracle};
use crate::corruption::Cost;

/// What may be deleted now.
#[derive(Default)]
pub(super) struct Costs {
    /// What the present corruption may cost.
    cost: Option<Cost>,
    /// Whether it is being done right now.
    marks: bool,
    /// The uids of what it was done to.
    hit: BTreeSet<String>,
    /// The uids of others that were deleted since.
    taken: BTreeSet<String>,
}

impl Costs {
    /// An object has changed.
    pub(super) fn changed(&mut self, uid: &str) {
        if self.marks {
            self.hit.insert(uid.to_owned());
        }
    }
}

impl Oracle {
    /// A user is about to act: a corruption of this cost, if it is one; `waits`: he only lets time
    /// pass.
    pub(crate) fn expect(&mut self, cost: Option<Cost>, waits: bool, nodes: usize) {
        if waits {
            return;
        }
        let was_well = cost.is_some()
            && !self.has_odd()
            && self.lacks(nodes).is_none()
            && self.knowledge.is_idle(&self.changed);
        self.costs = Costs {
            cost: cost.filter(|_| was_well),
            marks: cost.is_some() && was_well,
            ..Costs::default()
        };
    }

    /// It is done.
    pub(crate) fn done(&mut self) {
        self.costs.marks = false;
    }

    /// Something is deleted.
    pub(super) fn count_deletion(&mut self, it: &Judged<'_>) {
        let Some(before) = it.before.as_deref().filter(|it_was| self.is_taken(it, it_was)) else {
            return;
        };
        self.costs.taken.insert(uid(before).to_owned());
    }

    /// Whether a deletion of this counts.
    fn is_taken(&self, it: &Judged<'_>, before: &Value) -> bool {
        let Some(cost) = self.costs.cost else { return false };
        let is_empty = match it.target.plural.as_str() {
            "pods" => !is_live(before),
            // Old ones go by their limit.
            "replicasets" => number(before, "/spec/replicas") == 0,
            "controllerrevisions" => it.account == "daemon-set-controller",
            // They go with pods that end by themselves; rules of their own judge them
            // (seeds/detached-when-its-pod-ended.txt).
            "volumeattachments" => true,
            _ => false,
        };
        !is_empty && !is_ending(before) && (!self.is_hit(before) || cost == Cost::Nothing)
    }

    /// A corrupted field costs no more deletions than it may.
    pub(super) fn corruption_costs(&self, it: &Judged<'_>) -> Option<String> {
        let before = it.before.as_deref().filter(|_| it.method == "DELETE")?;
        let cost = self.costs.cost.filter(|_| self.costs.taken.contains(uid(before)))?;
        let (taken, most) = (self.costs.taken.len(), self.costs.hit.len());
        // A foreign pod that was released may be adopted, and is one too many then; so may one that
        // another owner controls, too.
        let has_other = |it: &Value| {
            let owners = list(it, "/metadata/ownerReferences");
            owners.iter().any(|owner| *at(owner, "/controller") != true)
        };
        let stranger = |uid: &&String| {
            let found = self.objects.find(uid);
            let is_foreign = |it: &Value| !at(it, "/metadata/labels")[FOREIGN].is_null();
            found.is_some_and(|(_, it)| is_foreign(it) || has_other(it))
        };
        let strangers = self.costs.hit.iter().filter(stranger).count();
        let most = if cost == Cost::AsMany { most } else { strangers };
        (taken > most).then(|| {
            let hit = self.costs.hit.len();
            format!("{it}: {taken} others than {hit} that were hit, {most} at most")
        })
    }

    /// Whether an object was hit, or one that owns it.
    fn is_hit(&self, object: &Value) -> bool {
        let mut of = vec![uid(object).to_owned()];
        let mut owners = list(object, "/metadata/ownerReferences").to_vec();
        // A Deployment owns sets, these own pods; circles have no end.
        for _ in 0..3 {
            let uids: Vec<_> = owners.iter().map(|it| text(it, "/uid").to_owned()).collect();
            let above = uids.iter().filter_map(|it| self.objects.find(it));
            owners =
                above.flat_map(|(_, it)| list(it, "/metadata/ownerReferences").to_vec()).collect();
            of.extend(uids);
        }
        of.iter().any(|uid| self.costs.hit.contains(uid))
    }
}

//! What a decision about a ReplicaSet looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Key, Pod, ReplicaSet, Resource, Selector, Time};
use controller::owners::Owner;
use controller::{Claim, View, Why, claim, pods};

use super::{Options, Set};

/// A set and its pods at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// Its kind.
    pub resource: Resource,
    /// The set.
    pub set: Arc<ReplicaSet>,
    /// What its claim on the active pods comes to. Pods that have ended or are being deleted are
    /// not among them, so they are never adopted or released.
    pub claim: Claim<Pod>,
    /// How many pods it controls and selects that are being deleted and have not ended; none: the
    /// gate says that they are not counted.
    pub terminating: Option<usize>,
    /// Only if some of its pods are to be deleted and others not: the pods whose nodes count as
    /// crowded, those that a ReplicaSet with the same controller selects.
    pub related: Vec<Arc<Pod>>,
}

/// What is to be done about the number of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// There are as many as asked for.
    Keep,
    /// So many are missing.
    Up(usize),
    /// So many are too many.
    Down(usize),
}

/// The selector of a set; or why the set must be left alone.
pub(super) fn selector(set: &ReplicaSet) -> Result<&Selector, Why> {
    set.usable_selector().map_err(|refusal| refusal.why("set"))
}

/// Runs on every event of a pod: index look-ups, and one pass over the pods of the set.
pub(super) fn observe<T: Set>(key: &Key, view: &View<'_>, options: &Options) -> Option<Snapshot> {
    let set = T::as_set(&view.of::<T>().get(key)?);
    Some(look((T::RESOURCE, set), view, options, T::managed_by))
}

/// `siblings` finds the sets whose controller has a uid.
fn look(
    (resource, set): (Resource, Arc<ReplicaSet>),
    view: &View<'_>,
    options: &Options,
    siblings: fn(&str, &View<'_>) -> Vec<Arc<ReplicaSet>>,
) -> Snapshot {
    let mut snapshot = Snapshot {
        now: view.now,
        resource,
        set: Arc::clone(&set),
        claim: Claim::default(),
        terminating: options.counts_terminating.then_some(0),
        related: Vec::new(),
    };
    let Ok(selector) = selector(&set) else { return snapshot };
    let mut found = pods::pods_of(view.of(), &snapshot.resource, &set.meta);
    let mut matches = pods::matcher(selector);
    let leaving = |pod: &&Arc<Pod>| !pod.is_terminal() && pod.meta.is_terminating();
    if let Some(count) = &mut snapshot.terminating {
        *count = found
            .iter()
            .filter(leaving)
            .filter(|pod| pod.meta.is_controlled_by(&set.meta.uid) && matches(pod))
            .count();
    }
    found.retain(|pod| pod.is_active());
    snapshot.claim = claim(&set.meta, found, matches);
    let have = snapshot.claim.mine.len();
    if let Scale::Down(surplus) = snapshot.scale()
        && surplus.min(options.burst_replicas) < have
    {
        let owner = set.meta.controller();
        snapshot.related =
            owner.map_or_else(Vec::new, |it| related(&siblings(&it.uid, view), view));
    }
    snapshot
}

/// As `getIndirectlyRelatedPods`: all pods, with any owner, that the sets of the same controller
/// select.
fn related(siblings: &[Arc<ReplicaSet>], view: &View<'_>) -> Vec<Arc<Pod>> {
    let mut selectors: BTreeMap<&str, Vec<&Selector>> = BTreeMap::new();
    for sibling in siblings {
        if let Ok(selector) = sibling.usable_selector() {
            selectors.entry(&sibling.meta.key.namespace).or_default().push(selector);
        }
    }
    let mut found = Vec::new();
    for (namespace, selectors) in selectors {
        let mut pods = view.of::<Pod>().by(Pod::BY_NAMESPACE, namespace);
        pods.retain(|pod| selectors.iter().any(|selector| selector.matches(&pod.meta.labels)));
        found.append(&mut pods);
    }
    found
}

// === impl Snapshot ===

impl Snapshot {
    /// How the number of pods differs from what is asked for.
    pub(super) fn scale(&self) -> Scale {
        let want = usize::try_from(self.set.replicas).unwrap_or(0);
        let have = self.claim.mine.len();
        match (want.saturating_sub(have), have.saturating_sub(want)) {
            (0, 0) => Scale::Keep,
            (0, surplus) => Scale::Down(surplus),
            (missing, _) => Scale::Up(missing),
        }
    }
}

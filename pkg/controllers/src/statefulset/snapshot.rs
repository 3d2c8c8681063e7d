//! What a decision about a StatefulSet looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{
    ControllerRevision, Key, Kind, Meta, PersistentVolumeClaim, Phase, Pod, PodManagement,
    Selector, StatefulSet, Text, Time,
};
use controller::history::{self, Numbers};
use controller::owners::Owner;
use controller::{Claim, View, Why, claim, pods};

use super::{CREATES_MAX, REVISION_LABEL, ordinal};

/// A StatefulSet, its pods, their claims and its revisions at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The set.
    pub set: Arc<StatefulSet>,
    /// What its claim on pods comes to.
    pub pods: Claim<Pod>,
    /// What its claim on revisions comes to, from the lowest number to the highest; none of them is
    /// let go.
    pub revisions: Claim<ControllerRevision>,
    /// The volume claims of its pods, and of those to be made next, by name.
    pub claims: BTreeMap<Text, Arc<PersistentVolumeClaim>>,
    /// The data of the revision of the present template.
    pub data: String,
}

/// The pods of a set by number: those that it has a place for, and the others.
pub(super) struct Roster<'a> {
    /// With a number of the set.
    pub(super) replicas: BTreeMap<i32, &'a Arc<Pod>>,
    /// With another number, from the highest to the lowest.
    pub(super) condemned: Vec<(i32, &'a Arc<Pod>)>,
}

/// The selector of a set; or why the set must be left alone.
pub(super) fn selector(set: &StatefulSet) -> Result<&Selector, Why> {
    set.usable_selector().map_err(|refusal| refusal.why("set"))
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let set = view.of::<StatefulSet>().get(key)?;
    let mut snapshot = Snapshot {
        now: view.now,
        set: Arc::clone(&set),
        pods: Claim::default(),
        revisions: Claim::default(),
        claims: BTreeMap::new(),
        data: String::new(),
    };
    let Ok(selector) = selector(&set) else { return Some(snapshot) };
    // One that has no template cannot be read; see `selector`.
    snapshot.data = history::data(set.raw.field("spec"), Numbers::Float).unwrap_or_default();
    let mut revisions = history::revisions_of(view.of(), &set.meta);
    // One that is managed and not selected is neither counted nor let go.
    revisions.retain(|revision| selector.matches(&revision.meta.labels));
    history::sort(&mut revisions);
    snapshot.revisions = claim(&set.meta, revisions, |_| true);
    let found = pods::pods_of(view.of(), &StatefulSet::RESOURCE, &set.meta);
    let mut matches = pods::matcher(selector);
    let is_member = |pod: &Pod| {
        let parent = ordinal::split(&pod.meta.key.name).map(|(parent, _)| parent);
        parent == Some(&*set.meta.key.name)
    };
    snapshot.pods = claim(&set.meta, found, |pod| matches(pod) && is_member(pod));
    snapshot.claims = snapshot.find_claims(view);
    Some(snapshot)
}

/// The name of the revision that a pod is made from. As `getPodRevision`.
pub(super) fn revision(pod: &Meta) -> &str {
    pod.labels.get(REVISION_LABEL).unwrap_or_default()
}

// === impl Snapshot ===

impl Snapshot {
    fn find_claims(&self, view: &View<'_>) -> BTreeMap<Text, Arc<PersistentVolumeClaim>> {
        if self.set.claims.is_empty() {
            return BTreeMap::new();
        }
        let roster = self.roster();
        let present = roster.replicas.keys().chain(roster.condemned.iter().map(|(at, _)| at));
        let missing = roster.missing(&self.set).take(CREATES_MAX);
        let ordinals = present.copied().chain(missing);
        let names = ordinals.flat_map(|ordinal| self.claim_names(ordinal));
        let found = names.filter_map(|(_, name)| {
            let key = Key { namespace: self.set.meta.key.namespace.clone(), name };
            Some((key.name.clone(), view.of::<PersistentVolumeClaim>().get(&key)?))
        });
        found.collect()
    }

    /// Upstream takes any of several pods with one number, such as `web-1` and `web-01`; here it is
    /// the one whose name is right.
    pub(super) fn roster(&self) -> Roster<'_> {
        let mut roster = Roster { replicas: BTreeMap::new(), condemned: Vec::new() };
        for pod in &self.pods.mine {
            let Some(ordinal) = ordinal::of(&pod.meta.key.name) else { continue };
            if !ordinal::is_in_range(&self.set, ordinal) {
                roster.condemned.push((ordinal, pod));
            } else if ordinal::pod_name(&self.set, ordinal) == *pod.meta.key.name {
                roster.replicas.insert(ordinal, pod);
            } else {
                roster.replicas.entry(ordinal).or_insert(pod);
            }
        }
        roster.condemned.sort_by(|(a, one), (b, other)| {
            b.cmp(a).then_with(|| one.meta.key.cmp(&other.meta.key))
        });
        roster
    }

    /// The templates of claims, and the names of the claims of a pod.
    pub(super) fn claim_names(&self, ordinal: i32) -> impl Iterator<Item = (&Text, Text)> {
        let name = move |template| ordinal::claim_name(&self.set, template, ordinal).into();
        self.set.claims.iter().map(move |template| (template, name(template)))
    }

    /// Whether pods wait for each other. As `allowsBurst`, the other way round.
    pub(super) fn is_ordered(&self) -> bool {
        match self.set.management {
            PodManagement::OrderedReady => true,
            PodManagement::Parallel => false,
        }
    }

    /// As `isRunningAndReady`.
    pub(super) fn is_ready(pod: &Pod) -> bool {
        pod.phase == Phase::Running && pod.is_ready()
    }

    /// As `isRunningAndAvailable`.
    pub(super) fn is_available(&self, pod: &Pod) -> bool {
        pods::is_available(pod, self.set.min_ready_seconds, self.now)
    }

    /// As `isUnavailable`.
    pub(super) fn is_unavailable(&self, pod: &Pod) -> bool {
        !self.is_available(pod) || pod.meta.is_terminating()
    }
}

// === impl Roster ===

impl Roster<'_> {
    /// The numbers of pods that are not there, from the lowest to the highest.
    pub(super) fn missing(&self, set: &StatefulSet) -> impl Iterator<Item = i32> {
        ordinal::range(set).filter(|ordinal| !self.replicas.contains_key(ordinal))
    }
}

//! What a decision about a Deployment looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Deployment, DeploymentStrategy, Key, Kind, Pod, ReplicaSet, Time};
use controller::owners::{Owner, Refusal};
use controller::{Claim, ObjectRef, View, Why, candidates, claim};

use super::Controller;
use super::template::Template;

/// Annotations by name.
pub(super) type Annotations = BTreeMap<String, String>;

/// A Deployment and its ReplicaSets at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The Deployment.
    pub deployment: Arc<Deployment>,
    /// The annotations of the Deployment.
    pub annotations: BTreeMap<String, String>,
    /// What its claim on the ReplicaSets comes to.
    pub claim: Claim<ReplicaSet>,
    /// Of its ReplicaSets, the oldest one of the present template.
    pub new: Option<Set>,
    /// All others, oldest first.
    pub old: Vec<Set>,
    /// Whether the status counts pods that are being deleted.
    pub counts_terminating: bool,
    /// Only if all old pods must end first: whether one is left that has not. One that is
    /// being deleted counts.
    pub old_pods: bool,
    /// Whether the last sync failed: the name of the new set may be taken.
    pub has_failed: bool,
}

/// A ReplicaSet of the Deployment.
#[derive(Clone, Debug)]
pub struct Set {
    /// The ReplicaSet.
    pub view: Arc<ReplicaSet>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// The pods that a set controls.
pub(super) fn pods_of(set: &ReplicaSet, view: &View<'_>) -> Vec<Arc<Pod>> {
    let mut pods = view.of::<Pod>().by(Pod::BY_CONTROLLER, &set.meta.uid);
    pods.retain(|pod| pod.meta.key.namespace == set.meta.key.namespace);
    pods
}

pub(super) fn observe(key: &Key, view: &View<'_>, options: Controller) -> Option<Snapshot> {
    let deployment = view.of::<Deployment>().get(key)?;
    let mut snapshot = Snapshot {
        now: view.now,
        annotations: deployment.raw.annotations(),
        deployment: Arc::clone(&deployment),
        claim: Claim::default(),
        new: None,
        old: Vec::new(),
        counts_terminating: options.counts_terminating,
        old_pods: false,
        has_failed: view.failures > 0,
    };
    let Ok(selector) = deployment.usable_selector() else { return Some(snapshot) };
    let (by_controller, orphans) = (ReplicaSet::BY_CONTROLLER, ReplicaSet::ORPHANS_BY_NAMESPACE);
    let found = candidates(view.of(), by_controller, orphans, &deployment.meta);
    snapshot.claim = claim(&deployment.meta, found, |set| selector.matches(&set.meta.labels));
    snapshot.sort_sets();
    if deployment.strategy == DeploymentStrategy::Recreate {
        snapshot.old_pods = snapshot.old.iter().any(|set| {
            let pods = pods_of(&set.view, view);
            pods.iter().any(|pod| !pod.is_terminal())
        });
    }
    Some(snapshot)
}

// === impl Snapshot ===

impl Snapshot {
    /// Whether it selects all pods, which a warning Event reports.
    pub(super) fn selects_all(&self) -> bool {
        self.deployment.usable_selector() == Err(Refusal::SelectsAll)
    }

    /// Why the Deployment cannot be understood, if so.
    pub(super) fn broken(&self) -> Option<Why> {
        match self.deployment.usable_selector() {
            Err(refusal @ Refusal::Unreadable(_)) => Some(refusal.why("Deployment")),
            Err(Refusal::Invalid(error)) => {
                let key = &self.deployment.meta.key;
                Some(format!("deployment {key} has invalid label selector: {error}").into())
            }
            Err(Refusal::SelectsAll) | Ok(_) => self.claim.mine.iter().find_map(|set| {
                let error = set.unreadable.as_ref()?;
                Some(format!("ReplicaSet {} cannot be read: {error}", set.meta.key).into())
            }),
        }
    }

    /// Old sets, oldest first, then the new one.
    pub(super) fn sets(&self) -> impl Iterator<Item = &Set> {
        self.old.iter().chain(&self.new)
    }

    /// How many pods its sets are to have.
    pub(super) fn size(&self) -> i32 {
        self.sets().map(Set::replicas).fold(0, i32::saturating_add)
    }

    /// The Deployment, for Events and writes.
    pub(super) fn object(&self) -> ObjectRef {
        ObjectRef::new(&Deployment::RESOURCE, &self.deployment.meta)
    }

    /// Finds the new set among all. As `FindNewReplicaSet`.
    fn sort_sets(&mut self) {
        let mut sets: Vec<Set> = self.claim.mine.iter().map(Set::new).collect();
        sets.sort_by(|a, b| a.age().cmp(&b.age()));
        let wanted = Template::of(self.deployment.raw.field("spec"));
        let labels = |labels| super::template::without_hash(labels);
        let of_deployment = labels(&self.deployment.template_labels);
        // Labels first: they are read already, and mostly suffice.
        let new = sets.iter().position(|set| {
            labels(&set.view.template_labels) == of_deployment
                && Template::of(set.view.raw.field("spec")) == wanted
        });
        self.new = new.map(|at| sets.remove(at));
        self.old = sets;
    }
}

// === impl Set ===

impl Set {
    fn new(view: &Arc<ReplicaSet>) -> Self {
        Self { annotations: view.raw.annotations(), view: Arc::clone(view) }
    }

    /// `spec.replicas`.
    pub(super) fn replicas(&self) -> i32 {
        self.view.replicas
    }

    /// `status.availableReplicas`.
    pub(super) fn available(&self) -> i32 {
        self.view.status.available_replicas
    }

    /// Whether it is to have pods.
    pub(super) fn is_active(&self) -> bool {
        self.replicas() > 0
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.view.meta.key.name
    }

    /// Orders sets from old to young. As `ReplicaSetsByCreationTimestamp`.
    pub(super) fn age(&self) -> (Option<Time>, &str) {
        (self.view.meta.creation_timestamp, self.name())
    }
}

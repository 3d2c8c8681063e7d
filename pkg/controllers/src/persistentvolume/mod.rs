//! Binds claims to volumes, asks provisioners for volumes, and reclaims volumes that were released.
//!
//! Reads: PersistentVolume, PersistentVolumeClaim, StorageClass, Pod; live, the claim of a volume
//! that the cache lacks, and the volume and pod of a recycling. Writes: PersistentVolume and
//! PersistentVolumeClaim (both also their status), Pod (the recycler's), Events. Upstream:
//! `pkg/controller/volume/persistentvolume` (v1.36).
//!
//! Two controllers, each with a queue of its own and one worker:
//!
//! - [`Claims`], whose keys are claims, finds a volume for each and writes the claim into the
//!   volume and then the volume into the claim; asks for one to be made if there is none; and
//!   writes the claim's status;
//! - [`Volumes`], whose keys are volumes, writes their phase, undoes bindings that failed, and
//!   reclaims.
//!
//! An object is written once in a sync, and the next write to it waits until the cache shows the
//! first: the four writes of a binding are two syncs of the claim and one of the volume. The
//! version that each PUT carries makes two bindings of one volume impossible, which upstream's own
//! cache only makes rare.
//!
//! **Invariant:** no volume is released, recycled or set to `Failed` because the cache lacks its
//! claim: the claim is read live, and compared by uid.
//! **Invariant:** a volume is recycled only in the version that was read live, and becomes
//! available only after a pod of this process has scrubbed it for the claim that it had.
//! **Invariant:** no volume is ever deleted here: all that can be is deleted by an external
//! provisioner.
//! **Invariant:** a claim is `Bound` only after its volume is.
//!
//! What an event costs: of a volume or claim a look at what refers to it; of a pod the beginning of
//! its name. A sync of a claim without a volume looks at the free volumes of its class.
//!
//! Otherwise than upstream,
//! - only what waits for something is looked at again each period, not everything;
//! - a volume that becomes free enqueues claims of its class, which upstream leaves to the period;
//! - the folders of `hostPath` volumes are neither made nor deleted, no FlexVolume driver is run,
//!   and the events of recycler pods are not repeated;
//! - the gauge of volumes counts each once.
//!
//! # Parts
//!
//! - `annotations`: what the two objects say of each other.
//! - `binding`: the writes that bind.
//! - `matching`: the volume that fits best.
//! - `provisioning`: who makes a volume for a claim.
//! - `volumes`: the controller whose keys are volumes.
//! - `reclaim`: what becomes of a volume without a claim.
//! - `recycling`: the pod that empties a volume.
//! - `metrics`: what is counted.

mod annotations;
mod binding;
mod decide;
mod matching;
mod metrics;
mod provisioning;
mod reclaim;
mod recycling;
mod snapshot;
mod volumes;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Key, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, Text, Time};
use controller::{Change, Count, Ended, Enqueue, Facts, Family, News, Plan, View, Watches};

pub use decide::Verdict;
pub use recycling::{Recycler, Recyclers, Recycling};
pub use snapshot::Snapshot;
pub use volumes::{VolumeMemory, VolumeSnapshot, VolumeVerdict, Volumes};

/// How many claims a volume that becomes free enqueues; the others wait for their period.
const ENQUEUED_MAX: usize = 64;

/// The controller whose keys are claims, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Claims {
    /// How often a claim that waits is looked at: `--pvclaimbinder-sync-period`.
    pub sync_period: Duration,
    /// Whether volumes are asked for: `--enable-dynamic-provisioning`.
    pub provisions: bool,
}

/// What no cache shows yet.
#[derive(Debug, Default)]
pub struct Memory {
    /// Volumes into which a claim was written, with the version before that: until the cache shows
    /// a newer one, they are no one else's.
    taken: BTreeMap<Text, u64>,
    /// The claims for which a volume was asked for.
    started: BTreeMap<Key, Started>,
}

/// An operation that takes its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Who does it.
    pub plugin: Text,
    /// Since when.
    pub at: Time,
}

impl controller::Controller for Claims {
    type Snapshot = Snapshot;
    type Memory = Memory;
    type Verdict = Verdict;

    const METRICS: &'static [Family] = metrics::OF_CLAIMS;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<PersistentVolumeClaim>(|_, change, _, queue| queue.own(change));
        table.remembers::<PersistentVolume>(|_, memory, change, view, queue| {
            volume_changed(memory, change, view, queue);
        });
        table.reads::<StorageClass>();
        table.reads::<Pod>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
        snapshot::observe(self, key, view, memory)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn counts(&self, _: Option<&Snapshot>, verdict: Option<&Verdict>, _: &Ended) -> Vec<Count> {
        verdict.map(metrics::not_provisioned).unwrap_or_default()
    }

    fn gauges(&self, view: &View<'_>, _: &Memory) -> Vec<Count> {
        metrics::of_claims(view)
    }

    fn remember(&self, memory: &mut Memory, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Acted { snapshot, verdict, outcome } => {
                // The volume is the first step of a binding.
                if let Some((name, version)) = &verdict.took
                    && outcome.step != Some(0)
                    && !outcome.unsettled
                {
                    memory.taken.insert(name.clone(), *version);
                }
                let key = &snapshot.claim.meta.key;
                if let Some(plugin) = &verdict.asked {
                    let (plugin, at) = (plugin.clone(), snapshot.now);
                    memory.started.entry(key.clone()).or_insert(Started { plugin, at });
                }
                if verdict.is_bound && outcome.error.is_none() {
                    memory.started.remove(key);
                }
            }
            News::Gone(key) => drop(memory.started.remove(key)),
            News::Answered { .. } => {}
        }
    }
}

/// Enqueues the claims that it is or was of, those that name it, and, if it is free now, those that
/// may take it.
fn volume_changed(
    memory: &mut Memory,
    change: &Change<PersistentVolume>,
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    let volume = change.object();
    let name = &volume.meta.key.name;
    let is_deleted = matches!(change, Change::Deleted(_));
    if is_deleted || memory.taken.get(name).is_some_and(|it| volume.meta.resource_version > *it) {
        memory.taken.remove(name);
    }
    let claims = view.of::<PersistentVolumeClaim>();
    let was = match change {
        Change::Updated { old, .. } => old.claim.as_ref(),
        Change::Added(_) | Change::Deleted(_) => None,
    };
    was.into_iter().chain(&volume.claim).for_each(|key| queue.add(key));
    for claim in claims.by(PersistentVolumeClaim::BY_VOLUME, name) {
        queue.add(&claim.meta.key);
    }
    if volume.is_free() && !is_deleted {
        let class = volume.class.as_deref().unwrap_or_default();
        let waiting = claims.by(PersistentVolumeClaim::PENDING_BY_CLASS, class);
        waiting.iter().take(ENQUEUED_MAX).for_each(|claim| queue.add(&claim.meta.key));
    }
}

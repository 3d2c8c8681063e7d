//! Warns of pods that use one volume with different SELinux labels: on one node, only one of them
//! can get at it.
//!
//! Reads: Pod, PersistentVolumeClaim, PersistentVolume, CSIDriver. Writes: nothing but Events, on
//! both pods. Upstream: `pkg/controller/volume/selinuxwarning` (v1.36), off by default there too.
//!
//! Its keys are pods. It remembers how each pod that has not ended uses its volumes ([`Usage`]):
//! with which label they are mounted, and how they get that label. A pod that is new, or uses a
//! volume otherwise than remembered, is compared with all other pods of the volume, wherever they
//! run. A conflict is told once, to both; a metric shows those that there are. What is remembered
//! is lost with the process, so the next one tells of each conflict once more, as upstream's does.
//!
//! **Invariant:** an Event about a conflict is sent only if both pods are known to use one volume,
//! with values that conflict.
//! **Invariant:** pods of another namespace are not named.
//!
//! What an event costs: of a pod, nothing if it mounts no claim and no volume that is attached; of
//! a claim or a volume, a look-up of its pods once they are bound. Only a CSIDriver that changes
//! what it supports costs a look at all volumes.
//!
//! Otherwise than upstream,
//! - a pod whose claim is not bound is not tried again and again: the claim and the volume tell;
//! - if one of the other pods is gone, the rest hears of its conflicts nevertheless;
//! - a pod that takes the place of another one of its name is a new one, and told of its conflicts;
//! - volumes whose plugins support no labels on mounts (hostPath, NFS, FlexVolume) are not
//!   remembered: there is nothing in which their pods could differ.
//!
//! # Parts
//!
//! - `changes`: which pods a change enqueues.
//! - `uses`: labels, policies, and what conflicts.
//! - `memory`: which pods use which volumes.
//! - `metrics`: the conflicts that there are.

mod changes;
mod decide;
mod memory;
mod metrics;
mod snapshot;
mod uses;

#[cfg(test)]
mod tests;

use api::{CsiDriver, Key, PersistentVolume, PersistentVolumeClaim, Pod};
use controller::{Count, Enqueue, Facts, Family, News, Plan, View, Watches};

pub use decide::Verdict;
pub use memory::Memory;
pub use snapshot::Snapshot;
pub use uses::Usage;

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Memory;
    type Verdict = Verdict;

    const METRICS: &'static [Family] = &[metrics::CONFLICT];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Pod>(|_, change, _, queue| changes::pod(change, queue));
        table.on::<PersistentVolumeClaim>(|_, change, view, queue| {
            changes::claim(change, view, queue);
        });
        table.on::<PersistentVolume>(|_, change, view, queue| changes::volume(change, view, queue));
        table.on::<CsiDriver>(|_, change, view, queue| changes::driver(change, view, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
        snapshot::observe(key, view, memory)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn gauges(&self, _: &View<'_>, memory: &Memory) -> Vec<Count> {
        metrics::gauges(memory)
    }

    fn remember(&self, memory: &mut Memory, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Acted { snapshot, verdict: Verdict::Uses, .. } => {
                memory.learn(&snapshot.pod.meta, snapshot.all_uses());
            }
            News::Acted { snapshot, verdict: Verdict::Over, .. } => {
                memory.forget(&snapshot.pod.meta.key);
            }
            News::Gone(key) => memory.forget(key),
            News::Acted { verdict: Verdict::Unknown, .. } | News::Answered { .. } => {}
        }
    }
}

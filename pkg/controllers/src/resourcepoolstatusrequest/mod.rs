//! Answers questions about pools of devices, each once, and deletes them after a while.
//!
//! Reads: ResourcePoolStatusRequest, ResourceSlice, ResourceClaim. Writes:
//! ResourcePoolStatusRequest (its status, delete). No Events. Upstream:
//! `pkg/controller/resourcepoolstatusrequest` (v1.36).
//!
//! **Invariant:** a request that has a status is never answered again.
//! **Invariant:** a request is deleted only an hour after its answer, or a day after its creation
//! if there is none.
//!
//! What an event costs: of a request, a look at its status; of a slice, a look-up of the requests
//! for its driver that wait.
//!
//! Otherwise than upstream, a slice enqueues the requests that wait for its driver, so that one
//! whose pools are incomplete is answered once they are complete; upstream tries five times more
//! and then never again. What is over is deleted at that moment, not at the next of passes ten
//! minutes apart.
//!
//! # Parts
//! - `pools`: what the slices and claims say of each pool.

mod decide;
mod pools;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, ResourceClaim, ResourcePoolStatusRequest, ResourceSlice};
use controller::{Amount, Change, Count, Ended, Enqueue, Facts, Family, Plan, View, Watches};

pub use decide::Verdict;
pub use snapshot::Snapshot;

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = Verdict;

    const METRICS: &'static [Family] =
        &[decide::PROCESSED_TOTAL, decide::ERRORS_TOTAL, decide::DURATION];
    const RETRIES_MAX: Option<u32> = Some(5);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ResourcePoolStatusRequest>(|_, change, view, queue| {
            request_changed(change, view, queue);
        });
        table.on::<ResourceSlice>(|_, change, view, queue| {
            let driver = &change.object().driver;
            let requests = view.of::<ResourcePoolStatusRequest>();
            for it in requests.by(ResourcePoolStatusRequest::PENDING_BY_DRIVER, driver) {
                queue.add(&it.meta.key);
            }
        });
        table.reads::<ResourceClaim>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn counts(
        &self,
        snapshot: Option<&Snapshot>,
        verdict: Option<&Verdict>,
        ended: &Ended,
    ) -> Vec<Count> {
        match (snapshot, verdict) {
            (Some(s), Some(Verdict::Answers)) if !ended.unsettled => {
                let took = Amount::Of(ended.took.as_secs_f64());
                let count = Count::one(&decide::DURATION).labels([&*s.request.driver]);
                vec![Count { value: took, ..count }]
            }
            _ => Vec::new(),
        }
    }
}

fn request_changed(
    change: &Change<ResourcePoolStatusRequest>,
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    match change {
        Change::Added(request) | Change::Updated { new: request, .. } => {
            queue.add(&request.meta.key);
            // Also if it is given up: one that is never answered is deleted all the same.
            if let (None, Some(ends)) = (request.answered, snapshot::ends(request)) {
                queue.add_after(&request.meta.key, ends.since(view.now));
            }
        }
        Change::Deleted(request) => queue.forget(&request.meta.key),
    }
}

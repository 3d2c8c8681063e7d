//! Removes the finalizer of pods that no Job will count any more. As `syncOrphanPod` in upstream's
//! `job_controller.go`.
//!
//! Reads: Job, Pod. Writes: Pod (patch of the finalizer).
//!
//! **Invariant:** a pod of a Job that has not finished, or that another controller manages, keeps
//! its finalizer, and so does a pod that something else than a Job controls.

use std::sync::Arc;

use api::{Job, Key, Kind, Pod};
use controller::owners::owner_of;
use controller::{Change, Enqueue, Facts, Plan, Step, View, Watches};

use super::decide::untrack;

/// The controller; its keys are those of pods.
#[derive(Clone, Copy, Debug)]
pub struct Orphans;

/// A pod, and the Job that controls it, if there is one.
#[derive(Clone, Debug)]
pub struct Orphan {
    pod: Arc<Pod>,
    job: Option<Arc<Job>>,
}

/// What a pod is to Jobs.
enum Stand {
    /// It has no finalizer of Jobs.
    Free,
    /// Its finalizer stays; the reason.
    Kept(&'static str),
    /// Its finalizer is removed; the reason.
    Orphan(&'static str),
}

impl controller::Controller for Orphans {
    type Snapshot = Orphan;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Job>(|_, change, view, queue| job_changed(change, view, queue));
        table.on::<Pod>(|_, change, view, queue| pod_changed(change, view, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Orphan> {
        let pod = view.of::<Pod>().get(key)?;
        let job = owner_of::<Job>(&pod.meta, view);
        Some(Orphan { pod, job })
    }

    fn decide(&self, orphan: &Orphan, _: &Facts) -> (Plan, ()) {
        let plan = match stand(&orphan.pod, orphan.job.as_deref()) {
            Stand::Free => Plan::rest("it has no finalizer of Jobs"),
            Stand::Kept(why) => Plan::rest(why),
            Stand::Orphan(why) => Plan::one(why, Step::InOrder(vec![untrack(&orphan.pod)])),
        };
        (plan, ())
    }

    fn summary(&self, orphan: &Orphan) -> Vec<(&'static str, String)> {
        let job = orphan.job.as_ref();
        let job = job.map_or_else(|| "none".to_owned(), |job| job.meta.key.to_string());
        vec![("tracked", orphan.pod.is_tracked().to_string()), ("Job", job)]
    }
}

/// As `handleSingleOrphanPod`.
fn stand(pod: &Pod, job: Option<&Job>) -> Stand {
    if !pod.is_tracked() {
        return Stand::Free;
    }
    let Some(controller) = pod.meta.controller() else {
        return Stand::Orphan("nothing controls the pod");
    };
    let is_job = *controller.kind == *Job::RESOURCE.kind
        && *controller.api_version == *Job::RESOURCE.api_version();
    match job {
        _ if !is_job => Stand::Kept("something else than a Job controls the pod"),
        None => Stand::Orphan("the Job of the pod was deleted"),
        Some(job) if job.external_manager().is_some() => {
            Stand::Kept("another controller manages the Job of the pod")
        }
        Some(job) if job.finish.is_some() => Stand::Orphan("the Job of the pod has finished"),
        Some(_) => Stand::Kept("the Job of the pod counts it"),
    }
}

// === Watch table ===

/// The pods of a Job that was deleted or has finished. Costs a look at the pods of that Job.
fn job_changed(change: &Change<Job>, view: &View<'_>, queue: &mut Enqueue) {
    let job = match change {
        Change::Added(job) | Change::Updated { new: job, .. } if job.finish.is_none() => return,
        Change::Added(job) | Change::Updated { new: job, .. } | Change::Deleted(job) => job,
    };
    for pod in view.of::<Pod>().by(Pod::BY_CONTROLLER, &job.meta.uid) {
        if pod.is_tracked() {
            queue.add(&pod.meta.key);
        }
    }
}

fn pod_changed(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    let pod = match change {
        Change::Updated { .. } if change.is_resync() => return,
        Change::Added(pod) | Change::Updated { new: pod, .. } => pod,
        Change::Deleted(_) => return,
    };
    if !pod.is_tracked() {
        return;
    }
    let is_orphan = match pod.meta.controller() {
        None => true,
        Some(controller) if *controller.kind != *Job::RESOURCE.kind => false,
        Some(_) => {
            let is_over = |job: Arc<Job>| job.finish.is_some();
            pod.meta.is_terminating() && owner_of::<Job>(&pod.meta, view).is_none_or(is_over)
        }
    };
    if is_orphan {
        queue.add(&pod.meta.key);
    }
}

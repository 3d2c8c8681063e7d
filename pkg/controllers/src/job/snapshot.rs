//! What a decision about a Job looks at.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Job, Key, Kind, Pod, Selector, Text, Time};
use controller::owners::Owner;
use controller::{Claim, View, Why, claim};

use super::backoff::{Backoffs, Record};

/// A Job and its pods at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The Job.
    pub job: Arc<Job>,
    /// What its claim on pods comes to; pods that have ended or are being deleted are among them.
    pub claim: Claim<Pod>,
    /// The uids of the pods that it is about to adopt, which get the finalizer by that.
    pub(super) adopted: BTreeSet<Text>,
    /// How its pods fared, as far as they are counted.
    pub(super) record: Record,
}

/// The selector of a Job; or why the Job must be left alone.
pub(super) fn selector(job: &Job) -> Result<&Selector, Why> {
    job.usable_selector().map_err(|refusal| refusal.why("Job"))
}

pub(super) fn observe(key: &Key, view: &View<'_>, backoffs: &Backoffs) -> Option<Snapshot> {
    let job = view.of::<Job>().get(key)?;
    let mut snapshot = Snapshot {
        now: view.now,
        record: backoffs.record(key, &job.meta.uid),
        job: Arc::clone(&job),
        claim: Claim::default(),
        adopted: BTreeSet::new(),
    };
    let is_over = job.finish.is_some() || job.external_manager().is_some();
    let Ok(selector) = selector(&job) else { return Some(snapshot) };
    if is_over {
        return Some(snapshot);
    }
    let found = controller::pods::pods_of(view.of(), &Job::RESOURCE, &job.meta);
    let claim = claim(&job.meta, found, controller::pods::matcher(selector));
    snapshot.claim = claim.with_finalizer(Job::TRACKING_FINALIZER);
    snapshot.adopted = snapshot.claim.adopt.iter().map(|pod| pod.meta.uid.clone()).collect();
    Some(snapshot)
}

// === impl Snapshot ===

impl Snapshot {
    /// Whether a pod of the Job is not counted yet.
    pub(super) fn is_tracked(&self, pod: &Pod) -> bool {
        pod.is_tracked() || self.adopted.contains(&pod.meta.uid)
    }
}

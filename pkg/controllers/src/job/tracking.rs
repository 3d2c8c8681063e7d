//! Which pods that have ended are counted now. As `trackJobStatusAndRemoveFinalizers` in upstream's
//! `job_controller.go`.
//!
//! A pod that has ended is written down in the status first; then its finalizer is removed; and
//! when that shows, it becomes a number. So none is lost or counted twice, whenever the process
//! ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{JobStatus, Phase, Pod, PodFailureAction};
use mutant::Mutant;

use super::finish::{self, Ending};
use super::pods;
use super::standing::Standing;

/// The status names at most so many pods; then it waits until their finalizers are removed.
/// Upstream's `MaxUncountedPods`.
const UNCOUNTED_MAX: usize = 500;

/// What becomes of pods that have ended.
#[derive(Debug)]
pub(super) struct Tracked {
    /// The status that names them.
    pub(super) status: JobStatus,
    /// Those that lose their finalizer once that is written.
    pub(super) release: Vec<Arc<Pod>>,
    /// How many of them matched rules with these actions.
    pub(super) judged: BTreeMap<PodFailureAction, u32>,
    /// There are more than the status can name.
    pub(super) is_full: bool,
}

pub(super) fn track(standing: &Standing<'_>, ending: Option<&Ending>) -> Tracked {
    let s = standing.s;
    let mut status = standing.job.status.clone();
    let tracked: BTreeSet<&str> =
        standing.pods.iter().filter(|pod| s.is_tracked(pod)).map(|pod| &*pod.meta.uid).collect();
    count_released(&mut status, &tracked);
    let known = standing.job.status.uncounted_terminated_pods.clone().unwrap_or_default();
    let known_succeeded: BTreeSet<&str> = known.succeeded.iter().map(String::as_str).collect();
    let known_failed: BTreeSet<&str> = known.failed.iter().map(String::as_str).collect();
    let mut uncounted = status.uncounted_terminated_pods.take().unwrap_or_default();
    let mut new_indexes = Vec::new();
    let mut tracked =
        Tracked { status, release: Vec::new(), judged: BTreeMap::new(), is_full: false };
    for pod in standing.pods.iter().filter(|pod| s.is_tracked(pod)) {
        if !may_release(standing, ending, pod) {
            continue;
        }
        tracked.release.push(Arc::clone(pod));
        let uid = &*pod.meta.uid;
        if pod.phase == Phase::Succeeded && !known_failed.contains(uid) {
            match &standing.indexes {
                // Its index keeps it from being counted again.
                Some(indexes) => new_indexes
                    .extend(standing.valid_index(pod).filter(|it| !indexes.counted.has(*it))),
                None if !known_succeeded.contains(uid) => uncounted.succeeded.push(uid.to_owned()),
                None => {}
            }
        } else if is_failed_now(standing, ending, pod)
            && !known_failed.contains(uid)
            && standing.is_valid(pod)
        {
            let verdict = standing.judge(pod);
            if let Some(action) = verdict.action {
                *tracked.judged.entry(action).or_default() += 1;
            }
            if verdict.counts() {
                uncounted.failed.push(uid.to_owned());
            }
        }
        if new_indexes.len() + uncounted.succeeded.len() + uncounted.failed.len() >= UNCOUNTED_MAX {
            tracked.is_full = true;
            break;
        }
    }
    tracked.status.uncounted_terminated_pods = Some(uncounted);
    write_indexes(standing, new_indexes, &mut tracked.status);
    tracked
}

/// Whether every pod that has not ended counts as failed, since the Job has.
fn is_failed_now(standing: &Standing<'_>, ending: Option<&Ending>, pod: &Pod) -> bool {
    let job_fails = ending.is_some_and(|ending| ending.result == finish::Result::Failure);
    job_fails || pods::is_failed(pod, standing.job)
}

/// As `canRemoveFinalizer`.
fn may_release(standing: &Standing<'_>, ending: Option<&Ending>, pod: &Pod) -> bool {
    let is_over = standing.job.meta.is_terminating() || ending.is_some();
    if is_over || pod.phase == Phase::Succeeded {
        return true;
    }
    let awaits = || {
        let indexes = standing.indexes.as_ref()?;
        let last = indexes.delayed.get(&pods::index(pod)?)?;
        Some(last.meta.uid == pod.meta.uid)
    };
    pods::is_failed(pod, standing.job) && awaits() != Some(true)
}

/// Pods that have no finalizer any more become numbers. As `cleanUncountedPodsWithoutFinalizers`.
fn count_released(status: &mut JobStatus, tracked: &BTreeSet<&str>) {
    let Some(uncounted) = &mut status.uncounted_terminated_pods else { return };
    let counted = |uids: &mut Vec<String>| {
        let before = uids.len();
        let is_held = |uid: &String| tracked.contains(uid.as_str());
        uids.retain(|uid| is_held(uid) && !mutant::is(Mutant::CountedTooSoon));
        i32::try_from(before - uids.len()).unwrap_or(i32::MAX)
    };
    let succeeded = counted(&mut uncounted.succeeded);
    let failed = counted(&mut uncounted.failed);
    status.succeeded = status.succeeded.saturating_add(succeeded);
    status.failed = status.failed.saturating_add(failed);
}

fn write_indexes(standing: &Standing<'_>, mut new: Vec<i64>, status: &mut JobStatus) {
    let Some(indexes) = &standing.indexes else { return };
    new.dedup();
    let succeeded = indexes.succeeded.with(new);
    status.succeeded = i32::try_from(succeeded.total()).unwrap_or(i32::MAX);
    status.completed_indexes = succeeded.to_string();
    status.failed_indexes = indexes.failed.as_ref().map(ToString::to_string);
}

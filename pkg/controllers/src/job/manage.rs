//! How many pods there should be. As `manageJob` in upstream's `job_controller.go`.

use std::sync::Arc;
use std::time::Duration;

use api::Pod;

use super::backoff::remaining_of_index;
use super::standing::Standing;
use super::{BATCH, pods, removal};

/// How many pods one sync makes or deletes at most. Upstream's `MaxPodCreateDeletePerSync`.
const PODS_MAX: usize = 500;

/// What is to be done about the number of pods.
#[derive(Debug)]
pub(super) enum Work {
    /// Nothing.
    Keep,
    /// These are too many.
    Delete(Vec<Arc<Pod>>),
    /// So many are missing.
    Create(usize),
    /// These indexes are missing.
    CreateIndexes(Vec<i64>),
    /// Some are missing, and are made later since others have failed. The index that is next, if
    /// each waits on its own.
    Wait(Duration, Option<i64>),
}

pub(super) fn work(standing: &Standing<'_>) -> Work {
    let active = standing.active.len();
    if standing.job.spec.suspend {
        return delete(removal::victims(standing, active));
    }
    let wanted = wanted(standing);
    let mut victims = removal::victims(standing, active.saturating_sub(wanted));
    victims.truncate(PODS_MAX);
    if !victims.is_empty() {
        return delete(victims);
    }
    match missing(standing) {
        0 => Work::Keep,
        missing => create(standing, missing),
    }
}

/// How many pods are to be created, if each has an index to be of.
pub(super) fn missing(standing: &Standing<'_>) -> usize {
    let terminating =
        if pods::replaces_failed_only(standing.job) { standing.terminating } else { 0 };
    let terminating = usize::try_from(terminating).unwrap_or(0);
    wanted(standing).saturating_sub(terminating).saturating_sub(standing.active.len())
}

/// How many pods should be active.
pub(super) fn wanted(standing: &Standing<'_>) -> usize {
    let parallelism = i64::from(standing.job.spec.parallelism);
    let wanted = match standing.job.spec.completions {
        None if standing.succeeded > 0 => return standing.active.len(),
        None => parallelism,
        Some(completions) => (i64::from(completions) - standing.succeeded).min(parallelism),
    };
    usize::try_from(wanted).unwrap_or(0)
}

fn delete(victims: Vec<Arc<Pod>>) -> Work {
    if victims.is_empty() { Work::Keep } else { Work::Delete(victims) }
}

fn create(standing: &Standing<'_>, missing: usize) -> Work {
    let (s, count) = (standing.s, missing.min(PODS_MAX));
    let by_index = standing.job.spec.backoff_limit_per_index.is_some();
    let remaining = standing.record.remaining(s.now);
    if !by_index && !remaining.is_zero() {
        return Work::Wait(remaining.max(BATCH), None);
    }
    let Some(indexes) = &standing.indexes else { return Work::Create(count) };
    let missing = missing_indexes(standing, count);
    if !by_index {
        return create_indexes(missing);
    }
    let remaining = |index: &i64| remaining_of_index(indexes.delayed.get(index), s.now);
    let (now, later): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|index| remaining(index).is_zero());
    let next = later.iter().map(|index| (remaining(index), *index)).min();
    match next {
        Some((remaining, index)) if now.is_empty() => Work::Wait(remaining.max(BATCH), Some(index)),
        Some(_) | None => create_indexes(now),
    }
}

fn create_indexes(indexes: Vec<i64>) -> Work {
    if indexes.is_empty() { Work::Keep } else { Work::CreateIndexes(indexes) }
}

/// The first indexes that have neither ended nor an active pod. As `firstPendingIndexes`.
fn missing_indexes(standing: &Standing<'_>, count: usize) -> Vec<i64> {
    let Some(indexes) = &standing.indexes else { return Vec::new() };
    let mut taken = indexes.succeeded.with(standing.active_indexes());
    if pods::replaces_failed_only(standing.job) {
        let terminating = standing.pods.iter().filter(|pod| pods::is_terminating(pod));
        let of_those: std::collections::BTreeSet<i64> =
            terminating.filter_map(|pod| pods::index(pod)).collect();
        taken = taken.with(of_those);
    }
    if let Some(failed) = &indexes.failed {
        taken = taken.merged(failed);
    }
    taken.first_missing(count, standing.completions())
}

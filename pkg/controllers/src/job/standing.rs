//! How a Job stands: its pods, counted as its status does not yet count them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Job, Phase, Pod, PodFailureAction};

use super::backoff::Record;
use super::failure_policy::{Verdict, judge};
use super::indexes::Indexes;
use super::pods;
use super::snapshot::Snapshot;

/// How a Job stands at one moment.
#[derive(Debug)]
pub(super) struct Standing<'a> {
    pub(super) s: &'a Snapshot,
    pub(super) job: &'a Job,
    /// All its pods; of an indexed Job in the order of their indexes, those without one first.
    pub(super) pods: Vec<Arc<Pod>>,
    /// Those that have not ended and are not being deleted.
    pub(super) active: Vec<Arc<Pod>>,
    /// How many of those are ready.
    pub(super) ready: i32,
    /// How many are being deleted and have not ended.
    pub(super) terminating: i32,
    /// How many pods, or indexes, have succeeded, counted or not.
    pub(super) succeeded: i64,
    /// How many pods have failed so that it counts, counted or not.
    pub(super) failed: i64,
    /// Of an indexed Job: its indexes.
    pub(super) indexes: Option<Standings>,
    /// How its pods fared.
    pub(super) record: Record,
}

/// How the indexes of a Job stand.
#[derive(Debug, Default)]
pub(super) struct Standings {
    /// Those that have succeeded, as the status says.
    pub(super) counted: Indexes,
    /// Those that have succeeded.
    pub(super) succeeded: Indexes,
    /// Those that have failed; none: failures are not counted by index.
    pub(super) failed: Option<Indexes>,
    /// The last failed pod of each index that is to get another one. It stays until that one is
    /// active, which takes over how often the index has failed.
    pub(super) delayed: BTreeMap<i64, Arc<Pod>>,
}

// === impl Standing ===

impl<'a> Standing<'a> {
    pub(super) fn of(s: &'a Snapshot) -> Self {
        let job = &*s.job;
        let mut pods = s.claim.mine.clone();
        if job.is_indexed() {
            pods.sort_by_key(|pod| pods::index(pod));
        }
        let active: Vec<_> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
        let mut standing = Self {
            s,
            job,
            ready: count(active.iter().filter(|pod| pod.is_ready())),
            terminating: count(pods.iter().filter(|pod| pods::is_terminating(pod))),
            active,
            pods,
            succeeded: 0,
            failed: 0,
            indexes: None,
            record: s.record,
        };
        let uncounted = job.status.uncounted_terminated_pods.clone().unwrap_or_default();
        let succeeded = standing.new_pods(&uncounted.succeeded, |p| p.phase == Phase::Succeeded);
        let failed = standing.new_pods(&uncounted.failed, |pod| pods::is_failed(pod, job));
        let counting = failed.iter().filter(|pod| standing.judge(pod).counts()).count();
        let sum = |counted: i32, lists: [usize; 2]| {
            i64::from(counted)
                + lists.map(|it| i64::try_from(it).unwrap_or(i64::MAX)).iter().sum::<i64>()
        };
        standing.succeeded =
            sum(job.status.succeeded, [succeeded.len(), uncounted.succeeded.len()]);
        standing.failed = sum(job.status.failed, [counting, uncounted.failed.len()]);
        standing.record = s.record.with(&succeeded, &failed);
        if job.is_indexed() {
            let indexes = standing.indexes();
            standing.succeeded = indexes.succeeded.total();
            standing.indexes = Some(indexes);
        }
        standing
    }

    /// How many indexes there are.
    pub(super) fn completions(&self) -> i64 {
        self.job.spec.completions.map_or(0, i64::from)
    }

    /// What the policy says of a pod that failed.
    pub(super) fn judge(&self, pod: &Pod) -> Verdict {
        judge(self.job.spec.pod_failure_policy.as_ref(), pod)
    }

    /// The index of a pod, if the Job has such an index.
    pub(super) fn valid_index(&self, pod: &Pod) -> Option<i64> {
        pods::index(pod).filter(|index| *index < self.completions())
    }

    /// Whether a pod counts at all: of an indexed Job, if it has an index.
    pub(super) fn is_valid(&self, pod: &Pod) -> bool {
        !self.job.is_indexed() || self.valid_index(pod).is_some()
    }

    /// The pods of such an index that are active.
    pub(super) fn active_indexes(&self) -> BTreeSet<i64> {
        self.active.iter().filter_map(|pod| pods::index(pod)).collect()
    }

    /// Those that the status does not know of yet. As `getValidPodsWithFilter`.
    fn new_pods(&self, known: &[String], filter: impl Fn(&Pod) -> bool) -> Vec<Arc<Pod>> {
        let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
        let is_new = |pod: &&Arc<Pod>| {
            self.s.is_tracked(pod) && !known.contains(&*pod.meta.uid) && self.is_valid(pod)
        };
        self.pods.iter().filter(is_new).filter(|pod| filter(pod)).cloned().collect()
    }

    fn indexes(&self) -> Standings {
        let (status, completions) = (&self.job.status, self.completions());
        let counted = Indexes::parse(&status.completed_indexes, completions);
        let with_finalizer = || self.pods.iter().filter(|pod| self.s.is_tracked(pod));
        let those = |holds: &dyn Fn(&Pod) -> bool| -> BTreeSet<i64> {
            let pods = with_finalizer().filter(|pod| holds(pod));
            pods.filter_map(|pod| self.valid_index(pod)).collect()
        };
        let succeeded = counted.with(those(&|pod| pod.phase == Phase::Succeeded));
        let mut standings = Standings { counted, succeeded, ..Standings::default() };
        if let Some(limit) = self.job.spec.backoff_limit_per_index {
            let known = status.failed_indexes.as_deref().unwrap_or_default();
            let failed = those(&|pod| self.fails_its_index(pod, limit));
            let failed = Indexes::parse(known, completions).with(failed);
            standings.delayed = self.delayed(&standings.succeeded, &failed);
            standings.failed = Some(failed);
        }
        standings
    }

    /// As `isIndexFailed`.
    fn fails_its_index(&self, pod: &Pod, limit: i32) -> bool {
        if !pods::is_failed(pod, self.job) {
            return false;
        }
        let verdict = self.judge(pod);
        verdict.action == Some(PodFailureAction::FailIndex)
            || verdict.counts() && pods::failures(pod) >= limit
    }

    /// As `getPodsWithDelayedDeletionPerIndex`.
    fn delayed(&self, succeeded: &Indexes, failed: &Indexes) -> BTreeMap<i64, Arc<Pod>> {
        let active = self.active_indexes();
        let mut delayed: BTreeMap<i64, Arc<Pod>> = BTreeMap::new();
        for pod in self.new_pods(&[], |pod| pods::is_failed(pod, self.job)) {
            let Some(index) = self.valid_index(&pod) else { continue };
            if succeeded.has(index) || failed.has(index) || active.contains(&index) {
                continue;
            }
            let is_earlier = delayed.get(&index).is_some_and(|last| {
                pods::all_failures(&pod) < pods::all_failures(last)
                    || pods::finished_at(&pod) < pods::finished_at(last)
            });
            if !is_earlier {
                delayed.insert(index, pod);
            }
        }
        delayed
    }
}

/// How many there are, as a status has it.
pub(super) fn count<T>(items: impl Iterator<Item = T>) -> i32 {
    i32::try_from(items.count()).unwrap_or(i32::MAX)
}

//! The pods that the API server was asked to evict, until they show as terminating. As
//! `buildDisruptedPodMap` and `countHealthyPods` in upstream's
//! `pkg/controller/disruption/disruption.go`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Pod, Time};
use mutant::Mutant;

use super::snapshot::Snapshot;

/// How long a pod may take to show as terminating; upstream's `DeletionTimeout`.
pub(super) const DELETION_TIMEOUT: Duration = Duration::from_mins(2);

/// What has become of them.
pub(super) struct Disrupted<'a> {
    /// Those that are still expected to terminate, and since when.
    pub(super) expected: BTreeMap<String, Time>,
    /// Those that did not in time.
    pub(super) not_deleted: Vec<&'a Arc<Pod>>,
    /// When the next one will have had its time; none: never.
    pub(super) until: Option<Time>,
}

/// Entries of pods that are gone or terminating are left out.
pub(super) fn sort(s: &Snapshot) -> Disrupted<'_> {
    let mut sorted = Disrupted { expected: BTreeMap::new(), not_deleted: Vec::new(), until: None };
    for pod in s.pods.iter().filter(|pod| !pod.meta.is_terminating()) {
        let name = &*pod.meta.key.name;
        let Some(&since) = s.budget.status.disrupted_pods.get(name) else { continue };
        let end = since + DELETION_TIMEOUT;
        if end < s.now {
            sorted.not_deleted.push(pod);
        } else if !mutant::is(Mutant::EvictedForgotten) {
            sorted.until = Some(sorted.until.map_or(end, |until| until.min(end)));
            sorted.expected.insert(name.to_owned(), since);
        }
    }
    sorted
}

// === impl Disrupted ===

impl Disrupted<'_> {
    /// Whether a pod counts as healthy.
    pub(super) fn is_healthy(&self, pod: &Pod, now: Time) -> bool {
        let since = self.expected.get(&*pod.meta.key.name);
        let is_expected = since.is_some_and(|&since| since + DELETION_TIMEOUT > now);
        let goes = pod.meta.is_terminating() && !mutant::is(Mutant::TerminatingIsHealthy);
        !goes && !is_expected && pod.is_ready()
    }
}

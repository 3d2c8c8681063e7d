//! What controllers have counted, as data.

/// A histogram that a controller fills. Name, help and buckets are upstream's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Histogram {
    /// Such as `replicaset_controller_sorting_deletion_age_ratio`.
    pub name: &'static str,
    /// One sentence or more, starting with the stability level in brackets.
    pub help: &'static str,
    /// Upper bounds, without the infinite one.
    pub buckets: &'static [f64],
}

/// A value for a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The histogram's name.
    pub histogram: &'static str,
    /// The value.
    pub value: f64,
}

/// A counter that actions add to. Name, help and labels are upstream's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Such as `pod_gc_collector_force_delete_pods_total`.
    pub name: &'static str,
    /// One sentence or more, starting with the stability level in brackets.
    pub help: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
}

/// Two families about the syncs of a controller, with one label `code`: the API server's answer to
/// the write that failed, 500 for other failures, 200 if all went well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Syncs {
    /// Counts them; its labels are `code`.
    pub total: Counter,
    /// Their duration in seconds.
    pub duration: Histogram,
}

/// Counts one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The counter of attempts.
    pub attempts: &'static str,
    /// The counter of those that failed.
    pub failures: &'static str,
    /// The values of the labels of both.
    pub labels: Vec<String>,
}

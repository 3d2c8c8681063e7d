//! The counts of controllers, as data: one form for all of them.
//!
//! A controller has one table of families ([`crate::Controller::METRICS`]), and adds to them by
//! [`Count`]s. Their origin determines when they are added:
//!
//! - **a plan**, once it is acted on: measurements of the decision (`*_sorting_deletion_age_ratio`,
//!   the endpoints added and removed by a sync, a metric that an autoscaler computed);
//! - **a write**, by its result ([`When`]): counts that depend on the API server's response (forced
//!   deletions of pods and their errors, evictions, a Job's finished pods after its status is
//!   written, claims that were created, endpoint slices that changed, forced detaches);
//! - **the end of a sync** ([`crate::Controller::counts`]): how often and how long, by its result
//!   (`root_ca_cert_publisher_sync_*` and those of cluster trust bundles by code, a Job's syncs by
//!   action, an autoscaler's reconciliations, `endpoint_slice_controller_syncs`, and the
//!   `*_stale_sync_skips_total` of syncs whose caches were stale);
//! - **a handler** ([`crate::Enqueue::count`]): counts of events (pods that a Job tracks by their
//!   finalizer, Jobs of another controller);
//! - **a scrape** ([`crate::Controller::gauges`]): all gauges. They are not kept up to date but
//!   computed at each scrape, from the caches: persistent volumes and claims by class, volumes in
//!   use by node, resource claims, the zones of nodes, conflicts of SELinux labels, autoscalers,
//!   endpoint slices, a StatefulSet's unavailable pods, address ranges in use.
//!
//! A family can belong to several rows, such as ReplicaSets and ReplicationControllers, or to
//! several engines of one row, if all describe it the same. The crates of queues, informers and
//! requests count those, not this one.

use std::time::Duration;

use api::Time;

/// A metric family. Name, help, labels and buckets are upstream's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Family {
    /// Such as `replicaset_controller_sorting_deletion_age_ratio`.
    pub name: &'static str,
    /// One sentence or more, starting with the stability level in brackets.
    pub help: &'static str,
    /// Its type.
    pub shape: Shape,
    /// The names of its labels. None: one series, shown from the start. With labels, even an empty
    /// list of them, a series is shown once something, even zero, is added to it.
    pub labels: Option<&'static [&'static str]>,
    /// The release that deprecated it: major, minor, patch.
    pub deprecated: Option<[u32; 3]>,
}

/// The types of families.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Only grows.
    Counter,
    /// Computed for each page: what [`crate::Controller::gauges`] returns, added up.
    Gauge,
    /// Upper bounds of its buckets, without the infinite one; none: Prometheus' own, 0.005 to 10.
    Histogram(&'static [f64]),
}

/// Something to add to a family of the controller's table; for any other family it is dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The family.
    pub family: &'static Family,
    /// The values of its labels, in their order. The engine limits the series of a family: all
    /// further ones become one series with the labels `unexpected`.
    pub labels: Vec<String>,
    /// The amount; for a histogram, the observed value.
    pub value: Amount,
    /// The condition.
    pub when: When,
}

/// The amount to add.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This amount.
    Of(f64),
    /// The seconds from this time to the time when it is added, such as from when something was due
    /// to when it was done.
    Since(Time),
}

/// When a plan or a write adds a count. For a plan, only the steps before its live reads matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In any case.
    Always,
    /// If it was done.
    Done,
    /// If it was not done, also if that is no failure, such as a delete of an object that was
    /// deleted already.
    NotDone,
    /// If it failed, and so failed the sync.
    Failed,
}

/// The end of a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its duration, with all reads and writes.
    pub took: Duration,
    /// Earlier writes are not visible in the cache yet, so it did not act.
    pub unsettled: bool,
    /// Why it will be retried; none: it succeeded.
    pub error: Option<String>,
    /// The HTTP code of that error, if the API server responded.
    pub code: Option<u16>,
}

// === impl Family ===

impl Family {
    /// A counter of one series.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Shape::Counter)
    }

    /// A gauge of one series.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Shape::Gauge)
    }

    /// A histogram of one series, with these upper bounds, without the infinite one.
    pub const fn histogram(
        name: &'static str,
        help: &'static str,
        buckets: &'static [f64],
    ) -> Self {
        Self::new(name, help, Shape::Histogram(buckets))
    }

    const fn new(name: &'static str, help: &'static str, shape: Shape) -> Self {
        Self { name, help, shape, labels: None, deprecated: None }
    }

    /// With labels of these names.
    #[must_use]
    pub const fn labels(self, labels: &'static [&'static str]) -> Self {
        Self { labels: Some(labels), ..self }
    }

    /// Deprecated since this release: major, minor, patch.
    #[must_use]
    pub const fn deprecated(self, release: [u32; 3]) -> Self {
        Self { deprecated: Some(release), ..self }
    }
}

// === impl Count ===

impl Count {
    /// One more.
    pub fn one(family: &'static Family) -> Self {
        Self::of(family, 1.0)
    }

    /// So much, without labels, always.
    pub fn of(family: &'static Family, value: f64) -> Self {
        Self { family, labels: Vec::new(), value: Amount::Of(value), when: When::Always }
    }

    /// The seconds since then, when it is added.
    pub fn since(family: &'static Family, then: Time) -> Self {
        Self { value: Amount::Since(then), ..Self::of(family, 0.0) }
    }

    /// With these values of the labels.
    #[must_use]
    pub fn labels<T: Into<String>>(self, labels: impl IntoIterator<Item = T>) -> Self {
        Self { labels: labels.into_iter().map(Into::into).collect(), ..self }
    }

    /// With this condition.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }
}

// === impl Ended ===

impl Ended {
    /// The HTTP code for upstream's counts of syncs: that of the response that failed it, 500 for
    /// other failures, 200 for success.
    pub fn http(&self) -> u16 {
        if self.error.is_some() { self.code.unwrap_or(500) } else { 200 }
    }
}

//! What controllers count, as data: one form for all of it.
//!
//! A controller has one table of families ([`crate::Controller::METRICS`]), and adds to them by
//! [`Count`]s. Where these come from says when they are added:
//!
//! - **a plan**, once it is acted on: what the decision measured (`*_sorting_deletion_age_ratio`,
//!   the endpoints added and removed by a sync, a metric that an autoscaler computed);
//! - **a write**, by how it went ([`When`]): what counts only after the API server said so (forced
//!   deletions of pods and their errors, evictions, a Job's finished pods after its status is
//!   written, claims that were created, endpoint slices that changed, forced detaches);
//! - **the end of a sync** ([`crate::Controller::counts`]): how often and how long, by how it ended
//!   (`root_ca_cert_publisher_sync_*` and those of cluster trust bundles by code, a Job's syncs by
//!   action, an autoscaler's reconciliations, `endpoint_slice_controller_syncs`, and the
//!   `*_stale_sync_skips_total` of syncs whose caches were behind);
//! - **a handler** ([`crate::Enqueue::count`]): what an event tells (pods that a Job tracks by
//!   their finalizer, Jobs of another controller);
//! - **a scrape** ([`crate::Controller::gauges`]): all gauges. They are not kept up to date but
//!   computed when somebody looks, from the caches: persistent volumes and claims by class, volumes
//!   in use by node, resource claims, the zones of nodes, conflicts of SELinux labels, autoscalers,
//!   endpoint slices, a StatefulSet's unavailable pods, address ranges in use.
//!
//! A family can belong to several rows, as to ReplicaSets and ReplicationControllers, or to several
//! engines of one row, if all describe it alike. Queues, informers and requests are counted by
//! whoever has them, not here.

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
    /// The names of its labels. None: it is one series, shown from the start. If there are labels,
    /// even an empty list of them, a series is shown once something is added to it, were it zero.
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

/// Something to add to a family of the controller's table; to another one it is not added.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The family.
    pub family: &'static Family,
    /// The values of its labels, in their order. The engine bounds how many there are of a family:
    /// beyond that all series are one, whose labels are `unexpected`.
    pub labels: Vec<String>,
    /// How much; for a histogram, what was observed.
    pub value: Amount,
    /// When.
    pub when: When,
}

/// How much is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So much.
    Of(f64),
    /// The seconds from then on to the moment when it is added, such as from when something was due
    /// to when it was done.
    Since(Time),
}

/// When a plan or a write adds a count. Of a plan all that stands before its live reads counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Whatever comes of it.
    Always,
    /// If it was done.
    Done,
    /// If it was not done, also where that is no failure, as where what was to be deleted is gone.
    NotDone,
    /// If it failed, so that the sync does.
    Failed,
}

/// How a sync ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How long it took, with all reads and writes.
    pub took: Duration,
    /// Earlier writes are not visible in the cache yet, so it did not act.
    pub unsettled: bool,
    /// Why it will be tried again; none: it went well.
    pub error: Option<String>,
    /// The HTTP code of that error, if the API server answered.
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

    /// Only then.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }
}

// === impl Ended ===

impl Ended {
    /// The HTTP code that it comes to, as upstream counts syncs: that of the answer which failed
    /// it, 500 for other failures, 200 if all went well.
    pub fn http(&self) -> u16 {
        if self.error.is_some() { self.code.unwrap_or(500) } else { 200 }
    }
}

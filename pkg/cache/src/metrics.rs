//! `informer_*`, as upstream's component-base/metrics/prometheus/clientgo/fifo, and what upstream's
//! garbage collector counts of the informers that it starts.
//!
//! `kcm_informer_panics_total` is ours.
//!
//! `informer_store_resource_version` is left out: upstream registers it, but shows no series.

use std::time::Duration;

use api::Resource;
use metrics::{Error, Family, GaugeVec, HistogramVec, IntCounter, IntCounterVec, Registry};

/// The informers' name in upstream.
const NAME: &str = "kube-controller-manager";
const LABELS: &[&str] = &["name", "group", "version", "resource"];
const SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The groups with typed informers in client-go (its informers/generic.go). Of the kinds that the
/// garbage collector watches, upstream counts only those: it watches other kinds by their metadata,
/// with informers that have no name.
const TYPED_GROUPS: [&str; 20] = [
    "",
    "admissionregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// The metrics of all informers of a process.
#[derive(Clone, Debug)]
pub struct Metrics {
    queued: GaugeVec,
    latency: HistogramVec,
    /// Label `resource`.
    panics: IntCounterVec,
    registry: Registry,
}

/// The metrics of one informer.
#[derive(Debug)]
pub(crate) struct Meter {
    queued: metrics::Gauge,
    latency: metrics::Histogram,
}

// === impl Metrics ===

impl Metrics {
    /// Registers the families. An error if the registry has them already.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        let queued =
            Family::alpha("informer_queued_items", "Number of items currently queued in the FIFO.");
        let latency = Family::alpha(
            "informer_processing_latency_seconds",
            "Time taken to process events after popping from the queue.",
        );
        let panics = Family::alpha(
            "kcm_informer_panics_total",
            "Panics that were caught while a kind was listed or watched; it is listed anew.",
        );
        Ok(Self {
            queued: registry.family(&queued.labels(LABELS))?,
            latency: registry.family(&latency.labels(LABELS).buckets(SECONDS))?,
            panics: registry.family(&panics.labels(&["resource"]))?,
            registry: registry.clone(),
        })
    }

    /// Counts the panics of an informer; there is no series before the first one.
    pub(crate) fn panics(&self, resource: &Resource) -> IntCounter {
        self.panics.with_label_values(&[&resource.to_string()])
    }

    /// Counts failed syncs of the informers of all kinds. It is registered here: upstream shows it
    /// where the garbage collector runs (pkg/controller/garbagecollector/metrics).
    pub(crate) fn sync_errors(&self) -> Result<IntCounter, Error> {
        let name = "garbagecollector_controller_resources_sync_error_total";
        let help = "Number of garbage collector resources sync errors";
        self.registry.family(&Family::alpha(name, help))
    }

    /// Whether upstream counts the informer of a kind that is watched only as one of all kinds.
    pub(crate) fn counts(resource: &Resource) -> bool {
        TYPED_GROUPS.contains(&&*resource.group)
    }

    /// Shows zeros from now on.
    pub(crate) fn meter(&self, resource: &Resource) -> Meter {
        // Upstream appends `s` to every kind: `endpointss`, `ingresss`.
        let plural = format!("{}s", resource.kind.to_lowercase());
        let labels = [NAME, &resource.group, &resource.version, &plural];
        Meter {
            queued: self.queued.with_label_values(&labels),
            latency: self.latency.with_label_values(&labels),
        }
    }
}

// === impl Meter ===

impl Meter {
    /// This many changes wait for the handlers.
    pub(crate) fn queued(&self, changes: usize) {
        self.queued.set(f64::from(u32::try_from(changes).unwrap_or(u32::MAX)));
    }

    /// The handlers are done with this many changes, `took` after they arrived.
    pub(crate) fn handled(&self, changes: usize, took: Duration) {
        for _ in 0..changes {
            self.latency.observe(took.as_secs_f64());
        }
    }
}

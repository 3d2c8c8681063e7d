//! What is counted. Upstream's pkg/controller/podautoscaler/monitor.

use api::HorizontalPodAutoscaler;
use controller::{Count, Ended, Family, View};

use super::decide::Decision;
use super::memory::Memory;
use super::snapshot::Snapshot;

const BUCKETS: &[f64] = &[
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
    8.192, 16.384,
];

const RECONCILIATIONS: Family = Family::counter(
    "horizontal_pod_autoscaler_controller_reconciliations_total",
    "[BETA] Number of reconciliations of HPA controller. The label 'action' should be either \
     'scale_down', 'scale_up', or 'none'. Also, the label 'error' should be either 'spec', \
     'internal', or 'none'. Note that if both spec and internal errors happen during a \
     reconciliation, the first one to occur is reported in `error` label.",
)
.labels(&["action", "error"]);
const RECONCILIATION_DURATION: Family = Family::histogram(
    "horizontal_pod_autoscaler_controller_reconciliation_duration_seconds",
    "[BETA] The time(seconds) that the HPA controller takes to reconcile once. The label 'action' \
     should be either 'scale_down', 'scale_up', or 'none'. Also, the label 'error' should be \
     either 'spec', 'internal', or 'none'. Note that if both spec and internal errors happen \
     during a reconciliation, the first one to occur is reported in `error` label.",
    BUCKETS,
)
.labels(&["action", "error"]);
const COMPUTATIONS: Family = Family::counter(
    "horizontal_pod_autoscaler_controller_metric_computation_total",
    "[BETA] Number of metric computations. The label 'action' should be either 'scale_down', \
     'scale_up', or 'none'. Also, the label 'error' should be either 'spec', 'internal', or \
     'none'. The label 'metric_type' corresponds to HPA.spec.metrics[*].type",
)
.labels(&["action", "error", "metric_type"]);
const COMPUTATION_DURATION: Family = Family::histogram(
    "horizontal_pod_autoscaler_controller_metric_computation_duration_seconds",
    "[BETA] The time(seconds) that the HPA controller takes to calculate one metric. The label \
     'action' should be either 'scale_down', 'scale_up', or 'none'. The label 'error' should be \
     either 'spec', 'internal', or 'none'. The label 'metric_type' corresponds to \
     HPA.spec.metrics[*].type",
    BUCKETS,
)
.labels(&["action", "error", "metric_type"]);
const AUTOSCALERS: Family = Family::gauge(
    "horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers",
    "[ALPHA] Current number of controlled HPA objects.",
);
const DESIRED: Family = Family::gauge(
    "horizontal_pod_autoscaler_controller_desired_replicas",
    "[ALPHA] Current desired replica count for HPA objects.",
)
.labels(&["namespace", "hpa_name"]);

pub(super) const ALL: &[Family] = &[
    RECONCILIATIONS,
    RECONCILIATION_DURATION,
    COMPUTATIONS,
    COMPUTATION_DURATION,
    AUTOSCALERS,
    DESIRED,
];

/// The counts of one metric that asked for so many replicas; none: it could not be computed. Its
/// duration begins with the sync: the metrics are read together.
pub(super) fn computed(
    s: &Snapshot,
    r#type: &str,
    replicas: Option<i32>,
    is_spec: bool,
) -> [Count; 2] {
    let current = s.autoscaler.status.current_replicas;
    let action = replicas.map_or("none", |replicas| action(current, replicas));
    let error = match (replicas, is_spec) {
        (Some(_), _) => "none",
        (None, true) => "spec",
        (None, false) => "internal",
    };
    let labels = [action, error, r#type];
    [
        Count::one(&COMPUTATIONS).labels(labels),
        Count::since(&COMPUTATION_DURATION, s.now).labels(labels),
    ]
}

/// The counts of a whole sync.
pub(super) fn ended(decision: &Decision, ended: &Ended) -> Vec<Count> {
    // An error of its own does not keep it from scaling.
    let has_written = ended.error.is_none() || ended.error == decision.error;
    let rescale = decision.rescale.filter(|_| has_written);
    let action = rescale.map_or("none", |rescale| action(rescale.from, rescale.to));
    let error = match (&ended.error, decision.is_spec_error) {
        (None, _) => "none",
        (Some(_), true) => "spec",
        (Some(_), false) => "internal",
    };
    vec![
        Count::one(&RECONCILIATIONS).labels([action, error]),
        Count::of(&RECONCILIATION_DURATION, ended.took.as_secs_f64()).labels([action, error]),
    ]
}

/// How many autoscalers there are, and what they want.
#[expect(clippy::cast_precision_loss, reason = "there are fewer autoscalers")]
pub(super) fn gauges(view: &View<'_>, memory: &Memory) -> Vec<Count> {
    let count = view.of::<HorizontalPodAutoscaler>().all().len();
    let all = Count::of(&AUTOSCALERS, count as f64);
    let desired = memory.desired().map(|(key, replicas)| {
        Count::of(&DESIRED, f64::from(replicas)).labels([&*key.namespace, &*key.name])
    });
    std::iter::once(all).chain(desired).collect()
}

fn action(from: i32, to: i32) -> &'static str {
    match to.cmp(&from) {
        std::cmp::Ordering::Greater => "scale_up",
        std::cmp::Ordering::Less => "scale_down",
        std::cmp::Ordering::Equal => "none",
    }
}

//! Autoscalers of a set, and the load of its pods, drawn from a seed. Metrics are objects of a kind
//! that a user defines.

use crate::dice::Dice;
use crate::workload::{applied, tick};

/// The autoscaler runs in cases that have this.
pub(crate) const KIND: &str = "HorizontalPodAutoscaler";
/// What is scaled, in the namespace `default`.
pub(crate) const SET: &str = "auto";
/// How many pods it may have.
const REPLICAS: u64 = 5;
const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pods.metrics.k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: metrics.k8s.io
  names: {kind: PodMetrics, plural: pods, singular: podmetrics, listKind: PodMetricsList}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}";

/// Something about load. What a pod uses is a tenth of what its autoscaler aims at, that, or three
/// times as much.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let wait = || tick(dice.pick(&[1000, 20_000, 40_000, 40_000, 100_000]));
    let load = || dice.pick(&["6m", "60m", "180m", "180m"]);
    match dice.below(10) {
        0..=1 => [begin(dice), loads(load()), vec![autoscaler(dice), wait()]].concat(),
        2..=3 => {
            let begun = [begin(dice), loads("180m"), vec![autoscaler(dice), wait()]].concat();
            [begun, loads("6m"), vec![wait()]].concat()
        }
        4..=5 => [vec![defined()], loads(load()), vec![wait()]].concat(),
        6 => vec![autoscaler(dice), wait()],
        7 => vec![format!("> scale statefulset/{SET} {}\n", dice.below(REPLICAS + 2))],
        8 => vec![defined(), format!("> delete podmetrics -l app={SET}\n"), wait()],
        _ => {
            let what =
                dice.pick(&["horizontalpodautoscaler", "horizontalpodautoscaler", "statefulset"]);
            vec![format!("> delete {what}/{SET}\n")]
        }
    }
}

/// All pods that the set may have use so much.
pub(crate) fn loads(cpu: &str) -> Vec<String> {
    let metrics = |number: u64| {
        applied(&format!(
            "apiVersion: metrics.k8s.io/v1beta1\nkind: PodMetrics\n\
            metadata: {{name: {SET}-{number}, namespace: default, labels: {{app: {SET}}}}}\n\
            timestamp: '2099-01-01T00:00:00Z'\nwindow: 30s\n\
            containers: [{{name: main, usage: {{cpu: {cpu}}}}}]"
        ))
    };
    (0..=REPLICAS + 1).map(metrics).collect()
}

fn begin(dice: &Dice) -> Vec<String> {
    let replicas = 1 + dice.below(REPLICAS);
    let set = applied(&format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {SET}, namespace: default}}\n\
        spec: {{replicas: {replicas}, podManagementPolicy: Parallel,\n  \
        selector: {{matchLabels: {{app: {SET}}}}}, template: {{metadata: {{labels: \
        {{app: {SET}}}}},\n  spec: {{containers: [{{name: main, image: 'img:0', resources: \
        {{requests: {{cpu: 100m}}}}}}]}}}}}}"
    ));
    vec![defined(), set]
}

fn defined() -> String {
    applied(DEFINITION)
}

fn autoscaler(dice: &Dice) -> String {
    let (min, max) = (1 + dice.below(2), 2 + dice.below(REPLICAS - 1));
    applied(&format!(
        "apiVersion: autoscaling/v2\nkind: {KIND}\nmetadata: {{name: {SET}, namespace: default}}\n\
        spec: {{minReplicas: {min}, maxReplicas: {max},\n  \
        scaleTargetRef: {{apiVersion: apps/v1, kind: StatefulSet, name: {SET}}},\n  \
        metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, \
        averageUtilization: 60}}}}}}]}}"
    ))
}

//! Watch table, paths and gauges.

use controller::fixture::{Fixture, decode, remembered, with};
use controller::{Change, Controller as _, Shared};

use super::world::{
    CUSTOM, EXTERNAL, SCALE, World, autoscaler, key, of_pods, outside, running, scale,
};
use super::*;
use api::Pod;

/// As upstream: first after a period, and whatever changes.
#[test]
fn an_autoscaler_is_enqueued_a_period_later() {
    let fixture = Fixture::default().holding::<HorizontalPodAutoscaler>(&[]).holding::<Pod>(&[]);
    let it = decode::<HorizontalPodAutoscaler>(&autoscaler(&json!({}), &json!({})));
    let (old, new) = (Arc::clone(&it), Arc::clone(&it));
    for (change, calls) in [
        (Change::Added(Arc::clone(&it)), "after 15s test-namespace/test-hpa\n"),
        (Change::Updated { old, new }, "after 15s test-namespace/test-hpa\n"),
        (Change::Deleted(it), "forget test-namespace/test-hpa\n"),
    ] {
        let memory = Shared::default();
        let queue = remembered(&Controller(OPTIONS), &memory, &change, &fixture);
        assert_eq!(controller::fixture::lines(&queue), calls);
    }
}

/// TestMultipleHPAs: how many there are, and what they want, until they are deleted.
#[test]
fn autoscalers_are_counted() {
    let mut world = World { pods: vec![running("test-pod-0", 100)], ..World::default() };
    world = world
        .with(SCALE, scale(1, 1, "name=test-pod"))
        .with(super::world::RESOURCE, super::world::usage(&[120]));
    world.sync();
    let fixture = Fixture::default()
        .holding::<HorizontalPodAutoscaler>(std::slice::from_ref(&world.autoscaler));
    let gauges = |memory: &Memory| -> Vec<_> {
        let gauges = Controller(OPTIONS).gauges(&fixture.view(), memory);
        gauges.iter().map(|it| format!("{:?} {:?}", it.labels, it.value)).collect()
    };
    let desired = "[\"test-namespace\", \"test-hpa\"] Of(3.0)".to_owned();
    assert_eq!(gauges(&world.memory), ["[] Of(1.0)".to_owned(), desired]);
    let mut queue = Enqueue::default();
    Controller(OPTIONS).remember(&mut world.memory, News::Gone(&key()), &mut queue);
    assert_eq!(gauges(&world.memory), ["[] Of(1.0)"]);
    assert!(world.memory.selectors(&"test-namespace".into()).is_empty());
}

/// The requests of metrics/client_test.go, with client-go's paths.
#[test]
fn metrics_are_read_where_upstream_reads_them() {
    let metric = |selector: &Value| json!({"name": "qps", "selector": selector});
    let selector = json!({"matchLabels": {"b": "c"}, "matchExpressions": [
        {"key": "a", "operator": "In", "values": ["y", "x"]}]});
    let target = json!({"type": "AverageValue", "averageValue": "10"});
    let object = |api: &str, kind: &str| {
        json!({"type": "Object", "object": {"metric": metric(&Value::Null), "target": target,
            "describedObject": {"apiVersion": api, "kind": kind, "name": "it"}}})
    };
    let root = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/test-namespace";
    let labels = "a+in+%28x%2Cy%29%2Cb%3Dc";
    for (spec, path) in [
        (
            json!({"type": "Pods", "pods": {"metric": metric(&selector), "target": target}}),
            format!("{CUSTOM}?labelSelector=name%3Dtest-pod&metricLabelSelector={labels}"),
        ),
        (object("v1", "Service"), format!("{root}/services/it/qps")),
        (object("apps/v1", "Deployment"), format!("{root}/deployments.apps/it/qps")),
        (object("v1", "Namespace"), format!("{root}/metrics/qps")),
        (
            json!({"type": "External",
                "external": {"metric": metric(&selector), "target": target}}),
            format!("{EXTERNAL}?labelSelector={labels}"),
        ),
        (
            json!({"type": "External",
                "external": {"metric": metric(&json!({})), "target": target}}),
            EXTERNAL.to_owned(),
        ),
    ] {
        let mut world = World { pods: vec![running("test-pod-0", 100)], ..World::default() };
        world.autoscaler = autoscaler(&json!({"metrics": [spec]}), &json!({}));
        let response = if path.contains("external") { outside(&[9000]) } else { of_pods(&[9000]) };
        world = world.with(SCALE, scale(1, 1, "name=test-pod")).with(&path, response);
        let synced = world.sync();
        assert_eq!(synced.reads.last(), Some(&vec![path]), "{}", synced.why);
        assert_eq!(synced.error, None);
    }
}

/// Errors of the other APIs, word by word.
#[test]
fn what_cannot_be_read_is_said_as_upstream() {
    let target = json!({"type": "Value", "value": "10"});
    let object = json!({"type": "Object", "object": {"metric": {"name": "qps"}, "target": target,
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "it"}}});
    let external = json!({"type": "External",
        "external": {"metric": {"name": "qps", "selector": {"matchLabels": {"a": "b"}}},
            "target": target}});
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "qps"},
        "target": {"type": "AverageValue", "averageValue": "1"}}});
    for (spec, error) in [
        (
            object,
            "FailedGetObjectMetric: unable to get metric qps: unable to fetch metrics from custom \
             metrics API: the server could not find the requested resource (get \
             services.custom.metrics.k8s.io it) on Service test-namespace/it",
        ),
        (
            external,
            "FailedGetExternalMetric: unable to get external metric test-namespace/qps/\
             &LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:\
             []LabelSelectorRequirement{},}: unable to fetch metrics from external metrics API: \
             the server could not find the requested resource (get qps.external.metrics.k8s.io)",
        ),
        (
            pods,
            "FailedGetPodsMetric: unable to get metric qps: unable to fetch metrics from custom \
             metrics API: the server could not find the requested resource (get \
             pods.custom.metrics.k8s.io *)",
        ),
    ] {
        let mut world = World { pods: vec![running("test-pod-0", 100)], ..World::default() };
        world.autoscaler = autoscaler(&json!({"metrics": [spec]}), &json!({}));
        world = world.with(SCALE, scale(1, 1, "name=test-pod"));
        let synced = world.sync();
        assert_eq!(synced.events[0], format!("Warning {error}"));
    }
}

/// What an operator reads first.
#[test]
fn the_first_fact_says_what_holds_it_back() {
    let condition = |r#type: &str, status: &str, reason: &str| {
        let words = json!({"reason": reason, "message": "so"});
        with(json!({"type": r#type, "status": status}), words)
    };
    let fine = [
        condition("AbleToScale", "True", "ReadyForNewScale"),
        condition("ScalingActive", "True", "ValidMetricFound"),
        condition("ScalingLimited", "False", "DesiredWithinRange"),
        condition("ScaledToZero", "False", "NotScaledToZero"),
    ];
    for (at, other, expected) in [
        (0, None, "ReplicationController test-rc"),
        (0, Some(("True", "ScaleDownStabilized")), "ScaleDownStabilized: so"),
        (0, Some(("False", "FailedGetScale")), "FailedGetScale: so"),
        (1, Some(("False", "ScalingDisabled")), "ScalingDisabled: so"),
        (2, Some(("True", "TooManyReplicas")), "TooManyReplicas: so"),
    ] {
        let mut conditions = fine.clone();
        if let Some((status, reason)) = other {
            conditions[at]["status"] = status.into();
            conditions[at]["reason"] = reason.into();
        }
        let it = autoscaler(&json!({}), &json!({ "conditions": conditions }));
        let fixture =
            Fixture::default().holding::<HorizontalPodAutoscaler>(&[it]).holding::<Pod>(&[]);
        let controller = Controller(OPTIONS);
        let snapshot = controller.observe(&key(), &fixture.view(), &Memory::default()).unwrap();
        assert_eq!(controller.summary(&snapshot)[0].1, expected);
    }
}

//! Tests, after TestSetDefaultsForHorizontalPodAutoscaler, TestValidate* of autoscaling,
//! strategy_test.go and TestPrintHPA.

use serde_json::{Value, json};

use super::HorizontalPodAutoscaler;
use crate::Strategy;
use crate::fixture::{created, defaulted, lines, merged, refused, row, updated};

fn body(patch: &Value) -> Value {
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
    let spec = json!({ "maxReplicas": 5, "scaleTargetRef": target });
    merged(&json!({ "metadata": { "name": "web" }, "spec": spec }), &json!({ "spec": patch }))
}

fn faults(patch: &Value) -> Vec<String> {
    let object = created(&HorizontalPodAutoscaler, &body(patch));
    lines(&HorizontalPodAutoscaler.validate_create(&object))
}

#[test]
fn defaults() {
    let object = created(&HorizontalPodAutoscaler, &body(&json!({})));
    let cpu = json!({
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": { "type": "Utilization", "averageUtilization": 80 },
        },
    });
    assert_eq!(object.pointer("/spec/minReplicas"), Some(&json!(1)));
    assert_eq!(object.pointer("/spec/metrics"), Some(&json!([cpu])));
    assert_eq!(object.pointer("/spec/behavior"), None);
    assert_eq!(
        object.get("status"),
        Some(&json!({ "desiredReplicas": 0, "currentMetrics": null }))
    );
    let down = |window: Value| {
        let policy = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
        merged(&json!({ "selectPolicy": "Max", "policies": [policy] }), &window)
    };
    let up = json!({
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            { "type": "Pods", "value": 4, "periodSeconds": 15 },
            { "type": "Percent", "value": 100, "periodSeconds": 15 },
        ],
    });
    let window = json!({ "stabilizationWindowSeconds": 60 });
    for (behavior, up, down) in [
        (json!({ "scaleDown": { "stabilizationWindowSeconds": 60 } }), up.clone(), down(window)),
        (
            json!({ "scaleUp": { "selectPolicy": "Min", "policies": [] } }),
            merged(&up, &json!({ "selectPolicy": "Min", "policies": [] })),
            down(json!({})),
        ),
    ] {
        let object = defaulted(&HorizontalPodAutoscaler, &body(&json!({ "behavior": behavior })));
        let expected = json!({ "scaleUp": up, "scaleDown": down });
        assert_eq!(object.pointer("/spec/behavior"), Some(&expected));
    }
}

#[test]
fn numbers_and_references() {
    let target = |patch: Value| json!({ "scaleTargetRef": patch });
    let rows: [(Value, &[&str]); 11] = [
        (json!({}), &[]),
        (
            json!({ "minReplicas": -1 }),
            &["spec.minReplicas invalid -1: must be greater than or equal to 1"],
        ),
        (
            json!({ "minReplicas": 0 }),
            &[
                "spec.minReplicas invalid 0: must be greater than or equal to 1",
                "spec.metrics forbidden: must specify at least one Object or External metric to \
                 support scaling to zero replicas",
            ],
        ),
        (
            json!({ "maxReplicas": 0 }),
            &[
                "spec.maxReplicas required: must be set and greater than 0",
                "spec.maxReplicas invalid 0: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            json!({ "minReplicas": 7 }),
            &["spec.maxReplicas invalid 5: must be greater than or equal to `minReplicas`"],
        ),
        (target(json!({ "kind": "" })), &["spec.scaleTargetRef.kind required: "]),
        (
            target(json!({ "name": ".." })),
            &["spec.scaleTargetRef.name invalid \"..\": may not be '..'"],
        ),
        (
            target(json!({ "apiVersion": null })),
            &["spec.scaleTargetRef.apiVersion invalid \"\": apiVersion must specify API group"],
        ),
        (target(json!({ "apiVersion": null, "kind": "ReplicationController" })), &[]),
        (
            target(json!({ "apiVersion": "a/b/c" })),
            &["spec.scaleTargetRef.apiVersion invalid \"a/b/c\": unexpected GroupVersion string: \
               a/b/c"],
        ),
        (
            json!({ "behavior": { "scaleDown": {
                "stabilizationWindowSeconds": 3601,
                "selectPolicy": "x",
                "tolerance": "-0.1",
                "policies": [{ "type": "x", "value": 0, "periodSeconds": 1801 }],
            } } }),
            &[
                "spec.behavior.scaleDown.stabilizationWindowSeconds invalid 3601: must be less \
                 than or equal to 3600",
                "spec.behavior.scaleDown.selectPolicy unsupported \"x\": Disabled Max Min",
                "spec.behavior.scaleDown.policies[0].type unsupported \"x\": Percent Pods",
                "spec.behavior.scaleDown.policies[0].value invalid 0: must be greater than zero",
                "spec.behavior.scaleDown.policies[0].periodSeconds invalid 1801: must be less \
                 than or equal to 1800",
                "spec.behavior.scaleDown.tolerance invalid \"-0.1\": must be greater than or \
                 equal to 0",
            ],
        ),
    ];
    for (patch, expected) in rows {
        assert_eq!(faults(&patch), expected, "{patch}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn metrics() {
    let metric = |metric: Value| json!({ "metrics": [metric] });
    let average = json!({ "type": "AverageValue", "averageValue": "100m" });
    let name = json!({ "name": "hits" });
    let object = json!({ "kind": "Service", "name": "web", "apiVersion": "v1" });
    let rows: [(Value, &[&str]); 9] = [
        (metric(json!({ "type": "Pods", "pods": { "metric": name, "target": average } })), &[]),
        (
            metric(json!({ "type": "Object", "object": {
                "metric": name, "target": average, "describedObject": object,
            } })),
            &[],
        ),
        (
            metric(json!({ "type": "x" })),
            &[
                "spec.metrics[0].type unsupported \"x\": ContainerResource External Object Pods \
                 Resource",
                "spec.metrics[0].type unsupported \"x\": ContainerResource External Object Pods \
                 Resource",
            ],
        ),
        (
            metric(json!({ "type": "Pods" })),
            &["spec.metrics[0].pods required: must populate information for the given metric \
               source"],
        ),
        (
            metric(json!({
                "type": "Pods",
                "pods": { "metric": name, "target": average },
                "resource": {},
            })),
            &["spec.metrics[0].resource forbidden: must populate the given metric source only"],
        ),
        (
            metric(json!({ "type": "Resource", "resource": {
                "target": { "type": "Utilization", "averageUtilization": 0, "averageValue": "0" },
            } })),
            &[
                "spec.metrics[0].resource.name required: must specify a resource name",
                "spec.metrics[0].resource.target.averageValue invalid \"0\": must be positive",
                "spec.metrics[0].resource.target.averageUtilization invalid 0: must be greater \
                 than 0",
                "spec.metrics[0].resource.target.averageValue forbidden: may not set both a \
                 target raw value and a target utilization",
            ],
        ),
        (
            metric(json!({ "type": "External", "external": {
                "metric": { "name": "a/b" },
                "target": { "type": "x" },
            } })),
            &[
                "spec.metrics[0].external.metric.name invalid \"a/b\": may not contain '/'",
                "spec.metrics[0].external.target.type invalid \"x\": must be either Utilization, \
                 Value, or AverageValue",
                "spec.metrics[0].external.target.averageValue required: must set either a target \
                 value for metric or a per-pod target",
            ],
        ),
        (
            metric(json!({ "type": "ContainerResource", "containerResource": {
                "name": "cpu",
                "target": { "type": "Utilization", "averageUtilization": 5 },
            } })),
            &["spec.metrics[0].containerResource.container required: must specify a container"],
        ),
        (
            json!({ "minReplicas": 1, "metrics": [{ "type": "Pods", "pods": {
                "metric": {},
                "target": { "type": "Value", "value": "-1e3" },
            } }] }),
            &[
                "spec.metrics[0].pods.metric.name required: must specify a metric name",
                "spec.metrics[0].pods.target.value invalid \"-1e3\": must be positive",
                "spec.metrics[0].pods.target.averageValue required: must specify a positive \
                 target averageValue",
            ],
        ),
    ];
    for (patch, expected) in rows {
        assert_eq!(faults(&patch), expected, "{patch}");
    }
}

/// TestValidationOptionsForHorizontalPodAutoscaler: what was wrong before may stay.
#[test]
fn update() {
    let bad = body(&json!({ "scaleTargetRef": { "apiVersion": "a/b/c" } }));
    let zero = body(&json!({ "minReplicas": 0, "metrics": [{ "type": "External", "external": {
        "metric": { "name": "a" }, "target": { "type": "Value", "value": 3 },
    } }] }));
    let good = created(&HorizontalPodAutoscaler, &body(&json!({})));
    for object in [&bad, &zero] {
        assert_eq!(refused(&HorizontalPodAutoscaler, object, object), [""; 0]);
        assert_eq!(refused(&HorizontalPodAutoscaler, object, &good).len(), 1);
    }
    let patch = json!({ "spec": { "maxReplicas": 9 }, "status": { "currentReplicas": 3 } });
    let new = updated(&HorizontalPodAutoscaler, &merged(&good, &patch), &good);
    assert_eq!(new.get("status"), good.get("status"));
    // It has no generation.
    assert_eq!(new.pointer("/metadata/generation"), None);
    let status = json!({ "status": { "currentReplicas": -1, "desiredReplicas": -2 } });
    assert_eq!(lines(&HorizontalPodAutoscaler.validate_status(&status, &good)).len(), 2);
}

#[test]
fn targets() {
    let source = |kind: &str, target: Value| {
        let field = kind[..1].to_lowercase() + &kind[1..];
        json!({ "type": kind, field: { "name": "cpu", "target": target } })
    };
    let status = |kind: &str, current: Value| json!({ kind: { "current": current } });
    let (value, average) = (json!({ "value": "100m" }), json!({ "averageValue": "100m" }));
    let (now_value, now_average) = (json!({ "value": "50m" }), json!({ "averageValue": "50m" }));
    let (percent, now_percent) =
        (json!({ "averageUtilization": 80 }), json!({ "averageUtilization": 50 }));
    let rows = [
        (source("External", average.clone()), json!({}), "<unknown>/100m (avg)"),
        (
            source("External", average.clone()),
            status("external", now_average.clone()),
            "50m/100m (avg)",
        ),
        (source("External", value.clone()), json!({}), "<unknown>/100m"),
        (source("External", value.clone()), status("external", now_value.clone()), "50m/100m"),
        (source("Pods", average.clone()), json!({}), "<unknown>/100m"),
        (source("Pods", average.clone()), status("pods", now_average.clone()), "50m/100m"),
        (source("Object", value.clone()), json!({}), "<unknown>/100m"),
        (source("Object", value), status("object", now_value), "50m/100m"),
        (source("Resource", average.clone()), json!({}), "cpu: <unknown>/100m"),
        (
            source("Resource", average.clone()),
            status("resource", now_average.clone()),
            "cpu: 50m/100m",
        ),
        (source("Resource", percent.clone()), json!({}), "cpu: <unknown>/80%"),
        (
            source("Resource", percent.clone()),
            status("resource", now_percent.clone()),
            "cpu: 50%/80%",
        ),
        (source("Resource", json!({})), json!({}), "cpu: <unknown>/<auto>"),
        (
            source("ContainerResource", average.clone()),
            status("containerResource", now_average),
            "cpu: 50m/100m",
        ),
        (
            source("ContainerResource", percent),
            status("containerResource", now_percent),
            "cpu: 50%/80%",
        ),
        (json!({ "type": "x" }), json!({}), "<unknown type>"),
    ];
    for (metric, status, expected) in rows {
        let patch = json!({ "minReplicas": 2, "metrics": [metric] });
        let object = merged(
            &body(&patch),
            &json!({ "status": {
            "currentReplicas": 4, "currentMetrics": [status],
        } }),
        );
        let cells = json!(row(&HorizontalPodAutoscaler, &object));
        assert_eq!(cells, json!(["web", "Deployment/web", expected, "2", 5, 4, "<unknown>"]));
    }
    let unset = json!(row(&HorizontalPodAutoscaler, &body(&json!({}))));
    assert_eq!(unset, json!(["web", "Deployment/web", "<none>", "<unset>", 5, 0, "<unknown>"]));
    let pods = source("Pods", average);
    let many = body(&json!({ "metrics": [pods, pods, pods, pods] }));
    let cells = row(&HorizontalPodAutoscaler, &many);
    assert_eq!(cells.get(2), Some(&json!("<unknown>/100m, <unknown>/100m + 2 more...")));
}

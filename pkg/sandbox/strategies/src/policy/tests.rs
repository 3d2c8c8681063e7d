//! Tests, after upstream's TestValidatePodDisruptionBudget*, strategy_test.go and printers_test.go.

use serde_json::{Value, json};

use super::PodDisruptionBudget;
use crate::Strategy;
use crate::fixture::{created, lines, merged, refused, row, updated};

fn body(spec: &Value) -> Value {
    json!({ "metadata": { "name": "web" }, "spec": spec })
}

#[test]
fn create() {
    let rows: [(Value, &[&str]); 9] = [
        (json!({}), &[]),
        (json!({ "minAvailable": "0%" }), &[]),
        (json!({ "maxUnavailable": 0 }), &[]),
        (
            json!({ "minAvailable": "1%", "maxUnavailable": "1%" }),
            &["spec invalid {\"maxUnavailable\":\"1%\",\"minAvailable\":\"1%\"}: minAvailable \
               and maxUnavailable cannot be both set"],
        ),
        (
            json!({ "minAvailable": -1 }),
            &["spec.minAvailable invalid -1: must be greater than or equal to 0"],
        ),
        (
            json!({ "minAvailable": "101%" }),
            &["spec.minAvailable invalid \"101%\": must not be greater than 100%"],
        ),
        (
            json!({ "maxUnavailable": "1.1%" }),
            &["spec.maxUnavailable invalid \"1.1%\": a valid percent string must be a numeric \
               string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation \
               is '[0-9]+%')"],
        ),
        (
            json!({ "unhealthyPodEvictionPolicy": "x" }),
            &["spec.unhealthyPodEvictionPolicy unsupported \"x\": AlwaysAllow IfHealthyBudget"],
        ),
        (
            json!({ "selector": { "matchLabels": { "a": "-" } } }),
            &["spec.selector.matchLabels invalid \"-\": a valid label must be an empty string or \
               consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
               alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
               validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"],
        ),
    ];
    for (spec, expected) in rows {
        let object = created(&PodDisruptionBudget, &body(&spec));
        assert_eq!(lines(&PodDisruptionBudget.validate_create(&object)), expected, "{spec}");
    }
}

/// TestPodDisruptionBudgetStrategy: the spec may change, which counts; the status stays.
#[test]
fn update() {
    let status = json!({
        "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
    });
    let old = created(&PodDisruptionBudget, &body(&json!({ "minAvailable": 1 })));
    assert_eq!(old.get("status"), Some(&status));
    let patch = json!({ "spec": { "minAvailable": 2 }, "status": { "currentHealthy": 3 } });
    let new = updated(&PodDisruptionBudget, &merged(&old, &patch), &old);
    assert_eq!(new.pointer("/metadata/generation"), Some(&json!(2)));
    assert_eq!(new.get("status"), Some(&status));
    assert!(PodDisruptionBudget.needs_version_on_update());
    // TestPodDisruptionBudgetValidationOptions: values that no label can have may stay.
    let expression = json!({ "key": "a", "operator": "In", "values": ["-"] });
    let wrong = body(&json!({ "selector": { "matchExpressions": [expression] } }));
    assert_eq!(refused(&PodDisruptionBudget, &wrong, &wrong), [""; 0]);
    assert_eq!(refused(&PodDisruptionBudget, &wrong, &old).len(), 1);
}

/// TestValidatePodDisruptionBudgetStatus, TestConditions of apimachinery.
#[test]
fn statuses() {
    let condition = json!({
        "type": "A", "status": "True", "reason": "B", "lastTransitionTime": "2024-05-01T12:00:00Z",
    });
    let bad = json!({ "type": "A", "status": "x", "observedGeneration": -1 });
    let reason = merged(&condition, &json!({ "reason": "a-b" }));
    let rows: [(Value, &[&str]); 4] = [
        (json!({ "conditions": [condition], "expectedPods": 1 }), &[]),
        (
            json!({ "disruptionsAllowed": -1, "expectedPods": -1 }),
            &[
                "status.disruptionsAllowed invalid -1: must be greater than or equal to 0",
                "status.expectedPods invalid -1: must be greater than or equal to 0",
            ],
        ),
        (
            json!({ "conditions": [condition, bad] }),
            &[
                "status.conditions[1].type duplicate \"A\"",
                "status.conditions[1].status unsupported \"x\": False True Unknown",
                "status.conditions[1].observedGeneration invalid -1: must be greater than or \
                 equal to zero",
                "status.conditions[1].lastTransitionTime required: ",
                "status.conditions[1].reason required: ",
            ],
        ),
        (
            json!({ "conditions": [reason] }),
            &["status.conditions[0].reason invalid \"a-b\": a condition reason must start with \
               alphabetic character, optionally followed by a string of alphanumeric characters or \
               '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or \
               'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used \
               for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"],
        ),
    ];
    for (status, expected) in rows {
        let new = json!({ "status": status });
        let found = PodDisruptionBudget.validate_status(&new, &json!({}));
        assert_eq!(lines(&found), expected, "{status}");
    }
}

/// TestPrintPodDisruptionBudget.
#[test]
fn rows() {
    for (spec, min, max) in [
        (json!({ "minAvailable": 22 }), "22", "N/A"),
        (json!({ "maxUnavailable": "30%" }), "N/A", "30%"),
    ] {
        let patch = json!({
            "metadata": { "creationTimestamp": "2024-05-01T11:55:00Z" },
            "status": { "disruptionsAllowed": 5 },
        });
        let cells = json!(row(&PodDisruptionBudget, &merged(&body(&spec), &patch)));
        assert_eq!(cells, json!(["web", min, max, 5, "5m"]));
    }
}

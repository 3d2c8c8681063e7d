//! Jobs: what is filled in, what updates may do, what the table says.

use serde_json::{Value, json};

use super::job;
use crate::Strategy;
use crate::batch::Job;
use crate::fixture::{created, defaulted, lines, merged, refused, row, status_updated, updated};

/// TestSetDefaultJob.
#[test]
fn defaults() {
    let base = json!({
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": false,
        "podReplacementPolicy": "TerminatingOrFailed",
        "manualSelector": false,
    });
    let rules = |status: Value| {
        let pattern = merged(&json!({ "type": "A" }), &status);
        json!([{ "action": "Ignore", "onPodConditions": [pattern] }])
    };
    let rows = [
        (json!({}), json!({})),
        (json!({ "parallelism": 2 }), json!({ "completions": null, "parallelism": 2 })),
        (json!({ "completions": 3 }), json!({ "completions": 3 })),
        (json!({ "parallelism": 0 }), json!({ "completions": null, "parallelism": 0 })),
        (
            json!({ "backoffLimitPerIndex": 1 }),
            json!({ "backoffLimitPerIndex": 1, "backoffLimit": i32::MAX }),
        ),
        (
            json!({ "suspend": true, "backoffLimit": 0 }),
            json!({ "suspend": true, "backoffLimit": 0 }),
        ),
        (
            json!({ "podFailurePolicy": { "rules": rules(json!({})) } }),
            json!({
                "podFailurePolicy": { "rules": rules(json!({ "status": "True" })) },
                "podReplacementPolicy": "Failed",
            }),
        ),
    ];
    for (patch, expected) in rows {
        let object = defaulted(&Job, &merged(&job(), &json!({ "spec": patch })));
        let mut spec = object.get("spec").unwrap().clone();
        spec.as_object_mut().unwrap().remove("template");
        assert_eq!(spec, merged(&base, &expected), "{patch}");
    }
}

const GENERATED: [&str; 4] = [
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
];

/// TestJobStrategy_PrepareForCreate: the selector and the labels are generated.
#[test]
fn selectors_are_generated() {
    let object = created(&Job, &job());
    let labels = json!({
        "app": "sum",
        GENERATED[0]: "1-2",
        GENERATED[1]: "sum",
        GENERATED[2]: "1-2",
        GENERATED[3]: "sum",
    });
    assert_eq!(object.pointer("/spec/template/metadata/labels"), Some(&labels));
    // A Job without labels of its own has those of its template.
    assert_eq!(object.pointer("/metadata/labels"), Some(&labels));
    let selector = json!({ "matchLabels": { GENERATED[0]: "1-2" } });
    assert_eq!(object.pointer("/spec/selector"), Some(&selector));
    assert_eq!(object.pointer("/metadata/generation"), Some(&json!(1)));
    assert_eq!(object.get("status"), Some(&json!({})));
    assert_eq!(lines(&Job.validate_create(&object)), [""; 0]);

    let own = json!({ "metadata": { "labels": { "a": "b" } }, "status": { "active": 3 } });
    let object = created(&Job, &merged(&job(), &own));
    assert_eq!(object.pointer("/metadata/labels"), Some(&json!({ "a": "b" })));
    assert_eq!(object.get("status"), Some(&json!({})));
}

/// TestValidateJob: selectors that are not as they would be generated.
#[test]
fn selectors_that_do_not_fit() {
    let template = |labels: Value| json!({ "template": { "metadata": { "labels": labels } } });
    let manual = |selector: Value| json!({ "manualSelector": true, "selector": selector });
    let rows: [(Value, &[&str]); 5] = [
        (manual(json!({ "matchLabels": { "app": "sum" } })), &[]),
        (
            manual(Value::Null),
            &[
                "spec.selector required: ",
                "spec.template.metadata.labels invalid {\"app\":\"sum\"}: `selector` does not \
                 match template `labels`",
            ],
        ),
        (
            manual(json!({ "matchLabels": { "app": "x" } })),
            &["spec.template.metadata.labels invalid {\"app\":\"sum\"}: `selector` does not \
               match template `labels`"],
        ),
        (
            json!({ "selector": { "matchLabels": { "app": "sum" } } }),
            &["spec.selector invalid {\"matchLabels\":{\"app\":\"sum\",\
               \"batch.kubernetes.io/controller-uid\":\"1-2\"}}: `selector` not auto-generated"],
        ),
        (
            template(json!({ "app": null, "job-name": "x" })),
            &["spec.template.metadata.labels[job-name] invalid \
               {\"batch.kubernetes.io/controller-uid\":\"1-2\",\
               \"batch.kubernetes.io/job-name\":\"sum\",\"controller-uid\":\"1-2\",\
               \"job-name\":\"x\"}: must be 'sum'"],
        ),
    ];
    for (patch, expected) in rows {
        let object = created(&Job, &merged(&job(), &json!({ "spec": patch })));
        assert_eq!(lines(&Job.validate_create(&object)), expected, "{patch}");
    }
}

/// TestJobStrategy_PrepareForUpdate.
#[test]
fn generations() {
    let old = created(&Job, &job());
    for (patch, expected) in [
        (json!({}), 1),
        (json!({ "status": { "active": 1 }, "metadata": { "annotations": { "a": "b" } } }), 1),
        (json!({ "spec": { "suspend": true } }), 2),
    ] {
        let new = updated(&Job, &merged(&old, &patch), &old);
        assert_eq!(new.pointer("/metadata/generation"), Some(&json!(expected)), "{patch}");
        assert_eq!(new.get("status"), old.get("status"));
    }
    let patch = json!({ "spec": { "suspend": true }, "status": { "active": 1 } });
    let new = status_updated(&Job, &merged(&old, &patch), &old);
    assert_eq!(new.get("spec"), old.get("spec"));
    assert_eq!(new.get("status"), Some(&json!({ "active": 1 })));
}

/// TestValidateJobUpdate, TestJobStrategy_ValidateUpdate.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn immutable_fields() {
    let indexed = json!({ "completionMode": "Indexed", "completions": 3, "parallelism": 2 });
    let container = |patch: Value| {
        let container = merged(&json!({ "name": "main", "image": "sum:1" }), &patch);
        json!({ "template": { "spec": { "containers": [container] } } })
    };
    let suspended = json!({ "suspend": true });
    let nodes = json!({ "template": { "spec": { "nodeSelector": { "disk": "ssd" } } } });
    let affinity =
        |kind: &str| json!({ "template": { "spec": { "affinity": { kind: { "a": 1 } } } } });
    let cpu = container(json!({ "resources": { "requests": { "cpu": "1" } } }));
    let rows: [(&Value, Value, &[&str]); 14] = [
        (&json!({}), json!({ "parallelism": 5, "backoffLimit": 1, "suspend": true }), &[]),
        (
            &json!({}),
            json!({ "completions": 2 }),
            &["spec.completions invalid 2: field is immutable"],
        ),
        (&indexed, json!({ "completions": 4, "parallelism": 4 }), &[]),
        (
            &indexed,
            json!({ "completions": 4 }),
            &["spec.completions invalid 4: can only be modified in tandem with spec.parallelism"],
        ),
        (
            &indexed,
            json!({ "completionMode": "NonIndexed" }),
            &["spec.completionMode invalid \"NonIndexed\": field is immutable"],
        ),
        (
            &json!({}),
            json!({ "managedBy": "acme.io/foo" }),
            &["spec.managedBy invalid \"acme.io/foo\": field is immutable"],
        ),
        (
            &indexed,
            json!({ "backoffLimitPerIndex": 1 }),
            &["spec.backoffLimitPerIndex invalid 1: field is immutable"],
        ),
        (
            &indexed,
            json!({ "successPolicy": { "rules": [{ "succeededCount": 1 }] } }),
            &["spec.successPolicy invalid {\"rules\":[{\"succeededCount\":1}]}: field is \
                 immutable"],
        ),
        (&suspended, nodes.clone(), &[]),
        (&suspended, affinity("nodeAffinity"), &[]),
        (&suspended, cpu.clone(), &[]),
        (&suspended, affinity("podAffinity"), &["spec.template.spec"]),
        (&suspended, container(json!({ "image": "sum:2" })), &["spec.template.spec"]),
        (&json!({}), nodes, &["spec.template"]),
    ];
    for (before, patch, expected) in rows {
        let old = created(&Job, &merged(&job(), &json!({ "spec": before })));
        let new = merged(&old, &json!({ "spec": patch }));
        let found = refused(&Job, &new, &old);
        // The whole template is too long to be said here.
        let short = |line: String| match line.split_once(" invalid {\"") {
            Some((field, rest)) if field.starts_with("spec.template") => {
                assert!(rest.ends_with("}: field is immutable"), "{line}");
                field.to_owned()
            }
            _ => line,
        };
        let found: Vec<String> = found.into_iter().map(short).collect();
        assert_eq!(found, expected, "{patch}");
    }
    // Once it ran, only a Job that is known to be suspended may change, and without pods.
    for (status, mutable) in [
        (json!({ "startTime": "2024-05-01T12:00:00Z" }), false),
        (
            json!({
                "startTime": "2024-05-01T12:00:00Z",
                "conditions": [{ "type": "Suspended", "status": "True" }],
            }),
            true,
        ),
        (json!({ "active": 1 }), false),
    ] {
        let old = created(&Job, &merged(&job(), &json!({ "spec": suspended })));
        let old = merged(&old, &json!({ "status": status }));
        let new = merged(&old, &json!({ "spec": cpu }));
        assert_eq!(refused(&Job, &new, &old).is_empty(), mutable, "{status}");
    }
}

/// Jobs from before the prefixed labels may be without them; others may not lose them.
#[test]
fn prefixed_labels_are_required_where_they_were() {
    let old = created(&Job, &job());
    let drop = json!({ "spec": { "template": { "metadata": { "labels": {
        "batch.kubernetes.io/job-name": null,
    } } } } });
    let without = merged(&old, &drop);
    assert!(refused(&Job, &without, &old).iter().any(|line| {
        line == "spec.template.metadata.labels[batch.kubernetes.io/job-name] required: must be \
                 'sum'"
    }));
    let legacy = json!({ "spec": { "selector": { "matchLabels": {
        "batch.kubernetes.io/controller-uid": null, "controller-uid": "1-2",
    } } } });
    let without = merged(&without, &legacy);
    assert_eq!(refused(&Job, &without, &without), [""; 0]);
}

/// TestPrintJob.
#[test]
fn rows() {
    let condition = |kind: &str| json!({ "conditions": [{ "type": kind, "status": "True" }] });
    let minutes = |from: &str, to: Option<&str>| json!({ "startTime": from, "completionTime": to });
    let rows = [
        (json!({}), json!({}), ["Running", "0/1", ""]),
        (json!({ "completions": 2 }), json!({ "succeeded": 1 }), ["Running", "1/2", ""]),
        (json!({ "parallelism": 3 }), json!({ "succeeded": 1 }), ["Running", "1/1 of 3", ""]),
        (
            json!({}),
            minutes("2024-05-01T11:00:00Z", Some("2024-05-01T11:30:00Z")),
            ["Running", "0/1", "30m"],
        ),
        (json!({}), minutes("2024-05-01T11:40:00Z", None), ["Running", "0/1", "20m"]),
        (json!({}), condition("Complete"), ["Complete", "0/1", ""]),
        (json!({}), condition("Failed"), ["Failed", "0/1", ""]),
        (json!({}), condition("Suspended"), ["Suspended", "0/1", ""]),
        (json!({}), condition("FailureTarget"), ["FailureTarget", "0/1", ""]),
        (json!({}), condition("SuccessCriteriaMet"), ["SuccessCriteriaMet", "0/1", ""]),
    ];
    for (spec, status, [state, completions, duration]) in rows {
        let metadata = json!({ "creationTimestamp": "2014-05-01T12:00:00Z" });
        let patch = json!({ "metadata": metadata, "spec": spec, "status": status });
        let expected =
            json!(["sum", state, completions, duration, "10y", "main", "sum:1", "<none>"]);
        assert_eq!(json!(row(&Job, &merged(&job(), &patch))), expected, "{patch}");
    }
    let going = json!({ "metadata": { "deletionTimestamp": "2024-05-01T12:00:00Z" } });
    let cells = row(&Job, &merged(&job(), &going));
    assert_eq!(cells.get(1), Some(&json!("Terminating")));
    let done = merged(&going, &json!({ "status": condition("Complete") }));
    assert_eq!(row(&Job, &done).get(1), Some(&json!("Complete")));
}

#[test]
fn selectable_fields() {
    let object = json!({ "status": { "succeeded": 4 } });
    assert_eq!(Job.selectable(&object, "status.successful").as_deref(), Some("4"));
    assert_eq!(Job.selectable(&object, "status.succeeded"), None);
}

//! TestCheckGracefulDelete, TestSelectableFieldLabelConversions, and binding.

use api::Time;
use serde_json::{Value, json};

use crate::Strategy;
use crate::pod::{Pod, bind, copy_metadata, validate_binding};

const NOW: Time = Time::from_unix(1_000_000, 0);

#[test]
fn deletions_have_a_grace() {
    let pod = |spec: Value, phase: &str| json!({"spec": spec, "status": {"phase": phase}});
    let bound = |period: i64| json!({"nodeName": "n", "terminationGracePeriodSeconds": period});
    let rows = [
        ("in pending phase with has node name", pod(bound(7), "Pending"), Some(30), 30),
        ("in failed phase with has node name", pod(bound(7), "Failed"), Some(30), 0),
        ("not scheduled", pod(json!({}), "Pending"), Some(30), 0),
        ("in succeeded phase", pod(bound(7), "Succeeded"), Some(30), 0),
        ("no phase", pod(json!({}), ""), Some(30), 0),
        ("has negative grace period", pod(bound(-1), ""), None, 1),
        ("asks for a negative one", pod(bound(7), ""), Some(-1), 1),
        ("asks for none", pod(bound(7), "Running"), Some(0), 0),
        ("the pod's own", pod(bound(7), "Running"), None, 7),
        ("none at all", pod(json!({"nodeName": "n"}), "Running"), None, 0),
    ];
    for (name, pod, asked, expected) in rows {
        assert_eq!(Pod.grace_seconds(&pod, asked), Some(expected), "{name}");
    }
}

#[test]
fn fields_can_be_selected() {
    let pod = json!({
        "spec": {
            "nodeName": "n",
            "restartPolicy": "Never",
            "schedulerName": "s",
            "serviceAccountName": "a",
            "hostNetwork": true,
        },
        "status": {"phase": "Running", "podIPs": [{"ip": "1.2.3.4"}], "nominatedNodeName": "m"},
    });
    let rows = [
        ("spec.nodeName", "n", ""),
        ("spec.host", "n", ""),
        ("spec.restartPolicy", "Never", ""),
        ("spec.schedulerName", "s", ""),
        ("spec.serviceAccountName", "a", ""),
        ("spec.hostNetwork", "true", "false"),
        ("status.phase", "Running", ""),
        ("status.podIP", "1.2.3.4", ""),
        ("status.podIPs", "", ""),
        ("status.nominatedNodeName", "m", ""),
    ];
    assert_eq!(rows.map(|(field, ..)| field).as_slice(), Pod.selectable_fields());
    for (field, full, empty) in rows {
        assert_eq!(Pod.selectable(&pod, field).as_deref(), Some(full), "{field}");
        assert_eq!(Pod.selectable(&json!({}), field).as_deref(), Some(empty), "{field}");
    }
    assert_eq!(Pod.selectable(&pod, "spec.foo"), None);
}

/// TestEtcdCreateBinding and its refusals.
#[test]
fn a_pod_is_bound_once() {
    let free = json!({
        "metadata": {"name": "p", "labels": {"a": "1"}},
        "spec": {},
        "status": {"nominatedNodeName": "m", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
        ]},
    });
    let mut pod = free.clone();
    assert_eq!(bind(&mut pod, "n", NOW), Ok(()));
    let binding = json!({"metadata": {"annotations": {"x": "y"}, "labels": {"a": "2"}}});
    copy_metadata(&mut pod, &binding);
    let expected = json!({
        "metadata": {"name": "p", "labels": {"a": "2"}, "annotations": {"x": "y"}},
        "spec": {"nodeName": "n"},
        "status": {"conditions": [{
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": null,
            "lastTransitionTime": NOW.to_string(),
        }]},
    });
    assert_eq!(pod, expected);
    let refused = [
        (bind(&mut pod, "n", NOW), r#"pod p is already assigned to node "n""#),
        (
            {
                let mut pod = free.clone();
                pod["metadata"]["deletionTimestamp"] = NOW.to_string().into();
                bind(&mut pod, "n", NOW)
            },
            "pod p is being deleted, cannot be assigned to a host",
        ),
        (
            {
                let mut pod = free.clone();
                pod["spec"]["schedulingGates"] = json!([{"name": "g"}]);
                bind(&mut pod, "n", NOW)
            },
            "pod p has non-empty .spec.schedulingGates",
        ),
    ];
    for (result, expected) in refused {
        assert_eq!(result, Err(expected.to_owned()));
    }
}

/// TestValidatePodBinding.
#[test]
fn a_binding_names_a_node() {
    let faults = |target: Value| -> Vec<_> {
        let faults = validate_binding(&json!({"target": target}));
        faults.iter().map(ToString::to_string).collect()
    };
    assert!(faults(json!({"kind": "Node", "name": "n"})).is_empty());
    assert!(faults(json!({"name": "n"})).is_empty());
    let known = r#"supported values: "Node", "<empty>""#;
    let expected = vec![
        format!(r#"target.kind: Unsupported value: "Pod": {known}"#),
        "target.name: Required value".to_owned(),
    ];
    assert_eq!(faults(json!({"kind": "Pod"})), expected);
}

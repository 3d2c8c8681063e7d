//! `translator/selinux_translator_test.go` and `internal/parse/selinux_label_test.go`.

use api::{Codec, MountSource, Object as _};

use super::super::uses::{labels_conflict, parts};
use super::*;

/// TestSELinuxOptionsToFileLabel, and `DetermineEffectiveSecurityContext`: the labels of a pod's
/// volume, of the options of the pod and of its container.
#[test]
fn options_become_labels_as_upstream() {
    let whole = json!({"user": "system_u", "role": "system_r", "type": "container_t",
        "level": "s0:c0,c1"});
    let some = json!({"type": "container_t", "level": "s0:c0,c1"});
    let level = json!({"level": "s0:c0,c1"});
    for (name, of_pod, of_container, expected) in [
        ("nil options", Value::Null, Value::Null, vec![]),
        (
            "all fields set",
            whole.clone(),
            Value::Null,
            vec!["system_u:system_r:container_t:s0:c0,c1"],
        ),
        ("some fields set", some.clone(), Value::Null, vec!["::container_t:s0:c0,c1"]),
        ("only level set", level.clone(), Value::Null, vec![":::s0:c0,c1"]),
        ("no fields set", json!({}), Value::Null, vec![""]),
        ("of the container alone", Value::Null, level.clone(), vec![":::s0:c0,c1"]),
        ("of both", whole.clone(), some, vec!["::container_t:s0:c0,c1"]),
        ("none of the container's fields set", whole, json!({}), vec![""]),
    ] {
        let pod = with_claim(pod("web", "", None), "pvc1");
        let mut pod = with(pod, json!({"spec": {"securityContext": {"seLinuxOptions": of_pod}}}));
        let container = &mut pod["spec"]["containers"][0];
        container["securityContext"] = json!({"seLinuxOptions": of_container});
        let pod = Pod::decode(Codec::Json, pod.to_string().as_bytes()).unwrap();
        let [mount] = &*pod.se_linux().unwrap().mounts else { panic!("{name}") };
        let labels: Vec<_> = mount.labels.iter().map(|label| &**label).collect();
        assert_eq!(labels, expected, "{name}");
        assert_eq!(mount.source, MountSource::Claim(0), "{name}");
    }
}

/// TestLabelsConflict.
#[test]
fn labels_conflict_as_upstream() {
    let full = "system_u:system_r:container_t:s0:c1,c2";
    let three = "system_u:system_r:container_t";
    for (name, a, b, expected) in [
        ("empty strings don't conflict", "", "", false),
        ("empty strings don't conflict with anything except the level", "", three, false),
        ("empty string conflicts with level", "", full, true),
        ("empty parts don't conflict with anything", ":::", three, false),
        (
            "different lengths don't conflict if the common parts are the same",
            "system_u:system_r:container_t:",
            "system_u:system_r",
            false,
        ),
        (
            "different lengths conflict if the common parts differ",
            "system_u:system_r:conflict_t:",
            three,
            true,
        ),
        ("empty parts with conflict", "::conflict_t", "::container_t", true),
        ("non-conflicting empty parts", "system_u::container_t", ":system_r::", false),
        ("empty level conflicts with non-empty level", ":::s0:c1,c2", "", true),
        // More than upstream's rows: the examples of `Conflicts`.
        ("a node may fill in the rest", full, ":::s0:c1,c2", false),
        ("the levels differ", full, ":::s0:c98,c99", true),
        ("the users differ", "a::t", "b::t", true),
        ("the roles differ", ":a:t", ":b:t", true),
    ] {
        assert_eq!(labels_conflict(a, b), expected, "{name}");
        assert_eq!(labels_conflict(b, a), expected, "{name}, the other way round");
    }
}

/// TestParseSELinuxLabel.
#[test]
fn labels_have_four_parts() {
    for (label, expected) in [
        ("", ["", "", "", ""]),
        (
            "system_u:system_r:container_t:s0:c0,c1",
            ["system_u", "system_r", "container_t", "s0:c0,c1"],
        ),
        ("system_u:system_r:container_t", ["system_u", "system_r", "container_t", ""]),
        ("system_u:system_r", ["system_u", "system_r", "", ""]),
        ("system_u", ["system_u", "", "", ""]),
        (":system_r:container_t", ["", "system_r", "container_t", ""]),
        ("::container_t", ["", "", "container_t", ""]),
        ("::container_t:s0", ["", "", "container_t", "s0"]),
        (":::s0:c0,c1", ["", "", "", "s0:c0,c1"]),
        (
            "user_with_underscore:role-with-dash:type.with.dots:s0:c0.c1",
            ["user_with_underscore", "role-with-dash", "type.with.dots", "s0:c0.c1"],
        ),
        ("user:role:type:s0:c0,c1:extra", ["user", "role", "type", "s0:c0,c1:extra"]),
        (":::", ["", "", "", ""]),
        (":::::", ["", "", "", "::"]),
    ] {
        assert_eq!(parts(label), expected, "{label}");
    }
}

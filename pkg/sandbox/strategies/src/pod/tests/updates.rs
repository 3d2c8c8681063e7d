//! Parts of updates that the API server's responses do not show.

use api::Time;
use serde_json::{Value, json};

use crate::pod::{Pod, prepare_ephemeral_containers, validate_ephemeral_containers};
use crate::{Environment, Strategy};

const ENV: Environment<'_> = Environment { now: Time::EPOCH, random: &|| 0 };

#[expect(clippy::needless_pass_by_value, reason = "rows are easier to read")]
fn pod(generation: i64, spec: Value) -> Value {
    let mut pod = json!({"metadata": {"name": "p", "generation": generation}, "spec": spec});
    Pod.default(&mut pod);
    pod
}

fn spec() -> Value {
    json!({"containers": [{"name": "a", "image": "x"}]})
}

/// A client cannot set the generation.
#[test]
fn generations_count_changes_of_the_spec() {
    let old = pod(5, spec());
    let mut same = pod(9, spec());
    Pod.prepare_update(&mut same, &old, &ENV);
    assert_eq!(same.pointer("/metadata/generation"), Some(&json!(5)));
    let mut new = pod(9, spec());
    new["spec"]["containers"][0]["image"] = "y".into();
    Pod.prepare_update(&mut new, &old, &ENV);
    assert_eq!(new.pointer("/metadata/generation"), Some(&json!(6)));
}

/// The change that is refused is shown.
#[test]
fn refused_changes_are_shown() {
    let (old, mut new) = (pod(1, spec()), pod(1, spec()));
    new["spec"]["containers"][0]["args"] = json!(["z"]);
    let faults = Pod.validate_update(&new, &old);
    let text = faults.first().unwrap().to_string();
    assert!(
        text.ends_with("\n- containers[0].args: null\n+ containers[0].args: [\"z\"]\n"),
        "{text}"
    );
    assert_eq!(faults.len(), 1);
}

/// TestValidatePodEphemeralContainersUpdate: they come, and stay as they are.
#[test]
fn ephemeral_containers_only_come() {
    let old = pod(1, spec());
    let mut new = old.clone();
    new["spec"]["ephemeralContainers"] = json!([{"name": "e", "image": "d"}]);
    new["spec"]["containers"][0]["image"] = "other".into();
    Pod.default(&mut new);
    prepare_ephemeral_containers(&mut new, &old);
    assert_eq!(new.pointer("/spec/containers"), old.pointer("/spec/containers"));
    assert_eq!(new.pointer("/metadata/generation"), Some(&json!(2)));
    assert_eq!(validate_ephemeral_containers(&new, &old), []);
    let mut changed = new.clone();
    changed["spec"]["ephemeralContainers"][0]["image"] = "f".into();
    let texts = |new: &Value, old: &Value| -> Vec<_> {
        validate_ephemeral_containers(new, old).iter().map(ToString::to_string).collect()
    };
    let path = "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\"";
    assert_eq!(
        texts(&changed, &new),
        [format!("{path} may not be changed\n- image: \"d\"\n+ image: \"f\"\n")]
    );
    assert_eq!(texts(&old, &new), [format!("{path} may not be removed\n")]);
}

/// Whatever comes, nothing panics.
#[test]
fn what_is_no_pod_is_survived() {
    let broken = [
        json!(null),
        json!([]),
        json!({"metadata": null, "spec": null, "status": null}),
        json!({"metadata": 1, "spec": [], "status": "x"}),
        json!({"spec": {"containers": [1, null, {"ports": [null], "env": {}, "resources": 3}]}}),
        json!({"spec": {"volumes": [[], {"name": 1}], "affinity": [], "tolerations": [0]}}),
        json!({"status": {"conditions": [1], "podIPs": [1], "containerStatuses": [null]}}),
    ];
    for old in &broken {
        for new in &broken {
            let mut new = new.clone();
            Pod.default(&mut new);
            Pod.prepare_update(&mut new, old, &ENV);
            Pod.validate_update(&new, old);
            Pod.prepare_status(&mut new, old, &ENV);
            Pod.validate_status(&new, old);
            Pod.prepare_create(&mut new, &ENV);
            Pod.validate_create(&new);
            Pod.warnings(&new, None);
        }
    }
}

/// Amounts are compared by what they are, other texts by how they are written.
#[test]
fn equal_amounts_are_no_change() {
    let of = |amount: &str, argument: &str| {
        let resources = json!({"limits": {"memory": amount}});
        let container = json!({
            "name": "a",
            "image": "x",
            "resources": resources,
            "args": [argument],
        });
        pod(1, json!({"containers": [container]}))
    };
    let old = of("1Gi", "1");
    let faults = |new: &Value| Pod.validate_update(new, &old).len();
    assert_eq!(faults(&of("1024Mi", "1")), 0);
    assert_eq!(faults(&of("1073741824", "1")), 0);
    assert_eq!(faults(&of("1Gi", "1000m")), 1);
    assert_eq!(faults(&of("2Gi", "1")), 1);
}

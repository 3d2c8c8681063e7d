//! The responses of kube-apiserver 1.36.3 to these bodies (made once; each file has a row per
//! line). Rows say what is sent, the code, and the object or the causes of the refusal.

use api::Time;
use serde_json::{Value, json};

use crate::pod::{
    Pod, default_template, prepare_ephemeral_containers, template_warnings,
    validate_ephemeral_containers, validate_template,
};
use crate::{Environment, Invalid, Path, Strategy};

const NOW: Time = Time::from_unix(1_000_000, 0);
const ENV: Environment<'_> = Environment { now: NOW, random: &|| 0 };

/// The rows of a file, each with its name.
fn rows(json: &str) -> Vec<(String, Value)> {
    let rows: Vec<Value> = serde_json::from_str(json).unwrap();
    rows.into_iter().map(|row| (field(&row, "name").as_str().unwrap().to_owned(), row)).collect()
}

fn field<'a>(row: &'a Value, name: &str) -> &'a Value {
    row.get(name).unwrap()
}

/// Faults as causes, sorted: Go's maps have no order.
fn causes(faults: &[Invalid]) -> Vec<String> {
    let cause = |it: &Invalid| format!("{}: {} {}", it.field, it.reason(), it.body());
    let mut causes: Vec<_> = faults.iter().map(cause).collect();
    causes.sort();
    causes
}

fn expected_causes(row: &Value) -> Vec<String> {
    let causes = row.pointer("/answer/causes").and_then(Value::as_array);
    let text = |cause: &Value, at| cause.get(at).and_then(Value::as_str).unwrap().to_owned();
    let print = |it: &Value| format!("{}: {} {}", text(it, 0), text(it, 1), text(it, 2));
    let mut causes: Vec<_> = causes.into_iter().flatten().map(print).collect();
    causes.sort();
    causes
}

/// Times of conditions are not the point.
fn without_times(mut object: Value) -> Value {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        condition.as_object_mut().unwrap().remove("lastTransitionTime");
    }
    object
}

/// What admission fills in: Priority and DefaultTolerationSeconds.
fn admit(pod: &mut Value) {
    let spec = pod.get_mut("spec").unwrap();
    spec["priority"] = 0.into();
    spec["preemptionPolicy"] = "PreemptLowerPriority".into();
    let mut tolerations =
        spec.get("tolerations").and_then(Value::as_array).cloned().unwrap_or_default();
    for trouble in ["not-ready", "unreachable"] {
        let key = format!("node.kubernetes.io/{trouble}");
        let is_any = |it: &Value, field: &str, known: &str| {
            it.get(field).is_none_or(|value| value == "" || value == known)
        };
        let tolerates = |it: &Value| is_any(it, "key", &key) && is_any(it, "effect", "NoExecute");
        if !tolerations.iter().any(tolerates) {
            tolerations.push(json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }));
        }
    }
    spec["tolerations"] = tolerations.into();
}

#[test]
fn new_pods_are_as_on_the_real_server() {
    for (name, row) in rows(include_str!("golden/pods.json")) {
        let mut pod = field(&row, "body").clone();
        Pod.default(&mut pod);
        admit(&mut pod);
        Pod.prepare_create(&mut pod, &ENV);
        assert_eq!(causes(&Pod.validate_create(&pod)), expected_causes(&row), "{name}");
        if field(&row, "code") == 201 {
            let real = without_times(field(&row, "answer").clone());
            let pod = without_times(pod);
            for part in ["/spec", "/status", "/metadata/generation"] {
                assert_eq!(pod.pointer(part), real.pointer(part), "{name}: {part}");
            }
            let warnings = serde_json::to_value(Pod.warnings(&pod, None)).unwrap();
            assert_eq!(&warnings, field(&row, "warnings"), "{name}");
        }
    }
}

#[test]
fn templates_are_as_on_the_real_server() {
    let path = Path::new("spec").child("template");
    for (name, row) in rows(include_str!("golden/templates.json")) {
        let mut template = field(&row, "body").clone();
        default_template(&mut template);
        assert_eq!(causes(&validate_template(&template, &path)), expected_causes(&row), "{name}");
        if field(&row, "code") == 201 {
            assert_eq!(&template, field(&row, "answer"), "{name}");
            let warnings = serde_json::to_value(template_warnings(&template, &path)).unwrap();
            assert_eq!(&warnings, field(&row, "warnings"), "{name}");
        }
    }
}

#[test]
fn updates_are_as_on_the_real_server() {
    for (name, row) in rows(include_str!("golden/updates.json")) {
        let old = field(&row, "old");
        let mut new = field(&row, "sent").clone();
        Pod.default(&mut new);
        Pod.prepare_update(&mut new, old, &ENV);
        // The difference that upstream prints is that of its inner types.
        let first_line = |causes: Vec<String>| -> Vec<String> {
            causes.iter().map(|it| it.lines().next().unwrap().to_owned()).collect()
        };
        let causes = first_line(causes(&Pod.validate_update(&new, old)));
        assert_eq!(causes, first_line(expected_causes(&row)), "{name}");
        if field(&row, "code") == 200 {
            for part in ["/spec", "/status", "/metadata/generation"] {
                let real = field(&row, "answer").pointer(part);
                assert_eq!(new.pointer(part), real, "{name}: {part}");
            }
        }
    }
}

#[test]
fn ephemeral_containers_are_as_on_the_real_server() {
    for (name, row) in rows(include_str!("golden/ephemeral.json")) {
        let old = field(&row, "old");
        let mut new = field(&row, "sent").clone();
        Pod.default(&mut new);
        prepare_ephemeral_containers(&mut new, old);
        // As above.
        let first_line = |causes: Vec<String>| -> Vec<String> {
            causes.iter().map(|it| it.lines().next().unwrap().to_owned()).collect()
        };
        let causes = first_line(causes(&validate_ephemeral_containers(&new, old)));
        assert_eq!(causes, first_line(expected_causes(&row)), "{name}");
        if field(&row, "code") == 200 {
            for part in ["/spec", "/metadata/generation"] {
                let real = field(&row, "answer").pointer(part);
                assert_eq!(new.pointer(part), real, "{name}: {part}");
            }
        }
    }
}

#[test]
fn statuses_are_as_on_the_real_server() {
    for (name, row) in rows(include_str!("golden/statuses.json")) {
        let old = field(&row, "old");
        let mut new = field(&row, "sent").clone();
        Pod.default(&mut new);
        Pod.prepare_status(&mut new, old, &ENV);
        assert_eq!(causes(&Pod.validate_status(&new, old)), expected_causes(&row), "{name}");
        if field(&row, "code") == 200 {
            for part in ["/spec", "/status", "/metadata/generation"] {
                let real = field(&row, "answer").pointer(part);
                assert_eq!(new.pointer(part), real, "{name}: {part}");
            }
        }
    }
}

/// The second is a real server's response to the first.
#[test]
fn what_says_nothing_is_not_kept() {
    let mut template = json!({
        "spec": {
            "containers": [{
                "name": "a",
                "image": "x",
                "env": [],
                "command": null,
                "resources": {"limits": {}},
                "volumeMounts": [{"name": "v", "mountPath": "/", "readOnly": false}],
                "livenessProbe": {"httpGet": {"port": 1}, "initialDelaySeconds": 0},
            }],
            "initContainers": [],
            "nodeSelector": {},
            "hostNetwork": false,
            "automountServiceAccountToken": false,
            "affinity": {},
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    });
    default_template(&mut template);
    let expected = json!({
        "metadata": {},
        "spec": {
            "containers": [{
                "name": "a",
                "image": "x",
                "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "resources": {},
                "volumeMounts": [{"name": "v", "mountPath": "/"}],
                "livenessProbe": {
                    "httpGet": {"port": 1, "path": "/", "scheme": "HTTP"},
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                },
            }],
            "automountServiceAccountToken": false,
            "affinity": {},
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    });
    assert_eq!(template, expected);
}

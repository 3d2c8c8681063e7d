//! What is below objects.

use serde_json::{Value, json};

use super::super::fields::{number, text};
use super::{call, have, pod, refused, send, state, stored};
use crate::server::State;

/// A server with a pod that runs, ready or not, and a budget for it.
fn guarded(ready: &str, budget: &Value) -> State {
    let mut state = state();
    let mut web = pod("web");
    let conditions = json!([{"type": "Ready", "status": ready}]);
    web["status"] = json!({"phase": "Running", "conditions": conditions});
    have(&mut state, "v1/pods", &web);
    if !budget.is_null() {
        have(&mut state, "policy/v1/poddisruptionbudgets", budget);
    }
    state
}

fn budget(status: &Value) -> Value {
    json!({
        "metadata": {"name": "b", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": status,
    })
}

fn eviction() -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}})
}

/// The response to an eviction, and whether the pod ends.
fn evict(state: &mut State) -> (String, bool) {
    let answer = match send(state, "POST v1/pods/web/eviction", &eviction()) {
        Ok(written) => format!("{} {}", written.code, text(&written.document, "/status")),
        Err(status) => {
            let cause = status.details.pointer("/causes/0/message").and_then(Value::as_str);
            format!("{} {}: {}", status.code, status.message, cause.unwrap_or_default())
        }
    };
    let pod = stored(state, "v1/pods", "web");
    (answer, super::super::fields::has(&pod, "/metadata/deletionTimestamp"))
}

/// TestEviction, TestEvictionIgnorePDB, TestEvictionPDBStatus.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn evictions() {
    let refusal = "429 Cannot evict pod as it would violate the pod's disruption budget.: ";
    let status = |allowed: i64, healthy: i64, desired: i64| {
        json!({
            "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": healthy,
            "desiredHealthy": desired,
        })
    };
    let rows: [(&str, &str, Value, &str, bool); 9] = [
        (
            "matching pdbs with no disruptions allowed, pod running",
            "True",
            budget(&status(0, 2, 3)),
            "The disruption budget b needs 3 healthy pods and has 2 currently",
            false,
        ),
        ("matching pdbs with disruptions allowed", "True", budget(&status(1, 3, 2)), "", true),
        (
            "non-matching pdbs",
            "True",
            json!({
                "metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "other"}}},
            }),
            "",
            true,
        ),
        ("no pdb", "True", Value::Null, "", true),
        (
            "pdb is still being processed",
            "True",
            budget(&json!({"observedGeneration": 0, "disruptionsAllowed": 1})),
            "The disruption budget b is still being processed by the server.",
            false,
        ),
        ("enough healthy pods, pod unready", "False", budget(&status(0, 3, 3)), "", true),
        (
            "not enough healthy pods, pod unready",
            "False",
            budget(&status(0, 2, 3)),
            "The disruption budget b needs 3 healthy pods and has 2 currently",
            false,
        ),
        (
            "AlwaysAllow, pod unready",
            "False",
            {
                let mut budget = budget(&status(0, 2, 3));
                budget["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow".into();
                budget
            },
            "",
            true,
        ),
        (
            "TestEvictionPDBStatus: sync failed",
            "True",
            {
                let mut status = status(0, 2, 3);
                status["conditions"] = json!([{
                    "type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed",
                    "message": "no controller",
                }]);
                budget(&status)
            },
            "The disruption budget b does not allow evicting pods currently because it failed \
            sync: no controller",
            false,
        ),
    ];
    for (rule, ready, budget, why, ends) in rows {
        let mut state = guarded(ready, &budget);
        let expected = if ends { "201 Success".to_owned() } else { format!("{refusal}{why}") };
        assert_eq!(evict(&mut state), (expected, ends), "{rule}");
    }
}

#[test]
fn what_an_eviction_leaves() {
    let allowed = json!({
        "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2,
    });
    let mut state = guarded("True", &budget(&allowed));
    evict(&mut state);
    let budget = stored(&state, "policy/v1/poddisruptionbudgets", "b");
    assert_eq!(number(&budget, "/status/disruptionsAllowed"), Some(0));
    assert_eq!(text(&budget, "/status/disruptedPods/web"), "2026-01-01T00:00:00Z");
    assert_eq!(text(&budget, "/status/conditions/0/reason"), "InsufficientPods");
    let pod = stored(&state, "v1/pods", "web");
    assert_eq!(text(&pod, "/status/conditions/1/type"), "DisruptionTarget");
    assert_eq!(text(&pod, "/status/conditions/1/reason"), "EvictionByEvictionAPI");
    // A pod that ends already is no further disruption.
    assert_eq!(evict(&mut state).0, "201 Success");
}

/// TestEviction: two budgets, and a name that is another.
#[test]
fn evictions_that_cannot_be() {
    let mut state = guarded("True", &budget(&json!({})));
    let mut second = budget(&json!({}));
    second["metadata"]["name"] = "c".into();
    have(&mut state, "policy/v1/poddisruptionbudgets", &second);
    let written = send(&mut state, "POST v1/pods/web/eviction", &eviction()).unwrap();
    assert_eq!(
        (&written.document["status"], &written.document["code"]),
        (&json!("Failure"), &json!(500))
    );
    let refused = refused(&mut state, "POST v1/pods/other/eviction", &eviction());
    let expected = "400 BadRequest: name in URL does not match name in Eviction object";
    assert_eq!(refused, expected);
}

/// TestEvictionWithDeleteOptions: what may be deleted unread may not be evicted so.
#[test]
fn evictions_read_what_they_evict() {
    let mut state = guarded("True", &Value::Null);
    let mut unread = eviction();
    let option = "ignoreStoreReadErrorWithClusterBreakingPotential";
    unread["deleteOptions"] = json!({ option: true });
    let expected = format!(
        "422 Invalid: Eviction.policy \"web\" is invalid: deleteOptions.{option}: Invalid value: \
         true: can not be set for pod eviction, try after removing the option"
    );
    assert_eq!(refused(&mut state, "POST v1/pods/web/eviction", &unread), expected);
    unread["deleteOptions"] = json!({ option: false });
    assert!(send(&mut state, "POST v1/pods/web/eviction", &unread).is_ok());
}

/// TestEtcdCreateBinding, TestEtcdCreateWithConflict.
#[test]
fn bindings() {
    let binding = |target: Value| {
        let metadata = json!({"name": "web", "annotations": {"a": "b"}, "labels": {"zone": "z"}});
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target})
    };
    for request in ["POST v1/pods/web/binding", "POST v1/bindings"] {
        let mut state = state();
        let mut web = pod("web");
        web["spec"].as_object_mut().unwrap().remove("nodeName");
        have(&mut state, "v1/pods", &web);
        let body = binding(json!({"kind": "Node", "name": "node-1"}));
        let written = send(&mut state, request, &body).unwrap();
        assert_eq!((written.code, &written.document["status"]), (201, &json!("Success")));
        let pod = stored(&state, "v1/pods", "web");
        assert_eq!(text(&pod, "/spec/nodeName"), "node-1");
        assert_eq!(text(&pod, "/metadata/annotations/a"), "b");
        assert_eq!(text(&pod, "/metadata/labels/zone"), "z");
        assert_eq!(text(&pod, "/status/conditions/0/type"), "PodScheduled");
        let again = refused(&mut state, request, &body);
        let expected = "409 Conflict: Operation cannot be fulfilled on pods/binding \"web\": pod \
                        web is already assigned to node \"node-1\"";
        assert_eq!(again, expected);
        let nowhere = refused(&mut state, request, &binding(json!({})));
        assert_eq!(nowhere, "500 : target.name: Required value");
        let mut other = body;
        other["metadata"]["uid"] = "other".into();
        let other = refused(&mut state, request, &other);
        assert!(other.contains("Precondition failed: UID in precondition: other"), "{other}");
    }
}

/// TestScaleUpdate.
#[test]
fn scales() {
    let mut state = state();
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": pod("web")["spec"]});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": labels}, "template": template});
    let deployment = json!({"metadata": {"name": "d"}, "spec": spec, "status": {"replicas": 1}});
    have(&mut state, "apps/v1/deployments", &deployment);
    let request = "PUT apps/v1/deployments/d/scale";
    let read = call(&state, request, &Value::Null);
    let deployment = stored(&state, "apps/v1/deployments", "d");
    let mut scale = crate::write::show_scale(&read.served, &deployment).unwrap();
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(2)));
    assert_eq!(scale["status"]["replicas"], 1);
    scale["spec"]["replicas"] = 5.into();
    let written = send(&mut state, request, &scale).unwrap();
    assert_eq!((written.code, &written.document["spec"]["replicas"]), (200, &json!(5)));
    let deployment = stored(&state, "apps/v1/deployments", "d");
    assert_eq!(deployment["spec"]["replicas"], 5);
    assert_eq!(
        written.document["metadata"]["resourceVersion"],
        deployment["metadata"]["resourceVersion"]
    );
    let old = refused(&mut state, request, &scale);
    assert!(old.contains("the object has been modified"), "{old}");
    scale["spec"]["replicas"] = json!(-1);
    let negative = refused(&mut state, request, &scale);
    let expected = "422 Invalid: Scale.autoscaling \"d\" is invalid: spec.replicas";
    assert!(negative.starts_with(expected), "{negative}");
    have(&mut state, "v1/configmaps", &json!({"metadata": {"name": "a"}}));
    let none = refused(&mut state, "PUT v1/configmaps/a/scale", &scale);
    assert!(none.starts_with('4'), "{none}");
}

/// TestPopulateConditionTimestamps, and approvals leave the rest alone.
#[test]
fn approvals() {
    let mut state = state();
    let place = "certificates.k8s.io/v1/certificatesigningrequests";
    let request = json!({
        "metadata": {"name": "r"}, "spec": {"signerName": "example.com/s"},
        "status": {"certificate": "YQ=="},
    });
    have(&mut state, place, &request);
    let mut body = stored(&state, place, "r");
    body["spec"]["signerName"] = "example.com/other".into();
    let condition = json!({"type": "Approved", "status": "True", "reason": "Yes", "message": ""});
    body["status"] = json!({"conditions": [condition]});
    let written = send(&mut state, &format!("PUT {place}/r/approval"), &body).unwrap();
    let new = written.document;
    assert_eq!(text(&new, "/spec/signerName"), "example.com/s");
    assert_eq!(text(&new, "/status/certificate"), "YQ==");
    assert_eq!(text(&new, "/status/conditions/0/lastUpdateTime"), "2026-01-01T00:00:00Z");
}

/// Pods: ephemeral containers are added, resources change, and nothing else does.
#[test]
fn parts_of_pods() {
    let mut state = state();
    let mut web = pod("web");
    web["metadata"]["generation"] = 1.into();
    have(&mut state, "v1/pods", &web);
    let mut body = stored(&state, "v1/pods", "web");
    body["spec"]["nodeName"] = "other".into();
    body["spec"]["ephemeralContainers"] = json!([{"name": "debug", "image": "i"}]);
    let written = send(&mut state, "PUT v1/pods/web/ephemeralcontainers", &body).unwrap();
    let new = written.document;
    assert_eq!(text(&new, "/spec/ephemeralContainers/0/name"), "debug");
    assert_eq!(text(&new, "/spec/nodeName"), "node-1");
    assert_eq!(number(&new, "/metadata/generation"), Some(2));
    let mut body = Value::clone(&new);
    body["spec"]["ephemeralContainers"] = json!([]);
    let gone = refused(&mut state, "PUT v1/pods/web/ephemeralcontainers", &body);
    assert!(gone.contains("existing ephemeral containers \"debug\" may not be removed"), "{gone}");
    body["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "2"}});
    body["spec"]["containers"][0]["image"] = "other".into();
    let written = send(&mut state, "PUT v1/pods/web/resize", &body).unwrap();
    let container = &written.document["spec"]["containers"][0];
    assert_eq!(container["resources"], json!({"requests": {"cpu": "2"}}));
    assert_eq!(container["image"], "example.com/main");
}

/// TestCreate_Token's outside.
#[test]
fn tokens() {
    let mut state = state();
    have(&mut state, "v1/serviceaccounts", &json!({"metadata": {"name": "a"}}));
    let body = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {},
        "spec": {"audiences": ["x"]},
    });
    let written = send(&mut state, "POST v1/serviceaccounts/a/token", &body).unwrap();
    assert_eq!(written.code, 201);
    assert!(!text(&written.document, "/status/token").is_empty());
    assert_eq!(number(&written.document, "/spec/expirationSeconds"), Some(3600));
    let mut short = body.clone();
    short["spec"]["expirationSeconds"] = 60.into();
    let short = refused(&mut state, "POST v1/serviceaccounts/a/token", &short);
    assert!(short.starts_with("422 Invalid: TokenRequest.authentication.k8s.io"), "{short}");
    let none = refused(&mut state, "POST v1/serviceaccounts/b/token", &body);
    assert_eq!(none, r#"404 NotFound: serviceaccounts "b" not found"#);
}

#[test]
fn what_only_a_kubelet_does() {
    let mut state = state();
    have(&mut state, "v1/pods", &pod("web"));
    let refused = refused(&mut state, "POST v1/pods/web/exec", &Value::Null);
    let expected = "501 NotImplemented: the sandbox runs no containers: pods/exec is not there";
    assert_eq!(refused, expected);
}

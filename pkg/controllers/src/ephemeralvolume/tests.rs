//! Tables, mirroring upstream's `pkg/controller/volume/ephemeral/controller_test.go`.

use std::sync::Arc;

use api::{DecodeError, Object as _};
use controller::fixture::{self, Fixture, NOW, decode, enqueued, with};
use controller::{Controller as _, Step, When, Write};
use serde_json::{Value, json};

use super::*;

const CREATED: &str = "why: claims of ephemeral volumes are missing
in order: create persistentvolumeclaims in shop\n";

/// A pod `shop/web` with these ephemeral volumes, each with a name and a template.
fn pod(volumes: &[(&str, Value)]) -> Value {
    let source = |template: &Value| json!({ "volumeClaimTemplate": template });
    let volumes = volumes.iter();
    let volumes = volumes.map(|(name, it)| json!({"name": name, "ephemeral": source(it)}));
    let mut volumes: Vec<_> = volumes.collect();
    volumes.push(json!({"name": "empty", "emptyDir": {}}));
    json!({"metadata": {"name": "web", "namespace": "shop", "uid": "uid-web",
        "resourceVersion": "1"}, "spec": {"volumes": volumes}})
}

/// As upstream's `testPodWithEphemeral`.
fn with_data() -> Value {
    pod(&[("data", json!({"spec": {}}))])
}

fn deleted(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": NOW}}))
}

/// A claim that nobody manages.
fn claim(namespace: &str, name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": namespace, "uid": format!("uid-{name}"),
        "resourceVersion": "1"}})
}

/// The same, with the pod of this uid as an owner.
fn owned(claim: Value, uid: &str, controller: bool) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": uid,
        "controller": controller});
    with(claim, json!({"metadata": {"ownerReferences": [owner]}}))
}

fn caches(pods: &[Value], claims: &[Value]) -> Fixture {
    Fixture::default().holding::<Pod>(pods).holding::<PersistentVolumeClaim>(claims)
}

fn observe(fixture: &Fixture) -> Option<Snapshot> {
    Controller.observe(&Key::new("shop", "web"), &fixture.view(), &())
}

fn plan(fixture: &Fixture) -> Plan {
    let (plan, ()) = Controller.decide(&observe(fixture).unwrap(), &Facts::default());
    plan
}

/// The writes of a plan.
fn writes(plan: &Plan) -> Vec<&Write> {
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    actions.iter().filter_map(|action| action.write()).collect()
}

/// TestSyncHandler.
#[test]
fn claims_are_made_as_upstream() {
    let error = "PVC shop/web-data was not created for pod shop/web (pod is not owner)";
    let blocked = &*format!(
        "why: waits until claim shop/web-data is deleted, which is not of this pod
in order: event Warning FailedBinding: ephemeral volume data: {error}
error: pod shop/web, ephemeral volume data: {error}\n"
    );
    let there = "why: each ephemeral volume has its claim\n";
    let ending = "why: the pod is being deleted\n";
    let own = || claim("shop", "web-data");
    for (name, pod, claims, expected) in [
        ("create", with_data(), vec![], CREATED),
        ("pod-deleted", deleted(with_data()), vec![], ending),
        ("no-volumes", pod(&[]), vec![], there),
        ("create-with-other-PVC", with_data(), vec![claim("other", "web-data")], CREATED),
        ("wrong-PVC-owner", with_data(), vec![own()], blocked),
        // More than upstream's rows.
        ("there already", with_data(), vec![owned(own(), "uid-web", true)], there),
        ("there, and being deleted", with_data(), vec![deleted(owned(own(), "uid-web", true))], {
            there
        }),
        ("of a pod of another time", with_data(), vec![owned(own(), "uid-old", true)], blocked),
        ("owned, and not managed", with_data(), vec![owned(own(), "uid-web", false)], blocked),
    ] {
        assert_eq!(plan(&caches(&[pod], &claims)).to_string(), expected, "{name}");
    }
    assert!(observe(&caches(&[], &[])).is_none(), "no-such-pod");
}

/// TestSyncHandler, "create": the whole claim, by `handleVolume`.
#[test]
fn a_claim_is_made_of_its_template() {
    let template = json!({
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "<&>"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}}},
    });
    let plan = plan(&caches(&[pod(&[("data", template.clone())])], &[]));
    let [create] = writes(&plan)[..] else { panic!("{plan}") };
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "uid-web",
        "controller": true, "blockOwnerDeletion": true});
    let expected = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "web-data", "namespace": "shop", "ownerReferences": [owner],
            "labels": {"app": "web"}, "annotations": {"note": "<&>"}},
        "spec": template["spec"],
    });
    assert_eq!(fixture::body(create), expected);
    // TestSyncHandler, "create-conflict": each try counts, and a failure counts as one, too.
    let counts: Vec<_> = create.counts.iter().map(|it| (it.family.name, it.when)).collect();
    let expected = [
        ("ephemeral_volume_controller_create_total", When::Always),
        ("ephemeral_volume_controller_create_failures_total", When::Failed),
    ];
    assert_eq!(counts, expected);
    let [announce] = create.announce.as_slice() else { panic!("{:?}", create.announce) };
    assert_eq!(announce.done, None);
    let (reason, start) = &announce.failed;
    assert_eq!(
        (*reason, &**start),
        ("FailedBinding", "ephemeral volume data: create PVC web-data: ")
    );
    assert_eq!(announce.about.key, Key::new("shop", "web"));
}

/// `syncHandler`: in the order of the spec, up to the first failure.
#[test]
fn what_stands_behind_a_failure_waits() {
    let empty = || json!({"spec": {}});
    let pod = pod(&[("c", empty()), ("b", empty()), ("a", empty())]);
    let names = |plan: &Plan| -> Vec<_> {
        let bodies = writes(plan).into_iter().map(fixture::body);
        bodies.map(|it| it["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = plan(&caches(std::slice::from_ref(&pod), &[]));
    assert_eq!(names(&all), ["web-c", "web-b", "web-a"]);
    let some = plan(&caches(&[pod], &[claim("shop", "web-b")]));
    assert_eq!(names(&some), ["web-c"]);
    assert!(some.error.is_some_and(|it| it.contains("ephemeral volume b:")));
}

/// `enqueuePod` and `onPVCDelete`.
#[test]
fn new_pods_and_lost_claims_enqueue_pods() {
    let none = caches(&[], &[]);
    let added = |pod: &Value| enqueued(&Controller, &Change::Added(decode::<Pod>(pod)), &none);
    assert_eq!(added(&with_data()), "now shop/web\n");
    assert_eq!(added(&deleted(with_data())), "");
    assert_eq!(added(&pod(&[])), "");
    let (old, new) = (decode::<Pod>(&with_data()), decode::<Pod>(&with_data()));
    let updated = Change::Updated { old, new: Arc::clone(&new) };
    assert_eq!(enqueued(&Controller, &updated, &none), "");
    let error = DecodeError("spec: no".to_owned());
    let old = Arc::new(Pod::unreadable(new.meta.clone(), &error));
    let read = Change::Updated { old, new: Arc::clone(&new) };
    assert_eq!(enqueued(&Controller, &read, &none), "now shop/web\n", "now it can be read");
    let gone = Change::Deleted(new);
    assert_eq!(enqueued(&Controller, &gone, &none), "forget shop/web\n");
    let gone = Change::Deleted(decode::<Pod>(&pod(&[])));
    assert_eq!(enqueued(&Controller, &gone, &none), "");

    let by_name = json!({"metadata": {"name": "x", "namespace": "shop"}, "spec": {"volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "web-data"}}]}});
    let lost = decode::<PersistentVolumeClaim>(&claim("shop", "web-data"));
    let there = caches(&[with_data(), by_name], &[]);
    let lost = Change::Deleted(lost);
    assert_eq!(enqueued(&Controller, &lost, &there), "now shop/web\n");
    let ending = caches(&[deleted(with_data())], &[]);
    assert_eq!(enqueued(&Controller, &lost, &ending), "");
    let new = Change::Added(decode::<PersistentVolumeClaim>(&claim("shop", "web-data")));
    assert_eq!(enqueued(&Controller, &new, &there), "");
}

/// What somebody reads who asks why a pod waits.
#[test]
fn a_summary_says_what_a_pod_waits_for() {
    let empty = || json!({"spec": {}});
    let pod = pod(&[("a", empty()), ("b", empty()), ("c", empty())]);
    let claims = [owned(claim("shop", "web-a"), "uid-web", true), claim("shop", "web-b")];
    let snapshot = observe(&caches(&[pod], &claims)).unwrap();
    let lines = Controller.summary(&snapshot).into_iter();
    let lines: Vec<_> = lines.map(|(name, value)| format!("{name}: {value}")).collect();
    let expected = [
        "being deleted: false",
        "ephemeral volumes: a: claim shop/web-a is there, b: claim shop/web-b is there and not of \
         this pod, c: claim shop/web-c is missing",
    ];
    assert_eq!(lines, expected);
}

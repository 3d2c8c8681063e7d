//! Pods of workloads, mirroring upstream's `pkg/controller/controller_utils_test.go`.

use std::collections::BTreeSet;

use api::{Kind, Raw, ReplicaSet};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{Fixture, ago, decode, decode_all, pod, ready, time, with};

fn owner() -> Meta {
    let owner = json!({"metadata": {"name": "web", "namespace": "ns1", "uid": "abc"}, "spec": {}});
    decode::<ReplicaSet>(&owner).meta.clone()
}

/// A pod `namespace/name`, with an owner reference or without.
fn placed(place: &str, owner: Option<Value>) -> Value {
    let (namespace, name) = place.split_once('/').unwrap();
    let owners: Vec<Value> = owner.into_iter().collect();
    with(pod(name), json!({"metadata": {"namespace": namespace, "ownerReferences": owners}}))
}

/// TestFilterPodsByOwner. Its row with owned pods only has the orphan here too.
#[test]
fn the_pods_of_an_owner_are_found() {
    let own = json!({"uid": "abc", "kind": "ReplicaSet", "name": "web", "controller": true});
    let own_but = |patch| Some(with(own.clone(), patch));
    let own = || Some(own.clone());
    for (name, pods, expected) in [
        (
            "multiple Pods, some are owned by the owner",
            vec![
                placed("ns1/a", own()),
                placed("ns1/b", own_but(json!({"uid": "def"}))),
                placed("ns1/c", own()),
            ],
            vec!["ns1/a", "ns1/c"],
        ),
        (
            "orphan Pods in multiple namespaces",
            vec![placed("ns1/a", None), placed("ns2/b", None)],
            vec!["ns1/a"],
        ),
        (
            "owned Pods and orphan Pods in the owner's namespace",
            vec![placed("ns1/a", None), placed("ns2/b", None), placed("ns1/c", own())],
            vec!["ns1/a", "ns1/c"],
        ),
        (
            "pods in mismatched ns,uid,kind,name,controller",
            vec![
                placed("ns1/a", None),
                placed("ns2/other-ns-orphan", None),
                placed("ns2/other-ns-owned", own()),
                placed("ns1/c", own()),
                placed("ns1/other-uid", own_but(json!({"uid": "other-uid"}))),
                placed("ns1/other-kind", own_but(json!({"kind": "OtherKind"}))),
                placed("ns1/other-name", own_but(json!({"name": "otherName"}))),
                placed("ns1/non-controller", own_but(json!({"controller": false}))),
            ],
            vec!["ns1/a", "ns1/c", "ns1/non-controller"],
        ),
    ] {
        let fixture = Fixture::default().holding::<Pod>(&pods);
        let found = pods_of(fixture.view().of(), &ReplicaSet::RESOURCE, &owner());
        let found: BTreeSet<String> = found.iter().map(|pod| pod.meta.key.to_string()).collect();
        assert_eq!(found, expected.into_iter().map(str::to_owned).collect(), "{name}");
    }
}

#[test]
fn a_matcher_answers_as_its_selector() {
    let selector = Selector::of(&[("app", "web")]);
    let mut matches = matcher(&selector);
    for (app, matched) in
        [("web", true), ("web", true), ("db", false), ("db", false), ("web", true)]
    {
        let pod: Arc<Pod> = decode(&with(pod("a"), json!({"metadata": {"labels": {"app": app}}})));
        assert_eq!(matches(&pod), matched, "{app}");
    }
    assert!(!matches(&decode::<Pod>(&pod("a"))));
}

/// A pod with the `Ready` condition, for so many seconds; negative: not ready.
fn ready_for(seconds: i64) -> Value {
    let condition = match seconds {
        0.. => ready(&ago(seconds)),
        _ => json!({"type": "Ready", "status": "False", "lastTransitionTime": ago(0)}),
    };
    with(pod("a"), json!({"status": {"conditions": [condition]}}))
}

fn ready_at_no_time() -> Value {
    with(pod("a"), json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
}

/// TestNextPodAvailabilityCheck and TestFindMinNextPodAvailabilitySimpleCheck, with one `now` as in
/// TestFindMinNextPodAvailability without its delay: a decision has one time.
#[test]
fn the_next_available_pod_is_awaited() {
    let unready = || ready_for(-1);
    for (name, pods, min_ready_seconds, expected) in [
        ("not ready", vec![unready()], 0, None),
        ("no minReadySeconds defined", vec![ready_for(0)], 0, None),
        ("lastTransitionTime is zero", vec![ready_at_no_time()], 1, None),
        ("just became ready - available in 1s", vec![ready_for(0)], 1, Some(1)),
        ("ready for 20s - available in 10s", vec![ready_for(20)], 30, Some(10)),
        ("available", vec![ready_for(51)], 50, None),
        ("no pods", vec![], 0, None),
        ("unready pods", vec![unready(), unready()], 0, None),
        ("ready pods with no minReadySeconds", vec![ready_for(0), ready_for(0)], 0, None),
        (
            "unready and ready pods should find min next availability check",
            vec![unready(), ready_for(2), ready_for(0), ready_for(4), unready()],
            10,
            Some(6),
        ),
        (
            "unready and available pods do not require min next availability check",
            vec![unready(), ready_for(15), ready_for(11), ready_for(10), unready()],
            10,
            None,
        ),
    ] {
        let found = next_available(&decode_all(&pods), min_ready_seconds, time(0));
        assert_eq!(found, expected.map(Duration::from_secs), "{name}");
    }
}

/// Who is set right looks again soon, whatever it thought that the time was.
#[test]
fn a_clock_that_is_behind_delays_no_check() {
    for (since, expected) in [(-3600, 10), (0, 10), (4, 6)] {
        let status = json!({"status": {"conditions": [ready(&ago(since))]}});
        let pods = decode_all(&[with(pod("a"), status)]);
        let found = next_check(&pods, 10, time(0));
        assert_eq!(found, Some(Duration::from_secs(expected)), "{since}");
    }
}

/// As upstream's TestIsPodAvailable in `pkg/api/v1/pod/util_test.go`.
#[test]
fn pods_are_available_once_ready_for_long_enough() {
    for (name, pod, min_ready_seconds, expected) in [
        ("not ready", ready_for(-1), 0, false),
        ("ready for no time, none asked for", ready_for(0), 0, true),
        ("ready for no time", ready_for(0), 1, false),
        ("ready, at no time", ready_at_no_time(), 1, false),
        ("ready at no time, none asked for", ready_at_no_time(), 0, true),
        ("ready since long", ready_for(51), 50, true),
        ("at the very moment", ready_for(50), 50, true),
        ("one second short", ready_for(49), 50, false),
        ("no Ready condition", with(pod("a"), json!({"status": {"conditions": null}})), 0, false),
    ] {
        assert_eq!(
            is_available(&decode::<Pod>(&pod), min_ready_seconds, time(0)),
            expected,
            "{name}"
        );
    }
}

/// TestCreatePodsWithGenerateName, and the card's "Pod creation": the template's fields are taken
/// as they are written, its owners are not.
#[test]
fn new_pods_are_the_template_as_it_is_written() {
    let spec = r#"{"replicas":2,"template":{
        "metadata":{"creationTimestamp":null,"name":"ignored","ownerReferences":[{"uid":"x"}],
            "labels":{"app":"web"},"annotations":{"n\u00f6te":"<&>"},"finalizers":["a/b"]},
        "spec":{"containers":[{"name":"main","later":12345678901234567890123}],  "x":1.0}}}"#;
    let raw = Raw::parse(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap();
    let actions = creates(&ReplicaSet::RESOURCE, &owner(), raw.field("spec"), 3).unwrap();
    let [Action::Write(create), Action::Write(second), Action::Write(third)] = &*actions else {
        panic!("{actions:?}")
    };
    let [body, same, _] = [create, second, third].map(|write| write.created().unwrap());
    assert_eq!(
        &**body,
        concat!(
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","#,
            r#""labels":{"app":"web"},"annotations":{"n\u00f6te":"<&>"},"finalizers":["a/b"],"#,
            r#""ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","#,
            r#""uid":"abc","controller":true,"blockOwnerDeletion":true}]},"#,
            r#""spec":{"containers":[{"name":"main","later":12345678901234567890123}],  "x":1.0}}"#,
        )
    );
    assert!(Arc::ptr_eq(body, same), "the body is shared");
    let place = (&*create.object.key.namespace, &create.object.resource);
    assert_eq!(place, ("ns1", &Pod::RESOURCE));
    let announce = create.announce.first().unwrap();
    assert_eq!(announce.about.to_string(), "replicasets.apps ns1/web");
    assert_eq!(announce.done, Some(("SuccessfulCreate", Message::Naming("Created pod: "))));
    assert_eq!(announce.failed, ("FailedCreate", "Error creating: ".into()));
}

#[test]
fn new_pods_have_only_what_the_template_has() {
    for metadata in ["", r#""metadata":null,"#, r#""metadata":{},"#] {
        let spec = format!(r#"{{"spec":{{"template":{{{metadata}"spec":{{}}}}}}}}"#);
        let raw = Raw::parse(spec.as_bytes()).unwrap();
        let actions = creates(&ReplicaSet::RESOURCE, &owner(), raw.field("spec"), 1).unwrap();
        let [Action::Write(create)] = &*actions else { panic!("{actions:?}") };
        let body: Value = serde_json::from_str(create.created().unwrap()).unwrap();
        let fields: Vec<_> = body["metadata"].as_object().unwrap().keys().collect();
        assert_eq!(fields, ["generateName", "ownerReferences"], "{metadata}");
    }
    assert!(creates(&ReplicaSet::RESOURCE, &owner(), None, 1).is_err());
}

#[test]
fn deletes_name_the_pod_and_tell_the_owner() {
    let pods = decode_all(&[pod("a"), pod("b")]);
    let actions = deletes(&ReplicaSet::RESOURCE, &owner(), &pods);
    let [Action::Write(delete), Action::Write(other)] = &*actions else { panic!("{actions:?}") };
    assert!(delete.deleted().is_some() && other.deleted().is_some());
    assert_eq!((delete.object.to_string().as_str(), &*delete.object.uid), ("pods shop/a", "uid-a"));
    let announce = delete.announce.first().unwrap();
    assert_eq!(announce.about.to_string(), "replicasets.apps ns1/web");
    assert_eq!(announce.done, Some(("SuccessfulDelete", Message::Naming("Deleted pod: "))));
    assert_eq!(announce.failed, ("FailedDelete", "Error deleting: ".into()));
}

/// `getPodsPrefix` with `ValidatePodName`, which masks the dash and the letter before it.
#[test]
fn names_of_new_pods_start_with_the_owners() {
    let (long, too_long) = ("a".repeat(253), "a".repeat(254));
    for (owner, dash) in [
        ("web", true),
        ("a", true),
        ("a.b", true),
        (&*long, true),
        (&*too_long, false),
        ("Ab", false),
    ] {
        let expected = if dash { format!("{owner}-") } else { owner.to_owned() };
        assert_eq!(generate_name(owner), expected);
    }
}

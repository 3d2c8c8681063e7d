//! Sizes that only the `scale` of a kind says.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Resource, Served, ServedKind, Subresource, Verb};
use controller::{Answer, Query, Refused};

use super::*;

/// Upstream's `customGVK`, which this version and a preferred one have.
fn kinds(subresources: &[&str]) -> Vec<ServedKind> {
    let kind = |version: &'static str| {
        let part = |name: &&str| Subresource {
            name: (*name).into(),
            verbs: Box::new([Verb::Get, Verb::Update]),
        };
        ServedKind {
            resource: Resource::namespaced(
                "custom.k8s.io",
                version,
                "customresources",
                "CustomResource",
            ),
            verbs: Box::new([Verb::Get]),
            preferred: version == "v2",
            subresources: subresources.iter().map(part).collect(),
        }
    };
    vec![kind("v1"), kind("v2")]
}

const SCALE: &str = "/apis/custom.k8s.io/v2/namespaces/shop/customresources/it/scale";

fn custom(name: &str) -> Value {
    owned(naked(name), "custom.k8s.io/v1", "CustomResource", "it", "uid-it")
}

fn scale(uid: &str, replicas: i32) -> Value {
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {"name": "it", "namespace": "shop", "uid": uid},
        "spec": {"replicas": replicas}})
}

fn served(subresources: &[&str], failed: &[(&str, &str)]) -> (Query, Answer) {
    let failed = failed.iter().map(|(group, why)| ((*group).to_owned(), (*why).to_owned()));
    let served = Served::new(kinds(subresources), failed.collect::<BTreeMap<_, _>>());
    (Query::Served, Answer::Served(Arc::new(served)))
}

fn read(answer: Answer) -> (Query, Answer) {
    (Query::path(SCALE), answer)
}

fn found(scale: Value) -> (Query, Answer) {
    read(Answer::Json(Arc::new(scale)))
}

fn refused(code: u16, text: &str) -> (Query, Answer) {
    read(Answer::Failed(Refused { code: Some(code), ..Refused::from(text) }))
}

fn world() -> World {
    let pods = (0..4).map(|number| custom(&format!("pod-{number}")));
    World::of(budget(&json!({"maxUnavailable": 5})), pods.collect())
}

/// TestScaleResource; one read for all pods, in the version that is preferred.
#[test]
fn custom_kinds_are_asked_for_their_scale() {
    let mut world = world();
    let asks = |synced: &Synced| synced.plan.to_string();
    let why = "why: how many pods do those ask for that manage the pods?\n";
    let synced = world.sync();
    assert_eq!(asks(&synced), format!("{why}fetch what is served\n"));
    assert_eq!((synced.verdict, synced.status), (Verdict::Nothing, None));
    let kinds = served(&["status", "scale"], &[]);
    let synced = world.sync_with(&Facts::from([kinds.clone()]));
    assert_eq!(asks(&synced), format!("{why}fetch {SCALE}\n"));
    let synced = world.sync_with(&Facts::from([kinds, found(scale("uid-it", 10))]));
    assert_eq!(numbers(&synced), [4, 5, 10, 0]);
}

/// TestScaleFinderNoResource, TestUnsupportedControllerPod, and other ways to fail. What lasts is
/// not tried again; each allows no disruption.
#[test]
fn what_cannot_be_known_allows_no_disruption() {
    let kinds = || served(&["status", "scale"], &[]);
    let none = "found no controllers for pod \"pod-0\"";
    let no_scale = "customresources.custom.k8s.io does not implement the scale subresource";
    let no_kind = "no matches for kind \"CustomResource\" in version \"custom.k8s.io/v1\"";
    let unserved = |failed: &[(&str, &str)]| {
        let failed = failed.iter().map(|(group, why)| ((*group).to_owned(), (*why).to_owned()));
        (Query::Served, Answer::Served(Arc::new(Served::new(vec![], failed.collect()))))
    };
    let partial = "unable to retrieve the complete list of server APIs: custom.k8s.io/v1: down";
    let elsewhere = found(scale("another", 10));
    let other = found(json!({"kind": "Thing", "metadata": {"uid": "uid-it"}}));
    let broken = (Query::Served, Answer::Failed(Refused::from("broken")));
    for (facts, error, is_tried_again) in [
        (vec![kinds(), refused(404, "not found")], none, false),
        (vec![served(&["status"], &[]), refused(404, "not found")], no_scale, false),
        (vec![kinds(), elsewhere], none, false),
        (vec![kinds(), other], no_scale, false),
        (vec![kinds(), refused(503, "try later")], "try later", true),
        (vec![unserved(&[])], no_kind, false),
        (vec![unserved(&[("other/v1", "down")])], no_kind, false),
        (vec![unserved(&[("custom.k8s.io/v1", "down")])], partial, true),
        (vec![broken], "broken", true),
    ] {
        let mut world = world();
        world.budgets[0]["status"] = json!({"disruptionsAllowed": 3, "observedGeneration": 9});
        let facts: Facts = facts.into_iter().collect();
        let synced = world.sync_with(&facts);
        let event = format!(
            "Warning CalculateExpectedPodCountFailed: Failed to calculate the number of expected \
             pods: {error}"
        );
        assert_eq!(events(&synced.plan), [event]);
        assert_eq!(synced.plan.error.as_deref(), is_tried_again.then_some(error));
        let status = synced.status.as_ref().unwrap();
        assert_eq!(status["disruptionsAllowed"], 0);
        assert_eq!(status.as_object().unwrap().len(), 2, "the other fields stay");
        let expected = json!({"type": "DisruptionAllowed", "status": "False",
            "reason": "SyncFailed", "message": error, "observedGeneration": 9,
            "lastTransitionTime": ago(0)});
        assert_eq!(condition(&synced), expected);
        assert_eq!(world.sync_with(&facts).status, None, "{error}: written twice");
    }
}

/// What the pod names need not be a name.
#[test]
fn owners_may_be_called_anything() {
    let kinds = || Facts::from([served(&["scale"], &[])]);
    for (name, expected) in [
        ("a b?", "fetch /apis/custom.k8s.io/v2/namespaces/shop/customresources/a%20b%3F/scale\n"),
        ("a/b", "CalculateExpectedPodCountFailed"),
        ("..", "CalculateExpectedPodCountFailed"),
        ("", "resource name may not be empty"),
    ] {
        let pod = owned(naked("p"), "custom.k8s.io/v1", "CustomResource", name, "uid-it");
        let mut world = World::of(budget(&json!({"minAvailable": "50%"})), vec![pod]);
        let plan = world.sync_with(&kinds()).plan.to_string();
        assert!(plan.contains(expected), "{name:?}: {plan}");
    }
}

/// A reference that is not valid ends the count before anything is read.
#[test]
fn a_version_may_be_none() {
    let odd = owned(naked("a"), "a/b/c", "CustomResource", "it", "uid-odd");
    let mut world = World::of(budget(&json!({"maxUnavailable": 1})), vec![odd, custom("b")]);
    let synced = world.sync();
    let error = "unexpected GroupVersion string: a/b/c";
    assert_eq!(synced.verdict, Verdict::Failed(error.to_owned()));
}

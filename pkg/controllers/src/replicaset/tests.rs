//! Tables, mirroring upstream's `pkg/controller/replicaset/replica_set_test.go` and
//! `replica_set_utils_test.go`. What upstream tests of its expectations is the engine's here.

mod replication;

use std::sync::Arc;

use api::{Key, Kind, Object as _, Pod, Raw, ReplicaSet};
use controller::fixture::{
    self, Fixture, NOW, ago, decode, enqueued, owned_by, pod, ready, time, with,
};
use controller::{Answer, Change, Controller as _, Facts, Outcome, Plan, Query};
use serde_json::{Value, json};

use super::*;

const CONTROLLER: Controller = Controller::new(500);

/// As upstream's `newReplicaSet`: `shop/foobar`, which selects `foo=bar`, with a Deployment above.
fn set(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": "foobar", "namespace": "shop", "uid": "u1", "resourceVersion": "18",
            "generation": 2,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "foo",
                "uid": "123", "controller": true}],
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"foo": "bar"}},
            "template": {
                "metadata": {"labels": {"foo": "bar"}},
                "spec": {"containers": [{"name": "main", "image": "foo/bar"}]},
            },
        },
    })
}

fn labelled(object: Value, labels: &Value) -> Value {
    with(object, json!({"metadata": {"labels": labels}}))
}

/// A ready pod that carries `foo=bar`, and that no owner controls.
fn orphan(name: &str) -> Value {
    labelled(pod(name), &json!({"foo": "bar"}))
}

/// A ready pod that carries `foo=bar`, and that `set` controls.
fn own(name: &str, set: &Value) -> Value {
    with(orphan(name), json!({"metadata": owned_by("ReplicaSet", set)}))
}

/// Ready pods that `set` controls: `pod0`, `pod1` and so on.
fn own_pods(count: usize, set: &Value) -> Vec<Value> {
    (0..count).map(|n| own(&format!("pod{n}"), set)).collect()
}

fn deleted(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": NOW}}))
}

fn phase(pod: Value, phase: &str) -> Value {
    with(pod, json!({"status": {"phase": phase, "conditions": null}}))
}

fn caches(sets: &[Value], pods: &[Value]) -> Fixture {
    Fixture::default().holding::<ReplicaSet>(sets).holding::<Pod>(pods)
}

fn observed(set: &Value, pods: &[Value]) -> Snapshot {
    let key = Key::new("shop", "foobar");
    CONTROLLER.observe(&key, &caches(std::slice::from_ref(set), pods).view(), &()).unwrap()
}

/// The plan for a set, whose live state is the one that the cache shows.
fn planned(set: &Value, pods: &[Value]) -> Plan {
    let live = decode::<ReplicaSet>(set).meta.clone();
    let query = Query::object(ReplicaSet::RESOURCE, live.key.clone());
    let facts = Facts::from([(query, Answer::Found(Box::new((live, Raw::default()))))]);
    CONTROLLER.decide(&observed(set, pods), &facts).0
}

fn failed(error: &str) -> Outcome {
    Outcome { error: Some(error.to_owned()), ..Outcome::default() }
}

/// The same, in a step of the plan.
fn failed_in(step: usize, error: &str) -> Outcome {
    Outcome { step: Some(step), ..failed(error) }
}

/// The fields of the status write as JSON, or `none`.
fn reported(set: &Value, pods: &[Value], outcome: &Outcome) -> String {
    let update = CONTROLLER.report(&observed(set, pods), None, outcome);
    update.map_or_else(|| "none".to_owned(), |update| json!(fixture::status(&update)).to_string())
}

// === What is decided ===

/// `count` creates, as the plan prints them.
fn creates(count: usize) -> String {
    "slow start: create pods in shop\n".repeat(count)
}

fn deletes(names: &[&str]) -> String {
    names.iter().flat_map(|name| ["together: delete pods shop/", name, "\n"]).collect()
}

const KEEP: &str = "why: as many pods as asked for\n";

#[test]
fn pods_are_made_and_deleted_as_upstream() {
    let (two, one) = (set(2), set(1));
    let other = with(two.clone(), json!({"metadata": {"uid": "other", "name": "AnotherRS"}}));
    let ended = |name: &str, word: &str| phase(own(name, &two), word);
    let create = |count, missing| {
        format!("why: {missing} pods missing of 2, creating {count}\n{}", creates(count))
    };
    for (name, set, pods, expected) in [
        ("TestSyncReplicaSetDoesNothing", &two, own_pods(2, &two), KEEP.to_owned()),
        ("TestSyncReplicaSetDormancy: creates a replica", &two, own_pods(1, &two), create(1, 1)),
        ("no pods yet", &two, vec![], create(2, 2)),
        ("TestDoNotPatchPodWithOtherControlRef", &two, vec![own("pod", &other)], create(2, 2)),
        (
            "TestDoNotAdoptOrCreateIfBeingDeleted",
            &deleted(two.clone()),
            vec![orphan("pod1")],
            "why: the set is being deleted\n".to_owned(),
        ),
        (
            "a set that is being deleted deletes no pods either",
            &deleted(one.clone()),
            own_pods(3, &one),
            "why: the set is being deleted\n".to_owned(),
        ),
        (
            "TestDeletingAndFailedPods (integration): ended and leaving pods are replaced",
            &two,
            vec![ended("a", "Failed"), ended("b", "Succeeded"), deleted(own("c", &two))],
            create(2, 2),
        ),
        (
            "ended and leaving pods are neither adopted nor released (card: Sync 5)",
            &two,
            vec![
                own("a", &two),
                own("b", &two),
                phase(orphan("c"), "Failed"),
                deleted(orphan("d")),
                deleted(labelled(own("e", &two), &json!({"foo": "baz"}))),
                phase(labelled(own("f", &two), &json!({"foo": "baz"})), "Succeeded"),
            ],
            KEEP.to_owned(),
        ),
        (
            "orphans that are not selected, and pods elsewhere, are not counted",
            &two,
            vec![
                own("a", &two),
                labelled(orphan("b"), &json!({"foo": "baz"})),
                with(orphan("c"), json!({"metadata": {"namespace": "elsewhere"}})),
            ],
            create(1, 1),
        ),
        (
            "all are too many",
            &set(0),
            own_pods(2, &two),
            format!("why: 2 pods more than 0, deleting 2\n{}", deletes(&["pod0", "pod1"])),
        ),
        (
            "TestGetPodsToDelete: not ready before ready",
            &one,
            vec![own("a", &one), phase(own("b", &one), "Pending"), own("c", &one)],
            format!("why: 2 pods more than 1, deleting 2\n{}", deletes(&["b", "a"])),
        ),
    ] {
        assert_eq!(planned(set, &pods).to_string(), expected, "{name}");
    }
}

/// TestPodDeletionCost (integration).
#[test]
fn pods_that_cost_less_go_first() {
    let set = set(1);
    let costing = |name, cost: &str| {
        let annotations = json!({"controller.kubernetes.io/pod-deletion-cost": cost});
        with(own(name, &set), json!({"metadata": {"annotations": annotations}}))
    };
    for (a, b, victim) in
        [("1000", "100", "b"), ("-10", "0", "a"), ("invalid", "1", "a"), ("7", "7", "a")]
    {
        let plan = planned(&set, &[costing("a", a), costing("b", b)]);
        let expected = format!("why: 1 pods more than 1, deleting 1\n{}", deletes(&[victim]));
        assert_eq!(plan.to_string(), expected, "{a} against {b}");
    }
}

/// replicaset.md, Metrics: only when pods were ranked, only for ready victims, whole multiples of
/// the youngest ready pod's age.
#[test]
fn the_age_of_victims_is_measured() {
    let set = |replicas| set(replicas);
    let aged = |name, seconds| {
        with(own(name, &set(1)), json!({"metadata": {"creationTimestamp": ago(seconds)}}))
    };
    let unready = |name| with(aged(name, 1), json!({"status": {"conditions": null}}));
    let ratios = |replicas, pods: &[Value]| {
        let plan = planned(&set(replicas), pods);
        let value = |count: &controller::Count| match count.value {
            controller::Amount::Of(value) => value.to_string(),
            controller::Amount::Since(_) => panic!("measured in the decision: {count:?}"),
        };
        plan.counts.iter().map(value).collect::<Vec<_>>().join(" ")
    };
    let cheap = json!({"metadata": {"annotations":
        {"controller.kubernetes.io/pod-deletion-cost": "-1"}}});
    let old = with(aged("old", 250), cheap);
    assert_eq!(ratios(1, &[old.clone(), aged("new", 100)]), "2");
    assert_eq!(ratios(1, &[aged("old", 250), aged("new", 100)]), "1");
    assert_eq!(ratios(1, &[unready("a"), aged("new", 100)]), "", "the victim is not ready");
    assert_eq!(ratios(0, &[old.clone(), aged("new", 100)]), "", "all go: nothing is ranked");
    assert_eq!(ratios(1, &[old, aged("new", 0)]), "", "no age to divide by");
}

#[test]
fn claims_go_out_first_in_the_plan_that_counts_on_them() {
    let two = set(2);
    let strange = labelled(own("pod3", &two), &json!({"foo": "baz"}));
    let patch = |pod: &str, owner: &str| {
        format!(
            "together: patch pods shop/{pod} {{\"metadata\":{{\"uid\":\"uid-{pod}\",\
             \"ownerReferences\":[{{{owner}}}]}}}}\n"
        )
    };
    let adopt = |pod| {
        patch(
            pod,
            "\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"foobar\",\
             \"uid\":\"u1\",\"controller\":true,\"blockOwnerDeletion\":true",
        )
    };
    let release = |pod| patch(pod, "\"$patch\":\"delete\",\"uid\":\"u1\"");
    for (name, pods, expected) in [
        (
            "TestPatchPodFails: two patches, no create",
            vec![orphan("pod1"), orphan("pod2")],
            format!(
                "why: 2 to adopt, 0 to release; as many pods as asked for\n{}{}",
                adopt("pod1"),
                adopt("pod2")
            ),
        ),
        (
            "TestExtraPodsAdoptionAndDeletion (integration)",
            vec![own("pod0", &two), own("pod1", &two), orphan("pod2")],
            format!(
                "why: 1 to adopt, 0 to release; 1 pods more than 2, deleting 1\n{}{}",
                adopt("pod2"),
                deletes(&["pod0"])
            ),
        ),
        (
            "TestAdoption (integration): one to adopt, one to release",
            vec![strange.clone(), orphan("pod1")],
            format!(
                "why: 1 to adopt, 1 to release; 1 pods missing of 2, creating 1\n{}{}{}",
                adopt("pod1"),
                release("pod3"),
                creates(1)
            ),
        ),
        (
            "a pod that is no longer selected is released, not deleted, and replaced at once",
            vec![own("pod0", &two), strange],
            format!(
                "why: 0 to adopt, 1 to release; 1 pods missing of 2, creating 1\n{}{}",
                release("pod3"),
                creates(1)
            ),
        ),
    ] {
        assert_eq!(planned(&two, &pods).to_string(), expected, "{name}");
    }
}

/// TestDoNotAdoptOrCreateIfBeingDeletedRace: the cache has a set that stays, the live one is being
/// deleted.
#[test]
fn nothing_is_adopted_or_made_for_a_set_that_goes() {
    let snapshot = observed(&set(2), &[orphan("pod1")]);
    let ask = CONTROLLER.decide(&snapshot, &Facts::default()).0;
    let expected =
        "why: orphans match; is the owner still there?\nfetch replicasets.apps shop/foobar\n";
    assert_eq!(ask.to_string(), expected);
    let live = decode::<ReplicaSet>(&deleted(set(2))).meta.clone();
    let query = Query::object(ReplicaSet::RESOURCE, live.key.clone());
    let facts = Facts::from([(query, Answer::Found(Box::new((live, Raw::default()))))]);
    let expected = "why: 1 to adopt, 0 to release\n\
         error: can't adopt Pod shop/pod1 (uid-pod1): \
         shop/foobar has just been deleted at 2024-05-01T12:00:00Z\n";
    assert_eq!(CONTROLLER.decide(&snapshot, &facts).0.to_string(), expected);
    assert!(CONTROLLER.report(&snapshot, None, &failed("can't adopt")).is_none());
}

/// TestControllerBurstReplicas: up and down again in steps of the burst.
#[test]
fn no_sync_makes_or_deletes_more_than_the_burst() {
    for (burst_replicas, count) in [(5, 30), (5, 12), (3, 2)] {
        let controller = Controller::new(burst_replicas);
        let actions = |set: &Value, have| {
            let fixture = caches(std::slice::from_ref(set), &own_pods(have, set));
            let snapshot = controller.observe(&Key::new("shop", "foobar"), &fixture.view(), &());
            let plan = controller.decide(&snapshot.unwrap(), &Facts::default()).0.to_string();
            (plan.matches(": create").count(), plan.matches(": delete").count())
        };
        let (full, none) = (set(i32::try_from(count).unwrap()), set(0));
        for have in (0..count).step_by(burst_replicas) {
            let step = burst_replicas.min(count - have);
            assert_eq!(actions(&full, have), (step, 0), "up from {have} to {count}");
            assert_eq!(actions(&none, count - have), (0, step), "down from {}", count - have);
        }
        assert_eq!((actions(&full, count), actions(&none, 0)), ((0, 0), (0, 0)));
    }
}

/// The card's "Template without labels": no request, but a failure.
#[test]
fn a_template_without_labels_makes_no_pods() {
    let bare = with(set(2), json!({"spec": {"template": {"metadata": {"labels": null}}}}));
    let plan = planned(&bare, &[]);
    let expected =
        "why: 2 pods missing of 2, creating 2\nerror: unable to create pods, no labels\n";
    assert_eq!(plan.to_string(), expected);
    let update =
        CONTROLLER.report(&observed(&bare, &[]), None, &failed(&plan.error.unwrap())).unwrap();
    let condition = &fixture::status(&update)["conditions"][0];
    assert_eq!(condition["reason"], "FailedCreate");
    assert_eq!(condition["message"], "unable to create pods, no labels");
}

/// Card, Sync 4 and "Edge cases": neither pods nor status are touched.
#[test]
fn sets_that_cannot_be_understood_are_left_alone() {
    let spec = |patch: Value| with(set(2), json!({"spec": patch}));
    for (set, why) in [
        (
            spec(json!({"selector": {"matchExpressions": [{"key": "foo", "operator": "Near"}]}})),
            "the selector is invalid: \"Near\" is not a valid label selector operator",
        ),
        (
            spec(json!({"selector": {"matchLabels": {"foo": "no value!"}}})),
            "the selector is invalid: key \"foo\": \"no value!\" is not a valid label value",
        ),
        (spec(json!({"selector": {"matchLabels": null}})), "the selector is empty"),
        (spec(json!({"selector": null})), "the selector is empty"),
    ] {
        let pods = [own("a", &set), orphan("b")];
        assert_eq!(planned(&set, &pods).to_string(), format!("why: {why}\n"));
        assert_eq!(reported(&set, &pods, &Outcome::default()), "none", "{why}");
    }
    let error = api::DecodeError("spec.replicas: too big".to_owned());
    let set = ReplicaSet::unreadable(decode::<ReplicaSet>(&set(2)).meta.clone(), &error);
    let snapshot = Snapshot { set: Arc::new(set), ..observed(&self::set(2), &[]) };
    let plan = CONTROLLER.decide(&snapshot, &Facts::default()).0;
    assert_eq!(plan.to_string(), "why: the set cannot be read: spec.replicas: too big\n");
    assert!(CONTROLLER.report(&snapshot, None, &Outcome::default()).is_none());
}

#[test]
fn a_deleted_set_has_no_snapshot() {
    let fixture = caches(&[set(1)], &[]);
    assert!(CONTROLLER.observe(&Key::new("shop", "other"), &fixture.view(), &()).is_none());
}

/// TestReplicaSetAvailabilityCheck, and FindMinNextPodAvailabilityCheck's fallback.
#[test]
fn a_set_is_counted_again_when_its_next_pod_is_available() {
    let slow = with(set(4), json!({"spec": {"minReadySeconds": 5}}));
    let ready_at = |name, nanos: i64| {
        // Times of the API have whole seconds; those of this test have not.
        let whole = time(nanos).to_string().replace('Z', "");
        let fraction = nanos.rem_euclid(1_000_000_000) / 1_000_000;
        let since = format!("{whole}.{fraction:03}Z");
        with(own(name, &slow), json!({"status": {"conditions": [ready(&since)]}}))
    };
    let pending = |name| phase(own(name, &slow), "Pending");
    let timeless = |name| {
        let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": null});
        with(own(name, &slow), json!({"status": {"conditions": [condition]}}))
    };
    let upstreams = vec![
        pending("foobar-1"),
        ready_at("foobar-2", 0),
        ready_at("foobar-3", -2_000_000_000),
        ready_at("foobar-4", -4_300_000_000),
    ];
    let available = |name| ready_at(name, -5_000_000_000);
    let all = vec![available("a"), available("b"), available("c"), available("d")];
    let with_timeless = vec![available("a"), available("b"), available("c"), timeless("d")];
    for (name, set, pods, expected) in [
        ("TestReplicaSetAvailabilityCheck", &slow, &upstreams, format!("{KEEP}again in 700ms\n")),
        ("none waits", &slow, &all, KEEP.to_owned()),
        ("one will never be available", &slow, &with_timeless, format!("{KEEP}again in 5s\n")),
        ("no minReadySeconds", &set(4), &upstreams, KEEP.to_owned()),
        (
            "a set that is being deleted still counts",
            &deleted(slow.clone()),
            &upstreams,
            "why: the set is being deleted\nagain in 700ms\n".to_owned(),
        ),
    ] {
        assert_eq!(planned(set, pods).to_string(), expected, "{name}");
    }
    let expected = "{\"availableReplicas\":0,\"fullyLabeledReplicas\":4,\"observedGeneration\":2,\
         \"readyReplicas\":3,\"replicas\":4,\"terminatingReplicas\":0}";
    assert_eq!(reported(&slow, &upstreams, &Outcome::default()), expected);
}

/// A set that selects `foo=<foo>`, with a controller or without.
fn selecting(name: &str, foo: &str, controller: Option<&str>) -> Value {
    let owners: Vec<Value> =
        controller.map(|uid| json!({"uid": uid, "controller": true})).into_iter().collect();
    with(
        set(1),
        json!({
            "metadata": {"name": name, "uid": name, "ownerReferences": owners},
            "spec": {"selector": {"matchLabels": {"foo": foo}}},
        }),
    )
}

/// A pod that `set` controls and selects.
fn selected(name: &str, set: &Value) -> Value {
    labelled(own(name, set), &set["spec"]["selector"]["matchLabels"])
}

/// The names of the pods related to the first of the sets.
fn related_names(sets: &[Value], pods: &[Value]) -> String {
    let name = sets[0]["metadata"]["name"].as_str().unwrap();
    let snapshot = CONTROLLER.observe(&Key::new("shop", name), &caches(sets, pods).view(), &());
    let related = snapshot.unwrap().related;
    related.iter().map(|pod| &*pod.meta.key.name).collect::<Vec<_>>().join(" ")
}

/// TestRelatedPodsLookup and TestGetReplicaSetsWithSameController.
#[test]
fn related_pods_are_those_that_sets_of_the_same_controller_select() {
    let some = selecting("foo1", "bar", Some("123"));
    let related = selecting("foo2", "baz", Some("123"));
    let unrelated = selecting("bar1", "quux", Some("456"));
    let going = deleted(selecting("foo3", "xyzzy", Some("789")));
    let [pod1, pod2] = ["pod1", "pod2"].map(|name| selected(name, &some));
    let (pod3, pod4) = (selected("pod3", &related), selected("pod4", &unrelated));
    let foreign = labelled(pod4.clone(), &json!({"foo": "baz"}));
    for (name, sets, pods, expected) in [
        (
            "expect to get a pod even if its owning ReplicaSet is pending deletion",
            vec![going.clone(), unrelated.clone()],
            vec![selected("pod1", &going), selected("pod2", &going)],
            "pod1 pod2",
        ),
        (
            "expect to get only the ReplicaSet's own pods if there is no related ReplicaSet",
            vec![some.clone(), unrelated.clone()],
            vec![pod1.clone(), pod2.clone(), pod4.clone()],
            "pod1 pod2",
        ),
        (
            "expect to get own pods as well as any related ReplicaSet's but not an unrelated's",
            vec![some.clone(), related.clone(), unrelated],
            vec![pod1.clone(), pod2.clone(), pod3, pod4],
            "pod1 pod2 pod3",
        ),
        (
            "pods of any owner (card, Sync 7)",
            vec![some, related],
            vec![pod1, pod2, foreign],
            "pod1 pod2 pod4",
        ),
    ] {
        assert_eq!(related_names(&sets, &pods), expected, "{name}");
    }
}

/// The rest of upstream's `getIndirectlyRelatedPods` and `getPodsToDelete`.
#[test]
fn related_pods_are_looked_up_only_where_they_count() {
    let some = selecting("foo1", "bar", Some("123"));
    let alone = selecting("foo5", "bar", None);
    let wanting = |count: i32| with(some.clone(), json!({"spec": {"replicas": count}}));
    let invalid = selecting("foo4", "-", Some("123"));
    let twin = selecting("twin", "bar", Some("123"));
    for (name, sets, expected) in [
        ("one of two goes", vec![some.clone()], "pod1 pod2"),
        ("selectors that are invalid select nothing", vec![some.clone(), invalid], "pod1 pod2"),
        ("once each, though two sets select them", vec![some.clone(), twin], "pod1 pod2"),
        ("a set without controller has none", vec![alone], ""),
        ("all go", vec![wanting(0)], ""),
        ("none goes", vec![wanting(2)], ""),
    ] {
        let pods = ["pod1", "pod2"].map(|name| selected(name, &sets[0]));
        assert_eq!(related_names(&sets, &pods), expected, "{name}");
    }
}

/// The related pods decide which node counts as crowded.
#[test]
fn the_pod_beside_its_siblings_goes_first() {
    let (set, sibling) = (set(1), with(set(1), json!({"metadata": {"name": "old", "uid": "old"}})));
    let on = |pod: Value, node| with(pod, json!({"spec": {"nodeName": node}}));
    let pods = [
        on(own("a", &set), "free"),
        on(own("b", &set), "crowded"),
        on(own("c", &sibling), "crowded"),
    ];
    let fixture = caches(&[set, sibling], &pods);
    let snapshot = CONTROLLER.observe(&Key::new("shop", "foobar"), &fixture.view(), &()).unwrap();
    let plan = CONTROLLER.decide(&snapshot, &Facts::default()).0.to_string();
    assert_eq!(plan, format!("why: 1 pods more than 1, deleting 1\n{}", deletes(&["b"])));
}

// === What is reported ===

/// The status that the counts make; the rest is as the set has it.
fn status(counts: [i32; 5]) -> String {
    let [replicas, labelled, ready, available, terminating] = counts;
    json!({
        "replicas": replicas, "fullyLabeledReplicas": labelled, "readyReplicas": ready,
        "availableReplicas": available, "terminatingReplicas": terminating,
        "observedGeneration": 2,
    })
    .to_string()
}

/// TestCalculateStatus. The gate `DeploymentReplicaSetTerminatingReplicas` is on.
#[test]
fn pods_are_counted_as_upstream() {
    let full_labels = json!({"foo": "bar", "type": "production"});
    let template = json!({"spec": {"template": {"metadata": {"labels": full_labels}}}});
    // As upstream's, with a template that asks for more than the selector.
    let rs = |replicas| with(set(replicas), template.clone());
    let slow = with(rs(1), json!({"spec": {"minReadySeconds": 3600}}));
    let full = |name| labelled(own(name, &rs(2)), &full_labels);
    let partial = |name| own(name, &rs(2));
    let since =
        |seconds| with(full("pod1"), json!({"status": {"conditions": [ready(&ago(seconds))]}}));
    let leaving = |name| deleted(full(name));
    for (name, set, pods, counts) in [
        ("1 fully labelled pod", rs(2), vec![full("pod1")], [1, 1, 1, 1, 0]),
        ("1 not fully labelled pod", rs(1), vec![partial("pod1")], [1, 0, 1, 1, 0]),
        (
            "2 fully labelled pods with DeploymentReplicaSetTerminatingReplicas",
            rs(2),
            vec![full("pod1"), full("pod2")],
            [2, 2, 2, 2, 0],
        ),
        (
            "2 not fully labelled pods",
            rs(1),
            vec![partial("pod1"), partial("pod2")],
            [2, 0, 2, 2, 0],
        ),
        (
            "1 fully labelled pod, 1 not fully labelled pod",
            rs(1),
            vec![partial("pod1"), full("pod2")],
            [2, 1, 2, 2, 0],
        ),
        ("1 non-ready pod", rs(2), vec![phase(full("pod1"), "Pending")], [1, 1, 0, 0, 0]),
        ("1 ready but non-available pod", slow.clone(), vec![since(0)], [1, 1, 1, 0, 0]),
        ("1 available pod with minReadySeconds", slow.clone(), vec![since(3600)], [1, 1, 1, 1, 0]),
        (
            "1 available pod for a long time with minReadySeconds",
            slow,
            vec![since(2 * 3600)],
            [1, 1, 1, 1, 0],
        ),
        (
            "1 fully labelled pods and 2 terminating with DeploymentReplicaSetTerminatingReplicas",
            rs(2),
            vec![full("pod1"), leaving("pod2"), leaving("pod3")],
            [1, 1, 1, 1, 2],
        ),
        (
            "TestTerminatingReplicas (integration): not those that ended or are not its own",
            rs(2),
            vec![
                leaving("pod1"),
                phase(leaving("pod2"), "Failed"),
                deleted(labelled(orphan("pod3"), &full_labels)),
                labelled(leaving("pod4"), &json!({"foo": "baz"})),
            ],
            [0, 0, 0, 0, 1],
        ),
        ("a set that is being deleted", deleted(rs(2)), vec![full("pod1")], [1, 1, 1, 1, 0]),
    ] {
        assert_eq!(reported(&set, &pods, &Outcome::default()), status(counts), "{name}");
    }
}

/// TestCalculateStatus and TestTerminatingReplicas (integration), with the gate off: what is being
/// deleted is not counted, and an existing count is removed.
#[test]
fn terminating_pods_are_not_counted_without_the_gate() {
    let off =
        Controller::<ReplicaSet>::with(Options { counts_terminating: false, ..CONTROLLER.options });
    let key = Key::new("shop", "foobar");
    let report = |set: &Value, pods: &[Value]| {
        let snapshot =
            off.observe(&key, &caches(std::slice::from_ref(set), pods).view(), &()).unwrap();
        let facts = off.summary(&snapshot);
        assert!(facts.contains(&("terminating", "not counted".to_owned())), "{facts:?}");
        off.report(&snapshot, None, &Outcome::default())
            .map(|update| json!(fixture::status(&update)))
    };
    let silent = json!({"status": {"replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1, "observedGeneration": 2}});
    let silent = with(set(1), silent);
    let pods = [own("a", &silent), deleted(own("b", &silent))];
    assert_eq!(report(&silent, &pods), None, "nothing differs");
    let counted = with(silent, json!({"status": {"terminatingReplicas": 1}}));
    let written = report(&counted, &pods).unwrap();
    assert_eq!(written["terminatingReplicas"], Value::Null, "{written}");
    assert_eq!(written["replicas"], 1, "{written}");
}

/// TestPodDeletionCost (integration), disabled: the pod with more restarts is deleted, though it is
/// the dearer one.
#[test]
fn deletion_costs_do_not_count_without_the_gate() {
    let set = set(1);
    let pod = |name: &str, cost: &str, restarts: i32| {
        let annotations = json!({"controller.kubernetes.io/pod-deletion-cost": cost});
        let status = json!({"containerStatuses": [{"name": "main", "restartCount": restarts}]});
        with(own(name, &set), json!({"metadata": {"annotations": annotations}, "status": status}))
    };
    let fixture = caches(std::slice::from_ref(&set), &[pod("a", "1000", 5), pod("b", "100", 0)]);
    for (costs, victim) in [(Costs::Count, "b"), (Costs::Ignored, "a")] {
        let controller = Controller::<ReplicaSet>::with(Options { costs, ..CONTROLLER.options });
        let snapshot =
            controller.observe(&Key::new("shop", "foobar"), &fixture.view(), &()).unwrap();
        let plan = controller.decide(&snapshot, &Facts::default()).0.to_string();
        assert_eq!(plan, format!("why: 1 pods more than 1, deleting 1\n{}", deletes(&[victim])));
    }
}

/// TestClaimedPodFiltering: whose deletion is counted.
#[test]
fn terminating_pods_are_counted_if_claimed() {
    let owners = |owners: Value| json!({"metadata": {"ownerReferences": owners}});
    let reference = json!({"kind": "ReplicaSet", "name": "foobar"});
    let owner = |uid: &str, controller: bool| {
        with(reference.clone(), json!({"uid": uid, "controller": controller}))
    };
    let mine = owner("u1", true);
    for (name, labels, owned, counted) in [
        ("claimed-1", "bar", owners(json!([mine])), 1),
        ("wrong-selector-1", "baz", owners(json!([mine])), 0),
        ("non-controller-1", "bar", owners(json!([owner("u1", false)])), 0),
        ("other-controller-1", "bar", owners(json!([owner("x", true)])), 0),
        ("standalone-pod-1", "beetle", owners(json!([])), 0),
        ("claimed-2", "bar", owners(json!([owner("x", false), mine])), 1),
        ("wrong-selector-2", "baz", owners(json!([owner("x", false), mine])), 0),
        ("other-controller-2", "bar", owners(json!([owner("u1", false), owner("x", true)])), 0),
    ] {
        let pod = with(deleted(labelled(pod("a"), &json!({"foo": labels}))), owned);
        assert_eq!(observed(&set(2), &[pod]).terminating, Some(counted), "{name}");
    }
}

/// TestCalculateStatusConditions.
#[test]
fn a_failure_is_a_condition() {
    let failure = json!({"type": "ReplicaFailure", "status": "True"});
    let rs = set(2);
    let failed_before = with(set(10), json!({"status": {"conditions": [failure]}}));
    let error = failed("fake manageReplicasErr");
    let condition = |reason: &str, message: &str| {
        json!([{"type": "ReplicaFailure", "status": "True", "lastTransitionTime": NOW,
            "reason": reason, "message": message}])
    };
    for (name, set, pods, outcome, expected) in [
        (
            "manageReplicasErr != nil && failureCond == nil, diff < 0",
            &rs,
            own_pods(1, &rs),
            &error,
            Some(condition("FailedCreate", "fake manageReplicasErr")),
        ),
        (
            "manageReplicasErr != nil && failureCond == nil, diff > 0",
            &rs,
            own_pods(3, &rs),
            &error,
            // The text that upstream's DeletePod makes of the API server's.
            Some(condition("FailedDelete", "unable to delete pods: fake manageReplicasErr")),
        ),
        (
            "manageReplicasErr == nil && failureCond != nil",
            &failed_before,
            own_pods(1, &rs),
            &Outcome::default(),
            Some(Value::Null),
        ),
        (
            "manageReplicasErr != nil && failureCond != nil",
            &failed_before,
            own_pods(1, &rs),
            &error,
            None,
        ),
        (
            "manageReplicasErr == nil && failureCond == nil",
            &rs,
            own_pods(1, &rs),
            &Outcome::default(),
            None,
        ),
        (
            "removed too when nothing was tried (card, Sync 8)",
            &failed_before,
            own_pods(1, &rs),
            &Outcome { unsettled: true, ..Outcome::default() },
            Some(Value::Null),
        ),
    ] {
        let update = CONTROLLER.report(&observed(set, &pods), None, outcome).unwrap();
        assert_eq!(fixture::status(&update).get("conditions"), expected.as_ref(), "{name}");
    }
}

/// TestSetCondition and TestRemoveCondition: conditions of others stay, with every field.
#[test]
fn other_conditions_stay_as_they_came() {
    let backoff = json!({"type": "ImagePullBackOff", "status": "True", "reason": "NonExistentImage",
        "later": {"big": 12_345_678_901_234_567_890_u64}});
    let failure = json!({"type": "ReplicaFailure", "status": "True", "reason": "OtherFailure"});
    let has = |conditions: Value| with(set(1), json!({"status": {"conditions": conditions}}));
    let new = json!({"type": "ReplicaFailure", "status": "True", "lastTransitionTime": NOW,
        "reason": "FailedCreate", "message": "e"});
    for (name, set, outcome, expected) in [
        ("set for the first time", set(1), failed("e"), Some(json!([new]))),
        ("simple set", has(json!([backoff])), failed("e"), Some(json!([backoff, new]))),
        ("not overwritten", has(json!([failure, backoff])), failed("e"), None),
        ("remove from empty status", set(1), Outcome::default(), None),
        ("simple remove", has(json!([failure])), Outcome::default(), Some(Value::Null)),
        (
            "removed from among others",
            has(json!([backoff, failure])),
            Outcome::default(),
            Some(json!([backoff])),
        ),
        ("doesn't remove anything", has(json!([backoff])), Outcome::default(), None),
    ] {
        let update = CONTROLLER.report(&observed(&set, &[]), None, &outcome).unwrap();
        assert_eq!(fixture::status(&update).get("conditions"), expected.as_ref(), "{name}");
    }
}

/// As upstream's `updateReplicaSetStatus`: nothing is written if nothing differs.
#[test]
fn a_status_that_is_right_is_not_written() {
    let settled = with(
        set(1),
        json!({"status": {"replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1,
            "availableReplicas": 1, "terminatingReplicas": 0, "observedGeneration": 2}}),
    );
    let one = own_pods(1, &settled);
    let differs = |patch| with(settled.clone(), json!({"status": patch}));
    for (name, set, pods, written) in [
        ("nothing differs", settled.clone(), one.clone(), false),
        ("replicas", settled.clone(), own_pods(2, &settled), true),
        ("fullyLabeledReplicas", differs(json!({"fullyLabeledReplicas": 0})), one.clone(), true),
        ("readyReplicas", differs(json!({"readyReplicas": 0})), one.clone(), true),
        ("availableReplicas", differs(json!({"availableReplicas": 0})), one.clone(), true),
        ("terminatingReplicas", differs(json!({"terminatingReplicas": 1})), one.clone(), true),
        ("none against 0", differs(json!({"terminatingReplicas": null})), one.clone(), true),
        ("observedGeneration", differs(json!({"observedGeneration": 1})), one.clone(), true),
    ] {
        let text = reported(&set, &pods, &Outcome::default());
        assert_eq!(text != "none", written, "{name}: {text}");
    }
}

/// TestSyncReplicaSetDormancy: four syncs of a set with one pod of two, of which two write the
/// status. That the second makes no pod is the engine's doing.
#[test]
fn a_dormant_set_still_reports() {
    let with_status = |count: i32| {
        with(
            set(2),
            json!({"status": {"replicas": count, "fullyLabeledReplicas": count,
                "readyReplicas": count, "availableReplicas": count, "terminatingReplicas": 0,
                "observedGeneration": 2}}),
        )
    };
    let (right, wrong) = (with_status(1), with_status(0));
    let pods = own_pods(1, &right);
    let unsettled = Outcome { unsettled: true, ..Outcome::default() };
    let failure = json!({
        "replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "terminatingReplicas": 0, "observedGeneration": 2,
        "conditions": [{"type": "ReplicaFailure", "status": "True", "lastTransitionTime": NOW,
            "reason": "FailedCreate", "message": "fake Error"}],
    });
    for (name, set, outcome, expected) in [
        ("creates a replica and sets expectations", &right, Outcome::default(), "none".to_owned()),
        ("no replicas but an update on status", &wrong, unsettled, status([1, 1, 1, 1, 0])),
        ("the create fails", &right, failed("fake Error"), failure.to_string()),
        ("tried again", &right, Outcome::default(), "none".to_owned()),
    ] {
        assert_eq!(reported(set, &pods, &outcome), expected, "{name}");
    }
}

/// As upstream, what is adopted is counted at once; if a claim fails, the number of pods is
/// unknown.
#[test]
fn a_claim_is_reported_unless_it_fails() {
    let rs = set(2);
    let unsettled = Outcome { unsettled: true, ..Outcome::default() };
    let none = || "none".to_owned();
    let adopts = [own("pod0", &rs), orphan("pod1")];
    for (name, outcome, expected) in [
        ("adopted", Outcome::default(), status([2, 2, 2, 2, 0])),
        ("not adopted: TestPatchPodFails", failed_in(0, "fake Error"), none()),
        ("the set may be deleted", failed("can't adopt"), none()),
        ("not tried", unsettled, status([2, 2, 2, 2, 0])),
    ] {
        assert_eq!(reported(&rs, &adopts, &outcome), expected, "{name}");
    }
    // One that a webhook keeps from being released, or that cannot be written any more (422).
    let releases = [own("pod0", &rs), labelled(own("pod1", &rs), &json!({"foo": "baz"}))];
    let counted = status([1, 1, 1, 1, 0]);
    assert_eq!(reported(&rs, &releases, &Outcome::default()), counted, "released, or not");
    assert_eq!(reported(&rs, &releases, &failed_in(0, "no")), "none", "not released");
    let failed = reported(&rs, &releases, &failed_in(1, "quota"));
    assert!(failed.contains("FailedCreate"), "released, but nothing could be made: {failed}");
}

/// TestControllerUpdateStatusWithFailure: the write is tried once more on the live set, whose own
/// status and generation do not matter.
#[test]
fn the_same_status_is_written_to_a_live_set() {
    let pods = own_pods(10, &set(10));
    let update = CONTROLLER.report(&observed(&set(10), &pods), None, &Outcome::default()).unwrap();
    let controller::Verb::Update(how) = &update.verb else { panic!("{update}") };
    assert_eq!(how.retry, controller::Retry::OnceLive);
    assert_eq!(update.object.to_string(), "replicasets.apps shop/foobar");
    assert_eq!((&*update.object.uid, update.object.resource_version), ("u1", 18));
    let live = with(
        set(1),
        json!({"metadata": {"resourceVersion": "30", "generation": 7},
            "status": {"replicas": 1, "observedGeneration": 6, "later": "kept"}}),
    );
    let live = Raw::parse(live.to_string().as_bytes()).unwrap();
    let body = live.edited(&ReplicaSet::RESOURCE, update.edited().unwrap().1).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["metadata"]["resourceVersion"], "30");
    assert_eq!(body["spec"]["replicas"], 1);
    let expected = json!({
        "replicas": 10, "fullyLabeledReplicas": 10, "readyReplicas": 10, "availableReplicas": 10,
        "terminatingReplicas": 0, "observedGeneration": 2, "later": "kept",
    });
    assert_eq!(body["status"], expected);
}

// === Which keys a change enqueues ===

/// `set` with another name and selector, as the tests upstream have beside it.
fn barfoo() -> Value {
    with(
        set(1),
        json!({"metadata": {"name": "barfoo", "uid": "u2"},
            "spec": {"selector": {"matchLabels": {"foo": null, "bar": "foo"}}}}),
    )
}

fn version(object: Value, version: &str) -> Value {
    with(object, json!({"metadata": {"resourceVersion": version}}))
}

fn owners(pod: Value, owner: Option<&Value>) -> Value {
    let owners = owner.map_or(json!({"ownerReferences": null}), |set| owned_by("ReplicaSet", set));
    with(pod, json!({"metadata": owners}))
}

fn updated<T: Kind>(old: &Value, new: &Value) -> Change<T> {
    Change::Updated {
        old: decode(&version(old.clone(), "1")),
        new: decode(&version(new.clone(), "2")),
    }
}

/// TestWatchControllers, TestExpectationsOnRecreate and TestDeleteControllerAndExpectations. A set
/// that is made anew under its name comes as a deletion and an addition.
#[test]
fn sets_enqueue_themselves() {
    let fixture = caches(&[], &[]);
    for (name, change, expected) in [
        ("TestWatchControllers", Change::Added(decode::<ReplicaSet>(&set(1))), "now shop/foobar\n"),
        ("resized", updated(&set(1), &set(2)), "now shop/foobar\n"),
        ("resync", updated(&set(1), &set(1)), "now shop/foobar\n"),
        ("TestExpectationsOnRecreate", Change::Deleted(decode(&set(1))), "forget shop/foobar\n"),
    ] {
        assert_eq!(enqueued(&CONTROLLER, &change, &fixture), expected, "{name}");
    }
}

#[test]
fn new_and_deleted_pods_enqueue_their_set() {
    let rs = set(1);
    let twins: Vec<Value> = (1..10)
        .map(|n| {
            with(set(1), json!({"metadata": {"name": format!("rs{n}"), "uid": format!("t{n}")}}))
        })
        .collect();
    let fixture = caches(&[vec![rs.clone(), barfoo()], twins.clone()].concat(), &[]);
    let added = |pod: Value| Change::Added(decode::<Pod>(&pod));
    let gone = |pod: Value| Change::Deleted(decode::<Pod>(&pod));
    let patched =
        |patch: Value| with(own("a", &rs), json!({"metadata": {"ownerReferences": [patch]}}));
    let reference = |patch| with(owned_by("ReplicaSet", &rs)["ownerReferences"][0].clone(), patch);
    let mine = "now shop/foobar\n";
    for (name, change, expected) in [
        ("TestWatchPods", added(own("a", &rs)), mine),
        ("TestOverlappingRSs", added(own("a", &twins[3])), "now shop/rs4\n"),
        ("TestDeletionTimestamp: added with one", added(deleted(own("a", &rs))), mine),
        ("TestDeletionTimestamp: deleted with one", gone(deleted(own("a", &rs))), mine),
        ("TestDeleteFinalStateUnknown", gone(own("a", &rs)), mine),
        ("an orphan", added(labelled(pod("a"), &json!({"bar": "foo"}))), "now shop/barfoo\n"),
        ("an orphan that is being deleted", added(deleted(orphan("a"))), ""),
        ("an orphan that is deleted", gone(orphan("a")), ""),
        ("another uid", added(patched(reference(json!({"uid": "x"})))), ""),
        ("another name", added(patched(reference(json!({"name": "x"})))), ""),
        ("another kind", added(patched(reference(json!({"kind": "StatefulSet"})))), ""),
        (
            "another group, which upstream does not compare",
            added(patched(reference(json!({"apiVersion": "example.com/v1"})))),
            mine,
        ),
        (
            "an owner that is not the controller",
            added(with(
                patched(reference(json!({"controller": false}))),
                json!({"metadata": {"labels": {"foo": "x"}}}),
            )),
            "",
        ),
        (
            "another namespace",
            added(with(own("a", &rs), json!({"metadata": {"namespace": "x"}}))),
            "",
        ),
    ] {
        assert_eq!(enqueued(&CONTROLLER, &change, &fixture), expected, "{name}");
    }
}

/// TestPodControllerLookup.
#[test]
fn orphans_enqueue_the_sets_that_select_them() {
    let bare = with(set(1), json!({"spec": {"selector": null}}));
    let invalid = with(
        set(1),
        json!({"metadata": {"name": "invalid"},
            "spec": {"selector": {"matchLabels": {"foo": "-"}}}}),
    );
    let twin = with(set(1), json!({"metadata": {"name": "twin"}}));
    for (name, sets, pod, expected) in [
        ("pods without labels don't match any ReplicaSets", vec![set(1)], pod("a"), ""),
        ("an empty selector selects nothing", vec![bare, invalid], orphan("a"), ""),
        (
            "Matching labels, not namespace",
            vec![set(1)],
            with(orphan("a"), json!({"metadata": {"namespace": "ns"}})),
            "",
        ),
        ("Matching ns and labels", vec![set(1), barfoo()], orphan("a"), "now shop/foobar\n"),
        ("two that select it", vec![set(1), twin], orphan("a"), "now shop/foobar\nnow shop/twin\n"),
    ] {
        let change = Change::Added(decode::<Pod>(&pod));
        assert_eq!(enqueued(&CONTROLLER, &change, &caches(&sets, &[])), expected, "{name}");
    }
}

/// TestUpdatePods, TestDeletionTimestamp, and the card's "Pod update".
#[test]
fn changed_pods_enqueue_old_and_new_sets() {
    let (one, two) = (set(1), barfoo());
    let fixture = caches(&[one.clone(), two.clone()], &[]);
    let (labels1, labels2) = (json!({"foo": "bar"}), json!({"foo": null, "bar": "foo"}));
    let pod_of =
        |owner: Option<&Value>, labels: &Value| owners(labelled(orphan("a"), labels), owner);
    let (mine, other, both) =
        ("now shop/foobar\n", "now shop/barfoo\n", "now shop/foobar\nnow shop/barfoo\n");
    for (name, old, new, expected) in [
        (
            "case 1: Pod with a ControllerRef",
            pod_of(Some(&one), &labels1),
            pod_of(Some(&one), &labels2),
            mine,
        ),
        (
            "case 2: Remove ControllerRef (orphan). Expect to sync label-matching RS.",
            pod_of(Some(&two), &labels2),
            pod_of(None, &labels2),
            "now shop/barfoo\nnow shop/barfoo\n",
        ),
        (
            "case 2: Remove ControllerRef (orphan). Expect to sync both former owner and matching",
            pod_of(Some(&one), &labels2),
            pod_of(None, &labels2),
            both,
        ),
        (
            "case 4: Keep ControllerRef, change labels. Expect to sync owning RS.",
            pod_of(Some(&two), &labels1),
            pod_of(Some(&two), &labels2),
            other,
        ),
        ("another owner", pod_of(Some(&one), &labels1), pod_of(Some(&two), &labels1), both),
        ("an orphan is adopted", pod_of(None, &labels1), pod_of(Some(&one), &labels1), mine),
        ("an orphan with new labels", pod_of(None, &labels1), pod_of(None, &labels2), other),
        (
            "an orphan with the same labels",
            pod_of(None, &labels1),
            with(pod_of(None, &labels1), json!({"status": {"phase": "Failed"}})),
            "",
        ),
        (
            "TestDeletionTimestamp: marked for deletion",
            pod_of(Some(&one), &labels1),
            deleted(pod_of(Some(&one), &labels1)),
            mine,
        ),
        (
            "marked for deletion with new labels: the old owner too",
            pod_of(Some(&one), &labels1),
            deleted(pod_of(Some(&two), &labels2)),
            "now shop/barfoo\nnow shop/foobar\n",
        ),
        (
            "marked for deletion and taken from its owner: the old owner too",
            deleted(pod_of(Some(&one), &labels1)),
            deleted(pod_of(None, &labels1)),
            mine,
        ),
        ("an orphan that goes", pod_of(None, &labels1), deleted(pod_of(None, &labels2)), ""),
    ] {
        assert_eq!(
            enqueued(&CONTROLLER, &updated::<Pod>(&old, &new), &fixture),
            expected,
            "{name}"
        );
    }
    let same = decode::<Pod>(&own("a", &one));
    let resync = Change::Updated { old: Arc::clone(&same), new: same };
    assert_eq!(enqueued(&CONTROLLER, &resync, &fixture), "", "same version");
}

/// Card: "when the pod just became Ready and minReadySeconds>0".
#[test]
fn a_pod_that_becomes_ready_enqueues_its_set_again_later() {
    let slow = with(set(1), json!({"spec": {"minReadySeconds": 5}}));
    let ready = || own("a", &set(1));
    let unready = || phase(ready(), "Running");
    let now = "now shop/foobar\n";
    let later = "now shop/foobar\nafter 5s shop/foobar\n";
    for (name, set, old, new, expected) in [
        ("became ready", &slow, unready(), ready(), later),
        ("was ready", &slow, ready(), ready(), now),
        ("is not ready", &slow, ready(), unready(), now),
        ("no minReadySeconds", &set(1), unready(), ready(), now),
    ] {
        let fixture = caches(std::slice::from_ref(set), &[]);
        assert_eq!(
            enqueued(&CONTROLLER, &updated::<Pod>(&old, &new), &fixture),
            expected,
            "{name}"
        );
    }
}

// === Summary ===

#[test]
fn the_summary_says_what_counts() {
    let want = set(3);
    let summary = |set: &Value, pods: &[Value]| {
        let facts = CONTROLLER.summary(&observed(set, pods));
        let lines = facts.iter().map(|(name, value)| format!("{name}: {value}\n"));
        lines.collect::<String>()
    };
    let pods = [own("a", &want), deleted(own("b", &want)), orphan("c")];
    let text = summary(&want, &pods);
    let expected = "wanted: 3\nhave: 2\nready: 2\navailable: 2\nterminating: 1\nto adopt: 1\n\
                    to release: 0\n";
    assert!(text.starts_with(expected), "{text}");
    let leaving = summary(&deleted(want.clone()), &pods);
    assert!(leaving.contains("being deleted since: "), "{leaving}");
    let odd = summary(&with(want, json!({"spec": {"selector": {"matchLabels": null}}})), &pods);
    assert!(odd.starts_with("left alone: the selector is empty\n"), "{odd}");
}

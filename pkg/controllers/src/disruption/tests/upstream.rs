//! Numbers, as upstream's tests have them.

use super::managers::Manager;
use super::*;

fn min(amount: impl Into<Value>) -> Value {
    budget(&json!({"minAvailable": amount.into()}))
}

fn max(amount: impl Into<Value>) -> Value {
    budget(&json!({"maxUnavailable": amount.into()}))
}

/// TestNoSelector (an empty selector is for all pods), and none, which is for no pod.
#[test]
fn a_selector_may_be_empty_or_missing() {
    let all = with(min(3), json!({"spec": {"selector": {"matchLabels": null}}}));
    let mut world = World::of(all, vec![]);
    let synced = world.sync();
    assert_eq!(numbers(&synced), [0, 3, 0, 0]);
    assert_eq!(events(&synced.plan), ["Normal NoPods: No matching pods found"]);
    world.pods.push(pod("unlabelled"));
    assert_eq!(numbers(&world.sync()), [1, 3, 1, 0]);
    let nothing = with(min(0), json!({"spec": {"selector": null}}));
    assert_eq!(numbers(&World::of(nothing, vec![naked("a")]).sync()), [0, 0, 0, 0]);
}

/// TestUnavailable.
#[test]
fn an_integer_minimum_expects_the_pods_that_there_are() {
    let mut world = World::of(min(3), vec![]);
    for (count, allowed) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1)] {
        assert_eq!(numbers(&world.sync()), [count, 3, count, allowed]);
        world.pods.push(naked(&format!("yo-yo-yo-{count}")));
    }
    world.pods.pop();
    world.pods[0] = not_ready(world.pods[0].clone());
    let synced = world.sync();
    assert_eq!(numbers(&synced), [3, 3, 4, 0]);
    assert_eq!(
        synced.plan.to_string(),
        "why: 3 healthy, 3 needed, so 0 may be evicted; not ready: yo-yo-yo-0\n"
    );
    // One that terminates counts as expected, not as healthy.
    world.pods[1] = leaving(world.pods[1].clone());
    assert_eq!(numbers(&world.sync()), [2, 3, 4, 0]);
}

/// TestIntegerMaxUnavailable, TestNakedPod, TestStatusForUnmanagedPod, TestTotalUnmanagedPods.
#[test]
fn pods_that_nothing_manages_allow_no_disruption() {
    for budget in [max(1), min("28%")] {
        let mut world = World::of(budget, vec![]);
        assert_eq!(numbers(&world.sync())[3], 0);
        world.pods.push(naked("naked"));
        let synced = world.sync();
        let [current, _, expected, allowed] = numbers(&synced);
        assert_eq!((current, expected, allowed), (1, 0, 0));
        assert_eq!(
            events(&synced.plan),
            ["Warning UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: \
              &LabelSelector{MatchLabels:map[string]string{foo: bar,},\
              MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. As a \
              result, the status of the PDB cannot be calculated correctly, which may result in \
              undefined behavior. To account for these pods please set \".spec.minAvailable\" \
              field of the PDB to an integer value."]
        );
        assert_eq!(condition(&synced)["reason"], "InsufficientPods");
    }
    let selector = json!({"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [
        {"key": "k", "operator": "In", "values": ["x", "y"]}, {"key": "l", "operator": "Exists"}]});
    let odd = budget(&json!({ "selector": selector }));
    assert_eq!(
        report::selector(&fixture::decode(&odd)),
        "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,foo: bar,},MatchExpressions:\
         []LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},\
         LabelSelectorRequirement{Key:l,Operator:Exists,Values:[],},},}"
    );
}

/// TestIntegerMaxUnavailableWithScaling, TestPercentageMaxUnavailableWithScaling, TestReplicaSet.
#[test]
fn a_replica_set_is_expected_to_have_its_size() {
    for (budget, sizes) in [
        (max(2), [(7, 5), (5, 3)]),
        (max("30%"), [(7, 4), (3, 2)]),
        (min("20%"), [(10, 2), (11, 3)]),
    ] {
        let mut world = World::of(budget, vec![of_set(naked("pod"), "rs")]);
        for (replicas, desired) in sizes {
            world.sets = vec![workload("rs", replicas)];
            assert_eq!(numbers(&world.sync()), [1, desired, replicas, 0]);
        }
    }
}

/// TestMultipleControllers: both pods name the first, then the second controller.
#[test]
fn pods_may_change_hands() {
    let pods = || ["pod-0", "pod-1"].map(naked);
    let mut world = World::of(min("1%"), pods().into());
    assert_eq!(numbers(&world.sync())[3], 0);
    for name in ["rc-1", "rc-2"] {
        let uid = format!("uid-{name}");
        world.controllers.push(workload(name, 1));
        world.pods = pods().map(|pod| owned(pod, "v1", "ReplicationController", name, &uid)).into();
        assert_eq!(numbers(&world.sync()), [2, 1, 1, 1]);
    }
}

/// TestReplicationController, TestStatefulSetController: 34% of 3 are 2, rounded up.
#[test]
fn shares_are_rounded_up() {
    for (api_version, kind) in [("v1", "ReplicationController"), ("apps/v1", "StatefulSet")] {
        let mut world = World::of(min("34%"), vec![]);
        world.controllers = vec![workload("it", 3)];
        world.stateful = vec![workload("it", 3)];
        assert_eq!(numbers(&world.sync()), [0, 0, 0, 0]);
        for (count, allowed) in [(1, 0), (2, 0), (3, 1)] {
            let pod = naked(&format!("foobar-{count}"));
            world.pods.push(owned(pod, api_version, kind, "it", "uid-it"));
            assert_eq!(numbers(&world.sync()), [count, 2, 3, allowed]);
        }
        world.pods.push(naked("rogue"));
        assert_eq!(numbers(&world.sync()), [4, 2, 3, 2]);
    }
}

/// TestTwoControllers: 28% of 11 and of 22 pods, whose first five and four are not ready.
#[test]
fn sizes_of_several_workloads_add_up() {
    let mut world = World::of(min("28%"), vec![]);
    let unready = |pod: Value, is_unready| if is_unready { not_ready(pod) } else { pod };
    world.controllers = vec![workload("rc", 11)];
    for number in 1..=11 {
        let pod = unready(naked(&format!("quux-{number:02}")), number <= 6);
        world.pods.push(owned(pod, "v1", "ReplicationController", "rc", "uid-rc"));
        let ready = (number - 6).max(0);
        assert_eq!(numbers(&world.sync()), [ready, 4, 11, (ready - 4).max(0)]);
    }
    world.deployments = vec![workload("d", 11)];
    let set = owned(workload("rs", 11), "apps/v1", "Deployment", "d", "uid-d");
    world.sets = vec![set];
    assert_eq!(numbers(&world.sync()), [5, 4, 11, 1]);
    for number in 1..=11 {
        let pod = unready(naked(&format!("quuux-{number:02}")), number <= 7);
        world.pods.push(of_set(pod, "rs"));
        let ready = 5 + (number - 7).max(0);
        assert_eq!(numbers(&world.sync()), [ready, 7, 22, (ready - 7).max(0)]);
    }
    for (at, ready) in [(10, 8), (9, 7)] {
        world.pods[at] = not_ready(world.pods[at].clone());
        assert_eq!(numbers(&world.sync()), [ready, 7, 22, ready - 7]);
    }
}

/// TestPDBNotExist.
#[test]
fn a_budget_that_is_not_there_is_left_alone() {
    let world = World::of(min("67%"), vec![]);
    let key = Key::new("shop", "notExist");
    assert!(Controller.observe(&key, &world.fixture().view(), &()).is_none());
}

/// TestUpdateDisruptedPods.
#[test]
fn pods_that_are_about_to_be_evicted_do_not_count() {
    let status = json!({"disruptedPods": {
        "p1": ago(0), "p2": ago(180), "p3": ago(60), "notthere": ago(0), "odd": null}});
    let mut world = World::of(
        with(min(1), json!({ "status": status })),
        vec![leaving(naked("p1")), naked("p2"), naked("p3")],
    );
    let synced = world.sync();
    assert_eq!(numbers(&synced), [1, 1, 3, 0]);
    assert_eq!(
        synced.plan.to_string(),
        "why: 1 healthy, 1 needed, so 0 may be evicted; about to be evicted: p3\n\
         in order: event Warning NotDeleted: Pod was expected by PDB shop/shop to be deleted but \
         it wasn't\n\
         again in 60.001s\n"
    );
    assert_eq!(synced.status.unwrap()["disruptedPods"], json!({"p3": ago(60)}));
    // To the second two minutes it is healthy again, and yet not dropped.
    world.budgets[0]["status"]["disruptedPods"] = json!({"p3": ago(120)});
    let synced = world.sync();
    assert_eq!(numbers(&synced), [2, 1, 3, 1]);
    assert_eq!(synced.plan.again.unwrap().as_millis(), 1);
    world.budgets[0]["status"]["disruptedPods"] = json!({"p3": ago(121)});
    assert_eq!(world.sync().status.unwrap()["disruptedPods"], Value::Null);
}

/// TestBasicFinderFunctions, TestDeploymentFinderFunction: who manages a pod.
#[test]
fn managers_are_found_as_upstream() {
    let cached = |name: &str, size| Manager::Cached(format!("uid-{name}").as_str().into(), size);
    let deployed = |version| owned(workload("deployed", 3), version, "Deployment", "d", "uid-d");
    let world = World {
        controllers: vec![workload("rc", 1)],
        sets: vec![
            workload("rs", 2),
            deployed("apps/v1"),
            with(
                deployed("foo/v1"),
                json!({"metadata": {"name": "foreign", "uid": "uid-foreign"}}),
            ),
            owned(workload("lost", 3), "apps/v1", "Deployment", "d", "old"),
            owned(workload("rollout", 4), "argoproj.io/v1", "Rollout", "r", "uid-r"),
            owned(workload("odd", 4), "a/b/c", "Deployment", "d", "uid-d"),
        ],
        deployments: vec![workload("d", 5)],
        stateful: vec![workload("ss", 6)],
        ..World::default()
    };
    let fixture = world.fixture();
    for (api_version, kind, name, expected) in [
        ("v1", "ReplicationController", "rc", Some(cached("rc", 1))),
        ("apps/v1", "ReplicationController", "rc", None),
        ("apps/v1", "ReplicaSet", "rs", Some(cached("rs", 2))),
        ("extensions/v1beta1", "ReplicaSet", "rs", Some(cached("rs", 2))),
        ("apps/v1beta1", "ReplicaSet", "rs", Some(cached("rs", 2))),
        ("invalid/v1", "ReplicaSet", "rs", None),
        ("apps/v1", "ReplicaSet", "deployed", Some(cached("d", 5))),
        ("apps/v1", "ReplicaSet", "foreign", None),
        ("apps/v1", "ReplicaSet", "lost", None),
        ("apps/v1", "ReplicaSet", "rollout", Some(cached("rollout", 4))),
        ("apps/v1", "StatefulSet", "ss", Some(cached("ss", 6))),
        ("extensions/v1", "StatefulSet", "ss", None),
        ("apps/v1", "StatefulSet", "rs", None),
        ("apps/v1", "Deployment", "d", None),
    ] {
        let pod = owned(naked("p"), api_version, kind, name, &format!("uid-{name}"));
        let owner = fixture::decode::<Pod>(&pod).meta.owners[0].clone();
        let found = managers::find(&owner, &"shop".into(), &fixture.view());
        let expected = expected.unwrap_or(Manager::Scaled(owner));
        assert_eq!(found, expected, "{api_version} {kind} {name}");
    }
    for (api_version, name) in [("a/b/c", "rs"), ("apps/v1", "odd")] {
        let pod = owned(naked("p"), api_version, "ReplicaSet", name, &format!("uid-{name}"));
        let owner = fixture::decode::<Pod>(&pod).meta.owners[0].clone();
        let error = "unexpected GroupVersion string: a/b/c".to_owned();
        let found = managers::find(&owner, &"shop".into(), &fixture.view());
        assert_eq!(found, Manager::Invalid(error));
    }
    // Another object of this name.
    let pod = owned(naked("p"), "apps/v1", "ReplicaSet", "rs", "another");
    let owner = fixture::decode::<Pod>(&pod).meta.owners[0].clone();
    let found = managers::find(&owner, &"shop".into(), &fixture.view());
    assert_eq!(found, Manager::Scaled(owner));
}

/// TestUpdatePDBStatusRetries: what the API server took meanwhile is not overwritten.
#[test]
fn a_status_is_written_on_the_version_that_was_counted_with() {
    let world = World::of(min(1), ["moe", "larry", "curly"].map(naked).into());
    let snapshot = world.snapshot();
    let (_, verdict) = Controller.decide(&snapshot, &Facts::default());
    let write = Controller.report(&snapshot, Some(&verdict), &Outcome::default()).unwrap();
    assert_eq!((write.object.resource_version, write.subresource), (7, Some("status")));
    let controller::Verb::Update(update) = &write.verb else { panic!("another verb") };
    assert_eq!(update.retry, controller::Retry::Never);
    assert!(write.tolerates.is_empty());
}

/// TestInvalidSelectors.
#[test]
fn an_invalid_selector_allows_no_disruption() {
    for (selector, error) in [
        (
            json!({"matchLabels": {"k8s.io/too/many/slashes": "value"}}),
            "\"k8s.io/too/many/slashes\" is not a valid label key",
        ),
        (
            json!({"matchExpressions": [{"key": "foo", "operator": "illegal", "values": ["bar"]}]}),
            "\"illegal\" is not a valid label selector operator",
        ),
    ] {
        let mut world =
            World::of(budget(&json!({"minAvailable": 3, "selector": selector})), vec![]);
        let synced = world.sync();
        assert_eq!(events(&synced.plan), [format!("Warning NoPods: Failed to get pods: {error}")]);
        assert_eq!(synced.plan.error, None);
        assert_eq!(synced.status.as_ref().unwrap()["disruptionsAllowed"], 0);
        let condition = condition(&synced);
        assert_eq!(
            (&condition["reason"], &condition["message"]),
            (&"SyncFailed".into(), &error.into())
        );
        assert_eq!(world.sync().status, None, "the same is not written twice");
    }
}

/// TestKeepExistingPDBConditionDuringSync; and the condition through its states.
#[test]
fn other_conditions_stay() {
    let kept = json!({"type": "ExistingTestCondition", "status": "True", "reason": "Test",
        "message": "This is a test condition", "lastTransitionTime": ago(5), "custom": 1});
    let mut world =
        World::of(with(min(1), json!({"status": {"conditions": [kept]}})), vec![naked("a")]);
    let synced = world.sync();
    let of = |status: &str, reason: &str, since: &str| {
        json!({"type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
            "observedGeneration": 1, "lastTransitionTime": since})
    };
    let conditions = |synced: &Synced| synced.status.as_ref().unwrap()["conditions"].clone();
    assert_eq!(conditions(&synced), json!([kept, of("False", "InsufficientPods", &ago(0))]));
    assert_eq!(world.sync().status, None);
    world.budgets[0]["status"]["conditions"][1]["lastTransitionTime"] = json!(ago(9));
    world.pods.push(naked("b"));
    assert_eq!(conditions(&world.sync()), json!([kept, of("True", "SufficientPods", &ago(0))]));
    // Another generation is reported, and changes no time.
    world.budgets[0]["status"]["conditions"][1]["lastTransitionTime"] = json!(ago(9));
    world.budgets[0]["metadata"]["generation"] = json!(2);
    let again = with(of("True", "SufficientPods", &ago(9)), json!({"observedGeneration": 2}));
    assert_eq!(conditions(&world.sync()), json!([kept, again]));
}

// === Enqueues ===

#[test]
fn changes_enqueue_budgets() {
    let other = with(
        budget(&json!({"maxUnavailable": 1})),
        json!({
        "metadata": {"name": "other", "uid": "b2"}}),
    );
    let far = with(min(1), json!({"metadata": {"namespace": "far", "uid": "b3"}}));
    let baz = json!({"spec": {"selector": {"matchLabels": {"foo": "baz"}}},
        "metadata": {"name": "third", "uid": "b4"}});
    let world = World { budgets: vec![min(1), other, far, with(min(1), baz)], ..World::default() };
    let fixture = world.fixture();
    let both = "now shop/budget\nnow shop/other\n";
    let pod = |labels: Value| {
        fixture::decode::<Pod>(&with(naked("p"), json!({"metadata": {"labels": labels}})))
    };
    let [bar, third] = [pod(json!({})), pod(json!({"foo": "baz"}))];
    let enqueued = |change| fixture::enqueued(&Controller, &change, &fixture);
    assert_eq!(enqueued(Change::Added(bar.clone())), both);
    assert_eq!(enqueued(Change::Deleted(bar.clone())), both);
    assert_eq!(enqueued(Change::Updated { old: bar.clone(), new: bar.clone() }), both);
    let moved = Change::Updated { old: bar, new: third };
    assert_eq!(enqueued(moved), format!("now shop/third\n{both}"));
    let set = |replicas| fixture::decode::<ReplicaSet>(&workload("rs", replicas));
    let enqueued = |change| fixture::enqueued(&Controller, &change, &fixture);
    assert_eq!(enqueued(Change::Added(set(1))), both);
    assert_eq!(enqueued(Change::Updated { old: set(1), new: set(2) }), both);
    assert_eq!(enqueued(Change::Updated { old: set(1), new: set(1) }), "");
    assert_eq!(enqueued(Change::Deleted(set(1))), "");
    let owned = fixture::decode(&owned(workload("rs", 1), "apps/v1", "Deployment", "d", "uid-d"));
    assert_eq!(enqueued(Change::Updated { old: owned, new: set(1) }), both);
    let own = fixture::decode::<PodDisruptionBudget>(&min(1));
    let enqueued = |change| fixture::enqueued(&Controller, &change, &fixture);
    assert_eq!(enqueued(Change::Added(own.clone())), "now shop/budget\n");
    assert_eq!(enqueued(Change::Deleted(own)), "forget shop/budget\n");
}

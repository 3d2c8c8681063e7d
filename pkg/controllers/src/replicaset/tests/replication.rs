//! ReplicationControllers: rows of upstream's test/integration/replicationcontroller, and what
//! `pkg/controller/replication` converts.

use api::ReplicationController;
use controller::{Action, Query, Step};

use super::*;

/// As the registry makes it.
const RCS: Controller<ReplicationController> =
    Controller::with(Options { counts_terminating: false, ..Options::new(500) });

/// As `newRC`: `shop/rc`, which selects `name=foo`.
fn rc(replicas: i32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ReplicationController",
        "metadata": {"name": "rc", "namespace": "shop", "uid": "u1", "resourceVersion": "18",
            "generation": 2},
        "spec": {
            "replicas": replicas,
            "selector": {"name": "foo"},
            "template": {
                "metadata": {"labels": {"name": "foo"}},
                "spec": {"containers": [{"name": "fake-name", "image": "fakeimage"}]},
            },
        },
    })
}

fn free(name: &str) -> Value {
    labelled(pod(name), &json!({"name": "foo"}))
}

/// A reference to `rc`, with this as its `controller`.
fn refers(rc: &Value, controller: Option<bool>) -> Value {
    let meta = &rc["metadata"];
    json!({"apiVersion": "v1", "kind": "ReplicationController", "name": meta["name"],
        "uid": meta["uid"], "controller": controller})
}

fn owned(pod: Value, owners: &[Value]) -> Value {
    with(pod, json!({"metadata": {"ownerReferences": owners}}))
}

fn of(name: &str, rc: &Value) -> Value {
    owned(free(name), &[refers(rc, Some(true))])
}

fn holding(rcs: &[Value], pods: &[Value]) -> Fixture {
    Fixture::default().holding::<ReplicationController>(rcs).holding::<Pod>(pods)
}

fn seen(rc: &Value, pods: &[Value]) -> Snapshot {
    let fixture = holding(std::slice::from_ref(rc), pods);
    RCS.observe(&Key::new("shop", "rc"), &fixture.view(), &()).unwrap()
}

/// The plan, where the live object is as the cache shows it.
fn plan(rc: &Value, pods: &[Value]) -> Plan {
    let live = decode::<ReplicationController>(rc).0.meta.clone();
    let query = Query::object(ReplicationController::RESOURCE, live.key.clone());
    let facts = Facts::from([(query, Answer::Found(Box::new((live, Raw::default()))))]);
    RCS.decide(&seen(rc, pods), &facts).0
}

fn status(rc: &Value, pods: &[Value], outcome: &Outcome) -> Value {
    let update = RCS.report(&seen(rc, pods), None, outcome).unwrap();
    assert_eq!(update.object.resource, ReplicationController::RESOURCE);
    json!(fixture::status(&update))
}

/// The strategic patch that takes a pod.
fn adopts(pod: &str) -> String {
    format!(
        "together: patch pods shop/{pod} {{\"metadata\":{{\"uid\":\"uid-{pod}\",\
         \"ownerReferences\":[{{\"apiVersion\":\"v1\",\"kind\":\"ReplicationController\",\
         \"name\":\"rc\",\"uid\":\"u1\",\"controller\":true,\"blockOwnerDeletion\":true}}]}}}}\n"
    )
}

/// TestAdoption, all rows: references are of `v1`, and of a ReplicationController.
#[test]
fn pods_are_adopted_as_upstream() {
    let one = rc(1);
    let other = json!({"apiVersion": "v1", "kind": "ReplicationController", "name": "anotherRC",
        "uid": "1", "controller": true});
    let taken =
        format!("why: 1 to adopt, 0 to release; as many pods as asked for\n{}", adopts("pod"));
    let made = "why: 1 pods missing of 1, creating 1\nslow start: create pods in shop\n".to_owned();
    for (name, owners, expected) in [
        ("pod refers rc as an owner, not a controller", vec![refers(&one, None)], taken.clone()),
        ("pod doesn't have owner references", vec![], taken),
        ("pod refers rc as a controller", vec![refers(&one, Some(true))], KEEP.to_owned()),
        (
            "pod refers other rc as the controller, refers the rc as an owner",
            vec![other, refers(&one, None)],
            made,
        ),
    ] {
        assert_eq!(plan(&one, &[owned(free("pod"), &owners)]).to_string(), expected, "{name}");
    }
}

#[test]
fn pods_are_counted_made_and_deleted_as_upstream() {
    let (one, two) = (rc(1), rc(2));
    let other = with(one.clone(), json!({"metadata": {"name": "rc-2", "uid": "u2"}}));
    let aged = |name, seconds| {
        with(of(name, &one), json!({"metadata": {"creationTimestamp": ago(seconds)}}))
    };
    let unready = |name| with(aged(name, 60), json!({"status": {"conditions": null}}));
    let missing = |count, of| {
        format!("why: {count} pods missing of {of}, creating {count}\n{}", creates(count))
    };
    let surplus = |name| format!("why: 1 pods more than 1, deleting 1\n{}", deletes(&[name]));
    let release = "together: patch pods shop/b {\"metadata\":{\"uid\":\"uid-b\",\
        \"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"u1\"}]}}\n";
    for (name, rc, pods, expected) in [
        ("TestSpecReplicasChange: up", &rc(3), vec![of("a", &one)], missing(2, 3)),
        (
            "TestSpecReplicasChange: down to 0",
            &rc(0),
            vec![of("a", &one)],
            format!("why: 1 pods more than 0, deleting 1\n{}", deletes(&["a"])),
        ),
        ("TestLogarithmicScaleDown", &one, vec![aged("a", 5), unready("b")], surplus("b")),
        (
            "TestDeletingAndFailedPods",
            &two,
            vec![deleted(of("a", &two)), phase(of("b", &two), "Failed")],
            missing(2, 2),
        ),
        ("TestOverlappingRCs", &one, vec![of("a", &one), of("b", &other)], KEEP.to_owned()),
        (
            "TestPodOrphaningAndAdoptionWhenLabelsChange: released, and replaced",
            &two,
            vec![of("a", &two), labelled(of("b", &two), &json!({"name": "no"}))],
            format!(
                "why: 0 to adopt, 1 to release; 1 pods missing of 2, creating 1\n{release}{}",
                creates(1)
            ),
        ),
        (
            "TestExtraPodsAdoptionAndDeletion",
            &one,
            vec![of("a", &one), free("b")],
            format!(
                "why: 1 to adopt, 0 to release; 1 pods more than 1, deleting 1\n{}{}",
                adopts("b"),
                deletes(&["a"])
            ),
        ),
        (
            "being deleted",
            &deleted(two.clone()),
            vec![free("a")],
            "why: the set is being deleted\n".to_owned(),
        ),
    ] {
        assert_eq!(plan(rc, &pods).to_string(), expected, "{name}");
    }
}

/// As `resolveControllerRef`, which compares the kind, and not the version or the group.
#[test]
fn references_are_distinguished_by_their_kind() {
    let one = rc(1);
    let refers_as = |change| [with(refers(&one, Some(true)), change)];
    let replaced = "why: 1 pods missing of 1, creating 1\nslow start: create pods in shop\n";
    for (change, expected) in
        [(json!({"kind": "ReplicaSet"}), replaced), (json!({"apiVersion": "x/v9"}), KEEP)]
    {
        let pod = owned(free("a"), &refers_as(change.clone()));
        assert_eq!(plan(&one, &[pod]).to_string(), expected, "{change}");
    }
}

/// `podControlAdapter`: pods belong to the ReplicationController, and Events are about it.
#[test]
fn pods_are_made_in_its_name() {
    let plan = plan(&rc(1), &[]);
    let [Step::SlowStart(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let [Action::Write(create)] = actions.as_slice() else { panic!("{plan}") };
    assert!(create.created().is_some());
    let body = fixture::body(create);
    let owner = with(refers(&rc(1), Some(true)), json!({"blockOwnerDeletion": true}));
    assert_eq!(body["metadata"]["ownerReferences"], json!([owner]));
    assert_eq!(body["metadata"]["generateName"], "rc-");
    assert_eq!(body["metadata"]["labels"], json!({"name": "foo"}));
    let about = &create.announce.first().unwrap().about;
    assert_eq!((&about.resource, &*about.uid), (&ReplicationController::RESOURCE, "u1"));
}

/// The live look before an adoption is at the ReplicationController.
#[test]
fn it_is_read_live_before_it_takes_pods() {
    let plan = RCS.decide(&seen(&rc(1), &[free("pod")]), &Facts::default()).0;
    let expected = "why: orphans match; is the owner still there?\n\
        fetch replicationcontrollers shop/rc\n";
    assert_eq!(plan.to_string(), expected);
}

/// TestReadyAndAvailableReplicas and TestFullyLabeledReplicas. The kind has no field for pods that
/// are being deleted.
#[test]
fn the_status_is_upstreams() {
    let template = json!({"metadata": {"labels": {"more": "x"}}});
    let slow = with(rc(3), json!({"spec": {"minReadySeconds": 3600, "template": template}}));
    let ready_for = |name, seconds| {
        with(of(name, &slow), json!({"status": {"conditions": [ready(&ago(seconds))]}}))
    };
    let pods = [
        ready_for("a", 7200),
        labelled(ready_for("b", 0), &json!({"name": "foo", "more": "x"})),
        phase(of("c", &slow), "Pending"),
        deleted(of("d", &slow)),
    ];
    let expected = json!({"replicas": 3, "fullyLabeledReplicas": 1, "readyReplicas": 2,
        "availableReplicas": 1, "terminatingReplicas": null, "observedGeneration": 2});
    assert_eq!(status(&slow, &pods, &Outcome::default()), expected);
    assert_eq!(plan(&slow, &pods).again, Some(Duration::from_hours(1)));
    let right = with(
        slow,
        json!({"status": {"replicas": 3, "fullyLabeledReplicas": 1, "readyReplicas": 2,
            "availableReplicas": 1, "observedGeneration": 2}}),
    );
    assert!(RCS.report(&seen(&right, &pods), None, &Outcome::default()).is_none());
}

/// TestSetCondition and TestRemoveCondition, as the controller comes to them; e2e: should surface a
/// failure condition on a common issue like exceeded quota.
#[test]
fn a_failure_shows_in_a_condition_and_goes() {
    let failed = status(&rc(2), &[], &failed_in(0, "exceeded quota"));
    let condition = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
        "message": "exceeded quota", "lastTransitionTime": NOW}]);
    assert_eq!(failed["conditions"], condition);
    let known = with(rc(2), json!({"status": {"conditions": condition}}));
    let pods = [of("a", &known), of("b", &known)];
    assert_eq!(status(&known, &pods, &Outcome::default())["conditions"], Value::Null);
}

#[test]
fn one_that_cannot_be_understood_is_left_alone() {
    for (selector, why) in [
        (Value::Null, "the selector is empty"),
        (json!({"name": null}), "the selector is empty"),
        (
            json!({"name": "no value!"}),
            "the selector is invalid: key \"name\": \"no value!\" is not a valid label value",
        ),
    ] {
        let odd = with(rc(2), json!({"spec": {"selector": selector}}));
        let pods = [of("a", &odd), free("b")];
        assert_eq!(plan(&odd, &pods).to_string(), format!("why: {why}\n"));
        assert!(RCS.report(&seen(&odd, &pods), None, &Outcome::default()).is_none(), "{why}");
    }
    let bare = with(rc(2), json!({"spec": {"template": null}}));
    let error = "why: 2 pods missing of 2, creating 2\nerror: unable to create pods, no labels\n";
    assert_eq!(plan(&bare, &[]).to_string(), error, "card: a nil template");
    let error = "spec.selector: no";
    let fixture = holding(&[], &[]).holding_unreadable::<ReplicationController>(&rc(2), error);
    let snapshot = RCS.observe(&Key::new("shop", "rc"), &fixture.view(), &()).unwrap();
    let plan = RCS.decide(&snapshot, &Facts::default()).0.to_string();
    assert_eq!(plan, format!("why: the set cannot be read: {error}\n"));
}

/// `getReplicaSetsWithSameController`, whose index holds no ReplicationController: also for those
/// that something manages, such as an OpenShift DeploymentConfig, no node counts as crowded, and
/// the pod that is ready for the shortest time is deleted.
#[test]
fn no_pods_are_related_whatever_manages_it() {
    let managed = |rc: Value, name: &str, foo: &str, by: Option<&str>| {
        let owners: Vec<_> = by.iter().map(|uid| json!({"uid": uid, "controller": true})).collect();
        let meta = json!({"name": name, "uid": name, "ownerReferences": owners});
        with(rc, json!({"metadata": meta, "spec": {"selector": {"name": foo}}}))
    };
    let on = |pod: Value, node: &str| with(pod, json!({"spec": {"nodeName": node}}));
    let sibling = managed(rc(1), "old", "bar", Some("dc"));
    let crowd = on(labelled(pod("crowd"), &json!({"name": "bar"})), "crowded");
    for by in [Some("dc"), Some("other"), None] {
        let own = managed(rc(1), "rc", "foo", by);
        let young = json!({"status": {"conditions": [ready(&ago(5))]}});
        let young = on(with(of("b", &own), young), "free");
        let pods = [on(of("a", &own), "crowded"), young, crowd.clone()];
        let fixture = holding(&[own, sibling.clone()], &pods);
        let snapshot = RCS.observe(&Key::new("shop", "rc"), &fixture.view(), &()).unwrap();
        let plan = RCS.decide(&snapshot, &Facts::default()).0.to_string();
        let expected = format!("why: 1 pods more than 1, deleting 1\n{}", deletes(&["b"]));
        assert_eq!(plan, expected, "{by:?}");
    }
}

/// Pods enqueue their ReplicationController, orphans those that select them, and pods of a
/// ReplicaSet nothing.
#[test]
fn pods_enqueue_their_own_kind() {
    let wide = with(rc(1), json!({"metadata": {"name": "wide"}, "spec": {"selector": {"a": "b"}}}));
    let fixture = holding(&[rc(1), wide], &[]).holding::<ReplicaSet>(&[set(1)]);
    let enqueues = |change: &Change<Pod>| enqueued(&RCS, change, &fixture);
    let added = |pod: &Value| enqueues(&Change::Added(decode(pod)));
    assert_eq!(added(&of("a", &rc(1))), "now shop/rc\n");
    assert_eq!(added(&free("a")), "now shop/rc\n");
    assert_eq!(added(&labelled(free("a"), &json!({"a": "b"}))), "now shop/rc\nnow shop/wide\n");
    assert_eq!(added(&own("a", &set(1))), "", "a ReplicaSet's");
    assert_eq!(enqueues(&Change::Deleted(decode(&of("a", &rc(1))))), "now shop/rc\n");
    let replaced = with(rc(1), json!({"metadata": {"uid": "u9"}}));
    assert_eq!(added(&of("a", &replaced)), "", "of one before it");
    let own = Change::Added(decode::<ReplicationController>(&rc(1)));
    assert_eq!(enqueued(&RCS, &own, &fixture), "now shop/rc\n");
    let gone = Change::Deleted(decode::<ReplicationController>(&rc(1)));
    assert_eq!(enqueued(&RCS, &gone, &fixture), "forget shop/rc\n");
}

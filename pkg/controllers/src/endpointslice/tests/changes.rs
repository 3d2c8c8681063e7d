//! Which slices are made, changed and deleted, and what stands in them.

#![expect(clippy::single_range_in_vec_init, reason = "slices hold ranges of pods, here one")]

use std::time::Duration;

use api::{EndpointSlice, Key, Node, Service};
use controller::fixture::{NOW, ago, decode, enqueued, lines, pod, ready, remembered, with};
use controller::{Change, Controller as _, Ended, Step};
use serde_json::{Value, json};

use super::world::{MANAGED_BY, MANAGER, NAME, TRIGGER, World, address, node, numbered};
use crate::endpointslice::{Controller, Hinted};

fn unready(pod: Value) -> Value {
    with(pod, json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}))
}

/// TestReconcileEmpty, TestReconcile1EndpointSlice: a Service without pods has one empty slice for
/// each family, which stays.
#[test]
fn a_service_without_pods_has_an_empty_slice() {
    for (families, count) in
        [(json!(["IPv4"]), 1), (json!(["IPv6"]), 1), (json!(["IPv4", "IPv6"]), 2)]
    {
        let mut world = World::new(json!({ "ipFamilies": families }));
        assert_eq!(world.sync().writes, [count, 0, 0], "{families}");
        for slice in &world.slices {
            assert_eq!((&slice["endpoints"], &slice["ports"]), (&json!([]), &json!([])));
            assert_eq!(slice["metadata"]["labels"], json!({NAME: "foo", MANAGED_BY: MANAGER}));
            let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": "foo", "uid": "s",
                "controller": true, "blockOwnerDeletion": true}]);
            assert_eq!(slice["metadata"]["ownerReferences"], owner);
            assert_eq!(slice["metadata"]["generateName"], "foo-");
            assert_eq!(slice["metadata"]["annotations"], json!({ TRIGGER: ago(100) }));
        }
        world.rests("empty");
    }
}

/// TestReconcile1Pod and TestSyncService: one endpoint, by what the Service and the pod say.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn endpoints_are_made_as_upstream() {
    let both = json!({"status": {"podIPs": [{"ip": address(0)}, {"ip": "FD00::0001"}]}});
    let ready = json!({"ready": true, "serving": true, "terminating": false});
    let conditions = |ready, serving, terminating| -> Value {
        json!({"ready": ready, "serving": serving, "terminating": terminating})
    };
    let deleted = json!({"metadata": {"deletionTimestamp": NOW}});
    let v4 = || vec![json!(address(0))];
    for (name, spec, pod, addresses, expected) in [
        ("ready", json!({}), numbered(0), v4(), ready.clone()),
        ("v4 of both", json!({}), with(numbered(0), both.clone()), v4(), ready.clone()),
        (
            "v6 of both",
            json!({"ipFamilies": ["IPv6"]}),
            with(numbered(0), both.clone()),
            vec![json!("fd00::1")],
            ready.clone(),
        ),
        (
            "both of both",
            json!({"ipFamilies": ["IPv6", "IPv4"]}),
            with(numbered(0), both.clone()),
            vec![json!(address(0)), json!("fd00::1")],
            ready.clone(),
        ),
        (
            "no families, headless: both",
            json!({"ipFamilies": null, "clusterIP": "None"}),
            with(numbered(0), both),
            vec![json!(address(0)), json!("fd00::1")],
            ready,
        ),
        ("not ready", json!({}), unready(numbered(0)), v4(), conditions(false, false, false)),
        (
            "terminating",
            json!({}),
            with(numbered(0), deleted.clone()),
            v4(),
            conditions(false, true, true),
        ),
        (
            "terminating and not ready",
            json!({}),
            unready(with(numbered(0), deleted.clone())),
            v4(),
            conditions(false, false, true),
        ),
        (
            "publishNotReadyAddresses, terminating and not ready",
            json!({"publishNotReadyAddresses": true}),
            unready(with(numbered(0), deleted)),
            v4(),
            conditions(true, false, true),
        ),
    ] {
        let mut world = World::new(spec);
        world.pods = vec![pod];
        world.sync();
        let endpoints = world.endpoints();
        let mut found: Vec<_> = endpoints.iter().map(|it| it["addresses"][0].clone()).collect();
        found.sort_by_key(ToString::to_string);
        assert_eq!(found, addresses, "{name}");
        for endpoint in endpoints {
            assert_eq!(endpoint["conditions"], expected, "{name}");
            assert_eq!(
                (&endpoint["nodeName"], &endpoint["zone"]),
                (&json!("node-1"), &json!("zone-a"))
            );
            let target = json!({"kind": "Pod", "namespace": "shop", "name": "pod0000",
                "uid": "uid-pod0000"});
            assert_eq!(endpoint["targetRef"], target, "{name}");
        }
        world.rests(name);
    }
    for (name, change) in [
        ("ended", json!({"status": {"phase": "Succeeded"}})),
        ("failed", json!({"status": {"phase": "Failed"}})),
        ("no address", json!({"status": {"podIPs": null}})),
        ("no such address", json!({"status": {"podIPs": [{"ip": "::1"}]}})),
    ] {
        let mut world = World::new(json!({}));
        world.pods = vec![with(numbered(0), change)];
        world.sync();
        assert_eq!(world.sizes(), [0], "{name}");
        world.rests(name);
    }
}

/// TestPodToEndpoint, rows about hostnames.
#[test]
fn names_of_pods_are_told() {
    let mut world = World::new(json!({}));
    let host = json!({"spec": {"hostname": "h", "subdomain": "foo"}});
    world.pods = vec![with(numbered(0), host)];
    world.sync();
    assert_eq!(world.endpoints()[0]["hostname"], "h");
}

/// Services that are somebody else's (TestSyncServiceNoSelector, TestServiceExternalNameTypeSync).
#[test]
fn some_services_are_left_alone() {
    for (spec, expected) in [
        (
            json!({"selector": null}),
            "why: a Service without a selector has the slices that somebody makes\n",
        ),
        (json!({"type": "ExternalName"}), "why: a Service of type ExternalName gets no slices\n"),
    ] {
        let mut world = World::new(spec);
        world.pods = vec![numbered(0)];
        assert_eq!(world.decide().1.to_string(), expected);
    }
}

/// TestReconcileManyPods, ..SomePreexisting, ..SomePreexistingWorseAllocation, ..Updating,
/// ..Recycling, ..UpdatePacking, TestReconcileMaxEndpointsPerSlice: how many slices are made,
/// changed and deleted, and how full they are then.
#[test]
fn endpoints_are_packed_as_upstream() {
    let many = |count, max, existing: &[std::ops::Range<usize>]| {
        let mut world = World::of(count).holding(existing);
        world.controller.slice_max = max;
        world
    };
    for (name, mut world, writes, sizes) in [
        ("ManyPods", many(250, 100, &[]), [3, 0, 0], vec![100, 100, 50]),
        ("SomePreexisting", many(250, 100, &[0..62, 62..123]), [1, 1, 0], vec![100, 89, 61]),
        ("MaxEndpointsPerSlice", many(250, 500, &[]), [1, 0, 0], vec![250]),
        ("of 200", many(250, 200, &[]), [2, 0, 0], vec![200, 50]),
        ("of 83", many(250, 83, &[]), [4, 0, 0], vec![83, 83, 83, 1]),
        ("all there", many(250, 100, &[0..83, 83..166, 166..250]), [0, 0, 0], vec![84, 83, 83]),
        ("one more, into the fullest", many(101, 100, &[0..20, 20..100]), [0, 1, 0], vec![81, 20]),
        ("one more, none has room", many(101, 50, &[0..50, 50..100]), [1, 0, 0], vec![50, 50, 1]),
        ("as many as a slice holds", many(120, 100, &[0..20]), [1, 0, 0], vec![100, 20]),
    ] {
        let synced = world.sync();
        assert_eq!((synced.writes, world.sizes()), (writes, sizes), "{name}");
        world.rests(name);
    }
}

/// TestReconcileEndpointSlicesUpdatePacking: what is new goes into the fullest of those that are
/// written anyway.
#[test]
fn the_fullest_are_filled_first() {
    let mut world = World::of(100).holding(&[0..80, 80..100]);
    for id in (0..100).step_by(10) {
        world.pods[id] = unready(numbered(id));
    }
    world.pods.extend((200..215).map(numbered));
    assert_eq!(world.sync().writes, [0, 2, 0]);
    assert_eq!(world.sizes(), [95, 20]);
    world.rests("packed");
}

/// TestReconcileEndpointSlicesUpdating, ..ServicesLabelsUpdating, ..ServicesReservedLabels.
#[test]
fn labels_follow_the_service() {
    let mut world = World::of(250);
    world.sync();
    let set = |world: &mut World, labels: Value| {
        world.service = with(world.service.clone(), json!({"metadata": {"labels": labels}}));
    };
    set(&mut world, json!({"foo": "bar"}));
    assert_eq!(world.sync().writes, [0, 3, 0]);
    let expected = json!({"foo": "bar", NAME: "foo", MANAGED_BY: MANAGER});
    assert!(world.slices.iter().all(|slice| slice["metadata"]["labels"] == expected));
    world.rests("labels");
    let headless = "service.kubernetes.io/headless";
    set(&mut world, json!({headless: "x", NAME: "y", MANAGED_BY: "z"}));
    world.rests("reserved labels");
    world.service["spec"]["clusterIP"] = json!("None");
    world.rests("headless alone");
    set(&mut world, json!({"foo": null}));
    world.sync();
    assert_eq!(world.slices[0]["metadata"]["labels"][headless], "");
}

/// TestReconcileEndpointSlicesRecycling: rather than to be deleted a slice becomes another one.
#[test]
fn slices_are_recycled() {
    let mut world = World::of(300).holding(&[0..100, 100..200, 200..300]);
    world.service["spec"]["ports"][0]["targetPort"] = json!(8080);
    let finalizers =
        json!({"metadata": {"finalizers": ["example.com/f"], "annotations": {"a": "b"}}});
    world.slices[0] = with(world.slices[0].clone(), finalizers);
    assert_eq!(world.sync().writes, [0, 3, 0]);
    assert_eq!(world.sizes(), [100, 100, 100]);
    for slice in &world.slices {
        assert_eq!(slice["ports"][0]["port"], 8080);
        assert_eq!(slice["metadata"]["annotations"]["a"], Value::Null);
    }
    let kept = |slice: &Value| slice["metadata"]["finalizers"] == json!(["example.com/f"]);
    assert!(world.slices.iter().any(kept));
    world.rests("recycled");
    // Back to none: the last one is emptied, the others go.
    world.pods.clear();
    assert_eq!(world.sync().writes, [0, 1, 2]);
    assert_eq!((world.sizes(), &world.slices[0]["ports"]), (vec![0], &json!([])));
    world.rests("emptied");
}

/// TestReconcileEndpointSlicesReplaceDeprecated, TestReconcileEndpointSlicesRecreation: slices of
/// another family or owner are deleted.
#[test]
fn slices_of_others_are_replaced() {
    let other_family = |slice: &mut Value| slice["addressType"] = json!("FQDN");
    let other_owner = |slice: &mut Value| {
        slice["metadata"]["ownerReferences"][0]["uid"] = json!("other");
    };
    let two_owners = |slice: &mut Value| {
        let owners = slice["metadata"]["ownerReferences"].as_array_mut().unwrap();
        owners.insert(0, json!({"apiVersion": "v1", "kind": "Service", "name": "x", "uid": "x"}));
    };
    #[expect(clippy::type_complexity, reason = "a row of a table")]
    let change: [(&str, fn(&mut Value), _); 3] = [
        ("of another family", other_family, [1, 0, 1]),
        ("of an earlier Service", other_owner, [1, 0, 1]),
        ("of two owners", two_owners, [0, 0, 0]),
    ];
    for (name, change, writes) in change {
        for count in [0, 3] {
            let mut world = World::of(count).holding(&[0..count]);
            change(&mut world.slices[0]);
            assert_eq!(world.sync().writes, writes, "{name}, {count} pods");
            assert_eq!(world.sizes(), [count], "{name}");
            world.rests(name);
        }
    }
}

/// Card: a Service that becomes one of a single family.
#[test]
fn slices_of_a_family_that_is_gone_are_deleted() {
    let mut world = World::new(json!({"ipFamilies": ["IPv4", "IPv6"]}));
    world.pods = vec![numbered(0)];
    world.sync();
    world.service["spec"]["ipFamilies"] = json!(["IPv4"]);
    assert_eq!(world.sync().writes, [0, 0, 1]);
    world.rests("one family");
}

/// TestReconcileEndpointSlicesNamedPorts: pods with other ports stand in other slices.
#[test]
fn pods_with_other_ports_stand_in_other_slices() {
    let ports = json!([{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "p"}]);
    let mut world = World::new(json!({ "ports": ports }));
    for id in 0..300 {
        let port = json!({"name": "p", "containerPort": 8080 + id % 3, "protocol": "TCP"});
        let spec = json!({"spec": {"containers": [{ "ports": [port] }]}});
        world.pods.push(with(numbered(id), spec));
    }
    assert_eq!(world.sync().writes, [3, 0, 0]);
    assert_eq!(world.sizes(), [100, 100, 100]);
    world.rests("named ports");
    // One that has no such port: it has no ports at all, as upstream.
    world.pods[0] = with(numbered(0), json!({"spec": {"containers": []}}));
    assert_eq!(world.sync().writes, [1, 1, 0]);
    assert_eq!(world.sizes(), [100, 100, 99, 1]);
    world.rests("a pod without the port");
}

/// TestReconcileHeadlessServiceNoPorts.
#[test]
fn a_headless_service_may_have_no_ports() {
    let mut world = World::new(json!({"clusterIP": "None", "ports": null}));
    world.pods = vec![numbered(0)];
    world.sync();
    assert_eq!(world.slices[0]["ports"], json!([]));
    assert_eq!(world.slices[0]["metadata"]["labels"]["service.kubernetes.io/headless"], "");
    assert_eq!(world.sizes(), [1]);
    world.pods.clear();
    world.sync();
    world.rests("emptied");
}

/// TestReconcilerPodMissingNode: the pod is left out and told of, all others are written.
#[test]
fn a_node_that_is_not_known_leaves_a_pod_out() {
    let missing = "skipping Pod pod0001 for Service shop/foo: Node node-2 Not Found";
    let event = format!(
        "FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service shop/foo: \
         {missing}"
    );
    let elsewhere = |id| with(numbered(id), json!({"spec": {"nodeName": "node-2"}}));
    let mut world = World::of(3);
    world.pods[1] = elsewhere(1);
    let synced = world.sync();
    assert_eq!((synced.writes, world.sizes()), ([1, 0, 0], vec![2]));
    assert_eq!(synced.plan.error.as_deref(), Some(missing));
    assert_eq!(synced.events, [event]);
    assert!(synced.plan.why.starts_with(missing));
    world.pods[0] = elsewhere(0);
    let error = world.sync().plan.error.unwrap();
    assert_eq!(error.matches("Not Found").count(), 2);
    assert!(error.starts_with("[skipping Pod pod0000 "), "{error}");
    // Whoever publishes all does not care.
    let mut world = World::new(json!({"publishNotReadyAddresses": true}));
    world.pods = vec![elsewhere(1)];
    let synced = world.sync();
    assert_eq!((world.sizes(), synced.plan.error), (vec![1], None));
    assert_eq!(world.endpoints()[0].get("zone"), None);
    // The last pod of a slice: the slice becomes the empty one.
    let mut world = World::of(1);
    world.sync();
    world.nodes.clear();
    assert_eq!(world.sync().writes, [0, 1, 0]);
    assert_eq!(world.sizes(), [0]);
}

/// TestReconcilerFinalizeSvcDeletionTimestamp: nothing is made for a Service that is being deleted.
#[test]
fn a_dying_service_gets_no_new_slices() {
    let mut world = World::of(250).holding(&[0..100]);
    world.service = with(world.service.clone(), json!({"metadata": {"deletionTimestamp": NOW}}));
    world.pods[0] = unready(numbered(0));
    assert_eq!(world.sync().writes, [0, 1, 0]);
}

/// The trigger, as upstream's TestSyncServiceEndpointSliceSelection.. and the card: each slice that
/// is written has it or loses it.
#[test]
fn the_trigger_is_told() {
    let since = |seconds| json!({"status": {"conditions": [ready(&ago(seconds))]}});
    let mut world = World::of(1);
    world.pods[0] = with(numbered(0), since(50));
    world.sync();
    assert_eq!(world.slices[0]["metadata"]["annotations"], json!({ TRIGGER: ago(100) }));
    world.slices[0]["metadata"]["annotations"]["other"] = json!("x");
    world.pods.push(with(numbered(1), since(20)));
    world.sync();
    let expected = json!({TRIGGER: ago(20), "other": "x"});
    assert_eq!(world.slices[0]["metadata"]["annotations"], expected);
    world.service["metadata"]["labels"] = json!({"a": "b"});
    world.sync();
    assert_eq!(world.slices[0]["metadata"]["annotations"], json!({"other": "x"}));
}

/// What is read only in part is left alone, and so are slices of others.
#[test]
fn what_cannot_be_read_is_left_alone() {
    let mut world = World::of(1);
    world.sync();
    let fixture =
        world.fixture().holding_unreadable::<EndpointSlice>(&world.slices[0], "ports: no");
    let key = Key::new("shop", "foo");
    let snapshot = world.controller.observe(&key, &fixture.view(), &world.memory.read()).unwrap();
    let plan = world.controller.decide(&snapshot, &controller::Facts::default()).0.to_string();
    assert!(plan.contains("error: cannot read endpointslice shop/foo-1: ports: no"), "{plan}");
    world.slices[0]["metadata"]["labels"][MANAGED_BY] = json!("me");
    assert_eq!(world.sync().writes, [1, 0, 0], "of somebody else");
    world.slices[1]["metadata"]["deletionTimestamp"] = json!(NOW);
    assert_eq!(world.sync().writes, [1, 0, 0], "being deleted");
}

/// Card, Events: slices that are ours, or were, or change hands; not those of others.
#[test]
fn slices_enqueue_as_upstream() {
    let mut world = World::of(1);
    world.sync();
    let ours = decode::<EndpointSlice>(&world.slices[0]);
    let with_label = |key: &str, value: &str| {
        let labels = json!({"metadata": {"resourceVersion": "2", "labels": {key: value}}});
        decode::<EndpointSlice>(&with(world.slices[0].clone(), labels))
    };
    let (theirs, moved) = (with_label(MANAGED_BY, "me"), with_label(NAME, "bar"));
    let again = with_label("a", "b");
    let heard = |change| enqueued(&world.controller, &change, &world.fixture());
    let foo = "after 1s shop/foo\n";
    let updated = |old: &std::sync::Arc<EndpointSlice>, new: &std::sync::Arc<EndpointSlice>| {
        Change::Updated { old: old.clone(), new: new.clone() }
    };
    assert_eq!(heard(Change::Added(ours.clone())), foo);
    assert_eq!(heard(Change::Deleted(ours.clone())), foo);
    assert_eq!(heard(Change::Added(theirs.clone())), "");
    assert_eq!(heard(updated(&ours, &again)), foo);
    assert_eq!(heard(updated(&ours, &ours)), "", "a resync");
    assert_eq!(heard(updated(&ours, &theirs)), foo);
    assert_eq!(heard(updated(&theirs, &ours)), foo);
    assert_eq!(heard(updated(&ours, &moved)), "after 1s shop/bar\nafter 1s shop/foo\n");
    let slow = Controller { batch_period: Duration::from_secs(3), slice_max: 100 };
    assert_eq!(enqueued(&slow, &Change::Added(ours), &world.fixture()), "after 3s shop/foo\n");
    let service = decode::<Service>(&world.service);
    let gone = enqueued(&slow, &Change::Deleted(service), &world.fixture());
    assert_eq!(gone, "forget shop/foo\n");
}

/// Card, Events: nodes that come, go, change their zone or readiness, if there are hints.
#[test]
fn nodes_enqueue_the_zones() {
    let world = World::of(1);
    let it = decode::<Node>(&node("a", "zone-a"));
    let elsewhere = decode::<Node>(&node("a", "zone-b"));
    let fixture = world.fixture();
    let heard = |change| lines(&remembered(&world.controller, &world.memory, &change, &fixture));
    assert_eq!(heard(Change::Added(it.clone())), "", "there are no hints");
    let mut hinted = Hinted::default();
    hinted.forget(api::Family::V4);
    world.memory.write().hinted.insert(Key::new("shop", "foo"), hinted.into());
    assert_eq!(heard(Change::Added(it.clone())), "now zones\n");
    assert_eq!(heard(Change::Deleted(it.clone())), "now zones\n");
    assert_eq!(heard(Change::Updated { old: it.clone(), new: elsewhere }), "now zones\n");
    assert_eq!(heard(Change::Updated { old: it.clone(), new: it }), "");
}

/// metrics.go: what is counted, and the gauges.
#[test]
fn syncs_are_counted_as_upstream() {
    let mut world = World::of(250).holding(&[0..100]);
    world.pods[0] = with(pod("x"), json!({"metadata": {"labels": {"foo": "bar"}}}));
    let synced = world.sync();
    let counts = synced.plan.counts.iter().map(|count| {
        let name = count.family.name.strip_prefix("endpoint_slice_controller_").unwrap();
        format!("{name} {:?} {:?}", count.value, count.labels)
    });
    let expected = [
        "endpoints_added_per_sync Of(150.0) []",
        "endpoints_removed_per_sync Of(1.0) []",
        "endpointslices_changed_per_sync Of(3.0) [\"Disabled\", \"\"]",
    ];
    assert_eq!(counts.collect::<Vec<_>>(), expected);
    let Some(Step::Chains(chains)) = synced.plan.steps.first() else { panic!("{}", synced.plan) };
    let operations =
        chains[0].iter().map(|action| action.write().unwrap().counts[0].labels.clone());
    assert_eq!(operations.collect::<Vec<_>>().concat(), ["create", "create", "update"]);
    let gauges = world.controller.gauges(&world.fixture().view(), &world.memory.read());
    let gauges = gauges.iter().map(|gauge| format!("{} {:?}", gauge.family.name, gauge.value));
    let expected = [
        "endpoint_slice_controller_endpoints_desired Of(249.0)",
        "endpoint_slice_controller_num_endpoint_slices Of(3.0)",
        "endpoint_slice_controller_desired_endpoint_slices Of(3.0)",
    ];
    assert_eq!(gauges.take(3).collect::<Vec<_>>(), expected);
    let ended = |unsettled, error: Option<&str>| {
        let (took, error) = (Duration::ZERO, error.map(str::to_owned));
        let ended = Ended { took, unsettled, error, code: None };
        world.controller.counts(None, None, &ended)[0].labels.clone()
    };
    assert_eq!(ended(false, None), ["success"]);
    assert_eq!(ended(true, None), ["stale"]);
    assert_eq!(ended(false, Some("no")), ["error"]);
}

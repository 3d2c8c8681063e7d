//! Tables, mirroring upstream's `controller_test.go`.

mod nodes;
mod world;

use std::time::Duration;

use api::Ingress;
use cloud::Failure;
use controller::fixture::{Fixture, decode, enqueued, with};
use serde_json::{Value, json};

use super::*;
use world::{World, deleted, held, it, service};

fn cluster_ip() -> Value {
    with(service(), json!({"spec": {"type": "ClusterIP"}}))
}

fn located(service: Value) -> Value {
    with(service, json!({"status": {"loadBalancer": {"ingress": [{"ip": "8.8.8.8"}]}}}))
}

const ADDS: &str = "patch services shop/web status {\"metadata\":{\"finalizers\":\
                    [\"service.kubernetes.io/load-balancer-cleanup\"],\"uid\":\"u1\"}}";
const REMOVES: &str = "patch services shop/web status {\"metadata\":{\
                       \"$deleteFromPrimitiveList/finalizers\":\
                       [\"service.kubernetes.io/load-balancer-cleanup\"],\"uid\":\"u1\"}}";
const TELLS: &str = "patch services shop/web status {\"metadata\":{\"uid\":\"u1\"},\"status\":\
                     {\"loadBalancer\":{\"ingress\":[{\"ip\":\"1.2.3.4\"}]}}}";
const TELLS_NOT: &str = "patch services shop/web status {\"metadata\":{\"uid\":\"u1\"},\"status\":\
                         {\"loadBalancer\":{\"ingress\":null}}}";
const ENSURING: &str = "event Normal EnsuringLoadBalancer: Ensuring load balancer";
const ENSURED: &str = "event Normal EnsuredLoadBalancer: Ensured load balancer";
const DELETING: &str = "event Normal DeletingLoadBalancer: Deleting load balancer";
const DELETED: &str = "event Normal DeletedLoadBalancer: Deleted load balancer";
const NO_NODES: &str =
    "event Warning UnAvailableLoadBalancer: There are no available nodes for LoadBalancer";
const ORDERS: &str = "cloud: ensure load balancer of shop/web to [a b]";
const ORDERS_DELETE: &str = "cloud: delete load balancer of shop/web";

fn lines(all: &[&str]) -> String {
    all.iter().flat_map(|line| [line, "\n"]).collect()
}

/// All rows of TestSyncLoadBalancerIfNeeded; and TestAddFinalizer, TestRemoveFinalizer and
/// TestPatchStatus, whose writes these are.
#[test]
fn a_service_gets_a_load_balancer_or_loses_it() {
    let port = |protocol| {
        let ports = json!([{"port": 80, "protocol": protocol}]);
        held(with(service(), json!({"spec": {"ports": ports}})))
    };
    let ensures = [ENSURING, ORDERS, ENSURED, TELLS];
    let removes = [DELETING, ORDERS_DELETE, REMOVES, DELETED, TELLS_NOT];
    let classed = with(service(), json!({"spec": {"loadBalancerClass": "custom-loadbalancer"}}));
    for (name, service, exists, expected) in [
        ("service doesn't want LB", cluster_ip(), false, &[][..]),
        ("first the finalizer", service(), false, &[ADDS, "again in 0ns"]),
        ("udp service that wants LB", port("UDP"), false, &ensures),
        ("tcp service that wants LB", port("TCP"), false, &ensures),
        ("sctp service that wants LB", port("SCTP"), false, &ensures),
        ("service specifies loadBalancerClass", classed, false, &[]),
        (
            "service with finalizer that no longer wants LB",
            held(located(cluster_ip())),
            true,
            &removes,
        ),
        ("service that needs cleanup", deleted(held(located(service()))), true, &removes),
        (
            "the same, and the load balancer is gone",
            deleted(held(located(service()))),
            false,
            &[REMOVES, DELETED, TELLS_NOT],
        ),
        ("the same, and it had no address", deleted(held(service())), false, &[REMOVES, DELETED]),
        (
            "TestPatchStatus: it says so already",
            held(with(
                service(),
                json!({"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}),
            )),
            false,
            &[ENSURING, ORDERS, ENSURED],
        ),
    ] {
        let mut world = World::new(&service);
        world.cloud.exists = exists;
        assert_eq!(world.sync(), lines(expected), "{name}");
    }
}

/// As upstream's ensureLoadBalancer without nodes.
#[test]
fn a_load_balancer_without_nodes_is_a_warning() {
    let mut world = World::new(&held(service())).with_nodes(&[]);
    let orders = "cloud: ensure load balancer of shop/web to []";
    assert_eq!(world.sync(), lines(&[ENSURING, NO_NODES, orders, ENSURED, TELLS]));
}

/// Rule: a load balancer is asked for once; then again if what it is made from changes, and after
/// a failure.
#[test]
fn a_load_balancer_is_asked_for_once() {
    let mut world = World::new(&held(service()));
    world.sync();
    assert_eq!(world.sync(), "", "nothing changed");
    let changed = with(held(service()), json!({"spec": {"loadBalancerIP": "192.168.1.11"}}));
    world.hold(&changed);
    // TestProcessServiceCreateOrUpdate: If Updating Loadbalancer IP
    assert_eq!(world.sync(), lines(&[ENSURING, ORDERS, ENSURED, TELLS]));
    world.hold(&with(changed, json!({"metadata": {"labels": {"a": "b"}}})));
    assert_eq!(world.sync(), "", "nothing that it is made from");
    world.fail_writes();
    world.hold(&held(service()));
    world.sync();
    world.heal_writes();
    let again = world.sync();
    assert_eq!(again, lines(&[ENSURING, ORDERS, ENSURED, TELLS]), "its status was not written");
}

/// TestSyncService and what `processNextServiceItem` does with errors: each failure is an Event,
/// and is tried again; one that says when, then.
#[test]
fn a_cloud_that_fails_is_an_event() {
    let mut world = World::new(&held(service()));
    let failed = |text: &str| format!("event Warning SyncLoadBalancerFailed: Error syncing {text}");
    world.cloud.ensures = Err(Failure::from("no quota"));
    let text = "load balancer: failed to ensure load balancer: no quota";
    let error = "error: failed to ensure load balancer: no quota";
    assert_eq!(world.sync(), lines(&[ENSURING, ORDERS, &failed(text), error]));
    assert_eq!(world.sync(), lines(&[ENSURING, ORDERS, &failed(text), error]), "and again");

    world.cloud.ensures = Err(Failure::not_yet("provisioning", Duration::from_secs(7)));
    let text = "load balancer: failed to ensure load balancer: provisioning";
    assert_eq!(world.sync(), lines(&[ENSURING, ORDERS, &failed(text), "again in 7s"]));

    world.cloud.ensures = Ok(None);
    let text = "load balancer: service status returned by EnsureLoadBalancer is nil";
    let error = "error: service status returned by EnsureLoadBalancer is nil";
    assert_eq!(world.sync(), lines(&[ENSURING, ORDERS, &failed(text), error]));

    world.cloud.ensures = Err(Failure::elsewhere());
    assert_eq!(world.sync(), lines(&[ENSURING, ORDERS]), "another program does it");
    assert_eq!(world.sync(), "");
}

/// The same of a load balancer that is to go: the finalizer stays until it is gone.
#[test]
fn a_service_waits_for_its_load_balancer_to_go() {
    let mut world = World::new(&deleted(held(service())));
    world.cloud.exists = true;
    world.cloud.get_fails = Some("down");
    let failed = "event Warning SyncLoadBalancerFailed: Error syncing load balancer: ";
    let text = "failed to check if load balancer exists before cleanup: down";
    let expected = [&format!("{failed}{text}")[..], &format!("error: {text}")];
    assert_eq!(world.sync(), lines(&expected));

    (world.cloud.get_fails, world.cloud.deletes) = (None, Err(Failure::from("in use")));
    let text = "failed to delete load balancer: in use";
    let expected = [DELETING, ORDERS_DELETE, &format!("{failed}{text}"), &format!("error: {text}")];
    assert_eq!(world.sync(), lines(&expected));

    world.cloud.deletes = Err(Failure::elsewhere());
    assert_eq!(world.sync(), lines(&[DELETING, ORDERS_DELETE, REMOVES, DELETED]));
}

/// All rows of TestProcessServiceDeletion: a Service that is gone although nobody removed the
/// finalizer here.
#[test]
fn a_load_balancer_outlives_no_service() {
    let mut world = World::new(&held(service()));
    world.hold_none();
    assert_eq!(world.sync(), "gone\n", "If a non-existent service is deleted");

    world.hold(&held(service()));
    world.sync();
    world.hold_none();
    world.cloud.deletes = Err(Failure::from("error Deleting the Loadbalancer"));
    let failed = "event Warning DeleteLoadBalancerFailed: Error deleting load balancer: error \
                  Deleting the Loadbalancer";
    let error = "error: error Deleting the Loadbalancer";
    let expected = lines(&[DELETING, ORDERS_DELETE, failed, error]);
    assert_eq!(world.sync(), expected, "If cloudprovided failed to delete the service");

    // `processNextServiceItem`: a cloud says when it is to be tried again.
    world.cloud.deletes = Err(Failure::not_yet("draining", Duration::from_secs(7)));
    let failed = "event Warning DeleteLoadBalancerFailed: Error deleting load balancer: draining";
    assert_eq!(world.sync(), lines(&[DELETING, ORDERS_DELETE, failed, "again in 7s"]));

    world.cloud.deletes = Ok(());
    let expected = lines(&[DELETING, ORDERS_DELETE, DELETED, "again in 0ns"]);
    assert_eq!(world.sync(), expected, "If delete was successful");
    assert_eq!(world.sync(), "gone\n");

    // `processServiceCreateOrUpdate`: another one of its name came in its place.
    world.hold(&held(service()));
    world.sync();
    world.hold(&with(held(service()), json!({"metadata": {"uid": "u2"}})));
    assert_eq!(world.sync(), expected);
    assert!(world.sync().starts_with(&lines(&[ENSURING, ORDERS, ENSURED])));
}

/// All rows of TestNeedsCleanup.
#[test]
fn the_finalizer_says_what_is_to_be_cleaned_up() {
    let node_port = |service| with(service, json!({"spec": {"type": "NodePort"}}));
    for (name, service, expected) in [
        ("service without finalizer", service(), false),
        ("with finalizer without timestamp without LB", node_port(held(service())), true),
        ("with finalizer without timestamp with LB", held(service()), false),
        ("service with finalizer with timestamp", deleted(held(service())), true),
    ] {
        assert_eq!(decode::<BalancedService>(&service).needs_cleanup(), expected, "{name}");
    }
}

fn spec(field: &str, value: &Value) -> Value {
    json!({"spec": {field: value}})
}

fn port(port: &Value) -> Value {
    json!({"spec": {"ports": [port]}})
}

/// Whether this change of a Service that wants a load balancer enqueues it.
fn enqueues(old: &Value, new: &Value) -> bool {
    let decoded = |patch: &Value| decode(&with(service(), patch.clone()));
    let change = Change::<BalancedService>::Updated { old: decoded(old), new: decoded(new) };
    match &*enqueued(&it(), &change, &Fixture::default()) {
        "now shop/web\n" => true,
        "" => false,
        other => panic!("{other}"),
    }
}

/// All rows of TestNeedsUpdate.
#[test]
fn a_service_enqueues_if_its_load_balancer_is_another_one() {
    let tcp = |target: Value| port(&json!({"port": 80, "protocol": "TCP", "targetPort": target}));
    let ips = |all: &[&str]| spec("externalIPs", &json!(all));
    let families = |all: &[&str]| spec("ipFamilies", &json!(all));
    let of_app = |protocol: &str| port(&json!({"port": 80, "appProtocol": protocol}));
    let same = json!({});
    for (name, old, new, expected) in [
        ("LoadBalancer to ClusterIP", same.clone(), spec("type", &json!("ClusterIP")), true),
        ("Ports", tcp(json!(20)), port(&json!({"port": 81, "protocol": "TCP"})), true),
        ("external ip counts", ips(&["old.IP.1"]), ips(&["new.IP.1", "new.IP.2"]), true),
        ("external ips", ips(&["old.IP.1", "old.IP.2"]), ips(&["new.IP.1", "new.IP.2"]), true),
        ("UID", same.clone(), json!({"metadata": {"uid": "u2"}}), true),
        (
            "ExternalTrafficPolicy",
            same.clone(),
            spec("externalTrafficPolicy", &json!("Local")),
            true,
        ),
        ("HealthCheckNodePort", same.clone(), spec("healthCheckNodePort", &json!(30123)), true),
        ("TargetGroup 1", tcp(json!(20)), tcp(json!(21)), true),
        ("TargetGroup 2", tcp(json!(22)), tcp(json!("dns")), true),
        ("appProtocol is the same", of_app("http"), of_app("http"), false),
        ("single stack to dual stack", families(&["IPv4"]), families(&["IPv4", "IPv6"]), true),
        ("dual stack to single stack", families(&["IPv4", "IPv6"]), families(&["IPv4"]), true),
        ("IPFamilies not change", families(&["IPv4"]), families(&["IPv4"]), false),
        ("appProtocol is set", port(&json!({"port": 80})), of_app("http"), true),
        ("appProtocol is set to a different value", of_app("http"), of_app("tcp"), true),
    ] {
        assert_eq!(enqueues(&old, &new), expected, "{name}");
    }
    // Neither wants one.
    let cluster_ip = |ip: &str| json!({"spec": {"type": "ClusterIP", "loadBalancerIP": ip}});
    assert!(!enqueues(&cluster_ip("1.1.1.1"), &cluster_ip("2.2.2.2")));
}

/// The other fields that `needsUpdate` compares.
#[test]
fn each_field_of_a_load_balancer_counts() {
    let seconds = |seconds: u32| {
        spec("sessionAffinityConfig", &json!({"clientIP": {"timeoutSeconds": seconds}}))
    };
    let (same, http) = (json!({}), || port(&json!({"port": 80})));
    for (name, old, new, expected) in [
        ("a node port", http(), port(&json!({"port": 80, "nodePort": 1})), true),
        ("a port's name", http(), port(&json!({"port": 80, "name": "a"})), true),
        ("loadBalancerIP", same.clone(), spec("loadBalancerIP", &json!("1.1.1.1")), true),
        (
            "loadBalancerSourceRanges",
            same.clone(),
            spec("loadBalancerSourceRanges", &json!(["10.0.0.0/8"])),
            true,
        ),
        ("sessionAffinity", same.clone(), spec("sessionAffinity", &json!("ClientIP")), true),
        ("sessionAffinityConfig", seconds(1), seconds(2), true),
        ("annotations", same.clone(), json!({"metadata": {"annotations": {"a": "b"}}}), true),
        ("labels", same.clone(), json!({"metadata": {"labels": {"a": "b"}}}), false),
        ("its status", same, json!({"status": {"loadBalancer": {"ingress": []}}}), false),
    ] {
        assert_eq!(enqueues(&old, &new), expected, "{name}");
    }
}

/// `AddFunc` of `New`; deletions come by the finalizer, and by what is remembered.
#[test]
fn services_that_want_load_balancers_enqueue() {
    let enqueues = |change: &Change<BalancedService>| enqueued(&it(), change, &Fixture::default());
    for (name, service, expected) in [
        ("wants one", service(), "now shop/web\n"),
        ("wants none", cluster_ip(), ""),
        ("wants none any more", held(cluster_ip()), "now shop/web\n"),
        ("is being deleted", deleted(held(service())), "now shop/web\n"),
    ] {
        let service = decode::<BalancedService>(&service);
        assert_eq!(enqueues(&Change::Added(service.clone())), expected, "{name}");
        assert_eq!(enqueues(&Change::Deleted(service)), "forget shop/web\n", "{name}");
    }
}

#[test]
fn a_service_that_cannot_be_read_is_left_alone() {
    let fixture = Fixture::default()
        .holding_unreadable::<BalancedService>(&held(service()), "spec: no")
        .holding::<Machine>(&[]);
    let key = Key::new("shop", "web");
    let snapshot =
        controller::Controller::observe(&it(), &key, &fixture.view(), &Balancers::default());
    let (plan, verdict) = decide::decide(&snapshot.unwrap(), &Facts::default());
    assert_eq!(plan.to_string(), "why: the Service cannot be read: spec: no\n");
    assert_eq!(verdict, Verdict::Nothing);
}

#[test]
fn a_summary_says_where_the_load_balancer_is() {
    let mut world = World::new(&held(located(service())));
    assert_eq!(
        world.summary(),
        "wants a load balancer: true\nhas the finalizer: true\naddress: 8.8.8.8\n\
         load balancer: not asked for\nnodes: 2\n"
    );
    world.sync();
    assert!(world.summary().contains("load balancer: ensured\n"));
    let name = Ingress { hostname: Some("lb".to_owned()), ..Ingress::default() };
    assert_eq!(json!(name), json!({"hostname": "lb"}));
}

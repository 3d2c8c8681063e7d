//! Tables, mirroring upstream's `pkg/controller/servicecidrs/servicecidrs_controller_test.go`.

use std::time::Duration;

use api::{Key, Kind as _};
use controller::Controller as _;
use controller::fixture::{self, Fixture, ago, with};
use serde_json::{Value, json};

use super::*;

const BOTH: [&str; 2] = ["192.168.0.0/24", "2001:db2::/64"];

/// A range of these CIDRs, as it is when all is well.
fn range(name: &str, cidrs: &[&str]) -> Value {
    let ready = json!({"type": "Ready", "status": "True", "reason": "",
        "message": "Kubernetes Service CIDR is ready"});
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "3",
            "finalizers": ["networking.k8s.io/service-cidr-finalizer"]},
        "spec": {"cidrs": cidrs},
        "status": {"conditions": [ready]},
    })
}

/// The same, deleted so many seconds ago.
fn deleted(range: Value, seconds: i64) -> Value {
    with(range, json!({"metadata": {"deletionTimestamp": ago(seconds)}}))
}

fn address(ip: &str) -> Value {
    let labels = json!({"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"});
    json!({"metadata": {"name": ip, "resourceVersion": "3", "labels": labels}})
}

fn fixture(ranges: &[Value], ips: &[&str]) -> Fixture {
    let ips: Vec<_> = ips.iter().map(|ip| address(ip)).collect();
    Fixture::default().holding::<ServiceCidr>(ranges).holding::<IpAddress>(&ips)
}

/// The plan for the first range.
fn plan_in(fixture: &Fixture, name: &str) -> Plan {
    let snapshot = Controller.observe(&Key::new("", name), &fixture.view(), &()).unwrap();
    Controller.decide(&snapshot, &Facts::default()).0
}

fn plan(ranges: &[Value], ips: &[&str]) -> String {
    plan_in(&fixture(ranges, ips), "it").to_string()
}

/// TestControllerSync: "… must have finalizer".
#[test]
fn a_range_gets_a_finalizer_and_is_said_to_be_ready() {
    let bare = with(range("it", &BOTH), json!({"metadata": {"finalizers": null}, "status": null}));
    assert_eq!(
        plan(std::slice::from_ref(&bare), &[]),
        "why: it lacks the finalizer\n\
         in order: patch servicecidrs.networking.k8s.io it \
         {\"metadata\":{\"finalizers\":[\"networking.k8s.io/service-cidr-finalizer\"],\
         \"uid\":\"uid-it\"}}\n\
         in order: apply servicecidrs.networking.k8s.io it status \
         {\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"ServiceCIDR\",\
         \"metadata\":{\"name\":\"it\",\"uid\":\"uid-it\"},\
         \"status\":{\"conditions\":[{\"lastTransitionTime\":\"2024-05-01T12:00:00Z\",\
         \"message\":\"Kubernetes Service CIDR is ready\",\"reason\":\"\",\"status\":\"True\",\
         \"type\":\"Ready\"}]}}\n"
    );
    assert_eq!(plan(&[range("it", &BOTH)], &[]), "why: it is ready\n");
    let other = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let other = with(range("it", &BOTH), other);
    assert_eq!(plan_in(&fixture(std::slice::from_ref(&other), &[]), "it").actions(), 1);
    // Upstream's Event is of the failure that led here.
    let mut failed = fixture(&[other], &[]);
    failed.failures = 1;
    let text = plan_in(&failed, "it").to_string();
    let event = "event Warning KubernetesServiceCIDRError: The ServiceCIDR Status can not be set \
                 to Ready=True";
    assert!(text.contains(event), "{text}");
}

/// TestControllerSync: "… being deleted …".
#[test]
fn a_deleted_range_goes_after_its_grace() {
    let removes = "why: no Service needs it\n\
                   in order: patch servicecidrs.networking.k8s.io it \
                   {\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":\
                   [\"networking.k8s.io/service-cidr-finalizer\"],\"uid\":\"uid-it\"}}\n";
    assert_eq!(plan(&[deleted(range("it", &BOTH), 11)], &[]), removes);
    assert_eq!(plan(&[deleted(range("it", &BOTH), 10)], &[]), removes);
    let waits = plan_in(&fixture(&[deleted(range("it", &BOTH), 4)], &[]), "it");
    assert_eq!((waits.actions(), waits.again), (0, Some(Duration::from_secs(6))));
    let bare = with(deleted(range("it", &BOTH), 11), json!({"metadata": {"finalizers": ["a/b"]}}));
    assert_eq!(plan(&[bare], &[]), "why: it is being deleted, and waits for others\n");
    let key = Key::new("", "other");
    assert!(Controller.observe(&key, &fixture(&[], &[]).view(), &()).is_none());
}

/// What keeps it is said once, with the address for who asks.
#[test]
fn a_range_that_is_used_stays() {
    let held = deleted(range("it", &BOTH), 11);
    let text = plan(std::slice::from_ref(&held), &["192.168.0.1"]);
    assert!(text.starts_with("why: a Service has 192.168.0.1, which no other range offers\n"));
    for part in ["\"reason\":\"Terminating\"", "There are still IPAddresses referencing"] {
        assert!(text.contains(part), "{text}");
    }
    let condition = json!({"type": "Ready", "status": "False", "reason": "Terminating",
        "message": "There are still IPAddresses referencing the ServiceCIDR, please remove them or \
                    create a new ServiceCIDR"});
    let said = with(held, json!({"status": {"conditions": [condition]}}));
    let text = plan(&[said], &["192.168.0.1"]);
    assert_eq!(text, "why: a Service has 192.168.0.1, which no other range offers\n");
}

/// TestController_canDeleteCIDR, and the overlaps of TestControllerSync.
#[test]
fn only_an_address_of_no_other_range_keeps_one() {
    let other = |cidrs: &[&str]| vec![range("overlapping", cidrs)];
    let last_v6 = "2001:db2::ffff:ffff:ffff:ffff";
    for (name, others, ip, goes) in [
        ("no address", vec![], None, true),
        ("CIDR with IPs", vec![], Some("192.168.0.24"), false),
        ("CIDR without IPs", vec![], Some("192.168.1.24"), true),
        ("the subnet address", vec![], Some("192.168.0.0"), true),
        ("the broadcast address", vec![], Some("192.168.0.255"), true),
        ("the last IPv6 address", vec![], Some(last_v6), false),
        ("same range", other(&BOTH), Some("192.168.0.23"), true),
        ("smaller range", other(&["192.168.0.0/26", BOTH[1]]), Some("192.168.0.23"), true),
        ("but IPs orphan", other(&["192.168.0.0/28", BOTH[1]]), Some("192.168.0.23"), false),
        ("larger range", other(&["192.168.0.0/16", BOTH[1]]), Some("192.168.0.23"), true),
        ("not overlapping", other(&["192.168.255.0/26", BOTH[1]]), Some("192.168.0.1"), false),
        ("IPv6", vec![], Some("2001:db2::1"), false),
        ("IPv6, same range", other(&BOTH), Some("2001:db2::1"), true),
        ("IPv6, larger", other(&["192.168.0.0/16", "2001:db2::/48"]), Some("2001:db2::1"), true),
        (
            "IPv6, elsewhere",
            other(&["192.168.255.0/26", "2001:db2:a:b::/64"]),
            Some("2001:db2::1"),
            false,
        ),
        // As upstream: parents count while they are being deleted, too.
        ("a deleted parent", vec![deleted(range("p", &BOTH), 1)], Some("192.168.0.1"), true),
        ("a large part of it", other(&["192.168.0.0/25"]), Some("192.168.0.127"), false),
        ("a foreign address", vec![], Some("10.0.0.1"), true),
    ] {
        let mut ranges = vec![deleted(range("it", &BOTH), 60)];
        ranges.extend(others);
        let ips: Vec<_> = ip.into_iter().collect();
        let text = plan(&ranges, &ips);
        assert_eq!(text.starts_with("why: no Service needs it"), goes, "{name}: {text}");
    }
    let unmanaged = json!({"metadata": {"name": "192.168.0.1", "resourceVersion": "3"}});
    let ranges = [deleted(range("it", &BOTH), 60)];
    let fixture = fixture(&ranges, &[]).holding::<IpAddress>(&[unmanaged]);
    assert_eq!(plan_in(&fixture, "it").actions(), 1);
}

/// Test_overlappingServiceCIDRs and Test_containingServiceCIDRs, by what they enqueue.
#[test]
fn a_change_enqueues_the_ranges_that_it_may_matter_to() {
    let ranges = [range("a", &BOTH), range("b", &["192.168.0.0/16"]), range("c", &["10.0.0.0/8"])];
    let fixture = fixture(&ranges, &[]);
    let added = Change::<ServiceCidr>::Added(fixture::decode(&ranges[0]));
    assert_eq!(fixture::enqueued(&Controller, &added, &fixture), "now a\nnow b\n");
    let gone = Change::<ServiceCidr>::Deleted(fixture::decode(&ranges[1]));
    assert_eq!(fixture::enqueued(&Controller, &gone, &fixture), "forget b\nnow a\n");
    let of_ip = |ip: &str| {
        let added = Change::<IpAddress>::Added(fixture::decode(&address(ip)));
        fixture::enqueued(&Controller, &added, &fixture)
    };
    assert_eq!(of_ip("192.168.0.1"), "now a\nnow b\n");
    assert_eq!(of_ip("192.168.0.0"), "", "the first address of both");
    assert_eq!(of_ip("192.168.0.255"), "now b\n", "the last address of one");
    assert_eq!(of_ip("2001:db2::1"), "now a\n");
    assert_eq!(of_ip("172.16.0.1"), "");
    let (old, new) = (fixture::decode(&address("10.0.0.1")), fixture::decode(&address("10.0.0.1")));
    let updated = Change::<IpAddress>::Updated { old, new };
    assert_eq!(fixture::enqueued(&Controller, &updated, &fixture), "");
    let unmanaged = json!({"metadata": {"name": "10.0.0.1", "resourceVersion": "3"}});
    let added = Change::<IpAddress>::Added(fixture::decode(&unmanaged));
    assert_eq!(fixture::enqueued(&Controller, &added, &fixture), "");
}

/// An object of which only the metadata can be read, and what an operator sees of others.
#[test]
fn a_broken_range_is_left_alone() {
    let fixture = fixture(&[], &[]).holding_unreadable::<ServiceCidr>(&range("it", &BOTH), "no");
    assert_eq!(plan_in(&fixture, "it").to_string(), "why: the range cannot be read: no\n");
    let snapshot = Controller.observe(&Key::new("", "it"), &fixture.view(), &()).unwrap();
    assert_eq!(Controller.summary(&snapshot)[0], ("being deleted", "false".to_owned()));
    assert_eq!(ServiceCidr::RESOURCE.kind, "ServiceCIDR");
}

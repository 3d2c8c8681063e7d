//! Tables, mirroring upstream's k8s.io/endpointslice `util/controller_utils_test.go` and
//! `util/trigger_time_tracker_test.go`.

use api::Kind;
use serde_json::{Value, json};

use super::*;
use crate::fixture::{self, Fixture, NOW, decode, decode_all, pod, ready, time, with};

const SECOND: i64 = 1_000_000_000;

fn service(name: &str, selector: &Value) -> Value {
    let created = fixture::ago(100);
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": created},
        "spec": {"selector": selector, "ports": [{"port": 80, "targetPort": 80}]},
    })
}

fn labelled(labels: &Value) -> Value {
    with(pod("a"), json!({"metadata": {"labels": labels}}))
}

fn changed(old: &Value, new: &Value) -> String {
    let services = [
        service("app", &json!({"app": "web"})),
        service("both", &json!({"app": "web", "tier": "front"})),
        service("none", &Value::Null),
        service("empty", &json!({})),
        service("other", &json!({"app": "db"})),
    ];
    let far = with(service("far", &json!({"app": "web"})), json!({"metadata": {"namespace": "x"}}));
    let fixture = Fixture::default().holding::<Service>(&[services.as_slice(), &[far]].concat());
    let mut queue = Enqueue::default();
    let new = with(new.clone(), json!({"metadata": {"resourceVersion": "2"}}));
    let change = Change::Updated { old: decode::<Pod>(old), new: decode::<Pod>(&new) };
    enqueue_services(&change, &fixture.view(), Duration::ZERO, &mut queue);
    fixture::lines(&queue).replace("now shop/", "").replace('\n', " ")
}

/// TestGetPodServicesToUpdate, TestDetermineNeededServiceUpdates, Test_podChanged.
#[test]
fn changes_of_pods_enqueue_services() {
    let web = labelled(&json!({"app": "web"}));
    let front = labelled(&json!({"app": "web", "tier": "front"}));
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let at = |ips: &Value| json!({ "status": { "podIPs": ips } });
    let ip = at(&json!([{"ip": "10.0.0.1"}]));
    for (name, old, new, expected) in [
        ("nothing", web.clone(), web.clone(), ""),
        ("readiness", web.clone(), with(web.clone(), unready.clone()), "app "),
        ("readiness, of two", front.clone(), with(front.clone(), unready.clone()), "app both "),
        ("labels alone: the difference", web.clone(), front.clone(), "both "),
        ("labels alone, lost", front.clone(), web.clone(), "both "),
        ("labels and pod: both", web.clone(), with(front.clone(), unready), "app both "),
        ("labels, to others", web.clone(), labelled(&json!({"app": "db"})), "app other "),
        ("an address", web.clone(), with(web.clone(), ip.clone()), "app "),
        (
            "another address",
            with(web.clone(), ip.clone()),
            with(web.clone(), at(&json!([{"ip": "10.0.0.2"}]))),
            "app ",
        ),
        (
            "a second address",
            with(web.clone(), ip),
            with(web.clone(), at(&json!([{"ip": "10.0.0.1"}, {"ip": "::1"}]))),
            "app ",
        ),
        (
            "deletion",
            web.clone(),
            with(web.clone(), json!({"metadata": {"deletionTimestamp": NOW}})),
            "app ",
        ),
        ("hostname alone", web.clone(), with(web.clone(), json!({"spec": {"hostname": "h"}})), ""),
        (
            "annotations",
            web.clone(),
            with(web.clone(), json!({"metadata": {"annotations": {"a": "b"}}})),
            "",
        ),
        (
            "more than upstream: it ends, and was not ready before",
            web.clone(),
            with(web.clone(), json!({"status": {"phase": "Failed"}})),
            "app ",
        ),
    ] {
        assert_eq!(changed(&old, &new), expected, "{name}");
    }
}

/// GetPodUpdateProjectionKey: what comes and goes; a resync is nothing; and the batch period.
#[test]
fn pods_that_come_and_go_enqueue_services() {
    let fixture = Fixture::default().holding::<Service>(&[service("app", &json!({"app": "web"}))]);
    let it = decode::<Pod>(&labelled(&json!({"app": "web"})));
    let lines = |change: &Change<Pod>, delay| {
        let mut queue = Enqueue::default();
        enqueue_services(change, &fixture.view(), delay, &mut queue);
        fixture::lines(&queue)
    };
    let delay = Duration::from_millis(500);
    assert_eq!(lines(&Change::Added(it.clone()), Duration::ZERO), "now shop/app\n");
    assert_eq!(lines(&Change::Deleted(it.clone()), delay), "after 500ms shop/app\n");
    assert_eq!(lines(&Change::Updated { old: it.clone(), new: it }, delay), "");
    assert_eq!(Service::RESOURCE.plural, "services");
}

/// TestShouldPodBeInEndpoints, but for deletion, which each of the controllers sees in its own way.
#[test]
fn pods_are_reachable_as_upstream() {
    let address = json!({"status": {"podIP": "1.2.3.4"}});
    for (name, change, expected) in [
        ("Failed pod with Always RestartPolicy", json!({"status": {"phase": "Failed"}}), false),
        ("Succeeded pod", json!({"status": {"phase": "Succeeded"}}), false),
        ("Empty Pod IPs", json!({"status": {"podIP": "", "podIPs": []}}), false),
        ("Valid pod", json!({}), true),
        (
            "Valid pod with PodIPs alone",
            json!({"status": {"podIP": null, "podIPs": [{"ip": "1::"}]}}),
            true,
        ),
        ("Unknown", json!({"status": {"phase": "Unknown"}}), true),
    ] {
        let it = decode::<Pod>(&with(with(pod("a"), address.clone()), change));
        assert_eq!(is_reachable(&it), expected, "{name}");
    }
}

/// TestShouldSetHostname.
#[test]
fn hostnames_are_set_as_upstream() {
    for (name, host, domain, expected) in [
        ("all matching", "foo", "bar", Some("foo")),
        ("all matching, hostname not set", "", "bar", None),
        ("all set, different name/subdomain", "foo", "baz", None),
    ] {
        let spec = json!({"spec": {"hostname": host, "subdomain": domain}});
        let it = decode::<Pod>(&with(pod("a"), spec));
        let service = decode::<Service>(&service("bar", &json!({"a": "b"})));
        assert_eq!(hostname(&it, &service).as_deref(), expected, "{name}");
    }
}

/// TestFindPort of upstream's utils_test.go.
#[test]
fn ports_are_found_as_upstream() {
    let port = |name: &str, protocol: &str, number: i32| -> Value {
        json!({"name": name, "protocol": protocol, "containerPort": number})
    };
    let first = [port("p", "TCP", 11), port("q", "UDP", 12), port("r", "TCP", 13)];
    let second = [port("p", "TCP", 21), port("q", "TCP", 22), json!({"containerPort": 23})];
    let sidecar = [port("s", "TCP", 31), port("r", "TCP", 32)];
    let it = with(
        pod("a"),
        json!({"spec": {
            "containers": [{ "ports": first }, { "ports": second }],
            "initContainers": [{"restartPolicy": "Always", "ports": sidecar},
                {"ports": [port("t", "TCP", 41)]}],
        }}),
    );
    let it = decode::<Pod>(&it);
    for (name, target, protocol, expected) in [
        ("valid int, no ports", json!(93), "TCP", Some(93)),
        ("the first of two", json!("p"), "TCP", Some(11)),
        ("of that protocol", json!("q"), "TCP", Some(22)),
        ("match by protocol", json!("q"), "UDP", Some(12)),
        ("of a container before a sidecar", json!("r"), "TCP", Some(13)),
        ("of a sidecar", json!("s"), "TCP", Some(31)),
        ("of an init container that ends", json!("t"), "TCP", None),
        ("no such port", json!("x"), "TCP", None),
        ("no such protocol", json!("p"), "SCTP", None),
    ] {
        let ports = json!({"spec": {"ports": [{"protocol": protocol, "targetPort": target}]}});
        let service = decode::<Service>(&with(service("s", &json!({})), ports));
        assert_eq!(find_port(&it, &service.ports[0]), expected, "{name}");
    }
}

/// All of trigger_time_tracker_test.go: what each look says, after those before it. Pods are those
/// whose readiness changed so many seconds after the Service was made.
#[test]
fn triggers_are_found_as_upstream() {
    type Look<'a> = (&'a [(&'a str, i64)], Option<i64>);
    let rows: [(&str, &[Look<'_>]); 6] = [
        ("TestNewServiceNoPods", &[(&[], Some(0))]),
        ("TestNewServiceExistingPods", &[(&[("a", 1), ("b", 2)], Some(0))]),
        ("TestPodsAdded", &[(&[], Some(0)), (&[("a", 2), ("b", 1)], Some(1))]),
        (
            "TestPodsUpdated",
            &[
                (&[("a", 1), ("b", 2), ("c", 3)], Some(0)),
                (&[("a", 5), ("b", 4), ("c", 3)], Some(4)),
            ],
        ),
        ("TestPodsUpdatedNoOp", &[(&[("a", 1), ("b", 2)], Some(0)), (&[("a", 1), ("b", 2)], None)]),
        (
            "TestPodDeletedThenAdded",
            &[
                (&[("a", 1), ("b", 2)], Some(0)),
                (&[("a", 1)], None),
                (&[("a", 1), ("b", 4)], Some(4)),
            ],
        ),
    ];
    let at = |seconds: i64| time((seconds - 100) * SECOND);
    let it = decode::<Service>(&service("s", &json!({"a": "b"})));
    for (name, looks) in rows {
        let mut triggers = Triggers::default();
        for (pods, expected) in looks {
            let pods = pods.iter().map(|(name, seconds)| {
                let conditions = [ready(&at(*seconds).to_string())];
                with(pod(name), json!({ "status": { "conditions": conditions } }))
            });
            let pods = decode_all::<Pod>(&pods.collect::<Vec<_>>());
            let moments = Arc::new(Moments::new(&it, &pods));
            let trigger = moments.trigger(triggers.of(&it.meta.key).as_deref());
            assert_eq!(trigger, expected.map(at), "{name}");
            triggers.keep(&it.meta.key, moments);
        }
        // TestServiceDeletedThenAdded
        triggers.forget(&it.meta.key);
        let trigger = Moments::new(&it, &[]).trigger(triggers.of(&it.meta.key).as_deref());
        assert_eq!(trigger, Some(at(0)), "{name}");
    }
}

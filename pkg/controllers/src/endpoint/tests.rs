//! Tables, mirroring upstream's `pkg/controller/endpoint/endpoints_controller_test.go`.

use api::{Endpoints, Key, Pod, Service, Subset};
use controller::fixture::{self, Fixture, NOW, ago, decode, enqueued, lines, pod, ready, with};
use controller::{Answer, Change, Controller as _, Facts, Outcome, Query, Refused, Shared};
use serde_json::{Value, json};

use super::capacity::{is_truncated, truncated};
use super::*;

const CONTROLLER: Controller = Controller { batch_period: Duration::ZERO };
const RIGHT: &str = "why: the Endpoints are right\n";

/// A ready pod as upstream's `testPod`: on node-1, with the addresses of these families.
fn numbered(id: usize, families: &[&str]) -> Value {
    let ip = |family: &&str| match *family {
        "IPv4" => json!({ "ip": format!("1.2.{}.{}", 3 + (4 + id) / 256, (4 + id) % 256) }),
        _ => json!({ "ip": format!("2000::{:x}", 4 + id) }),
    };
    let ips: Vec<_> = families.iter().map(ip).collect();
    let port = json!({"name": "port0", "containerPort": 8080, "protocol": "TCP"});
    let patch = json!({
        "metadata": {"labels": {"foo": "bar"}, "resourceVersion": id.to_string()},
        "spec": {"containers": [{"ports": [port]}]},
        "status": {"podIP": ips[0]["ip"], "podIPs": ips},
    });
    with(pod(&format!("pod{id}")), patch)
}

fn v4(id: usize) -> Value {
    numbered(id, &["IPv4"])
}

fn unready(pod: Value) -> Value {
    with(pod, json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}))
}

#[expect(clippy::needless_pass_by_value, reason = "tables read better so")]
fn service(spec: Value) -> Value {
    let base = json!({
        "metadata": {"name": "foo", "namespace": "shop", "uid": "s", "resourceVersion": "3",
            "creationTimestamp": ago(100)},
        "spec": {"selector": {"foo": "bar"}, "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"],
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}]},
    });
    with(base, json!({ "spec": spec }))
}

fn stored(patch: Value) -> Value {
    let base = json!({
        "metadata": {"name": "foo", "namespace": "shop", "uid": "e", "resourceVersion": "9",
            "labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}},
    });
    with(base, patch)
}

fn address(id: usize) -> Value {
    let ip = format!("1.2.{}.{}", 3 + (4 + id) / 256, (4 + id) % 256);
    at(&ip, id)
}

fn at(ip: &str, id: usize) -> Value {
    json!({"ip": ip, "nodeName": "node-1", "targetRef": {"kind": "Pod", "namespace": "shop",
        "name": format!("pod{id}"), "uid": format!("uid-pod{id}")}})
}

fn port(number: i32, protocol: &str) -> Value {
    json!({"port": number, "protocol": protocol})
}

fn caches(service: &[Value], pods: &[Value], stored: &[Value]) -> Fixture {
    let fixture = Fixture::default().holding::<Service>(service).holding::<Pod>(pods);
    fixture.holding::<Endpoints>(stored)
}

fn key() -> Key {
    Key::new("shop", "foo")
}

fn planned(fixture: &Fixture, facts: &Facts) -> Plan {
    let snapshot = CONTROLLER.observe(&key(), &fixture.view(), &Memory::default()).unwrap();
    CONTROLLER.decide(&snapshot, facts).0
}

/// What is written, whole; or why nothing is.
fn written(service: Value, pods: &[Value], stored: &[Value]) -> Result<Value, String> {
    let plan = planned(&caches(&[service], pods, stored), &Facts::default());
    let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else {
        return Err(plan.to_string());
    };
    Ok(fixture::body(actions[0].write().unwrap()))
}

fn subsets(service: Value, pods: &[Value]) -> Value {
    written(service, pods, &[]).unwrap()["subsets"].clone()
}

/// TestSyncEndpointsProtocolTCP, ..UDP, ..SCTP, ..MultiProtocolSamePort, ..ItemsEmptySelector..
/// (with a selector), ..Items, TestPodToEndpointAddressForService, TestSyncEndpointsHeadless..,
/// ..ExcludeNotReadyPods..: the subsets that there should be.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn subsets_are_made_as_upstream() {
    let ports = |list: Value| json!({ "ports": list });
    let tcp = [port(8080, "TCP")];
    let both = |port: Value| json!([{"addresses": [address(0)], "ports": [port]}]);
    let two = ["IPv4", "IPv6"];
    let six = json!([{"addresses": [at("2000::4", 0)], "ports": tcp}]);
    for (name, service, pods, expected) in [
        ("TCP", service(json!({})), vec![v4(0)], both(port(8080, "TCP"))),
        (
            "UDP",
            service(ports(json!([{"protocol": "UDP", "targetPort": 8080}]))),
            vec![v4(0)],
            both(port(8080, "UDP")),
        ),
        (
            "MultiProtocolSamePort",
            service(ports(json!([{"name": "a", "protocol": "TCP", "targetPort": 8080},
                {"name": "b", "protocol": "UDP", "targetPort": 8080}]))),
            vec![v4(0)],
            json!([{"addresses": [address(0)], "ports": [
                {"name": "a", "port": 8080, "protocol": "TCP"},
                {"name": "b", "port": 8080, "protocol": "UDP"}]}]),
        ),
        (
            "Mixed",
            service(json!({})),
            vec![v4(0), unready(v4(1))],
            json!([{"addresses": [address(0)], "notReadyAddresses": [address(1)], "ports": tcp}]),
        ),
        (
            "publishNotReadyAddresses, and one that is being deleted",
            service(json!({"publishNotReadyAddresses": true})),
            vec![unready(v4(0)), with(v4(1), json!({"metadata": {"deletionTimestamp": NOW}}))],
            json!([{"addresses": [address(0), address(1)], "ports": tcp}]),
        ),
        (
            "one that is being deleted",
            service(json!({})),
            vec![v4(0), with(v4(1), json!({"metadata": {"deletionTimestamp": NOW}}))],
            both(port(8080, "TCP")),
        ),
        (
            "Failed and Succeeded",
            service(json!({})),
            vec![
                with(v4(1), json!({"status": {"phase": "Failed"}})),
                with(v4(2), json!({"status": {"phase": "Succeeded"}})),
            ],
            Value::Null,
        ),
        (
            "a named port that one pod lacks",
            service(ports(json!([{"protocol": "TCP", "targetPort": "port0"}]))),
            vec![v4(0), with(v4(1), json!({"spec": {"containers": []}}))],
            both(port(8080, "TCP")),
        ),
        (
            "named ports with other numbers",
            service(ports(json!([{"protocol": "TCP", "targetPort": "port0"}]))),
            vec![
                v4(0),
                with(
                    v4(1),
                    json!({"spec": {"containers": [{"ports": [
                    {"name": "port0", "containerPort": 8081, "protocol": "TCP"}]}]}}),
                ),
            ],
            json!([{"addresses": [address(0)], "ports": tcp},
                {"addresses": [address(1)], "ports": [port(8081, "TCP")]}]),
        ),
        (
            "HeadlessWithoutPort",
            service(json!({"clusterIP": "None", "ports": null})),
            vec![v4(0)],
            json!([{"addresses": [address(0)]}]),
        ),
        ("no ports, not headless", service(json!({"ports": null})), vec![v4(0)], Value::Null),
        (
            "v4 service, in a dual stack cluster",
            service(json!({})),
            vec![numbered(0, &two)],
            both(port(8080, "TCP")),
        ),
        (
            "v6 service, in a dual stack cluster",
            service(json!({"ipFamilies": ["IPv6"]})),
            vec![numbered(0, &two)],
            six.clone(),
        ),
        (
            "dual stack service, v6 first",
            service(json!({"ipFamilies": ["IPv6", "IPv4"]})),
            vec![numbered(0, &two)],
            six.clone(),
        ),
        (
            "v6 service, pod without such an address",
            service(json!({"ipFamilies": ["IPv6"]})),
            vec![v4(0)],
            Value::Null,
        ),
        (
            "EmptyIPFamilies: the family of the cluster IP",
            service(json!({"ipFamilies": null, "clusterIP": "2000::1"})),
            vec![numbered(0, &two)],
            six.clone(),
        ),
        (
            "EmptyIPFamilies, headless: that of the pod",
            service(json!({"ipFamilies": null, "clusterIP": "None"})),
            vec![numbered(0, &["IPv6"])],
            six,
        ),
        (
            "an address with leading zeros",
            service(json!({})),
            vec![with(v4(0), json!({"status": {"podIPs": [{"ip": "01.2.3.004"}]}}))],
            both(port(8080, "TCP")),
        ),
    ] {
        assert_eq!(subsets(service, &pods), expected, "{name}");
    }
}

/// Card, sync 6: the hostname; and `appProtocol` (TestEndpointPortFromServicePort).
#[test]
fn names_of_pods_and_protocols_of_ports_are_told() {
    let named = with(v4(0), json!({"spec": {"hostname": "h", "subdomain": "foo"}}));
    let ports =
        json!([{"name": "p", "protocol": "TCP", "targetPort": 8080, "appProtocol": "http"}]);
    let found = subsets(service(json!({ "ports": ports })), &[named]);
    assert_eq!(found[0]["addresses"][0]["hostname"], "h");
    assert_eq!(found[0]["ports"][0]["appProtocol"], "http");
}

/// TestSyncEndpointsItemsPreserveNoSelector, TestSyncServiceExternalNameType, ..ExistingNilSubsets,
/// ..ExistingEmptySubsets, ..PreexistingIdentical(Unsorted), ..WithPodResourceVersionUpdateOnly: no
/// request.
#[test]
fn what_is_right_stays() {
    let ready = |addresses: &[Value], ports: Value| {
        stored(json!({"subsets": [{"addresses": addresses, "ports": ports}]}))
    };
    let tcp = json!([port(8080, "TCP")]);
    let mut seen = ready(&[address(0), address(1)], tcp.clone());
    seen["subsets"][0]["addresses"][0]["targetRef"]["resourceVersion"] = json!("4");
    let both = json!([{"name": "a", "targetPort": 1, "protocol": "TCP"},
        {"name": "b", "targetPort": 2, "protocol": "TCP"}]);
    let named = |name: &str, port: i32| json!({"name": name, "port": port, "protocol": "TCP"});
    let unsorted = ready(&[address(1), address(0)], json!([named("b", 2), named("a", 1)]));
    let external = service(json!({"type": "ExternalName", "externalName": "x"}));
    let no_selector = service(json!({"selector": null}));
    let alone = "why: a Service without a selector has the Endpoints that somebody makes\n";
    for (name, service, pods, stored, expected) in [
        ("no selector", no_selector.clone(), vec![v4(0)], stored(json!({})), alone),
        (
            "an empty selector, which is none",
            service(json!({"selector": {"foo": null}})),
            vec![v4(0)],
            stored(json!({})),
            alone,
        ),
        (
            "ExternalName",
            external,
            vec![v4(0)],
            stored(json!({})),
            "why: a Service of type ExternalName gets no Endpoints\n",
        ),
        ("nil subsets", service(json!({})), vec![], stored(json!({})), RIGHT),
        ("empty subsets", service(json!({})), vec![], stored(json!({"subsets": []})), RIGHT),
        (
            "identical",
            service(json!({})),
            vec![v4(0), v4(1)],
            ready(&[address(0), address(1)], tcp.clone()),
            RIGHT,
        ),
        ("unsorted", service(json!({ "ports": both })), vec![v4(0), v4(1)], unsorted, RIGHT),
        ("with versions of pods", service(json!({})), vec![v4(0), v4(1)], seen, RIGHT),
        (
            "the label of a headless one does not count",
            service(json!({"clusterIP": "None"})),
            vec![v4(0)],
            ready(&[address(0)], tcp),
            RIGHT,
        ),
    ] {
        assert_eq!(written(service, &pods, &[stored]).unwrap_err(), expected, "{name}");
    }
    let fixture = caches(&[no_selector], &[v4(0)], &[]);
    assert_eq!(planned(&fixture, &Facts::default()).to_string(), alone);
}

/// TestSyncEndpointsItemsWithLabels, ..PreexistingLabelsChange, ..HeadlessServiceLabel,
/// ..NewNoSubsets, and `labelsCorrectForEndpoints`: the labels.
#[test]
fn labels_are_those_of_the_service() {
    let (managed, headless) =
        ("endpoints.kubernetes.io/managed-by", "service.kubernetes.io/headless");
    let labels = |of_service: Value, cluster_ip: &str, of_stored: Value| {
        let it = with(
            service(json!({"clusterIP": cluster_ip})),
            json!({"metadata": {"labels": of_service}}),
        );
        let stored = with(stored(json!({})), json!({"metadata": {"labels": of_stored}}));
        written(it, &[], &[stored]).map(|body| body["metadata"]["labels"].clone())
    };
    let ours = json!("endpoint-controller");
    for (name, of_service, cluster_ip, of_stored, expected) in [
        (
            "new",
            json!({"foo": "bar"}),
            "10.0.0.1",
            json!({}),
            Ok(json!({"foo": "bar", managed: ours})),
        ),
        (
            "changed",
            json!({"foo": "bar"}),
            "10.0.0.1",
            json!({"foo": "baz"}),
            Ok(json!({"foo": "bar", managed: ours})),
        ),
        ("gone", json!({}), "10.0.0.1", json!({"foo": "baz"}), Ok(json!({ managed: ours }))),
        (
            "headless",
            json!({"a": "b"}),
            "None",
            json!({}),
            Ok(json!({"a": "b", headless: "", managed: ours})),
        ),
        (
            "no longer headless",
            json!({"a": "b"}),
            "10.0.0.1",
            json!({headless: ""}),
            Ok(json!({"a": "b", managed: ours})),
        ),
        ("headless alone", json!({}), "None", json!({}), Err(RIGHT.to_owned())),
        (
            "of somebody else",
            json!({}),
            "10.0.0.1",
            json!({managed: "x"}),
            Ok(json!({ managed: ours })),
        ),
        (
            "the Service has our own labels, for which upstream writes on and on",
            json!({managed: "x", headless: "y"}),
            "10.0.0.1",
            json!({}),
            Err(RIGHT.to_owned()),
        ),
    ] {
        assert_eq!(labels(of_service, cluster_ip, of_stored), expected, "{name}");
    }
    let created = written(service(json!({"clusterIP": "None"})), &[], &[]).unwrap();
    assert_eq!(created["metadata"]["labels"], json!({headless: "", managed: ours}));
    assert_eq!(created["metadata"]["name"], "foo");
    assert_eq!(created.get("subsets"), None);
}

/// TestLastTriggerChangeTimeAnnotation, _AnnotationOverridden, _AnnotationCleared: whatever was
/// there, and other annotations stay. When a write fails, the next one still says why.
#[test]
fn the_trigger_is_told() {
    let annotation = "endpoints.kubernetes.io/last-change-trigger-time";
    let annotations = json!({annotation: "2000-01-01T00:00:00Z", "other": "x"});
    let old = stored(json!({"metadata": {"annotations": annotations}}));
    let since = |seconds| json!({"status": {"conditions": [ready(&ago(seconds))]}});
    let fixture = caches(&[service(json!({}))], &[with(v4(0), since(50))], &[old]);
    let mut memory = Memory::default();
    let look = |memory: &mut Memory, fixture: &Fixture, outcome: Outcome| {
        let snapshot = CONTROLLER.observe(&key(), &fixture.view(), memory).unwrap();
        let (plan, verdict) = CONTROLLER.decide(&snapshot, &Facts::default());
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        CONTROLLER.remember(memory, news, &mut Enqueue::default());
        let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
        fixture::body(actions[0].write().unwrap())["metadata"]["annotations"].clone()
    };
    let failed = Outcome { error: Some("no".to_owned()), step: Some(0), ..Outcome::default() };
    let first = json!({annotation: ago(100), "other": "x"});
    assert_eq!(look(&mut memory, &fixture, failed.clone()), first);
    assert_eq!(look(&mut memory, &fixture, Outcome::default()), first);
    let cleared = json!({"other": "x"});
    assert_eq!(look(&mut memory, &fixture, Outcome::default()), cleared);
    let fixture = fixture.holding::<Pod>(&[with(v4(0), since(20))]);
    let later = json!({annotation: ago(20), "other": "x"});
    assert_eq!(look(&mut memory, &fixture, failed), later);
    assert_eq!(look(&mut memory, &fixture, Outcome::default()), later);
    assert_eq!(look(&mut memory, &fixture, Outcome::default()), cleared);
    CONTROLLER.remember(&mut memory, News::Gone(&key()), &mut Enqueue::default());
    assert_eq!(look(&mut memory, &fixture, Outcome::default()), first);
}

/// TestSyncEndpointsServiceNotFound, TestEndpointsDeletionEvents; and what somebody else has made
/// is deleted only if the Service is gone live, too.
#[test]
fn leftovers_are_deleted() {
    let own = stored(json!({}));
    let other = with(own.clone(), json!({"metadata": {"labels": null}}));
    let query = Query::metadata(<Service as api::Kind>::RESOURCE, key());
    let plan = |endpoints: &Value, answer: Option<Answer>| {
        let facts = answer.map(|answer| Facts::from([(query.clone(), answer)]));
        let fixture = caches(&[], &[], std::slice::from_ref(endpoints));
        planned(&fixture, &facts.unwrap_or_default()).to_string()
    };
    let deleted = "why: there is no such Service\nin order: delete endpoints shop/foo\n";
    assert_eq!(plan(&own, None), deleted);
    let seems = "why: there seems to be no such Service\n";
    let asks = format!("{seems}fetch metadata of services shop/foo\n");
    assert_eq!(plan(&other, None), asks);
    assert_eq!(plan(&other, Some(Answer::NotFound)), deleted);
    let failed = Answer::Failed(Refused::from("no answer"));
    assert_eq!(plan(&other, Some(failed)), format!("{seems}error: no answer\n"));
    let nothing = caches(&[], &[], &[]);
    assert!(CONTROLLER.observe(&key(), &nothing.view(), &Memory::default()).is_none());
}

/// TestCheckLeftoverEndpoints: of the start, all but those of a leader election; later those that
/// go, and those of ours that have no Service.
#[test]
fn endpoints_enqueue_as_upstream() {
    let leader =
        json!({"metadata": {"annotations": {"control-plane.alpha.kubernetes.io/leader": ""}}});
    let own = decode::<Endpoints>(&stored(json!({})));
    let elected = decode::<Endpoints>(&stored(leader));
    let other =
        decode::<Endpoints>(&with(stored(json!({})), json!({"metadata": {"labels": null}})));
    let memory = Shared::<Memory>::default();
    let fixture = caches(&[service(json!({}))], &[], &[]);
    let empty = caches(&[], &[], &[]);
    let heard = |change: &Change<Endpoints>, fixture: &Fixture| {
        lines(&fixture::remembered(&CONTROLLER, &memory, change, fixture))
    };
    let now = "now shop/foo\n";
    assert_eq!(heard(&Change::Added(own.clone()), &fixture), now);
    assert_eq!(heard(&Change::Added(other.clone()), &fixture), now);
    assert_eq!(heard(&Change::Added(elected), &fixture), "");
    let start = Key::parse(START);
    let snapshot = CONTROLLER.observe(&start, &fixture.view(), &memory.read()).unwrap();
    let (plan, verdict) = CONTROLLER.decide(&snapshot, &Facts::default());
    assert!(plan.is_rest());
    let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &Outcome::default() };
    CONTROLLER.remember(&mut memory.write(), news, &mut Enqueue::default());
    assert_eq!(heard(&Change::Added(own.clone()), &fixture), "");
    assert_eq!(heard(&Change::Added(own.clone()), &empty), now);
    assert_eq!(heard(&Change::Added(other.clone()), &empty), "");
    assert_eq!(heard(&Change::Updated { old: own.clone(), new: other }, &empty), "");
    assert_eq!(heard(&Change::Deleted(own), &fixture), now);
    let it = decode::<Service>(&service(json!({})));
    assert_eq!(enqueued(&CONTROLLER, &Change::Deleted(it.clone()), &empty), "forget shop/foo\n");
    assert_eq!(enqueued(&CONTROLLER, &Change::Updated { old: it.clone(), new: it }, &empty), now);
}

/// TestSyncServiceOverCapacity, all rows: how many addresses there are then, and the annotation.
#[test]
fn a_thousand_addresses_fit() {
    let max = capacity::ADDRESSES_MAX;
    for (name, annotation, existing, wanted, (ready, other), is_truncated) in [
        ("empty", None, 0, (0, 0), (0, 0), false),
        ("past capacity, fewer ready ones", None, max - 1, (max - 3, 4), (max - 3, 3), true),
        ("past capacity, all ready", None, max - 1, (max, 10), (max, 0), true),
        ("removed below capacity", Some("truncated"), max - 1, (max - 1, 0), (max - 1, 0), false),
        ("a warning, at capacity", Some("warning"), max, (max, 0), (max, 0), false),
        ("a warning, over capacity", Some("warning"), max + 1, (max + 1, 0), (max, 0), true),
        ("removed at capacity", Some("truncated"), max, (max, 0), (max, 0), false),
        ("corrected", Some("invalid"), max + 1, (max + 1, 0), (max, 0), true),
    ] {
        let pods =
            (0..wanted.0 + wanted.1).map(|id| if id < wanted.0 { v4(id) } else { unready(v4(id)) });
        let pods: Vec<_> = pods.collect();
        let addresses: Vec<_> = (0..existing).map(address).collect();
        let key = "endpoints.kubernetes.io/over-capacity";
        let subset = json!({"addresses": addresses, "ports": [port(8080, "TCP")]});
        let subsets = if existing == 0 { json!([]) } else { json!([subset]) };
        let old = stored(
            json!({"metadata": {"annotations": {key: annotation, "a": "b"}}, "subsets": subsets}),
        );
        let Ok(body) = written(service(json!({})), &pods, &[old]) else {
            assert_eq!((name, existing), ("empty", 0));
            continue;
        };
        let count = |list: &str| body["subsets"][0][list].as_array().map_or(0, Vec::len);
        assert_eq!((count("addresses"), count("notReadyAddresses")), (ready, other), "{name}");
        let expected = if is_truncated { json!("truncated") } else { Value::Null };
        assert_eq!(body["metadata"]["annotations"][key], expected, "{name}");
        let again = written(service(json!({})), &pods, &[body]);
        assert_eq!(again.unwrap_err(), RIGHT, "{name}: once more");
    }
}

/// TestTruncateEndpoints, all rows; and the same shares, counted in another order, are right, too.
#[test]
fn what_does_not_fit_goes_as_upstream() {
    let subset = |at: usize, ready: usize, other: usize| {
        let list = |kind: &str, count| -> Vec<Value> {
            (0..count).map(|id| json!({ "ip": format!("{kind}-{at}-{id:04}") })).collect()
        };
        let json = json!({"addresses": list("a", ready), "notReadyAddresses": list("b", other),
            "ports": [{"port": at + 1}]});
        serde_json::from_value::<Subset>(json).unwrap()
    };
    for (name, ready, other, expected) in [
        ("empty", vec![], vec![], None),
        ("below", vec![50, 100, 100, 100, 100], vec![50, 100, 100, 100, 100], None),
        ("at capacity", vec![100; 5], vec![100; 5], None),
        (
            "ready ones fit",
            vec![90, 110, 50, 10, 20],
            vec![101, 200, 200, 201, 298],
            Some((vec![90, 110, 50, 10, 20], vec![73, 144, 144, 145, 214])),
        ),
        (
            "ready ones do not fit",
            vec![205, 400, 402, 400, 693],
            vec![100, 200, 200, 200, 300],
            Some((vec![98, 191, 192, 191, 328], vec![0; 5])),
        ),
    ] {
        let counts = ready.iter().zip(&other).enumerate();
        let mut all: Vec<_> =
            counts.map(|(at, (ready, other))| subset(at, *ready, *other)).collect();
        let cut = truncated(&all);
        let counts = cut.as_ref().map(|cut| {
            let ready = cut.iter().map(|it| it.addresses.len()).collect::<Vec<_>>();
            (ready, cut.iter().map(|it| it.not_ready_addresses.len()).collect::<Vec<_>>())
        });
        assert_eq!(counts, expected, "{name}");
        let Some(cut) = cut else { continue };
        assert!(is_truncated(&cut, &all), "{name}");
        let mut less = cut.clone();
        assert!(less[0].addresses.pop().is_some());
        assert!(!is_truncated(&less, &all), "{name}: one less");
        all.reverse();
        let other_way = truncated(&all).unwrap();
        assert_ne!(other_way.iter().rev().cloned().collect::<Vec<_>>(), cut, "{name}");
        all.reverse();
        assert!(is_truncated(&other_way, &all), "{name}: another order");
    }
}

/// Card, errors: the Events; a write names the version that was decided on and keeps what it does
/// not know.
#[test]
fn failures_are_told() {
    let old = stored(json!({"metadata": {"finalizers": ["example.com/f"]}, "later": 1}));
    for (endpoints, reason, text) in [
        (vec![], "FailedToCreateEndpoint", "Failed to create endpoint for service shop/foo: "),
        (vec![old], "FailedToUpdateEndpoint", "Failed to update endpoint shop/foo: "),
    ] {
        let plan = planned(&caches(&[service(json!({}))], &[v4(0)], &endpoints), &Facts::default());
        let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
        let write = actions[0].write().unwrap();
        let announce = &write.announce[0];
        assert_eq!((announce.failed.0, &*announce.failed.1), (reason, text));
        assert_eq!(announce.about.key, key());
        if !endpoints.is_empty() {
            let body = fixture::body(write);
            assert_eq!(body["metadata"]["resourceVersion"], "9");
            assert_eq!(body["metadata"]["finalizers"], json!(["example.com/f"]));
            assert_eq!(body["later"], 1);
        }
    }
}

/// What cannot be read is left alone.
#[test]
fn what_cannot_be_read_is_left_alone() {
    let it = service(json!({}));
    let fixture = Fixture::default().holding_unreadable::<Service>(&it, "spec: no");
    let fixture = fixture.holding::<Pod>(&[v4(0)]).holding::<Endpoints>(&[]);
    let plan = planned(&fixture, &Facts::default()).to_string();
    assert_eq!(plan, "why: the Service cannot be read: spec: no\n");
    let fixture = caches(&[it], &[v4(0)], &[]);
    let fixture = fixture.holding_unreadable::<Endpoints>(&stored(json!({})), "subsets: no");
    let plan = planned(&fixture, &Facts::default()).to_string();
    assert!(plan.contains("error: cannot read endpoints shop/foo: subsets: no"), "{plan}");
}

/// kubernetes/kubernetes 117193: whoever asks is told who is left out, and why.
#[test]
fn a_summary_says_who_is_left_out() {
    let pods = [
        v4(0),
        unready(v4(1)),
        with(v4(2), json!({"metadata": {"deletionTimestamp": NOW}})),
        with(v4(3), json!({"status": {"phase": "Failed"}})),
        numbered(4, &["IPv6"]),
        with(v4(5), json!({"status": {"podIP": null, "podIPs": null}})),
    ];
    let old = stored(json!({"subsets": [{"addresses": [address(0)]}]}));
    let fixture = caches(&[service(json!({}))], &pods, &[old]);
    let snapshot = CONTROLLER.observe(&key(), &fixture.view(), &Memory::default()).unwrap();
    let facts = CONTROLLER.summary(&snapshot).into_iter();
    let facts: Vec<_> = facts.map(|(name, value)| format!("{name}: {value}")).collect();
    let left_out = "left out: pod2 is being deleted, pod3 has ended, pod4 has no IPv4 address, \
                    pod5 has no address";
    let expected =
        ["pods: 6", "ready pods: 5", "ready addresses: 1", "other addresses: 0", left_out];
    assert_eq!(facts, expected);
}

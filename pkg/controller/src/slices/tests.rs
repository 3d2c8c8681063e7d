//! Tables, mirroring upstream's k8s.io/endpointslice (`util/controller_utils_test.go`,
//! `utils_test.go`, `metrics/cache_test.go`) and its `pkg/controller/endpointslicemirroring`
//! (`reconciler_helpers_test.go`). Which endpoint stands in which slice is tested in the two
//! controllers.

use std::time::Duration;

use api::Service;
use serde_json::Map;

use super::*;
use crate::Verb;
use crate::fixture::{Fixture, body, decode, lines, with};

const OURS: &str = "a.example.com";
const CHANGES: Counted = Counted::counter("changes", "[ALPHA] Changes").labels(&["operation"]);

fn slice(name: &str, ip: &str) -> Value {
    let family = if ip.contains(':') { "IPv6" } else { "IPv4" };
    let labels = json!({EndpointSlice::SERVICE_NAME: "web", EndpointSlice::MANAGED_BY: OURS});
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1",
            "labels": labels},
        "addressType": family,
        "endpoints": [{"addresses": [ip], "conditions": {}}],
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    })
}

fn endpoint(patch: Value) -> Endpoint {
    let base = json!({
        "addresses": ["10.0.0.1"],
        "conditions": {"ready": true},
        "targetRef": {"kind": "Pod", "namespace": "default", "name": "pod0"},
        "nodeName": "node-1",
        "zone": "zone-1",
    });
    serde_json::from_value(with(base, patch)).unwrap()
}

fn draft(ip: &str) -> Draft {
    let endpoint = Endpoint { addresses: vec![ip.into()], ..Endpoint::default() };
    Draft {
        existing: None,
        extent: Extent::Contents,
        family: if ip.contains(':') { Family::V6 } else { Family::V4 },
        ports: Vec::new(),
        endpoints: vec![endpoint],
        labels: BTreeMap::new(),
        annotations: Annotations::Trigger(None),
    }
}

fn owner(patch: Value) -> Arc<Service> {
    let base = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "s"},
        "spec": {"ports": [{"port": 80}]}});
    decode(&with(base, patch))
}

fn author<'a>(service: &'a Service, failed: Option<(&'static str, String)>) -> Author<'a> {
    Author { resource: Service::RESOURCE, owner: &service.meta, changes: &CHANGES, failed }
}

/// TestEndpointsEqualBeyondHash, all rows; hints do not count.
#[test]
fn endpoints_are_alike_as_upstream() {
    for (name, other, expected) in [
        ("no change", json!({}), true),
        ("NodeName changed", json!({"nodeName": "node-2"}), false),
        ("no NodeName", json!({"nodeName": null}), false),
        ("Zone changed", json!({"zone": "zone-2"}), false),
        ("Ready condition changed", json!({"conditions": {"ready": false}}), false),
        (
            "Serving condition changed from nil to true",
            json!({"conditions": {"serving": true, "terminating": false}}),
            false,
        ),
        ("Terminating alone", json!({"conditions": {"terminating": false}}), false),
        ("Pod name changed", json!({"targetRef": {"name": "pod1"}}), false),
        ("Pod uid changed", json!({"targetRef": {"uid": "2"}}), false),
        ("Pod resourceVersion added", json!({"targetRef": {"resourceVersion": "2"}}), true),
        ("no target", json!({"targetRef": null}), false),
        ("hints", json!({"hints": {"forZones": [{"name": "zone-1"}]}}), true),
    ] {
        let (one, other) = (endpoint(json!({})), endpoint(other));
        assert_eq!(is_alike(&one, &other), expected, "{name}");
        assert_eq!(is_alike(&other, &one), expected, "{name}, the other way");
    }
    let [serving, not] = [true, false].map(|it| endpoint(json!({"conditions": {"serving": it}})));
    assert!(!is_alike(&serving, &not), "Serving condition changed from false to true");
}

/// `hashEndpoint`: what an endpoint is known by; the order of its addresses does not count.
#[test]
fn endpoints_are_known_by_addresses_hostname_and_pod() {
    let two = |ips: [&str; 2]| endpoint(json!({ "addresses": ips }));
    for (name, other, expected) in [
        ("the same", endpoint(json!({})), true),
        ("an address", endpoint(json!({"addresses": ["10.0.0.2"]})), false),
        ("one more address", two(["10.0.0.1", "10.0.0.2"]), false),
        ("a hostname", endpoint(json!({"hostname": "h"})), false),
        ("an empty hostname", endpoint(json!({"hostname": ""})), true),
        ("another pod", endpoint(json!({"targetRef": {"name": "pod1"}})), false),
        ("of another namespace", endpoint(json!({"targetRef": {"namespace": "x"}})), false),
        ("no pod", endpoint(json!({"targetRef": null})), false),
        ("another uid", endpoint(json!({"targetRef": {"uid": "2"}})), true),
        (
            "node, zone, conditions",
            endpoint(json!({"nodeName": "n", "zone": "z",
            "conditions": {"ready": false}})),
            true,
        ),
    ] {
        let is_same = Identity::of(&endpoint(json!({}))) == Identity::of(&other);
        assert_eq!(is_same, expected, "{name}");
    }
    let (one, other) = (two(["10.0.0.1", "10.0.0.2"]), two(["10.0.0.2", "10.0.0.1"]));
    assert_eq!(Identity::of(&one), Identity::of(&other));
}

/// TestRecycleSlices, all rows: how many are made then, which become others, which go. Unlike
/// upstream's, ours takes the last of those to create, whichever these are.
#[test]
fn slices_become_others_rather_than_go() {
    let six = "2001:db8:1111:3333:4444:5555:6666:7777";
    let old_six = "2001:db8:2222:3333:4444:5555:6666:7777";
    for (name, create, delete, expected) in [
        ("empty", vec![], vec![], "0; ; "),
        ("1 to create and 1 to delete", vec!["10.1.2.3"], vec!["10.2.3.4"], "0; a 10.1.2.3; "),
        (
            "2 to create and 1 to delete",
            vec!["10.1.2.3", "10.3.4.5"],
            vec!["10.2.3.4"],
            "1; a 10.3.4.5; ",
        ),
        (
            "1 to create and 2 to delete",
            vec!["10.1.2.3"],
            vec!["10.2.3.4", "10.3.4.5"],
            "0; a 10.1.2.3; b",
        ),
        (
            "1 to create and 1 to delete for each IP family",
            vec!["10.1.2.3", six],
            vec!["10.2.2.3", old_six],
            "0; a 10.1.2.3, b 2001:db8:1111:3333:4444:5555:6666:7777; ",
        ),
        ("wrong IP family", vec!["10.1.2.3"], vec![old_six], "1; ; a"),
    ] {
        let delete = delete.iter().zip(["a", "b"]).map(|(ip, name)| decode(&slice(name, ip)));
        let mut changes = Changes {
            create: create.into_iter().map(draft).collect(),
            update: Vec::new(),
            delete: delete.collect(),
        };
        changes.recycle(|slice: &EndpointSlice, draft| slice.family == Some(draft.family));
        let updates = changes.update.iter().map(|draft| {
            assert_eq!(draft.extent, Extent::Recycled, "{name}");
            let existing = &draft.existing.as_ref().unwrap().meta.key.name;
            format!("{existing} {}", draft.endpoints[0].addresses[0])
        });
        let updates = updates.collect::<Vec<_>>().join(", ");
        let rest: Vec<_> = changes.delete.iter().map(|slice| &*slice.meta.key.name).collect();
        let found = format!("{}; {updates}; {}", changes.create.len(), rest.join(", "));
        assert_eq!(found, expected, "{name}");
    }
}

/// TestNewEndpointSlice: all that a new slice says; nil is left out, no endpoints are a list.
#[test]
fn new_slices_are_as_upstreams() {
    let service = owner(json!({}));
    let port = SlicePort { name: Some("".into()), port: Some(80), ..SlicePort::default() };
    let labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let made = Draft { ports: vec![port], endpoints: Vec::new(), labels, ..draft("10.0.0.1") };
    let changes = Changes { create: vec![made], ..Changes::default() };
    let actions = changes.actions(&author(&service, None));
    let [Action::Write(write)] = actions.as_slice() else { panic!("{actions:?}") };
    let expected = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": "web-", "namespace": "shop", "labels": {"a": "b"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "s",
                "controller": true, "blockOwnerDeletion": true}],
        },
        "addressType": "IPv4", "ports": [{"name": "", "port": 80}], "endpoints": [],
    });
    assert_eq!(body(write), expected);
}

/// How much of an existing slice is written: finalizers and foreign annotations stay, unless it
/// becomes another one.
#[test]
fn updates_write_no_more_than_they_must() {
    let owners = json!([{"apiVersion": "v1", "kind": "Service", "name": "w", "uid": "o"}]);
    let metadata = json!({"finalizers": ["example.com/f"], "annotations": {"x": "y"},
        "generateName": "w-", "ownerReferences": owners});
    let stored = with(slice("a", "10.0.0.1"), json!({ "metadata": metadata }));
    let service = owner(json!({}));
    let written = |extent, annotations: Annotations| {
        let existing = Some(decode(&stored));
        let update = vec![Draft { existing, extent, annotations, ..draft("10.0.0.2") }];
        let actions = Changes { update, ..Changes::default() }.actions(&author(&service, None));
        let [Action::Write(write)] = actions.as_slice() else { panic!("{actions:?}") };
        assert!(matches!(write.verb, Verb::Update(_)));
        body(write)
    };
    let contents = written(Extent::Contents, Annotations::Trigger(None));
    assert_eq!(contents["metadata"]["annotations"], json!({"x": "y"}));
    assert_eq!(contents["metadata"]["ownerReferences"][0]["uid"], "o");
    assert_eq!(contents["ports"], stored["ports"]);
    let whole = written(Extent::Whole, Annotations::Trigger(None));
    assert_eq!(whole["metadata"].get("annotations"), Some(&Value::Object(Map::new())));
    assert_eq!(whole["metadata"]["ownerReferences"][0]["uid"], "s");
    assert_eq!(whole["ports"], json!([]));
    let recycled = written(Extent::Recycled, Annotations::Trigger(None));
    // As `newEndpointSlice` of the mirroring, which says so of new ones alone.
    let generated = |slice: &Value| slice["metadata"]["generateName"].clone();
    assert_eq!(generated(&contents), "w-");
    assert_eq!((generated(&whole), generated(&recycled)), (Value::Null, json!("web-")));
    for written in [contents, whole, recycled] {
        assert_eq!(written["metadata"]["finalizers"], json!(["example.com/f"]));
        assert_eq!(written["metadata"]["resourceVersion"], "1");
        assert_eq!(written["endpoints"][0]["addresses"], json!(["10.0.0.2"]));
        assert_eq!(written["addressType"], "IPv4");
    }
    let all = BTreeMap::from([("b".to_owned(), "c".to_owned())]);
    let mirrored = written(Extent::Whole, Annotations::All(all));
    assert_eq!(mirrored["metadata"]["annotations"], json!({"b": "c"}));
}

/// Upstream's `finalize`: creates, updates, deletions, in this order; nothing is made for an owner
/// that is being deleted.
#[test]
fn writes_come_in_upstreams_order() {
    let changes = Changes {
        create: vec![draft("10.0.0.1")],
        update: vec![Draft {
            existing: Some(decode(&slice("a", "10.0.0.2"))),
            ..draft("10.0.0.2")
        }],
        delete: vec![decode(&slice("b", "10.0.0.3"))],
    };
    let verbs = |patch: Value| {
        let service = owner(patch);
        let failed = Some(("Failed", "Error: ".to_owned()));
        let actions = changes.actions(&author(&service, failed));
        let texts = actions.iter().map(|action| {
            let Action::Write(write) = action else { panic!("{action:?}") };
            let announce = write.announce.first().expect("a failure is reported");
            assert!(announce.failed.1.starts_with("Error: failed to "), "{:?}", announce.failed);
            match write.verb {
                Verb::Create(_) => "create",
                Verb::Update(_) => "update",
                Verb::Delete(_) => "delete",
                Verb::DeleteAll | Verb::Patch(_) => panic!("{write}"),
            }
        });
        texts.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(verbs(json!({})), "create update delete");
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    assert_eq!(verbs(deleted), "update delete");
    assert_eq!((changes.len(), changes.is_empty()), (3, false));
}

/// `onEndpointSliceAdd`, `..Update`, `..Delete` of both controllers.
#[test]
fn slices_enqueue_their_services() {
    let labels = |name: Value, manager: &str| {
        let labels = json!({EndpointSlice::SERVICE_NAME: name, EndpointSlice::MANAGED_BY: manager});
        let metadata = json!({"resourceVersion": "2", "labels": labels});
        with(slice("a", "10.0.0.1"), json!({ "metadata": metadata }))
    };
    let (ours, other) = (labels(json!("web"), OURS), labels(json!("web"), "b.example.com"));
    let first = slice("a", "10.0.0.1");
    let change = |old: &Value, new: &Value| Change::Updated { old: decode(old), new: decode(new) };
    for (name, change, expected) in [
        ("made", Change::Added(decode(&ours)), "web"),
        ("made by others", Change::Added(decode(&other)), ""),
        ("deleted", Change::Deleted(decode(&ours)), "web"),
        ("deleted, of others", Change::Deleted(decode(&other)), ""),
        ("of none", Change::Added(decode(&labels(Value::Null, OURS))), ""),
        ("changed", change(&first, &ours), "web"),
        ("a resync", change(&ours, &ours), ""),
        ("of others now", change(&first, &other), "web"),
        ("of another Service", change(&first, &labels(json!("db"), OURS)), "db web"),
        ("of no Service", change(&first, &labels(Value::Null, OURS)), "web"),
    ] {
        let mut queue = Enqueue::default();
        enqueue_owners(&change, OURS, Duration::ZERO, &mut queue);
        let found = lines(&queue).replace("now shop/", "").replace('\n', " ");
        assert_eq!(found.trim(), expected, "{name}");
    }
    let mut queue = Enqueue::default();
    let made = Change::Added(decode(&ours));
    enqueue_owners(&made, OURS, Duration::from_secs(1), &mut queue);
    assert_eq!(lines(&queue).trim(), "after 1s shop/web");
}

/// `getEndpointSlices`: by the label of the Service and that of the manager, in its namespace.
#[test]
fn slices_are_found_by_both_labels() {
    let label = |name: &str, value: &str| json!({"metadata": {"labels": {name: value}}});
    let of = |name: &str, patch| with(slice(name, "10.0.0.1"), patch);
    let slices = [
        of("b", json!({})),
        of("a", json!({})),
        of("c", label(EndpointSlice::MANAGED_BY, "b.example.com")),
        of("d", label(EndpointSlice::SERVICE_NAME, "db")),
        of("e", json!({"metadata": {"namespace": "x"}})),
    ];
    let fixture = Fixture::default().holding::<EndpointSlice>(&slices);
    let key = Key::new("shop", "web");
    let found = managed(&key, OURS, &fixture.view());
    let names: Vec<_> = found.iter().map(|slice| &*slice.meta.key.name).collect();
    assert_eq!(names, ["a", "b"]);
}

/// TestNumEndpointsAndSlices: 45, 35 and 100 fit into one slice of 100, 101 take two.
#[test]
fn endpoints_need_so_many_slices() {
    for (endpoints, expected) in [(0, 0), (1, 1), (45, 1), (100, 1), (101, 2), (250, 3)] {
        assert_eq!(slices_needed(endpoints, 100), expected, "{endpoints}");
    }
    assert_eq!(slices_needed(3, 0), 3, "no division by zero");
}

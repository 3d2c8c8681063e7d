//! Tables, mirroring upstream's `pkg/controller/endpointslicemirroring` (`reconciler_test.go`,
//! `reconciler_helpers_test.go`, `endpointslicemirroring_controller_test.go`, `utils_test.go`).

use api::{EndpointSlice, Endpoints, Key, Service};
use controller::fixture::{self, Fixture, NOW, decode, enqueued, with};
use controller::{Action, Change, Controller as _, Ended, Facts, Step, Verb};
use serde_json::{Value, json};

use super::*;

const NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// Endpoints `shop/foo`, and all that there is of them.
struct World {
    endpoints: Vec<Value>,
    services: Vec<Value>,
    slices: Vec<Value>,
    controller: Controller,
}

/// What a sync did: how many slices it made, changed and deleted, what was told, and the plan.
struct Synced {
    writes: [usize; 3],
    events: Vec<String>,
    plan: Plan,
}

/// `1.2.3.4 !1.2.3.5 : http/80 UDP/53`: a subset, in which `!` marks what is not ready.
fn subset(text: &str) -> Value {
    let (addresses, ports) = text.split_once(" : ").unwrap();
    let list = |not_ready: bool| -> Vec<Value> {
        let these = addresses.split_whitespace().filter(|ip| ip.starts_with('!') == not_ready);
        let host = |ip: &str| format!("pod-{}", ip.rsplit(['.', ':']).next().unwrap_or_default());
        these
            .map(|ip| ip.trim_start_matches('!'))
            .map(|ip| json!({"ip": ip, "hostname": host(ip), "nodeName": "node-1"}))
            .collect()
    };
    let port = |port: &str| {
        let (name, number) = port.split_once('/').unwrap();
        let number: i32 = number.parse().unwrap();
        json!({"name": name, "port": number, "protocol": "TCP"})
    };
    let ports: Vec<_> = ports.split_whitespace().map(port).collect();
    json!({"addresses": list(false), "notReadyAddresses": list(true), "ports": ports})
}

impl World {
    fn of(subsets: &[&str]) -> Self {
        let subsets: Vec<_> = subsets.iter().map(|text| subset(text)).collect();
        let metadata = json!({"name": "foo", "namespace": "shop", "uid": "e",
            "resourceVersion": "4", "labels": {"foo": "bar"}});
        let service = json!({"metadata": {"name": "foo", "namespace": "shop"}, "spec": {}});
        Self {
            endpoints: vec![json!({"metadata": metadata, "subsets": subsets})],
            services: vec![service],
            slices: Vec::new(),
            controller: Controller { batch_period: Duration::ZERO, subset_max: 1000 },
        }
    }

    fn set(&mut self, subsets: &[&str]) {
        self.endpoints[0]["subsets"] = subsets.iter().map(|text| subset(text)).collect();
    }

    fn fixture(&self) -> Fixture {
        let fixture = Fixture::default().holding::<Endpoints>(&self.endpoints);
        let fixture = fixture.holding::<Service>(&self.services);
        fixture.holding::<EndpointSlice>(&self.slices)
    }

    fn snapshot(&self) -> Option<Snapshot> {
        self.controller.observe(&Key::new("shop", "foo"), &self.fixture().view(), &())
    }

    fn sync(&mut self) -> Synced {
        let plan = self.controller.decide(&self.snapshot().unwrap(), &Facts::default()).0;
        let actions = plan.steps.iter().flat_map(|step| match step {
            Step::InOrder(actions) | Step::Together(actions) => actions.clone(),
            other @ (Step::SlowStart(_) | Step::Chains(_) | Step::Fetch(_)) => panic!("{other:?}"),
        });
        let (mut writes, mut events) = ([0; 3], Vec::new());
        for action in actions {
            let write = match &action {
                Action::Write(write) => write,
                Action::Cloud(order) => panic!("no cloud is here: {order}"),
                Action::Event(event) => {
                    events.push(format!("{} {}", event.reason, event.message));
                    continue;
                }
            };
            let name = &*write.object.key.name;
            let place = self.slices.iter().position(|slice| slice["metadata"]["name"] == name);
            match &write.verb {
                Verb::Create(_) => {
                    writes[0] += 1;
                    let name = format!("foo-{}", self.slices.len());
                    let metadata = json!({"name": name, "uid": name, "resourceVersion": "1"});
                    self.slices.push(with(fixture::body(write), json!({ "metadata": metadata })));
                }
                Verb::Update(_) => {
                    writes[1] += 1;
                    self.slices[place.unwrap()] = fixture::body(write);
                }
                Verb::Delete(_) => {
                    writes[2] += 1;
                    self.slices.remove(place.unwrap());
                }
                Verb::DeleteAll | Verb::Patch(_) => panic!("{write}"),
            }
        }
        Synced { writes, events, plan }
    }

    /// The slices, such as `IPv4 a/80: 1.2.3.4 !1.2.3.5`.
    fn shown(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut shown: Vec<_> = self
            .slices
            .iter()
            .map(|slice| {
                let ports = slice["ports"].as_array().unwrap().iter();
                let ports = ports.map(|it| format!(" {}/{}", text(&it["name"]), it["port"]));
                let endpoints = slice["endpoints"].as_array().unwrap().iter().map(|it| {
                    let ready = it["conditions"]["ready"] == json!(true);
                    format!(" {}{}", if ready { "" } else { "!" }, text(&it["addresses"][0]))
                });
                let (ports, endpoints) = (ports.collect::<String>(), endpoints.collect::<String>());
                format!("{}{ports}:{endpoints}", text(&slice["addressType"]))
            })
            .collect();
        shown.sort();
        shown
    }

    fn rests(&mut self, name: &str) {
        let again = self.sync();
        assert_eq!(again.writes, [0; 3], "{name}: {}", again.plan);
    }
}

/// TestReconcile, rows without slices that are there already; TestAddressToEndpoint.
#[test]
fn subsets_become_slices() {
    for (name, subsets, expected) in [
        ("no subsets", vec![], vec![]),
        ("no addresses", vec![" : a/80"], vec![]),
        ("1 subset, port, and address", vec!["10.0.0.1 : a/80"], vec!["IPv4 a/80: 10.0.0.1"]),
        (
            "2 subset, different port and address",
            vec!["10.0.0.1 : a/80", "10.0.0.2 : b/443"],
            vec!["IPv4 a/80: 10.0.0.1", "IPv4 b/443: 10.0.0.2"],
        ),
        (
            "2 subset, different port and same address",
            vec!["10.0.0.1 : a/80", "10.0.0.1 : b/443"],
            vec!["IPv4 a/80 b/443: 10.0.0.1"],
        ),
        (
            "2 subset, different address and same port",
            vec!["10.0.0.1 : a/80", "10.0.0.2 : a/80"],
            vec!["IPv4 a/80: 10.0.0.1 10.0.0.2"],
        ),
        (
            "2 ports, 2 ready and 2 not ready addresses",
            vec!["10.1.1.1 10.1.1.2 !10.1.2.3 !10.1.2.4 : a/80 b/443"],
            vec!["IPv4 a/80 b/443: 10.1.1.1 10.1.1.2 !10.1.2.3 !10.1.2.4"],
        ),
        (
            "2 subsets, multiple ports, and dual stack addresses",
            vec!["2001:db8::1 10.0.0.2 : a/80 b/443", "10.0.1.1 2001:db8::2 : c/3000"],
            vec![
                "IPv4 a/80 b/443: 10.0.0.2",
                "IPv4 c/3000: 10.0.1.1",
                "IPv6 a/80 b/443: 2001:db8::1",
                "IPv6 c/3000: 2001:db8::2",
            ],
        ),
        (
            "ipv6 only addresses",
            vec!["2001:db8::1 : a/80", "2001:db8::2 : c/3000"],
            vec!["IPv6 a/80: 2001:db8::1", "IPv6 c/3000: 2001:db8::2"],
        ),
        ("leading zeros", vec!["010.0.0.01 : a/80"], vec!["IPv4 a/80: 10.0.0.1"]),
    ] {
        let mut world = World::of(&subsets);
        let synced = world.sync();
        assert_eq!(world.shown(), expected, "{name}");
        assert_eq!(synced.writes, [expected.len(), 0, 0], "{name}");
        assert_eq!(synced.events, Vec::<String>::new(), "{name}");
        world.rests(name);
    }
}

/// TestNewEndpointSlice, TestAddressToEndpoint: all that a slice says.
#[test]
fn slices_say_what_the_endpoints_say() {
    let mut world = World::of(&["10.0.0.1 : a/80"]);
    let annotations = json!({"a": "b", "kubectl.kubernetes.io/last-applied-configuration": "x",
        "endpoints.kubernetes.io/last-change-trigger-time": "y"});
    world.endpoints[0]["metadata"]["annotations"] = annotations;
    world.endpoints[0]["subsets"][0]["ports"][0]["appProtocol"] = json!("http");
    let target = json!({"kind": "Pod", "name": "p", "uid": "u", "resourceVersion": "3"});
    world.endpoints[0]["subsets"][0]["addresses"][0]["targetRef"] = target.clone();
    world.sync();
    let slice = &world.slices[0];
    let metadata = &slice["metadata"];
    let owner = json!([{"apiVersion": "v1", "kind": "Endpoints", "name": "foo", "uid": "e",
        "controller": true, "blockOwnerDeletion": true}]);
    let labels = json!({"foo": "bar", NAME: "foo", MANAGED_BY: MANAGER});
    assert_eq!((&metadata["ownerReferences"], &metadata["labels"]), (&owner, &labels));
    assert_eq!(metadata["annotations"], json!({"a": "b"}));
    assert_eq!(metadata["generateName"], "foo-");
    let port = json!({"name": "a", "port": 80, "protocol": "TCP", "appProtocol": "http"});
    assert_eq!(slice["ports"], json!([port]));
    let endpoint = json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true},
        "hostname": "pod-1", "nodeName": "node-1", "targetRef": target});
    assert_eq!(slice["endpoints"], json!([endpoint]));
    world.rests("all");
}

/// TestReconcile, rows with slices that are there already.
#[test]
fn slices_are_written_only_where_they_are_wrong() {
    type Case<'a> = (&'a str, fn(&mut World), [usize; 3]);
    let one: &[&str] = &["10.0.0.1 10.0.0.2 : a/80"];
    let cases: [Case<'_>; 13] = [
        ("same fields", |_| {}, [0, 0, 0]),
        (
            "different OwnerReferences",
            |world| world.slices[0]["metadata"]["ownerReferences"][0]["uid"] = json!("old"),
            [0, 1, 0],
        ),
        (
            "an additional annotation",
            |world| world.slices[0]["metadata"]["annotations"] = json!({"x": "y"}),
            [0, 1, 0],
        ),
        (
            "all but the label",
            |world| world.endpoints[0]["metadata"]["labels"] = json!({"foo": "baz"}),
            [0, 1, 0],
        ),
        (
            "an annotation that is not mirrored",
            |world| {
                let key = "endpoints.kubernetes.io/last-change-trigger-time";
                world.endpoints[0]["metadata"]["annotations"] = json!({key: NOW});
            },
            [0, 0, 0],
        ),
        (
            "labels of ours, for which upstream writes on and on",
            |world| world.endpoints[0]["metadata"]["labels"][MANAGED_BY] = json!("x"),
            [0, 0, 0],
        ),
        ("some addresses", |world| world.set(&["10.0.0.1 10.0.0.3 : a/80"]), [0, 1, 0]),
        ("another readiness", |world| world.set(&["10.0.0.1 !10.0.0.2 : a/80"]), [0, 1, 0]),
        ("other ports: it is recycled", |world| world.set(&["10.0.0.1 : b/81"]), [0, 1, 0]),
        ("another family: it is not", |world| world.set(&["fd00::1 : a/80"]), [1, 0, 1]),
        ("no addresses", |world| world.set(&[]), [0, 0, 1]),
        (
            "a second slice of the same ports",
            |world| {
                let name = json!({"metadata": {"name": "foo-9", "uid": "9"}});
                world.slices.push(with(world.slices[0].clone(), name));
            },
            [0, 0, 1],
        ),
        ("a slice of names", |world| world.slices[0]["addressType"] = json!("FQDN"), [1, 0, 1]),
    ];
    for (name, change, writes) in cases {
        let mut world = World::of(one);
        world.sync();
        change(&mut world);
        let finalizers = json!({"metadata": {"finalizers": ["example.com/f"]}});
        world.slices[0] = with(world.slices[0].clone(), finalizers);
        assert_eq!(world.sync().writes, writes, "{name}");
        if writes[1] > 0 {
            let kept = &world.slices[0]["metadata"]["finalizers"];
            assert_eq!(*kept, json!(["example.com/f"]), "{name}");
        }
        world.rests(name);
    }
}

/// TestReconcile, "pending deletion": nothing is made.
#[test]
fn dying_endpoints_get_no_new_slices() {
    let mut world = World::of(&["10.0.0.1 : a/80"]);
    world.endpoints[0]["metadata"]["deletionTimestamp"] = json!(NOW);
    assert_eq!(world.sync().writes, [0, 0, 0]);
}

/// TestReconcile, the rows with limits and invalid addresses; events.go.
#[test]
fn what_is_not_mirrored_is_told_of() {
    let many = |count: usize, mark: &str| -> String {
        (0..count).fold(String::new(), |text, id| text + mark + "10.0.0." + &id.to_string() + " ")
    };
    let too_many = |max: usize, skipped: usize| {
        format!(
            "TooManyAddressesToMirror A max of {max} addresses can be mirrored to EndpointSlices \
             per Endpoints subset. {skipped} addresses were skipped"
        )
    };
    let invalid = |count: usize| {
        format!(
            "InvalidIPAddress Skipped {count} invalid IP addresses when mirroring to EndpointSlices"
        )
    };
    for (name, addresses, max, sizes, events) in [
        ("all fit", many(4, ""), 4, [4], vec![]),
        ("one too many", many(5, ""), 4, [4], vec![too_many(4, 1)]),
        ("ready ones first", format!("{}!10.0.1.1", many(4, "")), 4, [4], vec![too_many(4, 1)]),
        ("invalid ones", format!("{}host a.b", many(2, "")), 4, [2], vec![invalid(2)]),
        (
            "both: the invalid ones count, as upstream",
            format!("!x {}!10.0.1.1 !10.0.1.2", many(3, "")),
            4,
            [4],
            vec![too_many(4, 2)],
        ),
    ] {
        let mut world = World::of(&[&format!("{addresses} : a/80")]);
        world.controller.subset_max = max;
        let synced = world.sync();
        let found = world.slices.iter().map(|slice| slice["endpoints"].as_array().unwrap().len());
        assert_eq!(found.collect::<Vec<_>>(), sizes, "{name}");
        assert_eq!(synced.events, events, "{name}");
        world.rests(name);
    }
}

/// TestSyncEndpoints, TestShouldMirror: who is mirrored; what was mirrored of others goes.
#[test]
fn some_endpoints_are_not_mirrored() {
    type Case<'a> = (&'a str, fn(&mut World), &'a str);
    let leader = "control-plane.alpha.kubernetes.io/leader";
    let skip = "endpointslice.kubernetes.io/skip-mirror";
    let cases: [Case<'_>; 5] = [
        ("Endpoints not found", |world| world.endpoints.clear(), "there are no such Endpoints"),
        ("Service not found", |world| world.services.clear(), "there is no such Service"),
        (
            "Service with a selector",
            |world| world.services[0]["spec"]["selector"] = json!({"a": "b"}),
            "the Service has a selector, and so slices of its own",
        ),
        (
            "a label",
            |world| {
                let skip = "endpointslice.kubernetes.io/skip-mirror";
                world.endpoints[0]["metadata"]["labels"] = json!({skip: "true"});
            },
            "the Endpoints say that they are not mirrored",
        ),
        (
            "an annotation",
            |world| {
                let leader = "control-plane.alpha.kubernetes.io/leader";
                world.endpoints[0]["metadata"]["annotations"] = json!({leader: ""});
            },
            "the Endpoints say that they are not mirrored",
        ),
    ];
    for (name, change, why) in cases {
        let mut world = World::of(&["10.0.0.1 fd00::1 : a/80"]);
        world.sync();
        change(&mut world);
        let synced = world.sync();
        assert_eq!((synced.writes, &*synced.plan.why), ([0, 0, 2], why), "{name}");
        if let Some(snapshot) = world.snapshot() {
            let (plan, ()) = world.controller.decide(&snapshot, &Facts::default());
            assert_eq!(plan.to_string(), format!("why: {why}\n"), "{name}");
            assert_eq!(world.controller.summary(&snapshot)[0].1, why, "{name}");
        }
    }
    let mut world = World::of(&["10.0.0.1 : a/80"]);
    world.endpoints[0]["metadata"]["labels"] = json!({skip: "false"});
    assert_eq!(world.sync().writes, [1, 0, 0], "another value");
    assert_eq!(Endpoints::LEADER, leader);
}

/// Card, Events: whose changes enqueue whom.
#[test]
fn changes_enqueue_as_upstream() {
    let mut world = World::of(&["10.0.0.1 : a/80"]);
    let fixture = world.fixture();
    let mirrored = decode::<Endpoints>(&world.endpoints[0]);
    let label =
        json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}});
    let skipped = decode::<Endpoints>(&with(world.endpoints[0].clone(), label));
    let controller = world.controller;
    let heard = |change| enqueued(&controller, &change, &fixture);
    let now = "now shop/foo\n";
    assert_eq!(heard(Change::Added(mirrored.clone())), now);
    assert_eq!(heard(Change::Added(skipped.clone())), "");
    assert_eq!(heard(Change::Deleted(skipped.clone())), "");
    assert_eq!(heard(Change::Deleted(mirrored.clone())), "forget shop/foo\n");
    assert_eq!(heard(Change::Updated { old: mirrored.clone(), new: skipped.clone() }), now);
    assert_eq!(heard(Change::Updated { old: skipped.clone(), new: mirrored }), now);
    assert_eq!(heard(Change::Updated { old: skipped.clone(), new: skipped }), "");
    let without = decode::<Service>(&world.services[0]);
    let selector = json!({"spec": {"selector": {"a": "b"}}});
    let selecting = decode::<Service>(&with(world.services[0].clone(), selector));
    let heard = |change| enqueued(&controller, &change, &fixture);
    assert_eq!(heard(Change::Added(without.clone())), now);
    assert_eq!(heard(Change::Added(selecting.clone())), "");
    assert_eq!(heard(Change::Updated { old: without.clone(), new: selecting.clone() }), now);
    assert_eq!(heard(Change::Updated { old: without.clone(), new: without.clone() }), "");
    assert_eq!(heard(Change::Deleted(selecting)), "");
    assert_eq!(heard(Change::Deleted(without)), now);
    world.sync();
    let slice = decode::<EndpointSlice>(&world.slices[0]);
    assert_eq!(enqueued(&controller, &Change::Added(slice.clone()), &fixture), now);
    let slow = Controller { batch_period: Duration::from_secs(2), ..controller };
    assert_eq!(enqueued(&slow, &Change::Deleted(slice), &fixture), "after 2s shop/foo\n");
}

/// metrics.go: what is counted, and the gauges.
#[test]
fn syncs_are_counted_as_upstream() {
    let mut world = World::of(&["10.0.0.1 10.0.0.2 10.0.0.3 : a/80"]);
    world.sync();
    world.set(&["10.0.0.1 !10.0.0.2 10.0.0.4 10.0.0.5 x : a/80"]);
    let synced = world.sync();
    let prefix = "endpoint_slice_mirroring_controller_";
    let name = |name: &str| name.strip_prefix(prefix).unwrap().to_owned();
    let counts = synced.plan.counts.iter();
    let counts: Vec<_> =
        counts.map(|it| format!("{} {:?}", name(it.family.name), it.value)).collect();
    let expected = [
        "addresses_skipped_per_sync Of(1.0)",
        "endpoints_added_per_sync Of(2.0)",
        "endpoints_updated_per_sync Of(1.0)",
        "endpoints_removed_per_sync Of(1.0)",
    ];
    assert_eq!(counts, expected);
    let gauges = world.controller.gauges(&world.fixture().view(), &());
    let gauges: Vec<_> =
        gauges.iter().map(|it| format!("{} {:?}", name(it.family.name), it.value)).collect();
    let expected = [
        "endpoints_desired Of(4.0)",
        "num_endpoint_slices Of(1.0)",
        "desired_endpoint_slices Of(1.0)",
    ];
    assert_eq!(gauges, expected);
    let took = Duration::from_micros(2_600);
    let ended = Ended { took, unsettled: false, error: None, code: None };
    let counts = world.controller.counts(None, None, &ended);
    assert_eq!(counts[0].value, controller::Amount::Of(0.002));
}

/// What cannot be read is left alone.
#[test]
fn what_cannot_be_read_is_left_alone() {
    let mut world = World::of(&["10.0.0.1 : a/80"]);
    world.sync();
    let key = Key::new("shop", "foo");
    let plan = |fixture: &Fixture| {
        let snapshot = world.controller.observe(&key, &fixture.view(), &()).unwrap();
        world.controller.decide(&snapshot, &Facts::default()).0.to_string()
    };
    let fixture = world.fixture().holding_unreadable::<Endpoints>(&world.endpoints[0], "no");
    assert!(plan(&fixture).contains("error: cannot read endpoints shop/foo: no"));
    let fixture = world.fixture().holding_unreadable::<EndpointSlice>(&world.slices[0], "no");
    assert!(plan(&fixture).contains("error: cannot read endpointslice shop/foo-0: no"));
}

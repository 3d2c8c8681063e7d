//! Tables, mirroring upstream's `route_controller_test.go`.

use std::collections::BTreeSet;

use api::NodeAddress;
use cloud::{Ask, Done, Failure, Order, Reply, Route};
use controller::fixture::{Fixture, NOW, with};
use controller::{Action, Answer, Controller as _, Query, Refused};
use serde_json::{Value, json};

use super::*;

const CLUSTER: &str = "my-k8s";

fn controller(ranges: &[&str]) -> Controller {
    Controller {
        cluster: CLUSTER.into(),
        ranges: ranges.iter().map(|text| Prefix::parse_sloppy(text).unwrap()).collect(),
        period: Duration::from_secs(10),
    }
}

/// The ranges of TestReconcile.
fn dual() -> Controller {
    controller(&["10.120.0.0/16", "ace:cab:deca::/8"])
}

/// A node with these ranges and this address.
fn node(name: &str, ranges: &[&str], address: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "7"},
        "spec": {"podCIDRs": ranges},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    })
}

fn single() -> Vec<Value> {
    vec![
        node("node-1", &["10.120.0.0/24"], "10.0.1.1"),
        node("node-2", &["10.120.1.0/24"], "10.0.2.1"),
    ]
}

fn multi() -> Vec<Value> {
    vec![
        node("node-3", &["10.120.0.0/24", "a00:100::/24"], "10.0.3.1"),
        node("node-4", &["10.120.1.0/24", "a00:200::/24"], "10.0.4.1"),
    ]
}

/// A node that has said this of its network.
fn says(node: Value, status: &str, reason: &str) -> Value {
    let condition = json!({"type": "NetworkUnavailable", "status": status, "reason": reason});
    with(node, json!({"status": {"conditions": [condition]}}))
}

fn route(name: &str, node: &str, cidr: &str) -> Route {
    Route {
        name: format!("{CLUSTER}-{name}").into(),
        node: node.into(),
        cidr: cidr.into(),
        ..Route::default()
    }
}

/// A route whose addresses count.
fn minding(route: Route, address: &str) -> Route {
    let (r#type, address) = ("InternalIP".to_owned(), address.to_owned());
    let addresses = [NodeAddress { r#type, address }].into();
    Route { addresses, minds_addresses: true, ..route }
}

fn blackhole(name: &str, cidr: &str) -> Route {
    Route { is_blackhole: true, ..route(name, "", cidr) }
}

/// What became of a pass.
#[derive(Debug, Default)]
struct Pass {
    /// The routes after it, as `node cidr`.
    routes: BTreeSet<String>,
    /// Orders, in order.
    orders: Vec<String>,
    /// Conditions, by node.
    conditions: Vec<String>,
    events: Vec<String>,
    error: Option<String>,
    again: Option<Duration>,
}

/// Passes over all nodes, with a cloud that has these routes. It makes none to the node `refused`.
fn pass(controller: &Controller, nodes: &[Value], routes: &[Route], refused: &str) -> Pass {
    pass_of(controller, &Fixture::default().holding::<Machine>(nodes), routes, refused)
}

/// The same over these caches.
fn pass_of(controller: &Controller, fixture: &Fixture, routes: &[Route], refused: &str) -> Pass {
    let snapshot = controller.observe(&Key::parse("routes"), &fixture.view(), &()).unwrap();
    let shown = |route: &Route| format!("{} {}", route.node, route.cidr);
    let mut done = Pass { routes: routes.iter().map(shown).collect(), ..Pass::default() };
    let mut facts = Facts::default();
    loop {
        let (plan, ()) = controller.decide(&snapshot, &facts);
        let (steps, queries) = plan.round();
        for action in steps.iter().flat_map(actions) {
            match action {
                Action::Cloud(order) => {
                    done.orders.push(order.to_string());
                    let result = match &**order {
                        Order::CreateRoute { route, .. } if &*route.node == refused => {
                            Err(Failure::from("quota"))
                        }
                        Order::CreateRoute { route, .. } => {
                            done.routes.insert(shown(route));
                            Ok(None)
                        }
                        Order::DeleteRoute { route, .. } => {
                            done.routes.remove(&shown(route));
                            Ok(None)
                        }
                        Order::Ensure { .. } | Order::Update { .. } | Order::Delete { .. } => {
                            panic!("another order: {order}")
                        }
                    };
                    let took = Duration::from_millis(1500);
                    facts = facts.after(Order::clone(order), Done { result, took });
                }
                Action::Event(event) => {
                    let text = format!("{:?} {} {}", event.r#type, event.reason, event.message);
                    done.events.push(text);
                }
                Action::Write(write) => done.conditions.push(condition(write)),
            }
        }
        let Some(queries) = queries else {
            (done.error, done.again) = (plan.error.clone(), plan.again);
            return done;
        };
        for query in queries {
            let Query::Cloud(Ask::Routes { cluster }) = query else { panic!("{query}") };
            assert_eq!(&**cluster, CLUSTER);
            let answer = Answer::Cloud(Reply::Routes(routes.to_vec()));
            facts.answers.insert(query.clone(), answer);
        }
    }
}

fn actions(step: &controller::Step) -> &[Action] {
    let controller::Step::Together(actions) = step else { panic!("another step: {step:?}") };
    actions
}

/// As `node status reason`.
fn condition(write: &controller::Write) -> String {
    let body = controller::fixture::body(write);
    let [it] = body["status"]["conditions"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!(
        (it["type"].as_str(), write.subresource),
        (Some("NetworkUnavailable"), Some("status"))
    );
    assert_eq!((&it["lastTransitionTime"], &it["lastHeartbeatTime"]), (&json!(NOW), &json!(NOW)));
    assert_eq!(body["metadata"]["uid"], json!(&*write.object.uid));
    let text = |field: &str| it[field].as_str().unwrap().to_owned();
    format!("{} {} {}: {}", write.object.key, text("status"), text("reason"), text("message"))
}

fn made(node: &str) -> String {
    format!("{node} False RouteCreated: RouteController created a route")
}

fn missing(node: &str) -> String {
    format!("{node} True NoRouteCreated: RouteController failed to create a route")
}

/// All rows of TestIsResponsibleForRoute, and one that cannot be read.
#[test]
fn routes_of_others_stay() {
    for (cluster, cidr, expected) in [
        ("10.244.0.0/16", "10.244.0.0/24", true),
        ("10.244.0.0/16", "10.244.10.0/24", true),
        ("10.244.0.0/16", "10.244.255.0/24", true),
        ("10.244.0.0/14", "10.244.0.0/24", true),
        ("10.244.0.0/14", "10.247.255.0/24", true),
        ("a00:100::/10", "a00:100::/24", true),
        ("10.244.0.0/16", "10.224.0.0/24", false),
        ("10.244.0.0/16", "10.0.10.0/24", false),
        ("10.244.0.0/16", "10.255.255.0/24", false),
        ("10.244.0.0/14", "10.248.0.0/24", false),
        ("10.244.0.0/14", "10.243.255.0/24", false),
        ("a00:100::/10", "b00:100::/24", false),
        ("10.244.0.0/16", "10.244.0.0", false),
    ] {
        let done = pass(&controller(&[cluster]), &[], &[route("1", "gone", cidr)], "");
        assert_eq!(done.routes.is_empty(), expected, "{cluster} {cidr}");
    }
}

/// The rows of TestReconcile without addresses: the routes that there are afterwards.
#[test]
fn each_node_has_a_route_for_each_of_its_ranges() {
    let (single_routes, multi_routes) = (
        ["node-1 10.120.0.0/24", "node-2 10.120.1.0/24"],
        [
            "node-3 10.120.0.0/24",
            "node-3 a00:100::/24",
            "node-4 10.120.1.0/24",
            "node-4 a00:200::/24",
        ],
    );
    let (one, two) =
        (route("01", "node-1", "10.120.0.0/24"), route("02", "node-2", "10.120.1.0/24"));
    let of_3 = [route("01", "node-3", "10.120.0.0/24"), route("03", "node-3", "a00:100::/24")];
    let of_4 = [route("02", "node-4", "10.120.1.0/24"), route("04", "node-4", "a00:200::/24")];
    let all = [of_3.clone(), of_4.clone()].concat();
    let wrong = [("01", "node-3", "10.120.1.0/24"), ("02", "node-4", "10.120.0.0/24")]
        .map(|(name, node, cidr)| route(name, node, cidr));
    let extra = |cidr| route("x", "node-x", cidr);
    for (name, nodes, routes, orders) in [
        ("multicidr 2 nodes and no routes", multi(), vec![], 4),
        ("multicidr 2 nodes and all routes created", multi(), all.clone(), 0),
        ("multicidr 2 nodes and few wrong routes", multi(), wrong.to_vec(), 6),
        (
            "multicidr 2 nodes and some routes created",
            multi(),
            vec![of_3[0].clone(), of_4[1].clone()],
            2,
        ),
        (
            "multicidr 2 nodes and too many routes",
            multi(),
            [all, vec![extra("10.120.2.0/24"), extra("a00:300::/24")]].concat(),
            2,
        ),
        ("single cidr 2 nodes and routes created", single(), vec![one.clone(), two.clone()], 0),
        ("single cidr 2 nodes and one route created", single(), vec![one.clone()], 1),
        ("single cidr 2 nodes and no routes", single(), vec![], 2),
        (
            "single cidr 2 nodes and too many routes",
            single(),
            vec![one.clone(), two.clone(), extra("10.120.2.0/24"), extra("10.120.3.0/24")],
            2,
        ),
        (
            "single cidr 2 nodes and 2 routes with 1 incorrect",
            single(),
            vec![one.clone(), extra("10.120.2.0/24")],
            2,
        ),
        (
            "single cidr 2 nodes and an extra blackhole route in our range",
            single(),
            vec![one.clone(), two.clone(), blackhole("03", "10.120.2.0/24")],
            1,
        ),
    ] {
        let done = pass(&dual(), &nodes, &routes, "");
        let is_multi = nodes == multi();
        let expected = if is_multi { &multi_routes[..] } else { &single_routes };
        assert!(done.routes.iter().map(String::as_str).eq(expected.iter().copied()), "{name}");
        assert_eq!(done.orders.len(), orders, "{name}: {:?}", done.orders);
        let names = if is_multi { ["node-3", "node-4"] } else { ["node-1", "node-2"] };
        assert_eq!(done.conditions, names.map(made), "{name}");
        assert_eq!((done.error, done.again), (None, Some(Duration::from_secs(10))), "{name}");
    }
    let foreign = blackhole("03", "10.1.2.0/24");
    let done = pass(&dual(), &single(), &[one, two, foreign], "");
    assert_eq!(done.orders, [""; 0], "an extra blackhole route not in our range");
}

/// TestReconcile, "node ips changed so routes should be updated"; and upstream's issue 98359.
#[test]
fn a_route_to_other_addresses_is_made_anew() {
    let of = |address: &str| {
        [("01", "node-1", "10.120.0.0/24"), ("02", "node-2", "10.120.1.0/24")]
            .map(|(name, node, cidr)| minding(route(name, node, cidr), address))
    };
    let done = pass(&dual(), &single()[..1], &of("10.0.1.2")[..1], "");
    assert_eq!(
        done.orders,
        [
            "cloud: delete route my-k8s-01 10.120.0.0/24 to node-1",
            "cloud: create route 10.120.0.0/24 to node-1 with hint uid-node-1",
        ]
    );
    assert_eq!(done.conditions, [made("node-1")]);
    let done = pass(&dual(), &single()[..1], &of("10.0.1.1")[..1], "");
    assert_eq!(done.orders, [""; 0], "the same ones");
    let unminded = route("01", "node-1", "10.120.0.0/24");
    assert_eq!(pass(&dual(), &single()[..1], &[unminded], "").orders, [""; 0], "they do not count");
}

/// TestReconcile: a node without a range is skipped, unless routes lead to it; a range that is
/// there twice gets one route.
#[test]
fn a_node_without_ranges_has_no_network() {
    let bare = node("node-2", &[], "10.0.5.1");
    let done = pass(&dual(), &[single()[0].clone(), bare.clone()], &[], "");
    assert_eq!(done.routes, BTreeSet::from(["node-1 10.120.0.0/24".to_owned()]));
    assert_eq!(done.conditions, [made("node-1")]);
    let old = route("02", "node-2", "10.120.1.0/24");
    let done = pass(&dual(), &[bare], &[old], "");
    assert_eq!((done.routes.len(), done.conditions), (0, vec![missing("node-2")]));
    let twice = node("node-4", &["10.120.1.0/24", "10.120.1.0/24"], "10.0.4.1");
    assert_eq!(pass(&dual(), &[twice], &[], "").orders.len(), 1);
}

/// Rule: a route that cannot be made is an Event, and its node has no network; others have.
#[test]
fn a_route_that_fails_is_said() {
    let done = pass(&dual(), &single(), &[], "node-2");
    assert_eq!(
        done.events,
        ["Warning FailedToCreateRoute Could not create route uid-node-2 10.120.1.0/24 for node \
          node-2 after 1.5s: quota"]
    );
    assert_eq!(done.conditions, [made("node-1"), missing("node-2")]);
    assert_eq!((done.error, done.again), (None, Some(Duration::from_secs(10))));
}

/// All rows of TestUpdateNetworkingCondition, and of its scenario with Calico.
#[test]
fn a_condition_is_written_if_it_differs() {
    let bare = || node("it", &["10.120.0.0/24"], "10.0.1.1");
    for (name, node, is_made, writes) in [
        ("No existing condition, routes created", bare(), true, true),
        ("No existing condition, routes not created", bare(), false, true),
        ("same status and reason", says(bare(), "False", "RouteCreated"), true, false),
        ("CalicoIsUp", says(bare(), "False", "CalicoIsUp"), true, true),
        ("ExternalCNI", says(bare(), "False", "ExternalCNI"), true, true),
        ("SomeOtherReason", says(bare(), "True", "SomeOtherReason"), false, true),
        ("transitioning", says(bare(), "False", "RouteCreated"), false, true),
        ("NoRouteCreated", says(bare(), "True", "NoRouteCreated"), false, false),
    ] {
        let done = pass(&dual(), &[node], &[], if is_made { "" } else { "it" });
        let expected = if is_made { made("it") } else { missing("it") };
        let expected = if writes { vec![expected] } else { vec![] };
        assert_eq!(done.conditions, expected, "{name}");
    }
}

/// Rule: nothing is taken for absent because it cannot be read. The routes of a node stay, and it
/// is not said to have no network; other nodes get theirs.
#[test]
fn an_unreadable_node_keeps_its_routes() {
    let odd = node("node-1", &["10.120.0.0/24"], "10.0.1.1");
    let fixture = Fixture::default()
        .holding::<Machine>(&single()[1..])
        .holding_unreadable::<Machine>(&odd, "status: no");
    let there = [route("01", "node-1", "10.120.0.0/24")];
    let done = pass_of(&dual(), &fixture, &there, "");
    assert_eq!(done.orders.len(), 1, "{:?}", done.orders);
    assert!(done.routes.contains("node-1 10.120.0.0/24"), "{:?}", done.routes);
    assert_eq!(done.conditions, [made("node-2")]);
}

/// Rule: without the list of routes nothing is decided.
#[test]
fn routes_that_cannot_be_listed_are_an_error() {
    let controller = dual();
    let fixture = Fixture::default().holding::<Machine>(&single());
    let snapshot = controller.observe(&Key::parse("routes"), &fixture.view(), &()).unwrap();
    let query = Query::Cloud(Ask::Routes { cluster: CLUSTER.into() });
    let facts = Facts::from([(query, Answer::Failed(Refused::from("down")))]);
    let (plan, ()) = controller.decide(&snapshot, &facts);
    assert_eq!(
        plan.to_string(),
        "why: the routes cannot be listed\nerror: error listing routes: down\n"
    );
    let said = controller.summary(&snapshot);
    assert_eq!(said, [("nodes", "2".to_owned()), ("nodes with ranges", "2".to_owned())]);
}

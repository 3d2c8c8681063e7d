//! Which routes are to be made and deleted, and which nodes have a network. As `reconcile` in
//! upstream's `k8s.io/cloud-provider/controllers/route/route_controller.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Kind, Machine, NodeAddress, Prefix, Status, Text, go};
use cloud::{Ask, Order, Reply, Route};
use controller::{Action, Event, EventType, Facts, ObjectRef, PatchKind, Plan, Query, Step, Write};
use serde_json::json;

use super::Controller;
use super::snapshot::Snapshot;

/// What becomes of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// It is there.
    Keep,
    /// It is missing.
    Add,
    /// It leads to other addresses: it is deleted, and made anew.
    Update,
}

/// Of each node that has ranges or routes, by name, what becomes of the route of each range.
type Courses<'a> = BTreeMap<&'a Text, BTreeMap<&'a Text, Course>>;

pub(super) fn decide(controller: &Controller, s: &Snapshot, facts: &Facts) -> Plan {
    let Controller { cluster, ranges, period } = controller;
    let query = Query::Cloud(Ask::Routes { cluster: cluster.clone() });
    let Some(answer) = facts.get(&query) else {
        return Plan::fetch("which routes are there?", vec![query]);
    };
    let routes = match answer.cloud() {
        Ok(Reply::Routes(routes)) => routes,
        Ok(Reply::Balancer(_) | Reply::Is(_)) => {
            return Plan::failed("no list of routes", "error listing routes: an unfit answer");
        }
        Err(error) => {
            let error = format!("error listing routes: {error}");
            return Plan::failed("the routes cannot be listed", error);
        }
    };
    let courses = courses(s, routes);
    let stale = stale(routes, &courses, ranges);
    let delete =
        |route: &Route| Order::DeleteRoute { cluster: cluster.clone(), route: route.clone() };
    let deletes: Vec<Order> = stale.into_iter().map(delete).collect();
    let creates = creates(cluster, s, &courses);
    let orders = deletes.iter().chain(creates.iter().map(|(_, order)| order));
    if orders.clone().any(|order| !facts.done.contains_key(order)) {
        let why = format!("{} routes are missing, {} are stale", creates.len(), deletes.len());
        // Upstream's issue 98359: the same route may be deleted and made.
        let in_turn = routes.first().is_some_and(|route| route.minds_addresses);
        let all = |orders: Vec<Order>| orders.into_iter().map(Action::from).collect::<Vec<_>>();
        let creates = creates.into_iter().map(|(_, order)| order).collect();
        let mut steps = if in_turn {
            vec![Step::Together(all(deletes)), Step::Together(all(creates))]
        } else {
            vec![Step::Together([all(deletes), all(creates)].concat())]
        };
        steps.push(Step::Fetch(Vec::new()));
        return Plan { why: why.into(), steps, ..Plan::default() };
    }
    say(s, &courses, &creates, facts).again_after(Some(*period))
}

fn courses<'a>(s: &'a Snapshot, routes: &'a [Route]) -> Courses<'a> {
    let mut courses = Courses::new();
    let mut by_node: BTreeMap<&Text, Vec<&Route>> = BTreeMap::new();
    for route in routes.iter().filter(|route| !route.node.is_empty()) {
        courses.entry(&route.node).or_default();
        by_node.entry(&route.node).or_default().push(route);
    }
    for machine in &s.machines {
        let name = &machine.meta.key.name;
        let routes = by_node.get(name).map_or(&[][..], Vec::as_slice);
        if machine.unreadable.is_some() {
            // Its ranges are unknown: the routes that lead to it stay.
            let kept = routes.iter().map(|route| (&route.cidr, Course::Keep));
            courses.insert(name, kept.collect());
            continue;
        }
        if machine.pod_cidrs.is_empty() {
            continue;
        }
        let ranges = courses.entry(name).or_default();
        for cidr in &machine.pod_cidrs {
            ranges.insert(cidr, course(routes, cidr, &machine.addresses));
        }
    }
    courses
}

/// As `getRouteAction`.
fn course(routes: &[&Route], cidr: &Text, addresses: &[NodeAddress]) -> Course {
    match routes.iter().find(|route| route.cidr == *cidr) {
        None => Course::Add,
        Some(route) if !route.minds_addresses || are_equal(addresses, &route.addresses) => {
            Course::Keep
        }
        Some(_) => Course::Update,
    }
}

/// As `equalNodeAddrs`: in any order.
fn are_equal(some: &[NodeAddress], others: &[NodeAddress]) -> bool {
    some.len() == others.len() && some.iter().all(|it| others.contains(it))
}

/// The routes that are to be deleted.
fn stale<'a>(routes: &'a [Route], courses: &Courses<'_>, ranges: &[Prefix]) -> Vec<&'a Route> {
    let is_wanted = |route: &Route| {
        let course = courses.get(&route.node).and_then(|ranges| ranges.get(&route.cidr));
        matches!(course, Some(Course::Keep | Course::Add))
    };
    let is_stale =
        |route: &&Route| is_responsible(route, ranges) && (route.is_blackhole || !is_wanted(route));
    routes.iter().filter(is_stale).collect()
}

/// As `isResponsibleForRoute`.
fn is_responsible(route: &Route, ranges: &[Prefix]) -> bool {
    let Some(cidr) = Prefix::parse_sloppy(&route.cidr) else { return false };
    ranges.iter().any(|range| {
        let has = |address| (range.first()..=range.last()).contains(&address);
        range.is_v4() == cidr.is_v4() && (has(cidr.first()) || has(cidr.last()))
    })
}

/// The routes that are to be made, with their nodes.
fn creates<'a>(
    cluster: &Text,
    s: &'a Snapshot,
    courses: &Courses<'_>,
) -> Vec<(&'a Arc<Machine>, Order)> {
    let mut creates = Vec::new();
    for machine in &s.machines {
        let Some(ranges) = courses.get(&machine.meta.key.name) else { continue };
        for (cidr, _) in ranges.iter().filter(|(_, course)| **course != Course::Keep) {
            let route = Route {
                node: machine.meta.key.name.clone(),
                addresses: machine.addresses.clone(),
                cidr: Text::clone(cidr),
                ..Route::default()
            };
            let (cluster, hint) = (cluster.clone(), machine.meta.uid.clone());
            creates.push((machine, Order::CreateRoute { cluster, hint, route }));
        }
    }
    creates
}

/// What became of the routes: Events, and conditions.
fn say(
    s: &Snapshot,
    courses: &Courses<'_>,
    creates: &[(&Arc<Machine>, Order)],
    facts: &Facts,
) -> Plan {
    let (mut events, mut failed) = (Vec::new(), Vec::new());
    for (machine, order) in creates {
        let done = facts.done.get(order);
        let Some(Err(error)) = done.map(|done| &done.result) else { continue };
        let took = go::duration(done.map(|done| done.took).unwrap_or_default());
        let Order::CreateRoute { hint, route: Route { cidr, node, .. }, .. } = order else {
            continue;
        };
        let message =
            format!("Could not create route {hint} {cidr} for node {node} after {took}: {error}");
        events.push(Action::Event(Event {
            // As upstream names it in its Events.
            about: Arc::new(ObjectRef {
                resource_version: 0,
                ..ObjectRef::new(&Machine::RESOURCE, &machine.meta)
            }),
            r#type: EventType::Warning,
            reason: "FailedToCreateRoute".into(),
            message,
        }));
        failed.push(&machine.meta.key.name);
    }
    let readable = s.machines.iter().filter(|it| it.unreadable.is_none());
    let condition = |machine: &Arc<Machine>| {
        let name = &machine.meta.key.name;
        let ranges = courses.get(name)?;
        let is_reached = !ranges.is_empty() && !failed.contains(&name);
        network(s, machine, is_reached)
    };
    let conditions: Vec<Action> = readable.filter_map(condition).map(Action::from).collect();
    let (failures, written) = (failed.len(), conditions.len());
    let steps = [events, conditions].into_iter().filter(|it| !it.is_empty());
    let why = match (failures, written) {
        (0, 0) => "all routes are there, and the nodes say so".to_owned(),
        (0, _) => "all routes are there".to_owned(),
        (_, _) => format!("{failures} routes could not be made"),
    };
    Plan { why: why.into(), steps: steps.map(Step::Together).collect(), ..Plan::default() }
}

/// As `updateNetworkingCondition`; none: the node says so.
fn network(s: &Snapshot, machine: &Machine, is_reached: bool) -> Option<Write> {
    let (status, reason, message) = if is_reached {
        (Status::False, "RouteCreated", "RouteController created a route")
    } else {
        (Status::True, "NoRouteCreated", "RouteController failed to create a route")
    };
    let known = machine.network_unavailable.as_ref();
    if known.is_some_and(|(known, why)| (*known, &**why) == (status, reason)) {
        return None;
    }
    let condition = json!({
        "type": "NetworkUnavailable",
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": s.now,
        "lastTransitionTime": s.now,
    });
    let body = json!({
        "metadata": {"uid": &*machine.meta.uid},
        "status": {"conditions": [condition]},
    });
    let object = ObjectRef::new(&Machine::RESOURCE, &machine.meta);
    Some(Write::patch(object, PatchKind::Strategic, body.to_string()).at("status"))
}

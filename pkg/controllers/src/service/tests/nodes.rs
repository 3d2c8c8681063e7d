//! Which nodes load balancers lead to, and what follows when they change.

use cloud::Failure;
use controller::Change;
use controller::fixture::{NOW, decode, with};
use serde_json::{Value, json};

use super::world::{World, held, node, service};
use super::{ENSURED, ENSURING, Machine, NO_NODES, TELLS, lines};

fn excluded(node: Value, value: &str) -> Value {
    let label = "node.kubernetes.io/exclude-from-external-load-balancers";
    with(node, json!({"metadata": {"labels": {label: value}}}))
}

fn tainted(node: Value) -> Value {
    let taint = json!({"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"});
    with(node, json!({"spec": {"taints": [taint]}}))
}

fn provided(node: Value, id: &str) -> Value {
    with(node, json!({"spec": {"providerID": id}}))
}

fn unready(node: Value) -> Value {
    with(node, json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}))
}

/// A world whose load balancer was ensured for the nodes `a` and `b`.
fn ensured() -> World {
    let mut world = World::new(&held(service()));
    world.sync();
    world
}

/// `stableNodeSetPredicates`: rows of Test_respectsPredicates, TestListWithPredicate and of
/// `nodeIncludedPredicate`.
#[test]
fn load_balancers_lead_to_stable_nodes() {
    for (name, node, expected) in [
        ("a node", node("a"), true),
        ("that is not ready", unready(node("a")), true),
        ("that the autoscaler removes", tainted(node("a")), false),
        ("that goes", with(node("a"), json!({"metadata": {"deletionTimestamp": NOW}})), false),
        ("excluded", excluded(node("a"), "true"), false),
        ("excluded, in short", excluded(node("a"), "1"), false),
        ("excluded by a word that is none", excluded(node("a"), ""), false),
        ("excluded by another word", excluded(node("a"), "no"), false),
        ("not excluded", excluded(node("a"), "false"), true),
        ("not excluded, in short", excluded(node("a"), "0"), true),
    ] {
        let mut world = World::new(&held(service())).with_nodes(&[node]);
        let order = if expected { "to [a]" } else { "to []" };
        assert!(world.sync().contains(order), "{name}");
    }
}

/// Rows of Test_shouldSyncUpdatedNode_individualPredicates and _compoundedPredicates.
#[test]
fn a_node_enqueues_load_balancers_if_it_counts_otherwise() {
    let (a, b) = (node("a"), node("b"));
    let tainted_a = tainted(node("a"));
    for (name, old, new, expected) in [
        ("nothing", a.clone(), a.clone(), false),
        ("the taint of the autoscaler", a.clone(), tainted_a.clone(), false),
        ("not that taint any more", tainted_a, a.clone(), false),
        ("excluded", a.clone(), excluded(node("a"), ""), true),
        ("included", excluded(node("a"), ""), a.clone(), true),
        ("excluded by another word", excluded(node("a"), ""), excluded(node("a"), "true"), false),
        ("ready", unready(node("a")), a.clone(), false),
        ("a provider ID", a.clone(), provided(node("a"), "p1"), true),
        ("another provider ID", provided(node("a"), "p1"), provided(node("a"), "p2"), true),
    ] {
        let (mut world, keys) = (ensured(), if expected { "now shop/web\n" } else { "" });
        let change = Change::Updated { old: decode::<Machine>(&old), new: decode(&new) };
        assert_eq!(world.change(&change, &[a.clone(), b.clone()]), keys, "{name}");
    }
    for change in [Change::Added(decode::<Machine>(&a)), Change::Deleted(decode(&a))] {
        assert_eq!(ensured().change(&change, &[a.clone(), b.clone()]), "now shop/web\n");
        let mut world = World::new(&held(service()));
        assert_eq!(world.change(&change, &[]), "", "none was asked for");
    }
}

/// TestNodeChangesInExternalLoadBalancer, TestNodesNotEqual and `lockedUpdateLoadBalancerHosts`.
#[test]
fn a_load_balancer_follows_the_nodes() {
    let updated = "event Normal UpdatedLoadBalancer: Updated load balancer with new hosts";
    let (a, b, c) = (node("a"), node("b"), node("c"));
    let added = Change::Added(decode::<Machine>(&c));
    let follows = |names: &str, event: &str| {
        lines(&[&format!("cloud: update load balancer of shop/web to [{names}]"), event])
    };
    for (name, nodes, expected) in [
        ("a node added", vec![a.clone(), b.clone(), c.clone()], follows("a b c", updated)),
        ("a node removed", vec![a.clone()], follows("a", updated)),
        ("another node", vec![a.clone(), c.clone()], follows("a c", updated)),
        ("all nodes removed", vec![], follows("", NO_NODES)),
        ("the same nodes", vec![a.clone(), b.clone()], String::new()),
        ("another provider ID", vec![a.clone(), provided(b, "p")], follows("a b", updated)),
    ] {
        let mut world = ensured();
        world.change(&added, &nodes);
        assert_eq!(world.sync(), expected, "{name}");
        assert_eq!(world.sync(), "", "{name}, once");
    }
}

/// Rule, as of upstream's handlers: a taint of the autoscaler alone moves no load balancer.
#[test]
fn a_load_balancer_waits_for_a_node_that_counts() {
    let mut world = ensured();
    let (old, new) = (decode::<Machine>(&node("a")), decode(&tainted(node("a"))));
    world.change(&Change::Updated { old, new }, &[tainted(node("a")), node("b")]);
    assert_eq!(world.sync(), "");
}

/// `nodeSyncService`: what cannot be updated is ensured at once, if there still is one.
#[test]
fn a_load_balancer_that_does_not_follow_is_ensured() {
    let added = Change::Added(decode::<Machine>(&node("c")));
    let nodes = [node("a"), node("b"), node("c")];
    let order = "cloud: update load balancer of shop/web to [a b c]";
    let failed = "event Warning UpdateLoadBalancerFailed: Error updating load balancer with new \
                  hosts [a b c] [node names limited, total number of nodes: 3], error: busy";
    let ensures = "cloud: ensure load balancer of shop/web to [a b c]";
    for get_fails in [None, Some("down")] {
        let mut world = ensured();
        world.change(&added, &nodes);
        world.cloud.updates = Err(Failure::from("busy"));
        (world.cloud.exists, world.cloud.get_fails) = (true, get_fails);
        assert_eq!(world.sync(), lines(&[order, failed, "again in 0ns"]), "{get_fails:?}");
        assert_eq!(world.sync(), lines(&[ENSURING, ensures, ENSURED, TELLS]), "{get_fails:?}");
    }
    for (exists, failure) in [(false, Failure::from("busy")), (true, Failure::elsewhere())] {
        let mut world = ensured();
        world.change(&added, &nodes);
        world.cloud.exists = exists;
        world.cloud.updates = Err(failure);
        assert_eq!(world.sync(), lines(&[order]), "there is none, or another program's");
        assert_eq!(world.sync(), "");
    }
}

/// `loggableNodeNames`: twenty names, and how many more there are.
#[test]
fn an_event_names_some_nodes() {
    let nodes: Vec<_> = (10..35).map(|number| node(&format!("n{number}"))).collect();
    let mut world = ensured();
    world.change(&Change::Added(decode::<Machine>(&nodes[0])), &nodes);
    (world.cloud.exists, world.cloud.updates) = (true, Err(Failure::from("busy")));
    let said = world.sync();
    assert!(said.contains("n28 n29 <5 more>] [node names limited, total number of nodes: 25]"));
}

/// Issue: what changed while a load balancer was made is not in it, and nothing else tells.
/// Upstream knows the Service before it asks for one (`processServiceCreateOrUpdate`).
#[test]
fn nodes_that_change_while_it_is_made_are_followed() {
    let mut world = World::new(&held(service()));
    let added = Change::Added(decode::<Machine>(&node("c")));
    let nodes = [node("a"), node("b"), node("c")];
    assert_eq!(world.made_beside(&added, &nodes), "now shop/web\n");
    let mut world = ensured();
    let same = decode::<Machine>(&node("a"));
    let change = Change::Updated { old: std::sync::Arc::clone(&same), new: same };
    assert_eq!(world.made_beside(&change, &nodes[..2]), "", "nothing changed");
}

//! What cannot be written for some nodes must not keep the others from their pods. Upstream takes
//! nodes in the order of a Go map, another one each time.

use std::collections::BTreeSet;

use controller::fixture;
use controller::{Action, Plan, Step};

use super::super::Controller;
use super::world::{Done, World};
use super::*;

/// More syncs than that no node may have to wait.
const SYNCS_MAX: usize = 60;

/// Syncs as the engine does, while the API server refuses some writes. Whether one was refused.
fn try_out(world: &mut World, refuses: impl Fn(&Action) -> bool) -> bool {
    let plan = world.plan();
    let mut done = Done::default();
    let failed = plan.steps.iter().any(|step| match step {
        Step::InOrder(actions) => !in_order(world, actions, &refuses, &mut done),
        Step::Together(actions) => !together(world, actions, &refuses, &mut done),
        Step::SlowStart(actions) => {
            let (mut rest, mut size) = (actions.as_slice(), 1);
            while !rest.is_empty() {
                let (batch, later) = rest.split_at(size.min(rest.len()));
                if !together(world, batch, &refuses, &mut done) {
                    return true;
                }
                (rest, size) = (later, 2 * size);
            }
            false
        }
        Step::Chains(chains) => {
            let ends = chains.iter().map(|chain| in_order(world, chain, &refuses, &mut done));
            ends.filter(|well| !well).count() > 0
        }
        Step::Fetch(_) => panic!("answered already: {plan}"),
    });
    world.failures = if failed { world.failures + 1 } else { 0 };
    failed
}

fn in_order(
    world: &mut World,
    actions: &[Action],
    refuses: &impl Fn(&Action) -> bool,
    done: &mut Done,
) -> bool {
    actions.iter().all(|action| together(world, std::slice::from_ref(action), refuses, done))
}

/// Whether none was refused; all are tried.
fn together(
    world: &mut World,
    actions: &[Action],
    refuses: &impl Fn(&Action) -> bool,
    done: &mut Done,
) -> bool {
    let (refused, admitted): (Vec<_>, Vec<_>) = actions.iter().partition(|it| refuses(it));
    for action in admitted {
        world.apply(action, done);
    }
    refused.is_empty()
}

/// Refuses pods for these nodes.
fn creates_for(nodes: &'static [&'static str]) -> impl Fn(&Action) -> bool {
    move |action| {
        let Some(write) = action.write().filter(|write| write.created().is_some()) else {
            return false;
        };
        let body = fixture::body(write);
        body["kind"] == "Pod" && nodes.contains(&&*target(&body))
    }
}

/// Refuses to delete these pods.
fn deletes_of(pods: BTreeSet<String>) -> impl Fn(&Action) -> bool {
    move |action| {
        let deletes = action.write().filter(|write| write.deleted().is_some());
        deletes.is_some_and(|write| pods.contains(&*write.object.key.name))
    }
}

/// The nodes with a pod that is there or comes.
fn served(world: &World) -> BTreeSet<String> {
    let node = |pod: &Value| pod["spec"]["nodeName"].as_str().map(str::to_owned);
    world.pods.values().map(|pod| node(pod).unwrap_or_else(|| target(pod))).collect()
}

/// Pods come to their nodes, and are ready for long.
fn live(world: &mut World) {
    world.each_pod(|pod| {
        let node = pod["spec"]["nodeName"].as_str().map_or_else(|| target(&pod), str::to_owned);
        ready_for(with(pod, json!({"spec": {"nodeName": node}})), 3600)
    });
}

/// The pods of a node.
fn pods_on(world: &World, node: &str) -> BTreeSet<String> {
    let pods = world.pods.iter().filter(|(_, pod)| pod["spec"]["nodeName"] == node);
    pods.map(|(name, _)| name.clone()).collect()
}

fn image_of(pod: &Value) -> &Value {
    &pod["spec"]["containers"][0]["image"]
}

#[test]
fn nodes_whose_pods_are_refused_starve_no_others() {
    for (name, refused, nodes) in [
        ("the first by name", &["node-0"][..], 8),
        ("the first half", &["node-0", "node-1", "node-2", "node-3"], 8),
        ("all but the last", &["node-0", "node-1", "node-2"], 4),
        ("one of many", &["node-0"], 300),
    ] {
        let mut world = world(&set(), nodes);
        let tries = (0..SYNCS_MAX).take_while(|_| {
            try_out(&mut world, creates_for(refused));
            served(&world).len() < nodes - refused.len()
        });
        let tries = tries.count();
        assert!(tries < SYNCS_MAX, "{name}: only {:?} got a pod", served(&world));
    }
}

/// When pods are deleted as well, the new ones are created one after the other.
#[test]
fn nodes_whose_pods_are_refused_starve_no_others_while_pods_go() {
    let mut world = world(&set(), 6);
    world.put_node(tainted(node("node-9"), "x", "NoExecute"));
    world.put_pod(own("stays", "node-9"));
    let refuses = |action: &Action| {
        creates_for(&["node-0"])(action) || deletes_of(["stays".to_owned()].into())(action)
    };
    let tries = (0..SYNCS_MAX).take_while(|_| {
        try_out(&mut world, refuses);
        served(&world).len() < 6
    });
    assert!(tries.count() < SYNCS_MAX, "only {:?} have a pod", served(&world));
}

#[test]
fn pods_that_cannot_be_deleted_keep_no_others() {
    let mut world = world(&set(), 0);
    world.controller = Controller::new(2);
    for n in 0..6 {
        world.put_node(tainted(node(&format!("node-{n}")), "x", "NoExecute"));
        world.put_pod(own(&format!("pod-{n}"), &format!("node-{n}")));
    }
    let refused: BTreeSet<_> = ["pod-0", "pod-1", "pod-2"].map(str::to_owned).into();
    let tries = (0..SYNCS_MAX).take_while(|_| {
        try_out(&mut world, deletes_of(refused.clone()));
        world.pods.len() > refused.len()
    });
    assert!(tries.count() < SYNCS_MAX, "left: {:?}", world.pods.keys());
}

/// `rollingUpdate` without and with surge.
#[test]
fn a_node_that_cannot_be_updated_keeps_no_others() {
    for surges in [false, true] {
        let strategy = if surges { surge(set(), &json!(1)) } else { unavailable(set(), &json!(1)) };
        let mut world = world(&strategy, 5);
        world.sync();
        live(&mut world);
        world.set = image(world.set.clone(), "foo/new");
        let old = pods_on(&world, "node-0");
        let new =
            |world: &World| world.pods.values().filter(|pod| *image_of(pod) == "foo/new").count();
        let tries = (0..SYNCS_MAX).take_while(|_| {
            let old = old.clone();
            let refuses = |action: &Action| {
                deletes_of(old.clone())(action) || surges && creates_for(&["node-0"])(action)
            };
            try_out(&mut world, refuses);
            live(&mut world);
            new(&world) < 4
        });
        assert!(tries.count() < SYNCS_MAX, "surge {surges}: {} are new", new(&world));
    }
}

/// The same failures give the same plan, and without any nodes are taken by name.
#[test]
fn the_same_failures_begin_at_the_same_node() {
    let first = |failures: u32| {
        let mut world = world(&set(), 9);
        world.failures = failures;
        let created = creates(&world.plan());
        assert_eq!(created.iter().collect::<BTreeSet<_>>().len(), 9, "each once: {created:?}");
        created[0].clone()
    };
    assert_eq!(first(0), "node-0");
    let begun = || (0..20).map(first).collect::<Vec<_>>();
    assert_eq!(begun(), begun());
    assert_eq!(begun().into_iter().collect::<BTreeSet<_>>().len(), 9, "each one's turn comes");
}

/// The nodes that pods are made for, in order.
fn creates(plan: &Plan) -> Vec<String> {
    let [.., Step::SlowStart(creates)] = plan.steps.as_slice() else { panic!("{plan}") };
    let target_of = |action: &Action| {
        let Action::Write(create) = action else { panic!("{action}") };
        target(&fixture::body(create))
    };
    creates.iter().map(target_of).collect()
}

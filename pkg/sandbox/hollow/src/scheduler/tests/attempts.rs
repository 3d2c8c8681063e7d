//! What becomes of pods that wait, with an API server, a clock and kubelets.

use serde_json::json;

use super::{asks, pod};
use crate::Nodes;
use crate::fields::{condition, items, text};
use crate::kinds::{CLAIMS, NODES, PODS};
use crate::world::World;

fn why(world: &World, name: &str) -> String {
    let scheduled = condition(world.pod(name), "PodScheduled");
    scheduled.map_or_else(String::new, |it| {
        format!("{} {}: {}", text(it, "/status"), text(it, "/reason"), text(it, "/message"))
    })
}

#[test]
fn pods_that_fit_nowhere_say_why_and_wait() {
    let mut world = World::new(&Nodes::new(3));
    world.run(1);
    world.edit(&NODES, "node-1", |node| {
        node["spec"]["taints"] = json!([{ "key": "k", "effect": "NoSchedule" }]);
    });
    world.edit(&NODES, "node-2", |node| node["spec"]["unschedulable"] = json!(true));
    world.create(&PODS, pod("big", &asks(&json!({ "cpu": "5" }))));
    world.run(1);
    let help = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
    let message = format!(
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 \
         node(s) were unschedulable. {help}"
    );
    assert_eq!(why(&world, "big"), format!("False Unschedulable: {message}"));
    assert_eq!(world.events("FailedScheduling"), [(message.as_str(), 1)]);
    let requests = world.requests;
    world.run(200);
    assert!(world.requests - requests < 3 * 21 + 3, "nothing changes, nothing is tried");
    world.edit(&PODS, "default/big", |pod| {
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("1");
    });
    world.run(1);
    assert_eq!(text(world.pod("big"), "/spec/nodeName"), "node-0");
}

#[test]
fn no_nodes_at_all() {
    let mut world = World::new(&Nodes::new(0));
    world.create(&PODS, pod("p", &json!({})));
    world.run(1);
    assert_eq!(why(&world, "p"), "False Unschedulable: no nodes available to schedule pods");
    world.kubelet.add(1);
    world.run(12);
    assert_eq!(world.ready(), 1);
}

#[test]
fn pods_that_name_their_node() {
    let mut world = World::new(&Nodes::new(3));
    world.run(1);
    let field = json!({ "key": "metadata.name", "operator": "In", "values": ["node-1"] });
    let mut spec = asks(&json!({ "cpu": "9" }));
    spec["affinity"] = json!({ "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{ "matchFields": [field] }],
        },
    } });
    world.create(&PODS, pod("p", &spec));
    world.run(1);
    let wanted = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) \
                  [NodeAffinity].";
    assert!(why(&world, "p").contains(wanted), "{}", why(&world, "p"));
}

#[test]
fn claims_must_exist() {
    let mut world = World::new(&Nodes::new(1));
    world.run(1);
    let volume = json!({ "name": "v", "persistentVolumeClaim": { "claimName": "c" } });
    world.create(&PODS, pod("p", &json!({ "volumes": [volume] })));
    world.run(1);
    let wanted = "0/1 nodes are available: persistentvolumeclaim \"c\" not found.";
    assert!(why(&world, "p").contains(wanted), "{}", why(&world, "p"));
    world.create(&CLAIMS, json!({ "metadata": { "name": "c", "namespace": "default" } }));
    world.run(12);
    assert_eq!(world.ready(), 1);
}

#[test]
fn gates_and_other_schedulers() {
    let mut world = World::new(&Nodes::new(1));
    world.run(1);
    world.create(&PODS, pod("gated", &json!({ "schedulingGates": [{ "name": "x/y" }] })));
    world.create(&PODS, pod("foreign", &json!({ "schedulerName": "mine" })));
    world.run(5);
    assert_eq!((world.ready(), why(&world, "gated")), (0, String::new()));
    world.edit(&PODS, "default/gated", |pod| pod["spec"]["schedulingGates"] = json!([]));
    world.run(5);
    assert_eq!(world.ready(), 1);
}

#[test]
fn the_important_go_first() {
    let mut world = World::new(&Nodes::new(1).size("1", "1Gi", 10));
    for (name, priority) in [("low", 0), ("high", 10), ("mid", 5)] {
        let mut spec = asks(&json!({ "cpu": "600m" }));
        spec["priority"] = json!(priority);
        spec["preemptionPolicy"] = json!("Never");
        world.create(&PODS, pod(name, &spec));
    }
    world.run(5);
    assert_eq!(text(world.pod("high"), "/spec/nodeName"), "node-0");
    let never = "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to \
                 preemptionPolicy=Never.";
    assert_eq!(why(&world, "mid"), format!("False Unschedulable: {never}"));
    world.delete("high", Some(1));
    world.run(15);
    assert_eq!(text(world.pod("mid"), "/spec/nodeName"), "node-0");
    assert_eq!(text(world.pod("low"), "/spec/nodeName"), "");
}

#[test]
fn the_fewest_and_least_important_make_room() {
    let mut world = World::new(&Nodes::new(2).size("1", "1Gi", 10));
    world.run(1);
    // Two on each node: on one of them 1 and 3, on the other 2 and 3.
    for (name, cpu, priority, node) in
        [("a1", "500m", 1, 0), ("a3", "500m", 3, 0), ("b2", "500m", 2, 1), ("b3", "500m", 3, 1)]
    {
        let mut spec = asks(&json!({ "cpu": cpu }));
        spec["priority"] = json!(priority);
        spec["nodeName"] = json!(format!("node-{node}"));
        world.create(&PODS, pod(name, &spec));
    }
    world.run(5);
    let mut spec = asks(&json!({ "cpu": "500m" }));
    spec["priority"] = json!(5);
    world.create(&PODS, pod("p", &spec));
    world.run(0);
    assert_eq!(text(world.pod("p"), "/status/nominatedNodeName"), "node-0");
    assert_eq!(
        why(&world, "p"),
        "False Unschedulable: 0/2 nodes are available: 2 Insufficient cpu."
    );
    let victim = condition(world.pod("a1"), "DisruptionTarget").unwrap();
    assert_eq!(text(victim, "/reason"), "PreemptionByScheduler");
    let message = "default-scheduler: preempting to accommodate a higher priority pod";
    assert_eq!(text(victim, "/message"), message);
    assert_eq!(world.events("Preempted").len(), 1);
    // The room is kept for it.
    let mut spec = asks(&json!({ "cpu": "500m" }));
    spec["priority"] = json!(1);
    world.create(&PODS, pod("q", &spec));
    world.run(10);
    assert_eq!(text(world.pod("p"), "/spec/nodeName"), "node-0");
    assert_eq!(text(world.pod("q"), "/spec/nodeName"), "");
    assert!(why(&world, "q").contains("2 No preemption victims found for incoming pod."));
    let left: Vec<&str> = world.all("pods").map(|pod| text(pod, "/metadata/name")).collect();
    assert_eq!(left, ["a3", "b2", "b3", "p", "q"]);
}

#[test]
fn what_is_bound_counts_before_it_is_seen() {
    let mut world = World::new(&Nodes::new(1).size("1", "1Gi", 10));
    world.run(1);
    (0..5).for_each(|at| {
        world.create(&PODS, pod(&format!("p{at}"), &asks(&json!({ "cpu": "400m" }))));
    });
    world.run(3);
    assert_eq!((world.ready(), world.failures.len()), (2, 0));
    assert!(items(world.pod("p4"), "/status/conditions").len() == 1);
}

#[test]
fn lost_victims_are_asked_to_go_again() {
    let mut world = World::new(&Nodes::new(1).size("1", "1Gi", 10));
    world.run(1);
    let with = |name: &str, priority: i64| {
        let mut spec = asks(&json!({ "cpu": "1" }));
        spec["priority"] = json!(priority);
        pod(name, &spec)
    };
    world.create(&PODS, with("low", 0));
    world.run(5);
    world.create(&PODS, with("high", 1));
    world.drop_every = Some(1);
    world.run(5);
    assert_eq!(text(world.pod("low"), "/metadata/deletionTimestamp"), "");
    world.drop_every = None;
    world.run(30);
    assert_eq!(text(world.pod("high"), "/spec/nodeName"), "node-0");
}

#[test]
fn failures_are_a_series() {
    let mut world = World::new(&Nodes::new(1).quiet());
    world.run(1);
    world.create(&PODS, pod("p", &asks(&json!({ "cpu": "9" }))));
    let count = |world: &World| {
        let series = world.all("events").find_map(|event| event.pointer("/series/count"));
        series.and_then(serde_json::Value::as_i64)
    };
    // Each change of the node is a reason to try again.
    for (at, wanted) in [None, Some(2), Some(2), Some(2)].into_iter().enumerate() {
        world.run(15);
        assert_eq!(count(&world), wanted);
        world.edit(&NODES, "node-0", |node| {
            node["metadata"]["labels"]["at"] = json!(at.to_string());
        });
    }
    // Every five minutes it is tried without a reason, and after six it is said.
    world.run(700);
    assert_eq!(count(&world), Some(7));
    assert_eq!(world.all("events").count(), 1);
}

#[test]
fn a_victim_may_take_its_time() {
    let mut world = World::new(&Nodes::new(1).size("1", "1Gi", 10));
    world.run(1);
    let with = |name: &str, priority: i64| {
        let mut spec = asks(&json!({ "cpu": "1" }));
        spec["priority"] = json!(priority);
        let mut pod = pod(name, &spec);
        pod["metadata"]["annotations"]["sandbox/stop-delay"] = json!("20s");
        pod
    };
    world.create(&PODS, with("low", 0));
    world.run(5);
    world.create(&PODS, with("high", 1));
    world.run(15);
    let wanted = "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to a \
                  terminating pod on the nominated node.";
    assert_eq!(why(&world, "high"), format!("False Unschedulable: {wanted}"));
    assert_eq!(text(world.pod("high"), "/status/nominatedNodeName"), "node-0");
    world.run(10);
    assert_eq!(world.events("Preempted").len(), 1);
    assert_eq!(text(world.pod("high"), "/spec/nodeName"), "node-0");
}

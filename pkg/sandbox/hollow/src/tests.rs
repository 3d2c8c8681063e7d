//! Kubelets, the scheduler and volumes together.

use std::time::Duration;

use serde_json::json;

use crate::Nodes;
use crate::fields::{at, condition, items, number, text, time};
use crate::kinds::{CLAIMS, LEASES, NODES, PODS, VOLUMES};
use crate::world::{World, pod, pod_with};

#[test]
fn ten_nodes_and_fifty_pods_become_ready() {
    let mut world = World::new(&Nodes::new(10));
    (0..50).for_each(|at| world.create(&PODS, pod(&format!("p{at}"))));
    world.run(5);
    assert_eq!((world.ready(), world.failures.as_slice()), (50, &[][..]));
    for node in world.all("nodes") {
        let here = world
            .all("pods")
            .filter(|it| text(it, "/spec/nodeName") == text(node, "/metadata/name"));
        assert_eq!(here.count(), 5, "least allocated spreads them");
    }
    let addresses: std::collections::BTreeSet<&str> =
        world.all("pods").map(|pod| text(pod, "/status/podIP")).collect();
    assert_eq!(addresses.len(), 50);
    let pod = world.pod("p7");
    let message = format!("Successfully assigned default/p7 to {}", text(pod, "/spec/nodeName"));
    assert_eq!(world.events("Scheduled").iter().filter(|(it, _)| *it == message).count(), 1);
    let quiet = world.requests;
    world.run(9);
    assert!(world.requests - quiet <= 20, "at rest there are leases only");
}

#[test]
fn lost_requests_are_sent_again() {
    for every in [2, 3, 5] {
        let mut world = World::new(&Nodes::new(4));
        world.drop_every = Some(every);
        (0..20).for_each(|at| world.create(&PODS, pod(&format!("p{at}"))));
        world.run(120);
        assert_eq!(world.ready(), 20, "one of {every} lost");
        (0..20).for_each(|at| world.delete(&format!("p{at}"), Some(5)));
        world.run(120);
        assert_eq!(world.all("pods").count(), 0, "one of {every} lost");
    }
}

#[test]
fn the_same_seed_does_the_same() {
    let run = || {
        let mut world = World::new(&Nodes::new(5));
        (0..30).for_each(|at| world.create(&PODS, pod(&format!("p{at}"))));
        world.run(30);
        world.log
    };
    assert_eq!(run(), run());
}

#[test]
fn a_killed_node_falls_silent_and_comes_back() {
    let mut world = World::new(&Nodes::new(2));
    (0..4).for_each(|at| world.create(&PODS, pod(&format!("p{at}"))));
    world.run(10);
    let name = text(world.pod("p0"), "/spec/nodeName").to_owned();
    assert!(world.kubelet.kill(&name));
    world.run(1);
    let lease = format!("kube-node-lease/{name}");
    let renewed =
        |world: &World| text(world.get(&LEASES, &lease).unwrap(), "/spec/renewTime").to_owned();
    let before = renewed(&world);
    // As the node lifecycle controller does.
    world.edit(&NODES, &name, |node| node["status"]["conditions"][3]["status"] = json!("Unknown"));
    world.run(60);
    assert_eq!(renewed(&world), before);
    world.kubelet.revive(&name);
    world.run(5);
    assert_ne!(renewed(&world), before);
    let node = world.get(&NODES, &name).unwrap();
    assert_eq!(text(condition(node, "Ready").unwrap(), "/status"), "True");
    let pod = world.pod("p0");
    let status = items(pod, "/status/containerStatuses").first().unwrap();
    assert_eq!(number(status, "/restartCount"), Some(1));
    assert_eq!(number(status, "/lastState/terminated/exitCode"), Some(255));
    assert_eq!(world.ready(), 4);
}

/// Its report waits until the API server can be reached.
#[test]
fn a_pod_that_starts_and_ends_while_its_node_is_partitioned_is_reported() {
    let mut world = World::new(&Nodes::new(1));
    world.run(1);
    let spec = json!({ "nodeName": "node-0", "restartPolicy": "Never" });
    world.create(&PODS, pod_with("a", &[("run-for", "4s")], &spec));
    world.kubelet.partition("node-0");
    world.run(60);
    assert_ne!(text(world.pod("a"), "/status/phase"), "Succeeded");
    world.kubelet.heal("node-0");
    world.run(10);
    assert_eq!(text(world.pod("a"), "/status/phase"), "Succeeded");
}

#[test]
fn a_partitioned_node_runs_on() {
    let mut world = World::new(&Nodes::new(1));
    world.create(&PODS, pod("a"));
    world.run(10);
    world.kubelet.partition("node-0");
    world.run(1);
    world.kubelet.fail(&api::Key::new("default", "a"));
    world.delete("a", Some(30));
    let lines = world.log.len();
    world.run(60);
    assert_eq!(world.log.len(), lines, "nothing is said");
    world.kubelet.heal("node-0");
    world.run(1);
    assert_eq!(world.all("pods").count(), 0, "it had stopped long ago");
}

#[test]
fn nodes_are_what_upstream_registers() {
    let mut world = World::new(&Nodes::new(4).prefix("worker-"));
    world.run(400);
    let node = world.get(&NODES, "worker-3").unwrap();
    let label = |key: &str| node["metadata"]["labels"][key].as_str().unwrap();
    assert_eq!(label("topology.kubernetes.io/zone"), "zone-a");
    assert_eq!(text(node, "/spec/podCIDR"), "10.244.3.0/24");
    assert_eq!(text(node, "/status/allocatable/memory"), "8Gi");
    assert_eq!(text(node, "/status/nodeInfo/kubeletVersion"), "v1.36.3");
    let ready = condition(node, "Ready").unwrap();
    assert_eq!(text(ready, "/reason"), "KubeletReady");
    let beat = time(ready, "/lastHeartbeatTime").unwrap();
    assert!(beat > time(ready, "/lastTransitionTime").unwrap(), "a report each five minutes");
    let lease = world.get(&LEASES, "kube-node-lease/worker-3").unwrap();
    assert_eq!(text(lease, "/spec/holderIdentity"), "worker-3");
    assert_eq!(number(lease, "/spec/leaseDurationSeconds"), Some(40));
    let owner = items(lease, "/metadata/ownerReferences").first().unwrap();
    assert_eq!(at(owner, "/uid"), at(node, "/metadata/uid"));
    let renewed = time(lease, "/spec/renewTime").unwrap();
    assert!(world.now.since(renewed) <= Duration::from_secs(10));
    // 40 beats of 4 nodes, 1 report of each, 3 objects and 2 events at the start.
    assert!(world.requests < 4 * (41 + 2 + 4), "{}", world.requests);
}

#[test]
fn nodes_come_and_go() {
    let mut world = World::new(&Nodes::new(2));
    world.run(1);
    assert_eq!(world.kubelet.add(1), ["node-2"]);
    assert!(world.kubelet.add_named("big") && !world.kubelet.add_named("big"));
    world.run(1);
    assert_eq!(world.all("nodes").count(), 4);
    world.kubelet.remove("node-0");
    world.run(1);
    assert!(world.get(&NODES, "node-0").is_none());
    assert_eq!(world.kubelet.names().collect::<Vec<_>>(), ["big", "node-1", "node-2"]);
    // Deleted by another client: it stays away until its kubelet starts again.
    let target = crate::kinds::target(&NODES, &api::Key::new("", "node-1"), "");
    world.lose(&target);
    world.run(100);
    assert!(world.get(&NODES, "node-1").is_none());
    world.kubelet.revive("node-1");
    world.run(1);
    assert!(world.get(&NODES, "node-1").is_some());
}

#[test]
fn a_big_cluster_is_cheap() {
    let mut world = World::new(&Nodes::new(1000).quiet());
    world.run(1);
    for at in 0..5000 {
        let mut pod = pod(&format!("p{at}"));
        let owner = format!("set-{}", at % 50);
        pod["metadata"]["ownerReferences"] =
            json!([{ "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": true }]);
        pod["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "100m" } });
        world.create(&PODS, pod);
    }
    world.run(30);
    assert_eq!(world.ready(), 5000);
    let of_scheduler =
        |event: &serde_json::Value| text(event, "/reportingComponent") == "default-scheduler";
    assert!(world.all("events").all(of_scheduler), "these kubelets write none");
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for pod in world.all("pods") {
        *counts.entry(text(pod, "/spec/nodeName")).or_default() += 1;
    }
    println!("{} requests, at most {:?} pods on a node", world.requests, counts.values().max());
}

#[test]
fn spans() {
    let rows = [
        ("2s", Some(2000)),
        ("1m30s", Some(90_000)),
        ("1.5s", Some(1500)),
        ("250ms", Some(250)),
        ("", None),
        ("5", None),
        ("s", None),
        ("-1s", None),
    ];
    for (text, millis) in rows {
        assert_eq!(crate::span::parse(text), millis.map(Duration::from_millis), "{text}");
    }
    let prints = [(10, "10s"), (80, "1m20s"), (300, "5m0s"), (3600, "1h0m0s")];
    for (seconds, text) in prints {
        assert_eq!(crate::span::print(Duration::from_secs(seconds)), text);
    }
    let time = api::Time::from_unix(1_800_000_000, 1_500_000);
    assert_eq!(crate::span::micro(time), "2027-01-15T08:00:00.001500Z");
}

/// What is bound, and by what.
fn bound(world: &World, name: &str) -> (String, String) {
    let claim = world.get(&CLAIMS, &format!("default/{name}")).unwrap();
    let volume = text(claim, "/spec/volumeName").to_owned();
    (text(claim, "/status/phase").to_owned(), volume)
}

fn claim(name: &str) -> serde_json::Value {
    let resources = json!({ "requests": { "storage": "1Gi" } });
    json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": resources },
        "status": { "phase": "Pending" },
    })
}

#[test]
fn each_claim_gets_a_volume_which_goes_after_it() {
    for drop_every in [None, Some(2), Some(3)] {
        let mut world = World::new(&Nodes::new(1));
        world.drop_every = drop_every;
        world.create(&CLAIMS, claim("a"));
        let mut unbound = claim("unbound");
        unbound["metadata"]["annotations"] = json!({ "sandbox/unbound": "" });
        world.create(&CLAIMS, unbound);
        world.run(60);
        let uid = text(world.get(&CLAIMS, "default/a").unwrap(), "/metadata/uid").to_owned();
        let name = format!("pvc-{uid}");
        assert_eq!(bound(&world, "a"), ("Bound".to_owned(), name.clone()));
        assert_eq!(bound(&world, "unbound"), ("Pending".to_owned(), String::new()));
        let volume = world.get(&VOLUMES, &name).unwrap();
        assert_eq!(text(volume, "/spec/claimRef/uid"), uid);
        assert_eq!(text(volume, "/spec/capacity/storage"), "1Gi");
        assert_eq!(text(volume, "/status/phase"), "Bound");
        let key = api::Key::new("default", "a");
        world.lose(&crate::Target { resource: CLAIMS, key, subresource: "" });
        world.run(60);
        assert_eq!(world.all("persistentvolumes").count(), 0);
    }
}

/// A machine that was terminated leaves its Node to the controllers, and is forgotten once that is
/// deleted. It cannot be revived.
#[test]
fn a_terminated_machine_leaves_its_node() {
    let mut world = World::new(&Nodes::new(2));
    world.run(5);
    let said = |world: &World| {
        let kubelet = &world.kubelet;
        ["node-0", "node-1", "other"].map(|it| (kubelet.is_terminated(it), kubelet.is_off(it)))
    };
    assert!(world.kubelet.terminate("node-0") && world.kubelet.kill("node-1"));
    world.run(1);
    assert_eq!(said(&world), [(true, true), (false, true), (false, false)]);
    world.kubelet.revive("node-0");
    world.kubelet.revive("node-1");
    world.run(60);
    assert_eq!(said(&world), [(true, true), (false, false), (false, false)]);
    assert_eq!(world.all("nodes").count(), 2);
    world.lose(&crate::kinds::target(&NODES, &api::Key::new("", "node-0"), ""));
    world.run(1);
    assert_eq!(world.kubelet.names().collect::<Vec<_>>(), ["node-1"]);
    assert_eq!(said(&world)[0], (false, false));
}

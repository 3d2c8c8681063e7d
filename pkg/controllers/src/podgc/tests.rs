//! Tables, mirroring upstream's `pkg/controller/podgc/gc_controller_test.go` and
//! `test/integration/podgc`.

mod orphans;

use std::sync::Arc;
use std::time::Duration;

use api::{DecodeError, Key, Node, Object as _, Pod};
use controller::fixture::{Fixture, NOW, ago, decode, enqueued, time, with};
use controller::{Action, Answer, Change, Controller as _, Facts, Plan, Step, When};
use serde_json::{Value, json};

use super::*;

const REST: &str = "why: nothing to collect\nagain in 20s\n";

/// As upstream's `makePod`; no node: not bound.
fn pod(name: &str, node: &str, phase: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "1", "generation": 1, "creationTimestamp": ago(3600)},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    })
}

/// A terminating pod; its grace period is not over.
fn leaving(pod: Value) -> Value {
    let meta = json!({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30});
    with(pod, json!({ "metadata": meta }))
}

/// A pod that was deleted by force, and that a finalizer keeps.
fn held(pod: Value) -> Value {
    let meta = json!({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0,
        "finalizers": ["example.com/hold"]});
    with(pod, json!({ "metadata": meta }))
}

fn evicted(pod: Value) -> Value {
    with(pod, json!({"status": {"reason": "Evicted"}}))
}

/// The pods with falling ages, an hour apart.
fn by_age(pods: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let born = |hours: i64| json!({"metadata": {"creationTimestamp": ago(360_000 - 3600 * hours)}});
    pods.into_iter().zip(1..).map(|(pod, hours)| with(pod, born(hours))).collect()
}

/// A ready node.
fn node(name: &str) -> Value {
    node_with(name, "True", &json!([]))
}

fn node_with(name: &str, ready: &str, taints: &Value) -> Value {
    json!({"metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": ready}]}})
}

fn out_of_service(name: &str) -> Value {
    let taint = json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
    node_with(name, "False", &json!([taint]))
}

fn caches(nodes: &[Value], pods: &[Value]) -> Fixture {
    Fixture::default().holding::<Node>(nodes).holding::<Pod>(pods)
}

fn observed(controller: &Controller, fixture: &Fixture) -> Snapshot {
    remembering(controller, fixture, &Quarantine::default())
}

fn remembering(controller: &Controller, fixture: &Fixture, quarantine: &Quarantine) -> Snapshot {
    controller.observe(&Key::parse(Controller::SEEDS[0]), &fixture.view(), quarantine).unwrap()
}

/// The plan of a pass that needs no live reads.
fn planned(threshold: i32, nodes: &[Value], pods: &[Value]) -> Plan {
    let controller = Controller::new(threshold);
    controller.decide(&observed(&controller, &caches(nodes, pods)), &Facts::default()).0
}

/// The text of a plan that deletes these pods, those with a star after they were marked as failed.
fn deletes(why: &str, pods: &[&str]) -> String {
    let lines = pods.iter().enumerate().map(|(at, pod)| {
        let name = pod.trim_end_matches('*');
        let meta = format!(r#"{{"metadata":{{"uid":"uid-{name}"}}"#);
        let status = r#""status":{"observedGeneration":1,"phase":"Failed"}}"#;
        let mark = format!("chain {at}: patch pods shop/{name} status {meta},{status}\n");
        let mark = if pod.ends_with('*') { mark } else { String::new() };
        format!("{mark}chain {at}: delete pods shop/{name} within 0s\n")
    });
    format!("why: {why}\n{}again in 20s\n", lines.collect::<String>())
}

/// The names of the pods that a plan deletes, in its order.
fn names(plan: &Plan) -> Vec<String> {
    let chains = plan.steps.iter().flat_map(|step| match step {
        Step::Chains(chains) => chains.as_slice(),
        Step::InOrder(_) | Step::Together(_) | Step::SlowStart(_) | Step::Fetch(_) => {
            panic!("no chains: {step:?}")
        }
    });
    let deleted = chains.map(|chain| match chain.last() {
        Some(Action::Write(write)) if write.deleted().is_some() => {
            write.object.key.name.to_string()
        }
        other => panic!("no delete: {other:?}"),
    });
    deleted.collect()
}

// === Ended pods ===

/// TestGCTerminated, all cases (two of them have no name there).
#[test]
fn ended_pods_are_collected_as_upstream() {
    let [a, b, c] = [("a", "Failed"), ("b", "Succeeded"), ("c", "Failed")]
        .map(|(name, phase)| pod(name, "node", phase));
    let running = pod("a", "node", "Running");
    let c_evicted = evicted(c.clone());
    for (name, pods, threshold, expected) in [
        (
            "delete pod a which is PodFailed and pod b which is PodSucceeded",
            vec![a.clone(), b.clone(), c.clone()],
            1,
            deletes("2 terminated", &["a", "b"]),
        ),
        (
            "threshold = 0, disables terminated pod deletion",
            vec![a.clone(), b.clone()],
            0,
            REST.to_owned(),
        ),
        ("card: so does one below 0", vec![a.clone(), b.clone()], -1, REST.to_owned()),
        (
            "threshold = 1, delete pod b which is PodSucceeded",
            vec![running.clone(), b.clone(), c],
            1,
            deletes("1 terminated", &["b"]),
        ),
        (
            "threshold = 1, delete pod a which is PodFailed",
            vec![a.clone(), b.clone()],
            1,
            deletes("1 terminated", &["a"]),
        ),
        ("as many as may stay", vec![a.clone(), b.clone()], 2, REST.to_owned()),
        ("threshold = 5, don't delete pod", vec![a.clone(), b.clone()], 5, REST.to_owned()),
        (
            "evicted ones first",
            vec![a, b.clone(), c_evicted.clone()],
            1,
            deletes("2 terminated", &["c", "a"]),
        ),
        (
            "evicted ones first, beside one that runs",
            vec![running, b, c_evicted],
            1,
            deletes("1 terminated", &["c"]),
        ),
    ] {
        let plan = planned(threshold, &[node("node")], &by_age(pods));
        assert_eq!(plan.to_string(), expected, "{name}");
    }
}

/// byEvictionAndCreationTimestamp: evicted (which only a failed pod is), then the oldest (no time
/// is older than any), then by name, then by namespace.
#[test]
fn ended_pods_are_ranked_as_upstream() {
    let ended = |name: &str, phase: &str, age: i64| {
        let born = json!({"metadata": {"creationTimestamp": ago(age)}});
        with(pod(name, "node", phase), born)
    };
    let elsewhere = json!({"metadata": {"namespace": "attic"}});
    let pods = [
        ended("old", "Succeeded", 500),
        ended("b", "Failed", 100),
        with(ended("b", "Failed", 100), elsewhere),
        ended("a", "Succeeded", 100),
        evicted(ended("strange", "Succeeded", 300)),
        evicted(ended("young", "Failed", 10)),
        evicted(ended("younger", "Failed", 5)),
        with(ended("ageless", "Failed", 0), json!({"metadata": {"creationTimestamp": null}})),
        ended("stays", "Failed", 1),
    ];
    let plan = planned(1, &[node("node")], &pods);
    let expected = ["young", "younger", "ageless", "old", "strange", "a", "b", "b"];
    assert_eq!(names(&plan), expected);
    let (attic, shop) = ("chain 6: delete pods attic/b", "chain 7: delete pods shop/b");
    assert!(plan.to_string().contains(attic) && plan.to_string().contains(shop), "{plan}");
}

/// Pull 141190: what nothing but finalizers keeps is left alone, and does not count. What is being
/// deleted with a grace period is deleted by force, as upstream.
#[test]
fn ended_pods_that_finalizers_keep_are_left_alone() {
    let [a, b] = ["a", "b"].map(|name| pod(name, "node", "Failed"));
    let row = |pods: &[Value]| planned(1, &[node("node")], &by_age(pods.to_vec())).to_string();
    assert_eq!(row(&[held(a.clone()), b.clone()]), REST);
    assert_eq!(row(&[leaving(a.clone()), b.clone()]), deletes("1 terminated", &["a"]));
    let finalizer = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    let marked = with(leaving(a.clone()), finalizer.clone());
    assert_eq!(row(&[marked, b.clone()]), deletes("1 terminated", &["a"]), "only once");
    assert_eq!(row(&[with(a, finalizer), b]), deletes("1 terminated", &["a"]), "not yet");

    // On a node that is out of service, and never bound.
    let pods = |phase| ["worker", ""].map(|node| held(pod(&format!("on-{node}"), node, phase)));
    let nodes = [out_of_service("worker")];
    assert_eq!(planned(-1, &nodes, &pods("Succeeded")).to_string(), REST);
    let plan = planned(-1, &nodes, &pods("Running")).to_string();
    // Marked once; then it has ended, and this is the row above.
    assert_eq!(plan, deletes("1 out-of-service, 1 unscheduled", &["on-worker*", "on-*"]));
}

// === Terminating pods ===

/// TestGCUnscheduledTerminating, both cases; the second one has its node here, since a whole pass
/// runs.
#[test]
fn unscheduled_terminating_pods_are_collected_as_upstream() {
    let plan = planned(
        -1,
        &[],
        &[
            leaving(pod("a", "", "Failed")),
            leaving(pod("b", "", "Succeeded")),
            leaving(pod("c", "", "Running")),
        ],
    );
    assert_eq!(plan.to_string(), deletes("3 unscheduled", &["a", "b", "c*"]));
    let plan = planned(
        -1,
        &[node("node")],
        &[
            pod("a", "", "Failed"),
            pod("b", "node", "Succeeded"),
            leaving(pod("c", "node", "Running")),
        ],
    );
    assert_eq!(plan.to_string(), REST);
}

/// TestGCTerminating, all cases. Where a pod has no phase there, it is pending here: the API server
/// says so of every pod.
#[test]
fn pods_on_nodes_out_of_service_are_collected_as_upstream() {
    let on = |node: &str, letter: &str, phase: &str| pod(&format!("{letter}{node}"), node, phase);
    let bare = json!([]);
    let nodes = [node_with("0", "False", &bare), node_with("1", "False", &bare)];
    let pods = ["0", "1"].map(|node| leaving(on(node, "a", "Pending")));
    let name = "pods have deletion timestamp set and the corresponding nodes are not ready";
    assert_eq!(planned(-1, &nodes, &pods).to_string(), REST, "{name}");

    let taint = |effect: &str, value: &str| {
        let key = "node.kubernetes.io/out-of-service";
        json!([{"key": key, "value": value, "effect": effect}])
    };
    let nodes = [
        node_with("0", "False", &taint("NoExecute", "")),
        node_with("1", "False", &bare),
        node_with("2", "True", &bare),
        node_with("3", "False", &taint("NoSchedule", "")),
        node_with("4", "False", &taint("PreferNoSchedule", "")),
        node_with("5", "False", &taint("NoExecute", "any-value")),
        // More than upstream's rows: ready again, unknown, and another taint.
        node_with("6", "True", &taint("NoExecute", "")),
        node_with("7", "Unknown", &taint("NoExecute", "")),
        node_with("8", "False", &json!([{"key": "node.kubernetes.io/not-ready"}])),
        with(out_of_service("9"), json!({"status": {"conditions": null}})),
    ];
    let on_node = |n: usize| {
        let node = n.to_string();
        let stay = ["Pending", "Running", "Unknown"].map(|phase| on(&node, phase, phase));
        let stays = stay.map(|pod| {
            let name = pod["metadata"]["name"].as_str().unwrap().to_lowercase();
            with(pod, json!({"metadata": {"name": name}}))
        });
        [&[leaving(on(&node, "b", "Pending"))], &stays[..]].concat()
    };
    let pods: Vec<_> = (0..=9).flat_map(on_node).collect();
    let expected = deletes("6 out-of-service", &["b0*", "b3*", "b4*", "b5*", "b7*", "b9*"]);
    assert_eq!(planned(-1, &nodes, &pods).to_string(), expected);

    let name = "pods deleted from node tainted out-of-service";
    let pods = [("c", "Succeeded"), ("b", "Failed"), ("a", "Running")];
    let pods = by_age(pods.map(|(name, phase)| leaving(pod(name, "worker", phase))));
    let expected = deletes("3 out-of-service", &["c", "b", "a*"]);
    let plan = planned(-1, &[out_of_service("worker")], &pods);
    assert_eq!(plan.to_string(), expected, "{name}, the oldest first");
}

/// TestTerminatingOnOutOfServiceNode (integration): marked as failed, without a condition, with
/// finalizer or without; then its finalizer alone keeps it.
#[test]
fn pods_on_nodes_out_of_service_are_marked_once() {
    let nodes = [out_of_service("node")];
    let finalizer = json!({"metadata": {"finalizers": ["test.k8s.io/finalizer"]}});
    let bare = leaving(pod("testpod", "node", "Running"));
    for pod in [bare.clone(), with(bare, finalizer)] {
        let plan = planned(0, &nodes, std::slice::from_ref(&pod));
        assert_eq!(plan.to_string(), deletes("1 out-of-service", &["testpod*"]));
    }
    assert_eq!(planned(0, &nodes, &[held(pod("testpod", "node", "Failed"))]).to_string(), REST);
}

/// A pod of which only the metadata could be read seems to be on no node, and may well run on one.
#[test]
fn a_pod_that_cannot_be_read_is_left_alone() {
    let controller = Controller::new(1);
    let mut snapshot = observed(&controller, &caches(&[], &[]));
    let meta = decode::<Pod>(&leaving(pod("a", "node", "Running"))).meta.clone();
    let pod = Pod::unreadable(meta, &DecodeError("spec: no".to_owned()));
    assert_eq!(pod.node_name, None);
    snapshot.pods.push(Arc::new(pod));
    assert_eq!(controller.decide(&snapshot, &Facts::default()).0.to_string(), REST);
}

// === The pass ===

/// The order of `gc`; a pod of two lists is in the first one only.
#[test]
fn reasons_come_in_upstreams_order_and_a_pod_has_one() {
    let pods = [
        leaving(pod("a-unscheduled", "", "Pending")),
        leaving(pod("b-stuck", "worker", "Running")),
        leaving(pod("c-both", "worker", "Failed")),
        leaving(pod("d-both", "", "Succeeded")),
        pod("e-ended", "worker", "Failed"),
    ];
    let plan = planned(1, &[out_of_service("worker")], &by_age(pods));
    let expected = deletes(
        "2 terminated, 1 out-of-service, 1 unscheduled",
        &["c-both", "d-both", "b-stuck*", "a-unscheduled*"],
    );
    assert_eq!(plan.to_string(), expected);
}

/// metrics.md: labels namespace and reason; every delete is counted, by force, and by uid.
#[test]
fn every_delete_is_forced_and_counted() {
    let pods = [
        leaving(pod("a", "", "Pending")),
        leaving(pod("b", "worker", "Running")),
        pod("c", "worker", "Failed"),
        pod("d", "worker", "Failed"),
    ];
    let plan = planned(1, &[out_of_service("worker")], &by_age(pods));
    let Some(Step::Chains(chains)) = plan.steps.first() else { panic!("no chains: {plan}") };
    let mut found = Vec::new();
    for chain in chains {
        let Some(Action::Write(delete)) = chain.last() else { panic!("no delete: {plan}") };
        assert_eq!(delete.deleted().unwrap().grace_period_seconds, Some(0));
        assert_eq!(&*delete.object.uid, format!("uid-{}", delete.object.key.name));
        assert!(delete.announce.is_empty());
        let [total, errors] = &delete.counts[..] else { panic!("not counted: {delete:?}") };
        let both = [(total, When::Always), (errors, When::NotDone)];
        assert!(both.iter().all(|(count, when)| count.when == *when), "{delete:?}");
        assert_eq!(total.family.name, "pod_gc_collector_force_delete_pods_total");
        assert_eq!(errors.family.name, "pod_gc_collector_force_delete_pod_errors_total");
        assert_eq!(total.labels, errors.labels);
        found.push(total.labels.join(" "));
        // Where the status cannot be written, that is the attempt, and it failed.
        let Some(Action::Write(patch)) = chain.first() else { continue };
        if patch.patched().is_none() {
            continue;
        }
        let names = patch.counts.iter().map(|count| (count.family, &count.labels, count.when));
        let failed = [total, errors].map(|count| (count.family, &count.labels, When::Failed));
        assert_eq!(names.collect::<Vec<_>>(), failed);
    }
    assert_eq!(found, ["shop terminated", "shop out-of-service", "shop unscheduled"]);
    let counters = Controller::METRICS.iter().map(|family| (family.name, family.labels));
    let labels: Option<&[&str]> = Some(&["namespace", "reason"]);
    let expected = [
        ("pod_gc_collector_force_delete_pods_total", labels),
        ("pod_gc_collector_force_delete_pod_errors_total", labels),
    ];
    assert_eq!(counters.collect::<Vec<_>>(), expected);
}

/// Limits: so many deletions for each reason, the rest soon; and pods that cannot be deleted do not
/// keep the others from their turn for ever.
#[test]
fn a_pass_is_bounded() {
    let many = |count: usize, make: &dyn Fn(&str) -> Value| -> Vec<Value> {
        (0..count).map(|n| make(&format!("p{n:03}"))).collect()
    };
    let unscheduled = |name: &str| leaving(pod(&format!("u{name}"), "", "Running"));
    let ended = |name: &str| pod(name, "node", "Failed");
    let full = [many(101, &ended), many(100, &unscheduled)].concat();
    let plan = planned(1, &[node("node")], &full);
    assert_eq!((names(&plan).len(), plan.again), (200, Some(Duration::from_secs(20))));

    let pods = [many(251, &ended), many(1, &unscheduled)].concat();
    let controller = Controller::new(1);
    let mut fixture = caches(&[node("node")], &pods);
    let (mut tried, mut first) = (std::collections::BTreeSet::new(), Vec::new());
    for second in 0..250 {
        fixture.now = time(second * 1_000_000_000);
        let plan = controller.decide(&observed(&controller, &fixture), &Facts::default()).0;
        assert_eq!(&*plan.why, "250 terminated, 1 unscheduled");
        assert_eq!(plan.again, Some(Duration::from_secs(1)));
        let names = names(&plan);
        assert_eq!((names.len(), &*names[100]), (101, "up000"), "one reason waits for no other");
        first.push(names[0].clone());
        tried.extend(names);
    }
    assert_eq!(tried.len(), 251, "but for the youngest, which may stay");
    assert!(!tried.contains("p250"));
    assert_ne!(first[0], first[1]);
}

/// Card: one loop, no queue of objects. Nothing that happens to pods and nodes enqueues a pass.
#[test]
fn nothing_enqueues_a_pass() {
    let controller = Controller::new(1);
    let fixture = caches(&[], &[]);
    let (pod, node) = (decode::<Pod>(&pod("a", "gone", "Failed")), decode::<Node>(&node("node")));
    for change in [
        Change::Added(pod.clone()),
        Change::Updated { old: pod.clone(), new: pod.clone() },
        Change::Deleted(pod),
    ] {
        assert_eq!(enqueued(&controller, &change, &fixture), "");
    }
    for change in [
        Change::Added(node.clone()),
        Change::Updated { old: node.clone(), new: node.clone() },
        Change::Deleted(node),
    ] {
        assert_eq!(enqueued(&controller, &change, &fixture), "");
    }
    assert_eq!(Controller::SEEDS, ["pods"]);
    assert_eq!(PERIOD, Duration::from_secs(20));
}

#[test]
fn a_summary_shows_what_a_pass_sees() {
    let pods = [
        pod("a", "node", "Failed"),
        held(pod("b", "node", "Failed")),
        pod("c", "lost", "Running"),
        pod("d", "", "Pending"),
    ];
    let facts = |threshold: i32| {
        let controller = Controller::new(threshold);
        let snapshot = observed(&controller, &caches(&[node("node")], &pods));
        let facts = controller.summary(&snapshot).into_iter();
        facts.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    let expected = [
        "pods: 4",
        "nodes: 1",
        "terminated: 1",
        "terminated-pod-gc-threshold: 12500",
        "kept by finalizers: 1",
        "missing nodes: 1",
        "missing: lost since 2024-05-01T12:00:00Z",
    ];
    assert_eq!(facts(12500), expected);
    assert_eq!(facts(0)[3], "terminated-pod-gc-threshold: none");
}

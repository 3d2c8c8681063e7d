//! The order of deletion, mirroring TestSortingActivePodsWithRanks of upstream's
//! `pkg/controller/controller_utils_test.go` and TestGetPodsToDelete of
//! `pkg/controller/replicaset/replica_set_test.go`.

use serde_json::{Value, json};

use super::*;
use crate::fixture::{ago, decode, decode_all, pod, ready, time, with};

const HOUR: i64 = 3600;
const MONTH: i64 = 30 * 24 * HOUR;

/// A pod on `node` in `phase`, with no uid and no times.
fn bare(name: &str, node: &str, phase: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"nodeName": node,
            "initContainers": [{"name": "sidecar", "restartPolicy": "Always"}]},
        "status": {"phase": phase},
    })
}

/// A running pod on a node, ready and created so many seconds ago; none: at Go's zero time.
fn ready_since(name: &str, since: Option<i64>, created: Option<i64>) -> Value {
    let condition =
        json!({"type": "Ready", "status": "True", "lastTransitionTime": since.map(ago)});
    with(
        bare(name, "node", "Running"),
        json!({
            "metadata": {"creationTimestamp": created.map(ago)},
            "status": {"conditions": [condition]},
        }),
    )
}

fn restarted(pod: Value, containers: i32, sidecars: i32) -> Value {
    with(
        pod,
        json!({"status": {
            "containerStatuses": [{"name": "main", "restartCount": containers}],
            "initContainerStatuses": [{"name": "sidecar", "restartCount": sidecars}],
        }}),
    )
}

fn costing(pod: Value, cost: &str) -> Value {
    let annotations = json!({"controller.kubernetes.io/pod-deletion-cost": cost});
    with(pod, json!({"metadata": {"annotations": annotations}}))
}

fn on_node(pod: Value, node: &str) -> Value {
    with(pod, json!({"spec": {"nodeName": node}}))
}

fn named(pod: &Value, uid: &str) -> Arc<Pod> {
    decode(&with(pod.clone(), json!({"metadata": {"uid": uid, "name": uid}})))
}

/// The uid of the one of two pods that is deleted first, where each is bound to a node of its own
/// with this many related pods, or to none. The pods get the given uids.
fn first_of(pods: [(&Value, usize); 2], uids: [&str; 2]) -> String {
    let nodes = ["left", "right"];
    let mut related = Vec::new();
    let mut ranked = Vec::new();
    for (((pod, rank), uid), node) in pods.into_iter().zip(uids).zip(nodes) {
        let is_bound = pod["spec"]["nodeName"] != "";
        let pod = if is_bound { on_node(pod.clone(), node) } else { pod.clone() };
        related.extend(vec![decode(&pod); if is_bound { rank } else { 0 }]);
        ranked.push(named(&pod, uid));
    }
    victims(&ranked, &related, 1, Costs::Count, time(0))[0].meta.uid.to_string()
}

#[test]
fn pods_are_ranked_as_upstream() {
    let unscheduled = bare("unscheduled", "", "Pending");
    let pending = bare("pending", "node", "Pending");
    let unknown = bare("unknown-phase", "node", "Unknown");
    let not_ready = bare("not-ready", "node", "Running");
    let no_time = ready_since("ready-no-last-transition-time", None, None);
    let now = ready_since("ready-now", Some(0), Some(0));
    let then = ready_since("ready-then", Some(MONTH), Some(MONTH));
    let created_then = ready_since("ready-now-created-then", Some(0), Some(MONTH));
    let restarts = restarted(now.clone(), 9001, 0);
    let sidecar_restarts = restarted(now.clone(), 9001, 9001);
    let cheap = costing(created_then.clone(), "10");
    let dear = costing(created_then.clone(), "100");
    let two_hours = on_node(ready_since("ready-2-hours", Some(2 * HOUR), Some(MONTH)), "");
    let five_hours = on_node(ready_since("ready-5-hours", Some(5 * HOUR), Some(MONTH)), "");
    let old = ready_since("created-then-not-ready", None, Some(MONTH));
    let old_not_ready = with(old.clone(), json!({"status": {"conditions": null}}));
    let young_not_ready = with(
        ready_since("created-now-not-ready", None, Some(0)),
        json!({"status": {"conditions": null}}),
    );
    // The inequalities of TestSortingActivePodsWithRanks, in its order; the row with the gate
    // PodDeletionCost off is left out.
    for (row, lesser, greater) in [
        (0, (&unscheduled, 1), (&pending, 2)),
        (1, (&unscheduled, 2), (&pending, 1)),
        (2, (&pending, 1), (&unknown, 2)),
        (3, (&unknown, 1), (&not_ready, 2)),
        (4, (&not_ready, 1), (&no_time, 1)),
        (5, (&no_time, 1), (&now, 1)),
        (6, (&now, 2), (&no_time, 1)),
        (7, (&now, 1), (&then, 1)),
        (8, (&now, 2), (&then, 1)),
        (9, (&restarts, 1), (&now, 1)),
        (10, (&sidecar_restarts, 1), (&restarts, 1)),
        (11, (&now, 2), (&restarts, 1)),
        (12, (&now, 1), (&created_then, 1)),
        (13, (&created_then, 2), (&now, 1)),
        (14, (&cheap, 2), (&dear, 1)),
        (16, (&two_hours, 1), (&five_hours, 1)),
        // Not in upstream's table: criterion 8 alone, a zero time counts as newest, a cost below 0.
        (100, (&young_not_ready, 1), (&old_not_ready, 1)),
        (101, (&not_ready, 1), (&young_not_ready, 1)),
        (102, (&costing(now.clone(), "-1"), 1), (&now, 2)),
        (103, (&costing(now.clone(), "-1"), 1), (&costing(no_time.clone(), "+5"), 2)),
    ] {
        // Whichever uid is smaller, and whichever pod is listed first.
        assert_eq!(first_of([lesser, greater], ["x", "y"]), "x", "row {row}");
        assert_eq!(first_of([lesser, greater], ["y", "x"]), "y", "row {row}, uids exchanged");
        assert_eq!(first_of([greater, lesser], ["x", "y"]), "y", "row {row}, list exchanged");
        assert_eq!(first_of([greater, lesser], ["y", "x"]), "x", "row {row}, both exchanged");
    }
    // Its equalities: only the uids decide. The last rows are pods of similar age.
    let unscheduled_since = |seconds| {
        with(unscheduled.clone(), json!({"metadata": {"creationTimestamp": ago(seconds)}}))
    };
    let (five, eight) = (unscheduled_since(5 * HOUR), unscheduled_since(8 * HOUR));
    let eight_hours = on_node(ready_since("ready-10-hours", Some(8 * HOUR), Some(MONTH)), "");
    for (row, one, other) in [
        (0, &unscheduled, &unscheduled),
        (1, &pending, &pending),
        (2, &unknown, &unknown),
        (3, &not_ready, &not_ready),
        (4, &created_then, &created_then),
        (5, &now, &now),
        (6, &then, &then),
        (7, &restarts, &restarts),
        (8, &created_then, &created_then),
        (9, &five, &eight),
        (10, &five_hours, &eight_hours),
        // Alike in criterion 6 is decided there: later criteria are not looked at.
        (100, &restarted(eight_hours.clone(), 9, 9), &five_hours),
    ] {
        assert_eq!(first_of([(one, 1), (other, 1)], ["x", "y"]), "x", "row {row}");
        assert_eq!(first_of([(one, 1), (other, 1)], ["y", "x"]), "x", "row {row}, exchanged");
    }
}

#[test]
fn ages_are_alike_within_a_power_of_two() {
    for (nanos, expected) in [
        (1, None),
        (0, None),
        (-1, Some(0)),
        (-2, Some(1)),
        (-3, Some(1)),
        (-4, Some(2)),
        (-(1 << 40) + 1, Some(39)),
        (-(1 << 40), Some(40)),
    ] {
        assert_eq!(age(time(nanos), time(0)), expected, "{nanos}");
    }
}

/// TestGetPodsToDelete.
#[test]
fn victims_are_chosen_as_upstream() {
    let unscheduled = bare("unscheduled-pending-pod", "", "Pending");
    let pending = bare("scheduled-pending-pod", "fake-node", "Pending");
    let not_ready = bare("scheduled-running-not-ready-pod", "fake-node", "Running");
    let ready_on = |name, node| {
        with(
            bare(name, node, "Running"),
            json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        )
    };
    let one = ready_on("scheduled-running-ready-pod-on-node-1", "fake-node-1");
    let two = ready_on("scheduled-running-ready-pod-on-node-2", "fake-node-2");
    let all: &[&Value] = &[&one, &one, &two, &not_ready, &pending, &unscheduled];
    let none: &[&Value] = &[];
    for (name, pods, related, count, expected) in [
        ("len(pods) = 0 (i.e., diff = 0 too)", none, None, 0, none),
        ("diff = len(pods)", &[&not_ready, &one], None, 2, &[&not_ready, &one]),
        ("diff < len(pods)", &[&one, &not_ready], None, 1, &[&not_ready]),
        ("various pod phases and conditions, diff = len(pods)", all, None, 6, all),
        (
            "various pod phases and conditions, diff = len(pods), relatedPods empty",
            all,
            Some(none),
            6,
            all,
        ),
        ("scheduled vs unscheduled", &[&pending, &unscheduled], None, 1, &[&unscheduled]),
        (
            "ready vs not-ready, diff < len(pods)",
            &[&one, &not_ready, &not_ready],
            None,
            2,
            &[&not_ready, &not_ready],
        ),
        (
            "ready and colocated with another ready pod vs not colocated, diff < len(pods)",
            &[&one, &two],
            Some(&[&one, &two, &two]),
            1,
            &[&two],
        ),
        ("pending vs running", &[&pending, &not_ready], None, 1, &[&pending]),
        (
            "various pod phases and conditions, diff < len(pods)",
            &[&one, &two, &not_ready, &pending, &unscheduled],
            None,
            3,
            &[&unscheduled, &pending, &not_ready],
        ),
        // Not in upstream's table.
        ("none wanted", &[&one, &two], None, 0, none),
        ("more wanted than there are", &[&one], None, 9, &[&one]),
    ] {
        let decoded =
            |pods: &[&Value]| -> Vec<Arc<Pod>> { pods.iter().map(|p| decode(p)).collect() };
        let related = decoded(related.unwrap_or(pods));
        let found = victims(&decoded(pods), &related, count, Costs::Count, time(0));
        assert_eq!(found, decoded(expected), "{name}");
    }
}

/// Only active pods crowd a node (`getPodsRankedByRelatedPodsOnSameNode`).
#[test]
fn ended_and_terminating_pods_crowd_no_node() {
    let on = |name, node| decode(&on_node(pod(name), node));
    let pods: [Arc<Pod>; 2] = [on("a", "full"), on("b", "free")];
    let ended = with(on_node(pod("c"), "free"), json!({"status": {"phase": "Failed"}}));
    let leaving =
        with(on_node(pod("d"), "free"), json!({"metadata": {"deletionTimestamp": ago(1)}}));
    let mut related = decode_all(&[ended, leaving]);
    related.extend(pods.iter().cloned());
    related.push(on("e", "full"));
    let found = victims(&pods, &related, 1, Costs::Count, time(0));
    assert_eq!(&*found[0].meta.key.name, "a");
}

/// Three pods that upstream's comparison sends round in a circle: `a` and `c` are ready since the
/// same second, and `c` restarted; `b` is of like age. The order is one, whatever the list's was.
#[test]
fn the_order_is_total() {
    let ready_at = |uid: &str, since: i64, restarts: i32| -> Arc<Pod> {
        let status = json!({"status": {"conditions": [ready(&ago(since))]}});
        named(&restarted(with(pod("x"), status), restarts, 0), uid)
    };
    let [a, b, c] =
        [ready_at("a", 5 * HOUR, 0), ready_at("b", 6 * HOUR, 0), ready_at("c", 5 * HOUR, 7)];
    let d = ready_at("d", HOUR, 0);
    let lists =
        [[&a, &b, &c, &d], [&b, &c, &a, &d], [&c, &a, &b, &d], [&d, &c, &b, &a], [&b, &d, &a, &c]];
    for list in lists {
        let pods: Vec<Arc<Pod>> = list.into_iter().cloned().collect();
        let uids = |count| -> Vec<String> {
            let found = victims(&pods, &[], count, Costs::Count, time(0));
            found.iter().map(|pod| pod.meta.uid.to_string()).collect()
        };
        assert_eq!(uids(1), ["d"]);
        assert_eq!(uids(3), ["d", "c", "a"]);
    }
}

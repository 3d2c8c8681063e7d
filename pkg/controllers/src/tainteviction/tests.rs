//! Tables, mirroring upstream's `taint_eviction_test.go` and `timed_workers_test.go`.

mod world;

use api::{Node, Pod};
use controller::fixture::{Fixture, NOW, ago, body, decode, lines, remembered, time, with};
use controller::{Amount, Change, Outcome, Shared, When};
use serde_json::{Value, json};

use super::*;
use world::{World, controller, node, pod, taints, tolerating};

const NO_TAINT: &str = "why: its node node1 has no taint with the effect NoExecute\n";
const FOR_GOOD: &str = "why: it tolerates the taints of its node node1 for good\n";

/// The plan that evicts `default/pod1` at once.
fn evicted(why: &str) -> String {
    format!("why: {why}\n{}", writes(true))
}

/// Its writes, with the Event before them or without.
fn writes(with_event: bool) -> String {
    let event =
        "in order: event Normal TaintManagerEviction: Marking for deletion Pod default/pod1\n";
    format!(
        "{}in order: patch pods default/pod1 status {{\"metadata\":{{\"uid\":\"u-pod1\"}},\
        \"status\":{{\"conditions\":[{{\"lastTransitionTime\":\"{NOW}\",\
        \"message\":\"Taint manager: deleting due to NoExecute taint\",\
        \"reason\":\"DeletionByTaintManager\",\"status\":\"True\",\
        \"type\":\"DisruptionTarget\"}}]}}}}\n\
        in order: delete pods default/pod1\n",
        if with_event { event } else { "" }
    )
}

fn intolerant(taint: u32) -> String {
    evicted(&format!(
        "it does not tolerate testTaint{taint}=test{taint}:NoExecute of its node node1"
    ))
}

/// The plan that begins a timer.
fn begins(seconds: i64) -> String {
    let at = time(seconds * 1_000_000_000);
    format!(
        "why: it tolerates the taints of its node node1 for {seconds}s: evicted at {at}\n\
        again in {seconds}s\n"
    )
}

/// TestCreatePod and TestCreateNode: what becomes of a pod that is new, or on a node that is.
#[test]
fn a_pod_leaves_a_node_that_it_does_not_tolerate() {
    let unscheduled = with(pod("pod1"), json!({"spec": {"nodeName": null}}));
    for (name, pod, node, expected) in [
        (
            "not scheduled - ignore",
            unscheduled,
            node("node1", &taints(&[1])),
            "why: it is on no node\n".to_owned(),
        ),
        (
            "scheduled on untainted Node",
            pod("pod1"),
            node("node1", &json!([])),
            NO_TAINT.to_owned(),
        ),
        ("schedule on tainted Node", pod("pod1"), node("node1", &taints(&[1])), intolerant(1)),
        (
            "schedule on tainted Node with finite toleration",
            tolerating(1, Some(100)),
            node("node1", &taints(&[1])),
            begins(100),
        ),
        (
            "schedule on tainted Node with infinite toleration",
            tolerating(1, None),
            node("node1", &taints(&[1])),
            FOR_GOOD.to_owned(),
        ),
        (
            "schedule on tainted Node with infinite invalid toleration",
            tolerating(2, None),
            node("node1", &taints(&[1])),
            intolerant(1),
        ),
        // TestUpdateNode.
        (
            "Only one added taint tolerated",
            tolerating(1, Some(100)),
            node("node1", &taints(&[1, 2])),
            intolerant(2),
        ),
        (
            "TestFilterNoExecuteTaints: another effect",
            pod("pod1"),
            node("node1", &json!([{"key": "one", "effect": "NoSchedule"}])),
            NO_TAINT.to_owned(),
        ),
        (
            "on a node that is not cached",
            pod("pod1"),
            node("node2", &taints(&[1])),
            "why: its node node1 is not cached, perhaps deleted\n".to_owned(),
        ),
        (
            "card: it has ended, and is deleted all the same",
            with(pod("pod1"), json!({"status": {"phase": "Succeeded"}})),
            node("node1", &taints(&[1])),
            intolerant(1),
        ),
        (
            "card: it is being deleted, and is deleted all the same",
            with(pod("pod1"), json!({"metadata": {"deletionTimestamp": NOW}})),
            node("node1", &taints(&[1])),
            intolerant(1),
        ),
    ] {
        assert_eq!(World::new(&pod, &node).look(), expected, "{name}");
    }
}

/// TestGetMinTolerationTime, by what a pod with these tolerations of one taint each does.
#[test]
fn of_the_tolerations_the_shortest_counts() {
    for (seconds, expected) in [
        (vec![None], FOR_GOOD.to_owned()),
        (vec![Some(1), Some(2)], begins(1)),
        (vec![Some(1), None], begins(1)),
        (vec![None, Some(1)], begins(1)),
        (vec![Some(100), Some(0)], evicted("it tolerates the taints of its node node1 for 0ns")),
        (vec![Some(100), Some(-7)], evicted("it tolerates the taints of its node node1 for 0ns")),
    ] {
        let indices: Vec<u32> = (1..).take(seconds.len()).collect();
        let tolerations = indices.iter().zip(&seconds).map(|(index, seconds)| {
            json!({"key": format!("testTaint{index}"), "operator": "Exists",
                "effect": "NoExecute", "tolerationSeconds": seconds})
        });
        let tolerations: Vec<Value> = tolerations.collect();
        let pod = with(pod("pod1"), json!({"spec": {"tolerations": tolerations}}));
        let world = &mut World::new(&pod, &node("node1", &taints(&indices)));
        assert_eq!(world.look(), expected, "{seconds:?}");
    }
    // The first toleration that fits counts, whatever a later one says.
    let first = json!({"operator": "Exists", "tolerationSeconds": 50, "effect": "NoExecute"});
    let later = json!({"operator": "Exists", "tolerationSeconds": 5, "effect": "NoExecute"});
    let pod = with(pod("pod1"), json!({"spec": {"tolerations": [first, later]}}));
    assert_eq!(World::new(&pod, &node("node1", &taints(&[1]))).look(), begins(50));
    // A span that a clock cannot count.
    let pod = tolerating(1, Some(i64::MAX));
    let plan = World::new(&pod, &node("node1", &taints(&[1]))).look();
    assert!(plan.ends_with("again in 4294967295s\n"), "{plan}");
}

/// TestUpdatePod and TestUpdateNode: timers that begin, run out and are cancelled.
#[test]
fn a_timer_runs_out_or_is_cancelled() {
    let tainted = node("node1", &taints(&[1]));
    let cancels = "in order: event Normal TaintManagerEviction: \
        Cancelling deletion of Pod default/pod1\n";
    let mut world = World::new(&tolerating(1, Some(10)), &tainted);
    assert_eq!(world.look(), begins(10));
    world.pass(4);
    let (at, then) = (time(6_000_000_000), "its node node1 for 10s: evicted at");
    let waits = format!("why: it tolerates the taints of {then} {at}\nagain in 6s\n");
    assert_eq!(world.look(), waits, "it stays as it is");

    // Removing the toleration.
    let mut removed = world.clone();
    removed.pod(&pod("pod1"));
    let intolerant = "why: it does not tolerate testTaint1=test1:NoExecute of its node node1\n";
    assert_eq!(removed.look(), format!("{intolerant}{cancels}{}", writes(true)));

    // Lengthening toleration shouldn't work; nor does shortening it.
    for seconds in [100, 5] {
        let mut changed = world.clone();
        changed.pod(&tolerating(1, Some(seconds)));
        let why = format!(
            "why: it tolerates the taints of its node node1 for {seconds}s by now, but a timer \
            that runs stays as it is: evicted at {at}\nagain in 6s\n"
        );
        assert_eq!(changed.look(), why);
    }

    // Taint removed, and tolerated for good from now on.
    for (pod, node, why) in [
        (tolerating(1, Some(10)), node("node1", &json!([])), NO_TAINT),
        (tolerating(1, None), tainted.clone(), FOR_GOOD),
    ] {
        let mut cancelled = world.clone();
        cancelled.pod(&pod);
        cancelled.node(&node);
        assert_eq!(cancelled.look(), format!("{why}{cancels}"));
        assert_eq!(cancelled.look(), why, "and once only");
        assert_eq!(cancelled.remembered(), 0);
    }

    // The node is deleted: the timer goes on, and runs out.
    let mut orphan = world.clone();
    orphan.no_node();
    let unknown = "why: its node node1 is not cached, perhaps deleted";
    assert_eq!(orphan.look(), format!("{unknown}: evicted at {at}\nagain in 6s\n"));
    orphan.pass(6);
    assert_eq!(orphan.look(), format!("{unknown}\n{}", writes(true)));

    // The pod is deleted, or replaced by another one of this name.
    let mut deleted = world.clone();
    deleted.no_pod();
    assert_eq!(deleted.look(), format!("why: the pod is deleted\n{cancels}"));
    assert_eq!((deleted.look().as_str(), deleted.remembered()), ("gone\n", 0));
    let mut replaced = world.clone();
    replaced.pod(&with(tolerating(1, Some(10)), json!({"metadata": {"uid": "u-2"}})));
    let begins_anew = "why: it tolerates the taints of its node node1 for 10s: evicted at";
    let anew = format!("{begins_anew} {}\n{cancels}again in 10s\n", time(10_000_000_000));
    assert_eq!(replaced.look(), anew);
}

/// Wall clocks may be set while a timer runs.
#[test]
fn a_clock_that_is_set_moves_no_timer() {
    let mut world = World::new(&tolerating(1, Some(10)), &node("node1", &taints(&[1])));
    assert_eq!(world.look(), begins(10));
    world.set_clock(time(3_600_000_000_000));
    let plan = world.look();
    assert!(plan.ends_with("again in 10s\n"), "{plan}");
    world.set_clock(time(0));
    world.pass(10);
    let plan = world.look();
    assert!(plan.contains("delete pods default/pod1"), "{plan}");
}

/// TestUpdateNodeWithMultipleTaints.
#[test]
fn a_taint_that_is_tolerated_for_good_cancels_no_other() {
    let tolerations = json!([
        {"key": "testTaint1", "operator": "Exists", "effect": "NoExecute"},
        {"key": "testTaint2", "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": 60},
    ]);
    let pod = with(pod("pod1"), json!({"spec": {"tolerations": tolerations}}));
    let mut world = World::new(&pod, &node("node1", &json!([])));
    assert_eq!(world.look(), NO_TAINT);
    world.node(&node("node1", &taints(&[1])));
    assert_eq!(world.look(), FOR_GOOD);
    world.node(&node("node1", &taints(&[1, 2])));
    assert_eq!(world.look(), begins(60));
    world.node(&node("node1", &taints(&[1])));
    assert!(world.look().contains("Cancelling deletion of Pod default/pod1"));
    assert_eq!(world.remembered(), 0);
}

/// The Event comes once, however often the writes fail; upstream gives up after five tries.
#[test]
fn an_eviction_that_fails_is_tried_again_without_another_event() {
    let mut world = World::new(&pod("pod1"), &node("node1", &taints(&[1])));
    world.outcome = Outcome { error: Some("no".to_owned()), ..Outcome::default() };
    assert_eq!(world.look(), intolerant(1));
    let why = "why: it does not tolerate testTaint1=test1:NoExecute of its node node1\n";
    assert_eq!(world.look(), format!("{why}{}", writes(false)));
    // Meanwhile the taint goes: no timer runs, so none is cancelled.
    let mut untainted = world.clone();
    untainted.node(&node("node1", &json!([])));
    assert_eq!((untainted.look().as_str(), untainted.remembered()), (NO_TAINT, 0));

    world.outcome = Outcome::default();
    world.pass(5);
    let plan = world.plan();
    let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let [mark, delete] = actions.as_slice() else { panic!("{plan}") };
    let delete = delete.write().unwrap();
    assert_eq!(&*delete.object.uid, "u-pod1");
    assert_eq!(body(mark.write().unwrap())["metadata"]["uid"], "u-pod1");
    let due: Vec<_> = delete.counts.iter().map(|count| (count.value, count.when)).collect();
    // The wall clock of the test stands still, so it was due five seconds before now.
    let since = Amount::Since(time(-5_000_000_000));
    assert_eq!(due, [(Amount::Of(1.0), When::Done), (since, When::Done)]);
    world.look();
    let terminating = with(pod("pod1"), json!({"metadata": {"deletionTimestamp": NOW}}));
    world.pod(&terminating);
    let rests = "why: it is evicted already, and is being deleted\n";
    assert_eq!(world.look(), rests);
    // So does a successor, which finds the mark.
    let condition = json!([{"type": "DisruptionTarget", "status": "True"}]);
    let marked = with(terminating, json!({"status": {"conditions": condition}}));
    assert_eq!(World::new(&marked, &node("node1", &taints(&[1]))).look(), rests);
    world.no_pod();
    world.look();
    assert_eq!(world.remembered(), 0);
}

/// As `CalculatePodConditionObservedGeneration` and `UpdatePodCondition`.
#[test]
fn the_mark_says_of_which_generation_and_since_when() {
    let marked = |tracks_generations, conditions: Value| {
        let pod = with(pod("pod1"), json!({"metadata": {"generation": 3}}));
        let pod = with(pod, json!({"status": {"conditions": conditions}}));
        let mut world = World::new(&pod, &node("node1", &taints(&[1])));
        world.controller.tracks_generations = tracks_generations;
        let plan = world.plan();
        let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
        let condition = body(actions[1].write().unwrap())["status"]["conditions"][0].clone();
        (condition["observedGeneration"].clone(), condition["lastTransitionTime"].clone())
    };
    let mark = |status, generation: Option<i64>| {
        let since = ago(60);
        json!([{"type": "DisruptionTarget", "status": status, "lastTransitionTime": since,
            "observedGeneration": generation.unwrap_or(0)}])
    };
    assert_eq!(marked(true, json!([])), (json!(3), json!(NOW)));
    assert_eq!(marked(false, json!([])), (Value::Null, json!(NOW)));
    assert_eq!(marked(false, mark("False", Some(2))), (json!(3), json!(NOW)));
    assert_eq!(marked(false, mark("True", None)), (Value::Null, Value::Null));
}

/// Behind the gate `TaintTolerationComparisonOperators`.
#[test]
fn tolerations_that_compare_numbers_count_behind_a_gate() {
    let taint = json!([{"key": "sla", "value": "950", "effect": "NoExecute"}]);
    let toleration = json!([{"key": "sla", "operator": "Gt", "value": "900",
        "effect": "NoExecute", "tolerationSeconds": 30}]);
    let pod = with(pod("pod1"), json!({"spec": {"tolerations": toleration}}));
    let mut world = World::new(&pod, &node("node1", &taint));
    let intolerant = evicted("it does not tolerate sla=950:NoExecute of its node node1");
    assert_eq!(world.clone().look(), intolerant);
    world.controller.compares_tolerations = true;
    assert_eq!(world.look(), begins(30));
}

/// `PodUpdated` and `NodeUpdated`; TestEventualConsistency and TestUpdateNodeWithMultiplePods by
/// the keys that they enqueue.
#[test]
fn changes_of_tolerations_and_of_taints_enqueue() {
    let (tainted, untainted) = (node("node1", &taints(&[1])), node("node1", &json!([])));
    let fixture = |node: &Value| {
        let other = with(pod("other"), json!({"spec": {"nodeName": "node2"}}));
        let pods = [pod("pod1"), pod("pod2"), other];
        Fixture::default().holding::<Pod>(&pods).holding::<Node>(std::slice::from_ref(node))
    };
    let memory = Shared::<Timers>::default();
    let of_pod = |change: &Change<Pod>, node: &Value| {
        lines(&remembered(&controller(), &memory, change, &fixture(node)))
    };
    let now = "now default/pod1\n";
    let [old, new] = [pod("pod1"), tolerating(1, None)].map(|it| decode::<Pod>(&it));
    let unbound = with(pod("pod1"), json!({"spec": {"nodeName": null}}));
    let unbound = decode::<Pod>(&unbound);
    for (change, node, expected) in [
        (Change::Added(old.clone()), &tainted, now),
        (Change::Added(old.clone()), &untainted, ""),
        (Change::Added(unbound.clone()), &tainted, ""),
        (Change::Updated { old: old.clone(), new: old.clone() }, &tainted, ""),
        (Change::Updated { old: old.clone(), new: new.clone() }, &untainted, now),
        (Change::Updated { old: unbound, new }, &tainted, now),
        (Change::Deleted(old), &untainted, "forget default/pod1\n"),
    ] {
        assert_eq!(of_pod(&change, node), expected, "{change:?}");
    }
    let of_node = |change: &Change<Node>, held: &Value| {
        lines(&remembered(&controller(), &memory, change, &fixture(held)))
    };
    let both = "now default/pod1\nnow default/pod2\n";
    let [old, new] = [&untainted, &tainted].map(decode::<Node>);
    let no_schedule = json!([{"key": "one", "effect": "NoSchedule"}]);
    let unrelated = decode::<Node>(&node("node1", &no_schedule));
    for (change, held, expected) in [
        (Change::Added(new.clone()), &tainted, both),
        (Change::Added(old.clone()), &untainted, ""),
        (Change::Updated { old: old.clone(), new: new.clone() }, &tainted, both),
        (Change::Updated { old: old.clone(), new: unrelated }, &untainted, ""),
        (Change::Updated { old: new.clone(), new: new.clone() }, &tainted, ""),
        (Change::Updated { old: new.clone(), new: old }, &untainted, ""),
        (Change::Deleted(new), &tainted, ""),
    ] {
        assert_eq!(of_node(&change, held), expected, "{change:?}");
    }
}

/// A node whose taints go enqueues the pods that wait.
#[test]
fn a_node_without_taints_enqueues_the_pods_with_timers() {
    let mut world = World::new(&tolerating(1, Some(10)), &node("node1", &taints(&[1])));
    world.look();
    let [old, new] = [taints(&[1]), json!([])].map(|it| decode::<Node>(&node("node1", &it)));
    assert_eq!(
        world.node_changes(&Change::Updated { old, new: new.clone() }),
        "now default/pod1\n"
    );
    assert_eq!(world.node_changes(&Change::Added(new)), "now default/pod1\n", "it was made anew");
}

#[test]
fn a_summary_says_what_the_pod_tolerates_and_until_when() {
    let mut world = World::new(&tolerating(1, Some(10)), &node("node1", &taints(&[1])));
    let of = "node: node1\ntolerates: testTaint1=test1:NoExecute for 10s\n\
        taint: testTaint1=test1:NoExecute\n";
    assert_eq!(world.summary(), of);
    world.look();
    world.pass(3);
    let until = time(7_000_000_000);
    assert_eq!(world.summary(), format!("{of}timer: runs out at {until}, 10s after it began\n"));
    world.pass(7);
    world.outcome = Outcome { error: Some("no".to_owned()), ..Outcome::default() };
    world.look();
    assert_eq!(world.summary(), format!("{of}timer: ran out at {NOW}\n"));
    let silent = World::new(
        &with(pod("pod1"), json!({"spec": {"nodeName": null}})),
        &json!({
            "metadata": {"name": "node1"}
        }),
    );
    assert_eq!(silent.summary(), "node: none\n");
}

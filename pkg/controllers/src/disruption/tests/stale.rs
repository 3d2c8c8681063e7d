//! Pods that were to be disrupted, and were not.

use controller::Tolerated;

use super::*;

const PODS: Pods = Pods { tracks_generations: true };

fn marked(since: &Value, more: Value) -> Value {
    let condition = with(
        json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "m", "lastTransitionTime": since}),
        more,
    );
    with(
        naked("p"),
        json!({
        "metadata": {"generation": 3}, "status": {"conditions": [condition]}}),
    )
}

fn planned(pods: Pods, pod: &Value, budgets: &[Value]) -> Plan {
    let world = World { pods: vec![pod.clone()], budgets: budgets.into(), ..World::default() };
    let snapshot = pods.observe(&Key::new("shop", "p"), &world.fixture().view(), &()).unwrap();
    pods.decide(&snapshot, &Facts::default()).0
}

fn enqueued(pod: &Value, budgets: &[Value]) -> String {
    let world = World { pods: vec![pod.clone()], budgets: budgets.into(), ..World::default() };
    let change = Change::Added(fixture::decode::<Pod>(pod));
    fixture::enqueued(&PODS, &change, &world.fixture())
}

/// The patch that resets the condition.
fn reset(generation: &str) -> String {
    format!(
        "in order: patch pods shop/p status {{\"metadata\":{{\"resourceVersion\":\"1\",\
         \"uid\":\"uid-p\"}},\"status\":{{\"conditions\":[{{\"lastTransitionTime\":\"{}\",\
         \"message\":null,{generation}\"reason\":null,\"status\":\"False\",\
         \"type\":\"DisruptionTarget\"}}]}}}}\n",
        ago(0)
    )
}

/// TestStalePodDisruption; and pods that have ended or that the kubelet ends.
#[test]
fn a_stale_mark_is_reset() {
    let ended = with(marked(&json!(ago(121)), json!({})), json!({"status": {"phase": "Failed"}}));
    let kubelet = marked(&json!(ago(121)), json!({"reason": "TerminationByKubelet"}));
    let tracked = "\"observedGeneration\":3,";
    for (name, pod, again, expected) in [
        ("stale pod disruption", marked(&json!(ago(121)), json!({})), "now shop/p", reset(tracked)),
        ("on the moment", marked(&json!(ago(120)), json!({})), "after 0ns shop/p", reset(tracked)),
        ("without a time", marked(&Value::Null, json!({})), "now shop/p", reset(tracked)),
        (
            "pod disruption in progress",
            marked(&json!(ago(119)), json!({})),
            "after 1s shop/p",
            "again in 1s\n".to_owned(),
        ),
        (
            "pod disruption actuated",
            leaving(marked(&json!(ago(121)), json!({}))),
            "",
            String::new(),
        ),
        ("no pod disruption", naked("p"), "", String::new()),
        (
            "pod disruption cleared",
            marked(&json!(ago(121)), json!({"status": "False"})),
            "",
            String::new(),
        ),
        ("ended", ended, "", String::new()),
        ("by kubelet", kubelet, "", String::new()),
    ] {
        let plan = planned(PODS, &pod, &[]).to_string();
        let (_, rest) = plan.split_once('\n').unwrap();
        assert_eq!(rest, expected, "{name}");
        let calls = enqueued(&pod, &[]).replace("after 0ns", "now");
        assert_eq!(calls.trim_end(), again.replace("after 0ns", "now"), "{name}");
    }
}

/// `CalculatePodConditionObservedGeneration`.
#[test]
fn a_generation_is_told_if_the_gate_is_on_or_one_was() {
    let off = Pods { tracks_generations: false };
    let plan = |pods: Pods, more| planned(pods, &marked(&json!(ago(121)), more), &[]).to_string();
    assert!(plan(off, json!({})).ends_with(&reset("")));
    let before = json!({"observedGeneration": 2});
    assert!(plan(off, before).ends_with(&reset("\"observedGeneration\":3,")));
}

/// `getPdbForPod`; in upstream each change of the pod tells of it.
#[test]
fn several_budgets_are_warned_of() {
    let named = |name: &str| {
        with(
            budget(&json!({"minAvailable": 1})),
            json!({
        "metadata": {"name": name, "uid": name}}),
        )
    };
    let [a, b] = ["a", "b"].map(named);
    let other = with(named("c"), json!({"spec": {"selector": {"matchLabels": {"foo": "x"}}}}));
    assert_eq!(enqueued(&naked("p"), &[a.clone(), other.clone()]), "");
    assert_eq!(enqueued(&naked("p"), &[a.clone(), b.clone()]), "now shop/p\n");
    assert_eq!(events(&planned(PODS, &naked("p"), &[a.clone(), other])), [""; 0]);
    assert_eq!(
        events(&planned(PODS, &naked("p"), &[b, a])),
        ["Warning MultiplePodDisruptionBudgets: Pod \"shop\"/\"p\" matches multiple \
          PodDisruptionBudgets.  Chose \"a\" arbitrarily."]
    );
}

/// An eviction that comes in between marks the pod anew: it keeps that mark.
#[test]
fn another_version_is_looked_at_again() {
    let plan = planned(PODS, &marked(&json!(ago(121)), json!({})), &[]);
    let Step::InOrder(actions) = &plan.steps[0] else { panic!("another step") };
    let write = actions[0].write().unwrap();
    assert_eq!(write.tolerates, [Tolerated::Missing, Tolerated::Conflict]);
}

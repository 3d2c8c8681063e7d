//! Tables of upstream's `indexed_job_utils_test.go`, `success_policy_test.go`,
//! `pod_failure_policy_test.go` and `backoff_utils_test.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{Pod, PodFailurePolicy, SuccessPolicy, Time};
use controller::fixture::{NOW, ago, decode, time, with};
use serde_json::{Value, json};

use super::super::backoff::{Record, remaining_of_index};
use super::super::indexes::Indexes;
use super::super::{failure_policy, pods, success_policy};
use super::world;

fn indexes(text: &str) -> Indexes {
    Indexes::parse(text, i64::MAX)
}

/// TestCalculateSucceededIndexes: what the status says, completions, what is new, and both.
#[test]
fn indexes_are_read_merged_and_written() {
    for (known, completions, new, was, is) in [
        ("", 2, &[1][..], "", "1"),
        ("", 11, &[5, 5, 10], "", "5,10"),
        ("", 8, &[2, 3, 5, 6, 7], "", "2,3,5-7"),
        ("", 6, &[0, 2, 3, 4, 5], "", "0,2-5"),
        ("0-5,8-10", 8, &[], "0-5", "0-5"),
        ("0-5,8-10", 10, &[], "0-5,8,9", "0-5,8,9"),
        ("0,4,5,10-12", 13, &[2, 7, 8], "0,4,5,10-12", "0,2,4,5,7,8,10-12"),
        ("3,4,6", 9, &[2, 7, 8], "3,4,6", "2-4,6-8"),
        ("2,7,8", 9, &[3, 4, 6], "2,7,8", "2-4,6-8"),
        ("2-7", 10, &[0, 3, 5, 9], "2-7", "0,2-7,9"),
        ("0,1-foo,bar", 4, &[3], "0", "0,3"),
        ("-5,1", 4, &[], "1", "1"),
    ] {
        let known = Indexes::parse(known, completions);
        let both = known.with(new.iter().copied());
        assert_eq!((known.to_string().as_str(), both.to_string().as_str()), (was, is));
    }
    assert_eq!((indexes("0,2-7,9").total(), indexes("").total()), (8, 0));
}

/// TestIntervalsHaveIndex and TestFirstPendingIndexes.
#[test]
fn missing_indexes_are_found() {
    let some = indexes("0,3,4,6-8");
    let has: Vec<_> = (-1..10).filter(|index| some.has(*index)).collect();
    assert_eq!(has, [0, 3, 4, 6, 7, 8]);
    for (taken, count, completions, missing) in [
        ("", 5, 3, &[0, 1, 2][..]),
        ("", 2, 5, &[0, 1]),
        ("0,1", 3, 10, &[2, 3, 4]),
        ("4-6", 6, 6, &[0, 1, 2, 3]),
        ("2-5,8,9", 5, 20, &[0, 1, 6, 7, 10]),
        ("1-3,5-7,9", 5, 20, &[0, 4, 8, 10, 11]),
        ("0-2", 5, 3, &[]),
    ] {
        assert_eq!(indexes(taken).first_missing(count, completions), missing, "{taken}");
    }
}

/// TestMatchSuccessPolicy.
#[test]
fn a_success_policy_is_met() {
    let rule = |indexes: Value, count: Value| -> Value {
        json!({"succeededIndexes": indexes, "succeededCount": count})
    };
    let none = Value::Null;
    for (succeeded, rules, met) in [
        ("0", vec![], None),
        ("0", vec![rule(json!("invalid-form"), none.clone())], None),
        ("0-2,4-7", vec![rule(json!("0-2"), none.clone())], Some(0)),
        ("0-2", vec![rule(json!("3"), none.clone())], None),
        ("0-2", vec![rule(none.clone(), json!(2))], Some(0)),
        ("0-2", vec![rule(none.clone(), json!(4))], None),
        (
            "0-2,4-7",
            vec![rule(json!("9"), none.clone()), rule(json!("4,6"), none.clone())],
            Some(1),
        ),
        (
            "0-2,4-7",
            vec![rule(json!("0,1"), none.clone()), rule(json!("5"), none.clone())],
            Some(0),
        ),
        ("0-2,4-7", vec![rule(json!("3-6"), json!(2))], Some(0)),
        ("0-2,6,7", vec![rule(json!("3-6"), json!(2))], None),
        ("", vec![rule(none.clone(), json!(0))], None),
        ("1-9", vec![rule(json!("2-4,6-8"), none.clone())], Some(0)),
        ("2-5,7-15", vec![rule(json!("2-4,8-12"), none.clone())], Some(0)),
        ("1-3", vec![rule(json!(""), none.clone())], None),
        ("1-3,5-7", vec![rule(json!("10-12,14-16"), none.clone())], None),
        ("2-4,6-8", vec![rule(json!("1-3,5-7"), none.clone())], None),
        ("2-4,6-8", vec![rule(json!("1-3,5-7"), json!(4))], Some(0)),
        ("1-3,7,8", vec![rule(json!("0-4,6-9"), json!(5))], Some(0)),
        ("1-10", vec![rule(json!("0-3,6-9"), none.clone())], None),
        ("1-10", vec![rule(json!("0-3,6-9"), json!(7))], Some(0)),
    ] {
        let policy: SuccessPolicy = serde_json::from_value(json!({"rules": rules})).unwrap();
        let message = success_policy::matched(Some(&policy), 20, &indexes(succeeded));
        let expected = met.map(|at: usize| format!("Matched rules at index {at}"));
        assert_eq!(message, expected, "{succeeded} {policy:?}");
    }
}

fn failed(status: &Value) -> Arc<Pod> {
    decode(&with(world::pod("a", "f", None), json!({"status": status})))
}

fn terminated(name: &str, code: i64) -> Value {
    json!({"name": name, "state": {"terminated": {"exitCode": code}}})
}

/// TestMatchPodFailurePolicy: the status, the rules, and the verdict.
#[test]
fn a_failure_is_judged_by_the_first_rule_that_matches() {
    let exit = |action: &str, operator: &str, values: &[i32]| -> Value {
        json!({"action": action, "onExitCodes": {"operator": operator, "values": values}})
    };
    let on = |action: &str, r#type: &str, status: &str| -> Value {
        json!({"action": action, "onPodConditions": [{"type": r#type, "status": status}]})
    };
    let of_container = json!({"action": "FailJob",
        "onExitCodes": {"containerName": "b", "operator": "In", "values": [5]}});
    let main = |code| json!({"containerStatuses": [terminated("main", code)]});
    let two = json!({"containerStatuses": [terminated("a", 5), terminated("b", 6)]});
    let init = json!({"containerStatuses": [{"name": "main", "state": {}}],
        "initContainerStatuses": [terminated("init", 4)]});
    let disrupted = json!({"conditions": [{"type": "DisruptionTarget", "status": "True"}]});
    let job = "FailJob Container main for pod shop/a failed with exit code 2 matching FailJob rule \
        at index 1";
    for (status, rules, expected) in [
        (main(2), vec![], "none"),
        (main(2), vec![exit("Ignore", "In", &[1, 3])], "none"),
        (main(2), vec![exit("Ignore", "In", &[1, 2])], "Ignore"),
        (main(2), vec![exit("Count", "NotIn", &[1])], "Count"),
        (main(0), vec![exit("FailJob", "NotIn", &[1])], "none"),
        (main(2), vec![exit("Ignore", "In", &[1]), exit("FailJob", "In", &[2])], job),
        (main(2), vec![exit("Wonder", "In", &[2]), exit("FailJob", "In", &[2])], job),
        (main(2), vec![exit("FailJob", "Like", &[2])], "none"),
        (main(2), vec![exit("FailIndex", "In", &[2]), exit("FailJob", "In", &[2])], "FailIndex"),
        (two, vec![of_container], "none"),
        (
            init,
            vec![exit("FailJob", "In", &[4])],
            "FailJob Container init for pod shop/a failed with exit code 4 matching FailJob rule \
             at index 0",
        ),
        (disrupted.clone(), vec![on("Ignore", "DisruptionTarget", "True")], "Ignore"),
        (disrupted.clone(), vec![on("Ignore", "DisruptionTarget", "False")], "none"),
        (
            disrupted,
            vec![on("FailJob", "DisruptionTarget", "True")],
            "FailJob Pod shop/a has condition DisruptionTarget matching FailJob rule at index 0",
        ),
    ] {
        let policy: PodFailurePolicy = serde_json::from_value(json!({"rules": rules})).unwrap();
        let verdict = failure_policy::judge(Some(&policy), &failed(&status));
        let action = verdict.action.map_or_else(|| "none".to_owned(), |it| format!("{it:?}"));
        let text = [Some(action), verdict.fails_job.clone()].into_iter().flatten();
        assert_eq!(text.collect::<Vec<_>>().join(" "), expected);
        assert_eq!(verdict.counts(), expected != "Ignore");
    }
    assert!(failure_policy::judge(None, &failed(&json!({}))).counts());
}

/// TestGetFinishedTime.
#[test]
fn a_pod_has_ended_when_its_last_container_has() {
    let ended = |seconds: i64| json!({"terminated": {"finishedAt": ago(seconds)}});
    let pod = |patch: Value| {
        let base = json!({
            "metadata": {"name": "a", "namespace": "shop", "creationTimestamp": ago(900),
                "resourceVersion": "1"},
            "spec": {"initContainers": [{"name": "init"},
                {"name": "sidecar", "restartPolicy": "Always"}]},
        });
        let pod: Arc<Pod> = decode(&with(base, patch));
        time(0).since(pods::finished_at(&pod)).as_secs()
    };
    let regular = |states: &[Value]| {
        let states: Vec<_> = states.iter().map(|it| json!({"name": "main", "state": it})).collect();
        json!({"status": {"containerStatuses": states}})
    };
    let sidecar = |state: Value| {
        json!({"status": {"initContainerStatuses": [
            {"name": "init", "state": ended(500)}, {"name": "sidecar", "state": state}]}})
    };
    let unready = json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "lastTransitionTime": ago(70)}]}});
    let deleted =
        json!({"metadata": {"deletionTimestamp": ago(10), "deletionGracePeriodSeconds": 30}});
    assert_eq!(pod(regular(&[ended(20), ended(10)])), 10);
    assert_eq!(pod(with(regular(&[ended(20)]), sidecar(ended(5)))), 5);
    assert_eq!(pod(with(regular(&[ended(20)]), sidecar(json!({"running": {}})))), 900);
    assert_eq!(pod(regular(&[ended(20), json!({"running": {}})])), 900);
    assert_eq!(pod(with(regular(&[json!({})]), unready.clone())), 70);
    assert_eq!(pod(with(unready, deleted.clone())), 70);
    assert_eq!(pod(deleted), 40);
    assert_eq!(pod(json!({})), 900);
}

/// TestNewBackoffRecord, with moments as seconds ago.
#[test]
fn failures_after_the_last_success_count() {
    let pod = |seconds: &i64| -> Arc<Pod> {
        failed(&json!({"containerStatuses": [
            {"name": "main", "state": {"terminated": {"finishedAt": ago(*seconds)}}}]}))
    };
    for (known, succeeded, failed, expected) in [
        ((0, None), &[][..], &[][..], (0, None)),
        ((2, Some(50)), &[], &[], (2, Some(50))),
        ((0, None), &[], &[30, 20, 25], (3, Some(20))),
        ((2, Some(50)), &[], &[30], (3, Some(30))),
        ((2, Some(50)), &[30], &[], (0, None)),
        ((2, Some(50)), &[30], &[40, 20, 10], (2, Some(10))),
        ((2, Some(50)), &[30, 5], &[40, 20, 10], (0, None)),
        ((2, Some(50)), &[30], &[30], (0, None)),
    ] {
        let moment = |seconds: i64| Time::parse(&ago(seconds)).unwrap();
        let record = Record { failures: known.0, last: known.1.map(moment) };
        let pods = |seconds: &[i64]| seconds.iter().map(pod).collect::<Vec<_>>();
        let record = record.with(&pods(succeeded), &pods(failed));
        assert_eq!((record.failures, record.last), (expected.0, expected.1.map(moment)));
    }
}

/// TestGetRemainingBackoffTime and TestGetRemainingBackoffTimePerIndex, by Kubernetes' own limits.
#[test]
fn each_failure_doubles_the_wait() {
    for (failures, since, expected) in [
        (0, 0, 0),
        (1, 0, 10),
        (1, 4, 6),
        (1, 10, 0),
        (1, 11, 0),
        (3, 0, 40),
        (6, 0, 320),
        (7, 0, 600),
        (40, 0, 600),
        (1, -5, 15),
    ] {
        let last = Time::parse(&ago(since)).ok();
        let record = Record { failures, last };
        assert_eq!(record.remaining(time(0)), Duration::from_secs(expected), "{failures} {since}");
    }
    let pod = |failures: &str, ignored: &str| -> Arc<Pod> {
        let patch = json!({"metadata": {"annotations": {
            "batch.kubernetes.io/job-index-failure-count": failures,
            "batch.kubernetes.io/job-index-ignored-failure-count": ignored}},
            "status": {"containerStatuses": [{"name": "main",
                "state": {"terminated": {"finishedAt": NOW}}}]}});
        decode(&with(world::pod("a", "f", Some("0")), patch))
    };
    let remaining = |pod: &Arc<Pod>| remaining_of_index(Some(pod), time(0)).as_secs();
    assert_eq!(remaining_of_index(None, time(0)), Duration::ZERO);
    assert_eq!((remaining(&pod("2", "0")), remaining(&pod("1", "1"))), (40, 40));
    // TestGetIndexFailureCount: what is no number counts as none.
    assert_eq!((remaining(&pod("x", "-1")), remaining(&pod("3000000000", "+1"))), (10, 20));
}

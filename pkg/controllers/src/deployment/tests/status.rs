//! The status, as upstream's `progress_test.go` and the integration tests have it.

use std::time::Duration;

use super::super::creation;
use super::*;

/// When the conditions of these tests were last changed.
const BEFORE: &str = "2024-05-01T11:59:00Z";

fn progressing(status: &str, reason: &str) -> Value {
    json!({"type": "Progressing", "status": status, "reason": reason,
        "lastUpdateTime": BEFORE, "lastTransitionTime": BEFORE})
}

/// A rollout to `v2` under way: `counts` are replicas, updated, ready and available.
fn rollout(replicas: i32, counts: [i32; 4], conditions: &[Value]) -> Value {
    let [total, updated, ready, available] = counts;
    let status = json!({"replicas": total, "updatedReplicas": updated, "readyReplicas": ready,
        "availableReplicas": available, "conditions": conditions});
    let it = spec(deployment("v2", replicas), json!({"progressDeadlineSeconds": 60}));
    let it = annotated(it, json!({REVISION: "2"}));
    with(it, json!({"status": status}))
}

/// A set with so many wanted, had and available.
fn counted(image: &str, [wanted, has, available]: [i32; 3]) -> Value {
    let set = super::available(set(image, has), available);
    spec(sized(set, 3, 3), json!({"replicas": wanted}))
}

fn reported(it: &Value, sets: &[Value], outcome: &Outcome) -> Option<Value> {
    super::reported(it, sets, outcome).map(|update| body(&update))
}

fn done(it: &Value, sets: &[Value]) -> Option<Value> {
    reported(it, sets, &Outcome::default())
}

/// `<type> <status> <reason>: <message>` of the conditions, in order.
fn conditions(body: &Value) -> Vec<String> {
    let conditions = body["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let word = |condition: &Value, name: &str| condition[name].as_str().unwrap_or("").to_owned();
    let line = |it: &Value| {
        let words = ["type", "status", "reason"].map(|name| word(it, name)).join(" ");
        format!("{words}: {}", word(it, "message"))
    };
    conditions.iter().map(line).collect()
}

fn progress_of(body: &Value) -> Option<&Value> {
    body["status"]["conditions"].as_array()?.iter().find(|it| it["type"] == "Progressing")
}

/// Status, reason, time of the last update, and of the last transition.
fn words(condition: &Value) -> (&str, &str, &str, &str) {
    let word = |name: &str| condition[name].as_str().unwrap();
    (word("status"), word("reason"), word("lastUpdateTime"), word("lastTransitionTime"))
}

/// TestSyncRolloutStatus. Its Deployments are Recreate; so are these.
#[test]
fn progress_is_reported_as_test_sync_rollout_status() {
    let updated = || progressing("True", "ReplicaSetUpdated");
    let failed = || progressing("False", "ProgressDeadlineExceeded");
    let finished = || progressing("True", "NewReplicaSetAvailable");
    let old = || counted("v1", [0, 1, 1]);
    let new = |counts| counted("v2", counts);
    let part = |condition: &[Value]| recreate(rollout(3, [2, 2, 2, 2], condition));
    let full = |condition: &[Value]| recreate(rollout(3, [3, 3, 3, 3], condition));
    let unlimited = |it: Value| spec(it, json!({"progressDeadlineSeconds": null}));
    let (kept, now) = (BEFORE, NOW);
    for (name, it, sets, expected) in [
        (
            "General: remove Progressing condition if there is no Progress Deadline",
            unlimited(part(&[updated()])),
            vec![old(), new([3, 2, 2])],
            None,
        ),
        (
            "General: do not estimate progress of deployment with only one active ReplicaSet",
            full(&[finished()]),
            vec![new([3, 3, 3])],
            Some(("True", "NewReplicaSetAvailable", kept, kept)),
        ),
        (
            "DeploymentProgressing: dont update lastTransitionTime if already Progressing=True",
            part(&[updated()]),
            vec![old(), new([3, 2, 2])],
            Some(("True", "ReplicaSetUpdated", now, kept)),
        ),
        (
            "DeploymentProgressing: update everything if Progressing=False",
            part(&[failed()]),
            vec![old(), new([3, 2, 2])],
            Some(("True", "ReplicaSetUpdated", now, now)),
        ),
        (
            "DeploymentProgressing: create Progressing condition if it does not exist",
            part(&[]),
            vec![old(), new([3, 2, 2])],
            Some(("True", "ReplicaSetUpdated", now, now)),
        ),
        (
            "DeploymentComplete: dont update lastTransitionTime if already Progressing=True",
            full(&[updated()]),
            vec![new([3, 3, 3])],
            Some(("True", "NewReplicaSetAvailable", now, kept)),
        ),
        (
            "DeploymentComplete: update everything if Progressing=False",
            full(&[failed()]),
            vec![new([3, 3, 3])],
            Some(("True", "NewReplicaSetAvailable", now, now)),
        ),
        (
            "DeploymentComplete: create Progressing condition if it does not exist",
            full(&[]),
            vec![new([3, 3, 3])],
            Some(("True", "NewReplicaSetAvailable", now, now)),
        ),
        (
            "DeploymentTimedOut: do not update status if it has timed out already",
            part(&[failed()]),
            vec![new([3, 2, 2])],
            Some(("False", "ProgressDeadlineExceeded", kept, kept)),
        ),
    ] {
        // So that something is to be written whatever the progress.
        let it = with(it, json!({"status": {"unavailableReplicas": 9}}));
        let written = done(&it, &sets).unwrap();
        assert_eq!(progress_of(&written).map(words), expected, "{name}");
    }
}

/// `NewReplicaSetAvailable` ends where the next rollout begins.
#[test]
fn a_rollout_after_one_that_was_complete_is_reported() {
    let finished = progressing("True", "NewReplicaSetAvailable");
    let it = rollout(3, [3, 0, 3, 3], &[finished]);
    let written = done(&it, &[counted("v1", [2, 2, 2]), counted("v2", [1, 1, 0])]).unwrap();
    let expected = ("True", "ReplicaSetUpdated", NOW, BEFORE);
    assert_eq!(progress_of(&written).map(words), Some(expected));
}

/// TestSyncRolloutStatus, "defend against NPE when newRS=nil": a Recreate that waits.
#[test]
fn a_rollout_without_new_set_is_reported_by_the_name_of_its_deployment() {
    let it = recreate(rollout(0, [3; 4], &[progressing("True", "ReplicaSetUpdated")]));
    let old = sized(set("v1", 0), 3, 3);
    let left = with(pod("p"), json!({"metadata": owned_by("ReplicaSet", &old)}));
    let s = observed(&it, &[old], &[left]);
    let (_, verdict) = CONTROLLER.decide(&s, &Facts::default());
    let written = body(&CONTROLLER.report(&s, Some(&verdict), &Outcome::default()).unwrap());
    let line = "Progressing True NewReplicaSetAvailable: \
        Deployment \"foo\" has successfully progressed.";
    assert!(conditions(&written).contains(&line.to_owned()), "{written}");
}

/// TestSyncRolloutStatus, "update status if rollout exceeds Progress Deadline": 60s are not over
/// at 60s.
#[test]
fn a_rollout_that_takes_too_long_is_reported() {
    let stuck = rollout(3, [2, 2, 2, 2], &[progressing("True", "ReplicaSetUpdated")]);
    let sets = [counted("v2", [3, 2, 2])];
    let at = |deadline: i32| {
        let it = spec(stuck.clone(), json!({"progressDeadlineSeconds": deadline}));
        conditions(&done(&it, &sets).unwrap())[0].clone()
    };
    assert_eq!(at(60), "Progressing True ReplicaSetUpdated: ");
    let message = "ReplicaSet \"foo-v2\" has timed out progressing.";
    assert_eq!(
        conditions(&done(&spec(stuck, json!({"progressDeadlineSeconds": 59})), &sets).unwrap())[1],
        format!("Progressing False ProgressDeadlineExceeded: {message}"),
    );
}

/// TestRequeueStuckDeployment. Upstream adds a second to what it returns; where it returns 0 it
/// looks again at once, and here right after the deadline.
#[test]
fn a_stuck_rollout_is_looked_at_after_the_deadline() {
    let stuck = |reason: &str| vec![progressing("True", reason)];
    let again = |it: &Value, counts: [i32; 3], nanos: i64| {
        let sets = [counted("v2", counts)];
        // Nothing else is to be written.
        let written = done(it, &sets).unwrap_or_else(|| it.clone());
        let it = with(it.clone(), json!({"status": written["status"]}));
        let mut fixture = caches(&[it], &sets, &[]);
        fixture.now = api::Time::parse(BEFORE).unwrap() + Duration::from_mins(1);
        fixture.now = fixture.now - Duration::from_nanos(u64::try_from(nanos).unwrap());
        let s = CONTROLLER.observe(&Key::new("shop", "foo"), &fixture.view(), &()).unwrap();
        CONTROLLER.decide(&s, &Facts::default()).0.again
    };
    let second = 1_000_000_000;
    let (partial, part) = ([3, 3, 1], [3, 3, 1, 1]);
    let unlimited = |deadline: Value| {
        spec(rollout(3, part, &stuck("x")), json!({"progressDeadlineSeconds": deadline}))
    };
    let failed = vec![progressing("False", "ProgressDeadlineExceeded")];
    for (name, it, counts, nanos, expected) in [
        ("nil progressDeadlineSeconds", unlimited(Value::Null), partial, second, None),
        ("infinite progressDeadlineSeconds", unlimited(json!(i32::MAX)), partial, second, None),
        ("complete", rollout(3, [3; 4], &stuck("x")), [3, 3, 3], second, None),
        (
            "pods of a complete rollout became unavailable: nothing to wait for",
            rollout(3, part, &stuck("NewReplicaSetAvailable")),
            partial,
            0,
            None,
        ),
        ("already failed", rollout(3, part, &failed), partial, second, None),
        ("30s", rollout(3, part, &stuck("x")), partial, 30 * second, Some(31_000)),
        ("1s", rollout(3, part, &stuck("x")), partial, second, Some(2_000)),
        ("less than a second", rollout(3, part, &stuck("x")), partial, second / 2, Some(501)),
        ("now", rollout(3, part, &stuck("x")), partial, 0, Some(1)),
    ] {
        assert_eq!(again(&it, counts, nanos), expected.map(Duration::from_millis), "{name}");
    }
    let news = planned(&rollout(3, [3; 4], &stuck("x")), &[counted("v2", partial)], &[]);
    assert_eq!(news.again, None, "what is written enqueues it");
}

/// TestDeploymentAvailableCondition (integration), and card, Status.
#[test]
fn availability_is_reported() {
    let yes = "Available True MinimumReplicasAvailable: Deployment has minimum availability.";
    let no = "Available False MinimumReplicasUnavailable: \
        Deployment does not have minimum availability.";
    for (name, strategy, available, expected) in [
        ("as many as may be missing are", rolling(&json!(0), &json!(1)), 2, yes),
        ("more are missing", rolling(&json!(0), &json!(1)), 1, no),
        ("Recreate: one is missing", json!({"type": "Recreate", "rollingUpdate": null}), 2, no),
    ] {
        let it = spec(deployment("v1", 3), json!({ "strategy": strategy }));
        let sets = [counted("v1", [3, 3, available])];
        assert_eq!(conditions(&done(&it, &sets).unwrap()), [expected], "{name}");
    }
}

/// Card, Status: sums over all sets, of what they count and (unavailable) of what they want.
#[test]
fn the_counts_of_all_sets_are_summed() {
    let it = rollout(9, [0; 4], &[]);
    let status = |sets: &[Value]| done(&it, sets).unwrap()["status"].clone();
    let old = with(counted("v1", [5, 4, 3]), json!({"status": {"terminatingReplicas": 2}}));
    let new = with(counted("v2", [4, 3, 1]), json!({"status": {"readyReplicas": 2}}));
    let found = status(&[old.clone(), new.clone()]);
    for (name, expected) in [
        ("replicas", 7),
        ("updatedReplicas", 3),
        ("readyReplicas", 5),
        ("availableReplicas", 4),
        ("unavailableReplicas", 5),
        ("terminatingReplicas", 2),
        ("observedGeneration", 1),
    ] {
        assert_eq!(found[name], expected, "{name}");
    }
    let surplus = status(&[counted("v2", [1, 3, 3])]);
    assert_eq!(surplus.get("unavailableReplicas"), None, "never negative, so it stays 0");
    let silent = |seen: i64| {
        let patch = json!({"terminatingReplicas": null, "observedGeneration": seen});
        with(counted("v1", [5, 4, 3]), json!({ "status": patch }))
    };
    // TestTerminatingReplicasDeploymentStatus (integration).
    assert_eq!(status(&[silent(1), new.clone()])["terminatingReplicas"], Value::Null);
    assert_eq!(status(&[silent(0), new])["terminatingReplicas"], 0);
}

/// TestTerminatingReplicasDeploymentStatus (integration), with the gate off: whatever the sets say,
/// and the present one is removed.
#[test]
fn terminating_pods_are_not_counted_without_the_gate() {
    let off = Controller { counts_terminating: false };
    let old = with(counted("v1", [5, 4, 3]), json!({"status": {"terminatingReplicas": 2}}));
    let it = spec(
        deployment("v1", 5),
        json!({"strategy": {"type": "Recreate",
        "rollingUpdate": null}}),
    );
    for known in [json!(null), json!(2)] {
        let it = with(it.clone(), json!({"status": {"terminatingReplicas": known}}));
        let fixture = caches(std::slice::from_ref(&it), std::slice::from_ref(&old), &[]);
        let snapshot = off.observe(&Key::new("shop", "foo"), &fixture.view(), &()).unwrap();
        let (_, verdict) = off.decide(&snapshot, &Facts::default());
        let update = off.report(&snapshot, Some(&verdict), &Outcome::default()).unwrap();
        let edits = update.edited().unwrap().1.iter().map(|edit| format!("{edit:?}"));
        let said: Vec<_> = edits.filter(|edit| edit.contains("terminatingReplicas")).collect();
        assert_eq!(said.len(), usize::from(known == 2), "{said:?}");
        assert!(said.iter().all(|edit| edit.contains("Null")), "{said:?}");
    }
}

/// TestFailedDeployment (integration), and card: the new set's failure, else the oldest one's.
#[test]
fn failures_of_sets_are_passed_on() {
    let failing = |set: Value, reason: &str| {
        let failure = json!({"type": "ReplicaFailure", "status": "True", "reason": reason,
            "lastTransitionTime": BEFORE, "message": "no"});
        with(set, json!({"status": {"conditions": [failure]}}))
    };
    let it = rollout(3, [0; 4], &[]);
    let old = || [failing(counted("v0", [0, 0, 0]), "A"), failing(counted("v1", [0, 0, 0]), "B")];
    let new = || counted("v2", [3, 2, 2]);
    let failure = |sets: &[Value]| {
        let written = done(&it, sets).unwrap();
        conditions(&written).into_iter().find(|line| line.starts_with("ReplicaFailure"))
    };
    let line = |reason: &str| Some(format!("ReplicaFailure True {reason}: no"));
    assert_eq!(failure(&[&old()[..], &[failing(new(), "C")]].concat()), line("C"));
    assert_eq!(failure(&[&old()[..], &[new()]].concat()), line("A"));
    assert_eq!(failure(&[new()]), None);
    let known = json!({"type": "ReplicaFailure", "status": "True", "reason": "C"});
    let over = rollout(3, [0; 4], &[known]);
    assert!(!done(&over, &[new()]).unwrap().to_string().contains("ReplicaFailure"), "over");
}

// === After writes ===

#[test]
fn a_new_set_is_reported_together_with_its_revision() {
    let it = spec(deployment("v2", 2), json!({"progressDeadlineSeconds": 60}));
    let it = spec(it, json!({"strategy": rolling(&json!(1), &json!(0))}));
    let counts = json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 2});
    let it = with(it, json!({ "status": counts }));
    let sets = [sized(set("v1", 2), 2, 3)];
    let name = creation::name(&observed(&it, &sets, &[])).set;
    let written = done(&it, &sets).unwrap();
    assert_eq!(written["metadata"]["annotations"][REVISION], "2");
    let created =
        format!("Progressing True NewReplicaSetCreated: Created new replica set \"{name}\"");
    assert_eq!(conditions(&written)[0], created);
    assert_eq!(written["status"]["unavailableReplicas"], 1, "its pods are to come");
    let unlimited = spec(it, json!({"progressDeadlineSeconds": null}));
    assert!(progress_of(&done(&unlimited, &sets).unwrap()).is_none());
}

/// As `getNewReplicaSet`: the condition and nothing else; none without a deadline.
#[test]
fn a_set_that_could_not_be_created_is_reported() {
    let it = spec(deployment("v2", 2), json!({"progressDeadlineSeconds": 60}));
    let name = creation::name(&observed(&it, &[], &[])).set;
    let error = "replicasets.apps \"x\" is forbidden: exceeded quota";
    let written = reported(&it, &[], &failed(error, "Forbidden")).unwrap();
    let message = format!("Failed to create new replica set \"{name}\": {error}");
    let expected = format!("Progressing False ReplicaSetCreateError: {message}");
    assert_eq!(conditions(&written), [expected]);
    assert_eq!(written["metadata"]["annotations"][REVISION], "1");
    let again = with(it.clone(), json!({"status": written["status"]}));
    assert!(reported(&again, &[], &failed("another", "")).is_none(), "once");
    assert!(reported(&it, &[], &failed("x", "AlreadyExists")).is_none(), "it is tried again");
    let unlimited = spec(it, json!({"progressDeadlineSeconds": null}));
    assert!(reported(&unlimited, &[], &failed(error, "Forbidden")).is_none());
}

/// Upstream returns before it counts if a write fails, unless old sets were to shrink.
#[test]
fn a_failed_write_is_not_counted_on() {
    let it = rollout(2, [0; 4], &[]);
    let behind = [annotated(set("v2", 2), json!({REVISION: Value::Null}))];
    let conflict = failed("the object has been modified", "Conflict");
    assert!(reported(&it, &behind, &conflict).is_none());
    assert!(done(&it, &behind).is_some());
    let old = [sized(set("v1", 2), 2, 2), sized(set("v2", 2), 2, 2)];
    assert!(reported(&it, &old, &conflict).is_some());
    let unsettled = Outcome { unsettled: true, ..Outcome::default() };
    assert!(reported(&it, &old, &unsettled).is_none());
}

/// TestPausedDeployment (integration), and card, Sync 4.
#[test]
fn pauses_are_noted() {
    let sets = [sized(set("v1", 3), 3, 3)];
    let it = |paused: bool, reason: &str| {
        let it = rollout(3, [3, 0, 3, 3], &[progressing("True", reason)]);
        spec(it, json!({ "paused": paused }))
    };
    let noted = |it: &Value| done(it, &sets).and_then(|body| progress_of(&body).cloned());
    let paused = noted(&it(true, "NewReplicaSetAvailable")).unwrap();
    assert_eq!(
        (&paused["status"], &paused["reason"]),
        (&json!("Unknown"), &json!("DeploymentPaused"))
    );
    assert_eq!(paused["message"], "Deployment is paused");
    assert_eq!(noted(&it(true, "DeploymentPaused")).unwrap()["lastUpdateTime"], BEFORE);
    let late = noted(&it(true, "ProgressDeadlineExceeded")).unwrap();
    assert_eq!(late["reason"], "ProgressDeadlineExceeded");
    let going = deleted(it(true, "NewReplicaSetAvailable"));
    assert_eq!(noted(&going).unwrap()["reason"], "NewReplicaSetAvailable");
    let resized = [sized(set("v2", 2), 2, 2)];
    let resumed = done(&it(false, "DeploymentPaused"), &resized).unwrap();
    let line = "Progressing Unknown DeploymentResumed: Deployment is resumed";
    assert!(conditions(&resumed).contains(&line.to_owned()), "{resumed}");
    let unlimited = spec(it(true, "x"), json!({"progressDeadlineSeconds": null}));
    assert_eq!(noted(&unlimited).unwrap()["reason"], "x");
}

/// Card: `FoundNewReplicaSet` if nothing is said of progress; the revision of the set is passed on.
#[test]
fn a_set_that_is_found_is_reported() {
    let sets = [sized(set("v1", 1), 2, 2), available(sized(set("v2", 1), 2, 2), 0)];
    let it = annotated(rollout(2, [2, 1, 1, 1], &[]), json!({REVISION: "1"}));
    let written = done(&it, &sets).unwrap();
    let line = "Progressing True FoundNewReplicaSet: Found new replica set \"foo-v2\"";
    assert_eq!(conditions(&written)[0], line);
    assert_eq!(written["metadata"]["annotations"][REVISION], "2");
}

#[test]
fn a_status_that_is_right_is_not_written() {
    let sets = [sized(set("v2", 3), 3, 3)];
    let it = rollout(3, [0; 4], &[]);
    let written = done(&it, &sets).unwrap();
    let right = with(it, json!({"status": written["status"]}));
    assert!(done(&right, &sets).is_none());
    for field in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        assert!(done(&with(right.clone(), json!({"status": {field: 7}})), &sets).is_some());
    }
    let stale = annotated(right.clone(), json!({REVISION: "1"}));
    assert!(done(&stale, &sets).is_some(), "the revision");
    let seen = with(right, json!({"status": {"observedGeneration": 0}}));
    assert!(done(&seen, &sets).is_some(), "the generation");
}

/// Fields that we do not know stay, and so do those of conditions.
#[test]
fn what_is_not_known_is_kept() {
    let later = with(progressing("True", "NewReplicaSetAvailable"), json!({"later": 1}));
    let it = with(rollout(3, [0; 4], &[later]), json!({"status": {"later": 2}, "spec": {"x": 3}}));
    let written = done(&it, &[sized(set("v2", 3), 3, 3)]).unwrap();
    assert_eq!(written["status"]["later"], 2);
    assert_eq!(written["spec"]["x"], 3);
    assert_eq!(progress_of(&written).unwrap()["later"], 1);
}

/// Issue: `explain` says why a rollout stalls.
#[test]
fn a_rollout_says_what_it_waits_for() {
    for (status, reason, how) in [
        ("True", "ReplicaSetUpdated", "is under way"),
        ("False", "ProgressDeadlineExceeded", "stalls"),
    ] {
        let it = rollout(3, [3, 3, 1, 1], &[progressing(status, reason)]);
        let plan = planned(&it, &[counted("v2", [3, 3, 1])], &[]);
        let expected = format!("why: the rollout {how}: 1 of 3 pods of foo-v2 are available\n");
        assert!(plan.to_string().starts_with(&expected), "{plan}");
    }
}

//! How pods are shared out and moved, as upstream's `sync_test.go` and `rolling_test.go` have it.

use std::collections::BTreeMap;

use super::super::changes::Changes;
use super::super::{rollout, scaling};
use super::*;

fn rolls(image: &str, replicas: i32, surge: i32, unavailable: i32) -> Value {
    let strategy = rolling(&json!(surge), &json!(unavailable));
    spec(deployment(image, replicas), json!({ "strategy": strategy }))
}

/// The sizes after the changes, by set, and how many PUTs there are.
fn sizes(s: &Snapshot, changes: &Changes<'_>) -> (BTreeMap<String, i64>, usize) {
    let before = s.sets().map(|set| (set.name().to_owned(), i64::from(set.replicas())));
    let mut sizes: BTreeMap<_, _> = before.collect();
    let mut puts = 0;
    for action in &changes.actions {
        let Action::Write(write) = action else { continue };
        let Some((_, edits)) = write.edited() else { continue };
        puts += 1;
        for edit in edits.iter().filter(|edit| edit.path == ["spec", "replicas"]) {
            sizes.insert(write.object.key.name.to_string(), edit.value.as_i64().unwrap());
        }
    }
    (sizes, puts)
}

/// TestScale: size and surge now, and when the sets were last scaled; the sizes of v3 (new, `-` if
/// there is none), v2 and v1 before and after.
#[test]
fn pods_are_shared_out_as_test_scale() {
    for (name, (replicas, surge), (desired, extra), before, after) in [
        ("normal scaling event: 10 -> 12", (12, 0), (10, 0), "10", "12"),
        ("normal scaling event: 10 -> 5", (5, 0), (10, 0), "10", "5"),
        ("proportional scaling: 5 -> 10", (10, 0), (5, 0), "2 3", "4 6"),
        ("proportional scaling: 5 -> 3", (3, 0), (5, 0), "2 3", "1 2"),
        ("proportional scaling: 9 -> 4", (4, 0), (9, 0), "8 1", "4 0"),
        ("proportional scaling: 7 -> 10", (10, 0), (7, 0), "2 3 2", "3 4 3"),
        ("proportional scaling: 13 -> 8", (8, 0), (13, 0), "2 8 3", "1 5 2"),
        ("leftover distribution: 3 -> 4", (4, 0), (3, 0), "1 1 1", "2 1 1"),
        ("leftover distribution: 3 -> 2", (2, 0), (3, 0), "1 1 1", "1 1 0"),
        ("proportional scaling (no new rs): 4 -> 5", (5, 0), (4, 0), "- 2 2", "- 3 2"),
        ("proportional scaling: 6 -> 0", (0, 0), (6, 0), "3 2 1", "0 0 0"),
        ("proportional scaling: 0 -> 6", (6, 0), (6, 0), "0 0 0", "6 0 0"),
        ("deployment with surge pods", (20, 2), (10, 2), "6 6", "11 11"),
        ("change both surge and size", (50, 6), (10, 3), "5 8", "22 34"),
        ("change both size and template", (14, 0), (10, 0), "- 7 3", "- 10 4"),
        ("saturated but broken new replica set", (2, 1), (2, 1), "2 1", "2 1"),
    ] {
        let numbered = |sizes: &'static str| {
            let sizes = sizes.split(' ').zip(["v3", "v2", "v1"]);
            sizes.filter_map(|(size, image)| Some((image, size.parse().ok()?)))
        };
        // No pod of the new set is available, so that it is not saturated.
        let sets = numbered(before)
            .map(|(image, size)| available(sized(set(image, size), desired, desired + extra), 0));
        let s = observed(&rolls("v3", replicas, surge, 1), &sets.collect::<Vec<_>>(), &[]);
        let mut changes = Changes::new(&s);
        scaling::scale(&mut changes);
        let expected: BTreeMap<_, _> = numbered(after)
            .map(|(image, size)| (format!("foo-{image}"), i64::from(size)))
            .collect();
        assert_eq!(sizes(&s, &changes).0, expected, "{name}");
    }
}

/// TestScale, "failed rs update": only the set whose write failed is scaled.
#[test]
fn a_set_whose_last_write_failed_catches_up() {
    let sets = [sized(set("v3", 2), 5, 5), sized(set("v2", 1), 3, 3), sized(set("v1", 1), 5, 5)];
    let expected = "why: the Deployment was resized\n\
        in order: update replicasets.apps shop/foo-v2 spec.replicas=2 \
        metadata.annotations.deployment.kubernetes.io/desired-replicas=\"5\" \
        metadata.annotations.deployment.kubernetes.io/max-replicas=\"5\"\n\
        in order: event Normal ScalingReplicaSet: Scaled up replica set foo-v2 from 1 to 2\n";
    assert_eq!(text(&rolls("v3", 5, 0, 1), &sets), expected);
}

/// Card, `scale()`, and TestScaledRolloutDeployment (integration).
#[test]
fn resizing_scales_the_right_sets() {
    let it = rolls("v3", 4, 0, 1);
    let sized3 = |image: &str, size| sized(set(image, size), 3, 3);
    let down = |name: &str, from| format!("Scaled down replica set {name} from {from} to 0");
    for (name, it, sets, expected) in [
        (
            "the new one has them all: old ones go, the youngest first",
            it.clone(),
            vec![sized(set("v3", 4), 4, 4), sized3("v2", 1), sized3("v1", 2)],
            vec![down("foo-v2", 1), down("foo-v1", 2)],
        ),
        (
            "none is active: the new one",
            spec(it.clone(), json!({"paused": true})),
            vec![sized3("v3", 0), sized3("v2", 0)],
            vec!["Scaled up replica set foo-v3 from 0 to 4".to_owned()],
        ),
        (
            "TestScalePausedDeployment: no new one, then the youngest",
            spec(it.clone(), json!({"paused": true})),
            vec![sized3("v2", 0), sized3("v1", 0)],
            vec!["Scaled up replica set foo-v2 from 0 to 4".to_owned()],
        ),
        (
            "the only active one, even if it is old",
            it.clone(),
            vec![sized3("v3", 0), sized3("v1", 3)],
            vec!["Scaled up replica set foo-v1 from 3 to 4".to_owned()],
        ),
        ("the size is right, the note is not", it.clone(), vec![sized3("v3", 4)], vec![]),
        (
            "a note that cannot be read is no resize",
            it.clone(),
            vec![annotated(set("v3", 4), json!({DESIRED: "many"}))],
            vec![],
        ),
        (
            "Recreate does not share out, and is not held up",
            recreate(it),
            vec![sized3("v3", 2), sized3("v2", 1)],
            vec!["Scaled down replica set foo-v2 from 1 to 0".to_owned()],
        ),
    ] {
        assert_eq!(messages(&planned(&it, &sets, &[])), expected, "{name}");
    }
    let paused = spec(rolls("v3", 3, 0, 1), json!({"paused": true}));
    let plan = text(&paused, &[sized3("v1", 3)]);
    assert_eq!(plan, "why: the Deployment is paused\n", "TestPausedDeployment: nothing is made");
}

/// A share that does not change the size is still noted down.
#[test]
fn every_share_is_noted_down() {
    let sets = [sized(set("v2", 1), 3, 3), sized(set("v1", 3), 3, 3)];
    let s = observed(&rolls("v2", 4, 0, 1), &sets, &[]);
    let mut changes = Changes::new(&s);
    scaling::scale(&mut changes);
    let (after, puts) = sizes(&s, &changes);
    assert_eq!(puts, 2);
    assert_eq!(after, [("foo-v1".to_owned(), 3), ("foo-v2".to_owned(), 1)].into());
}

/// TestGetReplicaSetFraction; the limits of TestScale's shares are wide here.
#[test]
fn shares_as_test_get_replica_set_fraction() {
    for (name, replicas, has, surge, size, most, expected) in [
        ("empty deployment always scales to 0", 0, 0, 0, 10, None, -10),
        ("unsynced, no annotation", 10, 0, 0, 5, None, 0),
        ("unsynced, annotation 0", 10, 0, 0, 5, Some(0), 0),
        ("up by 1/5, no annotation", 120, 100, 0, 50, None, 10),
        ("up by 1/5, annotation 0", 120, 100, 0, 50, Some(0), 10),
        ("up by 1/5", 120, 0, 0, 50, Some(100), 10),
        ("up by 1/5 with surge", 120, 0, 10, 50, Some(110), 9),
        ("down by 1/6", 10, 0, 0, 6, Some(12), -1),
        ("down by 1/6 with surge", 100, 0, 10, 50, Some(130), -8),
    ] {
        let it = with(rolls("v1", replicas, surge, 1), json!({"status": {"replicas": has}}));
        let most = most.map(|most: i32| most.to_string());
        let s = observed(&it, &[annotated(set("v1", size), json!({MOST: most}))], &[]);
        let to_add = if expected < 0 { -1000 } else { 1000 };
        let share = scaling::proportion(&s, s.new.as_ref().unwrap(), to_add, 0);
        assert_eq!(share, expected, "{name}");
    }
    let s = observed(&rolls("v1", 8, 0, 1), &[sized(set("v1", 4), 4, 4)], &[]);
    let share = |to_add, added| scaling::proportion(&s, s.new.as_ref().unwrap(), to_add, added);
    assert_eq!((share(6, 3), share(6, 6), share(0, 0)), (3, 0, 0), "bounded by what is left");
}

/// TestDeploymentController_reconcileNewReplicaSet.
#[test]
fn the_new_set_grows_as_far_as_the_surge_allows() {
    for (scenario, surge, old, new, expected) in
        [(0, 0, 10, 0, 0), (1, 2, 10, 0, 2), (2, 2, 5, 0, 7), (3, 2, 10, 2, 2), (4, 2, 2, 11, 10)]
    {
        let s = observed(&rolls("v2", 10, surge, 0), &[set("v1", old), set("v2", new)], &[]);
        let mut changes = Changes::new(&s);
        rollout::scale_new(&mut changes, s.new.as_ref().unwrap()).unwrap();
        let (after, puts) = sizes(&s, &changes);
        assert_eq!(after["foo-v2"], expected, "scenario {scenario}");
        assert_eq!(puts, usize::from(expected != i64::from(new)), "scenario {scenario}");
    }
}

/// TestDeploymentController_reconcileOldReplicaSets (rows 0 to 4), cleanupUnhealthyReplicas and
/// scaleDownOldReplicaSetsForRollingUpdate, whose rows are asked of the whole step here: how much
/// may be scaled down is given by the size of the new set. Unavailable pods are removed first.
#[test]
fn old_sets_shrink_as_far_as_enough_pods_stay() {
    for (name, unavailable, (old, ready), (new, new_ready), expected) in [
        ("reconcileOld 0", 0, (10, 10), (0, 0), 9),
        ("reconcileOld 1", 2, (10, 10), (0, 0), 8),
        ("reconcileOld 2", 2, (10, 8), (0, 0), 8),
        ("reconcileOld 3", 2, (10, 9), (0, 0), 8),
        ("reconcileOld 4", 2, (8, 8), (2, 0), 8),
        ("cleanupUnhealthy 0: at most 1", 2, (10, 8), (1, 0), 8),
        ("cleanupUnhealthy 1: at most 3", 2, (10, 8), (1, 1), 7),
        ("cleanupUnhealthy 2: at most 0", 2, (8, 6), (0, 0), 8),
        ("cleanupUnhealthy 3: none", 2, (10, 10), (0, 0), 8),
        ("scaleDownOld 2: too few ready, those that are not go", 2, (10, 8), (0, 0), 8),
        ("scaleDownOld 3: no old pods", 2, (0, 10), (0, 0), 0),
        ("scaleDownOld 4: one ready", 2, (10, 1), (0, 0), 8),
        // The examples of the comment in `reconcileOldReplicaSets`.
        ("case 1: pods that are to come count as missing", 2, (8, 7), (5, 0), 8),
        ("case 1: rolled back, 4 of 5 may go", 2, (5, 0), (8, 7), 1),
        ("a set that counts pods which it must delete says nothing", 2, (8, 10), (2, 2), 8),
    ] {
        let sets = [available(set("v1", old), ready), available(set("v2", new), new_ready)];
        let s = observed(&rolls("v2", 10, 0, unavailable), &sets, &[]);
        let mut changes = Changes::new(&s);
        rollout::scale_old(&mut changes, s.new.as_ref().unwrap());
        assert_eq!(sizes(&s, &changes).0["foo-v1"], expected, "{name}");
    }
}

/// A set that shrinks twice is written once; upstream emits an Event for both, broken pods first.
#[test]
fn old_sets_get_events_as_upstream() {
    let broken = |image: &str, size, ready| available(sized(set(image, size), 10, 12), ready);
    let sets = [broken("v1", 4, 3), broken("v2", 4, 4), broken("v3", 4, 4)];
    let expected = "why: old ReplicaSets have more pods than needed\n\
        in order: update replicasets.apps shop/foo-v1 spec.replicas=0\n\
        in order: event Normal ScalingReplicaSet: Scaled down replica set foo-v1 from 4 to 3\n\
        in order: event Normal ScalingReplicaSet: Scaled down replica set foo-v1 from 3 to 0\n\
        in order: update replicasets.apps shop/foo-v2 spec.replicas=3\n\
        in order: event Normal ScalingReplicaSet: Scaled down replica set foo-v2 from 4 to 3\n";
    assert_eq!(text(&rolls("v3", 10, 2, 3), &sets), expected);
}

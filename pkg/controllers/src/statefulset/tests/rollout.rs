//! Updates.

use controller::Controller as _;
use controller::fixture::{ago, ready, with};
use serde_json::json;

use super::super::rolling::allowed;
use super::world::{World, phase, running};
use super::*;

/// The images of the pods, in order.
fn images(world: &World) -> Vec<&str> {
    world.ordinals().iter().map(|at| world.image(&format!("foo-{at}"))).collect()
}

/// A set that has come to rest, with a new template.
fn updated(set: Value) -> World {
    let mut world = World::settled(set);
    world.set = image(&world.set, "new");
    world
}

/// TestStatefulSetControlRollingUpdate: monotonic and burst image update.
#[test]
fn an_update_goes_from_the_highest_number_down_one_at_a_time() {
    for policy in [bare(set(3)), parallel(bare(set(3))), set(3)] {
        let mut world = updated(policy);
        let old = world.revisions.keys().next().unwrap().clone();
        world.sync();
        let new = world.revisions.keys().find(|name| **name != old).unwrap().clone();
        assert_eq!(world.ordinals(), [0, 1]);
        assert_eq!(world.counts(), [3, 3, 3, 2, 0], "the one that was deleted is of no revision");
        assert_eq!(world.set["status"]["updateRevision"], json!(new));
        assert_eq!(world.set["status"]["currentRevision"], json!(old));
        world.sync();
        assert_eq!(images(&world), ["nginx", "nginx", "new"]);
        assert!(world.why().contains("waits for pod foo-2 to be Running and Ready"));
        world.sync();
        assert_eq!(images(&world), ["nginx", "nginx", "new"]);
        world.settle();
        assert_eq!(images(&world), ["new"; 3]);
        assert_eq!(world.set["status"]["currentRevision"], json!(new));
        assert_eq!(world.counts(), [3, 3, 3, 3, 3]);
    }
}

/// TestStatefulSetControlRollingUpdateWithPartition; a pod below it that is lost is made of the old
/// revision again.
#[test]
fn a_partition_holds_the_first_pods() {
    let mut world = updated(rolling(bare(set(4)), &json!({"partition": 2})));
    world.settle();
    assert_eq!(images(&world), ["nginx", "nginx", "new", "new"]);
    assert_eq!(world.why(), "2 pods are held at an earlier revision by the partition, 2");
    world.pods.remove("foo-0");
    world.pods.remove("foo-3");
    world.settle();
    assert_eq!(images(&world), ["nginx", "nginx", "new", "new"]);
    assert_eq!(world.counts(), [4, 4, 4, 2, 2]);
    // Scaled up, the new ones are new.
    world.set = replicas(&world.set, 5);
    world.settle();
    assert_eq!(images(&world), ["nginx", "nginx", "new", "new", "new"]);
    world.set = rolling(world.set.clone(), &json!({"partition": 0}));
    world.settle();
    assert_eq!(images(&world), ["new"; 5]);
}

/// The partition counts from the first number: `newVersionedStatefulSetPod`.
#[test]
fn a_partition_counts_from_the_first_number() {
    let start = json!({"spec": {"ordinals": {"start": 5}}});
    let mut world = updated(with(rolling(bare(set(3)), &json!({"partition": 1})), start));
    world.settle();
    assert_eq!(images(&world), ["nginx", "new", "new"]);
    world.pods.remove("foo-5");
    world.settle();
    assert_eq!(images(&world), ["nginx", "new", "new"]);
}

/// Once all are updated, the current revision is the new one, and the partition holds nobody.
#[test]
fn a_partition_that_comes_after_the_update_holds_nobody() {
    let mut world = updated(bare(set(2)));
    world.settle();
    world.set = rolling(world.set.clone(), &json!({"partition": 2}));
    world.pods.remove("foo-0");
    world.settle();
    assert_eq!(images(&world), ["new", "new"]);
}

/// TestStatefulSetControlOnDeleteUpdate.
#[test]
fn on_delete_waits_for_people() {
    let mut set = bare(set(3));
    set["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    let mut world = updated(set);
    world.settle();
    assert_eq!(images(&world), ["nginx"; 3]);
    assert!(world.why().contains("3 pods are not of revision"), "{}", world.why());
    world.pods.remove("foo-1");
    world.settle();
    assert_eq!(images(&world), ["nginx", "new", "nginx"]);
    assert_eq!(world.counts(), [3, 3, 3, 2, 1]);
    world.set = replicas(&world.set, 4);
    world.settle();
    assert_eq!(images(&world), ["nginx", "new", "nginx", "new"]);
}

/// kubernetes/kubernetes 67250, 78709 and 141095: a bad image and then a good one. Upstream's
/// stays as it is, and so does this; `explain` says what to do.
#[test]
fn a_rollout_that_is_stuck_stays_so_and_says_why() {
    let mut world = updated(bare(set(3)));
    world.sync();
    world.sync();
    assert_eq!(images(&world), ["nginx", "nginx", "new"]);
    let bad = world.pods["foo-2"]["metadata"]["labels"]["controller-revision-hash"].clone();
    world.set = image(&world.set, "good");
    world.sync();
    let good = world.set["status"]["updateRevision"].clone();
    let (bad, good) = (bad.as_str().unwrap(), good.as_str().unwrap());
    assert_eq!(
        world.sync(),
        format!(
            "why: waits for pod foo-2 to be Running and Ready: it is Pending, of revision {bad}; \
             it gets {good} only once it is Ready, or is deleted by somebody\n"
        )
    );
    assert_eq!(images(&world), ["nginx", "nginx", "new"]);
    // In parallel nobody waits for a pod that is not of the new revision.
    world.set = parallel(world.set.clone());
    world.settle();
    assert_eq!(images(&world), ["good"; 3]);
}

/// TestStatefulSetRollingUpdateRespectsMinReadySeconds,
/// TestStatefulSetPartitionRollingUpdateWithMinReadySeconds.
#[test]
fn an_update_waits_until_the_new_pod_is_available() {
    let patient = with(bare(set(2)), json!({"spec": {"minReadySeconds": 30}}));
    let mut world = updated(parallel(patient));
    world.sync();
    world.sync();
    world.change_pod("foo-1", |pod| {
        with(running(pod), json!({"status": {"conditions": [ready(&ago(10))]}}))
    });
    let plan = world.sync();
    assert!(plan.contains("the update waits for pod foo-1 to be Available\n"), "{plan}");
    assert!(plan.contains("again in 20s"), "{plan}");
    assert_eq!(images(&world), ["nginx", "new"]);
}

fn with_gate(mut world: World) -> World {
    world.controller.max_unavailable = MaxUnavailable::AsSpecified;
    world
}

/// TestStatefulSetControlRollingUpdateWithMaxUnavailable, and
/// TestStatefulSetControlRollingUpdateWithMaxUnavailableInOrderedModeVerifyInvariant.
#[test]
fn so_many_may_be_unavailable() {
    let strategy = json!({"partition": 3, "maxUnavailable": 2});
    for (policy, together) in [(bare(set(6)), 5), (parallel(bare(set(6))), 6)] {
        let mut world = with_gate(updated(rolling(policy, &strategy)));
        world.sync();
        assert_eq!(world.ordinals(), [0, 1, 2, 3], "two at once");
        assert_eq!(world.counts()[3], 4);
        world.sync();
        assert_eq!(world.pods.len(), together);
        world.change_pod("foo-4", running);
        world.sync();
        match together {
            // If pod 4 is ready, pod 3 follows.
            6 => assert_eq!(world.ordinals(), [0, 1, 2, 4, 5]),
            _ => assert_eq!(world.ordinals(), [0, 1, 2, 3, 4, 5], "scaling comes before updates"),
        }
        world.settle();
        assert_eq!(images(&world), ["nginx", "nginx", "nginx", "new", "new", "new"]);
    }
    // Without the gate it says nothing.
    let mut world = updated(rolling(bare(set(6)), &strategy));
    world.sync();
    assert_eq!(world.pods.len(), 5);
}

/// TestGetStatefulSetMaxUnavailable.
#[test]
fn how_many_may_be_unavailable() {
    let cases = [
        (json!(null), 10, 1),
        (json!(3), 10, 3),
        (json!(3), 0, 3),
        (json!(0), 0, 1),
        (json!("10%"), 25, 2),
        (json!("100%"), 5, 5),
        (json!("50%"), 5, 2),
        (json!("10%"), 5, 1),
        (json!("1%"), 0, 1),
        (json!("0%"), 0, 1),
    ];
    for (amount, replicas, expected) in cases {
        let set = rolling(set(replicas), &json!({"maxUnavailable": amount}));
        let found = allowed(&World::new(set).snapshot().set);
        assert_eq!(found, Ok(expected), "{amount} of {replicas}");
    }
    let set = rolling(bare(set(1)), &json!({"maxUnavailable": "many"}));
    let mut world = with_gate(World::new(set));
    world.sync();
    world.each_pod(running);
    assert!(world.plan().error.unwrap().contains("not a percentage"));
}

/// TestStatefulSetMetrics.
#[test]
fn gauges_are_of_the_gate() {
    let mut world = World::settled(rolling(bare(set(3)), &json!({"maxUnavailable": 2})));
    world.change_pod("foo-1", phase("Pending"));
    world.pods.remove("foo-2");
    let gauges = |world: &World| {
        let counts = world.controller.gauges(&world.fixture().view(), &());
        let text = |it: &Count| format!("{} {:?} {:?}", it.family.name, it.labels, it.value);
        counts.iter().map(text).collect::<Vec<_>>()
    };
    assert!(gauges(&world).is_empty());
    let labels = r#"["shop", "foo", "OrderedReady"]"#;
    assert_eq!(
        gauges(&with_gate(world)),
        [
            format!("statefulset_controller_statefulset_max_unavailable {labels} Of(2.0)"),
            format!("statefulset_controller_statefulset_unavailable_replicas {labels} Of(2.0)"),
        ]
    );
}

//! The status. What upstream's TestStoreDaemonSetStatus asks of the second try is the engine's.

use std::time::Duration;

use controller::fixture::{self, with};
use controller::{Controller as _, Outcome, Retry, Verb};
use serde_json::{Value, json};

use super::world::World;
use super::*;

fn status(world: &World, outcome: &Outcome) -> Option<Value> {
    let write = world.controller.report(&world.snapshot(), None, outcome)?;
    let Verb::Update(update) = &write.verb else { panic!("{write}") };
    assert_eq!(update.retry, Retry::OnceLive);
    Some(Value::Object(fixture::status(&write)))
}

fn unsettled() -> Outcome {
    Outcome { unsettled: true, ..Outcome::default() }
}

fn failed() -> Outcome {
    Outcome { error: Some("boom".into()), ..Outcome::default() }
}

/// Three nodes that should have a pod and two that should not, with pods of all sorts.
fn mixed() -> World {
    let mut set = set();
    set["spec"]["minReadySeconds"] = json!(30);
    let mut world = world(&set, 4);
    world.sync();
    world.pods.clear();
    let hash = world.hash();
    world.put_pod(with_hash(ready_for(own("a", "node-0"), 60), &hash));
    world.put_pod(with_hash(ready_for(own("b", "node-1"), 10), &hash));
    world.put_pod(ready_for(own("c", "node-2"), 60));
    // Of two the older one counts.
    world.put_pod(created(with_hash(ready_for(own("d", "node-2"), 60), &hash), 10));
    world.put_node(tainted(node("node-4"), "x", "NoSchedule"));
    world.put_pod(own("e", "node-4"));
    world.put_node(tainted(node("node-5"), "x", "NoSchedule"));
    world
}

fn mixed_status(observed_generation: i64) -> Value {
    json!({
        "desiredNumberScheduled": 4, "currentNumberScheduled": 3, "numberMisscheduled": 1,
        "numberReady": 3, "numberAvailable": 2, "numberUnavailable": 2,
        "updatedNumberScheduled": 2, "observedGeneration": observed_generation,
    })
}

#[test]
fn the_status_counts_nodes() {
    assert_eq!(status(&mixed(), &Outcome::default()), Some(mixed_status(2)));
    // Also when pods could not be made; TestUpdateStatusDespitePodCreationFailure.
    assert_eq!(status(&mixed(), &failed()), Some(mixed_status(2)));
}

/// TestSimpleDaemonSetUpdatesStatusAfterLaunchingPods, TestNumberReadyStatus,
/// TestObservedGeneration.
#[test]
fn the_status_follows_the_pods() {
    for set in strategies() {
        let mut world = world(&set, 2);
        assert!(world.sync().reported);
        assert_eq!(world.set["status"]["observedGeneration"], 2);
        assert_eq!(world.set["status"]["desiredNumberScheduled"], 2);
        assert_eq!(world.set["status"]["currentNumberScheduled"], 0);
        assert!(world.sync().reported);
        assert_eq!(world.set["status"]["currentNumberScheduled"], 2);
        assert_eq!(world.set["status"]["numberReady"], 0);
        world.each_pod(|pod| ready_for(pod, 60));
        assert!(world.sync().reported);
        assert_eq!(world.set["status"]["numberReady"], 2);
        assert_eq!(world.set["status"]["updatedNumberScheduled"], 2);
        assert!(!world.sync().reported);
    }
}

/// "Don't raise observedGeneration since controller didn't process object of that generation."
#[test]
fn while_writes_are_not_visible_the_observed_generation_stays() {
    let mut world = mixed();
    world.set["status"]["observedGeneration"] = json!(1);
    assert_eq!(status(&world, &unsettled()), Some(mixed_status(1)));
    // Nothing else has changed: nothing is written.
    world.set["status"] = mixed_status(1);
    assert_eq!(status(&world, &unsettled()), None);
    assert_eq!(status(&world, &Outcome::default()), Some(mixed_status(2)));
    world.set["status"] = mixed_status(2);
    assert_eq!(status(&world, &Outcome::default()), None);
}

/// As `constructHistory`, whose errors end the sync.
#[test]
fn without_a_revision_there_is_no_status_if_none_could_be_made() {
    let mut world = mixed();
    world.revisions.clear();
    assert_eq!(status(&world, &failed()), None);
    assert_eq!(status(&world, &Outcome::default()), Some(mixed_status(2)));
}

#[test]
fn what_is_adopted_counts_unless_that_fails() {
    let mut world = mixed();
    let orphan = json!({"metadata": {"ownerReferences": null}});
    world.put_pod(with(own("f", "node-3"), orphan));
    let refused = |step| Outcome { step: Some(step), ..failed() };
    assert_eq!(status(&world, &refused(0)), None);
    assert_eq!(status(&world, &failed()), None, "the set may be deleted");
    assert!(status(&world, &refused(1)).is_some(), "what came after failed");
    let one_more =
        |generation| Some(with(mixed_status(generation), json!({"currentNumberScheduled": 4})));
    assert_eq!(status(&world, &Outcome::default()), one_more(2));
    world.set["status"] = json!({});
    assert_eq!(status(&world, &unsettled()), one_more(0));
}

/// "Resync the DaemonSet after MinReadySeconds", here when the next pod becomes available.
#[test]
fn the_set_is_looked_at_again_when_the_next_pod_is_available() {
    let mut world = mixed();
    world.pods.remove("d");
    assert_eq!(world.plan().again, Some(Duration::from_secs(20)));
    world.now = world.now + Duration::from_secs(20);
    assert_eq!(world.plan().again, None);
}

#[test]
fn the_summary_says_how_the_set_stands() {
    let mut world = mixed();
    world.put_pod(phase(own("f", "node-3"), "Failed"));
    world.sync();
    world.put_pod(phase(own("f", "node-3"), "Failed"));
    let facts = world.controller.summary(&world.snapshot());
    let fact = |name: &str| {
        facts.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()).unwrap()
    };
    assert_eq!(fact("nodes"), "6");
    assert_eq!(fact("misscheduled"), "1");
    assert_eq!(Value::from(fact("revision")), world.hash());
    assert_eq!(fact("failed pod stays"), "on node node-3 for 1s");
}

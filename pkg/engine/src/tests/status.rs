//! Status writes: their precondition, their one retry, and waiting for their own event.

use cache::fixture::{Call, run};
use serde_json::json;

use super::world::{SETS, World, accept, body, pod, refuse, set, terminating, with};

/// A set whose status is about to be written: it has a pod that the status lacks.
async fn writing() -> (World, Call) {
    let mut world = World::new(&[set(1, 1, 0)], &[pod("a", 1)]).await;
    let put = world.put().await;
    (world, put)
}

const CHANGED: &str =
    "the object has been modified; please apply your changes to the latest version";

/// Issue, preconditions: the version that was decided on; fields that the decision does not cover
/// stay.
#[test]
fn carries_the_version_that_was_decided_on() {
    run(async {
        let (mut world, put) = writing().await;
        let expected = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet"});
        assert_eq!(body(&put), with(set(1, 1, 1), expected));
        world.done(put, 11).await;
        world.quiet().await;
    });
}

/// Issue, a test for each order: the own event comes after the response. Until then nothing is
/// written for the key, since it would be refused.
#[test]
fn own_event_after_the_answer() {
    run(async {
        let (mut world, put) = writing().await;
        let written = with(body(&put), json!({"metadata": {"resourceVersion": "12"}}));
        accept(put, &written).await;
        world.settle().await;
        world.pods.modified(&terminating(pod("a", 1), 11)).await;
        world.sets.modified(&set(11, 1, 0)).await;
        world.quiet().await;
        world.sets.modified(&written).await;
        let post = world.post().await;
        refuse(post, 403, "Forbidden", "quota").await;
        let put = world.put().await;
        assert_eq!(body(&put)["metadata"]["resourceVersion"], "12");
        assert_eq!(world.done(put, 13).await["terminatingReplicas"], 1);
    });
}

/// The own event comes before the response.
#[test]
fn own_event_before_the_answer() {
    run(async {
        let (mut world, put) = writing().await;
        let written = with(body(&put), json!({"metadata": {"resourceVersion": "12"}}));
        world.sets.modified(&written).await;
        world.quiet().await;
        accept(put, &written).await;
        world.pods.modified(&terminating(pod("a", 1), 11)).await;
        let _post = world.post().await;
        world.quiet().await;
    });
}

/// replica_set_utils.go, updateReplicaSetStatus: on a conflict one live read, and the same status
/// with the generation that was acted on; TestControllerUpdateStatusWithFailure.
#[test]
fn conflict_is_tried_once_on_the_live_object() {
    run(async {
        let (mut world, put) = writing().await;
        refuse(put, 409, "Conflict", CHANGED).await;
        let meta = json!({"generation": 2, "labels": {"new": "label"}});
        let live = with(set(15, 3, 0), json!({"metadata": meta, "status": {"newField": 7}}));
        accept(world.get().await, &live).await;
        let put = world.put().await;
        let expected = with(
            live,
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "status": set(1, 1, 1)["status"]}),
        );
        assert_eq!(body(&put), expected);
        refuse(put, 409, "Conflict", CHANGED).await;

        // The sync has failed: the next one starts from the cache again.
        let put = world.put().await;
        assert_eq!(body(&put)["metadata"]["resourceVersion"], "1");
        world.quiet().await;
    });
}

/// TestControllerUpdateStatusWithFailure: the live read fails, so the sync does.
#[test]
fn live_read_fails() {
    run(async {
        let (mut world, put) = writing().await;
        refuse(put, 500, "InternalError", "no").await;
        refuse(world.get().await, 500, "InternalError", "fake error").await;
        let failed = world.instant();
        world.finds(&format!("{SETS}/web"), &[set(1, 1, 0)]).await;
        let put = world.put().await;
        assert_eq!((put.at - failed).as_millis(), 5, "the first back-off");
        world.quiet().await;
    });
}

/// The response is lost, and the second try decides: the result of the first one is not asked for.
#[test]
fn the_second_try_settles_the_first() {
    run(async {
        let (mut world, put) = writing().await;
        let first = with(body(&put), json!({"metadata": {"resourceVersion": "11"}}));
        put.reset();
        accept(world.get().await, &first).await;
        let put = world.put().await;
        world.done(put, 12).await;
        world.pods.modified(&terminating(pod("a", 1), 13)).await;
        let _post = world.post().await;
        world.quiet().await;
    });
}

/// The set was deleted: nothing more is written once the cache shows it.
#[test]
fn set_is_deleted() {
    run(async {
        let (mut world, put) = writing().await;
        refuse(put, 404, "NotFound", "replicasets.apps web not found").await;
        let get = world.get().await;
        world.sets.deleted(&set(11, 1, 0)).await;
        world.settle().await;
        refuse(get, 404, "NotFound", "replicasets.apps web not found").await;
        world.quiet().await;
    });
}

//! Read your writes, for deletes.

use std::time::Duration;

use cache::fixture::{Call, run};
use serde_json::json;

use super::world::{PODS, World, accept, body, pod, refuse, set, terminating, with};

/// A set with pod `a`, which the controller is about to delete.
async fn deleting() -> (World, Call) {
    let mut world = World::new(&[set(1, 0, 1)], &[pod("a", 1)]).await;
    let delete = world.delete("a").await;
    (world, delete)
}

/// Nothing is written although the set is synced.
async fn waits(world: &mut World) {
    world.sets.modified(&set(11, 0, 1)).await;
    world.quiet().await;
}

/// The set has no pods left and no expectations: the controller acts when the set wants one.
async fn acts(mut world: World) {
    world.quiet().await;
    world.sets.modified(&set(20, 1, 0)).await;
    let _post = world.post().await;
}

const REPLACED: &str = "the UID in the precondition (uid-a) does not match the UID in record \
    (uid-other). The object might have been deleted and then recreated";

/// Issue, preconditions: a delete names the object by uid.
#[test]
fn names_the_pod_by_uid() {
    run(async {
        let (_world, delete) = deleting().await;
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {"uid": "uid-a"}});
        assert_eq!(body(&delete), options);
    });
}

/// Issue, a test for each order: the pod is marked before the response; TestDeletionTimestamp.
#[test]
fn marked_before_the_answer() {
    run(async {
        let (mut world, delete) = deleting().await;
        let marked = terminating(pod("a", 1), 11);
        world.pods.modified(&marked).await;
        world.quiet().await;
        accept(delete, &marked).await;
        world.counts(0, 11).await;
        acts(world).await;
    });
}

/// Issue, the 5 minute limit; common card, Expectations: satisfied when older than 5 min.
#[test]
fn not_marked_for_five_minutes() {
    run(async {
        let (mut world, delete) = deleting().await;
        accept(delete, &pod("a", 1)).await;
        let deleted = world.instant();
        waits(&mut world).await;
        world.wait(Duration::from_secs(298)).await;
        world.quiet().await;
        let waited = world.server.find("DELETE", &format!("{PODS}/a")).await.at - deleted;
        assert!(waited > Duration::from_mins(5), "{waited:?}");
        assert!(waited < Duration::from_secs(302), "{waited:?}");
    });
}

/// The same if nothing else ever enqueues the set.
#[test]
fn not_marked_and_nothing_enqueues() {
    run(async {
        let (mut world, delete) = deleting().await;
        accept(delete, &pod("a", 1)).await;
        let deleted = world.instant();
        let waited = world.server.find("DELETE", &format!("{PODS}/a")).await.at - deleted;
        assert!(waited > Duration::from_mins(5), "{waited:?}");
        assert!(waited < Duration::from_secs(302), "{waited:?}");
    });
}

/// A delete that was not done is retried at once; one that was done is awaited.
#[test]
fn the_result_of_an_ambiguous_delete_is_found_out() {
    for marked in [None, Some(terminating(pod("a", 1), 14))] {
        run(async {
            let (mut world, delete) = deleting().await;
            delete.reset();
            let put = world.put().await;
            world.done(put, 11).await;
            world.finds(&format!("{PODS}/a"), &[pod("a", 1)]).await;
            world.delete("a").await.reset();
            world.finds(&format!("{PODS}/a"), marked.as_slice()).await;
            world.counts(1, 12).await;
            world.sets.modified(&set(13, 0, 1)).await;
            world.quiet().await;
            match &marked {
                Some(marked) => world.pods.modified(marked).await,
                None => world.pods.deleted(&pod("a", 14)).await,
            }
            world.counts(0, 15).await;
            acts(world).await;
        });
    }
}

/// Issue, a test for each order: the pod is marked after the response; TestDeletionTimestamp.
#[test]
fn marked_after_the_answer() {
    run(async {
        let (mut world, delete) = deleting().await;
        let marked = terminating(pod("a", 1), 11);
        accept(delete, &marked).await;
        waits(&mut world).await;
        world.pods.modified(&marked).await;
        world.counts(0, 12).await;
        acts(world).await;
    });
}

/// Issue, a test for each order: the pod is removed at once, before or after the response.
#[test]
fn removed_without_a_mark() {
    run(async {
        let (mut world, delete) = deleting().await;
        accept(delete, &pod("a", 1)).await;
        waits(&mut world).await;
        world.pods.deleted(&pod("a", 11)).await;
        world.counts(0, 12).await;
        acts(world).await;

        let (mut world, delete) = deleting().await;
        world.pods.deleted(&pod("a", 11)).await;
        world.quiet().await;
        accept(delete, &pod("a", 1)).await;
        world.counts(0, 11).await;
        acts(world).await;
    });
}

/// Later versions of other pods say nothing about the delete.
#[test]
fn not_settled_by_a_version() {
    run(async {
        let (mut world, delete) = deleting().await;
        accept(delete, &pod("a", 1)).await;
        world.settle().await;
        world.pods.bookmark(99).await;
        waits(&mut world).await;
    });
}

/// TestDeletePodsAllowsMissing: 404 is no failure; the cache will show it.
#[test]
fn deleted_already() {
    run(async {
        let (mut world, delete) = deleting().await;
        refuse(delete, 404, "NotFound", "pods a not found").await;
        waits(&mut world).await;
        world.pods.deleted(&pod("a", 11)).await;
        world.counts(0, 12).await;
        acts(world).await;
    });
}

/// Another pod has the name by now: the pod of the plan was deleted already.
#[test]
fn replaced_already() {
    run(async {
        let (mut world, delete) = deleting().await;
        refuse(delete, 409, "Conflict", REPLACED).await;
        waits(&mut world).await;
        let other = with(pod("a", 11), json!({"metadata": {"uid": "uid-other"}}));
        world.pods.modified(&other).await;
        let delete = world.delete("a").await;
        assert_eq!(body(&delete)["preconditions"]["uid"], "uid-other");
        world.quiet().await;
    });
}

/// The pod is replaced by one of the same name after the response.
#[test]
fn replaced_after_the_answer() {
    run(async {
        let (mut world, delete) = deleting().await;
        accept(delete, &pod("a", 1)).await;
        waits(&mut world).await;
        let foreign = json!({"metadata": {"uid": "uid-other", "ownerReferences": null,
            "labels": {"app": "other"}}});
        world.pods.modified(&with(pod("a", 11), foreign)).await;
        world.counts(0, 12).await;
        acts(world).await;
    });
}

/// Another kind of conflict is a failure, and the delete of the same pod is retried.
#[test]
fn refused() {
    run(async {
        let (mut world, delete) = deleting().await;
        refuse(delete, 409, "Conflict", "not now").await;
        let put = world.put().await;
        let status = world.done(put, 11).await;
        let condition = &status["conditions"][0];
        assert_eq!(condition["reason"], "FailedDelete");
        assert_eq!(condition["message"], "unable to delete pods: not now");
        let _again = world.delete("a").await;
        world.quiet().await;
    });
}

/// Issue, a test for each order: several deletes of one plan, answered last first, with events in
/// between.
#[test]
fn answers_out_of_order() {
    run(async {
        let pods = ["a", "b", "c"].map(|name| pod(name, 1));
        let mut world = World::new(&[set(1, 0, 3)], &pods).await;
        let (a, b) = (world.delete("a").await, world.delete("b").await);
        let c = world.delete("c").await;
        let [marked_a, marked_b, marked_c] = pods.map(|pod| terminating(pod, 11));
        accept(c, &marked_c).await;
        world.pods.modified(&marked_a).await;
        world.quiet().await;
        accept(b, &marked_b).await;
        accept(a, &marked_a).await;
        world.counts(2, 11).await;
        world.quiet().await;
        world.pods.many("MODIFIED", &[marked_b, marked_c]).await;
        world.counts(0, 12).await;
        acts(world).await;
    });
}

/// Issue, read-your-writes; upstream deletes at once here, and so one pod too many if its ranking
/// has changed meanwhile: the connection breaks after the pod was marked.
#[test]
fn answer_lost() {
    run(async {
        let pods = ["a", "b"].map(|name| pod(name, 1));
        let mut world = World::new(&[set(1, 1, 2)], &pods).await;
        let delete = world.delete("a").await;
        delete.reset();
        let put = world.put().await;
        world.done(put, 11).await;
        world.finds(&format!("{PODS}/a"), &[terminating(pod("a", 1), 12)]).await;
        world.counts(2, 12).await;
        world.quiet().await;
        world.pods.modified(&terminating(pod("a", 1), 12)).await;
        world.counts(1, 13).await;
        world.quiet().await;
    });
}

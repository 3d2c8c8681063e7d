//! Read your writes, for patches: how a set adopts an orphan and releases a pod.

use api::{Key, Kind, Pod};
use cache::fixture::{Call, run};
use controller::{ObjectRef, PatchKind, Plan, Step, Write};
use serde_json::json;

use super::world::{
    PODS, World, accept, body, make, missing, orphan, pod, refuse, set, terminating, with,
};

/// A set that is about to adopt pod `a`.
async fn adopting() -> (World, Call) {
    let mut world = World::new(&[set(1, 1, 0)], &[orphan("a", 1)]).await;
    let patch = adopts(&mut world).await;
    (world, patch)
}

/// The set is read live, and the pod patched.
async fn adopts(world: &mut World) -> Call {
    accept(world.get().await, &set(1, 1, 0)).await;
    world.patch("a").await
}

/// Nothing is written although the set is synced.
async fn waits(world: &mut World) {
    world.sets.modified(&set(11, 1, 0)).await;
    world.quiet().await;
}

/// Issue, preconditions; TestPatchPodCallbacks: the patch names the pod by uid.
#[test]
fn names_the_pod_by_uid() {
    run(async {
        let (_world, patch) = adopting().await;
        let meta = &body(&patch)["metadata"];
        assert_eq!(
            (&meta["uid"], &meta["ownerReferences"][0]["uid"]),
            (&"uid-a".into(), &"uid-web".into())
        );
    });
}

/// Issue, a test for each order: the watch event of a patch before the response.
#[test]
fn event_before_the_answer() {
    run(async {
        let (mut world, patch) = adopting().await;
        world.pods.modified(&pod("a", 11)).await;
        world.quiet().await;
        accept(patch, &pod("a", 11)).await;
        world.counts(1, 12).await;
        world.quiet().await;
    });
}

/// Issue, a test for each order: the watch event of a patch after the response.
#[test]
fn event_after_the_answer() {
    run(async {
        let (mut world, patch) = adopting().await;
        accept(patch, &pod("a", 11)).await;
        world.counts(1, 12).await;
        waits(&mut world).await;
        world.pods.modified(&pod("a", 11)).await;
        world.quiet().await;
    });
}

/// controller_ref_manager.go leaves an orphan that was deleted (404) out of the count. Here the
/// plan counted on it, so the sync fails, and is retried until the cache shows the deletion.
#[test]
fn orphan_was_deleted() {
    run(async {
        let (mut world, patch) = adopting().await;
        missing(patch, "a").await;
        let patch = adopts(&mut world).await;
        world.pods.deleted(&orphan("a", 11)).await;
        missing(patch, "a").await;
        let _post = world.post().await;
        world.quiet().await;
    });
}

/// The API server no longer serves the kind in this version (also a 404). That says nothing about
/// the object, so a write that others depend on must not count as done.
#[test]
fn a_path_that_is_not_served_is_an_error() {
    run(async {
        let (mut world, patch) = adopting().await;
        patch.answer(404, "text/plain").send("404 page not found").await;
        let _again = adopts(&mut world).await;
    });
}

/// controller_ref_manager.go: another owner was first (422), so the sync fails; no status is
/// written, and the key is retried with a new live read.
#[test]
fn orphan_is_taken() {
    run(async {
        let (mut world, patch) = adopting().await;
        refuse(patch, 422, "Invalid", "two controllers").await;
        let patch = adopts(&mut world).await;
        refuse(patch, 422, "Invalid", "two controllers").await;
        let get = world.get().await;
        world.quiet().await;
        let other = json!({"metadata": {"ownerReferences": [{"apiVersion": "apps/v1",
            "kind": "ReplicaSet", "name": "other", "uid": "uid-other", "controller": true}]}});
        world.pods.modified(&with(orphan("a", 11), other)).await;
        accept(get, &set(1, 1, 0)).await;
        refuse(world.patch("a").await, 422, "Invalid", "two controllers").await;
        let _post = world.post().await;
        world.quiet().await;
    });
}

/// TestPatchPodFails: any other failure is retried too.
#[test]
fn patch_fails() {
    run(async {
        let (mut world, patch) = adopting().await;
        refuse(patch, 500, "InternalError", "no").await;
        world.finds(&format!("{PODS}/a"), &[orphan("a", 1)]).await;
        let _again = adopts(&mut world).await;
        world.quiet().await;
    });
}

/// A patch whose response is lost is ambiguous: the pod is read. Meanwhile the orphan counts as an
/// adopted pod that does not show yet.
#[test]
fn answer_lost() {
    run(async {
        let (mut world, patch) = adopting().await;
        patch.reset();
        world.finds(&format!("{PODS}/a"), &[pod("a", 11)]).await;
        world.counts(1, 12).await;
        world.quiet().await;
        world.pods.modified(&pod("a", 11)).await;
        world.quiet().await;
    });
}

/// TestDoNotAdoptOrCreateIfBeingDeletedRace: the live read shows what the cache does not show yet.
#[test]
fn owner_is_being_deleted() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[orphan("a", 1)]).await;
        let deleted = json!({"metadata": {"deletionTimestamp": "1970-01-01T00:00:01Z"}});
        accept(world.get().await, &with(set(2, 1, 0), deleted)).await;
        let _again = world.get().await;
        world.quiet().await;
    });
}

/// controller_ref_manager.go: for a released pod, 404 and 422 do not matter, nothing is retried,
/// and the set continues without it: the controller creates another pod and writes the status.
#[test]
fn released_pod_was_deleted_or_replaced() {
    for is_deleted in [true, false] {
        run(async {
            let mut world = World::new(&[set(1, 1, 1)], &[strange()]).await;
            let patch = world.patch("a").await;
            if is_deleted {
                missing(patch, "a").await;
            } else {
                refuse(patch, 422, "Invalid", "no").await;
            }
            let post = world.post().await;
            make(post, "b", 11).await;
            world.counts(0, 12).await;
            world.quiet().await;
        });
    }
}

/// A webhook that undoes a release answers 200, and changes nothing: no event comes, and none is
/// awaited. The release is retried in each sync, and blocks nothing.
#[test]
fn a_webhook_undoes_the_release() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[strange()]).await;
        accept(world.patch("a").await, &strange()).await;
        let post = world.post().await;
        let made = make(post, "b", 11).await;
        world.quiet().await;
        world.pods.added(&made).await;
        accept(world.patch("a").await, &strange()).await;
        world.counts(1, 12).await;
        accept(world.patch("a").await, &strange()).await;
        world.quiet().await;
    });
}

/// The same for an adoption: the pod counts, as upstream.
#[test]
fn a_webhook_undoes_the_adoption() {
    run(async {
        let (mut world, patch) = adopting().await;
        accept(patch, &orphan("a", 1)).await;
        world.counts(1, 11).await;
        accept(adopts(&mut world).await, &orphan("a", 1)).await;
        world.quiet().await;
    });
}

/// Any other failure to release fails the sync, and says nothing about the pods.
#[test]
fn a_release_is_refused() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[strange()]).await;
        refuse(world.patch("a").await, 403, "Forbidden", "no").await;
        let _again = world.patch("a").await;
        world.quiet().await;
    });
}

/// A pod of `web` that its selector no longer matches.
fn strange() -> serde_json::Value {
    with(pod("a", 1), json!({"metadata": {"labels": {"app": "other"}}}))
}

/// A server-side apply names its field manager, and is awaited as any other patch.
#[test]
fn applies_as_the_field_manager_and_awaits_the_event() {
    run(async {
        let plan = |_: &_, _: &_| {
            let key = Key::new("shop", "a");
            let (resource, uid) = (Pod::RESOURCE, "uid-a".into());
            let object = ObjectRef { resource, key, uid, resource_version: 1 };
            let body = r#"{"metadata":{"uid":"uid-a"}}"#.to_owned();
            let kind = PatchKind::Apply { field_manager: "probe", force: true };
            let apply = Write::patch(object, kind, body);
            Plan::one("differs", Step::InOrder(vec![apply.into()]))
        };
        let (mut world, _log) = World::probe(plan).await;
        let apply = world.patch("a").await;
        assert_eq!(apply.path, format!("{PODS}/a?fieldManager=probe&force=true"));
        accept(apply, &pod("a", 11)).await;
        world.sets.modified(&set(12, 1, 0)).await;
        world.quiet().await;
        world.pods.added(&pod("a", 11)).await;
        let _again = world.patch("a").await;
    });
}

/// TestSuccessPolicy (test/integration/job) on a busy machine: taking the last finalizer of a
/// terminating pod removes it. The response has the version before (deleteWithoutFinalizers),
/// so the cache has not caught up when it shows that. A Job counted the pods as failed that it had
/// deleted when it succeeded.
#[test]
fn the_last_finalizer_is_taken() {
    run(async {
        let marked = terminating(pod("a", 11), 12);
        let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
        let (mut world, _log) = World::probe(|_: &_, _: &_| patch_of("a")).await;
        world.pods.added(&with(pod("a", 11), held.clone())).await;
        world.settle().await;
        accept(world.patch("a").await, &marked).await;
        world.pods.modified(&with(marked, held)).await;
        world.sets.modified(&set(13, 1, 0)).await;
        world.quiet().await;
        world.pods.deleted(&pod("a", 14)).await;
        let _again = world.patch("a").await;
    });
}

/// The same of a pod that has time to end: it is still there, and its end is another's.
#[test]
fn a_pod_that_has_time_to_end_is_not_removed() {
    run(async {
        let grace = json!({"metadata": {"deletionGracePeriodSeconds": 30}});
        let marked = with(terminating(pod("a", 11), 12), grace);
        let (mut world, _log) = World::probe(|_: &_, _: &_| patch_of("a")).await;
        world.pods.added(&pod("a", 11)).await;
        world.settle().await;
        accept(world.patch("a").await, &marked).await;
        world.pods.modified(&marked).await;
        world.sets.modified(&set(13, 1, 0)).await;
        let _again = world.patch("a").await;
    });
}

/// A plan that patches this pod.
fn patch_of(name: &str) -> Plan {
    let uid = format!("uid-{name}").into();
    let key = Key::new("shop", name);
    let object = ObjectRef { resource: Pod::RESOURCE, key, uid, resource_version: 1 };
    let patch = Write::patch(object, PatchKind::Strategic, "{}".to_owned());
    Plan::one("holds", Step::InOrder(vec![patch.into()]))
}

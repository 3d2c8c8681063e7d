//! Deletes with more preconditions than the uid, and patches for kinds without strategic merge.

use std::sync::Arc;

use api::{Key, Kind, OwnerRef, Pod};
use cache::fixture::{Call, run};
use controller::{
    Delete, Facts, Guard, ObjectRef, PatchKind, Plan, Propagation, Step, Write, fixture,
};
use serde_json::{Value, json};

use super::world::{
    Log, PODS, World, accept, body, missing, orphan, pod, refuse, terminating, with,
};

/// The API server's usual text: pkg/registry/rest/delete.go of k8s.io/apiserver.
const CHANGED: &str = "the ResourceVersion in the precondition (1) does not match the \
    ResourceVersion in record (7). The object might have been modified";

fn object() -> ObjectRef {
    let (resource, uid) = (Pod::RESOURCE, "uid-a".into());
    ObjectRef { resource, key: Key::new("shop", "a"), uid, resource_version: 1 }
}

/// The owners of [`pod`].
fn owners() -> Arc<[OwnerRef]> {
    fixture::decode::<Pod>(&pod("a", 1)).meta.owners.clone()
}

/// A controller that deletes pod `a`, and the request.
async fn deleting(guard: Guard) -> (World, Log, Call) {
    let plan = move |_: &_, _: &Facts| {
        let propagation = Some(Propagation::Background);
        let how = Delete { guard: guard.clone(), propagation, ..Delete::default() };
        let delete = Write::delete_so(object(), how);
        Plan::one("goes", Step::InOrder(vec![delete.into()]))
    };
    let (mut world, log) = World::probe(plan).await;
    let delete = world.delete("a").await;
    (world, log, delete)
}

/// The version that a DELETE asks for.
fn version(delete: &Call) -> Value {
    body(delete)["preconditions"]["resourceVersion"].clone()
}

/// How the sync was reported.
fn reported(log: &Log) -> String {
    let lines = log.take();
    lines.iter().find_map(|line| Some(line.split_once(" report ")?.1.to_owned())).unwrap()
}

/// Garbage collector card: uid and resourceVersion preconditions, and the policy.
#[test]
fn the_body_says_what_must_hold() {
    run(async {
        let (_world, _log, delete) = deleting(Guard::SameOwners(owners())).await;
        let expected = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": {"uid": "uid-a", "resourceVersion": "1"},
        });
        assert_eq!(body(&delete), expected);
    });
}

/// Garbage collector card: on 409 a live read; if uid and owners are the same, the delete is
/// retried.
#[test]
fn an_object_with_the_same_owners_is_deleted_in_its_new_version() {
    run(async {
        let (mut world, log, delete) = deleting(Guard::SameOwners(owners())).await;
        refuse(delete, 409, "Conflict", CHANGED).await;
        accept(world.server.find("GET", &format!("{PODS}/a")).await, &pod("a", 7)).await;
        let delete = world.delete("a").await;
        assert_eq!(version(&delete), "7");
        accept(delete, &terminating(pod("a", 7), 8)).await;
        world.settle().await;
        assert_eq!(reported(&log), "done web");
    });
}

/// An object that keeps changing is left for later; the key backs off.
#[test]
fn the_tries_have_a_limit() {
    run(async {
        let (mut world, log, mut delete) = deleting(Guard::SameOwners(owners())).await;
        for version in [7, 8] {
            refuse(delete, 409, "Conflict", CHANGED).await;
            let get = world.server.find("GET", &format!("{PODS}/a")).await;
            accept(get, &pod("a", version)).await;
            delete = world.delete("a").await;
        }
        refuse(delete, 409, "Conflict", CHANGED).await;
        accept(world.server.find("GET", &format!("{PODS}/a")).await, &pod("a", 9)).await;
        world.settle().await;
        assert!(reported(&log).contains("might have been modified"));
    });
}

/// Garbage collector card: the owners have changed since the decision: decide again.
#[test]
fn an_object_with_other_owners_stays() {
    run(async {
        let (mut world, log, delete) = deleting(Guard::SameOwners(owners())).await;
        refuse(delete, 409, "Conflict", CHANGED).await;
        let get = world.server.find("GET", &format!("{PODS}/a")).await;
        accept(get, &orphan("a", 7)).await;
        world.settle().await;
        assert!(reported(&log).contains("might have been modified"));
    });
}

/// Legacy token cleaner card: a conflict is ignored, without a live read, which its role does not
/// allow.
#[test]
fn an_object_of_another_version_stays() {
    run(async {
        let (mut world, log, delete) = deleting(Guard::Version).await;
        refuse(delete, 409, "Conflict", CHANGED).await;
        world.quiet().await;
        assert_eq!(reported(&log), "done web");
    });
}

/// The object of the plan no longer exists: it was deleted, or another one has its name.
#[test]
fn a_deleted_or_replaced_object_is_done() {
    let replaced = with(pod("a", 7), json!({"metadata": {"uid": "uid-other"}}));
    for live in [None, Some(replaced)] {
        run(async {
            let (mut world, log, delete) = deleting(Guard::SameOwners(owners())).await;
            refuse(delete, 409, "Conflict", CHANGED).await;
            let get = world.server.find("GET", &format!("{PODS}/a")).await;
            match &live {
                Some(live) => accept(get, live).await,
                None => missing(get, "a").await,
            }
            world.settle().await;
            assert_eq!(reported(&log), "done web");
        });
    }
}

/// Another client has deleted it meanwhile, perhaps with another policy: decide again.
#[test]
fn an_object_that_is_being_deleted_by_now_is_left_alone() {
    run(async {
        let (mut world, log, delete) = deleting(Guard::SameOwners(owners())).await;
        refuse(delete, 409, "Conflict", CHANGED).await;
        let get = world.server.find("GET", &format!("{PODS}/a")).await;
        accept(get, &terminating(pod("a", 7), 8)).await;
        world.settle().await;
        assert!(reported(&log).contains("might have been modified"));
    });
}

/// operations.go, deleteObject: a conflict that is not about the version is not retried.
#[test]
fn an_object_that_is_refused_as_it_is_is_left_for_later() {
    run(async {
        let (mut world, log, delete) = deleting(Guard::SameOwners(owners())).await;
        refuse(delete, 409, "Conflict", "not now").await;
        accept(world.server.find("GET", &format!("{PODS}/a")).await, &pod("a", 1)).await;
        world.settle().await;
        assert_eq!(reported(&log), "not now web");
    });
}

/// A live read that fails decides nothing: the sync fails.
#[test]
fn an_object_that_cannot_be_read_is_tried_again() {
    run(async {
        let (mut world, log, delete) = deleting(Guard::SameOwners(owners())).await;
        refuse(delete, 409, "Conflict", CHANGED).await;
        let get = world.server.find("GET", &format!("{PODS}/a")).await;
        refuse(get, 500, "InternalError", "broken").await;
        world.settle().await;
        assert!(reported(&log).contains("broken"));
    });
}

fn patching(otherwise: Option<&str>, kind: PatchKind) -> Plan {
    let patch = Write::patch(object(), kind, r#"{"a":1}"#.to_owned());
    let patch = match otherwise {
        Some(merge) => patch.or_merge(merge.to_owned()),
        None => patch,
    };
    Plan::one("differs", Step::InOrder(vec![patch.into()]))
}

/// Garbage collector card: a JSON merge patch instead, if the answer is 415.
#[test]
fn a_kind_without_strategic_merge_gets_a_merge_patch() {
    run(async {
        let plan = |_: &_, _: &_| patching(Some(r#"{"b":2}"#), PatchKind::Strategic);
        let (mut world, log) = World::probe(plan).await;
        let strategic = world.patch("a").await;
        assert_eq!(body(&strategic), json!({"a": 1}));
        refuse(strategic, 415, "UnsupportedMediaType", "no such patch").await;
        let merge = world.patch("a").await;
        assert_eq!(body(&merge), json!({"b": 2}));
        accept(merge, &pod("a", 11)).await;
        world.settle().await;
        assert_eq!(reported(&log), "done web");
    });
}

/// Without an alternative, and for other errors, there is one try.
#[test]
fn other_refusals_of_a_patch_are_final() {
    for (otherwise, code) in [(None, 415), (Some(r#"{"b":2}"#), 422)] {
        run(async {
            let plan = move |_: &_, _: &_| patching(otherwise, PatchKind::Strategic);
            let (mut world, log) = World::probe(plan).await;
            refuse(world.patch("a").await, code, "Odd", "no such patch").await;
            world.settle().await;
            assert!(reported(&log).contains("no such patch"));
        });
    }
}

/// Legacy token cleaner card: a merge patch is sent as one.
#[test]
fn a_merge_patch_is_sent_at_once() {
    run(async {
        let plan = |_: &_, _: &_| patching(None, PatchKind::Merge);
        let (mut world, _log) = World::probe(plan).await;
        let merge = world.patch("a").await;
        assert_eq!(body(&merge), json!({"a": 1}));
        accept(merge, &pod("a", 11)).await;
        world.quiet().await;
    });
}

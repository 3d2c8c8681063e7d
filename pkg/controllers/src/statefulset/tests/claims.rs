//! Volume claims and their owners.

use std::sync::Arc;

use api::PersistentVolumeClaim;
use controller::fixture::{decode, with};
use serde_json::json;

use super::super::retention::Couple;
use super::world::{World, phase, terminating};
use super::*;

/// What manages something.
fn owner(kind: &str, name: &str, uid: &str) -> Value {
    let api_version = if kind == "StatefulSet" { "apps/v1" } else { "v1" };
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid,
        "controller": true, "blockOwnerDeletion": true})
}

/// What owns something that it does not manage.
fn plain(kind: &str, name: &str, uid: &str) -> Value {
    with(owner(kind, name, uid), json!({"controller": null}))
}

fn claim(owners: &[Value]) -> Arc<PersistentVolumeClaim> {
    let meta = json!({"name": "datadir-foo-0", "namespace": "shop", "uid": "c",
        "resourceVersion": "3", "ownerReferences": owners});
    decode(&json!({"metadata": meta, "spec": {}}))
}

fn pod(ordinal: i32) -> Arc<Pod> {
    let meta = json!({"name": format!("foo-{ordinal}"), "namespace": "shop", "uid": "pod-123",
        "resourceVersion": "3"});
    decode(&json!({"metadata": meta}))
}

/// When scaled, when deleted.
const POLICIES: [(&str, &str); 4] =
    [("Retain", "Retain"), ("Retain", "Delete"), ("Delete", "Retain"), ("Delete", "Delete")];

/// TestIsClaimOwnerUpToDate and TestUpdateClaimOwnerRefForSetAndPod: by policy, of a pod in its
/// place and of one without; whether the set and the pod own the claim.
#[test]
fn the_owners_of_a_claim_by_policy() {
    let wanted = [
        [(false, false), (false, false)],
        [(true, false), (true, false)],
        [(false, false), (false, true)],
        [(true, false), (false, true)],
    ];
    for (policy, wanted) in POLICIES.into_iter().zip(wanted) {
        let set = World::new(retention(set(2), policy.0, policy.1)).snapshot().set;
        for (ordinal, wanted) in [1, 2].into_iter().zip(wanted) {
            let pod = pod(ordinal);
            let name = pod.meta.key.name.to_string();
            let couple = Couple { set: &set, ordinal, name: &name, pod: Some(&pod.meta) };
            for variant in 0..8 {
                let has = |bit: u8| variant & bit > 0;
                let mut owners = Vec::new();
                owners.extend(has(1).then(|| owner("StatefulSet", "foo", "test")));
                owners.extend(has(2).then(|| owner("Pod", &name, "pod-123")));
                owners.extend(has(4).then(|| plain("Pod", "rand1", "u1")));
                let claim = claim(&owners);
                let case = format!("{policy:?} {ordinal} {owners:?}");
                let is_right = (has(1), has(2)) == wanted;
                assert_eq!(couple.is_up_to_date(&claim.meta), is_right, "{case}");
                let edited = couple.update(&claim).value;
                let edited = edited.as_array().cloned().unwrap_or_default();
                let manages = |uid: &str| {
                    edited.iter().any(|it| it["uid"] == uid && it["controller"] == true)
                };
                assert_eq!((manages("test"), manages("pod-123")), wanted, "{case}");
                assert_eq!(edited.iter().any(|it| it["uid"] == "u1"), has(4), "{case}");
            }
        }
    }
}

/// TestClaimOwnerUpToDateEdgeCases, of a pod without a place: a name, the policy, who owns the
/// claim, whether that is right.
#[test]
fn odd_owners_of_a_claim() {
    let (both, deleted) = (("Delete", "Delete"), ("Retain", "Delete"));
    let (a_pod, a_set) = (owner("Pod", "foo-1", "pod-123"), owner("StatefulSet", "foo", "test"));
    let foreign = |kind| owner(kind, "Random", "random");
    let cases = [
        ("normal controller, pod", both, vec![a_pod.clone()], true),
        ("non-controller, pod", both, vec![plain("Pod", "foo-1", "pod-123")], false),
        ("stale controller, pod", both, vec![owner("Pod", "foo-1", "pod-stale")], true),
        ("unexpected controller, pod", both, vec![a_pod, foreign("Pod")], false),
        ("normal controller, set", deleted, vec![a_set.clone()], true),
        ("non-controller, set", deleted, vec![plain("StatefulSet", "foo", "test")], false),
        ("stale controller, set", deleted, vec![owner("StatefulSet", "foo", "stale")], true),
        ("unexpected controller, set", deleted, vec![a_set, foreign("StatefulSet")], false),
        ("unexpected controller alone", deleted, vec![foreign("StatefulSet")], true),
    ];
    for (name, (when_scaled, when_deleted), owners, expected) in cases {
        let set = World::new(retention(set(1), when_scaled, when_deleted)).snapshot().set;
        let pod = pod(1);
        let couple = Couple { set: &set, ordinal: 1, name: "foo-1", pod: Some(&pod.meta) };
        let claim = claim(&owners);
        assert_eq!(couple.is_up_to_date(&claim.meta), expected, "{name}");
        if let [_, foreign] = owners.as_slice() {
            let left = couple.update(&claim).value;
            assert_eq!(left, json!([foreign]), "{name}: ours goes, theirs stays");
        }
    }
}

/// TestStatefulPodControlUpdatePodClaimForRetentionPolicy,
/// TestStatefulPodControlRetentionPolicyUpdate; what a set does as a whole.
#[test]
fn claims_get_their_owners_once_they_are_there() {
    for (when_scaled, when_deleted) in POLICIES {
        let mut world = World::settled(retention(set(2), when_scaled, when_deleted));
        let owners = |world: &World, claim: &str| {
            let owners = world.claims[claim]["metadata"]["ownerReferences"].clone();
            let owners = owners.as_array().cloned().unwrap_or_default();
            let kind = |owner: &Value| owner["kind"].as_str().unwrap().to_owned();
            owners.iter().map(kind).collect::<Vec<_>>()
        };
        let kept: &[&str] = if when_deleted == "Delete" { &["StatefulSet"] } else { &[] };
        assert_eq!(owners(&world, "datadir-foo-1"), kept, "{when_scaled}/{when_deleted}");
        world.set = replicas(&world.set, 1);
        world.sync();
        assert_eq!(world.ordinals(), [0]);
        let condemned = if when_scaled == "Delete" { &["Pod"] } else { kept };
        assert_eq!(owners(&world, "datadir-foo-1"), condemned, "{when_scaled}/{when_deleted}");
        assert_eq!(owners(&world, "datadir-foo-0"), kept);
    }
}

/// TestStatefulPodControlRetainDeletionPolicyUpdate: a policy that is changed back.
#[test]
fn a_policy_that_changes_changes_the_owners() {
    let mut world = World::settled(retention(set(1), "Delete", "Delete"));
    world.set = retention(world.set.clone(), "Retain", "Retain");
    assert_eq!(
        world.sync(),
        "why: each pod is there, available and up to date
in order: update persistentvolumeclaims shop/datadir-foo-0 metadata.ownerReferences=null
in order: event Normal SuccessfulUpdate: Update Pod foo-0 in StatefulSet foo successful
"
    );
    assert_eq!(world.sync(), REST);
}

/// TestStatefulPodControlRetentionPolicyUpdateMissingClaims, `createMissingPersistentVolumeClaims`.
#[test]
fn the_claims_of_a_pending_pod_are_made_again() {
    let mut world = World::settled(retention(set(1), "Retain", "Delete"));
    world.claims.clear();
    assert_eq!(world.sync(), REST);
    world.change_pod("foo-0", phase("Pending"));
    assert_eq!(
        world.sync(),
        "why: waits for pod foo-0 to be Running and Ready: it is Pending
in order: create persistentvolumeclaims in shop
"
    );
    assert!(world.sync().contains("update persistentvolumeclaims shop/datadir-foo-0"));
}

/// TestStatefulPodControlCreatePodPVCDeleting.
#[test]
fn a_pod_is_not_made_on_a_claim_that_is_being_deleted() {
    let mut world = World::settled(set(1));
    world.pods.clear();
    let claim = world.claims.get_mut("datadir-foo-0").unwrap();
    *claim = terminating(claim.take());
    assert_eq!(
        world.sync(),
        "why: pod foo-0 cannot be created
in order: event Warning FailedCreate: Create Pod foo-0 in StatefulSet foo failed error: pvc \
         datadir-foo-0 is being deleted
error: pvc datadir-foo-0 is being deleted
"
    );
    // With another one that is missing, as upstream that one is made.
    let two = json!([claim_template("datadir"), claim_template("log")]);
    world.set["spec"]["volumeClaimTemplates"] = two;
    world.sync();
    assert!(world.claims.contains_key("log-foo-0") && world.pods.is_empty());
}

/// Otherwise than upstream, whose batches end with the one that fails: see the module.
#[test]
fn parallel_pods_do_not_wait_for_the_claim_of_another() {
    let mut world =
        World::settled(with(set(3), json!({"spec": {"podManagementPolicy": "Parallel"}})));
    world.pods.clear();
    let claim = world.claims.get_mut("datadir-foo-0").unwrap();
    *claim = terminating(claim.take());
    assert!(world.sync().ends_with("error: pvc datadir-foo-0 is being deleted\n"));
    assert_eq!(world.ordinals(), [1, 2]);
}

/// Which pod owns each of two claims, if they are there; the policy; whether no pod is made.
type Case = ([Option<&'static str>; 2], &'static str, bool);

/// TestPodClaimIsStale, TestStaleOwnerRefOnScaleup: which pod owns each of the two claims, if they
/// are there.
#[test]
fn a_pod_is_not_made_on_a_claim_of_an_earlier_one() {
    let two = json!([claim_template("a"), claim_template("b")]);
    let two = with(set(1), json!({"spec": {"volumeClaimTemplates": two}}));
    let cases: [Case; 6] = [
        ([None, None], "Delete", false),
        ([None, Some("")], "Delete", false),
        ([Some("stale"), Some("")], "Delete", true),
        ([Some("stale"), None], "Delete", true),
        ([Some(""), Some("stale")], "Delete", true),
        ([Some("stale"), Some("stale")], "Retain", false),
    ];
    for (claims, when_scaled, is_blocked) in cases {
        let mut world = World::new(retention(two.clone(), when_scaled, "Retain"));
        for (name, uid) in ["a-foo-0", "b-foo-0"].into_iter().zip(claims) {
            let Some(uid) = uid else { continue };
            let owners =
                if uid.is_empty() { json!([]) } else { json!([plain("Pod", "foo-0", uid)]) };
            let meta = json!({"name": name, "namespace": "shop", "uid": name,
                "resourceVersion": "3", "ownerReferences": owners});
            world.claims.insert(name.to_owned(), json!({"metadata": meta, "spec": {}}));
        }
        world.sync();
        assert_eq!(world.pods.is_empty(), is_blocked, "{claims:?} {when_scaled}");
        if is_blocked {
            assert!(world.why().contains("which an earlier pod foo-0 owns"), "{}", world.why());
            assert_eq!(world.plan().error, None, "the garbage collector will delete it");
        }
    }
}

/// TestOrphanedPodsWithPVCDeletePolicy: a set that was deleted while its pods stayed, and a new one
/// of its name, which adopts them. The claims name the former, and are left alone.
#[test]
fn the_claims_of_a_former_set_are_left_alone() {
    let mut world = World::settled(retention(set(2), "Delete", "Delete"));
    let before = world.claims.clone();
    world.set["metadata"]["uid"] = json!("another");
    world.set["status"] = Value::Null;
    world.revisions.clear();
    world.each_pod(|pod| with(pod, json!({"metadata": {"ownerReferences": null}})));
    world.settle();
    assert_eq!(world.pods.len(), 2);
    assert_eq!(world.claims, before);
}

/// TestHasUnexpectedController.
#[test]
fn a_claim_that_somebody_else_manages_is_told_of() {
    let mut world = World::settled(retention(set(1), "Delete", "Delete"));
    let backup = owner("Job", "backup", "j");
    let owners = json!([plain("StatefulSet", "foo", "test"), backup]);
    world.claims.get_mut("datadir-foo-0").unwrap()["metadata"]["ownerReferences"] = owners;
    world.events.clear();
    world.sync();
    assert_eq!(
        world.events[0],
        "Warning ConflictingController: PersistentVolumeClaim datadir-foo-0 has a conflicting \
         OwnerReference that acts as a manging controller, the retention policy is ignored for \
         this claim"
    );
    let owners = world.claims["datadir-foo-0"]["metadata"]["ownerReferences"].clone();
    assert_eq!(owners, json!([backup]));
    assert_eq!(world.sync(), REST);
}

/// TestGetPersistentVolumeClaims: labels of the template and of the selector.
#[test]
fn a_claim_is_as_its_template_says() {
    let mut set = set(1);
    set["spec"]["volumeClaimTemplates"][0]["metadata"]["labels"] = json!({"foo": "x", "own": "y"});
    set["spec"]["volumeClaimTemplates"][0]["spec"]["unknown"] = json!({"kept": 1});
    let mut world = World::new(set);
    world.sync();
    let claim = &world.claims["datadir-foo-0"];
    assert_eq!(claim["metadata"]["labels"], json!({"foo": "bar", "own": "y"}));
    assert_eq!(claim["spec"]["unknown"], json!({"kept": 1}));
    assert_eq!(claim["metadata"]["ownerReferences"], Value::Null);
}

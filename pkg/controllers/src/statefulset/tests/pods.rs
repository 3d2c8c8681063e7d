//! The pods that are made, and what is changed of them.

use controller::fixture::with;
use serde_json::json;

use super::world::{World, running};
use super::*;

/// TestGetParentNameAndOrdinal.
#[test]
fn names_and_numbers() {
    let cases = [
        ("foo-3", Some(("foo", Some(3)))),
        ("foo-bar-12", Some(("foo-bar", Some(12)))),
        ("foo-1-2", Some(("foo-1", Some(2)))),
        ("1", None),
        ("foo", None),
        ("foo-", None),
        ("foo-1x", None),
        ("foo-+1", None),
        ("foo-99999999999", Some(("foo", None))),
        ("-3", Some(("", Some(3)))),
    ];
    for (name, expected) in cases {
        assert_eq!(ordinal::split(name), expected, "{name}");
    }
}

/// TestNewPodControllerRef, TestUpdateIdentity, TestUpdateStorage; `newVersionedStatefulSetPod`.
#[test]
fn a_pod_is_as_upstream_makes_it() {
    let mut set = set(1);
    let template = &mut set["spec"]["template"];
    template["spec"]["unknown"] = json!({"kept": 1});
    template["spec"]["volumes"] = json!([
        {"name": "datadir", "emptyDir": {}}, {"name": "home", "hostPath": {"path": "/tmp/home"}},
    ]);
    template["metadata"]["annotations"] = json!({"a": "b"});
    let mut world = World::new(set);
    world.sync();
    let revision = world.revisions.keys().next().unwrap();
    let pod = &world.pods["foo-0"];
    let labels = json!({
        "foo": "bar", "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": "foo-0", "apps.kubernetes.io/pod-index": "0",
    });
    assert_eq!(pod["metadata"]["labels"], labels);
    assert_eq!(pod["metadata"]["generateName"], "foo-");
    assert_eq!(pod["metadata"]["annotations"], json!({"a": "b"}));
    let owners = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "foo",
        "uid": "test", "controller": true, "blockOwnerDeletion": true}]);
    assert_eq!(pod["metadata"]["ownerReferences"], owners);
    assert_eq!(pod["spec"]["hostname"], "foo-0");
    assert_eq!(pod["spec"]["subdomain"], "governingsvc");
    assert_eq!(pod["spec"]["unknown"], json!({"kept": 1}));
    let volumes = json!([
        {"name": "datadir", "persistentVolumeClaim": {"claimName": "datadir-foo-0"}},
        {"name": "home", "hostPath": {"path": "/tmp/home"}},
    ]);
    assert_eq!(pod["spec"]["volumes"], volumes);
    let events = [
        "Normal SuccessfulCreate: Create Claim datadir-foo-0 Pod foo-0 in StatefulSet foo success",
        "Normal SuccessfulCreate: Create Pod foo-0 in StatefulSet foo successful",
    ];
    assert_eq!(world.events, events);
}

/// TestStatefulPodControlUpdatesIdentity.
#[test]
fn a_pod_that_does_not_say_who_it_is_is_made_to() {
    let mut world = World::settled(set(2));
    world.change_pod("foo-1", |pod| with(pod, json!({"metadata": {"labels": {NAME_LABEL: null}}})));
    world.events.clear();
    assert_eq!(
        world.sync(),
        "why: each pod is there, available and up to date
in order: update pods shop/foo-1 metadata.labels.statefulset.kubernetes.io/pod-name=\"foo-1\" \
         metadata.labels.apps.kubernetes.io/pod-index=\"1\"
"
    );
    let events = ["Normal SuccessfulUpdate: Update Pod foo-1 in StatefulSet foo successful"];
    assert_eq!(world.events, events);
    assert_eq!(world.sync(), REST);
}

/// TestStatefulPodControlUpdatesPodStorage, and kubernetes/kubernetes 141876: an adopted pod with
/// other volumes is updated again and again, which `explain` says.
#[test]
fn a_pod_with_other_volumes_is_updated_in_vain() {
    let mut world = World::settled(bare(set(2)));
    let templates = json!({"spec": {"volumeClaimTemplates": [claim_template("datadir")]}});
    world.set = with(world.set.clone(), templates);
    let plan = world.plan().to_string();
    let why = "why: pod foo-0 has other volumes than the claim templates say; the volumes of a pod \
               cannot be changed, so each try fails until somebody deletes it\n";
    assert!(plan.starts_with(why), "{plan}");
    assert!(plan.contains("in order: create persistentvolumeclaims in shop\n"), "{plan}");
    assert!(plan.contains("in order: update pods shop/foo-0 spec.volumes=[{\"name\":\"datadir\""));
}

/// TestIdentityMatches: another spelling of a number.
#[test]
fn another_spelling_of_a_number_is_not_renamed() {
    let mut world = World::settled(bare(set(1)));
    let right = world.pods.remove("foo-0").unwrap();
    let spelt = with(right.clone(), json!({"metadata": {"name": "foo-00", "uid": "other"}}));
    world.pods.insert("foo-00".to_owned(), spelt);
    let plan = world.sync();
    let why = "why: pod foo-00 has the number 0 and not its name\nerror:";
    assert!(plan.starts_with(why), "{plan}");
    world.pods.insert("foo-0".to_owned(), right);
    world.each_pod(running);
    assert_eq!(world.sync(), REST, "the one with the right name counts");
}

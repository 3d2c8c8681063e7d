//! `TestProvisionSync`, `TestProvisionMultiSync`, `TestDisablingDynamicProvisioner` of upstream's
//! `provision_test.go`, and `TestRetroactiveStorageClassAssignment` of its `pv_controller_test.go`.
//! Rows that provision by a plugin inside the controller have nothing to stand for here.

use api::{Key, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use controller::fixture::ago;
use serde_json::{Value, json};

use super::notation;
use super::world::{PERIOD, Which, World};
use Which::Claim;

fn world(volumes: &[&str], claims: &[&str]) -> World {
    let mut world = World::new(volumes, claims);
    let wait = json!({"volumeBindingMode": "WaitForFirstConsumer"});
    world.class("external", "vendor.com/my-volume", &json!({}));
    world.class("external-wait", "vendor.com/my-volume-wait", &wait);
    world.class("unknown", "kubernetes.io/unknown", &json!({}));
    world.class("nfs", "kubernetes.io/nfs", &json!({}));
    world.class("gold", "kubernetes.io/gce-pd", &json!({}));
    world.class("host", "kubernetes.io/host-path", &json!({}));
    world.class("mounts", "kubernetes.io/host-path", &json!({"mountOptions": ["a", "b"]}));
    world
}

/// Syncs the claim, and compares claim and events.
fn check(name: &str, claim: &str, after: &str, events: &[(&str, &str)]) -> World {
    let mut world = world(&[], &[claim]);
    world.run(Claim, "c");
    assert_eq!(world.shown_claims(), [after], "{name}: {:#?}", world.writes);
    world.events.dedup();
    let seen: Vec<_> = world.events.iter().map(|(what, text)| (&**what, &**text)).collect();
    assert_eq!(seen, events, "{name}");
    assert_eq!(world.plan(Claim, "c").again, Some(PERIOD), "{name}: it is looked at again");
    world
}

const WAITING: &str = "Waiting for a volume to be created either by the external provisioner \
                       'vendor.com/my-volume' or manually by the system administrator. If volume \
                       creation is delayed, please verify that the provisioner is running and \
                       correctly registered.";

/// 11-17, 12-3: an external provisioner is named and waited for.
#[test]
fn an_external_provisioner_is_asked() {
    let after = "c u 1Gi Pending class=external asks=vendor.com/my-volume \
                 asks-beta=vendor.com/my-volume";
    let events = [("Normal ExternalProvisioning", WAITING)];
    let world = check("11-17", "c u 1Gi Pending class=external", after, &events);
    assert_eq!(world.writes.len(), 1, "the annotations are written once");
}

/// 12-2, 12-4: the volume that it makes is bound.
#[test]
fn the_volume_that_was_made_is_bound() {
    let mut world = world(&[], &["c u 1Gi Pending class=external"]);
    world.run(Claim, "c");
    let made = "pvc-u 1Gi Pending of=c uid=u class=external policy=Delete source=csi \
                made-by=vendor.com/my-volume";
    world.hold::<PersistentVolume>(notation::volume(made));
    world.run(Which::Volume, "pvc-u");
    world.run(Claim, "c");
    assert_eq!(world.shown_volumes(), [made.replace("Pending", "Bound")]);
    assert_eq!(
        world.shown_claims(),
        ["c u 1Gi Bound volume=pvc-u class=external by-controller completed \
         asks=vendor.com/my-volume asks-beta=vendor.com/my-volume",]
    );
}

/// 11-22: no provisioner is asked if a volume fits.
#[test]
fn a_volume_that_fits_comes_first() {
    let mut world = world(&["v 1Gi Available class=external"], &["c u 1Gi Pending class=external"]);
    world.run(Claim, "c");
    assert_eq!(world.shown_events(), [""; 0]);
    assert!(world.shown_claims()[0].starts_with("c u 1Gi Bound volume=v"));
}

/// 11-24: once the scheduler has chosen a node, free volumes do not count.
#[test]
fn a_node_was_chosen() {
    let volume = "v 1Gi Available class=external-wait policy=Delete";
    let mut world = world(&[volume], &["c u 1Gi Pending class=external-wait node=node1"]);
    world.run(Claim, "c");
    assert_eq!(world.shown_volumes(), [volume]);
    assert_eq!(
        world.shown_claims(),
        ["c u 1Gi Pending class=external-wait asks=vendor.com/my-volume-wait \
         asks-beta=vendor.com/my-volume-wait node=node1",]
    );
    assert_eq!(world.shown_events(), ["Normal ExternalProvisioning"]);
}

/// 11-21, 11-23: the CSI driver that has replaced a plugin is asked.
#[test]
fn the_driver_of_a_migrated_plugin_is_asked() {
    let mut world = world(&[], &["c u 1Gi Pending class=gold"]);
    world.run(Claim, "c");
    assert_eq!(
        world.shown_claims(),
        ["c u 1Gi Pending class=gold asks=pd.csi.storage.gke.io asks-beta=pd.csi.storage.gke.io",]
    );
    assert_eq!(world.shown_events(), ["Normal ExternalProvisioning"]);
}

/// 11-2, 11-14, 11-18, 11-20, 11-25 and upstream's words for the rest.
#[test]
fn nobody_can_make_a_volume() {
    let failed = "Warning ProvisioningFailed";
    let asks = "asks=kubernetes.io/host-path asks-beta=kubernetes.io/host-path";
    for (name, claim, more, message) in [
        ("11-14", "class=none", "", "storageclass.storage.k8s.io \"none\" not found"),
        ("11-18", "class=unknown", "", "no volume plugin matched name: kubernetes.io/unknown"),
        ("nfs", "class=nfs", "", "no provisionable volume plugin matched"),
        (
            "11-3",
            "class=host",
            asks,
            "Failed to create provisioner: provisioning in volume plugin \
             \"kubernetes.io/host-path\" is disabled",
        ),
        (
            "11-20",
            "class=mounts",
            asks,
            "Mount options are not supported by the provisioner but StorageClass \"mounts\" has \
             mount options [a b]",
        ),
        (
            "11-25",
            "class=host source",
            "",
            "plugin \"kubernetes.io/host-path\" is not a CSI plugin. Only CSI plugin can provision \
             a claim with a datasource",
        ),
    ] {
        let claim = format!("c u 1Gi Pending {claim}");
        let after = format!("{claim} {more}").trim_end().to_owned();
        check(name, &claim, &after, &[(failed, message)]);
    }
}

/// 11-15, 11-16: without a class, nobody is asked.
#[test]
fn without_a_class_nobody_is_asked() {
    let message = "no persistent volumes available for this claim and no storage class is set";
    for claim in ["c u 1Gi Pending", "c u 1Gi Pending class="] {
        check("11-15", claim, claim, &[("Normal FailedBinding", message)]);
    }
}

/// `TestDisablingDynamicProvisioner`.
#[test]
fn provisioning_can_be_off() {
    let claim = "c u 1Gi Pending class=external";
    let mut world = world(&[], &[claim]);
    world.claims.provisions = false;
    world.run(Claim, "c");
    assert_eq!(world.shown_claims(), [claim]);
    assert_eq!(world.shown_events(), [""; 0]);
}

/// `emitEventForUnboundDelayBindingClaim`: the pods without a node are named.
#[test]
fn an_event_names_the_pods_that_wait() {
    let claim = "c u 1Gi Pending class=external-wait";
    let pod = |name: &str, spec: Value, phase: &str| {
        let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
        let mut pod = json!({
            "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"},
            "spec": spec, "status": {"phase": phase},
        });
        pod["spec"]["volumes"] = volumes;
        pod
    };
    let mut world = world(&[], &[claim]);
    world.hold::<Pod>(pod("placed", json!({"nodeName": "n"}), "Running"));
    world.hold::<Pod>(pod("over", json!({}), "Succeeded"));
    world.hold::<Pod>(pod("b", json!({}), "Pending"));
    world.run(Claim, "c");
    world.hold::<Pod>(pod("a", json!({}), "Pending"));
    world.run(Claim, "c");
    let said: Vec<_> = world.events.iter().map(|(what, text)| (&**what, &**text)).collect();
    assert_eq!(
        said,
        [
            ("Normal WaitForPodScheduled", "waiting for pod b to be scheduled"),
            ("Normal WaitForPodScheduled", "waiting for pods a,b to be scheduled"),
        ]
    );
    assert_eq!(world.shown_claims(), [claim]);
}

/// Set 15: a claim that says nothing of a class gets the default one.
#[test]
fn the_default_class_is_assigned_later() {
    let default = |name: &str, age: i64| {
        let annotations = json!({"storageclass.kubernetes.io/is-default-class": "true"});
        let metadata = json!({"annotations": annotations, "creationTimestamp": ago(age)});
        (name.to_owned(), json!({"metadata": metadata}))
    };
    let none = || Vec::new();
    let one = || vec![default("gold", 5)];
    let two = || vec![default("silver", 5), default("gold", 5)];
    let newer = || vec![default("gold", 5), default("silver", 1)];
    for (name, classes, before, after) in [
        ("15-1", none(), "c u 1Gi Pending", "c u 1Gi Pending"),
        (
            "15-3",
            one(),
            "c u 1Gi Bound volume=test class=copper by-controller completed",
            "c u 1Gi Lost volume=test class=copper by-controller completed",
        ),
        (
            "15-4",
            one(),
            "c u 1Gi Bound volume=test class=copper",
            "c u 1Gi Pending volume=test class=copper",
        ),
        ("15-5", one(), "c u 1Gi Pending", "c u 1Gi Pending class=gold"),
        ("15-2", two(), "c u 1Gi Pending", "c u 1Gi Pending class=gold"),
        ("the newest", newer(), "c u 1Gi Pending", "c u 1Gi Pending class=silver"),
        ("15-6", one(), "c u 1Gi Pending class=copper", "c u 1Gi Pending class=copper"),
        ("an empty one", one(), "c u 1Gi Pending class=", "c u 1Gi Pending class="),
        ("15-7", one(), "c u 1Gi Pending beta-class", "c u 1Gi Pending beta-class"),
    ] {
        let mut world = World::new(&[], &[before]);
        for (name, more) in classes {
            world.class(&name, "kubernetes.io/no-provisioner", &more);
        }
        world.run(Claim, "c");
        assert_eq!(world.shown_claims(), [after], "{name}");
    }
}

/// A class with the beta annotation counts, one that says `false` does not.
#[test]
fn annotations_make_a_class_the_default() {
    for (annotations, is_default) in [
        (json!({"storageclass.beta.kubernetes.io/is-default-class": "true"}), true),
        (json!({"storageclass.kubernetes.io/is-default-class": "false"}), false),
        (json!({}), false),
    ] {
        let class = json!({
            "metadata": {"name": "a", "resourceVersion": "1", "annotations": annotations},
            "provisioner": "p",
        });
        let class = controller::fixture::decode::<StorageClass>(&class);
        assert_eq!(StorageClass::default_of([&*class]).is_some(), is_default);
    }
}

/// `TestAnnealMigrationAnnotations`, of claims.
#[test]
fn a_claim_says_which_driver_does_the_work() {
    let (on, off) = ("kubernetes.io/gce-pd", "kubernetes.io/rbd");
    for (before, after) in [
        (format!("asks={on}"), format!("asks={on} migrated=pd.csi.storage.gke.io")),
        (format!("asks-beta={on}"), format!("asks-beta={on} migrated=pd.csi.storage.gke.io")),
        (format!("asks={off}"), format!("asks={off}")),
        (format!("asks={off} migrated=rbd.csi.ceph.com"), format!("asks={off}")),
        (format!("asks-beta={off} migrated=rbd.csi.ceph.com"), format!("asks-beta={off}")),
        ("asks=other".to_owned(), "asks=other".to_owned()),
        ("migrated=x".to_owned(), "migrated=x".to_owned()),
    ] {
        let mut world = World::new(&[], &[&format!("c u 1Gi Pending {before}")]);
        world.run(Claim, "c");
        assert_eq!(world.shown_claims(), [format!("c u 1Gi Pending {after}")]);
    }
}

/// A selector that the API server would not admit today.
#[test]
fn a_broken_selector_is_an_error() {
    let mut world = World::new(&["v 1Gi Available"], &["c u 1Gi Pending"]);
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let key = Key::new("default", "c");
    world.change::<PersistentVolumeClaim>(&key, json!({"spec": {"selector": selector}}));
    let error = "error finding PV for claim \"default/c\": error creating internal label selector \
                 for claim: default/c: \"Near\" is not a valid label selector operator";
    assert_eq!(world.errors, [error]);
}

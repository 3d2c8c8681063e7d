//! The cases of upstream's `reconciler_test.go`, `attach_detach_controller_test.go` and
//! `csi_attacher_test.go`.

use std::time::Duration;

use super::*;

const ATTACHED: &str = "SuccessfulAttachVolume AttachVolume.Attach succeeded for volume \"pv-1\" ";

/// Pods of a row: name, node, namespace.
type Pods = &'static [(&'static str, &'static str, &'static str)];

/// Attached to `node-1` for the pod `a`, which has it in use.
fn attached(modes: &[&str]) -> World {
    let mut world = world(modes);
    world.run(&[pod("a", "node-1", "data")]);
    world.settle(VOLUME);
    world.attacher("node-1", &json!({"attached": true}));
    world.settle(VOLUME);
    world.uses("node-1", &[VOLUME]);
    world
}

/// Test_Run_Positive_DoNothing.
#[test]
fn without_pods_nothing_is_done() {
    let mut world = world(&["ReadWriteOnce"]);
    assert_eq!(world.sync(VOLUME), "gone\n");
    assert_eq!(world.settle(VOLUME), 0);
}

/// Test_Run_Positive_OneDesiredVolumeAttach; TestAttacherAttach.
#[test]
fn a_volume_is_attached_for_a_pod() {
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    assert_eq!(
        world.sync(VOLUME),
        "why: node-1: is attached for pod shop/a\n\
         together: create volumeattachments.storage.k8s.io in \n",
    );
    let name = world.name("h1", "node-1");
    assert_eq!(
        world.attachments[&name],
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": name, "uid": format!("uid-{name}")},
            "spec": {"attacher": "d.example", "nodeName": "node-1",
                "source": {"persistentVolumeName": "pv-1"}}}),
    );
    let waits = world.sync(VOLUME);
    assert!(waits.contains("waits for the attacher of d.example to attach csi-"), "{waits}");
    assert!(waits.contains("again in 120s"), "{waits}");
    assert!(
        world.settle(VOLUME) == 0 && world.events.is_empty() && world.listed("node-1").is_empty()
    );
    world.attacher("node-1", &json!({"attached": true}));
    assert_eq!(world.settle(VOLUME), 1);
    assert_eq!(world.listed("node-1"), [VOLUME]);
    assert_eq!(world.events, [format!("a: Normal {ATTACHED}")]);
    // The Event comes once, whatever becomes of the list.
    world.set_node("node-1", json!({"status": {"volumesAttached": null}}));
    assert_eq!(world.settle(VOLUME), 1);
    assert_eq!((world.listed("node-1").len(), world.events.len()), (1, 1));
}

/// Test_Run_Positive_OneDesiredVolumeAttachThenDetachWithUnmountedVolume: the status of the node
/// first, then the attachment.
#[test]
fn a_volume_is_detached_once_it_is_unmounted() {
    let mut world = attached(&["ReadWriteOnce"]);
    world.pods.clear();
    let waits = world.sync(VOLUME);
    assert!(
        waits.contains("node-1: it is in use by the node, as the node's status says"),
        "{waits}"
    );
    assert!(waits.contains("again in 360s"), "{waits}");
    assert_eq!(world.settle(VOLUME), 0);
    world.uses("node-1", &[]);
    assert!(world.sync(VOLUME).contains("waits until the status of the node does not list it"));
    assert_eq!(world.nodes_with(), ["node-1"]);
    world.sync("node-1");
    assert!(world.listed("node-1").is_empty());
    let plan = world.sync(VOLUME);
    assert!(plan.starts_with("fetch nodes node-1\n"), "{plan}");
    assert!(plan.contains("together: delete volumeattachments.storage.k8s.io csi-"), "{plan}");
    assert!(world.sync(VOLUME).contains("waits for the attacher to detach csi-"));
    world.detached();
    assert!(world.sync(VOLUME).contains("node-1: detached"));
    assert_eq!(world.sync(VOLUME), "gone\n");
    assert_eq!(world.settle(VOLUME), 0);
}

/// Test_Run_Positive_OneDesiredVolumeAttachThenDetachWithMountedVolume, and
/// Test_Run_OneVolumeDetachOnUnhealthyNode: after six minutes, if the node is not ready.
#[test]
fn a_mounted_volume_is_detached_by_force_from_a_node_that_is_not_ready() {
    let mut world = attached(&["ReadWriteOnce"]);
    world.pods.clear();
    assert_eq!(world.settle(VOLUME), 0);
    world.uptime += Duration::from_mins(6);
    assert_eq!(world.settle(VOLUME), 0, "the node is ready");
    world.not_ready("node-1");
    assert_eq!(world.settle(VOLUME), 2);
    let plan = world.sync(VOLUME);
    assert!(plan.contains("waits for the attacher to detach"), "{plan}");
}

#[test]
fn a_mounted_volume_stays_for_six_minutes() {
    let mut world = attached(&["ReadWriteOnce"]);
    world.pods.clear();
    world.not_ready("node-1");
    world.settle(VOLUME);
    world.uptime += Duration::from_secs(359);
    assert_eq!(world.settle(VOLUME), 0);
    // A pod that comes back starts the time anew.
    world.run(&[pod("b", "node-1", "data")]);
    world.settle(VOLUME);
    world.pods.clear();
    world.settle(VOLUME);
    world.uptime += Duration::from_secs(359);
    assert_eq!(world.settle(VOLUME), 0);
    world.uptime += Duration::from_secs(1);
    assert_eq!(world.settle(VOLUME), 2);
}

/// Test_Run_OneVolumeDetachOnUnhealthyNodeWithForceDetachOnUnmountDisabled.
#[test]
fn force_can_be_forbidden_but_not_for_nodes_out_of_service() {
    let mut world = attached(&["ReadWriteOnce"]);
    world.options.forces_on_timeout = false;
    world.pods.clear();
    world.not_ready("node-1");
    world.settle(VOLUME);
    world.uptime += Duration::from_hours(1);
    assert_eq!(world.settle(VOLUME), 0);
    assert!(world.sync(VOLUME).contains("it is never detached by force"));
    let taint = json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
    world.set_node("node-1", json!({"spec": {"taints": taint}}));
    assert_eq!(world.settle(VOLUME), 2);
}

/// Test_Run_OneVolumeDetachOnOutOfServiceTaintedNode and …OnNoOutOfServiceTaintedNode.
#[test]
fn a_node_out_of_service_is_not_waited_for() {
    for (key, writes) in [("node.kubernetes.io/out-of-service", 2), ("other", 0)] {
        let mut world = attached(&["ReadWriteOnce"]);
        world.pods.clear();
        let taint = json!([{"key": key, "effect": "NoSchedule"}]);
        world.set_node("node-1", json!({"spec": {"taints": taint}}));
        assert_eq!(world.settle(VOLUME), writes, "{key}");
    }
}

/// Test_Run_Negative_…UpdateStatusFail, Test_Run_UpdateNodeStatusFailBeforeOneVolumeDetach….
#[test]
fn without_the_status_of_the_node_nothing_is_detached() {
    let mut world = attached(&["ReadWriteOnce"]);
    world.pods.clear();
    world.uses("node-1", &[]);
    world.refuses = true;
    for _ in 0..3 {
        let plan = world.sync(VOLUME);
        assert!(plan.contains("waits until the status of the node does not list it"), "{plan}");
        world.sync("node-1");
    }
    assert_eq!(world.nodes_with(), ["node-1"]);
    world.refuses = false;
    assert_eq!(world.settle(VOLUME), 2);
}

/// Test_Run_OneVolumeAttachAndDetachMultipleNodesWithReadWriteMany.
#[test]
fn a_shared_volume_is_attached_to_several_nodes() {
    let mut world = world(&["ReadWriteMany"]);
    world.run(&[pod("a", "node-1", "data"), pod("b", "node-2", "data")]);
    assert_eq!(world.settle(VOLUME), 2);
    world.attacher("node-1", &json!({"attached": true}));
    world.attacher("node-2", &json!({"attached": true}));
    assert_eq!(world.settle(VOLUME), 2);
    world.pods.remove("a");
    assert_eq!(world.settle(VOLUME), 2);
    world.detached();
    assert_eq!((world.settle(VOLUME), world.nodes_with()), (0, vec!["node-2"]));
}

/// Test_Run_OneVolumeAttachAndDetachMultipleNodesWithReadWriteOnce.
#[test]
fn another_volume_is_attached_to_one_node_after_the_other() {
    let mut world = attached(&["ReadWriteOnce"]);
    world.run(&[pod("b", "node-2", "data")]);
    assert_eq!(world.settle(VOLUME), 0);
    let plan = world.sync(VOLUME);
    assert!(plan.contains("node-2: waits until the volume is detached from node-1"), "{plan}");
    let text = "b: Warning FailedAttachVolume Multi-Attach error for volume \"pv-1\" Volume is \
                already used by pod(s) a";
    assert_eq!(world.events.iter().filter(|event| *event == text).count(), 1);
    world.pods.remove("a");
    world.uses("node-1", &[]);
    world.settle(VOLUME);
    assert_eq!(world.nodes_with(), ["node-1"], "its attacher is not done");
    world.detached();
    world.settle(VOLUME);
    assert_eq!(world.nodes_with(), ["node-2"]);
}

/// Of two pods at once, one gets it: that which was made first.
#[test]
fn two_nodes_do_not_get_it_in_one_sync() {
    let mut world = world(&["ReadWriteOnce"]);
    let made = |time: &str| json!({"metadata": {"creationTimestamp": time}});
    world.run(&[
        with(pod("a", "node-1", "data"), made("2024-05-01T12:00:01Z")),
        with(pod("b", "node-2", "data"), made("2024-05-01T12:00:00Z")),
    ]);
    assert_eq!(world.settle(VOLUME), 1);
    assert_eq!(world.nodes_with(), ["node-2"]);
}

/// Test_ReportMultiAttachError.
#[test]
fn pods_learn_which_pods_have_their_volume() {
    let error = |text: &str| {
        format!("a: Warning FailedAttachVolume Multi-Attach error for volume \"pv-1\" {text}")
    };
    let other = |name: &str, node: &str, namespace: &str| {
        with(pod(name, node, "data"), json!({"metadata": {"namespace": namespace}}))
    };
    // Claims in other namespaces lead to the same volume by another PersistentVolume.
    let foreign = |world: &mut World| {
        let mut volume = volume("pv-2", "h1", "data");
        volume["spec"]["claimRef"]["namespace"] = json!("ns2");
        let claim = with(claim("data", "pv-2"), json!({"metadata": {"namespace": "ns2"}}));
        world.volumes.insert("pv-2".to_owned(), volume);
        world.claims.insert("ns2".to_owned(), claim);
    };
    let rows: [(Pods, &str); 4] = [
        (
            &[],
            "Volume is already exclusively attached to one node and can't be attached to another",
        ),
        (&[("b", "node-2", "shop")], "Volume is already used by pod(s) b"),
        (&[("b", "node-2", "ns2")], "Volume is already used by 1 pod(s) in different namespaces"),
        (
            &[("b", "node-2", "ns2"), ("c", "node-3", "shop")],
            "Volume is already used by pod(s) c and 1 pod(s) in different namespaces",
        ),
    ];
    for (pods, text) in rows {
        let mut world = world(&["ReadWriteOnce"]);
        foreign(&mut world);
        world.nodes.insert("node-3".to_owned(), node("node-3"));
        for node in ["node-2", "node-3"] {
            let listed = json!([{"name": VOLUME, "devicePath": ""}]);
            world.set_node(
                node,
                json!({"status": {"volumesAttached": listed, "volumesInUse": [VOLUME]}}),
            );
        }
        for (name, node, namespace) in pods {
            world.pods.insert((*name).to_owned(), other(name, node, namespace));
        }
        world.run(&[pod("a", "node-1", "data")]);
        world.sync(VOLUME);
        let events: Vec<_> = world.events.iter().filter(|it| it.starts_with("a: ")).collect();
        assert_eq!(events, [&error(text)]);
    }
}

/// Test_Run_OneVolumeAttachAndDetachUncertainNodes… and …TimeoutNodes…: what failed may be attached
/// all the same, so it is detached first.
#[test]
fn what_could_not_be_attached_is_detached_all_the_same() {
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    world.settle(VOLUME);
    world.attacher("node-1", &json!({"attachError": {"message": "timed out"}}));
    assert_eq!(world.settle(VOLUME), 0);
    let text = "a: Warning FailedAttachVolume AttachVolume.Attach failed for volume \"pv-1\" : \
                timed out";
    assert_eq!(world.events, [text]);
    world.pods.clear();
    world.run(&[pod("b", "node-2", "data")]);
    assert_eq!((world.settle(VOLUME), world.nodes_with()), (1, vec!["node-1"]));
    world.detached();
    assert_eq!((world.settle(VOLUME), world.nodes_with()), (1, vec!["node-2"]));
}

/// Not upstream's, which would attach the volume to both: a pod that waits for a node whose
/// attachment nobody confirms learns why, as late as an attacher may take.
#[test]
fn an_attachment_that_nobody_confirms_is_told_after_a_while() {
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    world.settle(VOLUME);
    world.run(&[pod("b", "node-2", "data")]);
    world.settle(VOLUME);
    assert_eq!(world.events, [""; 0], "it may soon be confirmed, which says more");
    world.uptime += Duration::from_mins(2);
    world.settle(VOLUME);
    world.events.retain(|event| event.starts_with("b:"));
    let text = "b: Warning FailedAttachVolume Multi-Attach error for volume \"pv-1\" Volume may \
                still be attached to node-1";
    assert_eq!(world.events, [text]);
    world.uptime += Duration::from_mins(2);
    world.settle(VOLUME);
    assert_eq!(world.events.iter().filter(|event| event.starts_with("b:")).count(), 1, "once");
}

/// `OperationCompleteHook`: each try that has ended, well or not, also those that the API server
/// refused.
#[test]
fn operations_are_counted_by_how_they_ended() {
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    world.refuses = true;
    world.sync(VOLUME);
    world.refuses = false;
    world.settle(VOLUME);
    assert_eq!(world.operations, ["volume_attach fail-unknown"]);
    world.attacher("node-1", &json!({"attached": true}));
    world.settle(VOLUME);
    world.pods.clear();
    world.settle(VOLUME);
    for _ in 0..2 {
        world.attacher("node-1", &json!({"detachError": {"message": "no"}}));
        world.settle(VOLUME);
    }
    world.detached();
    world.settle(VOLUME);
    let ended = [
        "volume_attach fail-unknown",
        "volume_attach success",
        "volume_detach fail-unknown",
        "volume_detach success",
    ];
    assert_eq!(world.operations, ended, "the same error counts once");
}

/// TestAttacherWaitForVolumeAttachment: attach errors, each told once; a timeout; one that is being
/// deleted.
#[test]
fn failures_of_the_attacher_are_told() {
    let failed = |error: &str| {
        format!(
            "a: Warning FailedAttachVolume AttachVolume.Attach failed for volume \"pv-1\" : {error}"
        )
    };
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    world.settle(VOLUME);
    world.uptime += Duration::from_mins(2);
    world.settle(VOLUME);
    let timeout = failed(
        "timed out waiting for external-attacher of d.example CSI driver to attach volume h1",
    );
    assert_eq!(world.events, [timeout]);
    for time in ["2024-05-01T12:00:00Z", "2024-05-01T12:00:01Z"] {
        world.events.clear();
        world.attacher("node-1", &json!({"attachError": {"message": "no", "time": time}}));
        world.settle(VOLUME);
        assert_eq!(world.events, [failed("no")]);
    }
    world.events.clear();
    let name = world.name("h1", "node-1");
    let ends = json!({"metadata": {"deletionTimestamp": "2024-05-01T12:00:00Z"}});
    let it = world.attachments.get_mut(&name).unwrap();
    *it = with(it.clone(), ends);
    world.settle(VOLUME);
    assert_eq!(world.events, [failed("volume attachment is being deleted")]);
    world.detached();
    assert_eq!(world.settle(VOLUME), 1, "it is made anew");
}

/// `IsOperationPending`: a pod that comes back to its node while its volume is being detached from
/// it waits, and nothing has failed; that is said after the detach has timed out, or failed.
#[test]
fn a_pod_that_comes_back_waits_for_the_detach() {
    let failed = "a: Warning FailedAttachVolume AttachVolume.Attach failed for volume \"pv-1\" : \
                  volume attachment is being deleted";
    for fails in [false, true] {
        let mut world = attached(&["ReadWriteOnce"]);
        world.pods.clear();
        world.uses("node-1", &[]);
        world.settle(VOLUME);
        let name = world.name("h1", "node-1");
        assert!(world.attachments[&name]["metadata"]["deletionTimestamp"].is_string());
        world.events.clear();
        world.run(&[pod("a", "node-1", "data")]);
        world.settle(VOLUME);
        assert_eq!(world.events, [""; 0]);
        if fails {
            world.attacher("node-1", &json!({"detachError": {"message": "no"}}));
        } else {
            world.uptime += Duration::from_mins(2);
        }
        world.settle(VOLUME);
        assert_eq!(world.events, [failed], "{fails}");
    }
}

/// Test_AttachDetachControllerRecovery: what statuses list and no pod needs is detached after a
/// restart.
#[test]
fn what_statuses_list_is_detached_after_a_restart() {
    let mut world = attached(&["ReadWriteOnce"]);
    world.memory = Worlds::default();
    assert_eq!((world.settle(VOLUME), world.events.len()), (0, 1), "it stays, and nothing is told");
    world.pods.clear();
    world.uses("node-1", &[]);
    world.memory = Worlds::default();
    assert_eq!(world.settle(VOLUME), 2);
}

/// Test_ADC_VolumeAttachmentRecovery, and of a volume that its pod names itself.
#[test]
fn dangling_attachments_are_found_after_a_restart() {
    let migrated = json!({"spec": {"csi": null, "gcePersistentDisk": {"pdName": "d"}}});
    let gce = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d";
    let inline = json!({"csi": {"driver": "d.example", "volumeHandle": "h1"}});
    for attached in [true, false] {
        for (fields, driver, handle, source) in [
            (json!({}), "d.example", "h1", json!({"persistentVolumeName": "pv-1"})),
            (
                migrated.clone(),
                "pd.csi.storage.gke.io",
                gce,
                json!({"persistentVolumeName": "pv-1"}),
            ),
            (json!({}), "d.example", "h1", json!({"inlineVolumeSpec": inline})),
        ] {
            let mut world = world(&["ReadWriteOnce"]);
            let it = world.volumes.get_mut("pv-1").unwrap();
            *it = with(it.clone(), fields);
            let name = attachment_name(&world.options, (driver, handle), "node-1").to_string();
            let attachment = json!({"metadata": {"name": name, "uid": "u"},
                "spec": {"attacher": driver, "nodeName": "node-1", "source": source},
                "status": {"attached": attached}});
            world.attachments.insert(name, attachment);
            let volume = format!("kubernetes.io/csi/{driver}^{handle}");
            assert_eq!(world.settle(&volume), 1, "{source}");
            assert!(world.attachments.is_empty());
        }
    }
}

/// An in-tree PersistentVolume is attached as its CSI translation.
#[test]
fn a_migrated_volume_is_attached_by_its_driver() {
    let mut world = world(&["ReadWriteOnce"]);
    let it = world.volumes.get_mut("pv-1").unwrap();
    *it = with(it.clone(), json!({"spec": {"csi": null, "cinder": {"volumeID": "c"}}}));
    world.run(&[pod("a", "node-1", "data")]);
    assert_eq!(world.settle("kubernetes.io/csi/cinder.csi.openstack.org^c"), 1);
    let spec = &world.attachments.values().next().unwrap()["spec"];
    assert_eq!(spec["attacher"], "cinder.csi.openstack.org");
    assert_eq!(spec["source"], json!({"persistentVolumeName": "pv-1"}));
    // And one that a pod names itself, with its whole spec.
    let mut inline = pod("b", "node-2", "data");
    inline["spec"]["volumes"] = json!([{"name": "v", "cinder": {"volumeID": "e"}}]);
    world.run(&[inline]);
    let volume = "kubernetes.io/csi/cinder.csi.openstack.org^e";
    assert_eq!(world.settle(volume), 1);
    let inline = json!({"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
        "csi": {"driver": "cinder.csi.openstack.org", "volumeHandle": "e"}});
    let mut sources = world.attachments.values().map(|it| &it["spec"]["source"]);
    assert!(sources.any(|it| *it == json!({"inlineVolumeSpec": inline})));
}

/// Fibre channel and iSCSI need no attachment: the status of the node says it all.
#[test]
fn volumes_without_attachments_are_only_listed() {
    let mut world = world(&["ReadWriteOnce"]);
    let it = world.volumes.get_mut("pv-1").unwrap();
    *it = with(it.clone(), json!({"spec": {"csi": null, "fc": {"wwids": ["w"]}}}));
    let volume = "kubernetes.io/fc/[w]";
    world.run(&[pod("a", "node-1", "data")]);
    assert_eq!((world.settle(volume), world.attachments.len()), (1, 0));
    assert_eq!(world.listed("node-1"), [volume]);
    assert_eq!(world.events, [format!("a: Normal {ATTACHED}")]);
    world.uses("node-1", &[volume]);
    world.pods.clear();
    world.run(&[pod("b", "node-2", "data")]);
    assert_eq!(world.settle(volume), 0);
    assert!(world.events.last().unwrap().contains("Multi-Attach error"), "{:?}", world.events);
    world.uses("node-1", &[]);
    assert_eq!(world.settle(volume), 2);
    assert!(world.listed("node-1").is_empty());
    assert_eq!(world.listed("node-2"), [volume]);
}

/// TestFindAndRemoveNonattachableVolumes; TestPluginCanAttach.
#[test]
fn a_driver_can_do_without_attachments() {
    let driver = |required: bool| {
        let spec = json!({"attachRequired": required});
        json!({"metadata": {"name": "d.example"}, "spec": spec})
    };
    let mut world = world(&["ReadWriteOnce"]);
    world.drivers.insert("d.example".to_owned(), driver(false));
    world.run(&[pod("a", "node-1", "data")]);
    assert_eq!(world.settle(VOLUME), 0);
    world.drivers.insert("d.example".to_owned(), driver(true));
    assert_eq!(world.settle(VOLUME), 1);
    world.drivers.insert("d.example".to_owned(), driver(false));
    assert_eq!((world.settle(VOLUME), world.attachments.len()), (1, 0));
}

/// TestFindAndAddActivePods_FindAndRemoveDeletedPods, TestPodTerminated…: pods that are over do not
/// count; TestPodAddedByDswp: their nodes must ask for it.
#[test]
fn pods_that_are_over_or_whose_nodes_do_it_themselves_do_not_count() {
    let mut unmanaged = node("node-1");
    unmanaged["metadata"]["annotations"] = json!(null);
    for (node_1, status, writes) in [
        (node("node-1"), json!({"phase": "Succeeded"}), 0),
        (node("node-1"), json!({"phase": "Failed"}), 0),
        (node("node-1"), json!({"phase": "Pending"}), 1),
        (unmanaged, json!({"phase": "Running"}), 0),
    ] {
        let mut world = world(&["ReadWriteOnce"]);
        world.nodes.insert("node-1".to_owned(), node_1);
        world.run(&[with(pod("a", "node-1", "data"), json!({"status": status}))]);
        assert_eq!(world.settle(VOLUME), writes, "{status}");
    }
}

/// Test_CreateVolumeSpec, and what `getPVCFromCache` and `getPVSpecFromCache` refuse;
/// TestPVCBoundWithADC.
#[test]
fn claims_must_be_bound_by_both_sides() {
    let ephemeral = |owner: &str| {
        let mut pod = pod("a", "node-1", "data");
        pod["spec"]["volumes"] = json!([{"name": "data", "ephemeral": {}}]);
        let owners = json!([{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": owner,
            "controller": true}]);
        let mut claim = claim("a-data", "pv-1");
        claim["metadata"]["ownerReferences"] = owners;
        claim["metadata"]["uid"] = json!("uid-data");
        (pod, claim, json!({"spec": {"claimRef": {"name": "a-data"}}}))
    };
    let named =
        |fields| (pod("a", "node-1", "data"), with(claim("data", "pv-1"), fields), json!({}));
    let kept =
        |fields| (pod("a", "node-1", "data"), claim("data", "pv-1"), json!({"spec": fields}));
    for ((pod, claim, volume), writes) in [
        (named(json!({})), 1),
        (named(json!({"status": {"phase": "Pending"}})), 0),
        (named(json!({"spec": {"volumeName": ""}})), 0),
        (named(json!({"metadata": {"uid": "other"}})), 0),
        (kept(json!({"claimRef": null})), 0),
        (ephemeral("uid-a"), 1),
        (ephemeral("other"), 0),
    ] {
        let mut world = world(&["ReadWriteOnce"]);
        let shown = format!("{pod} {claim} {volume}");
        world.run(&[pod]);
        world.claims.insert("data".to_owned(), claim);
        let it = world.volumes.get_mut("pv-1").unwrap();
        *it = with(it.clone(), volume);
        assert_eq!(world.settle(VOLUME), writes, "{shown}");
    }
}

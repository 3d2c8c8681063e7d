//! What must never be detached, and what must never be attached twice.

use std::time::Duration;

use super::*;

/// Attached to `node-1` for a pod that is gone, and not in use there; nothing is in the way.
fn idle() -> World {
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    world.settle(VOLUME);
    world.attacher("node-1", &json!({"attached": true}));
    world.settle(VOLUME);
    world.pods.clear();
    world
}

#[test]
fn the_row_that_all_others_change_is_detached() {
    assert_eq!(idle().settle(VOLUME), 2);
}

/// Rule: nothing is detached because a cache lacks something.
#[test]
fn what_cannot_be_seen_may_be_needed() {
    type Change = fn(&mut World);
    let rows: [(&str, Change); 8] = [
        ("its claim data is not there", |it| it.claims.clear()),
        ("its claim data names what is attached", |it| {
            it.claims.get_mut("data").unwrap()["status"]["phase"] = json!("Lost");
        }),
        ("its claim data names what is attached", |it| {
            it.volumes.get_mut("pv-1").unwrap()["spec"]["claimRef"] = json!(null);
        }),
        ("its claim data names what is attached", |it| it.volumes.clear()),
        ("its claim data names what is attached", |it| {
            it.volumes.get_mut("pv-1").unwrap()["spec"]["csi"]["volumeHandle"] = json!("h2");
        }),
        ("the node attaches its volumes itself", |it| {
            it.set_node("node-1", json!({"metadata": {"annotations": null}}));
        }),
        ("the cache has no such node", |it| drop(it.nodes.remove("node-1"))),
        ("cannot be read", |it| {
            let unreadable = it.pods.remove("b").unwrap();
            it.unreadable.push(unreadable);
        }),
    ];
    for (why, change) in rows {
        let mut world = idle();
        world.run(&[pod("b", "node-1", "data")]);
        change(&mut world);
        let plan = world.sync(VOLUME);
        assert!(plan.contains("stays attached") && plan.contains(why), "{why}: {plan}");
        assert!(plan.contains("again in 60s"), "as `findAndRemoveDeletedPods`: {plan}");
        world.uptime += Duration::from_hours(1);
        assert_eq!(world.settle(VOLUME), 0, "{why}");
    }
}

/// Rule: a claim that is bound to another volume, or a pod elsewhere, keeps nothing.
#[test]
fn what_is_known_to_be_another_keeps_nothing() {
    let mut world = idle();
    world.volumes.insert("pv-2".to_owned(), volume("pv-2", "h2", "more"));
    world.claims.insert("more".to_owned(), claim("more", "pv-2"));
    world.run(&[pod("b", "node-1", "more"), pod("c", "node-2", "gone")]);
    assert_eq!(world.settle(VOLUME), 2);
}

/// Rule: a live read decides; the cache may be stale.
#[test]
fn a_live_read_of_the_node_comes_before_each_detach() {
    let with_status = |status| Some(with(node("node-1"), json!({"status": status})));
    let rows = [
        ("it is in use by the node", with_status(json!({"volumesInUse": [VOLUME]}))),
        ("waits for the cache", with_status(json!({"volumesAttached": [{"name": VOLUME}]}))),
        ("waits for the cache", Some(with(node("node-1"), json!({"metadata": {"uid": "new"}})))),
        ("it may be in use by the node", None),
    ];
    for (why, live) in rows {
        let mut world = idle();
        world.sync(VOLUME);
        world.sync("node-1");
        let is_there = live.is_some();
        world.live.insert("node-1".to_owned(), live);
        let plan = world.sync(VOLUME);
        assert!(
            is_there && plan.contains(why) && plan.contains("again in 5s")
                || !is_there && plan.contains("in use"),
            "{why}: {plan}"
        );
        assert_eq!(world.nodes_with(), ["node-1"], "{why}");
        world.live.clear();
        assert_eq!(world.settle(VOLUME), 1, "{why}");
    }
    let mut world = idle();
    world.sync(VOLUME);
    world.sync("node-1");
    world.is_deaf = true;
    let plan = world.sync(VOLUME);
    assert!(plan.contains("error: DetachVolume failed fetching node from API server"), "{plan}");
    assert_eq!(world.nodes_with(), ["node-1"]);
}

/// Rule: force asks the live node, too: it may be ready again.
#[test]
fn a_node_that_is_ready_again_is_not_forced() {
    let mut world = idle();
    world.uses("node-1", &[VOLUME]);
    world.settle(VOLUME);
    world.uptime += Duration::from_mins(6);
    let ready = world.nodes["node-1"].clone();
    world.not_ready("node-1");
    let live = with(ready, json!({"status": {"volumesAttached": null}}));
    world.live.insert("node-1".to_owned(), Some(live));
    world.settle(VOLUME);
    assert_eq!(world.nodes_with(), ["node-1"]);
    assert!(world.attachments.values().all(|it| it["metadata"]["deletionTimestamp"].is_null()));
}

/// Upstream's `nodeDelete`: what was in use on a deleted node waits for six minutes.
#[test]
fn what_a_deleted_node_had_in_use_waits_for_six_minutes() {
    for (in_use, known, waits) in
        [(vec![VOLUME], true, true), (vec![], true, false), (vec![], false, true)]
    {
        let mut world = idle();
        world.uses("node-1", &in_use);
        let removed = world.nodes.remove("node-1").unwrap();
        if known {
            let change = controller::Change::Deleted(controller::fixture::decode(&removed));
            let fixture = world.fixture();
            let mut queue = Enqueue::default();
            changes::node(&mut world.memory, &change, &fixture.view(), &mut queue);
        }
        let writes = world.settle(VOLUME);
        assert_eq!(writes, usize::from(!waits), "{in_use:?} {known}");
        world.uptime += Duration::from_mins(6);
        assert_eq!(world.settle(VOLUME), usize::from(waits), "{in_use:?} {known}");
    }
}

/// Rule: an exclusive volume waits for whatever another node may have of it.
#[test]
fn an_exclusive_volume_waits_for_every_trace_elsewhere() {
    type Trace = fn(&mut World);
    let rows: [(&str, Trace); 4] = [
        ("an attachment that failed", |it| {
            it.attacher("node-1", &json!({"attached": false, "attachError": {"message": "no"}}));
        }),
        ("an attachment that is being deleted", |it| {
            let name = it.name("h1", "node-1");
            let ends = json!({"metadata": {"deletionTimestamp": "2024-05-01T12:00:00Z"}});
            let attachment = it.attachments.get_mut(&name).unwrap();
            *attachment = with(attachment.clone(), ends);
        }),
        ("a status", |it| {
            it.attachments.clear();
            it.uses("node-1", &[VOLUME]);
        }),
        ("an attachment with another name", |it| {
            let attachment = it.attachments.pop_first().unwrap().1;
            let other = with(attachment, json!({"metadata": {"name": "mine"}}));
            it.attachments.insert("mine".to_owned(), other);
            it.set_node("node-1", json!({"status": {"volumesAttached": null}}));
        }),
    ];
    for (what, trace) in rows {
        let mut world = idle();
        trace(&mut world);
        world.run(&[pod("b", "node-2", "data")]);
        world.settle(VOLUME);
        assert!(!world.nodes_with().contains(&"node-2"), "{what}");
    }
}

/// Rule: a pod that comes back before the attachment is deleted keeps it.
#[test]
fn a_pod_that_comes_back_ends_the_detach() {
    let mut world = idle();
    world.sync(VOLUME);
    world.sync("node-1");
    assert!(world.listed("node-1").is_empty());
    world.run(&[pod("b", "node-1", "data")]);
    assert_eq!(world.settle(VOLUME), 1);
    assert_eq!(
        (world.listed("node-1"), world.nodes_with()),
        (vec![VOLUME.to_owned()], vec!["node-1"])
    );
}

/// Rule: an attachment that others made is left alone.
#[test]
fn a_foreign_attachment_is_left_alone() {
    let mut world = world(&["ReadWriteOnce"]);
    let foreign = json!({"metadata": {"name": "mine", "uid": "u"}, "spec": {"attacher": "d.example",
        "nodeName": "node-1", "source": {"persistentVolumeName": "pv-1"}}});
    world.attachments.insert("mine".to_owned(), foreign);
    let plan = world.sync(VOLUME);
    assert!(plan.contains("mine has another name than ours would, and is left alone"), "{plan}");
    assert_eq!(world.settle(VOLUME), 0);
}

/// Rule: a volume whose PersistentVolume was deleted is still found by its attachments.
#[test]
fn the_attachments_of_a_deleted_volume_are_found() {
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    world.settle(VOLUME);
    world.pods.clear();
    let removed = world.volumes.remove("pv-1").unwrap();
    let change = controller::Change::Deleted(controller::fixture::decode(&removed));
    let fixture = world.fixture();
    let mut queue = Enqueue::default();
    changes::volume(&mut world.memory, &change, &fixture.view(), &mut queue);
    assert_eq!(controller::fixture::lines(&queue), format!("now {VOLUME}\n"));
    assert_eq!((world.settle(VOLUME), world.attachments.len()), (1, 0));
}

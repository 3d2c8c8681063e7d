//! Tables, mirroring upstream's
//! `pkg/controller/scheduling/podgroupprotection/podgroup_protection_controller_test.go`.

use std::sync::Arc;

use api::{DecodeError, Object as _};
use controller::Controller as _;
use controller::fixture::{self, Fixture, NOW, decode, enqueued, with};
use serde_json::{Value, json};

use super::*;

const RELEASED: &str = "why: no pod may run in it
in order: update podgroups.scheduling.k8s.io shop/gang metadata.finalizers=null\n";
const KEPT: &str = "why: pod shop/a may run in it\n";
const IDLE: &str = "why: it is not being deleted\n";

fn group() -> Value {
    json!({"metadata": {"name": "gang", "namespace": "shop", "uid": "g", "resourceVersion": "1"}})
}

fn protected() -> Value {
    with(group(), json!({"metadata": {"finalizers": [PodGroup::PROTECTION]}}))
}

fn deleted(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": NOW}}))
}

/// A running pod of a group.
fn pod(name: &str, group: &str) -> Value {
    with(fixture::pod(name), json!({"spec": {"schedulingGroup": {"podGroupName": group}}}))
}

fn ended(pod: Value, phase: &str) -> Value {
    with(pod, json!({"status": {"phase": phase}}))
}

fn caches(groups: &[Value], pods: &[Value]) -> Fixture {
    Fixture::default().holding::<PodGroup>(groups).holding::<Pod>(pods)
}

fn observe(fixture: &Fixture) -> Option<Snapshot> {
    Controller.observe(&Key::new("shop", "gang"), &fixture.view(), &())
}

fn plan(fixture: &Fixture) -> String {
    Controller.decide(&observe(fixture).unwrap(), &Facts::default()).0.to_string()
}

/// TestPodGroupProtectionController, TestHasActivePods.
#[test]
fn groups_are_let_go_as_upstream() {
    let done = |phase| ended(pod("b", "gang"), phase);
    let held = || deleted(protected());
    let waits = "why: it is being deleted, and waits for no pod\n";
    for (row, group, pods, expected) in [
        ("new, without finalizer", group(), vec![], IDLE),
        ("new, without finalizer, active pod", group(), vec![pod("a", "gang")], IDLE),
        ("with finalizer, not being deleted", protected(), vec![], IDLE),
        ("deleted, no active pods", held(), vec![], RELEASED),
        ("deleted, active pod", held(), vec![pod("a", "gang")], KEPT),
        ("deleted, only terminated pods", held(), vec![done("Succeeded")], RELEASED),
        ("deleted, terminated failed", held(), vec![done("Failed")], RELEASED),
        ("deleted, mix", held(), vec![pod("a", "gang"), done("Failed")], KEPT),
        ("without finalizer, deleted", deleted(group()), vec![], waits),
        (
            "without finalizer, deleted, active pods",
            deleted(group()),
            vec![pod("a", "gang")],
            waits,
        ),
        ("pods of another group", held(), vec![pod("a", "other")], RELEASED),
        // TestActivePodSchedulingGroupIndexer.
        ("pods of no group", held(), vec![fixture::pod("a")], RELEASED),
        ("deleting pods still count", held(), vec![deleted(pod("a", "gang"))], KEPT),
    ] {
        assert_eq!(plan(&caches(&[group], &pods)), expected, "{row}");
    }
    assert!(observe(&caches(&[], &[ended(pod("a", "gang"), "Failed")])).is_none());
    let unknown = caches(&[held()], &[]).holding_unreadable::<Pod>(&pod("a", "gang"), "broken");
    let expected = "why: pod shop/a cannot be read, and may run in it\n";
    assert_eq!(plan(&unknown), expected);
    let unreadable = caches(&[], &[]).holding_unreadable::<PodGroup>(&held(), "broken");
    assert_eq!(plan(&unreadable), "why: the group cannot be read: broken\n");
}

/// TestHandlePodChange. An object that another one replaces comes as a deletion and an addition.
#[test]
fn pods_enqueue_their_group_as_upstream() {
    let fixture = caches(&[deleted(protected())], &[]);
    let of = |json: &Value| decode::<Pod>(json);
    let enqueues = |change: Change<Pod>| enqueued(&Controller, &change, &fixture);
    let (running, over) = (of(&pod("a", "gang")), of(&ended(pod("a", "gang"), "Succeeded")));
    let now = "now shop/gang\n";
    assert_eq!(enqueues(Change::Deleted(running.clone())), now);
    assert_eq!(enqueues(Change::Updated { old: running.clone(), new: over.clone() }), now);
    assert_eq!(enqueues(Change::Added(over)), now);
    assert_eq!(enqueues(Change::Added(running.clone())), "");
    assert_eq!(enqueues(Change::Updated { old: running.clone(), new: running.clone() }), "");
    assert_eq!(enqueues(Change::Deleted(of(&fixture::pod("a")))), "", "of no group");
    let unknown = Pod::unreadable(running.meta.clone(), &DecodeError("broken".to_owned()));
    let unknown = Arc::new(unknown);
    assert_eq!(enqueues(Change::Deleted(unknown.clone())), now);
    assert_eq!(enqueues(Change::Updated { old: unknown, new: running }), now);
}

/// TestHandlePodGroupUpdate.
#[test]
fn groups_are_enqueued_once_they_wait() {
    let fixture = caches(&[], &[]);
    let of = |json: &Value| decode::<PodGroup>(json);
    let enqueues = |change: Change<PodGroup>| enqueued(&Controller, &change, &fixture);
    assert_eq!(enqueues(Change::Added(of(&deleted(protected())))), "now shop/gang\n");
    assert_eq!(enqueues(Change::Added(of(&protected()))), "");
    assert_eq!(enqueues(Change::Added(of(&deleted(group())))), "");
    assert_eq!(enqueues(Change::Added(of(&group()))), "");
    assert_eq!(enqueues(Change::Deleted(of(&group()))), "forget shop/gang\n");
}

#[test]
fn facts_for_an_operator() {
    let snapshot = observe(&caches(&[deleted(protected())], &[pod("a", "gang")])).unwrap();
    let facts: Vec<_> = Controller.summary(&snapshot).into_iter().map(|(_, fact)| fact).collect();
    assert_eq!(facts, ["true", PodGroup::PROTECTION, "pod shop/a may run in it"]);
}

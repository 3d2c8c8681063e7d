//! ControllerRevisions. The bytes of their data are tested where they are made.

use api::{ControllerRevision, DaemonSet, Key, Kind};
use controller::fixture::with;
use controller::{Answer, Controller as _, Facts, Query};
use serde_json::{Value, json};

use super::world::World;
use super::*;

fn by(world: &World, name: &str) -> Value {
    world.revisions[name].clone()
}

/// A world with one node whose pod is there; the name of the only revision.
fn running() -> (World, String) {
    let mut world = world(&set(), 1);
    assert_eq!(world.counts(), (1, 0, 0));
    let name = world.revisions.keys().next().unwrap().clone();
    (world, name)
}

/// Another revision with the data of a known one.
fn copy(revision: &Value, name: &str, number: i64) -> Value {
    let meta = json!({"name": name, "uid": format!("uid-{name}"), "resourceVersion": "7",
        "labels": {"controller-revision-hash": format!("hash-{name}")}});
    with(revision.clone(), json!({"metadata": meta, "revision": number}))
}

/// A revision of another template.
fn other(revision: &Value, name: &str, number: i64) -> Value {
    let mut other = copy(revision, name, number);
    other["data"]["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
    other
}

fn text(world: &World) -> String {
    world.plan().to_string()
}

const REST: &str = "why: each node has the pods that it should have\n";
const TIDIED: &str = "why: the revisions are tidied; each node has the pods that it should have\n";

#[test]
fn the_first_revision_is_made_before_the_first_pods() {
    let annotations = json!({"a": "b"});
    let mut world = world(&with(set(), json!({"metadata": {"annotations": annotations}})), 1);
    let hash = world.hash();
    world.sync();
    let name = format!("foo-{}", hash.as_str().unwrap());
    let revision = by(&world, &name);
    let template = json!({
        "$patch": "replace",
        "metadata": {"labels": {"name": "simple-daemon"}},
        "spec": {"containers": [{"name": "main", "image": "foo/bar"}]},
    });
    let want = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": name, "namespace": "shop", "annotations": annotations,
            "labels": {"name": "simple-daemon", "controller-revision-hash": hash},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "foo",
                "uid": "u1", "controller": true, "blockOwnerDeletion": true}],
            "resourceVersion": revision["metadata"]["resourceVersion"],
            "uid": revision["metadata"]["uid"],
        },
        "data": {"spec": {"template": template}},
        "revision": 1,
    });
    assert_eq!(revision, want);
    let pod = world.pods.values().next().unwrap();
    assert_eq!(pod["metadata"]["labels"]["controller-revision-hash"], hash);
    assert_eq!(text(&world), REST);
}

#[test]
fn a_new_template_gets_a_higher_number_and_the_old_one_its_highest_again() {
    let (mut world, first) = running();
    world.set = image(world.set.clone(), "foo/new");
    world.sync();
    let second = world.revisions.keys().find(|name| **name != first).unwrap().clone();
    assert_eq!(by(&world, &second)["revision"], 2);
    world.set = set();
    assert_eq!(
        text(&world),
        format!("{TIDIED}in order: update controllerrevisions.apps shop/{first} revision=3\n")
    );
    world.sync();
    assert_eq!((by(&world, &first)["revision"].clone(), text(&world)), (json!(3), REST.to_owned()));
}

/// As `constructHistory` does for revisions that were made by old versions.
#[test]
fn a_revision_without_the_label_gets_its_name_as_label() {
    let (mut world, name) = running();
    let bare = with(
        by(&world, &name),
        json!({"metadata": {"labels": {"controller-revision-hash": null}}}),
    );
    world.put_revision(bare);
    assert_eq!(
        text(&world),
        format!(
            "{TIDIED}in order: update controllerrevisions.apps shop/{name} \
             metadata.labels.controller-revision-hash=\"{name}\"\n"
        )
    );
}

/// TestDSCUpdatesPodLabelAfterDedupCurHistories.
#[test]
fn of_equal_revisions_the_highest_stays_and_gets_the_pods() {
    let (mut world, name) = running();
    world.put_revision(copy(&by(&world, &name), "foo-double", 5));
    world.put_node(node("node-1"));
    world.put_pod(with_hash(own("older", "node-1"), &json!("of-an-old-template")));
    let mine = world.pods.keys().find(|name| *name != "older").unwrap().clone();
    assert_eq!(
        text(&world),
        format!(
            "{TIDIED}together: patch pods shop/{mine} {{\"metadata\":{{\"labels\":\
             {{\"controller-revision-hash\":\"hash-foo-double\"}},\"uid\":\"uid-{mine}\"}}}}\n\
             in order: delete controllerrevisions.apps shop/{name}\n"
        )
    );
    assert!(world.sync().reported);
    assert_eq!(world.set["status"]["updatedNumberScheduled"], 1, "it is of the present template");
    assert_eq!(world.revisions.keys().collect::<Vec<_>>(), ["foo-double"]);
    let label =
        |pod: &str| world.pods[pod]["metadata"]["labels"]["controller-revision-hash"].clone();
    assert_eq!(label(&mine), "hash-foo-double");
    // Upstream's would count as updated from now on.
    assert_eq!(label("older"), "of-an-old-template");
}

/// A pod whose label is to follow that of its revision is no old one meanwhile.
#[test]
fn pods_of_equal_revisions_are_not_replaced() {
    let (mut world, name) = running();
    world.each_pod(|pod| ready_for(pod, 3600));
    world.put_revision(copy(&by(&world, &name), "foo-double", 5));
    world.set = unavailable(world.set.clone(), &json!(1));
    assert_eq!(world.counts(), (0, 0, 0));
    assert_eq!(text(&world), REST);
}

/// A webhook may undo what is written to revisions, each time: that is asked for again, and all
/// else continues.
#[test]
fn what_does_not_stick_to_a_revision_stops_nothing() {
    let plain = |world: &mut World, name: &str| {
        let bare = json!({"metadata": {"labels": {"controller-revision-hash": null}}});
        world.put_revision(with(by(world, name), bare));
    };
    let old_number = |world: &mut World, name: &str| {
        world.put_revision(with(by(world, name), json!({"revision": 1})));
    };
    for what in ["label", "number"] {
        let undo = |world: &mut World, name: &str| match what {
            "label" => plain(world, name),
            _ => old_number(world, name),
        };
        let (mut world, name) = running();
        world.set = unavailable(world.set.clone(), &json!(1));
        world.put_revision(other(&by(&world, &name), "foo-other", 1));
        undo(&mut world, &name);
        world.put_node(node("node-1"));
        let done = world.sync();
        assert_eq!((done.counts.0, done.reported), (1, true), "{what}: a node gets its pod");
        for _ in 0..6 {
            world.each_pod(|pod| ready_for(pod, 3600));
            undo(&mut world, &name);
            world.sync();
        }
        undo(&mut world, &name);
        let plan = world.plan();
        assert_eq!(plan.actions(), 1, "{what}: all pods are of the present template: {plan}");
        let update = format!("in order: update controllerrevisions.apps shop/{name} ");
        assert!(plan.to_string().contains(&update), "{what}: {plan}");
        assert_eq!(world.set["status"]["updatedNumberScheduled"], 2, "{what}");
    }
}

/// One write with all that a revision needs.
#[test]
fn a_revision_is_written_once() {
    let (mut world, name) = running();
    world.put_revision(other(&by(&world, &name), "foo-other", 4));
    let bare = json!({"metadata": {"labels": {"controller-revision-hash": null}}});
    world.put_revision(with(by(&world, &name), bare));
    assert_eq!(
        text(&world),
        format!(
            "{TIDIED}in order: update controllerrevisions.apps shop/{name} \
             metadata.labels.controller-revision-hash=\"{name}\" revision=5\n"
        )
    );
}

/// TestLaunchWithHashCollision.
#[test]
fn a_name_that_another_template_has_raises_the_collision_count() {
    let (mut world, first) = running();
    world.set = image(world.set.clone(), "foo/new");
    let taken = format!("foo-{}", world.hash().as_str().unwrap());
    let foreign = json!({"metadata": {"ownerReferences": [{"apiVersion": "apps/v1",
        "kind": "DaemonSet", "name": "x", "uid": "x", "controller": true}]}});
    world.put_revision(with(other(&by(&world, &first), &taken, 9), foreign));
    let done = world.sync();
    assert_eq!((done.counts, done.reported), ((0, 0, 0), false));
    assert_eq!(
        done.plan.to_string(),
        format!(
            "why: the template has no revision yet\n\
             in order: update daemonsets.apps shop/foo status status.collisionCount=1\n\
             error: failed to construct revisions of DaemonSet: controllerrevisions.apps \
             \"{taken}\" already exists, of another template\n"
        )
    );
    assert_eq!(world.set["status"]["collisionCount"], 1);
    world.sync();
    let made = format!("foo-{}", world.hash().as_str().unwrap());
    assert!(made != taken && world.revisions.contains_key(&made), "{made}");
    // The next status keeps the count.
    assert_eq!(world.set["status"]["collisionCount"], 1);
}

fn found(object: &Value) -> Answer {
    let bytes = object.to_string().into_bytes();
    let meta = api::Meta::decode(api::Codec::Json, &bytes).unwrap();
    Answer::Found(Box::new((meta, api::Raw::parse(&bytes).unwrap())))
}

#[test]
fn what_the_live_reads_say_of_a_taken_name_decides() {
    let (mut world, first) = running();
    let revision = by(&world, &first);
    world.revisions.clear();
    let name = Query::object(ControllerRevision::RESOURCE, Key::new("shop", &first));
    let owner = Query::object(DaemonSet::RESOURCE, Key::new("shop", "foo"));
    let fetch = |what: &str| format!("fetch {what}\n");
    let failed = "error: failed to construct revisions of DaemonSet: ";
    let taken = || (name.clone(), found(&other(&revision, &first, 1)));
    let counted = with(world.set.clone(), json!({"status": {"collisionCount": 4}}));
    let recreated = with(world.set.clone(), json!({"metadata": {"uid": "u2"}}));
    let rows: Vec<(&str, Vec<_>, String)> = vec![
        ("not asked", vec![], fetch(&format!("controllerrevisions.apps shop/{first}"))),
        (
            "nobody has it",
            vec![(name.clone(), Answer::NotFound)],
            "create controllerrevisions.apps in shop\n".to_owned(),
        ),
        // "Check if we already created it"
        ("the same data", vec![(name.clone(), found(&revision))], REST.to_owned()),
        ("unknown", vec![(name.clone(), Answer::Failed("boom".into()))], format!("{failed}boom\n")),
        ("other data", vec![taken()], fetch("daemonsets.apps shop/foo")),
        (
            "the cached count is old",
            vec![taken(), (owner.clone(), found(&counted))],
            format!(
                "{failed}found a stale collision count (None, expected Some(4)) of DaemonSet \
                 \"foo\" while processing; will retry until it is updated\n"
            ),
        ),
        (
            "another set",
            vec![taken(), (owner.clone(), found(&recreated))],
            "will retry until it is updated\n".to_owned(),
        ),
        (
            "the set is deleted",
            vec![taken(), (owner.clone(), Answer::NotFound)],
            format!("{failed}daemonsets.apps \"foo\" not found\n"),
        ),
        (
            "the set is unknown",
            vec![taken(), (owner, Answer::Failed("bang".into()))],
            format!("{failed}bang\n"),
        ),
    ];
    for (name, facts, want) in rows {
        let facts = facts.into_iter().collect::<Facts>();
        let text = world.controller.decide(&world.snapshot(), &facts).0.to_string();
        assert!(text.ends_with(&want), "{name}: {text}");
    }
}

/// TestControlledHistories, and the claims of upstream's history.
#[test]
fn revisions_are_adopted_and_released_by_the_selector() {
    let (mut world, name) = running();
    let revision = by(&world, &name);
    let orphan = json!({"metadata": {"ownerReferences": null}});
    let elsewhere = json!({"metadata": {"ownerReferences": null, "namespace": "other"}});
    let relabelled = json!({"metadata": {"labels": {"name": "x"}}});
    world.put_revision(with(other(&revision, "foo-orphan", 2), orphan.clone()));
    world.put_revision(with(other(&revision, "foo-elsewhere", 2), elsewhere));
    world.put_revision(with(other(&revision, "foo-released", 2), relabelled.clone()));
    world.put_revision(with(with(other(&revision, "foo-stranger", 2), orphan), relabelled));
    let text = text(&world);
    assert!(text.starts_with("why: 1 to adopt, 1 to release; "), "{text}");
    assert!(text.contains("patch controllerrevisions.apps shop/foo-orphan "), "{text}");
    assert!(text.contains("patch controllerrevisions.apps shop/foo-released "), "{text}");
    world.sync();
    assert!(world.snapshot().revisions.is_done());
}

/// TestDontDoAnythingIfBeingDeletedRace.
#[test]
fn nothing_is_adopted_for_a_set_that_is_being_deleted_meanwhile() {
    let mut world = world(&set(), 1);
    world.put_pod(with(own("p", "node-0"), json!({"metadata": {"ownerReferences": null}})));
    let snapshot = world.snapshot();
    world.set = deleted(world.set.clone());
    let text = world.decide(&snapshot).to_string();
    assert!(text.starts_with("why: 1 to adopt, 0 to release\nerror: can't adopt Pod"), "{text}");
}

#[test]
fn a_revision_that_cannot_be_read_stops_everything() {
    let (mut world, name) = running();
    let broken = with(by(&world, &name), json!({"revision": 1}));
    world.put_revision(broken);
    let mut snapshot = world.snapshot();
    let mut revision = (*snapshot.revisions.mine[0]).clone();
    revision.unreadable = Some(api::DecodeError("x".into()));
    snapshot.revisions.mine = vec![revision.into()];
    let plan = world.decide(&snapshot);
    assert_eq!(plan.to_string(), format!("why: ControllerRevision {name} cannot be read\n"));
    assert!(world.controller.report(&snapshot, None, &controller::Outcome::default()).is_none());
}

/// As `cleanupHistory`.
#[test]
fn old_revisions_beyond_the_limit_go_unless_a_pod_is_made_from_them() {
    let (mut world, name) = running();
    let revision = by(&world, &name);
    for (name, number) in [("foo-c", 3), ("foo-a", 4), ("foo-b", 1), ("foo-d", 2)] {
        world.put_revision(other(&revision, name, number));
    }
    world.put_revision(with(revision, json!({"revision": 5})));
    let limited = |limit: i32| with(set(), json!({"spec": {"revisionHistoryLimit": limit}}));
    let delete = |names: &[&str]| {
        let line = |name: &&str| format!("in order: delete controllerrevisions.apps shop/{name}\n");
        format!("{REST}{}", names.iter().map(line).collect::<String>())
    };
    world.set = limited(4);
    assert_eq!(text(&world), REST);
    world.set = limited(2);
    assert_eq!(text(&world), delete(&["foo-b", "foo-d"]));
    // A pod that has ended and is being deleted keeps its revision too.
    let ended = deleted(phase(own("ended", "node-0"), "Failed"));
    world.put_pod(with_hash(ended, &json!("hash-foo-b")));
    assert_eq!(text(&world), delete(&["foo-d", "foo-c"]));
    world.set = limited(0);
    assert_eq!(text(&world), delete(&["foo-d", "foo-c", "foo-a"]));
}

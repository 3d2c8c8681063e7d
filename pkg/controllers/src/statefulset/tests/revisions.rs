//! ControllerRevisions. The bytes of their data are tested where they are made.

use api::ControllerRevision;
use controller::Controller as _;
use controller::fixture::{decode, with};
use controller::history::{self, Numbers};
use serde_json::json;
use serde_json::value::RawValue;

use super::super::semantic;
use super::world::World;
use super::*;

fn first(world: &World) -> String {
    world.revisions.keys().next().unwrap().clone()
}

/// TestStatefulSetControl_getSetRevisions: creates initial revision, creates revision on update,
/// must not recreate a new revision of same set, must rollback to a previous revision; and
/// TestStatefulSetControlRollback.
#[test]
fn a_template_has_one_revision_and_the_last_number() {
    let mut world = World::settled(bare(set(1)));
    let mut seen = vec![first(&world)];
    assert_eq!(world.revisions[&seen[0]]["revision"], 1);
    let update = |world: &World| world.set["status"]["updateRevision"].as_str().unwrap().to_owned();
    for (image_name, number) in [("foo", 2), ("other", 3)] {
        world.set = image(&world.set, image_name);
        world.settle();
        seen.push(update(&world));
        assert_eq!(world.revisions[seen.last().unwrap()]["revision"], number);
    }
    world.set = image(&world.set, "foo");
    let renumbers =
        format!("in order: update controllerrevisions.apps shop/{} revision=4\n", seen[1]);
    assert!(world.plan().to_string().contains(&renumbers));
    world.settle();
    assert_eq!((world.revisions.len(), update(&world)), (3, seen[1].clone()));
    assert_eq!(world.image("foo-0"), "foo");
}

/// As `newRevision` and `NewControllerRevision`.
#[test]
fn a_revision_is_as_upstream_makes_it() {
    let annotations = json!({"a": "b"});
    let mut world = World::new(with(set(1), json!({"metadata": {"annotations": annotations}})));
    world.sync();
    let (name, revision) = world.revisions.first_key_value().unwrap();
    let hash = revision["metadata"]["labels"]["controller.kubernetes.io/hash"].as_str().unwrap();
    assert_eq!(*name, format!("foo-{hash}"));
    assert_eq!(revision["metadata"]["annotations"], annotations);
    assert_eq!(revision["metadata"]["labels"]["foo"], "bar");
    assert_eq!(revision["metadata"]["ownerReferences"][0]["uid"], "test");
    assert_eq!(revision["data"]["spec"]["template"]["$patch"], "replace");
}

/// TestAdoptOrphanRevisions; those that are managed and not selected are left alone.
#[test]
fn orphans_are_adopted_before_all_else() {
    let mut world = World::settled(bare(set(1)));
    let name = first(&world);
    let revision = world.revisions.get_mut(&name).unwrap();
    *revision = with(revision.take(), json!({"metadata": {"ownerReferences": null}}));
    let plan = world.plan().to_string();
    assert!(plan.starts_with("why: 1 to adopt, 0 to release; each pod is there"), "{plan}");
    assert!(plan.contains(&format!("patch controllerrevisions.apps shop/{name}")), "{plan}");
    world.sync();
    assert_eq!(world.sync(), REST);

    let revision = world.revisions.get_mut(&name).unwrap();
    *revision = with(revision.take(), json!({"metadata": {"labels": {"foo": "other"}}}));
    let plan = world.plan().to_string();
    assert!(!plan.contains("release"), "{plan}");
    assert!(!plan.contains("patch"), "{plan}");
}

/// `CreateControllerRevision`: a name that is taken by other data raises the number of collisions,
/// which the status carries; the label is still the first hash.
#[test]
fn a_name_that_is_taken_is_followed_by_another_one() {
    let mut other = World::new(bare(set(1)));
    other.sync();
    let name = first(&other);
    let mut world = World::new(bare(set(1)));
    let meta = json!({"name": name, "namespace": "shop", "uid": "r", "resourceVersion": "3"});
    let foreign = json!({"metadata": meta, "data": {"spec": {}}, "revision": 1});
    world.revisions.insert(name.clone(), foreign);
    world.sync();
    let made = world.revisions.keys().find(|it| **it != name).unwrap().clone();
    assert_eq!(world.set["status"]["collisionCount"], 1);
    assert_eq!(world.set["status"]["updateRevision"], json!(made));
    let hash = &world.revisions[&made]["metadata"]["labels"]["controller.kubernetes.io/hash"];
    assert_eq!(format!("foo-{}", hash.as_str().unwrap()), name);
}

/// TestStatefulSetHonorRevisionHistoryLimit, TestStatefulSetControlLimitsHistory.
#[test]
fn former_revisions_are_kept_up_to_a_limit() {
    for (limit, kept) in [(2, 3), (0, 1), (-1, 6)] {
        let mut world = World::settled(bare(set(1)));
        world.set = with(world.set.clone(), json!({"spec": {"revisionHistoryLimit": limit}}));
        for number in 0..5 {
            world.set = image(&world.set, &format!("image-{number}"));
            world.settle();
        }
        world.settle();
        assert_eq!(world.revisions.len(), kept, "limit {limit}");
        let update = &world.set["status"]["updateRevision"];
        assert!(world.revisions.contains_key(update.as_str().unwrap()));
    }
}

/// What pods are made from counts as live.
#[test]
fn a_revision_that_a_pod_is_made_from_stays() {
    let set = rolling(bare(set(2)), &json!({"partition": 1}));
    let mut world = World::settled(with(set, json!({"spec": {"revisionHistoryLimit": 0}})));
    for number in 0..3 {
        world.set = image(&world.set, &format!("image-{number}"));
        world.settle();
    }
    world.settle();
    assert_eq!(world.revisions.len(), 2);
    assert_eq!((world.image("foo-0"), world.image("foo-1")), ("nginx", "image-2"));
}

/// `getStatefulSetRevisions`: a revision that the status names and that is gone.
#[test]
fn without_its_current_revision_a_set_goes_on_with_the_new_one() {
    let mut world = World::settled(rolling(bare(set(2)), &json!({"partition": 2})));
    let old = first(&world);
    world.set = image(&world.set, "new");
    world.settle();
    world.revisions.remove(&old);
    world.pods.remove("foo-0");
    world.settle();
    assert_eq!(world.image("foo-0"), "new");
    assert_eq!(world.set["status"]["currentRevision"], world.set["status"]["updateRevision"]);
}

#[test]
fn a_set_with_a_revision_that_cannot_be_read_is_left_alone() {
    let mut world = World::settled(bare(set(1)));
    world.pods.clear();
    let (name, revision) = world.revisions.first_key_value().unwrap();
    let fixture = world.fixture().holding_unreadable::<ControllerRevision>(revision, "odd");
    let snapshot = DEFAULT.observe(&Key::parse("shop/foo"), &fixture.view(), &()).unwrap();
    let (plan, course) = DEFAULT.plan(&snapshot, &Facts::default());
    assert_eq!(plan.to_string(), format!("why: ControllerRevision {name} cannot be read\n"));
    assert_eq!(course, None);
}

/// A template as the API server shows it today.
fn today() -> Value {
    json!({
        "metadata": {"annotations": {"test": "value"}, "labels": {"app": "foo"}},
        "spec": {
            "containers": [{"image": "test", "imagePullPolicy": "Always", "name": "test",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "readinessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
                    "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1,
                    "failureThreshold": 3},
                "resources": {}, "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File"}],
            "volumes": [{"name": "c", "configMap": {"name": "c", "defaultMode": 420}},
                {"name": "e", "emptyDir": {}}],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        },
    })
}

fn is_same(stored: &Value, today: &Value) -> bool {
    let data = json!({"spec": {"template": with(stored.clone(), json!({"$patch": "replace"}))}});
    let meta = json!({"name": "r", "namespace": "shop", "uid": "r", "resourceVersion": "3"});
    let revision =
        decode::<ControllerRevision>(&json!({"metadata": meta, "data": data, "revision": 1}));
    let spec = RawValue::from_string(json!({"template": today}).to_string()).unwrap();
    semantic::is_same(&revision, &history::data(Some(&spec), Numbers::Float).unwrap())
}

/// TestStatefulSetCompatibility: what Kubernetes 1.33 wrote, and what one that knew no defaults
/// would have.
#[test]
fn the_last_revision_stays_if_it_lacks_but_defaults() {
    let today = today();
    assert!(is_same(&today, &today));
    let mut old = today.clone();
    old["metadata"]["creationTimestamp"] = Value::Null;
    assert!(is_same(&old, &today));
    old["spec"]["containers"][0] = json!({"image": "test", "name": "test",
        "ports": [{"containerPort": 80}], "readinessProbe": {"httpGet": {"port": 80}}});
    old["spec"]["volumes"] = json!([{"name": "c", "configMap": {"name": "c"}}, {"name": "e"}]);
    for field in ["dnsPolicy", "schedulerName", "terminationGracePeriodSeconds"] {
        old["spec"].as_object_mut().unwrap().remove(field);
    }
    assert!(is_same(&old, &today));
    assert!(!is_same(&with(old.clone(), json!({"spec": {"dnsPolicy": "Default"}})), &today));
    for (image, is_always) in [
        ("test:latest", true),
        ("host:5000/test", true),
        ("test:1", false),
        ("test@sha256:0", false),
        ("host:5000/test:1", false),
    ] {
        let (mut old, mut today) = (old.clone(), today.clone());
        old["spec"]["containers"][0]["image"] = json!(image);
        today["spec"]["containers"][0]["image"] = json!(image);
        assert_eq!(is_same(&old, &today), is_always, "{image}");
    }
}

/// Whoever swaps the managers after an upgrade must not see pods roll.
#[test]
fn what_an_older_kubernetes_wrote_rolls_no_pod() {
    let mut world = World::settled(bare(set(2)));
    let name = first(&world);
    let template = &mut world.revisions.get_mut(&name).unwrap()["data"]["spec"]["template"];
    template["metadata"]["creationTimestamp"] = Value::Null;
    // What the set says today has the defaults.
    let fields = json!({"dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
        "schedulerName": "default-scheduler", "securityContext": {},
        "terminationGracePeriodSeconds": 30});
    let container = json!({"resources": {}, "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
    let spec = &mut world.set["spec"]["template"]["spec"];
    *spec = with(spec.take(), fields);
    let known = &mut spec["containers"][0];
    *known = with(known.take(), container);
    spec["volumes"][0]["hostPath"]["type"] = json!("");
    assert_eq!(world.sync(), REST);
    world.controller.comparison = Comparison::Bytes;
    assert!(world.sync().contains("deleting pod foo-1"), "the gate is off");
}

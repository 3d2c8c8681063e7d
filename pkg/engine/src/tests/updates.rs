//! Writes of whole objects in a plan: their precondition, their failures, and waiting for their own
//! event.

use api::{Edit, Key, Kind, Raw, ReplicaSet};
use cache::fixture::{Call, run};
use controller::{Action, Content, ObjectRef, Plan, Retry, Step, Tolerated, Update, Verb, Write};
use serde_json::{Value, json};

use super::steps::create;
use super::world::{Log, SETS, World, accept, body, make, refuse, set, with};

const CHANGED: &str =
    "the object has been modified; please apply your changes to the latest version";

/// `web` as it is at first.
fn web() -> ObjectRef {
    let (key, uid) = (Key::new("shop", "web"), "uid-web".into());
    ObjectRef { resource: ReplicaSet::RESOURCE, key, uid, resource_version: 1 }
}

/// The same with these edits.
fn update(edits: &[Edit]) -> Write {
    let raw = Raw::parse(set(1, 0, 0).to_string().as_bytes()).unwrap();
    Write::update(web(), raw, edits.to_vec())
}

/// Scales it, and then creates a pod.
fn scale_then_create(scale: Write) -> impl Fn() -> Plan + Send + Sync + 'static {
    move || in_order(&[scale.clone().into(), create("a")])
}

fn in_order(actions: &[Action]) -> Plan {
    Plan::one("in order", Step::InOrder(actions.to_vec()))
}

/// One that is scaled, and then has a pod.
async fn scaling() -> (World, Log, Call) {
    let plan = scale_then_create(update(&[Edit::new(["spec", "replicas"], json!(3))]));
    let (mut world, log) = World::probe(move |_, _| plan()).await;
    let put = world.server.find("PUT", &format!("{SETS}/web")).await;
    (world, log, put)
}

fn written(put: &Call, version: u64) -> Value {
    with(body(put), json!({"metadata": {"resourceVersion": version.to_string()}}))
}

/// The version that was decided on, the edits, and every other field unchanged; `null` removes a
/// field.
#[test]
fn an_update_is_the_object_with_its_edits() {
    run(async {
        let edits = [
            Edit::new(["spec", "replicas"], json!(3)),
            Edit::new(["metadata", "annotations", "example.com/note"], json!("new")),
            Edit::new(["status"], Value::Null),
        ];
        let action = update(&edits).into();
        let (mut world, _log) =
            World::probe(move |_, _| in_order(std::slice::from_ref(&action))).await;
        let put = world.server.find("PUT", &format!("{SETS}/web")).await;
        let meta = json!({"annotations": {"example.com/note": "new"}});
        let expected = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta,
            "spec": {"replicas": 3}, "status": null});
        assert_eq!(body(&put), with(set(1, 0, 0), expected));
        world.quiet().await;
    });
}

#[test]
fn an_update_of_a_subresource_is_sent_there() {
    run(async {
        let edits = [Edit::new(["status", "replicas"], json!(7))];
        let action = update(&edits).at("status").into();
        let (mut world, _log) =
            World::probe(move |_, _| in_order(std::slice::from_ref(&action))).await;
        let put = world.put().await;
        assert_eq!(put.line(), format!("PUT {SETS}/web/status"));
        assert_eq!(body(&put)["status"]["replicas"], 7);
        world.quiet().await;
    });
}

/// A subresource's own object is sent there unchanged; the event of the parent object is awaited
/// all the same.
#[test]
fn another_object_is_sent_to_its_subresource() {
    run(async {
        let scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {"name": "web", "namespace": "shop", "uid": "uid-web",
                "resourceVersion": "1"},
            "spec": {"replicas": 3}});
        let content = Content::Other(scale.to_string().into());
        let verb = Verb::Update(Update { content, retry: Retry::Never });
        let write = Write { verb, ..update(&[]) }.at("scale");
        let (mut world, log) = World::probe(move |_, _| in_order(&[write.clone().into()])).await;
        let put = world.server.find("PUT", &format!("{SETS}/web/scale")).await;
        assert_eq!(put.line(), format!("PUT {SETS}/web/scale"));
        assert_eq!(body(&put), scale);
        accept(put, &with(scale, json!({"metadata": {"resourceVersion": "12"}}))).await;
        world.settle().await;
        assert_eq!(log.take()[2], "0 report done web");

        world.sets.modified(&set(11, 0, 0)).await;
        world.quiet().await;
        assert_eq!(log.take(), Vec::<String>::new(), "not even reported");
        world.sets.modified(&set(12, 3, 0)).await;
        let _again = world.server.find("PUT", &format!("{SETS}/web/scale")).await;
    });
}

/// The following writes of the step are done, nothing is awaited, and the key is not retried: the
/// event of the other version enqueues it.
#[test]
fn a_tolerated_conflict_is_no_failure() {
    run(async {
        let scale = update(&[Edit::new(["spec", "replicas"], json!(3))]);
        let plan = scale_then_create(scale.tolerating(&[Tolerated::Conflict]));
        let (mut world, log) = World::probe(move |_, _| plan()).await;
        let put = world.server.find("PUT", &format!("{SETS}/web")).await;
        refuse(put, 409, "Conflict", CHANGED).await;
        let made = make(world.post().await, "a", 11).await;
        world.settle().await;
        assert_eq!(log.take()[2], "0 report done web");
        world.quiet().await;

        world.pods.added(&made).await;
        world.sets.modified(&set(12, 0, 0)).await;
        let put = world.server.find("PUT", &format!("{SETS}/web")).await;
        // Any other failure is one.
        refuse(put, 422, "Invalid", CHANGED).await;
        world.settle().await;
        let lines = log.take();
        assert!(lines.iter().any(|line| line.contains(&format!("report {CHANGED}"))), "{lines:?}");
        assert_eq!(world.retries(), 1);
    });
}

/// A conflict is an error as any other: nothing is written to the live object, the following writes
/// are skipped, and the key is retried with back-off.
#[test]
fn a_conflict_fails_the_sync() {
    for (code, reason) in [(409, "Conflict"), (404, "NotFound"), (422, "Invalid")] {
        run(async {
            let (mut world, log, put) = scaling().await;
            refuse(put, code, reason, CHANGED).await;
            let failed = world.instant();
            let put = world.server.find("PUT", &format!("{SETS}/web")).await;
            assert_eq!((put.at - failed).as_millis(), 5, "the first back-off");
            assert_eq!(body(&put)["metadata"]["resourceVersion"], "1");
            assert_eq!(log.take()[2], format!("0 report {CHANGED} web"));
            world.quiet().await;
        });
    }
}

/// As a status write: until the cache shows its version, nothing is done for the key.
#[test]
fn the_key_waits_for_its_own_event() {
    run(async {
        let (mut world, log, put) = scaling().await;
        let after = written(&put, 12);
        accept(put, &after).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.pods.bookmark(11).await;
        world.settle().await;
        log.take();

        world.sets.modified(&set(11, 0, 0)).await;
        world.quiet().await;
        assert_eq!(log.take(), Vec::<String>::new(), "not even reported");
        world.sets.modified(&after).await;
        let _again = world.server.find("PUT", &format!("{SETS}/web")).await;
    });
}

/// The own event comes before the response: nothing is awaited.
#[test]
fn the_own_event_is_early() {
    run(async {
        let (mut world, _log, put) = scaling().await;
        let after = written(&put, 12);
        world.sets.modified(&after).await;
        world.quiet().await;
        accept(put, &after).await;
        refuse(world.post().await, 403, "Forbidden", "quota").await;
        let _again = world.server.find("PUT", &format!("{SETS}/web")).await;
    });
}

/// An edit below a field that is not an object: nothing is sent, and the error says what is wrong.
#[test]
fn an_impossible_edit_is_an_error() {
    run(async {
        let action = update(&[Edit::new(["spec", "replicas", "more"], json!(1))]).into();
        let (mut world, log) =
            World::probe(move |_, _| in_order(std::slice::from_ref(&action))).await;
        world.settle().await;
        let lines = log.take();
        assert!(lines[2].contains("report") && lines[2].contains("invalid type"), "{lines:?}");
        assert!(world.server.under_way().await.is_empty());
    });
}

/// An unreadable response: the update was done, but its version is unknown.
#[test]
fn an_unreadable_answer_is_an_error() {
    run(async {
        let (mut world, log, put) = scaling().await;
        put.reply(200, "{").await;
        world.settle().await;
        assert!(log.take()[2].starts_with("0 report "));
        world.finds(&format!("{SETS}/web"), &[set(1, 0, 0)]).await;
        let _again = world.server.find("PUT", &format!("{SETS}/web")).await;
        world.quiet().await;
    });
}

/// An update whose response is lost is ambiguous: the object is read, and until the cache shows its
/// state nothing is decided. Otherwise a Deployment would give the pods to another ReplicaSet
/// although this one has them already.
#[test]
fn answer_lost() {
    run(async {
        let (mut world, log, put) = scaling().await;
        let after = written(&put, 12);
        refuse(put, 503, "ServiceUnavailable", "the server is going down").await;
        world.finds(&format!("{SETS}/web"), std::slice::from_ref(&after)).await;
        world.settle().await;
        log.take();
        world.quiet().await;
        assert_eq!(log.take(), Vec::<String>::new(), "not even reported");
        world.sets.modified(&after).await;
        let put = world.server.find("PUT", &format!("{SETS}/web")).await;
        put.reset();
        world.finds(&format!("{SETS}/web"), &[after]).await;
        let _again = world.server.find("PUT", &format!("{SETS}/web")).await;
        world.quiet().await;
    });
}

/// Writes are counted, updates too.
#[test]
fn updates_are_counted() {
    run(async {
        let (world, _log, put) = scaling().await;
        refuse(put, 409, "Conflict", CHANGED).await;
        world.settle().await;
        let labels = ["test-controller", "update", "replicasets.apps", "409"];
        assert_eq!(world.metrics.writes.with_label_values(&labels).get(), 1);
    });
}

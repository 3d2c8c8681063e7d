//! Tables, mirroring upstream's `pkg/controller/namespace/deletion`, and passes over a namespace.

mod conditions;
mod content;
mod discovery;
mod upstream;
mod world;

use api::{DecodeError, Object as _, Raw};
use controller::fixture::{Fixture, ago, decode, enqueued, with};
use controller::{Answer, Change, Controller as _, Facts, Query};
use serde_json::{Value, json};

use super::*;
use world::{Synced, World, always, held, object, once};

/// A namespace as a cache holds it.
fn namespace(patch: Value) -> Value {
    with(World::new().namespace.unwrap(), patch)
}

fn not_terminating() -> Value {
    json!({"metadata": {"deletionTimestamp": null}})
}

/// What a sync that writes nothing came to.
fn rested(synced: &Synced) -> String {
    assert_eq!(synced.failed, None);
    synced.plan.to_string()
}

/// The reads that every pass begins with.
const START: [&str; 3] = ["GET shop", "DISCOVER", "LIST pods."];

/// `enqueueNamespace`: a deletion is left alone for `namespaceDeletionGracePeriod`, and nothing
/// else matters. What is deleted is forgotten, which reads nothing.
#[test]
fn a_namespace_that_is_being_deleted_is_looked_at_after_five_seconds() {
    let terminating = decode::<Namespace>(&namespace(json!({})));
    let active = decode::<Namespace>(&namespace(not_terminating()));
    // The phase alone says nothing.
    let marked = json!({"status": {"phase": "Active"}});
    let unmarked = decode::<Namespace>(&namespace(marked));
    let updated =
        |old: &_, new: &_| Change::Updated { old: Clone::clone(old), new: Clone::clone(new) };
    for (change, expected) in [
        (Change::Added(active.clone()), ""),
        (Change::Added(terminating.clone()), "after 5s shop\n"),
        (Change::Added(unmarked), "after 5s shop\n"),
        (updated(&active, &active), ""),
        (updated(&active, &terminating), "after 5s shop\n"),
        // In a resync.
        (updated(&terminating, &terminating), "after 5s shop\n"),
        (Change::Deleted(terminating.clone()), "forget shop\n"),
    ] {
        let controller = Controller::new(Duration::from_mins(5));
        assert_eq!(enqueued(&controller, &change, &Fixture::default()), expected, "{change:?}");
    }
}

/// testSyncNamespaceThatIsTerminating, which TestSyncNamespaceThatIsTerminatingV1 and
/// TestSyncNamespaceThatIsTerminatingNonExperimental both run on the same resources. Upstream also
/// sends DELETE for each kind, and lists pods twice; here there is nothing to delete.
#[test]
fn a_terminating_namespace_is_synced_as_upstream() {
    let complete = json!({"spec": {"finalizers": null}});
    let lists = ["LIST services.", "LIST deployments.apps"];
    let end = ["PUT shop/status", "GET shop", "PUT shop/finalize"];
    let partial = "unable to retrieve the complete list of server APIs: x.io/v1: test error";
    for (name, patch, failed, expected, error) in [
        ("pending-finalize", json!({}), None, [&START[..], &lists, &end].concat(), None),
        ("complete-finalize", complete.clone(), None, START.to_vec(), None),
        ("groupVersionResourceErr", complete, Some("test error"), START.to_vec(), None),
        (
            "groupVersionResourceErr-finalize",
            json!({}),
            Some("test error"),
            [&START[..], &lists, &end[..1]].concat(),
            Some(partial.to_owned()),
        ),
    ] {
        let mut world = World::of(patch);
        world.failed =
            failed.map(|text| ("x.io/v1".to_owned(), text.to_owned())).into_iter().collect();
        let synced = world.sync();
        assert_eq!(world.requests, expected, "{name}");
        assert_eq!((synced.plan.error, synced.failed), (error.clone(), None), "{name}");
        let finalized = expected.contains(&"PUT shop/finalize");
        assert_eq!(world.namespace.is_none(), finalized, "{name}");
        if error.is_some() {
            let condition = world.condition("NamespaceDeletionDiscoveryFailure");
            let message = "Discovery failed for some groups, 1 failing: ";
            assert_eq!(condition, format!("True DiscoveryFailed {message}{partial}"), "{name}");
            assert_eq!(world.namespace.unwrap()["status"]["phase"], "Terminating", "{name}");
        }
    }
}

/// TestSyncNamespaceThatIsActive. Upstream reads it live; here what the cache shows is enough, and
/// if the cache is stale, what a live read shows.
#[test]
fn an_active_namespace_is_left_alone() {
    let active = with(not_terminating(), json!({"status": {"phase": "Active"}}));
    let mut world = World::of(active.clone()).holding("services.", &[object("a")]);
    assert_eq!(rested(&world.sync()), "why: not being deleted\n");
    assert!(world.requests.is_empty(), "{:?}", world.requests);

    let another = with(active, json!({"metadata": {"uid": "uid-2"}}));
    let other_uid = json!({"metadata": {"uid": "uid-2"}});
    let missing: fn(&mut World) = |world| world.namespace = None;
    for (live, expected) in [
        (Some(not_terminating()), "why: another one by that name\n"),
        (Some(another), "why: another one by that name\n"),
        (Some(other_uid), "why: another one by that name\n"),
        (None, "why: deleted\n"),
    ] {
        let mut world = World::of(live.clone().unwrap_or_default());
        world.objects.insert("services.".to_owned(), vec![object("a")]);
        if live.is_none() {
            missing(&mut world);
        }
        assert_eq!(rested(&world.sync_from(&namespace(json!({})))), expected, "{live:?}");
        assert_eq!(world.requests, START, "{live:?}");
    }
    let mut world = World::new().refusing("GET shop", always(500, "no etcd"));
    assert_eq!(rested(&world.sync()), "why: cannot be read\nerror: no etcd\n");
    assert_eq!(world.requests, START);
}

/// TestFinalized, TestFinalizeNamespaceFunc and `finalizeNamespace`: ours is taken away, others are
/// sorted and deduplicated; and nothing is written that would change nothing.
#[test]
fn our_finalizer_alone_is_taken_away() {
    let waits = |names: &str| {
        let why = format!("why: all content is deleted; waits for finalizer {names}");
        format!("{why}\nagain in 300s\n")
    };
    let written = |finalizers: &str| {
        let end = format!("update namespaces shop finalize spec.finalizers={finalizers}");
        format!("why: all content is deleted\nin order: {end}\n")
    };
    for (name, finalizers, expected, left) in [
        (
            "TestFinalizeNamespaceFunc",
            json!(["kubernetes", "other"]),
            written(r#"["other"]"#),
            json!(["other"]),
        ),
        ("ours alone", json!(["kubernetes"]), written("null"), json!(null)),
        (
            "in disorder",
            json!(["b", "kubernetes", "a", "b", "kubernetes"]),
            written(r#"["a","b"]"#),
            json!(["a", "b"]),
        ),
        ("in disorder without ours", json!(["b", "a"]), written(r#"["a","b"]"#), json!(["a", "b"])),
        ("TestFinalized: others", json!(["a", "b"]), waits("a, b"), json!(["a", "b"])),
        ("TestFinalized: none", json!([]), "why: all content is deleted\n".to_owned(), json!([])),
    ] {
        let mut world = World::of(json!({"spec": {"finalizers": finalizers}}));
        world.controller = Controller::new(Duration::from_mins(5));
        // So that it stays.
        world.touch(json!({"metadata": {"finalizers": ["stay"]}}));
        assert_eq!(rested(&world.sync()), expected, "{name}");
        let namespace = world.namespace.unwrap();
        assert_eq!(namespace["spec"]["finalizers"], left, "{name}");
    }
}

/// The write of conditions, if there is one, comes right before, and what it changed is there: the
/// finalizer is removed in the same pass. The fields that we do not know stay.
#[test]
fn the_version_that_conditions_make_is_the_one_that_is_finalized() {
    let mut world = World::of(json!({
        "metadata": {"annotations": {"a": "b"}},
        "spec": {"finalizers": ["kubernetes", "other"], "news": 1},
        "status": {"news": 2},
    }));
    world.sync();
    assert_eq!(world.requests[5..], ["PUT shop/status", "GET shop", "PUT shop/finalize"]);
    let namespace = world.namespace.clone().unwrap();
    assert_eq!(namespace["metadata"]["resourceVersion"], "3");
    assert_eq!((&namespace["spec"]["news"], &namespace["status"]["news"]), (&json!(1), &json!(2)));
    assert_eq!(namespace["metadata"]["annotations"], json!({"a": "b"}));
    // All is well already: one write less.
    world.touch(json!({"spec": {"finalizers": ["kubernetes"]}}));
    world.sync();
    assert_eq!(world.requests[5..], ["PUT shop/finalize"]);
    assert_eq!(world.namespace, None);
}

/// `updateNamespaceStatusFunc`: before anything else. What was listed before that proves nothing.
#[test]
fn a_namespace_is_marked_as_terminating_first() {
    for phase in [json!("Active"), json!(null), json!("Resting")] {
        let mut world = World::of(json!({"status": {"phase": phase}}));
        world.before = Some(("PUT shop/status".to_owned(), |world| {
            world.objects.insert("pods.".to_owned(), vec![held("late", &["x"])]);
        }));
        world.sync();
        let expected =
            ["PUT shop/status", "GET shop", "LIST pods.", "DELETE pods.", "LIST pods.", "GET shop"];
        assert_eq!(world.requests[3..9], expected, "{phase}");
        assert_eq!(world.requests[9..], ["PUT shop/status"], "{phase}");
        assert_eq!(world.namespace.as_ref().unwrap()["status"]["phase"], "Terminating");
    }
    // As upstream, also if nothing else is to be done.
    let mut world = World::of(json!({
        "metadata": {"finalizers": ["stay"]},
        "spec": {"finalizers": []},
        "status": {"phase": "Active"},
    }));
    assert_eq!(rested(&world.sync()), "why: all content is deleted\n");
    assert_eq!(world.requests[3..], ["PUT shop/status", "GET shop", "LIST pods."]);
    assert_eq!(world.namespace.unwrap()["status"]["phase"], "Terminating");
}

/// TestRetryOnConflictError: numTries is 2. Here the second one is another sync, which the engine
/// begins after a conflict.
#[test]
fn a_conflict_is_tried_again() {
    let marking = json!({"status": {"phase": "Active"}});
    for (patch, request) in [
        (marking, "PUT shop/status"),
        (json!({}), "PUT shop/status"),
        (json!({}), "PUT shop/finalize"),
    ] {
        let mut world = World::of(patch);
        world.before = Some((request.to_owned(), |world| world.touch(json!({}))));
        let synced = world.sync();
        assert_eq!(synced.failed.as_deref(), Some("the object has been modified"), "{request}");
        assert_eq!(world.requests.last().map(String::as_str), Some(request));
        let synced = world.sync();
        assert_eq!((synced.failed, synced.plan.error), (None, None), "{request}");
        assert_eq!(world.namespace, None, "{request}");
    }
}

/// `Delete`: that it is deleted in between, or another one has come, ends the pass.
#[test]
fn a_namespace_that_is_deleted_in_between_ends_the_pass() {
    let gone: fn(&mut World) = |world| world.namespace = None;
    let replaced: fn(&mut World) = |world| world.touch(json!({"metadata": {"uid": "uid-2"}}));
    for (change, expected) in
        [(gone, "why: deleted\n"), (replaced, "why: another one by that name\n")]
    {
        let mut world = World::new().holding("services.", &[object("a")]);
        world.before = Some(("DELETE services.".to_owned(), change));
        assert_eq!(rested(&world.sync()), expected);
        assert_eq!(world.requests[5..], ["DELETE services.", "LIST services.", "GET shop"]);
    }
    // What the API server says of one that is deleted when it is finalized; the engine tries again,
    // and finds none in the cache.
    let mut world = World::new().refusing("PUT shop/finalize", once(404, "not found"));
    assert_eq!(world.sync().failed.as_deref(), Some("not found"));
}

#[test]
fn the_summary_names_what_holds_the_namespace() {
    let shown = |namespace: &Value| {
        let fixture = Fixture::default().holding::<Namespace>(std::slice::from_ref(namespace));
        let controller = Controller::new(Duration::ZERO);
        let snapshot = controller.observe(&Key::new("", "shop"), &fixture.view(), &()).unwrap();
        let facts = controller.summary(&snapshot).into_iter();
        facts.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n")
    };
    let active = with(not_terminating(), json!({"status": {"phase": "Active"}}));
    assert_eq!(shown(&namespace(active)), "phase: Active\nspec.finalizers: kubernetes");
    let mut world = World::of(json!({"metadata": {"finalizers": ["a", "b"]}}))
        .holding("deployments.apps", &[held("web", &["x"])]);
    world.failed.insert("x.io/v1".to_owned(), "no".to_owned());
    world.sync();
    assert_eq!(
        shown(&world.namespace.unwrap()),
        format!(
            "phase: Terminating\nbeing deleted since: {}\nspec.finalizers: kubernetes\n\
             metadata.finalizers: a, b\n\
             held: Discovery failed for some groups, 1 failing: unable to retrieve the complete \
             list of server APIs: x.io/v1: no\n\
             held: Some resources are remaining: deployments.apps has 1 resource instances\n\
             held: Some content in the namespace has finalizers remaining: x in 1 resource \
             instances",
            ago(6)
        )
    );
}

#[test]
fn a_namespace_that_is_not_in_the_cache_is_deleted() {
    let fixture = Fixture::default().holding::<Namespace>(&[]);
    let controller = Controller::new(Duration::ZERO);
    assert!(controller.observe(&Key::new("", "shop"), &fixture.view(), &()).is_none());
}

/// One that cannot be read in the cache, because of a field, is deleted all the same if the live
/// read shows it; one that cannot be read there is left alone.
#[test]
fn a_namespace_that_cannot_be_read_is_tried_again() {
    let terminating = decode::<Namespace>(&namespace(json!({})));
    let meta = terminating.meta.clone();
    let unreadable = Namespace::unreadable(meta.clone(), &DecodeError("no".to_owned()));
    let snapshot =
        Snapshot { now: Fixture::default().now, namespace: std::sync::Arc::new(unreadable) };
    let controller = Controller::new(Duration::ZERO);
    let plan = controller.decide(&snapshot, &Facts::default()).0;
    let start = "why: what is served?\nfetch namespaces shop\nfetch what is served\n\
                 fetch all pods in shop\n";
    assert_eq!(plan.to_string(), start);
    let raw = Raw::parse(br#"{"metadata": {"name": "shop"}, "spec": {"finalizers": 1}}"#).unwrap();
    let itself = Query::object(<Namespace as api::Kind>::RESOURCE, meta.key.clone());
    let served = Answer::Served(std::sync::Arc::default());
    let facts =
        Facts::from([(itself, Answer::Found(Box::new((meta, raw)))), (Query::Served, served)]);
    let error = controller.decide(&snapshot, &facts).0.error.unwrap();
    assert!(error.starts_with("spec.finalizers: invalid type"), "{error}");
}

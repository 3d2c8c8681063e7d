//! The content of a namespace: its order, how long it may take, and what goes wrong.

use std::collections::BTreeSet;

use api::{ServedKind, Verb};
use controller::fixture::{time, with};
use serde_json::json;

use super::world::{World, always, held, immortal, kind, kind_with, object, once, running};
use super::*;

const UNEXPECTED: &str = "unexpected items still remain in namespace: shop for gvr: ";

/// e2e test/e2e/apimachinery/namespace.go, ordered namespace deletion: while a pod remains, what it
/// may need stays.
#[test]
fn pods_go_before_all_else() {
    let mut world = World::new()
        .holding("pods.", &[held("p", &["e2e.example.com/finalizer"])])
        .holding("services.", &[object("a")])
        .holding("deployments.apps", &[object("web")]);
    let pods = ["DELETE pods.", "LIST pods.", "GET shop"];
    let synced = world.sync();
    assert_eq!(world.requests, [&START[..], &pods, &["PUT shop/status"]].concat());
    assert_eq!(synced.plan.again, Some(Duration::from_secs(8)));
    assert_eq!(world.objects["services."].len(), 1);

    world.objects.remove("pods.");
    world.sync();
    assert_eq!(world.asked_for("DELETE"), BTreeSet::from(["services.", "deployments.apps"]));
    assert_eq!(world.namespace, None);
}

/// `deleteAllContent` without the gate `OrderedNamespaceDeletion`: a pod that stays, or that cannot
/// be deleted, holds up nothing but the namespace.
#[test]
fn pods_go_with_all_else_without_the_gate() {
    let world = || {
        let mut world = World::new()
            .holding("pods.", &[held("p", &["e2e.example.com/finalizer"])])
            .holding("services.", &[object("a")]);
        world.controller = Controller::new(Duration::ZERO).pods_first(false);
        world
    };
    let mut stays = world();
    let synced = stays.sync();
    assert_eq!(stays.asked_for("DELETE"), BTreeSet::from(["pods.", "services."]));
    assert_eq!((synced.plan.error, synced.plan.again), (None, Some(Duration::from_secs(8))));
    assert_eq!(stays.objects["services."].len(), 0);

    let mut refused = world().refusing("DELETE pods.", always(500, "no"));
    assert_eq!(refused.sync().plan.error.as_deref(), Some("no"));
    assert_eq!(refused.objects["services."].len(), 0);
}

/// All in one pass: each kind is listed once, and once more if there was something.
#[test]
fn a_pass_deletes_everything() {
    let mut world = World::new()
        .holding("pods.", &[object("p")])
        .holding("services.", &[object("a"), object("b")]);
    let synced = world.sync();
    assert_eq!((synced.plan.error, synced.failed), (None, None));
    let expected = [
        &START[..],
        &["DELETE pods.", "LIST pods.", "GET shop", "LIST services.", "LIST deployments.apps"],
        &["DELETE services.", "LIST services.", "GET shop"],
        &["PUT shop/status", "GET shop", "PUT shop/finalize"],
    ];
    assert_eq!(world.requests, expected.concat());
    assert_eq!(world.namespace, None);
}

/// `estimateGracefulTermination` and the worker: half of the estimate and a second.
#[test]
fn the_next_pass_comes_after_half_of_what_is_left_may_take() {
    let pods = "pods.";
    let unexpected = |gvr: &str| Err(format!("{UNEXPECTED}{gvr}"));
    let of_pods = |gvr: &str| {
        Err(format!("failed to delete pods for namespace: shop, err: {UNEXPECTED}{gvr}"))
    };
    for (name, kind, objects, expected) in [
        ("a pod", pods, vec![running("p", 30)], Ok(16)),
        ("the slowest pod", pods, vec![running("p", 30), running("q", 61)], Ok(31)),
        ("a pod with little time", pods, vec![running("p", 7)], Ok(4)),
        // The namespace has been terminating for six seconds.
        ("a pod whose time is over", pods, vec![running("p", 6)], of_pods("/v1, Resource=pods")),
        ("one with a finalizer", pods, vec![held("p", &["x"])], Ok(8)),
        (
            "one over, with a finalizer",
            pods,
            vec![with(held("p", &["x"]), json!({"grace": 5}))],
            Ok(8),
        ),
        (
            "a slow one with a finalizer",
            pods,
            vec![with(held("p", &["x"]), json!({"grace": 60}))],
            Ok(31),
        ),
        ("time below zero", pods, vec![running("p", -1)], of_pods("/v1, Resource=pods")),
        ("one that stays", pods, vec![immortal("p")], of_pods("/v1, Resource=pods")),
        // Pods alone take time.
        ("a service", "services.", vec![running("a", 30)], unexpected("/v1, Resource=services")),
        ("a service with a finalizer", "services.", vec![held("a", &["x"])], Ok(8)),
        (
            "a deployment that stays",
            "deployments.apps",
            vec![immortal("a")],
            unexpected("apps/v1, Resource=deployments"),
        ),
        (
            "one with a finalizer is enough",
            "deployments.apps",
            vec![immortal("a"), held("b", &["x"])],
            Ok(8),
        ),
    ] {
        let mut world = World::new().holding(kind, &objects);
        let plan = world.sync().plan;
        let (again, error) = match expected {
            Ok(seconds) => (Some(Duration::from_secs(seconds)), None),
            Err(error) => (None, Some(error)),
        };
        assert_eq!((plan.again, plan.error), (again, error), "{name}");
        assert!(world.namespace.is_some(), "{name}");
    }
}

/// The handlers' resync, as the flag `--namespace-sync-period` sets it.
#[test]
fn the_next_pass_comes_after_the_sync_period_at_the_latest() {
    for (period, expected) in [(300, 300), (0, 1801), (3600, 1801)] {
        let mut world = World::new().holding("pods.", &[running("p", 3600)]);
        world.controller = Controller::new(Duration::from_secs(period));
        assert_eq!(world.sync().plan.again, Some(Duration::from_secs(expected)), "{period}");
    }
}

/// A pod that is over in time is waited for, and then its time is over: from then on an error,
/// which backs off. As upstream, whatever the pass does.
#[test]
fn a_pod_that_does_not_end_in_time_is_an_error() {
    let mut world = World::new().holding("pods.", &[running("p", 30)]);
    for (seconds, expected) in [(0, Some(16)), (23, Some(16)), (24, None), (60, None)] {
        world.now = time(seconds * 1_000_000_000);
        let plan = world.sync().plan;
        assert_eq!(plan.again.map(|again| again.as_secs()), expected, "{seconds}");
        assert_eq!(plan.error.is_none(), expected.is_some(), "{seconds}");
    }
    let message = format!(
        "True ContentDeletionFailed Failed to delete all resource types, 1 remaining: \
         {UNEXPECTED}/v1, Resource=pods"
    );
    assert_eq!(world.condition("NamespaceDeletionContentFailure"), message);
}

/// `deleteCollection` and `listCollection`: what the API server refuses. One kind holds up no
/// other, pods apart.
#[test]
fn errors_of_one_kind_do_not_stop_the_others() {
    let gone = ["pods.", "services.", "deployments.apps"];
    for (name, request, how, error, emptied) in [
        ("DELETE fails", "DELETE services.", always(500, "no"), Some("no"), 2),
        ("DELETE is forbidden", "DELETE services.", always(403, "forbidden"), Some("forbidden"), 2),
        ("LIST fails", "LIST services.", always(500, "no"), Some("no"), 3),
        ("LIST fails once", "LIST services.", once(500, "no"), None, 3),
    ] {
        let mut world = World::new().refusing(request, how);
        for kind in gone {
            world = world.holding(kind, &[object("a")]);
        }
        let synced = world.sync();
        assert_eq!(synced.plan.error.as_deref(), error, "{name}");
        let left = world.objects.values().filter(|objects| objects.is_empty()).count();
        assert_eq!(left, emptied, "{name}");
        assert_eq!(world.namespace.is_none(), error.is_none(), "{name}");
        if let Some(error) = error {
            let message = format!(
                "True ContentDeletionFailed Failed to delete all resource types, 1 remaining: \
                 {error}"
            );
            assert_eq!(world.condition("NamespaceDeletionContentFailure"), message, "{name}");
            // As upstream, what could not be deleted is not counted.
            let remaining = world.condition("NamespaceContentRemaining");
            assert_eq!(
                remaining, "False ContentRemoved All content successfully removed",
                "{name}"
            );
        }
    }
}

/// Where upstream takes a failure for absence.
#[test]
fn pods_that_cannot_be_deleted_or_counted_hold_up_all_else() {
    let error = "failed to delete pods for namespace: shop, err: no";
    for (request, pods, held_up) in [
        ("DELETE pods.", vec![object("p")], true),
        ("LIST pods.", vec![object("p")], true),
        ("LIST pods.", vec![], true),
        // None are there, so DELETE is not sent.
        ("DELETE pods.", vec![], false),
    ] {
        let mut world = World::new()
            .holding("pods.", &pods)
            .holding("services.", &[object("a")])
            .refusing(request, always(500, "no"));
        let synced = world.sync();
        assert_eq!(world.objects["services."].len(), usize::from(held_up), "{request}");
        let expected = held_up.then_some(error);
        assert_eq!(synced.plan.error.as_deref(), expected, "{request}");
        if held_up {
            assert_eq!(synced.plan.why, "waits for pods. (failed)");
            let message = "True ContentDeletionFailed Failed to delete all resource types, 1 \
                           remaining: no";
            assert_eq!(world.condition("NamespaceDeletionContentFailure"), message);
        }
    }
    // DELETE fails, but they go all the same: an error, and all else is deleted.
    let mut world = World::new()
        .holding("pods.", &[object("p")])
        .holding("services.", &[object("a")])
        .refusing("DELETE pods.", always(500, "no"));
    world.before = Some(("DELETE pods.".to_owned(), |world| {
        world.objects.remove("pods.");
    }));
    assert_eq!(world.sync().plan.error.as_deref(), Some(error));
    assert!(world.objects["services."].is_empty());
    assert!(world.namespace.is_some());
}

/// TestDeleteEncounters404: the kind is not there for one namespace. Upstream asks
/// delete-collection, list, list; here list, delete-collection, list. Nothing is remembered of it.
#[test]
fn a_kind_that_answers_404_counts_as_empty() {
    for code in [404, 405] {
        let start = ["GET shop", "DISCOVER", "LIST pods."];
        let mut world = World::new()
            .serving(&[kind("flakes.example.com")])
            .refusing("DELETE flakes.example.com", always(code, "no"))
            .refusing("LIST flakes.example.com", always(code, "no"));
        let asked =
            ["LIST flakes.example.com", "DELETE flakes.example.com", "LIST flakes.example.com"];
        let synced = world.sync();
        assert_eq!((synced.plan.error, synced.failed), (None, None), "{code}");
        let end = ["GET shop", "PUT shop/status", "GET shop", "PUT shop/finalize"];
        assert_eq!(world.requests, [&start[..], &asked, &end].concat(), "{code}");
        assert_eq!(world.namespace, None, "{code}");

        // The next one: it is there again.
        let mut world = World::new()
            .serving(&[kind("flakes.example.com")])
            .holding("flakes.example.com", &[object("a")]);
        world.sync();
        assert_eq!(world.requests[3..6], asked, "{code}");
        assert_eq!(world.namespace, None, "{code}");
    }
}

/// `deleteEachItem`: where there is no DELETE of all, each is deleted, with background propagation.
#[test]
fn objects_are_deleted_one_by_one_where_there_is_no_other_way() {
    let single = [Verb::Delete, Verb::List];
    let promised = kind("flakes.x.io");
    let unpromised = kind_with("flakes.x.io", &single);
    let each = [
        "DELETE flakes.x.io/a Some(Background)",
        "DELETE flakes.x.io/b Some(Background)",
        "GET flakes.x.io/a",
        "LIST flakes.x.io",
        "GET shop",
    ];
    let refused = ["DELETE flakes.x.io", "LIST flakes.x.io", "GET shop"];
    for (name, kind, before) in [
        ("discovery says so", unpromised, &[][..]),
        ("the API server says so", promised, &refused[..]),
    ] {
        for (objects, expected) in [
            ([object("a"), object("b")], Ok(None)),
            ([object("a"), held("b", &["x"])], Ok(Some(8))),
            ([object("a"), immortal("b")], Err(format!("{UNEXPECTED}x.io/v1, Resource=flakes"))),
        ] {
            let mut world = World::new()
                .serving(std::slice::from_ref(&kind))
                .holding("flakes.x.io", &objects)
                .refusing("DELETE flakes.x.io", always(405, "no"));
            let plan = world.sync().plan;
            let asked = [&["LIST flakes.x.io"][..], before, &each].concat();
            assert_eq!(world.requests[3..3 + asked.len()], asked, "{name}");
            let (again, error) = match expected {
                Ok(seconds) => (seconds.map(Duration::from_secs), None),
                Err(error) => (None, Some(error)),
            };
            assert_eq!(world.namespace.is_none(), (&again, &error) == (&None, &None), "{name}");
            assert_eq!((plan.again, plan.error), (again, error), "{name}");
        }
    }
}

/// Otherwise than upstream, which notes it among the conditions.
#[test]
fn a_single_delete_that_fails_ends_the_pass() {
    let mut world = World::new()
        .serving(&[kind_with("flakes.x.io", &[Verb::Delete, Verb::List])])
        .holding("flakes.x.io", &[object("a"), object("b")])
        .refusing("DELETE flakes.x.io/a Some(Background)", always(500, "no"));
    assert_eq!(world.sync().failed.as_deref(), Some("no"));
    // The others went.
    assert_eq!(world.objects["flakes.x.io"].len(), 1);
    assert!(world.namespace.is_some());
}

/// The card: a resource without list cannot be verified and counts as empty.
#[test]
fn what_cannot_be_listed_counts_as_empty() {
    let delete = [Verb::Delete];
    let all = [Verb::Delete, Verb::DeleteCollection];
    let cases: [(&str, ServedKind, &[&str], Option<&str>); 4] = [
        ("neither", kind_with("flakes.x.io", &delete), &[], None),
        (
            "it is deleted",
            kind_with("flakes.x.io", &all),
            &["DELETE flakes.x.io", "GET shop"],
            None,
        ),
        (
            "it fails",
            kind_with("flakes.x.io", &all),
            &["DELETE flakes.x.io", "GET shop"],
            Some("no"),
        ),
        (
            "it is not there",
            kind_with("flakes.x.io", &all),
            &["DELETE flakes.x.io", "GET shop"],
            None,
        ),
    ];
    for (name, kind, asked, error) in cases {
        let mut world = World::new().serving(&[kind]).holding("flakes.x.io", &[immortal("a")]);
        if name == "it is not there" {
            world = world.refusing("DELETE flakes.x.io", always(404, "not found"));
        }
        if let Some(error) = error {
            world = world.refusing("DELETE flakes.x.io", always(500, error));
        }
        assert_eq!(world.sync().plan.error.as_deref(), error, "{name}");
        assert_eq!(world.requests[3..3 + asked.len()], *asked, "{name}");
        assert_eq!(world.namespace.is_none(), error.is_none(), "{name}");
    }
    // LIST is refused for good, DELETE is not promised.
    let mut world = World::new()
        .serving(&[kind_with("flakes.x.io", &[Verb::Delete, Verb::List])])
        .refusing("LIST flakes.x.io", always(405, "no"));
    world.sync();
    assert_eq!(world.namespace, None);
}

/// The longest way that a pass can take fits in the rounds of an engine, which the world counts:
/// both phases have to be marked, emptied and emptied one by one.
#[test]
fn the_longest_pass_fits() {
    let mut world = World::of(json!({"status": {"phase": "Active"}}))
        .holding("pods.", &[object("p")])
        .holding("services.", &[object("a")])
        .refusing("DELETE pods.", always(405, "no"))
        .refusing("DELETE services.", always(405, "no"));
    let synced = world.sync();
    assert_eq!((synced.plan.error, synced.failed), (None, None));
    assert_eq!(world.namespace, None);
}

/// A kind that appears in two groups is one set of objects with two names.
#[test]
fn events_are_deleted_under_both_names() {
    let mut world = World::new()
        .serving(&["pods.", "events.", "events.events.k8s.io"].map(kind))
        .holding("events.", &[object("e")])
        .holding("events.events.k8s.io", &[object("e")]);
    world.sync();
    assert_eq!(world.asked_for("DELETE"), BTreeSet::from(["events.", "events.events.k8s.io"]));
    assert_eq!(world.namespace, None);
}

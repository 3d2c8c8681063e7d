//! Several lists of writes side by side, as the pod garbage collector marks and deletes pods.

use api::{Key, Kind, Pod};
use cache::fixture::run;
use controller::{Action, Delete, Event, EventType, ObjectRef, Plan, Step, Write};
use serde_json::json;

use super::steps::{create, delete};
use super::world::{PODS, World, accept, body, make, pod, refuse, set, terminating, with};

fn chains(chains: &[&[Action]]) -> Plan {
    let chains = chains.iter().map(|chain| chain.to_vec());
    Plan::one("chains", Step::Chains(chains.collect()))
}

fn object(name: &str) -> ObjectRef {
    let (key, uid) = (Key::new("shop", name), format!("uid-{name}").into());
    ObjectRef { resource: Pod::RESOURCE, key, uid, resource_version: 1 }
}

/// Marks a pod as failed.
fn mark(name: &str) -> Action {
    let uid = format!("uid-{name}");
    let body = json!({"metadata": {"uid": uid}, "status": {"phase": "Failed"}}).to_string();
    Write::strategic(object(name), body).at("status").tolerating(&[]).into()
}

/// Deletes a pod by force.
fn kill(name: &str) -> Action {
    let how = Delete { grace_period_seconds: Some(0), ..Delete::default() };
    Write::delete_so(object(name), how).into()
}

fn event(reason: &'static str) -> Action {
    Action::Event(Event {
        about: object("any").into(),
        r#type: EventType::Normal,
        reason: reason.into(),
        message: "done".to_owned(),
    })
}

/// Within a chain the writes run one after the other. A failure ends its own chain and no other
/// one; then the step has failed, and the next one does not begin.
#[test]
fn a_failure_ends_its_own_chain() {
    run(async {
        let plan = |_: &_, _: &_| Plan {
            steps: vec![
                Step::Chains(vec![
                    vec![create("a1"), create("a2"), create("a3")],
                    vec![create("b1"), create("b2")],
                ]),
                Step::InOrder(vec![create("later")]),
            ],
            ..Plan::rest("chains")
        };
        let (mut world, log) = World::probe(plan).await;
        let (a1, b1) = (world.post().await, world.post().await);
        assert_eq!(
            (&body(&a1)["metadata"]["name"], &body(&b1)["metadata"]["name"]),
            (&json!("a1"), &json!("b1"))
        );
        world.quiet().await;
        refuse(b1, 403, "Forbidden", "quota").await;
        world.quiet().await;
        make(a1, "a1", 11).await;
        for (name, version) in [("a2", 12), ("a3", 13)] {
            let post = world.post().await;
            assert_eq!(body(&post)["metadata"]["name"], name);
            world.quiet().await;
            make(post, name, version).await;
        }
        world.settle().await;
        assert_eq!(log.take(), ["0 observe web", "0 decide web", "0 report quota web"]);
    });
}

/// The error is that of the first failed chain, in the plan's order and not in time.
#[test]
fn the_first_error_in_order_is_reported() {
    run(async {
        let plan =
            |_: &_, _: &_| chains(&[&[create("a")], &[create("b1"), create("b2")], &[create("c")]]);
        let (mut world, log) = World::probe(plan).await;
        let (a, b1, c) = (world.post().await, world.post().await, world.post().await);
        refuse(c, 500, "InternalError", "third").await;
        world.settle().await;
        make(a, "a", 11).await;
        make(b1, "b1", 12).await;
        refuse(world.post().await, 500, "InternalError", "second").await;
        world.settle().await;
        assert_eq!(log.take().last().unwrap(), "0 report second web");
    });
}

/// At most 64 chains run at once; the next one begins when one has ended, not before.
#[test]
fn many_chains_take_turns() {
    run(async {
        let pair = |n: usize| vec![delete(&format!("a{n}")), delete(&format!("b{n}"))];
        let all: Vec<_> = (0..66).map(pair).collect();
        let plan = move |_: &_, _: &_| Plan::one("chains", Step::Chains(all.clone()));
        let (mut world, log) = World::probe(plan).await;
        let mut calls = world.server.under_way().await;
        assert_eq!(calls.len(), 64);
        accept(calls.remove(5), &pod("any", 1)).await;
        let next: Vec<_> = world.server.under_way().await;
        let lines: Vec<_> = next.iter().map(|call| call.path.as_str()).collect();
        assert_eq!(lines, [format!("{PODS}/b5")], "the same list goes on");
        for call in next {
            refuse(call, 500, "InternalError", "no").await;
        }
        let next = world.server.under_way().await;
        let lines: Vec<_> = next.iter().map(|call| call.path.as_str()).collect();
        assert_eq!(lines, [format!("{PODS}/a64")], "its end makes room, also a bad one");
        calls.extend(next);
        let mut answered = 2;
        while !calls.is_empty() {
            answered += calls.len();
            for call in calls {
                accept(call, &pod("any", 1)).await;
            }
            calls = world.server.under_way().await;
            calls.retain(|_| answered < 2 * 66);
        }
        assert_eq!(answered, 2 * 66);
        assert_eq!(log.take()[..3], ["0 observe web", "0 decide web", "0 report no web"]);
    });
}

/// An Event follows the write that it reports.
#[test]
fn an_event_follows_its_write() {
    run(async {
        let plan = |_: &_, _: &_| chains(&[&[create("a"), event("A")], &[create("b"), event("B")]]);
        let (mut world, _log) = World::probe(plan).await;
        let (a, b) = (world.post().await, world.post().await);
        world.quiet().await;
        assert!(world.events.under_way().await.is_empty());
        refuse(a, 500, "InternalError", "no").await;
        make(b, "b", 11).await;
        assert_eq!(world.event().await, "Normal B done");
        assert!(world.events.under_way().await.is_empty());
    });
}

/// Pod garbage collection: the mark goes to the status and names the pod by uid, the delete
/// follows, with grace period zero; the controller acts for the key again once the cache shows
/// both.
#[test]
fn a_pod_is_marked_and_deleted() {
    run(async {
        let plan = |_: &_, _: &_| chains(&[&[mark("a"), kill("a")]]);
        let (mut world, _log) = World::probe(plan).await;
        world.pods.added(&pod("a", 11)).await;
        let patch = world.patch("a/status").await;
        let expected = json!({"metadata": {"uid": "uid-a"}, "status": {"phase": "Failed"}});
        assert_eq!(body(&patch), expected);
        world.quiet().await;
        let marked = with(pod("a", 12), expected);
        accept(patch, &marked).await;
        let delete = world.delete("a").await;
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions",
            "gracePeriodSeconds": 0, "preconditions": {"uid": "uid-a"}});
        assert_eq!(body(&delete), options);
        accept(delete, &terminating(marked.clone(), 13)).await;

        world.pods.bookmark(99).await;
        world.sets.modified(&set(11, 0, 0)).await;
        world.quiet().await;
        world.pods.modified(&terminating(marked, 100)).await;
        let _again = world.patch("a/status").await;
    });
}

/// As above, but the deletion is seen first: the key waits for the version of the mark too.
#[test]
fn a_mark_is_awaited() {
    run(async {
        let plan = |_: &_, _: &_| chains(&[&[mark("a")], &[kill("b")]]);
        let (mut world, _log) = World::probe(plan).await;
        let (patch, delete) = (world.patch("a/status").await, world.delete("b").await);
        accept(patch, &pod("a", 12)).await;
        refuse(delete, 404, "NotFound", "not there").await;
        world.pods.bookmark(11).await;
        world.sets.modified(&set(11, 0, 0)).await;
        world.quiet().await;
        world.pods.bookmark(12).await;
        let _again = world.patch("a/status").await;
    });
}

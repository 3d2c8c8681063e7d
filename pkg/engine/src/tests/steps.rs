//! How steps run, and their Events.

use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind, Pod};
use cache::fixture::{Call, run};
use controller::{Action, Announce, Message, ObjectRef, Plan, Step, Write};
use serde_json::{Value, json};

use super::world::{PODS, World, accept, body, make, pod, refuse, set, terminating, with};

/// A create of this pod, without an Event.
pub(super) fn create(name: &str) -> Action {
    let body = json!({"metadata": {"name": name}}).to_string();
    Write::create(Pod::RESOURCE, "shop".into(), body).into()
}

/// A delete of this pod, without an Event.
pub(super) fn delete(name: &str) -> Action {
    let (key, uid) = (Key::new("shop", name), format!("uid-{name}").into());
    let object = ObjectRef { resource: Pod::RESOURCE, key, uid, resource_version: 1 };
    Write::delete(object).into()
}

pub(super) fn together(actions: &[Action]) -> Plan {
    Plan::one("together", Step::Together(actions.to_vec()))
}

/// Answers the creates of a set in rounds: all requests in progress, then the next ones. After
/// `limit` creates all are refused. Returns the size of each round, and the other requests.
async fn rounds(world: &mut World, limit: usize) -> (Vec<usize>, Vec<Call>) {
    let (mut sizes, mut others, mut creates) = (Vec::new(), Vec::new(), 0);
    loop {
        let calls = world.server.under_way().await;
        let (posts, rest): (Vec<_>, Vec<_>) = calls.into_iter().partition(|c| c.method == "POST");
        others.extend(rest);
        if posts.is_empty() {
            return (sizes, others);
        }
        sizes.push(posts.len());
        for post in posts {
            creates += 1;
            if creates > limit {
                refuse(post, 500, "InternalError", "fake error").await;
            } else {
                make(post, &format!("p{creates}"), 10 + creates as u64).await;
            }
        }
    }
}

/// TestSlowStartBatch: name, creates that succeed, batches.
#[test]
fn slow_start() {
    let rows: [(&str, usize, &[usize]); 3] = [
        ("callLimit = 0 (all fail)", 0, &[1]),
        ("callLimit = count (all succeed)", 10, &[1, 2, 4, 3]),
        ("callLimit < count (some succeed)", 5, &[1, 2, 4]),
    ];
    for (name, limit, batches) in rows {
        run(async {
            let mut world = World::new(&[set(1, 10, 0)], &[]).await;
            let (sizes, others) = rounds(&mut world, limit).await;
            assert_eq!(sizes, batches, "{name}");
            let failure = others.iter().map(|put| body(put)["status"]["conditions"][0].clone());
            let failure: Vec<Value> = failure.collect();
            let messages: Vec<_> = failure.iter().map(|failure| &failure["message"]).collect();
            let expected: &[&str] = if limit < 10 { &["fake error"] } else { &[] };
            assert_eq!(messages, expected, "{name}");
        });
    }
}

/// TestControllerBurstReplicas, TestSyncReplicaSetDormancy: at most 500 creates in one sync; the
/// next ones once the cache shows those.
#[test]
fn burst_of_creates() {
    run(async {
        let mut world = World::new(&[set(1, 501, 0)], &[]).await;
        let (sizes, others) = rounds(&mut world, 500).await;
        assert_eq!(sizes.iter().sum::<usize>(), 500);
        assert_eq!(sizes[..8], [1, 2, 4, 8, 16, 32, 64, 64], "at most 64 at once");
        assert!(others.is_empty());
        let pods: Vec<_> = (1..=500).map(|n| pod(&format!("p{n}"), 10 + n)).collect();
        world.pods.many("ADDED", &pods).await;
        let last = world.post().await;
        make(last, "last", 600).await;
        world.counts(500, 11).await;
        world.quiet().await;
    });
}

/// Issue, steps together: at most 64 at once, all are tried, and the error is the first one in the
/// plan's order.
#[test]
fn all_together() {
    run(async {
        let names: Vec<_> = (0..100).map(|n| format!("p{n}")).collect();
        let deletes: Vec<_> = names.iter().map(|name| delete(name)).collect();
        let (mut world, log) = World::probe(move |_, _| together(&deletes)).await;
        let mut calls = world.server.under_way().await;
        assert_eq!(calls.len(), 64);
        refuse(calls.remove(5), 500, "InternalError", "five").await;
        calls.append(&mut world.server.under_way().await);
        assert_eq!(calls.len(), 64, "the next one takes the free place");
        refuse(calls.remove(3), 500, "InternalError", "three").await;
        world.settle().await;
        refuse(calls.remove(7), 500, "InternalError", "nine").await;
        let mut tried = 3;
        while !calls.is_empty() {
            tried += calls.len();
            for call in calls {
                accept(call, &pod("any", 1)).await;
            }
            calls = world.server.under_way().await;
            calls.retain(|_| tried < 100);
        }
        assert_eq!(tried, 100);
        assert_eq!(log.take()[..3], ["0 observe web", "0 decide web", "0 report three web"]);
    });
}

/// Issue, steps in order: one at a time; the first failure ends the step and the plan.
#[test]
fn in_order() {
    run(async {
        let plan = |_: &_, _: &_| {
            let steps = [&["a", "b", "c"][..], &["d"]];
            let steps = steps.map(|names| names.iter().map(|name| create(name)).collect());
            Plan { steps: steps.map(Step::InOrder).into(), ..Plan::rest("in order") }
        };
        let (mut world, log) = World::probe(plan).await;
        let post = world.post().await;
        world.quiet().await;
        assert_eq!(body(&post)["metadata"]["name"], "a");
        make(post, "a", 11).await;
        let post = world.post().await;
        assert_eq!(body(&post)["metadata"]["name"], "b");
        refuse(post, 403, "Forbidden", "quota").await;
        world.settle().await;
        assert_eq!(log.take(), ["0 observe web", "0 decide web", "0 report quota web"]);
    });
}

/// Issue, steps: one after the other, each with its own mode.
#[test]
fn one_step_after_the_other() {
    run(async {
        let plan = |_: &_, _: &_| Plan {
            steps: vec![
                Step::Together(vec![create("a"), create("b")]),
                Step::SlowStart(vec![create("c")]),
            ],
            ..Plan::rest("two steps")
        };
        let (mut world, log) = World::probe(plan).await;
        let (a, b) = (world.post().await, world.post().await);
        make(a, "a", 11).await;
        world.quiet().await;
        make(b, "b", 12).await;
        let c = world.post().await;
        make(c, "c", 13).await;
        world.quiet().await;
        assert_eq!(log.take().last().unwrap(), "0 report done web");
    });
}

/// Card, Sync 7 and edge cases: a create that is refused because the namespace is being deleted is
/// no error, sends no Event, and is not retried for 5 minutes.
#[test]
fn namespace_is_being_deleted() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let cause = json!({"reason": "NamespaceTerminating", "field": "metadata.namespace"});
        let status = json!({"kind": "Status", "code": 403, "reason": "Forbidden",
            "message": "forbidden", "details": {"causes": [cause]}});
        world.post().await.reply(403, status.to_string()).await;
        world.quiet().await;
        assert!(world.events.under_way().await.is_empty());
        world.pods.bookmark(99).await;
        world.sets.modified(&set(11, 1, 0)).await;
        world.wait(Duration::from_secs(297)).await;
        world.quiet().await;
        let _again = world.post().await;
    });
}

/// deployment.md, New RS: when the namespace is being deleted, there is no Event and no further
/// write.
#[test]
fn nothing_follows_a_create_in_a_namespace_that_is_being_deleted() {
    run(async {
        let in_order = |_: &_, _: &_| Plan {
            error: Some("the plan's own".to_owned()),
            ..Plan::one("made", Step::InOrder(vec![create("a"), create("b")]))
        };
        let (mut world, log) = World::probe(in_order).await;
        let cause = json!({"reason": "NamespaceTerminating", "field": "metadata.namespace"});
        let status = json!({"kind": "Status", "code": 403, "reason": "Forbidden",
            "message": "forbidden", "details": {"causes": [cause]}});
        world.post().await.reply(403, status.to_string()).await;
        world.quiet().await;
        assert_eq!(log.take(), ["0 observe web", "0 decide web", "0 report unsettled web"]);
    });
}

/// deployment.md, New RS: a failure has an Event, a success another one; that the name exists
/// already has neither.
#[test]
fn a_write_may_be_announced_only_if_it_fails() {
    run(async {
        let about = Arc::new(ObjectRef {
            resource: Pod::RESOURCE,
            key: Key::new("shop", "web"),
            uid: "u".into(),
            resource_version: 1,
        });
        let failed = ("NotMade", "no \"x\": ".to_owned().into());
        let announce = Announce { about, done: None, failed, silent: &["AlreadyExists"] };
        let plan = move |_: &_, _: &_| {
            let create = |name: &str| match create(name) {
                Action::Write(write) => write.announced(announce.clone()).into(),
                other @ (Action::Event(_) | Action::Cloud(_)) => other,
            };
            together(&[create("a"), create("b"), create("c")])
        };
        let (mut world, _) = World::probe(plan).await;
        make(world.post().await, "a", 11).await;
        refuse(world.post().await, 409, "AlreadyExists", "c is there").await;
        refuse(world.post().await, 403, "Forbidden", "quota").await;
        assert_eq!(world.event().await, "Warning NotMade no \"x\": quota");
        assert!(world.events.under_way().await.is_empty());
    });
}

/// A StatefulSet tells of a pod that was not made since a claim was not, and of the claim.
#[test]
fn a_write_may_be_announced_in_several_events_and_in_whole_sentences() {
    run(async {
        let about = Arc::new(ObjectRef {
            resource: Pod::RESOURCE,
            key: Key::new("shop", "web"),
            uid: "u".into(),
            resource_version: 1,
        });
        let announce = |what: &str| Announce {
            about: Arc::clone(&about),
            done: (what == "claim").then(|| ("Made", Message::Whole("all of it".to_owned()))),
            failed: ("NotMade", format!("no {what}: ").into()),
            silent: &[],
        };
        let (claim, pod) = (announce("claim"), announce("pod"));
        let plan = move |_: &_, _: &_| {
            let create = |name: &str| match create(name) {
                Action::Write(write) => {
                    write.announced(claim.clone()).announced(pod.clone()).into()
                }
                other @ (Action::Event(_) | Action::Cloud(_)) => other,
            };
            together(&[create("a"), create("b")])
        };
        let (mut world, _) = World::probe(plan).await;
        make(world.post().await, "a", 11).await;
        assert_eq!(world.event().await, "Normal Made all of it");
        refuse(world.post().await, 403, "Forbidden", "quota").await;
        assert_eq!(world.event().await, "Warning NotMade no claim: quota");
        assert_eq!(world.event().await, "Warning NotMade no pod: quota");
    });
}

/// Common card, Pod creation: the Events and their messages.
#[test]
fn events() {
    run(async {
        let mut world = World::new(&[set(1, 2, 0)], &[]).await;
        let post = world.post().await;
        let a = make(post, "web-a", 11).await;
        assert_eq!(world.event().await, "Normal SuccessfulCreate Created pod: web-a");
        refuse(world.post().await, 403, "Forbidden", "exceeded quota").await;
        assert_eq!(world.event().await, "Warning FailedCreate Error creating: exceeded quota");

        let mut world = World::new(&[set(1, 0, 1)], &[a]).await;
        refuse(world.delete("web-a").await, 500, "InternalError", "no luck").await;
        assert_eq!(world.event().await, "Warning FailedDelete Error deleting: no luck");
        let put = world.put().await;
        world.done(put, 11).await;
        world.finds(&format!("{PODS}/web-a"), &[pod("web-a", 1)]).await;
        accept(world.delete("web-a").await, &terminating(pod("web-a", 1), 12)).await;
        assert_eq!(world.event().await, "Normal SuccessfulDelete Deleted pod: web-a");
    });
}

/// Metrics: writes by verb, kind and code.
#[test]
fn writes_are_counted() {
    run(async {
        let mut world = World::new(&[set(1, 2, 0)], &[]).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        refuse(world.post().await, 403, "Forbidden", "exceeded quota").await;
        world.wait(Duration::from_millis(1)).await;
        let count = |code| {
            let labels = ["test-controller", "create", "pods", code];
            world.metrics.writes.with_label_values(&labels).get()
        };
        assert_eq!((count("ok"), count("403")), (1, 1));
    });
}

/// Card, Metrics: what a plan measured goes into the histogram of its controller.
#[test]
fn what_a_plan_measured_is_counted() {
    run(async {
        let old = json!({"metadata": {"creationTimestamp": "1969-12-31T23:00:00Z"}});
        let pods = ["a", "b"].map(|name| with(pod(name, 1), old.clone()));
        let mut world = World::new(&[set(1, 1, 2)], &pods).await;
        let deletes = world.server.under_way().await;
        assert_eq!(deletes.len(), 1);
        let families = world.registry.gather();
        let name = "replicaset_controller_sorting_deletion_age_ratio";
        let family = families.iter().find(|family| family.name() == name).unwrap();
        assert_eq!(family.get_metric()[0].get_histogram().get_sample_count(), 1);
        assert_eq!(metrics::fixture::unlike_upstream(&world.registry), Vec::<String>::new());
    });
}

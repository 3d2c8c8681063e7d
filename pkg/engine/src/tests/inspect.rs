//! What an engine reports about itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use api::{Key, Kind, ReplicaSet, Time};
use cache::fixture::{run, status};
use controller::{Facts, Plan, Query, Sight, Subject};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::steps::{create, together};
use super::world::{
    Cold, DRAIN_LIMIT, Feed, Log, Probe, Seen, Stage, World, accept, make, pod, refuse, set,
};
use crate::{EngineStatus, Explanation, Insider, Inspect, Phase, Viewer};

type Plans = Box<dyn Fn(&Seen, &Facts) -> Plan + Send + Sync>;

fn web() -> Key {
    Key::new("shop", "web")
}

fn query() -> Query {
    Query::object(ReplicaSet::RESOURCE, web())
}

fn at(seconds: i64) -> Time {
    Time::from_unix(seconds, 0)
}

fn rest() -> Plans {
    Box::new(|_, _| Plan::rest("rest"))
}

fn fetches() -> Plans {
    Box::new(|_, facts| match facts.get(&query()) {
        None => Plan::fetch("is it there?", vec![query()]),
        Some(_) => together(&[create("a")]),
    })
}

/// A probe on a standby; its caches hold `web`.
async fn standby(plans: Plans) -> (Cold, Feed, Feed) {
    standby_with(|_, _| {}, plans).await
}

async fn standby_with(
    hook: impl Fn(Stage, &Key) + Send + Sync + 'static,
    plans: Plans,
) -> (Cold, Feed, Feed) {
    let probe = Probe::new(&Log::default(), hook, plans);
    let mut cold = Cold::new(probe, 1, DRAIN_LIMIT);
    let (sets, pods) = cold.warm(&[set(1, 2, 0)], &[]).await;
    cold.server.runtime.clock.sleep(Duration::from_millis(1)).await;
    (cold, sets, pods)
}

fn summary(explanation: &Explanation) -> Vec<String> {
    explanation.summary.iter().map(|fact| format!("{} {}", fact.name, fact.value)).collect()
}

fn text(explanation: &Explanation) -> &str {
    explanation.plan.as_ref().map_or("", |plan| &plan.text)
}

#[test]
fn a_standby_says_so() {
    run(async {
        let (cold, _sets, _pods) = standby(rest()).await;
        let expected = EngineStatus {
            phase: Phase::NotStarted,
            cannot_start: None,
            waiting_for: vec![],
            reads: vec!["pods".to_owned(), "replicasets.apps".to_owned()],
            workers: 1,
            workers_alive: 0,
            queued: 0,
            delayed: 0,
            unsettled: 0,
            in_work: vec![],
            failing: vec![],
            given_up: vec![],
            last_error: None,
            plans: vec![],
            syncs: 0,
            failures: 0,
            panics: 0,
        };
        assert_eq!(cold.engine.status(), expected);
    });
}

#[test]
fn a_failed_start_is_reported_until_the_controller_starts() {
    run(async {
        let (cold, _sets, _pods) = standby(rest()).await;
        cold.engine.cannot_start("no service account: forbidden");
        let why = cold.engine.status().cannot_start;
        assert_eq!(why.as_deref(), Some("no service account: forbidden"));
        let _task = cold.run();
        cold.server.runtime.clock.sleep(Duration::from_millis(1)).await;
        let status = cold.engine.status();
        assert_eq!((status.phase, status.cannot_start), (Phase::Running, None));
    });
}

#[test]
fn caches_that_are_awaited_are_named_with_their_errors() {
    run(async {
        let probe = Probe::new(&Log::default(), |_, _| {}, rest());
        let mut cold = Cold::new(probe, 1, DRAIN_LIMIT);
        let _task = cold.run();
        for _ in ["streamed", "listed"] {
            let call = cold.server.find("GET", "/api/v1/pods").await;
            call.reply(403, status(403, "Forbidden", "pods is forbidden")).await;
        }
        cold.server.runtime.clock.sleep(Duration::from_millis(1)).await;
        let status = cold.engine.status();
        assert_eq!(status.phase, Phase::WaitingForCaches);
        let waiting: Vec<_> = status.waiting_for.iter().map(|kind| &*kind.resource).collect();
        assert_eq!(waiting, ["pods", "replicasets.apps"]);
        let error = status.waiting_for[0].error.clone().unwrap();
        assert!(error.contains("pods is forbidden"), "{error}");
        assert_eq!(status.waiting_for[0].since, Some(at(0)));
        assert_eq!(status.waiting_for[1].error, None);

        let explanation = cold.engine.explain(&web(), &Insider).await;
        assert_eq!(explanation.incomplete, ["pods", "replicasets.apps"]);
        assert!(!explanation.found);
    });
}

#[test]
fn keys_in_work_and_plans_are_reported() {
    run(async {
        let probe = Probe::new(&Log::default(), |_, _| {}, |_, _| together(&[create("a")]));
        let (mut world, engine) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        let post = world.post().await;
        world.wait(Duration::from_secs(3)).await;
        world.sets.modified(&set(11, 0, 0)).await;
        world.settle().await;
        let status = engine.status();
        assert_eq!((status.phase, status.workers_alive), (Phase::Running, 1));
        let in_work = serde_json::to_value(&status.in_work).unwrap();
        assert_eq!(in_work, json!([{"key": "shop/web", "since": "1970-01-01T00:00:00Z"}]));
        assert_eq!((status.queued, status.syncs), (1, 1), "added while it is worked on");

        make(post, "a", 11).await;
        world.settle().await;
        let status = engine.status();
        assert!(status.in_work.is_empty());
        assert_eq!((status.queued, status.delayed, status.unsettled), (0, 0, 1));
        assert_eq!((status.syncs, status.failures), (2, 0));
        let plans = serde_json::to_value(&status.plans).unwrap();
        let expected = json!([{"key": "shop/web", "why": "together", "actions": 1,
            "at": "1970-01-01T00:00:03Z", "error": null}]);
        assert_eq!(plans, expected);

        world.stop().await;
        let status = engine.status();
        assert_eq!((status.phase, status.workers_alive), (Phase::Stopped, 0));
    });
}

#[test]
fn a_key_fails_until_it_succeeds() {
    run(async {
        let fails = Arc::new(AtomicBool::new(true));
        let flag = Arc::clone(&fails);
        let plan = move |_: &_, _: &_| Plan {
            error: flag.load(Ordering::Relaxed).then(|| "no".to_owned()),
            ..Plan::rest("tries")
        };
        let hook = |stage, key: &Key| assert!(stage != Stage::Report || &*key.name != "bad");
        let probe = Probe::new(&Log::default(), hook, plan);
        let (mut world, engine) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        // Failures at 0, 5 and 15 ms; the next one is due at 35 ms.
        world.wait(Duration::from_millis(20)).await;
        let failing = serde_json::to_value(engine.status().failing).unwrap();
        let zero = "1970-01-01T00:00:00Z";
        let expected = json!([{"key": "shop/web", "failures": 3, "error": "no", "since": zero,
            "at": zero}]);
        assert_eq!(failing, expected);
        let explanation = engine.explain(&web(), &Insider).await;
        assert_eq!((explanation.retries, explanation.last_error.is_some()), (3, true));
        assert_eq!(explanation.place.delayed_until, Some(Time::EPOCH + Duration::from_millis(35)));

        fails.store(false, Ordering::Relaxed);
        world.wait(Duration::from_millis(100)).await;
        let status = engine.status();
        assert!(status.failing.is_empty());
        assert_eq!(status.last_error.map(|failure| failure.failures), Some(3));
        assert!(status.plans.is_empty(), "plans that write nothing are not listed");

        world.sets.added(&super::world::named(set(12, 0, 0), "bad")).await;
        world.settle().await;
        let status = engine.status();
        assert_eq!((status.panics, status.failures), (1, 4));
        assert!(status.failing[0].error.starts_with("panic: "));
        world.sets.deleted(&super::world::named(set(13, 0, 0), "bad")).await;
        world.settle().await;
        assert!(engine.status().failing.is_empty(), "a deleted object is not failing any more");
    });
}

/// Design 1, explain: observe and decide for a key, nothing written.
#[test]
fn a_standby_explains_from_warm_caches_and_writes_nothing() {
    run(async {
        let controller = controllers::replicaset::Controller::new(500);
        let mut cold = Cold::new(controller, 2, DRAIN_LIMIT);
        let (_sets, _pods) = cold.warm(&[set(1, 3, 0)], &[pod("a", 1)]).await;
        cold.server.runtime.clock.sleep(Duration::from_millis(1)).await;
        let explanation = cold.engine.explain(&web(), &Insider).await;
        assert!(explanation.found && explanation.incomplete.is_empty());
        let facts = summary(&explanation);
        assert_eq!(facts[..4], ["wanted 3", "have 1", "ready 1", "available 1"]);
        let line = "slow start: create pods in shop\n";
        let plan = format!("why: 2 pods missing of 3, creating 2\n{line}{line}");
        assert_eq!(text(&explanation), plan);
        let json = explanation.plan.unwrap().json;
        let action = &json["steps"][0]["actions"][0];
        assert_eq!((&action["verb"], &action["times"]), (&json!("create"), &json!(2)));
        assert_eq!(action["body"]["metadata"]["generateName"], "web-");
        assert_eq!(explanation.place.queued_since, None, "nobody would take it");
        assert!(cold.server.under_way().await.is_empty(), "nothing is asked of the server");
        assert_eq!(cold.engine.status().syncs, 0);
    });
}

/// A viewer that may get nothing.
struct Unauthorized;

impl Viewer for Unauthorized {
    fn sight(&self, subjects: BTreeSet<Subject>) -> BoxFuture<'_, Sight> {
        let answer = |subject| (subject, Err("you may not".to_owned()));
        std::future::ready(Sight::Of(subjects.into_iter().map(answer).collect())).boxed()
    }
}

/// Not every viewer may see the template of a set.
#[test]
fn bodies_are_shown_to_viewers_that_may_see_them() {
    run(async {
        let controller = controllers::replicaset::Controller::new(500);
        let mut cold = Cold::new(controller, 2, DRAIN_LIMIT);
        let (_sets, _pods) = cold.warm(&[set(1, 3, 0)], &[pod("a", 1)]).await;
        cold.server.runtime.clock.sleep(Duration::from_millis(1)).await;
        let explanation = cold.engine.explain(&web(), &Unauthorized).await;
        let action = &explanation.plan.unwrap().json["steps"][0]["actions"][0];
        assert_eq!((&action["verb"], &action["times"]), (&json!("create"), &json!(2)));
        assert_eq!(action["body"], "… (you may not)");
    });
}

#[test]
fn live_reads_are_made_and_shown_and_nothing_else() {
    run(async {
        let (mut cold, _sets, _pods) = standby(fetches()).await;
        let key = web();
        let engine = Arc::clone(&cold.engine);
        let asked = engine.explain(&key, &Insider);
        let answered = async {
            let get = cold.server.find("GET", "/apis/apps/v1/namespaces/shop/replicasets/web");
            accept(get.await, &set(15, 0, 0)).await;
        };
        let (explanation, ()) = tokio::join!(asked, answered);
        assert_eq!(text(&explanation), "why: together\ntogether: create pods in shop\n");
        assert_eq!(explanation.live_reads, ["replicasets.apps shop/web: found, version 15"]);
        assert!(cold.server.under_way().await.is_empty());
    });
}

#[test]
fn a_plan_that_cannot_be_had_is_explained_too() {
    let panics = |stage: Stage| move |now: Stage, _: &Key| assert!(now != stage, "boom");
    let endless: Plans = Box::new(|_, _| Plan::fetch("again", vec![query()]));
    run(async {
        let (cold, _sets, _pods) = standby_with(panics(Stage::Decide), rest()).await;
        let explanation = cold.engine.explain(&web(), &Insider).await;
        assert_eq!(explanation.error.as_deref(), Some("panic: boom"));
        assert_eq!(summary(&explanation), ["name web"], "what came before stays");
        let (cold, _sets, _pods) = standby_with(panics(Stage::Summary), rest()).await;
        let explanation = cold.engine.explain(&web(), &Insider).await;
        assert_eq!(explanation.error.as_deref(), Some("panic: boom"));

        // The live read gets no response.
        let (cold, _sets, _pods) = standby(fetches()).await;
        let since = cold.server.runtime.clock.instant();
        let explanation = cold.engine.explain(&web(), &Insider).await;
        assert_eq!(cold.server.runtime.clock.instant() - since, Duration::from_secs(10));
        assert_eq!(explanation.error.as_deref(), Some("no plan within 10s"));
        assert!(explanation.found && explanation.plan.is_none());

        let (mut cold, _sets, _pods) = standby(endless).await;
        let (key, engine) = (web(), Arc::clone(&cold.engine));
        let answered = async {
            for _ in 0..8 {
                let get = cold.server.find("GET", "/apis/apps/v1/namespaces/shop/replicasets/web");
                refuse(get.await, 404, "NotFound", "not there").await;
            }
        };
        let (explanation, ()) = tokio::join!(engine.explain(&key, &Insider), answered);
        let error = "still asks for live reads after eight rounds";
        assert_eq!(explanation.error.as_deref(), Some(error));
        assert_eq!(explanation.live_reads, ["replicasets.apps shop/web: not found"]);
    });
}

#[test]
fn a_deleted_object_has_no_plan() {
    run(async {
        let (cold, _sets, _pods) = standby(rest()).await;
        let explanation = cold.engine.explain(&Key::new("shop", "other"), &Insider).await;
        assert!(!explanation.found);
        assert_eq!((explanation.plan, explanation.error), (None, None));
    });
}

/// Design 2: the expectations of an unsettled key, as text.
#[test]
fn what_blocks_a_key_is_reported() {
    run(async {
        let mut world = World::start(
            Probe::new(
                &Log::default(),
                |_, _| {},
                |_, _| together(&[create("a"), super::steps::delete("b")]),
            ),
            1,
            &[set(1, 0, 0)],
            &[pod("b", 1)],
        )
        .await;
        let (world, engine) = (&mut world.0, &world.1);
        let (post, delete) = (world.post().await, world.delete("b").await);
        world.wait(Duration::from_secs(2)).await;
        assert_eq!(engine.explain(&web(), &Insider).await.place.in_work_since, Some(at(0)));
        make(post, "a", 12).await;
        accept(delete, &pod("b", 13)).await;
        world.settle().await;
        let explanation = engine.explain(&web(), &Insider).await;
        let unsettled = serde_json::to_value(&explanation.unsettled).unwrap();
        let expected = json!({
            "meanwhile": "only its status is written",
            "awaits": [
                "pods: the cache must reach version 12, it is at 10",
                "pods: the cache must show the deletion of uid uid-b",
            ],
            "since": "1970-01-01T00:00:02Z",
            "until": null,
        });
        assert_eq!(unsettled, expected);
        assert!(text(&explanation).starts_with("why: together"), "what it would do otherwise");
        let _json: Value = serde_json::to_value(&explanation).unwrap();
        world.quiet().await;
    });
}

/// A create without a response blocks the key until its result is known.
#[test]
fn an_ambiguous_write_is_reported() {
    run(async {
        let probe = Probe::new(&Log::default(), |_, _| {}, |_, _| together(&[create("a")]));
        let (mut world, engine) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        world.post().await.reset();
        let list = world.reader.find("GET", "/api/v1/namespaces/shop/pods").await;
        let explanation = engine.explain(&web(), &Insider).await;
        assert_eq!(
            explanation.ambiguous_writes,
            ["pods \"a\" in \"shop\" may be the result of a create that failed"]
        );
        assert_eq!(
            engine.explain(&Key::new("shop", "other"), &Insider).await.ambiguous_writes,
            [""; 0]
        );
        list.reply(200, r#"{"metadata":{"resourceVersion":"10"},"items":[]}"#).await;
        world.settle().await;
        assert_eq!(engine.explain(&web(), &Insider).await.ambiguous_writes, [""; 0]);
    });
}

//! The requeue switch: when a key is synced next, and the rounds of live reads before that.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Key, Kind, ReplicaSet};
use cache::fixture::run;
use controller::{Answer, Facts, Plan, Query};

use crate::{Insider, Inspect as _};

use super::steps::{create, together};
use super::world::{Log, Probe, Seen, World, accept, make, refuse, set};

fn failed() -> Plan {
    Plan { error: Some("no".to_owned()), ..Plan::rest("fails") }
}

fn query() -> Query {
    Query::object(ReplicaSet::RESOURCE, Key::new("shop", "web"))
}

/// Machinery card, DefaultTypedControllerRateLimiter: 5 ms, doubled each time; success forgets.
#[test]
fn failures_back_off_until_success() {
    run(async {
        let fails = Arc::new(AtomicBool::new(true));
        let flag = Arc::clone(&fails);
        let plan = move |_: &_, _: &Facts| {
            if flag.load(Ordering::Relaxed) { failed() } else { Plan::rest("well") }
        };
        let (mut world, log) = World::probe(plan).await;
        world.wait(Duration::from_millis(100)).await;
        assert_eq!(log.observed(), [0, 5, 15, 35, 75]);
        fails.store(false, Ordering::Relaxed);
        world.wait(Duration::from_millis(100)).await;
        assert_eq!(log.observed(), [155]);
        fails.store(true, Ordering::Relaxed);
        world.sets.modified(&set(11, 0, 0)).await;
        world.wait(Duration::from_millis(20)).await;
        assert_eq!(log.observed(), [200, 205, 215]);
    });
}

/// A controller sees how often in a row its key has failed, so that it can start elsewhere; an
/// explanation shows what the next sync will see.
#[test]
fn failures_are_part_of_what_is_looked_at() {
    run(async {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (fails, record) = (Arc::new(AtomicBool::new(true)), Arc::clone(&seen));
        let flag = Arc::clone(&fails);
        let plan = move |it: &Seen, _: &Facts| {
            record.lock().unwrap().push(it.failures);
            if flag.load(Ordering::Relaxed) { failed() } else { Plan::rest("well") }
        };
        let probe = Probe::new(&Log::default(), |_, _| {}, plan);
        let (mut world, engine) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        let taken = || std::mem::take(&mut *seen.lock().unwrap());
        world.wait(Duration::from_millis(20)).await;
        assert_eq!(taken(), [0, 1, 2]);
        engine.explain(&Key::new("shop", "web"), &Insider).await;
        assert_eq!(taken(), [3]);
        fails.store(false, Ordering::Relaxed);
        world.wait(Duration::from_millis(100)).await;
        world.sets.modified(&set(11, 0, 0)).await;
        world.wait(Duration::from_millis(20)).await;
        assert_eq!(taken(), [3, 0]);
    });
}

/// TestDeleteControllerAndExpectations: nothing is remembered of a deleted set.
#[test]
fn deletion_forgets_the_back_off() {
    run(async {
        let (mut world, log) = World::probe(|_, _| failed()).await;
        world.wait(Duration::from_millis(100)).await;
        world.sets.deleted(&set(11, 0, 0)).await;
        world.wait(Duration::from_millis(100)).await;
        assert_eq!(log.observed(), [0, 5, 15, 35, 75, 100], "the last one finds nothing");
        world.sets.added(&set(12, 0, 0)).await;
        world.wait(Duration::from_millis(20)).await;
        assert_eq!(log.observed(), [200, 205, 215]);
    });
}

/// Card, Sync 9: the delay counts from the time of the decision, not from the end of the sync.
#[test]
fn again_counts_from_the_snapshot() {
    run(async {
        let plan = |_: &_, facts: &Facts| match facts.get(&query()) {
            None => Plan::fetch("is it there?", vec![query()]),
            Some(_) => Plan::rest("later").again_after(Some(Duration::from_secs(10))),
        };
        let (mut world, log) = World::probe(plan).await;
        for _ in 0..2 {
            let get = world.get().await;
            world.wait(Duration::from_secs(3)).await;
            accept(get, &set(1, 0, 0)).await;
        }
        let _next = world.get().await;
        assert_eq!(log.observed(), [0, 10_000, 20_000]);
    });
}

/// If the sync took longer than the plan's delay, the key is requeued at once.
#[test]
fn again_may_be_over_already() {
    run(async {
        let plan = |_: &_, facts: &Facts| match facts.get(&query()) {
            None => Plan::fetch("is it there?", vec![query()]),
            Some(_) => Plan::rest("later").again_after(Some(Duration::from_secs(10))),
        };
        let (mut world, log) = World::probe(plan).await;
        let get = world.get().await;
        world.wait(Duration::from_secs(12)).await;
        accept(get, &set(1, 0, 0)).await;
        let _next = world.get().await;
        assert_eq!(log.observed(), [0, 12_000]);
    });
}

/// metrics.md, workqueue_retries_total: a sync of an unsettled key is no retry; a failure is one.
#[test]
fn looks_at_unsettled_keys_are_no_retries() {
    run(async {
        let (mut world, log) = World::probe(|_, _| together(&[create("a")])).await;
        make(world.post().await, "a", 11).await;
        for version in 20..25 {
            world.sets.modified(&set(version, 0, 0)).await;
            world.settle().await;
        }
        assert_eq!(log.observed().len(), 6);
        assert_eq!(world.retries(), 0);
        world.pods.bookmark(11).await;
        refuse(world.post().await, 500, "InternalError", "boom").await;
        world.settle().await;
        assert_eq!(world.retries(), 1);
    });
}

/// Issue, at most four rounds of live reads.
#[test]
fn live_reads_have_a_limit() {
    run(async {
        let plan = |_: &_, _: &_| Plan::fetch("again and again", vec![query()]);
        let (mut world, log) = World::probe(plan).await;
        for _ in 0..8 {
            accept(world.get().await, &set(1, 0, 0)).await;
        }
        let _next = world.get().await;
        let decided = ["0 decide web"; 9];
        let next = ["5 observe web", "5 decide web"];
        assert_eq!(log.take(), [&["0 observe web"], &decided[..], &next].concat());
        world.quiet().await;
    });
}

/// Design 1: answers to live reads are data, found or not.
#[test]
fn live_reads_reach_the_decision() {
    let rows = [
        (200, set(15, 0, 0).to_string(), "found at 15"),
        (404, cache::fixture::status(404, "NotFound", "not there"), "not found"),
        (500, cache::fixture::status(500, "InternalError", "boom"), "failed: boom"),
        (200, "{".to_owned(), "failed: EOF"),
    ];
    for (code, answer, expected) in rows {
        run(async {
            let plan = |_: &_, facts: &Facts| match facts.get(&query()) {
                None => Plan::fetch("is it there?", vec![query()]),
                Some(answer) => Plan { error: Some(text(answer)), ..Plan::rest("read") },
            };
            let (mut world, log) = World::probe(plan).await;
            world.get().await.reply(code, answer).await;
            world.settle().await;
            let lines = log.take();
            assert_eq!(lines[..3], ["0 observe web", "0 decide web", "0 decide web"]);
            assert!(lines[3].starts_with(&format!("0 report {expected}")), "{lines:?}");
        });
    }
}

fn text(answer: &Answer) -> String {
    match answer.object() {
        Ok(Some((meta, _))) => format!("found at {}", meta.resource_version),
        Ok(None) => "not found".to_owned(),
        Err(error) => format!("failed: {error}"),
    }
}

/// Writes after live reads run as usual; no read is in progress during the writes.
#[test]
fn live_reads_come_before_writes() {
    run(async {
        let plan = |_: &_, facts: &Facts| match facts.get(&query()) {
            None => Plan::fetch("is it there?", vec![query()]),
            Some(_) => together(&[create("a")]),
        };
        let (mut world, _log) = World::probe(plan).await;
        let get = world.get().await;
        world.quiet().await;
        refuse(get, 404, "NotFound", "not there").await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.quiet().await;
    });
}

//! Engines without workers: objects that are created and deleted leave nothing behind.

use std::time::Duration;

use cache::fixture::{run, status};
use controller::Plan;

use super::world::{Cold, DRAIN_LIMIT, Feed, Log, Probe, World, named, orphan, set};

/// More objects than exist at any time.
const MANY: usize = 50;

fn probe(log: &Log) -> Probe {
    Probe::new(log, |_, _| {}, |_, _| Plan::rest("rest"))
}

async fn settle(cold: &Cold) {
    cold.server.runtime.clock.sleep(Duration::from_millis(1)).await;
}

/// The number of keys in the queue, and of delayed ones.
fn held(cold: &Cold) -> (usize, usize) {
    let backlog = cold.engine.queue.backlog();
    (backlog.depth, backlog.delayed)
}

/// Many sets are created and deleted.
async fn churn(sets: &mut Feed) {
    for number in 0..MANY {
        let set = |version| named(set(version, 0, 0), &format!("s{number}"));
        let version = 11 + 2 * number as u64;
        sets.added(&set(version)).await;
        sets.deleted(&set(version + 1)).await;
    }
}

/// Upstream's standby has no informers; ours has, and its handlers are not notified.
#[test]
fn a_standby_queues_nothing_and_then_looks_at_what_there_is() {
    run(async {
        let log = Log::default();
        let mut cold = Cold::new(probe(&log), 1, DRAIN_LIMIT);
        let (mut sets, mut pods) = cold.warm(&[set(1, 0, 0)], &[]).await;
        churn(&mut sets).await;
        pods.added(&orphan("a", 200)).await;
        settle(&cold).await;
        assert_eq!(held(&cold), (0, 0));

        sets.added(&named(set(201, 0, 0), "new")).await;
        let _task = cold.run();
        settle(&cold).await;
        let mut observed = log.take();
        observed.retain(|line| line.contains("observe"));
        let names = observed.iter().map(|line| line.rsplit(' ').next().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["new", "web"], "as if all were added now");

        // From now on the handlers are notified of changes, once each.
        sets.modified(&set(202, 0, 0)).await;
        settle(&cold).await;
        assert_eq!(log.observed().len(), 1);
    });
}

/// This process leads, and a kind cannot be listed: for months, if the permission is missing.
#[test]
fn nothing_is_queued_while_a_cache_is_awaited() {
    run(async {
        let mut cold = Cold::new(probe(&Log::default()), 1, DRAIN_LIMIT);
        let _task = cold.run();
        let mut sets =
            Feed::begin(&mut cold.server, "/apis/apps/v1/replicasets", &[set(1, 0, 0)], 10).await;
        for _ in ["streamed", "listed"] {
            let call = cold.server.find("GET", "/api/v1/pods").await;
            call.reply(403, status(403, "Forbidden", "pods is forbidden")).await;
        }
        churn(&mut sets).await;
        settle(&cold).await;
        assert_eq!(held(&cold), (0, 0));
    });
}

/// --concurrent-replicaset-syncs=0
#[test]
fn without_workers_nothing_is_queued() {
    run(async {
        let mut cold = Cold::new(probe(&Log::default()), 0, DRAIN_LIMIT);
        let _task = cold.run();
        let (mut sets, _pods) = cold.warm(&[set(1, 0, 0)], &[]).await;
        churn(&mut sets).await;
        settle(&cold).await;
        assert_eq!(held(&cold), (0, 0));
    });
}

/// Progress deadlines, minReadySeconds, requeues after days: timers of deleted objects end with
/// them.
#[test]
fn the_key_of_a_deleted_object_has_no_timer() {
    run(async {
        let plan = |_: &_, _: &_| Plan::rest("later").again_after(Some(Duration::from_hours(24)));
        let probe = Probe::new(&Log::default(), |_, _| {}, plan);
        let sets = [set(1, 0, 0), named(set(1, 0, 0), "old")];
        let (mut world, engine) = World::start(probe, 1, &sets, &[]).await;
        world.settle().await;
        assert_eq!(engine.queue.backlog().delayed, 2);
        world.sets.deleted(&named(set(11, 0, 0), "old")).await;
        world.settle().await;
        assert_eq!(engine.queue.backlog().delayed, 1, "that of web");
    });
}

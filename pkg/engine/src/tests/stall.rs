//! When a loop counts as stopped, and what only looks similar.

use std::sync::Arc;
use std::time::Duration;

use api::Key;
use cache::fixture::run;
use controller::{Plan, Step};
use runtime::Clock;

use super::steps::create;
use super::world::{Cold, DRAIN_LIMIT, Feed, Log, Probe, World, make, set};
use crate::record::Alive;
use crate::stall::{CONFIRM, SILENT_MAX, UNTAKEN_MAX};
use crate::{Engine, Inspect};

const SECOND: Duration = Duration::from_secs(1);

/// An engine whose workers do nothing; its queue holds `web`.
struct Still {
    cold: Cold,
    alive: Vec<Alive>,
    _feeds: (Feed, Feed),
}

impl Still {
    async fn new(workers: usize) -> Self {
        let probe = Probe::new(&Log::default(), |_, _| {}, |_, _| Plan::rest("rest"));
        let mut cold = Cold::new(probe, workers, DRAIN_LIMIT);
        let feeds = cold.warm(&[set(1, 0, 0)], &[]).await;
        let record = &cold.engine.act.record;
        let alive = (0..workers).map(|_| record.alive()).collect();
        record.running();
        let still = Self { cold, alive, _feeds: feeds };
        still.wait(Duration::from_millis(1)).await;
        still.engine().queue.add(web());
        assert_eq!(still.engine().queue.len(), 1);
        still
    }

    fn engine(&self) -> &Arc<Engine> {
        &self.cold.engine
    }

    fn clock(&self) -> &Clock {
        &self.cold.server.runtime.clock
    }

    async fn wait(&self, time: Duration) {
        self.clock().sleep(time).await;
    }

    fn look(&self) -> Option<String> {
        self.engine().stalled(self.clock().instant())
    }

    /// The result of two observations.
    async fn stalled(&self) -> Option<String> {
        assert_eq!(self.look(), None, "the first look is never believed");
        self.wait(CONFIRM).await;
        self.look()
    }
}

fn web() -> Key {
    Key::new("shop", "web")
}

#[test]
fn a_ready_key_that_a_free_worker_does_not_take() {
    run(async {
        let still = Still::new(2).await;
        still.wait(UNTAKEN_MAX.saturating_sub(2 * SECOND)).await;
        assert_eq!(still.stalled().await, None);
        still.wait(2 * SECOND).await;
        let words = still.stalled().await.unwrap();
        assert_eq!(words, "keys are ready and workers are free, but none was taken for 62 s");
    });
}

/// The observer runs first after the process was stopped as a whole (SIGSTOP, a machine that
/// hangs).
#[test]
fn a_pause_of_the_whole_process_is_no_stall() {
    run(async {
        let still = Still::new(1).await;
        still.wait(Duration::from_hours(1)).await;
        assert_eq!(still.look(), None);
        assert_eq!(still.look(), None, "no time for the workers in between");
        drop(still.engine().queue.get().await);
        still.engine().queue.add(web());
        still.wait(CONFIRM).await;
        assert_eq!(still.look(), None);
        still.wait(UNTAKEN_MAX + SECOND).await;
        assert!(still.stalled().await.is_some());
    });
}

#[test]
fn a_key_waits_while_all_workers_have_one() {
    run(async {
        let still = Still::new(1).await;
        let _held = still.engine().queue.get().await.unwrap();
        still.engine().queue.add(Key::new("shop", "other"));
        still.wait(Duration::from_hours(1)).await;
        assert_eq!(still.stalled().await, None);
    });
}

#[test]
fn keys_that_are_taken_now_and_then_are_slow_work() {
    run(async {
        let still = Still::new(2).await;
        let queue = &still.engine().queue;
        for name in ["a", "b", "c", "d"] {
            queue.add(Key::new("shop", name));
        }
        for _ in 0..4 {
            still.wait(UNTAKEN_MAX.saturating_sub(SECOND)).await;
            assert_eq!(still.look(), None);
            drop(queue.get().await);
        }
    });
}

/// Upstream relies on its queue's timer; if ours got lost, the key would be ready all the same.
#[test]
fn a_delay_that_is_over_counts_from_its_end() {
    run(async {
        let still = Still::new(1).await;
        drop(still.engine().queue.get().await);
        still.engine().queue.add_after(web(), Duration::from_hours(1));
        still.wait(Duration::from_hours(1)).await;
        assert_eq!(still.stalled().await, None, "an empty queue, then a key that is just ready");
        still.wait(UNTAKEN_MAX).await;
        assert!(still.stalled().await.is_some());
    });
}

#[test]
fn a_key_without_a_sign_of_life() {
    run(async {
        let still = Still::new(1).await;
        let (key, record) = (web(), &still.engine().act.record);
        let _held = still.engine().queue.get().await.unwrap();
        let working = record.working(&key);
        still.wait(SILENT_MAX.saturating_sub(2 * SECOND)).await;
        assert_eq!(still.stalled().await, None);
        record.heard(&key, Duration::ZERO);
        still.wait(SILENT_MAX).await;
        assert_eq!(still.look(), None, "it was heard of");
        still.wait(SECOND).await;
        let words = still.stalled().await.unwrap();
        assert_eq!(words, "shop/web is in work, and nothing was heard of it for 602 s");
        drop(working);
        assert_eq!(still.look(), None);
    });
}

/// A small --kube-api-qps: requests of one sync wait for the rate limit for longer than the limit.
#[test]
fn a_wait_for_the_rate_limit_is_no_stall() {
    run(async {
        let still = Still::new(1).await;
        let (key, record) = (web(), &still.engine().act.record);
        let _held = still.engine().queue.get().await.unwrap();
        let _working = record.working(&key);
        record.heard(&key, Duration::from_hours(2));
        record.heard(&key, Duration::from_secs(1));
        still.wait(Duration::from_hours(2) + SILENT_MAX.saturating_sub(SECOND)).await;
        assert_eq!(still.stalled().await, None);
        still.wait(2 * SECOND).await;
        assert!(still.stalled().await.is_some());
    });
}

#[test]
fn workers_that_ended_by_themselves() {
    run(async {
        let probe = Probe::new(&Log::default(), |_, _| {}, |_, _| Plan::rest("rest"));
        let (mut world, engine) = World::start(probe, 2, &[set(1, 0, 0)], &[]).await;
        world.settle().await;
        assert_eq!(engine.stalled(world.instant()), None);
        // A worker ends when its queue does.
        engine.queue.shut_down();
        world.settle().await;
        assert_eq!(engine.status().workers_alive, 0);
        assert_eq!(engine.stalled(world.instant()), None);
        world.wait(CONFIRM).await;
        let words = engine.stalled(world.instant()).unwrap();
        assert_eq!(words, "none of 2 workers is left, although the controller was not stopped");
        world.stop().await;
        assert_eq!(engine.stalled(world.instant()), None, "now they were asked to");
    });
}

/// A controller that was stopped needs no workers, nor does one on a standby, one that waits for
/// its caches, or one with zero workers (--concurrent-replicaset-syncs=0).
#[test]
fn a_controller_that_should_not_run_does_not_stall() {
    run(async {
        let still = Still::new(1).await;
        still.wait(Duration::from_hours(1)).await;
        assert!(still.stalled().await.is_some());
        still.cold.server.runtime.cancel.cancel();
        assert_eq!(still.stalled().await, None);

        assert_eq!(Still::new(0).await.stalled().await, None);

        let probe = Probe::new(&Log::default(), |_, _| {}, |_, _| Plan::rest("rest"));
        let mut standby = Cold::new(probe, 1, DRAIN_LIMIT);
        let (clock, engine) = (standby.server.runtime.clock.clone(), Arc::clone(&standby.engine));
        let _feeds = standby.warm(&[set(1, 0, 0)], &[]).await;
        engine.queue.add(web());
        let probe = Probe::new(&Log::default(), |_, _| {}, |_, _| Plan::rest("rest"));
        let waits = Cold::new(probe, 1, DRAIN_LIMIT);
        let _task = waits.run();
        waits.engine.queue.add(web());
        for _ in 0..3 {
            clock.sleep(Duration::from_hours(1)).await;
            assert_eq!(engine.stalled(clock.instant()), None, "a standby");
            assert_eq!(waits.engine.stalled(clock.instant()), None, "waits for caches");
        }
    });
}

/// Half of the workers have ended, the others are busy: the loop still makes progress.
#[test]
fn a_worker_that_is_left_is_a_worker() {
    run(async {
        let mut still = Still::new(2).await;
        let held = still.engine().queue.get().await.unwrap();
        still.alive.pop();
        still.wait(Duration::from_hours(1)).await;
        assert_eq!(still.stalled().await, None, "nothing is ready");
        drop(held);
    });
}

/// A sync of ten hours: each request takes a minute, some are refused with a Retry-After.
#[test]
fn slow_requests_are_no_stall() {
    run(async {
        let creates = (0..300).map(|n| create(&format!("p{n}"))).collect();
        let plan = Plan::one("slow", Step::InOrder(creates));
        let probe = Probe::new(&Log::default(), |_, _| {}, move |_, _| plan.clone());
        let (mut world, engine) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        for number in 0..300 {
            let post = world.post().await;
            let since = world.instant();
            while world.instant() - since < Duration::from_mins(1) {
                world.wait(20 * SECOND).await;
                assert_eq!(engine.stalled(world.instant()), None);
            }
            make(post, &format!("p{number}"), 11 + number).await;
        }
    });
}

/// The API server asks to retry later again and again, for longer than the limit.
#[test]
fn retries_that_the_server_asks_for_are_no_stall() {
    run(async {
        let plan = Plan::one("one", Step::InOrder(vec![create("a")]));
        let probe = Probe::new(&Log::default(), |_, _| {}, move |_, _| plan.clone());
        let (mut world, engine) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        let since = world.instant();
        for _ in 0..11 {
            let post = world.server.find("POST", super::world::PODS).await;
            let later = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,
                "reason":"TooManyRequests","details":{"retryAfterSeconds":60}}"#;
            world.wait(30 * SECOND).await;
            assert_eq!(engine.status().syncs, 1, "all that is one sync");
            post.reply(429, later).await;
            world.wait(SECOND).await;
            assert_eq!(engine.stalled(world.instant()), None);
            world.wait(SECOND).await;
            assert_eq!(engine.stalled(world.instant()), None);
        }
        assert!(world.instant() - since > SILENT_MAX);
    });
}

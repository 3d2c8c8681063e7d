//! Guarantees for any controller: panics are contained, the log names the sync, and the engine
//! stops when the process shuts down.

use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use api::{Key, Kind as _, ReplicaSet};
use cache::fixture::run;
use controller::{Event, EventType, ObjectRef, Plan};
use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};

use super::steps::{create, delete, together};
use super::world::{
    Cold, DRAIN_LIMIT, Log, Probe, Stage, World, accept, make, named, orphan, pod, refuse, set,
};
use crate::Inspect;

/// The log of this thread as text.
#[derive(Clone, Default)]
pub(super) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub(super) fn record() -> (Self, DefaultGuard) {
        // With one log in the process, the first test that reaches a line decides for all tests
        // whether the line is enabled; with two, both are asked each time.
        static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
        LazyLock::force(&OTHER);
        let lines = Self::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).without_time();
        let log = log.with_writer(move || writer.clone()).finish();
        (lines, tracing::subscriber::set_default(log))
    }

    /// The lines that contain `words`.
    pub(super) fn with(&self, words: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Issue, panic fence: in each stage a panic is counted, logged with controller and key, and
/// retried with back-off, while other keys continue with the same worker.
#[test]
fn panics_stay_inside_the_sync() {
    for stage in [Stage::Observe, Stage::Decide, Stage::Report] {
        run(async {
            let (lines, _guard) = Lines::record();
            let hook = move |now, key: &api::Key| {
                assert!(now != stage || &*key.name != "bad", "boom");
            };
            let sets = [named(set(1, 0, 0), "bad"), named(set(1, 0, 0), "good")];
            let rest = |_: &_, _: &_| Plan::rest("rest");
            let (mut world, log) = World::probe_with(&sets, hook, rest).await;
            world.wait(Duration::from_millis(20)).await;
            world.sets.modified(&named(set(11, 0, 0), "good")).await;
            world.settle().await;

            let mut observed = log.take();
            observed.retain(|line| line.contains("observe"));
            let expected = ["0 observe bad", "0 observe good", "5 observe bad", "15 observe bad"];
            assert_eq!(observed, [&expected[..], &["20 observe good"]].concat(), "{stage:?}");
            let panics = world.metrics.panics.with_label_values(&["test-controller"]);
            assert_eq!(panics.get(), 3);
            let logged = lines.with("panic: boom");
            assert_eq!(logged.len(), 3);
            let span = r#"WARN sync{controller="test-controller" key=shop/bad}"#;
            assert!(logged.iter().all(|line| line.contains(span)), "{logged:?}");
        });
    }
}

/// The only worker survives a controller that panics when it is notified of a deletion.
#[test]
fn panics_about_a_deleted_object_stay_inside_the_sync() {
    run(async {
        let hook = |stage, _: &_| assert!(stage != Stage::Deleted, "boom");
        let rest = |_: &_, _: &_| Plan::rest("rest");
        let (mut world, log) = World::probe_with(&[set(1, 0, 0)], hook, rest).await;
        world.settle().await;
        world.sets.deleted(&set(11, 0, 0)).await;
        world.settle().await;
        let panics = world.metrics.panics.with_label_values(&["test-controller"]);
        assert_eq!(panics.get(), 1);
        log.take();
        world.sets.added(&named(set(12, 0, 0), "good")).await;
        world.settle().await;
        assert!(log.take().iter().any(|line| line.ends_with("observe good")));
    });
}

/// Issue, panic fence: a handler that panics loses its event and nothing else.
#[test]
fn panics_of_handlers_do_not_stop_the_informer() {
    run(async {
        let (lines, _guard) = Lines::record();
        let (mut world, log) = World::probe(|_, _| Plan::rest("rest")).await;
        world.settle().await;
        world.pods.added(&orphan("poison", 11)).await;
        world.settle().await;
        assert_eq!(lines.with("a handler panicked").len(), 1);
        assert_eq!(log.observed(), [0]);
        world.pods.added(&orphan("a", 12)).await;
        world.settle().await;
        assert_eq!(log.observed(), [2]);
    });
}

/// Expectations are settled, and the key is enqueued, also by an event whose handler panics.
#[test]
fn panics_of_handlers_do_not_unsettle() {
    run(async {
        let (mut world, log) = World::probe(|_, _| together(&[create("a")])).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.settle().await;
        world.pods.added(&orphan("poison", 11)).await;
        let _again = world.post().await;
        assert_eq!(log.observed(), [0, 1]);

        let (log, pods) = (Log::default(), [orphan("poison", 1)]);
        let probe = Probe::new(&log, |_, _| {}, |_, _| together(&[delete("poison")]));
        let (mut world, _) = World::start(probe, 1, &[set(1, 0, 0)], &pods).await;
        accept(world.delete("poison").await, &pods[0]).await;
        world.settle().await;
        world.pods.deleted(&orphan("poison", 11)).await;
        let _again = world.delete("poison").await;
        assert_eq!(log.observed(), [0, 1]);
    });
}

/// Issue, span per sync with controller and key: on all log lines of a sync.
#[test]
fn span_names_controller_and_key() {
    run(async {
        let (lines, _guard) = Lines::record();
        let (mut world, _log) = World::probe(|_, _| together(&[create("a")])).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.settle().await;
        let acted = lines.with("acted");
        let span = r#"INFO sync{controller="test-controller" key=shop/web}"#;
        assert!(acted.len() == 1 && acted[0].contains(span), "{acted:?}");
    });
}

/// A conflict with another writer is normal, and not worth a warning unless it repeats. Other
/// refusals are warnings at once.
#[test]
fn conflicts_are_quiet_until_they_are_many() {
    for (reason, warnings) in [("Conflict", 1), ("AlreadyExists", 6), ("Invalid", 6)] {
        run(async {
            let (lines, _guard) = Lines::record();
            let (mut world, _log) = World::probe(|_, _| together(&[create("a")])).await;
            for _ in 0..6 {
                let post = world.post().await;
                refuse(post, 409, reason, "no").await;
                world.settle().await;
            }
            assert_eq!(lines.with("sync failed, will be retried").len(), warnings, "{reason}");
        });
    }
}

/// garbagecollector.go, attemptToDeleteWorker: an owner of a kind that is not served is retried
/// again and again, and logged at a verbosity that is off by default.
#[test]
fn quiet_errors_are_reported_but_not_warned_of() {
    run(async {
        let (lines, _guard) = Lines::record();
        let plan = |_: &_, _: &_| Plan::failed_quietly("why", "not served");
        let probe = Probe::new(&Log::default(), |_, _| {}, plan);
        let (world, engine) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        world.wait(Duration::from_secs(1)).await;
        assert_eq!(lines.with("not served"), Vec::<String>::new());
        let status = engine.status();
        assert!(status.failing[0].failures > 5, "it is tried again");
        assert_eq!(status.failing[0].error, "not served");
    });
}

/// The same for the status, which several controllers write.
#[test]
fn conflicts_of_a_status_are_quiet() {
    run(async {
        let (lines, _guard) = Lines::record();
        let mut world = World::new(&[set(1, 1, 0)], &[pod("a", 1)]).await;
        refuse(world.put().await, 409, "Conflict", "no").await;
        accept(world.get().await, &set(15, 1, 0)).await;
        refuse(world.put().await, 409, "Conflict", "no").await;
        let _again = world.put().await;
        assert_eq!(lines.with("WARN"), [""; 0]);
    });
}

/// A panic in the middle of writes: the writes that were done are awaited nevertheless.
#[test]
fn panic_after_writes_does_not_repeat_them() {
    run(async {
        let hook = |stage, _: &_| assert!(stage != Stage::Report, "boom");
        let plan = |_: &_, _: &_| together(&[create("a")]);
        let (mut world, log) = World::probe_with(&[set(1, 0, 0)], hook, plan).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.quiet().await;
        let lines = log.take();
        assert_eq!(lines[..3], ["0 observe web", "0 decide web", "0 report done web"]);
        assert!(lines[3..].iter().all(|line| !line.contains("decide")), "{lines:?}");
    });
}

/// Issue, shutdown: the sync in progress ends, and no other one begins.
#[test]
fn stops_after_the_sync_that_is_under_way() {
    run(async {
        let sets = [named(set(1, 0, 0), "first"), named(set(1, 0, 0), "second")];
        let plan = |_: &_, _: &_| together(&[create("a")]);
        let (mut world, log) = World::probe_with(&sets, |_, _| {}, plan).await;
        let post = world.post().await;
        world.server.runtime.cancel.cancel();
        world.settle().await;
        make(post, "a", 11).await;
        assert_eq!(world.stop().await, Duration::ZERO);
        assert_eq!(log.take(), ["0 observe first", "0 decide first", "0 report done first"]);
        world.quiet().await;
    });
}

/// Issue, shutdown: the next leader must not wait for a long plan: the write in progress ends, the
/// following ones are skipped, and a plan that was cut short is not reported.
#[test]
fn a_long_plan_stops_between_two_writes() {
    run(async {
        let in_order = controller::Step::InOrder(vec![create("a"), create("b")]);
        let slow_start = controller::Step::SlowStart(vec![create("a"), create("b")]);
        let chains = controller::Step::Chains(vec![vec![create("a"), create("b")]]);
        for step in [in_order, slow_start, chains] {
            let plan = move |_: &_, _: &_| Plan::one("long", step.clone());
            let (mut world, log) = World::probe(plan).await;
            let post = world.post().await;
            world.server.runtime.cancel.cancel();
            world.settle().await;
            make(post, "a", 11).await;
            assert_eq!(world.stop().await, Duration::ZERO);
            world.quiet().await;
            assert_eq!(log.take(), ["0 observe web", "0 decide web"]);
        }
    });
}

/// manager.md, Shutdown: the broadcaster outlives the workers, and the Events of the last syncs are
/// sent.
#[test]
fn events_of_the_last_syncs_are_sent() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        world.server.runtime.cancel.cancel();
        world.settle().await;
        make(post, "a", 11).await;
        assert_eq!(world.event().await, "Normal SuccessfulCreate Created pod: a");
    });
}

/// Two engines of one controller share a recorder: the one that stops first must not end it for the
/// other.
#[test]
fn an_engine_that_ends_leaves_the_recorder_to_others() {
    run(async {
        let probe = Probe::new(&Log::default(), |_, _| {}, |_, _| Plan::rest("rest"));
        let cold = Cold::new(probe, 1, DRAIN_LIMIT);
        let others = cold.engine.act.recorder.clone();
        let (mut world, _) = cold.start(&[set(1, 0, 0)], &[]).await;
        world.settle().await;
        world.stop().await;
        let (resource, key) = (ReplicaSet::RESOURCE, Key::new("shop", "web"));
        others.record(Event {
            about: Arc::new(ObjectRef {
                resource,
                key,
                uid: "uid-web".into(),
                resource_version: 1,
            }),
            r#type: EventType::Normal,
            reason: "Last".into(),
            message: "of another engine".to_owned(),
        });
        assert_eq!(world.event().await, "Normal Last of another engine");
    });
}

/// leaderelection.go, renew: an expired lease may still be renewed, by a request in progress. Then
/// this process leads on, and nothing else enqueues the keys whose writes were refused.
#[test]
fn what_the_fence_refused_is_tried_again() {
    run(async {
        let (mut world, log) = World::probe(|_, _| together(&[create("a")])).await;
        world.close_fence(true);
        world.wait(Duration::from_millis(20)).await;
        assert_eq!(log.observed(), [0, 5, 15]);
        world.close_fence(false);
        let post = world.post().await;
        make(post, "a", 11).await;
        world.settle().await;
        assert_eq!(world.retries(), 3);
    });
}

/// The same if the process shuts down meanwhile: the next leader decides anew.
#[test]
fn what_the_fence_refused_ends_with_the_process() {
    run(async {
        let plan = |_: &_, _: &_| {
            Plan::one("two", controller::Step::InOrder(vec![create("a"), create("b")]))
        };
        let (mut world, log) = World::probe(plan).await;
        let post = world.post().await;
        world.close_fence(true);
        world.server.runtime.cancel.cancel();
        make(post, "a", 11).await;
        assert_eq!(world.stop().await, Duration::ZERO);
        assert_eq!(log.take(), ["0 observe web", "0 decide web"]);
    });
}

/// Issue, shutdown: a hanging request is given up after 5 s, and the writes after it are skipped.
#[test]
fn stops_although_a_request_hangs() {
    run(async {
        let plan = |_: &_, _: &_| {
            Plan::one("two", controller::Step::InOrder(vec![create("a"), create("b")]))
        };
        let (mut world, log) = World::probe(plan).await;
        let post = world.post().await;
        assert_eq!(world.stop().await, Duration::from_secs(5));
        world.quiet().await;
        assert!(post.is_given_up());
        assert_eq!(log.take(), ["0 observe web", "0 decide web"]);
    });
}

/// manager.md, --controller-shutdown-timeout: zero is no limit. The hanging request times out after
/// 65 s; the writes after it are still skipped, since it failed.
#[test]
fn without_a_limit_a_sync_ends_in_its_own_time() {
    run(async {
        let log = Log::default();
        let probe = Probe::new(&log, |_, _| {}, |_, _| together(&[create("a")]));
        let (mut world, _) = Cold::new(probe, 1, Duration::ZERO).start(&[set(1, 0, 0)], &[]).await;
        let post = world.post().await;
        assert_eq!(world.stop().await, Duration::from_secs(65));
        assert!(post.is_given_up());
        let lines = log.take();
        assert!(lines[2].starts_with("0 report POST "), "the error of the request: {lines:?}");
        assert_eq!(lines.len(), 3, "no key is begun after the stop");
    });
}

/// The engine also stops before the caches are complete.
#[test]
fn stops_before_it_has_begun() {
    run(async {
        let (mut world, log) = World::probe(|_, _| Plan::rest("rest")).await;
        assert_eq!(world.stop().await, Duration::ZERO);
        assert!(log.take().is_empty());
    });
}

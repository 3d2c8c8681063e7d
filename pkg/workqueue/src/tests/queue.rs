//! The queue as a pure structure, by tables and against a model.

use proptest::prelude::*;

use super::{Duration, Instant, ms, start};
use crate::queue::{Core, Load, Priority, Taken, Whereabouts};
use Priority::{High, Low, Normal};

/// A queue and the time, so that tests read as a list of steps.
struct Fixture {
    core: Core<&'static str>,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        Self { core: Core::default(), now: start() }
    }

    fn step(&mut self, step: Duration) {
        self.now += step;
        self.core.advance(self.now);
        self.core.check();
    }

    fn add(&mut self, key: &'static str) {
        self.add_with(key, Normal);
    }

    fn add_with(&mut self, key: &'static str, priority: Priority) {
        self.core.add(self.now, key, priority);
        self.core.check();
    }

    fn add_after(&mut self, key: &'static str, delay: Duration) {
        self.core.add_after(self.now, key, Normal, delay);
        self.core.check();
    }

    fn take(&mut self) -> Option<&'static str> {
        let taken = self.core.take(self.now);
        self.core.check();
        taken.map(|taken| taken.key)
    }

    fn deleted(&mut self, key: &'static str) {
        self.core.deleted(self.now, &key);
        self.core.check();
    }

    fn done(&mut self, key: &'static str) {
        self.core.done(self.now, &key).expect("a worker has it");
        self.core.check();
    }

    /// Takes and finishes all keys.
    fn finish(&mut self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        while let Some(key) = self.take() {
            self.done(key);
            keys.push(key);
        }
        keys
    }
}

// queue_test.go: TestLen
#[test]
fn a_queued_key_is_queued_once() {
    let mut queue = Fixture::new();
    for (key, len) in [("foo", 1), ("bar", 2), ("foo", 2)] {
        queue.add(key);
        assert_eq!(queue.core.len(), len);
    }
    assert_eq!(queue.finish(), ["foo", "bar"]);
}

// TestReinsert, TestCollapse, TestCollapseWhileProcessing
#[test]
fn a_key_that_a_worker_has_is_queued_when_the_worker_is_done() {
    let mut queue = Fixture::new();
    queue.add("foo");
    queue.add("foo");
    assert_eq!(queue.take(), Some("foo"));
    queue.add("foo");
    queue.add("foo");
    queue.add("bar");
    assert_eq!(queue.take(), Some("bar"), "foo is taken");
    assert_eq!(queue.take(), None);
    queue.done("foo");
    assert_eq!(queue.take(), Some("foo"));
    queue.done("foo");
    queue.done("bar");
    assert!(queue.core.is_idle());
}

// Upstream pushes in Done, so behind the keys that were added meanwhile
#[test]
fn a_key_that_comes_back_queues_behind_the_others() {
    let mut queue = Fixture::new();
    queue.add("foo");
    assert_eq!(queue.take(), Some("foo"));
    queue.add("foo");
    queue.add("bar");
    queue.done("foo");
    assert_eq!(queue.finish(), ["bar", "foo"]);
}

// Upstream's Done would queue the key a second time
#[test]
fn done_without_take_does_nothing() {
    let mut queue = Fixture::new();
    queue.add("foo");
    assert_eq!(queue.core.done(queue.now, &"foo"), None);
    queue.core.check();
    assert_eq!(queue.finish(), ["foo"]);
}

/// (name, adds in order, expected order)
type Order = (&'static str, &'static [(&'static str, Priority)], &'static [&'static str]);

const ORDERS: &[Order] = &[
    ("FIFO", &[("c", Normal), ("a", Normal), ("b", Normal)], &["c", "a", "b"]),
    ("higher first", &[("a", Low), ("b", Normal), ("c", High)], &["c", "b", "a"]),
    ("raised", &[("a", Low), ("b", Low), ("c", Normal), ("b", High)], &["b", "c", "a"]),
    ("raised keeps its age", &[("a", Low), ("b", Normal), ("a", Normal)], &["a", "b"]),
    ("not lowered", &[("a", High), ("b", Normal), ("a", Low)], &["a", "b"]),
];

#[test]
fn keys_are_taken_by_priority_and_then_by_age() {
    for (name, adds, order) in ORDERS {
        let mut queue = Fixture::new();
        for (key, priority) in *adds {
            queue.add_with(key, *priority);
        }
        assert_eq!(queue.finish(), *order, "{name}");
    }
}

#[test]
fn the_priority_counts_also_for_a_key_that_a_worker_has() {
    let mut queue = Fixture::new();
    queue.add("foo");
    assert_eq!(queue.take(), Some("foo"));
    queue.add_with("foo", Low);
    queue.add("bar");
    queue.add_with("foo", High);
    queue.done("foo");
    let taken = Taken { key: "foo", priority: High, waited: Duration::ZERO };
    assert_eq!(queue.core.take(queue.now), Some(taken));
}

// delaying_queue_test.go: TestSimpleQueue
#[test]
fn a_delayed_key_is_queued_once_when_its_delay_ends() {
    let mut queue = Fixture::new();
    queue.add_after("foo", ms(50));
    assert_eq!(queue.core.next_wakeup(), Some(queue.now + ms(50)));
    queue.step(ms(49));
    assert_eq!(queue.take(), None);
    queue.step(ms(1));
    assert_eq!(queue.finish(), ["foo"]);
    assert_eq!(queue.core.next_wakeup(), None);
    queue.step(Duration::from_secs(10));
    assert_eq!(queue.take(), None);
}

// TestDeduping
#[test]
fn of_several_delays_the_earliest_counts() {
    for delays in [[50, 70], [70, 50]] {
        let mut queue = Fixture::new();
        for delay in delays {
            queue.add_after("foo", ms(delay));
        }
        queue.step(ms(60));
        assert_eq!(queue.finish(), ["foo"], "{delays:?}");
        queue.step(ms(20));
        assert_eq!(queue.take(), None, "{delays:?}");
    }
}

// TestAddTwoFireEarly, TestCopyShifting
#[test]
fn delayed_keys_are_queued_in_the_order_of_their_times() {
    let mut queue = Fixture::new();
    queue.add_after("third", ms(1000));
    queue.add_after("second", ms(500));
    queue.add_after("first", ms(250));
    queue.add_after("too late", ms(9000));
    queue.now += ms(2000);
    queue.add("now");
    assert_eq!(queue.finish(), ["first", "second", "third", "now"], "due keys go before an add");
}

#[test]
fn delays_at_the_edges() {
    let mut queue = Fixture::new();
    queue.add_after("at once", Duration::ZERO);
    queue.add_after("never", Duration::MAX);
    assert_eq!(queue.finish(), ["at once"]);
    queue.add_after("foo", ms(50));
    queue.add("foo");
    assert_eq!(queue.finish(), ["foo"], "the add does not wait for the delay");
    queue.step(ms(50));
    assert_eq!(queue.finish(), ["foo"], "and does not take it back");
    queue.core.add_after(queue.now, "bar", Low, ms(9));
    queue.core.add_after(queue.now, "bar", High, ms(99));
    queue.step(ms(9));
    let taken = Taken { key: "bar", priority: High, waited: Duration::ZERO };
    assert_eq!(queue.core.take(queue.now), Some(taken), "earliest time, highest priority");
}

// Upstream's delays end for deleted objects too, and no metric shows how many there are
#[test]
fn an_earlier_delay_does_not_enqueue_a_deleted_object() {
    let mut queue = Fixture::new();
    queue.add_after("foo", ms(1000));
    queue.add_after("bar", ms(1000));
    queue.deleted("foo");
    assert_eq!(queue.core.backlog().delayed, 2, "no worker has looked");
    queue.add("foo");
    assert_eq!(queue.take(), Some("foo"));
    queue.deleted("foo");
    queue.done("foo");
    assert_eq!(queue.core.backlog().delayed, 1);
    queue.step(ms(1000));
    assert_eq!(queue.finish(), ["bar"]);
}

#[test]
fn a_delay_that_was_asked_for_while_a_worker_looked_is_kept() {
    for before in [None, Some(50), Some(90)] {
        let mut queue = Fixture::new();
        if let Some(before) = before {
            queue.add_after("foo", ms(before));
        }
        queue.add("foo");
        assert_eq!(queue.take(), Some("foo"));
        // It is created again before the worker reports that it was deleted.
        queue.add_after("foo", ms(70));
        queue.deleted("foo");
        queue.done("foo");
        queue.step(ms(70));
        assert_eq!(queue.finish(), ["foo"], "{before:?}");
    }
}

// TestBasic ("added after shutdown!"), TestNoQueueDrainageUsingShutDown
#[test]
fn shutting_down_drops_adds_and_delays_and_keeps_what_is_queued() {
    let mut queue = Fixture::new();
    queue.add("queued");
    queue.add("again");
    queue.add_after("due", ms(10));
    queue.add_after("delayed", ms(20));
    assert_eq!(queue.take(), Some("queued"));
    queue.add("queued");
    queue.now += ms(10);
    queue.core.shut_down(queue.now);
    queue.core.check();
    queue.add("late");
    queue.add("queued");
    queue.add_after("late", Duration::ZERO);
    queue.add_after("late", ms(1));
    queue.add_with("due", High);
    queue.step(ms(100));
    assert!(queue.core.is_shutting_down());
    assert_eq!(queue.core.next_wakeup(), None);
    queue.done("queued");
    assert_eq!(queue.finish(), ["again", "due", "queued"]);
    assert!(queue.core.is_idle());
}

// TestQueueDrainageUsingShutDownWithDrain{,WithDirtyItem}, TestForceQueueShutdownUsingShutDown
#[test]
fn a_drain_ends_when_no_key_is_left_or_by_force() {
    let mut queue = Fixture::new();
    assert!(queue.core.is_drained(), "none was begun");
    queue.add("foo");
    assert_eq!(queue.take(), Some("foo"));
    queue.add("foo");
    queue.core.drain(queue.now);
    assert!(!queue.core.is_drained(), "a worker has foo");
    assert_eq!(queue.take(), None);
    queue.done("foo");
    assert!(!queue.core.is_drained(), "foo is queued again");
    assert_eq!(queue.take(), Some("foo"));
    let mut forced = Fixture { core: std::mem::take(&mut queue.core), now: queue.now };
    forced.core.shut_down(forced.now);
    assert!(forced.core.is_drained() && !forced.core.is_idle());
    forced.core.drain(forced.now);
    assert!(!forced.core.is_drained(), "a drain may follow");
    forced.done("foo");
    assert!(forced.core.is_drained() && forced.core.is_idle());
}

// metrics_test.go: TestMetrics
#[test]
fn the_queue_knows_its_adds_and_times() {
    let mut queue = Fixture::new();
    queue.add("foo");
    queue.now += ms(50);
    let taken = Taken { key: "foo", priority: Normal, waited: ms(50) };
    assert_eq!(queue.core.take(queue.now), Some(taken));
    for _ in 0..5 {
        queue.add("foo");
    }
    assert_eq!(queue.core.adds(), 2);
    queue.now += ms(25);
    let load = Load { depth: 1, unfinished: ms(25), longest: ms(25) };
    assert_eq!(queue.core.load(queue.now), load);
    assert_eq!(queue.core.done(queue.now, &"foo"), Some(ms(25)));
    let taken = Taken { key: "foo", priority: Normal, waited: ms(25) };
    assert_eq!(queue.core.take(queue.now), Some(taken), "waited since the add, not the return");
    queue.add("bar");
    queue.now += ms(1);
    assert_eq!(queue.take(), Some("bar"));
    queue.now += ms(1);
    let load = Load { depth: 0, unfinished: ms(3), longest: ms(2) };
    assert_eq!(queue.core.load(queue.now), load);
}

#[test]
fn a_delayed_key_waits_since_its_delay_ended() {
    let mut queue = Fixture::new();
    queue.add_after("foo", ms(10));
    queue.now += ms(17);
    let taken = Taken { key: "foo", priority: Normal, waited: ms(7) };
    assert_eq!(queue.core.take(queue.now), Some(taken));
}

#[test]
fn time_that_goes_back_does_no_harm() {
    let (mut core, now) = (Core::default(), start() + ms(100));
    let before = now.checked_sub(ms(50)).expect("after the start");
    core.add(now, "foo", Normal);
    let taken = core.take(before).expect("queued");
    assert_eq!(taken.waited, Duration::ZERO);
    assert_eq!(core.load(before.checked_sub(ms(1)).expect("after the start")).longest, ms(0));
    assert_eq!(core.done(before, &"foo"), Some(Duration::ZERO));
}

#[derive(Clone, Debug)]
enum Op {
    Add(u8, Priority),
    AddAfter(u8, Priority, u64),
    Take,
    /// The n-th of the keys that workers have, if there are any.
    Done(usize),
    /// The same.
    Deleted(usize),
    Step(u64),
    ShutDown,
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..6_u8;
    let priority = prop::sample::select(vec![Low, Normal, High]);
    prop_oneof![
        6 => (key.clone(), priority.clone()).prop_map(|(key, priority)| Op::Add(key, priority)),
        4 => (key, priority, 0..8_u64)
            .prop_map(|(key, priority, delay)| Op::AddAfter(key, priority, delay)),
        6 => Just(Op::Take),
        5 => (0..6_usize).prop_map(Op::Done),
        1 => (0..6_usize).prop_map(Op::Deleted),
        4 => (0..5_u64).prop_map(Op::Step),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    (prop::collection::vec(op(), 0..80), prop::option::of(0..80_usize)).prop_map(
        |(mut ops, shut_down)| {
            if let Some(at) = shut_down {
                ops.insert(at.min(ops.len()), Op::ShutDown);
            }
            ops
        },
    )
}

/// The same queue in the plainest form: lists that are searched from end to end.
#[derive(Default)]
struct Model {
    /// In the order of arrival.
    queue: Vec<(u8, Priority)>,
    /// Keys that workers have, and the priority they were added with meanwhile.
    processing: Vec<(u8, Option<Priority>)>,
    /// In the order of the calls.
    delayed: Vec<(u64, u8, Priority)>,
    /// The keys with a delay that was requested since a worker took them last.
    asked: Vec<u8>,
    now: u64,
    closed: bool,
}

impl Model {
    fn add(&mut self, key: u8, priority: Priority) {
        if self.closed {
            return;
        }
        if let Some((_, again)) = self.processing.iter_mut().find(|(held, _)| *held == key) {
            *again = (*again).max(Some(priority));
        } else if let Some((_, old)) = self.queue.iter_mut().find(|(queued, _)| *queued == key) {
            *old = priority.max(*old);
        } else {
            self.queue.push((key, priority));
        }
    }

    fn add_after(&mut self, key: u8, priority: Priority, delay: u64) {
        if delay > 0 {
            self.asked.push(key);
        }
        match self.delayed.iter().position(|(_, delayed, _)| *delayed == key) {
            _ if delay == 0 => self.add(key, priority),
            _ if self.closed => {}
            Some(index) if self.delayed[index].0 <= self.now + delay => {
                let old = &mut self.delayed[index].2;
                *old = priority.max(*old);
            }
            Some(index) => {
                let old = self.delayed.remove(index).2;
                self.delayed.push((self.now + delay, key, priority.max(old)));
            }
            None => self.delayed.push((self.now + delay, key, priority)),
        }
    }

    fn step(&mut self, step: u64) {
        self.now += step;
        let (mut due, later): (Vec<_>, _) =
            std::mem::take(&mut self.delayed).into_iter().partition(|(at, ..)| *at <= self.now);
        self.delayed = later;
        due.sort_by_key(|(at, ..)| *at);
        for (_, key, priority) in due {
            self.add(key, priority);
        }
    }

    fn take(&mut self) -> Option<(u8, Priority)> {
        let highest = self.queue.iter().map(|(_, priority)| *priority).max()?;
        let index = self.queue.iter().position(|(_, priority)| *priority == highest)?;
        let (key, priority) = self.queue.remove(index);
        self.processing.push((key, None));
        self.asked.retain(|asked| *asked != key);
        Some((key, priority))
    }

    fn deleted(&mut self, index: usize) -> Option<u8> {
        let (key, _) = *self.processing.get(index.checked_rem(self.processing.len())?)?;
        if !self.asked.contains(&key) {
            self.delayed.retain(|(_, delayed, _)| *delayed != key);
        }
        Some(key)
    }

    fn done(&mut self, index: usize) -> Option<u8> {
        if self.processing.is_empty() {
            return None;
        }
        let (key, again) = self.processing.remove(index % self.processing.len());
        self.queue.extend(again.map(|priority| (key, priority)));
        Some(key)
    }

    fn shut_down(&mut self) {
        self.closed = true;
        self.delayed.clear();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_queue_does_what_the_model_does(ops in ops()) {
        let (start, mut core, mut model) = (start(), Core::default(), Model::default());
        for op in ops {
            let now = start + ms(model.now);
            match op {
                Op::Add(key, priority) => {
                    core.add(now, key, priority);
                    model.add(key, priority);
                }
                Op::AddAfter(key, priority, delay) => {
                    core.add_after(now, key, priority, ms(delay));
                    model.add_after(key, priority, delay);
                }
                Op::Take => {
                    let taken = core.take(now).map(|taken| (taken.key, taken.priority));
                    prop_assert_eq!(taken, model.take());
                }
                Op::Done(index) => {
                    let done = model.done(index).map(|key| core.done(now, &key));
                    prop_assert!(done.is_none_or(|worked| worked.is_some()));
                }
                Op::Deleted(index) => {
                    if let Some(key) = model.deleted(index) {
                        core.deleted(now, &key);
                    }
                }
                // The core notices with its next call, as a queue without a timer would.
                Op::Step(step) => model.step(step),
                Op::ShutDown => {
                    core.shut_down(now);
                    model.shut_down();
                }
            }
            let mut core = core.clone();
            core.advance(start + ms(model.now));
            core.check();
            prop_assert_eq!(core.len(), model.queue.len());
            prop_assert_eq!(core.processing(), model.processing.len());
            prop_assert_eq!(core.is_idle(), model.queue.is_empty() && model.processing.is_empty());
            let wakeup = model.delayed.iter().map(|(at, ..)| start + ms(*at)).min();
            prop_assert_eq!(core.next_wakeup(), wakeup);
        }
    }

    // This says nothing about the order, and so needs no model: each added key is taken afterwards,
    // and no key is taken while a worker has it.
    #[test]
    fn no_add_is_lost_and_no_key_taken_twice(ops in ops()) {
        let (mut now, mut core) = (start(), Core::default());
        let (mut owed, mut held) = (Vec::new(), Vec::new());
        let mut open = true;
        for op in ops {
            match op {
                Op::Add(key, priority) => {
                    core.add(now, key, priority);
                    owed.extend(open.then_some(key));
                }
                Op::AddAfter(key, priority, _) if !open => {
                    core.add_after(now, key, priority, Duration::ZERO);
                }
                Op::AddAfter(key, priority, delay) => {
                    // Longer than any script, so that the last take decides.
                    core.add_after(now, key, priority, ms(1000 + delay));
                }
                Op::Take => {
                    if let Some(Taken { key, .. }) = core.take(now) {
                        prop_assert!(!held.contains(&key), "{key} is taken twice");
                        prop_assert!(owed.contains(&key), "{key} was not added");
                        held.push(key);
                        owed.retain(|owed| *owed != key);
                    }
                }
                Op::Done(index) if !held.is_empty() => {
                    let key = held.remove(index % held.len());
                    prop_assert!(core.done(now, &key).is_some());
                }
                // The model covers it: an earlier delay is dropped, as intended.
                Op::Done(_) | Op::Deleted(_) => {}
                Op::Step(step) => now += ms(step),
                Op::ShutDown => {
                    core.shut_down(now);
                    open = false;
                }
            }
        }
        for key in held {
            core.done(now, &key);
        }
        while let Some(Taken { key, .. }) = core.take(now) {
            core.done(now, &key);
            owed.retain(|owed| *owed != key);
        }
        prop_assert_eq!(owed, Vec::<u8>::new(), "lost");
        prop_assert!(core.is_idle());
    }
}

// Not in upstream: what debug pages and health checks read.
#[test]
fn the_backlog_shows_since_when_nothing_was_taken() {
    let mut f = Fixture::new();
    let since = |f: &Fixture| f.core.backlog().untaken_since.map(|at| f.now - at);
    assert_eq!(since(&f), None);
    f.add("a");
    f.add("b");
    f.step(ms(10));
    assert_eq!(since(&f), Some(ms(10)), "since there was something");
    f.take();
    f.step(ms(5));
    assert_eq!(since(&f), Some(ms(5)), "since the last take");
    f.take();
    f.step(ms(1));
    assert_eq!(since(&f), None, "nothing is left");
    f.add("a");
    assert_eq!(since(&f), None, "a worker has it");
    f.step(ms(1));
    f.done("a");
    f.step(ms(2));
    assert_eq!(since(&f), Some(ms(2)), "since it came back");
    f.take();
    f.add_after("c", ms(10));
    f.step(ms(30));
    assert_eq!(since(&f), Some(ms(20)), "since its delay was over, not since somebody looked");
    let backlog = f.core.backlog();
    assert_eq!((backlog.depth, backlog.delayed, backlog.working), (1, 0, 2));
}

#[test]
fn a_key_can_be_in_several_places() {
    let mut f = Fixture::new();
    let start = f.now;
    assert_eq!(f.core.whereabouts(&"a"), Whereabouts::default());
    f.add("a");
    f.step(ms(1));
    f.take();
    f.step(ms(1));
    f.add("a");
    f.add_after("a", ms(5));
    let expected = Whereabouts {
        working_since: Some(start + ms(1)),
        queued_since: Some(start + ms(2)),
        delayed_until: Some(start + ms(7)),
    };
    assert_eq!(f.core.whereabouts(&"a"), expected);
    assert_eq!(f.core.backlog().delayed, 1);
}

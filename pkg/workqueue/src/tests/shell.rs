//! The queue under tokio, with the time stopped.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use runtime::{Clock, Task, spawn};

use super::{Duration, ms};
use crate::limiter::{ItemBackoff, Limiter, TokenBucket};
use crate::queue::Priority;
use crate::shell::{NotDrained, Processing, Queue};

/// Longer than any test step. Under the paused clock it passes as soon as all tasks wait.
const LIMIT: Duration = Duration::from_mins(1);

fn queue<K: Clone + Ord + Send + 'static>() -> Queue<K> {
    Queue::new(Clock::system(), Limiter::default(), None)
}

/// The next key, which must come within the limit.
async fn get<K: Clone + Ord>(queue: &Queue<K>) -> Option<Processing<K>> {
    Clock::system().timeout(LIMIT, queue.get()).await.expect("get waits although it need not")
}

/// Lets the other tasks run until they wait.
async fn settle() {
    Clock::system().sleep(ms(1)).await;
}

/// Waits for the end of a task, which must come within the limit.
async fn join(task: Task) {
    let end = Clock::system().timeout(LIMIT, task).await.expect("the task waits for ever");
    end.expect("the task was not stopped");
}

// queue_test.go: TestReinsert, TestCollapse
#[tokio::test(start_paused = true)]
async fn dropping_the_key_is_being_done_with_it() {
    let queue = queue();
    queue.add("foo");
    let foo = get(&queue).await.expect("queued");
    assert_eq!((*foo, queue.len()), ("foo", 0));
    queue.add("foo");
    assert!(queue.is_empty(), "a worker has it");
    drop(foo);
    assert_eq!(queue.len(), 1);
    drop(get(&queue).await.expect("queued again"));
    assert!(queue.is_empty());
}

// TestCollapseWhileProcessing
#[tokio::test(start_paused = true)]
async fn another_worker_waits_for_a_key_in_work() {
    let queue = queue();
    queue.add("foo");
    let foo = get(&queue).await.expect("queued");
    queue.add("foo");
    let other = spawn("worker", {
        let queue = queue.clone();
        async move { assert_eq!(queue.get().await.as_deref(), Some(&"foo")) }
    });
    settle().await;
    assert!(!other.is_finished());
    drop(foo);
    join(other).await;
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_key_is_done_also_when_its_worker_panics_or_is_stopped() {
    for stop in [false, true] {
        let queue = queue();
        queue.add("foo");
        let worker = spawn("worker", {
            let queue = queue.clone();
            async move {
                let foo = queue.get().await.expect("queued");
                queue.add(*foo);
                assert!(stop, "the worker of {} panics", *foo);
                std::future::pending::<()>().await;
            }
        });
        settle().await;
        worker.abort();
        settle().await;
        assert!(get(&queue).await.is_some_and(|foo| *foo == "foo"), "stopped: {stop}");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_come_by_priority() {
    let queue = queue();
    queue.add_with_priority("low", Priority::Low);
    queue.add("normal");
    queue.add_with_priority("high", Priority::High);
    for expected in [("high", Priority::High), ("normal", Priority::Normal), ("low", Priority::Low)]
    {
        let key = get(&queue).await.expect("queued");
        assert_eq!((*key, key.priority()), expected);
    }
}

// delaying_queue_test.go: TestSimpleQueue, TestAddTwoFireEarly
#[tokio::test(start_paused = true)]
async fn a_delayed_key_comes_in_time() {
    let (queue, clock) = (queue(), Clock::system());
    let start = clock.instant();
    queue.add_after("second", ms(1000));
    queue.add_after("first", ms(50));
    queue.add_after("never", Duration::MAX);
    assert!(queue.is_empty());
    for expected in [("first", ms(50)), ("second", ms(1000))] {
        let key = get(&queue).await.expect("due");
        assert_eq!((*key, clock.instant() - start), expected);
    }
    assert!(clock.timeout(LIMIT, queue.get()).await.is_err(), "no other is due");
}

// The cases that the docs of Shared number, with two workers that wait for a long delay
#[tokio::test(start_paused = true)]
async fn an_earlier_delay_is_kept_when_its_timer_is_called_away() {
    let (queue, clock) = (queue(), Clock::system());
    let (start, seen) = (clock.instant(), Arc::new(Mutex::new(Vec::new())));
    queue.add_after("late", ms(3_600_000));
    let workers = [(); 2].map(|()| {
        let (queue, clock, seen) = (queue.clone(), clock.clone(), Arc::clone(&seen));
        spawn("worker", async move {
            while let Some(key) = queue.get().await {
                seen.lock().unwrap().push((*key, clock.instant() - start));
                clock.sleep(ms(100)).await;
            }
        })
    });
    settle().await;
    queue.add_after("early", ms(10));
    queue.add("now");
    clock.sleep(ms(50)).await;
    assert_eq!(*seen.lock().unwrap(), [("now", ms(1)), ("early", ms(11))]);
    queue.shut_down();
    for worker in workers {
        join(worker).await;
    }
}

// rate_limiting_queue_test.go: TestRateLimitingQueue
#[tokio::test(start_paused = true)]
async fn a_failed_key_comes_back_later_each_time() {
    let clock = Clock::system();
    let backoff = ItemBackoff::new(ms(1), Duration::from_secs(1));
    let queue = Queue::new(clock.clone(), Limiter::new(backoff, TokenBucket::unlimited()), None);
    for (key, delay) in [("one", 1), ("one", 2), ("two", 1), ("two", 2), ("one", 4)] {
        let start = clock.instant();
        queue.add_rate_limited(key);
        assert_eq!(get(&queue).await.as_deref(), Some(&key));
        assert_eq!(clock.instant() - start, ms(delay), "{key}");
    }
    assert_eq!((queue.num_requeues(&"one"), queue.num_requeues(&"two")), (3, 2));
    queue.forget(&"one");
    assert_eq!((queue.num_requeues(&"one"), queue.num_requeues(&"two")), (0, 2));
    let start = clock.instant();
    queue.add_rate_limited("one");
    get(&queue).await.expect("due");
    assert_eq!(clock.instant() - start, ms(1));
}

// TestNoQueueDrainageUsingShutDown, and the end of TestBasic
#[tokio::test(start_paused = true)]
async fn shutting_down_ends_the_workers_when_the_queue_is_empty() {
    let queue = queue();
    let idle = spawn("worker", {
        let queue = queue.clone();
        async move { assert!(queue.get().await.is_none()) }
    });
    settle().await;
    assert!(!queue.is_shutting_down());
    queue.shut_down();
    join(idle).await;
    assert!(queue.is_shutting_down());
    queue.add("added after shutdown!");
    assert!(get(&queue).await.is_none());
}

/// Why the wait for a drain ends.
enum End {
    Done,
    Forced,
    TimeUp,
}

// TestQueueDrainageUsingShutDownWithDrain{,WithDirtyItem}, TestForceQueueShutdownUsingShutDown
#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_the_workers() {
    let left = NotDrained { queued: 1, processing: 1 };
    for (end, expected) in [(End::Done, Ok(())), (End::Forced, Err(left)), (End::TimeUp, Err(left))]
    {
        let (queue, clock) = (queue(), Clock::system());
        queue.add("foo");
        queue.add("bar");
        let foo = get(&queue).await.expect("queued");
        queue.add("foo");
        let result = Arc::new(Mutex::new(None));
        let drain = spawn("drain", {
            let (queue, result) = (queue.clone(), Arc::clone(&result));
            async move {
                let drained = queue.shut_down_with_drain(LIMIT).await;
                *result.lock().unwrap() = Some(drained);
            }
        });
        settle().await;
        assert!(!drain.is_finished(), "foo is in work and bar is queued");
        match end {
            End::Done => {
                drop(get(&queue).await.expect("bar is queued"));
                assert!(get(&queue).await.is_none(), "foo is in work");
                drop(foo);
                drop(get(&queue).await.expect("foo is queued again"));
                assert!(get(&queue).await.is_none());
            }
            End::Forced => queue.shut_down(),
            End::TimeUp => clock.sleep(LIMIT).await,
        }
        settle().await;
        assert!(drain.is_finished());
        assert_eq!(result.lock().unwrap().take(), Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_queue_is_drained_at_once() {
    let queue = queue();
    queue.add_after("foo", ms(1));
    assert_eq!(queue.shut_down_with_drain(Duration::ZERO).await, Ok(()), "delays are dropped");
}

#[test]
fn what_is_left_reads_well() {
    let left = NotDrained { queued: 3, processing: 1 };
    assert_eq!(left.to_string(), "3 keys are queued and 1 in work");
}

// TestGarbageCollection
#[tokio::test(start_paused = true)]
async fn the_queue_does_not_hold_what_is_done() {
    let (queue, key) = (queue(), Arc::new("foo"));
    for delay in [0, 5] {
        queue.add_after(Arc::clone(&key), ms(delay));
        drop(get(&queue).await);
    }
    assert_eq!(Arc::strong_count(&key), 1);
}

// TestBasic, TestAddWhileProcessing: on threads, where the schedule is real
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_producer_reaches_a_worker() {
    const PRODUCERS: u32 = 50;
    for drain in [false, true] {
        let (queue, seen) = (queue(), Arc::new(Mutex::new(BTreeSet::new())));
        let workers = [(); 10].map(|()| {
            let (queue, seen) = (queue.clone(), Arc::clone(&seen));
            spawn("worker", async move {
                while let Some(key) = queue.get().await {
                    if seen.lock().unwrap().insert(*key) {
                        queue.add(*key);
                    }
                    tokio::task::yield_now().await;
                }
            })
        });
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let queue = queue.clone();
                spawn("producer", async move {
                    for key in 0..50 {
                        queue.add(producer * 100 + key);
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for producer in producers {
            join(producer).await;
        }
        if drain {
            assert_eq!(queue.shut_down_with_drain(LIMIT).await, Ok(()));
        } else {
            queue.shut_down();
        }
        queue.add(u32::MAX);
        for worker in workers {
            join(worker).await;
        }
        assert_eq!(queue.len(), 0);
        let expected =
            (0..PRODUCERS).flat_map(|producer| (0..50).map(move |key| producer * 100 + key));
        assert_eq!(*seen.lock().unwrap(), expected.collect());
    }
}

// No get ever sleeps while there is a key: one key goes back and forth between threads, so that a
// lost wake-up stops everything
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_on_threads_wake_each_other() {
    let (ping, pong) = (queue(), queue());
    let workers = [(); 3].map(|()| {
        let (ping, pong) = (ping.clone(), pong.clone());
        spawn("worker", async move {
            while let Some(key) = ping.get().await {
                pong.add(*key);
            }
        })
    });
    for round in 0..5000_u32 {
        ping.add(round);
        ping.add(round + 1_000_000);
        let mut back = [*get(&pong).await.expect("open"), *get(&pong).await.expect("open")];
        back.sort_unstable();
        assert_eq!(back, [round, round + 1_000_000]);
    }
    ping.shut_down();
    for worker in workers {
        join(worker).await;
    }
}

/// What happens in one batch, without time passing.
#[derive(Clone, Debug)]
enum Op {
    Add(u8),
    /// In units of 2 ms.
    AddAfter(u8, u64),
    /// Lets other tasks run.
    Yield,
    StartWorker,
    /// Stops the n-th worker, whatever it is doing.
    StopWorker(usize),
}

fn batches() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let op = prop_oneof![
        6 => (0..6_u8).prop_map(Op::Add),
        6 => (0..6_u8, 0..6_u64).prop_map(|(key, delay)| Op::AddAfter(key, delay)),
        3 => Just(Op::Yield),
        3 => Just(Op::StartWorker),
        2 => (0..8_usize).prop_map(Op::StopWorker),
    ];
    prop::collection::vec(prop::collection::vec(op, 0..6), 1..12)
}

/// A worker that keeps `busy` while it has a key, and each key for a time that depends on it.
fn worker(queue: &Queue<u8>, busy: &Arc<()>) -> Task {
    let (queue, busy, clock) = (queue.clone(), Arc::clone(busy), Clock::system());
    spawn("worker", async move {
        // Two references while idle are one while it waits and one more while it works.
        while let Some(key) = queue.get().await {
            let _busy = Arc::clone(&busy);
            clock.sleep(ms(u64::from(*key) * 2)).await;
        }
    })
}

/// Runs `batches` 2 ms apart. All that workers do happens at odd times; at each even time the test
/// checks that no worker waits although there is a key.
async fn run(batches: Vec<Vec<Op>>) -> Result<(), TestCaseError> {
    let (queue, busy, clock) = (queue(), Arc::new(()), Clock::system());
    let mut workers: Vec<Task> = Vec::new();
    clock.sleep(ms(1)).await;
    for batch in batches.into_iter().chain(vec![Vec::new(); 10]) {
        for op in batch {
            match op {
                Op::Add(key) => queue.add(key),
                Op::AddAfter(key, delay) => queue.add_after(key, ms(delay * 2)),
                Op::Yield => tokio::task::yield_now().await,
                Op::StartWorker => workers.push(worker(&queue, &busy)),
                Op::StopWorker(index) if !workers.is_empty() => {
                    let index = index % workers.len();
                    workers.swap_remove(index).abort();
                }
                Op::StopWorker(_) => {}
            }
        }
        clock.sleep(ms(1)).await;
        let waiting = 2 * workers.len() + 1 - Arc::strong_count(&busy);
        prop_assert!(waiting == 0 || queue.is_empty(), "{waiting} workers sleep through a key");
        clock.sleep(ms(1)).await;
    }
    prop_assert!(queue.shut_down_with_drain(LIMIT).await.is_ok() || workers.is_empty());
    for worker in workers {
        join(worker).await;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_wakeup_is_lost(batches in batches()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build();
        runtime.expect("a runtime can be made").block_on(run(batches))?;
    }
}

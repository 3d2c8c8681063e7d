//! The order in which tasks are woken, and that no task misses a change.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;

use super::*;
use crate::{Task, spawn};

const WAITING: usize = 40;

/// Tasks that wait for 1 and then 2, and each note their number when they have seen them.
fn waiting(latest: &Latest<u32>, woken: &Arc<Mutex<Vec<(u32, usize)>>>) -> Vec<Task> {
    let task = |number| {
        let (latest, woken) = (latest.clone(), Arc::clone(woken));
        spawn("waiting", async move {
            for value in [1, 2] {
                latest.wait_for(|now| (*now >= value).then_some(())).await;
                woken.lock().unwrap().push((value, number));
            }
        })
    };
    (0..WAITING).map(task).collect()
}

/// Rule: the first to wait is woken first. More tasks than tokio wakes at a time.
#[tokio::test]
async fn tasks_wake_in_the_order_in_which_they_began_to_wait() {
    let (latest, woken) = (Latest::new(0), Arc::default());
    let tasks = waiting(&latest, &woken);
    tokio::task::yield_now().await;
    latest.set(1);
    tokio::task::yield_now().await;
    latest.set(2);
    futures::future::join_all(tasks).await;
    let expected: Vec<_> = [1, 2].iter().flat_map(|it| (0..WAITING).map(|at| (*it, at))).collect();
    assert_eq!(*woken.lock().unwrap(), expected);
}

/// Rule: a change between a read and the wait after it is not missed. Here the read itself causes
/// it.
#[tokio::test]
async fn a_change_during_a_read_is_not_missed() {
    let latest = Latest::new(0);
    let looks = AtomicUsize::new(0);
    let found = latest.wait_for(|now| {
        let found = (*now == 1).then_some(*now);
        if looks.fetch_add(1, Ordering::Relaxed) == 0 {
            // As if another task changed it; the lock is held here, so it cannot be changed.
            latest.0.changed.notify_waiters();
        }
        found
    });
    let mut found = std::pin::pin!(found);
    assert_eq!(found.as_mut().now_or_never(), None);
    assert_eq!(looks.load(Ordering::Relaxed), 2, "the second look comes of the first");
    latest.set(1);
    assert_eq!(found.await, 1);
}

/// The same with real threads: each side waits for the other's last number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_missed_between_threads() {
    let (ping, pong) = (Latest::new(0), Latest::new(0));
    let (heard, answer) = (ping.clone(), pong.clone());
    let echo = spawn("echo", async move {
        let mut reader = heard.reader();
        loop {
            let number = reader.look(|number| *number);
            answer.set_if_changed(number);
            if number == 2000 {
                return;
            }
            reader.changed().await;
        }
    });
    for number in 1..=2000 {
        ping.set(number);
        pong.wait_for(|answer| (*answer == number).then_some(())).await;
    }
    echo.await.unwrap();
}

/// Rule: a reader gets each change once, whenever it came.
#[tokio::test]
async fn a_reader_knows_what_it_has_seen() {
    let latest = Latest::new(0);
    let mut reader = latest.reader();
    let hears = |reader: &mut Reader<i32>| reader.changed().now_or_never().is_some();
    assert!(!hears(&mut reader));
    latest.set(0);
    latest.set(1);
    assert!(hears(&mut reader));
    assert!(!hears(&mut reader));
    latest.set(2);
    assert_eq!(reader.look(|now| *now), 2);
    assert!(!hears(&mut reader));
    latest.update(|now| {
        *now = 3;
        false
    });
    assert!(!hears(&mut reader), "a quiet change");
    assert!(!latest.set_if_changed(3));
    assert!(!hears(&mut reader));
    assert!(latest.set_if_changed(4));
    assert!(hears(&mut reader));
    assert_eq!(latest.get(), 4);
}

#[test]
fn it_knows_whether_it_is_shared() {
    let latest = Latest::new(0);
    assert!(!latest.is_shared());
    let reader = latest.reader();
    assert!(latest.is_shared());
    drop(reader);
    assert!(!latest.is_shared());
}

/// A value whose drop reads the place where it was.
struct Looks(Option<Latest<Looks>>);

impl Drop for Looks {
    fn drop(&mut self) {
        if let Some(latest) = self.0.take() {
            latest.with(|_| ());
        }
    }
}

#[test]
fn a_value_that_is_replaced_is_dropped_unlocked() {
    let latest = Latest::new(Looks(None));
    latest.set(Looks(Some(latest.clone())));
    latest.set(Looks(None));
}

//! How long failed pods stay, and what is remembered of them.

use std::time::Duration;

use controller::fixture::{decode, time, with};
use serde_json::json;

use super::super::backoff::{Backoff, IDLE_MAX, PLACES_MAX, Place, SWEEP_MIN};
use super::set;

/// A place with this name, for a version of the set.
fn place_of(generation: i64, node: usize) -> Place {
    let set = with(set(), json!({"status": {"observedGeneration": generation}}));
    Place::new(&decode(&set), &node.to_string().into())
}

fn place(node: usize) -> Place {
    place_of(1, node)
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn delays_double_up_to_a_quarter_of_an_hour() {
    let mut backoff = Backoff::default();
    let mut now = time(0);
    let mut delays = Vec::new();
    for _ in 0..12 {
        backoff.count(place(0), now);
        let left = backoff.delay(&place(0), now).left;
        delays.push(left.as_secs());
        now = now + left;
    }
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
}

#[test]
fn a_place_without_failures_for_half_an_hour_starts_over() {
    let mut backoff = Backoff::default();
    backoff.count(place(0), time(0));
    backoff.count(place(0), time(0));
    let next = |now| backoff.delay(&place(0), now).next;
    assert_eq!(next(time(0) + IDLE_MAX), seconds(4));
    assert_eq!(next(time(0) + IDLE_MAX + seconds(1)), seconds(1));
}

#[test]
fn places_do_not_wait_for_each_other() {
    let mut backoff = Backoff::default();
    backoff.count(place(0), time(0));
    assert_eq!(backoff.delay(&place(0), time(0)).left, seconds(1));
    assert_eq!(backoff.delay(&place(1), time(0)).left, Duration::ZERO);
    assert_eq!(backoff.delay(&place_of(2, 0), time(0)).left, Duration::ZERO);
}

#[test]
fn what_is_idle_is_dropped_and_there_is_a_limit() {
    let set = decode(&set());
    let place = |node: usize| Place::new(&set, &node.to_string().into());
    let mut backoff = Backoff::default();
    (0..SWEEP_MIN).for_each(|node| backoff.count(place(node), time(0)));
    let later = time(0) + IDLE_MAX + seconds(1);
    backoff.count(place(SWEEP_MIN), later);
    assert_eq!(backoff.places(), 1);

    (0..=PLACES_MAX).for_each(|node| backoff.count(place(node), later));
    assert!(backoff.places() <= PLACES_MAX);
}

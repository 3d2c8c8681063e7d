//! The history stays bounded.

use std::time::Duration;

use api::{Key, Time};
use cache::fixture::run;
use controller::Plan;
use runtime::Clock;

use crate::Record;
use crate::record::{FAILING_MAX, IN_WORK_MAX, PLANS_MAX, TEXT_BYTES_MAX};

fn key(number: usize) -> Key {
    Key::new("shop", &format!("web-{number:04}"))
}

#[test]
fn the_keys_that_failed_last_are_remembered() {
    run(async {
        let clock = Clock::simulated(Time::EPOCH);
        let record = Record::new(clock.clone());
        // In an order that is not that of the keys.
        for number in (0..=FAILING_MAX).rev() {
            record.failed(&key(number), 1, "no");
            clock.sleep(Duration::from_millis(1)).await;
        }
        let state = record.state();
        assert_eq!(state.failing.len(), FAILING_MAX);
        assert!(!state.failing.contains_key(&key(FAILING_MAX)), "the first one had to go");
        assert_eq!(state.failures, FAILING_MAX as u64 + 1);
    });
}

#[test]
fn a_key_fails_since_its_first_failure() {
    run(async {
        let clock = Clock::simulated(Time::EPOCH);
        let record = Record::new(clock.clone());
        record.failed(&key(1), 1, "no");
        clock.sleep(Duration::from_secs(5)).await;
        record.failed(&key(1), 2, "still no");
        let failure = record.state().last_error.clone().unwrap();
        assert_eq!((failure.since, failure.at), (Time::EPOCH, Time::from_unix(5, 0)));
        record.succeeded(&key(1));
        record.failed(&key(1), 1, "no");
        assert_eq!(record.state().failing[&key(1)].since, Time::from_unix(5, 0));
    });
}

#[test]
fn a_key_that_was_given_up_is_shown_until_it_is_tried_again() {
    run(async {
        let record = Record::new(Clock::simulated(Time::EPOCH));
        record.failed(&key(1), 14, "no");
        record.gave_up(&key(1), 15, "no again");
        let shown = || {
            let state = record.state();
            let all = [&state.failing, &state.given_up];
            all.map(|of| of.values().map(|it| it.failures).sum::<u32>())
        };
        assert_eq!(shown(), [0, 15]);
        assert_eq!(record.state().last_error_of(&key(1)).unwrap().error, "no again");
        record.failed(&key(1), 1, "no");
        assert_eq!(shown(), [1, 0]);
        record.gave_up(&key(1), 2, "no");
        record.succeeded(&key(1));
        assert_eq!(shown(), [0, 0]);
    });
}

#[test]
fn the_last_plans_are_remembered_newest_first() {
    run(async {
        let record = Record::new(Clock::simulated(Time::EPOCH));
        for number in 0..2 * PLANS_MAX {
            record.acted(&key(number), &Plan::rest("why"), Some("no"));
        }
        let state = record.state();
        let keys: Vec<_> = state.plans.iter().map(|acted| acted.key.clone()).collect();
        let expected = (PLANS_MAX..2 * PLANS_MAX).rev().map(|number| key(number).to_string());
        assert_eq!(keys, expected.collect::<Vec<_>>());
    });
}

#[test]
fn long_texts_are_cut_between_characters() {
    run(async {
        let record = Record::new(Clock::simulated(Time::EPOCH));
        let exact = "x".repeat(TEXT_BYTES_MAX);
        record.failed(&key(1), 1, &exact);
        assert_eq!(record.state().failing[&key(1)].error, exact);
        record.failed(&key(1), 1, &format!("{}é", "x".repeat(TEXT_BYTES_MAX - 1)));
        let cut = format!("{}…", "x".repeat(TEXT_BYTES_MAX - 1));
        assert_eq!(record.state().failing[&key(1)].error, cut);
    });
}

#[test]
fn the_oldest_keys_in_work_are_shown_first() {
    run(async {
        let clock = Clock::simulated(Time::EPOCH);
        let record = Record::new(clock.clone());
        let keys: Vec<_> = (0..=IN_WORK_MAX).rev().map(key).collect();
        let mut working = Vec::new();
        for key in &keys {
            working.push(record.working(key));
            clock.sleep(Duration::from_secs(1)).await;
        }
        let shown = record.state().in_work();
        assert_eq!(shown.len(), IN_WORK_MAX);
        assert_eq!(shown[0].key, key(IN_WORK_MAX).to_string());
        drop(working);
        assert!(record.state().in_work().is_empty());
    });
}

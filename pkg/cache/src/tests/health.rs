//! Which failures are logged.

use std::time::Duration;

use api::{Key, Time};

use crate::health::{Health, Trouble};

fn at(seconds: u64) -> Time {
    Time::EPOCH + Duration::from_secs(seconds)
}

#[test]
fn an_error_is_logged_once_for_each_text() {
    let mut health = Health::default();
    let error = |text: &str| Trouble::Error(text.to_owned());
    assert!(health.failed(error("pods is forbidden"), at(0)));
    assert!(!health.failed(error("pods is forbidden"), at(100)));
    assert!(health.failed(error("out of order"), at(101)));
    let failing = health.failing.clone().unwrap();
    assert_eq!((failing.since, &*failing.error), (at(0), "out of order"));

    assert!(health.arrived(at(102)), "the end of a logged trouble is news");
    assert!(!health.arrived(at(103)));
    assert_eq!((health.failing.clone(), health.last_event), (None, Some(at(103))));
    assert!(health.failed(error("out of order"), at(104)), "it is back");
}

#[test]
fn a_kind_is_unserved_until_another_answer_comes() {
    let mut health = Health::default();
    let unserved = || Trouble::Unserved("not found".to_owned());
    assert!(health.failed(unserved(), at(0)));
    assert!(health.is_unserved());
    assert!(!health.failed(unserved(), at(100)), "logged once");
    assert!(health.failed(Trouble::Unreachable("refused".to_owned()), at(101)));
    assert!(!health.is_unserved());
    assert!(health.failed(unserved(), at(102)));
    health.arrived(at(103));
    assert!(!health.is_unserved());
}

#[test]
fn an_unreachable_server_is_logged_every_30_seconds() {
    let mut health = Health::default();
    // The texts differ in the address that was tried.
    let mut logged = |second| {
        health.failed(Trouble::Unreachable(format!("refused by address {second}")), at(second))
    };
    let seconds: Vec<u64> = (0..=65).filter(|&second| logged(second)).collect();
    assert_eq!(seconds, [0, 30, 60]);
}

#[test]
fn a_broken_object_is_logged_once() {
    let mut health = Health::default();
    let key = Key::new("default", "a");
    assert!(health.unreadable(&key, "spec.replicas: not a number"));
    assert!(!health.unreadable(&key, "spec.replicas: not a number"));
    assert!(health.unreadable(&key, "spec.selector: missing"));
    health.readable(&key);
    assert!(health.unreadable(&key, "spec.selector: missing"));
    assert_eq!(health.unreadable_count(), 1);
    for n in 0..3000 {
        health.unreadable(&Key::new("default", &n.to_string()), "broken");
    }
    assert!(health.unreadable_count() <= 1024, "what is remembered is limited");
    health.forget_unless(|_| false);
    assert_eq!(health.unreadable_count(), 0);
}

//! The size of the cache.

use std::time::Duration;

use api::Time;
use futures::FutureExt;
use runtime::Runtime;

use super::run;
use crate::lookup::Lookup;

const TTL: Duration = Duration::from_secs(10);

async fn ask(lookup: &Lookup<u32>, question: u32) {
    let digest = lookup.digest(&question.to_be_bytes());
    assert_eq!(lookup.ask(digest, async { (question, TTL) }).await, question);
}

fn knows(lookup: &Lookup<u32>, question: u32) -> bool {
    lookup.kept(lookup.digest(&question.to_be_bytes())) == Some(question)
}

#[test]
fn what_was_used_longest_ago_makes_room() {
    run(async {
        let lookup = Lookup::new(3, &Runtime::simulated(Time::EPOCH, 1));
        for question in [1, 2, 3] {
            ask(&lookup, question).await;
        }
        for question in [1, 2, 1, 3] {
            assert!(knows(&lookup, question));
        }
        ask(&lookup, 4).await;
        let known = [1, 2, 3, 4].map(|question| knows(&lookup, question));
        assert_eq!(known, [true, false, true, true]);
        assert_eq!(lookup.sizes().0, 3);
    });
}

#[test]
fn what_is_old_is_dropped_though_there_is_room() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let lookup = Lookup::new(100, &runtime);
        for question in 0..50 {
            ask(&lookup, question).await;
        }
        runtime.clock.sleep(TTL).await;
        ask(&lookup, 50).await;
        assert_eq!(lookup.sizes(), (1, 0));
    });
}

/// So no cleanup of abandoned requests is needed.
#[test]
fn a_request_lasts_as_long_as_a_caller_waits() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let lookup = Lookup::new(100, &runtime);
        let digest = lookup.digest(b"slow");
        let slow = || async {
            runtime.clock.sleep(TTL).await;
            (7, Duration::ZERO)
        };
        let mut first = Box::pin(lookup.ask(digest, slow()));
        let mut second = Box::pin(lookup.ask(digest, slow()));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        assert_eq!(lookup.sizes(), (0, 1));
        drop(first);
        assert_eq!(lookup.sizes(), (0, 1), "the second one still waits");
        assert_eq!(second.await, 7);
        assert_eq!(lookup.sizes(), (0, 0));
        assert_eq!(Box::pin(lookup.ask(digest, slow())).now_or_never(), None);
        assert_eq!(lookup.sizes(), (0, 0), "no caller waited for a result");
    });
}

/// Upstream keys its cache by an HMAC with a random key, so that clients cannot prepare collisions.
#[test]
fn a_digest_depends_on_the_question_and_on_a_key_of_its_own() {
    let one = Lookup::<u32>::new(1, &Runtime::simulated(Time::EPOCH, 1));
    let other = Lookup::<u32>::new(1, &Runtime::simulated(Time::EPOCH, 2));
    assert_eq!(one.digest(b"a"), one.digest(b"a"));
    assert_ne!(one.digest(b"a"), one.digest(b"b"));
    assert_ne!(one.digest(b"a"), other.digest(b"a"));
}

//! When a connection counts as idle or stalled.

use std::time::Duration;

use runtime::Runtime;

use super::{Activity, End, Protocol, Waits};
use crate::Limits;

const SECOND: Duration = Duration::from_secs(1);

/// Time passes only when a test advances it.
fn clock() -> runtime::Clock {
    Runtime::system().clock
}

/// How long the connection may stay as it is.
fn left(activity: &Activity) -> Option<Duration> {
    let (at, end) = activity.look(|state| state.end(&Limits::USUAL))?;
    assert_eq!(end, End::InPeace);
    Some(at - clock().instant())
}

/// How long until it is aborted.
fn stalls_in(activity: &Activity) -> Option<Duration> {
    let (at, end) = activity.look(|state| state.end(&Limits::USUAL))?;
    assert_eq!(end, End::AtOnce);
    Some(at - clock().instant())
}

/// ReadHeaderTimeout and IdleTimeout of upstream's secure_serving.go, as Go's net/http uses them.
#[tokio::test(start_paused = true)]
async fn http_1_has_32_seconds_for_a_head_and_90_between_requests() {
    let activity = Activity::new(Protocol::One, clock());
    assert_eq!(left(&activity), Some(32 * SECOND));
    clock().sleep(SECOND).await;
    activity.received();
    assert_eq!(left(&activity), Some(31 * SECOND), "the first head is due already");
    let answering = activity.answer().unwrap();
    activity.received();
    assert_eq!(left(&activity), None);
    clock().sleep(1000 * SECOND).await;
    activity.sent(true);
    drop(answering);
    assert_eq!(left(&activity), Some(90 * SECOND));
    clock().sleep(80 * SECOND).await;
    activity.sent(true);
    assert_eq!(left(&activity), Some(90 * SECOND), "it still takes the answer");
    clock().sleep(80 * SECOND).await;
    activity.received();
    assert_eq!(left(&activity), Some(32 * SECOND));
    clock().sleep(30 * SECOND).await;
    activity.received();
    activity.sent(true);
    assert_eq!(left(&activity), Some(2 * SECOND), "drop by drop does not help");
}

#[tokio::test(start_paused = true)]
async fn http_2_is_idle_while_no_stream_is_open_whatever_it_says() {
    let activity = Activity::new(Protocol::Two, clock());
    clock().sleep(10 * SECOND).await;
    activity.received();
    activity.sent(true);
    assert_eq!(left(&activity), Some(80 * SECOND));
    let (first, second) = (activity.answer().unwrap(), activity.answer().unwrap());
    drop(first);
    assert_eq!(left(&activity), None);
    clock().sleep(1000 * SECOND).await;
    drop(second);
    assert_eq!(left(&activity), Some(90 * SECOND));
}

/// The page may take as long as it needs, the client half a minute for each part of the response.
#[tokio::test(start_paused = true)]
async fn an_answer_that_its_client_does_not_take_breaks_the_connection_off() {
    for protocol in [Protocol::One, Protocol::Two] {
        let activity = Activity::new(protocol, clock());
        let answering = activity.answer().unwrap();
        clock().sleep(1000 * SECOND).await;
        assert_eq!(left(&activity), None, "the page is not ready");
        answering.waits(Waits::ForClient);
        clock().sleep(10 * SECOND).await;
        assert_eq!(stalls_in(&activity), Some(20 * SECOND));
        let other = activity.answer().unwrap();
        other.waits(Waits::ForClient);
        assert_eq!(stalls_in(&activity), Some(20 * SECOND), "another answer does not help");
        drop(other);
        answering.waits(Waits::ForClient);
        assert_eq!(stalls_in(&activity), Some(30 * SECOND), "a part was taken");
        answering.waits(Waits::ForPage);
        assert_eq!(left(&activity), None, "all that is there was taken");
        drop(answering);
        assert_eq!(left(&activity), Some(90 * SECOND));
    }
}

/// Bytes that are handed to the kernel are not always taken.
#[tokio::test(start_paused = true)]
async fn a_socket_that_takes_nothing_breaks_the_connection_off() {
    let activity = Activity::new(Protocol::One, clock());
    drop(activity.answer().unwrap());
    activity.sent(false);
    clock().sleep(20 * SECOND).await;
    activity.sent(false);
    assert_eq!(stalls_in(&activity), Some(10 * SECOND));
    activity.sent(true);
    assert_eq!(left(&activity), Some(90 * SECOND));
}

/// In HTTP/1 bytes belong to the response; in HTTP/2 they may be a ping.
#[tokio::test(start_paused = true)]
async fn bytes_show_that_an_answer_is_taken_in_http_1_only() {
    for (protocol, seconds) in [(Protocol::One, 30), (Protocol::Two, 20)] {
        let activity = Activity::new(protocol, clock());
        let answering = activity.answer().unwrap();
        answering.waits(Waits::ForClient);
        clock().sleep(10 * SECOND).await;
        activity.sent(true);
        assert_eq!(stalls_in(&activity), Some(seconds * SECOND));
    }
}

#[tokio::test(start_paused = true)]
async fn a_closing_connection_finishes_its_requests_and_takes_no_others() {
    let activity = Activity::new(Protocol::Two, clock());
    let goodbye = |asked_at| {
        let ends = activity.look(|state| state.goodbye_ends(asked_at, &Limits::USUAL));
        ends.map(|at| at - clock().instant())
    };
    let asked_at = clock().instant();
    let answering = activity.answer().unwrap();
    activity.leave();
    assert!(activity.answer().is_none());
    clock().sleep(1000 * SECOND).await;
    assert_eq!(goodbye(asked_at), None, "the page is not ready");
    answering.waits(Waits::ForClient);
    assert_eq!(goodbye(asked_at), Some(30 * SECOND));
    drop(answering);
    assert_eq!(goodbye(asked_at), Some(SECOND));
    assert_eq!(goodbye(clock().instant() + SECOND), Some(2 * SECOND));
}

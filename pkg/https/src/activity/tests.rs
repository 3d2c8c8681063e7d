//! When a connection counts as silent.

use std::time::Duration;

use runtime::Runtime;

use super::{Activity, Protocol};
use crate::Limits;

const SECOND: Duration = Duration::from_secs(1);

/// Time passes only where a test lets it.
fn clock() -> runtime::Clock {
    Runtime::system().clock
}

/// How long the connection may go on like this.
fn left(activity: &Activity) -> Option<Duration> {
    let closes_at = activity.state().closes_at(&Limits::USUAL);
    closes_at.map(|at| at - clock().instant())
}

/// ReadHeaderTimeout and IdleTimeout of upstream's secure_serving.go, as Go's net/http uses them.
#[tokio::test(start_paused = true)]
async fn http_1_has_32_seconds_for_a_head_and_90_between_requests() {
    let activity = Activity::new(Protocol::One, clock());
    assert_eq!(left(&activity), Some(32 * SECOND));
    clock().sleep(SECOND).await;
    activity.received();
    assert_eq!(left(&activity), Some(31 * SECOND), "the first head is due already");
    let answering = activity.answer();
    activity.received();
    assert_eq!(left(&activity), None);
    clock().sleep(1000 * SECOND).await;
    activity.sent();
    drop(answering);
    assert_eq!(left(&activity), Some(90 * SECOND));
    clock().sleep(80 * SECOND).await;
    activity.sent();
    assert_eq!(left(&activity), Some(90 * SECOND), "it still takes the answer");
    clock().sleep(80 * SECOND).await;
    activity.received();
    assert_eq!(left(&activity), Some(32 * SECOND));
    clock().sleep(30 * SECOND).await;
    activity.received();
    activity.sent();
    assert_eq!(left(&activity), Some(2 * SECOND), "drop by drop does not help");
}

#[tokio::test(start_paused = true)]
async fn http_2_is_idle_while_no_stream_is_open_whatever_it_says() {
    let activity = Activity::new(Protocol::Two, clock());
    clock().sleep(10 * SECOND).await;
    activity.received();
    activity.sent();
    assert_eq!(left(&activity), Some(80 * SECOND));
    let (first, second) = (activity.answer(), activity.answer());
    drop(first);
    assert_eq!(left(&activity), None);
    clock().sleep(1000 * SECOND).await;
    drop(second);
    assert_eq!(left(&activity), Some(90 * SECOND));
}

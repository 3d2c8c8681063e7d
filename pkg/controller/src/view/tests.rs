//! What views show of time, and of kinds that are only known at run time.

use std::time::Duration;

use api::{Key, Kind as _, Node, Pod};
use serde_json::json;

use crate::fixture::Fixture;

/// A clock step, or our own partition, must not look as if nodes were dead.
#[test]
fn silence_is_measured_by_the_monotonic_clock() {
    let minutes = Duration::from_mins;
    let mut fixture =
        Fixture::default().holding::<Pod>(&[]).silent::<Node>(minutes(3)).holding::<Node>(&[]);
    let both = |fixture: &Fixture| {
        let view = fixture.view();
        (view.silence::<Pod>(), view.silence::<Node>())
    };
    assert_eq!(both(&fixture), (Some(Duration::ZERO), Some(minutes(3))));
    fixture.now = fixture.now + minutes(60);
    assert_eq!(both(&fixture), (Some(Duration::ZERO), Some(minutes(3))));
    fixture.uptime += minutes(1);
    assert_eq!(both(&fixture), (Some(minutes(1)), Some(minutes(4))));
    assert_eq!(both(&fixture.silent::<Pod>(None)), (None, Some(minutes(4))));
}

#[test]
fn a_kind_that_is_not_listed_is_not_taken_for_empty() {
    let there = json!({"metadata": {"namespace": "shop", "name": "a"}});
    let fixture = Fixture::default().holding_metadata(&Pod::RESOURCE, &[there]);
    let view = fixture.view();
    let pods = view.metadata(&Pod::RESOURCE).unwrap();
    assert_eq!((pods.count("shop"), pods.count("other"), pods.all().len()), (1, 0, 1));
    assert!(pods.get(&Key::new("shop", "a")).is_some());
    assert_eq!(pods.of_namespace("shop").len(), 1);
    assert!(view.metadata(&Node::RESOURCE).is_none());
}

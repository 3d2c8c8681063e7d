//! Tables, mirroring upstream's `pkg/controller/podautoscaler`. `testdata/autoscaler.jsonl` has the
//! cases of its `horizontal_test.go` and `replica_calculator_test.go`, written by these tests
//! themselves; each names its test. `autoscaler_random.jsonl` has random ones, and what upstream's
//! code made of them.

mod calculator;
mod rules;
mod syncs;
mod words;
mod world;

use std::sync::Arc;
use std::time::Duration;

use api::{Behavior, HorizontalPodAutoscaler, Time};
use controller::fixture::{decode, time};
use serde_json::{Value, json};

use super::*;

const UPSTREAM: &str = include_str!("../../testdata/autoscaler.jsonl");
const RANDOM: &str = include_str!("../../testdata/autoscaler_random.jsonl");

/// The time of tests on the clock that cannot be set.
const UPTIME: Duration = Duration::from_hours(24);

/// Upstream's defaults for tests.
const OPTIONS: Options = Options {
    sync_period: Duration::from_secs(15),
    downscale_stabilization: Duration::from_mins(5),
    tolerance: 0.1,
    cpu_initialization_period: Duration::from_mins(2),
    initial_readiness_delay: Duration::from_secs(10),
    admits_tolerances: true,
    scales_to_zero: false,
    counts_pod_level: true,
};

/// The rows of a kind.
fn rows(file: &str, kind: &str) -> Vec<Value> {
    let rows = file.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rows: Vec<_> = rows.filter(|row| row["kind"] == kind).collect();
    assert!(!rows.is_empty(), "there are rows of kind {kind}");
    rows
}

fn int(value: &Value) -> i32 {
    i32::try_from(long(value)).unwrap()
}

fn long(value: &Value) -> i64 {
    if value.is_null() { 0 } else { value.as_i64().unwrap_or_else(|| panic!("{value}")) }
}

/// The moment that was so many seconds ago.
fn seconds_ago(value: &Value) -> Time {
    #[expect(clippy::cast_possible_truncation, reason = "short times")]
    time(-(value.as_f64().unwrap() * 1e9) as i64)
}

/// The same on the clock that cannot be set.
fn uptime_ago(value: &Value) -> Duration {
    UPTIME.checked_sub(Duration::from_secs_f64(value.as_f64().unwrap())).unwrap()
}

/// The rules of an autoscaler.
fn behavior(up: &Value, down: &Value) -> Behavior {
    let autoscaler: Arc<HorizontalPodAutoscaler> = decode(&json!({
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"behavior": {"scaleUp": up, "scaleDown": down}},
    }));
    autoscaler.behavior.clone().unwrap()
}

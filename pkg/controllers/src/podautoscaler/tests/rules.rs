//! Windows, policies and limits.

use super::*;
use crate::podautoscaler::behavior::{
    self, Limited, Sizes, changed, limit, limit_with, scale_down_limit_with, scale_up_limit_with,
    stabilize, stabilize_with,
};
use crate::podautoscaler::memory::{record, store};

fn events(rows: &Value) -> Vec<ScaleEvent> {
    let event = |row: &Value| ScaleEvent {
        change: int(row.get("replicaChange").unwrap_or(&row["change"])),
        at: uptime_ago(row["timestamp"].get("ago").unwrap_or(&row["ago"])),
        outdated: row["outdated"] == true,
    };
    rows.as_array().map(|rows| rows.iter().map(event).collect()).unwrap_or_default()
}

fn recommendations(rows: &Value) -> Vec<Recommendation> {
    let one = |row: &Value| Recommendation {
        replicas: int(row.get("recommendation").unwrap_or(&row["replicas"])),
        at: uptime_ago(row["timestamp"].get("ago").unwrap_or(&row["ago"])),
    };
    rows.as_array().map(|rows| rows.iter().map(one).collect()).unwrap_or_default()
}

/// `TestConvertDesiredReplicasWithRules`; there, upstream's factor is 8 in place of 2.
#[test]
fn sizes_are_limited_as_upstream() {
    for row in rows(UPSTREAM, "convert") {
        let case = &row["case"];
        let of = |field: &str| int(&case[field]);
        let sizes = Sizes {
            current: of("currentReplicas"),
            desired: of("expectedDesiredReplicas"),
            min: of("hpaMinReplicas"),
            max: of("hpaMaxReplicas"),
        };
        let Limited { replicas, reason, .. } = limit(sizes);
        let expected = match of("expectedConvertedDesiredReplicas") {
            24 => 6,
            other => other,
        };
        assert_eq!(replicas, expected, "{}", row["name"]);
        assert_eq!(reason, case["expectedCondition"], "{}", row["name"]);
    }
}

/// `TestScalingWithRules`.
#[test]
fn policies_limit_as_upstream() {
    for row in rows(UPSTREAM, "rules") {
        let case = &row["case"];
        let of = |field: &str| int(&case[field]);
        let rules = behavior(&case["scaleUpRules"], &case["scaleDownRules"]);
        let (ups, downs) = (events(&case["scaleUpEvents"]), events(&case["scaleDownEvents"]));
        let sizes = Sizes {
            current: of("currentReplicas"),
            desired: of("prenormalizedDesiredReplicas"),
            min: of("specMinReplicas"),
            max: of("specMaxReplicas"),
        };
        let Limited { replicas, reason, .. } = limit_with(&rules, (&ups, &downs), sizes, UPTIME);
        assert_eq!(replicas, of("expectedReplicas"), "{}", row["name"]);
        assert_eq!(reason, case["expectedCondition"], "{}", row["name"]);
    }
}

/// `TestCalculateScaleUpLimitWithScalingRules`, `TestCalculateScaleDownLimitWithBehaviors`.
#[test]
fn the_least_change_counts_if_the_rules_say_so() {
    let rules = json!({"stabilizationWindowSeconds": 300, "selectPolicy": "Min", "policies": [
        {"type": "Pods", "value": 2, "periodSeconds": 60},
        {"type": "Percent", "value": 50, "periodSeconds": 60},
    ]});
    let rules = behavior(&rules, &rules);
    assert_eq!(scale_up_limit_with(&rules.up, 1, (&[], &[]), UPTIME), 2);
    assert_eq!(scale_down_limit_with(&rules.down, 5, (&[], &[]), UPTIME), 3);
}

/// `TestStoreScaleEvents`.
#[test]
fn changes_are_stored_as_upstream() {
    for row in rows(UPSTREAM, "store") {
        let (case, name) = (&row["case"], &row["name"]);
        let mut all = events(&case["prevScaleEvents"]);
        let change = changed(&all, Duration::from_mins(1), UPTIME);
        assert_eq!(change, int(&case["expectedReplicasChange"]), "{name}");
        // Without rules nothing is stored: see `Past::acted`.
        let Some(rules) = case.get("scalingRules") else { continue };
        let rules = behavior(rules, rules);
        let longest = rules.up.policies.iter().map(|policy| policy.period_seconds).max();
        let longest = behavior::seconds(longest.unwrap());
        store(&mut all, int(&case["replicaChange"]), UPTIME, longest);
        let expected = events(&case["newScaleEvents"]);
        let short = |all: &[ScaleEvent]| -> Vec<_> {
            all.iter().map(|event| (event.change, event.outdated)).collect()
        };
        assert_eq!(short(&all), short(&expected), "{name}");
    }
}

/// `TestNormalizeDesiredReplicas`.
#[test]
fn higher_recommendations_hold_as_upstream() {
    for row in rows(UPSTREAM, "stabilize") {
        let (case, name) = (&row["case"], &row["name"]);
        let mut all = recommendations(&case["recommendations"]);
        let desired = int(&case["prenormalizedDesiredReplicas"]);
        let window = OPTIONS.downscale_stabilization;
        let stabilized = stabilize(&all, desired, (window, UPTIME));
        assert_eq!(stabilized.replicas, int(&case["expectedStabilizedReplicas"]), "{name}");
        record(&mut all, Recommendation { replicas: desired, at: UPTIME }, stabilized.window);
        assert_eq!(all.len(), usize::try_from(long(&case["expectedLogLength"])).unwrap(), "{name}");
    }
}

/// `TestNormalizeDesiredReplicasWithBehavior`.
#[test]
fn windows_hold_as_upstream() {
    for row in rows(UPSTREAM, "stabilize_behavior") {
        let (case, name) = (&row["case"], &row["name"]);
        let mut all = recommendations(&case["recommendations"]);
        let of = |field: &str| int(&case[field]);
        let window =
            |field: &str| json!({"stabilizationWindowSeconds": case[field].as_i64().unwrap()});
        let rules = behavior(
            &window("scaleUpStabilizationWindowSeconds"),
            &window("scaleDownStabilizationWindowSeconds"),
        );
        let desired = of("prenormalizedDesiredReplicas");
        let sizes = Sizes { current: of("currentReplicas"), desired, min: 1, max: 1000 };
        let moments = (OPTIONS.downscale_stabilization, UPTIME);
        let stabilized = stabilize_with(&rules, &all, sizes, moments);
        assert_eq!(stabilized.replicas, of("expectedStabilizedReplicas"), "{name}");
        record(&mut all, Recommendation { replicas: desired, at: UPTIME }, stabilized.window);
        if let Some(expected) = case.get("expectedRecommendations") {
            let short =
                |all: &[Recommendation]| -> Vec<_> { all.iter().map(|one| one.replicas).collect() };
            assert_eq!(short(&all), short(&recommendations(expected)), "{name}");
        }
    }
}

/// Random recommendations, changes and rules.
#[test]
fn random_rules_end_as_upstream() {
    for row in rows(RANDOM, "random_rules") {
        let of = |field: &str| int(&row[field]);
        let rules = behavior(&row["scaleUp"], &row["scaleDown"]);
        let mut all = recommendations(&row["recommendations"]);
        let sizes = Sizes {
            current: of("current"),
            desired: of("desired"),
            min: of("min"),
            max: of("max"),
        };
        let moments = (OPTIONS.downscale_stabilization, UPTIME);
        let stabilized = stabilize_with(&rules, &all, sizes, moments);
        assert_eq!(stabilized.replicas, of("stabilized"), "{row}");
        assert_eq!(stabilized.reason, row["stabilizedReason"], "{row}");
        let new = Recommendation { replicas: sizes.desired, at: UPTIME };
        record(&mut all, new, stabilized.window);
        let after: Vec<_> = all.iter().map(|one| one.replicas).collect();
        assert_eq!(json!(after), row["after"], "{row}");
        let (ups, downs) = (events(&row["ups"]), events(&row["downs"]));
        let sizes = Sizes { desired: stabilized.replicas, ..sizes };
        let limited = limit_with(&rules, (&ups, &downs), sizes, UPTIME);
        assert_eq!(limited.replicas, of("limited"), "{row}");
        assert_eq!(limited.reason, row["limitedReason"], "{row}");
    }
}

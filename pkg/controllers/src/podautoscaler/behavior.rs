//! From the size that the metrics ask for to the one that is written: windows, policies, limits. As
//! `normalizeDesiredReplicas` and `normalizeDesiredReplicasWithBehaviors` in upstream's
//! horizontal.go.

use std::time::Duration;

use api::{Behavior, ScalingPolicyKind, ScalingRules, SelectPolicy};
use mutant::Mutant;

use super::memory::{Recommendation, ScaleEvent};

/// Without rules, a size grows at most by this factor at once ...
const SCALE_UP_LIMIT_FACTOR: f64 = 2.0;
/// ... or to this.
const SCALE_UP_LIMIT_MINIMUM: f64 = 4.0;

/// A size and its bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The size of the target.
    pub(super) current: i32,
    /// What the metrics ask for.
    pub(super) desired: i32,
    /// `minReplicas`.
    pub(super) min: i32,
    /// `maxReplicas`.
    pub(super) max: i32,
}

/// A size that recommendations of the past have made steadier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stabilized {
    /// The size.
    pub(super) replicas: i32,
    /// The reason of the condition `AbleToScale`, if it is not the size that was asked for.
    pub(super) reason: &'static str,
    /// Its message.
    pub(super) message: &'static str,
    /// For how long its own recommendation counts.
    pub(super) window: Duration,
}

/// A size within its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limited {
    /// The size.
    pub(super) replicas: i32,
    /// The reason of the condition `ScalingLimited`.
    pub(super) reason: &'static str,
    /// Its message.
    pub(super) message: &'static str,
}

const LOWER: &str = "recent recommendations were lower than current one, applying the lowest \
                     recent recommendation";
const HIGHER: &str = "recent recommendations were higher than current one, applying the highest \
                      recent recommendation";

/// A number of seconds; negative ones are none.
pub(super) fn seconds(count: i32) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or(0))
}

/// Without rules, the highest recommendation of the window counts. As `stabilizeRecommendation`.
pub(super) fn stabilize(
    past: &[Recommendation],
    desired: i32,
    (window, now): (Duration, Duration),
) -> Stabilized {
    let window = if mutant::is(Mutant::WindowIgnored) { Duration::ZERO } else { window };
    let recent = past.iter().filter(|old| old.at + window >= now).map(|old| old.replicas);
    let replicas = recent.fold(desired, i32::max);
    Stabilized { replicas, reason: "ScaleDownStabilized", message: HIGHER, window }
}

/// As `stabilizeRecommendationWithBehaviors`.
pub(super) fn stabilize_with(
    behavior: &Behavior,
    past: &[Recommendation],
    Sizes { current, desired, .. }: Sizes,
    (default, now): (Duration, Duration),
) -> Stabilized {
    let window = |rules: &ScalingRules| rules.stabilization_window_seconds.map(seconds);
    let up = window(&behavior.up).unwrap_or_default();
    // Upstream counts the flag in whole seconds.
    let down = window(&behavior.down).unwrap_or(Duration::from_secs(default.as_secs()));
    let within = |window: Duration| {
        let is_recent = move |old: &&Recommendation| old.at + window > now;
        past.iter().filter(is_recent).map(|old| old.replicas)
    };
    let lowest = within(up).fold(desired, i32::min);
    let highest = within(down).fold(desired, i32::max);
    let replicas = current.max(lowest).min(highest);
    let (reason, message) = if desired >= current {
        ("ScaleUpStabilized", LOWER)
    } else {
        ("ScaleDownStabilized", HIGHER)
    };
    Stabilized { replicas, reason, message, window: up.max(down) }
}

/// Without rules. As `convertDesiredReplicasWithRules`.
pub(super) fn limit(Sizes { current, desired, min, max }: Sizes) -> Limited {
    let limit = scale_up_limit(current);
    if desired < min {
        return TOO_FEW.at(min);
    }
    let max = if mutant::is(Mutant::MaximumIgnored) { i32::MAX } else { max };
    if desired <= max.min(limit) {
        return WITHIN.at(desired);
    }
    if max > limit { TOO_FAST.at(limit) } else { TOO_MANY.at(max) }
}

/// As `calculateScaleUpLimit`.
#[expect(clippy::cast_possible_truncation, reason = "beyond the bounds it is the bound")]
fn scale_up_limit(current: i32) -> i32 {
    f64::max(SCALE_UP_LIMIT_FACTOR * f64::from(current), SCALE_UP_LIMIT_MINIMUM) as i32
}

/// As `convertDesiredReplicasWithBehaviorRate`.
pub(super) fn limit_with(
    behavior: &Behavior,
    events: (&[ScaleEvent], &[ScaleEvent]),
    Sizes { current, desired, min, max }: Sizes,
    now: Duration,
) -> Limited {
    if desired > current {
        let limit = scale_up_limit_with(&behavior.up, current, events, now).max(current);
        let (most, why) = if max > limit { (limit, TOO_FAST) } else { (max, TOO_MANY) };
        if desired > most {
            return why.at(most);
        }
    } else if desired < current {
        let limit = scale_down_limit_with(&behavior.down, current, events, now).min(current);
        let (least, why) = if min < limit { (limit, TOO_FAST_DOWN) } else { (min, TOO_FEW) };
        if desired < least {
            return why.at(least);
        }
    }
    WITHIN.at(desired)
}

/// How many replicas there may be. As `calculateScaleUpLimitWithScalingRules`.
#[expect(clippy::cast_possible_truncation, reason = "beyond the bounds it is the bound")]
pub(super) fn scale_up_limit_with(
    rules: &ScalingRules,
    current: i32,
    events: (&[ScaleEvent], &[ScaleEvent]),
    now: Duration,
) -> i32 {
    let proposals = rules.policies.iter().map(|policy| {
        let start = at_period_start(current, events, seconds(policy.period_seconds), now);
        match policy.kind {
            ScalingPolicyKind::Pods => start.saturating_add(policy.value),
            // Rounded up: else a small size would never grow.
            ScalingPolicyKind::Percent => {
                let factor = 1.0 + f64::from(policy.value) / 100.0;
                (f64::from(start) * factor).ceil() as i32
            }
        }
    });
    match rules.select_policy {
        SelectPolicy::Disabled => current,
        SelectPolicy::Min => proposals.fold(i32::MAX, i32::min),
        SelectPolicy::Max => proposals.fold(i32::MIN, i32::max),
    }
}

/// How few replicas there may be. As `calculateScaleDownLimitWithBehaviors`.
#[expect(clippy::cast_possible_truncation, reason = "beyond the bounds it is the bound")]
pub(super) fn scale_down_limit_with(
    rules: &ScalingRules,
    current: i32,
    events: (&[ScaleEvent], &[ScaleEvent]),
    now: Duration,
) -> i32 {
    let proposals = rules.policies.iter().map(|policy| {
        let start = at_period_start(current, events, seconds(policy.period_seconds), now);
        match policy.kind {
            ScalingPolicyKind::Pods => start.saturating_sub(policy.value),
            ScalingPolicyKind::Percent => {
                let factor = 1.0 - f64::from(policy.value) / 100.0;
                (f64::from(start) * factor) as i32
            }
        }
    });
    match rules.select_policy {
        SelectPolicy::Disabled => current,
        SelectPolicy::Min => proposals.fold(i32::MIN, i32::max),
        SelectPolicy::Max => proposals.fold(i32::MAX, i32::min),
    }
}

/// The size at the start of a period.
fn at_period_start(
    current: i32,
    (ups, downs): (&[ScaleEvent], &[ScaleEvent]),
    period: Duration,
    now: Duration,
) -> i32 {
    let (added, removed) = (changed(ups, period, now), changed(downs, period, now));
    current.saturating_sub(added).saturating_add(removed)
}

/// By how much the size changed in a period. As `getReplicasChangePerPeriod`.
pub(super) fn changed(events: &[ScaleEvent], period: Duration, now: Duration) -> i32 {
    let recent = events.iter().filter(|event| event.at + period > now);
    recent.fold(0, |sum, event| sum.saturating_add(event.change))
}

// === Limits in words ===

struct Words(&'static str, &'static str);

const WITHIN: Words =
    Words("DesiredWithinRange", "the desired count is within the acceptable range");
const TOO_FEW: Words =
    Words("TooFewReplicas", "the desired replica count is less than the minimum replica count");
const TOO_MANY: Words =
    Words("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const TOO_FAST: Words = Words(
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
);
const TOO_FAST_DOWN: Words = Words(
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);

impl Words {
    const fn at(&self, replicas: i32) -> Limited {
        Limited { replicas, reason: self.0, message: self.1 }
    }
}

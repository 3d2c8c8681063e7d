//! What is used of a quota. As `syncResourceQuota` in upstream's `pkg/controller/resourcequota`,
//! and `CalculateUsage` in apiserver's `pkg/quota/v1`.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{ResourceQuota, Text};
use apimachinery::Quantity;
use controller::Plan;

use super::snapshot::Snapshot;
use super::usage::{Unlisted, Usage};

/// How many names a reason gives.
const NAMED_MAX: usize = 3;
/// When a number that was written is looked at again: the caches may not have had all yet that the
/// API server had already charged.
const AGAIN: Duration = Duration::from_secs(10);
/// A pod is charged until its grace period is over, not up to then.
const TICK: Duration = Duration::from_millis(1);

/// What is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What was found out now. What could not be, or what nothing is known of, stays as it is.
    pub counted: BTreeMap<Text, Quantity>,
    /// Whether the status says so already.
    pub is_right: bool,
}

pub(super) fn decide(s: &Snapshot, level: PodLevel, resync: Option<Duration>) -> (Plan, Verdict) {
    let quota = &s.quota;
    if let Some(error) = &quota.unreadable {
        let nothing = Verdict { is_right: true, ..Verdict::default() };
        return (Plan::rest(format!("the quota cannot be read: {error}")), nothing);
    }
    let usage = Usage::new(s, level);
    let (mut counted, mut unlisted) = (BTreeMap::new(), Vec::new());
    for (name, measures) in &s.measures {
        let amounts = measures.iter().map(|measure| usage.of(name, measure));
        match amounts.collect::<Result<Vec<_>, Unlisted>>() {
            Ok(amounts) if amounts.is_empty() => {}
            Ok(amounts) => {
                let sum = amounts.into_iter().fold(Quantity::ZERO, Quantity::plus);
                counted.insert(name.clone(), sum);
            }
            Err(Unlisted) => unlisted.push(&**name),
        }
    }
    let used = used(quota, &counted);
    let is_right = quota.hard == quota.status_hard && used == quota.used;
    let again =
        [resync, (!is_right).then_some(AGAIN), usage.next_end().map(|end| end.since(s.now) + TICK)];
    let plan = Plan::rest(why(quota, &used)).again_after(again.into_iter().flatten().min());
    let error = (!unlisted.is_empty())
        .then(|| format!("cannot count {}: these objects are not listed yet", unlisted.join(", ")));
    (Plan { error, ..plan }, Verdict { counted, is_right })
}

/// The whole `status.used`.
fn used(quota: &ResourceQuota, counted: &BTreeMap<Text, Quantity>) -> BTreeMap<Text, Quantity> {
    let amount = |name: &Text| counted.get(name).or_else(|| quota.used.get(name)).copied();
    let all = quota.hard.keys().map(|name| (name, amount(name)));
    all.filter_map(|(name, amount)| Some((name.clone(), amount?))).collect()
}

/// What is used up, and what the status says otherwise.
fn why(quota: &ResourceQuota, used: &BTreeMap<Text, Quantity>) -> String {
    let full = used.iter().filter_map(|(name, used)| {
        let hard = quota.hard.get(name)?;
        (used >= hard).then(|| format!("{name} {used} of {hard}"))
    });
    let changes = used.iter().filter_map(|(name, used)| {
        let known = quota.used.get(name);
        let known_text = known.map_or("nothing".to_owned(), ToString::to_string);
        (known != Some(used)).then(|| format!("{name} from {known_text} to {used}"))
    });
    let mut parts = Vec::new();
    parts.extend(named("used up", full.collect()));
    parts.extend(named("changes", changes.collect()));
    if quota.hard != quota.status_hard {
        parts.push("the limits in the status change".to_owned());
    }
    if parts.is_empty() { "what is used is right".to_owned() } else { parts.join("; ") }
}

/// The first of these; none if there is none.
fn named(what: &str, mut all: Vec<String>) -> Option<String> {
    let more = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    all.truncate(NAMED_MAX);
    (!all.is_empty()).then(|| format!("{what}: {}{more}", all.join(", ")))
}

/// Whether what a pod asks for as a whole counts: upstream's gate `PodLevelResources`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodLevel {
    /// It counts.
    Counts,
    /// Only what its containers ask for counts.
    Skipped,
}

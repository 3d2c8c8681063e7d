//! What no cache shows: recommendations, changes of size, the selectors of targets, what is served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, SelectorText, Served, Text};
use controller::Outcome;

use super::custom::Version;
use super::decide::{Decision, is_tried_again};
use super::snapshot::Snapshot;

/// How long discovery is believed. As upstream resets its mapper.
const SERVED_MAX: Duration = Duration::from_secs(30);

/// The memory of all autoscalers. A new process starts without, as upstream's.
#[derive(Debug, Default)]
pub struct Memory {
    by_key: BTreeMap<Key, Past>,
    /// The selectors of the targets of autoscalers as they were read last, by namespace and name.
    selectors: BTreeMap<Text, Arc<Selectors>>,
    served: Option<(Duration, Arc<Served>)>,
    custom: Option<(Duration, Version)>,
}

/// The selectors of the targets of a namespace's autoscalers, by the names of these.
pub type Selectors = BTreeMap<Text, Arc<SelectorText>>;

/// What is remembered of an autoscaler. Moments are of the clock that cannot be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Of which object this is.
    pub uid: Text,
    /// What was computed, before it was made steadier; none: nothing yet. In no order.
    pub recommendations: Option<Vec<Recommendation>>,
    /// By how much it scaled up.
    pub ups: Vec<ScaleEvent>,
    /// By how much it scaled down.
    pub downs: Vec<ScaleEvent>,
    /// How often in a row the target had changed before its new size was written.
    pub conflicts: u32,
    /// The size that it wants.
    pub desired: Option<i32>,
}

/// A size that was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recommendation {
    /// The size.
    pub replicas: i32,
    /// When.
    pub at: Duration,
}

/// A change of size that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleEvent {
    /// By how many replicas.
    pub change: i32,
    /// When.
    pub at: Duration,
    /// No policy looks that far back: its place can be used again.
    pub outdated: bool,
}

// === impl Memory ===

impl Memory {
    /// What is remembered of this object.
    pub(super) fn past(&self, key: &Key, uid: &Text) -> Past {
        let past = self.by_key.get(key).filter(|past| past.uid == *uid).cloned();
        past.unwrap_or_else(|| Past { uid: uid.clone(), ..Past::default() })
    }

    /// The selectors of a namespace.
    pub(super) fn selectors(&self, namespace: &Text) -> Arc<Selectors> {
        self.selectors.get(namespace).cloned().unwrap_or_default()
    }

    /// What was served a moment ago.
    pub(super) fn served(&self, now: Duration) -> Option<Arc<Served>> {
        let fresh = self.served.as_ref().filter(|(at, _)| now.saturating_sub(*at) < SERVED_MAX);
        fresh.map(|(_, served)| Arc::clone(served))
    }

    /// The version of the custom metrics API, as it was a moment ago.
    pub(super) fn custom(&self, now: Duration, period: Duration) -> Option<Version> {
        self.custom.filter(|(at, _)| now.saturating_sub(*at) < period).map(|(_, version)| version)
    }

    /// The sizes that the autoscalers want.
    pub(super) fn desired(&self) -> impl Iterator<Item = (&Key, i32)> {
        self.by_key.iter().filter_map(|(key, past)| Some((key, past.desired?)))
    }

    pub(super) fn learn_served(&mut self, now: Duration, served: &Arc<Served>) {
        self.served = Some((now, Arc::clone(served)));
    }

    pub(super) fn learn_custom(&mut self, now: Duration, version: Version) {
        self.custom = Some((now, version));
    }

    /// The autoscaler was deleted.
    pub(super) fn forget(&mut self, key: &Key) {
        self.by_key.remove(key);
        if let Some(selectors) = self.selectors.get_mut(&key.namespace) {
            Arc::make_mut(selectors).remove(&key.name);
            if selectors.is_empty() {
                self.selectors.remove(&key.namespace);
            }
        }
    }

    /// Remembers the selector of a target.
    #[cfg(test)]
    pub(super) fn select(&mut self, key: &Key, selector: &Arc<SelectorText>) {
        let of_namespace = self.selectors.entry(key.namespace.clone()).or_default();
        Arc::make_mut(of_namespace).insert(key.name.clone(), Arc::clone(selector));
    }

    /// Remembers recommendations.
    #[cfg(test)]
    pub(super) fn recommend(&mut self, key: &Key, uid: &str, all: Vec<Recommendation>) {
        let past = Past { uid: uid.into(), recommendations: Some(all), ..Past::default() };
        self.by_key.insert(key.clone(), past);
    }

    /// What was decided was also done, or failed.
    pub(super) fn acted(&mut self, s: &Snapshot, decision: &Decision, outcome: &Outcome) {
        let key = &s.autoscaler.meta.key;
        if let Some(selector) = &decision.selector {
            let of_namespace = self.selectors.entry(key.namespace.clone()).or_default();
            if of_namespace.get(&key.name) != Some(selector) {
                Arc::make_mut(of_namespace).insert(key.name.clone(), Arc::clone(selector));
            }
        }
        let mut past = s.past.clone();
        past.acted(s, decision, outcome);
        self.by_key.insert(key.clone(), past);
    }
}

// === impl Past ===

impl Past {
    /// The recommendations, of which the first is the size that the target had.
    pub(super) fn seeded(&self, current: i32, now: Duration) -> Vec<Recommendation> {
        let seed = || vec![Recommendation { replicas: current, at: now }];
        self.recommendations.clone().unwrap_or_else(seed)
    }

    fn acted(&mut self, s: &Snapshot, decision: &Decision, outcome: &Outcome) {
        let failed = outcome.step.is_some();
        if outcome.unsettled || failed && is_tried_again(s, outcome) {
            self.conflicts += u32::from(failed);
            return;
        }
        self.conflicts = 0;
        if let Some(current) = decision.seed {
            self.recommendations = Some(self.seeded(current, s.uptime));
        }
        if let Some((replicas, window)) = decision.recommended {
            let all = self.recommendations.get_or_insert_default();
            record(all, Recommendation { replicas, at: s.uptime }, window);
        }
        if failed {
            return;
        }
        self.desired = decision.desired.or(self.desired);
        if let (Some(rescale), Some(behavior)) = (&decision.rescale, &s.autoscaler.behavior) {
            let change = rescale.to.saturating_sub(rescale.from);
            let (events, rules) = if change > 0 {
                (&mut self.ups, &behavior.up)
            } else {
                (&mut self.downs, &behavior.down)
            };
            let periods = rules.policies.iter().map(|policy| policy.period_seconds);
            let longest = super::behavior::seconds(periods.max().unwrap_or(0));
            store(events, change.saturating_abs(), s.uptime, longest);
        }
    }
}

/// Takes the place of the last one that is older than the window. As `stabilizeRecommendation`.
pub(super) fn record(all: &mut Vec<Recommendation>, new: Recommendation, window: Duration) {
    match all.iter_mut().rfind(|old| old.at + window < new.at) {
        Some(old) => *old = new,
        None => all.push(new),
    }
}

/// Takes the place of the last one that no policy looks at. As `storeScaleEvent`.
pub(super) fn store(events: &mut Vec<ScaleEvent>, change: i32, now: Duration, longest: Duration) {
    for event in &mut *events {
        event.outdated |= event.at + longest < now;
    }
    let new = ScaleEvent { change, at: now, outdated: false };
    match events.iter_mut().rfind(|event| event.outdated) {
        Some(old) => *old = new,
        None => events.push(new),
    }
}

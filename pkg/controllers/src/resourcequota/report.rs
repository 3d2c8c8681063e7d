//! The status of a quota.

use std::collections::BTreeMap;

use api::{Edit, Kind, Raw, ResourceQuota, Text};
use apimachinery::Quantity;
use controller::{ObjectRef, Retry, Write};
use serde_json::{Map, Value};

use super::decide::Verdict;
use super::snapshot::Snapshot;

/// None if the status is right already.
pub(super) fn report(s: &Snapshot, verdict: &Verdict) -> Option<Write> {
    if verdict.is_right {
        return None;
    }
    let quota = &s.quota;
    // As they came: other texts for the same amounts would be another object.
    let hard = amounts(&quota.raw, "spec", "hard");
    let known = amounts(&quota.raw, "status", "used");
    let used = used(&hard, &known, &verdict.counted);
    let edits = vec![
        Edit::new(["status", "hard"], value(hard)),
        Edit::new(["status", "used"], value(used)),
    ];
    let object = ObjectRef::new(&ResourceQuota::RESOURCE, &quota.meta);
    Some(Write::status(object, quota.raw.clone(), edits, Retry::Never))
}

/// The quota in a few numbers.
pub(super) fn summary(s: &Snapshot) -> Vec<(&'static str, String)> {
    let ResourceQuota { meta, hard, status_hard, used, scopes, .. } = &*s.quota;
    let list = |amounts: &BTreeMap<Text, Quantity>| {
        let all: Vec<_> = amounts.iter().map(|(name, it)| format!("{name}={it}")).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    };
    let mut facts = Vec::new();
    if let Some(error) = &s.quota.unreadable {
        facts.push(("left alone", format!("the quota cannot be read: {error}")));
    }
    let uncounted = s.measures.iter().filter(|(_, measures)| measures.is_empty());
    let uncounted: Vec<_> = uncounted.map(|(name, _)| &**name).collect();
    facts.push(("hard", list(hard)));
    if hard != status_hard {
        facts.push(("hard in the status", list(status_hard)));
    }
    facts.push(("used in the status", list(used)));
    if !scopes.is_empty() {
        let names: Vec<_> = scopes.iter().map(|scope| scope.name.as_str()).collect();
        facts.push(("scopes", names.join(", ")));
    }
    if !uncounted.is_empty() {
        facts.push(("nothing is known to count as", uncounted.join(", ")));
    }
    facts.push(("pods", s.pods.len().to_string()));
    facts.push(("resource version", meta.resource_version.to_string()));
    facts
}

fn used(
    hard: &Map<String, Value>,
    known: &Map<String, Value>,
    counted: &BTreeMap<Text, Quantity>,
) -> Map<String, Value> {
    let amount = |name: &str| {
        let counted = counted.get(name).map(|amount| Value::from(amount.to_string()));
        counted.or_else(|| known.get(name).cloned())
    };
    hard.keys().filter_map(|name| Some((name.clone(), amount(name)?))).collect()
}

fn amounts(raw: &Raw, part: &str, name: &str) -> Map<String, Value> {
    let part = raw.field(part).map(|part| serde_json::from_str::<Value>(part.get()));
    let mut part = part.and_then(Result::ok).unwrap_or_default();
    let Some(Value::Object(amounts)) = part.get_mut(name).map(Value::take) else {
        return Map::new();
    };
    amounts
}

fn value(amounts: Map<String, Value>) -> Value {
    if amounts.is_empty() { Value::Null } else { Value::Object(amounts) }
}

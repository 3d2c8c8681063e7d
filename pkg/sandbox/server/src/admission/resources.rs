//! What pods ask for (component-helpers' resource helpers, as LimitRanger and ResourceQuota use
//! them).

use std::collections::BTreeMap;
use strategies::Quantity;

use serde_json::Value;

use crate::write::fields::{items, pairs, text};

/// Amounts by the name of what they are of.
pub(super) type Amounts = BTreeMap<String, Quantity>;

/// The amounts at a JSON pointer; what cannot be read is left out.
pub(super) fn amounts(object: &Value, pointer: &str) -> Amounts {
    let read = |(name, value): (&str, &Value)| Some((name.to_owned(), Quantity::from_json(value)?));
    pairs(object, pointer).filter_map(read).collect()
}

/// What a pod asks for as a whole. `field`: `requests` or `limits`.
pub(super) fn of_pod(pod: &Value, field: &str) -> Amounts {
    let pointer = format!("/resources/{field}");
    let mut sum = Amounts::new();
    for container in items(pod, "/spec/containers") {
        add(&mut sum, &amounts(container, &pointer));
    }
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in items(pod, "/spec/initContainers") {
        let own = amounts(container, &pointer);
        if text(container, "/restartPolicy") == "Always" {
            add(&mut sum, &own);
            add(&mut sidecars, &own);
            raise(&mut peak, &sidecars);
        } else {
            let mut now = own;
            add(&mut now, &sidecars);
            raise(&mut peak, &now);
        }
    }
    raise(&mut sum, &peak);
    let whole = amounts(pod, &format!("/spec/resources/{field}"));
    let counts = |name: &str| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
    sum.extend(whole.into_iter().filter(|(name, _)| counts(name)));
    sum
}

/// Adds each amount.
pub(super) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let known = sum.get(name).copied();
        sum.insert(name.clone(), known.map_or(*amount, |known| known.plus(*amount)));
    }
}

/// Takes each amount that is larger.
fn raise(peak: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        if peak.get(name).is_none_or(|known| amount > known) {
            peak.insert(name.clone(), *amount);
        }
    }
}

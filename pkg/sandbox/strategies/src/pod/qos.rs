//! How a pod is treated when its node runs short (pkg/apis/core/helper/qos).

use serde_json::Value;

use super::resources::{Amounts, amounts};
use crate::Quantity;
use crate::value::{get, items};

/// `Guaranteed`, `Burstable` or `BestEffort` (ComputePodQOS).
pub(crate) fn class(spec: &Value) -> &'static str {
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    let mut limited = true;
    if let Some(resources) = get(spec, "resources") {
        requests = compute(resources, "requests");
        limits = compute(resources, "limits");
        limited = amounts(resources, "limits").is_empty() || limits.len() == 2;
    } else {
        for container in items(spec, "containers").iter().chain(items(spec, "initContainers")) {
            let resources = get(container, "resources").unwrap_or(&Value::Null);
            let bounds = compute(resources, "limits");
            limited &= bounds.len() == 2;
            add(&mut requests, compute(resources, "requests"));
            add(&mut limits, bounds);
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if limited && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// What there is of CPU and memory, without zeros.
fn compute(resources: &Value, field: &str) -> Amounts {
    let mut amounts = amounts(resources, field);
    amounts.retain(|name, amount| {
        matches!(name.as_str(), "cpu" | "memory") && *amount > Quantity::ZERO
    });
    amounts
}

fn add(sum: &mut Amounts, more: Amounts) {
    for (name, amount) in more {
        let entry = sum.entry(name).or_default();
        *entry = entry.plus(amount);
    }
}

//! What amounts of resources may be, and which resources are whose.

use serde_json::Value;

use crate::formats::label_key;
use crate::value::entries;
use crate::{Invalid, Path, Quantity};

/// Resources without a domain that quotas can limit.
const QUOTA: [&str; 19] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// ValidateNonnegativeQuantity.
pub(crate) fn not_negative(value: &Value, path: &Path) -> Option<Invalid> {
    let amount = Quantity::from_json(value).filter(|amount| *amount < Quantity::ZERO)?;
    Some(path.invalid(amount.to_string(), "must be greater than or equal to 0"))
}

/// ValidatePositiveQuantityValue.
pub(crate) fn positive(value: &Value, path: &Path) -> Option<Invalid> {
    let amount = Quantity::from_json(value).unwrap_or_default();
    (amount <= Quantity::ZERO)
        .then(|| path.invalid(amount.to_string(), "must be greater than zero"))
}

/// ValidateResourceQuantityValue: what a resource can amount to.
pub(crate) fn of_resource(name: &str, value: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs: Vec<_> = not_negative(value, path).into_iter().collect();
    let amount = Quantity::from_json(value).unwrap_or_default();
    if is_counted(name) && !amount.rounded_to_milli().is_whole() {
        wrongs.push(path.invalid(amount.to_string(), "must be an integer"));
    }
    wrongs
}

/// The same of each resource at a JSON pointer.
pub(crate) fn of_resources(
    object: &Value,
    pointer: &str,
    path: impl Fn(&str) -> Path,
) -> Vec<Invalid> {
    let resources = entries(object, pointer).into_iter();
    resources.flat_map(|(name, value)| of_resource(name, value, &path(name))).collect()
}

/// IsIntegerResourceName: what there is no half of.
fn is_counted(name: &str) -> bool {
    const COUNTED: &[&str] = &[
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    ];
    COUNTED.contains(&name) || is_extended(name)
}

/// Whether a resource is Kubernetes' own (IsNativeResource).
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether it is an extended resource: `example.com/dongle` (IsExtendedResourceName).
pub(crate) fn is_extended(name: &str) -> bool {
    let in_quota = format!("requests.{name}");
    !is_native(name) && !name.starts_with("requests.") && label_key(&in_quota).is_empty()
}

/// Whether it can go without a domain (IsStandardResourceName).
pub(crate) fn is_standard(name: &str) -> bool {
    name == "storage" || is_quota(name)
}

/// Whether a quota can limit it (IsStandardQuotaResourceName).
pub(crate) fn is_quota(name: &str) -> bool {
    let huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
    huge || QUOTA.contains(&name)
}

//! What a shadow makes of the rows: which it cannot judge, and which it gives more time.

use std::time::Duration;

use controllers::{csrcleaner, legacytokencleaner, podcertificaterequestcleaner, podgc};

/// The controllers that a shadow does not run, by name, and why.
pub(crate) static UNJUDGED: &[(&str, &str)] = &[
    (
        "certificatesigningrequest-approving-controller",
        "a shadow cannot judge it: it decides by access reviews, which are POSTs",
    ),
    (
        "certificatesigningrequest-signing-controller",
        "a shadow cannot judge it: it needs the keys of authorities, which a shadow must not have",
    ),
    (
        "horizontal-pod-autoscaler-controller",
        "a shadow cannot judge it: it decides on metrics of the very moment, and on its own past",
    ),
    ("selinux-warning-controller", "a shadow cannot judge it: it writes nothing but Events"),
    (
        "serviceaccount-token-controller",
        "a shadow cannot judge it: it needs the key of tokens, which a shadow must not have",
    ),
    (
        "storage-version-migrator-controller",
        "a shadow cannot judge it: only the responses to its own writes tell how far it is",
    ),
];

/// The controllers of which upstream's looks only now and then, by name. Both look at their own
/// times, so that the later one may be this much behind.
static PERIODS: &[(&str, Duration)] = &[
    ("certificatesigningrequest-cleaner-controller", csrcleaner::PERIOD),
    ("legacy-serviceaccount-token-cleaner-controller", legacytokencleaner::PERIOD),
    // It looks at a node that is missing twice.
    ("pod-garbage-collector-controller", podgc::PERIOD.saturating_mul(2)),
    ("podcertificaterequest-cleaner-controller", podcertificaterequestcleaner::PERIOD),
];

/// Why a shadow cannot judge the controller of this name; none: it can.
pub(crate) fn unjudged(name: &str) -> Option<&'static str> {
    UNJUDGED.iter().find(|(row, _)| *row == name).map(|(_, why)| *why)
}

/// How much longer than the grace period upstream's controller of this name may take.
pub(crate) fn period(name: &str) -> Duration {
    let found = PERIODS.iter().find(|(row, _)| *row == name);
    found.map_or(Duration::ZERO, |(_, period)| *period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::REGISTRY;

    #[test]
    fn each_name_is_that_of_a_row() {
        let names =
            UNJUDGED.iter().map(|(name, _)| name).chain(PERIODS.iter().map(|(name, _)| name));
        for name in names {
            assert!(REGISTRY.iter().any(|row| row.name == *name), "{name}");
        }
    }
}

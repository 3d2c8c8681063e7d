//! How many claims there are. As `CollectWithStability` of upstream's collector.

use std::collections::BTreeMap;

use api::ResourceClaim;
use controller::{Count, Family, View};

pub(super) const RESOURCE_CLAIMS: Family = Family::gauge(
    "resourceclaim_controller_resource_claims",
    "[ALPHA] Number of ResourceClaims, categorized by allocation status, admin access, and source. \
     Source can be 'resource_claim_template' (created from a template), 'extended_resource' \
     (extended resources), or empty (manually created by a user).",
)
.labels(&["allocated", "admin_access", "source"]);

/// Of all claims.
pub(super) fn gauges(view: &View<'_>) -> Vec<Count> {
    let mut numbers = BTreeMap::<_, u32>::new();
    for claim in view.of::<ResourceClaim>().all() {
        let labels = (claim.allocation.is_some(), claim.admin_access, source(&claim));
        *numbers.entry(labels).or_default() += 1;
    }
    let numbers = numbers.into_iter().map(|((allocated, admin, source), number)| {
        let labels = [allocated.to_string(), admin.to_string(), source.to_owned()];
        Count::of(&RESOURCE_CLAIMS, number.into()).labels(labels)
    });
    numbers.collect()
}

fn source(claim: &ResourceClaim) -> &'static str {
    if claim.is_extended {
        "extended_resource"
    } else if claim.pod_claim.as_ref().is_some_and(|name| !name.is_empty()) {
        "resource_claim_template"
    } else {
        ""
    }
}

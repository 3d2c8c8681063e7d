//! Upstream's families, for tests of crates that register some.

use std::collections::BTreeSet;

use crate::registry::Registry;

/// Family, type and labels, one per line: what a leader of 1.36.3 shows, and below that what it
/// shows only after use, from component-base.
const UPSTREAM: &str = include_str!("../testdata/families.txt");

/// The families of `registry` that are not upstream's, or have another type or other labels there.
/// Those whose names start with `kcm_` are ours and not compared.
pub fn unlike_upstream(registry: &Registry) -> Vec<String> {
    let upstream: BTreeSet<_> = UPSTREAM.lines().collect();
    let mut unlike = families(registry);
    unlike.retain(|family| !family.starts_with("kcm_") && !upstream.contains(family.as_str()));
    unlike
}

/// Name, type and labels of all families of `registry` but the raw ones, sorted.
pub fn families(registry: &Registry) -> Vec<String> {
    let mut families = Vec::new();
    registry.each(|collector| {
        let kinds = collector.collect();
        for (desc, family) in collector.desc().into_iter().zip(kinds) {
            let mut labels = desc.variable_labels.clone();
            labels.sort();
            let kind = format!("{:?}", family.get_field_type()).to_lowercase();
            families.push(format!("{} {kind} {}", desc.fq_name, labels.join(",")).trim().into());
        }
    });
    families.sort();
    families
}

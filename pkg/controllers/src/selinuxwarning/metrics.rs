//! The conflicts that there are. Upstream's `metrics.go`.

use controller::{Count, Family};

use super::memory::Memory;

/// Present conflicts, one series for each direction.
pub(super) const CONFLICT: Family = Family::gauge(
    "selinux_warning_controller_selinux_volume_conflict",
    "[ALPHA] Conflict between two Pods using the same volume",
)
.labels(&[
    "property",
    "pod1_namespace",
    "pod1_name",
    "pod1_value",
    "pod2_namespace",
    "pod2_name",
    "pod2_value",
]);

pub(super) fn gauges(memory: &Memory) -> Vec<Count> {
    let conflicts = memory.conflicts();
    let counts = conflicts.iter().map(|it| {
        let (pod, other) = (&it.pod, &it.other);
        Count::of(&CONFLICT, 1.0).labels([
            it.property.name(),
            &*pod.namespace,
            &*pod.name,
            &*it.value,
            &*other.namespace,
            &*other.name,
            &*it.other_value,
        ])
    });
    counts.collect()
}

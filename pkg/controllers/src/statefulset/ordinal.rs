//! Names and numbers of pods and claims. From upstream's `stateful_set_utils.go`.

use api::StatefulSet;

/// The set whose pod would have this name, and the number of that pod; no number if it is too large
/// to be one. None: no set has such pods. As `getParentNameAndOrdinal`.
pub(super) fn split(pod: &str) -> Option<(&str, Option<i32>)> {
    let (parent, digits) = pod.rsplit_once('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (parent, digits.parse().ok()))
}

/// The number of a pod with this name.
pub(super) fn of(pod: &str) -> Option<i32> {
    split(pod)?.1
}

/// As `getPodName`.
pub(super) fn pod_name(set: &StatefulSet, ordinal: i32) -> String {
    format!("{}-{ordinal}", set.meta.key.name)
}

/// The name of the claim of a pod that is made from the template of this name. As
/// `getPersistentVolumeClaimName`.
pub(super) fn claim_name(set: &StatefulSet, template: &str, ordinal: i32) -> String {
    format!("{template}-{}-{ordinal}", set.meta.key.name)
}

/// The numbers that pods of the set should have: the first one and the one after the last.
fn bounds(set: &StatefulSet) -> (i64, i64) {
    let start = i64::from(set.start);
    (start, start + i64::from(set.replicas.max(0)))
}

/// Whether the set has a place for this number. As `podInOrdinalRange`.
pub(super) fn is_in_range(set: &StatefulSet, ordinal: i32) -> bool {
    let (start, end) = bounds(set);
    (start..end).contains(&i64::from(ordinal))
}

/// The numbers that pods of the set should have, from the lowest to the highest.
pub(super) fn range(set: &StatefulSet) -> impl DoubleEndedIterator<Item = i32> {
    let (start, end) = bounds(set);
    let end = end.min(i64::from(i32::MAX));
    (start..end).filter_map(|ordinal| i32::try_from(ordinal).ok())
}

//! The volume that fits a claim best. As `findByClaim` in upstream's `index.go` and
//! `FindMatchingVolume` in component-helpers.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{AccessModes, PersistentVolume, Selector, VolumePhase};
use apimachinery::Quantity;

use super::snapshot::{Candidates, Snapshot};

/// The best of the candidates. The error says what is wrong with the claim.
pub(super) fn best(s: &Snapshot, waits: Waits) -> Result<Option<&PersistentVolume>, String> {
    let Candidates::Found(candidates) = &s.candidates else { return Ok(None) };
    let selector = match &s.binding.selector {
        Some(Ok(selector)) => Some(selector),
        Some(Err(error)) => {
            return Err(format!(
                "error creating internal label selector for claim: {}: {error}",
                s.claim.meta.key
            ));
        }
        None => None,
    };
    // Those that can do no more than is asked for come first.
    let mut groups: BTreeMap<(u32, AccessModes), Vec<&Arc<PersistentVolume>>> = BTreeMap::new();
    for volume in candidates.iter().filter(|volume| volume.modes.contain(s.binding.modes)) {
        groups.entry((volume.modes.count(), volume.modes)).or_default().push(volume);
    }
    Ok(groups.values().find_map(|group| best_of(s, group, (selector, waits))))
}

/// Whether volumes that are nobody's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// They do not: the claim is bound once a pod uses it, to what the scheduler finds.
    ForConsumer,
    /// They do.
    No,
}

fn best_of<'a>(
    s: &Snapshot,
    group: &[&'a Arc<PersistentVolume>],
    (selector, waits): (Option<&Selector>, Waits),
) -> Option<&'a PersistentVolume> {
    let fitting: Vec<_> = group.iter().copied().filter(|volume| fits(s, volume)).collect();
    // One that is kept for the claim is taken whatever its class, labels and phase.
    if let Some(kept) = fitting.iter().find(|volume| volume.is_of(&s.claim)) {
        return Some(kept);
    }
    if waits == Waits::ForConsumer {
        return None;
    }
    let free = fitting.into_iter().filter(|volume| {
        volume.phase == VolumePhase::Available
            && selector.is_none_or(|selector| selector.matches(&volume.meta.labels))
            && volume.class == s.claim.class
    });
    free.min_by_key(|volume| volume.capacity.unwrap_or_default()).map(|volume| &**volume)
}

/// What must hold of any volume.
fn fits(s: &Snapshot, volume: &PersistentVolume) -> bool {
    (volume.claim.is_none() || volume.is_of(&s.claim))
        && volume.capacity.unwrap_or_default() >= s.claim.request
        && volume.is_block == s.binding.is_block
        && volume.attributes_class == s.claim.attributes_class
        && !volume.meta.is_terminating()
}

/// Why the volume that a claim names cannot be its; none: it can. As `checkVolumeSatisfyClaim`.
pub(super) fn misfit(s: &Snapshot, volume: &PersistentVolume) -> Option<String> {
    let size = |of: Option<Quantity>| of.unwrap_or_default().value();
    if volume.meta.is_terminating() {
        Some(format!("the volume is marked for deletion {:?}", &*volume.meta.key.name))
    } else if size(volume.capacity) < s.claim.request.value() {
        Some("requested PV is too small".to_owned())
    } else if volume.class != s.claim.class {
        Some("storageClassName does not match".to_owned())
    } else if volume.attributes_class != s.claim.attributes_class {
        Some("volumeAttributesClassName does not match".to_owned())
    } else if volume.is_block != s.binding.is_block {
        Some("incompatible volumeMode".to_owned())
    } else if !volume.modes.contain(s.binding.modes) {
        Some("incompatible accessMode".to_owned())
    } else {
        None
    }
}

//! What a sync of a pod looks at.

use std::sync::Arc;

use api::{EphemeralVolume, Key, PersistentVolumeClaim, Pod};
use controller::View;

/// A pod and the claims of its ephemeral volumes.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The pod.
    pub pod: Arc<Pod>,
    /// For each of its ephemeral volumes, in their order, the claim of its name.
    pub claims: Vec<Option<Arc<PersistentVolumeClaim>>>,
}

/// The claim of an ephemeral volume. As `VolumeClaimName` of component-helpers' storage/ephemeral.
pub(super) fn claim_key(pod: &Pod, volume: &EphemeralVolume) -> Key {
    let Key { namespace, name } = &pod.meta.key;
    Key { namespace: namespace.clone(), name: format!("{name}-{}", volume.name).into() }
}

/// Whether it was made for this pod. As `VolumeIsForPod` there.
pub(super) fn is_for(claim: &PersistentVolumeClaim, pod: &Pod) -> bool {
    claim.meta.is_controlled_by(&pod.meta.uid)
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let pod = view.of::<Pod>().get(key)?;
    let claims = view.of::<PersistentVolumeClaim>();
    let found = pod.ephemeral_volumes.iter().map(|volume| claims.get(&claim_key(&pod, volume)));
    let claims = found.collect();
    Some(Snapshot { pod, claims })
}

// === impl Snapshot ===

impl Snapshot {
    /// Each ephemeral volume and the claim of its name.
    pub(super) fn volumes(
        &self,
    ) -> impl Iterator<Item = (&EphemeralVolume, Option<&PersistentVolumeClaim>)> {
        self.pod.ephemeral_volumes.iter().zip(self.claims.iter().map(Option::as_deref))
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let pod = &*self.pod;
        let volumes = self.volumes().map(|(volume, claim)| {
            let what = match claim {
                None => "is missing",
                Some(claim) if is_for(claim, pod) => "is there",
                Some(_) => "is there and not of this pod",
            };
            format!("{}: claim {} {what}", volume.name, claim_key(pod, volume))
        });
        let volumes = volumes.collect::<Vec<_>>().join(", ");
        vec![
            ("being deleted", pod.meta.is_terminating().to_string()),
            ("ephemeral volumes", if volumes.is_empty() { "none".to_owned() } else { volumes }),
        ]
    }
}

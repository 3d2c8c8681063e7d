//! What a decision about a pod looks at.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::{
    AllocatedDevice, ClaimName, DeviceTaint, Key, Pod, PodResourceClaim, ResourceClaim,
    ResourceSlice, Time,
};
use controller::View;
use mutant::Mutant;

use super::Evictions;
use super::evictions::Stage;

/// A pod and the taints of its devices at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The pod.
    pub pod: Arc<Pod>,
    /// Why it must go, and when, in the order of its claims and their devices.
    pub reasons: Vec<Reason>,
    /// What is remembered of it.
    pub stage: Option<Stage>,
}

/// A taint that a claim does not tolerate, or not for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Where it is: claim, and the driver, pool and name of the device.
    pub device: String,
    /// The taint: key, value.
    pub taint: DeviceTaint,
    /// When the pod must go for it.
    pub at: Time,
}

pub(super) fn observe(key: &Key, view: &View<'_>, evictions: &Evictions) -> Option<Snapshot> {
    let pod = view.of::<Pod>().get(key)?;
    let reasons = reasons(&pod, view);
    let stage = evictions.get(key, &pod.meta.uid);
    Some(Snapshot { now: view.now, pod, reasons, stage })
}

/// As `podEvictionTime`: what is not scheduled need not go.
fn reasons(pod: &Pod, view: &View<'_>) -> Vec<Reason> {
    if pod.node_name.is_none() {
        return Vec::new();
    }
    let claims = pod.resource_claims().iter().filter_map(|entry| claim(pod, entry, view));
    let mut reasons = Vec::new();
    for claim in claims {
        for device in claim.allocation.iter().flatten() {
            for taint in taints(device, view) {
                reasons.extend(reason(&claim, device, taint));
            }
        }
    }
    reasons
}

/// The claim of an entry, if it is the pod's and reserved for it.
fn claim(pod: &Pod, entry: &PodResourceClaim, view: &View<'_>) -> Option<Arc<ResourceClaim>> {
    let namespace = pod.meta.key.namespace.clone();
    let key = Key { namespace, name: entry.claim_name()?.clone() };
    let claim = view.of::<ResourceClaim>().get(&key)?;
    let is_own = match entry.claim {
        ClaimName::Given(_) => true,
        ClaimName::Made(_) => claim.meta.is_controlled_by(&pod.meta.uid),
        ClaimName::NotMade | ClaimName::NotNeeded | ClaimName::Unsupported => false,
    };
    (is_own && claim.is_reserved_for(&pod.meta.uid)).then_some(claim)
}

/// The taints of a device with the effect `NoExecute`, as the newest generation of its pool has
/// them. As `getDevice`.
fn taints(device: &AllocatedDevice, view: &View<'_>) -> Vec<DeviceTaint> {
    let pool = ResourceSlice::pool_key(&device.driver, &device.pool);
    let slices = view.of::<ResourceSlice>().by(ResourceSlice::BY_POOL, &pool);
    // What cannot be read is of no pool.
    let newest = slices.iter().map(|slice| slice.generation).max();
    let newest = slices.iter().filter(|slice| Some(slice.generation) == newest);
    let mut tainted = newest.flat_map(|slice| &slice.tainted);
    let found = tainted.find(|it| it.name == device.device);
    found.map(|it| it.taints.to_vec()).unwrap_or_default()
}

/// As `claimEvictionTime`: of several tolerations the shortest counts, and one that lasts for good
/// before all others.
fn reason(claim: &ResourceClaim, device: &AllocatedDevice, taint: DeviceTaint) -> Option<Reason> {
    let mut seconds = None;
    let is_blind = mutant::is(Mutant::TolerationIgnored);
    for toleration in device.tolerations.iter().filter(|it| taint.is_tolerated(it) && !is_blind) {
        // A span that is longer than a century would only overflow.
        let most = u32::try_from(toleration.seconds?.max(0)).unwrap_or(u32::MAX);
        seconds = Some(seconds.map_or(most, |known: u32| known.min(most)));
    }
    let AllocatedDevice { driver, pool, device, .. } = device;
    let device = format!("{driver}/{pool}/{device} of claim {}", claim.meta.key.name);
    let at = taint.added? + Duration::from_secs(seconds.unwrap_or(0).into());
    Some(Reason { device, taint, at })
}

// === impl Snapshot ===

impl Snapshot {
    /// The reason for which the pod must go first.
    pub(super) fn first(&self) -> Option<&Reason> {
        self.reasons.iter().min_by_key(|reason| reason.at)
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let pod = &*self.pod;
        let node = pod.node_name.as_deref().unwrap_or("none").to_owned();
        let mut facts =
            vec![("node", node), ("being deleted", pod.meta.is_terminating().to_string())];
        facts.extend(self.reasons.iter().map(|it| ("taint", format!("{it}, until {}", it.at))));
        let stage = self.stage.map(|stage| match stage {
            Stage::Waits(at) => format!("waits until {at}"),
            Stage::Marked => "is due, and a write failed".to_owned(),
            Stage::Evicted => "the pod was evicted".to_owned(),
        });
        facts.extend(stage.map(|stage| ("eviction", stage)));
        facts
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceTaint { key, value, .. } = &self.taint;
        let equals = if value.is_empty() { "" } else { "=" };
        write!(f, "{key}{equals}{value} of device {}", self.device)
    }
}

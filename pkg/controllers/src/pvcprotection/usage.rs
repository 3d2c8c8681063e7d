//! Which pod uses which claim, and what is remembered of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{ClaimSource, Key, PersistentVolumeClaim, Pod, Text};
use controller::{Answer, Facts, Query, Selector};

/// Claims that a live list found unused, by their uid. What makes an entry void: that the claim was
/// written, or tried to be, and that it is deleted. So there are no more than claims that are being
/// deleted.
#[derive(Debug, Default)]
pub struct Unused(BTreeMap<Key, Text>);

/// What the API server knows of the users of a claim.
pub(super) enum Live {
    /// This must be asked first.
    Ask(Query),
    /// This pod.
    Pod(Key),
    /// No pod.
    Unused,
    /// It is not known; why, and the error.
    Unknown(&'static str, String),
}

/// Whether a pod keeps a claim that is being deleted. As `podUsesPVCForDeletion`.
pub(super) fn keeps(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let uses = |source| match source {
        ClaimSource::Named => true,
        ClaimSource::Ephemeral => !pod.shut_down && manages(pod, claim),
    };
    pod.node_name.is_some() && sources(pod, claim).any(uses)
}

/// Whether a pod makes that a claim is not unused. As `podUsesPVCForUnusedSince`.
pub(super) fn refers(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let uses = |source| match source {
        ClaimSource::Named => true,
        ClaimSource::Ephemeral => manages(pod, claim),
    };
    !pod.is_over() && sources(pod, claim).any(uses)
}

/// How a pod refers to a claim of its namespace.
fn sources(pod: &Pod, claim: &PersistentVolumeClaim) -> impl Iterator<Item = ClaimSource> {
    let named = pod.claims.iter().filter(|(name, _)| *name == claim.meta.key.name);
    named.map(|(_, source)| *source)
}

/// As `VolumeIsForPod` in component-helpers.
fn manages(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    claim.meta.controller().is_some_and(|owner| owner.uid == pod.meta.uid)
}

/// As `askAPIServer`.
pub(super) fn live(
    claim: &PersistentVolumeClaim,
    facts: &Facts,
    uses: impl Fn(&Pod) -> bool,
) -> Live {
    let namespace = claim.meta.key.namespace.clone();
    let query = Query::views::<Pod>(namespace, Selector::default());
    let Some(answer) = facts.get(&query) else { return Live::Ask(query) };
    let pods = match answer.views::<Pod>() {
        Ok(Some(pods)) => pods,
        Ok(None) => return unlisted("there are none to be listed"),
        Err(error) => return unlisted(&error.text),
    };
    if let Some(pod) = pods.iter().find(|pod| uses(pod)) {
        return Live::Pod(pod.meta.key.clone());
    }
    match pods.iter().find(|pod| pod.unreadable) {
        Some(pod) => {
            let error = format!("pod {} cannot be read, and may use the claim", pod.meta.key);
            Live::Unknown("a pod may use it", error)
        }
        None => Live::Unused,
    }
}

fn unlisted(error: &str) -> Live {
    Live::Unknown("the pods are not known", format!("live list of pods failed: {error}"))
}

// === impl Unused ===

impl Unused {
    /// Whether this very claim was found unused.
    pub(super) fn has(&self, claim: &PersistentVolumeClaim) -> bool {
        self.0.get(&claim.meta.key) == Some(&claim.meta.uid)
    }

    /// A live list has come that was asked for after these claims were seen.
    pub(super) fn learn(&mut self, held: &[Arc<PersistentVolumeClaim>], answer: &Answer) {
        let Ok(Some(pods)) = answer.views::<Pod>() else { return };
        if pods.iter().any(|pod| pod.unreadable) {
            return;
        }
        let mut users: BTreeMap<&Text, Vec<&Pod>> = BTreeMap::new();
        for pod in pods {
            for (name, _) in &pod.claims {
                users.entry(name).or_default().push(pod);
            }
        }
        for claim in held {
            let mut users = users.get(&claim.meta.key.name).into_iter().flatten();
            if !users.any(|pod| keeps(pod, claim)) {
                self.0.insert(claim.meta.key.clone(), claim.meta.uid.clone());
            }
        }
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }
}

//! What a decision about a pod looks at.

use std::sync::Arc;

use api::{Key, Pod, PodResourceClaim, ResourceClaim, ResourceClaimTemplate, Text};
use controller::View;

use super::pods::Pods;

/// A pod and its claims at one moment.
#[derive(Clone, Debug)]
pub struct PodSnapshot {
    /// The gate.
    pub(super) controller: Pods,
    /// The pod.
    pub pod: Arc<Pod>,
    /// What there is for each of its entries, in their order.
    pub entries: Vec<Found>,
}

/// What there is for an entry of a pod.
#[derive(Clone, Debug)]
pub struct Found {
    /// The claim that the pod names, or its status.
    pub named: Option<Arc<ResourceClaim>>,
    /// The claim that was made for the entry, whatever the status says.
    pub made: Option<Arc<ResourceClaim>>,
    /// The template.
    pub template: Option<Arc<ResourceClaimTemplate>>,
}

pub(super) fn observe(controller: Pods, key: &Key, view: &View<'_>) -> Option<PodSnapshot> {
    let pod = view.of::<Pod>().get(key)?;
    let entries = pod.resource_claims().iter().map(|entry| found(&pod, entry, view));
    let entries = entries.collect();
    Some(PodSnapshot { controller, pod, entries })
}

/// The key of what has this name in the pod's namespace.
pub(super) fn beside(pod: &Pod, name: &Text) -> Key {
    Key { namespace: pod.meta.key.namespace.clone(), name: name.clone() }
}

fn found(pod: &Pod, entry: &PodResourceClaim, view: &View<'_>) -> Found {
    let claims = view.of::<ResourceClaim>();
    let of_pod = claims.by(ResourceClaim::BY_POD, &pod.meta.uid);
    let template = entry.template.as_ref();
    Found {
        named: entry.claim_name().and_then(|name| claims.get(&beside(pod, name))),
        made: of_pod.into_iter().find(|claim| {
            claim.meta.key.namespace == pod.meta.key.namespace
                && claim.pod_claim.as_ref() == Some(&entry.name)
        }),
        template: template
            .and_then(|name| view.of::<ResourceClaimTemplate>().get(&beside(pod, name))),
    }
}

// === impl PodSnapshot ===

impl PodSnapshot {
    /// Each entry and what there is for it.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&PodResourceClaim, &Found)> {
        self.pod.resource_claims().iter().zip(&self.entries)
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let pod = &*self.pod;
        let node = pod.node_name.as_deref().unwrap_or("none");
        let mut facts = vec![
            ("being deleted", pod.meta.is_terminating().to_string()),
            ("node", node.to_owned()),
        ];
        let entries = self.entries().map(|(entry, found)| {
            let claim = match (entry.claim_name(), &found.named) {
                (None, _) => "no claim yet".to_owned(),
                (Some(name), None) => format!("claim {name}, which is not there"),
                (Some(name), Some(claim)) => format!("claim {name}, {}", state(claim, pod)),
            };
            ("entry", format!("{}: {claim}", entry.name))
        });
        facts.extend(entries);
        facts
    }
}

fn state(claim: &ResourceClaim, pod: &Pod) -> &'static str {
    if claim.is_reserved_for(&pod.meta.uid) {
        "allocated and reserved for the pod"
    } else if claim.allocation.is_some() {
        "allocated"
    } else {
        "not allocated"
    }
}

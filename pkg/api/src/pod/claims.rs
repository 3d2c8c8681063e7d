//! The volume claims that a pod refers to.

use std::borrow::Cow;
use std::collections::BTreeSet;

use prost::Message;
use serde::Deserialize;

use super::{Pod, WireSpec};
use crate::Text;
use crate::wire::{from_text, text};

/// How a pod refers to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimSource {
    /// By its name.
    Named,
    /// By an ephemeral volume, for which the claim is made. It is the pod's only if the pod manages
    /// it.
    Ephemeral,
}

/// The claims of a pod with this name, each once. As `PodPVCIndexFunc` in upstream's
/// pkg/controller/volume/common.
pub(super) fn of(spec: &WireSpec, pod: &str) -> Box<[(Text, ClaimSource)]> {
    let claims = spec.volumes.iter().filter_map(|volume| {
        let source = &volume.volume_source;
        match (&source.persistent_volume_claim, &source.ephemeral) {
            (Some(claim), _) if claim.claim_name.is_empty() => None,
            (Some(claim), _) => Some((text(&claim.claim_name).into(), ClaimSource::Named)),
            // As `VolumeClaimName` in component-helpers.
            (None, Some(_)) => {
                Some((format!("{pod}-{}", volume.name).into(), ClaimSource::Ephemeral))
            }
            (None, None) => None,
        }
    });
    // Most pods have none, and then this takes no memory.
    let claims: BTreeSet<(Text, ClaimSource)> = claims.collect();
    claims.into_iter().collect()
}

pub(super) fn index(pod: &Pod) -> Vec<Text> {
    let namespace = &pod.meta.key.namespace;
    pod.claims.iter().map(|(name, _)| format!("{namespace}/{name}").into()).collect()
}

/// `v1.PersistentVolumeClaimVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireClaim {
    // That there is one is all that the API server asks.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    claim_name: Vec<u8>,
}

impl WireClaim {
    pub(super) fn name(&self) -> Cow<'_, str> {
        text(&self.claim_name)
    }
}

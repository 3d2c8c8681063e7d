//! The claims of devices that a pod refers to.

use std::collections::BTreeSet;

use prost::Message;
use serde::Deserialize;

use super::{Pod, WireSpec, WireStatus as PodStatus};
use crate::wire::{from_optional_text, from_text, text};
use crate::{Text, intern};

/// An entry of `spec.resourceClaims`, with what the status says of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodResourceClaim {
    /// Its name in the pod.
    pub name: Text,
    /// The template that its claim is made of; none: the pod names the claim itself.
    pub template: Option<Text>,
    /// Which claim it is.
    pub claim: ClaimName,
}

/// Which claim an entry stands for. As `Name` of k8s.io/dynamic-resource-allocation's
/// resourceclaim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClaimName {
    /// The one that the pod names.
    Given(Text),
    /// The one that was made for it, as the status says. It is the pod's only if the pod manages
    /// it.
    Made(Text),
    /// None yet: the status does not name it.
    NotMade,
    /// None: the status says that there need not be one.
    NotNeeded,
    /// The entry names neither claim nor template.
    Unsupported,
}

impl PodResourceClaim {
    /// The name of its claim, if it has one by now.
    pub fn claim_name(&self) -> Option<&Text> {
        match &self.claim {
            ClaimName::Given(name) | ClaimName::Made(name) => Some(name),
            ClaimName::NotMade | ClaimName::NotNeeded | ClaimName::Unsupported => None,
        }
    }
}

/// In the order of the spec.
pub(super) fn of(spec: &WireSpec, status: &PodStatus) -> Box<[PodResourceClaim]> {
    // Most pods have none, and then this takes no memory.
    spec.resource_claims.iter().map(|claim| claim.view(status)).collect()
}

/// The claims by their names, each once. As `podResourceClaimIndexFunc`.
pub(super) fn names(pod: &Pod) -> Vec<Text> {
    keys(pod, PodResourceClaim::claim_name)
}

/// Their templates. As `podResourceClaimTemplateIndexFunc`.
pub(super) fn templates(pod: &Pod) -> Vec<Text> {
    keys(pod, |claim| claim.template.as_ref())
}

fn keys(pod: &Pod, name: fn(&PodResourceClaim) -> Option<&Text>) -> Vec<Text> {
    let names: BTreeSet<_> = pod.resource_claims().iter().filter_map(name).collect();
    let namespace = &pod.meta.key.namespace;
    names.into_iter().map(|name| format!("{namespace}/{name}").into()).collect()
}

// === Wire ===

/// `v1.PodResourceClaim`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireClaim {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "3")]
    #[serde(deserialize_with = "from_optional_text")]
    resource_claim_name: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "4")]
    #[serde(deserialize_with = "from_optional_text")]
    resource_claim_template_name: Option<Vec<u8>>,
}

/// `v1.PodResourceClaimStatus`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireStatus {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "2")]
    #[serde(deserialize_with = "from_optional_text")]
    resource_claim_name: Option<Vec<u8>>,
}

impl WireClaim {
    fn view(&self, status: &PodStatus) -> PodResourceClaim {
        let template = self.resource_claim_template_name.as_deref();
        let claim = match (&self.resource_claim_name, template) {
            (Some(name), _) => ClaimName::Given(text(name).into()),
            (None, None) => ClaimName::Unsupported,
            (None, Some(_)) => {
                let statuses = &status.resource_claim_statuses;
                let found = statuses.iter().find(|it| it.name == self.name);
                match found.map(|it| &it.resource_claim_name) {
                    None => ClaimName::NotMade,
                    Some(None) => ClaimName::NotNeeded,
                    Some(Some(name)) => ClaimName::Made(text(name).into()),
                }
            }
        };
        PodResourceClaim {
            name: intern(&text(&self.name)),
            template: template.map(|name| intern(&text(name))),
            claim,
        }
    }
}

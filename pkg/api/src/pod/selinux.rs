//! What counts for the SELinux labels of a pod's volumes.

use std::collections::BTreeSet;

use prost::Message;
use serde::Deserialize;

use super::secrets::WireEphemeral;
use super::{ClaimSource, WireContainer, WireSpec, WireVolume};
use crate::wire::{from_optional_text, from_text, text};
use crate::{Key, Text, attachable, intern};

/// What counts for the SELinux labels of a pod's volumes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodSeLinux {
    /// How a volume gets the label of the pod: `seLinuxChangePolicy`.
    pub change_policy: Option<Text>,
    /// The volumes that its containers mount, in the order of the spec: those with a claim, those
    /// that are attached to its node, and those that are mounted with several labels.
    pub mounts: Box<[SeLinuxMount]>,
}

/// A volume that containers of a pod mount.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeLinuxMount {
    /// Its name in the pod.
    pub name: Text,
    /// What it is.
    pub source: MountSource,
    /// The labels of those containers that have SELinux options, each once:
    /// `user:role:type:level`, or an empty text for options that are all empty.
    pub labels: Box<[Text]>,
}

/// The source of a mounted volume.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MountSource {
    /// A claim: its place in [`super::Pod::claims`].
    Claim(usize),
    /// No claim, but attached to the node: the name that nodes have for it.
    Inline(Text),
    /// Anything else.
    Other,
}

/// Those of a pod with this key and these claims.
pub(super) fn of(
    spec: &WireSpec,
    claims: &[(Text, ClaimSource)],
    key: &Key,
) -> Option<Box<PodSeLinux>> {
    let mounts = spec.volumes.iter().filter_map(|volume| mount(volume, spec, claims, key));
    // Most pods have none, and then this takes no memory.
    let mounts: Box<[_]> = mounts.collect();
    if mounts.is_empty() {
        return None;
    }
    let policy = spec.security_context.as_ref().and_then(|it| it.se_linux_change_policy.as_ref());
    let change_policy = policy.map(|policy| intern(&text(policy)));
    Some(Box::new(PodSeLinux { change_policy, mounts }))
}

fn mount(
    volume: &WireVolume,
    spec: &WireSpec,
    claims: &[(Text, ClaimSource)],
    key: &Key,
) -> Option<SeLinuxMount> {
    let containers = containers(spec)
        .filter(|container| container.volume_mounts.iter().any(|it| it.name == volume.name));
    let mut containers = containers.peekable();
    containers.peek()?;
    let options = containers.filter_map(|container| options(container, spec));
    let labels: BTreeSet<String> = options.map(WireOptions::label).collect();
    let source = source(volume, claims, key);
    if source == MountSource::Other && labels.len() < 2 {
        return None;
    }
    let labels = labels.iter().map(|label| intern(label)).collect();
    Some(SeLinuxMount { name: intern(&volume.name), source, labels })
}

fn source(volume: &WireVolume, claims: &[(Text, ClaimSource)], key: &Key) -> MountSource {
    let place = |name: &str, source| {
        let found = claims.iter().position(|(claim, of)| **claim == *name && *of == source);
        found.map_or(MountSource::Other, MountSource::Claim)
    };
    let of = &volume.volume_source;
    match (&of.persistent_volume_claim, &of.ephemeral) {
        (Some(claim), _) => place(&claim.name(), ClaimSource::Named),
        (None, Some(_)) => {
            let claim = format!("{}-{}", key.name, volume.name);
            place(&claim, ClaimSource::Ephemeral)
        }
        (None, None) => match attachable::of_volume(volume, &key.namespace) {
            Some(inline) => MountSource::Inline(inline.volume),
            None => MountSource::Other,
        },
    }
}

/// All containers of a pod. As `VisitContainers` in upstream's pkg/api/v1/pod.
fn containers(spec: &WireSpec) -> impl Iterator<Item = &WireContainer> {
    let ephemeral = spec.ephemeral_containers.iter().map(WireEphemeral::common);
    spec.init_containers.iter().chain(&spec.containers).chain(ephemeral)
}

/// The options of the container, or of the pod. As `DetermineEffectiveSecurityContext` in
/// upstream's pkg/securitycontext.
fn options<'a>(container: &'a WireContainer, spec: &'a WireSpec) -> Option<&'a WireOptions> {
    let own = container.security_context.as_ref().and_then(|it| it.se_linux_options.as_ref());
    own.or_else(|| spec.security_context.as_ref()?.se_linux_options.as_ref())
}

// === Wire ===

/// `v1.PodSecurityContext`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WirePodSecurity {
    #[prost(message, optional, tag = "1")]
    se_linux_options: Option<WireOptions>,
    #[prost(bytes = "vec", optional, tag = "13")]
    #[serde(deserialize_with = "from_optional_text")]
    se_linux_change_policy: Option<Vec<u8>>,
}

/// `v1.SecurityContext`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireSecurity {
    #[prost(message, optional, tag = "3")]
    se_linux_options: Option<WireOptions>,
}

/// `v1.SELinuxOptions`, whose texts the API server does not look at.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireOptions {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    user: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    role: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    r#type: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(deserialize_with = "from_text")]
    level: Vec<u8>,
}

/// `v1.VolumeMount`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct WireMount {
    #[prost(string, tag = "1")]
    name: String,
}

// === impl WireOptions ===

impl WireOptions {
    /// As `SELinuxOptionsToFileLabel` of upstream's `translator`: what is missing is left empty,
    /// since only nodes know their defaults.
    fn label(&self) -> String {
        let parts = [&self.user, &self.role, &self.r#type, &self.level];
        if parts.iter().all(|part| part.is_empty()) {
            return String::new();
        }
        parts.map(|part| text(part)).join(":")
    }
}

//! Node: the view of the controllers that ask a cloud about it.

use serde::{Deserialize, Serialize};

use crate::wire::{self, null_is_empty};
use crate::{
    Codec, DecodeError, Effect, Index, Kind, Meta, Object, Resource, Status, Taint, Text, intern,
};

/// A node as the machine of a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Name, labels and so on.
    pub meta: Meta,
    /// `spec.providerID`; empty: none.
    pub provider_id: Text,
    /// `spec.taints`.
    pub taints: Box<[Taint]>,
    /// `spec.podCIDRs`.
    pub pod_cidrs: Box<[Text]>,
    /// `status.addresses`.
    pub addresses: Box<[NodeAddress]>,
    /// The `Ready` condition; none if there is none.
    pub ready: Option<Status>,
    /// Status and reason of the condition `NetworkUnavailable`; none if there is none.
    pub network_unavailable: Option<(Status, Text)>,
    /// Why the node cannot be read; then all above but its metadata is unknown.
    pub unreadable: Option<DecodeError>,
}

/// An entry of `status.addresses`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeAddress {
    /// Such as `InternalIP`.
    pub r#type: String,
    /// The address.
    pub address: String,
}

impl Machine {
    /// The label of nodes that get no traffic from load balancers. Upstream's
    /// `LabelNodeExcludeBalancers`.
    pub const EXCLUDED: &'static str = "node.kubernetes.io/exclude-from-external-load-balancers";
}

impl Kind for Machine {
    const RESOURCE: Resource = Resource::cluster_scoped("", "v1", "nodes", "Node");
}

impl Object for Machine {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(_: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode_json::<WireNode>(bytes)?;
        let meta = wire.metadata.meta()?;
        Ok(wire.view(meta))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        // As one that is ready: nobody asks whether its machine still exists.
        let unreadable = Some(error.clone());
        Self { ready: Some(Status::True), unreadable, ..WireNode::default().view(meta) }
    }
}

// === Wire ===

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct WireNode {
    metadata: wire::ObjectMeta,
    spec: WireSpec,
    status: WireStatus,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct WireSpec {
    #[serde(rename = "providerID")]
    provider_id: String,
    #[serde(deserialize_with = "null_is_empty")]
    taints: Vec<WireTaint>,
    #[serde(rename = "podCIDRs", deserialize_with = "null_is_empty")]
    pod_cidrs: Vec<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireTaint {
    key: String,
    value: String,
    effect: String,
    time_added: Option<wire::Time>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    addresses: Vec<NodeAddress>,
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    r#type: String,
    status: String,
    reason: String,
}

impl WireNode {
    fn view(self, meta: Meta) -> Machine {
        let Self { spec, status, .. } = self;
        let taints = spec.taints.iter().map(|taint| Taint {
            added: taint.time_added.and_then(wire::Time::view),
            ..Taint::new(&taint.key, &taint.value, Effect::parse(&taint.effect))
        });
        let condition = |name: &str| status.conditions.iter().find(|it| it.r#type == name);
        let network = condition("NetworkUnavailable");
        Machine {
            meta,
            provider_id: spec.provider_id.as_str().into(),
            taints: taints.collect(),
            pod_cidrs: spec.pod_cidrs.iter().map(|cidr| Text::from(cidr.as_str())).collect(),
            ready: condition("Ready").map(|ready| Status::parse(&ready.status)),
            network_unavailable: network.map(|it| (Status::parse(&it.status), intern(&it.reason))),
            addresses: status.addresses.into(),
            unreadable: None,
        }
    }
}

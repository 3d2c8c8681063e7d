//! Node: the view that controllers share.

use std::collections::BTreeMap;

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, WireQuantity, null_is_empty};
use crate::{
    Codec, DecodeError, Effect, Index, Kind, Meta, Object, Resource, Status, Taint, Text, Time,
    intern,
};

/// What controllers read of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name, labels and so on.
    pub meta: Meta,
    /// `spec.taints`.
    pub taints: Box<[Taint]>,
    /// Whether no new pods are to be put there.
    pub unschedulable: bool,
    /// `spec.podCIDRs`.
    pub pod_cidrs: Box<[Text]>,
    /// The `Ready` condition; none if there is none.
    pub ready: Option<Status>,
    /// Its conditions, in their order.
    pub conditions: Box<[NodeCondition]>,
    /// `status.allocatable.cpu` as it is written; none if there is none.
    pub allocatable_cpu: Option<Text>,
    /// The annotation [`Node::TTL`]; none if there is none.
    pub ttl: Option<Text>,
}

/// An entry of `status.conditions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCondition {
    /// Such as `Ready`.
    pub r#type: Text,
    /// Whether it holds.
    pub status: Status,
    /// When the kubelet last said so.
    pub heartbeat: Option<Time>,
}

impl Node {
    /// How many seconds a kubelet may keep a Secret or ConfigMap before it asks for it again.
    /// Upstream's `v1.ObjectTTLAnnotationKey`.
    pub const TTL: &'static str = "node.alpha.kubernetes.io/ttl";
    /// The label that says in which zone it is. Upstream's `LabelTopologyZone`.
    pub const ZONE: &'static str = "topology.kubernetes.io/zone";

    /// The condition of this type.
    pub fn condition(&self, r#type: &str) -> Option<&NodeCondition> {
        self.conditions.iter().find(|condition| &*condition.r#type == r#type)
    }
}

impl Kind for Node {
    const RESOURCE: Resource = Resource::cluster_scoped("", "v1", "nodes", "Node");
}

impl Object for Node {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireNode>(codec, bytes)?;
        Ok(wire.view(wire.metadata.meta()?))
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        WireNode::default().view(meta)
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireNode {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
    #[prost(message, required, tag = "3")]
    status: WireStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireSpec {
    #[prost(bool, tag = "4")]
    unschedulable: bool,
    #[prost(message, repeated, tag = "5")]
    #[serde(deserialize_with = "null_is_empty")]
    taints: Vec<WireTaint>,
    #[prost(string, repeated, tag = "7")]
    #[serde(rename = "podCIDRs", deserialize_with = "null_is_empty")]
    pod_cidrs: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireTaint {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
    #[prost(string, tag = "3")]
    effect: String,
    #[prost(message, optional, tag = "4")]
    #[serde(rename = "timeAdded")]
    time_added: Option<wire::Time>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[prost(btree_map = "string, message", tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    allocatable: BTreeMap<String, WireQuantity>,
    #[prost(message, repeated, tag = "4")]
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireCondition {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(message, optional, tag = "3")]
    #[serde(rename = "lastHeartbeatTime")]
    last_heartbeat_time: Option<wire::Time>,
}

impl WireNode {
    fn view(&self, meta: Meta) -> Node {
        let taints = self.spec.taints.iter().map(|taint| Taint {
            added: taint.time_added.and_then(wire::Time::view),
            ..Taint::new(&taint.key, &taint.value, Effect::parse(&taint.effect))
        });
        let conditions = self.status.conditions.iter().map(|condition| NodeCondition {
            r#type: intern(&condition.r#type),
            status: Status::parse(&condition.status),
            heartbeat: condition.last_heartbeat_time.and_then(wire::Time::view),
        });
        let ready = self.status.conditions.iter().find(|condition| condition.r#type == "Ready");
        Node {
            meta,
            taints: taints.collect(),
            unschedulable: self.spec.unschedulable,
            pod_cidrs: self.spec.pod_cidrs.iter().map(|cidr| Text::from(cidr.as_str())).collect(),
            conditions: conditions.collect(),
            ready: ready.map(|ready| Status::parse(&ready.status)),
            allocatable_cpu: self.status.allocatable.get("cpu").map(|cpu| intern(cpu.text())),
            ttl: self.metadata.annotation(Node::TTL).map(|ttl| intern(&ttl)),
        }
    }
}

//! Node: the view that controllers share.

use std::collections::BTreeMap;

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, WireQuantity, from_text, from_texts, null_is_empty, text};
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
    /// Whether volumes are attached for it, as its kubelet asks by the annotation
    /// [`Node::ATTACHED_FOR`].
    pub is_attached_for: bool,
    /// `status.volumesInUse`: the volumes that are mounted, or that its kubelet is about to mount.
    pub volumes_in_use: Box<[Text]>,
    /// `status.volumesAttached`: the names of volumes, with the paths of their devices.
    pub volumes_attached: Box<[(Text, Text)]>,
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

    /// The annotation of a node whose volumes are not attached by its kubelet, whatever it says.
    /// Upstream's `ControllerManagedAttachAnnotation`.
    pub const ATTACHED_FOR: &'static str = "volumes.kubernetes.io/controller-managed-attach-detach";
    /// The key of the taint of a node that is known to be down for good.
    pub const OUT_OF_SERVICE: &'static str = "node.kubernetes.io/out-of-service";
    /// The nodes by the volumes that are attached there as their statuses say.
    pub const BY_ATTACHED_VOLUME: &'static str = "volumesAttached";

    /// Whether its status says that this volume is attached.
    pub fn lists(&self, volume: &str) -> bool {
        self.volumes_attached.iter().any(|(name, _)| &**name == volume)
    }

    /// Whether its kubelet says that this volume is in use.
    pub fn uses(&self, volume: &str) -> bool {
        self.volumes_in_use.iter().any(|name| &**name == volume)
    }

    /// Whether it is known to be down for good.
    pub fn is_out_of_service(&self) -> bool {
        self.taints.iter().any(|taint| &*taint.key == Self::OUT_OF_SERVICE)
    }

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
    const INDEXES: &'static [Index<Self>] = &[Index::several(Self::BY_ATTACHED_VOLUME, |node| {
        node.volumes_attached.iter().map(|(name, _)| name.clone()).collect()
    })];

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
    #[prost(bytes = "vec", repeated, tag = "9")]
    #[serde(rename = "volumesInUse", deserialize_with = "from_texts")]
    volumes_in_use: Vec<Vec<u8>>,
    #[prost(message, repeated, tag = "10")]
    #[serde(rename = "volumesAttached", deserialize_with = "null_is_empty")]
    volumes_attached: Vec<WireAttached>,
}

/// `v1.AttachedVolume`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireAttached {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    device_path: Vec<u8>,
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
        let attached = self.status.volumes_attached.iter();
        let attached = attached.map(|it| (intern(&text(&it.name)), intern(&text(&it.device_path))));
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
            is_attached_for: self.metadata.annotation(Node::ATTACHED_FOR).is_some(),
            volumes_in_use: self.status.volumes_in_use.iter().map(|it| intern(&text(it))).collect(),
            volumes_attached: attached.collect(),
        }
    }
}

//! ReplicaSet: a view beside the whole object. ReplicationController: the same, of the older kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::selector::WireSelector;
use crate::wire::{self, null_is_empty};
use crate::{
    Codec, Condition, DecodeError, Index, Kind, Labels, Meta, Object, Raw, Resource, Selector,
    SelectorError,
};

/// What controllers read of a ReplicaSet, and the whole of it.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    /// Name, labels, owners and so on.
    pub meta: Meta,
    /// `spec.replicas`; 1 if absent, which the API server's defaults rule out.
    pub replicas: i32,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i32,
    /// Which pods belong to it.
    pub selector: Result<Selector, SelectorError>,
    /// Labels of the pod template.
    pub template_labels: Labels,
    /// The status as it was last written.
    pub status: ReplicaSetStatus,
    /// The whole object. The pod template is read from it when a pod is made.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// A ReplicationController as the ReplicaSet that it corresponds to, as upstream's controller
/// converts it (pkg/controller/replication/conversion.go). Its selector is a map of labels, and its
/// status does not count pods that are being deleted.
#[derive(Clone, Debug)]
pub struct ReplicationController(pub Arc<ReplicaSet>);

/// `status` of a ReplicaSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetStatus {
    /// Active pods.
    pub replicas: i32,
    /// Active pods with all labels of the template.
    pub fully_labeled_replicas: i32,
    /// Ready pods.
    pub ready_replicas: i32,
    /// Pods ready for at least `minReadySeconds`.
    pub available_replicas: i32,
    /// Pods that are being deleted; none if never counted.
    pub terminating_replicas: Option<i32>,
    /// The generation that the status is about.
    pub observed_generation: i64,
    /// The conditions.
    #[serde(deserialize_with = "null_is_empty")]
    pub conditions: Vec<Condition>,
}

impl ReplicaSet {
    /// Upstream's `controllerUID`: ReplicaSets by the uid of the Deployment that manages them.
    pub const BY_CONTROLLER: &'static str = "controllerUID";
    /// ReplicaSets by namespace: those that may select a pod.
    pub const BY_NAMESPACE: &'static str = "namespace";
    /// ReplicaSets without controller by namespace: what a Deployment may adopt.
    pub const ORPHANS_BY_NAMESPACE: &'static str = "orphans";
}

impl ReplicationController {
    /// ReplicationControllers by namespace: those that may select a pod.
    pub const BY_NAMESPACE: &'static str = ReplicaSet::BY_NAMESPACE;
}

impl Kind for ReplicaSet {
    const RESOURCE: Resource = Resource::namespaced("apps", "v1", "replicasets", "ReplicaSet");
}

impl Object for ReplicaSet {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[
        Index::by_controller(Self::BY_CONTROLLER),
        Index::by_namespace(Self::BY_NAMESPACE),
        Index::orphans_by_namespace(Self::ORPHANS_BY_NAMESPACE),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireSet<WireSelector>>(codec, bytes)?;
        wire.view(raw)
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            replicas: 0,
            min_ready_seconds: 0,
            selector: Ok(Selector::default()),
            template_labels: Labels::new::<&str, &str>([]),
            status: ReplicaSetStatus::default(),
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

impl Kind for ReplicationController {
    const RESOURCE: Resource =
        Resource::namespaced("", "v1", "replicationcontrollers", "ReplicationController");
}

impl Object for ReplicationController {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::by_namespace(Self::BY_NAMESPACE)];

    fn meta(&self) -> &Meta {
        &self.0.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireSet<LabelMap>>(codec, bytes)?;
        Ok(Self(Arc::new(wire.view(raw)?)))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self(Arc::new(ReplicaSet::unreadable(meta, error)))
    }
}

// === Wire ===

/// The selector of a ReplicationController.
type LabelMap = BTreeMap<String, String>;

/// A set with a selector of the form `S`.
#[derive(Deserialize)]
#[serde(bound = "S: Default + DeserializeOwned")]
struct WireSet<S> {
    metadata: wire::ObjectMeta,
    spec: WireSpec<S>,
    #[serde(default)]
    status: ReplicaSetStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "S: Default + DeserializeOwned")]
struct WireSpec<S> {
    replicas: Option<i32>,
    #[serde(default)]
    min_ready_seconds: i32,
    #[serde(default, deserialize_with = "null_is_empty")]
    selector: S,
    #[serde(default, deserialize_with = "null_is_empty")]
    template: wire::TemplateLabels,
}

impl<S: Into<WireSelector>> WireSet<S> {
    fn view(self, raw: Raw) -> Result<ReplicaSet, DecodeError> {
        Ok(ReplicaSet {
            meta: self.metadata.meta()?,
            replicas: self.spec.replicas.unwrap_or(1),
            min_ready_seconds: self.spec.min_ready_seconds,
            selector: self.spec.selector.into().parse(),
            template_labels: self.spec.template.labels(),
            status: self.status,
            raw,
            unreadable: None,
        })
    }
}

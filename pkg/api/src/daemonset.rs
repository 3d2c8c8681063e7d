//! DaemonSet: a view beside the whole object.

use serde::Deserialize;

use crate::rollout::{WireRolling, WireStrategy};
use crate::scheduling::WirePlacement;
use crate::selector::WireSelector;
use crate::wire::{self, null_is_empty};
use crate::{
    Amount, Codec, Condition, DecodeError, Index, Kind, Labels, Meta, Object, Placement, Raw,
    Resource, Selector, SelectorError,
};

/// What controllers read of a DaemonSet, and the whole of it.
#[derive(Clone, Debug)]
pub struct DaemonSet {
    /// Name, labels, owners and so on.
    pub meta: Meta,
    /// Which pods belong to it.
    pub selector: Result<Selector, SelectorError>,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i32,
    /// `spec.updateStrategy`.
    pub strategy: DaemonSetStrategy,
    /// `spec.revisionHistoryLimit`; 10 if absent, as the API server's default.
    pub revision_history_limit: i32,
    /// Labels of the pod template.
    pub template_labels: Labels,
    /// Where its pods may run.
    pub placement: Placement,
    /// Annotation `deprecated.daemonset.template.generation`, if it is a number.
    pub template_generation: Option<i64>,
    /// The status as it was last written.
    pub status: DaemonSetStatus,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// `spec.updateStrategy` of a DaemonSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonSetStrategy {
    /// Old pods stay until a user deletes them.
    OnDelete,
    /// Old pods are replaced.
    RollingUpdate {
        /// How many nodes may lack an available pod meanwhile; none: one.
        max_unavailable: Option<Amount>,
        /// How many nodes may have two pods meanwhile; none: no node.
        max_surge: Option<Amount>,
    },
    /// Another word, which the API server does not admit.
    Other(String),
}

/// `status` of a DaemonSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetStatus {
    /// Nodes that should run a pod and have at least one.
    pub current_number_scheduled: i32,
    /// Nodes that should not run a pod and have one.
    pub number_misscheduled: i32,
    /// Nodes that should run a pod.
    pub desired_number_scheduled: i32,
    /// Nodes that should run a pod and have a ready one.
    pub number_ready: i32,
    /// The generation that the status is about.
    pub observed_generation: i64,
    /// Nodes that should run a pod and have one of the present template.
    pub updated_number_scheduled: i32,
    /// Nodes that should run a pod and have an available one.
    pub number_available: i32,
    /// Nodes that should run a pod and have no available one.
    pub number_unavailable: i32,
    /// How often the name of a revision was taken by another template.
    pub collision_count: Option<i32>,
    /// The conditions.
    #[serde(deserialize_with = "null_is_empty")]
    pub conditions: Vec<Condition>,
}

impl DaemonSet {
    /// DaemonSets by namespace: those that may select a pod.
    pub const BY_NAMESPACE: &'static str = "namespace";
}

impl Kind for DaemonSet {
    const RESOURCE: Resource = Resource::namespaced("apps", "v1", "daemonsets", "DaemonSet");
}

impl Object for DaemonSet {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::by_namespace(Self::BY_NAMESPACE)];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireSet>(codec, bytes)?;
        wire.view(raw)
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            selector: Ok(Selector::default()),
            min_ready_seconds: 0,
            strategy: DaemonSetStrategy::OnDelete,
            revision_history_limit: 10,
            template_labels: Labels::new::<&str, &str>([]),
            placement: Placement::default(),
            template_generation: None,
            status: DaemonSetStatus::default(),
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireSet {
    metadata: wire::ObjectMeta,
    spec: WireSpec,
    #[serde(default)]
    status: DaemonSetStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpec {
    #[serde(default, deserialize_with = "null_is_empty")]
    selector: WireSelector,
    #[serde(default)]
    min_ready_seconds: i32,
    #[serde(default)]
    update_strategy: WireStrategy,
    revision_history_limit: Option<i32>,
    template: WireTemplate,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireTemplate {
    #[serde(deserialize_with = "null_is_empty")]
    metadata: wire::TemplateMeta,
    #[serde(deserialize_with = "null_is_empty")]
    spec: WirePlacement,
}

impl WireSet {
    fn view(self, raw: Raw) -> Result<DaemonSet, DecodeError> {
        let generation = self.metadata.annotation("deprecated.daemonset.template.generation");
        Ok(DaemonSet {
            meta: self.metadata.meta()?,
            selector: self.spec.selector.parse(),
            min_ready_seconds: self.spec.min_ready_seconds,
            strategy: self.spec.update_strategy.into(),
            revision_history_limit: self.spec.revision_history_limit.unwrap_or(10),
            template_labels: self.spec.template.metadata.labels(),
            placement: self.spec.template.spec.view(),
            template_generation: generation.and_then(|text| text.parse().ok()),
            status: self.status,
            raw,
            unreadable: None,
        })
    }
}

impl From<WireStrategy> for DaemonSetStrategy {
    fn from(wire: WireStrategy) -> Self {
        let WireRolling { max_unavailable, max_surge } = wire.rolling_update.unwrap_or_default();
        match wire.r#type.as_str() {
            "OnDelete" => Self::OnDelete,
            "RollingUpdate" => Self::RollingUpdate { max_unavailable, max_surge },
            _ => Self::Other(wire.r#type),
        }
    }
}

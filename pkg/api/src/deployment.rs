//! Deployment: a view beside the whole object.

use serde::Deserialize;

use crate::rollout::{WireRolling, WireStrategy};
use crate::selector::WireSelector;
use crate::wire::{self, null_is_empty};
use crate::{
    Amount, Codec, Condition, DecodeError, Index, Kind, Labels, Meta, Object, Raw, Resource,
    Selector, SelectorError,
};

/// What controllers read of a Deployment, and the whole of it.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Name, labels, owners and so on.
    pub meta: Meta,
    /// `spec.replicas`; 1 if absent, as the API server's default.
    pub replicas: i32,
    /// Which ReplicaSets and pods belong to it.
    pub selector: Result<Selector, SelectorError>,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i32,
    /// `spec.strategy`.
    pub strategy: DeploymentStrategy,
    /// `spec.revisionHistoryLimit`; none: all are kept.
    pub revision_history_limit: Option<i32>,
    /// `spec.progressDeadlineSeconds`; none: no deadline.
    pub progress_deadline_seconds: Option<i32>,
    /// `spec.paused`.
    pub paused: bool,
    /// Labels of the pod template.
    pub template_labels: Labels,
    /// The status as it was last written.
    pub status: DeploymentStatus,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// `spec.strategy` of a Deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentStrategy {
    /// All old pods go before the first new one comes.
    Recreate,
    /// Old pods are replaced step by step.
    RollingUpdate {
        /// How many pods may be missing meanwhile.
        max_unavailable: Option<Amount>,
        /// How many pods more than asked for there may be meanwhile.
        max_surge: Option<Amount>,
    },
    /// Another word, which the API server does not admit.
    Other(String),
}

/// `status` of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    /// The generation that the status is about.
    pub observed_generation: i64,
    /// Pods that are not being deleted.
    pub replicas: i32,
    /// Those of the present template.
    pub updated_replicas: i32,
    /// Ready pods.
    pub ready_replicas: i32,
    /// Available pods.
    pub available_replicas: i32,
    /// Pods that are missing to what is asked for.
    pub unavailable_replicas: i32,
    /// Pods that are being deleted; none if never counted.
    pub terminating_replicas: Option<i32>,
    /// The conditions.
    #[serde(deserialize_with = "null_is_empty")]
    pub conditions: Vec<Condition>,
    /// How often the name of a ReplicaSet was taken by another template.
    pub collision_count: Option<i32>,
}

impl Deployment {
    /// Deployments by namespace: those that may select a ReplicaSet.
    pub const BY_NAMESPACE: &'static str = "namespace";
}

impl Kind for Deployment {
    const RESOURCE: Resource = Resource::namespaced("apps", "v1", "deployments", "Deployment");
}

impl Object for Deployment {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::by_namespace(Self::BY_NAMESPACE)];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        wire.view(raw)
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            replicas: 0,
            selector: Ok(Selector::default()),
            min_ready_seconds: 0,
            strategy: DeploymentStrategy::Recreate,
            revision_history_limit: None,
            progress_deadline_seconds: None,
            paused: false,
            template_labels: Labels::new::<&str, &str>([]),
            status: DeploymentStatus::default(),
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
    spec: WireSpec,
    #[serde(default)]
    status: DeploymentStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpec {
    replicas: Option<i32>,
    #[serde(default, deserialize_with = "null_is_empty")]
    selector: WireSelector,
    #[serde(default)]
    min_ready_seconds: i32,
    #[serde(default)]
    strategy: WireStrategy,
    revision_history_limit: Option<i32>,
    progress_deadline_seconds: Option<i32>,
    #[serde(default)]
    paused: bool,
    #[serde(default)]
    template: wire::TemplateLabels,
}

impl Wire {
    fn view(self, raw: Raw) -> Result<Deployment, DecodeError> {
        Ok(Deployment {
            meta: self.metadata.meta()?,
            replicas: self.spec.replicas.unwrap_or(1),
            selector: self.spec.selector.parse(),
            min_ready_seconds: self.spec.min_ready_seconds,
            strategy: self.spec.strategy.into(),
            revision_history_limit: self.spec.revision_history_limit,
            progress_deadline_seconds: self.spec.progress_deadline_seconds,
            paused: self.spec.paused,
            template_labels: self.spec.template.labels(),
            status: self.status,
            raw,
            unreadable: None,
        })
    }
}

impl From<WireStrategy> for DeploymentStrategy {
    fn from(wire: WireStrategy) -> Self {
        let WireRolling { max_unavailable, max_surge } = wire.rolling_update.unwrap_or_default();
        match wire.r#type.as_str() {
            "Recreate" => Self::Recreate,
            "RollingUpdate" => Self::RollingUpdate { max_unavailable, max_surge },
            _ => Self::Other(wire.r#type),
        }
    }
}

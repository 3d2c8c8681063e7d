//! StatefulSet: a view beside the whole object.

use serde::Deserialize;

use crate::selector::WireSelector;
use crate::wire::{self, null_is_empty};
use crate::{
    Amount, Codec, DecodeError, Index, Kind, Labels, Meta, Object, Raw, Resource, Selector,
    SelectorError, Text,
};

/// What controllers read of a StatefulSet, and the whole of it.
#[derive(Clone, Debug)]
pub struct StatefulSet {
    /// Name, labels, owners and so on.
    pub meta: Meta,
    /// `spec.replicas`; 1 if absent, as the API server's default.
    pub replicas: i32,
    /// `spec.ordinals.start`: the number of the first pod.
    pub start: i32,
    /// Which pods belong to it.
    pub selector: Result<Selector, SelectorError>,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i32,
    /// `spec.podManagementPolicy`.
    pub management: PodManagement,
    /// `spec.updateStrategy`.
    pub strategy: StatefulSetStrategy,
    /// What becomes of the claims of its pods.
    pub retention: ClaimRetention,
    /// The names of `spec.volumeClaimTemplates`, in their order.
    pub claims: Box<[Text]>,
    /// `spec.revisionHistoryLimit`; 10 if absent, as the API server's default.
    pub revision_history_limit: i32,
    /// Labels of the pod template.
    pub template_labels: Labels,
    /// The status as it was last written.
    pub status: StatefulSetStatus,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// `spec.podManagementPolicy` of a StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodManagement {
    /// One pod after the other; also what any other word reads as.
    OrderedReady,
    /// All pods at once.
    Parallel,
}

/// `spec.updateStrategy` of a StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatefulSetStrategy {
    /// Its type.
    pub r#type: StatefulSetUpdate,
    /// `rollingUpdate`, which may stand beside any type.
    pub rolling: Option<RollingStatefulSet>,
}

/// `spec.updateStrategy.type` of a StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatefulSetUpdate {
    /// Old pods stay until somebody deletes them.
    OnDelete,
    /// Old pods are replaced.
    RollingUpdate,
    /// Another word, which the API server does not admit.
    Other,
}

/// `spec.updateStrategy.rollingUpdate` of a StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RollingStatefulSet {
    /// How many of the first pods stay as they are.
    pub partition: i32,
    /// How many pods may be unavailable meanwhile; none: one.
    pub max_unavailable: Option<Amount>,
}

/// `spec.persistentVolumeClaimRetentionPolicy` of a StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimRetention {
    /// What becomes of all claims when the set is deleted.
    pub when_deleted: Retention,
    /// What becomes of the claims of a pod that the set has no place for any more.
    pub when_scaled: Retention,
}

/// What becomes of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// They stay; also what any other word reads as.
    Retain,
    /// They are deleted.
    Delete,
}

/// `status` of a StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatefulSetStatus {
    /// The generation that the status speaks of.
    pub observed_generation: i64,
    /// Pods.
    pub replicas: i32,
    /// Ready pods.
    pub ready_replicas: i32,
    /// Pods ready for at least `minReadySeconds`.
    pub available_replicas: i32,
    /// Pods of the current revision.
    pub current_replicas: i32,
    /// Pods of the update revision.
    pub updated_replicas: i32,
    /// The revision that pods had before the update.
    #[serde(deserialize_with = "null_is_empty")]
    pub current_revision: String,
    /// The revision that pods get.
    #[serde(deserialize_with = "null_is_empty")]
    pub update_revision: String,
    /// How often the name of a revision was taken by another template.
    pub collision_count: Option<i32>,
}

impl StatefulSet {
    /// StatefulSets by namespace: who may select a pod.
    pub const BY_NAMESPACE: &'static str = "namespace";
}

impl Kind for StatefulSet {
    const RESOURCE: Resource = Resource::namespaced("apps", "v1", "statefulsets", "StatefulSet");
}

impl Object for StatefulSet {
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
            replicas: 0,
            start: 0,
            selector: Ok(Selector::default()),
            min_ready_seconds: 0,
            management: PodManagement::OrderedReady,
            strategy: StatefulSetStrategy { r#type: StatefulSetUpdate::OnDelete, rolling: None },
            retention: WireRetention::default().view(),
            claims: Box::default(),
            revision_history_limit: 10,
            template_labels: Labels::default(),
            status: StatefulSetStatus::default(),
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
    #[serde(default, deserialize_with = "null_is_empty")]
    status: StatefulSetStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpec {
    replicas: Option<i32>,
    #[serde(default, deserialize_with = "null_is_empty")]
    ordinals: WireOrdinals,
    #[serde(default, deserialize_with = "null_is_empty")]
    selector: WireSelector,
    #[serde(default)]
    min_ready_seconds: i32,
    #[serde(default, deserialize_with = "null_is_empty")]
    pod_management_policy: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    update_strategy: WireStrategy,
    #[serde(default, deserialize_with = "null_is_empty")]
    persistent_volume_claim_retention_policy: WireRetention,
    #[serde(default, deserialize_with = "null_is_empty")]
    volume_claim_templates: Vec<WireClaim>,
    revision_history_limit: Option<i32>,
    template: wire::TemplateLabels,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireOrdinals {
    start: i32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStrategy {
    r#type: String,
    rolling_update: Option<WireRolling>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRolling {
    partition: Option<i32>,
    max_unavailable: Option<Amount>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRetention {
    when_deleted: String,
    when_scaled: String,
}

#[derive(Deserialize)]
struct WireClaim {
    metadata: WireClaimMeta,
}

#[derive(Deserialize)]
struct WireClaimMeta {
    name: String,
}

impl WireSet {
    fn view(self, raw: Raw) -> Result<StatefulSet, DecodeError> {
        let spec = self.spec;
        let claims = spec.volume_claim_templates.into_iter();
        Ok(StatefulSet {
            meta: self.metadata.meta()?,
            replicas: spec.replicas.unwrap_or(1),
            start: spec.ordinals.start,
            selector: spec.selector.parse(),
            min_ready_seconds: spec.min_ready_seconds,
            management: match spec.pod_management_policy.as_str() {
                "Parallel" => PodManagement::Parallel,
                _ => PodManagement::OrderedReady,
            },
            strategy: spec.update_strategy.view(),
            retention: spec.persistent_volume_claim_retention_policy.view(),
            claims: claims.map(|claim| claim.metadata.name.into()).collect(),
            revision_history_limit: spec.revision_history_limit.unwrap_or(10),
            template_labels: spec.template.labels(),
            status: self.status,
            raw,
            unreadable: None,
        })
    }
}

impl WireStrategy {
    fn view(self) -> StatefulSetStrategy {
        let r#type = match self.r#type.as_str() {
            "OnDelete" => StatefulSetUpdate::OnDelete,
            "RollingUpdate" => StatefulSetUpdate::RollingUpdate,
            _ => StatefulSetUpdate::Other,
        };
        let rolling = self.rolling_update.map(|rolling| RollingStatefulSet {
            partition: rolling.partition.unwrap_or(0),
            max_unavailable: rolling.max_unavailable,
        });
        StatefulSetStrategy { r#type, rolling }
    }
}

impl WireRetention {
    fn view(&self) -> ClaimRetention {
        let policy = |word: &str| match word {
            "Delete" => Retention::Delete,
            _ => Retention::Retain,
        };
        ClaimRetention {
            when_deleted: policy(&self.when_deleted),
            when_scaled: policy(&self.when_scaled),
        }
    }
}

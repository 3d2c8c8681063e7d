//! PodDisruptionBudget: a view beside the whole object.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::selector::WireSelector;
use crate::wire::{self, null_is_empty};
use crate::{
    Amount, Codec, DecodeError, Index, Kind, Labels, Meta, Object, Raw, Resource, Selector,
    SelectorError, Status, Time,
};

/// What controllers read of a PodDisruptionBudget, and the whole of it.
#[derive(Clone, Debug)]
pub struct PodDisruptionBudget {
    /// Name, generation and so on.
    pub meta: Meta,
    /// Which pods it is for; none: no pod. One without requirements is for all pods of the
    /// namespace.
    pub selector: Result<Option<Selector>, SelectorError>,
    /// `spec.minAvailable`.
    pub min_available: Option<Amount>,
    /// `spec.maxUnavailable`; with it, the API server admits no `minAvailable`.
    pub max_unavailable: Option<Amount>,
    /// The status as it was last written.
    pub status: BudgetStatus,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// `status` of a PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetStatus {
    /// The generation that the status speaks of.
    pub observed_generation: i64,
    /// Pods that the API server was asked to evict and that do not show as terminating yet, and
    /// since when. Long ago if it does not say.
    pub disrupted_pods: BTreeMap<String, Time>,
    /// How many pods may be evicted now.
    pub disruptions_allowed: i32,
    /// Healthy pods.
    pub current_healthy: i32,
    /// How many pods must be healthy.
    pub desired_healthy: i32,
    /// How many pods there should be.
    pub expected_pods: i32,
    /// The condition `DisruptionAllowed`.
    pub allowed: Option<BudgetCondition>,
}

/// What is compared of the condition of a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetCondition {
    /// Whether it holds.
    pub status: Status,
    /// One word for programs.
    #[serde(deserialize_with = "null_is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(deserialize_with = "null_is_empty")]
    pub message: String,
    /// The generation that it speaks of.
    #[serde(deserialize_with = "null_is_empty")]
    pub observed_generation: i64,
}

impl PodDisruptionBudget {
    /// Upstream's `namespace`: all budgets of a namespace.
    pub const BY_NAMESPACE: &'static str = "namespace";
    /// The condition that says whether pods may be evicted.
    pub const DISRUPTION_ALLOWED: &'static str = "DisruptionAllowed";

    /// Whether it is for pods with these labels. One with an invalid selector is for none. As
    /// `GetPodPodDisruptionBudgets` in client-go's listers.
    pub fn is_for(&self, labels: &Labels) -> bool {
        matches!(&self.selector, Ok(Some(selector)) if selector.matches(labels))
    }
}

impl Kind for PodDisruptionBudget {
    const RESOURCE: Resource =
        Resource::namespaced("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget");
}

impl Object for PodDisruptionBudget {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::by_namespace(Self::BY_NAMESPACE)];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireBudget>(codec, bytes)?;
        Ok(Self {
            meta: wire.metadata.meta()?,
            selector: wire.spec.selector.map(WireSelector::parse).transpose(),
            min_available: wire.spec.min_available,
            max_unavailable: wire.spec.max_unavailable,
            status: wire.status.view(),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            selector: Ok(None),
            min_available: None,
            max_unavailable: None,
            status: BudgetStatus::default(),
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireBudget {
    metadata: wire::ObjectMeta,
    #[serde(default, deserialize_with = "null_is_empty")]
    spec: WireSpec,
    #[serde(default, deserialize_with = "null_is_empty")]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    min_available: Option<Amount>,
    max_unavailable: Option<Amount>,
    selector: Option<WireSelector>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    observed_generation: i64,
    #[serde(deserialize_with = "null_is_empty")]
    disrupted_pods: BTreeMap<String, Option<Time>>,
    disruptions_allowed: i32,
    current_healthy: i32,
    desired_healthy: i32,
    expected_pods: i32,
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    r#type: String,
    #[serde(flatten)]
    rest: BudgetCondition,
}

impl WireStatus {
    fn view(self) -> BudgetStatus {
        let long_ago = Time::from_unix(i64::MIN, 0);
        let disrupted = self.disrupted_pods.into_iter();
        let mut conditions = self.conditions.into_iter();
        BudgetStatus {
            observed_generation: self.observed_generation,
            disrupted_pods: disrupted.map(|(pod, at)| (pod, at.unwrap_or(long_ago))).collect(),
            disruptions_allowed: self.disruptions_allowed,
            current_healthy: self.current_healthy,
            desired_healthy: self.desired_healthy,
            expected_pods: self.expected_pods,
            allowed: conditions
                .find(|condition| condition.r#type == PodDisruptionBudget::DISRUPTION_ALLOWED)
                .map(|condition| condition.rest),
        }
    }
}

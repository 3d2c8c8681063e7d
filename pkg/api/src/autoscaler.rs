//! HorizontalPodAutoscaler: a view beside the whole object.

use apimachinery::Quantity;
use serde::Deserialize;
use serde_json::Value;

use crate::selector::WireSelector;
use crate::wire::{self, WireQuantity, null_is_empty};
use crate::{
    Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Selector, SelectorError, Status,
};

/// What controllers read of a HorizontalPodAutoscaler, and the whole of it.
#[derive(Clone, Debug)]
pub struct HorizontalPodAutoscaler {
    /// Name and so on.
    pub meta: Meta,
    /// What it scales.
    pub target: CrossVersionReference,
    /// `spec.minReplicas`; the API server fills it in.
    pub min_replicas: i32,
    /// `spec.maxReplicas`.
    pub max_replicas: i32,
    /// What it looks at, in order.
    pub metrics: Box<[MetricSpec]>,
    /// How fast it scales; none: as fast as upstream's constants allow.
    pub behavior: Option<Behavior>,
    /// The status as it was last written.
    pub status: AutoscalerStatus,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// `v2.CrossVersionObjectReference`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CrossVersionReference {
    /// Such as `apps/v1`; may be empty.
    #[serde(deserialize_with = "null_is_empty")]
    pub api_version: String,
    /// Such as `Deployment`.
    #[serde(deserialize_with = "null_is_empty")]
    pub kind: String,
    /// Its name.
    #[serde(deserialize_with = "null_is_empty")]
    pub name: String,
}

/// What is read of `status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AutoscalerStatus {
    /// `currentReplicas`.
    pub current_replicas: i32,
    /// `desiredReplicas`.
    pub desired_replicas: i32,
    /// Whether the condition `ScaledToZero` holds.
    pub scaled_to_zero: bool,
}

/// An entry of `spec.metrics`.
#[derive(Clone, Debug)]
pub struct MetricSpec {
    /// The word for its kind.
    pub r#type: String,
    /// What it looks at; none: the part for its kind is missing, or there is no such kind.
    pub source: Option<MetricSource>,
}

/// What a metric looks at.
#[derive(Clone, Debug)]
pub enum MetricSource {
    /// A resource that the pods use, such as `cpu`.
    Resource {
        /// The resource.
        name: String,
        /// What it should be.
        target: MetricTarget,
    },
    /// A resource that one container of each pod uses.
    ContainerResource {
        /// The resource.
        name: String,
        /// The container.
        container: String,
        /// What it should be.
        target: MetricTarget,
    },
    /// Something else that is known of each pod.
    Pods {
        /// What.
        metric: MetricName,
        /// What it should be on average.
        target: MetricTarget,
    },
    /// Something that is known of one object.
    Object {
        /// The object, in the same namespace.
        described: CrossVersionReference,
        /// What.
        metric: MetricName,
        /// What it should be.
        target: MetricTarget,
    },
    /// Something outside the cluster.
    External {
        /// What.
        metric: MetricName,
        /// What it should be.
        target: MetricTarget,
    },
}

/// `v2.MetricIdentifier`.
#[derive(Clone, Debug)]
pub struct MetricName {
    /// Its name.
    pub name: String,
    /// Which of its series count, as text for a request; empty: all.
    pub selector: Result<String, SelectorError>,
    /// The selector as it stands in the object; null: there is none.
    pub selector_json: Value,
}

/// `v2.MetricTarget`.
#[derive(Clone, Debug, Default)]
pub struct MetricTarget {
    /// The word for the field that counts.
    pub r#type: String,
    /// The value.
    pub value: Option<Quantity>,
    /// The value for each pod.
    pub average_value: Option<Quantity>,
    /// The share of what the pods ask for, in percent.
    pub average_utilization: Option<i32>,
}

/// `v2.HorizontalPodAutoscalerBehavior`, with upstream's defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Behavior {
    /// For more replicas.
    pub up: ScalingRules,
    /// For fewer.
    pub down: ScalingRules,
}

/// `v2.HPAScalingRules`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingRules {
    /// How far back recommendations count; none: as a flag says.
    pub stabilization_window_seconds: Option<i32>,
    /// Which of the policies counts.
    pub select_policy: SelectPolicy,
    /// How much may change in how long.
    pub policies: Vec<ScalingPolicy>,
    /// The deviation from the target, as a share, that changes nothing; none: as a flag says.
    pub tolerance: Option<f64>,
}

/// Which of several policies counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectPolicy {
    /// The one that allows the greatest change; also what unknown words read as.
    Max,
    /// The one that allows the least change.
    Min,
    /// None: nothing may change.
    Disabled,
}

/// `v2.HPAScalingPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalingPolicy {
    /// What `value` counts.
    pub kind: ScalingPolicyKind,
    /// How much may change.
    pub value: i32,
    /// In how long.
    pub period_seconds: i32,
}

/// What the value of a policy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalingPolicyKind {
    /// Pods; also what unknown words read as.
    Pods,
    /// Hundredths of the pods.
    Percent,
}

impl HorizontalPodAutoscaler {
    /// The condition that says whether it can read and write the size of its target.
    pub const ABLE_TO_SCALE: &'static str = "AbleToScale";
    /// The condition that says whether it computes a size.
    pub const SCALING_ACTIVE: &'static str = "ScalingActive";
    /// The condition that says whether the size that it wants is out of bounds.
    pub const SCALING_LIMITED: &'static str = "ScalingLimited";
    /// The condition that says whether it was itself that scaled the target to nothing.
    pub const SCALED_TO_ZERO: &'static str = "ScaledToZero";
}

impl Kind for HorizontalPodAutoscaler {
    const RESOURCE: Resource = Resource::namespaced(
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
    );
}

impl Object for HorizontalPodAutoscaler {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireAutoscaler>(codec, bytes)?;
        let WireSpec { scale_target_ref, min_replicas, max_replicas, metrics, behavior } =
            wire.spec;
        Ok(Self {
            meta: wire.metadata.meta()?,
            target: scale_target_ref,
            min_replicas: min_replicas.unwrap_or(1),
            max_replicas,
            metrics: metrics.into_iter().map(WireMetric::view).collect(),
            behavior: behavior.map(WireBehavior::view),
            status: wire.status.view(),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            target: CrossVersionReference::default(),
            min_replicas: 1,
            max_replicas: 0,
            metrics: Box::default(),
            behavior: None,
            status: AutoscalerStatus::default(),
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireAutoscaler {
    metadata: wire::ObjectMeta,
    #[serde(default, deserialize_with = "null_is_empty")]
    spec: WireSpec,
    #[serde(default, deserialize_with = "null_is_empty")]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[serde(deserialize_with = "null_is_empty")]
    scale_target_ref: CrossVersionReference,
    min_replicas: Option<i32>,
    max_replicas: i32,
    #[serde(deserialize_with = "null_is_empty")]
    metrics: Vec<WireMetric>,
    behavior: Option<WireBehavior>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireMetric {
    #[serde(deserialize_with = "null_is_empty")]
    r#type: String,
    resource: Option<WireSource>,
    container_resource: Option<WireSource>,
    pods: Option<WireSource>,
    object: Option<WireSource>,
    external: Option<WireSource>,
}

/// The fields of all kinds of sources.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSource {
    #[serde(deserialize_with = "null_is_empty")]
    name: String,
    #[serde(deserialize_with = "null_is_empty")]
    container: String,
    #[serde(deserialize_with = "null_is_empty")]
    described_object: CrossVersionReference,
    #[serde(deserialize_with = "null_is_empty")]
    metric: WireName,
    #[serde(deserialize_with = "null_is_empty")]
    target: WireTarget,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireName {
    #[serde(deserialize_with = "null_is_empty")]
    name: String,
    selector: Value,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireTarget {
    #[serde(deserialize_with = "null_is_empty")]
    r#type: String,
    value: Option<WireQuantity>,
    average_value: Option<WireQuantity>,
    average_utilization: Option<i32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireBehavior {
    #[serde(deserialize_with = "null_is_empty")]
    scale_up: WireRules,
    #[serde(deserialize_with = "null_is_empty")]
    scale_down: WireRules,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRules {
    stabilization_window_seconds: Option<i32>,
    select_policy: Option<String>,
    policies: Option<Vec<WirePolicy>>,
    tolerance: Option<WireQuantity>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WirePolicy {
    #[serde(deserialize_with = "null_is_empty")]
    r#type: String,
    value: i32,
    period_seconds: i32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    current_replicas: i32,
    #[serde(deserialize_with = "null_is_empty")]
    desired_replicas: i32,
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    r#type: String,
    status: Status,
}

impl WireStatus {
    fn view(self) -> AutoscalerStatus {
        let is_it = |it: &&WireCondition| it.r#type == HorizontalPodAutoscaler::SCALED_TO_ZERO;
        let condition = self.conditions.iter().find(is_it);
        AutoscalerStatus {
            current_replicas: self.current_replicas,
            desired_replicas: self.desired_replicas,
            scaled_to_zero: condition.is_some_and(|it| it.status == Status::True),
        }
    }
}

impl WireMetric {
    fn view(self) -> MetricSpec {
        let source = match self.r#type.as_str() {
            "Resource" => self.resource.map(|it| {
                let target = it.target.view();
                MetricSource::Resource { name: it.name, target }
            }),
            "ContainerResource" => self.container_resource.map(|it| {
                let WireSource { name, container, target, .. } = it;
                MetricSource::ContainerResource { name, container, target: target.view() }
            }),
            "Pods" => self.pods.map(|it| {
                let WireSource { metric, target, .. } = it;
                MetricSource::Pods { metric: metric.view(), target: target.view() }
            }),
            "Object" => self.object.map(|it| {
                let WireSource { described_object: described, metric, target, .. } = it;
                MetricSource::Object { described, metric: metric.view(), target: target.view() }
            }),
            "External" => self.external.map(|it| {
                let WireSource { metric, target, .. } = it;
                MetricSource::External { metric: metric.view(), target: target.view() }
            }),
            _ => None,
        };
        MetricSpec { r#type: self.r#type, source }
    }
}

impl WireName {
    fn view(self) -> MetricName {
        // Upstream's selector that matches nothing prints as nothing, and so asks for everything.
        let selector = Option::<WireSelector>::deserialize(&self.selector).unwrap_or_default();
        let selector = selector.unwrap_or_default();
        let text = selector.text();
        MetricName {
            name: self.name,
            selector: selector.parse().map(|_: Selector| text),
            selector_json: self.selector,
        }
    }
}

impl WireTarget {
    fn view(self) -> MetricTarget {
        MetricTarget {
            r#type: self.r#type,
            value: self.value.map(|it| it.view()),
            average_value: self.average_value.map(|it| it.view()),
            average_utilization: self.average_utilization,
        }
    }
}

impl WireBehavior {
    /// With the defaults of `GenerateHPAScaleUpRules` and `GenerateHPAScaleDownRules` in upstream's
    /// pkg/apis/autoscaling/v2, which the API server has filled in.
    fn view(self) -> Behavior {
        let all = policy(ScalingPolicyKind::Percent, 100);
        let mut up = self.scale_up.view(&[policy(ScalingPolicyKind::Pods, 4), all]);
        up.stabilization_window_seconds = up.stabilization_window_seconds.or(Some(0));
        Behavior { up, down: self.scale_down.view(&[all]) }
    }
}

const fn policy(kind: ScalingPolicyKind, value: i32) -> ScalingPolicy {
    ScalingPolicy { kind, value, period_seconds: 15 }
}

impl WireRules {
    fn view(self, default: &[ScalingPolicy]) -> ScalingRules {
        let policies = self.policies.map(|all| all.into_iter().map(WirePolicy::view).collect());
        ScalingRules {
            stabilization_window_seconds: self.stabilization_window_seconds,
            select_policy: match self.select_policy.as_deref() {
                Some("Disabled") => SelectPolicy::Disabled,
                Some("Min") => SelectPolicy::Min,
                Some(_) | None => SelectPolicy::Max,
            },
            policies: policies.unwrap_or_else(|| default.to_vec()),
            tolerance: self.tolerance.map(|it| it.view().approximate()),
        }
    }
}

impl WirePolicy {
    fn view(self) -> ScalingPolicy {
        let is_percent = self.r#type == "Percent";
        ScalingPolicy {
            kind: if is_percent { ScalingPolicyKind::Percent } else { ScalingPolicyKind::Pods },
            value: self.value,
            period_seconds: self.period_seconds,
        }
    }
}

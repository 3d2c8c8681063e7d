//! What quotas and autoscalers count of a pod, and what few pods have.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use serde::Deserialize;

use super::resources::{self, PodLevel};
use super::{
    ClaimSource, Pod, PodResourceClaim, PodSeLinux, WireAffinity, WirePod, WireSpec,
    resource_claims, selinux,
};
use crate::intern::intern_quota;
use crate::wire::null_is_empty;
use crate::{InlineVolume, Meta, ResourceList, Text, Time, attachable, intern};

/// What quotas and autoscalers count of a pod, and what few pods have. Equal for most pods of a
/// template, which share it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodQuota {
    /// What it asks for and may use at most.
    pub resources: PodResources,
    /// The same if what the pod asks for as a whole does not count; none: it asks for nothing as a
    /// whole.
    pub of_containers: Option<Box<PodResources>>,
    /// `priorityClassName`.
    pub priority_class: Option<Text>,
    /// Whether it has an `activeDeadlineSeconds`: the scope `Terminating`.
    pub has_deadline: bool,
    /// Whether its QoS class is `BestEffort`.
    pub is_best_effort: bool,
    /// Whether its affinities look into other namespaces.
    pub crosses_namespaces: bool,
    /// When its grace period is over, if it is being deleted.
    pub grace_ends: Option<Time>,
    /// The claim for its extended resources, as its status names it; none: it has no such status.
    pub extended_claim: Option<Text>,
    /// The claims of devices that it refers to, in their order.
    pub resource_claims: Box<[PodResourceClaim]>,
    /// The volumes without a claim that are attached to its node, in their order.
    pub inline_volumes: Box<[InlineVolume]>,
    /// What counts for the SELinux labels of its volumes; none: nothing does.
    pub se_linux: Option<Box<PodSeLinux>>,
    /// The PodGroup that it is scheduled with.
    pub group: Option<Text>,
    /// What each container asks for, and each init container that restarts, in their order. As the
    /// spec says.
    pub containers: Box<[(Text, ResourceList)]>,
    /// What the pod asks for as its spec says; none: it asks for nothing as a whole. As
    /// `IsPodLevelRequestsSet` of component-helpers/resource.
    pub whole: Option<ResourceList>,
}

/// The resources of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodResources {
    /// What it asks for.
    pub requests: ResourceList,
    /// What it may use at most.
    pub limits: ResourceList,
}

impl Pod {
    /// Whether quotas count more of it than that it is stored: it has not ended, and if it is being
    /// deleted, its grace period is not over. As `QuotaV1Pod` in upstream's pkg/quota/v1.
    pub fn is_charged(&self, now: Time) -> bool {
        !self.is_terminal() && self.quota.grace_ends.is_none_or(|end| now <= end)
    }
}

pub(super) fn of(pod: &WirePod, meta: &Meta, claims: &[(Text, ClaimSource)]) -> Arc<PodQuota> {
    let spec = &pod.spec;
    let with = |level| {
        let limits = resources::limits(pod, level).into();
        PodResources { requests: resources::requests(pod, level).into(), limits }
    };
    let claim = pod.status.extended_resource_claim_status.as_ref();
    intern_quota(&PodQuota {
        resources: with(PodLevel::Counts),
        of_containers: spec.resources.is_some().then(|| Box::new(with(PodLevel::Skipped))),
        priority_class: (!spec.priority_class_name.is_empty())
            .then(|| intern(&spec.priority_class_name)),
        has_deadline: spec.active_deadline_seconds.is_some_and(|seconds| seconds >= 0),
        is_best_effort: is_best_effort(pod),
        crosses_namespaces: spec.affinity.as_ref().is_some_and(WireAffinity::crosses_namespaces),
        grace_ends: grace_ends(pod, meta),
        extended_claim: claim.map(|it| it.resource_claim_name.as_str().into()),
        resource_claims: resource_claims::of(spec, &pod.status),
        inline_volumes: attachable::of_pod(&spec.volumes, &meta.key.namespace),
        se_linux: selinux::of(spec, claims, &meta.key),
        group: pod.group(),
        containers: resources::each_container(spec),
        whole: resources::whole(pod).map(Into::into),
    })
}

/// The deletion time is the end of the grace period already; upstream adds it once more.
fn grace_ends(pod: &WirePod, meta: &Meta) -> Option<Time> {
    let seconds = pod.metadata.deletion_grace_period_seconds?;
    let grace = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some(meta.deletion_timestamp? + grace)
}

/// As `GetPodQOS` in upstream's pkg/apis/core/v1/helper/qos.
fn is_best_effort(pod: &WirePod) -> bool {
    if !pod.status.qos_class.is_empty() {
        return pod.status.qos_class == "BestEffort";
    }
    let WireSpec { resources, containers, init_containers, .. } = &pod.spec;
    let all = containers.iter().chain(init_containers).filter_map(|it| it.resources.as_ref());
    match resources {
        Some(resources) => !resources::asks(resources),
        None => !all.into_iter().any(resources::asks),
    }
}

// === Wire ===

/// `v1.PodAffinity` and `v1.PodAntiAffinity`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WirePodAffinity {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    required_during_scheduling_ignored_during_execution: Vec<WireTerm>,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    preferred_during_scheduling_ignored_during_execution: Vec<WireWeighted>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireWeighted {
    #[prost(message, required, tag = "2")]
    pod_affinity_term: WireTerm,
}

/// `v1.PodAffinityTerm`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireTerm {
    #[prost(string, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    namespaces: Vec<String>,
    #[prost(message, optional, tag = "4")]
    namespace_selector: Option<super::WireAnything>,
}

/// `v1.PodExtendedResourceClaimStatus`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireExtendedClaim {
    #[prost(string, tag = "2")]
    resource_claim_name: String,
}

impl WireAffinity {
    /// As `usesCrossNamespacePodAffinity` in upstream's pkg/quota/v1/evaluator/core.
    fn crosses_namespaces(&self) -> bool {
        let crosses =
            |term: &WireTerm| !term.namespaces.is_empty() || term.namespace_selector.is_some();
        let any = |it: &WirePodAffinity| {
            it.required_during_scheduling_ignored_during_execution.iter().any(crosses)
                || it
                    .preferred_during_scheduling_ignored_during_execution
                    .iter()
                    .any(|weighted| crosses(&weighted.pod_affinity_term))
        };
        [&self.pod_affinity, &self.pod_anti_affinity].into_iter().flatten().any(any)
    }
}

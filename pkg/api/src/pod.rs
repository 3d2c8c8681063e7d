//! Pod: the view that the workload controllers share.

mod claims;
mod ephemeral;
mod job;
mod network;
mod quota;
mod resource_claims;
mod resources;
mod secrets;
mod selinux;
mod tolerations;

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, from_optional_text, from_text, null_is_empty, text};
use crate::{
    Codec, DecodeError, Index, InlineVolume, Job, Kind, Meta, Object, Resource, Status, Text, Time,
    Toleration, intern,
};

pub use claims::ClaimSource;
pub use ephemeral::EphemeralVolume;
pub use job::{FailedContainer, JobPart};
pub use network::{NamedPort, Names, Network};
pub use quota::{PodQuota, PodResources};
pub use resource_claims::{ClaimName, PodResourceClaim};
pub(crate) use secrets::{WireVolume, WireVolumeSource};
pub use selinux::{MountSource, PodSeLinux, SeLinuxMount};

/// What controllers read of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with each other")]
pub struct Pod {
    /// Name, labels, owners and so on.
    pub meta: Meta,
    /// The node that it is bound to.
    pub node_name: Option<Text>,
    /// The node that its required affinity names, as pods of DaemonSets have it.
    pub target_node: Option<Text>,
    /// Those of its tolerations that may be of a taint with the effect `NoExecute`, in their order.
    pub tolerations: Arc<[Toleration]>,
    /// How far it has come.
    pub phase: Phase,
    /// Whether `status.reason` is `Evicted`.
    pub evicted: bool,
    /// The `Ready` condition: its status and since when.
    pub ready: Option<(Status, Option<Time>)>,
    /// When its node took it: `status.startTime`.
    pub start_time: Option<Time>,
    /// The `DisruptionTarget` condition: its status and since when.
    pub disruption_target: Option<(Status, Option<Time>)>,
    /// Whether that condition says that the pod's node ends it (`TerminationByKubelet`), which may
    /// take any time.
    pub ended_by_kubelet: bool,
    /// The observed generations in its status.
    pub observed: Observed,
    /// Whether it is being deleted with no grace period left: its node is done with it, or it was
    /// deleted by force.
    pub shut_down: bool,
    /// Whether no container status says that it runs, or is undetermined: each one waits or has
    /// ended, or there is none.
    pub nothing_runs: bool,
    /// Whether nothing but its metadata could be read. Then it seems to be pending, on no node.
    pub unreadable: bool,
    /// Annotation `controller.kubernetes.io/pod-deletion-cost`, 0 if absent or not a number as the
    /// API server accepts it (no plus sign, no leading zeros unless negative).
    pub deletion_cost: i32,
    /// The highest restart count of its containers.
    pub restarts_max: i32,
    /// The highest restart count of its sidecars (init containers that restart).
    pub sidecar_restarts_max: i32,
    /// Where it can be reached.
    pub network: Network,
    /// The names of the Secrets that it refers to, sorted.
    pub secrets: Box<[Text]>,
    /// The volume claims that it refers to, sorted by name.
    pub claims: Box<[(Text, ClaimSource)]>,
    /// The ephemeral volumes for which claims are made, in their order.
    pub ephemeral_volumes: Box<[EphemeralVolume]>,
    /// What quotas and autoscalers count of it, and what few pods have.
    pub quota: Arc<PodQuota>,
    /// What only the controller of Jobs reads; none if the pod belongs to no Job, and none may
    /// adopt it.
    pub job: Option<Box<JobPart>>,
}

/// What has an `observedGeneration`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The status as a whole.
    pub status: bool,
    /// The `DisruptionTarget` condition.
    pub disruption_target: bool,
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not all containers have started; also what unknown words read as, and no word at all (the
    /// API server gives every pod one).
    Pending,
    /// The node cannot be reached.
    Unknown,
    /// Bound to a node, with at least one container running.
    Running,
    /// All containers ended well.
    Succeeded,
    /// All containers ended, at least one of them badly.
    Failed,
}

impl Pod {
    /// Upstream's `podController`: pods by the uid of the controller that manages them.
    pub const BY_CONTROLLER: &'static str = "podController";
    /// Pods without a controller, by namespace.
    pub const ORPHANS_BY_NAMESPACE: &'static str = "orphans";
    /// Upstream's `namespace`: all pods of a namespace.
    pub const BY_NAMESPACE: &'static str = "namespace";
    /// Upstream's `spec.nodeName`: pods by the node that they are bound to.
    pub const BY_NODE: &'static str = "spec.nodeName";
    /// Upstream's `pod-pvc-index`: pods by the volume claims that they refer to, as
    /// `namespace/name`.
    pub const BY_CLAIM: &'static str = "pod-pvc-index";
    /// Upstream's `podResourceClaim`: pods by the claims of devices that they refer to, as
    /// `namespace/name`, once those have a name.
    pub const BY_RESOURCE_CLAIM: &'static str = "podResourceClaim";
    /// Upstream's `podResourceClaimTemplate`: pods by the templates of such claims, as
    /// `namespace/name`.
    pub const BY_CLAIM_TEMPLATE: &'static str = "podResourceClaimTemplate";
    /// Upstream's `activePodSchedulingGroup`: the pods that have not ended by their PodGroup, as
    /// `namespace/name`; those that cannot be read as `namespace/`.
    pub const ACTIVE_BY_GROUP: &'static str = "activePodSchedulingGroup";
    /// Pods by [`Pod::inline_volumes`].
    pub const BY_INLINE_VOLUME: &'static str = "inline volume";
    /// Those of which nothing but the metadata could be read, all under an empty text.
    pub const UNREADABLE: &'static str = "unreadable";

    /// Whether it has ended and will not run again.
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// Whether it runs or may yet: not ended, not being deleted. As upstream's `IsPodActive`.
    pub fn is_active(&self) -> bool {
        !self.is_terminal() && !self.meta.is_terminating()
    }

    /// Whether it has ended, or is being deleted while nothing of it is known to run. As upstream's
    /// `IsPodTerminated` in pkg/volume/util.
    pub fn is_over(&self) -> bool {
        self.is_terminal() || self.meta.is_terminating() && self.nothing_runs
    }

    /// Whether it is being deleted with no grace period left and yet has finalizers: nothing but
    /// their removal gets it further, not another deletion.
    pub fn waits_for_finalizers(&self) -> bool {
        self.shut_down && !self.meta.finalizers.is_empty()
    }

    /// The claims of devices that it refers to, in their order.
    pub fn resource_claims(&self) -> &[PodResourceClaim] {
        &self.quota.resource_claims
    }

    /// The volumes without a claim that are attached to its node, in their order.
    pub fn inline_volumes(&self) -> &[InlineVolume] {
        &self.quota.inline_volumes
    }

    /// What counts for the SELinux labels of its volumes; none: nothing does.
    pub fn se_linux(&self) -> Option<&PodSeLinux> {
        self.quota.se_linux.as_deref()
    }

    /// The PodGroup that it is scheduled with.
    pub fn group(&self) -> Option<&Text> {
        self.quota.group.as_ref()
    }

    /// Whether its `Ready` condition holds.
    pub fn is_ready(&self) -> bool {
        matches!(self.ready, Some((Status::True, _)))
    }

    /// Whether it has the finalizer by which its Job has not counted it yet.
    pub fn is_tracked(&self) -> bool {
        self.meta.finalizers.iter().any(|it| &**it == Job::TRACKING_FINALIZER)
    }

    fn active_group(&self) -> Option<Text> {
        let namespace = &self.meta.key.namespace;
        match self.group() {
            _ if self.unreadable => Some(format!("{namespace}/").into()),
            Some(group) if !self.is_terminal() => Some(format!("{namespace}/{group}").into()),
            Some(_) | None => None,
        }
    }

    /// Since when it is ready; none if it is not, or if the condition has no time.
    pub fn ready_since(&self) -> Option<Time> {
        match self.ready {
            Some((Status::True, since)) => since,
            Some((Status::False | Status::Unknown, _)) | None => None,
        }
    }
}

impl Kind for Pod {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "pods", "Pod");
}

impl Object for Pod {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[
        Index::by_controller(Self::BY_CONTROLLER),
        Index::orphans_by_namespace(Self::ORPHANS_BY_NAMESPACE),
        Index::by_namespace(Self::BY_NAMESPACE),
        Index::one(Self::BY_NODE, |pod| pod.node_name.clone()),
        Index::several(Self::BY_CLAIM, claims::index),
        Index::several(Self::BY_RESOURCE_CLAIM, resource_claims::names),
        Index::several(Self::BY_CLAIM_TEMPLATE, resource_claims::templates),
        Index::one(Self::ACTIVE_BY_GROUP, Self::active_group),
        Index::several(Self::BY_INLINE_VOLUME, |pod| {
            pod.inline_volumes().iter().map(|inline| inline.volume.clone()).collect()
        }),
        Index::one(Self::UNREADABLE, |pod| pod.unreadable.then(Text::default)),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        wire::decode::<WirePod>(codec, bytes)?.view()
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { unreadable: true, ..WirePod::default().view_with(meta) }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WirePod {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
    #[prost(message, required, tag = "3")]
    status: WireStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    volumes: Vec<secrets::WireVolume>,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    containers: Vec<WireContainer>,
    #[prost(int64, optional, tag = "5")]
    active_deadline_seconds: Option<i64>,
    #[prost(string, tag = "10")]
    node_name: String,
    #[prost(message, optional, tag = "14")]
    security_context: Option<selinux::WirePodSecurity>,
    #[prost(message, repeated, tag = "15")]
    #[serde(deserialize_with = "null_is_empty")]
    image_pull_secrets: Vec<secrets::WireReference>,
    #[prost(string, tag = "16")]
    hostname: String,
    #[prost(string, tag = "17")]
    subdomain: String,
    #[prost(message, optional, tag = "18")]
    affinity: Option<WireAffinity>,
    #[prost(message, repeated, tag = "20")]
    #[serde(deserialize_with = "null_is_empty")]
    init_containers: Vec<WireContainer>,
    #[prost(message, repeated, tag = "22")]
    #[serde(deserialize_with = "null_is_empty")]
    tolerations: Vec<tolerations::WireToleration>,
    #[prost(string, tag = "24")]
    priority_class_name: String,
    #[prost(btree_map = "string, message", tag = "32")]
    #[serde(deserialize_with = "null_is_empty")]
    overhead: BTreeMap<String, wire::WireQuantity>,
    #[prost(message, repeated, tag = "34")]
    #[serde(deserialize_with = "null_is_empty")]
    ephemeral_containers: Vec<secrets::WireEphemeral>,
    #[prost(message, repeated, tag = "39")]
    #[serde(deserialize_with = "null_is_empty")]
    resource_claims: Vec<resource_claims::WireClaim>,
    #[prost(message, optional, tag = "40")]
    resources: Option<wire::ResourceRequirements>,
    #[prost(message, optional, tag = "43")]
    scheduling_group: Option<WireGroup>,
}

/// `v1.PodSchedulingGroup`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireGroup {
    #[prost(bytes = "vec", optional, tag = "1")]
    #[serde(deserialize_with = "from_optional_text")]
    pod_group_name: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_field_names, reason = "they are the API's")]
struct WireAffinity {
    #[prost(message, optional, tag = "1")]
    node_affinity: Option<WireNodeAffinity>,
    #[prost(message, optional, tag = "2")]
    pod_affinity: Option<quota::WirePodAffinity>,
    #[prost(message, optional, tag = "3")]
    pod_anti_affinity: Option<quota::WirePodAffinity>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireNodeAffinity {
    #[prost(message, optional, tag = "1")]
    required_during_scheduling_ignored_during_execution: Option<WireTerms>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireTerms {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    node_selector_terms: Vec<WireTerm>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireTerm {
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    match_fields: Vec<WireField>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireField {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    operator: String,
    #[prost(string, repeated, tag = "3")]
    #[serde(deserialize_with = "null_is_empty")]
    values: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireContainer {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "6")]
    #[serde(deserialize_with = "null_is_empty")]
    ports: Vec<network::WireContainerPort>,
    #[prost(message, repeated, tag = "7")]
    #[serde(deserialize_with = "null_is_empty")]
    env: Vec<secrets::WireEnv>,
    #[prost(message, optional, tag = "8")]
    resources: Option<wire::ResourceRequirements>,
    #[prost(message, repeated, tag = "9")]
    #[serde(deserialize_with = "null_is_empty")]
    volume_mounts: Vec<selinux::WireMount>,
    #[prost(message, optional, tag = "15")]
    security_context: Option<selinux::WireSecurity>,
    #[prost(message, repeated, tag = "19")]
    #[serde(deserialize_with = "null_is_empty")]
    env_from: Vec<secrets::WireEnvFrom>,
    #[prost(string, tag = "24")]
    restart_policy: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    // These texts are also for people, and their bytes are not validated.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    phase: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(deserialize_with = "from_text")]
    reason: Vec<u8>,
    #[prost(string, tag = "6")]
    #[serde(rename = "podIP")]
    pod_ip: String,
    #[prost(message, optional, tag = "7")]
    start_time: Option<wire::Time>,
    #[prost(message, repeated, tag = "8")]
    #[serde(deserialize_with = "null_is_empty")]
    container_statuses: Vec<WireContainerStatus>,
    #[prost(string, tag = "9")]
    qos_class: String,
    #[prost(message, repeated, tag = "10")]
    #[serde(deserialize_with = "null_is_empty")]
    init_container_statuses: Vec<WireContainerStatus>,
    #[prost(message, repeated, tag = "12")]
    #[serde(rename = "podIPs", deserialize_with = "null_is_empty")]
    pod_ips: Vec<network::WireIp>,
    #[prost(message, repeated, tag = "13")]
    #[serde(deserialize_with = "null_is_empty")]
    ephemeral_container_statuses: Vec<WireContainerStatus>,
    #[prost(message, repeated, tag = "15")]
    #[serde(deserialize_with = "null_is_empty")]
    resource_claim_statuses: Vec<resource_claims::WireStatus>,
    #[prost(int64, tag = "17")]
    observed_generation: i64,
    #[prost(message, optional, tag = "18")]
    extended_resource_claim_status: Option<quota::WireExtendedClaim>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireCondition {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    r#type: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    status: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    last_transition_time: Option<wire::Time>,
    #[prost(bytes = "vec", tag = "5")]
    #[serde(deserialize_with = "from_text")]
    reason: Vec<u8>,
    #[prost(int64, tag = "7")]
    observed_generation: i64,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireContainerStatus {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, required, tag = "2")]
    state: WireState,
    #[prost(int32, tag = "5")]
    restart_count: i32,
    #[prost(btree_map = "string, message", tag = "10")]
    #[serde(deserialize_with = "null_is_empty")]
    allocated_resources: BTreeMap<String, wire::WireQuantity>,
    #[prost(message, optional, tag = "11")]
    resources: Option<wire::ResourceRequirements>,
}

/// `v1.ContainerState`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireState {
    #[prost(message, optional, tag = "1")]
    waiting: Option<WireAnything>,
    #[prost(message, optional, tag = "3")]
    terminated: Option<job::WireTerminated>,
}

/// That it is there is all that is read of it.
#[derive(Clone, PartialEq, Message, Deserialize)]
struct WireAnything {}

impl WirePod {
    fn view(&self) -> Result<Pod, DecodeError> {
        Ok(self.view_with(self.metadata.meta()?))
    }

    fn view_with(&self, meta: Meta) -> Pod {
        let (spec, status) = (&self.spec, &self.status);
        let restarts = &status.container_statuses;
        let has_no_grace = self.metadata.deletion_grace_period_seconds == Some(0);
        let claims = claims::of(spec, &meta.key.name);
        Pod {
            shut_down: meta.is_terminating() && has_no_grace,
            nothing_runs: status.nothing_runs(),
            ephemeral_volumes: ephemeral::of(spec),
            network: network::of(spec, status),
            job: job::part(self, &meta),
            quota: quota::of(self, &meta, &claims),
            claims,
            meta,
            node_name: (!spec.node_name.is_empty()).then(|| intern(&spec.node_name)),
            target_node: self.target_node().map(intern),
            tolerations: tolerations::of(spec),
            phase: Phase::parse(&text(&status.phase)),
            evicted: status.reason == b"Evicted",
            ready: status.condition("Ready"),
            start_time: status.start_time.and_then(wire::Time::view),
            disruption_target: status.condition("DisruptionTarget"),
            ended_by_kubelet: status
                .find("DisruptionTarget")
                .is_some_and(|condition| condition.reason == b"TerminationByKubelet"),
            observed: Observed {
                status: status.observed_generation != 0,
                disruption_target: status
                    .find("DisruptionTarget")
                    .is_some_and(|condition| condition.observed_generation != 0),
            },
            deletion_cost: deletion_cost(&self.metadata),
            restarts_max: restarts.iter().map(|c| c.restart_count).max().unwrap_or(0),
            sidecar_restarts_max: self.sidecar_restarts_max(),
            secrets: secrets::names(spec),
            unreadable: false,
        }
    }

    fn group(&self) -> Option<Text> {
        let name = self.spec.scheduling_group.as_ref()?.pod_group_name.as_deref()?;
        Some(intern(&text(name)))
    }

    /// The node that a pod of a DaemonSet is for. As `GetTargetNodeName` in upstream's
    /// pkg/controller/daemon/util.
    fn target_node(&self) -> Option<&str> {
        let required = self.spec.affinity.as_ref()?.node_affinity.as_ref()?;
        let terms = required.required_during_scheduling_ignored_during_execution.as_ref()?;
        let mut fields = terms.node_selector_terms.iter().flat_map(|term| &term.match_fields);
        let name = fields.find(|field| field.key == "metadata.name" && field.operator == "In")?;
        match name.values.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }

    /// As `maxContainerRestarts` in upstream's pkg/controller/controller_utils.go.
    fn sidecar_restarts_max(&self) -> i32 {
        let statuses = self.status.init_container_statuses.iter();
        statuses.filter(|c| self.is_sidecar(&c.name)).map(|c| c.restart_count).max().unwrap_or(0)
    }

    /// Whether this init container restarts, and so runs beside the others.
    fn is_sidecar(&self, name: &str) -> bool {
        let mut containers = self.spec.init_containers.iter();
        containers.any(|c| c.name == name && c.restart_policy == "Always")
    }
}

impl WireStatus {
    /// A condition's status and since when.
    fn condition(&self, name: &str) -> Option<(Status, Option<Time>)> {
        let found = self.find(name)?;
        let since = found.last_transition_time.and_then(wire::Time::view);
        Some((Status::parse(&text(&found.status)), since))
    }

    /// As `notRunning` in upstream's pkg/volume/util, of all three lists.
    fn nothing_runs(&self) -> bool {
        let lists = [
            &self.init_container_statuses,
            &self.container_statuses,
            &self.ephemeral_container_statuses,
        ];
        let mut states = lists.into_iter().flatten().map(|container| &container.state);
        states.all(|state| state.waiting.is_some() || state.terminated.is_some())
    }

    fn find(&self, name: &str) -> Option<&WireCondition> {
        self.conditions.iter().find(|condition| condition.r#type == name.as_bytes())
    }
}

impl Phase {
    fn parse(word: &str) -> Self {
        match word {
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed,
            "Unknown" => Self::Unknown,
            _ => Self::Pending,
        }
    }
}

/// As `GetDeletionCostFromPodAnnotations` in upstream's pkg/apis/core/helper.
fn deletion_cost(metadata: &wire::ObjectMeta) -> i32 {
    let Some(text) = metadata.annotation("controller.kubernetes.io/pod-deletion-cost") else {
        return 0;
    };
    let well_formed = text == "0" || text.starts_with(|first| matches!(first, '-' | '1'..='9'));
    if well_formed { text.parse().unwrap_or(0) } else { 0 }
}

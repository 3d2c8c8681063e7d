//! Job: a view beside the whole object.

use serde::{Deserialize, Serialize};

use crate::selector::WireSelector;
use crate::wire::{self, null_is_empty};
use crate::{
    Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Selector, SelectorError, Status,
    Text, Time, intern,
};

/// What controllers read of a Job, and the whole of it.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name, uid and so on; no labels, which no controller reads.
    pub meta: Meta,
    /// `spec`.
    pub spec: JobSpec,
    /// Which pods may belong to it.
    pub selector: Result<Selector, SelectorError>,
    /// The status as it was last written.
    pub status: JobStatus,
    /// How it has finished: the first condition of that type, as upstream's `FinishedCondition`;
    /// none: it has not.
    pub finish: Option<Finish>,
    /// The whole object. The pod template is read from it when a pod is made.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// `spec` of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// How many pods may be active at once; 1 if absent, which the API server's defaults rule out.
    pub parallelism: i32,
    /// How many pods, or which indexes, are to succeed; none: any one.
    pub completions: Option<i32>,
    /// Whether each pod has an index.
    pub completion_mode: CompletionMode,
    /// How many failures are one too few to fail; 6 if absent, as the API server's default.
    pub backoff_limit: i32,
    /// The same for each index on its own.
    pub backoff_limit_per_index: Option<i32>,
    /// How many failed indexes are one too few to fail.
    pub max_failed_indexes: Option<i32>,
    /// How long it may be active.
    pub active_deadline_seconds: Option<i64>,
    /// Whether it has no pods for now.
    pub suspend: bool,
    /// Whether `podReplacementPolicy` is `Failed`: a pod that is being deleted is replaced once it
    /// has ended.
    pub replaces_failed_only: bool,
    /// Which controller is responsible for it; none: upstream's.
    pub managed_by: Option<Text>,
    /// What failures of pods come to.
    pub pod_failure_policy: Option<PodFailurePolicy>,
    /// When it has succeeded although not all indexes have.
    pub success_policy: Option<SuccessPolicy>,
    /// Whether containers that fail start again in their pod.
    pub restarts_on_failure: bool,
    /// How long it stays once it has finished; none: for good.
    pub ttl_seconds_after_finished: Option<i32>,
}

/// `spec.completionMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum CompletionMode {
    /// Pods are alike. Also what is meant where nothing is said.
    #[default]
    NonIndexed,
    /// Each pod has an index.
    Indexed,
    /// A word that this program does not know.
    #[serde(other)]
    Unknown,
}

/// `spec.podFailurePolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodFailurePolicy {
    /// The first one that matches decides.
    #[serde(deserialize_with = "null_is_empty")]
    pub rules: Vec<PodFailureRule>,
}

/// A rule of a `podFailurePolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodFailureRule {
    /// What a failure that matches comes to.
    pub action: PodFailureAction,
    /// Exit codes that match.
    pub on_exit_codes: Option<OnExitCodes>,
    /// Conditions that match, where no exit codes are asked for.
    #[serde(deserialize_with = "null_is_empty")]
    pub on_pod_conditions: Vec<OnPodCondition>,
}

/// `action` of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum PodFailureAction {
    /// The Job fails.
    FailJob,
    /// The index of the pod fails.
    FailIndex,
    /// The failure does not count.
    Ignore,
    /// The failure counts as if there were no rule.
    Count,
    /// A word that this program does not know; such a rule does not match.
    #[default]
    #[serde(other)]
    Unknown,
}

/// `onExitCodes` of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OnExitCodes {
    /// The container; none: any.
    pub container_name: Option<String>,
    /// How the values are meant.
    pub operator: ExitCodeOperator,
    /// Exit codes.
    #[serde(deserialize_with = "null_is_empty")]
    pub values: Vec<i32>,
}

/// `operator` of `onExitCodes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum ExitCodeOperator {
    /// One of them.
    In,
    /// None of them.
    NotIn,
    /// A word that this program does not know; nothing matches.
    #[default]
    #[serde(other)]
    Unknown,
}

/// An entry of `onPodConditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OnPodCondition {
    /// The condition.
    pub r#type: String,
    /// What it must say.
    pub status: Status,
}

/// `spec.successPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SuccessPolicy {
    /// One rule that holds is enough.
    #[serde(deserialize_with = "null_is_empty")]
    pub rules: Vec<SuccessRule>,
}

/// A rule of a `successPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SuccessRule {
    /// Which indexes must have succeeded, such as `1,3-5`; none: any.
    pub succeeded_indexes: Option<String>,
    /// How many of them; none: all.
    pub succeeded_count: Option<i32>,
}

/// `status` of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobStatus {
    /// Pods that have not ended and are not being deleted.
    pub active: i32,
    /// Those of them that are ready; none if never counted.
    pub ready: Option<i32>,
    /// Pods that are being deleted and have not ended; none if never counted.
    pub terminating: Option<i32>,
    /// Pods that succeeded and have no finalizer any more.
    pub succeeded: i32,
    /// Pods that failed and have no finalizer any more.
    pub failed: i32,
    /// Indexes that have succeeded, such as `1,3-5`.
    pub completed_indexes: String,
    /// Indexes that have failed; none if these are not counted.
    pub failed_indexes: Option<String>,
    /// Pods that ended, and may still have a finalizer.
    pub uncounted_terminated_pods: Option<UncountedPods>,
    /// The conditions.
    #[serde(deserialize_with = "null_is_empty")]
    pub conditions: Vec<JobCondition>,
    /// Since when it is active.
    #[serde(deserialize_with = "wire::moment")]
    pub start_time: Option<Time>,
    /// When it succeeded.
    #[serde(deserialize_with = "wire::moment")]
    pub completion_time: Option<Time>,
}

/// `status.uncountedTerminatedPods`: uids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UncountedPods {
    /// Of pods that succeeded.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub succeeded: Vec<String>,
    /// Of pods that failed.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// A condition of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobCondition {
    /// What is said of the Job.
    #[serde(deserialize_with = "wire::lossy_text")]
    pub r#type: String,
    /// Whether it holds.
    pub status: Status,
    /// When it was last looked at.
    #[serde(deserialize_with = "wire::moment", skip_serializing_if = "Option::is_none")]
    pub last_probe_time: Option<Time>,
    /// Since when.
    #[serde(deserialize_with = "wire::moment", skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// One word for programs.
    #[serde(deserialize_with = "wire::lossy_text", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(deserialize_with = "wire::lossy_text", skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A condition of a Job for its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// `Complete` or `Failed`.
    pub r#type: &'static str,
    /// Since when; none: the condition does not say.
    pub since: Option<Time>,
}

impl Job {
    /// Jobs by the uid of the CronJob that manages them.
    pub const BY_CONTROLLER: &'static str = "controllerUID";
    /// Jobs by namespace: those that may select a pod.
    pub const BY_NAMESPACE: &'static str = "namespace";
    /// The finalizer that keeps a pod until its Job has counted it.
    pub const TRACKING_FINALIZER: &'static str = "batch.kubernetes.io/job-tracking";
    /// What `managedBy` says of the Jobs of this controller.
    pub const MANAGER: &'static str = "kubernetes.io/job-controller";
    /// The annotation and the label with the index of a pod.
    pub const COMPLETION_INDEX: &'static str = "batch.kubernetes.io/job-completion-index";
    /// The annotation that says how often its index has failed before.
    pub const INDEX_FAILURES: &'static str = "batch.kubernetes.io/job-index-failure-count";
    /// The annotation that says how often its index has failed without that it counts.
    pub const INDEX_IGNORED_FAILURES: &'static str =
        "batch.kubernetes.io/job-index-ignored-failure-count";

    /// The controller that is responsible for it, if that is another one than ours.
    pub fn external_manager(&self) -> Option<&Text> {
        self.spec.managed_by.as_ref().filter(|manager| &***manager != Self::MANAGER)
    }

    /// Whether its pods have indexes.
    pub fn is_indexed(&self) -> bool {
        self.spec.completion_mode == CompletionMode::Indexed
    }
}

impl Kind for Job {
    const RESOURCE: Resource = Resource::namespaced("batch", "v1", "jobs", "Job");
}

impl Object for Job {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] =
        &[Index::by_controller(Self::BY_CONTROLLER), Index::by_namespace(Self::BY_NAMESPACE)];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireJob>(codec, bytes)?;
        let WireJob { metadata, spec, status } = wire;
        Ok(Self {
            meta: metadata.without_labels()?,
            selector: spec
                .selector
                .clone()
                .map_or_else(|| Ok(Selector::default()), WireSelector::parse),
            spec: spec.view(),
            finish: status.conditions.iter().find_map(JobCondition::finish),
            status,
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            spec: WireSpec::default().view(),
            selector: Ok(Selector::default()),
            status: JobStatus::default(),
            finish: None,
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === impl JobCondition ===

impl JobCondition {
    /// None: it does not say that the Job has finished.
    fn finish(&self) -> Option<Finish> {
        let r#type = match self.r#type.as_str() {
            "Complete" => "Complete",
            "Failed" => "Failed",
            _ => return None,
        };
        let since = self.last_transition_time;
        (self.status == Status::True).then_some(Finish { r#type, since })
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireJob {
    metadata: wire::ObjectMeta,
    #[serde(default, deserialize_with = "null_is_empty")]
    spec: WireSpec,
    #[serde(default, deserialize_with = "null_is_empty")]
    status: JobStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    parallelism: Option<i32>,
    completions: Option<i32>,
    completion_mode: Option<CompletionMode>,
    backoff_limit: Option<i32>,
    backoff_limit_per_index: Option<i32>,
    max_failed_indexes: Option<i32>,
    active_deadline_seconds: Option<i64>,
    suspend: Option<bool>,
    pod_replacement_policy: Option<String>,
    managed_by: Option<String>,
    pod_failure_policy: Option<PodFailurePolicy>,
    success_policy: Option<SuccessPolicy>,
    ttl_seconds_after_finished: Option<i32>,
    selector: Option<WireSelector>,
    #[serde(deserialize_with = "null_is_empty")]
    template: WireTemplate,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireTemplate {
    #[serde(deserialize_with = "null_is_empty")]
    spec: WirePodSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WirePodSpec {
    restart_policy: Option<String>,
}

impl WireSpec {
    fn view(self) -> JobSpec {
        JobSpec {
            parallelism: self.parallelism.unwrap_or(1),
            completions: self.completions,
            completion_mode: self.completion_mode.unwrap_or_default(),
            backoff_limit: self.backoff_limit.unwrap_or(6),
            backoff_limit_per_index: self.backoff_limit_per_index,
            max_failed_indexes: self.max_failed_indexes,
            active_deadline_seconds: self.active_deadline_seconds,
            suspend: self.suspend.unwrap_or_default(),
            replaces_failed_only: self.pod_replacement_policy.as_deref() == Some("Failed"),
            managed_by: self.managed_by.as_deref().map(intern),
            pod_failure_policy: self.pod_failure_policy,
            success_policy: self.success_policy,
            restarts_on_failure: self.template.spec.restart_policy.as_deref() == Some("OnFailure"),
            ttl_seconds_after_finished: self.ttl_seconds_after_finished,
        }
    }
}

//! The feature gates that this program reads.
//!
//! **Invariant:** a gate counts as effective exactly if it has a constant below. Code can read a
//! gate only by its constant, and the compiler refuses unused constants.

#![deny(dead_code)]

/// A gate that some code reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature(&'static str);

impl Feature {
    /// Upstream's name.
    pub(crate) const fn name(self) -> &'static str {
        self.0
    }
}

/// Pages are available as CBOR.
pub(crate) const CBOR_SERVING_AND_STORAGE: Feature = Feature("CBORServingAndStorage");
/// `/flagz` is served.
pub(crate) const COMPONENT_FLAGZ: Feature = Feature("ComponentFlagz");
/// `/statusz` is served.
pub(crate) const COMPONENT_STATUSZ: Feature = Feature("ComponentStatusz");
/// The lease is released at the end.
pub(crate) const RELEASE_LEASE: Feature =
    Feature("ControllerManagerReleaseLeaderElectionLockOnExit");
/// The API server names the leader.
pub(crate) const COORDINATED_ELECTION: Feature = Feature("CoordinatedLeaderElection");
/// Devices may be requested as extended resources.
pub(crate) const DRA_EXTENDED_RESOURCE: Feature = Feature("DRAExtendedResource");
/// Claims of devices may list alternatives.
pub(crate) const DRA_PRIORITIZED_LIST: Feature = Feature("DRAPrioritizedList");
/// ReplicaSets and Deployments report how many of their pods are being deleted.
pub(crate) const TERMINATING_REPLICAS: Feature = Feature("DeploymentReplicaSetTerminatingReplicas");
/// Autoscalers may have tolerances of their own.
pub(crate) const HPA_CONFIGURABLE_TOLERANCE: Feature = Feature("HPAConfigurableTolerance");
/// Autoscalers may scale to nothing, and back.
pub(crate) const HPA_SCALE_TO_ZERO: Feature = Feature("HPAScaleToZero");
/// Split streams and buffers of logs are allowed.
pub(crate) const LOGGING_ALPHA_OPTIONS: Feature = Feature("LoggingAlphaOptions");
/// JSON logs are allowed.
pub(crate) const LOGGING_BETA_OPTIONS: Feature = Feature("LoggingBetaOptions");
/// `maxUnavailable` of StatefulSets says how many pods are updated at once.
pub(crate) const MAX_UNAVAILABLE_STATEFULSET: Feature = Feature("MaxUnavailableStatefulSet");
/// A suspended Job has no start time.
pub(crate) const MUTABLE_SCHEDULING_OF_JOBS: Feature =
    Feature("MutableSchedulingDirectivesForSuspendedJobs");
/// Pods of a namespace are deleted first.
pub(crate) const ORDERED_NAMESPACE_DELETION: Feature = Feature("OrderedNamespaceDeletion");
/// Volume claims report since when no pod refers to them.
pub(crate) const CLAIM_UNUSED_SINCE_TIME: Feature = Feature("PersistentVolumeClaimUnusedSinceTime");
/// The pod with the lower cost is deleted first.
pub(crate) const POD_DELETION_COST: Feature = Feature("PodDeletionCost");
/// What a pod asks for as a whole counts.
pub(crate) const POD_LEVEL_RESOURCES: Feature = Feature("PodLevelResources");
/// Statuses of pods report their observed generation.
pub(crate) const POD_OBSERVED_GENERATION: Feature = Feature("PodObservedGenerationTracking");
/// Front proxies may send the uid of a user.
pub(crate) const REQUEST_HEADER_UID: Feature = Feature("RemoteRequestHeaderUID");
/// A revision of a StatefulSet is also found if it lacks but defaults.
pub(crate) const SEMANTIC_REVISION_COMPARISON: Feature =
    Feature("StatefulSetSemanticRevisionComparison");
/// Objects are stored anew on demand.
pub(crate) const STORAGE_VERSION_MIGRATOR: Feature = Feature("StorageVersionMigrator");
/// Tolerations may compare numbers.
pub(crate) const TOLERATION_COMPARISON: Feature = Feature("TaintTolerationComparisonOperators");
/// Lists come as streams.
pub(crate) const WATCH_LIST_CLIENT: Feature = Feature("WatchListClient");

/// All their names. The list does not use the constants: a constant that only this list uses would
/// count as read.
pub(super) const NAMES: &[&str] = &[
    "CBORServingAndStorage",
    "ComponentFlagz",
    "ComponentStatusz",
    "ControllerManagerReleaseLeaderElectionLockOnExit",
    "CoordinatedLeaderElection",
    "DRAExtendedResource",
    "DRAPrioritizedList",
    "DeploymentReplicaSetTerminatingReplicas",
    "HPAConfigurableTolerance",
    "HPAScaleToZero",
    "LoggingAlphaOptions",
    "LoggingBetaOptions",
    "MaxUnavailableStatefulSet",
    "MutableSchedulingDirectivesForSuspendedJobs",
    "OrderedNamespaceDeletion",
    "PersistentVolumeClaimUnusedSinceTime",
    "PodDeletionCost",
    "PodLevelResources",
    "PodObservedGenerationTracking",
    "RemoteRequestHeaderUID",
    "StatefulSetSemanticRevisionComparison",
    "StorageVersionMigrator",
    "TaintTolerationComparisonOperators",
    "WatchListClient",
];

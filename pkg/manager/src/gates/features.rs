//! The gates that this program asks.
//!
//! **Invariant:** a gate counts as one that works here exactly if it has a constant below. There is
//! no other way to ask than by a constant, and the compiler refuses one that nobody uses.

#![deny(dead_code)]

/// A gate that some code asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature(&'static str);

impl Feature {
    /// As upstream calls it.
    pub(crate) const fn name(self) -> &'static str {
        self.0
    }
}

/// Pages may be had as CBOR.
pub(crate) const CBOR_SERVING_AND_STORAGE: Feature = Feature("CBORServingAndStorage");
/// `/flagz` is served.
pub(crate) const COMPONENT_FLAGZ: Feature = Feature("ComponentFlagz");
/// `/statusz` is served.
pub(crate) const COMPONENT_STATUSZ: Feature = Feature("ComponentStatusz");
/// The lease is given back at the end.
pub(crate) const RELEASE_LEASE: Feature =
    Feature("ControllerManagerReleaseLeaderElectionLockOnExit");
/// ReplicaSets and Deployments tell how many of their pods are being deleted.
pub(crate) const TERMINATING_REPLICAS: Feature = Feature("DeploymentReplicaSetTerminatingReplicas");
/// Split streams and buffers of logs may be asked for.
pub(crate) const LOGGING_ALPHA_OPTIONS: Feature = Feature("LoggingAlphaOptions");
/// JSON logs may be asked for.
pub(crate) const LOGGING_BETA_OPTIONS: Feature = Feature("LoggingBetaOptions");
/// Namespaces are emptied of pods first.
pub(crate) const ORDERED_NAMESPACE_DELETION: Feature = Feature("OrderedNamespaceDeletion");
/// Volume claims say since when no pod refers to them.
pub(crate) const CLAIM_UNUSED_SINCE_TIME: Feature = Feature("PersistentVolumeClaimUnusedSinceTime");
/// The cheaper pod goes first.
pub(crate) const POD_DELETION_COST: Feature = Feature("PodDeletionCost");
/// Statuses of pods tell of which generation they are.
pub(crate) const POD_OBSERVED_GENERATION: Feature = Feature("PodObservedGenerationTracking");
/// Front proxies may tell the uid of a user.
pub(crate) const REQUEST_HEADER_UID: Feature = Feature("RemoteRequestHeaderUID");
/// Tolerations may compare numbers.
pub(crate) const TOLERATION_COMPARISON: Feature = Feature("TaintTolerationComparisonOperators");
/// Lists come as streams.
pub(crate) const WATCH_LIST_CLIENT: Feature = Feature("WatchListClient");

/// The names of all of them. A list of its own, which uses none of the constants: what is used here
/// alone is not asked.
pub(super) const NAMES: &[&str] = &[
    "CBORServingAndStorage",
    "ComponentFlagz",
    "ComponentStatusz",
    "ControllerManagerReleaseLeaderElectionLockOnExit",
    "DeploymentReplicaSetTerminatingReplicas",
    "LoggingAlphaOptions",
    "LoggingBetaOptions",
    "OrderedNamespaceDeletion",
    "PersistentVolumeClaimUnusedSinceTime",
    "PodDeletionCost",
    "PodObservedGenerationTracking",
    "RemoteRequestHeaderUID",
    "TaintTolerationComparisonOperators",
    "WatchListClient",
];

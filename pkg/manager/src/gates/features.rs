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

/// Makes the constants, and beside them their names, which must not use them.
macro_rules! features {
    ($($(#[$doc:meta])* $constant:ident = $name:literal,)*) => {
        $($(#[$doc])* pub(crate) const $constant: Feature = Feature($name);)*

        /// The names of all gates that are asked.
        pub(super) const NAMES: &[&str] = &[$($name),*];
    };
}

features! {
    /// `/flagz` is served.
    COMPONENT_FLAGZ = "ComponentFlagz",
    /// `/statusz` is served.
    COMPONENT_STATUSZ = "ComponentStatusz",
    /// The lease is given back at the end.
    RELEASE_LEASE = "ControllerManagerReleaseLeaderElectionLockOnExit",
    /// ReplicaSets and Deployments tell how many of their pods are being deleted.
    TERMINATING_REPLICAS = "DeploymentReplicaSetTerminatingReplicas",
    /// Split streams and buffers of logs may be asked for.
    LOGGING_ALPHA_OPTIONS = "LoggingAlphaOptions",
    /// JSON logs may be asked for.
    LOGGING_BETA_OPTIONS = "LoggingBetaOptions",
    /// Namespaces are emptied of pods first.
    ORDERED_NAMESPACE_DELETION = "OrderedNamespaceDeletion",
    /// The cheaper pod goes first.
    POD_DELETION_COST = "PodDeletionCost",
    /// Statuses of pods tell of which generation they are.
    POD_OBSERVED_GENERATION = "PodObservedGenerationTracking",
    /// Front proxies may tell the uid of a user.
    REQUEST_HEADER_UID = "RemoteRequestHeaderUID",
    /// Tolerations may compare numbers.
    TOLERATION_COMPARISON = "TaintTolerationComparisonOperators",
    /// Lists come as streams.
    WATCH_LIST_CLIENT = "WatchListClient",
}

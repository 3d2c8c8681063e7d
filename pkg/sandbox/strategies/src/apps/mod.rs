//! The group apps: Deployment, ReplicaSet, DaemonSet, StatefulSet, ControllerRevision.

mod controllerrevision;
mod daemonset;
mod deployment;
pub(crate) mod replicaset;
mod statefulset;

#[cfg(test)]
mod tests;

pub use controllerrevision::ControllerRevision;
pub use daemonset::DaemonSet;
pub use deployment::Deployment;
pub use replicaset::ReplicaSet;
pub use statefulset::StatefulSet;

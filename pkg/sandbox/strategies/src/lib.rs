//! What the API server does with the objects of each built-in kind: what it fills in, what it
//! refuses, what an update cannot change, and which columns it prints.
//!
//! One table ([`builtin`]) has a row per resource of Kubernetes 1.36.3. This crate is pure.

mod admissionregistration;
mod amounts;
mod apiextensions;
mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
mod builtin;
mod certificates;
mod coordination;
mod core;
mod discovery;
#[cfg(test)]
mod fixture;
mod formats;
mod generation;
mod invalid;
mod metadata;
mod networking;
mod plain;
pub mod pod;
mod policy;
mod rbac;
mod replicationcontroller;
mod resource;
pub mod scale;
mod scheduling;
pub mod selector;
mod semantic;
mod storage;
mod strategy;
mod table;
mod value;
mod webhooks;
mod workload;

#[cfg(test)]
mod tests;

pub use crate::core::{
    ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, PodTemplate, ResourceQuota, Secret, Service, ServiceAccount,
};
pub use admissionregistration::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
pub use apiextensions::CustomResourceDefinition;
pub use apimachinery::Quantity;
pub use apiregistration::APIService;
pub use apps::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
pub use autoscaling::HorizontalPodAutoscaler;
pub use batch::{CronJob, Job};
pub use builtin::{Builtin, Subresource, builtin};
pub use certificates::CertificateSigningRequest;
pub use coordination::Lease;
pub use discovery::EndpointSlice;
pub use invalid::{Fault, Invalid, Path};
pub use metadata::{NameRule, validate_metadata, validate_metadata_update};
pub use networking::{IPAddress, ServiceCIDR};
pub use plain::Plain;
pub use pod::Pod;
pub use policy::PodDisruptionBudget;
pub use rbac::{Binding, ClusterRole, Role};
pub use replicationcontroller::ReplicationController;
pub use resource::{DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice};
pub use scheduling::PriorityClass;
pub use storage::{CSIDriver, CSINode, StorageClass, VolumeAttachment, VolumeAttributesClass};
pub use strategy::{Cell, Column, Environment, Strategy};

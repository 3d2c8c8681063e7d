//! What controllers know of the Kubernetes API: views of its kinds, and the words around them.
//!
//! A *view* is a read-only struct with just the fields that some controller reads, decoded straight
//! from the wire; unknown fields are skipped and never stored. Kinds that we write back whole also
//! keep their [`Raw`] JSON. This crate is pure: no clock, no I/O, no randomness.
#![deny(clippy::wildcard_enum_match_arm)]

mod address;
mod admission_policy;
mod attachable;
mod attributes_class;
mod autoscaler;
mod balanced_service;
mod bootstrap_token;
mod budget;
mod certificate;
mod certificate_profile;
mod certificate_request;
mod claim;
mod cluster_info;
mod clusterrole;
mod condition;
pub mod cron;
mod cronjob;
mod csi_driver;
mod csr;
mod daemonset;
mod deployment;
mod endpoints;
mod endpointslice;
mod fault;
pub mod go;
mod intern;
mod job;
mod kind;
mod lease;
mod machine;
mod meta;
mod metadata;
mod names;
mod namespace;
mod node;
mod pod;
mod pod_certificate_request;
mod pod_group;
mod pool_request;
mod prefix;
mod raw;
mod reference;
mod replicaset;
mod resource;
mod resource_claim;
mod resource_list;
mod resource_quota;
mod resource_slice;
mod revision;
mod rollout;
mod root_ca;
mod scheduling;
mod selector;
mod served;
mod service;
mod service_cidr;
mod serviceaccount;
mod statefulset;
mod storage_class;
mod storage_migration;
mod storage_version;
mod time;
mod token_secret;
mod trust_bundle;
mod volume;
mod volume_attachment;
pub mod wire;

#[cfg(test)]
mod tests;

pub use address::{Family, parse_ip};
pub use admission_policy::{
    NamedResources, PolicyExpressions, ValidatingAdmissionPolicy, Validation,
};
pub use attachable::{AttachPlugin, InlineVolume};
pub use attributes_class::VolumeAttributesClass;
pub use autoscaler::{
    AutoscalerStatus, Behavior, CrossVersionReference, HorizontalPodAutoscaler, MetricName,
    MetricSource, MetricSpec, MetricTarget, ScalingPolicy, ScalingPolicyKind, ScalingRules,
    SelectPolicy,
};
pub use balanced_service::{BalancedService, BalancerPort, BalancerSpec, Ingress, IngressPort};
pub use bootstrap_token::{BootstrapToken, Expiration, TokenSecretValue};
pub use budget::{BudgetCondition, BudgetStatus, PodDisruptionBudget};
pub use certificate_request::{
    Alternatives, CertificateRequest, Proof, RequestError, Subject as CertificateSubject,
};
pub use claim::{ClaimBinding, PersistentVolumeClaim};
pub use cluster_info::ClusterInfo;
pub use clusterrole::{ClusterRole, PolicyRule};
pub use condition::{Condition, Status};
pub use cronjob::{ActiveJob, ConcurrencyPolicy, CronJob, CronJobStatus};
pub use csi_driver::CsiDriver;
pub use csr::{CertificateSigningRequest, Requestor};
pub use daemonset::{DaemonSet, DaemonSetStatus, DaemonSetStrategy};
pub use deployment::{Deployment, DeploymentStatus, DeploymentStrategy};
pub use endpoints::{EndpointAddress, EndpointPort, Endpoints, Subset};
pub use endpointslice::{Conditions, Endpoint, EndpointSlice, Hinted, Hints, SlicePort};
pub use intern::{Text, intern};
pub use job::{
    CompletionMode, ExitCodeOperator, Finish, Job, JobCondition, JobSpec, JobStatus, OnExitCodes,
    OnPodCondition, PodFailureAction, PodFailurePolicy, PodFailureRule, SuccessPolicy, SuccessRule,
    UncountedPods,
};
pub use kind::{
    AnyObject, Codec, Decode, DecodeError, Found, Index, Kind, Object, Shape, Values, typed,
};
pub use lease::Lease;
pub use machine::{Machine, NodeAddress};
pub use meta::{Key, Labels, Meta, OwnerRef};
pub use metadata::{Listed, Metadata};
pub use names::{is_label_key, is_label_value, is_subdomain};
pub use namespace::{Namespace, NamespacePhase};
pub use node::{Node, NodeCondition};
pub use pod::{
    ClaimName, ClaimSource, EphemeralVolume, FailedContainer, JobPart, MountSource, NamedPort,
    Names, Network, Observed, Phase, Pod, PodQuota, PodResourceClaim, PodResources, PodSeLinux,
    SeLinuxMount,
};
pub use pod_certificate_request::PodCertificateRequest;
pub use pod_group::PodGroup;
pub use pool_request::{Answered, ResourcePoolStatusRequest};
pub use prefix::Prefix;
pub use raw::{Edit, Raw};
pub use reference::ObjectReference;
pub use replicaset::{ReplicaSet, ReplicaSetStatus, ReplicationController};
pub use resource::{InvalidName, Resource};
pub use resource_claim::{
    AllocatedDevice, Consumer, DeviceClass, ResourceClaim, ResourceClaimTemplate,
};
pub use resource_list::ResourceList;
pub use resource_quota::{QuotaScope, ResourceQuota};
pub use resource_slice::{DeviceTaint, ResourceSlice, TaintedDevice};
pub use revision::ControllerRevision;
pub use rollout::{Amount, Rounding};
pub use root_ca::RootCa;
pub use scheduling::{Effect, Placement, Taint, Toleration};
pub use selector::{Requirement, Selector, SelectorError, SelectorText, check_requirement};
pub use served::{Served, ServedKind, Subresource, Verb};
pub use service::{Service, ServicePort, TargetPort};
pub use service_cidr::{IpAddress, ReadyCidr, ServiceCidr};
pub use serviceaccount::ServiceAccount;
pub use statefulset::{
    ClaimRetention, PodManagement, Retention, RollingStatefulSet, StatefulSet, StatefulSetStatus,
    StatefulSetStrategy, StatefulSetUpdate,
};
pub use storage_class::{BindingMode, StorageClass};
pub use storage_migration::StorageVersionMigration;
pub use storage_version::{ServerVersion, StorageVersion, SystemLease};
pub use time::Time;
pub use token_secret::TokenSecret;
pub use trust_bundle::ServingTrustBundle;
pub use volume::{AccessModes, InTreePlugin, PersistentVolume, VolumePhase, VolumeSource};
pub use volume_attachment::{VolumeAttachment, VolumeError};

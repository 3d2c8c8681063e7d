//! The kinds that are watched and written.

use api::{Key, Resource};

use crate::Target;

pub(crate) const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");
pub(crate) const NODES: Resource = Resource::cluster_scoped("", "v1", "nodes", "Node");
pub(crate) const EVENTS: Resource = Resource::namespaced("", "v1", "events", "Event");
pub(crate) const NAMESPACES: Resource =
    Resource::cluster_scoped("", "v1", "namespaces", "Namespace");
pub(crate) const CLAIMS: Resource =
    Resource::namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim");
pub(crate) const VOLUMES: Resource =
    Resource::cluster_scoped("", "v1", "persistentvolumes", "PersistentVolume");
pub(crate) const ATTACHMENTS: Resource =
    Resource::cluster_scoped("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment");
pub(crate) const CSRS: Resource = Resource::cluster_scoped(
    "certificates.k8s.io",
    "v1",
    "certificatesigningrequests",
    "CertificateSigningRequest",
);
pub(crate) const LEASES: Resource =
    Resource::namespaced("coordination.k8s.io", "v1", "leases", "Lease");

/// An object, or one of its subresources.
pub(crate) fn target(resource: &Resource, key: &Key, subresource: &'static str) -> Target {
    Target { resource: resource.clone(), key: key.clone(), subresource }
}

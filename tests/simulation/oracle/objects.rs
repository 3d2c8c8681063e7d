//! All objects that the oracle knows of, as the server has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::Resource;
use serde_json::Value;

use super::fields::{controller, text, uid};

/// The kinds that are looked at.
pub(super) static KINDS: &[Resource] = &[
    Resource::namespaced("", "v1", "pods", "Pod"),
    Resource::namespaced("apps", "v1", "replicasets", "ReplicaSet"),
    Resource::namespaced("", "v1", "replicationcontrollers", "ReplicationController"),
    Resource::namespaced("apps", "v1", "deployments", "Deployment"),
    Resource::namespaced("apps", "v1", "daemonsets", "DaemonSet"),
    Resource::namespaced("apps", "v1", "statefulsets", "StatefulSet"),
    Resource::namespaced("apps", "v1", "controllerrevisions", "ControllerRevision"),
    Resource::namespaced("batch", "v1", "jobs", "Job"),
    Resource::namespaced("batch", "v1", "cronjobs", "CronJob"),
    Resource::namespaced("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    Resource::namespaced("", "v1", "configmaps", "ConfigMap"),
    Resource::namespaced("", "v1", "secrets", "Secret"),
    Resource::namespaced("", "v1", "serviceaccounts", "ServiceAccount"),
    Resource::namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Resource::namespaced("", "v1", "services", "Service"),
    Resource::namespaced("", "v1", "resourcequotas", "ResourceQuota"),
    Resource::namespaced("", "v1", "endpoints", "Endpoints"),
    Resource::namespaced("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    Resource::namespaced("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"),
    Resource::namespaced(
        "resource.k8s.io",
        "v1",
        "resourceclaimtemplates",
        "ResourceClaimTemplate",
    ),
    Resource::namespaced("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup"),
    Resource::namespaced("sim.example.com", "v1", "widgets", "Widget"),
    Resource::namespaced("rbac.authorization.k8s.io", "v1", "roles", "Role"),
    Resource::namespaced(
        "certificates.k8s.io",
        "v1beta1",
        "podcertificaterequests",
        "PodCertificateRequest",
    ),
    Resource::cluster_scoped("", "v1", "namespaces", "Namespace"),
    Resource::cluster_scoped("", "v1", "nodes", "Node"),
    Resource::cluster_scoped("resource.k8s.io", "v1", "resourceslices", "ResourceSlice"),
    Resource::cluster_scoped(
        "resource.k8s.io",
        "v1alpha3",
        "resourcepoolstatusrequests",
        "ResourcePoolStatusRequest",
    ),
    Resource::cluster_scoped("", "v1", "persistentvolumes", "PersistentVolume"),
    Resource::cluster_scoped("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR"),
    Resource::cluster_scoped(
        "certificates.k8s.io",
        "v1beta1",
        "clustertrustbundles",
        "ClusterTrustBundle",
    ),
    Resource::cluster_scoped(
        "internal.apiserver.k8s.io",
        "v1alpha1",
        "storageversions",
        "StorageVersion",
    ),
    Resource::namespaced("coordination.k8s.io", "v1", "leases", "Lease"),
    Resource::cluster_scoped("networking.k8s.io", "v1", "ipaddresses", "IPAddress"),
    Resource::namespaced(
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
    ),
    Resource::namespaced("metrics.k8s.io", "v1beta1", "pods", "PodMetrics"),
    Resource::cluster_scoped(
        "storagemigration.k8s.io",
        "v1beta1",
        "storageversionmigrations",
        "StorageVersionMigration",
    ),
    Resource::cluster_scoped(
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
    ),
    Resource::cluster_scoped(
        "storage.k8s.io",
        "v1",
        "volumeattributesclasses",
        "VolumeAttributesClass",
    ),
    Resource::cluster_scoped("storage.k8s.io", "v1", "storageclasses", "StorageClass"),
    Resource::cluster_scoped("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment"),
    Resource::cluster_scoped("storage.k8s.io", "v1", "csidrivers", "CSIDriver"),
    Resource::cluster_scoped("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole"),
    Resource::cluster_scoped(
        "certificates.k8s.io",
        "v1",
        "certificatesigningrequests",
        "CertificateSigningRequest",
    ),
    Resource::cluster_scoped(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
    ),
];

/// Kind, namespace and name.
pub(crate) type Key = (String, String, String);

/// Objects, found by several ways.
#[derive(Default)]
pub(super) struct Objects {
    all: BTreeMap<Key, Arc<Value>>,
    by_uid: BTreeMap<String, Key>,
    /// By the uid of what controls them.
    controlled: BTreeMap<String, BTreeSet<Key>>,
    /// At which revision each changed, and what it was before.
    past: Vec<(u64, Key, Option<Arc<Value>>)>,
}

/// Whether a kind that is looked at is of a group.
pub(super) fn is_of_group(kind: &str, group: &str) -> bool {
    KINDS.iter().any(|it| it.kind == kind && it.group == group)
}

/// The resources of a group that are looked at.
pub(super) fn plurals_of(group: &str) -> Vec<String> {
    let those = KINDS.iter().filter(|it| it.group == group);
    those.map(|it| it.plural.to_string()).collect()
}

pub(super) fn key_of(kind: &str, object: &Value) -> Key {
    let part = |path| text(object, path).to_owned();
    (kind.to_owned(), part("/metadata/namespace"), part("/metadata/name"))
}

/// The kind of a resource by its plural.
pub(super) fn kind_of(plural: &str) -> Option<&'static str> {
    Some(&KINDS.iter().find(|it| it.plural == plural)?.kind)
}

/// The resource of a kind.
pub(super) fn plural_of(kind: &str) -> String {
    KINDS.iter().find(|it| it.kind == kind).map_or_else(String::new, |it| it.plural.to_string())
}

impl Objects {
    /// Takes what an object has become, or that it is deleted; what it was before.
    pub(super) fn put(
        &mut self,
        key: &Key,
        object: Option<&Arc<Value>>,
        revision: u64,
    ) -> Option<Arc<Value>> {
        let before = match object {
            Some(object) => self.all.insert(key.clone(), object.clone()),
            None => self.all.remove(key),
        };
        if let Some(before) = &before {
            self.by_uid.remove(uid(before));
            if let Some(owned) = controller(before).and_then(|it| self.controlled.get_mut(it)) {
                owned.remove(key);
            }
        }
        if let Some(object) = object {
            self.by_uid.insert(uid(object).to_owned(), key.clone());
            if let Some(owner) = controller(object) {
                self.controlled.entry(owner.to_owned()).or_default().insert(key.clone());
            }
        }
        self.past.push((revision, key.clone(), before.clone()));
        before
    }

    /// What objects were before each change after a revision; the last change first.
    pub(super) fn before(&self, since: u64) -> impl Iterator<Item = (&Key, &Option<Arc<Value>>)> {
        let changes = self.past.iter().rev();
        changes.take_while(move |(at, ..)| *at > since).map(|(_, key, before)| (key, before))
    }

    /// What an object is, and what it was since a revision.
    pub(super) fn states(&self, key: &Key, since: u64) -> Vec<&Arc<Value>> {
        let past = self.before(since).filter(|(of, _)| *of == key);
        self.all
            .get(key)
            .into_iter()
            .chain(past.filter_map(|(_, before)| before.as_ref()))
            .collect()
    }

    pub(super) fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.all.get(&(kind.to_owned(), namespace.to_owned(), name.to_owned()))
    }

    pub(super) fn find(&self, uid: &str) -> Option<(&Key, &Arc<Value>)> {
        let key = self.by_uid.get(uid)?;
        Some((key, self.all.get(key)?))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.all.iter()
    }

    pub(super) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Arc<Value>> {
        let start = (kind.to_owned(), String::new(), String::new());
        let those = self.all.range(start..);
        those.take_while(move |(key, _)| key.0 == kind).map(|(_, object)| object)
    }

    /// Those that an object controls.
    pub(super) fn children<'a>(
        &'a self,
        kind: &'a str,
        uid: &str,
    ) -> impl Iterator<Item = &'a Arc<Value>> {
        let keys = self.controlled.get(uid).into_iter().flatten();
        keys.filter(move |key| key.0 == kind).filter_map(|key| self.all.get(key))
    }
}

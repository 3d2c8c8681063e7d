//! The table of resources, as discovery of Kubernetes 1.36.3 shows them. Written by hand; the tests
//! of `sandbox::surface` hold it against what a real API server said (`pkg/discovery/testdata`).

use api::Resource;

use crate::Strategy;

/// A resource that is always there.
pub struct Builtin {
    /// Empty for core.
    pub group: &'static str,
    /// Such as `v1`.
    pub version: &'static str,
    /// Such as `pods`.
    pub plural: &'static str,
    /// Such as `Pod`.
    pub kind: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Such as `pod`.
    pub singular: &'static str,
    /// Such as `po`.
    pub short_names: &'static [&'static str],
    /// Such as `all`.
    pub categories: &'static [&'static str],
    /// As discovery names them: `create`, `delete`, …
    pub verbs: &'static [&'static str],
    /// What is below an object: `status`, `scale`, …
    pub subresources: &'static [Subresource],
    /// What is done with its objects.
    pub strategy: &'static dyn Strategy,
}

/// A path below objects of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Such as `status`.
    pub name: &'static str,
    /// The group, version and kind of its documents: `("autoscaling", "v1", "Scale")`.
    pub kind: (&'static str, &'static str, &'static str),
    /// As discovery names them.
    pub verbs: &'static [&'static str],
}

/// The resources, sorted by group, version and plural.
pub fn builtin() -> &'static [Builtin] {
    BUILTIN
}

/// What most kinds can do.
const ALL: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// What is asked of a status.
const STATUS: &[&str] = &["get", "patch", "update"];
/// What there is no more of than a response.
const CREATE: &[&str] = &["create"];

impl Builtin {
    /// Its names and its place.
    pub fn resource(&self) -> Resource {
        let resource = Resource::namespaced(self.group, self.version, self.plural, self.kind);
        Resource { namespaced: self.namespaced, ..resource }
    }
}

type Place = (&'static str, &'static str, &'static str, &'static str);

/// A resource in namespaces, without subresources.
const fn namespaced(
    place: Place,
    singular: &'static str,
    strategy: &'static dyn Strategy,
) -> Builtin {
    Builtin {
        group: place.0,
        version: place.1,
        plural: place.2,
        kind: place.3,
        namespaced: true,
        singular,
        short_names: &[],
        categories: &[],
        verbs: ALL,
        subresources: &[],
        strategy,
    }
}

/// A resource outside namespaces, without subresources.
const fn cluster(place: Place, singular: &'static str, strategy: &'static dyn Strategy) -> Builtin {
    Builtin { namespaced: false, ..namespaced(place, singular, strategy) }
}

/// A subresource, the kind of its documents, and what can be done with them.
const fn below(
    name: &'static str,
    kind: (&'static str, &'static str, &'static str),
    verbs: &'static [&'static str],
) -> Subresource {
    Subresource { name, kind, verbs }
}

static BUILTIN: &[Builtin] = &[
    Builtin {
        verbs: CREATE,
        ..namespaced(("", "v1", "bindings", "Binding"), "binding", &crate::Plain)
    },
    Builtin {
        short_names: &["cs"],
        verbs: &["get", "list"],
        ..cluster(
            ("", "v1", "componentstatuses", "ComponentStatus"),
            "componentstatus",
            &crate::Plain,
        )
    },
    Builtin {
        short_names: &["cm"],
        ..namespaced(("", "v1", "configmaps", "ConfigMap"), "configmap", &crate::ConfigMap)
    },
    Builtin {
        short_names: &["ep"],
        ..namespaced(("", "v1", "endpoints", "Endpoints"), "endpoints", &crate::Endpoints)
    },
    Builtin {
        short_names: &["ev"],
        ..namespaced(("", "v1", "events", "Event"), "event", &crate::Event)
    },
    Builtin {
        short_names: &["limits"],
        ..namespaced(("", "v1", "limitranges", "LimitRange"), "limitrange", &crate::LimitRange)
    },
    Builtin {
        short_names: &["ns"],
        verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
        subresources: &[
            below("finalize", ("", "v1", "Namespace"), &["update"]),
            below("status", ("", "v1", "Namespace"), STATUS),
        ],
        ..cluster(("", "v1", "namespaces", "Namespace"), "namespace", &crate::Namespace)
    },
    Builtin {
        short_names: &["no"],
        subresources: &[
            below(
                "proxy",
                ("", "v1", "NodeProxyOptions"),
                &["create", "delete", "get", "patch", "update"],
            ),
            below("status", ("", "v1", "Node"), STATUS),
        ],
        ..cluster(("", "v1", "nodes", "Node"), "node", &crate::Node)
    },
    Builtin {
        short_names: &["pvc"],
        subresources: &[below("status", ("", "v1", "PersistentVolumeClaim"), STATUS)],
        ..namespaced(
            ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
            "persistentvolumeclaim",
            &crate::PersistentVolumeClaim,
        )
    },
    Builtin {
        short_names: &["pv"],
        subresources: &[below("status", ("", "v1", "PersistentVolume"), STATUS)],
        ..cluster(
            ("", "v1", "persistentvolumes", "PersistentVolume"),
            "persistentvolume",
            &crate::PersistentVolume,
        )
    },
    Builtin {
        short_names: &["po"],
        categories: &["all"],
        subresources: &[
            below("attach", ("", "v1", "PodAttachOptions"), &["create", "get"]),
            below("binding", ("", "v1", "Binding"), CREATE),
            below("ephemeralcontainers", ("", "v1", "Pod"), STATUS),
            below("eviction", ("policy", "v1", "Eviction"), CREATE),
            below("exec", ("", "v1", "PodExecOptions"), &["create", "get"]),
            below("log", ("", "v1", "Pod"), &["get"]),
            below("portforward", ("", "v1", "PodPortForwardOptions"), &["create", "get"]),
            below(
                "proxy",
                ("", "v1", "PodProxyOptions"),
                &["create", "delete", "get", "patch", "update"],
            ),
            below("resize", ("", "v1", "Pod"), STATUS),
            below("status", ("", "v1", "Pod"), STATUS),
        ],
        ..namespaced(("", "v1", "pods", "Pod"), "pod", &crate::Pod)
    },
    namespaced(("", "v1", "podtemplates", "PodTemplate"), "podtemplate", &crate::PodTemplate),
    Builtin {
        short_names: &["rc"],
        categories: &["all"],
        subresources: &[
            below("scale", ("autoscaling", "v1", "Scale"), STATUS),
            below("status", ("", "v1", "ReplicationController"), STATUS),
        ],
        ..namespaced(
            ("", "v1", "replicationcontrollers", "ReplicationController"),
            "replicationcontroller",
            &crate::ReplicationController,
        )
    },
    Builtin {
        short_names: &["quota"],
        subresources: &[below("status", ("", "v1", "ResourceQuota"), STATUS)],
        ..namespaced(
            ("", "v1", "resourcequotas", "ResourceQuota"),
            "resourcequota",
            &crate::ResourceQuota,
        )
    },
    namespaced(("", "v1", "secrets", "Secret"), "secret", &crate::Secret),
    Builtin {
        short_names: &["sa"],
        subresources: &[below("token", ("authentication.k8s.io", "v1", "TokenRequest"), CREATE)],
        ..namespaced(
            ("", "v1", "serviceaccounts", "ServiceAccount"),
            "serviceaccount",
            &crate::ServiceAccount,
        )
    },
    Builtin {
        short_names: &["svc"],
        categories: &["all"],
        subresources: &[
            below(
                "proxy",
                ("", "v1", "ServiceProxyOptions"),
                &["create", "delete", "get", "patch", "update"],
            ),
            below("status", ("", "v1", "Service"), STATUS),
        ],
        ..namespaced(("", "v1", "services", "Service"), "service", &crate::Service)
    },
    Builtin {
        categories: &["api-extensions"],
        ..cluster(
            (
                "admissionregistration.k8s.io",
                "v1",
                "mutatingadmissionpolicies",
                "MutatingAdmissionPolicy",
            ),
            "mutatingadmissionpolicy",
            &crate::Plain,
        )
    },
    Builtin {
        categories: &["api-extensions"],
        ..cluster(
            (
                "admissionregistration.k8s.io",
                "v1",
                "mutatingadmissionpolicybindings",
                "MutatingAdmissionPolicyBinding",
            ),
            "mutatingadmissionpolicybinding",
            &crate::Plain,
        )
    },
    Builtin {
        categories: &["api-extensions"],
        ..cluster(
            (
                "admissionregistration.k8s.io",
                "v1",
                "mutatingwebhookconfigurations",
                "MutatingWebhookConfiguration",
            ),
            "mutatingwebhookconfiguration",
            &crate::Plain,
        )
    },
    Builtin {
        categories: &["api-extensions"],
        subresources: &[below(
            "status",
            ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"),
            STATUS,
        )],
        ..cluster(
            (
                "admissionregistration.k8s.io",
                "v1",
                "validatingadmissionpolicies",
                "ValidatingAdmissionPolicy",
            ),
            "validatingadmissionpolicy",
            &crate::ValidatingAdmissionPolicy,
        )
    },
    Builtin {
        categories: &["api-extensions"],
        ..cluster(
            (
                "admissionregistration.k8s.io",
                "v1",
                "validatingadmissionpolicybindings",
                "ValidatingAdmissionPolicyBinding",
            ),
            "validatingadmissionpolicybinding",
            &crate::ValidatingAdmissionPolicyBinding,
        )
    },
    Builtin {
        categories: &["api-extensions"],
        ..cluster(
            (
                "admissionregistration.k8s.io",
                "v1",
                "validatingwebhookconfigurations",
                "ValidatingWebhookConfiguration",
            ),
            "validatingwebhookconfiguration",
            &crate::Plain,
        )
    },
    Builtin {
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        subresources: &[below(
            "status",
            ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            STATUS,
        )],
        ..cluster(
            ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"),
            "customresourcedefinition",
            &crate::CustomResourceDefinition,
        )
    },
    Builtin {
        categories: &["api-extensions"],
        subresources: &[below("status", ("apiregistration.k8s.io", "v1", "APIService"), STATUS)],
        ..cluster(
            ("apiregistration.k8s.io", "v1", "apiservices", "APIService"),
            "apiservice",
            &crate::APIService,
        )
    },
    namespaced(
        ("apps", "v1", "controllerrevisions", "ControllerRevision"),
        "controllerrevision",
        &crate::ControllerRevision,
    ),
    Builtin {
        short_names: &["ds"],
        categories: &["all"],
        subresources: &[below("status", ("apps", "v1", "DaemonSet"), STATUS)],
        ..namespaced(("apps", "v1", "daemonsets", "DaemonSet"), "daemonset", &crate::DaemonSet)
    },
    Builtin {
        short_names: &["deploy"],
        categories: &["all"],
        subresources: &[
            below("scale", ("autoscaling", "v1", "Scale"), STATUS),
            below("status", ("apps", "v1", "Deployment"), STATUS),
        ],
        ..namespaced(("apps", "v1", "deployments", "Deployment"), "deployment", &crate::Deployment)
    },
    Builtin {
        short_names: &["rs"],
        categories: &["all"],
        subresources: &[
            below("scale", ("autoscaling", "v1", "Scale"), STATUS),
            below("status", ("apps", "v1", "ReplicaSet"), STATUS),
        ],
        ..namespaced(("apps", "v1", "replicasets", "ReplicaSet"), "replicaset", &crate::ReplicaSet)
    },
    Builtin {
        short_names: &["sts"],
        categories: &["all"],
        subresources: &[
            below("scale", ("autoscaling", "v1", "Scale"), STATUS),
            below("status", ("apps", "v1", "StatefulSet"), STATUS),
        ],
        ..namespaced(
            ("apps", "v1", "statefulsets", "StatefulSet"),
            "statefulset",
            &crate::StatefulSet,
        )
    },
    Builtin {
        verbs: CREATE,
        ..cluster(
            ("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview"),
            "selfsubjectreview",
            &crate::Plain,
        )
    },
    Builtin {
        verbs: CREATE,
        ..cluster(
            ("authentication.k8s.io", "v1", "tokenreviews", "TokenReview"),
            "tokenreview",
            &crate::Plain,
        )
    },
    Builtin {
        verbs: CREATE,
        ..namespaced(
            ("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview"),
            "localsubjectaccessreview",
            &crate::Plain,
        )
    },
    Builtin {
        verbs: CREATE,
        ..cluster(
            ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
            "selfsubjectaccessreview",
            &crate::Plain,
        )
    },
    Builtin {
        verbs: CREATE,
        ..cluster(
            ("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
            "selfsubjectrulesreview",
            &crate::Plain,
        )
    },
    Builtin {
        verbs: CREATE,
        ..cluster(
            ("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"),
            "subjectaccessreview",
            &crate::Plain,
        )
    },
    Builtin {
        short_names: &["hpa"],
        categories: &["all"],
        subresources: &[below("status", ("autoscaling", "v2", "HorizontalPodAutoscaler"), STATUS)],
        ..namespaced(
            ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
            "horizontalpodautoscaler",
            &crate::HorizontalPodAutoscaler,
        )
    },
    Builtin {
        short_names: &["cj"],
        categories: &["all"],
        subresources: &[below("status", ("batch", "v1", "CronJob"), STATUS)],
        ..namespaced(("batch", "v1", "cronjobs", "CronJob"), "cronjob", &crate::CronJob)
    },
    Builtin {
        categories: &["all"],
        subresources: &[below("status", ("batch", "v1", "Job"), STATUS)],
        ..namespaced(("batch", "v1", "jobs", "Job"), "job", &crate::Job)
    },
    Builtin {
        short_names: &["csr"],
        subresources: &[
            below("approval", ("certificates.k8s.io", "v1", "CertificateSigningRequest"), STATUS),
            below("status", ("certificates.k8s.io", "v1", "CertificateSigningRequest"), STATUS),
        ],
        ..cluster(
            (
                "certificates.k8s.io",
                "v1",
                "certificatesigningrequests",
                "CertificateSigningRequest",
            ),
            "certificatesigningrequest",
            &crate::CertificateSigningRequest,
        )
    },
    namespaced(("coordination.k8s.io", "v1", "leases", "Lease"), "lease", &crate::Lease),
    namespaced(
        ("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
        "endpointslice",
        &crate::EndpointSlice,
    ),
    Builtin {
        subresources: &[below(
            "status",
            ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"),
            STATUS,
        )],
        ..cluster(
            ("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema"),
            "flowschema",
            &crate::Plain,
        )
    },
    Builtin {
        subresources: &[below(
            "status",
            ("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"),
            STATUS,
        )],
        ..cluster(
            (
                "flowcontrol.apiserver.k8s.io",
                "v1",
                "prioritylevelconfigurations",
                "PriorityLevelConfiguration",
            ),
            "prioritylevelconfiguration",
            &crate::Plain,
        )
    },
    cluster(
        ("networking.k8s.io", "v1", "ingressclasses", "IngressClass"),
        "ingressclass",
        &crate::Plain,
    ),
    Builtin {
        short_names: &["ing"],
        subresources: &[below("status", ("networking.k8s.io", "v1", "Ingress"), STATUS)],
        ..namespaced(("networking.k8s.io", "v1", "ingresses", "Ingress"), "ingress", &crate::Plain)
    },
    Builtin {
        short_names: &["ip"],
        ..cluster(
            ("networking.k8s.io", "v1", "ipaddresses", "IPAddress"),
            "ipaddress",
            &crate::IPAddress,
        )
    },
    Builtin {
        short_names: &["netpol"],
        ..namespaced(
            ("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
            "networkpolicy",
            &crate::Plain,
        )
    },
    Builtin {
        subresources: &[below("status", ("networking.k8s.io", "v1", "ServiceCIDR"), STATUS)],
        ..cluster(
            ("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR"),
            "servicecidr",
            &crate::ServiceCIDR,
        )
    },
    cluster(("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass"), "runtimeclass", &crate::Plain),
    Builtin {
        short_names: &["pdb"],
        subresources: &[below("status", ("policy", "v1", "PodDisruptionBudget"), STATUS)],
        ..namespaced(
            ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
            "poddisruptionbudget",
            &crate::PodDisruptionBudget,
        )
    },
    cluster(
        ("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding"),
        "clusterrolebinding",
        &crate::Binding::OF_CLUSTER_ROLE,
    ),
    cluster(
        ("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole"),
        "clusterrole",
        &crate::ClusterRole,
    ),
    namespaced(
        ("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
        "rolebinding",
        &crate::Binding::OF_ROLE,
    ),
    namespaced(("rbac.authorization.k8s.io", "v1", "roles", "Role"), "role", &crate::Role),
    cluster(
        ("resource.k8s.io", "v1", "deviceclasses", "DeviceClass"),
        "deviceclass",
        &crate::DeviceClass,
    ),
    Builtin {
        subresources: &[below("status", ("resource.k8s.io", "v1", "ResourceClaim"), STATUS)],
        ..namespaced(
            ("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"),
            "resourceclaim",
            &crate::ResourceClaim,
        )
    },
    namespaced(
        ("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
        "resourceclaimtemplate",
        &crate::ResourceClaimTemplate,
    ),
    cluster(
        ("resource.k8s.io", "v1", "resourceslices", "ResourceSlice"),
        "resourceslice",
        &crate::ResourceSlice,
    ),
    Builtin {
        short_names: &["pc"],
        ..cluster(
            ("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"),
            "priorityclass",
            &crate::PriorityClass,
        )
    },
    cluster(("storage.k8s.io", "v1", "csidrivers", "CSIDriver"), "csidriver", &crate::CSIDriver),
    cluster(("storage.k8s.io", "v1", "csinodes", "CSINode"), "csinode", &crate::CSINode),
    namespaced(
        ("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity"),
        "csistoragecapacity",
        &crate::Plain,
    ),
    Builtin {
        short_names: &["sc"],
        ..cluster(
            ("storage.k8s.io", "v1", "storageclasses", "StorageClass"),
            "storageclass",
            &crate::StorageClass,
        )
    },
    Builtin {
        subresources: &[below("status", ("storage.k8s.io", "v1", "VolumeAttachment"), STATUS)],
        ..cluster(
            ("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment"),
            "volumeattachment",
            &crate::VolumeAttachment,
        )
    },
    Builtin {
        short_names: &["vac"],
        ..cluster(
            ("storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass"),
            "volumeattributesclass",
            &crate::VolumeAttributesClass,
        )
    },
];

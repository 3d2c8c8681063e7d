//! The flags of single controllers.

use super::Kind::{Bool, Duration, Float32, Float64, Int32, Text};
use super::{Flag, Section};

pub(super) static SERVICE_LB_CONTROLLER: Section = Section {
    title: "Service-lb-controller",
    flags: &[Flag::new(
        "concurrent-service-syncs",
        Int32,
        "1",
        "Services of type LoadBalancer worked on at a time",
    )],
};

pub(super) static PERSISTENTVOLUME_ATTACH_DETACH_CONTROLLER: Section = Section {
    title: "Persistentvolume-attach-detach-controller",
    flags: &[
        Flag::new(
            "attach-detach-reconcile-sync-period",
            Duration,
            "1m0s",
            "How often attachments are compared with the nodes; at least 1s",
        ),
        Flag::new(
            "disable-attach-detach-reconcile-sync",
            Bool,
            "false",
            "Never compare attachments with the nodes",
        ),
        Flag::new(
            "disable-force-detach-on-timeout",
            Bool,
            "false",
            "Never detach a volume just because unmounting takes too long",
        ),
    ],
};

pub(super) static CERTIFICATESIGNINGREQUEST_SIGNING_CONTROLLER: Section = Section {
    title: "Certificatesigningrequest-signing-controller",
    flags: &[
        Flag::new(
            "cluster-signing-cert-file",
            Text,
            "",
            "Authority that signs for all signers; not with the flags per signer",
        ),
        Flag::new(
            "cluster-signing-duration",
            Duration,
            "8760h0m0s",
            "How long certificates are valid, unless they ask for less",
        ),
        Flag::new("cluster-signing-key-file", Text, "", "Key of --cluster-signing-cert-file"),
        Flag::new(
            "cluster-signing-kube-apiserver-client-cert-file",
            Text,
            "",
            "Authority that signs for kubernetes.io/kube-apiserver-client",
        ),
        Flag::new(
            "cluster-signing-kube-apiserver-client-key-file",
            Text,
            "",
            "Key of that authority",
        ),
        Flag::new(
            "cluster-signing-kubelet-client-cert-file",
            Text,
            "",
            "Authority that signs for kubernetes.io/kube-apiserver-client-kubelet",
        ),
        Flag::new("cluster-signing-kubelet-client-key-file", Text, "", "Key of that authority"),
        Flag::new(
            "cluster-signing-kubelet-serving-cert-file",
            Text,
            "",
            "Authority that signs for kubernetes.io/kubelet-serving",
        ),
        Flag::new("cluster-signing-kubelet-serving-key-file", Text, "", "Key of that authority"),
        Flag::new(
            "cluster-signing-legacy-unknown-cert-file",
            Text,
            "",
            "Authority that signs for kubernetes.io/legacy-unknown",
        ),
        Flag::new("cluster-signing-legacy-unknown-key-file", Text, "", "Key of that authority"),
    ],
};

pub(super) static DEPLOYMENT_CONTROLLER: Section = Section {
    title: "Deployment-controller",
    flags: &[Flag::new(
        "concurrent-deployment-syncs",
        Int32,
        "5",
        "Deployments worked on at a time; 0 or less: none",
    )],
};

pub(super) static DEVICE_TAINT_EVICTION_CONTROLLER: Section = Section {
    title: "Device-taint-eviction-controller",
    flags: &[Flag::new(
        "concurrent-device-taint-eviction-syncs",
        Int32,
        "8",
        "Pods evicted for device taints at a time",
    )],
};

pub(super) static RESOURCECLAIM_CONTROLLER: Section = Section {
    title: "Resourceclaim-controller",
    flags: &[Flag::new(
        "concurrent-resourceclaim-syncs",
        Int32,
        "50",
        "ResourceClaims worked on at a time",
    )],
};

pub(super) static STATEFULSET_CONTROLLER: Section = Section {
    title: "Statefulset-controller",
    flags: &[Flag::new(
        "concurrent-statefulset-syncs",
        Int32,
        "5",
        "StatefulSets worked on at a time",
    )],
};

pub(super) static DAEMONSET_CONTROLLER: Section = Section {
    title: "Daemonset-controller",
    flags: &[Flag::new("concurrent-daemonset-syncs", Int32, "2", "DaemonSets worked on at a time")],
};

pub(super) static ENDPOINTS_CONTROLLER: Section = Section {
    title: "Endpoints-controller",
    flags: &[
        Flag::new("concurrent-endpoint-syncs", Int32, "5", "Endpoints worked on at a time"),
        Flag::new(
            "endpoint-updates-batch-period",
            Duration,
            "0s",
            "How long to gather pod changes before Endpoints are written",
        ),
    ],
};

pub(super) static ENDPOINTSLICE_CONTROLLER: Section = Section {
    title: "Endpointslice-controller",
    flags: &[
        Flag::new(
            "concurrent-service-endpoint-syncs",
            Int32,
            "5",
            "Services whose EndpointSlices are worked on at a time, 1 to 50",
        ),
        Flag::new(
            "endpointslice-updates-batch-period",
            Duration,
            "0s",
            "How long to gather pod changes before EndpointSlices are written",
        ),
        Flag::new(
            "max-endpoints-per-slice",
            Int32,
            "100",
            "Endpoints in one EndpointSlice, 1 to 1000",
        ),
    ],
};

pub(super) static ENDPOINTSLICE_MIRRORING_CONTROLLER: Section = Section {
    title: "Endpointslice-mirroring-controller",
    flags: &[
        Flag::new(
            "mirroring-concurrent-service-endpoint-syncs",
            Int32,
            "5",
            "Endpoints mirrored at a time, 1 to 50",
        ),
        Flag::new(
            "mirroring-endpointslice-updates-batch-period",
            Duration,
            "0s",
            "How long to gather changes before mirrored slices are written",
        ),
        Flag::new(
            "mirroring-max-endpoints-per-subset",
            Int32,
            "1000",
            "Addresses mirrored of one subset, 1 to 1000",
        ),
    ],
};

pub(super) static EPHEMERAL_VOLUME_CONTROLLER: Section = Section {
    title: "Ephemeral-volume-controller",
    flags: &[Flag::new(
        "concurrent-ephemeralvolume-syncs",
        Int32,
        "5",
        "Pods with ephemeral volumes worked on at a time",
    )],
};

pub(super) static GARBAGE_COLLECTOR_CONTROLLER: Section = Section {
    title: "Garbage-collector-controller",
    flags: &[
        Flag::new(
            "concurrent-gc-syncs",
            Int32,
            "20",
            "Objects that the garbage collector looks at at a time",
        ),
        Flag::new(
            "enable-garbage-collector",
            Bool,
            "true",
            "Collect garbage; must agree with the API server's flag of this name",
        ),
    ],
};

pub(super) static HORIZONTAL_POD_AUTOSCALER_CONTROLLER: Section = Section {
    title: "Horizontal-pod-autoscaler-controller",
    flags: &[
        Flag::new(
            "concurrent-horizontal-pod-autoscaler-syncs",
            Int32,
            "5",
            "HorizontalPodAutoscalers worked on at a time",
        ),
        Flag::new(
            "horizontal-pod-autoscaler-cpu-initialization-period",
            Duration,
            "5m0s",
            "How long after its start a pod's CPU use may be left out",
        ),
        Flag::new(
            "horizontal-pod-autoscaler-downscale-stabilization",
            Duration,
            "5m0s",
            "How far to look back for a higher recommendation before scaling down",
        ),
        Flag::new(
            "horizontal-pod-autoscaler-initial-readiness-delay",
            Duration,
            "30s",
            "How long after its start a pod's changes of readiness count as its first",
        ),
        Flag::new(
            "horizontal-pod-autoscaler-sync-period",
            Duration,
            "15s",
            "How often an autoscaler is looked at",
        ),
        Flag::new(
            "horizontal-pod-autoscaler-tolerance",
            Float64,
            "0.1",
            "Deviation from the target, as a share, that changes nothing",
        ),
    ],
};

pub(super) static JOB_CONTROLLER: Section = Section {
    title: "Job-controller",
    flags: &[Flag::new("concurrent-job-syncs", Int32, "5", "Jobs worked on at a time")],
};

pub(super) static CRONJOB_CONTROLLER: Section = Section {
    title: "Cronjob-controller",
    flags: &[Flag::new("concurrent-cron-job-syncs", Int32, "5", "CronJobs worked on at a time")],
};

pub(super) static LEGACY_SERVICEACCOUNT_TOKEN_CLEANER_CONTROLLER: Section = Section {
    title: "Legacy-serviceaccount-token-cleaner-controller",
    flags: &[Flag::new(
        "legacy-service-account-token-clean-up-period",
        Duration,
        "8760h0m0s",
        "How long a generated token Secret must be unused before it goes",
    )],
};

pub(super) static NAMESPACE_CONTROLLER: Section = Section {
    title: "Namespace-controller",
    flags: &[
        Flag::new("concurrent-namespace-syncs", Int32, "10", "Namespaces emptied at a time"),
        Flag::new(
            "namespace-sync-period",
            Duration,
            "5m0s",
            "When at the latest a namespace that is being deleted is looked at again",
        ),
    ],
};

pub(super) static NODE_IPAM_CONTROLLER: Section = Section {
    title: "Node-ipam-controller",
    flags: &[
        Flag::new(
            "node-cidr-mask-size",
            Int32,
            "0",
            "Prefix length of a node's CIDR; 0: 24 for IPv4, 64 for IPv6",
        ),
        Flag::new(
            "node-cidr-mask-size-ipv4",
            Int32,
            "0",
            "The same for IPv4 in dual-stack clusters; 0: 24",
        ),
        Flag::new(
            "node-cidr-mask-size-ipv6",
            Int32,
            "0",
            "The same for IPv6 in dual-stack clusters; 0: 64",
        ),
        Flag::new(
            "service-cluster-ip-range",
            Text,
            "",
            "Addresses of Services, one or two CIDRs, never given to nodes",
        ),
    ],
};

pub(super) static NODE_LIFECYCLE_CONTROLLER: Section = Section {
    title: "Node-lifecycle-controller",
    flags: &[
        Flag::new(
            "large-cluster-size-threshold",
            Int32,
            "50",
            "Nodes in a zone above which it counts as large",
        ),
        Flag::new(
            "node-eviction-rate",
            Float32,
            "0.1",
            "Nodes per second to empty in a healthy zone",
        ),
        Flag::new(
            "node-monitor-grace-period",
            Duration,
            "50s",
            "How long a node may be silent before it counts as unhealthy",
        ),
        Flag::new(
            "node-startup-grace-period",
            Duration,
            "1m0s",
            "The same for a node that just started",
        ),
        Flag::new(
            "secondary-node-eviction-rate",
            Float32,
            "0.01",
            "Nodes per second to empty in an unhealthy large zone; small ones: none",
        ),
        Flag::new(
            "unhealthy-zone-threshold",
            Float32,
            "0.55",
            "Share of unhealthy nodes, at least three, that makes a zone unhealthy",
        ),
    ],
};

pub(super) static PERSISTENTVOLUME_BINDER_CONTROLLER: Section = Section {
    title: "Persistentvolume-binder-controller",
    flags: &[
        Flag::new("enable-dynamic-provisioning", Bool, "true", "Provision volumes for claims"),
        Flag::new(
            "enable-hostpath-provisioner",
            Bool,
            "false",
            "Provision host paths; for tests on one node only",
        ),
        Flag::new(
            "flex-volume-plugin-dir",
            Text,
            "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",
            "Folder where flex volume plugins are looked for",
        ),
        Flag::new(
            "pv-recycler-increment-timeout-nfs",
            Int32,
            "30",
            "Seconds more per GiB that an NFS recycler pod may take",
        ),
        Flag::new(
            "pv-recycler-minimum-timeout-hostpath",
            Int32,
            "60",
            "Seconds that a host path recycler pod may take at least",
        ),
        Flag::new(
            "pv-recycler-minimum-timeout-nfs",
            Int32,
            "300",
            "Seconds that an NFS recycler pod may take at least",
        ),
        Flag::new(
            "pv-recycler-pod-template-filepath-hostpath",
            Text,
            "",
            "File with the pod that recycles host paths; for tests only",
        ),
        Flag::new(
            "pv-recycler-pod-template-filepath-nfs",
            Text,
            "",
            "File with the pod that recycles NFS volumes",
        ),
        Flag::new(
            "pv-recycler-timeout-increment-hostpath",
            Int32,
            "30",
            "Seconds more per GiB that a host path recycler pod may take",
        ),
        Flag::new(
            "pvclaimbinder-sync-period",
            Duration,
            "15s",
            "How often volumes and claims are looked at",
        ),
    ],
};

pub(super) static POD_GARBAGE_COLLECTOR_CONTROLLER: Section = Section {
    title: "Pod-garbage-collector-controller",
    flags: &[Flag::new(
        "terminated-pod-gc-threshold",
        Int32,
        "12500",
        "Ended pods to keep; 0 or less: all",
    )],
};

pub(super) static REPLICASET_CONTROLLER: Section = Section {
    title: "Replicaset-controller",
    flags: &[Flag::new(
        "concurrent-replicaset-syncs",
        Int32,
        "5",
        "ReplicaSets worked on at a time; 0 or less: none",
    )],
};

pub(super) static REPLICATIONCONTROLLER_CONTROLLER: Section = Section {
    title: "Replicationcontroller-controller",
    flags: &[Flag::new(
        "concurrent-rc-syncs",
        Int32,
        "5",
        "ReplicationControllers worked on at a time; 0 or less: none",
    )],
};

pub(super) static RESOURCEQUOTA_CONTROLLER: Section = Section {
    title: "Resourcequota-controller",
    flags: &[
        Flag::new(
            "concurrent-resource-quota-syncs",
            Int32,
            "5",
            "ResourceQuotas worked on at a time",
        ),
        Flag::new(
            "resource-quota-sync-period",
            Duration,
            "5m0s",
            "How often the use of quotas is counted anew",
        ),
    ],
};

pub(super) static SERVICEACCOUNT_CONTROLLER: Section = Section {
    title: "Serviceaccount-controller",
    flags: &[
        Flag::new(
            "concurrent-serviceaccount-token-syncs",
            Int32,
            "5",
            "Service accounts, and as many token Secrets, worked on at a time",
        ),
        Flag::new(
            "root-ca-file",
            Text,
            "",
            "Authority of the API server, put into each namespace and into token Secrets",
        ),
        Flag::new(
            "service-account-private-key-file",
            Text,
            "",
            "Key that signs service account tokens, PEM: RSA of 2048 to 4096 bits, ECDSA on P-256 \
             or P-384; empty: token Secrets are not filled",
        ),
    ],
};

pub(super) static TTL_AFTER_FINISHED_CONTROLLER: Section = Section {
    title: "Ttl-after-finished-controller",
    flags: &[Flag::new(
        "concurrent-ttl-after-finished-syncs",
        Int32,
        "5",
        "Ended Jobs removed at a time; 0 or less: none",
    )],
};

pub(super) static VALIDATINGADMISSIONPOLICY_STATUS_CONTROLLER: Section = Section {
    title: "Validatingadmissionpolicy-status-controller",
    flags: &[Flag::new(
        "concurrent-validating-admission-policy-status-syncs",
        Int32,
        "5",
        "ValidatingAdmissionPolicies type-checked at a time",
    )],
};

//! THE table of the component config: each field, and its flag.
//!
//! Order, names and fixed values are upstream's (k8s.io/kube-controller-manager/config/v1alpha1).

/// Group and version.
pub(super) const API_VERSION: &str = "kubecontrollermanager.config.k8s.io/v1alpha1";
/// Kind.
pub(super) const KIND: &str = "KubeControllerManagerConfiguration";

/// One flag, two fields.
pub(super) const SERVICE_RANGES: &str = "service-cluster-ip-range";

/// A field.
#[derive(Debug)]
pub(super) struct Field {
    /// Its path: names separated by dots.
    pub(super) path: &'static str,
    /// The source of its value.
    pub(super) source: Source,
}

/// The source of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A flag.
    Flag(&'static str),
    /// This entry of a comma-separated flag; empty if there are fewer.
    Part(&'static str, usize),
    /// Always this JSON: upstream has no flag for it, or no longer.
    Fixed(&'static str),
}

const fn flag(path: &'static str, flag: &'static str) -> Field {
    Field { path, source: Source::Flag(flag) }
}

const fn fixed(path: &'static str, json: &'static str) -> Field {
    Field { path, source: Source::Fixed(json) }
}

/// All fields, in the order in which upstream prints them.
pub(super) static FIELDS: &[Field] = &[
    fixed("Generic.Port", "0"),
    fixed("Generic.Address", r#""0.0.0.0""#),
    flag("Generic.MinResyncPeriod", "min-resync-period"),
    flag("Generic.ClientConnection.kubeconfig", "kubeconfig"),
    fixed("Generic.ClientConnection.acceptContentTypes", r#""""#),
    flag("Generic.ClientConnection.contentType", "kube-api-content-type"),
    flag("Generic.ClientConnection.qps", "kube-api-qps"),
    flag("Generic.ClientConnection.burst", "kube-api-burst"),
    flag("Generic.ControllerStartInterval", "controller-start-interval"),
    flag("Generic.LeaderElection.leaderElect", "leader-elect"),
    flag("Generic.LeaderElection.leaseDuration", "leader-elect-lease-duration"),
    flag("Generic.LeaderElection.renewDeadline", "leader-elect-renew-deadline"),
    flag("Generic.LeaderElection.retryPeriod", "leader-elect-retry-period"),
    flag("Generic.LeaderElection.resourceLock", "leader-elect-resource-lock"),
    flag("Generic.LeaderElection.resourceName", "leader-elect-resource-name"),
    flag("Generic.LeaderElection.resourceNamespace", "leader-elect-resource-namespace"),
    flag("Generic.Controllers", "controllers"),
    flag("Generic.Debugging.enableProfiling", "profiling"),
    flag("Generic.Debugging.enableContentionProfiling", "contention-profiling"),
    flag("Generic.LeaderMigrationEnabled", "enable-leader-migration"),
    fixed("Generic.LeaderMigration.leaderName", r#""""#),
    fixed("Generic.LeaderMigration.resourceLock", r#""""#),
    fixed("Generic.LeaderMigration.controllerLeaders", "null"),
    flag("KubeCloudShared.CloudProvider.Name", "cloud-provider"),
    flag("KubeCloudShared.CloudProvider.CloudConfigFile", "cloud-config"),
    flag("KubeCloudShared.ExternalCloudVolumePlugin", "external-cloud-volume-plugin"),
    flag("KubeCloudShared.UseServiceAccountCredentials", "use-service-account-credentials"),
    flag("KubeCloudShared.AllowUntaggedCloud", "allow-untagged-cloud"),
    flag("KubeCloudShared.RouteReconciliationPeriod", "route-reconciliation-period"),
    flag("KubeCloudShared.NodeMonitorPeriod", "node-monitor-period"),
    flag("KubeCloudShared.ClusterName", "cluster-name"),
    flag("KubeCloudShared.ClusterCIDR", "cluster-cidr"),
    flag("KubeCloudShared.AllocateNodeCIDRs", "allocate-node-cidrs"),
    flag("KubeCloudShared.CIDRAllocatorType", "cidr-allocator-type"),
    flag("KubeCloudShared.ConfigureCloudRoutes", "configure-cloud-routes"),
    flag("KubeCloudShared.NodeSyncPeriod", "node-sync-period"),
    flag(
        "AttachDetachController.DisableAttachDetachReconcilerSync",
        "disable-attach-detach-reconcile-sync",
    ),
    flag("AttachDetachController.ReconcilerSyncLoopPeriod", "attach-detach-reconcile-sync-period"),
    flag("AttachDetachController.disableForceDetachOnTimeout", "disable-force-detach-on-timeout"),
    flag("CSRSigningController.ClusterSigningCertFile", "cluster-signing-cert-file"),
    flag("CSRSigningController.ClusterSigningKeyFile", "cluster-signing-key-file"),
    flag(
        "CSRSigningController.KubeletServingSignerConfiguration.CertFile",
        "cluster-signing-kubelet-serving-cert-file",
    ),
    flag(
        "CSRSigningController.KubeletServingSignerConfiguration.KeyFile",
        "cluster-signing-kubelet-serving-key-file",
    ),
    flag(
        "CSRSigningController.KubeletClientSignerConfiguration.CertFile",
        "cluster-signing-kubelet-client-cert-file",
    ),
    flag(
        "CSRSigningController.KubeletClientSignerConfiguration.KeyFile",
        "cluster-signing-kubelet-client-key-file",
    ),
    flag(
        "CSRSigningController.KubeAPIServerClientSignerConfiguration.CertFile",
        "cluster-signing-kube-apiserver-client-cert-file",
    ),
    flag(
        "CSRSigningController.KubeAPIServerClientSignerConfiguration.KeyFile",
        "cluster-signing-kube-apiserver-client-key-file",
    ),
    flag(
        "CSRSigningController.LegacyUnknownSignerConfiguration.CertFile",
        "cluster-signing-legacy-unknown-cert-file",
    ),
    flag(
        "CSRSigningController.LegacyUnknownSignerConfiguration.KeyFile",
        "cluster-signing-legacy-unknown-key-file",
    ),
    flag("CSRSigningController.ClusterSigningDuration", "cluster-signing-duration"),
    flag("DaemonSetController.ConcurrentDaemonSetSyncs", "concurrent-daemonset-syncs"),
    flag("DeploymentController.ConcurrentDeploymentSyncs", "concurrent-deployment-syncs"),
    flag("StatefulSetController.ConcurrentStatefulSetSyncs", "concurrent-statefulset-syncs"),
    fixed("DeprecatedController", "{}"),
    flag("EndpointController.ConcurrentEndpointSyncs", "concurrent-endpoint-syncs"),
    flag("EndpointController.EndpointUpdatesBatchPeriod", "endpoint-updates-batch-period"),
    flag(
        "EndpointSliceController.ConcurrentServiceEndpointSyncs",
        "concurrent-service-endpoint-syncs",
    ),
    flag("EndpointSliceController.MaxEndpointsPerSlice", "max-endpoints-per-slice"),
    flag(
        "EndpointSliceController.EndpointUpdatesBatchPeriod",
        "endpointslice-updates-batch-period",
    ),
    flag(
        "EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs",
        "mirroring-concurrent-service-endpoint-syncs",
    ),
    flag(
        "EndpointSliceMirroringController.MirroringMaxEndpointsPerSubset",
        "mirroring-max-endpoints-per-subset",
    ),
    flag(
        "EndpointSliceMirroringController.MirroringEndpointUpdatesBatchPeriod",
        "mirroring-endpointslice-updates-batch-period",
    ),
    flag(
        "EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs",
        "concurrent-ephemeralvolume-syncs",
    ),
    flag("GarbageCollectorController.EnableGarbageCollector", "enable-garbage-collector"),
    flag("GarbageCollectorController.ConcurrentGCSyncs", "concurrent-gc-syncs"),
    fixed(
        "GarbageCollectorController.GCIgnoredResources",
        r#"[{"Group":"","Resource":"events"},{"Group":"events.k8s.io","Resource":"events"}]"#,
    ),
    flag(
        "HPAController.ConcurrentHorizontalPodAutoscalerSyncs",
        "concurrent-horizontal-pod-autoscaler-syncs",
    ),
    flag(
        "HPAController.HorizontalPodAutoscalerSyncPeriod",
        "horizontal-pod-autoscaler-sync-period",
    ),
    flag(
        "HPAController.HorizontalPodAutoscalerDownscaleStabilizationWindow",
        "horizontal-pod-autoscaler-downscale-stabilization",
    ),
    flag("HPAController.HorizontalPodAutoscalerTolerance", "horizontal-pod-autoscaler-tolerance"),
    flag(
        "HPAController.HorizontalPodAutoscalerCPUInitializationPeriod",
        "horizontal-pod-autoscaler-cpu-initialization-period",
    ),
    flag(
        "HPAController.HorizontalPodAutoscalerInitialReadinessDelay",
        "horizontal-pod-autoscaler-initial-readiness-delay",
    ),
    flag("JobController.ConcurrentJobSyncs", "concurrent-job-syncs"),
    flag("CronJobController.ConcurrentCronJobSyncs", "concurrent-cron-job-syncs"),
    flag("LegacySATokenCleaner.CleanUpPeriod", "legacy-service-account-token-clean-up-period"),
    flag("NamespaceController.NamespaceSyncPeriod", "namespace-sync-period"),
    flag("NamespaceController.ConcurrentNamespaceSyncs", "concurrent-namespace-syncs"),
    Field { path: "NodeIPAMController.ServiceCIDR", source: Source::Part(SERVICE_RANGES, 0) },
    Field {
        path: "NodeIPAMController.SecondaryServiceCIDR",
        source: Source::Part(SERVICE_RANGES, 1),
    },
    flag("NodeIPAMController.NodeCIDRMaskSize", "node-cidr-mask-size"),
    flag("NodeIPAMController.NodeCIDRMaskSizeIPv4", "node-cidr-mask-size-ipv4"),
    flag("NodeIPAMController.NodeCIDRMaskSizeIPv6", "node-cidr-mask-size-ipv6"),
    flag("NodeLifecycleController.NodeEvictionRate", "node-eviction-rate"),
    flag("NodeLifecycleController.SecondaryNodeEvictionRate", "secondary-node-eviction-rate"),
    flag("NodeLifecycleController.NodeStartupGracePeriod", "node-startup-grace-period"),
    flag("NodeLifecycleController.NodeMonitorGracePeriod", "node-monitor-grace-period"),
    fixed("NodeLifecycleController.PodEvictionTimeout", r#""0s""#),
    flag("NodeLifecycleController.LargeClusterSizeThreshold", "large-cluster-size-threshold"),
    flag("NodeLifecycleController.UnhealthyZoneThreshold", "unhealthy-zone-threshold"),
    flag("PersistentVolumeBinderController.PVClaimBinderSyncPeriod", "pvclaimbinder-sync-period"),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.EnableHostPathProvisioning",
        "enable-hostpath-provisioner",
    ),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.EnableDynamicProvisioning",
        "enable-dynamic-provisioning",
    ),
    fixed(
        "PersistentVolumeBinderController.VolumeConfiguration.\
         PersistentVolumeRecyclerConfiguration.MaximumRetry",
        "3",
    ),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.\
         PersistentVolumeRecyclerConfiguration.MinimumTimeoutNFS",
        "pv-recycler-minimum-timeout-nfs",
    ),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.\
         PersistentVolumeRecyclerConfiguration.PodTemplateFilePathNFS",
        "pv-recycler-pod-template-filepath-nfs",
    ),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.\
         PersistentVolumeRecyclerConfiguration.IncrementTimeoutNFS",
        "pv-recycler-increment-timeout-nfs",
    ),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.\
         PersistentVolumeRecyclerConfiguration.PodTemplateFilePathHostPath",
        "pv-recycler-pod-template-filepath-hostpath",
    ),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.\
         PersistentVolumeRecyclerConfiguration.MinimumTimeoutHostPath",
        "pv-recycler-minimum-timeout-hostpath",
    ),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.\
         PersistentVolumeRecyclerConfiguration.IncrementTimeoutHostPath",
        "pv-recycler-timeout-increment-hostpath",
    ),
    flag(
        "PersistentVolumeBinderController.VolumeConfiguration.FlexVolumePluginDir",
        "flex-volume-plugin-dir",
    ),
    flag("PodGCController.TerminatedPodGCThreshold", "terminated-pod-gc-threshold"),
    flag("ReplicaSetController.ConcurrentRSSyncs", "concurrent-replicaset-syncs"),
    flag("ReplicationController.ConcurrentRCSyncs", "concurrent-rc-syncs"),
    flag("ResourceQuotaController.ResourceQuotaSyncPeriod", "resource-quota-sync-period"),
    flag("ResourceQuotaController.ConcurrentResourceQuotaSyncs", "concurrent-resource-quota-syncs"),
    flag("SAController.ServiceAccountKeyFile", "service-account-private-key-file"),
    flag("SAController.ConcurrentSATokenSyncs", "concurrent-serviceaccount-token-syncs"),
    flag("SAController.RootCAFile", "root-ca-file"),
    flag("ServiceController.ConcurrentServiceSyncs", "concurrent-service-syncs"),
    flag("TTLAfterFinishedController.ConcurrentTTLSyncs", "concurrent-ttl-after-finished-syncs"),
    flag(
        "ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs",
        "concurrent-validating-admission-policy-status-syncs",
    ),
    flag("DeviceTaintEvictionController.ConcurrentSyncs", "concurrent-device-taint-eviction-syncs"),
    flag("ResourceClaimController.ConcurrentSyncs", "concurrent-resourceclaim-syncs"),
];

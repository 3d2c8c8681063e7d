//! The flags that this program reads.
//!
//! **Invariant:** a flag counts as effective exactly if it has a constant below (or is moot, see
//! [`Flag::moot`](super::Flag)). Code with an effect reads a flag by its constant, and the compiler
//! refuses unused constants. Validation, the component config and the pages read flags by name,
//! which is no effect.

#![deny(dead_code)]

use std::marker::PhantomData;
use std::time::Duration;

/// A flag that is read as a `T`.
#[derive(Debug)]
pub(crate) struct Handle<T>(&'static str, PhantomData<fn() -> T>);

/// A boolean.
pub(crate) type Switch = Handle<bool>;
/// A text, or a value that is kept as text.
pub(crate) type Text = Handle<&'static str>;
/// A flag that may be repeated.
pub(crate) type List = Handle<Vec<String>>;
/// A whole number.
pub(crate) type Int = Handle<i64>;
/// A number of single precision.
pub(crate) type Float32 = Handle<f32>;
/// A number of double precision.
pub(crate) type Float64 = Handle<f64>;
/// A duration.
pub(crate) type Span = Handle<Duration>;

/// `--allocate-node-cidrs`
pub(crate) const ALLOCATE_NODE_CIDRS: Switch = Handle::new("allocate-node-cidrs");
/// `--allow-metric-labels`
pub(crate) const ALLOW_METRIC_LABELS: List = Handle::new("allow-metric-labels");
/// `--allow-metric-labels-manifest`
pub(crate) const ALLOW_METRIC_LABELS_MANIFEST: Text = Handle::new("allow-metric-labels-manifest");
/// `--attach-detach-reconcile-sync-period`
pub(crate) const ATTACH_DETACH_RECONCILE_SYNC_PERIOD: Span =
    Handle::new("attach-detach-reconcile-sync-period");
/// `--authentication-kubeconfig`
pub(crate) const AUTHENTICATION_KUBECONFIG: Text = Handle::new("authentication-kubeconfig");
/// `--authentication-skip-lookup`
pub(crate) const AUTHENTICATION_SKIP_LOOKUP: Switch = Handle::new("authentication-skip-lookup");
/// `--authentication-token-webhook-cache-ttl`
pub(crate) const AUTHENTICATION_TOKEN_WEBHOOK_CACHE_TTL: Span =
    Handle::new("authentication-token-webhook-cache-ttl");
/// `--authentication-tolerate-lookup-failure`
pub(crate) const AUTHENTICATION_TOLERATE_LOOKUP_FAILURE: Switch =
    Handle::new("authentication-tolerate-lookup-failure");
/// `--authorization-always-allow-paths`
pub(crate) const AUTHORIZATION_ALWAYS_ALLOW_PATHS: List =
    Handle::new("authorization-always-allow-paths");
/// `--authorization-kubeconfig`
pub(crate) const AUTHORIZATION_KUBECONFIG: Text = Handle::new("authorization-kubeconfig");
/// `--authorization-webhook-cache-authorized-ttl`
pub(crate) const AUTHORIZATION_WEBHOOK_CACHE_AUTHORIZED_TTL: Span =
    Handle::new("authorization-webhook-cache-authorized-ttl");
/// `--authorization-webhook-cache-unauthorized-ttl`
pub(crate) const AUTHORIZATION_WEBHOOK_CACHE_UNAUTHORIZED_TTL: Span =
    Handle::new("authorization-webhook-cache-unauthorized-ttl");
/// `--bind-address`
pub(crate) const BIND_ADDRESS: Text = Handle::new("bind-address");
/// `--cert-dir`
pub(crate) const CERT_DIR: Text = Handle::new("cert-dir");
/// `--cidr-allocator-type`
pub(crate) const CIDR_ALLOCATOR_TYPE: Text = Handle::new("cidr-allocator-type");
/// `--client-ca-file`
pub(crate) const CLIENT_CA_FILE: Text = Handle::new("client-ca-file");
/// `--cluster-cidr`
pub(crate) const CLUSTER_CIDR: Text = Handle::new("cluster-cidr");
/// `--cluster-name`
pub(crate) const CLUSTER_NAME: Text = Handle::new("cluster-name");
/// `--cluster-signing-cert-file`
pub(crate) const CLUSTER_SIGNING_CERT_FILE: Text = Handle::new("cluster-signing-cert-file");
/// `--cluster-signing-duration`
pub(crate) const CLUSTER_SIGNING_DURATION: Span = Handle::new("cluster-signing-duration");
/// `--cluster-signing-key-file`
pub(crate) const CLUSTER_SIGNING_KEY_FILE: Text = Handle::new("cluster-signing-key-file");
/// `--cluster-signing-kube-apiserver-client-cert-file`
pub(crate) const CLUSTER_SIGNING_KUBE_APISERVER_CLIENT_CERT_FILE: Text =
    Handle::new("cluster-signing-kube-apiserver-client-cert-file");
/// `--cluster-signing-kube-apiserver-client-key-file`
pub(crate) const CLUSTER_SIGNING_KUBE_APISERVER_CLIENT_KEY_FILE: Text =
    Handle::new("cluster-signing-kube-apiserver-client-key-file");
/// `--cluster-signing-kubelet-client-cert-file`
pub(crate) const CLUSTER_SIGNING_KUBELET_CLIENT_CERT_FILE: Text =
    Handle::new("cluster-signing-kubelet-client-cert-file");
/// `--cluster-signing-kubelet-client-key-file`
pub(crate) const CLUSTER_SIGNING_KUBELET_CLIENT_KEY_FILE: Text =
    Handle::new("cluster-signing-kubelet-client-key-file");
/// `--cluster-signing-kubelet-serving-cert-file`
pub(crate) const CLUSTER_SIGNING_KUBELET_SERVING_CERT_FILE: Text =
    Handle::new("cluster-signing-kubelet-serving-cert-file");
/// `--cluster-signing-kubelet-serving-key-file`
pub(crate) const CLUSTER_SIGNING_KUBELET_SERVING_KEY_FILE: Text =
    Handle::new("cluster-signing-kubelet-serving-key-file");
/// `--cluster-signing-legacy-unknown-cert-file`
pub(crate) const CLUSTER_SIGNING_LEGACY_UNKNOWN_CERT_FILE: Text =
    Handle::new("cluster-signing-legacy-unknown-cert-file");
/// `--cluster-signing-legacy-unknown-key-file`
pub(crate) const CLUSTER_SIGNING_LEGACY_UNKNOWN_KEY_FILE: Text =
    Handle::new("cluster-signing-legacy-unknown-key-file");
/// `--concurrent-cron-job-syncs`
pub(crate) const CONCURRENT_CRON_JOB_SYNCS: Int = Handle::new("concurrent-cron-job-syncs");
/// `--concurrent-daemonset-syncs`
pub(crate) const CONCURRENT_DAEMONSET_SYNCS: Int = Handle::new("concurrent-daemonset-syncs");
/// `--concurrent-deployment-syncs`
pub(crate) const CONCURRENT_DEPLOYMENT_SYNCS: Int = Handle::new("concurrent-deployment-syncs");
/// `--concurrent-device-taint-eviction-syncs`
pub(crate) const CONCURRENT_DEVICE_TAINT_EVICTION_SYNCS: Int =
    Handle::new("concurrent-device-taint-eviction-syncs");
/// `--concurrent-endpoint-syncs`
pub(crate) const CONCURRENT_ENDPOINT_SYNCS: Int = Handle::new("concurrent-endpoint-syncs");
/// `--concurrent-ephemeralvolume-syncs`
pub(crate) const CONCURRENT_EPHEMERAL_VOLUME_SYNCS: Int =
    Handle::new("concurrent-ephemeralvolume-syncs");
/// `--concurrent-gc-syncs`
pub(crate) const CONCURRENT_GC_SYNCS: Int = Handle::new("concurrent-gc-syncs");
/// `--concurrent-horizontal-pod-autoscaler-syncs`
pub(crate) const CONCURRENT_HORIZONTAL_POD_AUTOSCALER_SYNCS: Int =
    Handle::new("concurrent-horizontal-pod-autoscaler-syncs");
/// `--concurrent-job-syncs`
pub(crate) const CONCURRENT_JOB_SYNCS: Int = Handle::new("concurrent-job-syncs");
/// `--concurrent-namespace-syncs`
pub(crate) const CONCURRENT_NAMESPACE_SYNCS: Int = Handle::new("concurrent-namespace-syncs");
/// `--concurrent-rc-syncs`
pub(crate) const CONCURRENT_RC_SYNCS: Int = Handle::new("concurrent-rc-syncs");
/// `--concurrent-replicaset-syncs`
pub(crate) const CONCURRENT_REPLICASET_SYNCS: Int = Handle::new("concurrent-replicaset-syncs");
/// `--concurrent-resource-quota-syncs`
pub(crate) const CONCURRENT_RESOURCE_QUOTA_SYNCS: Int =
    Handle::new("concurrent-resource-quota-syncs");
/// `--concurrent-resourceclaim-syncs`
pub(crate) const CONCURRENT_RESOURCECLAIM_SYNCS: Int =
    Handle::new("concurrent-resourceclaim-syncs");
/// `--concurrent-service-endpoint-syncs`
pub(crate) const CONCURRENT_SERVICE_ENDPOINT_SYNCS: Int =
    Handle::new("concurrent-service-endpoint-syncs");
/// `--concurrent-service-syncs`
pub(crate) const CONCURRENT_SERVICE_SYNCS: Int = Handle::new("concurrent-service-syncs");
/// `--concurrent-serviceaccount-token-syncs`
pub(crate) const CONCURRENT_SERVICEACCOUNT_TOKEN_SYNCS: Int =
    Handle::new("concurrent-serviceaccount-token-syncs");
/// `--concurrent-statefulset-syncs`
pub(crate) const CONCURRENT_STATEFULSET_SYNCS: Int = Handle::new("concurrent-statefulset-syncs");
/// `--concurrent-ttl-after-finished-syncs`
pub(crate) const CONCURRENT_TTL_AFTER_FINISHED_SYNCS: Int =
    Handle::new("concurrent-ttl-after-finished-syncs");
/// `--concurrent-validating-admission-policy-status-syncs`
pub(crate) const CONCURRENT_VALIDATING_ADMISSION_POLICY_STATUS_SYNCS: Int =
    Handle::new("concurrent-validating-admission-policy-status-syncs");
/// `--config`
pub(crate) const CONFIG: Text = Handle::new("config");
/// `--configure-cloud-routes`
pub(crate) const CONFIGURE_CLOUD_ROUTES: Switch = Handle::new("configure-cloud-routes");
/// `--controller-shutdown-timeout`
pub(crate) const CONTROLLER_SHUTDOWN_TIMEOUT: Span = Handle::new("controller-shutdown-timeout");
/// `--controller-start-interval`
pub(crate) const CONTROLLER_START_INTERVAL: Span = Handle::new("controller-start-interval");
/// `--controllers`
pub(crate) const CONTROLLERS: List = Handle::new("controllers");
/// `--disable-attach-detach-reconcile-sync`
pub(crate) const DISABLE_ATTACH_DETACH_RECONCILE_SYNC: Switch =
    Handle::new("disable-attach-detach-reconcile-sync");
/// `--disable-force-detach-on-timeout`
pub(crate) const DISABLE_FORCE_DETACH_ON_TIMEOUT: Switch =
    Handle::new("disable-force-detach-on-timeout");
/// `--disable-http2-serving`
pub(crate) const DISABLE_HTTP2_SERVING: Switch = Handle::new("disable-http2-serving");
/// `--disabled-metrics`
pub(crate) const DISABLED_METRICS: List = Handle::new("disabled-metrics");
/// `--emulated-version`
pub(crate) const EMULATED_VERSION: List = Handle::new("emulated-version");
/// `--enable-dynamic-provisioning`
pub(crate) const ENABLE_DYNAMIC_PROVISIONING: Switch = Handle::new("enable-dynamic-provisioning");
/// `--enable-garbage-collector`
pub(crate) const ENABLE_GARBAGE_COLLECTOR: Switch = Handle::new("enable-garbage-collector");
/// `--enable-leader-migration`
pub(crate) const ENABLE_LEADER_MIGRATION: Switch = Handle::new("enable-leader-migration");
/// `--endpoint-updates-batch-period`
pub(crate) const ENDPOINT_UPDATES_BATCH_PERIOD: Span = Handle::new("endpoint-updates-batch-period");
/// `--endpointslice-updates-batch-period`
pub(crate) const ENDPOINTSLICE_UPDATES_BATCH_PERIOD: Span =
    Handle::new("endpointslice-updates-batch-period");
/// `--feature-gates`
pub(crate) const FEATURE_GATES: List = Handle::new("feature-gates");
/// `--help`
pub(crate) const HELP: Switch = Handle::new("help");
/// `--horizontal-pod-autoscaler-cpu-initialization-period`
pub(crate) const HORIZONTAL_POD_AUTOSCALER_CPU_INITIALIZATION_PERIOD: Span =
    Handle::new("horizontal-pod-autoscaler-cpu-initialization-period");
/// `--horizontal-pod-autoscaler-downscale-stabilization`
pub(crate) const HORIZONTAL_POD_AUTOSCALER_DOWNSCALE_STABILIZATION: Span =
    Handle::new("horizontal-pod-autoscaler-downscale-stabilization");
/// `--horizontal-pod-autoscaler-initial-readiness-delay`
pub(crate) const HORIZONTAL_POD_AUTOSCALER_INITIAL_READINESS_DELAY: Span =
    Handle::new("horizontal-pod-autoscaler-initial-readiness-delay");
/// `--horizontal-pod-autoscaler-sync-period`
pub(crate) const HORIZONTAL_POD_AUTOSCALER_SYNC_PERIOD: Span =
    Handle::new("horizontal-pod-autoscaler-sync-period");
/// `--horizontal-pod-autoscaler-tolerance`
pub(crate) const HORIZONTAL_POD_AUTOSCALER_TOLERANCE: Float64 =
    Handle::new("horizontal-pod-autoscaler-tolerance");
/// `--http2-max-streams-per-connection`
pub(crate) const HTTP2_MAX_STREAMS_PER_CONNECTION: Int =
    Handle::new("http2-max-streams-per-connection");
/// `--kube-api-burst`
pub(crate) const KUBE_API_BURST: Int = Handle::new("kube-api-burst");
/// `--kube-api-qps`
pub(crate) const KUBE_API_QPS: Float32 = Handle::new("kube-api-qps");
/// `--kubeconfig`
pub(crate) const KUBECONFIG: Text = Handle::new("kubeconfig");
/// `--large-cluster-size-threshold`
pub(crate) const LARGE_CLUSTER_SIZE_THRESHOLD: Int = Handle::new("large-cluster-size-threshold");
/// `--leader-elect`
pub(crate) const LEADER_ELECT: Switch = Handle::new("leader-elect");
/// `--leader-elect-lease-duration`
pub(crate) const LEADER_ELECT_LEASE_DURATION: Span = Handle::new("leader-elect-lease-duration");
/// `--leader-elect-renew-deadline`
pub(crate) const LEADER_ELECT_RENEW_DEADLINE: Span = Handle::new("leader-elect-renew-deadline");
/// `--leader-elect-resource-lock`
pub(crate) const LEADER_ELECT_RESOURCE_LOCK: Text = Handle::new("leader-elect-resource-lock");
/// `--leader-elect-resource-name`
pub(crate) const LEADER_ELECT_RESOURCE_NAME: Text = Handle::new("leader-elect-resource-name");
/// `--leader-elect-resource-namespace`
pub(crate) const LEADER_ELECT_RESOURCE_NAMESPACE: Text =
    Handle::new("leader-elect-resource-namespace");
/// `--leader-elect-retry-period`
pub(crate) const LEADER_ELECT_RETRY_PERIOD: Span = Handle::new("leader-elect-retry-period");
/// `--leader-migration-config`
pub(crate) const LEADER_MIGRATION_CONFIG: Text = Handle::new("leader-migration-config");
/// `--legacy-service-account-token-clean-up-period`
pub(crate) const LEGACY_SERVICE_ACCOUNT_TOKEN_CLEAN_UP_PERIOD: Span =
    Handle::new("legacy-service-account-token-clean-up-period");
/// `--log-flush-frequency`
pub(crate) const LOG_FLUSH_FREQUENCY: Span = Handle::new("log-flush-frequency");
/// `--log-json-info-buffer-size`
pub(crate) const LOG_JSON_INFO_BUFFER_SIZE: Text = Handle::new("log-json-info-buffer-size");
/// `--log-json-split-stream`
pub(crate) const LOG_JSON_SPLIT_STREAM: Switch = Handle::new("log-json-split-stream");
/// `--log-text-info-buffer-size`
pub(crate) const LOG_TEXT_INFO_BUFFER_SIZE: Text = Handle::new("log-text-info-buffer-size");
/// `--log-text-split-stream`
pub(crate) const LOG_TEXT_SPLIT_STREAM: Switch = Handle::new("log-text-split-stream");
/// `--logging-format`
pub(crate) const LOGGING_FORMAT: Text = Handle::new("logging-format");
/// `--master`
pub(crate) const MASTER: Text = Handle::new("master");
/// `--max-endpoints-per-slice`
pub(crate) const MAX_ENDPOINTS_PER_SLICE: Int = Handle::new("max-endpoints-per-slice");
/// `--min-compatibility-version`
pub(crate) const MIN_COMPATIBILITY_VERSION: List = Handle::new("min-compatibility-version");
/// `--min-resync-period`
pub(crate) const MIN_RESYNC_PERIOD: Span = Handle::new("min-resync-period");
/// `--mirroring-concurrent-service-endpoint-syncs`
pub(crate) const MIRRORING_CONCURRENT_SERVICE_ENDPOINT_SYNCS: Int =
    Handle::new("mirroring-concurrent-service-endpoint-syncs");
/// `--mirroring-endpointslice-updates-batch-period`
pub(crate) const MIRRORING_ENDPOINTSLICE_UPDATES_BATCH_PERIOD: Span =
    Handle::new("mirroring-endpointslice-updates-batch-period");
/// `--mirroring-max-endpoints-per-subset`
pub(crate) const MIRRORING_MAX_ENDPOINTS_PER_SUBSET: Int =
    Handle::new("mirroring-max-endpoints-per-subset");
/// `--namespace-sync-period`
pub(crate) const NAMESPACE_SYNC_PERIOD: Span = Handle::new("namespace-sync-period");
/// `--node-cidr-mask-size`
pub(crate) const NODE_CIDR_MASK_SIZE: Int = Handle::new("node-cidr-mask-size");
/// `--node-cidr-mask-size-ipv4`
pub(crate) const NODE_CIDR_MASK_SIZE_IPV4: Int = Handle::new("node-cidr-mask-size-ipv4");
/// `--node-cidr-mask-size-ipv6`
pub(crate) const NODE_CIDR_MASK_SIZE_IPV6: Int = Handle::new("node-cidr-mask-size-ipv6");
/// `--node-eviction-rate`
pub(crate) const NODE_EVICTION_RATE: Float32 = Handle::new("node-eviction-rate");
/// `--node-monitor-grace-period`
pub(crate) const NODE_MONITOR_GRACE_PERIOD: Span = Handle::new("node-monitor-grace-period");
/// `--node-monitor-period`
pub(crate) const NODE_MONITOR_PERIOD: Span = Handle::new("node-monitor-period");
/// `--node-startup-grace-period`
pub(crate) const NODE_STARTUP_GRACE_PERIOD: Span = Handle::new("node-startup-grace-period");
/// `--permit-port-sharing`
pub(crate) const PERMIT_PORT_SHARING: Switch = Handle::new("permit-port-sharing");
/// `--profiling`
pub(crate) const PROFILING: Switch = Handle::new("profiling");
/// `--pv-recycler-increment-timeout-nfs`
pub(crate) const PV_RECYCLER_INCREMENT_TIMEOUT_NFS: Int =
    Handle::new("pv-recycler-increment-timeout-nfs");
/// `--pv-recycler-minimum-timeout-hostpath`
pub(crate) const PV_RECYCLER_MINIMUM_TIMEOUT_HOST_PATH: Int =
    Handle::new("pv-recycler-minimum-timeout-hostpath");
/// `--pv-recycler-minimum-timeout-nfs`
pub(crate) const PV_RECYCLER_MINIMUM_TIMEOUT_NFS: Int =
    Handle::new("pv-recycler-minimum-timeout-nfs");
/// `--pv-recycler-pod-template-filepath-hostpath`
pub(crate) const PV_RECYCLER_POD_TEMPLATE_HOST_PATH: Text =
    Handle::new("pv-recycler-pod-template-filepath-hostpath");
/// `--pv-recycler-pod-template-filepath-nfs`
pub(crate) const PV_RECYCLER_POD_TEMPLATE_NFS: Text =
    Handle::new("pv-recycler-pod-template-filepath-nfs");
/// `--pv-recycler-timeout-increment-hostpath`
pub(crate) const PV_RECYCLER_TIMEOUT_INCREMENT_HOST_PATH: Int =
    Handle::new("pv-recycler-timeout-increment-hostpath");
/// `--pvclaimbinder-sync-period`
pub(crate) const PV_CLAIM_BINDER_SYNC_PERIOD: Span = Handle::new("pvclaimbinder-sync-period");
/// `--requestheader-allowed-names`
pub(crate) const REQUESTHEADER_ALLOWED_NAMES: List = Handle::new("requestheader-allowed-names");
/// `--requestheader-client-ca-file`
pub(crate) const REQUESTHEADER_CLIENT_CA_FILE: Text = Handle::new("requestheader-client-ca-file");
/// `--requestheader-extra-headers-prefix`
pub(crate) const REQUESTHEADER_EXTRA_HEADERS_PREFIX: List =
    Handle::new("requestheader-extra-headers-prefix");
/// `--requestheader-group-headers`
pub(crate) const REQUESTHEADER_GROUP_HEADERS: List = Handle::new("requestheader-group-headers");
/// `--requestheader-uid-headers`
pub(crate) const REQUESTHEADER_UID_HEADERS: List = Handle::new("requestheader-uid-headers");
/// `--requestheader-username-headers`
pub(crate) const REQUESTHEADER_USERNAME_HEADERS: List =
    Handle::new("requestheader-username-headers");
/// `--resource-quota-sync-period`
pub(crate) const RESOURCE_QUOTA_SYNC_PERIOD: Span = Handle::new("resource-quota-sync-period");
/// `--root-ca-file`
pub(crate) const ROOT_CA_FILE: Text = Handle::new("root-ca-file");
/// `--route-reconciliation-period`
pub(crate) const ROUTE_RECONCILIATION_PERIOD: Span = Handle::new("route-reconciliation-period");
/// `--secondary-node-eviction-rate`
pub(crate) const SECONDARY_NODE_EVICTION_RATE: Float32 =
    Handle::new("secondary-node-eviction-rate");
/// `--secure-port`
pub(crate) const SECURE_PORT: Int = Handle::new("secure-port");
/// `--service-account-private-key-file`
pub(crate) const SERVICE_ACCOUNT_PRIVATE_KEY_FILE: Text =
    Handle::new("service-account-private-key-file");
/// `--service-cluster-ip-range`
pub(crate) const SERVICE_CLUSTER_IP_RANGE: Text = Handle::new("service-cluster-ip-range");
/// `--shadow`
pub(crate) const SHADOW: Switch = Handle::new("shadow");
/// `--shadow-grace-period`
pub(crate) const SHADOW_GRACE_PERIOD: Span = Handle::new("shadow-grace-period");
/// `--show-hidden-metrics-for-version`
pub(crate) const SHOW_HIDDEN_METRICS_FOR_VERSION: Text =
    Handle::new("show-hidden-metrics-for-version");
/// `--terminated-pod-gc-threshold`
pub(crate) const TERMINATED_POD_GC_THRESHOLD: Int = Handle::new("terminated-pod-gc-threshold");
/// `--tls-cert-file`
pub(crate) const TLS_CERT_FILE: Text = Handle::new("tls-cert-file");
/// `--tls-cipher-suites`
pub(crate) const TLS_CIPHER_SUITES: List = Handle::new("tls-cipher-suites");
/// `--tls-curve-preferences`
pub(crate) const TLS_CURVE_PREFERENCES: List = Handle::new("tls-curve-preferences");
/// `--tls-min-version`
pub(crate) const TLS_MIN_VERSION: Text = Handle::new("tls-min-version");
/// `--tls-private-key-file`
pub(crate) const TLS_PRIVATE_KEY_FILE: Text = Handle::new("tls-private-key-file");
/// `--tls-sni-cert-key`
pub(crate) const TLS_SNI_CERT_KEY: List = Handle::new("tls-sni-cert-key");
/// `--unhealthy-zone-threshold`
pub(crate) const UNHEALTHY_ZONE_THRESHOLD: Float32 = Handle::new("unhealthy-zone-threshold");
/// `--use-service-account-credentials`
pub(crate) const USE_SERVICE_ACCOUNT_CREDENTIALS: Switch =
    Handle::new("use-service-account-credentials");
/// `--v`
pub(crate) const VERBOSITY: Int = Handle::new("v");
/// `--version`
pub(crate) const VERSION: Text = Handle::new("version");
/// `--vmodule`
pub(crate) const VMODULE: Text = Handle::new("vmodule");

/// All their names. The list does not use the constants: a constant that only this list uses would
/// count as read.
pub(super) const NAMES: &[&str] = &[
    "allocate-node-cidrs",
    "allow-metric-labels",
    "allow-metric-labels-manifest",
    "attach-detach-reconcile-sync-period",
    "authentication-kubeconfig",
    "authentication-skip-lookup",
    "authentication-token-webhook-cache-ttl",
    "authentication-tolerate-lookup-failure",
    "authorization-always-allow-paths",
    "authorization-kubeconfig",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "bind-address",
    "cert-dir",
    "cidr-allocator-type",
    "client-ca-file",
    "cluster-cidr",
    "cluster-name",
    "cluster-signing-cert-file",
    "cluster-signing-duration",
    "cluster-signing-key-file",
    "cluster-signing-kube-apiserver-client-cert-file",
    "cluster-signing-kube-apiserver-client-key-file",
    "cluster-signing-kubelet-client-cert-file",
    "cluster-signing-kubelet-client-key-file",
    "cluster-signing-kubelet-serving-cert-file",
    "cluster-signing-kubelet-serving-key-file",
    "cluster-signing-legacy-unknown-cert-file",
    "cluster-signing-legacy-unknown-key-file",
    "concurrent-cron-job-syncs",
    "concurrent-daemonset-syncs",
    "concurrent-deployment-syncs",
    "concurrent-device-taint-eviction-syncs",
    "concurrent-endpoint-syncs",
    "concurrent-ephemeralvolume-syncs",
    "concurrent-gc-syncs",
    "concurrent-horizontal-pod-autoscaler-syncs",
    "concurrent-job-syncs",
    "concurrent-namespace-syncs",
    "concurrent-rc-syncs",
    "concurrent-replicaset-syncs",
    "concurrent-resource-quota-syncs",
    "concurrent-resourceclaim-syncs",
    "concurrent-service-endpoint-syncs",
    "concurrent-service-syncs",
    "concurrent-serviceaccount-token-syncs",
    "concurrent-statefulset-syncs",
    "concurrent-ttl-after-finished-syncs",
    "concurrent-validating-admission-policy-status-syncs",
    "config",
    "configure-cloud-routes",
    "controller-shutdown-timeout",
    "controller-start-interval",
    "controllers",
    "disable-attach-detach-reconcile-sync",
    "disable-force-detach-on-timeout",
    "disable-http2-serving",
    "disabled-metrics",
    "emulated-version",
    "enable-dynamic-provisioning",
    "enable-garbage-collector",
    "enable-leader-migration",
    "endpoint-updates-batch-period",
    "endpointslice-updates-batch-period",
    "feature-gates",
    "help",
    "horizontal-pod-autoscaler-cpu-initialization-period",
    "horizontal-pod-autoscaler-downscale-stabilization",
    "horizontal-pod-autoscaler-initial-readiness-delay",
    "horizontal-pod-autoscaler-sync-period",
    "horizontal-pod-autoscaler-tolerance",
    "http2-max-streams-per-connection",
    "kube-api-burst",
    "kube-api-qps",
    "kubeconfig",
    "large-cluster-size-threshold",
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-resource-lock",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "leader-elect-retry-period",
    "leader-migration-config",
    "legacy-service-account-token-clean-up-period",
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-json-split-stream",
    "log-text-info-buffer-size",
    "log-text-split-stream",
    "logging-format",
    "master",
    "max-endpoints-per-slice",
    "min-compatibility-version",
    "min-resync-period",
    "mirroring-concurrent-service-endpoint-syncs",
    "mirroring-endpointslice-updates-batch-period",
    "mirroring-max-endpoints-per-subset",
    "namespace-sync-period",
    "node-cidr-mask-size",
    "node-cidr-mask-size-ipv4",
    "node-cidr-mask-size-ipv6",
    "node-eviction-rate",
    "node-monitor-grace-period",
    "node-monitor-period",
    "node-startup-grace-period",
    "permit-port-sharing",
    "profiling",
    "pv-recycler-increment-timeout-nfs",
    "pv-recycler-minimum-timeout-hostpath",
    "pv-recycler-minimum-timeout-nfs",
    "pv-recycler-pod-template-filepath-hostpath",
    "pv-recycler-pod-template-filepath-nfs",
    "pv-recycler-timeout-increment-hostpath",
    "pvclaimbinder-sync-period",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-uid-headers",
    "requestheader-username-headers",
    "resource-quota-sync-period",
    "root-ca-file",
    "route-reconciliation-period",
    "secondary-node-eviction-rate",
    "secure-port",
    "service-account-private-key-file",
    "service-cluster-ip-range",
    "shadow",
    "shadow-grace-period",
    "show-hidden-metrics-for-version",
    "terminated-pod-gc-threshold",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-curve-preferences",
    "tls-min-version",
    "tls-private-key-file",
    "tls-sni-cert-key",
    "unhealthy-zone-threshold",
    "use-service-account-credentials",
    "v",
    "version",
    "vmodule",
];

// === impl Handle ===

impl<T> Handle<T> {
    const fn new(name: &'static str) -> Self {
        Self(name, PhantomData)
    }

    /// Without the dashes.
    pub(crate) const fn name(self) -> &'static str {
        self.0
    }
}

// Not derived: that would require a `T` that is `Copy`.
impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

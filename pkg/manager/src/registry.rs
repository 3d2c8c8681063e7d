//! THE table of controllers: one row each, sorted by name.
//!
//! `--controllers`, the start-up, the README's table and the tests all read it. Names, aliases,
//! gates and accounts are upstream's (cmd/kube-controller-manager/app/controllermanager.go). The
//! table has all controllers of upstream, so that a command line for upstream works here.

mod accounts;
mod autoscaling;
mod certificates;
mod clouds;
mod collector;
mod devices;
mod entry;
mod limiters;
mod nodes;
mod policies;
mod quota;
mod shadows;
mod storage_versions;
mod volumes;
mod workloads;

use std::sync::Arc;

use api::cron::Zone;
use api::{
    BootstrapToken, CertificateSigningRequest, ClusterInfo, ClusterRole, CronJob, Endpoints, Job,
    Kind, Namespace, Node, PersistentVolumeClaim, Pod, Service, ServiceCidr, VolumeAttributesClass,
};
use controllers::podgc;
use workqueue::{ItemBackoff, Limiter, TokenBucket};

use crate::flags::handles;
use crate::gates::features;
use crate::hmac::RingHmac;
use crate::{authority, pod_ranges, signing, token_signer};

use limiters::{certificate_limiter, slice_limiter};

pub(crate) use entry::DEFAULTS;
pub use entry::{Entry, Rate, Start, User};
pub(crate) use limiters::token_cleaner_backoff;
pub(crate) use shadows::{period, unjudged};

/// All controllers.
pub static REGISTRY: &[Entry] = &[
    Entry {
        name: "bootstrap-signer-controller",
        aliases: &["bootstrapsigner"],
        account: "bootstrap-signer",
        on_by_default: false,
        folder: Some("bootstrapsigner"),
        start: Some(|entry, context| {
            let queue = context.queue("bootstrap_signer_queue");
            let controller = controllers::bootstrapsigner::Controller { hmac: Arc::new(RingHmac) };
            context.start(entry, ClusterInfo::RESOURCE, (queue, 1), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "certificatesigningrequest-approving-controller",
        aliases: &["csrapproving"],
        account: "certificate-controller",
        folder: Some("csrapproving"),
        start: Some(|entry, context| {
            let queue = context.queue_with("certificate", certificate_limiter());
            let controller = controllers::csrapproving::Controller;
            context.start(entry, CertificateSigningRequest::RESOURCE, (queue, 5), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "certificatesigningrequest-cleaner-controller",
        aliases: &["csrcleaner"],
        account: "certificate-controller",
        folder: Some("csrcleaner"),
        start: Some(certificates::cleaner),
        ..DEFAULTS
    },
    Entry {
        name: "certificatesigningrequest-signing-controller",
        aliases: &["csrsigning"],
        account: "certificate-controller",
        lacks: signing::lacks,
        folder: Some("csrsigning"),
        start: Some(certificates::signing),
        ..DEFAULTS
    },
    Entry {
        name: "cloud-node-lifecycle-controller",
        aliases: &["cloud-node-lifecycle"],
        account: "node-controller",
        event_source: Some("cloud-node-lifecycle-controller"),
        cloud: true,
        folder: Some("cloudnodelifecycle"),
        start: Some(clouds::life),
        ..DEFAULTS
    },
    Entry {
        name: "clusterrole-aggregation-controller",
        aliases: &["clusterrole-aggregation"],
        account: "clusterrole-aggregation-controller",
        folder: Some("clusterroleaggregation"),
        start: Some(|entry, context| {
            let queue = context.queue("ClusterRoleAggregator");
            let controller = controllers::clusterroleaggregation::Controller;
            context.start(entry, ClusterRole::RESOURCE, (queue, 5), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "cronjob-controller",
        aliases: &["cronjob"],
        account: "cronjob-controller",
        folder: Some("cronjob"),
        start: Some(|entry, context| {
            let workers = context.workers(handles::CONCURRENT_CRON_JOB_SYNCS);
            let queue = context.queue("cronjob");
            let local = Zone::of(runtime::Zone::system().rules().clone());
            let controller = controllers::cronjob::Controller { local };
            context.start(entry, CronJob::RESOURCE, (queue, workers), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "daemonset-controller",
        aliases: &["daemonset"],
        account: "daemon-set-controller",
        event_source: Some("daemonset-controller"),
        folder: Some("daemonset"),
        start: Some(workloads::daemon_set),
        ..DEFAULTS
    },
    Entry {
        name: "deployment-controller",
        aliases: &["deployment"],
        account: "deployment-controller",
        folder: Some("deployment"),
        start: Some(workloads::deployment),
        ..DEFAULTS
    },
    Entry {
        name: "device-taint-eviction-controller",
        account: "device-taint-eviction-controller",
        gates: &["DynamicResourceAllocation", "DRADeviceTaints"],
        folder: Some("devicetainteviction"),
        start: Some(devices::taints),
        ..DEFAULTS
    },
    Entry {
        name: "disruption-controller",
        aliases: &["disruption"],
        account: "disruption-controller",
        event_source: Some("controllermanager"),
        folder: Some("disruption"),
        start: Some(workloads::disruption),
        ..DEFAULTS
    },
    Entry {
        name: "endpoints-controller",
        aliases: &["endpoint"],
        account: "endpoint-controller",
        folder: Some("endpoint"),
        start: Some(|entry, context| {
            let workers = context.workers(handles::CONCURRENT_ENDPOINT_SYNCS);
            let queue = context.queue("endpoint");
            let flag = handles::ENDPOINT_UPDATES_BATCH_PERIOD;
            let batch_period = context.options.flags.positive(flag);
            let controller = controllers::endpoint::Controller { batch_period };
            context.start(entry, Service::RESOURCE, (queue, workers), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "endpointslice-controller",
        aliases: &["endpointslice"],
        account: "endpointslice-controller",
        event_source: Some("endpoint-slice-controller"),
        folder: Some("endpointslice"),
        start: Some(|entry, context| {
            let workers = context.workers(handles::CONCURRENT_SERVICE_ENDPOINT_SYNCS);
            let queue = context.queue_with("endpoint_slice", slice_limiter(1000));
            let flags = &context.options.flags;
            let slice_max = flags.int32(handles::MAX_ENDPOINTS_PER_SLICE);
            let controller = controllers::endpointslice::Controller {
                batch_period: flags.positive(handles::ENDPOINTSLICE_UPDATES_BATCH_PERIOD),
                slice_max: usize::try_from(slice_max).unwrap_or(1),
            };
            context.start(entry, Service::RESOURCE, (queue, workers), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "endpointslice-mirroring-controller",
        aliases: &["endpointslicemirroring"],
        account: "endpointslicemirroring-controller",
        event_source: Some("endpoint-slice-mirroring-controller"),
        folder: Some("endpointslicemirroring"),
        start: Some(|entry, context| {
            let workers = context.workers(handles::MIRRORING_CONCURRENT_SERVICE_ENDPOINT_SYNCS);
            let queue = context.queue_with("endpoint_slice_mirroring", slice_limiter(100));
            let flags = &context.options.flags;
            let period = handles::MIRRORING_ENDPOINTSLICE_UPDATES_BATCH_PERIOD;
            let subset_max = flags.int32(handles::MIRRORING_MAX_ENDPOINTS_PER_SUBSET);
            let controller = controllers::endpointslicemirroring::Controller {
                batch_period: flags.positive(period),
                subset_max: usize::try_from(subset_max).unwrap_or(1),
            };
            context.start(entry, Endpoints::RESOURCE, (queue, workers), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "ephemeral-volume-controller",
        aliases: &["ephemeral-volume"],
        account: "ephemeral-volume-controller",
        event_source: Some("ephemeral_volume"),
        folder: Some("ephemeralvolume"),
        start: Some(|entry, context| {
            let workers = context.workers(handles::CONCURRENT_EPHEMERAL_VOLUME_SYNCS);
            let queue = context.queue("ephemeral_volume");
            let controller = controllers::ephemeralvolume::Controller;
            context.start(entry, Pod::RESOURCE, (queue, workers), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "garbage-collector-controller",
        aliases: &["garbagecollector"],
        account: "generic-garbage-collector",
        event_source: Some("garbage-collector-controller"),
        rate: Rate { qps_factor: 2.0, burst_factor: 1 },
        lacks: |options| {
            let is_on = options.flags.switch(handles::ENABLE_GARBAGE_COLLECTOR);
            (!is_on).then_some("--enable-garbage-collector is false")
        },
        folder: Some("garbagecollector"),
        start: Some(collector::start),
        ..DEFAULTS
    },
    Entry {
        name: "horizontal-pod-autoscaler-controller",
        aliases: &["horizontalpodautoscaling"],
        account: "horizontal-pod-autoscaler",
        folder: Some("podautoscaler"),
        start: Some(autoscaling::start),
        ..DEFAULTS
    },
    Entry {
        name: "job-controller",
        aliases: &["job"],
        account: "job-controller",
        folder: Some("job"),
        start: Some(workloads::job),
        ..DEFAULTS
    },
    Entry {
        name: "kube-apiserver-serving-clustertrustbundle-publisher-controller",
        account: "kube-apiserver-serving-clustertrustbundle-publisher",
        gates: &["ClusterTrustBundle"],
        lacks: |options| {
            // What cannot be read is reported at the start.
            let is_empty = authority::root_ca(options).is_ok_and(|authority| authority.is_empty());
            is_empty.then_some("there is no authority of the API server to publish")
        },
        folder: Some("clustertrustbundlepublisher"),
        start: Some(certificates::trust_bundle),
        ..DEFAULTS
    },
    Entry {
        name: "legacy-serviceaccount-token-cleaner-controller",
        aliases: &["legacy-service-account-token-cleaner"],
        account: "legacy-service-account-token-cleaner",
        folder: Some("legacytokencleaner"),
        start: Some(accounts::legacy_token_cleaner),
        ..DEFAULTS
    },
    Entry {
        name: "namespace-controller",
        aliases: &["namespace"],
        account: "namespace-controller",
        rate: Rate { qps_factor: 20.0, burst_factor: 100 },
        folder: Some("namespace"),
        start: Some(collector::namespaces),
        ..DEFAULTS
    },
    Entry {
        name: "node-ipam-controller",
        aliases: &["nodeipam"],
        account: "node-controller",
        event_source: Some("cidrAllocator"),
        lacks: pod_ranges::lacks,
        folder: Some("nodeipam"),
        start: Some(nodes::ranges),
        ..DEFAULTS
    },
    Entry {
        name: "node-lifecycle-controller",
        aliases: &["nodelifecycle"],
        account: "node-controller",
        folder: Some("nodelifecycle"),
        start: Some(nodes::life),
        ..DEFAULTS
    },
    Entry {
        name: "node-route-controller",
        aliases: &["route"],
        account: "route-controller",
        event_source: Some("route_controller"),
        cloud: true,
        lacks: pod_ranges::lacks_routes,
        folder: Some("route"),
        start: Some(clouds::routes),
        ..DEFAULTS
    },
    Entry {
        name: "persistentvolume-attach-detach-controller",
        aliases: &["attachdetach"],
        account: "attachdetach-controller",
        event_source: Some("attachdetach-controller"),
        folder: Some("attachdetach"),
        start: Some(volumes::attach),
        ..DEFAULTS
    },
    Entry {
        name: "persistentvolume-binder-controller",
        aliases: &["persistentvolume-binder"],
        account: "persistent-volume-binder",
        event_source: Some("persistentvolume-controller"),
        folder: Some("persistentvolume"),
        start: Some(volumes::binder),
        ..DEFAULTS
    },
    Entry {
        name: "persistentvolume-expander-controller",
        aliases: &["persistentvolume-expander"],
        account: "expand-controller",
        event_source: Some("volume_expand"),
        folder: Some("volumeexpand"),
        start: Some(volumes::expander),
        ..DEFAULTS
    },
    Entry {
        name: "persistentvolume-protection-controller",
        aliases: &["pv-protection"],
        account: "pv-protection-controller",
        folder: Some("pvprotection"),
        start: Some(volumes::protection),
        ..DEFAULTS
    },
    Entry {
        name: "persistentvolumeclaim-protection-controller",
        aliases: &["pvc-protection"],
        account: "pvc-protection-controller",
        folder: Some("pvcprotection"),
        start: Some(|entry, context| {
            let queue = context.queue("pvcprotection");
            let tracks_unused = context.options.gates.is_on(features::CLAIM_UNUSED_SINCE_TIME);
            let controller = controllers::pvcprotection::Controller { tracks_unused };
            context.start(entry, PersistentVolumeClaim::RESOURCE, (queue, 1), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "pod-garbage-collector-controller",
        aliases: &["podgc"],
        account: "pod-garbage-collector",
        folder: Some("podgc"),
        start: Some(|entry, context| {
            // A failed pass is retried after its usual period.
            let pause = ItemBackoff::new(podgc::PERIOD, podgc::PERIOD);
            let limiter = Limiter::new(pause, TokenBucket::unlimited());
            let queue = context.queue_with("orphaned_pods_nodes", limiter);
            let threshold = context.options.flags.int32(handles::TERMINATED_POD_GC_THRESHOLD);
            let tracks = context.options.gates.is_on(features::POD_OBSERVED_GENERATION);
            let controller = podgc::Controller::new(threshold).tracking_generations(tracks);
            context.start(entry, Pod::RESOURCE, (queue, 1), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "podcertificaterequest-cleaner-controller",
        account: "podcertificaterequestcleaner",
        gates: &["PodCertificateRequest"],
        folder: Some("podcertificaterequestcleaner"),
        start: Some(certificates::cleaner_of_pods),
        ..DEFAULTS
    },
    Entry {
        name: "podgroup-protection-controller",
        account: "podgroup-protection-controller",
        gates: &["GenericWorkload"],
        folder: Some("podgroupprotection"),
        start: Some(workloads::pod_group_protection),
        ..DEFAULTS
    },
    Entry {
        name: "replicaset-controller",
        aliases: &["replicaset"],
        account: "replicaset-controller",
        folder: Some("replicaset"),
        start: Some(workloads::replica_set),
        ..DEFAULTS
    },
    Entry {
        name: "replicationcontroller-controller",
        aliases: &["replicationcontroller"],
        account: "replication-controller",
        folder: Some("replicaset"),
        start: Some(workloads::replication_controller),
        ..DEFAULTS
    },
    Entry {
        name: "resourceclaim-controller",
        aliases: &["resource-claim-controller"],
        account: "resource-claim-controller",
        event_source: Some("resource_claim"),
        gates: &["DynamicResourceAllocation"],
        folder: Some("resourceclaim"),
        start: Some(devices::claims),
        ..DEFAULTS
    },
    Entry {
        name: "resourcepoolstatusrequest-controller",
        account: "resourcepoolstatusrequest-controller",
        gates: &["DRAResourcePoolStatus"],
        folder: Some("resourcepoolstatusrequest"),
        start: Some(devices::pool_requests),
        ..DEFAULTS
    },
    Entry {
        name: "resourcequota-controller",
        aliases: &["resourcequota"],
        account: "resourcequota-controller",
        folder: Some("resourcequota"),
        start: Some(quota::start),
        ..DEFAULTS
    },
    Entry {
        name: "root-ca-certificate-publisher-controller",
        aliases: &["root-ca-cert-publisher"],
        account: "root-ca-cert-publisher",
        folder: Some("rootcacertpublisher"),
        start: Some(|entry, context| {
            let queue = context.queue("root_ca_cert_publisher");
            let root_ca = context.root_ca.clone();
            let controller = controllers::rootcacertpublisher::Controller { root_ca };
            context.start(entry, Namespace::RESOURCE, (queue, 1), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "selinux-warning-controller",
        account: "selinux-warning-controller",
        event_source: Some("selinux_warning"),
        on_by_default: false,
        gates: &["SELinuxChangePolicy"],
        folder: Some("selinuxwarning"),
        start: Some(|entry, context| {
            let queue = context.queue("selinux_warning");
            let controller = controllers::selinuxwarning::Controller;
            context.start(entry, Pod::RESOURCE, (queue, 1), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "service-cidr-controller",
        account: "service-cidrs-controller",
        gates: &["MultiCIDRServiceAllocator"],
        folder: Some("servicecidrs"),
        start: Some(|entry, context| {
            let queue = context.queue("ipaddresses");
            let controller = controllers::servicecidrs::Controller;
            context.start(entry, ServiceCidr::RESOURCE, (queue, 5), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "service-lb-controller",
        aliases: &["service"],
        account: "service-controller",
        cloud: true,
        folder: Some("service"),
        start: Some(clouds::balancers),
        ..DEFAULTS
    },
    Entry {
        name: "serviceaccount-controller",
        aliases: &["serviceaccount"],
        account: "service-account-controller",
        folder: Some("serviceaccount"),
        start: Some(|entry, context| {
            let queue = context.queue("serviceaccount");
            let controller = controllers::serviceaccount::Controller;
            context.start(entry, Namespace::RESOURCE, (queue, 1), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "serviceaccount-token-controller",
        aliases: &["serviceaccount-token"],
        account: "tokens-controller",
        user: User::Root,
        always_on: true,
        lacks: |options| {
            let has_key = !options.flags.text(token_signer::FLAG).is_empty();
            (!has_key).then_some("Controller is disabled because there is no private key")
        },
        folder: Some("serviceaccounttoken"),
        start: Some(accounts::tokens),
        ..DEFAULTS
    },
    Entry {
        name: "statefulset-controller",
        aliases: &["statefulset"],
        account: "statefulset-controller",
        folder: Some("statefulset"),
        start: Some(workloads::stateful_set),
        ..DEFAULTS
    },
    Entry {
        name: "storage-version-migrator-controller",
        aliases: &["svm"],
        account: "storage-version-migrator-controller",
        lacks: |options| {
            let is_on = options.gates.is_on(features::STORAGE_VERSION_MIGRATOR);
            (!is_on).then_some("the feature gate StorageVersionMigrator is off")
        },
        rate: Rate { qps_factor: 20.0, burst_factor: 100 },
        folder: Some("storageversionmigrator"),
        start: Some(storage_versions::migrator),
        ..DEFAULTS
    },
    Entry {
        name: "storageversion-garbage-collector-controller",
        aliases: &["storage-version-gc"],
        account: "storage-version-garbage-collector",
        gates: &["APIServerIdentity", "StorageVersionAPI"],
        folder: Some("storageversiongc"),
        start: Some(storage_versions::collector),
        ..DEFAULTS
    },
    Entry {
        name: "taint-eviction-controller",
        account: "node-controller",
        event_source: Some("taint-eviction-controller"),
        gates: &["SeparateTaintEvictionController"],
        folder: Some("tainteviction"),
        start: Some(nodes::evictions),
        ..DEFAULTS
    },
    Entry {
        name: "token-cleaner-controller",
        aliases: &["tokencleaner"],
        account: "token-cleaner",
        on_by_default: false,
        folder: Some("tokencleaner"),
        start: Some(|entry, context| {
            let queue = context.queue("token_cleaner");
            let controller = controllers::tokencleaner::Controller;
            context.start(entry, BootstrapToken::RESOURCE, (queue, 1), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "ttl-after-finished-controller",
        aliases: &["ttl-after-finished"],
        account: "ttl-after-finished-controller",
        folder: Some("ttlafterfinished"),
        start: Some(|entry, context| {
            let workers = context.workers(handles::CONCURRENT_TTL_AFTER_FINISHED_SYNCS);
            let queue = context.queue("ttl_jobs_to_delete");
            let controller = controllers::ttlafterfinished::Controller;
            context.start(entry, Job::RESOURCE, (queue, workers), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "ttl-controller",
        aliases: &["ttl"],
        account: "ttl-controller",
        folder: Some("ttl"),
        start: Some(|entry, context| {
            let queue = context.queue("ttlcontroller");
            let controller = controllers::ttl::Controller;
            context.start(entry, Node::RESOURCE, (queue, 5), controller)
        }),
        ..DEFAULTS
    },
    Entry {
        name: "validatingadmissionpolicy-status-controller",
        account: "validatingadmissionpolicy-status-controller",
        folder: Some("validatingadmissionpolicystatus"),
        start: Some(policies::status),
        ..DEFAULTS
    },
    Entry {
        name: "volumeattributesclass-protection-controller",
        account: "volumeattributesclass-protection-controller",
        gates: &["VolumeAttributesClass"],
        folder: Some("vacprotection"),
        start: Some(|entry, context| {
            let queue = context.queue("vacprotection");
            let controller = controllers::vacprotection::Controller;
            context.start(entry, VolumeAttributesClass::RESOURCE, (queue, 1), controller)
        }),
        ..DEFAULTS
    },
];

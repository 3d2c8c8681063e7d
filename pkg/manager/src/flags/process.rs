//! The flags of the process as a whole: what it may do, serve, log.

use super::Kind::{
    Bool, CertKeys, Duration, Float32, Gates, Int, Int32, Int32s, Ip, Level, Pairs, Patterns,
    Quantity, Text, Texts, Version,
};
use super::{Flag, Section};

pub(super) static DEBUGGING: Section = Section {
    title: "Debugging",
    flags: &[
        Flag::new(
            "contention-profiling",
            Bool,
            "false",
            "Also profile where threads wait for locks, if profiling is on",
        ),
        Flag::new(
            "profiling",
            Bool,
            "true",
            "Serve profiles under /debug/pprof/ on the secure port",
        ),
    ],
};

pub(super) static LEADER_MIGRATION: Section = Section {
    title: "Leader-migration",
    flags: &[
        Flag::new(
            "enable-leader-migration",
            Bool,
            "false",
            "Move controllers between managers by a second lease",
        ),
        Flag::new(
            "leader-migration-config",
            Text,
            "",
            "File that says which controllers migrate; empty: the built-in list",
        ),
    ],
};

pub(super) static GENERIC: Section = Section {
    title: "Generic",
    flags: &[
        Flag::new(
            "allocate-node-cidrs",
            Bool,
            "false",
            "Give each node a part of --cluster-cidr for its pods",
        ),
        Flag::new(
            "allow-untagged-cloud",
            Bool,
            "false",
            "Let cloud instances go without a cluster tag",
        )
        .deprecated(
            "This flag is deprecated and will be removed in a future release. A \
             cluster-id will be required on cloud instances.",
        ),
        Flag::new(
            "cidr-allocator-type",
            Text,
            "RangeAllocator",
            "How node CIDRs are chosen; only RangeAllocator is left",
        ),
        // No code of upstream 1.36 reads the file or the plugin; of the provider, validation only.
        Flag::new("cloud-config", Text, "", "File with settings of the cloud provider").moot(),
        Flag::new(
            "cloud-provider",
            Text,
            "",
            "Empty or external: cloud providers run in programs of their own",
        )
        .moot(),
        Flag::new(
            "cluster-cidr",
            Text,
            "",
            "Where pod addresses come from; counts with --allocate-node-cidrs only",
        ),
        Flag::new(
            "cluster-name",
            Text,
            "kubernetes",
            "Name of this cluster, as a prefix of what is made outside it",
        ),
        Flag::new(
            "configure-cloud-routes",
            Bool,
            "true",
            "Make cloud routes for the CIDRs of --allocate-node-cidrs",
        ),
        Flag::new(
            "controller-shutdown-timeout",
            Duration,
            "10s",
            "How long controllers may finish their work after a stop signal",
        ),
        Flag::new(
            "controller-start-interval",
            Duration,
            "0s",
            "Pause between the starts of two controllers",
        ),
        Flag::new(
            "controllers",
            Texts,
            "[*]",
            "Controllers to run: * for all that are on by default, name for on, -name for \
             off; of several mentions of one name the first counts",
        ),
        Flag::new(
            "emulated-version",
            Texts,
            "[]",
            "Behave as this older release, as kube=major.minor",
        ),
        Flag::new(
            "external-cloud-volume-plugin",
            Text,
            "",
            "Volume plugin of an external cloud provider",
        )
        .moot(),
        Flag::new(
            "feature-gates",
            Gates,
            "",
            "Features to switch on or off: name=true or name=false, comma-separated",
        ),
        Flag::new(
            "kube-api-burst",
            Int32,
            "30",
            "Requests that each controller may send at once after a pause",
        ),
        Flag::new(
            "kube-api-content-type",
            Text,
            "application/vnd.kubernetes.protobuf",
            "Media type of requests to the API server",
        ),
        Flag::new(
            "kube-api-qps",
            Float32,
            "20",
            "Requests per second that each controller may send; 0 means 5, less means no \
             limit",
        ),
        Flag::new("leader-elect", Bool, "true", "Wait for leadership before any controller runs"),
        Flag::new(
            "leader-elect-lease-duration",
            Duration,
            "15s",
            "How long others wait after the leader's last renewal before they take over",
        ),
        Flag::new(
            "leader-elect-renew-deadline",
            Duration,
            "10s",
            "How long the leader tries to renew before it gives up",
        ),
        Flag::new(
            "leader-elect-resource-lock",
            Text,
            "leases",
            "Kind of the lock object; only leases is left",
        ),
        Flag::new(
            "leader-elect-resource-name",
            Text,
            "kube-controller-manager",
            "Name of the lock object",
        ),
        Flag::new(
            "leader-elect-resource-namespace",
            Text,
            "kube-system",
            "Namespace of the lock object",
        ),
        Flag::new(
            "leader-elect-retry-period",
            Duration,
            "2s",
            "Pause between two attempts to take or renew the lock",
        ),
        Flag::new(
            "min-compatibility-version",
            Texts,
            "[]",
            "Oldest release to stay compatible with, as kube=major.minor",
        ),
        Flag::new(
            "min-resync-period",
            Duration,
            "12h0m0s",
            "Informers hand out all they hold again after one to two times this long",
        ),
        Flag::new(
            "node-monitor-period",
            Duration,
            "5s",
            "How often the health of nodes is looked at",
        ),
        Flag::new("node-sync-period", Duration, "0s", "Does nothing")
            .deprecated("This flag is currently no-op and will be deleted."),
        Flag::new(
            "route-reconciliation-period",
            Duration,
            "10s",
            "How often cloud routes are looked at",
        ),
        Flag::new(
            "use-service-account-credentials",
            Bool,
            "false",
            "Let each controller act under a service account of its own",
        ),
    ],
};

pub(super) static SECURE_SERVING: Section = Section {
    title: "Secure serving",
    flags: &[
        Flag::new(
            "bind-address",
            Ip,
            "0.0.0.0",
            "Address to serve HTTPS on; unspecified means all",
        ),
        Flag::new(
            "cert-dir",
            Text,
            "",
            "Folder of the serving certificate, made if missing; empty: keep it in memory",
        ),
        Flag::new("disable-http2-serving", Bool, "false", "Serve HTTP/1.1 only"),
        Flag::new(
            "http2-max-streams-per-connection",
            Int,
            "0",
            "Requests at a time per HTTP/2 connection; 0: the library's default",
        ),
        Flag::new(
            "permit-address-sharing",
            Bool,
            "false",
            "Listen with SO_REUSEADDR, which is so anyway",
        )
        .moot(),
        Flag::new(
            "permit-port-sharing",
            Bool,
            "false",
            "Listen with SO_REUSEPORT, so that several processes may serve the port",
        ),
        Flag::new("secure-port", Int, "10257", "Port of HTTPS; 0: serve nothing"),
        Flag::new("tls-cert-file", Text, "", "Serving certificate and its intermediates, PEM"),
        Flag::new(
            "tls-cipher-suites",
            Texts,
            "[]",
            "Cipher suites for TLS 1.2, by their IANA names; empty: the safe ones",
        ),
        Flag::new(
            "tls-curve-preferences",
            Int32s,
            "[]",
            "Key exchanges, by their IANA numbers, best first",
        ),
        Flag::new("tls-min-version", Text, "", "Oldest TLS to speak: VersionTLS12 or VersionTLS13"),
        Flag::new("tls-private-key-file", Text, "", "Key of --tls-cert-file, PEM"),
        Flag::new(
            "tls-sni-cert-key",
            CertKeys,
            "[]",
            "certificate,key[:domain,...]: another pair for those domains; may be repeated",
        ),
    ],
};

pub(super) static AUTHENTICATION: Section = Section {
    title: "Authentication",
    flags: &[
        Flag::new(
            "authentication-kubeconfig",
            Text,
            "",
            "Kubeconfig for TokenReviews; empty: tokens are not known, if outside a pod",
        ),
        Flag::new(
            "authentication-skip-lookup",
            Bool,
            "false",
            "Take no authentication settings from the cluster",
        ),
        Flag::new(
            "authentication-token-webhook-cache-ttl",
            Duration,
            "10s",
            "How long the answer of a TokenReview is kept",
        ),
        Flag::new(
            "authentication-tolerate-lookup-failure",
            Bool,
            "false",
            "Start even if the cluster's authentication settings cannot be read",
        ),
        Flag::new(
            "client-ca-file",
            Text,
            "",
            "Authorities whose client certificates are believed, PEM",
        ),
        Flag::new(
            "requestheader-allowed-names",
            Texts,
            "[]",
            "Common names of the proxies whose headers are believed; empty: all",
        ),
        Flag::new(
            "requestheader-client-ca-file",
            Text,
            "",
            "Authorities of the certificates of such proxies, PEM",
        ),
        Flag::new(
            "requestheader-extra-headers-prefix",
            Texts,
            "[x-remote-extra-]",
            "Start of the headers with more about the user",
        ),
        Flag::new(
            "requestheader-group-headers",
            Texts,
            "[x-remote-group]",
            "Headers with the user's groups",
        ),
        Flag::new("requestheader-uid-headers", Texts, "[]", "Headers with the user's UID"),
        Flag::new(
            "requestheader-username-headers",
            Texts,
            "[x-remote-user]",
            "Headers with the user's name",
        ),
    ],
};

pub(super) static AUTHORIZATION: Section = Section {
    title: "Authorization",
    flags: &[
        Flag::new(
            "authorization-always-allow-paths",
            Texts,
            "[/healthz,/readyz,/livez]",
            "Paths that need no authorization; a * at the end stands for anything",
        ),
        Flag::new(
            "authorization-kubeconfig",
            Text,
            "",
            "Kubeconfig for SubjectAccessReviews; empty: all else is denied, if outside a \
             pod",
        ),
        Flag::new(
            "authorization-webhook-cache-authorized-ttl",
            Duration,
            "10s",
            "How long a yes of a SubjectAccessReview is kept",
        ),
        Flag::new(
            "authorization-webhook-cache-unauthorized-ttl",
            Duration,
            "10s",
            "How long a no of a SubjectAccessReview is kept",
        ),
    ],
};

pub(super) static METRICS: Section = Section {
    title: "Metrics",
    flags: &[
        Flag::new(
            "allow-metric-labels",
            Pairs,
            "[]",
            "metric,label=value,...: the only values that the label may have; may be \
             repeated",
        ),
        Flag::new("allow-metric-labels-manifest", Text, "", "File with the same"),
        Flag::new("disabled-metrics", Texts, "[]", "Metrics to leave out, by their full names"),
        Flag::new(
            "show-hidden-metrics-for-version",
            Text,
            "",
            "Show what this release, the previous minor one, had not hidden yet",
        ),
    ],
};

pub(super) static LOGS: Section = Section {
    title: "Logs",
    flags: &[
        Flag::new(
            "log-flush-frequency",
            Duration,
            "5s",
            "For how long log lines are held back at most",
        ),
        Flag::new(
            "log-json-info-buffer-size",
            Quantity,
            "0",
            "Bytes of JSON log lines to hold back with a split stream; 0: none",
        ),
        Flag::new(
            "log-json-split-stream",
            Bool,
            "false",
            "JSON: errors to standard error, all else to standard output",
        ),
        Flag::new(
            "log-text-info-buffer-size",
            Quantity,
            "0",
            "Bytes of text log lines to hold back with a split stream; 0: none",
        ),
        Flag::new(
            "log-text-split-stream",
            Bool,
            "false",
            "Text: warnings and errors to standard error, all else to standard output",
        ),
        Flag::new("logging-format", Text, "text", "How log lines look: text or json"),
        Flag::new(
            "v",
            Level,
            "0",
            "How much to log: 0 what was written or went wrong, 4 every decision, 6 every \
             request, 8 its headers, 9 what libraries do",
        ),
        Flag::new(
            "vmodule",
            Patterns,
            "",
            "pattern=level,...: more for source files whose names match, without .rs; text only",
        ),
    ],
};

pub(super) static MISC: Section = Section {
    title: "Misc",
    flags: &[
        Flag::new(
            "kubeconfig",
            Text,
            "",
            "File that says where the API server is and who we are; empty: as the pod \
             that we run in",
        ),
        Flag::new("master", Text, "", "URL of the API server, instead of the kubeconfig's"),
    ],
};

/// Flags that upstream lacks. They are shown only if they were given.
pub(super) static NOT_IN_UPSTREAM: Section = Section {
    title: "Not in upstream",
    flags: &[
        Flag::new(
            "config",
            Text,
            "",
            "File with a KubeControllerManagerConfiguration; flags that are given count more",
        ),
        Flag::new(
            "shadow",
            Bool,
            "false",
            "Only read, beside the manager in charge: decide as if leading, write nothing, and \
             show at /debug/shadow what that manager does differently",
        ),
        Flag::new(
            "shadow-grace-period",
            Duration,
            "30s",
            "How long what a shadow would write may be missing until it counts as a difference",
        ),
    ],
};

pub(super) static GLOBAL: Section = Section {
    title: "Global",
    flags: &[
        Flag::new("help", Bool, "false", "Print this and quit"),
        Flag::new(
            "version",
            Version,
            "false",
            "Print the version and quit; raw: all that is known of it",
        ),
    ],
};

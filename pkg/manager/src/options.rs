//! The command line, as the fields that the rest of the program reads.

use std::path::PathBuf;
use std::time::Duration;

use leader::Timing;

use crate::flags::{self, Failure, Flags, handles};
use crate::gates::Gates;
use crate::registry::REGISTRY;
use crate::{logging, serving, validation};

/// The Kubernetes release that this binary behaves as, in `--version` and the user agent.
pub const KUBERNETES_VERSION: &str = "v1.36.3";

/// All options of the command line. Names, types and defaults are upstream's.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kubeconfig with the API server and our credentials; without it, the pod's service
    /// account.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// URL of the API server, instead of the kubeconfig's.
    pub(crate) master: Option<String>,
    /// Controllers to run: `*`, `name`, `-name`.
    pub(crate) controllers: Vec<String>,
    /// Requests per second that each controller may send; see [`Options::limits`].
    pub(crate) kube_api_qps: f64,
    /// Requests that each controller may send at once after idle time.
    pub(crate) kube_api_burst: i32,
    /// Whether each controller acts as its own service account.
    pub(crate) use_service_account_credentials: bool,
    /// Set for a shadow, which only reads: how long the manager in charge has for each write.
    pub(crate) shadow: Option<Duration>,
    /// The leader election.
    pub(crate) election: Election,
    /// The secure port; none: serve nothing.
    pub(crate) serving: Option<https::Settings>,
    /// Authentication and authorization.
    pub(crate) guard: auth::Settings,
    /// For TokenReviews and the lookup of CAs; none: in-cluster, or not at all.
    pub(crate) authentication_kubeconfig: Option<PathBuf>,
    /// For SubjectAccessReviews; none: in-cluster, or not at all.
    pub(crate) authorization_kubeconfig: Option<PathBuf>,
    /// Which metrics to show.
    pub(crate) metrics: metrics::Flags,
    /// Whether to serve profiles.
    pub(crate) profiling: bool,
    /// The delay before a controller starts, at most twice as long.
    pub(crate) controller_start_interval: Duration,
    /// How long controllers may finish their work; zero: without limit.
    pub(crate) controller_shutdown_timeout: Duration,
    /// Informers notify handlers of all objects after one to two times this long.
    pub(crate) resync_period_min: Duration,
    /// Feature gates, and the emulated release.
    pub(crate) gates: Gates,
    /// The log.
    pub(crate) log: logging::Settings,
    /// The version was requested: `true`, or `raw` for all details.
    pub(crate) version: Option<String>,
    /// All flags, with the others too.
    pub(crate) flags: Flags,
}

/// The flags `--leader-elect*`. The code that uses the durations checks that they fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// Whether to wait for leadership before any controller runs.
    pub(crate) leader_elect: bool,
    /// How long other contenders wait after the leader's last renewal.
    pub(crate) lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub(crate) renew_deadline: Duration,
    /// The delay between two tries.
    pub(crate) retry_period: Duration,
    /// Kind of the lock object: `leases`.
    pub(crate) resource_lock: String,
    /// Name of the lock object.
    pub(crate) resource_name: String,
    /// Namespace of the lock object.
    pub(crate) resource_namespace: String,
}

impl Election {
    /// The durations.
    pub(crate) fn timing(&self) -> Timing {
        let Self { lease_duration, renew_deadline, retry_period, .. } = *self;
        Timing { lease_duration, renew_deadline, retry_period }
    }
}

impl Options {
    /// Parses the command line, without the program's name, and the file of `--config`.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let flags = flags::parse(words)?;
        let gates = Gates::from_flags(&flags).map_err(Failure::Refused)?;
        let shadow = flags.switch(handles::SHADOW);
        let given = |flag| Some(flags.text(flag)).filter(|text| !text.is_empty());
        Ok(Self {
            kubeconfig: serving::path(&flags, handles::KUBECONFIG),
            master: given(handles::MASTER).map(str::to_owned),
            controllers: flags.list(handles::CONTROLLERS).to_vec(),
            kube_api_qps: flags.float32(handles::KUBE_API_QPS).into(),
            kube_api_burst: flags.int32(handles::KUBE_API_BURST),
            // A shadow makes no tokens.
            use_service_account_credentials: !shadow
                && flags.switch(handles::USE_SERVICE_ACCOUNT_CREDENTIALS),
            shadow: shadow.then(|| flags.positive(handles::SHADOW_GRACE_PERIOD)),
            election: Election {
                // A shadow takes no lease.
                leader_elect: !shadow && flags.switch(handles::LEADER_ELECT),
                lease_duration: flags.positive(handles::LEADER_ELECT_LEASE_DURATION),
                renew_deadline: flags.positive(handles::LEADER_ELECT_RENEW_DEADLINE),
                retry_period: flags.positive(handles::LEADER_ELECT_RETRY_PERIOD),
                resource_lock: flags.text(handles::LEADER_ELECT_RESOURCE_LOCK).to_owned(),
                resource_name: flags.text(handles::LEADER_ELECT_RESOURCE_NAME).to_owned(),
                resource_namespace: flags.text(handles::LEADER_ELECT_RESOURCE_NAMESPACE).to_owned(),
            },
            serving: serving::port(&flags),
            guard: serving::guard(&flags),
            authentication_kubeconfig: serving::path(&flags, handles::AUTHENTICATION_KUBECONFIG),
            authorization_kubeconfig: serving::path(&flags, handles::AUTHORIZATION_KUBECONFIG),
            metrics: serving::metrics(&flags),
            profiling: flags.switch(handles::PROFILING),
            controller_start_interval: flags.positive(handles::CONTROLLER_START_INTERVAL),
            controller_shutdown_timeout: flags.positive(handles::CONTROLLER_SHUTDOWN_TIMEOUT),
            resync_period_min: flags.positive(handles::MIN_RESYNC_PERIOD),
            gates,
            log: logging::Settings::from_flags(&flags),
            version: given(handles::VERSION)
                .filter(|how| ["true", "raw"].contains(how))
                .map(str::to_owned),
            flags,
        })
    }

    /// Errors in the combination of flags, one line each, in upstream's order.
    pub fn validate(&self) -> Vec<String> {
        validation::errors(self)
    }

    /// The flags and feature gates that were set and have no effect here; none: there are none.
    pub fn without_effect(&self) -> Option<String> {
        let flags = self.flags.without_effect();
        let gates = self.gates.without_effect(REGISTRY);
        let flags = (!flags.is_empty()).then(|| format!("--{}", flags.join(", --")));
        let gates = (!gates.is_empty()).then(|| format!("feature gates {}", gates.join(", ")));
        let both: Vec<_> = flags.into_iter().chain(gates).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }

    /// Requests per second and burst as upstream's client-go interprets them: 0 means its defaults.
    pub fn limits(&self) -> (f64, u32) {
        if self.kube_api_qps == 0.0 {
            return (5.0, 10);
        }
        (self.kube_api_qps, u32::try_from(self.kube_api_burst).unwrap_or(0))
    }
}

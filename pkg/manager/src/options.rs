//! What the command line says, by the fields that the rest of the program reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::flags::{self, Failure, Flags};
use crate::gates::Gates;
use crate::registry::REGISTRY;
use crate::{logging, serving, validation};

/// The Kubernetes release whose behaviour this binary has, as `--version` and the user agent say.
pub const KUBERNETES_VERSION: &str = "v1.36.3";

/// Everything that the command line says. Names, types and defaults are upstream's.
#[derive(Clone, Debug)]
pub struct Options {
    /// File that says where the API server is and who we are; without it, the service account of
    /// the pod that we run in.
    pub kubeconfig: Option<PathBuf>,
    /// URL of the API server, instead of the kubeconfig's.
    pub master: Option<String>,
    /// Controllers to run: `*`, `name`, `-name`.
    pub controllers: Vec<String>,
    /// Requests per second that each controller may send; see [`Options::limits`].
    pub kube_api_qps: f64,
    /// Requests that each controller may send at once after a pause.
    pub kube_api_burst: i32,
    /// Whether each controller acts as a service account of its own.
    pub use_service_account_credentials: bool,
    /// How leadership is taken.
    pub election: Election,
    /// Where and with what to serve; none: serve nothing.
    pub serving: Option<https::Settings>,
    /// Who may see what is served.
    pub guard: auth::Settings,
    /// For TokenReviews and the lookup of authorities; none: in-cluster, or not at all.
    pub authentication_kubeconfig: Option<PathBuf>,
    /// For SubjectAccessReviews; none: in-cluster, or not at all.
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Which metrics to show.
    pub metrics: metrics::Flags,
    /// Whether to serve profiles.
    pub profiling: bool,
    /// Pause before a controller starts, at most twice as long.
    pub controller_start_interval: Duration,
    /// How long controllers may finish their work; zero: for ever.
    pub controller_shutdown_timeout: Duration,
    /// Informers hand out all they hold after one to two times this long.
    pub resync_period_min: Duration,
    /// Which features are on, and which release to behave as.
    pub gates: Gates,
    /// What to log, and how it looks.
    pub log: logging::Settings,
    /// The version was asked for: `true`, or `raw` for all that is known of it.
    pub version: Option<String>,
    /// All flags, these and the others.
    pub flags: Flags,
}

/// The flags `--leader-elect*`. Whether the times fit together is checked by who uses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// Whether to wait for leadership before any controller runs.
    pub leader_elect: bool,
    /// How long others wait after the leader's last renewal.
    pub lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// Pause between two attempts.
    pub retry_period: Duration,
    /// Kind of the lock object: `leases`.
    pub resource_lock: String,
    /// Name of the lock object.
    pub resource_name: String,
    /// Namespace of the lock object.
    pub resource_namespace: String,
}

impl Options {
    /// Reads the words of the command line, the program's name left out, and the file of
    /// `--config`.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let flags = flags::parse(words)?;
        let gates = Gates::from_flags(&flags).map_err(Failure::Refused)?;
        let given = |name| Some(flags.text(name)).filter(|text| !text.is_empty());
        Ok(Self {
            kubeconfig: serving::path(&flags, "kubeconfig"),
            master: given("master").map(str::to_owned),
            controllers: flags.list("controllers").to_vec(),
            kube_api_qps: flags.float32("kube-api-qps").into(),
            kube_api_burst: flags.int32("kube-api-burst"),
            use_service_account_credentials: flags.switch("use-service-account-credentials"),
            election: Election {
                leader_elect: flags.switch("leader-elect"),
                lease_duration: flags.positive("leader-elect-lease-duration"),
                renew_deadline: flags.positive("leader-elect-renew-deadline"),
                retry_period: flags.positive("leader-elect-retry-period"),
                resource_lock: flags.text("leader-elect-resource-lock").to_owned(),
                resource_name: flags.text("leader-elect-resource-name").to_owned(),
                resource_namespace: flags.text("leader-elect-resource-namespace").to_owned(),
            },
            serving: serving::port(&flags),
            guard: serving::guard(&flags),
            authentication_kubeconfig: serving::path(&flags, "authentication-kubeconfig"),
            authorization_kubeconfig: serving::path(&flags, "authorization-kubeconfig"),
            metrics: serving::metrics(&flags),
            profiling: flags.switch("profiling"),
            controller_start_interval: flags.positive("controller-start-interval"),
            controller_shutdown_timeout: flags.positive("controller-shutdown-timeout"),
            resync_period_min: flags.positive("min-resync-period"),
            gates,
            log: logging::Settings::from_flags(&flags),
            version: given("version")
                .filter(|how| ["true", "raw"].contains(how))
                .map(str::to_owned),
            flags,
        })
    }

    /// What the flags contradict or ask for in vain, one line each, in upstream's order.
    pub fn validate(&self) -> Vec<String> {
        validation::errors(self)
    }

    /// The flags and feature gates that were set and change nothing here; none: there are none.
    pub fn without_effect(&self) -> Option<String> {
        let flags = self.flags.without_effect();
        let gates = self.gates.without_effect(REGISTRY);
        let flags = (!flags.is_empty()).then(|| format!("--{}", flags.join(", --")));
        let gates = (!gates.is_empty()).then(|| format!("feature gates {}", gates.join(", ")));
        let both: Vec<_> = flags.into_iter().chain(gates).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }

    /// Requests per second and burst as upstream's client-go takes them: 0 means its defaults.
    pub fn limits(&self) -> (f64, u32) {
        if self.kube_api_qps == 0.0 {
            return (5.0, 10);
        }
        (self.kube_api_qps, u32::try_from(self.kube_api_burst).unwrap_or(0))
    }
}

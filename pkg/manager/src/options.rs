//! The flags. Names, types and defaults are upstream's.

use std::path::PathBuf;

use clap::{ArgAction, Parser};

/// The Kubernetes release whose behaviour this binary has, as `--version` and the user agent say.
pub const KUBERNETES_VERSION: &str = "v1.36.3";

/// Everything that the command line says.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "kube-controller-manager",
    about = "Runs the controllers of a Kubernetes cluster: loops that watch its state through the \
             API server and move it towards what was asked for.",
    disable_version_flag = true
)]
pub struct Options {
    /// File that says where the API server is and who we are; without it, the service account of
    /// the pod that we run in.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// URL of the API server, instead of the kubeconfig's.
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,

    /// Controllers to run: `*` for all that are on by default, `name` to switch one on, `-name` to
    /// switch one off; of several mentions of one name the first counts.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "*",
        value_name = "NAMES",
        allow_hyphen_values = true
    )]
    pub controllers: Vec<String>,

    /// ReplicaSets that are synced at the same time; 0 or less: none.
    #[arg(long, default_value_t = 5, value_name = "N", allow_hyphen_values = true)]
    pub concurrent_replicaset_syncs: i32,

    /// Requests per second that each controller may send; 0 means 5, less means no limit.
    #[arg(long, default_value_t = 20.0, value_name = "QPS", allow_hyphen_values = true)]
    pub kube_api_qps: f64,

    /// Requests that each controller may send at once after a pause.
    #[arg(long, default_value_t = 30, value_name = "N", allow_hyphen_values = true)]
    pub kube_api_burst: i32,

    /// Whether to wait for leadership before any controller runs.
    #[arg(
        long,
        default_value_t = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = ArgAction::Set,
        value_name = "true|false"
    )]
    pub leader_elect: bool,

    /// How much to log: 0 what was written or went wrong, 4 every decision, 6 every request.
    #[arg(short = 'v', long = "v", default_value_t = 0, value_name = "LEVEL")]
    pub verbosity: u8,

    /// Print the version and quit; `raw` prints all that is known of it.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_name = "true|raw"
    )]
    pub version: Option<String>,
}

impl Options {
    /// What the flags contradict or ask for in vain, one line each.
    pub fn validate(&self) -> Vec<String> {
        let mut errors = Vec::new();
        if self.leader_elect {
            errors.push(
                "--leader-elect: leader election is not there yet; pass --leader-elect=false and \
                 run one manager only"
                    .to_owned(),
            );
        }
        if let Err(error) = crate::selection::select(&self.controllers, crate::registry::REGISTRY) {
            errors.push(error);
        }
        errors
    }

    /// Requests per second and burst as upstream's client-go takes them: 0 means its defaults.
    pub fn limits(&self) -> (f64, u32) {
        if self.kube_api_qps == 0.0 {
            return (5.0, 10);
        }
        (self.kube_api_qps, u32::try_from(self.kube_api_burst).unwrap_or(0))
    }
}

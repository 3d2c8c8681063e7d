//! What the table of controllers says of each.

use crate::options::Options;
use crate::start::{Context, Running};

/// A controller that `--controllers` can name.
pub struct Entry {
    /// Upstream's canonical name.
    pub name: &'static str,
    /// Other names that `--controllers` accepts.
    pub aliases: &'static [&'static str],
    /// Its folder in `pkg/controllers/src`. Each row of the table has one.
    pub folder: Option<&'static str>,
    /// Whether `*` enables it.
    pub on_by_default: bool,
    /// Whether `--controllers` cannot disable it.
    pub always_on: bool,
    /// It runs only if all of these are on.
    pub gates: &'static [&'static str],
    /// Whether it needs a cloud provider. There are none built in, so the product never runs it.
    pub cloud: bool,
    /// Why it cannot run with these options; none: it can.
    pub lacks: fn(&Options) -> Option<&'static str>,
    /// Its service account in `kube-system`, the end of its user agent.
    pub account: &'static str,
    /// The user that it writes as.
    pub user: User,
    /// The source of its Events; none: its name.
    pub event_source: Option<&'static str>,
    /// Its share of `--kube-api-qps` and `--kube-api-burst`.
    pub rate: Rate,
    /// Builds it and subscribes it to the informers. Each row of the table has one.
    pub start: Option<Start>,
}

/// A controller's multiple of the rate limit of the flags.
#[derive(Clone, Copy)]
pub struct Rate {
    /// For `--kube-api-qps`.
    pub qps_factor: f64,
    /// For `--kube-api-burst`.
    pub burst_factor: u32,
}

/// The user that a controller writes as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Its service account, with `--use-service-account-credentials`.
    Account,
    /// The user of the kubeconfig, whatever that flag says.
    Root,
}

/// Builds a controller.
pub type Start = fn(&Entry, &mut Context) -> Running;

/// What most rows have: on by default, no condition.
pub(crate) const DEFAULTS: Entry = Entry {
    name: "",
    aliases: &[],
    folder: None,
    on_by_default: true,
    always_on: false,
    gates: &[],
    cloud: false,
    lacks: |_| None,
    account: "",
    user: User::Account,
    event_source: None,
    rate: Rate { qps_factor: 1.0, burst_factor: 1 },
    start: None,
};

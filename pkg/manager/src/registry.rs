//! THE table of controllers: one row each, sorted by name.
//!
//! `--controllers`, the start-up, the README's table and the tests all read it. Names, aliases and
//! accounts are upstream's (cmd/kube-controller-manager/app/controllermanager.go).

use api::{Kind, ReplicaSet};

use crate::start::{Context, Running};

/// A controller that this binary hosts.
pub struct Entry {
    /// Upstream's canonical name.
    pub name: &'static str,
    /// Other names that `--controllers` takes.
    pub aliases: &'static [&'static str],
    /// Its folder in `pkg/controllers/src`.
    pub folder: &'static str,
    /// Whether `*` switches it on.
    pub on_by_default: bool,
    /// Its service account in `kube-system`, the end of its user agent, the source of its Events.
    pub account: &'static str,
    /// Builds it and subscribes it to the informers.
    pub start: fn(&Entry, &mut Context) -> Running,
}

/// All controllers.
pub static REGISTRY: &[Entry] = &[Entry {
    name: "replicaset-controller",
    aliases: &["replicaset"],
    folder: "replicaset",
    on_by_default: true,
    account: "replicaset-controller",
    start: |entry, context| {
        let workers = usize::try_from(context.options.concurrent_replicaset_syncs).unwrap_or(0);
        let queue = context.queue("replicaset");
        let controller = controllers::replicaset::Controller { burst_replicas: 500 };
        context.start(entry, ReplicaSet::RESOURCE, (queue, workers), controller)
    },
}];

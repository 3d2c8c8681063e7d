//! Attaches volumes to the nodes whose pods need them, and detaches them where no pod does.
//!
//! Reads: Pod, Node, PersistentVolumeClaim, PersistentVolume, CSIDriver, VolumeAttachment; a node
//! live before a volume is detached from it. Writes: VolumeAttachment (created, deleted), Node
//! (`status.volumesAttached`), Event. Upstream: `pkg/controller/volume/attachdetach` and
//! `pkg/volume/csi` (v1.36).
//!
//! # Parts
//! - `attach`, `detach`: the two halves of `decide`, of one volume on one node each.
//! - `changes`: which keys a change enqueues.
//! - `listing`: `volumesAttached` of a node.
//! - `metrics`: what is counted.
//! - `worlds`: what no cache shows.
//!
//! A key is a volume by the name that nodes have for it (`kubernetes.io/csi/driver^handle`), on all
//! nodes, so that no two syncs can attach one volume to two nodes; or a node, whose
//! `volumesAttached` is one list. The state is that of the caches: an attachment of a CSI driver is
//! its VolumeAttachment. What is asked of an attacher is awaited in the cache, without polling.
//!
//! **Invariant:** nothing is detached because a cache lacks something. A volume stays while a pod
//! on the node may need it, also if its claim, its volume or its node cannot be seen or read.
//! **Invariant:** a volume is detached from a node only if its status no longer lists the volume as
//! attached, and a live read says that it is not in use there; or that the node is not ready (or
//! was deleted), and six minutes have passed; or that it has the taint `out-of-service`.
//! **Invariant:** a volume without ReadWriteMany or ReadOnlyMany is attached to no node while
//! another one has it, or may get it.
//!
//! What an event costs: a pod, a look at its claims if it was bound, ended or deleted; a node, a
//! comparison of two lists.
//!
//! Otherwise than upstream: nothing is detached after six minutes from a node that is ready, unless
//! a live read says that the volume is not in use; a volume that cannot be attached to one node is
//! not tried on the next one before the attacher has let go of it, and the pod that waits gets an
//! Event; handles may contain `^`; attachments of volumes that pods name themselves are recovered
//! after a restart, too. FlexVolumes are left alone. The gauge of volumes in use leaves out those
//! of CSI drivers that pods name themselves, which are never attached.

mod attach;
mod changes;
mod decide;
mod detach;
mod listing;
mod metrics;
mod snapshot;
mod worlds;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::Duration;

use api::{
    CsiDriver, Key, Node, PersistentVolume, PersistentVolumeClaim, Pod, Text, VolumeAttachment,
};
use controller::{Count, Enqueue, Facts, Family, News, Plan, View, Watches};

pub use decide::Verdict;
pub use snapshot::Observed;
pub use worlds::Worlds;

/// How many keys are synced at once. Upstream's operations have no limit.
pub const WORKERS: usize = 8;
/// The shortest and the longest pause after a failure. Upstream's exponential back-off of
/// operations.
pub const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(122));

/// The flags.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `--attach-detach-reconcile-sync-period`: for how long a node may list a volume as attached
    /// whose attachment is gone; none: for ever (`--disable-attach-detach-reconcile-sync`).
    pub sync_period: Option<Duration>,
    /// Whether a volume is detached from a node that is not ready after six minutes although it may
    /// be in use there: not with `--disable-force-detach-on-timeout`.
    pub forces_on_timeout: bool,
    /// SHA-256, from which VolumeAttachments have their names.
    pub sha256: fn(&[u8]) -> [u8; 32],
}

/// The controller, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Controller(pub Options);

impl controller::Controller for Controller {
    type Snapshot = Observed;
    type Memory = Worlds;
    type Verdict = Verdict;

    const METRICS: &'static [Family] = metrics::ALL;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Pod>(|_, change, view, queue| changes::pod(change, view, queue));
        table.on::<PersistentVolumeClaim>(|_, change, view, queue| {
            changes::claim(change, view, queue);
        });
        table.remembers::<PersistentVolume>(|_, worlds, change, view, queue| {
            changes::volume(worlds, change, view, queue);
        });
        table.remembers::<CsiDriver>(|_, worlds, change, view, queue| {
            changes::driver(worlds, change, view, queue);
        });
        table.remembers::<VolumeAttachment>(|_, worlds, change, view, queue| {
            changes::attachment(worlds, change, view, queue);
        });
        table.remembers::<Node>(|_, worlds, change, view, queue| {
            changes::node(worlds, change, view, queue);
        });
    }

    fn named(&self, key: &Key, worlds: &Worlds) -> Option<Key> {
        worlds.volume_called(&key.name).filter(|_| key.namespace.is_empty())
    }

    fn observe(&self, key: &Key, view: &View<'_>, worlds: &Worlds) -> Option<Observed> {
        snapshot::observe(self.0, key, view, worlds)
    }

    fn decide(&self, observed: &Observed, facts: &Facts) -> (Plan, Verdict) {
        match observed {
            Observed::Volume(volume) => decide::decide(volume, facts),
            Observed::Node(node) => listing::decide(node, facts),
        }
    }

    fn summary(&self, observed: &Observed) -> Vec<(&'static str, String)> {
        observed.summary()
    }

    fn gauges(&self, view: &View<'_>, worlds: &Worlds) -> Vec<Count> {
        metrics::gauges(view, worlds)
    }

    fn remember(&self, worlds: &mut Worlds, news: News<'_, Self>, queue: &mut Enqueue) {
        match news {
            News::Acted { snapshot: Observed::Volume(volume), verdict, .. } => {
                worlds.acted(&volume.volume, verdict, queue);
            }
            News::Acted { snapshot: Observed::Node(node), verdict, .. } => {
                worlds.listed(&node.node.meta.key.name, node.uptime, verdict);
            }
            News::Gone(key) => worlds.gone(key),
            News::Answered { .. } => {}
        }
    }
}

/// The key of a volume.
fn volume_key(volume: &str) -> Key {
    Key::parse(volume)
}

/// The key of a node.
fn node_key(node: &str) -> Key {
    Key::new("", node)
}

/// The name of the VolumeAttachment of a CSI driver's volume on a node. As `getAttachmentName` in
/// upstream's pkg/volume/csi.
fn attachment_name(options: &Options, (driver, handle): (&str, &str), node: &str) -> Text {
    let digest = (options.sha256)(format!("{handle}{driver}{node}").as_bytes());
    let name = digest.iter().fold(String::from("csi-"), |mut name, byte| {
        write!(name, "{byte:02x}").expect("a string takes all that is written");
        name
    });
    name.into()
}

//! What a decision about an autoscaler looks at.

use std::sync::Arc;
use std::time::Duration;

use api::{HorizontalPodAutoscaler, Key, Pod, Served, Time};
use controller::View;

use super::Options;
use super::custom::Version;
use super::memory::{Memory, Past, Selectors};

/// An autoscaler at one moment. The pods that count are known once the scale is read: its selector
/// says which they are.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The same on the clock that cannot be set.
    pub uptime: Duration,
    /// The flags and gates.
    pub options: Options,
    /// The autoscaler.
    pub autoscaler: Arc<HorizontalPodAutoscaler>,
    /// All pods of the namespace, sorted by name.
    pub pods: Vec<Arc<Pod>>,
    /// The selectors of the targets of all autoscalers of the namespace, as they were read last.
    pub selectors: Arc<Selectors>,
    /// What it did before.
    pub past: Past,
    /// What the API server served a moment ago.
    pub served: Option<Arc<Served>>,
    /// The version of the custom metrics API a moment ago.
    pub custom: Option<Version>,
}

pub(super) fn observe(
    options: &Options,
    key: &Key,
    view: &View<'_>,
    memory: &Memory,
) -> Option<Snapshot> {
    let autoscaler = view.of::<HorizontalPodAutoscaler>().get(key)?;
    Some(Snapshot {
        now: view.now,
        uptime: view.uptime,
        options: *options,
        pods: view.of::<Pod>().by(Pod::BY_NAMESPACE, &key.namespace),
        selectors: memory.selectors(&key.namespace),
        past: memory.past(key, &autoscaler.meta.uid),
        served: memory.served(view.uptime),
        custom: memory.custom(view.uptime, options.sync_period),
        autoscaler,
    })
}

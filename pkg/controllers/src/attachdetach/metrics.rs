//! What is counted. Upstream's attachdetach/metrics and pkg/volume/util/metrics.go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::VolumeAttachment;
use api::{AttachPlugin, Key, Node, PersistentVolume, PersistentVolumeClaim, Pod, Text};
use controller::{Count, Family, View};

use super::changes::of_attachment;
use super::node_key;
use super::snapshot::Snapshot;
use super::worlds::Worlds;

/// As upstream's `ForceDetachMetricCounter`, whose name says it twice.
pub(super) const FORCED_DETACHES: Family = Family::counter(
    "attach_detach_controller_attachdetach_controller_forced_detaches",
    "[ALPHA] Number of times the A/D Controller performed a forced detach",
)
.labels(&["reason"]);
const IN_USE: Family = Family::gauge(
    "storage_count_attachable_volumes_in_use",
    "[ALPHA] Measure number of volumes in use",
)
.labels(&["node", "volume_plugin"]);
const TOTAL: Family = Family::gauge(
    "attachdetach_controller_total_volumes",
    "[ALPHA] Number of volumes in A/D Controller",
)
.labels(&["plugin_name", "state"]);
const OPERATION: Family = Family::histogram(
    "storage_operation_duration_seconds",
    "[ALPHA] Storage operation duration",
    &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0],
)
.labels(&["volume_plugin", "operation_name", "status", "migrated"]);

pub(super) const ALL: &[Family] = &[FORCED_DETACHES, IN_USE, TOTAL, OPERATION];

/// An operation that began then and has ended so.
pub(super) fn operation(s: &Snapshot, name: &str, ended: Result<(), ()>, since: Duration) -> Count {
    let took = s.uptime.saturating_sub(since).as_secs_f64();
    let plugin = AttachPlugin::name_of(&s.volume);
    let status = if ended.is_ok() { "success" } else { "fail-unknown" };
    let migrated = s.is_migrated.to_string();
    Count::of(&OPERATION, took).labels([&*plugin, name, status, &migrated])
}

/// As `attachDetachStateCollector`.
#[expect(clippy::cast_precision_loss, reason = "there are fewer volumes")]
pub(super) fn gauges(view: &View<'_>, worlds: &Worlds) -> Vec<Count> {
    let mut in_use: BTreeMap<(Text, String), usize> = BTreeMap::new();
    let mut desired: BTreeSet<(Text, Text)> = BTreeSet::new();
    for pod in view.of::<Pod>().all() {
        let Some(node) = &pod.node_name else { continue };
        if pod.claims.is_empty() && pod.inline_volumes().is_empty() {
            continue;
        }
        let cached = view.of::<Node>().get(&node_key(node));
        let counts = !pod.is_over() && cached.is_some_and(|node| node.is_attached_for);
        for volume in volumes(&pod, view) {
            *in_use.entry((node.clone(), AttachPlugin::name_of(&volume))).or_default() += 1;
            if counts {
                desired.insert((node.clone(), volume));
            }
        }
    }
    let in_use = in_use
        .into_iter()
        .map(|((node, plugin), count)| Count::of(&IN_USE, count as f64).labels([&*node, &*plugin]));
    let desired = totals("desired_state_of_world", &desired);
    let actual = totals("actual_state_of_world", &actual(view, worlds));
    in_use.chain(desired).chain(actual).collect()
}

/// The volumes that may be attached, by node.
fn actual(view: &View<'_>, worlds: &Worlds) -> BTreeSet<(Text, Text)> {
    let attachments = view.of::<VolumeAttachment>().all();
    let attachments = attachments
        .iter()
        .filter_map(|it| Some((it.node.clone()?, of_attachment(it, view, Some(worlds))?)));
    let listed = worlds.all_listed().map(|(node, volume)| (node.clone(), volume.clone()));
    attachments.chain(listed).collect()
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer volumes")]
fn totals(state: &str, of: &BTreeSet<(Text, Text)>) -> Vec<Count> {
    let mut totals: BTreeMap<String, usize> = BTreeMap::new();
    for (_, volume) in of {
        *totals.entry(AttachPlugin::name_of(volume)).or_default() += 1;
    }
    let count = |(plugin, count): (String, usize)| {
        Count::of(&TOTAL, count as f64).labels([&*plugin, state])
    };
    totals.into_iter().map(count).collect()
}

/// The volumes that a pod uses, as far as they are known.
fn volumes(pod: &Pod, view: &View<'_>) -> Vec<Text> {
    let claims = pod.claims.iter().filter_map(|(name, _)| {
        let key = Key { namespace: pod.meta.key.namespace.clone(), name: name.clone() };
        let claim = view.of::<PersistentVolumeClaim>().get(&key)?;
        let name = claim.volume.as_ref().filter(|_| claim.is_bound)?;
        let volume = view.of::<PersistentVolume>().get(&Key::new("", name))?;
        let is_its = volume.claim_uid.as_ref() == Some(&claim.meta.uid);
        volume.attached_as.clone().filter(|_| is_its)
    });
    claims.chain(pod.inline_volumes().iter().map(|inline| inline.volume.clone())).collect()
}

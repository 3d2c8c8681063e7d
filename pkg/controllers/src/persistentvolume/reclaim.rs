//! What becomes of a volume without a claim. As `reclaimVolume`, `deleteVolumeOperation` and
//! `findDeletablePlugin` in upstream's `pv_controller.go`.

use api::{InTreePlugin, Text, VolumePhase, VolumeSource};
use controller::{Action, EventType, Facts, Plan, Step, When};

use super::annotations::{IN_TREE, MIGRATED_TO, PROVISIONED_BY};
use super::provisioning::HOST_PATH;
use super::volumes::{VolumeSnapshot, VolumeVerdict, event, phase_write, resting};
use super::{metrics, recycling};

/// Upstream's name for who does something, if it is not known.
const UNKNOWN: &str = "N/A";

/// Who deletes a volume.
enum Deleter {
    /// An external provisioner.
    External,
    /// The plugin for folders of the controller's own host.
    HostPath,
    /// Nobody can.
    Nobody(String),
}

/// Whether anything is written for the volume once its claim is deleted.
pub(super) fn writes(s: &VolumeSnapshot) -> bool {
    if !s.is_released() {
        return true;
    }
    if s.is_migrated() {
        return false;
    }
    let is_failed = s.volume.phase == VolumePhase::Failed;
    match &*s.volume.reclaim_policy {
        "Recycle" => true,
        "Retain" => false,
        "Delete" => !is_failed && !matches!(deleter(s), Deleter::External),
        _ => !is_failed,
    }
}

/// The claim that the volume had was deleted, or needs it no longer.
pub(super) fn released(s: &VolumeSnapshot, why: &str, facts: &Facts) -> (Plan, VolumeVerdict) {
    let is_deleted = &*s.volume.reclaim_policy == "Delete" && !s.is_migrated();
    let deleter = is_deleted.then(|| plugin_name(s));
    let (plan, verdict) = if s.is_released() {
        reclaim(s, why, facts)
    } else {
        // The next sync reclaims it.
        let write = phase_write(s, VolumePhase::Released, "");
        resting(Plan::one(why.to_owned(), Step::InOrder(vec![write.into()])))
    };
    (plan, VolumeVerdict { deleter, ..verdict })
}

fn reclaim(s: &VolumeSnapshot, why: &str, facts: &Facts) -> (Plan, VolumeVerdict) {
    if s.is_migrated() {
        let driver = s.annotations.get(MIGRATED_TO).map(String::as_str).unwrap_or_default();
        return resting(Plan::rest(format!("{why}; CSI driver {driver} reclaims it")));
    }
    match &*s.volume.reclaim_policy {
        "Retain" => resting(Plan::rest(format!("{why}; it is retained for a person to reclaim"))),
        "Recycle" => recycling::recycle(s, why, facts),
        "Delete" => resting(delete(s, why)),
        _ => {
            let message = "Volume has unrecognized PersistentVolumeReclaimPolicy".to_owned();
            resting(failed(s, why, ("VolumeUnknownReclaimPolicy", message), Vec::new()))
        }
    }
}

fn delete(s: &VolumeSnapshot, why: &str) -> Plan {
    let error = match deleter(s) {
        Deleter::External => {
            let name = s.annotations.get(PROVISIONED_BY).map(String::as_str);
            let name = name.or(s.provisioner.as_deref()).unwrap_or("that made it");
            return Plan::rest(format!("{why}; the external provisioner {name} is to delete it"));
        }
        Deleter::Nobody(error) => error,
        Deleter::HostPath => host_path_error(s),
    };
    failed(s, why, ("VolumeFailedDelete", error), Vec::new())
}

/// Why the folder of a volume is not deleted. Upstream deletes those whose path holds `/tmp/` and
/// more, on the host that it runs on.
fn host_path_error(s: &VolumeSnapshot) -> String {
    if s.volume.source != VolumeSource::HostPath {
        let name = &*s.volume.meta.key.name;
        let error = "spec.PersistentVolumeSource.HostPath is nil";
        return format!("failed to create deleter for volume {name:?}: {error}");
    }
    let path = recycling::source_of(&s.volume, "hostPath");
    let path = path["path"].as_str().unwrap_or_default();
    if path.split_once("/tmp/").is_some_and(|(_, rest)| !rest.is_empty()) {
        return format!("host_path deleter is not built in, {path} has to be deleted by hand");
    }
    format!("host_path deleter only supports /tmp/.+ but received provided {path}")
}

/// The volume as `Failed`, with the reason and message of the event, after these actions; as it is,
/// if it is so already. As `updateVolumePhaseWithEvent`.
pub(super) fn failed(
    s: &VolumeSnapshot,
    why: &str,
    (reason, text): (&'static str, String),
    mut actions: Vec<Action>,
) -> Plan {
    let why = format!("{why}; {text}");
    if s.volume.phase != VolumePhase::Failed {
        let counts = s.deleting.as_ref().filter(|it| *it.plugin == *HOST_PATH);
        let counts = counts.map(|it| metrics::errors(it, metrics::DELETE, When::Always));
        let write = phase_write(s, VolumePhase::Failed, &text);
        actions.push(write.counted(counts.unwrap_or_default()).into());
        actions.push(event(s, EventType::Warning, reason, text));
    }
    if actions.is_empty() {
        return Plan::rest(why);
    }
    Plan::one(why, Step::InOrder(actions))
}

/// As `findDeletablePlugin`.
fn deleter(s: &VolumeSnapshot) -> Deleter {
    let no_plugin = "no deletable volume plugin matched";
    match s.annotations.get(PROVISIONED_BY).map(String::as_str).filter(|name| !name.is_empty()) {
        Some(HOST_PATH) => return Deleter::HostPath,
        Some("kubernetes.io/nfs") => return Deleter::Nobody(no_plugin.to_owned()),
        Some(name) if name.starts_with(IN_TREE) => {
            return Deleter::Nobody(format!("no volume plugin matched name: {name}"));
        }
        Some(_) => return Deleter::External,
        None => {}
    }
    if s.annotations.contains_key(MIGRATED_TO) {
        return Deleter::External;
    }
    let error = match s.volume.source {
        VolumeSource::Csi => return Deleter::External,
        VolumeSource::HostPath => return Deleter::HostPath,
        VolumeSource::Nfs => no_plugin,
        VolumeSource::Other => "no volume plugin matched",
    };
    let name = &*s.volume.meta.key.name;
    Deleter::Nobody(format!("error getting deleter volume plugin for volume {name:?}: {error}"))
}

/// Who deletes the volume, for metrics. As `getProvisionerNameFromVolume`.
fn plugin_name(s: &VolumeSnapshot) -> Text {
    match (deleter(s), &s.provisioner) {
        (Deleter::HostPath, _) => HOST_PATH.into(),
        (Deleter::External, Some(name)) => {
            InTreePlugin::named(name).map_or_else(|| name.clone(), |plugin| plugin.driver.into())
        }
        (Deleter::External, None) | (Deleter::Nobody(_), _) => UNKNOWN.into(),
    }
}

//! Who makes a volume for a claim. As `provisionClaim`, `provisionClaimOperation` and
//! `provisionClaimOperationExternal` in upstream's `pv_controller.go`.

use std::sync::Arc;

use api::{InTreePlugin, Kind, PersistentVolumeClaim, StorageClass, Text};
use controller::{Action, Announce, EventType, ObjectRef, Plan, Step, Write};

use super::annotations::{BETA_PROVISIONER, IN_TREE, MIGRATED_TO, PROVISIONER, edit};
use super::decide::{Verdict, event};
use super::snapshot::Snapshot;
use super::{binding, metrics};

pub(super) const HOST_PATH: &str = "kubernetes.io/host-path";
const NFS: &str = "kubernetes.io/nfs";
const FAILED: &str = "ProvisioningFailed";

/// Who makes the volumes of a class. As `findProvisionablePlugin`.
enum Provisioner {
    /// Somebody else, of this name.
    External(Text),
    /// The plugin for folders of the controller's own host.
    HostPath,
    /// Nobody.
    Nobody(String),
}

pub(super) fn provision(s: &Snapshot, class_name: &str) -> (Plan, Verdict) {
    if !s.provisions {
        let why = "no volume fits, and none is asked for: dynamic provisioning is off";
        return (Plan::rest(why).again_after(Some(s.sync_period)), Verdict::default());
    }
    let Some(class) = &s.class else {
        let message = format!("storageclass.storage.k8s.io {class_name:?} not found");
        return (fails(s, message), Verdict::default());
    };
    match of(&class.provisioner) {
        Provisioner::External(name) => external(s, name),
        Provisioner::HostPath => host_path(s, class),
        Provisioner::Nobody(message) => (fails(s, message), Verdict::default()),
    }
}

fn of(name: &Text) -> Provisioner {
    if let Some(plugin) = InTreePlugin::named(name) {
        return Provisioner::External(plugin.driver.into());
    }
    match &**name {
        HOST_PATH => Provisioner::HostPath,
        NFS => Provisioner::Nobody("no provisionable volume plugin matched".to_owned()),
        name if name.starts_with(IN_TREE) => {
            Provisioner::Nobody(format!("no volume plugin matched name: {name}"))
        }
        _ => Provisioner::External(name.clone()),
    }
}

fn external(s: &Snapshot, name: Text) -> (Plan, Verdict) {
    let mut actions: Vec<Action> = Vec::new();
    if let Some(write) = name_provisioner(s, &name) {
        let about = Arc::new(ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &s.claim.meta));
        let failed = (FAILED, "Error saving claim: ".into());
        let announce = Announce { about, done: None, failed, silent: &[] };
        let counts = s.started.as_ref().map(|it| metrics::failed(it, metrics::PROVISION));
        let write = write.announced(announce).counted(counts.unwrap_or_default());
        actions.push(write.into());
    }
    let message = format!(
        "Waiting for a volume to be created either by the external provisioner '{name}' or \
         manually by the system administrator. If volume creation is delayed, please verify that \
         the provisioner is running and correctly registered."
    );
    actions.push(event(s, EventType::Normal, "ExternalProvisioning", message));
    let why = format!("no volume fits, and provisioner {name} is asked for one");
    let plan = Plan::one(why, Step::InOrder(actions)).again_after(Some(s.sync_period));
    (plan, Verdict { asked: Some(name), ..Verdict::default() })
}

/// The folder is not made, as if the plugin were not enabled.
fn host_path(s: &Snapshot, class: &StorageClass) -> (Plan, Verdict) {
    let verdict = Verdict { asked: Some(HOST_PATH.into()), ..Verdict::default() };
    if s.binding.has_data_source {
        let message = format!(
            "plugin {HOST_PATH:?} is not a CSI plugin. Only CSI plugin can provision a claim with \
             a datasource"
        );
        return (fails(s, message), verdict);
    }
    let message = if class.mount_options.is_empty() {
        format!(
            "Failed to create provisioner: provisioning in volume plugin {HOST_PATH:?} is disabled"
        )
    } else {
        let options: Vec<_> = class.mount_options.iter().map(|option| &**option).collect();
        format!(
            "Mount options are not supported by the provisioner but StorageClass {:?} has mount \
             options [{}]",
            &*class.meta.key.name,
            options.join(" ")
        )
    };
    let mut plan = fails(s, message);
    if let Some(write) = name_provisioner(s, HOST_PATH)
        && let Some(Step::InOrder(actions)) = plan.steps.first_mut()
    {
        actions.insert(0, write.into());
    }
    (plan, verdict)
}

/// The claim says who is to make its volume; none: it does already. As `setClaimProvisioner`.
fn name_provisioner(s: &Snapshot, name: &str) -> Option<Write> {
    let annotations = &s.binding.annotations;
    if annotations.get(PROVISIONER).is_some_and(|known| *known == *name) {
        return None;
    }
    let mut edits = vec![edit(BETA_PROVISIONER, name), edit(PROVISIONER, name)];
    if annotations.get(MIGRATED_TO).is_some_and(|driver| !driver.is_empty()) {
        edits.push(edit(MIGRATED_TO, serde_json::Value::Null));
    }
    Some(binding::update(s, edits))
}

fn fails(s: &Snapshot, message: String) -> Plan {
    let event = event(s, EventType::Warning, FAILED, message.clone());
    Plan::one(message, Step::InOrder(vec![event])).again_after(Some(s.sync_period))
}

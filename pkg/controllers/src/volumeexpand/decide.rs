//! Who expands a claim. As `syncHandler` in upstream's
//! `pkg/controller/volume/expand/expand_controller.go`.

use std::sync::Arc;

use api::{InTreePlugin, Key, Kind, PersistentVolume, PersistentVolumeClaim};
use controller::{Action, Announce, Event, EventType, Facts, ObjectRef, Plan, Query, Step, Write};
use mutant::Mutant;
use serde_json::json;

use super::snapshot::Snapshot;

const REASON: &str = "ExternalExpanding";

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> Plan {
    let claim = &*s.claim;
    if let Some(error) = &claim.unreadable {
        return Plan::rest(format!("the claim cannot be read: {error}"));
    }
    let Some(name) = &claim.volume else {
        let error = "failed to get PV \"\": resource name may not be empty";
        return Plan::failed("the claim names no volume", error);
    };
    let query = Query::view::<PersistentVolume>(Key::new("", name));
    let Some(answer) = facts.get(&query) else {
        let why = format!("does volume {name} have to grow? It is read live");
        return Plan::fetch(why, vec![query]);
    };
    match answer.view::<PersistentVolume>() {
        Ok(Some(volume)) => with_volume(claim, volume),
        Ok(None) => {
            let error = format!("failed to get PV {name:?}: persistentvolumes {name:?} not found");
            Plan::failed(format!("volume {name} does not exist"), error)
        }
        Err(refused) => {
            let error = format!("failed to get PV {name:?}: {}", refused.text);
            Plan::failed(format!("volume {name} cannot be read"), error)
        }
    }
}

fn with_volume(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Plan {
    let name = &volume.meta.key.name;
    if let Some(error) = &volume.unreadable {
        return Plan::rest(format!("volume {name} cannot be read: {error}"));
    }
    let key = &claim.meta.key;
    let is_bound_here = volume.claim.as_ref().is_some_and(|it| it.namespace == key.namespace)
        && volume.claim_uid.as_ref() == Some(&claim.meta.uid);
    if !is_bound_here && !mutant::is(Mutant::GrowsForOthers) {
        let error = format!("persistent Volume is not bound to PVC being updated : {key}");
        return Plan::failed(format!("volume {name} is bound to another claim"), error);
    }
    if claim.request <= claim.capacity && !volume.is_being_resized {
        return Plan::rest("the claim has what it asks for");
    }
    if let Some(plugin) = &volume.plugin {
        return migrated(claim, plugin);
    }
    if volume.is_flex {
        return Plan::rest("a FlexVolume is not expanded");
    }
    let waits = "waiting for an external controller to expand this PVC";
    Plan::one(waits, Step::InOrder(vec![event(claim, waits.to_owned())]))
}

/// Names the resizer of the CSI driver that has replaced this plugin. As `SetClaimResizer` in
/// upstream's pkg/volume/util/resize_util.go.
fn migrated(claim: &PersistentVolumeClaim, plugin: &InTreePlugin) -> Plan {
    let waits = format!(
        "CSI migration enabled for {}; waiting for external resizer to expand the pvc",
        plugin.name
    );
    let mut actions = vec![event(claim, waits.clone())];
    if claim.resizer.as_deref() != Some(plugin.driver) {
        actions.push(name_resizer(claim, plugin.driver).into());
    }
    Plan::one(waits, Step::InOrder(actions))
}

fn name_resizer(claim: &PersistentVolumeClaim, driver: &str) -> Write {
    let (meta, key) = (&claim.meta, &claim.meta.key);
    let object = ObjectRef::new(&PersistentVolumeClaim::RESOURCE, meta);
    let failed = format!(
        "error setting resizer annotation to pvc {key}, with error patchPVCStatus failed to patch \
         PVC {:?}: ",
        &*key.name
    );
    let about = Arc::new(object.clone());
    let announce = Announce { about, done: None, failed: (REASON, failed.into()), silent: &[] };
    let body = json!({"metadata": {
        "uid": &*meta.uid,
        "resourceVersion": meta.resource_version.to_string(),
        "annotations": {(PersistentVolumeClaim::RESIZER): driver},
    }});
    Write::strategic(object, body.to_string()).at("status").announced(announce)
}

fn event(claim: &PersistentVolumeClaim, message: String) -> Action {
    let about = Arc::new(ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &claim.meta));
    Action::Event(Event { about, r#type: EventType::Normal, reason: REASON.into(), message })
}

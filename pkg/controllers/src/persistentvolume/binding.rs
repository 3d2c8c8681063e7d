//! The writes that bind a claim and a volume. As `bind`, `bindVolumeToClaim`, `bindClaimToVolume`
//! and `updateClaimStatus` in upstream's `pv_controller.go`.

use api::{Edit, Kind, PersistentVolume, PersistentVolumeClaim};
use apimachinery::Quantity;
use controller::{Action, ObjectRef, Plan, Retry, Step, Why, Write};
use serde_json::{Value, json};

use super::annotations::{BOUND_BY_CONTROLLER, edit};
use super::decide::Verdict;
use super::metrics;
use super::snapshot::Snapshot;

/// What is to be done next to bind them.
pub(super) fn bind(s: &Snapshot, volume: &PersistentVolume) -> (Plan, Verdict) {
    let name = &volume.meta.key.name;
    let of_volume = volume_edits(s, volume);
    let of_claim = claim_edits(s, volume);
    let mut verdict = Verdict::default();
    if of_volume.is_empty() && of_claim.is_empty() {
        return if volume.is_bound() {
            completed(s, volume)
        } else {
            (Plan::rest(format!("volume {name} has the claim, and is not Bound yet")), verdict)
        };
    }
    let mut steps = Vec::new();
    if !of_volume.is_empty() {
        let object = ObjectRef::new(&PersistentVolume::RESOURCE, &volume.meta);
        let update = Write::update(object, volume.raw.clone(), of_volume);
        steps.push(Step::InOrder(vec![counted(s, update)]));
        verdict.took = Some((name.clone(), volume.meta.resource_version));
    }
    if !of_claim.is_empty() {
        steps.push(Step::InOrder(vec![counted(s, update(s, of_claim))]));
    }
    (Plan { why: format!("binds it to volume {name}").into(), steps, ..Plan::default() }, verdict)
}

/// Both name each other: the claim's status follows.
fn completed(s: &Snapshot, volume: &PersistentVolume) -> (Plan, Verdict) {
    let name = &volume.meta.key.name;
    let verdict = Verdict { is_bound: true, ..Verdict::default() };
    if s.binding.phase != "Bound" && volume.capacity.is_none() {
        let error = format!("PersistentVolume {name:?} is without a storage capacity");
        return (Plan::failed(format!("volume {name} has no capacity"), error), verdict);
    }
    let edits = status_edits(s, "Bound", Some(volume));
    if edits.is_empty() {
        return (Plan::rest(format!("bound to volume {name}")), verdict);
    }
    let Some(started) = &s.started else {
        let why = format!("volume {name} is Bound, and so is the claim");
        return (Plan::one(why, Step::InOrder(vec![status(s, edits).into()])), verdict);
    };
    let write = status(s, edits);
    let write = write.counted(metrics::ended(started, metrics::PROVISION));
    let why = format!("volume {name} was made and is Bound, and so is the claim");
    (Plan::one(why, Step::InOrder(vec![write.into()])), verdict)
}

/// What makes the volume the claim's. As `GetBindVolumeToClaim` in component-helpers.
fn volume_edits(s: &Snapshot, volume: &PersistentVolume) -> Vec<Edit> {
    let (meta, mut edits) = (&s.claim.meta, Vec::new());
    let is_same =
        volume.claim.as_ref() == Some(&meta.key) && volume.claim_uid.as_deref() == Some(&*meta.uid);
    if !is_same {
        let reference = json!({
            "kind": "PersistentVolumeClaim",
            "namespace": &*meta.key.namespace,
            "name": &*meta.key.name,
            "uid": &*meta.uid,
            "apiVersion": "v1",
            "resourceVersion": meta.resource_version.to_string(),
        });
        edits.push(Edit::new(["spec", "claimRef"], reference));
    }
    // One that a person kept for the claim stays that person's.
    let is_marked = || volume.raw.annotations().contains_key(BOUND_BY_CONTROLLER);
    if !volume.is_of(&s.claim) && !is_marked() {
        edits.push(edit(BOUND_BY_CONTROLLER, "yes"));
    }
    edits
}

/// What makes the claim the volume's.
fn claim_edits(s: &Snapshot, volume: &PersistentVolume) -> Vec<Edit> {
    let (name, mut edits) = (&volume.meta.key.name, Vec::new());
    if s.claim.volume.as_ref() != Some(name) {
        edits.push(Edit::new(["spec", "volumeName"], (**name).into()));
        if !s.has(BOUND_BY_CONTROLLER) {
            edits.push(edit(BOUND_BY_CONTROLLER, "yes"));
        }
    }
    if !s.claim.is_bind_completed {
        edits.push(edit(PersistentVolumeClaim::BIND_COMPLETED, "yes"));
    }
    edits
}

/// What gives the claim's status this phase and what follows from its volume.
pub(super) fn status_edits(
    s: &Snapshot,
    phase: &'static str,
    volume: Option<&PersistentVolume>,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut set = |name: &str, known: &Value, value: Value| {
        if *known != value {
            edits.push(Edit::new(["status", name], value));
        }
    };
    let is_changed = s.binding.phase != phase;
    set("phase", &Value::from(&*s.binding.phase), phase.into());
    let class = &s.binding.status_attributes_class;
    let Some(volume) = volume else {
        set("accessModes", &s.binding.status_modes, Value::Null);
        set("capacity", &s.binding.status_capacity, Value::Null);
        set("currentVolumeAttributesClassName", class, Value::Null);
        return edits;
    };
    let spec = volume.raw.field("spec").map(|spec| serde_json::from_str(spec.get()));
    let spec: Value = spec.and_then(Result::ok).unwrap_or_default();
    set("accessModes", &s.binding.status_modes, spec["accessModes"].clone());
    // What it holds may differ later: the filesystem grows after the device.
    if is_changed && let Some(capacity) = capacity(s, volume, &spec) {
        set("capacity", &s.binding.status_capacity, capacity);
    }
    // Later it is the resizer's.
    if s.binding.phase == "Pending" {
        set("currentVolumeAttributesClassName", class, spec["volumeAttributesClassName"].clone());
    }
    edits
}

/// The capacity that a claim gets from its volume; none: the one that it has is right.
fn capacity(s: &Snapshot, volume: &PersistentVolume, spec: &Value) -> Option<Value> {
    let (known, all) = (&s.binding.status_capacity, &spec["capacity"]);
    if volume.is_being_resized {
        let annotations = volume.raw.annotations();
        let before = annotations.get(PersistentVolume::PRE_RESIZE);
        let before = before.and_then(|before| Quantity::canonical(before).ok());
        let mut capacity = if known.is_object() { known.clone() } else { json!({}) };
        capacity["storage"] = before.map_or_else(|| all["storage"].clone(), Value::from);
        return Some(capacity);
    }
    let has = known.get("storage").and_then(Quantity::from_json);
    (has.is_none() || has != volume.capacity).then(|| all.clone())
}

/// Writes the claim.
pub(super) fn update(s: &Snapshot, edits: Vec<Edit>) -> Write {
    let object = ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &s.claim.meta);
    Write::update(object, s.claim.raw.clone(), edits)
}

/// Writes the claim's status.
pub(super) fn status(s: &Snapshot, edits: Vec<Edit>) -> Write {
    let object = ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &s.claim.meta);
    Write::status(object, s.claim.raw.clone(), edits, Retry::Never)
}

/// The claim without a volume in this phase, after these actions; looked at again each period.
pub(super) fn unbound(
    s: &Snapshot,
    why: impl Into<Why>,
    phase: &'static str,
    mut actions: Vec<Action>,
) -> Plan {
    let edits = status_edits(s, phase, None);
    if !edits.is_empty() {
        actions.push(status(s, edits).into());
    }
    let plan =
        if actions.is_empty() { Plan::rest(why) } else { Plan::one(why, Step::InOrder(actions)) };
    plan.again_after(Some(s.sync_period))
}

fn counted(s: &Snapshot, write: Write) -> Action {
    let counts = s.started.as_ref().map(|it| metrics::failed(it, metrics::PROVISION));
    write.counted(counts.unwrap_or_default()).into()
}

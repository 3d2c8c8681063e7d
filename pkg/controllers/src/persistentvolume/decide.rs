//! Which volume a claim gets. As `syncClaim` in upstream's
//! `pkg/controller/volume/persistentvolume/pv_controller.go`.

use std::sync::Arc;

use api::{BindingMode, Edit, Kind, PersistentVolume, PersistentVolumeClaim, Text};
use controller::{Action, Count, Event, EventType, ObjectRef, Plan, Step, When};

use super::annotations::{
    BETA_PROVISIONER, BOUND_BY_CONTROLLER, PROVISIONER, SELECTED_NODE, migration,
};
use super::binding::{bind, status, status_edits, unbound, update};
use super::matching::{Waits, best, misfit};
use super::snapshot::Snapshot;
use super::{metrics, provisioning};

/// What the memory learns of a sync.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The volume that the first step makes the claim's, and the version that it had.
    pub(super) took: Option<(Text, u64)>,
    /// Who is asked for a volume.
    pub(super) asked: Option<Text>,
    /// Whether the claim is bound once the plan is done.
    pub(super) is_bound: bool,
}

pub(super) fn decide(s: &Snapshot) -> (Plan, Verdict) {
    if let Some(error) = &s.unreadable {
        return resting(Plan::rest(format!("the claim cannot be read: {error}")));
    }
    let edit = migration(&s.binding.annotations, &[PROVISIONER, BETA_PROVISIONER]);
    if let Some(edit) = edit {
        let why = "its annotation of the CSI driver that does a plugin's work is wrong";
        return resting(Plan::one(why, Step::InOrder(vec![update(s, vec![edit]).into()])));
    }
    match (s.claim.is_bind_completed, &s.claim.volume) {
        (false, None) => any_volume(s),
        (false, Some(name)) => named_volume(s, name),
        (true, None) => {
            let message = "Bound claim has lost reference to PersistentVolume. Data on the volume \
                           is lost!";
            resting(lost(s, "ClaimLost", message))
        }
        (true, Some(name)) => bound(s, name),
    }
}

/// The first part of `syncUnboundClaim`: the claim takes any volume that fits.
fn any_volume(s: &Snapshot) -> (Plan, Verdict) {
    let mut waits = Waits::No;
    if let Some(class) = &s.class {
        let name = &class.meta.key.name;
        if let Some(error) = &class.unreadable {
            let error = format!("StorageClass {name:?}: {error}");
            return resting(Plan::failed_quietly("its StorageClass cannot be read", error));
        }
        match class.binding {
            Some(BindingMode::WaitForFirstConsumer) => waits = Waits::ForConsumer,
            Some(BindingMode::Immediate) => {}
            None => {
                let error = format!("VolumeBindingMode not set for StorageClass {name:?}");
                return resting(Plan::failed_quietly("its StorageClass is incomplete", error));
            }
        }
    }
    match best(s, waits) {
        Ok(Some(volume)) => bind(s, volume),
        Ok(None) => no_volume(s, waits),
        Err(error) => {
            let error = format!("error finding PV for claim \"{}\": {error}", s.claim.meta.key);
            resting(Plan::failed_quietly("its selector cannot be read", error))
        }
    }
}

fn no_volume(s: &Snapshot, waits: Waits) -> (Plan, Verdict) {
    if let Some(class) = &s.default_class {
        return resting(assign(s, class));
    }
    if waits == Waits::ForConsumer && !s.has(SELECTED_NODE) {
        let (reason, message) = match s.waiting_pods.as_slice() {
            [] => {
                let message = "waiting for first consumer to be created before binding";
                ("WaitForFirstConsumer", message.to_owned())
            }
            [pod] => ("WaitForPodScheduled", format!("waiting for pod {pod} to be scheduled")),
            pods => {
                let pods = pods.join(",");
                ("WaitForPodScheduled", format!("waiting for pods {pods} to be scheduled"))
            }
        };
        let event = event(s, EventType::Normal, reason, message.clone());
        return resting(unbound(s, message, "Pending", vec![event]));
    }
    if let Some(class) = &s.claim.class {
        return provisioning::provision(s, class);
    }
    let message = "no persistent volumes available for this claim and no storage class is set";
    let event = event(s, EventType::Normal, "FailedBinding", message.to_owned());
    resting(unbound(s, message, "Pending", vec![event]))
}

/// The claim says nothing of a class, and gets the default one. As `assignDefaultStorageClass`.
fn assign(s: &Snapshot, class: &str) -> Plan {
    let edits = vec![Edit::new(["spec", "storageClassName"], class.into())];
    let counts =
        vec![Count::one(&metrics::ASSIGNED), Count::one(&metrics::NOT_ASSIGNED).when(When::Failed)];
    let write = update(s, edits).counted(counts);
    let why = format!("it has no StorageClass, and gets the default one, {class}");
    Plan::one(why, Step::InOrder(vec![write.into()]))
}

/// The second part of `syncUnboundClaim`: the claim asks for this volume.
fn named_volume(s: &Snapshot, name: &str) -> (Plan, Verdict) {
    let Some(volume) = &s.volume else {
        let why = format!("volume {name}, for which it asks, does not exist");
        return resting(unbound(s, why, "Pending", Vec::new()));
    };
    if let Some(plan) = unreadable(volume) {
        return resting(plan);
    }
    if volume.claim.is_none() {
        let Some(misfit) = misfit(s, volume) else { return bind(s, volume) };
        let message = format!("Cannot bind to requested volume {name:?}: {misfit}");
        let event = event(s, EventType::Warning, "VolumeMismatch", message.clone());
        return resting(unbound(s, message, "Pending", vec![event]));
    }
    if volume.is_of(&s.claim) {
        return bind(s, volume);
    }
    let message = format!("volume {name:?} already bound to a different claim.");
    let event = event(s, EventType::Warning, "FailedBinding", message.clone());
    if !s.has(BOUND_BY_CONTROLLER) {
        return resting(unbound(s, message, "Pending", vec![event]));
    }
    let other = volume.claim.as_ref().map(ToString::to_string).unwrap_or_default();
    let key = &s.claim.meta.key;
    let error = format!(
        "invalid binding of claim \"{key}\" to volume {name:?}: volume already claimed by \
         {other:?}"
    );
    let plan = Plan::one(message, Step::InOrder(vec![event]));
    resting(Plan { error: Some(error), ..plan })
}

/// As `syncBoundClaim`.
fn bound(s: &Snapshot, name: &str) -> (Plan, Verdict) {
    let Some(volume) = &s.volume else {
        let message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
        let plan = lost(s, "ClaimLost", message);
        let why = format!("volume {name}, to which it was bound, does not exist");
        return resting(Plan { why: why.into(), ..plan });
    };
    if let Some(plan) = unreadable(volume) {
        return resting(plan);
    }
    if volume.claim.is_none() || volume.claim_uid.as_ref() == Some(&s.claim.meta.uid) {
        return bind(s, volume);
    }
    let message = "Two claims are bound to the same volume, this one is bound incorrectly";
    resting(lost(s, "ClaimMisbound", message))
}

/// The claim has lost its volume for good. As `updateClaimStatusWithEvent`.
fn lost(s: &Snapshot, reason: &'static str, message: &'static str) -> Plan {
    if s.binding.phase == "Lost" {
        return Plan::rest(message);
    }
    let write = status(s, status_edits(s, "Lost", None));
    let event = event(s, EventType::Warning, reason, message.to_owned());
    Plan::one(message, Step::InOrder(vec![write.into(), event]))
}

fn unreadable(volume: &PersistentVolume) -> Option<Plan> {
    let error = volume.unreadable.as_ref()?;
    Some(Plan::rest(format!("volume {} cannot be read: {error}", volume.meta.key.name)))
}

/// An event about the claim.
pub(super) fn event(
    s: &Snapshot,
    r#type: EventType,
    reason: &'static str,
    message: String,
) -> Action {
    let about = Arc::new(ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &s.claim.meta));
    Action::Event(Event { about, r#type, reason: reason.into(), message })
}

fn resting(plan: Plan) -> (Plan, Verdict) {
    (plan, Verdict::default())
}

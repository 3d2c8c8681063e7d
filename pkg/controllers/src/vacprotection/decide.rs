//! Whether a class is protected, or let go. As `processVAC` in upstream's
//! `pkg/controller/volume/vacprotection/vac_protection_controller.go`.

use api::VolumeAttributesClass;
use controller::{Plan, Step, finalizers};

use super::snapshot::Snapshot;

pub(super) fn decide(s: &Snapshot) -> Plan {
    let VolumeAttributesClass { meta, raw, unreadable } = &*s.class;
    let finalizer = VolumeAttributesClass::PROTECTION;
    if let Some(error) = unreadable {
        return Plan::rest(format!("the class cannot be read: {error}"));
    }
    if meta.is_held_by(finalizer) {
        if let Some(user) = &s.user {
            return Plan::rest(user.why());
        }
        let update = finalizers::removed::<VolumeAttributesClass>(meta, raw, finalizer);
        return Plan::one("nothing refers to it", Step::InOrder(vec![update.into()]));
    }
    if meta.lacks_finalizer(finalizer) {
        let update = finalizers::added::<VolumeAttributesClass>(meta, raw, finalizer);
        return Plan::one("it lacks the finalizer", Step::InOrder(vec![update.into()]));
    }
    Plan::rest(if meta.is_terminating() {
        "it is being deleted, and waits for no volume or claim"
    } else {
        "it is protected"
    })
}

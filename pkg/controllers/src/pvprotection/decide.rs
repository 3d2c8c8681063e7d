//! Whether a volume is protected, or let go. As `processPV` in upstream's
//! `pkg/controller/volume/pvprotection/pv_protection_controller.go`.

use api::PersistentVolume;
use controller::{Plan, Step, finalizers};
use mutant::Mutant;

use super::snapshot::Snapshot;

pub(super) fn decide(s: &Snapshot) -> Plan {
    let PersistentVolume { meta, raw, .. } = &*s.volume;
    let finalizer = PersistentVolume::PROTECTION;
    if let Some(error) = &s.volume.unreadable {
        return Plan::rest(format!("the volume cannot be read: {error}"));
    }
    if meta.is_held_by(finalizer) {
        if s.volume.is_bound() && !mutant::is(Mutant::BoundVolumeGoes) {
            return Plan::rest(match &s.volume.claim {
                Some(claim) => format!("claim {claim} is bound to it"),
                None => "its phase is Bound".to_owned(),
            });
        }
        let update = finalizers::removed::<PersistentVolume>(meta, raw, finalizer);
        return Plan::one("it is not bound", Step::InOrder(vec![update.into()]));
    }
    if meta.lacks_finalizer(finalizer) {
        let update = finalizers::added::<PersistentVolume>(meta, raw, finalizer);
        return Plan::one("it lacks the finalizer", Step::InOrder(vec![update.into()]));
    }
    Plan::rest(if meta.is_terminating() {
        "it is being deleted, and waits for no claim"
    } else {
        "it is protected"
    })
}

//! Whether a group is let go. As `processPodGroup` in upstream's
//! `pkg/controller/scheduling/podgroupprotection/podgroup_protection_controller.go`.

use api::PodGroup;
use controller::{Plan, Step, finalizers};
use mutant::Mutant;

use super::snapshot::Snapshot;

pub(super) fn decide(s: &Snapshot) -> Plan {
    let PodGroup { meta, raw, unreadable } = &*s.group;
    if let Some(error) = unreadable {
        return Plan::rest(format!("the group cannot be read: {error}"));
    }
    if !meta.is_held_by(PodGroup::PROTECTION) {
        return Plan::rest(if meta.is_terminating() {
            "it is being deleted, and waits for no pod"
        } else {
            "it is not being deleted"
        });
    }
    if let Some(why) = s.kept().filter(|_| !mutant::is(Mutant::GroupPodsIgnored)) {
        return Plan::rest(why);
    }
    let update = finalizers::removed::<PodGroup>(meta, raw, PodGroup::PROTECTION);
    Plan::one("no pod may run in it", Step::InOrder(vec![update.into()]))
}

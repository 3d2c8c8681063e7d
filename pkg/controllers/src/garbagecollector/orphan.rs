//! Orphans the dependents of an owner that is deleted without them. As `attemptToOrphanWorker` and
//! `orphanDependents` in upstream's `garbagecollector.go`.

use std::time::Duration;

use controller::{Action, Plan, Step};
use mutant::Mutant;

use super::node::ORPHAN;
use super::patches;
use super::snapshot::{Orphans, Seen};

/// When an owner with more dependents than fit in a plan is looked at again, if nothing has to be
/// awaited.
const SOON: Duration = Duration::from_secs(1);

pub(super) fn decide(s: &Orphans) -> Plan {
    let Some(owner) = s.seen.as_ref().filter(|seen| seen.ending.is_orphaning()) else {
        return Plan::rest("its dependents are not, or no longer, to be orphaned");
    };
    let mut steps = Vec::new();
    if !s.dependents.is_empty() {
        steps.push(Step::Together(s.dependents.iter().map(|it| let_go(it, owner)).collect()));
    }
    let rest = s.count - s.dependents.len();
    if rest > 0 {
        let why = format!(
            "it is being deleted without its dependents: {} of {} are orphaned",
            s.dependents.len(),
            s.count
        );
        return Plan { steps, ..Plan::rest(why) }.again_after(Some(SOON));
    }
    // Not if one of them could not be orphaned: it would be collected.
    let patch = patches::remove_finalizer(&owner.object, &owner.ending.finalizers, ORPHAN);
    steps.push(Step::InOrder(vec![patch.into()]));
    if mutant::is(Mutant::OrphansLetGoLast) {
        steps.reverse();
    }
    let why = format!("it is being deleted without its dependents: {} are orphaned", s.count);
    Plan { steps, ..Plan::rest(why) }
}

fn let_go(dependent: &Seen, owner: &Seen) -> Action {
    let Seen { object, owners, .. } = dependent;
    patches::disown(object, owners, &[&*owner.object.uid].into()).into()
}

//! What is done about one pod that the set has a place for, and about one that it has none for. As
//! `processReplica` and `processCondemned` in upstream's `stateful_set_control.go`.

use std::sync::Arc;

use api::{Edit, Kind, Meta, Phase, Pod, Raw, StatefulSetUpdate};
use controller::{Action, Facts, ObjectRef, Query, Write};

use super::events::{self, CREATE, DELETE, UPDATE};
use super::retention::Couple;
use super::revisions::{Revision, Settled};
use super::snapshot::{self, Snapshot};
use super::{claims, ordinal, template};

/// What is done about a pod, in order.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) actions: Vec<Action>,
    /// What the pods after it wait for, if they wait for each other.
    pub(super) waits: Option<String>,
    /// Why it cannot be brought to what it should be.
    pub(super) error: Option<String>,
    /// What must be read live first.
    pub(super) asks: Option<Query>,
}

// === A place that has no pod ===

pub(super) fn make(s: &Snapshot, settled: &Settled, at: i32) -> Turn {
    let name = ordinal::pod_name(&s.set, at);
    let couple = Couple { set: &s.set, ordinal: at, name: &name, pod: None };
    if let Some(claim) = claims::stale(s, couple) {
        let waits = format!(
            "waits for claim {claim} to be deleted, which an earlier pod {name} owns: a new one \
             gets new claims"
        );
        return Turn { waits: Some(waits), ..Turn::default() };
    }
    let needs = claims::missing(s, couple, Some(CREATE));
    let mut turn = Turn { actions: needs.creates, ..Turn::default() };
    let create = match needs.error {
        Some(error) => Err(error),
        None => template::create(s, at, revision_for(s, settled, at)),
    };
    match create {
        Ok(create) => {
            let create = create.announced(events::of_pod(&s.set, CREATE, &name));
            turn.actions.push(create.into());
            turn.actions.extend(claims::own(s, couple, Some(UPDATE)));
            turn.waits = Some(format!("creating pod {name}"));
        }
        Err(error) => {
            turn.actions.push(events::cannot(&s.set, CREATE, &name, &error));
            turn.waits = Some(format!("pod {name} cannot be created"));
            turn.error = Some(error);
        }
    }
    turn
}

/// The revision that a pod is made from. As `newVersionedStatefulSetPod`.
pub(super) fn revision_for<'a>(s: &Snapshot, settled: &'a Settled, at: i32) -> &'a Revision {
    let rolls = s.set.strategy.r#type == StatefulSetUpdate::RollingUpdate;
    let held = match &s.set.strategy.rolling {
        Some(rolling) => rolling.partition,
        None if rolls => s.set.status.current_replicas,
        None => 0,
    };
    let is_held = i64::from(at) < i64::from(s.set.start) + i64::from(held);
    if is_held { &settled.current } else { &settled.update }
}

// === A place that has one ===

pub(super) fn keep(
    s: &Snapshot,
    settled: &Settled,
    (at, pod): (i32, &Arc<Pod>),
    facts: &Facts,
) -> Turn {
    let name = &pod.meta.key.name;
    if pod.unreadable {
        let waits = format!("waits for pod {name} to be Running and Ready: it cannot be read");
        return Turn { waits: Some(waits), ..Turn::default() };
    }
    match pod.phase {
        Phase::Failed | Phase::Succeeded if pod.meta.is_terminating() => {
            let waits = format!("waits for pod {name} to be gone, which has ended");
            return Turn { waits: Some(waits), ..Turn::default() };
        }
        Phase::Failed | Phase::Succeeded => {
            let waits = format!("deleting pod {name}, which has ended");
            return Turn { actions: vec![delete(s, pod)], waits: Some(waits), ..Turn::default() };
        }
        Phase::Pending | Phase::Unknown | Phase::Running => {}
    }
    let couple = Couple { set: &s.set, ordinal: at, name, pod: Some(&pod.meta) };
    let mut turn = Turn::default();
    if pod.phase == Phase::Pending {
        let needs = claims::missing(s, couple, None);
        turn.actions = needs.creates;
        if needs.error.is_some() {
            let waits = format!("pod {name} cannot have its claims");
            return Turn { waits: Some(waits), error: needs.error, ..turn };
        }
        turn.actions.extend(claims::own(s, couple, Some(UPDATE)));
    }
    turn.waits = waits_for(s, settled, at, pod);
    if s.is_ordered() && turn.waits.is_some() {
        return turn;
    }
    identify(s, couple, pod, facts, turn)
}

/// What keeps the pods after it from being looked at.
fn waits_for(s: &Snapshot, settled: &Settled, at: i32, pod: &Pod) -> Option<String> {
    let name = &pod.meta.key.name;
    if pod.meta.is_terminating() {
        return Some(format!("waits for pod {name} to be gone, which is being deleted"));
    }
    if !Snapshot::is_ready(pod) {
        let state = match pod.phase {
            Phase::Running => "Running and not Ready",
            Phase::Unknown => "Unknown",
            Phase::Pending | Phase::Succeeded | Phase::Failed => "Pending",
        };
        let stuck = stuck(s, settled, at, pod);
        let waits = format!("waits for pod {name} to be Running and Ready: it is {state}{stuck}");
        return Some(waits);
    }
    let seconds = s.set.min_ready_seconds;
    let waits =
        || format!("waits for pod {name} to be Available: to have been Ready for {seconds}s");
    (!s.is_available(pod)).then(waits)
}

/// Says that an update does not come to a pod as long as it is not ready, as upstream's.
fn stuck(s: &Snapshot, settled: &Settled, at: i32, pod: &Pod) -> String {
    let (has, gets) = (snapshot::revision(&pod.meta), &settled.update.name);
    let is_held = revision_for(s, settled, at).name != *gets;
    if !s.is_ordered() || has == gets || is_held {
        return String::new();
    }
    format!(", of revision {has}; it gets {gets} only once it is Ready, or is deleted by somebody")
}

/// Gives a pod its labels and its claims, and these their owners. As
/// `UpdateStatefulPod`.
fn identify(
    s: &Snapshot,
    couple: Couple<'_>,
    pod: &Arc<Pod>,
    facts: &Facts,
    mut turn: Turn,
) -> Turn {
    let name = couple.name;
    if ordinal::pod_name(&s.set, couple.ordinal) != name {
        let at = couple.ordinal;
        let error = format!("pod {name} has the number {at} and not its name");
        return Turn { waits: Some(error.clone()), error: Some(error), ..turn };
    }
    let has_claims = template::has_claims(s, couple.ordinal, pod);
    let lacks_owners = turn.actions.is_empty() && !claims::are_owned(s, couple);
    if has_claims && template::is_identified(&pod.meta) {
        if lacks_owners {
            turn.actions.extend(claims::own(s, couple, Some(UPDATE)));
            turn.actions.push(events::did(&s.set, UPDATE, name));
        }
        return turn;
    }
    // The cache holds no whole pods.
    let query = Query::object(Pod::RESOURCE, pod.meta.key.clone());
    let (meta, raw) = match facts.get(&query).map(controller::Answer::object) {
        None => return Turn { asks: Some(query), ..turn },
        Some(Ok(Some((meta, raw)))) if meta.uid == pod.meta.uid => (meta, raw),
        Some(Ok(_)) => {
            turn.waits = Some(format!("waits for the cache to show that pod {name} is gone"));
            return turn;
        }
        Some(Err(error)) => return Turn { error: Some(error.text.clone()), ..turn },
    };
    if !has_claims {
        let needs = claims::missing(s, couple, Some(UPDATE));
        turn.actions.extend(needs.creates);
        if let Some(error) = needs.error {
            turn.actions.push(events::cannot(&s.set, UPDATE, name, &error));
            turn.error = Some(error);
            return turn;
        }
        turn.waits = Some(format!(
            "pod {name} has other volumes than the claim templates say; the volumes of a pod \
             cannot be changed, so each try fails until somebody deletes it"
        ));
    }
    if lacks_owners {
        turn.actions.extend(claims::own(s, couple, Some(UPDATE)));
    }
    turn.actions.push(update(s, couple, (meta, raw)));
    turn
}

fn update(s: &Snapshot, couple: Couple<'_>, (meta, raw): (&Meta, &Raw)) -> Action {
    let mut edits: Vec<Edit> = template::identity(couple.name, couple.ordinal);
    if template::is_identified(meta) {
        edits.clear();
    }
    edits.extend(template::differing_storage(s, couple.ordinal, raw));
    let object = ObjectRef::new(&Pod::RESOURCE, meta);
    let update = Write::update(object, raw.clone(), edits);
    update.announced(events::of_pod(&s.set, UPDATE, couple.name)).into()
}

// === A pod that the set has no place for ===

/// Gives its claims their owners, so that they are deleted after it if the policy says so.
pub(super) fn disown(s: &Snapshot, (at, pod): (i32, &Arc<Pod>)) -> Vec<Action> {
    let name = &pod.meta.key.name;
    let couple = Couple { set: &s.set, ordinal: at, name, pod: Some(&pod.meta) };
    if claims::are_owned(s, couple) { Vec::new() } else { claims::own(s, couple, None) }
}

/// Deletes it. `first` is the first pod that is not available: it is deleted although it is not.
pub(super) fn condemn(s: &Snapshot, pod: &Arc<Pod>, first: Option<&Arc<Pod>>) -> Turn {
    let name = &pod.meta.key.name;
    let is_first = first.is_some_and(|first| first.meta.uid == pod.meta.uid);
    let first = first.map_or(name, |first| &first.meta.key.name);
    let waits = if pod.meta.is_terminating() {
        Some(format!("waits for pod {name} to be gone before the next one is deleted"))
    } else if !s.is_ordered() || is_first || Snapshot::is_ready(pod) && s.is_available(pod) {
        None
    } else {
        Some(format!(
            "pod {name} is not Available and is deleted only after pod {first}, which is not either"
        ))
    };
    match waits {
        Some(_) => Turn { waits, ..Turn::default() },
        None => Turn {
            actions: vec![delete(s, pod)],
            waits: Some(format!("deleting pod {name}, for which there is no place")),
            ..Turn::default()
        },
    }
}

/// Deletes a pod, in the name of its set. As `DeleteStatefulPod`.
pub(super) fn delete(s: &Snapshot, pod: &Pod) -> Action {
    let object = ObjectRef::new(&Pod::RESOURCE, &pod.meta);
    Write::delete(object).announced(events::of_pod(&s.set, DELETE, &pod.meta.key.name)).into()
}

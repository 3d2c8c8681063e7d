//! The rolling update: pods of an earlier revision are deleted, from the highest number down, and
//! made again from the new one. As the end of `updateStatefulSet` in upstream's
//! `stateful_set_control.go`; KEP-961 for `maxUnavailable`.

use std::sync::Arc;

use api::{Amount, Pod, Rounding, StatefulSet, StatefulSetUpdate};
use controller::Action;

use super::revisions::Settled;
use super::snapshot::{self, Roster, Snapshot};
use super::{MaxUnavailable, ordinal, replica};

/// The next part of an update.
#[derive(Default)]
pub(super) struct Update {
    /// Deletes these pods.
    pub(super) deletes: Vec<Action>,
    pub(super) why: Option<String>,
    pub(super) error: Option<String>,
}

pub(super) fn update(
    s: &Snapshot,
    settled: &Settled,
    roster: &Roster<'_>,
    max_unavailable: MaxUnavailable,
) -> Update {
    match (s.set.strategy.r#type, max_unavailable) {
        (StatefulSetUpdate::OnDelete, _) => on_delete(settled, roster),
        (StatefulSetUpdate::RollingUpdate | StatefulSetUpdate::Other, MaxUnavailable::One) => {
            one_by_one(s, settled, roster)
        }
        (
            StatefulSetUpdate::RollingUpdate | StatefulSetUpdate::Other,
            MaxUnavailable::AsSpecified,
        ) => several(s, settled, roster),
    }
}

fn on_delete(settled: &Settled, roster: &Roster<'_>) -> Update {
    let old = roster.replicas.values().filter(|pod| is_old(settled, pod)).count();
    let why = (old > 0).then(|| {
        format!(
            "{old} pods are not of revision {}, and get it once somebody deletes them (OnDelete)",
            settled.update.name
        )
    });
    Update { why, ..Update::default() }
}

/// The gate is off: one after the other, whatever `maxUnavailable` says.
fn one_by_one(s: &Snapshot, settled: &Settled, roster: &Roster<'_>) -> Update {
    let first = first_updated(&s.set);
    for at in ordinal::range(&s.set).rev().take_while(|at| i64::from(*at) >= first) {
        let Some(pod) = roster.replicas.get(&at) else {
            let why = format!("waits for pod {} to be made", ordinal::pod_name(&s.set, at));
            return Update { why: Some(why), ..Update::default() };
        };
        let name = &pod.meta.key.name;
        if is_old(settled, pod) && !pod.meta.is_terminating() {
            let why = format!("deleting pod {name}, to be made of {}", settled.update.name);
            let deletes = vec![replica::delete(s, pod)];
            return Update { deletes, why: Some(why), error: None };
        }
        if s.is_unavailable(pod) {
            let why = format!("the update waits for pod {name} to be Available");
            return Update { why: Some(why), ..Update::default() };
        }
    }
    Update { why: held(s, settled, roster), ..Update::default() }
}

/// The gate is on. As `updateStatefulSetAfterInvariantEstablished`.
fn several(s: &Snapshot, settled: &Settled, roster: &Roster<'_>) -> Update {
    let allowed = match allowed(&s.set) {
        Ok(allowed) => allowed,
        Err(error) => return Update { error: Some(error), ..Update::default() },
    };
    let unavailable = unavailable(s, roster);
    let budget = allowed.saturating_sub(unavailable);
    // There may be a place for far more pods than there are.
    let present = roster.replicas.iter().rev().map(|(at, pod)| (i64::from(*at), pod));
    let updated = present.filter(|(at, _)| *at >= first_updated(&s.set)).map(|(_, pod)| pod);
    let is_due = |pod: &&&Arc<Pod>| is_old(settled, pod) && !pod.meta.is_terminating();
    let mut old = updated.filter(is_due).peekable();
    if old.peek().is_none() {
        return Update { why: held(s, settled, roster), ..Update::default() };
    }
    let doomed: Vec<_> = old.take(budget).collect();
    let names: Vec<_> = doomed.iter().map(|pod| &*pod.meta.key.name).collect();
    let why = match names.as_slice() {
        [] => format!("the update waits: {unavailable} pods are unavailable, {allowed} may be"),
        names => format!("deleting {}, to be made of {}", names.join(", "), settled.update.name),
    };
    let deletes = doomed.iter().map(|pod| replica::delete(s, pod)).collect();
    Update { deletes, why: Some(why), error: None }
}

/// Says that the partition holds pods back.
fn held(s: &Snapshot, settled: &Settled, roster: &Roster<'_>) -> Option<String> {
    let old = roster.replicas.values().filter(|pod| is_old(settled, pod)).count();
    let partition = s.set.strategy.rolling.as_ref().map_or(0, |rolling| rolling.partition);
    (old > 0).then(|| {
        format!("{old} pods are held at an earlier revision by the partition, {partition}")
    })
}

/// The first number of a pod that is updated.
fn first_updated(set: &StatefulSet) -> i64 {
    let partition = set.strategy.rolling.as_ref().map_or(0, |rolling| rolling.partition);
    i64::from(set.start) + i64::from(partition)
}

fn is_old(settled: &Settled, pod: &Pod) -> bool {
    snapshot::revision(&pod.meta) != settled.update.name
}

/// How many pods are missing or unavailable.
pub(super) fn unavailable(s: &Snapshot, roster: &Roster<'_>) -> usize {
    let present = roster.replicas.len();
    let wanted = usize::try_from(s.set.replicas).unwrap_or(0);
    let unavailable = roster.replicas.values().filter(|pod| s.is_unavailable(pod)).count();
    wanted.saturating_sub(present) + unavailable
}

/// How many pods may be unavailable: at least one. As `getStatefulSetMaxUnavailable`.
pub(super) fn allowed(set: &StatefulSet) -> Result<usize, String> {
    let amount = set.strategy.rolling.as_ref().and_then(|it| it.max_unavailable.as_ref());
    let amount = amount.unwrap_or(&Amount::Count(1));
    let allowed = amount.of(set.replicas, Rounding::Down)?;
    Ok(usize::try_from(allowed).unwrap_or(0).max(1))
}

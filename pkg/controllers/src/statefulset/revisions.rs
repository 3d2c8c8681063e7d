//! Which revisions a set goes from and to, and how the others are kept. As
//! `getStatefulSetRevisions` and `truncateHistory` in upstream's `stateful_set_control.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{ControllerRevision, Key, Kind, StatefulSet};
use controller::history::{self, NewRevision, Taken};
use controller::{Action, Facts, Plan, Query, Step};
use serde_json::value::RawValue;

use super::semantic;
use super::snapshot::{self, Snapshot};
use super::{Comparison, HASH_LABEL};

/// A template that the set has or had.
#[derive(Clone, Debug)]
pub(super) struct Revision {
    pub(super) name: String,
    pub(super) data: String,
}

/// The revisions of a set.
pub(super) struct Settled {
    /// What pods had before the update.
    pub(super) current: Revision,
    /// What pods get.
    pub(super) update: Revision,
    pub(super) collision_count: i32,
    /// Makes or renumbers the latter.
    pub(super) write: Option<Action>,
}

/// The revision of the present template, as the caches show it.
pub(super) enum Present<'a> {
    /// This one, the last.
    Last(&'a Arc<ControllerRevision>),
    /// This one, which others came after.
    Earlier(&'a Arc<ControllerRevision>),
    /// There is none.
    Missing,
}

/// The revisions; or the plan, if they are not known yet.
pub(super) fn settle(s: &Snapshot, facts: &Facts, comparison: Comparison) -> Result<Settled, Plan> {
    let all = &s.revisions.mine;
    if let Some(unreadable) = all.iter().find(|revision| revision.unreadable.is_some()) {
        let name = &unreadable.meta.key.name;
        return Err(Plan::rest(format!("ControllerRevision {name} cannot be read")));
    }
    let next = all.last().map_or(1, |last| last.revision.saturating_add(1));
    let collision_count = s.set.status.collision_count.unwrap_or(0);
    let known = |revision: &ControllerRevision, write| {
        let update = Revision::of(revision);
        Settled { current: current(s).unwrap_or(update.clone()), update, collision_count, write }
    };
    match present(s, comparison) {
        Present::Last(revision) => Ok(known(revision, None)),
        Present::Earlier(revision) => {
            let write = history::update(revision, vec![history::renumbered(next)]);
            Ok(known(revision, Some(write)))
        }
        Present::Missing => make(s, facts, next),
    }
}

/// Which one is of the present template.
pub(super) fn present(s: &Snapshot, comparison: Comparison) -> Present<'_> {
    let all = &s.revisions.mine;
    let equal = all.iter().rfind(|revision| history::holds(revision, &s.data));
    match (all.last(), equal) {
        (Some(last), Some(_)) if history::holds(last, &s.data) => Present::Last(last),
        (_, Some(equal)) => Present::Earlier(equal),
        (Some(last), None) if comparison.finds_equal(last, &s.data) => Present::Last(last),
        (_, None) => Present::Missing,
    }
}

/// The revision that the status calls the current one, if it is still there.
fn current(s: &Snapshot) -> Option<Revision> {
    let name = &s.set.status.current_revision;
    let mut all = s.revisions.mine.iter();
    all.find(|revision| *revision.meta.key.name == **name).map(|revision| Revision::of(revision))
}

/// As `CreateControllerRevision`; but the name is looked up first, since another revision may have
/// it.
fn make(s: &Snapshot, facts: &Facts, number: i64) -> Result<Settled, Plan> {
    let mut collision_count = s.set.status.collision_count.unwrap_or(0);
    let hash = history::hash(&s.data, Some(collision_count));
    let (name, write) = loop {
        let probed = history::hash(&s.data, Some(collision_count));
        let name = history::name(&s.set.meta.key.name, &probed);
        let key = Key::new(&s.set.meta.key.namespace, &name);
        let query = Query::object(ControllerRevision::RESOURCE, key);
        let Some(answer) = facts.get(&query) else {
            return Err(Plan::fetch("the template has no revision yet", vec![query]));
        };
        match history::taken(answer, &s.data) {
            Taken::Free => {
                let create = create(s, &name, &hash, number).map_err(|error| failed(&error))?;
                break (name, Some(create));
            }
            Taken::Same(_) => break (name, None),
            Taken::Other => collision_count = collision_count.saturating_add(1),
            Taken::Unknown(error) => return Err(failed(error)),
        }
    };
    let update = Revision { name, data: s.data.clone() };
    Ok(Settled { current: current(s).unwrap_or(update.clone()), update, collision_count, write })
}

fn create(s: &Snapshot, name: &str, hash: &str, number: i64) -> Result<Action, String> {
    let set = &s.set;
    let mut labels: BTreeMap<&str, &str> = set.template_labels.iter().collect();
    labels.insert(HASH_LABEL, hash);
    history::create(&NewRevision {
        resource: &StatefulSet::RESOURCE,
        owner: &set.meta,
        name,
        labels: &labels,
        annotations: &set.raw.annotations(),
        data: &s.data,
        revision: number,
    })
}

fn failed(error: &str) -> Plan {
    Plan::failed("the template has no revision yet", error)
}

/// Deletes revisions that no pod is made from, the lowest first, until there are no more than the
/// limit. As `truncateHistory`.
pub(super) fn cleanup(s: &Snapshot, settled: &Settled) -> Option<Step> {
    let limit = usize::try_from(s.set.revision_history_limit).ok()?;
    let mut live: BTreeSet<&str> =
        s.pods.mine.iter().map(|pod| snapshot::revision(&pod.meta)).collect();
    live.extend([&*settled.current.name, &*settled.update.name]);
    let all = s.revisions.mine.iter();
    let former: Vec<_> = all.filter(|it| !live.contains(&*it.meta.key.name)).collect();
    let surplus = former.len().saturating_sub(limit);
    let doomed = former.iter().take(surplus).filter(|it| !it.meta.is_terminating());
    let deletes: Vec<_> = doomed.map(|revision| history::delete(revision)).collect();
    (!deletes.is_empty()).then_some(Step::InOrder(deletes))
}

// === impl Revision ===

impl Revision {
    fn of(revision: &ControllerRevision) -> Self {
        let data = revision.data().map(RawValue::get).unwrap_or_default().to_owned();
        Self { name: revision.meta.key.name.to_string(), data }
    }
}

// === impl Comparison ===

impl Comparison {
    fn finds_equal(self, revision: &ControllerRevision, data: &str) -> bool {
        match self {
            Self::Bytes => false,
            Self::Semantic => semantic::is_same(revision, data),
        }
    }
}

//! Which ControllerRevision is the present one, and how the others are kept. As `constructHistory`
//! and `cleanupHistory` in upstream's `update.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use api::{ControllerRevision, DaemonSet, DaemonSetStatus, Edit, Kind, Pod, Raw};
use controller::history::{self, NewRevision, Taken};
use controller::{Action, Answer, Facts, ObjectRef, Plan, Query, Retry, Step, Write};
use serde_json::{Value, json};

use super::HASH_LABEL;
use super::snapshot::{Snapshot, label, label_of};

/// How the revisions of a set stand.
pub(super) enum History<'a> {
    /// The label that the present one has or gets, and the writes that tidy them.
    Present(&'a str, Vec<Step>),
    /// There is none of the present template; the writes that tidy the others.
    Missing(Vec<Step>),
    /// One of them cannot be read; its name.
    Unreadable(&'a str),
}

/// The present revision.
pub(super) struct Present {
    /// Its label.
    pub(super) hash: String,
    /// What tidies the revisions. Pods do not wait for that: it may not stick.
    pub(super) tidying: Vec<Step>,
    /// What makes it, if it is to be made.
    pub(super) create: Option<Action>,
}

/// The present revision; or the plan, if there is none to continue with.
pub(super) fn settle(s: &Snapshot, facts: &Facts) -> Result<Present, Plan> {
    match history(s) {
        History::Present(hash, tidying) => {
            Ok(Present { hash: hash.to_owned(), tidying, create: None })
        }
        History::Missing(tidying) => Ok(Present { tidying, ..make(s, facts)? }),
        History::Unreadable(name) => {
            Err(Plan::rest(format!("ControllerRevision {name} cannot be read")))
        }
    }
}

/// How the revisions stand, as the cache shows them.
pub(super) fn history(s: &Snapshot) -> History<'_> {
    let all = &s.revisions.mine;
    if let Some(unreadable) = all.iter().find(|revision| revision.unreadable.is_some()) {
        return History::Unreadable(&unreadable.meta.key.name);
    }
    let present = all.iter().filter(|revision| history::holds(revision, &s.data));
    let kept = present.clone().max_by_key(|revision| revision.revision);
    let mut steps: Vec<Step> = updates(s, kept).into_iter().collect();
    let Some(kept) = kept else { return History::Missing(steps) };
    let hash = label_of(kept);
    let doubles: Vec<_> = present.filter(|it| it.meta.uid != kept.meta.uid).collect();
    steps.extend(drop_doubles(s, &doubles, hash));
    History::Present(hash, steps)
}

/// The label that the present revision has, or will have.
pub(super) fn hash(s: &Snapshot, history: &History<'_>) -> Option<String> {
    match history {
        History::Present(hash, _) => Some((*hash).to_owned()),
        History::Missing(_) => Some(new_hash(s)),
        History::Unreadable(_) => None,
    }
}

/// Labels for those that have none, and the highest number for the present one: one write each.
fn updates(s: &Snapshot, kept: Option<&Arc<ControllerRevision>>) -> Option<Step> {
    let number = history::highest(&former(s)) + 1;
    let update = |revision: &Arc<ControllerRevision>| {
        let is_kept = kept.is_some_and(|kept| kept.meta.uid == revision.meta.uid);
        let is_unlabelled = label(&revision.meta).is_none();
        let label = is_unlabelled.then(|| history::relabelled(HASH_LABEL, label_of(revision)));
        let is_low = is_kept && revision.revision < number;
        let number = is_low.then(|| history::renumbered(number));
        let edits: Vec<_> = label.into_iter().chain(number).collect();
        (!edits.is_empty()).then(|| history::update(revision, edits))
    };
    let updates: Vec<_> = s.revisions.mine.iter().filter_map(update).collect();
    (!updates.is_empty()).then_some(Step::InOrder(updates))
}

/// Deletes former revisions that no pod is made from, the lowest first, until there are no more
/// than the limit.
pub(super) fn cleanup(s: &Snapshot) -> Option<Step> {
    let mut former = former(s);
    let limit = usize::try_from(s.set.revision_history_limit).unwrap_or(0);
    let surplus = former.len().saturating_sub(limit);
    if surplus == 0 {
        return None;
    }
    let live: BTreeSet<&str> = s.pods.mine.iter().filter_map(|pod| label(&pod.meta)).collect();
    history::sort(&mut former);
    former.retain(|revision| label(&revision.meta).is_none_or(|hash| !live.contains(hash)));
    let doomed = former.iter().take(surplus).filter(|revision| !revision.meta.is_terminating());
    let deletes: Vec<_> = doomed.map(|revision| history::delete(revision)).collect();
    (!deletes.is_empty()).then_some(Step::InOrder(deletes))
}

fn former(s: &Snapshot) -> Vec<Arc<ControllerRevision>> {
    let all = s.revisions.mine.iter();
    all.filter(|revision| !history::holds(revision, &s.data)).cloned().collect()
}

// === Several ===

/// Pods of the duplicates become pods of the kept one; then the duplicates are deleted.
fn drop_doubles(s: &Snapshot, doubles: &[&Arc<ControllerRevision>], hash: &str) -> Vec<Step> {
    let labels: BTreeSet<&str> = doubles.iter().map(|it| label_of(it)).collect();
    let carries = |pod: &&Arc<Pod>| label(&pod.meta).is_some_and(|label| labels.contains(label));
    let pods = s.pods.mine.iter().filter(carries);
    let patches: Vec<_> =
        pods.filter(|pod| label(&pod.meta) != Some(hash)).map(|pod| move_to(pod, hash)).collect();
    let doomed = doubles.iter().filter(|revision| !revision.meta.is_terminating());
    let deletes: Vec<_> = doomed.map(|revision| history::delete(revision)).collect();
    let mut steps = Vec::new();
    if !patches.is_empty() {
        steps.push(Step::Together(patches));
    }
    if !deletes.is_empty() {
        steps.push(Step::InOrder(deletes));
    }
    steps
}

fn move_to(pod: &Pod, hash: &str) -> Action {
    let labels = json!({ HASH_LABEL: hash });
    let body = json!({ "metadata": { "uid": &*pod.meta.uid, "labels": labels } }).to_string();
    Write::strategic(ObjectRef::new(&Pod::RESOURCE, &pod.meta), body).into()
}

// === None ===

fn new_hash(s: &Snapshot) -> String {
    history::hash(&s.data, s.set.status.collision_count)
}

/// As `snapshot`: the name is looked up live, since another revision may have it.
fn make(s: &Snapshot, facts: &Facts) -> Result<Present, Plan> {
    let hash = new_hash(s);
    let name = history::name(&s.set.meta.key.name, &hash);
    let key = api::Key::new(&s.set.meta.key.namespace, &name);
    let query = Query::object(ControllerRevision::RESOURCE, key);
    let Some(answer) = facts.get(&query) else {
        return Err(Plan::fetch("the template has no revision yet", vec![query]));
    };
    match history::taken(answer, &s.data) {
        Taken::Free => create(s, &name, hash),
        Taken::Same(meta) => {
            let hash = label(meta).unwrap_or(&hash).to_owned();
            Ok(Present { hash, tidying: Vec::new(), create: None })
        }
        Taken::Other => Err(collided(s, facts, &name)),
        Taken::Unknown(error) => Err(failed(error)),
    }
}

fn create(s: &Snapshot, name: &str, hash: String) -> Result<Present, Plan> {
    let set = &s.set;
    let mut labels: BTreeMap<&str, &str> = set.template_labels.iter().collect();
    labels.insert(HASH_LABEL, &hash);
    let created = history::create(&NewRevision {
        resource: &DaemonSet::RESOURCE,
        owner: &set.meta,
        name,
        labels: &labels,
        annotations: &set.raw.annotations(),
        data: &s.data,
        revision: history::highest(&s.revisions.mine) + 1,
    });
    let create = created.map_err(failed)?;
    Ok(Present { hash, tidying: Vec::new(), create: Some(create) })
}

/// Another template has the name: the number of collisions, which the name depends on, is raised;
/// but not if the cache does not show the latest one.
fn collided(s: &Snapshot, facts: &Facts, name: &str) -> Plan {
    let query = Query::object(DaemonSet::RESOURCE, s.set.meta.key.clone());
    let (meta, raw) = match facts.get(&query).map(Answer::object) {
        None => return Plan::fetch("another template has the name", vec![query]),
        Some(Ok(Some(found))) => found,
        Some(Ok(None)) => {
            return failed(format!("daemonsets.apps {:?} not found", s.set.meta.key.name));
        }
        Some(Err(error)) => return failed(&error.text),
    };
    let (known, live) = (s.set.status.collision_count, collision_count(raw));
    if meta.uid != s.set.meta.uid || known != live {
        return failed(format!(
            "found a stale collision count ({known:?}, expected {live:?}) of DaemonSet {:?} while \
             processing; will retry until it is updated",
            s.set.meta.key.name
        ));
    }
    let count = Value::from(live.unwrap_or(0).saturating_add(1));
    let edits = vec![Edit::new(["status", "collisionCount"], count)];
    let object = ObjectRef::new(&DaemonSet::RESOURCE, meta);
    let raised = Write::status(object, raw.clone(), edits, Retry::Never).into();
    let error = format!("controllerrevisions.apps {name:?} already exists, of another template");
    Plan { steps: vec![Step::InOrder(vec![raised])], ..failed(error) }
}

fn collision_count(raw: &Raw) -> Option<i32> {
    let status: DaemonSetStatus = serde_json::from_str(raw.field("status")?.get()).ok()?;
    status.collision_count
}

fn failed(error: impl Display) -> Plan {
    let error = format!("failed to construct revisions of DaemonSet: {error}");
    Plan::failed("the template has no revision yet", error)
}

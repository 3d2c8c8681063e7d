//! Which objects an owner manages, takes and lets go. As `BaseControllerRefManager` and
//! `PodControllerRefManager` in upstream's `pkg/controller/controller_ref_manager.go`.

use std::sync::Arc;

use api::{Kind, Meta, Resource};
use mutant::Mutant;
use serde::Serialize;

use crate::{
    Action, Answer, Facts, Lister, ObjectRef, Outcome, Plan, Query, Step, Tolerated, Write,
};

#[cfg(test)]
mod tests;

/// What an owner's claim on some objects comes to. Objects in none of the lists are not its own.
#[derive(Clone, Debug)]
pub struct Claim<T> {
    /// Selected by the owner, and managed by it or to be taken: what it counts.
    pub mine: Vec<Arc<T>>,
    /// Those of `mine` that nobody manages: to be taken.
    pub adopt: Vec<Arc<T>>,
    /// Managed by the owner, but no longer selected: to be let go.
    pub release: Vec<Arc<T>>,
}

/// The owner reference of a controller, in upstream's order of fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControllerRef<'a> {
    api_version: String,
    kind: &'a str,
    name: &'a str,
    uid: &'a str,
    controller: bool,
    block_owner_deletion: bool,
}

#[derive(Serialize)]
struct OwnersPatch<'a, Owner> {
    metadata: OwnersPatchMeta<'a, Owner>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnersPatchMeta<'a, Owner> {
    uid: &'a str,
    owner_references: [Owner; 1],
}

#[derive(Serialize)]
struct Removal<'a> {
    #[serde(rename = "$patch")]
    patch: &'a str,
    uid: &'a str,
}

/// Where an object stands to an owner.
enum Stand {
    Mine,
    Adopt,
    Release,
    Foreign,
}

/// The objects that an owner manages and, in its namespace, those that nobody manages. The kind's
/// indexes are called `by_controller` and `orphans_by_namespace`.
pub fn candidates<T: Kind>(
    objects: Lister<'_, T>,
    by_controller: &str,
    orphans_by_namespace: &str,
    owner: &Meta,
) -> Vec<Arc<T>> {
    let mut found = objects.by(by_controller, &owner.uid);
    found.retain(|object| object.meta().key.namespace == owner.key.namespace);
    found.extend(objects.by(orphans_by_namespace, &owner.key.namespace));
    found
}

/// Sorts `objects` by whether they are the owner's; keeps their order. An owner that is being
/// deleted neither takes nor lets go. `matches` says whether the owner selects an object.
pub fn claim<T: Kind>(
    owner: &Meta,
    mut objects: Vec<Arc<T>>,
    mut matches: impl FnMut(&T) -> bool,
) -> Claim<T> {
    let (mut adopt, mut release) = (Vec::new(), Vec::new());
    objects.retain(|object| {
        let stand = stand(owner, object.meta(), || matches(object));
        match stand {
            Stand::Adopt if mutant::is(Mutant::OrphansCount) => {}
            Stand::Adopt => adopt.push(Arc::clone(object)),
            Stand::Release => release.push(Arc::clone(object)),
            Stand::Mine | Stand::Foreign => {}
        }
        matches!(stand, Stand::Mine | Stand::Adopt)
    });
    Claim { mine: objects, adopt, release }
}

fn stand(owner: &Meta, object: &Meta, mut matches: impl FnMut() -> bool) -> Stand {
    let elsewhere = !owner.key.namespace.is_empty() && owner.key.namespace != object.key.namespace;
    match object.controller() {
        Some(controller) if controller.uid != owner.uid => Stand::Foreign,
        Some(_) if matches() => Stand::Mine,
        Some(_) if owner.is_terminating() || mutant::is(Mutant::NoRelease) => Stand::Foreign,
        Some(_) => Stand::Release,
        None if owner.is_terminating() || object.is_terminating() || elsewhere => Stand::Foreign,
        None if matches() || mutant::is(Mutant::AdoptsUnselected) => Stand::Adopt,
        None => Stand::Foreign,
    }
}

// === impl Claim ===

impl<T> Default for Claim<T> {
    fn default() -> Self {
        Self { mine: Vec::new(), adopt: Vec::new(), release: Vec::new() }
    }
}

impl<T> Claim<T> {
    /// Whether nothing is to be taken or let go.
    pub fn is_done(&self) -> bool {
        self.adopt.is_empty() && self.release.is_empty()
    }

    /// How many steps it puts before a plan.
    pub fn steps(&self) -> usize {
        usize::from(!self.is_done())
    }

    /// Whether a sync failed in the claim, which is behind `earlier` steps, or before it was tried.
    /// How many objects there are is in doubt then.
    pub fn has_failed(&self, earlier: usize, outcome: &Outcome) -> bool {
        match outcome.step {
            Some(at) => !self.is_done() && at < earlier + self.steps(),
            None => !self.adopt.is_empty() && outcome.error.is_some(),
        }
    }
}

impl<T: Kind> Claim<T> {
    /// The plan `rest`, which counts on the claim, with the claim before it: an adoption that fails
    /// ends the plan, so that nothing is done about a number of objects that is wrong. An adoption
    /// or a release that succeeds and yet does not stick, since a webhook undoes it, or a release
    /// that is refused as invalid (422) stops nothing, as upstream. As long as `rest` asks for live
    /// reads it comes alone, or what is claimed would be claimed in each round.
    ///
    /// Before anything is taken the owner is read live. If it is gone, replaced, being deleted or
    /// cannot be read, nothing is taken, and the plan ends in an error so that it is tried again.
    pub fn before(
        &self,
        resource: &Resource,
        owner: &Meta,
        facts: &Facts,
        rest: impl FnOnce() -> Plan,
    ) -> Plan {
        if self.is_done() {
            return rest();
        }
        let why = format!("{} to adopt, {} to release", self.adopt.len(), self.release.len());
        let releases = self.release.iter().map(|object| release(owner, &**object));
        let mut actions = Vec::with_capacity(self.adopt.len() + self.release.len());
        if let Some(first) = self.adopt.first() {
            let query = Query::object(resource.clone(), owner.key.clone());
            let Some(answer) = facts.get(&query) else {
                return Plan::fetch("orphans match; is the owner still there?", vec![query]);
            };
            if let Err(reason) = check(resource, owner, answer) {
                let (kind, meta) = (T::RESOURCE.kind, first.meta());
                let error = format!("can't adopt {kind} {} ({}): {reason}", meta.key, meta.uid);
                let releases: Vec<_> = releases.collect();
                let steps =
                    if releases.is_empty() { vec![] } else { vec![Step::Together(releases)] };
                return Plan { steps, ..Plan::failed(why, error) };
            }
            actions.extend(self.adopt.iter().map(|object| adopt(resource, owner, &**object)));
        }
        actions.extend(releases);
        let mut plan = rest();
        if plan.round().1.is_none() {
            plan.why = format!("{why}; {}", plan.why).into();
            plan.steps.insert(0, Step::Together(actions));
        }
        plan
    }
}

/// Whether the live owner is the one that we know, and stays. As upstream's
/// `RecheckDeletionTimestamp`.
fn check(resource: &Resource, owner: &Meta, live: &Answer) -> Result<(), String> {
    if mutant::is(Mutant::NoRecheck) {
        return Ok(());
    }
    let (kind, key) = (&resource.kind, &owner.key);
    let reason = match live.object() {
        Ok(Some((live, _))) => match live.deletion_timestamp {
            _ if live.uid != owner.uid => {
                format!("original {kind} {key} is gone: got uid {}, wanted {}", live.uid, owner.uid)
            }
            Some(since) => return Err(format!("{key} has just been deleted at {since}")),
            None => return Ok(()),
        },
        Ok(None) => format!("{resource} {:?} not found", key.name),
        Err(error) => error.text.clone(),
    };
    Err(format!("can't recheck DeletionTimestamp: {reason}"))
}

/// Takes an orphan. That it is gone is a failure, as that somebody else took it first: the owner
/// counts on it.
fn adopt<T: Kind>(resource: &Resource, owner: &Meta, object: &T) -> Action {
    let body = owners_patch(&object.meta().uid, controller_ref(resource, owner));
    let object = ObjectRef::new(&T::RESOURCE, object.meta());
    Write::strategic(object, body).tolerating(&[]).into()
}

/// Lets an object go. Invalid means that it has another uid by now, or no such owner any more, or
/// that it cannot be changed at all.
fn release<T: Kind>(owner: &Meta, object: &T) -> Action {
    let object = ObjectRef::new(&T::RESOURCE, object.meta());
    if mutant::is(Mutant::ReleasedGoes) {
        return Write::delete(object).into();
    }
    let body = owners_patch(&object.uid, Removal { patch: "delete", uid: &owner.uid });
    let tolerated = &[Tolerated::Missing, Tolerated::Invalid];
    Write::strategic(object, body).tolerating(tolerated).into()
}

/// The reference by which an object says that `owner`, of the kind `resource`, manages it.
pub fn controller_ref<'a>(resource: &'a Resource, owner: &'a Meta) -> ControllerRef<'a> {
    ControllerRef {
        api_version: resource.api_version(),
        kind: &resource.kind,
        name: &owner.key.name,
        uid: &owner.uid,
        controller: true,
        block_owner_deletion: true,
    }
}

fn owners_patch(uid: &str, owner: impl Serialize) -> String {
    let metadata = OwnersPatchMeta { uid, owner_references: [owner] };
    serde_json::to_string(&OwnersPatch { metadata }).expect("texts and booleans are JSON")
}

//! Which objects an owner manages, takes and lets go. As `BaseControllerRefManager` and
//! `PodControllerRefManager` in upstream's `pkg/controller/controller_ref_manager.go`.

use std::sync::Arc;

use api::{Kind, Meta, Resource};
use mutant::Mutant;
use serde::Serialize;

use crate::{Action, Answer, Facts, Lister, ObjectRef, Patch, Plan, Query, Step};

#[cfg(test)]
mod tests;

/// What an owner's claim on some objects comes to. Objects in none of the lists are not its own.
#[derive(Clone, Debug)]
pub struct Claim<T> {
    /// Managed by the owner, and selected by it.
    pub mine: Vec<Arc<T>>,
    /// Selected by the owner, and managed by nobody: to be taken.
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
    objects: &dyn Lister<T>,
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
            Stand::Adopt => adopt.push(Arc::clone(object)),
            Stand::Release => release.push(Arc::clone(object)),
            Stand::Mine | Stand::Foreign => {}
        }
        matches!(stand, Stand::Mine)
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
}

impl<T: Kind> Claim<T> {
    /// The plan that takes and lets go what is to be; none if that is nothing. It does nothing
    /// else: how many objects there are is decided again once the cache shows these patches, so
    /// that one which the API server refuses cannot falsify the count.
    ///
    /// Before anything is taken the owner is read live. If it is gone, replaced, being deleted or
    /// cannot be read, nothing is taken, and the plan ends in an error so that it is tried again.
    pub fn plan(&self, resource: &Resource, owner: &Meta, facts: &Facts) -> Option<Plan> {
        if self.is_done() {
            return None;
        }
        let mut actions = Vec::with_capacity(self.adopt.len() + self.release.len());
        let mut error = None;
        if let Some(first) = self.adopt.first() {
            let query = Query::object(resource.clone(), owner.key.clone());
            let Some(answer) = facts.get(&query) else {
                return Some(Plan::fetch("orphans match; is the owner still there?", vec![query]));
            };
            match check(resource, owner, answer) {
                Ok(()) => {
                    actions.extend(self.adopt.iter().map(|o| adopt(resource, owner, &**o)));
                }
                Err(reason) => {
                    let (kind, meta) = (T::RESOURCE.kind, first.meta());
                    error =
                        Some(format!("can't adopt {kind} {} ({}): {reason}", meta.key, meta.uid));
                }
            }
        }
        actions.extend(self.release.iter().map(|object| release(owner, &**object)));
        let why = format!("{} to adopt, {} to release", self.adopt.len(), self.release.len());
        let steps = if actions.is_empty() { Vec::new() } else { vec![Step::Together(actions)] };
        Some(Plan { why: why.into(), steps, error, ..Plan::default() })
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

/// Takes an orphan. That it is gone does not matter; that somebody else took it first does.
fn adopt<T: Kind>(resource: &Resource, owner: &Meta, object: &T) -> Action {
    let body = owners_patch(&object.meta().uid, controller_ref(resource, owner));
    Action::Patch(Patch::strategic(ObjectRef::new(&T::RESOURCE, object.meta()), body))
}

/// Lets an object go. Invalid means that it has another uid by now, or no such owner any more.
fn release<T: Kind>(owner: &Meta, object: &T) -> Action {
    let object = ObjectRef::new(&T::RESOURCE, object.meta());
    let body = owners_patch(&object.uid, Removal { patch: "delete", uid: &owner.uid });
    Action::Patch(Patch { ignore_invalid: true, ..Patch::strategic(object, body) })
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

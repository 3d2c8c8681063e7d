//! Which objects an owner manages, adopts and releases. As `BaseControllerRefManager` and
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

/// An owner's claim on some objects. Objects in none of the lists are not its own.
#[derive(Clone, Debug)]
pub struct Claim<T> {
    /// Objects that the selector matches, and that the owner manages or will adopt: the ones that
    /// it counts.
    pub mine: Vec<Arc<T>>,
    /// Those of `mine` that have no controller: to be adopted.
    pub adopt: Vec<Arc<T>>,
    /// Objects that the owner manages although its selector no longer matches them: to be released.
    pub release: Vec<Arc<T>>,
    /// Added to the objects that are adopted, and removed from those that are released.
    finalizer: Option<&'static str>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizers: Option<[&'a str; 1]>,
    #[serde(rename = "$deleteFromPrimitiveList/finalizers")]
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_finalizers: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
struct Removal<'a> {
    #[serde(rename = "$patch")]
    patch: &'a str,
    uid: &'a str,
}

/// The relation of an object to an owner.
enum Stand {
    Mine,
    Adopt,
    Release,
    Foreign,
}

/// The objects that an owner manages and, in its namespace, those without a controller. The kind's
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

/// Sorts `objects` by their relation to the owner; keeps their order. An owner that is being
/// deleted neither adopts nor releases. `matches` is the owner's selector.
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
    Claim { mine: objects, adopt, release, finalizer: None }
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
        Self { mine: Vec::new(), adopt: Vec::new(), release: Vec::new(), finalizer: None }
    }
}

impl<T> Claim<T> {
    /// This claim, where what is adopted gets a finalizer, and what is released loses it.
    #[must_use]
    pub fn with_finalizer(self, finalizer: &'static str) -> Self {
        Self { finalizer: Some(finalizer), ..self }
    }

    /// Whether there is nothing to adopt or release.
    pub fn is_done(&self) -> bool {
        self.adopt.is_empty() && self.release.is_empty()
    }

    /// How many steps it puts before a plan.
    pub fn steps(&self) -> usize {
        usize::from(!self.is_done())
    }

    /// Whether a sync failed in the claim, which comes after `earlier` steps, or before it was
    /// tried. Then it is unknown how many objects there are.
    pub fn has_failed(&self, earlier: usize, outcome: &Outcome) -> bool {
        match outcome.step {
            Some(at) => !self.is_done() && at < earlier + self.steps(),
            None => !self.adopt.is_empty() && outcome.error.is_some(),
        }
    }
}

impl<T: Kind> Claim<T> {
    /// The plan `rest`, which relies on the claim, with the claim before it. An adoption that fails
    /// ends the plan, so that the plan does not act on a wrong number of objects. The plan
    /// continues, as upstream, if an adoption or a release succeeds without an effect because a
    /// webhook undoes it, or if a release is refused as invalid (422). While `rest` asks for live
    /// reads it comes alone, or the claim would be repeated in each round.
    ///
    /// Before an adoption the owner is read live. If it was deleted, replaced, is being deleted or
    /// cannot be read, nothing is adopted, and the plan ends in an error so that the key is
    /// retried.
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
        let releases = self.release.iter().map(|object| release(owner, &**object, self.finalizer));
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
            let adopt = |object: &Arc<T>| adopt(resource, owner, &**object, self.finalizer);
            actions.extend(self.adopt.iter().map(adopt));
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

/// Whether the live owner is the one in the cache, and is not being deleted. As upstream's
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

/// Adopts an orphan. It is a failure if the orphan was deleted, or if another owner adopted it
/// first: the plan relies on it.
fn adopt<T: Kind>(
    resource: &Resource,
    owner: &Meta,
    object: &T,
    finalizer: Option<&'static str>,
) -> Action {
    let metadata = OwnersPatchMeta {
        uid: &object.meta().uid,
        owner_references: [controller_ref(resource, owner)],
        finalizers: finalizer.map(|it| [it]),
        removed_finalizers: None,
    };
    let body = owners_patch(metadata);
    let object = ObjectRef::new(&T::RESOURCE, object.meta());
    Write::strategic(object, body).tolerating(&[]).into()
}

/// Releases an object. Invalid means that it has another uid by now, or no such owner any more, or
/// that it cannot be changed at all.
fn release<T: Kind>(owner: &Meta, object: &T, finalizer: Option<&'static str>) -> Action {
    let object = ObjectRef::new(&T::RESOURCE, object.meta());
    if mutant::is(Mutant::ReleasedGoes) {
        return Write::delete(object).into();
    }
    let metadata = OwnersPatchMeta {
        uid: &object.uid,
        owner_references: [Removal { patch: "delete", uid: &owner.uid }],
        finalizers: None,
        removed_finalizers: finalizer.map(|it| [it]),
    };
    let body = owners_patch(metadata);
    let tolerated = &[Tolerated::Missing, Tolerated::Invalid];
    Write::strategic(object, body).tolerating(tolerated).into()
}

/// The owner reference with which an object names `owner`, of the kind `resource`, as its
/// controller.
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

fn owners_patch(metadata: OwnersPatchMeta<'_, impl Serialize>) -> String {
    serde_json::to_string(&OwnersPatch { metadata }).expect("texts and booleans are JSON")
}

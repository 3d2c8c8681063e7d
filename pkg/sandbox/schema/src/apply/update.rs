//! What applying and updating make of an object and its managers. Upstream: structured-merge-diff's
//! merge/update.go and apimachinery's util/managedfields/internal.

use serde_json::Value;

use super::atom::{Atoms, Place};
use super::comparison::{Comparison, compare};
use super::element::{Element, same};
use super::managers::{self, Id, Managed, Managers, Operation};
use super::set::Set;
use super::typed::{Flaw, field_set, flaws, text, without, without_nulls};
use super::{Applier, ApplyError, Conflict, empty, kind_text, last_applied, merging};
use crate::{Schema, Shape, TypeId};

/// The manager that owns what was there before the first apply.
const BEFORE: &str = "before-first-apply";

/// One write.
pub(super) struct Updater<'a> {
    schema: &'a Schema,
    id: TypeId,
    shape: Shape,
    by: &'a Applier<'a>,
}

/// What another manager owns and this write changes.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) from: Id,
    pub(super) fields: Set,
}

impl<'a> Updater<'a> {
    pub(super) fn new(schema: &'a Schema, id: TypeId, by: &'a Applier<'a>) -> Self {
        Self { schema, id, shape: Shape::Object(id), by }
    }

    fn atoms(&self) -> Atoms<'_> {
        Atoms { schema: self.schema }
    }

    fn place(&self) -> Place<'_> {
        Place::Typed(&self.shape)
    }

    /// Whether writes to this subresource may own a field. Upstream: `GetResetFields`.
    fn may_own(&self, element: &Element) -> bool {
        let is_status = *element == Element::field("status");
        is_status == matches!(self.by.subresource, "status" | "approval")
    }

    fn me(&self, operation: Operation, name: &str) -> Id {
        let version = self.by.api_version.to_owned();
        Id {
            name: if name.is_empty() { "unknown" } else { name }.to_owned(),
            operation,
            api_version: (operation == Operation::Update).then_some(version),
            subresource: self.by.subresource.to_owned(),
        }
    }

    /// Applies.
    pub(super) fn apply(&self, live: &Value, applied: &Value) -> Result<Value, ApplyError> {
        let mut managers = managers::decode(managers::of(live))
            .map_err(|why| ApplyError::Failed(format!("failed to decode managed fields: {why}")))?;
        let mut live = live.clone();
        managers::remove(&mut live);
        let untyped = flaws(self.atoms(), self.place(), applied);
        if !untyped.is_empty() {
            let metadata = |field| applied.pointer(field).and_then(Value::as_str);
            return Err(ApplyError::Failed(format!(
                "failed to create typed patch object ({}/{}; {}): {}",
                metadata("/metadata/namespace").unwrap_or_default(),
                metadata("/metadata/name").unwrap_or_default(),
                kind_text(applied),
                text(&untyped)
            )));
        }
        if managers.is_empty() && live.is_object() {
            let before = empty::kind(self.schema, self.id);
            self.update(&before, &live, &mut managers, BEFORE)
                .map_err(|flaws| failed("failed to create manager for existing fields", &flaws))?;
        }
        let me = self.me(Operation::Apply, self.by.manager);
        let set = field_set(self.atoms(), self.place(), applied)
            .map_err(|flaws| failed("failed to get field set", &flaws))?
            .filtered(|element| self.may_own(element));
        let merged = merging::merge(self.atoms(), self.place(), &live, applied)
            .map_err(|flaws| failed("failed to merge config", &flaws))?;
        let last = managers.get(&me).map(|it| (it.set.clone(), it.time.clone()));
        let (last, time) = last.unwrap_or_default();
        let api_version = self.by.api_version.to_owned();
        managers.insert(me.clone(), Managed { api_version, set, time });
        let mut object = self
            .pruned(merged, &managers, &last)
            .map_err(|flaws| failed("failed to prune fields", &flaws))?;
        let (_, taken) = self
            .take(&live, &object, &mut managers, Some(&me))
            .map_err(|flaws| failed("failed to compare objects", &flaws))?;
        let allowed = || last_applied::allowed(self.atoms(), self.place(), &live, self.by);
        if !self.by.force && !taken.is_empty() {
            let left = last_applied::left(taken, allowed);
            if !left.is_empty() {
                return Err(ApplyError::Conflicts(conflicts(&left)));
            }
        }
        let changed = !same(&live, &object);
        strip(&mut managers, &me);
        if let Some(mine) = managers.get_mut(&me).filter(|_| changed) {
            mine.time = Some(self.by.now.to_owned());
        }
        without_nulls(self.atoms(), self.place(), &mut object);
        managers::encode(&mut object, &managers);
        Ok(object)
    }

    /// Sets the managers of what was written without applying.
    pub(super) fn updated(&self, old: &Value, new: &mut Value) {
        let live = || managers::decode(managers::of(old)).unwrap_or_default();
        let mut managers = if !self.by.subresource.is_empty() {
            live()
        } else if managers::are_reset(new) {
            Managers::new()
        } else {
            // Clients that know nothing of managers leave them out.
            let said = managers::decode(managers::of(new)).ok();
            said.filter(|said| !said.is_empty()).unwrap_or_else(live)
        };
        managers::remove(new);
        if managers.is_empty() {
            return;
        }
        let mut before = old.clone();
        managers::remove(&mut before);
        if !before.is_object() {
            before = empty::kind(self.schema, self.id);
        }
        // What cannot be compared has no managers.
        if self.update(&before, new, &mut managers, self.by.manager).is_ok() {
            managers::cap(&mut managers);
            managers::encode(new, &managers);
        }
    }

    /// Upstream: `Updater.Update`, and managedfieldsupdater.go.
    fn update(
        &self,
        old: &Value,
        new: &Value,
        managers: &mut Managers,
        name: &str,
    ) -> Result<(), Vec<Flaw>> {
        let me = self.me(Operation::Update, name);
        let (difference, _) = self.take(old, new, managers, None)?;
        let set = difference.set().filtered(|element| self.may_own(element));
        let set = set.difference(managers::never_owned());
        if !set.is_empty() {
            let before = managers.get(&me).map(|it| it.set.clone()).unwrap_or_default();
            let managed = Managed {
                api_version: self.by.api_version.to_owned(),
                set: set.union(&before),
                time: Some(self.by.now.to_owned()),
            };
            managers.insert(me, managed);
        }
        Ok(())
    }

    /// Takes from all managers but one what changes from `old` to `new`, and says what they owned
    /// of what is there still.
    fn take(
        &self,
        old: &Value,
        new: &Value,
        managers: &mut Managers,
        but: Option<&Id>,
    ) -> Result<(Comparison, Vec<Taken>), Vec<Flaw>> {
        let difference = compare(self.atoms(), self.place(), old, new)?
            .filtered(|element| self.may_own(element));
        let changed = difference.set();
        let mut all = Vec::new();
        for (id, managed) in managers.iter_mut().filter(|(id, _)| Some(*id) != but) {
            let fields = managed.set.intersection(&changed);
            if !fields.is_empty() {
                managed.set = managed.set.difference(&fields);
                all.push(Taken { from: id.clone(), fields });
            }
            managed.set = managed.set.difference(&difference.removed);
        }
        managers.retain(|_, managed| !managed.set.is_empty());
        Ok((difference, all))
    }

    /// Without what its manager applied last time, does not now, and no other manager owns.
    fn pruned(&self, merged: Value, managers: &Managers, last: &Set) -> Result<Value, Vec<Flaw>> {
        if last.is_empty() {
            return Ok(merged);
        }
        let (atoms, place) = (self.atoms(), self.place());
        let named = |set: &Set| set.with_named_fields(atoms, Some(place));
        let fields = |value: &Value| field_set(atoms, place, value).map(|set| named(&set));
        let last = named(last);
        let pruned = without(atoms, place, &merged, &last);
        // What others own, or what is applied still, was taken with what holds it: it comes back.
        let all = fields(&merged)?;
        let owned = managers.values().fold(Set::default(), |all, it| all.union(&it.set));
        let gone = all.difference(&fields(&pruned)?.union(&named(&owned)));
        let pruned = without(atoms, place, &merged, &gone);
        // So does what its applier never owned.
        let gone = all.difference(&fields(&pruned)?).intersection(&last);
        Ok(without(atoms, place, &merged, &gone))
    }
}

fn failed(what: &str, flaws: &[Flaw]) -> ApplyError {
    ApplyError::Failed(format!("{what}: {}", text(flaws)))
}

fn strip(managers: &mut Managers, id: &Id) {
    if let Some(managed) = managers.get_mut(id) {
        managed.set = managed.set.difference(managers::never_owned());
    }
    managers.retain(|_, managed| !managed.set.is_empty());
}

fn conflicts(taken: &[Taken]) -> Vec<Conflict> {
    let mut all = Vec::new();
    for Taken { from, fields } in taken {
        let message = format!("conflict with {}", from.text());
        fields.each(&mut |path| {
            let field = path.iter().map(ToString::to_string).collect();
            all.push(Conflict { message: message.clone(), field });
        });
    }
    all
}

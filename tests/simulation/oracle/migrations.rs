//! Migrations: which objects were stored anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::fields::{list, text, uid};
use super::objects::kind_of;
use super::{Judged, Oracle, Target, Tried};

pub(super) const ACCOUNT: &str = "storage-version-migrator-controller";

/// By uid of an object: up to which revision it was stored anew.
#[derive(Default)]
pub(super) struct Stored(BTreeMap<String, u64>);

impl Oracle {
    /// An object is not what the migrator knew of it, so another client has stored it. Upstream's
    /// `runMigration` (storageversionmigrator.go) leaves it alone then, as if it had looked.
    pub(super) fn learn_conflict(&mut self, it: &Tried<'_>) {
        let is_touch = it.account == ACCOUNT && it.method == "PATCH" && it.is_conflict;
        let key = Target::of(it.path).key().filter(|_| is_touch);
        let object = key.and_then(|(kind, of, name)| self.objects.get(&kind, &of, &name));
        if let Some(object) = object.map(|object| uid(object).to_owned()) {
            self.stored.0.insert(object, self.revision);
        }
    }

    /// An object is stored anew.
    pub(super) fn learn_stored(&mut self, it: &Judged<'_>) {
        let is_object = it.account == ACCOUNT && it.method == "PATCH" && it.target.sub.is_empty();
        if let Some(object) = it.before.as_deref().filter(|_| is_object) {
            self.stored.0.insert(uid(object).to_owned(), self.revision);
        }
    }

    /// Why the migrator is not to do that.
    pub(super) fn migrates_wrong(it: &Judged<'_>) -> Option<&'static str> {
        let is_new = it.before.is_none() && it.code == 201;
        is_new.then_some("makes what is gone")
    }

    /// A migration is said to be done, and an object is as old as before.
    pub(super) fn migrates_less(&self, it: &Judged<'_>) -> Option<String> {
        let is_done = it.account == ACCOUNT
            && it.target.plural == "storageversionmigrations"
            && is(it.sent, "Succeeded");
        let migration = it.before.as_deref().filter(|_| is_done)?;
        let until: u64 = text(migration, "/status/resourceVersion").parse().ok()?;
        let kind = kind_of(text(migration, "/spec/resource/resource"))?;
        let is_old = |object: &&Arc<Value>| {
            let version: u64 = text(object, "/metadata/resourceVersion").parse().unwrap_or(0);
            let stored = self.stored.0.get(uid(object)).copied().unwrap_or(0);
            version <= until && stored < until
        };
        let old = self.objects.of_kind(kind).find(is_old)?;
        Some(format!("{it}: {} was not stored", text(old, "/metadata/name")))
    }
}

/// What a migration still has to become.
pub(super) fn migration_lacks(migration: &Value) -> Option<String> {
    let is_over = is(migration, "Succeeded") || is(migration, "Failed");
    (!is_over || is(migration, "Running")).then(|| "is not over".to_owned())
}

fn is(migration: &Value, condition: &str) -> bool {
    let conditions = list(migration, "/status/conditions");
    conditions.iter().any(|it| text(it, "/type") == condition && text(it, "/status") == "True")
}

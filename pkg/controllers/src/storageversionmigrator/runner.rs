//! Which migration of a kind runs. As upstream's
//! `pkg/controller/storageversionmigrator/migrationrunner.go`.

use std::sync::Arc;

use api::{Key, Meta, Raw, Resource, StorageVersionMigration, Time};
use controller::{
    Answer, Change, Enqueue, Facts, ObjectRef, PatchKind, Plan, Query, Step, View, Watches, Write,
};
use serde_json::{Value, json};

use super::conditions;

/// Who owns the condition in definitions.
const FIELD_MANAGER: &str = "migration-runner-controller";
const CONDITION: &str = "StorageMigrating";

/// The engine whose keys are kinds: group and plural.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runner;

/// The migrations of a kind.
#[derive(Clone, Debug)]
pub struct Kinds {
    /// The kind: group and plural.
    key: Key,
    /// Sorted by age, and then by name.
    migrations: Vec<Arc<StorageVersionMigration>>,
    now: Time,
}

impl controller::Controller for Runner {
    type Snapshot = Kinds;
    type Memory = super::Memory;
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<StorageVersionMigration>(|_, change, _, queue| changed(change, queue));
    }

    fn named(&self, key: &Key, _: &super::Memory) -> Option<Key> {
        // A person may name the definition of the kind.
        let (plural, group) = key.name.split_once('.').filter(|_| key.namespace.is_empty())?;
        Some(Key::new(group, plural))
    }

    fn observe(&self, key: &Key, view: &View<'_>, _: &super::Memory) -> Option<Kinds> {
        let kind = format!("{}/{}", key.namespace, key.name);
        let all = view.of::<StorageVersionMigration>();
        let mut migrations = all.by(StorageVersionMigration::BY_KIND, &kind);
        migrations.retain(|it| it.unreadable.is_none());
        // As `compareSVM`.
        migrations.sort_by(|a, b| {
            let created = a.meta.creation_timestamp.cmp(&b.meta.creation_timestamp);
            created.then_with(|| a.meta.key.name.cmp(&b.meta.key.name))
        });
        Some(Kinds { key: key.clone(), migrations, now: view.now })
    }

    fn decide(&self, snapshot: &Kinds, facts: &Facts) -> (Plan, ()) {
        (decide(snapshot, facts), ())
    }

    fn summary(&self, snapshot: &Kinds) -> Vec<(&'static str, String)> {
        let names = |is: fn(&StorageVersionMigration) -> bool| {
            let migrations = snapshot.migrations.iter().filter(|it| is(it));
            let names: Vec<_> = migrations.map(|it| it.meta.key.name.to_string()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        vec![
            ("running", names(|it| it.is_running() && !it.is_over())),
            ("waiting", names(|it| !it.is_running() && !it.is_over())),
            ("over", names(StorageVersionMigration::is_over)),
        ]
    }
}

fn changed(change: &Change<StorageVersionMigration>, queue: &mut Enqueue) {
    let migration = change.object();
    queue.add(&Key::new(&migration.group, &migration.plural));
}

/// As `getSVMsForResource`, one step at a time: each write enqueues the kind again.
fn decide(s: &Kinds, facts: &Facts) -> Plan {
    let find = |is: fn(&StorageVersionMigration) -> bool| {
        s.migrations.iter().find(|it| is(it)).map(|it| &**it)
    };
    if let Some(migration) = find(|it| it.is_running() && it.is_over()) {
        let name = &migration.meta.key.name;
        let end = conditions::completed(migration, s.now);
        return with_definition(s, facts, format!("{name} is over"), end, |definition| {
            ended(s, migration, definition)
        });
    }
    if let Some(migration) = find(StorageVersionMigration::is_running) {
        return Plan::rest(format!("{} runs", migration.meta.key.name));
    }
    let Some(migration) = find(|it| !it.is_over()) else {
        return Plan::rest("no migration waits");
    };
    let name = &migration.meta.key.name;
    if migration.says("Running") {
        return Plan::rest(format!("{name} runs no longer, and is not over"));
    }
    let begin = conditions::running(migration, s.now);
    with_definition(s, facts, format!("{name} is the next one"), begin, |(meta, _)| {
        let message = format!("Migration {name} is running");
        apply(s, meta, ("True", "MigrationRunning", &message), None)
    })
}

/// Writes the definition, if the kind has one, and then the migration.
fn with_definition(
    s: &Kinds,
    facts: &Facts,
    why: String,
    then: Write,
    first: impl Fn(&(Meta, Raw)) -> Write,
) -> Plan {
    let query =
        Query::object(definitions(), Key::new("", &format!("{}.{}", s.key.name, s.key.namespace)));
    let definition = match facts.get(&query).map(Answer::object) {
        None => {
            return Plan::fetch(format!("{why}: does the kind have a definition?"), vec![query]);
        }
        Some(Ok(definition)) => definition,
        Some(Err(error)) => {
            let error = format!("cannot read the definition of the kind: {error}");
            return Plan::failed("nothing says whether the kind has a definition", error);
        }
    };
    let first = definition.map(|it| first(it).into());
    Plan::one(why, Step::InOrder(first.into_iter().chain([then.into()]).collect()))
}

/// As `finishCRDMigration`.
fn ended(s: &Kinds, migration: &StorageVersionMigration, (meta, raw): &(Meta, Raw)) -> Write {
    let part = |name: &str| -> Value {
        let part = raw.field(name).map(|part| serde_json::from_str(part.get()));
        part.and_then(Result::ok).unwrap_or_default()
    };
    let (spec, status) = (part("spec"), part("status"));
    let items = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let conditions = items(&status, "conditions");
    let known = conditions.iter().find(|it| it["type"] == CONDITION);
    // The definition is the one that it was when the migration began.
    let is_same = known.is_some_and(|it| it["observedGeneration"] == meta.generation);
    if !migration.has_succeeded() {
        return apply(s, meta, ("False", "MigrationFailed", "The migration has failed"), None);
    }
    let versions = items(&spec, "versions");
    let stored = versions.iter().find(|it| it["storage"] == true).filter(|_| is_same);
    let message = if is_same {
        "The migration has succeeded and the stored versions have been updated"
    } else {
        "The migration has succeeded but the stored versions have not been updated due to a \
         generation mismatch"
    };
    let stored = stored.and_then(|it| it["name"].as_str());
    apply(s, meta, ("False", "MigrationSucceeded", message), stored)
}

/// The condition in the definition, and the one version that objects are stored in.
fn apply(
    s: &Kinds,
    meta: &Meta,
    (status, reason, message): (&str, &str, &str),
    stored: Option<&str>,
) -> Write {
    let mut condition = json!({"type": CONDITION, "status": status, "reason": reason,
        "message": message, "lastTransitionTime": s.now});
    if meta.generation != 0 {
        condition["observedGeneration"] = json!(meta.generation);
    }
    let resource = definitions();
    let mut body = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {
            "name": &*meta.key.name,
            "uid": &*meta.uid,
            "resourceVersion": meta.resource_version.to_string(),
        },
        "status": {"conditions": [condition]},
    });
    if let Some(stored) = stored {
        body["status"]["storedVersions"] = json!([stored]);
    }
    let kind = PatchKind::Apply { field_manager: FIELD_MANAGER, force: true };
    Write::patch(ObjectRef::new(&resource, meta), kind, body.to_string()).at("status")
}

fn definitions() -> Resource {
    Resource::cluster_scoped(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
    )
}

//! Conditions of a migration. As `setStatusConditions` of upstream's
//! `pkg/controller/storageversionmigrator/util.go`.

use api::{Edit, Kind, StorageVersionMigration, Time};
use controller::{ObjectRef, Retry, Write};
use serde_json::{Value, json};

/// Why a migration is over.
const FAILED: &str = "StorageVersionMigrationFailed";
const SUCCEEDED: &str = "StorageVersionMigrationSucceeded";

/// The condition that it runs.
pub(super) fn running(migration: &StorageVersionMigration, now: Time) -> Write {
    added(migration, now, ("Running", "MigrationRunning", "The migration is running"))
}

/// The condition that all is done.
pub(super) fn succeeded(migration: &StorageVersionMigration, now: Time) -> Write {
    added(migration, now, ("Succeeded", SUCCEEDED, ""))
}

/// The condition that it cannot be done.
pub(super) fn failed(migration: &StorageVersionMigration, now: Time, message: &str) -> Write {
    added(migration, now, ("Failed", FAILED, message))
}

/// The same, as `failMigration` of upstream's storageversionmigrator.go says it.
pub(super) fn unhandled(migration: &StorageVersionMigration, now: Time, error: &str) -> Write {
    failed(migration, now, &format!("migration encountered unhandled error: {error}"))
}

/// That it runs no longer. As `SetStatusCondition` of apimachinery.
pub(super) fn completed(migration: &StorageVersionMigration, now: Time) -> Write {
    let mut conditions = migration.whole_conditions();
    let mut condition = json!({"type": "Running", "status": "False", "lastTransitionTime": now,
        "reason": "MigrationCompleted", "message": "Migration completed"});
    if migration.meta.generation != 0 {
        condition["observedGeneration"] = json!(migration.meta.generation);
    }
    if let Some(known) = conditions.iter_mut().find(|it| it["type"] == "Running") {
        *known = condition;
    }
    write(migration, vec![Edit::new(["status", "conditions"], conditions.into())])
}

/// The version up to which objects are to be stored anew.
pub(super) fn noted(migration: &StorageVersionMigration, version: &str) -> Write {
    write(migration, vec![Edit::new(["status", "resourceVersion"], json!(version))])
}

fn added(
    migration: &StorageVersionMigration,
    now: Time,
    (kind, reason, message): (&str, &str, &str),
) -> Write {
    let mut conditions = migration.whole_conditions();
    if !migration.says(kind) {
        conditions.push(json!({"type": kind, "status": "True", "lastTransitionTime": now,
            "reason": reason, "message": message}));
    }
    write(migration, vec![Edit::new(["status", "conditions"], Value::Array(conditions))])
}

fn write(migration: &StorageVersionMigration, edits: Vec<Edit>) -> Write {
    let object = ObjectRef::new(&StorageVersionMigration::RESOURCE, &migration.meta);
    Write::status(object, migration.raw.clone(), edits, Retry::Never)
}

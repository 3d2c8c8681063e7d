//! Up to which version objects are to be stored anew. As upstream's
//! `pkg/controller/storageversionmigrator/resourceversion.go`.

use std::sync::Arc;

use api::{Key, ServedKind, StorageVersionMigration, Time, Verb};
use controller::{Answer, Everything, Facts, Plan, Query, Step, View, Watches, Write};

use super::{Found, Memory, conditions, may_appear, printed, version};

/// No namespace has this name.
const NOWHERE: &str = "@fake:svm_ns!";
/// What must be possible with objects that are to be stored anew.
const VERBS: [Verb; 3] = [Verb::Update, Verb::Patch, Verb::List];

/// The engine that notes the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint;

/// A migration, and its kind.
#[derive(Clone, Debug)]
pub struct Noted {
    migration: Arc<StorageVersionMigration>,
    kind: Found,
    now: Time,
}

impl controller::Controller for Checkpoint {
    type Snapshot = Noted;
    type Memory = Memory;
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<StorageVersionMigration>(|_, change, _, queue| queue.own(change));
        table.everything(Everything {
            served: |_, memory, served, _| memory.served = Some(Arc::clone(served)),
            changed: |_, _, _, _, _, _| {},
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &Memory) -> Option<Noted> {
        let migration = view.of::<StorageVersionMigration>().get(key)?;
        let kind = memory.kind_of(&migration);
        Some(Noted { migration, kind, now: view.now })
    }

    fn decide(&self, snapshot: &Noted, facts: &Facts) -> (Plan, ()) {
        (decide(snapshot, facts), ())
    }

    fn summary(&self, s: &Noted) -> Vec<(&'static str, String)> {
        let kind = match &s.kind {
            Found::Served(kind) => printed(kind),
            Found::Missing => "not served".to_owned(),
            Found::Unknown(why) => why.clone(),
        };
        let until = &s.migration.until;
        let until = if until.is_empty() { "not known yet".to_owned() } else { until.to_string() };
        vec![("kind", kind), ("stored anew up to", until)]
    }
}

/// As `sync`.
fn decide(s: &Noted, facts: &Facts) -> Plan {
    let migration = &s.migration;
    if let Some(error) = &migration.unreadable {
        return Plan::rest(format!("the object cannot be read: {error}"));
    } else if !migration.is_running() {
        return Plan::rest("it does not run yet");
    } else if migration.is_over() {
        return Plan::rest("it is over");
    } else if !migration.until.is_empty() {
        return Plan::rest("the version is noted");
    }
    let one = |why: &'static str, write: Write| Plan::one(why, Step::InOrder(vec![write.into()]));
    let fail = |why: &str| conditions::failed(migration, s.now, why);
    let kind = match &s.kind {
        Found::Served(kind) => kind,
        Found::Unknown(error) => return Plan::failed("its kind is not known", error.clone()),
        Found::Missing if may_appear(migration, s.now) => {
            let error = "resource does not exist in our rest mapper, requeuing to attempt again";
            return Plan::failed_quietly("its kind may still appear", error);
        }
        Found::Missing => {
            return one("its kind is not served", fail("resource does not exist in discovery"));
        }
    };
    if !VERBS.iter().all(|verb| kind.verbs.contains(verb)) {
        let kind = api::go::quote(printed(kind));
        let why =
            format!("resource {kind} does not support discovery operations: [update patch list]");
        return one("its kind cannot be migrated", fail(&why));
    }
    let query = Query::path(list(kind));
    let list = match facts.get(&query).map(Answer::json) {
        None => return Plan::fetch("which version is the latest?", vec![query]),
        Some(Ok(list)) => list,
        Some(Err(error)) => {
            let kind = printed(kind);
            let error = format!("error getting latest resourceVersion for {kind}: {error}");
            return Plan::failed("its kind cannot be listed", error);
        }
    };
    let latest = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    match version(latest) {
        Ok(_) => one("the latest version is noted", conditions::noted(migration, latest)),
        Err(error) => {
            let kind = printed(kind);
            let why = format!("latest resourceVersion for {kind} is not valid: {error}");
            one("its kind has odd versions", fail(&why))
        }
    }
}

/// The path of a list of one object at most. As `getLatestResourceVersion`.
fn list(kind: &ServedKind) -> String {
    let namespace = if kind.resource.namespaced { NOWHERE } else { "" };
    format!("{}?limit=1", kind.resource.collection_path(namespace))
}

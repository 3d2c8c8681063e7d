//! Which objects are stored anew next. As `sync` and `runMigration` of upstream's
//! `pkg/controller/storageversionmigrator/storageversionmigrator.go`.

use std::time::Duration;

use api::{Key, Meta, ServedKind};
use controller::{Action, ObjectRef, PatchKind, Plan, Step, Tolerated, Write};
use mutant::Mutant;
use serde_json::json;

use super::snapshot::{Objects, Snapshot};
use super::{Found, may_appear, version};

/// Who owns nothing.
const FIELD_MANAGER: &str = "storage-version-migrator-controller";
/// How many objects are stored anew in one sync.
pub(super) const PORTION: usize = 500;

/// What a sync comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Nothing,
    /// It cannot be done, for this reason.
    Fails(String),
    /// If all writes succeed, all objects up to this one are stored anew.
    Until(Key),
    /// If all writes succeed, it is done.
    Done,
}

/// As `sync`.
pub(super) fn decide(s: &Snapshot) -> (Plan, Verdict) {
    let migration = &s.migration;
    let rest = |why: &'static str| (Plan::rest(why), Verdict::Nothing);
    if let Some(error) = &migration.unreadable {
        return (Plan::rest(format!("the object cannot be read: {error}")), Verdict::Nothing);
    } else if migration.is_over() {
        return rest("it is over");
    } else if migration.until.is_empty() {
        return rest("it is not known yet up to which version");
    }
    let fail = |why: &'static str, error: &str| (Plan::rest(why), Verdict::Fails(error.to_owned()));
    let wait =
        |why: &'static str, error: &str| (Plan::failed_quietly(why, error), Verdict::Nothing);
    let may_appear = may_appear(migration, s.now);
    let kind = match &s.kind {
        Found::Served(kind) => kind,
        Found::Unknown(error) => {
            return (Plan::failed("its kind is not known", error.clone()), Verdict::Nothing);
        }
        Found::Missing if may_appear => {
            let error = "resource does not exist in rest mapper, requeuing to attempt again";
            return wait("its kind may still appear", error);
        }
        Found::Missing => {
            return fail("its kind is not served", "unable to obtain GVR from discovery");
        }
    };
    let until = match version(&migration.until) {
        Ok(until) => until,
        Err(error) => {
            let start = "error comparing resource versions between GC and SVM resource";
            return fail("its version is odd", &format!("{start}: {error}"));
        }
    };
    match &s.objects {
        None if may_appear => {
            let error = "resource does not exist in GC, requeuing to attempt again";
            wait("its kind is not listed yet", error)
        }
        None => fail("its kind is not listed", "resource does not exist in GC"),
        Some(objects) if objects.shown < until => {
            let error = format!(
                "GC cache is not up to date, requeuing to attempt again. gcListResourceVersion: \
                 {}, listResourceVersion: {until}",
                objects.shown
            );
            wait("its kind is not known up to that version yet", &error)
        }
        Some(objects) => migrate(kind, objects),
    }
}

/// As `runMigration`, the next objects.
fn migrate(kind: &ServedKind, objects: &Objects) -> (Plan, Verdict) {
    let portion = &objects.next[..objects.next.len().min(PORTION)];
    let is_last_left = mutant::is(Mutant::LastNotStored);
    let portion = &portion[..portion.len() - usize::from(is_last_left && !portion.is_empty())];
    let actions: Vec<_> = portion.iter().map(|meta| touch(kind, meta)).collect();
    let last = portion.last().filter(|_| objects.next.len() > PORTION);
    let verdict = last.map_or(Verdict::Done, |meta| Verdict::Until(meta.key.clone()));
    if actions.is_empty() {
        return (Plan::rest("everything is stored anew"), verdict);
    }
    let plan = Plan::one("older objects are stored anew", Step::InOrder(actions));
    (plan.again_after(last.map(|_| Duration::ZERO)), verdict)
}

/// An apply of nothing: the API server stores the object as it is. With uid and version, so that
/// one that was deleted is not made again, and one that was made again is left alone.
fn touch(kind: &ServedKind, meta: &Meta) -> Action {
    let body = json!({
        "apiVersion": kind.resource.api_version(),
        "kind": kind.resource.kind,
        "metadata": {
            "uid": &*meta.uid,
            "resourceVersion": meta.resource_version.to_string(),
        },
    });
    let how = PatchKind::Apply { field_manager: FIELD_MANAGER, force: false };
    let write = Write::patch(ObjectRef::new(&kind.resource, meta), how, body.to_string());
    write.tolerating(&[Tolerated::Conflict]).into()
}

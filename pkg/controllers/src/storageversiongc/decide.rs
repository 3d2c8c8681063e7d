//! Which entries go, and what the rest have in common. As `syncStorageVersion` and
//! `updateOrDeleteStorageVersion` of upstream's
//! `pkg/controller/storageversiongc/gc_controller.go`, and `SetCommonEncodingVersion` of
//! k8s.io/apiserver's `pkg/storageversion/updater.go`.

use std::collections::BTreeSet;
use std::time::Duration;

use api::{Edit, Kind, ServerVersion, StorageVersion, SystemLease, Text};
use controller::{Delete, Facts, Guard, ObjectRef, Plan, Query, Retry, Step, Write};
use mutant::Mutant;
use serde_json::{Value, json};

use super::snapshot::{Snapshot, lease_key};

/// The only type of conditions.
const CONDITION: &str = "AllEncodingVersionsEqual";
/// When an object that was to be deleted is looked at again. A conflict is no failure of such a
/// deletion, and of another version than the cache's nothing may come. Upstream tries again.
const AGAIN: Duration = Duration::from_secs(1);

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> Plan {
    if let Some(error) = &s.version.unreadable {
        return Plan::rest(format!("the object cannot be read: {error}"));
    }
    if s.missing.is_empty() {
        return Plan::rest("all API servers that it names are there");
    }
    let query = |server: &Text| Query::view::<SystemLease>(lease_key(server));
    let mut gone = BTreeSet::new();
    for server in &s.missing {
        if mutant::is(Mutant::LeaseUnread) {
            gone.insert(server);
            continue;
        }
        let Some(answer) = facts.get(&query(server)) else {
            let queries = s.missing.iter().map(query).collect();
            return Plan::fetch(format!("is the API server {server} really gone?"), queries);
        };
        match answer.view::<SystemLease>() {
            Ok(Some(lease)) if lease.is_of_api_server() => {}
            Ok(_) => drop(gone.insert(server)),
            Err(error) => {
                let error = format!("cannot read the Lease {server}: {error}");
                return Plan::failed("nothing says whether an API server is gone", error);
            }
        }
    }
    let stays = |it: &ServerVersion| !gone.contains(&it.server);
    let rest: Vec<_> = s.version.servers.iter().filter(|it| stays(it)).collect();
    if gone.is_empty() {
        return Plan::rest("all API servers that it names are there");
    }
    let why = format!("these API servers are gone: {}", names(&gone));
    let object = ObjectRef::new(&StorageVersion::RESOURCE, &s.version.meta);
    let write = if rest.is_empty() {
        Write::delete_so(object, Delete { guard: Guard::Version, ..Delete::default() })
    } else {
        let entries = s.version.entries().into_iter().zip(&s.version.servers);
        let entries = entries.filter(|(_, it)| stays(it)).map(|(entry, _)| entry).collect();
        Write::status(object, s.version.raw.clone(), edits(s, entries, &rest), Retry::Never)
    };
    let again = rest.is_empty().then_some(AGAIN);
    Plan::one(why, Step::InOrder(vec![write.into()])).again_after(again)
}

fn names(gone: &BTreeSet<&Text>) -> String {
    let names: Vec<&str> = gone.iter().map(|it| &***it).collect();
    names.join(", ")
}

/// The status of what is left.
fn edits(s: &Snapshot, entries: Value, rest: &[&ServerVersion]) -> Vec<Edit> {
    let first = rest.first().map(|it| &it.encoding);
    let common = first.filter(|first| rest.iter().all(|it| it.encoding == **first));
    let mut edits = vec![Edit::new(["status", "storageVersions"], entries)];
    if common != s.version.common.as_ref() {
        let value = common.map_or(Value::Null, |common| json!(common));
        edits.push(Edit::new(["status", "commonEncodingVersion"], value));
    }
    let conditions = conditions(s, common).into();
    edits.push(Edit::new(["status", "conditions"], conditions));
    edits
}

/// As `setStatusCondition`: a common version that is another one than before is a transition, too.
fn conditions(s: &Snapshot, common: Option<&Text>) -> Vec<Value> {
    let mut conditions = s.version.conditions();
    let (status, reason, message) = match common {
        Some(_) => ("True", "CommonEncodingVersionSet", "Common encoding version set"),
        None => ("False", "CommonEncodingVersionUnset", "Common encoding version unset"),
    };
    let mut condition = json!({"type": CONDITION, "status": status, "reason": reason,
        "message": message, "lastTransitionTime": s.now});
    if s.version.meta.generation != 0 {
        condition["observedGeneration"] = json!(s.version.meta.generation);
    }
    match conditions.iter_mut().find(|it| it["type"] == CONDITION) {
        Some(known) => {
            let before = s.version.common.as_ref();
            let is_other = before.is_some() && common.is_some() && before != common;
            if known["status"] == status && !is_other {
                condition["lastTransitionTime"] = known["lastTransitionTime"].take();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
    conditions
}

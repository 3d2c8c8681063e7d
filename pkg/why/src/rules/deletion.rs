//! Objects that are being deleted, and what holds them.

use api::{DaemonSet, Deployment, Job, Kind, Pod, ReplicaSet, Resource, StatefulSet};
use serde_json::Value;

use crate::json::{flag, list, text, time};
use crate::look::{Look, Thing};

/// The finalizer of a deletion in the foreground, and that of one that leaves the dependents.
const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Says what holds an object that is being deleted. False: it is not.
pub(super) fn holds(look: &mut Look<'_>, thing: &Thing) -> bool {
    let Some(asked) = time(&thing.json, "/metadata/deletionTimestamp") else { return false };
    let finalizers: Vec<_> = finalizers(thing);
    if finalizers.is_empty() {
        look.waits(thing, "is being deleted").since(Some(asked)).next("the API server removes it");
    }
    for finalizer in finalizers {
        match finalizer.as_str() {
            FOREGROUND => foreground(look, thing),
            ORPHAN => {
                look.waits(thing, "is being deleted, and its dependents are kept")
                    .since(Some(asked))
                    .waiting_for("the garbage collector, which takes it off their owners");
            }
            other => {
                look.stuck(thing, format!("is being deleted, and held by the finalizer {other}"))
                    .since(Some(asked))
                    .waiting_for(format!("whoever set {other}, to do its work and remove it"))
                    .next("nothing, as long as nobody does");
            }
        }
    }
    true
}

/// The finalizers of an object.
pub(super) fn finalizers(thing: &Thing) -> Vec<String> {
    let finalizers = list(&thing.json, "/metadata/finalizers").iter();
    finalizers.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The dependents that block a deletion in the foreground.
fn foreground(look: &mut Look<'_>, thing: &Thing) {
    let asked = time(&thing.json, "/metadata/deletionTimestamp");
    let mut blocking = Vec::new();
    for kind in dependents() {
        let found = look.list(&kind, thing.namespace());
        blocking.extend(found.into_iter().filter(|it| blocks(it, thing)));
    }
    let waiting_for = match blocking.len() {
        0 => "dependents that block it, of kinds that are not looked at here".to_owned(),
        1 => "1 dependent that blocks it".to_owned(),
        many => format!("{many} dependents that block it"),
    };
    look.waits(thing, "is being deleted after its dependents (foregroundDeletion)")
        .since(asked)
        .waiting_for(waiting_for);
    look.follow_alike(&blocking);
}

fn blocks(dependent: &Thing, owner: &Thing) -> bool {
    let mut owners = list(&dependent.json, "/metadata/ownerReferences").iter();
    owners.any(|it| text(it, "/uid") == owner.uid() && flag(it, "/blockOwnerDeletion"))
}

/// The usual kinds of dependents.
fn dependents() -> [Resource; 6] {
    [
        ReplicaSet::RESOURCE,
        Pod::RESOURCE,
        Job::RESOURCE,
        StatefulSet::RESOURCE,
        DaemonSet::RESOURCE,
        Deployment::RESOURCE,
    ]
}

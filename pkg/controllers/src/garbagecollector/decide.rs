//! Whether an object is deleted, and how. As `attemptToDeleteItem` and what it calls in upstream's
//! `garbagecollector.go`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::{Metadata, OwnerRef, go};
use controller::{
    Action, Delete, Event, EventType, Facts, Guard, ObjectRef, Plan, Propagation, Query, Step,
    Write,
};
use mutant::Mutant;

use super::identity::Identity;
use super::node::{Ending, FOREGROUND, ORPHAN};
use super::patches;
use super::snapshot::{Owner, Seen, Snapshot, Standing, unseen};

/// The delay before an object that exists and was never observed is read again: its kind is not
/// watched, or its events were missed and it is deleted by then. Upstream's delays double.
const LOOK_AGAIN: Duration = Duration::from_mins(1);
/// How many owners a sentence names.
const NAMED_MAX: usize = 5;

/// The owners by what they are worth, as upstream's `classifyReferences`.
#[derive(Default)]
struct Sorted<'a> {
    solid: Vec<&'a OwnerRef>,
    absent: Vec<&'a OwnerRef>,
    waiting: Vec<&'a OwnerRef>,
}

/// Why owners cannot be sorted.
enum Unsorted {
    /// These must be read first.
    Ask(Vec<Query>),
    /// That may change.
    Later(String),
    /// The API server does not serve the kind of one, which may stay so for ever. As upstream's
    /// `restMappingError`, which is no warning either.
    NoKind(String),
    /// That changes only if the object does.
    Never(String),
}

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> Plan {
    let Some(seen) = &s.seen else { return look(s, facts) };
    if seen.ending.is_waiting() {
        return wait(s, seen);
    }
    if seen.ending.terminating {
        return Plan::rest("it is being deleted");
    }
    let plan = collect(s, seen, &s.owners, facts);
    if is_fetch(&plan) {
        return plan;
    }
    let about = Arc::new(seen.object.clone());
    let events = s.elsewhere().into_iter().map(|owner| misplaced(s, owner, &about));
    let events: Vec<_> = events.collect();
    let events = (!events.is_empty()).then_some(Step::InOrder(events));
    Plan { steps: events.into_iter().chain(plan.steps).collect(), ..plan }
}

/// An object that only references speak of: is it there? Its absence is learned elsewhere.
fn look(s: &Snapshot, facts: &Facts) -> Plan {
    let Identity { kind, api_version, uid, .. } = &s.identity;
    let query = match &s.standing {
        Standing::Unseen(query) => &**query,
        Standing::NoNamespace => {
            return Plan::rest(
                "an object outside namespaces names it as owner, and it can only be in one",
            );
        }
        Standing::NoKind | Standing::Solid | Standing::Waiting(_) | Standing::Absent => {
            return Plan::failed_quietly("it was never observed", no_kind(api_version, kind));
        }
    };
    let (Query::Get { resource, .. }, Some(answer)) = (query, facts.get(query)) else {
        return Plan::fetch("it is named as owner, and was never observed", vec![query.clone()]);
    };
    let live = match answer.metadata() {
        Err(error) => {
            return Plan::failed("it was never observed", format!("cannot read {query}: {error}"));
        }
        Ok(live) => live.filter(|live| live.meta.uid == *uid),
    };
    let Some(Metadata { meta }) = live else {
        // It is no longer in the graph then, or has another name, under which it is looked at. As
        // upstream, which forgets the item.
        return Plan::rest("it does not exist; those that name it as owner are looked at");
    };
    let seen = Seen {
        object: ObjectRef::new(resource, meta),
        owners: Arc::clone(&meta.owners),
        ending: Ending::whole(meta),
    };
    let plan = if seen.ending.terminating {
        Plan::rest("it is being deleted, and was never observed")
    } else {
        let owner = |owner: &OwnerRef| Owner {
            standing: unseen(s.served.as_deref(), &Identity::of(owner, &meta.key.namespace)),
            reference: owner.clone(),
            is_elsewhere: false,
        };
        let owners: Vec<_> = seen.owners.iter().map(owner).collect();
        collect(s, &seen, &owners, facts)
    };
    if is_fetch(&plan) { plan } else { plan.again_after(Some(LOOK_AGAIN)) }
}

/// It is being deleted in the foreground. As `processDeletingDependentsItem`.
fn wait(s: &Snapshot, seen: &Seen) -> Plan {
    let Snapshot { dependents, blocking, .. } = s;
    if *blocking > 0 && !mutant::is(Mutant::ForegroundNotAwaited) {
        return Plan::rest(format!(
            "it is being deleted in the foreground and waits for {blocking} of its {dependents} \
             dependents"
        ));
    }
    let patch = patches::remove_finalizer(&seen.object, &seen.ending.finalizers, FOREGROUND);
    let why = "it is being deleted in the foreground, and no dependent blocks that any longer";
    Plan::one(why, Step::InOrder(vec![patch.into()]))
}

/// Deletes it if none of its owners is there to stay.
fn collect(s: &Snapshot, seen: &Seen, owners: &[Owner], facts: &Facts) -> Plan {
    if owners.is_empty() {
        return Plan::rest("it has no owners");
    }
    let Sorted { solid, absent, waiting } = match sort(owners, facts) {
        Ok(sorted) => sorted,
        Err(Unsorted::Ask(queries)) => {
            return Plan::fetch("do its owners exist?", queries);
        }
        Err(Unsorted::Later(error)) => {
            return Plan::failed("an owner cannot be found out about", error);
        }
        Err(Unsorted::NoKind(error)) => {
            return Plan::failed_quietly("an owner cannot be found out about", error);
        }
        Err(Unsorted::Never(why)) => return Plan::rest(why),
    };
    let Seen { object, owners, .. } = seen;
    if !solid.is_empty() {
        let stays = format!("it stays, since it is owned by {}", named(&solid));
        let ended: Vec<_> = absent.iter().chain(&waiting).copied().collect();
        if ended.is_empty() {
            return Plan::rest(stays);
        }
        let uids: BTreeSet<&str> = ended.iter().map(|owner| &*owner.uid).collect();
        let patch = patches::disown(object, owners, &uids);
        let why = format!("{stays}; absent or being deleted: {}", named(&ended));
        return Plan::one(why, Step::InOrder(vec![patch.into()]));
    }
    let nonexistent = format!("its owners do not exist: {}", named(&absent));
    if waiting.is_empty() {
        return Plan::one(nonexistent, delete(seen, by_finalizer(seen)));
    }
    let waits = format!("being deleted in the foreground: {}", named(&waiting));
    let why = if absent.is_empty() {
        format!("its owners are {waits}")
    } else {
        format!("{nonexistent}; {waits}")
    };
    if s.dependents == 0 {
        return Plan::one(why, delete(seen, by_finalizer(seen)));
    }
    if s.in_circle && owners.iter().any(|owner| owner.block_owner_deletion) {
        // Deleted once the graph shows this: the guard compares the owners.
        let patch = patches::unblock(object, owners);
        let why = format!("{why}, and so is one of its dependents: owners must not wait for it");
        return Plan::one(why, Step::InOrder(vec![patch.into()]));
    }
    Plan::one(why, delete(seen, Propagation::Foreground))
}

fn sort<'a>(owners: &'a [Owner], facts: &Facts) -> Result<Sorted<'a>, Unsorted> {
    let (mut sorted, mut ask) = (Sorted::default(), Vec::new());
    let mut failed = None;
    for Owner { reference, standing, .. } in owners {
        let list = match standing {
            Standing::Solid => &mut sorted.solid,
            Standing::Absent => &mut sorted.absent,
            Standing::Unseen(_) if mutant::is(Mutant::UnseenIsAbsent) => &mut sorted.absent,
            Standing::NoKind if mutant::is(Mutant::UnservedIsAbsent) => &mut sorted.absent,
            Standing::Unseen(query) | Standing::Waiting(query) => {
                match facts.get(query).map(|answer| answer.metadata()) {
                    None => {
                        ask.push((**query).clone());
                        continue;
                    }
                    Some(Err(error)) => {
                        failed = failed.or_else(|| Some(format!("cannot read {query}: {error}")));
                        continue;
                    }
                    Some(Ok(Some(live))) if live.meta.uid == reference.uid => {
                        if Ending::whole(&live.meta).is_waiting() {
                            &mut sorted.waiting
                        } else {
                            &mut sorted.solid
                        }
                    }
                    Some(Ok(_)) => &mut sorted.absent,
                }
            }
            Standing::NoKind => {
                return Err(Unsorted::NoKind(no_kind(&reference.api_version, &reference.kind)));
            }
            Standing::NoNamespace => {
                let why = format!(
                    "it is outside namespaces, and cannot be owned by {}, which is in one",
                    named(&[reference])
                );
                return Err(Unsorted::Never(why));
            }
        };
        list.push(reference);
    }
    match failed {
        Some(error) => Err(Unsorted::Later(error)),
        None if ask.is_empty() => Ok(sorted),
        None => {
            ask.sort();
            ask.dedup();
            Err(Unsorted::Ask(ask))
        }
    }
}

fn delete(seen: &Seen, propagation: Propagation) -> Step {
    let how = Delete {
        guard: Guard::SameOwners(Arc::clone(&seen.owners)),
        propagation: Some(propagation),
        ..Delete::default()
    };
    Step::InOrder(vec![Write::delete_so(seen.object.clone(), how).into()])
}

/// What was asked for the dependents before is honoured.
fn by_finalizer(seen: &Seen) -> Propagation {
    if seen.ending.has(ORPHAN) {
        Propagation::Orphan
    } else if seen.ending.has(FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

/// As `reportInvalidNamespaceOwnerRef`.
fn misplaced(s: &Snapshot, owner: &OwnerRef, about: &Arc<ObjectRef>) -> Action {
    let namespace = &s.identity.namespace;
    let meant = Identity::of(owner, namespace);
    let quoted = go::quote(&**namespace);
    Action::Event(Event {
        about: Arc::clone(about),
        r#type: EventType::Warning,
        reason: "OwnerRefInvalidNamespace".into(),
        message: format!("ownerRef {meant} does not exist in namespace {quoted}"),
    })
}

/// As upstream's `restMappingError`.
fn no_kind(api_version: &str, kind: &str) -> String {
    let kind = format!("{api_version}/{kind}");
    format!(
        "unable to get REST mapping for {kind}. If {kind} is an invalid resource, then you should \
         manually remove ownerReferences that refer {kind} objects."
    )
}

fn named(owners: &[&OwnerRef]) -> String {
    let names = owners.iter().take(NAMED_MAX);
    let names = names.map(|owner| format!("{} {} ({})", owner.kind, owner.name, owner.uid));
    let names = names.collect::<Vec<_>>().join(", ");
    match owners.len().saturating_sub(NAMED_MAX) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

fn is_fetch(plan: &Plan) -> bool {
    matches!(plan.steps.as_slice(), [Step::Fetch(_)])
}

//! When reservations, allocations and claims themselves are over. As `syncClaim` in upstream's
//! `pkg/controller/resourceclaim/controller.go`.

use std::collections::VecDeque;
use std::sync::Arc;

use api::{Consumer, Edit, Key, Kind, Pod, PodResourceClaim, Raw, ResourceClaim, Text};
use controller::{
    Action, Answer, Change, Count, Enqueue, Facts, Family, ObjectRef, Plan, Query, Refused, Retry,
    Step, View, Watches, Why, Write, finalizers,
};
use serde_json::Value;

use super::decide::consumers;
use super::{gauges, is_done};

/// How many uids of deleted pods are remembered; upstream's `maxUIDCacheEntries`.
const DEPARTED_MAX: usize = 500;

/// The controller whose keys are claims. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Claims;

/// The uids of pods with claims that were deleted last: those need not be read live.
#[derive(Clone, Debug, Default)]
pub struct Departed(VecDeque<Text>);

/// A claim and its users at one moment.
#[derive(Clone, Debug)]
pub struct ClaimSnapshot {
    /// The claim.
    pub claim: Arc<ResourceClaim>,
    /// What it is reserved for, in the order of the status, and what is known of that.
    pub users: Vec<User>,
    /// What is known of the pod that it was made for; none: it was made for none.
    pub owner: Option<User>,
}

/// What the caches say of something that a claim is reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// A pod that may run.
    Runs,
    /// A pod that is over, or was deleted.
    Over,
    /// A pod that is not cached: it may be new, or deleted. One of its name with another uid may
    /// be the one before it as well as the one after it.
    Unknown,
    /// No pod, so nothing is known.
    Other,
}

impl controller::Controller for Claims {
    type Snapshot = ClaimSnapshot;
    type Memory = Departed;
    type Verdict = ();

    const METRICS: &'static [Family] = &[gauges::RESOURCE_CLAIMS];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.remembers::<Pod>(|_, departed, change, _, queue| {
            pod_changed(departed, change, queue);
        });
        table.on::<ResourceClaim>(|_, change, _, queue| queue.own(change));
    }

    fn observe(&self, key: &Key, view: &View<'_>, departed: &Departed) -> Option<ClaimSnapshot> {
        let claim = view.of::<ResourceClaim>().get(key)?;
        let user = |it: &Consumer| user(&claim, it, view, departed);
        let users = claim.reserved_for.iter().map(user).collect();
        let owner = claim.pod().map(|pod| pod_state(&claim, &pod.name, &pod.uid, view));
        Some(ClaimSnapshot { claim, users, owner })
    }

    fn decide(&self, snapshot: &ClaimSnapshot, facts: &Facts) -> (Plan, ()) {
        (decide(snapshot, facts), ())
    }

    fn summary(&self, snapshot: &ClaimSnapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn gauges(&self, view: &View<'_>, _: &Departed) -> Vec<Count> {
        gauges::gauges(view)
    }
}

// === Watch table ===

/// As the first half of `enqueuePod`: what a pod that is over leaves behind.
fn pod_changed(departed: &mut Departed, change: &Change<Pod>, queue: &mut Enqueue) {
    let pod = change.object();
    let extended = pod.quota.extended_claim.as_ref();
    if pod.resource_claims().is_empty() && extended.is_none() {
        return;
    }
    let is_over = match change {
        Change::Deleted(_) => {
            departed.add(&pod.meta.uid);
            true
        }
        Change::Added(_) | Change::Updated { .. } => is_done(pod),
    };
    if is_over {
        let names = pod.resource_claims().iter().filter_map(PodResourceClaim::claim_name);
        for name in names.chain(extended) {
            let namespace = pod.meta.key.namespace.clone();
            queue.add(&Key { namespace, name: name.clone() });
        }
    }
}

// === impl Departed ===

impl Departed {
    fn add(&mut self, uid: &Text) {
        if self.0.len() >= DEPARTED_MAX {
            self.0.pop_front();
        }
        self.0.push_back(uid.clone());
    }

    fn has(&self, uid: &Text) -> bool {
        self.0.contains(uid)
    }
}

// === Snapshot ===

fn user(claim: &ResourceClaim, it: &Consumer, view: &View<'_>, departed: &Departed) -> User {
    if !it.is_pod() {
        User::Other
    } else if departed.has(&it.uid) {
        User::Over
    } else {
        pod_state(claim, &it.name, &it.uid, view)
    }
}

fn pod_state(claim: &ResourceClaim, name: &Text, uid: &Text, view: &View<'_>) -> User {
    match view.of::<Pod>().get(&beside(claim, name)) {
        Some(pod) if pod.meta.uid == *uid && is_done(&pod) => User::Over,
        Some(pod) if pod.meta.uid == *uid => User::Runs,
        None | Some(_) => User::Unknown,
    }
}

fn beside(claim: &ResourceClaim, name: &Text) -> Key {
    Key { namespace: claim.meta.key.namespace.clone(), name: name.clone() }
}

impl ClaimSnapshot {
    /// Everything that it is reserved for, and what is known of that.
    fn users(&self) -> impl Iterator<Item = (&Consumer, User)> {
        self.claim.reserved_for.iter().zip(self.users.iter().copied())
    }

    fn summary(&self) -> Vec<(&'static str, String)> {
        let claim = &*self.claim;
        let mut facts = vec![
            ("being deleted", claim.meta.is_terminating().to_string()),
            ("allocated", claim.allocation.is_some().to_string()),
        ];
        facts.extend(self.users().map(|(it, user)| {
            let what = match user {
                User::Runs => "which may run",
                User::Over => "which is over",
                User::Unknown => "which is not cached",
                User::Other => "which nobody can look up",
            };
            ("reserved for", format!("{} {}, {what}", it.resource, it.name))
        }));
        facts.extend(claim.pod().map(|pod| ("made for", format!("pod {}", pod.name))));
        facts
    }
}

// === Decision ===

fn decide(s: &ClaimSnapshot, facts: &Facts) -> Plan {
    let claim = &*s.claim;
    if let Some(error) = &claim.unreadable {
        return Plan::rest(format!("the claim cannot be read: {error}"));
    }
    let unknown = s.users().filter(|(_, user)| *user == User::Unknown);
    let queries: Vec<_> = unknown.map(|(it, _)| live(claim, it)).collect();
    if queries.iter().any(|query| facts.get(query).is_none()) {
        return Plan::fetch("are the pods gone that are not cached?", queries);
    }
    let stays = s.users().map(|(it, user)| stays(claim, it, user, facts));
    let stays = match stays.collect::<Result<Vec<_>, _>>() {
        Ok(stays) => stays,
        Err(error) => return Plan::failed("pods cannot be read", error.to_string()),
    };
    let is_unused = !stays.contains(&true);
    if stays.contains(&false) {
        return release(s, &stays, facts);
    }
    if is_unused && claim.meta.is_held_by(ResourceClaim::FINALIZER) {
        let why = "it is being deleted, and reserved for nothing";
        return give_up(s, why, deallocation(claim), facts);
    }
    let deletion = deletion(s, is_unused);
    if deletion.is_empty() {
        return Plan::rest(if is_unused { "it is not reserved" } else { "it is used" });
    }
    Plan::one("the pod that it was made for is over", Step::InOrder(deletion))
}

fn live(claim: &ResourceClaim, pod: &Consumer) -> Query {
    Query::metadata(Pod::RESOURCE, beside(claim, &pod.name))
}

/// Whether a reservation stays.
fn stays<'a>(
    claim: &ResourceClaim,
    it: &Consumer,
    user: User,
    facts: &'a Facts,
) -> Result<bool, &'a Refused> {
    match user {
        User::Runs | User::Other => Ok(true),
        User::Over => Ok(false),
        User::Unknown => {
            let pod = facts.get(&live(claim, it)).map(Answer::metadata);
            let pod = pod.transpose()?.flatten();
            Ok(pod.is_some_and(|pod| pod.meta.uid == it.uid))
        }
    }
}

/// Drops what does not stay, and the allocation with the last of it.
fn release(s: &ClaimSnapshot, stays: &[bool], facts: &Facts) -> Plan {
    let claim = &*s.claim;
    let is_unused = !stays.contains(&true);
    let left = consumers(claim).into_iter().zip(stays).filter(|(_, stays)| **stays);
    let left: Vec<Value> = left.map(|(consumer, _)| consumer).collect();
    let left = if left.is_empty() { Value::Null } else { left.into() };
    let mut edits = vec![Edit::new(["status", "reservedFor"], left)];
    let holds = claim.meta.has_finalizer(ResourceClaim::FINALIZER);
    if is_unused && holds {
        edits.extend(deallocation(claim));
    }
    let why = format!("{} reservations are over", stays.iter().filter(|it| !**it).count());
    if is_unused && holds {
        return give_up(s, why, edits, facts);
    }
    let mut actions = vec![status(claim, edits).into()];
    actions.extend(deletion(s, is_unused));
    Plan::one(why, Step::InOrder(actions))
}

/// Writes the status, and then takes the finalizer of the version that came of it, unless it is
/// allocated again by then.
fn give_up(s: &ClaimSnapshot, why: impl Into<Why>, edits: Vec<Edit>, facts: &Facts) -> Plan {
    let claim = &*s.claim;
    let read = Query::object(ResourceClaim::RESOURCE, claim.meta.key.clone());
    let (meta, raw) = match facts.get(&read).map(Answer::object) {
        None if edits.is_empty() => (&claim.meta, &claim.raw),
        None => {
            let write = Step::InOrder(vec![status(claim, edits).into()]);
            let steps = vec![write, Step::Fetch(vec![read])];
            return Plan { why: why.into(), steps, ..Plan::default() };
        }
        Some(Ok(Some((meta, raw)))) if meta.uid == claim.meta.uid => (meta, raw),
        Some(Ok(_)) => return Plan::rest("it was deleted meanwhile"),
        Some(Err(error)) => return Plan::failed("the claim cannot be read", error.to_string()),
    };
    let mut actions = Vec::new();
    if meta.has_finalizer(ResourceClaim::FINALIZER) && !is_allocated(raw) {
        let finalizer = ResourceClaim::FINALIZER;
        actions.push(finalizers::removed::<ResourceClaim>(meta, raw, finalizer).into());
    }
    actions.extend(deletion(s, true));
    if actions.is_empty() {
        return Plan::rest("it was allocated again meanwhile");
    }
    Plan::one(why, Step::InOrder(actions))
}

fn is_allocated(raw: &Raw) -> bool {
    let status = raw.field("status").map(|status| serde_json::from_str::<Value>(status.get()));
    let status = status.and_then(Result::ok).unwrap_or_default();
    status.get("allocation").is_some_and(|allocation| !allocation.is_null())
}

fn deallocation(claim: &ResourceClaim) -> Vec<Edit> {
    let is_allocated = claim.allocation.is_some();
    let edit = is_allocated.then(|| Edit::new(["status", "allocation"], Value::Null));
    edit.into_iter().collect()
}

fn status(claim: &ResourceClaim, edits: Vec<Edit>) -> Write {
    let object = ObjectRef::new(&ResourceClaim::RESOURCE, &claim.meta);
    Write::status(object, claim.raw.clone(), edits, Retry::Never)
}

/// The deletion of a claim that was made for a pod that is over: the pod itself may stay for long.
/// One whose pod is not cached is left to the garbage collector.
fn deletion(s: &ClaimSnapshot, is_unused: bool) -> Vec<Action> {
    let is_over = s.owner == Some(User::Over) && is_unused && !s.claim.meta.is_terminating();
    let object = || ObjectRef::new(&ResourceClaim::RESOURCE, &s.claim.meta);
    is_over.then(|| Write::delete(object()).into()).into_iter().collect()
}

//! What an engine tells of itself, to people and to health checks.

use std::collections::BTreeSet;

use api::{Key, Time};
use controller::{Sight, Subject};
use futures::FutureExt;
use futures::future::BoxFuture;
use runtime::Instant;
use serde::Serialize;

/// Looks into a running controller without knowing its types.
pub trait Inspect: Send + Sync {
    /// How it gets on.
    fn status(&self) -> Status;

    /// The part of the status that changes with every sync, without the cost of the rest.
    fn in_work(&self) -> Vec<InWork>;

    /// Observes and decides for `key` now, and acts on nothing. A plan that asks for live reads
    /// gets them. Takes at most ten seconds, and a panic inside is part of the answer. Of bodies it
    /// shows what `viewer` may see.
    fn explain<'a>(&'a self, key: &'a Key, viewer: &'a dyn Viewer) -> BoxFuture<'a, Explanation>;

    /// Notes why the controller could not be started, though it is its turn: its status says so
    /// until it runs.
    fn cannot_start(&self, why: &str);

    /// Why the loop of this controller does not get on; none as long as there is no proof of that.
    /// An API server that is away, caches that are not complete, errors and slow work are no
    /// proof. What is seen is believed once a second look, at least a second later, finds the same:
    /// after the whole process was stopped for a while, the first look comes before the workers
    /// had their turn.
    fn stalled(&self, now: Instant) -> Option<String>;
}

/// Whoever looks.
pub trait Viewer: Send + Sync {
    /// Which of these objects they may get.
    fn sight(&self, subjects: BTreeSet<Subject>) -> BoxFuture<'_, Sight>;
}

/// Who may see everything that is shown to anybody: who looks into a process of their own.
pub struct Insider;

/// How a controller gets on. All lists are bounded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// How far it has come.
    pub phase: Phase,
    /// In [`Phase::NotStarted`]: why it could not be started, though it is its turn.
    pub cannot_start: Option<String>,
    /// The kinds whose caches are not complete. In [`Phase::Running`] these are kinds that are only
    /// known at run time, and the controller does without them.
    pub waiting_for: Vec<WaitingFor>,
    /// The kinds that it reads.
    pub reads: Vec<String>,
    /// How many keys may be worked on at once.
    pub workers: usize,
    /// How many workers there are now.
    pub workers_alive: usize,
    /// Keys that wait to be looked at.
    pub queued: usize,
    /// Keys that are looked at again later.
    pub delayed: usize,
    /// Keys whose last writes the caches do not show yet, so that they are not acted on.
    pub unsettled: usize,
    /// The keys that workers have, oldest first.
    pub in_work: Vec<InWork>,
    /// Keys that failed and have not succeeded since, sorted by key; of more than 100 those that
    /// failed last.
    pub failing: Vec<Failure>,
    /// Keys that failed so often that nobody tries them again until something changes, sorted by
    /// key; of more than 100 those that failed last.
    pub given_up: Vec<Failure>,
    /// The failure that came last, whether or not its key has succeeded since.
    pub last_error: Option<Failure>,
    /// The last plans that wrote something, newest first.
    pub plans: Vec<Acted>,
    /// How many syncs were begun.
    pub syncs: u64,
    /// How many syncs failed.
    pub failures: u64,
    /// How many of these with a panic.
    pub panics: u64,
}

/// How far a controller has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// It waits until it is our turn: a standby.
    NotStarted,
    /// It was started, and the caches that it reads are not complete.
    WaitingForCaches,
    /// Its workers work.
    Running,
    /// It has ended.
    Stopped,
}

/// A cache that is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingFor {
    /// The kind.
    pub resource: String,
    /// Why its cache does not get on, if that is known.
    pub error: Option<String>,
    /// Since when it does not.
    pub since: Option<Time>,
}

/// A key that a worker has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InWork {
    /// The key.
    pub key: String,
    /// Since when.
    pub since: Time,
}

/// A key that fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The key.
    pub key: String,
    /// How often it failed in a row.
    pub failures: u32,
    /// The last error; one that is very long is cut.
    pub error: String,
    /// When it failed first.
    pub since: Time,
    /// When it failed last.
    pub at: Time,
}

/// A plan that was acted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Acted {
    /// The key.
    pub key: String,
    /// The plan's reason.
    pub why: String,
    /// How many writes and Events the plan asked for.
    pub actions: usize,
    /// When it was done.
    pub at: Time,
    /// What went wrong; none if all went well.
    pub error: Option<String>,
}

/// What a controller would do for a key, and what keeps it from that.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The key.
    pub key: String,
    /// The moment that was looked at.
    pub at: Time,
    /// Whether the caches hold the object.
    pub found: bool,
    /// The kinds whose caches are not complete, so that `found` and all below may be wrong.
    pub incomplete: Vec<String>,
    /// What the controller sees, in short.
    pub summary: Vec<Fact>,
    /// What was read live for the plan, and what came of it.
    pub live_reads: Vec<String>,
    /// What it would do.
    pub plan: Option<Planned>,
    /// Why there is no plan although the object was found.
    pub error: Option<String>,
    /// Set while the plan is not acted on since earlier writes are not visible yet.
    pub unsettled: Option<Unsettled>,
    /// Writes of which it is not known whether they were done. The API server is asked about them
    /// before the key is acted on again.
    pub doubts: Vec<String>,
    /// Where the key is.
    pub place: Place,
    /// How often it failed in a row.
    pub retries: u32,
    /// Its last failure, if it has not succeeded since.
    pub last_error: Option<Failure>,
}

/// A plan that nobody acts on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// As text, an action a line.
    pub text: String,
    /// As JSON, with bodies as far as they may be seen.
    pub json: serde_json::Value,
}

/// A name and a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// How it is.
    pub value: String,
}

/// What the caches must show before a key is acted on again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unsettled {
    /// What may be done meanwhile.
    pub meanwhile: &'static str,
    /// What must be seen, in words.
    pub awaits: Vec<String>,
    /// The last write.
    pub since: Time,
    /// When nothing is awaited any more, whatever the caches show; none: a version is awaited for
    /// as long as it takes.
    pub until: Option<Time>,
}

/// Where a key is; it can be in several places at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// It waits for a worker, since then.
    pub queued_since: Option<Time>,
    /// A worker has it, since then.
    pub in_work_since: Option<Time>,
    /// It is looked at again then.
    pub delayed_until: Option<Time>,
}

// === impl Insider ===

impl Viewer for Insider {
    fn sight(&self, _: BTreeSet<Subject>) -> BoxFuture<'_, Sight> {
        std::future::ready(Sight::All).boxed()
    }
}

//! The state of an engine, for debug pages and health checks.

use std::collections::BTreeSet;

use api::{Key, Time};
use controller::{Sight, Subject};
use futures::FutureExt;
use futures::future::BoxFuture;
use runtime::Instant;
use serde::Serialize;

use crate::ShadowStatus;

/// Looks into a running controller without knowing its types.
pub trait Inspect: Send + Sync {
    /// The state of the controller.
    fn status(&self) -> EngineStatus;

    /// The part of the status that changes with every sync, without the cost of the rest.
    fn in_work(&self) -> Vec<InWork>;

    /// What it has found as a shadow; none: it is none.
    fn shadow(&self) -> Option<ShadowStatus> {
        None
    }

    /// Observes and decides for `key` now, and does not act. A plan that asks for live reads gets
    /// them. Takes at most ten seconds, and a panic inside becomes part of the explanation. Bodies
    /// are limited to what `viewer` may see.
    fn explain<'a>(&'a self, key: &'a Key, viewer: &'a dyn Viewer) -> BoxFuture<'a, Explanation>;

    /// Notes why the controller could not be started although this process leads; its status
    /// reports that until it runs.
    fn cannot_start(&self, why: &str);

    /// Why the loop of this controller stalls; none as long as that is not proven. An unreachable
    /// API server, incomplete caches, errors and slow work are no proof. An observation counts once
    /// a second one, at least a second later, finds the same: when the whole process was stopped
    /// for a while, the first observation may come before the workers run.
    fn stalled(&self, now: Instant) -> Option<String>;
}

/// The user of a debug page.
pub trait Viewer: Send + Sync {
    /// Which of these objects the user may get.
    fn sight(&self, subjects: BTreeSet<Subject>) -> BoxFuture<'_, Sight>;
}

/// A viewer that may see all that is shown to anybody, for code inside the process.
pub struct Insider;

/// The state of a controller. All lists are bounded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineStatus {
    /// The phase of the controller.
    pub phase: Phase,
    /// In [`Phase::NotStarted`]: why it could not be started although this process leads.
    pub cannot_start: Option<String>,
    /// The kinds with incomplete caches. In [`Phase::Running`] these are kinds that are only known
    /// at run time, and the controller runs without them.
    pub waiting_for: Vec<WaitingFor>,
    /// The kinds that it reads.
    pub reads: Vec<String>,
    /// The number of keys that may be synced at once.
    pub workers: usize,
    /// How many workers run now.
    pub workers_alive: usize,
    /// Keys in the queue.
    pub queued: usize,
    /// Keys that are enqueued after a delay.
    pub delayed: usize,
    /// Unsettled keys: the caches do not show their last writes yet, so the controller does not act
    /// for them.
    pub unsettled: usize,
    /// Keys being synced, oldest first.
    pub in_work: Vec<InWork>,
    /// Keys that failed and have not succeeded since, sorted by key; of more than 100 the ones that
    /// failed last.
    pub failing: Vec<Failure>,
    /// Keys that failed so often that they are not retried until something changes, sorted by key;
    /// of more than 100 the ones that failed last.
    pub given_up: Vec<Failure>,
    /// The last failure, whether or not its key has succeeded since.
    pub last_error: Option<Failure>,
    /// The last plans that wrote something, newest first.
    pub plans: Vec<Acted>,
    /// The number of syncs that began.
    pub syncs: u64,
    /// The number of failed syncs.
    pub failures: u64,
    /// The number of failed syncs that panicked.
    pub panics: u64,
}

/// The phases of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// A standby: another process leads.
    NotStarted,
    /// It was started, and some caches that it reads are not complete.
    WaitingForCaches,
    /// Its workers run.
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
    /// Why the cache stalls, if that is known.
    pub error: Option<String>,
    /// Since when it stalls.
    pub since: Option<Time>,
}

/// A key being synced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InWork {
    /// The key.
    pub key: String,
    /// When the sync began.
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

/// What a controller would do for a key, and what prevents it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The key.
    pub key: String,
    /// The time of the observation.
    pub at: Time,
    /// Whether the caches hold the object.
    pub found: bool,
    /// The kinds with incomplete caches; `found` and all below may be wrong because of them.
    pub incomplete: Vec<String>,
    /// What the controller sees, in short.
    pub summary: Vec<Fact>,
    /// The live reads for the plan, and their results.
    pub live_reads: Vec<String>,
    /// What it would do.
    pub plan: Option<Planned>,
    /// Why there is no plan although the object was found.
    pub error: Option<String>,
    /// Set while the controller does not act for the key because earlier writes are not visible
    /// yet.
    pub unsettled: Option<Unsettled>,
    /// Ambiguous writes. Their results are found out before the controller acts for the key again.
    #[serde(rename = "doubts")]
    pub ambiguous_writes: Vec<String>,
    /// Where the key is in the queue.
    pub place: Place,
    /// How often it failed in a row.
    pub retries: u32,
    /// Its last failure, if it has not succeeded since.
    pub last_error: Option<Failure>,
}

/// A plan that is only shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// As text, an action a line.
    pub text: String,
    /// As JSON, with the bodies that the viewer may see.
    pub json: serde_json::Value,
}

/// A name and a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub value: String,
}

/// What the caches must show before the controller acts for a key again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unsettled {
    /// What the controller may do meanwhile.
    pub meanwhile: &'static str,
    /// The expectations, as text.
    pub awaits: Vec<String>,
    /// The last write.
    pub since: Time,
    /// When all expectations expire, whatever the caches show; none: a version is awaited without
    /// limit.
    pub until: Option<Time>,
}

/// Where a key is in the queue; it can be in several places at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// It has waited for a worker since then.
    pub queued_since: Option<Time>,
    /// A worker has synced it since then.
    pub in_work_since: Option<Time>,
    /// It is enqueued then.
    pub delayed_until: Option<Time>,
}

// === impl Insider ===

impl Viewer for Insider {
    fn sight(&self, _: BTreeSet<Subject>) -> BoxFuture<'_, Sight> {
        std::future::ready(Sight::All).boxed()
    }
}

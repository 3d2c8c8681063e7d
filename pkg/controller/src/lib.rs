//! What a controller is: a pure function from the content of the caches to the writes.
//!
//! A [`Controller`] observes a snapshot, decides a [`Plan`], and reports a status; the engine does
//! everything else. The pure helpers that the workload controllers share are here too. No client,
//! no clock, no randomness, no async code.
#![deny(clippy::wildcard_enum_match_arm)]

mod claim;
pub mod finalizers;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod history;
mod memory;
pub mod owners;
mod plan;
pub mod pods;
mod query;
mod rank;
pub mod services;
pub mod slices;
pub mod subsets;
mod telemetry;
mod view;
mod watch;
mod window;
mod write;

pub use claim::{Claim, ControllerRef, candidates, claim, controller_ref};
pub use memory::{News, Shared};
pub use plan::{Outcome, Plan, Sight, Step, Subject, Why};
pub use query::{
    Answer, AnyView, Body, Excerpt, Facts, Form, ListForm, Query, Refused, Selector, Typed, Views,
};
pub use rank::{Costs, victims};
pub use telemetry::{Amount, Count, Ended, Family, Shape, When};
pub use view::{Cache, Caches, Lister, MetadataLister, Show, View};
pub use watch::{
    Call, Change, ChangedAny, Deletion, Enqueue, Everything, Handler, Keeps, MetadataChange,
    Watches,
};
pub use window::window;
pub use write::{
    Action, Announce, Collection, Content, Delete, Event, EventType, Guard, Message, ObjectRef,
    Patch, PatchKind, Propagation, Retry, Tolerated, Update, Verb, Write,
};

use api::Key;

/// A controller. The engine runs `observe`, `decide` and `report` behind a panic fence, and never
/// for the same key twice at once.
pub trait Controller: Send + Sync + Sized + 'static {
    /// All inputs of one decision, read at one moment, the time included.
    type Snapshot: Send + Sync;

    /// State that no cache holds, such as since when a condition is true, or results of live reads.
    /// It is lost with the process. Only the handlers of the watch table and `remember` change it:
    /// an explanation does not.
    type Memory: Default + Send + Sync;

    /// The parts of the decision and of live reads that `report` and `remember` need.
    type Verdict: Send + Sync;

    /// The metric families that it counts in. Several controllers can share one.
    const METRICS: &'static [Family] = &[];

    /// Keys that are enqueued once the caches are complete, whatever they hold: for work that does
    /// not concern one object.
    const SEEDS: &'static [&'static str] = &[];

    /// After how many failures in a row a key is given up until something changes; none: never.
    const RETRIES_MAX: Option<u32> = None;

    /// Whether a key is enqueued once the caches show its writes. Not if keys are synced at their
    /// own times, whatever changes.
    const FOLLOWS_WRITES: bool = true;

    /// The watch table: the kinds that it reads, and the keys that each change of them enqueues.
    fn watches(&self, table: &mut impl Watches<Self>);

    /// The key that a person means with `key`, which may be incomplete; none: `key` itself. Not
    /// called for keys of the queue.
    fn named(&self, key: &Key, memory: &Self::Memory) -> Option<Key> {
        let _ = (key, memory);
        None
    }

    /// Reads the caches and the memory. None: the object was deleted, there is nothing to do, and
    /// the engine forgets the key.
    fn observe(&self, key: &Key, view: &View<'_>, memory: &Self::Memory) -> Option<Self::Snapshot>;

    /// Decides what to write, and why, and what `report` must know of the decision. Infallible;
    /// `facts` has the answers to the live reads of earlier plans for the same snapshot.
    fn decide(&self, snapshot: &Self::Snapshot, facts: &Facts) -> (Plan, Self::Verdict);

    /// The snapshot as short facts for an operator who asks why the controller does what it does:
    /// name and value, in reading order.
    fn summary(&self, snapshot: &Self::Snapshot) -> Vec<(&'static str, String)>;

    /// The counts that are added to its families once a sync has ended. Without a snapshot the
    /// object does not exist, or the sync ended before `observe`; without a verdict, before
    /// `decide`.
    fn counts(
        &self,
        snapshot: Option<&Self::Snapshot>,
        verdict: Option<&Self::Verdict>,
        ended: &Ended,
    ) -> Vec<Count> {
        let _ = (snapshot, verdict, ended);
        Vec::new()
    }

    /// Its present gauges; those with the same labels are added up. Called at each scrape, while
    /// its workers run. The scrape waits for it, so it reads the caches once.
    fn gauges(&self, view: &View<'_>, memory: &Self::Memory) -> Vec<Count> {
        let _ = (view, memory);
        Vec::new()
    }

    /// The status write for the snapshot, the verdict and the outcome of the plan. Without a
    /// verdict nothing was decided, since earlier writes are not visible yet.
    fn report(
        &self,
        snapshot: &Self::Snapshot,
        verdict: Option<&Self::Verdict>,
        outcome: &Outcome,
    ) -> Option<Write> {
        let _ = (snapshot, verdict, outcome);
        None
    }

    /// Remembers what no cache holds: results of live reads, and of plans. Not called for an
    /// explanation.
    fn remember(&self, memory: &mut Self::Memory, news: News<'_, Self>, queue: &mut Enqueue) {
        let _ = (memory, news, queue);
    }
}

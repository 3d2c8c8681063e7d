//! What a controller is: a pure function from what the caches show to what should be written.
//!
//! A [`Controller`] observes a snapshot, decides a [`Plan`], and reports a status; the engine does
//! everything else. The shared pure helpers of the workload controllers stand here too. No client,
//! no clock, no randomness, no async code.
#![deny(clippy::wildcard_enum_match_arm)]

mod claim;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod history;
mod memory;
pub mod owners;
mod plan;
pub mod pods;
mod query;
mod rank;
mod telemetry;
mod view;
mod watch;
mod write;

pub use claim::{Claim, ControllerRef, candidates, claim, controller_ref};
pub use memory::{News, Shared};
pub use plan::{Outcome, Plan, Sight, Step, Subject, Why};
pub use query::{
    Answer, AnyView, Body, Facts, Form, ListForm, Query, Refused, Selector, Typed, Views,
};
pub use rank::{Costs, victims};
pub use telemetry::{Amount, Count, Ended, Family, Shape, When};
pub use view::{Cache, Caches, Lister, MetadataLister, Show, View};
pub use watch::{
    Call, Change, ChangedAny, Enqueue, Everything, Handler, Keeps, MetadataChange, Watches,
};
pub use write::{
    Action, Announce, Collection, Content, Delete, Event, EventType, Guard, ObjectRef, Patch,
    PatchKind, Propagation, Retry, Tolerated, Update, Verb, Write,
};

use api::Key;

/// A controller. The engine runs `observe`, `decide` and `report` behind a panic fence, for one key
/// at a time, never twice at once for the same key.
pub trait Controller: Send + Sync + Sized + 'static {
    /// Everything that one decision may look at, read at one moment, the time included.
    type Snapshot: Send + Sync;

    /// What it knows that no cache shows: since when something is so, what live reads found. Lost
    /// with the process. Changed by the handlers of the watch table and by `remember`, and by
    /// nothing else: to ask for an explanation changes nothing.
    type Memory: Default + Send + Sync;

    /// What was decided, and what live reads found, as far as `report` and `remember` need it.
    type Verdict: Send + Sync;

    /// The families that it counts in. Several controllers can have the same one.
    const METRICS: &'static [Family] = &[];

    /// Keys that are looked at once the caches are complete, whatever these hold: for what is not
    /// about one object.
    const SEEDS: &'static [&'static str] = &[];

    /// After how many failures in a row a key is dropped until something changes; none: never.
    const RETRIES_MAX: Option<u32> = None;

    /// The watch table: the kinds that it reads, and whose key each of their events enqueues.
    fn watches(&self, table: &mut impl Watches<Self>);

    /// The key of what a person means who asks about `key`, and may have left away a part of it;
    /// none: what it says. Not asked for keys of the queue.
    fn named(&self, key: &Key, memory: &Self::Memory) -> Option<Key> {
        let _ = (key, memory);
        None
    }

    /// Reads the caches and the memory. None: the object is gone, nothing is to be done and all
    /// that the engine remembers of the key is forgotten.
    fn observe(&self, key: &Key, view: &View<'_>, memory: &Self::Memory) -> Option<Self::Snapshot>;

    /// What should be written, and why; and what `report` must know of that. Infallible; `facts`
    /// holds the answers to what earlier plans for the same snapshot asked to fetch.
    fn decide(&self, snapshot: &Self::Snapshot, facts: &Facts) -> (Plan, Self::Verdict);

    /// What the snapshot comes to, as short facts for somebody who asks why the controller does
    /// what it does: name and value, in the order in which they should be read.
    fn summary(&self, snapshot: &Self::Snapshot) -> Vec<(&'static str, String)>;

    /// What is added to its families once a sync has ended. Without a snapshot there is no such
    /// object, or the sync ended before it looked; without a verdict, before it decided.
    fn counts(
        &self,
        snapshot: Option<&Self::Snapshot>,
        verdict: Option<&Self::Verdict>,
        ended: &Ended,
    ) -> Vec<Count> {
        let _ = (snapshot, verdict, ended);
        Vec::new()
    }

    /// Its gauges as they are now; those of the same labels are added up. Asked whenever somebody
    /// reads the page, while its workers work. It runs while the page waits, so it looks at the
    /// caches once.
    fn gauges(&self, view: &View<'_>, memory: &Self::Memory) -> Vec<Count> {
        let _ = (view, memory);
        Vec::new()
    }

    /// The status write that follows from the snapshot, from what was decided and from how the plan
    /// went. Without a verdict nothing was decided, since earlier writes are not visible yet.
    fn report(
        &self,
        snapshot: &Self::Snapshot,
        verdict: Option<&Self::Verdict>,
        outcome: &Outcome,
    ) -> Option<Write> {
        let _ = (snapshot, verdict, outcome);
        None
    }

    /// Keeps what no cache shows: what live reads found, what was acted on. Not called for what is
    /// only explained.
    fn remember(&self, memory: &mut Self::Memory, news: News<'_, Self>, queue: &mut Enqueue) {
        let _ = (memory, news, queue);
    }
}

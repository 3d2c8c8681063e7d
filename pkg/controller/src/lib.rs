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
pub mod owners;
mod plan;
pub mod pods;
mod rank;
mod view;
mod watch;

pub use claim::{Claim, ControllerRef, candidates, claim, controller_ref};
pub use plan::{
    Action, Announce, Answer, Counter, Create, Delete, DeleteCollection, Event, EventType, Facts,
    Guard, Histogram, ObjectRef, Outcome, Patch, PatchKind, Plan, Propagation, Query, Refused,
    Sample, Sight, StatusRetry, Step, Subject, Syncs, Tally, Update, UpdateStatus, Why,
};
pub use rank::{Costs, victims};
pub use view::{Caches, Lister, View};
pub use watch::{Call, Change, Everything, Handler, MetadataChange, Wake, Watches};

use api::Key;

/// A controller. The engine runs `observe`, `decide` and `report` behind a panic fence, for one key
/// at a time, never twice at once for the same key.
pub trait Controller: Send + Sync + Sized + 'static {
    /// Everything that one decision may look at, read at one moment, the time included.
    type Snapshot: Send + Sync;

    /// The histograms that its plans fill.
    const HISTOGRAMS: &'static [Histogram] = &[];

    /// The counters that its actions add to.
    const COUNTERS: &'static [Counter] = &[];

    /// The families that its syncs are counted and timed in.
    const SYNCS: Option<Syncs> = None;

    /// Keys that are looked at once the caches are complete, whatever these hold: for what is not
    /// about one object.
    const SEEDS: &'static [&'static str] = &[];

    /// After how many failures in a row a key is dropped until something changes; none: never.
    const RETRIES_MAX: Option<u32> = None;

    /// The watch table: the kinds that it reads, and whose key each of their events wakes.
    fn watches(table: &mut impl Watches<Self>);

    /// The key of what a person means who asks about `key`, and may have left away a part of it;
    /// none: what it says. Not asked for keys of the queue.
    fn named(&self, key: &Key) -> Option<Key> {
        let _ = key;
        None
    }

    /// Reads the caches. None: the object is gone, nothing is to be done and all that the engine
    /// remembers of the key is forgotten.
    fn observe(&self, key: &Key, view: &View<'_>) -> Option<Self::Snapshot>;

    /// What should be written, and why. Infallible; `facts` holds the answers to what earlier plans
    /// for the same snapshot asked to fetch.
    fn decide(&self, snapshot: &Self::Snapshot, facts: &Facts) -> Plan;

    /// A live read was answered that began after this snapshot was taken, and was asked for by a
    /// plan for it. For a controller whose own state holds what cannot be watched; the plan itself
    /// finds the answer in its facts. Not called when a plan is only explained.
    fn learn(&self, snapshot: &Self::Snapshot, query: &Query, answer: &Answer, wake: &mut Wake) {
        let _ = (snapshot, query, answer, wake);
    }

    /// What the snapshot comes to, as short facts for somebody who asks why the controller does
    /// what it does: name and value, in the order in which they should be read.
    fn summary(&self, snapshot: &Self::Snapshot) -> Vec<(&'static str, String)>;

    /// The status write that follows from the snapshot and from how the plan went. Also asked when
    /// the plan was not acted on because earlier writes are not visible yet.
    fn report(&self, snapshot: &Self::Snapshot, outcome: &Outcome) -> Option<UpdateStatus> {
        let _ = (snapshot, outcome);
        None
    }
}

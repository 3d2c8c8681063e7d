//! Deliberate bugs, one of which can be switched on in a test build: what is said to find bugs must
//! find these.
//!
//! Without the feature `on`, which only the simulation asks for, [`is`] is a constant, which is
//! checked below, and the bugs are no part of the program. A hook is one condition at the one place
//! that makes it right; what each bug stands for is said here alone.

/// A bug, by what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A key is settled whatever versions its caches have come to.
    WritesNotAwaited,
    /// A key is settled although its caches hold what it has deleted.
    DeletionsNotAwaited,
    /// A DELETE names no uid.
    DeleteWithoutUid,
    /// A PUT names no version.
    UpdateWithoutVersion,
    /// An update that is refused with 409 counts as done.
    ConflictIsDone,
    /// A write that may have been done although it failed counts as not done.
    LostIsNotDone,
    /// A create that got no answer counts as done.
    LostIsDone,
    /// All that is to be made is asked for at once.
    NoSlowStart,
    /// A step that failed does not keep those after it from being done.
    StepsGoOn,
    /// What is collected may have got another owner meanwhile.
    CollectUnguarded,
    /// A sync that failed is not tried again.
    ErrorsNotRetried,
    /// What a plan says about its next look is forgotten.
    NoLookAgain,
    /// A list may be older than what was shown.
    OlderLists,
    /// A bookmark says more than it does.
    BookmarkTooFar,
    /// A watch that is too old is followed by another one, without a list.
    ExpiredNotListed,
    /// What a watch says was deleted stays in the cache.
    DeletionIgnored,
    /// Another object with the name of one that is gone is taken for that.
    UidIgnored,
    /// Nobody hears of what a new list shows to be gone.
    RelistHidesDeletions,
    /// Orphans are adopted whatever the live owner looks like.
    NoRecheck,
    /// What is no longer selected is not let go.
    NoRelease,
    /// What is no longer selected is deleted rather than let go.
    ReleasedGoes,
    /// Orphans are adopted that nobody selects.
    AdoptsUnselected,
    /// Orphans that an owner selects count as its own without being adopted.
    OrphansCount,
    /// A share of pods that may be more is rounded down.
    SurgeRoundedDown,
    /// A share of pods that may be missing is rounded up.
    MissingRoundedUp,
    /// The new ReplicaSet gets all pods at once.
    NoRoomNeeded,
    /// Old ReplicaSets are scaled down by one pod more than may be missing.
    OldTooFar,
    /// Old ReplicaSets are cleaned up although they have pods.
    HistoryWithPods,
    /// Recreate does not wait for the old pods.
    RecreateOverlaps,
    /// A Deployment that is paused is rolled out.
    PauseIgnored,
    /// A status is written although it is right.
    EqualStatus,
    /// A status is written to the object itself.
    StatusToObject,
    /// A ReplicaSet that is being deleted gets pods.
    DyingSetScales,
    /// Of too many pods those that are ready go first.
    ReadyGoFirst,
    /// A node gets its next pod before the last one is gone.
    DaemonAlwaysSurges,
    /// A surge is treated as none.
    DaemonNeverSurges,
    /// An update takes all old pods at once.
    DaemonAllAtOnce,
    /// With a surge, the old pod goes before the new one is available.
    DaemonOldGoesFirst,
    /// An owner that nobody has seen is taken for absent, without a look.
    UnseenIsAbsent,
    /// An owner that is not in one namespace is absent in all.
    AbsentAnywhere,
    /// A kind is gone that one answer of discovery lacks.
    LackedIsGone,
    /// When another version of a kind is preferred, the old one goes before the new one is there.
    VersionDropsFirst,
    /// A group that is stale has nothing in a namespace.
    StaleIsComplete,
    /// An owner of a kind that is not served is absent.
    UnservedIsAbsent,
    /// A kind that cannot be listed has nothing in a namespace.
    UnlistedIsEmpty,
    /// Names are put into paths as they are.
    NamesNotEscaped,
    /// What holds a text that is no UTF-8 is left as it came.
    OddTextHides,
    /// The last dependent goes, and its owner is not looked at.
    OwnerNotUnblocked,
    /// An owner that is deleted in the foreground goes before its dependents.
    ForegroundNotAwaited,
    /// An owner goes before those that were to stay have been let go.
    OrphansLetGoLast,
    /// A namespace is gone before what is in it.
    NamespaceGoesFirst,
    /// How long a namespace waits for what goes by itself is taken for milliseconds.
    NamespaceHurries,
    /// Pods of a node that is not ready are collected.
    UnreadyIsGone,
    /// A service account is made although it is there.
    AccountMadeAgain,
    /// Of what a Secret for a token lacks the token is forgotten.
    TokenForgotten,
    /// Tokens are cleaned however short a time their use has been noted for.
    NotedSinceEver,
    /// A root CA is right whatever it says.
    RootCaUnread,
    /// Of the selectors of a role that aggregates others the last one counts.
    LastSelectorOnly,
    /// An annotation is written although it is right.
    TtlEndless,
    /// A Job whose time is up is deleted although somebody may have given it more.
    ExpiredUnread,
    /// A certificate is approved whatever the review says.
    ReviewIgnored,
    /// A claim goes if no pod in the cache uses it.
    PodsNotListed,
    /// Nothing keeps a manager from writing that leads no longer.
    NoFence,
    /// A lease counts from when the answer came, not from before it was asked for.
    FenceFromAnswer,
    /// A lease is taken before it has ended.
    TakeoverTooEarly,
    /// Each look at a lease begins its time anew.
    LeaseSeenAnew,
    /// Who has lost its lease goes on.
    StaysAfterLoss,
    /// A lease is written whoever has written it meanwhile.
    LeaseWithoutVersion,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 68] = [
        Self::WritesNotAwaited,
        Self::DeletionsNotAwaited,
        Self::DeleteWithoutUid,
        Self::UpdateWithoutVersion,
        Self::ConflictIsDone,
        Self::LostIsNotDone,
        Self::LostIsDone,
        Self::NoSlowStart,
        Self::StepsGoOn,
        Self::CollectUnguarded,
        Self::ErrorsNotRetried,
        Self::NoLookAgain,
        Self::OlderLists,
        Self::BookmarkTooFar,
        Self::ExpiredNotListed,
        Self::DeletionIgnored,
        Self::UidIgnored,
        Self::RelistHidesDeletions,
        Self::NoRecheck,
        Self::NoRelease,
        Self::ReleasedGoes,
        Self::AdoptsUnselected,
        Self::OrphansCount,
        Self::SurgeRoundedDown,
        Self::MissingRoundedUp,
        Self::NoRoomNeeded,
        Self::OldTooFar,
        Self::HistoryWithPods,
        Self::RecreateOverlaps,
        Self::PauseIgnored,
        Self::EqualStatus,
        Self::StatusToObject,
        Self::DyingSetScales,
        Self::ReadyGoFirst,
        Self::DaemonAlwaysSurges,
        Self::DaemonNeverSurges,
        Self::DaemonAllAtOnce,
        Self::DaemonOldGoesFirst,
        Self::UnseenIsAbsent,
        Self::AbsentAnywhere,
        Self::LackedIsGone,
        Self::VersionDropsFirst,
        Self::StaleIsComplete,
        Self::UnservedIsAbsent,
        Self::UnlistedIsEmpty,
        Self::NamesNotEscaped,
        Self::OddTextHides,
        Self::OwnerNotUnblocked,
        Self::ForegroundNotAwaited,
        Self::OrphansLetGoLast,
        Self::NamespaceGoesFirst,
        Self::NamespaceHurries,
        Self::UnreadyIsGone,
        Self::AccountMadeAgain,
        Self::TokenForgotten,
        Self::NotedSinceEver,
        Self::RootCaUnread,
        Self::LastSelectorOnly,
        Self::TtlEndless,
        Self::ExpiredUnread,
        Self::ReviewIgnored,
        Self::PodsNotListed,
        Self::NoFence,
        Self::FenceFromAnswer,
        Self::TakeoverTooEarly,
        Self::LeaseSeenAnew,
        Self::StaysAfterLoss,
        Self::LeaseWithoutVersion,
    ];
}

#[cfg(feature = "on")]
mod switch {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Mutant;

    /// One more than the number of the bug that is on; 0: none is.
    static ON: AtomicU8 = AtomicU8::new(0);

    /// From now on there is this bug in the process, and no other one.
    pub fn only(mutant: Option<Mutant>) {
        ON.store(mutant.map_or(0, |it| it as u8 + 1), Ordering::SeqCst);
    }

    /// Whether there is this bug now.
    #[inline]
    pub fn is(mutant: Mutant) -> bool {
        ON.load(Ordering::Relaxed) == mutant as u8 + 1
    }
}

#[cfg(feature = "on")]
pub use switch::{is, only};

/// Whether there is this bug: never.
#[cfg(not(feature = "on"))]
#[inline]
pub const fn is(_mutant: Mutant) -> bool {
    false
}

// Not compiled if it takes the program's run to know.
#[cfg(not(feature = "on"))]
const _: () = assert!(!is(Mutant::ALL[0]));

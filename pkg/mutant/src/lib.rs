//! Deliberate bugs, one of which can be enabled in a test build, to test the tests.
//!
//! Without the feature `on`, which only the simulation enables, [`is`] is a constant (checked
//! below), and the bugs are not part of the program. A hook is one condition at the place of the
//! correct code; each bug is described only here.

/// A bug, by its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A key is settled at any versions of its caches.
    WritesNotAwaited,
    /// A key is settled although its caches still hold an object that it deleted.
    DeletionsNotAwaited,
    /// A DELETE names no uid.
    DeleteWithoutUid,
    /// A PUT names no version.
    UpdateWithoutVersion,
    /// An update that is refused with 409 counts as done.
    ConflictIsDone,
    /// An ambiguous write counts as not done.
    LostIsNotDone,
    /// A create without a response counts as done.
    LostIsDone,
    /// All creates are sent at once.
    NoSlowStart,
    /// A failed step does not stop the following ones.
    StepsGoOn,
    /// An object is collected although it may have another owner by now.
    CollectUnguarded,
    /// A failed sync is not retried.
    ErrorsNotRetried,
    /// The requeue of a plan is dropped.
    NoLookAgain,
    /// A list may be older than the version shown before.
    OlderLists,
    /// A bookmark counts for a later version than its own.
    BookmarkTooFar,
    /// An expired watch is followed by another watch, without a list.
    ExpiredNotListed,
    /// A deletion reported by a watch is ignored.
    DeletionIgnored,
    /// A new object with the name of a deleted one is taken for the same object.
    UidIgnored,
    /// Handlers are not notified of deletions that a new list shows.
    RelistHidesDeletions,
    /// Orphans are adopted without a recheck of the live owner.
    NoRecheck,
    /// Pods that the selector no longer matches are not released.
    NoRelease,
    /// Pods that the selector no longer matches are deleted instead of released.
    ReleasedGoes,
    /// Orphans are adopted although no selector matches them.
    AdoptsUnselected,
    /// Orphans that a selector matches count as owned without being adopted.
    OrphansCount,
    /// The maxSurge percentage is rounded down.
    SurgeRoundedDown,
    /// The maxUnavailable percentage is rounded up.
    MissingRoundedUp,
    /// The new ReplicaSet gets all replicas at once.
    NoRoomNeeded,
    /// Old ReplicaSets are scaled down by one replica more than maxUnavailable allows.
    OldTooFar,
    /// Old ReplicaSets are cleaned up although they have pods.
    HistoryWithPods,
    /// Recreate does not wait for the old pods.
    RecreateOverlaps,
    /// A paused Deployment is rolled out.
    PauseIgnored,
    /// A status is written although it is unchanged.
    EqualStatus,
    /// A status is written to the object instead of the subresource.
    StatusToObject,
    /// A ReplicaSet that is being deleted gets new pods.
    DyingSetScales,
    /// Of too many pods the ready ones are deleted first.
    ReadyGoFirst,
    /// A node gets its next pod before the last one is deleted.
    DaemonAlwaysSurges,
    /// maxSurge is treated as zero.
    DaemonNeverSurges,
    /// An update deletes all old pods at once.
    DaemonAllAtOnce,
    /// With maxSurge, the old pod is deleted before the new one is available.
    DaemonOldGoesFirst,
    /// An owner that is not in the graph counts as absent, without a live read.
    UnseenIsAbsent,
    /// An owner that is absent in one namespace counts as absent in all.
    AbsentAnywhere,
    /// A kind that one discovery lacks counts as no longer served.
    LackedIsGone,
    /// When another version of a kind becomes preferred, the old one is dropped before the new one
    /// is listed.
    VersionDropsFirst,
    /// A stale group counts as having no objects in a namespace.
    StaleIsComplete,
    /// An owner of a kind that is not served counts as absent.
    UnservedIsAbsent,
    /// A kind that cannot be listed counts as having no objects in a namespace.
    UnlistedIsEmpty,
    /// Names are put into paths without escaping.
    NamesNotEscaped,
    /// An object with a text that is not UTF-8 is left undecoded.
    OddTextHides,
    /// The last dependent is deleted, and its owner is not enqueued.
    OwnerNotUnblocked,
    /// An owner that is deleted in the foreground is deleted before its dependents.
    ForegroundNotAwaited,
    /// An owner is deleted before its dependents are orphaned.
    OrphansLetGoLast,
    /// A namespace is deleted before its content.
    NamespaceGoesFirst,
    /// The grace period that a namespace waits for is taken as milliseconds.
    NamespaceHurries,
    /// Pods of a node that is not ready are collected.
    UnreadyIsGone,
    /// A service account is created although it exists.
    AccountMadeAgain,
    /// Of the missing fields of a token Secret, the token is forgotten.
    TokenForgotten,
    /// Legacy tokens are cleaned up although their use was tracked only briefly.
    NotedSinceEver,
    /// The content of a root CA ConfigMap is not checked.
    RootCaUnread,
    /// Of the selectors of an aggregated role only the last one counts.
    LastSelectorOnly,
    /// An annotation is written although it is unchanged.
    TtlEndless,
    /// An expired Job is deleted without a live read, although its TTL may have been raised.
    ExpiredUnread,
    /// A CSR is approved whatever the review returns.
    ReviewIgnored,
    /// A claim's finalizer is removed if no pod in the cache uses it, without a live list.
    PodsNotListed,
    /// The pods of a StatefulSet are made at once, although they wait for each other.
    StatefulUnordered,
    /// A pod that the status of its Job names becomes a number while it has its finalizer.
    CountedTooSoon,
    /// The status of a CronJob lists a Job and not when it was due.
    RunForgotten,
    /// A CronJob that is suspended starts Jobs.
    SuspendIgnored,
    /// Endpoints that others have made are deleted without a live read of their Service.
    LeftoverUnread,
    /// A slice of whose endpoints only the conditions change is not written.
    ConditionsIgnored,
    /// Pods that have ended stay in slices.
    EndedListed,
    /// Pods that are deleted stay in slices.
    GoneListed,
    /// Endpoints are mirrored although their Service has slices of its own.
    MirroredBeside,
    /// A share of pods that must be available is rounded down.
    BudgetRoundedDown,
    /// A pod that is to be evicted counts as healthy although it is not known to be terminating.
    EvictedForgotten,
    /// A pod that is terminating counts as healthy while it is ready.
    TerminatingIsHealthy,
    /// The mark of a pod that is to be disrupted is stale at once.
    MarkIsStale,
    /// A volume that is being deleted is let go although it is bound.
    BoundVolumeGoes,
    /// A VolumeAttributesClass that is being deleted is let go although claims refer to it.
    ClassClaimsIgnored,
    /// A volume whose claim the cache lacks is released without a live read.
    AbsentClaimReleases,
    /// A claim that grows is announced although its volume is bound to another one.
    GrowsForOthers,
    /// A volume that one node may have is attached to a second one meanwhile.
    SecondNodeAtOnce,
    /// A volume is detached although the status of its node says that it is in use.
    UsedIsDetached,
    /// A volume is detached while the status of its node lists it as attached.
    ListedIsDetached,
    /// A part of an SELinux label that one pod leaves out conflicts with that of another pod.
    MissingPartsConflict,
    /// Pods use their volumes also after they have ended.
    EndedPodsConflict,
    /// A pod that is being deleted loses its reservations although its containers still run.
    DyingReservesNothing,
    /// A pod is evicted from a tainted device although its claim tolerates that.
    TolerationIgnored,
    /// A group of pods that is being deleted is let go although a pod may run in it.
    GroupPodsIgnored,
    /// A question about pools is deleted right after its answer.
    AnswerGoesEarly,
    /// The claim of an ephemeral volume that was deleted is not made again.
    LostClaimForgotten,
    /// A bootstrap token is deleted before it expires.
    TokenGoesEarly,
    /// The signature of a bootstrap token that is gone stays.
    StaleSignatureStays,
    /// A certificate request is over as soon as it is decided.
    DecidedIsOver,
    /// The certificate request of a pod is deleted when it is a minute old.
    PodRequestGoesEarly,
    /// A quota with scopes counts the pods that are in none of them, too.
    ScopesIgnored,
    /// A pod that has ended still counts for quotas.
    EndedCharged,
    /// A range of addresses is let go although Services have addresses of it.
    AddressesUnheld,
    /// A certificate is made before its request is approved.
    SignsUnapproved,
    /// A certificate is valid for as long as any, whatever its request asks for.
    DurationIgnored,
    /// Other bundles of a signer are deleted before the right one is there.
    OldBundlesGoFirst,
    /// An API server is gone if the cache has no Lease of it, without a live read.
    LeaseUnread,
    /// A node is declared unknown before Leases are shown up to its deadline.
    LeaseNotAwaited,
    /// A policy counts as checked although nobody has checked its expressions.
    AnythingIsChecked,
    /// A generation of a policy that was looked at is looked at again.
    GenerationSeenAgain,
    /// An autoscaler gives more replicas than its maximum.
    MaximumIgnored,
    /// Recommendations of the past do not keep a target from shrinking.
    WindowIgnored,
    /// The last object of a kind is not stored anew.
    LastNotStored,
    /// A range that was offered to a node is free again if the write of it fails.
    OfferForgotten,
    /// A pod that tolerates a taint for a while is evicted at once.
    TolerationTimeIgnored,
    /// A former leader can still write.
    NoFence,
    /// A lease counts from the response, not from before the request.
    FenceFromAnswer,
    /// A lease is taken before it has expired.
    TakeoverTooEarly,
    /// Each read of a lease restarts its duration.
    LeaseSeenAnew,
    /// A process that has lost its lease continues.
    StaysAfterLoss,
    /// A lease is written without checking its version.
    LeaseWithoutVersion,
}

impl Mutant {
    /// All bugs.
    pub const ALL: &'static [Self] = &[
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
        Self::StatefulUnordered,
        Self::CountedTooSoon,
        Self::RunForgotten,
        Self::SuspendIgnored,
        Self::LeftoverUnread,
        Self::ConditionsIgnored,
        Self::EndedListed,
        Self::GoneListed,
        Self::MirroredBeside,
        Self::BudgetRoundedDown,
        Self::EvictedForgotten,
        Self::TerminatingIsHealthy,
        Self::MarkIsStale,
        Self::BoundVolumeGoes,
        Self::ClassClaimsIgnored,
        Self::AbsentClaimReleases,
        Self::GrowsForOthers,
        Self::SecondNodeAtOnce,
        Self::UsedIsDetached,
        Self::ListedIsDetached,
        Self::MissingPartsConflict,
        Self::EndedPodsConflict,
        Self::DyingReservesNothing,
        Self::TolerationIgnored,
        Self::GroupPodsIgnored,
        Self::AnswerGoesEarly,
        Self::LostClaimForgotten,
        Self::TokenGoesEarly,
        Self::StaleSignatureStays,
        Self::DecidedIsOver,
        Self::PodRequestGoesEarly,
        Self::ScopesIgnored,
        Self::EndedCharged,
        Self::AddressesUnheld,
        Self::SignsUnapproved,
        Self::DurationIgnored,
        Self::OldBundlesGoFirst,
        Self::LeaseUnread,
        Self::AnythingIsChecked,
        Self::GenerationSeenAgain,
        Self::LastNotStored,
        Self::MaximumIgnored,
        Self::WindowIgnored,
        Self::LeaseNotAwaited,
        Self::OfferForgotten,
        Self::TolerationTimeIgnored,
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

    /// The number of the enabled bug plus one; 0: none.
    static ON: AtomicU8 = AtomicU8::new(0);

    /// Enables this bug and no other one.
    pub fn only(mutant: Option<Mutant>) {
        ON.store(mutant.map_or(0, |it| it as u8 + 1), Ordering::SeqCst);
    }

    /// Whether this bug is enabled.
    #[inline]
    pub fn is(mutant: Mutant) -> bool {
        ON.load(Ordering::Relaxed) == mutant as u8 + 1
    }
}

#[cfg(feature = "on")]
pub use switch::{is, only};

/// Whether this bug is enabled: never.
#[cfg(not(feature = "on"))]
#[inline]
pub const fn is(_mutant: Mutant) -> bool {
    false
}

// Does not compile unless it is a constant.
#[cfg(not(feature = "on"))]
const _: () = assert!(!is(Mutant::ALL[0]));

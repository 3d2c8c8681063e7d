//! THE table of promises: one row each. A promise is looked at by its check and by nothing else,
//! and each has a deliberate bug (`pkg/mutant`) that breaks it. If no bug can break a promise
//! alone, it is none.

use std::fmt;
use std::time::Duration;

use mutant::Mutant;

use super::{Judged, Oracle, Tried, Written, ownership};
use crate::lease::{Contest, Sent};
use crate::run::{self, Settling};

/// What must hold under all faults.
pub(crate) struct Rule {
    name: &'static str,
    promise: &'static str,
    check: Check,
    /// Each breaks this rule in the case that is kept of it.
    bugs: &'static [Mutant],
}

/// When a promise is looked at; and what is wrong, if anything is.
pub(crate) enum Check {
    /// At each write, whatever it is about.
    Any(fn(&Written<'_>) -> Option<String>),
    /// At each write of a controller, whether or not it is done.
    Asked(fn(&Oracle, &Judged<'_>) -> Option<String>),
    /// At each that is done, by what there was before it.
    Done(fn(&Oracle, &Judged<'_>) -> Option<String>),
    /// At each that is done, by what there is then.
    Shown(fn(&Oracle, &Judged<'_>) -> Option<String>),
    /// When the manager gets the response to a write, or does not.
    Tried(fn(&Oracle, &Tried<'_>) -> Option<String>),
    /// When a controller has sent an Event.
    Told(fn(&Oracle, &Written<'_>) -> Option<String>),
    /// Whenever the oracle has looked at what changed.
    Looked(fn(&Oracle) -> Option<String>),
    /// When the server refuses something for want of a role.
    Refused(fn(&str) -> Option<String>),
    /// When a manager that contends sends a request.
    Sent(fn(&Contest, &Sent<'_>) -> Option<String>),
    /// As long as managers contend.
    Contended(fn(&Contest, Duration) -> Option<String>),
    /// When the faults have stopped, until all is as it should be.
    Settling(fn(&Settling) -> Option<String>),
}

/// A promise that was broken. Only what is in the table can be.
#[derive(Clone)]
pub(crate) struct Broken {
    rule: &'static Rule,
    /// How.
    pub(crate) text: String,
}

pub(crate) static RULES: &[Rule] = &[
    // === What is written ===
    Rule {
        name: "update-names-version",
        promise: "an update names the version that was decided on",
        check: Check::Any(super::update_names_version),
        bugs: &[Mutant::UpdateWithoutVersion, Mutant::LeaseWithoutVersion],
    },
    Rule {
        name: "delete-names-uid",
        promise: "a deletion names the uid of what was decided on",
        check: Check::Asked(|_, it| super::delete_names_uid(it)),
        bugs: &[Mutant::DeleteWithoutUid],
    },
    Rule {
        name: "granted",
        promise: "nothing is asked for that no role of the account allows",
        check: Check::Refused(|message| Some(message.to_owned())),
        bugs: &[Mutant::StatusToObject],
    },
    Rule {
        name: "purpose",
        promise: "a controller writes what it is for, and when it is time for that",
        check: Check::Done(Oracle::purpose),
        bugs: &[
            Mutant::AbsentClaimReleases,
            Mutant::AnswerGoesEarly,
            Mutant::AnythingIsChecked,
            Mutant::BoundVolumeGoes,
            Mutant::ClassClaimsIgnored,
            Mutant::DecidedIsOver,
            Mutant::DyingReservesNothing,
            Mutant::ExpiredUnread,
            Mutant::GenerationSeenAgain,
            Mutant::GroupPodsIgnored,
            Mutant::GrowsForOthers,
            Mutant::HistoryWithPods,
            Mutant::LeftoverUnread,
            Mutant::ListedIsDetached,
            Mutant::MarkIsStale,
            Mutant::NamespaceGoesFirst,
            Mutant::NotedSinceEver,
            Mutant::OldBundlesGoFirst,
            Mutant::PodRequestGoesEarly,
            Mutant::PodsNotListed,
            Mutant::ReviewIgnored,
            Mutant::StaleIsComplete,
            Mutant::TokenGoesEarly,
            Mutant::TolerationIgnored,
            Mutant::UnlistedIsEmpty,
            Mutant::UnreadyIsGone,
            Mutant::UsedIsDetached,
        ],
    },
    Rule {
        name: "status-has-news",
        promise: "a status that is right already is not written",
        check: Check::Done(Oracle::status_has_news),
        bugs: &[Mutant::EqualStatus],
    },
    Rule {
        name: "max-replicas",
        promise: "ReplicaSets carry the maximum of pods that their Deployment allows",
        check: Check::Done(Oracle::max_replicas),
        bugs: &[Mutant::SurgeRoundedDown],
    },
    Rule {
        name: "budget-numbers",
        promise: "a budget allows as many disruptions as its numbers and its spec do",
        check: Check::Done(|_, it| Oracle::budget_numbers(it)),
        bugs: &[Mutant::BudgetRoundedDown],
    },
    Rule {
        name: "evicted-counts",
        promise: "an evicted pod counts as such until its end shows, or for two minutes",
        check: Check::Done(Oracle::evicted_counts),
        bugs: &[Mutant::EvictedForgotten],
    },
    Rule {
        name: "disruption-spares",
        promise: "a budget allows no more disruptions than pods that really were healthy permit",
        check: Check::Done(Oracle::spares_too_few),
        bugs: &[Mutant::TerminatingIsHealthy],
    },
    Rule {
        name: "counts-quota",
        promise: "what is used of a quota was there since its controller last looked",
        check: Check::Done(Oracle::counts_quota),
        bugs: &[Mutant::ScopesIgnored],
    },
    Rule {
        name: "signed-as-asked",
        promise: "what is approved gets a certificate as it was asked for, or fails for a reason",
        check: Check::Done(Oracle::signed_otherwise),
        bugs: &[Mutant::DurationIgnored, Mutant::SignsUnapproved],
    },
    Rule {
        name: "migrates-all",
        promise: "a migration is done when all objects as old as it were stored anew",
        check: Check::Done(Oracle::migrates_less),
        bugs: &[Mutant::LastNotStored],
    },
    Rule {
        name: "scales-within",
        promise: "an autoscaler gives sizes within its bounds",
        check: Check::Done(Oracle::scales_beyond),
        bugs: &[Mutant::MaximumIgnored],
    },
    Rule {
        name: "shrinks-late",
        promise: "an autoscaler takes back no growth within its window",
        check: Check::Done(Oracle::shrinks_early),
        bugs: &[Mutant::WindowIgnored],
    },
    Rule {
        name: "declares-living",
        promise: "no node is declared unknown whose kubelet has reported within the grace period",
        check: Check::Done(Oracle::declares_living),
        bugs: &[Mutant::LeaseNotAwaited],
    },
    Rule {
        name: "shares-range",
        promise: "no two nodes have one range of addresses",
        check: Check::Done(Oracle::shares_range),
        bugs: &[Mutant::OfferForgotten],
    },
    Rule {
        name: "lists-pods",
        promise: "a slice lists pods as they were since its controller last looked, and not ended",
        check: Check::Done(Oracle::lists_otherwise),
        bugs: &[Mutant::EndedListed, Mutant::GoneListed],
    },
    Rule {
        name: "warns-conflicting",
        promise: "pods are told of a conflict if they were known to use one volume otherwise",
        check: Check::Told(Oracle::warns_wrong),
        bugs: &[Mutant::EndedPodsConflict, Mutant::MissingPartsConflict],
    },
    // === What is deleted ===
    Rule {
        name: "evicts-tolerant",
        promise: "no pod is evicted that tolerates the taints of its node, or does so for longer",
        check: Check::Done(Oracle::evicts_tolerant),
        bugs: &[Mutant::TolerationTimeIgnored],
    },
    Rule {
        name: "servers-read",
        promise: "what an API server said is removed if a read of that sync says that it is gone",
        check: Check::Done(Oracle::forgets_server),
        bugs: &[Mutant::LeaseUnread],
    },
    Rule {
        name: "range-held",
        promise: "a range of addresses is let go when no Service has an address of it alone",
        check: Check::Done(Oracle::range_is_held),
        bugs: &[Mutant::AddressesUnheld],
    },
    Rule {
        name: "collects-version",
        promise: "the garbage collector names the version that it has looked at",
        check: Check::Asked(|_, it| ownership::collects_version(it)),
        bugs: &[Mutant::CollectUnguarded],
    },
    Rule {
        name: "collects-owned",
        promise: "nothing is collected that may have an owner which does not wait for it",
        check: Check::Done(Oracle::collects_owned),
        bugs: &[Mutant::AbsentAnywhere, Mutant::UnseenIsAbsent, Mutant::UnservedIsAbsent],
    },
    Rule {
        name: "owner-waits",
        promise: "an owner that waits loses its finalizer when nothing is left that it waits for",
        check: Check::Done(Oracle::owner_waits),
        bugs: &[
            Mutant::ForegroundNotAwaited,
            Mutant::LackedIsGone,
            Mutant::OrphansLetGoLast,
            Mutant::StepsGoOn,
            Mutant::VersionDropsFirst,
        ],
    },
    Rule {
        name: "corruption-costs",
        promise: "a corrupted field costs no more deletions than it must",
        check: Check::Done(Oracle::corruption_costs),
        bugs: &[Mutant::ReleasedGoes],
    },
    Rule {
        name: "deletes-own",
        promise: "a controller deletes no pod of another kind of owner, or without an owner",
        check: Check::Done(Oracle::deletes_own),
        bugs: &[Mutant::OrphansCount],
    },
    Rule {
        name: "deletes-too-many",
        promise: "a set deletes no more pods than it has too many",
        check: Check::Done(Oracle::deletes_too_many),
        bugs: &[Mutant::DeletionsNotAwaited],
    },
    Rule {
        name: "victims",
        promise: "a set deletes pods that are not ready first",
        check: Check::Looked(Oracle::wrong_victim),
        bugs: &[Mutant::ReadyGoFirst],
    },
    // === Ownership ===
    Rule {
        name: "adopts-unselected",
        promise: "nothing is adopted that its new owner does not select",
        check: Check::Done(Oracle::adopts_unselected),
        bugs: &[Mutant::AdoptsUnselected],
    },
    Rule {
        name: "adopts-for-gone",
        promise: "nothing is adopted for an owner that was not read in the same sync",
        check: Check::Done(Oracle::adopts_for_gone),
        bugs: &[Mutant::NoRecheck],
    },
    // === How many there are ===
    Rule {
        name: "replicas",
        promise: "a set has no more pods than its spec allows",
        check: Check::Shown(Oracle::too_many_replicas),
        bugs: &[
            Mutant::ExpiredNotListed,
            Mutant::NoRelease,
            Mutant::OlderLists,
            Mutant::WritesNotAwaited,
        ],
    },
    Rule {
        name: "slow-start",
        promise: "of the pods that are made in a sync one more may fail than have come through",
        check: Check::Tried(Oracle::slow_start),
        bugs: &[Mutant::LostIsDone, Mutant::NoSlowStart],
    },
    Rule {
        name: "dying-makes",
        promise: "an owner that is being deleted gets nothing new",
        check: Check::Shown(Oracle::dying_makes),
        bugs: &[Mutant::DyingSetScales],
    },
    Rule {
        name: "one-daemon-per-node",
        promise: "a node has one pod of a DaemonSet, or two with a surge",
        check: Check::Shown(Oracle::daemons_on_a_node),
        bugs: &[Mutant::LostIsNotDone],
    },
    Rule {
        name: "daemon-surge",
        promise: "no more nodes have two pods of a DaemonSet than its surge allows",
        check: Check::Shown(Oracle::daemon_surge),
        bugs: &[Mutant::DaemonOldGoesFirst],
    },
    Rule {
        name: "daemon-waits",
        promise: "without a surge a node gets its next pod of a DaemonSet when the last is deleted",
        check: Check::Shown(Oracle::daemon_waits),
        bugs: &[Mutant::DaemonAlwaysSurges],
    },
    Rule {
        name: "daemon-budget",
        promise: "a rollout leaves no more nodes without a DaemonSet's pod than its budget allows",
        check: Check::Done(Oracle::daemon_budget),
        bugs: &[Mutant::DaemonAllAtOnce],
    },
    Rule {
        name: "stateful-order",
        promise: "where pods wait for each other, one is made when those before it are ready",
        check: Check::Shown(Oracle::stateful_order),
        bugs: &[Mutant::StatefulUnordered],
    },
    Rule {
        name: "counts-once",
        promise: "a Job counts each pod that has ended once",
        check: Check::Done(Oracle::counts_twice),
        bugs: &[Mutant::CountedTooSoon],
    },
    Rule {
        name: "starts-once",
        promise: "a run of a CronJob that its status knows is not started again",
        check: Check::Done(Oracle::starts_again),
        bugs: &[Mutant::RunForgotten],
    },
    Rule {
        name: "starts-suspended",
        promise: "a CronJob that is suspended starts nothing",
        check: Check::Done(Oracle::starts_suspended),
        bugs: &[Mutant::SuspendIgnored],
    },
    Rule {
        name: "paused",
        promise: "a Deployment that is paused gets no new ReplicaSet",
        check: Check::Shown(Oracle::paused),
        bugs: &[Mutant::PauseIgnored],
    },
    Rule {
        name: "overlaps",
        promise: "with Recreate the new pods come when the old ones have ended",
        check: Check::Shown(Oracle::overlaps),
        bugs: &[Mutant::RecreateOverlaps],
    },
    Rule {
        name: "surge",
        promise: "the ReplicaSets of a Deployment want no more pods than its surge allows",
        check: Check::Shown(Oracle::surge),
        bugs: &[Mutant::NoRoomNeeded],
    },
    Rule {
        name: "available",
        promise: "a Deployment that was complete has as many pods available as its strategy says",
        check: Check::Shown(Oracle::available),
        bugs: &[Mutant::MissingRoundedUp, Mutant::OldTooFar],
    },
    Rule {
        name: "attached-once",
        promise: "an exclusive volume is attached to a second node once the first lets go of it",
        check: Check::Done(Oracle::attached_twice),
        bugs: &[Mutant::SecondNodeAtOnce],
    },
    // === Leader election ===
    Rule {
        name: "lease",
        promise: "a leader sends no write while another manager holds its Lease",
        check: Check::Sent(Contest::without_lease),
        bugs: &[Mutant::TakeoverTooEarly],
    },
    Rule {
        name: "fence",
        promise: "a leader sends no write later than its deadline after it last sent a renewal",
        check: Check::Sent(Contest::past_deadline),
        bugs: &[Mutant::FenceFromAnswer],
    },
    Rule {
        name: "one-leader",
        promise: "one manager leads at a time",
        check: Check::Contended(Contest::many_lead),
        bugs: &[Mutant::NoFence],
    },
    Rule {
        name: "ends",
        promise: "a manager that has lost its lease ends soon",
        check: Check::Contended(Contest::goes_on),
        bugs: &[Mutant::StaysAfterLoss],
    },
    Rule {
        name: "takeover",
        promise: "soon after a leader ends another one leads",
        check: Check::Contended(Contest::no_manager_leads),
        bugs: &[Mutant::LeaseSeenAnew],
    },
    // === How it ends ===
    Rule {
        name: "converges",
        promise: "after the faults stop all becomes as the specs ask for",
        check: Check::Settling(run::converges),
        bugs: &[
            Mutant::AccountMadeAgain,
            Mutant::BookmarkTooFar,
            Mutant::ConditionsIgnored,
            Mutant::DaemonNeverSurges,
            Mutant::EndedCharged,
            Mutant::ErrorsNotRetried,
            Mutant::LastSelectorOnly,
            Mutant::LostClaimForgotten,
            Mutant::MirroredBeside,
            Mutant::NamesNotEscaped,
            Mutant::NoLookAgain,
            Mutant::OddTextHides,
            Mutant::OwnerNotUnblocked,
            Mutant::RelistHidesDeletions,
            Mutant::RootCaUnread,
            Mutant::StaleSignatureStays,
            Mutant::TokenForgotten,
            Mutant::UidIgnored,
        ],
    },
    Rule {
        name: "writes",
        promise: "that takes a few writes for each object",
        check: Check::Settling(run::writes_too_much),
        bugs: &[Mutant::NamespaceHurries],
    },
    Rule {
        name: "silent",
        promise: "when all is as the specs ask for nothing is written",
        check: Check::Asked(Oracle::silent),
        bugs: &[Mutant::ConflictIsDone, Mutant::DeletionIgnored, Mutant::TtlEndless],
    },
];

/// What is broken, by the rules that `ask` asks.
pub(crate) fn broken(ask: impl Fn(&Check) -> Option<String>) -> Vec<Broken> {
    RULES.iter().filter_map(|rule| Some(Broken { rule, text: ask(&rule.check)? })).collect()
}

// === impl Rule ===

impl Rule {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn bugs(&self) -> &'static [Mutant] {
        self.bugs
    }

    /// The one that a bug is to break.
    pub(crate) fn of(bug: Mutant) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.bugs.contains(&bug))
    }
}

// === impl Broken ===

impl Broken {
    pub(crate) fn rule(&self) -> &'static str {
        self.rule.name
    }

    pub(crate) fn promise(&self) -> &'static str {
        self.rule.promise
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule.name, self.text)
    }
}

//! Leadership: when controllers may run, and when they must not.

use std::sync::OnceLock;
use std::time::Duration;

use api::{Key, Time};
use client::{Client, Connection};
use engine::events::Recorder;
use leader::{Candidate, Ended, Fence, Leadership};
use runtime::{Cancel, Clock, Runtime};

use crate::debug::{self, Role};
use crate::options;

/// The component that upstream's manager records its own Events as, and the end of that client's
/// user agent.
pub(crate) const COMPONENT: &str = "kube-controller-manager";
/// How long after the end of its lease a leader may still be without a renewal before its health
/// check fails, as upstream's `leaderelection.NewLeaderHealthzAdaptor`.
const LATE_LIMIT: Duration = Duration::from_secs(20);

/// This process as a candidate for leadership.
pub(crate) enum Candidacy {
    /// Without an election it always leads.
    Always,
    /// It never leads, and runs all the same, since it writes nothing.
    Shadow,
    /// It leads while it holds the Lease.
    Elected(Box<Election>),
}

/// What a process contends for, and as whom.
pub(crate) struct Race<'a> {
    /// The flags.
    pub(crate) flags: &'a options::Election,
    /// The name of the Lease.
    pub(crate) lease: &'a str,
    /// This process in all its elections.
    pub(crate) identity: &'a str,
    /// When it begins; none: at once.
    pub(crate) begin: Option<Cancel>,
    /// As the API server knows it, if that names the leader.
    pub(crate) candidate: Option<Candidate>,
}

/// This process in an election.
pub(crate) struct Election {
    leadership: Leadership,
    /// When it begins to contend; none: at once.
    begin: Option<Cancel>,
    identity: String,
    lease_duration: Duration,
    clock: Clock,
    /// When the process began to contend.
    began: Time,
    /// When it was elected.
    elected: OnceLock<Time>,
    /// Records the election's Events.
    recorder: Recorder,
}

impl Candidacy {
    /// Starts to contend, if the flags ask for it. `clients` makes a client with that name over a
    /// connection, without a rate limit. The lease has a separate connection: that of the watches
    /// may be dead for longer than a leader can be without its lease.
    pub(crate) fn contend(
        race: &Race<'_>,
        connection: &Connection,
        clients: impl Fn(&Connection, &str) -> Client,
        metrics: &leader::Metrics,
        runtime: &Runtime,
    ) -> anyhow::Result<Self> {
        let &Race { flags, lease, identity, ref begin, ref candidate } = race;
        if !flags.leader_elect {
            return Ok(Self::Always);
        }
        let settings = leader::Settings {
            identity: identity.to_owned(),
            lease: Key::new(&flags.resource_namespace, lease),
            timing: flags.timing(),
            begin: begin.clone(),
            candidate: candidate.clone(),
        };
        let recorder = Recorder::start(clients(connection, COMPONENT), COMPONENT, runtime);
        let events = recorder.clone();
        let identity = settings.identity.clone();
        let leadership = Leadership::contend(
            clients(&connection.prompt(flags.renew_deadline), "leader-election"),
            settings,
            metrics,
            move |event| events.record(event),
            runtime,
        )?;
        Ok(Self::Elected(Box::new(Election {
            leadership,
            begin: begin.clone(),
            identity,
            lease_duration: flags.lease_duration,
            clock: runtime.clock.clone(),
            began: runtime.clock.now(),
            elected: OnceLock::new(),
            recorder,
        })))
    }

    /// The fence for the writes of controllers.
    pub(crate) fn fence(&self) -> Fence {
        match self {
            Self::Always | Self::Shadow => Fence::open(),
            Self::Elected(election) => election.leadership.fence().clone(),
        }
    }

    /// Lets it contend, if it waits for that.
    pub(crate) fn begin(&self) {
        if let Self::Elected(election) = self
            && let Some(begin) = &election.begin
        {
            begin.cancel();
        }
    }

    /// Waits until this process leads. An error if it shuts down before that.
    pub(crate) async fn elected(&self) -> Result<(), Ended> {
        if let Self::Elected(election) = self {
            election.leadership.elected().await?;
            election.elected.get_or_init(|| election.clock.now());
        }
        Ok(())
    }

    /// Waits until leadership is lost.
    pub(crate) async fn lost(&self) -> Ended {
        match self {
            Self::Always | Self::Shadow => std::future::pending().await,
            Self::Elected(election) => election.leadership.lost().await,
        }
    }

    /// Ends leadership. The caller must have stopped all writes. `release`: another process can
    /// take over at once, not only when the lease expires.
    pub(crate) async fn end(&self, release: bool) {
        if let Self::Elected(election) = self {
            if release {
                election.leadership.release().await;
            }
            election.recorder.finish().await;
        }
    }

    /// The health check `leaderElection`: fails on a leader that has not renewed for so long that
    /// it should have stopped. None without an election.
    pub(crate) fn renewal_check(&self) -> Option<Result<(), String>> {
        let Self::Elected(election) = self else { return None };
        let limit = election.lease_duration + LATE_LIMIT;
        let since = election.leadership.since_renewal().unwrap_or_default();
        Some(if since <= limit {
            Ok(())
        } else {
            Err(format!("failed election to renew leadership on lease: last renewal {since:?} ago"))
        })
    }

    /// The health check `informer-sync`, which upstream has in a coordinated election: fails until
    /// the API server knows this process as a candidate. None without such an election.
    pub(crate) fn candidate_check(&self) -> Option<Result<(), String>> {
        let Self::Elected(election) = self else { return None };
        let is_known = election.leadership.is_candidate()?;
        let unknown = || "the API server has no LeaseCandidate of this process".to_owned();
        Some(is_known.then_some(()).ok_or_else(unknown))
    }

    /// For the debug pages.
    pub(crate) fn shown(&self) -> debug::Leadership {
        let Self::Elected(election) = self else {
            let (identity, since, renewed) = (None, None, None);
            let role = if let Self::Shadow = self { Role::Shadow } else { Role::NoElection };
            return debug::Leadership { role, identity, since, renewed };
        };
        let renewed = election.leadership.since_renewal().map(|ago| election.clock.now() - ago);
        let leads = election.leadership.is_leader();
        let elected = election.elected.get().copied();
        debug::Leadership {
            role: if leads { Role::Leader } else { Role::Standby },
            identity: Some(election.identity.clone()),
            since: elected.filter(|_| leads).or(Some(election.began)),
            renewed,
        }
    }
}

//! Leadership: when controllers may run, and when they must not.

use api::Key;
use client::Client;
use engine::events::Recorder;
use leader::{Ended, Fence, Leadership, Timing};
use runtime::{Cancel, Runtime};

use crate::options::Election;

/// The component that upstream's manager records its own Events as, and the end of that client's
/// user agent.
pub(crate) const COMPONENT: &str = "kube-controller-manager";

/// Who leads, as far as this process is concerned.
pub(crate) enum Turn {
    /// Without an election it is always ours.
    Always,
    /// It is whoever's the Lease says.
    Elected {
        /// Our part in the election.
        leadership: Leadership,
        /// Records the election's Events. It outlives the shutdown of the rest.
        recorder: Recorder,
        /// Ends the recorder.
        end: Cancel,
    },
}

impl Turn {
    /// Starts to contend, if the flags ask for it. `clients` makes a client with that name, which
    /// never waits for a rate limit.
    pub(crate) fn contend(
        flags: &Election,
        clients: impl Fn(&str) -> Client,
        metrics: &leader::Metrics,
        runtime: &Runtime,
    ) -> anyhow::Result<Self> {
        if !flags.leader_elect {
            return Ok(Self::Always);
        }
        let settings = leader::Settings {
            identity: leader::identity(&runtime.random),
            lease: Key::new(&flags.resource_namespace, &flags.resource_name),
            timing: Timing {
                lease_duration: flags.lease_duration,
                renew_deadline: flags.renew_deadline,
                retry_period: flags.retry_period,
            },
        };
        let end = Cancel::new();
        let outliving = Runtime { cancel: end.clone(), ..runtime.clone() };
        let recorder = Recorder::start(clients(COMPONENT), COMPONENT, &outliving);
        let events = recorder.clone();
        let leadership = Leadership::contend(
            clients("leader-election"),
            settings,
            metrics,
            move |event| events.record(event),
            runtime,
        )?;
        Ok(Self::Elected { leadership, recorder, end })
    }

    /// What stands before each write of a controller.
    pub(crate) fn fence(&self) -> Fence {
        match self {
            Self::Always => Fence::open(),
            Self::Elected { leadership, .. } => leadership.fence().clone(),
        }
    }

    /// Waits until it is our turn. An error if the process is to stop before that.
    pub(crate) async fn comes(&self) -> Result<(), Ended> {
        match self {
            Self::Always => Ok(()),
            Self::Elected { leadership, .. } => leadership.elected().await,
        }
    }

    /// Waits until our turn is over although we did not give it up.
    pub(crate) async fn is_over(&self) -> Ended {
        match self {
            Self::Always => std::future::pending().await,
            Self::Elected { leadership, .. } => leadership.lost().await,
        }
    }

    /// Gives it up, so that somebody else can take over at once. To be called when nothing writes
    /// any more.
    pub(crate) async fn give_up(self) {
        if let Self::Elected { leadership, recorder, end } = self {
            leadership.release().await;
            end.cancel();
            recorder.stopped().await;
        }
    }
}

//! The content of the pages, as data, which is also their JSON.

use api::Time;
use engine::{EngineStatus, Phase};
use serde::Serialize;

use super::{Absence, Leadership, Row, Source};

/// Everything at one moment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Overview {
    pub(super) now: Time,
    pub(super) leadership: Leadership,
    /// What needs an operator's attention.
    pub(super) attention: Vec<Trouble>,
    pub(super) controllers: Vec<Controller>,
    pub(super) informers: Vec<Informer>,
}

/// A reason for attention.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Trouble {
    /// A controller or a kind.
    pub(super) subject: String,
    #[serde(rename = "trouble")]
    pub(super) words: String,
    #[serde(skip)]
    pub(super) is_controller: bool,
}

/// A controller.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Controller {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) state: State,
    /// Why it does not run.
    pub(super) reason: Option<String>,
    /// Why its loop stalls.
    pub(super) stalled: Option<String>,
    pub(super) status: Option<EngineStatus>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    Off,
    GateOff,
    NeedsCloud,
    Standby,
    WaitingForCaches,
    Running,
    Stopped,
}

/// The cache of a kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Informer {
    pub(super) resource: String,
    pub(super) synced: bool,
    pub(super) objects: usize,
    pub(super) unreadable: usize,
    pub(super) resource_version: String,
    pub(super) relists: u64,
    pub(super) last_event: Option<Time>,
    pub(super) failing_since: Option<Time>,
    pub(super) error: Option<String>,
    /// How often its task has panicked.
    pub(super) panics: u64,
    /// The last panic, if its task keeps panicking.
    pub(super) dying: Option<String>,
}

// === impl Overview ===

impl Overview {
    pub(super) fn new(source: &dyn Source) -> Self {
        let rows = source.controllers();
        let controllers: Vec<_> = rows.iter().map(|row| Controller::new(row, source)).collect();
        let informers: Vec<_> = source.informers().into_iter().map(Informer::new).collect();
        let of_controllers = controllers.iter().flat_map(|controller| {
            controller.troubles().into_iter().map(|words| Trouble {
                subject: controller.name.to_owned(),
                words,
                is_controller: true,
            })
        });
        let of_informers = informers.iter().flat_map(|informer| {
            informer.troubles().into_iter().map(|words| Trouble {
                subject: informer.resource.clone(),
                words,
                is_controller: false,
            })
        });
        let attention = of_controllers.chain(of_informers).collect();
        let (now, leadership) = (source.clock().now(), source.leadership());
        Self { now, leadership, attention, controllers, informers }
    }
}

// === impl Controller ===

impl Controller {
    pub(super) fn new(row: &Row, source: &dyn Source) -> Self {
        let Row { name, aliases, ref engine, .. } = *row;
        let (state, reason, stalled, status) = match engine {
            Ok(engine) => {
                let status = engine.status();
                let stalled = engine.stalled(source.clock().instant());
                (State::of(status.phase), None, stalled, Some(status))
            }
            Err(absence) => (State::without(*absence), Some(absence.reason()), None, None),
        };
        Self { name, aliases, state, reason, stalled, status }
    }

    fn troubles(&self) -> Vec<String> {
        let mut troubles: Vec<_> =
            self.stalled.iter().map(|why| format!("its loop stalls: {why}")).collect();
        let Some(status) = &self.status else { return troubles };
        troubles.extend(status.cannot_start.iter().map(|why| format!("cannot start: {why}")));
        for kind in &status.waiting_for {
            let error = kind.error.as_ref().map_or(String::new(), |error| format!(": {error}"));
            let how = if status.phase == Phase::Running { "works without" } else { "waits for" };
            troubles.push(format!("{how} the cache of {}{error}", kind.resource));
        }
        if let Some(last) = status.failing.iter().max_by_key(|failure| failure.at) {
            let count = status.failing.len();
            let keys =
                if count == 1 { "1 key fails".to_owned() } else { format!("{count} keys fail") };
            troubles.push(format!("{keys}, last {}: {}", last.key, last.error));
        }
        if let Some(last) = status.given_up.iter().max_by_key(|failure| failure.at) {
            let count = status.given_up.len();
            let keys = if count == 1 { "1 key was".into() } else { format!("{count} keys were") };
            troubles.push(format!("{keys} given up, last {}: {}", last.key, last.error));
        }
        if status.panics > 0 {
            troubles.push(format!("{} syncs ended in a panic", status.panics));
        }
        troubles
    }
}

// === impl State ===

impl State {
    fn of(phase: Phase) -> Self {
        match phase {
            Phase::NotStarted => Self::Standby,
            Phase::WaitingForCaches => Self::WaitingForCaches,
            Phase::Running => Self::Running,
            Phase::Stopped => Self::Stopped,
        }
    }

    fn without(absence: Absence) -> Self {
        match absence {
            Absence::Off | Absence::Foreign | Absence::Lacks(_) => Self::Off,
            Absence::GateOff(_) => Self::GateOff,
            Absence::NeedsCloud => Self::NeedsCloud,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::GateOff => "gate off",
            Self::NeedsCloud => "needs a cloud",
            Self::Standby => "standby",
            Self::WaitingForCaches => "waiting for caches",
            Self::Running => "running",
            Self::Stopped => "stopped",
        }
    }
}

// === impl Informer ===

impl Informer {
    fn new(status: cache::InformerStatus) -> Self {
        let (failing_since, error) =
            status.failing.map(|failing| (failing.since, failing.error)).unzip();
        Self {
            resource: status.selection.to_string(),
            synced: status.synced,
            objects: status.objects,
            unreadable: status.unreadable,
            resource_version: status.version.to_string(),
            relists: status.relists,
            last_event: status.last_event,
            failing_since,
            error,
            panics: status.panics,
            dying: status.dying.map(|dying| dying.error),
        }
    }

    fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if let Some(why) = &self.dying {
            troubles.push(format!("the watch dies again and again: {why}"));
        } else if let Some(error) = &self.error {
            troubles.push(format!("the watch fails: {error}"));
        } else if !self.synced {
            troubles.push("its first list is not complete".to_owned());
        }
        if self.unreadable > 0 {
            troubles.push(format!("{} objects cannot be read", self.unreadable));
        }
        troubles
    }
}

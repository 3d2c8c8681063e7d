//! One container: what it does now, and when that ends.

use std::time::Duration;

use api::Time;

use super::program::{Role, Task, is_lost};
use crate::seed::Seed;

const BACK_OFF: Duration = Duration::from_secs(10);
const BACK_OFF_MAX: Duration = Duration::from_mins(5);
/// A container that ran longer than this starts with the shortest back-off again.
const BACK_OFF_FORGET: Duration = Duration::from_mins(10);
/// How long a kubelet takes to see that a container ended.
const NOTICE: Duration = Duration::from_secs(1);
/// How long it takes to find out that there is no such image.
const PULL: Duration = Duration::from_secs(2);

/// One container of a pod.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) state: State,
    /// How it ended before.
    pub(crate) last: Option<End>,
    /// How often it started.
    pub(crate) starts: u32,
    /// The image that it was started with.
    pub(crate) image: String,
    /// The last delay of a start after an end, and when it was set.
    crashes: Option<(Duration, Time)>,
    /// The last delay between attempts to pull the image.
    pulls: Option<Duration>,
}

/// What a container does.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// It does not run yet, or not again yet.
    Waiting(Wait, Option<Time>),
    /// It runs.
    Running(Run),
    /// It ended.
    Ended(End),
}

/// What a container waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The pod's sandbox, or the containers before it.
    Turn,
    /// The end of the back-off after this delay.
    Crash(Duration),
    /// An image that was just not found.
    Pull,
    /// Another attempt to find the image.
    PullAgain,
}

/// A running container.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) since: Time,
    /// When it ends and with which code.
    pub(crate) exit: Option<(Time, i64)>,
    pub(crate) id: String,
}

/// A container that ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) code: i64,
    pub(crate) reason: &'static str,
    pub(crate) message: &'static str,
    /// From when to when it ran, if it did.
    pub(crate) ran: Option<(Time, Time)>,
    pub(crate) id: String,
}

/// What is worth an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Started,
    Crashed,
    Lost,
    LostAgain,
    Killing(Option<&'static str>),
    Unready,
}

impl Container {
    /// One that waits for its turn.
    pub(crate) fn new() -> Self {
        let state = State::Waiting(Wait::Turn, None);
        let image = String::new();
        Self { state, last: None, starts: 0, image, crashes: None, pulls: None }
    }

    /// When it changes by itself.
    pub(crate) fn due(&self, task: &Task, at: Time) -> Option<Time> {
        match &self.state {
            State::Waiting(_, until) => *until,
            State::Running(run) => {
                let ready = task.ready_after.map(|after| run.since + after);
                let changes = [Some(run.since + task.started_after), ready];
                let changes = changes.into_iter().flatten().filter(|time| *time > at);
                changes.chain(run.exit.map(|(time, _)| time)).min()
            }
            State::Ended(end) => end.ran.map(|(_, to)| to + NOTICE).filter(|time| *time > at),
        }
    }

    /// Whether it runs.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Running(_))
    }

    /// How it ended, unless it starts again already.
    pub(crate) fn ended(&self) -> Option<&End> {
        match &self.state {
            State::Ended(end) => Some(end),
            State::Waiting(..) | State::Running(_) => None,
        }
    }

    /// Whether it runs, and its startup probe has succeeded.
    pub(crate) fn is_started(&self, task: &Task, at: Time) -> bool {
        match &self.state {
            State::Running(run) => run.since + task.started_after <= at,
            State::Waiting(..) | State::Ended(_) => false,
        }
    }

    /// Whether it is ready. One that only initializes is when it succeeded.
    pub(crate) fn is_ready(&self, task: &Task, at: Time) -> bool {
        match &self.state {
            State::Running(run) => {
                task.role != Role::Init
                    && task.ready_after.is_some_and(|after| run.since + after <= at)
            }
            State::Ended(end) => task.role == Role::Init && end.code == 0,
            State::Waiting(..) => false,
        }
    }

    /// Ends it if its time has come.
    pub(crate) fn end_if_due(&mut self, at: Time) {
        let State::Running(run) = &self.state else { return };
        let Some((time, code)) = run.exit else { return };
        if time <= at {
            let reason = if code == 0 { "Completed" } else { "Error" };
            self.end(End {
                code,
                reason,
                message: "",
                ran: Some((run.since, time)),
                id: run.id.clone(),
            });
        }
    }

    /// It ended so.
    pub(crate) fn end(&mut self, end: End) {
        self.state = State::Ended(end);
    }

    /// Starts it if it is its turn or its waiting is over.
    pub(crate) fn start_if_due(
        &mut self,
        task: &Task,
        at: Time,
        ids: (Seed, &str),
    ) -> Option<Moment> {
        let State::Waiting(wait, until) = &self.state else { return None };
        if until.is_some_and(|until| until > at) {
            return None;
        }
        match wait {
            Wait::Pull => {
                let delay = self.pulls.unwrap_or(BACK_OFF);
                let rest = delay.saturating_sub(PULL);
                self.state = State::Waiting(Wait::PullAgain, Some(at + rest));
                Some(Moment::LostAgain)
            }
            Wait::Turn | Wait::Crash(_) | Wait::PullAgain => Some(self.start(task, at, ids)),
        }
    }

    fn start(&mut self, task: &Task, at: Time, (seed, uid): (Seed, &str)) -> Moment {
        if let State::Ended(end) = &self.state {
            self.last = Some(end.clone());
        }
        if is_lost(&task.image) {
            let known = self.pulls.filter(|_| self.image == task.image);
            let delay = known.map_or(BACK_OFF, |delay| (delay * 2).min(BACK_OFF_MAX));
            self.pulls = Some(delay);
            self.image.clone_from(&task.image);
            self.state = State::Waiting(Wait::Pull, Some(at + PULL));
            return Moment::Lost;
        }
        self.pulls = None;
        self.image.clone_from(&task.image);
        let exit = task.run_for.map(|run_for| (at + run_for, task.exit_code));
        let id = seed.digest(&["container", uid, &task.name, &self.starts.to_string()]);
        self.state = State::Running(Run { since: at, exit, id });
        self.starts += 1;
        Moment::Started
    }

    /// Starts it again after its end, now or after a back-off. As upstream's `doBackOff`.
    pub(crate) fn restart(&mut self, task: &Task, at: Time, ids: (Seed, &str)) -> Option<Moment> {
        let State::Ended(end) = &self.state else { return None };
        let ended = end.ran.map_or(at, |(_, to)| to);
        if at < ended + NOTICE {
            return None;
        }
        let known = self.crashes.filter(|(_, set)| ended.since(*set) <= BACK_OFF_FORGET);
        let next = known.map_or(BACK_OFF, |(delay, _)| (delay * 2).min(BACK_OFF_MAX));
        let wait = known.filter(|(delay, _)| ended + *delay > at);
        let Some((delay, _)) = wait else {
            self.crashes = Some((next, at));
            return Some(self.start(task, at, ids));
        };
        self.last = Some(end.clone());
        self.crashes = Some((next, ended + delay));
        self.state = State::Waiting(Wait::Crash(delay), Some(ended + delay));
        Some(Moment::Crashed)
    }

    /// Asks it to stop within the grace.
    pub(crate) fn stop(&mut self, task: &Task, at: Time, grace: Duration) -> bool {
        let State::Running(run) = &mut self.state else { return false };
        let stops = match task.stop_delay {
            delay if delay > grace => (at + grace, 137),
            delay => (at + delay, task.stop_code),
        };
        if run.exit.is_none_or(|(time, _)| time > stops.0) {
            run.exit = Some(stops);
        }
        true
    }

    /// Its image was changed in the spec. True: it runs and must stop.
    pub(crate) fn renew(&mut self, task: &Task, at: Time) -> bool {
        if self.image.is_empty() || self.image == task.image {
            return false;
        }
        self.crashes = None;
        match &mut self.state {
            State::Running(_) => return true,
            State::Waiting(_, until) => *until = Some(at),
            State::Ended(_) => {}
        }
        if let State::Waiting(wait @ Wait::Pull, _) = &mut self.state {
            *wait = Wait::PullAgain;
        }
        false
    }

    /// The machine that it ran on was off.
    pub(crate) fn reboot(&mut self, at: Time) {
        self.crashes = None;
        match &self.state {
            State::Running(run) => {
                let ran = Some((run.since, at));
                self.end(End {
                    code: 255,
                    reason: "Unknown",
                    message: "",
                    ran,
                    id: run.id.clone(),
                });
            }
            State::Waiting(..) => self.state = State::Waiting(Wait::Turn, None),
            State::Ended(_) => {}
        }
    }

    /// It is to start as if it never had, but counts on.
    pub(crate) fn again(&mut self) {
        if let State::Ended(end) = &self.state {
            self.last = Some(end.clone());
        }
        self.state = State::Waiting(Wait::Turn, None);
    }
}

//! One pod on its node: from admission to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::Time;
use serde_json::Value;

use super::container::{Container, End, Moment, State};
use super::program::{Program, Role};
use crate::fields::{at, number, seconds, text, time};
use crate::seed::Seed;

const GRACE: Duration = Duration::from_secs(30);
/// Changes at one moment, which end since each start or end takes time.
const ROUNDS_MAX: usize = 10_000;
pub(crate) const DEADLINE_REASON: &str = "DeadlineExceeded";
pub(crate) const DEADLINE_MESSAGE: &str =
    "Pod was active on the node longer than the specified deadline";

/// A pod that is bound to a node.
pub(crate) struct Pod {
    /// As it was last shown.
    pub(crate) object: Arc<Value>,
    pub(crate) uid: String,
    pub(crate) node: String,
    pub(crate) program: Program,
    pub(crate) containers: Vec<Container>,
    pub(crate) stage: Stage,
    pub(crate) admitted: Option<Time>,
    pub(crate) ip: Option<u8>,
    /// Whether its main containers were started.
    pub(crate) initialized: bool,
    /// Whether it was active for too long.
    pub(crate) expired: bool,
    /// What it ended as; none: it has not.
    pub(crate) finished: Option<&'static str>,
    /// Since when its conditions are as they are.
    pub(crate) conditions: BTreeMap<&'static str, (bool, Time)>,
    /// What happened since it was last asked, with the place of the container.
    pub(crate) moments: Vec<(usize, Moment)>,
    at: Time,
    seed: Seed,
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The kubelet has not seen it.
    New,
    /// Its sandbox and its images are fetched until then.
    Starting(Time),
    /// It runs.
    Up,
    /// Its containers are stopping.
    Stopping,
    /// Nothing runs, and nothing will.
    Done,
}

impl Pod {
    /// A pod that was just shown.
    pub(crate) fn new(object: &Arc<Value>, seed: Seed, now: Time) -> Self {
        let program = Program::read(object, seed);
        let finished = terminal(object);
        Self {
            uid: text(object, "/metadata/uid").to_owned(),
            node: text(object, "/spec/nodeName").to_owned(),
            containers: program.containers.iter().map(|_| Container::new()).collect(),
            program,
            stage: if finished.is_some() { Stage::Done } else { Stage::New },
            admitted: time(object, "/status/startTime"),
            ip: None,
            initialized: false,
            expired: false,
            finished,
            conditions: BTreeMap::new(),
            moments: Vec::new(),
            object: Arc::clone(object),
            at: now,
            seed,
        }
    }

    /// Takes what the pod is now.
    pub(crate) fn show(&mut self, object: &Arc<Value>, now: Time) {
        let same = |path: &str| at(object, path) == at(&self.object, path);
        let changed = !same("/metadata/generation") || !same("/metadata/annotations");
        let shorter = !same("/metadata/deletionGracePeriodSeconds");
        self.object = Arc::clone(object);
        if changed {
            self.adapt(now);
        }
        if shorter && self.stage == Stage::Stopping {
            self.stop_all(now);
        }
    }

    fn adapt(&mut self, now: Time) {
        let program = Program::read(&self.object, self.seed);
        if program.containers.len() == self.containers.len() {
            self.program = program;
        }
        let grace = self.grace();
        for (place, (container, task)) in
            self.containers.iter_mut().zip(&self.program.containers).enumerate()
        {
            if container.renew(task, now) && container.stop(task, now, grace) {
                self.moments.push((place, Moment::Killing(Some("definition changed"))));
            }
        }
    }

    /// Whether deletion was asked for.
    pub(crate) fn is_deleted(&self) -> bool {
        !text(&self.object, "/metadata/deletionTimestamp").is_empty()
    }

    /// Whether deletion was asked for and nothing runs any more.
    pub(crate) fn may_go(&self) -> bool {
        // With no grace left only finalizers keep it.
        let left = number(&self.object, "/metadata/deletionGracePeriodSeconds");
        self.is_deleted() && self.stage == Stage::Done && left != Some(0)
    }

    /// Its running main containers fail.
    pub(crate) fn fail(&mut self, now: Time) {
        for (container, task) in self.containers.iter_mut().zip(&self.program.containers) {
            if let State::Running(run) = &mut container.state
                && task.role == Role::Main
            {
                run.exit = Some((now, 1));
            }
        }
    }

    /// Its machine was off and is on again.
    pub(crate) fn reboot(&mut self, now: Time) {
        self.at = now;
        self.containers.iter_mut().for_each(|container| container.reboot(now));
        if matches!(self.stage, Stage::Starting(_) | Stage::Up) {
            self.stage = Stage::Starting(now + self.program.start_delay);
            self.initialized = false;
            // What succeeded initializes again only where the API server lets it: never back from
            // an end that the pod's policy takes as one.
            let always = matches!(text(&self.object, "/spec/restartPolicy"), "" | "Always");
            for (container, task) in self.containers.iter_mut().zip(&self.program.containers) {
                let over = container.ended().is_some_and(|end| end.code == 0) && !always;
                if task.role == Role::Sidecar || task.role == Role::Init && !over {
                    container.again();
                }
            }
        }
    }

    /// When it changes by itself.
    pub(crate) fn due(&self) -> Option<Time> {
        let stage = match self.stage {
            Stage::New => Some(self.at),
            Stage::Starting(until) => Some(until),
            Stage::Up | Stage::Stopping => None,
            Stage::Done => return None,
        };
        let tasks = self.containers.iter().zip(&self.program.containers);
        let containers = tasks.filter_map(|(container, task)| container.due(task, self.at));
        let deadline = self.deadline().filter(|_| !self.expired);
        containers.chain(stage).chain(deadline).min()
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.admitted? + self.program.deadline?)
    }

    /// Does what is due up to `now`, each thing at its time.
    pub(crate) fn run(&mut self, now: Time) {
        for _ in 0..ROUNDS_MAX {
            let due = self.due().filter(|due| *due <= now);
            self.at = due.unwrap_or(now).max(self.at);
            self.settle();
            if due.is_none() {
                return;
            }
        }
    }

    fn settle(&mut self) {
        let at = self.at;
        self.containers.iter_mut().for_each(|container| container.end_if_due(at));
        self.follow();
        match self.stage {
            Stage::New => {
                self.admitted.get_or_insert(at);
                self.stage = Stage::Starting(at + self.program.start_delay);
            }
            Stage::Starting(until) if until <= at => {
                self.stage = Stage::Up;
                self.proceed();
            }
            Stage::Up => self.proceed(),
            Stage::Stopping if !self.containers.iter().any(Container::is_running) => self.close(),
            Stage::Starting(_) | Stage::Stopping | Stage::Done => {}
        }
    }

    /// What others say of the pod, and the clock.
    fn follow(&mut self) {
        if self.stage == Stage::Done {
            return;
        }
        if self.finished.is_none() {
            self.finished = terminal(&self.object);
        }
        if !self.expired && self.deadline().is_some_and(|deadline| deadline <= self.at) {
            self.expired = true;
            self.finished = Some("Failed");
        }
        let ends = self.is_deleted() || self.finished.is_some();
        if ends && self.stage != Stage::Stopping {
            self.stage = Stage::Stopping;
            self.stop_all(self.at);
        }
    }

    /// How long its containers may take to stop.
    fn grace(&self) -> Duration {
        let deleted = seconds(&self.object, "/metadata/deletionGracePeriodSeconds");
        let spec = || seconds(&self.object, "/spec/terminationGracePeriodSeconds");
        deleted.or_else(spec).unwrap_or(GRACE)
    }

    fn stop_all(&mut self, at: Time) {
        let grace = self.grace();
        for (place, (container, task)) in
            self.containers.iter_mut().zip(&self.program.containers).enumerate()
        {
            if container.stop(task, at, grace) {
                self.moments.push((place, Moment::Killing(None)));
            }
        }
    }

    /// Starts what is to start, in upstream's order.
    fn proceed(&mut self) {
        let at = self.at;
        let mut mains_may_start = true;
        for place in 0..self.containers.len() {
            let Some(role) = self.program.containers.get(place).map(|task| task.role) else {
                return;
            };
            if role == Role::Main && !mains_may_start || role == Role::Init && self.initialized {
                continue;
            }
            self.turn(place);
            let (Some(container), Some(task)) =
                (self.containers.get(place), self.program.containers.get(place))
            else {
                return;
            };
            let done = match role {
                Role::Init => container.ended().is_some_and(|end| end.code == 0),
                Role::Sidecar => self.initialized || container.is_started(task, at),
                Role::Main => true,
            };
            if !done {
                mains_may_start = false;
                break;
            }
        }
        self.initialized |= mains_may_start;
        self.finish();
    }

    /// Lets one container start or start again.
    fn turn(&mut self, place: usize) {
        let (Some(container), Some(task)) =
            (self.containers.get_mut(place), self.program.containers.get(place))
        else {
            return;
        };
        let ids = (self.seed, self.uid.as_str());
        let moment = match container.ended() {
            Some(end) if task.role == Role::Init && end.code == 0 => None,
            Some(end) if task.restart.after(end.code) => container.restart(task, self.at, ids),
            Some(_) => None,
            None => container.start_if_due(task, self.at, ids),
        };
        let unready = moment == Some(Moment::Started) && task.ready_after.is_none();
        self.moments.extend(moment.map(|moment| (place, moment)));
        if unready {
            self.moments.push((place, Moment::Unready));
        }
    }

    /// Ends the pod if none of its containers starts again.
    fn finish(&mut self) {
        let over = |role: Role| {
            let tasks = self.containers.iter().zip(&self.program.containers);
            let mut ends = tasks.filter(move |(_, task)| task.role == role).map(|(it, task)| {
                it.ended().filter(|end| !task.restart.after(end.code)).map(|end| end.code)
            });
            (ends.clone().all(|end| end.is_some()), ends.any(|end| end.is_some_and(|it| it != 0)))
        };
        let (_, init_failed) = over(Role::Init);
        let (mains_over, main_failed) = over(Role::Main);
        if init_failed || mains_over {
            self.finished = Some(if init_failed || main_failed { "Failed" } else { "Succeeded" });
            self.stage = Stage::Stopping;
            self.stop_all(self.at);
            if !self.containers.iter().any(Container::is_running) {
                self.close();
            }
        }
    }

    /// Nothing runs any more. As upstream's `TerminatePod`.
    fn close(&mut self) {
        self.stage = Stage::Done;
        let roles: Vec<Role> = self.program.containers.iter().map(|task| task.role).collect();
        let started = !roles.iter().any(|role| *role != Role::Main) || self.initialized;
        for (container, role) in self.containers.iter_mut().zip(&roles) {
            if *role == Role::Main && started && container.ended().is_none() {
                let reason = "ContainerStatusUnknown";
                let message = "The container could not be located when the pod was terminated";
                container.end(End { code: 137, reason, message, ran: None, id: String::new() });
            }
        }
        let mut mains = self.containers.iter().zip(&roles).filter(|(_, role)| **role == Role::Main);
        let succeeded = mains.all(|(it, _)| it.ended().is_some_and(|end| end.code == 0));
        self.finished.get_or_insert(if succeeded { "Succeeded" } else { "Failed" });
    }
}

/// The phase in which a pod stays, if it is in one.
pub(crate) fn terminal(object: &Value) -> Option<&'static str> {
    match text(object, "/status/phase") {
        "Succeeded" => Some("Succeeded"),
        "Failed" => Some("Failed"),
        _ => None,
    }
}

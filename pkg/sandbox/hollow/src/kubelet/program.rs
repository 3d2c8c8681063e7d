//! What the containers of a pod are to do: the spec, and the annotations that steer them.

use std::time::Duration;

use serde_json::Value;

use crate::fields::{at, flag, items, seconds, text};
use crate::seed::Seed;
use crate::span;

const START: Duration = Duration::from_millis(700);
const START_JITTER: Duration = Duration::from_millis(600);
const STOP: Duration = Duration::from_millis(300);
const STOP_JITTER: Duration = Duration::from_millis(400);
const INIT_RUN: Duration = Duration::from_secs(1);
const JOB_RUN: Duration = Duration::from_millis(4500);
const JOB_RUN_JITTER: Duration = Duration::from_secs(1);
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// What the kubelet reads of a pod.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Whether the pod has the node's address.
    pub(crate) host_network: bool,
    /// How long it may be active.
    pub(crate) deadline: Option<Duration>,
    /// How long its sandbox and its images take.
    pub(crate) start_delay: Duration,
    /// Its containers, those that initialize first, as the spec orders them.
    pub(crate) containers: Vec<Task>,
}

/// What one container is to do.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) role: Role,
    pub(crate) restart: Restart,
    /// From running to started.
    pub(crate) started_after: Duration,
    /// From running to ready; none: never.
    pub(crate) ready_after: Option<Duration>,
    /// From running to its end; none: it runs on.
    pub(crate) run_for: Option<Duration>,
    pub(crate) exit_code: i64,
    pub(crate) stop_delay: Duration,
    /// The code that it ends with then.
    pub(crate) stop_code: i64,
}

/// When a container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Before the others, to its end.
    Init,
    /// Before the others, and beside them.
    Sidecar,
    /// As what the pod is for.
    Main,
}

/// Whether a container that ended starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    fn parse(word: &str) -> Self {
        match word {
            "Never" => Self::Never,
            "OnFailure" => Self::OnFailure,
            _ => Self::Always,
        }
    }

    /// Whether it starts again after this exit code.
    pub(crate) fn after(self, code: i64) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => code != 0,
            Self::Never => false,
        }
    }
}

impl Program {
    /// Reads a pod.
    pub(crate) fn read(pod: &Value, seed: Seed) -> Self {
        let uid = text(pod, "/metadata/uid");
        let reader = Reader { pod, uid, seed, policy: text(pod, "/spec/restartPolicy") };
        let first = items(pod, "/spec/initContainers").iter().map(|it| reader.first(it));
        let mains = items(pod, "/spec/containers").iter().map(|it| reader.main(it));
        let start_delay = reader.span("start-delay", None);
        Self {
            host_network: flag(pod, "/spec/hostNetwork"),
            deadline: seconds(pod, "/spec/activeDeadlineSeconds"),
            start_delay: start_delay
                .unwrap_or_else(|| START + seed.jitter(&["start", uid], START_JITTER)),
            containers: first.chain(mains).collect(),
        }
    }
}

struct Reader<'a> {
    pod: &'a Value,
    uid: &'a str,
    seed: Seed,
    policy: &'a str,
}

impl<'a> Reader<'a> {
    fn first(&self, container: &Value) -> Task {
        let name = text(container, "/name");
        let sidecar = text(container, "/restartPolicy") == "Always";
        let role = if sidecar { Role::Sidecar } else { Role::Init };
        // An init container that restarts does so only after a failure, whatever the pod says.
        let restart = match Restart::parse(self.policy) {
            Restart::Always | Restart::OnFailure if !sidecar => Restart::OnFailure,
            _ if sidecar => Restart::Always,
            policy => policy,
        };
        let run_for = self.own("run-for", name).and_then(span::parse);
        let run_for = run_for.or_else(|| (!sidecar).then_some(INIT_RUN));
        let exit_code = self.own("exit-code", name).map_or(0, |codes| self.exit_code(codes));
        self.task(container, &Task { role, restart, run_for, exit_code, ..self.blank() })
    }

    fn main(&self, container: &Value) -> Task {
        let name = text(container, "/name");
        let own = text(container, "/restartPolicy");
        let restart = Restart::parse(if own.is_empty() { self.policy } else { own });
        let exit_code = self.setting("exit-code", name).map_or(0, |codes| self.exit_code(codes));
        let run_for = self.span("run-for", Some(name)).or_else(|| self.job_run_for());
        let ready_delay = self.span("ready-delay", Some(name));
        let task = Task { restart, run_for, exit_code, ready_after: ready_delay, ..self.blank() };
        self.task(container, &task)
    }

    fn blank(&self) -> Task {
        Task {
            name: String::new(),
            image: String::new(),
            role: Role::Main,
            restart: Restart::Always,
            started_after: Duration::ZERO,
            ready_after: None,
            run_for: None,
            exit_code: 0,
            stop_code: 0,
            stop_delay: STOP + self.seed.jitter(&["stop", self.uid], STOP_JITTER),
        }
    }

    /// What all roles read alike.
    fn task(&self, container: &Value, task: &Task) -> Task {
        let name = text(container, "/name");
        let probe = |probe: &str| {
            let probe = container.get(probe)?;
            Some(seconds(probe, "/initialDelaySeconds").unwrap_or_default())
        };
        let started_after = probe("startupProbe").unwrap_or_default();
        let ready_after = task.ready_after.or_else(|| probe("readinessProbe")).unwrap_or_default();
        let never = self.setting("not-ready", name).is_some_and(|value| value != "false");
        let stop_delay = self.span("stop-delay", Some(name)).unwrap_or(task.stop_delay);
        let stop_code = self.setting("stop-code", name).and_then(|it| it.parse().ok()).unwrap_or(0);
        Task {
            name: name.to_owned(),
            image: text(container, "/image").to_owned(),
            started_after,
            ready_after: (!never).then_some(ready_after.max(started_after)),
            stop_delay,
            stop_code,
            ..task.clone()
        }
    }

    /// How long a container of a Job runs unless an annotation sets it.
    fn job_run_for(&self) -> Option<Duration> {
        let mut owners = items(self.pod, "/metadata/ownerReferences").iter();
        let owned = owners.any(|owner| text(owner, "/kind") == "Job" && flag(owner, "/controller"));
        let ends = Restart::parse(self.policy) != Restart::Always;
        (owned && ends).then(|| JOB_RUN + self.seed.jitter(&["run", self.uid], JOB_RUN_JITTER))
    }

    /// One code, or one for each completion index of an indexed Job.
    fn exit_code(&self, codes: &str) -> i64 {
        let index = self.annotation(COMPLETION_INDEX).and_then(|index| index.parse().ok());
        let place = if codes.contains(',') { index.unwrap_or(0) } else { 0 };
        let code = codes.split(',').nth(place).unwrap_or_default();
        code.trim().parse().unwrap_or(0)
    }

    fn span(&self, name: &str, container: Option<&str>) -> Option<Duration> {
        let value = match container {
            Some(container) => self.setting(name, container),
            None => self.annotation(&format!("sandbox/{name}")),
        };
        value.and_then(span::parse)
    }

    /// The annotation for this container, or for all.
    fn setting(&self, name: &str, container: &str) -> Option<&'a str> {
        self.own(name, container).or_else(|| self.annotation(&format!("sandbox/{name}")))
    }

    /// The annotation for this container.
    fn own(&self, name: &str, container: &str) -> Option<&'a str> {
        self.annotation(&format!("sandbox/{name}.{container}"))
    }

    fn annotation(&self, key: &str) -> Option<&'a str> {
        at(self.pod, "/metadata/annotations")?.get(key)?.as_str()
    }
}

/// Whether no registry has this image: the host of its name ends in `.invalid`.
pub(crate) fn is_lost(image: &str) -> bool {
    let host = image.split_once('/').map_or("", |(host, _)| host);
    host.split(':').next().unwrap_or_default().ends_with(".invalid")
}

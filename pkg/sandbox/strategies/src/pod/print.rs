//! The table of pods (printPod of pkg/printers/internalversion).

use api::Time;
use serde_json::Value;

use super::resources::is_sidecar;
use super::status::{has_condition, has_started};
use super::{spec, status};
use crate::table::{age, human, name};
use crate::value::{count, flag, get, items, text};
use crate::{Cell, Column};

const NONE: &str = "<none>";

/// The columns.
pub(crate) const COLUMNS: [Column; 9] = [
    Column { name: "Name", kind: "string", format: "name", wide: false },
    Column { name: "Ready", kind: "string", format: "", wide: false },
    Column { name: "Status", kind: "string", format: "", wide: false },
    Column { name: "Restarts", kind: "string", format: "", wide: false },
    Column { name: "Age", kind: "string", format: "", wide: false },
    Column { name: "IP", kind: "string", format: "", wide: true },
    Column { name: "Node", kind: "string", format: "", wide: true },
    Column { name: "Nominated Node", kind: "string", format: "", wide: true },
    Column { name: "Readiness Gates", kind: "string", format: "", wide: true },
];

/// What the containers add up to.
#[derive(Default)]
struct Summary {
    ready: usize,
    reason: String,
    restarts: Restarts,
}

/// How often containers were started again.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    /// When the last one had ended.
    last: Option<Time>,
}

/// A row.
pub(crate) fn row(pod: &Value, now: Time) -> Vec<Cell> {
    let (spec, status) = (spec(pod), status(pod));
    let summary = Summary::of(pod);
    let sidecars = items(spec, "initContainers").iter().filter(|it| is_sidecar(it)).count();
    let total = items(spec, "containers").len() + sidecars;
    let address = items(status, "podIPs").first().map_or("", |first| text(first, "ip"));
    let or_none = |text: &str| if text.is_empty() { NONE.into() } else { text.into() };
    vec![
        name(pod),
        format!("{}/{total}", summary.ready).into(),
        summary.reason.into(),
        summary.restarts.print(now).into(),
        age(pod, now),
        or_none(address),
        or_none(text(spec, "nodeName")),
        or_none(text(status, "nominatedNodeName")),
        readiness_gates(spec, status).into(),
    ]
}

fn readiness_gates(spec: &Value, status: &Value) -> String {
    let gates = items(spec, "readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let is_open = |gate: &&Value| {
        let kind = text(gate, "conditionType");
        let condition = items(status, "conditions").iter().find(|it| text(it, "type") == kind);
        condition.is_some_and(|it| text(it, "status") == "True")
    };
    format!("{}/{}", gates.iter().filter(is_open).count(), gates.len())
}

// === impl Summary ===

impl Summary {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (spec(pod), status(pod));
        let phase = text(status, "phase");
        let mut summary = Self { reason: first_reason(status).to_owned(), ..Self::default() };
        let mut sidecars = Restarts::default();
        let initializing = summary.add_init_containers(spec, status, &mut sidecars);
        if !initializing || has_condition(status, "Initialized") {
            summary.restarts = sidecars;
            summary.add_containers(status);
        }
        if get(pod, "/metadata/deletionTimestamp").is_some() {
            if text(status, "reason") == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if !matches!(phase, "Failed" | "Succeeded") {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    /// Counts init containers up to the first that has not done its work, if there is one.
    fn add_init_containers(
        &mut self,
        spec: &Value,
        status: &Value,
        sidecars: &mut Restarts,
    ) -> bool {
        let declared = items(spec, "initContainers");
        for (index, container) in items(status, "initContainerStatuses").iter().enumerate() {
            self.restarts.add(container);
            let name = text(container, "name");
            // Upstream keeps the last of a name.
            let declaration = declared.iter().rev().find(|it| text(it, "name") == name);
            let is_sidecar = declaration.is_some_and(is_sidecar);
            if is_sidecar {
                sidecars.add(container);
            }
            let ended = get(container, "/state/terminated");
            if ended.is_some_and(|it| count(it, "exitCode") == 0) {
                continue;
            }
            if is_sidecar && has_started(container) {
                self.ready += usize::from(flag(container, "ready"));
                continue;
            }
            let waits_for = waiting(container).filter(|reason| *reason != "PodInitializing");
            self.reason = match (ended, waits_for) {
                (Some(ended), _) => format!("Init:{}", end(ended)),
                (None, Some(reason)) => format!("Init:{reason}"),
                (None, None) => format!("Init:{index}/{}", declared.len()),
            };
            return true;
        }
        false
    }

    fn add_containers(&mut self, status: &Value) {
        let (mut has_running, mut failure) = (false, String::new());
        for container in items(status, "containerStatuses").iter().rev() {
            self.restarts.add(container);
            if let Some(reason) = waiting(container) {
                reason.clone_into(&mut self.reason);
            } else if let Some(ended) = get(container, "/state/terminated") {
                self.reason = end(ended);
                if count(ended, "exitCode") != 0 {
                    failure.clone_from(&self.reason);
                }
            } else if flag(container, "ready") && get(container, "/state/running").is_some() {
                has_running = true;
                self.ready += 1;
            }
        }
        // Some are done, but the pod is not while others run.
        if self.reason == "Completed" {
            if has_running && has_condition(status, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if !failure.is_empty() {
                self.reason = failure;
            } else if has_running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

/// What the pod says by itself.
fn first_reason(status: &Value) -> &str {
    let is_gated = |condition: &Value| {
        text(condition, "type") == "PodScheduled" && text(condition, "reason") == "SchedulingGated"
    };
    if items(status, "conditions").iter().any(is_gated) {
        return "SchedulingGated";
    }
    match text(status, "reason") {
        "" => text(status, "phase"),
        reason => reason,
    }
}

/// What a container waits for, if it says so.
fn waiting(container: &Value) -> Option<&str> {
    let reason = text(get(container, "/state/waiting")?, "reason");
    (!reason.is_empty()).then_some(reason)
}

/// How a container ended.
fn end(ended: &Value) -> String {
    match (text(ended, "reason"), count(ended, "signal")) {
        ("", 0) => format!("ExitCode:{}", count(ended, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

// === impl Restarts ===

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += count(container, "restartCount");
        let ended = get(container, "/lastState/terminated");
        let ended = ended.and_then(|it| get(it, "finishedAt")).and_then(Value::as_str);
        self.last = self.last.max(ended.and_then(|it| Time::parse(it).ok()));
    }

    fn print(self, now: Time) -> String {
        match self.last {
            Some(last) if self.count != 0 => {
                let seconds = now.unix_nanos().saturating_sub(last.unix_nanos()) / 1_000_000_000;
                format!("{} ({} ago)", self.count, human(seconds))
            }
            _ => self.count.to_string(),
        }
    }
}

//! What a kubelet says of a pod. As upstream's `generateAPIPodStatus`.

use api::{Time, go};
use serde_json::{Map, Value, json};

use super::container::{Container, End, State, Wait};
use super::pod::{DEADLINE_MESSAGE, DEADLINE_REASON, Pod, Stage, terminal};
use super::program::{Role, Task};
use crate::fields::{at, condition, items, number, text};
use crate::seed::Seed;
use crate::span;

/// The addresses that a pod may have.
pub(crate) struct Addresses<'a> {
    /// The node's.
    pub(crate) host: &'a str,
    /// The pod's.
    pub(crate) pod: Option<String>,
}

/// A condition: its type, and what is to say if it does not hold.
struct Said {
    kind: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

/// The status as a merge patch: `null` stands where nothing is to be.
pub(crate) fn status(pod: &mut Pod, now: Time, addresses: &Addresses<'_>) -> Value {
    let phase = phase(pod, now);
    let said = conditions(pod, phase, now);
    let generation = number(&pod.object, "/metadata/generation").unwrap_or(0);
    let mut conditions = Vec::new();
    for said in said {
        let since = since(pod, &said, now);
        let reason = Some(said.reason).filter(|reason| !reason.is_empty());
        let message = Some(said.message).filter(|message| !message.is_empty());
        conditions.push(json!({
            "type": said.kind,
            "status": if said.holds { "True" } else { "False" },
            "observedGeneration": generation,
            "lastProbeTime": null,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }));
    }
    let mut status = Map::new();
    let mut set = |name: &str, value: Value| status.insert(name.to_owned(), value);
    set("observedGeneration", json!(generation));
    set("phase", json!(phase));
    set("conditions", Value::Array(conditions));
    set("hostIP", json!(addresses.host));
    set("hostIPs", json!([{ "ip": addresses.host }]));
    if let Some(ip) = &addresses.pod {
        set("podIP", json!(ip));
        set("podIPs", json!([{ "ip": ip }]));
    }
    if let Some(admitted) = pod.admitted {
        set("startTime", json!(admitted));
    }
    if pod.expired {
        set("reason", json!(DEADLINE_REASON));
        set("message", json!(DEADLINE_MESSAGE));
    }
    let (mains, first): (Vec<_>, Vec<_>) =
        places(pod).partition(|(_, task, _)| task.role == Role::Main);
    let described = |all: Vec<Place<'_>>| all.iter().map(|it| describe(pod, it, now)).collect();
    if !first.is_empty() {
        set("initContainerStatuses", described(first));
    }
    set("containerStatuses", described(mains));
    Value::Object(status)
}

type Place<'a> = (&'a Container, &'a Task, &'a Value);

fn places(pod: &Pod) -> impl Iterator<Item = Place<'_>> {
    let specs = items(&pod.object, "/spec/initContainers").iter();
    let specs = specs.chain(items(&pod.object, "/spec/containers"));
    pod.containers.iter().zip(&pod.program.containers).zip(specs).map(|((a, b), c)| (a, b, c))
}

/// Since when a condition is as it is: as here, or as the API server knows it.
fn since(pod: &mut Pod, said: &Said, now: Time) -> Time {
    let known = pod.conditions.get(said.kind).copied().or_else(|| {
        let known = condition(&pod.object, said.kind)?;
        let since = Time::parse(text(known, "/lastTransitionTime")).ok()?;
        Some((text(known, "/status") == "True", since))
    });
    let since = known.filter(|(holds, _)| *holds == said.holds).map_or(now, |(_, since)| since);
    pod.conditions.insert(said.kind, (said.holds, since));
    since
}

/// As upstream's `getPhase`.
fn phase(pod: &Pod, now: Time) -> &'static str {
    if pod.stage == Stage::Done || pod.expired {
        return pod.finished.unwrap_or("Failed");
    }
    // No pod leaves these.
    if let Some(phase) = terminal(&pod.object) {
        return phase;
    }
    let (mut pending, mut running, mut stopped) = (false, false, false);
    for (container, task) in pod.containers.iter().zip(&pod.program.containers) {
        let new = container.last.is_none();
        match (task.role, &container.state) {
            (Role::Init, State::Running(_)) => pending = true,
            (_, State::Waiting(..)) if new => pending = true,
            (Role::Sidecar, State::Running(_)) => {
                running = true;
                pending |= !pod.initialized && !container.is_started(task, now);
            }
            (Role::Main, State::Running(_)) => running = true,
            (Role::Main, State::Waiting(..) | State::Ended(_)) => stopped = true,
            (Role::Init | Role::Sidecar, State::Waiting(..) | State::Ended(_)) => {}
        }
    }
    if pending || !(running || stopped) { "Pending" } else { "Running" }
}

fn conditions(pod: &Pod, phase: &'static str, now: Time) -> [Said; 5] {
    let sandbox = matches!(pod.stage, Stage::Up)
        || pod.stage == Stage::Stopping && pod.containers.iter().any(Container::is_running);
    let said = |kind, holds| Said { kind, holds, reason: "", message: String::new() };
    let (reason, message) = unready(pod, phase, now);
    let contained = Said { reason, message, ..said("ContainersReady", reason.is_empty()) };
    let gates = if contained.holds { gates(pod) } else { Vec::new() };
    let ready = match gates.as_slice() {
        [] => Said { message: contained.message.clone(), reason, ..said("Ready", contained.holds) },
        gates => Said {
            reason: "ReadinessGatesNotReady",
            message: gates.join(", "),
            ..said("Ready", false)
        },
    };
    let waiting = uninitialized(pod, now);
    let initialized = match (phase, waiting) {
        ("Succeeded", _) => Said { reason: "PodCompleted", ..said("Initialized", true) },
        (_, None) => said("Initialized", true),
        (_, Some(message)) => {
            Said { reason: "ContainersNotInitialized", message, ..said("Initialized", false) }
        }
    };
    let started = said("PodReadyToStartContainers", sandbox);
    [started, initialized, ready, contained, said("PodScheduled", true)]
}

/// Why the containers are not ready; empty: they are.
fn unready(pod: &Pod, phase: &'static str, now: Time) -> (&'static str, String) {
    match phase {
        "Succeeded" => return ("PodCompleted", String::new()),
        "Failed" => return ("PodFailed", String::new()),
        _ => {}
    }
    let tasks = pod.containers.iter().zip(&pod.program.containers);
    let unready = tasks.filter(|(it, task)| task.role != Role::Init && !it.is_ready(task, now));
    let names: Vec<&str> = unready.map(|(_, task)| task.name.as_str()).collect();
    if names.is_empty() {
        return ("", String::new());
    }
    ("ContainersNotReady", format!("containers with unready status: [{}]", names.join(" ")))
}

/// What init containers are still to do, unless a main container has started.
fn uninitialized(pod: &Pod, now: Time) -> Option<String> {
    let tasks = || pod.containers.iter().zip(&pod.program.containers);
    let ran = |it: &Container| it.is_running() || it.ended().is_some() || it.last.is_some();
    if tasks().any(|(it, task)| task.role == Role::Main && ran(it)) {
        return None;
    }
    let incomplete = tasks().filter(|(it, task)| match task.role {
        Role::Init => !it.is_ready(task, now),
        Role::Sidecar => !it.is_started(task, now),
        Role::Main => false,
    });
    let names: Vec<&str> = incomplete.map(|(_, task)| task.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("containers with incomplete status: [{}]", names.join(" ")))
}

/// Which readiness gates are closed.
fn gates(pod: &Pod) -> Vec<String> {
    let gates = items(&pod.object, "/spec/readinessGates").iter();
    let closed = gates.filter_map(|gate| {
        let kind = text(gate, "/conditionType");
        let quoted = go::quote(kind);
        let Some(found) = condition(&pod.object, kind) else {
            return Some(format!(
                "corresponding condition of pod readiness gate {quoted} does not exist."
            ));
        };
        let status = text(found, "/status");
        (status != "True").then(|| {
            format!("the status of pod readiness gate {quoted} is not \"True\", but {status}")
        })
    });
    closed.collect()
}

fn describe(pod: &Pod, (container, task, spec): &Place<'_>, now: Time) -> Value {
    let ran = container.starts > 0;
    let image = if ran { &container.image } else { &task.image };
    let mut said = json!({
        "name": task.name,
        "image": image,
        "imageID": if ran { image_id(image) } else { String::new() },
        "ready": container.is_ready(task, now),
        "started": container.is_started(task, now),
        "restartCount": container.starts.saturating_sub(1),
        "state": state(pod, container, task),
        "lastState": container.last.as_ref().map_or_else(|| json!({}), ended),
    });
    let id = match &container.state {
        State::Running(run) => &run.id,
        State::Ended(end) => &end.id,
        State::Waiting(..) => container.last.as_ref().map_or(&pod.uid, |last| &last.id),
    };
    if ran && !id.is_empty() {
        said["containerID"] = json!(format!("hollow://{id}"));
    }
    if let Some(resources) = at(spec, "/resources").filter(|it| it.get("requests").is_some()) {
        said["resources"] = resources.clone();
        said["allocatedResources"] = resources.get("requests").cloned().unwrap_or_default();
    }
    said
}

fn state(pod: &Pod, container: &Container, task: &Task) -> Value {
    let waiting = |reason: &str, message: String| {
        let message = Some(message).filter(|message| !message.is_empty());
        match message {
            Some(message) => json!({ "waiting": { "reason": reason, "message": message } }),
            None => json!({ "waiting": { "reason": reason } }),
        }
    };
    match &container.state {
        State::Running(run) => json!({ "running": { "startedAt": run.since } }),
        State::Ended(end) => ended(end),
        State::Waiting(wait, _) => match wait {
            Wait::Turn if pod.program.containers.iter().any(|it| it.role != Role::Main) => {
                waiting("PodInitializing", String::new())
            }
            Wait::Turn => waiting("ContainerCreating", String::new()),
            Wait::Crash(delay) => waiting("CrashLoopBackOff", crash_message(pod, task, *delay)),
            Wait::Pull => waiting("ErrImagePull", pull_error(&task.image)),
            Wait::PullAgain => {
                let image = go::quote(&task.image);
                let error = pull_error(&task.image);
                let message = format!("Back-off pulling image {image}: ErrImagePull: {error}");
                waiting("ImagePullBackOff", message)
            }
        },
    }
}

fn crash_message(pod: &Pod, task: &Task, delay: std::time::Duration) -> String {
    let delay = span::print(delay);
    format!("back-off {delay} restarting failed container={} pod={}", task.name, full_name(pod))
}

/// As upstream's `format.Pod`.
pub(crate) fn full_name(pod: &Pod) -> String {
    let (namespace, name) =
        (text(&pod.object, "/metadata/namespace"), text(&pod.object, "/metadata/name"));
    format!("{name}_{namespace}({})", pod.uid)
}

/// What a runtime says of an image whose registry is not there.
pub(crate) fn pull_error(image: &str) -> String {
    let host = image.split_once('/').map_or(image, |(host, _)| host);
    let host = host.split(':').next().unwrap_or_default();
    let quoted = go::quote(image);
    format!(
        "failed to pull and unpack image {quoted}: failed to resolve reference {quoted}: failed \
         to do request: dial tcp: lookup {host}: no such host"
    )
}

fn ended(end: &End) -> Value {
    let mut said = json!({ "exitCode": end.code, "reason": end.reason });
    if !end.message.is_empty() {
        said["message"] = json!(end.message);
    }
    if let Some((from, to)) = end.ran {
        said["startedAt"] = json!(from);
        said["finishedAt"] = json!(to);
    }
    if !end.id.is_empty() {
        said["containerID"] = json!(format!("hollow://{}", end.id));
    }
    json!({ "terminated": said })
}

fn image_id(image: &str) -> String {
    if image.contains('@') {
        return image.to_owned();
    }
    let name = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    };
    format!("{name}@sha256:{}", Seed::default().digest(&["image", image]))
}

/// Whether an object's status says all that `said` says.
pub(crate) fn shows(object: &Value, said: &Value) -> bool {
    let Some(said) = said.as_object() else { return false };
    said.iter().all(|(name, value)| {
        if name == "conditions" {
            let mut wanted = value.as_array().into_iter().flatten();
            return wanted.all(|wanted| {
                condition(object, text(wanted, "/type")).is_some_and(|found| covers(found, wanted))
            });
        }
        object.get("status").and_then(|status| status.get(name)) == Some(value)
    })
}

fn covers(found: &Value, wanted: &Value) -> bool {
    let mut fields = wanted.as_object().into_iter().flatten();
    fields.all(|(name, value)| match found.get(name) {
        Some(found) => found == value,
        None => value.is_null(),
    })
}

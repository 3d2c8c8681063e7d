//! Pods, and what they wait for.

use std::time::Duration;

use api::{Kind, Node, PersistentVolumeClaim, Pod};
use serde_json::Value;

use super::deletion::finalizers;
use crate::json::{
    condition, condition_is, controller, count, flag, list, said, since, text, time,
};
use crate::look::{Look, Sought, Thing};
use crate::text::age;

/// How long a pod may take for a step that usually takes seconds.
const USUAL_MAX: Duration = Duration::from_mins(1);
/// How far up the chain a pod is followed.
const OWNERS_MAX: usize = 3;
/// The reasons of containers that cannot be pulled.
const PULLS: [&str; 6] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];
/// The Events that say why containers are not created.
const HELD_UP: [&str; 5] = [
    "FailedMount",
    "FailedAttachVolume",
    "FailedCreatePodSandBox",
    "FailedPrepareDynamicResources",
    "NetworkNotReady",
];

pub(super) fn pod(look: &mut Look<'_>, pod: &Thing) {
    state(look, pod);
    if look.is_first() {
        owners(look, pod);
    }
}

/// Up the chain: who manages it.
fn owners(look: &mut Look<'_>, pod: &Thing) {
    let (mut below, mut chain) = (pod.clone(), Vec::new());
    for _ in 0..OWNERS_MAX {
        let Some(owner) = controller(&below.json) else { break };
        let (version, kind) = (text(owner, "/apiVersion"), text(owner, "/kind"));
        let (name, uid) = (text(owner, "/name").to_owned(), text(owner, "/uid").to_owned());
        chain.push(format!("{}/{name}", kind.to_lowercase()));
        let Some(kind) = look.names.of(version, kind).cloned() else { break };
        match look.get(&kind, pod.namespace(), &name) {
            Sought::There(above) if above.uid() == uid => below = above,
            Sought::There(_) | Sought::Absent => {
                chain.push("which does not exist any more".to_owned());
                break;
            }
            Sought::Unknown => break,
        }
    }
    if chain.is_empty() {
        look.note(pod, "is managed by nobody: it is not replaced when it is gone");
    } else {
        look.note(pod, format!("is managed by {}", chain.join(", of ")));
    }
}

fn state(look: &mut Look<'_>, pod: &Thing) {
    if time(&pod.json, "/metadata/deletionTimestamp").is_some() {
        return terminating(look, pod);
    }
    match pod.text("/status/phase") {
        "Succeeded" => drop(look.note(pod, "has succeeded")),
        "Failed" => failed(look, pod),
        _ if pod.text("/spec/nodeName").is_empty() => unscheduled(look, pod),
        _ => on_a_node(look, pod),
    }
}

/// Whether it counts as there: neither ended nor on its way out.
pub(super) fn is_active(pod: &Value) -> bool {
    let is_terminating = time(pod, "/metadata/deletionTimestamp").is_some();
    !is_terminating && !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Whether it has the condition Ready.
pub(super) fn is_ready(pod: &Value) -> bool {
    condition_is(pod, "Ready", "True").is_some()
}

/// Those that are not active and ready, with those on their way out.
pub(super) fn unready(pods: &[Thing]) -> Vec<Thing> {
    let is_well = |pod: &&Thing| is_active(&pod.json) && is_ready(&pod.json);
    pods.iter().filter(|pod| !is_well(pod)).cloned().collect()
}

fn failed(look: &mut Look<'_>, pod: &Thing) {
    let why = match said(pod.json.get("status").unwrap_or(&Value::Null)) {
        why if why.is_empty() => {
            ended(&pod.json).unwrap_or_else(|| "no reason is given".to_owned())
        }
        why => why,
    };
    let found = look.stuck(pod, format!("has failed: {why}"));
    match controller(&pod.json) {
        Some(owner) => {
            let (kind, name) = (text(owner, "/kind").to_lowercase(), text(owner, "/name"));
            found.next(format!("{kind}/{name} decides whether another one takes its place"));
        }
        None => drop(found.next("nothing: no controller manages it")),
    }
}

/// How the first container that failed ended.
fn ended(pod: &Value) -> Option<String> {
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let mut all = statuses.iter().flat_map(|at| list(pod, at));
    all.find_map(|status| {
        let state = status.pointer("/state/terminated")?;
        let code = count(state, "/exitCode");
        (code != 0).then(|| format!("container {} {}", text(status, "/name"), exit(state)))
    })
}

fn exit(state: &Value) -> String {
    let code = count(state, "/exitCode");
    match text(state, "/reason") {
        "" | "Error" | "Completed" => format!("ended with exit code {code}"),
        reason => format!("ended with exit code {code} ({reason})"),
    }
}

fn terminating(look: &mut Look<'_>, pod: &Thing) {
    let until = time(&pod.json, "/metadata/deletionTimestamp").unwrap_or(look.now);
    let grace = count(&pod.json, "/metadata/deletionGracePeriodSeconds");
    let asked = until - Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    let node = pod.text("/spec/nodeName").to_owned();
    if let Some(state) = node_trouble(look, &node) {
        look.stuck(pod, format!("is terminating, and its node {state}"))
            .since(Some(asked))
            .waiting_for(format!("the kubelet of node/{node}, to say that its containers ended"))
            .next("it stays until the node is back or its Node deleted, or it is deleted by force");
        return;
    }
    let held = finalizers(pod);
    let is_over = look.now.since(until) > Duration::ZERO;
    if !held.is_empty() && (is_over || !matches!(pod.text("/status/phase"), "Running" | "Pending"))
    {
        let held = held.join(", ");
        look.stuck(pod, format!("is terminating, and held by the finalizer {held}"))
            .since(Some(asked))
            .waiting_for(format!("whoever set {held}, to remove it"));
        return;
    }
    let left = until.since(look.now);
    let found = look.waits(pod, "is terminating").since(Some(asked));
    found.next(match left {
        Duration::ZERO => "its grace is over, the kubelet kills its containers".to_owned(),
        left => format!("its containers have {} more to end by themselves", age(left)),
    });
}

/// What is wrong with a node; none: nothing, or it is not known.
pub(super) fn node_trouble(look: &mut Look<'_>, name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let node = match look.get(&Node::RESOURCE, "", name) {
        Sought::There(node) => node,
        Sought::Absent => return Some(format!("{name} does not exist any more")),
        Sought::Unknown => return None,
    };
    let ready = condition(&node.json, "Ready")?;
    match text(ready, "/status") {
        "True" => None,
        "Unknown" => Some(format!("{name} does not answer: {}", said(ready))),
        _ => Some(format!("{name} is not ready: {}", said(ready))),
    }
}

fn unscheduled(look: &mut Look<'_>, pod: &Thing) {
    let gates = list(&pod.json, "/spec/schedulingGates").iter();
    let gates: Vec<_> = gates.map(|gate| text(gate, "/name")).collect();
    let made = time(&pod.json, "/metadata/creationTimestamp");
    if !gates.is_empty() {
        let gates = gates.join(", ");
        look.stuck(pod, format!("is not scheduled because of its scheduling gates: {gates}"))
            .since(made)
            .waiting_for("whoever set them, to remove them");
        return;
    }
    let scheduled = condition_is(&pod.json, "PodScheduled", "False");
    let scheduler = match pod.text("/spec/schedulerName") {
        "" => "default-scheduler",
        name => name,
    };
    let Some(scheduled) = scheduled else {
        let is_late = made.is_some_and(|made| look.now.since(made) > USUAL_MAX);
        if is_late {
            look.stuck(pod, format!("has not been looked at by its scheduler, {scheduler}"))
                .since(made)
                .waiting_for(format!("a scheduler that is called {scheduler}"));
        } else {
            look.waits(pod, "is not scheduled yet").since(made);
        }
        return;
    };
    let claims = claims(look, pod);
    // What evicting others could not do adds nothing to why there is no room.
    let why = text(scheduled, "/message");
    let why = why.split_once(" preemption: ").map_or(why, |(why, _)| why);
    let why = why.trim_end_matches("no new claims to deallocate,").trim_end();
    let why = why.trim_end_matches('.').to_owned();
    let (why, since) = (if why.is_empty() { said(scheduled) } else { why }, since(scheduled));
    let nominated = pod.text("/status/nominatedNodeName");
    if nominated.is_empty() {
        look.stuck(pod, format!("cannot be scheduled: {why}"))
            .since(since)
            .waiting_for(what_it_needs(&why))
            .next("the scheduler tries again whenever nodes or pods change");
    } else {
        let next = format!("it gets its place once what node/{nominated} evicts for it has ended");
        look.waits(pod, format!("waits for room on node/{nominated}: {why}"))
            .since(since)
            .next(next);
    }
    for claim in &claims {
        look.follow(claim);
    }
}

/// What helps against a refusal of the scheduler's.
fn what_it_needs(why: &str) -> String {
    let known = [
        ("Insufficient", "nodes with more room, or a pod that asks for less"),
        ("untolerated taint", "nodes without these taints, or a pod that tolerates them"),
        ("node affinity/selector", "a node with the labels that the pod asks for"),
        ("unbound immediate PersistentVolumeClaims", "its volume claims, to be bound"),
        ("persistentvolumeclaim", "its volume claims, to exist"),
        ("anti-affinity", "a node without the pods that it must not be beside"),
        ("pod affinity", "a node with the pods that it must be beside"),
        ("topology spread", "nodes in the domains that have too few pods"),
        ("unschedulable", "a node that is not cordoned"),
        ("Too many pods", "a node with a free place for a pod"),
    ];
    let found: Vec<_> = known.iter().filter(|(sign, _)| why.contains(sign)).collect();
    match found.as_slice() {
        [] => "nodes that fit it".to_owned(),
        [(_, one)] => (*one).to_owned(),
        many => many.iter().map(|(_, what)| *what).collect::<Vec<_>>().join("; or "),
    }
}

/// Its claims that are not bound.
fn claims(look: &mut Look<'_>, pod: &Thing) -> Vec<Thing> {
    let names = list(&pod.json, "/spec/volumes").iter().filter_map(|volume| {
        let name = text(volume, "/persistentVolumeClaim/claimName");
        if !name.is_empty() {
            return Some(name.to_owned());
        }
        volume.get("ephemeral")?;
        Some(format!("{}-{}", pod.name(), text(volume, "/name")))
    });
    let names: Vec<_> = names.collect();
    let mut found = Vec::new();
    for name in names {
        match look.get(&PersistentVolumeClaim::RESOURCE, pod.namespace(), &name) {
            Sought::There(claim) if claim.text("/status/phase") != "Bound" => found.push(claim),
            Sought::Absent => {
                look.stuck(
                    pod,
                    format!("needs persistentvolumeclaim/{name}, which does not exist"),
                );
            }
            Sought::There(_) | Sought::Unknown => {}
        }
    }
    found
}

fn on_a_node(look: &mut Look<'_>, pod: &Thing) {
    let start = look.findings.len();
    let node = pod.text("/spec/nodeName").to_owned();
    if !is_ready(&pod.json)
        && let Some(state) = node_trouble(look, &node)
    {
        look.stuck(pod, format!("is not ready, since its node {state}"))
            .since(condition(&pod.json, "Ready").and_then(since));
        if let Sought::There(node) = look.get(&Node::RESOURCE, "", &node) {
            look.follow(&node);
        }
        return;
    }
    for at in ["/status/initContainerStatuses", "/status/containerStatuses"] {
        for status in list(&pod.json, at) {
            container(look, pod, status);
        }
        if look.findings.len() > start {
            break;
        }
    }
    if look.findings.len() == start {
        readiness(look, pod);
    }
}

fn container(look: &mut Look<'_>, pod: &Thing, status: &Value) {
    let name = text(status, "/name");
    let Some(waiting) = status.pointer("/state/waiting") else {
        return stopped(look, pod, status);
    };
    let made = time(&pod.json, "/status/startTime");
    match text(waiting, "/reason") {
        reason if PULLS.contains(&reason) => {
            let (image, why) = (text(status, "/image"), pull_error(waiting));
            let image = image_of(pod, name).unwrap_or(image).to_owned();
            look.stuck(pod, format!("cannot pull the image {image:?}: {why}"))
                .since(made)
                .waiting_for("an image of that name that its node may pull")
                .next("the kubelet tries again, at most 5 minutes apart");
        }
        "CrashLoopBackOff" => crash(look, pod, status),
        reason @ ("" | "ContainerCreating" | "PodInitializing") => {
            creating(look, pod, (name, reason));
        }
        _ => {
            look.stuck(pod, format!("cannot start container {name}: {}", said(waiting)))
                .since(made)
                .next("the kubelet tries again");
        }
    }
}

fn crash(look: &mut Look<'_>, pod: &Thing, status: &Value) {
    let (name, restarts) = (text(status, "/name"), count(status, "/restartCount"));
    let how = status.pointer("/lastState/terminated").map(exit);
    let how = how.unwrap_or_else(|| "ended".to_owned());
    let times = if restarts == 1 { "1 restart" } else { &format!("{restarts} restarts") };
    look.stuck(pod, format!("crashes: container {name} {how}, after {times}"))
        .since(time(status, "/lastState/terminated/finishedAt"))
        .waiting_for("a container that runs on: its log (kubectl logs --previous) may say why")
        .next("the kubelet starts it again after its back-off, at most 5 minutes");
}

/// Why a pull failed: what the last try said, without the words of the back-off.
fn pull_error(waiting: &Value) -> String {
    let message = text(waiting, "/message").trim();
    match message.split_once("ErrImagePull: ") {
        Some((_, why)) => why.to_owned(),
        None if message.is_empty() => text(waiting, "/reason").to_owned(),
        None => message.to_owned(),
    }
}

/// The image that a container asks for; the status may show another name of it.
fn image_of<'a>(pod: &'a Thing, container: &str) -> Option<&'a str> {
    let places = ["/spec/initContainers", "/spec/containers"];
    let mut all = places.iter().flat_map(|at| list(&pod.json, at));
    all.find(|it| text(it, "/name") == container).map(|it| text(it, "/image"))
}

fn creating(look: &mut Look<'_>, pod: &Thing, (name, reason): (&str, &str)) {
    let started = time(&pod.json, "/status/startTime");
    if reason == "PodInitializing" {
        // What its init containers do says more.
        look.waits(pod, format!("has not started container {name} yet")).since(started);
        return;
    }
    if let Some(event) = look.event(pod, &HELD_UP) {
        look.stuck(pod, format!("cannot start: {}", said(&event)))
            .since(started)
            .next("the kubelet tries again");
        return;
    }
    let cause = format!("starts on node/{}", pod.text("/spec/nodeName"));
    let is_late = started.is_some_and(|at| look.now.since(at) > 5 * USUAL_MAX);
    if is_late {
        look.stuck(pod, format!("{cause}, and container {name} is still not created"))
            .since(started);
    } else {
        look.waits(pod, cause).since(started).next("its containers start");
    }
}

/// A container that runs or has ended.
fn stopped(look: &mut Look<'_>, pod: &Thing, status: &Value) {
    let name = text(status, "/name");
    let Some(ended) = status.pointer("/state/terminated") else { return };
    let failed = count(ended, "/exitCode") != 0;
    let at = time(ended, "/finishedAt");
    match pod.text("/spec/restartPolicy") {
        "Never" if failed => {
            look.stuck(pod, format!("has a container that failed: {name} {}", exit(ended)))
                .since(at);
        }
        "Always" | "" | "OnFailure" if failed => {
            look.stuck(pod, format!("crashes: container {name} {}", exit(ended)))
                .since(at)
                .next("the kubelet starts it again");
        }
        _ => {}
    }
}

/// A pod whose containers run.
fn readiness(look: &mut Look<'_>, pod: &Thing) {
    let node = pod.text("/spec/nodeName");
    let ready = condition(&pod.json, "Ready");
    if ready.is_some_and(|it| text(it, "/status") == "True") {
        look.note(pod, format!("runs on node/{node} and is ready")).since(ready.and_then(since));
        return;
    }
    let gates = list(&pod.json, "/spec/readinessGates").iter();
    let mut closed = gates.map(|gate| text(gate, "/conditionType")).filter(|gate| {
        let held = condition_is(&pod.json, "ContainersReady", "True").is_some();
        held && condition_is(&pod.json, gate, "True").is_none()
    });
    if let Some(gate) = closed.next() {
        look.stuck(pod, format!("runs, and is not ready because of its readiness gate {gate}"))
            .since(ready.and_then(since))
            .waiting_for(format!("whoever sets the condition {gate}"));
        return;
    }
    let statuses = list(&pod.json, "/status/containerStatuses").iter();
    let waiting: Vec<_> =
        statuses.filter(|it| !flag(it, "/ready")).map(|it| text(it, "/name")).collect();
    let since = ready.and_then(since).or_else(|| time(&pod.json, "/status/startTime"));
    let is_late = since.is_some_and(|since| look.now.since(since) > USUAL_MAX);
    let Some(name) = waiting.first() else {
        look.waits(pod, format!("starts on node/{node}")).since(since);
        return;
    };
    let probe = look.event(pod, &["Unhealthy"]).map(|event| said(&event));
    let cause = match probe {
        Some(probe) => format!("runs, and container {name} is not ready: {probe}"),
        None => format!("runs, and container {name} is not ready"),
    };
    let found = if is_late { look.stuck(pod, cause) } else { look.waits(pod, cause) };
    found.since(since).waiting_for(format!("the readiness probe of container {name}"));
}

/// The pods of an owner; none: that is not known.
pub(super) fn pods_of(look: &mut Look<'_>, owner: &Thing) -> Option<Vec<Thing>> {
    let all = look.try_list(&Pod::RESOURCE, owner.namespace())?;
    Some(all.into_iter().filter(|pod| owner.manages(&pod.json)).collect())
}

//! What happens in a cluster, as lines for people.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _, stdout};
use std::time::Duration;

use api::{Key, Resource, Time};
use runtime::{Cancel, Clock};
use sandbox::{Change, Follower};
use script::World;
use serde_json::Value;

/// The shortest time between two updates of the status line.
const DRAW: Duration = Duration::from_millis(200);

pub(crate) const DEPLOYMENTS: Resource =
    Resource::namespaced("apps", "v1", "deployments", "Deployment");
pub(crate) const DAEMON_SETS: Resource =
    Resource::namespaced("apps", "v1", "daemonsets", "DaemonSet");
pub(crate) const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");
pub(crate) const NODES: Resource = Resource::cluster_scoped("", "v1", "nodes", "Node");
const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "namespaces", "Namespace");
pub(crate) const EVENTS: Resource = Resource::namespaced("", "v1", "events", "Event");

/// The form of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    /// A line for each change.
    Lines,
    /// The same, and a status line at the bottom.
    Terminal,
}

/// A view that is shown until it is dropped.
pub(crate) struct View(Cancel);

/// What was last shown of each object.
struct Shown {
    began: Time,
    lines: BTreeMap<(Resource, Key), String>,
    nodes: BTreeMap<Key, bool>,
    pods: BTreeMap<Key, bool>,
}

impl Live {
    /// The form for standard output.
    pub(crate) fn from_terminal() -> Self {
        if stdout().is_terminal() { Self::Terminal } else { Self::Lines }
    }
}

impl View {
    /// Shows what happens in a world from now on.
    pub(crate) fn start(world: &World, live: Live) -> Self {
        let cancel = Cancel::new();
        let server = world.cluster.server().clone();
        let clock = server.runtime().clock.clone();
        let watches = vec![NODES, NAMESPACES, DEPLOYMENTS, DAEMON_SETS, PODS, EVENTS];
        let follower = Follower::new(server, watches);
        let ended = cancel.clone();
        runtime::spawn("view", async move {
            ended.run_until_cancelled(show(follower, clock, live)).await;
        });
        Self(cancel)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn show(mut follower: Follower, clock: Clock, live: Live) {
    let (lines, nodes, pods) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut shown = Shown { began: clock.now(), lines, nodes, pods };
    loop {
        let changes = follower.changes();
        let now = clock.now();
        let lines: Vec<_> = changes.iter().filter_map(|change| shown.line(change)).collect();
        draw(&shown, &lines, now, live);
        follower.changed().await;
        // Changes that come together are shown together.
        clock.sleep(DRAW).await;
    }
}

fn draw(shown: &Shown, lines: &[String], now: Time, live: Live) {
    let mut out = stdout().lock();
    let elapsed = now.since(shown.began).as_secs();
    let clear = if live == Live::Terminal { "\r\x1b[K" } else { "" };
    for line in lines {
        let _ = writeln!(out, "{clear}{:>4}:{:02}  {line}", elapsed / 60, elapsed % 60);
    }
    if live == Live::Terminal {
        let _ = write!(out, "{clear}{:>4}:{:02}  {}", elapsed / 60, elapsed % 60, shown.summary());
    }
    let _ = out.flush();
}

// === impl Shown ===

impl Shown {
    /// The line for a change, if it shows something new.
    fn line(&mut self, change: &Change) -> Option<String> {
        let object = &*change.object;
        let key = Key::new(&text(object, "/metadata/namespace"), &text(object, "/metadata/name"));
        let place = (change.resource.clone(), key.clone());
        if change.gone {
            self.nodes.remove(&key);
            self.pods.remove(&key);
            self.lines.remove(&place)?;
            let is_noted = [NODES, NAMESPACES, DEPLOYMENTS, DAEMON_SETS].contains(&change.resource);
            return is_noted.then(|| format!("{} {key} is deleted", kind(&change.resource)));
        }
        let said = match &change.resource {
            it if *it == NODES => self.node(&key, object),
            it if *it == PODS => self.pod(&key, object)?,
            it if *it == EVENTS => warning(object)?,
            it if *it == NAMESPACES => text(object, "/status/phase").to_lowercase(),
            _ => workload(object)?,
        };
        let line = format!("{} {key}: {said}", kind(&change.resource));
        let before = self.lines.insert(place, line.clone());
        // Events are shown as they come; namespaces that existed from the start are not shown.
        let is_dull = change.resource == NAMESPACES && before.is_none() && said == "active";
        (before.as_ref() != Some(&line) && !is_dull).then_some(line)
    }

    fn node(&mut self, key: &Key, node: &Value) -> String {
        let ready = is(node, "Ready");
        self.nodes.insert(key.clone(), ready);
        let off = node.pointer("/spec/unschedulable").and_then(Value::as_bool) == Some(true);
        let ready = if ready { "ready" } else { "not ready" };
        if off { format!("{ready}, cordoned") } else { ready.to_owned() }
    }

    /// Healthy pods are counted, not listed.
    fn pod(&mut self, key: &Key, pod: &Value) -> Option<String> {
        let ready = is(pod, "Ready");
        self.pods.insert(key.clone(), ready);
        // The end of a pod that is being deleted is not shown.
        if pod.pointer("/metadata/deletionTimestamp").is_some() {
            return None;
        }
        let place = (PODS, key.clone());
        let trouble = trouble(pod);
        if trouble.is_none() && ready && self.lines.contains_key(&place) {
            return Some("well again".to_owned());
        }
        trouble
    }

    fn summary(&self) -> String {
        let ready = |all: &BTreeMap<Key, bool>| all.values().filter(|ready| **ready).count();
        format!(
            "nodes {}/{} ready, pods {}/{} ready ",
            ready(&self.nodes),
            self.nodes.len(),
            ready(&self.pods),
            self.pods.len()
        )
    }
}

/// Why a pod is not well; none: it is, or may be soon.
pub(crate) fn trouble(pod: &Value) -> Option<String> {
    let statuses = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
    let waiting = statuses.into_iter().flatten().find_map(|status| {
        let reason = text(status, "/state/waiting/reason");
        let is_bad = !reason.is_empty()
            && !["ContainerCreating", "PodInitializing"].contains(&reason.as_str());
        is_bad.then_some(reason)
    });
    let failed = (text(pod, "/status/phase") == "Failed").then(|| {
        let reason = text(pod, "/status/reason");
        if reason.is_empty() { "failed".to_owned() } else { format!("failed, {reason}") }
    });
    waiting.or(failed)
}

/// The progress of a Deployment or a DaemonSet, once its controller has observed it.
pub(crate) fn workload(object: &Value) -> Option<String> {
    object.pointer("/status/observedGeneration")?;
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64).unwrap_or(0);
    let (ready, wanted, updated) = if object.pointer("/spec/replicas").is_some() {
        let (ready, wanted) = (number("/status/readyReplicas"), number("/spec/replicas"));
        (ready, wanted, number("/status/updatedReplicas"))
    } else {
        let ready = number("/status/numberReady");
        let wanted = number("/status/desiredNumberScheduled");
        (ready, wanted, number("/status/updatedNumberScheduled"))
    };
    let mut said = format!("{ready}/{wanted} ready, {updated} up to date");
    if object.pointer("/spec/paused").and_then(Value::as_bool) == Some(true) {
        said.push_str(", paused");
    }
    if condition(object, "Progressing").is_some_and(|it| text(it, "/status") == "False") {
        said.push_str(", stalls");
    }
    Some(said)
}

/// Warning Events.
fn warning(event: &Value) -> Option<String> {
    let is_warning = text(event, "/type") == "Warning";
    let about = format!(
        "{} {}/{}",
        text(event, "/involvedObject/kind").to_lowercase(),
        text(event, "/involvedObject/namespace"),
        text(event, "/involvedObject/name")
    );
    let (reason, message) = (text(event, "/reason"), text(event, "/message"));
    is_warning.then(|| format!("{about}: {reason}: {message}"))
}

/// Whether a condition of an object is true.
pub(crate) fn is(object: &Value, name: &str) -> bool {
    condition(object, name).is_some_and(|it| text(it, "/status") == "True")
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| text(condition, "/type") == name)
}

fn kind(resource: &Resource) -> String {
    resource.kind.to_lowercase()
}

pub(crate) fn text(value: &Value, path: &str) -> String {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

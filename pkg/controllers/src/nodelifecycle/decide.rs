//! Whether a node lives, and what follows from that. As `monitorNodeHealth` and what it calls in
//! upstream's `pkg/controller/nodelifecycle/node_lifecycle_controller.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind, Node, Pod, Status, Taint, Text};
use controller::{
    Action, Count, Event, EventType, Facts, ObjectRef, PatchKind, Plan, Query, Step, Tolerated,
    When, Why, Write,
};
use mutant::Mutant;
use serde_json::{Value, json};

use super::health::{self, Heartbeat, Lapsed, NodeHealth, Version};
use super::metrics::EVICTIONS_TOTAL;
use super::snapshot::{Snapshot, ZonesSnapshot};
use super::{taints, zones};

/// How long to wait for news of Leases before the next look.
const HOLD: Duration = Duration::from_secs(1);
/// Any list names the version that the API server has now; this role may list nodes, not Leases.
const VERSION: &str = "/api/v1/nodes?limit=1";
/// Bookmarks, one a minute, show the version of Leases even where none is renewed. If they are of
/// another etcd (`--etcd-servers-overrides`), its versions may be lower for ever.
const SHOWN_WITHIN: Duration = Duration::from_mins(5);
/// The conditions that become unknown with the kubelet.
const CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
/// Labels that have an older name, which must have the same value.
const LABELS: [(&str, &str); 2] = [
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
];

/// What was found of a node, for the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it lives.
    pub(super) course: Course,
    /// Whether it was announced that the controller knows it.
    pub(super) registered: bool,
    /// Whether its pods are marked.
    pub(super) marked: bool,
    /// Whether it waits for a taint that evicts.
    pub(super) waits: bool,
}

/// Whether a node lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// It was deleted.
    Removed,
    /// For all that is known.
    Alive,
    /// Its kubelet is late, unless it has reported more than the cache shows.
    Late(Lapsed),
    /// Its kubelet has reported more than the cache shows: this heartbeat.
    Reported(Heartbeat),
    /// It is not heard of any more.
    Lost {
        /// Whether it was ready until now.
        was_ready: bool,
    },
}

/// What is known of a kubelet.
enum Beat {
    /// It has reported in time; look again after so long.
    InTime(Duration),
    /// Whether it has cannot be known now.
    Unheard(&'static str),
    /// It has not: of these, for so long, and since this deadline it is late.
    Missing { silence: Duration, deadline: Duration },
}

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
    let verdict = |course| Verdict {
        course,
        registered: false,
        marked: false,
        waits: s.health.as_ref().is_some_and(|health| health.waits.is_some()),
    };
    let (node, health) = match (&s.node, &s.health) {
        (Some(node), Some(health)) => (node, health),
        (None, Some(health)) => return (removed(s, health), verdict(Course::Removed)),
        (_, None) => return (Plan::rest("not looked at yet"), verdict(Course::Alive)),
    };
    let beat = beat(s, node, health);
    // Of one that is unknown there is nothing to declare.
    let Beat::Missing { silence, deadline } = beat else { return lives(s, node, health, &beat) };
    if node.ready == Some(Status::Unknown) {
        return lives(s, node, health, &beat);
    }
    let lapsed = health.lapsed.filter(|lapsed| lapsed.deadline == deadline);
    let asked = s.version.filter(|version| version.read > deadline);
    let lapsed = lapsed.or(asked.map(|version| Lapsed { deadline, version }));
    let (plan, course) = match lapsed {
        None => late(s, deadline, facts),
        Some(lapsed) if !is_shown(s, &lapsed) => {
            let why = "its kubelet is late, but the cache of Leases does not show that time yet";
            (Plan::rest(why).again_after(Some(HOLD)), Course::Late(lapsed))
        }
        Some(_) => missing(s, (node, health), silence, facts),
    };
    let registered = matches!(course, Course::Reported(_) | Course::Lost { .. });
    (plan, Verdict { registered, ..verdict(course) })
}

/// As `tryUpdateNodeHealth`. Only what was known at the time counts: neither while the API server
/// cannot be heard nor right after that is a kubelet late.
fn beat(s: &Snapshot, node: &Node, health: &NodeHealth) -> Beat {
    let grace = if node.condition("Ready").is_some() {
        s.options.monitor_grace_period
    } else {
        s.options.startup_grace_period
    };
    let Some((resumed, heard)) = s.known else {
        return Beat::Unheard("the API server is silent, so kubelets may be heard or not");
    };
    let since = health.probe.max(resumed);
    let deadline = since + grace;
    if s.uptime <= deadline {
        // It is over right after the deadline.
        let left = deadline.saturating_sub(s.uptime);
        return Beat::InTime(left + Duration::from_millis(1));
    }
    if heard <= deadline {
        return Beat::Unheard("its kubelet is late, but there is no news of Leases since then");
    }
    Beat::Missing { silence: s.uptime.saturating_sub(since), deadline }
}

/// Which version does the API server have, now that the deadline has passed?
fn late(s: &Snapshot, deadline: Duration, facts: &Facts) -> (Plan, Course) {
    let query = Query::path(VERSION);
    let Some(answer) = facts.get(&query) else {
        let why = "its kubelet is late; up to which version must Leases be shown?";
        return (Plan::fetch(why, vec![query]), Course::Alive);
    };
    let failed = |error: String| {
        let why = "its kubelet is late, and nobody says up to which version Leases must be shown";
        (Plan::failed(why, error), Course::Alive)
    };
    let list = match answer.json() {
        Ok(list) => list,
        Err(error) => return failed(error.text.clone()),
    };
    let version = list["metadata"]["resourceVersion"].as_str();
    let Some(number) = version.and_then(|version| version.parse().ok()) else {
        return failed(format!("{VERSION}: the list has no resourceVersion"));
    };
    let plan = Plan::rest(format!("its kubelet is late; are Leases shown up to {number}?"));
    let lapsed = Lapsed { deadline, version: Version { number, read: s.uptime } };
    (plan.again_after(Some(HOLD)), Course::Late(lapsed))
}

/// Whether all that was renewed before the deadline is shown.
fn is_shown(s: &Snapshot, lapsed: &Lapsed) -> bool {
    if mutant::is(Mutant::LeaseNotAwaited) {
        return true;
    }
    s.shown >= lapsed.version.number || s.uptime > lapsed.version.read + SHOWN_WITHIN
}

/// The kubelet has not reported in time. What does a live read say?
fn missing(
    s: &Snapshot,
    (node, health): (&Node, &NodeHealth),
    silence: Duration,
    facts: &Facts,
) -> (Plan, Course) {
    let query = Query::view::<Node>(s.key.clone());
    let Some(answer) = facts.get(&query) else {
        let why = format!("its kubelet is silent for {silence:?}; what does a live read say?");
        return (Plan::fetch(why, vec![query]), Course::Alive);
    };
    match answer.view::<Node>() {
        Ok(Some(live)) if live.meta.uid == node.meta.uid => lost(s, health, live, silence),
        Ok(_) => (Plan::rest("the node is deleted already"), Course::Alive),
        Err(error) => {
            let why = "its kubelet is silent, and it cannot be read live";
            (Plan::failed(why, error.text.clone()), Course::Alive)
        }
    }
}

// === Plans ===

fn removed(s: &Snapshot, health: &NodeHealth) -> Plan {
    let why = "the node is deleted";
    if !health.registered {
        return Plan::rest(why);
    }
    let name = &s.key.name;
    let message = format!("Node {name} event: Removing Node {name} from Controller");
    let event = event(&s.key, &health.uid, "RemovingNode", message);
    Plan::one(why, Step::InOrder(vec![event]))
}

/// Upstream's Event about a node that is new to the controller.
fn registered(s: &Snapshot, health: &NodeHealth) -> Option<Action> {
    let name = &s.key.name;
    let message = format!("Node {name} event: Registered Node {name} in Controller");
    (!health.registered).then(|| event(&s.key, &health.uid, "RegisteredNode", message))
}

/// The kubelet is silent; `live` is the node as it was just read.
fn lost(s: &Snapshot, health: &NodeHealth, live: &Node, silence: Duration) -> (Plan, Course) {
    let mut actions: Vec<_> = registered(s, health).into_iter().collect();
    let found = health::beat(live);
    if found != health.beat {
        let plan = plan("its kubelet has reported meanwhile", actions).again_after(Some(HOLD));
        return (plan, Course::Reported(found));
    }
    let was_ready = live.ready == Some(Status::True);
    if live.ready != Some(Status::Unknown) {
        actions.push(unknown(s, live).into());
    }
    if was_ready {
        let name = &s.key.name;
        let message = format!("Node {name} status is now: NodeNotReady");
        actions.push(event(&s.key, &health.uid, "NodeNotReady", message));
    }
    let why = format!("its kubelet is silent for {silence:?}");
    (plan(why, actions), Course::Lost { was_ready })
}

fn plan(why: impl Into<Why>, actions: Vec<Action>) -> Plan {
    if actions.is_empty() { Plan::rest(why) } else { Plan::one(why, Step::InOrder(actions)) }
}

/// The conditions of a node whose kubelet is silent, on the version that was read.
fn unknown(s: &Snapshot, live: &Node) -> Write {
    let condition = |name: &&str| match live.condition(name) {
        None => Some(json!({
            "type": name,
            "status": "Unknown",
            "reason": "NodeStatusNeverUpdated",
            "message": "Kubelet never posted node status.",
            "lastHeartbeatTime": live.meta.creation_timestamp,
            "lastTransitionTime": s.now,
        })),
        Some(condition) if condition.status == Status::Unknown => None,
        Some(_) => Some(json!({
            "type": name,
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": s.now,
        })),
    };
    let conditions: Vec<_> = CONDITIONS.iter().filter_map(condition).collect();
    let body = json!({"metadata": precondition(live), "status": {"conditions": conditions}});
    let object = ObjectRef::new(&Node::RESOURCE, &live.meta);
    Write::patch(object, PatchKind::Strategic, body.to_string()).at("status")
}

/// All that the node as it is needs.
fn lives(s: &Snapshot, node: &Node, health: &NodeHealth, beat: &Beat) -> (Plan, Verdict) {
    let wanted = taints::wanted(s, node);
    let mut actions: Vec<_> = registered(s, health).into_iter().collect();
    actions.extend(patch(s, node, &wanted).map(Action::from));
    // Each for itself: a webhook that refuses the node must not keep its pods ready, nor one pod
    // the others. Upstream's taints and `MarkPodsNotReady` know nothing of each other.
    let step = if s.pods.is_empty() {
        Step::InOrder(actions)
    } else {
        let pods = s.pods.iter().map(|pod| not_ready(s, pod));
        let of_node = Some(actions).filter(|it| !it.is_empty());
        Step::Chains(of_node.into_iter().chain(pods).collect())
    };
    let is_idle = matches!(&step, Step::InOrder(actions) if actions.is_empty());
    let steps = if is_idle { Vec::new() } else { vec![step] };
    let (why, again) = why(node, &wanted, beat);
    let plan = Plan { why: why.into(), steps, again, ..Plan::default() };
    let (course, waits) = (Course::Alive, wanted.waits);
    (plan, Verdict { course, registered: true, marked: true, waits })
}

fn why(node: &Node, wanted: &taints::Wanted, beat: &Beat) -> (String, Option<Duration>) {
    let ready = match node.ready {
        None => "it has never reported".to_owned(),
        Some(Status::True) => "it is ready".to_owned(),
        Some(status @ (Status::False | Status::Unknown)) => format!("its Ready is {status:?}"),
    };
    let waits = if wanted.waits { ", and it waits for its turn to get a taint" } else { "" };
    match beat {
        Beat::InTime(left) => (format!("{ready}{waits}"), Some(*left)),
        Beat::Unheard(why) => (format!("{ready}{waits}; {why}"), Some(HOLD)),
        Beat::Missing { silence, .. } => {
            (format!("{ready}{waits}; its kubelet is silent for {silence:?}"), None)
        }
    }
}

/// Taints and labels in one patch; of the taints the list is one value, so it is of this version.
fn patch(s: &Snapshot, node: &Node, wanted: &taints::Wanted) -> Option<Write> {
    let labels = labels(node);
    let has_taints = wanted.taints != *node.taints;
    if labels.is_empty() && !has_taints {
        return None;
    }
    let mut body = json!({"metadata": {"uid": &*node.meta.uid}});
    if has_taints {
        body["metadata"] = precondition(node);
        let taints: Vec<_> = wanted.taints.iter().map(Taint::to_json).collect();
        body["spec"] = json!({ "taints": taints });
    }
    if !labels.is_empty() {
        body["metadata"]["labels"] = labels.into();
    }
    let object = ObjectRef::new(&Node::RESOURCE, &s.node.as_ref()?.meta);
    let write = Write::patch(object, PatchKind::Strategic, body.to_string());
    let zone = zones::zone_of(node);
    let count = Count::one(&EVICTIONS_TOTAL).labels([&*zone]).when(When::Done);
    Some(if wanted.evicts { write.counted(vec![count]) } else { write })
}

/// As `reconcileNodeLabels`.
fn labels(node: &Node) -> serde_json::Map<String, Value> {
    let labels = &node.meta.labels;
    let wrong = LABELS.iter().filter_map(|(name, old)| {
        let value = labels.get(name)?;
        (labels.get(old) != Some(value)).then(|| ((*old).to_owned(), Value::from(value)))
    });
    wrong.collect()
}

fn precondition(node: &Node) -> Value {
    json!({"uid": &*node.meta.uid, "resourceVersion": node.meta.resource_version.to_string()})
}

/// As `MarkPodsNotReady`.
fn not_ready(s: &Snapshot, pod: &Pod) -> Vec<Action> {
    let version = pod.meta.resource_version.to_string();
    let condition = json!({"type": "Ready", "status": "False", "lastTransitionTime": s.now});
    let body = json!({
        "metadata": {"uid": &*pod.meta.uid, "resourceVersion": version},
        "status": {"conditions": [condition]},
    });
    let object = ObjectRef::new(&Pod::RESOURCE, &pod.meta);
    let write = Write::patch(object.clone(), PatchKind::Strategic, body.to_string());
    let write = write.at("status").tolerating(&[Tolerated::Missing]);
    let event = Event {
        about: Arc::new(object),
        r#type: EventType::Warning,
        reason: "NodeNotReady".into(),
        message: "Node is not ready".to_owned(),
    };
    vec![write.into(), Action::Event(event)]
}

fn event(key: &Key, uid: &Text, reason: &'static str, message: String) -> Action {
    let about = ObjectRef {
        resource: Node::RESOURCE,
        key: key.clone(),
        uid: uid.clone(),
        resource_version: 0,
    };
    Action::Event(Event {
        about: Arc::new(about),
        r#type: EventType::Normal,
        reason: reason.into(),
        message,
    })
}

// === Zones ===

/// Nothing is written: what changes is remembered, and enqueues nodes.
pub(super) fn decide_zones(s: &ZonesSnapshot, period: Duration) -> Plan {
    let unready: usize = s.sizes.values().map(|size| size.unready).sum();
    let all: usize = s.sizes.values().map(|size| size.all).sum();
    let (zones, nodes) = (s.sizes.len(), s.zones.len());
    let why = format!("{unready} of {all} nodes in {zones} zones are not ready, of {nodes} nodes");
    let counts = s.sizes.keys();
    let counts = counts.map(|zone| Count::of(&EVICTIONS_TOTAL, 0.0).labels([&**zone])).collect();
    Plan { counts, ..Plan::rest(why).again_after(Some(period)) }
}

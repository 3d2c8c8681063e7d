//! A volume on a node whose pods need it. As `attachDesiredVolumes` in upstream's
//! attachdetach/reconciler, and `Attach` in pkg/volume/csi.

use std::sync::Arc;
use std::time::Duration;

use api::{AttachPlugin, Kind as _, Pod, Text, VolumeAttachment};
use controller::{Announce, EventType, ObjectRef, When, Write};
use mutant::Mutant;
use serde_json::{Value, json};

use super::decide::{Draft, Listing, message, pods_on};
use super::metrics::operation;
use super::snapshot::{Place, Snapshot, Want};
use super::worlds;

const FAILED: &str = "FailedAttachVolume";
const SUCCEEDED: &str = "SuccessfulAttachVolume";
const ATTACH_FAILED: &str = "AttachVolume.Attach failed";
/// How long the attacher may take before an Event says so. Upstream's `csiTimeout`.
const ATTACHER_TIMEOUT: Duration = Duration::from_mins(2);

pub(super) fn decide(s: &Snapshot, (node, place): (&Text, &Place), draft: &mut Draft) {
    let Some(want) = place.wants.first() else { return };
    let memory =
        worlds::Place { name: want.name.clone(), detach_since: None, ..place.memory.clone() };
    let (driver, handle) = match &s.plugin {
        AttachPlugin::Csi { driver, handle } => (driver, handle),
        AttachPlugin::ByNode => return by_node(s, (node, place, want), memory, draft),
    };
    let Some(attachment) = &place.attachment else {
        return create(s, (node, place, want), driver, memory, draft);
    };
    let called = &attachment.meta.key;
    if attachment.meta.is_terminating() {
        draft.says(node, format!("waits until {called}, which is being deleted, is gone"));
        // As upstream's `IsOperationPending`: while its own detach is under way it tries nothing.
        let ends = place.memory.deleted_since.map(|since| since + ATTACHER_TIMEOUT);
        let left = ends.map(|ends| ends.saturating_sub(s.uptime)).unwrap_or_default();
        if !left.is_zero() && attachment.detach_error.is_none() {
            draft.again(left);
            return draft.next(node, memory, Listing::Unsaid);
        }
        let uid = format!("deleted {}", attachment.meta.uid);
        let why = "volume attachment is being deleted";
        let memory = failed(s, place, (&uid, why), memory, draft);
        return draft.next(node, memory, Listing::Unsaid);
    }
    if attachment.attached {
        draft.says(node, "attached");
        return succeeded(s, (node, place), memory, draft);
    }
    if let Some(error) = &attachment.attach_error {
        draft.says(node, format!("the attacher of {driver} failed: {}", error.message));
        let time = error.time.map(|time| time.to_string()).unwrap_or_default();
        let id = format!("{time} {}", error.message);
        let memory = failed(s, place, (&id, &error.message), memory, draft);
        return draft.next(node, memory, Listing::Unsaid);
    }
    draft.says(node, format!("waits for the attacher of {driver} to attach {called}"));
    waits(s, (node, place), (driver, handle), memory, draft);
}

/// The attacher has not answered yet.
fn waits(
    s: &Snapshot,
    (node, place): (&Text, &Place),
    (driver, handle): (&str, &str),
    mut memory: worlds::Place,
    draft: &mut Draft,
) {
    let since = *memory.attach_since.get_or_insert(s.uptime);
    let timeout = *memory.attach_timeout.get_or_insert(since + ATTACHER_TIMEOUT);
    let mut left = timeout.saturating_sub(s.uptime);
    if left.is_zero() {
        let error = format!(
            "timed out waiting for external-attacher of {driver} CSI driver to attach volume \
             {handle}"
        );
        let text = message(ATTACH_FAILED, &memory.name, &format!(": {error}"));
        draft.tells(&place.wants, EventType::Warning, FAILED, &text);
        draft.counts(operation(s, "volume_attach", Err(()), since));
        memory.attach_timeout = Some(s.uptime + ATTACHER_TIMEOUT);
        left = ATTACHER_TIMEOUT;
    }
    draft.again(left);
    draft.next(node, memory, Listing::Unsaid);
}

/// Tells of a failure, once for each.
fn failed(
    s: &Snapshot,
    place: &Place,
    (id, error): (&str, &str),
    mut memory: worlds::Place,
    draft: &mut Draft,
) -> worlds::Place {
    if memory.told_failure.as_deref() != Some(id) {
        let text = message(ATTACH_FAILED, &memory.name, &format!(": {error}"));
        draft.tells(&place.wants, EventType::Warning, FAILED, &text);
        let since = memory.attach_since.unwrap_or(s.uptime);
        draft.counts(operation(s, "volume_attach", Err(()), since));
        memory.told_failure = Some(id.into());
    }
    memory.attach_since.get_or_insert(s.uptime);
    // The attacher has answered.
    memory.attach_timeout = None;
    memory
}

/// It is attached.
fn succeeded(
    s: &Snapshot,
    (node, place): (&Text, &Place),
    mut memory: worlds::Place,
    draft: &mut Draft,
) {
    if !memory.told_attached && !place.is_listed(&s.volume) {
        let text = message("AttachVolume.Attach succeeded", &memory.name, "");
        draft.tells(&place.wants, EventType::Normal, SUCCEEDED, &text);
        let since = memory.attach_since.unwrap_or(s.uptime);
        draft.counts(operation(s, "volume_attach", Ok(()), since));
    }
    memory = worlds::Place {
        name: memory.name,
        is_attached_by_node: memory.is_attached_by_node,
        told_attached: true,
        ..worlds::Place::default()
    };
    draft.next(node, memory, Listing::Listed);
}

/// There is no object that stands for it: the status of the node is all.
fn by_node(
    s: &Snapshot,
    (node, place, want): (&Text, &Place, &Want),
    mut memory: worlds::Place,
    draft: &mut Draft,
) {
    if !place.is_held(&s.volume) {
        if let Some(others) = others(s, node, want, draft) {
            return blocked(s, (node, place), &others, memory, draft);
        }
        draft.creates.push(node.clone());
    }
    draft.says(node, "attached");
    memory.is_attached_by_node = true;
    succeeded(s, (node, place), memory, draft);
}

fn create(
    s: &Snapshot,
    (node, place, want): (&Text, &Place, &Want),
    driver: &str,
    mut memory: worlds::Place,
    draft: &mut Draft,
) {
    if let Some(others) = others(s, node, want, draft) {
        return blocked(s, (node, place), &others, memory, draft);
    }
    draft.says(node, format!("is attached for pod {}", want.pod.meta.key));
    let source = match &want.spec {
        Some(spec) => {
            let spec = serde_json::from_str(spec).unwrap_or(Value::Null);
            json!({"inlineVolumeSpec": spec})
        }
        None => json!({"persistentVolumeName": &*want.name}),
    };
    let body = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": &*VolumeAttachment::RESOURCE.kind,
        "metadata": {"name": &*place.attachment_name},
        "spec": {"attacher": driver, "nodeName": &**node, "source": source},
    });
    let resource = VolumeAttachment::RESOURCE;
    let since = *memory.attach_since.get_or_insert(s.uptime);
    let failed = operation(s, "volume_attach", Err(()), since).when(When::Failed);
    let write = Write::create(resource, Text::default(), body.to_string());
    let mut write = write.counted(vec![failed]);
    let prefix =
        message(ATTACH_FAILED, &memory.name, ": kubernetes.io/csi: attacher.Attach failed: ");
    for want in &place.wants {
        let about = Arc::new(ObjectRef::new(&Pod::RESOURCE, &want.pod.meta));
        let failed = (FAILED, prefix.clone().into());
        write = write.announced(Announce { about, done: None, failed, silent: &["AlreadyExists"] });
    }
    draft.writes(write);
    draft.creates.push(node.clone());
    memory = worlds::Place {
        name: memory.name,
        attach_since: memory.attach_since,
        ..worlds::Place::default()
    };
    draft.next(node, memory, Listing::Unsaid);
}

/// The other nodes that have the volume, or may get it; none: the volume may be attached here, too.
fn others<'a>(s: &'a Snapshot, node: &Text, want: &Want, draft: &Draft) -> Option<Vec<&'a Text>> {
    if want.is_shared || mutant::is(Mutant::SecondNodeAtOnce) {
        return None;
    }
    let is_held = |(name, place): &(&Text, &Place)| {
        *name != node
            && (place.is_held(&s.volume) && !is_over(s, name, draft)
                || draft.creates.contains(name))
    };
    let others: Vec<_> = s.places.iter().filter(is_held).map(|(name, _)| name).collect();
    (!others.is_empty()).then_some(others)
}

/// Whether this plan finds that nothing is left of the volume there.
fn is_over(s: &Snapshot, node: &Text, draft: &Draft) -> bool {
    let is_by_node = matches!(s.plugin, AttachPlugin::ByNode);
    is_by_node && draft.nexts.get(node).is_some_and(|next| next.memory.is_none())
}

/// As `reportMultiAttachError`. Upstream would attach the volume here, too, where nobody has
/// confirmed that the other node has it; ours waits, and tells after as long as an attacher may
/// take.
fn blocked(
    s: &Snapshot,
    (node, place): (&Text, &Place),
    others: &[&Text],
    mut memory: worlds::Place,
    draft: &mut Draft,
) {
    let names: Vec<&str> = others.iter().map(|name| &***name).collect();
    draft.says(node, format!("waits until the volume is detached from {}", names.join(", ")));
    // While a detach is under way, upstream says nothing.
    let is_in_the_way = |name: &&&Text| {
        let Some(other) = s.places.get(**name) else { return false };
        let listing = draft.nexts.get(**name).map(|next| next.listing);
        other.is_confirmed(&s.volume) && listing != Some(Listing::Dropped)
    };
    let in_the_way: Vec<&Text> = others.iter().filter(is_in_the_way).copied().collect();
    if !in_the_way.is_empty() && !memory.told_multi_attach {
        let pods = pods_on(s, &in_the_way);
        for want in &place.wants {
            let text = multi_attach(&want.pod.meta.key.namespace, &pods);
            let text = message("Multi-Attach error", &memory.name, &text);
            draft.tells(std::slice::from_ref(want), EventType::Warning, FAILED, &text);
        }
        memory.told_multi_attach = true;
    }
    if !memory.told_multi_attach {
        let since = *memory.blocked_since.get_or_insert(s.uptime);
        let left = (since + ATTACHER_TIMEOUT).saturating_sub(s.uptime);
        if left.is_zero() {
            let text = format!("Volume may still be attached to {}", names.join(", "));
            let text = message("Multi-Attach error", &memory.name, &text);
            draft.tells(&place.wants, EventType::Warning, FAILED, &text);
            memory.told_multi_attach = true;
        } else {
            draft.again(left);
        }
    }
    memory.attach_since = None;
    draft.next(node, memory, Listing::Unsaid);
}

/// What a user of this namespace may know of the pods that have the volume.
fn multi_attach(namespace: &str, pods: &[&api::Key]) -> String {
    if pods.is_empty() {
        let text = "Volume is already exclusively attached to one node and can't be attached to \
                    another";
        return text.to_owned();
    }
    let here: Vec<&str> =
        pods.iter().filter(|pod| *pod.namespace == *namespace).map(|pod| &*pod.name).collect();
    let elsewhere = pods.len() - here.len();
    let elsewhere = match elsewhere {
        0 => String::new(),
        count => format!("{count} pod(s) in different namespaces"),
    };
    match (here.is_empty(), elsewhere.is_empty()) {
        (true, _) => format!("Volume is already used by {elsewhere}"),
        (false, true) => format!("Volume is already used by pod(s) {}", here.join(", ")),
        (false, false) => {
            format!("Volume is already used by pod(s) {} and {elsewhere}", here.join(", "))
        }
    }
}

//! Which keys a change enqueues. As the handlers in upstream's `NewAttachDetachController`, and
//! what its sweeps find.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{
    AttachPlugin, CsiDriver, Key, Node, PersistentVolume, PersistentVolumeClaim, Pod, Text,
    VolumeAttachment,
};
use controller::{Change, Enqueue, View};

use super::worlds::Worlds;
use super::{node_key, volume_key};

pub(super) fn pod(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    let pod = change.object();
    if pod.node_name.is_none() && !pod.unreadable {
        return;
    }
    if let Change::Updated { old, new } = change {
        let counts = |pod: &Arc<Pod>| (pod.node_name.clone(), pod.is_over(), pod.unreadable);
        if counts(old) == counts(new) && old.meta.owners == new.meta.owners {
            return;
        }
    }
    let (mut volumes, is_whole) = of_pod(pod, view);
    // A claim that is gone names its volume no more. Whatever is attached to the node is looked at.
    if let Some(node) = pod.node_name.as_ref().filter(|_| !is_whole) {
        volumes.extend(on_node(node, view, None));
    }
    add_volumes(&volumes, queue);
}

pub(super) fn claim(change: &Change<PersistentVolumeClaim>, view: &View<'_>, queue: &mut Enqueue) {
    let of = |claim: &PersistentVolumeClaim| (claim.volume.clone(), claim.is_bound);
    let (old, new) = match change {
        Change::Updated { old, new } if of(old) == of(new) => return,
        Change::Updated { old, new } => (Some(old), new),
        Change::Added(claim) | Change::Deleted(claim) => (None, claim),
    };
    let names = [old, Some(new)].into_iter().flatten().filter_map(|claim| claim.volume.as_ref());
    add_volumes(&names.filter_map(|name| of_volume(name, view)).collect(), queue);
}

pub(super) fn volume(
    worlds: &mut Worlds,
    change: &Change<PersistentVolume>,
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    let volume = change.object();
    let name = &volume.meta.key.name;
    let mut volumes: BTreeSet<Text> = volume.attached_as.iter().cloned().collect();
    match change {
        Change::Added(_) => {
            // What the former one of this name stood for must be looked at once more.
            volumes.extend(worlds.removed_volumes.remove(name));
        }
        Change::Updated { old, new } => {
            let of = |it: &PersistentVolume| {
                let (uid, claim) = (it.claim_uid.clone(), it.claim.clone());
                (it.attached_as.clone(), claim, uid, it.is_shared)
            };
            if of(old) == of(new) {
                return;
            }
            volumes.extend(old.attached_as.clone());
        }
        Change::Deleted(_) => {
            let named = view.of::<VolumeAttachment>().by(VolumeAttachment::BY_SOURCE, name);
            if let (Some(volume), false) = (&volume.attached_as, named.is_empty()) {
                worlds.removed_volumes.insert(name.clone(), volume.clone());
            }
        }
    }
    add_volumes(&volumes, queue);
}

pub(super) fn driver(
    worlds: &Worlds,
    change: &Change<CsiDriver>,
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    let driver = change.object();
    match change {
        Change::Added(it) if it.attach_required => return,
        Change::Updated { old, new } if old.attach_required == new.attach_required => return,
        Change::Added(_) | Change::Updated { .. } | Change::Deleted(_) => {}
    }
    let name = &driver.meta.key.name;
    let is_its = |volume: &Text| match AttachPlugin::of(volume) {
        Some(AttachPlugin::Csi { driver, .. }) => driver == *name,
        Some(AttachPlugin::ByNode) | None => false,
    };
    let volumes = view.of::<PersistentVolume>().all().into_iter();
    let volumes = volumes.filter_map(|volume| volume.attached_as.clone());
    let attachments = view.of::<VolumeAttachment>().all().into_iter();
    let attached = attachments.filter_map(|it| of_attachment(&it, view, Some(worlds)));
    let pods = view.of::<Pod>().all().into_iter();
    let inline = pods.flat_map(|pod| pod.inline_volumes().to_vec()).map(|inline| inline.volume);
    add_volumes(&volumes.chain(attached).chain(inline).filter(is_its).collect(), queue);
}

pub(super) fn attachment(
    worlds: &mut Worlds,
    change: &Change<VolumeAttachment>,
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    let attachment = change.object();
    if let Some(node) = &attachment.node {
        queue.add(&node_key(node));
    }
    add_volumes(&of_attachment(attachment, view, Some(worlds)).into_iter().collect(), queue);
    if let Change::Deleted(_) = change {
        let is_last =
            |index: &str, value: &Text| view.of::<VolumeAttachment>().by(index, value).is_empty();
        if let Some(source) = &attachment.source
            && is_last(VolumeAttachment::BY_SOURCE, source)
        {
            worlds.removed_volumes.remove(source);
        }
        if let Some(node) = &attachment.node
            && is_last(VolumeAttachment::BY_NODE, node)
        {
            worlds.removed_nodes.remove(node);
        }
    }
}

pub(super) fn node(
    worlds: &mut Worlds,
    change: &Change<Node>,
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    let node = change.object();
    let name = &node.meta.key.name;
    let mut volumes = BTreeSet::new();
    match change {
        Change::Added(_) => {
            worlds.removed_nodes.remove(name);
            queue.add(&node.meta.key);
            volumes.extend(on_node(name, view, Some(worlds)));
            volumes.extend(of_pods(name, view));
        }
        Change::Deleted(_) => {
            let has_any =
                !view.of::<VolumeAttachment>().by(VolumeAttachment::BY_NODE, name).is_empty();
            if has_any {
                let in_use = node.volumes_in_use.iter().cloned().collect();
                worlds.removed_nodes.insert(name.clone(), in_use);
            }
            queue.add(&node.meta.key);
            volumes.extend(on_node(name, view, Some(worlds)));
        }
        Change::Updated { old, new } => {
            if old.volumes_attached != new.volumes_attached {
                queue.add(&node.meta.key);
                let names = |node: &Node| -> BTreeSet<Text> {
                    node.volumes_attached.iter().map(|(name, _)| name.clone()).collect()
                };
                volumes.extend(names(old).symmetric_difference(&names(new)).cloned());
            }
            if old.volumes_in_use != new.volumes_in_use {
                let names = |node: &Node| -> BTreeSet<Text> {
                    node.volumes_in_use.iter().cloned().collect()
                };
                volumes.extend(names(old).symmetric_difference(&names(new)).cloned());
            }
            let health = |node: &Node| (node.ready, node.is_out_of_service());
            if health(old) != health(new) {
                volumes.extend(on_node(name, view, Some(worlds)));
            }
            if old.is_attached_for != new.is_attached_for {
                volumes.extend(of_pods(name, view));
            }
        }
    }
    if let Change::Added(node) | Change::Deleted(node) = change {
        volumes.extend(node.volumes_attached.iter().map(|(volume, _)| volume.clone()));
    }
    add_volumes(&volumes, queue);
}

fn add_volumes(volumes: &BTreeSet<Text>, queue: &mut Enqueue) {
    for volume in volumes.iter().filter(|volume| AttachPlugin::of(volume).is_some()) {
        queue.add(&volume_key(volume));
    }
}

/// The volume that a PersistentVolume stands for.
fn of_volume(name: &str, view: &View<'_>) -> Option<Text> {
    view.of::<PersistentVolume>().get(&Key::new("", name))?.attached_as.clone()
}

/// The volumes of a pod, and whether these are all.
fn of_pod(pod: &Pod, view: &View<'_>) -> (BTreeSet<Text>, bool) {
    let mut is_whole = !pod.unreadable;
    let mut volumes: BTreeSet<Text> =
        pod.inline_volumes().iter().map(|inline| inline.volume.clone()).collect();
    for (name, _) in &pod.claims {
        let key = Key { namespace: pod.meta.key.namespace.clone(), name: name.clone() };
        let claim = view.of::<PersistentVolumeClaim>().get(&key);
        let Some(name) = claim.as_ref().and_then(|claim| claim.volume.as_ref()) else {
            // One that cannot be read, or that was made anew, may have named a volume before.
            is_whole = false;
            continue;
        };
        match view.of::<PersistentVolume>().get(&Key::new("", name)) {
            Some(volume) => volumes.extend(volume.attached_as.clone()),
            None => is_whole = false,
        }
    }
    (volumes, is_whole)
}

/// The volumes of the pods of a node.
fn of_pods(node: &str, view: &View<'_>) -> BTreeSet<Text> {
    let pods = view.of::<Pod>().by(Pod::BY_NODE, node);
    pods.iter().flat_map(|pod| of_pod(pod, view).0).collect()
}

/// The volumes that attachments name on a node.
fn on_node(node: &str, view: &View<'_>, worlds: Option<&Worlds>) -> BTreeSet<Text> {
    let attachments = view.of::<VolumeAttachment>().by(VolumeAttachment::BY_NODE, node);
    let listed = view.of::<Node>().get(&node_key(node));
    let listed = listed.iter().flat_map(|node| &node.volumes_attached);
    let listed = listed.map(|(volume, _)| volume.clone());
    attachments.iter().filter_map(|it| of_attachment(it, view, worlds)).chain(listed).collect()
}

/// The volume of an attachment; none: the cache does not have its PersistentVolume, and never had.
pub(super) fn of_attachment(
    attachment: &VolumeAttachment,
    view: &View<'_>,
    worlds: Option<&Worlds>,
) -> Option<Text> {
    let source = attachment.source.as_ref()?;
    if source.contains('/') {
        return Some(source.clone());
    }
    let removed = || worlds?.removed_volumes.get(source).cloned();
    of_volume(source, view).or_else(removed)
}

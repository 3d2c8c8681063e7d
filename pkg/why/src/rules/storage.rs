//! Claims, volumes and classes.

use api::{Kind, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use serde_json::Value;

use super::deletion::finalizers;
use super::pod::is_active;
use crate::json::{condition_is, list, said, since, text, time};
use crate::look::{Look, Sought, Thing};

/// The finalizers of claims and volumes in use.
const CLAIM_IN_USE: &str = "kubernetes.io/pvc-protection";
const VOLUME_IN_USE: &str = "kubernetes.io/pv-protection";
/// The class that claims without one get.
const DEFAULT_CLASS: &str = "/metadata/annotations/storageclass.kubernetes.io~1is-default-class";
/// The provisioner of classes that have none.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// Who provisions a claim.
const PROVISIONERS: [&str; 2] = [
    "/metadata/annotations/volume.kubernetes.io~1storage-provisioner",
    "/metadata/annotations/volume.beta.kubernetes.io~1storage-provisioner",
];

pub(super) fn claim(look: &mut Look<'_>, it: &Thing) {
    if time(&it.json, "/metadata/deletionTimestamp").is_some() {
        return going(look, it);
    }
    let since_made = time(&it.json, "/metadata/creationTimestamp");
    match it.text("/status/phase") {
        "Bound" => bound(look, it),
        "Lost" => {
            let volume = it.text("/spec/volumeName");
            look.stuck(it, format!("has lost its volume: persistentvolume/{volume} is gone"))
                .next("nothing: its data is gone with the volume, unless that is made again");
        }
        _ => {
            if let Some(event) = look.event(it, &["ProvisioningFailed"]) {
                look.stuck(it, format!("is not bound: {}", text(&event, "/message").trim()))
                    .since(since_made)
                    .next("its provisioner tries again");
            }
            pending(look, it);
        }
    }
}

fn bound(look: &mut Look<'_>, it: &Thing) {
    let volume = it.text("/spec/volumeName").to_owned();
    let asked = it.text("/spec/resources/requests/storage").to_owned();
    let has = it.text("/status/capacity/storage").to_owned();
    for kind in ["ControllerResizeError", "NodeResizeError"] {
        if let Some(condition) = condition_is(&it.json, kind, "True") {
            look.stuck(it, format!("cannot grow: {}", said(condition))).since(since(condition));
            return;
        }
    }
    if let Some(condition) = condition_is(&it.json, "FileSystemResizePending", "True") {
        look.waits(it, format!("has grown to {asked}, but not its file system"))
            .since(since(condition))
            .waiting_for("a pod that mounts it: the kubelet grows the file system then");
        return;
    }
    if let Some(condition) = condition_is(&it.json, "Resizing", "True") {
        look.waits(it, format!("grows from {has} to {asked}")).since(since(condition));
        return;
    }
    look.note(it, format!("is bound to persistentvolume/{volume}, with {has}"));
    if let Sought::Absent = look.get(&PersistentVolume::RESOURCE, "", &volume) {
        look.stuck(it, format!("is bound to persistentvolume/{volume}, which does not exist"));
    }
}

fn pending(look: &mut Look<'_>, it: &Thing) {
    let made = time(&it.json, "/metadata/creationTimestamp");
    let volume = it.text("/spec/volumeName").to_owned();
    if !volume.is_empty() {
        return wants_volume(look, it, &volume);
    }
    let class = it.json.pointer("/spec/storageClassName").and_then(Value::as_str);
    let Some(class) = class else { return no_class(look, it) };
    if class.is_empty() {
        look.stuck(it, "is not bound: it wants no class, and no volume fits it")
            .since(made)
            .waiting_for("a PersistentVolume without a class, of its size and access modes");
        return;
    }
    match look.get(&StorageClass::RESOURCE, "", class) {
        Sought::Absent => {
            look.stuck(it, format!("is not bound: there is no storageclass/{class}"))
                .since(made)
                .waiting_for(format!("storageclass/{class}, or a volume of that class"));
        }
        Sought::There(class) => of_class(look, it, &class),
        Sought::Unknown => drop(look.waits(it, "is not bound").since(made)),
    }
}

fn wants_volume(look: &mut Look<'_>, it: &Thing, volume: &str) {
    let made = time(&it.json, "/metadata/creationTimestamp");
    match look.get(&PersistentVolume::RESOURCE, "", volume) {
        Sought::Absent => {
            look.stuck(
                it,
                format!("is not bound: it names persistentvolume/{volume}, which does not exist"),
            )
            .since(made);
        }
        Sought::There(found) => {
            let (name, namespace) = (
                found.text("/spec/claimRef/name").to_owned(),
                found.text("/spec/claimRef/namespace").to_owned(),
            );
            if name.is_empty() || (name == it.name() && namespace == it.namespace()) {
                look.waits(it, format!("is being bound to persistentvolume/{volume}")).since(made);
            } else {
                let other = format!("is of the claim {namespace}/{name}");
                look.stuck(it, format!("is not bound: persistentvolume/{volume} {other}"))
                    .since(made);
            }
        }
        Sought::Unknown => {
            look.waits(it, format!("waits for persistentvolume/{volume}")).since(made);
        }
    }
}

fn no_class(look: &mut Look<'_>, it: &Thing) {
    let made = time(&it.json, "/metadata/creationTimestamp");
    let Some(classes) = look.try_list(&StorageClass::RESOURCE, "") else {
        look.waits(it, "is not bound, and names no class").since(made);
        return;
    };
    let has_default = classes.iter().any(|class| class.text(DEFAULT_CLASS) == "true");
    if has_default {
        look.waits(it, "gets the default class").since(made);
    } else {
        look.stuck(it, "is not bound: it names no class, and no class is the default")
            .since(made)
            .waiting_for("a default StorageClass, or a volume without a class that fits it");
    }
}

fn of_class(look: &mut Look<'_>, it: &Thing, class: &Thing) {
    let made = time(&it.json, "/metadata/creationTimestamp");
    let waits_for_pod = class.text("/volumeBindingMode") == "WaitForFirstConsumer";
    let chosen = it.text("/metadata/annotations/volume.kubernetes.io~1selected-node");
    if waits_for_pod && chosen.is_empty() {
        let using = users(look, it);
        let found = look.waits(
            it,
            format!("is not bound yet: storageclass/{} binds with the first pod", class.name()),
        );
        let found = found.since(made);
        match using.first() {
            Some(pod) => found.waiting_for(format!("{} to be scheduled", pod.subject())),
            None => found.waiting_for("a pod that uses it"),
        };
        return;
    }
    let provisioner = class.text("/provisioner").to_owned();
    if provisioner == NO_PROVISIONER {
        look.stuck(
            it,
            format!(
                "is not bound: no volume of storageclass/{} fits it, and none is made",
                class.name()
            ),
        )
        .since(made)
        .waiting_for("a PersistentVolume of that class, of its size and access modes");
        return;
    }
    let asked = PROVISIONERS.iter().any(|at| !it.text(at).is_empty());
    let is_late = made.is_some_and(|made| look.now.since(made).as_secs() > 60);
    let cause = format!("is not bound: {provisioner} has made no volume for it");
    let found = if asked && is_late { look.stuck(it, cause) } else { look.waits(it, cause) };
    found.since(made).waiting_for(format!("the provisioner {provisioner}: does it run?"));
}

/// The pods that use a claim.
fn users(look: &mut Look<'_>, it: &Thing) -> Vec<Thing> {
    let uses = |pod: &Thing| {
        list(&pod.json, "/spec/volumes").iter().any(|volume| {
            let named = text(volume, "/persistentVolumeClaim/claimName") == it.name();
            let own = format!("{}-{}", pod.name(), text(volume, "/name"));
            named || (volume.get("ephemeral").is_some() && own == it.name())
        })
    };
    let pods = look.list(&Pod::RESOURCE, it.namespace());
    pods.into_iter().filter(|pod| uses(pod) && is_active(&pod.json)).collect()
}

/// A claim that is being deleted.
fn going(look: &mut Look<'_>, it: &Thing) {
    let asked = time(&it.json, "/metadata/deletionTimestamp");
    for finalizer in finalizers(it) {
        if finalizer != CLAIM_IN_USE {
            look.stuck(it, format!("is being deleted, and held by the finalizer {finalizer}"))
                .since(asked)
                .waiting_for(format!("whoever set {finalizer}, to do its work and remove it"));
            continue;
        }
        let pods = users(look, it);
        let names: Vec<_> = pods.iter().take(3).map(|pod| pod.subject().to_string()).collect();
        let more = pods.len().saturating_sub(names.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        if names.is_empty() {
            look.waits(it, format!("is being deleted, and held by {CLAIM_IN_USE}"))
                .since(asked)
                .waiting_for("its controller, which removes that: no pod uses it");
        } else {
            look.stuck(it, format!("is being deleted, and in use by {}{more}", names.join(", ")))
                .since(asked)
                .waiting_for("these pods, to end or to be deleted")
                .next("then persistentvolumeclaim-protection-controller lets it go");
        }
    }
}

pub(super) fn volume(look: &mut Look<'_>, it: &Thing) {
    let claim =
        format!("{}/{}", it.text("/spec/claimRef/namespace"), it.text("/spec/claimRef/name"));
    let policy = it.text("/spec/persistentVolumeReclaimPolicy").to_owned();
    let asked = time(&it.json, "/metadata/deletionTimestamp");
    if asked.is_some() {
        for finalizer in finalizers(it) {
            let is_bound = it.text("/status/phase") == "Bound";
            let cause = match finalizer.as_str() {
                VOLUME_IN_USE if is_bound => {
                    format!("is being deleted, and bound to the claim {claim}")
                }
                other => format!("is being deleted, and held by the finalizer {other}"),
            };
            look.stuck(it, cause).since(asked).waiting_for(match finalizer.as_str() {
                VOLUME_IN_USE => "its claim, to be deleted".to_owned(),
                other => format!("whoever set {other}, to do its work and remove it"),
            });
        }
        return;
    }
    match it.text("/status/phase") {
        "Released" if policy == "Retain" => {
            look.stuck(
                it,
                format!("is released by the claim {claim}, and kept: its policy is Retain"),
            )
            .waiting_for(
                "somebody to delete it, or to clear its claimRef so that it is bound again",
            );
        }
        "Released" => {
            look.waits(it, format!("is released by the claim {claim}"))
                .next(format!("it is reclaimed: its policy is {policy}"));
        }
        "Failed" => {
            let why = it.text("/status/message").to_owned();
            look.stuck(it, format!("could not be reclaimed: {why}"));
        }
        "Bound" => drop(look.note(it, format!("is bound to the claim {claim}"))),
        "Available" => {
            look.note(it, "is available").waiting_for("a claim that it fits");
        }
        _ => drop(look.waits(it, "is new")),
    }
    if it.text("/status/phase") == "Bound" {
        let (namespace, name) = claim.split_once('/').unwrap_or_default();
        if let Sought::Absent = look.get(&PersistentVolumeClaim::RESOURCE, namespace, name) {
            look.waits(it, format!("is bound to the claim {claim}, which does not exist any more"));
        }
    }
}

pub(super) fn class(look: &mut Look<'_>, it: &Thing) {
    let mode = it.text("/volumeBindingMode").to_owned();
    let provisioner = it.text("/provisioner").to_owned();
    let default = if it.text(DEFAULT_CLASS) == "true" { ", and is the default" } else { "" };
    look.note(it, format!("has the provisioner {provisioner}, binds {mode}{default}"));
}

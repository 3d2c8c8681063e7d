//! What is attached where: an exclusive volume to one node, and each for as long as a pod or the
//! node needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::fields::{at, controller, has_ended, is_ending, is_ready, list, node_of, text, uid};
use super::{Judged, Oracle, volumes};
use crate::attaching::{ATTACHER, MANAGED, OUT_OF_SERVICE};

/// The controller of attachments.
pub(super) const ACCOUNT: &str = "attachdetach-controller";
const ATTACHMENT: &str = "VolumeAttachment";
const CLAIM: &str = "PersistentVolumeClaim";
const VOLUME: &str = "PersistentVolume";
/// Upstream's `ReconcilerMaxWaitForUnmountDuration`.
const UNMOUNT_MAX: Duration = Duration::from_mins(6);

/// What is remembered.
#[derive(Default)]
pub(super) struct Attached {
    /// By the names of nodes.
    nodes: BTreeMap<String, Standing>,
    /// By node and claim: when a pod there last stopped to need it.
    left: BTreeMap<(String, String), (u64, Duration)>,
}

/// How a node is, as far as it matters here, and since when.
struct Standing {
    since: u64,
    /// What was in use, also when the node was deleted.
    in_use: BTreeSet<String>,
    is_ready: bool,
    is_out_of_service: bool,
    /// By volume: since when its status lists it as attached.
    listed: BTreeMap<String, u64>,
}

// === impl Attached ===

impl Attached {
    pub(super) fn learn_node(
        &mut self,
        before: Option<&Value>,
        after: Option<&Value>,
        revision: u64,
    ) {
        let Some(node) = after.or(before) else { return };
        let name = text(node, "/metadata/name").to_owned();
        let known = self.nodes.remove(&name);
        let is_there = after.is_some();
        let is_ready = is_there && is_ready(node);
        let is_out_of_service = is_there && is_out_of_service(node);
        let in_use = texts(node, "/status/volumesInUse");
        let is_same = known.as_ref().is_some_and(|known| {
            (known.is_ready, known.is_out_of_service, &known.in_use)
                == (is_ready, is_out_of_service, &in_use)
                && before.map(uid) == after.map(uid)
        });
        let since = known.as_ref().filter(|_| is_same).map_or(revision, |known| known.since);
        let mut listed = BTreeMap::new();
        for volume in listed_by(node).into_iter().filter(|_| is_there) {
            let known = known.as_ref().and_then(|known| known.listed.get(&volume));
            listed.insert(volume, known.copied().unwrap_or(revision));
        }
        let standing = Standing { since, in_use, is_ready, is_out_of_service, listed };
        self.nodes.insert(name, standing);
    }

    pub(super) fn learn_pod(
        &mut self,
        before: Option<&Value>,
        after: Option<&Value>,
        (revision, now): (u64, Duration),
    ) {
        let Some(before) = before.filter(|pod| !is_over(pod)) else { return };
        if after.is_some_and(|after| uid(after) == uid(before) && !is_over(after)) {
            return;
        }
        let node = node_of(before);
        for claim in claims_of(before) {
            self.left.insert((node.to_owned(), claim), (revision, now));
        }
    }
}

impl Oracle {
    /// An exclusive volume is attached to a second node when the first one has let go of it.
    pub(super) fn attached_twice(&self, it: &Judged<'_>) -> Option<String> {
        if it.account != ACCOUNT || it.method != "POST" || it.target.plural != "volumeattachments" {
            return None;
        }
        let source = text(it.got, "/spec/source/persistentVolumeName");
        let volume = self.objects.get(VOLUME, "", source)?;
        if is_shared(volume) || !self.knows(VOLUME, *self.born.get(uid(volume))?) {
            return None;
        }
        let is_other = |other: &&Arc<Value>| {
            let born = self.born.get(uid(other)).copied().unwrap_or(u64::MAX);
            uid(other) != uid(it.got)
                && text(other, "/spec/source/persistentVolumeName") == source
                && text(other, "/spec/nodeName") != text(it.got, "/spec/nodeName")
                && self.knows(ATTACHMENT, born)
        };
        let other = self.objects.of_kind(ATTACHMENT).find(is_other)?;
        let node = text(other, "/spec/nodeName");
        Some(format!("{it}: {source} is attached to {node}, or may be"))
    }

    /// Why an attachment is not to be made or deleted.
    pub(super) fn attaches_wrong(&self, it: &Judged<'_>) -> Option<&'static str> {
        match (it.method, it.target.plural.as_str()) {
            ("POST", "volumeattachments") => self.is_attached_for_nobody(it.got),
            ("DELETE", "volumeattachments") => self.stays_attached(it.before.as_deref()?, it.at),
            _ => None,
        }
    }

    fn is_attached_for_nobody(&self, attachment: &Value) -> Option<&'static str> {
        let source = text(attachment, "/spec/source/persistentVolumeName");
        let node = text(attachment, "/spec/nodeName");
        let volume = self.objects.get(VOLUME, "", source)?;
        let claim = claim_named(volume);
        let is_left = || {
            let left = self.attached.left.get(&(node.to_owned(), claim.clone()));
            left.is_some_and(|(revision, _)| !self.knows("Pod", *revision))
        };
        let is_needed = self.users_at(node, &claim).next().is_some() || is_left();
        (!is_needed).then_some("no pod on the node needs the volume")
    }

    /// Why a volume is not to be detached.
    fn stays_attached(&self, attachment: &Value, now: Duration) -> Option<&'static str> {
        let source = text(attachment, "/spec/source/persistentVolumeName");
        let node = text(attachment, "/spec/nodeName");
        let volume = self.objects.get(VOLUME, "", source)?;
        let claim = claim_named(volume);
        let knows_bound = |pod: &&Arc<Value>| {
            self.bound.get(uid(pod)).is_some_and(|bound| self.knows("Pod", *bound))
        };
        let is_used = self.is_certainly_bound(volume)
            && self.knows_driver()
            && self.users_at(node, &claim).any(|pod| knows_bound(&pod));
        if is_used {
            return Some("a pod on the node needs the volume");
        }
        let standing = self.attached.nodes.get(node)?;
        let name = name_of(volume);
        let listed = standing.listed.get(&name);
        if listed.is_some_and(|since| self.knows("Node", *since)) {
            return Some("the status of the node still lists the volume as attached");
        }
        let is_in_use = standing.in_use.contains(&name) && self.knows("Node", standing.since);
        if !is_in_use || standing.is_out_of_service {
            return None;
        }
        if standing.is_ready {
            return Some("the volume is in use, and the node is ready");
        }
        let left = self.attached.left.get(&(node.to_owned(), claim));
        let is_early = left.is_some_and(|(_, left)| now < *left + UNMOUNT_MAX);
        // It may have been detached for the driver's sake before the pod went.
        (is_early && self.knows_driver()).then_some("the node has six minutes to let go of it")
    }

    /// The claims of a pod, but for those of its ephemeral volumes that are not its own.
    fn claims_used<'a>(&'a self, pod: &'a Value) -> impl Iterator<Item = String> + 'a {
        let namespace = text(pod, "/metadata/namespace");
        let is_foreign = move |name: &str| {
            let claim = self.objects.get("PersistentVolumeClaim", namespace, name);
            claim.is_none_or(|claim| controller(claim) != Some(uid(pod)))
        };
        let foreign: Vec<String> = volumes::ephemeral(pod)
            .map(|(name, _)| name)
            .filter(|name| is_foreign(name))
            .map(|name| format!("{namespace}/{name}"))
            .collect();
        claims_of(pod).filter(move |claim| !foreign.contains(claim))
    }

    /// The pods of a node that need a claim.
    fn users_at<'a>(
        &'a self,
        node: &'a str,
        claim: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Value>> {
        let pods = self.objects.of_kind("Pod");
        pods.filter(move |pod| {
            node_of(pod) == node && !is_over(pod) && self.claims_used(pod).any(|it| it == claim)
        })
    }

    /// Whether the sync that decided knows the volume and its claim as they are, bound.
    fn is_certainly_bound(&self, volume: &Value) -> bool {
        let claim = self.claim_that_has(volume);
        claim.is_some_and(|claim| {
            self.knows(VOLUME, version(volume)) && self.knows(CLAIM, version(claim))
        })
    }

    /// The claim that is bound to a volume, and the volume to it.
    fn claim_that_has(&self, volume: &Value) -> Option<&Arc<Value>> {
        let part = |name: &str| text(volume, &format!("/spec/claimRef/{name}"));
        let claim = self.objects.get(CLAIM, part("namespace"), part("name"))?;
        let is_it = uid(claim) == part("uid")
            && text(claim, "/spec/volumeName") == text(volume, "/metadata/name")
            && text(claim, "/status/phase") == "Bound";
        is_it.then_some(claim)
    }

    /// Whether the driver says that its volumes must be attached, and the sync that decided knows.
    fn knows_driver(&self) -> bool {
        let last = self.changed.get("CSIDriver").copied().unwrap_or(0);
        self.needs_attaching() && self.knows("CSIDriver", last)
    }

    fn needs_attaching(&self) -> bool {
        let driver = self.objects.get("CSIDriver", "", ATTACHER);
        driver.is_none_or(|driver| *at(driver, "/spec/attachRequired") != false)
    }

    // === How it ends ===

    /// Whether a pod on a node that the manager attaches for needs a volume.
    fn is_wanted(&self, volume: &Value, node: &str) -> bool {
        let claim = claim_named(volume);
        self.needs_attaching()
            && self.claim_that_has(volume).is_some()
            && self.is_managed(node)
            && self.users_at(node, &claim).next().is_some()
    }

    fn is_managed(&self, node: &str) -> bool {
        let node = self.objects.get("Node", "", node);
        node.is_some_and(|node| at(node, "/metadata/annotations").get(MANAGED).is_some())
    }

    /// What an attachment must have become.
    pub(super) fn attachment_lacks(&self, attachment: &Value) -> Option<String> {
        if text(attachment, "/spec/attacher") != ATTACHER {
            return None;
        }
        let node = text(attachment, "/spec/nodeName");
        // Nobody knows any more which volume it is, as upstream
        // (`processVolumeAttachments` in attachdetach/attach_detach_controller.go).
        let source = text(attachment, "/spec/source/persistentVolumeName");
        let volume = self.objects.get(VOLUME, "", source)?;
        if *at(attachment, "/status/attached") != true {
            return Some("is not attached".to_owned());
        }
        let claim = claim_named(volume);
        // It may need it, for all that can be known.
        let may_be_needed = self.needs_attaching() && self.users_at(node, &claim).next().is_some();
        (!may_be_needed).then(|| format!("no pod on {node} needs {source}"))
    }

    /// What a pod with volumes must have: all are attached to its node, or exclusively to another.
    pub(super) fn pod_is_unattached(&self, pod: &Value) -> Option<String> {
        let node = node_of(pod);
        if is_over(pod) || !self.attaches {
            return None;
        }
        let claims: Vec<String> = self.claims_used(pod).collect();
        let lacks = |volume: &&Arc<Value>| {
            let source = text(volume, "/metadata/name");
            let mut attachments = self.objects.of_kind(ATTACHMENT);
            let has = |it: &Arc<Value>| {
                let is_here = text(it, "/spec/nodeName") == node;
                text(it, "/spec/source/persistentVolumeName") == source
                    && (is_here || !is_shared(volume))
            };
            text(volume, "/spec/csi/driver") == ATTACHER
                && claims.contains(&claim_named(volume))
                && self.is_wanted(volume, node)
                && !attachments.any(has)
        };
        let volume = self.objects.of_kind(VOLUME).find(lacks)?;
        Some(format!("its volume {} is not attached", text(volume, "/metadata/name")))
    }

    /// The status of a node lists what is attached to it.
    pub(super) fn node_lists_wrong(&self, node: &Value) -> Option<String> {
        if !self.attaches {
            return None;
        }
        let name = text(node, "/metadata/name");
        let attachments = self.objects.of_kind(ATTACHMENT).filter(|it| {
            text(it, "/spec/nodeName") == name && text(it, "/spec/attacher") == ATTACHER
        });
        let mut attached = BTreeSet::new();
        for attachment in attachments {
            let source = text(attachment, "/spec/source/persistentVolumeName");
            let volume = self.objects.get(VOLUME, "", source);
            attached.extend(volume.filter(|it| self.is_wanted(it, name)).map(|it| name_of(it)));
        }
        let listed = listed_by(node);
        let lacks: Vec<_> = attached.difference(&listed).collect();
        (!lacks.is_empty()).then(|| format!("does not list {lacks:?} as attached"))
    }

    /// What users put right of a node.
    pub(super) fn node_repairs(&self, node: &Value) -> Vec<String> {
        let name = text(node, "/metadata/name");
        let mut acts: Vec<_> = self.spare_repairs(node).into_iter().collect();
        if !self.attaches {
            return acts;
        }
        if !list(node, "/status/volumesInUse").is_empty() {
            let patch = r#"{"status":{"volumesInUse":null}}"#;
            acts.push(format!("> patch status nodes/{name} '{patch}'\n"));
        }
        if is_out_of_service(node) {
            acts.push(format!("> taint {name} {OUT_OF_SERVICE}-\n"));
        }
        acts
    }
}

/// The claim that a volume is kept for: namespace and name.
fn claim_named(volume: &Value) -> String {
    let part = |name: &str| text(volume, &format!("/spec/claimRef/{name}"));
    format!("{}/{}", part("namespace"), part("name"))
}

/// The claims of a pod, those of its ephemeral volumes too: namespace and name.
fn claims_of(pod: &Value) -> impl Iterator<Item = String> {
    let namespace = text(pod, "/metadata/namespace");
    let named = list(pod, "/spec/volumes")
        .iter()
        .map(|volume| text(volume, "/persistentVolumeClaim/claimName").to_owned());
    let names = named.chain(volumes::ephemeral(pod).map(|(name, _)| name));
    names.filter(|name| !name.is_empty()).map(move |name| format!("{namespace}/{name}"))
}

/// What nodes call a volume.
fn name_of(volume: &Value) -> String {
    let part = |name: &str| text(volume, &format!("/spec/csi/{name}"));
    format!("kubernetes.io/csi/{}^{}", part("driver"), part("volumeHandle"))
}

/// As `IsMultiAttachAllowed` in upstream's pkg/volume/util.
fn is_shared(volume: &Value) -> bool {
    let modes = list(volume, "/spec/accessModes");
    modes.iter().any(|mode| mode == "ReadWriteMany" || mode == "ReadOnlyMany")
}

/// As `IsPodTerminated` in upstream's pkg/volume/util: it has ended, or it is being deleted and
/// nothing of it runs.
fn is_over(pod: &Value) -> bool {
    let runs = |status: &Value| {
        let state = at(status, "/state");
        state.get("terminated").is_none() && state.get("waiting").is_none()
    };
    has_ended(pod) || is_ending(pod) && !list(pod, "/status/containerStatuses").iter().any(runs)
}

/// Whether people say that a node is off for good.
pub(super) fn is_out_of_service(node: &Value) -> bool {
    list(node, "/spec/taints").iter().any(|taint| text(taint, "/key") == OUT_OF_SERVICE)
}

fn listed_by(node: &Value) -> BTreeSet<String> {
    let listed = list(node, "/status/volumesAttached").iter();
    listed.map(|it| text(it, "/name").to_owned()).collect()
}

fn texts(object: &Value, path: &str) -> BTreeSet<String> {
    list(object, path).iter().filter_map(|it| Some(it.as_str()?.to_owned())).collect()
}

fn version(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or(u64::MAX)
}

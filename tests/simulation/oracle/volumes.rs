//! Claims for storage, volumes and their classes: one that is deleted stays for as long as it is
//! used. And the claims of pods that have volumes of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::fields::{at, controller, is_ending, list, text, uid};
use super::{Judged, Oracle, Written};

/// The controllers of volumes, of classes, and of the claims of pods.
pub(super) const OF_VOLUMES: &str = "pv-protection-controller";
pub(super) const OF_CLASSES: &str = "volumeattributesclass-protection-controller";
pub(super) const OF_PODS: &str = "ephemeral-volume-controller";
/// What may refer to a class.
const USERS: [&str; 2] = ["PersistentVolume", "PersistentVolumeClaim"];

/// By the uid of a volume or claim, and a class: since when it refers to that.
#[derive(Default)]
pub(super) struct Users(BTreeMap<(String, String), u64>);

// === impl Users ===

impl Users {
    /// An object has changed.
    pub(super) fn learn(
        &mut self,
        kind: &str,
        before: Option<&Value>,
        after: Option<&Value>,
        revision: u64,
    ) {
        if !USERS.contains(&kind) {
            return;
        }
        let key = |object: &Value, class: &str| (uid(object).to_owned(), class.to_owned());
        if let Some(before) = before {
            let is = after.map(classes_of).unwrap_or_default();
            for class in classes_of(before).difference(&is) {
                self.0.remove(&key(before, class));
            }
        }
        if let Some(after) = after {
            for class in classes_of(after) {
                self.0.entry(key(after, class)).or_insert(revision);
            }
        }
    }
}

impl Oracle {
    /// Why a claim is not to be let go: a pod was on a node with it before it was deleted, and is
    /// there still. Kubelets start none later.
    pub(super) fn claim_is_used(&self, claim: &Value, it: &Written<'_>) -> Option<&'static str> {
        if !is_protected("PersistentVolumeClaim", claim)
            || is_protected("PersistentVolumeClaim", it.sent)
        {
            return None;
        }
        let Some(since) = self.dying_since(claim).filter(|_| is_ending(claim)) else {
            return Some("it is not being deleted");
        };
        let is_user = |pod: &Arc<Value>| {
            uses(pod, claim) && self.bound.get(uid(pod)).is_some_and(|bound| *bound <= since)
        };
        self.objects.of_kind("Pod").any(is_user).then_some("a pod uses it")
    }

    /// Why a volume is not to be let go. The version that it was decided on is this one.
    pub(super) fn volume_is_bound(volume: &Value, it: &Written<'_>) -> Option<&'static str> {
        if !is_protected("PersistentVolume", volume) || is_protected("PersistentVolume", it.sent) {
            return None;
        }
        if !is_ending(volume) {
            return Some("it is not being deleted");
        }
        is_bound(volume).then_some("it is bound")
    }

    /// Why a class is not to be let go: something refers to it, and that was shown.
    pub(super) fn class_is_used(&self, class: &Value, it: &Written<'_>) -> Option<&'static str> {
        let kind = "VolumeAttributesClass";
        if !is_protected(kind, class) || is_protected(kind, it.sent) {
            return None;
        }
        if !is_ending(class) {
            return Some("it is not being deleted");
        }
        let name = text(class, "/metadata/name");
        let is_known = |kind: &str, user: &Value| {
            let since = self.users.0.get(&(uid(user).to_owned(), name.to_owned()));
            since.is_some_and(|since| self.knows(kind, *since))
        };
        let is_user = |kind: &&str| self.objects.of_kind(kind).any(|object| is_known(kind, object));
        USERS.iter().any(is_user).then_some("something refers to it")
    }

    /// Why the controller of ephemeral volumes does more than make the claims of a pod.
    pub(super) fn is_no_claim_of_a_pod(&self, it: &Judged<'_>) -> Option<&'static str> {
        if it.method != "POST" || it.target.plural != "persistentvolumeclaims" {
            return Some("it makes claims alone");
        }
        let owner = controller(it.got).unwrap_or_default();
        if !self.born.contains_key(owner) {
            return Some("no pod owns it");
        }
        // A pod that is there no more cannot be asked.
        let (_, pod) = self.objects.find(owner)?;
        let name = text(it.got, "/metadata/name");
        let mut volumes = ephemeral(pod);
        let Some((_, template)) = volumes.find(|(claim, _)| claim == name) else {
            return Some("the pod has no such volume");
        };
        let is_it = at(template, "/metadata/labels") == at(it.got, "/metadata/labels")
            && at(template, "/spec/resources") == at(it.got, "/spec/resources");
        (!is_it).then_some("it is not as its template")
    }

    /// A pod on a node that uses a claim.
    pub(super) fn user_of(&self, claim: &Value) -> Option<&Arc<Value>> {
        self.objects.of_kind("Pod").find(|pod| uses(pod, claim))
    }

    /// Whether something that is being deleted may stay, since it is used.
    pub(super) fn is_kept(&self, kind: &str, object: &Value) -> bool {
        let refers = |kind: &&str| {
            let name = text(object, "/metadata/name");
            self.objects.of_kind(kind).any(|user| classes_of(user).contains(name))
        };
        match kind {
            "PersistentVolumeClaim" => self.user_of(object).is_some(),
            "PersistentVolume" => is_bound(object),
            "ResourceClaim" => self.claim_is_reserved(object),
            "PodGroup" => self.group_is_kept(object),
            "VolumeAttributesClass" => USERS.iter().any(refers),
            "ServiceCIDR" => self.keeps_range(object),
            _ => false,
        }
    }

    /// What a pod with volumes of its own must have, unless somebody else's claims are in the way.
    pub(super) fn own_claims_lack(&self, pod: &Value) -> Option<String> {
        let namespace = text(pod, "/metadata/namespace");
        let is_there =
            |name: &str| self.objects.get("PersistentVolumeClaim", namespace, name).is_some();
        // Those behind one that is in the way wait, too.
        let mut claims = ephemeral(pod).map(|(name, _)| name).take_while(|name| {
            let claim = self.objects.get("PersistentVolumeClaim", namespace, name);
            claim.is_none_or(|claim| controller(claim) == Some(uid(pod)))
        });
        let missing = claims.find(|name| !is_there(name))?;
        Some(format!("has no claim {missing}"))
    }
}

/// What something that is not being deleted must have.
pub(super) fn protection_lacks(kind: &str, object: &Value) -> Option<String> {
    (!is_protected(kind, object)).then(|| "is not protected".to_owned())
}

fn is_protected(kind: &str, object: &Value) -> bool {
    let protection = match kind {
        "PersistentVolume" => "kubernetes.io/pv-protection",
        "VolumeAttributesClass" => "kubernetes.io/vac-protection",
        _ => "kubernetes.io/pvc-protection",
    };
    list(object, "/metadata/finalizers").iter().any(|it| it == protection)
}

fn is_bound(volume: &Value) -> bool {
    text(volume, "/status/phase") == "Bound"
}

/// The classes that a volume or a claim refers to.
fn classes_of(object: &Value) -> BTreeSet<&str> {
    let fields = [
        "/spec/volumeAttributesClassName",
        "/status/currentVolumeAttributesClassName",
        "/status/modifyVolumeStatus/targetVolumeAttributesClassName",
    ];
    fields.into_iter().map(|field| text(object, field)).filter(|name| !name.is_empty()).collect()
}

/// The ephemeral volumes of a pod: the name of the claim of each, and its template.
pub(super) fn ephemeral(pod: &Value) -> impl Iterator<Item = (String, &Value)> {
    let name = text(pod, "/metadata/name");
    list(pod, "/spec/volumes").iter().filter_map(move |volume| {
        let template = at(volume, "/ephemeral/volumeClaimTemplate");
        let claim = format!("{name}-{}", text(volume, "/name"));
        (!template.is_null()).then_some((claim, template))
    })
}

fn uses(pod: &Value, claim: &Value) -> bool {
    let name = text(claim, "/metadata/name");
    let names = |volume: &Value| text(volume, "/persistentVolumeClaim/claimName") == name;
    // With no more grace the kubelet is done with it: as `podIsShutDown` in pvc-protection.
    let is_shut_down = is_ending(pod) && *at(pod, "/metadata/deletionGracePeriodSeconds") == 0;
    let is_its_own = || {
        controller(claim) == Some(uid(pod))
            && !is_shut_down
            && ephemeral(pod).any(|(claim, _)| claim == name)
    };
    text(pod, "/metadata/namespace") == text(claim, "/metadata/namespace")
        && !text(pod, "/spec/nodeName").is_empty()
        && (list(pod, "/spec/volumes").iter().any(names) || is_its_own())
}

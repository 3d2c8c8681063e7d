//! What is bound: claims to volumes, each to one. And which claims grow.

use std::sync::Arc;

use serde_json::Value;

use super::fields::{at, is_ending, list, text, uid};
use super::{Judged, Oracle};

/// The controller of claims and volumes, and that of their size.
pub(super) const ACCOUNT: &str = "persistent-volume-binder";
pub(super) const OF_SIZES: &str = "expand-controller";
const RESIZER: &str = "volume.kubernetes.io~1storage-resizer";
const COMPLETED: &str = "/metadata/annotations/pv.kubernetes.io~1bind-completed";
const DEFAULT: &str = "/metadata/annotations/storageclass.kubernetes.io~1is-default-class";
const CLAIM: &str = "PersistentVolumeClaim";
const VOLUME: &str = "PersistentVolume";

impl Oracle {
    /// Why the binder is not to write that.
    pub(super) fn binds_wrong(&self, before: &Value, it: &Judged<'_>) -> Option<&'static str> {
        match it.target.plural.as_str() {
            "persistentvolumes" if it.method == "PUT" => self.volume_goes_wrong(before, it),
            "persistentvolumeclaims" if it.method == "PUT" => self.claim_goes_wrong(before, it),
            _ => None,
        }
    }

    /// A live read said that there is no claim of that uid, or that it has another volume: neither
    /// becomes untrue.
    fn volume_goes_wrong(&self, before: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let is_over =
            |volume: &Value| ["Released", "Failed"].contains(&text(volume, "/status/phase"));
        let needs_it = self.claim_of(before).is_some_and(|claim| {
            let volume = text(claim, "/spec/volumeName");
            volume.is_empty() || volume == it.target.name
        });
        let was = text(before, "/spec/claimRef/uid");
        let is = text(it.got, "/spec/claimRef/uid");
        if needs_it && !was.is_empty() && is != was {
            return Some("the volume is taken from a claim that has no other one");
        }
        (needs_it && is_over(it.got) && !is_over(before))
            .then_some("the volume is released, and its claim is there")
    }

    /// The claim is given a volume that it did not ask for and that is no one else's.
    fn claim_goes_wrong(&self, before: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let (was, is) = (text(before, "/spec/volumeName"), text(it.got, "/spec/volumeName"));
        if !was.is_empty() && was != is {
            return Some("the claim gets another volume");
        }
        let volume = self.objects.get(VOLUME, "", is).filter(|_| was != is)?;
        let owner = text(volume, "/spec/claimRef/uid");
        // Users may have given it to another one meanwhile.
        let is_known = self.knows(VOLUME, version(volume));
        (is_known && owner != uid(before)).then_some("the claim gets a volume of another claim")
    }

    /// Why a claim does not get a resizer: a live read of the volume said whose it is.
    pub(super) fn grows_wrong(&self, claim: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let resizer = format!("/metadata/annotations/{RESIZER}");
        if at(claim, &resizer) == at(it.got, &resizer) {
            return Some("it names resizers alone");
        }
        let volume = self.objects.get(VOLUME, "", text(claim, "/spec/volumeName"))?;
        let is_known = self.knows(VOLUME, version(volume));
        (is_known && text(volume, "/spec/claimRef/uid") != uid(claim))
            .then_some("the volume is bound to another claim")
    }

    /// What a claim must have become, where the manager binds.
    pub(super) fn claim_is_unbound(&self, claim: &Value) -> Option<String> {
        if !self.binds {
            return None;
        }
        let phase = text(claim, "/status/phase");
        let name = text(claim, "/spec/volumeName");
        let is_completed = !at(claim, COMPLETED).is_null();
        let volume = self.objects.get(VOLUME, "", name);
        if name.is_empty() && !is_completed {
            return self.waits_in_vain(claim);
        }
        let is_bound = |volume: &Value| {
            text(volume, "/spec/claimRef/uid") == uid(claim)
                || is_completed && is_free(volume)
                || !is_completed && is_kept_for(claim, volume)
                || !is_completed && is_free(volume) && fits(claim, volume)
        };
        let wanted = match volume {
            Some(volume) if is_bound(volume) => "Bound",
            _ if is_completed => "Lost",
            _ => "Pending",
        };
        (phase != wanted).then(|| format!("is {phase:?} and should be {wanted}, volume {name}"))
    }

    /// Whether a claim that asks for no volume could have one.
    fn waits_in_vain(&self, claim: &Value) -> Option<String> {
        let class = at(claim, "/spec/storageClassName");
        let mut classes = self.objects.of_kind("StorageClass");
        if class.is_null() && classes.any(|class| *at(class, DEFAULT) == "true") {
            return Some("has not got the default class".to_owned());
        }
        if class == crate::binding::FAST {
            return Some("no volume was made for it".to_owned());
        }
        let free = self.objects.of_kind(VOLUME).find(|volume| {
            let is_available = text(volume, "/status/phase") == "Available";
            (is_free(volume) && is_available || is_kept_for(claim, volume)) && fits(claim, volume)
        });
        if let Some(free) = free {
            return Some(format!("volume {} fits", text(free, "/metadata/name")));
        }
        let phase = text(claim, "/status/phase");
        (phase != "Pending").then(|| format!("is {phase:?} without a volume"))
    }

    /// What a volume must have become, where the manager binds.
    pub(super) fn volume_is_unsettled(&self, volume: &Value) -> Option<String> {
        if !self.binds {
            return None;
        }
        let (phase, name) = (text(volume, "/status/phase"), text(volume, "/metadata/name"));
        let wanted: &[&str] = match self.claim_of(volume) {
            _ if text(volume, "/spec/claimRef/uid").is_empty() => &["Available"],
            None => &["Released", "Failed"],
            Some(claim) if text(claim, "/spec/volumeName") == name => &["Bound"],
            // It is about to be bound to it, or has another one.
            Some(_) => &[],
        };
        (!wanted.contains(&phase)).then(|| format!("is {phase:?} and should be {wanted:?}"))
    }

    /// The claim that a volume is bound to, by uid.
    fn claim_of(&self, volume: &Value) -> Option<&Arc<Value>> {
        let part = |name: &str| text(volume, &format!("/spec/claimRef/{name}"));
        let claim = self.objects.get(CLAIM, part("namespace"), part("name"))?;
        (uid(claim) == part("uid")).then_some(claim)
    }
}

fn is_free(volume: &Value) -> bool {
    at(volume, "/spec/claimRef").is_null()
}

/// Whether somebody keeps a volume for a claim, or for one of its name.
fn is_kept_for(claim: &Value, volume: &Value) -> bool {
    let of = |part: &str| text(volume, &format!("/spec/claimRef/{part}"));
    of("name") == text(claim, "/metadata/name")
        && of("namespace") == text(claim, "/metadata/namespace")
        && (of("uid").is_empty() || of("uid") == uid(claim))
}

/// Whether a volume is what a claim asks for. One that is kept for it may be of another class.
fn fits(claim: &Value, volume: &Value) -> bool {
    let size = |object: &Value, path: &str| {
        let size = text(object, path).trim_end_matches("Gi").parse::<u32>();
        size.unwrap_or_default()
    };
    let is_same = |field: &str| text(volume, field) == text(claim, field);
    let modes = list(volume, "/spec/accessModes");
    !is_ending(volume)
        && size(volume, "/spec/capacity/storage") >= size(claim, "/spec/resources/requests/storage")
        && is_same("/spec/volumeAttributesClassName")
        && (is_kept_for(claim, volume) || is_same("/spec/storageClassName"))
        && list(claim, "/spec/accessModes").iter().all(|mode| modes.contains(mode))
}

fn version(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or(u64::MAX)
}

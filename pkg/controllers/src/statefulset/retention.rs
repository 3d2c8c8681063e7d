//! Who owns a claim, so that it is deleted when the retention policy says so. From upstream's
//! `stateful_set_utils.go` (`isClaimOwnerUpToDate`, `updateClaimOwnerRefForSetAndPod`), KEP-1847.
//!
//! | when scaled | when deleted | the set owns it | the pod owns it |
//! |---|---|---|---|
//! | Retain | Retain | no | no |
//! | Retain | Delete | yes | no |
//! | Delete | Retain | no | once the set has no place for the pod |
//! | Delete | Delete | until then | once the set has no place for the pod |
//!
//! A claim that names an owner of the same name and another uid is of an earlier set or pod, and
//! the garbage collector's. It is left alone, and so is one that somebody else manages.

use api::{
    Edit, Kind, Meta, OwnerRef, PersistentVolumeClaim, Pod, Resource, Retention, StatefulSet,
};
use controller::controller_ref;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ordinal;

/// A set and one of its pods, which may not be made yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Couple<'a> {
    pub(super) set: &'a StatefulSet,
    pub(super) ordinal: i32,
    /// The name of the pod.
    pub(super) name: &'a str,
    /// The pod; none: it is not made yet.
    pub(super) pod: Option<&'a Meta>,
}

/// Who should own a claim.
struct Owners {
    set: bool,
    pod: bool,
}

impl Couple<'_> {
    /// Whether the owners of a claim are as the policy says. As `isClaimOwnerUpToDate`.
    pub(super) fn is_up_to_date(&self, claim: &Meta) -> bool {
        let has_set = claim.owners.iter().any(|owner| owner.uid == self.set.meta.uid);
        let has_pod = claim.owners.iter().any(|owner| self.is_pod(owner));
        if self.is_stale(claim, &StatefulSet::RESOURCE) || self.is_stale(claim, &Pod::RESOURCE) {
            return true;
        }
        if self.has_other_manager(claim) {
            return !has_set && !has_pod;
        }
        let is_ours = |owner: &&OwnerRef| owner.uid == self.set.meta.uid || self.is_pod(owner);
        if claim.owners.iter().filter(is_ours).any(|owner| !owner.controller) {
            return false;
        }
        let wanted = self.wanted();
        wanted.set == has_set && wanted.pod == has_pod
    }

    /// What makes them so. As `updateClaimOwnerRefForSetAndPod`.
    pub(super) fn update(&self, claim: &PersistentVolumeClaim) -> Edit {
        let known = claim.raw.metadata_field("ownerReferences").map_or("[]", RawValue::get);
        let known: Vec<Value> = serde_json::from_str(known).unwrap_or_default();
        let owners = known.into_iter().zip(claim.meta.owners.iter());
        let is_other = |owner: &OwnerRef| {
            !self.names(owner, &StatefulSet::RESOURCE) && !self.names(owner, &Pod::RESOURCE)
        };
        let mut kept: Vec<Value> =
            owners.filter(|(_, owner)| is_other(owner)).map(|(raw, _)| raw).collect();
        if !self.has_other_manager(&claim.meta) {
            let wanted = self.wanted();
            let pod = self.pod.filter(|_| wanted.pod).map(|pod| (Pod::RESOURCE, pod));
            let set = wanted.set.then_some((StatefulSet::RESOURCE, &self.set.meta));
            let added = pod.into_iter().chain(set);
            kept.extend(added.map(|(resource, meta)| json!(controller_ref(&resource, meta))));
        }
        let value = if kept.is_empty() { Value::Null } else { kept.into() };
        Edit::new(["metadata", "ownerReferences"], value)
    }

    /// Whether somebody else manages the claim although there is a policy. As
    /// `hasUnexpectedController`.
    pub(super) fn has_other_manager(&self, claim: &Meta) -> bool {
        if self.retains_all() {
            return false;
        }
        claim.owners.iter().any(|owner| {
            if self.names(owner, &StatefulSet::RESOURCE) {
                owner.uid != self.set.meta.uid
            } else if self.names(owner, &Pod::RESOURCE) {
                !self.is_pod(owner)
            } else {
                owner.controller
            }
        })
    }

    /// Whether the pod must not be made, since the claim is of an earlier one and will be deleted.
    /// As `PodClaimIsStale`.
    pub(super) fn is_blocked_by(&self, claim: &Meta) -> bool {
        match self.set.retention.when_scaled {
            Retention::Retain => false,
            Retention::Delete => self.is_stale(claim, &Pod::RESOURCE),
        }
    }

    /// As `hasStaleOwnerRef`: what the first owner of the name is decides.
    fn is_stale(&self, claim: &Meta, resource: &Resource) -> bool {
        let named = claim.owners.iter().find(|owner| self.names(owner, resource));
        named.is_some_and(|owner| self.uid(resource).is_none_or(|uid| *owner.uid != *uid))
    }

    fn uid(&self, resource: &Resource) -> Option<&str> {
        if *resource == StatefulSet::RESOURCE {
            Some(&self.set.meta.uid)
        } else {
            self.pod.map(|pod| &*pod.uid)
        }
    }

    /// As `matchesRef`.
    fn names(&self, owner: &OwnerRef, resource: &Resource) -> bool {
        let name =
            if *resource == StatefulSet::RESOURCE { &*self.set.meta.key.name } else { self.name };
        *owner.kind == *resource.kind
            && *owner.name == *name
            && *owner.api_version == *resource.api_version()
    }

    fn is_pod(&self, owner: &OwnerRef) -> bool {
        self.pod.is_some_and(|pod| pod.uid == owner.uid)
    }

    fn retains_all(&self) -> bool {
        let policy = self.set.retention;
        (policy.when_scaled, policy.when_deleted) == (Retention::Retain, Retention::Retain)
    }

    fn wanted(&self) -> Owners {
        let policy = self.set.retention;
        let has_place = ordinal::is_in_range(self.set, self.ordinal);
        let (set, pod) = match (policy.when_scaled, policy.when_deleted) {
            (Retention::Retain, Retention::Retain) => (false, false),
            (Retention::Retain, Retention::Delete) => (true, false),
            (Retention::Delete, Retention::Retain) => (false, !has_place),
            (Retention::Delete, Retention::Delete) => (has_place, !has_place),
        };
        Owners { set, pod }
    }
}

//! What objects use. As `Usage` of the evaluators in upstream's `pkg/quota/v1/evaluator/core`.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{PersistentVolumeClaim, Pod, PodResources, ResourceClaim, Text, Time};
use apimachinery::Quantity;
use mutant::Mutant;

use super::decide::PodLevel;
use super::measures::{Measure, implicit};
use super::scopes;
use super::snapshot::Snapshot;

/// The objects of a snapshot that are in the scopes of its quota.
pub(super) struct Usage<'a> {
    snapshot: &'a Snapshot,
    level: PodLevel,
    pods: Vec<&'a Pod>,
    claims: Vec<&'a PersistentVolumeClaim>,
    /// All pods, by name.
    by_name: BTreeMap<&'a str, &'a Pod>,
}

/// Objects of a kind are not listed yet, or cannot be.
pub(super) struct Unlisted;

/// The resources of a pod that count.
pub(super) fn resources(pod: &Pod, level: PodLevel) -> &PodResources {
    match (&pod.quota.of_containers, level) {
        (Some(of_containers), PodLevel::Skipped) => of_containers,
        (Some(_), PodLevel::Counts) | (None, _) => &pod.quota.resources,
    }
}

impl<'a> Usage<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, level: PodLevel) -> Self {
        let scopes = &snapshot.quota.scopes;
        let all = || snapshot.pods.iter().map(|pod| &**pod);
        Self {
            snapshot,
            level,
            pods: scopes::pods(scopes, all()).collect(),
            claims: scopes::claims(scopes, snapshot.claims.iter().map(|it| &**it)).collect(),
            by_name: all().map(|pod| (&*pod.meta.key.name, pod)).collect(),
        }
    }

    /// How much of it there is, under this name.
    pub(super) fn of(&self, name: &str, measure: &Measure) -> Result<Quantity, Unlisted> {
        Ok(match measure {
            Measure::StoredPods => count(self.pods.len()),
            Measure::ChargedPods => count(self.charged().count()),
            Measure::Requests(resource) => {
                sum(self.charged().filter_map(|it| self.resources(it).requests.get(resource)))
            }
            Measure::Limits(resource) => {
                sum(self.charged().filter_map(|it| self.resources(it).limits.get(resource)))
            }
            Measure::Services => self.unscoped(self.snapshot.services.len()),
            Measure::NodePorts => self.unscoped_sum(
                self.snapshot.services.iter().map(|it| Quantity::of(it.node_ports.into())),
            ),
            Measure::LoadBalancers => {
                let services = self.snapshot.services.iter();
                self.unscoped(services.filter(|it| it.is_load_balancer).count())
            }
            Measure::Claims(class) => count(self.of_class(class.as_ref()).count()),
            Measure::Storage(class) => {
                sum(self.of_class(class.as_ref()).filter_map(|claim| claim.storage))
            }
            Measure::ResourceClaims => self.unscoped(self.resource_claims()?.len()),
            Measure::Devices(class) => {
                let claims = self.resource_claims()?.iter();
                self.unscoped_sum(claims.filter_map(|claim| devices(claim, class)))
            }
            Measure::ExtendedDevices(resource) => {
                let claims = self.resource_claims()?.iter();
                self.unscoped_sum(claims.filter_map(|claim| self.extended(claim, resource)))
            }
            Measure::Objects(_) => {
                let counted = self.snapshot.counts.get(name).copied().flatten();
                self.unscoped(counted.ok_or(Unlisted)?)
            }
        })
    }

    /// When the next pod is no longer charged without an event.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.charged().filter_map(|pod| pod.quota.grace_ends).min()
    }

    /// The pods of which more counts than that they are stored.
    fn charged(&self) -> impl Iterator<Item = &'a Pod> {
        let is_charged =
            |pod: &Pod| pod.is_charged(self.snapshot.now) || mutant::is(Mutant::EndedCharged);
        self.pods.iter().copied().filter(move |pod| is_charged(pod))
    }

    fn resources(&self, pod: &'a Pod) -> &'a PodResources {
        resources(pod, self.level)
    }

    /// The volume claims of a StorageClass; none: all.
    fn of_class(&self, class: Option<&Text>) -> impl Iterator<Item = &'a PersistentVolumeClaim> {
        let is_of =
            move |it: &&PersistentVolumeClaim| class.is_none() || it.class.as_ref() == class;
        self.claims.iter().copied().filter(is_of)
    }

    fn resource_claims(&self) -> Result<&'a [Arc<ResourceClaim>], Unlisted> {
        self.snapshot.resource_claims.as_deref().ok_or(Unlisted)
    }

    /// The count of a kind that is in no scope.
    fn unscoped(&self, objects: usize) -> Quantity {
        if self.snapshot.quota.scopes.is_empty() { count(objects) } else { Quantity::ZERO }
    }

    fn unscoped_sum(&self, amounts: impl Iterator<Item = Quantity>) -> Quantity {
        if self.snapshot.quota.scopes.is_empty() { sum(amounts) } else { Quantity::ZERO }
    }

    /// What a claim may get of the devices that are this extended resource, without what is charged
    /// for its pod. As `addExtendedResourceQuota`.
    fn extended(&self, claim: &ResourceClaim, resource: &str) -> Option<Quantity> {
        let is_it = |class: &Text| {
            implicit(class) == resource
                || self.snapshot.extended.get(class).is_some_and(|it| **it == *resource)
        };
        // Upstream takes any of several classes that are the same extended resource.
        let most = claim.devices.iter().filter(|(class, _)| is_it(class)).map(|(_, it)| *it).max();
        let pod = self.pod_of(claim).filter(|pod| pod.is_charged(self.snapshot.now));
        let charged = pod.and_then(|pod| self.resources(pod).requests.get(resource));
        let rest = Quantity::of(most?).minus(charged.unwrap_or_default());
        (rest > Quantity::ZERO).then_some(rest)
    }

    /// The pod whose extended resources a claim stands for. As `getVerifiedPodUsage`.
    fn pod_of(&self, claim: &ResourceClaim) -> Option<&'a Pod> {
        let uid = claim.extended_for.as_ref()?;
        let pod = *self.by_name.get(&*claim.meta.controller()?.name)?;
        let is_its = if let Some(name) = &pod.quota.extended_claim {
            *name == claim.meta.key.name
        } else {
            // The first one counts until the pod says which one is.
            let age = |it: &ResourceClaim| (it.meta.creation_timestamp, it.meta.key.name.clone());
            let all = self.snapshot.resource_claims.iter().flatten();
            let mut others = all.filter(|other| other.extended_for.as_ref() == Some(uid));
            others.all(|other| age(other) >= age(claim))
        };
        (pod.meta.uid == *uid && is_its).then_some(pod)
    }
}

fn devices(claim: &ResourceClaim, class: &Text) -> Option<Quantity> {
    let at = claim.devices.binary_search_by(|(known, _)| known.cmp(class)).ok()?;
    claim.devices.get(at).map(|(_, count)| Quantity::of(*count))
}

fn count(objects: usize) -> Quantity {
    Quantity::of(i64::try_from(objects).unwrap_or(i64::MAX))
}

/// As upstream's, it prints as the first amount does that is not zero.
fn sum(amounts: impl Iterator<Item = Quantity>) -> Quantity {
    amounts.fold(Quantity::ZERO, Quantity::plus)
}

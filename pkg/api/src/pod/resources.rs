//! What a pod asks for, and may use at most. As `PodRequests` and `PodLimits` of
//! component-helpers/resource, which look at the status of containers that are resized.

use std::collections::BTreeMap;

use super::{WireContainer, WireContainerStatus, WirePod, WireSpec};
use crate::resource_list::{Amounts, add, amounts, raise};
use crate::wire::{ResourceRequirements, WireQuantity};
use crate::{ResourceList, Text, intern};

/// Whether it counts what a pod asks for as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PodLevel {
    Counts,
    Skipped,
}

/// The requests or the limits.
type Side = fn(&ResourceRequirements) -> &BTreeMap<String, WireQuantity>;

/// The resources of a container as it runs; none: as its spec says.
type Effective = fn(&WirePod, &WireContainer) -> Option<Amounts>;

pub(super) fn requests(pod: &WirePod, level: PodLevel) -> Amounts {
    let mut sum = of_containers(pod, |it| &it.requests, effective_requests);
    if let Some(whole) = &pod.spec.resources
        && level == PodLevel::Counts
    {
        override_with(&mut sum, &whole.requests);
    }
    add(&mut sum, &amounts(&pod.spec.overhead));
    sum
}

pub(super) fn limits(pod: &WirePod, level: PodLevel) -> Amounts {
    let mut sum = of_containers(pod, |it| &it.limits, effective_limits);
    if let Some(whole) = &pod.spec.resources
        && level == PodLevel::Counts
    {
        override_with(&mut sum, &whole.limits);
    }
    // What has no limit gets none.
    let mut overhead = amounts(&pod.spec.overhead);
    overhead.retain(|name, _| sum.get(name).is_some_and(|limit| !limit.is_zero()));
    add(&mut sum, &overhead);
    sum
}

/// What each container that runs for good asks for.
pub(super) fn each_container(spec: &WireSpec) -> Box<[(Text, ResourceList)]> {
    let sidecars = spec.init_containers.iter().filter(|it| it.restart_policy == "Always");
    let requests = |it: &WireContainer| {
        let requests = it.resources.as_ref().map(|it| amounts(&it.requests));
        (intern(&it.name), requests.unwrap_or_default().into())
    };
    spec.containers.iter().chain(sidecars).map(requests).collect()
}

/// What a pod asks for that asks for something as a whole, whatever its status says.
pub(super) fn whole(pod: &WirePod) -> Option<Amounts> {
    let whole = pod.spec.resources.as_ref()?;
    if !whole.requests.keys().any(|name| may_be_whole(name)) {
        return None;
    }
    let mut sum = of_containers(pod, |it| &it.requests, |_, _| None);
    override_with(&mut sum, &whole.requests);
    add(&mut sum, &amounts(&pod.spec.overhead));
    Some(sum)
}

/// Whether they ask for processors or memory.
pub(super) fn asks(resources: &ResourceRequirements) -> bool {
    let all = resources.requests.iter().chain(&resources.limits);
    let mut all = all.filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory"));
    all.any(|(_, amount)| amount.view() > apimachinery::Quantity::ZERO)
}

/// What all containers need together, or one that runs before them, if that is more. Sidecars run
/// beside all that come later. As `AggregateContainerRequests` and `AggregateContainerLimits`.
fn of_containers(pod: &WirePod, side: Side, effective: Effective) -> Amounts {
    let written =
        |it: &WireContainer| it.resources.as_ref().map(|it| amounts(side(it))).unwrap_or_default();
    let mut sum = Amounts::new();
    for container in &pod.spec.containers {
        add(&mut sum, &effective(pod, container).unwrap_or_else(|| written(container)));
    }
    let (mut sidecars, mut first) = (Amounts::new(), Amounts::new());
    for container in &pod.spec.init_containers {
        if container.restart_policy == "Always" {
            let amounts = effective(pod, container).unwrap_or_else(|| written(container));
            add(&mut sum, &amounts);
            add(&mut sidecars, &amounts);
            raise(&mut first, &sidecars);
        } else {
            let mut amounts = written(container);
            add(&mut amounts, &sidecars);
            raise(&mut first, &amounts);
        }
    }
    raise(&mut sum, &first);
    sum
}

/// As `determineEffectiveRequests`.
fn effective_requests(pod: &WirePod, container: &WireContainer) -> Option<Amounts> {
    let status = pod.status_of(container)?;
    let mut most = amounts(&status.resources.as_ref()?.requests);
    raise(&mut most, &amounts(&status.allocated_resources));
    Some(with_spec(pod, container, |it| &it.requests, most))
}

/// As `determineEffectiveLimits`.
fn effective_limits(pod: &WirePod, container: &WireContainer) -> Option<Amounts> {
    let most = amounts(&pod.status_of(container)?.resources.as_ref()?.limits);
    Some(with_spec(pod, container, |it| &it.limits, most))
}

/// What is asked for counts too, unless the node has said that it can never have it.
fn with_spec(pod: &WirePod, container: &WireContainer, side: Side, most: Amounts) -> Amounts {
    let pending = pod.status.find("PodResizePending");
    if pending.is_some_and(|condition| condition.reason == b"Infeasible") {
        return most;
    }
    let mut all = container.resources.as_ref().map(|it| amounts(side(it))).unwrap_or_default();
    raise(&mut all, &most);
    all
}

/// As `IsSupportedPodLevelResource`.
fn may_be_whole(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// What a pod asks for as a whole, of the kinds of which it may.
fn override_with(sum: &mut Amounts, whole: &BTreeMap<String, WireQuantity>) {
    let mut whole = amounts(whole);
    whole.retain(|name, _| may_be_whole(name));
    sum.extend(whole);
}

impl WirePod {
    /// The last one of its name counts.
    fn status_of(&self, container: &WireContainer) -> Option<&WireContainerStatus> {
        let status = &self.status;
        let all = status.container_statuses.iter().chain(&status.init_container_statuses);
        all.rev().find(|status| status.name == container.name)
    }
}

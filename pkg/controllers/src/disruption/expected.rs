//! How many pods there should be, and how many of them must be healthy. As `getExpectedPodCount` in
//! upstream's `pkg/controller/disruption/disruption.go`.

use std::collections::BTreeMap;

use api::{Amount, Key, OwnerRef, Pod, Resource, Rounding, Served, Text};
use controller::{Facts, Query};
use mutant::Mutant;
use serde_json::Value;

use super::managers::Manager;
use super::snapshot::Snapshot;

/// What is expected of the pods of a budget.
pub(super) struct Expected<'a> {
    /// How many there should be.
    pub(super) pods: i32,
    /// How many must be healthy.
    pub(super) healthy: i32,
    /// Those that nothing manages, which count for nothing where the sizes of workloads count.
    pub(super) unmanaged: Vec<&'a Pod>,
}

/// Why it is not known what is expected.
pub(super) enum Unknown {
    /// This must be read first.
    Unread(Vec<Query>),
    /// It cannot be known.
    Failed(Failure),
}

/// Why it cannot be known.
pub(super) struct Failure {
    /// The error.
    pub(super) error: String,
    /// Whether it is another time.
    pub(super) lasts: Lasts,
}

/// How long an error lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasts {
    /// Until somebody changes something.
    UntilChanged,
    /// Perhaps a moment: something could not be read.
    Perhaps,
}

/// What a live read says of the size of something.
enum Size {
    /// It asks for so many pods.
    Is(i32),
    /// There is no such object.
    Missing,
}

pub(super) fn expected<'a>(s: &'a Snapshot, facts: &Facts) -> Result<Expected<'a>, Unknown> {
    let count = i32::try_from(s.pods.len()).unwrap_or(i32::MAX);
    let none = Expected { pods: 0, healthy: 0, unmanaged: Vec::new() };
    match (&s.budget.max_unavailable, &s.budget.min_available) {
        (Some(max), _) => {
            let (pods, unmanaged) = asked_for(s, facts)?;
            let healthy = pods.saturating_sub(share(max, pods)?).max(0);
            Ok(Expected { pods, healthy, unmanaged })
        }
        (None, Some(Amount::Count(min))) => Ok(Expected { pods: count, healthy: *min, ..none }),
        (None, Some(min @ Amount::Share(_))) => {
            let (pods, unmanaged) = asked_for(s, facts)?;
            Ok(Expected { pods, healthy: share(min, pods)?, unmanaged })
        }
        (None, None) => Ok(none),
    }
}

fn share(amount: &Amount, pods: i32) -> Result<i32, Unknown> {
    let is_down = mutant::is(Mutant::BudgetRoundedDown);
    let rounding = if is_down { Rounding::Down } else { Rounding::Up };
    amount.of(pods, rounding).map_err(lasting)
}

/// How many pods their workloads ask for in sum, each workload once, and the pods that have none.
/// As `getExpectedScale`; the first pod (by name) that there is something wrong with ends it.
fn asked_for<'a>(s: &'a Snapshot, facts: &Facts) -> Result<(i32, Vec<&'a Pod>), Unknown> {
    let unread = unread(s, facts)?;
    if !unread.is_empty() {
        return Err(Unknown::Unread(unread));
    }
    let mut sizes: BTreeMap<&str, i32> = BTreeMap::new();
    let mut unmanaged = Vec::new();
    for pod in &s.pods {
        let Some(owner) = pod.meta.controller() else {
            unmanaged.push(&**pod);
            continue;
        };
        match manager_of(s, owner)? {
            Manager::Cached(uid, replicas) => drop(sizes.insert(uid, *replicas)),
            Manager::Scaled(_) if sizes.contains_key(&*owner.uid) => {}
            Manager::Scaled(owner) => match scale_of(owner, &s.budget.meta.key.namespace, facts)? {
                Size::Is(replicas) => drop(sizes.insert(&owner.uid, replicas)),
                Size::Missing => {
                    let name = &pod.meta.key.name;
                    return Err(lasting(format!("found no controllers for pod {name:?}")));
                }
            },
            Manager::Invalid(error) => return Err(lasting(error.clone())),
        }
    }
    let sum = sizes.values().fold(0, |sum: i32, size| sum.saturating_add(*size));
    Ok((sum, unmanaged))
}

/// What must be read live, before the first pod whose manager cannot be found anyway.
fn unread(s: &Snapshot, facts: &Facts) -> Result<Vec<Query>, Unknown> {
    let namespace = &s.budget.meta.key.namespace;
    let mut queries = Vec::new();
    for owner in s.pods.iter().filter_map(|pod| pod.meta.controller()) {
        let owner = match manager_of(s, owner)? {
            Manager::Scaled(owner) => owner,
            Manager::Cached(..) => continue,
            Manager::Invalid(_) => break,
        };
        if facts.get(&Query::Served).is_none() {
            return Ok(vec![Query::Served]);
        }
        let Ok((_, query)) = scale_at(owner, namespace, facts) else { break };
        if facts.get(&query).is_none() && !queries.contains(&query) {
            queries.push(query);
        }
    }
    Ok(queries)
}

fn manager_of<'a>(s: &'a Snapshot, owner: &OwnerRef) -> Result<&'a Manager, Unknown> {
    let manager = s.managers.get(&owner.uid);
    manager.ok_or_else(|| lasting(format!("nothing is known of {} {}", owner.kind, owner.name)))
}

// === Scales ===

/// The size of something of which the `scale` was read. As `getScaleController`.
fn scale_of(owner: &OwnerRef, namespace: &Text, facts: &Facts) -> Result<Size, Unknown> {
    let (resource, query) = scale_at(owner, namespace, facts)?;
    let answer = facts.get(&query).ok_or_else(|| Unknown::Unread(vec![query.clone()]))?;
    match answer.json() {
        Ok(scale) if scale.get("kind").and_then(Value::as_str) != Some("Scale") => {
            Err(lasting(without_scale(resource)))
        }
        Ok(scale) => {
            let uid = scale.pointer("/metadata/uid").and_then(Value::as_str);
            if uid != Some(&*owner.uid) {
                return Ok(Size::Missing);
            }
            let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
            Ok(Size::Is(i32::try_from(replicas).unwrap_or(i32::MAX)))
        }
        // Either there is no such object, or its kind has no scale.
        Err(refused) if refused.code == Some(404) => {
            let served = served(facts)?;
            let kind = served.kinds.iter().find(|kind| kind.resource == *resource);
            let has_scale = kind.is_some_and(|kind| kind.subresource("scale").is_some());
            if has_scale { Ok(Size::Missing) } else { Err(lasting(without_scale(resource))) }
        }
        Err(refused) => Err(passing(refused.text.clone())),
    }
}

/// The resource of an owner, and where its `scale` is: in the version that the API server prefers.
fn scale_at<'a>(
    owner: &OwnerRef,
    namespace: &Text,
    facts: &'a Facts,
) -> Result<(&'a Resource, Query), Unknown> {
    let served = served(facts)?;
    let OwnerRef { api_version, kind, .. } = owner;
    let Some(resource) = served.find(api_version, kind) else {
        return Err(
            match served.failure().filter(|_| served.failed.contains_key(&**api_version)) {
                // It may be served: that is not known.
                Some(failure) => passing(failure),
                None => lasting(format!("no matches for kind {kind:?} in version {api_version:?}")),
            },
        );
    };
    let alike = |it: &&Resource| it.group == resource.group && it.plural == resource.plural;
    let preferred = served.preferred(&[]).find(alike).unwrap_or(resource);
    let key = Key { namespace: namespace.clone(), name: owner.name.clone() };
    let path = preferred.object_path(&key).map_err(|error| lasting(error.to_string()))?;
    Ok((resource, Query::path(format!("{path}/scale"))))
}

fn served(facts: &Facts) -> Result<&Served, Unknown> {
    let answer = facts.get(&Query::Served).ok_or_else(|| Unknown::Unread(vec![Query::Served]))?;
    answer.served().map(|served| &**served).map_err(|refused| passing(refused.text.clone()))
}

fn without_scale(resource: &Resource) -> String {
    let Resource { group, plural, .. } = resource;
    let dot = if group.is_empty() { "" } else { "." };
    format!("{plural}{dot}{group} does not implement the scale subresource")
}

fn lasting(error: String) -> Unknown {
    Unknown::Failed(Failure { error, lasts: Lasts::UntilChanged })
}

fn passing(error: String) -> Unknown {
    Unknown::Failed(Failure { error, lasts: Lasts::Perhaps })
}

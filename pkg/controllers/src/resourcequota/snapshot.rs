//! What a decision about a quota looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{
    DeviceClass, Key, Kind, PersistentVolumeClaim, Pod, Resource, ResourceClaim, ResourceQuota,
    Service, Text, Time,
};
use controller::View;

use super::measures::{Measure, Measures};

/// A quota and what it counts at one moment. What it does not count is left out.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The quota.
    pub quota: Arc<ResourceQuota>,
    /// The names in it, and what they count.
    pub(super) measures: BTreeMap<Text, Vec<Measure>>,
    /// The pods of the namespace, sorted by name.
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) services: Vec<Arc<Service>>,
    pub(super) claims: Vec<Arc<PersistentVolumeClaim>>,
    /// None: they are not listed.
    pub(super) resource_claims: Option<Vec<Arc<ResourceClaim>>>,
    /// The extended resources that devices are, by class.
    pub(super) extended: BTreeMap<Text, Text>,
    /// How many objects there are of the kinds that are only counted, by name; none: they are not
    /// listed.
    pub(super) counts: BTreeMap<Text, Option<usize>>,
}

pub(super) fn observe(key: &Key, measures: &Measures<'_>) -> Option<Snapshot> {
    let Measures { kinds, extended, view } = *measures;
    let (quota, namespace) = (view.of::<ResourceQuota>().get(key)?, &key.namespace);
    let all = quota.hard.keys().map(|name| (name.clone(), measures.of(name)));
    let all: BTreeMap<_, _> = all.collect();
    let needs = |resource: &Resource| all.values().flatten().any(|it| it.is_of(resource));
    let needs_claims = needs(&ResourceClaim::RESOURCE);
    let needs_owners = all.values().flatten().any(|it| matches!(it, Measure::ExtendedDevices(_)));
    let is_listed = needs_claims && view.is_listed::<ResourceClaim>();
    let counts = all.iter().filter_map(|(name, measures)| {
        let [Measure::Objects(resource)] = measures.as_slice() else { return None };
        let listed = view.metadata(resource).map(|all| all.count(namespace));
        let gone = (!kinds.is_served(resource)).then_some(0);
        Some((name.clone(), listed.or(gone)))
    });
    Some(Snapshot {
        now: view.now,
        pods: only(needs(&Pod::RESOURCE) || needs_owners, || {
            view.of::<Pod>().by(Pod::BY_NAMESPACE, namespace)
        }),
        services: only(needs(&Service::RESOURCE), || {
            view.of::<Service>().by(Service::BY_NAMESPACE, namespace)
        }),
        claims: only(needs(&PersistentVolumeClaim::RESOURCE), || {
            let claims = view.of::<PersistentVolumeClaim>();
            claims.by(PersistentVolumeClaim::BY_NAMESPACE, namespace)
        }),
        resource_claims: is_listed
            .then(|| view.of::<ResourceClaim>().by(ResourceClaim::BY_NAMESPACE, namespace)),
        extended: extended_resources(needs_claims && extended, view),
        counts: counts.collect(),
        quota,
        measures: all,
    })
}

fn only<T>(needed: bool, all: impl FnOnce() -> Vec<Arc<T>>) -> Vec<Arc<T>> {
    if needed { all() } else { Vec::new() }
}

fn extended_resources(needed: bool, view: &View<'_>) -> BTreeMap<Text, Text> {
    let classes = only(needed, || view.of::<DeviceClass>().all());
    let names = classes
        .iter()
        .filter_map(|class| Some((class.meta.key.name.clone(), class.extended_resource.clone()?)));
    names.collect()
}

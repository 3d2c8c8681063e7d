//! What manages a pod, and how many pods it asks for. As the finders in upstream's
//! `pkg/controller/disruption/disruption.go`.

use std::sync::Arc;

use api::{Deployment, Key, Kind, OwnerRef, ReplicaSet, ReplicationController, StatefulSet, Text};
use controller::View;

/// What manages a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// A workload that the caches show: its uid, and how many pods it asks for. For a pod of a
    /// Deployment that is the Deployment, not the ReplicaSet that the pod names.
    Cached(Text, i32),
    /// Something that only its `scale` says the size of.
    Scaled(OwnerRef),
    /// The reference is not valid; why.
    Invalid(String),
}

/// What `owner`, which a pod in `namespace` names as its controller, is.
pub(super) fn find(owner: &OwnerRef, namespace: &Text, view: &View<'_>) -> Manager {
    let group = match group_of(owner) {
        Ok(group) => group,
        Err(error) => return Manager::Invalid(error),
    };
    let cached = match (&*owner.kind, group) {
        ("ReplicationController", "") => {
            let found = get::<ReplicationController>(owner, namespace, view);
            found.filter(|it| it.0.unreadable.is_none()).map(|it| it.0.replicas)
        }
        ("ReplicaSet", "apps" | "extensions") => return of_set(owner, namespace, view),
        ("StatefulSet", "apps") => {
            let found = get::<StatefulSet>(owner, namespace, view);
            found.filter(|it| it.unreadable.is_none()).map(|it| it.replicas)
        }
        _ => None,
    };
    cached.map_or_else(
        || Manager::Scaled(owner.clone()),
        |replicas| Manager::Cached(owner.uid.clone(), replicas),
    )
}

/// Of a ReplicaSet: the Deployment above it; itself, if there is none above it. One whose
/// Deployment is gone is asked for its `scale`.
fn of_set(owner: &OwnerRef, namespace: &Text, view: &View<'_>) -> Manager {
    let live = || Manager::Scaled(owner.clone());
    let Some(set) = get::<ReplicaSet>(owner, namespace, view) else { return live() };
    let above = set.meta.controller();
    match above.map(|above| (above, group_of(above))) {
        Some((_, Err(error))) => Manager::Invalid(error),
        Some((above, Ok(group))) if *above.kind == *"Deployment" => {
            let found = get::<Deployment>(above, namespace, view)
                .filter(|it| matches!(group, "apps" | "extensions") && it.unreadable.is_none());
            found.map_or_else(live, |it| Manager::Cached(it.meta.uid.clone(), it.replicas))
        }
        Some(_) | None if set.unreadable.is_some() => live(),
        Some(_) | None => Manager::Cached(set.meta.uid.clone(), set.replicas),
    }
}

/// The object that a reference means, by name and uid.
fn get<T: Kind>(owner: &OwnerRef, namespace: &Text, view: &View<'_>) -> Option<Arc<T>> {
    let key = Key { namespace: namespace.clone(), name: owner.name.clone() };
    view.of::<T>().get(&key).filter(|it| it.meta().uid == owner.uid)
}

/// The group of a reference. As `schema.ParseGroupVersion`.
fn group_of(owner: &OwnerRef) -> Result<&str, String> {
    let api_version = &*owner.api_version;
    match api_version.split_once('/') {
        None => Ok(""),
        Some((group, version)) if !version.contains('/') => Ok(group),
        Some(_) => Err(format!("unexpected GroupVersion string: {api_version}")),
    }
}

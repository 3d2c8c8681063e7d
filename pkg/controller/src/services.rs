//! Services and the pods behind them: what the controllers of Endpoints and of EndpointSlices
//! share, as they share upstream's k8s.io/endpointslice/util.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Labels, Pod, Service, ServicePort, TargetPort, Text, Time};

use crate::{Change, Enqueue, View};

#[cfg(test)]
mod tests;

/// When the endpoints of each Service were last looked at, as far as that says what has triggered
/// their next change. As upstream's `TriggerTimeTracker`.
#[derive(Debug, Default)]
pub struct Triggers(BTreeMap<Key, Arc<Moments>>);

/// The moments of a Service and of its pods that endpoints can follow from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// When the Service was made.
    service: Option<Time>,
    /// When the readiness of each pod last changed.
    pods: BTreeMap<Text, Time>,
}

/// Enqueues the Services whose endpoints may be others after a change of a pod. As
/// `GetPodUpdateProjectionKey` and `GetServicesToUpdate`; and also if a pod has ended without that
/// its readiness changes.
pub fn enqueue_services(
    change: &Change<Pod>,
    view: &View<'_>,
    delay: Duration,
    queue: &mut Enqueue,
) {
    let services = match change {
        Change::Added(pod) | Change::Deleted(pod) => selecting(pod, view),
        Change::Updated { .. } if change.is_resync() => return,
        Change::Updated { old, new } => {
            let is_elsewhere = old.meta.labels != new.meta.labels || has_other_name(old, new);
            match (has_changed(old, new), is_elsewhere) {
                (false, false) => return,
                (true, false) => selecting(new, view),
                (true, true) => &selecting(new, view) | &selecting(old, view),
                (false, true) => &selecting(new, view) ^ &selecting(old, view),
            }
        }
    };
    for service in &services {
        enqueue(service, delay, queue);
    }
}

/// Enqueues a key, at once if there is no delay.
pub fn enqueue(key: &Key, delay: Duration, queue: &mut Enqueue) {
    if delay.is_zero() { queue.add(key) } else { queue.add_after(key, delay) }
}

/// The pods that a selector finds in a namespace, by name.
pub fn selected(namespace: &str, selector: &Labels, view: &View<'_>) -> Vec<Arc<Pod>> {
    let mut pods = view.of::<Pod>().by(Pod::BY_NAMESPACE, namespace);
    // Pods of one owner mostly share their labels, which are then matched once.
    let mut last: Option<(Labels, bool)> = None;
    pods.retain(|pod| match &last {
        Some((labels, is_selected)) if *labels == pod.meta.labels => *is_selected,
        Some(_) | None => {
            let is_selected = pod.meta.labels.contains_all(selector);
            last = Some((pod.meta.labels.clone(), is_selected));
            is_selected
        }
    });
    pods
}

/// Whether a pod may be among endpoints at all, ready or not, terminating or not. As
/// `ShouldPodBeInEndpoints`.
pub fn is_reachable(pod: &Pod) -> bool {
    !pod.is_terminal() && !pod.network.ips.is_empty()
}

/// The port of a pod that a port of a Service leads to; none: the pod has none of that name. As
/// `FindPort`.
pub fn find_port(pod: &Pod, port: &ServicePort) -> Option<i32> {
    match &port.target {
        TargetPort::Number(number) => Some(*number),
        TargetPort::Name(name) => {
            let mut named = pod.network.ports().iter();
            named
                .find(|it| it.name == *name && it.protocol == port.protocol)
                .map(|found| found.number)
        }
    }
}

/// The name under which a pod is known in the domain of a Service. As `ShouldSetHostname`.
pub fn hostname(pod: &Pod, service: &Service) -> Option<Text> {
    let (hostname, domain) = pod.network.host()?;
    (*domain == service.meta.key.name).then(|| hostname.clone())
}

/// The Services of its namespace that select a pod. As `getServicesForPod`.
fn selecting(pod: &Pod, view: &View<'_>) -> BTreeSet<Key> {
    let (namespace, labels) = (&pod.meta.key.namespace, &pod.meta.labels);
    let selects = |service: &Arc<Service>| {
        service.selector.as_ref().is_some_and(|selector| labels.contains_all(selector))
    };
    let found = labels.iter().flat_map(|pair| {
        let value = Service::selector_value(namespace, pair);
        view.of::<Service>().by(Service::BY_SELECTOR, &value)
    });
    found.filter(selects).map(|service| service.meta.key.clone()).collect()
}

/// Whether a pod is told of in another way by now. As `podEndpointsChanged`.
fn has_changed(old: &Pod, new: &Pod) -> bool {
    old.meta.deletion_timestamp != new.meta.deletion_timestamp
        || old.is_ready() != new.is_ready()
        || old.network.ips != new.network.ips
        // Upstream does not look, and has addresses of pods that have long been evicted.
        || old.is_terminal() != new.is_terminal()
}

fn has_other_name(old: &Pod, new: &Pod) -> bool {
    let names = |pod: &Pod| {
        let names = pod.network.names.as_ref();
        names.map(|names| (names.hostname.clone(), names.subdomain.clone())).unwrap_or_default()
    };
    names(old) != names(new)
}

// === impl Triggers ===

impl Triggers {
    /// What is known of a Service.
    pub fn of(&self, key: &Key) -> Option<Arc<Moments>> {
        self.0.get(key).cloned()
    }

    /// What its endpoints follow from by now.
    pub fn keep(&mut self, key: &Key, moments: Arc<Moments>) {
        self.0.insert(key.clone(), moments);
    }

    /// There is no such Service any more.
    pub fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }
}

// === impl Moments ===

impl Moments {
    /// Those of a Service and its pods as they are.
    pub fn new(service: &Service, pods: &[Arc<Pod>]) -> Self {
        let changed = |pod: &Arc<Pod>| {
            let (_, since) = pod.ready?;
            Some((pod.meta.key.name.clone(), since?))
        };
        let service = service.meta.creation_timestamp;
        Self { service, pods: pods.iter().filter_map(changed).collect() }
    }

    /// When that happened which makes endpoints follow from these rather than from the earlier
    /// ones: the first of what is new. Without earlier ones it is that the Service was made. As
    /// `ComputeEndpointLastChangeTriggerTime`.
    pub fn trigger(&self, earlier: Option<&Self>) -> Option<Time> {
        let Some(earlier) = earlier else { return self.service };
        let pods = self.pods.iter().filter(|(name, at)| earlier.pods.get(*name) < Some(at));
        let service = self.service.filter(|_| self.service > earlier.service);
        pods.map(|(_, at)| *at).chain(service).min()
    }
}

//! Services: what Endpoints and slices say of their pods, at the end; and what a slice lists.

use api::Time;
use serde_json::Value;

use super::fields::{at, has_ended, is_ending, is_ready, list, matches, text, uid};
use super::{Judged, Oracle};
use crate::site::START;

/// The account whose slices list pods.
const ACCOUNT: &str = "endpointslice-controller";
/// What the label of slices says that a Service's pods are behind.
const OF_PODS: &str = "endpointslice-controller.k8s.io";
/// What it says of those that mirror Endpoints.
const MIRRORED: &str = "endpointslicemirroring-controller.k8s.io";
/// Endpoints of this controller.
const OWN: &str = "/metadata/labels/endpoints.kubernetes.io~1managed-by";
/// The label of Endpoints that nobody mirrors.
const SKIP: &str = "/metadata/labels/endpointslice.kubernetes.io~1skip-mirror";

/// An address, and whether it is ready. Each as often as it is listed.
type Listed = Vec<(String, bool)>;

impl Oracle {
    /// A slice lists each pod as it is, or was when its controller last looked: it has not ended,
    /// and its addresses are its own, not those that another pod has by now.
    pub(super) fn lists_otherwise(&self, it: &Judged<'_>) -> Option<String> {
        let is_slice = it.account == ACCOUNT && it.target.plural == "endpointslices";
        if !is_slice || it.method == "DELETE" {
            return None;
        }
        let states = |kind: &str, name: &str| {
            let key = (kind.to_owned(), it.target.namespace.clone(), name.to_owned());
            self.objects.states(&key, self.seen(kind))
        };
        let service = text(it.sent, "/metadata/labels/kubernetes.io~1service-name");
        let services = states("Service", service);
        let publishes = services.iter().any(|it| *at(it, "/spec/publishNotReadyAddresses") == true);
        list(it.sent, "/endpoints").iter().find_map(|endpoint| {
            let pods = states("Pod", text(endpoint, "/targetRef/name"));
            if pods.iter().any(|pod| is_listed_as(endpoint, pod, publishes)) {
                return None;
            }
            let was = pods.iter().map(|pod| format!("{} {}", uid(pod), at(pod, "/status")));
            let was = was.collect::<Vec<_>>().join(", ");
            Some(format!("{it}: lists {endpoint}; the pod was {was}"))
        })
    }

    /// How the Endpoints and slices of a Service differ from its pods: each of these in exactly one
    /// slice, and no other one.
    pub(super) fn service_lacks(&self, service: &Value) -> Option<String> {
        let (namespace, name) = (text(service, "/metadata/namespace"), name(service));
        let selector = at(service, "/spec/selector");
        if !has_selector(service) || text(service, "/spec/type") == "ExternalName" {
            return None;
        }
        let publishes = *at(service, "/spec/publishNotReadyAddresses") == true;
        let pods = self.objects.of_kind("Pod").filter(|pod| {
            let is_near = text(pod, "/metadata/namespace") == namespace;
            is_near && matches(pod, selector) && !has_ended(pod)
        });
        let mut wanted: Listed = pods
            .flat_map(|pod| list(pod, "/status/podIPs").iter().map(move |ip| (ip, pod)))
            .map(|(ip, pod)| (text(ip, "/ip").to_owned(), publishes || is_ready(pod)))
            .collect();
        wanted.sort();
        let differs = |what: &str, listed: &Listed| {
            (*listed != wanted)
                .then(|| format!("its {what} list {listed:?}, its pods are {wanted:?}"))
        };
        let slices = differs("slices", &self.sliced(namespace, name, OF_PODS));
        if slices.is_some() {
            return slices;
        }
        let Some(endpoints) = self.objects.get("Endpoints", namespace, name) else {
            return Some("has no Endpoints".to_owned());
        };
        let labels = |it: &Value| at(it, "/metadata/labels/team").clone();
        let label = (labels(endpoints) != labels(service)).then(|| "has other labels".to_owned());
        differs("Endpoints", &listed(endpoints)).or(label)
    }

    /// How the slices that mirror Endpoints differ from these.
    pub(super) fn endpoints_lack(&self, endpoints: &Value) -> Option<String> {
        let (namespace, name) = (text(endpoints, "/metadata/namespace"), name(endpoints));
        let service = self.objects.get("Service", namespace, name);
        let has_pods = service.is_some_and(|service| has_selector(service));
        let skips = *at(endpoints, SKIP) == "true";
        let is_mirrored = service.is_some() && !has_pods && !skips;
        let wanted = if is_mirrored { listed(endpoints) } else { Vec::new() };
        let mirrored = self.sliced(namespace, name, MIRRORED);
        (mirrored != wanted).then(|| format!("{wanted:?} is mirrored as {mirrored:?}"))
    }

    /// Whether people have changed the Endpoints of a Service that are its controller's.
    pub(super) fn has_edited_endpoints(&self, service: &Value) -> bool {
        let (namespace, name) = (text(service, "/metadata/namespace"), name(service));
        let endpoints = self.objects.get("Endpoints", namespace, name);
        let is_edited = endpoints.is_some_and(|it| self.touched.contains_key(uid(it)));
        has_selector(service) && is_edited
    }

    /// Why Endpoints are to stay: their Service is there, and was when the sync began.
    pub(super) fn endpoints_stay(
        &self,
        endpoints: &Value,
        it: &Judged<'_>,
    ) -> Option<&'static str> {
        let (namespace, name) = (text(endpoints, "/metadata/namespace"), name(endpoints));
        let service = self.objects.get("Service", namespace, name)?;
        let born = self.born.get(uid(service)).copied().unwrap_or(0);
        if self.knows("Service", born) {
            return Some("its Service was in the cache");
        }
        // What others have made is deleted after a look at the server alone.
        let made = Time::parse(text(service, "/metadata/creationTimestamp")).ok()?;
        let was_there = made + std::time::Duration::from_secs(1) <= START + self.decider.begun;
        let is_foreign = at(endpoints, OWN).is_null() && it.code < 300;
        (is_foreign && was_there).then_some("its Service was there before the sync began")
    }

    /// The addresses in the slices of a Service that this controller manages.
    fn sliced(&self, namespace: &str, name: &str, manager: &str) -> Listed {
        let slices = self.objects.of_kind("EndpointSlice").filter(|slice| {
            let labels = at(slice, "/metadata/labels");
            text(slice, "/metadata/namespace") == namespace
                && labels.get("kubernetes.io/service-name") == Some(&name.into())
                && labels.get("endpointslice.kubernetes.io/managed-by") == Some(&manager.into())
        });
        let endpoints = slices.flat_map(|slice| list(slice, "/endpoints"));
        let address = |it: &Value| {
            let ip = list(it, "/addresses").first().and_then(Value::as_str).unwrap_or_default();
            (ip.to_owned(), *at(it, "/conditions/ready") == true)
        };
        let mut listed: Listed = endpoints.map(address).collect();
        listed.sort();
        listed
    }
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// Whether an endpoint says of a pod what is so. What is not ready may be published as ready.
fn is_listed_as(endpoint: &Value, pod: &Value, publishes: bool) -> bool {
    let says = |condition: &str| *at(at(endpoint, "/conditions"), condition) == true;
    let (serving, terminating) = (is_ready(pod), is_ending(pod));
    let ips = list(pod, "/status/podIPs");
    text(endpoint, "/targetRef/uid") == uid(pod)
        && !has_ended(pod)
        && list(endpoint, "/addresses").iter().all(|ip| ips.iter().any(|it| at(it, "/ip") == ip))
        && says("/serving") == serving
        && says("/terminating") == terminating
        && (says("/ready") == (serving && !terminating) || publishes && says("/ready"))
}

/// An empty selector selects nothing in what a server stores.
fn has_selector(service: &Value) -> bool {
    at(service, "/spec/selector").as_object().is_some_and(|it| !it.is_empty())
}

/// The addresses of Endpoints, and whether they are ready.
fn listed(endpoints: &Value) -> Listed {
    let of = |list_of: &str, ready: bool| -> Listed {
        let subsets = list(endpoints, "/subsets").iter();
        let addresses = subsets.flat_map(|subset| list(subset, list_of));
        addresses.map(|it| (text(it, "/ip").to_owned(), ready)).collect()
    };
    let (ready, other) = (of("/addresses", true), of("/notReadyAddresses", false));
    let mut listed: Listed = ready.into_iter().chain(other).collect();
    listed.sort();
    listed
}

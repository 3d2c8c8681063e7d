//! What operators see of informers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Codec, Object, Pod, Resource};
use metrics::Registry;

use super::json;
use crate::fixture::{Server, run};
use crate::{Informer, Metrics, SharedInformerFactory};

const PODS: &str =
    "{group=\"\",name=\"kube-controller-manager\",resource=\"pods\",version=\"v1\"} ";

/// The value of the line that begins with `start`; empty if there is none.
fn value(registry: &Registry, start: &str) -> String {
    let body = registry.page("").body;
    let value = body.lines().find_map(|line| line.strip_prefix(start));
    value.unwrap_or_default().to_owned()
}

/// metrics.md, Process-wide: informer_queued_items and informer_processing_latency_seconds.
#[test]
fn changes_are_queued_until_handlers_are_done() {
    run(async {
        let (registry, server) = (Registry::default(), Server::default());
        let metrics = Metrics::new(&registry).unwrap();
        let informer = Informer::new::<Pod>(server.client.clone(), server.runtime.clone());
        let informer = informer.with_metrics(Some(&metrics));
        let queued = format!("informer_queued_items{PODS}");
        assert_eq!(value(&registry, &queued), "0", "shown from the start");

        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, page, start) = (Arc::clone(&seen), registry.clone(), queued.clone());
        informer.add_handler(Box::new(move |_| log.lock().unwrap().push(value(&page, &start))));
        let pods = (0..300).map(|n| {
            let name = format!("pod-{n:03}");
            let pod = Pod::decode(Codec::Json, json(&name, &name, 1).as_bytes()).unwrap();
            (pod.meta().key.clone(), Arc::new(pod) as _)
        });
        let pods = pods.collect();
        // Other tasks run after 256 changes.
        tokio::join!(
            informer.update(|store| store.replace(pods, 10)),
            tokio::time::advance(Duration::from_secs(2)),
        );
        let mut seen = seen.lock().unwrap().clone();
        assert_eq!(seen.len(), 300);
        seen.dedup();
        assert_eq!(seen, ["300", "44"]);
        assert_eq!(value(&registry, &queued), "0");
        let latency = |bound: &str| {
            let labels = PODS.replace("} ", &format!(",le=\"{bound}\"}} "));
            value(&registry, &format!("informer_processing_latency_seconds_bucket{labels}"))
        };
        assert_eq!(["0.001", "1", "2.5", "+Inf"].map(latency), ["256", "256", "300", "300"]);
    });
}

/// metrics.md, Process-wide: the resource label is a naive plural.
#[test]
fn informers_are_labelled_as_upstreams() {
    let registry = Registry::default();
    let metrics = Metrics::new(&registry).unwrap();
    for (resource, labels) in [
        (
            Resource::namespaced("", "v1", "endpoints", "Endpoints"),
            "group=\"\",name=\"kube-controller-manager\",resource=\"endpointss\",version=\"v1\"",
        ),
        (
            Resource::namespaced("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
            "group=\"networking.k8s.io\",name=\"kube-controller-manager\",\
             resource=\"networkpolicys\",version=\"v1\"",
        ),
    ] {
        metrics.meter(&resource);
        assert_eq!(value(&registry, &format!("informer_queued_items{{{labels}}} ")), "0");
    }
    assert_eq!(metrics::fixture::unlike_upstream(&registry), Vec::<String>::new());
}

#[test]
fn a_factory_hands_its_metrics_to_its_informers() {
    run(async {
        let (registry, server) = (Registry::default(), Server::default());
        let metrics = Metrics::new(&registry).unwrap();
        let factory = SharedInformerFactory::new(server.client.clone(), server.runtime.clone());
        let mut factory = factory.with_metrics(metrics);
        assert_eq!(value(&registry, &format!("informer_queued_items{PODS}")), "");
        factory.informer::<Pod>();
        assert_eq!(value(&registry, &format!("informer_queued_items{PODS}")), "0");
    });
}

//! The starts of the controllers that delete what others leave: the garbage collector, which has
//! two queues over one graph, and the one of namespaces.

use std::sync::Arc;
use std::time::Duration;

use api::{Kind, Namespace};
use controller::Shared;
use controllers::garbagecollector::{Collector, Graph, Orphaner};
use controllers::namespace;
use workqueue::{ItemBackoff, Limiter, TokenBucket};

use super::Entry;
use crate::flags::handles;
use crate::gates::features;
use crate::start::{Context, Running};

pub(super) fn start(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_GC_SYNCS);
    // The graph has no queue here; the series is for dashboards.
    context.queue("garbage_collector_graph_changes");
    let graph = Arc::new(Shared::<Graph>::default());
    let writer = context.writer(entry);
    // The first one keeps the graph: it must hear of changes before the other one.
    let work = (context.queue("garbage_collector_attempt_to_delete"), workers);
    let collector = context.start_sharing(&writer, None, work, (Collector, &graph));
    let work = (context.queue("garbage_collector_attempt_to_orphan"), workers);
    let orphaner = context.start_sharing(&writer, None, work, (Orphaner, &graph));
    let page = move |uids: &[&str]| {
        let picture = graph.read().picture(uids);
        picture.dot()
    };
    collector.both(orphaner).with_graph(Arc::new(page))
}

pub(super) fn namespaces(entry: &Entry, context: &mut Context) -> Running {
    let pause = ItemBackoff::new(Duration::from_millis(5), Duration::from_mins(1));
    let limiter = Limiter::new(pause, TokenBucket::new(10.0, 100));
    let queue = context.queue_with("namespace", limiter);
    let workers = context.workers(handles::CONCURRENT_NAMESPACE_SYNCS);
    let sync_period = context.options.flags.positive(handles::NAMESPACE_SYNC_PERIOD);
    let pods_first = context.options.gates.is_on(features::ORDERED_NAMESPACE_DELETION);
    let controller = namespace::Controller::new(sync_period).pods_first(pods_first);
    context.start(entry, Namespace::RESOURCE, (queue, workers), controller)
}

//! The start of the garbage collector, which has two queues over one graph.

use std::sync::Arc;

use controller::Shared;
use controllers::garbagecollector::{Collector, Graph, Orphaner};

use super::Entry;
use crate::flags::handles;
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

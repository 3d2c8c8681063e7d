//! The starts of the controllers that need a cloud.

use std::time::Duration;

use api::{BalancedService, Kind, Machine, Text};
use controllers::{cloudnodelifecycle, route, service};
use workqueue::{ItemBackoff, Limiter, TokenBucket};

use super::Entry;

use crate::flags::handles;
use crate::start::{Context, Running};

/// A period of nothing would be a loop without a pause.
const PERIOD_MIN: Duration = Duration::from_secs(1);

/// The controller of nodes whose machines are gone.
pub(super) fn life(entry: &Entry, context: &mut Context) -> Running {
    let period = context.options.flags.positive(handles::NODE_MONITOR_PERIOD).max(PERIOD_MIN);
    // What fails is tried again with the next look.
    let queue = context.unnamed_queue(every(period));
    let controller = cloudnodelifecycle::Controller { period };
    let workers = cloudnodelifecycle::WORKERS;
    context.start(entry, Machine::RESOURCE, (queue, workers), controller)
}

/// The controller of routes.
pub(super) fn routes(entry: &Entry, context: &mut Context) -> Running {
    let flags = &context.options.flags;
    let period = flags.positive(handles::ROUTE_RECONCILIATION_PERIOD).max(PERIOD_MIN);
    let cluster = Text::from(flags.text(handles::CLUSTER_NAME));
    let ranges = std::mem::take(&mut context.route_ranges);
    let queue = context.unnamed_queue(every(period));
    let controller = route::Controller { cluster, ranges, period };
    context.start(entry, None, (queue, 1), controller)
}

/// The controller of load balancers.
pub(super) fn balancers(entry: &Entry, context: &mut Context) -> Running {
    // Upstream's minRetryDelay and maxRetryDelay.
    let pause = ItemBackoff::new(Duration::from_secs(5), Duration::from_mins(5));
    let limiter = Limiter::new(pause, TokenBucket::unlimited());
    let queue = context.queue_with("service", limiter);
    let workers = context.workers(handles::CONCURRENT_SERVICE_SYNCS);
    let cluster = Text::from(context.options.flags.text(handles::CLUSTER_NAME));
    let controller = service::Controller { cluster };
    context.start(entry, BalancedService::RESOURCE, (queue, workers), controller)
}

/// Failures are retried after this time, however many there are.
fn every(period: Duration) -> Limiter<api::Key> {
    Limiter::new(ItemBackoff::new(period, period), TokenBucket::unlimited())
}

//! The start of the controllers of devices and of what is claimed of them.

use api::{Kind, Pod, ResourceClaim, ResourcePoolStatusRequest};
use controllers::{devicetainteviction, resourceclaim, resourcepoolstatusrequest};
use workqueue::Limiter;

use super::Entry;
use crate::flags::handles;
use crate::gates::features;
use crate::start::{Context, Running};

/// The controller of claims, which has two kinds of keys in one queue upstream.
pub(super) fn claims(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_RESOURCECLAIM_SYNCS);
    let allows_alternatives = context.options.gates.is_on(features::DRA_PRIORITIZED_LIST);
    let writer = context.writer(entry);
    let work = (context.queue("resource_claim"), workers);
    let pods = resourceclaim::Pods { allows_alternatives };
    let of_pods = context.start_with(&writer, Pod::RESOURCE, work, pods);
    let work = (context.queue("resource_claim"), workers);
    context.start_with(&writer, ResourceClaim::RESOURCE, work, resourceclaim::Claims).both(of_pods)
}

/// The controller of evictions by taints of devices.
pub(super) fn taints(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_DEVICE_TAINT_EVICTION_SYNCS);
    let work = (context.queue(entry.name), workers);
    context.start(entry, Pod::RESOURCE, work, devicetainteviction::Controller)
}

/// The controller that answers questions about pools.
pub(super) fn pool_requests(entry: &Entry, context: &mut Context) -> Running {
    // Upstream's queue has no name.
    let work = (context.unnamed_queue(Limiter::default()), 1);
    let own = ResourcePoolStatusRequest::RESOURCE;
    context.start(entry, own, work, resourcepoolstatusrequest::Controller)
}

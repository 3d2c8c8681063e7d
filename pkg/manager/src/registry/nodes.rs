//! The starts of the controllers of nodes.

use api::{Kind, Node, Pod};
use controllers::{nodeipam, nodelifecycle, tainteviction};

use super::Entry;

use crate::flags::handles;
use crate::gates::features;
use crate::start::{Context, Running};

/// The controller of the life of nodes.
pub(super) fn life(entry: &Entry, context: &mut Context) -> Running {
    // Pods wait with their node; the series is for dashboards.
    context.queue("node_lifecycle_controller_pods");
    let queue = context.queue("node_lifecycle_controller");
    let flags = &context.options.flags;
    let controller = nodelifecycle::Controller(nodelifecycle::Options {
        monitor_period: flags.positive(handles::NODE_MONITOR_PERIOD),
        monitor_grace_period: flags.positive(handles::NODE_MONITOR_GRACE_PERIOD),
        startup_grace_period: flags.positive(handles::NODE_STARTUP_GRACE_PERIOD),
        rates: nodelifecycle::Rates {
            eviction: flags.float32(handles::NODE_EVICTION_RATE),
            secondary: flags.float32(handles::SECONDARY_NODE_EVICTION_RATE),
            large_cluster: flags.int32(handles::LARGE_CLUSTER_SIZE_THRESHOLD),
            unhealthy_zone: flags.float32(handles::UNHEALTHY_ZONE_THRESHOLD),
        },
    });
    context.start(entry, Node::RESOURCE, (queue, nodelifecycle::WORKERS), controller)
}

/// The controller of evictions by taints.
pub(super) fn evictions(entry: &Entry, context: &mut Context) -> Running {
    // What a node enqueues are its pods; the series is for dashboards.
    context.queue("noexec_taint_node");
    let queue = context.queue("noexec_taint_pod");
    let gates = &context.options.gates;
    let controller = tainteviction::Controller {
        compares_tolerations: gates.is_on(features::TOLERATION_COMPARISON),
        tracks_generations: gates.is_on(features::POD_OBSERVED_GENERATION),
    };
    context.start(entry, Pod::RESOURCE, (queue, tainteviction::WORKERS), controller)
}

/// The controller of the ranges of nodes.
pub(super) fn ranges(entry: &Entry, context: &mut Context) -> Running {
    let queue = context.queue("cidrallocator_node");
    let controller = context.node_ranges.take().expect("made for this controller before its start");
    context.start(entry, Node::RESOURCE, (queue, nodeipam::WORKERS), controller)
}

//! What the controllers of nodes read of flags and gates.

use api::{Kind, Node};
use controllers::{nodeipam, nodelifecycle, tainteviction};

use super::Entry;

use crate::flags::handles;
use crate::gates::features;
use crate::start::{Context, Running};

/// The controller of the life of nodes.
pub(super) fn life(context: &Context) -> nodelifecycle::Controller {
    let flags = &context.options.flags;
    nodelifecycle::Controller(nodelifecycle::Options {
        monitor_period: flags.positive(handles::NODE_MONITOR_PERIOD),
        monitor_grace_period: flags.positive(handles::NODE_MONITOR_GRACE_PERIOD),
        startup_grace_period: flags.positive(handles::NODE_STARTUP_GRACE_PERIOD),
        rates: nodelifecycle::Rates {
            eviction: flags.float32(handles::NODE_EVICTION_RATE),
            secondary: flags.float32(handles::SECONDARY_NODE_EVICTION_RATE),
            large_cluster: flags.int32(handles::LARGE_CLUSTER_SIZE_THRESHOLD),
            unhealthy_zone: flags.float32(handles::UNHEALTHY_ZONE_THRESHOLD),
        },
    })
}

/// The controller of evictions by taints.
pub(super) fn evictions(context: &Context) -> tainteviction::Controller {
    let gates = &context.options.gates;
    tainteviction::Controller {
        compares_tolerations: gates.is_on(features::TOLERATION_COMPARISON),
        tracks_generations: gates.is_on(features::POD_OBSERVED_GENERATION),
    }
}

/// The controller of the ranges of nodes.
pub(super) fn ranges(entry: &Entry, context: &mut Context) -> Running {
    let queue = context.queue("cidrallocator_node");
    let controller = context.node_ranges.take().expect("made for this controller before its start");
    context.start(entry, Node::RESOURCE, (queue, nodeipam::WORKERS), controller)
}

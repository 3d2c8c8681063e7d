//! The start of the controller of autoscalers.

use std::time::Duration;

use api::{HorizontalPodAutoscaler, Kind};
use controllers::podautoscaler::{Controller, Options};
use workqueue::{ItemBackoff, Limiter, TokenBucket};

use super::Entry;
use crate::flags::handles;
use crate::gates::features;
use crate::start::{Context, Running};

/// An autoscaler is not looked at more often.
const PERIOD_MIN: Duration = Duration::from_millis(100);

pub(super) fn start(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_HORIZONTAL_POD_AUTOSCALER_SYNCS);
    let (flags, gates) = (&context.options.flags, &context.options.gates);
    let period = flags.positive(handles::HORIZONTAL_POD_AUTOSCALER_SYNC_PERIOD).max(PERIOD_MIN);
    let controller = Controller(Options {
        sync_period: period,
        downscale_stabilization: flags
            .positive(handles::HORIZONTAL_POD_AUTOSCALER_DOWNSCALE_STABILIZATION),
        tolerance: flags.float64(handles::HORIZONTAL_POD_AUTOSCALER_TOLERANCE),
        cpu_initialization_period: flags
            .positive(handles::HORIZONTAL_POD_AUTOSCALER_CPU_INITIALIZATION_PERIOD),
        initial_readiness_delay: flags
            .positive(handles::HORIZONTAL_POD_AUTOSCALER_INITIAL_READINESS_DELAY),
        admits_tolerances: gates.is_on(features::HPA_CONFIGURABLE_TOLERANCE),
        scales_to_zero: gates.is_on(features::HPA_SCALE_TO_ZERO),
        counts_pod_level: gates.is_on(features::POD_LEVEL_RESOURCES),
    });
    // What fails is looked at a period later, as what does not. As `NewDefaultHPARateLimiter`.
    let limiter = Limiter::new(ItemBackoff::new(period, period), TokenBucket::unlimited());
    let queue = context.queue_with("horizontalpodautoscaler", limiter);
    context.start(entry, HorizontalPodAutoscaler::RESOURCE, (queue, workers), controller)
}

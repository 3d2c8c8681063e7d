//! The start of the controller of quotas, which has two queues.

use std::sync::Arc;

use api::{Kind, ResourceQuota};
use controller::Shared;
use controllers::resourcequota::{self, PodLevel, Queue};

use super::Entry;
use crate::flags::handles;
use crate::gates::features;
use crate::start::{Context, Running};

pub(super) fn start(entry: &Entry, context: &mut Context) -> Running {
    // Nothing waits here: quotas are enqueued at once. Dashboards find the series.
    context.queue("resource_quota_controller_resource_changes");
    let workers = context.workers(handles::CONCURRENT_RESOURCE_QUOTA_SYNCS);
    let (flags, gates) = (&context.options.flags, &context.options.gates);
    let pod_level = if gates.is_on(features::POD_LEVEL_RESOURCES) {
        PodLevel::Counts
    } else {
        PodLevel::Skipped
    };
    let controller = resourcequota::Controller {
        queue: Queue::Primary,
        resync: flags.positive(handles::RESOURCE_QUOTA_SYNC_PERIOD),
        pod_level,
        extended: gates.is_on(features::DRA_EXTENDED_RESOURCE),
    };
    let missing = resourcequota::Controller { queue: Queue::Missing, ..controller };
    let kinds = Arc::new(Shared::<resourcequota::Kinds>::default());
    let (writer, own) = (context.writer(entry), ResourceQuota::RESOURCE);
    let work = (context.queue("resourcequota_primary"), workers);
    let primary = context.start_sharing(&writer, own.clone(), work, (controller, &kinds));
    let work = (context.queue("resourcequota_priority"), workers);
    primary.both(context.start_sharing(&writer, own, work, (missing, &kinds)))
}

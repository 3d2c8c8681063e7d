//! The start of controllers of workloads that need more than a queue.

use api::{Job, Kind, Pod, PodDisruptionBudget, PodGroup, StatefulSet};
use controllers::statefulset::{self, Comparison, MaxUnavailable};
use controllers::{disruption, job, podgroupprotection};

use super::Entry;
use super::limiters::job_limiter;
use crate::flags::handles;
use crate::gates::features;
use crate::start::{Context, Running};

pub(super) fn disruption(entry: &Entry, context: &mut Context) -> Running {
    // Nothing waits here: what is looked at again waits in the first queue. Dashboards find the
    // series.
    context.queue("disruption_recheck");
    let tracks_generations = context.options.gates.is_on(features::POD_OBSERVED_GENERATION);
    let writer = context.writer(entry);
    let work = (context.queue("stale_pod_disruption"), 1);
    let pods = disruption::Pods { tracks_generations };
    let of_pods = context.start_with(&writer, Pod::RESOURCE, work, pods);
    let work = (context.queue("disruption"), 1);
    let own = PodDisruptionBudget::RESOURCE;
    context.start_with(&writer, own, work, disruption::Controller).both(of_pods)
}

pub(super) fn job(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_JOB_SYNCS);
    let gates = &context.options.gates;
    let resets_start_time = gates.is_on(features::MUTABLE_SCHEDULING_OF_JOBS);
    let writer = context.writer(entry);
    let work = (context.queue_with("job", job_limiter()), workers);
    let controller = job::Controller::new(job::Options { resets_start_time });
    let jobs = context.start_with(&writer, Job::RESOURCE, work, controller);
    let work = (context.queue_with("job_orphan_pod", job_limiter()), workers);
    jobs.both(context.start_with(&writer, Pod::RESOURCE, work, job::Orphans))
}

pub(super) fn stateful_set(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_STATEFULSET_SYNCS);
    let queue = context.queue("statefulset");
    let gates = &context.options.gates;
    let comparison = if gates.is_on(features::SEMANTIC_REVISION_COMPARISON) {
        Comparison::Semantic
    } else {
        Comparison::Bytes
    };
    let max_unavailable = if gates.is_on(features::MAX_UNAVAILABLE_STATEFULSET) {
        MaxUnavailable::AsSpecified
    } else {
        MaxUnavailable::One
    };
    let controller = statefulset::Controller { comparison, max_unavailable };
    context.start(entry, StatefulSet::RESOURCE, (queue, workers), controller)
}

pub(super) fn pod_group_protection(entry: &Entry, context: &mut Context) -> Running {
    let queue = context.queue("podgroupprotection");
    context.start(entry, PodGroup::RESOURCE, (queue, 1), podgroupprotection::Controller)
}

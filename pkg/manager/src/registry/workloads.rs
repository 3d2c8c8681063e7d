//! The start of controllers of workloads that need more than a queue.

use api::{
    DaemonSet, Deployment, Job, Kind, Pod, PodDisruptionBudget, PodGroup, ReplicaSet,
    ReplicationController, StatefulSet,
};
use controller::Costs;
use controllers::statefulset::{self, Comparison, MaxUnavailable};
use controllers::{daemonset, deployment, disruption, job, podgroupprotection, replicaset};

use super::Entry;
use super::limiters::job_limiter;
use crate::flags::handles;
use crate::gates::features;
use crate::start::{Context, Running};

pub(super) fn daemon_set(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_DAEMONSET_SYNCS);
    let queue = context.queue("daemonset");
    let compares = context.options.gates.is_on(features::TOLERATION_COMPARISON);
    let controller = daemonset::Controller::new(250).comparing_tolerations(compares);
    context.start(entry, DaemonSet::RESOURCE, (queue, workers), controller)
}

pub(super) fn deployment(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_DEPLOYMENT_SYNCS);
    let queue = context.queue("deployment");
    let counts_terminating = context.options.gates.is_on(features::TERMINATING_REPLICAS);
    let controller = deployment::Controller { counts_terminating };
    context.start(entry, Deployment::RESOURCE, (queue, workers), controller)
}

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

pub(super) fn replica_set(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_REPLICASET_SYNCS);
    let queue = context.queue("replicaset");
    let counts_terminating = context.options.gates.is_on(features::TERMINATING_REPLICAS);
    let options = replicaset::Options { counts_terminating, ..sets(context) };
    let controller = replicaset::Controller::<ReplicaSet>::with(options);
    context.start(entry, ReplicaSet::RESOURCE, (queue, workers), controller)
}

pub(super) fn replication_controller(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_RC_SYNCS);
    let queue = context.queue("replicationmanager");
    let options = replicaset::Options { counts_terminating: false, ..sets(context) };
    let controller = replicaset::Controller::<ReplicationController>::with(options);
    context.start(entry, ReplicationController::RESOURCE, (queue, workers), controller)
}

/// The common options of the controllers that manage pods.
fn sets(context: &Context) -> replicaset::Options {
    let has_costs = context.options.gates.is_on(features::POD_DELETION_COST);
    let costs = if has_costs { Costs::Count } else { Costs::Ignored };
    replicaset::Options { costs, ..replicaset::Options::new(500) }
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

//! What the controller of Jobs reads of a pod, and no other one.

use prost::Message;
use serde::Deserialize;

use super::{WireContainerStatus, WirePod};
use crate::wire::{self, text};
use crate::{Job, Meta, Status, Text, Time, intern};

/// What only the controller of Jobs reads of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPart {
    /// Annotation `batch.kubernetes.io/job-completion-index`; none if it is absent or no index.
    pub completion_index: Option<i64>,
    /// How often its index had failed before it was made, as its annotation says.
    pub index_failures: i32,
    /// How often its index had failed without that it counted.
    pub index_ignored_failures: i32,
    /// How often its containers started again, those that initialize among them, all together.
    pub restarts: i32,
    /// Its containers that failed, first those that are no init containers.
    pub failed_containers: Box<[FailedContainer]>,
    /// Its conditions.
    pub conditions: Box<[(Text, Status)]>,
    /// When the last of its containers ended; none if that is not known.
    pub containers_ended: Option<Time>,
    /// `metadata.deletionGracePeriodSeconds`
    pub deletion_grace_period_seconds: Option<i64>,
}

/// A container that ended with an exit code other than 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedContainer {
    /// Its name.
    pub name: Text,
    /// Its exit code.
    pub exit_code: i32,
}

/// `v1.ContainerStateTerminated`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireTerminated {
    #[prost(int32, tag = "1")]
    exit_code: i32,
    #[prost(message, optional, tag = "6")]
    finished_at: Option<wire::Time>,
}

/// None: the pod belongs to no Job, and none may adopt it.
pub(super) fn part(pod: &WirePod, meta: &Meta) -> Option<Box<JobPart>> {
    let may_take = meta.controller().is_none_or(|controller| &*controller.kind == "Job");
    if !may_take && !meta.finalizers.iter().any(|it| &**it == Job::TRACKING_FINALIZER) {
        return None;
    }
    let status = &pod.status;
    let (regular, init) = (&status.container_statuses, &status.init_container_statuses);
    let condition =
        |it: &super::WireCondition| (intern(&text(&it.r#type)), Status::parse(&text(&it.status)));
    let restarts = regular.iter().chain(init).map(|it| it.restart_count);
    Some(Box::new(JobPart {
        completion_index: index(pod),
        index_failures: failures(pod, Job::INDEX_FAILURES),
        index_ignored_failures: failures(pod, Job::INDEX_IGNORED_FAILURES),
        restarts: restarts.fold(0, i32::saturating_add),
        failed_containers: regular.iter().chain(init).filter_map(failed).collect(),
        conditions: status.conditions.iter().map(condition).collect(),
        containers_ended: containers_ended(pod),
        deletion_grace_period_seconds: pod.metadata.deletion_grace_period_seconds,
    }))
}

/// As `getCompletionIndex` in upstream's pkg/controller/job.
fn index(pod: &WirePod) -> Option<i64> {
    let index = pod.metadata.annotation(Job::COMPLETION_INDEX)?;
    index.parse().ok().filter(|index| *index >= 0)
}

/// As `parseInt32` there.
fn failures(pod: &WirePod, annotation: &str) -> i32 {
    let count = pod.metadata.annotation(annotation).and_then(|count| count.parse().ok());
    count.filter(|count| *count >= 0).unwrap_or(0)
}

fn failed(container: &WireContainerStatus) -> Option<FailedContainer> {
    let exit_code = container.state.terminated.as_ref()?.exit_code;
    (exit_code != 0).then(|| FailedContainer { name: intern(&container.name), exit_code })
}

/// As `getFinishTimeFromContainers` there: of its containers, and of its sidecars, which end later.
fn containers_ended(pod: &WirePod) -> Option<Time> {
    let ended = last_ended(None, pod.status.container_statuses.iter());
    let statuses = pod.status.init_container_statuses.iter();
    last_ended(ended, statuses.filter(|container| pod.is_sidecar(&container.name)))
}

/// None if one of them has not ended, or does not say when.
fn last_ended<'a>(
    mut last: Option<Time>,
    containers: impl Iterator<Item = &'a WireContainerStatus>,
) -> Option<Time> {
    for container in containers {
        let ended = container.state.terminated.as_ref()?.finished_at?.view()?;
        last = Some(last.map_or(ended, |last| last.max(ended)));
    }
    last
}

//! What the workload controllers do with pods: find their own, check their availability, create
//! more. From upstream's `pkg/controller/controller_utils.go` and `pkg/api/v1/pod/util.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{Kind, Labels, Meta, Pod, Resource, Selector, Status, Time};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{
    Action, Announce, ControllerRef, Lister, Message, ObjectRef, Write, candidates, controller_ref,
};

#[cfg(test)]
mod tests;

/// The part of a workload's `spec` that pods are created from.
#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow)]
    template: Template<'a>,
}

#[derive(Deserialize)]
struct Template<'a> {
    #[serde(borrow, default)]
    metadata: Option<TemplateMeta<'a>>,
    #[serde(borrow)]
    spec: &'a RawValue,
}

#[derive(Default, Deserialize)]
struct TemplateMeta<'a> {
    #[serde(borrow, default)]
    labels: Option<&'a RawValue>,
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finalizers: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewPod<'a> {
    api_version: &'a str,
    kind: &'a str,
    metadata: NewMeta<'a>,
    spec: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewMeta<'a> {
    generate_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizers: Option<&'a RawValue>,
    owner_references: [ControllerRef<'a>; 1],
}

// === Finding ===

/// The pods that an owner manages and, in its namespace, those without a controller. As
/// `FilterPodsByOwner`.
pub fn pods_of(pods: Lister<'_, Pod>, resource: &Resource, owner: &Meta) -> Vec<Arc<Pod>> {
    let mut found = candidates(pods, Pod::BY_CONTROLLER, Pod::ORPHANS_BY_NAMESPACE, owner);
    found.retain(|pod| {
        pod.meta.controller().is_none_or(|controller| {
            *controller.kind == *resource.kind && controller.name == owner.key.name
        })
    });
    found
}

/// Whether the selector matches a pod, for one pod after the other. Pods of one owner mostly share
/// their labels, which are then matched once.
pub fn matcher(selector: &Selector) -> impl FnMut(&Pod) -> bool {
    let mut last: Option<(Labels, bool)> = None;
    move |pod| match &last {
        Some((labels, matched)) if *labels == pod.meta.labels => *matched,
        Some(_) | None => {
            let matched = selector.matches(&pod.meta.labels);
            last = Some((pod.meta.labels.clone(), matched));
            matched
        }
    }
}

// === Availability ===

/// Whether a pod is ready, and has been for `min_ready_seconds`. As `IsPodAvailable`.
pub fn is_available(pod: &Pod, min_ready_seconds: i32, now: Time) -> bool {
    let since = pod.ready_since();
    let long_enough = since.is_some_and(|since| since + seconds(min_ready_seconds) <= now);
    pod.is_ready() && (min_ready_seconds == 0 || long_enough)
}

/// When to count the available pods again: once the next one has been ready for long enough. At the
/// latest after `min_ready_seconds`, as long as not all ready pods are available.
pub fn next_check(pods: &[Arc<Pod>], min_ready_seconds: i32, now: Time) -> Option<Duration> {
    let longest = Duration::from_secs(u64::try_from(min_ready_seconds).ok()?);
    let waits = |pod: &Arc<Pod>| pod.is_ready() && !is_available(pod, min_ready_seconds, now);
    let any_waits = pods.iter().any(waits);
    // Our clock may be behind the clock of the node, which set the time.
    any_waits.then(|| {
        next_available(pods, min_ready_seconds, now).map_or(longest, |until| until.min(longest))
    })
}

/// How long until the next of the ready pods is available; none if all are, or never will be. As
/// `FindMinNextPodAvailabilityCheck`.
fn next_available(pods: &[Arc<Pod>], min_ready_seconds: i32, now: Time) -> Option<Duration> {
    if min_ready_seconds <= 0 {
        return None;
    }
    let since = pods.iter().filter_map(|pod| pod.ready_since());
    let until = since.map(|since| (since + seconds(min_ready_seconds)).since(now));
    until.filter(|until| !until.is_zero()).min()
}

fn seconds(count: i32) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or(0))
}

// === Writing ===

/// Creates `count` equal pods from `template` of the owner's `spec`. The pods have every field of
/// the template's spec as it is written there, the template's labels, annotations and finalizers,
/// and the owner as their only owner. As `GetPodFromTemplate`. An error if `spec` has no template.
pub fn creates(
    resource: &Resource,
    owner: &Meta,
    spec: Option<&RawValue>,
    count: usize,
) -> Result<Vec<Action>, String> {
    let spec = spec.map_or("null", RawValue::get);
    let Spec { template } = serde_json::from_str(spec).map_err(|error| error.to_string())?;
    let meta = template.metadata.unwrap_or_default();
    let pod = NewPod {
        api_version: "v1",
        kind: "Pod",
        metadata: NewMeta {
            generate_name: generate_name(&owner.key.name),
            labels: meta.labels,
            annotations: meta.annotations,
            finalizers: meta.finalizers,
            owner_references: [controller_ref(resource, owner)],
        },
        spec: template.spec,
    };
    let body = serde_json::to_string(&pod).map_err(|error| error.to_string())?;
    let announce = Announce {
        about: Arc::new(ObjectRef::new(resource, owner)),
        done: Some(("SuccessfulCreate", Message::Naming("Created pod: "))),
        failed: ("FailedCreate", "Error creating: ".into()),
        silent: &[],
    };
    let create = Write::create(Pod::RESOURCE, owner.key.namespace.clone(), body);
    Ok(vec![create.announced(announce).into(); count])
}

/// Deletes these pods, with Events about their owner.
pub fn deletes(resource: &Resource, owner: &Meta, pods: &[Arc<Pod>]) -> Vec<Action> {
    let announce = Announce {
        about: Arc::new(ObjectRef::new(resource, owner)),
        done: Some(("SuccessfulDelete", Message::Naming("Deleted pod: "))),
        failed: ("FailedDelete", "Error deleting: ".into()),
        silent: &[],
    };
    let delete = |pod: &Arc<Pod>| {
        let object = ObjectRef::new(&Pod::RESOURCE, &pod.meta);
        Write::delete(object).announced(announce.clone()).into()
    };
    pods.iter().map(delete).collect()
}

/// As `getPodsPrefix`: `owner-`, or only the owner's name if that cannot be the start of a name.
pub(crate) fn generate_name(owner: &str) -> String {
    let prefix = format!("{owner}-");
    // The API server appends letters: a trailing dash is replaced by one, together with the letter
    // before it.
    let masked = owner.char_indices().next_back().map(|(last, _)| format!("{}a", &owner[..last]));
    if masked.is_some_and(|name| api::is_subdomain(&name)) { prefix } else { owner.to_owned() }
}

/// The condition `DisruptionTarget` of a pod that is about to be deleted, for a strategic merge
/// into its status. As `UpdatePodCondition` of upstream: the time of one that holds already stays.
pub fn disruption_target(pod: &Pod, now: Time, reason: &str, message: &str) -> Value {
    let mut condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
    });
    if !matches!(pod.disruption_target, Some((Status::True, _))) {
        condition["lastTransitionTime"] = json!(now);
    }
    condition
}

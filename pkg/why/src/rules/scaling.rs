//! Autoscalers and disruption budgets.

use api::{Deployment, Kind, Pod, ReplicaSet, ReplicationController, Resource, StatefulSet};

use super::pod::{is_active, is_ready};
use super::workloads::pods;
use crate::json::{condition, condition_is, count, labels, said, selects, since, text};
use crate::look::{Look, Sought, Thing};

/// The targets that are followed; a custom one is only named.
fn scalable(kind: &str) -> Option<Resource> {
    match kind {
        "Deployment" => Some(Deployment::RESOURCE),
        "ReplicaSet" => Some(ReplicaSet::RESOURCE),
        "StatefulSet" => Some(StatefulSet::RESOURCE),
        "ReplicationController" => Some(ReplicationController::RESOURCE),
        _ => None,
    }
}

pub(super) fn autoscaler(look: &mut Look<'_>, it: &Thing) {
    let json = &it.json;
    let (kind, name) = (it.text("/spec/scaleTargetRef/kind"), it.text("/spec/scaleTargetRef/name"));
    let (kind, name) = (kind.to_owned(), name.to_owned());
    let target = format!("{}/{name}", kind.to_lowercase());
    let found = match scalable(&kind) {
        Some(kind) => look.get(&kind, it.namespace(), &name),
        None => Sought::Unknown,
    };
    if let Sought::Absent = found {
        look.stuck(it, format!("scales nothing: there is no {target}"))
            .waiting_for(format!("{target}, to exist"));
        return;
    }
    let (current, desired) =
        (count(json, "/status/currentReplicas"), count(json, "/status/desiredReplicas"));
    if let Some(able) = condition_is(json, "AbleToScale", "False") {
        look.stuck(it, format!("cannot scale {target}: {}", said(able))).since(since(able));
    }
    if let Some(active) = condition_is(json, "ScalingActive", "False") {
        let what = match text(active, "/reason") {
            "ScalingDisabled" => "somebody to give its target replicas: with 0 it is switched off",
            _ => "the metric: does its API answer (metrics-server, or an adapter)?",
        };
        look.stuck(it, format!("does not scale {target}: {}", said(active)))
            .since(since(active))
            .waiting_for(what);
    }
    if condition_is(json, "ScalingActive", "False").is_some() {
        // How many it would want is not known.
    } else if condition(json, "AbleToScale").is_none() {
        look.waits(it, "has not been looked at yet").next("its controller does so every 15 s");
    } else if current == desired {
        let limited = condition_is(json, "ScalingLimited", "True");
        let limited = limited.map(|it| format!("; limited: {}", text(it, "/message")));
        let limited = limited.unwrap_or_default();
        look.note(it, format!("keeps {target} at {}{limited}", pods(current)));
    } else {
        look.waits(it, format!("scales {target} from {current} to {}", pods(desired)));
    }
    if let Sought::There(target) = found {
        look.follow(&target);
    }
}

pub(super) fn budget(look: &mut Look<'_>, it: &Thing) {
    let json = &it.json;
    let allowed = count(json, "/status/disruptionsAllowed");
    let (healthy, desired) =
        (count(json, "/status/currentHealthy"), count(json, "/status/desiredHealthy"));
    let expected = count(json, "/status/expectedPods");
    let condition = condition(json, "DisruptionAllowed");
    if it.is_behind() || condition.is_none() {
        look.waits(it, "has not been looked at by its controller yet");
        return;
    }
    if let Some(failed) = condition_is(json, "DisruptionAllowed", "False")
        && text(failed, "/reason") == "SyncFailed"
    {
        look.stuck(it, format!("refuses all evictions: {}", text(failed, "/message")))
            .since(since(failed))
            .waiting_for("pods of controllers whose number of replicas can be known");
        return;
    }
    if allowed > 0 {
        let healthy = format!("{healthy} of {expected} pods are healthy, {desired} must be");
        look.note(it, format!("allows {allowed} evictions now: {healthy}"));
        return;
    }
    let selector = json.pointer("/spec/selector");
    let all = look.list(&Pod::RESOURCE, it.namespace());
    let selected = all.into_iter().filter(|pod| {
        selects(selector, &labels(&pod.json, "/metadata/labels")) && is_active(&pod.json)
    });
    let selected: Vec<_> = selected.collect();
    if expected == 0 && selected.is_empty() {
        look.note(it, "selects no pods, so it refuses nothing");
        return;
    }
    if expected == 0 {
        let many = pods(i64::try_from(selected.len()).unwrap_or(i64::MAX));
        look.stuck(
            it,
            format!("refuses all evictions: it selects {many} that no controller manages"),
        )
        .waiting_for("minAvailable as a number: only that can be counted without a controller");
        return;
    }
    let at = condition.and_then(since);
    let limit = match (json.pointer("/spec/minAvailable"), json.pointer("/spec/maxUnavailable")) {
        (Some(least), _) => format!("minAvailable {least}"),
        (None, Some(most)) => format!("maxUnavailable {most}"),
        (None, None) => "no limit".to_owned(),
    };
    let cause = format!(
        "refuses evictions: {healthy} of {expected} pods are healthy, and {desired} must be \
         ({limit})"
    );
    if healthy >= expected {
        look.stuck(it, cause)
            .since(at)
            .waiting_for("a budget with room, or more pods: all are healthy");
    } else {
        look.stuck(it, cause).since(at).waiting_for("the other pods, to be healthy");
    }
    let bad: Vec<_> = selected.into_iter().filter(|pod| !is_ready(&pod.json)).collect();
    look.follow_alike(&bad);
}

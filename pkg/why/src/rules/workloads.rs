//! What makes pods: Deployments, ReplicaSets, StatefulSets, DaemonSets.

use std::time::Duration;

use api::{Kind, ReplicaSet, ResourceQuota};
use serde_json::Value;

use super::pod::{is_active, is_ready, pods_of, unready};
use crate::Severity;
use crate::json::{condition_is, count, flag, number, since, text, time};
use crate::look::{Look, Sought, Thing, event_time};

/// The revision of a ReplicaSet.
const REVISION: &str = "/metadata/annotations/deployment.kubernetes.io~1revision";
/// For how long a controller may not have seen a change of a spec.
const SEEN_MAX: Duration = Duration::from_secs(30);

pub(super) fn deployment(look: &mut Look<'_>, it: &Thing) {
    if is_behind(look, it) {
        return;
    }
    let json = &it.json;
    let want = number(json, "/spec/replicas").unwrap_or(1);
    let all = count(json, "/status/replicas");
    let updated = count(json, "/status/updatedReplicas");
    let available = count(json, "/status/availableReplicas");
    let is_complete = updated == want && all == want && available >= want;
    if is_complete {
        look.note(it, format!("has {} of its last revision available", all_pods(want)));
        return;
    }
    let (late, progress) = progress(json);
    let cause = format!(
        "rolls out: of {} wanted, {updated} are of the new revision, {} old, {available} available",
        pods(want),
        (all - updated).max(0)
    );
    if flag(json, "/spec/paused") {
        look.stuck(it, "is paused, so its rollout does not go on")
            .waiting_for("somebody to resume it (kubectl rollout resume)");
    } else if late {
        let limit = number(json, "/spec/progressDeadlineSeconds").unwrap_or(600);
        look.stuck(it, format!("{cause}; no progress in {limit} s")).since(progress);
    } else {
        look.waits(it, cause).since(progress);
    }
    let sets = look.list(&ReplicaSet::RESOURCE, it.namespace());
    let mut sets: Vec<_> = sets.into_iter().filter(|set| it.manages(&set.json)).collect();
    sets.retain(|set| {
        count(&set.json, "/spec/replicas") > 0 || count(&set.json, "/status/replicas") > 0
    });
    sets.sort_by_key(|set| std::cmp::Reverse(set.text(REVISION).parse::<i64>().unwrap_or(0)));
    let mut sets = sets.into_iter();
    if let Some(newest) = sets.next() {
        look.follow(&newest);
    }
    for old in sets {
        look.follow(&old);
    }
}

/// Whether a Deployment has made no progress for too long, and since when it is so.
fn progress(json: &Value) -> (bool, Option<api::Time>) {
    match condition_is(json, "Progressing", "False") {
        Some(it) => (text(it, "/reason") == "ProgressDeadlineExceeded", since(it)),
        None => (false, None),
    }
}

pub(super) fn replica_set(look: &mut Look<'_>, it: &Thing) {
    if is_behind(look, it) {
        return;
    }
    let want = number(&it.json, "/spec/replicas").unwrap_or(1);
    if let Some(failure) = condition_is(&it.json, "ReplicaFailure", "True") {
        refused(look, it, text(failure, "/reason"), text(failure, "/message"), since(failure));
    }
    pods_there(look, it, want);
    if let Some(failure) = condition_is(&it.json, "ReplicaFailure", "True") {
        follow_quota(look, it, text(failure, "/message"));
    }
}

/// Compares the pods of an owner with how many it wants, and follows those that are not ready.
fn pods_there(look: &mut Look<'_>, it: &Thing, want: i64) {
    let Some(all) = pods_of(look, it) else {
        let (have, ready) =
            (count(&it.json, "/status/replicas"), count(&it.json, "/status/readyReplicas"));
        let cause = format!("wants {}, has {have}, {ready} ready", pods(want));
        if have == want && ready == want {
            look.note(it, cause);
        } else {
            look.waits(it, cause).waiting_for("what its pods wait for, which may not be read here");
        }
        return;
    };
    let active: Vec<_> = all.iter().filter(|pod| is_active(&pod.json)).cloned().collect();
    let have = i64::try_from(active.len()).unwrap_or(i64::MAX);
    let ready = active.iter().filter(|pod| is_ready(&pod.json)).count();
    if have == want && i64::try_from(ready).is_ok_and(|ready| ready == want) {
        look.note(it, format!("has {}, ready", all_pods(want)));
    } else if have < want {
        look.waits(it, format!("wants {}, has {have}, {ready} ready", pods(want)))
            .next("its controller creates the others");
    } else if have > want {
        look.waits(it, format!("wants {}, has {have}", pods(want)))
            .next("its controller deletes the others");
    } else {
        look.waits(it, format!("has {}, {ready} ready", all_pods(want)));
    }
    look.follow_alike(&unready(&all));
}

/// Pods that the API server refuses.
pub(super) fn refused(
    look: &mut Look<'_>,
    it: &Thing,
    reason: &str,
    message: &str,
    since: Option<api::Time>,
) {
    let verb = if reason == "FailedDelete" { "delete" } else { "create" };
    let help = [
        ("exceeded quota", "room in the quota, or pods that ask for less"),
        ("must specify", "a quota's limits, to be set on the pods (or by a LimitRange)"),
        ("serviceaccount", "the service account that its pods name"),
        ("service account", "the service account that its pods name"),
        ("no PriorityClass", "the PriorityClass that its pods name"),
        ("violates PodSecurity", "pods that the namespace's PodSecurity level admits"),
        ("denied the request", "the admission webhook, to admit its pods"),
        ("failed calling webhook", "the admission webhook, to answer"),
    ];
    let help = help.iter().find(|(sign, _)| message.contains(sign)).map(|(_, help)| *help);
    look.stuck(it, format!("cannot {verb} pods: {}", message.trim_end_matches('.')))
        .since(since)
        .waiting_for(help.unwrap_or("the API server, to admit its pods"))
        .next("its controller tries again with a growing delay");
}

/// Follows the quota that a refusal names.
fn follow_quota(look: &mut Look<'_>, it: &Thing, message: &str) {
    let quota = message.split_once("exceeded quota: ").and_then(|(_, rest)| rest.split(',').next());
    if let Some(quota) = quota
        && let Sought::There(quota) = look.get(&ResourceQuota::RESOURCE, it.namespace(), quota)
    {
        look.follow(&quota);
    }
}

/// What is used of a quota.
pub(super) fn quota(look: &mut Look<'_>, it: &Thing) {
    let hard = it.json.pointer("/status/hard").and_then(Value::as_object);
    let used = |name: &str| {
        let used = it.json.pointer("/status/used").and_then(|used| used.get(name));
        used.and_then(Value::as_str).unwrap_or("0").to_owned()
    };
    let lines: Vec<_> = hard
        .into_iter()
        .flatten()
        .map(|(name, hard)| format!("{} of {} {name}", used(name), hard.as_str().unwrap_or("0")))
        .collect();
    if lines.is_empty() {
        look.waits(it, "has no status yet, so it limits nothing");
    } else {
        look.note(it, format!("has in use: {}", lines.join(", ")));
    }
}

/// A refusal that only Events show: one that is newer than the last success.
pub(super) fn refused_by_events(look: &mut Look<'_>, it: &Thing) -> bool {
    let failure = look.event(it, &["FailedCreate"]);
    let success = look.event(it, &["SuccessfulCreate"]);
    let Some(failure) = failure else { return false };
    if success.is_some_and(|it| event_time(&it) > event_time(&failure)) {
        return false;
    }
    let message = text(&failure, "/message");
    let message = message.split_once(" failed error: ").map_or(message, |(_, why)| why);
    refused(look, it, "FailedCreate", message, time(&failure, "/firstTimestamp"));
    true
}

pub(super) fn stateful_set(look: &mut Look<'_>, it: &Thing) {
    if is_behind(look, it) {
        return;
    }
    let json = &it.json;
    let want = number(json, "/spec/replicas").unwrap_or(1);
    let Some(mut all) = pods_of(look, it) else {
        pods_there(look, it, want);
        return;
    };
    all.sort_by_key(|pod| ordinal(pod.name()));
    let bad = unready(&all);
    let have = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let ready = have - i64::try_from(bad.len()).unwrap_or(i64::MAX);
    let is_parallel = it.text("/spec/podManagementPolicy") == "Parallel";
    let start = look.findings.len();
    if have < want {
        refused_by_events(look, it);
    }
    if have != want || ready != want {
        let found = look.waits(it, format!("wants {}, has {have}, {ready} ready", pods(want)));
        match bad.first() {
            Some(first) if !is_parallel && have < want => {
                found.waiting_for(format!("{}, before it creates the next", first.subject()));
            }
            _ => {}
        }
    }
    let is_held = revisions(look, it, (want, ready), &bad);
    let before = look.findings.len();
    if is_parallel {
        look.follow_alike(&bad);
    } else if let Some(first) = bad.first() {
        look.follow(first);
    }
    if is_held {
        look.demote_since(before);
    }
    if look.findings.len() == start {
        look.note(it, format!("has {} of its last revision ready", all_pods(want)));
    }
}

/// Pods of a StatefulSet that are not of its last revision. True: one that is broken holds the
/// update, and not what it is broken by.
fn revisions(look: &mut Look<'_>, it: &Thing, (want, ready): (i64, i64), bad: &[Thing]) -> bool {
    let json = &it.json;
    let (current, update) = (it.text("/status/currentRevision"), it.text("/status/updateRevision"));
    let updated = count(json, "/status/updatedReplicas");
    if current == update || updated >= want {
        return false;
    }
    let old = want - updated;
    if it.text("/spec/updateStrategy/type") == "OnDelete" {
        look.stuck(it, format!("has {} of an old revision, and updates none by itself", pods(old)))
            .waiting_for("somebody to delete them: its update strategy is OnDelete");
        return false;
    }
    let partition = count(json, "/spec/updateStrategy/rollingUpdate/partition");
    if partition > 0 && updated >= want - partition {
        look.note(
            it,
            format!("keeps {} of an old revision: its partition is {partition}", pods(old)),
        );
        return false;
    }
    let revision = "/metadata/labels/controller-revision-hash";
    if let Some(first) = bad.iter().find(|pod| pod.text(revision) != update)
        && ready < want
    {
        look.stuck(it, format!("does not replace {}, which is broken and old", first.subject()))
            .waiting_for("somebody to delete it: the update waits for it to be ready first");
        return true;
    }
    look.waits(it, format!("rolls out: {} of an old revision to be replaced", pods(old)));
    false
}

fn ordinal(name: &str) -> u64 {
    name.rsplit_once('-').and_then(|(_, end)| end.parse().ok()).unwrap_or(u64::MAX)
}

pub(super) fn daemon_set(look: &mut Look<'_>, it: &Thing) {
    if is_behind(look, it) {
        return;
    }
    let json = &it.json;
    let want = count(json, "/status/desiredNumberScheduled");
    let have = count(json, "/status/currentNumberScheduled");
    let ready = count(json, "/status/numberReady");
    let updated = count(json, "/status/updatedNumberScheduled");
    let start = look.findings.len();
    if have < want {
        refused_by_events(look, it);
    }
    if have < want || ready < want {
        look.waits(
            it,
            format!("wants {}, one on each node that fits, has {have}, {ready} ready", pods(want)),
        );
    }
    if updated < want && it.text("/spec/updateStrategy/type") == "OnDelete" {
        let old = pods(want - updated);
        look.stuck(it, format!("has {old} of an old revision, and updates none by itself"))
            .waiting_for("somebody to delete them: its update strategy is OnDelete");
    } else if updated < want && have == want {
        look.waits(
            it,
            format!("rolls out: {} of an old revision to be replaced", pods(want - updated)),
        );
    }
    if look.worst_since(start) > Severity::Note
        && let Some(all) = pods_of(look, it)
    {
        look.follow_alike(&unready(&all));
    }
    if want == 0 {
        look.stuck(it, "wants no pods: no node fits its selector, affinity and tolerations");
    }
    if look.findings.len() == start {
        look.note(it, format!("has {}, one on each node that fits, ready", all_pods(want)));
    }
}

/// Says that the controller has not seen the last change of the spec, if it is so.
fn is_behind(look: &mut Look<'_>, it: &Thing) -> bool {
    if !it.is_behind() {
        return false;
    }
    let managed = crate::json::list(&it.json, "/metadata/managedFields").iter();
    let changed = managed.filter_map(|entry| time(entry, "/time")).max();
    let changed = changed.or_else(|| time(&it.json, "/metadata/creationTimestamp"));
    let cause = "has a change that its controller has not seen";
    if changed.is_some_and(|changed| look.now.since(changed) > SEEN_MAX) {
        look.stuck(it, cause)
            .since(changed)
            .waiting_for("its controller: the kube-controller-manager may not run");
    } else {
        look.waits(it, cause).since(changed).next("its controller looks at it");
    }
    true
}

/// All that are wanted: `its pod`, `all 3 pods`.
fn all_pods(count: i64) -> String {
    match count {
        0 => "none, as it wants none,".to_owned(),
        1 => "its pod".to_owned(),
        more => format!("all {more} pods"),
    }
}

/// `1 pod`, `3 pods`.
pub(super) fn pods(count: i64) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

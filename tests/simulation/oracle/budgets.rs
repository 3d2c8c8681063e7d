//! Budgets for disruptions: what their status says, which evicted pods it counts, how many pods may
//! be evicted, and which are no longer marked as disrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::Time;
use serde_json::Value;

use super::fields::{
    at, controlling, count, has_ended, is_ending, is_ready, list, matches, number, part, selector,
    text, uid,
};
use super::{Judged, Oracle};
use crate::site::START;

pub(super) const ACCOUNT: &str = "disruption-controller";
/// How long a pod that was to be disrupted may stay.
const STALE_AFTER: Duration = Duration::from_mins(2);
/// After it an object whose budget failed says so.
const FAILED: &str = "SyncFailed";

/// By namespace and name of a pod: when it last came to its end, or became another one's.
#[derive(Default)]
pub(super) struct Ends(BTreeMap<(String, String), u64>);

// === impl Ends ===

impl Ends {
    /// A pod has changed.
    pub(super) fn learn(&mut self, before: Option<&Value>, after: Option<&Value>, revision: u64) {
        let Some(before) = before else { return };
        let has_ended = !is_ending(before) && after.is_none_or(is_ending);
        let labels = |pod: &Value| at(pod, "/metadata/labels").clone();
        let is_other = after.is_some_and(|after| labels(after) != labels(before));
        if has_ended || is_other {
            self.0.insert(key_of(before), revision);
        }
    }
}

impl Oracle {
    /// The numbers of a budget fit each other, and its spec.
    pub(super) fn budget_numbers(it: &Judged<'_>) -> Option<String> {
        let (_, budget) = written(it)?;
        let status = |field: &str| number(budget, &format!("/status/{field}"));
        let (desired, allowed) = (status("desiredHealthy"), status("disruptionsAllowed"));
        let healthy = status("currentHealthy");
        let expected = status("expectedPods");
        let wrong = if reason(budget) == FAILED {
            allowed != 0
        } else {
            let wanted = desired_of(budget, expected);
            let may = if expected > 0 { (healthy - wanted).max(0) } else { 0 };
            (desired, allowed) != (wanted, may)
        };
        wrong.then(|| format!("{it}: {} {}", at(budget, "/spec"), at(budget, "/status")))
    }

    /// A pod that may be evicted counts as evicted until its end is seen, or two minutes have
    /// passed.
    pub(super) fn evicted_counts(&self, it: &Judged<'_>) -> Option<String> {
        let (before, budget) = written(it)?;
        let namespace = text(budget, "/metadata/namespace");
        let told = self.knowledge.told(it.life, "pods");
        let now = self.latest(it);
        let kept = at(budget, "/status/disruptedPods");
        let dropped = at(before, "/status/disruptedPods").as_object().into_iter().flatten();
        let mut dropped = dropped.filter(|(name, _)| kept.get(name.as_str()).is_none());
        let lost = dropped.find(|(name, since)| {
            let key = (namespace.to_owned(), (*name).clone());
            let may_know = self.ends.0.get(&key).is_some_and(|end| *end <= told);
            let pod = self.objects.get("Pod", namespace, name);
            let born = pod.and_then(|pod| self.born.get(uid(pod)));
            let is_known = born.is_none_or(|born| self.knows("Pod", *born));
            let is_selected = pod.is_none_or(|pod| matches(pod, selector(before)));
            let since = since.as_str().and_then(|since| Time::parse(since).ok());
            let is_young = since.is_some_and(|since| now < since + STALE_AFTER);
            let was_there = pod.is_some() || self.ends.0.contains_key(&key);
            was_there && !may_know && is_known && is_selected && is_young
        });
        lost.map(|(name, since)| format!("{it}: {name}, evicted at {since}, is forgotten"))
    }

    /// A status lets no more pods be evicted than those permit that really were healthy, now or at
    /// some moment since its controller last looked.
    pub(super) fn spares_too_few(&self, it: &Judged<'_>) -> Option<String> {
        let (before, budget) = written(it)?;
        let status = |field: &str| number(budget, &format!("/status/{field}"));
        let most = self.most_healthy(before, self.latest(it));
        // If how many pods there should be is not known, this figure stays as it was: `failSafe` in
        // upstream's pkg/controller/disruption/disruption.go.
        let is_counted = reason(budget) != FAILED;
        let counts_more = is_counted && status("currentHealthy") > most;
        let allows_more = status("disruptionsAllowed") > (most - status("desiredHealthy")).max(0);
        let wrong = || format!("{it}: {most} were healthy at most, {}", at(budget, "/status"));
        (counts_more || allows_more).then(wrong)
    }

    /// How many pods of a budget were healthy at most, of all states since its controller last
    /// looked. As `buildDisruptedPodMap` and `countHealthyPods` in upstream's
    /// pkg/controller/disruption/disruption.go, which go by the name of a pod.
    fn most_healthy(&self, budget: &Value, now: Time) -> i64 {
        let namespace = text(budget, "/metadata/namespace");
        let evicted = at(budget, "/status/disruptedPods");
        let is_expected_to_go = |name: &str| {
            let since = evicted.get(name).and_then(|since| Time::parse(since.as_str()?).ok());
            since.is_some_and(|since| now < since + STALE_AFTER)
        };
        let is_healthy = |name: &str, pod: &Value| {
            let counts = matches(pod, selector(budget)) && is_ready(pod) && !is_ending(pod);
            counts && !is_expected_to_go(name)
        };
        let here =
            self.objects.of_kind("Pod").filter(|it| text(it, "/metadata/namespace") == namespace);
        let here = here.map(|pod| (text(pod, "/metadata/name"), pod));
        let healthy = here.filter(|(name, pod)| is_healthy(name, pod)).map(|(name, _)| name);
        let mut healthy: BTreeSet<&str> = healthy.collect();
        let mut most = healthy.len();
        for ((kind, of, name), before) in self.objects.before(self.seen("Pod")) {
            if kind != "Pod" || of != namespace {
                continue;
            }
            if before.as_ref().is_some_and(|pod| is_healthy(name, pod)) {
                healthy.insert(name);
            } else {
                healthy.remove(name.as_str());
            }
            most = most.max(healthy.len());
        }
        count(most)
    }

    /// What the one who decided on a write took for now, at the latest.
    fn latest(&self, it: &Judged<'_>) -> Time {
        START + it.at + self.clocks.ahead(it.life, self.decider.begun)
    }

    /// Why a pod stays marked.
    pub(super) fn stays_marked(&self, pod: &Value, it: &Judged<'_>) -> Option<&'static str> {
        if it.target.plural != "pods" {
            return None;
        }
        let Some(since) = marked_since(pod) else { return Some("the pod is not marked") };
        if is_ending(pod) || has_ended(pod) {
            return Some("the pod ends");
        }
        (self.latest(it) < since + STALE_AFTER).then_some("the pod may still be disrupted")
    }

    /// Whether a clock that was behind may have made a pod or a budget wait for too long.
    pub(super) fn waits_too_long(&self, object: &Value) -> bool {
        let waits = marked_since(object).is_some() || has_evicted(object);
        waits && self.clocks.were_behind()
    }

    /// What a budget still lacks.
    pub(super) fn budget_lacks(&self, budget: &Value) -> Option<String> {
        let namespace = text(budget, "/metadata/namespace");
        let is_selected = |pod: &&Arc<Value>| {
            text(pod, "/metadata/namespace") == namespace && matches(pod, selector(budget))
        };
        let pods: Vec<_> = self.objects.of_kind("Pod").filter(is_selected).collect();
        let status = at(budget, "/status");
        let Some(expected) = self.expected_of(budget, &pods) else {
            let is_safe =
                reason(budget) == FAILED && number(budget, "/status/disruptionsAllowed") == 0;
            return (!is_safe).then(|| format!("nobody knows how many pods, status {status}"));
        };
        let healthy = count(pods.iter().filter(|pod| !is_ending(pod) && is_ready(pod)).count());
        let fields = ["observedGeneration", "currentHealthy", "desiredHealthy", "expectedPods"];
        let desired = desired_of(budget, expected);
        let wanted = [number(budget, "/metadata/generation"), healthy, desired, expected];
        let is = fields.map(|field| number(budget, &format!("/status/{field}")));
        let is_done = is == wanted && !has_evicted(budget) && reason(budget) != FAILED;
        (!is_done).then(|| format!("should have {wanted:?}, status {status}"))
    }

    /// How many pods there should be; none: that cannot be known.
    fn expected_of(&self, budget: &Value, pods: &[&Arc<Value>]) -> Option<i64> {
        if at(budget, "/spec/minAvailable").is_number() {
            return Some(count(pods.len()));
        }
        let mut sizes = BTreeMap::new();
        for owner in pods.iter().filter_map(|pod| controlling(pod)) {
            let (kind, object) = self.sized_owner(owner)?;
            let above = controlling(object).filter(|above| text(above, "/kind") == "Deployment");
            let above = above.filter(|_| kind == "ReplicaSet");
            let above = above.and_then(|above| self.sized_owner(above));
            let (_, workload) = above.unwrap_or((kind, object));
            sizes.insert(uid(workload), number(workload, "/spec/replicas"));
        }
        Some(sizes.values().sum())
    }

    /// A workload that a reference means, if its size can be known.
    fn sized_owner(&self, owner: &Value) -> Option<(&str, &Value)> {
        let (key, object) = self.objects.find(text(owner, "/uid"))?;
        let group = text(owner, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let is_it = (text(owner, "/kind"), text(owner, "/name")) == (&*key.0, &*key.2);
        let has_size = match key.0.as_str() {
            "ReplicationController" => group.is_empty(),
            "ReplicaSet" | "StatefulSet" | "Deployment" => group == "apps",
            _ => false,
        };
        (is_it && has_size).then_some((key.0.as_str(), &**object))
    }
}

/// What a pod lacks if it is still marked.
pub(super) fn pod_lacks(pod: &Value) -> Option<String> {
    let is_stale = !has_ended(pod) && marked_since(pod).is_some();
    is_stale.then(|| "is still marked as disrupted".to_owned())
}

/// The budget whose status the controller writes: before and after that.
fn written<'a>(it: &'a Judged<'_>) -> Option<(&'a Value, &'a Value)> {
    let is_budget = it.account == ACCOUNT && it.target.plural == "poddisruptionbudgets";
    let before = it.changed().filter(|_| is_budget)?;
    Some((before, it.got))
}

fn has_evicted(budget: &Value) -> bool {
    at(budget, "/status/disruptedPods").as_object().is_some_and(|evicted| !evicted.is_empty())
}

fn desired_of(budget: &Value, expected: i64) -> i64 {
    match (at(budget, "/spec/maxUnavailable"), at(budget, "/spec/minAvailable")) {
        (Value::Null, min) => part(min, expected, true),
        (max, _) => (expected - part(max, expected, true)).max(0),
    }
}

fn reason(budget: &Value) -> &str {
    let conditions = list(budget, "/status/conditions").iter();
    let mut conditions = conditions.filter(|it| text(it, "/type") == "DisruptionAllowed");
    conditions.next().map_or("", |it| text(it, "/reason"))
}

/// Since when a pod is marked as disrupted, if it is.
fn marked_since(pod: &Value) -> Option<Time> {
    let mut conditions = list(pod, "/status/conditions").iter();
    let mark = conditions.find(|it| text(it, "/type") == "DisruptionTarget")?;
    let is_set = text(mark, "/status") == "True" && text(mark, "/reason") != "TerminationByKubelet";
    let since = Time::parse(text(mark, "/lastTransitionTime")).unwrap_or(Time::EPOCH);
    is_set.then_some(since)
}

fn key_of(pod: &Value) -> (String, String) {
    let part = |path| text(pod, path).to_owned();
    (part("/metadata/namespace"), part("/metadata/name"))
}

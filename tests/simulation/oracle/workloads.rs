//! How many pods there are, how many are available, and which are deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::fields::{
    at, controller, count, is_live, is_ready, list, node_of, number, part, slack, text, uid,
};
use super::knowledge::Decider;
use super::{Check, DAEMONS, Judged, Oracle, SETS};
use crate::attaching::OUT_OF_SERVICE;

/// What a spec allowed, and at which revision it became another; the last one still does.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits(Vec<(u64, Limit)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// Pods; of a DaemonSet: nodes that may have two.
    most: i64,
    /// Of a ReplicaSet: pods; of a DaemonSet: nodes that may have none.
    least: i64,
}

impl Limits {
    /// What a spec allows now.
    fn learn(&mut self, limit: Limit, now: u64) {
        if let Some((until, last)) = self.0.last_mut() {
            if *last == limit {
                return;
            }
            *until = now;
        }
        self.0.push((u64::MAX, limit));
    }

    /// What a spec allowed at this revision or since then.
    fn since(&self, then: u64) -> impl Iterator<Item = Limit> {
        let known = self.0.iter().filter(move |(until, _)| *until > then);
        known.map(|(_, limit)| *limit)
    }

    pub(super) fn most(&self, since: u64) -> i64 {
        self.since(since).map(|it| it.most).max().unwrap_or(i64::MAX)
    }

    /// Whether it ever was the most.
    pub(super) fn had_most(&self, most: i64, since: u64) -> bool {
        self.since(since).any(|it| it.most == most)
    }

    fn least(&self, since: u64) -> i64 {
        self.since(since).map(|it| it.least).min().unwrap_or(0)
    }

    fn least_max(&self, since: u64) -> i64 {
        self.since(since).map(|it| it.least).max().unwrap_or(0)
    }
}

impl Oracle {
    /// Notes what a spec allows.
    pub(super) fn learn_limits(&mut self, kind: &str, object: &Value) {
        let replicas = number(object, "/spec/replicas");
        let limit = match kind {
            "ReplicaSet" | "ReplicationController" => Limit { most: replicas, least: replicas },
            "Deployment" => {
                let (surge, missing) = slack(object);
                let floor = replicas - missing;
                // A change of the promise may get the less of both.
                if let Some(promised) = self.promised.get_mut(uid(object)) {
                    promised.least = floor.min(promised.least);
                }
                Limit { most: replicas + surge, least: floor }
            }
            "DaemonSet" => {
                let nodes = count(self.objects.of_kind("Node").count());
                let rolling = at(object, "/spec/updateStrategy/rollingUpdate");
                let surge = part(at(rolling, "/maxSurge"), nodes, true);
                let missing = part(at(rolling, "/maxUnavailable"), nodes, true);
                let places =
                    ["/spec/template/spec/nodeSelector", "/spec/template/spec/tolerations"];
                let place = places.map(|it| at(object, it).clone());
                if self.places.insert(uid(object).to_owned(), place.clone()) != Some(place) {
                    self.shake(uid(object), "DaemonSet");
                }
                Limit { most: surge, least: if surge == 0 { missing.max(1) } else { missing } }
            }
            _ => return,
        };
        self.limits.entry(uid(object).to_owned()).or_default().learn(limit, self.revision);
    }

    // === ReplicaSets ===

    /// A set has no more pods than its spec allows.
    pub(super) fn too_many_replicas(&self, it: &Judged<'_>) -> Option<String> {
        let owner = it.owner_of_new_pod(&SETS)?;
        let pods = self.objects.children("Pod", owner);
        let live = pods.filter(|pod| is_live(pod) && !self.is_of_another(pod, it)).count();
        let (key, _) = self.objects.find(owner)?;
        let limit = self.limits.get(owner)?.most(self.seen(&key.0));
        let name = text(it.got, "/metadata/generateName");
        (count(live) > limit)
            .then(|| format!("{name} has {live} pods, its spec says {limit} at most"))
    }

    /// Whether another manager, which may have led meanwhile, has created a pod, and the sync that
    /// decided on the present write cannot know of that.
    fn is_of_another(&self, pod: &Value, it: &Judged<'_>) -> bool {
        let born = self.born.get(uid(pod)).copied().unwrap_or(0);
        !self.knows("Pod", born) && self.makers.get(uid(pod)).is_some_and(|maker| maker != it.life)
    }

    /// The set of the pod that a set controller deletes, and what else it has that is live; none:
    /// another client did something to them that no sync need know yet.
    fn rest_of_set<'a>(&'a self, it: &'a Judged<'_>) -> Option<(&'a str, Vec<&'a Arc<Value>>)> {
        let pod = it.live_pod_of(&SETS)?;
        let owner = controller(pod).filter(|owner| !self.is_shaken(owner))?;
        self.objects.find(owner)?;
        let others = self.objects.children("Pod", owner);
        Some((owner, others.filter(|it| is_live(it) && uid(it) != uid(pod)).collect()))
    }

    /// A set gives up only as many pods as it has too many.
    pub(super) fn deletes_too_many(&self, it: &Judged<'_>) -> Option<String> {
        let (owner, others) = self.rest_of_set(it)?;
        let (key, _) = self.objects.find(owner)?;
        let least = self.limits.get(owner).map_or(0, |limits| limits.least(self.seen(&key.0)));
        let left = count(others.len());
        (left < least).then(|| format!("{} leaves {left} pods, its set wants {least}", it.path))
    }

    /// A set gives up a ready pod although it has one that is not, as it seems.
    pub(super) fn learn_victim(&mut self, it: &Judged<'_>) {
        let known = |pod: &Value| {
            let ready = self.ready_since.get(uid(pod))?;
            self.knows("Pod", ready.revision).then_some(ready.is)
        };
        let Some(pod) = it.live_pod_of(&SETS).filter(|pod| known(pod) == Some(true)) else {
            return;
        };
        let Some((_, others)) = self.rest_of_set(it) else { return };
        let is_better =
            |it: &Value| text(it, "/status/phase") == "Running" && known(it) == Some(false);
        let victim = others.iter().find(|it| is_better(it)).map(|better| Victim {
            decider: self.decider.clone(),
            account: it.account.to_owned(),
            taken: text(pod, "/metadata/name").to_owned(),
            better: uid(better).to_owned(),
        });
        self.victims.extend(victim);
    }

    /// Judges those that were deleted in syncs that are over.
    pub(super) fn judge_victims(&mut self) {
        self.ask(|oracle, check| match check {
            Check::Looked(check) => check(oracle),
            _ => None,
        });
        let knowledge = &self.knowledge;
        self.victims.retain(|it| !knowledge.is_over(&it.decider, &it.account));
    }

    /// Pods that should have gone before others are gone after the sync in which these went.
    pub(super) fn wrong_victim(&self) -> Option<String> {
        self.victims.iter().find_map(|Victim { decider, account, taken, better }| {
            // A pod that has ended did not become available.
            let is_due = self.knowledge.runs(decider) && self.knowledge.is_over(decider, account);
            let (key, pod) = self.objects.find(better).filter(|_| is_due)?;
            let path = format!("/api/v1/namespaces/{}/pods/{}", key.1, key.2);
            let is_tried = self.tries.has_deleted(&path, decider.begun);
            (is_live(pod) && !is_ready(pod) && !is_tried)
                .then(|| format!("{taken} was deleted, and {} is not ready", key.2))
        })
    }

    // === DaemonSets ===

    /// The pods of a DaemonSet that the sync that created another one can know of, with that one.
    fn daemons(&self, it: &Judged<'_>, owner: &str) -> Vec<&Arc<Value>> {
        let pods = self.objects.children("Pod", owner);
        pods.filter(|pod| is_live(pod) && !self.is_of_another(pod, it)).collect()
    }

    fn most_surge(&self, owner: &str) -> i64 {
        self.limits.get(owner).map_or(0, |limits| limits.most(self.seen("DaemonSet")))
    }

    /// A node has one pod of a DaemonSet, or two with a surge.
    pub(super) fn daemons_on_a_node(&self, it: &Judged<'_>) -> Option<String> {
        let owner = it.owner_of_new_pod(&[DAEMONS])?;
        let node = node_of(it.got);
        let pods = self.daemons(it, owner);
        let live = count(pods.iter().filter(|pod| node_of(pod) == node).count());
        let limit = 1 + i64::from(self.most_surge(owner) > 0);
        let name = text(it.got, "/metadata/generateName");
        (live > limit).then(|| format!("{name} has {live} pods for {node}, {limit} at most"))
    }

    /// No more nodes have two pods of a DaemonSet than its surge allows.
    pub(super) fn daemon_surge(&self, it: &Judged<'_>) -> Option<String> {
        let owner = it.owner_of_new_pod(&[DAEMONS])?;
        let pods = self.daemons(it, owner);
        let on = |node: &str| pods.iter().filter(|pod| node_of(pod) == node).count();
        let surge = self.most_surge(owner);
        let nodes: BTreeSet<_> = pods.iter().map(|pod| node_of(pod)).collect();
        // Where none is available the next one is made beyond all surge, as upstream's.
        let served =
            |node: &str| pods.iter().any(|pod| node_of(pod) == node && self.serves(owner, pod));
        let is_double = |node: &&str| on(node) > 1 && served(node);
        let double = count(nodes.into_iter().filter(is_double).count());
        let name = text(it.got, "/metadata/generateName");
        (on(node_of(it.got)) > 1 && double > surge && !self.is_shaken(owner))
            .then(|| format!("{name} has two pods on {double} nodes, {surge} at most"))
    }

    /// Whether a pod of an owner is available as far as the sync that decided on the present write
    /// can know.
    fn serves(&self, owner: &str, pod: &Value) -> bool {
        let owner = self.objects.find(owner);
        let waits = owner.map_or(Duration::ZERO, |(_, owner)| min_ready(owner));
        // Without such a time no clock is read.
        let is_timed = !waits.is_zero();
        let Decider { life, begun } = &self.decider;
        let behind = if is_timed { self.clocks.behind(life, *begun) } else { Duration::ZERO };
        let since = begun.saturating_sub(waits + behind);
        let ready = self.ready_since.get(uid(pod));
        ready.is_some_and(|it| it.is && it.at < since && self.knows("Pod", it.revision))
    }

    /// The pod that is deleted if it is the last ready one of its DaemonSet on its node, and the
    /// DaemonSet.
    fn last_daemon<'a>(&self, it: &'a Judged<'_>) -> Option<(&'a Value, &'a str)> {
        let pod = it.live_pod_of(&[DAEMONS])?;
        let (owner, node) = (controller(pod)?, node_of(pod));
        let is_other =
            |it: &Value| uid(it) != uid(pod) && node_of(it) == node && is_live(it) && is_ready(it);
        let has_other = self.objects.children("Pod", owner).any(|it| is_other(it));
        // Of two old ones the younger is deleted, ready or not, as with upstream's
        // (`podsShouldBeOnNode` in daemon_controller.go); seed 2026.
        let born = |pod: &Value| self.born.get(uid(pod)).copied().unwrap_or(0);
        let has_older = self
            .objects
            .children("Pod", owner)
            .any(|it| node_of(it) == node && is_live(it) && born(it) < born(pod));
        // One that is not available is replaced beyond all budget, as upstream's
        // (`rollingUpdate` in update.go); seed 10324.
        (!has_other && !has_older && self.serves(owner, pod)).then_some((pod, owner))
    }

    /// A node loses its last ready pod of a DaemonSet.
    pub(super) fn learn_emptied(&mut self, it: &Judged<'_>) {
        let Some((pod, owner)) = self.last_daemon(it) else { return };
        let nodes = self.emptied.entry(owner.to_owned()).or_default();
        nodes.insert(node_of(pod).to_owned(), it.at);
    }

    /// A DaemonSet takes the last ready pod of a node only while its budget allows it.
    pub(super) fn daemon_budget(&self, it: &Judged<'_>) -> Option<String> {
        let (_, owner) = self.last_daemon(it)?;
        let emptied = self.emptied.get(owner).into_iter().flat_map(BTreeMap::keys);
        // Where there shall be none any more none is missing.
        let set = self.objects.find(owner).map(|(_, set)| set);
        let places = set.map(|set| self.places_of(set)).unwrap_or_default();
        let missing = count(emptied.filter(|it| places.contains(&it.as_str())).count());
        let excused = !self.knows("Node", self.nodes_changed) || self.is_shaken(owner);
        let seen = self.seen("DaemonSet");
        let limit = self.limits.get(owner).map_or(0, |limits| limits.least_max(seen));
        if missing <= limit || excused {
            return None;
        }
        let pods = self.objects.children("Pod", owner).map(|pod| {
            let name = text(pod, "/metadata/name");
            let is_known = self.born.get(uid(pod)).is_some_and(|it| self.knows("Pod", *it));
            let how = [(is_ready(pod), "ready"), (is_live(pod), "live"), (is_known, "known")];
            let how: Vec<_> = how.iter().filter(|(is, _)| *is).map(|(_, how)| *how).collect();
            format!("{name} on {} {}", node_of(pod), how.join(" "))
        });
        let pods = pods.collect::<Vec<_>>().join(", ");
        Some(format!("{} takes from {missing} nodes, {limit} at most: {pods}", it.path))
    }

    // === Deployments ===

    /// A Deployment has made its ReplicaSets larger: not beyond its surge.
    pub(super) fn surge(&self, it: &Judged<'_>) -> Option<String> {
        let owner = it.deployment_of_set()?;
        if self.raised <= 0 || self.is_shaken(owner) {
            return None;
        }
        let sets = self.objects.children("ReplicaSet", owner);
        let sum: i64 = sets.map(|set| number(set, "/spec/replicas")).sum();
        let limit = self.limits.get(owner)?.most(self.seen("Deployment"));
        (sum > limit).then(|| format!("{}: the sets want {sum} pods, {limit} are allowed", it.path))
    }

    /// A user may change the spec again before the last change is done. Nothing is promised for
    /// that: upstream takes from an old ReplicaSet by what its status says, which may count pods
    /// that are already given up, and only where no third ReplicaSet has pods is that made up for.
    pub(super) fn learn_deployment(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let (Some(before), Some(after)) = (before, after) else { return };
        let told = |it: &Value| {
            let fields = ["template", "replicas", "strategy", "minReadySeconds"];
            fields.map(|field| at(it, &format!("/spec/{field}")).clone())
        };
        // One that is paused half-way lacks nothing.
        let is_complete =
            super::ending::deployment_lacks(before).is_none() && at(before, "/spec/paused") != true;
        if told(before) != told(after) && !is_complete {
            self.promised.remove(uid(after));
        }
    }

    /// A ready pod is deleted, or no longer ready: unless a set controller did it that is a loss,
    /// which a sync that scales a set down may not know of.
    pub(super) fn learn_loss(&mut self, set: &str, by_set: bool) {
        let above = self.objects.find(set).and_then(|(_, set)| controller(set)).map(str::to_owned);
        let promise = above.and_then(|above| self.promised.get_mut(&above));
        if let Some(promise) = promise.filter(|_| !by_set) {
            promise.lost.push(self.revision);
        }
    }

    /// A ReplicaSet has changed: which client has scaled it down, or has counted its pods.
    pub(super) fn learn_size(&mut self, before: Option<&Value>, set: &Value, by_manager: bool) {
        let of = |object: &Value, path| at(object, path).clone();
        let pods = match self.writer.as_str() {
            "deployment-controller" if by_manager => controller(set).map(|it| self.known_pods(it)),
            _ => None,
        };
        let is_smaller = |it: &Value| number(set, "/spec/replicas") < number(it, "/spec/replicas");
        if before.is_some_and(is_smaller) {
            self.smaller.insert(uid(set).to_owned(), pods);
        }
        let looked = before.is_none_or(|it| of(it, "/status") != of(set, "/status"));
        if looked && by_manager && self.writer == SETS[0] {
            let looks = self.looks.entry(uid(set).to_owned()).or_default();
            looks.push((self.revision, self.knowledge.seen(&self.decider, "pods")));
        }
    }

    /// Up to which revision the pods of a Deployment are known to the sync that decides on the
    /// present write: from the status of its ReplicaSets, and so as their controller knew them.
    fn known_pods(&self, deployment: &str) -> u64 {
        let seen = self.seen("ReplicaSet");
        let sets = self.objects.children("ReplicaSet", deployment);
        let looks = sets.filter_map(|set| self.looks.get(uid(set)));
        let last = |looks: &Vec<(u64, u64)>| {
            looks.iter().rev().find(|(at, _)| *at <= seen).map_or(0, |(_, pods)| *pods)
        };
        looks.map(last).min().unwrap_or(0)
    }

    /// A ReplicaSet has given up a pod: whether its Deployment has as many available as was
    /// promised, but for those that others deleted and the sync that scaled the set down cannot
    /// know of.
    pub(super) fn available(&self, it: &Judged<'_>) -> Option<String> {
        let gives_up = it.account == SETS[0] && it.method == "DELETE" && it.target.plural == "pods";
        let pod = it.before.as_deref().filter(|_| gives_up)?;
        let (_, set) = self.objects.find(controller(pod)?)?;
        let deployment = controller(set)?;
        let known = match self.smaller.get(uid(set)) {
            // Another client has scaled it down.
            Some(None) => return None,
            Some(Some(known)) => *known,
            None => 0,
        };
        let (key, _) = self.objects.find(deployment)?;
        let promise = self.promised.get(deployment)?;
        let namespace = self.objects.get("Namespace", "", &key.1);
        // All of a namespace is deleted at once.
        let ends = namespace.is_none_or(|it| super::is_ending(it));
        let least = self.limits.get(deployment).map_or(0, |it| it.least(self.seen("Deployment")));
        let lost = count(promise.lost.iter().filter(|lost| **lost > known).count());
        let (ready, least) = (self.ready(deployment), least.min(promise.least));
        (!ends && ready < least - lost).then(|| {
            format!(
                "{}: {}/{} has {ready} pods, {least} are promised, and others took {lost}",
                it.path, key.1, key.2
            )
        })
    }

    /// Whether a clock may say that a pod of a Deployment is not available yet, which then goes as
    /// one that is broken.
    fn is_blurred(&self, deployment: &Value, now: Duration) -> bool {
        let waits = min_ready(deployment);
        let since = now.saturating_sub(waits + self.clocks.any_behind());
        let is_new =
            |pod: &Value| self.ready_since.get(uid(pod)).is_none_or(|it| !it.is || it.at >= since);
        let sets = self.objects.children("ReplicaSet", uid(deployment)).map(|set| super::uid(set));
        let mut pods = sets.flat_map(|set| self.objects.children("Pod", set));
        !waits.is_zero() && pods.any(|pod| is_live(pod) && is_new(pod))
    }

    /// A clock was set: nothing is promised any more where that counts.
    pub(super) fn forget_blurred(&mut self, now: Duration) {
        let mut promised = std::mem::take(&mut self.promised);
        promised.retain(|uid, _| {
            self.objects.find(uid).is_some_and(|(_, it)| !self.is_blurred(it, now))
        });
        self.promised = promised;
    }

    /// How many pods of a Deployment are ready.
    fn ready(&self, uid: &str) -> i64 {
        let sets = self.objects.children("ReplicaSet", uid).map(|set| super::uid(set));
        let pods = sets.flat_map(|set| self.objects.children("Pod", set));
        count(pods.filter(|pod| is_live(pod) && is_ready(pod)).count())
    }

    /// Notes what is promised from now on: those that are complete keep what their strategy says.
    pub(crate) fn promise(&mut self, now: Duration) {
        self.promised
            .retain(|uid, _| self.objects.find(uid).is_some_and(|(_, it)| !super::is_ending(it)));
        let deployments = self.objects.of_kind("Deployment");
        let complete = deployments.filter(|it| {
            let mut sets = self.objects.children("ReplicaSet", uid(it));
            super::ending::deployment_lacks(it).is_none()
                && sets.all(|set| self.set_lacks(set).is_none())
                && self.ready(uid(it)) >= number(it, "/spec/replicas")
                && at(it, "/spec/paused") != true
                && !super::is_ending(it)
                && !self.is_blurred(it, now)
        });
        let promised = complete.filter_map(|it| {
            let least = self.limits.get(uid(it))?.0.last()?.1.least;
            Some((uid(it).to_owned(), least))
        });
        for (uid, least) in promised.collect::<Vec<_>>() {
            self.promised.entry(uid).or_default().least = least;
        }
    }

    /// By how much a write changes the size of a ReplicaSet.
    pub(super) fn learn_raise(&mut self, it: &Judged<'_>) {
        let of = |object: &Value| number(object, "/spec/replicas");
        self.raised = of(it.got) - it.before.as_deref().map_or(0, of);
    }

    /// How many pods have ended.
    pub(super) fn terminated(&self) -> i64 {
        count(self.objects.of_kind("Pod").filter(|pod| super::fields::has_ended(pod)).count())
    }

    /// The nodes that should have a pod of a DaemonSet.
    pub(super) fn places_of<'a>(&'a self, set: &Value) -> Vec<&'a str> {
        self.nodes_for(set, &["NoSchedule", "NoExecute"])
    }

    /// The nodes on which a pod of it may stay: as `NodeShouldRunDaemonPod`, whose
    /// `shouldContinueRunning` minds no taint against scheduling.
    pub(super) fn refuges_of<'a>(&'a self, set: &Value) -> Vec<&'a str> {
        self.nodes_for(set, &["NoExecute"])
    }

    fn nodes_for<'a>(&'a self, set: &Value, effects: &[&str]) -> Vec<&'a str> {
        let spec = at(set, "/spec/template/spec");
        let selector = at(spec, "/nodeSelector");
        let fits = |node: &&std::sync::Arc<Value>| {
            let mut taints = list(node, "/spec/taints").iter();
            super::fields::matches(node, selector)
                && taints.all(|taint| {
                    // Those that every daemon pod is made to bear
                    // (`AddOrUpdateDaemonPodTolerations`), and no other one.
                    let key = text(taint, "/key");
                    key.starts_with("node.kubernetes.io/") && key != OUT_OF_SERVICE
                        || !effects.contains(&text(taint, "/effect"))
                        || super::fields::tolerates(spec, taint)
                })
        };
        let nodes = self.objects.of_kind("Node").filter(fits);
        nodes.map(|node| text(node, "/metadata/name")).collect()
    }
}

/// How long a pod must have been ready to be available.
fn min_ready(owner: &Value) -> Duration {
    let seconds = number(owner, "/spec/minReadySeconds");
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// What is promised to a Deployment.
#[derive(Clone, Debug, Default)]
pub(super) struct Promise {
    /// How many pods must be available.
    least: i64,
    /// When it lost ready pods to others than its controllers.
    lost: Vec<u64>,
}

/// A ready pod that was deleted while another was not ready.
#[derive(Clone, Debug)]
pub(super) struct Victim {
    decider: Decider,
    account: String,
    taken: String,
    /// The uid of the other.
    better: String,
}

//! How many pods there are, how many are available, and which are deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::fields::{
    at, controller, count, is_live, is_ready, list, node_of, number, part, slack, text, uid,
};
use super::{Oracle, Written, is_late};
use crate::lease::RENEW_DEADLINE;

/// What a spec allowed, and until when; the last one still does.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits(Vec<(Duration, Limit)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// Pods; of a DaemonSet: nodes that may have two.
    most: i64,
    /// Of a ReplicaSet: pods; of a DaemonSet: nodes that may have none.
    least: i64,
}

impl Limits {
    /// What a spec allows now.
    fn learn(&mut self, limit: Limit, now: Duration) -> Option<Limit> {
        let last = self.0.last_mut();
        match last {
            Some((until, last)) if *last == limit => *until = now,
            last => {
                let before = last.map(|(until, last)| {
                    *until = now;
                    *last
                });
                self.0.push((now, limit));
                return before;
            }
        }
        None
    }

    /// What a spec allowed at any time since then.
    fn since(&self, then: Duration) -> impl Iterator<Item = Limit> {
        let late = self.0.iter().filter(move |(until, _)| *until >= then);
        late.chain(self.0.last()).map(|(_, limit)| *limit)
    }

    pub(super) fn most(&self, since: Duration) -> i64 {
        self.since(since).map(|it| it.most).max().unwrap_or(i64::MAX)
    }

    /// Whether it ever was the most.
    pub(super) fn had_most(&self, most: i64, since: Duration) -> bool {
        self.since(since).any(|it| it.most == most)
    }

    fn least(&self, since: Duration) -> i64 {
        self.since(since).map(|it| it.least).min().unwrap_or(0)
    }

    fn least_max(&self, since: Duration) -> i64 {
        self.since(since).map(|it| it.least).max().unwrap_or(0)
    }
}

impl Oracle {
    /// Notes what a spec allows.
    pub(super) fn learn_limits(&mut self, kind: &str, object: &Value, now: Duration) {
        let replicas = number(object, "/spec/replicas");
        let limit = match kind {
            "ReplicaSet" | "ReplicationController" => Limit { most: replicas, least: replicas },
            "Deployment" => {
                let (surge, missing) = slack(object);
                let floor = replicas - missing;
                // Who changes what is promised may get the less of both.
                if let Some(promised) = self.promised.get_mut(uid(object)) {
                    *promised = floor.min(*promised);
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
                    self.shaken.insert(uid(object).to_owned(), now);
                }
                Limit { most: surge, least: if surge == 0 { missing.max(1) } else { missing } }
            }
            _ => return,
        };
        self.limits.entry(uid(object).to_owned()).or_default().learn(limit, now);
    }

    // === ReplicaSets ===

    pub(super) fn judge_pod_of_set(&mut self, it: &Written<'_>, owner: &str) {
        // Another manager may have led meanwhile, and made the pod that this one was to be.
        if it.travels >= RENEW_DEADLINE {
            return;
        }
        let live = self.objects.children("Pod", owner).filter(|pod| is_live(pod)).count();
        let Some(limits) = self.limits.get(owner) else { return };
        let limit = limits.most(self.believed(self.tries.decided(owner, it.at)));
        if count(live) > limit {
            let owner = text(it.got, "/metadata/generateName").to_owned();
            let text = format!("{owner} has {live} pods, its spec says {limit} at most");
            self.blame("replicas", text);
        }
    }

    /// A ReplicaSet gives up a pod: only as many as it has too many, and those that are not ready
    /// first.
    pub(super) fn judge_set_deletion(&mut self, it: &Written<'_>, pod: &Value) {
        let Some(owner) = controller(pod).map(str::to_owned) else { return };
        if self.is_shaken(&owner, it.at) {
            return;
        }
        let others = self.objects.children("Pod", &owner);
        let others: Vec<_> = others.filter(|it| is_live(it) && uid(it) != uid(pod)).collect();
        let (left, least) = (count(others.len()), self.limits.get(&owner));
        let least = least.map_or(0, |limits| limits.least(self.believed(it.at)));
        let long = |pod: &Value| {
            let (ready, since) = self.ready_since.get(uid(pod))?;
            (!is_late(*since, it.at)).then_some(*ready)
        };
        let better = others
            .iter()
            .find(|other| text(other, "/status/phase") == "Running" && long(other) == Some(false));
        let better = better.filter(|_| long(pod) == Some(true)).map(|other| Victim {
            at: it.at,
            taken: text(pod, "/metadata/name").to_owned(),
            better: uid(other).to_owned(),
        });
        self.victims.extend(better);
        if left < least {
            let text = format!("{} leaves {left} pods, its set wants {least}", it.path);
            self.blame("deletes-too-many", text);
        }
    }

    /// Whether pods that should have gone before others are still there, a while after these went.
    pub(super) fn judge_victims(&mut self, now: Duration) {
        let (due, rest) = std::mem::take(&mut self.victims)
            .into_iter()
            .partition(|it: &Victim| it.at + SAME_SYNC < now);
        self.victims = rest;
        for Victim { at, taken, better } in due {
            let Some((key, pod)) = self.objects.find(&better) else { continue };
            let path = format!("/api/v1/namespaces/{}/pods/{}", key.1, key.2);
            if is_live(pod) && !is_ready(pod) && !self.tries.has_deleted(&path, at) {
                let text = format!("{taken} was deleted, and {} is not ready", key.2);
                self.blame("victims", text);
            }
        }
    }

    // === DaemonSets ===

    pub(super) fn judge_daemon(&mut self, it: &Written<'_>, owner: &str) {
        // As for a ReplicaSet's.
        if it.travels >= RENEW_DEADLINE {
            return;
        }
        let node = node_of(it.got);
        let pods: Vec<_> = self.objects.children("Pod", owner).filter(|pod| is_live(pod)).collect();
        let on = |node: &str| pods.iter().filter(|pod| node_of(pod) == node).count();
        let live = count(on(node));
        let surge = self.limits.get(owner).map_or(0, |limits| limits.most(self.believed(it.at)));
        let limit = 1 + i64::from(surge > 0);
        let nodes: std::collections::BTreeSet<_> = pods.iter().map(|pod| node_of(pod)).collect();
        // Where none is available the next one is made beyond all surge, as upstream's.
        let set = self.objects.find(owner);
        let waits = set.map_or(0, |(_, set)| number(set, "/spec/minReadySeconds"));
        let waits = Duration::from_secs(u64::try_from(waits).unwrap_or(0));
        let since = self.believed(it.at).saturating_sub(waits);
        let serves = |pod: &Value| {
            let ready = self.ready_since.get(uid(pod));
            ready.is_some_and(|(ready, begun)| *ready && *begun < since)
        };
        let served = |node: &str| pods.iter().any(|pod| node_of(pod) == node && serves(pod));
        let is_double = |node: &&str| on(node) > 1 && served(node);
        let double = count(nodes.into_iter().filter(is_double).count());
        let owner_name = text(it.got, "/metadata/generateName");
        if live > limit {
            let text = format!("{owner_name} has {live} pods for {node}, {limit} at most");
            self.blame("one-daemon-per-node", text);
        } else if live > 1 && double > surge && !self.is_shaken(owner, it.at) {
            let text = format!("{owner_name} has two pods on {double} nodes, {surge} at most");
            self.blame("daemon-surge", text);
        }
    }

    /// A DaemonSet takes the last ready pod of a node only while its budget allows it.
    pub(super) fn judge_daemon_deletion(&mut self, it: &Written<'_>, pod: &Value) {
        let Some(owner) = controller(pod).map(str::to_owned) else { return };
        let node = node_of(pod).to_owned();
        let is_other =
            |it: &Value| uid(it) != uid(pod) && node_of(it) == node && is_live(it) && is_ready(it);
        let has_other = self.objects.children("Pod", &owner).any(|it| is_other(it));
        if has_other || !is_ready(pod) {
            return;
        }
        self.emptied.entry(owner.clone()).or_default().insert(node, it.at);
        let emptied = self.emptied.get(&owner).into_iter().flat_map(BTreeMap::keys);
        // Where there shall be none any more none is missing.
        let set = self.objects.find(&owner).map(|(_, set)| set);
        let places = set.map(|set| self.places_of(set)).unwrap_or_default();
        let missing = count(emptied.filter(|it| places.contains(&it.as_str())).count());
        // Who does not know what came of it tries again when the cache has caught up.
        let first = self.tries.deleted(it.path).unwrap_or(it.at);
        let excused = self.blind
            || self.may_believe(self.nodes_changed, first)
            || self.is_shaken(&owner, it.at);
        let limit =
            self.limits.get(&owner).map_or(0, |limits| limits.least_max(self.believed(it.at)));
        if missing > limit && !excused {
            let text = format!("{} takes from {missing} nodes, {limit} at most", it.path);
            self.blame("daemon-budget", text);
        }
    }

    // === Deployments ===

    /// A Deployment has made its ReplicaSets larger: not beyond its surge.
    pub(super) fn judge_surge(&mut self, it: &Written<'_>) {
        let Some(owner) = controller(it.got).map(str::to_owned) else { return };
        if self.raised <= 0 || self.is_shaken(&owner, it.at) {
            return;
        }
        let sets = self.objects.children("ReplicaSet", &owner);
        let sum: i64 = sets.map(|set| number(set, "/spec/replicas")).sum();
        let Some(limits) = self.limits.get(&owner) else { return };
        let limit = limits.most(self.believed(it.at));
        if sum > limit {
            let text = format!("{}: the sets want {sum} pods, {limit} are allowed", it.path);
            self.blame("surge", text);
        }
    }

    /// Somebody may want something new before the old is done. Nothing is promised for that:
    /// upstream takes from an old ReplicaSet by what its status says, which may count pods that are
    /// already given up, and only where no third ReplicaSet has pods is that made up for.
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

    /// Whether as many pods are available as was promised. To be called after each deletion, and
    /// now and then.
    pub(crate) fn judge_available(&mut self) {
        let mut complaints = Vec::new();
        for (uid, wanted) in &self.promised {
            let Some((key, _)) = self.objects.find(uid) else { continue };
            // All of a namespace goes at once.
            let namespace = self.objects.get("Namespace", "", &key.1);
            let ends = namespace.is_none_or(|it| super::is_ending(it));
            let ready = self.ready(uid);
            if !ends && ready < *wanted {
                complaints
                    .push(format!("{}/{} has {ready} pods, {wanted} are promised", key.1, key.2));
            }
        }
        for text in complaints {
            self.blame("available", text);
        }
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
        if now < self.harmed {
            return;
        }
        let deployments = self.objects.of_kind("Deployment");
        let complete = deployments.filter(|it| super::ending::deployment_lacks(it).is_none());
        let complete =
            complete.filter(|it| !self.wrong_clocks || number(it, "/spec/minReadySeconds") == 0);
        let promised = complete.filter_map(|it| {
            let is_full = self.ready(uid(it)) >= number(it, "/spec/replicas");
            let least = self.limits.get(uid(it))?.least(self.believed(now));
            (is_full && !super::is_ending(it) && at(it, "/spec/paused") != true)
                .then(|| (uid(it).to_owned(), least))
        });
        let promised: Vec<_> = promised.collect();
        self.promised.extend(promised);
    }

    /// Nothing is promised to whom somebody does harm, which may show for so long.
    pub(crate) fn excuse(&mut self, now: Duration, harm: Duration) {
        self.promised.clear();
        self.harmed = self.harmed.max(now + harm);
    }

    /// By how much a write changes the size of a ReplicaSet.
    pub(super) fn learn_raise(&mut self, it: &Written<'_>, before: Option<&Value>) {
        let of = |object: &Value| number(object, "/spec/replicas");
        self.raised = of(it.got) - before.map_or(0, of);
    }

    /// How many pods have ended.
    pub(super) fn terminated(&self) -> i64 {
        count(self.objects.of_kind("Pod").filter(|pod| super::fields::has_ended(pod)).count())
    }

    /// The nodes that should have a pod of a DaemonSet.
    pub(super) fn places_of<'a>(&'a self, set: &Value) -> Vec<&'a str> {
        let spec = at(set, "/spec/template/spec");
        let selector = at(spec, "/nodeSelector");
        let fits = |node: &&std::sync::Arc<Value>| {
            let mut taints = list(node, "/spec/taints").iter();
            super::fields::matches(node, selector)
                && taints.all(|taint| {
                    // Those that every daemon pod is made to bear.
                    text(taint, "/key").starts_with("node.kubernetes.io/")
                        || text(taint, "/effect") == "PreferNoSchedule"
                        || super::fields::tolerates(spec, taint)
                })
        };
        let nodes = self.objects.of_kind("Node").filter(fits);
        nodes.map(|node| text(node, "/metadata/name")).collect()
    }
}

/// How long what one sync has sent may take.
const SAME_SYNC: Duration = Duration::from_secs(70);

/// A ready pod that was deleted while another was not ready.
#[derive(Clone, Debug)]
pub(super) struct Victim {
    at: Duration,
    taken: String,
    /// The uid of the other.
    better: String,
}

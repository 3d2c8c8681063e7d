//! Which kubelets have reported, and which pods must leave their nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use api::Time;
use serde_json::Value;

use super::blocks::is_spare;
use super::fields::{at, is_live, list, text};
use super::{Judged, Oracle};
use crate::site::START;

/// The account of all controllers of nodes.
pub(super) const ACCOUNT: &str = "node-controller";
/// `--node-monitor-grace-period`.
const GRACE: Duration = Duration::from_secs(50);
/// What is done to a node whose kubelet is silent.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// What is known of kubelets and of taints, by node.
#[derive(Default)]
pub(super) struct Kubelets {
    /// At which revision each kubelet renewed its Lease, and when.
    renewals: BTreeMap<String, Vec<(u64, Duration)>>,
    /// Since when a node has had any taint that evicts.
    tainted: BTreeMap<String, Duration>,
    /// At which revision the taints of a node last changed.
    changed: BTreeMap<String, u64>,
}

// === impl Kubelets ===

impl Kubelets {
    /// A Lease was written.
    pub(super) fn learn_lease(&mut self, lease: &Value, revision: u64) {
        let is_of_node = text(lease, "/metadata/namespace") == "kube-node-lease";
        let renewed = Time::parse(text(lease, "/spec/renewTime")).ok().filter(|_| is_of_node);
        if let Some(renewed) = renewed {
            let node = text(lease, "/metadata/name").to_owned();
            self.renewals.entry(node).or_default().push((revision, renewed.since(START)));
        }
    }

    /// A node has changed.
    pub(super) fn learn_node(
        &mut self,
        before: Option<&Value>,
        after: Option<&Value>,
        (revision, now): (u64, Duration),
    ) {
        let Some(node) = after.or(before) else { return };
        let name = text(node, "/metadata/name");
        let [was, is] = [before, after].map(|it| it.map(|it| list(it, "/spec/taints")));
        if was != is {
            self.changed.insert(name.to_owned(), revision);
        }
        match after.filter(|node| no_execute(node).next().is_some()) {
            Some(_) => drop(self.tainted.entry(name.to_owned()).or_insert(now)),
            None => drop(self.tainted.remove(name)),
        }
    }
}

impl Oracle {
    /// A node whose kubelet was not silent for as long as it may be is declared unknown. What it
    /// has renewed since then may not be known.
    pub(super) fn declares_living(&self, it: &Judged<'_>) -> Option<String> {
        let is_status = it.target.plural == "nodes" && it.target.sub == "status";
        if it.account != ACCOUNT || !is_status || ready(it.got) != "Unknown" {
            return None;
        }
        let renewals = self.kubelets.renewals.get(&it.target.name)?;
        let known = renewals.partition_point(|(revision, _)| self.knows("Lease", *revision));
        let (_, last) = renewals.get(known.checked_sub(1)?)?;
        let next = renewals.get(known).map_or(it.at, |(_, next)| *next);
        let silence = next.saturating_sub(*last);
        (ready(it.before.as_deref()?) != "Unknown" && silence < GRACE)
            .then(|| format!("{it}: its kubelet was silent for {silence:?}"))
    }

    /// A pod is evicted that may stay on its node, or may stay for longer.
    pub(super) fn evicts_tolerant(&self, it: &Judged<'_>) -> Option<String> {
        let pod = it.live_pod_of(&[ACCOUNT])?;
        let name = text(pod, "/spec/nodeName");
        let is_new = self.kubelets.changed.get(name).is_some_and(|it| !self.knows("Node", *it));
        if is_new {
            return None;
        }
        let Some(since) = self.kubelets.tainted.get(name) else {
            return Some(format!("{it}: its node has no taint that evicts"));
        };
        let node = self.objects.get("Node", "", name)?;
        let mut used = Vec::new();
        for taint in no_execute(node) {
            let fits = list(pod, "/spec/tolerations").iter().find(|it| tolerates(it, taint));
            used.push(at(fits?, "/tolerationSeconds").as_u64());
        }
        // A timer that runs goes on when the taints change to others.
        let all = list(pod, "/spec/tolerations").iter();
        let shortest = all.filter_map(|it| at(it, "/tolerationSeconds").as_u64()).min();
        let Some(shortest) = shortest.filter(|_| used.iter().any(Option::is_some)) else {
            return Some(format!("{it}: it tolerates the taints of its node for good"));
        };
        let stayed = it.at.saturating_sub(*since);
        (stayed < Duration::from_secs(shortest))
            .then(|| format!("{it}: it may stay {shortest} s, and has stayed {stayed:?}"))
    }

    /// What a node must be like, with a kubelet that is well or without any.
    pub(super) fn node_is_unwell(&self, node: &Value) -> Option<String> {
        if !self.has_hearts {
            return None;
        }
        let (wanted, taint) =
            if is_spare(node) { ("Unknown", Some(UNREACHABLE)) } else { ("True", None) };
        if ready(node) != wanted {
            return Some(format!("its Ready is {}", ready(node)));
        }
        let mut keys = no_execute(node).map(|taint| text(taint, "/key"));
        let has = keys.find(|key| key.starts_with("node.kubernetes.io/"));
        (has != taint).then(|| format!("has the taint {has:?}, not {taint:?}"))
    }

    /// Whether a pod must leave its node.
    pub(super) fn must_flee(&self, pod: &Value) -> Option<String> {
        let node = self.objects.get("Node", "", text(pod, "/spec/nodeName"))?;
        let is_tolerated = |taint: &Value| {
            list(pod, "/spec/tolerations")
                .iter()
                .any(|it| tolerates(it, taint) && at(it, "/tolerationSeconds").is_null())
        };
        let is_here = self.has_hearts && is_live(pod);
        let taint = no_execute(node).find(|taint| is_here && !is_tolerated(taint))?;
        Some(format!("does not tolerate {}", text(taint, "/key")))
    }
}

fn ready(node: &Value) -> &str {
    let mut conditions = list(node, "/status/conditions").iter();
    conditions.find(|it| text(it, "/type") == "Ready").map_or("", |it| text(it, "/status"))
}

/// The taints of a node that evict pods.
fn no_execute(node: &Value) -> impl Iterator<Item = &Value> {
    list(node, "/spec/taints").iter().filter(|it| text(it, "/effect") == "NoExecute")
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let is_effect = ["", "NoExecute"].contains(&text(toleration, "/effect"));
    let is_key = ["", text(taint, "/key")].contains(&text(toleration, "/key"));
    let is_value = text(toleration, "/operator") == "Exists"
        || text(toleration, "/value") == text(taint, "/value");
    is_effect && is_key && is_value
}

//! How a pod stands to the pods that are there: affinity, anti-affinity, spreading. As upstream's
//! plugins `InterPodAffinity` and `PodTopologySpread`.

use std::collections::{BTreeMap, BTreeSet};

use api::Key;

use super::cluster::{Cluster, Host};
use super::filter::Reason;
use super::pod::{Near, Pod, Spread};

/// How many pods there are, by the value of a node's label.
pub(crate) type Counts = BTreeMap<String, i64>;

/// What must be known of all pods to place one.
#[derive(Default)]
pub(crate) struct Facts {
    /// For each term that the pod must be near, pods that all terms mean.
    near: Vec<Counts>,
    /// Whether the pod means itself.
    near_itself: bool,
    /// For each term that the pod must be far from, pods that it means.
    far: Vec<Counts>,
    /// Where pods are that keep this one away: label and value.
    blocked: BTreeSet<(String, String)>,
    /// For each hard spread constraint, pods that it means.
    spreads: Vec<Counts>,
}

impl Facts {
    /// What is known when these pods are not there.
    pub(crate) fn new(pod: &Pod, cluster: &Cluster, without: &BTreeSet<Key>) -> Self {
        let mut facts = Self {
            near: vec![Counts::new(); pod.near.len()],
            far: vec![Counts::new(); pod.far.len()],
            near_itself: pod.near.iter().all(|term| term.means(pod, &cluster.namespaces)),
            ..Self::default()
        };
        facts.block(pod, cluster, without);
        if !pod.near.is_empty() || !pod.far.is_empty() {
            facts.count_terms(pod, cluster, without);
        }
        let hard: Vec<&Spread> = hard(pod).collect();
        facts.spreads =
            hard.iter().map(|it| spread_counts(pod, it, &hard, cluster, without)).collect();
        facts
    }

    /// Whether no other pod matters.
    pub(crate) fn is_empty(&self) -> bool {
        self.near.is_empty()
            && self.far.is_empty()
            && self.blocked.is_empty()
            && self.spreads.is_empty()
    }

    fn block(&mut self, pod: &Pod, cluster: &Cluster, without: &BTreeSet<Key>) {
        for key in cluster.loners.iter().filter(|key| !without.contains(*key)) {
            let Some(placed) = cluster.placed.get(key) else { continue };
            let Some(host) = cluster.host_of(placed) else { continue };
            for term in &placed.pod.far {
                if let Some(value) = host.labels.get(&term.topology)
                    && term.means(pod, &cluster.namespaces)
                {
                    self.blocked.insert((term.topology.clone(), value.to_owned()));
                }
            }
        }
    }

    fn count_terms(&mut self, pod: &Pod, cluster: &Cluster, without: &BTreeSet<Key>) {
        for placed in cluster.placed.values().filter(|it| !without.contains(&it.pod.key)) {
            let means = |term: &Near| term.means(&placed.pod, &cluster.namespaces);
            let Some(host) = cluster.host_of(placed) else { continue };
            if !pod.near.is_empty() && pod.near.iter().all(means) {
                add(&mut self.near, &pod.near, host, |_| true);
            }
            add(&mut self.far, &pod.far, host, means);
        }
    }

    /// Why the pod cannot be on this node, and whether fewer pods would not help.
    pub(crate) fn refuse(&self, pod: &Pod, host: &Host) -> Option<(Reason, bool)> {
        if let Some(refusal) = self.refuse_spread(pod, host) {
            return Some(refusal);
        }
        let value = |term: &Near| host.labels.get(&term.topology);
        if !pod.near.is_empty() {
            let counts = || pod.near.iter().zip(&self.near);
            let labelled = pod.near.iter().all(|term| value(term).is_some());
            let beside = counts()
                .all(|(term, counts)| value(term).is_some_and(|it| counts.contains_key(it)));
            let first = self.near_itself && self.near.iter().all(BTreeMap::is_empty);
            if !labelled || !beside && !first {
                return Some((Reason::Near, true));
            }
        }
        let beside = |(term, counts): (&Near, &Counts)| {
            value(term).is_some_and(|value| counts.contains_key(value))
        };
        if pod.far.iter().zip(&self.far).any(beside) {
            return Some((Reason::Far, false));
        }
        let blocks = |(label, value): &(String, String)| host.labels.get(label) == Some(value);
        self.blocked.iter().any(blocks).then_some((Reason::Blocked, false))
    }

    fn refuse_spread(&self, pod: &Pod, host: &Host) -> Option<(Reason, bool)> {
        for (constraint, counts) in hard(pod).zip(&self.spreads) {
            let Some(value) = host.labels.get(&constraint.topology) else {
                return Some((Reason::SpreadLabel, true));
            };
            let domains = i64::try_from(counts.len()).unwrap_or(i64::MAX);
            let least = counts.values().min().copied().unwrap_or(0);
            let least = if domains < constraint.domains_min { 0 } else { least };
            let itself = i64::from(constraint.pods.takes(&pod.labels));
            let here = counts.get(value).copied().unwrap_or(0);
            if here + itself - least > constraint.skew_max {
                return Some((Reason::Spread, false));
            }
        }
        None
    }
}

fn hard(pod: &Pod) -> impl Iterator<Item = &Spread> {
    pod.spreads.iter().filter(|it| it.required)
}

fn add(counts: &mut [Counts], terms: &[Near], host: &Host, means: impl Fn(&Near) -> bool) {
    for (counts, term) in counts.iter_mut().zip(terms) {
        if let Some(value) = host.labels.get(&term.topology)
            && means(term)
        {
            *counts.entry(value.to_owned()).or_default() += 1;
        }
    }
}

/// How many pods a constraint means in each domain that counts for it, among nodes that have the
/// labels of all constraints.
pub(crate) fn spread_counts(
    pod: &Pod,
    constraint: &Spread,
    all: &[&Spread],
    cluster: &Cluster,
    without: &BTreeSet<Key>,
) -> Counts {
    let counted = |host: &Host| {
        all.iter().all(|it| host.labels.get(&it.topology).is_some())
            && (!constraint.honors_wish || pod.wish.takes(&host.name, &host.labels))
            && (!constraint.honors_taints || pod.tolerates_all(&host.taints))
    };
    let mut counts = Counts::new();
    let mut domains = BTreeMap::new();
    for (place, host) in cluster.hosts().filter(|(_, host)| counted(host)) {
        if let Some(value) = host.labels.get(&constraint.topology) {
            counts.entry(value.to_owned()).or_insert(0);
            domains.insert(place, value);
        }
    }
    for placed in cluster.placed_in(&pod.key.namespace) {
        let other = &placed.pod;
        let means = constraint.pods.takes(&other.labels) && !other.is_deleted();
        if !means || without.contains(&other.key) {
            continue;
        }
        let domain = cluster.place(&placed.node).and_then(|place| domains.get(&place));
        if let Some(count) = domain.and_then(|domain| counts.get_mut(*domain)) {
            *count += 1;
        }
    }
    counts
}

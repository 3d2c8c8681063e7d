//! Which of the nodes that will do is the best: upstream's score plugins with their weights.

use std::collections::{BTreeMap, BTreeSet};

use api::Effect;

use super::cluster::{Cluster, HOSTNAME, Host, ZONE};
use super::pod::{Pod, Spread};
use super::topology::{Counts, spread_counts};
use crate::seed::Seed;

const MAX: i64 = 100;
const TAINTS: i64 = 3;
const WISH: i64 = 2;
const SPREAD: i64 = 2;
const NEAR: i64 = 2;

/// The best place; of equal ones the seed picks.
pub(crate) fn best(pod: &Pod, places: &[usize], cluster: &Cluster, seed: Seed) -> Option<usize> {
    if let [only] = places {
        return Some(*only);
    }
    let hosts: Vec<(usize, &Host)> =
        places.iter().filter_map(|place| Some((*place, cluster.host(*place)?))).collect();
    let mut sums: Vec<i64> =
        hosts.iter().map(|(_, host)| least_allocated(pod, host) + balanced(pod, host)).collect();
    let mut add = |weight: i64, scores: Vec<i64>| {
        sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += weight * score);
    };
    if hosts.iter().any(|(_, host)| !host.taints.is_empty()) {
        let count = |(_, host): &(usize, &Host)| unwelcome(pod, host);
        add(TAINTS, normal(&hosts.iter().map(count).collect::<Vec<_>>(), Order::LessIsBetter));
    }
    if !pod.wish.preferred.is_empty() {
        let likes = |(_, host): &(usize, &Host)| {
            let terms = pod.wish.preferred.iter();
            let liked = terms.filter(|(_, term)| term.takes(&host.name, &host.labels));
            liked.map(|(weight, _)| weight).sum()
        };
        add(WISH, normal(&hosts.iter().map(likes).collect::<Vec<_>>(), Order::MoreIsBetter));
    }
    if let Some(scores) = spread(pod, &hosts, cluster) {
        add(SPREAD, scores);
    }
    if !pod.likes.is_empty() {
        add(NEAR, liked(pod, &hosts, cluster));
    }
    let most = sums.iter().max().copied()?;
    let tied = hosts.iter().zip(&sums).filter(|(_, sum)| **sum == most).map(|(host, _)| host);
    let draw =
        |(_, host): &&(usize, &Host)| seed.number(&[&pod.key.namespace, &pod.key.name, &host.name]);
    tied.min_by_key(draw).map(|(place, _)| *place)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    LessIsBetter,
    MoreIsBetter,
}

/// As upstream's `DefaultNormalizeScore`.
fn normal(scores: &[i64], order: Order) -> Vec<i64> {
    let most = scores.iter().max().copied().unwrap_or(0);
    let scale = |score: &i64| if most == 0 { 0 } else { MAX * score / most };
    match order {
        Order::MoreIsBetter => scores.iter().map(scale).collect(),
        Order::LessIsBetter => scores.iter().map(|score| MAX - scale(score)).collect(),
    }
}

/// As upstream's `leastResourceScorer` for CPU and memory.
fn least_allocated(pod: &Pod, host: &Host) -> i64 {
    let free = |used: i64, room: i64| match room - used {
        _ if room == 0 => None,
        free if free < 0 => Some(0),
        free => {
            Some(i64::try_from(i128::from(free) * i128::from(MAX) / i128::from(room)).unwrap_or(0))
        }
    };
    let scores = [
        free(host.weighs.0 + pod.weighs.0, host.room.cpu_millis),
        free(host.weighs.1 + pod.weighs.1, host.room.memory),
    ];
    let known: Vec<i64> = scores.into_iter().flatten().collect();
    known.iter().sum::<i64>() / i64::try_from(known.len().max(1)).unwrap_or(1)
}

/// As upstream's `balancedResourceScorer` for CPU and memory, of which a deviation is half of the
/// difference.
fn balanced(pod: &Pod, host: &Host) -> i64 {
    let share = |used: i64, room: i64| {
        if room == 0 {
            None
        } else {
            Some((1000 * i128::from(used) / i128::from(room)).clamp(0, 1000))
        }
    };
    let balance = |cpu: i64, memory: i64| {
        let shares = (share(cpu, host.room.cpu_millis), share(memory, host.room.memory));
        let apart = match shares {
            (Some(cpu), Some(memory)) => (cpu - memory).abs(),
            (None, _) | (_, None) => 0,
        };
        MAX - i64::try_from((apart + 19) / 20).unwrap_or(0)
    };
    let (cpu, memory) = (host.used.cpu_millis, host.used.memory);
    let after = balance(cpu + pod.wants.cpu_millis, memory + pod.wants.memory);
    MAX / 2 + (MAX / 2 + after - balance(cpu, memory)) / 2
}

fn unwelcome(pod: &Pod, host: &Host) -> i64 {
    let soft = host.taints.iter().filter(|taint| taint.effect == Effect::PreferNoSchedule);
    let hard = soft.filter(|taint| {
        let mut fit = pod
            .tolerations
            .iter()
            .filter(|it| it.effect.is_empty() || it.effect == Effect::PreferNoSchedule.as_str());
        !fit.any(|toleration| toleration.tolerates(taint))
    });
    i64::try_from(hard.count()).unwrap_or(i64::MAX)
}

/// As upstream's `PodTopologySpread`: the pod's soft constraints, or if it has no constraint, those
/// of its controller over hosts and zones. None: nothing to spread.
fn spread(pod: &Pod, hosts: &[(usize, &Host)], cluster: &Cluster) -> Option<Vec<i64>> {
    let (constraints, whole) = if pod.spreads.is_empty() {
        (of_owner(pod, hosts, cluster)?, false)
    } else {
        (of_pod(pod, cluster), true)
    };
    if constraints.is_empty() {
        return None;
    }
    let scores: Vec<Option<i64>> = hosts
        .iter()
        .map(|(place, host)| {
            let labelled = |it: &Soft<'_>| host.labels.get(&it.topology).is_some();
            let ignored = whole && !constraints.iter().all(labelled);
            (!ignored).then(|| constraints.iter().map(|it| it.score(*place, host)).sum::<f64>())
        })
        .map(|score| score.map(rounded))
        .collect();
    let known = || scores.iter().flatten().copied();
    let (least, most) = (known().min().unwrap_or(0), known().max().unwrap_or(0));
    let scale = |score: &Option<i64>| match score {
        None => 0,
        Some(_) if most == 0 => MAX,
        Some(score) => MAX * (most + least - score) / most,
    };
    Some(scores.iter().map(scale).collect())
}

/// A soft constraint: pods by domain or, if domains are hosts, by place.
struct Soft<'a> {
    topology: String,
    skew_max: f64,
    weight: f64,
    domains: Counts,
    places: Option<&'a BTreeMap<usize, i64>>,
}

impl Soft<'_> {
    fn score(&self, place: usize, host: &Host) -> f64 {
        let Some(value) = host.labels.get(&self.topology) else { return 0.0 };
        let count = match self.places {
            Some(places) => places.get(&place),
            None => self.domains.get(value),
        };
        float(count.copied().unwrap_or(0)) * self.weight + self.skew_max - 1.0
    }
}

fn of_owner<'a>(
    pod: &Pod,
    hosts: &[(usize, &Host)],
    cluster: &'a Cluster,
) -> Option<Vec<Soft<'a>>> {
    let places = cluster.owners.get(pod.owner.as_ref()?);
    let mut zones = Counts::new();
    for (place, count) in places.into_iter().flatten() {
        if let Some(zone) = cluster.host(*place).and_then(|host| host.labels.get(ZONE)) {
            *zones.entry(zone.to_owned()).or_default() += count;
        }
    }
    let known: BTreeSet<&str> =
        hosts.iter().filter_map(|(_, host)| host.labels.get(ZONE)).collect();
    let domains = Counts::new();
    let (hostname, zone) = (HOSTNAME.to_owned(), ZONE.to_owned());
    Some(vec![
        Soft { topology: hostname, skew_max: 3.0, weight: weight(hosts.len()), domains, places },
        Soft {
            topology: zone,
            skew_max: 5.0,
            weight: weight(known.len()),
            domains: zones,
            places: None,
        },
    ])
}

fn of_pod(pod: &Pod, cluster: &Cluster) -> Vec<Soft<'static>> {
    let soft: Vec<&Spread> = pod.spreads.iter().filter(|it| !it.required).collect();
    let constraint = |it: &&Spread| {
        let domains = spread_counts(pod, it, &soft, cluster, &BTreeSet::new());
        Soft {
            topology: it.topology.clone(),
            skew_max: float(it.skew_max),
            weight: weight(domains.len()),
            domains,
            places: None,
        }
    };
    soft.iter().map(constraint).collect()
}

/// As upstream's `topologyNormalizingWeight`.
fn weight(domains: usize) -> f64 {
    float(i64::try_from(domains).unwrap_or(i64::MAX).saturating_add(2)).ln()
}

#[expect(clippy::cast_precision_loss, reason = "counts of pods and nodes are far below 2^52")]
fn float(count: i64) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, reason = "a score is far below 2^63, and saturates")]
fn rounded(score: f64) -> i64 {
    score.round() as i64
}

/// As upstream's `InterPodAffinity` for what the pod itself likes.
fn liked(pod: &Pod, hosts: &[(usize, &Host)], cluster: &Cluster) -> Vec<i64> {
    let mut sums: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for placed in cluster.placed.values() {
        let Some(host) = cluster.host_of(placed) else { continue };
        for (weight, term) in &pod.likes {
            if let Some(value) = host.labels.get(&term.topology)
                && term.means(&placed.pod, &cluster.namespaces)
            {
                *sums.entry((&term.topology, value)).or_default() += weight;
            }
        }
    }
    let score = |(_, host): &(usize, &Host)| -> i64 {
        let here = sums.iter().filter(|((label, value), _)| host.labels.get(label) == Some(value));
        here.map(|(_, sum)| sum).sum()
    };
    let scores: Vec<i64> = hosts.iter().map(score).collect();
    let least = scores.iter().min().copied().unwrap_or(0);
    let range = scores.iter().max().copied().unwrap_or(0) - least;
    scores.iter().map(|it| if range == 0 { 0 } else { MAX * (it - least) / range }).collect()
}

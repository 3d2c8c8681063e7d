//! Which pods must go so that a more important one fits. As upstream's `DefaultPreemption`, without
//! disruption budgets.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use api::Key;

use super::cluster::{Cluster, Host};
use super::filter::{Reason, Refusal, Tally, refuse};
use super::pod::Pod;
use super::topology::Facts;
use crate::fields::{condition, text};

/// How many nodes are tried: a tenth, and at least this many.
const CANDIDATES_MIN: usize = 100;

/// What preemption comes to.
pub(crate) enum Outcome {
    /// On this node these pods go, the most important first.
    Make { place: usize, victims: Vec<Arc<Pod>> },
    /// Nothing is done, and why.
    Nothing(String),
}

/// Where to make room for a pod that no node takes, and how. `refusals` are those of the nodes.
pub(crate) fn preempt(pod: &Pod, cluster: &Cluster, refusals: &[(usize, Refusal)]) -> Outcome {
    if let Some(why) = ineligible(pod, cluster, refusals) {
        return Outcome::Nothing(format!("preemption: not eligible due to {why}."));
    }
    let mut tally = Tally::new(cluster.len());
    let mut tried = 0;
    let mut found: Vec<(usize, Vec<Arc<Pod>>)> = Vec::new();
    let enough = CANDIDATES_MIN.max(cluster.len() / 10);
    for (place, refusal) in refusals.iter().filter(|(_, refusal)| !refusal.hopeless) {
        debug_assert!(!refusal.reasons.is_empty(), "a refusal has a reason");
        let Some(host) = cluster.host(*place) else { continue };
        tried += 1;
        match victims(pod, host, cluster) {
            Ok(victims) => found.push((*place, victims)),
            Err(reasons) => reasons.iter().for_each(|reason| tally.add(reason, 1)),
        }
        if found.len() >= enough {
            break;
        }
    }
    // Of equal ones the first.
    let best = found.into_iter().min_by_key(|(_, victims)| {
        let highest = victims.first().map_or(i64::MIN, |victim| victim.priority);
        let offset = i64::from(i32::MAX) + 1;
        let sum: i64 = victims.iter().map(|victim| victim.priority + offset).sum();
        let newest = victims.iter().filter(|it| it.priority == highest).map(|it| it.created).min();
        (highest, sum, victims.len(), Reverse(newest))
    });
    if let Some((place, victims)) = best {
        return Outcome::Make { place, victims };
    }
    tally.add(&Reason::NoHelp, cluster.len() - tried);
    Outcome::Nothing(format!("preemption: {tally}"))
}

fn ineligible(pod: &Pod, cluster: &Cluster, refusals: &[(usize, Refusal)]) -> Option<&'static str> {
    if text(&pod.object, "/spec/preemptionPolicy") == "Never" {
        return Some("preemptionPolicy=Never");
    }
    let place = cluster.place(text(&pod.object, "/status/nominatedNodeName"))?;
    if refusals.iter().any(|(at, refusal)| *at == place && refusal.hopeless) {
        return None;
    }
    let leaving = |it: &&Arc<Pod>| {
        let target = condition(&it.object, "DisruptionTarget");
        it.priority < pod.priority
            && it.is_deleted()
            && target.is_some_and(|it| text(it, "/reason") == "PreemptionByScheduler")
    };
    let waits = cluster.host(place)?.pods.values().any(|it| leaving(&it));
    waits.then_some("a terminating pod on the nominated node")
}

/// The fewest pods of this node that must go, or why that does not help.
fn victims(pod: &Pod, host: &Host, cluster: &Cluster) -> Result<Vec<Arc<Pod>>, Vec<Reason>> {
    let lower = host.pods.values().filter(|other| other.priority < pod.priority);
    let mut lower: Vec<Arc<Pod>> = lower.cloned().collect();
    if lower.is_empty() {
        return Err(vec![Reason::NoVictims]);
    }
    let mut host = host.clone();
    let mut without: BTreeSet<Key> = lower.iter().map(|pod| pod.key.clone()).collect();
    for key in &without {
        host.take(key);
    }
    let all = Facts::new(pod, cluster, &BTreeSet::new());
    let check = |host: &Host, without: &BTreeSet<Key>| {
        if all.is_empty() {
            return refuse(pod, host, &all, cluster);
        }
        refuse(pod, host, &Facts::new(pod, cluster, without), cluster)
    };
    if let Some(refusal) = check(&host, &without) {
        return Err(refusal.reasons);
    }
    lower.sort_by_key(|pod| (Reverse(pod.priority), pod.created, pod.key.clone()));
    let mut victims = Vec::new();
    for spared in lower {
        host.put(&spared);
        without.remove(&spared.key);
        if check(&host, &without).is_some() {
            host.take(&spared.key);
            without.insert(spared.key.clone());
            victims.push(spared);
        }
    }
    Ok(victims)
}

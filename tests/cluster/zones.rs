//! Zones whose nodes stop reporting, beside upstream's manager on the same story: a node, a third
//! of a zone, a whole zone; and all of them come back. (All zones at once: see `nodelifecycle`.)
//! What both declare, taint and evict is equal in kind and number, and as fast, within a period.
//! `ZONE_NODES=300` with `--nocapture` is the long form.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, now, since, wait_until,
};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

const ZONES: usize = 3;
/// In seconds; kwok renews a Lease every ten.
const GRACE: f64 = 24.0;
/// The default of `--node-monitor-period`, in seconds.
const PERIOD: f64 = 5.0;
/// How far apart the last renewals of nodes can be that stop at one time, in seconds.
const RENEWALS: f64 = 10.0;
/// Times in objects are in whole seconds, and a busy machine is late.
const LATE: f64 = 3.0;
/// Nodes a second, in each zone. Not 1: upstream's limiter that admits nothing, of a zone that is
/// mostly silent, says that its rate is 1, and so is never exchanged for one of that rate
/// (client-go's fakeNeverRateLimiter, `SwapLimiter` of rate_limited_queue.go).
const RATE: f64 = 2.0;
const ARGS: &[&str] = &[
    "--controllers=node-lifecycle-controller,taint-eviction-controller",
    "--node-monitor-grace-period=24s",
    "--node-startup-grace-period=24s",
    "--node-eviction-rate=2",
    "--secondary-node-eviction-rate=2",
];
const LIMIT: Duration = Duration::from_mins(5);
/// For how long nothing may change any more: longer than a period.
const CALM: Duration = Duration::from_secs(6);
/// How many nodes are changed at once.
const AT_ONCE: usize = 16;
const LEASES: &str = "leases.v1.coordination.k8s.io";

/// What became of the nodes in a stage.
#[derive(Clone, Debug, Default, PartialEq)]
struct Figures {
    /// Nodes whose conditions are unknown.
    unknown: usize,
    /// Nodes that nothing is scheduled to.
    no_schedule: usize,
    /// Nodes whose pods are evicted.
    no_execute: usize,
    /// Those of them whose pods were not evicted in the stage before.
    newly: usize,
    /// Pods that are being deleted, or are.
    evicted: usize,
    /// The longest time from a node's last renewal to its condition, in seconds.
    declared_s: f64,
    /// From the first new taint that evicts to the last one, in seconds.
    spread_s: f64,
}

#[tokio::test]
async fn zones_die_as_under_upstream() -> anyhow::Result<()> {
    let (ours, upstream) =
        futures::future::try_join(story(Binary::Ours), story(Binary::Upstream)).await?;
    println!("ours: {ours:#?}\nupstream: {upstream:#?}");
    for ((stage, ours), (_, upstream)) in ours.iter().zip(&upstream) {
        let counts = |it: &Figures| [it.unknown, it.no_schedule, it.no_execute, it.evicted];
        ensure!(counts(ours) == counts(upstream), "{stage}: {ours:?}, upstream: {upstream:?}");
        for it in [ours, upstream] {
            // A period until the last renewal is noticed, and one until its end is.
            let late = GRACE + 2.0 * PERIOD + LATE;
            ensure!((0.0..=late).contains(&it.declared_s), "{stage}: {it:?}");
            let waited = u32::try_from(it.newly.saturating_sub(1))?;
            let shortest = f64::from(waited) / RATE - LATE;
            ensure!(it.spread_s >= shortest, "{stage}: faster than the rate: {it:?}");
        }
        let apart = (ours.spread_s - upstream.spread_s).abs();
        let most = RENEWALS + PERIOD + LATE;
        ensure!(apart <= most, "{stage}: {ours:?}, upstream: {upstream:?}");
    }
    ensure!(ours.len() == upstream.len() && ours.len() == 4, "{ours:?}, upstream: {upstream:?}");
    Ok(())
}

/// Plays the stages on a fresh cluster; each takes what was silent before it along.
async fn story(binary: Binary) -> anyhow::Result<Vec<(&'static str, Figures)>> {
    let count = std::env::var("ZONE_NODES").ok().map(|text| text.parse()).transpose()?;
    let in_zone = count.unwrap_or(12) / ZONES;
    let cluster = Cluster::start(Options { nodes: in_zone * ZONES, ..Options::default() }).await?;
    let nodes = populate(&cluster, in_zone).await?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let third = (in_zone / 3).max(2);
    let run = async {
        let (mut stages, mut known) = (Vec::new(), BTreeSet::new());
        // The number of silent nodes, and of those that evict.
        for (stage, silent, evicting) in [
            ("a node", 1, 1),
            ("a third of a zone", third, third),
            ("a zone", in_zone, in_zone),
            ("none", 0, 0),
        ] {
            set_silent(&cluster, &nodes, silent).await?;
            let figures;
            (figures, known) = settled(&cluster, stage, (silent, evicting), &known).await?;
            stages.push((stage, figures));
        }
        none_forbidden(&since(&requests, &cluster.request_counts().await?))?;
        anyhow::Ok(stages)
    };
    run.await.with_context(|| manager.log())
}

/// Gives each node a zone and a pod, which leaves at once when it is evicted. Returns the nodes, by
/// zone.
async fn populate(cluster: &Cluster, in_zone: usize) -> anyhow::Result<Vec<String>> {
    let all = Objects::of(cluster, "")?;
    let objects = Objects::in_new(cluster, "zones").await?;
    let nodes: Vec<String> = (0..in_zone * ZONES).map(|at| format!("node-{at}")).collect();
    let each = stream::iter(nodes.iter().enumerate()).map(async |(at, node)| {
        let zone = format!("zone-{}", at / in_zone);
        let labels = json!({"topology.kubernetes.io/zone": zone,
            "topology.kubernetes.io/region": "region"});
        all.merge("nodes", node, &json!({"metadata": {"labels": labels}})).await?;
        let tolerations = json!([{"key": "node.kubernetes.io/unreachable", "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": 0}]);
        let pod = json!({"metadata": {"name": node}, "spec": {"nodeName": node,
            "tolerations": tolerations, "containers": [{"name": "container", "image": "pause"}]}});
        objects.create("pods", &pod).await.map(drop)
    });
    each.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    Ok(nodes)
}

/// The first so many nodes are silent, and the others report.
async fn set_silent(cluster: &Cluster, nodes: &[String], silent: usize) -> anyhow::Result<()> {
    let each = stream::iter(nodes.iter().enumerate()).map(async |(at, node)| {
        if at < silent { cluster.silence_node(node).await } else { cluster.revive_node(node).await }
    });
    each.buffer_unordered(AT_ONCE).try_collect().await
}

/// Waits until so many nodes are unknown, and so many evict, and nothing changes any more. Returns
/// also the nodes that evict.
async fn settled(
    cluster: &Cluster,
    stage: &str,
    (silent, evicting): (usize, usize),
    known: &BTreeSet<String>,
) -> anyhow::Result<(Figures, BTreeSet<String>)> {
    let what = format!("{silent} unknown nodes and {evicting} that evict: {stage}");
    let (mut last, mut since) = ((Figures::default(), BTreeSet::new()), now());
    wait_until(&what, LIMIT, async || {
        let look = look(cluster, known).await?;
        if look != last {
            (last, since) = (look, now());
        }
        let Figures { unknown, no_schedule, no_execute, .. } = last.0;
        let is_so = [unknown, no_schedule, no_execute] == [silent, silent, evicting];
        Ok((is_so && now() - since >= CALM).then_some(()))
    })
    .await?;
    Ok(last)
}

async fn look(
    cluster: &Cluster,
    known: &BTreeSet<String>,
) -> anyhow::Result<(Figures, BTreeSet<String>)> {
    let leases = Objects::of(cluster, "kube-node-lease")?.list(LEASES).await?;
    let renewed = leases.iter().map(|it| (name(it), time(&it["spec"]["renewTime"])));
    let renewed: BTreeMap<&str, Option<Timestamp>> = renewed.collect();
    let (mut figures, mut evicting) = (Figures::default(), BTreeMap::new());
    let nodes = Objects::of(cluster, "")?.list("nodes").await?;
    for node in &nodes {
        let conditions = node["status"]["conditions"].as_array().context("conditions")?;
        let ready = conditions.iter().find(|it| it["type"] == "Ready").context("Ready")?;
        if ready["status"] == "Unknown" {
            figures.unknown += 1;
            let renewed = renewed.get(name(node)).copied().flatten();
            if let (Some(renewed), Some(at)) = (renewed, time(&ready["lastTransitionTime"])) {
                figures.declared_s = figures.declared_s.max(seconds(renewed, at));
            }
        }
        for taint in node["spec"]["taints"].as_array().into_iter().flatten() {
            match taint["effect"].as_str() {
                _ if taint["key"] != "node.kubernetes.io/unreachable" => {}
                Some("NoExecute") => drop(evicting.insert(name(node), time(&taint["timeAdded"]))),
                _ => figures.no_schedule += 1,
            }
        }
    }
    figures.no_execute = evicting.len();
    let new = evicting.iter().filter(|(node, _)| !known.contains(**node));
    let new: Vec<Timestamp> = new.filter_map(|(_, at)| *at).collect();
    figures.newly = new.len();
    if let (Some(first), Some(last)) = (new.iter().min(), new.iter().max()) {
        figures.spread_s = seconds(*first, *last);
    }
    let pods = Objects::of(cluster, "zones")?.list("pods").await?;
    let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
    figures.evicted = nodes.len().saturating_sub(pods.iter().filter(stays).count());
    Ok((figures, evicting.into_keys().map(str::to_owned).collect()))
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

fn time(text: &Value) -> Option<Timestamp> {
    text.as_str()?.parse().ok()
}

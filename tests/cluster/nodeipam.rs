//! Ranges of nodes on the real API server: upstream has no integration test but a benchmark
//! (test/integration/ipamperf); the rest is of its unit tests and of the card.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, since, wait_until,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &[
    "--controllers=node-ipam-controller",
    "--allocate-node-cidrs",
    // As many blocks of IPv4 as nodes, but for those of the Services.
    "--cluster-cidr=10.244.0.0/24,fd00:244::/112",
    "--node-cidr-mask-size-ipv4=28",
    "--node-cidr-mask-size-ipv6=120",
    "--service-cluster-ip-range=10.244.0.0/27",
];
const LIMIT: Duration = Duration::from_mins(2);
const NODES: usize = 14;

/// Each node gets blocks that no other one has, those that it has stay over a change of managers,
/// and what a deleted node had is given again.
#[tokio::test]
async fn nodes_get_ranges() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: NODES, ..Options::default() }).await?;
    let start = || Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS);
    let mut manager = start()?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        let given = all_given(&cluster).await?;
        for at in 0..2 {
            let blocks: BTreeSet<_> = given.values().map(|cidrs| cidrs[at].clone()).collect();
            ensure!(blocks.len() == NODES, "not each has its own: {blocks:?}");
        }
        let of_services = ["10.244.0.0/28", "10.244.0.16/28"];
        let wrong = given.values().flatten().find(|it| of_services.contains(&it.as_str()));
        ensure!(wrong.is_none(), "a range of Services was given: {wrong:?}");
        let made = since(&requests, &cluster.request_counts().await?);
        none_forbidden(&made)
    };
    run.await.with_context(|| manager.log())?;
    manager.sigterm()?;
    manager.ended(LIMIT).await?;
    let before = all_given(&cluster).await?;
    let mut manager = start()?;
    manager.healthy().await?;
    let run = async {
        a_range_is_used_up(&cluster).await?;
        let after = all_given(&cluster).await?;
        let kept = before.iter().filter(|(name, _)| *name != "node-0");
        for (name, ranges) in kept {
            ensure!(after.get(name) == Some(ranges), "{name} had {ranges:?}, now {after:?}");
        }
        Ok(())
    };
    run.await.with_context(|| manager.log())
}

/// TestAllocateOrOccupyCIDRFailure and TestReleaseCIDRSuccess.
async fn a_range_is_used_up(cluster: &Cluster) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    let name = "one-more";
    let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    all.create("nodes", &object).await?;
    wait_until("the Event of a range that is used up", LIMIT, async || {
        let events = Objects::of(cluster, "default")?.list("events").await?;
        let is_it = |event: &&Value| {
            event["involvedObject"]["name"] == name && event["reason"] == "CIDRNotAvailable"
        };
        let Some(event) = events.iter().find(is_it) else { return Ok(None) };
        let message = "Node one-more status is now: CIDRNotAvailable";
        ensure!(event["message"] == message && event["type"] == "Normal", "{event}");
        ensure!(event["source"]["component"] == "cidrAllocator", "{event}");
        Ok(Some(()))
    })
    .await?;
    let first = all.get("nodes", "node-0").await?;
    all.delete("nodes", "node-0").await?;
    wait_until("the block of the deleted node to be given", LIMIT, async || {
        let node = all.get("nodes", name).await?;
        let is_given = node["spec"]["podCIDRs"][0] == first["spec"]["podCIDRs"][0];
        Ok(is_given.then_some(()))
    })
    .await
}

/// The ranges of all nodes by their names, once all have some.
async fn all_given(cluster: &Cluster) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let all = Objects::of(cluster, "")?;
    wait_until("all nodes to have ranges", LIMIT, async || {
        let nodes = all.list("nodes").await?;
        let texts = |node: &Value| {
            let name = node["metadata"]["name"].as_str()?.to_owned();
            let cidrs = node["spec"]["podCIDRs"].as_array()?;
            Some((name, cidrs.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
        };
        let given = nodes.iter().map(texts).collect::<Option<BTreeMap<_, _>>>();
        Ok(given.filter(|it| it.len() >= NODES))
    })
    .await
}

//! When a manager has nothing left to do.

use crate::cluster::Cluster;
use crate::manager::Manager;
use crate::objects::Objects;
use crate::requests::{Request, since, writes};
use crate::wait::{now, wait_until};
use anyhow::Context;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Enough for all that a test of workloads sets going.
const LIMIT: Duration = Duration::from_secs(90);

/// Takes in each event of each object, those of leases too, so it is never quiet.
const OF_EVERYTHING: &str = "garbage_collector_graph_changes";

/// What the manager's queues say of themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queues {
    /// `workqueue_depth`, all queues together.
    pub depth: u64,
    /// `workqueue_adds_total` by queue, but for the one that takes in everything.
    pub adds: BTreeMap<String, u64>,
}

impl Queues {
    /// What the manager's /metrics says now.
    pub async fn of(manager: &Manager) -> anyhow::Result<Self> {
        parse(&manager.get("/metrics").await?)
    }
}

/// Waits until the manager's queues are empty and, for this long, neither have they taken in
/// anything nor has any workload or event changed.
pub async fn quiet(cluster: &Cluster, manager: &Manager, during: Duration) -> anyhow::Result<()> {
    let objects = Objects::of(cluster, "")?;
    let mut last = (Queues::default(), BTreeMap::new());
    let mut begin = now();
    wait_until("the manager to be quiet", LIMIT, async || {
        let state = (Queues::of(manager).await?, versions(&objects).await?);
        if state != last || state.0.depth > 0 {
            (last, begin) = (state, now());
        }
        Ok((now() - begin >= during).then_some(()))
    })
    .await
}

/// Waits until the manager is quiet for the first of these, and ensures that no write that passes
/// the filter comes until it is quiet for the second: a converged cluster is left alone.
pub async fn silent(
    cluster: &Cluster,
    manager: &Manager,
    [before, during]: [Duration; 2],
    filter: impl Fn(&Request) -> bool,
) -> anyhow::Result<()> {
    quiet(cluster, manager, before).await?;
    let requests = cluster.request_counts().await?;
    quiet(cluster, manager, during).await?;
    let made = since(&requests, &cluster.request_counts().await?);
    anyhow::ensure!(writes(&made, filter) == 0, "nothing is to be done: {made:?}");
    Ok(())
}

async fn versions(objects: &Objects) -> anyhow::Result<BTreeMap<String, Value>> {
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let mut versions: BTreeMap<_, _> = objects.workloads().await?;
    for object in versions.values_mut() {
        *object = version(object);
    }
    for event in objects.list("events").await? {
        versions.insert(format!("event {}", event["metadata"]["uid"]), version(&event));
    }
    Ok(versions)
}

fn parse(metrics: &str) -> anyhow::Result<Queues> {
    let mut queues = Queues::default();
    for line in metrics.lines() {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let Some((metric, labels)) = series.split_once("{name=\"") else { continue };
        let name = labels.split('"').next().unwrap_or_default();
        // Counts are whole numbers here, also where they are written as floats.
        let count = || value.parse::<u64>().with_context(|| line.to_owned());
        match metric {
            _ if name == OF_EVERYTHING => {}
            "workqueue_depth" => queues.depth += count()?,
            "workqueue_adds_total" => {
                queues.adds.insert(name.to_owned(), count()?);
            }
            _ => {}
        }
    }
    Ok(queues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_read_from_the_metrics() {
        let metrics = "# TYPE workqueue_depth gauge\n\
            workqueue_depth{name=\"daemonset\"} 2\n\
            workqueue_depth{name=\"deployment\"} 1\n\
            workqueue_adds_total{name=\"deployment\"} 7\n\
            workqueue_adds_total{name=\"garbage_collector_graph_changes\"} 5\n\
            workqueue_retries_total{name=\"deployment\"} 9\n";
        let queues = parse(metrics).unwrap();
        assert_eq!((queues.depth, queues.adds), (3, [("deployment".to_owned(), 7)].into()));
        assert!(parse("workqueue_depth{name=\"a\"} x").is_err());
    }
}

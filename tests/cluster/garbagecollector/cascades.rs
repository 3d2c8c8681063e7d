//! One owner with many dependents, in each of the three modes.

use super::{World, now, owned_by, start};
use anyhow::{Context, ensure};
use cluster_tests::{Cluster, Options, Requests, since, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many dependents; the 10,000 take some minutes on two cores.
const DEPENDENTS: &str = "CASCADE_OBJECTS";
const DEPENDENTS_BY_DEFAULT: usize = 1000;
/// Dependents with another owner, and as many objects without one.
const BYSTANDERS: usize = 20;
const LIMIT: Duration = Duration::from_mins(15);

/// Issue: cascades of 10,000 objects end exact.
pub(super) async fn in_each_mode() -> anyhow::Result<()> {
    let count = std::env::var(DEPENDENTS).map_or(Ok(DEPENDENTS_BY_DEFAULT), |text| text.parse())?;
    let cluster = Cluster::start(Options::default()).await?;
    let manager = start(&cluster).await?;
    for mode in [Mode::Background, Mode::Foreground, Mode::Orphan] {
        let namespace = format!("{mode:?}").to_lowercase();
        let world = World::new(&cluster, &manager, &namespace).await?;
        let cascade = Cascade { world, mode, count };
        cascade.run().await.with_context(|| manager.log())?;
    }
    println!("resident {} KiB, at most {} KiB", manager.rss_kib()?, manager.peak_rss_kib()?);
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Background,
    Foreground,
    Orphan,
}

struct Cascade<'a> {
    world: World<'a>,
    mode: Mode,
    count: usize,
}

impl Cascade<'_> {
    async fn run(&self) -> anyhow::Result<()> {
        let objects = &self.world.objects;
        let secret = |name: &str| json!({"metadata": {"name": name}});
        let owner = objects.create("secrets", &secret("owner")).await?;
        let other = objects.create("secrets", &secret("other")).await?;
        let mine = owned_by(&owner, json!({"blockOwnerDeletion": true}));
        let others = owned_by(&other, json!({"blockOwnerDeletion": true}));
        self.create("owned", self.count, std::slice::from_ref(&mine)).await?;
        self.create("shared", BYSTANDERS, &[mine, others.clone()]).await?;
        self.create("free", BYSTANDERS, &[]).await?;
        self.all_seen(&owner).await?;
        let free = self.versions("free").await?;

        let (before, started) = (self.world.cluster.request_counts().await?, now());
        let options = json!({"propagationPolicy": format!("{:?}", self.mode)});
        let answer = objects.delete_with("secrets", "owner", &options).await?;
        match self.mode {
            Mode::Background => ensure!(answer["kind"] == "Status", "{answer}"),
            Mode::Foreground => {
                ensure!(answer["metadata"]["finalizers"] == json!(["foregroundDeletion"]));
            }
            Mode::Orphan => ensure!(answer["metadata"]["finalizers"] == json!(["orphan"])),
        }
        self.ended(&others).await?;
        let (time, after) = (now() - started, self.world.cluster.request_counts().await?);
        ensure!(self.versions("free").await? == free, "objects without owners were touched");
        ensure!(objects.find("secrets", "other").await?.is_some());
        println!("{} {:?} in {time:?}: {}", self.count, self.mode, told(&since(&before, &after)));
        Ok(())
    }

    async fn create(&self, prefix: &str, count: usize, owners: &[Value]) -> anyhow::Result<()> {
        let all = (0..count).map(|number| {
            let name = format!("{prefix}-{number}");
            json!({"metadata": {"name": name, "ownerReferences": owners}})
        });
        self.world.objects.create_all("configmaps", all).await
    }

    /// Waits until the collector knows of all dependents: those of an owner that it sees go before
    /// it has seen them are not orphaned.
    async fn all_seen(&self, owner: &Value) -> anyhow::Result<()> {
        let uid = owner["metadata"]["uid"].as_str().context("a uid")?;
        let edge = format!(" -> \"{uid}\";");
        let wanted = self.count + BYSTANDERS;
        wait_until("all dependents in the graph", LIMIT, async || {
            let graph = self.world.manager.get(&format!("{}?uid={uid}", super::GRAPH)).await?;
            let seen = graph.matches(&edge).count();
            ensure!(seen == wanted, "{seen} of {wanted} dependents are in the graph");
            Ok(Some(()))
        })
        .await
    }

    /// Waits until nothing is left to do, and checks that what is left is what should be.
    async fn ended(&self, others: &Value) -> anyhow::Result<()> {
        let objects = &self.world.objects;
        let left = match self.mode {
            Mode::Orphan => self.count + 2 * BYSTANDERS,
            Mode::Background | Mode::Foreground => 2 * BYSTANDERS,
        };
        wait_until("the end of the owner and its dependents", LIMIT, async || {
            let (secrets, maps) =
                (objects.count("secrets").await?, objects.count("configmaps").await?);
            // An owner that waits for its dependents is not deleted before them.
            let in_order = self.mode != Mode::Foreground || secrets > 1;
            let done = secrets == 1 && maps == u64::try_from(left)?;
            if !in_order && !done {
                return Ok(Some(Err(anyhow::anyhow!(
                    "the owner is deleted, {maps} ConfigMaps are left"
                ))));
            }
            ensure!(done, "{secrets} Secrets, {maps} ConfigMaps");
            Ok(Some(Ok(())))
        })
        .await??;
        if self.mode != Mode::Background {
            // An owner that waits is not deleted before all references to it are removed.
            return self.left_right(left, others).await;
        }
        wait_until("the references to be right", LIMIT, async || {
            self.left_right(left, others).await.map(Some)
        })
        .await
    }

    /// An error unless so many ConfigMaps are left, each with the right owners.
    async fn left_right(&self, left: usize, others: &Value) -> anyhow::Result<()> {
        let maps = self.world.objects.list("configmaps").await?;
        ensure!(maps.len() == left, "{} ConfigMaps", maps.len());
        for map in &maps {
            let is_shared = super::name_of(map).starts_with("shared-");
            let wanted = if is_shared { json!([others]) } else { Value::Null };
            ensure!(map["metadata"]["ownerReferences"] == wanted, "{map}");
            ensure!(map["metadata"]["deletionTimestamp"].is_null(), "{map}");
            ensure!(map["metadata"]["finalizers"].is_null(), "{map}");
        }
        Ok(())
    }

    async fn versions(&self, prefix: &str) -> anyhow::Result<BTreeMap<String, String>> {
        let maps = self.world.objects.list("configmaps").await?;
        let versions = maps
            .iter()
            .map(|map| (super::name_of(map), map["metadata"]["resourceVersion"].to_string()));
        Ok(versions.filter(|(name, _)| name.starts_with(prefix)).collect())
    }
}

/// What was asked of ConfigMaps and Secrets; of that one DELETE, and all LISTs, are the test's.
fn told(requests: &Requests) -> String {
    let told = requests.iter().filter(|(request, _)| {
        let is_theirs = ["configmaps", "secrets"].contains(&request.resource.as_str());
        is_theirs && request.verb != "LIST" && request.verb != "WATCH"
    });
    let told = told.map(|(request, count)| {
        format!("{count} {} {} {}", request.verb, request.resource, request.code)
    });
    told.collect::<Vec<_>>().join(", ")
}

//! Kinds that come with a CustomResourceDefinition and go with it.

use super::{LIMIT, World, foreground, name_of, owned_by, seen, start};
use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, CustomKind, Manager, Objects, Options, wait_until};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use std::time::Duration;

/// How many definitions come and go; the 1000 take an API server many minutes.
const KINDS: &str = "COLLECTOR_KINDS";
const KINDS_BY_DEFAULT: usize = 50;
/// Of those that come and go.
const GROUP: &str = "come-and-go.example.com";
/// Definitions that are made or deleted at the same time.
const AT_ONCE: usize = 8;
/// How much more memory may be held than before, in KiB: allocators keep some. Upstream's keeps
/// most of what it took for longer than a test can wait.
const GROWTH_KIB_MAX: u64 = 16 * 1024;
/// How many more files may be open than before: idle connections are kept for a while.
const FILES_MAX: usize = 8;

/// TestCustomResourceCascadingDeletion
pub(super) async fn cascade(world: World<'_>) -> anyhow::Result<()> {
    let kind = CustomKind::new("cascades");
    kind.define(world.cluster).await?;
    let owner = create(&world, &kind, "owner", &[]).await?;
    let dependent = create(&world, &kind, "dependent", &[owned_by(&owner, json!({}))]).await?;
    world.seen(&dependent).await?;
    world.objects.delete_with(&kind.resource(), "owner", &foreground()).await?;
    world.objects.gone(&kind.resource(), "owner").await?;
    world.objects.gone(&kind.resource(), "dependent").await
}

/// TestMixedRelationships
pub(super) async fn mixed(world: World<'_>) -> anyhow::Result<()> {
    let kind = CustomKind::new("mixtures");
    kind.define(world.cluster).await?;
    let block = json!({"blockOwnerDeletion": true});
    let custom = create(&world, &kind, "owner", &[]).await?;
    let core = world.config_map("owner", &[]).await?;
    let of_custom = world.config_map("dependent", &[owned_by(&custom, block.clone())]).await?;
    let of_core = create(&world, &kind, "dependent", &[owned_by(&core, block)]).await?;
    world.seen(&of_custom).await?;
    world.seen(&custom).await?;
    world.seen(&of_core).await?;
    world.objects.delete_with(&kind.resource(), "owner", &foreground()).await?;
    world.objects.gone(&kind.resource(), "owner").await?;
    ensure!(world.names("configmaps").await? == ["owner"]);
    world.objects.delete_with("configmaps", "owner", &foreground()).await?;
    world.objects.gone("configmaps", "owner").await?;
    ensure!(world.names(&kind.resource()).await?.is_empty());
    Ok(())
}

/// TestCRDDeletionCascading: twice, with the same definition.
pub(super) async fn withdrawn(world: World<'_>) -> anyhow::Result<()> {
    let kind = CustomKind::new("withdrawals");
    for pass in ["first", "second"] {
        kind.define(world.cluster).await?;
        let owner = create(&world, &kind, pass, &[]).await?;
        world.config_map(pass, &[owned_by(&owner, json!({}))]).await?;
        world.seen(&owner).await?;
        kind.withdraw(world.cluster).await?;
        world.objects.gone("configmaps", pass).await?;
    }
    Ok(())
}

/// Issue: 1,000 definitions come and go, and memory is flat; kubernetes issue 114066.
pub(super) async fn come_and_go() -> anyhow::Result<()> {
    let is_upstream = Binary::under_test()? == Binary::Upstream;
    let kinds = std::env::var(KINDS).map_or(Ok(KINDS_BY_DEFAULT), |text| text.parse())?;
    let cluster = Cluster::start(Options::default()).await?;
    let manager = start(&cluster).await?;
    let objects = Objects::of(&cluster, "default")?;
    let owner = objects.create("configmaps", &json!({"metadata": {"name": "owner"}})).await?;
    let owned = json!({"name": "owned", "ownerReferences": [owned_by(&owner, json!({}))]});
    seen(&manager, &objects.create("configmaps", &json!({"metadata": owned})).await?).await?;
    let mut before = Figures::of(&cluster, &manager).await?;
    println!("before {kinds} kinds: {before:?}");

    let limit = LIMIT + Duration::from_secs(u64::try_from(kinds)?);
    let kinds: Vec<_> =
        (0..kinds).map(|number| CustomKind::of_group(&format!("things{number}s"), GROUP)).collect();
    stream::iter(&kinds)
        .map(|kind| defined(&cluster, &objects, kind, &owner))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    watched(&cluster, kinds.len(), limit).await.with_context(|| manager.log())?;
    let with = Figures::of(&cluster, &manager).await?;
    println!("with them: {with:?}");
    // Before, some watches of other kinds may not have begun yet.
    before.watches = with.watches - u64::try_from(kinds.len())?;
    stream::iter(&kinds)
        .map(|kind| kind.withdraw(&cluster))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    watched(&cluster, 0, limit).await?;
    // The collector works on, and holds what it held before.
    objects.delete("configmaps", "owner").await?;
    objects.gone("configmaps", "owned").await?;
    wait_until("all to be as before", LIMIT, async || {
        let after = Figures::of(&cluster, &manager).await?;
        ensure!(after.watches <= before.watches, "{before:?}, then {after:?}");
        ensure!(after.open_files <= before.open_files + FILES_MAX, "{before:?}, then {after:?}");
        let is_flat = after.rss_kib <= before.rss_kib + GROWTH_KIB_MAX;
        ensure!(is_flat || is_upstream, "{before:?}, then {after:?}");
        println!("without them: {after:?}");
        Ok(Some(()))
    })
    .await
}

/// What a manager holds, and what is held for it.
#[derive(Debug)]
struct Figures {
    rss_kib: u64,
    open_files: usize,
    /// The API server's own included.
    watches: u64,
}

impl Figures {
    async fn of(cluster: &Cluster, manager: &Manager) -> anyhow::Result<Self> {
        Ok(Self {
            rss_kib: manager.rss_kib()?,
            open_files: manager.open_files()?,
            watches: cluster.open_watches().await?.values().sum(),
        })
    }
}

async fn defined(
    cluster: &Cluster,
    objects: &Objects,
    kind: &CustomKind,
    owner: &Value,
) -> anyhow::Result<()> {
    kind.define(cluster).await?;
    let metadata = json!({"name": "one", "ownerReferences": [owned_by(owner, json!({}))]});
    let object = objects.create(&kind.resource(), &kind.object(&metadata)).await?;
    ensure!(name_of(&object) == "one");
    Ok(())
}

/// Waits until this many of the kinds that come and go are watched. The API server watches none.
async fn watched(cluster: &Cluster, wanted: usize, limit: Duration) -> anyhow::Result<()> {
    wait_until(&format!("{wanted} kinds to be watched"), limit, async || {
        let watches = cluster.open_watches().await?;
        let watched = watches.keys().filter(|resource| resource.ends_with(GROUP)).count();
        ensure!(watched == wanted, "{watched} are watched");
        Ok(Some(()))
    })
    .await
}

async fn create(
    world: &World<'_>,
    kind: &CustomKind,
    name: &str,
    owners: &[Value],
) -> anyhow::Result<Value> {
    let metadata = json!({"name": name, "ownerReferences": owners});
    world.objects.create(&kind.resource(), &kind.object(&metadata)).await
}

//! Ranges of the addresses of Services on the real API server, whose allocators take addresses of
//! them: upstream's integration tests (test/integration/servicecidr) in which the controller runs.
//! The others there are about the allocators alone.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since, status_code,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=service-cidr-controller"];
const RANGES: &str = "servicecidrs.v1.networking.k8s.io";
/// The range that the API server makes of its flag.
const DEFAULT: &str = "kubernetes";
const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);
/// Six addresses, the first of which `default/kubernetes` gets.
const SMALL: &str = "192.168.0.0/29";

#[tokio::test]
async fn ranges_end_when_no_service_needs_them() -> anyhow::Result<()> {
    let cluster = cluster_of(&[SMALL]).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        ranges_are_deleted(&cluster).await?;
        a_new_range_has_room(&cluster).await?;
        silent(&cluster, &manager, [CALM; 2], |it| it.resource.starts_with("servicecidrs")).await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

/// TestServiceCIDRDeletion.
async fn ranges_are_deleted(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "deletion").await?;
    let all = objects.of_all();
    is_ready(&all, DEFAULT, &[SMALL]).await?;
    for number in 0..5 {
        objects.create("services", &service(&format!("service-{number}"))).await?;
    }
    // The same as the default: it can go whatever addresses there are.
    all.create(RANGES, &range("cidr1", &[SMALL])).await?;
    is_ready(&all, "cidr1", &[SMALL]).await?;
    all.delete(RANGES, "cidr1").await?;
    all.gone(RANGES, "cidr1").await?;
    all.create(RANGES, &range("cidr2", &["10.0.0.0/24"])).await?;
    is_ready(&all, "cidr2", &["10.0.0.0/24"]).await?;
    let made = objects.create("services", &service("new-cidr-service")).await?;
    let address = made["spec"]["clusterIP"].as_str().context("an address")?;
    ensure!(address.starts_with("10.0.0."), "{address}");
    // It contains the other one, which can go therefore.
    all.create(RANGES, &range("cidr3", &["10.0.0.0/16"])).await?;
    is_ready(&all, "cidr3", &["10.0.0.0/16"]).await?;
    all.delete(RANGES, "cidr2").await?;
    all.gone(RANGES, "cidr2").await?;
    all.delete(RANGES, "cidr3").await?;
    is_held(&all, "cidr3").await?;
    objects.delete("services", "new-cidr-service").await?;
    all.gone(RANGES, "cidr3").await
}

/// TestServiceAllocNewServiceCIDR, when the default range is full.
async fn a_new_range_has_room(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "room").await?;
    let all = objects.of_all();
    let error = objects.create("services", &service("fail")).await.err();
    let error = error.context("there was room")?;
    ensure!(format!("{error:#}").contains("range is full"), "{error:#}");
    all.create(RANGES, &range("test2", &["10.168.0.0/24"])).await?;
    is_ready(&all, "test2", &["10.168.0.0/24"]).await?;
    a_service_without_a_name_is_refused(&objects).await?;
    let services = (10..150).map(|number| service(&format!("service-{number}")));
    objects.create_all("services", services).await?;
    all.delete(RANGES, "test2").await?;
    is_held(&all, "test2").await?;
    for service in objects.list("services").await? {
        objects.delete("services", name_of(&service)?).await?;
    }
    all.gone(RANGES, "test2").await
}

/// TestInvalidService, with a range that has room.
async fn a_service_without_a_name_is_refused(objects: &Objects) -> anyhow::Result<()> {
    let nameless = json!({"metadata": {}, "spec": {"ports": [{"port": 80}]}});
    let error = objects.create("services", &nameless).await.err().context("it was made")?;
    ensure!(status_code(&error) == Some(422), "{error:#}");
    Ok(())
}

/// TestMigrateServiceCIDR. There the second API server starts before the first one ends.
#[tokio::test]
async fn a_cluster_moves_to_another_range() -> anyhow::Result<()> {
    const NEW: &str = "10.168.0.0/24";
    let cluster = cluster_of(&[SMALL]).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        let objects = Objects::in_new(&cluster, "migrate").await?;
        let all = objects.of_all();
        is_ready(&all, DEFAULT, &[SMALL]).await?;
        for name in ["svc-0", "svc-1"] {
            objects.create("services", &service(name)).await?;
        }
        all.create(RANGES, &range("migration", &[NEW])).await?;
        is_ready(&all, "migration", &[NEW]).await?;
        all.delete(RANGES, DEFAULT).await?;
        is_held(&all, DEFAULT).await?;
        for name in ["svc-0", "svc-1"] {
            objects.delete("services", name).await?;
            let made = objects.create("services", &service(name)).await?;
            let address = made["spec"]["clusterIP"].as_str().context("an address")?;
            ensure!(address.starts_with("10.168.0."), "{address}");
        }
        cluster.stop_apiserver().await?;
        cluster.start_apiserver_with(&[flag(&[NEW])]).await?;
        let default = Objects::of(&cluster, "default")?;
        default.delete("services", "kubernetes").await?;
        is_ready(&all, DEFAULT, &[NEW]).await?;
        let is_moved = |service: &Value| service["spec"]["clusterIP"] == "10.168.0.1";
        default.wait("services", "kubernetes", "to have an address of it", is_moved).await?;
        all.delete(RANGES, "migration").await?;
        all.gone(RANGES, "migration").await
    };
    run.await.with_context(|| manager.log())
}

const V4: &str = "10.0.0.0/29";
const MORE_V4: &str = "10.1.0.0/16";
const V6: &str = "2001:db8:1::/125";
const MORE_V6: &str = "2001:db8:2::/112";

/// Ranges before and after, and whether those from before stay: then what was asked for needs
/// somebody's hand.
struct Migration(&'static [&'static str], &'static [&'static str], Stays);

#[derive(Clone, Copy, PartialEq)]
enum Stays {
    No,
    Yes,
    /// And no Service can be made.
    Full,
}

/// Those that a run tries by default come first; `MIGRATIONS` says how many.
const MIGRATIONS: [Migration; 14] = [
    Migration(&[V4], &[V4, MORE_V6], Stays::No),
    Migration(&[V4, V6], &[V4], Stays::Yes),
    Migration(&[V6], &[V4], Stays::Full),
    Migration(&[V4], &[V4], Stays::No),
    Migration(&[V6], &[V6], Stays::No),
    Migration(&[V4, V6], &[V4, V6], Stays::No),
    Migration(&[V6, V4], &[V6, V4], Stays::No),
    Migration(&[V6], &[V6, MORE_V4], Stays::No),
    Migration(&[V4, V6], &[V6, V4], Stays::Full),
    Migration(&[V6, V4], &[V4, V6], Stays::Full),
    Migration(&[V4, V6], &[V6], Stays::Full),
    Migration(&[V4], &[V6], Stays::Full),
    Migration(&[V4], &[MORE_V6, V4], Stays::Full),
    Migration(&[V6], &[MORE_V4, V6], Stays::Full),
];
const TRIED: usize = 3;

/// TestServiceCIDRMigrationScenarios.
#[tokio::test]
async fn families_come_and_go() -> anyhow::Result<()> {
    let count = std::env::var("MIGRATIONS").ok().map(|text| text.parse()).transpose()?;
    for Migration(before, after, stays) in MIGRATIONS.iter().take(count.unwrap_or(TRIED)) {
        let text = format!("from {before:?} to {after:?}");
        migrated(before, after, *stays).await.with_context(|| text.clone())?;
        println!("{text}");
    }
    Ok(())
}

async fn migrated(before: &[&str], after: &[&str], stays: Stays) -> anyhow::Result<()> {
    let cluster = cluster_of(before).await?;
    let binary = Binary::under_test()?;
    let start = || Manager::start(&cluster, binary, User::ControllerManager, ARGS);
    let mut manager = start()?;
    let objects = Objects::in_new(&cluster, "migrate").await?;
    let all = objects.of_all();
    is_ready(&all, DEFAULT, before).await.with_context(|| manager.log())?;
    let addresses = |service: &Value| service["spec"]["clusterIPs"].clone();
    let old = addresses(&objects.create("services", &service("before")).await?);
    manager.sigterm()?;
    manager.ended(Duration::from_mins(1)).await?;
    cluster.stop_apiserver().await?;
    cluster.start_apiserver_with(&flags(after)).await?;
    let manager = start()?;
    let expected = if stays == Stays::No { after } else { before };
    is_ready(&all, DEFAULT, expected).await.with_context(|| manager.log())?;
    let kept = addresses(&objects.get("services", "before").await?);
    ensure!(kept == old, "{kept}, and before {old}");
    // Where upstream expects an error, it does not ask for one.
    let made = objects.create("services", &service("after")).await;
    match (made, stays) {
        (Ok(made), Stays::No | Stays::Yes) => {
            let address = addresses(&made)[0].as_str().context("an address")?.to_owned();
            let prefix = expected[0].split(['/']).next().unwrap_or_default();
            let prefix = prefix.trim_end_matches(['0', ':']);
            ensure!(address.starts_with(prefix), "{address} is not of {expected:?}");
        }
        (Err(error), Stays::No | Stays::Yes) => return Err(error),
        (Ok(_) | Err(_), Stays::Full) => {}
    }
    Ok(())
}

// === What the tests share ===

/// A cluster whose Services have addresses of these ranges.
async fn cluster_of(ranges: &[&str]) -> anyhow::Result<Cluster> {
    Cluster::start(Options { apiserver_args: flags(ranges), ..Options::default() }).await
}

fn flag(ranges: &[&str]) -> String {
    format!("--service-cluster-ip-range={}", ranges.join(","))
}

/// The API server's own address must be of the family of the first range.
fn flags(ranges: &[&str]) -> Vec<String> {
    let is_v6 = ranges.first().is_some_and(|range| range.contains(':'));
    let address = if is_v6 { "2001:db8::1" } else { "127.0.0.1" };
    vec![flag(ranges), format!("--advertise-address={address}")]
}

fn range(name: &str, cidrs: &[&str]) -> Value {
    json!({"metadata": {"name": name}, "spec": {"cidrs": cidrs}})
}

fn service(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}})
}

fn name_of(object: &Value) -> anyhow::Result<&str> {
    object["metadata"]["name"].as_str().context("a name")
}

/// Waits until a range is of these CIDRs, and can be used.
async fn is_ready(all: &Objects, name: &str, cidrs: &[&str]) -> anyhow::Result<()> {
    let is_so = |range: &Value| {
        range["spec"]["cidrs"] == json!(cidrs)
            && range["metadata"]["finalizers"] == json!([FINALIZER])
            && ready(range)["status"] == "True"
            && ready(range)["message"] == "Kubernetes Service CIDR is ready"
    };
    all.wait(RANGES, name, &format!("to be ready with {cidrs:?}"), is_so).await.map(drop)
}

/// Waits until it is said of a range that is being deleted that Services have addresses of it.
async fn is_held(all: &Objects, name: &str) -> anyhow::Result<()> {
    let is_so = |range: &Value| {
        ready(range)["status"] == "False" && ready(range)["reason"] == "Terminating"
    };
    all.wait(RANGES, name, "to be held", is_so).await.map(drop)
}

/// The condition.
fn ready(range: &Value) -> &Value {
    let conditions = range["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|it| it["type"] == "Ready");
    found.unwrap_or(&Value::Null)
}

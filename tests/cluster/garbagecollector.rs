//! The garbage collector on the real API server: what is deleted, what stays, and what finalizers
//! are left. Upstream's integration tests (test/integration/garbagecollector) are scenarios here,
//! each in a namespace of its own, many at a time.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use futures::FutureExt;
use futures::future::{LocalBoxFuture, join_all};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

mod cascades;
mod isolation;
mod kinds;
mod namespaces;
mod ownership;

const LIMIT: Duration = Duration::from_mins(1);
const ARGS: &[&str] =
    &["--controllers=garbage-collector-controller", "--kube-api-qps=1000", "--kube-api-burst=1000"];
const GRAPH: &str = "/debug/controllers/garbage-collector-controller/graph";

/// All that upstream's tests ask for. New kinds are looked for every half minute, so that the tests
/// that wait for them wait together, on three clusters.
#[tokio::test]
async fn owners_and_dependents() -> anyhow::Result<()> {
    all_of(vec![
        scenario("one cluster for many", shared_cluster()),
        scenario(
            "TestCrossNamespaceReferencesWithoutWatchCache",
            namespaces::without_watch_cache(),
        ),
        scenario(
            "TestCascadingDeleteOnCRDConversionFailure",
            isolation::broken_kinds_hold_up_no_other_object(),
        ),
        scenario("kinds come and go", kinds::come_and_go()),
    ])
    .await
}

#[tokio::test]
async fn cascades_end_exact() -> anyhow::Result<()> {
    cascades::in_each_mode().await
}

async fn shared_cluster() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let across = namespaces::Across::prepare(&cluster, ["across-a", "across-b"]).await?;
    let manager = start(&cluster).await?;
    let world = async |namespace| World::new(&cluster, &manager, namespace).await;
    all_of(vec![
        scenario("TestCrossNamespaceReferencesWithWatchCache", across.check(&manager)),
        scenario("TestCascadingDeletion", ownership::cascade(world("cascading").await?)),
        scenario("TestCreateWithNonExistentOwner", ownership::no_owner(world("no-owner").await?)),
        scenario("TestStressingCascadingDeletion", ownership::stress(world("stress").await?)),
        scenario("TestOrphaning", ownership::orphans(world("orphaning").await?)),
        scenario("TestSolidOwnerDoesNotBlockWaitingOwner", ownership::solid(world("solid").await?)),
        scenario(
            "TestNonBlockingOwnerRefDoesNotBlock",
            ownership::not_blocking(world("not-blocking").await?),
        ),
        scenario("TestDoubleDeletionWithFinalizer", ownership::twice(world("twice").await?)),
        scenario("TestBlockingOwnerRefDoesBlock", ownership::blocking(world("blocking").await?)),
        scenario("TestClusterScopedOwners", namespaces::cluster_scoped(world("scopes").await?)),
        scenario("circles", ownership::circle(world("circle").await?)),
        scenario("the same name again", ownership::again(world("again").await?)),
        scenario("TestCustomResourceCascadingDeletion", kinds::cascade(world("custom").await?)),
        scenario("TestMixedRelationships", kinds::mixed(world("mixed").await?)),
        scenario("TestCRDDeletionCascading", kinds::withdrawn(world("withdrawn").await?)),
    ])
    .await
    .with_context(|| manager.log())
}

type Scenario<'a> = LocalBoxFuture<'a, anyhow::Result<()>>;

fn scenario<'a>(
    name: &'static str,
    run: impl Future<Output = anyhow::Result<()>> + 'a,
) -> Scenario<'a> {
    let timed = async move {
        let started = now();
        run.await.context(name)?;
        println!("{name}: {:?}", now() - started);
        Ok(())
    };
    timed.boxed_local()
}

/// Runs all side by side; the error names all that failed.
async fn all_of(scenarios: Vec<Scenario<'_>>) -> anyhow::Result<()> {
    let results = join_all(scenarios).await;
    let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    let failed: Vec<_> = failed.iter().map(|error| format!("{error:#}")).collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Starts the manager that the suite is about, and finds out at once if it will not run.
async fn start(cluster: &Cluster) -> anyhow::Result<Manager> {
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    Ok(manager)
}

/// A namespace for one scenario.
struct World<'a> {
    cluster: &'a Cluster,
    manager: &'a Manager,
    objects: Objects,
}

impl<'a> World<'a> {
    async fn new(
        cluster: &'a Cluster,
        manager: &'a Manager,
        namespace: &str,
    ) -> anyhow::Result<Self> {
        Ok(Self { cluster, manager, objects: Objects::in_new(cluster, namespace).await? })
    }

    /// A ReplicationController, which only the garbage collector syncs.
    async fn owner(&self, name: &str) -> anyhow::Result<Value> {
        self.owner_with(name, json!({})).await
    }

    async fn owner_with(&self, name: &str, mut metadata: Value) -> anyhow::Result<Value> {
        metadata["name"] = name.into();
        let labels = json!({"name": "test"});
        let template = json!({"metadata": {"labels": labels}, "spec": pod_spec()});
        let spec = json!({"selector": labels, "template": template});
        let object = json!({"metadata": metadata, "spec": spec});
        self.objects.create("replicationcontrollers", &object).await
    }

    /// A pod that no node runs, with these owners.
    async fn pod(&self, name: &str, owners: &[Value]) -> anyhow::Result<Value> {
        self.pod_with(name, owners, &[]).await
    }

    async fn pod_with(
        &self,
        name: &str,
        owners: &[Value],
        finalizers: &[&str],
    ) -> anyhow::Result<Value> {
        let metadata = json!({"name": name, "ownerReferences": owners, "finalizers": finalizers});
        self.objects.create("pods", &json!({"metadata": metadata, "spec": pod_spec()})).await
    }

    async fn config_map(&self, name: &str, owners: &[Value]) -> anyhow::Result<Value> {
        let metadata = json!({"name": name, "ownerReferences": owners});
        self.objects.create("configmaps", &json!({"metadata": metadata})).await
    }

    /// Waits until the collector knows of this object, which has an owner or a dependent.
    async fn seen(&self, object: &Value) -> anyhow::Result<()> {
        seen(self.manager, object).await
    }

    /// Waits until the collector has forgotten this object.
    async fn forgotten(&self, object: &Value) -> anyhow::Result<()> {
        wait_until("the collector to forget", LIMIT, async || {
            Ok((!knows(self.manager, object).await?).then_some(()))
        })
        .await
    }

    /// Deletes an owner; as ReplicationControllers go, orphaning is the default.
    async fn delete_owner(&self, name: &str, options: Value) -> anyhow::Result<Value> {
        self.objects.delete_with("replicationcontrollers", name, &options).await
    }

    /// The names of a resource's objects, sorted.
    async fn names(&self, resource: &str) -> anyhow::Result<Vec<String>> {
        let objects = self.objects.list(resource).await?;
        let mut names: Vec<_> = objects.iter().map(name_of).collect();
        names.sort();
        Ok(names)
    }
}

/// Waits until the collector knows of this object, which has an owner or a dependent. It may be of
/// a kind that is new.
async fn seen(manager: &Manager, object: &Value) -> anyhow::Result<()> {
    let what = format!("the collector to see {} {}", object["kind"], object["metadata"]["name"]);
    wait_until(&what, 2 * LIMIT, async || Ok(knows(manager, object).await?.then_some(()))).await
}

/// Whether an object is in the graph as one that was observed. Those without owners and dependents
/// are not shown.
async fn knows(manager: &Manager, object: &Value) -> anyhow::Result<bool> {
    let uid = object["metadata"]["uid"].as_str().context("a uid")?;
    let graph = manager.get(&format!("{GRAPH}?uid={uid}")).await?;
    let mut lines = graph.lines().skip_while(|line| *line != format!("  \"{uid}\" ["));
    Ok(lines.find_map(|line| line.trim().strip_prefix("virtual=")) == Some("\"false\""))
}

/// A reference to this object, with `more` in it.
fn owned_by(owner: &Value, mut more: Value) -> Value {
    more["apiVersion"] = owner["apiVersion"].clone();
    more["kind"] = owner["kind"].clone();
    for key in ["name", "uid"] {
        more[key] = owner["metadata"][key].clone();
    }
    more
}

fn pod_spec() -> Value {
    json!({"containers": [{"name": "main", "image": "main"}]})
}

fn foreground() -> Value {
    json!({"propagationPolicy": "Foreground"})
}

fn background() -> Value {
    json!({"propagationPolicy": "Background"})
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
    Instant::now()
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

//! Kinds whose preferred version changes.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, CustomKind, Manager, Objects, Options, User, wait_until};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(2);
const ARGS: &[&str] =
    &["--controllers=garbage-collector-controller", "--kube-api-qps=1000", "--kube-api-burst=1000"];
const GRAPH: &str = "/debug/controllers/garbage-collector-controller/graph";
const PLURAL: &str = "moves";
const DEPENDENTS: usize = 20;

/// A kind gets a version that is preferred and that cannot be read, and the owner of its objects is
/// deleted without them: the objects are still there in the version that they are stored in. The
/// collector that forgets them lets the owner go at once, and deletes them as soon as it can read
/// them again.
#[tokio::test]
async fn no_object_is_lost_by_a_version_that_cannot_be_read() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let objects = Objects::in_new(&cluster, "versions").await?;
    let kind = CustomKind::new(PLURAL);
    kind.define_as_stored(&cluster).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        let owner = config_map(&objects, "owner").await?;
        let (mut last, resource) = (Value::Null, kind.stored_resource());
        for number in 0..DEPENDENTS {
            let of = stored(&kind, &format!("stays-{number}"), &owner);
            last = objects.create(&resource, &of).await?;
        }
        seen(&manager, &last).await?;

        kind.prefer_unreadable(&cluster).await?;
        wait_until("the manager to ask for the new version", LIMIT, async || {
            Ok((cluster.refused_reads(PLURAL, "v1").await? > 0).then_some(()))
        })
        .await?;
        let orphan = json!({"propagationPolicy": "Orphan"});
        objects.delete_with("configmaps", "owner", &orphan).await?;
        objects.gone("configmaps", "owner").await?;
        are_let_go(&objects, &kind).await?;

        // The new version can be read, and what happens in it is seen: they are still there.
        kind.repair_conversion(&objects, "stays-0").await?;
        let other = config_map(&objects, "other").await?;
        let metadata = metadata("goes", &other);
        let goes = objects.create(&kind.resource(), &kind.object(&metadata)).await?;
        seen(&manager, &goes).await?;
        objects.delete("configmaps", "other").await?;
        objects.gone(&kind.resource(), "goes").await?;
        are_let_go(&objects, &kind).await
    };
    run.await.with_context(|| manager.log())
}

/// All are there, and have no owner.
async fn are_let_go(objects: &Objects, kind: &CustomKind) -> anyhow::Result<()> {
    let left = objects.list(&kind.stored_resource()).await?;
    let owned = left.iter().filter(|it| !it["metadata"]["ownerReferences"].is_null()).count();
    let (found, wanted) = ((left.len(), owned), (DEPENDENTS, 0));
    ensure!(found == wanted, "(objects, with an owner): {found:?}, not {wanted:?}");
    Ok(())
}

async fn config_map(objects: &Objects, name: &str) -> anyhow::Result<Value> {
    objects.create("configmaps", &json!({"metadata": {"name": name}})).await
}

fn metadata(name: &str, owner: &Value) -> Value {
    let (of, uid) = (&owner["metadata"]["name"], &owner["metadata"]["uid"]);
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": of, "uid": uid});
    json!({"name": name, "ownerReferences": [owner]})
}

fn stored(kind: &CustomKind, name: &str, owner: &Value) -> Value {
    let mut object = kind.object(&metadata(name, owner));
    let group = object["apiVersion"].as_str().and_then(|version| version.split_once('/'));
    let version = group.map_or_else(String::new, |(group, _)| format!("{group}/v1beta1"));
    object["apiVersion"] = version.into();
    object
}

/// Waits until the collector knows of this object, which may be of a kind that is new.
async fn seen(manager: &Manager, object: &Value) -> anyhow::Result<()> {
    let uid = object["metadata"]["uid"].as_str().context("a uid")?;
    wait_until(&format!("the collector to see {uid}"), LIMIT, async || {
        let graph = manager.get(&format!("{GRAPH}?uid={uid}")).await?;
        let mut lines = graph.lines().skip_while(|line| *line != format!("  \"{uid}\" ["));
        let is_virtual = lines.find_map(|line| line.trim().strip_prefix("virtual="));
        Ok((is_virtual == Some("\"false\"")).then_some(()))
    })
    .await
}

//! Migrations to another storage version on the real API server. Upstream's
//! test/integration/storageversionmigrator: TestStorageVersionMigration,
//! TestStorageVersionMigrationWithCRD and TestStorageVersionMigrationDuringChaos.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, pass, since, wait_until,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

const MIGRATIONS: &str = "storageversionmigrations.v1beta1.storagemigration.k8s.io";
const DEFINITIONS: &str = "customresourcedefinitions.v1.apiextensions.k8s.io";
const GADGETS: &str = "gadgets.v1.example.com";
const WIDGETS: &str = "widgets.v1.example.com";
const GATE: &str = "--feature-gates=StorageVersionMigrator=true";
const SERVED: &str = "--runtime-config=storagemigration.k8s.io/v1beta1=true";
const LIMIT: Duration = Duration::from_mins(5);
const ARGS: [&str; 2] =
    ["--controllers=storage-version-migrator-controller,garbage-collector-controller", GATE];

#[tokio::test]
async fn objects_are_stored_in_the_new_version() -> anyhow::Result<()> {
    let apiserver_args = [GATE, SERVED].map(str::to_owned).to_vec();
    let cluster =
        Cluster::start(Options { nodes: 0, apiserver_args, ..Options::default() }).await?;
    let (binary, user) = (Binary::under_test()?, User::ControllerManager);
    let mut manager = Manager::start(&cluster, binary, user, &ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        let objects = Objects::in_new(&cluster, "migrated").await?;
        let all = objects.of_all();
        for (plural, kind) in [("gadgets", "Gadget"), ("widgets", "Widget")] {
            all.create(DEFINITIONS, &definition(plural, kind)).await?;
            let name = format!("{plural}.example.com");
            all.wait(DEFINITIONS, &name, "to be served", |it| is(it, "Established")).await?;
        }
        objects
            .create_all(GADGETS, (0..20).map(|it| object("Gadget", &format!("it-{it}"))))
            .await?;
        // From now on they are to be stored in another version.
        let versions = json!({"spec": {"versions": [version("v1", false), version("v2", true)]}});
        all.merge(DEFINITIONS, NAME, &versions).await?;
        let stored = json!(["v1", "v2"]);
        let is_known = |it: &Value| it["status"]["storedVersions"] == stored;
        all.wait(DEFINITIONS, NAME, "to have two stored versions", is_known).await?;
        let before = objects.list(GADGETS).await?;
        all.create(MIGRATIONS, &migration("gadgets", "example.com", "gadgets")).await?;
        all.create(MIGRATIONS, &migration("maps", "", "configmaps")).await?;
        all.create(MIGRATIONS, &migration("nothing", "example.com", "absent")).await?;
        // Both managers wait until their caches show that version; without news of ConfigMaps that
        // takes until the next bookmark.
        let is_noted = |it: &Value| it["status"]["resourceVersion"].is_string();
        all.wait(MIGRATIONS, "maps", "to have a version", is_noted).await?;
        objects.create("configmaps", &json!({"metadata": {"name": "news"}})).await?;
        for name in ["gadgets", "maps"] {
            succeeds(&all, name).await?;
        }
        // Each was stored once more, and none is another one now.
        let after = objects.list(GADGETS).await?;
        ensure!(before.len() == 20 && after.len() == 20);
        for (before, after) in before.iter().zip(&after) {
            let [was, is] = [before, after].map(version_of);
            ensure!(was < is, "{before} was not stored anew: {after}");
            ensure!(before["metadata"]["uid"] == after["metadata"]["uid"], "{before} {after}");
        }
        let is_one = |it: &Value| it["status"]["storedVersions"] == json!(["v2"]);
        all.wait(DEFINITIONS, NAME, "to have one stored version", is_one).await?;
        many_at_once_while_others_come_and_go(&objects).await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

/// TestStorageVersionMigrationDuringChaos: ten migrations of a kind, whose stored version stays.
/// All succeed while objects come and go, and none that stays is another one then.
async fn many_at_once_while_others_come_and_go(objects: &Objects) -> anyhow::Result<()> {
    let all = objects.of_all();
    let stays = |number| object("Widget", &format!("stays-{number}"));
    objects.create_all(WIDGETS, (0..50).map(stays)).await?;
    let staying = async || {
        let mut widgets = objects.list(WIDGETS).await?;
        widgets
            .retain(|it| it["metadata"]["name"].as_str().is_some_and(|it| it.starts_with("stays")));
        anyhow::Ok(widgets)
    };
    let before = staying().await?;
    ensure!(before.len() == 50, "{}", before.len());
    let others = stream::iter(0..5).map(anyhow::Ok).try_for_each_concurrent(5, async |number| {
        let name = format!("goes-{number}");
        loop {
            objects.create(WIDGETS, &object("Widget", &name)).await?;
            pass(Duration::from_millis(100)).await;
            objects.delete(WIDGETS, &name).await?;
            objects.gone(WIDGETS, &name).await?;
        }
    });
    let migrations = stream::iter(0..10)
        .map(|number| async move {
            let name = format!("widgets-{number}");
            let all = objects.of_all();
            all.create(MIGRATIONS, &migration(&name, "example.com", "widgets")).await?;
            succeeds(&all, &name).await
        })
        .buffer_unordered(10)
        .try_collect::<()>();
    tokio::select! {
        biased;
        over = migrations => over?,
        failed = others => failed?,
    }
    ensure!(before == staying().await?, "an object was changed");
    for it in all.list(MIGRATIONS).await? {
        ensure!(!is(&it, "Failed") || it["metadata"]["name"] == "nothing", "{it}");
    }
    Ok(())
}

/// Upstream's looks for new kinds each half minute, and then ever more rarely.
async fn succeeds(all: &Objects, name: &str) -> anyhow::Result<()> {
    wait_until(&format!("the migration {name} to succeed"), LIMIT, async || {
        let it = all.get(MIGRATIONS, name).await?;
        Ok((is(&it, "Succeeded") && !is(&it, "Running")).then_some(()))
    })
    .await
}

const NAME: &str = "gadgets.example.com";

fn object(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}})
}

fn definition(plural: &str, kind: &str) -> Value {
    let singular = kind.to_lowercase();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": singular,
                "listKind": format!("{kind}List")},
            "versions": [version("v1", true), version("v2", false)],
        },
    })
}

fn version(name: &str, is_stored: bool) -> Value {
    json!({"name": name, "served": true, "storage": is_stored,
        "schema": {"openAPIV3Schema": {"type": "object",
            "x-kubernetes-preserve-unknown-fields": true}}})
}

fn migration(name: &str, group: &str, resource: &str) -> Value {
    json!({
        "apiVersion": "storagemigration.k8s.io/v1beta1", "kind": "StorageVersionMigration",
        "metadata": {"name": name},
        "spec": {"resource": {"group": group, "resource": resource}},
    })
}

fn is(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it["type"] == condition && it["status"] == "True")
}

fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse().ok()).unwrap_or(0)
}

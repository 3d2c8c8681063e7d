//! Migrations to another storage version on the real API server. Upstream's
//! test/integration/storageversionmigrator: TestStorageVersionMigration and
//! TestStorageVersionMigrationWithCRD.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, since, wait_until,
};
use serde_json::{Value, json};

const MIGRATIONS: &str = "storageversionmigrations.v1beta1.storagemigration.k8s.io";
const DEFINITIONS: &str = "customresourcedefinitions.v1.apiextensions.k8s.io";
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
        all.create(DEFINITIONS, &definition()).await?;
        all.wait(DEFINITIONS, NAME, "to be served", |it| is(it, "Established")).await?;
        for number in 0..20 {
            let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget",
                "metadata": {"name": format!("gadget-{number}")}, "size": number});
            objects.create("gadgets.v1.example.com", &gadget).await?;
        }
        // From now on they are to be stored in another version.
        let versions = json!({"spec": {"versions": [version("v1", false), version("v2", true)]}});
        all.merge(DEFINITIONS, NAME, &versions).await?;
        let stored = json!(["v1", "v2"]);
        let is_known = |it: &Value| it["status"]["storedVersions"] == stored;
        all.wait(DEFINITIONS, NAME, "to have two stored versions", is_known).await?;
        let before = objects.list("gadgets.v1.example.com").await?;
        all.create(MIGRATIONS, &migration("gadgets", "example.com", "gadgets")).await?;
        all.create(MIGRATIONS, &migration("maps", "", "configmaps")).await?;
        all.create(MIGRATIONS, &migration("nothing", "example.com", "absent")).await?;
        // Both managers wait until their caches show that version; without news of ConfigMaps that
        // takes until the next bookmark.
        let is_noted = |it: &Value| it["status"]["resourceVersion"].is_string();
        all.wait(MIGRATIONS, "maps", "to have a version", is_noted).await?;
        objects.create("configmaps", &json!({"metadata": {"name": "news"}})).await?;
        for name in ["gadgets", "maps"] {
            // Upstream's looks for new kinds each half minute, and then ever more rarely.
            let is_over = async || {
                let it = all.get(MIGRATIONS, name).await?;
                Ok((is(&it, "Succeeded") && !is(&it, "Running")).then_some(()))
            };
            wait_until("a migration to succeed", LIMIT, is_over).await?;
        }
        // Each was stored once more, and none is another one now.
        let after = objects.list("gadgets.v1.example.com").await?;
        ensure!(before.len() == 20 && after.len() == 20);
        for (before, after) in before.iter().zip(&after) {
            let [was, is] = [before, after].map(version_of);
            ensure!(was < is, "{before} was not stored anew: {after}");
            ensure!(before["size"] == after["size"], "{before} {after}");
        }
        let is_one = |it: &Value| it["status"]["storedVersions"] == json!(["v2"]);
        all.wait(DEFINITIONS, NAME, "to have one stored version", is_one).await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

const NAME: &str = "gadgets.example.com";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget",
                "listKind": "GadgetList"},
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

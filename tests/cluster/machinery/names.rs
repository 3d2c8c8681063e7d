//! Names that need escaping in paths.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);
const ARGS: &[&str] =
    &["--controllers=garbage-collector-controller", "--kube-api-qps=1000", "--kube-api-burst=1000"];
const ROLES: &str = "roles.v1.rbac.authorization.k8s.io";
/// What the API server takes as the names of Roles.
const ODD: &[&str] = &["my role", "a?b", "q#r", "system:x", "a+b&c=d", "ü\"\\", "plain"];
/// What it takes as the name of an owner and of no object, and knows no path for.
const NOWHERE: &[&str] = &["a/b", ".."];
/// The same, but what is asked of it, it refuses to say, so that nothing may be concluded.
const REFUSED: &[&str] = &["50%", "."];

/// RBAC's names are checked as path segments only, and owner references name anything. An object
/// with an odd name is collected as all others are, and is found as a live owner.
#[tokio::test]
async fn odd_names_are_collected_and_own() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let objects = Objects::in_new(&cluster, "odd").await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    scene(&objects).await.with_context(|| manager.log())
}

async fn scene(objects: &Objects) -> anyhow::Result<()> {
    let owner = config_map(objects, "owner", &[]).await?;
    let role = async |name: &str, owners: &[Value]| {
        let metadata = json!({"name": name, "ownerReferences": owners});
        objects.create(ROLES, &json!({"metadata": metadata})).await.context(name.to_owned())
    };
    for name in ODD {
        role(name, &[reference("v1", "ConfigMap", &owner)]).await?;
    }
    let mut kept = Vec::new();
    for (number, name) in ["still here?", "still#here"].into_iter().enumerate() {
        let lives = role(name, &[]).await?;
        let lives = reference("rbac.authorization.k8s.io/v1", "Role", &lives);
        let owners = [reference("v1", "ConfigMap", &owner), lives.clone()];
        let name = format!("shared-{number}");
        config_map(objects, &name, &owners).await?;
        kept.push((name, json!([lives])));
    }
    for (start, names) in [("lost", NOWHERE), ("stays", REFUSED)] {
        for (number, name) in names.iter().enumerate() {
            let uid = format!("{start}-{number}");
            let owner = json!({"apiVersion": "v1", "kind": "Secret", "name": name, "uid": uid});
            config_map(objects, &uid, &[owner]).await?;
        }
    }
    objects.delete("configmaps", "owner").await?;
    wait_until("odd names to be collected", LIMIT, async || {
        let left = names(&objects.list(ROLES).await?);
        ensure!(left == ["still here?", "still#here"], "roles that are left: {left:?}");
        let left = names(&objects.list("configmaps").await?);
        let expected = ["shared-0", "shared-1", "stays-0", "stays-1"];
        ensure!(left == expected, "config maps that are left: {left:?}");
        Ok(Some(()))
    })
    .await?;
    for (name, owners) in kept {
        let wanted = |it: &Value| it["metadata"]["ownerReferences"] == owners;
        objects.wait("configmaps", &name, "to have the owner that lives", wanted).await?;
    }
    Ok(())
}

async fn config_map(objects: &Objects, name: &str, owners: &[Value]) -> anyhow::Result<Value> {
    let metadata = json!({"name": name, "ownerReferences": owners});
    objects.create("configmaps", &json!({"metadata": metadata})).await
}

fn reference(api_version: &str, kind: &str, owner: &Value) -> Value {
    let [name, uid] = ["name", "uid"].map(|key| owner["metadata"][key].clone());
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid})
}

fn names(objects: &[Value]) -> Vec<String> {
    let name = |it: &Value| it["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut names: Vec<_> = objects.iter().map(name).collect();
    names.sort();
    names
}

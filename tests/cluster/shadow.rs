//! A shadow beside upstream's manager: it finds no difference over all workloads of the swap, and
//! writes nothing; with a deliberate bug it finds one and names the object.

use anyhow::{Context, ensure};
use cluster_tests::{
    AuditLog, Binary, Caller, Cluster, Manager, Objects, User, kubectl, quiet, wait_until,
};
use serde_json::{Value, json};
use std::time::Duration;

use crate::swap;

const LIMIT: Duration = Duration::from_mins(1);
const CALM: Duration = Duration::from_secs(2);
/// The user of deploy/shadow.yaml, by a certificate.
const USER: User = User::ServiceAccount("kube-controller-manager-shadow");
const PAGE: &str = "/debug/shadow";

#[tokio::test]
async fn a_shadow_of_upstreams_manager_agrees_and_writes_nothing() -> anyhow::Result<()> {
    let mut options = swap::options();
    options.apiserver_args.extend(AuditLog::apiserver_args());
    let cluster = Cluster::start(options).await?;
    let mut audit = AuditLog::of(&cluster);
    kubectl(&cluster, &["apply", "-f", &deployed()]).await?;
    let own = cluster.kubeconfig(USER)?.display().to_string();
    let args = [
        &*format!("--authentication-kubeconfig={own}"),
        &*format!("--authorization-kubeconfig={own}"),
        "--shadow",
        "--shadow-grace-period=20s",
    ];
    let args: Vec<_> = swap::ARGS.iter().copied().chain(args).collect();
    let mut shadow = Manager::start(&cluster, Binary::Ours, USER, &args)?;
    shadow.healthy().await?;
    let upstream = swap::built_by(&cluster, Binary::Upstream).await?;
    more(&cluster, &upstream).await?;
    let found = agreed(&cluster, &shadow).await.with_context(|| shadow.log())?;
    println!("{}", text(&cluster, &shadow).await?);
    for name in ["deployment", "replicaset", "daemonset", "statefulset", "job", "disruption"] {
        let agreed = counts(&found, name, "agreed")?;
        ensure!(agreed > 0, "{name}: nothing was agreed on: {found:#}");
    }
    let reviews = ["create tokenreviews /", "create subjectaccessreviews /"];
    let writes = audit.news()?.into_iter().filter(|it| it.user == USER.name());
    let writes: Vec<_> = writes.filter(|it| !reviews.contains(&&*it.what)).collect();
    ensure!(writes.is_empty(), "a shadow has written {writes:?}");
    Ok(())
}

/// Rollouts, and the end of a namespace.
async fn more(cluster: &Cluster, upstream: &Manager) -> anyhow::Result<()> {
    let objects = Objects::of(cluster, swap::NAMESPACE)?;
    for (name, replicas) in [("history", 5), ("history", 1)] {
        objects.merge("deployments", name, &json!({"spec": {"replicas": replicas}})).await?;
    }
    let other = Objects::in_new(cluster, "ends").await?;
    other.create("configmaps", &json!({"metadata": {"name": "content"}})).await?;
    other.of_all().delete("namespaces", "ends").await?;
    other.of_all().gone("namespaces", "ends").await?;
    quiet(cluster, upstream, CALM).await
}

/// Waits until nothing is wanted, and returns what was found.
async fn agreed(cluster: &Cluster, shadow: &Manager) -> anyhow::Result<Value> {
    let mut last = Value::Null;
    let end = wait_until("the shadow to want nothing", LIMIT, async || {
        last = found(cluster, shadow).await?;
        let controllers = last["controllers"].as_array().context("controllers")?;
        let rests = controllers.iter().all(|it| it["waiting"] == 0 && it["phase"] == "running");
        Ok((rests && last["open"] == 0).then_some(()))
    })
    .await;
    end.with_context(|| format!("{last:#}"))?;
    Ok(last)
}

async fn found(cluster: &Cluster, shadow: &Manager) -> anyhow::Result<Value> {
    let admin = Caller::User(User::Admin);
    let page = shadow.ask_for(cluster, &admin, PAGE, "application/json").await?;
    Ok(serde_json::from_str(&page.body)?)
}

async fn text(cluster: &Cluster, shadow: &Manager) -> anyhow::Result<String> {
    Ok(shadow.ask(cluster, &Caller::User(User::Admin), PAGE).await?.body)
}

fn counts(found: &Value, controller: &str, what: &str) -> anyhow::Result<u64> {
    let name = format!("{controller}-controller");
    let controllers = found["controllers"].as_array().context("controllers")?;
    let found = controllers.iter().find(|it| it["name"] == *name);
    found.and_then(|it| it["counts"][what].as_u64()).with_context(|| name)
}

fn deployed() -> String {
    format!("{}/../deploy/shadow.yaml", env!("CARGO_MANIFEST_DIR"))
}

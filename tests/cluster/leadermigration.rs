//! Leader migration on the real API server: controllers under a second Lease, as the documents of
//! Kubernetes describe it (KEP 2436). Upstream's manager of 1.36.3 gets the second Lease, and
//! cannot start what migrates: `informer name "kube-controller-manager" is already registered`.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use serde_json::{Value, json};

/// The TTLs of nodes migrate, and the certificates of namespaces are left to another component.
const CONFIG: &str = "apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: migrating
controllerLeaders:
- name: ttl-controller
  component: \"*\"
- name: root-ca-certificate-publisher-controller
  component: cloud-controller-manager
";
const LEASES: &str = "leases.v1.coordination.k8s.io";
const SETS: &str = "replicasets.v1.apps";
const TTL: &str = "node.alpha.kubernetes.io/ttl";
const LIMIT: Duration = Duration::from_secs(40);

#[tokio::test]
async fn a_second_lease_decides_over_what_migrates() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let (all, system) = (Objects::of(&cluster, "")?, Objects::of(&cluster, "kube-system")?);
    let objects = Objects::in_new(&cluster, "migrating").await?;
    let file = cluster.dir().join("migration.yaml");
    std::fs::write(&file, CONFIG)?;
    // Another component leads, and is not heard of again.
    let held = json!({"metadata": {"name": "migrating"}, "spec": {"holderIdentity": "other",
        "leaseDurationSeconds": 30, "renewTime": "2026-01-01T00:00:00.000000Z",
        "acquireTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 0}});
    system.create(LEASES, &held).await?;
    objects.create(SETS, &set()).await?;
    let config = format!("--leader-migration-config={}", file.display());
    let args = [
        "--controllers=replicaset-controller,ttl-controller,\
         root-ca-certificate-publisher-controller,serviceaccount-token-controller",
        "--leader-elect=true",
        "--enable-leader-migration",
        &config,
    ];
    // Who shuts down without ever holding the second Lease, does so as ever.
    let mut first = Manager::start(&cluster, Binary::Ours, User::Admin, &args)?;
    wait_until("a manager that leads", LIMIT, async || {
        let lease = system.find(LEASES, "kube-controller-manager").await?;
        Ok(lease.filter(|lease| lease["spec"]["holderIdentity"].is_string()))
    })
    .await?;
    first.sigterm()?;
    let status = first.ended(LIMIT).await?;
    ensure!(status.success(), "{status}: {}", first.log());
    ensure!(holder(&system, "kube-controller-manager").await?.is_empty(), "it is released");
    ensure!(holder(&system, "migrating").await? == "other", "it was never ours");
    let mut manager = Manager::start(&cluster, Binary::Ours, User::Admin, &args)?;
    manager.healthy().await?;
    let run = async {
        let is_scaled = |set: &Value| set["status"]["replicas"] == 1;
        objects.wait(SETS, "web", "to have its pod", is_scaled).await?;
        ensure!(holder(&system, "migrating").await? == "other", "its Lease has not run out");
        let ttl = |node: &Value| node["metadata"]["annotations"][TTL].is_string();
        ensure!(!ttl(&all.get("nodes", "node-0").await?), "what migrates waits for its Lease");
        all.wait("nodes", "node-0", "to have a TTL", ttl).await?;
        let (main, second) = (
            holder(&system, "kube-controller-manager").await?,
            holder(&system, "migrating").await?,
        );
        ensure!(main == second, "one process, one identity: {main}, {second}");
        let certificate = objects.find("configmaps", "kube-root-ca.crt").await?;
        ensure!(certificate.is_none(), "another component does that: {certificate:?}");
        // The loss of the second Lease ends the process, as that of the first one.
        let thief = json!({"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600}});
        system.merge(LEASES, "migrating", &thief).await?;
        let status = manager.ended(LIMIT).await?;
        ensure!(status.code() == Some(1), "{status}");
        anyhow::Ok(())
    };
    run.await.with_context(|| manager.log())
}

async fn holder(system: &Objects, lease: &str) -> anyhow::Result<String> {
    let lease = system.get(LEASES, lease).await?;
    Ok(lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned())
}

fn set() -> Value {
    json!({"metadata": {"name": "web"}, "spec": {"replicas": 1,
        "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}}})
}

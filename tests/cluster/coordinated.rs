//! Coordinated leader election (KEP 4355) on the real API server, between managers of ours and
//! upstream's: the API server names the leader among the candidates, the one that emulates the
//! oldest release, and each of the two gives way to the other.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use serde_json::{Value, json};

const GATE: &str = "--feature-gates=CoordinatedLeaderElection=true";
const SERVED: &str = "--runtime-config=coordination.k8s.io/v1beta1=true";
const LEASES: &str = "leases.v1.coordination.k8s.io";
const LEASE: &str = "kube-controller-manager";
const CANDIDATES: &str = "leasecandidates.v1beta1.coordination.k8s.io";
const SETS: &str = "replicasets.v1.apps";
/// A term ends 10 s after the last renewal, and the next one begins when the Lease has run out.
const LIMIT: Duration = Duration::from_mins(1);

#[tokio::test]
async fn the_api_server_names_the_leader() -> anyhow::Result<()> {
    let apiserver_args = [GATE, SERVED].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    let system = Objects::of(&cluster, "kube-system")?;
    let objects = Objects::in_new(&cluster, "coordinated").await?;
    objects.create(SETS, &set()).await?;

    let mut first = start(&cluster, Binary::Ours, "1.36")?;
    let first_id = new_holder(&system, "").await.with_context(|| first.log())?;
    scales_to(&objects, 1).await?;

    // Upstream's emulates an older release: ours serves its term, and ends.
    let mut upstream = start(&cluster, Binary::Upstream, "1.35")?;
    let status = first.ended(LIMIT).await?;
    ensure!(status.code() == Some(1), "{status}: {}", first.log());
    let reason = "its term is over, the API server prefers ";
    ensure!(first.log().contains(reason), "{}", first.log());
    let upstream_id = new_holder(&system, &first_id).await?;
    scales_to(&objects, 2).await?;

    let third = start(&cluster, Binary::Ours, "1.34")?;
    upstream.ended(LIMIT).await?;
    let third_id = new_holder(&system, &upstream_id).await.with_context(|| third.log())?;
    scales_to(&objects, 3).await?;

    let said = [
        said_by(&system, &first_id).await?,
        said_by(&system, &upstream_id).await?,
        said_by(&system, &third_id).await?,
    ];
    let spec = |emulated: &str| {
        json!({"leaseName": LEASE, "strategy": "OldestEmulationVersion",
            "binaryVersion": said[1]["binaryVersion"], "emulationVersion": emulated})
    };
    ensure!(said == [spec("1.36.0"), spec("1.35.0"), spec("1.34.0")], "{said:?}");
    Ok(())
}

fn start(cluster: &Cluster, binary: Binary, emulated: &str) -> anyhow::Result<Manager> {
    let emulated = format!("--emulated-version={emulated}");
    let args = ["--controllers=replicaset-controller", "--leader-elect=true", GATE, &emulated];
    Manager::start(cluster, binary, User::ControllerManager, &args)
}

/// Waits until another contender leads, and returns its identity.
async fn new_holder(system: &Objects, old: &str) -> anyhow::Result<String> {
    wait_until(&format!("a leader other than {old:?}"), LIMIT, async || {
        let Some(lease) = system.find(LEASES, LEASE).await? else { return Ok(None) };
        let spec = &lease["spec"];
        // It says that it leads by a duration of its own.
        let leads = spec["leaseDurationSeconds"] == 15;
        let holder = spec["holderIdentity"].as_str().filter(|&it| it != old && !it.is_empty());
        Ok(holder.filter(|_| leads).map(str::to_owned))
    })
    .await
}

async fn scales_to(objects: &Objects, replicas: u64) -> anyhow::Result<()> {
    objects.merge(SETS, "web", &json!({"spec": {"replicas": replicas}})).await?;
    let has = |set: &Value| set["status"]["replicas"] == replicas;
    objects.wait(SETS, "web", "to be scaled", has).await.map(drop)
}

/// What a candidate has said, but for when.
async fn said_by(system: &Objects, identity: &str) -> anyhow::Result<Value> {
    let mut candidate = system.get(CANDIDATES, identity).await?;
    let mut spec = candidate["spec"].take();
    let fields = spec.as_object_mut().context("no spec")?;
    fields.retain(|name, _| !["renewTime", "pingTime"].contains(&name.as_str()));
    Ok(spec)
}

fn set() -> Value {
    json!({"metadata": {"name": "web"}, "spec": {"replicas": 0,
        "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}}})
}

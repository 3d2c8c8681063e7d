//! Leader election on the real API server, between managers of ours and upstream's.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Options, User, wait_until};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(40);
const ARGS: &[&str] = &["--controllers=replicaset", "--leader-elect=true"];

#[tokio::test]
async fn one_manager_leads() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let world = World::new(&cluster).await?;

    let first = start(&cluster, Binary::Ours)?;
    let first_id = world.new_holder("").await?;
    world.scales_to(2).await?;
    world.event(&format!("{first_id} became leader")).await?;

    // Issue: a released lease is taken at once through a watch.
    let mut second = start(&cluster, Binary::Ours)?;
    stands_by(&second).await?;
    let asked = now();
    first.sigterm()?;
    let second_id = world.new_holder(&first_id).await?;
    ensure!(now() - asked < Duration::from_secs(1), "released: {:?}", now() - asked);
    world.scales_to(3).await?;
    world.event(&format!("{first_id} stopped leading")).await?;

    // Upstream's manager takes the lease of one of ours that was killed.
    let mut upstream = start(&cluster, Binary::Upstream)?;
    upstream.healthy().await?;
    second.sigkill();
    let upstream_id = world.new_holder(&second_id).await?;
    world.scales_to(4).await?;

    // Ours takes upstream's, as soon as it has run out.
    let third = start(&cluster, Binary::Ours)?;
    stands_by(&third).await?;
    let renewed = world.renewed_by(&upstream_id).await?;
    upstream.sigkill();
    world.new_holder(&upstream_id).await?;
    let waited = now() - renewed;
    ensure!(waited > Duration::from_secs(13), "not before the lease has run out: {waited:?}");
    ensure!(waited < Duration::from_secs(18), "soon after the lease has run out: {waited:?}");
    world.scales_to(5).await
}

/// Issue: a lost lease stops all writes, and the process exits 1 as upstream does.
#[tokio::test]
async fn a_leader_whose_lease_was_taken_ends() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let world = World::new(&cluster).await?;
    let mut manager = start(&cluster, Binary::Ours)?;
    world.new_holder("").await?;
    world.scales_to(1).await?;
    let taken = json!({"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600}});
    let patch = PatchParams::default();
    world.leases.patch("kube-controller-manager", &patch, &Patch::Merge(taken)).await?;
    let status = manager.ended(LIMIT).await?;
    ensure!(status.code() == Some(1), "{status}");
    ensure!(manager.log().contains("leaderelection lost"), "{}", manager.log());
    Ok(())
}

fn start(cluster: &Cluster, binary: Binary) -> anyhow::Result<Manager> {
    Manager::start(cluster, binary, User::Admin, ARGS)
}

async fn stands_by(manager: &Manager) -> anyhow::Result<()> {
    wait_until("a standby", LIMIT, async || {
        Ok(manager.log().contains("Attempting to acquire leader lease").then_some(()))
    })
    .await
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
    Instant::now()
}

struct World {
    leases: Api<Lease>,
    sets: Api<ReplicaSet>,
    events: Api<Event>,
}

impl World {
    async fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        let client = cluster.admin()?;
        let sets = Api::namespaced(client.clone(), "default");
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}}});
        sets.create(&PostParams::default(), &serde_json::from_value(set)?).await?;
        Ok(Self {
            leases: Api::namespaced(client.clone(), "kube-system"),
            sets,
            events: Api::namespaced(client, "kube-system"),
        })
    }

    /// Waits until the lease has a holder that is not `old`.
    async fn new_holder(&self, old: &str) -> anyhow::Result<String> {
        wait_until(&format!("a holder other than {old:?}"), LIMIT, async || {
            let lease = self.leases.get_opt("kube-controller-manager").await?;
            let holder = lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity);
            Ok(holder.filter(|holder| !holder.is_empty() && holder != old))
        })
        .await
    }

    /// Waits for the next renewal by `holder`; the moment when it was seen.
    async fn renewed_by(&self, holder: &str) -> anyhow::Result<Instant> {
        let spec = async || {
            let lease = self.leases.get("kube-controller-manager").await?;
            lease.spec.context("a spec")
        };
        let before = spec().await?.renew_time;
        wait_until("a renewal", LIMIT, async || {
            let spec = spec().await?;
            ensure!(spec.holder_identity.as_deref() == Some(holder));
            Ok((spec.renew_time != before).then(now))
        })
        .await
    }

    async fn scales_to(&self, replicas: i32) -> anyhow::Result<()> {
        let patch = json!({"spec": {"replicas": replicas}});
        self.sets.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await?;
        wait_until(&format!("{replicas} pods"), LIMIT, async || {
            let status = self.sets.get("web").await?.status;
            Ok(status.filter(|status| status.ready_replicas == Some(replicas)).map(drop))
        })
        .await
    }

    /// Waits for an Event about the lease.
    async fn event(&self, message: &str) -> anyhow::Result<()> {
        wait_until(&format!("event {message:?}"), LIMIT, async || {
            let events = self.events.list(&ListParams::default()).await?.items;
            let is_it = |event: &Event| {
                event.message.as_deref() == Some(message)
                    && event.reason.as_deref() == Some("LeaderElection")
                    && event.involved_object.kind.as_deref() == Some("Lease")
            };
            Ok(events.iter().any(is_it).then_some(()))
        })
        .await
    }
}

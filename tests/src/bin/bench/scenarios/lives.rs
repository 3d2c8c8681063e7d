//! Idle times, and managers that begin and end.

use super::timed;
use super::workloads::empty_replica_set;
use crate::time::Clock;
use crate::world::{Acted, World};
use anyhow::{Context, ensure};
use cluster_tests::{Follow, Manager, Objects, Weight, pass, wait_until};
use futures::future::try_join;
use serde_json::{Value, json};
use std::time::Duration;

const NAMESPACE: &str = "lives";
const SETS: &str = "replicasets";
/// Scaled up while no manager is there to see it.
const SET: &str = "waiting";
const LEASES: &str = "leases.v1.coordination.k8s.io";
const LEASE: &str = "kube-controller-manager";
const IDLE: Duration = Duration::from_mins(1);
/// For a manager that ends, or that begins to wait for the Lease.
const LIMIT: Duration = Duration::from_mins(1);

pub(super) async fn idle(world: &mut World) -> anyhow::Result<Acted> {
    let clock = Clock::start();
    pass(world.plan.pause(IDLE)).await;
    Ok(Acted::by(&clock))
}

pub(super) async fn prepare_restart(world: &mut World) -> anyhow::Result<()> {
    let objects = world.namespace(NAMESPACE).await?;
    if objects.find(SETS, SET).await?.is_none() {
        objects.create(SETS, &empty_replica_set(SET)).await?;
    }
    let patch = json!({"spec": {"replicas": 0}});
    objects.merge(SETS, SET, &patch).await?;
    let mut pods = Follow::start(&objects, "pods", |_| Weight::one(false)).await?;
    pods.until("no pods", LIMIT, 0).await
}

/// The Lease is free: what is measured is the start, not the wait for it.
pub(super) async fn restart(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects(NAMESPACE)?, world.plan.limit);
    world.manager.sigkill();
    world.free_lease().await?;
    scale_up(&objects).await?;
    let mut pods = Follow::start(&objects, "pods", |_| Weight { good: 1, bad: 0 }).await?;
    let start = async {
        world.succeeded_by(world.another()?);
        Ok(())
    };
    timed(start, pods.becomes("the first pod", limit, 1)).await
}

pub(super) async fn prepare_takeover(world: &mut World) -> anyhow::Result<()> {
    prepare_restart(world).await?;
    let mut standby = world.another()?;
    standby.healthy().await?;
    wait_until("the other manager to wait for the Lease", LIMIT, async || {
        let log = standby.log().to_lowercase();
        Ok(log.contains("attempting to acquire leader lease").then_some(()))
    })
    .await?;
    world.standby = Some(standby);
    Ok(())
}

pub(super) async fn takeover_after_term(world: &mut World) -> anyhow::Result<Acted> {
    takeover(world, |leader| leader.sigterm()).await
}

pub(super) async fn takeover_after_kill(world: &mut World) -> anyhow::Result<Acted> {
    let leases = world.objects("kube-system")?;
    let lease = leases.get(LEASES, LEASE).await?;
    let before = lease["spec"]["renewTime"].clone();
    // The Lease runs out a whole duration after this: no luck in it.
    let is_renewed = of_lease(|spec| spec["renewTime"] != before);
    let mut renewed = Follow::start(&leases, LEASES, is_renewed).await?;
    renewed.until("a renewal", LIMIT, 1).await?;
    takeover(world, |leader| {
        leader.sigkill();
        Ok(())
    })
    .await
}

/// The leader ends, and then a ReplicaSet is scaled up, so that none but the other one can see it.
async fn takeover(
    world: &mut World,
    end: impl FnOnce(&mut Manager) -> anyhow::Result<()>,
) -> anyhow::Result<Acted> {
    let (objects, leases) = (world.objects(NAMESPACE)?, world.objects("kube-system")?);
    let limit = world.plan.limit;
    let standby = world.standby.take().context("a second manager")?;
    let holder = leases.get(LEASES, LEASE).await?["spec"]["holderIdentity"].clone();
    ensure!(holder.is_string(), "nobody leads");
    let is_taken = of_lease(|spec| {
        let next = &spec["holderIdentity"];
        *next != holder && next.as_str().is_some_and(|next| !next.is_empty())
    });
    let mut taken = Follow::start(&leases, LEASES, is_taken).await?;
    let mut pods = Follow::start(&objects, "pods", |_| Weight { good: 1, bad: 0 }).await?;
    let clock = Clock::start();
    end(&mut world.manager)?;
    let leader = &mut world.manager;
    let pod = async {
        leader.ended(LIMIT).await?;
        let ended = clock.elapsed();
        scale_up(&objects).await?;
        pods.becomes("the first pod", limit, 1).await?;
        anyhow::Ok((ended, clock.elapsed()))
    };
    let lease = async {
        taken.becomes("another holder of the Lease", limit, 1).await?;
        anyhow::Ok(clock.elapsed())
    };
    let ((ended, took), lease) = try_join(pod, lease).await?;
    world.succeeded_by(standby);
    let more = [("leaderEnded", ended.as_secs_f64()), ("leaseTaken", lease.as_secs_f64())];
    Ok(Acted { started: clock.started, took, more: more.into() })
}

/// Weighs the spec of the managers' Lease, and nothing else.
fn of_lease(is_good: impl Fn(&Value) -> bool) -> impl Fn(&Value) -> Weight {
    move |it| match it["metadata"]["name"].as_str() {
        Some(LEASE) => Weight::one(is_good(&it["spec"])),
        Some(_) | None => Weight::default(),
    }
}

async fn scale_up(objects: &Objects) -> anyhow::Result<()> {
    objects.merge(SETS, SET, &json!({"spec": {"replicas": 1}})).await
}

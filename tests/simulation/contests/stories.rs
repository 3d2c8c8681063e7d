//! The stories.

use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::{LEASE, Stage, TAKEOVER, deployment, play, play_with};
use crate::life::Machine;

const SECOND: Duration = Duration::from_secs(1);
const ROLLOUT: &str = "> set image deployment/web main=img:2\n";

/// A rollout is under way.
async fn roll(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.deploy(6).await?;
    stage.act(ROLLOUT).await?;
    stage.tick(700).await;
    Ok(())
}

/// While the leader stands still the other one takes over and ends the rollout; the former leader
/// then continues, writes nothing and ends.
#[test]
fn a_leader_that_was_stopped_writes_nothing_any_more() -> anyhow::Result<()> {
    play(|stage| Box::pin(was_stopped(stage, Machine::Up)))?;
    play(|stage| Box::pin(was_stopped(stage, Machine::Suspended)))
}

async fn was_stopped(stage: &mut Stage<'_>, machine: Machine) -> anyhow::Result<()> {
    roll(stage).await?;
    let (leader, other) = stage.both()?;
    leader.stop(40 * SECOND, machine);
    let (stopped, before) = (stage.now(), stage.writes(&leader));
    stage.until_leads(&other, TAKEOVER).await?;
    stage.complete().await?;
    ensure!(stage.now() < stopped + 40 * SECOND, "the rollout took too long");
    stage.until("it ends", 42 * SECOND, |it| !it.is_running(&leader)).await?;
    // On a machine that was suspended it looks when it next wants to renew; its fence is closed.
    ensure!(stage.now() < stopped + 43 * SECOND, "it continues");
    ensure!(stage.writes(&leader) == before, "it has written");
    ensure!(stage.leads(&other), "the other one has lost it");
    Ok(())
}

/// A leader without a network looks like a dead one: the other one takes over.
#[test]
fn a_leader_that_is_cut_off_for_long_ends() -> anyhow::Result<()> {
    play(|stage| Box::pin(cut_off_for_long(stage)))
}

async fn cut_off_for_long(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    roll(stage).await?;
    let (leader, other) = stage.both()?;
    leader.cut(20 * SECOND);
    let begun = stage.now();
    stage.until("it ends", 11 * SECOND, |it| !it.is_running(&leader)).await?;
    stage.until_leads(&other, TAKEOVER).await?;
    ensure!(stage.now() < begun + TAKEOVER, "it took too long");
    stage.complete().await
}

/// A network that is back in time costs nothing.
#[test]
fn a_leader_that_was_cut_off_for_less_than_its_deadline_leads_on() -> anyhow::Result<()> {
    play(|stage| Box::pin(cut_off_for_a_while(stage)))
}

async fn cut_off_for_a_while(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    roll(stage).await?;
    for millis in [1000, 3000, 5000, 7000, 9000] {
        stage.until_renewal().await?;
        let (leader, _) = stage.both()?;
        leader.cut(Duration::from_millis(millis));
        stage.tick(20_000).await;
        ensure!(stage.leads(&leader), "it leads no longer after {millis} ms");
    }
    stage.complete().await
}

/// What a dead leader has half done the other one ends, and makes nothing twice.
#[test]
fn a_leader_that_is_killed_between_two_writes_leaves_no_pod_too_many() -> anyhow::Result<()> {
    for number in [1, 3, 6, 9] {
        let fault = format!("# fault write-of-replicaset-controller {number}: crash-after");
        play_with(&fault, |stage| Box::pin(killed_half_way(stage))).context(fault)?;
    }
    Ok(())
}

async fn killed_half_way(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    let (leader, other) = stage.both()?;
    stage.act(&deployment(20)).await?;
    stage.until("it is killed", SECOND, |_| leader.has_ended()).await?;
    let (killed, made) = (stage.now(), stage.pods());
    ensure!((1..20).contains(&made), "{made} pods were made already");
    stage.until_leads(&other, TAKEOVER).await?;
    stage.until("it writes", SECOND / 10, |it| !it.writes(&other).is_empty()).await?;
    ensure!(stage.now() < killed + TAKEOVER, "it took too long");
    stage.complete().await?;
    ensure!(stage.pods_made() + 1 == 20, "{} pods were made", stage.pods_made() + 1);
    Ok(())
}

/// The lease of the dead is waited for, and then one of the new ones leads.
#[test]
fn both_are_killed_and_one_leads_again() -> anyhow::Result<()> {
    play(|stage| Box::pin(both_killed(stage)))
}

async fn both_killed(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    roll(stage).await?;
    let (leader, other) = stage.both()?;
    leader.end();
    other.end();
    stage.until("one leads", 20 * SECOND, |it| it.leader().is_some()).await?;
    stage.complete().await
}

/// Its holder makes it again, and the other one leaves it alone until then.
#[test]
fn a_deleted_lease_is_made_again_by_its_holder() -> anyhow::Result<()> {
    play(|stage| Box::pin(lease_deleted(stage)))
}

async fn lease_deleted(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    roll(stage).await?;
    for _ in 0..5 {
        let (leader, _) = stage.both()?;
        stage.act(&format!("> delete {LEASE}\n")).await?;
        stage.until("it is there again", 5 * SECOND, |it| it.lacks().is_none()).await?;
        ensure!(stage.leads(&leader), "another one leads");
        stage.tick(3300).await;
    }
    stage.complete().await
}

/// As if upstream's manager had taken over: ours write nothing while it renews, and lead again
/// when it does so no longer.
#[test]
fn a_lease_with_the_name_of_another_is_left_to_it() -> anyhow::Result<()> {
    play(|stage| Box::pin(lease_edited(stage)))
}

async fn lease_edited(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    roll(stage).await?;
    let (leader, other) = stage.both()?;
    for second in 0..30 {
        let time = format!("2026-01-01T00:00:{second:02}.000000Z");
        let spec = format!(r#"{{"spec":{{"holderIdentity":"other","renewTime":"{time}"}}}}"#);
        stage.act(&format!("> patch {LEASE} '{spec}'\n")).await?;
        if second == 3 {
            ensure!(!stage.is_running(&leader), "the replaced leader continues");
            ensure!(stage.leader().is_none(), "one leads");
        }
        stage.tick(2000).await;
    }
    ensure!(stage.writes(&other).is_empty(), "it has written");
    stage.until("one leads again", 18 * SECOND, |it| it.leader().is_some()).await?;
    stage.complete().await
}

/// No rule compares the clocks of two machines.
#[test]
fn wrong_clocks_change_nothing() -> anyhow::Result<()> {
    play(|stage| Box::pin(wrong_clocks(stage)))
}

async fn wrong_clocks(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    const HOUR_MS: i64 = 3_600_000;
    roll(stage).await?;
    for (mine, its) in [(HOUR_MS, -HOUR_MS), (-HOUR_MS, HOUR_MS), (0, HOUR_MS)] {
        let (leader, other) = stage.both()?;
        leader.clock.set_wall(mine);
        other.clock.set_wall(its);
        stage.tick(30_000).await;
        ensure!(stage.leads(&leader), "it leads no longer");
        leader.end();
        let killed = stage.now();
        stage.until_leads(&other, TAKEOVER).await?;
        ensure!(stage.now() > killed + 12 * SECOND, "it was too early");
        stage.complete().await?;
    }
    Ok(())
}

/// A leader that shuts down in order releases its Lease, and the other one sees that.
#[test]
fn a_released_lease_is_taken_at_once() -> anyhow::Result<()> {
    play(|stage| Box::pin(released(stage)))
}

async fn released(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    roll(stage).await?;
    for _ in 0..3 {
        let (leader, other) = stage.both()?;
        leader.quit.cancel();
        stage.until_leads(&other, SECOND).await?;
        stage.tick(10_000).await;
    }
    stage.complete().await
}

/// A stand-by knows what is there: what was done already it does not do again, and what is to be
/// done it does at once.
#[test]
fn a_warm_standby_acts_at_once_and_makes_nothing_twice() -> anyhow::Result<()> {
    play(|stage| Box::pin(warm(stage)))
}

async fn warm(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.deploy(6).await?;
    let (leader, other) = stage.both()?;
    leader.end();
    stage.tick(5000).await;
    let made = stage.pods_made();
    stage.act("> scale deployment/web 9\n").await?;
    stage.until_leads(&other, TAKEOVER).await?;
    let led = stage.now();
    stage.until("it writes", SECOND / 10, |it| it.pods_made() > made).await?;
    ensure!(stage.now() < led + SECOND / 10, "it took too long");
    stage.complete().await?;
    ensure!(stage.pods_made() == made + 3, "{} pods were made", stage.pods_made() - made);
    Ok(())
}

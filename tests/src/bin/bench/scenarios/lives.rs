//! Idle times.

use crate::time::{Clock, pass};
use crate::world::{Acted, World};
use std::time::Duration;

const IDLE: Duration = Duration::from_mins(1);

pub(super) async fn idle(world: &mut World) -> anyhow::Result<Acted> {
    let clock = Clock::start();
    pass(world.plan.pause(IDLE)).await;
    Ok(Acted::by(&clock))
}

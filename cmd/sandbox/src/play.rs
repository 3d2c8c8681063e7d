//! `--script`: plays a script, and prints what it shows.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use runtime::{Clock, Runtime};
use script::{Player, Progress, Script, World, WorldOptions};

use crate::view::{Live, View};
use crate::{Arguments, tell};

/// The seed of the small differences between pods, so that each run is the same.
const SEED: u64 = 1;
/// The start of virtual time.
const START: api::Time = api::Time::from_unix(1_767_225_600, 0);

/// Plays the script of this file to its end.
pub(crate) fn play(path: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("--script {}", path.display()))?;
    let script = Script::parse(&text).with_context(|| format!("--script {}", path.display()))?;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all();
    let played = async move |runtime: Runtime, live: Option<Live>| {
        let world = World::start(&WorldOptions::of(&script, SEED), &runtime)?;
        let view = live.map(|live| View::start(&world, live));
        let mut player =
            Player::new(&world, "default").await?.with_listener(|progress| match progress {
                Progress::Line(line) if line.starts_with('@') => {}
                Progress::Line(line) | Progress::Output(line) => tell(line),
                Progress::Command(step) => match &step.command {
                    script::Command::Say(text) => tell(&format!("\n{text}\n")),
                    _ => tell(&format!("> {}", step.text)),
                },
            });
        player.play(&script).await?;
        drop(view);
        runtime.cancel.cancel();
        anyhow::Ok(world.refused()?)
    };
    match arguments.speed {
        // Paused time advances when all tasks wait.
        None => builder
            .start_paused(true)
            .build()?
            .block_on(async { played(Runtime::simulated(START, SEED), None).await })?,
        Some(speed) => builder.build()?.block_on(async {
            let runtime = Runtime::faster(Clock::system().now(), speed);
            played(runtime, Some(Live::from_terminal())).await
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

//! `make bench`: what a manager costs, ours beside upstream's. Each plays the same scenarios on a
//! fresh cluster of fake nodes, in turns, with the same flags; what each process used is measured
//! from outside. See `tests/README.md`.

mod figures;
mod plot;
mod proc;
mod report;
mod requests;
mod samples;
mod scenarios;
mod time;
mod world;

use anyhow::{Context, ensure};
use clap::Parser;
use cluster_tests::Binary;
use figures::Figures;
use futures::future::{Either, select};
use report::Run;
use samples::Samples;
use scenarios::{ALL, Scenario};
use std::fs;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use time::{Clock, within};
use world::{Plan, World};

/// For the start of a cluster with its nodes, and of the manager.
const START_LIMIT: Duration = Duration::from_mins(5);
/// For each step of a scenario, and with the default rates of the managers, which are low.
const LIMIT: Duration = Duration::from_mins(15);
const SLOW_LIMIT: Duration = Duration::from_mins(30);

/// Measures what a manager costs, ours beside upstream's.
#[derive(Parser)]
struct Cli {
    /// How often each manager plays all scenarios, in turns.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// How many fake nodes there are.
    #[arg(long, default_value_t = 500)]
    nodes: usize,
    /// By what the numbers of objects and the idle times are multiplied.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Plays only these scenarios, or those that begin so and a dash: `services,restart`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Which managers, in which order.
    #[arg(long, value_delimiter = ',', default_value = "ours,upstream")]
    managers: Vec<String>,
    /// Leaves `--kube-api-qps` and `--kube-api-burst` at their defaults.
    #[arg(long)]
    default_rates: bool,
    /// Where the results go: bench.json, bench.md and bench.svg.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Prints the scenarios, and does nothing.
    #[arg(long)]
    list: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    if cli.list {
        for scenario in &ALL {
            println!("{:<16} {}", scenario.name, scenario.text);
        }
        return Ok(());
    }
    let scenarios = chosen(&cli.only)?;
    let binaries = cli.managers.iter().map(|name| binary(name));
    let binaries = binaries.collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(cli.scale > 0.0, "--scale is a positive number");
    let limit = if cli.default_rates { SLOW_LIMIT } else { LIMIT };
    let plan = Plan { nodes: cli.nodes, scale: cli.scale, default_rates: cli.default_rates, limit };
    // Built before anything is measured.
    cluster_tests::ours()?;
    let mut runs = Vec::new();
    for number in 1..=cli.runs {
        for &binary in &binaries {
            runs.push(run(&plan, binary, number, &scenarios).await);
            // So that what is done is not lost if the rest fails.
            write(&cli.out, &plan, &runs)?;
        }
    }
    println!("\n{}", report::markdown(&runs));
    println!("{} has it all", cli.out.display());
    let failed = report::failures(&runs).count();
    ensure!(failed == 0, "{failed} scenarios failed");
    Ok(())
}

/// Lets one manager play the scenarios on a fresh cluster.
async fn run(plan: &Plan, binary: Binary, number: usize, scenarios: &[&'static Scenario]) -> Run {
    let samples = Arc::new(Samples::default());
    let (play, sampling) = (play(plan, binary, number, scenarios, &samples), samples.take());
    let played = match select(pin!(play), pin!(sampling)).await {
        Either::Left((played, _)) => played,
        Either::Right((never, _)) => match never {},
    };
    let results = played.unwrap_or_else(|error| {
        println!("{} run {number}: {error:#}", report::name(binary));
        let failed = |it: &&'static Scenario| (it.name, Err(format!("{error:#}")));
        scenarios.iter().map(failed).collect()
    });
    Run { binary, number, results, tracks: samples.tracks() }
}

type Results = Vec<(&'static str, Result<Figures, String>)>;

/// An error is one of the start; what fails later fails a scenario, and the others go on.
async fn play(
    plan: &Plan,
    binary: Binary,
    number: usize,
    scenarios: &[&'static Scenario],
    samples: &Arc<Samples>,
) -> anyhow::Result<Results> {
    let mut results = Results::new();
    let name = report::name(binary);
    let clock = Clock::start();
    let started = World::start(plan, binary, Arc::clone(samples));
    let mut world = within("to start", START_LIMIT, started).await?;
    println!("{name} run {number}: started in {:.0} s", clock.elapsed().as_secs_f64());
    for scenario in scenarios {
        let clock = Clock::start();
        let result = world.measure(scenario).await;
        samples.end();
        let whole = clock.elapsed().as_secs_f64();
        match &result {
            Ok(figures) => {
                println!(
                    "{name} run {number}: {:<16} {figures}, in all {whole:.0} s",
                    scenario.name
                );
            }
            Err(error) => println!("{name} run {number}: {:<16} failed: {error:#}", scenario.name),
        }
        results.push((scenario.name, result.map_err(|error| format!("{error:#}"))));
    }
    Ok(results)
}

fn write(out: &PathBuf, plan: &Plan, runs: &[Run]) -> anyhow::Result<()> {
    fs::create_dir_all(out)?;
    let json = serde_json::to_string_pretty(&report::json(plan, runs))?;
    for (name, text) in [("bench.json", json), ("bench.md", report::markdown(runs))] {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    match plot::svg(runs)? {
        Some(svg) => fs::write(out.join("bench.svg"), svg).context("bench.svg"),
        None => Ok(()),
    }
}

/// The scenarios that these words mean, in their own order; all if there are none.
fn chosen(only: &[String]) -> anyhow::Result<Vec<&'static Scenario>> {
    let means = |word: &str, name: &str| {
        name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    for word in only {
        let known = ALL.iter().any(|scenario| means(word, scenario.name));
        ensure!(known, "--only: there is no scenario {word:?}; --list prints them");
    }
    let is_chosen = |name: &str| only.is_empty() || only.iter().any(|word| means(word, name));
    Ok(ALL.iter().filter(|scenario| is_chosen(scenario.name)).collect())
}

fn binary(name: &str) -> anyhow::Result<Binary> {
    match name {
        "ours" => Ok(Binary::Ours),
        "upstream" => Ok(Binary::Upstream),
        other => anyhow::bail!("--managers: {other:?} is not `ours` or `upstream`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_a_scenario_and_those_that_follow_it() {
        let names = |only: &[&str]| {
            let only: Vec<_> = only.iter().map(|&word| word.to_owned()).collect();
            let chosen = chosen(&only)?;
            anyhow::Ok(chosen.iter().map(|scenario| scenario.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), ALL.len());
        let expected = ["services", "services-roll", "restart"];
        assert_eq!(names(&["restart", "services"]).unwrap(), expected);
        assert_eq!(names(&["idle-full"]).unwrap(), ["idle-full"]);
        assert!(names(&["job"]).is_err());
    }
}

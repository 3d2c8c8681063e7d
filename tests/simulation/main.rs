//! All controllers on the sandbox, in virtual time, while requests, watches, nodes and the manager
//! itself fail; `tests/README.md` says how to use it.

mod attaching;
mod autoscaling;
mod batch;
mod binding;
mod blocks;
mod bootstrap;
mod budgets;
mod bundles;
mod case;
mod certificates;
mod contests;
mod cores;
mod corruption;
mod cron;
mod devices;
mod dice;
mod discovery;
mod fault;
mod flow;
mod focus;
mod groups;
mod held;
mod kubelets;
mod lease;
mod life;
mod lives;
mod matrix;
mod migrations;
mod mutants;
mod older;
mod oracle;
mod owners;
mod policies;
mod pools;
mod quotas;
mod ranges;
mod run;
mod selinux;
mod servers;
mod services;
mod shrink;
mod site;
mod stateful;
mod storage;
mod volumes;
mod wire;
mod workload;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

use anyhow::{Context as _, bail, ensure};
use case::Case;
use run::{Outcome, Stats, run};

/// Most of a run is the making of small objects, which this allocator does in half the time.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How many seeds run by default, always the same ones.
const SEEDS: u64 = 60;
/// After how many failures no more are looked for.
const FAILURES: usize = 20;
/// After how many runs the progress is printed.
const PROGRESS: u64 = 1000;
/// Of how many cells of the matrix one is tried.
const MATRIX: usize = 199;
/// How many lines of a trace are shown.
const TAIL: usize = 60;

/// `SEEDS=1000` runs so many, from `FROM=5000` on, and `SEED=42` that one, with its trace.
/// `ONLY=word` runs those of them alone whose acts have that word.
/// `FRESH=1000` runs as many new random ones. `MUTANT=NoFence` runs them with that bug.
#[test]
fn seeds_keep_the_promises() -> anyhow::Result<()> {
    mutants::switch_on()?;
    if let Ok(path) = env::var("CASE") {
        let case = Case::parse(&fs::read_to_string(path)?)?;
        let outcome = run(&case)?;
        println!("{}\n{}", outcome.trace.join("\n"), outcome.stats);
        return judge(&case, &outcome);
    }
    if let Some(seed) = number("SEED")? {
        let outcome = run(&Case::draw(seed))?;
        println!("{}\n{}", Case::draw(seed), outcome.trace.join("\n"));
        return judge(&Case::draw(seed), &outcome);
    }
    if let Some(count) = number("FRESH")? {
        return try_seeds(now_unix_seconds()? * 1000, count);
    }
    try_seeds(number("FROM")?.unwrap_or(0), number("SEEDS")?.unwrap_or(SEEDS))
}

/// What a variable says.
fn number(name: &str) -> anyhow::Result<Option<u64>> {
    let text = env::var(name).ok();
    text.map(|text| text.parse().with_context(|| format!("{name}={text}"))).transpose()
}

#[expect(clippy::disallowed_methods, reason = "fresh seeds are drawn from the real clock")]
fn now_unix_seconds() -> anyhow::Result<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs())
}

/// Runs seeds, names those that fail, and shrinks the first of them.
fn try_seeds(from: u64, count: u64) -> anyhow::Result<()> {
    println!("FROM={from} SEEDS={count}");
    let (mut stats, mut first, mut failed) = (Stats::default(), None, Vec::new());
    let only = env::var("ONLY").unwrap_or_default();
    let seeds: Vec<u64> = (from..from.saturating_add(count))
        .filter(|seed| only.is_empty() || Case::draw(*seed).has(&only))
        .collect();
    let seed = |at: usize| seeds.get(at).copied().unwrap_or(u64::MAX);
    let try_seed = |at| {
        let case = Case::draw(seed(at));
        run(&case).map(|outcome| (case, outcome))
    };
    let tell = |at, result: anyhow::Result<(Case, Outcome)>| {
        let result = result.with_context(|| format!("seed {}", seed(at)));
        if let Ok((_, outcome)) = &result {
            stats.add(&outcome.stats);
            if stats.runs % PROGRESS == 0 {
                println!("{} seeds, {} failed", stats.runs, failed.len());
            }
        }
        match &result {
            Ok((_, Outcome { broken: None, .. })) => return ControlFlow::Continue(()),
            Ok((_, Outcome { broken: Some(broken), .. })) => {
                println!("seed {}: {broken}", seed(at));
            }
            Err(error) => println!("{error:#}"),
        }
        failed.push(seed(at));
        first.get_or_insert(result);
        let is_enough = failed.len() >= FAILURES;
        if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    cores::each(seeds.len(), try_seed, tell);
    println!("{stats}; {} failed", failed.len());
    let Some(first) = first else { return Ok(()) };
    println!("failed: {failed:?}; the first is being shrunk");
    let (case, outcome) = first?;
    judge(&case, &outcome)
}

/// Those that failed once.
#[test]
fn old_failures_keep_the_promises() -> anyhow::Result<()> {
    for path in files()? {
        let case = Case::parse(&fs::read_to_string(&path)?);
        let case = case.with_context(|| path.display().to_string())?;
        judge(&case, &run(&case)?).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// `SEED=42` replays what was seen with it, whatever runs beside it.
#[test]
fn a_seed_gives_the_same_trace_each_time() -> anyhow::Result<()> {
    const ALL: [u64; 4] = [3, 5, 8, 11];
    let mut alone = Vec::new();
    for seed in ALL {
        alone.push(run(&Case::draw(seed))?);
    }
    let (mut crowd, pick) = (Vec::new(), |at: usize| ALL[at % ALL.len()]);
    cores::each(
        2 * ALL.len(),
        |at| run(&Case::draw(pick(at))),
        |at, outcome| {
            crowd.push((at, outcome));
            ControlFlow::Continue(())
        },
    );
    ensure!(crowd.len() == 2 * ALL.len(), "some were not reported");
    for (at, outcome) in crowd {
        let (seed, one, other) = (pick(at), &alone[at % ALL.len()], outcome?);
        let differs = one.trace.iter().zip(&other.trace).find(|(one, other)| one != other);
        ensure!(differs.is_none(), "seed {seed}: two runs differ: {differs:#?}");
        ensure!(one.trace.len() == other.trace.len(), "seed {seed}: a run continues");
        ensure!(one.state == other.state, "seed {seed}: two runs end differently");
    }
    Ok(())
}

/// Whichever write meets whichever fault, the end is the same; `MATRIX=1` tries all of them, the
/// test one in so many. `ONLY=cronjob` plays the stories with that word in their names.
#[test]
fn no_fault_at_a_write_shows_at_the_end() -> anyhow::Result<()> {
    let step = number("MATRIX")?.map(usize::try_from).transpose()?;
    let matrix =
        matrix::matrix(step.unwrap_or(MATRIX).max(1), &env::var("ONLY").unwrap_or_default())?;
    println!("{matrix}");
    ensure!(matrix.complaints.is_empty(), "{}", matrix.complaints.join("\n"));
    Ok(())
}

/// Rule: a controller whose role lacks a verb breaks a promise, which names it, the verb and the
/// resource.
#[test]
fn a_verb_that_is_not_granted_is_found() -> anyhow::Result<()> {
    // A role of the same name takes precedence over the one that the sandbox has.
    let role = "> create\n| apiVersion: rbac.authorization.k8s.io/v1\n| kind: ClusterRole\n\
                | metadata: {name: 'system:controller:replicaset-controller'}\n\
                | rules: [{verbs: ['*'], apiGroups: [apps], resources: ['*']}]\n";
    let set = "> create\n| apiVersion: apps/v1\n| kind: ReplicaSet\n| metadata: {name: web}\n\
               | spec:\n|   {replicas: 1, selector: {matchLabels: {app: web}},\n\
               |   template: {metadata: {labels: {app: web}},\n\
               |   spec: {containers: [{name: main, image: 'img:1'}]}}}\n";
    let text = format!("@nodes 1\n# seed 7\n# managers 1\n{role}{set}> tick 1m\n");
    let broken = run(&Case::parse(&text)?)?.broken.context("nothing was found")?;
    let want = "User \"system:serviceaccount:kube-system:replicaset-controller\" cannot create \
                resource \"pods\" in API group \"\" in the namespace \"default\"";
    ensure!(broken.rule() == "granted" && broken.text.contains(want), "{broken}");
    Ok(())
}

/// A case that was read from its own text is the same.
#[test]
fn cases_are_written_and_read() -> anyhow::Result<()> {
    for seed in 0..50 {
        let text = Case::draw(seed).to_string();
        ensure!(Case::parse(&text)?.to_string() == text, "{text}");
    }
    Ok(())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("simulation/seeds")
}

fn files() -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder())?.map(|entry| Ok(entry?.path()));
    let mut files = entries.collect::<anyhow::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|it| it == "txt"));
    files.sort();
    Ok(files)
}

/// A case that failed is shrunk and printed.
fn judge(case: &Case, outcome: &Outcome) -> anyhow::Result<()> {
    let Some(broken) = &outcome.broken else { return Ok(()) };
    let short = shrink::shrink(case, broken.rule())?;
    let again = run(&short)?;
    let is_read = |line: &&String| line.contains(" GET ") && line.ends_with(" 200");
    let lines: Vec<_> = again.trace.iter().filter(|line| !is_read(line)).cloned().collect();
    let lines = &lines[lines.len().saturating_sub(TAIL)..];
    let broken = again.broken.as_ref().unwrap_or(broken);
    bail!(
        "seed {}: {broken}\n\nKeep this in tests/simulation/seeds:\n\n{short}\n\
        The end of its trace:\n{}\n{broken}\nThe promise: {}",
        case.seed,
        lines.join("\n"),
        broken.promise(),
    )
}

//! A run of a case: the acts while things go wrong, then none of both, until all is as it should be
//! and the manager is silent.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime::Runtime;
use script::{Cluster as _, NodeAct, Player, Script};

use crate::case::Case;
use crate::oracle::Broken;
use crate::site::{START, Site};
use crate::{corruption, lives};

/// How long it may take until all is as it should be. A key that failed often waits 17 minutes.
const CONVERGE: Duration = Duration::from_mins(40);
/// How often people put right what they did, until there is nothing left to do.
const REPAIR: Duration = Duration::from_mins(2);
/// How often is looked.
const LOOK: Duration = Duration::from_secs(5);
/// How long the last status writes may take after that.
const GRACE: Duration = Duration::from_secs(30);
/// How long there must be no write then.
const SILENCE: Duration = Duration::from_mins(10);
/// For how long a key backs off at most, and a little more.
const BACK_OFF_MAX: Duration = Duration::from_secs(1010);

/// How long harm may show.
const HARM: Duration = Duration::from_mins(4);
/// What people should leave to the manager; how they patch it is not looked at.
const HARMED: [&str; 7] =
    ["pods", "replicasets", "nodes", "controllerrevisions", "status", "json", "pod"];

/// What came of a run.
pub(crate) struct Outcome {
    /// The first promise that was broken.
    pub(crate) broken: Option<Broken>,
    pub(crate) trace: Vec<String>,
    /// All objects at the end.
    pub(crate) state: Vec<u8>,
    pub(crate) stats: Stats,
    /// By account.
    pub(crate) writes: BTreeMap<String, u64>,
}

/// Figures of runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stats {
    pub(crate) runs: u64,
    pub(crate) requests: u64,
    pub(crate) lives: u64,
    pub(crate) virtual_time: Duration,
    pub(crate) faults: BTreeMap<&'static str, u64>,
}

/// Runs a case.
pub(crate) fn run(case: &Case) -> anyhow::Result<Outcome> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let tokio = builder.enable_all().start_paused(true).build()?;
    tokio.block_on(async {
        let runtime = Runtime::simulated(START, case.seed);
        let site = Site::new(&runtime, case);
        lives::start(&site, case);
        let played = play(&site, case).await;
        runtime.cancel.cancel();
        played?;
        let state = site.cluster.server().save();
        let virtual_time = site.now();
        let mut log = site.log();
        let stats = Stats {
            runs: 1,
            requests: log.requests,
            lives: log.lives,
            virtual_time,
            faults: std::mem::take(&mut log.faults),
        };
        let broken = log.oracle.broken.first().cloned();
        let writes = std::mem::take(&mut log.writes);
        let trace = std::mem::take(&mut log.trace);
        // It knows the managers, and they know the site: a circle that would never be freed.
        let contest = std::mem::take(&mut log.contest);
        let running = std::mem::take(&mut log.running);
        drop(log);
        drop((contest, running));
        Ok(Outcome { broken, trace, state, stats, writes })
    })
}

async fn play(site: &Site, case: &Case) -> anyhow::Result<()> {
    let mut player = Player::new(site, "default").await?;
    for act in &case.acts {
        let script = Script::parse(act)?;
        let Some(step) = script.steps().next() else { continue };
        site.tell(&format!("> {}", step.text));
        let now = site.now();
        let (cost, waits) = (corruption::cost(&step.text), step.text.starts_with("tick"));
        let harms = harm(&step.text);
        site.log().oracle.expect(cost, waits, case.nodes, now);
        match harms {
            None => site.log().oracle.promise(now),
            Some(harm) => site.log().oracle.excuse(now, harm),
        }
        let played = player.play(&script).await?;
        for line in played.script.steps().flat_map(|step| &step.output) {
            site.tell(line);
        }
        site.look();
        site.log().oracle.done();
        let mut log = site.log();
        log.oracle.judge_available();
        if !log.oracle.broken.is_empty() {
            return Ok(());
        }
    }
    settle(site, case).await
}

/// For how long pods may become unavailable by an act; none: not at all, since the manager does
/// what was asked for without that.
fn harm(act: &str) -> Option<Duration> {
    let mut words = act.split(' ');
    let (verb, what) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let resource = what.split('/').next().unwrap_or_default();
    let harms = match verb {
        "kill" | "partition" => return Some(Duration::from_hours(24)),
        "revive" | "heal" | "cordon" | "uncordon" | "taint" | "fail" => true,
        "delete" | "patch" | "label" | "annotate" | "scale" => HARMED.contains(&resource),
        _ => false,
    };
    harms.then_some(HARM)
}

/// Whether an act takes a node away.
fn goes(act: &str, node: &str) -> bool {
    let act = act.trim();
    let takes = ["> kill ", "> partition ", "> delete nodes/"];
    takes.iter().any(|verb| act.strip_prefix(verb).is_some_and(|it| it.starts_with(node)))
}

/// Nothing goes wrong any more, and all nodes are well.
async fn settle(site: &Site, case: &Case) -> anyhow::Result<()> {
    site.calm();
    let now = site.now();
    {
        let mut log = site.log();
        log.oracle.expect(None, false, case.nodes, now);
        // Machines that are switched on start their pods anew.
        log.oracle.excuse(now, Duration::from_hours(24));
    }
    let mut player = Player::new(site, "default").await?;
    for number in 0..case.nodes {
        let name = format!("node-{number}");
        // Who is switched on starts its pods anew, and that would wake whoever sleeps too well.
        if case.acts.iter().any(|act| goes(act, &name)) {
            for act in [NodeAct::Revive, NodeAct::Heal] {
                let _ = site.node(act, &name);
            }
            // Its kubelet makes its Node again.
            site.tick(LOOK).await;
        }
        let script = format!("> uncordon {name}\n> taint {name} a-\n");
        player.play(&Script::parse(&script)?).await?;
    }
    repair(site, &mut player).await?;
    site.tell("the faults stop");
    let writes = site.log().writes.values().sum::<u64>();
    let (mut waited, mut repaired) = (Duration::ZERO, Duration::ZERO);
    loop {
        site.tick(LOOK).await;
        waited += LOOK;
        site.look();
        let lack = {
            let log = site.log();
            if !log.oracle.broken.is_empty() {
                return Ok(());
            }
            log.oracle.lacks(case.nodes).or_else(|| log.contest.lacks())
        };
        let Some(lack) = lack else { break };
        if waited >= CONVERGE {
            site.log().oracle.broken.push(Broken { rule: "converges", text: lack });
            return Ok(());
        }
        if waited >= repaired + REPAIR {
            repaired = waited;
            repair(site, &mut player).await?;
        }
    }
    site.tell("all is as it should be");
    {
        let mut log = site.log();
        let (written, most) = (log.writes.values().sum::<u64>() - writes, log.oracle.writes_max());
        if std::env::var_os("FIGURES").is_some() {
            println!("writes to the end: {written} of {most} in {}s", waited.as_secs());
        }
        if written > most {
            let text = format!("{written} writes for what needs {most} at most");
            log.oracle.broken.push(Broken { rule: "writes", text });
            return Ok(());
        }
    }
    site.tick(GRACE).await;
    be_silent(site).await;
    Ok(())
}

/// Nobody writes any more.
async fn be_silent(site: &Site) {
    // Not in the condition itself, which would hold the lock.
    let is_backing_off = site.log().oracle.is_backing_off();
    if is_backing_off {
        site.tick(BACK_OFF_MAX).await;
    }
    let (begun, awaits) = (site.now(), site.log().oracle.awaits_revision());
    let keeps = site.log().oracle.keeps_rules();
    site.tick(SILENCE).await;
    let mut log = site.log();
    let (last, what) = log.last_write.clone();
    let is_excused = awaits && what.contains("/controllerrevisions ")
        || keeps && what.contains("PATCH") && what.contains("/clusterroles/");
    if last > begun && !is_excused {
        log.oracle.broken.push(Broken { rule: "silent", text: what });
    }
}

/// People put right what they did.
async fn repair(site: &Site, player: &mut Player<'_, Site>) -> anyhow::Result<()> {
    site.look();
    let repairs = site.log().oracle.repairs();
    for act in repairs {
        site.tell(act.trim_end());
        player.play(&Script::parse(&act)?).await?;
    }
    Ok(())
}

// === impl Stats ===

impl Stats {
    pub(crate) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.requests += other.requests;
        self.lives += other.lives;
        self.virtual_time += other.virtual_time;
        for (fault, count) in &other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
    }
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { runs, requests, lives, virtual_time, .. } = self;
        let hours = virtual_time.as_secs_f64() / 3600.0;
        write!(f, "{runs} runs, {hours:.1} simulated hours, {requests} requests, {lives} lives; ")?;
        let faults: Vec<_> = self.faults.iter().map(|(name, n)| format!("{name} {n}")).collect();
        write!(f, "faults: {}", faults.join(", "))
    }
}

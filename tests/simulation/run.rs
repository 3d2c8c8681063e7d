//! A run of a case: the acts while things go wrong, then none of both, until all is as it should be
//! and the manager is silent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use runtime::Runtime;
use script::{Cluster as _, NodeAct, Player, Script};

use crate::case::Case;
use crate::oracle::{Broken, Key};
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

/// How far a cluster is after the faults have stopped.
#[derive(Default)]
pub(crate) struct Settling {
    /// How long that has been so.
    waited: Duration,
    /// What is not as it should be.
    lack: Option<String>,
    /// How much was written.
    written: u64,
    /// How much may be.
    writes_max: u64,
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
        let knowledge = std::mem::take(&mut log.oracle.knowledge);
        let running = std::mem::take(&mut log.running);
        drop(log);
        drop((contest, knowledge, running));
        Ok(Outcome { broken, trace, state, stats, writes })
    })
}

async fn play(site: &Site, case: &Case) -> anyhow::Result<()> {
    let mut player = Player::new(site, "default").await?;
    for act in &case.acts {
        let script = Script::parse(act)?;
        let Some(step) = script.steps().next() else { continue };
        site.trace(&format!("> {}", step.text));
        let (cost, waits) = (corruption::cost(&step.text), step.text.starts_with("tick"));
        site.log().oracle.expect(cost, waits, case.nodes);
        site.log().oracle.promise(site.now());
        let played = player.play(&script).await?;
        for line in played.script.steps().flat_map(|step| &step.output) {
            site.trace(line);
        }
        site.look();
        let mut log = site.log();
        log.oracle.done();
        if !log.oracle.broken.is_empty() {
            return Ok(());
        }
    }
    settle(site, case).await
}

/// Whether an act takes a node away.
fn goes(act: &str, node: &str) -> bool {
    let act = act.trim();
    let takes = ["> kill ", "> partition ", "> delete nodes/"];
    takes.iter().any(|verb| act.strip_prefix(verb).is_some_and(|it| it.starts_with(node)))
}

/// The faults have stopped, and all nodes are well.
async fn settle(site: &Site, case: &Case) -> anyhow::Result<()> {
    site.calm();
    site.log().oracle.expect(None, false, case.nodes);
    let mut player = Player::new(site, "default").await?;
    for number in 0..case.nodes {
        let name = format!("node-{number}");
        // A node that is switched on starts its pods again, and that would enqueue forgotten keys.
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
    site.trace("the faults stop");
    let Some(asleep) = become_well(site, case, &mut player, true).await? else { return Ok(()) };
    site.trace("all is as it should be");
    site.tick(GRACE).await;
    site.log().oracle.be_quiet();
    site.tick(SILENCE).await;
    site.log().oracle.be_loud();
    let acts = site.log().oracle.wake(&asleep);
    if !acts.is_empty() {
        site.trace("objects of keys that were given up are touched");
        carry_out(site, &mut player, acts).await?;
        become_well(site, case, &mut player, false).await?;
    }
    Ok(())
}

/// Waits until all is as it should be; `may_sleep`: but for those that no controller need sync,
/// which it returns. None: a promise was broken.
async fn become_well(
    site: &Site,
    case: &Case,
    player: &mut Player<'_, Site>,
    may_sleep: bool,
) -> anyhow::Result<Option<BTreeSet<Key>>> {
    let written = || site.log().writes.values().sum::<u64>();
    let (before, mut repaired, mut settling) = (written(), Duration::ZERO, Settling::default());
    loop {
        site.tick(LOOK).await;
        settling.waited += LOOK;
        settling.written = written() - before;
        site.look();
        let asleep = {
            let mut log = site.log();
            let asleep = if may_sleep { log.oracle.asleep() } else { BTreeSet::new() };
            let lack = log.oracle.lacks_but(case.nodes, &asleep);
            settling.lack = lack.or_else(|| log.oracle.fails()).or_else(|| log.contest.lacks());
            settling.writes_max = settling.writes_max.max(log.oracle.writes_max());
            log.oracle.settles(&settling);
            if !log.oracle.broken.is_empty() {
                return Ok(None);
            }
            asleep
        };
        if settling.lack.is_none() {
            return Ok(Some(asleep));
        }
        if settling.waited >= repaired + REPAIR {
            repaired = settling.waited;
            repair(site, player).await?;
        }
    }
}

/// In the end all is as it should be.
pub(crate) fn converges(it: &Settling) -> Option<String> {
    it.lack.clone().filter(|_| it.waited >= CONVERGE)
}

/// Until then there are not too many writes.
pub(crate) fn writes_too_much(it: &Settling) -> Option<String> {
    let Settling { written, writes_max, .. } = it;
    (written > writes_max).then(|| format!("{written} writes for what needs {writes_max} at most"))
}

/// People put right what they did.
async fn repair(site: &Site, player: &mut Player<'_, Site>) -> anyhow::Result<()> {
    site.look();
    let repairs = site.log().oracle.repairs();
    carry_out(site, player, repairs).await
}

async fn carry_out(
    site: &Site,
    player: &mut Player<'_, Site>,
    acts: Vec<String>,
) -> anyhow::Result<()> {
    for act in acts {
        site.trace(act.trim_end());
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

//! Leader election under fire: managers of ours and upstream's contend for one Lease and are
//! killed, ended and stopped at random, and the API server's audit log shows the writes of each.
//!
//! By default a minute, for CI. `CONTEST_SECONDS=600` is the long form, with more contenders, and
//! there libfaketime is a must. `CONTEST_SEED` repeats the faults of a run, as far as real
//! processes repeat themselves; `CONTEST_LEASE_SECONDS` is the lease duration. `--nocapture` shows
//! the figures.

use anyhow::{Context, ensure};
use cluster_tests::{
    AuditLog, Binary, Cluster, Contest, Done, Fault, Manager, Options, User, WrongClock, now,
    wait_until,
};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use runtime::Random;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

mod library;
mod report;

/// An hour: more than clocks are ever apart by mistake.
const SHIFT_S_MAX: i64 = 3600;
/// Between the end of a contender and its next life.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a leader is left alone at least, and at most this much longer.
const QUIET: Duration = Duration::from_millis(300);
const QUIET_MORE: Duration = Duration::from_millis(1500);
/// How long a stop lasts, in lease durations: from less than the renew deadline, so that some keep
/// the lease, to well beyond the end.
const STOP_MIN: f64 = 0.6;
const STOP_MAX: f64 = 2.5;
/// All of ours are stopped long enough for one of upstream's to take the lease, which looks at it
/// every 0.15 to 0.3 lease durations.
const STOP_OURS_MIN: f64 = 1.6;
/// Generous: how long anything takes on a machine that is busy with other tests.
const SLACK: Duration = Duration::from_mins(1);
/// What keeps the leader writing: so many ReplicaSets go between none and so many pods, one of them
/// at each beat.
const SETS: usize = 4;
const REPLICAS: i32 = 12;
const BEAT: Duration = Duration::from_millis(40);

/// What a run is like.
#[derive(Debug, Clone, Copy)]
struct Settings {
    seed: u64,
    length: Duration,
    lease: Duration,
    ours: usize,
    upstream: usize,
    clocks: Clocks,
}

/// Whether the wall clocks of ours are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clocks {
    /// By up to an hour, each by another time.
    Wrong,
    /// There is no libfaketime.
    Right,
}

/// What is done in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strike {
    Leader(Fault),
    Standby(Fault),
    /// The leader is killed while a standby is stopped.
    LeaderAndStandby,
    /// SIGSTOP to all of ours, leader or not.
    AllOfOurs,
}

/// All random numbers of one round: always as many, so that a seed gives the same rounds whatever
/// the processes do.
#[derive(Debug, Clone, Copy)]
struct Round {
    quiet: Duration,
    strike: Strike,
    /// Which of the standbys, in [0, 1).
    standby: f64,
    /// How long it stops, in [0, 1) of what is usual.
    stop: f64,
}

/// A place in the contest, for one manager after another.
struct Contender {
    number: usize,
    team: Binary,
    /// By how much its wall clock is ahead.
    ahead_s: i64,
    life: usize,
    state: State,
}

enum State {
    Down { until: Instant },
    Up { manager: Box<Manager>, last: Last },
}

/// What was last done to a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing, or SIGCONT.
    Runs,
    /// SIGTERM.
    Ends,
    /// SIGSTOP.
    Stopped { until: Instant },
}

/// The running contest.
struct Arena<'a> {
    cluster: &'a Cluster,
    settings: Settings,
    args: Vec<String>,
    random: Random,
    contenders: Vec<Contender>,
    /// The number of the contender, by user.
    users: BTreeMap<String, usize>,
    audit: AuditLog,
    contest: Contest,
    faults: Vec<Done>,
}

/// Issue: no write of ours outside its holder's time, a leader again after every loss.
#[tokio::test]
async fn only_the_holder_of_the_lease_writes() -> anyhow::Result<()> {
    let settings = Settings::from_env()?;
    let mut apiserver_args = AuditLog::apiserver_args();
    // The Lease must not wait behind the work of its contenders.
    apiserver_args.push("--enable-priority-and-fairness=false".into());
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    allow_contenders(cluster.admin()?).await?;
    let mut arena = Arena::new(&cluster, settings);
    tokio::select! {
        biased;
        ended = arena.run() => ended,
        ended = keep_busy(cluster.admin()?) => ended,
    }
    .with_context(|| format!("{settings:?}"))?;
    report::print(&arena);
    report::check(&arena).with_context(|| format!("{settings:?}"))
}

// === impl Settings ===

impl Settings {
    fn from_env() -> anyhow::Result<Self> {
        let asked = number("CONTEST_SECONDS")?;
        let seed = match number("CONTEST_SEED")? {
            Some(seed) => seed,
            None => u64::try_from(wall().as_microsecond())?,
        };
        let clocks = match WrongClock::ahead(0) {
            Some(_) => Clocks::Wrong,
            None => Clocks::Right,
        };
        if clocks == Clocks::Right {
            ensure!(asked.is_none(), "the long contest needs libfaketime (package `faketime`)");
            println!("contest: no libfaketime here, so all clocks are right");
        }
        let (ours, upstream) = if asked.is_some() { (5, 3) } else { (4, 1) };
        Ok(Self {
            seed,
            length: Duration::from_secs(asked.unwrap_or(60)),
            // Short, so that there are many losses in the time; a Lease counts whole seconds.
            lease: Duration::from_secs(number("CONTEST_LEASE_SECONDS")?.unwrap_or(3)),
            ours,
            upstream,
            clocks,
        })
    }

    /// The default durations of 15, 10 and 2 s, to scale.
    fn manager_args(&self) -> Vec<String> {
        let ms = |part: f64| format!("{}ms", self.lease.mul_f64(part).as_millis());
        vec![
            "--controllers=replicaset-controller".into(),
            "--leader-elect=true".into(),
            "--leader-elect-resource-name=contest".into(),
            format!("--leader-elect-lease-duration={}", ms(1.0)),
            format!("--leader-elect-renew-deadline={}", ms(10.0 / 15.0)),
            format!("--leader-elect-retry-period={}", ms(2.0 / 15.0)),
            "--kube-api-qps=1000".into(),
            "--kube-api-burst=2000".into(),
        ]
    }
}

fn number(variable: &str) -> anyhow::Result<Option<u64>> {
    let value = std::env::var(variable).ok();
    value.map(|value| value.parse().with_context(|| format!("{variable}={value}"))).transpose()
}

// === impl Arena ===

impl<'a> Arena<'a> {
    fn new(cluster: &'a Cluster, settings: Settings) -> Self {
        let random = Random::seeded(settings.seed);
        let teams = std::iter::repeat_n(Binary::Ours, settings.ours)
            .chain(std::iter::repeat_n(Binary::Upstream, settings.upstream));
        let contenders = teams.enumerate().map(|(number, team)| Contender {
            number,
            team,
            ahead_s: ahead_s(number, team, settings.clocks, &random),
            life: 0,
            state: State::Down { until: now() },
        });
        Self {
            contenders: contenders.collect(),
            args: settings.manager_args(),
            cluster,
            settings,
            random,
            users: BTreeMap::new(),
            audit: AuditLog::of(cluster),
            contest: Contest::default(),
            faults: Vec::new(),
        }
    }

    async fn run(&mut self) -> anyhow::Result<()> {
        let end = now() + self.settings.length;
        while now() < end {
            let round = Round::draw(&self.random);
            self.leader().await?;
            self.pass(round.quiet).await?;
            // It may have lost the lease in the meantime.
            let leader = self.leader().await?;
            self.strike(round, leader)?;
        }
        self.leader().await?;
        // A manager that is still stopped continues, and shows whether it writes what it was about
        // to write.
        self.pass(self.settings.lease.mul_f64(STOP_MAX + 1.0)).await?;
        self.leader().await.map(drop)
    }

    /// Waits until a manager leads, nothing has been done to it, and its controllers work.
    async fn leader(&mut self) -> anyhow::Result<usize> {
        let limit = self.settings.lease.mul_f64(STOP_MAX + 1.0) + SLACK;
        self.until("a leader", limit, |arena| {
            let holder = arena.contest.holder(wall())?;
            let leads =
                |contender: &&Contender| contender.runs() && contender.user().name() == holder;
            let works = arena.contest.has_worked(holder);
            arena.contenders.iter().find(leads).filter(|_| works).map(|contender| contender.number)
        })
        .await
    }

    async fn pass(&mut self, time: Duration) -> anyhow::Result<()> {
        let end = now() + time;
        self.until("the next round", time + SLACK, |_| (now() >= end).then_some(())).await
    }

    async fn until<T>(
        &mut self,
        what: &str,
        limit: Duration,
        probe: impl Fn(&Self) -> Option<T>,
    ) -> anyhow::Result<T> {
        // An error of a tick is final.
        let found =
            wait_until(what, limit, async || Ok(self.tick().map(|()| probe(self)).transpose()));
        found.await?
    }

    /// Reads what was written, continues managers that were stopped long enough, and starts those
    /// that are down.
    fn tick(&mut self) -> anyhow::Result<()> {
        self.contest.add(self.audit.news()?);
        let now = now();
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        for contender in &mut self.contenders {
            if contender.tick(now)? {
                contender.start(self.cluster, &args)?;
                self.users.insert(contender.user().name(), contender.number);
            }
        }
        Ok(())
    }

    fn strike(&mut self, round: Round, leader: usize) -> anyhow::Result<()> {
        let lease = self.settings.lease;
        let span = |min: f64| lease.mul_f64(min + round.stop * (STOP_MAX - min));
        let standby = self.standby(leader, round.standby);
        match round.strike {
            Strike::Leader(fault) => self.hit(leader, fault, span(STOP_MIN))?,
            Strike::Standby(fault) => {
                if let Some(standby) = standby {
                    self.hit(standby, fault, span(STOP_MIN))?;
                }
            }
            Strike::LeaderAndStandby => {
                self.hit(leader, Fault::Kill, Duration::ZERO)?;
                if let Some(standby) = standby {
                    self.hit(standby, Fault::Stop, span(STOP_MIN))?;
                }
            }
            Strike::AllOfOurs => {
                let ours = self
                    .contenders
                    .iter()
                    .filter(|contender| contender.team == Binary::Ours && contender.runs());
                let ours: Vec<usize> = ours.map(|contender| contender.number).collect();
                for number in ours {
                    self.hit(number, Fault::Stop, span(STOP_OURS_MIN))?;
                }
            }
        }
        Ok(())
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a handful of contenders"
    )]
    fn standby(&self, leader: usize, luck: f64) -> Option<usize> {
        let up = self
            .contenders
            .iter()
            .filter(|contender| contender.number != leader && contender.runs());
        let up: Vec<_> = up.map(|contender| contender.number).collect();
        up.get((luck * up.len() as f64) as usize).copied()
    }

    fn hit(&mut self, number: usize, fault: Fault, stop: Duration) -> anyhow::Result<()> {
        let contender = &mut self.contenders[number];
        self.faults.push(Done { at: wall(), fault, victim: contender.user().name() });
        let State::Up { manager, last } = &mut contender.state else { return Ok(()) };
        match fault {
            Fault::Kill => {
                manager.sigkill();
                contender.state = State::Down { until: now() + PAUSE };
            }
            Fault::Term => {
                manager.sigterm()?;
                *last = Last::Ends;
            }
            Fault::Stop => {
                manager.sigstop()?;
                *last = Last::Stopped { until: now() + stop };
            }
        }
        Ok(())
    }
}

/// The first two of ours are as wrong as can be.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "some seconds")]
fn ahead_s(number: usize, team: Binary, clocks: Clocks, random: &Random) -> i64 {
    let between = ((random.unit() * 2.0 - 1.0) * SHIFT_S_MAX as f64) as i64;
    match (clocks, team, number) {
        (Clocks::Right, _, _) | (_, Binary::Upstream, _) => 0,
        (Clocks::Wrong, Binary::Ours, 0) => SHIFT_S_MAX,
        (Clocks::Wrong, Binary::Ours, 1) => -SHIFT_S_MAX,
        (Clocks::Wrong, Binary::Ours, _) => between,
    }
}

// === impl Round ===

impl Round {
    fn draw(random: &Random) -> Self {
        let quiet = QUIET + QUIET_MORE.mul_f64(random.unit());
        let strikes = [
            (25, Strike::Leader(Fault::Kill)),
            (20, Strike::Leader(Fault::Term)),
            (25, Strike::Leader(Fault::Stop)),
            (10, Strike::LeaderAndStandby),
            (3, Strike::Standby(Fault::Kill)),
            (2, Strike::Standby(Fault::Term)),
            (3, Strike::Standby(Fault::Stop)),
            (12, Strike::AllOfOurs),
        ];
        let mut left = random.bits() % strikes.iter().map(|(weight, _)| weight).sum::<u64>();
        let drawn = strikes.into_iter().find(|(weight, _)| match left.checked_sub(*weight) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        let (_, strike) = drawn.expect("the number is below the sum of the weights");
        Self { quiet, strike, standby: random.unit(), stop: random.unit() }
    }
}

// === impl Contender ===

impl Contender {
    fn user(&self) -> User {
        User::Contender { number: self.number, life: self.life }
    }

    fn runs(&self) -> bool {
        matches!(self.state, State::Up { last: Last::Runs, .. })
    }

    /// Lets time do its work; whether it is to be started now.
    fn tick(&mut self, now: Instant) -> anyhow::Result<bool> {
        match &mut self.state {
            State::Down { until } => return Ok(*until <= now),
            State::Up { manager, last: last @ Last::Stopped { .. } } => {
                if matches!(last, Last::Stopped { until } if *until <= now) {
                    manager.sigcont()?;
                    *last = Last::Runs;
                }
            }
            State::Up { manager, last: Last::Runs | Last::Ends } => {
                // It has ended, by the signal or since it lost the lease.
                if manager.exited()?.is_some() {
                    self.state = State::Down { until: now + PAUSE };
                }
            }
        }
        Ok(false)
    }

    /// Begins the next life.
    fn start(&mut self, cluster: &Cluster, args: &[&str]) -> anyhow::Result<()> {
        self.life += 1;
        let clock = WrongClock::ahead(self.ahead_s).filter(|_| self.ahead_s != 0);
        let (team, user) = (self.team, self.user());
        let manager = Manager::start_with_clock(cluster, team, user, args, clock.as_ref())?;
        self.state = State::Up { manager: Box::new(manager), last: Last::Runs };
        Ok(())
    }
}

// === the world around it ===

/// Contenders may do everything, as a group of their own: the audit policy knows them by it.
async fn allow_contenders(client: Client) -> anyhow::Result<()> {
    let api_group = "rbac.authorization.k8s.io";
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "contenders"},
        "roleRef": {"apiGroup": api_group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": api_group, "kind": "Group", "name": "contenders"}],
    }))?;
    Api::all(client).create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// Keeps the leader writing, without end. The pods wait at a gate, so no other component works on
/// them.
async fn keep_busy(client: Client) -> anyhow::Result<()> {
    let sets = Api::<ReplicaSet>::default_namespaced(client);
    let names: Vec<_> = (0..SETS).map(|number| format!("busy-{number}")).collect();
    for name in &names {
        let set = json!({"metadata": {"name": name}, "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {
                "schedulingGates": [{"name": "example.com/never"}],
                "containers": [{"name": "main", "image": "example.com/image"}]}}}});
        sets.create(&PostParams::default(), &serde_json::from_value(set)?).await?;
    }
    for replicas in [REPLICAS, 0].into_iter().cycle() {
        for name in &names {
            let patch = json!({"spec": {"replicas": replicas}});
            sets.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
            rest(BEAT).await;
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the beat of the work, which nothing waits for")]
async fn rest(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The API server's clock is this machine's.
#[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or_default();
    Timestamp::from_microsecond(micros).unwrap_or_default()
}

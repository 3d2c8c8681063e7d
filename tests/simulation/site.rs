//! The cluster of a run, and what is known of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use runtime::{Clock, Runtime};
use sandbox::{Policy, Server, User};
use script::{Ask, Cluster, NodeAct, Reply, Unsupported};

use crate::attaching::ATTACHER;
use crate::binding::PROVISIONER;
use crate::blocks::WANTS;
use crate::bundles::{self, BUNDLES};
use crate::case::Case;
use crate::fault::{Fault, Plan, Point};
use crate::kubelets::HEARTS;
use crate::lease::Contest;
use crate::life::{About, Life};
use crate::older::Past;
use crate::oracle::Oracle;
use crate::owners::ODD_TEXT;

/// When virtual time begins: with the year 2026.
pub(crate) const START: api::Time = api::Time::from_unix(1_767_225_600, 0);

/// How often nodes renew their Leases where no controller reads them. As often as real nodes they
/// would write more than all others.
const BEAT: Duration = Duration::from_mins(4);
/// How often real nodes do.
const REAL_BEAT: Duration = Duration::from_secs(10);

/// Where the odd byte of an odd text is.
const ODD_AT: usize = 3;

/// The cluster, and what is known of the run. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) cluster: sandbox::Cluster,
    pub(crate) runtime: Runtime,
    /// Whether users write texts with bytes that are no UTF-8.
    pub(crate) has_odd_texts: bool,
    log: Arc<Mutex<Log>>,
}

/// What is known of a run.
pub(crate) struct Log {
    plan: Plan,
    /// Whether there are still faults.
    pub(crate) faulty: bool,
    pub(crate) requests: u64,
    watches: u64,
    /// By resource.
    watches_of: BTreeMap<String, u64>,
    lists: u64,
    /// Which revision there was when.
    pub(crate) past: Past,
    /// Of elections.
    leases: u64,
    discoveries: u64,
    /// The group whose server does not respond, and what is said instead.
    down: Option<(&'static str, Fault)>,
    /// By account.
    pub(crate) writes: BTreeMap<String, u64>,
    /// By verb and resource.
    writes_like: BTreeMap<String, u64>,
    pub(crate) faults: BTreeMap<&'static str, u64>,
    pub(crate) lives: u64,
    pub(crate) trace: Vec<String>,
    pub(crate) oracle: Oracle,
    pub(crate) contest: Contest,
    /// The clocks of the machines that managers run on.
    clocks: BTreeMap<char, Clock>,
    /// The managers that run.
    pub(crate) running: BTreeMap<char, Life>,
}

// === impl Site ===

impl Site {
    pub(crate) fn new(runtime: &Runtime, case: &Case) -> Self {
        // A client without credentials has no rights, and the roles that hold are no objects: there
        // is less to list.
        let options = sandbox::Options {
            track_updates: false,
            stranger: User::anonymous(),
            policy: Policy::Hidden,
            ..sandbox::Options::default()
        };
        let server = Server::new(runtime, options);
        let has_hearts = case.has(HEARTS);
        let nodes = sandbox::Nodes::new(case.nodes).beat(if has_hearts { REAL_BEAT } else { BEAT });
        let wants_ranges = case.has(WANTS);
        let nodes = if wants_ranges { nodes.without_ranges() } else { nodes };
        let cluster = sandbox::Cluster::start(server, &nodes, case.seed);
        let attaches = case.has(ATTACHER);
        let binds = attaches || case.has(PROVISIONER);
        let cluster = if binds { cluster.provisioning_volumes() } else { cluster };
        let authority = if case.has(BUNDLES) { bundles::AUTHORITY } else { "" };
        let cluster = if attaches { cluster.attaching_volumes() } else { cluster };
        let log = Log {
            plan: case.plan.clone(),
            faulty: true,
            requests: 0,
            watches: 0,
            watches_of: BTreeMap::new(),
            lists: 0,
            past: Past::default(),
            leases: 0,
            discoveries: 0,
            down: None,
            writes: BTreeMap::new(),
            writes_like: BTreeMap::new(),
            faults: BTreeMap::new(),
            lives: 0,
            trace: Vec::new(),
            oracle: Oracle::new([binds, attaches, has_hearts, wants_ranges], authority),
            contest: Contest::default(),
            clocks: BTreeMap::new(),
            running: BTreeMap::new(),
        };
        let has_odd_texts = case.has(ODD_TEXT);
        let (runtime, log) = (runtime.clone(), Arc::new(Mutex::new(log)));
        Self { cluster, runtime, has_odd_texts, log }
    }

    /// What is known so far. Must not be held while anything is asked for.
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.runtime.clock.now().since(START)
    }

    /// As it comes to a manager: the API server looks at the bytes of few texts.
    pub(crate) fn with_odd_bytes(&self, body: Bytes) -> Bytes {
        let odd = ODD_TEXT.as_bytes();
        let next = |from: usize| {
            let rest = body.get(from..).unwrap_or_default();
            rest.windows(odd.len()).position(|it| it == odd).map(|at| from + at)
        };
        let Some(mut at) = next(0).filter(|_| self.has_odd_texts) else { return body };
        let mut bent = body.to_vec();
        loop {
            // Of the dash in its middle.
            bent[at + ODD_AT] = 0xff;
            match next(at + odd.len()) {
                Some(found) => at = found,
                None => return bent.into(),
            }
        }
    }

    pub(crate) fn trace(&self, line: &str) {
        let at = self.now().as_secs_f64();
        self.log().trace.push(format!("{at:10.3} {line}"));
    }

    /// A new life of a manager.
    pub(crate) fn live(&self, manager: char) -> Life {
        let mut log = self.log();
        log.lives += 1;
        let machine = || self.runtime.clock.of_another_machine();
        let clock = log.clocks.entry(manager).or_insert_with(machine).clone();
        let life = Life::new(self, format!("{manager}{}", log.lives), clock);
        log.running.insert(manager, life.clone());
        life
    }

    /// From now on there are no faults, and the clocks are right.
    pub(crate) fn calm(&self) {
        let now = self.now();
        let mut log = self.log();
        log.faulty = false;
        log.clocks.values().for_each(|clock| clock.set_wall(0));
        log.oracle.sets_clocks_right(now);
    }

    /// Shows the oracle what has changed.
    pub(crate) fn look(&self) {
        let now = self.now();
        let mut log = self.log();
        log.past.note(now, self.cluster.server().revision());
        log.oracle.look(self.cluster.server(), now);
        log.contest.look(self.cluster.server(), false, now);
    }

    /// Judges the election as it is now.
    pub(crate) fn judge_election(&self) {
        let now = self.now();
        let mut log = self.log();
        log.contest.judge(now);
        log.complain();
    }
}

impl Log {
    /// What the election has broken counts as all else does.
    pub(crate) fn complain(&mut self) {
        let broken = std::mem::take(&mut self.contest.broken);
        self.oracle.broken.extend(broken);
    }

    /// Something went wrong with a request: it may keep a manager from leading for so long.
    pub(crate) fn trouble(&mut self, about: &About, now: Duration, fault: Fault) {
        let lasts = Duration::from_millis(fault.lasts());
        match fault {
            Fault::Stop(_) | Fault::Suspend(_) | Fault::Cut(_) | Fault::Quit => {
                self.contest.trouble(about.life(), now + lasts);
            }
            // The sender of a delayed renewal may hold the Lease then without knowing.
            _ if about.is_of_election() => self.contest.trouble_all(now + lasts),
            _ => {}
        }
    }

    /// What admission does to a write.
    fn admits(&mut self, about: &About) -> Option<Fault> {
        let like = about.write().filter(|_| about.counts())?;
        let count = self.writes_like.entry(like.clone()).or_default();
        let until = Point::From(like.clone(), *count);
        *count += 1;
        self.plan.range(Point::From(like, 0)..=until).next_back().map(|(_, fault)| *fault)
    }

    /// The fault of this request.
    pub(crate) fn fault(&mut self, about: &About) -> Option<Fault> {
        let mut points = Vec::new();
        if about.watches() {
            points.push(Point::Watch(self.watches));
            self.watches += 1;
            let of = self.watches_of.entry(about.collection().to_owned()).or_default();
            points.push(Point::WatchOf(about.collection().to_owned(), *of));
            *of += 1;
        } else {
            points.push(Point::Request(self.requests));
        }
        self.requests += u64::from(!about.watches());
        if about.lists() {
            points.push(Point::List(self.lists));
            self.lists += 1;
        }
        if about.is_of_election() && !about.watches() {
            points.push(Point::Lease(self.leases));
            self.leases += 1;
        }
        if about.counts() {
            let count = self.writes.entry(about.account.clone()).or_default();
            points.push(Point::Write(about.account.clone(), *count));
            *count += 1;
        }
        if about.discovers() {
            points.push(Point::Discovery(self.discoveries));
            self.discoveries += 1;
        }
        let planned = points.iter().find_map(|point| self.plan.get(point)).copied();
        let planned = planned.or_else(|| self.admits(about));
        if about.discovers() {
            self.down = match planned {
                Some(Fault::Stale(group)) => Some((group, Fault::Unavailable)),
                Some(Fault::Unconverted(group)) => Some((group, Fault::Internal)),
                _ => None,
            };
        }
        let down = self.down.filter(|(group, _)| about.is_of_group(group));
        let planned = planned.or_else(|| down.map(|(_, says)| says));
        let fault = planned.filter(|_| self.faulty)?;
        *self.faults.entry(fault.name()).or_default() += 1;
        Some(fault)
    }
}

impl Cluster for Site {
    async fn ask(&self, ask: Ask) -> anyhow::Result<Reply> {
        self.look();
        let reply = ask.put_to(self.cluster.server());
        self.look();
        reply
    }

    async fn tick(&self, time: Duration) {
        self.runtime.clock.sleep(time).await;
    }

    fn node(&self, act: NodeAct, name: &str) -> Result<(), Unsupported> {
        act.on(&self.cluster, name);
        Ok(())
    }

    fn fail(&self, pod: &api::Key) -> Result<(), Unsupported> {
        self.cluster.kubelets(|kubelets| kubelets.fail(pod));
        Ok(())
    }

    async fn explain(&self, _: &str, _: &api::Key) -> Result<Vec<String>, Unsupported> {
        Err(Unsupported("not used here".to_owned()))
    }
}

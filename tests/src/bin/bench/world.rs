//! One manager on a fresh cluster, and what is measured of it around each scenario.

use crate::figures::Figures;
use crate::proc::{self, Cpu, Memory};
use crate::requests::{POLICY, Tally};
use crate::samples::Samples;
use crate::scenarios::Scenario;
use crate::time::{Clock, timestamp, within};
use anyhow::Context;
use cluster_tests::{AuditLog, Binary, Cluster, Manager, Objects, Options, User, pass, wait_until};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A manager that wrote nothing for so long is done: more than the period in which it looks at all
/// nodes, and than any status is held back.
const QUIET: SignedDuration = SignedDuration::from_secs(6);
/// Longest wait for that, and for what is not a scenario's own.
const LIMIT: Duration = Duration::from_mins(5);
/// What a manager does once after its start is over by then.
const SETTLED: Duration = Duration::from_secs(10);
/// How much of a manager's log is shown with an error.
const LOG_LINES: usize = 10;

/// What every manager gets; what kubeadm gives, and limits that are not what is measured.
const FLAGS: [&str; 5] = [
    "--leader-elect=true",
    "--allocate-node-cidrs=true",
    "--cluster-cidr=10.128.0.0/9",
    "--node-cidr-mask-size=22",
    "--service-cluster-ip-range=10.96.0.0/16",
];
const FAST: [&str; 2] = ["--kube-api-qps=1000", "--kube-api-burst=1000"];

/// What is the same for all runs.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// How many fake nodes there are.
    pub(crate) nodes: usize,
    /// By what the numbers of objects are multiplied, and the times of idleness.
    pub(crate) scale: f64,
    /// Whether managers have their default `--kube-api-qps` and `--kube-api-burst`.
    pub(crate) default_rates: bool,
    /// Longest wait for one step of a scenario.
    pub(crate) limit: Duration,
}

/// A cluster and its manager.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) cluster: Cluster,
    pub(crate) manager: Manager,
    /// Waits for the Lease, in the scenarios that have one.
    pub(crate) standby: Option<Manager>,
    binary: Binary,
    tally: Tally,
    samples: Arc<Samples>,
}

/// What a scenario says when it is done.
pub(crate) struct Acted {
    /// When its clock started.
    pub(crate) started: Timestamp,
    /// Until its end was seen.
    pub(crate) took: Duration,
    /// More times in seconds.
    pub(crate) more: BTreeMap<&'static str, f64>,
}

/// What a process had used when a scenario began.
struct Before {
    pid: i32,
    cpu: Cpu,
    received: Option<u64>,
}

// === impl Plan ===

impl Plan {
    /// So many, scaled.
    pub(crate) fn scaled(&self, count: u32) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small positive number"
        )]
        let scaled = (f64::from(count) * self.scale).round() as usize;
        scaled.max(1)
    }

    /// So long, scaled, but long enough to see something.
    pub(crate) fn pause(&self, pause: Duration) -> Duration {
        pause.mul_f64(self.scale).max(SETTLED)
    }

    /// The flags of every manager but those of its place on this machine.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let fast: &[_] = if self.default_rates { &[] } else { &FAST };
        FLAGS.iter().chain(fast).copied().collect()
    }
}

// === impl World ===

impl World {
    /// Starts a cluster with nodes, and then the manager, and waits until that has settled.
    pub(crate) async fn start(
        plan: &Plan,
        binary: Binary,
        samples: Arc<Samples>,
    ) -> anyhow::Result<Self> {
        let options = Options {
            nodes: plan.nodes,
            service_accounts: true,
            apiserver_args: AuditLog::apiserver_args_by(POLICY),
            ..Options::default()
        };
        let cluster = Cluster::start(options).await?;
        let tally = Tally::of(&cluster);
        let manager = start_manager(plan, &cluster, binary)?;
        samples.follow(manager.pid());
        let mut world =
            Self { plan: plan.clone(), cluster, manager, standby: None, binary, tally, samples };
        world.manager.healthy().await?;
        pass(SETTLED).await;
        world.quiet(timestamp()).await?;
        Ok(world)
    }

    /// Plays a scenario and measures the manager meanwhile, and until it is quiet.
    pub(crate) async fn measure(&mut self, scenario: &Scenario) -> anyhow::Result<Figures> {
        let limit = self.plan.limit;
        self.revive().await?;
        let prepared = within("to be prepared", limit, (scenario.prepare)(self)).await;
        prepared.with_context(|| self.log_tail())?;
        self.quiet(timestamp()).await?;
        let before = self.before()?;
        self.tally.counted()?;
        self.samples.follow(before.pid);
        self.samples.begin(scenario.name);
        let acted = within("to be over", limit, (scenario.act)(self)).await;
        let acted = acted.with_context(|| self.log_tail())?;
        let last = self.quiet(acted.started).await?;
        let mut figures = self.figures(&before, &acted)?;
        figures.settled_s = last.map(|last| last.duration_since(acted.started).as_secs_f64());
        self.samples.end();
        within("to be cleared", limit, (scenario.clear)(self)).await?;
        Ok(figures)
    }

    /// The objects of a namespace.
    pub(crate) fn objects(&self, namespace: &str) -> anyhow::Result<Objects> {
        Objects::of(&self.cluster, namespace)
    }

    /// The same, once it is there and pods can be made in it.
    pub(crate) async fn namespace(&self, namespace: &str) -> anyhow::Result<Objects> {
        let (all, objects) = (self.objects("")?, self.objects(namespace)?);
        if all.find("namespaces", namespace).await?.is_none() {
            all.create("namespaces", &json!({"metadata": {"name": namespace}})).await?;
        }
        wait_until("the default service account", LIMIT, async || {
            objects.find("serviceaccounts", "default").await
        })
        .await?;
        Ok(objects)
    }

    /// Starts one more manager, which is not waited for.
    pub(crate) fn another(&self) -> anyhow::Result<Manager> {
        start_manager(&self.plan, &self.cluster, self.binary)
    }

    /// This manager is measured from now on; the one before it ends.
    pub(crate) fn succeeded_by(&mut self, manager: Manager) {
        self.samples.follow(manager.pid());
        self.manager = manager;
    }

    /// Takes away the Lease of a manager that has been killed, so that the next one need not wait.
    pub(crate) async fn free_lease(&self) -> anyhow::Result<()> {
        let leases = self.objects("kube-system")?;
        let (resource, name) = ("leases.v1.coordination.k8s.io", "kube-controller-manager");
        match leases.find(resource, name).await? {
            Some(_) => leases.delete(resource, name).await,
            None => Ok(()),
        }
    }

    /// Waits until the managers have written nothing for a while, since `since` at least; when they
    /// wrote last, if after that.
    pub(crate) async fn quiet(&mut self, since: Timestamp) -> anyhow::Result<Option<Timestamp>> {
        let tally = &mut self.tally;
        wait_until("the manager to be quiet", LIMIT, async || {
            let last = tally.last_write()?.filter(|last| *last >= since);
            let idle = timestamp().duration_since(last.unwrap_or(since));
            Ok((idle >= QUIET).then_some(last))
        })
        .await
    }

    /// Starts the manager again if it has ended.
    async fn revive(&mut self) -> anyhow::Result<()> {
        self.standby = None;
        if self.manager.exited()?.is_none() {
            return Ok(());
        }
        self.free_lease().await?;
        self.succeeded_by(self.another()?);
        self.manager.healthy().await?;
        pass(SETTLED).await;
        Ok(())
    }

    /// The process that is measured when a scenario begins: the one that takes over, if there is
    /// one.
    fn before(&self) -> anyhow::Result<Before> {
        let pid = self.standby.as_ref().unwrap_or(&self.manager).pid();
        proc::reset_peak(pid)?;
        Ok(Before { pid, cpu: proc::cpu(pid)?, received: proc::received_bytes(pid) })
    }

    fn figures(&mut self, before: &Before, acted: &Acted) -> anyhow::Result<Figures> {
        let pid = self.manager.pid();
        let (cpu, received) = (proc::cpu(pid)?, proc::received_bytes(pid));
        let Memory { rss_kib, peak_kib } = proc::memory(pid)?;
        // What a process that began in the scenario has used, it has used in the scenario.
        let same = pid == before.pid;
        let (cpu_before, received_before) =
            if same { (before.cpu, before.received) } else { (Cpu::default(), Some(0)) };
        Ok(Figures {
            took_s: acted.took.as_secs_f64(),
            settled_s: None,
            user_s: cpu.user_s - cpu_before.user_s,
            system_s: cpu.system_s - cpu_before.system_s,
            rss_kib,
            peak_kib,
            received_bytes: received
                .zip(received_before)
                .map(|(now, then)| now.saturating_sub(then)),
            requests: self.tally.counted()?,
            more: acted.more.clone(),
        })
    }

    fn log_tail(&self) -> String {
        let log = self.manager.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }
}

// === impl Acted ===

impl Acted {
    /// By a clock that is read now.
    pub(crate) fn by(clock: &Clock) -> Self {
        Self { started: clock.started, took: clock.elapsed(), more: BTreeMap::new() }
    }
}

fn start_manager(plan: &Plan, cluster: &Cluster, binary: Binary) -> anyhow::Result<Manager> {
    Manager::start(cluster, binary, User::ControllerManager, &plan.flags())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(scale: f64) -> Plan {
        Plan { nodes: 1, scale, default_rates: false, limit: LIMIT }
    }

    #[test]
    fn numbers_are_scaled_and_never_none() {
        assert_eq!(plan(1.0).scaled(500), 500);
        assert_eq!(plan(0.05).scaled(500), 25);
        assert_eq!(plan(0.001).scaled(100), 1);
        assert_eq!(plan(1.0).pause(Duration::from_mins(1)), Duration::from_mins(1));
        assert_eq!(plan(0.05).pause(Duration::from_mins(1)), SETTLED);
    }

    #[test]
    fn default_rates_are_no_flags() {
        let with_default_rates = Plan { default_rates: true, ..plan(1.0) };
        assert!(plan(1.0).flags().contains(&"--kube-api-qps=1000"));
        assert!(!with_default_rates.flags().iter().any(|flag| flag.contains("kube-api")));
    }
}

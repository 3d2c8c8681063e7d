//! A whole cluster in this process: the sandbox, and the manager on it.

use std::sync::Arc;
use std::time::Duration;

use api::Key;
use client::Connection;
use engine::{Explanation, Insider};
use manager::debug::Source;
use manager::options::Options;
use manager::selection::Choice;
use manager::start::Manager;
use runtime::Runtime;
use sandbox::User;
use why::text::Style;
use why::{AskError, Question, Reader, Report, ask};

use crate::{Ask, Cluster, NodeAct, Reply, Script, Unsupported};

/// How a world is set up.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// Nodes at the start.
    pub nodes: usize,
    /// Further flags of the manager, such as `--controllers=…`.
    pub flags: Vec<String>,
    /// What the nodes' small differences come from.
    pub seed: u64,
}

/// A cluster in this process.
pub struct World {
    /// The API server, the nodes and the scheduler.
    pub cluster: sandbox::Cluster,
    /// What the manager reports of itself.
    pub source: Arc<dyn Source>,
    runtime: Runtime,
}

/// Requests that no role allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(Vec<String>);

/// The controllers whose keys are objects of a resource; those that run are explained, in this
/// order.
const CONTROLLERS: &[(&str, &str)] = &[
    ("certificatesigningrequests", "certificatesigningrequest-approving-controller"),
    ("certificatesigningrequests", "certificatesigningrequest-signing-controller"),
    ("clusterroles", "clusterrole-aggregation-controller"),
    ("cronjobs", "cronjob-controller"),
    ("daemonsets", "daemonset-controller"),
    ("deployments", "deployment-controller"),
    ("endpoints", "endpoints-controller"),
    ("horizontalpodautoscalers", "horizontal-pod-autoscaler-controller"),
    ("jobs", "job-controller"),
    ("jobs", "ttl-after-finished-controller"),
    ("namespaces", "namespace-controller"),
    ("nodes", "cloud-node-lifecycle-controller"),
    ("nodes", "node-ipam-controller"),
    ("nodes", "node-lifecycle-controller"),
    ("nodes", "persistentvolume-attach-detach-controller"),
    ("nodes", "ttl-controller"),
    ("persistentvolumeclaims", "persistentvolume-binder-controller"),
    ("persistentvolumeclaims", "persistentvolumeclaim-protection-controller"),
    ("persistentvolumes", "persistentvolume-attach-detach-controller"),
    ("persistentvolumes", "persistentvolume-binder-controller"),
    ("persistentvolumes", "persistentvolume-protection-controller"),
    ("poddisruptionbudgets", "disruption-controller"),
    ("pods", "device-taint-eviction-controller"),
    ("pods", "ephemeral-volume-controller"),
    ("pods", "resourceclaim-controller"),
    ("pods", "selinux-warning-controller"),
    ("pods", "taint-eviction-controller"),
    ("replicasets", "replicaset-controller"),
    ("replicationcontrollers", "replicationcontroller-controller"),
    ("resourceclaims", "resourceclaim-controller"),
    ("resourcequotas", "resourcequota-controller"),
    ("servicecidrs", "service-cidr-controller"),
    ("services", "endpointslice-controller"),
    ("services", "service-lb-controller"),
    ("statefulsets", "statefulset-controller"),
    ("storageversionmigrations", "storage-version-migrator-controller"),
    ("storageversions", "storageversion-garbage-collector-controller"),
    ("volumeattributesclasses", "volumeattributesclass-protection-controller"),
];

/// The folder of the controller that binds volumes. Where it does not run the sandbox binds.
const BINDER: &str = "persistentvolume";
/// The user of the manager's requests that are no controller's.
const MANAGER: &str = "system:kube-controller-manager";

/// What an explanation says of an object that differs from run to run.
const VOLATILE: [&str; 1] = ["resource version"];

impl WorldOptions {
    /// What a script asks for.
    pub fn of(script: &Script, seed: u64) -> Self {
        let controllers = Some(&script.controllers).filter(|list| !list.is_empty());
        let controllers = controllers.map(|list| format!("--controllers={list}"));
        let flags = controllers.into_iter().chain(script.flags.iter().cloned()).collect();
        Self { nodes: script.nodes, flags, seed }
    }
}

impl World {
    /// Starts a cluster, and the manager on it.
    pub fn start(options: &WorldOptions, runtime: &Runtime) -> anyhow::Result<Self> {
        // A manager with a list of controllers to run may create no accounts.
        let has_choice = options.flags.iter().any(|flag| flag.starts_with("--controllers="));
        let defaults = sandbox::Options::default();
        let settings = sandbox::Options {
            require_service_accounts: !has_choice,
            stranger: User::anonymous(),
            ..defaults
        };
        let server = sandbox::Server::new(runtime, settings);
        let nodes = sandbox::Nodes::new(options.nodes);
        let cluster = sandbox::Cluster::start(server, &nodes, options.seed);
        Self::on(cluster, &options.flags, runtime)
    }

    /// Starts the manager on a cluster. It has its own user there, and each controller its service
    /// account. Claims get hollow volumes; only if the manager binds they have to be of a class.
    /// Its cloud is a hollow one, too.
    pub fn on(
        cluster: sandbox::Cluster,
        flags: &[String],
        runtime: &Runtime,
    ) -> anyhow::Result<Self> {
        let given = [
            "--leader-elect=false",
            "--secure-port=0",
            "--controller-start-interval=0s",
            "--use-service-account-credentials=true",
        ];
        let limits = ["--kube-api-qps=1000", "--kube-api-burst=1000"];
        let words = given.iter().chain(&limits).map(|it| (*it).to_owned());
        let options = Options::parse(words.chain(flags.iter().cloned()))
            .map_err(|failure| anyhow::anyhow!("{}", failure.text()))?;
        if let Some(error) = options.validate().first() {
            anyhow::bail!("{error}");
        }
        let binds = Choice::on_cloud(&options).runs(BINDER);
        let cluster =
            if binds { cluster.provisioning_volumes() } else { cluster.providing_volumes() };
        let cluster = cluster.attaching_volumes();
        let server = cluster.server();
        let user = server.service_as(User::new(MANAGER, &[]));
        let connection = Connection::inside(user, server.service_as(User::anonymous()));
        let manager = Manager::on_cloud(options, connection, runtime, cluster.cloud())?;
        let source = manager.source();
        runtime::spawn("manager", async move {
            if let Err(error) = manager.lead().await {
                tracing::error!(error = format!("{error:#}"), "the manager ended");
            }
        });
        Ok(Self { cluster, source, runtime: runtime.clone() })
    }

    /// The requests of the cluster's own users that the server refused, each different one once: a
    /// controller whose role lacks a verb tries for ever, and shows nothing of it. People, such as
    /// the user of a `why`, may be refused.
    pub fn refused(&self) -> Result<(), Refused> {
        let refusals = self.cluster.server().refusals();
        let is_own = |user: &str| user.starts_with("system:");
        let refusals = refusals.into_iter().filter(|it| is_own(&it.user));
        let messages: Vec<_> = refusals.map(|it| it.message).collect();
        if messages.is_empty() { Ok(()) } else { Err(Refused(messages)) }
    }
}

impl Cluster for World {
    async fn ask(&self, ask: Ask) -> anyhow::Result<Reply> {
        ask.put_to(self.cluster.server())
    }

    async fn tick(&self, time: Duration) {
        self.runtime.clock.sleep(time).await;
    }

    fn node(&self, act: NodeAct, name: &str) -> Result<(), Unsupported> {
        act.on(&self.cluster, name);
        Ok(())
    }

    fn join(&self, node: &str, token: &str) -> Result<(), Unsupported> {
        let taken = || Unsupported(format!("there is a node {node}"));
        self.cluster.join(node, token).then_some(()).ok_or_else(taken)
    }

    fn fail(&self, pod: &Key) -> Result<(), Unsupported> {
        self.cluster.kubelets(|kubelets| kubelets.fail(pod));
        Ok(())
    }

    async fn explain(&self, plural: &str, key: &Key) -> Result<Vec<String>, Unsupported> {
        let names = CONTROLLERS.iter().filter(|(known, _)| *known == plural);
        let rows = self.source.controllers();
        let mut explained = Vec::new();
        for (_, name) in names {
            let row = rows.iter().find(|row| row.name == *name);
            if let Some(engine) = row.and_then(|row| row.engine.as_ref().ok()) {
                explained.extend(lines(name, &engine.explain(key, &Insider).await));
            }
        }
        if explained.is_empty() {
            return Err(Unsupported(format!("no controller of {plural} runs")));
        }
        Ok(explained)
    }

    async fn why(
        &self,
        question: &Question,
        user: Option<&str>,
    ) -> Result<Vec<String>, Unsupported> {
        let server = self.cluster.server();
        let user = user.map_or_else(User::admin, |name| User::new(name, &[]));
        let nobody = server.service_as(User::anonymous());
        let connection = Connection::inside(server.service_as(user), nobody);
        Ok(said(&ask(&Reader::new(connection, &self.runtime), question).await))
    }
}

/// What `kubectl why` prints, and its exit code.
pub fn said(answer: &Result<Report, AskError>) -> Vec<String> {
    let (text, code) = match answer {
        Ok(report) => (why::text::write(report, Style::default()), report.state.code()),
        Err(error) => (format!("error: {error}"), error.code()),
    };
    let lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned);
    lines.chain([format!("exit code {code}")]).collect()
}

/// An explanation without times and versions.
fn lines(controller: &str, explanation: &Explanation) -> Vec<String> {
    let mut lines = vec![format!("{controller} on {}:", explanation.key)];
    if !explanation.found {
        lines.push("  there is no such object".to_owned());
    }
    let facts = explanation.summary.iter().filter(|fact| !VOLATILE.contains(&fact.name));
    lines.extend(facts.map(|fact| format!("  {}: {}", fact.name, fact.value)));
    let plan = explanation.plan.iter().flat_map(|plan| plan.text.lines());
    lines.extend(plan.map(|line| format!("  plan: {line}")));
    lines.extend(explanation.error.iter().map(|error| format!("  error: {error}")));
    let last = explanation.last_error.iter();
    lines.extend(last.map(|failure| format!("  last failure: {}", failure.error)));
    lines
}

// === impl Refused ===

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no role allows these requests:\n{}", self.0.join("\n"))
    }
}

impl std::error::Error for Refused {}

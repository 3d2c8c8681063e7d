//! From options to running controllers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use api::{Key, Resource};
use cache::SharedInformerFactory;
use client::{Account, Client, ConnectOptions, Connection, Settings};
use controller::Controller;
use engine::events::Recorder;
use engine::{Engine, Parts};
use futures::future::BoxFuture;
use leader::Ended;
use prometheus::Registry;
use runtime::Runtime;
use workqueue::{Limiter, Queue, WorkqueueMetrics};

use crate::election::Turn;
use crate::options::{KUBERNETES_VERSION, Options};
use crate::registry::{Entry, REGISTRY};
use crate::selection::choose;

/// How long to wait for the API server before giving up, as upstream's `WaitForAPIServer`.
const API_SERVER_LIMIT: Duration = Duration::from_secs(10);
/// How often to ask meanwhile.
const API_SERVER_INTERVAL: Duration = Duration::from_secs(1);

/// What controllers are built from.
pub struct Context {
    /// The flags.
    pub options: Options,
    connection: Connection,
    runtime: Runtime,
    turn: Turn,
    informers: SharedInformerFactory,
    client_metrics: client::Metrics,
    engine_metrics: engine::Metrics,
    queue_metrics: WorkqueueMetrics,
}

/// A controller that was built; awaiting it runs it until the process is asked to stop.
pub type Running = BoxFuture<'static, ()>;

/// Runs the selected controllers until `runtime.cancel`. An error if they cannot start.
pub async fn run(options: Options, runtime: Runtime, registry: &Registry) -> anyhow::Result<()> {
    let choice = choose(&options.controllers, REGISTRY);
    choice.log();
    let connection =
        ConnectOptions { kubeconfig: options.kubeconfig.clone(), master: options.master.clone() };
    let connection = client::connect(&connection).await?;
    let mut context = Context::new(options, connection, runtime.clone(), registry)?;

    let build = |entry: &&Entry| entry.start.map(|start| start(entry, &mut context));
    let running: Vec<_> = choice.run.iter().filter_map(build).collect();
    // A standby keeps its caches warm: to take over is to start the workers.
    context.informers.start();
    let done = lead(running, &context).await;
    context.turn.give_up().await;
    done
}

/// Runs the controllers for as long as it is our turn. An error if it is taken from us: what they
/// still want to write is refused by the fence, and the process must end.
async fn lead(running: Vec<Running>, context: &Context) -> anyhow::Result<()> {
    let Context { turn, runtime, .. } = context;
    match turn.comes().await {
        Ok(()) => {}
        Err(Ended::Stopped | Ended::Released) => return Ok(()),
        Err(lost @ Ended::Lost(_)) => return Err(lost.into()),
    }
    wait_for_api_server(&context.client("controller-discovery"), runtime).await?;
    let tasks: Vec<_> =
        running.into_iter().map(|controller| runtime::spawn("controller", controller)).collect();
    tokio::select! {
        biased;
        ended = turn.is_over() => Err(ended.into()),
        () = async {
            runtime.cancel.cancelled().await;
            futures::future::join_all(tasks).await;
        } => Ok(()),
    }
}

/// Waits until `/healthz` says ok.
async fn wait_for_api_server(client: &Client, runtime: &Runtime) -> anyhow::Result<()> {
    let started = runtime.clock.instant();
    let mut last = None;
    loop {
        let left = API_SERVER_LIMIT.saturating_sub(runtime.clock.instant() - started);
        let asked = runtime.clock.timeout(left, client.get("/healthz"));
        let error = tokio::select! {
            biased;
            () = runtime.cancel.cancelled() => bail!("stopped while waiting for the API server"),
            asked = asked => match asked {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => error.to_string(),
                Err(_) => last.clone().unwrap_or_else(|| "no answer".to_owned()),
            },
        };
        if runtime.clock.instant() - started >= API_SERVER_LIMIT {
            bail!(
                "failed to wait for apiserver being healthy: /healthz of {}: {error}",
                client.host()
            );
        }
        if last.as_ref() != Some(&error) {
            tracing::warn!(%error, server = client.host(), "the API server is not ready, waiting");
        }
        last = Some(error);
        runtime.clock.sleep(API_SERVER_INTERVAL).await;
    }
}

impl Context {
    fn new(
        options: Options,
        connection: Connection,
        runtime: Runtime,
        registry: &Registry,
    ) -> anyhow::Result<Self> {
        let client_metrics = client::Metrics::new(registry).context("rest_client metrics")?;
        let engine_metrics = engine::Metrics::new(registry).context("engine metrics")?;
        let queue_metrics = WorkqueueMetrics::new(registry).context("workqueue metrics")?;
        let leader_metrics = leader::Metrics::new(registry).context("leader election metrics")?;
        let Connection { root, host, .. } = &connection;
        let unlimited = |name: &str| {
            let settings = Settings { qps: 0.0, ..settings(&options, host, name) };
            Client::new(root.clone(), settings, &client_metrics, &runtime)
        };
        let turn = Turn::contend(&options.election, unlimited, &leader_metrics, &runtime)?;
        let informer_settings = settings(&options, host, "shared-informers");
        let informer_client =
            Client::new(root.clone(), informer_settings, &client_metrics, &runtime);
        let informers = SharedInformerFactory::new(informer_client, runtime.clone());
        Ok(Self {
            options,
            connection,
            runtime,
            turn,
            informers,
            client_metrics,
            engine_metrics,
            queue_metrics,
        })
    }

    /// A client of the kubeconfig's user, with its own rate limit, whose user agent ends with
    /// `name`.
    pub fn client(&self, name: &str) -> Client {
        let settings = settings(&self.options, &self.connection.host, name);
        let root = self.connection.root.clone();
        Client::new(root, settings, &self.client_metrics, &self.runtime)
    }

    /// The client that a controller writes with: as its service account if the flags say so, and
    /// only while it is our turn.
    fn controller_client(&self, name: &str) -> Client {
        let client = if self.options.use_service_account_credentials {
            let account = Arc::new(Account::new(self.client(name), name, &self.runtime));
            let host = &self.connection.host;
            let settings = settings(&self.options, host, &account.user_name());
            let anonymous = self.connection.anonymous.clone();
            Client::new(anonymous, settings, &self.client_metrics, &self.runtime).acting_as(account)
        } else {
            self.client(name)
        };
        client.guarded(self.turn.fence().guard())
    }

    /// A workqueue with upstream's metrics under `name`.
    pub fn queue(&self, name: &str) -> Queue<Key> {
        let metrics = self.queue_metrics.for_queue(name);
        Queue::new(self.runtime.clock.clone(), Limiter::default(), Some(metrics))
    }

    /// Builds the engine of a controller and subscribes it.
    pub fn start<C: Controller>(
        &mut self,
        entry: &Entry,
        own: Resource,
        (queue, workers): (Queue<Key>, usize),
        controller: C,
    ) -> Running {
        let client = self.controller_client(entry.account);
        let parts = Parts {
            name: entry.name,
            own,
            workers,
            queue,
            recorder: Recorder::start(client.clone(), entry.account, &self.runtime),
            client,
            runtime: self.runtime.clone(),
            metrics: self.engine_metrics.clone(),
        };
        Box::pin(Engine::new(controller, parts, &mut self.informers).run())
    }
}

fn settings(options: &Options, host: &str, name: &str) -> Settings {
    let (qps, burst) = options.limits();
    Settings { qps, burst, user_agent: user_agent(name), host: host.to_owned() }
}

/// As client-go's `DefaultKubernetesUserAgent`, with the client's name after it.
fn user_agent(name: &str) -> String {
    let os = std::env::consts::OS;
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let commit =
        option_env!("GIT_COMMIT").map_or("unknown", |commit| commit.get(..7).unwrap_or(commit));
    format!("kube-controller-manager/{KUBERNETES_VERSION} ({os}/{arch}) kubernetes/{commit}/{name}")
}

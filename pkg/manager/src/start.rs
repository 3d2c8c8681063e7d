//! Starts controllers from options.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use api::{Key, Prefix, Resource};
use cache::SharedInformerFactory;
use client::{Account, Client, ConnectOptions, Connection, GatedUser, Settings};
use cloud::Cloud;
use controller::{Controller, Shared};
use controllers::csrsigning::Profile;
use controllers::nodeipam;
use controllers::persistentvolume::Recyclers;
use engine::events::Recorder;
use engine::{Both, Engine, Inspect, Parts};
use futures::future::BoxFuture;
use leader::Ended;
use metrics::Registry;
use runtime::{Clock, Runtime, Task};
use workqueue::{Limiter, Queue, WorkqueueMetrics};

use crate::debug::{Absence, Graph, Leadership, Row, Source};
use crate::election::Candidacy;
use crate::flags::handles;
use crate::gates::features;
use crate::migration::Migration;
use crate::options::{KUBERNETES_VERSION, Options};
use crate::registry::{self, Entry, Rate, User};
use crate::selection::Choice;
use crate::serve::{self, Shown, Site};
use crate::signing::FileAuthority;
use crate::token_signer::{JwtSigner, token_signer};
use crate::wings::Wings;
use crate::{authority, expiry, pod_ranges, recyclers, signing};

/// How long to wait for the API server, as upstream's `WaitForAPIServer`.
const API_SERVER_LIMIT: Duration = Duration::from_secs(10);
/// The interval of the checks meanwhile.
const API_SERVER_INTERVAL: Duration = Duration::from_secs(1);
/// A process that is not elected within this time is a standby, and begins to fill its caches.
const STANDBY_AFTER: Duration = Duration::from_millis(500);
/// The first delay after a failed start of a controller; it doubles.
const START_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest such delay.
const START_RETRY_DELAY_MAX: Duration = Duration::from_mins(1);

/// The parts that controllers are built from.
pub struct Context {
    /// The flags.
    pub options: Options,
    /// The CA with which pods verify the API server, as PEM; may be empty.
    pub root_ca: String,
    /// The signer of service account tokens, if there is a key for it.
    pub(crate) token_signer: Option<Arc<JwtSigner>>,
    /// The authorities of the signers of certificates; none if that controller does not run.
    pub(crate) signing: BTreeMap<Profile, Arc<FileAuthority>>,
    /// The controller of the ranges of nodes; none if it does not run.
    pub(crate) node_ranges: Option<nodeipam::Controller>,
    /// How volumes are emptied; none if that controller does not run.
    pub(crate) recyclers: Option<Arc<Recyclers>>,
    /// The ranges of the nodes' routes; none if that controller does not run.
    pub(crate) route_ranges: Vec<Prefix>,
    /// The cloud; the product has none.
    cloud: Option<Arc<dyn Cloud>>,
    connection: Connection,
    runtime: Runtime,
    wings: Wings,
    informers: SharedInformerFactory,
    client_metrics: client::Metrics,
    engine_metrics: engine::Metrics,
    queue_metrics: WorkqueueMetrics,
}

/// The clients that a controller writes with.
pub struct Writer {
    /// The controller's canonical name.
    name: &'static str,
    client: Client,
    recorder: Recorder,
    account: Option<Arc<Account>>,
}

/// A controller that was built.
pub struct Running {
    /// Its canonical name.
    name: &'static str,
    /// Its engines, for inspection.
    inspect: Arc<dyn Inspect>,
    /// Its graph, for the debug pages.
    graph: Option<Graph>,
    /// The service account that it acts as, if it has one.
    account: Option<Arc<Account>>,
    /// Records its Events.
    recorder: Recorder,
    /// Runs the controller until the process shuts down.
    run: BoxFuture<'static, ()>,
}

/// All selected controllers, built and ready to run.
pub struct Manager {
    options: Options,
    shown: Shown,
    /// All controllers of the registry, for the debug pages.
    rows: Vec<Row>,
    running: Vec<Running>,
    informers: Arc<SharedInformerFactory>,
    wings: Arc<Wings>,
    discovery: Client,
    runtime: Runtime,
}

/// The source of the debug pages.
struct Insight {
    rows: Vec<Row>,
    informers: Arc<SharedInformerFactory>,
    candidacy: Arc<Candidacy>,
    clock: Clock,
}

/// Runs the selected controllers until `runtime.cancel`, or until leadership is lost, which is an
/// error. Everything that prevents the start is an error, too.
///
/// As upstream (`Run` in cmd/kube-controller-manager/app/controllermanager.go): the port is opened
/// before anything slow, so that a second process on this machine ends at once; it is served while
/// this process is a standby.
pub async fn run(options: Options, runtime: Runtime) -> anyhow::Result<()> {
    let started = runtime.clock.now();
    let shown = Shown::new(&options)?;
    let migration = Migration::of(&options)?;
    let choice = Choice::of(&options).migrated(migration.as_ref());
    choice.log();
    let (kubeconfig, master) = (options.kubeconfig.clone(), options.master.clone());
    let server = ConnectOptions { kubeconfig, master, ..ConnectOptions::default() };
    let connection = client::connect(&server).await?;
    let port = serve::open(&options, &runtime).await?;
    let client_metrics = client::Metrics::new(&shown.registry).context("rest_client metrics")?;
    client_metrics.count_transport();
    expiry::follow(&options, &shown.registry, &runtime)?;
    // Before the process contends: it must not hold the lease while it waits here for the API
    // server.
    let guard = match &port {
        Some(_) => {
            let guard = Box::pin(serve::guard(&options, &shown, &client_metrics, &runtime));
            let Some(guard) = runtime.cancel.run_until_cancelled(guard).await else {
                return Ok(());
            };
            Some(guard?)
        }
        None => None,
    };
    let registry = &shown.registry;
    let context =
        Context::new(options, migration, connection, client_metrics, (&runtime, registry))?;
    let manager = Manager::assemble(context, &choice, &shown)?;
    if let (Some(port), Some(guard)) = (port, guard) {
        let site = Site { shown: shown.clone(), started, source: manager.source() };
        serve::start(port, guard, site, &manager.options, &runtime)?;
    }
    manager.lead().await
}

impl Manager {
    /// A manager over an existing connection, without a port and without a log: for a sandbox, for
    /// tests and for simulation. Nothing runs yet.
    pub fn new(
        options: Options,
        connection: Connection,
        runtime: &Runtime,
    ) -> anyhow::Result<Self> {
        Self::within((options, Choice::of), connection, runtime, None)
    }

    /// The same on a cloud, over which the controllers run that upstream never runs.
    pub fn on_cloud(
        options: Options,
        connection: Connection,
        runtime: &Runtime,
        cloud: Arc<dyn Cloud>,
    ) -> anyhow::Result<Self> {
        Self::within((options, Choice::on_cloud), connection, runtime, Some(cloud))
    }

    fn within(
        (options, choose): (Options, fn(&Options) -> Choice<'static>),
        connection: Connection,
        runtime: &Runtime,
        cloud: Option<Arc<dyn Cloud>>,
    ) -> anyhow::Result<Self> {
        let migration = Migration::of(&options)?;
        let choice = choose(&options).migrated(migration.as_ref());
        let shown = Shown::new(&options)?;
        let metrics = client::Metrics::new(&shown.registry).context("rest_client metrics")?;
        let place = (runtime, &shown.registry);
        let mut context = Context::new(options, migration, connection, metrics, place)?;
        context.cloud = cloud;
        Self::assemble(context, &choice, &shown)
    }

    fn assemble(mut context: Context, choice: &Choice<'_>, shown: &Shown) -> anyhow::Result<Self> {
        if choice.runs("csrsigning") {
            context.signing = signing::authorities(&context.options)?;
        }
        if choice.runs("nodeipam") {
            context.node_ranges = Some(pod_ranges::controller(&context.options)?);
        }
        if choice.runs("persistentvolume") {
            context.recyclers = Some(Arc::new(recyclers::recyclers(&context.options)?));
        }
        if choice.runs("route") {
            context.route_ranges = pod_ranges::routes(&context.options)?;
        }
        let collects = context.options.flags.switch(handles::ENABLE_GARBAGE_COLLECTOR);
        if choice.runs("svm") && !collects {
            bail!("storage version migrator requires garbage collector");
        }
        let build = |entry: &&Entry| entry.start.map(|start| start(entry, &mut context));
        let running: Vec<_> = choice.run.iter().filter_map(build).collect();
        let discovery = context.client("controller-discovery");
        let Context { options, wings, informers, runtime, .. } = context;
        let wings = Arc::new(wings);
        if wings.renewal_check().is_some() {
            let wings = Arc::clone(&wings);
            shown.health.add("leaderElection", move || wings.renewal_check().unwrap_or(Ok(())));
        }
        let main = Arc::clone(&wings.main.candidacy);
        if main.candidate_check().is_some() {
            shown.health.add("informer-sync", move || main.candidate_check().unwrap_or(Ok(())));
        }
        let shown = shown.clone();
        let (rows, informers) = (rows(choice, &running), Arc::new(informers));
        Ok(Self { options, shown, rows, running, informers, wings, discovery, runtime })
    }

    /// What the debug pages show.
    pub fn source(&self) -> Arc<dyn Source> {
        Arc::new(Insight {
            rows: self.rows.clone(),
            informers: Arc::clone(&self.informers),
            candidacy: Arc::clone(&self.wings.main.candidacy),
            clock: self.runtime.clock.clone(),
        })
    }

    /// Runs until the runtime is cancelled, or until leadership is lost, which is an error. That
    /// the API server was restored to an older state is an error, too.
    pub async fn lead(self) -> anyhow::Result<()> {
        let Self { options, shown, running, informers, wings, discovery, runtime, .. } = self;
        let elected = wings.main.candidacy.elected();
        let at_once = runtime.clock.timeout(STANDBY_AFTER, elected).await;
        // A standby keeps its caches warm.
        informers.start();
        let known = Arc::downgrade(&informers);
        let alive = move || known.upgrade().map_or(Ok(()), |informers| informers.alive());
        shown.health.add("informers", alive);
        let lead = Lead {
            wings: &wings,
            discovery,
            informers: &informers,
            is_stale: at_once.is_err(),
            interval: options.controller_start_interval,
            shown: &shown,
            runtime: &runtime,
        };
        let led = async {
            lead.run(running).await?;
            // Upstream releases the lease only with this gate, off by default. Without an explicit
            // setting we take the fast take-over; with `false` we do what upstream does.
            let release = options.gates.given(features::RELEASE_LEASE).unwrap_or(true);
            wings.end(release).await;
            Ok(())
        };
        unless_rewound(&informers, Box::pin(led)).await
    }
}

/// Runs `led`, or ends at once with an error when the API server was restored to an older state:
/// expectations and decisions are wrong then too, and only a new process is sure to be right.
async fn unless_rewound(
    informers: &SharedInformerFactory,
    led: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    tokio::select! {
        biased;
        rewound = informers.rewound() => Err(rewound.into()),
        led = led => led,
    }
}

/// The parts of a leader.
struct Lead<'a> {
    wings: &'a Wings,
    discovery: Client,
    informers: &'a SharedInformerFactory,
    /// Whether the caches may lack the last writes of another leader: they were filled before the
    /// election.
    is_stale: bool,
    /// See [`Options::controller_start_interval`].
    interval: Duration,
    shown: &'a Shown,
    runtime: &'a Runtime,
}

impl Lead<'_> {
    /// Runs the controllers for as long as this process leads. An error if leadership is lost: the
    /// fence refuses further writes, and the process must end at once.
    async fn run(self, running: Vec<Running>) -> anyhow::Result<()> {
        match self.wings.main.candidacy.elected().await {
            Ok(()) => {}
            Err(Ended::Stopped | Ended::Released) => return Ok(()),
            Err(lost @ Ended::Lost(_)) => return Err(lost.into()),
        }
        // A watch may be stale: a controller that acts on the cache as it is would repeat what is
        // done already. Upstream fills its caches only now.
        if self.is_stale {
            self.informers.renew();
        }
        let tasks = async {
            let healthy = wait_for_api_server(&self.discovery, &self.runtime.clock);
            // If the process shuts down meanwhile, no controller starts, and the lease is still
            // released.
            let Some(healthy) = self.runtime.cancel.run_until_cancelled(healthy).await else {
                return Ok(());
            };
            healthy?;
            let is_migrated = |running: &Running| self.wings.is_migrated(running.name);
            let (migrated, main) = running.into_iter().partition(is_migrated);
            let mut tasks = self.start(main);
            tasks.extend(self.start_migrated(migrated).await);
            self.runtime.cancel.cancelled().await;
            futures::future::join_all(tasks).await;
            Ok(())
        };
        tokio::select! {
            biased;
            ended = self.wings.lost() => Err(ended.into()),
            done = tasks => done,
        }
    }

    /// Starts controllers, whose health counts from now on.
    fn start(&self, running: Vec<Running>) -> Vec<Task> {
        for Running { name, inspect, .. } in &running {
            let (inspect, clock) = (Arc::clone(inspect), self.runtime.clock.clone());
            let health = &self.shown.health;
            health.add(name, move || inspect.stalled(clock.instant()).map_or(Ok(()), Err));
        }
        let start = |running: Running| {
            runtime::spawn("controller", running.start(self.interval, self.runtime.clone()))
        };
        running.into_iter().map(start).collect()
    }

    /// Contends for the second Lease, and once it is held starts the controllers that migrate. That
    /// it is lost is noticed elsewhere.
    async fn start_migrated(&self, running: Vec<Running>) -> Vec<Task> {
        let Some(wing) = &self.wings.migrated else { return Vec::new() };
        wing.candidacy.begin();
        if wing.candidacy.elected().await.is_err() {
            return Vec::new();
        }
        tracing::info!("leader migration: starting migrated controllers");
        if !running.is_empty() {
            // Another component may have written until now.
            self.informers.renew();
        }
        self.start(running)
    }
}

impl Running {
    /// Two engines of one controller. They write as the same account, and share a recorder of
    /// Events.
    pub fn both(self, other: Self) -> Self {
        let Self { name, inspect, graph, account, recorder, run } = self;
        let inspect: Arc<dyn Inspect> = Arc::new(Both(inspect, other.inspect));
        let run = async move {
            futures::future::join(run, other.run).await;
        };
        Self { name, inspect, graph, account, recorder, run: Box::pin(run) }
    }

    /// This controller, with a task that does something for it for as long as it runs. The task
    /// begins first.
    pub(crate) fn beside(self, task: impl Future<Output = Infallible> + Send + 'static) -> Self {
        let engine = self.run;
        let run = async move {
            tokio::select! {
                biased;
                never = task => match never {},
                () = engine => {}
            }
        };
        Self { run: Box::pin(run), ..self }
    }

    /// This controller, with a graph to show.
    pub fn with_graph(self, graph: Graph) -> Self {
        Self { graph: Some(graph), ..self }
    }

    /// Runs the controller after a delay of one to two intervals (no delay if that is zero), so
    /// that not all start at once. When it has ended, its last Events are sent.
    async fn start(self, interval: Duration, runtime: Runtime) {
        let Self { name, inspect, account, recorder, run, .. } = self;
        let pause = runtime.random.jitter(interval, 1.0);
        let begin = async {
            if !pause.is_zero() {
                runtime.clock.sleep(pause).await;
            }
            if let Some(account) = account {
                ensure(&account, &*inspect, &runtime).await;
            }
        };
        tokio::select! {
            biased;
            () = runtime.cancel.cancelled() => return,
            () = begin => {}
        }
        tracing::info!(controller = name, "Controller starting");
        run.await;
        recorder.finish().await;
    }
}

/// Creates the service account of a controller, as upstream does for each that it builds. Upstream
/// ends if it cannot; here this controller waits, and the others run.
async fn ensure(account: &Account, inspect: &dyn Inspect, runtime: &Runtime) {
    let mut delay = START_RETRY_DELAY;
    while let Err(error) = account.ensure().await {
        let name = account.user_name();
        tracing::warn!(account = name, %error, "a controller cannot start, will be tried again");
        inspect.cannot_start(&format!("its service account {name}: {error}"));
        runtime.clock.sleep(delay).await;
        delay = (delay * 2).min(START_RETRY_DELAY_MAX);
    }
}

/// Waits until `/healthz` says ok.
async fn wait_for_api_server(client: &Client, clock: &Clock) -> anyhow::Result<()> {
    let started = clock.instant();
    let mut last = None;
    loop {
        let left = API_SERVER_LIMIT.saturating_sub(clock.instant() - started);
        let error = match clock.timeout(left, client.get("/healthz")).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => last.clone().unwrap_or_else(|| "no answer".to_owned()),
        };
        if clock.instant() - started >= API_SERVER_LIMIT {
            bail!(
                "failed to wait for apiserver being healthy: /healthz of {}: {error}",
                client.host()
            );
        }
        if last.as_ref() != Some(&error) {
            tracing::warn!(%error, server = client.host(), "the API server is not ready, waiting");
        }
        last = Some(error);
        clock.sleep(API_SERVER_INTERVAL).await;
    }
}

impl Context {
    fn new(
        options: Options,
        migration: Option<Migration>,
        connection: Connection,
        client_metrics: client::Metrics,
        (runtime, registry): (&Runtime, &Registry),
    ) -> anyhow::Result<Self> {
        // From here on nothing can be written.
        let connection = if options.shadow.is_some() { connection.reading() } else { connection };
        let root_ca = authority::root_ca(&options)?;
        let token_signer = token_signer(&options)?.map(Arc::new);
        let engine_metrics = engine::Metrics::new(registry).context("engine metrics")?;
        let queue_metrics = WorkqueueMetrics::new(registry).context("workqueue metrics")?;
        let informer_metrics = cache::Metrics::new(registry).context("informer metrics")?;
        let place = (runtime, registry);
        let wings = Wings::new(&options, migration, &connection, &client_metrics, place)?;
        let Connection { transport, host, .. } = &connection;
        let informer_settings = settings(&options, host, "shared-informers");
        let informer_client =
            Client::new(transport.clone(), informer_settings, &client_metrics, runtime);
        let metadata_settings = settings(&options, host, "metadata-informers");
        let metadata_client =
            Client::new(transport.clone(), metadata_settings, &client_metrics, runtime);
        let informers = SharedInformerFactory::new(informer_client, runtime.clone())
            .with_metadata_client(metadata_client)
            .with_metrics(informer_metrics)
            .with_streams(options.gates.is_on(features::WATCH_LIST_CLIENT))
            .with_resync(options.resync_period_min);
        Ok(Self {
            options,
            root_ca,
            token_signer,
            signing: BTreeMap::new(),
            node_ranges: None,
            recyclers: None,
            route_ranges: Vec::new(),
            cloud: None,
            connection,
            runtime: runtime.clone(),
            wings,
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
        let transport = self.connection.transport.clone();
        Client::new(transport, settings, &self.client_metrics, &self.runtime)
    }

    /// The clients of a controller: as its service account with
    /// `--use-service-account-credentials`, and only while this process leads.
    pub fn writer(&self, entry: &Entry) -> Writer {
        let wing = self.wings.of(entry.name);
        let (connection, has_account) = match (&wing.gated_root, entry.user) {
            (Some(_), User::Account) => (&wing.gated, true),
            (Some(root), User::Root) => (root, false),
            (None, User::Account | User::Root) => (&wing.gated, false),
        };
        let Connection { transport, host, .. } = connection;
        let Rate { qps_factor, burst_factor } = entry.rate;
        let gated = |user: &str| {
            let settings = settings(&self.options, host, user);
            let (qps, burst) = (settings.qps * qps_factor, settings.burst * burst_factor);
            let settings = Settings { qps, burst, ..settings };
            Client::new(transport.clone(), settings, &self.client_metrics, &self.runtime)
        };
        let name = entry.account;
        let account = has_account.then(|| {
            let account = Account::new(self.client(name), name, &self.runtime);
            Arc::new(account)
        });
        let client = match &account {
            Some(account) => gated(&account.user_name()).acting_as(Arc::clone(account)),
            None => gated(name),
        };
        let client = client.guarded(wing.fence().guard());
        let event_source = entry.event_source.unwrap_or(entry.account);
        let recorder = Recorder::start(client.clone(), event_source, &self.runtime);
        Writer { name: entry.name, client, recorder, account }
    }

    /// The clock of this process.
    pub(crate) fn clock(&self) -> Clock {
        self.runtime.clock.clone()
    }

    /// A workqueue with upstream's metrics under `name`, and upstream's usual limits.
    pub fn queue(&self, name: &str) -> Queue<Key> {
        self.queue_with(name, Limiter::default())
    }

    /// A workqueue with other limits.
    pub fn queue_with(&self, name: &str, limiter: Limiter<Key>) -> Queue<Key> {
        let metrics = self.queue_metrics.for_queue(name);
        Queue::new(self.runtime.clock.clone(), limiter, Some(metrics))
    }

    /// A workqueue with other limits and without metrics, for a controller that has none upstream.
    pub fn unnamed_queue(&self, limiter: Limiter<Key>) -> Queue<Key> {
        Queue::new(self.runtime.clock.clone(), limiter, None)
    }

    /// The number of workers of a `--concurrent-*-syncs` flag; 0 or less: none.
    pub(crate) fn workers(&self, flag: handles::Int) -> usize {
        usize::try_from(self.options.flags.int32(flag)).unwrap_or(0)
    }

    /// Builds the engine of a controller and subscribes it.
    pub fn start<C: Controller>(
        &mut self,
        entry: &Entry,
        own: impl Into<Option<Resource>>,
        work: (Queue<Key>, usize),
        controller: C,
    ) -> Running {
        let writer = self.writer(entry);
        self.start_with(&writer, own, work, controller)
    }

    /// The same for a controller with several engines, which share their clients.
    pub fn start_with<C: Controller>(
        &mut self,
        writer: &Writer,
        own: impl Into<Option<Resource>>,
        work: (Queue<Key>, usize),
        controller: C,
    ) -> Running {
        self.start_sharing(writer, own, work, (controller, &Arc::default()))
    }

    /// The same for engines that also share a memory.
    pub fn start_sharing<C: Controller>(
        &mut self,
        writer: &Writer,
        own: impl Into<Option<Resource>>,
        (queue, workers): (Queue<Key>, usize),
        (controller, memory): (C, &Arc<Shared<C::Memory>>),
    ) -> Running {
        let Writer { name, client, recorder, account } = writer;
        let parts = Parts {
            name,
            own: own.into(),
            workers,
            queue,
            drain_limit: self.options.controller_shutdown_timeout,
            recorder: recorder.clone(),
            cloud: self.cloud.clone(),
            client: client.clone(),
            shadow: self.options.shadow.map(|grace| grace + registry::period(name)),
            runtime: self.runtime.clone(),
            metrics: self.engine_metrics.clone(),
        };
        let memory = Arc::clone(memory);
        let engine = Engine::new(controller, memory, parts, &mut self.informers);
        let inspect: Arc<dyn Inspect> = Arc::clone(&engine) as _;
        let run = Box::pin(engine.run());
        let (account, recorder) = (account.clone(), recorder.clone());
        Running { name, inspect, graph: None, account, recorder, run }
    }
}

pub(crate) fn gated_user(options: &Options) -> GatedUser {
    if options.use_service_account_credentials { GatedUser::Nobody } else { GatedUser::Same }
}

pub(crate) fn settings(options: &Options, host: &str, name: &str) -> Settings {
    let (qps, burst) = options.limits();
    Settings { qps, burst, user_agent: user_agent(name), host: host.to_owned() }
}

/// As client-go's `DefaultKubernetesUserAgent`, with the client's name after it.
pub(crate) fn user_agent(name: &str) -> String {
    let platform = metrics::identity::platform();
    let commit =
        option_env!("GIT_COMMIT").map_or("unknown", |commit| commit.get(..7).unwrap_or(commit));
    format!("kube-controller-manager/{KUBERNETES_VERSION} ({platform}) kubernetes/{commit}/{name}")
}

// === Debug pages ===

/// All controllers of the table, in its order.
fn rows(choice: &Choice<'_>, running: &[Running]) -> Vec<Row> {
    let row = |entry: &Entry, engine| {
        let Entry { name, aliases, .. } = *entry;
        Row { name, aliases, engine, graph: None }
    };
    let built = running.iter().zip(&choice.run);
    let built = built.map(|(running, entry)| Row {
        graph: running.graph.clone(),
        ..row(entry, Ok(Arc::clone(&running.inspect)))
    });
    let absent = |entries: &[&Entry], absence: fn(&Entry) -> Absence| {
        entries.iter().map(|entry| row(entry, Err(absence(entry)))).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = built
        .chain(absent(&choice.gated, |entry| Absence::GateOff(entry.gates)))
        .chain(absent(&choice.cloud, |_| Absence::NeedsCloud))
        .chain(absent(&choice.disabled, |_| Absence::Off))
        .chain(absent(&choice.foreign, |_| Absence::Foreign))
        .chain(choice.lacking.iter().map(|(entry, why)| row(entry, Err(Absence::Lacks(why)))))
        .collect();
    rows.sort_by_key(|row| row.name);
    rows
}

impl Source for Insight {
    fn controllers(&self) -> Vec<Row> {
        self.rows.clone()
    }

    fn informers(&self) -> Vec<cache::InformerStatus> {
        self.informers.status()
    }

    fn leadership(&self) -> Leadership {
        self.candidacy.shown()
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

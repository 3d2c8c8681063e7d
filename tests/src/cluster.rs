//! One cluster: its life from the first process to the last, and what tests ask of it.

use crate::components::{self, Ports};
use crate::pki::{Pki, User};
use crate::process::{Guard, Process, signal};
use crate::requests::{self, Requests};
use crate::wait::{pass, wait_until};
use anyhow::{Context, anyhow};
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::AuthInfo;
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Generous, for a machine that is busy with other tests; a component that ends is noticed at once.
const START_LIMIT: Duration = Duration::from_mins(2);
/// After SIGTERM the API server lets running requests finish.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// kwok reacts to a new node within a second or two.
const NODES_LIMIT: Duration = Duration::from_mins(1);
/// Requests in flight while nodes are made.
const NODES_AT_ONCE: usize = 16;
/// One `<pid> <component>` per line, for [`Cluster::stop_left`].
const PIDS: &str = "pids";
/// Set to anything, it keeps the folders of ended clusters for a look at the logs.
const KEEP: &str = "CLUSTER_KEEP";

/// What a cluster starts with; the default is a cluster without nodes.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How many nodes to make before the start is complete.
    pub nodes: usize,
    /// Whether a pod needs a service account, which a manager must make; by default it needs none.
    pub service_accounts: bool,
    /// More flags for the API server, for example `--feature-gates=…`.
    pub apiserver_args: Vec<String>,
    /// The folder of its state, which must not exist yet. By default a new one below the system's
    /// folder for temporary files.
    pub dir: Option<PathBuf>,
}

/// A running cluster. It ends when this is dropped, and its folder is removed, unless the
/// environment variable `CLUSTER_KEEP` is set.
pub struct Cluster {
    options: Options,
    dir: PathBuf,
    ports: Ports,
    pki: Pki,
    nodes: AtomicUsize,
    // Dropped in this order: kwok and the scheduler, the API server, etcd, and then the guard,
    // which ends what else was started in the group and removes the folder.
    helpers: Vec<Process>,
    apiserver: Mutex<Option<Process>>,
    etcd: Process,
    guard: Guard,
}

/// The client of a server, and its credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nothing is proved.
    Nobody,
    /// By a client certificate.
    User(User),
    /// By a bearer token.
    Token(String),
}

impl Cluster {
    /// Starts etcd, the API server, the scheduler and kwok, and returns once all are ready and the
    /// nodes are Ready. An error names the component that failed and shows the end of its log.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        let dir = options.dir.clone().unwrap_or_else(temporary_dir);
        let ports = Ports::free()?;
        let binary = components::tool("etcd")?;
        fs::create_dir_all(dir.parent().context("a folder has a parent")?)?;
        // Private, since keys will lie in it.
        DirBuilder::new()
            .mode(0o700)
            .create(&dir)
            .with_context(|| format!("cannot make {}", dir.display()))?;
        let etcd = Process::spawn("etcd", &binary, components::etcd(&dir, &ports), &dir, 0)?;
        let folder = std::env::var_os(KEEP).is_none().then_some(dir.as_path());
        let guard = Guard::spawn(etcd.pid(), folder)?;
        let pki = Pki::create(&dir, &ports.apiserver_url())?;
        let mut cluster = Self {
            nodes: AtomicUsize::new(0),
            helpers: Vec::new(),
            apiserver: Mutex::new(None),
            options,
            dir,
            ports,
            pki,
            etcd,
            guard,
        };
        cluster.start_components().await?;
        cluster.add_nodes(cluster.options.nodes).await?;
        Ok(cluster)
    }

    /// A client with every right. Like any client it belongs to the current tokio runtime and ends
    /// with it: a test that shares a cluster asks for its own.
    pub fn admin(&self) -> anyhow::Result<Client> {
        self.client(User::Admin)
    }

    /// A client with the rights of this user.
    pub fn client(&self, user: User) -> anyhow::Result<Client> {
        self.client_for(&self.url(), user)
    }

    /// The path of a kubeconfig file for this user.
    pub fn kubeconfig(&self, user: User) -> anyhow::Result<PathBuf> {
        self.pki.kubeconfig(user)
    }

    /// The URL of the API server, the same for the cluster's whole life.
    pub fn url(&self) -> String {
        self.ports.apiserver_url()
    }

    /// The folder with the logs (`<component>.log`), keys and data.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The CA's certificate (PEM), which signed every certificate of this cluster; its key is
    /// `ca.key` beside it.
    pub fn ca_path(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// Makes this many more nodes, far larger than any test, waits until they are Ready and returns
    /// their names.
    pub async fn add_nodes(&self, count: usize) -> anyhow::Result<Vec<String>> {
        let api = &Api::<Node>::all(self.admin()?);
        let first = self.nodes.fetch_add(count, Ordering::Relaxed);
        let names: Vec<_> = (first..first + count).map(|index| format!("node-{index}")).collect();
        stream::iter(&names)
            .map(|name| async move {
                api.create(&PostParams::default(), &node(name)?).await?;
                anyhow::Ok(())
            })
            .buffer_unordered(NODES_AT_ONCE)
            .try_collect::<()>()
            .await?;
        wait_until("the new nodes to be Ready", NODES_LIMIT, async || {
            let ready: BTreeSet<_> = api
                .list(&ListParams::default())
                .await?
                .into_iter()
                .filter(is_ready)
                .filter_map(|node| node.metadata.name)
                .collect();
            Ok(names.iter().all(|name| ready.contains(name)).then_some(()))
        })
        .await?;
        Ok(names)
    }

    /// Cuts a node off: its lease is no longer renewed and its pods stay as they are, until
    /// [`Cluster::revive_node`]. Takes effect within moments, not at once.
    pub async fn silence_node(&self, name: &str) -> anyhow::Result<()> {
        self.label_node(name, None).await
    }

    /// Lets a silenced node continue.
    pub async fn revive_node(&self, name: &str) -> anyhow::Result<()> {
        self.label_node(name, Some("kwok")).await
    }

    /// Makes a namespace. Pods can be made in it at once, but with [`Options::service_accounts`].
    pub async fn create_namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        Api::all(self.admin()?).create(&PostParams::default(), &namespace).await?;
        Ok(())
    }

    /// How often the API server was asked for what, since it was last started.
    pub async fn request_counts(&self) -> anyhow::Result<Requests> {
        Ok(requests::parse(&get(&self.admin()?, "/metrics").await?))
    }

    /// How many watches are open at the API server, its own included, by `<resource>.<group>`.
    pub async fn open_watches(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        Ok(requests::parse_watches(&get(&self.admin()?, "/metrics").await?))
    }

    /// How often a resource was to be listed or watched in one version, and that was refused.
    pub async fn refused_reads(&self, resource: &str, version: &str) -> anyhow::Result<u64> {
        let metrics = get(&self.admin()?, "/metrics").await?;
        Ok(requests::parse_refused_reads(&metrics, resource, version))
    }

    /// The groups of APIs in the aggregated form of discovery, without the core group.
    pub(crate) async fn aggregated_discovery(&self) -> anyhow::Result<Value> {
        const FORM: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let request = Request::get("/apis").header("accept", FORM).body(Vec::new())?;
        Ok(self.admin()?.request(request).await?)
    }

    /// Writes an object where etcd has it: one in a version that is no longer served.
    pub async fn store(&self, key: &str, object: &Value) -> anyhow::Result<()> {
        let bytes = |text: String| ByteString(text.into_bytes());
        let put = json!({"key": bytes(key.to_owned()), "value": bytes(object.to_string())});
        let client = self.client_for(&self.ports.etcd_url(), User::Admin)?;
        let request = Request::post("/v3/kv/put").body(put.to_string().into_bytes())?;
        client.request::<Value>(request).await.map(drop).context("etcd")
    }

    /// Stops the API server as a restart of its pod does (SIGTERM) and waits for its end. Without
    /// effect when it is not running.
    pub async fn stop_apiserver(&self) -> anyhow::Result<()> {
        let Some(mut process) = self.running_apiserver().take() else { return Ok(()) };
        process.terminate()?;
        let end = async || process.exited();
        // On a timeout the process is dropped, and so killed.
        wait_until("the end of kube-apiserver", STOP_LIMIT, end).await.map(drop)
    }

    /// Stops the API server where it is for so long (SIGSTOP), and then ends it as it is (SIGKILL):
    /// requests that were under way get no response. Without effect when it is not running.
    pub async fn crash_apiserver(&self, stalled: Duration) -> anyhow::Result<()> {
        let Some(mut process) = self.running_apiserver().take() else { return Ok(()) };
        signal("STOP", &process.pid().to_string())?;
        pass(stalled).await;
        process.kill();
        Ok(())
    }

    /// Starts the API server, at the same address and with the same data as before, and waits until
    /// it is ready. An error if it is running.
    pub async fn start_apiserver(&self) -> anyhow::Result<()> {
        self.start_apiserver_with(&[]).await
    }

    /// The same with more flags, which this start alone has.
    pub async fn start_apiserver_with(&self, more: &[String]) -> anyhow::Result<()> {
        anyhow::ensure!(self.running_apiserver().is_none(), "kube-apiserver is running");
        let mut args = components::apiserver(&self.dir, &self.ports, &self.options);
        args.extend(self.options.apiserver_args.iter().chain(more).cloned());
        let mut process =
            self.spawn("kube-apiserver", &components::tool("kube-apiserver")?, args)?;
        ready(&mut process, &self.admin()?, "/readyz").await?;
        *self.running_apiserver() = Some(process);
        Ok(())
    }

    /// Leaves the cluster running when this program ends, until [`Cluster::stop_left`].
    pub fn leave(self) -> anyhow::Result<()> {
        let apiserver = self.running_apiserver().take();
        let processes = self.helpers.iter().chain(&apiserver).chain([&self.etcd]);
        let pids: Vec<_> =
            processes.map(|process| format!("{} {}", process.pid(), process.name())).collect();
        fs::write(self.dir.join(PIDS), pids.join("\n"))?;
        self.guard.dismiss();
        self.helpers.into_iter().chain(apiserver).chain([self.etcd]).for_each(Process::leave);
        Ok(())
    }

    /// Whether a cluster that was left running in this folder still is.
    pub fn is_left(dir: &Path) -> bool {
        left_pids(dir).next().is_some()
    }

    /// Ends a cluster that was left running and removes its folder. Any other folder is left
    /// alone, and having nothing to end is fine.
    pub async fn stop_left(dir: &Path) -> anyhow::Result<()> {
        for pid in left_pids(dir) {
            signal("KILL", &pid.to_string())?;
        }
        let end = async || Ok((!Self::is_left(dir)).then_some(()));
        wait_until("the end of the cluster", STOP_LIMIT, end).await?;
        // Only what `leave` has marked as a cluster's: the caller may have named any folder.
        if dir.join(PIDS).exists() {
            fs::remove_dir_all(dir)?;
        }
        Ok(())
    }

    /// Starts a process that ends with this cluster, its log in the cluster's folder.
    pub(crate) fn spawn(
        &self,
        name: &str,
        binary: &Path,
        args: Vec<String>,
    ) -> anyhow::Result<Process> {
        Process::spawn(name, binary, args, &self.dir, self.etcd.pid())
    }

    /// A client for another server of this cluster (a component's own port). A certificate that the
    /// cluster's CA did not sign is accepted.
    pub(crate) fn client_for(&self, url: &str, user: User) -> anyhow::Result<Client> {
        self.client_as(url, &Caller::User(user))
    }

    /// An admin's client that sends each request once: what is refused for now (429) is a response.
    pub fn admin_once(&self) -> anyhow::Result<Client> {
        let mut config = self.config(&self.url(), &Caller::User(User::Admin))?;
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    pub(crate) fn client_as(&self, url: &str, caller: &Caller) -> anyhow::Result<Client> {
        Ok(Client::try_from(self.config(url, caller)?)?)
    }

    fn config(&self, url: &str, caller: &Caller) -> anyhow::Result<Config> {
        // Not from the kubeconfig, so that a proxy in the environment has no say.
        let mut config = Config::new(url.parse()?);
        config.root_cert = Some(vec![self.pki.ca_der().to_vec()]);
        config.accept_invalid_certs = url != self.url();
        config.auth_info = match caller {
            Caller::Nobody => AuthInfo::default(),
            Caller::Token(token) => {
                AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() }
            }
            Caller::User(user) => {
                let identity = self.pki.identity(*user)?;
                let text = |path: PathBuf| path.into_os_string().into_string().ok();
                AuthInfo {
                    client_certificate: text(identity.cert),
                    client_key: text(identity.key),
                    ..AuthInfo::default()
                }
            }
        };
        Ok(config)
    }

    async fn start_components(&mut self) -> anyhow::Result<()> {
        // etcd first: if the API server's first attempt at it fails, the next one follows only
        // after a while.
        let etcd = self.client_for(&self.ports.etcd_url(), User::Admin)?;
        ready(&mut self.etcd, &etcd, "/readyz").await?;
        self.start_apiserver().await?;
        let args = components::scheduler(&self.ports, &self.pki)?;
        let binary = components::tool("kube-scheduler")?;
        let mut scheduler = self.spawn("kube-scheduler", &binary, args)?;
        let args = components::kwok(&self.ports, &self.pki)?;
        let mut kwok = self.spawn("kwok", &components::tool("kwok")?, args)?;
        let scheduler_client = self.client_for(&self.ports.scheduler_url(), User::Admin)?;
        let kwok_client = self.client_for(&self.ports.kwok_url(), User::Admin)?;
        tokio::try_join!(
            ready(&mut scheduler, &scheduler_client, "/readyz"),
            ready(&mut kwok, &kwok_client, "/readyz"),
        )?;
        self.helpers = vec![kwok, scheduler];
        Ok(())
    }

    async fn label_node(&self, name: &str, kind: Option<&str>) -> anyhow::Result<()> {
        let patch = json!({"metadata": {"labels": {"type": kind}}});
        let api = Api::<Node>::all(self.admin()?);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    fn running_apiserver(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.apiserver.lock().expect("nothing panics while it holds this")
    }
}

/// GET, with any response but 2xx an error.
pub(crate) async fn get(client: &Client, path: &str) -> anyhow::Result<String> {
    Ok(client.request_text(Request::get(path).body(Vec::new())?).await?)
}

/// Waits until the process returns 200 there; an error shows the end of its log.
pub(crate) async fn ready(
    process: &mut Process,
    client: &Client,
    path: &str,
) -> anyhow::Result<()> {
    let what = format!("{} to be ready", process.name());
    let answer = wait_until(&what, START_LIMIT, async || {
        if let Some(status) = process.exited()? {
            return Ok(Some(Err(anyhow!("{} ended with {status}", process.name()))));
        }
        get(client, path).await.map(|_| Some(Ok(())))
    });
    answer.await.flatten().with_context(|| process.log_tail())
}

fn temporary_dir() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("cluster-{}-{count}", std::process::id()))
}

fn node(name: &str) -> anyhow::Result<Node> {
    let capacity = json!({"cpu": "1k", "memory": "10Ti", "pods": "10k"});
    Ok(serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "labels": {"type": "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "status": {"capacity": capacity, "allocatable": capacity},
    }))?)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The processes of a cluster left in `dir` that run. A pid counts only while its command line
/// names the folder, as each component's does: the number may have been given to another process.
fn left_pids(dir: &Path) -> impl Iterator<Item = i32> {
    let pids = fs::read_to_string(dir.join(PIDS)).unwrap_or_default();
    let pids: Vec<i32> = pids
        .lines()
        .filter_map(|line| line.split_once(' ')?.0.parse().ok())
        .filter(|pid| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains(&*dir.to_string_lossy())
        })
        .collect();
    pids.into_iter()
}

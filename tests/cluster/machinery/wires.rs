//! Connections that go dead without a word.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const LIMIT: Duration = Duration::from_mins(1);
const LEASES: &str = "leases.v1.coordination.k8s.io";
const LEASE: &str = "kube-controller-manager";
/// The renew deadline is 10 s, a renewal comes every 2 s: a leader that has renewed so often
/// afterwards has done so over another connection.
const RENEWALS: usize = 8;

/// Half-open TCP, as after a firewall has forgotten its connections: nothing arrives any more, and
/// neither side is notified. A leader finds that out in time to renew its lease over a new
/// connection.
#[tokio::test]
async fn a_leader_outlives_its_connections() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let server = cluster.url().trim_start_matches("https://").to_owned();
    let cut = Arc::new(AtomicBool::new(false));
    let wire = wire(server.clone(), Arc::clone(&cut)).await?;
    let kubeconfig = fs::read_to_string(cluster.kubeconfig(User::ControllerManager)?)?;
    let path = cluster.dir().join("wire.kubeconfig");
    fs::write(&path, kubeconfig.replace(&server, &wire))?;
    let kubeconfig = format!("--kubeconfig={}", path.display());
    let args = ["--controllers=replicaset", "--leader-elect=true", &kubeconfig];
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, &args)?;
    manager.healthy().await?;
    // A new leader checks the health of the API server, and ends without a response, as upstream's
    // `WaitForAPIServer`.
    wait_until("a leader at work", LIMIT, async || {
        Ok(manager.log().contains("starting workers").then_some(()))
    })
    .await?;
    scene(&cluster, &cut).await.with_context(|| manager.log())
}

async fn scene(cluster: &Cluster, cut: &AtomicBool) -> anyhow::Result<()> {
    let objects = Objects::of(cluster, "kube-system")?;
    let holder = wait_until("a leader", LIMIT, async || {
        let lease = objects.find(LEASES, LEASE).await?;
        Ok(lease.map(|lease| lease["spec"]["holderIdentity"].clone()))
    })
    .await?;
    cut.store(true, Ordering::SeqCst);
    let mut renewals = BTreeSet::new();
    wait_until("renewals after the cut", LIMIT, async || {
        let spec = objects.get(LEASES, LEASE).await?["spec"].clone();
        ensure!(spec["holderIdentity"] == holder, "the leader is another one: {spec}");
        renewals.insert(spec["renewTime"].to_string());
        ensure!(renewals.len() > RENEWALS, "renewed at {renewals:?}");
        Ok(Some(()))
    })
    .await
}

/// Passes bytes on to `server`. Once it is cut, those connections that are open are dead, and new
/// ones are not. Returns its address.
async fn wire(server: String, cut: Arc<AtomicBool>) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    runtime::spawn("wire", async move {
        while let Ok((near, _)) = listener.accept().await {
            let Ok(far) = TcpStream::connect(&server).await else { continue };
            let cut = (!cut.load(Ordering::SeqCst)).then(|| Arc::clone(&cut));
            runtime::spawn("passing", pass(near, far, cut));
        }
    });
    Ok(address)
}

async fn pass(mut near: TcpStream, mut far: TcpStream, cut: Option<Arc<AtomicBool>>) {
    let is_cut = || cut.as_ref().is_some_and(|cut| cut.load(Ordering::SeqCst));
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let passed = tokio::select! {
            biased;
            Ok(size @ 1..) = near.read(&mut up) => {
                if is_cut() { Ok(()) } else { far.write_all(&up[..size]).await }
            }
            Ok(size @ 1..) = far.read(&mut down) => {
                if is_cut() { Ok(()) } else { near.write_all(&down[..size]).await }
            }
            else => return,
        };
        if passed.is_err() {
            return;
        }
    }
}

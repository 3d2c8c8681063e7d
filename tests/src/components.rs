//! Where the real components lie and the command line of each.

use crate::cluster::Options;
use crate::pki::Pki;
use anyhow::Context;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};

/// The path of a tool that `make cluster-tools` builds: `etcd`, `kube-apiserver`,
/// `kube-controller-manager`, `kube-scheduler`, `kubectl` or `kwok`. An error says how to build it.
pub fn tool(name: &str) -> anyhow::Result<PathBuf> {
    let path = repository()?.join("target/cluster-tools").join(name);
    anyhow::ensure!(path.exists(), "{} is missing: run `make cluster-tools`", path.display());
    Ok(path)
}

/// The root of the checkout that this package was built from.
pub(crate) fn repository() -> anyhow::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_owned)
        .context("the package lies in the repository")
}

/// The loopback ports of one cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    etcd: u16,
    etcd_peer: u16,
    apiserver: u16,
    scheduler: u16,
    kwok: u16,
}

impl Ports {
    /// Ports that are free now.
    pub(crate) fn free() -> anyhow::Result<Self> {
        Ok(Self {
            etcd: free_port()?,
            etcd_peer: free_port()?,
            apiserver: free_port()?,
            scheduler: free_port()?,
            kwok: free_port()?,
        })
    }

    /// Where etcd serves health checks.
    pub(crate) fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd)
    }

    /// Where the API server is.
    pub(crate) fn apiserver_url(&self) -> String {
        format!("https://127.0.0.1:{}", self.apiserver)
    }

    /// Where the scheduler serves health checks.
    pub(crate) fn scheduler_url(&self) -> String {
        format!("https://127.0.0.1:{}", self.scheduler)
    }

    /// Where kwok serves health checks.
    pub(crate) fn kwok_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.kwok)
    }
}

/// A port that nothing listens on. It is below the range that the kernel hands out to clients, so
/// that no connection takes it while its component is being restarted.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    // Test processes that run at the same time start apart.
    let start = u16::try_from(std::process::id() % 120)? * 100;
    (0..COUNT)
        .map(|_| TAKEN.fetch_add(1, Ordering::Relaxed) % COUNT)
        .map(|taken| FIRST + (start + taken) % COUNT)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .context("no free port")
}

/// `--name=value`.
pub(crate) fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

/// `--name=path`.
pub(crate) fn path_flag(name: &str, path: &Path) -> String {
    flag(name, path.display())
}

/// etcd, one member, forgetting what it had not written when the machine loses power.
pub(crate) fn etcd(dir: &Path, ports: &Ports) -> Vec<String> {
    let (client, peer) = (ports.etcd_url(), format!("http://127.0.0.1:{}", ports.etcd_peer));
    vec![
        "--name=etcd".into(),
        path_flag("data-dir", &dir.join("etcd")),
        flag("listen-client-urls", &client),
        flag("advertise-client-urls", &client),
        flag("listen-peer-urls", &peer),
        flag("initial-advertise-peer-urls", &peer),
        flag("initial-cluster", format!("etcd={peer}")),
        "--unsafe-no-fsync".into(),
        "--log-level=warn".into(),
    ]
}

/// The API server as kubeadm sets it up, without what needs a manager to be of use: pods need no
/// service account unless asked for, and a new node is not tainted until a manager calls it ready.
pub(crate) fn apiserver(dir: &Path, ports: &Ports, options: &Options) -> Vec<String> {
    let accounts = if options.service_accounts { "" } else { ",ServiceAccount" };
    vec![
        flag("etcd-servers", ports.etcd_url()),
        "--bind-address=127.0.0.1".into(),
        flag("secure-port", ports.apiserver),
        // A loopback address may not be an endpoint of the kubernetes Service: it has none.
        "--advertise-address=127.0.0.1".into(),
        "--endpoint-reconciler-type=none".into(),
        path_flag("cert-dir", dir),
        path_flag("tls-cert-file", &dir.join("apiserver.crt")),
        path_flag("tls-private-key-file", &dir.join("apiserver.key")),
        path_flag("client-ca-file", &dir.join("ca.crt")),
        path_flag("requestheader-client-ca-file", &dir.join("ca.crt")),
        "--requestheader-allowed-names=front-proxy-client".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        "--authorization-mode=Node,RBAC".into(),
        format!("--disable-admission-plugins=TaintNodesByCondition{accounts}"),
        "--enable-bootstrap-token-auth".into(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        path_flag("service-account-key-file", &dir.join("sa.pub")),
        path_flag("service-account-signing-key-file", &dir.join("sa.key")),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        // Otherwise open watches hold up the end of a stopped server for a minute.
        "--shutdown-watch-termination-grace-period=2s".into(),
    ]
}

/// The scheduler, fast enough to never be what a test waits for.
pub(crate) fn scheduler(ports: &Ports, pki: &Pki) -> anyhow::Result<Vec<String>> {
    let user = "system:kube-scheduler";
    Ok(vec![
        path_flag("kubeconfig", &pki.component_kubeconfig("kube-scheduler", user, "")?),
        "--leader-elect=false".into(),
        "--bind-address=127.0.0.1".into(),
        flag("secure-port", ports.scheduler),
        "--kube-api-qps=2000".into(),
        "--kube-api-burst=4000".into(),
    ])
}

/// kwok, which plays the kubelet of each node labelled `type=kwok` (see `cluster/stages.yaml`).
pub(crate) fn kwok(ports: &Ports, pki: &Pki) -> anyhow::Result<Vec<String>> {
    let stages = Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster/stages.yaml");
    Ok(vec![
        path_flag("kubeconfig", &pki.component_kubeconfig("kwok", "kwok", "system:masters")?),
        path_flag("config", &stages),
        "--manage-nodes-with-label-selector=type=kwok".into(),
        "--node-lease-duration-seconds=40".into(),
        "--node-ip=10.0.0.1".into(),
        "--cidr=10.128.0.0/9".into(),
        flag("server-address", format!("127.0.0.1:{}", ports.kwok)),
    ])
}

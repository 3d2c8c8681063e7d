//! Bootstrap tokens, what they sign, and requests that are over, on the real API server, with
//! upstream's roles. As upstream's test/e2e/lifecycle/bootstrap.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=bootstrap-signer-controller,token-cleaner-controller,\
     certificatesigningrequest-cleaner-controller"];
const TOKEN: &str = "bootstrap.kubernetes.io/token";
/// In Secrets and ConfigMaps that are none of the manager's business.
const HIDDEN: &str = "nobody-but-its-owner-reads-this-text";
/// In a token.
const KNOWN: &str = "knownsecret00000";
/// How much of a process is read at once.
const PIECE_BYTES: usize = 1 << 20;
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn bootstrap_tokens_sign_and_expire() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        the_cluster_info_is_signed(&cluster).await?;
        expired_tokens_are_deleted(&cluster).await?;
        silent(&cluster, &manager, [CALM; 2], |it| {
            ["secrets", "configmaps"].contains(&&*it.resource)
        })
        .await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

/// Issue: no other Secret is in memory. Others lie beside the tokens, before the manager starts and
/// while it runs, and nothing of them is ever in its process; what a token holds is.
#[tokio::test]
async fn no_other_secret_is_in_memory() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let system = Objects::of(&cluster, "kube-system")?;
    let other = Objects::in_new(&cluster, "other").await?;
    let hidden = async |objects: &Objects, name: &str| -> anyhow::Result<()> {
        let data = json!({"it": HIDDEN});
        let metadata = json!({"name": name});
        let secret = json!({"metadata": metadata, "type": "Opaque", "stringData": data});
        objects.create("secrets", &secret).await?;
        objects.create("configmaps", &json!({"metadata": metadata, "data": data})).await.map(drop)
    };
    for objects in [&system, &other] {
        hidden(objects, "before").await?;
    }
    let args = ["--controllers=bootstrap-signer-controller,token-cleaner-controller"];
    let mut manager = Manager::start(&cluster, Binary::Ours, User::ControllerManager, &args)?;
    manager.healthy().await?;
    let run = async {
        for objects in [&system, &other] {
            hidden(objects, "after").await?;
        }
        let info = json!({"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": "payload"}});
        Objects::of(&cluster, "kube-public")?.create("configmaps", &info).await?;
        let mut held = token("held00", TOKEN, &json!({"usage-bootstrap-signing": "true"}));
        held["stringData"]["token-secret"] = KNOWN.into();
        system.create("secrets", &held).await?;
        let public = Objects::of(&cluster, "kube-public")?;
        let is_signed = |info: &Value| info["data"]["jws-kubeconfig-held00"].is_string();
        public.wait("configmaps", "cluster-info", "to be signed", is_signed).await?;
        ensure!(
            is_in_memory(manager.pid(), KNOWN)?,
            "a token is, so the search finds what there is"
        );
        ensure!(!is_in_memory(manager.pid(), HIDDEN)?, "another Secret or ConfigMap is in memory");
        anyhow::Ok(())
    };
    run.await.with_context(|| manager.log())
}

/// Whether a text is in what a process can write to.
fn is_in_memory(pid: i32, text: &str) -> anyhow::Result<bool> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    for line in maps.lines() {
        let mut words = line.split(' ');
        let (range, rights) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let Some((start, end)) = range.split_once('-').filter(|_| rights.starts_with("rw")) else {
            continue;
        };
        let (mut start, end) = (u64::from_str_radix(start, 16)?, u64::from_str_radix(end, 16)?);
        let mut piece = vec![0; PIECE_BYTES];
        while start < end {
            // Some of it cannot be read, such as what the kernel keeps for itself.
            let Ok(count @ 1..) = memory.read_at(&mut piece, start) else { break };
            let seen = usize::try_from(end - start)?.min(count);
            if piece[..seen].windows(text.len()).any(|it| it == text.as_bytes()) {
                return Ok(true);
            }
            // A text may lie across two pieces.
            let is_last = seen < PIECE_BYTES;
            start += u64::try_from(if is_last { seen } else { seen - text.len() })?;
        }
    }
    Ok(false)
}

/// "should sign the new added bootstrap tokens", "should resign the bootstrap tokens when the
/// clusterInfo ConfigMap updated", "should delete the signed bootstrap tokens from clusterInfo
/// ConfigMap when bootstrap token is deleted". The first signature is that of `TestSimpleSign`.
async fn the_cluster_info_is_signed(cluster: &Cluster) -> anyhow::Result<()> {
    let (public, system) =
        (Objects::of(cluster, "kube-public")?, Objects::of(cluster, "kube-system")?);
    let data = json!({"kubeconfig": "payload", "jws-kubeconfig-old000": "stale", "other": "stays"});
    let info = json!({"metadata": {"name": "cluster-info"}, "data": data});
    public.create("configmaps", &info).await?;
    let more = json!({"usage-bootstrap-signing": "true"});
    system.create("secrets", &token("abc123", TOKEN, &more)).await?;
    let signature = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiYzEyMyJ9..\
                     QSxpUG7Q542CirTI2ECPSZjvBOJURUW5a7XqFpNI958";
    let signed = json!({"kubeconfig": "payload", "jws-kubeconfig-abc123": signature,
        "other": "stays"});
    let is_signed = |info: &Value| info["data"] == signed;
    public.wait("configmaps", "cluster-info", "to be signed", is_signed).await?;
    let change = json!({"data": {"kubeconfig": "other"}});
    public.merge("configmaps", "cluster-info", &change).await?;
    let is_new = |info: &Value| {
        let now = &info["data"]["jws-kubeconfig-abc123"];
        now.is_string() && now != signature
    };
    public.wait("configmaps", "cluster-info", "to be signed again", is_new).await?;
    system.delete("secrets", "bootstrap-token-abc123").await?;
    let is_bare = |info: &Value| info["data"] == json!({"kubeconfig": "other", "other": "stays"});
    public.wait("configmaps", "cluster-info", "to lose its signature", is_bare).await.map(drop)
}

/// "should delete the token secret when the secret expired", "should not delete the token secret
/// when the secret is not expired". A Secret of another type is none of its business.
async fn expired_tokens_are_deleted(cluster: &Cluster) -> anyhow::Result<()> {
    let system = Objects::of(cluster, "kube-system")?;
    let (past, future) = ("2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z");
    for (id, kind, expiration) in [
        ("future", TOKEN, future),
        ("opaque", "Opaque", past),
        ("passed", TOKEN, past),
        ("broken", TOKEN, "tomorrow"),
    ] {
        let secret = token(id, kind, &json!({ "expiration": expiration }));
        system.create("secrets", &secret).await?;
    }
    system.gone("secrets", "bootstrap-token-passed").await?;
    system.gone("secrets", "bootstrap-token-broken").await?;
    system.get("secrets", "bootstrap-token-future").await?;
    system.get("secrets", "bootstrap-token-opaque").await.map(drop)
}

fn token(id: &str, kind: &str, more: &Value) -> Value {
    let mut data = more.clone();
    data["token-id"] = json!(id);
    data["token-secret"] = json!("tokenSecret");
    json!({"metadata": {"name": format!("bootstrap-token-{id}")}, "type": kind,
        "stringData": data})
}

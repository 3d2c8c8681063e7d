//! What `kube-leader-election` does in the contest, and why the lock of the product is its own
//! (decision 0008). Should one of these fail, the crate has become better: read that decision
//! again.

use super::{allow_contenders, now, rest};
use anyhow::{Context, ensure};
use cluster_tests::{AuditLog, Cluster, Contest, Options, User};
use futures::future::{join, select};
use http::{Request, Response};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use kube_leader_election::{Error, LeaseLock, LeaseLockParams, LeaseLockResult};
use serde_json::{Value, json};
use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;
use tower::service_fn;

const NAMESPACE: &str = "kube-system";
const LEASE: &str = "contest";
const TIME_TO_LIVE: Duration = Duration::from_secs(3);
/// 2 of 15 parts of the lease, as upstream has it.
const RETRY: Duration = Duration::from_millis(400);
const BEAT: Duration = Duration::from_millis(40);
const ROUNDS: usize = 5;
/// How long the first contender is alone, and how long both are there.
const ALONE: Duration = Duration::from_millis(1200);
const TOGETHER: Duration = Duration::from_secs(2);

/// A contender that elects by the crate, as its documentation says, and writes while it leads.
struct Contender {
    user: User,
    /// By how much its wall clock is ahead.
    ahead: SignedDuration,
}

/// Decision 0008: it patches, and `system:kube-controller-manager` may get, create and update.
#[tokio::test]
async fn the_library_cannot_renew_under_the_bootstrap_roles() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let lock = lock(cluster.client(User::ControllerManager)?, "manager");
    let first = lock.try_acquire_or_renew().await?;
    ensure!(matches!(first, LeaseLockResult::Acquired(_)), "it made the Lease: {first:?}");
    for _ in 0..3 {
        match lock.try_acquire_or_renew().await {
            Err(Error::RenewLease(kube::Error::Api(status))) if status.code == 403 => {}
            other => anyhow::bail!("a renewal was answered with {other:?}"),
        }
    }
    Ok(())
}

/// Decision 0008: it compares `renewTime` with its own clock, and takes a lease that is held.
#[tokio::test]
async fn the_library_takes_leases_that_are_held() -> anyhow::Result<()> {
    let apiserver_args = AuditLog::apiserver_args();
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    let admin = cluster.admin()?;
    allow_contenders(admin.clone()).await?;
    let note = json!({"metadata": {"name": "note"}});
    let notes = Api::<ConfigMap>::default_namespaced(admin.clone());
    notes.create(&PostParams::default(), &serde_json::from_value(note)?).await?;
    for round in 0..ROUNDS {
        let right = Contender::new(0, round, SignedDuration::ZERO);
        let ahead = Contender::new(1, round, SignedDuration::from_hours(1));
        let late = async {
            rest(ALONE).await;
            ahead.contend(&cluster).await
        };
        let both = pin!(join(right.contend(&cluster), late));
        select(both, pin!(rest(ALONE + TOGETHER))).await;
        let leases = Api::<Lease>::namespaced(admin.clone(), NAMESPACE);
        leases.delete(LEASE, &DeleteParams::default()).await?;
        // What was claimed is over, so that the next round begins with nothing.
        rest(TIME_TO_LIVE).await;
    }
    let mut contest = Contest::default();
    contest.add(AuditLog::of(&cluster).news()?);
    let verdict = contest.judge();
    let work: usize = verdict.counts.values().map(|counts| counts.work).sum();
    let (outside, early) = (verdict.outside.len(), verdict.early.len());
    println!(
        "kube-leader-election: {ROUNDS} rounds, a clock an hour ahead: {early} leases taken from \
         their holders, {outside} of {work} writes while another contender held the lease"
    );
    // Once in each round, and more often if the other one renews what is no longer its own.
    ensure!(early >= ROUNDS, "{early} early claims");
    ensure!(outside > 0, "no write outside of its time");
    Ok(())
}

fn lock(client: Client, holder: &str) -> LeaseLock {
    let params = LeaseLockParams {
        holder_id: holder.to_owned(),
        lease_name: LEASE.to_owned(),
        lease_ttl: TIME_TO_LIVE,
    };
    LeaseLock::new(client, NAMESPACE, params)
}

// === impl Contender ===

impl Contender {
    fn new(number: usize, life: usize, ahead: SignedDuration) -> Self {
        Self { user: User::Contender { number, life }, ahead }
    }

    /// Elects and writes until it is dropped.
    async fn contend(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let client = cluster.client(self.user)?;
        let lock = lock(shifted(client.clone(), self.ahead), &self.user.name());
        let notes = Api::<ConfigMap>::default_namespaced(client);
        let leads = Cell::new(false);
        let elects = async {
            loop {
                let begun = now();
                let result = lock.try_acquire_or_renew().await;
                leads.set(matches!(result, Ok(LeaseLockResult::Acquired(_))));
                rest(RETRY.saturating_sub(now() - begun)).await;
            }
        };
        let writes = async {
            loop {
                if leads.get() {
                    let patch = Patch::Merge(json!({"data": {"by": self.user.name()}}));
                    // What is refused is a write as well.
                    drop(notes.patch("note", &PatchParams::default(), &patch).await);
                }
                rest(BEAT).await;
            }
        };
        match join(elects, writes).await {}
    }
}

/// A client for which all clocks but its own are behind by `ahead`: the same to it as if its own
/// were ahead. The process has one clock, which the crate reads itself.
fn shifted(client: Client, ahead: SignedDuration) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = shift(&body.collect_bytes().await?, ahead)?;
            let answer = client.send(Request::from_parts(head, Body::from(body))).await?;
            let (mut head, body) = answer.into_parts();
            head.headers.remove(http::header::CONTENT_LENGTH);
            let body = shift(&body.collect_bytes().await?, -ahead)?;
            anyhow::Ok(Response::from_parts(head, Body::from(body)))
        }
    });
    Client::new(service, NAMESPACE)
}

/// The same body with other times of a Lease.
fn shift(body: &[u8], by: SignedDuration) -> anyhow::Result<Vec<u8>> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let mut object: Value = serde_json::from_slice(body).context("a body")?;
    for field in ["acquireTime", "renewTime"] {
        if let Some(time) = object["spec"].get_mut(field) {
            let read: Timestamp = time.as_str().context(field)?.parse()?;
            *time = format!("{:.6}", read + by).into();
        }
    }
    Ok(serde_json::to_vec(&object)?)
}

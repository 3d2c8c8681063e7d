//! Requests for certificates that are over, on the real API server, with upstream's roles, beside
//! upstream's manager: of the same requests both leave the same. Those of pods as upstream's
//! TestCleanerController (test/integration/podcertificaterequests), which has a threshold of its
//! own; here the requests are made older where etcd has them.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, Request, User, certificate_request, none_forbidden,
    pod_certificate_request, silent, since, wait_until,
};
use serde_json::{Value, json};

const REQUESTS: &str = "certificatesigningrequests.v1.certificates.k8s.io";
const OF_PODS: &str = "podcertificaterequests.v1beta1.certificates.k8s.io";
const LONG_AGO: &str = "2020-01-01T00:00:00Z";
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);
/// Upstream looks once when it starts, and then minutes or an hour later: it is to start when its
/// caches are filled.
const LATER: &str = "--controller-start-interval=3s";
const BOTH: [Binary; 2] = [Binary::Upstream, Binary::Ours];
const LIMIT: Duration = Duration::from_mins(1);

/// TestCleanerController; one that is young stays.
#[tokio::test]
async fn requests_of_pods_are_deleted() -> anyhow::Result<()> {
    let gate = "--feature-gates=PodCertificateRequest=true";
    let served = "--runtime-config=certificates.k8s.io/v1beta1=true";
    let apiserver_args = vec![gate.to_owned(), served.to_owned()];
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    let objects = Objects::in_new(&cluster, "pods").await?;
    objects.create(OF_PODS, &pod_certificate_request("young")?).await?;
    let args = ["--controllers=podcertificaterequest-cleaner-controller", gate, LATER];
    for binary in BOTH {
        objects.create(OF_PODS, &pod_certificate_request("old")?).await?;
        grow_old(&cluster, &objects, OF_PODS, "old").await?;
        let requests = cluster.request_counts().await?;
        let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &args)?;
        manager.healthy().await?;
        let run = async {
            wait_until("the old request to be deleted", LIMIT, async || {
                Ok(objects.find(OF_PODS, "old").await?.is_none().then_some(()))
            })
            .await?;
            silent(&cluster, &manager, [CALM; 2], |it| it.resource == "podcertificaterequests")
                .await?;
            objects.get(OF_PODS, "young").await?;
            none_forbidden(&since(&requests, &cluster.request_counts().await?))
        };
        run.await.with_context(|| manager.log())?;
    }
    Ok(())
}

/// TestCleanerWithApprovedExpiredCSR, its rows without a certificate.
#[tokio::test]
async fn requests_that_are_over_are_deleted() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let all = Objects::of(&cluster, "")?;
    let args = ["--controllers=certificatesigningrequest-cleaner-controller", LATER];
    for binary in BOTH {
        let now = make(&cluster, &all).await?;
        let requests = cluster.request_counts().await?;
        let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &args)?;
        manager.healthy().await?;
        let run = async {
            for name in ["pending-long", "denied-long", "failed-long", "approved-long"] {
                all.gone(REQUESTS, name).await?;
            }
            let of_it = |it: &Request| it.resource == "certificatesigningrequests";
            silent(&cluster, &manager, [CALM; 2], of_it).await?;
            let left = all.list(REQUESTS).await?;
            let names = left.iter().filter_map(|it| it["metadata"]["name"].as_str());
            let names: Vec<_> = names.collect();
            let stay =
                ["approved-now", "denied-long-ago-made", "denied-now", "failed-now", "pending"];
            ensure!(names == stay, "{binary:?}: {names:?} are left, since {now}");
            none_forbidden(&since(&requests, &cluster.request_counts().await?))?;
            for name in stay {
                all.delete(REQUESTS, name).await?;
            }
            anyhow::Ok(())
        };
        run.await.with_context(|| manager.log())?;
    }
    Ok(())
}

/// Requests in all states, decided now, or long ago. Returns what counts as now.
async fn make(cluster: &Cluster, all: &Objects) -> anyhow::Result<String> {
    let made = request(all, "pending").await?;
    let now = made["metadata"]["creationTimestamp"].as_str().context("a time")?.to_owned();
    request(all, "pending-long").await?;
    grow_old(cluster, all, REQUESTS, "pending-long").await?;
    for (name, kind, at) in [
        ("denied-long", "Denied", LONG_AGO),
        ("denied-now", "Denied", &*now),
        ("denied-long-ago-made", "Denied", &now),
        ("failed-long", "Failed", LONG_AGO),
        ("failed-now", "Failed", &now),
        ("approved-long", "Approved", LONG_AGO),
        ("approved-now", "Approved", &now),
    ] {
        let mut request = request(all, name).await?;
        let condition = json!({"type": kind, "status": "True", "reason": "Test",
            "lastUpdateTime": at});
        request["status"]["conditions"] = json!([condition]);
        let sub = if kind == "Failed" { "status" } else { "approval" };
        all.replace(REQUESTS, &format!("{name}/{sub}"), &request).await?;
    }
    grow_old(cluster, all, REQUESTS, "denied-long-ago-made").await?;
    Ok(now)
}

async fn request(all: &Objects, name: &str) -> anyhow::Result<Value> {
    let request = certificate_request("jane", &[], &[])?;
    let spec = json!({"request": request, "signerName": "example.com/signer",
        "usages": ["digital signature", "client auth"]});
    all.create(REQUESTS, &json!({"metadata": {"name": name}, "spec": spec})).await
}

/// As if it had been made long ago, which no request can say.
async fn grow_old(
    cluster: &Cluster,
    objects: &Objects,
    resource: &str,
    name: &str,
) -> anyhow::Result<()> {
    let mut object = objects.get(resource, name).await?;
    let metadata = &mut object["metadata"];
    metadata["creationTimestamp"] = LONG_AGO.into();
    metadata["resourceVersion"] = Value::Null;
    let plural = resource.split('.').next().unwrap_or_default();
    let place = match metadata["namespace"].as_str() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    };
    cluster.store(&format!("/registry/{plural}/{place}"), &object).await?;
    let is_old = |object: &Value| object["metadata"]["creationTimestamp"] == LONG_AGO;
    objects.wait(resource, name, "to be old", is_old).await.map(drop)
}

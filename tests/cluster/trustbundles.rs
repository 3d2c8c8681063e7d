//! The authority of the API server as a ClusterTrustBundle, on the real API server, with upstream's
//! roles. As TestClusterTrustBundlesPublisherController of upstream's
//! test/integration/clustertrustbundles/apiserversigner_test.go.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since, wait_until,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

const BUNDLES: &str = "clustertrustbundles.v1beta1.certificates.k8s.io";
const SIGNER: &str = "kubernetes.io/kube-apiserver-serving";
const GATE: &str = "--feature-gates=ClusterTrustBundle=true";
const SERVED: &str = "--runtime-config=certificates.k8s.io/v1beta1=true";
const ARGS: [&str; 2] =
    ["--controllers=kube-apiserver-serving-clustertrustbundle-publisher-controller", GATE];
const LIMIT: Duration = Duration::from_secs(30);
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn the_authority_of_the_api_server_is_published() -> anyhow::Result<()> {
    let apiserver_args = [GATE, SERVED].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    let all = Objects::of(&cluster, "")?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        let content = authority("unrelated")?;
        let unrelated = bundle("test.test:unrelated:0", "test.test/unrelated", &content);
        let unrelated = all.create(BUNDLES, &unrelated).await?;
        let first = published(&cluster, &all).await?;
        let other = bundle("kubernetes.io:kube-apiserver-serving:other", SIGNER, &authority("x")?);
        all.create(BUNDLES, &other).await?;
        all.gone(BUNDLES, "kubernetes.io:kube-apiserver-serving:other").await?;
        let change = json!({"spec": {"trustBundle": authority("different")?}});
        let name = first["metadata"]["name"].as_str().context("a name")?;
        all.merge(BUNDLES, name, &change).await?;
        let again = published(&cluster, &all).await?;
        ensure!(again["metadata"]["uid"] == first["metadata"]["uid"], "it is put right: {again}");
        all.delete(BUNDLES, name).await?;
        published(&cluster, &all).await?;
        ensure!(all.get(BUNDLES, "test.test:unrelated:0").await? == unrelated, "it is unrelated");
        let is_bundle = |resource: &str| resource == "clustertrustbundles";
        silent(&cluster, &manager, [CALM; 2], |it| is_bundle(&it.resource)).await?;
        counted(&manager).await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

/// `TestClusterTrustBundlePublisherController` in app/certificates_test.go: where the API server
/// does not serve the kind, the manager runs all the same, and writes nothing.
#[tokio::test]
async fn an_api_server_without_bundles_is_no_failure() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &ARGS)?;
    manager.healthy().await?;
    let run = async {
        silent(&cluster, &manager, [CALM; 2], |it| it.resource == "clustertrustbundles").await
    };
    run.await.with_context(|| manager.log())
}

/// Waits until the signer has one bundle, with the authority.
async fn published(cluster: &Cluster, all: &Objects) -> anyhow::Result<Value> {
    let content = fs::read_to_string(cluster.ca_path())?;
    wait_until("one bundle, with the authority", LIMIT, async || {
        let bundles = all.list(BUNDLES).await?;
        let mut own = bundles.into_iter().filter(|it| it["spec"]["signerName"] == SIGNER);
        let (first, second) = (own.next(), own.next());
        let is_right = |it: &Value| it["spec"]["trustBundle"] == *content;
        Ok(first.filter(|it| second.is_none() && is_right(it)))
    })
    .await
}

/// The syncs that went well show in the metric.
async fn counted(manager: &Manager) -> anyhow::Result<()> {
    let page = manager.get("/metrics").await?;
    let series = "clustertrustbundle_publisher_sync_total{code=\"200\"} ";
    let count =
        page.lines().find_map(|line| line.strip_prefix(series)).context("no such series")?;
    ensure!(count.parse::<f64>()? >= 3.0, "{count} syncs");
    ensure!(
        page.contains("clustertrustbundle_publisher_sync_duration_seconds_count{code=\"200\"}")
    );
    Ok(())
}

fn bundle(name: &str, signer: &str, content: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"signerName": signer, "trustBundle": content}})
}

/// The certificate of a new authority.
fn authority(name: &str) -> anyhow::Result<String> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok(params.self_signed(&KeyPair::generate()?)?.pem())
}

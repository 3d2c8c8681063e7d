//! The harness itself, on real components: what the other cluster tests take for granted.

use anyhow::Context;
use cluster_tests::{Binary, Cluster, Manager, Options, User, since, tool, wait_until, writes};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn cluster_works_and_leaves_nothing_behind() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
    let (dir, url) = (cluster.dir().to_owned(), cluster.url());
    nodes_are_ready(&cluster).await?;
    pods_live_and_die(&cluster).await?;
    pods_end_as_their_annotations_say(&cluster).await?;
    controllers_have_their_roles_only(&cluster).await?;
    apiserver_restarts(&cluster).await?;
    upstreams_manager_runs(&cluster).await?;

    drop(cluster);
    assert_eq!(dir.exists(), std::env::var_os("CLUSTER_KEEP").is_some());
    let address = url.strip_prefix("https://").context("the URL's scheme")?;
    TcpStream::connect(address).expect_err("the API server is gone");
    Ok(())
}

#[tokio::test]
async fn failed_start_names_the_component_and_shows_its_log() {
    let apiserver_args = vec!["--no-such-flag".to_owned()];
    let started = Cluster::start(Options { apiserver_args, ..Options::default() }).await;
    let error = format!("{:#}", started.err().expect("an unknown flag is refused"));
    assert!(error.contains("kube-apiserver ended with exit status: 1"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}

async fn nodes_are_ready(cluster: &Cluster) -> anyhow::Result<()> {
    let nodes = Api::<Node>::all(cluster.admin()?);
    assert_eq!(nodes.list(&ListParams::default()).await?.items.len(), 3);
    assert_eq!(cluster.add_nodes(1).await?, ["node-3"]);
    Ok(())
}

async fn pods_live_and_die(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create_namespace("lives").await?;
    let pods = Api::<Pod>::namespaced(cluster.admin()?, "lives");
    let before = cluster.request_counts().await?;
    pods.create(&PostParams::default(), &pod("bare", json!({}))?).await?;
    let ready = wait_for(&pods, "bare", |pod| condition(pod, "Ready") == "True").await?;
    let status = ready.status.context("a status")?;
    assert!(ready.spec.and_then(|spec| spec.node_name).is_some_and(|n| n.starts_with("node-")));
    assert_eq!(status.phase.as_deref(), Some("Running"));
    assert!(status.pod_ip.is_some_and(|ip| ip.starts_with("10.")));

    pods.delete("bare", &DeleteParams::default()).await?;
    wait_until("the end of the pod", LIMIT, async || {
        Ok(pods.get_opt("bare").await?.is_none().then_some(()))
    })
    .await?;
    let made = since(&before, &cluster.request_counts().await?);
    assert_eq!(writes(&made, |r| r.resource == "pods" && r.verb == "POST"), 1);
    // This one and the fake kubelet's.
    assert_eq!(writes(&made, |r| r.resource == "pods" && r.verb == "DELETE"), 2);
    assert_eq!(writes(&made, |r| r.resource == "pods/binding"), 1);
    Ok(())
}

async fn pods_end_as_their_annotations_say(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create_namespace("ends").await?;
    let pods = Api::<Pod>::namespaced(cluster.admin()?, "ends");
    let outcome = |value: &str| json!({"annotations": {"cluster-tests/outcome": value}});
    let job = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "1"}]);
    let mut kept = outcome("running");
    kept["ownerReferences"] = job.clone();
    let all = [
        ("unready", outcome("unready")),
        ("failed", outcome("failed")),
        ("of-job", json!({"ownerReferences": job})),
        ("kept", kept),
    ];
    for (name, metadata) in all {
        pods.create(&PostParams::default(), &pod(name, metadata)?).await?;
    }
    wait_for(&pods, "failed", |pod| phase(pod) == "Failed").await?;
    wait_for(&pods, "of-job", |pod| phase(pod) == "Succeeded").await?;
    wait_for(&pods, "kept", |pod| condition(pod, "Ready") == "True").await?;
    wait_for(&pods, "unready", |pod| condition(pod, "Ready") == "False").await?;
    // The annotation may change, in both directions.
    for (value, ready) in [("running", "True"), ("unready", "False")] {
        let patch = Patch::Merge(json!({"metadata": outcome(value)}));
        pods.patch("unready", &PatchParams::default(), &patch).await?;
        wait_for(&pods, "unready", |pod| condition(pod, "Ready") == ready).await?;
    }
    Ok(())
}

async fn controllers_have_their_roles_only(cluster: &Cluster) -> anyhow::Result<()> {
    let user = User::ServiceAccount("replicaset-controller");
    let kubeconfig = cluster.kubeconfig(user)?;
    let kubectl = |args: &[&str]| {
        let mut command = Command::new(tool("kubectl")?);
        Ok::<_, anyhow::Error>(command.arg("--kubeconfig").arg(&kubeconfig).args(args).output()?)
    };
    assert!(kubectl(&["get", "pods", "-A"])?.status.success());
    let refused = String::from_utf8(kubectl(&["get", "secrets", "-A"])?.stderr)?;
    let name = "system:serviceaccount:kube-system:replicaset-controller";
    assert!(refused.contains("(Forbidden)") && refused.contains(name), "{refused}");

    let pods = Api::<Pod>::all(cluster.client(user)?);
    pods.list(&ListParams::default()).await?;
    Ok(())
}

async fn apiserver_restarts(cluster: &Cluster) -> anyhow::Result<()> {
    let version = |client: Client| async move { client.apiserver_version().await };
    cluster.stop_apiserver().await?;
    version(cluster.admin()?).await.expect_err("it is stopped");
    cluster.start_apiserver().await?;
    assert_eq!(version(cluster.admin()?).await?.git_version, "v1.36.3");
    cluster.start_apiserver().await.expect_err("it runs");
    // kwok and the scheduler have found it again.
    let pods = Api::<Pod>::namespaced(cluster.admin()?, "lives");
    pods.create(&PostParams::default(), &pod("later", json!({}))?).await?;
    wait_for(&pods, "later", |pod| condition(pod, "Ready") == "True").await?;
    Ok(())
}

async fn upstreams_manager_runs(cluster: &Cluster) -> anyhow::Result<()> {
    let (binary, user) = (Binary::Upstream, User::ControllerManager);
    let mut manager = Manager::start(cluster, binary, user, &["--controllers=ttl-controller"])?;
    manager.healthy().await?;
    // It writes as the service account of its controller.
    let nodes = Api::<Node>::all(cluster.admin()?);
    wait_until("the ttl annotation", LIMIT, async || {
        let annotations = nodes.get("node-0").await?.metadata.annotations.unwrap_or_default();
        Ok(annotations.contains_key("node.alpha.kubernetes.io/ttl").then_some(()))
    })
    .await?;
    assert!(manager.get("/metrics").await?.contains("workqueue_adds_total"));
    assert!(manager.log().contains("Starting TTL controller"));
    assert!(manager.rss_kib()? > 10_000 && manager.peak_rss_kib()? >= manager.rss_kib()?);
    assert!(manager.cpu_seconds()? > 0.0);
    manager.sigterm()?;
    manager.ended(LIMIT).await?;
    Ok(())
}

/// A pod that any node can run, with more metadata than its name.
fn pod(name: &str, mut metadata: Value) -> anyhow::Result<Pod> {
    metadata["name"] = name.into();
    let spec = json!({"containers": [{"name": "app", "image": "app"}]});
    Ok(serde_json::from_value(json!({"metadata": metadata, "spec": spec}))?)
}

async fn wait_for(
    pods: &Api<Pod>,
    name: &str,
    wanted: impl Fn(&Pod) -> bool,
) -> anyhow::Result<Pod> {
    let probe = async || Ok(Some(pods.get(name).await?).filter(&wanted));
    wait_until(&format!("pod {name}"), LIMIT, probe).await
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> &'a str {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut found = conditions.filter(|condition| condition.type_ == kind);
    found.next().map(|condition| condition.status.as_str()).unwrap_or_default()
}

//! ResourceQuotas on the real API server: upstream's integration tests
//! (test/integration/quota), and a quota that stays exact while objects of many kinds come and go.

mod churn;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, Queues, User, none_forbidden, since, status_code,
    wait_until, writes,
};
use serde_json::{Value, json};

/// Upstream's finds a new kind in a quota only at its next resync.
const ARGS: &[&str] = &[
    "--controllers=resourcequota-controller,replicationcontroller-controller,\
     persistentvolumeclaim-protection-controller",
    "--resource-quota-sync-period=5s",
];
const QUOTAS: &str = "resourcequotas";
const LIMIT: Duration = Duration::from_secs(90);
/// So many come within some three periods.
const LOOKS: u64 = 15;
/// Pods can only be created where a quota counts them.
const LIMITED: &str = "apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources: [{resource: pods, matchContains: [pods]}]
";

#[tokio::test]
async fn quotas_are_exact() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        a_quota_does_not_hold_up_a_controller(&cluster).await?;
        services_are_limited(&cluster).await?;
        pods_are_counted_as_they_are_written(&cluster).await?;
        churn::objects_come_and_go(&cluster).await?;
        let mut made = since(&requests, &cluster.request_counts().await?);
        // What a quota refuses is forbidden, too.
        made.retain(|request, _| request.verb != "POST");
        none_forbidden(&made)?;
        then_none_is_written(&cluster, &manager).await
    };
    run.await.with_context(|| manager.log())
}

/// Quotas are looked at again and again here, so the queues are never quiet.
async fn then_none_is_written(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    looks(manager).await?;
    let requests = cluster.request_counts().await?;
    looks(manager).await?;
    let made = since(&requests, &cluster.request_counts().await?);
    ensure!(writes(&made, |it| it.resource.starts_with(QUOTAS)) == 0, "{made:?}");
    Ok(())
}

/// Waits until the manager has looked at quotas some more times.
async fn looks(manager: &Manager) -> anyhow::Result<()> {
    let looks = async || {
        let adds = Queues::of(manager).await?.adds;
        adds.get("resourcequota_primary").copied().context("no queue of quotas")
    };
    let before = looks().await?;
    wait_until("more looks at quotas", LIMIT, async || {
        Ok((looks().await? >= before + LOOKS).then_some(()))
    })
    .await
}

/// TestQuotaLimitedResourceDenial.
#[tokio::test]
async fn what_is_limited_needs_a_quota() -> anyhow::Result<()> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limited-pods.yaml");
    std::fs::write(&file, LIMITED)?;
    let apiserver_args = vec![format!("--admission-control-config-file={}", file.display())];
    let options = Options { apiserver_args, ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        let objects = Objects::in_new(&cluster, "limited").await?;
        let pod = pod("foo", &json!({}));
        refused(&objects, "pods", &pod).await?;
        make(&objects, &json!({"pods": "1k", "count/pods": "1k"})).await?;
        objects.create("pods", &pod).await?;
        uses(&objects, &json!({"pods": "1", "count/pods": "1"})).await
    };
    run.await.with_context(|| manager.log())
}

/// TestQuota: a hundred pods, with a quota as without.
async fn a_quota_does_not_hold_up_a_controller(cluster: &Cluster) -> anyhow::Result<()> {
    let template = json!({"metadata": {"labels": {"foo": "bar"}},
        "spec": {"containers": [{"name": "container", "image": "busybox"}]}});
    let spec = json!({"replicas": 100, "selector": {"foo": "bar"}, "template": template});
    let controller = json!({"metadata": {"name": "foo"}, "spec": spec});
    for namespace in ["non-quotaed", "quotaed"] {
        let objects = Objects::in_new(cluster, namespace).await?;
        if namespace == "quotaed" {
            make(&objects, &json!({"pods": "1k"})).await?;
        }
        objects.create("replicationcontrollers", &controller).await?;
        let is_so = |it: &Value| it["status"]["replicas"] == 100;
        objects.wait("replicationcontrollers", "foo", "to have its pods", is_so).await?;
        if namespace == "quotaed" {
            uses(&objects, &json!({"pods": "100"})).await?;
        }
        objects.merge("replicationcontrollers", "foo", &json!({"spec": {"replicas": 3}})).await?;
        if namespace == "quotaed" {
            uses(&objects, &json!({"pods": "3"})).await?;
        }
    }
    Ok(())
}

/// TestQuotaLimitService.
async fn services_are_limited(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "limit-services").await?;
    let hard = json!({"services": "4", "services.nodeports": "2", "services.loadbalancers": "2"});
    make(&objects, &hard).await?;
    let service = |name: &str, kind: &str, takes_ports: bool| {
        let mut spec = json!({"type": kind, "ports": [{"port": 80}]});
        if kind == "LoadBalancer" {
            spec["allocateLoadBalancerNodePorts"] = takes_ports.into();
        }
        json!({"metadata": {"name": name}, "spec": spec})
    };
    let used = |services: &str, ports: &str, balancers: &str| {
        json!({"services": services, "services.nodeports": ports,
            "services.loadbalancers": balancers})
    };
    objects.create("services", &service("np-svc", "NodePort", true)).await?;
    objects.create("services", &service("lb-svc-withnp1", "LoadBalancer", true)).await?;
    uses(&objects, &used("2", "2", "1")).await?;
    refused(&objects, "services", &service("lb-svc-withnp2", "LoadBalancer", true)).await?;
    objects.create("services", &service("lb-svc-wonp1", "LoadBalancer", false)).await?;
    uses(&objects, &used("3", "2", "2")).await?;
    refused(&objects, "services", &service("lb-svc-wonp2", "LoadBalancer", false)).await?;
    objects.create("services", &service("clusterip-svc1", "ClusterIP", false)).await?;
    uses(&objects, &used("4", "2", "2")).await?;
    refused(&objects, "services", &service("clusterip-svc2", "ClusterIP", false)).await?;
    objects.merge("services", "np-svc", &json!({"spec": {"type": "ClusterIP"}})).await?;
    uses(&objects, &used("4", "1", "2")).await
}

/// Amounts in all their forms, pods that end, and scopes.
async fn pods_are_counted_as_they_are_written(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "pods").await?;
    let hard = json!({"cpu": "10", "memory": "10Gi", "limits.memory": "20Gi", "pods": "10",
        "count/pods": "10", "requests.example.com/dongle": "10"});
    make(&objects, &hard).await?;
    let scoped = json!({"metadata": {"name": "deadline"},
        "spec": {"hard": {"pods": "10"}, "scopes": ["Terminating"]}});
    objects.create(QUOTAS, &scoped).await?;
    let counts = |it: &Value| it["status"]["used"]["pods"] == "0";
    objects.wait(QUOTAS, "deadline", "to be counted", counts).await?;
    let resources = |cpu: &str, memory: &str, dongles: &str| {
        json!({"requests": {"cpu": cpu, "memory": memory, "example.com/dongle": dongles},
            "limits": {"memory": "2Gi", "example.com/dongle": dongles}})
    };
    objects.create("pods", &pod("a", &resources("250m", "512Mi", "1"))).await?;
    let mut ends = pod("b", &resources("1.25", "512Mi", "0"));
    ends["metadata"]["annotations"] = json!({"cluster-tests/outcome": "failed"});
    objects.create("pods", &ends).await?;
    let is_over = |pod: &Value| pod["status"]["phase"] == "Failed";
    objects.wait("pods", "b", "to fail", is_over).await?;
    let used = json!({"cpu": "250m", "memory": "512Mi", "limits.memory": "2Gi", "pods": "1",
        "count/pods": "2", "requests.example.com/dongle": "1"});
    uses(&objects, &used).await?;
    objects.create("pods", &pod("c", &resources("750m", "1.5Gi", "0"))).await?;
    objects.merge("pods", "c", &json!({"spec": {"activeDeadlineSeconds": 3600}})).await?;
    let used = json!({"cpu": "1", "memory": "2Gi", "limits.memory": "4Gi", "pods": "2",
        "count/pods": "3", "requests.example.com/dongle": "1"});
    uses(&objects, &used).await?;
    let counts = |it: &Value| it["status"]["used"]["pods"] == "1";
    objects.wait(QUOTAS, "deadline", "to count the pod", counts).await?;
    for name in ["a", "b", "c"] {
        objects.delete("pods", name).await?;
    }
    let used = json!({"cpu": "0", "memory": "0", "limits.memory": "0", "pods": "0",
        "count/pods": "0", "requests.example.com/dongle": "0"});
    uses(&objects, &used).await
}

// === What the scenes share ===

fn pod(name: &str, resources: &Value) -> Value {
    let container = json!({"name": "main", "image": "main", "resources": resources});
    json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
}

/// A quota with these limits. As upstream's `waitForQuota`.
async fn make(objects: &Objects, hard: &Value) -> anyhow::Result<()> {
    let quota = json!({"metadata": {"name": "quota"}, "spec": {"hard": hard}});
    objects.create(QUOTAS, &quota).await?;
    let is_so = |it: &Value| it["status"]["hard"] == *hard && it["status"]["used"].is_object();
    objects.wait(QUOTAS, "quota", "to be counted", is_so).await.map(drop)
}

/// Waits until so much is used. As upstream's `waitForUsedResourceQuota`, but as it is written.
async fn uses(objects: &Objects, used: &Value) -> anyhow::Result<()> {
    let is_so = |it: &Value| it["status"]["used"] == *used;
    objects.wait(QUOTAS, "quota", &format!("to have used {used}"), is_so).await.map(drop)
}

/// As upstream's `testServiceForbidden`.
async fn refused(objects: &Objects, resource: &str, object: &Value) -> anyhow::Result<()> {
    let error = objects.create(resource, object).await.err().context("it was admitted")?;
    ensure!(status_code(&error) == Some(403), "{error:#}");
    Ok(())
}

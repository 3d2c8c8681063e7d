//! HorizontalPodAutoscalers on the real API server. Metrics are objects of kinds that a user
//! defines, so that no metrics server is needed: both managers read them as they read one.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, Request, Requests, User, none_forbidden, since,
    wait_until, writes,
};
use serde_json::{Value, json};

use crate::conformance::plays_alone;

const AUTOSCALERS: &str = "horizontalpodautoscalers.v2.autoscaling";
const DEFINITIONS: &str = "customresourcedefinitions.v1.apiextensions.k8s.io";
const METRICS: &str = "pods.v1beta1.metrics.k8s.io";
const SETS: &str = "statefulsets.v1.apps";
const ARGS: [&str; 3] = [
    "--controllers=horizontal-pod-autoscaler-controller,statefulset-controller",
    "--horizontal-pod-autoscaler-sync-period=2s",
    "--horizontal-pod-autoscaler-downscale-stabilization=12s",
];
/// How long a few syncs may take, and until nothing is written any more.
const LIMIT: Duration = Duration::from_mins(1);
/// How many syncs there are until it is believed that there is nothing to write.
const SYNCS: u64 = 4;
/// How many syncs of a successor are surely within its window.
const SYNCS_WITHIN: u64 = 2;

/// Upstream's e2e "[HPA]" with CPU: grows to the maximum, shrinks to the minimum.
#[tokio::test]
async fn load_scales_a_set() -> anyhow::Result<()> {
    plays_alone("podautoscaler/load.txt").await
}

/// Upstream's e2e "[HPA]" with external metrics.
#[tokio::test]
async fn a_queue_scales_deployments() -> anyhow::Result<()> {
    plays_alone("podautoscaler/external.txt").await
}

/// A successor changes nothing while nothing changes; what was recommended is lost with its
/// predecessor, so its window begins anew, with the size that it finds.
#[tokio::test]
async fn a_successor_begins_with_the_size_that_it_finds() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 2, ..Options::default() }).await?;
    let all = Objects::in_new(&cluster, "load").await?;
    all.of_all().create(DEFINITIONS, &definition()).await?;
    let is_served = |it: &Value| {
        let conditions = it["status"]["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Established"))
    };
    all.of_all().wait(DEFINITIONS, "pods.metrics.k8s.io", "to be served", is_served).await?;
    all.create(SETS, &set()).await?;
    for number in 0..3 {
        all.create(METRICS, &usage(number, "100m")).await?;
    }
    all.create(AUTOSCALERS, &autoscaler()).await?;
    let requests = cluster.request_counts().await?;
    let managers = [Binary::Upstream, Binary::Ours, Binary::Upstream, Binary::Ours];
    for (number, binary) in managers.into_iter().enumerate() {
        let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &ARGS)?;
        manager.healthy().await?;
        let run = async {
            if number == 0 {
                let is_large = |it: &Value| it["status"]["currentReplicas"] == 3;
                all.wait(AUTOSCALERS, "web", "to be at its maximum", is_large).await?;
            }
            let calm = async || Ok((written(&cluster).await? == 0).then_some(()));
            if number == 0 {
                wait_until("syncs that write nothing", LIMIT, calm).await?;
            }
            let written = written(&cluster).await?;
            ensure!(written == 0, "{written} writes by {binary:?}, number {number}");
            ensure!(all.get(SETS, "web").await?["spec"]["replicas"] == 3, "nobody asked for that");
            anyhow::Ok(())
        };
        run.await.with_context(|| manager.log())?;
    }
    // The load goes, and with it the manager: the next one waits for a whole window.
    for number in 0..3 {
        all.merge(METRICS, &format!("web-{number}"), &json!({"containers": used("5m")})).await?;
    }
    for binary in [Binary::Upstream, Binary::Ours] {
        let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &ARGS)?;
        manager.healthy().await?;
        let is_shown = |it: &Value| {
            it["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"] == 5
        };
        let before = cluster.request_counts().await?;
        let run = async {
            // What its predecessor has shown stays, so that alone says nothing of this one.
            synced(&cluster, &before, SYNCS_WITHIN).await?;
            all.wait(AUTOSCALERS, "web", "to show the load", is_shown).await?;
            ensure!(all.get(SETS, "web").await?["spec"]["replicas"] == 3, "within the window");
            let is_small = |it: &Value| it["spec"]["replicas"] == 1;
            if binary == Binary::Ours {
                all.wait(SETS, "web", "to be at its minimum", is_small).await?;
            }
            anyhow::Ok(())
        };
        run.await.with_context(|| manager.log())?;
    }
    none_forbidden(&since(&requests, &cluster.request_counts().await?))
}

/// What is written to autoscalers and sizes in some syncs.
async fn written(cluster: &Cluster) -> anyhow::Result<u64> {
    let before = cluster.request_counts().await?;
    let since = synced(cluster, &before, SYNCS).await?;
    let is_of_it =
        |it: &Request| is_scale(it) || it.resource.starts_with("horizontalpodautoscalers");
    Ok(writes(&since, is_of_it))
}

/// The requests since then, as soon as so many syncs are among them: each reads the size.
async fn synced(cluster: &Cluster, before: &Requests, count: u64) -> anyhow::Result<Requests> {
    let syncs = async || {
        let since = since(before, &cluster.request_counts().await?);
        let reads = since.iter().filter(|(it, _)| is_scale(it) && it.verb == "GET");
        Ok((reads.map(|(_, count)| count).sum::<u64>() >= count).then_some(since))
    };
    wait_until("some syncs", LIMIT, syncs).await
}

fn is_scale(request: &Request) -> bool {
    request.resource == "statefulsets/scale"
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "pods.metrics.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
        "spec": {
            "group": "metrics.k8s.io", "scope": "Namespaced",
            "names": {"kind": "PodMetrics", "plural": "pods", "singular": "podmetrics",
                "listKind": "PodMetricsList"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

fn set() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1, "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": "pause",
                    "resources": {"requests": {"cpu": "100m"}}}],
            }},
        },
    })
}

fn usage(number: u32, cpu: &str) -> Value {
    json!({
        "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
        "metadata": {"name": format!("web-{number}"), "labels": {"app": "web"}},
        "timestamp": "2099-01-01T00:00:00Z", "window": "30s", "containers": used(cpu),
    })
}

fn used(cpu: &str) -> Value {
    json!([{"name": "main", "usage": {"cpu": cpu}}])
}

fn autoscaler() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50}}}],
        },
    })
}

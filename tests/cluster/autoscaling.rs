//! Many autoscalers over Deployments beside upstream's manager: each has a load of its own that
//! changes step by step, and after each step both managers have decided the same.
//! `AUTOSCALERS=500` with `--nocapture` is the long form. Loads are objects of a kind that stands
//! in for the API of external metrics, so that no metrics server is needed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, now, since, wait_until,
};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

const ARGS: &[&str] = &[
    "--controllers=horizontal-pod-autoscaler-controller,deployment-controller,\
     replicaset-controller",
    "--horizontal-pod-autoscaler-sync-period=3s",
    // Within a tolerance, a size that is seen on the way to another one stays.
    "--horizontal-pod-autoscaler-tolerance=0.001",
    "--kube-api-qps=1000",
    "--kube-api-burst=1000",
];
const AUTOSCALERS: &str = "horizontalpodautoscalers.v2.autoscaling";
const DEFINITIONS: &str = "customresourcedefinitions.v1.apiextensions.k8s.io";
const DEPLOYMENTS: &str = "deployments.v1.apps";
const LOADS: &str = "loads.v1beta1.external.metrics.k8s.io";
const SIZE_MAX: u64 = 6;
/// What a pod is to have of the load.
const SHARE: u64 = 10;
const STEPS: u64 = 4;
/// So many syncs of each must leave all as it is.
const SYNCS: u64 = 3;
const LIMIT: Duration = Duration::from_mins(5);
/// How many objects are written at once.
const AT_ONCE: usize = 16;

/// By name: what was decided, and the reason of each condition.
type Decisions = BTreeMap<String, Value>;

#[tokio::test]
async fn autoscalers_decide_as_upstreams() -> anyhow::Result<()> {
    let (ours, upstream) =
        futures::future::try_join(story(Binary::Ours), story(Binary::Upstream)).await?;
    for (step, (ours, upstream)) in ours.iter().zip(&upstream).enumerate() {
        for (name, expected) in upstream {
            let found = ours.get(name).unwrap_or(&Value::Null);
            ensure!(found == expected, "step {step}, {name}: {found}, upstream: {expected}");
        }
    }
    let sizes = |of: &[Decisions]| {
        let sizes = of.iter().flat_map(|step| step.values().map(|it| it["size"].to_string()));
        sizes.collect::<std::collections::BTreeSet<_>>().len()
    };
    ensure!(sizes(&ours) == usize::try_from(SIZE_MAX)?, "all sizes were chosen: {ours:?}");
    Ok(())
}

/// What was decided after each step.
async fn story(binary: Binary) -> anyhow::Result<Vec<Decisions>> {
    let count = std::env::var("AUTOSCALERS").ok().map(|text| text.parse()).transpose()?;
    let count: u64 = count.unwrap_or(12);
    let cluster = Cluster::start(Options { nodes: 20, ..Options::default() }).await?;
    let objects = Objects::in_new(&cluster, "scaled").await?;
    let all = objects.of_all();
    all.create(DEFINITIONS, &definition()).await?;
    let is_served = |it: &Value| {
        let conditions = it["status"]["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Established"))
    };
    all.wait(DEFINITIONS, "loads.external.metrics.k8s.io", "to be served", is_served).await?;
    let each = stream::iter(0..count).map(async |number| {
        objects.create(DEPLOYMENTS, &deployment(number)).await?;
        objects.create(LOADS, &load(number, 0)).await?;
        objects.create(AUTOSCALERS, &autoscaler(number)).await.map(drop)
    });
    each.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        let (began, mut decided) = (now(), Vec::new());
        for step in 0..STEPS {
            let each = stream::iter(0..count).map(async |number| {
                let value = json!({"value": load(number, step)["value"]});
                objects.merge(LOADS, &format!("web-{number}"), &value).await
            });
            each.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
            decided.push(settled(&cluster, &objects, count).await?);
            println!("{binary:?}: step {step} is over after {:?}", now() - began);
        }
        none_forbidden(&since(&requests, &cluster.request_counts().await?))?;
        anyhow::Ok(decided)
    };
    run.await.with_context(|| manager.log())
}

/// What is decided once some syncs of each have changed nothing any more.
async fn settled(cluster: &Cluster, objects: &Objects, count: u64) -> anyhow::Result<Decisions> {
    let (mut last, mut since_then) = (Decisions::new(), cluster.request_counts().await?);
    wait_until("syncs that change nothing", LIMIT, async || {
        let decisions = decisions(objects).await?;
        let requests = cluster.request_counts().await?;
        if decisions != last {
            (last, since_then) = (decisions, requests);
            return Ok(None);
        }
        let made = since(&since_then, &requests);
        let reads = made.iter().filter(|(it, _)| it.resource == "loads" && it.verb == "LIST");
        let reads: u64 = reads.map(|(_, count)| count).sum();
        let is_whole = last.values().all(|it| it["is"] == it["size"] && it["asked"] == it["size"]);
        Ok((is_whole && reads >= SYNCS * count).then_some(()))
    })
    .await?;
    Ok(last)
}

async fn decisions(objects: &Objects) -> anyhow::Result<Decisions> {
    let deployments = objects.list(DEPLOYMENTS).await?;
    let of = |list: &[Value], name: &Value| {
        list.iter().find(|it| it["metadata"]["name"] == *name).cloned().unwrap_or_default()
    };
    let mut decisions = Decisions::new();
    for it in objects.list(AUTOSCALERS).await? {
        let name = &it["metadata"]["name"];
        let deployment = of(&deployments, name);
        let conditions = it["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let mut reasons: Vec<_> = conditions
            .iter()
            .map(|it| json!([it["type"], it["status"], it["reason"], it["message"]]))
            .collect();
        reasons.sort_by_key(ToString::to_string);
        let decision = json!({
            "size": it["status"]["desiredReplicas"],
            "asked": deployment["spec"]["replicas"],
            "is": deployment["status"]["replicas"],
            "load": it["status"]["currentMetrics"],
            "conditions": reasons,
        });
        decisions.insert(name.as_str().context("a name")?.to_owned(), decision);
    }
    Ok(decisions)
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "loads.external.metrics.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
        "spec": {
            "group": "external.metrics.k8s.io", "scope": "Namespaced",
            "names": {"kind": "ExternalMetricValue", "plural": "loads", "singular": "load",
                "listKind": "ExternalMetricValueList"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

/// What a Deployment has to do in a step: near to and far from what its pods can do, and nothing.
fn load(number: u64, step: u64) -> Value {
    let value = (number * 29 + step * 37 + number * step * 7) % (SHARE * (SIZE_MAX + 2));
    json!({
        "apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue",
        "metadata": {"name": format!("web-{number}"), "labels": {"of": format!("web-{number}")}},
        "metricName": "loads", "timestamp": "2099-01-01T00:00:00Z", "value": value.to_string(),
    })
}

fn deployment(number: u64) -> Value {
    let labels = json!({"app": format!("web-{number}")});
    json!({
        "metadata": {"name": format!("web-{number}")},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": "pause"}],
            }},
        },
    })
}

/// Without windows, which would keep what both decide for minutes.
fn autoscaler(number: u64) -> Value {
    let name = format!("web-{number}");
    let policies = json!([{"type": "Pods", "value": 100, "periodSeconds": 15}]);
    json!({
        "metadata": {"name": name},
        "spec": {
            "minReplicas": 1, "maxReplicas": SIZE_MAX,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "metrics": [{"type": "External", "external": {
                "metric": {"name": "loads", "selector": {"matchLabels": {"of": name}}},
                "target": {"type": "AverageValue", "averageValue": SHARE.to_string()}}}],
            "behavior": {
                "scaleUp": {"policies": policies},
                "scaleDown": {"policies": policies, "stabilizationWindowSeconds": 0},
            },
        },
    })
}

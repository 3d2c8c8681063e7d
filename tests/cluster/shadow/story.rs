//! Workloads that are made, changed and scaled, and then stay where they are: each at a point at
//! which a manager with some bug would go on.

use cluster_tests::{Cluster, Manager, Objects, quiet, rolled_out};
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const NAMESPACE: &str = "shade";
const CALM: Duration = Duration::from_secs(2);
const CRON_JOBS: &str = "cronjobs.v1.batch";
const JOBS: &str = "jobs.v1.batch";
const BUDGETS: &str = "poddisruptionbudgets.v1.policy";
const ROLES: &str = "clusterroles.v1.rbac.authorization.k8s.io";
const NODES: u64 = 3;

/// Returns once the manager in charge has nothing left to do.
pub(super) async fn tell(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, NAMESPACE).await?;
    deployments(&objects).await?;
    sets(&objects).await?;
    quotas(&objects).await?;
    batch(&objects).await?;
    volumes(&objects).await?;
    roles(&objects.of_all()).await?;
    let other = Objects::in_new(cluster, "shade-ends").await?;
    other.create("replicasets", &workload("ends", json!({"replicas": 1}))).await?;
    other.of_all().delete("namespaces", "shade-ends").await?;
    other.of_all().gone("namespaces", "shade-ends").await?;
    quiet(cluster, manager, CALM).await
}

/// One that rolls and scales, with a budget; and one that is paused before it rolls.
async fn deployments(objects: &Objects) -> anyhow::Result<()> {
    let done = async |name| objects.wait("deployments", name, "to be done", rolled_out).await;
    let budget = json!({"metadata": {"name": "half"}, "spec": {"minAvailable": "50%",
        "selector": {"matchLabels": {"app": "rolls"}}}});
    objects.create(BUDGETS, &budget).await?;
    let service = json!({"metadata": {"name": "rolls"}, "spec": {"selector": {"app": "rolls"},
        "ports": [{"port": 80}]}});
    objects.create("services", &service).await?;
    for (name, replicas) in [("rolls", 3), ("paused", 1)] {
        objects.create("deployments", &workload(name, json!({"replicas": replicas}))).await?;
        done(name).await?;
    }
    for spec in [template("rolls", "running"), json!({"replicas": 5}), json!({"replicas": 3})] {
        objects.merge("deployments", "rolls", &json!({ "spec": spec })).await?;
        done("rolls").await?;
    }
    objects.merge("deployments", "paused", &json!({"spec": {"paused": true}})).await?;
    let spec = template("paused", "running");
    objects.merge("deployments", "paused", &json!({ "spec": spec })).await?;
    let is_seen = |it: &Value| it["status"]["observedGeneration"] == it["metadata"]["generation"];
    objects.wait("deployments", "paused", "to be seen", is_seen).await.map(drop)
}

/// Sets whose next pod waits for one that is not ready, a set that is being deleted, and a pod of
/// no set.
async fn sets(objects: &Objects) -> anyhow::Result<()> {
    let mut ordered = workload("ordered", json!({"replicas": 2}));
    ordered["spec"]["template"] = template("ordered", "unready")["template"].clone();
    objects.create("statefulsets", &ordered).await?;
    let has_one = |set: &Value| set["status"]["replicas"] == 1;
    objects.wait("statefulsets", "ordered", "to have a pod", has_one).await?;

    objects.create("daemonsets", &workload("daily", json!({}))).await?;
    let is_ready = |set: &Value| set["status"]["numberAvailable"] == NODES;
    objects.wait("daemonsets", "daily", "to be ready", is_ready).await?;
    let spec = template("daily", "unready");
    objects.merge("daemonsets", "daily", &json!({ "spec": spec })).await?;
    let is_midway = |set: &Value| {
        let status = &set["status"];
        status["updatedNumberScheduled"] == 1 && status["numberReady"] == NODES - 1
    };
    objects.wait("daemonsets", "daily", "to wait for a pod", is_midway).await?;

    let mut dying = workload("dying", json!({"replicas": 0}));
    dying["metadata"]["finalizers"] = json!(["example.com/hold"]);
    objects.create("replicasets", &dying).await?;
    objects.delete("replicasets", "dying").await?;
    objects.merge("replicasets", "dying", &json!({"spec": {"replicas": 1}})).await?;

    let alone = template("alone", "none")["template"].take();
    let pod = json!({"metadata": {"name": "alone", "labels": {"app": "alone"}},
        "spec": alone["spec"]});
    objects.create("pods", &pod).await.map(drop)
}

/// One that does not count a pod that has failed, and one that counts no pod.
async fn quotas(objects: &Objects) -> anyhow::Result<()> {
    let quota = |name: &str, scopes: &[&str]| {
        let spec = json!({"hard": {"pods": "100"}, "scopes": scopes});
        json!({"metadata": {"name": name}, "spec": spec})
    };
    let mut failed = template("failed", "failed")["template"].take();
    failed["metadata"]["name"] = json!("failed");
    objects.create("pods", &failed).await?;
    let has_failed = |pod: &Value| pod["status"]["phase"] == "Failed";
    objects.wait("pods", "failed", "to fail", has_failed).await?;
    for (name, scopes) in [("all", &[][..]), ("ending", &["Terminating"])] {
        objects.create("resourcequotas", &quota(name, scopes)).await?;
        let is_counted = |quota: &Value| quota["status"]["used"]["pods"].is_string();
        objects.wait("resourcequotas", name, "to be counted", is_counted).await?;
    }
    Ok(())
}

/// A Job that ends, and a `CronJob` that may not start any.
async fn batch(objects: &Objects) -> anyhow::Result<()> {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "main"}]});
    let job = json!({"template": {"spec": pod}, "completions": 2, "parallelism": 1});
    let object = json!({"metadata": {"name": "ends"}, "spec": job});
    objects.create(JOBS, &object).await?;
    let is_over = |job: &Value| job["status"]["completionTime"].is_string();
    objects.wait(JOBS, "ends", "to end", is_over).await?;
    let spec = json!({"schedule": "@every 1s", "suspend": true, "jobTemplate": {"spec": job}});
    objects
        .create(CRON_JOBS, &json!({"metadata": {"name": "suspended"}, "spec": spec}))
        .await
        .map(drop)
}

/// A volume that is deleted while a claim has it.
async fn volumes(objects: &Objects) -> anyhow::Result<()> {
    let modes = json!(["ReadWriteOnce"]);
    let volume = json!({"metadata": {"name": "bound"}, "spec": {"capacity": {"storage": "1Gi"},
        "accessModes": modes, "hostPath": {"path": "/data"}}});
    objects.of_all().create("persistentvolumes", &volume).await?;
    let claim = json!({"metadata": {"name": "claim"}, "spec": {"storageClassName": "",
        "accessModes": modes, "resources": {"requests": {"storage": "1Gi"}}}});
    objects.create("persistentvolumeclaims", &claim).await?;
    let is_bound = |claim: &Value| claim["status"]["phase"] == "Bound";
    objects.wait("persistentvolumeclaims", "claim", "to be bound", is_bound).await?;
    objects.of_all().delete("persistentvolumes", "bound").await
}

/// A role that is the sum of two.
async fn roles(all: &Objects) -> anyhow::Result<()> {
    let selector = |part: &str| json!({"matchLabels": {"part": part}});
    for (part, resource) in [("one", "pods"), ("two", "nodes")] {
        let rule = json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]});
        let metadata = json!({"name": format!("part-{part}"), "labels": {"part": part}});
        all.create(ROLES, &json!({"metadata": metadata, "rules": [rule]})).await?;
    }
    let selectors = json!([selector("one"), selector("two")]);
    let sum = json!({"metadata": {"name": "sum"}, "rules": [],
        "aggregationRule": {"clusterRoleSelectors": selectors}});
    all.create(ROLES, &sum).await?;
    let is_sum = |role: &Value| role["rules"].as_array().is_some_and(|rules| rules.len() == 2);
    all.wait(ROLES, "sum", "to have both rules", is_sum).await.map(drop)
}

fn workload(name: &str, mut spec: Value) -> Value {
    spec["selector"] = json!({"matchLabels": {"app": name}});
    spec["template"] = template(name, "none")["template"].take();
    json!({"metadata": {"name": name}, "spec": spec})
}

/// A spec with pods that end up like this.
fn template(name: &str, outcome: &str) -> Value {
    let metadata = json!({"labels": {"app": name},
        "annotations": {"cluster-tests/outcome": outcome}});
    json!({"template": {"metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": "main"}]}}})
}

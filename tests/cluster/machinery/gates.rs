//! Feature gates take effect: upstream's integration tests that switch them, and one that has none.
//!
//! Upstream's tests switch a gate for the API server and the controllers at once. Here the API
//! server keeps what it has by default, so that what is not written is the manager's doing: with
//! the gate off an API server drops the field in every write. A gate is switched by restarting the
//! manager, which upstream's tests do in place.

use anyhow::ensure;
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);
const TERMINATING: &str = "--feature-gates=DeploymentReplicaSetTerminatingReplicas";
const RELEASE: &str = "--feature-gates=ControllerManagerReleaseLeaderElectionLockOnExit";
const COMPARISON: &str = "--feature-gates=TaintTolerationComparisonOperators";

#[tokio::test]
async fn feature_gates_take_effect() -> anyhow::Result<()> {
    // No nodes and so no kubelets: pods stay as they are, and their status is the test's. An API
    // server refuses tolerations that compare if its gate is off.
    let apiserver_args = vec![format!("{COMPARISON}=true")];
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    let scenes = [
        ("TestPodDeletionCost", pod_deletion_cost(&cluster).await),
        ("TestTerminatingReplicas", terminating_replicas(&cluster).await),
        (
            "TestTerminatingReplicasDeploymentStatus",
            terminating_replicas_of_deployments(&cluster).await,
        ),
        ("an older release", an_older_release_counts_none(&cluster).await),
        ("tolerations that compare", tolerations_that_compare(&cluster).await),
        ("the lease", the_lease_is_given_back(&cluster).await),
    ];
    let failed = scenes.iter().filter_map(|(name, result)| {
        let error = result.as_ref().err()?;
        Some(format!("{name}: {error:#}"))
    });
    let failed: Vec<_> = failed.collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Upstream's TestPodDeletionCost (test/integration/replicaset).
async fn pod_deletion_cost(cluster: &Cluster) -> anyhow::Result<()> {
    let rows = [
        ("enabled-with-different-costs", true, Some(["1000", "100"]), 0),
        ("enabled-with-same-costs", true, Some(["100", "100"]), 1),
        ("enabled-with-no-costs", true, None, 1),
        ("disabled-with-different-costs", false, Some(["1000", "100"]), 1),
    ];
    for (row, enabled, costs, remaining) in rows {
        let gate = format!("--feature-gates=PodDeletionCost={enabled}");
        let _manager = manager(cluster, &gate)?;
        let objects = Objects::in_new(cluster, row).await?;
        objects.create("replicasets", &set(2, json!({}))).await?;
        let pods = pods(&objects, 2).await?;
        for (index, (name, restarts)) in pods.iter().zip([5, 0]).enumerate() {
            if let Some(costs) = costs {
                let cost = json!({"controller.kubernetes.io/pod-deletion-cost": costs[index]});
                objects.merge("pods", name, &json!({"metadata": {"annotations": cost}})).await?;
            }
            let container = json!({"name": "main", "image": "", "imageID": "", "ready": false,
                "restartCount": restarts});
            let status = json!({"status": {"containerStatuses": [container]}});
            objects.merge("pods", &format!("{name}/status"), &status).await?;
        }
        // The last write to a pod shows in the set's status: then the controller has seen all.
        let bare = json!({"metadata": {"labels": {"full": null}}});
        objects.merge("pods", &pods[1], &bare).await?;
        let seen = |set: &Value| set["status"]["fullyLabeledReplicas"] == 1;
        objects.wait("replicasets", "set", "sees its pods", seen).await?;
        objects.merge("replicasets", "set", &json!({"spec": {"replicas": 1}})).await?;
        let left = self::pods(&objects, 1).await?;
        ensure!(left[0] == pods[remaining], "{row}: {} stays, of {pods:?}", left[0]);
    }
    Ok(())
}

/// Upstream's TestTerminatingReplicas (test/integration/replicaset).
async fn terminating_replicas(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "test-terminating-replicas").await?;
    let counts = async |replicas: i64, terminating: Value| {
        let what = format!("has {replicas} pods, {terminating} terminating");
        let is = |set: &Value| counted(set, replicas, &terminating);
        objects.wait("replicasets", "set", &what, is).await
    };
    objects.create("replicasets", &set(5, unattended())).await?;
    let off = manager(cluster, &format!("{TERMINATING}=false"))?;
    let names = pods(&objects, 5).await?;
    counts(5, Value::Null).await?;
    objects.delete("pods", &names[0]).await?;
    pods(&objects, 6).await?;
    counts(5, Value::Null).await?;
    drop(off);
    let on = manager(cluster, &format!("{TERMINATING}=true"))?;
    counts(5, json!(1)).await?;
    objects.delete("pods", &names[1]).await?;
    counts(5, json!(2)).await?;
    objects.delete_with("pods", &names[0], &json!({"gracePeriodSeconds": 0})).await?;
    counts(5, json!(1)).await?;
    drop(on);
    let _off = manager(cluster, &format!("{TERMINATING}=false"))?;
    objects.delete("pods", &names[2]).await?;
    counts(5, Value::Null).await?;
    // Five that are not being deleted, two that are.
    pods(&objects, 7).await.map(drop)
}

/// Upstream's TestTerminatingReplicasDeploymentStatus (test/integration/deployment).
async fn terminating_replicas_of_deployments(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "test-terminating-replica-status").await?;
    let spec = json!({"replicas": 6, "strategy": {"type": "Recreate"}});
    objects.create("deployments", &workload("deployment", with(spec, unattended()))).await?;
    let counts = async |replicas: i64, terminating: Value| {
        let what = format!("has {replicas} pods, {terminating} terminating");
        let is = |deployment: &Value| {
            let status = &deployment["status"];
            let all = ["updatedReplicas", "readyReplicas", "availableReplicas"];
            counted(deployment, replicas, &terminating)
                && all.iter().all(|count| status[count] == replicas)
                && status["unavailableReplicas"].is_null()
        };
        objects.wait("deployments", "deployment", &what, is).await
    };
    let scale = async |replicas: i64| {
        let patch = json!({"spec": {"replicas": replicas}});
        objects.merge("deployments", "deployment", &patch).await
    };
    let off = manager(cluster, &format!("{TERMINATING}=false"))?;
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    for name in pods(&objects, 6).await? {
        objects.merge("pods", &format!("{name}/status"), &ready).await?;
    }
    counts(6, Value::Null).await?;
    scale(4).await?;
    counts(4, Value::Null).await?;
    drop(off);
    let on = manager(cluster, &format!("{TERMINATING}=true"))?;
    scale(3).await?;
    counts(3, json!(3)).await?;
    drop(on);
    let _off = manager(cluster, &format!("{TERMINATING}=false"))?;
    scale(2).await?;
    counts(2, Value::Null).await.map(drop)
}

/// The gate was off by default until 1.34.
async fn an_older_release_counts_none(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "older-release").await?;
    objects.create("replicasets", &set(2, json!({}))).await?;
    for (release, terminating) in [("1.34", Value::Null), ("1.35", json!(0))] {
        let _manager = manager(cluster, &format!("--emulated-version={release}"))?;
        let is = |set: &Value| counted(set, 2, &terminating);
        let what = format!("counts as in {release}");
        objects.wait("replicasets", "set", &what, is).await?;
    }
    Ok(())
}

/// Upstream has only unit tests of it (pkg/controller/daemon: TestNodeShouldRunDaemonPod).
async fn tolerations_that_compare(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "tolerations").await?;
    let taint = json!({"key": "sla", "value": "95", "effect": "NoExecute"});
    // No kubelet says that it is there, and no kwok: it does not have the label.
    let node = json!({"metadata": {"name": "slow"}, "spec": {"taints": [taint]}});
    objects.of_all().create("nodes", &node).await?;
    let toleration = json!({"key": "sla", "operator": "Gt", "value": "90", "effect": "NoExecute"});
    let spec = json!({"template": {"spec": {"tolerations": [toleration]}}});
    objects.create("daemonsets", &workload("set", spec)).await?;
    let on = manager(cluster, &format!("{COMPARISON}=true"))?;
    pods(&objects, 1).await?;
    drop(on);
    let _off = manager(cluster, &format!("{COMPARISON}=false"))?;
    pods(&objects, 0).await.map(drop)
}

/// Upstream has no test of it. Without the gate on the command line the Lease is released here.
async fn the_lease_is_given_back(cluster: &Cluster) -> anyhow::Result<()> {
    let leases = Objects::of(cluster, "kube-system")?;
    let holder = |lease: &Value| lease["spec"]["holderIdentity"].as_str().map(str::to_owned);
    let (kind, name) = ("leases.v1.coordination.k8s.io", "kube-controller-manager");
    for given_back in [true, false] {
        let gate = format!("{RELEASE}={given_back}");
        let user = User::ControllerManager;
        let args = ["--controllers=ttl", "--leader-elect", &gate];
        let mut manager = Manager::start(cluster, Binary::under_test()?, user, &args)?;
        wait_until("the lease to be held", LIMIT, async || {
            let held = leases.find(kind, name).await?.and_then(|lease| holder(&lease));
            Ok(held.filter(|holder| !holder.is_empty()))
        })
        .await?;
        manager.healthy().await?;
        manager.sigterm()?;
        manager.ended(LIMIT).await?;
        let left = holder(&leases.get(kind, name).await?).unwrap_or_default();
        ensure!(left.is_empty() == given_back, "{given_back}: {left:?} holds the lease");
    }
    Ok(())
}

// === What the scenes are made of ===

fn manager(cluster: &Cluster, flag: &str) -> anyhow::Result<Manager> {
    let controllers = "--controllers=replicaset,deployment,daemonset";
    Manager::start(cluster, Binary::under_test()?, User::ControllerManager, &[controllers, flag])
}

/// A set of so many pods, with `more` in its spec.
fn set(replicas: i32, more: Value) -> Value {
    workload("set", with(json!({"replicas": replicas}), more))
}

/// A workload whose pods have a label that it does not select by, with `more` in its spec.
fn workload(name: &str, more: Value) -> Value {
    let labels = json!({"app": name, "full": "yes"});
    let spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "example.com/image"}]},
        },
    });
    json!({"metadata": {"name": name}, "spec": with(spec, more)})
}

/// Pods of a node that is not there, so that those that are deleted stay.
fn unattended() -> Value {
    json!({"template": {"spec": {"nodeName": "fake-node", "terminationGracePeriodSeconds": 300}}})
}

fn with(mut object: Value, more: Value) -> Value {
    match (&mut object, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (key, value) in more {
                let old = fields.remove(&key).unwrap_or_default();
                fields.insert(key, with(old, value));
            }
            object
        }
        (_, more) => more,
    }
}

/// Whether the status is that of the present spec, with these counts.
fn counted(object: &Value, replicas: i64, terminating: &Value) -> bool {
    let status = &object["status"];
    status["observedGeneration"] == object["metadata"]["generation"]
        && status["replicas"] == replicas
        && status["terminatingReplicas"] == *terminating
}

/// The names of the pods, once there are so many.
async fn pods(objects: &Objects, count: usize) -> anyhow::Result<Vec<String>> {
    let what = format!("{count} pods in {}", objects.namespace());
    wait_until(&what, LIMIT, async || {
        let pods = objects.list("pods").await?;
        let name = |pod: &Value| pod["metadata"]["name"].as_str().map(str::to_owned);
        let names: Vec<_> = pods.iter().filter_map(name).collect();
        ensure!(names.len() == count, "there are {}", names.len());
        Ok(Some(names))
    })
    .await
}

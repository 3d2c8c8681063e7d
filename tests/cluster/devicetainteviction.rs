//! Evictions by taints of devices on the real API server: upstream's integration test
//! (test/integration/dra/device_taints.go) and e2e tests (dra/dra.go). The test allocates the
//! claims.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since, wait_until,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=device-taint-eviction-controller"];
const LIMIT: Duration = Duration::from_mins(1);
const CALM: Duration = Duration::from_secs(3);
const CLAIMS: &str = "resourceclaims.v1.resource.k8s.io";
const SLICES: &str = "resourceslices.v1.resource.k8s.io";
const DRIVER: &str = "gpu.example.com";
const DELETIONS: &str = "device_taint_eviction_controller_pod_deletions_total";
/// The node that the pods run on.
const NODE: &str = "node-0";
const MANY: usize = 100;
const SLICE_DEVICES: usize = 50;

#[tokio::test]
async fn pods_leave_tainted_devices() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        a_taint_evicts_whom_it_is_not_tolerated_by(&cluster).await?;
        without_the_taint_a_pod_stays(&cluster).await?;
        all_pods_of_a_pool_go_once(&cluster, &manager).await?;
        let made = since(&requests, &cluster.request_counts().await?);
        none_forbidden(&made)?;
        silent(&cluster, &manager, [CALM; 2], |it| !it.is_fake_clusters_own()).await
    };
    run.await.with_context(|| manager.log())
}

/// e2e: "evicts pod when device gets tainted"; TestController: tolerations.
async fn a_taint_evicts_whom_it_is_not_tolerated_by(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "tainted").await?;
    let pool = Pool { name: "tainted", slices: 1, devices: 4 };
    pool.publish(cluster, 1, &json!([])).await?;
    let toleration = |effect: &str, seconds: Value| {
        json!([{"key": "testing", "operator": "Exists", "effect": effect,
            "tolerationSeconds": seconds}])
    };
    for (at, name, tolerations) in [
        (0, "leaves", json!([])),
        (1, "stays", toleration("NoExecute", Value::Null)),
        (2, "for-4s", toleration("NoExecute", json!(4))),
        // Of no effect at all, so not of this one.
        (3, "any-effect", toleration("", Value::Null)),
    ] {
        uses(&objects, &pool, at, name, &tolerations).await?;
    }
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    objects.merge("pods", "leaves", &hold).await?;
    pool.publish(cluster, 2, &json!([taint("NoSchedule"), taint("None")])).await?;
    pool.publish(cluster, 3, &json!([taint("NoExecute")])).await?;
    let pod = objects.wait("pods", "leaves", "to be evicted", is_evicted).await?;
    let conditions = pod["status"]["conditions"].as_array().context("conditions")?;
    let mark = conditions.iter().find(|it| it["type"] == "DisruptionTarget").context("no mark")?;
    ensure!(
        mark["status"] == "True"
            && mark["reason"] == "DeletionByDeviceTaintManager"
            && mark["message"] == "Device Taint manager: deleting due to NoExecute taint",
        "{mark}"
    );
    has_event(&objects, "leaves", &pod, "Marking for deletion").await?;
    objects.merge("pods", "leaves", &json!({"metadata": {"finalizers": null}})).await?;
    for name in ["leaves", "for-4s", "any-effect"] {
        objects.gone("pods", name).await?;
    }
    ensure!(!is_evicted(&objects.get("pods", "stays").await?), "it tolerates the taint");
    pool.withdraw(cluster).await
}

/// TestController, "cancel-eviction-remove-taint".
async fn without_the_taint_a_pod_stays(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "cancels").await?;
    let pool = Pool { name: "cancels", slices: 1, devices: 2 };
    pool.publish(cluster, 1, &json!([])).await?;
    let tolerations = json!([{"operator": "Exists", "effect": "NoExecute",
        "tolerationSeconds": 6}]);
    let pod = uses(&objects, &pool, 0, "first", &tolerations).await?;
    uses(&objects, &pool, 1, "witness", &json!([])).await?;
    pool.publish(cluster, 2, &json!([taint("NoExecute")])).await?;
    // Evicted at once, so the first one waits by now.
    objects.gone("pods", "witness").await?;
    pool.publish(cluster, 3, &json!([])).await?;
    has_event(&objects, "first", &pod, "Cancelling deletion").await?;
    // One that waits as long from now on would leave later than the first one.
    uses(&objects, &pool, 1, "second", &tolerations).await?;
    let other = Pool { name: "cancels-other", slices: 1, devices: 1 };
    other.publish(cluster, 1, &json!([taint("NoExecute")])).await?;
    uses(&objects, &other, 0, "third", &tolerations).await?;
    objects.gone("pods", "third").await?;
    for name in ["first", "second"] {
        ensure!(!is_evicted(&objects.get("pods", name).await?), "{name}: it was cancelled");
    }
    pool.withdraw(cluster).await?;
    other.withdraw(cluster).await
}

/// testEvictCluster: all devices of many slices are tainted at once.
async fn all_pods_of_a_pool_go_once(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "many").await?;
    let pool = Pool { name: "many", slices: MANY / SLICE_DEVICES, devices: SLICE_DEVICES };
    pool.publish(cluster, 1, &json!([])).await?;
    for at in 0..MANY {
        uses(&objects, &pool, at, &format!("pod-{at}"), &json!([])).await?;
    }
    let deleted = deletions(manager).await?;
    pool.publish(cluster, 2, &json!([taint("NoExecute")])).await?;
    for at in 0..MANY {
        objects.gone("pods", &format!("pod-{at}")).await?;
    }
    let counted = deletions(manager).await? - deleted;
    ensure!(counted == MANY, "{counted} deletions are counted");
    pool.withdraw(cluster).await
}

// === What the scenes share ===

/// A pool of devices, in slices.
struct Pool {
    name: &'static str,
    slices: usize,
    devices: usize,
}

impl Pool {
    /// Writes its slices in this generation, all devices with these taints.
    async fn publish(
        &self,
        cluster: &Cluster,
        generation: i64,
        taints: &Value,
    ) -> anyhow::Result<()> {
        let objects = Objects::of(cluster, "")?;
        for number in 0..self.slices {
            let first = number * self.devices;
            let devices = (first..first + self.devices)
                .map(|at| json!({"name": format!("device-{at}"), "taints": taints}));
            let devices: Vec<_> = devices.collect();
            let name = format!("{}-{number}", self.name);
            let pool = json!({"name": self.name, "generation": generation,
                "resourceSliceCount": self.slices});
            let spec = json!({"driver": DRIVER, "allNodes": true, "pool": pool,
                "devices": devices});
            if generation == 1 {
                let slice = json!({"metadata": {"name": name}, "spec": spec});
                objects.create(SLICES, &slice).await?;
            } else {
                objects.merge(SLICES, &name, &json!({"spec": spec})).await?;
            }
        }
        Ok(())
    }

    async fn withdraw(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let objects = Objects::of(cluster, "")?;
        for number in 0..self.slices {
            objects.delete(SLICES, &format!("{}-{number}", self.name)).await?;
        }
        Ok(())
    }
}

fn taint(effect: &str) -> Value {
    json!({"key": "testing", "effect": effect})
}

/// A pod that runs, with a claim of this device.
async fn uses(
    objects: &Objects,
    pool: &Pool,
    device: usize,
    name: &str,
    tolerations: &Value,
) -> anyhow::Result<Value> {
    let claim = json!({"metadata": {"name": name}, "spec": {"devices": {"requests":
        [{"name": "a", "exactly": {"deviceClassName": DRIVER}}]}}});
    objects.create(CLAIMS, &claim).await?;
    let pod = json!({
        "metadata": {"name": name},
        "spec": {"nodeName": NODE, "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "container", "image": "pause",
                "resources": {"claims": [{"name": "device"}]}}],
            "resourceClaims": [{"name": "device", "resourceClaimName": name}]},
    });
    let pod = objects.create("pods", &pod).await?;
    let result = json!({"request": "a", "driver": DRIVER, "pool": pool.name,
        "device": format!("device-{device}"), "tolerations": tolerations});
    let user = json!({"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]});
    let status = json!({"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]});
    objects.merge(CLAIMS, &format!("{name}/status"), &json!({"status": status})).await?;
    Ok(pod)
}

fn is_evicted(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_string()
}

async fn has_event(
    objects: &Objects,
    name: &str,
    pod: &Value,
    message: &str,
) -> anyhow::Result<()> {
    wait_until(&format!("the event {message:?}"), LIMIT, async || {
        let events = objects.list("events").await?;
        let is_it = |event: &Value| {
            event["message"] == message
                && event["reason"] == "DeviceTaintManagerEviction"
                && event["type"] == "Normal"
                && event["source"]["component"] == "device-taint-eviction-controller"
                && event["involvedObject"]["name"] == name
                && event["involvedObject"]["uid"] == pod["metadata"]["uid"]
        };
        Ok(events.iter().any(is_it).then_some(()))
    })
    .await
}

/// How many pods the manager says it has deleted.
async fn deletions(manager: &Manager) -> anyhow::Result<usize> {
    let page = manager.get("/metrics").await?;
    let mut values =
        page.lines().filter_map(|line| line.strip_prefix(DELETIONS)?.strip_prefix(' '));
    Ok(values.next().context("no deletions are counted")?.parse()?)
}

//! Claims that are deleted while pods use them, on the real API server, with upstream's roles. As
//! upstream's test/e2e/storage/pvc_protection.go, which needs volumes; here kwok plays the
//! kubelets.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, Requests, User, none_forbidden, quiet, since,
    writes,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=persistentvolumeclaim-protection-controller"];
const GATE: &str = "--feature-gates=PersistentVolumeClaimUnusedSinceTime=true";
const CLAIMS: &str = "persistentvolumeclaims";
const PROTECTION: &str = "kubernetes.io/pvc-protection";
/// How many claims one pod uses.
const MANY: usize = 30;
const LIMIT: Duration = Duration::from_mins(1);
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn claims_stay_while_pods_use_them() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        the_finalizer_comes_back(&cluster).await?;
        a_claim_waits_for_its_pod(&cluster, &manager).await?;
        an_unused_claim_is_deleted_at_once(&cluster).await?;
        a_pod_that_is_shut_down_keeps_no_claim_of_its_own(&cluster, &manager).await?;
        one_list_is_enough(&cluster, &manager).await?;
        let made = since(&requests, &cluster.request_counts().await?);
        none_forbidden(&made)?;
        ensure!(status_writes(&made) == 0, "no condition is written: {made:?}");
        anyhow::Ok(())
    };
    run.await.with_context(|| manager.log())?;
    manager.sigterm()?;
    manager.ended(LIMIT).await?;
    let args = [ARGS, &[GATE]].concat();
    let manager = Manager::start(&cluster, binary, User::ControllerManager, &args)?;
    claims_say_since_when_they_are_unused(&cluster, &manager).await.with_context(|| manager.log())
}

/// "PVC without finalizer -> finalizer is added". Nothing else of the claim changes.
async fn the_finalizer_comes_back(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "comes-back").await?;
    let made = claim(&objects, "data").await?;
    ensure!(made["metadata"]["finalizers"] == json!([PROTECTION]), "admission adds it: {made}");
    let other = json!({"metadata": {"finalizers": ["example.com/hold"], "labels": {"a": "b"}}});
    objects.merge(CLAIMS, "data", &other).await?;
    let both = json!(["example.com/hold", PROTECTION]);
    let has_both = |claim: &Value| claim["metadata"]["finalizers"] == both;
    let claim = objects.wait(CLAIMS, "data", "to be protected", has_both).await?;
    ensure!(claim["metadata"]["labels"] == json!({"a": "b"}), "{claim}");
    ensure!(claim["spec"] == made["spec"] && claim["status"] == made["status"], "{claim}");
    objects.delete(CLAIMS, "data").await?;
    let is_alone = |claim: &Value| claim["metadata"]["finalizers"] == json!(["example.com/hold"]);
    objects.wait(CLAIMS, "data", "to be let go", is_alone).await?;
    objects.merge(CLAIMS, "data", &json!({"metadata": {"finalizers": null}})).await?;
    objects.gone(CLAIMS, "data").await
}

/// "Verify that PVC in active use by a pod is not removed immediately", and neither is that of a
/// pod that has ended; it is deleted after the pod.
async fn a_claim_waits_for_its_pod(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "in-use").await?;
    for (name, outcome, phase) in [("runs", "none", "Running"), ("failed", "failed", "Failed")] {
        claim(&objects, name).await?;
        let pod = pod(name, &[name], &json!({"nodeName": "node-0", "restartPolicy": "Never"}));
        let mut pod = pod;
        pod["metadata"]["annotations"] = json!({"cluster-tests/outcome": outcome});
        objects.create("pods", &pod).await?;
        let is_so = |pod: &Value| pod["status"]["phase"] == phase;
        objects.wait("pods", name, "to come so far", is_so).await?;
        objects.delete(CLAIMS, name).await?;
    }
    quiet(cluster, manager, CALM).await?;
    for name in ["runs", "failed"] {
        let claim = objects.get(CLAIMS, name).await?;
        ensure!(claim["metadata"]["deletionTimestamp"].is_string(), "{claim}");
        ensure!(claim["metadata"]["finalizers"] == json!([PROTECTION]), "{claim}");
        objects.delete("pods", name).await?;
        objects.gone(CLAIMS, name).await?;
    }
    Ok(())
}

/// "immediate deletion of a PVC that is not in active use by a pod"; a pod on no node is none.
async fn an_unused_claim_is_deleted_at_once(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "unused").await?;
    claim(&objects, "data").await?;
    let waits = pod("waits", &["data"], &json!({"schedulerName": "nobody"}));
    objects.create("pods", &waits).await?;
    objects.delete(CLAIMS, "data").await?;
    objects.gone(CLAIMS, "data").await?;
    objects.get("pods", "waits").await.map(drop)
}

/// The claim of an ephemeral volume is deleted once its pod waits for nothing but finalizers; a
/// claim that such a pod names stays.
async fn a_pod_that_is_shut_down_keeps_no_claim_of_its_own(
    cluster: &Cluster,
    manager: &Manager,
) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "ephemeral").await?;
    claim(&objects, "named").await?;
    let mut user = pod("user", &["named"], &json!({"nodeName": "node-0"}));
    user["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let resources = json!({"requests": {"storage": "1Gi"}});
    let template = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}});
    let volume = json!({"name": "own", "ephemeral": {"volumeClaimTemplate": template}});
    let volumes = user["spec"]["volumes"].as_array_mut().context("volumes")?;
    volumes.push(volume);
    let user = objects.create("pods", &user).await?;
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "user",
        "uid": user["metadata"]["uid"], "controller": true});
    let own = json!({"metadata": {"name": "user-own", "ownerReferences": [owner]},
        "spec": template["spec"]});
    objects.create(CLAIMS, &own).await?;
    for name in ["named", "user-own"] {
        objects.delete(CLAIMS, name).await?;
    }
    quiet(cluster, manager, CALM).await?;
    objects.get(CLAIMS, "user-own").await?;
    objects.delete_with("pods", "user", &json!({"gracePeriodSeconds": 0})).await?;
    objects.gone(CLAIMS, "user-own").await?;
    quiet(cluster, manager, CALM).await?;
    objects.get(CLAIMS, "named").await?;
    objects.merge("pods", "user", &json!({"metadata": {"finalizers": null}})).await?;
    objects.gone(CLAIMS, "named").await
}

/// Many claims wait for one pod. Once it is deleted, its namespace is listed once for all of them.
async fn one_list_is_enough(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "many").await?;
    let names: Vec<_> = (0..MANY).map(|number| format!("data-{number}")).collect();
    for name in &names {
        claim(&objects, name).await?;
    }
    let used: Vec<_> = names.iter().map(String::as_str).collect();
    let user = pod("user", &used, &json!({"nodeName": "node-0"}));
    objects.create("pods", &user).await?;
    for name in &names {
        objects.delete(CLAIMS, name).await?;
    }
    quiet(cluster, manager, CALM).await?;
    let requests = cluster.request_counts().await?;
    objects.delete_with("pods", "user", &json!({"gracePeriodSeconds": 0})).await?;
    for name in &names {
        objects.gone(CLAIMS, name).await?;
    }
    let made = since(&requests, &cluster.request_counts().await?);
    let of = |verb: &str, resource: &str| -> u64 {
        let is = made.iter().filter(|(it, _)| it.verb == verb && it.resource == resource);
        is.map(|(_, count)| count).sum()
    };
    let (lists, puts) = (of("LIST", "pods"), of("PUT", CLAIMS));
    println!("{MANY} claims: {lists} lists of pods, {puts} PUTs");
    ensure!(lists <= 2, "{lists} lists");
    ensure!(puts == u64::try_from(MANY)?, "{puts} PUTs");
    Ok(())
}

/// TestPVCProtectionController, the rows with the gate.
async fn claims_say_since_when_they_are_unused(
    cluster: &Cluster,
    manager: &Manager,
) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "unused-since").await?;
    claim(&objects, "data").await?;
    let says = |status: &'static str, reason: &'static str, message: &'static str| {
        move |claim: &Value| {
            let conditions = claim["status"]["conditions"].as_array();
            conditions.is_some_and(|it| {
                let is_new = it.len() == 1 && it[0]["lastTransitionTime"].is_string();
                is_new
                    && it[0]["type"] == "Unused"
                    && it[0]["status"] == status
                    && it[0]["reason"] == reason
                    && it[0]["message"] == message
            })
        }
    };
    let unused = says("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC");
    let used = says("False", "PodUsingPVC", "A pod is currently referencing this PVC");
    objects.wait(CLAIMS, "data", "to be unused", &unused).await?;
    objects.create("pods", &pod("user", &["data"], &json!({"nodeName": "node-0"}))).await?;
    objects.wait(CLAIMS, "data", "to be used", used).await?;
    objects.delete("pods", "user").await?;
    objects.wait(CLAIMS, "data", "to be unused again", &unused).await?;
    let requests = cluster.request_counts().await?;
    quiet(cluster, manager, CALM).await?;
    let made = since(&requests, &cluster.request_counts().await?);
    ensure!(status_writes(&made) == 0, "then it is silent: {made:?}");
    objects.delete(CLAIMS, "data").await?;
    objects.gone(CLAIMS, "data").await
}

fn status_writes(requests: &Requests) -> u64 {
    writes(requests, |it| it.resource == "persistentvolumeclaims/status")
}

async fn claim(objects: &Objects, name: &str) -> anyhow::Result<Value> {
    let resources = json!({"requests": {"storage": "1Gi"}});
    let spec = json!({"storageClassName": "", "accessModes": ["ReadWriteOnce"],
        "resources": resources});
    objects.create(CLAIMS, &json!({"metadata": {"name": name}, "spec": spec})).await
}

/// A pod with these claims, and `more` in its spec.
fn pod(name: &str, claims: &[&str], more: &Value) -> Value {
    let volume =
        |claim: &&str| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
    let volumes: Vec<_> = claims.iter().map(volume).collect();
    let mut spec = more.clone();
    spec["containers"] = json!([{"name": "main", "image": "main"}]);
    spec["volumes"] = volumes.into();
    json!({"metadata": {"name": name}, "spec": spec})
}

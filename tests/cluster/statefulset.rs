//! StatefulSets on the real API server: upstream's integration tests
//! (test/integration/statefulset), with exact statuses, silence afterwards, and a manager that is
//! killed again and again.
//!
//! Pods with claims name their node: nobody binds claims here, and the scheduler would wait.

mod claims;
mod e2e;
mod resources;
mod updates;

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, silent, wait_until};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);
/// For what many sets take part in.
const MANY_LIMIT: Duration = Duration::from_mins(8);
const SETS: &str = "statefulsets";
/// How many sets the manager is killed over; the long form is 100.
const KILLED_SETS: &str = "STATEFUL_SETS";
const KILLED_SETS_BY_DEFAULT: usize = 20;
const KILLED_REPLICAS: usize = 10;
const ARGS: &[&str] = &[
    "--controllers=statefulset-controller,garbage-collector-controller",
    "--kube-api-qps=500",
    "--kube-api-burst=500",
];

#[tokio::test]
async fn stateful_sets_are_kept() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        the_same_claim_templates_may_be_put_again(&cluster).await?;
        scales_up_and_down(&cluster).await?;
        deleting_and_ended_pods_are_replaced(&cluster).await?;
        pods_are_available_after_a_while(&cluster).await?;
        refused_pods_are_not_counted(&cluster).await?;
        claims_get_owners(&cluster).await?;
        a_pod_below_the_partition_keeps_its_revision(&cluster).await?;
        numbers_start_anywhere(&cluster).await?;
        pods_have_a_subdomain(&cluster).await?;
        an_update_keeps_its_order(&cluster).await?;
        converged_is_silent(&cluster, &manager).await
    };
    run.await.with_context(|| manager.log())
}

/// TestVolumeTemplateNoopUpdate.
async fn the_same_claim_templates_may_be_put_again(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "noop").await?;
    let set = set("web", 3, json!({"volumeClaimTemplates": [claim("www")]}));
    let mut made = objects.create(SETS, &set).await?;
    made["spec"] = set["spec"].clone();
    // The controller writes the status meanwhile.
    made["metadata"]["resourceVersion"] = Value::Null;
    objects.replace(SETS, "web", &made).await?;
    objects.delete(SETS, "web").await
}

/// TestSpecReplicasChange.
async fn scales_up_and_down(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "scale").await?;
    objects.create(SETS, &set("sts", 2, json!({}))).await?;
    settled(&objects, "sts", 2).await?;
    for replicas in [3, 0, 2] {
        let scale = json!({"spec": {"replicas": replicas}});
        objects.merge(SETS, "sts/scale", &scale).await?;
        settled(&objects, "sts", replicas).await?;
    }
    let annotation = json!({"metadata": {"annotations": {"test": "annotation"}}});
    objects.merge(SETS, "sts", &json!({"spec": {"template": annotation}})).await?;
    settled(&objects, "sts", 2).await
}

/// TestDeletingAndTerminatingPods.
async fn deleting_and_ended_pods_are_replaced(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "ended").await?;
    let parallel = json!({"podManagementPolicy": "Parallel"});
    objects.create(SETS, &set("sts", 3, parallel)).await?;
    settled(&objects, "sts", 3).await?;
    let before = uids(&objects).await?;
    let block = json!({"metadata": {"finalizers": ["fake.example.com/block"]}});
    objects.merge("pods", "sts-0", &block).await?;
    objects.delete("pods", "sts-0").await?;
    let outcome = json!({"metadata": {"annotations": {"cluster-tests/outcome": "failed"}}});
    objects.merge("pods", "sts-1", &outcome).await?;
    let succeeded = json!({"status": {"phase": "Succeeded"}});
    objects.merge("pods", "sts-2/status", &succeeded).await?;
    wait_until("the pods that have ended to be replaced", LIMIT, async || {
        let after = uids(&objects).await?;
        let is_same = |name: &str| before.get(name) == after.get(name);
        ensure!(is_same("sts-0"), "one that is being deleted stays until it is gone");
        Ok((after.len() == 3 && !is_same("sts-1") && !is_same("sts-2")).then_some(()))
    })
    .await?;
    objects.merge("pods", "sts-0", &json!({"metadata": {"finalizers": null}})).await?;
    settled(&objects, "sts", 3).await?;
    ensure!(uids(&objects).await?.get("sts-0") != before.get("sts-0"), "sts-0 is replaced");
    Ok(())
}

/// TestStatefulSetAvailable: one that is not ready, one that is not available, two that are.
async fn pods_are_available_after_a_while(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "available").await?;
    let more = json!({"podManagementPolicy": "Parallel", "minReadySeconds": 3600});
    objects.create(SETS, &idle(set("sts", 4, more))).await?;
    has_status(&objects, "sts", &json!({"replicas": 4})).await?;
    let (now, ago) = ("2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z");
    let pods = [("sts-0", "False", ago), ("sts-1", "True", now), ("sts-2", "True", ago)];
    for (name, ready, since) in pods.into_iter().chain([("sts-3", "True", ago)]) {
        make_ready(&objects, name, ready, since).await?;
    }
    let counts = json!({"replicas": 4, "readyReplicas": 3, "availableReplicas": 2});
    has_status(&objects, "sts", &counts).await
}

/// TestStatefulSetStatusWithPodFail (kubernetes/kubernetes 108837): the API server refuses the
/// third pod.
async fn refused_pods_are_not_counted(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "refused").await?;
    let (hard, used) = (json!({"pods": "2"}), json!({"pods": "0"}));
    let quota = json!({"metadata": {"name": "two"}, "spec": {"hard": hard}});
    objects.create("resourcequotas", &quota).await?;
    let status = json!({"status": {"hard": hard, "used": used}});
    objects.merge("resourcequotas", "two/status", &status).await?;
    objects.create(SETS, &set("sts", 4, json!({}))).await?;
    has_status(&objects, "sts", &json!({"replicas": 2, "readyReplicas": 2})).await?;
    wait_until("an event", LIMIT, async || {
        let events = objects.list("events").await?;
        let found = events.iter().find(|event| event["reason"] == "FailedCreate");
        let Some(event) = found else { return Ok(None) };
        let message = event["message"].as_str().unwrap_or_default();
        let start = "Create Pod sts-2 in StatefulSet sts failed error: pods \"sts-2\" is \
                     forbidden: exceeded quota: two";
        ensure!(message.starts_with(start), "{message}");
        ensure!(event["source"]["component"] == "statefulset-controller", "{event}");
        Ok(Some(()))
    })
    .await?;
    objects.delete("resourcequotas", "two").await?;
    settled(&objects, "sts", 4).await
}

/// TestAutodeleteOwnerRefs: by policy, who owns a claim; and what becomes of it.
async fn claims_get_owners(cluster: &Cluster) -> anyhow::Result<()> {
    let policies = [
        ("always-retain", "Retain", "Retain"),
        ("delete-on-scaledown-only", "Delete", "Retain"),
        ("delete-with-set-only", "Retain", "Delete"),
        ("always-delete", "Delete", "Delete"),
    ];
    for (namespace, when_scaled, when_deleted) in policies {
        let objects = Objects::in_new(cluster, namespace).await?;
        let policy = json!({"whenScaled": when_scaled, "whenDeleted": when_deleted});
        let more = json!({"persistentVolumeClaimRetentionPolicy": policy,
            "volumeClaimTemplates": [claim("data")]});
        let made = objects.create(SETS, &set("sts", 3, more)).await?;
        settled(&objects, "sts", 3).await?;
        let by_set = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "sts",
            "uid": made["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}]);
        let kept = if when_deleted == "Delete" { by_set } else { Value::Null };
        for ordinal in 0..3 {
            let name = format!("data-sts-{ordinal}");
            let is_owned = |claim: &Value| claim["metadata"]["ownerReferences"] == kept;
            objects.wait("persistentvolumeclaims", &name, "to be owned so", is_owned).await?;
        }
        objects.merge(SETS, "sts/scale", &json!({"spec": {"replicas": 1}})).await?;
        settled(&objects, "sts", 1).await?;
        let claims = async |expected: usize| {
            wait_until(&format!("{expected} claims in {namespace}"), LIMIT, async || {
                let found = objects.count("persistentvolumeclaims").await?;
                Ok((found == u64::try_from(expected)?).then_some(()))
            })
            .await
        };
        // Nobody is there who would let go of those that pods have used.
        for ordinal in 1..3 {
            release(&objects, &format!("data-sts-{ordinal}"), when_scaled).await?;
        }
        claims(if when_scaled == "Delete" { 1 } else { 3 }).await?;
        objects.delete(SETS, "sts").await?;
        objects.gone(SETS, "sts").await?;
        for claim in objects.list("persistentvolumeclaims").await? {
            let name = claim["metadata"]["name"].as_str().unwrap_or_default();
            release(&objects, name, when_deleted).await?;
        }
        claims(match (when_scaled, when_deleted) {
            (_, "Delete") => 0,
            ("Delete", _) => 1,
            (_, _) => 3,
        })
        .await?;
    }
    Ok(())
}

/// Takes the protection of a claim away, which its controller would, if it is to be deleted.
async fn release(objects: &Objects, name: &str, policy: &str) -> anyhow::Result<()> {
    if policy == "Delete" && objects.find("persistentvolumeclaims", name).await?.is_some() {
        let free = json!({"metadata": {"finalizers": null}});
        objects.merge("persistentvolumeclaims", name, &free).await?;
    }
    Ok(())
}

/// TestDeletingPodForRollingUpdatePartition.
async fn a_pod_below_the_partition_keeps_its_revision(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "partition").await?;
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
    objects.create(SETS, &set("sts", 2, json!({"updateStrategy": strategy}))).await?;
    settled(&objects, "sts", 2).await?;
    let block = json!({"metadata": {"finalizers": ["fake.example.com/block"]}});
    objects.merge("pods", "sts-0", &block).await?;
    let image = json!([{"name": "main", "image": "new-image"}]);
    let template = json!({"spec": {"template": {"spec": {"containers": image}}}});
    objects.merge(SETS, "sts", &template).await?;
    let updated = json!({"replicas": 2, "readyReplicas": 2, "updatedReplicas": 1});
    has_status(&objects, "sts", &updated).await?;
    let outcome = json!({"metadata": {"annotations": {"cluster-tests/outcome": "failed"}}});
    objects.merge("pods", "sts-0", &outcome).await?;
    objects.delete("pods", "sts-0").await?;
    has_status(&objects, "sts", &json!({"readyReplicas": 1})).await?;
    let old = uids(&objects).await?;
    objects.merge("pods", "sts-0", &json!({"metadata": {"finalizers": null}})).await?;
    wait_until("another sts-0", LIMIT, async || {
        let new = uids(&objects).await?;
        Ok((new.contains_key("sts-0") && new.get("sts-0") != old.get("sts-0")).then_some(()))
    })
    .await?;
    has_status(&objects, "sts", &updated).await?;
    for (name, image) in [("sts-0", "example.com/image"), ("sts-1", "new-image")] {
        let pod = objects.get("pods", name).await?;
        ensure!(pod["spec"]["containers"][0]["image"] == image, "{name}: {}", pod["spec"]);
    }
    Ok(())
}

/// TestStatefulSetStartOrdinal.
async fn numbers_start_anywhere(cluster: &Cluster) -> anyhow::Result<()> {
    let cases = [
        ("no-ordinals", Value::Null, 0, 3),
        ("no-start-ordinals", json!({}), 0, 3),
        ("start-ordinal-4", json!({"start": 4}), 4, 4),
        ("start-ordinal-2", json!({"start": 2}), 2, 7),
    ];
    for (namespace, ordinals, start, replicas) in cases {
        let objects = Objects::in_new(cluster, namespace).await?;
        objects.create(SETS, &set("sts", replicas, json!({"ordinals": ordinals}))).await?;
        settled(&objects, "sts", replicas).await?;
        for pod in objects.list("pods").await? {
            let index = pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"].clone();
            let index = index.as_str().context("an index")?.to_owned();
            ensure!(pod["metadata"]["name"] == format!("sts-{index}"), "{pod}");
        }
        let expected: Vec<_> = (start..start + replicas).map(|at| format!("sts-{at}")).collect();
        let names: Vec<_> = uids(&objects).await?.into_keys().collect();
        ensure!(names == expected, "{names:?}");
        objects.merge(SETS, "sts/scale", &json!({"spec": {"replicas": 1}})).await?;
        settled(&objects, "sts", 1).await?;
        let names: Vec<_> = uids(&objects).await?.into_keys().collect();
        ensure!(names == [format!("sts-{start}")], "{names:?}");
    }
    Ok(())
}

/// TestStatefulSetPodSubdomain.
async fn pods_have_a_subdomain(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "subdomain").await?;
    objects.create(SETS, &set("sts", 3, json!({"serviceName": "test-service"}))).await?;
    settled(&objects, "sts", 3).await?;
    for pod in objects.list("pods").await? {
        ensure!(pod["spec"]["subdomain"] == "test-service", "{}", pod["spec"]);
        ensure!(pod["spec"]["hostname"] == pod["metadata"]["name"], "{}", pod["spec"]);
    }
    Ok(())
}

/// Issue: what a watch shows of a rolling update: each pod is deleted only once the one before it
/// was made again and is ready, from the highest number down.
async fn an_update_keeps_its_order(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "order").await?;
    objects.create(SETS, &set("sts", 5, json!({}))).await?;
    settled(&objects, "sts", 5).await?;
    let api: Api<Pod> = Api::namespaced(cluster.admin()?, "order");
    let list = api.list(&ListParams::default()).await?;
    let version = list.metadata.resource_version.context("a version")?;
    let mut watch = pin!(api.watch(&WatchParams::default(), &version).await?.boxed());
    let annotation = json!({"metadata": {"annotations": {"version": "two"}}});
    objects.merge(SETS, "sts", &json!({"spec": {"template": annotation}})).await?;
    let (mut seen, mut ready) = (Vec::new(), 0);
    while ready < 5 {
        let event = watch.try_next().await?.context("the watch ended")?;
        let (word, pod) = match event {
            WatchEvent::Added(pod) => ("made", pod),
            WatchEvent::Deleted(pod) => ("deleted", pod),
            WatchEvent::Modified(pod) => {
                let is_new =
                    pod.metadata.annotations.as_ref().is_some_and(|all| {
                        all.get("version").is_some_and(|version| version == "two")
                    });
                let conditions = pod.status.iter().flat_map(|status| status.conditions.iter());
                let mut conditions = conditions.flatten();
                let is_ready = conditions.any(|it| it.type_ == "Ready" && it.status == "True");
                if !is_new || !is_ready {
                    continue;
                }
                ("ready", pod)
            }
            other => anyhow::bail!("{other:?}"),
        };
        let line = format!("{word} {}", pod.metadata.name.unwrap_or_default());
        if seen.last() != Some(&line) {
            ready += usize::from(word == "ready");
            seen.push(line);
        }
    }
    let expected: Vec<_> = (0..5)
        .rev()
        .flat_map(|at| ["deleted", "made", "ready"].map(|word| format!("{word} sts-{at}")))
        .collect();
    ensure!(seen == expected, "{seen:?}");
    settled(&objects, "sts", 5).await
}

/// Nothing is written any more, and nothing was refused but what a quota refuses.
async fn converged_is_silent(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let calm = [Duration::from_secs(5), Duration::from_secs(15)];
    silent(cluster, manager, calm, |request| !request.is_fake_clusters_own()).await?;
    let requests = cluster.request_counts().await?;
    let refused: Vec<_> = requests.keys().filter(|r| r.code == 403 && r.verb != "POST").collect();
    ensure!(refused.is_empty(), "{refused:?}");
    Ok(())
}

/// Issue: many sets with two claims each survive a manager that is killed at any moment: all pods
/// and claims are there, none twice, and each set has one revision for each of its templates.
#[tokio::test]
async fn sets_survive_a_manager_that_is_killed() -> anyhow::Result<()> {
    let count = std::env::var(KILLED_SETS).map_or(Ok(KILLED_SETS_BY_DEFAULT), |it| it.parse())?;
    let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
    let objects = Objects::in_new(&cluster, "killed").await?;
    let mut manager = start(&cluster)?;
    let more = |name: &str| {
        let policy = if name.ends_with('1') { "Parallel" } else { "OrderedReady" };
        json!({"podManagementPolicy": policy,
            "volumeClaimTemplates": [claim("data"), claim("log")]})
    };
    let names: Vec<String> = (0..count).map(|at| format!("set-{at}")).collect();
    let sets = names.iter().map(|name| set(name, KILLED_REPLICAS, more(name)));
    objects.create_all(SETS, sets).await?;
    let total = count * KILLED_REPLICAS;
    // Not at equal moments: each time another number of pods is there.
    for share in [3, 11, 23, 31, 47, 61, 79, 97] {
        let wanted = u64::try_from(total * share / 100)?;
        wait_until(&format!("{wanted} pods"), MANY_LIMIT, async || {
            Ok((objects.count("pods").await? >= wanted).then_some(()))
        })
        .await?;
        manager.sigkill();
        manager = start(&cluster)?;
    }
    all_settled(&objects, &names).await.with_context(|| manager.log())?;
    are_exact(&objects, &names, 1).await?;
    // The same while they roll.
    let annotation = json!({"metadata": {"annotations": {"version": "two"}}});
    for name in &names {
        objects.merge(SETS, name, &json!({"spec": {"template": annotation}})).await?;
    }
    for share in [7, 29, 53, 83] {
        let wanted = total * share / 100;
        wait_until(&format!("{wanted} new pods"), MANY_LIMIT, async || {
            let is_new = |pod: &&Value| pod["metadata"]["annotations"]["version"] == "two";
            let found = objects.list("pods").await?.iter().filter(is_new).count();
            Ok((found >= wanted).then_some(()))
        })
        .await?;
        manager.sigkill();
        manager = start(&cluster)?;
    }
    all_settled(&objects, &names).await.with_context(|| manager.log())?;
    are_exact(&objects, &names, 2).await
}

fn start(cluster: &Cluster) -> anyhow::Result<Manager> {
    let args = ["--controllers=statefulset-controller", "--kube-api-qps=200"];
    Manager::start(cluster, Binary::under_test()?, User::ControllerManager, &args)
}

async fn all_settled(objects: &Objects, names: &[String]) -> anyhow::Result<()> {
    wait_until("all sets to be as asked for", MANY_LIMIT, async || {
        let sets = objects.list(SETS).await?;
        let settled = sets.iter().filter(|set| is_settled(set)).count();
        ensure!(settled == names.len(), "{settled} of {} are", names.len());
        Ok(Some(()))
    })
    .await
}

async fn are_exact(objects: &Objects, names: &[String], revisions: usize) -> anyhow::Result<()> {
    let listed = async |resource: &str| -> anyhow::Result<Vec<String>> {
        let all = objects.list(resource).await?;
        let name = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
        let mut all: Vec<_> = all.iter().filter_map(name).collect();
        all.sort();
        Ok(all)
    };
    let each = |prefixes: &[&str]| {
        let mut all: Vec<_> = names
            .iter()
            .flat_map(|name| (0..KILLED_REPLICAS).map(move |at| format!("{name}-{at}")))
            .flat_map(|pod| prefixes.iter().map(move |prefix| format!("{prefix}{pod}")))
            .collect();
        all.sort();
        all
    };
    ensure!(listed("pods").await? == each(&[""]), "the pods");
    let claims = listed("persistentvolumeclaims").await?;
    ensure!(claims == each(&["data-", "log-"]), "the claims");
    for name in names {
        let of_set = objects.list("controllerrevisions").await?;
        let owned = |it: &&Value| it["metadata"]["ownerReferences"][0]["name"] == *name;
        let mut numbers: Vec<_> =
            of_set.iter().filter(owned).map(|it| it["revision"].as_u64()).collect();
        numbers.sort();
        let expected: Vec<_> = (1..=revisions).map(|number| u64::try_from(number).ok()).collect();
        ensure!(numbers == expected, "{name}: revisions {numbers:?}");
    }
    Ok(())
}

/// A set of this name with pods of label `app=<name>`, and these fields in its spec.
#[expect(clippy::needless_pass_by_value, reason = "each caller makes it for this call")]
fn set(name: &str, replicas: usize, more: Value) -> Value {
    let labels = json!({"app": name});
    let container = json!({"name": "main", "image": "example.com/image"});
    let mut spec = json!({
        "replicas": replicas,
        "serviceName": "",
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"nodeName": "node-0", "terminationGracePeriodSeconds": 0,
                "containers": [container]},
        },
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
        "spec": spec})
}

/// With pods whose status is the test's to write.
fn idle(mut set: Value) -> Value {
    let annotations = json!({"cluster-tests/outcome": "pending"});
    set["spec"]["template"]["metadata"]["annotations"] = annotations;
    set
}

fn claim(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"],
        "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}})
}

async fn make_ready(objects: &Objects, pod: &str, ready: &str, since: &str) -> anyhow::Result<()> {
    let condition = json!({"type": "Ready", "status": ready, "lastTransitionTime": since});
    let status = json!({"status": {"phase": "Running", "conditions": [condition]}});
    objects.merge("pods", &format!("{pod}/status"), &status).await
}

async fn scale(objects: &Objects, name: &str, replicas: usize) -> anyhow::Result<()> {
    objects.merge(SETS, &format!("{name}/scale"), &json!({"spec": {"replicas": replicas}})).await
}

/// The uids of the pods, by name.
async fn uids(objects: &Objects) -> anyhow::Result<BTreeMap<String, String>> {
    let pods = objects.list("pods").await?;
    let text =
        |pod: &Value, key: &str| pod["metadata"][key].as_str().unwrap_or_default().to_owned();
    Ok(pods.iter().map(|pod| (text(pod, "name"), text(pod, "uid"))).collect())
}

/// Whether the whole status says that all is done.
fn is_settled(set: &Value) -> bool {
    let (status, replicas) = (&set["status"], set["spec"]["replicas"].as_u64().unwrap_or(0));
    let counts = ["replicas", "readyReplicas", "availableReplicas", "updatedReplicas"];
    status["observedGeneration"] == set["metadata"]["generation"]
        && counts.iter().all(|field| status[field].as_u64().unwrap_or(0) == replicas)
        && status["currentReplicas"].as_u64().unwrap_or(0) == replicas
        && status["currentRevision"] == status["updateRevision"]
        && status["collisionCount"] == 0
}

async fn settled(objects: &Objects, name: &str, replicas: usize) -> anyhow::Result<()> {
    let what = format!("to have {replicas} pods");
    objects.wait(SETS, name, &what, is_settled).await.map(drop)
}

/// Waits until these fields of the status are so.
async fn has_status(objects: &Objects, name: &str, fields: &Value) -> anyhow::Result<()> {
    let wanted = |set: &Value| {
        fields
            .as_object()
            .into_iter()
            .flatten()
            .all(|(field, value)| set["status"][field] == *value)
    };
    objects.wait(SETS, name, &format!("to say {fields}"), wanted).await.map(drop)
}

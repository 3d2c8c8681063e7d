//! ReplicationControllers on the real API server: upstream's integration tests
//! (test/integration/replicationcontroller), with exact statuses, and silence afterwards.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, silent, wait_until};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);
const RCS: &str = "replicationcontrollers";
const ARGS: &[&str] = &[
    "--controllers=replicationcontroller-controller,replicaset-controller",
    "--kube-api-qps=500",
    "--kube-api-burst=500",
];

#[tokio::test]
async fn replication_controllers_are_kept() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 30, ..Options::default() }).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        scales_up_and_down(&cluster).await?;
        adoption(&cluster).await?;
        pods_leave_and_join_with_their_labels(&cluster).await?;
        overlapping_ones_leave_each_other_alone(&cluster).await?;
        deleting_and_failed_pods_are_replaced(&cluster).await?;
        ready_available_and_fully_labeled(&cluster).await?;
        refused_creates_are_reported(&cluster).await?;
        converged_is_silent(&cluster, &manager).await
    };
    run.await.with_context(|| manager.log())
}

/// TestSpecReplicasChange and TestRCScaleSubresource: by `/scale`, with exact status at each stop.
async fn scales_up_and_down(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "scale").await?;
    create(&objects, "big", 0, json!({})).await?;
    for replicas in [0, 200, 7, 0, 3] {
        let scale = json!({"spec": {"replicas": replicas}});
        objects.merge(RCS, "big/scale", &scale).await?;
        settled(&objects, "big", replicas).await?;
        let scale = objects.get(RCS, "big/scale").await?;
        ensure!(scale["status"]["replicas"] == replicas, "{scale}");
        let pods = objects.list("pods").await?;
        let is_live = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
        let live = pods.iter().filter(is_live).count();
        ensure!(live == usize::try_from(replicas)?, "{live} pods of {replicas}");
    }
    let events = objects.list("events").await?;
    let about = |event: &&Value| event["involvedObject"]["kind"] == "ReplicationController";
    let made = events.iter().filter(about).find(|event| event["reason"] == "SuccessfulCreate");
    let made = made.context("an event")?;
    ensure!(made["involvedObject"]["apiVersion"] == "v1", "{made}");
    ensure!(made["source"]["component"] == "replication-controller", "{made}");
    Ok(())
}

/// TestAdoption, all rows. One more pod than asked for may be deleted once it is adopted.
async fn adoption(cluster: &Cluster) -> anyhow::Result<()> {
    let refers = |rc: &Value, controller: Value| {
        let [name, uid] = ["name", "uid"].map(|key| &rc["metadata"][key]);
        let mut owner = json!({"apiVersion": "v1", "kind": "ReplicationController", "name": name,
            "uid": uid});
        if controller != Value::Null {
            owner["controller"] = controller;
        }
        owner
    };
    let other = json!({"apiVersion": "v1", "kind": "ReplicationController", "name": "anotherRC",
        "uid": "1", "controller": true});
    for row in ["owner", "none", "controller", "other"] {
        let objects = Objects::in_new(cluster, &format!("adoption-{row}")).await?;
        let rc = create(&objects, "rc", 1, json!({})).await?;
        settled(&objects, "rc", 1).await?;
        let mut taken = refers(&rc, json!(true));
        taken["blockOwnerDeletion"] = json!(true);
        let plain = refers(&rc, Value::Null);
        let managed = refers(&rc, json!(true));
        let (owners, expected) = match row {
            "owner" => (json!([plain]), json!([taken])),
            "none" => (json!([]), json!([taken])),
            "controller" => (json!([managed]), json!([managed])),
            _ => (json!([other, plain]), json!([other, plain])),
        };
        let mut pod = pod("pod", "rc");
        pod["metadata"]["ownerReferences"] = owners;
        objects.create("pods", &pod).await?;
        wait_until(row, LIMIT, async || {
            let Some(pod) = objects.find("pods", "pod").await? else { return Ok(Some(())) };
            Ok((pod["metadata"]["ownerReferences"] == expected).then_some(()))
        })
        .await?;
        settled(&objects, "rc", 1).await?;
    }
    Ok(())
}

/// TestPodOrphaningAndAdoptionWhenLabelsChange and TestExtraPodsAdoptionAndDeletion.
async fn pods_leave_and_join_with_their_labels(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "labels").await?;
    create(&objects, "rc", 1, json!({})).await?;
    settled(&objects, "rc", 1).await?;
    let pods = objects.list("pods").await?;
    let first = pods.first().and_then(|pod| pod["metadata"]["name"].as_str()).context("a pod")?;
    objects.merge("pods", first, &json!({"metadata": {"labels": {"app": "away"}}})).await?;
    let is_free = |pod: &Value| pod["metadata"]["ownerReferences"].is_null();
    objects.wait("pods", first, "to be released", is_free).await?;
    has_pods(&objects, 2).await?;
    settled(&objects, "rc", 1).await?;
    objects.merge("pods", first, &json!({"metadata": {"labels": {"app": "rc"}}})).await?;
    has_pods(&objects, 1).await?;
    settled(&objects, "rc", 1).await
}

/// TestOverlappingRCs; and a ReplicaSet that selects the same pods.
async fn overlapping_ones_leave_each_other_alone(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "overlap").await?;
    let both = json!({"selector": {"app": "both"},
        "template": {"metadata": {"labels": {"app": "both"}}}});
    for name in ["one", "two"] {
        create(&objects, name, 3, both.clone()).await?;
    }
    let mut set = json!({"metadata": {"name": "one"}, "spec": {"replicas": 2, "selector":
        {"matchLabels": {"app": "both"}}, "template": pod("", "both")}});
    set["spec"]["template"]["metadata"] = json!({"labels": {"app": "both"}});
    objects.create("replicasets", &set).await?;
    for name in ["one", "two"] {
        settled(&objects, name, 3).await?;
    }
    let done = |set: &Value| set["status"]["availableReplicas"] == 2;
    objects.wait("replicasets", "one", "to have two pods", done).await?;
    has_pods(&objects, 8).await
}

/// TestDeletingAndFailedPods.
async fn deleting_and_failed_pods_are_replaced(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "failed").await?;
    create(&objects, "rc", 2, json!({})).await?;
    settled(&objects, "rc", 2).await?;
    let pods = objects.list("pods").await?;
    let names: Vec<_> = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
    let [held, failed] = names[..] else { anyhow::bail!("two pods: {names:?}") };
    let block = json!({"metadata": {"finalizers": ["example.com/block"]}});
    objects.merge("pods", held, &block).await?;
    objects.delete("pods", held).await?;
    let outcome = json!({"metadata": {"annotations": {"cluster-tests/outcome": "failed"}}});
    objects.merge("pods", failed, &outcome).await?;
    has_pods(&objects, 4).await?;
    settled(&objects, "rc", 2).await?;
    objects.merge("pods", held, &json!({"metadata": {"finalizers": null}})).await
}

/// TestReadyAndAvailableReplicas and TestFullyLabeledReplicas.
async fn ready_available_and_fully_labeled(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "counts").await?;
    create(&objects, "rc", 2, json!({"minReadySeconds": 4})).await?;
    let is_ready = |rc: &Value| rc["status"]["readyReplicas"] == 2;
    let ready = objects.wait(RCS, "rc", "to have ready pods", is_ready).await?;
    ensure!(ready["status"]["availableReplicas"] != 2, "not available before four seconds");
    settled(&objects, "rc", 2).await?;
    // Pods that are there have fewer labels than those that the template makes now.
    let more = json!({"spec": {"template": {"metadata": {"labels": {"more": "x"}}}}});
    objects.merge(RCS, "rc", &more).await?;
    let is_seen = |rc: &Value| {
        rc["status"]["observedGeneration"] == rc["metadata"]["generation"]
            && rc["status"]["fullyLabeledReplicas"].is_null()
    };
    let rc = objects.wait(RCS, "rc", "to have pods without the label", is_seen).await?;
    ensure!(rc["status"]["replicas"] == 2, "{rc}");
    ensure!(rc["status"]["terminatingReplicas"].is_null(), "{rc}");
    Ok(())
}

/// e2e: should surface a failure condition on a common issue like exceeded quota.
async fn refused_creates_are_reported(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "refused").await?;
    let none = json!({"pods": "0"});
    let quota = json!({"metadata": {"name": "none"}, "spec": {"hard": none}});
    objects.create("resourcequotas", &quota).await?;
    let used = json!({"status": {"hard": none, "used": none}});
    objects.merge("resourcequotas", "none/status", &used).await?;
    create(&objects, "rc", 2, json!({})).await?;
    let fails = |rc: &Value| rc["status"]["conditions"][0]["type"] == "ReplicaFailure";
    let rc = objects.wait(RCS, "rc", "to fail", fails).await?;
    let condition = &rc["status"]["conditions"][0];
    ensure!(condition["reason"] == "FailedCreate" && condition["status"] == "True", "{condition}");
    ensure!(condition["message"].to_string().contains("exceeded quota: none"), "{condition}");
    objects.delete("resourcequotas", "none").await?;
    settled(&objects, "rc", 2).await
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

fn pod(name: &str, app: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": app}},
        "spec": {"containers": [{"name": "main", "image": "example.com/image"}],
            "terminationGracePeriodSeconds": 0}})
}

/// One with pods of label `app=<name>`, and these fields of its spec instead of its own.
async fn create(
    objects: &Objects,
    name: &str,
    replicas: i64,
    more: Value,
) -> anyhow::Result<Value> {
    let mut template = pod("", name);
    template["metadata"] = json!({"labels": {"app": name}});
    let mut spec = json!({"replicas": replicas, "selector": {"app": name}, "template": template});
    for (field, value) in more.as_object().into_iter().flatten() {
        match (field.as_str(), value.as_object()) {
            ("template", Some(parts)) => {
                parts.iter().for_each(|(part, value)| spec[field][part] = value.clone());
            }
            _ => spec[field] = value.clone(),
        }
    }
    objects.create(RCS, &json!({"metadata": {"name": name}, "spec": spec})).await
}

/// Waits until the whole status says that all is done.
async fn settled(objects: &Objects, name: &str, replicas: i64) -> anyhow::Result<()> {
    let what = format!("to have {replicas} pods");
    let done = |rc: &Value| {
        let mut expected = json!({"replicas": replicas,
            "observedGeneration": rc["metadata"]["generation"]});
        if replicas > 0 {
            for field in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
                expected[field] = json!(replicas);
            }
        }
        rc["status"] == expected
    };
    objects.wait(RCS, name, &what, done).await.map(drop)
}

async fn has_pods(objects: &Objects, count: u64) -> anyhow::Result<()> {
    wait_until(&format!("{count} pods in {}", objects.namespace()), LIMIT, async || {
        let found = objects.count("pods").await?;
        ensure!(found == count, "{found}");
        Ok(Some(()))
    })
    .await
}

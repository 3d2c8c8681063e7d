//! A namespace with many objects of many kinds.

use super::{delete, gone, start};
use anyhow::{Context, ensure};
use cluster_tests::{Cluster, CustomKind, Objects, Options, now, since};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many objects, all kinds together; the number is 5000.
const OBJECTS: &str = "NAMESPACE_OBJECTS";
const OBJECTS_BY_DEFAULT: usize = 500;

/// Issue: a namespace with 5,000 mixed objects ends, and the one beside it is not touched.
pub(super) async fn many_objects() -> anyhow::Result<()> {
    let count = std::env::var(OBJECTS).map_or(Ok(OBJECTS_BY_DEFAULT), |text| text.parse())?;
    let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
    let manager = start(&cluster).await?;
    let kind = CustomKind::new("things");
    kind.define(&cluster).await?;
    let (goes, stays) =
        (Objects::in_new(&cluster, "goes").await?, Objects::in_new(&cluster, "stays").await?);
    let kinds = mixed(&kind);
    let each = count.div_ceil(kinds.len());
    for (resource, object) in &kinds {
        goes.create_all(resource, (0..each).map(|number| named(object, number))).await?;
        stays.create_all(resource, (0..2).map(|number| named(object, number))).await?;
    }
    let (before, started) = (cluster.request_counts().await?, now());
    delete(&cluster, &goes).await?;
    gone(&cluster, &goes).await.with_context(|| manager.log())?;
    let (time, after) = (now() - started, cluster.request_counts().await?);
    for (resource, _) in &kinds {
        ensure!(goes.count(resource).await? == 0, "{resource} are left");
        let others = stays.list(resource).await?;
        ensure!(others.len() == 2, "{} {resource} beside it", others.len());
        ensure!(others.iter().all(|object| object["metadata"]["deletionTimestamp"].is_null()));
    }
    let mut verbs: BTreeMap<_, u64> = BTreeMap::new();
    for (request, count) in since(&before, &after) {
        // The ends of pods are the fake kubelet's.
        let is_fake = request.is_fake_clusters_own() || request.resource == "pods";
        if !is_fake && !["WATCH", "POST"].contains(&request.verb.as_str()) {
            *verbs.entry(request.verb).or_default() += count;
        }
    }
    let total = each * kinds.len();
    println!("{total} objects of {} kinds in {time:?}: {verbs:?}", kinds.len());
    Ok(())
}

/// By resource, an object of which any number may be made.
fn mixed(kind: &CustomKind) -> Vec<(String, Value)> {
    let labels = json!({"app": "mixed"});
    let containers = json!([{"name": "main", "image": "main"}]);
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    let selector = json!({"matchLabels": labels});
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = "Never".into();
    let kinds = [
        ("configmaps", json!({"data": {"key": "value"}})),
        ("secrets", json!({"stringData": {"key": "value"}})),
        ("serviceaccounts", json!({})),
        ("services", json!({"spec": {"ports": [{"port": 80}], "selector": labels}})),
        ("pods", json!({"spec": template["spec"]})),
        ("replicationcontrollers", json!({"spec": {"selector": labels, "template": template}})),
        ("deployments", json!({"spec": {"selector": selector, "template": template}})),
        ("jobs.v1.batch", json!({"spec": {"template": once}})),
        ("leases.v1.coordination.k8s.io", json!({"spec": {"holderIdentity": "nobody"}})),
        ("roles.v1.rbac.authorization.k8s.io", json!({"rules": []})),
    ];
    let kinds = kinds.into_iter().map(|(resource, object)| (resource.to_owned(), object));
    kinds.chain([(kind.resource(), kind.object(&json!({})))]).collect()
}

fn named(object: &Value, number: usize) -> Value {
    let mut object = object.clone();
    object["metadata"] = json!({"name": format!("object-{number}")});
    object
}

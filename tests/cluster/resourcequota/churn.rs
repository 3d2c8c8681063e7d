//! A quota that is raised, lowered and deleted while objects of ten kinds come and go, among them
//! kinds that come and go themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use cluster_tests::{Cluster, CustomKind, Objects, wait_until};
use futures::future::{try_join, try_join_all};
use serde_json::{Value, json};

use super::QUOTAS;

/// How many objects come, of all kinds together; `QUOTA_OBJECTS` says otherwise.
const OBJECTS: usize = 300;
/// How many of them are created at once.
const AT_ONCE: usize = 4;
const LIMIT: Duration = Duration::from_mins(3);
/// What the quota counts besides the custom kind.
const KINDS: [&str; 9] = [
    "pods",
    "services",
    "configmaps",
    "secrets",
    "persistentvolumeclaims",
    "serviceaccounts",
    "replicasets.v1.apps",
    "leases.v1.coordination.k8s.io",
    "resourceclaims.v1.resource.k8s.io",
];

pub(super) async fn objects_come_and_go(cluster: &Cluster) -> anyhow::Result<()> {
    let count = std::env::var("QUOTA_OBJECTS").ok().map(|text| text.parse()).transpose()?;
    let each = count.unwrap_or(OBJECTS) / (KINDS.len() + 1);
    let objects = Objects::in_new(cluster, "churn").await?;
    let (first, second) = (CustomKind::new("widgets"), CustomKind::new("gadgets"));
    first.define(cluster).await?;
    objects.create(QUOTAS, &quota(&[&first, &second], 5001)).await?;
    let kinds =
        KINDS.iter().map(|kind| churn(&objects, kind, each, move |name| object(kind, name)));
    let custom = first.resource();
    let custom = churn(&objects, &custom, each, |name| first.object(&json!({"name": name})));
    let all = try_join(try_join_all(kinds), custom);
    let appears = async {
        second.define(cluster).await?;
        let resource = second.resource();
        churn(&objects, &resource, each, |name| second.object(&json!({"name": name}))).await
    };
    try_join(try_join(all, appears), limits_change(&objects, &[&first, &second])).await?;
    is_exact(&objects, &[&first, &second]).await?;
    second.withdraw(cluster).await?;
    let name = count_name(&second.resource());
    wait_until("the objects of a kind that is withdrawn to be uncounted", LIMIT, async || {
        let quota = objects.get(QUOTAS, "quota").await?;
        Ok((quota["status"]["used"][&name] == "0").then_some(()))
    })
    .await?;
    is_exact(&objects, &[&first]).await
}

/// Creates objects and deletes every second one.
async fn churn(
    objects: &Objects,
    resource: &str,
    count: usize,
    object: impl Fn(&str) -> Value,
) -> anyhow::Result<()> {
    let object = &object;
    let lane = |lane: usize| async move {
        for number in (lane..count).step_by(AT_ONCE) {
            let name = format!("it-{number}");
            let what = format!("{resource} {name} to be admitted");
            wait_until(&what, LIMIT, async || {
                match objects.create(resource, &object(&name)).await {
                    Ok(_) => Ok(Some(())),
                    // A conflict is the quota's, and the object was not created.
                    Err(error) if format!("{error:#}").contains("already exists") => Ok(Some(())),
                    // Also a quota that is not counted yet.
                    Err(error) => Err(error),
                }
            })
            .await?;
            if number % 2 == 1 {
                objects.delete(resource, &name).await.with_context(|| what.clone())?;
            }
        }
        Ok(())
    };
    try_join_all((0..AT_ONCE).map(lane)).await.map(drop)
}

/// Raises and lowers the limits, and once the quota is another one.
async fn limits_change(objects: &Objects, custom: &[&CustomKind]) -> anyhow::Result<()> {
    for (number, limit) in [9001, 4001, 8001, 3001, 7001].into_iter().enumerate() {
        let quota = quota(custom, limit);
        if number == 2 {
            objects.delete(QUOTAS, "quota").await?;
            objects.create(QUOTAS, &quota).await?;
        } else {
            objects.merge(QUOTAS, "quota", &json!({"spec": quota["spec"]})).await?;
        }
        let is_so = |it: &Value| it["status"]["hard"] == quota["spec"]["hard"];
        objects.wait(QUOTAS, "quota", "to have other limits", is_so).await?;
    }
    Ok(())
}

/// Waits until the quota counts what there is.
async fn is_exact(objects: &Objects, custom: &[&CustomKind]) -> anyhow::Result<()> {
    wait_until("the quota to be exact", LIMIT, async || {
        let mut there = BTreeMap::new();
        let custom = custom.iter().map(|kind| kind.resource());
        for resource in KINDS.iter().map(|kind| (*kind).to_owned()).chain(custom) {
            let count = objects.list(&resource).await?.len().to_string();
            there.insert(count_name(&resource), Value::from(count));
        }
        let quota = objects.get(QUOTAS, "quota").await?;
        let used = &quota["status"]["used"];
        let wrong = there.iter().find(|(name, count)| used[name.as_str()] != **count);
        anyhow::ensure!(wrong.is_none(), "there are {wrong:?}, and used is {used}");
        Ok(Some(()))
    })
    .await
}

/// What a quota calls the count of `plural.version.group`.
fn count_name(resource: &str) -> String {
    match resource.split_once('.') {
        Some((plural, rest)) => {
            let group = rest.split_once('.').map_or("", |(_, group)| group);
            format!("count/{plural}.{group}")
        }
        None => format!("count/{resource}"),
    }
}

fn quota(custom: &[&CustomKind], limit: u32) -> Value {
    let custom = custom.iter().map(|kind| kind.resource());
    let names = KINDS.iter().map(|kind| (*kind).to_owned()).chain(custom);
    let hard: BTreeMap<_, _> =
        names.map(|resource| (count_name(&resource), limit.to_string())).collect();
    json!({"metadata": {"name": "quota"}, "spec": {"hard": hard}})
}

fn object(resource: &str, name: &str) -> Value {
    let containers = json!([{"name": "main", "image": "main"}]);
    let spec = match resource {
        "pods" => json!({ "containers": containers }),
        "services" => json!({"type": "ExternalName", "externalName": "example.com"}),
        "persistentvolumeclaims" => json!({"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}),
        "replicasets.v1.apps" => json!({"replicas": 0, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}}),
        "resourceclaims.v1.resource.k8s.io" => {
            let one = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1});
            json!({"devices": {"requests": [{"name": "one", "exactly": one}]}})
        }
        "leases.v1.coordination.k8s.io" => json!({}),
        _ => return json!({"metadata": {"name": name}}),
    };
    json!({"metadata": {"name": name}, "spec": spec})
}

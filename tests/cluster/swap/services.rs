//! Services of every shape, and what is listed of their pods: the next manager writes none of it.
//! Endpoints that have been cut are an exception: upstream's manager compares them with all
//! addresses, and so writes them at each sync, its own, too.

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, Queues, User, quiet, since, wait_until, writes,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::{CALM, LIMIT, NAMESPACE, SLICES};

/// One more than Endpoints have room for.
const PODS: usize = 1001;
const AT_ONCE: usize = 32;
/// A node without a kubelet: its pods are as is said here.
const NODE: &str = "by-hand";

/// Those of the pods that are behind most of the Services.
const FEW: usize = 5;
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";

#[tokio::test]
async fn ours_keeps_what_upstream_has_cut() -> anyhow::Result<()> {
    let args = ["--controllers=endpoints-controller,endpointslice-controller"];
    let cluster = Cluster::start(Options::default()).await?;
    let objects = Objects::in_new(&cluster, NAMESPACE).await?;
    let user = User::ControllerManager;
    let mut upstream = Manager::start(&cluster, Binary::Upstream, user, &args)?;
    node(&objects).await?;
    pods(&objects, PODS).await?;
    let spec = json!({"selector": {"app": "many"}, "ports": [{"port": 80}]});
    let service = json!({"metadata": {"name": "many"}, "spec": spec});
    objects.create("services", &service).await?;
    let is_full = |it: &Value| it["metadata"]["annotations"][OVER_CAPACITY] == "truncated";
    objects.wait("endpoints", "many", "to be truncated", is_full).await?;
    wait_until("slices of all pods", LIMIT, async || {
        let slices = objects.list(SLICES).await?;
        let sizes = slices.iter().map(|it| it["endpoints"].as_array().map_or(0, Vec::len));
        Ok((sizes.sum::<usize>() == PODS).then_some(()))
    })
    .await?;
    quiet(&cluster, &upstream, CALM).await?;
    upstream.sigterm()?;
    upstream.ended(LIMIT).await?;
    let listed = async || -> anyhow::Result<_> {
        Ok([objects.list("endpoints").await?, objects.list(SLICES).await?])
    };
    let (before, requests) = (listed().await?, cluster.request_counts().await?);
    let ours = Manager::start(&cluster, Binary::Ours, user, &args)?;
    wait_until("both Services to be synced", LIMIT, async || {
        let adds = Queues::of(&ours).await?.adds;
        let is_done = |queue: &str| adds.get(queue).is_some_and(|adds| *adds >= 2);
        Ok((is_done("endpoint") && is_done("endpoint_slice")).then_some(()))
    })
    .await
    .with_context(|| ours.log())?;
    quiet(&cluster, &ours, CALM).await?;
    let made = since(&requests, &cluster.request_counts().await?);
    let written = writes(&made, |it| it.resource.starts_with("endpoint"));
    ensure!(written == 0 && before == listed().await?, "{written} writes: {made:?}");
    Ok(())
}

async fn node(objects: &Objects) -> anyhow::Result<()> {
    let zone = json!({"topology.kubernetes.io/zone": "a"});
    // Pods of DaemonSets would never be ready there.
    let taints = json!([{"key": "example.com/by-hand", "effect": "NoSchedule"}]);
    let metadata = json!({"name": NODE, "labels": zone});
    let node = json!({"metadata": metadata, "spec": {"taints": taints}});
    objects.of_all().create("nodes", &node).await.map(drop)
}

/// Makes so many pods, of both families. Some have a port of the same name with another number,
/// some are not ready.
async fn pods(objects: &Objects, count: usize) -> anyhow::Result<()> {
    let all = (0..count).map(|number| async move {
        let port = json!({"name": "http", "containerPort": 8080 + number % 2});
        let container = json!({"name": "main", "image": "main", "ports": [port]});
        let metadata = json!({"name": format!("many-{number}"), "labels": {"app": "many"}});
        let spec = json!({"nodeName": NODE, "containers": [container]});
        objects.create("pods", &json!({"metadata": metadata, "spec": spec})).await?;
        let ready = if number == FEW - 1 { "False" } else { "True" };
        let condition = json!({"type": "Ready", "status": ready,
            "lastTransitionTime": "2026-01-02T03:04:05Z"});
        let ip = format!("10.200.{}.{}", number / 250, number % 250 + 1);
        let second = format!("fd00:10:200::{:x}", number + 1);
        let status = json!({"phase": "Running", "podIP": ip,
            "podIPs": [{ "ip": ip }, { "ip": second }], "conditions": [condition]});
        let name = format!("many-{number}/status");
        objects.merge("pods", &name, &json!({ "status": status })).await
    });
    stream::iter(all).buffer_unordered(AT_ONCE).try_collect().await
}

/// Makes all of it, and waits until what takes longest is done.
pub(super) async fn create(objects: &Objects) -> anyhow::Result<()> {
    node(objects).await?;
    pods(objects, FEW).await?;
    for (name, spec) in shapes() {
        let metadata = json!({"name": name, "labels": {"team": "a"}});
        objects.create("services", &json!({"metadata": metadata, "spec": spec})).await?;
    }
    for name in ["custom", "custom-headless", "unmirrored"] {
        let skip = json!({"endpointslice.kubernetes.io/skip-mirror": "true"});
        let labels = if name == "unmirrored" { skip } else { json!({"team": "a"}) };
        let metadata = json!({"name": name, "labels": labels, "annotations": {"note": "x"}});
        let subsets = json!([
            {"addresses": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.2", "hostname": "h"}],
                "ports": [{"name": "sql", "port": 5432}]},
            {"notReadyAddresses": [{"ip": "fd00::1"}], "ports": [{"name": "x", "port": 1}]},
        ]);
        let made = json!({"metadata": metadata, "subsets": subsets});
        objects.create("endpoints", &made).await?;
    }
    let is_there = |it: &Value| !it["subsets"].is_null();
    for name in ["plain", "publishes", "workload", "six"] {
        objects.wait("endpoints", name, "to have addresses", is_there).await?;
    }
    have_shapes(objects).await
}

/// Waits until the slices of each shape have what the shape is there for.
async fn have_shapes(objects: &Objects) -> anyhow::Result<()> {
    wait_until("slices of all shapes", LIMIT, async || {
        let all = objects.list(SLICES).await?;
        let endpoints = |name: &str, family: &str| -> Vec<Value> {
            let is_of = |it: &&Value| {
                let of = &it["metadata"]["labels"]["kubernetes.io/service-name"];
                *of == name && it["addressType"] == family
            };
            let lists = all.iter().filter(is_of).filter_map(|it| it["endpoints"].as_array());
            lists.flatten().cloned().collect()
        };
        for (name, families) in [
            ("dual", &["IPv4", "IPv6"][..]),
            ("dual-headless", &["IPv4", "IPv6"]),
            ("dual-prefers", &["IPv4", "IPv6"]),
            ("six", &["IPv6"]),
        ] {
            for family in families {
                let found = endpoints(name, family).len();
                ensure!(found == FEW, "{name} has {found} endpoints of {family}");
            }
        }
        for (name, hint) in [
            ("close", "forZones"),
            ("same-zone", "forZones"),
            ("same-node", "forNodes"),
            ("workload-node", "forNodes"),
        ] {
            let found = endpoints(name, "IPv4");
            let is_hinted = found.iter().any(|it| !it["hints"][hint].is_null());
            ensure!(is_hinted, "{name} has no {hint}: {found:?}");
        }
        Ok(Some(()))
    })
    .await
}

fn shapes() -> Vec<(&'static str, Value)> {
    [shapes_of_both_families(), shapes_of_one_family()].concat()
}

fn shapes_of_both_families() -> Vec<(&'static str, Value)> {
    let few = json!({"app": "many"});
    let ports = json!([{"name": "http", "port": 80, "targetPort": "http"}]);
    vec![
        (
            "dual",
            json!({"selector": few, "ipFamilyPolicy": "RequireDualStack", "ports": [{"port": 80}]}),
        ),
        (
            "dual-headless",
            json!({"selector": few, "ipFamilyPolicy": "RequireDualStack", "clusterIP": "None",
                "publishNotReadyAddresses": true, "ports": ports}),
        ),
        (
            "dual-prefers",
            json!({"selector": few, "ipFamilyPolicy": "PreferDualStack",
                "ipFamilies": ["IPv6", "IPv4"], "trafficDistribution": "PreferSameNode",
                "ports": ports}),
        ),
        // Without a selector and headless it is of both families by itself.
        ("custom-headless", json!({"clusterIP": "None", "ports": [{"port": 80}]})),
    ]
}

fn shapes_of_one_family() -> Vec<(&'static str, Value)> {
    let few = json!({"app": "many"});
    let ports = json!([{"name": "http", "port": 80, "targetPort": "http"}]);
    let distributed = |app: &str, how: &str| {
        let selector = json!({ "app": app });
        json!({"selector": selector, "trafficDistribution": how, "ports": [{"port": 80}]})
    };
    vec![
        ("plain", json!({"selector": few, "ports": [{"port": 80}]})),
        ("six", json!({"selector": few, "ipFamilies": ["IPv6"], "ports": [{"port": 80}]})),
        ("named", json!({"selector": few, "ports": ports})),
        ("headless", json!({"selector": few, "clusterIP": "None", "ports": ports})),
        ("no-ports", json!({"selector": few, "clusterIP": "None"})),
        ("publishes", json!({"selector": few, "publishNotReadyAddresses": true, "ports": ports})),
        ("close", json!({"selector": few, "trafficDistribution": "PreferClose", "ports": ports})),
        ("same-zone", distributed("many", "PreferSameZone")),
        ("same-node", distributed("many", "PreferSameNode")),
        // Its nodes are in no zone.
        ("workload-node", distributed("history", "PreferSameNode")),
        (
            "several",
            json!({"selector": few, "ports": [
                {"name": "a", "port": 80, "targetPort": 1, "appProtocol": "example.com/x"},
                {"name": "b", "port": 81, "targetPort": "http"},
                {"name": "c", "port": 80, "targetPort": "http", "protocol": "UDP"}]}),
        ),
        ("unknown-port", json!({"selector": few, "ports": [{"port": 80, "targetPort": "none"}]})),
        ("workload", json!({"selector": {"app": "history"}, "ports": [{"port": 80}]})),
        ("nothing", json!({"selector": {"app": "nothing"}, "ports": [{"port": 80}]})),
        ("custom", json!({"ports": [{"port": 80}]})),
        ("unmirrored", json!({"ports": [{"port": 80}]})),
        (
            "external",
            json!({"type": "ExternalName", "externalName": "example.com",
            "selector": few}),
        ),
    ]
}

/// All of it goes on: of the pods no address is left.
pub(super) async fn end(objects: &Objects) -> anyhow::Result<()> {
    let pods = objects.list("pods").await?;
    let names = pods.iter().filter(|pod| pod["spec"]["nodeName"] == NODE);
    let names = names.map(|pod| pod["metadata"]["name"].as_str().context("a name"));
    let names = names.collect::<anyhow::Result<Vec<_>>>()?;
    let grace = json!({"gracePeriodSeconds": 0});
    let grace = &grace;
    let all = names
        .into_iter()
        .map(|name| async move { objects.delete_with("pods", name, grace).await.map(drop) });
    stream::iter(all).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let is_empty = |it: &Value| it["subsets"].is_null();
    for name in ["plain", "publishes", "dual", "six"] {
        objects.wait("endpoints", name, &format!("of {NAMESPACE} to be empty"), is_empty).await?;
    }
    Ok(())
}

//! Services, their Endpoints and their EndpointSlices on the real API server, with upstream's
//! roles. As upstream's test/integration/endpoints, endpointslice and dualstack.

mod consumer;
mod many;
mod mirroring;
mod scenes;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, since, wait_until,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=endpoints-controller,endpointslice-controller,\
                         endpointslice-mirroring-controller"];
/// The last flag of a name counts.
pub(crate) const DUAL_STACK: &str = "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112";
const SLICES: &str = "endpointslices.v1.discovery.k8s.io";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const LIMIT: Duration = Duration::from_mins(1);
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);
/// A node without a kubelet: tests say how its pods are.
const NODE: &str = "by-hand";

#[tokio::test]
async fn services_get_endpoints_and_slices() -> anyhow::Result<()> {
    let apiserver_args = vec![DUAL_STACK.to_owned()];
    let cluster =
        Cluster::start(Options { nodes: 2, apiserver_args, ..Options::default() }).await?;
    let node = json!({"metadata": {"name": NODE, "labels": {"topology.kubernetes.io/zone": "a"}}});
    Objects::of(&cluster, "")?.create("nodes", &node).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        scenes::play(&cluster, &manager).await?;
        mirroring::play(&cluster, &manager).await?;
        many::play(&cluster, &manager).await?;
        let made = since(&requests, &cluster.request_counts().await?);
        none_forbidden(&made)?;
        anyhow::Ok(())
    };
    run.await.with_context(|| manager.log())
}

/// A Service of the pods with its label, and with `more` in its spec.
fn service(name: &str, more: &Value) -> Value {
    let mut spec = json!({"selector": {"foo": "bar"},
        "ports": [{"name": "port-443", "port": 443, "protocol": "TCP", "targetPort": 443}]});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"metadata": {"name": name, "labels": {"foo": "bar"}}, "spec": spec})
}

/// A pod on the node by hand.
fn pod(name: &str) -> Value {
    let spec = json!({"nodeName": NODE, "containers": [{"name": "main", "image": "main"}]});
    json!({"metadata": {"name": name, "labels": {"foo": "bar"}}, "spec": spec})
}

/// The status of a pod that runs.
fn status(ips: &[&str], ready: &str) -> Value {
    let ips: Vec<_> = ips.iter().map(|ip| json!({ "ip": ip })).collect();
    let conditions = json!([{"type": "Ready", "status": ready}]);
    json!({"status": {"phase": "Running", "podIP": ips.first().map(|it| it["ip"].clone()),
        "podIPs": ips, "conditions": conditions}})
}

/// Makes a pod with these addresses.
async fn run(objects: &Objects, pod: &Value, ips: &[&str], ready: &str) -> anyhow::Result<()> {
    objects.create("pods", pod).await?;
    let name = pod["metadata"]["name"].as_str().context("a name")?;
    say(objects, name, ips, ready).await
}

async fn say(objects: &Objects, pod: &str, ips: &[&str], ready: &str) -> anyhow::Result<()> {
    objects.merge("pods", &format!("{pod}/status"), &status(ips, ready)).await
}

/// The slices of a Service, those of IPv4 first.
async fn slices(objects: &Objects, service: &str) -> anyhow::Result<Vec<Value>> {
    let mut slices = objects.list(SLICES).await?;
    slices.retain(|it| it["metadata"]["labels"]["kubernetes.io/service-name"] == service);
    slices.sort_by_key(|it| (it["addressType"].to_string(), it["metadata"]["name"].to_string()));
    Ok(slices)
}

/// Waits until the slices of a Service are as wanted.
async fn sliced(
    objects: &Objects,
    service: &str,
    what: &str,
    wanted: impl Fn(&[Value]) -> bool,
) -> anyhow::Result<Vec<Value>> {
    let what = format!("slices of {}/{service} {what}", objects.namespace());
    wait_until(&what, LIMIT, async || {
        let slices = slices(objects, service).await?;
        ensure!(wanted(&slices), "{}", json!(slices));
        Ok(Some(slices))
    })
    .await
}

/// Waits until there are Endpoints as wanted.
async fn endpoints(
    objects: &Objects,
    name: &str,
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> anyhow::Result<Value> {
    let what = format!("endpoints {}/{name} {what}", objects.namespace());
    wait_until(&what, LIMIT, async || {
        let found = objects.get("endpoints", name).await?;
        ensure!(wanted(&found), "{found}");
        Ok(Some(found))
    })
    .await
}

/// All addresses of Endpoints in this list of their subsets.
fn addresses(endpoints: &Value, list: &str) -> BTreeSet<String> {
    let subsets = endpoints["subsets"].as_array().into_iter().flatten();
    let all = subsets.flat_map(|subset| subset[list].as_array().into_iter().flatten());
    all.filter_map(|address| address["ip"].as_str().map(str::to_owned)).collect()
}

/// All addresses of slices that have this condition.
fn that_are(slices: &[Value], condition: &str) -> BTreeSet<String> {
    let endpoints = slices.iter().flat_map(|it| it["endpoints"].as_array().into_iter().flatten());
    let fitting = endpoints.filter(|it| it["conditions"][condition] == true);
    let all = fitting.flat_map(|it| it["addresses"].as_array().into_iter().flatten());
    all.filter_map(|ip| ip.as_str().map(str::to_owned)).collect()
}

fn set(ips: &[&str]) -> BTreeSet<String> {
    ips.iter().map(|ip| (*ip).to_owned()).collect()
}

/// Whether a slice has nothing in it. The API server keeps no empty lists.
fn is_placeholder(slice: &Value) -> bool {
    slice["endpoints"].is_null() && slice["ports"].is_null()
}

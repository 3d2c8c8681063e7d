//! Questions about pools of devices on the real API server, with upstream's roles. As
//! TestResourcePoolStatusRequest of upstream's
//! test/integration/dra/resourcepoolstatusrequest_test.go.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since,
};
use serde_json::{Value, json};

const REQUESTS: &str = "resourcepoolstatusrequests.v1alpha3.resource.k8s.io";
const SLICES: &str = "resourceslices.v1.resource.k8s.io";
const GATE: &str = "--feature-gates=DRAResourcePoolStatus=true";
const SERVED: &str = "--runtime-config=resource.k8s.io/v1alpha3=true";
const ARGS: [&str; 2] = ["--controllers=resourcepoolstatusrequest-controller", GATE];
const DRIVER: &str = "gpu.example.com";
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn questions_about_pools_are_answered_once() -> anyhow::Result<()> {
    let apiserver_args = [GATE, SERVED].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    let all = Objects::of(&cluster, "")?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        for (name, pool) in [("a", "pool-a"), ("b", "pool-b"), ("c", "pool-c")] {
            all.create(SLICES, &slice(name, pool, 1)).await?;
        }
        // testProcessResourcePoolStatusRequest
        let answer = answered(&all, "whole", json!({"driver": DRIVER})).await?;
        ensure!(answer["poolCount"] == 3, "{answer}");
        let first = &answer["pools"][0];
        let numbers =
            ["resourceSliceCount", "totalDevices", "allocatedDevices", "availableDevices"];
        let numbers = numbers.map(|field| first[field].as_i64());
        ensure!(first["poolName"] == "pool-a" && numbers == [1, 2, 0, 2].map(Some), "{first}");
        let condition = &answer["conditions"][0];
        ensure!(condition["type"] == "Complete" && condition["status"] == "True", "{condition}");
        // testLimitTruncation
        let answer = answered(&all, "cut", json!({"driver": DRIVER, "limit": 2})).await?;
        let pools = answer["pools"].as_array().map(Vec::len);
        ensure!(answer["poolCount"] == 3 && pools == Some(2), "{answer}");
        // testFilterByPoolName
        let spec = json!({"driver": DRIVER, "poolName": "pool-b"});
        let answer = answered(&all, "one", spec).await?;
        ensure!(answer["poolCount"] == 1 && answer["pools"][0]["poolName"] == "pool-b", "{answer}");
        // testOneTimeProcessing
        let before = all.get(REQUESTS, "whole").await?;
        all.create(SLICES, &slice("d", "pool-d", 1)).await?;
        silent(&cluster, &manager, [CALM; 2], |it| it.resource.starts_with("resourcepool")).await?;
        ensure!(all.get(REQUESTS, "whole").await? == before, "it has its answer");
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

async fn answered(all: &Objects, name: &str, spec: Value) -> anyhow::Result<Value> {
    all.create(REQUESTS, &json!({"metadata": {"name": name}, "spec": spec})).await?;
    let has_answer = |it: &Value| it["status"]["conditions"].is_array();
    let request = all.wait(REQUESTS, name, "to have its answer", has_answer).await?;
    Ok(request["status"].clone())
}

fn slice(name: &str, pool: &str, slices: usize) -> Value {
    json!({"metadata": {"name": name}, "spec": {"driver": DRIVER, "allNodes": true,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": slices},
        "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}})
}

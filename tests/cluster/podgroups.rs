//! The protection of PodGroups on the real API server, with upstream's roles and its admission,
//! which adds the finalizer. Upstream has unit tests alone
//! (pkg/controller/scheduling/podgroupprotection).

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since,
};
use serde_json::{Value, json};

const GROUPS: &str = "podgroups.v1alpha2.scheduling.k8s.io";
const GATE: &str = "--feature-gates=GenericWorkload=true";
const SERVED: &str = "--runtime-config=scheduling.k8s.io/v1alpha2=true";
const ARGS: [&str; 2] = ["--controllers=podgroup-protection-controller", GATE];
const PROTECTION: &str = "scheduling.k8s.io/podgroup-protection";
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn groups_stay_while_pods_may_run_in_them() -> anyhow::Result<()> {
    let apiserver_args = [GATE, SERVED].map(str::to_owned).to_vec();
    let options = Options { nodes: 1, apiserver_args, ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        let objects = Objects::in_new(&cluster, "groups").await?;
        for name in ["empty", "ended", "gang"] {
            let group = objects.create(GROUPS, &group(name)).await?;
            ensure!(is_held(&group), "admission adds the finalizer: {group}");
        }
        for (name, group) in [("first", "gang"), ("second", "gang"), ("third", "ended")] {
            let pod = objects.create("pods", &pod(name, group)).await?;
            ensure!(pod["spec"]["schedulingGroup"]["podGroupName"] == group, "{pod}");
        }
        for name in ["first", "second", "third"] {
            let is_running = |pod: &Value| pod["status"]["phase"] == "Running";
            objects.wait("pods", name, "to run", is_running).await?;
        }
        // One that no pod is in goes at once, and one whose pod has ended.
        objects.delete(GROUPS, "empty").await?;
        objects.gone(GROUPS, "empty").await?;
        let ended = json!({"status": {"phase": "Succeeded"}});
        objects.merge("pods", "third/status", &ended).await?;
        objects.delete(GROUPS, "ended").await?;
        objects.gone(GROUPS, "ended").await?;
        // The others wait for the last pod.
        objects.delete(GROUPS, "gang").await?;
        objects.delete("pods", "first").await?;
        objects.gone("pods", "first").await?;
        silent(&cluster, &manager, [CALM; 2], |it| it.resource == "podgroups").await?;
        ensure!(is_held(&objects.get(GROUPS, "gang").await?), "a pod may run in it");
        objects.delete("pods", "second").await?;
        objects.gone(GROUPS, "gang").await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

fn group(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"schedulingPolicy": {"basic": {}}}})
}

fn pod(name: &str, group: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"nodeName": "node-0", "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "container", "image": "pause"}],
            "schedulingGroup": {"podGroupName": group}},
    })
}

fn is_held(group: &Value) -> bool {
    let finalizers = group["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|it| it.iter().any(|it| it == PROTECTION))
}

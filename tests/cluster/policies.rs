//! What is said of ValidatingAdmissionPolicies on the real API server. Upstream's:
//! test/integration/apiserver/cel/typeresolution_test.go and test/e2e/apimachinery's "should type
//! check a ValidatingAdmissionPolicy", of which there are no warnings here yet.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since,
};
use serde_json::{Value, json};

const POLICIES: &str = "validatingadmissionpolicies.v1.admissionregistration.k8s.io";
const ARGS: [&str; 1] = ["--controllers=validatingadmissionpolicy-status-controller"];
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn each_generation_of_a_policy_is_looked_at() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let manager = start(&cluster, Binary::under_test()?).await?;
    let requests = cluster.request_counts().await?;
    let all = Objects::of(&cluster, "default")?.of_all();
    let run = async {
        all.create(POLICIES, &policy("anything", "*", "*")).await?;
        seen(&all, "anything", 1).await?;
        let is_checked = is_checked(&all.get(POLICIES, "anything").await?);
        ensure!(is_checked, "there is nothing to check");
        all.create(POLICIES, &policy("limits", "apps", "deployments")).await?;
        seen(&all, "limits", 1).await?;
        let message = json!({"spec": {"validations": [
            {"expression": "object.spec.replicas > 3", "message": "too few"},
        ]}});
        all.merge(POLICIES, "limits", &message).await?;
        seen(&all, "limits", 2).await?;
        all.delete(POLICIES, "anything").await?;
        all.gone(POLICIES, "anything").await?;
        silent(&cluster, &manager, [CALM; 2], |it| it.resource == "validatingadmissionpolicies")
            .await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

/// Warnings of upstream's manager stay, and it does not look again at what ours has looked at.
#[tokio::test]
async fn what_either_manager_says_stays() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let all = Objects::of(&cluster, "default")?.of_all();
    let (mut by_upstream, mut by_ours) = (Value::Null, Value::Null);
    for (name, binary) in [("first", Binary::Upstream), ("second", Binary::Ours)] {
        let manager = start(&cluster, binary).await?;
        let run = async {
            all.create(POLICIES, &policy(name, "apps", "deployments")).await?;
            seen(&all, name, 1).await?;
            silent(&cluster, &manager, [CALM; 2], |it| {
                it.resource == "validatingadmissionpolicies"
            })
            .await?;
            let said = all.get(POLICIES, "first").await?;
            if binary == Binary::Upstream {
                by_upstream = said;
                let warning = &by_upstream["status"]["typeChecking"]["expressionWarnings"][0];
                let text = warning["warning"].as_str().unwrap_or_default();
                ensure!(text.contains("undefined field 'replicaz'"), "{by_upstream}");
            } else {
                ensure!(said == by_upstream, "{said}, was {by_upstream}");
                by_ours = all.get(POLICIES, "second").await?;
                ensure!(!is_checked(&by_ours), "nobody has checked it: {by_ours}");
            }
            anyhow::Ok(())
        };
        run.await.with_context(|| manager.log())?;
    }
    let manager = start(&cluster, Binary::Upstream).await?;
    silent(&cluster, &manager, [CALM; 2], |it| it.resource == "validatingadmissionpolicies")
        .await?;
    let said = all.get(POLICIES, "second").await?;
    ensure!(said == by_ours, "{said}, was {by_ours}");
    Ok(())
}

async fn start(cluster: &Cluster, binary: Binary) -> anyhow::Result<Manager> {
    let mut manager = Manager::start(cluster, binary, User::ControllerManager, &ARGS)?;
    manager.healthy().await?;
    Ok(manager)
}

/// Waits until a generation was looked at.
async fn seen(all: &Objects, name: &str, generation: u64) -> anyhow::Result<()> {
    let is_seen = |policy: &Value| policy["status"]["observedGeneration"] == generation;
    all.wait(POLICIES, name, "to be looked at", is_seen).await.map(drop)
}

fn is_checked(policy: &Value) -> bool {
    policy["status"]["typeChecking"].is_object()
}

/// A policy with a field that there is not.
fn policy(name: &str, group: &str, resource: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": [group], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": [resource]}]},
            "validations": [{"expression": "object.spec.replicaz > 1"}],
        },
    })
}

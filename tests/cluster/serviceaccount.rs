//! Service accounts, their tokens and the root CA on the real API server, with the admission that
//! asks for them. Upstream's integration tests are those of test/integration/serviceaccount;
//! TestLegacyServiceAccountTokenTracking is about the API server alone.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Caller, Cluster, Manager, Objects, Options, User, now, wait_until};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

mod legacy;
mod tokens;

const LIMIT: Duration = Duration::from_mins(1);
const ARGS: &[&str] = &["--controllers=serviceaccount-controller,serviceaccount-token-controller,\
     root-ca-certificate-publisher-controller"];
/// How often the time until a pod is admitted is taken; the median counts.
const TRIES: usize = 5;

#[tokio::test]
async fn service_accounts_and_their_tokens() -> anyhow::Result<()> {
    let options = Options { nodes: 1, service_accounts: true, ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        pods_start_in_new_namespaces(&cluster).await?;
        tokio::try_join!(
            default_account_comes_back(&cluster),
            tokens::authenticate(&cluster),
            tokens::go_with_their_account(&cluster),
            tokens::leave_their_account(&cluster),
            tokens::are_made_whole_again(&cluster),
        )?;
        legacy::unused_tokens_are_cleaned_up(&cluster).await
    };
    run.await.with_context(|| manager.log())
}

/// TestServiceAccountTokenAutoMount. Issue: a pod can start in a new namespace within a second.
async fn pods_start_in_new_namespaces(cluster: &Cluster) -> anyhow::Result<()> {
    let root_ca = fs::read_to_string(cluster.ca_path())?;
    // Until the manager is ready, this takes as long as that does.
    admitted(cluster, "first").await?;
    let mut times = Vec::new();
    for number in 0..TRIES {
        let (objects, time) = admitted(cluster, &format!("pod-{number}")).await?;
        times.push(time);
        let pod = objects
            .wait("pods", "pod", "to run", |pod| pod["status"]["phase"] == "Running")
            .await?;
        ensure!(pod["spec"]["serviceAccountName"] == "default");
        ensure!(pod["spec"]["volumes"][0]["projected"].is_object(), "{pod}");
        // What that volume takes besides a token, without which a real pod does not start.
        let published =
            objects.wait("configmaps", "kube-root-ca.crt", "to be there", |_| true).await?;
        ensure!(published["data"] == json!({"ca.crt": root_ca}), "{published}");
    }
    times.sort();
    println!("from the namespace to its first pod: {times:?}");
    ensure!(times[TRIES / 2] < Duration::from_secs(1), "{times:?}");
    Ok(())
}

/// Makes a namespace and a pod in it; from the one to the other it takes this long.
async fn admitted(cluster: &Cluster, namespace: &str) -> anyhow::Result<(Objects, Duration)> {
    let started = now();
    let objects = Objects::in_new(cluster, namespace).await?;
    let spec = json!({"containers": [{"name": "main", "image": "main"}]});
    let pod = json!({"metadata": {"name": "pod"}, "spec": spec});
    wait_until("a pod to be admitted", LIMIT, async || {
        Ok(Some(objects.create("pods", &pod).await?))
    })
    .await?;
    Ok((objects, now() - started))
}

/// TestServiceAccountAutoCreate
async fn default_account_comes_back(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "default-account").await?;
    let there = |_: &Value| true;
    let first = objects.wait("serviceaccounts", "default", "to be there", there).await?;
    objects.delete("serviceaccounts", "default").await?;
    let is_new = |account: &Value| account["metadata"]["uid"] != first["metadata"]["uid"];
    objects.wait("serviceaccounts", "default", "to be made again", is_new).await?;
    // No other account is made again.
    account(&objects, "other").await?;
    objects.delete("serviceaccounts", "other").await?;
    objects.delete("serviceaccounts", "default").await?;
    objects.wait("serviceaccounts", "default", "to be there again", there).await?;
    ensure!(objects.find("serviceaccounts", "other").await?.is_none());
    Ok(())
}

async fn account(objects: &Objects, name: &str) -> anyhow::Result<Value> {
    objects.create("serviceaccounts", &json!({"metadata": {"name": name}})).await
}

/// A Secret that is to hold a token of this account.
fn secret(name: &str, account: &Value) -> Value {
    let metadata = &account["metadata"];
    let annotations = json!({
        "kubernetes.io/service-account.name": metadata["name"],
        "kubernetes.io/service-account.uid": metadata["uid"],
    });
    json!({"metadata": {"name": name, "annotations": annotations},
        "type": "kubernetes.io/service-account-token"})
}

/// Makes such a Secret and returns it once there is a token in it.
async fn with_token(objects: &Objects, name: &str, account: &Value) -> anyhow::Result<Value> {
    objects.create("secrets", &secret(name, account)).await?;
    let has_token = |secret: &Value| secret["data"]["token"].is_string();
    objects.wait("secrets", name, "to have a token", has_token).await
}

/// What a Secret holds under this key.
fn data(secret: &Value, key: &str) -> anyhow::Result<String> {
    let bytes: ByteString = serde_json::from_value(secret["data"][key].clone())?;
    Ok(String::from_utf8(bytes.0)?)
}

/// The namespace as the token in this Secret lets one see it.
fn seen_with(cluster: &Cluster, secret: &Value, namespace: &str) -> anyhow::Result<Objects> {
    Objects::seen_by(cluster, &Caller::Token(data(secret, "token")?), namespace)
}

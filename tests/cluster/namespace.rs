//! Namespaces that end on the real API server: what is in them, in which order it is deleted, and
//! which conditions report what holds them. Upstream's integration tests are those of
//! test/integration/namespace; TestNamespaceLabels is about the API server alone.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use serde_json::{Value, json};
use std::time::Duration;

mod broken;
mod content;
mod finalizers;

const LIMIT: Duration = Duration::from_mins(2);
const ARGS: &[&str] =
    &["--controllers=namespace-controller", "--kube-api-qps=1000", "--kube-api-burst=1000"];
const EXPLAIN: &str = "/debug/controllers/namespace-controller/explain";
/// The conditions of a namespace whose content is deleted as it should be.
const FINE: [[&str; 4]; 5] = [
    [
        "NamespaceDeletionDiscoveryFailure",
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ],
    [
        "NamespaceDeletionGroupVersionParsingFailure",
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ],
    [
        "NamespaceDeletionContentFailure",
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ],
    ["NamespaceContentRemaining", "False", "ContentRemoved", "All content successfully removed"],
    [
        "NamespaceFinalizersRemaining",
        "False",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ],
];

#[tokio::test]
async fn namespaces_end_and_say_what_holds_them() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let manager = start(&cluster).await?;
    let run = async {
        // What each waits for is mostly the five seconds before the first look.
        tokio::try_join!(
            finalizers::of_a_deployment(&cluster),
            finalizers::of_many(&cluster, &manager),
            finalizers::of_a_pod(&cluster),
            finalizers::of_the_namespace(&cluster),
        )?;
        broken::conversion(&cluster, &manager).await?;
        broken::aggregated_api(&cluster, &manager).await
    };
    run.await.with_context(|| manager.log())
}

#[tokio::test]
async fn namespaces_with_many_objects_end() -> anyhow::Result<()> {
    content::many_objects().await
}

/// Starts the manager that the suite is about, and finds out at once if it will not run.
async fn start(cluster: &Cluster) -> anyhow::Result<Manager> {
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    Ok(manager)
}

async fn delete(cluster: &Cluster, namespace: &Objects) -> anyhow::Result<()> {
    Objects::of(cluster, "")?.delete("namespaces", namespace.namespace()).await
}

/// Waits until the namespace is gone; the error shows its conditions.
async fn gone(cluster: &Cluster, namespace: &Objects) -> anyhow::Result<()> {
    Objects::of(cluster, "")?.gone("namespaces", namespace.namespace()).await
}

/// A ConfigMap of this name, with these finalizers.
fn config_map(name: &str, finalizers: &[&str]) -> Value {
    json!({"metadata": {"name": name, "finalizers": finalizers}})
}

/// Waits until the conditions are those that are fine but for these, which are True: type, reason
/// and message, in which one `*` stands for anything.
async fn says(
    cluster: &Cluster,
    namespace: &Objects,
    not_fine: &[[&str; 3]],
) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    let name = namespace.namespace();
    wait_until(&format!("conditions {not_fine:?} of {name}"), LIMIT, async || {
        let object = all.get("namespaces", name).await?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        ensure!(conditions.len() == FINE.len(), "{conditions:?}");
        for (condition, fine) in conditions.iter().zip(FINE) {
            let [kind, status, reason, message] =
                ["type", "status", "reason", "message"].map(|key| condition[key].as_str());
            let bad = not_fine.iter().find(|[kind, ..]| *kind == fine[0]);
            let told = match bad {
                None => [kind, status, reason, message] == fine.map(Some),
                Some([wanted, why, text]) => {
                    [kind, status, reason] == [Some(*wanted), Some("True"), Some(*why)]
                        && message.is_some_and(|message| is_like(message, text))
                }
            };
            ensure!(told, "{conditions:?}");
        }
        Ok(Some(()))
    })
    .await
}

/// Waits until our manager explains what holds the namespace, in these words among others;
/// upstream's has no page for that.
async fn explained(manager: &Manager, namespace: &Objects, words: &[&str]) -> anyhow::Result<()> {
    if Binary::under_test()? != Binary::Ours {
        return Ok(());
    }
    let path = format!("{EXPLAIN}?key={}", namespace.namespace());
    wait_until(&format!("{path} to say {words:?}"), LIMIT, async || {
        let said = manager.get(&path).await?;
        ensure!(words.iter().all(|word| said.contains(word)), "{said}");
        Ok(Some(()))
    })
    .await
}

fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((start, end)) => text.starts_with(start) && text.ends_with(end),
    }
}

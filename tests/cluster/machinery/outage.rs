//! The API server dies and comes back.
//!
//! Writes that were under way when it died may have been done. Their controllers may create and
//! nothing else, so they cannot look themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context;
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;

/// How many namespaces are made meanwhile, and how many of them at once.
const NAMESPACES: usize = 120;
const AT_ONCE: usize = 16;
const CRASHES: usize = 3;
/// For how long requests hang before the API server dies.
const STALLED: Duration = Duration::from_secs(1);
/// How long a namespace may be without.
const LIMIT: Duration = Duration::from_mins(1);
/// An API server is back within some ten seconds, on a busy machine.
const MAKING_LIMIT: Duration = Duration::from_mins(5);
const ARGS: &[&str] =
    &["--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller"];
/// What each namespace gets.
const EACH: [(&str, &str); 2] =
    [("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")];

#[tokio::test]
async fn no_namespace_is_forgotten() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        tokio::try_join!(make(&cluster), crash(&cluster))?;
        all_have(&cluster).await?;
        // A manager that gave up on a namespace would not see that its objects are deleted.
        let deletions = (0..NAMESPACES).flat_map(|number| EACH.map(|each| (number, each)));
        stream::iter(deletions.map(|(number, (resource, name))| {
            let objects = Objects::of(&cluster, &namespace(number));
            async move { objects?.delete(resource, name).await }
        }))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
        all_have(&cluster).await
    };
    run.await.with_context(|| manager.log())
}

fn namespace(number: usize) -> String {
    format!("outage-{number:03}")
}

/// Makes the namespaces, each as soon as the API server takes it.
async fn make(cluster: &Cluster) -> anyhow::Result<()> {
    stream::iter((0..NAMESPACES).map(|number| async move {
        let (name, all) = (namespace(number), Objects::of(cluster, "")?);
        let object = json!({"metadata": {"name": name}});
        let what = format!("namespace {name}");
        wait_until(&what, MAKING_LIMIT, async || {
            if all.find("namespaces", &name).await?.is_none() {
                all.create("namespaces", &object).await?;
            }
            Ok(Some(()))
        })
        .await
    }))
    .buffer_unordered(AT_ONCE)
    .try_collect()
    .await
}

/// Crashes the API server again and again, each time when some more namespaces are there.
async fn crash(cluster: &Cluster) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    for number in 1..=CRASHES {
        let there = NAMESPACES * number / (CRASHES + 1);
        wait_until("some more namespaces", MAKING_LIMIT, async || {
            let made = all.list("namespaces").await?;
            let made = made.iter().filter_map(|it| it["metadata"]["name"].as_str());
            Ok((made.filter(|name| name.starts_with("outage-")).count() >= there).then_some(()))
        })
        .await?;
        cluster.crash_apiserver(STALLED).await?;
        cluster.start_apiserver().await?;
    }
    Ok(())
}

/// Each namespace has what it should have, soon.
async fn all_have(cluster: &Cluster) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    for (resource, wanted) in EACH {
        let mut missing = Vec::new();
        let what = format!("{wanted} everywhere");
        let complete = wait_until(&what, LIMIT, async || {
            let found = all.list(resource).await?;
            let found = found.iter().map(|it| &it["metadata"]);
            let found = found.filter(|meta| meta["name"] == wanted);
            let found: BTreeSet<_> = found.filter_map(|meta| meta["namespace"].as_str()).collect();
            let names = (0..NAMESPACES).map(namespace);
            missing = names.filter(|name| !found.contains(name.as_str())).collect();
            Ok(missing.is_empty().then_some(()))
        });
        complete.await.with_context(|| format!("no {wanted} in {missing:?}"))?;
    }
    Ok(())
}

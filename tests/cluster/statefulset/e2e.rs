//! Upstream's e2e tests of StatefulSets (test/e2e/apps/statefulset.go) that need no kubelet, but
//! for those that `scripts/statefulset` and `differential` play.

use anyhow::Context;
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User};
use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use super::{ARGS, claims, converged_is_silent};

/// A test of upstream, and what runs for it in a namespace of its own.
type Case = (&'static str, fn(Objects) -> LocalBoxFuture<'static, anyhow::Result<()>>);

const CASES: [Case; 4] = [
    ("identity", |it| claims::pods_keep_their_identity(it).boxed_local()),
    ("adopted", |it| claims::of_pods_that_were_adopted(it).boxed_local()),
    ("foreign", |it| claims::of_another_controller_stay(it).boxed_local()),
    ("missing", |it| claims::of_a_pending_pod_are_made_again(it).boxed_local()),
];

#[tokio::test]
async fn stateful_sets_do_as_in_e2e_tests() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        stream::iter(CASES)
            .map(|(name, case)| {
                let cluster = &cluster;
                async move {
                    let objects = Objects::in_new(cluster, name).await?;
                    case(objects).await.context(name)
                }
            })
            .buffer_unordered(CASES.len())
            .try_collect::<()>()
            .await?;
        converged_is_silent(&cluster, &manager).await
    };
    run.await.with_context(|| manager.log())
}

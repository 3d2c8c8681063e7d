//! Upstream's e2e tests of StatefulSets (test/e2e/apps/statefulset.go) that need no kubelet, but
//! for those that `scripts/statefulset` and `differential` play.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Case, Cluster, Manager, Objects, Options, User, play_all};
use futures::FutureExt;

use super::{ARGS, claims, converged_is_silent, resources, updates};

/// Off by default; nothing but updates depends on it.
const GATE: &str = "--feature-gates=MaxUnavailableStatefulSet=true";

const CASES: [Case; 11] = [
    ("identity", |it| claims::pods_keep_their_identity(it).boxed_local()),
    ("adopted", |it| claims::of_pods_that_were_adopted(it).boxed_local()),
    ("foreign", |it| claims::of_another_controller_stay(it).boxed_local()),
    ("missing", |it| claims::of_a_pending_pod_are_made_again(it).boxed_local()),
    ("rollback", |it| updates::rolled_back_with_claims(it).boxed_local()),
    ("several", |it| updates::several_at_once(it).boxed_local()),
    ("halts", |it| updates::scaling_halts_at_an_unready_pod(it).boxed_local()),
    ("ordinals", |it| updates::another_first_number(it).boxed_local()),
    ("minimum", |it| updates::available_after_a_while(it).boxed_local()),
    ("scale", |it| resources::scale(it).boxed_local()),
    ("status", |it| resources::status(it).boxed_local()),
];

#[tokio::test]
async fn stateful_sets_do_as_in_e2e_tests() -> anyhow::Result<()> {
    let apiserver_args = vec![GATE.to_owned()];
    let options = Options { nodes: 1, apiserver_args, ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let args = [ARGS, &[GATE]].concat();
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, &args)?;
    manager.healthy().await?;
    let run = async {
        let collection = async {
            let objects = Objects::in_new(&cluster, "collection").await?;
            resources::collection(&cluster, objects).await.context("collection")
        };
        tokio::try_join!(play_all(&cluster, &CASES), collection)?;
        let page = manager.get("/metrics").await?;
        let maximum = page.lines().find(|line| {
            line.starts_with("statefulset_controller_statefulset_max_unavailable{")
                && line.contains("statefulset_namespace=\"several\"")
        });
        ensure!(maximum.is_some_and(|line| line.ends_with(" 2")), "{maximum:?}");
        converged_is_silent(&cluster, &manager).await
    };
    run.await.with_context(|| manager.log())
}

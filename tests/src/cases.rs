//! Tests of upstream that share a cluster and a manager, each in a namespace of its own.

use crate::cluster::Cluster;
use crate::objects::Objects;
use anyhow::Context;
use futures::future::LocalBoxFuture;
use futures::{StreamExt, TryStreamExt, stream};

/// A namespace, and what runs for a test of upstream in it.
pub type Case = (&'static str, fn(Objects) -> LocalBoxFuture<'static, anyhow::Result<()>>);

/// Plays them all at once. An error names the case, and ends the others.
pub async fn play_all(cluster: &Cluster, cases: &[Case]) -> anyhow::Result<()> {
    stream::iter(cases)
        .map(|&(name, case)| async move {
            let objects = Objects::in_new(cluster, name).await?;
            case(objects).await.context(name)
        })
        .buffer_unordered(cases.len())
        .try_collect()
        .await
}

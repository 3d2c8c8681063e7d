//! Bootstrap tokens that last, and what they have signed.

use anyhow::ensure;
use cluster_tests::{Cluster, Objects};
use serde_json::{Value, json};

const MAPS: &str = "configmaps";
const SECRETS: &str = "secrets";

/// Returns once the tokens have signed, and those that have expired are gone.
pub(super) async fn make(cluster: &Cluster) -> anyhow::Result<()> {
    let (public, system) =
        (Objects::of(cluster, "kube-public")?, Objects::of(cluster, "kube-system")?);
    let data = json!({"kubeconfig": "payload <é>", "jws-kubeconfig-old000": "stale",
        "other": "stays"});
    public.create(MAPS, &json!({"metadata": {"name": "cluster-info"}, "data": data})).await?;
    for (id, more) in [
        ("aaaaaa", json!({"usage-bootstrap-signing": "true"})),
        (
            "bbbbbb",
            json!({"usage-bootstrap-signing": "true", "expiration": "9999-12-31T23:59:59+01:00"}),
        ),
        ("cccccc", json!({"usage-bootstrap-signing": "false"})),
        ("dddddd", json!({"usage-bootstrap-signing": "true", "expiration": "tomorrow"})),
    ] {
        let mut data = more;
        data["token-id"] = id.into();
        data["token-secret"] = "0123456789abcdef".into();
        let secret = json!({"metadata": {"name": format!("bootstrap-token-{id}")},
            "type": "bootstrap.kubernetes.io/token", "stringData": data});
        system.create(SECRETS, &secret).await?;
    }
    system.gone(SECRETS, "bootstrap-token-dddddd").await?;
    signed_by(&public, &["aaaaaa", "bbbbbb"]).await
}

/// A token goes, and so does its signature.
pub(super) async fn go_on(cluster: &Cluster) -> anyhow::Result<()> {
    let (public, system) =
        (Objects::of(cluster, "kube-public")?, Objects::of(cluster, "kube-system")?);
    system.delete(SECRETS, "bootstrap-token-aaaaaa").await?;
    signed_by(&public, &["bbbbbb"]).await?;
    let info = public.get(MAPS, "cluster-info").await?;
    ensure!(info["data"]["other"] == "stays", "{info}");
    system.get(SECRETS, "bootstrap-token-cccccc").await.map(drop)
}

async fn signed_by(public: &Objects, ids: &[&str]) -> anyhow::Result<()> {
    let is_signed = |info: &Value| {
        let keys = info["data"].as_object().into_iter().flatten().map(|(key, _)| key);
        let signed = keys.filter_map(|key| key.strip_prefix("jws-kubeconfig-"));
        signed.collect::<Vec<_>>() == ids
    };
    let text = format!("to be signed by {ids:?}");
    public.wait(MAPS, "cluster-info", &text, is_signed).await.map(drop)
}

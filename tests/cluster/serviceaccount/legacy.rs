//! Tokens that earlier releases created for accounts, and that are not used.

use super::{LIMIT, account, seen_with, with_token};
use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, User, status_code, wait_until};
use serde_json::{Value, json};

const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
const LONG_AGO: &str = "2020-01-01";
/// A manager looks when it starts, and then once a day.
const ARGS: &[&str] = &[
    "--controllers=legacy-serviceaccount-token-cleaner-controller",
    "--legacy-service-account-token-clean-up-period=1s",
    // No tokens are made for the Secrets here by this one.
    "--service-account-private-key-file=",
];

/// A row of the table: a Secret and what becomes of it.
struct Row {
    name: &'static str,
    is_manual: bool,
    is_mounted: bool,
    /// Whether the token is used before the cleaner looks at it.
    is_used: bool,
}

impl Row {
    fn is_cleaned_up(&self) -> bool {
        !self.is_manual && !self.is_mounted
    }
}

/// TestLegacyServiceAccountTokenCleanUp: the same table. The dates that its fake clock reaches are
/// written into the labels here.
pub(super) async fn unused_tokens_are_cleaned_up(cluster: &Cluster) -> anyhow::Result<()> {
    let row = |name, is_manual, is_mounted, is_used| Row { name, is_manual, is_mounted, is_used };
    let rows = [
        row("auto-token-without-pod-mounting-a", false, false, true),
        row("manual-token", true, false, true),
        row("auto-token-with-pod-mounting", false, true, true),
        row("auto-token-without-pod-mounting-b", false, false, false),
    ];
    let tracked = json!({"data": {"since": LONG_AGO}});
    let system = Objects::of(cluster, "kube-system")?;
    system.merge("configmaps", TRACKING, &tracked).await?;
    let mut all = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let objects = Objects::in_new(cluster, &format!("clean-{number}")).await?;
        prepare(cluster, &objects, row).await?;
        all.push((objects, row));
    }
    a_second_later(&system).await?;

    let day = today(&system).await?;
    pass(cluster, &all, |secret, row| {
        let since = &secret["metadata"]["labels"][INVALID_SINCE];
        !row.is_cleaned_up() || *since == day || since.as_str().is_some_and(|since| since > &*day)
    })
    .await?;
    for (objects, row) in &all {
        after_the_first_look(cluster, objects, row).await?;
    }
    pass(cluster, &all, |secret, row| secret.is_null() == row.is_cleaned_up()).await
}

/// A Secret with a token, used or mounted as the row says; if it was used, long ago.
async fn prepare(cluster: &Cluster, objects: &Objects, row: &Row) -> anyhow::Result<()> {
    let account = account(objects, "ro").await?;
    let secret = with_token(objects, row.name, &account).await?;
    ensure!(secret["metadata"]["labels"].is_null(), "{secret}");
    if !row.is_manual {
        let secrets = json!({"secrets": [{"name": row.name}]});
        objects.merge("serviceaccounts", "ro", &secrets).await?;
    }
    if row.is_mounted {
        objects.wait("serviceaccounts", "default", "to be there", |_| true).await?;
        let volumes = json!([{"name": "foo", "secret": {"secretName": row.name}}]);
        let containers = json!([{"name": "name", "image": "image"}]);
        let spec = json!({"containers": containers, "volumes": volumes});
        let pod = json!({"metadata": {"name": "token-bound-pod"}, "spec": spec});
        objects.create("pods", &pod).await?;
    }
    if row.is_used {
        authenticates(cluster, &secret, true).await?;
        objects
            .wait("secrets", row.name, "to be labelled", |secret| {
                secret["metadata"]["labels"][LAST_USED].is_string()
            })
            .await?;
        label(objects, row.name, json!({LAST_USED: LONG_AGO})).await?;
    }
    Ok(())
}

/// What is marked is refused, and not marked any more it is good again. Then it is as if it had
/// been marked long ago.
async fn after_the_first_look(
    cluster: &Cluster,
    objects: &Objects,
    row: &Row,
) -> anyhow::Result<()> {
    let secret = objects.get("secrets", row.name).await?;
    authenticates(cluster, &secret, !row.is_cleaned_up()).await?;
    if !row.is_cleaned_up() {
        ensure!(secret["metadata"]["labels"][INVALID_SINCE].is_null(), "{secret}");
        return label(objects, row.name, json!({LAST_USED: LONG_AGO})).await;
    }
    label(objects, row.name, json!({INVALID_SINCE: null})).await?;
    authenticates(cluster, &secret, true).await?;
    label(objects, row.name, json!({LAST_USED: LONG_AGO, INVALID_SINCE: LONG_AGO})).await
}

/// Lets a manager look once, until each Secret (null if it is gone) is as wanted.
async fn pass(
    cluster: &Cluster,
    all: &[(Objects, &Row)],
    wanted: impl Fn(&Value, &Row) -> bool,
) -> anyhow::Result<()> {
    let manager = Manager::start(cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    wait_until("the look at all tokens", LIMIT, async || {
        for (objects, row) in all {
            let secret = objects.find("secrets", row.name).await?.unwrap_or_default();
            ensure!(wanted(&secret, row), "{}: {}", row.name, secret["metadata"]);
        }
        Ok(Some(()))
    })
    .await
    .with_context(|| manager.log())
}

async fn authenticates(cluster: &Cluster, secret: &Value, wanted: bool) -> anyhow::Result<()> {
    let namespace = secret["metadata"]["namespace"].as_str().context("a namespace")?;
    let seen = seen_with(cluster, secret, namespace)?;
    wait_until(&format!("the token to be valid: {wanted}"), LIMIT, async || {
        // It may do nothing, but it is authenticated.
        let error = seen.list("pods").await.err().context("an account without rights")?;
        Ok((status_code(&error) == Some(if wanted { 403 } else { 401 })).then_some(()))
    })
    .await
}

async fn label(objects: &Objects, secret: &str, labels: Value) -> anyhow::Result<()> {
    objects.merge("secrets", secret, &json!({"metadata": {"labels": labels}})).await
}

/// The date by the API server's clock.
async fn today(objects: &Objects) -> anyhow::Result<String> {
    Ok(created(objects).await?.get(..10).context("a date")?.to_owned())
}

/// Waits until two seconds of the API server's clock have passed: the Secrets that are there now
/// are then older than the period.
async fn a_second_later(objects: &Objects) -> anyhow::Result<()> {
    let (first, mut changes) = (created(objects).await?, 0);
    let mut last = first;
    wait_until("the clock", LIMIT, async || {
        let now = created(objects).await?;
        if now != last {
            (last, changes) = (now, changes + 1);
        }
        Ok((changes >= 2).then_some(()))
    })
    .await
}

async fn created(objects: &Objects) -> anyhow::Result<String> {
    let object = json!({"metadata": {"generateName": "now-"}});
    let object = objects.create("configmaps", &object).await?;
    let time = object["metadata"]["creationTimestamp"].as_str();
    Ok(time.context("a creation timestamp")?.to_owned())
}

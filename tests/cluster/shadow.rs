//! A shadow beside upstream's manager: it finds no difference over all workloads of the swap, and
//! writes nothing; with a deliberate bug it finds one and names the object.

use anyhow::{Context, ensure};
use cluster_tests::{AuditLog, Binary, Caller, Cluster, Manager, User, kubectl, quiet, wait_until};
use serde_json::Value;
use std::time::Duration;

use crate::swap;

#[cfg(feature = "mutants")]
mod bugs;
mod story;

const LIMIT: Duration = Duration::from_mins(1);
const CALM: Duration = Duration::from_secs(2);
/// The user of deploy/shadow.yaml, by a certificate.
const USER: User = User::ServiceAccount("kube-controller-manager-shadow");
const PAGE: &str = "/debug/shadow";

/// All controllers; those of `swap`, if this is the story to tell.
const STORY: &str = "SHADOW_STORY";

#[tokio::test]
async fn a_shadow_of_upstreams_manager_agrees_and_writes_nothing() -> anyhow::Result<()> {
    let mut options = swap::options();
    options.apiserver_args.extend(AuditLog::apiserver_args());
    let cluster = Cluster::start(options).await?;
    let mut audit = AuditLog::of(&cluster);
    kubectl(&cluster, &["apply", "-f", &deployed()]).await?;
    match std::env::var(STORY).as_deref() {
        Err(_) => {
            let args = ["--controllers=*", swap::GATES];
            let shadow = beside(&cluster, &args).await?;
            let upstream =
                Manager::start(&cluster, Binary::Upstream, User::ControllerManager, &args)?;
            story::tell(&cluster, &upstream).await?;
            agreed(&cluster, &shadow).await?;
            #[cfg(feature = "mutants")]
            bugs::are_found(&cluster).await?;
        }
        Ok("swap") => {
            let shadow = beside(&cluster, swap::ARGS).await?;
            let upstream = swap::built_by(&cluster, Binary::Upstream).await?;
            quiet(&cluster, &upstream, CALM).await?;
            agreed(&cluster, &shadow).await?;
        }
        Ok(other) => anyhow::bail!("{STORY} is {other:?}, not `swap`"),
    }
    let reviews = ["create tokenreviews /", "create subjectaccessreviews /"];
    let writes = audit.news()?.into_iter().filter(|it| it.user == USER.name());
    let writes: Vec<_> = writes.filter(|it| !reviews.contains(&&*it.what)).collect();
    ensure!(writes.is_empty(), "a shadow has written {writes:?}");
    Ok(())
}

/// A shadow with these flags, as the user that its Deployment has.
async fn beside(cluster: &Cluster, args: &[&str]) -> anyhow::Result<Manager> {
    let own = cluster.kubeconfig(USER)?.display().to_string();
    let reviews = ["authentication", "authorization"].map(|it| format!("--{it}-kubeconfig={own}"));
    let mut all: Vec<_> =
        args.iter().chain(&["--shadow", "--shadow-grace-period=20s"]).copied().collect();
    all.extend(reviews.iter().map(String::as_str));
    let mut shadow = Manager::start(cluster, Binary::Ours, USER, &all)?;
    shadow.healthy().await?;
    Ok(shadow)
}

/// Waits until nothing is wanted any more: there is no difference, and there was agreement.
async fn agreed(cluster: &Cluster, shadow: &Manager) -> anyhow::Result<()> {
    let mut last = Value::Null;
    let end = wait_until("the shadow to want nothing", LIMIT, async || {
        last = found(cluster, shadow).await?;
        let controllers = last["controllers"].as_array().context("controllers")?;
        let rests = controllers.iter().all(|it| it["waiting"] == 0 && it["phase"] == "running");
        Ok((rests && last["open"] == 0).then_some(()))
    })
    .await;
    println!("{}", text(cluster, shadow).await?);
    end.with_context(|| shadow.log())?;
    for name in ["deployment", "replicaset", "daemonset", "statefulset", "job", "disruption"] {
        ensure!(counts(&last, name, "agreed")? > 0, "{name}: nothing was agreed on");
    }
    Ok(())
}

async fn found(cluster: &Cluster, shadow: &Manager) -> anyhow::Result<Value> {
    let admin = Caller::User(User::Admin);
    let page = shadow.ask_for(cluster, &admin, PAGE, "application/json").await?;
    Ok(serde_json::from_str(&page.body)?)
}

async fn text(cluster: &Cluster, shadow: &Manager) -> anyhow::Result<String> {
    Ok(shadow.ask(cluster, &Caller::User(User::Admin), PAGE).await?.body)
}

fn counts(found: &Value, controller: &str, what: &str) -> anyhow::Result<u64> {
    let name = format!("{controller}-controller");
    let controllers = found["controllers"].as_array().context("controllers")?;
    let found = controllers.iter().find(|it| it["name"] == *name);
    found.and_then(|it| it["counts"][what].as_u64()).with_context(|| name)
}

fn deployed() -> String {
    format!("{}/../deploy/shadow.yaml", env!("CARGO_MANIFEST_DIR"))
}

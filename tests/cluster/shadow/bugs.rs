//! Shadows in this process, each with a deliberate bug: it is found, and the object is named.

use anyhow::Context;
use client::ConnectOptions;
use cluster_tests::{Cluster, wait_until};
use engine::Difference;
use manager::debug::Source;
use manager::options::Options;
use manager::start::Manager;
use mutant::Mutant;
use runtime::Runtime;
use std::time::Duration;

use super::{USER, story};

const LIMIT: Duration = Duration::from_secs(20);

/// A bug, the controller that has it, and the key and the beginning of a write that it wants.
struct Bug {
    mutant: Mutant,
    controller: &'static str,
    key: &'static str,
    step: &'static str,
}

const BUGS: [Bug; 12] = [
    bug(Mutant::PauseIgnored, "deployment", "shade/paused", "create replicasets.apps shade/paused"),
    bug(Mutant::SuspendIgnored, "cronjob", "shade/suspended", "create jobs.batch shade/suspended"),
    bug(Mutant::AdoptsUnselected, "replicaset", "shade/rolls", "patch pods shade/alone"),
    bug(Mutant::StatefulUnordered, "statefulset", "shade/ordered", "create pods shade/ordered-1"),
    bug(Mutant::DaemonAllAtOnce, "daemonset", "shade/daily", "delete pods shade/daily-"),
    bug(Mutant::DyingSetScales, "replicaset", "shade/dying", "create pods shade/dying-"),
    bug(Mutant::EqualStatus, "replicaset", "shade/rolls", "update replicasets.apps shade/rolls"),
    bug(
        Mutant::BudgetRoundedDown,
        "disruption",
        "shade/half",
        "update poddisruptionbudgets.policy shade/half status",
    ),
    bug(Mutant::EndedCharged, "resourcequota", "shade/all", "update resourcequotas shade/all"),
    bug(Mutant::ScopesIgnored, "resourcequota", "shade/ending", "update resourcequotas shade/end"),
    bug(
        Mutant::BoundVolumeGoes,
        "persistentvolume-protection",
        "bound",
        "update persistentvolumes bound",
    ),
    bug(
        Mutant::LastSelectorOnly,
        "clusterrole-aggregation",
        "sum",
        "patch clusterroles.rbac.authorization.k8s.io sum",
    ),
];

const fn bug(
    mutant: Mutant,
    controller: &'static str,
    key: &'static str,
    step: &'static str,
) -> Bug {
    Bug { mutant, controller, key, step }
}

/// After the story.
pub(super) async fn are_found(cluster: &Cluster) -> anyhow::Result<()> {
    for bug in &BUGS {
        mutant::only(Some(bug.mutant));
        let found = is_found(cluster, bug).await;
        mutant::only(None);
        println!("{:?}: {}", bug.mutant, found?);
    }
    Ok(())
}

async fn is_found(cluster: &Cluster, bug: &Bug) -> anyhow::Result<String> {
    let Bug { mutant, controller, key, step } = bug;
    let flags = [
        "--shadow".to_owned(),
        "--shadow-grace-period=1s".to_owned(),
        format!("--controllers={controller}-controller"),
    ];
    let Ok(options) = Options::parse(flags) else { anyhow::bail!("the flags of a shadow") };
    let kubeconfig = Some(cluster.kubeconfig(USER)?);
    let server = ConnectOptions { kubeconfig, ..ConnectOptions::default() };
    let connection = client::connect(&server).await?;
    let runtime = Runtime::system();
    let manager = Manager::new(options, connection, &runtime)?;
    let source = manager.source();
    let shadow = runtime::spawn("shadow", async { drop(manager.lead().await) });
    let mut last = Vec::new();
    let found = wait_until(&format!("{mutant:?} to be found"), LIMIT, async || {
        last = differences(&*source);
        let named = last.iter().find(|it| it.key.starts_with(key) && it.step.starts_with(step));
        Ok(named.map(|it| format!("{} {} ({})", it.key, it.step, it.fields)))
    })
    .await;
    runtime.cancel.cancel();
    shadow.await?;
    found.with_context(|| {
        let shown: Vec<_> = last.iter().map(|it| format!("{}: {}", it.key, it.step)).collect();
        format!("{}: found {}", story::NAMESPACE, shown.join(", "))
    })
}

fn differences(source: &dyn Source) -> Vec<Difference> {
    let engines = source.controllers().into_iter().filter_map(|row| row.engine.ok());
    let found = engines.filter_map(|engine| engine.shadow());
    found.flat_map(|status| status.differences).collect()
}

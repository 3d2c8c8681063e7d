//! `kubectl why` on the real API server, under ours and under upstream's manager
//! (`CLUSTER_MANAGER=upstream`): the first line names the same cause as in the sandbox, and nothing
//! is sent but reads.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{Binary, Cluster, Manager, Options, User, scripts, tool, wait_until};
use script::{Command as Step, Entry, Script};
use serde_json::Value;

use crate::conformance::{NODES, Real, play_all};

/// Those that need no container to do anything, and no minute to pass.
const SCRIPTS: [&str; 23] = [
    "autoscaler-target",
    "budget",
    "budget-alone",
    "claim-class",
    "claim-missing",
    "claim-waits",
    "daemonset-none",
    "daemonset-ondelete",
    "foreground",
    "job-suspended",
    "metadata-only",
    "namespace-finalizer",
    "namespace-own",
    "paused",
    "pod-finalizer",
    "pod-gated",
    "priority-class",
    "quota",
    "service-account",
    "service-port",
    "service-selector",
    "statefulset-ondelete",
    "unschedulable",
];
/// Those that change nodes play alone, after the others.
const ALONE: [&str; 2] = ["node-selector", "node-cordoned"];
/// How many play side by side.
const AT_ONCE: usize = 23;
const LIMIT: Duration = Duration::from_secs(30);
/// In the API server's working folder.
const LOG: &str = "why-audit.log";
/// What it may do.
const READS: [&str; 2] = ["get", "list"];

/// Issue: the first line names the cause, under both managers; the audit log shows reads alone.
#[tokio::test]
async fn causes_are_named_on_the_real_api_server() -> anyhow::Result<()> {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster/why-audit.yaml");
    let apiserver_args = vec![
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={LOG}"),
    ];
    let options =
        Options { nodes: NODES, service_accounts: true, apiserver_args, ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let arguments = ["--use-service-account-credentials=true", "--kube-api-qps=200"];
    let user = User::ControllerManager;
    let manager = Manager::start(&cluster, Binary::under_test()?, user, &arguments)?;
    let real = Real::on(&cluster)?;
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for (number, name) in SCRIPTS.iter().chain(&ALONE).enumerate() {
        let path = scripts::folder().join(format!("why/{name}.txt"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let script = first_lines(Script::parse(&text)?);
        let group = if script.is_about_nodes() { &mut alone } else { &mut together };
        group.push((format!("script-{number:03}"), path, script));
    }
    ensure!(alone.len() == ALONE.len(), "other scripts than expected change nodes");
    let mut wrong = Vec::new();
    for (scripts, at_once) in [(together, AT_ONCE), (alone, 1)] {
        let played = play_all(&cluster, &real, scripts, at_once).await;
        wrong.extend(played.with_context(|| manager.log())?);
    }
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    as_a_plugin(&cluster).await?;
    only_reads(&cluster)
}

/// What a `why` says first, and its exit code; the rest has times.
fn first_lines(mut script: Script) -> Script {
    for entry in &mut script.entries {
        if let Entry::Step(step) = entry
            && matches!(step.command, Step::Why(..))
        {
            step.output = crate::conformance::ends(&step.output);
        }
    }
    script
}

/// kubectl finds the program by its name, and hands over its exit code.
async fn as_a_plugin(cluster: &Cluster) -> anyhow::Result<()> {
    let binary = cluster_tests::build("kubectl-why", "kubectl-why")?;
    let folder = binary.parent().context("a binary lies in a folder")?.to_owned();
    let (kubectl, kubeconfig) = (tool("kubectl")?, cluster.kubeconfig(User::Admin)?);
    let asked = async || {
        let mut command = Command::new(&kubectl);
        command.args(["why", "no/node-0", "-o", "json"]).env("PATH", &folder);
        command.env("KUBECONFIG", &kubeconfig);
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(0), "{}: {said}", output.status);
        let report: Value = serde_json::from_slice(&output.stdout)?;
        Ok((report["state"] == "settled").then_some(()))
    };
    wait_until("kubectl why, as a plugin", LIMIT, asked).await
}

/// The audit log has its requests, and they are reads.
fn only_reads(cluster: &Cluster) -> anyhow::Result<()> {
    let log = fs::read_to_string(cluster.dir().join(LOG)).context(LOG)?;
    let (mut requests, mut verbs) = (0, BTreeSet::new());
    for line in log.lines() {
        // The last line may not be whole yet.
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let agent = event["userAgent"].as_str().unwrap_or_default();
        if agent.starts_with("kubectl-why/") {
            requests += 1;
            verbs.insert(event["verb"].as_str().unwrap_or_default().to_owned());
        }
    }
    println!("kubectl why sent {requests} requests: {verbs:?}");
    ensure!(requests > 0, "the audit log has no request of kubectl why");
    let others: Vec<_> = verbs.iter().filter(|verb| !READS.contains(&verb.as_str())).collect();
    ensure!(others.is_empty(), "kubectl why sent {others:?}");
    Ok(())
}

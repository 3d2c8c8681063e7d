//! kubectl, as a user has it.

use crate::cluster::Cluster;
use crate::components::tool;
use crate::pki::User;
use anyhow::Context;
use std::process::{Command, Output};

/// Runs kubectl as an admin and returns what it printed. An error shows what it said.
pub async fn kubectl(cluster: &Cluster, args: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(tool("kubectl")?);
    command.arg("--kubeconfig").arg(cluster.kubeconfig(User::Admin)?).args(args);
    let Output { status, stdout, stderr } =
        tokio::task::spawn_blocking(move || command.output()).await??;
    let said = String::from_utf8_lossy(&stderr);
    anyhow::ensure!(status.success(), "kubectl {}: {status}: {said}", args.join(" "));
    String::from_utf8(stdout).with_context(|| format!("kubectl {}", args.join(" ")))
}

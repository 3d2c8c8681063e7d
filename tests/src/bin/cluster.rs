//! A cluster to try things in: `make cluster` starts one and leaves it running, `make cluster-down`
//! ends it.

use anyhow::ensure;
use clap::{Parser, Subcommand};
use cluster_tests::{Cluster, Options, User, tool};
use std::path::{Path, PathBuf};

/// Starts and ends a cluster on this machine.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Verb,
    /// The folder of the cluster's state.
    #[arg(long, global = true, default_value = "target/cluster")]
    dir: PathBuf,
}

#[derive(Subcommand)]
enum Verb {
    /// Starts a cluster and leaves it running.
    Up {
        /// How many fake nodes it has.
        #[arg(long, default_value_t = 3)]
        nodes: usize,
    },
    /// Ends it and removes its state.
    Down,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    // Absolute, since the components run in folders of their own.
    let dir = std::path::absolute(cli.dir)?;
    match cli.command {
        Verb::Up { nodes } => up(&dir, nodes).await,
        Verb::Down => Cluster::stop_left(&dir).await,
    }
}

async fn up(dir: &Path, nodes: usize) -> anyhow::Result<()> {
    ensure!(
        !Cluster::is_left(dir),
        "a cluster is running in {}: `make cluster-down` ends it",
        dir.display()
    );
    let kubectl = tool("kubectl")?;
    // What a machine that was switched off has left.
    Cluster::stop_left(dir).await?;
    let options = Options { nodes, dir: Some(dir.to_owned()), ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let kubeconfig = cluster.kubeconfig(User::Admin)?;
    // For a manager: the identity that kubeadm gives it.
    cluster.kubeconfig(User::ControllerManager)?;
    let url = cluster.url();
    cluster.leave()?;
    println!("# {url} runs with {nodes} nodes and no controllers; kubectl: {}", kubectl.display());
    println!("export KUBECONFIG={}", kubeconfig.display());
    Ok(())
}

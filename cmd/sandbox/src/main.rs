//! The sandbox as a program: a whole cluster in one process, for `kubectl` and for scripts.

mod page;
mod play;
mod serve;
mod view;

use std::io::{Write as _, stdout};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// A whole Kubernetes cluster in one process: an API server in memory, hollow nodes, a scheduler,
/// and the controllers of kube-controller-manager. No root, no containers; nothing runs in pods.
#[derive(Parser, Debug)]
#[command(name = "sandbox", version)]
struct Arguments {
    /// The number of nodes.
    #[arg(long, default_value_t = 3, value_name = "N")]
    nodes: usize,

    /// The controllers to run, as the manager's own flag: `*`, `deployment,replicaset`, `*,-podgc`.
    #[arg(long, default_value = "*", value_name = "LIST", allow_hyphen_values = true)]
    controllers: String,

    /// YAML or JSON to apply at the start: files, or folders with such files.
    #[arg(short, long, value_name = "PATH")]
    filename: Vec<PathBuf>,

    /// How many times faster the cluster's time runs: `60x`.
    #[arg(long, value_parser = speed, value_name = "N")]
    speed: Option<NonZeroU32>,

    /// The port of the API; 0 chooses a free one.
    #[arg(long, default_value_t = 8001)]
    port: u16,

    /// The address to serve on. Its clients may do everything. A request with a token of a service
    /// account, or with impersonation (kubectl --as), may do what its roles allow.
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    bind_address: IpAddr,

    /// Play a script and end. Without --speed its time is virtual and passes at once.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["filename", "load", "save"])]
    script: Option<PathBuf>,

    /// Begin with the state that --save has written.
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,

    /// Write the state to a file at the end (Ctrl-C).
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Show the manager's log on standard error: 0 its warnings, 2 its writes.
    #[arg(short, default_value_t = 0, value_name = "LEVEL")]
    v: u8,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    manager::logging::start_quiet(arguments.v);
    let done = match &arguments.script {
        Some(script) => play::play(script, &arguments),
        None => serve::serve(&arguments),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a line. If standard output is closed, the program ends.
fn tell(line: &str) {
    if writeln!(stdout(), "{line}").is_err() {
        std::process::exit(0);
    }
}

/// `60x`, or `60`.
fn speed(text: &str) -> Result<NonZeroU32, String> {
    let number = text.strip_suffix('x').unwrap_or(text);
    let odd = || format!("{text:?} is no speed such as 60x (1x to 3600x)");
    let speed: NonZeroU32 = number.parse().map_err(|_| odd())?;
    if speed.get() <= 3600 { Ok(speed) } else { Err(odd()) }
}

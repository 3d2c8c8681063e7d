//! The sandbox as a program: a whole cluster in one process, for `kubectl` and for scripts.

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
    /// How many nodes there are.
    #[arg(long, default_value_t = 3, value_name = "N")]
    nodes: usize,

    /// Which controllers run, as the manager's own flag: `*`, `deployment,replicaset`, `*,-podgc`.
    #[arg(long, default_value = "*", value_name = "LIST", allow_hyphen_values = true)]
    controllers: String,

    /// YAML or JSON to apply at the start: files, or folders with such files.
    #[arg(short, long, value_name = "PATH")]
    filename: Vec<PathBuf>,

    /// How much faster than the world's the cluster's time goes: `60x`.
    #[arg(long, value_parser = speed, value_name = "N")]
    speed: Option<NonZeroU32>,

    /// Where to serve the API; 0 chooses a free port.
    #[arg(long, default_value_t = 8001)]
    port: u16,

    /// The address to serve on. Whoever reaches it may do everything. Who sends a token of an
    /// account, or impersonates somebody (kubectl --as), may do what roles allow.
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

    /// Show what the manager logs, on standard error: 0 its warnings, 2 what it writes.
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

/// Prints a line. When nobody reads them any more, there is nothing left to do.
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

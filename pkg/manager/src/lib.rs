//! The manager: flags, the table of controllers, start-up and shutdown.

mod authority;
pub mod config;
pub mod debug;
mod election;
mod expiry;
pub mod flags;
pub mod gates;
mod hmac;
pub mod logging;
mod migration;
pub mod options;
mod pod_ranges;
mod recyclers;
pub mod registry;
pub mod selection;
mod serve;
mod serving;
mod signing;
pub mod start;
mod token_signer;
mod validation;
mod wings;

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::process::ExitCode;

use flags::Failure;
use options::{KUBERNETES_VERSION, Options};
use runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How many threads run everything: requests wait on the network, not on processors.
const THREADS_MAX: usize = 4;

/// The program: parses the command line, runs, and returns the exit code. Errors of the command
/// line go to standard error, later ones into the log; both end with code 1.
pub fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let options = match Options::parse(words) {
        Ok(options) => options,
        Err(Failure::Help(text)) => return print(&text),
        Err(Failure::Bad(text)) => {
            complain("Usage:\n  kube-controller-manager [flags]\n\nAll flags: --help\n");
            return failed(&text);
        }
        Err(Failure::Refused(text)) => {
            logging::start(&logging::Settings::UNREAD);
            return command_failed(&text);
        }
    };
    for line in options.flags.deprecations() {
        complain(&line);
    }
    if let Some(how) = &options.version {
        return print_version(how);
    }
    logging::start(&options.log);
    let code = run(options);
    logging::flush();
    code
}

fn run(options: Options) -> ExitCode {
    options.gates.log();
    if options.log.verbosity >= 1 {
        options.flags.dump().for_each(|line| tracing::info!(target: logging::PLAIN, "{line}"));
    }
    let errors = options.validate();
    if !errors.is_empty() {
        return command_failed(&validation::aggregate(&errors));
    }
    if let Some(idle) = options.without_effect() {
        tracing::warn!("accepted, without effect yet: {idle}");
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    match tokio {
        Ok(tokio) => to_the_end(tokio, until_signal(options)),
        Err(error) => command_failed(&format!("cannot start threads: {error}")),
    }
}

/// Tasks that still run at the end die with the process: a process that has lost the lease must not
/// wait for a file system that hangs, or for a profile.
fn to_the_end(tokio: tokio::runtime::Runtime, run: impl Future<Output = ExitCode>) -> ExitCode {
    let code = tokio.block_on(run);
    tokio.shutdown_background();
    code
}

async fn until_signal(options: Options) -> ExitCode {
    let runtime = Runtime::system();
    let cancel = runtime.cancel.clone();
    runtime::spawn("signals", async move {
        let mut signals = Signals::new();
        signals.next().await;
        tracing::info!("asked to stop; a second signal ends the process at once");
        cancel.cancel();
        signals.next().await;
        logging::flush();
        std::process::exit(1);
    });
    runtime::spawn("log", logging::keep_flushing(options.log.clone(), runtime.clock.clone()));
    let version = options.gates.versions.git_version();
    tracing::info!(version, "kube-controller-manager starts");
    match Box::pin(start::run(options, runtime)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => command_failed(&format!("{error:#}")),
    }
}

/// SIGTERM and SIGINT.
struct Signals {
    /// None: they cannot be caught, and kill.
    both: Option<(Signal, Signal)>,
}

impl Signals {
    fn new() -> Self {
        let both = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
        Self { both: both.0.ok().zip(both.1.ok()) }
    }

    /// Waits for one of them.
    async fn next(&mut self) {
        let Some((terminate, interrupt)) = &mut self.both else {
            return std::future::pending().await;
        };
        tokio::select! {
            biased;
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

/// Once the log can begin, the last line must be a log line, too, for readers of the log
/// (k8s.io/component-base/cli, `Run`).
fn command_failed(text: &str) -> ExitCode {
    tracing::error!(error = text, "command failed");
    ExitCode::FAILURE
}

fn failed(text: &str) -> ExitCode {
    complain(&format!("Error: {text}"));
    ExitCode::FAILURE
}

fn print_version(how: &str) -> ExitCode {
    if how == "raw" {
        let ours = env!("CARGO_PKG_VERSION");
        print(&format!("Kubernetes {KUBERNETES_VERSION}, kube-controller-manager in Rust {ours}\n"))
    } else {
        print(&format!("Kubernetes {KUBERNETES_VERSION}\n"))
    }
}

/// Prints requested output. A closed pipe is no failure.
fn print(text: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// Prints a line to standard error. If that is closed, the exit code must still be the right one.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

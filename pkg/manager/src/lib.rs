//! The manager: flags, the table of controllers, start-up and shutdown.

pub mod logging;
pub mod options;
pub mod registry;
pub mod selection;
pub mod start;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::Parser;
use options::{KUBERNETES_VERSION, Options};
use runtime::Runtime;

/// How many threads run everything: requests wait on the network, not on processors.
const THREADS_MAX: usize = 4;

/// The program: reads the command line, runs, and says how it ended. Errors go to standard error
/// and end with code 1.
pub fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            // Help is no error; a closed pipe while printing it is none either.
            let _ = error.print();
            return ExitCode::from(u8::from(error.use_stderr()));
        }
    };
    if let Some(how) = &options.version {
        return print_version(how);
    }
    logging::start(options.verbosity);
    let errors = options.validate();
    if !errors.is_empty() {
        return failed(&errors.join("\n"));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    match tokio {
        Ok(tokio) => tokio.block_on(until_signal(options)),
        Err(error) => failed(&format!("cannot start threads: {error}")),
    }
}

async fn until_signal(options: Options) -> ExitCode {
    let runtime = Runtime::system();
    let cancel = runtime.cancel.clone();
    runtime::spawn("signals", async move {
        signalled().await;
        tracing::info!("asked to stop");
        cancel.cancel();
    });
    tracing::info!(version = KUBERNETES_VERSION, "kube-controller-manager starts");
    match start::run(options, runtime, prometheus::default_registry()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&format!("{error:#}")),
    }
}

/// Waits for SIGTERM or SIGINT. If neither can be caught, waits for ever and the signals kill.
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
        return std::future::pending().await;
    };
    tokio::select! {
        biased;
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

fn failed(text: &str) -> ExitCode {
    eprintln!("Error: {text}");
    ExitCode::FAILURE
}

fn print_version(how: &str) -> ExitCode {
    match how {
        "true" => println!("Kubernetes {KUBERNETES_VERSION}"),
        "raw" => println!(
            "Kubernetes {KUBERNETES_VERSION}, kube-controller-manager in Rust {}",
            env!("CARGO_PKG_VERSION")
        ),
        "false" => return failed("--version=false asks for nothing"),
        other => return failed(&format!("--version={other}: must be true or raw")),
    }
    ExitCode::SUCCESS
}

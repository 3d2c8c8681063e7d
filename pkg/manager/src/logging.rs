//! Log lines on standard error.

mod json;

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use runtime::Clock;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{Handle, Layer as Reload};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

/// The crates whose lines are ours.
const OURS: [&str; 11] = [
    "auth",
    "cache",
    "client",
    "engine",
    "https",
    "leader",
    "manager",
    "profile",
    "runtime",
    "server",
    "workqueue",
];

/// What lets lines through; set once logging has started.
static FILTER: OnceLock<Handle<Targets, Registry>> = OnceLock::new();

/// How lines look, as `--logging-format` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Starts logging of warnings for `-v=0`, or at the level below: for a program in which the manager
/// is a part.
pub fn start_quiet(verbosity: u8) {
    let limit = match verbosity {
        0 => LevelFilter::WARN,
        _ => LevelFilter::INFO,
    };
    start_with(Targets::new().with_default(limit), Format::Text);
}

/// Starts logging at the level of `-v`. Libraries only speak up when something is wrong, and from
/// level 6 on.
pub fn start(verbosity: u8, format: Format) {
    start_with(targets(verbosity), format);
}

fn start_with(targets: Targets, format: Format) {
    let (filter, handle) = Reload::new(targets);
    let lines = match format {
        Format::Text => {
            let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
            fmt::layer().with_writer(std::io::stderr).with_ansi(ansi).boxed()
        }
        Format::Json => json::JsonLines::new(std::io::stderr, Clock::system()).boxed(),
    };
    // A second start in the same process (tests) keeps the first one's settings.
    if tracing_subscriber::registry().with(lines.with_filter(filter)).try_init().is_ok() {
        let _ = FILTER.set(handle);
    }
}

/// Logs at another level from now on; as `PUT /debug/flags/v` asks for.
pub(crate) fn set_verbosity(verbosity: u32) -> Result<(), String> {
    let filter = FILTER.get().ok_or("logging has not started")?;
    let verbosity = u8::try_from(verbosity).unwrap_or(u8::MAX);
    filter.reload(targets(verbosity)).map_err(|error| error.to_string())
}

fn targets(verbosity: u8) -> Targets {
    let ours = match verbosity {
        0..=3 => LevelFilter::INFO,
        4..=5 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let others = if verbosity >= 6 { LevelFilter::DEBUG } else { LevelFilter::WARN };
    Targets::new().with_default(others).with_targets(OURS.map(|name| (name, ours)))
}

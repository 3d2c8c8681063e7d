//! Log lines on standard error.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, filter, fmt};

/// Starts logging at the level of `-v`. Libraries only speak up when something is wrong, and from
/// level 6 on.
pub fn start(verbosity: u8) {
    let ours = match verbosity {
        0..=3 => LevelFilter::INFO,
        4..=5 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let others = if verbosity >= 6 { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let filter = filter::Targets::new().with_default(others).with_targets(
        ["cache", "client", "engine", "leader", "manager", "runtime", "workqueue"]
            .map(|name| (name, ours)),
    );
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(ansi).with_filter(filter);
    // A second start in the same process (tests) keeps the first one's settings.
    let _ = tracing_subscriber::registry().with(lines).try_init();
}

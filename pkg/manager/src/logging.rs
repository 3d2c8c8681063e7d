//! Log lines, in upstream's forms: klog's text, or JSON.
//!
//! # Parts
//! - `threshold`: which lines are written
//! - `lines`: from events and spans to an `entry`
//! - `text`, `json`: from an entry to a line
//! - `output`: where lines go
//! - `panics`: panics as lines

mod entry;
mod json;
mod lines;
mod output;
mod panics;
mod text;
mod threshold;

#[cfg(test)]
mod tests;

use std::io::{stderr, stdout};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apimachinery::Quantity;
use runtime::{Clock, Zone};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{Handle, Layer as Reload};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::flags::{Flags, handles};
use lines::Lines;
use output::Output;
use threshold::Threshold;

pub(crate) use entry::PLAIN;
pub(crate) use panics::register as count_panics;

/// What can be changed, and must be flushed, once logging has started.
static STARTED: OnceLock<Started> = OnceLock::new();

struct Started {
    threshold: Handle<Threshold, Registry>,
    output: Arc<Output>,
}

/// The flags of section "Logs".
#[derive(Clone, Debug)]
pub struct Settings {
    /// The format of lines: `--logging-format`.
    pub format: Format,
    /// The verbosity: `-v`.
    pub verbosity: u32,
    /// `--vmodule`.
    modules: String,
    /// Info lines go to standard output, with a buffer of this many bytes; none: all lines go to
    /// standard error.
    split: Option<usize>,
    /// How long lines stay in the buffer at most.
    flush_every: Duration,
}

/// The format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// klog's, for people and pipelines.
    Text,
    /// For programs.
    Json,
}

// === impl Settings ===

impl Settings {
    /// For errors in the flags themselves.
    pub(crate) const UNREAD: Self = Self {
        format: Format::Text,
        verbosity: 0,
        modules: String::new(),
        split: None,
        flush_every: Duration::MAX,
    };

    /// An unknown or disallowed format is left to the validation.
    pub(crate) fn from_flags(flags: &Flags) -> Self {
        let (format, split, size) = match flags.text(handles::LOGGING_FORMAT) {
            "json" => {
                (Format::Json, handles::LOG_JSON_SPLIT_STREAM, handles::LOG_JSON_INFO_BUFFER_SIZE)
            }
            _ => (Format::Text, handles::LOG_TEXT_SPLIT_STREAM, handles::LOG_TEXT_INFO_BUFFER_SIZE),
        };
        Self {
            format,
            verbosity: u32::try_from(flags.int(handles::VERBOSITY)).unwrap_or(u32::MAX),
            modules: flags.text(handles::VMODULE).to_owned(),
            split: flags.switch(split).then(|| buffer(flags.text(size))),
            flush_every: flags.positive(handles::LOG_FLUSH_FREQUENCY),
        }
    }
}

/// The size of the buffer; a negative one counts as zero.
fn buffer(size: &str) -> usize {
    let bytes = Quantity::parse(size).unwrap_or_default().value();
    usize::try_from(bytes).unwrap_or(0)
}

/// Starts logging of warnings only at `-v=0`, or at the level below: for a program that contains a
/// manager.
pub fn start_quiet(verbosity: u8) {
    let threshold = match verbosity {
        0 => Threshold::quiet(),
        _ => Threshold::new(0, ""),
    };
    start_with(threshold, Format::Text, Output::one(stderr()));
}

/// Starts logging, panics included.
pub(crate) fn start(settings: &Settings) {
    let output = match settings.split {
        None => Output::one(stderr()),
        Some(buffer_bytes) => Output::split(stdout(), stderr(), buffer_bytes),
    };
    let threshold = Threshold::new(settings.verbosity, &settings.modules);
    start_with(threshold, settings.format, output);
}

fn start_with(threshold: Threshold, format: Format, output: Output) {
    let (threshold, handle) = Reload::new(threshold);
    let output = Arc::new(output);
    let (clock, zone) = (Clock::system(), Zone::system());
    let lines = Lines { format, clock, zone, output: Arc::clone(&output) };
    // A second start in the same process (tests) keeps the first one's settings.
    if tracing_subscriber::registry().with(lines.with_filter(threshold)).try_init().is_ok() {
        let _ = STARTED.set(Started { threshold: handle, output });
        panics::follow();
    }
}

/// Flushes the buffer periodically, for as long as this is polled.
pub(crate) async fn keep_flushing(settings: Settings, clock: Clock) {
    if settings.split.is_none_or(|bytes| bytes == 0) {
        return;
    }
    loop {
        clock.sleep(settings.flush_every).await;
        flush();
    }
}

/// Flushes the buffer.
pub(crate) fn flush() {
    if let Some(started) = STARTED.get() {
        started.output.flush();
    }
}

/// Changes the verbosity, as `PUT /debug/flags/v` requests. `--vmodule` stays.
pub(crate) fn set_verbosity(verbosity: u32) -> Result<(), String> {
    let started = STARTED.get().ok_or("logging has not started")?;
    let change = |threshold: &mut Threshold| threshold.verbosity = verbosity;
    started.threshold.modify(change).map_err(|error| error.to_string())
}

//! Panics as log lines (k8s.io/apimachinery/pkg/util/runtime, `logPanic`).

use std::backtrace::Backtrace;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Error, Family, IntCounter, Registry};

/// As much of the stack as upstream shows.
const STACK_BYTES_MAX: usize = 64 << 10;

/// The number of panics.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// Registers their counter. An error if it is registered already.
pub(crate) fn register(registry: &Registry) -> Result<(), Error> {
    let family = Family::alpha(
        "kcm_panics_total",
        "Panics, wherever they were and whatever became of them; each is in the log.",
    );
    let counter: IntCounter = registry.family(&family)?;
    registry.before_page(move || {
        counter.inc_by(PANICS.load(Ordering::Relaxed).saturating_sub(counter.get()));
    });
    Ok(())
}

/// Logs each panic from now on, with its location and its spans, instead of the unformatted text
/// that Rust prints. Fences log how they handled it themselves.
pub(super) fn follow() {
    std::panic::set_hook(Box::new(log));
}

pub(super) fn log(info: &PanicHookInfo<'_>) {
    PANICS.fetch_add(1, Ordering::Relaxed);
    let panic = info.payload_as_str().unwrap_or("no text");
    let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
    let mut stacktrace = Backtrace::force_capture().to_string();
    stacktrace.truncate(stacktrace.floor_char_boundary(STACK_BYTES_MAX));
    tracing::error!(log.file = file, log.line = line, panic, stacktrace, "Observed a panic");
}

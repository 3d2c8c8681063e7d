//! Lines as people, pipelines and programs read them.

mod json;
mod output;
mod text;
mod threshold;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::Time;
use runtime::{Clock, Zone};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;

use super::Format;
use super::lines::Lines;
use super::output::Output;
use super::threshold::Threshold;

/// What was written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).unwrap()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What `log` logs, at 2023-11-14 22:13:20.123456 two hours east of Greenwich.
fn logged(format: Format, threshold: Threshold, log: impl FnOnce()) -> String {
    let written = Written::default();
    let time = Time::from_unix(1_700_000_000, 123_456_000);
    let output = Arc::new(Output::one(written.clone()));
    let lines = Lines { format, clock: Clock::simulated(time), zone: Zone::east(2), output };
    let lines = lines.with_filter(threshold);
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), log);
    written.text()
}

/// Everything that there is.
fn all() -> Threshold {
    Threshold::new(u32::MAX - 1, "")
}

/// A pause, which is a value without a type of its own in the log.
const PAUSE: Duration = Duration::from_secs(2);

//! The content of a log line, before its format.

use std::fmt::Debug;
use std::path::Path;

use api::Time;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata};

/// The target of lines that upstream writes without structure: the text form leaves them unquoted.
pub(crate) const PLAIN: &str = "manager::plain";

/// The original file of events that are logged elsewhere. As the crate tracing-log.
pub(super) const FILE: &str = "log.file";
pub(super) const LINE: &str = "log.line";

/// One line of the log.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) time: Time,
    pub(super) severity: Severity,
    /// The lowest `-v` at which it is written.
    pub(super) verbosity: u32,
    /// The path of the source file, as the compiler knows it.
    pub(super) file: String,
    pub(super) line: u64,
    pub(super) is_plain: bool,
    pub(super) message: String,
    /// The fields of the spans around it, the outermost first.
    pub(super) context: Vec<Pair>,
    /// The fields of the event itself.
    pub(super) pairs: Vec<Pair>,
}

/// klog's severities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Severity {
    Info,
    Warning,
    Error,
}

/// A name and its value. Texts are strings, numbers and booleans themselves.
pub(super) type Pair = (&'static str, Value);

/// The fields of an event or a span, in order.
#[derive(Default)]
pub(super) struct Said {
    message: String,
    file: Option<String>,
    line: Option<u64>,
    pub(super) pairs: Vec<Pair>,
}

// === impl Entry ===

impl Entry {
    pub(super) fn new(time: Time, metadata: &Metadata<'_>, verbosity: u32, said: Said) -> Self {
        let severity = match *metadata.level() {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warning,
            Level::INFO | Level::DEBUG | Level::TRACE => Severity::Info,
        };
        let (file, line) = (metadata.file(), metadata.line());
        Self {
            time,
            severity,
            verbosity,
            file: said.file.or_else(|| file.map(str::to_owned)).unwrap_or_default(),
            line: said.line.or_else(|| line.map(u64::from)).unwrap_or_default(),
            is_plain: metadata.target() == PLAIN,
            message: said.message,
            context: Vec::new(),
            pairs: said.pairs,
        }
    }

    /// The name of the source file, without its folder.
    pub(super) fn file_name(&self) -> &str {
        let name = Path::new(&self.file).file_name().and_then(|name| name.to_str());
        name.unwrap_or("???")
    }
}

/// Each name once, as klog does it (`FormatKVs`): a later value replaces an earlier one and moves
/// to its place, but an equal value stays where it was.
pub(super) fn each_once(pairs: impl IntoIterator<Item = Pair>) -> Vec<Pair> {
    let mut once: Vec<Pair> = Vec::new();
    for (name, value) in pairs {
        match once.iter().position(|(known, _)| *known == name) {
            Some(at) if once[at].1 == value => {}
            Some(at) => {
                once.remove(at);
                once.push((name, value));
            }
            None => once.push((name, value)),
        }
    }
    once
}

// === impl Said ===

impl Said {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        match (field.name(), value.into()) {
            ("message", Value::String(text)) => self.message = text,
            (FILE, Value::String(file)) => self.file = Some(file),
            (LINE, line) => self.line = line.as_u64(),
            // Upstream's name for it.
            ("error", value) => self.pairs.push(("err", value)),
            (name, value) => self.pairs.push((name, value)),
        }
    }

    /// Adds fields that a span records after its creation.
    pub(super) fn extend(&mut self, later: Self) {
        let pairs = std::mem::take(&mut self.pairs);
        self.pairs = each_once(pairs.into_iter().chain(later.pairs));
    }
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }
}

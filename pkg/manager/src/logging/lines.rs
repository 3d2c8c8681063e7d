//! From events to lines.

use std::sync::Arc;

use runtime::{Clock, Zone};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, Scope};

use super::entry::{Entry, Said, Severity};
use super::output::{Output, Stream};
use super::{Format, json, text, threshold};

/// Writes each event as a line, with the fields of its spans.
pub(super) struct Lines {
    pub(super) format: Format,
    pub(super) clock: Clock,
    pub(super) zone: Zone,
    pub(super) output: Arc<Output>,
}

impl Lines {
    fn write(&self, entry: &Entry) {
        let (line, stream) = match self.format {
            Format::Text => (text::line(entry, &self.zone, std::process::id()), by_letter(entry)),
            Format::Json => (json::line(entry), by_level(entry)),
        };
        self.output.write(stream, &line);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut said = Said::default();
        attributes.record(&mut said);
        span.extensions_mut().insert(said);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        // Before the lock: formatting a value may panic, and a panic is logged with its spans.
        let mut later = Said::default();
        record.record(&mut later);
        if let Some(said) = span.extensions_mut().get_mut::<Said>() {
            said.extend(later);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut said = Said::default();
        event.record(&mut said);
        let metadata = event.metadata();
        let verbosity = threshold::verbosity(metadata).unwrap_or_default();
        let mut entry = Entry::new(self.clock.now(), metadata, verbosity, said);
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(said) = span.extensions().get::<Said>() {
                entry.context.extend(said.pairs.iter().cloned());
            }
        }
        self.write(&entry);
    }
}

/// klog's router uses the first letter.
fn by_letter(entry: &Entry) -> Stream {
    match entry.severity {
        Severity::Info => Stream::News,
        Severity::Warning | Severity::Error => Stream::Problems,
    }
}

/// For zap, which writes upstream's JSON, a warning counts as info.
fn by_level(entry: &Entry) -> Stream {
    match entry.severity {
        Severity::Info | Severity::Warning => Stream::News,
        Severity::Error => Stream::Problems,
    }
}

//! Log lines as JSON, with the keys that upstream's have (k8s.io/component-base/logs/json): `ts` in
//! milliseconds, `caller`, `msg`, `v`, and `err` for what went wrong. `level` is ours: upstream's
//! lines do not tell a warning from news.

use std::fmt::Debug;
use std::io::Write;

use runtime::Clock;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Writes each event as a line of JSON, behind it the fields of its spans.
pub(super) struct JsonLines<W> {
    writer: W,
    clock: Clock,
}

/// What an event or a span says, in its order.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl<W> JsonLines<W> {
    pub(super) fn new(writer: W, clock: Clock) -> Self {
        Self { writer, clock }
    }
}

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            record.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(Fields { others, .. }) = span.extensions().get::<Fields>() {
                for (key, value) in others {
                    fields.add_missing(key, value);
                }
            }
        }
        let line = line(&self.clock, event.metadata(), &fields);
        // There is nobody to tell that the log cannot be written.
        let _ = self.writer.make_writer_for(event.metadata()).write_all(line.as_bytes());
    }
}

fn line(clock: &Clock, metadata: &Metadata<'_>, fields: &Fields) -> String {
    let micros = clock.now().unix_nanos() / 1000;
    let (level, verbosity) = match *metadata.level() {
        Level::ERROR => ("error", 0),
        Level::WARN => ("warn", 0),
        Level::INFO => ("info", 0),
        Level::DEBUG => ("debug", 4),
        Level::TRACE => ("trace", 6),
    };
    let mut line = format!("{{\"ts\":{}.{:03}", micros / 1000, micros % 1000);
    let mut push = |key: &str, value: Value| {
        line.extend([",", &Value::from(key).to_string(), ":", &value.to_string()]);
    };
    push("caller", caller(metadata).into());
    push("msg", fields.message.as_str().into());
    push("v", verbosity.into());
    push("level", level.into());
    for (key, value) in &fields.others {
        push(key, value.clone());
    }
    line.push_str("}\n");
    line
}

/// The crate, the file in it and the line.
fn caller(metadata: &Metadata<'_>) -> String {
    let path = metadata.file().unwrap_or_default();
    let short = path.rsplit_once("/src/").map(|(folder, file)| {
        let folder = folder.rsplit('/').next().unwrap_or_default();
        format!("{folder}/{file}")
    });
    format!("{}:{}", short.as_deref().unwrap_or(path), metadata.line().unwrap_or_default())
}

// === impl Fields ===

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        let value = value.into();
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            ("error", value) => self.others.push(("err", value)),
            (name, value) => self.others.push((name, value)),
        }
    }

    /// What the event says itself, or an inner span, counts more.
    fn add_missing(&mut self, key: &'static str, value: &Value) {
        if self.others.iter().all(|(known, _)| *known != key) {
            self.others.push((key, value.clone()));
        }
    }
}

impl Visit for Fields {
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

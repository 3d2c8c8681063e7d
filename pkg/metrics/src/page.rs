//! The page that Prometheus scrapes, as `MetricFamilyToText` and `MetricFamilyToOpenMetrics` of
//! common/expfmt write it.

use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType};

use crate::accept::{self, Choice};
use crate::number;
use crate::settings::OpenMetrics;

/// What to answer to a scrape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// For the header Content-Type.
    pub content_type: String,
    /// UTF-8.
    pub body: String,
}

/// How families are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Format {
    /// Prometheus' own, version 0.0.4.
    Text,
    /// The same with stricter rules.
    OpenMetrics { version: &'static str },
}

struct Writer {
    out: String,
    format: Format,
}

/// A sample's value. OpenMetrics writes `2` for a count and `2.0` for a number.
#[derive(Clone, Copy)]
enum Value {
    Number(f64),
    Count(u64),
}

/// Writes `families` in the format that `accept` prefers.
pub(crate) fn render(families: &[MetricFamily], accept: &str, open_metrics: OpenMetrics) -> Page {
    let Choice { format, escaping } = accept::choose(accept, open_metrics);
    let mut writer = Writer { out: String::new(), format };
    for family in families {
        writer.family(family);
    }
    let kind = match format {
        Format::Text => "text/plain; version=0.0.4".to_owned(),
        Format::OpenMetrics { version } => {
            writer.out.push_str("# EOF\n");
            format!("application/openmetrics-text; version={version}")
        }
    };
    let content_type = format!("{kind}; charset=utf-8; escaping={escaping}");
    Page { content_type, body: writer.out }
}

// === impl Writer ===

impl Writer {
    fn family(&mut self, family: &MetricFamily) {
        let kind = family.get_field_type();
        let (name, word) = (family.name(), word(kind));
        // A counter's name ends with `_total` in OpenMetrics, and that is no part of it.
        let (title, word) = match (self.format, kind, name.strip_suffix("_total")) {
            (Format::OpenMetrics { .. }, MetricType::COUNTER, Some(stem)) => (stem, word),
            (Format::OpenMetrics { .. }, MetricType::COUNTER, None)
            | (Format::OpenMetrics { .. }, MetricType::UNTYPED, _) => (name, "unknown"),
            _ => (name, word),
        };
        self.push(&["# HELP ", title, " "]);
        let is_quoted = |c| c == '"' && self.format != Format::Text;
        escape(&mut self.out, family.help(), is_quoted);
        self.push(&["\n# TYPE ", title, " ", word, "\n"]);
        for metric in family.get_metric() {
            self.metric(name, kind, metric);
        }
    }

    fn metric(&mut self, name: &str, kind: MetricType, metric: &Metric) {
        let labels = metric.get_label();
        let value = match kind {
            MetricType::COUNTER => metric.get_counter().get_value(),
            MetricType::GAUGE => metric.get_gauge().get_value(),
            MetricType::HISTOGRAM => return self.histogram(name, metric),
            // Nobody can register these.
            MetricType::SUMMARY | MetricType::UNTYPED => return,
        };
        self.sample([name, ""], labels, None, Value::Number(value));
    }

    fn histogram(&mut self, name: &str, metric: &Metric) {
        let (labels, histogram) = (metric.get_label(), metric.get_histogram());
        let count = Value::Count(histogram.get_sample_count());
        for bucket in histogram.get_bucket() {
            let below = Value::Count(bucket.cumulative_count());
            self.sample([name, "_bucket"], labels, Some(bucket.upper_bound()), below);
        }
        self.sample([name, "_bucket"], labels, Some(f64::INFINITY), count);
        let sum = Value::Number(histogram.get_sample_sum());
        self.sample([name, "_sum"], labels, None, sum);
        self.sample([name, "_count"], labels, None, count);
    }

    fn sample(&mut self, name: [&str; 2], labels: &[LabelPair], bound: Option<f64>, value: Value) {
        self.push(&name);
        let mut separator = "{";
        for label in labels {
            self.push(&[separator, label.name(), "=\""]);
            escape(&mut self.out, label.value(), |c| c == '"');
            self.out.push('"');
            separator = ",";
        }
        if let Some(bound) = bound {
            self.push(&[separator, "le=\""]);
            self.number(bound);
            self.out.push('"');
            separator = ",";
        }
        self.out.push_str(if separator == "," { "} " } else { " " });
        match value {
            Value::Number(value) => self.number(value),
            #[expect(clippy::cast_precision_loss, reason = "upstream prints counts as floats")]
            Value::Count(count) if self.format == Format::Text => self.number(count as f64),
            Value::Count(count) => self.out.push_str(&count.to_string()),
        }
        self.out.push('\n');
    }

    fn number(&mut self, value: f64) {
        let start = self.out.len();
        number::push(&mut self.out, value);
        let is_whole = value.is_finite() && !self.out[start..].contains(['e', '.']);
        if is_whole && self.format != Format::Text {
            self.out.push_str(".0");
        }
    }

    fn push(&mut self, texts: &[&str]) {
        self.out.extend(texts.iter().copied());
    }
}

fn word(kind: MetricType) -> &'static str {
    match kind {
        MetricType::COUNTER => "counter",
        MetricType::GAUGE => "gauge",
        MetricType::SUMMARY => "summary",
        MetricType::UNTYPED => "untyped",
        MetricType::HISTOGRAM => "histogram",
    }
}

/// Adds `text` with a backslash before each backslash and what else `is_special`; ends of lines
/// become `\n`.
fn escape(out: &mut String, text: &str, is_special: impl Fn(char) -> bool) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            _ if c == '\\' || is_special(c) => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
}

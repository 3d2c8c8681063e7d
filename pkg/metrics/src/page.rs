//! The page that Prometheus scrapes, as `MetricFamilyToText` of common/expfmt writes it.

use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType};

use crate::{accept, number};

/// The response to a scrape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// For the header Content-Type.
    pub content_type: String,
    /// UTF-8.
    pub body: String,
}

#[derive(Default)]
struct Writer {
    out: String,
}

/// Writes `families`, with the content type for `accept`.
pub(crate) fn render(families: &[MetricFamily], accept: &str) -> Page {
    let mut writer = Writer::default();
    for family in families {
        writer.family(family);
    }
    let escaping = accept::escaping(accept);
    let content_type = format!("text/plain; version=0.0.4; charset=utf-8; escaping={escaping}");
    Page { content_type, body: writer.out }
}

// === impl Writer ===

impl Writer {
    fn family(&mut self, family: &MetricFamily) {
        let kind = family.get_field_type();
        let name = family.name();
        self.push(&["# HELP ", name, " "]);
        escape(&mut self.out, family.help(), |_| false);
        self.push(&["\n# TYPE ", name, " ", word(kind), "\n"]);
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
            // These cannot be registered.
            MetricType::SUMMARY | MetricType::UNTYPED => return,
        };
        self.sample([name, ""], labels, None, value);
    }

    fn histogram(&mut self, name: &str, metric: &Metric) {
        let (labels, histogram) = (metric.get_label(), metric.get_histogram());
        let count = float(histogram.get_sample_count());
        for bucket in histogram.get_bucket() {
            let below = float(bucket.cumulative_count());
            self.sample([name, "_bucket"], labels, Some(bucket.upper_bound()), below);
        }
        self.sample([name, "_bucket"], labels, Some(f64::INFINITY), count);
        self.sample([name, "_sum"], labels, None, histogram.get_sample_sum());
        self.sample([name, "_count"], labels, None, count);
    }

    fn sample(&mut self, name: [&str; 2], labels: &[LabelPair], bound: Option<f64>, value: f64) {
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
            number::push(&mut self.out, bound);
            self.out.push('"');
            separator = ",";
        }
        self.out.push_str(if separator == "," { "} " } else { " " });
        number::push(&mut self.out, value);
        self.out.push('\n');
    }

    fn push(&mut self, texts: &[&str]) {
        self.out.extend(texts.iter().copied());
    }
}

#[expect(clippy::cast_precision_loss, reason = "upstream prints counts as floats")]
fn float(count: u64) -> f64 {
    count as f64
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

/// Adds `text` with a backslash before each backslash and each character that `is_special`; line
/// ends become `\n`.
fn escape(out: &mut String, text: &str, is_special: impl Fn(char) -> bool) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            _ if c == '\\' || is_special(c) => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
}

//! Which format and which escaping of names the reader of a page asks for.

use crate::page::Format;
use crate::settings::OpenMetrics;

/// What a page is written in. Names that had to be escaped do not exist here, so the scheme is
/// only repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice<'a> {
    pub(crate) format: Format,
    pub(crate) escaping: &'a str,
}

/// One of the types that a header Accept lists.
struct Clause<'a> {
    media_type: &'a str,
    params: Vec<(&'a str, &'a str)>,
    quality: f32,
}

/// As `Negotiate` and `NegotiateIncludingOpenMetrics` of common/expfmt, without protobuf: who
/// wants that gets the next best that it accepts.
pub(crate) fn choose(accept: &str, open_metrics: OpenMetrics) -> Choice<'_> {
    let mut escaping = "underscores";
    for clause in clauses(accept) {
        let asked = clause.param("escaping");
        if ["allow-utf-8", "underscores", "dots", "values"].contains(&asked) {
            escaping = asked;
        }
        let format = match (clause.media_type, clause.param("version"), open_metrics) {
            ("text/plain", "" | "0.0.4", _) => Format::Text,
            ("application/openmetrics-text", "1.0.0", OpenMetrics::Offered) => {
                Format::OpenMetrics { version: "1.0.0" }
            }
            ("application/openmetrics-text", "" | "0.0.1", OpenMetrics::Offered) => {
                Format::OpenMetrics { version: "0.0.1" }
            }
            _ => continue,
        };
        return Choice { format, escaping };
    }
    Choice { format: Format::Text, escaping }
}

/// The best first.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<_> = accept.split(',').map(Clause::parse).collect();
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    clauses
}

// === impl Clause ===

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let params = parts.filter_map(|part| part.split_once('='));
        let params: Vec<_> = params.map(|(key, value)| (key.trim(), value.trim())).collect();
        let quality = params.iter().find(|(key, _)| *key == "q");
        let quality = quality.map_or(1.0, |(_, value)| value.parse().unwrap_or(0.0));
        Self { media_type, params, quality }
    }

    /// Empty if it is not given.
    fn param(&self, name: &str) -> &'a str {
        self.params.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }
}

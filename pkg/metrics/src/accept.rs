//! The escaping of names that a client asks for.

/// One of the types in a header Accept.
struct Clause<'a> {
    media_type: &'a str,
    params: Vec<(&'a str, &'a str)>,
    quality: f32,
}

/// The escaping to repeat in the response: names that need escaping do not exist here.
///
/// As `Negotiate` of common/expfmt for the one format that there is. A client that asks for another
/// format gets this one, also for OpenMetrics: upstream does not offer it, and a Prometheus that
/// gets it stores `le="1.0"` instead of `le="1"`.
pub(crate) fn escaping(accept: &str) -> &str {
    let mut escaping = "underscores";
    for clause in clauses(accept) {
        let asked = clause.param("escaping");
        if ["allow-utf-8", "underscores", "dots", "values"].contains(&asked) {
            escaping = asked;
        }
        if clause.media_type == "text/plain" && ["", "0.0.4"].contains(&clause.param("version")) {
            break;
        }
    }
    escaping
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

//! Lines of JSON, with upstream's keys in their order (k8s.io/component-base/logs/json,
//! github.com/go-logr/zapr): `ts` in milliseconds, `caller`, `msg`, the fields of the spans, `v`,
//! the fields of the event. Errors have no `v`, and `err` at the end. Upstream does not distinguish
//! warnings from info; here they have a `level`.

use serde_json::Value;

use super::entry::{Entry, Pair, Severity, each_once};

/// The entry as a line.
pub(super) fn line(entry: &Entry) -> String {
    let mut line = format!("{{\"ts\":{}", milliseconds(entry));
    let mut push = |key: &str, value: &Value| {
        line.extend([",", &Value::from(key).to_string(), ":", &value.to_string()]);
    };
    push("caller", &caller(entry).into());
    push("msg", &entry.message.as_str().into());
    let is_error = entry.severity == Severity::Error;
    let is_cause = |pair: &&Pair| is_error && pair.0 == "err";
    let verbosity = (!is_error).then(|| ("v", entry.verbosity.into()));
    let level = (entry.severity == Severity::Warning).then(|| ("level", "warn".into()));
    let own = || entry.pairs.iter();
    let rest = own().filter(|pair| !is_cause(pair)).chain(own().filter(is_cause)).cloned();
    let pairs = entry.context.iter().cloned().chain(verbosity).chain(level).chain(rest);
    for (key, value) in each_once(pairs) {
        push(key, &value);
    }
    line.push_str("}\n");
    line
}

/// As a float with as many decimals as needed, which is how upstream computes it.
#[expect(clippy::cast_precision_loss, reason = "upstream loses the same nanoseconds")]
fn milliseconds(entry: &Entry) -> f64 {
    entry.time.unix_nanos() as f64 / 1_000_000.0
}

/// The crate, the file in it and the line.
fn caller(entry: &Entry) -> String {
    let short = entry.file.rsplit_once("/src/").map(|(folder, file)| {
        let folder = folder.rsplit('/').next().unwrap_or_default();
        format!("{folder}/{file}")
    });
    format!("{}:{}", short.as_deref().unwrap_or(&entry.file), entry.line)
}

//! Spans of time as texts.

use std::fmt::Write;
use std::time::Duration;

use api::Time;

/// Reads what Go's `time.ParseDuration` reads, such as `2s`, `1m30s`, `1.5s`, `500ms`; no signs.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|it: char| it.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * seconds;
        rest = after;
    }
    Duration::try_from_secs_f64(sum).ok()
}

/// Whole seconds as Go prints them: `10s`, `1m20s`, `1h0m0s`.
pub(crate) fn print(span: Duration) -> String {
    let seconds = span.as_secs();
    let mut text = String::new();
    if seconds >= 3600 {
        let _ = write!(text, "{}h", seconds / 3600);
    }
    if seconds >= 60 {
        let _ = write!(text, "{}m", seconds / 60 % 60);
    }
    let _ = write!(text, "{}s", seconds % 60);
    text
}

/// A moment as upstream's `metav1.MicroTime`.
pub(crate) fn micro(time: Time) -> String {
    let whole = time.whole_seconds();
    let text = whole.to_string();
    let micros = time.since(whole).subsec_micros();
    format!("{}.{micros:06}Z", text.trim_end_matches('Z'))
}

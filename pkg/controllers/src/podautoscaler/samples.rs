//! What the three metrics APIs respond. As upstream's `metrics/client.go`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use api::Time;
use apimachinery::{Quantity, fields};
use controller::{Facts, Query, Refused};
use serde_json::Value;

/// The window of a sample that does not say its own.
const WINDOW_DEFAULT: Duration = Duration::from_mins(1);

/// What is known of one pod, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// The end of the window that it is about.
    pub(super) timestamp: Time,
    /// The length of the window.
    pub(super) window: Duration,
    /// The value.
    pub(super) value: i64,
}

/// Samples by the name of the pod.
pub(super) type Samples = BTreeMap<String, Sample>;

/// Why something is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// This must be read first.
    Unread(Box<Query>),
    /// It could not be read, or makes no sense.
    Failed(String),
}

/// A path of an API, and the words for it in client-go's errors.
pub(super) struct Place {
    /// The path, without parameters.
    pub(super) path: String,
    /// Parameters by name; those that are empty are left out.
    pub(super) parameters: Vec<(&'static str, String)>,
    /// The resource, such as `pods.metrics.k8s.io`.
    pub(super) resource: String,
    /// The name; empty: a list.
    pub(super) name: String,
}

/// The query for a place.
pub(super) fn query(place: &Place) -> Query {
    let given = place.parameters.iter().filter(|(_, value)| !value.is_empty());
    let parameters: Vec<_> =
        given.map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    let mark = if parameters.is_empty() { "" } else { "?" };
    Query::path(format!("{}{mark}{}", place.path, parameters.join("&")))
}

/// The JSON at a place.
pub(super) fn read<'a>(place: &Place, facts: &'a Facts) -> Result<&'a Value, Unknown> {
    let query = query(place);
    let answer = facts.get(&query).ok_or(Unknown::Unread(query.into()))?;
    answer.json().map_err(|refused| Unknown::Failed(words(refused, place)))
}

/// The items of a list of an API.
pub(super) fn items<'a>(
    place: &Place,
    api: &str,
    facts: &'a Facts,
) -> Result<&'a [Value], Unknown> {
    let list = read(place, facts).map_err(|unknown| unknown.prefixed(&unable(api)))?;
    match fields::items(list, "/items") {
        [] => Err(Unknown::Failed(format!("no metrics returned from {api} API"))),
        items => Ok(items),
    }
}

/// How an error of an API begins.
pub(super) fn unable(api: &str) -> String {
    format!("unable to fetch metrics from {api} API: ")
}

/// The samples of pods that a list of the resource metrics API has; of one container, or of all.
/// As `getPodMetrics` and `getContainerMetrics`.
pub(super) fn resource(items: &[Value], resource: &str, container: &str) -> Samples {
    let usage = |it: &Value| {
        let usage = fields::at(it, "/usage")?.get(resource)?;
        Quantity::from_json(usage).map(Quantity::milli_value)
    };
    let value = |item: &Value| {
        let containers = fields::items(item, "/containers");
        if container.is_empty() {
            let sum = |sum: i64, it: &Value| Some(sum.wrapping_add(usage(it)?));
            return Some(containers).filter(|it| !it.is_empty())?.iter().try_fold(0, sum);
        }
        usage(containers.iter().find(|it| fields::text(it, "/name") == container)?)
    };
    let sample = |item: &Value| {
        let window = go_duration(fields::text(item, "/window"));
        let name = fields::text(item, "/metadata/name").to_owned();
        Some((name, Sample { timestamp: timestamp(item), window, value: value(item)? }))
    };
    items.iter().filter_map(sample).collect()
}

/// The samples of pods that a list of the custom metrics API has. As `GetRawMetric`.
pub(super) fn custom(items: &[Value]) -> Samples {
    let sample = |item: &Value| {
        // The name that version v1beta2 has for it, and that of v1beta1.
        let window = fields::number(item, "/windowSeconds").or(fields::number(item, "/window"));
        let window = window.map(|it| Duration::from_secs(u64::try_from(it).unwrap_or(0)));
        let name = fields::text(item, "/describedObject/name").to_owned();
        let (timestamp, value) = (timestamp(item), value(item));
        (name, Sample { timestamp, window: window.unwrap_or(WINDOW_DEFAULT), value })
    };
    items.iter().map(sample).collect()
}

/// The value of an item, in thousandths.
pub(super) fn value(item: &Value) -> i64 {
    let value = item.get("value").and_then(Quantity::from_json);
    value.unwrap_or_default().milli_value()
}

fn timestamp(item: &Value) -> Time {
    Time::parse(fields::text(item, "/timestamp")).unwrap_or(Time::from_unix(i64::MIN, 0))
}

/// The sum of what stands in a duration such as `1m30.5s`; none where there is none.
fn go_duration(text: &str) -> Duration {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let end = rest.find(|char: char| char.is_ascii_alphabetic() || char == 'µ');
        let (number, unit) = rest.split_at(end.unwrap_or(rest.len()));
        let end = unit.find(|char: char| char.is_ascii_digit() || char == '.');
        let (unit, next) = unit.split_at(end.unwrap_or(unit.len()));
        let unit_seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return Duration::ZERO,
        };
        let part = number.parse::<f64>().ok().map(|it| it * unit_seconds);
        let part = part.and_then(|it| Duration::try_from_secs_f64(it).ok());
        sum = sum.saturating_add(part.unwrap_or_default());
        rest = next;
    }
    sum
}

/// The error as client-go has it: a response that is no `Status` in its own words.
pub(super) fn words(refused: &Refused, place: &Place) -> String {
    let text = match refused.code.filter(|_| refused.bare) {
        Some(404) => "the server could not find the requested resource",
        Some(503) => "the server is currently unable to handle the request",
        Some(504) => {
            "the server was unable to return a response in the time allotted, but may still be \
             processing the request"
        }
        Some(_) | None => return refused.text.clone(),
    };
    let space = if place.name.is_empty() { "" } else { " " };
    format!("{text} (get {}{space}{})", place.resource, place.name)
}

/// As Go's `url.QueryEscape`.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            _ => write!(out, "%{byte:02X}").expect("a String takes all text"),
        }
    }
    out
}

// === impl Unknown ===

impl Unknown {
    /// The same with words before the error.
    pub(super) fn prefixed(self, before: &str) -> Self {
        match self {
            Self::Unread(query) => Self::Unread(query),
            Self::Failed(error) => Self::Failed(format!("{before}{error}")),
        }
    }

    /// The same with words around the error.
    pub(super) fn map(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Unread(query) => Self::Unread(query),
            Self::Failed(error) => Self::Failed(words(error)),
        }
    }
}

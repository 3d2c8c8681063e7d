//! What the table of HorizontalPodAutoscalers says of metrics: formatHPAMetrics of upstream's
//! printers.

use serde_json::Value;

use super::metrics::quantity;
use crate::value::{get, number, or_null, text};

/// How many metrics are printed.
const PRINTED_MAX: usize = 2;

/// `10%/80%`, `<unknown>/2 (avg)`, …
pub(super) fn print(specs: &[Value], statuses: &[Value]) -> String {
    if specs.is_empty() {
        return "<none>".to_owned();
    }
    let printed = specs.iter().enumerate().take(PRINTED_MAX);
    let printed: Vec<String> =
        printed.map(|(at, spec)| one(spec, statuses.get(at).unwrap_or(&Value::Null))).collect();
    let printed = printed.join(", ");
    match specs.len().saturating_sub(PRINTED_MAX) {
        0 => printed,
        more => format!("{printed} + {more} more..."),
    }
}

fn one(spec: &Value, status: &Value) -> String {
    match text(spec, "/type") {
        "External" => from_outside(spec, status, "external"),
        "Object" => from_outside(spec, status, "object"),
        "Pods" => {
            let current = get(status, "/pods").map(|pods| amount(pods, "/current/averageValue"));
            format!("{}/{}", known(current), amount(spec, "/pods/target/averageValue"))
        }
        "Resource" => resource(spec, status, "resource"),
        "ContainerResource" => resource(spec, status, "containerResource"),
        _ => "<unknown type>".to_owned(),
    }
}

fn from_outside(spec: &Value, status: &Value, source: &str) -> String {
    let spec = or_null(spec, &format!("/{source}"));
    let status = status.get(source).filter(|it| !it.is_null());
    if get(&spec, "/target/averageValue").is_some() {
        let current = status.and_then(|it| get(it, "/current/averageValue")).map(quantity);
        return format!("{}/{} (avg)", known(current), amount(&spec, "/target/averageValue"));
    }
    let current = status.map(|it| amount(it, "/current/value"));
    format!("{}/{}", known(current), amount(&spec, "/target/value"))
}

fn resource(spec: &Value, status: &Value, source: &str) -> String {
    let spec = or_null(spec, &format!("/{source}"));
    let status = status.get(source).filter(|it| !it.is_null());
    let name = text(&spec, "/name");
    if get(&spec, "/target/averageValue").is_some() {
        let current = status.map(|it| amount(it, "/current/averageValue"));
        return format!("{name}: {}/{}", known(current), amount(&spec, "/target/averageValue"));
    }
    let percent = |object: &Value, pointer: &str| {
        number(object, pointer).map(|percent| format!("{percent}%"))
    };
    let current = status.and_then(|it| percent(it, "/current/averageUtilization"));
    let target = percent(&spec, "/target/averageUtilization");
    format!("{name}: {}/{}", known(current), target.unwrap_or_else(|| "<auto>".to_owned()))
}

fn known(current: Option<String>) -> String {
    current.unwrap_or_else(|| "<unknown>".to_owned())
}

/// A quantity, or what Go prints of none.
fn amount(object: &Value, pointer: &str) -> String {
    get(object, pointer).map_or_else(|| "<nil>".to_owned(), quantity)
}

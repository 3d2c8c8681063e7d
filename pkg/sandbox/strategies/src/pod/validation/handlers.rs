//! Probes and hooks (validateProbe, validateLifecycle, validateHandler).

use serde_json::Value;

use super::not_negative;
use crate::formats::{http_header, port_name, port_number};
use crate::value::{count, get, items, number, text};
use crate::{Invalid, Path};

/// The probes and lifecycle hooks of a container.
pub(super) fn of_container(container: &Value, spec: &Value, path: &Path) -> Vec<Invalid> {
    let grace = number(spec, "terminationGracePeriodSeconds");
    let mut faults = Vec::new();
    if let Some(lifecycle) = get(container, "lifecycle") {
        let path = path.child("lifecycle");
        for hook in ["postStart", "preStop"] {
            if let Some(handler_of) = get(lifecycle, hook) {
                faults.extend(handler(handler_of, grace, &path.child(hook)));
            }
        }
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = get(container, field) else { continue };
        let path = path.child(field);
        faults.extend(validate_probe(probe, grace, &path));
        let seconds = number(probe, "terminationGracePeriodSeconds");
        if field == "readinessProbe" {
            let path = path.child("terminationGracePeriodSeconds");
            let fault = "must not be set for readinessProbes";
            faults.extend(seconds.map(|seconds| path.invalid(seconds, fault)));
        } else if count(probe, "successThreshold") != 1 {
            let threshold = count(probe, "successThreshold");
            faults.push(path.child("successThreshold").invalid(threshold, "must be 1"));
        }
    }
    faults
}

fn validate_probe(probe: &Value, grace: Option<i64>, path: &Path) -> Vec<Invalid> {
    let mut faults = handler(probe, grace, path);
    let numbers = [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ];
    faults.extend(numbers.iter().filter_map(|field| not_negative(probe, field, path)));
    if let Some(seconds) = number(probe, "terminationGracePeriodSeconds").filter(|it| *it <= 0) {
        let path = path.child("terminationGracePeriodSeconds");
        faults.push(path.invalid(seconds, "must be greater than 0"));
    }
    faults
}

fn handler(handler: &Value, grace: Option<i64>, path: &Path) -> Vec<Invalid> {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let mut kinds = kinds.iter().filter_map(|kind| Some((*kind, get(handler, kind)?)));
    let Some((kind, action)) = kinds.next() else {
        return vec![path.required("must specify a handler type")];
    };
    let own = path.child(kind);
    let mut faults = match kind {
        "exec" if items(action, "command").is_empty() => vec![own.child("command").required("")],
        "httpGet" => http(action, &own),
        "tcpSocket" | "grpc" => port(action.get("port"), &own.child("port")),
        "sleep" => sleep(action, grace, &own).into_iter().collect(),
        _ => Vec::new(),
    };
    for (kind, _) in kinds {
        faults.push(path.child(kind).forbidden("may not specify more than 1 handler type"));
    }
    faults
}

fn http(action: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if text(action, "path").is_empty() {
        faults.push(path.child("path").required(""));
    }
    faults.extend(port(action.get("port"), &path.child("port")));
    let scheme = text(action, "scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        faults.push(path.child("scheme").not_supported(scheme, &["HTTP", "HTTPS"]));
    }
    for header in items(action, "httpHeaders") {
        let name = text(header, "name");
        faults.extend(path.child("httpHeaders").refuse(name, http_header(name)));
    }
    faults
}

/// A number, or a name (ValidatePortNumOrName).
fn port(port: Option<&Value>, path: &Path) -> Vec<Invalid> {
    if let Some(name) = port.and_then(Value::as_str) {
        return path.refuse(name, port_name(name));
    }
    let number = port.and_then(Value::as_i64).unwrap_or_default();
    let wrong = port_number(number);
    wrong.iter().map(|fault| path.invalid(number, fault)).collect()
}

fn sleep(action: &Value, grace: Option<i64>, path: &Path) -> Option<Invalid> {
    let (seconds, grace) = (count(action, "seconds"), grace?);
    (!(0..=grace).contains(&seconds)).then(|| {
        let fault = "must be non-negative and less than terminationGracePeriodSeconds";
        path.invalid(seconds, &format!("{fault} ({grace})"))
    })
}

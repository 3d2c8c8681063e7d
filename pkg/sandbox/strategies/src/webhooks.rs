//! Where webhooks are called.

use serde_json::Value;

use crate::formats::{dns_subdomain, port_number};
use crate::value::{fill, get, get_mut, maybe, number, text};
use crate::{Invalid, Path};

const FORM: &str = "; desired format: https://host[/path]";

/// The port of the service behind `clientConfig`, of whatever holds it.
pub(crate) fn default_port(holder: &mut Value) {
    if let Some(service) = get_mut(holder, "service") {
        fill(service, "port", 443);
    }
}

/// Exactly one of a URL and a service.
pub(crate) fn client(config: &Value, path: &Path) -> Vec<Invalid> {
    match (maybe(config, "/url"), get(config, "/service")) {
        (Some(url), None) => url_wrongs(url, &path.child("url")),
        (None, Some(service)) => service_wrongs(service, &path.child("service")),
        (None, None) | (Some(_), Some(_)) => {
            vec![path.required("exactly one of url or service is required")]
        }
    }
}

/// ValidateWebhookURL.
fn url_wrongs(url: &str, path: &Path) -> Vec<Invalid> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", ""));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut wrongs = Vec::new();
    if scheme != "https" {
        let wrong = format!("'https' is the only allowed URL scheme{FORM}");
        wrongs.push(path.invalid(scheme, &wrong));
    }
    if host.is_empty() {
        wrongs.push(path.invalid("", &format!("host must be specified{FORM}")));
    }
    for (part, wrong) in [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            wrongs.push(path.invalid(part, wrong));
        }
    }
    wrongs
}

/// ValidateWebhookService. Its callers mix up name and namespace, so its order is theirs.
fn service_wrongs(service: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    for (said, field) in [("/namespace", "name"), ("/name", "namespace")] {
        if text(service, said).is_empty() {
            wrongs.push(path.child(field).required(""));
        }
    }
    let port = number(service, "/port").unwrap_or(443);
    let wrong = port_number(port).map(|wrong| format!("port is not valid: {wrong}"));
    wrongs.extend(wrong.map(|wrong| path.child("port").invalid(port, &wrong)));
    let Some(route) = maybe(service, "/path") else { return wrongs };
    wrongs.extend(route_wrongs(route, &path.child("path")));
    wrongs
}

fn route_wrongs(route: &str, path: &Path) -> Vec<Invalid> {
    if route.is_empty() || route == "/" {
        return Vec::new();
    }
    if route == "//" {
        return vec![path.invalid(route, "segment[0] may not be empty")];
    }
    let mut wrongs = Vec::new();
    if !route.starts_with('/') {
        wrongs.push(path.invalid(route, "must start with a '/'"));
    }
    // Upstream leaves out the first character, whatever it is.
    let rest: String = route.chars().skip(1).collect();
    let rest = rest.strip_suffix('/').unwrap_or(&rest);
    for (index, step) in rest.split('/').enumerate() {
        if step.is_empty() {
            wrongs.push(path.invalid(route, &format!("segment[{index}] may not be empty")));
            continue;
        }
        let bad = dns_subdomain(step).into_iter();
        wrongs.extend(bad.map(|it| path.invalid(route, &format!("segment[{index}]: {it}"))));
    }
    wrongs
}

//! LimitRanger: what containers, pods and claims may ask for in a namespace, and what containers
//! ask for that say nothing.

use serde_json::Value;
use strategies::Quantity;

use super::resources::{Amounts, amounts, of_pod};
use super::{Attributes, Operation};
use crate::server::State;
use crate::status::Status;
use crate::write::fields::{has, items, map, text};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// Above this many units thousandths are not looked at.
const PRECISE_MAX: i64 = i64::MAX / 1000;

/// Fills in the defaults.
pub(super) fn admit(
    state: &State,
    attributes: &Attributes<'_>,
    pod: &mut Value,
    old: Option<&Value>,
) {
    if !counts(attributes, old) || &*attributes.served.table != "pods" {
        return;
    }
    for range in state.store.list("limitranges", Some(attributes.namespace)) {
        let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
        for limit in items(&range.object, "/spec/limits") {
            if text(limit, "/type") == "Container" {
                requests.extend(amounts(limit, "/defaultRequest"));
                limits.extend(amounts(limit, "/default"));
            }
        }
        fill(pod, &requests, &limits);
    }
}

/// Refuses what is out of range.
pub(super) fn validate(
    state: &State,
    attributes: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    if !counts(attributes, old) {
        return Ok(());
    }
    for range in state.store.list("limitranges", Some(attributes.namespace)) {
        let mut faults: Vec<String> = Vec::new();
        for limit in items(&range.object, "/spec/limits") {
            check(limit, object, &attributes.served.table, &mut faults);
        }
        // As upstream's aggregates: what is said twice is shown once.
        let mut once: Vec<String> = Vec::new();
        for fault in faults {
            if !once.contains(&fault) {
                once.push(fault);
            }
        }
        match once.as_slice() {
            [] => {}
            [one] => return Err(attributes.forbidden(object, one)),
            all => {
                return Err(attributes.forbidden(object, &format!("[{}]", all.join(", "))));
            }
        }
    }
    Ok(())
}

/// Whether ranges are about this.
fn counts(attributes: &Attributes<'_>, old: Option<&Value>) -> bool {
    let (table, updates) = (&*attributes.served.table, attributes.operation == Operation::Update);
    let supported = match attributes.subresource {
        "resize" => updates && table == "pods",
        "" => table == "persistentvolumeclaims" || (table == "pods" && !updates),
        _ => false,
    };
    supported && !old.is_some_and(|old| has(old, "/metadata/deletionTimestamp"))
}

/// Gives containers what they do not ask for, and says so in an annotation.
fn fill(pod: &mut Value, requests: &Amounts, limits: &Amounts) {
    let mut notes = Vec::new();
    for (field, what) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.pointer_mut(&format!("/spec/{field}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = text(container, "/name").to_owned();
            for (part, word, defaults) in
                [("requests", "request", requests), ("limits", "limit", limits)]
            {
                let known = amounts(container, &format!("/resources/{part}"));
                let missing = defaults.iter().filter(|(name, _)| !known.contains_key(*name));
                let missing: Vec<_> = missing.collect();
                for (resource, amount) in &missing {
                    let at = map(container, &["resources", part]);
                    at.insert((*resource).clone(), amount.to_string().into());
                }
                if !missing.is_empty() {
                    let all: Vec<_> = missing.iter().map(|(name, _)| name.as_str()).collect();
                    notes.push(format!("{} {word} for {what} {name}", all.join(", ")));
                }
            }
        }
    }
    if !notes.is_empty() {
        let note = format!("LimitRanger plugin set: {}", notes.join("; "));
        map(pod, &["metadata", "annotations"]).insert(ANNOTATION.to_owned(), note.into());
    }
}

/// One entry of a range.
fn check(limit: &Value, object: &Value, table: &str, faults: &mut Vec<String>) {
    let kind = text(limit, "/type");
    let asks = |it: &Value| (amounts(it, "/resources/requests"), amounts(it, "/resources/limits"));
    match (kind, table) {
        ("PersistentVolumeClaim", "persistentvolumeclaims") => {
            let requests = amounts(object, "/spec/resources/requests");
            for (name, bound) in amounts(limit, "/min") {
                faults.extend(min(kind, &name, bound, (&requests, &Amounts::new())));
            }
            for (name, bound) in amounts(limit, "/max") {
                faults.extend(max_request(kind, &name, bound, &requests));
            }
        }
        ("Container", "pods") => {
            for field in ["containers", "initContainers"] {
                for container in items(object, &format!("/spec/{field}")) {
                    let (requests, limits) = asks(container);
                    check_all(limit, kind, (&requests, &limits), faults);
                }
            }
        }
        ("Pod", "pods") => {
            let (requests, limits) = (of_pod(object, "requests"), of_pod(object, "limits"));
            check_all(limit, kind, (&requests, &limits), faults);
        }
        _ => {}
    }
}

/// Requests and limits.
type Asked<'a> = (&'a Amounts, &'a Amounts);

fn check_all(limit: &Value, kind: &str, asked: Asked<'_>, faults: &mut Vec<String>) {
    for (name, bound) in amounts(limit, "/min") {
        faults.extend(min(kind, &name, bound, asked));
    }
    for (name, bound) in amounts(limit, "/max") {
        faults.extend(max(kind, &name, bound, asked));
    }
    for (name, bound) in amounts(limit, "/maxLimitRequestRatio") {
        faults.extend(ratio(kind, &name, bound, asked));
    }
}

/// A request, a limit and a bound at a precision that all three have.
fn comparable(
    request: Option<Quantity>,
    limit: Option<Quantity>,
    bound: Quantity,
) -> (i64, i64, i64) {
    let (request, limit) = (request.unwrap_or_default(), limit.unwrap_or_default());
    if [request, limit, bound].iter().all(|it| it.value() <= PRECISE_MAX) {
        return (request.milli_value(), limit.milli_value(), bound.milli_value());
    }
    (request.value(), limit.value(), bound.value())
}

fn min(kind: &str, name: &str, bound: Quantity, (requests, limits): Asked<'_>) -> Option<String> {
    let (request, limit) = (requests.get(name).copied(), limits.get(name).copied());
    let (asked, limited, least) = comparable(request, limit, bound);
    let rule = format!("minimum {name} usage per {kind} is {bound}");
    match (request, limit) {
        (None, _) => Some(format!("{rule}.  No request is specified")),
        (Some(request), _) if asked < least => Some(format!("{rule}, but request is {request}")),
        (Some(_), Some(limit)) if limited < least => Some(format!("{rule}, but limit is {limit}")),
        (Some(_), _) => None,
    }
}

fn max_request(kind: &str, name: &str, bound: Quantity, requests: &Amounts) -> Option<String> {
    let request = requests.get(name).copied();
    let (asked, _, most) = comparable(request, None, bound);
    let rule = format!("maximum {name} usage per {kind} is {bound}");
    match request {
        None => Some(format!("{rule}.  No request is specified")),
        Some(request) if asked > most => Some(format!("{rule}, but request is {request}")),
        Some(_) => None,
    }
}

fn max(kind: &str, name: &str, bound: Quantity, (requests, limits): Asked<'_>) -> Option<String> {
    let (request, limit) = (requests.get(name).copied(), limits.get(name).copied());
    let (asked, limited, most) = comparable(request, limit, bound);
    let rule = format!("maximum {name} usage per {kind} is {bound}");
    match (request, limit) {
        (_, None) => Some(format!("{rule}.  No limit is specified")),
        (_, Some(limit)) if limited > most => Some(format!("{rule}, but limit is {limit}")),
        (Some(request), Some(_)) if asked > most => {
            Some(format!("{rule}, but request is {request}"))
        }
        (_, Some(_)) => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio is compared as upstream compares it")]
fn ratio(kind: &str, name: &str, bound: Quantity, (requests, limits): Asked<'_>) -> Option<String> {
    let (request, limit) = (requests.get(name).copied(), limits.get(name).copied());
    let (asked, limited, _) = comparable(request, limit, bound);
    let rule = format!("{name} max limit to request ratio per {kind} is {bound}");
    if asked == 0 {
        return Some(format!("{rule}, but no request is specified or request is 0"));
    }
    if limited == 0 {
        return Some(format!("{rule}, but no limit is specified or limit is 0"));
    }
    let provided = limited as f64 / asked as f64;
    let (observed, most) = if bound.value() <= PRECISE_MAX {
        (provided * 1000.0, bound.milli_value() as f64)
    } else {
        (provided, bound.value() as f64)
    };
    (observed > most).then(|| format!("{rule}, but provided ratio is {provided:.6}"))
}

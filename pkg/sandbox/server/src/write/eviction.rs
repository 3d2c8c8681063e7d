//! `/eviction` of pods: a deletion that a PodDisruptionBudget can refuse
//! (pkg/registry/core/pod/storage/eviction.go).

use api::Key;
use apimachinery::fields;
use serde_json::{Value, json};
use strategies::Path;

use super::binding::done;
use super::body::{Wanted, put_in_namespace};
use super::delete::{check_preconditions, delete_with};
use super::fields::{has, items, map, number, pairs, set_condition, text};
use super::options::{Deletion, Of, Options};
use super::{Written, found, key, put};
use crate::admission::{self, Attributes, Operation};
use crate::request::Call;
use crate::server::State;
use crate::status::{About, Status};

/// Where budgets are.
const BUDGETS: &str = "poddisruptionbudgets.policy";
/// How many evictions may wait for the budget's controller.
const DISRUPTED_PODS_MAX: usize = 2000;
const VERSION: &str = "/metadata/resourceVersion";
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// Handles a POST.
pub(super) fn create(state: &mut State, call: &Call) -> Result<Written, Status> {
    let options = Options::read(call, Of::Create)?;
    let mut wanted = Wanted::document(("policy", "v1", "Eviction"), options.strictness);
    if matches!(serde_json::from_slice::<Value>(&call.body), Ok(body)
        if text(&body, "/apiVersion") == "policy/v1beta1")
    {
        wanted.version = "v1beta1";
    }
    let decoded = wanted.read(call)?;
    let mut eviction = decoded.object;
    put_in_namespace(&mut eviction, call)?;
    if text(&eviction, "/metadata/name") != call.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    check_unsafe(&eviction, &call.name)?;
    let mut deletion = match eviction.get("deleteOptions") {
        Some(options) if options.is_object() => Deletion::parse(options)?,
        Some(_) | None => Deletion::default(),
    };
    deletion.dry_run |= options.dry_run;
    let attributes = Attributes::of(call, Operation::Create);
    admission::admit(state, &attributes, &mut eviction, None)?;
    let pod = found(state, call)?;
    if !is_over(&pod)
        && let Some(answer) = spend(state, call, &pod, &deletion)?
    {
        return Ok(Written { code: 201, document: answer.into(), warnings: decoded.warnings });
    }
    evict(state, call, &pod, deletion)?;
    Ok(Written { code: 201, document: done().into(), warnings: decoded.warnings })
}

/// An object that cannot be read may be deleted unread, but not evicted.
fn check_unsafe(eviction: &Value, name: &str) -> Result<(), Status> {
    let option = "ignoreStoreReadErrorWithClusterBreakingPotential";
    if eviction["deleteOptions"][option] != true {
        return Ok(());
    }
    let detail = "can not be set for pod eviction, try after removing the option";
    let fault = Path::new("deleteOptions").child(option).invalid(true, detail);
    Err(Status::invalid(About { group: "policy", resource: "Eviction", name }, &[fault]))
}

/// Whether no budget counts the pod (canIgnorePDB).
fn is_over(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed" | "Pending")
        || has(pod, "/metadata/deletionTimestamp")
}

/// Takes a disruption from the pod's budget. Something: the response, and the pod stays.
fn spend(
    state: &mut State,
    call: &Call,
    pod: &Value,
    deletion: &Deletion,
) -> Result<Option<Value>, Status> {
    let budgets = state.store.list(BUDGETS, Some(&call.namespace));
    let labels = fields::at(pod, "/metadata/labels").unwrap_or(&Value::Null);
    let guards = |budget: &Value| {
        fields::at(budget, "/spec/selector").is_some_and(|selector| matches(selector, labels))
    };
    let budgets: Vec<_> = budgets.iter().filter(|it| guards(&it.object)).collect();
    let budget = match budgets.as_slice() {
        [] => return Ok(None),
        [one] => serde_json::Value::clone(&one.object),
        _ => {
            let message = "This pod has more than one PodDisruptionBudget, which the eviction \
                           subresource does not support.";
            return Ok(Some(json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {},
                "status": "Failure", "message": message, "code": 500,
            })));
        }
    };
    let count = |pointer: &str| number(&budget, pointer).unwrap_or(0);
    let (healthy, desired) = (count("/status/currentHealthy"), count("/status/desiredHealthy"));
    let policy = text(&budget, "/spec/unhealthyPodEvictionPolicy");
    let unready = !is_ready(pod);
    if unready && (policy == "AlwaysAllow" || (healthy >= desired && desired > 0)) {
        return Ok(None);
    }
    let spent = decremented(&budget, text(pod, "/metadata/name"), &call.now.to_string())?;
    if !deletion.dry_run {
        let key = Key::new(&call.namespace, text(&budget, "/metadata/name"));
        put(state, &BUDGETS.into(), &key, spent);
    }
    Ok(None)
}

/// The budget with one disruption less, or why it has none (checkAndDecrement).
fn decremented(budget: &Value, pod: &str, now: &str) -> Result<Value, Status> {
    let name = text(budget, "/metadata/name");
    let count = |pointer: &str| number(budget, pointer).unwrap_or(0);
    if count("/status/observedGeneration") < count("/metadata/generation") {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(too_many(&why, 10));
    }
    let about = About { group: "policy", resource: "poddisruptionbudget", name };
    let allowed = count("/status/disruptionsAllowed");
    if allowed < 0 {
        return Err(Status::forbidden(about, "pdb disruptions allowed is negative"));
    }
    if pairs(budget, "/status/disruptedPods").count() > DISRUPTED_PODS_MAX {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Status::forbidden(about, why));
    }
    if allowed == 0 {
        return Err(too_many(&refusal(budget), 0));
    }
    let mut new = budget.clone();
    map(&mut new, &["status"]).insert("disruptionsAllowed".to_owned(), (allowed - 1).into());
    if allowed == 1 {
        let condition = json!({
            "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods",
            "message": "", "observedGeneration": count("/status/observedGeneration"),
        });
        set_condition(&mut new, condition, now);
    }
    map(&mut new, &["status", "disruptedPods"]).insert(pod.to_owned(), now.into());
    Ok(new)
}

/// Why a budget allows no disruption.
fn refusal(budget: &Value) -> String {
    let name = text(budget, "/metadata/name");
    let count = |pointer: &str| number(budget, pointer).unwrap_or(0);
    let (healthy, desired) = (count("/status/currentHealthy"), count("/status/desiredHealthy"));
    let refused = items(budget, "/status/conditions").iter().find(|it| {
        text(it, "/type") == "DisruptionAllowed"
            && text(it, "/status") == "False"
            && !text(it, "/message").is_empty()
    });
    let cause = refused.map(|it| (text(it, "/reason"), text(it, "/message")));
    match cause {
        Some(("SyncFailed", message)) => format!(
            "The disruption budget {name} does not allow evicting pods currently because it \
             failed sync: {message}"
        ),
        Some(_) | None if healthy <= desired => format!(
            "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        ),
        Some((reason, message)) => format!(
            "The disruption budget {name} does not allow evicting pods currently ({reason}): \
             {message}"
        ),
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

/// 429.
fn too_many(why: &str, retry_after_seconds: i64) -> Status {
    let mut status = Status::new(429, "TooManyRequests", VIOLATES);
    let causes = json!([{"reason": "DisruptionBudget", "message": why}]);
    status.details = json!({"causes": causes});
    if retry_after_seconds > 0 {
        let map = map(&mut status.details, &[]);
        map.insert("retryAfterSeconds".to_owned(), retry_after_seconds.into());
    }
    status
}

/// Writes the reason into the pod's status, and deletes the pod.
fn evict(
    state: &mut State,
    call: &Call,
    pod: &Value,
    mut deletion: Deletion,
) -> Result<(), Status> {
    if !deletion.dry_run {
        check_preconditions(&call.served, &deletion, pod)?;
        let (mut new, mut version) = (pod.clone(), text(pod, VERSION).to_owned());
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting", "lastProbeTime": null,
        });
        set_condition(&mut new, condition, &call.now.to_string());
        if new != *pod {
            let stored = put(state, &call.served.table, &key(call, &call.name), new);
            version = stored.revision.to_string();
        }
        if deletion.version.is_some() {
            deletion.version = Some(version);
        }
    }
    delete_with(state, call, &deletion).map(drop)
}

/// IsPodReady.
fn is_ready(pod: &Value) -> bool {
    let ready = |it: &Value| text(it, "/type") == "Ready" && text(it, "/status") == "True";
    items(pod, "/status/conditions").iter().any(ready)
}

/// Whether a label selector as it is written matches labels.
fn matches(selector: &Value, labels: &Value) -> bool {
    if !selector.is_object() {
        return false;
    }
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let equal = pairs(selector, "/matchLabels").all(|(key, value)| label(key) == value.as_str());
    equal
        && items(selector, "/matchExpressions").iter().all(|it| {
            let value = label(text(it, "/key"));
            let named = || {
                let values = items(it, "/values");
                value.is_some_and(|value| values.iter().any(|known| known == value))
            };
            match text(it, "/operator") {
                "In" => named(),
                "NotIn" => !named(),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

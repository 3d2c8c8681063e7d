//! Containers that have ended stay so, unless their pod restarts them
//! (ValidateContainerStateTransition).

use serde_json::Value;

use crate::value::{count, get, items, text};
use crate::{Invalid, Path};

/// What a new status says of containers that had ended.
pub(crate) fn validate(new: &Value, old: &Value, spec: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let kinds = [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", "ephemeralContainers"),
    ];
    for (statuses, containers) in kinds {
        let may_restart = |name: &str, code| match statuses {
            "ephemeralContainerStatuses" => false,
            _ => all_restart(spec) || restarts(find(spec, containers, name), spec, code),
        };
        for (index, before) in items(old, statuses).iter().enumerate() {
            let Some(ended) = get(before, "/state/terminated") else { continue };
            let name = text(before, "name");
            let after = items(new, statuses).iter().find(|after| text(after, "name") == name);
            let goes_on = after.is_some_and(|it| get(it, "/state/terminated").is_none());
            if goes_on && !may_restart(name, count(ended, "exitCode")) {
                let path = path.child(statuses).index(index).child("state");
                faults.push(path.forbidden("may not be transitioned to non-terminated state"));
            }
        }
    }
    faults
}

fn find<'a>(spec: &'a Value, containers: &str, name: &str) -> Option<&'a Value> {
    items(spec, containers).iter().find(|container| text(container, "name") == name)
}

/// ContainerShouldRestart; a container that the pod does not have does not.
fn restarts(container: Option<&Value>, spec: &Value, code: i64) -> bool {
    let Some(container) = container else { return false };
    let own = text(container, "restartPolicy");
    if !own.is_empty() {
        let rules = items(container, "restartPolicyRules");
        let action = rules.iter().find(|rule| matches_code(rule, code));
        let action = action.map(|rule| text(rule, "action"));
        if matches!(action, Some("Restart" | "RestartAllContainers")) {
            return true;
        }
    }
    let by_policy = |policy| match policy {
        "Always" => Some(true),
        "OnFailure" => Some(code != 0),
        "Never" => Some(false),
        _ => None,
    };
    by_policy(own).or_else(|| by_policy(text(spec, "restartPolicy"))).unwrap_or(true)
}

fn matches_code(rule: &Value, code: i64) -> bool {
    let Some(codes) = get(rule, "/exitCodes") else { return false };
    let named = items(codes, "values").iter().any(|value| value.as_i64() == Some(code));
    match text(codes, "operator") {
        "In" => named,
        "NotIn" => !named,
        _ => false,
    }
}

/// AllContainersCouldRestart.
fn all_restart(spec: &Value) -> bool {
    let mut containers = items(spec, "initContainers").iter().chain(items(spec, "containers"));
    containers.any(|container| {
        let rules = items(container, "restartPolicyRules");
        rules.iter().any(|rule| text(rule, "action") == "RestartAllContainers")
    })
}

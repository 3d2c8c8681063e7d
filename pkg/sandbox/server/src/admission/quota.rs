//! ResourceQuota: what a namespace may hold, and what is used of it.

use api::{Key, Time};
use apimachinery::fields;
use serde_json::{Value, json};
use strategies::Quantity;

use super::resources::{Amounts, add, amounts, of_pod};
use super::{Attributes, Operation};
use crate::server::State;
use crate::status::Status;
use crate::write::fields::{has, items, map, number, pairs, text, texts};

/// What a quota has used once an object is written.
pub(crate) struct Charge {
    key: Key,
    quota: Value,
}

/// What is also counted by its name alone.
const BY_NAME: [&str; 4] = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];
/// What quotas count of pods.
const POD: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
/// What each container must say, if a quota counts it.
const REQUIRED: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
const BY_CLASS: &str = ".storageclass.storage.k8s.io/";

/// Writes what is used.
pub(crate) fn charge(state: &mut State, charges: Vec<Charge>) {
    for charge in charges {
        state.store.put(&"resourcequotas".into(), &charge.key, charge.quota);
    }
}

/// Refuses what is too much; what is used else (CheckRequest of apiserver's resourcequota).
pub(super) fn validate(
    state: &State,
    attributes: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Result<Vec<Charge>, Status> {
    if attributes.namespace.is_empty() || !handles(attributes, object, old) {
        return Ok(Vec::new());
    }
    let (table, now) = (&*attributes.served.table, state.runtime.clock.now());
    let mut charges = Vec::new();
    let quotas = state.store.list("resourcequotas", Some(attributes.namespace));
    for quota in quotas.iter().map(|it| &it.object) {
        if !matches(quota, table, object) {
            continue;
        }
        let hard = amounts(quota, "/status/hard");
        let counted: Vec<_> = hard.keys().filter(|name| counts(table, name)).cloned().collect();
        let name = text(quota, "/metadata/name");
        check_containers(table, &counted, object)
            .map_err(|why| attributes.forbidden(object, &format!("failed quota: {name}: {why}")))?;
        let used = amounts(quota, "/status/used");
        if counted.iter().any(|name| !used.contains_key(name)) {
            let all = counted.join(",");
            let why = format!("status unknown for quota: {name}, resources: {all}");
            return Err(attributes.forbidden(object, &why));
        }
        let mut delta = usage(table, object, now);
        if let Some(old) = old.filter(|old| matches(quota, table, old)) {
            delta = less(&delta, &usage(table, old, now));
        }
        delta.retain(|name, amount| *amount != Quantity::default() && hard.contains_key(name));
        if delta.is_empty() {
            continue;
        }
        let mut after = used.clone();
        add(&mut after, &delta);
        let exceeds = |name: &String| after.get(name) > hard.get(name);
        let exceeded: Vec<_> = delta.keys().filter(|name| exceeds(name)).collect();
        if !exceeded.is_empty() && attributes.subresource != "status" {
            let show = |all: &Amounts| {
                let parts = exceeded.iter().map(|name| (name, all.get(*name).copied()));
                let parts = parts.map(|(name, it)| format!("{name}={}", it.unwrap_or_default()));
                parts.collect::<Vec<_>>().join(",")
            };
            let why = format!(
                "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
                show(&delta),
                show(&used),
                show(&hard)
            );
            return Err(attributes.forbidden(object, &why));
        }
        let mut quota = Value::clone(quota);
        for (name, amount) in after {
            map(&mut quota, &["status", "used"]).insert(name, amount.to_string().into());
        }
        let key = Key::new(attributes.namespace, text(&quota, "/metadata/name"));
        charges.push(Charge { key, quota });
    }
    Ok(charges)
}

/// Whether this can change what is used (Handles of the evaluators).
fn handles(attributes: &Attributes<'_>, object: &Value, old: Option<&Value>) -> bool {
    let creates = attributes.operation == Operation::Create;
    match (&*attributes.served.table, attributes.subresource) {
        ("pods", "") => creates || old.is_some_and(|old| has_deadline(old) != has_deadline(object)),
        ("pods", "resize") => !creates,
        ("services" | "persistentvolumeclaims", "") => true,
        (_, "") => creates,
        _ => false,
    }
}

/// Whether a quota counts the object.
fn matches(quota: &Value, table: &str, object: &Value) -> bool {
    let hard = amounts(quota, "/status/hard");
    let scopes = texts(quota, "/spec/scopes");
    let scopes = scopes.into_iter().map(|it| json!({"scopeName": it, "operator": "Exists"}));
    let selectors = items(quota, "/spec/scopeSelector/matchExpressions").iter().cloned();
    hard.keys().any(|name| counts(table, name))
        && scopes.chain(selectors).all(|scope| in_scope(&scope, table, object))
}

/// Whether a name in a quota is about objects of a table (MatchingResources).
fn counts(table: &str, name: &str) -> bool {
    if name.strip_prefix("count/") == Some(table) {
        return true;
    }
    match table {
        "pods" => {
            POD.contains(&name)
                || name.starts_with("hugepages-")
                || (name.starts_with("requests.") && name.contains('/'))
                || name.starts_with("requests.hugepages-")
        }
        "services" => matches!(name, "services" | "services.nodeports" | "services.loadbalancers"),
        "persistentvolumeclaims" => {
            let plain = name.split_once(BY_CLASS).map_or(name, |(_, rest)| rest);
            matches!(plain, "persistentvolumeclaims" | "requests.storage")
        }
        _ => name == table && BY_NAME.contains(&table),
    }
}

/// What an object uses.
fn usage(table: &str, object: &Value, now: Time) -> Amounts {
    let count = |count: usize| Quantity::parse(&count.to_string()).unwrap_or_default();
    let mut used = Amounts::from([(format!("count/{table}"), count(1))]);
    match table {
        "pods" => {
            if !is_over(object, now) {
                used.extend(compute(&of_pod(object, "requests"), &of_pod(object, "limits")));
            }
        }
        "services" => {
            used.insert("services".to_owned(), count(1));
            let ports = items(object, "/spec/ports");
            let explicit = ports.iter().filter(|it| number(it, "/nodePort").unwrap_or(0) != 0);
            let allocates = fields::at(object, "/spec/allocateLoadBalancerNodePorts");
            let (nodes, balancers) = match text(object, "/spec/type") {
                "NodePort" => (ports.len(), 0),
                "LoadBalancer" if allocates == Some(&Value::Bool(false)) => (explicit.count(), 1),
                "LoadBalancer" => (ports.len(), 1),
                _ => (0, 0),
            };
            used.insert("services.nodeports".to_owned(), count(nodes));
            used.insert("services.loadbalancers".to_owned(), count(balancers));
        }
        "persistentvolumeclaims" => {
            let beta = "volume.beta.kubernetes.io/storage-class";
            let annotated = pairs(object, "/metadata/annotations").find(|(key, _)| *key == beta);
            let annotated = annotated.and_then(|(_, value)| value.as_str());
            let class = annotated.unwrap_or_else(|| text(object, "/spec/storageClassName"));
            let mut all = vec![(table, count(1))];
            let requests = amounts(object, "/spec/resources/requests");
            let allocated = amounts(object, "/status/allocatedResources");
            if let Some(asked) = requests.get("storage") {
                let largest = allocated.get("storage").map_or(*asked, |it| *it.max(asked));
                all.push(("requests.storage", largest));
            }
            for (name, amount) in all {
                used.insert(name.to_owned(), amount);
                if !class.is_empty() {
                    used.insert(format!("{class}{BY_CLASS}{name}"), amount);
                }
            }
        }
        _ => {
            used.extend(BY_NAME.contains(&table).then(|| (table.to_owned(), count(1))));
        }
    }
    used
}

/// What requests and limits are called in quotas (podComputeUsageHelper).
fn compute(requests: &Amounts, limits: &Amounts) -> Amounts {
    let one = Quantity::parse("1").unwrap_or_default();
    let mut used = Amounts::from([("pods".to_owned(), one)]);
    for (name, amount) in requests {
        let native = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
        if native || name.starts_with("hugepages-") {
            used.insert(name.clone(), *amount);
        }
        if native || name.starts_with("hugepages-") || name.contains('/') {
            used.insert(format!("requests.{name}"), *amount);
        }
    }
    for (name, amount) in limits {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            used.insert(format!("limits.{name}"), *amount);
        }
    }
    used
}

/// Each container says what it needs of what is counted (Constraints of the pod evaluator).
fn check_containers(table: &str, counted: &[String], pod: &Value) -> Result<(), String> {
    let pod_level = ["cpu", "memory"].iter().any(|name| {
        ["requests", "limits"]
            .iter()
            .any(|part| has(pod, &format!("/spec/resources/{part}/{name}")))
    });
    if table != "pods" || pod_level {
        return Ok(());
    }
    let mut missing: Vec<String> = Vec::new();
    for name in counted.iter().filter(|name| REQUIRED.contains(&name.as_str())) {
        let mut containers: Vec<&str> = Vec::new();
        for field in ["containers", "initContainers"] {
            for container in items(pod, &format!("/spec/{field}")) {
                let requests = amounts(container, "/resources/requests");
                let limits = amounts(container, "/resources/limits");
                if !compute(&requests, &limits).contains_key(name) {
                    containers.push(text(container, "/name"));
                }
            }
        }
        containers.sort_unstable();
        if !containers.is_empty() {
            missing.push(format!("{name} for: {}", containers.join(",")));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("must specify {}", missing.join("; ")))
}

/// Whether a scope holds an object.
fn in_scope(scope: &Value, table: &str, object: &Value) -> bool {
    if table != "pods" {
        return false;
    }
    let class = text(object, "/spec/priorityClassName");
    let named = || texts(scope, "/values").iter().any(|it| it == class);
    match (text(scope, "/scopeName"), text(scope, "/operator")) {
        ("Terminating", _) => has_deadline(object),
        ("NotTerminating", _) => !has_deadline(object),
        ("BestEffort", _) => is_best_effort(object),
        ("NotBestEffort", _) => !is_best_effort(object),
        ("PriorityClass", "Exists") => !class.is_empty(),
        ("PriorityClass", "DoesNotExist") => class.is_empty(),
        ("PriorityClass", "In") => !class.is_empty() && named(),
        ("PriorityClass", "NotIn") => class.is_empty() || !named(),
        ("CrossNamespacePodAffinity", _) => crosses_namespaces(object),
        _ => false,
    }
}

fn has_deadline(pod: &Value) -> bool {
    number(pod, "/spec/activeDeadlineSeconds").is_some_and(|it| it >= 0)
}

fn is_best_effort(pod: &Value) -> bool {
    let asks = |it: &Value| {
        ["requests", "limits"].iter().any(|part| {
            let amounts = amounts(it, &format!("/resources/{part}"));
            amounts.iter().any(|(name, amount)| {
                matches!(name.as_str(), "cpu" | "memory") && *amount > Quantity::default()
            })
        })
    };
    let mut containers = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|field| items(pod, &format!("/spec/{field}")));
    !containers.any(asks) && !pod.get("spec").is_some_and(asks)
}

fn crosses_namespaces(pod: &Value) -> bool {
    let crosses =
        |term: &Value| !items(term, "/namespaces").is_empty() || has(term, "/namespaceSelector");
    ["podAffinity", "podAntiAffinity"].iter().any(|field| {
        let at = |when: &str| {
            items(
                pod,
                &format!("/spec/affinity/{field}/{when}DuringSchedulingIgnoredDuringExecution"),
            )
        };
        at("required").iter().any(crosses)
            || at("preferred").iter().filter_map(|it| it.get("podAffinityTerm")).any(crosses)
    })
}

/// Whether a pod uses nothing any more (QuotaV1Pod).
fn is_over(pod: &Value, now: Time) -> bool {
    if matches!(text(pod, "/status/phase"), "Failed" | "Succeeded") {
        return true;
    }
    let deleted = Time::parse(text(pod, "/metadata/deletionTimestamp"));
    let grace = number(pod, "/metadata/deletionGracePeriodSeconds");
    match (deleted, grace) {
        (Ok(deleted), Some(grace)) => {
            let grace = std::time::Duration::from_secs(u64::try_from(grace).unwrap_or(0));
            now > deleted + grace
        }
        _ => false,
    }
}

/// What is more than before; nothing is less than zero.
fn less(new: &Amounts, old: &Amounts) -> Amounts {
    let difference = |(name, amount): (&String, &Quantity)| {
        let known = old.get(name).copied().unwrap_or_default();
        let milli = amount.milli_value().saturating_sub(known.milli_value()).max(0);
        let rest = if known == Quantity::default() {
            *amount
        } else {
            Quantity::parse(&format!("{milli}m")).unwrap_or_default()
        };
        (name.clone(), rest)
    };
    new.iter().map(difference).collect()
}

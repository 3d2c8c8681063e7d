//! What an update of a pod may change: images, deadlines, more tolerations, fewer gates
//! (ValidatePodUpdate).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Value, json};

use super::defaults::sync_service_account;
use super::spec;
use super::validation;
use crate::formats::in_range;
use crate::generation;
use crate::semantic::{Change, changes, same};
use crate::value::{
    annotation, entries, get, get_mut, items, items_mut, number, remove, section, set, text,
};
use crate::{Invalid, Path};

/// What `activeDeadlineSeconds` can be at most.
const DEADLINE_SECONDS_MAX: i64 = i32::MAX as i64;
const MIRROR: &str = "kubernetes.io/config.mirror";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const MAY_CHANGE: &str = "pod updates may not change fields other than \
    `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// PrepareForUpdate: the status stays, and the generation counts changes of the spec.
pub(crate) fn prepare(new: &mut Value, old: &Value) {
    set(new, "status", get(old, "status").cloned());
    if let Some(spec) = get_mut(new, "spec") {
        sync_service_account(spec);
    }
    generation::count(new, old, &["/spec"]);
}

/// PrepareForUpdate of `/ephemeralcontainers`: all else stays as it was.
pub fn prepare_ephemeral_containers(new: &mut Value, old: &Value) {
    let containers = get(spec(new), "ephemeralContainers").cloned();
    set(new, "spec", get(old, "spec").cloned());
    set(new, "status", get(old, "status").cloned());
    let spec = section(new, "spec");

    set(spec, "ephemeralContainers", containers);

    generation::count(new, old, &["/spec"]);
}

/// What an update may not say or change.
pub(crate) fn validate(new: &Value, old: &Value) -> Vec<Invalid> {
    let mut faults = validation::validate_metadata_and_spec(new);
    faults.extend(annotations(new, old));
    let path = Path::new("spec");
    let (new, old) = (spec(new), spec(old));
    for containers in ["containers", "initContainers"] {
        let path = path.child(containers);
        if items(new, containers).len() != items(old, containers).len() {
            faults.push(path.forbidden("pod updates may not add or remove containers"));
            return faults;
        }
        faults.extend(images(items(new, containers), &path));
    }
    match deadline(new, old, &path.child("activeDeadlineSeconds")) {
        Deadline::Good => {}
        Deadline::Gone(fault) => faults.push(fault),
        Deadline::Bad(fault) => {
            faults.push(fault);
            return faults;
        }
    }
    faults.extend(tolerations(new, old, &path.child("tolerations")));
    faults.extend(gates(new, old, &path.child("schedulingGates")));
    faults.extend(rest(new, old, &path));
    faults
}

/// What an update of `/ephemeralcontainers` may not say or change.
pub fn validate_ephemeral_containers(new: &Value, old: &Value) -> Vec<Invalid> {
    if annotation(old, MIRROR).is_some() {
        let path = Path::default();
        return vec![path.forbidden("static pods do not support ephemeral containers")];
    }
    let mut faults = validation::validate_metadata_and_spec(new);
    faults.extend(annotations(new, old));
    let path = Path::new("spec").child("ephemeralContainers");
    for before in items(spec(old), "ephemeralContainers") {
        let name = text(before, "name");
        let quoted = api::go::quote(name);
        let mut now = items(spec(new), "ephemeralContainers").iter();
        let Some(after) = now.find(|it| text(it, "name") == name) else {
            let fault = format!("existing ephemeral containers {quoted} may not be removed\n");
            faults.push(path.forbidden(&fault));
            continue;
        };
        let difference = print(&changes(before, after));
        if !difference.is_empty() {
            let fault = "may not be changed";
            let fault = format!("existing ephemeral containers {quoted} {fault}\n{difference}");
            faults.push(path.forbidden(&fault));
        }
    }
    faults
}

/// ValidatePodSpecificAnnotationUpdates, which says again what validation of any pod says.
pub(crate) fn annotations(new: &Value, old: &Value) -> Vec<Invalid> {
    let pod = new;
    let path = Path::new("metadata").child("annotations");
    let of = |pod| -> BTreeMap<String, Value> {
        let map = get(pod, "/metadata/annotations").and_then(Value::as_object);
        map.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let (new, old) = (of(new), of(old));
    let mut faults = Vec::new();
    let mut forbid = |key: &str, verb: &str| {
        if key.starts_with(APP_ARMOR) {
            let fault = format!("may not {verb} AppArmor annotations");
            faults.push(path.key(key).forbidden(&fault));
        }
        if key == MIRROR {
            faults.push(path.key(key).forbidden(&format!("may not {verb} mirror pod annotation")));
        }
    };
    old.iter().filter(|(key, value)| new.get(*key) != Some(*value)).for_each(|(key, _)| {
        forbid(key, "remove or update");
    });
    new.keys().filter(|key| !old.contains_key(*key)).for_each(|key| forbid(key, "add"));
    faults.extend(validation::pod_annotations(pod, &path));
    faults
}

/// ValidateContainerUpdates.
fn images(containers: &[Value], path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let (path, image) = (path.index(index).child("image"), text(container, "image"));
        if image.is_empty() {
            faults.push(path.required(""));
        }
        if image.trim() != image {
            faults.push(path.invalid(image, "must not have leading or trailing whitespace"));
        }
    }
    faults
}

/// What is wrong with a deadline; whether more is looked at.
enum Deadline {
    Good,
    Gone(Invalid),
    Bad(Invalid),
}

/// It may come, and be shortened.
fn deadline(new: &Value, old: &Value, path: &Path) -> Deadline {
    match (number(new, "activeDeadlineSeconds"), number(old, "activeDeadlineSeconds")) {
        (Some(new), _) if !(0..=DEADLINE_SECONDS_MAX).contains(&new) => {
            let fault = in_range(new, 0, DEADLINE_SECONDS_MAX).unwrap_or_default();
            Deadline::Bad(path.invalid(new, &fault))
        }
        (Some(new), Some(old)) if old < new => {
            Deadline::Bad(path.invalid(new, "must be less than or equal to previous value"))
        }
        (None, Some(_)) => {
            let fault = "must not update from a positive integer to nil value";
            Deadline::Gone(path.invalid(Value::Null, fault))
        }
        (Some(_), _) | (None, None) => Deadline::Good,
    }
}

/// validateOnlyAddedTolerations: old ones stay, but for how long they tolerate.
fn tolerations(new: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    let fields = ["key", "operator", "value", "effect"];
    let is_same =
        |one: &Value, other: &Value| fields.iter().all(|it| text(one, it) == text(other, it));
    let new = items(new, "tolerations");
    if items(old, "tolerations").iter().any(|old| !new.iter().any(|new| is_same(old, new))) {
        let fault = "existing toleration can not be modified except its tolerationSeconds";
        return vec![path.forbidden(fault)];
    }
    validation::tolerations(new, path)
}

/// validateOnlyDeletedSchedulingGates.
fn gates(new: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    let known: BTreeSet<_> =
        items(old, "schedulingGates").iter().map(|gate| text(gate, "name")).collect();
    let gates = items(new, "schedulingGates").iter().enumerate();
    let added: BTreeMap<_, _> = gates
        .map(|(index, gate)| (text(gate, "name"), index))
        .filter(|(name, _)| !known.contains(name))
        .collect();
    let fault = |(name, index): (&str, usize)| {
        let fault = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        path.index(index).child("name").forbidden(&fault)
    };
    added.into_iter().map(fault).collect()
}

/// All that was not looked at yet stays as it was.
fn rest(new: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    let mut munged = new.clone();
    for containers in ["containers", "initContainers"] {
        for (new, old) in items_mut(&mut munged, containers).zip(items(old, containers)) {
            set(new, "image", get(old, "image").cloned());
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        set(&mut munged, field, get(old, field).cloned());
    }
    // A grace below zero is 1 as soon as it comes in, whatever the message says of it.
    let mut faults = Vec::new();
    if !items(old, "schedulingGates").is_empty() {
        faults.extend(gated(&mut munged, old, path));
    }
    let difference = changes(old, &munged);
    if !difference.is_empty() {
        faults.push(path.forbidden(&format!("{MAY_CHANGE}\n{}", print(&difference))));
    }
    faults
}

/// A pod that waits at a gate may still get a narrower node affinity.
fn gated(munged: &mut Value, old: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let null = Value::Null;
    let selector = munged.get("nodeSelector").unwrap_or(&null);
    let stays = |key: &str, value: &Value| selector.get(key) == Some(value);
    if !entries(old, "nodeSelector").into_iter().all(|(key, value)| stays(key, value)) {
        let fault = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        faults.push(path.child("nodeSelector").invalid(selector.clone(), fault));
    }
    set(munged, "nodeSelector", get(old, "nodeSelector").cloned());
    let of = |spec| get(spec, "/affinity/nodeAffinity").cloned();
    let (new, before) = (of(munged), of(old));
    let (new, before) = (new.unwrap_or_default(), before.unwrap_or_default());
    if same(&new, &before) {
        return faults;
    }
    let path = path.child("affinity").child("nodeAffinity");
    faults.extend(node_affinity(&new, &before, &path));
    let others = ["podAffinity", "podAntiAffinity"];
    let has_others = others.iter().any(|it| get(munged, &format!("/affinity/{it}")).is_some());
    if get(old, "affinity").is_none() && !has_others {
        remove(munged, "affinity");
    } else {
        let affinity = section(munged, "affinity");
        set(affinity, "nodeAffinity", before);
    }
    faults
}

/// validateNodeAffinityMutation.
fn node_affinity(new: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = |affinity| get(affinity, REQUIRED).map(|it| items(it, "nodeSelectorTerms"));
    let Some(before) = terms(old) else { return Vec::new() };
    let shown = terms(new).map_or(Value::Null, |terms| terms.iter().map(inner_term).collect());
    let after = terms(new).unwrap_or_default();
    let path = path.child(REQUIRED).child("nodeSelectorTerms");
    if !before.is_empty() && before.len() != after.len() {
        let fault = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return vec![path.invalid(shown, fault)];
    }
    let mut faults = Vec::new();
    for (index, (old, new)) in before.iter().zip(after).enumerate() {
        if !only_adds(new, old) {
            let fault = "only additions are allowed (no mutations or deletions)";
            faults.push(path.index(index).invalid(inner_term(new), fault));
        }
    }
    faults
}

/// A term as upstream prints its inner type.
fn inner_term(term: &Value) -> Value {
    let requirements = |field| match items(term, field) {
        [] => Value::Null,
        requirements => requirements
            .iter()
            .map(|it| {
                let values = Some(items(it, "values")).filter(|values| !values.is_empty());
                json!({"Key": text(it, "key"), "Operator": text(it, "operator"), "Values": values})
            })
            .collect(),
    };
    json!({
        "MatchExpressions": requirements("matchExpressions"),
        "MatchFields": requirements("matchFields"),
    })
}

/// validateNodeSelectorTermHasOnlyAdditions.
fn only_adds(new: &Value, old: &Value) -> bool {
    let fields = ["matchExpressions", "matchFields"];
    let is_empty = |term| fields.iter().all(|field| items(term, field).is_empty());
    if is_empty(old) && !is_empty(new) {
        return false;
    }
    fields.iter().all(|field| items(new, field).starts_with(items(old, field)))
}

/// Each change in two lines. Upstream prints its inner types, which users never see elsewhere.
fn print(changes: &[Change<'_>]) -> String {
    changes.iter().fold(String::new(), |mut text, (path, old, new)| {
        let _ = writeln!(text, "- {path}: {old}\n+ {path}: {new}");
        text
    })
}

//! The pods that a set makes. As `CreatePodTemplate` and `ReplaceDaemonSetPodNodeNameNodeAffinity`
//! in upstream's `daemon/util`.

use std::sync::Arc;

use api::{DaemonSet, Edit, Effect, Kind, Raw, Text};
use controller::{Action, Verb, Write, pods};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{GENERATION_LABEL, HASH_LABEL, fit};

const NOT_MADE: &str = "no pod was made";

/// Makes one pod for each of these nodes. The body is made once, with a gap for the node's name:
/// per node it costs a copy.
pub(super) fn creates(set: &DaemonSet, nodes: &[Text], hash: &str) -> Result<Vec<Action>, String> {
    let gap = gap(set);
    let create = create(set, &gap, hash)?;
    let gap = Value::from(gap).to_string();
    let body = create.created().ok_or(NOT_MADE)?;
    let (head, tail) = body.split_once(&gap).ok_or("the pod has no place for its node")?;
    let for_node = |node: &Text| {
        let node = Value::from(&**node);
        let body: Arc<str> = format!("{head}{node}{tail}").into();
        Write { verb: Verb::Create(body), ..create.clone() }.into()
    };
    Ok(nodes.iter().map(for_node).collect())
}

/// A text that stands nowhere in the set.
fn gap(set: &DaemonSet) -> String {
    let spec = set.raw.field("spec").map_or("", RawValue::get);
    let mut gap = "<node>".to_owned();
    while spec.contains(&gap) {
        gap.push('>');
    }
    gap
}

/// Makes a pod for the node that `gap` stands for.
fn create(set: &DaemonSet, gap: &str, hash: &str) -> Result<Write, String> {
    let text = |error: serde_json::Error| error.to_string();
    let resource = DaemonSet::RESOURCE;
    let edited = set.raw.edited(&resource, &edits(set, gap, hash)).map_err(text)?;
    let edited = Raw::parse(edited.as_bytes()).map_err(|error| error.0)?;
    let creates = pods::creates(&resource, &set.meta, edited.field("spec"), 1)?;
    let create = creates.iter().find_map(Action::write);
    create.cloned().ok_or_else(|| NOT_MADE.to_owned())
}

/// What a pod has otherwise than the template.
fn edits(set: &DaemonSet, node: &str, hash: &str) -> Vec<Edit> {
    let is_node = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
    let terms = [
        "spec",
        "template",
        "spec",
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ];
    let label =
        |name, value: Value| Edit::new(["spec", "template", "metadata", "labels", name], value);
    let mut edits = vec![
        Edit::new(terms, json!([{ "matchFields": [is_node] }])),
        Edit::new(["spec", "template", "spec", "tolerations"], tolerations(set)),
        label(HASH_LABEL, Value::from(hash)),
    ];
    if let Some(generation) = set.template_generation {
        edits.push(label(GENERATION_LABEL, Value::from(generation.to_string())));
    }
    edits
}

/// The template's tolerations and those that all pods of DaemonSets get. One of the template's that
/// is the same but for its seconds gives way. As `AddOrUpdateTolerationInPodSpec`.
fn tolerations(set: &DaemonSet) -> Value {
    let spec = set.raw.field("spec").map(|spec| serde_json::from_str::<Value>(spec.get()));
    let spec = spec.and_then(Result::ok).unwrap_or_default();
    let known = spec.pointer("/template/spec/tolerations").and_then(Value::as_array);
    let mut tolerations = known.cloned().unwrap_or_default();
    for (key, effect) in fit::added(set) {
        let added = json!({ "key": key, "operator": "Exists", "effect": effect.as_str() });
        let mut found = false;
        for same in tolerations.iter_mut().filter(|known| is_same(known, key, effect)) {
            *same = added.clone();
            found = true;
        }
        if !found {
            tolerations.push(added);
        }
    }
    Value::from(tolerations)
}

fn is_same(toleration: &Value, key: &str, effect: Effect) -> bool {
    let field = |name| toleration.get(name).and_then(Value::as_str).unwrap_or_default();
    field("key") == key
        && field("operator") == "Exists"
        && field("value").is_empty()
        && field("effect") == effect.as_str()
}

//! `managedFields`: the owner of each field. Upstream: apimachinery's util/managedfields/internal.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::element::Element;
use super::set::Set;

/// How many managers that do not apply are kept apart.
const UPDATERS_MAX: usize = 10;

/// The owners of the fields.
pub(super) type Managers = BTreeMap<Id, Managed>;

/// What distinguishes managers. Those that apply do so in one version at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// None, for those that apply.
    pub(super) api_version: Option<String>,
    pub(super) subresource: String,
}

/// What a manager does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// What a manager owns.
#[derive(Clone, Debug)]
pub(super) struct Managed {
    pub(super) api_version: String,
    pub(super) set: Set,
    pub(super) time: Option<String>,
}

impl Id {
    /// As in conflicts: `"kubectl" using apps/v1`.
    pub(super) fn text(&self) -> String {
        let name = Value::from(self.name.as_str());
        let subresource = match self.subresource.as_str() {
            "" => String::new(),
            it => format!(" with subresource {}", Value::from(it)),
        };
        let version = match self.operation {
            Operation::Apply => String::new(),
            Operation::Update => {
                format!(" using {}", self.api_version.as_deref().unwrap_or_default())
            }
        };
        format!("{name}{subresource}{version}")
    }
}

/// Reads `managedFields`.
pub(super) fn decode(entries: Option<&Value>) -> Result<Managers, String> {
    let mut managers = Managers::new();
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    for (at, entry) in entries.enumerate() {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        let api_version = text("apiVersion").to_owned();
        if api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
            other => {
                let other = Value::from(other);
                return Err(format!("invalid fieldsType {other} in managed fields entry {at}"));
            }
        }
        let id = Id {
            name: text("manager").to_owned(),
            operation,
            api_version: (operation == Operation::Update).then(|| api_version.clone()),
            subresource: text("subresource").to_owned(),
        };
        let set = Set::from_json(entry.get("fieldsV1").unwrap_or(&Value::Null))
            .map_err(|why| format!("error decoding versioned set from {entry}: {why}"))?;
        let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
        managers.insert(id, Managed { api_version, set, time });
    }
    Ok(managers)
}

/// Writes `managedFields` into an object: none, where no manager owns a field.
pub(super) fn encode(object: &mut Value, managers: &Managers) {
    let mut sorted: Vec<_> = managers.iter().collect();
    sorted.sort_by_key(|(id, it)| {
        (id.operation, &it.time, &id.name, &it.api_version, &id.subresource)
    });
    let entries: Vec<_> = sorted.into_iter().map(|(id, it)| entry(id, it)).collect();
    if entries.is_empty() {
        remove(object);
        return;
    }
    let Some(object) = object.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

fn entry(id: &Id, managed: &Managed) -> Value {
    let operation = match id.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let mut entry = Map::new();
    let mut text = |field: &str, value: &str| {
        if !value.is_empty() {
            entry.insert(field.to_owned(), Value::from(value));
        }
    };
    text("manager", &id.name);
    text("operation", operation);
    text("apiVersion", &managed.api_version);
    text("subresource", &id.subresource);
    text("time", managed.time.as_deref().unwrap_or_default());
    text("fieldsType", "FieldsV1");
    entry.insert("fieldsV1".to_owned(), managed.set.to_json());
    Value::Object(entry)
}

/// `managedFields` of an object.
pub(super) fn of(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/managedFields").filter(|it| !it.is_null())
}

/// Takes `managedFields` out of an object.
pub(super) fn remove(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Whether two objects are the same, but for the times of their `managedFields` and the version.
pub(super) fn same_but_times(one: &Value, other: &Value) -> bool {
    let [one, other] = [one, other].map(|it| (it, it.get("metadata").unwrap_or(&Value::Null)));
    same_but(one.0, other.0, &["metadata"])
        && same_but(one.1, other.1, &["managedFields", "resourceVersion"])
        && match [one.1, other.1].map(|it| it.get("managedFields").and_then(Value::as_array)) {
            [Some(one), Some(other)] => {
                let mut both = one.iter().zip(other);
                one.len() == other.len() && both.all(|(one, other)| same_but(one, other, &["time"]))
            }
            [one, other] => one == other,
        }
}

fn same_but(one: &Value, other: &Value, fields: &[&str]) -> bool {
    let [Some(one), Some(other)] = [one, other].map(Value::as_object) else { return one == other };
    let rest = |(name, _): &(&String, &Value)| !fields.contains(&name.as_str());
    one.iter().filter(rest).eq(other.iter().filter(rest))
}

/// Whether the object was ever applied.
pub(super) fn are_tracked(object: &Value) -> bool {
    let entries = of(object).and_then(Value::as_array).into_iter().flatten();
    entries.into_iter().any(|entry| entry.get("operation").is_some_and(|it| it == "Apply"))
}

/// Whether the client asks to remove all managers: `[]` or `[{}]`.
pub(super) fn are_reset(object: &Value) -> bool {
    match of(object).and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([entry]) => entry.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// Fields that no manager ever owns. Upstream: stripmeta.go.
pub(super) fn never_owned() -> &'static Set {
    static NEVER_OWNED: LazyLock<Set> = LazyLock::new(system_fields);
    &NEVER_OWNED
}

fn system_fields() -> Set {
    let mut set = Set::default();
    for path in ["apiVersion", "kind", "metadata"] {
        set.insert(&[Element::field(path)]);
    }
    for field in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        set.insert(&[Element::field("metadata"), Element::field(field)]);
    }
    set
}

/// Puts the oldest updaters together until there are few enough. Upstream: capmanagers.go.
pub(super) fn cap(managers: &mut Managers) {
    let mut updaters: Vec<_> = managers
        .iter()
        .filter(|(id, _)| id.operation == Operation::Update)
        .map(|(id, it)| (it.time.clone(), id.clone()))
        .collect();
    updaters.sort();
    let mut left = updaters.len();
    let mut firsts: BTreeMap<String, Id> = BTreeMap::new();
    for (_, id) in updaters {
        if left <= UPDATERS_MAX {
            return;
        }
        let Some(version) = managers.get(&id).map(|it| it.api_version.clone()) else { continue };
        let Some(first) = firsts.get(&version) else {
            firsts.insert(version, id);
            continue;
        };
        let bucket = Id {
            name: "ancient-changes".to_owned(),
            operation: Operation::Update,
            api_version: Some(version),
            subresource: String::new(),
        };
        let Some(merged) = managers.remove(&id) else { continue };
        let older = managers.remove(&bucket).or_else(|| managers.remove(first));
        let set = older.map_or_else(Set::default, |it| it.set).union(&merged.set);
        managers.insert(bucket, Managed { set, ..merged });
        left -= 1;
    }
}

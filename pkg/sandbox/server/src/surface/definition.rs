//! CustomResourceDefinitions: their status, and what they add to what is served. What upstream's
//! controllers do a moment later (apiextensions' naming, establishing and finalizing controllers)
//! is done at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Key, Resource};
use apimachinery::fields;
use schema::Schema;
use serde_json::{Value, json};
use strategies::{NameRule, Subresource};

use super::custom::Custom;
use super::lasting;
use crate::registry::{Rules, ScalePaths, Served};
use crate::server::State;

/// Where definitions are.
const TABLE: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// The finalizer of a definition: its objects must be deleted first.
const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
/// What can be done with custom objects, as upstream orders it.
const VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// The same while the definition is being deleted.
const VERBS_TERMINATING: [&str; 5] = ["delete", "deletecollection", "get", "list", "watch"];
/// What can be done with `/status` and `/scale`.
const VERBS_BELOW: &[&str] = &["get", "patch", "update"];

/// What a CustomResourceDefinition that is about to be written lacks: its status, names that it
/// leaves out.
pub(crate) fn complete_definition(state: &State, definition: &mut Value) {
    default_names(definition);
    let now = state.runtime.clock.now().to_string();
    let (names, accepted) = accept(state, definition);
    let is_accepted = accepted.is("True");
    let established = condition(definition, "Established").is_some_and(|it| is(&it, "True"));
    let stored = stored_versions(definition);
    let Some(fields) = definition.as_object_mut() else { return };
    let status = fields.entry("status").or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    status["acceptedNames"] = names;
    status["storedVersions"] = stored.into();
    set_condition(definition, &accepted, &now);
    if established {
        return;
    }
    let established = if is_accepted {
        Condition {
            kind: "Established",
            status: "True",
            reason: "InitialNamesAccepted",
            message: "the initial names have been accepted".to_owned(),
        }
    } else {
        Condition {
            kind: "Established",
            status: "False",
            reason: "NotAccepted",
            message: "not all names are accepted".to_owned(),
        }
    };
    set_condition(definition, &established, &now);
}

/// What becomes of a definition when it is first deleted: it is marked, and stays until its
/// objects have gone.
pub(crate) fn begin_deletion(state: &State, definition: &mut Value) {
    let now = state.runtime.clock.now().to_string();
    let Some(metadata) = definition.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    metadata.entry("deletionTimestamp").or_insert_with(|| now.as_str().into());
    metadata.entry("deletionGracePeriodSeconds").or_insert_with(|| 0.into());
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|it| it == FINALIZER)
    {
        finalizers.push(FINALIZER.into());
    }
    let pending = "CustomResourceDefinition marked for deletion; CustomResource deletion will \
                   begin soon";
    let terminating = Condition {
        kind: "Terminating",
        status: "True",
        reason: "InstanceDeletionPending",
        message: pending.to_owned(),
    };
    set_condition(definition, &terminating, &now);
}

/// Serves what the definitions in the store define, and nothing that they do not. Called after each
/// write of one, and after a custom object is deleted.
pub(crate) fn definitions_changed(state: &mut State) {
    clean_up(state);
    reconsider(state);
    let custom = state.registry.all().filter(|served| served.custom);
    let custom: Vec<Resource> = custom.map(|served| served.resource.clone()).collect();
    for it in custom {
        state.registry.remove(&it.group, &it.version, &it.plural);
    }
    for stored in state.store.list(TABLE, None) {
        let definition = &stored.object;
        let is_there = condition(definition, "Established").is_some_and(|it| is(&it, "True"));
        let versions = fields::at(definition, "/spec/versions").and_then(Value::as_array);
        for (at, version) in versions.into_iter().flatten().enumerate().filter(|_| is_there) {
            if version.get("served") == Some(&Value::Bool(true))
                && let Some(served) = serve((definition, at), version)
                && is_free(state, &served)
            {
                state.registry.add(served);
            }
        }
    }
}

/// Gives names that have become free to the definitions that wait for them.
fn reconsider(state: &mut State) {
    for stored in state.store.list(TABLE, None) {
        if condition(&stored.object, "Established").is_some_and(|it| is(&it, "True")) {
            continue;
        }
        let mut definition = Value::clone(&stored.object);
        complete_definition(state, &mut definition);
        if definition != *stored.object {
            let key = Key::new("", text(&definition, "/metadata/name"));
            state.store.put(&TABLE.into(), &key, definition);
        }
    }
}

/// A definition does not take the place of what is built in.
fn is_free(state: &State, served: &Served) -> bool {
    let Resource { group, version, plural, .. } = &served.resource;
    state.registry.get(group, version, plural).is_none()
}

/// Deletes the objects of definitions that go, and the definitions that have none left.
fn clean_up(state: &mut State) {
    for stored in state.store.list(TABLE, None) {
        let definition = &stored.object;
        let has_finalizer = strings(definition, "/metadata/finalizers").any(|it| it == FINALIZER);
        if is_absent(definition, "/metadata/deletionTimestamp") || !has_finalizer {
            continue;
        }
        let name = text(definition, "/metadata/name").to_owned();
        let table: Arc<str> = name.as_str().into();
        let now = state.runtime.clock.now().to_string();
        for instance in state.store.list(&table, None) {
            delete_instance(state, &table, &instance.object, &now);
        }
        let key = Key::new("", &name);
        let mut definition = Value::clone(definition);
        if !state.store.list(&table, None).is_empty() {
            let progress = Condition {
                kind: "Terminating",
                status: "True",
                reason: "InstanceDeletionInProgress",
                message: "CustomResource deletion is in progress".to_owned(),
            };
            set_condition(&mut definition, &progress, &now);
            if definition != *stored.object {
                state.store.put(&TABLE.into(), &key, definition);
            }
            continue;
        }
        let completed = Condition {
            kind: "Terminating",
            status: "False",
            reason: "InstanceDeletionCompleted",
            message: "removed all instances".to_owned(),
        };
        set_condition(&mut definition, &completed, &now);
        let finalizers = definition.pointer_mut("/metadata/finalizers");
        if let Some(finalizers) = finalizers.and_then(Value::as_array_mut) {
            finalizers.retain(|it| it != FINALIZER);
            if finalizers.is_empty() {
                state.store.remove(TABLE, &key);
                continue;
            }
        }
        state.store.put(&TABLE.into(), &key, definition);
    }
}

/// Deletes an object: at once, or once its finalizers are removed.
fn delete_instance(state: &mut State, table: &Arc<str>, object: &Value, now: &str) {
    let key = Key::new(text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    if strings(object, "/metadata/finalizers").next().is_none() {
        state.store.remove(table, &key);
        return;
    }
    if !is_absent(object, "/metadata/deletionTimestamp") {
        return;
    }
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let generation = metadata.get("generation").and_then(Value::as_i64).unwrap_or(0);
        metadata.insert("generation".to_owned(), (generation + 1).into());
        metadata.insert("deletionTimestamp".to_owned(), now.into());
        metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
    }
    state.store.put(table, &key, object);
}

/// What a version of a definition serves; none: it has no names.
fn serve((definition, at): (&Arc<Value>, usize), version: &Value) -> Option<Served> {
    let name = |name: &str| text(definition, &format!("/status/acceptedNames/{name}"));
    let group = text(definition, "/spec/group");
    let this = version.get("name").and_then(Value::as_str)?;
    if name("plural").is_empty() || name("kind").is_empty() {
        return None;
    }
    let resource = Resource {
        group: group.to_owned().into(),
        version: this.to_owned().into(),
        plural: name("plural").to_owned().into(),
        kind: name("kind").to_owned().into(),
        namespaced: text(definition, "/spec/scope") == "Namespaced",
    };
    let (scale, subresources) = below(version, &resource);
    let goes = !is_absent(definition, "/metadata/deletionTimestamp");
    let verbs = if goes { VERBS_TERMINATING.to_vec() } else { VERBS.to_vec() };
    let list = |name: &str| {
        strings(definition, &format!("/status/acceptedNames/{name}")).map(str::to_owned).collect()
    };
    // It stands in for a kind of Kubernetes that is served only behind a gate.
    let is_kubernetes =
        !text(definition, "/metadata/annotations/api-approved.kubernetes.io").is_empty();
    let name_rule = if is_kubernetes { NameRule::PathSegment } else { NameRule::Subdomain };
    Some(Served {
        singular: name("singular").to_owned(),
        short_names: list("shortNames"),
        categories: list("categories"),
        verbs,
        subresources,
        table: resource.to_string().into(),
        ty: Schema::builtin().custom(),
        strategy: Rules::Custom(Arc::new(Custom::new(version, scale.clone(), name_rule))),
        custom: true,
        scale,
        definition: Some((definition.clone(), at)),
        resource,
    })
}

/// The subresources of a version.
fn below(version: &Value, resource: &Resource) -> (Option<ScalePaths>, Vec<Subresource>) {
    let mut subresources = Vec::new();
    let has = |path| fields::at(version, path).is_some_and(|it| !it.is_null());
    if has("/subresources/status") {
        let names = (&*resource.group, &*resource.version, &*resource.kind);
        let kind = (lasting::text(names.0), lasting::text(names.1), lasting::text(names.2));
        subresources.push(Subresource { name: "status", kind, verbs: VERBS_BELOW });
    }
    if !has("/subresources/scale") {
        return (None, subresources);
    }
    let path = |name: &str| {
        let path = text(version, &format!("/subresources/scale/{name}")).replace('.', "/");
        Some(path).filter(|path| !path.is_empty())
    };
    let scale = ScalePaths {
        wanted: path("specReplicasPath").unwrap_or_default(),
        present: path("statusReplicasPath").unwrap_or_default(),
        selector: path("labelSelectorPath"),
    };
    let kind = ("autoscaling", "v1", "Scale");
    subresources.push(Subresource { name: "scale", kind, verbs: VERBS_BELOW });
    (Some(scale), subresources)
}

/// SetDefaults_CustomResourceDefinitionSpec.
fn default_names(definition: &mut Value) {
    let kind = text(definition, "/spec/names/kind").to_owned();
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        for (name, value) in [("singular", kind.to_lowercase()), ("listKind", kind + "List")] {
            let there = names.get(name).and_then(Value::as_str).unwrap_or_default();
            if there.is_empty() {
                names.insert(name.to_owned(), value.into());
            }
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
}

/// Which of the names a definition gets, and whether it gets them all
/// (NamingConditionController.calculateNamesAndConditions).
fn accept(state: &State, definition: &Value) -> (Value, Condition) {
    let (resources, kinds) = taken(state, definition);
    let wanted = fields::at(definition, "/spec/names").cloned().unwrap_or_else(|| json!({}));
    let had = fields::at(definition, "/status/acceptedNames").cloned().unwrap_or_else(|| json!({}));
    let mut names = had.clone();
    if !names.is_object() {
        names = json!({});
    }
    let mut refused: Option<(&'static str, String)> = None;
    let in_use = |name: &str| format!("{name:?} is already in use");
    for (field, reason, taken) in [
        ("plural", "PluralConflict", &resources),
        ("singular", "SingularConflict", &resources),
        ("kind", "KindConflict", &kinds),
        ("listKind", "ListKindConflict", &kinds),
    ] {
        let name = wanted.get(field).and_then(Value::as_str).unwrap_or_default();
        let old = had.get(field).and_then(Value::as_str).unwrap_or_default();
        if name != old && taken.contains(name) {
            refused = Some((reason, in_use(name)));
        } else {
            names[field] = name.into();
        }
        if field != "singular" {
            continue;
        }
        let old: BTreeSet<_> = strings(&had, "/shortNames").collect();
        let short = strings(&wanted, "/shortNames");
        let clash = short.filter(|name| !old.contains(name) && resources.contains(*name));
        let clashes: Vec<_> = clash.map(in_use).collect();
        match clashes.as_slice() {
            [] => copy(&mut names, &wanted, "shortNames"),
            [one] => refused = Some(("ShortNamesConflict", one.clone())),
            all => refused = Some(("ShortNamesConflict", format!("[{}]", all.join(", ")))),
        }
    }
    copy(&mut names, &wanted, "categories");
    let (status, (reason, message)) = match refused {
        Some(refused) => ("False", refused),
        None => ("True", ("NoConflicts", "no conflicts found".to_owned())),
    };
    (names, Condition { kind: "NamesAccepted", status, reason, message })
}

/// The names that other definitions of the group have: of resources, and of kinds.
fn taken(state: &State, definition: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut resources, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    let group = text(definition, "/spec/group");
    let this = text(definition, "/metadata/name");
    for other in state.store.list(TABLE, None) {
        let other = &other.object;
        if text(other, "/spec/group") != group || text(other, "/metadata/name") == this {
            continue;
        }
        for field in ["plural", "singular", "kind", "listKind"] {
            let name = text(other, &format!("/status/acceptedNames/{field}")).to_owned();
            let into = if field.ends_with("ind") { &mut kinds } else { &mut resources };
            if !name.is_empty() {
                into.insert(name);
            }
        }
        resources.extend(strings(other, "/status/acceptedNames/shortNames").map(str::to_owned));
    }
    (resources, kinds)
}

/// Each version that objects were ever stored in.
fn stored_versions(definition: &Value) -> Vec<String> {
    let mut stored: Vec<_> =
        strings(definition, "/status/storedVersions").map(str::to_owned).collect();
    let versions = fields::at(definition, "/spec/versions").and_then(Value::as_array);
    let stores = |it: &&Value| it.get("storage") == Some(&Value::Bool(true));
    let storage = versions.into_iter().flatten().find(stores);
    let storage = storage.and_then(|it| it.get("name")).and_then(Value::as_str);
    stored.extend(storage.filter(|it| !stored.iter().any(|name| name == it)).map(str::to_owned));
    stored
}

fn copy(into: &mut Value, from: &Value, field: &str) {
    let Some(fields) = into.as_object_mut() else { return };
    match from.get(field) {
        Some(value) => drop(fields.insert(field.to_owned(), value.clone())),
        None => drop(fields.remove(field)),
    }
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    fields::at(object, path).and_then(Value::as_str).unwrap_or_default()
}

fn strings<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = &'a str> {
    let list = fields::at(object, path).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

fn is_absent(object: &Value, path: &str) -> bool {
    fields::at(object, path).is_none_or(Value::is_null)
}

/// A condition of a definition.
struct Condition {
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

// === impl Condition ===

impl Condition {
    fn is(&self, status: &str) -> bool {
        self.status == status
    }
}

fn is(condition: &Value, status: &str) -> bool {
    condition.get("status").and_then(Value::as_str) == Some(status)
}

fn condition(definition: &Value, kind: &str) -> Option<Value> {
    let conditions = fields::at(definition, "/status/conditions").and_then(Value::as_array)?;
    conditions.iter().find(|it| it.get("type").and_then(Value::as_str) == Some(kind)).cloned()
}

/// SetCRDCondition: the time is that of the last change of the status.
fn set_condition(definition: &mut Value, condition: &Condition, now: &str) {
    let Condition { kind, status, reason, message } = condition;
    let Some(fields) = definition.as_object_mut() else { return };
    let into = fields.entry("status").or_insert_with(|| json!({}));
    let Some(into) = into.as_object_mut() else { return };
    let conditions = into.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let mut new = json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": now,
    });
    let is_it = |it: &&mut Value| it.get("type").and_then(Value::as_str) == Some(kind);
    match conditions.iter_mut().find(is_it) {
        Some(old) => {
            if let Some(since) = old.get("lastTransitionTime").filter(|_| is(old, status)) {
                new["lastTransitionTime"] = since.clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

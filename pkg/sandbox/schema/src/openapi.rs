//! The OpenAPI documents that clients read: just enough for kubectl to check, to merge and to
//! explain. There are no descriptions.

use serde_json::{Map, Value, json};

use crate::{Field, ListKind, Scalar, Schema, Shape, TypeId};

#[cfg(test)]
mod tests;

/// What stands before the names of types.
const PREFIX: &str = "io.k8s.";
/// The types that are single values, with names of their own.
const QUANTITY: &str = "apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "apimachinery.pkg.util.intstr.IntOrString";
const TIME: &str = "apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "apimachinery.pkg.apis.meta.v1.MicroTime";
/// What a patch is.
const PATCH: &str = "apimachinery.pkg.apis.meta.v1.Patch";
/// The types of patches; custom resources have no strategic ones.
const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// A resource that a document describes.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// Empty for core.
    pub group: &'a str,
    /// Such as `v1`.
    pub version: &'a str,
    /// Such as `Pod`.
    pub kind: &'a str,
    /// Such as `pods`.
    pub plural: &'a str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// As discovery names them.
    pub verbs: &'a [&'a str],
    /// What its objects hold.
    pub ty: TypeId,
    /// The same of a custom resource, if its definition says it: `openAPIV3Schema`.
    pub custom: Option<&'a Value>,
}

/// The document at `/openapi/v3`: for each group and version (`apis/apps/v1`) where its document
/// is. The hash changes when that does.
pub fn v3_index<'a>(versions: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let paths = versions.into_iter().map(|(path, hash)| {
        let url = format!("/openapi/v3/{path}?hash={hash}");
        (path.to_owned(), json!({"serverRelativeURL": url}))
    });
    json!({"paths": paths.collect::<Map<_, _>>()})
}

/// The document of one group and version.
pub fn v3(schema: &Schema, resources: &[Described<'_>]) -> Value {
    let mut document = Document { schema, schemas: Map::new() };
    let mut paths = Map::new();
    for resource in resources {
        document.add_kind(resource);
        add_paths(resource, &mut paths);
    }
    // Lists and options of the version, which no path names here.
    if let Some(Described { group, version, .. }) = resources.first() {
        let here = schema.kinds().filter(|it| (it.0, it.1) == (*group, *version));
        for (.., id) in here {
            document.add(id);
        }
    }
    document.add_single_values();
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {"schemas": document.schemas},
    })
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{PREFIX}{name}")})
}

fn kind_of(resource: &Described<'_>) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

/// The name of a custom kind's schema: `org.example.v1.Widget`.
fn custom_name(resource: &Described<'_>) -> String {
    let words: Vec<_> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", words.join("."), resource.version, resource.kind)
}

/// What can be done where.
fn add_paths(resource: &Described<'_>, paths: &mut Map<String, Value>) {
    let Described { group, version, plural, verbs, .. } = *resource;
    let root = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    let within = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{root}{within}/{plural}");
    let has = |verb: &str| verbs.contains(&verb);
    let operation = |action: &str| {
        let mut parameters = Vec::new();
        if matches!(action, "post" | "put" | "patch") {
            let names = ["dryRun", "fieldManager", "fieldValidation"];
            parameters.extend(names.map(|name| parameter(name, "string")));
        }
        if action == "patch" {
            parameters.push(parameter("force", "boolean"));
        }
        json!({
            "parameters": parameters,
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind_of(resource),
        })
    };
    let mut all = Map::new();
    for (verb, method, action) in [("list", "get", "list"), ("create", "post", "post")] {
        if has(verb) {
            all.insert(method.to_owned(), operation(action));
        }
    }
    let mut one = Map::new();
    for (verb, method) in
        [("get", "get"), ("update", "put"), ("patch", "patch"), ("delete", "delete")]
    {
        if has(verb) {
            one.insert(method.to_owned(), operation(method));
        }
    }
    if let Some(patch) = one.get_mut("patch") {
        let patches = if is_custom(resource) { &PATCHES[..3] } else { &PATCHES[..] };
        let content =
            patches.iter().map(|it| ((*it).to_owned(), json!({"schema": reference(PATCH)})));
        let content: Map<_, _> = content.collect();
        patch["requestBody"] = json!({"required": true, "content": content});
    }
    for (path, methods) in [(format!("{collection}/{{name}}"), one), (collection, all)] {
        if !methods.is_empty() {
            paths.insert(path, methods.into());
        }
    }
    if resource.namespaced && has("list") {
        paths.insert(format!("{root}/{plural}"), json!({"get": operation("list")}));
    }
}

fn parameter(name: &str, kind: &str) -> Value {
    json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
}

fn is_custom(resource: &Described<'_>) -> bool {
    resource.ty == Schema::builtin().custom()
}

/// A document that is being written.
struct Document<'a> {
    schema: &'a Schema,
    /// By full name.
    schemas: Map<String, Value>,
}

// === impl Document ===

impl Document<'_> {
    fn add_kind(&mut self, resource: &Described<'_>) {
        if !is_custom(resource) {
            self.add(resource.ty);
            return;
        }
        let fields = &self.schema.get(resource.ty).fields;
        let properties: Map<_, _> =
            fields.iter().map(|field| (field.name.to_owned(), self.field(field))).collect();
        self.add_fields(fields);
        let mut schema = resource.custom.cloned().filter(Value::is_object).unwrap_or(json!({}));
        schema["type"] = "object".into();
        schema["x-kubernetes-preserve-unknown-fields"] = true.into();
        schema["x-kubernetes-group-version-kind"] = json!([kind_of(resource)]);
        match schema.get_mut("properties").and_then(Value::as_object_mut) {
            Some(known) => known.extend(properties),
            None => schema["properties"] = properties.into(),
        }
        self.schemas.insert(custom_name(resource), schema);
    }

    /// Adds a type, and those that its fields name.
    fn add(&mut self, id: TypeId) {
        let ty = self.schema.get(id);
        let name = format!("{PREFIX}{}", ty.name);
        if self.schemas.contains_key(&name) {
            return;
        }
        let mut schema = json!({"type": "object"});
        if !ty.fields.is_empty() {
            let properties: Map<_, _> =
                ty.fields.iter().map(|it| (it.name.to_owned(), self.field(it))).collect();
            schema["properties"] = properties.into();
        }
        let required = ty.fields.iter().filter(|field| field.required);
        let required: Vec<_> = required.map(|field| field.name).collect();
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        if ty.atomic {
            schema["x-kubernetes-map-type"] = "atomic".into();
        }
        let kinds = self.schema.kinds().filter(|it| it.3 == id);
        let kinds: Vec<_> = kinds
            .map(|(group, version, kind, _)| {
                json!({"group": group, "version": version, "kind": kind})
            })
            .collect();
        if !kinds.is_empty() {
            schema["x-kubernetes-group-version-kind"] = kinds.into();
        }
        self.schemas.insert(name, schema);
        self.add_fields(&ty.fields);
    }

    fn add_fields(&mut self, fields: &[Field]) {
        for field in fields {
            let mut shape = &field.shape;
            while let Shape::List { item: inner, .. } | Shape::Map { value: inner, .. } = shape {
                shape = inner;
            }
            if let Shape::Object(id) = shape {
                self.add(*id);
            }
        }
    }

    fn add_single_values(&mut self) {
        let both = |it: &str, other: &str| json!([{"type": it}, {"type": other}]);
        for (name, schema) in [
            (QUANTITY, json!({"oneOf": both("string", "number")})),
            (INT_OR_STRING, json!({"format": "int-or-string", "oneOf": both("integer", "string")})),
            (TIME, json!({"type": "string", "format": "date-time"})),
            (MICRO_TIME, json!({"type": "string", "format": "date-time"})),
            (PATCH, json!({"type": "object"})),
        ] {
            self.schemas.insert(format!("{PREFIX}{name}"), schema);
        }
    }

    fn field(&self, field: &Field) -> Value {
        let mut schema = self.shape(&field.shape);
        // Beside a reference nothing else may stand.
        if schema.get("$ref").is_some() {
            schema = json!({"allOf": [schema]});
        }
        let merge = field.merge;
        let strategies = [(merge.merges, "merge"), (merge.retains_keys, "retainKeys")];
        let strategies = strategies.iter().filter(|it| it.0).map(|it| it.1).collect::<Vec<_>>();
        if !strategies.is_empty() {
            schema["x-kubernetes-patch-strategy"] = strategies.join(",").into();
        }
        if let Some(key) = merge.key {
            schema["x-kubernetes-patch-merge-key"] = key.into();
        }
        schema
    }

    fn shape(&self, shape: &Shape) -> Value {
        match shape {
            Shape::Any => json!({"type": "object"}),
            Shape::Object(id) => reference(self.schema.get(*id).name),
            Shape::Map { value, atomic } => {
                let mut map = json!({"type": "object", "additionalProperties": self.shape(value)});
                if *atomic {
                    map["x-kubernetes-map-type"] = "atomic".into();
                }
                map
            }
            Shape::List { item, kind } => {
                let mut list = json!({"type": "array", "items": self.shape(item)});
                match kind {
                    ListKind::Atomic => list["x-kubernetes-list-type"] = "atomic".into(),
                    ListKind::Set => list["x-kubernetes-list-type"] = "set".into(),
                    ListKind::Map(keys) => {
                        list["x-kubernetes-list-type"] = "map".into();
                        list["x-kubernetes-list-map-keys"] = keys.clone().into();
                    }
                }
                list
            }
            Shape::Scalar(scalar) => match scalar {
                Scalar::String => json!({"type": "string"}),
                Scalar::Bytes => json!({"type": "string", "format": "byte"}),
                Scalar::Time => reference(TIME),
                Scalar::MicroTime => reference(MICRO_TIME),
                Scalar::Quantity => reference(QUANTITY),
                Scalar::IntOrString => reference(INT_OR_STRING),
                Scalar::Int32 => json!({"type": "integer", "format": "int32"}),
                Scalar::Int64 => json!({"type": "integer", "format": "int64"}),
                Scalar::Double => json!({"type": "number", "format": "double"}),
                Scalar::Bool => json!({"type": "boolean"}),
            },
        }
    }
}

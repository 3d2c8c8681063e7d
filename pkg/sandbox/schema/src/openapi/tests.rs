//! Held against what kubectl 1.36.3 reads of these documents.

use std::collections::BTreeMap;

use super::*;

/// For each path of a document, how often it names a schema that is not there.
fn dangling(document: &Value) -> BTreeMap<String, usize> {
    fn walk(value: &Value, schemas: &Value, found: &mut BTreeMap<String, usize>) {
        match value {
            Value::Object(fields) => {
                if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                    let name = name.rsplit('/').next().unwrap_or_default();
                    if schemas.get(name).is_none() {
                        *found.entry(name.to_owned()).or_default() += 1;
                    }
                }
                fields.values().for_each(|it| walk(it, schemas, found));
            }
            Value::Array(items) => items.iter().for_each(|it| walk(it, schemas, found)),
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    let schemas = document.pointer("/components/schemas").cloned().unwrap_or_default();
    walk(document, &schemas, &mut found);
    found
}

fn described(schema: &Schema) -> Described<'static> {
    Described {
        group: "apps",
        version: "v1",
        kind: "Deployment",
        plural: "deployments",
        namespaced: true,
        verbs: &["create", "get", "list", "patch"],
        ty: schema.kind("apps", "v1", "Deployment").unwrap(),
        custom: None,
    }
}

/// What kubectl looks for: QueryParamVerifierV3 of cli-runtime, Patcher of apply, `explain`.
#[test]
fn kubectl_finds_what_it_looks_for() {
    let schema = Schema::builtin();
    let document = v3(schema, &[described(schema)]);
    let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    let patch = &document["paths"][path]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|it| it["name"] == "fieldValidation" && it["in"] == "query"));
    assert!(patch["requestBody"]["content"].get(PATCHES[3]).is_some());
    let list = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["get"];
    assert_eq!(list["x-kubernetes-group-version-kind"], kind);
    let schemas = &document["components"]["schemas"];
    let deployment = &schemas["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(deployment["x-kubernetes-group-version-kind"], json!([kind]));
    // As in the document of Kubernetes 1.36.3, without descriptions and defaults.
    assert_eq!(
        schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"],
        json!({
            "type": "array",
            "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.ContainerPort"},
            "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-patch-merge-key": "containerPort",
            "x-kubernetes-patch-strategy": "merge",
        })
    );
    let spec = &schemas["io.k8s.api.apps.v1.DeploymentSpec"];
    assert_eq!(spec["required"], json!(["selector", "template"]));
    assert_eq!(spec["properties"]["strategy"]["x-kubernetes-patch-strategy"], "retainKeys");
    assert_eq!(dangling(&document), BTreeMap::new());
}

#[test]
fn custom_kinds_hold_anything() {
    let schema = Schema::builtin();
    let resource = Described {
        group: "example.org",
        kind: "Widget",
        plural: "widgets",
        namespaced: false,
        ty: schema.custom(),
        ..described(schema)
    };
    let document = v3(schema, &[resource]);
    let widget = &document["components"]["schemas"]["org.example.v1.Widget"];
    assert_eq!(widget["x-kubernetes-preserve-unknown-fields"], true);
    let patch = &document["paths"]["/apis/example.org/v1/widgets/{name}"]["patch"];
    assert!(patch["requestBody"]["content"].get(PATCHES[3]).is_none());
    assert!(patch["requestBody"]["content"].get(PATCHES[2]).is_some());
    assert_eq!(dangling(&document), BTreeMap::new());
}

/// `kubectl explain` shows what the definition says, and the fields that every object has.
#[test]
fn custom_kinds_are_explained() {
    let schema = Schema::builtin();
    let custom = json!({
        "description": "A widget.",
        "properties": {"spec": {"type": "object"}, "metadata": {"type": "object"}},
    });
    let resource = Described {
        group: "example.org",
        kind: "Widget",
        ty: schema.custom(),
        custom: Some(&custom),
        ..described(schema)
    };
    let document = v3(schema, &[resource]);
    let widget = &document["components"]["schemas"]["org.example.v1.Widget"];
    assert_eq!(widget["description"], "A widget.");
    assert_eq!(widget["properties"]["spec"]["type"], "object");
    assert!(widget["properties"]["metadata"].get("allOf").is_some(), "{widget}");
    assert_eq!(dangling(&document), BTreeMap::new());
}

#[test]
fn the_index_says_where_documents_are() {
    let index = v3_index([("apis/apps/v1", "A1")]);
    let url = "/openapi/v3/apis/apps/v1?hash=A1";
    assert_eq!(index, json!({"paths": {"apis/apps/v1": {"serverRelativeURL": url}}}));
}

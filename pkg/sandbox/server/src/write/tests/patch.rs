//! Patches: what the handler asks of them. How they change objects is tested with the schema.

use serde_json::{Value, json};

use super::{have, map, refused, send, serve_widgets, state, stored};

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn refusals() {
    let mut state = state();
    serve_widgets(&mut state);
    have(&mut state, "v1/configmaps", &map("a"));
    have(&mut state, "example.com/v1/widgets", &json!({"metadata": {"name": "w"}}));
    let rows: [(&str, &str, Value, &str); 14] = [
        (
            "TestPatchResource: there is none",
            "PATCH merge v1/configmaps/b",
            json!({"data": {"b": "2"}}),
            r#"404 NotFound: configmaps "b" not found"#,
        ),
        (
            "PatchResource: the type of the patch",
            "PATCH application/json v1/configmaps/a",
            json!({}),
            "415 UnsupportedMediaType: the body of the request was in an unknown format - \
             accepted media types include: application/json-patch+json, \
             application/merge-patch+json, application/strategic-merge-patch+json, \
             application/apply-patch+yaml",
        ),
        (
            "PatchResource: custom resources know no strategic merge",
            "PATCH strategic example.com/v1/widgets/w",
            json!({}),
            "415 UnsupportedMediaType: the body of the request was in an unknown format - \
             accepted media types include: application/json-patch+json, \
             application/merge-patch+json, application/apply-patch+yaml",
        ),
        (
            "TestValidPatchOptions: an apply has a manager",
            "PATCH apply v1/configmaps/a",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
            r#"422 Invalid: PatchOptions.meta.k8s.io "" is invalid: fieldManager: "#,
        ),
        (
            "TestInvalidPatchOptions: others have no force",
            "PATCH merge v1/configmaps/a?force=true",
            json!({}),
            r#"422 Invalid: PatchOptions.meta.k8s.io "" is invalid: force: "#,
        ),
        (
            "applyJSPatch: no object",
            "PATCH merge v1/configmaps/a",
            json!(["a"]),
            "400 BadRequest: error decoding patch: json: cannot unmarshal array into Go value of \
             type map[string]interface {}",
        ),
        (
            "strategicPatchObject: no object",
            "PATCH strategic v1/configmaps/a",
            json!("a"),
            "400 BadRequest: json: cannot unmarshal string into Go value of type \
             map[string]interface {}",
        ),
        (
            "TestJSONPatch: a test that fails",
            "PATCH json v1/configmaps/a",
            json!([{"op": "test", "path": "/kind", "value": "Secret"}]),
            "422 Invalid: the server rejected our request due to an error in our request",
        ),
        (
            "TestJSONPatch: too many operations",
            "PATCH json v1/configmaps/a",
            vec![json!({"op": "test", "path": "/kind", "value": "ConfigMap"}); 10_001].into(),
            "413 RequestEntityTooLarge: Request entity is too large: The allowed maximum \
             operations in a JSON patch is 10000, got 10001",
        ),
        (
            "versionCheckManager.Apply: another version",
            "PATCH apply v1/configmaps/a?fieldManager=m",
            json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}}),
            "400 BadRequest: invalid object type: /v2, Kind=ConfigMap",
        ),
        (
            "versionCheckManager.Apply: another kind of custom resource",
            "PATCH apply example.com/v1/widgets/w?fieldManager=m",
            json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "w"}}),
            "400 BadRequest: invalid object type: example.com/v1, Kind=Gadget",
        ),
        (
            "structuredMergeManager.Apply: an unknown field",
            "PATCH apply v1/configmaps/a?fieldManager=m",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dat": {}}),
            "500 : failed to create typed patch object (/a; /v1, Kind=ConfigMap): .dat: field not \
             declared in schema",
        ),
        (
            "structuredMergeManager.Apply: owners of fields are the server's",
            "PATCH apply v1/configmaps/a?fieldManager=m",
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "managedFields": []},
            }),
            "400 BadRequest: metadata.managedFields must be nil",
        ),
        (
            "applyPatchToCurrentObject: no YAML",
            "PATCH apply v1/configmaps/a?fieldManager=m",
            json!("text"),
            "400 BadRequest: error decoding YAML: error unmarshaling JSON: while decoding JSON: \
             json: cannot unmarshal string into Go value of type map[string]interface {}",
        ),
    ];
    for (rule, request, body, expected) in rows {
        let refused = refused(&mut state, request, &body);
        assert!(refused.starts_with(expected), "{rule}: {refused}");
    }
}

#[test]
fn refusals_of_what_is_made() {
    let mut state = state();
    have(&mut state, "v1/configmaps", &map("a"));
    let rows: [(&str, &str, Value, &str); 2] = [
        (
            "TestPatchResourceWithConflict: the patch names a version",
            "PATCH merge v1/configmaps/a",
            json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}}),
            "409 Conflict: Operation cannot be fulfilled on configmaps \"a\": the object has been \
             modified; please apply your changes to the latest version and try again",
        ),
        (
            "checkName: a patch cannot rename",
            "PATCH merge v1/configmaps/a",
            json!({"metadata": {"name": "b"}}),
            "400 BadRequest: the name of the object (b) does not match the name on the URL (a)",
        ),
    ];
    for (rule, request, body, expected) in rows {
        let refused = refused(&mut state, request, &body);
        assert!(refused.starts_with(expected), "{rule}: {refused}");
    }
}

/// TestPatchResourceWithVersionConflict's other half: no version, no conflict.
#[test]
fn a_merge_patch() {
    let mut state = state();
    have(&mut state, "v1/configmaps", &map("a"));
    let body = json!({"data": {"a": null, "b": "2"}, "metadata": {"labels": {"l": "1"}}});
    let written = send(&mut state, "PATCH merge v1/configmaps/a?dryRun=All", &body).unwrap();
    assert_eq!(written.document["data"], json!({"b": "2"}));
    assert_eq!(stored(&state, "v1/configmaps", "a")["data"], json!({"a": "1"}));
    let written = send(&mut state, "PATCH merge v1/configmaps/a", &body).unwrap();
    assert_eq!((written.code, &written.document["data"]), (200, &json!({"b": "2"})));
    assert_eq!(stored(&state, "v1/configmaps", "a"), *written.document);
    let revision = state.store.revision();
    send(&mut state, "PATCH merge v1/configmaps/a", &body).unwrap();
    assert_eq!(state.store.revision(), revision, "it changes nothing the second time");
}

/// TestApplyCreatesObject.
#[test]
fn an_apply() {
    let mut state = state();
    let mut body = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"},
    });
    let request = "PATCH apply v1/configmaps/a?fieldManager=m";
    let written = send(&mut state, request, &body).unwrap();
    assert_eq!((written.code, &written.document["data"]), (201, &json!({"a": "1"})));
    body["data"] = json!({"b": "2"});
    let written = send(&mut state, request, &body).unwrap();
    assert_eq!((written.code, &written.document["data"]), (200, &json!({"b": "2"})));
    let other = request.replace("=m", "=other");
    body["data"] = json!({"b": "3"});
    let conflict = send(&mut state, &other, &body).unwrap_err();
    assert_eq!((conflict.code, conflict.reason), (409, "Conflict"));
    assert_eq!(conflict.details["causes"][0]["reason"], "FieldManagerConflict");
    let written = send(&mut state, &format!("{other}&force=true"), &body).unwrap();
    assert_eq!(written.document["data"], json!({"b": "3"}));
}

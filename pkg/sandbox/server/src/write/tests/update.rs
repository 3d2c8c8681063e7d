//! Updates.

use apimachinery::fields;
use serde_json::{Value, json};

use super::super::fields::{number, text};
use super::{have, map, pod, refused, send, serve_widgets, state, stored};

/// An object as it is in the store, changed.
fn edit(object: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut object = object.clone();
    change(&mut object);
    object
}

#[test]
fn refusals() {
    let mut state = state();
    have(&mut state, "v1/configmaps", &map("a"));
    have(&mut state, "coordination.k8s.io/v1/leases", &json!({"metadata": {"name": "l"}}));
    let known = stored(&state, "v1/configmaps", "a");
    let put = "PUT v1/configmaps/a";
    let lease = json!({"metadata": {"name": "l"}});
    let rows: [(&str, &str, Value, &str); 7] = [
        (
            "TestStoreUpdate: there is none",
            "PUT v1/configmaps/b",
            map("b"),
            r#"404 NotFound: configmaps "b" not found"#,
        ),
        (
            "TestStoreUpdate: an older version",
            put,
            edit(&known, |it| it["metadata"]["resourceVersion"] = "1".into()),
            "409 Conflict: Operation cannot be fulfilled on configmaps \"a\": the object has been \
             modified; please apply your changes to the latest version and try again",
        ),
        (
            "TestUpdateWithMismatchedUID",
            put,
            edit(&known, |it| it["metadata"]["uid"] = "other".into()),
            "409 Conflict: Operation cannot be fulfilled on configmaps \"a\": StorageError: \
             invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object \
             meta: uid-a",
        ),
        (
            "checkName",
            put,
            map("b"),
            "400 BadRequest: the name of the object (b) does not match the name on the URL (a)",
        ),
        (
            "checkName: none",
            put,
            json!({"metadata": {}}),
            "400 BadRequest: the name of the object (a based on URL) was undeterminable",
        ),
        (
            "TestNoOpUpdates: no unconditional updates",
            "PUT coordination.k8s.io/v1/leases/l",
            lease,
            "422 Invalid: leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion",
        ),
        (
            "ValidateNoNewFinalizers is about objects that end; this one has another namespace",
            put,
            edit(&known, |it| it["metadata"]["namespace"] = "other".into()),
            "400 BadRequest: the namespace of the provided object does not match",
        ),
    ];
    for (rule, request, body, expected) in rows {
        let refused = refused(&mut state, request, &body);
        assert!(refused.starts_with(expected), "{rule}: {refused}");
    }
}

/// TestNoOpUpdates: an object that does not change keeps its version, whatever of the metadata a
/// client leaves out.
#[test]
fn updates_that_change_nothing() {
    let mut state = state();
    have(&mut state, "v1/configmaps", &map("a"));
    let known = stored(&state, "v1/configmaps", "a");
    let revision = state.store.revision();
    for body in [known.clone(), map("a")] {
        let written = send(&mut state, "PUT v1/configmaps/a", &body).unwrap();
        assert_eq!((written.code, &*written.document), (200, &known));
    }
    assert_eq!(state.store.revision(), revision);
}

/// BeforeUpdate: what the server says stays.
#[test]
fn metadata_that_stays() {
    let mut state = state();
    let made = send(&mut state, "POST v1/pods", &pod("web")).unwrap().document;
    let body = edit(&made, |it| {
        it["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
        it["metadata"]["generation"] = 9.into();
        it["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
        it["metadata"]["labels"]["new"] = "1".into();
        it["metadata"].as_object_mut().unwrap().remove("uid");
    });
    let written = send(&mut state, "PUT v1/pods/web", &body).unwrap();
    let metadata = &written.document["metadata"];
    assert_eq!(metadata["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!((&metadata["generation"], &metadata["uid"]), (&json!(1), &made["metadata"]["uid"]));
    assert_eq!(metadata.get("deletionTimestamp"), None);
    assert_eq!(metadata["labels"]["new"], "1");
    let body = edit(&written.document, |it| it["spec"]["containers"][0]["image"] = "b".into());
    let written = send(&mut state, "PUT v1/pods/web", &body).unwrap();
    assert_eq!(number(&written.document, "/metadata/generation"), Some(2));
}

/// TestStoreUpdate with AllowCreateOnUpdate.
#[test]
fn some_kinds_are_created_by_updates() {
    let mut state = state();
    let request = "PUT coordination.k8s.io/v1/leases/l";
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}});
    let mut with_uid = lease.clone();
    with_uid["metadata"]["uid"] = "gone".into();
    let refused = refused(&mut state, request, &with_uid);
    assert!(refused.ends_with("UID in precondition: gone, UID in object meta: "), "{refused}");
    let written = send(&mut state, request, &lease).unwrap();
    assert_eq!(written.code, 201);
    let written = send(&mut state, request, &written.document).unwrap();
    assert_eq!(written.code, 200);
}

/// TestStoreUpdateHooks' neighbours: TestFinalizeDelete, ShouldDeleteDuringUpdate.
#[test]
fn the_last_finalizer() {
    let ending = |grace: i64, finalizers: Value| {
        json!({"metadata": {
            "name": "a", "finalizers": finalizers, "deletionGracePeriodSeconds": grace,
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        }})
    };
    let rows: [(&str, i64, Value, bool); 3] = [
        ("no finalizer is left", 0, json!([]), true),
        ("one is left", 0, json!(["b"]), false),
        ("the grace is not over", 30, json!([]), false),
    ];
    for (rule, grace, left, gone) in rows {
        let mut state = state();
        have(&mut state, "v1/configmaps", &ending(grace, json!(["a", "b"])));
        let known = stored(&state, "v1/configmaps", "a");
        let revision = state.store.revision();
        let body = edit(&known, |it| it["metadata"]["finalizers"] = left);
        let written = send(&mut state, "PUT v1/configmaps/a", &body).unwrap();
        assert_eq!(written.code, 200, "{rule}");
        assert_eq!(written.document["metadata"]["name"], "a", "{rule}");
        assert_eq!(stored(&state, "v1/configmaps", "a").is_null(), gone, "{rule}");
        let events: Vec<_> = state.store.after("configmaps", revision).unwrap().collect();
        assert_eq!(events.len(), 1, "{rule}: one event");
        assert_eq!(events[0].after.is_none(), gone, "{rule}");
    }
}

/// ValidateNoNewFinalizers.
#[test]
fn an_object_that_ends_gets_no_finalizers() {
    let mut state = state();
    let metadata = json!({
        "name": "a", "finalizers": ["a"], "deletionTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
    });
    have(&mut state, "v1/configmaps", &json!({"metadata": metadata}));
    let known = stored(&state, "v1/configmaps", "a");
    let body = edit(&known, |it| it["metadata"]["finalizers"] = json!(["a", "new"]));
    let refused = refused(&mut state, "PUT v1/configmaps/a", &body);
    let expected = "422 Invalid: ConfigMap \"a\" is invalid: metadata.finalizers";
    assert!(refused.starts_with(expected), "{refused}");
}

/// IgnoreManagedFieldsTimestampsTransformer.
#[test]
fn times_of_field_owners_change_nothing() {
    let mut state = state();
    let entry = |time: &str, manager: &str| {
        json!([{
            "manager": manager, "operation": "Apply", "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}},
        }])
    };
    let mut object = map("a");
    object["metadata"]["managedFields"] = entry("2025-12-31T00:00:00Z", "m");
    have(&mut state, "v1/configmaps", &object);
    let known = stored(&state, "v1/configmaps", "a");
    let revision = state.store.revision();
    let body = edit(&known, |it| {
        it["metadata"]["managedFields"] = entry("2026-01-01T00:00:00Z", "m");
    });
    let written = send(&mut state, "PUT v1/configmaps/a", &body).unwrap();
    assert_eq!((&*written.document, state.store.revision()), (&known, revision));
    let body = edit(&known, |it| {
        it["metadata"]["managedFields"] = entry("2026-01-01T00:00:00Z", "other");
    });
    let written = send(&mut state, "PUT v1/configmaps/a", &body).unwrap();
    assert_eq!(text(&written.document, "/metadata/managedFields/0/manager"), "other");
    assert_eq!(state.store.revision(), revision + 1);
}

/// `Options::track_updates`.
#[test]
fn managers_are_not_noted_without_an_apply() {
    let mut state = state();
    state.options.track_updates = false;
    let managers = |written: &Value| {
        let managed = fields::at(written, "/metadata/managedFields").and_then(Value::as_array);
        let of = |it: &Value| text(it, "/manager").to_owned();
        managed.map_or(Vec::new(), |entries| entries.iter().map(of).collect())
    };
    let made = send(&mut state, "POST v1/configmaps", &map("posted")).unwrap();
    assert_eq!(managers(&made.document), [""; 0]);
    let apply = "PATCH apply v1/configmaps/a?fieldManager=m&force=true";
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": {"a": "2"}});
    let written = send(&mut state, apply, &applied).unwrap();
    assert_eq!(managers(&written.document), ["m"]);
    let patch = json!({"data": {"b": "3"}, "metadata": {"managedFields": null}});
    let written = send(&mut state, "PATCH merge v1/configmaps/a", &patch).unwrap();
    assert_eq!(managers(&written.document), ["m"]);
}

/// Status strategies: what `/status` lets through.
#[test]
fn updates_of_the_status() {
    let mut state = state();
    serve_widgets(&mut state);
    let all = ["labels", "annotations", "finalizers", "ownerReferences"];
    let rows: [(&str, &[&str]); 4] = [
        ("apps/v1/deployments", &["annotations", "finalizers", "ownerReferences"]),
        ("v1/pods", &["labels", "annotations", "finalizers"]),
        ("v1/nodes", &all),
        ("example.com/v1/widgets", &[]),
    ];
    for (place, through) in rows {
        let metadata = json!({"name": "a", "generation": 1});
        let object = json!({"metadata": metadata, "spec": {"nodeName": "x"}, "status": {}});
        have(&mut state, place, &object);
        let known = stored(&state, place, "a");
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "1"});
        let body = edit(&known, |it| {
            it["metadata"]["labels"] = json!({"a": "b"});
            it["metadata"]["annotations"] = json!({"a": "b"});
            it["metadata"]["finalizers"] = json!(["example.com/a"]);
            it["metadata"]["ownerReferences"] = json!([owner]);
            it["metadata"]["generation"] = 9.into();
            it["spec"] = json!({"nodeName": "changed"});
            it["status"] = json!({"conditions": [{"type": "A", "status": "True"}]});
        });
        let written = send(&mut state, &format!("PUT {place}/a/status"), &body).unwrap();
        let new = written.document;
        assert_eq!(new["spec"], known["spec"], "{place}");
        assert_eq!(text(&new, "/status/conditions/0/type"), "A", "{place}");
        assert_eq!(new["metadata"]["generation"], 1, "{place}");
        let changed: Vec<_> =
            all.into_iter().filter(|it| new["metadata"].get(it).is_some()).collect();
        assert_eq!(changed, through, "{place}");
    }
}

//! Deletions.

use serde_json::{Value, json};

use super::super::fields::{number, text, texts};
use super::{NOW, call, have, map, pod, refused, send, served, state, stored};
use crate::write::write;

/// TestDelete: kinds respond with a Status or with the object.
#[test]
fn what_a_deletion_answers() {
    let mut state = state();
    have(&mut state, "apps/v1/deployments", &json!({"metadata": {"name": "d"}}));
    let written = send(&mut state, "DELETE apps/v1/deployments/d", &Value::Null).unwrap();
    let details = json!({"name": "d", "group": "apps", "kind": "deployments", "uid": "uid-d"});
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    });
    assert_eq!((written.code, &*written.document), (200, &expected));
    assert!(stored(&state, "apps/v1/deployments", "d").is_null());
    have(&mut state, "v1/services", &json!({"metadata": {"name": "s"}}));
    let written = send(&mut state, "DELETE v1/services/s", &Value::Null).unwrap();
    assert_eq!(written.document["kind"], "Service");
}

#[test]
fn refusals() {
    let mut state = state();
    have(&mut state, "v1/configmaps", &map("a"));
    let version =
        text(&stored(&state, "v1/configmaps", "a"), "/metadata/resourceVersion").to_owned();
    let delete = "DELETE v1/configmaps/a";
    let record = format!("match the ResourceVersion in record ({version})");
    let rows: [(&str, &str, Value, &str); 7] = [
        (
            "TestStoreDelete: there is none",
            "DELETE v1/configmaps/b",
            Value::Null,
            r#"404 NotFound: configmaps "b" not found"#,
        ),
        (
            "TestDeleteWithInvalidPreconditions: uid",
            delete,
            json!({"preconditions": {"uid": "other"}}),
            "409 Conflict: Operation cannot be fulfilled on ConfigMap \"a\": the UID in the \
             precondition (other) does not match the UID in record (uid-a). The object might \
             have been deleted and then recreated",
        ),
        (
            "TestDeleteWithInvalidPreconditions: version",
            delete,
            json!({"preconditions": {"resourceVersion": "1"}}),
            &format!(
                "409 Conflict: Operation cannot be fulfilled on ConfigMap \"a\": the \
                 ResourceVersion in the precondition (1) does not {record}. The object might have \
                 been modified"
            ),
        ),
        (
            "TestValidateDeleteOptionsWithPolicyAndOrphan",
            delete,
            json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
            r#"422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: "#,
        ),
        (
            "ValidateDeleteOptions: policy",
            delete,
            json!({"propagationPolicy": "Sideways"}),
            r#"422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: "#,
        ),
        (
            "ValidateDryRun",
            delete,
            json!({"dryRun": ["Some"]}),
            r#"422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: dryRun: "#,
        ),
        ("DeleteResource: no options", delete, json!([1]), "400 BadRequest: "),
    ];
    for (rule, request, body, expected) in rows {
        let refused = refused(&mut state, request, &body);
        assert!(refused.starts_with(expected), "{rule}: {refused}");
    }
}

/// TestGracefulStoreHandleFinalizers, TestFailedInitializationStoreUpdate's neighbours: an object
/// with a grace, an object with finalizers, and both.
#[test]
fn grace_and_finalizers() {
    // Request, finalizers, on a node; gone; deletionGracePeriodSeconds, deletionTimestamp.
    type Row = (&'static str, Value, Value, bool, Option<i64>, &'static str);
    let now = "2026-01-01T00:00:00Z";
    let rows: [Row; 6] = [
        ("the grace of the kind", json!(null), json!([]), false, Some(30), "2026-01-01T00:00:30Z"),
        (
            "less",
            json!({"gracePeriodSeconds": 5}),
            json!([]),
            false,
            Some(5),
            "2026-01-01T00:00:05Z",
        ),
        ("none", json!({"gracePeriodSeconds": 0}), json!([]), true, None, ""),
        (
            "a negative one is a second",
            json!({"gracePeriodSeconds": -1}),
            json!([]),
            false,
            Some(1),
            "2026-01-01T00:00:01Z",
        ),
        (
            "none, but a finalizer",
            json!({"gracePeriodSeconds": 0}),
            json!(["a/b"]),
            false,
            Some(0),
            now,
        ),
        (
            "the grace and a finalizer",
            json!(null),
            json!(["a/b"]),
            false,
            Some(30),
            "2026-01-01T00:00:30Z",
        ),
    ];
    for (rule, options, finalizers, gone, grace, end) in rows {
        let mut state = state();
        let mut object = pod("web");
        object["metadata"]["finalizers"] = finalizers;
        object["metadata"]["generation"] = 1.into();
        have(&mut state, "v1/pods", &object);
        let written = send(&mut state, "DELETE v1/pods/web", &options).unwrap();
        assert_eq!(written.code, 200, "{rule}");
        let left = stored(&state, "v1/pods", "web");
        assert_eq!(left.is_null(), gone, "{rule}");
        if !gone {
            assert_eq!(left, *written.document, "{rule}");
            assert_eq!(number(&left, "/metadata/deletionGracePeriodSeconds"), grace, "{rule}");
            assert_eq!(text(&left, "/metadata/deletionTimestamp"), end, "{rule}");
            assert_eq!(number(&left, "/metadata/generation"), Some(2), "{rule}");
        }
    }
}

/// TestBeforeDelete, TestGracefulStoreCanDeleteIfExistingGracePeriodZero: the second deletion.
#[test]
fn a_second_deletion() {
    // Seconds after the first, which gave 30; asked for; what is left then.
    type Row = (&'static str, u64, Value, Option<(i64, &'static str)>);
    let rows: [Row; 6] = [
        (
            "a longer grace",
            10,
            json!({"gracePeriodSeconds": 60}),
            Some((30, "2026-01-01T00:00:30Z")),
        ),
        ("the same", 10, json!({"gracePeriodSeconds": 30}), Some((30, "2026-01-01T00:00:30Z"))),
        ("nothing is asked", 10, Value::Null, Some((30, "2026-01-01T00:00:30Z"))),
        ("a shorter one", 5, json!({"gracePeriodSeconds": 20}), Some((20, "2026-01-01T00:00:20Z"))),
        (
            "one that is over",
            10,
            json!({"gracePeriodSeconds": 5}),
            Some((1, "2026-01-01T00:00:10Z")),
        ),
        ("none", 10, json!({"gracePeriodSeconds": 0}), None),
    ];
    for (rule, after, options, left) in rows {
        let mut state = state();
        let mut object = pod("web");
        object["metadata"]["generation"] = 1.into();
        have(&mut state, "v1/pods", &object);
        send(&mut state, "DELETE v1/pods/web", &Value::Null).unwrap();
        let mut second = call(&state, "DELETE v1/pods/web", &options);
        second.now = NOW + std::time::Duration::from_secs(after);
        let written = write(&mut state, &second).unwrap();
        assert_eq!(written.document["kind"], "Pod", "{rule}");
        let object = stored(&state, "v1/pods", "web");
        let Some((grace, end)) = left else {
            assert!(object.is_null(), "{rule}");
            continue;
        };
        assert_eq!(number(&object, "/metadata/deletionGracePeriodSeconds"), Some(grace), "{rule}");
        assert_eq!(text(&object, "/metadata/deletionTimestamp"), end, "{rule}");
        assert_eq!(number(&object, "/metadata/generation"), Some(2), "{rule}: it counts once");
    }
}

/// TestStoreDeletionPropagation and TestDeleteWithOptions' rows of finalizers.
#[test]
fn what_becomes_of_dependents() {
    type Row<'a> = (&'a str, &'a str, &'a [&'a str], Value, &'a [&'a str]);
    let policy = |name: &str| json!({"propagationPolicy": name});
    let (orphan, foreground) = ("orphan", "foregroundDeletion");
    let rows: [Row<'_>; 13] = [
        ("background by default", "apps/v1/deployments", &[], Value::Null, &[]),
        ("orphans by default", "v1/replicationcontrollers", &[], Value::Null, &[orphan]),
        ("orphans by default", "batch/v1/jobs", &[], Value::Null, &[orphan]),
        ("the options say otherwise", "batch/v1/jobs", &[], policy("Background"), &[]),
        ("events have none", "v1/events", &[], policy("Foreground"), &[]),
        ("orphan", "v1/configmaps", &[], policy("Orphan"), &[orphan]),
        ("foreground", "v1/configmaps", &[], policy("Foreground"), &[foreground]),
        ("the older option", "v1/configmaps", &[], json!({"orphanDependents": true}), &[orphan]),
        ("a finalizer is there", "v1/configmaps", &[foreground], Value::Null, &[foreground]),
        ("and goes", "v1/configmaps", &[orphan], policy("Background"), &[]),
        ("and is another", "v1/configmaps", &[orphan], policy("Foreground"), &[foreground]),
        ("others stay", "v1/configmaps", &["a/b"], policy("Orphan"), &["a/b", orphan]),
        ("others stay", "v1/configmaps", &["a/b", orphan], policy("Background"), &["a/b"]),
    ];
    for (rule, place, known, options, left) in rows {
        let mut state = state();
        let metadata = json!({"name": "a", "finalizers": known, "generation": 1});
        have(&mut state, place, &json!({"metadata": metadata}));
        let written = send(&mut state, &format!("DELETE {place}/a"), &options).unwrap();
        let object = stored(&state, place, "a");
        assert_eq!(texts(&object, "/metadata/finalizers"), left, "{rule}, {place}");
        assert_eq!(object.is_null(), left.is_empty(), "{rule}, {place}");
        if !left.is_empty() {
            assert_eq!(written.document, object, "{rule}: the object is shown");
            assert_eq!(number(&object, "/metadata/deletionGracePeriodSeconds"), Some(0), "{rule}");
            assert_eq!(number(&object, "/metadata/generation"), Some(2), "{rule}");
        }
    }
}

/// DeleteResource: 202 where a client asks for a cascade that waits; the query says as much as
/// the body.
#[test]
fn codes_and_queries() {
    let mut state = state();
    let metadata = json!({"name": "a", "finalizers": ["a/b"]});
    have(&mut state, "v1/configmaps", &json!({"metadata": metadata}));
    let request = "DELETE v1/configmaps/a?orphanDependents=false";
    assert_eq!(send(&mut state, request, &Value::Null).unwrap().code, 202);
    have(&mut state, "v1/pods", &pod("web"));
    let request = "DELETE v1/pods/web?gracePeriodSeconds=7&propagationPolicy=Foreground";
    let written = send(&mut state, request, &Value::Null).unwrap();
    assert_eq!(number(&written.document, "/metadata/deletionGracePeriodSeconds"), Some(7));
    assert_eq!(texts(&written.document, "/metadata/finalizers"), ["foregroundDeletion"]);
}

/// TestDeleteWithDryRun.
#[test]
fn a_dry_run_deletes_nothing() {
    let mut state = state();
    have(&mut state, "v1/pods", &pod("web"));
    have(&mut state, "v1/configmaps", &map("a"));
    let revision = state.store.revision();
    let written = send(&mut state, "DELETE v1/pods/web?dryRun=All", &Value::Null).unwrap();
    assert_eq!(number(&written.document, "/metadata/deletionGracePeriodSeconds"), Some(30));
    let written = send(&mut state, "DELETE v1/configmaps/a", &json!({"dryRun": ["All"]})).unwrap();
    assert_eq!(written.document["status"], "Success");
    send(&mut state, "DELETE v1/namespaces/other?dryRun=All", &Value::Null).unwrap_err();
    assert_eq!(state.store.revision(), revision);
}

/// A pod that is deleted without a grace ends in two steps, as etcd sees them.
#[test]
fn the_events_of_a_deletion() {
    let mut state = state();
    have(&mut state, "v1/pods", &pod("web"));
    let revision = state.store.revision();
    send(&mut state, "DELETE v1/pods/web?gracePeriodSeconds=0", &Value::Null).unwrap();
    let events: Vec<_> = state.store.after("pods", revision).unwrap().collect();
    let kinds: Vec<_> = events.iter().map(|it| it.after.is_some()).collect();
    assert_eq!(kinds, [true, false]);
    let last = &events[1].before.as_ref().unwrap().object;
    assert_eq!(number(last, "/metadata/deletionGracePeriodSeconds"), Some(0));
}

/// TestDeleteNamespaceWithIncompleteFinalizers,
/// TestUpdateDeletingNamespaceWithIncompleteSpecFinalizers,
/// TestFinalizeDeletingNamespaceWithCompleteFinalizers.
#[test]
fn namespaces_end_when_they_are_empty() {
    let mut state = state();
    let namespace = json!({
        "metadata": {"name": "n"},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    });
    have(&mut state, "v1/namespaces", &namespace);
    let written = send(&mut state, "DELETE v1/namespaces/n", &Value::Null).unwrap();
    assert_eq!(written.document["status"]["phase"], "Terminating");
    assert_eq!(text(&written.document, "/metadata/deletionTimestamp"), "2026-01-01T00:00:00Z");
    let again = send(&mut state, "DELETE v1/namespaces/n", &Value::Null).unwrap();
    assert_eq!(*again.document, *written.document);
    let revision = state.store.revision();
    let mut body = Value::clone(&written.document);
    body["metadata"]["labels"] = json!({"a": "b"});
    body["status"]["phase"] = "Active".into();
    body["spec"]["finalizers"] = json!(["kubernetes", "example.com/other"]);
    let written = send(&mut state, "PUT v1/namespaces/n/finalize", &body).unwrap();
    assert_eq!(written.document["status"]["phase"], "Terminating", "the status stays");
    assert_eq!(texts(&written.document, "/spec/finalizers"), ["kubernetes", "example.com/other"]);
    assert_eq!(state.store.revision(), revision + 1);
    let mut body = Value::clone(&written.document);
    body["spec"]["finalizers"] = json!([]);
    let written = send(&mut state, "PUT v1/namespaces/n/finalize", &body).unwrap();
    assert_eq!((written.code, &written.document["kind"]), (200, &json!("Namespace")));
    assert!(stored(&state, "v1/namespaces", "n").is_null());
}

/// TestLifecycle: some may not be deleted.
#[test]
fn namespaces_that_stay() {
    let mut state = state();
    let refused = refused(&mut state, "DELETE v1/namespaces/default", &Value::Null);
    let expected =
        "403 Forbidden: namespaces \"default\" is forbidden: this namespace may not be deleted";
    assert_eq!(refused, expected);
}

/// TestStoreDeleteCollection, and with selectors.
#[test]
fn collections() {
    let mut state = state();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x")] {
        let metadata = json!({"name": name, "labels": {"app": app}});
        have(&mut state, "v1/configmaps", &json!({"metadata": metadata}));
    }
    let elsewhere =
        json!({"metadata": {"name": "e", "namespace": "other", "labels": {"app": "x"}}});
    have(&mut state, "v1/configmaps", &elsewhere);
    let names = |document: &Value| -> Vec<String> {
        let items = super::super::fields::items(document, "/items");
        items.iter().map(|it| text(it, "/metadata/name").to_owned()).collect()
    };
    let request = "DELETE v1/configmaps?labelSelector=app=x&limit=2";
    let written = send(&mut state, request, &Value::Null).unwrap();
    assert_eq!((written.code, &written.document["kind"]), (200, &json!("ConfigMapList")));
    assert_eq!(names(&written.document), ["a", "c"]);
    let request = "DELETE v1/configmaps?fieldSelector=metadata.name=b";
    let written = send(&mut state, request, &Value::Null).unwrap();
    assert_eq!(names(&written.document), ["b"]);
    let table = served(&state, "v1/configmaps").table.clone();
    let left = state.store.list(&table, None);
    let left: Vec<_> = left.iter().map(|it| text(&it.object, "/metadata/name")).collect();
    assert_eq!(left, ["d", "e"]);
}

//! Creates.

use serde_json::{Value, json};

use super::super::fields::{number, text};
use super::super::names;
use super::{have, map, pod, refused, send, serve_widgets, state, stored};

#[test]
fn what_the_server_says_of_a_new_object() {
    let mut state = state();
    let mut body = map("a");
    // TestWipeObjectMetaSystemFields
    body["metadata"]["uid"] = "mine".into();
    body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
    body["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
    body["metadata"]["deletionGracePeriodSeconds"] = 7.into();
    body["metadata"]["selfLink"] = "/a".into();
    let written = send(&mut state, "POST v1/configmaps", &body).unwrap();
    assert_eq!(written.code, 201);
    assert_eq!(written.document, stored(&state, "v1/configmaps", "a"));
    let metadata = &written.document["metadata"];
    assert_eq!(metadata["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(metadata["resourceVersion"], state.store.revision().to_string());
    let uid = text(metadata, "/uid");
    assert_eq!((uid.len(), &uid[14..15]), (36, "4"), "{uid}");
    assert!(matches!(&uid[19..20], "8" | "9" | "a" | "b"), "{uid}");
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        assert_eq!(metadata.get(field), None, "{field}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn refusals() {
    let mut state = state();
    have(&mut state, "v1/configmaps", &json!({"metadata": {"name": "known"}}));
    let ending = json!({"name": "ending", "deletionTimestamp": "2026-01-01T00:00:00Z"});
    have(&mut state, "v1/configmaps", &json!({"metadata": ending}));
    let with = |change: &dyn Fn(&mut Value)| {
        let mut body = map("a");
        change(&mut body);
        body
    };
    let rows: [(&str, &str, Value, &str); 9] = [
        (
            "TestStoreCreate: the name is taken",
            "POST v1/configmaps",
            map("known"),
            r#"409 AlreadyExists: configmaps "known" already exists"#,
        ),
        (
            "TestStoreCreate: and its object is being deleted",
            "POST v1/configmaps",
            map("ending"),
            r#"409 AlreadyExists: object is being deleted: configmaps "ending" already exists"#,
        ),
        (
            "EnsureObjectNamespaceMatchesRequestNamespace: mismatch",
            "POST v1/configmaps",
            with(&|it| it["metadata"]["namespace"] = "other".into()),
            "400 BadRequest: the namespace of the provided object does not match the namespace \
             sent on the request",
        ),
        (
            "createHandler: AcceptsGroupVersion",
            "POST v1/configmaps",
            with(&|it| it["apiVersion"] = "v2".into()),
            "400 BadRequest: the API version in the data (v2) does not match the expected API \
             version (v1)",
        ),
        (
            "transformDecodeError: another kind",
            "POST v1/configmaps",
            with(&|it| it["kind"] = "Secret".into()),
            "400 BadRequest: Secret in version \"v1\" cannot be handled as a ConfigMap: \
             converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (
            "etcd3: ErrResourceVersionSetOnCreate",
            "POST v1/configmaps",
            with(&|it| it["metadata"]["resourceVersion"] = "5".into()),
            "500 : resourceVersion should not be set on objects to be created",
        ),
        (
            "transformDecodeError: nothing at all",
            "POST v1/configmaps",
            Value::Null,
            "400 BadRequest: the object provided is unrecognized (must be of type ConfigMap): \
             couldn't get version/kind; json parse error",
        ),
        (
            "NegotiateInputSerializer",
            "POST text/plain v1/configmaps",
            map("a"),
            "415 UnsupportedMediaType: the body of the request was in an unknown format - \
             accepted media types include: application/json, application/yaml",
        ),
        (
            "ValidateCreateOptions",
            "POST v1/configmaps?dryRun=Some",
            map("a"),
            r#"422 Invalid: CreateOptions.meta.k8s.io "" is invalid: dryRun: "#,
        ),
    ];
    for (rule, request, body, expected) in rows {
        let refused = refused(&mut state, request, &body);
        assert!(refused.starts_with(expected), "{rule}: {refused}");
    }
}

/// NewInvalid: metadata comes first, and what is said twice is shown once but counted twice.
#[test]
fn what_is_wrong_is_said_in_order() {
    let mut state = state();
    let mut body = map("A_b");
    body["data"] = json!({"a b": "1"});
    let status = send(&mut state, "POST v1/configmaps", &body).unwrap_err();
    let fields: Vec<_> = super::super::fields::items(&status.details, "/causes").iter().collect();
    let fields: Vec<_> = fields.iter().map(|it| text(it, "/field")).collect();
    assert_eq!(fields, ["metadata.name", "data[a b]"]);
    let path = strategies::Path::new("a");
    let about = crate::status::About { group: "", resource: "ConfigMap", name: "a" };
    let twice = [path.required(""), path.required("")];
    let status = crate::status::Status::invalid(about, &twice);
    assert_eq!(status.message, "ConfigMap \"a\" is invalid: a: Required value");
    assert_eq!(super::super::fields::items(&status.details, "/causes").len(), 2);
    let plain = crate::status::Status::new(500, "", "no");
    assert_eq!(plain.json().get("reason"), None);
    assert_eq!(status.json()["reason"], "Invalid");
}

/// A body may leave out what the path says, and be YAML.
#[test]
fn bodies_that_say_less() {
    let mut state = state();
    let body = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    for request in ["POST v1/configmaps?dryRun=All", "POST application/yaml v1/configmaps"] {
        let written = send(&mut state, request, &body).unwrap();
        assert_eq!(written.document["kind"], "ConfigMap", "{request}");
        assert_eq!(written.document["apiVersion"], "v1", "{request}");
        assert_eq!(written.document["metadata"]["namespace"], "default", "{request}");
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut state = state();
    let revision = state.store.revision();
    let written = send(&mut state, "POST v1/configmaps?dryRun=All", &map("a")).unwrap();
    assert_eq!(written.code, 201);
    assert!(!text(&written.document, "/metadata/uid").is_empty());
    assert_eq!(state.store.revision(), revision);
}

/// TestSimpleNameGenerator, and createWithGenerateNameRetry.
#[test]
fn names_are_generated() {
    let mut state = state();
    let long = "x".repeat(70);
    for (base, expected) in [("web-", "web-"), (long.as_str(), &long[..58])] {
        let body = json!({"metadata": {"generateName": base}});
        let written = send(&mut state, "POST v1/configmaps", &body).unwrap();
        let name = text(&written.document, "/metadata/name");
        let letters = name.strip_prefix(expected).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(letters.len(), 5);
        assert!(letters.bytes().all(|it| b"bcdfghjklmnpqrstvwxz2456789".contains(&it)), "{name}");
    }
    // A name that is given and a base: the name counts, and the refusal says that it was tried.
    have(&mut state, "v1/configmaps", &json!({"metadata": {"name": "known"}}));
    let body = json!({"metadata": {"name": "known", "generateName": "k"}});
    let refused = refused(&mut state, "POST v1/configmaps", &body);
    let expected = "the server was not able to generate a unique name for the object";
    assert!(refused.ends_with(expected), "{refused}");
}

/// TestStoreCreateWithRetryNameGenerate: the first name is taken, the second is not.
#[test]
fn a_taken_name_is_generated_again() {
    let seed = || runtime::Runtime::simulated(super::NOW, 3);
    let random = seed().random;
    let (_, first) = (names::uid(&random), names::generated("web-", &random));
    let mut state = state();
    state.runtime = seed();
    have(&mut state, "v1/configmaps", &json!({"metadata": {"name": first}}));
    let body = json!({"metadata": {"generateName": "web-"}});
    let written = send(&mut state, "POST v1/configmaps", &body).unwrap();
    assert_ne!(text(&written.document, "/metadata/name"), first);
}

/// TestDedupOwnerReferences.
#[test]
fn owners_are_there_once() {
    let mut state = state();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"});
    let mut body = map("a");
    body["metadata"]["ownerReferences"] = json!([owner, owner]);
    let written = send(&mut state, "POST v1/configmaps", &body).unwrap();
    assert_eq!(written.document["metadata"]["ownerReferences"], json!([owner]));
    assert_eq!(written.warnings.len(), 1, "{:?}", written.warnings);
    assert!(written.warnings[0].ends_with("duplicate UID(s) observed: 1"));
}

/// Strategies prepare, and custom resources are objects as others.
#[test]
fn strategies_and_custom_resources() {
    let mut state = state();
    let written = send(&mut state, "POST v1/pods", &pod("web")).unwrap();
    assert_eq!(number(&written.document, "/metadata/generation"), Some(1));
    serve_widgets(&mut state);
    let body = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "any": [1],
    });
    let written = send(&mut state, "POST example.com/v1/widgets", &body).unwrap();
    assert_eq!(written.document["any"], json!([1]));
    assert_eq!(stored(&state, "example.com/v1/widgets", "w"), *written.document);
}

/// addStrictDecodingWarnings: what is refused later is warned of too.
#[test]
fn refusals_warn_of_unknown_fields() {
    let mut state = state();
    let mut body = map("a_b");
    body["date"] = json!({});
    let status = send(&mut state, "POST v1/configmaps", &body).unwrap_err();
    assert_eq!((status.code, &*status.warnings.join(" ")), (422, r#"unknown field "date""#));
}

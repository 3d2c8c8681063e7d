//! apimachinery's pkg/api/validation/objectmeta_test.go.

use serde_json::{Value, json};

use crate::fixture::lines;
use crate::{NameRule, Path, validate_metadata, validate_metadata_update};

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
                     or '-', and must start and end with an alphanumeric character (e.g. \
                     'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                         characters, '-' or '.', and must start and end with an alphanumeric \
                         character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and \
                         must start and end with an alphanumeric character (e.g. 'MyName',  or \
                         'my.name',  or '123-abc', regex used for validation is \
                         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn check(metadata: &Value, namespaced: bool, rule: NameRule) -> Vec<String> {
    let object = json!({ "metadata": metadata });
    lines(&validate_metadata(&object, namespaced, rule, &Path::new("field")))
}

#[test]
fn names_follow_their_rule() {
    let rows: [(&str, NameRule, Value, Vec<String>); 8] = [
        (
            "TestValidateObjectMetaName: valid",
            NameRule::Subdomain,
            json!({ "name": "test.a" }),
            vec![],
        ),
        (
            "TestValidateObjectMetaTrimsTrailingDash",
            NameRule::Subdomain,
            json!({ "name": "test", "generateName": "foo-" }),
            vec![],
        ),
        (
            "TestValidateObjectMetaName: invalid both",
            NameRule::Subdomain,
            json!({ "name": "A", "generateName": "B" }),
            vec![
                format!("field.generateName invalid \"B\": {SUBDOMAIN}"),
                format!("field.name invalid \"A\": {SUBDOMAIN}"),
            ],
        ),
        (
            "name or generateName is required",
            NameRule::Label,
            json!({}),
            vec!["field.name required: name or generateName is required".to_owned()],
        ),
        (
            "ValidateNamespaceName",
            NameRule::Label,
            json!({ "name": "a.b" }),
            vec!["field.name invalid \"a.b\": must not contain dots".to_owned()],
        ),
        ("ValidateRBACName", NameRule::PathSegment, json!({ "name": "system:node" }), vec![]),
        (
            "ValidateRBACName: slash",
            NameRule::PathSegment,
            json!({ "name": "a/b%" }),
            vec![
                "field.name invalid \"a/b%\": may not contain '/'".to_owned(),
                "field.name invalid \"a/b%\": may not contain '%'".to_owned(),
            ],
        ),
        (
            "IsDNS1123Subdomain: too long",
            NameRule::Subdomain,
            json!({ "name": "a".repeat(254) }),
            vec![format!(
                "field.name invalid \"{}\": must be no more than 253 characters",
                "a".repeat(254)
            )],
        ),
    ];
    for (row, rule, metadata, expected) in rows {
        assert_eq!(check(&metadata, false, rule), expected, "{row}");
    }
}

#[test]
fn namespaces_are_where_they_belong() {
    let check = |namespace: &str, namespaced| {
        let metadata = json!({ "name": "test", "namespace": namespace });
        check(&metadata, namespaced, NameRule::Subdomain)
    };
    let dots = "field.namespace invalid \"foo.bar\": must not contain dots";
    assert_eq!(check("foo.bar", true), [dots], "TestValidateObjectMetaNamespaces");
    let long = [
        "field.namespace invalid \
         \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\": must be no \
         more than 63 characters"
            .to_owned(),
        format!("field.namespace invalid \"{}\": {LABEL}", "A".repeat(64)),
    ];
    assert_eq!(check(&"A".repeat(64), true), long, "TestValidateObjectMetaNamespaces: long");
    assert_eq!(check("", true), ["field.namespace required: "]);
    assert_eq!(check("a", false), ["field.namespace forbidden: not allowed on this type"]);
}

#[test]
fn owners_can_be_owners() {
    let owner = |kind: &str, controller: bool| {
        json!({ "apiVersion": "v1", "kind": kind, "name": "name", "uid": "1",
            "controller": controller })
    };
    let check = |owners: Value| {
        let metadata = json!({ "name": "test", "namespace": "test", "ownerReferences": owners });
        check(&metadata, true, NameRule::Subdomain)
    };
    assert!(check(json!([owner("A", false), owner("B", true)])).is_empty());
    let event = "field.ownerReferences invalid \
                 {\"apiVersion\":\"v1\",\"controller\":false,\
                 \"kind\":\"Event\",\"name\":\"name\",\"uid\":\"1\"}: \
                 /v1, Kind=Event is disallowed from being an owner";
    assert_eq!(check(json!([owner("Event", false)])), [event]);
    let two = "field.ownerReferences invalid \
               [{\"apiVersion\":\"v1\",\"controller\":true,\
               \"kind\":\"A\",\"name\":\"name\",\"uid\":\"1\"},\
               {\"apiVersion\":\"v1\",\"controller\":true,\
               \"kind\":\"B\",\"name\":\"name\",\"uid\":\"1\"}]: \
               Only one reference can have Controller set to true. Found \"true\" in \
               references for A/name and B/name";
    assert_eq!(check(json!([owner("A", true), owner("B", true)])), [two]);
    let empty = [
        "field.ownerReferences.apiVersion invalid \"\": version must not be empty",
        "field.ownerReferences.kind invalid \"\": must not be empty",
        "field.ownerReferences.name invalid \"\": must not be empty",
        "field.ownerReferences.uid invalid \"\": must not be empty",
    ];
    assert_eq!(check(json!([{}])), empty, "validateOwnerReference");
}

#[test]
fn labels_annotations_and_finalizers_are_well_formed() {
    let size = 256 * 1024;
    let check = |name: &str, value: Value| {
        check(&json!({ "name": "test", name: value }), false, NameRule::Subdomain)
    };
    let good = json!({ "simple": "bar", "1.2.3.4/5678": "bar", "UpperCase123": "bar" });
    assert!(check("annotations", good).is_empty(), "TestValidateAnnotations");
    assert!(check("annotations", json!({ "a": "b".repeat(size - 1) })).is_empty());
    let long = check("annotations", json!({ "a": "b".repeat(size) }));
    assert_eq!(long, ["field.annotations too long: 262144"], "TestValidateAnnotations: size");
    for key in ["nospecialchars^=@", "cantendwithadash-"] {
        let expected = format!("field.annotations invalid \"{key}\": {NAME_PART}");
        assert_eq!(check("annotations", json!({ key: "bar" })), [expected], "{key}");
    }
    let slashes = check("annotations", json!({ "only/one/slash": "bar" }));
    assert!(slashes[0].contains("only/one/slash\": a valid label key must consist"));
    let value = check("labels", json!({ "a": "v".repeat(64) }));
    assert_eq!(
        value,
        ["field.labels invalid \
                        \"vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv\": \
                        must be no more than 63 bytes"],
        "ValidateLabels"
    );
    let key = check("labels", json!({ "/a": "v" }));
    assert_eq!(
        key,
        ["field.labels invalid \"/a\": prefix part must be non-empty"],
        "ValidateLabels"
    );
    let both = check("finalizers", json!(["orphan", "foregroundDeletion"]));
    let expected = "field.finalizers invalid [\"orphan\",\"foregroundDeletion\"]: finalizer \
                    orphan and foregroundDeletion cannot be both set";
    assert_eq!(both, [expected], "TestValidateFinalizersPreventConflictingFinalizers");
    let expected = format!("field.finalizers invalid \"_\": {NAME_PART}");
    assert_eq!(check("finalizers", json!(["_"])), [expected]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn updates_leave_identity_alone() {
    let deleting = json!({ "deletionTimestamp": "1970-01-01T00:16:40Z", "finalizers": ["x/a"] });
    let later = json!({ "deletionTimestamp": "1970-01-01T00:33:20Z" });
    let found = "metadata.finalizers forbidden: no new finalizers can be added if the object \
                 is being deleted, found new finalizers []string{\"y/b\", \"z/c\"}";
    let rows = [
        ("TestValidateObjectMetaUpdate: same", json!({}), json!({}), vec![]),
        (
            "TestValidateFinalizersUpdate: invalid adding finalizers",
            json!({ "finalizers": ["z/c", "x/a", "y/b"],
                "deletionTimestamp": "1970-01-01T00:16:40Z" }),
            deleting.clone(),
            vec![found],
        ),
        (
            "TestValidateFinalizersUpdate: not being deleted",
            json!({ "finalizers": ["x/a", "y/b"] }),
            json!({ "finalizers": ["x/a"] }),
            vec![],
        ),
        (
            "TestValidateFinalizersUpdate: valid removing finalizers",
            json!({ "deletionTimestamp": "1970-01-01T00:16:40Z" }),
            deleting,
            vec![],
        ),
        (
            "TestValidateObjectMetaUpdateIgnoresCreationTimestamp",
            json!({}),
            json!({ "creationTimestamp": "1970-01-01T00:00:10Z" }),
            vec!["metadata.creationTimestamp invalid null: field is immutable"],
        ),
        (
            "UpdatePreventsDeletionFieldMutation: set",
            later.clone(),
            json!({}),
            vec!["metadata.deletionTimestamp invalid \"1970-01-01T00:33:20Z\": field is immutable"],
        ),
        (
            "UpdatePreventsDeletionFieldMutation: clear",
            json!({}),
            later,
            vec!["metadata.deletionTimestamp invalid null: field is immutable"],
        ),
        (
            "UpdatePreventsDeletionFieldMutation: grace",
            json!({ "deletionGracePeriodSeconds": 40 }),
            json!({ "deletionGracePeriodSeconds": 30 }),
            vec!["metadata.deletionGracePeriodSeconds invalid 40: field is immutable"],
        ),
        (
            "TestObjectMetaGenerationUpdate: decremented",
            json!({ "generation": 4 }),
            json!({ "generation": 5 }),
            vec!["metadata.generation invalid 4: must not be decremented"],
        ),
        (
            "identity",
            json!({ "uid": "2", "namespace": "b" }),
            json!({ "uid": "1", "namespace": "a" }),
            vec![
                "metadata.namespace invalid \"b\": field is immutable",
                "metadata.uid invalid \"2\": field is immutable",
            ],
        ),
        (
            "must be specified for an update",
            json!({ "resourceVersion": "" }),
            json!({}),
            vec!["metadata.resourceVersion invalid \"\": must be specified for an update"],
        ),
    ];
    let whole = |part: Value| {
        let mut metadata = json!({ "name": "test", "resourceVersion": "1" });
        for (key, value) in part.as_object().unwrap() {
            metadata[key] = value.clone();
        }
        json!({ "metadata": metadata })
    };
    for (row, new, old, expected) in rows {
        assert_eq!(lines(&validate_metadata_update(&whole(new), &whole(old))), expected, "{row}");
    }
}

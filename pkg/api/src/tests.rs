//! Tests. `testdata/` holds objects as upstream's own serializers write them (k8s.io/api v0.36.3),
//! in both codecs, which holds our field numbers to `generated.proto`.

mod autoscaler;
mod bootstrap;
mod certificates;
mod claims;
mod cluster;
mod endpoints;
mod fault;
mod pod;
mod policies;
mod quota;
mod scheduling;
mod selector;
mod served;
mod service_cidr;
mod storage;
mod text;
mod workloads;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::intern::{intern_pairs, texts_held};
use crate::*;

const NOON: &str = "2024-05-01T12:00:00Z";

fn labels(pairs: &[(&str, &str)]) -> Labels {
    Labels::new(pairs.iter().copied())
}

/// Sets these fields of the status.
fn status(fields: &Value) -> Vec<Edit> {
    let fields = fields.as_object().unwrap().iter();
    fields.map(|(name, value)| Edit::new(["status", name], value.clone())).collect()
}

// === Meta ===

#[test]
fn keys_print_as_they_parse() {
    for (text, namespace, name) in
        [("shop/web", "shop", "web"), ("node-1", "", "node-1"), ("a/b/c", "a", "b/c")]
    {
        let key = Key::parse(text);
        assert_eq!((&*key.namespace, &*key.name), (namespace, name), "{text}");
        assert_eq!(key.to_string(), text);
    }
}

#[test]
fn labels_are_sorted_and_the_last_of_equal_keys_stays() {
    let found = labels(&[("b", "1"), ("a", "2"), ("b", "3"), ("a/c", "4")]);
    assert_eq!(found.iter().collect::<Vec<_>>(), [("a", "2"), ("a/c", "4"), ("b", "3")]);
    for (key, value) in [("a", Some("2")), ("a/c", Some("4")), ("b", Some("3")), ("c", None)] {
        assert_eq!(found.get(key), value, "{key}");
    }
    assert!(!found.is_empty() && labels(&[]).is_empty());
}

#[test]
fn labels_contain_what_a_template_asks_for() {
    let pod = labels(&[("app", "web"), ("extra", "x")]);
    for (asked, contained) in [
        (labels(&[]), true),
        (labels(&[("app", "web")]), true),
        (labels(&[("extra", "x"), ("app", "web")]), true),
        (labels(&[("app", "db")]), false),
        (labels(&[("app", "web"), ("more", "")]), false),
    ] {
        assert_eq!(pod.contains_all(&asked), contained, "{asked:?}");
    }
}

#[test]
fn names_are_checked_as_the_api_server_checks_them() {
    let long = "a".repeat(253);
    for (name, valid) in [
        ("web-1", true),
        ("a.b-c.0", true),
        (long.as_str(), true),
        (&*format!("{long}a"), false),
        ("", false),
        ("-a", false),
        ("a-", false),
        ("a..b", false),
        ("a.-b", false),
        ("Web", false),
        ("a_b", false),
    ] {
        assert_eq!(is_subdomain(name), valid, "{name:?}");
    }
    for (key, valid) in [
        ("app", true),
        ("App_1.x", true),
        ("example.com/app", true),
        ("Example.com/app", false),
        ("/app", false),
        ("example.com/", false),
        ("a/b/c", false),
        ("", false),
        (&*"k".repeat(64), false),
    ] {
        assert_eq!(is_label_key(key), valid, "{key:?}");
    }
    for (value, valid) in
        [("", true), ("a", true), ("A.b_c-1", true), ("-a", false), ("a ", false), ("ä", false)]
    {
        assert_eq!(is_label_value(value), valid, "{value:?}");
    }
}

// === Raw ===

/// An update must not lose what our types do not know: numbers that no type of ours can hold, text
/// in any script, fields of later versions.
#[test]
fn an_update_keeps_what_we_do_not_know() {
    let json = br#"{"kind":"ReplicaSet","apiVersion":"apps/v1",
        "metadata":{"name":"web","resourceVersion":"7","managedFields":[{"manager":"x"}],
            "annotations":{"gr\u00fc\u00dfe":"\u2028 <&> \ud83d\ude80"}},
        "spec":{"replicas":3,"later":{"big":123456789012345678901234567890,"tiny":1.50e-400}},
        "status":{"replicas":1,"conditions":[],"later":98765432109876543210.0000,"gone":1},
        "future":[1,2]}"#;
    let edits = status(&json!({"replicas": 2, "readyReplicas": 1, "gone": null, "never": null}));
    let body = Raw::parse(json).unwrap().edited(&ReplicaSet::RESOURCE, &edits).unwrap();
    let expected = concat!(
        r#"{"apiVersion":"apps/v1","future":[1,2],"kind":"ReplicaSet","#,
        r#""metadata":{"annotations":{"gr\u00fc\u00dfe":"\u2028 <&> \ud83d\ude80"},"#,
        r#""name":"web","resourceVersion":"7"},"#,
        r#""spec":{"replicas":3,"later":{"big":123456789012345678901234567890,"#,
        r#""tiny":1.50e-400}},"#,
        r#""status":{"conditions":[],"later":98765432109876543210.0000,"#,
        r#""readyReplicas":1,"replicas":2}}"#,
    );
    assert_eq!(body, expected);
}

#[test]
fn an_update_makes_the_status_if_there_is_none() {
    for json in [r#"{"metadata":{}}"#, r#"{"metadata":{},"status":null}"#] {
        let raw = Raw::parse(json.as_bytes()).unwrap();
        let body = raw.edited(&ReplicaSet::RESOURCE, &status(&json!({"replicas": 0}))).unwrap();
        let expected =
            r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{},"status":{"replicas":0}}"#;
        assert_eq!(body, expected, "{json}");
    }
}

// === Time ===

#[test]
fn times_are_rfc_3339_with_whole_seconds() {
    for (text, nanos, printed) in [
        ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"),
        (NOON, 1_714_564_800_000_000_000, NOON),
        ("2024-05-01T14:00:00+02:00", 1_714_564_800_000_000_000, NOON),
        ("2024-05-01T12:00:00.75Z", 1_714_564_800_750_000_000, NOON),
        ("1969-12-31T23:59:59.25Z", -750_000_000, "1969-12-31T23:59:59Z"),
        ("9999-01-01T00:00:00Z", i64::MAX, "2262-04-11T23:47:16Z"),
    ] {
        let time = Time::parse(text).unwrap();
        assert_eq!((time.unix_nanos(), time.to_string().as_str()), (nanos, printed), "{text}");
        let printed = Time::parse(printed).unwrap();
        assert_eq!(time.whole_seconds(), printed, "{text}");
        assert_eq!(serde_json::to_value(time).unwrap(), json!(printed.to_string()), "{text}");
    }
    for text in ["", "noon", "2024-05-01", "2024-13-01T00:00:00Z", "1714564800"] {
        assert!(Time::parse(text).is_err(), "{text}");
    }
}

#[test]
fn time_arithmetic_saturates() {
    let (noon, second) = (Time::parse(NOON).unwrap(), std::time::Duration::from_secs(1));
    assert_eq!((noon + second).since(noon), second);
    assert_eq!((noon - second).since(noon), std::time::Duration::ZERO);
    let end = Time::from_unix(i64::MAX, 0);
    assert_eq!((end + second, end + std::time::Duration::MAX), (end, end));
    let start = Time::from_unix(i64::MIN, 0);
    assert_eq!(start - std::time::Duration::MAX, start);
}

// === ReplicaSet ===

#[test]
fn a_replica_set_is_read_and_kept() {
    let json = json!({
        "kind": "ReplicaSet", "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "5",
            "generation": 4, "creationTimestamp": null, "finalizers": null,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
                "uid": "d", "controller": true}]},
        "spec": {"replicas": 3, "minReadySeconds": 10,
            "selector": {"matchLabels": {"app": "web"}, "matchExpressions": null},
            "template": {"metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
                "spec": {"containers": []}}},
        "status": {"replicas": 2, "observedGeneration": 3, "conditions": [{"type": "ReplicaFailure",
            "status": "True", "lastTransitionTime": NOON, "reason": "FailedCreate"}]},
    });
    let set = ReplicaSet::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
    assert_eq!(set.meta.key.to_string(), "shop/web");
    assert_eq!((set.meta.resource_version, set.meta.generation), (5, 4));
    assert_eq!(set.meta.creation_timestamp, None);
    assert_eq!((set.replicas, set.min_ready_seconds), (3, 10));
    assert_eq!(set.selector, Ok(Selector::of(&[("app", "web")])));
    assert_eq!(set.template_labels, labels(&[("app", "web")]));
    let expected = ReplicaSetStatus {
        replicas: 2,
        observed_generation: 3,
        conditions: vec![Condition {
            r#type: "ReplicaFailure".to_owned(),
            status: Status::True,
            last_update_time: None,
            last_transition_time: Some(Time::parse(NOON).unwrap()),
            reason: "FailedCreate".to_owned(),
            message: String::new(),
        }],
        ..ReplicaSetStatus::default()
    };
    assert_eq!(set.status, expected);
    let found: Vec<_> = ReplicaSet::INDEXES
        .iter()
        .filter_map(|index| {
            index.of(&set).as_slice().last().cloned().map(|value| (index.name, value))
        })
        .collect();
    assert_eq!(found, [("controllerUID", intern("d")), ("namespace", intern("shop"))]);
}

/// A shape has all that caches need of a kind.
#[test]
fn a_shape_stands_for_its_kind() {
    let shape = Shape::of::<ReplicaSet>();
    assert_eq!((shape.codec, shape.metadata_only), (Codec::Json, false));
    assert_eq!(Shape::of::<Metadata>().indexes().next(), None);
    let json = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {}});
    let object = (shape.decode)(Codec::Json, json.to_string().as_bytes()).unwrap();
    assert_eq!(object.metadata().key, Key::new("shop", "web"));
    let found: Vec<_> = shape.indexes().zip((0..).map(|at| object.values(at))).collect();
    let (none, shop) = (Found::One(None), Found::One(Some(intern("shop"))));
    let expected =
        [("controllerUID", none.clone()), ("namespace", shop.clone()), ("orphans", shop)];
    assert_eq!(found, expected);
    assert_eq!(object.values(expected.len()), none);
    assert_eq!(typed::<ReplicaSet>(&object).replicas, 1);
    let error = DecodeError("spec: no".to_owned());
    let object = (shape.unreadable)(object.metadata().clone(), &error);
    assert_eq!(typed::<ReplicaSet>(&object).unreadable, Some(error));
}

#[test]
fn orphaned_replica_sets_are_found_by_namespace() {
    let json = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {}});
    let set = ReplicaSet::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
    let found: Vec<_> = ReplicaSet::INDEXES
        .iter()
        .filter_map(|index| {
            index.of(&set).as_slice().last().cloned().map(|value| (index.name, value))
        })
        .collect();
    assert_eq!(found, [("namespace", intern("shop")), ("orphans", intern("shop"))]);
}

#[test]
fn broken_objects_say_which_field_is_broken() {
    let base = json!({"metadata": {"name": "web"}, "spec": {}});
    for (path, value, field) in [
        ("/spec", json!({"replicas": "three"}), "spec.replicas"),
        ("/spec", json!({"selector": {"matchLabels": {"a": 1}}}), "spec.selector.matchLabels.a"),
        ("/spec", json!({"template": {"metadata": 7}}), "spec.template.metadata"),
        ("/metadata", json!({"resourceVersion": "v7"}), "metadata.resourceVersion"),
        ("/metadata", json!({"deletionTimestamp": "soon"}), "metadata.deletionTimestamp"),
        ("/metadata", json!({"ownerReferences": [{"uid": 7}]}), "metadata.ownerReferences[0].uid"),
    ] {
        let mut json = base.clone();
        *json.pointer_mut(path).unwrap() = value;
        let error = ReplicaSet::decode(Codec::Json, json.to_string().as_bytes()).unwrap_err();
        assert!(error.0.starts_with(field), "{field}: {error}");
    }
    assert!(ReplicaSet::decode(Codec::Protobuf, b"k8s\0").is_err());
}

#[test]
fn an_unreadable_set_is_known_by_its_metadata() {
    let json =
        br#"{"metadata":{"name":"web","namespace":"shop","uid":"u"},"spec":{"replicas":{}}}"#;
    let error = ReplicaSet::decode(Codec::Json, json).unwrap_err();
    let set = ReplicaSet::unreadable(Meta::decode(Codec::Json, json).unwrap(), &error);
    assert_eq!(set.meta.key, Key::new("shop", "web"));
    assert_eq!(set.unreadable, Some(error));
}

// === Resource ===

#[test]
fn resources_know_their_paths() {
    let key = Key::new("shop", "web");
    let (set, pod) = (ReplicaSet::RESOURCE, Pod::RESOURCE);
    let expected = "/apis/apps/v1/namespaces/shop/replicasets/web";
    assert_eq!(set.object_path(&key).unwrap(), expected);
    assert_eq!(pod.object_path(&key).unwrap(), "/api/v1/namespaces/shop/pods/web");
    assert_eq!(pod.collection_path(""), "/api/v1/pods");
    assert_eq!((set.to_string().as_str(), &*pod.to_string()), ("replicasets.apps", "pods"));
}

/// RBAC's names are checked as path segments only (k8s.io/kubernetes
/// pkg/apis/rbac/validation/validation.go, `ValidateRBACName`). Escaped is what Go's `net/url`
/// escapes; `IsPathSegmentName` says what is no name.
#[test]
fn paths_hold_any_name_that_can_be_one() {
    let roles = Resource::namespaced("rbac.authorization.k8s.io", "v1", "roles", "Role");
    for (name, segment) in [
        ("my role", "my%20role"),
        ("a?b", "a%3Fb"),
        ("q#r", "q%23r"),
        ("system:controller:x", "system:controller:x"),
        ("a+b&c=d;e,f@g$h", "a+b&c=d;e,f@g$h"),
        ("(!*')", "%28%21%2A%27%29"),
        ("ü\n\"", "%C3%BC%0A%22"),
        ("...", "..."),
    ] {
        let path = roles.object_path(&Key::new("n", name)).unwrap();
        let all = "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles/";
        assert_eq!(path.strip_prefix(all), Some(segment), "{name}");
    }
    for (namespace, name, error) in [
        ("n", "a/b", "invalid resource name \"a/b\": [may not contain '/']"),
        ("n", "/%", "invalid resource name \"/%\": [may not contain '/' may not contain '%']"),
        ("n", ".", "invalid resource name \".\": [may not be '.']"),
        ("n", "..", "invalid resource name \"..\": [may not be '..']"),
        ("n", "", "resource name may not be empty"),
        ("../x", "y", "invalid namespace \"../x\": [may not contain '/']"),
    ] {
        let refused = roles.object_path(&Key::new(namespace, name)).unwrap_err();
        assert_eq!(refused.to_string(), error);
        let is_absent = ["a/b", "/%", ".."].contains(&name) || namespace == "../x";
        assert_eq!(refused.is_absent(), is_absent, "{name}");
    }
}

// === Interner ===

#[test]
fn the_interner_shares_texts_and_forgets_unused_ones() {
    let kept: Vec<Text> = (0..100).map(|n| intern(&format!("kept-{n}"))).collect();
    let kept_labels = labels(&[("kept", "labels")]);
    for n in 0..20_000 {
        drop(intern(&format!("dropped-{n}")));
        drop(labels(&[("dropped", &n.to_string())]));
    }
    // Twice the least size that is swept, for each of the two tables that hold texts.
    assert!(texts_held() <= 4 * 1024 + 2 * kept.len(), "{} texts held", texts_held());
    for (n, text) in kept.iter().enumerate() {
        assert!(Arc::ptr_eq(text, &intern(&format!("kept-{n}"))), "{text}");
    }
    let again: Vec<(Text, Text)> = vec![(intern("kept"), intern("labels"))];
    let before = Arc::strong_count(&intern_pairs(&again));
    let more = [kept_labels.clone(), labels(&[("kept", "labels")])];
    assert_eq!(Arc::strong_count(&intern_pairs(&again)), before + more.len());
}

// === Go's text ===

/// Rows compared with Go's `strconv.Quote`.
#[test]
fn quotes_as_go_does() {
    let rows: [(&[u8], &str); 9] = [
        (b"", r#""""#),
        ("e\u{301}".as_bytes(), "\"e\u{301}\""),
        (b"leaderElection", r#""leaderElection""#),
        (b"a\"b\\c", r#""a\"b\\c""#),
        (b"\x07\x08\x0c\n\r\t\x0b\x00\x7f", r#""\a\b\f\n\r\t\v\x00\x7f""#),
        ("\u{e9}\u{85}".as_bytes(), "\"\u{e9}\\u0085\""),
        (b"a\xff\xc3b", r#""a\xff\xc3b""#),
        ("it's \u{1f600}".as_bytes(), "\"it's \u{1f600}\""),
        ("\u{200b}\u{2028}\u{e0001}".as_bytes(), r#""\u200b\u2028\U000e0001""#),
    ];
    for (bytes, text) in rows {
        assert_eq!(go::quote(bytes), text);
    }
}

/// encoding/json, `HTMLEscape`.
#[test]
fn json_is_safe_in_html() {
    let plain = r#"{"a":"é"}"#;
    assert_eq!(go::escape_html(plain.to_owned()), plain);
    let json = "\"<b>&\u{2028}\u{2029}\"".to_owned();
    assert_eq!(go::escape_html(json), r#""\u003cb\u003e\u0026\u2028\u2029""#);
}

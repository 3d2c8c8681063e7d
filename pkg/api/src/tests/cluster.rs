//! Namespaces, service accounts, cluster roles and the authority of each namespace.

use serde_json::{Value, json};

use crate::*;

use super::labels;

/// The view of upstream's bytes; both codecs show the same.
fn read<T: Kind + PartialEq + std::fmt::Debug>(protobuf: &[u8], json: &[u8]) -> T {
    let view = T::decode(Codec::Protobuf, protobuf).unwrap();
    assert_eq!(T::decode(Codec::Json, json).as_ref(), Ok(&view));
    view
}

#[test]
fn upstreams_bytes_of_a_namespace_are_read_from_both_codecs() {
    let namespace: Namespace = read(
        include_bytes!("../../testdata/namespace.pb"),
        include_bytes!("../../testdata/namespace.json"),
    );
    let Namespace { meta, phase } = &namespace;
    assert_eq!((&meta.key, meta.resource_version), (&Key::new("", "shop"), 12));
    assert_eq!(meta.labels, labels(&[("team", "a")]));
    assert_eq!(*phase, NamespacePhase::Terminating);
    for (phase, expected) in [
        (json!("Active"), NamespacePhase::Active),
        (json!(""), NamespacePhase::Unknown),
        (json!("Resting"), NamespacePhase::Unknown),
    ] {
        let json = json!({"metadata": {"name": "shop"}, "status": {"phase": phase}});
        let namespace = Namespace::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!(namespace.phase, expected, "{json}");
    }
    let unreadable = Namespace::unreadable(meta.clone(), &DecodeError("no".to_owned()));
    assert_eq!(unreadable.phase, NamespacePhase::Unknown);
}

#[test]
fn upstreams_bytes_of_a_service_account_are_read_from_both_codecs() {
    let account: ServiceAccount = read(
        include_bytes!("../../testdata/serviceaccount.pb"),
        include_bytes!("../../testdata/serviceaccount.json"),
    );
    assert_eq!(account.meta.key, Key::new("shop", "default"));
    assert_eq!((&*account.meta.uid, account.meta.resource_version), ("uid-default", 13));
}

#[test]
fn upstreams_bytes_of_a_cluster_role_are_read_from_both_codecs() {
    let role: ClusterRole = read(
        include_bytes!("../../testdata/clusterrole.pb"),
        include_bytes!("../../testdata/clusterrole.json"),
    );
    assert_eq!((&role.meta.key, role.meta.resource_version), (&Key::new("", "admin"), 14));
    let texts = |list: &[&str]| list.iter().map(|text| intern(text)).collect::<Box<[Text]>>();
    let expected = [
        PolicyRule {
            verbs: texts(&["get", "list"]),
            api_groups: texts(&["", "apps"]),
            resources: texts(&["pods"]),
            resource_names: texts(&["a"]),
            ..PolicyRule::default()
        },
        PolicyRule {
            verbs: texts(&["get"]),
            non_resource_urls: texts(&["/healthz", "/metrics"]),
            ..PolicyRule::default()
        },
        PolicyRule { api_groups: texts(&["x"]), ..PolicyRule::default() },
    ];
    assert_eq!(*role.rules, expected);
    let [by_label, by_expressions, all, broken] = role.aggregates.as_deref().unwrap() else {
        panic!("four selectors: {role:?}")
    };
    let aggregate = labels(&[("rbac.example.com/aggregate-to-admin", "true")]);
    let team = |name| labels(&[("team", name)]);
    for (selector, labels, selected) in [
        (by_label, &aggregate, true),
        (by_label, &team("a"), false),
        (by_expressions, &team("a"), true),
        (by_expressions, &team("b"), true),
        (by_expressions, &team("c"), false),
        (by_expressions, &labels(&[("team", "a"), ("old", "")]), false),
        (all, &labels(&[]), true),
    ] {
        assert_eq!(selector.as_ref().unwrap().matches(labels), selected, "{selector:?} {labels:?}");
    }
    assert_eq!(*broken, Err(SelectorError::Operator("Near".to_owned())));
}

/// A rule without selectors aggregates nothing, which is not the same as having no rule.
#[test]
fn cluster_roles_that_aggregate_are_found_by_their_index() {
    let found = |role: &ClusterRole| {
        let values = ClusterRole::INDEXES.iter().map(|index| (index.name, (index.value)(role)));
        values.collect::<Vec<_>>()
    };
    let empty: ClusterRole = read(
        include_bytes!("../../testdata/clusterrole-empty.pb"),
        include_bytes!("../../testdata/clusterrole-empty.json"),
    );
    assert_eq!(empty.aggregates.as_deref(), Some(&[][..]));
    assert_eq!(found(&empty), [("aggregating", Some(intern("")))]);
    for aggregation in [Value::Null, json!({"rules": null})] {
        let json = json!({"metadata": {"name": "view"}, "rules": aggregation["rules"]});
        let role = ClusterRole::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!((role.aggregates.as_ref(), role.rules.len()), (None, 0));
        assert_eq!(found(&role), [("aggregating", None)]);
    }
    let error = DecodeError("rules: no".to_owned());
    let role = ClusterRole::unreadable(empty.meta.clone(), &error);
    assert_eq!((role.unreadable, role.aggregates), (Some(error), None));
}

#[test]
fn the_authority_of_a_namespace_is_read_and_kept_but_for_its_data() {
    let bytes = include_bytes!("../../testdata/kube-root-ca.json");
    let authority = RootCa::decode(Codec::Json, bytes).unwrap();
    assert_eq!(authority.meta.key, Key::new("shop", RootCa::NAME));
    let data = authority.data.iter().map(|(key, value)| (&**key, &**value));
    let expected = [("ca.crt", "-----BEGIN CERTIFICATE-----\n"), ("other", "<&>")];
    assert_eq!(data.collect::<Vec<_>>(), expected);
    assert!(authority.described);
    let edit = Edit::new(["data"], json!({"ca.crt": "new"}));
    let body = authority.raw.edited(&RootCa::RESOURCE, &[edit]).unwrap();
    let mut expected: Value = serde_json::from_slice(bytes).unwrap();
    expected["data"] = json!({"ca.crt": "new"});
    expected["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
    assert!(authority.raw.field("data").is_none() && authority.raw.field("immutable").is_some());

    let error = RootCa::decode(Codec::Protobuf, b"k8s\0").unwrap_err();
    let unreadable = RootCa::unreadable(authority.meta, &error);
    assert_eq!((unreadable.unreadable, unreadable.data.len()), (Some(error), 0));
    let bare = br#"{"metadata":{"name":"kube-root-ca.crt","annotations":null},"data":null}"#;
    let bare = RootCa::decode(Codec::Json, bare).unwrap();
    assert_eq!((bare.data.len(), bare.described), (0, false));
    let empty = br#"{"metadata":{"annotations":{"kubernetes.io/description":""}}}"#;
    assert!(!RootCa::decode(Codec::Json, empty).unwrap().described);
}

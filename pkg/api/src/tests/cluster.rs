//! Namespaces, service accounts, cluster roles, the authority of each namespace, and Jobs.

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
    let Namespace { meta, finalizers, phase, conditions } = &namespace;
    assert_eq!((&meta.key, meta.resource_version), (&Key::new("", "shop"), 12));
    assert_eq!(meta.labels, labels(&[("team", "a")]));
    assert_eq!(*phase, NamespacePhase::Terminating);
    assert_eq!(**finalizers, [intern("kubernetes")]);
    let failure = Condition {
        r#type: "NamespaceDeletionContentFailure".to_owned(),
        status: Status::True,
        last_update_time: None,
        last_transition_time: Some(Time::parse("2024-05-01T12:00:00Z").unwrap()),
        reason: "R".to_owned(),
        message: "M".to_owned(),
    };
    assert_eq!(**conditions, [failure]);
    for (phase, expected) in [
        (json!("Active"), NamespacePhase::Active),
        (json!(""), NamespacePhase::Unknown),
        (json!("Resting"), NamespacePhase::Unknown),
    ] {
        let json = json!({"metadata": {"name": "shop"}, "status": {"phase": phase}});
        let namespace = Namespace::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!(namespace.phase, expected, "{json}");
        assert_eq!((namespace.finalizers.len(), namespace.conditions.len()), (0, 0), "{json}");
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
    assert_eq!(*account.secrets, ["s".into()]);
    assert!(account.lists("s") && !account.lists("p"));
    let unreadable = ServiceAccount::unreadable(account.meta, &DecodeError("no".to_owned()));
    assert!(unreadable.secrets.is_empty());
}

/// Of the token there is nothing but that it is there.
#[test]
fn upstreams_bytes_of_a_token_secret_are_read_from_both_codecs() {
    let secret: TokenSecret = read(
        include_bytes!("../../testdata/token-secret.pb"),
        include_bytes!("../../testdata/token-secret.json"),
    );
    assert_eq!((&secret.meta.key, &*secret.meta.uid), (&Key::new("shop", "builder-token"), "t1"));
    assert_eq!(secret.meta.resource_version, 79);
    assert_eq!(secret.meta.creation_timestamp, Some(Time::parse(super::NOON).unwrap()));
    let expected = labels(&[("kubernetes.io/legacy-token-last-used", "2024-04-30")]);
    assert_eq!(secret.meta.labels, expected);
    assert_eq!((&*secret.account, &*secret.account_uid), ("builder", "b1"));
    assert!(secret.has_token && secret.has_namespace);
    assert_eq!(&*secret.root_ca, "CA Data\n");
    assert!(!format!("{secret:?}").contains("ABC"), "{secret:?}");
    let other =
        TokenSecret::decode(Codec::Protobuf, include_bytes!("../../testdata/token-secret.pb"));
    assert!(std::sync::Arc::ptr_eq(&secret.root_ca, &other.unwrap().root_ca));
    assert_eq!(found(&secret).as_deref(), Some("shop/builder"));
}

fn found(secret: &TokenSecret) -> Option<Text> {
    let [index] = TokenSecret::INDEXES else { panic!("one index") };
    assert_eq!(index.name, TokenSecret::BY_ACCOUNT);
    index.of(secret).as_slice().last().cloned()
}

#[test]
fn what_a_token_secret_lacks_is_empty() {
    for data in [
        json!(null),
        json!({}),
        json!({"token": null, "namespace": "", "ca.crt": null, "other": "AAAA"}),
    ] {
        let json = json!({"metadata": {"name": "a"}, "data": data}).to_string();
        let secret = TokenSecret::decode(Codec::Json, json.as_bytes()).unwrap();
        assert!(!secret.has_token && !secret.has_namespace, "{json}");
        assert_eq!((&*secret.root_ca, &*secret.account, &*secret.account_uid), ("", "", ""));
        assert_eq!(found(&secret), None);
        let unreadable = TokenSecret::unreadable(secret.meta.clone(), &DecodeError(String::new()));
        assert_eq!(unreadable, secret, "{json}");
    }
    let broken = br#"{"metadata": {}, "data": {"token": "S3Cret!"}}"#;
    let error = TokenSecret::decode(Codec::Json, broken).unwrap_err();
    assert_eq!(error.0, "data.token: not base64 at line 1 column 44");
    let odd = br#"{"metadata": {}, "data": {"ca.crt": "/wA="}}"#;
    let secret = TokenSecret::decode(Codec::Json, odd).unwrap();
    assert_eq!(&*secret.root_ca, "\u{fffd}\0");
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
        let values = ClusterRole::INDEXES
            .iter()
            .map(|index| (index.name, index.of(role).as_slice().last().cloned()));
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

#[test]
fn upstreams_bytes_of_a_job_are_read() {
    let job = Job::decode(Codec::Json, include_bytes!("../../testdata/job.json")).unwrap();
    assert_eq!((&job.meta.key, job.meta.resource_version), (&Key::new("shop", "pi"), 15));
    assert_eq!((&*job.meta.uid, job.meta.owners.len()), ("uid-pi", 1));
    assert_eq!(job.spec.ttl_seconds_after_finished, Some(100));
    // The first condition of that type, at any position.
    let since = Some(Time::parse("2024-05-01T12:00:06Z").unwrap());
    assert_eq!(job.finish, Some(Finish { r#type: "Complete", since }));
    let times = ["2024-05-01T12:00:00Z", "2024-05-01T12:00:08Z"].map(|at| Time::parse(at).ok());
    assert_eq!([job.status.start_time, job.status.completion_time], times);
    let error = DecodeError("spec: no".to_owned());
    let unreadable = Job::unreadable(job.meta, &error);
    assert_eq!((unreadable.unreadable, unreadable.finish), (Some(error), None));
}

/// As `FinishedCondition` in upstream's pkg/controller/job/util, and texts that are none.
#[test]
fn a_job_has_finished_by_a_condition_that_is_true() {
    let at = "2024-05-01T12:00:00Z";
    let finish = |conditions: Value| {
        let json = json!({"metadata": {"name": "pi"}, "status": {"conditions": conditions}});
        let job = Job::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!(job.spec.ttl_seconds_after_finished, None, "{json}");
        job.finish.map(|finish| (finish.r#type, finish.since.map(|at| at.to_string())))
    };
    let condition = |r#type, status| json!([{"type": r#type, "status": status, "x": 1}]);
    for (conditions, expected) in [
        (Value::Null, None),
        (json!([]), None),
        (condition("Complete", "False"), None),
        (condition("Complete", "Unknown"), None),
        (condition("Complete", "true"), None),
        (condition("SuccessCriteriaMet", "True"), None),
        (condition("FailureTarget", "True"), None),
        (condition("complete", "True"), None),
        (condition("Complete", "True"), Some(("Complete", None))),
        (
            json!([{"type": "Failed", "status": "True", "lastTransitionTime": null}]),
            Some(("Failed", None)),
        ),
        (
            json!([{"type": "Failed", "status": "True", "lastTransitionTime": at}]),
            Some(("Failed", Some(at.to_owned()))),
        ),
    ] {
        assert_eq!(finish(conditions.clone()), expected, "{conditions}");
    }
    // A reason that is no text must not hide that it has finished.
    let odd = r#"{"metadata":{"name":"pi"},"spec":{"ttlSecondsAfterFinished":-1},"status":
        {"conditions":[{"type":"\ud800","status":"True","reason":"\ud800"},
        {"type":"Complete","status":"True","message":"\ud800"}]}}"#;
    let job = Job::decode(Codec::Json, odd.as_bytes()).unwrap();
    assert_eq!(
        (job.finish.map(|it| it.r#type), job.spec.ttl_seconds_after_finished),
        (Some("Complete"), Some(-1))
    );
}

//! What a rule allows (kubernetes' plugin/pkg/auth/authorizer/rbac/rbac_test.go,
//! pkg/apis/rbac/v1/evaluation_helpers_test.go).

use serde_json::json;

use super::super::rule::Rule;
use super::super::{Attributes, Resource, To};

/// `verb resource[/subresource].group name`, or `verb /path`.
fn allows(rule: &serde_json::Value, what: &str) -> bool {
    let words: Vec<_> = what.split(' ').collect();
    let (verb, whom) = (words[0], words[1]);
    let rule = Rule::read(rule);
    if whom.starts_with('/') {
        return rule.allows(&Attributes { verb, to: To::Path(whom) });
    }
    let (plural, group) = whom.split_once('.').unwrap_or((whom, ""));
    let (plural, subresource) = plural.split_once('/').unwrap_or((plural, ""));
    let name = words.get(2).copied().unwrap_or_default();
    let resource = Resource { group, plural, subresource, namespace: "", name };
    rule.allows(&Attributes { verb, to: To::Resource(resource) })
}

/// TestResourceMatches, TestVerbMatches, TestAPIGroupMatches.
#[test]
fn resources() {
    let rule = |verbs, groups, resources| {
        let list = |words: &str| -> Vec<String> {
            words.split(',').map(|it| it.replace('-', "")).collect()
        };
        json!({"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)})
    };
    let rows = [
        (rule("*", "*", "*"), "get pods/log", true),
        (rule("get", "-", "pods"), "get pods", true),
        (rule("get", "-", "pods"), "get pods web", true),
        (rule("get", "-", "pods"), "list pods", false),
        (rule("get", "-", "pods"), "get pods.apps", false),
        (rule("get", "apps,-", "pods"), "get pods", true),
        (rule("get", "-", "pods"), "get pods/log", false),
        (rule("get", "-", "pods/log"), "get pods/log", true),
        (rule("get", "-", "pods/log"), "get pods", false),
        (rule("update", "*", "*/scale"), "update deployments/scale.apps", true),
        (rule("update", "*", "*/scale"), "update deployments/status.apps", false),
        (rule("update", "*", "*/scale"), "update scale", false),
        (rule("update", "*", "pods/*"), "update pods/status", false),
        (rule("update", "*", "*/*"), "update pods/status", false),
        (rule("get", "-", "pods"), "get /pods", false),
    ];
    for (rule, what, allowed) in rows {
        assert_eq!(allows(&rule, what), allowed, "{what} by {rule}");
    }
}

/// TestResourceNameMatches.
#[test]
fn names() {
    let rule = json!({
        "verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"],
    });
    assert!(allows(&rule, "get secrets b"));
    assert!(!allows(&rule, "get secrets c"));
    assert!(!allows(&rule, "get secrets"), "all of them");
}

/// TestNonResourceURLMatches.
#[test]
fn paths() {
    let rows = [
        ("*", "/bar", true),
        ("/foo", "/foo", true),
        ("/foo", "/foo/bar", false),
        ("/foo/*", "/foo/bar", true),
        ("/foo/*", "/foo", false),
        ("/fo*", "/foo/bar", true),
        ("/*/foo", "/bar/foo", false),
    ];
    for (known, path, allowed) in rows {
        let rule = json!({"verbs": ["get"], "nonResourceURLs": [known]});
        assert_eq!(allows(&rule, &format!("get {path}")), allowed, "{path} by {known}");
    }
}

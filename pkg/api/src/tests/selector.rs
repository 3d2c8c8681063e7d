//! Selectors, mirroring TestLabelSelectorAsSelector of k8s.io/apimachinery and `labels.Selector`'s
//! TestSelectorMatches.

use serde_json::{Value, json};

use super::labels;
use crate::*;

/// A set with this selector.
fn set(selector: &Value) -> ReplicaSet {
    let json = json!({"metadata": {}, "spec": {"selector": selector}});
    ReplicaSet::decode(Codec::Json, json.to_string().as_bytes()).unwrap()
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

#[test]
fn selectors_match_as_upstream() {
    let foo_and_baz = json!({
        "matchLabels": {"foo": "bar"},
        "matchExpressions": [{"key": "baz", "operator": "In", "values": ["qux", "norf"]}],
    });
    let foo = json!({"matchLabels": {"foo": "bar"}});
    let baz = expression("baz", "In", &["qux", "norf"]);
    for (name, selector, pod, matched) in [
        ("foo=bar", &foo, labels(&[("foo", "bar"), ("more", "x")]), true),
        ("foo=bar, other value", &foo, labels(&[("foo", "baz")]), false),
        ("foo=bar, no label", &foo, labels(&[]), false),
        ("baz in (norf,qux)", &baz, labels(&[("baz", "norf")]), true),
        ("baz in (norf,qux), other value", &baz, labels(&[("baz", "nor")]), false),
        ("both", &foo_and_baz, labels(&[("foo", "bar"), ("baz", "qux")]), true),
        ("both, one holds", &foo_and_baz, labels(&[("foo", "bar")]), false),
        ("notin, absent", &expression("a", "NotIn", &["b"]), labels(&[]), true),
        ("notin, other", &expression("a", "NotIn", &["b"]), labels(&[("a", "c")]), true),
        ("notin, listed", &expression("a", "NotIn", &["b"]), labels(&[("a", "b")]), false),
        ("exists", &expression("a", "Exists", &[]), labels(&[("a", "")]), true),
        ("exists, absent", &expression("a", "Exists", &[]), labels(&[("b", "")]), false),
        ("absent", &expression("a", "DoesNotExist", &[]), labels(&[("b", "")]), true),
        ("absent, there", &expression("a", "DoesNotExist", &[]), labels(&[("a", "")]), false),
        ("empty value", &json!({"matchLabels": {"a": ""}}), labels(&[("a", "")]), true),
        ("empty value, absent", &json!({"matchLabels": {"a": ""}}), labels(&[]), false),
        ("everything", &json!({}), labels(&[]), true),
    ] {
        assert_eq!(set(selector).selector.unwrap().matches(&pod), matched, "{name}");
    }
}

#[test]
fn selectors_without_requirements_are_empty() {
    for selector in [json!(null), json!({}), json!({"matchLabels": null, "matchExpressions": []})] {
        assert!(set(&selector).selector.unwrap().is_empty(), "{selector}");
    }
    assert!(!Selector::of(&[("a", "b")]).is_empty());
}

#[test]
fn selectors_are_refused_as_upstream() {
    let long = "v".repeat(64);
    for (selector, error) in [
        (
            expression("baz", "Exists", &["qux", "norf"]),
            r#"key "baz": wrong number of values for operator Exists"#,
        ),
        (
            expression("baz", "DoesNotExist", &["qux"]),
            r#"key "baz": wrong number of values for operator DoesNotExist"#,
        ),
        (expression("baz", "In", &[]), r#"key "baz": wrong number of values for operator In"#),
        (expression("b", "NotIn", &[]), r#"key "b": wrong number of values for operator NotIn"#),
        (expression("baz", "Gt", &["1"]), r#""Gt" is not a valid label selector operator"#),
        (expression("baz", "", &[]), r#""" is not a valid label selector operator"#),
        (expression("b z", "Exists", &[]), r#""b z" is not a valid label key"#),
        (json!({"matchLabels": {"": "a"}}), r#""" is not a valid label key"#),
        (json!({"matchLabels": {"a": "-"}}), r#"key "a": "-" is not a valid label value"#),
        (
            expression("a", "NotIn", &["ok", &long]),
            &*format!(r#"key "a": "{long}" is not a valid label value"#),
        ),
    ] {
        assert_eq!(set(&selector).selector.unwrap_err().to_string(), error, "{selector}");
    }
}

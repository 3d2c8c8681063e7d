//! Tests, after TestLabelSelectorAsSelector of apimachinery and its formats.

use serde_json::{Value, json};

use super::{LabelSelector, Values, print, print_labels, validate};
use crate::Path;
use crate::fixture::lines;
use crate::formats::{dns_label, dns_subdomain, label_key, path_segment};

fn expression(operator: &str, values: &[&str]) -> Value {
    json!({ "matchExpressions": [{ "key": "baz", "operator": operator, "values": values }] })
}

#[test]
fn selectors_print_and_match() {
    let mut both = expression("In", &["qux", "norf"]);
    both["matchLabels"] = json!({ "foo": "bar", "a": "b" });
    for (selector, text, matching) in [
        (Value::Null, "<none>", None),
        (json!({}), "<none>", Some(json!({}))),
        (json!({ "matchLabels": { "foo": "bar" } }), "foo=bar", Some(json!({ "foo": "bar" }))),
        (expression("In", &["qux"]), "baz in (qux)", Some(json!({ "baz": "qux" }))),
        (expression("NotIn", &["b", "a"]), "baz notin (a,b)", Some(json!({ "baz": "c" }))),
        (expression("Exists", &[]), "baz", Some(json!({ "baz": "" }))),
        (expression("DoesNotExist", &[]), "!baz", Some(json!({}))),
        (
            both,
            "a=b,baz in (norf,qux),foo=bar",
            Some(json!({ "a": "b", "foo": "bar", "baz": "qux" })),
        ),
        (expression("Exists", &["a"]), "<error>", None),
        (expression("In", &[]), "<error>", None),
        (expression("NotIn", &["-"]), "<error>", None),
        (json!({ "matchLabels": { "-": "a" } }), "<error>", None),
    ] {
        assert_eq!(print(&selector), text, "{selector}");
        let read = LabelSelector::read(&selector);
        let matches = |labels: &Value| read.as_ref().is_some_and(|read| read.matches(labels));
        match matching {
            Some(labels) => assert!(matches(&labels), "{selector}"),
            None => assert!(!matches(&json!({})) && !matches(&json!({ "foo": "bar" }))),
        }
        let strict = !matches!(text, "<none>" | "baz notin (a,b)" | "!baz");
        assert!(!strict || !matches(&json!({ "a": "b" })), "{selector}");
    }
    assert_eq!(print_labels(&json!({ "b": "1", "a": "2" })), "a=2,b=1");
    assert_eq!(print_labels(&Value::Null), "<none>");
}

#[test]
fn faults() {
    let path = Path::new("selector");
    let at = "selector.matchExpressions[0]";
    for (selector, expected) in [
        (expression("Exists", &[]), vec![]),
        (
            expression("Exists", &["a"]),
            vec![format!(
                "{at}.values forbidden: may not be specified when `operator` is 'Exists' or \
                 'DoesNotExist'"
            )],
        ),
        (
            expression("In", &[]),
            vec![format!(
                "{at}.values required: must be specified when `operator` is 'In' or 'NotIn'"
            )],
        ),
        (
            expression("x", &[]),
            vec![format!("{at}.operator invalid \"x\": not a valid selector operator")],
        ),
    ] {
        assert_eq!(lines(&validate(&selector, Values::Checked, &path)), expected, "{selector}");
    }
    let wrong = expression("In", &["-"]);
    assert_eq!(validate(&wrong, Values::Checked, &path).len(), 1);
    assert!(validate(&wrong, Values::Kept, &path).is_empty());
    let key = json!({ "matchLabels": { "a/b/c": "d" } });
    assert_eq!(validate(&key, Values::Kept, &path).len(), 1);
}

/// TestIsDNS1123Label, TestIsQualifiedName, TestIsPathSegmentName.
#[test]
fn formats() {
    let long = "a".repeat(64);
    for valid in ["a", "0-9", "a-1"] {
        assert!(dns_label(valid).is_empty() && label_key(valid).is_empty(), "{valid}");
    }
    for (value, label, subdomain, name) in [
        ("a.b", 1, 0, 0),
        ("", 1, 1, 2),
        ("-a", 1, 1, 1),
        ("A", 1, 1, 0),
        ("a_b", 1, 1, 0),
        (&long, 1, 0, 1),
        ("example.com/a", 1, 1, 0),
        ("Example/a", 1, 1, 1),
        ("/a", 1, 1, 1),
        ("a/", 1, 1, 2),
        ("a/b/c", 1, 1, 1),
    ] {
        let found = [dns_label(value), dns_subdomain(value), label_key(value)];
        assert_eq!(found.map(|it| it.len()), [label, subdomain, name], "{value}");
    }
    assert_eq!(dns_label("a.b"), ["must not contain dots"]);
    assert_eq!(label_key("/a"), ["prefix part must be non-empty"]);
    for (value, expected) in [
        ("a:b", vec![]),
        ("..", vec!["may not be '..'"]),
        ("a/%", vec!["may not contain '/'", "may not contain '%'"]),
    ] {
        assert_eq!(path_segment(value), expected);
    }
}

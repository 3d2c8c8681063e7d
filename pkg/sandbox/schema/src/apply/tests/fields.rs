//! Sets of fields: paths, order, JSON. Upstream: structured-merge-diff's fieldpath tests.

use serde_json::{Value, json};

use crate::apply::element::{Element, Single, same};
use crate::apply::set::Set;

fn key(fields: &[(&str, Value)]) -> Element {
    let field = |(name, value): &(&str, Value)| ((*name).to_owned(), Single(value.clone()));
    Element::Key(fields.iter().map(field).collect())
}

/// TestPathString, TestPathElementRoundTrip.
#[test]
fn elements_are_written_and_read() {
    let rows = [
        (Element::field("a.b"), "f:a.b", ".a.b"),
        (Element::field(""), "f:", "."),
        (Element::Index(5), "i:5", "[5]"),
        (Element::Value(Single(json!("x"))), "v:\"x\"", "[=\"x\"]"),
        (Element::Value(Single(json!(1.5))), "v:1.5", "[=1.5]"),
        (Element::Value(Single(json!(true))), "v:true", "[=true]"),
        (key(&[("name", json!("web"))]), "k:{\"name\":\"web\"}", "[name=\"web\"]"),
        (
            key(&[("containerPort", json!(80)), ("protocol", json!("TCP"))]),
            "k:{\"containerPort\":80,\"protocol\":\"TCP\"}",
            "[containerPort=80,protocol=\"TCP\"]",
        ),
    ];
    for (element, text, shown) in rows {
        assert_eq!(element.to_key(), text);
        assert_eq!(Element::from_key(text), Ok(Some(element.clone())));
        assert_eq!(element.to_string(), shown);
    }
    assert_eq!(Element::from_key("x:y"), Ok(None));
    for bad in ["", "f", "nope", "v:", "i:x", "k:[]"] {
        assert!(Element::from_key(bad).is_err(), "{bad}");
    }
}

/// TestPathElementLess.
#[test]
fn elements_have_an_order() {
    let sorted = [
        Element::field("a"),
        Element::field("b"),
        key(&[("a", json!(1))]),
        key(&[("a", json!(2))]),
        key(&[("a", json!(2)), ("b", json!(1))]),
        key(&[("b", json!(0))]),
        Element::Value(Single(json!(1))),
        Element::Value(Single(json!(1.5))),
        Element::Value(Single(json!(2))),
        Element::Value(Single(json!("1"))),
        Element::Value(Single(json!(false))),
        Element::Value(Single(json!(true))),
        Element::Value(Single(json!([]))),
        Element::Value(Single(json!({}))),
        Element::Value(Single(json!(null))),
        Element::Index(1),
        Element::Index(2),
    ];
    assert!(sorted.is_sorted_by(|one, other| one < other));
}

#[test]
fn numbers_are_the_same_whatever_their_kind() {
    assert!(same(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
    for (one, other) in [
        (json!(1), json!("1")),
        (json!([1]), json!([1, 2])),
        (json!({"a": 1}), json!({"a": 1, "b": 1})),
        (json!({"a": 1}), json!({"b": 1})),
        (json!(null), json!({})),
    ] {
        assert!(!same(&one, &other), "{one} {other}");
    }
}

fn set(json: &Value) -> Set {
    Set::from_json(json).unwrap()
}

/// TestSerializeV1, TestDropUnknown.
#[test]
fn sets_are_written_and_read() {
    let rows = [
        json!({}),
        json!({"f:a": {}}),
        json!({"f:a": {".": {}, "f:b": {}}}),
        json!({"f:a": {"k:{\"name\":\"x\"}": {".": {}, "f:b": {}}, "v:1": {}}}),
    ];
    for json in rows {
        assert_eq!(set(&json).to_json(), json);
    }
    let unknown = json!({"f:a": {"r:b": {"f:c": {}}}, "q:a": {}});
    assert_eq!(set(&unknown).to_json(), json!({"f:a": {}}));
    assert!(Set::from_json(&json!({"f:a": {"b": {}}})).is_err());
    assert!(Set::from_json(&json!([])).is_err());
}

/// TestSetIntersectionDifference, TestSetUnion, TestSetHas.
#[test]
fn sets_are_combined() {
    let one = set(&json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {}}));
    let other = set(&json!({"f:a": {"f:b": {}, "f:e": {}}, "f:f": {}}));
    assert_eq!(
        one.union(&other).to_json(),
        json!({"f:a": {".": {}, "f:b": {}, "f:c": {}, "f:e": {}}, "f:d": {}, "f:f": {}})
    );
    assert_eq!(one.intersection(&other).to_json(), json!({"f:a": {"f:b": {}}}));
    assert_eq!(one.difference(&other).to_json(), json!({"f:a": {".": {}, "f:c": {}}, "f:d": {}}));
    // A field and what is in it are different things.
    let field = set(&json!({"f:a": {}}));
    assert_eq!(one.difference(&field).to_json(), json!({"f:a": {"f:b": {}, "f:c": {}}, "f:d": {}}));
    let (a, b) = (Element::field("a"), Element::field("b"));
    assert!(one.has(std::slice::from_ref(&a)) && one.has(&[a.clone(), b.clone()]));
    assert!(!one.has(&[]) && !one.has(std::slice::from_ref(&b)) && !other.has(&[a]));
    let mut paths = Vec::new();
    one.each(&mut |path| paths.push(path.iter().map(ToString::to_string).collect::<String>()));
    assert_eq!(paths, [".a", ".d", ".a.b", ".a.c"]);
}

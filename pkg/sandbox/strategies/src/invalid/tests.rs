//! Faults in upstream's words.

use serde_json::{Value, json};

use super::{Fault, Path};

/// Each row: what it stands for, the fault, how it prints.
#[test]
fn faults_print_as_field_errors() {
    let rows = [
        ("required without detail", Fault::Required(String::new()), "Required value"),
        ("required", Fault::Required("say it".into()), "Required value: say it"),
        ("text", Fault::Invalid(json!("A\"b"), "no".into()), r#"Invalid value: "A\"b": no"#),
        ("empty text", Fault::Invalid(json!(""), "no".into()), r#"Invalid value: "": no"#),
        ("number", Fault::Invalid(json!(-1), "no".into()), "Invalid value: -1: no"),
        ("bool", Fault::Invalid(json!(true), String::new()), "Invalid value: true"),
        ("nil pointer", Fault::Invalid(Value::Null, "no".into()), "Invalid value: null: no"),
        ("map", Fault::Invalid(json!({"a": "<"}), "no".into()), {
            r#"Invalid value: {"a":"\u003c"}: no"#
        }),
        ("list", Fault::Invalid(json!(["a", 1]), "no".into()), r#"Invalid value: ["a",1]: no"#),
        ("enum", Fault::NotSupported(json!("x"), vec!["A".into(), "B".into()]), {
            r#"Unsupported value: "x": supported values: "A", "B""#
        }),
        ("enum of nothing", Fault::NotSupported(json!("x"), vec![]), "Unsupported value: \"x\""),
        ("duplicate", Fault::Duplicate(json!("a")), r#"Duplicate value: "a""#),
        ("forbidden", Fault::Forbidden("never".into()), "Forbidden: never"),
        ("not found", Fault::NotFound(json!("v")), r#"Not found: "v""#),
        ("long", Fault::TooLong(63), "Too long: may not be more than 63 bytes"),
        ("one byte", Fault::TooLong(1), "Too long: may not be more than 1 byte"),
        ("many", Fault::TooMany(3, 2), "Too many: 3: must have at most 2 items"),
        ("one item", Fault::TooMany(3, 1), "Too many: 3: must have at most 1 item"),
    ];
    for (name, fault, body) in rows {
        assert_eq!(Path::new("f").is(fault).body(), body, "{name}");
    }
}

#[test]
fn a_fault_names_its_field() {
    let path = Path::new("spec").child("containers").index(1).child("limits").key("cpu");
    let fault = path.required("");
    assert_eq!(fault.to_string(), "spec.containers[1].limits[cpu]: Required value");
    assert_eq!(fault.reason(), "FieldValueRequired");
}

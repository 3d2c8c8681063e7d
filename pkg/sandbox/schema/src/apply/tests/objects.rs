//! Appliers of an object of a type with all kinds of lists and maps. The names of rows are those of
//! structured-merge-diff's merge tests.

use serde_json::{Value, json};

use crate::Schema;
use crate::apply::{Applier, apply, managers, updated};

const NESTED: &str = "\
test.Entry
 map {string}
 name string
 set [set string]
 value int64
test.Nested test/v1/Nested
 apiVersion string
 atomicList [string]
 atomicMap {atomic string}
 atomicStruct @test.Whole
 kind string
 list [set string]
 listOfLists [map:name @test.Entry]
 mapOfLists {[set string]}
 mapOfMaps {{string}}
 obj @test.Entry
 pairs [map:b,a @test.Pair]
 value int64
test.Pair
 a string
 b string
 value int64
test.Whole atomic
 a string
 b string
";

/// One write: its manager, its operation, and its object.
pub(super) struct Write(pub(super) &'static str, pub(super) Value);

/// Writes one after the other: `m` applies, `m!` forces, `m~` updates (only what is named changes).
/// Returns the object and the sets of its managers, or the error.
fn written(writes: Vec<Write>) -> Result<(Value, Value), String> {
    let schema = Schema::parse(NESTED);
    let id = schema.kind("test", "v1", "Nested").unwrap();
    let mut live = json!(null);
    for Write(who, mut object) in writes {
        let by = Applier {
            manager: who.trim_end_matches(['!', '~']),
            force: who.ends_with('!'),
            subresource: "",
            api_version: "test/v1",
            now: "2000-01-01T00:00:00Z",
        };
        if who.ends_with('~') {
            let mut new = live.clone();
            crate::patch::merge(&mut new, &object);
            updated(&schema, id, &live, &mut new, &by);
            live = new;
            continue;
        }
        object["apiVersion"] = "test/v1".into();
        object["kind"] = "Nested".into();
        live = apply(&schema, id, &live, object, &by).map_err(|error| error.to_string())?;
    }
    let entries = managers::of(&live).and_then(Value::as_array).cloned().unwrap_or_default();
    let sets = entries.iter().map(|entry| {
        let suffix = if entry["operation"] == "Update" { "~" } else { "" };
        let name = format!("{}{suffix}", entry["manager"].as_str().unwrap());
        (name, entry["fieldsV1"].clone())
    });
    let sets = sets.collect();
    let object = live.as_object_mut().unwrap();
    for gone in ["apiVersion", "kind", "metadata"] {
        object.remove(gone);
    }
    Ok((live, sets))
}

fn check(name: &str, writes: Vec<Write>, object: &Value, sets: &Value) {
    let (got, owners) = written(writes).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(got, *object, "{name}");
    assert_eq!(owners, *sets, "{name}");
}

/// set_test.go.
#[test]
fn sets() {
    let list = |items: Value| json!({"list": items});
    check(
        "apply_twice_remove",
        vec![Write("d", list(json!(["a", "b", "c"]))), Write("d", list(json!(["a", "c"])))],
        &list(json!(["a", "c"])),
        &json!({"d": {"f:list": {"v:\"a\"": {}, "v:\"c\"": {}}}}),
    );
    check(
        "apply_twice_reorder",
        vec![
            Write("d", list(json!(["a", "b", "c", "d"]))),
            Write("d", list(json!(["a", "d", "c", "b"]))),
        ],
        &list(json!(["a", "d", "c", "b"])),
        &json!({"d": {"f:list": {"v:\"a\"": {}, "v:\"b\"": {}, "v:\"c\"": {}, "v:\"d\"": {}}}}),
    );
    check(
        "apply_update_apply_reorder",
        vec![
            Write("d", list(json!(["a", "b", "c", "d"]))),
            Write("c~", list(json!(["a", "d", "c", "b"]))),
            Write("d", list(json!(["a", "b", "c", "d"]))),
        ],
        &list(json!(["a", "b", "c", "d"])),
        &json!({"d": {"f:list": {"v:\"a\"": {}, "v:\"b\"": {}, "v:\"c\"": {}, "v:\"d\"": {}}}}),
    );
    check(
        "apply_update_apply_no_overlap",
        vec![
            Write("d", list(json!(["a", "c"]))),
            Write("c~", list(json!(["a", "b", "c", "d"]))),
            Write("d", list(json!(["a", "aa", "c", "cc"]))),
        ],
        &list(json!(["a", "b", "aa", "c", "d", "cc"])),
        &json!({
            "d": {"f:list": {"v:\"a\"": {}, "v:\"aa\"": {}, "v:\"c\"": {}, "v:\"cc\"": {}}},
            "c~": {"f:list": {"v:\"b\"": {}, "v:\"d\"": {}}},
        }),
    );
}

/// multiple_appliers_test.go.
#[test]
fn several_appliers() {
    let list = |items: Value| json!({"list": items});
    check(
        "remove_one",
        vec![
            Write("a", list(json!(["a", "b", "c"]))),
            Write("b", list(json!(["a", "b", "c", "d"]))),
            Write("a", list(json!(["a"]))),
        ],
        &list(json!(["a", "b", "c", "d"])),
        &json!({
            "a": {"f:list": {"v:\"a\"": {}}},
            "b": {"f:list": {"v:\"a\"": {}, "v:\"b\"": {}, "v:\"c\"": {}, "v:\"d\"": {}}},
        }),
    );
    check(
        "same_value_no_conflict",
        vec![Write("a", json!({"value": 1})), Write("b", json!({"value": 1}))],
        &json!({"value": 1}),
        &json!({"a": {"f:value": {}}, "b": {"f:value": {}}}),
    );
    let conflict = written(vec![Write("a", json!({"value": 1})), Write("b", json!({"value": 2}))]);
    let text = "Apply failed with 1 conflict: conflict with \"a\": .value";
    assert_eq!(conflict.unwrap_err(), text, "change_value_yes_conflict");
    check(
        "force",
        vec![Write("a", json!({"value": 1})), Write("b!", json!({"value": 2}))],
        &json!({"value": 2}),
        &json!({"b": {"f:value": {}}}),
    );
    check(
        "unset_scalar_sole_owner",
        vec![Write("a", json!({"value": 1, "obj": {"name": "x"}})), Write("a", json!({}))],
        &json!({}),
        &json!({}),
    );
    check(
        "unset_scalar_shared_with_applier",
        vec![
            Write("a", json!({"value": 1, "list": ["a"]})),
            Write("b", json!({"value": 1})),
            Write("a", json!({"list": ["a"]})),
        ],
        &json!({"value": 1, "list": ["a"]}),
        &json!({"a": {"f:list": {"v:\"a\"": {}}}, "b": {"f:value": {}}}),
    );
    check(
        "updater_claims_field",
        vec![
            Write("a", json!({"value": 1, "list": ["a"]})),
            Write("u~", json!({"value": 2})),
            Write("a", json!({"list": ["a"]})),
        ],
        &json!({"value": 2, "list": ["a"]}),
        &json!({"a": {"f:list": {"v:\"a\"": {}}}, "u~": {"f:value": {}}}),
    );
}

/// multiple_appliers_test.go: items of lists, and what others own in them.
#[test]
fn items_of_several_appliers() {
    let item = |name: &str, set: &[&str]| json!({"name": name, "set": set});
    let lists = |items: &[Value]| json!({"listOfLists": items});
    check(
        "remove_one_keep_one_with_two_sub_items",
        vec![
            Write("a", lists(&[item("a", &[]), item("b", &["c", "d"])])),
            Write("b", lists(&[item("a", &[]), item("b", &["d"])])),
            Write("a", lists(&[item("a", &[])])),
        ],
        &lists(&[item("a", &[]), item("b", &["d"])]),
        &json!({
            "a": {"f:listOfLists": {
                "k:{\"name\":\"a\"}": {".": {}, "f:name": {}},
            }},
            "b": {"f:listOfLists": {
                "k:{\"name\":\"a\"}": {".": {}, "f:name": {}},
                "k:{\"name\":\"b\"}": {".": {}, "f:name": {}, "f:set": {"v:\"d\"": {}}},
            }},
        }),
    );
    check(
        "remove_one_keep_one_with_dangling_subitem",
        vec![
            Write("a", lists(&[json!({"name": "a"}), item("b", &["c"])])),
            Write("b", lists(&[item("b", &["d"])])),
            Write("u~", lists(&[json!({"name": "a"}), item("b", &["c", "d", "e"])])),
            Write("a", lists(&[json!({"name": "a"})])),
        ],
        &lists(&[json!({"name": "a"}), json!({"name": "b", "set": ["d", "e"]})]),
        &json!({
            "a": {"f:listOfLists": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}},
            "b": {"f:listOfLists": {
                "k:{\"name\":\"b\"}": {".": {}, "f:name": {}, "f:set": {"v:\"d\"": {}}},
            }},
            "u~": {"f:listOfLists": {"k:{\"name\":\"b\"}": {"f:set": {"v:\"e\"": {}}}}},
        }),
    );
    // A field without an applying owner is removed with the item that held it.
    check(
        "remove_one_with_dangling_subitem_keep_one",
        vec![
            Write("a", lists(&[json!({"name": "a"}), item("b", &["c"])])),
            Write("u~", lists(&[json!({"name": "a"}), item("b", &["c", "d"])])),
            Write("a", lists(&[json!({"name": "a"})])),
        ],
        &lists(&[json!({"name": "a"})]),
        &json!({"a": {"f:listOfLists": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}}),
    );
    check(
        "mapOfMaps_change_key_and_value",
        vec![
            Write("a", json!({"mapOfMaps": {"a": {"b": "1"}, "c": {"d": "2"}}})),
            Write("a", json!({"mapOfMaps": {"a": {"b": "1"}, "c": {"e": "3"}}})),
        ],
        &json!({"mapOfMaps": {"a": {"b": "1"}, "c": {"e": "3"}}}),
        &json!({"a": {"f:mapOfMaps": {
            "f:a": {".": {}, "f:b": {}}, "f:c": {".": {}, "f:e": {}},
        }}}),
    );
    check(
        "mapOfLists_change_value",
        vec![
            Write("a", json!({"mapOfLists": {"a": ["x", "y"]}})),
            Write("a", json!({"mapOfLists": {"a": ["x", "z"]}})),
        ],
        &json!({"mapOfLists": {"a": ["x", "z"]}}),
        &json!({"a": {"f:mapOfLists": {"f:a": {".": {}, "v:\"x\"": {}, "v:\"z\"": {}}}}}),
    );
}

/// nested_test.go and leaf_test.go: structures, and what has one owner as a whole.
#[test]
fn structures_and_wholes() {
    check(
        "struct_apply_remove_dangling",
        vec![
            Write("a", json!({"obj": {"name": "x", "value": 1}})),
            Write("u~", json!({"obj": {"map": {"k": "v"}}})),
            Write("a", json!({"value": 1})),
        ],
        &json!({"obj": {"map": {"k": "v"}}, "value": 1}),
        &json!({"a": {"f:value": {}}, "u~": {"f:obj": {"f:map": {".": {}, "f:k": {}}}}}),
    );
    check(
        "struct_apply_update_took_over",
        vec![
            Write("a", json!({"obj": {"name": "x", "value": 1}})),
            Write("u~", json!({"obj": {"value": 2}})),
            Write("a", json!({"value": 1})),
        ],
        &json!({"obj": {"value": 2}, "value": 1}),
        &json!({"a": {"f:value": {}}, "u~": {"f:obj": {"f:value": {}}}}),
    );
    check(
        "apply_twice (atomic)",
        vec![
            Write(
                "a",
                json!({
                    "atomicList": ["a"], "atomicMap": {"a": "1"}, "atomicStruct": {"a": "1"}
                }),
            ),
            Write(
                "a",
                json!({
                    "atomicList": ["b"], "atomicMap": {"b": "1"}, "atomicStruct": {"b": "1"}
                }),
            ),
        ],
        &json!({"atomicList": ["b"], "atomicMap": {"b": "1"}, "atomicStruct": {"b": "1"}}),
        &json!({"a": {"f:atomicList": {}, "f:atomicMap": {}, "f:atomicStruct": {}}}),
    );
    let conflicts = written(vec![
        Write("b", json!({"atomicMap": {"a": "1"}})),
        Write("a", json!({"value": 1, "pairs": [{"a": "1", "b": "2", "value": 1}]})),
        Write(
            "c",
            json!({
                "atomicMap": {"b": "1"}, "value": 2, "pairs": [{"a": "1", "b": "2", "value": 2}]
            }),
        ),
    ]);
    let text = "Apply failed with 3 conflicts: conflicts with \"a\":\n- .value\n\
                - .pairs[a=\"1\",b=\"2\"].value\nconflicts with \"b\":\n- .atomicMap";
    assert_eq!(conflicts.unwrap_err(), text);
}

/// key_test.go and default_keys_test.go: a key that is not said is another key.
#[test]
fn keys() {
    check(
        "removing a key",
        vec![
            Write("a", json!({"pairs": [{"a": "1", "b": "2"}]})),
            Write("a", json!({"pairs": [{"a": "1", "value": 1}]})),
        ],
        &json!({"pairs": [{"a": "1", "value": 1}]}),
        &json!({"a": {"f:pairs": {"k:{\"a\":\"1\"}": {".": {}, "f:a": {}, "f:value": {}}}}}),
    );
    let error = written(vec![Write("a", json!({"pairs": [{"value": 1}]}))]).unwrap_err();
    let text = "failed to create typed patch object (/; test/v1, Kind=Nested): .pairs: element 0: \
                associative list with keys has an element that omits all key fields [\"b\" \"a\"] \
                (and doesn't have default values for any key fields)";
    assert_eq!(error, text);
}

/// duplicates_test.go: what is there twice is one field, whose items are not distinguished.
#[test]
fn duplicates() {
    let twice = json!({"list": ["a", "a"], "pairs": [{"a": "1", "value": 1}, {"a": "1"}]});
    check(
        "apply over duplicates of an updater",
        vec![
            Write("a", json!({"value": 1})),
            Write("u~", twice.clone()),
            Write("a", json!({"value": 1, "list": ["b"]})),
        ],
        &json!({
            "list": ["a", "a", "b"], "value": 1,
            "pairs": [{"a": "1", "value": 1}, {"a": "1"}],
        }),
        &json!({
            "a": {"f:list": {"v:\"b\"": {}}, "f:value": {}},
            "u~": {
                "f:list": {".": {}, "v:\"a\"": {}},
                "f:pairs": {".": {}, "k:{\"a\":\"1\"}": {}},
            },
        }),
    );
    check(
        "an update ends duplicates",
        vec![
            Write("a", json!({"value": 1})),
            Write("u~", twice),
            Write("v~", json!({"pairs": [{"a": "1", "value": 2}], "list": ["a"]})),
        ],
        &json!({"list": ["a"], "pairs": [{"a": "1", "value": 2}], "value": 1}),
        &json!({
            "a": {"f:value": {}},
            "u~": {"f:list": {}, "f:pairs": {}},
            "v~": {
                "f:list": {"v:\"a\"": {}},
                "f:pairs": {"k:{\"a\":\"1\"}": {".": {}, "f:a": {}, "f:value": {}}},
            },
        }),
    );
}

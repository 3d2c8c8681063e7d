//! Tests of the patches. The tables hold what upstream's code made of them: `upstream.jsonl` are
//! the tables of apimachinery's strategicpatch/patch_test.go, the others are random documents and
//! what strategicpatch and evanphx/json-patch (as of Kubernetes 1.36.3) made of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// `MergeItem` of patch_test.go.
const MERGE_ITEM: &str = "\
test.MergeItem test/v1/MergeItem
 jsonItem any
 mergeItemPtr @test.MergeItem merge:name
 mergingIntList [int64] merge
 mergingList [@test.MergeItem] merge:name
 name string
 nonMergingIntList [int64]
 nonMergingList [@test.MergeItem]
 other string
 replacingItem any replace
 retainKeysMap @test.RetainKeysMergeItem retainKeys
 retainKeysMergingList [@test.MergeItem] merge+retainKeys:name
 simpleMap {string}
 value string
test.RetainKeysMergeItem
 mergingIntList [int64] merge
 mergingList [@test.MergeItem] merge:name
 name string
 nonMergingList [@test.MergeItem]
 other string
 simpleMap {string}
 value string
";

/// What is given and what comes of it: the object, or an error.
struct Row {
    name: String,
    object: Value,
    patch: Value,
    want: Result<Value, String>,
    ordered: bool,
    kind: String,
}

fn rows(text: &str) -> Vec<Row> {
    let row = |(at, line): (usize, &str)| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let text = |row: &Value, field: &str| row[field].as_str().map(str::to_owned);
        let error = text(&row, "error");
        Row {
            name: text(&row, "name").unwrap_or_else(|| format!("line {}", at + 1)),
            object: row["object"].take(),
            patch: row["patch"].take(),
            want: error.map_or_else(|| Ok(row["result"].take()), Err),
            ordered: row["order"] != json!(false),
            kind: text(&row, "kind").unwrap_or_default(),
        }
    };
    text.lines().enumerate().map(row).collect()
}

/// All lists in one order: the rows of upstream's first tables have none.
fn unordered(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(unordered);
            items.sort_by_key(Value::to_string);
        }
        Value::Object(fields) => fields.values_mut().for_each(unordered),
        _ => {}
    }
}

fn strategic_of(
    schema: &Schema,
    kind: (&str, &str),
    object: &Value,
    patch: &Value,
) -> Result<Value, PatchError> {
    let id = schema.kind(kind.0, "v1", kind.1).unwrap();
    let mut object = object.clone();
    strategic(schema, id, &mut object, patch).map(|()| object)
}

/// TestCustomStrategicMergePatch, TestStrategicMergePatch, TestReplaceWithRawExtension.
#[test]
fn upstream_tables() {
    let schema = Schema::parse(MERGE_ITEM);
    for mut row in rows(include_str!("tests/upstream.jsonl")) {
        let mut got = strategic_of(&schema, ("test", "MergeItem"), &row.object, &row.patch)
            .map_err(|error| error.to_string());
        if let (Ok(got), Ok(want), false) = (&mut got, &mut row.want, row.ordered) {
            unordered(got);
            unordered(want);
        }
        match (got, row.want) {
            (Err(got), Err(want)) => assert!(got.contains(&want), "{}: {got}", row.name),
            (got, want) => assert_eq!(got, want, "{}", row.name),
        }
    }
}

#[test]
fn strategic_patches() {
    for row in rows(include_str!("tests/strategic.jsonl")) {
        let group = if row.kind == "Deployment" { "apps" } else { "" };
        let got = strategic_of(Schema::builtin(), (group, &row.kind), &row.object, &row.patch);
        assert_eq!(got.map_err(|error| error.to_string()), row.want, "{}", row.name);
    }
}

#[test]
fn json_patches() {
    for row in rows(include_str!("tests/json.jsonl")) {
        let mut object = row.object.clone();
        let done = json(&mut object, row.patch.to_string().as_bytes());
        let got = done.map(|()| object.clone()).map_err(|error| error.to_string());
        assert_eq!(got, row.want, "{}", row.name);
        assert!(got.is_ok() || object == row.object, "{}: changed", row.name);
    }
}

#[test]
fn merge_patches() {
    for row in rows(include_str!("tests/merge.jsonl")) {
        let mut object = row.object.clone();
        merge(&mut object, &row.patch);
        assert_eq!(Ok(object), row.want, "{}", row.name);
    }
}

/// RFC 7386, appendix A, as far as documents are objects.
#[test]
fn merge_patches_of_the_rfc() {
    let rows = [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ];
    for (object, patch, want) in rows {
        let mut got = object.clone();
        merge(&mut got, &patch);
        assert_eq!(got, want, "{object} {patch}");
    }
}

/// What is no JSON patch at all: apiserver's patch.go, `applyJSPatch`.
#[test]
fn malformed_json_patches() {
    let many = format!("[{}]", vec![r#"{"op":"test","path":"/a","value":1}"#; 10_001].join(","));
    let malformed = |why: &str| PatchError::Malformed(format!("error decoding patch: {why}"));
    let rows = [
        (
            "{}",
            malformed("json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ),
        (
            "[1]",
            malformed("json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ),
        (
            r#"[{"op":"add","path":1}]"#,
            malformed(
                "json: cannot unmarshal number into Go struct field jsonPatchOp.path of type \
                 string",
            ),
        ),
        ("[null]", PatchError::Misfit("Unexpected kind: unknown".to_owned())),
        (
            many.as_str(),
            PatchError::TooLarge(
                "Request entity is too large: The allowed maximum operations in a JSON patch is \
                 10000, got 10001"
                    .to_owned(),
            ),
        ),
    ];
    for (patch, want) in rows {
        let got = json(&mut json!({"a": 1}), patch.as_bytes());
        assert_eq!(got, Err(want), "{}", &patch[..patch.len().min(40)]);
    }
    let most = many.replacen(r#"{"op":"test","path":"/a","value":1},"#, "", 1);
    assert_eq!(json(&mut json!({"a": 1}), most.as_bytes()), Ok(()));
    assert!(matches!(json(&mut json!({}), b"["), Err(PatchError::Malformed(_))));
}

/// Which errors are the client's: apiserver's `interpretStrategicMergePatchError`.
#[test]
fn codes_of_strategic_patches() {
    let schema = Schema::parse(MERGE_ITEM);
    let object = json!({"mergingIntList": [1], "mergingList": [{"name": "a"}], "name": "x"});
    let of =
        |patch: Value| strategic_of(&schema, ("test", "MergeItem"), &object, &patch).unwrap_err();
    let malformed = |why: &str| PatchError::Malformed(why.to_owned());
    let failed = |why: &str| PatchError::Failed(why.to_owned());
    assert_eq!(of(json!({"$retainKeys": "name"})), malformed("invalid patch format of retainKeys"));
    assert_eq!(
        of(json!({"$deleteFromPrimitiveListX": [1]})),
        malformed("invalid patch format of primitive list")
    );
    assert_eq!(
        of(json!({"$setElementOrderX": [1]})),
        malformed("invalid patch format of setElementOrder list")
    );
    assert_eq!(
        of(json!({"mergingIntList": [[1]]})),
        failed("list element types are not identical: [[1] [[1]]]")
    );
    assert_eq!(
        of(json!({"$setElementOrder/mergingList": [{"name": "b"}, "x"], "mergingList": []})),
        failed("value for key 1 is not a map")
    );
    assert_eq!(
        of(json!({
            "$setElementOrder/nonMergingList": ["h"],
            "nonMergingList": [{"$patch": "delete", "name": "b"}],
        })),
        failed("expected a map[string]interface {}, but received a string")
    );
    assert_eq!(
        of(json!({"$setElementOrder/mergingList": null})),
        failed("expected a []interface {}, but received a %!s(<nil>)")
    );
    let unordered = json!({"$setElementOrder/mergingList": [], "mergingList": [{"name": "b"}]});
    let got = strategic_of(&schema, ("test", "MergeItem"), &object, &unordered).unwrap();
    assert_eq!(got["mergingList"], json!([{"name": "a"}, {"name": "b"}]));
    let lists = json!({"mergingIntList": [[1]]});
    let got = strategic_of(&schema, ("test", "MergeItem"), &lists, &lists).unwrap_err();
    assert_eq!(got, PatchError::Misfit("lists of lists are not supported".to_owned()));
    assert_eq!(
        of(json!({"mergingList": [{"value": 1.5}]})),
        failed("map: map[value:1.5] does not contain declared merge key: name")
    );
    let custom = Schema::builtin().custom();
    let got = strategic(Schema::builtin(), custom, &mut json!({}), &json!({}));
    assert_eq!(got, Err(malformed("strategic merge patch format is not supported")));
}

/// TestUnknownField: what the types do not know is replaced, and an error if it were merged.
#[test]
fn unknown_fields() {
    let schema = Schema::parse(MERGE_ITEM);
    let object = json!({"array": [1, 2], "complex": {"nested": true}, "name": "foo"});
    let rows = [
        (json!({"complex": null}), Ok(json!({"array": [1, 2], "name": "foo"}))),
        (
            json!({"more": {"a": {"b": null, "c": 1}}}),
            Ok(json!({
                "array": [1, 2], "complex": {"nested": true}, "more": {"a": {"c": 1}},
                "name": "foo"
            })),
        ),
        (
            json!({"complex": {"nested": false}}),
            Err("unable to find api field in struct MergeItem for the json field \"complex\""),
        ),
        (
            json!({"array": [3]}),
            Err("unable to find api field in struct MergeItem for the json field \"array\""),
        ),
    ];
    for (patch, want) in rows {
        let got = strategic_of(&schema, ("test", "MergeItem"), &object, &patch);
        let got = got.map_err(|error| error.to_string());
        assert_eq!(got, want.map_err(str::to_owned), "{patch}");
    }
    let inner = json!({"jsonItem": {"a": {"b": 1}}});
    let got = strategic_of(&schema, ("test", "MergeItem"), &inner, &inner).unwrap_err();
    assert_eq!(
        got.to_string(),
        "unable to find api field in struct RawExtension for the json field \"a\""
    );
}

/// A budget's selector is replaced, though it is an object: policy/v1, `patchStrategy:"replace"`.
#[test]
fn replaced_objects() {
    let object = json!({"spec": {"selector": {"matchLabels": {"a": "b"}}}});
    let patch = json!({"spec": {"selector": {"matchLabels": {"c": "d"}}}});
    let kind = ("policy", "PodDisruptionBudget");
    assert_eq!(strategic_of(Schema::builtin(), kind, &object, &patch), Ok(patch));
}

/// `%v` and `%#v` of numbers.
#[test]
fn numbers_as_go_prints_them() {
    let rows = [
        (json!(1), "1"),
        (json!(1.0), "1"),
        (json!(1.5), "1.5"),
        (json!(1e20), "100000000000000000000"),
        (json!(1e21), "1e+21"),
        (json!(1.25e-5), "1.25e-05"),
        (json!(0.0001), "0.0001"),
    ];
    for (number, want) in rows {
        assert_eq!(plain(&number), want);
        assert_eq!(syntax(&number), want);
    }
    assert_eq!(
        syntax(&json!({"a": ["b", null]})),
        "map[string]interface {}{\"a\":[]interface {}{\"b\", interface {}(nil)}}"
    );
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(1)),
        Just(json!("a")),
        Just(json!("replace")),
        Just(json!("delete")),
        Just(json!("-1")),
    ];
    let keys = "\\$patch|\\$retainKeys|\\$setElementOrder/(mergingList|mergingIntList)\
                |\\$deleteFromPrimitiveList/mergingIntList|mergingList|mergingIntList|name\
                |retainKeysMap|simpleMap|op|path";
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys, inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    /// Whatever comes, nothing panics; and a merge patch changes what it names.
    #[test]
    fn any_documents(object in documents(), patch in documents()) {
        let schema = Schema::parse(MERGE_ITEM);
        let _ = strategic_of(&schema, ("test", "MergeItem"), &object, &patch);
        let _ = json(&mut object.clone(), patch.to_string().as_bytes());
        let mut merged = object.clone();
        merge(&mut merged, &patch);
        if let (Some(object), Some(patch)) = (object.as_object(), patch.as_object()) {
            for (key, value) in object.iter().filter(|(key, _)| !patch.contains_key(*key)) {
                prop_assert_eq!(merged.get(key), Some(value));
            }
            for (key, value) in patch {
                prop_assert_eq!(merged.get(key).is_none(), value.is_null());
            }
        }
    }
}

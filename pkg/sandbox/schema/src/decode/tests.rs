//! Held against what Go does with the same bodies: `testdata/bodies.txt` was written by
//! sigs.k8s.io/json's UnmarshalStrict into the types of k8s.io/api 0.36.3, and encoding/json.

use super::*;

/// A body, and what Go made of it.
#[derive(Default)]
struct Case<'a> {
    kind: &'a str,
    body: &'a str,
    object: Option<&'a str>,
    error: Option<&'a str>,
    faults: Vec<&'a str>,
}

fn cases() -> Vec<Case<'static>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for line in include_str!("testdata/bodies.txt").lines() {
        let (sort, text) = line.split_once(' ').unwrap();
        if sort == "<" {
            let (kind, body) = text.split_once('\t').unwrap();
            cases.push(Case { kind, body, ..Case::default() });
            continue;
        }
        let case = cases.last_mut().unwrap();
        match sort {
            ">" => case.object = Some(text),
            "!" => case.error = Some(text),
            "?" => case.faults.push(text),
            _ => panic!("{line}"),
        }
    }
    cases
}

fn type_of(kind: &str) -> TypeId {
    let words: Vec<_> = kind.split('/').collect();
    let (group, version, kind) = match words.as_slice() {
        [version, kind] => ("", *version, *kind),
        [group, version, kind] => (*group, *version, *kind),
        _ => panic!("{kind}"),
    };
    Schema::builtin().kind(group, version, kind).unwrap()
}

#[test]
fn bodies_are_read_as_go_reads_them() {
    let mut wrong = Vec::new();
    for case in cases() {
        let id = type_of(case.kind);
        let read = decode(Schema::builtin(), id, case.body.as_bytes(), Strictness::Warn);
        let (object, warnings) = match (read, case.error) {
            (Ok(read), None) => (read.object, read.warnings),
            (Err(DecodeError::Malformed(error)), Some(expected)) if error == expected => continue,
            (read, expected) => {
                wrong.push(format!("{}\n  is {read:?}\n  not {expected:?}", case.body));
                continue;
            }
        };
        let expected: Value = serde_json::from_str(case.object.unwrap()).unwrap();
        if object != expected || warnings != case.faults {
            let expected = (expected.to_string(), case.faults);
            let read = (object.to_string(), warnings);
            wrong.push(format!("{}\n  is {read:?}\n  not {expected:?}", case.body));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn strictness_decides_about_unknown_fields() {
    let id = type_of("apps/v1/Deployment");
    let body = br#"{"spec":{"foo":1,"paused":true,"paused":true}}"#;
    let read = |strictness| decode(Schema::builtin(), id, body, strictness);
    assert!(read(Strictness::Ignore).unwrap().warnings.is_empty());
    let texts = ["unknown field \"spec.foo\"", "duplicate field \"spec.paused\""];
    assert_eq!(read(Strictness::Warn).unwrap().warnings, texts);
    let error = read(Strictness::Strict).unwrap_err().to_string();
    assert_eq!(error, format!("strict decoding error: {}", texts.join(", ")));
}

/// UnmarshalStrict into a map, and schemaobjectmeta.CoerceWithOptions of apiextensions.
#[test]
fn custom_objects_keep_all_but_strange_metadata() {
    let schema = Schema::builtin();
    let body = br#"{"kind":"X","metadata":{"name":"a","foo":1,"labels":{}},
        "spec":{"a":1.0,"b":null,"c":{},"d":[1,{"e":1,"e":2}]},"x":1,"x":2}"#;
    let read = decode(schema, schema.custom(), body, Strictness::Warn).unwrap();
    let expected = serde_json::json!({"kind": "X", "metadata": {"name": "a"},
        "spec": {"a": 1, "b": null, "c": {}, "d": [1, {"e": 2}]}, "x": 2});
    assert_eq!(read.object, expected);
    let faults = ["unknown field \"metadata.foo\"", "duplicate field \"spec.d[1].e\""];
    assert_eq!(read.warnings[..2], faults);
    assert_eq!(read.warnings[2..], ["duplicate field \"x\""]);
    let body = br#"{"metadata":{"labels":{"a":1}}}"#;
    let error = decode(schema, schema.custom(), body, Strictness::Warn).unwrap_err().to_string();
    let place = "Go struct field ObjectMeta.labels";
    assert_eq!(error, format!("json: cannot unmarshal number into {place} of type string"));
}

#[test]
fn what_lies_too_deep_is_refused() {
    let schema = Schema::builtin();
    let body = |depth| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let read =
        |depth: usize| decode(schema, schema.custom(), body(depth).as_bytes(), Strictness::Ignore);
    assert!(read(127).is_ok());
    let wide = format!("{{\"a\":[{}1]}}", "[[]],".repeat(1000));
    assert!(decode(schema, schema.custom(), wide.as_bytes(), Strictness::Ignore).is_ok());
    let error = read(100_000).unwrap_err().to_string();
    assert_eq!(error, "invalid character '[' exceeded max depth");
}

/// What was read is whole already.
#[test]
fn completing_twice_changes_nothing() {
    for case in cases().iter().filter(|case| case.error.is_none()) {
        let id = type_of(case.kind);
        let body = case.body.as_bytes();
        let once = decode(Schema::builtin(), id, body, Strictness::Ignore).unwrap().object;
        let mut twice = once.clone();
        complete(Schema::builtin(), id, &mut twice);
        assert_eq!(once, twice);
    }
}

proptest::proptest! {
    /// No body panics, and what a client prints again reads the same.
    #[test]
    fn bodies_never_panic(text in "[\\[\\]{}\",:0-9a-e\\\\.ntu -]{0,60}") {
        let schema = Schema::builtin();
        let id = type_of("v1/Pod");
        let _ = decode(schema, id, text.as_bytes(), Strictness::Warn);
        let ours = decode(schema, schema.custom(), text.as_bytes(), Strictness::Ignore).is_ok();
        let theirs = serde_json::from_str::<serde_json::Map<String, Value>>(&text);
        // Numbers out of range are read here and nowhere else.
        proptest::prop_assert!(!ours || theirs.is_ok() || text.contains(['e', '\\']));
    }

    #[test]
    fn quantities_and_times_never_panic(text in "[-+0-9.eEinumkKMGTPZ:T]{0,30}") {
        let _ = apimachinery::Quantity::canonical(&text);
        let _ = moment::normal(&text, moment::Layout::Micros);
        let _ = moment::normal(&text, moment::Layout::Seconds);
    }
}

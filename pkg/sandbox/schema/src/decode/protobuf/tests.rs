//! Bodies as clients in Go write them, made by hand.

use serde_json::json;

use super::*;
use crate::{Strictness, decode};

/// The group, version and kind of a ConfigMap.
const CONFIG_MAP: (&str, &str, &str) = ("", "v1", "ConfigMap");

/// A field with a number.
fn int(number: u8, value: u8) -> Vec<u8> {
    assert!(value < 128, "{value}");
    vec![number << 3, value]
}

/// A field that is text, or a message.
fn text(number: u8, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let length = u16::try_from(bytes.len()).unwrap();
    let low = u8::try_from(length & 127).unwrap();
    let high = u8::try_from(length >> 7).unwrap();
    assert!(number < 16 && high < 128, "{number} {length}");
    let head = if high == 0 { vec![low] } else { vec![low | 128, high] };
    [vec![number << 3 | 2], head, bytes.to_vec()].concat()
}

/// An object as clients send it.
fn body(api_version: &str, kind: &str, raw: &[Vec<u8>]) -> Vec<u8> {
    let meta = [text(1, api_version), text(2, kind)].concat();
    [b"k8s\0".to_vec(), text(1, meta), text(2, raw.concat())].concat()
}

#[test]
fn each_kind_of_value_is_read() {
    let entry = |key: &str, value: &[u8]| [text(1, key), text(2, value)].concat();
    let quantity = |amount: &str| text(1, amount);
    let metadata = [text(1, "a"), text(8, [int(1, 10), int(2, 7)].concat())].concat();
    let source = text(2, text(6, text(1, "token")));
    let port = [int(1, 0), int(2, 80)].concat();
    let probe = [text(1, text(2, [text(1, "/"), text(2, port)].concat())), int(2, 5)].concat();
    let limits = text(1, entry("cpu", &quantity("2")));
    let container = [text(1, "c"), text(8, limits), text(11, probe)].concat();
    let spec = [text(1, [text(1, "v"), source].concat()), text(2, container)].concat();
    let pod = body("v1", "Pod", &[text(1, metadata), text(2, spec)]);
    let crd = |schema: &[Vec<u8>]| {
        let validation = text(1, schema.concat());
        let spec = text(2, text(7, text(4, validation)));
        body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &[spec])
    };
    let schema_at = "/spec/versions/0/schema/openAPIV3Schema";
    let extra = text(4, [text(1, "scopes"), text(2, text(1, "x"))].concat());
    let secret = text(2, [text(1, "k"), text(2, [0, 255])].concat());
    let table = [
        ("text", pod.clone(), "/metadata/name", json!("a")),
        ("time", pod.clone(), "/metadata/creationTimestamp", json!("1970-01-01T00:00:10Z")),
        ("embedded", pod.clone(), "/spec/volumes/0/secret/secretName", json!("token")),
        ("int or string", pod.clone(), "/spec/containers/0/readinessProbe/httpGet/port", json!(80)),
        ("int", pod.clone(), "/spec/containers/0/readinessProbe/initialDelaySeconds", json!(5)),
        ("quantity", pod.clone(), "/spec/containers/0/resources/limits/cpu", json!("2")),
        ("kind", pod, "/kind", json!("Pod")),
        ("bytes", body("v1", "Secret", &[secret]), "/data/k", json!("AP8=")),
        (
            "no time",
            body("v1", "Pod", &[text(1, text(8, ""))]),
            "/metadata/creationTimestamp",
            json!(null),
        ),
        (
            "list alone",
            body("authentication.k8s.io/v1", "TokenReview", &[text(3, text(2, extra))]),
            "/status/user/extra",
            json!({"scopes": ["x"]}),
        ),
        (
            "$ref and a schema or a bool",
            crd(&[text(3, "#"), vec![0xf2, 1, 2, 8, 1]]),
            schema_at,
            json!({"$ref": "#", "additionalProperties": true}),
        ),
        (
            "of all groups",
            body("apps/v1", "DeleteOptions", &[text(4, "Orphan")]),
            "/propagationPolicy",
            json!("Orphan"),
        ),
    ];
    for (name, bytes, pointer, expected) in table {
        let object = from_protobuf(&bytes, CONFIG_MAP);
        let object = object.unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(object.pointer(pointer), Some(&expected), "{name}: {object}");
    }
}

/// Upstream: the zero values of a schema are not there in JSON.
#[test]
fn what_a_schema_leaves_out_is_not_there() {
    let items = text(1, [text(5, "string"), text(6, ""), int(12, 0)].concat());
    let length = u8::try_from(items.len()).unwrap();
    // Field 24, whose number takes two bytes.
    let schema = [vec![0xc2, 1, length], items].concat();
    let spec = text(2, text(7, text(4, text(1, schema))));
    let bytes = body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &[spec]);
    let object = from_protobuf(&bytes, CONFIG_MAP).unwrap();
    let found = object.pointer("/spec/versions/0/schema/openAPIV3Schema/items");
    assert_eq!(found, Some(&json!({"type": "string"})), "{object}");
}

#[test]
fn a_body_without_a_kind_has_the_kind_of_the_path() {
    let bytes = [b"k8s\0".to_vec(), text(2, text(1, text(1, "a")))].concat();
    let object = from_protobuf(&bytes, CONFIG_MAP).unwrap();
    let expected = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert_eq!(object, expected);
}

/// What is read is what JSON would be read as.
#[test]
fn zero_values_are_left_out_as_in_json() {
    let bytes = body("apps/v1", "Deployment", &[text(2, [int(5, 0), int(7, 0)].concat())]);
    let json = from_protobuf(&bytes, CONFIG_MAP).unwrap().to_string();
    let schema = Schema::builtin();
    let id = schema.kind("apps", "v1", "Deployment").unwrap();
    let decoded = decode(schema, id, json.as_bytes(), Strictness::Strict).unwrap();
    assert!(decoded.object.pointer("/spec/paused").is_none(), "{:?}", decoded.object);
}

#[test]
fn what_is_broken_is_refused() {
    let mut deep = Vec::new();
    for _ in 0..150 {
        // JSONSchemaProps.not
        deep = [vec![0xe2, 1], text(1, &deep)[1..].to_vec()].concat();
    }
    let deep = text(2, text(7, text(4, text(1, deep))));
    let deep = body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &[deep]);
    let table = [
        (b"{}".to_vec(), "provided data does not appear to be a protobuf message"),
        (b"k8s\0\x0a".to_vec(), "unexpected EOF"),
        (b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f".to_vec(), "unexpected EOF"),
        (b"k8s\0\x12\x02\x0a\x7f".to_vec(), "unexpected EOF"),
        ([&b"k8s\0"[..], &[0xff; 12]].concat(), "proto: integer overflow"),
        (b"k8s\0\x0b".to_vec(), "proto: illegal wireType 3"),
        (body("v1", "ConfigMap", &[int(1, 1)]), "proto: wrong wireType = 0 for field Metadata"),
        (
            body("apps/v1", "Nothing", &[]),
            "no kind \"Nothing\" is registered for version \"apps/v1\" in scheme",
        ),
        (deep, "exceeded max depth"),
    ];
    for (bytes, expected) in table {
        let why = from_protobuf(&bytes, CONFIG_MAP).unwrap_err();
        assert!(why.starts_with(expected), "{why}");
    }
}

/// Each line of the table is read, and each message that it names is there.
#[test]
fn the_table_is_whole() {
    let messages = messages();
    let lines = TABLE.lines().filter(|line| line.starts_with(' ')).count();
    assert_eq!(messages.values().map(Vec::len).sum::<usize>(), lines);
    for (name, fields) in messages {
        for field in fields {
            let mut holds = &field.holds;
            while let Holds::List(inner) | Holds::Map(inner) = holds {
                holds = inner;
            }
            if let Holds::Message(other) | Holds::Embedded(other) | Holds::Either(other) = holds {
                assert!(messages.contains_key(other), "{name}.{}: {other}", field.name);
            }
        }
    }
}

//! CBOR (RFC 8949) as upstream writes it: k8s.io/apimachinery pkg/runtime/serializer/cbor.
//!
//! Text is written as byte strings, after the tag of self-described CBOR. Upstream shuffles the
//! fields of a response; we use the order of deterministic encoding, which is one of those.

use serde_json::Value;

/// Tag 55799, self-described CBOR.
const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// The first three bits of an item.
#[derive(Clone, Copy)]
enum Major {
    Unsigned = 0,
    Negative = 1,
    Bytes = 2,
    Array = 4,
    Map = 5,
}

/// Encodes a JSON value.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = SELF_DESCRIBED.to_vec();
    put(&mut bytes, value);
    bytes
}

fn put(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => bytes.push(0xf6),
        Value::Bool(false) => bytes.push(0xf4),
        Value::Bool(true) => bytes.push(0xf5),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => head(bytes, Major::Unsigned, number),
            (None, Some(number)) => head(bytes, Major::Negative, number.unsigned_abs() - 1),
            (None, None) => {
                bytes.push(0xfb);
                bytes.extend(number.as_f64().unwrap_or_default().to_be_bytes());
            }
        },
        Value::String(text) => string(bytes, text),
        Value::Array(items) => {
            head(bytes, Major::Array, items.len() as u64);
            for item in items {
                put(bytes, item);
            }
        }
        Value::Object(fields) => {
            head(bytes, Major::Map, fields.len() as u64);
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| (name.len(), name.as_bytes()));
            for (name, value) in fields {
                string(bytes, name);
                put(bytes, value);
            }
        }
    }
}

fn string(bytes: &mut Vec<u8>, text: &str) {
    head(bytes, Major::Bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

/// The start of an item, in its shortest form.
fn head(bytes: &mut Vec<u8>, major: Major, number: u64) {
    let major = (major as u8) << 5;
    let [.., b3, b2, b1, b0] = number.to_be_bytes();
    match number {
        0..24 => bytes.push(major + b0),
        24..0x100 => bytes.extend([major + 24, b0]),
        0x100..0x1_0000 => bytes.extend([major + 25, b1, b0]),
        0x1_0000..0x1_0000_0000 => bytes.extend([major + 26, b3, b2, b1, b0]),
        0x1_0000_0000.. => {
            bytes.push(major + 27);
            bytes.extend(number.to_be_bytes());
        }
    }
}

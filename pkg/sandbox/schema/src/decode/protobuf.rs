//! Bodies in protobuf, as clients in Go send them, read into JSON.
//!
//! `protobuf.txt` says how each type is written. What is read is not checked further: that is done
//! when its JSON is decoded.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::complete;
use super::moment::{Layout, written};
use crate::Schema;

/// The table: its first lines say how to read it.
const TABLE: &str = include_str!("protobuf.txt");
/// What a body starts with.
const PREFIX: &[u8] = b"k8s\0";
/// How deep messages may lie in each other, as in JSON.
const DEPTH_MAX: usize = 128;
/// Go's `io.ErrUnexpectedEOF`.
const SHORT: &str = "unexpected EOF";

/// All messages, by their names.
type Messages = BTreeMap<&'static str, Vec<Field>>;

struct Field {
    number: u64,
    name: &'static str,
    holds: Holds,
}

/// What a field holds.
enum Holds {
    String,
    Int,
    Bool,
    Bytes,
    Double,
    Quantity,
    IntOrString,
    Time(Layout),
    /// JSON as text.
    Json,
    Message(&'static str),
    /// A message whose fields stand beside those of its owner.
    Embedded(&'static str),
    /// A message that one of its fields stands for.
    Either(&'static str),
    List(Box<Holds>),
    /// From strings.
    Map(Box<Holds>),
}

/// What stands at a field.
#[derive(Clone, Copy)]
enum Payload<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// What is left to read.
struct Wire<'a>(&'a [u8]);

/// Reads an object. If the body does not say what it is, it is of the kind of `default`: its
/// group, version and kind. The error is the API server's.
pub fn from_protobuf(body: &[u8], default: (&str, &str, &str)) -> Result<Value, String> {
    let Some(body) = body.strip_prefix(PREFIX) else {
        return Err("provided data does not appear to be a protobuf message, expected prefix \
                    [107 56 115 0]"
            .to_owned());
    };
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    // runtime.Unknown, and the TypeMeta in it.
    let mut envelope = Wire(body);
    while let Some((number, payload)) = envelope.next()? {
        match (number, payload) {
            (1, Payload::Bytes(meta)) => {
                let mut meta = Wire(meta);
                while let Some((number, payload)) = meta.next()? {
                    match (number, payload) {
                        (1, Payload::Bytes(it)) => api_version = text(it),
                        (2, Payload::Bytes(it)) => kind = text(it),
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(it)) => raw = it,
            _ => {}
        }
    }
    let (group, version) = match api_version.rsplit_once('/') {
        _ if api_version.is_empty() => (default.0, default.1),
        Some(both) => both,
        None => ("", &*api_version),
    };
    let kind = if kind.is_empty() { default.2 } else { &kind };
    // It is registered in all groups, and the table names one.
    let (group, version) = if kind == "DeleteOptions" { ("", "v1") } else { (group, version) };
    let schema = Schema::builtin();
    let message = schema.kind(group, version, kind).map(|id| schema.get(id).name);
    let api_version =
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let Some(message) = message.filter(|name| messages().contains_key(name)) else {
        return Err(format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \
             \"pkg/api/legacyscheme/scheme.go:30\""
        ));
    };
    let mut object = Map::new();
    read(message, raw, &mut object, 0)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

fn messages() -> &'static Messages {
    static MESSAGES: OnceLock<Messages> = OnceLock::new();
    MESSAGES.get_or_init(|| {
        let (mut messages, mut name) = (Messages::new(), "");
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            if let Some(field) = line.strip_prefix(' ') {
                messages.entry(name).or_default().extend(Field::parse(field));
            } else {
                name = line;
                messages.insert(name, Vec::new());
            }
        }
        messages
    })
}

/// Reads the fields of a message into an object.
fn read(
    name: &str,
    bytes: &[u8],
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err("exceeded max depth".to_owned());
    }
    let fields = messages().get(name).map(Vec::as_slice).unwrap_or_default();
    let mut wire = Wire(bytes);
    while let Some((number, payload)) = wire.next()? {
        let Some(field) = fields.iter().find(|field| field.number == number) else { continue };
        let wrong = || wrong_type(payload, field.name);
        match (&field.holds, payload) {
            (Holds::Embedded(name), Payload::Bytes(bytes)) => {
                read(name, bytes, object, depth + 1)?;
            }
            (Holds::List(item), payload) => {
                let value = item.value(payload, depth)?.ok_or_else(wrong)?;
                let list = object.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().into_iter().for_each(|list| list.push(value.clone()));
            }
            (Holds::Map(value), Payload::Bytes(entry)) => {
                let (key, value) = value.entry(entry, depth)?;
                let map = object.entry(field.name).or_insert_with(|| Map::new().into());
                map.as_object_mut().and_then(|map| map.insert(key, value));
            }
            (holds, payload) => {
                let value = holds.value(payload, depth)?.ok_or_else(wrong)?;
                object.insert(field.name.to_owned(), value);
            }
        }
    }
    Ok(())
}

fn wrong_type(payload: Payload<'_>, name: &str) -> String {
    let wire = match payload {
        Payload::Number(_) => 0,
        Payload::Bytes(_) => 2,
    };
    let mut name = name.to_owned();
    name.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    format!("proto: wrong wireType = {wire} for field {name}")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The field that stands for a message: a schema, or what there is instead of one.
fn either(name: &str, bytes: &[u8], depth: usize) -> Result<Value, String> {
    let mut object = Map::new();
    read(name, bytes, &mut object, depth + 1)?;
    let first = object.remove("schema");
    let other = || object.into_iter().next().map(|(_, other)| other);
    let mut found = first.or_else(other).unwrap_or_default();
    // Here the type says that there may be anything, so what is left out is not known later.
    let fields = messages().get(name).map(Vec::as_slice).unwrap_or_default();
    let message = fields.iter().find_map(|field| match field.holds {
        Holds::Message(name) => Schema::builtin().named(name),
        _ => None,
    });
    if let Some(id) = message {
        let complete = |it: &mut Value| complete(Schema::builtin(), id, it);
        match &mut found {
            Value::Array(items) => items.iter_mut().filter(|it| it.is_object()).for_each(complete),
            Value::Object(_) => complete(&mut found),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(found)
}

/// The numbers, or the text, of the fields of a small message.
fn numbered(bytes: &[u8], wanted: u64) -> Result<Option<Payload<'_>>, String> {
    let (mut wire, mut found) = (Wire(bytes), None);
    while let Some((number, payload)) = wire.next()? {
        if number == wanted {
            found = Some(payload);
        }
    }
    Ok(found)
}

fn number(bytes: &[u8], wanted: u64) -> Result<i64, String> {
    Ok(match numbered(bytes, wanted)? {
        Some(Payload::Number(number)) => number.cast_signed(),
        Some(Payload::Bytes(_)) | None => 0,
    })
}

fn string(bytes: &[u8], wanted: u64) -> Result<String, String> {
    Ok(match numbered(bytes, wanted)? {
        Some(Payload::Bytes(bytes)) => text(bytes),
        Some(Payload::Number(_)) | None => String::new(),
    })
}

// === impl Field ===

impl Field {
    /// `2 spec @api.core.v1.PodSpec`
    fn parse(text: &'static str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let number = words.next()?.parse().ok()?;
        let name = words.next()?;
        Some(Self { number, name, holds: Holds::parse(words.next()?)? })
    }
}

// === impl Holds ===

impl Holds {
    fn parse(text: &'static str) -> Option<Self> {
        if let Some(item) = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            return Some(Self::List(Box::new(Self::parse(item)?)));
        }
        if let Some(value) = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
            return Some(Self::Map(Box::new(Self::parse(value)?)));
        }
        if let Some((how, message)) = text.split_once('@') {
            return Some(match how {
                "" => Self::Message(message),
                "^" => Self::Embedded(message),
                "either" => Self::Either(message),
                _ => return None,
            });
        }
        Some(match text {
            "string" => Self::String,
            "int" => Self::Int,
            "bool" => Self::Bool,
            "bytes" => Self::Bytes,
            "double" => Self::Double,
            "quantity" => Self::Quantity,
            "intorstring" => Self::IntOrString,
            "time" => Self::Time(Layout::Seconds),
            "microtime" => Self::Time(Layout::Micros),
            "json" => Self::Json,
            _ => return None,
        })
    }

    /// The value of a payload; none: it is not what the field is written as.
    fn value(&self, payload: Payload<'_>, depth: usize) -> Result<Option<Value>, String> {
        Ok(Some(match (self, payload) {
            (Self::Int, Payload::Number(number)) => number.cast_signed().into(),
            (Self::Bool, Payload::Number(number)) => (number != 0).into(),
            (Self::Double, Payload::Number(number)) => f64::from_bits(number).into(),
            (Self::String, Payload::Bytes(bytes)) => text(bytes).into(),
            (Self::Bytes, Payload::Bytes(bytes)) => STANDARD.encode(bytes).into(),
            (Self::Quantity, Payload::Bytes(bytes)) => string(bytes, 1)?.into(),
            (Self::IntOrString, Payload::Bytes(bytes)) => match number(bytes, 1)? {
                0 => number(bytes, 2)?.into(),
                _ => string(bytes, 3)?.into(),
            },
            // Go's zero time is written as nothing.
            (Self::Time(_), Payload::Bytes([])) => Value::Null,
            (Self::Time(layout), Payload::Bytes(bytes)) => {
                written(number(bytes, 1)?, number(bytes, 2)? / 1000, *layout).into()
            }
            (Self::Json, Payload::Bytes(bytes)) => match numbered(bytes, 1)? {
                Some(Payload::Bytes(json)) => {
                    serde_json::from_slice(json).map_err(|error| error.to_string())?
                }
                Some(Payload::Number(_)) | None => Value::Null,
            },
            (Self::Message(name), Payload::Bytes(bytes)) => {
                let mut object = Map::new();
                read(name, bytes, &mut object, depth + 1)?;
                object.into()
            }
            (Self::Either(name), Payload::Bytes(bytes)) => either(name, bytes, depth)?,
            _ => return Ok(None),
        }))
    }

    /// A key and its value.
    fn entry(&self, entry: &[u8], depth: usize) -> Result<(String, Value), String> {
        let value = match numbered(entry, 2)? {
            Some(payload) => self.value(payload, depth)?,
            None => self.value(Payload::Bytes(&[]), depth)?,
        };
        Ok((string(entry, 1)?, value.unwrap_or_default()))
    }
}

// === impl Wire ===

impl<'a> Wire<'a> {
    /// The next field and its number.
    fn next(&mut self) -> Result<Option<(u64, Payload<'a>)>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let payload = match tag & 7 {
            0 => Payload::Number(self.varint()?),
            1 => Payload::Number(self.fixed::<8>().map(u64::from_le_bytes)?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| SHORT)?;
                Payload::Bytes(self.take(length)?)
            }
            5 => Payload::Number(self.fixed::<4>().map(u32::from_le_bytes)?.into()),
            wire => return Err(format!("proto: illegal wireType {wire}")),
        };
        Ok(Some((tag >> 3, payload)))
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.fixed::<1>()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        Ok(bytes)
    }
}

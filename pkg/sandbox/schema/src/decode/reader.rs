//! From JSON to a value of a type.
//!
//! As in Go there are three sorts of faults: what a type reads for itself (times, quantities)
//! ends the reading; of other wrong types the first is reported at the end; unknown and doubled
//! fields are collected.

use std::borrow::Cow;
use std::collections::BTreeSet;

use apimachinery::Quantity;
use serde_json::{Map, Value};

use super::json::{Json, number};
use super::moment::{Layout, normal};
use crate::{Field, Scalar, Schema, Shape, Type, TypeId};

/// More unknown and doubled fields are not reported.
const FAULTS_MAX: usize = 100;

/// Reads a value; also the unknown and doubled fields.
pub(super) fn read(
    schema: &Schema,
    id: TypeId,
    json: &Json<'_>,
) -> Result<(Value, Vec<String>), String> {
    let mut reader = Reader {
        schema,
        owner: None,
        fields: Vec::new(),
        path: String::new(),
        wrong: None,
        faults: Vec::new(),
    };
    let value = reader.value(&Shape::Object(id), None, json)?;
    match reader.wrong {
        Some(wrong) => Err(wrong),
        None => Ok((value, reader.faults)),
    }
}

struct Reader<'a> {
    schema: &'a Schema,
    /// The struct that is read, for errors.
    owner: Option<&'static str>,
    /// The fields that lead to the value, for errors.
    fields: Vec<&'static str>,
    /// The fields and indexes that lead to the value, for unknown and doubled fields.
    path: String,
    /// The first value of a wrong type.
    wrong: Option<String>,
    faults: Vec<String>,
}

/// `v1.PodSpec`
fn go_name(ty: &Type) -> String {
    let mut words = ty.name.rsplit('.');
    let name = words.next().unwrap_or_default();
    words.next().map_or_else(|| name.to_owned(), |version| format!("{version}.{name}"))
}

fn short_name(ty: &Type) -> &'static str {
    ty.name.rsplit('.').next().unwrap_or_default()
}

// === impl Reader ===

impl Reader<'_> {
    /// A value; null where nothing can be read. `go` is its Go type, if its shape does not say it.
    fn value(&mut self, shape: &Shape, go: Option<&str>, json: &Json<'_>) -> Result<Value, String> {
        match (shape, json) {
            (Shape::Any, _) => Ok(json.to_value()),
            (Shape::Scalar(scalar), _) => self.scalar((shape, *scalar), go, json),
            (_, Json::Null) => Ok(Value::Null),
            (Shape::Object(id), Json::Map(fields)) => {
                let ty = self.schema.get(*id);
                if ty.open { self.open(ty, fields) } else { self.object(ty, fields) }
            }
            (Shape::Map { value, .. }, Json::Map(fields)) => {
                // Keys may have names of their own: `map[v1.ResourceName]string`.
                let go = go.and_then(|go| go.strip_prefix("map[")?.split_once(']'));
                self.map(value, go.map(|(_, go)| go), fields)
            }
            (Shape::List { item, .. }, Json::List(items)) => {
                let go = go.and_then(|go| go.strip_prefix("[]"));
                let length = self.path.len();
                let mut read = Vec::with_capacity(items.len());
                for (at, json) in items.iter().enumerate() {
                    self.enter(at);
                    read.push(self.value(item, go, json)?);
                    self.path.truncate(length);
                }
                Ok(read.into())
            }
            (Shape::Object(_) | Shape::Map { .. } | Shape::List { .. }, _) => {
                Ok(self.mismatch(json.word(), go, shape))
            }
        }
    }

    fn object(&mut self, ty: &Type, fields: &[(Cow<'_, str>, Json<'_>)]) -> Result<Value, String> {
        let mut object = Map::new();
        let has_metadata = ty.field("metadata").is_some();
        let (owner, depth, length) = (self.owner, self.fields.len(), self.path.len());
        for (key, json) in fields {
            let Some(field) = ty.field(key) else {
                self.fault("unknown", key);
                continue;
            };
            if object.contains_key(field.name) {
                self.fault("duplicate", key);
            }
            self.owner = Some(short_name(ty));
            // Not in the table, where it would stand with each kind.
            let is_kind = matches!(field.name, "apiVersion" | "kind") && has_metadata;
            let within = if is_kind { "TypeMeta" } else { field.within };
            self.fields.extend(within.split('.').filter(|it| !it.is_empty()));
            self.fields.push(field.name);
            self.step(key);
            let value = self.field(field, json)?;
            object.insert(field.name.to_owned(), value);
            self.owner = owner;
            self.fields.truncate(depth);
            self.path.truncate(length);
        }
        Ok(object.into())
    }

    fn field(&mut self, field: &Field, json: &Json<'_>) -> Result<Value, String> {
        self.value(&field.shape, field.go, json)
    }

    /// A custom resource: without a type, but for its metadata.
    fn open(&mut self, ty: &Type, fields: &[(Cow<'_, str>, Json<'_>)]) -> Result<Value, String> {
        let mut object = Map::new();
        for (key, json) in fields {
            if object.contains_key(key.as_ref()) {
                self.fault("duplicate", key);
            }
            let length = self.path.len();
            self.step(key);
            let value = if let Some(field) = ty.field(key) {
                self.field(field, json)?
            } else {
                self.doubles(json);
                json.to_value()
            };
            self.path.truncate(length);
            object.insert(key.to_string(), value);
        }
        Ok(object.into())
    }

    fn map(
        &mut self,
        shape: &Shape,
        go: Option<&str>,
        fields: &[(Cow<'_, str>, Json<'_>)],
    ) -> Result<Value, String> {
        let mut object = Map::new();
        let length = self.path.len();
        for (key, json) in fields {
            if object.contains_key(key.as_ref()) {
                self.fault("duplicate", key);
            }
            self.step(key);
            let value = self.value(shape, go, json)?;
            self.path.truncate(length);
            object.insert(key.to_string(), value);
        }
        Ok(object.into())
    }

    /// The doubled fields of what has no type.
    fn doubles(&mut self, json: &Json<'_>) {
        let length = self.path.len();
        match json {
            Json::Map(fields) => {
                let mut seen = BTreeSet::new();
                for (key, json) in fields {
                    if !seen.insert(key) {
                        self.fault("duplicate", key);
                    }
                    self.step(key);
                    self.doubles(json);
                    self.path.truncate(length);
                }
            }
            Json::List(items) => {
                for (at, json) in items.iter().enumerate() {
                    self.enter(at);
                    self.doubles(json);
                    self.path.truncate(length);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }

    fn scalar(
        &mut self,
        (shape, scalar): (&Shape, Scalar),
        go: Option<&str>,
        json: &Json<'_>,
    ) -> Result<Value, String> {
        if *json == Json::Null {
            return Ok(Value::Null);
        }
        match (scalar, json) {
            (Scalar::String | Scalar::IntOrString, Json::String(text)) => Ok(text.as_ref().into()),
            (Scalar::Bool, Json::Bool(it)) => Ok((*it).into()),
            (Scalar::Bytes, Json::String(text)) => Ok(match base64(text) {
                Ok(text) => text.into(),
                Err(at) => {
                    let wrong = format!("illegal base64 data at input byte {at}");
                    self.wrong.get_or_insert(wrong);
                    Value::Null
                }
            }),
            (Scalar::Int32, Json::Number(text)) => match text.parse::<i32>() {
                Ok(number) => Ok(number.into()),
                Err(_) => Ok(self.mismatch(&format!("number {text}"), go, shape)),
            },
            (Scalar::Int64, Json::Number(text)) => match text.parse::<i64>() {
                Ok(number) => Ok(number.into()),
                Err(_) => Ok(self.mismatch(&format!("number {text}"), go, shape)),
            },
            (Scalar::Double, Json::Number(text)) => match number(text) {
                Some(number) => Ok(number.into()),
                None => Ok(self.mismatch(&format!("number {text}"), go, shape)),
            },
            (Scalar::Time | Scalar::MicroTime, Json::String(text)) => {
                let micro = scalar == Scalar::MicroTime;
                let layout = if micro { Layout::Micros } else { Layout::Seconds };
                Ok(normal(text, layout)?.map_or(Value::Null, Value::String))
            }
            (Scalar::Time | Scalar::MicroTime, _) => Err(self.wrong(json.word(), "string")),
            (Scalar::IntOrString, Json::Number(text)) => match text.parse::<i32>() {
                Ok(number) => Ok(number.into()),
                Err(_) => Err(self.wrong(&format!("number {text}"), "int32")),
            },
            (Scalar::IntOrString, _) => Err(self.wrong(json.word(), "int32")),
            (Scalar::Quantity, Json::String(text)) => Ok(Quantity::canonical(text.trim())?.into()),
            (Scalar::Quantity, Json::Number(text)) => Ok(Quantity::canonical(text)?.into()),
            (Scalar::Quantity, _) => Ok(Quantity::canonical("true")?.into()),
            _ => Ok(self.mismatch(json.word(), go, shape)),
        }
    }

    /// A value of a wrong type; reading continues.
    fn mismatch(&mut self, what: &str, go: Option<&str>, shape: &Shape) -> Value {
        if self.wrong.is_none() {
            let go = go.map_or_else(|| self.name(shape), |go| go.to_owned().into());
            self.wrong = Some(self.wrong(what, &go));
        }
        Value::Null
    }

    fn wrong(&self, what: &str, go: &str) -> String {
        let into = match self.owner {
            None => "Go value".to_owned(),
            Some(owner) => format!("Go struct field {owner}.{}", self.fields.join(".")),
        };
        format!("json: cannot unmarshal {what} into {into} of type {go}")
    }

    /// The Go type of what has a shape and no other name.
    fn name(&self, shape: &Shape) -> Cow<'static, str> {
        match shape {
            Shape::Object(id) => go_name(self.schema.get(*id)).into(),
            Shape::Map { value, .. } => format!("map[string]{}", self.name(value)).into(),
            Shape::List { item, .. } => format!("[]{}", self.name(item)).into(),
            Shape::Any => "interface {}".into(),
            Shape::Scalar(scalar) => match scalar {
                Scalar::String => "string",
                Scalar::Bytes => "[]uint8",
                Scalar::Time => "v1.Time",
                Scalar::MicroTime => "v1.MicroTime",
                Scalar::Quantity => "resource.Quantity",
                Scalar::IntOrString => "intstr.IntOrString",
                Scalar::Int32 => "int32",
                Scalar::Int64 => "int64",
                Scalar::Double => "float64",
                Scalar::Bool => "bool",
            }
            .into(),
        }
    }

    fn step(&mut self, key: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
    }

    fn enter(&mut self, index: usize) {
        self.path.push('[');
        self.path.push_str(&index.to_string());
        self.path.push(']');
    }

    /// An unknown or doubled field.
    fn fault(&mut self, what: &str, key: &str) {
        let path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        let fault = format!("{what} field {path:?}");
        if self.faults.len() < FAULTS_MAX && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

/// Base64 as Go writes it again; the error is where it is wrong.
fn base64(text: &str) -> Result<String, usize> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut seen: Vec<u8> = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().enumerate().filter(|(_, it)| !matches!(it, b'\r' | b'\n'));
    let mut padded = None;
    for (at, byte) in bytes.by_ref() {
        if !ALPHABET.contains(&byte) {
            let tail = seen.len() % 4;
            if byte != b'=' || tail < 2 {
                return Err(at);
            }
            padded = Some((at, tail));
            break;
        }
        seen.push(byte);
    }
    let tail = seen.len() % 4;
    match padded {
        None if tail == 0 => return String::from_utf8(seen).map_err(|_| 0),
        None => return Err(text.len() - tail),
        Some((_, 2)) => match bytes.next() {
            Some((_, b'=')) => {}
            Some((at, _)) => return Err(at - 1),
            None => return Err(text.len()),
        },
        Some(_) => {}
    }
    if let Some((at, _)) = bytes.next() {
        return Err(at);
    }
    // Bits that do not fill a byte are lost.
    if let Some(last) = seen.last_mut() {
        let value = ALPHABET.iter().position(|it| it == last).unwrap_or(0);
        let kept = if tail == 2 { value & 0x30 } else { value & 0x3c };
        *last = ALPHABET.get(kept).copied().unwrap_or(b'A');
    }
    seen.extend(std::iter::repeat_n(b'=', 4 - tail));
    String::from_utf8(seen).map_err(|_| 0)
}

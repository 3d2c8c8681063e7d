//! From bytes to an object of a type, as the API server's decoder does it (sigs.k8s.io/json into
//! the Go types and out again): what is of the wrong type is refused, what the type does not have
//! is dropped, and what remains is as Go writes it.

mod complete;
mod json;
mod moment;
mod protobuf;
mod reader;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::{Schema, TypeId};
use json::Json;

pub use complete::complete;
pub use protobuf::from_protobuf;

/// What becomes of fields that a type does not have, and of fields that are there twice:
/// `fieldValidation` of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// They are dropped.
    Ignore,
    /// They are dropped, and named in warnings.
    Warn,
    /// They are an error.
    Strict,
}

/// An object that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// With the fields that its type has and no others.
    pub object: Value,
    /// What a client is to be warned of.
    pub warnings: Vec<String>,
}

/// Why a body cannot be read, in the words of the API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It is no JSON or YAML, or a value is of the wrong type.
    #[error("{0}")]
    Malformed(String),
    /// It is read strictly and has fields that are unknown or doubled.
    #[error("strict decoding error: {}", .0.join(", "))]
    Strict(Vec<String>),
}

/// Reads the JSON of an object of type `id`.
pub fn decode(
    schema: &Schema,
    id: TypeId,
    json: &[u8],
    strictness: Strictness,
) -> Result<Decoded, DecodeError> {
    let json = json::parse(json).map_err(DecodeError::Malformed)?;
    typed(schema, id, &json, strictness)
}

/// Reads an object of type `id` from a value, as if it were its JSON.
pub fn decode_value(
    schema: &Schema,
    id: TypeId,
    value: &Value,
    strictness: Strictness,
) -> Result<Decoded, DecodeError> {
    let json = json::of(value).map_err(DecodeError::Malformed)?;
    typed(schema, id, &json, strictness)
}

fn typed(
    schema: &Schema,
    id: TypeId,
    json: &Json<'_>,
    strictness: Strictness,
) -> Result<Decoded, DecodeError> {
    let (mut object, faults) = reader::read(schema, id, json).map_err(DecodeError::Malformed)?;
    complete(schema, id, &mut object);
    match strictness {
        Strictness::Ignore => Ok(Decoded { object, warnings: Vec::new() }),
        Strictness::Strict if !faults.is_empty() => Err(DecodeError::Strict(faults)),
        Strictness::Warn | Strictness::Strict => Ok(Decoded { object, warnings: faults }),
    }
}

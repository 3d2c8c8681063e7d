//! What the fields of the API's types are, and what follows from that alone: which bodies can be
//! read, how patches apply, and which manager owns which field.
//!
//! The types of Kubernetes 1.36.3 are a table, made from the OpenAPI document that its API server
//! serves. This crate is pure: values in, values out.

pub mod apply;
mod decode;
pub mod openapi;
pub mod patch;
mod table;

pub use decode::{DecodeError, Decoded, Strictness, complete, decode, decode_value, from_protobuf};
pub use table::{Field, ListKind, Merge, Presence, Scalar, Schema, Shape, Type, TypeId};

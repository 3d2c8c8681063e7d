//! What controllers know of the Kubernetes API: views of its kinds, and the words around them.
//!
//! A *view* is a read-only struct with just the fields that some controller reads, decoded straight
//! from the wire; unknown fields are skipped and never stored. Kinds that we write back whole also
//! keep their [`Raw`] JSON. This crate is pure: no clock, no I/O, no randomness.
#![deny(clippy::wildcard_enum_match_arm)]

mod condition;
mod intern;
mod kind;
mod meta;
mod names;
mod pod;
mod raw;
mod replicaset;
mod resource;
mod selector;
mod time;
pub mod wire;

#[cfg(test)]
mod tests;

pub use condition::{Condition, Status};
pub use intern::{Text, intern};
pub use kind::{Codec, DecodeError, Index, Kind};
pub use meta::{Key, Labels, Meta, OwnerRef};
pub use names::{is_label_key, is_label_value, is_subdomain};
pub use pod::{Phase, Pod};
pub use raw::Raw;
pub use replicaset::{ReplicaSet, ReplicaSetStatus};
pub use resource::Resource;
pub use selector::{Requirement, Selector, SelectorError};
pub use time::Time;

//! Semantics of API values that the manager and the sandbox share. As k8s.io/apimachinery, and
//! pure: values in, values out.

pub mod fields;
mod quantity;

pub use quantity::Quantity;

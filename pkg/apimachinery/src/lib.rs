//! Facts of the API that the manager and the sandbox share: what a value means, whoever holds it.
//! As k8s.io/apimachinery, and as pure: values in, values out.

pub mod fields;
mod quantity;

pub use quantity::Quantity;

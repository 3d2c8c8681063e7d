//! The kinds of admissionregistration.k8s.io. Expressions are not looked at.

mod policy;
mod rules;

pub use policy::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};

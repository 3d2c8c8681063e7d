//! The kinds of admissionregistration.k8s.io. Expressions are not looked at.

mod policy;
mod rules;
mod webhook;

pub use policy::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
pub use webhook::WebhookConfiguration;

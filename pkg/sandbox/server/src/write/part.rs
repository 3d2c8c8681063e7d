//! Which part of an object an update is about.

use apimachinery::fields;
use serde_json::{Map, Value, json};
use strategies::{CertificateSigningRequest, Environment, Invalid, Namespace, pod};

use super::fields::{items, keep, metadata, number, set, text};
use super::policy::status_keeps;
use crate::registry::Served;

/// A part of an object that is updated alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All but what the strategy keeps.
    Whole,
    /// `/status`.
    Status,
    /// `/approval` of CertificateSigningRequests.
    Approval,
    /// `/ephemeralcontainers` of pods.
    EphemeralContainers,
    /// `/resize` of pods.
    Resize,
    /// `/finalize` of namespaces.
    Finalize,
}

impl Part {
    /// The part behind a subresource.
    pub(crate) fn of(subresource: &str) -> Option<Self> {
        match subresource {
            "" => Some(Self::Whole),
            "status" => Some(Self::Status),
            "approval" => Some(Self::Approval),
            "ephemeralcontainers" => Some(Self::EphemeralContainers),
            "resize" => Some(Self::Resize),
            "finalize" => Some(Self::Finalize),
            _ => None,
        }
    }

    /// The object as it is with this part of `sent` and all else of `old`, as far as the kind does
    /// not see to that itself.
    pub(super) fn lay(self, sent: Value, old: &Value, served: &Served) -> Value {
        match self {
            Self::Whole | Self::Approval | Self::Finalize => sent,
            Self::Status => status(sent, old, served),
            Self::EphemeralContainers => {
                let mut new = old.clone();
                carry_version(&mut new, &sent);
                keep(&mut new, &sent, &["spec"], "ephemeralContainers");
                new
            }
            Self::Resize => counted(resized(&sent, old), old),
        }
    }

    /// What the kind does with an update of this part (PrepareForUpdate).
    pub(super) fn prepare(
        self,
        served: &Served,
        (new, old): (&mut Value, &Value),
        env: &Environment<'_>,
    ) {
        match self {
            Self::Whole => served.strategy.prepare_update(new, old, env),
            Self::Status => served.strategy.prepare_status(new, old, env),
            Self::Approval => CertificateSigningRequest::prepare_approval(new, old, env),
            Self::EphemeralContainers => pod::prepare_ephemeral_containers(new, old),
            Self::Finalize => Namespace::prepare_finalize(new, old),
            Self::Resize => {}
        }
    }

    /// What an update of this part may not say.
    pub(super) fn validate(self, served: &Served, new: &Value, old: &Value) -> Vec<Invalid> {
        match self {
            Self::Whole => served.strategy.validate_update(new, old),
            Self::Status => served.strategy.validate_status(new, old),
            Self::Approval => CertificateSigningRequest::validate_approval(new, old),
            Self::EphemeralContainers => pod::validate_ephemeral_containers(new, old),
            Self::Finalize => Namespace::validate_finalize(new),
            Self::Resize => Vec::new(),
        }
    }
}

/// The status, and the metadata that the kind lets through with it.
fn status(mut sent: Value, old: &Value, served: &Served) -> Value {
    const SENT: [&str; 2] = ["status", "metadata"];
    let rest = old.as_object().into_iter().flatten();
    let rest = rest.filter(|(name, _)| !SENT.contains(&name.as_str()));
    let mut new: Map<String, Value> =
        rest.map(|(name, value)| (name.clone(), value.clone())).collect();
    for field in SENT {
        set(&mut new, field, sent.get_mut(field).map(Value::take).unwrap_or_default());
    }
    let mut new = Value::Object(new);
    for field in status_keeps(&served.table, served.custom) {
        keep(&mut new, old, &["metadata"], field);
    }
    new
}

/// The resources of containers that are there under the same names.
fn resized(sent: &Value, old: &Value) -> Value {
    let mut new = old.clone();
    carry_version(&mut new, sent);
    for field in ["containers", "initContainers"] {
        let pointer = format!("/spec/{field}");
        let wanted = items(sent, &pointer);
        let name = |it: &Value| text(it, "/name").to_owned();
        let names: Vec<_> = items(old, &pointer).iter().map(name).collect();
        if names != wanted.iter().map(name).collect::<Vec<_>>() {
            // Validation says what is wrong with it.
            return sent.clone();
        }
        let containers = new.pointer_mut(&pointer).and_then(Value::as_array_mut);
        for (container, wanted) in containers.into_iter().flatten().zip(wanted) {
            keep(container, wanted, &[], "resources");
            keep(container, wanted, &[], "resizePolicy");
        }
    }
    keep(&mut new, sent, &["spec"], "resources");
    new
}

/// The version and the owners of fields are what the client sent.
fn carry_version(new: &mut Value, sent: &Value) {
    for field in ["resourceVersion", "managedFields", "uid", "name", "namespace"] {
        let value = fields::at(sent, &format!("/metadata/{field}")).cloned().unwrap_or_default();
        set(metadata(new), field, value);
    }
}

/// With the next generation, if the spec is another (updatePodGeneration).
fn counted(mut new: Value, old: &Value) -> Value {
    if new.get("spec") != old.get("spec") {
        let generation = number(old, "/metadata/generation").unwrap_or(0) + 1;
        metadata(&mut new).insert("generation".to_owned(), json!(generation));
    }
    new
}

//! Pods and pod templates: the rules of pkg/registry/core/pod, pkg/apis/core/v1 and
//! pkg/apis/core/validation.
//!
//! What is left out: see `Limits` at [`validate_template`].

use std::borrow::Cow;

use api::Time;
use serde_json::Value;

use crate::value::{flag, items, number, text};
use crate::{Cell, Column, Environment, Invalid, Strategy};

mod binding;
mod compact;
mod create;
mod defaults;
mod image;
mod print;
mod qos;
mod resources;
mod status;
mod transition;
mod update;
mod validation;
mod volume_defaults;
mod warnings;

#[cfg(test)]
mod tests;

pub use binding::{bind, copy_metadata, validate_binding};
pub use defaults::{default_pod_spec, default_template};
pub use update::{prepare_ephemeral_containers, validate_ephemeral_containers};
pub use validation::validate_template;
pub use warnings::template_warnings;

/// The kind of pods.
pub struct Pod;

impl Strategy for Pod {
    fn default(&self, object: &mut Value) {
        defaults::default_pod(object);
    }

    fn prepare_create(&self, object: &mut Value, env: &Environment<'_>) {
        create::prepare(object, env.now);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        validation::validate_pod(object)
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        update::prepare(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        update::validate(new, old)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        status::prepare(new, old);
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        status::validate(new, old)
    }

    /// Upstream warns of new pods only, not of updates.
    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { warnings::pod_warnings(object) }
    }

    fn grace_seconds(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        let spec = spec(object);
        let has_ended = matches!(text(status(object), "phase"), "Failed" | "Succeeded");
        if text(spec, "nodeName").is_empty() || has_ended {
            return Some(0);
        }
        let period = asked.or_else(|| number(spec, "terminationGracePeriodSeconds"));
        Some(match period.unwrap_or_default() {
            ..0 => 1,
            period => period,
        })
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let (spec, status) = (spec(object), status(object));
        let value = match field {
            "spec.nodeName" | "spec.host" => text(spec, "nodeName"),
            "spec.restartPolicy" => text(spec, "restartPolicy"),
            "spec.schedulerName" => text(spec, "schedulerName"),
            "spec.serviceAccountName" => text(spec, "serviceAccountName"),
            "spec.hostNetwork" if flag(spec, "hostNetwork") => "true",
            "spec.hostNetwork" => "false",
            "status.phase" => text(status, "phase"),
            "status.podIP" => items(status, "podIPs").first().map_or("", |first| text(first, "ip")),
            // Upstream takes it in a selector, and no pod has it.
            "status.podIPs" => "",
            "status.nominatedNodeName" => text(status, "nominatedNodeName"),
            _ => return None,
        };
        Some(Cow::Owned(value.to_owned()))
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &[
            "spec.nodeName",
            "spec.host",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ]
    }

    fn columns(&self) -> &'static [Column] {
        &print::COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        print::row(object, now)
    }
}

/// The spec of a pod or template; absent is null.
fn spec(object: &Value) -> &Value {
    object.get("spec").unwrap_or(&Value::Null)
}

/// The status; absent is null.
fn status(object: &Value) -> &Value {
    object.get("status").unwrap_or(&Value::Null)
}

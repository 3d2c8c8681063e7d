//! ReplicationControllers. Upstream: pkg/apis/core, pkg/registry/core/replicationcontroller.

use std::borrow::Cow;

use api::Time;
use serde_json::Value;

use crate::apps::replicaset;
use crate::generation;
use crate::selector::{self, LabelSelector};
use crate::value::{count, fill, get, or_null, pairs, section, set};
use crate::workload::{self, NEGATIVE, endless, mismatch, not_negative};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy, pod};

#[cfg(test)]
mod tests;

/// ReplicationControllers.
pub struct ReplicationController;

/// Written also if it is 0.
const STATUS: [&str; 1] = ["replicas"];

impl Strategy for ReplicationController {
    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &STATUS);
        let labels = or_null(object, "/spec/template/metadata/labels");
        let spec = section(object, "spec");
        if pairs(spec, "/selector").is_empty() && !labels.is_null() {
            set(spec, "selector", labels.clone());
        }
        fill(spec, "replicas", 1);
        if get(spec, "/template").is_some() {
            workload::default_template(spec);
        }
        if pairs(object, "/metadata/labels").is_empty() && !labels.is_null() {
            set(section(object, "metadata"), "labels", labels);
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        workload::created(object, &STATUS);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        validate_spec(&or_null(object, "/spec"))
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::updated(new, old);
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        validate_spec(&or_null(new, "/spec"))
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        replicaset::validate_status(&or_null(new, "/status"))
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            None => workload::warnings(object, None),
            // Upstream looks at the template that there was.
            Some(old) if generation::is_new(object, Some(old)) => {
                workload::template_warnings(old, None)
            }
            Some(_) => Vec::new(),
        }
    }

    fn default_propagation(&self) -> &'static str {
        "Orphan"
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let replicas = || count(object, "/status/replicas").to_string().into();
        (field == "status.replicas").then(replicas)
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["status.replicas"]
    }

    fn columns(&self) -> &'static [Column] {
        replicaset::COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        replicaset::row(object, &selector::print_labels(&or_null(object, "/spec/selector")), now)
    }

    fn scale_selector(&self, object: &Value) -> Option<String> {
        crate::scale::selector(object)
    }
}

fn validate_spec(spec: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let mut faults = not_negative(spec, &["minReadySeconds"], &path);
    let selector = LabelSelector::of_labels(&or_null(spec, "/selector"));
    if selector.is_everything() {
        faults.push(path.child("selector").required(""));
    }
    let replicas = path.child("replicas");
    match get(spec, "/replicas").and_then(Value::as_i64) {
        None => faults.push(replicas.required("")),
        Some(count) if count < 0 => faults.push(replicas.invalid(count, NEGATIVE)),
        Some(_) => {}
    }
    let path = path.child("template");
    let Some(template) = get(spec, "/template") else {
        faults.push(path.required(""));
        return faults;
    };
    if !selector.is_everything() {
        faults.extend(mismatch(&selector, template, &path));
    }
    faults.extend(pod::validate_template(template, &path));
    faults.extend(endless(template, "ReplicationController", &path));
    faults
}

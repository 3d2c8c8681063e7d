//! What a pod may not say (pkg/apis/core/validation).

use serde_json::Value;

use crate::formats::label_key;
use crate::pod::spec;
use crate::selector::validate_labels;
use crate::value::{annotation, entries, get, items, number, or_null, text};
use crate::{Fault, Invalid, Path};

mod affinity;
mod containers;
mod environment;
mod handlers;
mod mounts;
mod requirements;
mod spec;
mod spreading;
mod volumes;

pub(crate) use spec::tolerations;

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Whose spec it is: some rules are for pods alone, since old templates break them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Pod,
    Template,
}

/// What a new pod may not say (ValidatePodCreate).
pub(crate) fn validate_pod(pod: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let mut faults = validate_metadata_and_spec(pod);
    let spec = spec(pod);
    if !items(spec, "ephemeralContainers").is_empty() {
        faults.push(path.child("ephemeralContainers").forbidden("cannot be set on create"));
    }
    if !text(spec, "nodeName").is_empty() && !items(spec, "schedulingGates").is_empty() {
        let fault = "cannot be set until all schedulingGates have been cleared";
        faults.push(path.child("nodeName").forbidden(fault));
    }
    faults
}

/// What any pod may not say, but for the metadata of any object (validatePodMetadataAndSpec).
pub(crate) fn validate_metadata_and_spec(pod: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let annotations = Path::new("metadata").child("annotations");
    let mut faults = pod_annotations(pod, &annotations);
    let spec = spec(pod);
    faults.extend(spec::validate(spec, &path, Owner::Pod));
    if text(spec, "serviceAccountName").is_empty() {
        for (index, volume) in items(spec, "volumes").iter().enumerate() {
            let path = path.child("volumes").index(index).child("projected").child("sources");
            let sources =
                get(volume, "projected").map(|it| items(it, "sources")).unwrap_or_default();
            for (index, source) in sources.iter().enumerate() {
                if get(source, "serviceAccountToken").is_some() {
                    let path = path.index(index).child("serviceAccountToken");
                    let fault = "must not be specified when serviceAccountName is not set";
                    faults.push(path.forbidden(fault));
                }
            }
        }
    }
    for containers in ["containers", "initContainers"] {
        for (index, container) in items(spec, containers).iter().enumerate() {
            faults
                .extend(containers::image_of_pod(container, &path.child(containers).index(index)));
        }
    }
    faults
}

/// What the pod template of a workload may not say (ValidatePodTemplateSpec), `path` being that of
/// the template.
///
/// # Limits
///
/// Not looked at: security contexts, resource claims, sysctls, Windows, annotations of seccomp and
/// AppArmor, host aliases' and name servers' addresses, and sources of volumes that only clouds and
/// old clusters have.
pub fn validate_template(template: &Value, path: &Path) -> Vec<Invalid> {
    let null = Value::Null;
    let metadata = template.get("metadata").unwrap_or(&null);
    let mut faults = validate_labels(&or_null(metadata, "labels"), &path.child("labels"));
    let annotations = path.child("annotations");
    for (key, _) in entries(metadata, "annotations") {
        // Upstream looks at annotations' keys in lower case.
        let checked = label_key(&key.to_lowercase());
        faults.extend(checked.iter().map(|fault| annotations.invalid(key, fault)));
    }
    faults.extend(pod_annotations(template, &annotations));
    let spec = spec(template);
    let path = path.child("spec");
    faults.extend(spec::validate(spec, &path, Owner::Template));
    if !items(spec, "ephemeralContainers").is_empty() {
        let fault = "ephemeral containers not allowed in pod template";
        faults.push(path.child("ephemeralContainers").forbidden(fault));
    }
    faults
}

/// Annotations that mean something (ValidatePodSpecificAnnotations).
pub(crate) fn pod_annotations(pod: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if let Some(mirror) = annotation(pod, MIRROR)
        && text(spec(pod), "nodeName").is_empty()
    {
        let fault = "must set spec.nodeName if mirror pod annotation is set";
        faults.push(path.key(MIRROR).invalid(mirror, fault));
    }
    if let Some(cost) = annotation(pod, DELETION_COST)
        && (cost.parse::<i32>().is_err() || !has_first_digit(cost))
    {
        faults.push(path.key(DELETION_COST).invalid(cost, "must be a 32bit integer"));
    }
    faults
}

fn has_first_digit(number: &str) -> bool {
    number == "0" || number.starts_with(|char| matches!(char, '-' | '1'..='9'))
}

/// A value of an enumeration: required, and one of these.
fn one_of(value: &str, known: &[&str], path: &Path) -> Option<Invalid> {
    if value.is_empty() { Some(path.required("")) } else { known_if_set(value, known, path) }
}

/// A value of an enumeration that may be left out.
fn known_if_set(value: &str, known: &[&str], path: &Path) -> Option<Invalid> {
    let is_known = value.is_empty() || known.contains(&value);
    (!is_known).then(|| path.not_supported(value, known))
}

/// A number that may be absent, and is not negative.
fn not_negative(value: &Value, field: &str, path: &Path) -> Option<Invalid> {
    let number = number(value, field).filter(|it| *it < 0)?;
    Some(path.child(field).invalid(number, "must be greater than or equal to 0"))
}

fn duplicate(path: &Path, value: &str) -> Invalid {
    path.is(Fault::Duplicate(value.into()))
}

fn not_found(path: &Path, value: &str) -> Invalid {
    path.is(Fault::NotFound(value.into()))
}

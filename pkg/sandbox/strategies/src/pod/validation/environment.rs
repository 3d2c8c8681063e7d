//! Environment variables (ValidateEnv, ValidateEnvFrom), and what they and volumes read of the pod.

use serde_json::Value;

use crate::formats::{config_key, dns_label, dns_subdomain, label_key, variable_name};
use crate::value::{get, items, text};
use crate::{Invalid, Path};

const VARIABLE_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const FILE_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
/// What the downward API knows of a pod at all.
const FIELDS: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// The reader of a field of the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Variable,
    File,
}

/// The variables of a container.
pub(super) fn validate(container: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for (index, variable) in items(container, "env").iter().enumerate() {
        let path = path.child("env").index(index);
        match text(variable, "name") {
            "" => faults.push(path.child("name").required("")),
            name => faults.extend(path.child("name").refuse(name, variable_name(name))),
        }
        if let Some(source) = get(variable, "valueFrom") {
            let value = text(variable, "value");
            faults.extend(source_of_variable(source, value, &path.child("valueFrom")));
        }
    }
    let all = path.child("envFrom");
    for (index, source) in items(container, "envFrom").iter().enumerate() {
        let path = all.index(index);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            faults.extend(path.child("prefix").refuse(prefix, variable_name(prefix)));
        }
        let mut sources = 0;
        for field in ["configMapRef", "secretRef"] {
            let Some(source) = get(source, field) else { continue };
            sources += 1;
            let path = path.child(field).child("name");
            match text(source, "name") {
                "" => faults.push(path.required("")),
                name => faults.extend(path.refuse(name, dns_subdomain(name))),
            }
        }
        // Upstream names the list here, not the item.
        let fault = match sources {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        faults.push(all.invalid("", fault));
    }
    faults
}

/// validateEnvVarValueFrom.
fn source_of_variable(source: &Value, value: &str, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let mut sources = 0;
    let mut each = |field: &str, faults_of: &dyn Fn(&Value, &Path) -> Vec<Invalid>| {
        if let Some(source) = get(source, field) {
            sources += 1;
            faults.extend(faults_of(source, &path.child(field)));
        }
    };
    each("fieldRef", &|source, path| field_ref(source, Reader::Variable, path));
    each("resourceFieldRef", &|source, path| resource_ref(source, Reader::Variable, path));
    each("configMapKeyRef", &key_ref);
    each("secretKeyRef", &key_ref);
    each("fileKeyRef", &file_ref);
    let fault = match (sources, value) {
        (0, _) => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
             `secretKeyRef` or `fileKeyRef`"
        }
        (1, "") => return faults,
        (_, "") => "may not have more than one field specified at a time",
        (_, _) => "may not be specified when `value` is not empty",
    };
    faults.push(path.invalid("", fault));
    faults
}

fn key_ref(source: &Value, path: &Path) -> Vec<Invalid> {
    let name = text(source, "name");
    let mut faults = path.child("name").refuse(name, dns_subdomain(name));
    let path = path.child("key");
    match text(source, "key") {
        "" => faults.push(path.required("")),
        key => faults.extend(path.refuse(key, config_key(key))),
    }
    faults
}

fn file_ref(source: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let (key, volume) = (text(source, "key"), text(source, "volumeName"));
    let named = [("key", key, variable_name(key)), ("volumeName", volume, dns_label(volume))];
    for (field, value, wrongs) in named {
        match value {
            "" => faults.push(path.child(field).required("")),
            _ => faults.extend(path.child(field).refuse(value, wrongs)),
        }
    }
    match text(source, "path") {
        "" => faults.push(path.child("path").required("")),
        file => faults.extend(no_backsteps(file, &path.child("path"))),
    }
    faults
}

/// validateObjectFieldSelector.
pub(super) fn field_ref(source: &Value, reader: Reader, path: &Path) -> Vec<Invalid> {
    for field in ["apiVersion", "fieldPath"] {
        if text(source, field).is_empty() {
            return vec![path.child(field).required("")];
        }
    }
    let (version, field) = (text(source, "apiVersion"), text(source, "fieldPath"));
    let broken = |why: String| {
        let fault = format!("error converting fieldPath: {why}");
        vec![path.child("fieldPath").invalid(field, &fault)]
    };
    if version != "v1" {
        return broken(format!("unsupported pod version: {version}"));
    }
    if let Some((map, key)) = subscripted(field) {
        return match map {
            "metadata.annotations" => {
                path.refuse(&key.to_lowercase(), label_key(&key.to_lowercase()))
            }
            "metadata.labels" => path.refuse(key, label_key(key)),
            _ => broken(format!("field label does not support subscript: {field}")),
        };
    }
    let inner = if field == "spec.host" { "spec.nodeName" } else { field };
    if !FIELDS.contains(&inner) {
        return broken(format!("field label not supported: {field}"));
    }
    let known: &[&str] = match reader {
        Reader::Variable => &VARIABLE_FIELDS,
        Reader::File => &FILE_FIELDS,
    };
    let is_known = known.contains(&inner);
    let fault = || path.child("fieldPath").not_supported(inner, known);
    (!is_known).then(fault).into_iter().collect()
}

/// `metadata.labels['key']`: the map and the key (SplitMaybeSubscriptedPath).
fn subscripted(field: &str) -> Option<(&str, &str)> {
    let (map, key) = field.strip_suffix("']")?.split_once("['")?;
    (!map.is_empty()).then_some((map, key))
}

/// validateContainerResourceFieldSelector, but for the divisor.
pub(super) fn resource_ref(source: &Value, reader: Reader, path: &Path) -> Vec<Invalid> {
    let resource = text(source, "resource");
    if reader == Reader::File && text(source, "containerName").is_empty() {
        return vec![path.child("containerName").required("")];
    }
    let path = path.child("resource");
    let is_huge = ["requests.hugepages-", "limits.hugepages-"];
    if resource.is_empty() {
        vec![path.required("")]
    } else if RESOURCES.contains(&resource) || is_huge.iter().any(|it| resource.starts_with(it)) {
        Vec::new()
    } else {
        vec![path.not_supported(resource, &RESOURCES)]
    }
}

/// validatePathNoBacksteps.
pub(super) fn no_backsteps(file: &str, path: &Path) -> Option<Invalid> {
    file.split('/').any(|part| part == "..").then(|| path.invalid(file, "must not contain '..'"))
}

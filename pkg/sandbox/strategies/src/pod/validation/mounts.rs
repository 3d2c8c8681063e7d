//! Where volumes are put (ValidateVolumeMounts, ValidateVolumeDevices).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::environment::no_backsteps;
use super::not_found;
use crate::value::{flag, get, items, text};
use crate::{Invalid, Path};

type Volumes<'a> = BTreeMap<&'a str, &'a Value>;

/// The mounts and devices of a container.
pub(super) fn validate(container: &Value, volumes: &Volumes<'_>, path: &Path) -> Vec<Invalid> {
    let mut faults = mounts(container, volumes, &path.child("volumeMounts"));
    faults.extend(devices(container, volumes, &path.child("volumeDevices")));
    faults
}

fn mounts(container: &Value, volumes: &Volumes<'_>, path: &Path) -> Vec<Invalid> {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    let devices = items(container, "volumeDevices");
    for (index, mount) in items(container, "volumeMounts").iter().enumerate() {
        let all = path;
        let path = path.index(index);
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            faults.push(path.child("name").required(""));
        }
        if !volumes.contains_key(name) {
            faults.push(not_found(&path.child("name"), name));
        }
        if place.is_empty() {
            faults.push(path.child("mountPath").required(""));
        }
        if !seen.insert(place) {
            faults.push(path.child("mountPath").invalid(place, "must be unique"));
        }
        if devices.iter().any(|it| text(it, "name") == name) {
            let fault = "must not already exist in volumeDevices";
            faults.push(path.child("name").invalid(name, fault));
        }
        if devices.iter().any(|it| text(it, "devicePath") == place) {
            let fault = "must not already exist as a path in volumeDevices";
            faults.push(path.child("mountPath").invalid(place, fault));
        }
        faults.extend(sub_paths(mount, &path, all));
        faults.extend(propagation(mount, container, all));
    }
    faults
}

/// Upstream names the list of mounts with the field here, not the item.
fn sub_paths(mount: &Value, path: &Path, all: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let (plain, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    if !plain.is_empty() {
        faults.extend(relative(plain, &all.child("subPath")));
    }
    if !expression.is_empty() {
        if !plain.is_empty() {
            let fault = "subPathExpr and subPath are mutually exclusive";
            faults.push(path.child("subPathExpr").invalid(expression, fault));
        }
        faults.extend(relative(expression, &all.child("subPathExpr")));
    }
    faults
}

/// validateLocalDescendingPath.
pub(super) fn relative(file: &str, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if file.starts_with('/') {
        faults.push(path.invalid(file, "must be a relative path"));
    }
    faults.extend(no_backsteps(file, path));
    faults
}

fn propagation(mount: &Value, container: &Value, all: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let propagation = get(mount, "mountPropagation").and_then(Value::as_str);
    let path = all.child("mountPropagation");
    let is_privileged = get(container, "/securityContext").is_some_and(|it| flag(it, "privileged"));
    match propagation {
        None | Some("HostToContainer" | "None") => {}
        Some("Bidirectional") if is_privileged => {}
        Some("Bidirectional") => {
            let fault =
                "Bidirectional mount propagation is available only to privileged containers";
            faults.push(path.forbidden(fault));
        }
        Some(other) => {
            let known = ["Bidirectional", "HostToContainer", "None"];
            faults.push(path.not_supported(other, &known));
        }
    }
    let path = all.child("recursiveReadOnly");
    match get(mount, "recursiveReadOnly").and_then(Value::as_str) {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !flag(mount, "readOnly") {
                faults.push(path.forbidden("may only be specified when readOnly is true"));
            }
            if propagation.is_some_and(|it| it != "None") {
                let fault = "may only be specified when mountPropagation is None or not specified";
                faults.push(path.forbidden(fault));
            }
        }
        Some(other) => {
            faults.push(path.not_supported(other, &["Disabled", "Enabled", "IfPossible"]));
        }
    }
    faults
}

fn devices(container: &Value, volumes: &Volumes<'_>, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
    let mounts = items(container, "volumeMounts");
    for (index, device) in items(container, "volumeDevices").iter().enumerate() {
        let path = path.index(index);
        let (name, place) = (text(device, "name"), text(device, "devicePath"));
        let (on_name, on_place) = (path.child("name"), path.child("devicePath"));
        if name.is_empty() {
            faults.push(on_name.required(""));
        }
        if names.contains(name) {
            faults.push(on_name.invalid(name, "must be unique"));
        }
        let is_claim = |volume: &&Value| {
            get(volume, "persistentVolumeClaim").or_else(|| get(volume, "ephemeral")).is_some()
        };
        match volumes.get(name) {
            None => faults.push(not_found(&on_name, name)),
            Some(volume) if is_claim(volume) => {}
            Some(_) => {
                let fault = "can only use volume source type of PersistentVolumeClaim or \
                             Ephemeral for block mode";
                faults.push(on_name.invalid(name, fault));
            }
        }
        if place.is_empty() {
            faults.push(on_place.required(""));
        }
        if places.contains(place) {
            faults.push(on_place.invalid(place, "must be unique"));
        }
        if no_backsteps(place, &on_place).is_some() {
            faults.push(on_place.invalid(place, "can not contain backsteps ('..')"));
        } else {
            places.insert(place);
        }
        if mounts.iter().any(|it| text(it, "name") == name) {
            faults.push(on_name.invalid(name, "must not already exist in volumeMounts"));
        }
        if mounts.iter().any(|it| text(it, "mountPath") == place) {
            let fault = "must not already exist as a path in volumeMounts";
            faults.push(on_place.invalid(place, fault));
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
    faults
}

//! The kinds of resource.k8s.io. What claims, slices and classes say of devices is not checked.

use std::borrow::Cow;

use api::Time;
use serde_json::{Value, json};

use crate::formats::dns_subdomain;
use crate::generation;
use crate::metadata::immutable;
use crate::table::{AGE, NAME, age, cell, heading, name};
use crate::value::{fill, fill_zero, get, get_mut, items, items_mut, keep, section, set, text};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

const CLAIM: &[Column] = &[NAME, heading("State"), AGE];
const SLICE: &[Column] = &[NAME, heading("Node"), heading("Driver"), heading("Pool"), AGE];

/// Requested devices.
pub struct ResourceClaim;

/// What claims of pods look like.
pub struct ResourceClaimTemplate;

/// Devices that are there.
pub struct ResourceSlice;

/// What devices are like.
pub struct DeviceClass;

impl Strategy for ResourceClaim {
    fn default(&self, object: &mut Value) {
        default_requests(section(object, "spec"));
        section(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        immutable(new, old, "/spec", &Path::new("spec")).into_iter().collect()
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn columns(&self) -> &'static [Column] {
        CLAIM
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![name(object), state(object).into(), age(object, now)]
    }
}

impl Strategy for ResourceClaimTemplate {
    fn default(&self, object: &mut Value) {
        let template = section(object, "spec");
        if let Some(found) = get_mut(template, "spec") {
            default_requests(found);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        immutable(new, old, "/spec", &Path::new("spec")).into_iter().collect()
    }
}

impl Strategy for ResourceSlice {
    fn prepare_create(&self, object: &mut Value, env: &Environment<'_>) {
        generation::start(object);
        time_taints(object, env.now);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("driver");
        match text(object, "/spec/driver") {
            "" => vec![path.required("")],
            driver => path.refuse(driver, dns_subdomain(driver)),
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, env: &Environment<'_>) {
        time_taints(new, env.now);
        generation::count(new, old, &["/spec"]);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let mut wrongs = self.validate_create(new);
        for (pointer, path) in [
            ("/spec/pool/name", path.child("pool").child("name")),
            ("/spec/driver", path.child("driver")),
            ("/spec/nodeName", path.child("nodeName")),
        ] {
            wrongs.extend(immutable(new, old, pointer, &path));
        }
        wrongs
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let value = match field {
            "spec.driver" => text(object, "/spec/driver"),
            "spec.nodeName" => text(object, "/spec/nodeName"),
            _ => return None,
        };
        Some(value.to_owned().into())
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["spec.driver", "spec.nodeName"]
    }

    fn columns(&self) -> &'static [Column] {
        SLICE
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![
            name(object),
            cell(object, "/spec/nodeName"),
            cell(object, "/spec/driver"),
            cell(object, "/spec/pool/name"),
            age(object, now),
        ]
    }
}

impl Strategy for DeviceClass {
    fn default(&self, object: &mut Value) {
        section(object, "spec");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        generation::start(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/spec"]);
    }
}

/// As `SetDefaults_DeviceTaint`: a taint was added now if it does not say when.
fn time_taints(slice: &mut Value, now: Time) {
    for device in items_mut(section(slice, "spec"), "devices") {
        for taint in items_mut(device, "taints") {
            fill(taint, "timeAdded", now.to_string());
        }
    }
}

/// One device, if no count is set.
fn default_requests(spec: &mut Value) {
    let count = |request: &mut Value| {
        fill_zero(request, "allocationMode", "ExactCount");
        if text(request, "/allocationMode") == "ExactCount" {
            fill_zero(request, "count", 1);
        }
    };
    let devices = section(spec, "devices");
    for request in items_mut(devices, "requests") {
        if let Some(found) = get_mut(request, "exactly") {
            count(found);
        }
        for item in items_mut(request, "firstAvailable") {
            count(item);
        }
    }
}

/// As resourceClaimState.
fn state(object: &Value) -> String {
    let deleted = get(object, "/metadata/deletionTimestamp").is_some();
    let allocated = get(object, "/status/allocation").is_some();
    let reserved = allocated && !items(object, "/status/reservedFor").is_empty();
    let states = [
        ("deleted", deleted),
        ("pending", !deleted && !allocated),
        ("allocated", allocated),
        ("reserved", reserved),
    ];
    let states = states.iter().filter(|(_, is)| *is).map(|(state, _)| *state);
    states.collect::<Vec<_>>().join(",")
}

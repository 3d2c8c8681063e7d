//! Namespace.

use std::borrow::Cow;

use api::Time;
use serde_json::{Value, json};

use crate::formats::label_key;
use crate::table::{AGE, NAME, age, cell, heading, name};
use crate::value::{fill_zero, get, items, keep, remove, section, set, text, texts};
use crate::{Cell, Column, Environment, Invalid, NameRule, Path, Strategy};

const COLUMNS: &[Column] = &[NAME, heading("Status"), AGE];

/// A namespace.
pub struct Namespace;

impl Namespace {
    /// The same as [`Strategy::prepare_status`] of an update of `/finalize`.
    pub fn prepare_finalize(new: &mut Value, old: &Value) {
        keep(new, old, "status");
    }

    /// What an update of `/finalize` may not say.
    pub fn validate_finalize(new: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("finalizers");
        let finalizers = texts(new, "/spec/finalizers").into_iter().enumerate();
        finalizers.flat_map(|(index, name)| finalizer_wrongs(name, &path.index(index))).collect()
    }
}

impl Strategy for Namespace {
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn default(&self, object: &mut Value) {
        label(object);
        section(object, "spec");
        fill_zero(section(object, "status"), "phase", "Active");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        // The name may have been generated since it was defaulted.
        label(object);
        set(object, "status", json!({ "phase": "Active" }));
        let mut finalizers: Vec<Value> = items(object, "/spec/finalizers").to_vec();
        if !finalizers.contains(&"kubernetes".into()) {
            finalizers.push("kubernetes".into());
        }
        set(section(object, "spec"), "finalizers", finalizers);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("finalizers");
        let finalizers = texts(object, "/spec/finalizers").into_iter();
        finalizers.flat_map(|name| finalizer_wrongs(name, &path)).collect()
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        label(new);
        let finalizers = get(old, "/spec/finalizers").cloned();
        let spec = section(new, "spec");
        match finalizers {
            Some(finalizers) => set(spec, "finalizers", finalizers),
            None => drop(remove(spec, "finalizers")),
        }
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        let phase = text(new, "/status/phase");
        let deleting = get(new, "/metadata/deletionTimestamp").is_some();
        let wrong = match (deleting, phase) {
            (false, "Active") | (true, "Terminating") => return Vec::new(),
            (false, _) => "may only be 'Active' if `deletionTimestamp` is empty",
            (true, _) => "may only be 'Terminating' if `deletionTimestamp` is not empty",
        };
        vec![Path::new("status").child("Phase").invalid(phase, wrong)]
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let value = match field {
            "status.phase" => text(object, "/status/phase"),
            "name" => text(object, "/metadata/name"),
            _ => return None,
        };
        Some(value.to_owned().into())
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["name", "status.phase"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![name(object), cell(object, "/status/phase"), age(object, now)]
    }
}

/// Upstream also does this after validation (Canonicalize), so that no client can remove it.
fn label(object: &mut Value) {
    let name = text(object, "/metadata/name").to_owned();
    if name.is_empty() {
        return;
    }
    let metadata = section(object, "metadata");
    set(section(metadata, "labels"), "kubernetes.io/metadata.name", name);
}

fn finalizer_wrongs(name: &str, path: &Path) -> Vec<Invalid> {
    let mut wrongs = path.refuse(name, label_key(name));
    let standard = ["kubernetes", "orphan", "foregroundDeletion"].contains(&name);
    if !name.contains('/') && !standard {
        let wrong = "name is neither a standard finalizer name nor is it fully qualified";
        wrongs.push(path.invalid(name, wrong));
    }
    wrongs
}

//! PersistentVolumeClaim.

use std::borrow::Cow;

use api::Time;
use serde_json::{Value, json};

use crate::amounts::positive;
use crate::formats::dns_subdomain;
use crate::metadata::immutable;
use crate::selector::{self, Values};
use crate::semantic::same_at;
use crate::table::{AGE, NAME, access_modes, age, cell, cell_or, heading, name, wide};
use crate::value::{annotation, fill, fill_zero, get, keep, maybe, remove, section, set, text};
use crate::{Cell, Column, Environment, Invalid, Path, Quantity, Strategy};

use super::persistentvolume::{access_mode_wrongs, class, phase, volume_mode_wrongs};

const COLUMNS: &[Column] = &[
    NAME,
    heading("Status"),
    heading("Volume"),
    heading("Capacity"),
    heading("Access Modes"),
    heading("StorageClass"),
    heading("VolumeAttributesClass"),
    AGE,
    wide("VolumeMode"),
];
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const ATTRIBUTES: &str = "/spec/volumeAttributesClassName";
const STORAGE: &str = "/spec/resources/requests/storage";

/// A claim to a volume.
pub struct PersistentVolumeClaim;

impl Strategy for PersistentVolumeClaim {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        fill(spec, "volumeMode", "Filesystem");
        section(spec, "resources");
        fill_zero(section(object, "status"), "phase", "Pending");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({ "phase": "Pending" }));
        data_sources(object, None);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let required = "at least 1 access mode is required";
        let mut wrongs = access_mode_wrongs(object, &path, required);
        if let Some(labels) = get(object, "/spec/selector") {
            wrongs.extend(selector::validate(labels, Values::Checked, &path.child("selector")));
        }
        let storage = path.child("resources").key("storage");
        match get(object, STORAGE) {
            None => wrongs.push(storage.required("")),
            Some(amount) => wrongs.extend(positive(amount, &storage)),
        }
        let named = |name: &str| {
            let class = text(object, &format!("/spec/{name}"));
            let wrongs = if class.is_empty() { Vec::new() } else { dns_subdomain(class) };
            path.child(name).refuse(class, wrongs)
        };
        wrongs.extend(named("storageClassName"));
        wrongs.extend(volume_mode_wrongs(object, &path));
        wrongs.extend(source_wrongs(object, &path));
        wrongs.extend(named("volumeAttributesClassName"));
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
        data_sources(new, Some(old));
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        if !adopts_class(new, old) && annotation(new, CLASS) != annotation(old, CLASS) {
            let path = Path::new("metadata").child("annotations").child(CLASS);
            let said = annotation(new, CLASS).unwrap_or_default();
            wrongs.push(path.invalid(said, "field is immutable"));
        }
        if !same_at(&frozen(new, old), &frozen(old, old), "/spec") {
            let wrong = "spec is immutable after creation except resources.requests and \
                         volumeAttributesClassName for bound claims";
            wrongs.push(Path::new("spec").forbidden(wrong));
        }
        let amount = |object: &Value, at: &str| {
            get(object, at).and_then(Quantity::from_json).unwrap_or_default()
        };
        let (is, was) = (amount(new, STORAGE), amount(old, STORAGE));
        if is < was && is <= amount(old, "/status/capacity/storage") {
            let path = Path::new("spec").child("resources").child("requests").child("storage");
            wrongs.push(path.forbidden("field can not be less than status.capacity"));
        }
        wrongs.extend(immutable(new, old, "/spec/volumeMode", &Path::new("volumeMode")));
        let current = get(old, "/status/currentVolumeAttributesClassName").is_some();
        if current && !same_at(new, old, ATTRIBUTES) {
            let what = match maybe(new, ATTRIBUTES) {
                None => "nil",
                Some("") => "empty string",
                Some(_) => return wrongs,
            };
            let wrong = format!(
                "update to {what} is forbidden when status.currentVolumeAttributesClassName is \
                 not nil"
            );
            wrongs.push(Path::new("spec").child("volumeAttributesClassName").forbidden(&wrong));
        }
        wrongs
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        (field == "name").then(|| text(object, "/metadata/name").to_owned().into())
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["name"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let bound = !text(object, "/spec/volumeName").is_empty();
        let of_volume = |cell: Cell| if bound { cell } else { "".into() };
        vec![
            name(object),
            phase(object),
            cell(object, "/spec/volumeName"),
            of_volume(cell_or(object, "/status/capacity/storage", "0")),
            of_volume(access_modes(object, "/status/accessModes").into()),
            class(object),
            maybe(object, ATTRIBUTES).unwrap_or("<unset>").into(),
            age(object, now),
            maybe(object, "/spec/volumeMode").unwrap_or("<unset>").into(),
        ]
    }
}

/// Whether the class that an annotation named is now named by the field.
fn adopts_class(new: &Value, old: &Value) -> bool {
    let was = annotation(old, CLASS);
    was.is_some()
        && maybe(old, "/spec/storageClassName").is_none()
        && maybe(new, "/spec/storageClassName") == was
        && annotation(new, CLASS).is_none_or(|is| Some(is) == was)
}

/// A claim without what may change between `old` and it.
fn frozen(object: &Value, old: &Value) -> Value {
    let mut object = object.clone();
    let bound = text(old, "/status/phase") == "Bound";
    let (unset, annotated) =
        (maybe(old, "/spec/storageClassName").is_none(), annotation(old, CLASS));
    let class = maybe(&object, "/spec/storageClassName").map(str::to_owned);
    let may_name = unset && annotated.is_none_or(|was| class.as_deref() == Some(was));
    let named = !text(old, "/spec/volumeName").is_empty();
    let spec = section(&mut object, "spec");
    if !named {
        remove(spec, "volumeName");
    }
    if may_name {
        remove(spec, "storageClassName");
    }
    if bound {
        remove(spec, "volumeAttributesClassName");
        let resources = section(spec, "resources");
        remove(section(resources, "requests"), "storage");
    }
    object
}

/// `dataSource` and `dataSourceRef` say the same, and only claims and snapshots are sources
/// (NormalizeDataSources, EnforceDataSourceBackwardsCompatibility).
fn data_sources(object: &mut Value, old: Option<&Value>) {
    let used = old.is_some_and(|old| {
        ["/spec/dataSource", "/spec/dataSourceRef"].iter().any(|it| get(old, it).is_some())
    });
    let spec = section(object, "spec");
    let known = get(spec, "/dataSource").is_none_or(|source| {
        let (group, kind) = (text(source, "/apiGroup"), text(source, "/kind"));
        matches!(
            (group, kind),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    });
    if !used && !known && get(spec, "/dataSourceRef").is_none() {
        remove(spec, "dataSource");
    }
    let (source, reference) =
        (get(spec, "/dataSource").cloned(), get(spec, "/dataSourceRef").cloned());
    match (source, reference) {
        (Some(source), None) => set(spec, "dataSourceRef", source),
        (None, Some(reference)) if text(&reference, "/namespace").is_empty() => {
            set(spec, "dataSource", reference);
        }
        (_, _) => {}
    }
}

fn source_wrongs(object: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    for name in ["dataSource", "dataSourceRef"] {
        let Some(source) = get(object, &format!("/spec/{name}")) else { continue };
        let path = path.child(name);
        for field in ["name", "kind"] {
            if text(source, &format!("/{field}")).is_empty() {
                wrongs.push(path.child(field).required(""));
            }
        }
        let (group, kind) = (text(source, "/apiGroup"), text(source, "/kind"));
        if group.is_empty() && kind != "PersistentVolumeClaim" {
            wrongs.push(path.invalid(
                kind,
                "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            ));
        }
    }
    wrongs
}

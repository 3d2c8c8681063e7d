//! What drivers of volumes say of themselves.

use api::Time;
use serde_json::{Value, json};

use crate::formats::{dns_subdomain, label_key};
use crate::generation;
use crate::metadata::immutable;
use crate::semantic::same;
use crate::table::{AGE, NAME, age, boolean, heading, integer, name};
use crate::value::{fill, flag, get, items, items_mut, number, remove, section, set, text, texts};
use crate::{Cell, Column, Environment, Fault, Invalid, Path, Strategy};

const NODE: &[Column] = &[NAME, integer("Drivers"), AGE];
const DRIVER: &[Column] = &[
    NAME,
    boolean("AttachRequired"),
    boolean("PodInfoOnMount"),
    boolean("StorageCapacity"),
    heading("TokenRequests"),
    boolean("RequiresRepublish"),
    heading("Modes"),
    AGE,
];
const LIFECYCLES: [&str; 2] = ["Persistent", "Ephemeral"];
const NODE_ID_LENGTH_MAX: usize = 256;
const OWNERSHIPS: [&str; 3] = ["File", "None", "ReadWriteOnceWithFSType"];

/// The drivers of a node.
pub struct CSINode;

/// A driver.
pub struct CSIDriver;

impl Strategy for CSINode {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        fill(spec, "drivers", Value::Null);
        for driver in items_mut(spec, "drivers") {
            fill(driver, "topologyKeys", Value::Null);
        }
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("drivers");
        let drivers = items(object, "/spec/drivers");
        let mut wrongs = Vec::new();
        for (index, driver) in drivers.iter().enumerate() {
            let path = path.index(index);
            let name = text(driver, "/name");
            wrongs.extend(driver_name(name, &path.child("name")));
            let (id, id_path) = (text(driver, "/nodeID"), path.child("nodeID"));
            if id.is_empty() {
                wrongs.push(id_path.required(""));
            }
            if id.len() > NODE_ID_LENGTH_MAX {
                wrongs.push(id_path.invalid(id, "must be 256 characters or less"));
            }
            if let Some(count) = number(driver, "/allocatable/count").filter(|it| *it < 0) {
                let wrong = "must be greater than or equal to 0";
                wrongs.push(path.child("allocatable").child("count").invalid(count, wrong));
            }
            if drivers[..index].iter().any(|other| text(other, "/name") == name) {
                wrongs.push(path.child("name").is(Fault::Duplicate(name.into())));
            }
            let keys = texts(driver, "/topologyKeys");
            for (index, key) in keys.iter().enumerate() {
                if key.is_empty() {
                    wrongs.push(path.required(""));
                }
                if keys[..index].contains(key) {
                    wrongs.push(path.is(Fault::Duplicate((*key).into())));
                }
                wrongs.extend(path.refuse(key, label_key(key)));
            }
        }
        wrongs
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        let fixed = |driver: &Value| {
            let mut driver = driver.clone();
            remove(&mut driver, "allocatable");
            driver
        };
        for was in items(old, "/spec/drivers") {
            for is in items(new, "/spec/drivers") {
                let same_name = text(is, "/name") == text(was, "/name");
                let (is, was) = (fixed(is), fixed(was));
                if same_name && !same(&is, &was) {
                    let path = Path::new("spec").child("drivers");
                    wrongs.push(path.invalid(is, "field is immutable"));
                }
            }
        }
        wrongs
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        NODE
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![name(object), items(object, "/spec/drivers").len().into(), age(object, now)]
    }
}

impl Strategy for CSIDriver {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        fill(spec, "attachRequired", true);
        for name in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
            fill(spec, name, false);
        }
        fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        if items(spec, "/volumeLifecycleModes").is_empty() {
            set(spec, "volumeLifecycleModes", json!(["Persistent"]));
        }
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let mut wrongs = Vec::new();
        let policy = text(object, "/spec/fsGroupPolicy");
        if !policy.is_empty() && !OWNERSHIPS.contains(&policy) {
            wrongs.push(path.child("fsGroupPolicy").not_supported(policy, &OWNERSHIPS));
        }
        wrongs.extend(tokens(object, &path.child("tokenRequests")));
        let modes = texts(object, "/spec/volumeLifecycleModes").into_iter();
        let unknown = modes.filter(|mode| !LIFECYCLES.contains(mode));
        let field = path.child("volumeLifecycleModes");
        wrongs.extend(unknown.map(|mode| field.not_supported(mode, &LIFECYCLES)));
        let period = number(object, "/spec/nodeAllocatableUpdatePeriodSeconds");
        if let Some(seconds) = period.filter(|seconds| *seconds < 10) {
            let wrong = "must be greater than or equal to 10 seconds";
            wrongs.push(path.child("nodeAllocatableUpdatePeriodSeconds").invalid(seconds, wrong));
        }
        let secret = get(object, "/spec/serviceAccountTokenInSecrets");
        if let (Some(secret), true) = (secret, items(object, "/spec/tokenRequests").is_empty()) {
            let wrong = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
            wrongs.push(path.child("serviceAccountTokenInSecrets").invalid(secret.clone(), wrong));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/spec"]);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        // Upstream misspells the first.
        for (pointer, name) in [
            ("/spec/attachRequired", "attachedRequired"),
            ("/spec/volumeLifecycleModes", "volumeLifecycleModes"),
        ] {
            wrongs.extend(immutable(new, old, pointer, &Path::new("spec").child(name)));
        }
        wrongs
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        DRIVER
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let attach = get(object, "/spec/attachRequired").is_none_or(|it| *it == json!(true));
        let tokens = get(object, "/spec/tokenRequests").map_or("<unset>".to_owned(), |_| {
            let tokens = items(object, "/spec/tokenRequests").iter();
            tokens.map(|token| text(token, "/audience")).collect::<Vec<_>>().join(",")
        });
        let modes = texts(object, "/spec/volumeLifecycleModes").join(",");
        vec![
            name(object),
            attach.into(),
            flag(object, "/spec/podInfoOnMount").into(),
            flag(object, "/spec/storageCapacity").into(),
            tokens.into(),
            flag(object, "/spec/requiresRepublish").into(),
            if modes.is_empty() { "<none>".into() } else { modes.into() },
            age(object, now),
        ]
    }
}

/// ValidateCSIDriverName.
pub(super) fn driver_name(name: &str, path: &Path) -> Vec<Invalid> {
    if name.is_empty() {
        return vec![path.required("")];
    }
    let mut wrongs = Vec::new();
    if name.len() > 63 {
        wrongs.push(path.is(Fault::TooLong(63)));
    }
    wrongs.extend(path.refuse(name, dns_subdomain(&name.to_lowercase())));
    wrongs
}

fn tokens(object: &Value, path: &Path) -> Vec<Invalid> {
    let tokens = items(object, "/spec/tokenRequests");
    let mut wrongs = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let path = path.index(index);
        let audience = text(token, "/audience");
        if tokens[..index].iter().any(|other| text(other, "/audience") == audience) {
            wrongs.push(path.child("audience").is(Fault::Duplicate(audience.into())));
            continue;
        }
        let path = path.child("expirationSeconds");
        match number(token, "/expirationSeconds") {
            Some(seconds) if seconds < 600 => {
                let wrong = "may not specify a duration less than 10 minutes";
                wrongs.push(path.invalid(seconds, wrong));
            }
            Some(seconds) if seconds > 1 << 32 => {
                let wrong = "may not specify a duration larger than 2^32 seconds";
                wrongs.push(path.invalid(seconds, wrong));
            }
            Some(_) | None => {}
        }
    }
    wrongs
}

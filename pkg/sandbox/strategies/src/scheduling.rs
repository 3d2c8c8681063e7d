//! The kinds of scheduling.k8s.io.

use api::Time;
use serde_json::Value;

use crate::generation;
use crate::metadata::immutable;
use crate::table::{AGE, NAME, age, boolean, cell, integer, name, wide};
use crate::value::{count, fill, flag, maybe, text};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

const COLUMNS: &[Column] =
    &[NAME, integer("Value"), boolean("Global-Default"), AGE, wide("PreemptionPolicy")];
const HIGHEST: i64 = 1_000_000_000;
const POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];
const SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", 2 * HIGHEST + 1000), ("system-cluster-critical", 2 * HIGHEST)];

/// How much a pod matters.
pub struct PriorityClass;

impl Strategy for PriorityClass {
    fn default(&self, object: &mut Value) {
        fill(object, "preemptionPolicy", "PreemptLowerPriority");
        fill(object, "value", 0);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let value = count(object, "/value");
        let name = text(object, "/metadata/name");
        let mut wrongs = Vec::new();
        if name.starts_with("system-") {
            let error = system_error(name, value, flag(object, "/globalDefault"));
            wrongs.extend(error.map(|error| {
                let wrong = "priority class names with 'system-' prefix are reserved for system \
                             use only. error: ";
                Path::new("metadata").child("name").forbidden(&format!("{wrong}{error}"))
            }));
        } else if value > HIGHEST {
            let wrong = format!("maximum allowed value of a user defined priority is {HIGHEST}");
            wrongs.push(Path::new("value").forbidden(&wrong));
        }
        let path = Path::new("preemptionPolicy");
        match maybe(object, "/preemptionPolicy") {
            None => {}
            Some("") => wrongs.push(path.required("")),
            Some(policy) if POLICIES.contains(&policy) => {}
            Some(policy) => wrongs.push(path.not_supported(policy, &POLICIES)),
        }
        wrongs
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let value = |it| count(it, "/value");
        let mut wrongs = Vec::new();
        if value(new) != value(old) {
            wrongs.push(Path::new("value").forbidden("may not be changed in an update."));
        }
        wrongs.extend(immutable(new, old, "/preemptionPolicy", &Path::new("preemptionPolicy")));
        wrongs
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![
            name(object),
            count(object, "/value").into(),
            flag(object, "/globalDefault").into(),
            age(object, now),
            cell(object, "/preemptionPolicy"),
        ]
    }
}

/// Why it is none of the two that the system has (IsKnownSystemPriorityClass).
fn system_error(name: &str, value: i64, global: bool) -> Option<String> {
    match SYSTEM.iter().find(|(known, _)| *known == name) {
        None => Some(format!("{name} is not a known system priority class")),
        Some((_, known)) if *known != value => {
            Some(format!("value of {name} PriorityClass must be {known}"))
        }
        Some(_) if global => Some(format!("globalDefault of {name} PriorityClass must be false")),
        Some(_) => None,
    }
}

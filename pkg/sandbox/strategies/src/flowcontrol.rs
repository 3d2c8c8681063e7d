//! The kinds of flowcontrol.apiserver.k8s.io. What is mandatory of the two levels and schemas that
//! always are is not checked.

use api::Time;
use serde_json::{Value, json};

use crate::formats::dns_subdomain;
use crate::generation;
use crate::table::{AGE, NAME, age, cell, heading, name};
use crate::value::{
    count, fill, fill_zero, get, get_mut, items, keep, maybe, number, section, set, text,
};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

const SCHEMA: &[Column] = &[
    NAME,
    heading("PriorityLevel"),
    heading("MatchingPrecedence"),
    heading("DistinguisherMethod"),
    AGE,
    heading("MissingPL"),
];
const LEVEL: &[Column] = &[
    NAME,
    heading("Type"),
    heading("NominalConcurrencyShares"),
    heading("Queues"),
    heading("HandSize"),
    heading("QueueLengthLimit"),
    AGE,
];
const METHODS: [&str; 2] = ["ByNamespace", "ByUser"];
const PRECEDENCE_MAX: i64 = 10_000;
const TYPES: [&str; 2] = ["Exempt", "Limited"];

/// Which requests are of which level.
pub struct FlowSchema;

/// How many requests of a level there may be at once.
pub struct PriorityLevelConfiguration;

impl Strategy for FlowSchema {
    fn default(&self, object: &mut Value) {
        fill_zero(section(object, "spec"), "matchingPrecedence", 1000);
        section(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({}));
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let precedence = count(object, "/spec/matchingPrecedence");
        let field = path.child("matchingPrecedence");
        let mut wrongs = Vec::new();
        if precedence <= 0 {
            wrongs.push(field.invalid(precedence, "must be a positive value"));
        }
        if precedence > PRECEDENCE_MAX {
            let wrong = format!("must not be greater than {PRECEDENCE_MAX}");
            wrongs.push(field.invalid(precedence, &wrong));
        }
        if precedence == 1 && text(object, "/metadata/name") != "exempt" {
            let wrong = "only the schema named 'exempt' may have matchingPrecedence 1";
            wrongs.push(field.invalid(precedence, wrong));
        }
        if let Some(method) = get(object, "/spec/distinguisherMethod")
            && !METHODS.contains(&text(method, "/type"))
        {
            let field = path.child("distinguisherMethod").child("type");
            wrongs.push(field.not_supported(method.clone(), &METHODS));
        }
        let field = path.child("priorityLevelConfiguration").child("name");
        match text(object, "/spec/priorityLevelConfiguration/name") {
            "" => wrongs.push(field.required("must reference a priority level")),
            level => wrongs.extend(field.refuse(level, dns_subdomain(level))),
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/spec"]);
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn columns(&self) -> &'static [Column] {
        SCHEMA
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let mut conditions = items(object, "/status/conditions").iter();
        let dangling = conditions.find(|it| text(it, "/type") == "Dangling");
        vec![
            name(object),
            cell(object, "/spec/priorityLevelConfiguration/name"),
            count(object, "/spec/matchingPrecedence").into(),
            maybe(object, "/spec/distinguisherMethod/type").unwrap_or("<none>").into(),
            age(object, now),
            dangling.map_or("?", |it| text(it, "/status")).into(),
        ]
    }
}

impl Strategy for PriorityLevelConfiguration {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        for (side, shares) in [("limited", 30), ("exempt", 0)] {
            if let Some(level) = get_mut(spec, side) {
                fill(level, "nominalConcurrencyShares", shares);
                fill(level, "lendablePercent", 0);
                if let Some(queuing) = get_mut(level, "/limitResponse/queuing") {
                    fill_zero(queuing, "handSize", 8);
                    fill_zero(queuing, "queues", 64);
                    fill_zero(queuing, "queueLengthLimit", 50);
                }
            }
        }
        section(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({}));
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let kind = text(object, "/spec/type");
        let (limited, exempt) = (get(object, "/spec/limited"), get(object, "/spec/exempt"));
        let mut wrongs = Vec::new();
        if (text(object, "/metadata/name") == "exempt") != (kind == "Exempt") {
            let wrong = "must be 'Exempt' if and only if `name` is 'exempt'";
            wrongs.push(path.child("type").invalid(kind, wrong));
        }
        let field = path.child("limited");
        match (kind, limited) {
            ("Exempt", Some(_)) => {
                wrongs.push(field.forbidden("must be nil if the type is not Limited"));
            }
            ("Limited", None) => {
                wrongs.push(field.required("must not be empty when type is Limited"));
            }
            ("Limited", Some(limited)) => wrongs.extend(limited_wrongs(limited, &field)),
            ("Exempt", None) => {}
            ("", _) => wrongs.push(path.child("type").required("")),
            (_, _) => wrongs.push(path.child("type").not_supported(kind, &TYPES)),
        }
        if kind == "Limited" && exempt.is_some() {
            wrongs.push(path.child("exempt").forbidden("must be nil if the type is Limited"));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/spec"]);
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn columns(&self) -> &'static [Column] {
        LEVEL
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let queuing = "/spec/limited/limitResponse/queuing";
        let count =
            |pointer: &str| -> Cell { number(object, pointer).map_or("<none>".into(), Cell::from) };
        vec![
            name(object),
            cell(object, "/spec/type"),
            count("/spec/limited/nominalConcurrencyShares"),
            count(&format!("{queuing}/queues")),
            count(&format!("{queuing}/handSize")),
            count(&format!("{queuing}/queueLengthLimit")),
            age(object, now),
        ]
    }
}

fn limited_wrongs(limited: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    let said = |name: &str| count(limited, &format!("/{name}"));
    for (name, most, wrong) in [
        ("nominalConcurrencyShares", i64::MAX, "must be a non-negative integer"),
        ("lendablePercent", 100, "must be between 0 and 100, inclusive"),
        ("borrowingLimitPercent", i64::MAX, "if specified, must be a non-negative integer"),
    ] {
        if !(0..=most).contains(&said(name)) {
            wrongs.push(path.child(name).invalid(said(name), wrong));
        }
    }
    wrongs
}

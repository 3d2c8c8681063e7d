//! Event of the core group.

use std::borrow::Cow;

use api::Time;
use serde_json::Value;

use crate::formats::{dns_subdomain, label_key};
use crate::table::{cell, heading, since, wide};
use crate::value::{count, get, maybe, text};
use crate::{Cell, Column, Invalid, NameRule, Path, Strategy};

const COLUMNS: &[Column] = &[
    heading("Last Seen"),
    heading("Type"),
    heading("Reason"),
    heading("Object"),
    wide("Subobject"),
    wide("Source"),
    heading("Message"),
    wide("First Seen"),
    wide("Count"),
    Column { format: "name", ..wide("Name") },
];
const INVOLVED: &str = "involvedObject.";
const SELECTABLE: &[&str] = &[
    "involvedObject.apiVersion",
    "involvedObject.fieldPath",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.resourceVersion",
    "involvedObject.uid",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

/// Something that happened.
pub struct Event;

impl Strategy for Event {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let namespace = text(object, "/metadata/namespace");
        let modern = get(object, "/eventTime").is_some();
        let mut wrongs = involved_wrongs(object, namespace, modern);
        if modern {
            wrongs.extend(modern_wrongs(object));
        }
        wrongs.extend(Path::new("namespace").refuse(namespace, dns_subdomain(namespace)));
        wrongs
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn default_propagation(&self) -> &'static str {
        ""
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        if !SELECTABLE.contains(&field) {
            return None;
        }
        let value = match (field, field.strip_prefix(INVOLVED)) {
            (_, Some(part)) => text(object, &format!("/involvedObject/{part}")),
            ("source", None) => match text(object, "/source/component") {
                "" => text(object, "/reportingComponent"),
                component => component,
            },
            (_, None) => text(object, &format!("/{field}")),
        };
        Some(value.to_owned().into())
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        SELECTABLE
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let time = |pointer: &str| maybe(object, pointer);
        let first = since(time("/firstTimestamp").or(time("/eventTime")), now);
        let last = time("/lastTimestamp").map_or(first.clone(), |it| since(Some(it), now));
        let (last, times) = match get(object, "/series") {
            Some(series) => {
                (since(maybe(series, "/lastObservedTime"), now), count(series, "/count"))
            }
            None => (last, count(object, "/count").max(1)),
        };
        let kind = text(object, "/involvedObject/kind").to_lowercase();
        let target = match text(object, "/involvedObject/name") {
            "" => kind,
            name => format!("{kind}/{name}"),
        };
        vec![
            last.into(),
            cell(object, "/type"),
            cell(object, "/reason"),
            target.into(),
            cell(object, "/involvedObject/fieldPath"),
            source(object).into(),
            text(object, "/message").trim().into(),
            first.into(),
            times.into(),
            cell(object, "/metadata/name"),
        ]
    }
}

/// An event lives where its object lives, or, if that is in no namespace, where those do.
fn involved_wrongs(object: &Value, namespace: &str, modern: bool) -> Vec<Invalid> {
    let involved = text(object, "/involvedObject/namespace");
    let fits = match (involved, modern) {
        ("", false) => ["", "default"].contains(&namespace),
        ("", true) => ["default", "kube-system"].contains(&namespace),
        (involved, false) => involved == namespace,
        (_, true) => true,
    };
    let path = Path::new("involvedObject").child("namespace");
    (!fits).then(|| path.invalid(involved, "does not match event.namespace")).into_iter().collect()
}

/// What events with an `eventTime` must say.
fn modern_wrongs(object: &Value) -> Vec<Invalid> {
    let controller = text(object, "/reportingComponent");
    let path = Path::new("reportingComponent");
    let mut wrongs = Vec::new();
    if controller.is_empty() {
        wrongs.push(path.required(""));
    }
    wrongs.extend(path.refuse(controller, label_key(controller)));
    for name in ["reportingInstance", "action", "reason"] {
        let (path, value) = (Path::new(name), text(object, &format!("/{name}")));
        if value.is_empty() {
            wrongs.push(path.required(""));
        }
        if value.len() > 128 {
            wrongs.push(path.invalid("", "can have at most 128 characters"));
        }
    }
    if text(object, "/message").len() > 1024 {
        wrongs.push(Path::new("message").invalid("", "can have at most 1024 characters"));
    }
    wrongs
}

/// As formatEventSource.
fn source(object: &Value) -> String {
    let first = |one: &str, other: &str| match text(object, one) {
        "" => text(object, other).to_owned(),
        said => said.to_owned(),
    };
    let component = first("/source/component", "/reportingComponent");
    match first("/source/host", "/reportingInstance").as_str() {
        "" => component,
        host => format!("{component}, {host}"),
    }
}

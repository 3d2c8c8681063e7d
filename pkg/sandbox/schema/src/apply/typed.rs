//! Values of a type: what is wrong with them, which fields they set, what is left of them without
//! some. Upstream: structured-merge-diff's typed.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map as Fields, Value};

use super::atom::{Atoms, Kind, List, Map, Place};
use super::element::Element;
use super::set::Set;
use crate::patch::{plain, syntax, type_of};

/// What is wrong with a value, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    path: String,
    why: String,
}

impl Flaw {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { path: String::new(), why: why.into() }
    }

    /// The same, seen from one step above.
    pub(super) fn below(mut self, element: &impl ToString) -> Self {
        self.path.insert_str(0, &element.to_string());
        self
    }
}

/// All flaws as one error.
pub(super) fn text(flaws: &[Flaw]) -> String {
    let one = |flaw: &Flaw| match flaw.path.as_str() {
        "" => flaw.why.clone(),
        path => format!("{path}: {}", flaw.why),
    };
    if let [flaw] = flaws {
        return one(flaw);
    }
    let mut text = "errors:".to_owned();
    for flaw in flaws {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {}", one(flaw));
    }
    text
}

/// What is wrong with a value.
pub(super) fn flaws(atoms: Atoms<'_>, place: Place<'_>, value: &Value) -> Vec<Flaw> {
    let atom = atoms.atom(place).deduced(Some(value));
    if let Some(map) = atom.map {
        return match value {
            Value::Object(fields) => map_flaws(atoms, map, fields),
            Value::Null => Vec::new(),
            other => vec![Flaw::new(format!("expected map, got &{{{}}}", plain(other)))],
        };
    }
    if let Some(kind) = atom.scalar {
        return scalar_flaw(kind, Some(value), "").into_iter().collect();
    }
    match (atom.list, value) {
        (Some(list), Value::Array(items)) => list_flaws(atoms, list, items),
        (_, Value::Null) => Vec::new(),
        (_, other) => vec![Flaw::new(format!("expected list, got &{{{}}}", plain(other)))],
    }
}

fn map_flaws(atoms: Atoms<'_>, map: Map<'_>, fields: &Fields<String, Value>) -> Vec<Flaw> {
    let mut all = Vec::new();
    for (name, value) in fields {
        let element = Element::field(name);
        let Some(place) = map.place(name) else {
            all.push(Flaw::new("field not declared in schema").below(&element));
            // Upstream looks no further.
            break;
        };
        all.extend(flaws(atoms, place, value).into_iter().map(|flaw| flaw.below(&element)));
    }
    all
}

fn list_flaws(atoms: Atoms<'_>, list: List<'_>, items: &[Value]) -> Vec<Flaw> {
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for (item, at) in items.iter().zip(0..) {
        let element = if list.is_atomic() {
            Element::Index(at)
        } else {
            match atoms.element(list, item) {
                Ok(element) => element,
                Err(why) => {
                    all.push(Flaw::new(format!("element {at}: {why}")));
                    return all;
                }
            }
        };
        if !seen.insert(element.clone()) {
            all.push(Flaw::new(format!("duplicate entries for key {element}")));
        }
        all.extend(flaws(atoms, list.item, item).into_iter().map(|flaw| flaw.below(&element)));
    }
    all
}

pub(super) fn scalar_flaw(kind: Kind, value: Option<&Value>, prefix: &str) -> Option<Flaw> {
    let value = value.filter(|value| !value.is_null())?;
    let fits = match kind {
        Kind::Numeric => value.is_number(),
        Kind::String => value.is_string(),
        Kind::Boolean => value.is_boolean(),
        Kind::Untyped => !(value.is_array() || value.is_object()),
    };
    // As Go prints the structure that upstream holds values in.
    let why = match kind {
        Kind::Numeric => format!("expected numeric (int or float), got {}", type_of(value)),
        Kind::String => {
            format!("expected string, got &value.valueUnstructured{{Value:{}}}", syntax(value))
        }
        Kind::Boolean => format!("expected boolean, got &{{{}}}", plain(value)),
        Kind::Untyped => format!("expected any scalar, got &{{{}}}", plain(value)),
    };
    (!fits).then(|| Flaw::new(format!("{prefix}{why}")))
}

/// The fields that a value sets: all that have no parts, items of lists, keys of maps.
pub(super) fn field_set(
    atoms: Atoms<'_>,
    place: Place<'_>,
    value: &Value,
) -> Result<Set, Vec<Flaw>> {
    let mut set = Set::default();
    collect(atoms, place, value, (&mut Vec::new(), &mut set))?;
    Ok(set)
}

fn collect(
    atoms: Atoms<'_>,
    place: Place<'_>,
    value: &Value,
    into: (&mut Vec<Element>, &mut Set),
) -> Result<(), Vec<Flaw>> {
    let (path, set) = into;
    let atom = atoms.atom(place).deduced(Some(value));
    match (atom.map, atom.scalar, atom.list) {
        (Some(map), _, _) if map.atomic => set.insert(path),
        (Some(map), _, _) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                path.push(Element::field(name));
                let inner = map.place(name).unwrap_or(Place::Whole);
                collect(atoms, inner, value, (path, set))?;
                let empty = value.is_null() || value.as_object().is_some_and(Fields::is_empty);
                if empty || !map.has_field(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (_, Some(_), _) => set.insert(path),
        (_, _, Some(list)) if list.is_atomic() => set.insert(path),
        (_, _, Some(list)) => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            collect_items(atoms, list, items, (path, set))?;
        }
        (None, None, None) => {}
    }
    Ok(())
}

fn collect_items(
    atoms: Atoms<'_>,
    list: List<'_>,
    items: &[Value],
    (path, set): (&mut Vec<Element>, &mut Set),
) -> Result<(), Vec<Flaw>> {
    let elements = elements(atoms, list, items)?;
    let mut sorted: Vec<_> = elements.iter().collect();
    sorted.sort();
    for (element, item) in elements.iter().zip(items) {
        path.push(element.clone());
        // Items that are there twice are one field.
        let start = sorted.partition_point(|other| *other < element);
        if sorted.get(start + 1) != Some(&element) {
            collect(atoms, list.item, item, (path, set))?;
        }
        set.insert(path);
        path.pop();
    }
    Ok(())
}

/// What distinguishes the items of a list.
pub(super) fn elements(
    atoms: Atoms<'_>,
    list: List<'_>,
    items: &[Value],
) -> Result<Vec<Element>, Vec<Flaw>> {
    let (mut all, mut flaws) = (Vec::new(), Vec::new());
    for (at, item) in items.iter().enumerate() {
        match atoms.element(list, item) {
            Ok(element) => all.push(element),
            Err(why) => flaws.push(Flaw::new(format!("element {at}: {why}"))),
        }
    }
    if flaws.is_empty() { Ok(all) } else { Err(flaws) }
}

/// A value without some fields; what is empty then is null.
pub(super) fn without(atoms: Atoms<'_>, place: Place<'_>, value: &Value, gone: &Set) -> Value {
    let atom = atoms.atom(place).deduced(Some(value));
    match (atom.map, atom.scalar, atom.list, value) {
        (Some(map), _, _, Value::Object(fields)) if !map.atomic => {
            let mut left = Fields::new();
            for (name, value) in fields {
                let element = Element::field(name);
                if gone.has(std::slice::from_ref(&element)) {
                    continue;
                }
                let value = match (gone.within(&element), map.place(name)) {
                    (Some(gone), Some(place)) => without(atoms, place, value, gone),
                    _ => value.clone(),
                };
                left.insert(name.clone(), value);
            }
            if left.is_empty() { Value::Null } else { Value::Object(left) }
        }
        (None, Some(_), _, value) => value.clone(),
        (None, None, Some(list), Value::Array(items)) if !list.is_atomic() => {
            let left: Vec<_> = items
                .iter()
                .filter_map(|item| {
                    let Ok(element) = atoms.element(list, item) else { return Some(item.clone()) };
                    if gone.has(std::slice::from_ref(&element)) {
                        return None;
                    }
                    Some(match gone.within(&element) {
                        Some(gone) => without(atoms, list.item, item, gone),
                        None => item.clone(),
                    })
                })
                .collect();
            if left.is_empty() { Value::Null } else { Value::Array(left) }
        }
        _ => Value::Null,
    }
}

/// A value without the fields that are null, as Go's types have none: but for what has one owner
/// as a whole.
pub(super) fn without_nulls(atoms: Atoms<'_>, place: Place<'_>, value: &mut Value) {
    let atom = atoms.atom(place).deduced(Some(value));
    match (value, atom.map, atom.list) {
        (Value::Object(fields), Some(map), _) if !map.atomic => {
            fields.retain(|_, value| !value.is_null());
            for (name, value) in fields {
                without_nulls(atoms, map.place(name).unwrap_or(Place::Whole), value);
            }
        }
        (Value::Array(items), _, Some(list)) if !list.is_atomic() => {
            for item in items {
                without_nulls(atoms, list.item, item);
            }
        }
        _ => {}
    }
}

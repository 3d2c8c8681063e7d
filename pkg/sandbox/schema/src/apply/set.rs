//! Sets of fields. Upstream: structured-merge-diff's fieldpath.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::atom::{Atoms, Place};
use super::element::Element;

/// The fields that a manager owns, as a tree. That a field is owned says nothing about those in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    /// What is owned.
    members: BTreeSet<Element>,
    /// What holds something owned: never an empty set.
    children: BTreeMap<Element, Set>,
}

impl Set {
    /// Adds what a path leads to; no manager owns the object as a whole.
    pub(super) fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => drop(self.members.insert(last.clone())),
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    pub(super) fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|it| it.has(rest)),
        }
    }

    /// What is owned in a field.
    pub(super) fn within(&self, element: &Element) -> Option<&Self> {
        self.children.get(element).filter(|it| !it.is_empty())
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            let entry = all.children.entry(element.clone()).or_default();
            *entry = entry.union(set);
        }
        all
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            let both = set.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            let left = match other.children.get(element) {
                Some(other) => set.difference(other),
                None => set.clone(),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// What begins with an element for which that holds.
    pub(super) fn filtered(&self, keeps: impl Fn(&Element) -> bool) -> Self {
        let mut left = self.clone();
        left.members.retain(|element| keeps(element));
        left.children.retain(|element, _| keeps(element));
        left
    }

    /// With all fields that have a name in their type and hold something owned, other than keys of
    /// maps. Upstream: `EnsureNamedFieldsAreMembers`.
    pub(super) fn with_named_fields(&self, atoms: Atoms<'_>, place: Option<Place<'_>>) -> Self {
        let map = place.and_then(|place| atoms.atom(place).map);
        let list = place.and_then(|place| atoms.atom(place).list);
        let mut all = Self { members: self.members.clone(), children: BTreeMap::new() };
        for (element, set) in &self.children {
            let inner = match (element, map, list) {
                (Element::Field(name), Some(map), _) => {
                    if map.has_field(name) {
                        all.members.insert(element.clone());
                    }
                    map.place(name)
                }
                (Element::Key(_), _, Some(list)) => Some(list.item),
                _ => None,
            };
            all.children.insert(element.clone(), set.with_named_fields(atoms, inner));
        }
        all
    }

    /// Calls for each path: a set's own members first.
    pub(super) fn each(&self, call: &mut impl FnMut(&[Element])) {
        self.each_below(&mut Vec::new(), call);
    }

    fn each_below(&self, path: &mut Vec<Element>, call: &mut impl FnMut(&[Element])) {
        for element in &self.members {
            path.push(element.clone());
            call(path);
            path.pop();
        }
        for (element, set) in &self.children {
            path.push(element.clone());
            set.each_below(path, call);
            path.pop();
        }
    }

    /// As `fieldsV1`.
    pub(super) fn to_json(&self) -> Value {
        let mut fields = Map::new();
        for (element, set) in &self.children {
            let mut inner = set.to_json();
            if let (true, Value::Object(inner)) = (self.members.contains(element), &mut inner) {
                inner.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(element.to_key(), inner);
        }
        for element in &self.members {
            fields.entry(element.to_key()).or_insert_with(|| Value::Object(Map::new()));
        }
        Value::Object(fields)
    }

    /// Reads `fieldsV1`.
    pub(super) fn from_json(json: &Value) -> Result<Self, String> {
        let mut set = Self::default();
        let empty = Map::new();
        let fields = match json {
            Value::Null => &empty,
            Value::Object(fields) => fields,
            other => return Err(format!("error decoding set: expected an object, got {other}")),
        };
        for (key, inner) in fields.iter().filter(|(key, _)| *key != ".") {
            let element = Element::from_key(key)
                .map_err(|why| format!("error decoding set: parsing key as path element: {why}"))?;
            let Some(element) = element else { continue };
            let children = Self::from_json(inner)?;
            if children.is_empty() || inner.get(".").is_some() {
                set.members.insert(element.clone());
            }
            if !children.is_empty() {
                set.children.insert(element, children);
            }
        }
        Ok(set)
    }
}

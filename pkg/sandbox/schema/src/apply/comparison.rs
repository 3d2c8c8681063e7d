//! What differs between two objects. Upstream: structured-merge-diff's typed/compare.go.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::atom::{Atom, Atoms, List, Place};
use super::element::{Element, same};
use super::set::Set;
use super::typed::{Flaw, elements, scalar_flaw};

/// The fields that differ.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: Set,
    pub(super) modified: Set,
    pub(super) added: Set,
}

/// The two values of a field, of which one may be missing.
#[derive(Clone, Copy)]
struct Pair<'a> {
    old: Option<&'a Value>,
    new: Option<&'a Value>,
}

/// Whether a field has parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Some,
    /// It has been compared as a whole.
    None,
}

struct Walk<'a> {
    atoms: Atoms<'a>,
    path: Vec<Element>,
    found: Comparison,
}

pub(super) fn compare(
    atoms: Atoms<'_>,
    place: Place<'_>,
    old: &Value,
    new: &Value,
) -> Result<Comparison, Vec<Flaw>> {
    let mut walk = Walk { atoms, path: Vec::new(), found: Comparison::default() };
    walk.compare(place, Pair { old: Some(old), new: Some(new) })?;
    Ok(walk.found)
}

impl Comparison {
    /// Only of fields that begin with an element for which that holds.
    pub(super) fn filtered(self, keeps: impl Fn(&Element) -> bool) -> Self {
        Self {
            removed: self.removed.filtered(&keeps),
            modified: self.modified.filtered(&keeps),
            added: self.added.filtered(&keeps),
        }
    }

    /// What has another value or is new.
    pub(super) fn set(&self) -> Set {
        self.modified.union(&self.added)
    }
}

impl<'a> Walk<'a> {
    fn compare(&mut self, place: Place<'a>, pair: Pair<'_>) -> Result<(), Vec<Flaw>> {
        let atom = self.atoms.atom(place);
        let (old, new) = (atom.deduced(pair.old), atom.deduced(pair.new));
        let parts = match (pair.old, pair.new) {
            (_, None) => self.parts(old, pair)?,
            (Some(_), Some(_)) if !old.is_like(new) => {
                // Where one has parts and the other has none, both ways of looking count.
                self.parts(old, pair)?;
                self.parts(new, pair)?
            }
            _ => self.parts(new, pair)?,
        };
        if parts == Parts::Some {
            if pair.old.is_none() {
                self.found.added.insert(&self.path);
            } else if pair.new.is_none() {
                self.found.removed.insert(&self.path);
            }
        }
        Ok(())
    }

    fn parts(&mut self, atom: Atom<'a>, pair: Pair<'_>) -> Result<Parts, Vec<Flaw>> {
        if let Some(map) = atom.map {
            let (old, new) =
                (pair.old.and_then(Value::as_object), pair.new.and_then(Value::as_object));
            let all: Vec<_> = old.into_iter().chain(new).flat_map(|it| it.keys()).collect();
            if map.atomic || all.is_empty() {
                self.whole(pair);
                return Ok(Parts::None);
            }
            let names: BTreeSet<_> = all.into_iter().collect();
            for name in names {
                let pair = Pair {
                    old: old.and_then(|it| it.get(name)),
                    new: new.and_then(|it| it.get(name)),
                };
                self.descend(Element::field(name), map.place(name).unwrap_or(Place::Whole), pair)?;
            }
            return Ok(Parts::Some);
        }
        if let Some(kind) = atom.scalar {
            let flaws: Vec<_> =
                [scalar_flaw(kind, pair.old, "lhs: "), scalar_flaw(kind, pair.new, "rhs: ")]
                    .into_iter()
                    .flatten()
                    .collect();
            if flaws.len() == 2 {
                return Err(flaws);
            }
            self.whole(pair);
            return Ok(Parts::None);
        }
        let Some(list) = atom.list else { return Ok(Parts::Some) };
        let old = pair.old.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let new = pair.new.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if list.is_atomic() || (old.is_empty() && new.is_empty()) {
            self.whole(pair);
            return Ok(Parts::None);
        }
        self.items(list, old, new)?;
        Ok(Parts::Some)
    }

    fn items(&mut self, list: List<'a>, old: &[Value], new: &[Value]) -> Result<(), Vec<Flaw>> {
        let mut all: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (element, item) in elements(self.atoms, list, old)?.into_iter().zip(old) {
            all.entry(element).or_default().0.push(item);
        }
        for (element, item) in elements(self.atoms, list, new)?.into_iter().zip(new) {
            all.entry(element).or_default().1.push(item);
        }
        for (element, (old, new)) in all {
            // Items that are there twice are compared as a whole, and are one field.
            match (old.as_slice(), new.as_slice()) {
                ([] | [_], [] | [_]) => {
                    let pair = Pair { old: old.first().copied(), new: new.first().copied() };
                    self.descend(element, list.item, pair)?;
                }
                ([_, _, ..], [_, _, ..]) => {
                    let equal = |(old, new): (&&Value, &&Value)| same(old, new);
                    if old.len() != new.len() || !old.iter().zip(&new).all(equal) {
                        self.at(element, |it, path| it.modified.insert(path));
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(new) = new.first() {
                        let pair = Pair { old: None, new: Some(new) };
                        self.descend(element.clone(), list.item, pair)?;
                    }
                    self.at(element, |it, path| it.removed.insert(path));
                }
                (_, [_, _, ..]) => {
                    if let Some(old) = old.first() {
                        let pair = Pair { old: Some(old), new: None };
                        self.descend(element.clone(), list.item, pair)?;
                    }
                    self.at(element, |it, path| it.added.insert(path));
                }
            }
        }
        Ok(())
    }

    fn descend(
        &mut self,
        element: Element,
        place: Place<'a>,
        pair: Pair<'_>,
    ) -> Result<(), Vec<Flaw>> {
        self.path.push(element);
        let compared = self.compare(place, pair);
        let element = self.path.pop();
        compared.map_err(|flaws| {
            let element = element.map(|it| it.to_string()).unwrap_or_default();
            flaws.into_iter().map(|flaw| flaw.below(&element)).collect()
        })
    }

    fn at(&mut self, element: Element, insert: impl Fn(&mut Comparison, &[Element])) {
        self.path.push(element);
        insert(&mut self.found, &self.path);
        self.path.pop();
    }

    fn whole(&mut self, pair: Pair<'_>) {
        match (pair.old, pair.new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if !same(old, new) => self.found.modified.insert(&self.path),
            (Some(_), Some(_)) => {}
        }
    }
}

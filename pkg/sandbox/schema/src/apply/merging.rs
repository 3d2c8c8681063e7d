//! An object with what is applied to it. Upstream: structured-merge-diff's typed/merge.go.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::atom::{Atom, Atoms, List, Place};
use super::element::Element;
use super::typed::{Flaw, elements, scalar_flaw};

/// `live` with all that `applied` says; items of lists that `applied` says are in its order.
pub(super) fn merge(
    atoms: Atoms<'_>,
    place: Place<'_>,
    live: &Value,
    applied: &Value,
) -> Result<Value, Vec<Flaw>> {
    let merged = value(atoms, place, Some(live), Some(applied))?;
    Ok(merged.unwrap_or_default())
}

type Merged = Result<Option<Value>, Vec<Flaw>>;

fn value(
    atoms: Atoms<'_>,
    place: Place<'_>,
    live: Option<&Value>,
    applied: Option<&Value>,
) -> Merged {
    let atom = atoms.atom(place);
    let atom = atom.deduced(applied.or(live));
    parts(atoms, atom, live, applied)
}

fn parts(
    atoms: Atoms<'_>,
    atom: Atom<'_>,
    live: Option<&Value>,
    applied: Option<&Value>,
) -> Merged {
    let whole = || Ok(applied.or(live).cloned());
    if let Some(map) = atom.map {
        let empty = Map::new();
        let old = live.and_then(Value::as_object).unwrap_or(&empty);
        let new = applied.and_then(Value::as_object).unwrap_or(&empty);
        // What is empty in both stays what it is: null, or empty.
        if map.atomic || (old.is_empty() && new.is_empty()) {
            return whole();
        }
        let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        let mut all = Map::new();
        for name in names {
            let place = map.place(name).unwrap_or(Place::Whole);
            let merged = value(atoms, place, old.get(name), new.get(name));
            let merged = below(merged, &Element::field(name))?;
            all.extend(merged.map(|it| (name.clone(), it)));
        }
        return Ok((!all.is_empty()).then_some(Value::Object(all)));
    }
    if let Some(kind) = atom.scalar {
        let flaws = [scalar_flaw(kind, live, "lhs: "), scalar_flaw(kind, applied, "rhs: ")];
        let flaws: Vec<_> = flaws.into_iter().flatten().collect();
        return if flaws.len() == 2 { Err(flaws) } else { whole() };
    }
    let Some(list) = atom.list else { return Ok(None) };
    let old = live.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let new = applied.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if list.is_atomic() || (old.is_empty() && new.is_empty()) {
        return whole();
    }
    let all = Items::new(atoms, list, old, new)?.merged()?;
    Ok((!all.is_empty()).then_some(Value::Array(all)))
}

fn below(merged: Merged, element: &Element) -> Merged {
    merged.map_err(|flaws| flaws.into_iter().map(|flaw| flaw.below(element)).collect())
}

/// Two lists whose items can be distinguished.
struct Items<'a> {
    atoms: Atoms<'a>,
    list: List<'a>,
    old: Vec<(Element, &'a Value)>,
    new: Vec<(Element, &'a Value)>,
    /// What is there once, and null for what is there twice: that is not merged.
    old_by_element: BTreeMap<Element, &'a Value>,
    new_by_element: BTreeMap<Element, &'a Value>,
}

impl<'a> Items<'a> {
    fn new(
        atoms: Atoms<'a>,
        list: List<'a>,
        old: &'a [Value],
        new: &'a [Value],
    ) -> Result<Self, Vec<Flaw>> {
        let old: Vec<_> = elements(atoms, list, old)?.into_iter().zip(old).collect();
        let new: Vec<_> = elements(atoms, list, new)?.into_iter().zip(new).collect();
        let mut old_by_element = BTreeMap::new();
        for (element, item) in &old {
            let twice = old_by_element.contains_key(element);
            old_by_element.insert(element.clone(), if twice { &Value::Null } else { *item });
        }
        let new_by_element: BTreeMap<_, _> = new.iter().cloned().collect();
        if new_by_element.len() < new.len() {
            let mut seen = BTreeSet::new();
            let twice = new.iter().filter(|(element, _)| !seen.insert(element));
            let why = |element| Flaw::new(format!("duplicate entries for key {element}"));
            return Err(twice.map(|(element, _)| why(element)).collect());
        }
        Ok(Self { atoms, list, old, new, old_by_element, new_by_element })
    }

    /// Items that are only in the one list stand where they stood, before what follows there and
    /// is in both; for these, the applied order counts.
    fn merged(&self) -> Result<Vec<Value>, Vec<Flaw>> {
        let mut shared: VecDeque<&Element> = self
            .new
            .iter()
            .map(|(element, _)| element)
            .filter(|element| self.old_by_element.contains_key(element))
            .collect();
        let mut done = BTreeSet::new();
        let (mut old, mut new) = (self.old.iter().peekable(), self.new.iter().peekable());
        let mut all = Vec::new();
        loop {
            let (next_old, next_new) = (old.peek().copied(), new.peek().copied());
            if let Some((element, item)) = next_old {
                let in_new = self.new_by_element.contains_key(element);
                let at_same = next_new.is_some_and(|(other, _)| other == element);
                let out_of_turn =
                    next_new.is_some() && in_new && shared.front().is_some_and(|it| *it != element);
                if !at_same && !in_new {
                    all.extend(self.item(element, Some(item), None)?);
                    old.next();
                    continue;
                }
                if !at_same && out_of_turn {
                    old.next();
                    continue;
                }
                if at_same || done.contains(element) {
                    old.next();
                }
            }
            match next_new {
                Some((element, item)) => {
                    done.insert(element);
                    let live = self.old_by_element.get(element).copied();
                    all.extend(self.item(element, live, Some(item))?);
                    new.next();
                    if shared.front() == Some(&element) {
                        shared.pop_front();
                    }
                }
                None if next_old.is_none() => return Ok(all),
                None => {}
            }
        }
    }

    fn item(&self, element: &Element, live: Option<&Value>, applied: Option<&Value>) -> Merged {
        below(value(self.atoms, self.list.item, live, applied), element)
    }
}

//! Strategic merge patch: how lists are merged and ordered.

use std::mem::discriminant;

use serde_json::Value;

use super::PatchError;
use super::go::{self, plain};
use super::strategic::{
    DIRECTIVE, ListPlace, Merger, Object, Result, bad_type, failed, go_kind, unknown_directive,
};

/// What all items of a list are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Map,
    Scalar,
}

impl Kind {
    pub(super) fn is_map(self) -> bool {
        self == Self::Map
    }
}

/// What two lists hold; none: nothing. Upstream: `sliceElementType`.
pub(super) fn kind(one: &[Value], other: &[Value]) -> Result<Option<Kind>> {
    let Some(first) = one.iter().chain(other).next() else { return Ok(None) };
    if first.is_array() {
        return Err(PatchError::Misfit("lists of lists are not supported".to_owned()));
    }
    let alike = |item: &Value| {
        let float = |it: &Value| it.as_number().is_some_and(serde_json::Number::is_f64);
        discriminant(item) == discriminant(first) && float(item) == float(first)
    };
    if !one.iter().chain(other).all(alike) {
        let lists = format!("[{} {}]", go::list(one), go::list(other));
        return Err(failed(format!("list element types are not identical: {lists}")));
    }
    Ok(Some(if first.is_object() { Kind::Map } else { Kind::Scalar }))
}

/// Upstream: `mergeSlice`.
pub(super) fn merged<'a>(
    merger: Merger<'a>,
    old: Vec<Value>,
    new: Vec<Value>,
    place: ListPlace<'a>,
) -> Result<Vec<Value>> {
    let key = place.merge.key;
    let (old, new, merged) = match kind(&old, &new)? {
        None => return Ok(old),
        Some(Kind::Scalar) => {
            let both = old.iter().chain(&new).cloned().collect();
            (old, new, without_duplicates(both))
        }
        Some(Kind::Map) => {
            let Some(key) = key else {
                let kind = go_kind(place.item);
                return Err(failed(format!("cannot merge lists without merge key for {kind}")));
            };
            let (old, new) = obey(old, new, key)?;
            let merged = items(merger, old.clone(), &new, place, key)?;
            (old, new, merged)
        }
    };
    Order { patch: &new, server: &old, key }.sorted(merged)
}

/// Does what the `$patch` of items says, and takes them out. Upstream:
/// `mergeSliceWithSpecialElements`.
fn obey(mut old: Vec<Value>, new: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>)> {
    let mut plain_items = Vec::new();
    let mut replaces = false;
    for item in new {
        let Some(fields) = item.as_object() else { continue };
        let Some(directive) = fields.get(DIRECTIVE) else {
            plain_items.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let gone = key_of(fields, key)?;
                old.retain(|item| item.get(key) != Some(gone));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(failed("merging lists cannot yet be specified in the patch"));
            }
            _ => return Err(unknown_directive(directive, fields)),
        }
    }
    Ok(if replaces { (plain_items, Vec::new()) } else { (old, plain_items) })
}

/// Upstream: `mergeSliceWithoutSpecialElements`.
fn items<'a>(
    merger: Merger<'a>,
    mut old: Vec<Value>,
    new: &[Value],
    place: ListPlace<'a>,
    key: &str,
) -> Result<Vec<Value>> {
    for item in new {
        let Some(fields) = item.as_object() else { continue };
        let value = key_of(fields, key)?;
        let same = old.iter_mut().filter_map(Value::as_object_mut);
        match same.into_iter().find(|old| old.get(key) == Some(value)) {
            Some(old) => merger.maps(old, fields.clone(), place.item)?,
            None => old.push(item.clone()),
        }
    }
    Ok(old)
}

fn key_of<'a>(fields: &'a Object, key: &str) -> Result<&'a Value> {
    fields.get(key).ok_or_else(|| {
        let map = plain(&Value::Object(fields.clone()));
        failed(format!("map: {map} does not contain declared merge key: {key}"))
    })
}

fn key_of_item<'a>(item: &'a Value, key: &str) -> Result<&'a Value> {
    let fields = item.as_object().ok_or_else(|| bad_type("map[string]interface {}", item))?;
    key_of(fields, key)
}

/// Each value once. The last ones take the places of the duplicates, as upstream.
fn without_duplicates(mut items: Vec<Value>) -> Vec<Value> {
    let mut at = 0;
    while at < items.len() {
        let mut other = at + 1;
        while other < items.len() {
            if items.get(at) == items.get(other) {
                items.swap_remove(other);
            } else {
                other += 1;
            }
        }
        at += 1;
    }
    items
}

/// Whether the items of a patch are among those of its `$setElementOrder`, in their order.
/// Upstream: `validatePatchWithSetOrderList`.
pub(super) fn check_order(new: &[Value], order: &[Value], key: Option<&str>) -> Result<()> {
    if new.is_empty() || order.is_empty() {
        return Ok(());
    }
    // Items that are no maps are said before those that have no key.
    if key.is_some()
        && let Some(other) = new.iter().find(|item| !item.is_object())
    {
        return Err(bad_type("map[string]interface {}", other));
    }
    let deletes = |item: &&Value| key.and(item.get(DIRECTIVE)).is_some_and(|it| it == "delete");
    let mut left = new.iter().filter(|item| !deletes(item)).peekable();
    let mut order_left = order.iter().peekable();
    while let (Some(item), Some(ordered)) = (left.peek(), order_left.peek()) {
        if item.get(DIRECTIVE).is_some() {
            left.next();
            continue;
        }
        let same = match key {
            None => item == ordered,
            Some(_) if !ordered.is_object() => {
                return Err(bad_type("map[string]interface {}", ordered));
            }
            Some(key) => key_of_item(item, key)? == key_of_item(ordered, key)?,
        };
        if same {
            left.next();
        }
        order_left.next();
    }
    if left.peek().is_none() {
        return Ok(());
    }
    let (new, order) = (go::list(new), go::list(order));
    Err(failed(format!(
        "The order in patch list:\n{new}\n doesn't match $setElementOrder list:\n{order}\n"
    )))
}

/// The order that a list had, as upstream has it after the merge: it deletes and adds in the memory
/// of the list as it was, so that what is added takes the places that deletions freed at its end.
pub(super) fn left_over(old: &[Value], new: &[Value], key: &str) -> Vec<Value> {
    let mut all = old.to_vec();
    let mut len = all.len();
    let directive = |item: &Value, it: &str| item.get(DIRECTIVE).is_some_and(|said| said == it);
    let is = |item: &Value, other: &Value| item.get(key) == other.get(key);
    for item in new.iter().filter(|item| directive(item, "delete")) {
        while let Some(at) = all.iter().take(len).position(|other| is(other, item)) {
            let moved = all.get(at + 1..len).unwrap_or_default().to_vec();
            all.splice(at..len - 1, moved);
            len -= 1;
        }
    }
    if new.iter().any(|item| directive(item, "replace")) {
        return all;
    }
    for item in new.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        if all.iter().take(len).any(|other| is(other, item)) {
            continue;
        }
        let Some(place) = all.get_mut(len) else { break };
        *place = item.clone();
        len += 1;
    }
    all
}

/// What orders the items of a merged list.
pub(super) struct Order<'a> {
    /// What the patch names, in its order.
    pub(super) patch: &'a [Value],
    /// What was there, in its order.
    pub(super) server: &'a [Value],
    /// What distinguishes items; none: they are single values.
    pub(super) key: Option<&'a str>,
}

impl Order<'_> {
    /// Items that the patch names are in its order, the others in the order they had; the two are
    /// interleaved by what the server's order says. Upstream: `normalizeElementOrder`.
    pub(super) fn sorted(&self, merged: Vec<Value>) -> Result<Vec<Value>> {
        if let Some(key) = self.key {
            self.check(&merged, key)?;
        }
        let named = |item: &Value| self.place(item, self.patch).is_some();
        let (patch, server): (Vec<_>, Vec<_>) = merged.into_iter().partition(named);
        let (mut patch, mut server) =
            (self.by(patch, self.patch).into_iter(), self.by(server, self.server).into_iter());
        let (mut next_patch, mut next_server) = (patch.next(), server.next());
        let mut all = Vec::new();
        loop {
            let server_first = match (&next_server, &next_patch) {
                (None, None) => return Ok(all),
                (one, None) => one.is_some(),
                (None, _) => false,
                (Some(one), Some(other)) => {
                    let places = (self.place(one, self.server), self.place(other, self.server));
                    matches!(places, (Some(one), Some(other)) if one < other)
                }
            };
            if server_first {
                all.extend(next_server.take());
                next_server = server.next();
            } else {
                all.extend(next_patch.take());
                next_patch = patch.next();
            }
        }
    }

    fn check(&self, merged: &[Value], key: &str) -> Result<()> {
        for item in merged {
            let value = key_of_item(item, key)?;
            let named = self.patch.iter().take_while(|other| other.get(key) != Some(value));
            if let Some((at, _)) = named.enumerate().find(|(_, other)| !other.is_object()) {
                return Err(failed(format!("value for key {at} is not a map")));
            }
        }
        self.patch.iter().chain(self.server).try_for_each(|item| key_of_item(item, key).map(drop))
    }

    fn place(&self, item: &Value, among: &[Value]) -> Option<usize> {
        match self.key {
            None => among.iter().position(|other| other == item),
            Some(key) => among.iter().position(|other| other.get(key) == item.get(key)),
        }
    }

    /// What has no place goes before all that was there, as upstream's sort does with it.
    fn by(&self, items: Vec<Value>, order: &[Value]) -> Vec<Value> {
        let mut sorted: Vec<(Option<usize>, Value)> = Vec::new();
        for item in items {
            let place = self.place(&item, order);
            let before = |other: &Option<usize>| match (place, other) {
                (Some(one), Some(other)) => one < *other,
                _ => true,
            };
            let at = sorted.iter().rposition(|(other, _)| !before(other)).map_or(0, |at| at + 1);
            sorted.insert(at, (place, item));
        }
        sorted.into_iter().map(|(_, item)| item).collect()
    }
}

//! Strategic merge patch: how the maps are merged. Upstream: apimachinery's
//! pkg/util/strategicpatch, as of `StrategicMergeMapPatch`.

use serde_json::{Map, Value};

use super::go::{plain, type_of};
use super::lists::{self, Order};
use super::{PatchError, go};
use crate::{Merge, Scalar, Schema, Shape, TypeId};

pub(super) const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const ORDER: &str = "$setElementOrder";

pub(super) type Object = Map<String, Value>;
pub(super) type Result<T> = std::result::Result<T, PatchError>;

/// What a list is, as far as a patch of it goes.
#[derive(Clone, Copy)]
pub(super) struct ListPlace<'a> {
    pub(super) item: &'a Shape,
    pub(super) merge: Merge,
}

pub(super) fn strategic(
    schema: &Schema,
    id: TypeId,
    object: &mut Value,
    patch: &Value,
) -> Result<()> {
    if schema.get(id).open {
        let why = "strategic merge patch format is not supported";
        return Err(PatchError::Malformed(why.to_owned()));
    }
    let (Some(fields), Some(patch)) = (object.as_object_mut(), patch.as_object()) else {
        return Err(PatchError::Malformed("invalid JSON document".to_owned()));
    };
    Merger { schema }.maps(fields, patch.clone(), &Shape::Object(id))
}

pub(super) fn failed(why: impl Into<String>) -> PatchError {
    PatchError::Failed(why.into())
}

pub(super) fn bad_type(expected: &str, value: &Value) -> PatchError {
    failed(format!("expected a {expected}, but received a {}", type_of(value)))
}

pub(super) fn unknown_directive(directive: &Value, patch: &Object) -> PatchError {
    let patch = plain(&Value::Object(patch.clone()));
    failed(format!("unknown patch type: {} in map: {patch}", plain(directive)))
}

fn bad_order() -> PatchError {
    PatchError::Malformed("invalid patch format of setElementOrder list".to_owned())
}

fn bad_primitive_list() -> PatchError {
    PatchError::Malformed("invalid patch format of primitive list".to_owned())
}

fn bad_retain_keys() -> PatchError {
    PatchError::Malformed("invalid patch format of retainKeys".to_owned())
}

/// What merges, with the types that say how.
#[derive(Clone, Copy)]
pub(super) struct Merger<'a> {
    schema: &'a Schema,
}

impl<'a> Merger<'a> {
    /// Merges a patch into an object of what `place` is.
    pub(super) fn maps(self, original: &mut Object, patch: Object, place: &'a Shape) -> Result<()> {
        let mut patch = patch;
        if let Some(directive) = patch.get(DIRECTIVE) {
            match directive.as_str() {
                Some("replace") => {
                    patch.remove(DIRECTIVE);
                    *original = patch;
                }
                Some("delete") => original.clear(),
                _ => return Err(unknown_directive(directive, &patch)),
            }
            return Ok(());
        }
        retain_keys(original, &mut patch)?;
        self.ordered_lists(original, &mut patch, place)?;
        for (key, value) in patch {
            // `$deleteFrom…` sorts before all fields: the patch deletes first.
            if key.starts_with(DELETE_FROM) {
                let list = after(&key, DELETE_FROM).ok_or_else(bad_primitive_list)?;
                self.delete_from(original, list, value, place)?;
            } else {
                self.field(original, &key, value, place)?;
            }
        }
        Ok(())
    }

    fn field(self, original: &mut Object, key: &str, value: Value, place: &'a Shape) -> Result<()> {
        match (original.get_mut(key), value) {
            (_, Value::Null) => drop(original.remove(key)),
            (Some(Value::Object(old)), Value::Object(new)) => {
                let (place, merge) = self.look_up(place, key)?;
                if merge.replaces {
                    *old = new;
                } else {
                    self.maps(old, new, place)?;
                }
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                let place = self.look_up_list(place, key)?;
                *old = self.list(std::mem::take(old), new, place)?;
            }
            (_, value) => match without_directives(without_nulls(value)) {
                Some(value) => drop(original.insert(key.to_owned(), value)),
                None => drop(original.remove(key)),
            },
        }
        Ok(())
    }

    fn delete_from(
        self,
        original: &mut Object,
        list: &str,
        value: Value,
        place: &'a Shape,
    ) -> Result<()> {
        match (original.get_mut(list), value) {
            (_, Value::Null) => drop(original.remove(list)),
            (Some(Value::Array(old)), Value::Array(gone)) => {
                let place = self.look_up_list(place, list)?;
                if lists::kind(old, &gone)?.is_some_and(lists::Kind::is_map) {
                    let merge = Merge { merges: true, ..place.merge };
                    *old = self.list(std::mem::take(old), gone, ListPlace { merge, ..place })?;
                } else {
                    old.retain(|item| !gone.contains(item));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn list(self, old: Vec<Value>, new: Vec<Value>, place: ListPlace<'a>) -> Result<Vec<Value>> {
        if place.merge.merges { lists::merged(self, old, new, place) } else { Ok(new) }
    }

    /// Merges what has its order in `$setElementOrder/…`, and takes that out of the patch. What
    /// the order, the patch and the object say about places counts in this order.
    fn ordered_lists(
        self,
        original: &mut Object,
        patch: &mut Object,
        place: &'a Shape,
    ) -> Result<()> {
        let keys: Vec<_> = patch.keys().filter(|key| key.starts_with(ORDER)).cloned().collect();
        for order_key in keys {
            let order = match patch.remove(&order_key) {
                Some(Value::Array(order)) => order,
                other => return Err(bad_type("[]interface {}", &other.unwrap_or_default())),
            };
            let key = after(&order_key, ORDER).ok_or_else(bad_order)?;
            let array = |value: Option<&Value>| match value {
                None => Ok(None),
                Some(Value::Array(items)) => Ok(Some(items.clone())),
                Some(other) => Err(bad_type("[]interface {}", other)),
            };
            let (old, new) = (array(original.get(key))?, array(patch.get(key))?);
            let place = self.look_up_list(place, key)?;
            lists::check_order(new.as_deref().unwrap_or_default(), &order, place.merge.key)?;
            let mut server = old.clone().unwrap_or_default();
            let merged = match (old.clone(), new.clone()) {
                (None, None) => continue,
                (Some(old), None) => old,
                (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
                (Some(old), Some(new)) => {
                    if let (true, Some(key)) = (place.merge.merges, place.merge.key) {
                        server = lists::left_over(&old, &new, key);
                    }
                    self.list(old, new, place)?
                }
            };
            let key_said = match lists::kind(&old.unwrap_or_default(), &new.unwrap_or_default())? {
                None => return Err(failed("no elements in any of the given slices")),
                // Maps without a merge key have no order: upstream looks for one without a name.
                Some(lists::Kind::Map) => Some(place.merge.key.unwrap_or_default()),
                Some(lists::Kind::Scalar) => place.merge.key,
            };
            let order = Order { patch: &order, server: &server, key: key_said };
            original.insert(key.to_owned(), Value::Array(order.sorted(merged)?));
            patch.remove(key);
        }
        Ok(())
    }

    /// What a field is. Upstream: `LookupPatchMetadataForStruct`.
    fn look_up(self, place: &'a Shape, key: &str) -> Result<(&'a Shape, Merge)> {
        let missing = |name: &str| {
            let why = format!(
                "unable to find api field in struct {name} for the json field {}",
                go::syntax(&Value::from(key))
            );
            failed(why)
        };
        let id = match place {
            Shape::Object(id) => *id,
            Shape::Any => return Err(missing("RawExtension")),
            Shape::Scalar(_) | Shape::Map { .. } | Shape::List { .. } => {
                return Err(failed(format!(
                    "merging an object in json but data type is not struct, instead is: {}",
                    go_kind(place)
                )));
            }
        };
        let it = self.schema.get(id);
        let unlike = || it.fields.iter().find(|field| field.name.eq_ignore_ascii_case(key));
        match it.field(key).or_else(unlike) {
            Some(field) => Ok((&field.shape, field.merge)),
            None => Err(missing(it.name.rsplit('.').next().unwrap_or_default())),
        }
    }

    /// What a field's items are. Upstream: `LookupPatchMetadataForSlice`.
    fn look_up_list(self, place: &'a Shape, key: &str) -> Result<ListPlace<'a>> {
        let (shape, merge) = self.look_up(place, key)?;
        match shape {
            Shape::List { item, .. } if matches!(**item, Shape::List { .. }) => {
                Err(failed("unexpected slice of slice"))
            }
            Shape::List { item, .. } => Ok(ListPlace { item, merge }),
            // Upstream takes what a pointer refers to for the item.
            Shape::Object(_) => Ok(ListPlace { item: shape, merge }),
            Shape::Scalar(_) | Shape::Map { .. } | Shape::Any => {
                Err(failed("expected slice or array type, but got: struct"))
            }
        }
    }
}

/// The key of `prefix/key`.
fn after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    text.strip_prefix(prefix)?.strip_prefix('/')
}

fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<()> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let retained = retained.as_array().ok_or_else(bad_retain_keys)?;
    let retains = |key: &str| retained.iter().any(|it| it == key);
    let fields = patch.iter().filter(|(key, value)| {
        !(value.is_null() || key.starts_with(DELETE_FROM) || key.starts_with(ORDER))
    });
    if fields.into_iter().any(|(key, _)| !retains(key)) {
        return Err(bad_retain_keys());
    }
    original.retain(|key, _| retains(key));
    Ok(())
}

/// Without null fields at any depth.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// Without objects that hold a directive, at any depth; none: it is one.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.filter_map(|(key, it)| Some((key, without_directives(it)?)));
            Some(Value::Object(fields.collect()))
        }
        Value::Array(items) => {
            Some(Value::Array(items.into_iter().filter_map(without_directives).collect()))
        }
        other => Some(other),
    }
}

/// `reflect.Kind` of the Go type.
pub(super) fn go_kind(place: &Shape) -> &'static str {
    match place {
        Shape::Object(_)
        | Shape::Any
        | Shape::Scalar(
            Scalar::Time | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString,
        ) => "struct",
        Shape::Map { .. } => "map",
        Shape::List { .. } | Shape::Scalar(Scalar::Bytes) => "slice",
        Shape::Scalar(Scalar::String) => "string",
        Shape::Scalar(Scalar::Int32) => "int32",
        Shape::Scalar(Scalar::Int64) => "int64",
        Shape::Scalar(Scalar::Double) => "float64",
        Shape::Scalar(Scalar::Bool) => "bool",
    }
}

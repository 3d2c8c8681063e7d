//! What a value may be, as an apply sees it: single values, lists and maps, each as a whole or by
//! its parts. Upstream: structured-merge-diff's schema, as kube-openapi's schemaconv makes it.

use serde_json::Value;

use super::element::{Element, Single};
use crate::patch::syntax;
use crate::{ListKind, Scalar, Schema, Shape, Type};

/// A list has one more field than the type of its items says: this has a default.
const PROTOCOL: &str = "protocol";
/// References whose parts have their owners here, though their type has one as a whole
/// (`x-kubernetes-map-type: granular` at the field).
const GRANULAR: [(&str, &str); 1] = [("api.core.v1.PersistentVolumeSpec", "claimRef")];

/// What a place in an object may hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// What its type says.
    Typed(&'a Shape),
    /// As its type says, but by parts.
    Granular(&'a Shape),
    /// What is there says: maps by their keys, lists as a whole.
    Deduced,
    /// Anything, as a whole.
    Whole,
}

/// What a value may be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Atom<'a> {
    pub(super) scalar: Option<Kind>,
    pub(super) list: Option<List<'a>>,
    pub(super) map: Option<Map<'a>>,
}

/// Single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// A list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) kind: &'a ListKind,
    pub(super) item: Place<'a>,
}

/// An object, whether its fields have names or it is a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Map<'a> {
    fields: Option<&'a Type>,
    /// What fields without a name hold; none: there are none.
    others: Option<Place<'a>>,
    pub(super) atomic: bool,
}

/// The types.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atoms<'a> {
    pub(super) schema: &'a Schema,
}

// === impl Atoms ===

impl<'a> Atoms<'a> {
    pub(super) fn atom(self, place: Place<'a>) -> Atom<'a> {
        match place {
            Place::Typed(shape) => self.typed(shape),
            Place::Granular(shape) => {
                let atom = self.typed(shape);
                Atom { map: atom.map.map(|map| Map { atomic: false, ..map }), ..atom }
            }
            Place::Deduced | Place::Whole => {
                let atomic = matches!(place, Place::Whole);
                Atom {
                    scalar: Some(Kind::Untyped),
                    list: Some(List { kind: &ListKind::Atomic, item: Place::Whole }),
                    map: Some(Map { fields: None, others: Some(place), atomic }),
                }
            }
        }
    }

    fn typed(self, shape: &'a Shape) -> Atom<'a> {
        match shape {
            Shape::Any => self.atom(Place::Whole),
            Shape::Scalar(scalar) => Atom { scalar: Some(Kind::of(*scalar)), ..Atom::default() },
            Shape::List { item, kind } => {
                let list = List { kind, item: Place::Typed(item) };
                Atom { list: Some(list), ..Atom::default() }
            }
            Shape::Map { value, atomic } => {
                let others = Some(Place::Typed(value));
                let map = Map { fields: None, others, atomic: *atomic };
                Atom { map: Some(map), ..Atom::default() }
            }
            Shape::Object(id) => {
                let it = self.schema.get(*id);
                // An object without fields is free in its form.
                let others = (it.open || it.fields.is_empty()).then_some(Place::Deduced);
                let map = Map { fields: Some(it), others, atomic: it.atomic };
                Atom { map: Some(map), ..Atom::default() }
            }
        }
    }

    /// What distinguishes an item from the others of its list.
    pub(super) fn element(self, list: List<'a>, item: &Value) -> Result<Element, String> {
        match list.kind {
            ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListKind::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".to_owned())
                }
                Value::Null => {
                    let why =
                        "associative list without keys has an element that's an explicit null";
                    Err(why.to_owned())
                }
                item => Ok(Element::Value(Single(item.clone()))),
            },
            ListKind::Map(keys) => self.keyed(list, keys, item),
        }
    }

    fn keyed(self, list: List<'a>, keys: &[&str], item: &Value) -> Result<Element, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let map = self.atom(list.item).map;
        let mut key = Vec::new();
        for name in keys {
            let value = fields.get(*name).cloned();
            let value = value.or_else(|| map.and_then(|map| map.default_of(name)));
            key.extend(value.map(|value| ((*name).to_owned(), Single(value))));
        }
        if key.is_empty() {
            let keys: Vec<_> = keys.iter().map(|key| syntax(&Value::from(*key))).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        key.sort();
        Ok(Element::Key(key))
    }
}

// === impl Atom ===

impl Atom<'_> {
    /// Only what a value is, of what it may be. Nothing is known of a null, and nothing of what it
    /// must not be.
    pub(super) fn deduced(self, value: Option<&Value>) -> Self {
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if self.scalar.is_some() => {
                Self { scalar: self.scalar, ..Self::default() }
            }
            Some(Value::Array(_)) if self.list.is_some() => {
                Self { list: self.list, ..Self::default() }
            }
            Some(Value::Object(_)) if self.map.is_some() => {
                Self { map: self.map, ..Self::default() }
            }
            _ => self,
        }
    }

    /// Whether two values of one place are the same kind of thing.
    pub(super) fn is_like(self, other: Self) -> bool {
        self.scalar == other.scalar
            && self.list.is_some() == other.list.is_some()
            && self.map.is_some() == other.map.is_some()
    }
}

// === impl Map ===

impl<'a> Map<'a> {
    pub(super) fn has_field(self, name: &str) -> bool {
        self.fields.is_some_and(|it| it.field(name).is_some())
    }

    /// What a field holds; none: there is no such field.
    pub(super) fn place(self, name: &str) -> Option<Place<'a>> {
        let Some((it, field)) = self.fields.and_then(|it| Some((it, it.field(name)?))) else {
            return self.others;
        };
        Some(match &field.shape {
            Shape::Any if it.open => Place::Deduced,
            shape if GRANULAR.contains(&(it.name, field.name)) => Place::Granular(shape),
            shape => Place::Typed(shape),
        })
    }

    /// What OpenAPI says that a key is where it is not said. What is always in Go's JSON has the
    /// default of its kind there, and so has the name of a `LocalObjectReference`.
    fn default_of(self, name: &str) -> Option<Value> {
        let it = self.fields?;
        let field = it.field(name)?;
        if name == PROTOCOL {
            return Some(Value::from("TCP"));
        }
        if !(field.required || it.name == "api.core.v1.LocalObjectReference") {
            return None;
        }
        match field.shape {
            Shape::Scalar(Scalar::Int32 | Scalar::Int64) => Some(Value::from(0)),
            Shape::Scalar(Scalar::String) => Some(Value::from("")),
            _ => None,
        }
    }
}

// === impl Kind ===

impl Kind {
    fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::String | Scalar::Bytes => Self::String,
            Scalar::Time | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString => {
                Self::Untyped
            }
            Scalar::Int32 | Scalar::Int64 | Scalar::Double => Self::Numeric,
            Scalar::Bool => Self::Boolean,
        }
    }
}

// === impl List ===

impl List<'_> {
    /// Whether it has one owner as a whole.
    pub(super) fn is_atomic(self) -> bool {
        *self.kind == ListKind::Atomic
    }
}

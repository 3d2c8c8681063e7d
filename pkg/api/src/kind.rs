//! What makes a view a kind that can be listed, watched and cached.
//!
//! Caches are compiled once, not once for each kind: they hold [`AnyObject`]s, and all that depends
//! on the kind is in its [`Shape`]. The types come back at the edge, by [`typed`].

use std::any::Any;
use std::sync::Arc;

use crate::{Meta, Resource, Text};

/// How objects of a kind travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// `application/vnd.kubernetes.protobuf`, for kinds of which we hold only a view: unknown
    /// fields are skipped by their length.
    Protobuf,
    /// `application/json`, for kinds that we write back whole, and for custom resources.
    Json,
}

/// What a cache can hold: a view, and how its objects travel and are found.
pub trait Object: Sized + Send + Sync + 'static {
    /// What we ask the API server for. The answer's content type decides, not this.
    const CODEC: Codec;
    /// Whether we ask for the metadata alone.
    const METADATA_ONLY: bool = false;
    /// The indexes that its cache keeps.
    const INDEXES: &'static [Index<Self>];

    /// What every object carries.
    fn meta(&self) -> &Meta;

    /// Decodes one object.
    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError>;

    /// Stands for an object of which only the metadata could be read, so that it still counts: a
    /// controller that did not see it would make another one.
    fn unreadable(meta: Meta, error: &DecodeError) -> Self;
}

/// An object of some kind, of which a cache knows no more than this.
pub trait AnyObject: Any + Send + Sync {
    /// As [`Object::meta`].
    fn metadata(&self) -> &Meta;

    /// The values under which the index at this place in [`Object::INDEXES`] finds it.
    fn values(&self, index: usize) -> Found;
}

/// What a cache must know of a kind of objects: how they travel, and how they are made and found.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// As [`Object::CODEC`].
    pub codec: Codec,
    /// As [`Object::METADATA_ONLY`].
    pub metadata_only: bool,
    /// The name of the index at this place in [`Object::INDEXES`]; none behind the last one.
    pub index: fn(usize) -> Option<&'static str>,
    /// As [`Object::decode`].
    pub decode: Decode,
    /// As [`Object::unreadable`].
    pub unreadable: fn(Meta, &DecodeError) -> Arc<dyn AnyObject>,
}

/// Decodes an object of a kind that is not known where it is called.
pub type Decode = fn(Codec, &[u8]) -> Result<Arc<dyn AnyObject>, DecodeError>;

/// A view of one kind, and where that kind lives.
pub trait Kind: Object {
    /// Its place in the API.
    const RESOURCE: Resource;
    /// A field selector that all objects of the view match; empty: there is none, and all objects
    /// of the resource are read.
    const FIELD_SELECTOR: &'static str = "";
}

/// A way to find objects of kind `T` other than by their key.
pub struct Index<T> {
    /// Upstream's name for it where there is one.
    pub name: &'static str,
    /// The values under which an object is found.
    pub values: Values<T>,
}

/// How an index finds the values of an object.
pub enum Values<T> {
    /// One value from its metadata; none: the object is not in this index.
    OfMeta(fn(&Meta) -> Option<Text>),
    /// One value; none: the object is not in this index.
    One(fn(&T) -> Option<Text>),
    /// Any number of values, such as the claims of a pod. One that comes twice counts once.
    Several(fn(&T) -> Vec<Text>),
}

/// The values under which an index finds an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// One value at most: most indexes, and then it takes no memory of its own.
    One(Option<Text>),
    /// Any number of them.
    Several(Vec<Text>),
}

/// Why bytes are not an object of the kind.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct DecodeError(pub String);

/// The object with its type. A cache holds objects of one type, which its reader knows.
pub fn typed<T: Object>(object: &Arc<dyn AnyObject>) -> Arc<T> {
    let object: Arc<dyn Any + Send + Sync> = Arc::clone(object) as _;
    object.downcast().expect("a cache is read as the kind that it holds")
}

// === impl AnyObject ===

impl<T: Object> AnyObject for T {
    fn metadata(&self) -> &Meta {
        self.meta()
    }

    fn values(&self, index: usize) -> Found {
        T::INDEXES.get(index).map_or(Found::One(None), |index| index.of(self))
    }
}

// === impl Shape ===

impl Shape {
    /// The shape of `T`.
    pub const fn of<T: Object>() -> Self {
        Self {
            codec: T::CODEC,
            metadata_only: T::METADATA_ONLY,
            index: |at| T::INDEXES.get(at).map(|index| index.name),
            decode: |codec, bytes| T::decode(codec, bytes).map(|it| Arc::new(it) as _),
            unreadable: |meta, error| Arc::new(T::unreadable(meta, error)),
        }
    }

    /// The names of its indexes, in their order.
    pub fn indexes(&self) -> impl Iterator<Item = &'static str> {
        (0..).map_while(self.index)
    }
}

// === impl Found ===

impl Found {
    /// All of them.
    pub fn as_slice(&self) -> &[Text] {
        match self {
            Self::One(value) => value.as_slice(),
            Self::Several(values) => values,
        }
    }
}

// === impl Index ===

impl<T: Object> Index<T> {
    /// The values under which `object` is found.
    pub fn of(&self, object: &T) -> Found {
        match self.values {
            Values::OfMeta(value) => Found::One(value(object.meta())),
            Values::One(value) => Found::One(value(object)),
            Values::Several(values) => Found::Several(values(object)),
        }
    }

    /// Finds each object under one value at most.
    pub const fn one(name: &'static str, value: fn(&T) -> Option<Text>) -> Self {
        Self { name, values: Values::One(value) }
    }

    /// Finds each object under any number of values.
    pub const fn several(name: &'static str, values: fn(&T) -> Vec<Text>) -> Self {
        Self { name, values: Values::Several(values) }
    }

    /// By the uid of the controller that manages them.
    pub(crate) const fn by_controller(name: &'static str) -> Self {
        Self::of_meta(name, |meta| meta.controller().map(|owner| owner.uid.clone()))
    }

    /// All of them, by namespace.
    pub(crate) const fn by_namespace(name: &'static str) -> Self {
        Self::of_meta(name, |meta| Some(meta.key.namespace.clone()))
    }

    /// Those without a controller, by namespace.
    pub(crate) const fn orphans_by_namespace(name: &'static str) -> Self {
        Self::of_meta(name, |meta| meta.controller().is_none().then(|| meta.key.namespace.clone()))
    }

    /// An index with at most one value an object, from its metadata.
    const fn of_meta(name: &'static str, value: fn(&Meta) -> Option<Text>) -> Self {
        Self { name, values: Values::OfMeta(value) }
    }
}

//! What makes a view a kind that can be listed, watched and cached.

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
    /// One value; none: the object is not in this index.
    One(fn(&T) -> Option<Text>),
    /// Any number of values, such as the claims of a pod. One that comes twice counts once.
    Several(fn(&T) -> Vec<Text>),
}

/// Why bytes are not an object of the kind.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct DecodeError(pub String);

// === impl Index ===

impl<T: Object> Index<T> {
    /// The values under which `object` is found.
    pub fn of(&self, object: &T) -> Vec<Text> {
        match self.values {
            Values::One(value) => value(object).into_iter().collect(),
            Values::Several(values) => values(object),
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
        Self::one(name, |it| it.meta().controller().map(|owner| owner.uid.clone()))
    }

    /// All of them, by namespace.
    pub(crate) const fn by_namespace(name: &'static str) -> Self {
        Self::one(name, |it| Some(it.meta().key.namespace.clone()))
    }

    /// Those that nobody manages, by namespace.
    pub(crate) const fn orphans_by_namespace(name: &'static str) -> Self {
        Self::one(name, |it| {
            let meta = it.meta();
            meta.controller().is_none().then(|| meta.key.namespace.clone())
        })
    }
}

//! Views of live reads, for code that does not know their types.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use api::{Codec, DecodeError, Kind, Meta, Metadata};

/// An `Arc<T>` of a view `T`.
pub type AnyView = Box<dyn Any + Send + Sync>;

/// How objects are decoded as the view that the caches hold of their kind. Equal if the views are.
#[derive(Clone, Copy)]
pub struct Typed {
    /// The view's type.
    name: &'static str,
    /// The Accept headers for a list, and for one object.
    accept: [&'static str; 2],
    /// [`Kind::FIELD_SELECTOR`].
    field_selector: &'static str,
    decode: fn(Codec, &[u8]) -> Result<AnyView, DecodeError>,
    collect: fn(Vec<AnyView>) -> Views,
}

/// Views of one kind.
#[derive(Clone)]
pub struct Views {
    len: usize,
    /// A `Vec<Arc<T>>`.
    views: Arc<dyn Any + Send + Sync>,
}

// === impl Typed ===

impl Typed {
    /// As the view `T`.
    pub fn of<T: Kind>() -> Self {
        let accept = match T::CODEC {
            Codec::Protobuf if T::METADATA_ONLY => [Metadata::ACCEPT_LIST, Metadata::ACCEPT],
            Codec::Protobuf => ["application/vnd.kubernetes.protobuf, application/json"; 2],
            Codec::Json => ["application/json"; 2],
        };
        Self {
            name: std::any::type_name::<T>(),
            accept,
            field_selector: T::FIELD_SELECTOR,
            decode: decode::<T>,
            collect: collect::<T>,
        }
    }

    /// The Accept header for a list.
    pub fn accept_list(&self) -> &'static str {
        self.accept[0]
    }

    /// The Accept header for one object.
    pub fn accept(&self) -> &'static str {
        self.accept[1]
    }

    /// A field selector that all objects of the view match; empty: there is none.
    pub fn field_selector(&self) -> &'static str {
        self.field_selector
    }

    /// Decodes one object, for [`Typed::collect`]. A broken one is represented as in the informers;
    /// an error if not even its metadata can be decoded.
    pub fn decode(&self, codec: Codec, bytes: &[u8]) -> Result<AnyView, DecodeError> {
        (self.decode)(codec, bytes)
    }

    /// Combines the results of [`Typed::decode`].
    pub fn collect(&self, objects: Vec<AnyView>) -> Views {
        (self.collect)(objects)
    }
}

fn decode<T: Kind>(codec: Codec, bytes: &[u8]) -> Result<AnyView, DecodeError> {
    let object = T::decode(codec, bytes).or_else(|error| {
        let meta = Meta::decode(codec, bytes);
        let meta = meta.map_err(|meta| DecodeError(format!("{error}; its metadata: {meta}")))?;
        Ok(T::unreadable(meta, &error))
    });
    Ok(Box::new(Arc::new(object?)))
}

fn collect<T: Kind>(objects: Vec<AnyView>) -> Views {
    let views = objects.into_iter().filter_map(|object| object.downcast::<Arc<T>>().ok());
    Views::new(views.map(|view| *view).collect())
}

impl PartialEq for Typed {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Typed {}

impl PartialOrd for Typed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Typed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

// === impl Views ===

impl Views {
    /// These views, in this order.
    pub fn new<T: Kind>(views: Vec<Arc<T>>) -> Self {
        Self { len: views.len(), views: Arc::new(views) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// None: they are of another kind.
    pub fn of<T: Kind>(&self) -> Option<&[Arc<T>]> {
        self.views.downcast_ref::<Vec<Arc<T>>>().map(Vec::as_slice)
    }
}

impl fmt::Debug for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} views", self.len)
    }
}

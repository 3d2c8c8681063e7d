//! Types. As cel-go's common/types/types.go; printed as its checker/format.go does.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use crate::schema::Object;

/// A type of CEL.
#[derive(Clone, Debug)]
pub enum Type {
    /// `google.protobuf.Any`, which is checked as [`Type::Dyn`].
    Any,
    /// True or false.
    Bool,
    /// Bytes.
    Bytes,
    /// A floating-point number.
    Double,
    /// A span of time.
    Duration,
    /// Any type, known when the expression runs.
    Dyn,
    /// What has no type, since an issue was found in it.
    Error,
    /// A signed number.
    Int,
    /// The type of `null`.
    Null,
    /// Text.
    String,
    /// A point in time.
    Timestamp,
    /// An unsigned number.
    Uint,
    /// A list of these.
    List(Rc<Self>),
    /// A map from these to those.
    Map(Rc<(Self, Self)>),
    /// A type without fields, and its parameters.
    Opaque(Rc<(Rc<str>, Vec<Self>)>),
    /// A type with fields.
    Struct(Rc<Struct>),
    /// A type as a value; none: of any type.
    Type(Option<Rc<Self>>),
    /// A type that is to be found.
    Variable(usize),
    /// A type that a declaration leaves open.
    Parameter(Rc<str>),
}

/// A type with a name and fields.
#[derive(Debug)]
pub struct Struct {
    /// What makes it different from others.
    pub(crate) name: String,
    /// Its fields.
    pub(crate) fields: Fields,
}

/// The fields of a type.
#[derive(Debug)]
pub enum Fields {
    /// Those that [`crate::Declarations`] has of this name, if any.
    Declared,
    /// These.
    Known(BTreeMap<String, Type>),
    /// Those of a schema.
    Schema(Object),
}

/// What a field is.
#[derive(Debug)]
pub(crate) enum Field {
    Is(Type),
    /// There is no such field.
    Missing,
    /// It is too deep to say.
    Unknown,
}

// === impl Type ===

impl Type {
    /// A list of these.
    pub fn list(element: Self) -> Self {
        Self::List(Rc::new(element))
    }

    /// A map from these to those.
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Rc::new((key, value)))
    }

    /// A type with these fields.
    pub fn object(name: impl Into<String>, fields: Fields) -> Self {
        Self::Struct(Rc::new(Struct { name: name.into(), fields }))
    }

    pub(crate) fn opaque(name: impl Into<Rc<str>>, parameters: Vec<Self>) -> Self {
        Self::Opaque(Rc::new((name.into(), parameters)))
    }

    pub(crate) fn optional(of: Self) -> Self {
        Self::opaque("optional_type", vec![of])
    }

    /// What is optional; none: this is not.
    pub(crate) fn unwrapped(&self) -> Option<&Self> {
        match self {
            Self::Opaque(it) if &*it.0 == "optional_type" => it.1.first(),
            _ => None,
        }
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any | Self::Error)
    }

    /// The types in it.
    pub(crate) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(element) => vec![element],
            Self::Map(it) => vec![&it.0, &it.1],
            Self::Opaque(it) => it.1.iter().collect(),
            Self::Type(of) => of.iter().map(|it| &**it).collect(),
            _ => vec![],
        }
    }

    /// Whether the types are alike apart from the types in them. As `TypeName` and `Kind`.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Opaque(one), Self::Opaque(two)) => one.0 == two.0,
            (Self::Struct(one), Self::Struct(two)) => one.name == two.name,
            (Self::Variable(one), Self::Variable(two)) => one == two,
            (Self::Parameter(one), Self::Parameter(two)) => one == two,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// The name at run time. As `TypeName`.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Any => "google.protobuf.Any".to_owned(),
            Self::Duration => "google.protobuf.Duration".to_owned(),
            Self::Error => "error".to_owned(),
            Self::Null => "null_type".to_owned(),
            Self::Timestamp => "google.protobuf.Timestamp".to_owned(),
            Self::List(_) => "list".to_owned(),
            Self::Map(_) => "map".to_owned(),
            Self::Opaque(it) => (*it.0).to_owned(),
            Self::Type(_) => "type".to_owned(),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Any => "any",
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Double => "double",
            Self::Duration => "duration",
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Int => "int",
            Self::Null => "null",
            Self::String => "string",
            Self::Timestamp => "timestamp",
            Self::Uint => "uint",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Opaque(it) => &it.0,
            Self::Struct(it) => &it.name,
            Self::Type(_) => "type",
            Self::Variable(number) => return write!(f, "_var{number}"),
            Self::Parameter(name) => name,
        };
        f.write_str(name)?;
        let parameters = self.parameters();
        for (place, parameter) in parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if place == 0 { "(" } else { ", " })?;
        }
        if parameters.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

//! Types from the OpenAPI documents of an API server. As `SchemaDeclType` of k8s.io/apiserver's
//! pkg/cel/common/schemas.go, over schemas that its pkg/cel/openapi/resolver resolves.
//!
//! A document is read once, and of its schemas only those are kept that a kind is made of. Types of
//! fields are made when an expression asks for them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::parser::RESERVED;
use crate::types::{Field, Fields, Type};

/// What references start with.
const REFERENCE: &str = "#/components/schemas/";
/// How deep lists and maps may be inside of each other.
const DEPTH_MAX: usize = 50;

/// An OpenAPI document of a group and version, of which nothing but the names of its schemas is
/// parsed yet.
#[derive(Debug)]
pub struct Document<'a> {
    schemas: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

/// Why a kind has no type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The document does not have it.
    Kind,
    /// Its schema, or one that it refers to, cannot be read.
    Schema(String),
}

/// A type with the fields of a schema.
#[derive(Clone, Debug)]
pub struct Object {
    schemas: Rc<BTreeMap<String, Rc<Schema>>>,
    schema: Rc<Schema>,
    /// The references that lead here: none of them is followed again.
    visited: Rc<Visited>,
    /// Whether the fields that each object of the API has are added.
    meta: ObjectMeta,
}

/// Whether a schema lacks the fields of each object of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectMeta {
    Added,
    AsItIs,
}

/// What a schema is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// An object of the API, or one that is embedded in another one.
    Resource,
    Part,
}

#[derive(Debug)]
enum Visited {
    Nothing,
    Name(String, Rc<Self>),
}

#[derive(Deserialize)]
struct WireDocument<'a> {
    #[serde(borrow)]
    components: WireComponents<'a>,
}

#[derive(Deserialize)]
struct WireComponents<'a> {
    #[serde(borrow, default)]
    schemas: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

#[derive(Deserialize)]
struct WireKinds {
    #[serde(rename = "x-kubernetes-group-version-kind", default)]
    kinds: Vec<WireKind>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct WireKind {
    group: String,
    version: String,
    kind: String,
}

/// What matters of a schema.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Schema {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    all_of: Vec<Reference>,
    r#type: Words,
    format: String,
    items: Shape,
    properties: BTreeMap<String, Rc<Self>>,
    additional_properties: Shape,
    #[serde(rename = "x-kubernetes-int-or-string", deserialize_with = "is_true")]
    int_or_string: bool,
    #[serde(rename = "x-kubernetes-embedded-resource", deserialize_with = "is_true")]
    embedded_resource: bool,
}

/// What stands for another schema.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reference {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    all_of: Vec<Self>,
}

/// A word or several.
#[derive(Debug, Default)]
struct Words(Vec<String>);

/// What may be a schema.
#[derive(Debug, Default)]
enum Shape {
    Schema(Rc<Schema>),
    #[default]
    Other,
}

// === impl Document ===

impl<'a> Document<'a> {
    /// Reads a document.
    pub fn parse(text: &'a [u8]) -> Result<Self, Missing> {
        let document: WireDocument<'a> = serde_json::from_slice(text)?;
        Ok(Self { schemas: document.components.schemas })
    }

    /// The type of a kind, which is called `name` in issues, as are the types in it. Any type, if
    /// the schema says nothing of one.
    pub fn kind(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        name: &str,
    ) -> Result<Type, Missing> {
        let root = self.find(group, version, kind)?;
        let schemas = Rc::new(self.closure(root)?);
        let schema = schemas.get(root).ok_or(Missing::Kind)?.clone();
        let visited = Rc::new(Visited::Name(root.to_owned(), Rc::new(Visited::Nothing)));
        let place = Object { schemas, schema, visited, meta: ObjectMeta::AsItIs };
        match place.of(Role::Resource, name, 0) {
            Ok(found) => Ok(found.unwrap_or(Type::Dyn)),
            Err(TooDeep) => Err(Missing::Schema("it is too deep".to_owned())),
        }
    }

    fn find(&self, group: &str, version: &str, kind: &str) -> Result<&str, Missing> {
        for (name, schema) in &self.schemas {
            if !schema.get().contains("x-kubernetes-group-version-kind") {
                continue;
            }
            let known: WireKinds = serde_json::from_str(schema.get())?;
            let is_it =
                |it: &WireKind| it.group == group && it.version == version && it.kind == kind;
            if known.kinds.iter().any(is_it) {
                return Ok(name);
            }
        }
        Err(Missing::Kind)
    }

    /// A schema and all that it refers to.
    fn closure(&self, root: &str) -> Result<BTreeMap<String, Rc<Schema>>, Missing> {
        let mut found = BTreeMap::new();
        let mut asked = vec![root.to_owned()];
        while let Some(name) = asked.pop() {
            if found.contains_key(&name) {
                continue;
            }
            let text = self
                .schemas
                .get(&*name)
                .ok_or_else(|| Missing::Schema(format!("there is no schema {name:?}")))?;
            let schema: Schema = serde_json::from_str(text.get())?;
            schema.references(&mut asked);
            found.insert(name, Rc::new(schema));
        }
        Ok(found)
    }
}

impl From<serde_json::Error> for Missing {
    fn from(error: serde_json::Error) -> Self {
        Self::Schema(error.to_string())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => f.write_str("the document does not have the kind"),
            Self::Schema(why) => write!(f, "its schema cannot be read: {why}"),
        }
    }
}

// === impl Object ===

struct TooDeep;

impl Object {
    /// The type of a schema, with its name if it has fields; none: expressions cannot use it.
    /// `SchemaDeclType`, and `MaybeAssignTypeName` of pkg/cel/types.go.
    fn of(&self, role: Role, name: &str, depth: usize) -> Result<Option<Type>, TooDeep> {
        if depth > DEPTH_MAX {
            return Err(TooDeep);
        }
        let schema = &*self.schema;
        if schema.format == "int-or-string" || schema.int_or_string {
            return Ok(Some(Type::Dyn));
        }
        let inner = |shape: &Shape, suffix: &str| match shape {
            Shape::Schema(it) => {
                let (it, role) = self.at(it);
                it.of(role, &format!("{name}.{suffix}"), depth + 1)
            }
            Shape::Other => Ok(None),
        };
        Ok(match (schema.r#type.first(), &*schema.format) {
            ("array", _) => inner(&schema.items, "@idx")?.map(Type::list),
            ("object", _) if matches!(schema.additional_properties, Shape::Schema(_)) => {
                let value = inner(&schema.additional_properties, "@elem")?;
                value.map(|value| Type::map(Type::String, value))
            }
            ("object", _) => {
                let mut object = self.clone();
                if role == Role::Resource && !self.has_meta() {
                    object.meta = ObjectMeta::Added;
                }
                Some(Type::object(name, Fields::Schema(object)))
            }
            ("string", "byte") => Some(Type::Bytes),
            ("string", "duration") => Some(Type::Duration),
            ("string", "date" | "date-time") => Some(Type::Timestamp),
            ("string", _) => Some(Type::String),
            ("boolean", _) => Some(Type::Bool),
            ("number", _) => Some(Type::Double),
            ("integer", _) => Some(Type::Int),
            _ => None,
        })
    }

    /// A schema in this one, with its reference followed, and what it is of. `populateRefs`.
    fn at(&self, schema: &Rc<Schema>) -> (Self, Role) {
        let mut place = self.clone();
        place.schema = schema.clone();
        place.meta = ObjectMeta::AsItIs;
        if let Some(name) = schema.reference() {
            if self.visited.contains(name) {
                // What contains itself is taken for empty.
                let r#type = Words(vec!["object".to_owned()]);
                place.schema = Rc::new(Schema { r#type, ..Schema::default() });
            } else if let Some(found) = self.schemas.get(name) {
                place.schema = found.clone();
                place.visited = Rc::new(Visited::Name(name.to_owned(), self.visited.clone()));
            }
        }
        let is_embedded = place.schema.embedded_resource;
        (place, if is_embedded { Role::Resource } else { Role::Part })
    }

    /// Whether the schema has what each object of the API has. `WithTypeAndObjectMeta`.
    fn has_meta(&self) -> bool {
        let has = |within: &Self, name: &str, of: &str| {
            let found = within.schema.properties.get(name).map(|it| within.at(it).0);
            found.filter(|it| it.schema.r#type.contains(of))
        };
        let metadata = has(self, "metadata", "object");
        metadata.is_some_and(|metadata| {
            [(self, "kind"), (self, "apiVersion"), (&metadata, "name"), (&metadata, "generateName")]
                .into_iter()
                .all(|(within, name)| has(within, name, "string").is_some())
        })
    }

    /// A field of the type of this name.
    pub(crate) fn field(&self, name: &str, field: &str) -> Field {
        let inner = format!("{name}.{field}");
        if self.meta == ObjectMeta::Added {
            match field {
                "kind" | "apiVersion" => return Field::Is(Type::String),
                "metadata" => {
                    let names = ["name", "generateName"].map(|it| (it.to_owned(), Type::String));
                    return Field::Is(Type::object(inner, Fields::Known(names.into())));
                }
                _ => {}
            }
        }
        let mut all = self.schema.properties.iter();
        let Some((_, found)) = all.find(|(it, _)| escaped(it).as_deref() == Some(field)) else {
            return Field::Missing;
        };
        let (found, role) = self.at(found);
        match found.of(role, &inner, 0) {
            Ok(found) => found.map_or(Field::Missing, Field::Is),
            Err(TooDeep) => Field::Unknown,
        }
    }
}

impl Visited {
    fn contains(&self, name: &str) -> bool {
        let mut all = self;
        while let Self::Name(first, rest) = all {
            if first == name {
                return true;
            }
            all = rest;
        }
        false
    }
}

// === impl Schema ===

impl Schema {
    /// The name of the schema that this one stands for. `refOf`.
    fn reference(&self) -> Option<&str> {
        let direct = self.reference.as_deref().filter(|it| !it.is_empty());
        let found = direct.or_else(|| self.all_of.iter().find_map(Reference::find))?;
        Some(found.strip_prefix(REFERENCE).unwrap_or(found))
    }

    /// Adds what it refers to.
    fn references(&self, all: &mut Vec<String>) {
        all.extend(self.reference().map(str::to_owned));
        let shapes = [&self.items, &self.additional_properties];
        let inner = shapes.into_iter().filter_map(|shape| match shape {
            Shape::Schema(schema) => Some(schema),
            Shape::Other => None,
        });
        for schema in inner.chain(self.properties.values()) {
            schema.references(all);
        }
    }
}

impl Reference {
    fn find(&self) -> Option<&str> {
        let direct = self.reference.as_deref().filter(|it| !it.is_empty());
        direct.or_else(|| self.all_of.iter().find_map(Self::find))
    }
}

impl Words {
    fn first(&self) -> &str {
        self.0.first().map_or("", |word| word)
    }

    fn contains(&self, word: &str) -> bool {
        self.0.iter().any(|it| it == word)
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word or a list of words")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Words, E> {
                Ok(Words(vec![word.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<Words, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(words)).map(Words)
            }
        }

        deserializer.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a schema, a list of schemas or a boolean")
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Shape, E> {
                Ok(Shape::Other)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, all: A) -> Result<Shape, A::Error> {
                IgnoredAny.visit_seq(all).map(|_| Shape::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, schema: A) -> Result<Shape, A::Error> {
                let schema = Schema::deserialize(MapAccessDeserializer::new(schema))?;
                Ok(Shape::Schema(Rc::new(schema)))
            }
        }

        deserializer.deserialize_any(Read)
    }
}

/// Other values than booleans are false, too.
fn is_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(deserializer)? == Value::Bool(true))
}

/// A property as expressions name it; none: they cannot. `Escape` of pkg/cel/escaping.go.
fn escaped(name: &str) -> Option<Cow<'_, str>> {
    if name.starts_with(|char: char| char.is_ascii_digit()) || name.is_empty() {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '_';
    if name.chars().all(is_plain) && !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let mut text = String::new();
    let mut rest = name;
    while let Some(char) = rest.chars().next() {
        let (part, len) = match char {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            char if is_plain(char) => (rest.get(..1)?, 1),
            _ => return None,
        };
        text.push_str(part);
        rest = rest.get(len..)?;
    }
    Some(Cow::Owned(text))
}

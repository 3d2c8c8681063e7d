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
/// The longest name of a type, in bytes. It is made of the names of the fields that lead there, and
/// is compared and printed over and over.
const NAME_BYTES_MAX: usize = 4096;

/// An OpenAPI document of a group and version, of which nothing but the names of its schemas and
/// their kinds is parsed yet.
#[derive(Debug)]
pub struct Document<'a> {
    pub(crate) schemas: BTreeMap<Cow<'a, str>, &'a RawValue>,
    /// A kind to the name of its schema.
    pub(crate) kinds: BTreeMap<Name, Cow<'a, str>>,
    /// The schemas that were asked for, which kinds share.
    parsed: BTreeMap<String, Rc<Schema>>,
}

/// Group, version and kind.
type Name = (String, String, String);

/// Why a kind has no type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The document does not have it.
    Kind,
    /// Its schema, or one that it refers to, cannot be read.
    Schema(String),
    /// It is beyond a limit here.
    TooDeep,
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
#[serde(default)]
#[derive(Default)]
struct WireDocument<'a> {
    #[serde(borrow)]
    components: Option<WireComponents<'a>>,
    /// Only excerpts have it.
    #[serde(rename = "x-unreadable")]
    unreadable: Option<String>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct WireComponents<'a> {
    #[serde(borrow)]
    schemas: Option<BTreeMap<Cow<'a, str>, &'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct WireKinds {
    #[serde(rename = "x-kubernetes-group-version-kind", deserialize_with = "or_nothing")]
    kinds: Vec<WireKind>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct WireKind {
    #[serde(deserialize_with = "or_nothing")]
    group: String,
    #[serde(deserialize_with = "or_nothing")]
    version: String,
    #[serde(deserialize_with = "or_nothing")]
    kind: String,
}

/// What matters of a schema. Null is the same as nothing, as in Go.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Schema {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(deserialize_with = "or_nothing")]
    all_of: Vec<Reference>,
    r#type: Words,
    #[serde(deserialize_with = "or_nothing")]
    format: String,
    items: Shape,
    properties: Properties,
    additional_properties: Shape,
    #[serde(rename = "x-kubernetes-int-or-string", deserialize_with = "is_true")]
    int_or_string: bool,
    #[serde(rename = "x-kubernetes-embedded-resource", deserialize_with = "is_true")]
    embedded_resource: bool,
}

/// The fields of a schema.
#[derive(Debug, Default)]
struct Properties {
    /// By the names that expressions have for them.
    named: BTreeMap<String, Rc<Schema>>,
    /// Those that no expression can name.
    unnamed: Vec<Rc<Schema>>,
}

/// What stands for another schema.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reference {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(deserialize_with = "or_nothing")]
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
        let document: Option<WireDocument<'a>> = serde_json::from_slice(text)?;
        let document = document.unwrap_or_default();
        if let Some(why) = document.unreadable {
            return Err(Missing::Schema(why));
        }
        let components = document.components;
        let schemas = components.and_then(|it| it.schemas).unwrap_or_default();
        let mut kinds = BTreeMap::new();
        for (name, schema) in &schemas {
            if !schema.get().contains("x-kubernetes-group-version-kind") {
                continue;
            }
            let known: Option<WireKinds> = serde_json::from_str(schema.get())?;
            for it in known.unwrap_or_default().kinds {
                kinds.entry((it.group, it.version, it.kind)).or_insert_with(|| name.clone());
            }
        }
        Ok(Self { schemas, kinds, parsed: BTreeMap::new() })
    }

    /// The type of a kind, which is called `name` in issues, as are the types in it. Any type, if
    /// the schema says nothing of one.
    pub fn kind(
        &mut self,
        group: &str,
        version: &str,
        kind: &str,
        name: &str,
    ) -> Result<Type, Missing> {
        let key = (group.to_owned(), version.to_owned(), kind.to_owned());
        let root = self.kinds.get(&key).ok_or(Missing::Kind)?.to_string();
        let schemas = Rc::new(self.closure(&root)?);
        let schema = schemas.get(&root).ok_or(Missing::Kind)?.clone();
        let visited = Rc::new(Visited::Name(root, Rc::new(Visited::Nothing)));
        let place = Object { schemas, schema, visited, meta: ObjectMeta::AsItIs };
        match place.of(Role::Resource, name, 0) {
            Ok(found) => Ok(found.unwrap_or(Type::Dyn)),
            Err(TooDeep) => Err(Missing::TooDeep),
        }
    }

    /// A schema and all that it refers to.
    fn closure(&mut self, root: &str) -> Result<BTreeMap<String, Rc<Schema>>, Missing> {
        let mut found = BTreeMap::new();
        let mut asked = vec![root.to_owned()];
        while let Some(name) = asked.pop() {
            if found.contains_key(&name) {
                continue;
            }
            let schema = self.schema(&name)?;
            schema.references(&mut asked);
            found.insert(name, schema);
        }
        Ok(found)
    }

    /// Adds to `all` what a schema refers to, if it can be read.
    pub(crate) fn references(&mut self, name: &str, all: &mut Vec<String>) {
        if let Ok(schema) = self.schema(name) {
            schema.references(all);
        }
    }

    fn schema(&mut self, name: &str) -> Result<Rc<Schema>, Missing> {
        if let Some(found) = self.parsed.get(name) {
            return Ok(found.clone());
        }
        let text = self
            .schemas
            .get(name)
            .ok_or_else(|| Missing::Schema(format!("there is no schema {name:?}")))?;
        let schema: Option<Schema> = serde_json::from_str(text.get())?;
        let schema = Rc::new(schema.unwrap_or_default());
        self.parsed.insert(name.to_owned(), schema.clone());
        Ok(schema)
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
            Self::TooDeep => f.write_str("its schema is too deep"),
        }
    }
}

// === impl Object ===

struct TooDeep;

impl Object {
    /// The type of a schema, with its name if it has fields; none: expressions cannot use it.
    /// `SchemaDeclType`, and `MaybeAssignTypeName` of pkg/cel/types.go.
    fn of(&self, role: Role, name: &str, depth: usize) -> Result<Option<Type>, TooDeep> {
        if depth > DEPTH_MAX || name.len() > NAME_BYTES_MAX {
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
            let found = within.schema.properties.named.get(name).map(|it| within.at(it).0);
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
        let Some(found) = self.schema.properties.named.get(field) else {
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
        let Properties { named, unnamed } = &self.properties;
        for schema in inner.chain(named.values()).chain(unnamed) {
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

            fn visit_unit<E: de::Error>(self) -> Result<Words, E> {
                Ok(Words::default())
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

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Option::<BTreeMap<String, Option<Schema>>>::deserialize(deserializer)?;
        let mut properties = Self::default();
        for (name, schema) in all.unwrap_or_default() {
            let schema = Rc::new(schema.unwrap_or_default());
            match escaped(&name) {
                Some(name) => drop(properties.named.insert(name.into_owned(), schema)),
                None => properties.unnamed.push(schema),
            }
        }
        Ok(properties)
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

            fn visit_unit<E: de::Error>(self) -> Result<Shape, E> {
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

/// Null is nothing.
fn or_nothing<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
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

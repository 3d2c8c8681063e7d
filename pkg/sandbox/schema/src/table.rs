//! The types.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The table: its first lines say how to read it.
const TYPES: &str = include_str!("types.txt");
/// The type of `metadata`.
const METADATA: &str = "apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The types of an API.
#[derive(Debug)]
pub struct Schema {
    types: Vec<Type>,
    /// By group (empty for core), version and kind.
    kinds: BTreeMap<(&'static str, &'static str, &'static str), TypeId>,
    custom: TypeId,
}

/// A type of a [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(u32);

/// What an object may hold.
#[derive(Debug)]
pub struct Type {
    /// As in the OpenAPI document, without `io.k8s.`: `api.core.v1.PodSpec`.
    pub name: &'static str,
    /// Sorted by name.
    pub fields: Vec<Field>,
    /// Whether other fields are kept as they come, as in custom resources.
    pub open: bool,
    /// Whether it has one owner as a whole (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
}

/// A field of a [`Type`].
#[derive(Clone, Debug)]
pub struct Field {
    /// As in JSON.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether OpenAPI says that it must be there.
    pub required: bool,
    /// What becomes of it when it is empty.
    pub presence: Presence,
    /// The Go structs that it is embedded from, as errors name them: `VolumeSource`; mostly empty.
    pub within: &'static str,
    /// Its Go type as errors name it, if `shape` does not say it already.
    pub go: Option<&'static str>,
    /// What a strategic merge patch does with it.
    pub merge: Merge,
}

/// What becomes of a field that is absent or empty when its object is written as JSON: what Go's
/// types do with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It is kept as it came, but for null: a pointer with `omitempty`.
    #[default]
    Given,
    /// It is left out if it has the zero value: `omitempty` or `omitzero`.
    Filled,
    /// It is there, with the zero value if nothing else is known.
    Always,
    /// It is there, as null if nothing else is known.
    Nullable,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A single value.
    Scalar(Scalar),
    /// An object of a type.
    Object(TypeId),
    /// An object with arbitrary keys.
    Map {
        /// What each key holds.
        value: Box<Shape>,
        /// Whether it has one owner as a whole.
        atomic: bool,
    },
    /// An array.
    List {
        /// What each item is.
        item: Box<Shape>,
        /// How an apply distinguishes items.
        kind: ListKind,
    },
    /// Any JSON.
    Any,
}

/// Single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Text.
    String,
    /// Base64 in a string.
    Bytes,
    /// RFC 3339 in whole seconds.
    Time,
    /// RFC 3339 with microseconds.
    MicroTime,
    /// A quantity such as `100m`: a string, or a number.
    Quantity,
    /// A number, or a string.
    IntOrString,
    /// 32 bits.
    Int32,
    /// 64 bits.
    Int64,
    /// A floating-point number.
    Double,
    /// `true` or `false`.
    Bool,
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// One owner as a whole; also what is not said.
    Atomic,
    /// Each value is there once and has its owners.
    Set,
    /// These fields distinguish items.
    Map(Vec<&'static str>),
}

/// `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// Lists are merged rather than replaced.
    pub merges: bool,
    /// Objects are replaced rather than merged.
    pub replaces: bool,
    /// Only the keys that the patch names stay.
    pub retains_keys: bool,
    /// What distinguishes items of a merged list; none: they are single values.
    pub key: Option<&'static str>,
}

impl Schema {
    /// The types of Kubernetes 1.36.3.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Schema> = OnceLock::new();
        BUILTIN.get_or_init(|| Self::parse(TYPES))
    }

    /// The type of a kind.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<TypeId> {
        self.kinds.get(&(group, version, kind)).copied()
    }

    /// What objects of a custom resource without a schema hold: `metadata` as every object, and
    /// anything else.
    pub fn custom(&self) -> TypeId {
        self.custom
    }

    /// What a type holds.
    pub fn get(&self, id: TypeId) -> &Type {
        let at = usize::try_from(id.0).unwrap_or(usize::MAX);
        self.types.get(at).expect("ids are only made for types of the one schema")
    }

    /// A type by its name.
    pub(crate) fn named(&self, name: &str) -> Option<TypeId> {
        let at = self.types.iter().position(|it| it.name == name)?;
        u32::try_from(at).ok().map(TypeId)
    }

    /// All types, with the group, version and kind of those that are kinds.
    pub fn kinds(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static str, &'static str, TypeId)> {
        self.kinds.iter().map(|((group, version, kind), id)| (*group, *version, *kind, *id))
    }
}

/// Reading the table. It is part of the program, so what it cannot read is `Shape::Any`; a test
/// says that there is no such line.
impl Schema {
    pub(crate) fn parse(text: &'static str) -> Self {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let heads = lines().filter(|line| !line.starts_with(' '));
        let names = heads.filter_map(|head| head.split(' ').next());
        let ids: BTreeMap<_, _> = names.zip(0..).map(|(name, at)| (name, TypeId(at))).collect();
        let (mut types, mut kinds) = (Vec::new(), BTreeMap::new());
        for line in lines() {
            if let Some(field) = line.strip_prefix(' ') {
                let field = Field::parse(field, &ids);
                types
                    .last_mut()
                    .into_iter()
                    .for_each(|it: &mut Type| it.fields.push(field.clone()));
                continue;
            }
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default();
            let mut atomic = false;
            for word in words {
                match word.split('/').collect::<Vec<_>>().as_slice() {
                    ["atomic"] => atomic = true,
                    [version, kind] => drop(kinds.insert(("", *version, *kind), ids[name])),
                    [group, version, kind] => {
                        kinds.insert((*group, *version, *kind), ids[name]);
                    }
                    _ => {}
                }
            }
            types.push(Type { name, fields: Vec::new(), open: false, atomic });
        }
        let custom = TypeId(u32::try_from(types.len()).unwrap_or(u32::MAX));
        types.push(Type::custom(&ids));
        Self { types, kinds, custom }
    }
}

impl Type {
    fn custom(ids: &BTreeMap<&'static str, TypeId>) -> Self {
        let text = |name| Field {
            name,
            shape: Shape::Scalar(Scalar::String),
            required: true,
            presence: Presence::Given,
            within: "",
            go: None,
            merge: Merge::default(),
        };
        let metadata = ids.get(METADATA).map_or(Shape::Any, |id| Shape::Object(*id));
        let metadata = Field { shape: metadata, required: false, ..text("metadata") };
        let fields = vec![text("apiVersion"), text("kind"), metadata];
        Self { name: "custom", fields, open: true, atomic: false }
    }

    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        self.fields.get(at)
    }

    /// The fields that are there in any case.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Field> {
        let always = |it: &&Field| matches!(it.presence, Presence::Always | Presence::Nullable);
        self.fields.iter().filter(always)
    }
}

impl Field {
    /// `containers!~ [map:name @api.core.v1.Container] merge:name`
    fn parse(text: &'static str, ids: &BTreeMap<&'static str, TypeId>) -> Self {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (name, presence) = match name.as_bytes().last() {
            Some(b'?') => (&name[..name.len() - 1], Presence::Filled),
            Some(b'=') => (&name[..name.len() - 1], Presence::Always),
            Some(b'~') => (&name[..name.len() - 1], Presence::Nullable),
            Some(_) | None => (name, Presence::Given),
        };
        let (name, required) = match name.strip_suffix('!') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (rest, go) = match rest.split_once(" #") {
            Some((rest, go)) => (rest, Some(go)),
            None => (rest, None),
        };
        let (rest, within) = rest.split_once(" ^").unwrap_or((rest, ""));
        let end = rest.rfind([']', '}']).map_or(0, |at| at + 1);
        let end = rest[end..].find(' ').map_or(rest.len(), |at| end + at);
        let (shape, merge) = rest.split_at(end);
        let (strategies, key) = match merge.trim_start().split_once(':') {
            Some((strategies, key)) => (strategies, Some(key)),
            None => (merge.trim_start(), None),
        };
        let says = |word: &str| strategies.split('+').any(|it| it == word);
        let merge = Merge {
            merges: says("merge"),
            replaces: says("replace"),
            retains_keys: says("retainKeys"),
            key,
        };
        let shape = Shape::parse(shape, ids);
        Self { name, shape, required, presence, within, go, merge }
    }
}

impl Shape {
    fn parse(text: &'static str, ids: &BTreeMap<&'static str, TypeId>) -> Self {
        if let Some(inner) = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            let (kind, item) = match inner.split_once(' ') {
                Some(("set", item)) => (ListKind::Set, item),
                Some((map, item)) => {
                    let keys = map.strip_prefix("map:").unwrap_or_default();
                    (ListKind::Map(keys.split(',').collect()), item)
                }
                None => (ListKind::Atomic, inner),
            };
            return Self::List { item: Box::new(Self::parse(item, ids)), kind };
        }
        if let Some(inner) = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
            let atomic = inner.strip_prefix("atomic ");
            let value = Box::new(Self::parse(atomic.unwrap_or(inner), ids));
            return Self::Map { value, atomic: atomic.is_some() };
        }
        if let Some(name) = text.strip_prefix('@') {
            return ids.get(name).map_or(Self::Any, |id| Self::Object(*id));
        }
        Self::Scalar(match text {
            "string" => Scalar::String,
            "bytes" => Scalar::Bytes,
            "time" => Scalar::Time,
            "microtime" => Scalar::MicroTime,
            "quantity" => Scalar::Quantity,
            "intorstring" => Scalar::IntOrString,
            "int32" => Scalar::Int32,
            "int64" => Scalar::Int64,
            "double" => Scalar::Double,
            "bool" => Scalar::Bool,
            _ => return Self::Any,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line of the table is read: nothing but `any` is any.
    #[test]
    fn the_table_is_whole() {
        let schema = Schema::builtin();
        let says_any = |line: &&str| line.ends_with([' ', '[', '{']) || line.ends_with("any");
        let bare = |line: &'static str| line.split(" #").next().unwrap_or_default();
        let any = TYPES.lines().map(|line| bare(line).trim_end_matches([']', '}']));
        let any = any.filter(|line| line.starts_with(' ')).filter(says_any).count();
        let is_any = |shape: &Shape| match shape {
            Shape::Any => true,
            Shape::Map { value, .. } => **value == Shape::Any,
            Shape::List { item, .. } => **item == Shape::Any,
            Shape::Scalar(_) | Shape::Object(_) => false,
        };
        let fields = schema.types.iter().flat_map(|it| &it.fields);
        let read: Vec<_> = fields.filter(|field| is_any(&field.shape)).map(|it| it.name).collect();
        assert_eq!(read.len(), any, "{read:?}");
        let spec = schema.get(schema.kind("", "v1", "Pod").unwrap()).field("spec").unwrap();
        let Shape::Object(spec) = spec.shape else { panic!("{spec:?}") };
        let containers = schema.get(spec).field("containers").unwrap();
        assert!(containers.required && containers.merge.merges);
        assert_eq!(containers.merge.key, Some("name"));
        let volumes = schema.get(spec).field("volumes").unwrap().merge;
        assert!(volumes.merges && volumes.retains_keys);
        let Shape::List { kind: ListKind::Map(keys), .. } = &containers.shape else {
            panic!("{containers:?}")
        };
        assert_eq!(*keys, ["name"]);
        assert_eq!(containers.presence, Presence::Nullable);
        let path = schema.get(spec).field("dnsPolicy").unwrap();
        assert_eq!((path.presence, path.go), (Presence::Filled, Some("v1.DNSPolicy")));
        assert_eq!(schema.get(spec).field("hostUsers").unwrap().presence, Presence::Given);
    }

    /// Types and fields are found by bisection.
    #[test]
    fn fields_are_sorted() {
        for it in &Schema::builtin().types {
            assert!(it.fields.is_sorted_by_key(|field| field.name), "{}", it.name);
        }
    }
}

//! What every expression may use: functions, types as values, and the types of a request and of a
//! namespace. One table, which upstream's own environment has written: `make cel` runs
//! tests/cluster/kube/cel.

use std::collections::BTreeMap;

use crate::types::{Fields, Type};

/// A line that starts with "fn" is a function; the indented lines after it are its overloads: how
/// it is called, its result and its arguments. "var" is a name with its type, "type" a type whose
/// fields follow. In types, "#" starts a type with fields, "@" one without, and "<" a type that
/// the declaration leaves open. Lines of macros are for the test that compares their names.
pub(crate) const TABLE: &str = include_str!("declarations.txt");

/// What every expression may use.
#[derive(Debug)]
pub struct Declarations {
    functions: BTreeMap<&'static str, Vec<Overload>>,
    variables: BTreeMap<&'static str, Type>,
    types: BTreeMap<&'static str, BTreeMap<&'static str, Type>>,
}

/// One form of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) style: Style,
    /// The result, and then the arguments; a target comes first.
    pub(crate) types: Vec<Type>,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Global,
    Member,
}

// === impl Declarations ===

impl Declarations {
    /// Reads the table.
    pub fn load() -> Self {
        let mut all =
            Self { functions: BTreeMap::new(), variables: BTreeMap::new(), types: BTreeMap::new() };
        let mut section = ("", "");
        for line in TABLE.lines() {
            let mut words = line.split(' ');
            let (first, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            match first {
                "var" => {
                    let of = words.next().map_or(Type::Dyn, parsed);
                    all.variables.insert(name, of);
                }
                "" if section.0 == "fn" => {
                    let style = if name == "member" { Style::Member } else { Style::Global };
                    let overload = Overload { style, types: words.map(parsed).collect() };
                    all.functions.entry(section.1).or_default().push(overload);
                }
                "" if section.0 == "type" => {
                    let of = words.next().map_or(Type::Dyn, parsed);
                    all.types.entry(section.1).or_default().insert(name, of);
                }
                _ => section = (first, name),
            }
        }
        all
    }

    pub(crate) fn function(&self, name: &str) -> Option<&[Overload]> {
        self.functions.get(name).map(|all| &**all)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.get(name)
    }

    /// The fields of a type; none: nothing is known of it.
    pub(crate) fn fields(&self, name: &str) -> Option<&BTreeMap<&'static str, Type>> {
        self.types.get(name)
    }
}

/// A type as the table has it.
fn parsed(text: &'static str) -> Type {
    let (head, inner) = match text.split_once('(') {
        Some((head, rest)) => (head, rest.strip_suffix(')').unwrap_or(rest)),
        None => (text, ""),
    };
    let mut inner: Vec<Type> = parts(inner).into_iter().map(parsed).collect();
    if let Some(name) = head.strip_prefix('#') {
        return Type::object(name, Fields::Declared);
    }
    if let Some(name) = head.strip_prefix('@') {
        return Type::opaque(name, inner);
    }
    if let Some(name) = head.strip_prefix('<') {
        return Type::Parameter(name.trim_end_matches('>').into());
    }
    match head {
        "any" => Type::Any,
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "duration" => Type::Duration,
        "int" => Type::Int,
        "null" => Type::Null,
        "string" => Type::String,
        "timestamp" => Type::Timestamp,
        "uint" => Type::Uint,
        "list" => Type::list(inner.pop().unwrap_or(Type::Dyn)),
        "map" => {
            let value = inner.pop().unwrap_or(Type::Dyn);
            Type::map(inner.pop().unwrap_or(Type::Dyn), value)
        }
        "type" => Type::Type(inner.pop().map(Into::into)),
        _ => Type::Dyn,
    }
}

/// What commas separate, outside of brackets.
fn parts(text: &'static str) -> Vec<&'static str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (place, char) in text.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

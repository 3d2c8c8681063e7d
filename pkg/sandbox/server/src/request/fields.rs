//! Field selectors (apimachinery's `fields`).

use api::go;
use apimachinery::fields;
use serde_json::Value;

use crate::registry::Served;
use crate::status::Status;

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

/// Values that fields of an object must have, or must not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    terms: Box<[Term]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    equal: bool,
}

impl Fields {
    /// Reads a selector for objects of a resource.
    pub(crate) fn parse(text: &str, served: &Served) -> Result<Self, Status> {
        let mut parts = split(text);
        parts.sort_unstable();
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let terms: Result<Box<[_]>, _> = parts.map(|part| Term::parse(part, text)).collect();
        let terms = terms.map_err(Status::bad_request)?;
        terms
            .iter()
            .try_for_each(|term| check(&term.field, served))
            .map_err(Status::bad_request)?;
        Ok(Self { terms })
    }

    /// Those that ask for one name.
    pub(crate) fn of_name(name: &str) -> Self {
        let (field, value) = (NAME.to_owned(), name.to_owned());
        Self { terms: [Term { field, value, equal: true }].into() }
    }

    /// Whether everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The one name that matches, if there is one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.exactly(NAME)
    }

    /// The one namespace in which objects match, if there is one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.exactly(NAMESPACE)
    }

    fn exactly(&self, field: &str) -> Option<&str> {
        let term = self.terms.iter().find(|term| term.equal && term.field == field)?;
        Some(&term.value)
    }

    /// Whether all fields are as they must be.
    pub(crate) fn match_object(&self, object: &Value, served: &Served) -> bool {
        self.terms.iter().all(|term| {
            let metadata = |field| fields::at(object, field).and_then(Value::as_str);
            let is_equal = match term.field.as_str() {
                NAME => metadata("/metadata/name").unwrap_or_default() == term.value,
                NAMESPACE => metadata("/metadata/namespace").unwrap_or_default() == term.value,
                // A field that is not there is empty.
                field => {
                    *served.strategy.selectable(object, field).unwrap_or_default() == *term.value
                }
            };
            is_equal == term.equal
        })
    }
}

impl Term {
    fn parse(part: &str, all: &str) -> Result<Self, String> {
        let split = part.char_indices().find_map(|(at, _)| {
            let (field, rest) = part.split_at(at);
            let operators = [("!=", false), ("==", true), ("=", true)].into_iter();
            let mut found = operators
                .filter_map(|(operator, equal)| Some((rest.strip_prefix(operator)?, equal)));
            found.next().map(|(value, equal)| (field, value, equal))
        });
        let Some((field, value, equal)) = split else {
            return Err(format!("invalid selector: '{all}'; can't understand '{part}'"));
        };
        Ok(Self { field: field.to_owned(), value: unescape(value)?, equal })
    }
}

/// The terms, at commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut is_escaped = false;
    text.split(|char| {
        let is_comma = char == ',' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        is_comma
    })
    .collect()
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(char @ ('\\' | ',' | '=')) => out.push(char),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: {sequence}"
                    ));
                }
            },
            // As Go prints a character: as its number.
            ',' | '=' => {
                let number = u32::from(char);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {number}"
                ));
            }
            char => out.push(char),
        }
    }
    Ok(out)
}

/// Whether objects can be selected by a field, in the words of upstream's conversions.
fn check(field: &str, served: &Served) -> Result<(), String> {
    let more = served.strategy.selectable_fields();
    // Kinds that say which fields they know say so of the namespace too.
    let is_strict = served.custom || !more.is_empty();
    let known = match field {
        NAME => true,
        NAMESPACE => served.resource.namespaced || !is_strict,
        _ => more.contains(&field),
    };
    match &*served.resource.kind {
        _ if known => Ok(()),
        "Job" => Err(format!("field label {} not supported for Job", go::quote(field))),
        _ if is_strict => Err(format!("field label not supported: {field}")),
        _ => Err(format!(
            "{} is not a known field selector: only \"{NAME}\", \"{NAMESPACE}\"",
            go::quote(field)
        )),
    }
}

//! What is wrong with a field, in upstream's words (apimachinery's field.Error).

use std::fmt;

use api::go::{escape_html, quote};
use serde_json::Value;

#[cfg(test)]
mod tests;

/// A field of an object. Prints as `spec.containers[0].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(String);

/// A fault of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// Which.
    pub field: Path,
    /// What is wrong.
    pub fault: Fault,
}

/// Ways to be wrong, each with its detail, which may be empty.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It is absent.
    Required(String),
    /// It cannot be this.
    Invalid(Value, String),
    /// It cannot be what it is, and that would be too long to say.
    Omitted(String),
    /// It must be one of these.
    NotSupported(Value, Vec<String>),
    /// Another object has it already.
    Duplicate(Value),
    /// It must not be there, or must not change.
    Forbidden(String),
    /// There is no such thing.
    NotFound(Value),
    /// More bytes than this.
    TooLong(usize),
    /// More items than this: how many there are, how many there may be.
    TooMany(usize, usize),
}

impl Path {
    /// A top-level field.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A field below.
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self::new(name) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// An item of a list.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// A value of a map.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The fault of this field.
    pub fn is(&self, fault: Fault) -> Invalid {
        Invalid { field: self.clone(), fault }
    }

    /// It is absent.
    pub fn required(&self, detail: &str) -> Invalid {
        self.is(Fault::Required(detail.to_owned()))
    }

    /// It cannot be `value`.
    pub fn invalid(&self, value: impl Into<Value>, detail: &str) -> Invalid {
        self.is(Fault::Invalid(value.into(), detail.to_owned()))
    }

    /// It cannot be `value`, for each of these reasons.
    pub(crate) fn refuse(&self, value: &str, wrongs: Vec<String>) -> Vec<Invalid> {
        wrongs.into_iter().map(|wrong| self.is(Fault::Invalid(value.into(), wrong))).collect()
    }

    /// It must not be there, or must not change.
    pub fn forbidden(&self, detail: &str) -> Invalid {
        self.is(Fault::Forbidden(detail.to_owned()))
    }

    /// It must be one of `known`.
    pub fn not_supported(&self, value: impl Into<Value>, known: &[&str]) -> Invalid {
        let known = known.iter().map(|it| (*it).to_owned()).collect();
        self.is(Fault::NotSupported(value.into(), known))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Invalid {
    /// The `reason` of a cause in a Status: `FieldValueInvalid`.
    pub fn reason(&self) -> &'static str {
        match &self.fault {
            Fault::Required(_) => "FieldValueRequired",
            Fault::Invalid(..) | Fault::Omitted(_) => "FieldValueInvalid",
            Fault::NotSupported(..) => "FieldValueNotSupported",
            Fault::Duplicate(_) => "FieldValueDuplicate",
            Fault::Forbidden(_) => "FieldValueForbidden",
            Fault::NotFound(_) => "FieldValueNotFound",
            Fault::TooLong(_) => "FieldValueTooLong",
            Fault::TooMany(..) => "FieldValueTooMany",
        }
    }

    /// What is wrong without the field, as upstream's ErrorBody.
    pub fn body(&self) -> String {
        match &self.fault {
            Fault::Required(detail) => join(&["Required value", detail]),
            Fault::Invalid(value, detail) => join(&["Invalid value", &printed(value), detail]),
            Fault::Omitted(detail) => join(&["Invalid value", detail]),
            Fault::NotSupported(value, known) => {
                let known: Vec<_> = known.iter().map(quote).collect();
                let known = match known.as_slice() {
                    [] => String::new(),
                    known => format!("supported values: {}", known.join(", ")),
                };
                join(&["Unsupported value", &printed(value), &known])
            }
            Fault::Duplicate(value) => join(&["Duplicate value", &printed(value)]),
            Fault::Forbidden(detail) => join(&["Forbidden", detail]),
            Fault::NotFound(value) => join(&["Not found", &printed(value)]),
            Fault::TooLong(max) => format!("Too long: may not be more than {max} {}", bytes(*max)),
            Fault::TooMany(actual, max) => {
                let items = if *max == 1 { "item" } else { "items" };
                format!("Too many: {actual}: must have at most {max} {items}")
            }
        }
    }
}

/// As upstream's field.Error prints.
impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

fn bytes(count: usize) -> &'static str {
    if count == 1 { "byte" } else { "bytes" }
}

/// Joined by colons, without a detail that is empty.
fn join(parts: &[&str]) -> String {
    let parts: Vec<_> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}

/// Texts as `%q` prints them, all else as Go's JSON.
fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape_html(value.to_string())
        }
    }
}

//! The steps of a field's path. Upstream: structured-merge-diff's fieldpath.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

/// One step: from an object or a list to what it holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// A field of an object.
    Field(String),
    /// The item of a list that has these fields, sorted by name.
    Key(Vec<(String, Single)>),
    /// The item of a set.
    Value(Single),
    /// The item of a list without keys.
    Index(i64),
}

/// A value with an order: numbers (by size, whether whole or not), text, booleans, the rest.
#[derive(Clone, Debug)]
pub(super) struct Single(pub(super) Value);

// === impl Element ===

impl Element {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// As a key of `fieldsV1`.
    pub(super) fn to_key(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.0))
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Self::Value(value) => format!("v:{}", value.0),
            Self::Index(at) => format!("i:{at}"),
        }
    }

    /// Reads a key of `fieldsV1`; none: of a kind that is not known, which upstream leaves out.
    pub(super) fn from_key(key: &str) -> Result<Option<Self>, String> {
        let (Some((kind, rest)), true) = (key.split_once(':'), key.len() > 1) else {
            return Err(format!("missing colon: {key}"));
        };
        let value = || serde_json::from_str::<Value>(rest).map_err(|error| error.to_string());
        Ok(Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "v" => Self::Value(Single(value()?)),
            "i" => Self::Index(rest.parse().map_err(|error| format!("{error}: {key}"))?),
            "k" => match value()? {
                Value::Object(fields) => {
                    let fields = fields.into_iter().map(|(name, value)| (name, Single(value)));
                    Self::Key(fields.collect())
                }
                other => return Err(format!("expected an object, got {other}")),
            },
            _ => return Ok(None),
        }))
    }
}

/// As in conflicts: `.spec`, `[name="web"]`, `[="a"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|(name, value)| format!("{name}={}", value.0)).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", value.0),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

// === impl Single ===

impl Ord for Single {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Value::Number(one), Value::Number(other)) => by_size(one, other),
            (Value::String(one), Value::String(other)) => one.cmp(other),
            (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
            (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
                self.0.to_string().cmp(&other.0.to_string())
            }
            (one, other) => rank(one).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for Single {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Single {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Single {}

/// Whether two values are equal, whether numbers are whole by kind or by value.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => by_size(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let in_other = |(key, one)| other.get(key).is_some_and(|other| same(one, other));
            one.len() == other.len() && one.iter().all(in_other)
        }
        (one, other) => one == other,
    }
}

fn by_size(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (one.as_i64(), other.as_i64()) {
        return one.cmp(&other);
    }
    let float = |it: &Number| it.as_f64().unwrap_or_default();
    float(one).total_cmp(&float(other))
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

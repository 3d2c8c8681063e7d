//! Label selectors.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use serde::Deserialize;

use crate::wire::null_is_empty;
use crate::{Labels, is_label_key, is_label_value};

pub use text::SelectorText;

/// A parsed `metav1.LabelSelector`: all requirements must hold. One without requirements matches
/// everything; pod owners, for which it means "nothing", check [`Selector::is_empty`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<(String, Requirement)>,
}

/// What must hold of the value of one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// It is one of these.
    In(BTreeSet<String>),
    /// It is none of these, or the label is absent.
    NotIn(BTreeSet<String>),
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

/// Why a selector cannot be read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SelectorError {
    /// The operator is none of `In`, `NotIn`, `Exists`, `DoesNotExist`.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// No label can have this key.
    #[error("{0:?} is not a valid label key")]
    Key(String),
    /// No label can have this value.
    #[error("key {key:?}: {value:?} is not a valid label value")]
    Value {
        /// The label.
        key: String,
        /// The value as written.
        value: String,
    },
    /// `In` and `NotIn` need values, `Exists` and `DoesNotExist` must have none.
    #[error("key {key:?}: wrong number of values for operator {operator}")]
    Values {
        /// The label.
        key: String,
        /// The operator as written.
        operator: String,
    },
}

/// `metav1.LabelSelector` as it is written.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WireSelector {
    #[prost(btree_map = "string, string", tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    match_labels: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    match_expressions: Vec<WireRequirement>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
struct WireRequirement {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    operator: String,
    #[prost(string, repeated, tag = "3")]
    #[serde(default, deserialize_with = "null_is_empty")]
    values: Vec<String>,
}

impl Selector {
    /// A selector that asks for these labels.
    pub fn of(labels: &[(&str, &str)]) -> Self {
        let requirement = |value: &str| Requirement::In(BTreeSet::from([value.to_owned()]));
        let requirements =
            labels.iter().map(|(key, value)| ((*key).to_owned(), requirement(value))).collect();
        Self { requirements }
    }

    /// Whether there is no requirement.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether all requirements hold.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|(key, requirement)| requirement.holds(labels.get(key)))
    }
}

impl Requirement {
    /// The requirement of one expression of a selector, as upstream's `labels.NewRequirement` but
    /// without [`check_requirement`]: older objects may hold values that no label can have.
    pub fn read(
        key: &str,
        operator: &str,
        values: BTreeSet<String>,
    ) -> Result<Self, SelectorError> {
        let requirement = match (operator, values.is_empty()) {
            ("In", false) => Self::In(values),
            ("NotIn", false) => Self::NotIn(values),
            ("Exists", true) => Self::Exists,
            ("DoesNotExist", true) => Self::DoesNotExist,
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {
                let (key, operator) = (key.to_owned(), operator.to_owned());
                return Err(SelectorError::Values { key, operator });
            }
            _ => return Err(SelectorError::Operator(operator.to_owned())),
        };
        Ok(requirement)
    }

    /// Whether it holds of the value of its label; none: there is no such label.
    pub fn holds(&self, value: Option<&str>) -> bool {
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
        }
    }
}

impl From<BTreeMap<String, String>> for WireSelector {
    fn from(match_labels: BTreeMap<String, String>) -> Self {
        Self { match_labels, match_expressions: Vec::new() }
    }
}

impl WireSelector {
    /// As `labels.Selector.String` of what `LabelSelectorAsSelector` makes of it: `a=b,c in (d,e)`.
    pub(crate) fn text(&self) -> String {
        let labels = self.match_labels.iter();
        let labels = labels.map(|(key, value)| (key, format!("{key}={value}")));
        let expressions = self.match_expressions.iter().map(|it| (&it.key, it.text()));
        let mut all: Vec<_> = labels.chain(expressions).collect();
        all.sort_by_key(|(key, _)| *key);
        all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
    }

    /// As upstream's `LabelSelectorAsSelector`.
    pub(crate) fn parse(self) -> Result<Selector, SelectorError> {
        let labels = self.match_labels.into_iter();
        let labels = labels.map(|(key, value)| (key, Requirement::In(BTreeSet::from([value]))));
        let expressions = self.match_expressions.into_iter().map(WireRequirement::parse);
        let requirements: Vec<_> = labels.map(Ok).chain(expressions).collect::<Result<_, _>>()?;
        requirements
            .iter()
            .try_for_each(|(key, requirement)| check_requirement(key, requirement))?;
        Ok(Selector { requirements })
    }
}

impl WireRequirement {
    fn text(&self) -> String {
        let Self { key, operator, values } = self;
        let mut values: Vec<_> = values.iter().map(String::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        match operator.as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.clone(),
        }
    }

    fn parse(self) -> Result<(String, Requirement), SelectorError> {
        let values = self.values.into_iter().collect();
        let requirement = Requirement::read(&self.key, &self.operator, values)?;
        Ok((self.key, requirement))
    }
}

/// Whether there can be such a label. The API server lets older objects keep invalid values.
pub fn check_requirement(key: &str, requirement: &Requirement) -> Result<(), SelectorError> {
    if !is_label_key(key) {
        return Err(SelectorError::Key(key.to_owned()));
    }
    let (Requirement::In(values) | Requirement::NotIn(values)) = requirement else {
        return Ok(());
    };
    match values.iter().find(|value| !is_label_value(value)) {
        Some(value) => Err(SelectorError::Value { key: key.to_owned(), value: value.to_owned() }),
        None => Ok(()),
    }
}

//! Label selectors as text (apimachinery's `labels.Parse`).

mod parser;
mod validity;

use apimachinery::fields;
use serde_json::Value;

/// What must hold of the labels of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels {
    /// By key.
    requirements: Box<[(String, Requirement)]>,
}

/// What must hold of one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

impl Labels {
    /// Reads a selector, or says what is wrong in upstream's words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = parser::parse(text)?;
        requirements.sort_by(|one, two| one.0.cmp(&two.0));
        Ok(Self { requirements: requirements.into() })
    }

    /// Whether everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the labels of an object are as they must be.
    pub(crate) fn match_object(&self, object: &Value) -> bool {
        if self.is_empty() {
            return true;
        }
        let labels = fields::at(object, "/metadata/labels");
        let label = |key: &str| labels?.get(key)?.as_str();
        self.requirements.iter().all(|(key, requirement)| requirement.holds(label(key)))
    }
}

impl Requirement {
    /// Whether it holds of a value; none: the label is absent.
    pub(crate) fn holds(&self, value: Option<&str>) -> bool {
        let is_in = |values: &[String]| value.is_some_and(|it| values.iter().any(|one| one == it));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => is_in(values),
            Self::NotIn(values) => !is_in(values),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::GreaterThan(than) => number().is_some_and(|number| number > *than),
            Self::LessThan(than) => number().is_some_and(|number| number < *than),
        }
    }
}

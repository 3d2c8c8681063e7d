//! Label selectors as text (apimachinery's `labels.Parse`).

#[expect(clippy::wildcard_enum_match_arm, reason = "any other token is an error")]
mod parser;
mod validity;

use apimachinery::fields;
use serde_json::Value;

use crate::Labels;

/// A label selector that was read from text, such as `app=web,tier!=db`: what must hold of the
/// labels of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectorText {
    /// By key.
    requirements: Box<[(String, Requirement)]>,
}

/// What must hold of one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Requirement {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

impl SelectorText {
    /// Reads a selector, or says what is wrong in upstream's words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = parser::parse(text)?;
        requirements.sort_by(|one, two| one.0.cmp(&two.0));
        Ok(Self { requirements: requirements.into() })
    }

    /// Whether everything matches.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether labels are as they must be.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|(key, requirement)| requirement.holds(labels.get(key)))
    }

    /// Whether the labels of an object are as they must be.
    pub fn match_object(&self, object: &Value) -> bool {
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
    pub(super) fn holds(&self, value: Option<&str>) -> bool {
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

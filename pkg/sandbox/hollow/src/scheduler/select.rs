//! Which labels a selector takes, and which nodes a pod asks for.

use std::collections::BTreeSet;

use api::{Labels, Requirement};
use serde_json::Value;

use crate::fields::{at, items, pairs, text, texts};

/// Requirements that must all hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector(Vec<(String, Test)>);

/// What must hold of a label.
#[derive(Clone, Debug)]
enum Test {
    /// What a label selector may ask, too.
    Label(Requirement),
    Greater(i64),
    Less(i64),
    /// It cannot be read, and so it never holds.
    Never,
}

/// What a pod asks of its node.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeWish {
    labels: Selector,
    /// Of these one must hold; none: no matter.
    terms: Option<Vec<Term>>,
    /// How much it likes each.
    pub(crate) preferred: Vec<(i64, Term)>,
}

/// A term of a node selector. An empty one takes no node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Term {
    labels: Selector,
    fields: Selector,
}

impl Test {
    fn read(requirement: &Value) -> Self {
        let values = texts(requirement, "/values");
        let number = || values.first().and_then(|value| value.parse().ok());
        let operator = text(requirement, "/operator");
        match operator {
            "Gt" => number().map_or(Self::Never, Self::Greater),
            "Lt" => number().map_or(Self::Never, Self::Less),
            _ => Requirement::read("", operator, values.into_iter().collect())
                .map_or(Self::Never, Self::Label),
        }
    }

    fn is(value: &str) -> Self {
        Self::Label(Requirement::In([value.to_owned()].into()))
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Label(requirement) => requirement.holds(value),
            Self::Greater(bound) => number().is_some_and(|number| number > *bound),
            Self::Less(bound) => number().is_some_and(|number| number < *bound),
            Self::Never => false,
        }
    }
}

impl Selector {
    /// Reads a label selector; none: it takes nothing.
    pub(crate) fn read(selector: Option<&Value>) -> Self {
        let Some(selector) = selector.filter(|selector| selector.is_object()) else {
            return Self(vec![(String::new(), Test::Never)]);
        };
        let mut all = Self::equal(pairs(selector, "/matchLabels"));
        all.0.extend(Self::tests(items(selector, "/matchExpressions")).0);
        all
    }

    /// Labels with these values.
    fn equal<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(labels.map(|(key, value)| (key.to_owned(), Test::is(value))).collect())
    }

    fn tests(requirements: &[Value]) -> Self {
        let test = |it: &Value| (text(it, "/key").to_owned(), Test::read(it));
        Self(requirements.iter().map(test).collect())
    }

    /// Asks for these labels to be as they are here.
    pub(crate) fn with(mut self, keys: &[String], labels: &Labels) -> Self {
        let have = keys.iter().filter_map(|key| Some((key.as_str(), labels.get(key)?)));
        self.0.extend(Self::equal(have).0);
        self
    }

    /// Asks for these labels to be other than here.
    pub(crate) fn without(mut self, keys: &[String], labels: &Labels) -> Self {
        let have = keys.iter().filter_map(|key| Some((key, labels.get(key)?)));
        let other = |it: &str| Test::Label(Requirement::NotIn([it.to_owned()].into()));
        self.0.extend(have.map(|(key, it)| (key.clone(), other(it))));
        self
    }

    /// Whether all requirements hold.
    pub(crate) fn takes(&self, labels: &Labels) -> bool {
        self.0.iter().all(|(key, test)| test.holds(labels.get(key)))
    }

    fn takes_name(&self, name: &str) -> bool {
        let value = |key: &str| if key == "metadata.name" { name } else { "" };
        self.0.iter().all(|(key, test)| test.holds(Some(value(key))))
    }
}

impl Term {
    fn read(term: &Value) -> Self {
        Self {
            labels: Selector::tests(items(term, "/matchExpressions")),
            fields: Selector::tests(items(term, "/matchFields")),
        }
    }

    /// Whether it takes a node.
    pub(crate) fn takes(&self, name: &str, labels: &Labels) -> bool {
        let empty = self.labels.0.is_empty() && self.fields.0.is_empty();
        !empty && self.labels.takes(labels) && self.fields.takes_name(name)
    }

    /// The only nodes that it can take; none: it does not say.
    fn names(&self) -> Option<&BTreeSet<String>> {
        self.fields.0.iter().find_map(|(key, test)| match test {
            Test::Label(Requirement::In(names)) if key == "metadata.name" => Some(names),
            _ => None,
        })
    }
}

impl NodeWish {
    /// Reads a pod.
    pub(crate) fn read(pod: &Value) -> Self {
        let affinity = at(pod, "/spec/affinity/nodeAffinity");
        let required =
            affinity.and_then(|it| it.get("requiredDuringSchedulingIgnoredDuringExecution"));
        let terms = |it: &Value| items(it, "/nodeSelectorTerms").iter().map(Term::read).collect();
        let preferred = affinity
            .map_or(&[][..], |it| items(it, "/preferredDuringSchedulingIgnoredDuringExecution"));
        let weighed = |it: &Value| {
            let term = it.get("preference").map(Term::read).unwrap_or_default();
            (crate::fields::number(it, "/weight").unwrap_or(0), term)
        };
        Self {
            labels: Selector::equal(pairs(pod, "/spec/nodeSelector")),
            terms: required.filter(|it| !it.is_null()).map(terms),
            preferred: preferred.iter().map(weighed).collect(),
        }
    }

    /// Whether a node will do.
    pub(crate) fn takes(&self, name: &str, labels: &Labels) -> bool {
        let any = |terms: &Vec<Term>| terms.iter().any(|term| term.takes(name, labels));
        self.labels.takes(labels) && self.terms.as_ref().is_none_or(any)
    }

    /// The only nodes that will do, if the pod names them, as those of a DaemonSet do.
    pub(crate) fn names(&self) -> Option<Vec<&str>> {
        let terms = self.terms.as_ref()?;
        let names: Vec<&BTreeSet<String>> = terms.iter().map(Term::names).collect::<Option<_>>()?;
        Some(names.into_iter().flatten().map(String::as_str).collect())
    }
}

//! Live reads, as data: what a plan can ask for, and what comes of it.
//!
//! A controller reads live what cannot be watched, or what its cache may be too old for. A plan
//! asks ([`crate::Step::Fetch`]) with one of four queries: get, list, review, and what is served.
//! The engine asks as the controller's own user, and adds the [`Answer`] to the [`Facts`] that the
//! next round is decided with. Each query has its accessor, which tells apart what was found, that
//! there is none, and that it is not known: `Ok(Some(..))`, `Ok(None)`, `Err(..)`.
//!
//! Answers are bounded. One that is too long or too slow is [`Answer::Failed`], never a part.

mod typed;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::{Key, Kind, Listed, Meta, Metadata, Raw, Resource, Served, Text};
use serde_json::Value;

use crate::Collection;

pub use typed::{AnyView, Typed, Views};

/// A live read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Query {
    /// GET of one object, in a form that says which accessor has the answer.
    Get {
        /// Its kind.
        resource: Resource,
        /// Its namespace and name.
        key: Key,
        /// What of it, and as what.
        form: Form,
    },
    /// GET of any path, for what is no object of a kind: metrics, a `scale` of a kind that is known
    /// at run time only, OpenAPI. Answered with [`Answer::json`].
    Path(Arc<str>),
    /// LIST of a kind, page by page.
    List {
        /// The kind.
        resource: Resource,
        /// Where; empty: everywhere.
        namespace: Text,
        /// Which of them.
        selector: Selector,
        /// As what.
        form: ListForm,
    },
    /// POST whose answer matters and which changes nothing, such as of a `SubjectAccessReview`.
    /// Answered with [`Answer::json`].
    Review {
        /// What is posted.
        resource: Resource,
        /// Where; empty for cluster-scoped kinds.
        namespace: Text,
        /// What it is about, in a word or two, for the debug pages, which do not show the body.
        about: &'static str,
        /// The object.
        body: Body,
    },
    /// What the API server serves now; answered with [`Answer::served`].
    Served,
}

/// As what one object is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Whole; answered with [`Answer::object`].
    Whole,
    /// Its metadata alone; answered with [`Answer::metadata`].
    Metadata,
    /// As the view that the caches hold of its kind; answered with [`Answer::view`].
    View(Typed),
}

/// As what objects are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListForm {
    /// Their metadata alone; answered with [`Answer::all`].
    Metadata,
    /// As the views that the caches hold of their kind; answered with [`Answer::views`].
    Views(Typed),
}

/// Which objects of a kind are listed; by default, all. Selectors are in the API server's notation,
/// as `kubectl --selector` and `--field-selector` take them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    /// Empty: any labels.
    pub labels: Text,
    /// Empty: any fields.
    pub fields: Text,
}

/// What a review sends, as JSON. Prints as an ellipsis: it may name users, or hold tokens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Body(pub Arc<str>);

/// What a live read found. Tests make one by its variant; decisions use the accessors.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The object.
    Found(Box<(Meta, Raw)>),
    /// The metadata of the object.
    Metadata(Box<Metadata>),
    /// Any JSON.
    Json(Arc<Value>),
    /// The view of the object, or the views of the objects in the order of the API server.
    Views(Views),
    /// The metadata of the objects, in the order of the API server.
    All(Vec<Listed>),
    /// What is served. A group that fails is part of it.
    Served(Arc<Served>),
    /// There is none.
    NotFound,
    /// It could not be read.
    Failed(Refused),
}

/// Why the API server did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The status code; none if there was no answer.
    pub code: Option<u16>,
    /// The error.
    pub text: String,
}

/// What is known from earlier rounds.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The answers to queries.
    pub answers: BTreeMap<Query, Answer>,
    /// How deletions of collections went; none: well.
    pub emptied: BTreeMap<Collection, Option<Refused>>,
}

// === impl Query ===

impl Query {
    /// For one object, whole.
    pub fn object(resource: Resource, key: Key) -> Self {
        Self::Get { resource, key, form: Form::Whole }
    }

    /// For the metadata of one object.
    pub fn metadata(resource: Resource, key: Key) -> Self {
        Self::Get { resource, key, form: Form::Metadata }
    }

    /// For one object as the view `T`.
    pub fn view<T: Kind>(key: Key) -> Self {
        Self::Get { resource: T::RESOURCE, key, form: Form::View(Typed::of::<T>()) }
    }

    /// For the JSON at a path, which begins with a slash and may have parameters. Names and values
    /// in it must be escaped.
    pub fn path(path: impl Into<Arc<str>>) -> Self {
        Self::Path(path.into())
    }

    /// For the metadata of all objects of a kind, in a namespace or (if that is empty) everywhere.
    pub fn all(resource: Resource, namespace: Text) -> Self {
        let (selector, form) = (Selector::default(), ListForm::Metadata);
        Self::List { resource, namespace, selector, form }
    }

    /// For the objects that the view `T` is of, in a namespace or (if that is empty) everywhere.
    pub fn views<T: Kind>(namespace: Text, selector: Selector) -> Self {
        let (resource, form) = (T::RESOURCE, ListForm::Views(Typed::of::<T>()));
        Self::List { resource, namespace, selector, form }
    }

    /// For the answer to a POST of `body` outside namespaces.
    pub fn review(resource: Resource, about: &'static str, body: &Value) -> Self {
        let body = Body(body.to_string().into());
        Self::Review { resource, namespace: Text::default(), about, body }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get { resource, key, form } => match form {
                Form::Whole | Form::View(_) => write!(f, "{resource} {key}"),
                Form::Metadata => write!(f, "metadata of {resource} {key}"),
            },
            Self::Path(path) => f.write_str(path),
            Self::List { resource, namespace, selector, form: _ } => {
                write!(f, "all {resource}")?;
                if !namespace.is_empty() {
                    write!(f, " in {namespace}")?;
                }
                write!(f, "{selector}")
            }
            Self::Review { resource, namespace, about, body: _ } => {
                write!(f, "review {resource}")?;
                if !namespace.is_empty() {
                    write!(f, " in {namespace}")?;
                }
                write!(f, ": {about}")
            }
            Self::Served => f.write_str("what is served"),
        }
    }
}

// === impl Selector ===

impl Selector {
    /// Those with these labels, such as `app=web,tier!=db`.
    pub fn labels(labels: impl Into<Text>) -> Self {
        Self { labels: labels.into(), fields: Text::default() }
    }

    /// Those with these fields, such as `spec.nodeName=a`.
    pub fn fields(fields: impl Into<Text>) -> Self {
        Self { labels: Text::default(), fields: fields.into() }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.labels, &self.fields].into_iter().filter(|part| !part.is_empty()) {
            write!(f, " with {part}")?;
        }
        Ok(())
    }
}

// === impl Body ===

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

// === impl Answer ===

/// An answer of another shape than its query asked for, which no engine gives.
static MISFIT: Refused = Refused { code: None, text: String::new() };

impl Answer {
    /// The answer to a get in [`Form::Whole`]; none: there is no such object.
    pub fn object(&self) -> Result<Option<&(Meta, Raw)>, &Refused> {
        self.found(|it| if let Self::Found(found) = it { Some(&**found) } else { None })
    }

    /// The answer to a get in [`Form::Metadata`]; none: there is no such object.
    pub fn metadata(&self) -> Result<Option<&Metadata>, &Refused> {
        self.found(|it| if let Self::Metadata(found) = it { Some(&**found) } else { None })
    }

    /// The answer to a get in [`Form::View`] of `T`; none: there is no such object.
    pub fn view<T: Kind>(&self) -> Result<Option<&Arc<T>>, &Refused> {
        self.found(|it| if let Self::Views(found) = it { found.of::<T>()?.first() } else { None })
    }

    /// The answer to a list in [`ListForm::Metadata`]; none: there is no such namespace or kind.
    pub fn all(&self) -> Result<Option<&[Listed]>, &Refused> {
        self.found(|it| if let Self::All(found) = it { Some(&**found) } else { None })
    }

    /// The answer to a list in [`ListForm::Views`] of `T`; none: there is no such namespace or
    /// kind. What cannot be decoded counts, as [`api::Object::unreadable`].
    pub fn views<T: Kind>(&self) -> Result<Option<&[Arc<T>]>, &Refused> {
        self.found(|it| if let Self::Views(found) = it { found.of::<T>() } else { None })
    }

    /// The answer to [`Query::Path`] and [`Query::Review`]. That there is none is a [`Refused`]
    /// like others, with code 404: its text says what there is not.
    pub fn json(&self) -> Result<&Value, &Refused> {
        let found = self.found(|it| if let Self::Json(found) = it { Some(&**found) } else { None });
        found?.ok_or(&MISFIT)
    }

    /// The answer to [`Query::Served`].
    pub fn served(&self) -> Result<&Arc<Served>, &Refused> {
        let found = self.found(|it| if let Self::Served(found) = it { Some(found) } else { None });
        found?.ok_or(&MISFIT)
    }

    fn found<'a, T: ?Sized>(
        &'a self,
        shape: impl FnOnce(&'a Self) -> Option<&'a T>,
    ) -> Result<Option<&'a T>, &'a Refused> {
        match self {
            Self::NotFound => Ok(None),
            Self::Failed(error) => Err(error),
            Self::Found(_)
            | Self::Metadata(_)
            | Self::Json(_)
            | Self::Views(_)
            | Self::All(_)
            | Self::Served(_) => shape(self).map(Some).ok_or(&MISFIT),
        }
    }
}

// === impl Facts ===

impl Facts {
    /// The answer to a query, if it was asked.
    pub fn get(&self, query: &Query) -> Option<&Answer> {
        self.answers.get(query)
    }
}

impl FromIterator<(Query, Answer)> for Facts {
    fn from_iter<I: IntoIterator<Item = (Query, Answer)>>(answers: I) -> Self {
        Self { answers: answers.into_iter().collect(), emptied: BTreeMap::new() }
    }
}

impl<const N: usize> From<[(Query, Answer); N]> for Facts {
    fn from(answers: [(Query, Answer); N]) -> Self {
        answers.into_iter().collect()
    }
}

// === impl Refused ===

impl From<&str> for Refused {
    /// Without an answer.
    fn from(text: &str) -> Self {
        Self { code: None, text: text.to_owned() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

//! Live reads, as data: the queries of a plan, and their answers.
//!
//! A controller reads live what cannot be watched, or what its cache may be too stale for. A plan
//! asks ([`crate::Step::Fetch`]) with one of five queries: get, list, review, what is served, and a
//! question to the cloud.
//! The engine reads as the controller's own user, and adds the [`Answer`] to the [`Facts`] of the
//! next round. Each query has its accessor, which distinguishes three results: found,
//! `Ok(Some(..))`; does not exist, `Ok(None)`; unknown, `Err(..)`.
//!
//! Answers are bounded. A response that is too long or too slow becomes [`Answer::Failed`], never a
//! part of an answer.

mod excerpt;
mod typed;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::{Key, Kind, Listed, Meta, Metadata, Raw, Resource, Served, Text};
use serde_json::Value;

use crate::Collection;

pub use excerpt::Excerpt;
pub use typed::{AnyView, Typed, Views};

/// A live read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Query {
    /// GET of one object, in a form that determines the accessor of the answer.
    Get {
        /// Its kind.
        resource: Resource,
        /// Its namespace and name.
        key: Key,
        /// The form.
        form: Form,
    },
    /// GET of any path, for resources that are not objects of a known kind: metrics, a `scale` of a
    /// kind that is known at run time only. Answered with [`Answer::json`].
    Path(Arc<str>),
    /// The same for long JSON of which a decision needs little, such as OpenAPI: only an excerpt is
    /// kept. One document is read after the other. Answered with [`Answer::document`].
    Document(Excerpt),
    /// LIST of a kind, page by page.
    List {
        /// The kind.
        resource: Resource,
        /// The namespace; empty: all.
        namespace: Text,
        /// The selectors.
        selector: Selector,
        /// The form.
        form: ListForm,
    },
    /// POST whose response matters and which changes nothing, such as a `SubjectAccessReview`.
    /// Answered with [`Answer::json`].
    Review {
        /// The kind of the posted object.
        resource: Resource,
        /// Its namespace; empty for cluster-scoped kinds.
        namespace: Text,
        /// The subject in a word or two, for the debug pages, which do not show the body.
        about: &'static str,
        /// The object.
        body: Body,
    },
    /// What the API server serves now; answered with [`Answer::served`].
    Served,
    /// What the cloud says; answered with [`Answer::cloud`]. Without a cloud it fails.
    Cloud(cloud::Ask),
}

/// The form in which one object is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// The whole object; answered with [`Answer::object`].
    Whole,
    /// Only its metadata; answered with [`Answer::metadata`].
    Metadata,
    /// The view that the caches hold of its kind; answered with [`Answer::view`].
    View(Typed),
}

/// The form in which objects are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListForm {
    /// Only their metadata; answered with [`Answer::all`].
    Metadata,
    /// The views that the caches hold of their kind; answered with [`Answer::views`].
    Views(Typed),
}

/// Which objects of a kind are listed; by default, all. Selectors have the API server's syntax, as
/// for `kubectl --selector` and `--field-selector`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    /// Empty: any labels.
    pub labels: Text,
    /// Empty: any fields.
    pub fields: Text,
}

/// The JSON that a review sends. Prints as an ellipsis: it may contain names of users, or tokens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Body(pub Arc<str>);

/// The result of a live read. Tests make one by its variant; decisions use the accessors.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The object.
    Found(Box<(Meta, Raw)>),
    /// The metadata of the object.
    Metadata(Box<Metadata>),
    /// Any JSON.
    Json(Arc<Value>),
    /// The excerpt of a document.
    Document(Arc<str>),
    /// The view of the object, or the views of the objects in the order of the API server.
    Views(Views),
    /// The metadata of the objects, in the order of the API server.
    All(Vec<Listed>),
    /// What is served, with the groups that failed.
    Served(Arc<Served>),
    /// What the cloud says.
    Cloud(cloud::Reply),
    /// It does not exist.
    NotFound,
    /// It could not be read.
    Failed(Refused),
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The status code; none if there was no response.
    pub code: Option<u16>,
    /// The error.
    pub text: String,
    /// Whether the response was no `Status`: the text is not the API server's.
    pub bare: bool,
}

/// The results of earlier rounds.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The answers to queries.
    pub answers: BTreeMap<Query, Answer>,
    /// The results of collection deletions; none: success.
    pub emptied: BTreeMap<Collection, Option<Refused>>,
    /// The results of orders to the cloud.
    pub done: BTreeMap<cloud::Order, cloud::Done>,
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

    /// For the response to a POST of `body`, outside of namespaces.
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
            Self::Document(excerpt) => f.write_str(excerpt.path()),
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
            Self::Cloud(ask) => ask.fmt(f),
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

/// An answer of another form than its query, which no engine returns.
static MISFIT: Refused = Refused { code: None, text: String::new(), bare: false };

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
    /// kind. Objects that cannot be decoded are included, as [`api::Object::unreadable`].
    pub fn views<T: Kind>(&self) -> Result<Option<&[Arc<T>]>, &Refused> {
        self.found(|it| if let Self::Views(found) = it { found.of::<T>() } else { None })
    }

    /// The answer to [`Query::Path`] and [`Query::Review`]. A missing path is a [`Refused`] like
    /// others, with code 404, whose text says what is missing.
    pub fn json(&self) -> Result<&Value, &Refused> {
        let found = self.found(|it| if let Self::Json(found) = it { Some(&**found) } else { None });
        found?.ok_or(&MISFIT)
    }

    /// The answer to [`Query::Document`]. A missing path is as for [`Answer::json`].
    pub fn document(&self) -> Result<&str, &Refused> {
        let found =
            self.found(|it| if let Self::Document(found) = it { Some(&**found) } else { None });
        found?.ok_or(&MISFIT)
    }

    /// The answer to [`Query::Served`].
    pub fn served(&self) -> Result<&Arc<Served>, &Refused> {
        let found = self.found(|it| if let Self::Served(found) = it { Some(found) } else { None });
        found?.ok_or(&MISFIT)
    }

    /// The answer to [`Query::Cloud`].
    pub fn cloud(&self) -> Result<&cloud::Reply, &Refused> {
        let found = self.found(|it| if let Self::Cloud(found) = it { Some(found) } else { None });
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
            | Self::Document(_)
            | Self::Views(_)
            | Self::All(_)
            | Self::Served(_)
            | Self::Cloud(_) => shape(self).map(Some).ok_or(&MISFIT),
        }
    }
}

// === impl Facts ===

impl Facts {
    /// These facts, and the result of an order to the cloud.
    #[must_use]
    pub fn after(mut self, order: cloud::Order, done: cloud::Done) -> Self {
        self.done.insert(order, done);
        self
    }

    /// The answer to a query, if there is one.
    pub fn get(&self, query: &Query) -> Option<&Answer> {
        self.answers.get(query)
    }
}

impl FromIterator<(Query, Answer)> for Facts {
    fn from_iter<I: IntoIterator<Item = (Query, Answer)>>(answers: I) -> Self {
        Self { answers: answers.into_iter().collect(), ..Self::default() }
    }
}

impl<const N: usize> From<[(Query, Answer); N]> for Facts {
    fn from(answers: [(Query, Answer); N]) -> Self {
        answers.into_iter().collect()
    }
}

// === impl Refused ===

impl From<&str> for Refused {
    /// Without a response.
    fn from(text: &str) -> Self {
        Self { code: None, text: text.to_owned(), bare: false }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

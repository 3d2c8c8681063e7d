//! Live reads, as data: what a plan can ask for, and what comes of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::{Key, Listed, Meta, Metadata, Raw, Resource, Served, Text};

use crate::DeleteCollection;

/// A live read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Query {
    /// One object, whole; answered with [`Answer::Found`].
    Object {
        /// Its kind.
        resource: Resource,
        /// Its namespace and name.
        key: Key,
    },
    /// The metadata of one object; answered with [`Answer::Metadata`].
    Metadata {
        /// Its kind.
        resource: Resource,
        /// Its namespace and name.
        key: Key,
    },
    /// The metadata of all objects of a kind in a namespace; answered with [`Answer::All`].
    All {
        /// Their kind.
        resource: Resource,
        /// Where; never empty.
        namespace: Text,
    },
    /// What the API server serves now; answered with [`Answer::Served`].
    Served,
}

/// What a live read found.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The object.
    Found(Box<(Meta, Raw)>),
    /// The metadata of the object.
    Metadata(Box<Metadata>),
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
    pub emptied: BTreeMap<DeleteCollection, Option<Refused>>,
}

// === impl Query ===

impl Query {
    /// For one object, whole.
    pub fn object(resource: Resource, key: Key) -> Self {
        Self::Object { resource, key }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { resource, key } => write!(f, "{resource} {key}"),
            Self::Metadata { resource, key } => write!(f, "metadata of {resource} {key}"),
            Self::All { resource, namespace } => write!(f, "all {resource} in {namespace}"),
            Self::Served => f.write_str("what is served"),
        }
    }
}

// === impl Answer ===

/// An answer of another shape than its query asked for, which no engine gives.
static MISFIT: Refused = Refused { code: None, text: String::new() };

impl Answer {
    /// The answer to [`Query::Object`]; none: there is no such object.
    pub fn object(&self) -> Result<Option<&(Meta, Raw)>, &Refused> {
        match self {
            Self::Found(found) => Ok(Some(found)),
            Self::NotFound => Ok(None),
            Self::Failed(error) => Err(error),
            Self::Metadata(_) | Self::All(_) | Self::Served(_) => Err(&MISFIT),
        }
    }

    /// The answer to [`Query::Metadata`]; none: there is no such object.
    pub fn metadata(&self) -> Result<Option<&Metadata>, &Refused> {
        match self {
            Self::Metadata(found) => Ok(Some(found)),
            Self::NotFound => Ok(None),
            Self::Failed(error) => Err(error),
            Self::Found(_) | Self::All(_) | Self::Served(_) => Err(&MISFIT),
        }
    }

    /// The answer to [`Query::All`]; none: there is no such namespace or kind.
    pub fn all(&self) -> Result<Option<&[Listed]>, &Refused> {
        match self {
            Self::All(found) => Ok(Some(found)),
            Self::NotFound => Ok(None),
            Self::Failed(error) => Err(error),
            Self::Found(_) | Self::Metadata(_) | Self::Served(_) => Err(&MISFIT),
        }
    }

    /// The answer to [`Query::Served`].
    pub fn served(&self) -> Result<&Arc<Served>, &Refused> {
        match self {
            Self::Served(served) => Ok(served),
            Self::Failed(error) => Err(error),
            Self::Found(_) | Self::Metadata(_) | Self::All(_) | Self::NotFound => Err(&MISFIT),
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

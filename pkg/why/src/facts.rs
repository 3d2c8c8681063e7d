//! What has been read.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Resource;
use serde_json::Value;

use crate::Unseen;

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// All objects of a kind in a namespace (empty: in all of them, or outside of any), or those
    /// that a field selector names.
    List(Resource, String, String),
    /// One object: the kind, the namespace and the name.
    Get(Resource, String, String),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The objects, in the order of the server.
    Objects(Vec<Arc<Value>>),
    /// The object.
    Object(Arc<Value>),
    /// There is no such object, or the API server does not serve the kind.
    Absent,
    /// It may not be read, or reading it failed: nothing is known.
    Unseen(Unseen),
}

/// What has been read so far.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    seen: BTreeMap<Need, Seen>,
}

impl Facts {
    /// These facts, and this one.
    #[must_use]
    pub fn with(mut self, need: Need, seen: Seen) -> Self {
        self.add(need, seen);
        self
    }

    /// Adds what was read.
    pub fn add(&mut self, need: Need, seen: Seen) {
        self.seen.insert(need, seen);
    }

    /// What was read; none: it has not been.
    pub fn get(&self, need: &Need) -> Option<&Seen> {
        self.seen.get(need)
    }

    /// What could not be read, sorted.
    pub fn unseen(&self) -> Vec<Unseen> {
        let unseen = self.seen.values().filter_map(|seen| match seen {
            Seen::Unseen(unseen) => Some(unseen.clone()),
            Seen::Objects(_) | Seen::Object(_) | Seen::Absent => None,
        });
        let mut unseen: Vec<_> = unseen.collect();
        unseen.sort();
        unseen.dedup();
        unseen
    }
}

impl Need {
    /// Its words in RBAC, without a reason.
    pub fn unseen(&self, forbidden: bool, why: String) -> Unseen {
        let (verb, resource, namespace, name) = match self {
            Self::List(resource, namespace, _) => ("list", resource, namespace, ""),
            Self::Get(resource, namespace, name) => ("get", resource, namespace, name.as_str()),
        };
        Unseen {
            verb,
            resource: resource.to_string(),
            namespace: namespace.clone(),
            name: name.to_owned(),
            forbidden,
            why,
        }
    }
}

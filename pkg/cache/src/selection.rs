//! Which objects of a resource a cache holds.

use std::fmt;

use api::{Key, Kind, Resource};

/// All objects of a resource, or those that a field selector matches. A watch with a field selector
/// reaches a version by its own events and bookmarks, independently of all other watches of the
/// resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// The resource.
    pub resource: Resource,
    /// The field selector; empty: all objects.
    pub fields: &'static str,
}

// === impl Selection ===

impl Selection {
    /// All objects of a resource.
    pub const fn whole(resource: Resource) -> Self {
        Self { resource, fields: "" }
    }

    /// The objects that the view `T` shows.
    pub const fn of<T: Kind>() -> Self {
        Self { resource: T::RESOURCE, fields: T::FIELD_SELECTOR }
    }

    /// Whether it selects all objects of the resource.
    pub fn is_whole(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether an object with this key may be selected, as far as the key decides that. Names that
    /// are not known yet are empty.
    pub fn may_hold(&self, key: &Key) -> bool {
        self.fields.split(',').all(|term| {
            let (field, value, is_equal) = match term.split_once("!=") {
                Some((field, value)) => (field, value, false),
                None => match term.split_once('=') {
                    Some((field, value)) => (field, value.trim_start_matches('='), true),
                    None => return true,
                },
            };
            let known = match field {
                "metadata.name" => &*key.name,
                "metadata.namespace" => &*key.namespace,
                _ => return true,
            };
            known.is_empty() || (known == value) == is_equal
        })
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, fields } = self;
        if fields.is_empty() {
            return write!(f, "{resource}");
        }
        write!(f, "{resource} with {fields}")
    }
}

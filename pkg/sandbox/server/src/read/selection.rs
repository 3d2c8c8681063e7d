//! Which objects a list or a watch is about.

use std::sync::Arc;

use serde_json::Value;

use crate::registry::Served;
use crate::request::{Call, Fields, Labels, ListOptions};

/// Which objects are meant.
#[derive(Clone)]
pub(crate) struct Selection {
    pub(crate) served: Arc<Served>,
    /// None: all of them.
    pub(crate) namespace: Option<Box<str>>,
    labels: Labels,
    fields: Fields,
}

impl Selection {
    /// What a call is about.
    pub(crate) fn of(call: &Call, options: &ListOptions) -> Self {
        let (labels, fields) = (options.labels.clone(), options.fields.clone());
        let selected = fields.namespace().filter(|_| call.served.resource.namespaced);
        // No namespace has an empty name: what is selected by that is nowhere.
        let selected = selected.filter(|namespace| !namespace.is_empty());
        let namespace = call.within().or(selected).map(Into::into);
        Self { served: call.served.clone(), namespace, labels, fields }
    }

    /// Whether no object of the namespace is left out.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The path of the one object that can be meant, if it is one.
    pub(crate) fn path(&self) -> Option<String> {
        let name = self.fields.name()?;
        match &self.namespace {
            Some(namespace) => Some(format!("{namespace}/{name}")),
            None => (!self.served.resource.namespaced).then(|| name.to_owned()),
        }
    }

    /// Whether an object is meant that is in some namespace.
    pub(crate) fn matches(&self, namespace: &str, object: &Value) -> bool {
        self.namespace.as_deref().is_none_or(|it| it == namespace) && self.picks(object)
    }

    /// Whether an object is meant that is in the namespace.
    pub(crate) fn picks(&self, object: &Value) -> bool {
        self.labels.match_object(object) && self.fields.match_object(object, &self.served)
    }
}

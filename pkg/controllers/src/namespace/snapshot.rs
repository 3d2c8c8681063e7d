//! What a pass looks at: the namespace as the cache shows it, and as it is.

use std::sync::Arc;

use api::{Codec, Edit, Key, Kind, Namespace, Object, Raw, Status, Time};
use controller::{Action, Answer, ObjectRef, View, Write};

/// A namespace at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The namespace in the cache.
    pub namespace: Arc<Namespace>,
}

/// A namespace in a live read.
pub(super) struct Live<'a> {
    pub(super) namespace: Namespace,
    raw: &'a Raw,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let namespace = view.of::<Namespace>().get(key)?;
    Some(Snapshot { now: view.now, namespace })
}

// === impl Snapshot ===

impl Snapshot {
    /// The namespace, and what holds it, as its conditions say.
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let Namespace { meta, finalizers, phase, conditions } = &*self.namespace;
        let mut facts = vec![("phase", format!("{phase:?}"))];
        if let Some(since) = meta.deletion_timestamp {
            facts.push(("being deleted since", since.to_string()));
        }
        facts.push(("spec.finalizers", finalizers.join(", ")));
        if !meta.finalizers.is_empty() {
            facts.push(("metadata.finalizers", meta.finalizers.join(", ")));
        }
        let holds = conditions.iter().filter(|condition| condition.status == Status::True);
        facts.extend(holds.map(|condition| ("held", condition.message.clone())));
        facts
    }
}

// === impl Live ===

impl<'a> Live<'a> {
    /// Reads the response to the query for a namespace; none: there is none.
    pub(super) fn read(answer: &'a Answer) -> Result<Option<Self>, String> {
        let Some((_, raw)) = answer.object().map_err(|error| error.text.clone())? else {
            return Ok(None);
        };
        // A response is held whole; the view comes from the same text as that of the cache.
        let text = raw.edited(&Namespace::RESOURCE, &[]).map_err(|error| error.to_string())?;
        let namespace = Namespace::decode(Codec::Json, text.as_bytes()).map_err(|error| error.0)?;
        Ok(Some(Self { namespace, raw }))
    }

    /// What makes the conditions these; none if they are.
    pub(super) fn conditions(&self, conditions: &[api::Condition]) -> Option<Edit> {
        self.raw.conditions(&self.namespace.conditions, conditions)
    }

    /// A write of this very version.
    pub(super) fn update(&self, subresource: &'static str, edit: Edit) -> Action {
        let object = ObjectRef::new(&Namespace::RESOURCE, &self.namespace.meta);
        Write::update(object, self.raw.clone(), vec![edit]).at(subresource).into()
    }
}

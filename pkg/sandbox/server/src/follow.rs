//! Following the objects of some resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Resource};
use apimachinery::fields;
use hollow::Change;
use serde_json::Value;

use crate::server::{Expired, Server};

/// Returns changes, each once and in the order of the versions; at first all objects.
pub struct Follower {
    server: Server,
    resources: Vec<Resource>,
    /// The revision up to which it has returned changes.
    revision: u64,
    /// The objects, so that deletions before a new list can be returned too.
    known: BTreeMap<(Resource, Key), Arc<Value>>,
}

impl Follower {
    /// A follower that has returned nothing yet.
    pub fn new(server: Server, resources: Vec<Resource>) -> Self {
        Self { server, resources, revision: 0, known: BTreeMap::new() }
    }

    /// What changed since the last call.
    pub fn changes(&mut self) -> Vec<Change> {
        let found = self.server.changes_since(self.revision, &self.resources);
        let (changes, revision) = match found {
            Ok((found, revision)) => (found.into_iter().map(|(_, it)| it).collect(), revision),
            Err(Expired) => self.anew(),
        };
        self.revision = revision;
        for Change { resource, object, gone } in &changes {
            let place = (resource.clone(), key(object));
            if *gone {
                self.known.remove(&place);
            } else {
                self.known.insert(place, object.clone());
            }
        }
        changes
    }

    /// Waits until there may be changes.
    pub async fn changed(&self) {
        self.server.changed(self.revision).await;
    }

    /// All objects, after the deleted ones.
    fn anew(&self) -> (Vec<Change>, u64) {
        let all = self.server.changes_since(0, &self.resources);
        // After 0 nothing is forgotten.
        let (there, revision) = all.unwrap_or_default();
        let there: Vec<_> = there.into_iter().map(|(_, it)| it).collect();
        let places: BTreeSet<_> =
            there.iter().map(|it| (it.resource.clone(), key(&it.object))).collect();
        let gone = self.known.iter().filter(|(place, _)| !places.contains(place));
        let gone = gone.map(|((resource, _), object)| Change {
            resource: resource.clone(),
            object: object.clone(),
            gone: true,
        });
        (gone.chain(there.iter().cloned()).collect(), revision)
    }
}

fn key(object: &Value) -> Key {
    let text = |path: &str| fields::at(object, path).and_then(Value::as_str).unwrap_or_default();
    Key::new(text("/metadata/namespace"), text("/metadata/name"))
}

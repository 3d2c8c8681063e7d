//! The writes to ReplicaSets of one sync: one PUT for each of them, and the Events that report it.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Edit, Kind, ReplicaSet, Text};
use controller::{Action, Event, EventType, ObjectRef, Write};
use serde_json::{Value, json};

use super::revision;
use super::snapshot::{Set, Snapshot};

/// Collects them, in order.
pub(super) struct Changes<'a> {
    /// What was seen.
    pub(super) s: &'a Snapshot,
    /// The writes.
    pub(super) actions: Vec<Action>,
    about: Arc<ObjectRef>,
    /// Where the PUT of a set stands among the actions, by uid.
    places: BTreeMap<Text, usize>,
    /// Whether a set is to have another size.
    scaled: bool,
}

/// The Event after a set was scaled.
pub(super) fn scaled(about: &Arc<ObjectRef>, set: &str, from: i32, to: i32) -> Action {
    let way = if from < to { "up" } else { "down" };
    let message = format!("Scaled {way} replica set {set} from {from} to {to}");
    event(about, EventType::Normal, "ScalingReplicaSet", message)
}

/// An Event about the Deployment.
pub(super) fn event(
    about: &Arc<ObjectRef>,
    r#type: EventType,
    reason: &'static str,
    message: String,
) -> Action {
    Action::Event(Event { about: Arc::clone(about), r#type, reason: reason.into(), message })
}

// === impl Changes ===

impl<'a> Changes<'a> {
    /// None yet.
    pub(super) fn new(s: &'a Snapshot) -> Self {
        let about = Arc::new(s.object());
        Self { s, actions: Vec::new(), about, places: BTreeMap::new(), scaled: false }
    }

    /// Whether a set is scaled, which is what the next part of a rollout waits for. It does not
    /// wait for other edits: a webhook may undo an annotation each time.
    pub(super) fn is_scaling(&self) -> bool {
        self.scaled
    }

    /// Whether nothing is to be written.
    pub(super) fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// The new set gets what it should have of the Deployment: annotations, a revision, and
    /// `minReadySeconds`. As `getNewReplicaSet`.
    pub(super) fn sync_new(&mut self) {
        let s = self.s;
        let Some(new) = &s.new else { return };
        for (name, value) in revision::of_new(s).unwrap_or_default() {
            if new.annotations.get(&name) != Some(&value) {
                self.edit(new, &["metadata", "annotations", &name], json!(value));
            }
        }
        let seconds = s.deployment.min_ready_seconds;
        if new.view.min_ready_seconds != seconds {
            self.edit(new, &["spec", "minReadySeconds"], json!(seconds));
        }
    }

    /// Scales a set. `from` is its size by now: a set may be scaled twice, which is one write and
    /// two Events. As `scaleReplicaSet`.
    pub(super) fn scale(&mut self, set: &Set, from: i32, to: i32) {
        if from == to {
            return;
        }
        self.scaled = true;
        self.edit(set, &["spec", "replicas"], json!(to));
        self.note_sizes(set);
        self.actions.push(scaled(&self.about, set.name(), from, to));
    }

    /// Writes down in a set how large its Deployment is.
    pub(super) fn note_sizes(&mut self, set: &Set) {
        for (name, size) in revision::sizes(&self.s.deployment) {
            if set.annotations.get(&name) != Some(&size) {
                self.edit(set, &["metadata", "annotations", &name], json!(size));
            }
        }
    }

    /// Deletes a set, unless it is written to as well.
    pub(super) fn delete(&mut self, set: &Set) {
        if !self.places.contains_key(&set.view.meta.uid) {
            let object = ObjectRef::new(&ReplicaSet::RESOURCE, &set.view.meta);
            self.actions.push(Write::delete(object).into());
        }
    }

    fn edit(&mut self, set: &Set, path: &[&str], value: Value) {
        let next = self.actions.len();
        let place = *self.places.entry(set.view.meta.uid.clone()).or_insert(next);
        if place == next {
            let object = ObjectRef::new(&ReplicaSet::RESOURCE, &set.view.meta);
            self.actions.push(Write::update(object, set.view.raw.clone(), Vec::new()).into());
        }
        if let Some(Action::Write(write)) = self.actions.get_mut(place)
            && let Some(edits) = write.edits_mut()
        {
            edits.retain(|edit| edit.path != path);
            edits.push(Edit::new(path, value));
        }
    }
}

//! What a plan wants, write by write, in a form that can be found again in a later plan.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use api::{Codec, Key, Meta, Resource, Text, Time};
use controller::{Action, Content, ObjectRef, Patch, Step, Update, Verb, Write};
use serde_json::Value;

/// The number of writes of one plan that are judged.
pub(crate) const WISHES_MAX: usize = 100;
/// Longer lists of fields are cut.
const FIELDS_BYTES_MAX: usize = 200;
/// The depth of the fields that are named: `metadata.labels`, not the labels.
const FIELDS_DEPTH: usize = 2;

/// By what a write is found again in a later plan. Of an object that is to be made only the
/// beginning of its name may be known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) verb: &'static str,
    pub(crate) resource: Resource,
    pub(crate) key: Key,
    /// Whether the API server is to complete the name.
    pub(crate) is_generated: bool,
    /// Empty: an object that is to be made, or all objects.
    pub(crate) uid: Text,
    pub(crate) subresource: Option<&'static str>,
}

/// A write that a plan wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// How often.
    pub(crate) times: usize,
    /// A digest of what is to be written, without times and versions: they differ in each plan.
    pub(crate) content: u64,
    /// The version of the object that was decided on; 0: there is none.
    pub(crate) version: u64,
    /// The names of the fields that are to be changed; not their values, which not every user may
    /// see.
    pub(crate) fields: String,
}

/// What a plan wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub(crate) by_target: BTreeMap<Target, Wish>,
    /// How many more are not judged.
    pub(crate) dropped: usize,
    /// The status is not known: it is reported once there is nothing left to write.
    pub(crate) lacks_status: bool,
}

// === impl Wishes ===

impl Wishes {
    /// Those of these steps. Events are none: no cache shows them.
    pub(crate) fn of(steps: &[Step]) -> Self {
        let mut wishes = Self::default();
        for step in steps {
            match step {
                Step::InOrder(actions) | Step::Together(actions) | Step::SlowStart(actions) => {
                    wishes.extend(actions);
                }
                Step::Chains(chains) => chains.iter().for_each(|chain| wishes.extend(chain)),
                Step::Fetch(_) => {}
            }
        }
        wishes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_target.is_empty()
    }

    pub(crate) fn add(&mut self, write: &Write) {
        let (target, wish) = (Target::of(write), Wish::of(write));
        let is_full = self.by_target.len() >= WISHES_MAX;
        match self.by_target.entry(target) {
            Entry::Occupied(mut entry) => entry.get_mut().and(&wish),
            Entry::Vacant(_) if is_full => self.dropped += 1,
            Entry::Vacant(entry) => drop(entry.insert(wish)),
        }
    }

    fn extend(&mut self, actions: &[Action]) {
        actions.iter().filter_map(Action::write).for_each(|write| self.add(write));
    }
}

// === impl Target ===

impl Target {
    pub(crate) fn is_status(&self) -> bool {
        self.subresource == Some("status")
    }

    fn of(write: &Write) -> Self {
        let Write { object, subresource, verb, .. } = write;
        let ObjectRef { resource, key, uid, .. } = object;
        let (verb, key, is_generated) = match verb {
            Verb::Create(body) => {
                let (name, is_generated) = named(body);
                ("create", Key::new(&key.namespace, &name), is_generated)
            }
            Verb::Delete(_) => ("delete", key.clone(), false),
            Verb::DeleteAll => ("delete all", key.clone(), false),
            Verb::Patch(_) => ("patch", key.clone(), false),
            Verb::Update(_) => ("update", key.clone(), false),
        };
        let (resource, uid) = (resource.clone(), uid.clone());
        Self { verb, resource, key, is_generated, uid, subresource: *subresource }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, resource, key, is_generated, subresource, .. } = self;
        let part = subresource.map_or(String::new(), |part| format!(" {part}"));
        let rest = if *is_generated { "…" } else { "" };
        write!(f, "{verb} {resource} {key}{rest}{part}")
    }
}

/// The name of an object that is to be made, or its beginning.
fn named(body: &str) -> (String, bool) {
    let name = Meta::decode(Codec::Json, body.as_bytes()).map(|meta| meta.key.name.to_string());
    if let Some(name) = name.ok().filter(|name| !name.is_empty()) {
        return (name, false);
    }
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    (body["metadata"]["generateName"].as_str().unwrap_or_default().to_owned(), true)
}

// === impl Wish ===

impl Wish {
    fn of(write: &Write) -> Self {
        let (content, fields) = match &write.verb {
            // An object that is there is not compared with the one that would have been made: the
            // decision that follows it says whether it will do.
            Verb::Create(_) | Verb::DeleteAll => (0, String::new()),
            Verb::Delete(delete) => (digest(&delete.to_string()), String::new()),
            Verb::Patch(Patch { body, .. }) => of_json(body),
            Verb::Update(Update { content: Content::Other(body), .. }) => of_json(body),
            Verb::Update(Update { content: Content::Edited { edits, .. }, .. }) => {
                let mut hasher = DefaultHasher::new();
                let mut fields = Vec::new();
                for edit in edits {
                    let mut value = edit.value.clone();
                    steady(&mut value);
                    (&edit.path, value.to_string()).hash(&mut hasher);
                    let depth = edit.path.len().min(FIELDS_DEPTH);
                    fields.push(edit.path[..depth].join("."));
                }
                (hasher.finish(), joined(fields))
            }
        };
        Self { times: 1, content, version: write.object.resource_version, fields }
    }

    /// This one, and another one of the same target.
    fn and(&mut self, other: &Self) {
        self.times += 1;
        if other.content != 0 {
            self.content = digest(&(self.content, other.content));
        }
    }
}

fn of_json(body: &str) -> (u64, String) {
    let mut value: Value = serde_json::from_str(body).unwrap_or_default();
    steady(&mut value);
    let mut fields = Vec::new();
    paths(&value, "", FIELDS_DEPTH, &mut fields);
    fields.retain(|field| field != "metadata.uid");
    (digest(&value.to_string()), joined(fields))
}

/// The names of fields down to this depth.
fn paths(value: &Value, above: &str, depth: usize, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) if depth > 0 => {
            for (name, value) in fields {
                let name = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
                paths(value, &name, depth - 1, out);
            }
        }
        _ if above.is_empty() => {}
        _ => out.push(above.to_owned()),
    }
}

fn joined(mut fields: Vec<String>) -> String {
    fields.sort();
    fields.dedup();
    let mut text = fields.join(", ");
    if text.len() > FIELDS_BYTES_MAX {
        text.truncate(text.floor_char_boundary(FIELDS_BYTES_MAX));
        text.push('…');
    }
    text
}

/// Takes out what differs between two plans for the same thing: times, and versions.
fn steady(value: &mut Value) {
    match value {
        Value::String(text) if Time::parse(text).is_ok() => *value = Value::from("<time>"),
        Value::Array(items) => items.iter_mut().for_each(steady),
        Value::Object(fields) => {
            fields.remove("resourceVersion");
            fields.values_mut().for_each(steady);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

//! Caches in memory and objects from JSON, for tests.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use api::{
    AnyObject, Codec, DecodeError, Edit, Key, Kind, Metadata, Object as _, Resource, Served, Shape,
    Time,
};
use serde_json::{Map, Value, json};

use crate::{
    Cache, Caches, Call, Change, Content, Controller, Enqueue, Everything, Handler, MetadataChange,
    Shared, Show, Update, Verb, View, Watches, Write,
};

/// The time of tests.
pub const NOW: &str = "2024-05-01T12:00:00Z";

/// Caches with the objects of a test.
pub struct Fixture {
    /// The time of views.
    pub now: Time,
    /// The same on the monotonic clock: a day. Moving it forward makes the present caches older by
    /// as much.
    pub uptime: Duration,
    /// The failures in views.
    pub failures: u32,
    caches: BTreeMap<TypeId, Objects>,
    /// Objects of kinds that are only known at run time.
    metadata: BTreeMap<Resource, Arc<Objects>>,
}

/// The objects of one kind.
struct Objects {
    shape: Shape,
    by_key: BTreeMap<Key, Arc<dyn AnyObject>>,
    heard: Option<Duration>,
    version: u64,
}

/// Calls the rows of a watch table for a change, and collects the keys that it enqueues.
struct Asked<'a, C: Controller> {
    controller: &'a C,
    memory: &'a Shared<C::Memory>,
    heard: Heard<'a>,
    view: &'a View<'a>,
    queue: Enqueue,
}

/// A change for a watch table.
enum Heard<'a> {
    /// A `Change<T>`.
    Changed(&'a dyn Any),
    Metadata(&'a Resource, &'a MetadataChange<'a>),
    Served(&'a Arc<Served>),
}

/// The moment `nanos` after [`NOW`], or before it if negative.
pub fn time(nanos: i64) -> Time {
    let now = Time::parse(NOW).expect("a constant that is a time");
    let span = std::time::Duration::from_nanos(nanos.unsigned_abs());
    if nanos < 0 { now - span } else { now + span }
}

/// The text of the moment `seconds` before [`NOW`].
pub fn ago(seconds: i64) -> String {
    time(-seconds * 1_000_000_000).to_string()
}

/// Decodes an object as the informer would.
pub fn decode<T: Kind>(json: &Value) -> Arc<T> {
    let object = T::decode(Codec::Json, json.to_string().as_bytes());
    Arc::new(object.expect("objects of tests can be read"))
}

/// The body of a write: the object that it creates or updates, or its patch.
pub fn body(write: &Write) -> Value {
    let text = match &write.verb {
        Verb::Create(body) | Verb::Update(Update { content: Content::Other(body), .. }) => {
            body.to_string()
        }
        Verb::Patch(patch) => patch.body.clone(),
        Verb::Update(Update { content: Content::Edited { raw, edits }, .. }) => {
            raw.edited(&write.object.resource, edits).expect("objects of tests can be edited")
        }
        Verb::Delete(_) | Verb::DeleteAll => String::from("null"),
    };
    serde_json::from_str(&text).expect("bodies are JSON")
}

/// The status fields that a write sets; it must change nothing else.
pub fn status(update: &Write) -> Map<String, Value> {
    let field = |edit: &Edit| match edit.path.as_slice() {
        [status, name] if status == "status" => Some((name.clone(), edit.value.clone())),
        _ => None,
    };
    let (_, edits) = update.edited().expect("an update");
    let fields: Option<_> = edits.iter().map(field).collect();
    fields.expect("a write that changes nothing but fields of the status")
}

/// Decodes objects as the informer would.
pub fn decode_all<T: Kind>(json: &[Value]) -> Vec<Arc<T>> {
    json.iter().map(decode).collect()
}

/// `base` with the fields of `patch`, field by field in objects; `null` removes one (RFC 7386).
#[must_use]
pub fn with(mut base: Value, patch: Value) -> Value {
    match (&mut base, patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            for (name, value) in patch {
                match fields.remove(&name) {
                    _ if value.is_null() => None,
                    Some(known) => fields.insert(name, with(known, value)),
                    None => fields.insert(name, with(json!({}), value)),
                };
            }
            base
        }
        (_, patch) => patch,
    }
}

/// A running, ready pod `shop/<name>` with uid `uid-<name>`, without a controller.
pub fn pod(name: &str) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "1", "creationTimestamp": ago(3600),
        },
        "spec": {"nodeName": "node-1"},
        "status": {"phase": "Running", "conditions": [ready(&ago(3600))]},
    })
}

/// The `Ready` condition, true since a moment.
pub fn ready(since: &str) -> Value {
    json!({"type": "Ready", "status": "True", "lastTransitionTime": since})
}

/// The metadata of an object that `owner` (its JSON, of `kind`) manages.
pub fn owned_by(kind: &str, owner: &Value) -> Value {
    let (name, uid) = (&owner["metadata"]["name"], &owner["metadata"]["uid"]);
    json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid,
        "controller": true, "blockOwnerDeletion": true}]})
}

/// The keys that a change enqueues, by the controller's watch table: one call a line.
pub fn enqueued<C: Controller, T: Kind>(
    controller: &C,
    change: &Change<T>,
    fixture: &Fixture,
) -> String {
    lines(&remembered(controller, &Shared::default(), change, fixture))
}

/// The same, for a controller that remembers changes.
pub fn remembered<C: Controller, T: Kind>(
    controller: &C,
    memory: &Shared<C::Memory>,
    change: &Change<T>,
    fixture: &Fixture,
) -> Enqueue {
    heard(controller, memory, Heard::Changed(change), fixture)
}

/// The keys that a change of any object enqueues, by the controller's watch table.
pub fn woken_by_any<C: Controller>(
    controller: &C,
    memory: &Shared<C::Memory>,
    (resource, change): (&Resource, &MetadataChange<'_>),
    fixture: &Fixture,
) -> Enqueue {
    heard(controller, memory, Heard::Metadata(resource, change), fixture)
}

/// The keys that are enqueued when the API server serves these kinds, by the controller's watch
/// table.
pub fn woken_by_served<C: Controller>(
    controller: &C,
    memory: &Shared<C::Memory>,
    served: &Arc<Served>,
    fixture: &Fixture,
) -> Enqueue {
    heard(controller, memory, Heard::Served(served), fixture)
}

fn heard<C: Controller>(
    controller: &C,
    memory: &Shared<C::Memory>,
    heard: Heard<'_>,
    fixture: &Fixture,
) -> Enqueue {
    let view = fixture.view();
    let mut asked = Asked { controller, memory, heard, view: &view, queue: Enqueue::default() };
    controller.watches(&mut asked);
    asked.queue
}

/// One call a line.
pub fn lines(queue: &Enqueue) -> String {
    queue.calls.iter().fold(String::new(), |mut text, call| {
        let line = match call {
            Call::Now(key) => writeln!(text, "now {key}"),
            Call::After(key, delay) => writeln!(text, "after {delay:?} {key}"),
            Call::Forget(key) => writeln!(text, "forget {key}"),
        };
        line.expect("a String takes all text");
        text
    })
}

// === impl Fixture ===

impl Default for Fixture {
    fn default() -> Self {
        let uptime = Duration::from_hours(24);
        Self {
            now: time(0),
            uptime,
            failures: 0,
            caches: BTreeMap::new(),
            metadata: BTreeMap::new(),
        }
    }
}

impl Fixture {
    /// The cache of kind `T` holds these objects, and no others.
    #[must_use]
    pub fn holding<T: Kind>(mut self, objects: &[Value]) -> Self {
        let held = self.held::<T>();
        held.by_key.clear();
        for object in decode_all::<T>(objects) {
            held.by_key.insert(object.meta().key.clone(), object);
        }
        self
    }

    /// The cache of kind `T` also holds this object, of which only the metadata could be decoded.
    #[must_use]
    pub fn holding_unreadable<T: Kind>(mut self, object: &Value, error: &str) -> Self {
        let meta = decode::<T>(object).meta().clone();
        let object = T::unreadable(meta, &DecodeError(error.to_owned()));
        self.held::<T>().by_key.insert(object.meta().key.clone(), Arc::new(object));
        self
    }

    /// The controller asked for everything, and of this kind only these objects exist.
    #[must_use]
    pub fn holding_metadata(mut self, resource: &Resource, objects: &[Value]) -> Self {
        let mut held = self.empty(Shape::of::<Metadata>());
        for object in objects {
            let object = Metadata::decode(Codec::Json, object.to_string().as_bytes());
            let object = object.expect("objects of tests can be read");
            held.by_key.insert(object.meta.key.clone(), Arc::new(object));
        }
        self.metadata.insert(resource.clone(), Arc::new(held));
        self
    }

    /// The cache of a kind that is only known at run time is complete up to this version.
    #[must_use]
    pub fn complete_to(mut self, resource: &Resource, version: u64) -> Self {
        if let Some(held) = self.metadata.get_mut(resource).and_then(Arc::get_mut) {
            held.version = version;
        }
        self
    }

    /// The cache of kind `T` is complete up to this version.
    #[must_use]
    pub fn up_to<T: Kind>(mut self, version: u64) -> Self {
        self.held::<T>().version = version;
        self
    }

    /// The API server last sent something about kind `T` this long ago; none: never.
    #[must_use]
    pub fn silent<T: Kind>(mut self, silence: impl Into<Option<Duration>>) -> Self {
        let heard = silence.into().map(|silence| self.uptime.saturating_sub(silence));
        self.held::<T>().heard = heard;
        self
    }

    /// The caches as they are.
    pub fn view(&self) -> View<'_> {
        View::new(self.now, self.uptime, self).after(self.failures)
    }

    fn held<T: Kind>(&mut self) -> &mut Objects {
        let empty = self.empty(Shape::of::<T>());
        self.caches.entry(TypeId::of::<T>()).or_insert(empty)
    }

    fn empty(&self, shape: Shape) -> Objects {
        Objects { shape, by_key: BTreeMap::new(), heard: Some(self.uptime), version: 0 }
    }
}

impl Caches for Fixture {
    fn cache(&self, kind: TypeId) -> Option<&dyn Cache> {
        self.caches.get(&kind).map(|objects| objects as &dyn Cache)
    }

    fn metadata(&self, resource: &Resource) -> Option<Arc<dyn Cache>> {
        self.metadata.get(resource).map(|objects| Arc::clone(objects) as _)
    }
}

// === impl Objects ===

impl Cache for Objects {
    fn get(&self, key: &Key) -> Option<Arc<dyn AnyObject>> {
        self.by_key.get(key).cloned()
    }

    fn by(&self, index: &str, value: &str, show: &mut Show<'_>) {
        let at = self.shape.indexes().position(|known| known == index).expect("a known index");
        let is_found = |object: &&Arc<dyn AnyObject>| {
            object.values(at).as_slice().iter().any(|it| **it == *value)
        };
        self.by_key.values().filter(is_found).for_each(|it| show(from_ref(it)));
    }

    fn all(&self, show: &mut Show<'_>) {
        self.by_key.values().for_each(|it| show(from_ref(it)));
    }

    fn of_namespace(&self, namespace: &str, show: &mut Show<'_>) {
        let is_there = |(key, _): &(&Key, _)| *key.namespace == *namespace;
        self.by_key.iter().filter(is_there).for_each(|(_, it)| show(from_ref(it)));
    }

    fn heard(&self) -> Option<Duration> {
        self.heard
    }

    fn version(&self) -> u64 {
        self.version
    }
}

// === impl Asked ===

impl<C: Controller> Watches<C> for Asked<'_, C> {
    fn row<T: Kind>(&mut self, handler: Handler<C, T>) {
        if let Heard::Changed(change) = self.heard
            && let Some(change) = change.downcast_ref::<Change<T>>()
        {
            handler.hears((self.controller, self.memory), change, self.view, &mut self.queue);
        }
    }

    fn optional<T: Kind>(&mut self, handler: Handler<C, T>) {
        self.row(handler);
    }

    fn everything(&mut self, handlers: Everything<C>) {
        let Self { controller, memory, view, queue, .. } = self;
        let memory = &mut memory.write();
        match self.heard {
            Heard::Changed(_) => {}
            Heard::Metadata(resource, change) => {
                (handlers.changed)(controller, memory, resource, change, view, queue);
            }
            Heard::Served(served) => (handlers.served)(controller, memory, served, queue),
        }
    }
}

//! What a plan can write, as data.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use api::{Edit, Key, Meta, OwnerRef, Raw, Resource, Text};
use serde_json::Value;

use crate::Count;

/// Something that a plan does.
#[derive(Clone, Debug)]
pub enum Action {
    /// A write.
    Write(Box<Write>),
    /// An Event; never fails.
    Event(Event),
    /// An order to the cloud; its result is a fact ([`crate::Facts::done`]), and ends no plan.
    Cloud(Box<cloud::Order>),
}

/// A write to the API server: one type for all verbs.
#[derive(Clone, Debug)]
pub struct Write {
    /// What it is about. Its uid is the precondition, of an update its version too. Of an object
    /// that is to be made, and of all objects of a kind, only the kind and the namespace are known.
    pub object: ObjectRef,
    /// Such as `status`; none: the object itself.
    pub subresource: Option<&'static str>,
    /// What is done.
    pub verb: Verb,
    /// Failures that do not matter.
    pub tolerates: &'static [Tolerated],
    /// The events about it.
    pub announce: Vec<Announce>,
    /// What is counted.
    pub counts: Vec<Count>,
}

/// What a write does.
#[derive(Clone, Debug)]
pub enum Verb {
    /// POST of this object as JSON. Shared by creates of equal objects.
    Create(Arc<str>),
    /// DELETE of exactly this object. That it was deleted already counts as success.
    Delete(Delete),
    /// DELETE of all objects of a kind in a namespace, with background propagation; its failure is
    /// a fact ([`crate::Facts::emptied`]), and ends no plan.
    DeleteAll,
    /// PATCH of exactly this object.
    Patch(Patch),
    /// PUT of exactly this version of the object, or of what stands at its subresource.
    Update(Update),
}

/// A failure that may not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerated {
    /// The object does not exist (404 that names it).
    Missing,
    /// The API server finds the result invalid (422).
    Invalid,
    /// The object has another version by now (409): its event enqueues the key.
    Conflict,
}

/// How an object is deleted.
#[derive(Clone, Debug, Default)]
pub struct Delete {
    /// What must hold besides the uid.
    pub guard: Guard,
    /// What becomes of its dependents; none: what the API server does for the kind.
    pub propagation: Option<Propagation>,
    /// The grace period; none: that of the object.
    pub grace_period_seconds: Option<u32>,
}

/// What must hold of an object, besides its uid, to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    /// Nothing.
    #[default]
    Uid,
    /// It still has the version that was looked at. If it has another one by now it stays, which is
    /// no failure: the cache will show that version.
    Version,
    /// It still has these owners. The first try asks for the version that was looked at; if it has
    /// another one by now, it is read live, and the next try asks for the version in which these
    /// were its owners. As `attemptToDeleteItem` of upstream's garbage collector, which then asks
    /// for no version.
    SameOwners(Arc<[OwnerRef]>),
}

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted later.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// All objects of a kind in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Collection {
    /// Their kind.
    pub resource: Resource,
    /// Where; never empty.
    pub namespace: Text,
}

/// What a PATCH sends.
#[derive(Clone, Debug)]
pub struct Patch {
    /// What `body` is.
    pub kind: PatchKind,
    /// The patch as JSON; it carries `metadata.uid` as its precondition.
    pub body: String,
    /// A JSON merge patch to the same end, for kinds that know no strategic merge (415), such as
    /// custom ones.
    pub otherwise: Option<String>,
}

/// How an object and a patch become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// Strategic merge.
    Strategic,
    /// JSON merge (RFC 7386).
    Merge,
    /// Server-side apply: fields that the manager owned and the body lacks are removed.
    Apply {
        /// Who owns the fields from then on.
        field_manager: &'static str,
        /// Whether fields that others own are taken from them; else that is a conflict.
        force: bool,
    },
}

/// What a PUT sends.
#[derive(Clone, Debug)]
pub struct Update {
    /// The object, or another one that stands for a part of it.
    pub content: Content,
    /// What happens when the write fails.
    pub retry: Retry,
}

/// The body of a PUT.
#[derive(Clone, Debug)]
pub enum Content {
    /// The object that was decided on, with changes: all that is not known of it stays.
    Edited {
        /// The object.
        raw: Raw,
        /// What is changed of it; for `status`: fields of that, and of `metadata` where the kind
        /// admits it.
        edits: Vec<Edit>,
    },
    /// An object of another kind as JSON, such as the `Scale` that a `scale` subresource takes. Its
    /// preconditions stand in it.
    Other(Arc<str>),
}

/// What happens when a PUT fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// Nothing; the sync fails.
    #[default]
    Never,
    /// The object is read live and the same changes written once more. As upstream's
    /// `updateReplicaSetStatus`.
    OnceLive,
}

/// An Event about an object, as upstream's `record.EventRecorder` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is about.
    pub about: Arc<ObjectRef>,
    /// Normal or Warning.
    pub r#type: EventType,
    /// One word.
    pub reason: Cow<'static, str>,
    /// A sentence.
    pub message: String,
}

/// The two types of Events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// All is well.
    Normal,
    /// Somebody should look.
    Warning,
}

/// The Events that follow a write, on another object: what `done` says once it succeeded,
/// `<failed.1><error>` if it failed; none if it failed because the namespace is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announce {
    /// What the Events are about.
    pub about: Arc<ObjectRef>,
    /// Reason and message after success; none: no Event.
    pub done: Option<(&'static str, Message)>,
    /// Reason and start of the message after failure.
    pub failed: (&'static str, Cow<'static, str>),
    /// Failures without an Event, by the API server's reasons, such as `AlreadyExists`.
    pub silent: &'static [&'static str],
}

/// The message of an Event that tells of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// This, and then the name of what was written, which the API server may have chosen.
    Naming(&'static str),
    /// This.
    Whole(String),
}

/// Names one object, for good.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// Its kind.
    pub resource: Resource,
    /// Its namespace and name.
    pub key: Key,
    /// Its uid.
    pub uid: Text,
    /// The version that was looked at.
    pub resource_version: u64,
}

// === impl Action ===

impl Action {
    /// The write, if it is one.
    pub fn write(&self) -> Option<&Write> {
        match self {
            Self::Write(write) => Some(write),
            Self::Event(_) | Self::Cloud(_) => None,
        }
    }
}

impl From<Write> for Action {
    fn from(write: Write) -> Self {
        Self::Write(Box::new(write))
    }
}

impl From<cloud::Order> for Action {
    fn from(order: cloud::Order) -> Self {
        Self::Cloud(Box::new(order))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(write) => write.fmt(f),
            Self::Event(event) => {
                write!(f, "event {:?} {}: {}", event.r#type, event.reason, event.message)
            }
            Self::Cloud(order) => order.fmt(f),
        }
    }
}

// === impl Write ===

impl Write {
    fn new(object: ObjectRef, verb: Verb) -> Self {
        let (tolerates, announce, counts) = (&[][..], Vec::new(), Vec::new());
        Self { object, subresource: None, verb, tolerates, announce, counts }
    }

    /// Makes an object; its namespace is empty for cluster-scoped kinds.
    pub fn create(resource: Resource, namespace: Text, body: impl Into<Arc<str>>) -> Self {
        Self::new(ObjectRef::of_kind(resource, namespace), Verb::Create(body.into()))
    }

    /// Deletes an object that may take its time.
    pub fn delete(object: ObjectRef) -> Self {
        Self::new(object, Verb::Delete(Delete::default()))
    }

    /// Deletes an object so.
    pub fn delete_so(object: ObjectRef, how: Delete) -> Self {
        Self::new(object, Verb::Delete(how))
    }

    /// Deletes all objects of a kind in a namespace.
    pub fn delete_all(all: Collection) -> Self {
        Self::new(ObjectRef::of_kind(all.resource, all.namespace), Verb::DeleteAll)
    }

    /// Patches an object.
    pub fn patch(object: ObjectRef, kind: PatchKind, body: String) -> Self {
        Self::new(object, Verb::Patch(Patch { kind, body, otherwise: None }))
    }

    /// A strategic merge into the object itself; it does not matter if the object was deleted.
    pub fn strategic(object: ObjectRef, body: String) -> Self {
        Self::patch(object, PatchKind::Strategic, body).tolerating(&[Tolerated::Missing])
    }

    /// Writes the object that was decided on with these changes.
    pub fn update(object: ObjectRef, raw: Raw, edits: Vec<Edit>) -> Self {
        let (content, retry) = (Content::Edited { raw, edits }, Retry::Never);
        Self::new(object, Verb::Update(Update { content, retry }))
    }

    /// Writes an object of another kind, such as a `Scale`, to a subresource that takes it. Its own
    /// metadata guards it.
    pub fn other(object: ObjectRef, subresource: &'static str, body: impl Into<Arc<str>>) -> Self {
        let (content, retry) = (Content::Other(body.into()), Retry::Never);
        Self::new(object, Verb::Update(Update { content, retry })).at(subresource)
    }

    /// Writes the status of the object that was decided on with these changes.
    pub fn status(object: ObjectRef, raw: Raw, edits: Vec<Edit>, retry: Retry) -> Self {
        let content = Content::Edited { raw, edits };
        Self::new(object, Verb::Update(Update { content, retry })).at("status")
    }

    /// This write, of a subresource.
    #[must_use]
    pub fn at(self, subresource: &'static str) -> Self {
        Self { subresource: Some(subresource), ..self }
    }

    /// This write, to which these failures do not matter.
    #[must_use]
    pub fn tolerating(self, tolerates: &'static [Tolerated]) -> Self {
        Self { tolerates, ..self }
    }

    /// This write, with Events about it, behind those that it has already.
    #[must_use]
    pub fn announced(mut self, announce: Announce) -> Self {
        self.announce.push(announce);
        self
    }

    /// This write, counted.
    #[must_use]
    pub fn counted(self, counts: Vec<Count>) -> Self {
        Self { counts, ..self }
    }

    /// This patch, with a JSON merge patch to the same end for kinds that know no strategic merge.
    #[must_use]
    pub fn or_merge(mut self, merge: String) -> Self {
        if let Verb::Patch(patch) = &mut self.verb {
            patch.otherwise = Some(merge);
        }
        self
    }

    /// The object that it makes, if it makes one.
    pub fn created(&self) -> Option<&Arc<str>> {
        match &self.verb {
            Verb::Create(body) => Some(body),
            Verb::Delete(_) | Verb::DeleteAll | Verb::Patch(_) | Verb::Update(_) => None,
        }
    }

    /// How it deletes one object, if it does.
    pub fn deleted(&self) -> Option<&Delete> {
        match &self.verb {
            Verb::Delete(delete) => Some(delete),
            Verb::Create(_) | Verb::DeleteAll | Verb::Patch(_) | Verb::Update(_) => None,
        }
    }

    /// All that it deletes, if it deletes all.
    pub fn emptied(&self) -> Option<Collection> {
        match &self.verb {
            Verb::DeleteAll => Some(Collection {
                resource: self.object.resource.clone(),
                namespace: self.object.key.namespace.clone(),
            }),
            Verb::Create(_) | Verb::Delete(_) | Verb::Patch(_) | Verb::Update(_) => None,
        }
    }

    /// What it changes of the object that it writes, if it does.
    pub fn edits_mut(&mut self) -> Option<&mut Vec<Edit>> {
        match &mut self.verb {
            Verb::Update(Update { content: Content::Edited { edits, .. }, .. }) => Some(edits),
            Verb::Update(_)
            | Verb::Create(_)
            | Verb::Delete(_)
            | Verb::DeleteAll
            | Verb::Patch(_) => None,
        }
    }

    /// The patch that it sends, if it does.
    pub fn patched(&self) -> Option<&Patch> {
        match &self.verb {
            Verb::Patch(patch) => Some(patch),
            Verb::Create(_) | Verb::Delete(_) | Verb::DeleteAll | Verb::Update(_) => None,
        }
    }

    /// The object that it writes and what it changes of it, if it does.
    pub fn edited(&self) -> Option<(&Raw, &[Edit])> {
        match &self.verb {
            Verb::Update(Update { content: Content::Edited { raw, edits }, .. }) => {
                Some((raw, edits))
            }
            Verb::Update(_)
            | Verb::Create(_)
            | Verb::Delete(_)
            | Verb::DeleteAll
            | Verb::Patch(_) => None,
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, subresource, verb, .. } = self;
        let (resource, namespace, part) =
            (&object.resource, &object.key.namespace, Part(*subresource));
        match verb {
            Verb::Create(_) => write!(f, "create {resource} in {namespace}"),
            Verb::DeleteAll => write!(f, "delete all {resource} in {namespace}"),
            Verb::Delete(delete) => write!(f, "delete {object}{delete}"),
            Verb::Patch(Patch { kind, body, .. }) => write!(f, "{kind} {object}{part} {body}"),
            Verb::Update(Update { content, .. }) => {
                write!(f, "update {object}{part}")?;
                match content {
                    Content::Edited { edits, .. } => edits.iter().try_for_each(|edit| {
                        write!(f, " {}={}", edit.path.join("."), shown(resource, edit))
                    }),
                    Content::Other(body) => write!(f, " {body}"),
                }
            }
        }
    }
}

impl fmt::Display for Delete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.guard {
            Guard::Uid => {}
            Guard::Version => f.write_str(" of this version")?,
            Guard::SameOwners(_) => f.write_str(" with these owners")?,
        }
        if let Some(propagation) = self.propagation {
            write!(f, ", {propagation:?}")?;
        }
        let grace = self.grace_period_seconds;
        grace.map_or(Ok(()), |seconds| write!(f, " within {seconds}s"))
    }
}

impl fmt::Display for PatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strategic => "patch",
            Self::Merge => "merge",
            Self::Apply { .. } => "apply",
        })
    }
}

/// The new value as people may see it: of what a Secret holds, nothing.
pub(crate) fn shown(resource: &Resource, edit: &Edit) -> Value {
    let is_secret = resource.group.is_empty() && resource.plural == "secrets";
    let part = edit.path.first().map(String::as_str);
    if is_secret && matches!(part, None | Some("data" | "stringData")) {
        return Value::from("…");
    }
    edit.value.clone()
}

/// The subresource of a write, as its text has it.
struct Part(Option<&'static str>);

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |part| write!(f, " {part}"))
    }
}

// === impl ObjectRef ===

impl ObjectRef {
    fn of_kind(resource: Resource, namespace: Text) -> Self {
        let key = Key { namespace, name: Text::default() };
        Self { resource, key, uid: Text::default(), resource_version: 0 }
    }

    /// The object that `meta` belongs to.
    pub fn new(resource: &Resource, meta: &Meta) -> Self {
        Self {
            resource: resource.clone(),
            key: meta.key.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version,
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource, self.key)
    }
}

//! What a plan can write, as data.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use api::{Edit, Key, Meta, OwnerRef, Raw, Resource, Text};
use serde_json::Value;

use crate::Count;

/// One write.
#[derive(Clone, Debug)]
pub enum Action {
    /// POST.
    Create(Create),
    /// DELETE of exactly this object, by uid.
    Delete(Delete),
    /// DELETE of all objects of a kind in a namespace; its failure is a fact, and ends no plan.
    DeleteCollection(DeleteCollection),
    /// PATCH of exactly this object.
    Patch(Patch),
    /// PUT of exactly this version of the object.
    Update(Update),
    /// An Event; never fails.
    Event(Event),
}

/// Makes an object.
#[derive(Clone, Debug)]
pub struct Create {
    /// The kind to make.
    pub resource: Resource,
    /// Where; empty for cluster-scoped kinds.
    pub namespace: Text,
    /// The object as JSON. Shared by creates of equal objects.
    pub body: Arc<str>,
    /// The events that tell of it.
    pub announce: Option<Announce>,
    /// What is counted of it.
    pub counts: Vec<Count>,
}

/// Deletes an object. That it is gone already counts as success.
#[derive(Clone, Debug)]
pub struct Delete {
    /// What; its uid is the precondition.
    pub object: ObjectRef,
    /// What else must hold.
    pub guard: Guard,
    /// What becomes of its dependents; none: what the API server does for the kind.
    pub propagation: Option<Propagation>,
    /// How long it may take to end; none: as long as the object says.
    pub grace_period_seconds: Option<u32>,
    /// What is counted of it.
    pub counts: Vec<Count>,
    /// The events that tell of it.
    pub announce: Option<Announce>,
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

/// Deletes all objects of a kind in a namespace, with background propagation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeleteCollection {
    /// Their kind.
    pub resource: Resource,
    /// Where; never empty.
    pub namespace: Text,
}

/// Patches an object.
#[derive(Clone, Debug)]
pub struct Patch {
    /// What.
    pub object: ObjectRef,
    /// Such as `status`; none: the object itself.
    pub subresource: Option<&'static str>,
    /// What `body` is.
    pub kind: PatchKind,
    /// The patch as JSON; it carries `metadata.uid` as its precondition.
    pub body: String,
    /// A JSON merge patch to the same end, for kinds that know no strategic merge (415), such as
    /// custom ones.
    pub otherwise: Option<String>,
    /// What is counted of it.
    pub counts: Vec<Count>,
    /// Whether it does not matter that the object is gone (404 that names it).
    pub ignore_not_found: bool,
    /// Whether it does not matter that the API server finds the result invalid (422).
    pub ignore_invalid: bool,
}

/// How an object and a patch become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// Strategic merge.
    Strategic,
    /// JSON merge (RFC 7386).
    Merge,
    /// Server-side apply, forced: fields that others own are taken from them, and fields that the
    /// manager owned and the body lacks are removed.
    Apply {
        /// Who owns the fields from then on.
        field_manager: &'static str,
    },
}

/// Writes an object with PUT.
#[derive(Clone, Debug)]
pub struct Update {
    /// What; its resource version is the precondition.
    pub object: ObjectRef,
    /// Such as `status`; none: the object itself.
    pub subresource: Option<&'static str>,
    /// The object that was decided on.
    pub raw: Raw,
    /// What is changed of it.
    pub edits: Vec<Edit>,
    /// What is counted of it.
    pub counts: Vec<Count>,
}

/// Writes `status` with PUT on the status subresource.
#[derive(Clone, Debug)]
pub struct UpdateStatus {
    /// What; its resource version is the precondition.
    pub object: ObjectRef,
    /// The object that was decided on.
    pub raw: Raw,
    /// What is changed of it: fields of `status`, and of `metadata` where the kind admits that.
    pub edits: Vec<Edit>,
    /// What happens when the write fails.
    pub retry: StatusRetry,
    /// What is counted of it.
    pub counts: Vec<Count>,
}

/// What happens when a status write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusRetry {
    /// Nothing; the sync fails.
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

/// The Events that follow a write, on another object. `<done.1><name>` once it succeeded,
/// `<failed.1><error>` if it failed; none if it failed because the namespace is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announce {
    /// What the Events are about.
    pub about: Arc<ObjectRef>,
    /// Reason and start of the message after success; none: no Event.
    pub done: Option<(&'static str, &'static str)>,
    /// Reason and start of the message after failure.
    pub failed: (&'static str, Cow<'static, str>),
    /// Failures that are not told of: the API server's words for them, such as `AlreadyExists`.
    pub silent: &'static [&'static str],
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

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(create) => write!(f, "create {} in {}", create.resource, create.namespace),
            Self::Delete(delete) => {
                write!(f, "delete {}", delete.object)?;
                match &delete.guard {
                    Guard::Uid => {}
                    Guard::Version => f.write_str(" of this version")?,
                    Guard::SameOwners(_) => f.write_str(" with these owners")?,
                }
                if let Some(propagation) = delete.propagation {
                    write!(f, ", {propagation:?}")?;
                }
                let grace = delete.grace_period_seconds;
                grace.map_or(Ok(()), |seconds| write!(f, " within {seconds}s"))
            }
            Self::DeleteCollection(all) => {
                write!(f, "delete all {} in {}", all.resource, all.namespace)
            }
            Self::Patch(patch) => {
                let Patch { object, subresource, kind, body, .. } = patch;
                write!(f, "{kind} {object}{} {body}", Part(*subresource))
            }
            Self::Update(update) => {
                write!(f, "update {}{}", update.object, Part(update.subresource))?;
                let resource = &update.object.resource;
                update.edits.iter().try_for_each(|edit| {
                    write!(f, " {}={}", edit.path.join("."), shown(resource, edit))
                })
            }
            Self::Event(event) => {
                write!(f, "event {:?} {}: {}", event.r#type, event.reason, event.message)
            }
        }
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

// === impl Delete ===

impl Delete {
    /// Of an object that may take its time, counted nowhere and without events.
    pub fn of(object: ObjectRef) -> Self {
        Self {
            object,
            guard: Guard::Uid,
            propagation: None,
            grace_period_seconds: None,
            counts: Vec::new(),
            announce: None,
        }
    }
}

// === impl Patch ===

impl Patch {
    /// A strategic merge into the object itself; that it is gone does not matter.
    pub fn strategic(object: ObjectRef, body: String) -> Self {
        Self {
            object,
            subresource: None,
            kind: PatchKind::Strategic,
            body,
            otherwise: None,
            counts: Vec::new(),
            ignore_not_found: true,
            ignore_invalid: false,
        }
    }
}

// === impl ObjectRef ===

impl ObjectRef {
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

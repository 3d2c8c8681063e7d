//! A decision as data: the writes, their order, and why.

mod json;
mod sight;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::{Edit, Key, Listed, Meta, Metadata, OwnerRef, Raw, Resource, Served, Text};
use serde_json::Value;

pub use sight::{Sight, Subject};

/// Why a plan is as it is, in a few words.
pub type Why = Cow<'static, str>;

/// What a controller wants done for one key. Prints as one action a line.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The reason, shown by the debug pages.
    pub why: Why,
    /// Steps, one after the other; the first one that fails ends the plan.
    pub steps: Vec<Step>,
    /// When to look again although nothing changed.
    pub again: Option<Duration>,
    /// Set if the key must be tried again with back-off even though all writes succeed.
    pub error: Option<String>,
    /// The error may last for as long as people leave things as they are, and each try says the
    /// same: it is shown by the debug pages, and the log has it at debug level only.
    pub quiet: bool,
    /// What to add to the controller's histograms ([`crate::Controller::HISTOGRAMS`]).
    pub samples: Vec<Sample>,
}

/// A histogram that a controller fills. Name, help and buckets are upstream's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Histogram {
    /// Such as `replicaset_controller_sorting_deletion_age_ratio`.
    pub name: &'static str,
    /// One sentence or more, starting with the stability level in brackets.
    pub help: &'static str,
    /// Upper bounds, without the infinite one.
    pub buckets: &'static [f64],
}

/// A value for a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The histogram's name.
    pub histogram: &'static str,
    /// The value.
    pub value: f64,
}

/// A counter that actions add to. Name, help and labels are upstream's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Such as `pod_gc_collector_force_delete_pods_total`.
    pub name: &'static str,
    /// One sentence or more, starting with the stability level in brackets.
    pub help: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
}

/// Two families about the syncs of a controller, with one label `code`: the API server's answer to
/// the write that failed, 500 for other failures, 200 if all went well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Syncs {
    /// Counts them; its labels are `code`.
    pub total: Counter,
    /// Their duration in seconds.
    pub duration: Histogram,
}

/// Counts one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The counter of attempts.
    pub attempts: &'static str,
    /// The counter of those that failed.
    pub failures: &'static str,
    /// The values of the labels of both.
    pub labels: Vec<String>,
}

/// Some actions and how they run.
#[derive(Clone, Debug)]
pub enum Step {
    /// One after the other; the first failure ends the step.
    InOrder(Vec<Action>),
    /// All at once; all are tried.
    Together(Vec<Action>),
    /// In batches of 1, 2, 4, …; after a batch with a failure the rest is skipped. As upstream's
    /// `slowStartBatch`.
    SlowStart(Vec<Action>),
    /// Several lists at once, each of them in order. A failure ends its own list only; then the
    /// step has failed.
    Chains(Vec<Vec<Action>>),
    /// Live reads, all at once. The engine adds the answers to the facts and decides again, at most
    /// eight times; steps behind it are not looked at. Mostly it is the only step. What stands
    /// before it is done first, and if that fails, so does the sync: for what can only be read once
    /// something was written.
    Fetch(Vec<Query>),
}

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
    /// Where it is counted.
    pub tally: Option<Tally>,
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
    /// Where it is counted if it fails.
    pub tally: Option<Tally>,
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

/// A live read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Query {
    /// One object, whole; answered with [`Answer::Found`].
    Object {
        /// Its kind.
        resource: Resource,
        /// Its namespace and name.
        key: Key,
    },
    /// The metadata of one object; answered with [`Answer::Metadata`].
    Metadata {
        /// Its kind.
        resource: Resource,
        /// Its namespace and name.
        key: Key,
    },
    /// The metadata of all objects of a kind in a namespace; answered with [`Answer::All`].
    All {
        /// Their kind.
        resource: Resource,
        /// Where; never empty.
        namespace: Text,
    },
    /// What the API server serves now; answered with [`Answer::Served`].
    Served,
}

/// What a live read found.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The object.
    Found(Box<(Meta, Raw)>),
    /// The metadata of the object.
    Metadata(Box<Metadata>),
    /// The metadata of the objects, in the order of the API server.
    All(Vec<Listed>),
    /// What is served. A group that fails is part of it.
    Served(Arc<Served>),
    /// There is none.
    NotFound,
    /// It could not be read.
    Failed(Refused),
}

/// Why the API server did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The status code; none if there was no answer.
    pub code: Option<u16>,
    /// The error.
    pub text: String,
}

/// What is known from earlier rounds.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The answers to queries.
    pub answers: BTreeMap<Query, Answer>,
    /// How deletions of collections went; none: well.
    pub emptied: BTreeMap<DeleteCollection, Option<Refused>>,
}

/// How the plan went, for `report`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Earlier writes are not visible in the cache yet, so nothing was written this time; or the
    /// plan ended early since its namespace is being deleted.
    pub unsettled: bool,
    /// The first failure; if all writes went well, the plan's own error.
    pub error: Option<String>,
    /// Which of the plan's steps failed, counted from 0; none: all writes went well.
    pub step: Option<usize>,
    /// The API server's word for that failure, such as `AlreadyExists`; empty if it gave none.
    pub reason: String,
    /// Its HTTP code; none if it gave none.
    pub code: Option<u16>,
}

// === impl Plan ===

impl Plan {
    /// Nothing to do.
    pub fn rest(why: impl Into<Why>) -> Self {
        Self { why: why.into(), ..Self::default() }
    }

    /// Nothing to do but to try again with back-off.
    pub fn failed(why: impl Into<Why>, error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::rest(why) }
    }

    /// As [`Plan::failed`], and no warning.
    pub fn failed_quietly(why: impl Into<Why>, error: impl Into<String>) -> Self {
        Self { quiet: true, ..Self::failed(why, error) }
    }

    /// Nothing but live reads.
    pub fn fetch(why: impl Into<Why>, queries: Vec<Query>) -> Self {
        Self { why: why.into(), steps: vec![Step::Fetch(queries)], ..Self::default() }
    }

    /// One step.
    pub fn one(why: impl Into<Why>, step: Step) -> Self {
        Self { why: why.into(), steps: vec![step], ..Self::default() }
    }

    /// Whether nothing would be read or written.
    pub fn is_rest(&self) -> bool {
        self.steps.is_empty()
    }

    /// Its first round: the steps that come before the first live reads, and those reads; none: the
    /// plan ends with the steps.
    pub fn round(&self) -> (&[Step], Option<&[Query]>) {
        let reads = self.steps.iter().enumerate().find_map(|(at, step)| match step {
            Step::Fetch(queries) => Some((at, queries.as_slice())),
            Step::InOrder(_) | Step::Together(_) | Step::SlowStart(_) | Step::Chains(_) => None,
        });
        match reads {
            Some((at, queries)) => (&self.steps[..at], Some(queries)),
            None => (&self.steps, None),
        }
    }

    /// How many writes it asks for.
    pub fn actions(&self) -> usize {
        let steps = self.steps.iter().map(|step| match step {
            Step::InOrder(actions) | Step::Together(actions) | Step::SlowStart(actions) => {
                actions.len()
            }
            Step::Chains(chains) => chains.iter().map(Vec::len).sum(),
            Step::Fetch(_) => 0,
        });
        steps.sum()
    }

    /// The same plan, looked at again after `delay`.
    #[must_use]
    pub fn again_after(mut self, delay: Option<Duration>) -> Self {
        self.again = delay;
        self
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "why: {}", self.why)?;
        for step in &self.steps {
            match step {
                Step::InOrder(actions) => write_actions(f, "in order", actions)?,
                Step::Together(actions) => write_actions(f, "together", actions)?,
                Step::SlowStart(actions) => write_actions(f, "slow start", actions)?,
                Step::Chains(chains) => {
                    for (number, chain) in chains.iter().enumerate() {
                        write_actions(f, &format!("chain {number}"), chain)?;
                    }
                }
                Step::Fetch(queries) => {
                    queries.iter().try_for_each(|query| writeln!(f, "fetch {query}"))?;
                }
            }
        }
        if let Some(delay) = self.again {
            writeln!(f, "again in {delay:?}")?;
        }
        if let Some(error) = &self.error {
            writeln!(f, "error: {error}")?;
        }
        Ok(())
    }
}

fn write_actions(f: &mut fmt::Formatter<'_>, how: &str, actions: &[Action]) -> fmt::Result {
    actions.iter().try_for_each(|action| writeln!(f, "{how}: {action}"))
}

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
fn shown(resource: &Resource, edit: &Edit) -> Value {
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
            tally: None,
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
            tally: None,
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

// === impl Answer ===

/// An answer of another shape than its query asked for, which no engine gives.
static MISFIT: Refused = Refused { code: None, text: String::new() };

impl Answer {
    /// The answer to [`Query::Object`]; none: there is no such object.
    pub fn object(&self) -> Result<Option<&(Meta, Raw)>, &Refused> {
        match self {
            Self::Found(found) => Ok(Some(found)),
            Self::NotFound => Ok(None),
            Self::Failed(error) => Err(error),
            Self::Metadata(_) | Self::All(_) | Self::Served(_) => Err(&MISFIT),
        }
    }

    /// The answer to [`Query::Metadata`]; none: there is no such object.
    pub fn metadata(&self) -> Result<Option<&Metadata>, &Refused> {
        match self {
            Self::Metadata(found) => Ok(Some(found)),
            Self::NotFound => Ok(None),
            Self::Failed(error) => Err(error),
            Self::Found(_) | Self::All(_) | Self::Served(_) => Err(&MISFIT),
        }
    }

    /// The answer to [`Query::All`]; none: there is no such namespace or kind.
    pub fn all(&self) -> Result<Option<&[Listed]>, &Refused> {
        match self {
            Self::All(found) => Ok(Some(found)),
            Self::NotFound => Ok(None),
            Self::Failed(error) => Err(error),
            Self::Found(_) | Self::Metadata(_) | Self::Served(_) => Err(&MISFIT),
        }
    }

    /// The answer to [`Query::Served`].
    pub fn served(&self) -> Result<&Arc<Served>, &Refused> {
        match self {
            Self::Served(served) => Ok(served),
            Self::Failed(error) => Err(error),
            Self::Found(_) | Self::Metadata(_) | Self::All(_) | Self::NotFound => Err(&MISFIT),
        }
    }
}

// === impl Facts ===

impl Facts {
    /// The answer to a query, if it was asked.
    pub fn get(&self, query: &Query) -> Option<&Answer> {
        self.answers.get(query)
    }
}

impl FromIterator<(Query, Answer)> for Facts {
    fn from_iter<I: IntoIterator<Item = (Query, Answer)>>(answers: I) -> Self {
        Self { answers: answers.into_iter().collect(), emptied: BTreeMap::new() }
    }
}

impl<const N: usize> From<[(Query, Answer); N]> for Facts {
    fn from(answers: [(Query, Answer); N]) -> Self {
        answers.into_iter().collect()
    }
}

// === impl Query ===

impl Query {
    /// For one object, whole.
    pub fn object(resource: Resource, key: Key) -> Self {
        Self::Object { resource, key }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { resource, key } => write!(f, "{resource} {key}"),
            Self::Metadata { resource, key } => write!(f, "metadata of {resource} {key}"),
            Self::All { resource, namespace } => write!(f, "all {resource} in {namespace}"),
            Self::Served => f.write_str("what is served"),
        }
    }
}

// === impl Refused ===

impl From<&str> for Refused {
    /// Without an answer.
    fn from(text: &str) -> Self {
        Self { code: None, text: text.to_owned() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

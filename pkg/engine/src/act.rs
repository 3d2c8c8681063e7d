//! Acts on plans: the only place that writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::{Codec, Edit, Key, Meta, Raw, Resource, Text, wire};
use bytes::Bytes;
use client::{ApiError, Client};
use controller::{
    Action, Announce, Collection, Content, Delete, Deletion, Event, EventType, Facts, Guard,
    Message, ObjectRef, Outcome, Patch, PatchKind, Propagation, Query, Refused, Retry, Step,
    Tolerated, Update, Verb, Write,
};
use discovery::Discovery;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use mutant::Mutant;
use runtime::Runtime;

use crate::Kinds;
use crate::ambiguous_writes::{AmbiguousWrites, Target};
use crate::events::Recorder;
use crate::expectations::NEVER;
use crate::provider::{CALL_MAX, Provider};
use crate::telemetry::{Became, Telemetry};
use crate::{Expectations, Metrics, Record, read};

/// The number of requests of one step in progress at once. The rate limit bounds them over time;
/// this bounds their memory and the streams of the one connection.
const TOGETHER_MAX: usize = 64;
/// How often one sync tries to delete an object that keeps changing.
const DELETE_TRIES_MAX: usize = 3;

/// Writes for the keys of one controller, and records what the caches must show afterwards.
pub(crate) struct Act {
    /// The controller's canonical name, for metrics.
    pub(crate) controller: &'static str,
    /// The client of the controller's user. For a sync: [`Act::client`].
    pub(crate) client: Client,
    /// The client that resolves ambiguous writes: of the informers' user, which may list all kinds.
    pub(crate) reader: Client,
    /// Where its Events go.
    pub(crate) recorder: Recorder,
    /// What the API server serves, for plans that ask for it.
    pub(crate) discovery: Discovery,
    /// The cloud, for plans that ask it or have it act.
    pub(crate) provider: Provider,
    /// What its keys wait for in the caches.
    pub(crate) expectations: Mutex<Expectations>,
    /// Its ambiguous writes: they failed and may have been done.
    pub(crate) ambiguous_writes: Mutex<AmbiguousWrites>,
    /// The caches that it reads.
    pub(crate) kinds: Kinds,
    /// What debug pages and health checks show of it.
    pub(crate) record: Arc<Record>,
    /// Clock, randomness and cancellation.
    pub(crate) runtime: Runtime,
    /// Counters over all controllers.
    pub(crate) metrics: Metrics,
    /// The controller's own counters.
    pub(crate) telemetry: Telemetry,
}

/// One plan being carried out: its key, and the results of its actions.
struct PlanRun<'a> {
    key: &'a Key,
    emptied: Mutex<BTreeMap<Collection, Option<Refused>>>,
    made: Mutex<Vec<ObjectRef>>,
    done: Mutex<BTreeMap<cloud::Order, cloud::Done>>,
}

/// The result of a write that did not fail.
enum Sent {
    /// It was done, to the object of this name.
    Done(Text),
    /// This object was made.
    Made(ObjectRef),
    /// There was nothing left to do.
    Moot,
}

/// What the response to a write of an object says.
struct Written {
    /// Of an object that the write removed, the one before.
    version: u64,
    /// The object waited for a finalizer that the write took (deleteWithoutFinalizers in
    /// k8s.io/apiserver's pkg/registry/generic/registry/store.go).
    is_removed: bool,
}

impl Act {
    /// Runs the steps of a plan for `key`. The first failing step ends the plan. So does the
    /// shutdown of the process, between two writes: the next leader decides anew and must not have
    /// to wait.
    pub(crate) async fn act(&self, key: &Key, steps: &[Step], facts: &mut Facts) -> Outcome {
        let (emptied, made, done) = (Mutex::default(), Mutex::default(), Mutex::default());
        let run = PlanRun { key, emptied, made, done };
        let mut outcome = self.steps(&run, steps).await;
        outcome.made = run.made.into_inner().unwrap_or_else(PoisonError::into_inner);
        let emptied = run.emptied.into_inner().unwrap_or_else(PoisonError::into_inner);
        facts.emptied.extend(emptied);
        facts.done.extend(run.done.into_inner().unwrap_or_else(PoisonError::into_inner));
        outcome
    }

    async fn steps(&self, run: &PlanRun<'_>, steps: &[Step]) -> Outcome {
        let mut outcome = Outcome::default();
        for (at, step) in steps.iter().enumerate() {
            let done = match step {
                Step::InOrder(actions) => self.in_order(run, actions).await,
                Step::Together(actions) => self.together(run, actions).await,
                Step::SlowStart(actions) => self.slow_start(run, actions).await,
                Step::Chains(chains) => self.chains(run, chains).await,
                Step::Fetch(_) => Ok(()),
            };
            if let Err(failure) = done {
                // Unless the process ends, the fence may admit writes again.
                let stops = self.runtime.cancel.is_cancelled();
                if failure.is_namespace_terminating()
                    || (stops && matches!(failure, ApiError::Fenced(_)))
                {
                    return Outcome { unsettled: true, ..outcome };
                }
                let status = failure.status();
                outcome.code = status.map(|status| status.code);
                outcome.reason = status.map(|status| status.reason.clone()).unwrap_or_default();
                outcome.error = Some(failure.to_string());
                outcome.step = Some(at);
                if !mutant::is(Mutant::StepsGoOn) {
                    break;
                }
            }
        }
        outcome
    }

    /// The client for a sync of `key`: its requests count as signs of life. Responses to writes are
    /// metadata, since nothing else is read.
    pub(crate) fn client(&self, key: &Key) -> Client {
        self.paced(&self.client.terse(), key)
    }

    /// As [`Act::client`], for another client.
    pub(crate) fn paced(&self, client: &Client, key: &Key) -> Client {
        let (record, key) = (Arc::clone(&self.record), key.clone());
        client.paced(Arc::new(move |wait| record.heard(&key, wait)))
    }

    async fn in_order(&self, run: &PlanRun<'_>, actions: &[Action]) -> Result<(), ApiError> {
        for action in actions {
            self.run(run, action).await?;
        }
        Ok(())
    }

    async fn together(&self, run: &PlanRun<'_>, actions: &[Action]) -> Result<(), ApiError> {
        all(actions.iter().map(|action| self.run(run, action))).await
    }

    async fn chains(&self, run: &PlanRun<'_>, chains: &[Vec<Action>]) -> Result<(), ApiError> {
        all(chains.iter().map(|chain| self.in_order(run, chain))).await
    }

    /// Batches of 1, 2, 4, …; after a batch with a failure the remaining actions are skipped.
    async fn slow_start(&self, run: &PlanRun<'_>, actions: &[Action]) -> Result<(), ApiError> {
        let all_at_once = mutant::is(Mutant::NoSlowStart);
        let (mut rest, mut size) = (actions, if all_at_once { actions.len() } else { 1 });
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(size.min(rest.len()));
            if let Err(error) = self.together(run, batch).await {
                if !later.is_empty() {
                    tracing::debug!(skipped = later.len(), "slow start stopped");
                }
                return Err(error);
            }
            (rest, size) = (later, size * 2);
        }
        Ok(())
    }

    async fn run(&self, run: &PlanRun<'_>, action: &Action) -> Result<(), ApiError> {
        if self.runtime.cancel.is_cancelled() {
            return Err(ApiError::Fenced("asked to stop".to_owned()));
        }
        match action {
            Action::Write(write) => {
                if let Some(all) = write.emptied() {
                    return self.delete_all(run, all).await;
                }
                let made = self.write(run.key, write).await?;
                run.made.lock().unwrap_or_else(PoisonError::into_inner).extend(made);
                Ok(())
            }
            Action::Event(event) => {
                self.recorder.record(event.clone());
                Ok(())
            }
            Action::Cloud(order) => self.order(run, order).await,
        }
    }

    /// Has the cloud do something. That it cannot is a fact, unless this process does not lead.
    async fn order(&self, run: &PlanRun<'_>, order: &cloud::Order) -> Result<(), ApiError> {
        self.client.may_write()?;
        self.record.heard(run.key, CALL_MAX);
        let done = self.provider.obey(order).await;
        run.done.lock().unwrap_or_else(PoisonError::into_inner).insert(order.clone(), done);
        Ok(())
    }

    /// Questions to the cloud give no signs of life.
    pub(crate) fn expect_silence(&self, key: &Key, queries: &[Query]) {
        if queries.iter().any(|query| matches!(query, Query::Cloud(_))) {
            self.record.heard(key, CALL_MAX);
        }
    }

    /// Where queries go.
    pub(crate) fn doors(&self) -> read::Doors<'_> {
        read::Doors { discovery: &self.discovery, provider: &self.provider }
    }

    /// Sends a write to one object, and records the result: what to await, what to count, which
    /// Event to send. Returns the object that it made, if it made one.
    pub(crate) async fn write(
        &self,
        key: &Key,
        write: &Write,
    ) -> Result<Option<ObjectRef>, ApiError> {
        let Write { object, announce, counts, .. } = write;
        let sent = match &write.verb {
            Verb::Create(body) => self.create(key, write, body).await,
            Verb::Delete(delete) => self.delete(key, object, delete).await,
            Verb::Patch(patch) => self.patch(key, write, patch).await,
            Verb::Update(update) => self.update(key, write, update).await,
            Verb::DeleteAll => Ok(Sent::Moot),
        };
        match sent {
            Ok(Sent::Made(made)) => {
                self.telemetry.add(counts, Became::Done);
                self.announce(announce, Ok(&made.key.name));
                Ok(Some(made))
            }
            Ok(Sent::Done(name)) => {
                self.telemetry.add(counts, Became::Done);
                self.announce(announce, Ok(&name));
                Ok(None)
            }
            Ok(Sent::Moot) => {
                self.telemetry.add(counts, Became::Moot);
                Ok(None)
            }
            Err(error) if is_tolerated(write.tolerates, &error) => {
                if error.is_object_missing() {
                    self.remember_deleted(key, object, Deletion::Removed);
                }
                self.telemetry.add(counts, Became::Moot);
                Ok(None)
            }
            Err(error) => {
                self.telemetry.add(counts, Became::Failed);
                self.announce(announce, Err(&error));
                Err(error)
            }
        }
    }

    async fn create(&self, key: &Key, write: &Write, body: &str) -> Result<Sent, ApiError> {
        let Write { object, subresource, .. } = write;
        let (resource, namespace) = (&object.resource, &object.key.namespace);
        let path = match subresource {
            Some(_) => path(object, *subresource)?,
            None => resource.collection_path(namespace),
        };
        let answer = self.client(key).create(&path, Bytes::copy_from_slice(body.as_bytes())).await;
        self.count("create", resource, answer.as_ref().err());
        match answer.and_then(|body| metadata(&body)) {
            Ok(meta) => {
                self.remember_version(key, resource, &meta.key, meta.resource_version);
                Ok(Sent::Made(ObjectRef::new(resource, &meta)))
            }
            // A retry would change nothing: the key waits until its own object is deleted with the
            // namespace, or the expectation expires. As upstream's expectation, which is never
            // lowered.
            Err(error) if error.is_namespace_terminating() => {
                self.remember_version(key, resource, &Key::new(namespace, ""), NEVER);
                Err(error)
            }
            Err(error) if mutant::is(Mutant::LostIsDone) && error.is_ambiguous() => Ok(Sent::Moot),
            Err(error) => {
                self.note_ambiguous(key, Target::create(resource, namespace, body), &error);
                Err(error)
            }
        }
    }

    async fn delete(
        &self,
        key: &Key,
        object: &ObjectRef,
        delete: &Delete,
    ) -> Result<Sent, ApiError> {
        match self.delete_guarded(key, object, delete).await {
            Ok(deleted) => {
                let deletion = if deleted { Deletion::Marked } else { Deletion::Removed };
                self.remember_deleted(key, object, deletion);
                Ok(if deleted { Sent::Done(object.key.name.clone()) } else { Sent::Moot })
            }
            // A conflict means that the object has another version by now: no failure.
            Err(error) if delete.guard == Guard::Version && error.is_conflict() => Ok(Sent::Moot),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object, if its guard holds. False: the object was deleted already, or replaced by
    /// another one of the same name; the object of the plan no longer exists, and the cache will
    /// show that.
    async fn delete_guarded(
        &self,
        key: &Key,
        object: &ObjectRef,
        delete: &Delete,
    ) -> Result<bool, ApiError> {
        let guard = &delete.guard;
        let path = path(object, None)?;
        let client = self.client(key);
        let is_blind = *guard == Guard::Uid || mutant::is(Mutant::CollectUnguarded);
        let mut version = (!is_blind).then_some(object.resource_version);
        let mut tries = 1..DELETE_TRIES_MAX;
        loop {
            let answer = client.delete(&path, options(object, delete, version).into()).await;
            self.count("delete", &object.resource, answer.as_ref().err());
            let error = match answer {
                Ok(()) => return Ok(true),
                Err(error) if error.is_not_found() => return Ok(false),
                Err(error) if error.is_conflict() => error,
                Err(error) => {
                    self.note_ambiguous(key, Target::object(object), &error);
                    return Err(error);
                }
            };
            let owners = match guard {
                Guard::Uid if error.is_failed_precondition() => return Ok(false),
                Guard::Uid | Guard::Version => return Err(error),
                Guard::SameOwners(owners) => owners,
            };
            // Usually the uid or the version differs. The delete can also be refused for another
            // reason.
            let live = read::metadata(&client, &path).await?.map(|live| live.meta);
            let Some(live) = live.filter(|live| live.uid == object.uid) else { return Ok(false) };
            // Another client may have deleted the object meanwhile, with another propagation
            // policy.
            let is_same = version == Some(live.resource_version);
            let may_go = live.owners == *owners && !live.is_terminating() && !is_same;
            if !may_go || tries.next().is_none() {
                return Err(error);
            }
            version = Some(live.resource_version);
        }
    }

    async fn delete_all(&self, run: &PlanRun<'_>, all: Collection) -> Result<(), ApiError> {
        let path = all.resource.collection_path(&all.namespace);
        let options = serde_json::json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
        });
        let client = self.client(run.key);
        let error = client.delete_collection(&path, options.to_string().into()).await.err();
        self.count("deletecollection", &all.resource, error.as_ref());
        if let Some(fenced @ ApiError::Fenced(_)) = error {
            return Err(fenced);
        }
        let mut emptied = run.emptied.lock().unwrap_or_else(PoisonError::into_inner);
        emptied.insert(all, error.as_ref().map(read::refused));
        Ok(())
    }

    async fn patch(&self, key: &Key, write: &Write, patch: &Patch) -> Result<Sent, ApiError> {
        let object = &write.object;
        match self.send_patch(key, write, patch).await.and_then(|body| Written::of(write, &body)) {
            Ok(written) => {
                self.remember_written(key, object, &written);
                Ok(Sent::Done(object.key.name.clone()))
            }
            Err(error) => {
                self.note_ambiguous(key, Target::object(object), &error);
                Err(error)
            }
        }
    }

    async fn send_patch(&self, key: &Key, write: &Write, patch: &Patch) -> Result<Bytes, ApiError> {
        let Patch { kind, body, otherwise } = patch;
        let resource = &write.object.resource;
        let path = path(&write.object, write.subresource)?;
        let client = self.client(key);
        let bytes = |body: &str| Bytes::copy_from_slice(body.as_bytes());
        let answer = match kind {
            PatchKind::Strategic => client.patch(&path, bytes(body)).await,
            PatchKind::Merge => client.merge(&path, bytes(body)).await,
            PatchKind::Apply { field_manager, force } => {
                client.apply(&path, (field_manager, *force), bytes(body)).await
            }
        };
        self.count("patch", resource, answer.as_ref().err());
        match (answer, otherwise) {
            (Err(error), Some(merge)) if error.is_unsupported_media_type() => {
                let answer = client.merge(&path, bytes(merge)).await;
                self.count("patch", resource, answer.as_ref().err());
                answer
            }
            (answer, _) => answer,
        }
    }

    async fn update(&self, key: &Key, write: &Write, update: &Update) -> Result<Sent, ApiError> {
        let object = &write.object;
        let body = |raw: &Raw, edits: &[Edit]| {
            let body = raw.edited(&object.resource, edits);
            body.map_err(|error| ApiError::Decode(error.to_string()))
        };
        let done = || Sent::Done(object.key.name.clone());
        let (raw, edits) = match &update.content {
            Content::Edited { raw, edits } => (raw, edits),
            Content::Other(body) => {
                return self.put(key, write, body.to_string()).await.map(|()| done());
            }
        };
        let error = match self.put(key, write, body(raw, edits)?).await {
            Ok(()) => return Ok(done()),
            Err(error) => error,
        };
        match update.retry {
            Retry::Never => Err(error),
            Retry::OnceLive => {
                tracing::debug!(%error, "the status write failed, trying once on the live object");
                let live = self.client(key).get(&path(object, None)?).await?;
                let (_, raw) = read::parse(&live)?;
                self.put(key, write, body(&raw, edits)?).await.map(|()| done())
            }
        }
    }

    async fn put(&self, key: &Key, write: &Write, mut body: String) -> Result<(), ApiError> {
        let Write { object, subresource, .. } = write;
        let subresource = subresource.filter(|_| !mutant::is(Mutant::StatusToObject));
        if mutant::is(Mutant::UpdateWithoutVersion) {
            body = body.replace("\"resourceVersion\":\"", "\"resourceVersion\":\"\",\"was\":\"");
        }
        let answer = self.client(key).update(&path(object, subresource)?, body.into()).await;
        self.count("update", &object.resource, answer.as_ref().err());
        if mutant::is(Mutant::ConflictIsDone) && answer.as_ref().is_err_and(ApiError::is_conflict) {
            return Ok(());
        }
        match answer.and_then(|body| Written::of(write, &body)) {
            Ok(written) => {
                self.remember_written(key, object, &written);
                // It is newer than a first try on another version, so the result of that no longer
                // matters.
                self.forget_ambiguous(key, object);
                Ok(())
            }
            Err(error) => {
                self.note_ambiguous(key, Target::object(object), &error);
                Err(error)
            }
        }
    }

    /// Makes the key wait for what the handlers are not notified of yet: their memory is a cache,
    /// too. The handlers' version is read under the lock that settles keys ([`crate::Engine`]):
    /// later notifications find the expectation. `object` is the key of the written object, with an
    /// empty name if that is unknown. A cache whose selection lacks the object will never show it.
    pub(crate) fn remember_version(
        &self,
        key: &Key,
        resource: &Resource,
        object: &Key,
        version: u64,
    ) {
        let now = self.runtime.clock.instant();
        let mut awaited = self.expectations();
        let awaits = !mutant::is(Mutant::WritesNotAwaited);
        for selection in self.kinds.selections(resource, object) {
            let notified = self.kinds.notified_version(&selection);
            if awaits && notified.is_some_and(|notified| notified < version) {
                awaited.expect_version(key, &selection, version, now);
            }
        }
    }

    /// As [`Act::remember_version`], for the response to a write of an object.
    fn remember_written(&self, key: &Key, object: &ObjectRef, written: &Written) {
        self.remember_version(key, &object.resource, &object.key, written.version);
        if written.is_removed {
            self.remember_deleted(key, object, Deletion::Removed);
        }
    }

    /// As [`Act::remember_version`], for an object whose deletion has come so far.
    pub(crate) fn remember_deleted(&self, key: &Key, object: &ObjectRef, deletion: Deletion) {
        if mutant::is(Mutant::DeletionsNotAwaited) {
            return;
        }
        let now = self.runtime.clock.instant();
        let mut awaited = self.expectations();
        for selection in self.kinds.selections(&object.resource, &object.key) {
            if self.kinds.lacks(&selection, object, deletion) {
                awaited.expect_deleted(key, &selection, (deletion, &object.uid), now);
                continue;
            }
            // The cache shows the deletion, but the handlers may not be notified of it. Checked in
            // this order: a deletion in between is found when the handlers are notified of it.
            let notified = self.kinds.notified_version(&selection);
            let shown = self.kinds.version_of(&selection);
            if let Some(shown) = shown.filter(|_| notified < shown) {
                awaited.expect_version(key, &selection, shown, now);
            }
        }
    }

    pub(crate) fn expectations(&self) -> MutexGuard<'_, Expectations> {
        self.expectations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self, announces: &[Announce], result: Result<&str, &ApiError>) {
        for announce in announces {
            self.announce_one(announce, result);
        }
    }

    fn announce_one(&self, announce: &Announce, result: Result<&str, &ApiError>) {
        let is_silent = |error: &ApiError| {
            error.status().is_some_and(|it| announce.silent.contains(&&*it.reason))
        };
        let (r#type, reason, message) = match (result, &announce.done, &announce.failed) {
            // No write was tried, so there is nothing to report.
            (Ok(_), None, _) | (Err(ApiError::Fenced(_)), ..) => return,
            (Err(error), ..) if error.is_namespace_terminating() => return,
            (Err(error), ..) if is_silent(error) => return,
            (Ok(name), Some((reason, message)), _) => (
                EventType::Normal,
                *reason,
                match message {
                    Message::Naming(start) => format!("{start}{name}"),
                    Message::Whole(message) => message.clone(),
                },
            ),
            (Err(error), _, (reason, start)) => {
                (EventType::Warning, *reason, format!("{start}{error}"))
            }
        };
        self.recorder.record(Event {
            about: announce.about.clone(),
            r#type,
            reason: reason.into(),
            message,
        });
    }

    fn count(&self, verb: &str, resource: &Resource, error: Option<&ApiError>) {
        let code = error.map_or_else(|| "ok".to_owned(), ApiError::label);
        self.metrics.count_write([self.controller, verb, &resource.to_string(), &code]);
    }
}

/// Tries all, this many at once; the error is that of the first one in order that failed.
async fn all<F: Future<Output = Result<(), ApiError>>>(
    runs: impl Iterator<Item = F>,
) -> Result<(), ApiError> {
    let mut failed: Option<(usize, ApiError)> = None;
    let mut waiting =
        runs.enumerate().map(|(at, run)| async move { run.await.err().map(|error| (at, error)) });
    let mut running = FuturesUnordered::new();
    loop {
        let free = TOGETHER_MAX - running.len();
        running.extend(waiting.by_ref().take(free));
        let Some(result) = running.next().await else { break };
        if let Some((at, error)) = result
            && failed.as_ref().is_none_or(|(first, _)| at < *first)
        {
            failed = Some((at, error));
        }
    }
    failed.map_or(Ok(()), |(_, error)| Err(error))
}

fn is_tolerated(tolerates: &[Tolerated], error: &ApiError) -> bool {
    tolerates.iter().any(|tolerated| match tolerated {
        // Not where the path is unknown: the object may be served in another version.
        Tolerated::Missing => error.is_object_missing(),
        Tolerated::Invalid => error.is_invalid(),
        Tolerated::Conflict => error.is_conflict(),
    })
}

fn path(object: &ObjectRef, subresource: Option<&str>) -> Result<String, ApiError> {
    let path = object.resource.object_path(&object.key)?;
    Ok(match subresource {
        Some(part) => format!("{path}/{part}"),
        None => path,
    })
}

/// The body of a DELETE.
fn options(object: &ObjectRef, delete: &Delete, version: Option<u64>) -> String {
    let mut options = serde_json::json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": { "uid": &*object.uid },
    });
    if mutant::is(Mutant::DeleteWithoutUid) {
        options["preconditions"] = serde_json::json!({});
    }
    if let Some(version) = version {
        options["preconditions"]["resourceVersion"] = version.to_string().into();
    }
    if let Some(propagation) = delete.propagation {
        let policy = match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        };
        options["propagationPolicy"] = policy.into();
    }
    if let Some(seconds) = delete.grace_period_seconds {
        options["gracePeriodSeconds"] = seconds.into();
    }
    options.to_string()
}

fn metadata(body: &[u8]) -> Result<Meta, ApiError> {
    Meta::decode(Codec::Json, body).map_err(|error| ApiError::Decode(error.0))
}

// === impl Written ===

impl Written {
    /// Of the response to `write`.
    fn of(write: &Write, body: &[u8]) -> Result<Self, ApiError> {
        let meta = metadata(body)?;
        // A part of the object says nothing of its end: a namespace has other finalizers, too.
        let is_whole = write.subresource.is_none();
        let has_none = meta.is_terminating() && meta.finalizers.is_empty();
        let is_removed = is_whole && has_none && !has_grace(body);
        Ok(Self { version: meta.resource_version, is_removed })
    }
}

/// Whether an object that is being deleted has time to end.
fn has_grace(body: &[u8]) -> bool {
    let object = wire::decode_json::<wire::MetadataOnly>(body);
    object.is_ok_and(|it| it.metadata.deletion_grace_period_seconds.is_some_and(|it| it != 0))
}

//! Acting on a plan: the only place that writes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::{Codec, Key, Meta, Raw, Resource, Text};
use bytes::Bytes;
use client::{ApiError, Client};
use controller::{
    Action, Announce, Answer, Create, Delete, Event, EventType, Facts, ObjectRef, Outcome, Patch,
    PatchKind, Plan, Query, StatusRetry, Step, Update, UpdateStatus,
};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use runtime::Runtime;

use crate::events::Recorder;
use crate::metrics::Counters;
use crate::worker::Kinds;
use crate::{Expectations, Metrics, Record};

/// How many requests of one step are under way at once. The rate limit bounds them over time, this
/// bounds the memory that they take and the streams of the one connection.
const TOGETHER_MAX: usize = 64;

/// Writes for the keys of one controller, and remembers what the caches must show then.
pub(crate) struct Act {
    /// The controller's canonical name, for metrics.
    pub(crate) controller: &'static str,
    /// As whom it writes. For a sync: [`Act::client`].
    pub(crate) client: Client,
    /// Where its Events go.
    pub(crate) recorder: Recorder,
    /// What its keys await.
    pub(crate) expectations: Mutex<Expectations>,
    /// Where a create or delete got no answer and may have been done: key, kind and namespace.
    pub(crate) doubts: Mutex<BTreeSet<(Key, Resource, Text)>>,
    /// What the caches show.
    pub(crate) kinds: Kinds,
    /// What is told about it.
    pub(crate) record: Arc<Record>,
    /// The time.
    pub(crate) runtime: Runtime,
    /// Counters over all controllers.
    pub(crate) metrics: Metrics,
    /// Counters of this one.
    pub(crate) counters: Counters,
}

impl Act {
    /// Runs the steps of a plan for `key`. The first step that fails ends it. So does the stop of
    /// the process, between two writes: the next leader decides anew, and should not have to wait.
    pub(crate) async fn act(&self, key: &Key, plan: &Plan) -> Outcome {
        let mut outcome = Outcome::default();
        for step in &plan.steps {
            let done = match step {
                Step::InOrder(actions) => self.in_order(key, actions).await,
                Step::Together(actions) => self.together(key, actions).await,
                Step::SlowStart(actions) => self.slow_start(key, actions).await,
                Step::Chains(chains) => self.chains(key, chains).await,
                Step::Fetch(_) => Ok(()),
            };
            if let Err(failure) = done {
                if failure.is_namespace_terminating() || matches!(failure, ApiError::Fenced(_)) {
                    return Outcome { unsettled: true, ..outcome };
                }
                let status = failure.status();
                outcome.reason = status.map(|status| status.reason.clone()).unwrap_or_default();
                outcome.error = Some(failure.to_string());
                break;
            }
        }
        outcome.error = outcome.error.or_else(|| plan.error.clone());
        outcome
    }

    /// The client for a sync of `key`: its requests are signs of life.
    pub(crate) fn client(&self, key: &Key) -> Client {
        let (record, key) = (Arc::clone(&self.record), key.clone());
        self.client.paced(Arc::new(move |wait| record.heard(&key, wait)))
    }

    /// The doubts about `key`, in words.
    pub(crate) fn doubts_of(&self, key: &Key) -> Vec<String> {
        let doubts = self.doubts();
        let of_key = doubts.iter().filter(|doubt| doubt.0 == *key);
        let words = of_key.map(|(_, resource, namespace)| {
            format!("{resource} in {namespace:?}: a create or delete got no answer")
        });
        words.collect()
    }

    /// Writes a status.
    pub(crate) async fn update_status(
        &self,
        key: &Key,
        write: &UpdateStatus,
    ) -> Result<(), ApiError> {
        let UpdateStatus { object, raw, edits, retry } = write;
        let body = |raw: &Raw| raw.edited(&object.resource, edits);
        let error = match self.put(key, object, Some("status"), body(raw)).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match retry {
            StatusRetry::Never => Err(error),
            StatusRetry::OnceLive => {
                tracing::debug!(%error, "the status write failed, trying once on the live object");
                let live = self.client(key).get(&object.resource.object_path(&object.key)).await?;
                let (_, raw) = parse(&live)?;
                self.put(key, object, Some("status"), body(&raw)).await
            }
        }
    }

    async fn in_order(&self, key: &Key, actions: &[Action]) -> Result<(), ApiError> {
        for action in actions {
            self.run(key, action).await?;
        }
        Ok(())
    }

    async fn together(&self, key: &Key, actions: &[Action]) -> Result<(), ApiError> {
        all(actions.iter().map(|action| self.run(key, action))).await
    }

    async fn chains(&self, key: &Key, chains: &[Vec<Action>]) -> Result<(), ApiError> {
        all(chains.iter().map(|chain| self.in_order(key, chain))).await
    }

    /// Batches of 1, 2, 4, …; after a batch with a failure the rest is skipped.
    async fn slow_start(&self, key: &Key, actions: &[Action]) -> Result<(), ApiError> {
        let (mut rest, mut size) = (actions, 1);
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(size.min(rest.len()));
            if let Err(error) = self.together(key, batch).await {
                if !later.is_empty() {
                    tracing::debug!(skipped = later.len(), "slow start stopped");
                }
                return Err(error);
            }
            (rest, size) = (later, size * 2);
        }
        Ok(())
    }

    async fn run(&self, key: &Key, action: &Action) -> Result<(), ApiError> {
        if self.runtime.cancel.is_cancelled() {
            return Err(ApiError::Fenced("asked to stop".to_owned()));
        }
        match action {
            Action::Create(create) => self.create(key, create).await,
            Action::Delete(delete) => self.delete(key, delete).await,
            Action::Patch(patch) => self.patch(key, patch).await,
            Action::Update(update) => self.update(key, update).await,
            Action::Event(event) => {
                self.recorder.record(event.clone());
                Ok(())
            }
        }
    }

    async fn create(&self, key: &Key, create: &Create) -> Result<(), ApiError> {
        let path = create.resource.collection_path(&create.namespace);
        let body = Bytes::copy_from_slice(create.body.as_bytes());
        let answer = self.client(key).create(&path, body).await;
        self.count("create", &create.resource, answer.as_ref().err());
        match answer.and_then(|body| metadata(&body)) {
            Ok(meta) => {
                self.remember_version(key, &create.resource, meta.resource_version);
                self.announce(create.announce.as_ref(), Ok(&meta.key.name));
                Ok(())
            }
            // Trying again would change nothing: the key waits until its own object goes with the
            // namespace, or the expectation is too old. As upstream's, which is never lowered.
            Err(error) if error.is_namespace_terminating() => {
                self.remember_version(key, &create.resource, u64::MAX);
                Err(error)
            }
            Err(error) => {
                self.doubt(key, &create.resource, &create.namespace, &error);
                self.announce(create.announce.as_ref(), Err(&error));
                Err(error)
            }
        }
    }

    /// Notes that a create or a delete may have been carried out although it failed.
    fn doubt(&self, key: &Key, resource: &Resource, namespace: &Text, error: &ApiError) {
        if error.is_ambiguous() {
            self.doubts().insert((key.clone(), resource.clone(), namespace.clone()));
        }
    }

    /// If a create or delete of an earlier sync got no answer, asks how far the API server has come
    /// since: the key awaits that version, at which the cache shows whether it was done. Upstream
    /// acts at once, and may make a second object for the one that it does not see yet.
    pub(crate) async fn clear_doubts(&self, key: &Key) -> Result<(), ApiError> {
        let of_key = |doubt: &&(Key, Resource, Text)| doubt.0 == *key;
        let doubts: Vec<_> = self.doubts().iter().filter(of_key).cloned().collect();
        for doubt in doubts {
            let (_, resource, namespace) = &doubt;
            let path = format!("{}?limit=1", resource.collection_path(namespace));
            let version = list_version(&self.client(key).get(&path).await?)?;
            self.remember_version(key, resource, version);
            self.doubts().remove(&doubt);
        }
        Ok(())
    }

    async fn delete(&self, key: &Key, delete: &Delete) -> Result<(), ApiError> {
        let object = &delete.object;
        let mut options = serde_json::json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": &*object.uid },
        });
        if let Some(seconds) = delete.grace_period_seconds {
            options["gracePeriodSeconds"] = seconds.into();
        }
        let path = object.resource.object_path(&object.key);
        let answer = self.client(key).delete(&path, options.to_string().into()).await;
        self.count("delete", &object.resource, answer.as_ref().err());
        if let Some(tally) = &delete.tally {
            self.counters.add(tally, answer.is_ok());
        }
        match answer {
            Ok(_) => {
                self.remember_gone(key, object);
                self.announce(delete.announce.as_ref(), Ok(&object.key.name));
                Ok(())
            }
            // Gone, or replaced by another object with the same name: the object of the plan exists
            // no more, and the cache will show that.
            Err(error) if error.is_not_found() || error.is_failed_precondition() => {
                self.remember_gone(key, object);
                Ok(())
            }
            Err(error) => {
                self.doubt(key, &object.resource, &object.key.namespace, &error);
                self.announce(delete.announce.as_ref(), Err(&error));
                Err(error)
            }
        }
    }

    async fn patch(&self, key: &Key, patch: &Patch) -> Result<(), ApiError> {
        let object = &patch.object;
        let path = path(object, patch.subresource);
        let body = Bytes::copy_from_slice(patch.body.as_bytes());
        let client = self.client(key);
        let answer = match patch.kind {
            PatchKind::Strategic => client.patch(&path, body).await,
            PatchKind::Apply { field_manager } => client.apply(&path, field_manager, body).await,
        };
        self.count("patch", &object.resource, answer.as_ref().err());
        match answer {
            Ok(body) => self.remember_version(key, &object.resource, version(&body)?),
            Err(error) if patch.ignore_not_found && error.is_not_found() => {
                self.remember_gone(key, object);
            }
            Err(error) if patch.ignore_invalid && error.is_invalid() => {}
            Err(error) => {
                if let Some(tally) = &patch.tally {
                    self.counters.add(tally, false);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    async fn update(&self, key: &Key, update: &Update) -> Result<(), ApiError> {
        let Update { object, subresource, raw, edits } = update;
        self.put(key, object, *subresource, raw.edited(&object.resource, edits)).await
    }

    async fn put(
        &self,
        key: &Key,
        object: &ObjectRef,
        subresource: Option<&str>,
        body: serde_json::Result<String>,
    ) -> Result<(), ApiError> {
        let body = body.map_err(|error| ApiError::Decode(error.to_string()))?;
        let answer = self.client(key).update(&path(object, subresource), body.into()).await;
        self.count("update", &object.resource, answer.as_ref().err());
        self.remember_version(key, &object.resource, version(&answer?)?);
        Ok(())
    }

    /// The key awaits what the cache does not show yet. The cache is asked under the lock that its
    /// events take too ([`crate::Engine`]): what it shows later finds the expectation.
    fn remember_version(&self, key: &Key, resource: &Resource, version: u64) {
        let now = self.runtime.clock.instant();
        let mut awaited = self.expectations();
        if self.kinds.version_of(resource).is_some_and(|seen| seen < version) {
            awaited.expect_version(key, resource, version, now);
        }
    }

    /// As [`Act::remember_version`], for an object that is gone or will be.
    fn remember_gone(&self, key: &Key, object: &ObjectRef) {
        let now = self.runtime.clock.instant();
        let mut awaited = self.expectations();
        if self.kinds.holds(object) {
            awaited.expect_gone(key, &object.resource, &object.uid, now);
        }
    }

    pub(crate) fn expectations(&self) -> MutexGuard<'_, Expectations> {
        self.expectations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn doubts(&self) -> MutexGuard<'_, BTreeSet<(Key, Resource, Text)>> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self, announce: Option<&Announce>, result: Result<&str, &ApiError>) {
        let Some(announce) = announce else { return };
        let (r#type, reason, message) = match (result, announce.done, &announce.failed) {
            (Ok(_), None, _) => return,
            (Ok(name), Some((reason, start)), _) => {
                (EventType::Normal, reason, format!("{start}{name}"))
            }
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
        let labels = [self.controller, verb, &resource.to_string(), &code];
        self.metrics.writes.with_label_values(&labels).inc();
    }
}

/// All are tried, so many at once; the error is that of the first in order that failed.
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

fn path(object: &ObjectRef, subresource: Option<&str>) -> String {
    let path = object.resource.object_path(&object.key);
    match subresource {
        Some(part) => format!("{path}/{part}"),
        None => path,
    }
}

/// Live reads.
pub(crate) async fn fetch(client: &Client, queries: &[Query], facts: &mut Facts) {
    for query in queries {
        let answer = match client.get(&query.resource.object_path(&query.key)).await {
            Ok(body) => parse(&body).map_or_else(
                |error| Answer::Failed(error.to_string()),
                |found| Answer::Found(Box::new(found)),
            ),
            Err(error) if error.is_not_found() => Answer::NotFound,
            Err(error) => Answer::Failed(error.to_string()),
        };
        facts.0.insert(query.clone(), answer);
    }
}

fn metadata(body: &[u8]) -> Result<Meta, ApiError> {
    Meta::decode(Codec::Json, body).map_err(|error| ApiError::Decode(error.0))
}

fn list_version(body: &[u8]) -> Result<u64, ApiError> {
    let list: List = serde_json::from_slice(body).map_err(|e| ApiError::Decode(e.to_string()))?;
    let version = list.metadata.resource_version.parse();
    version.map_err(|_| ApiError::Decode("the version of a list is not a number".to_owned()))
}

#[derive(serde::Deserialize)]
struct List {
    metadata: api::wire::ListMeta,
}

fn version(body: &[u8]) -> Result<u64, ApiError> {
    Ok(metadata(body)?.resource_version)
}

fn parse(body: &[u8]) -> Result<(Meta, Raw), ApiError> {
    let raw = Raw::parse(body).map_err(|error| ApiError::Decode(error.0))?;
    Ok((metadata(body)?, raw))
}

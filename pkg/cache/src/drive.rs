//! Carries out the reflector's decisions: the only part that talks to the API server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{AnyObject, Codec, DecodeError, Key, Metadata};
use client::{ApiError, ResponseStream};
use runtime::{Instant, fenced_async};
use tokio::sync::OwnedSemaphorePermit;

use crate::frames::{EventKind, FrameError, ListDecoder, Mark, WatchDecoder, error_of};
use crate::health::Trouble;
use crate::informer::{Decoded, Informer, Unread};
use crate::reflector::{At, Backoff, Effect, Failure, Input, Reflector, Request, RoundError};
use crate::store::Store;

/// The timeout of a watch is drawn from [min, 2 * min), so that watches spread over the servers.
const WATCH_SECONDS_MIN: u32 = 300;
/// A watch that is silent for this long after its timeout has a broken connection.
const WATCH_GRACE: Duration = Duration::from_secs(30);
/// A list that is silent for this long has a broken connection: the API server gives up after 60
/// seconds.
const LIST_SILENCE_MAX: Duration = Duration::from_secs(90);

/// The task of an informer.
pub(crate) struct Drive {
    informer: Arc<Informer>,
    started: Instant,
    reflector: Reflector,
    open: Option<Open>,
    /// The event that was read last.
    event: Option<Happened>,
    /// Held while it lists, if few may at once.
    permit: Option<OwnedSemaphorePermit>,
    /// The list so far.
    collected: BTreeMap<Key, Arc<dyn AnyObject>>,
    /// The failure that was reported last.
    failure: Option<ApiError>,
    /// How many of the lists that were asked for are done, or under way.
    renewals: u64,
}

/// What the driver waits for. A renewal interrupts the wait.
enum Next {
    /// Nothing: the input is here already.
    Happened(Input),
    /// The response to a request.
    Answer(Request),
    /// The next part of the open response.
    More,
    /// The end of a pause.
    Pause(Duration),
}

/// A watch that is being read.
struct Open {
    answer: ResponseStream,
    decoder: WatchDecoder,
    /// How long it may be silent now.
    silence: Duration,
    /// How long it may be silent once it has sent its list.
    watch_silence: Duration,
}

enum Happened {
    Set(Arc<dyn AnyObject>),
    /// The last state of a deleted object, and whether all of it was decoded.
    Deleted(Arc<dyn AnyObject>, bool),
    /// The object exists, but cannot be decoded.
    SetUnread(Key),
    /// The object was deleted, and its last state cannot be decoded.
    DeletedUnread(Key),
}

/// Lists and watches until the runtime is cancelled. A panic is a bug of ours and must not leave
/// the cache stale for ever: after a pause the task starts again from what the cache holds.
pub(crate) async fn keep(informer: Arc<Informer>) {
    let runtime = informer.runtime().clone();
    let (started, mut backoff) = (runtime.clock.instant(), Backoff::default());
    loop {
        let Err(panic) = fenced_async(Drive::new(Arc::clone(&informer)).run()).await else {
            return;
        };
        informer.died(&panic.0);
        let delay = backoff.step(runtime.clock.instant().duration_since(started));
        let pause = runtime.clock.sleep(runtime.random.jitter(delay, 1.0));
        if runtime.cancel.run_until_cancelled(pause).await.is_none() {
            return;
        }
    }
}

// === impl Drive ===

impl Drive {
    /// A driver that continues from what the cache holds.
    pub(crate) fn new(informer: Arc<Informer>) -> Self {
        Self {
            started: informer.runtime().clock.instant(),
            reflector: if informer.streams() { Reflector::default() } else { Reflector::listing() }
                .after(informer.version()),
            informer,
            open: None,
            event: None,
            permit: None,
            collected: BTreeMap::new(),
            failure: None,
            renewals: 0,
        }
    }

    /// Lists and watches until the runtime is cancelled.
    pub(crate) async fn run(mut self) {
        let runtime = self.informer.runtime().clone();
        let forever = async {
            let mut input = Input::Start;
            loop {
                let now = runtime.clock.instant().duration_since(self.started);
                let effect = self.reflector.on(input, now);
                let next = self.carry_out(effect).await;
                let renewal = Arc::clone(&self.informer);
                let done = self.renewals;
                // Changes that are in the cache already still reach the handlers; later ones are
                // not needed.
                input = tokio::select! {
                    biased;
                    count = renewal.renewal(done) => {
                        self.renewals = count;
                        self.clear();
                        Input::Renew
                    }
                    input = self.wait_for(next) => input,
                };
            }
        };
        tokio::select! {
            biased;
            () = runtime.cancel.cancelled() => {}
            () = forever => {}
        }
    }

    /// Drops the request and response in progress.
    fn clear(&mut self) {
        self.open = None;
        self.permit = None;
        self.collected.clear();
    }

    async fn wait_for(&mut self, next: Next) -> Input {
        match next {
            Next::Happened(input) => input,
            Next::Answer(request) => self.send(&request).await,
            Next::More => self.read().await,
            Next::Pause(delay) => {
                let runtime = self.informer.runtime();
                runtime.clock.sleep(runtime.random.jitter(delay, 1.0)).await;
                Input::Waited
            }
        }
    }

    /// Carries out the effects that need no wait, and returns what to wait for.
    async fn carry_out(&mut self, effect: Effect) -> Next {
        match effect {
            Effect::Send(request) => Next::Answer(request),
            Effect::Wait { delay, why } => {
                self.clear();
                self.report(why);
                Next::Pause(delay)
            }
            Effect::Read => Next::More,
            Effect::Collect => {
                match self.event.take() {
                    Some(Happened::Set(object)) => self.collect(object),
                    Some(Happened::Deleted(object, _)) => {
                        drop(self.collected.remove(&object.metadata().key));
                    }
                    Some(Happened::SetUnread(key)) => self.collect_held(&key),
                    Some(Happened::DeletedUnread(key)) => drop(self.collected.remove(&key)),
                    None => {}
                }
                Next::More
            }
            Effect::Apply => {
                if let Some(event) = self.event.take() {
                    self.apply(event).await;
                }
                self.arrived();
                Next::More
            }
            Effect::Advance(version) => {
                let advance = |store: &mut Store| {
                    store.advance(version);
                    Vec::new()
                };
                self.informer.update(advance).await;
                self.arrived();
                Next::More
            }
            Effect::Replace(version) => {
                self.replace(version).await;
                Next::Happened(Input::Replaced)
            }
        }
    }

    async fn send(&mut self, request: &Request) -> Input {
        self.open = None;
        if let Some(error) = self.failure.take() {
            let resource = self.informer.resource();
            tracing::debug!(%resource, %error, "retrying with another form of list");
        }
        if !matches!(request, Request::List { page: Some(_), .. }) {
            self.collected.clear();
            if !matches!(request, Request::Watch { .. }) && self.permit.is_none() {
                self.permit = self.informer.list_permit().await;
            }
        }
        let seconds = self.watch_seconds();
        let watch_silence = Duration::from_secs(seconds.into()) + WATCH_GRACE;
        let silence = match request {
            Request::Watch { .. } => watch_silence,
            Request::Stream { .. } | Request::List { .. } => LIST_SILENCE_MAX,
        };
        let query = selecting(query(request, seconds), self.informer.selection().fields);
        let path = self.informer.resource().collection_path("") + &query;
        let shape = self.informer.shape();
        let accept = match shape.codec {
            Codec::Protobuf if shape.metadata_only && matches!(request, Request::List { .. }) => {
                Metadata::ACCEPT_LIST
            }
            Codec::Protobuf if shape.metadata_only => Metadata::ACCEPT,
            Codec::Protobuf => "application/vnd.kubernetes.protobuf, application/json",
            Codec::Json => "application/json",
        };
        match self.informer.client().stream(&path, accept, silence).await {
            Err(error) => self.failed(error),
            Ok(answer) if matches!(request, Request::List { .. }) => self.read_page(answer).await,
            Ok(answer) => {
                if matches!(request, Request::Watch { .. }) {
                    self.informer.health().failing = None;
                }
                let decoder = WatchDecoder::new(answer.codec);
                self.open = Some(Open { answer, decoder, silence, watch_silence });
                self.read().await
            }
        }
    }

    /// A number of seconds in [min, 2 * min), drawn as upstream draws it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a product of a number in [0, 1) and 300"
    )]
    fn watch_seconds(&self) -> u32 {
        let extra = self.informer.runtime().random.unit() * f64::from(WATCH_SECONDS_MIN);
        WATCH_SECONDS_MIN + extra as u32
    }

    /// The next part of the open watch.
    async fn read(&mut self) -> Input {
        let Self { open: Some(open), informer, event: happened, failure, .. } = self else {
            return Input::Ended;
        };
        let codec = open.answer.codec;
        loop {
            let error = match open.decoder.pop() {
                Err(error) => ApiError::Decode(error.to_string()),
                Ok(Some(event)) => match event.kind {
                    EventKind::Error => error_of(codec, event.object),
                    EventKind::Bookmark => match Mark::parse(codec, event.object) {
                        Ok(Mark { version, list_end }) => {
                            return Input::Bookmark { version, list_end };
                        }
                        Err(error) => ApiError::Decode(format!("a bookmark: {error}")),
                    },
                    kind @ (EventKind::Added | EventKind::Modified | EventKind::Deleted) => {
                        let is_gone = kind == EventKind::Deleted;
                        match informer.decode(codec, event.object) {
                            Ok(Decoded { object, whole }) => {
                                let version = object.metadata().resource_version;
                                *happened = Some(if is_gone {
                                    Happened::Deleted(object, whole)
                                } else {
                                    Happened::Set(object)
                                });
                                return Input::Event(version);
                            }
                            Err(Unread { key: Some(key), .. }) => {
                                let unread = if is_gone {
                                    Happened::DeletedUnread
                                } else {
                                    Happened::SetUnread
                                };
                                *happened = Some(unread(key));
                                return Input::Event(0);
                            }
                            // Skipping the event would lose the object: list again.
                            Err(Unread { key: None, error }) => nameless(&error),
                        }
                    }
                },
                Ok(None) => match open.answer.chunk(open.silence).await {
                    Ok(Some(chunk)) => {
                        open.decoder.feed(&chunk);
                        continue;
                    }
                    Ok(None) => return Input::Ended,
                    Err(error) => {
                        let resource = informer.resource();
                        tracing::debug!(%resource, %error, "the connection of a watch broke");
                        return Input::Ended;
                    }
                },
            };
            let input = Input::Failed(failure_of(&error));
            *failure = Some(error);
            return input;
        }
    }

    async fn read_page(&mut self, mut answer: ResponseStream) -> Input {
        let mut decoder = ListDecoder::new(answer.codec);
        loop {
            match answer.chunk(LIST_SILENCE_MAX).await {
                Ok(Some(chunk)) => decoder.feed(&chunk),
                Ok(None) => break,
                Err(error) => return self.failed(error),
            }
            loop {
                match decoder.pop() {
                    Ok(Some(item)) => match self.informer.decode(answer.codec, item) {
                        Ok(decoded) => self.collect(decoded.object),
                        Err(Unread { key: Some(key), .. }) => self.collect_held(&key),
                        // Without the item the list would report the object as deleted.
                        Err(Unread { key: None, error }) => return self.failed(nameless(&error)),
                    },
                    Ok(None) => break,
                    Err(error) => return self.failed(error.into()),
                }
            }
        }
        let meta = match decoder.finish() {
            Ok(meta) => meta,
            Err(error) => return self.failed(error.into()),
        };
        match meta.resource_version.parse() {
            Ok(version) if version > 0 => {
                let next = Some(meta.r#continue).filter(|next| !next.is_empty());
                Input::Page { version, next }
            }
            Ok(_) | Err(_) => {
                let text = format!("a list of resourceVersion {:?}", meta.resource_version);
                self.failed(ApiError::Decode(text))
            }
        }
    }

    /// Keeps the object that the cache holds instead of an equal copy: a relist needs little more
    /// memory.
    fn collect(&mut self, object: Arc<dyn AnyObject>) {
        let meta = object.metadata();
        let held = self.informer.read().get(&meta.key).map(Arc::clone).filter(|held| {
            let held = held.metadata();
            held.uid == meta.uid && held.resource_version == meta.resource_version
        });
        self.collected.insert(meta.key.clone(), held.unwrap_or(object));
    }

    /// The list has an object of this name that cannot be decoded: the cached state stays.
    fn collect_held(&mut self, key: &Key) {
        if let Some(held) = self.informer.read().get(key).map(Arc::clone) {
            // A state that the list sent before is newer.
            self.collected.entry(key.clone()).or_insert(held);
        }
    }

    async fn apply(&mut self, event: Happened) {
        match event {
            // The cached state stays.
            Happened::SetUnread(_) => {}
            Happened::DeletedUnread(key) => {
                self.informer.health().readable(&key);
                let held = self.informer.read().get(&key).map(Arc::clone);
                if let Some(held) = held {
                    self.informer.update(|store| store.delete(held.metadata(), None)).await;
                }
            }
            Happened::Set(object) => self.informer.update(|store| store.apply(object)).await,
            Happened::Deleted(object, whole) => {
                let meta = object.metadata();
                self.informer.health().readable(&meta.key);
                let last = whole.then(|| Arc::clone(&object));
                self.informer.update(|store| store.delete(meta, last)).await;
            }
        }
    }

    async fn replace(&mut self, version: u64) {
        if let Some(open) = &mut self.open {
            open.silence = open.watch_silence;
        }
        self.permit = None;
        let list = std::mem::take(&mut self.collected);
        self.informer.health().forget_unless(|key| list.contains_key(key));
        let (resource, objects) = (self.informer.resource(), list.len());
        tracing::debug!(%resource, objects, version, "listed");
        self.informer.update(|store| store.replace(list, version)).await;
        self.arrived();
        self.informer.health().lists += 1;
        self.informer.set_synced(self.renewals);
    }

    fn failed(&mut self, error: ApiError) -> Input {
        let input = Input::Failed(failure_of(&error));
        self.failure = Some(error);
        input
    }

    /// Reports the failure to the health, and logs it if it is new.
    fn report(&mut self, why: RoundError) {
        let text = match self.failure.take() {
            Some(error) if matches!(why, RoundError::Failed(_)) => error.to_string(),
            Some(_) | None => why.to_string(),
        };
        let resource = self.informer.resource();
        if why == RoundError::Failed(Failure::Expired) {
            tracing::debug!(%resource, error = text, "the watch is too old; listing again");
            return;
        }
        let trouble = match why {
            RoundError::Failed(Failure::Unavailable) => Trouble::Unreachable(text.clone()),
            RoundError::Failed(Failure::Unserved) => Trouble::Unserved(text.clone()),
            RoundError::Failed(_)
            | RoundError::Short
            | RoundError::Incomplete
            | RoundError::Older { .. }
            | RoundError::Rewound { .. } => Trouble::Error(text.clone()),
        };
        if let RoundError::Rewound { list, shown } = why {
            self.informer.rewound(list, shown);
        }
        let now = self.informer.runtime().clock.now();
        if self.informer.health().failed(trouble, now) {
            tracing::warn!(%resource, error = text, "cannot list or watch; will retry");
        }
    }

    /// The server sent something that the cache now shows.
    fn arrived(&self) {
        let clock = &self.informer.runtime().clock;
        let is_news = {
            let mut health = self.informer.health();
            health.heard = Some(clock.uptime());
            health.arrived(clock.now())
        };
        if is_news {
            tracing::info!(resource = %self.informer.resource(), "lists and watches succeed again");
        }
    }
}

impl From<FrameError> for ApiError {
    fn from(error: FrameError) -> Self {
        Self::Decode(error.to_string())
    }
}

/// The error of an answer with an object of which not even the name can be read.
fn nameless(error: &DecodeError) -> ApiError {
    ApiError::Decode(format!("neither an object nor its name can be read: {error}"))
}

fn failure_of(error: &ApiError) -> Failure {
    if error.is_refused() || error.is_too_many_requests() {
        Failure::Unavailable
    } else if error.is_gone() {
        Failure::Expired
    } else if error.is_too_large_resource_version() {
        Failure::TooLarge
    } else if error.is_not_found() {
        Failure::Unserved
    } else {
        Failure::Other
    }
}

/// The parameters of a request, in the order in which client-go sends them.
fn query(request: &Request, watch_seconds: u32) -> String {
    match request {
        Request::Stream { at } => format!(
            "?allowWatchBookmarks=true{}&resourceVersionMatch=NotOlderThan&sendInitialEvents=true\
             &timeoutSeconds={watch_seconds}&watch=true",
            version("&", *at)
        ),
        Request::Watch { from } => format!(
            "?allowWatchBookmarks=true&resourceVersion={from}&timeoutSeconds={watch_seconds}\
             &watch=true"
        ),
        Request::List { limit, page: Some(page), .. } => {
            let limit = limit.map(|limit| format!("&limit={limit}")).unwrap_or_default();
            format!("?continue={}{limit}", client::percent_encoded(page))
        }
        Request::List { at, limit: Some(limit), page: None } => {
            format!("?limit={limit}{}", version("&", *at))
        }
        Request::List { at, limit: None, page: None } => version("?", *at),
    }
}

fn selecting(query: String, fields: &str) -> String {
    if fields.is_empty() {
        return query;
    }
    let before = if query.is_empty() { '?' } else { '&' };
    format!("{query}{before}fieldSelector={}", client::percent_encoded(fields))
}

fn version(before: &str, at: At) -> String {
    match at {
        At::Latest => String::new(),
        At::NotOlderThan(version) => format!("{before}resourceVersion={version}"),
    }
}

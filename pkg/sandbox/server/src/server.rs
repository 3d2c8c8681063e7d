//! The server: its state, and which part of it handles what.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::{Resource, Time};
use bytes::Bytes;
use hollow::Change;
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use runtime::{Latest, Reader, Runtime};
use serde_json::Value;

use crate::access::{Access, Refusal, Refusals, User};
use crate::admission;
use crate::read::{self, Opening, Watch, render};
use crate::registry::Registry;
use crate::request::{Asked, Request, Verb, negotiate, wants_pretty};
use crate::status::Status;
use crate::store::{Counts, Limits, Store, Table};
use crate::surface::{self, Page};
use crate::write;

/// How a server is set up: what it may hold.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many changes of a resource are remembered for watches.
    pub history_max: usize,
    /// How many bytes the past of a resource may take, roughly.
    pub history_bytes_max: usize,
    /// How many watches may be open.
    pub watches_max: usize,
    /// How large a body may be.
    pub body_bytes_max: usize,
    /// How many connections [`Server::serve`] keeps.
    pub connections_max: usize,
    /// Whether a pod needs the service account that it names, as on a real API server: something
    /// must make the accounts then.
    pub require_service_accounts: bool,
    /// Whether admission adds what other controllers must take away again: the taint of new nodes
    /// (node lifecycle) and the finalizers of volumes (storage protection).
    pub guard_nodes_and_volumes: bool,
    /// Whether `managedFields` have the managers of updates. Without, only managers that apply are
    /// noted, and not what others take from them or add to their maps: objects are smaller by a
    /// half, and all is faster.
    pub track_updates: bool,
    /// The user of requests without credentials: the administrator, as on a port that only this
    /// machine reaches, or [`User::anonymous`].
    pub stranger: User,
    /// Tokens that are good for ever, and whose they are.
    pub tokens: BTreeMap<String, User>,
    /// Whether the roles and bindings that an API server makes are objects.
    pub policy: Policy,
}

/// What becomes of the roles and bindings that an API server makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// They are objects.
    Shown,
    /// They hold all the same, but only those are objects that aggregation and administrators need:
    /// there is less to list.
    Hidden,
}

/// An API server. Clones are the same one.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    /// The revision of the last write, for tasks that wait for changes.
    pub(crate) revision: Latest<u64>,
    /// The same of each table that was ever watched, so that a write notifies only its watches.
    tables: Mutex<BTreeMap<Table, Latest<u64>>>,
    /// How many watches are open.
    watches: AtomicUsize,
    pub(crate) runtime: Runtime,
    pub(crate) options: Options,
}

/// What the server knows.
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) access: Access,
    /// The requests that it refused.
    pub(crate) refusals: Refusals,
    pub(crate) runtime: Runtime,
    pub(crate) options: Options,
}

/// A response, whole or a watch.
pub enum Reply {
    /// It is there.
    Whole(Response<Bytes>),
    /// It comes bit by bit, after a 200 with JSON.
    Watch(Watch),
}

/// A requested revision that is no longer known: begin again at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what changed since is no longer known")]
pub struct Expired;

/// An open watch, as long as it lives.
pub(crate) struct Slot(Arc<Shared>);

// === impl Server ===

impl Server {
    /// A server with the built-in resources, and with the objects that a fresh one makes itself.
    pub fn new(runtime: &Runtime, options: Options) -> Self {
        let server = Self::empty(runtime, options);
        admission::bootstrap(&mut server.state());
        server.publish();
        server
    }

    /// A server without any object.
    pub(crate) fn empty(runtime: &Runtime, options: Options) -> Self {
        let store = Store::new(options.limits());
        Self::around(State::new(store, runtime, options))
    }

    /// A server that continues where [`Server::save`] was. Returns what is wrong with the document
    /// if it cannot be read.
    pub fn load(runtime: &Runtime, options: Options, document: &[u8]) -> Result<Self, String> {
        let store = Store::load(document, options.limits())?;
        let server = Self::around(State::new(store, runtime, options));
        surface::definitions_changed(&mut server.state());
        // What it knows of roles may be older than these.
        admission::bootstrap(&mut server.state());
        server.publish();
        Ok(server)
    }

    /// Another server, on the same clock, that has seen nothing of what came after a revision and
    /// never will, such as one that is cut off from etcd. What is written to it is written nowhere
    /// else. The objects are shared, so it costs little.
    pub fn as_of(&self, revision: u64) -> Result<Self, Expired> {
        let state = self.state();
        let revision = revision.min(state.store.revision());
        let store = state.store.as_of(revision).map_err(|_| Expired)?;
        let (access, refusals) = (state.access.as_of(revision), state.refusals.clone());
        drop(state);
        let (runtime, options) = (&self.shared.runtime, self.shared.options.clone());
        let access = access.unwrap_or_else(|| Access::of(&store, &options));
        let (registry, runtime) = (Registry::new(), runtime.clone());
        let server = Self::around(State { store, registry, access, refusals, runtime, options });
        surface::definitions_changed(&mut server.state());
        Ok(server)
    }

    /// All objects, the revision and the time as one JSON document.
    pub fn save(&self) -> Vec<u8> {
        let time = Value::from(self.shared.runtime.clock.now().to_string());
        let store = self.state().store.save();
        let mut document = format!("{{\"time\":{time},").into_bytes();
        document.extend(store.into_iter().skip(1));
        document
    }

    /// When a document of [`Server::save`] was made: a server that continues from there must not
    /// begin earlier, or its objects lie in the future.
    pub fn saved_at(document: &[u8]) -> Option<Time> {
        let document: Value = serde_json::from_slice(document).ok()?;
        Time::parse(document.get("time")?.as_str()?).ok()
    }

    fn around(state: State) -> Self {
        let shared = Shared {
            revision: Latest::new(state.store.revision()),
            tables: Mutex::default(),
            watches: AtomicUsize::new(0),
            runtime: state.runtime.clone(),
            options: state.options.clone(),
            state: Mutex::new(state),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Handles a request. Nothing here waits, and what is asked for is done when this returns.
    pub fn answer(&self, request: Request) -> Reply {
        let is_pretty = wants_pretty(&request.query, &request.headers);
        let reads = request.method == Method::GET;
        // One broken object must not end the server.
        let answer = runtime::fenced(|| self.try_answer(request));
        let answer = answer.unwrap_or_else(|runtime::Fenced(panic)| {
            tracing::error!(%panic, "a request made the sandbox panic");
            Err(Status::internal(panic))
        });
        if !reads {
            self.publish();
        }
        answer.unwrap_or_else(|status| Reply::Whole(render::status(&status, is_pretty)))
    }

    /// Handles a request that is no watch, for callers without tower; a watch is refused with 400.
    pub fn call(&self, request: Request) -> Response<Bytes> {
        match self.answer(request) {
            Reply::Whole(whole) => whole,
            Reply::Watch(_) => {
                render::status(&Status::bad_request("a watch needs a stream to be shown in"), false)
            }
        }
    }

    /// The requests that it refused because no role allows them; some hundreds at most.
    pub fn refusals(&self) -> Vec<Refusal> {
        self.state().refusals.all()
    }

    /// The clock, the randomness, and when it ends.
    pub fn runtime(&self) -> &Runtime {
        &self.shared.runtime
    }

    fn try_answer(&self, request: Request) -> Result<Reply, Status> {
        if request.body.len() > self.shared.options.body_bytes_max {
            return Err(Status::too_large(self.shared.options.body_bytes_max));
        }
        let mut state = self.state();
        let call = match request.ask(&state)? {
            Asked::Call(call) => call,
            Asked::Page(request) => {
                let page = surface::page(&state, &request)?;
                return Ok(Reply::Whole(respond(page, &request.headers)));
            }
        };
        // What cannot be shown is not done.
        let form = negotiate(&call)?;
        let whole = match call.verb {
            Verb::Get => read::get(&state, &call, form)?,
            Verb::List => {
                let page = read::list(&state, &call)?;
                // Rendering takes the longest, and others need not wait for it.
                drop(state);
                page.render(&call, form)?
            }
            Verb::Watch => {
                let opening = Opening::of(&state, &call, form)?;
                let changed = self.reader(&call.served.table);
                drop(state);
                return Ok(Reply::Watch(opening.open(self, changed, self.slot()?)));
            }
            Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection => {
                let written = write::write(&mut state, &call)?;
                drop(state);
                render::object(&call, form, &written)
            }
        };
        Ok(Reply::Whole(whole))
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.state().store.revision()
    }

    /// What changed after a revision in some resources, in the order of the changes and with their
    /// revisions, and the revision up to which that is. After 0 all objects that there are have
    /// changed.
    pub fn changes_since(
        &self,
        revision: u64,
        resources: &[Resource],
    ) -> Result<(Vec<(u64, Change)>, u64), Expired> {
        let state = self.state();
        if state.store.revision() == revision {
            return Ok((Vec::new(), revision));
        }
        let mut changes = Vec::new();
        for resource in resources {
            let Resource { group, version, plural, .. } = resource;
            let served = state.registry.get(group, version, plural);
            let table =
                served.map_or_else(|| Table::from(resource.to_string()), |it| it.table.clone());
            let change = |revision: u64, object: &Arc<Value>, gone| {
                (revision, Change { resource: resource.clone(), object: object.clone(), gone })
            };
            if revision == 0 {
                let objects = state.store.list(&table, None);
                changes.extend(objects.iter().map(|it| change(it.revision, &it.object, false)));
                continue;
            }
            let events = state.store.follow(&table, revision).map_err(|_| Expired)?;
            changes.extend(events.filter_map(|event| {
                let gone = event.after.is_none();
                let stored = event.after.as_ref().or(event.before.as_ref())?;
                Some(change(event.revision, &stored.object, gone))
            }));
        }
        changes.sort_by_key(|(revision, _)| *revision);
        Ok((changes, state.store.revision()))
    }

    /// Waits until something was written after the revision `seen`, and says which revision there
    /// is then.
    pub async fn changed(&self, seen: u64) -> u64 {
        let newer = |revision: &u64| Some(*revision).filter(|revision| *revision > seen);
        self.shared.revision.wait_for(newer).await
    }

    /// Forgets what was before a revision, as etcd does now and then: lists and watches that ask
    /// for older ones get a 410.
    pub fn compact(&self, before: u64) {
        self.state().store.compact(before);
    }

    /// How much there is.
    pub fn counts(&self) -> Counts {
        let watches = self.shared.watches.load(Ordering::Relaxed);
        Counts { watches, ..self.state().store.counts() }
    }

    /// The state, locked.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies tasks that wait for what was written. Must not be called with the state locked.
    pub(crate) fn publish(&self) {
        let (revision, changed) = {
            let mut state = self.state();
            (state.store.revision(), state.store.take_changed())
        };
        if changed.is_empty() {
            return;
        }
        let mut tables = self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for table in changed {
            if let Some(latest) = tables.get(&table) {
                latest.set(revision);
                if !latest.is_shared() {
                    tables.remove(&table);
                }
            }
        }
        drop(tables);
        self.shared.revision.set(revision);
    }

    fn reader(&self, table: &Table) -> Reader<u64> {
        let mut tables = self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.entry(table.clone()).or_insert_with(|| Latest::new(0)).reader()
    }

    fn slot(&self) -> Result<Slot, Status> {
        let slot = Slot(self.shared.clone());
        let open = self.shared.watches.fetch_add(1, Ordering::Relaxed);
        if open >= self.shared.options.watches_max {
            let message = "Too many requests, please try again later.";
            return Err(Status::too_many_requests(message));
        }
        Ok(slot)
    }
}

// === impl State ===

impl State {
    /// A store that is served.
    pub(crate) fn new(store: Store, runtime: &Runtime, options: Options) -> Self {
        let access = Access::of(&store, &options);
        let (registry, refusals) = (Registry::new(), Refusals::default());
        Self { store, registry, access, refusals, runtime: runtime.clone(), options }
    }
}

/// A page; a client that has it already gets a 304.
fn respond(page: Page, headers: &HeaderMap) -> Response<Bytes> {
    let mut response = Response::new(page.body);
    let value = |text: &str| HeaderValue::from_str(text).ok();
    if let Some(content_type) = value(&page.content_type) {
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    if let Some(etag) = page.etag.as_deref().and_then(value) {
        let is_known = headers.get_all(IF_NONE_MATCH).iter().any(|known| known == etag);
        response.headers_mut().insert(ETAG, etag);
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Bytes::new();
        }
    }
    response
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            history_max: 20_000,
            history_bytes_max: 256 << 20,
            watches_max: 20_000,
            body_bytes_max: 3 << 20,
            connections_max: 10_000,
            require_service_accounts: false,
            guard_nodes_and_volumes: false,
            track_updates: true,
            stranger: User::admin(),
            tokens: BTreeMap::new(),
            policy: Policy::Shown,
        }
    }
}

impl Options {
    fn limits(&self) -> Limits {
        Limits { changes: self.history_max, bytes: self.history_bytes_max }
    }
}

// === impl Slot ===

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.watches.fetch_sub(1, Ordering::Relaxed);
    }
}

//! /debug/controllers: what each controller does, and why.
//!
//! For operators on call. By the header `Accept` each page is JSON, HTML (without scripts, for
//! browsers) or text (for other clients). Nothing here writes: an explanation observes and decides,
//! and does not act.
//!
//! # Parts
//! - `model`: the content as data, which is also the JSON.
//! - `pages`: the content as pages for people.
//! - `document`: the elements of a page, and their form as text.
//! - `html`: their form in a browser.
//! - `accept`: the format that a request asks for.
//! - `shadow`: what a shadow has found, as data and as a page.
//! - `viewer`: which parts of a plan the user may see.

mod accept;
mod document;
mod html;
mod model;
mod pages;
mod shadow;
mod viewer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::{Key, Time};
use auth::User;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use engine::{Insider, Inspect};
use runtime::Clock;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use accept::Format;
use document::Page;
use model::{Controller, Overview};
use viewer::Visitor;
pub use viewer::{Audience, Permits};

/// How many explanations run at once; further requests are refused. Each may read live, within the
/// rate limit of its controller.
const EXPLAINING_MAX: usize = 4;
/// The longest part of a key. The API server knows names of up to 253 bytes; keys of the garbage
/// collector have kind, name and uid in one.
const NAME_BYTES_MAX: usize = 1024;

/// The state of the manager, for the pages.
pub trait Source: Send + Sync {
    /// All controllers of the registry, also those that do not run.
    fn controllers(&self) -> Vec<Row>;
    /// The state of the informers, sorted by resource.
    fn informers(&self) -> Vec<cache::InformerStatus>;
    /// The state of the leader election, as this process knows it.
    fn leadership(&self) -> Leadership;
    /// The clock.
    fn clock(&self) -> &Clock;
}

/// A controller of the registry.
#[derive(Clone)]
pub struct Row {
    /// Upstream's canonical name.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// Its engine, or why there is none.
    pub engine: Result<Arc<dyn Inspect>, Absence>,
    /// Its graph, if it has one.
    pub graph: Option<Graph>,
}

/// Writes a graph as DOT: the objects with these uids and what they depend on; without uids, all of
/// it.
pub type Graph = Arc<dyn Fn(&[&str]) -> String + Send + Sync>;

/// Why a controller does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// `--controllers` does not enable it.
    Off,
    /// These feature gates are not all on.
    GateOff(&'static [&'static str]),
    /// It would need a built-in cloud provider.
    NeedsCloud,
    /// The configuration of leader migration leaves it to another component.
    Foreign,
    /// It cannot run with the given flags, for this reason.
    Lacks(&'static str),
}

/// This process in the leader election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leadership {
    /// Its role.
    pub role: Role,
    /// Its identity in the Lease.
    pub identity: Option<String>,
    /// Since when it has this role.
    pub since: Option<Time>,
    /// The last renewal, if it leads.
    pub renewed: Option<Time>,
}

/// The role of a process in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// There is no election.
    NoElection,
    /// Another process leads, or none does.
    Standby,
    /// This process leads.
    Leader,
    /// This process is a shadow: another process leads.
    Shadow,
}

struct Site {
    source: Arc<dyn Source>,
    audience: Audience,
    explaining: Semaphore,
}

/// The content of a page, for all formats.
struct PageContent {
    code: StatusCode,
    page: Page,
    json: Value,
}

#[derive(Deserialize)]
struct ExplainQuery {
    key: Option<String>,
}

/// The pages, under their full paths:
/// - `/debug/controllers`: all controllers, the informers, and the leader election.
/// - `/debug/controllers/<name or alias>`: one controller.
/// - `/debug/controllers/<name or alias>/explain?key=<namespace>/<name>`: what it would do for a
///   key, and what prevents it. Bodies are shown to users that may `get` their objects, those of
///   Secrets to no user. The user is the [`User`] among the extensions of the request.
/// - `/debug/controllers/<name or alias>/graph?uid=<uid>&uid=…`: the garbage collector's owners and
///   dependents as DOT. As upstream's `debugHTTPHandler`.
/// - `/debug/shadow`: what a shadow would have written, and the manager in charge has not.
pub fn router(source: Arc<dyn Source>, audience: Audience) -> Router {
    let site = Site { source, audience, explaining: Semaphore::new(EXPLAINING_MAX) };
    Router::new()
        .route("/debug/controllers", get(overview))
        .route("/debug/controllers/{name}", get(controller))
        .route("/debug/controllers/{name}/explain", get(explain))
        .route("/debug/controllers/{name}/graph", get(graph))
        .route("/debug/shadow", get(shadowed))
        .with_state(Arc::new(site))
}

async fn overview(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let overview = Overview::new(&*site.source);
    let answer = PageContent {
        code: StatusCode::OK,
        page: pages::overview(&overview),
        json: json!(overview),
    };
    answer.respond(&headers)
}

async fn shadowed(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let answer = match shadow::Found::new(&*site.source) {
        Some(found) => {
            PageContent { code: StatusCode::OK, page: shadow::page(&found), json: json!(found) }
        }
        None => PageContent {
            code: StatusCode::NOT_FOUND,
            page: shadow::refusal(),
            json: json!({ "error": "this process is no shadow" }),
        },
    };
    answer.respond(&headers)
}

async fn controller(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let answer = site.find(&name).map(|row| {
        let controller = Controller::new(&row, &*site.source);
        let page = pages::controller(&controller, site.source.clock().now());
        PageContent { code: StatusCode::OK, page, json: json!(controller) }
    });
    answer.unwrap_or_else(|refusal| refusal).respond(&headers)
}

async fn explain(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    user: Option<Extension<User>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let answer = site.explain(&name, &uri, user.map(|Extension(user)| user)).await;
    answer.unwrap_or_else(|refusal| refusal).respond(&headers)
}

async fn graph(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let graph = match site.graph(&name) {
        Ok(graph) => graph,
        Err(refusal) => return refusal.respond(&headers),
    };
    let asked = Query::<Vec<(String, String)>>::try_from_uri(&uri).unwrap_or_default();
    let uids = asked.iter().filter(|(name, _)| name == "uid").map(|(_, uid)| uid.as_str());
    let dot = graph(&uids.collect::<Vec<_>>());
    let headers =
        [(header::CONTENT_TYPE, "text/vnd.graphviz"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, dot).into_response()
}

// === impl Site ===

impl Site {
    /// The controller with this name or alias, or a refusal that lists the existing ones.
    fn find(&self, name: &str) -> Result<Row, PageContent> {
        let rows = self.source.controllers();
        let at = rows.iter().position(|row| row.name == name || row.aliases.contains(&name));
        if let Some(at) = at {
            return Ok(rows.into_iter().nth(at).expect("the position of a row"));
        }
        let names: Vec<_> = rows.iter().map(|row| row.name).collect();
        Err(PageContent {
            code: StatusCode::NOT_FOUND,
            page: pages::unknown(name, &names),
            json: json!({ "error": format!("no controller {name:?}"), "controllers": names }),
        })
    }

    fn graph(&self, name: &str) -> Result<Graph, PageContent> {
        let row = self.find(name)?;
        let why = match &row.engine {
            Ok(_) => format!("{} has no graph", row.name),
            Err(absence) => format!("{} does not run here: {}", row.name, absence.reason()),
        };
        let graph =
            row.graph.ok_or_else(|| PageContent::refused(StatusCode::NOT_FOUND, row.name, &why))?;
        if self.source.leadership().role == Role::Standby {
            // An empty picture would look like an empty cluster.
            let why = "this process does not lead: it keeps caches, and makes the graph of them \
                       when it leads; ask the leader";
            return Err(PageContent::refused(StatusCode::SERVICE_UNAVAILABLE, row.name, why));
        }
        Ok(graph)
    }

    async fn explain(
        &self,
        name: &str,
        uri: &Uri,
        user: Option<User>,
    ) -> Result<PageContent, PageContent> {
        let row = self.find(name)?;
        let asked =
            Query::<ExplainQuery>::try_from_uri(uri).ok().and_then(|Query(asked)| asked.key);
        let key = asked.as_deref().and_then(parse).ok_or_else(|| {
            let given = asked.map_or_else(
                || "no key was given".to_owned(),
                |text| format!("{text:?} is no key of an object"),
            );
            let expected = format!(
                "{given}; expected ?key=<namespace>/<name>, or ?key=<name> for kinds without \
                 namespaces"
            );
            PageContent::refused(StatusCode::BAD_REQUEST, row.name, &expected)
        })?;
        let engine = row.engine.as_ref().map_err(|absence| {
            let why = format!("{} does not run here: {}", row.name, absence.reason());
            PageContent::refused(StatusCode::NOT_FOUND, row.name, &why)
        })?;
        let _turn = self.explaining.try_acquire().map_err(|_| {
            let why = format!("{EXPLAINING_MAX} explanations are being made, try again");
            PageContent::refused(StatusCode::SERVICE_UNAVAILABLE, row.name, &why)
        })?;
        let explanation = match &self.audience {
            Audience::Insiders => engine.explain(&key, &Insider).await,
            Audience::Users(permits) => {
                let (permits, clock) = (Arc::clone(permits), self.source.clock().clone());
                engine.explain(&key, &Visitor { user, permits, clock }).await
            }
        };
        let leadership = self.source.leadership();
        let json = json!({
            "controller": row.name,
            "leadership": leadership,
            "phase": engine.status().phase,
            "explanation": explanation,
        });
        let page = pages::explanation(row.name, &explanation, leadership.role);
        Ok(PageContent { code: StatusCode::OK, page, json })
    }
}

/// A key, if it may be that of an object: its names are path segments.
fn parse(text: &str) -> Option<Key> {
    let parts: Vec<_> = text.split('/').collect();
    let is_name = |part: &&str| {
        let odd = |c: char| c == '%' || c.is_whitespace() || c.is_control();
        !["", ".", ".."].contains(part) && part.len() <= NAME_BYTES_MAX && !part.contains(odd)
    };
    (parts.len() <= 2 && parts.iter().all(is_name)).then(|| Key::parse(text))
}

// === impl Absence ===

impl Absence {
    fn reason(self) -> String {
        match self {
            Self::Off => "--controllers does not switch it on".to_owned(),
            Self::GateOff([gate]) => format!("the feature gate {gate} is off"),
            Self::GateOff(gates) => {
                format!("not all of the feature gates {} are on", gates.join(", "))
            }
            Self::NeedsCloud => "it needs a built-in cloud provider; there are none".to_owned(),
            Self::Foreign => "leader migration leaves it to another component".to_owned(),
            Self::Lacks(why) => why.to_owned(),
        }
    }
}

// === impl PageContent ===

impl PageContent {
    fn refused(code: StatusCode, name: &str, why: &str) -> Self {
        Self { code, page: pages::refused(name, why), json: json!({ "error": why }) }
    }

    fn respond(self, headers: &HeaderMap) -> Response {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let (kind, body) = match accept::choose(accept.unwrap_or_default()) {
            Format::Html => ("text/html; charset=utf-8", html::Html(&self.page).to_string()),
            Format::Json => ("application/json", format!("{:#}\n", self.json)),
            Format::Text => ("text/plain; charset=utf-8", self.page.to_string()),
        };
        // Names and errors come from the cluster: nothing in them may run or be loaded.
        let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
        let headers: [(HeaderName, &'static str); 6] = [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, "no-store"),
            (header::VARY, "Accept"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CONTENT_SECURITY_POLICY, policy),
        ];
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
        (self.code, headers, body).into_response()
    }
}

//! The pages of the secure port: health, metrics, configuration and debug pages.
//!
//! [`router`] makes one axum router from the [`Pages`]. Paths, status codes, headers and texts are
//! those of upstream's manager (k8s.io/controller-manager/app/serve.go and the packages that it
//! installs). A path matches exactly or not at all; unless a page documents otherwise it responds
//! to every method alike, as upstream's do.
//!
//! Each request passes, from the outside in: the panic fence, `Cache-Control`, the time limit,
//! [`Admit`], the page. So a user that may not see a page does not learn whether it exists. Limits
//! that upstream lacks: 60 seconds per request, for profiles plus `?seconds=`, up to five minutes;
//! 64 KiB of a body.

mod answer;
mod cbor;
mod chain;
mod debug;
mod health;
mod negotiate;
mod zpages;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use api::Time;
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, Method, Uri};
use runtime::Runtime;
use serde_json::value::RawValue;

pub use health::{CheckResult, Health};

use crate::chain::Chain;
use crate::negotiate::Offers;
use crate::zpages::{Flagz, Statusz};

/// All pages.
pub struct Pages {
    /// The name of the program, as /flagz and /statusz show it.
    pub component: &'static str,
    /// The checks behind /healthz.
    pub health: Health,
    /// /metrics. As upstream's manager, and unlike its API server, it cannot be reset.
    pub metrics: Expose,
    /// /metrics/slis.
    pub slis: Expose,
    /// The effect of DELETE /metrics/slis.
    pub reset_slis: Box<dyn Fn() + Send + Sync>,
    /// /configz: a configuration object per name.
    pub configs: BTreeMap<String, Box<RawValue>>,
    /// /flagz: each flag with its value, secrets masked. None: the page does not exist (feature
    /// gate ComponentFlagz).
    pub flags: Option<BTreeMap<String, String>>,
    /// /statusz. None: the page does not exist (feature gate ComponentStatusz).
    pub status: Option<ProcessStatus>,
    /// Whether /flagz and /statusz also support CBOR (feature gate CBORServingAndStorage).
    pub cbor: bool,
    /// /debug/pprof and /debug/flags. None: neither exists (`--profiling=false`).
    pub debugging: Option<Debugging>,
    /// Pages of other crates, under their full paths: /debug/controllers. A path of this crate
    /// takes precedence.
    pub extra: Router,
}

/// Renders the metrics in the format for the header `Accept`, empty if there is none.
pub type Expose = Box<dyn Fn(&str) -> Exposition + Send + Sync>;

/// A page of metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposition {
    /// The format, as a media type.
    pub content_type: String,
    /// The page.
    pub body: String,
}

/// The content of /statusz.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStatus {
    /// When the process started.
    pub started: Time,
    /// Shown where upstream has the version of Go.
    pub go_version: String,
    /// The version of Kubernetes that this program corresponds to, such as 1.36.3.
    pub binary_version: String,
    /// The version that it behaves as, such as 1.36.
    pub emulation_version: Option<String>,
}

/// The pages of `--profiling`.
pub struct Debugging {
    /// Everything under /debug/pprof/, under its full paths.
    pub profiles: Router,
    /// Sets the verbosity of the log (the flag `-v`), or says why not.
    pub set_verbosity: Box<dyn Fn(u32) -> Result<(), String> + Send + Sync>,
}

/// Authentication and authorization.
pub trait Admit: Send + Sync + 'static {
    /// The user. Pages find it among the extensions of their requests.
    type User: Clone + Send + Sync + 'static;

    /// The user, if the request is allowed; otherwise its response (401, 403, 500).
    fn admit(
        &self,
        request: &Parts,
    ) -> impl Future<Output = Result<Self::User, Response<Bytes>>> + Send;
}

/// All pages behind all filters.
pub fn router(pages: Pages, admit: impl Admit, runtime: &Runtime) -> Router {
    let chain = Arc::new(Chain::new(admit, runtime.clock.clone()));
    let rest = pages.extra.fallback(async || answer::not_found());
    let router = match pages.debugging {
        Some(debugging) => debug::router(debugging, rest),
        None => Router::new().fallback_service(rest),
    };
    let offers = if pages.cbor { Offers::ALL } else { Offers::WITHOUT_CBOR };
    let mut paths = vec!["/configz", "/healthz", "/metrics"];
    let router = router
        .route("/healthz", health(pages.health))
        .route("/configz", configz(&pages.configs))
        .route("/metrics", metrics(pages.metrics))
        .route("/metrics/slis", slis(pages.slis, pages.reset_slis));
    let router = match pages.flags {
        Some(flags) => {
            paths.push("/flagz");
            let flagz = Flagz::new(pages.component, flags, offers, &runtime.random);
            router.route("/flagz", flagz.page())
        }
        None => router,
    };
    paths.sort_unstable();
    let router = match pages.status {
        Some(status) => {
            let statusz = Statusz::new(pages.component, status, paths, offers, runtime.clone());
            router.route("/statusz", statusz.page())
        }
        None => router,
    };
    router.layer(from_fn(move |request: Request, next: Next| {
        let chain = Arc::clone(&chain);
        async move { chain.serve(request, next).await }
    }))
}

type Page = axum::routing::MethodRouter;

fn health(health: Health) -> Page {
    any(async move |uri: Uri| health.answer(&uri))
}

/// As component-base/configz/configz.go.
fn configz(configs: &BTreeMap<String, Box<RawValue>>) -> Page {
    let json = serde_json::to_string(configs).expect("names and JSON make JSON");
    let body = Bytes::from(api::go::escape_html(json));
    let headers = [(CONTENT_TYPE, "application/json"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    any(async move || (headers, body))
}

fn metrics(expose: Expose) -> Page {
    let expose = Arc::new(expose);
    any(async move |headers: HeaderMap| exposition(&expose, &headers))
}

/// As `HandlerWithReset` in component-base/metrics/http.go.
fn slis(expose: Expose, reset: Box<dyn Fn() + Send + Sync>) -> Page {
    let (expose, reset) = (Arc::new(expose), Arc::new(reset));
    any(async move |method: Method, headers: HeaderMap| {
        if method == Method::DELETE {
            reset();
            return "metrics reset\n".into_response();
        }
        exposition(&expose, &headers)
    })
}

fn exposition(expose: &Expose, headers: &HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let page = expose(accept.unwrap_or_default());
    ([(CONTENT_TYPE, page.content_type)], page.body).into_response()
}

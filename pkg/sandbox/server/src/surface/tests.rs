//! Held against what a real API server of the same release said (`pkg/discovery/testdata`).

mod definitions;
mod discovery;
mod reviews;

use http::{HeaderMap, HeaderValue, header};
use runtime::Runtime;
use serde_json::Value;

use super::*;
use crate::store::Store;

/// When these tests take place.
const NOW: &str = "2024-03-01T12:00:00Z";

/// A server without objects.
fn state() -> State {
    let start = api::Time::parse(NOW).unwrap();
    let options = crate::server::Options {
        guard_nodes_and_volumes: true,
        ..crate::server::Options::default()
    };
    State::new(Store::new(100), &Runtime::simulated(start, 1), options)
}

fn request(path: &str, accept: &'static str) -> Request {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    let (path, query) = (path.to_owned(), query.to_owned());
    Request { headers, ..Request::new(Method::GET, &path, &query) }
}

fn json(state: &State, path: &str) -> Value {
    let page = page(state, &request(path, "application/json")).unwrap();
    serde_json::from_slice(&page.body).unwrap()
}

fn text(state: &State, path: &str) -> String {
    let page = page(state, &request(path, "*/*")).unwrap();
    String::from_utf8(page.body.to_vec()).unwrap()
}

/// The tests of this module need a simulated clock, and that a runtime.
fn within(body: impl FnOnce()) {
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    let tokio = tokio.enable_time().start_paused(true).build().unwrap();
    tokio.block_on(async { body() });
}

#[test]
fn health_is_reported() {
    within(|| {
        let state = state();
        assert_eq!(text(&state, "/healthz"), "ok");
        assert_eq!(text(&state, "/readyz/ping"), "ok");
        assert_eq!(text(&state, "/livez?verbose"), "[+]ping ok\nlivez check passed\n");
        let said = text(&state, "/readyz?verbose=1&exclude=ping&exclude=x");
        let warning = "warn: some health checks cannot be excluded: no matches for \"x\"\n";
        assert_eq!(said, format!("[+]ping excluded: ok\n{warning}readyz check passed\n"));
        assert_eq!(json(&state, "/version")["gitVersion"], "v1.36.3");
        let error = page(&state, &request("/nothing", "*/*")).unwrap_err();
        assert_eq!(error.code, 404);
        assert_eq!(error.message, "the server could not find the requested resource");
    });
}

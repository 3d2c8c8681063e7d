//! The pages, as Go's net/http/pprof has them.

use std::fmt::Write;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, StatusCode};
use runtime::Runtime;

use crate::{Error, cpu, heap, tasks};

/// The rows of the index: name and description.
const PAGES: [(&str, &str); 5] = [
    ("cmdline", "The command line invocation of the current program"),
    ("goroutine", "How many tasks and threads there are, with debug=1; stacks are not recorded."),
    (
        "heap",
        "A sampling of memory allocations of live objects. With the seconds GET parameter, what \
         has changed in that time. Read it with go tool pprof -noinlines.",
    ),
    (
        "profile",
        "CPU profile. You can specify the duration in the seconds GET parameter. After you get \
         the profile file, use the go tool pprof command to investigate the profile. The first \
         one costs some 25 MB of memory until the process ends.",
    ),
    ("symbol", "Says that there is nothing to look up: profiles carry the names of functions."),
];

/// Profiles of Go's runtime that do not exist here.
const ABSENT: [&str; 5] = ["allocs", "block", "mutex", "threadcreate", "trace"];

const SECONDS_DEFAULT: u64 = 30;
const TEXT: &str = "text/plain; charset=utf-8";
const NOSNIFF: (HeaderName, &str) = (X_CONTENT_TYPE_OPTIONS, "nosniff");

type Pairs = Query<Vec<(String, String)>>;

/// All pages under /debug/pprof/. The caller must authorize requests.
pub fn router(runtime: &Runtime) -> Router {
    Router::new()
        .route("/debug/pprof/", any(index))
        .route("/debug/pprof/cmdline", any(cmdline))
        .route("/debug/pprof/goroutine", any(goroutine))
        .route("/debug/pprof/heap", any(heap_page))
        .route("/debug/pprof/profile", any(profile))
        .route("/debug/pprof/symbol", any(symbol))
        .route("/debug/pprof/{*name}", any(other))
        .with_state(runtime.clone())
}

async fn index() -> Response {
    let mut page = String::from(
        "<html>\n<head>\n<title>/debug/pprof/</title>\n<style>\n.profile-name{\n\
         \tdisplay:inline-block;\n\twidth:6rem;\n}\n</style>\n</head>\n<body>\n/debug/pprof/\n\
         <br>\n<p>Set debug=1 as a query parameter to export in legacy text format</p>\n<br>\n\
         Types of profiles available:\n<table>\n\
         <thead><td>Count</td><td>Profile</td></thead>\n",
    );
    for (name, _) in PAGES {
        let count = if name == "goroutine" { tasks::alive() } else { 0 };
        let link = format!("<a href='{name}?debug=1'>{name}</a>");
        writeln!(page, "<tr><td>{count}</td><td>{link}</td></tr>").expect(WRITES);
    }
    page.push_str("</table>\n<br>\n<p>\nProfile Descriptions:\n<ul>\n");
    for (name, description) in PAGES {
        writeln!(page, "<li><div class=profile-name>{name}: </div> {description}</li>")
            .expect(WRITES);
    }
    page.push_str("</ul>\n</p>\n</body>\n</html>");
    let html = (CONTENT_TYPE, "text/html; charset=utf-8");
    ([html, NOSNIFF], page).into_response()
}

async fn cmdline() -> Response {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    text(StatusCode::OK, arguments.join("\0"))
}

async fn goroutine(query: Pairs) -> Response {
    if value(&query, "seconds").is_some() {
        let refusal = "\"seconds\" parameter is not supported for this profile type";
        return error(StatusCode::BAD_REQUEST, refusal);
    }
    if is_debug(&query) {
        return text(StatusCode::OK, tasks::page());
    }
    let refusal = "stacks of tasks are not recorded; debug=1 shows the number of tasks";
    error(StatusCode::NOT_IMPLEMENTED, refusal)
}

async fn heap_page(State(runtime): State<Runtime>, query: Pairs) -> Response {
    let Some(seconds) = value(&query, "seconds") else {
        if is_debug(&query) {
            return heap::heap_text()
                .await
                .map_or_else(|failed| failure(&failed), |page| text(StatusCode::OK, page));
        }
        return heap::heap()
            .await
            .map_or_else(|failed| failure(&failed), |bytes| attachment("heap", bytes));
    };
    let Some(seconds) = positive(seconds) else {
        let refusal = "invalid value for \"seconds\" - must be a positive integer";
        return error(StatusCode::BAD_REQUEST, refusal);
    };
    if is_debug(&query) {
        return error(StatusCode::BAD_REQUEST, "seconds and debug params are incompatible");
    }
    let delta = heap::heap_delta(seconds, &runtime).await;
    delta.map_or_else(|failed| failure(&failed), |bytes| attachment("heap-delta", bytes))
}

async fn profile(State(runtime): State<Runtime>, query: Pairs) -> Response {
    let seconds = value(&query, "seconds").and_then(positive).unwrap_or(SECONDS_DEFAULT);
    let profile = cpu::cpu(seconds, &runtime).await;
    profile.map_or_else(|failed| failure(&failed), |bytes| attachment("profile", bytes))
}

async fn symbol() -> Response {
    text(StatusCode::OK, "num_symbols: 0\n".to_owned())
}

async fn other(Path(name): Path<String>) -> Response {
    if ABSENT.contains(&name.as_str()) {
        let text = format!("{name}: only Go's runtime records it, and this program is not in Go");
        return error(StatusCode::NOT_IMPLEMENTED, &text);
    }
    error(StatusCode::NOT_FOUND, "Unknown profile")
}

// === Queries ===

/// The first value, as Go's `FormValue`; an empty one counts as none.
fn value<'a>(query: &'a Pairs, key: &str) -> Option<&'a str> {
    let first = query.iter().find(|(name, _)| name == key);
    first.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

fn positive(value: &str) -> Option<u64> {
    value.parse().ok().filter(|number| *number > 0)
}

fn is_debug(query: &Pairs) -> bool {
    value(query, "debug").and_then(|value| value.parse::<i64>().ok()).is_some_and(|it| it != 0)
}

// === Answers ===

const WRITES: &str = "a String takes all text";

fn text(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, TEXT), NOSNIFF], text).into_response()
}

fn attachment(name: &str, bytes: Vec<u8>) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let binary = [(CONTENT_TYPE, "application/octet-stream"), NOSNIFF];
    (binary, [(CONTENT_DISPOSITION, disposition)], bytes).into_response()
}

fn failure(failed: &Error) -> Response {
    let status = match failed {
        Error::InUse | Error::Cpu(_) | Error::Collect(_) => StatusCode::INTERNAL_SERVER_ERROR,
        Error::HeapOff => StatusCode::NOT_IMPLEMENTED,
        Error::Seconds(_) => StatusCode::BAD_REQUEST,
    };
    error(status, &failed.to_string())
}

/// As `serveError`: the header says to pprof that the text is for people.
fn error(status: StatusCode, message: &str) -> Response {
    let mut response = text(status, format!("{message}\n"));
    response.headers_mut().insert("x-go-pprof", HeaderValue::from_static("1"));
    response
}

//! The filters that every request passes before its page.

use std::future::pending;
use std::time::Duration;

use axum::Router;
use axum::routing::any;
use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use tracing::Level;

use super::{Admit, LET_IN, Lines, PRIVATE, ask, get, pages, router, router_of, runtime_with};

const PATHS: [&str; 17] = [
    "/",
    "/configz",
    "/debug/controllers/x",
    "/debug/flags",
    "/debug/flags/",
    "/debug/flags/v",
    "/debug/pprof",
    "/debug/pprof/",
    "/debug/pprof/profile",
    "/flagz",
    "/healthz/x",
    "/livez",
    "/metrics",
    "/metrics/slis",
    "/readyz",
    "/statusz",
    "/version",
];

/// Never admits a request, and never responds.
struct Stuck;

impl Admit for Stuck {
    type User = ();

    async fn admit(&self, _: &Parts) -> Result<(), Response<Bytes>> {
        pending().await
    }
}

/// As TestComponentSecureServingAndAuth: a user that may not see a page does not learn whether it
/// exists.
#[tokio::test]
async fn a_refusal_comes_before_the_page() {
    let router = router_of(pages());
    for path in PATHS {
        let answer = ask(&router, Request::builder().uri(path), "").await;
        assert_eq!((answer.status, &*answer.body), (403, "forbidden: anonymous"), "{path}");
        let liar = Request::builder().uri(path).header(LET_IN.0, "a lie");
        let answer = ask(&router, liar, "").await;
        assert_eq!((answer.status, &*answer.body), (401, "Unauthorized"), "{path}");
        assert_eq!(answer.header("cache-control"), Some(PRIVATE));
        assert_eq!(answer.header("x-door"), Some("shut"));
    }
}

#[tokio::test]
async fn paths_match_exactly_or_not_at_all() {
    let router = router_of(pages());
    let paths = [
        "/",
        "/version",
        "/livez",
        "/readyz",
        "/openapi/v2",
        "/healthz/",
        "/healthz/ping",
        "/Healthz",
        "//healthz",
        "/configz/",
        "/metrics/",
        "/metrics/slis/",
        "/metrics/slis/x",
        "/flagz/",
        "/statusz/",
        "/debug",
        "/debug/",
        "/debug/controllers",
        "/debug/pprofx",
        "/debug/flagsx",
    ];
    for path in paths {
        let answer = get(&router, path).await;
        assert_eq!((answer.status, &*answer.body), (404, "404 page not found\n"), "{path}");
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some(PRIVATE));
    }
}

#[tokio::test]
async fn a_panic_is_answered_and_the_next_request_works() {
    let (lines, _guard) = Lines::record(Level::INFO);
    let mut pages = pages();
    pages.extra = Router::new().route("/debug/boom", any(async || -> String { panic!("boom") }));
    let router = router_of(pages);
    for _ in 0..2 {
        let answer = get(&router, "/debug/boom").await;
        let text = "This request caused apiserver to panic. Look in the logs for details.\n";
        assert_eq!((answer.status, &*answer.body), (500, text));
        assert_eq!(answer.header("cache-control"), Some(PRIVATE));
        assert_eq!(
            lines.take(),
            ["ERROR server::chain: a request panicked method=GET path=\"/debug/boom\" \
              panic=\"boom\""]
        );
        assert_eq!(get(&router, "/healthz").await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_is_given_up() {
    let hang = Router::new().route("/debug/{*rest}", any(pending::<()>));
    let mut pages_that_hang = pages();
    pages_that_hang.debugging = None;
    pages_that_hang.extra = hang;
    let runtime = runtime_with(1);
    let (hanging, stuck) = (router_of(pages_that_hang), router(pages(), Stuck, &runtime));
    let rows = [
        (&hanging, "/debug/controllers/x", 60),
        (&hanging, "/debug/pprof/profile?seconds=30", 90),
        (&stuck, "/healthz", 60),
    ];
    for (router, uri, seconds) in rows {
        let before = runtime.clock.instant();
        let answer = get(router, uri).await;
        let text = format!("the request took longer than {seconds}s\n");
        assert_eq!((answer.status, answer.body), (504, text), "{uri}");
        assert_eq!(runtime.clock.instant() - before, Duration::from_secs(seconds), "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_logged_at_debug_only() {
    for (level, logged) in [(Level::INFO, false), (Level::DEBUG, true)] {
        let (lines, _guard) = Lines::record(level);
        get(&router_of(pages()), "/healthz?verbose").await;
        let line = "DEBUG server::chain: served a request method=GET path=\"/healthz\" status=200 \
                    elapsed=0ns";
        assert_eq!(lines.take().contains(&line.to_owned()), logged, "{level}");
    }
}

/// A page's own header for caching stays, as in `WithCacheControl`.
#[tokio::test]
async fn a_page_may_say_itself_how_long_it_is_good() {
    let mut pages = pages();
    pages.extra =
        Router::new().route("/debug/old", any(async || ([("cache-control", "max-age=60")], "old")));
    let answer = get(&router_of(pages), "/debug/old").await;
    assert_eq!(answer.header("cache-control"), Some("max-age=60"));
}

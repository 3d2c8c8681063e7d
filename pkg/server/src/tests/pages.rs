//! The pages, beyond what was recorded from upstream's handlers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::Time;
use axum::body::Body;
use axum::routing::any;
use http::Request;
use serde_json::value::{RawValue, to_raw_value};

use crate::debug::BODY_BYTES_MAX;

use super::{
    Debugging, Door, Entered, LET_IN, ProcessStatus, Router, Runtime, ask, call, get, owned, pages,
    router, router_of, runtime_with,
};

/// From a live 1.36.3.
const STATUSZ: &str = "
kube-controller-manager statusz
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility \
guarantees and is for debugging purposes only.

Started= Sat Nov 21 12:32:43 UTC 2026
Up= 0 hr 02 min 27 sec
Go version= go1.26.8
Binary version= 1.36.3
Emulation version= 1.36
Paths= /configz /flagz /healthz /metrics
";

/// The start of the page of a live 1.36.3.
const FLAGZ: &str = "
kube-controller-manager flagz
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility \
guarantees and is for debugging purposes only.
allocate-node-cidrs:true
allow-metric-labels:[]
allow-metric-labels-manifest:
attach-detach-reconcile-sync-period:1m0s
authorization-always-allow-paths:[/healthz,/readyz,/livez]
";

async fn put(router: &Router, uri: &str, body: impl Into<Body>) -> (u16, String) {
    let request = Request::builder().method("PUT").uri(uri).header(LET_IN.0, LET_IN.1);
    let answer = ask(router, request, body).await;
    (answer.status, answer.body)
}

/// The order of fields is the object's, and names are sorted, as Go sorts a map.
#[tokio::test]
async fn configz_shows_every_object_as_it_is() {
    let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
    let mut pages = pages();
    let ours = raw(
        r#"{"kind":"KubeControllerManagerConfiguration","apiVersion":"v1","Generic":{"Port":0}}"#,
    );
    pages.configs = BTreeMap::from([
        ("kubecontrollermanager.config.k8s.io".to_owned(), ours),
        ("a.k8s.io".to_owned(), to_raw_value("<&>").unwrap()),
    ]);
    let answer = get(&router_of(pages), "/configz").await;
    assert_eq!(
        answer.body,
        "{\"a.k8s.io\":\"\\u003c\\u0026\\u003e\",\"kubecontrollermanager.config.k8s.io\":\
         {\"kind\":\"KubeControllerManagerConfiguration\",\"apiVersion\":\"v1\",\"Generic\":\
         {\"Port\":0}}}"
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

/// Upstream's manager installs `legacyregistry.Handler` and `SLIMetricsWithReset`.
#[tokio::test]
async fn only_the_service_level_indicators_can_be_reset() {
    let resets = Arc::new(AtomicUsize::new(0));
    let mut pages = pages();
    let counter = Arc::clone(&resets);
    pages.reset_slis = Box::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let router = router_of(pages);
    let rows = [
        ("GET", "/metrics", "metrics \"\"", 0),
        ("POST", "/metrics", "metrics \"\"", 0),
        ("DELETE", "/metrics", "metrics \"\"", 0),
        ("GET", "/metrics/slis", "slis \"\"", 0),
        ("POST", "/metrics/slis", "slis \"\"", 0),
        ("DELETE", "/metrics/slis", "metrics reset\n", 1),
        ("HEAD", "/metrics", "", 1),
    ];
    for (method, uri, body, count) in rows {
        let answer = call(&router, method, uri).await;
        assert_eq!((answer.status, &*answer.body), (200, body), "{method} {uri}");
        assert_eq!(resets.load(Ordering::SeqCst), count, "{method} {uri}");
    }
}

#[tokio::test]
async fn metrics_come_in_the_format_that_was_asked_for() {
    let router = router_of(pages());
    for uri in ["/metrics", "/metrics/slis"] {
        let request = Request::builder().uri(uri).header(LET_IN.0, LET_IN.1);
        let answer = ask(&router, request.header("accept", "application/openmetrics-text"), "");
        let answer = answer.await;
        assert!(answer.body.contains("\"application/openmetrics-text\""), "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4"));
    }
}

#[tokio::test]
async fn what_is_switched_off_does_not_exist() {
    let mut pages = pages();
    (pages.flags, pages.debugging) = (None, None);
    let router = router_of(pages);
    let paths = ["/flagz", "/debug/pprof", "/debug/pprof/", "/debug/flags", "/debug/flags/v"];
    for path in paths {
        assert_eq!(get(&router, path).await.status, 404, "{path}");
    }
    let statusz = get(&router, "/statusz").await.body;
    assert!(statusz.ends_with(" /configz /healthz /metrics\n"), "{statusz}");

    let mut pages = super::pages();
    pages.status = None;
    assert_eq!(get(&router_of(pages), "/statusz").await.status, 404);
}

#[tokio::test]
async fn profiles_and_extra_pages_keep_their_paths() {
    let mut pages = pages();
    pages.debugging = Some(Debugging {
        profiles: Router::new()
            .route("/debug/pprof/", any("index"))
            .route("/debug/pprof/{*name}", any("a profile")),
        set_verbosity: Box::new(|_| Ok(())),
    });
    pages.extra = Router::new()
        .route("/debug/controllers/x/graph", any("a graph"))
        .route("/healthz", any("not mine to say"));
    let router = router_of(pages);
    let rows = [
        ("/debug/pprof/", 200, "index"),
        ("/debug/pprof/heap", 200, "a profile"),
        ("/debug/controllers/x/graph", 200, "a graph"),
        ("/debug/controllers/x", 404, "404 page not found\n"),
        ("/healthz", 200, "ok"),
    ];
    for (path, status, body) in rows {
        let answer = get(&router, path).await;
        assert_eq!((answer.status, &*answer.body), (status, body), "{path}");
    }
}

/// The content of a page may depend on the user.
#[tokio::test]
async fn pages_know_the_user() {
    let mut pages = pages();
    let who = any(async |user: axum::Extension<Entered>| format!("{:?}", user.0));
    pages.extra = Router::new().route("/debug/controllers", who);
    assert_eq!(get(&router_of(pages), "/debug/controllers").await.body, "Entered");
}

#[tokio::test]
async fn the_verbosity_is_set_only_by_a_number() {
    let set = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&set);
    let mut pages = pages();
    pages.debugging = Some(Debugging {
        profiles: Router::new(),
        set_verbosity: Box::new(move |level| {
            log.lock().unwrap().push(level);
            if level == 9 { Err("no such level".to_owned()) } else { Ok(()) }
        }),
    });
    let router = router_of(pages);
    let failed = "failed set klog.logging.verbosity";
    let rows: [(&[u8], u16, String); 6] = [
        (b"4", 200, "successfully set klog.logging.verbosity to 4".to_owned()),
        (b"2147483647", 200, "successfully set klog.logging.verbosity to 2147483647".to_owned()),
        (
            b"2147483648",
            400,
            format!(
                "{failed} 2147483648: strconv.ParseInt: parsing \"2147483648\": value out of range"
            ),
        ),
        (b"9", 400, format!("{failed} 9: no such level")),
        (
            b"\x00\xff\"",
            400,
            r#"strconv.ParseUint: parsing "\x00\xff\"": invalid syntax"#.to_owned(),
        ),
        (b" 4", 400, r#"strconv.ParseUint: parsing " 4": invalid syntax"#.to_owned()),
    ];
    for (body, status, text) in rows {
        assert_eq!(put(&router, "/debug/flags/v", body).await, (status, text + "\n"));
    }
    assert_eq!(*set.lock().unwrap(), [4, i32::MAX.unsigned_abs(), 9]);
}

#[tokio::test]
async fn no_more_of_a_body_is_read_than_needed() {
    let router = router_of(pages());
    let long = put(&router, "/debug/flags/v", "0".repeat(BODY_BYTES_MAX)).await;
    assert_eq!(long.0, 200);
    let too_long = put(&router, "/debug/flags/v", "0".repeat(BODY_BYTES_MAX + 1)).await;
    assert_eq!(too_long, (400, "error reading request body: length limit exceeded\n".to_owned()));
}

/// live/statusz.txt: the delimiter is drawn for each request.
#[tokio::test(start_paused = true)]
async fn statusz_reads_as_a_live_one() {
    let mut pages = pages();
    let started = Time::parse("2026-11-21T12:32:43Z").unwrap();
    pages.status.as_mut().unwrap().started = started;
    let runtime = Runtime::simulated(started + Duration::from_millis(147_900), 7);
    let router = router(pages, Door, &runtime);
    let mut texts = BTreeSet::new();
    for _ in 0..64 {
        texts.insert(get(&router, "/statusz").await.body);
    }
    let wanted = [":", ": ", "=", " "].map(|delimiter| STATUSZ.replace('=', delimiter));
    assert_eq!(texts, BTreeSet::from(wanted));
}

/// live/flagz.txt: the delimiter is drawn once.
#[tokio::test]
async fn flagz_reads_as_a_live_one() {
    let mut texts = BTreeSet::new();
    for seed in 0..32 {
        let mut pages = pages();
        pages.flags = Some(BTreeMap::from(
            [
                ("authorization-always-allow-paths", "[/healthz,/readyz,/livez]"),
                ("allocate-node-cidrs", "true"),
                ("allow-metric-labels", "[]"),
                ("allow-metric-labels-manifest", ""),
                ("attach-detach-reconcile-sync-period", "1m0s"),
            ]
            .map(owned),
        ));
        let router = router(pages, Door, &runtime_with(seed));
        let text = get(&router, "/flagz").await.body;
        for _ in 0..8 {
            assert_eq!(get(&router, "/flagz").await.body, text);
        }
        texts.insert(text);
    }
    let (head, flags) = FLAGZ.split_at(FLAGZ.find("allocate").unwrap());
    let wanted =
        [":", ": ", "=", " "].map(|delimiter| head.to_owned() + &flags.replace(':', delimiter));
    assert_eq!(texts, BTreeSet::from(wanted));
}

/// TestHandleStatusz "missing emulation version", and hours.
#[tokio::test(start_paused = true)]
async fn statusz_of_an_old_process_without_emulation() {
    let mut pages = pages();
    let started = Time::parse("2026-01-02T03:04:05.999Z").unwrap();
    let status = ProcessStatus { started, emulation_version: None, ..pages.status.unwrap() };
    pages.status = Some(status);
    let up = Duration::from_secs(100 * 3600 + 62);
    let router = router(pages, Door, &Runtime::simulated(started.whole_seconds() + up, 1));
    let text = get(&router, "/statusz").await.body;
    let (_, text) = text.split_once("\nStarted").unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].ends_with(" Fri Jan  2 03:04:05 UTC 2026"), "{text}");
    assert!(lines[1].ends_with(" 100 hr 01 min 02 sec"), "{text}");
    assert_eq!(lines[4], "");
    let request = Request::builder().uri("/statusz").header(LET_IN.0, LET_IN.1);
    let json = "application/json;g=config.k8s.io;v=v1beta1;as=Statusz";
    let object = ask(&router, request.header("accept", json), "").await.body;
    let object: serde_json::Value = serde_json::from_str(&object).unwrap();
    assert_eq!(object.get("emulationVersion"), None);
    assert_eq!(object["uptimeSeconds"], 360_062);
    assert_eq!(object["startTime"], "2026-01-02T03:04:05Z");
}

/// A header of this size would cost much to sort.
#[tokio::test]
async fn only_so_many_alternatives_are_looked_at() {
    let router = router_of(pages());
    for (others, status) in [(31, 200), (32, 406)] {
        let accept = "text/html,".repeat(others) + "text/plain;q=0.9";
        let request = Request::builder().uri("/flagz").header(LET_IN.0, LET_IN.1);
        let answer = ask(&router, request.header("accept", accept), "").await;
        assert_eq!(answer.status, status, "{others}");
    }
}

//! The client against a server that is a function, under paused time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::Time;
use bytes::Bytes;
use futures::FutureExt as _;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use kube::client::Body;
use metrics::Registry;
use runtime::Runtime;
use tower::service_fn;

use crate::{ApiError, Client, ConnectOptions, Document, Metrics, Settings, connect};

/// Answers every request with the result of `answer` for its number, and keeps the requests.
struct Server {
    client: Client,
    seen: Arc<Mutex<Vec<(String, String, Duration)>>>,
    registry: Registry,
    metrics: Metrics,
    runtime: Runtime,
}

fn server(qps: f64, burst: u32, answer: fn(usize) -> (u16, &'static str)) -> Server {
    let runtime = Runtime::simulated(Time::EPOCH, 1);
    let started = runtime.clock.instant();
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let (log, clock) = (Arc::clone(&seen), runtime.clock.clone());
    let service = service_fn(move |request: Request<Body>| {
        let mut log = log.lock().unwrap();
        let agent = request.headers()["user-agent"].to_str().unwrap().to_owned();
        log.push((request.method().to_string(), agent, clock.instant() - started));
        let (code, body) = answer(log.len());
        let mut response =
            Response::builder().status(code).header("content-type", "application/json");
        if [429, 503].contains(&code) {
            response = response.header("retry-after", "3");
        }
        let response = response.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap();
        async move { Ok::<_, std::convert::Infallible>(response) }
    });
    let registry = Registry::default();
    let settings = Settings { qps, burst, user_agent: "kcm/replicaset".into(), host: "h:1".into() };
    let metrics = Metrics::new(&registry).unwrap();
    let client = Client::new(kube::Client::new(service, "default"), settings, &metrics, &runtime);
    Server { client, seen, registry, metrics, runtime }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    tokio.enable_all().start_paused(true).build().unwrap().block_on(test)
}

fn metric(registry: &Registry, name: &str) -> Vec<(Vec<String>, String)> {
    let families = registry.gather();
    let family = families.iter().find(|family| family.name() == name).unwrap();
    let series = family.get_metric().iter();
    let series = series.map(|m| {
        let labels = m.get_label().iter().map(|l| l.value().to_owned()).collect();
        (labels, m.get_counter().get_value().to_string())
    });
    series.collect()
}

/// metrics.md, REST client.
#[test]
fn families_are_as_upstream() {
    let registry = Registry::default();
    Metrics::new(&registry).unwrap();
    assert_eq!(metrics::fixture::unlike_upstream(&registry), Vec::<String>::new());
    assert!(Metrics::new(&registry).is_err(), "they are registered once");
    let body = registry.page("").body;
    for line in
        ["rest_client_exec_plugin_ttl_seconds +Inf", "rest_client_transport_cache_entries 0"]
    {
        assert!(body.lines().any(|other| other == line), "{line} is missing in\n{body}");
    }
}

/// live/metrics.txt: a client over an existing transport is a hit.
#[test]
fn transports_are_counted() {
    run(async {
        let server = server(0.0, 0, |_| (200, "{}"));
        server.metrics.count_transport();
        server.metrics.count_transport();
        let page = server.registry.page("").body;
        for line in [
            "rest_client_transport_cache_entries 2",
            "rest_client_transport_create_calls_total{result=\"hit\"} 1",
            "rest_client_transport_create_calls_total{result=\"miss\"} 2",
        ] {
            assert!(page.lines().any(|other| other == line), "{line} is missing in\n{page}");
        }
    });
}

async fn silent() -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    std::future::pending().await
}

/// machinery.md, REST client: QPS 20 / burst 30 token bucket per named client.
#[test]
fn requests_beyond_the_burst_wait_for_their_turn() {
    run(async {
        let server = server(20.0, 3, |_| (200, "{}"));
        for _ in 0..5 {
            server.client.get("/x").await.unwrap();
        }
        let times: Vec<_> = server.seen.lock().unwrap().iter().map(|(_, _, at)| *at).collect();
        let ms = Duration::from_millis;
        assert_eq!(times, [ms(0), ms(0), ms(0), ms(50), ms(100)]);
    });
}

/// machinery.md, REST client: 429/5xx with Retry-After waits that long and retries, max 10.
#[test]
fn retry_after_is_obeyed_and_counted() {
    run(async {
        let server = server(0.0, 0, |n| if n < 3 { (429, "{}") } else { (200, "{\"a\":1}") });
        assert_eq!(server.client.get("/x").await.unwrap(), Bytes::from_static(b"{\"a\":1}"));
        let times: Vec<_> =
            server.seen.lock().unwrap().iter().map(|(_, _, at)| at.as_secs()).collect();
        assert_eq!(times, [0, 3, 6]);
        let retries = metric(&server.registry, "rest_client_request_retries_total");
        assert_eq!(retries, [(vec!["429".into(), "h:1".into(), "GET".into()], "2".into())]);
        let requests = metric(&server.registry, "rest_client_requests_total");
        let counts: Vec<_> = requests.iter().map(|(_, n)| &**n).collect();
        assert_eq!(counts, ["1", "2"], "one answer of 200, two of 429");
    });
}

/// machinery.md, REST client: at most 10 retries.
#[test]
fn a_server_that_never_accepts_is_given_up() {
    run(async {
        let server = server(0.0, 0, |_| (429, "{\"kind\":\"Status\",\"message\":\"too many\"}"));
        let error = server.client.create("/x", Bytes::new()).await.unwrap_err();
        assert_eq!(error.to_string(), "too many");
        assert!(error.is_too_many_requests());
        assert_eq!(server.seen.lock().unwrap().len(), 11);
    });
}

/// machinery.md, REST client: without the header 5xx is returned as an error.
#[test]
fn an_error_without_retry_after_is_returned_at_once() {
    run(async {
        let server = server(0.0, 0, |_| (500, "boom"));
        let error = server.client.get("/x").await.unwrap_err();
        assert_eq!(error.to_string(), "the server answered with HTTP 500: boom");
        assert_eq!(server.seen.lock().unwrap().len(), 1);
    });
}

/// Issue: every write is checked right before it is sent, after the wait for the rate limit.
#[test]
fn a_write_that_the_guard_refuses_is_not_sent() {
    run(async {
        let server = server(1.0, 1, |_| (200, "{}"));
        let open = Arc::new(AtomicBool::new(true));
        let seen = Arc::clone(&open);
        let client = server.client.guarded(Arc::new(move || {
            if seen.load(Ordering::SeqCst) { Ok(()) } else { Err("the lease ended".to_owned()) }
        }));
        client.create("/x", Bytes::new()).await.unwrap();
        let close = async {
            tokio::task::yield_now().await;
            open.store(false, Ordering::SeqCst);
        };
        let (refused, ()) = tokio::join!(client.update("/x", Bytes::new()), close);
        let error = refused.unwrap_err();
        assert_eq!(error, ApiError::Fenced("the lease ended".to_owned()));
        assert!(!error.is_ambiguous() && !error.is_conflict());
        client.patch("/x", Bytes::new()).await.unwrap_err();
        client.delete("/x", Bytes::new()).await.unwrap_err();
        client.get("/x").await.unwrap();
        server.client.create("/y", Bytes::new()).await.unwrap();
        let sent: Vec<_> = server.seen.lock().unwrap().iter().map(|(m, ..)| m.clone()).collect();
        assert_eq!(sent, ["POST", "GET", "POST"]);
        let requests = metric(&server.registry, "rest_client_requests_total");
        assert!(
            requests.contains(&(vec!["<fenced>".into(), "h:1".into(), "PUT".into()], "1".into()))
        );
    });
}

/// Issue, shutdown: the next leader should not wait until our rate limit admits the last writes.
/// Reads, and writes without a guard such as the release of the lease, wait as usual.
#[test]
fn a_guarded_write_does_not_wait_beyond_the_stop() {
    run(async {
        let server = server(0.1, 1, |_| (200, "{}"));
        let guarded = server.client.guarded(Arc::new(|| Ok(())));
        guarded.create("/x", Bytes::new()).await.unwrap();
        let Runtime { clock, cancel, .. } = &server.runtime;
        let stopped = async {
            clock.sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        };
        let (refused, ()) = tokio::join!(guarded.create("/x", Bytes::new()), stopped);
        assert_eq!(refused, Err(ApiError::Fenced("asked to stop".to_owned())));
        assert_eq!(server.seen.lock().unwrap().len(), 1);
        guarded.get("/x").await.unwrap();
        server.client.create("/x", Bytes::new()).await.unwrap();
        let seen = server.seen.lock().unwrap();
        let at: Vec<_> = seen.iter().map(|(_, _, at)| at.as_secs()).collect();
        assert_eq!(at, [0, 20, 30]);
    });
}

/// Issue: every write is checked right before it is sent, also when it is retried.
#[test]
fn a_retry_asks_the_guard_again() {
    run(async {
        let server = server(0.0, 0, |_| (429, "{}"));
        let asked = AtomicUsize::new(0);
        let client = server.client.guarded(Arc::new(move || {
            if asked.fetch_add(1, Ordering::SeqCst) < 2 { Ok(()) } else { Err("no".to_owned()) }
        }));
        let error = client.create("/x", Bytes::new()).await.unwrap_err();
        assert_eq!(error, ApiError::Fenced("no".to_owned()));
        assert_eq!(server.seen.lock().unwrap().len(), 2);
    });
}

/// manager.md: the user agent ends with the client's name.
#[test]
fn requests_carry_the_user_agent() {
    run(async {
        let server = server(0.0, 0, |_| (200, "{}"));
        server.client.delete("/x", Bytes::new()).await.unwrap();
        let seen = server.seen.lock().unwrap();
        assert_eq!((&*seen[0].0, &*seen[0].1), ("DELETE", "kcm/replicaset"));
    });
}

/// k8s.io/apimachinery pkg/types/patch.go and client-go's `Apply`: the type of a patch is in its
/// content type; the field manager and `force` are in the query.
#[test]
fn patches_say_what_they_are() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&seen);
        let service = service_fn(move |request: Request<Body>| {
            let kind = request.headers()["content-type"].to_str().unwrap().to_owned();
            log.lock().unwrap().push(format!("{} {} {kind}", request.method(), request.uri()));
            let response = Response::new(Full::new(Bytes::from_static(b"{}")));
            async move { Ok::<_, std::convert::Infallible>(response) }
        });
        let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host: "h".into() };
        let metrics = Metrics::new(&Registry::default()).unwrap();
        let client = Client::new(kube::Client::new(service, "d"), settings, &metrics, &runtime);
        client.patch("/x", Bytes::new()).await.unwrap();
        client.merge("/x", Bytes::new()).await.unwrap();
        client.apply("/x/status", ("some-controller", true), Bytes::new()).await.unwrap();
        let expected = [
            "PATCH /x application/strategic-merge-patch+json",
            "PATCH /x application/merge-patch+json",
            "PATCH /x/status?fieldManager=some-controller&force=true application/apply-patch+yaml",
        ];
        assert_eq!(*seen.lock().unwrap(), expected);
    });
}

/// Decision 0011: data of Secrets is not sent where it is not needed. `Accept` selects the form of
/// the response to a write (k8s.io/apiserver pkg/endpoints/handlers/response.go). The list of
/// deleted objects is never held, even if it is larger than any allowed body.
#[test]
fn writes_may_ask_for_metadata_and_deletions_keep_nothing() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&seen);
        let service = service_fn(move |request: Request<Body>| {
            let (method, accept) = (request.method().clone(), &request.headers()["accept"]);
            log.lock().unwrap().push(format!("{method} {}", accept.to_str().unwrap()));
            async move {
                let piece = Bytes::from(vec![b'x'; 1 << 20]);
                let pieces = if method == http::Method::DELETE { 40 } else { 0 };
                let frame = move |_| Ok::<_, std::convert::Infallible>(Frame::data(piece.clone()));
                let body = StreamBody::new(futures::stream::iter((0..pieces).map(frame)));
                Ok::<_, std::convert::Infallible>(Response::new(body))
            }
        });
        let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host: "h".into() };
        let metrics = Metrics::new(&Registry::default()).unwrap();
        let client = Client::new(kube::Client::new(service, "d"), settings, &metrics, &runtime);
        let (whole, terse) = (client.clone(), client.terse());
        whole.patch("/x", Bytes::new()).await.unwrap();
        terse.patch("/x", Bytes::new()).await.unwrap();
        terse.create("/x", Bytes::new()).await.unwrap();
        terse.get("/x").await.unwrap();
        whole.delete("/x", Bytes::new()).await.unwrap();
        whole.delete_collection("/x", Bytes::new()).await.unwrap();
        let form = |kind| format!("application/json;as={kind};g=meta.k8s.io;v=v1,application/json");
        let metadata = form("PartialObjectMetadata");
        let expected = [
            "PATCH application/json".to_owned(),
            format!("PATCH {metadata}"),
            format!("POST {metadata}"),
            "GET application/json".to_owned(),
            format!("DELETE {metadata}"),
            format!("DELETE {}", form("PartialObjectMetadataList")),
        ];
        assert_eq!(*seen.lock().unwrap(), expected);
    });
}

/// k8s.io/apiserver pkg/endpoints/discovery/aggregated/etag.go: a request that names the current
/// version gets 304 and no body. A request without a version never does.
#[test]
fn a_document_that_is_known_is_not_sent_again() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let service = service_fn(|request: Request<Body>| {
            let headers = request.headers();
            let known = headers.get("if-none-match").is_some_and(|etag| etag == "\"A1\"");
            let known = known || request.uri() == "/odd";
            let kind = headers["accept"].clone();
            let response = Response::builder().status(if known { 304 } else { 200 });
            let response = response.header("content-type", kind).header("etag", "\"A1\"");
            let body = Bytes::from_static(if known { b"" } else { b"{}" });
            let response = response.body(Full::new(body)).unwrap();
            async move { Ok::<_, std::convert::Infallible>(response) }
        });
        let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host: "h".into() };
        let registry = Registry::default();
        let metrics = Metrics::new(&registry).unwrap();
        let client = Client::new(kube::Client::new(service, "d"), settings, &metrics, &runtime);
        let expected = Document {
            content_type: "application/json;v=v2".to_owned(),
            etag: Some("\"A1\"".to_owned()),
            body: Bytes::from_static(b"{}"),
        };
        for (path, etag, found) in [
            ("/apis", None, Ok(Some(&expected))),
            ("/apis", Some("\"A1\""), Ok(None)),
            ("/apis", Some("\"A0\""), Ok(Some(&expected))),
            ("/odd", None, Err("the server answered with HTTP 304".to_owned())),
        ] {
            let got = client.get_as(path, "application/json;v=v2", etag).await;
            let got = got.as_ref().map(Option::as_ref).map_err(ToString::to_string);
            assert_eq!(got, found, "{path} {etag:?}");
        }
        let requests = metric(&registry, "rest_client_requests_total");
        let codes: Vec<_> = requests.iter().map(|(labels, n)| (&*labels[0], &**n)).collect();
        assert_eq!(codes, [("200", "2"), ("304", "2")]);
    });
}

/// A server that accepts a request and never responds is given up after the limit.
#[test]
fn silence_ends_with_a_timeout() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let silent = service_fn(|_: Request<Body>| silent());
        let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host: "h".into() };
        let metrics = Metrics::new(&Registry::default()).unwrap();
        let client = Client::new(kube::Client::new(silent, "d"), settings, &metrics, &runtime);
        let error = client.get("/api/v1/pods").await.unwrap_err();
        assert_eq!(error.to_string(), "GET /api/v1/pods: no answer within 65s");
    });
}

/// Issue: bad input gets a message that names the flag and the file.
#[test]
fn a_kubeconfig_that_cannot_be_read_is_named() {
    let kubeconfig = Some("/nonexistent/kubeconfig".into());
    let usual = ConnectOptions { kubeconfig, ..ConnectOptions::default() };
    let other = ConnectOptions { kubeconfig_flag: "--authentication-kubeconfig", ..usual.clone() };
    for (options, flag) in [(usual, "--kubeconfig"), (other, "--authentication-kubeconfig")] {
        let Err(error) = run(connect(&options)) else { panic!("it connected") };
        let text = error.to_string();
        assert!(text.starts_with(&format!("{flag} /nonexistent/kubeconfig: ")), "{text}");
        assert!(text.contains("No such file"), "{text}");
    }
}

/// client-go's rest.Config: `CAData` is the inline CA in the kubeconfig, of the cluster of its
/// current context, byte by byte.
#[test]
fn the_authority_of_a_kubeconfig_is_that_of_its_cluster() {
    let path = std::env::temp_dir().join(format!("authority-kubeconfig-{}", std::process::id()));
    let authority = |cluster: &str, current: &str| {
        let text = format!(
            "clusters:\n\
             - {{name: a, cluster: {{server: x, certificate-authority-data: b3RoZXI=}}}}\n\
             - {{name: b, cluster: {{server: y{cluster}}}}}\n\
             contexts:\n- {{name: one, context: {{cluster: a}}}}\n\
             - {{name: two, context: {{cluster: b}}}}\n\
             current-context: {current}\n"
        );
        std::fs::write(&path, text).unwrap();
        let data = crate::authority_data(&path);
        std::fs::remove_file(&path).unwrap();
        let data = data.map(|data| String::from_utf8(data).unwrap());
        data.map_err(|error| error.to_string().replace(&path.display().to_string(), "F"))
    };
    let data = ", certificate-authority-data: UEVNCg==";
    for (cluster, current, expected) in [
        (data, "two", "PEM\n"),
        (data, "one", "other"),
        ("", "two", ""),
        (", certificate-authority: /no/such/file", "two", ""),
        (data, "three", ""),
        (data, "''", ""),
    ] {
        assert_eq!(authority(cluster, current), Ok(expected.to_owned()), "{cluster} {current}");
    }
    let error = authority(", certificate-authority-data: '*'", "two").unwrap_err();
    let field = "clusters[1].cluster.certificate-authority-data";
    assert_eq!(error, format!("--kubeconfig F: {field}: must be base64"));
}

/// Issue: bad input gets a message that names the flag.
#[test]
fn a_master_that_is_no_url_is_named() {
    let options = ConnectOptions { master: Some("ftp://x".into()), ..ConnectOptions::default() };
    let Err(error) = run(connect(&options)) else { panic!("it connected") };
    assert_eq!(error.to_string(), "--master \"ftp://x\": the scheme must be http or https");
}

/// With protobuf asked for, the API server also sends its errors in protobuf (seen live: 422).
#[test]
fn errors_in_protobuf_keep_their_causes() {
    let cause = [&[0x0a, 23][..], b"ResourceVersionTooLarge"].concat();
    let details = [&[0x22, 25][..], &cause].concat();
    let status = [&[0x1a, 3][..], b"no!", &[0x2a, 27], &details, &[0x30, 0xf8, 0x03]].concat();
    let length = u8::try_from(status.len()).unwrap();
    let body = [&b"k8s\0"[..], &[0x12, length], &status].concat();
    let error = ApiError::from_answer(504, None, &body);
    assert_eq!(error.to_string(), "no!");
    assert!(error.is_too_large_resource_version());
}

/// How a refused connection, a terminating namespace and a lost version are recognised.
#[test]
fn errors_are_recognised() {
    let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    assert!(ApiError::from_transport(&refused).is_refused());
    let body = br#"{"message":"no","reason":"Forbidden","code":403,
        "details":{"causes":[{"reason":"NamespaceTerminating"}]}}"#;
    assert!(ApiError::from_answer(403, None, body).is_namespace_terminating());
    assert!(ApiError::from_answer(410, None, b"").is_gone());
    let expired = br#"{"message":"too old","reason":"Expired"}"#;
    assert!(ApiError::from_answer(400, None, expired).is_gone());
    let large = br#"{"message":"Too large resource version: 9, current: 5","code":504}"#;
    assert!(ApiError::from_answer(504, None, large).is_too_large_resource_version());
}

/// BeforeDelete in pkg/registry/rest/delete.go of k8s.io/apiserver, and Preconditions.Check in
/// pkg/storage/interfaces.go.
#[test]
fn failed_preconditions_are_recognised() {
    let rows = [
        (
            "Operation cannot be fulfilled on Pod \"a\": the UID in the precondition (x) does not \
             match the UID in record (y). The object might have been deleted and then recreated",
            true,
        ),
        (
            "Operation cannot be fulfilled on Pod \"a\": the ResourceVersion in the precondition \
             (1) does not match the ResourceVersion in record (7). The object might have been \
             modified",
            true,
        ),
        (
            "Operation cannot be fulfilled on pods \"a\": StorageError: invalid object, Code: 4, \
             Key: /registry/pods/b/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
             UID in precondition: x, UID in object meta: y",
            true,
        ),
        (
            "Operation cannot be fulfilled on pods \"a\": the object has been modified; please \
             apply your changes to the latest version and try again",
            false,
        ),
    ];
    for (message, expected) in rows {
        let body = serde_json::json!({"message": message, "reason": "Conflict"}).to_string();
        let error = ApiError::from_answer(409, None, body.as_bytes());
        assert_eq!(error.is_failed_precondition(), expected, "{message}");
    }
}

/// Requests that may have been done although they failed: not refused ones, nor those that were not
/// sent.
#[test]
fn failures_that_are_ambiguous() {
    let of = |kind: std::io::ErrorKind| ApiError::from_transport(&std::io::Error::from(kind));
    for code in [500, 502, 503, 504] {
        assert!(ApiError::from_answer(code, None, b"").is_ambiguous(), "{code}");
    }
    for code in [400, 403, 404, 409, 422, 429] {
        assert!(!ApiError::from_answer(code, None, b"").is_ambiguous(), "{code}");
    }
    assert!(of(std::io::ErrorKind::ConnectionReset).is_ambiguous());
    assert!(!of(std::io::ErrorKind::ConnectionRefused).is_ambiguous());
}

/// A POST with a 503 may have created an object, and a second one would create another. 429 means
/// that nothing was done, and a read has no effect.
#[test]
fn a_write_that_may_have_been_done_is_not_sent_again() {
    run(async {
        let server = server(0.0, 0, |_| (503, "{}"));
        let body = Bytes::new;
        let seen = || server.seen.lock().unwrap().len();
        server.client.create("/x", body()).await.unwrap_err();
        server.client.update("/x", body()).await.unwrap_err();
        server.client.patch("/x", body()).await.unwrap_err();
        server.client.delete("/x", body()).await.unwrap_err();
        assert_eq!(seen(), 4);
        server.client.get("/x").await.unwrap_err();
        assert_eq!(seen(), 4 + 11);
    });
}

/// The requests of an account's client: method, path, token.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that has no service account, issues tokens `t1`, `t2`, … for an hour, and accepts only
/// the one in `valid` (any, if empty).
fn account(runtime: &Runtime, valid: &'static str) -> (Client, Asked) {
    let asked: Asked = Arc::default();
    let (log, clock) = (Arc::clone(&asked), runtime.clock.clone());
    let service = service_fn(move |request: Request<Body>| {
        let mut log = log.lock().unwrap();
        let token = request.headers().get("authorization").map_or("", |v| v.to_str().unwrap());
        let token = token.trim_start_matches("Bearer ").to_owned();
        let path = request.uri().path().to_owned();
        log.push(format!("{} {path} {token}", request.method()).trim_end().to_owned());
        let tokens = log.iter().filter(|line| line.ends_with("/token")).count();
        let (code, body) = match (request.method().as_str(), &*path) {
            ("GET", "/pods") if valid.is_empty() || token == valid => (200, "{}".to_owned()),
            ("GET", "/pods") => (401, "{}".to_owned()),
            ("GET", _) => (404, "{}".to_owned()),
            (_, path) if path.ends_with("/token") => {
                let end = clock.now() + Duration::from_hours(1);
                let status = format!(r#"{{"token":"t{tokens}","expirationTimestamp":"{end}"}}"#);
                (201, format!(r#"{{"status":{status}}}"#))
            }
            _ => (201, "{}".to_owned()),
        };
        let response = Response::builder().status(code).body(Full::new(Bytes::from(body))).unwrap();
        async move { Ok::<_, std::convert::Infallible>(response) }
    });
    let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host: "h".into() };
    let metrics = Metrics::new(&Registry::default()).unwrap();
    let root = Client::new(kube::Client::new(service, "default"), settings, &metrics, runtime);
    let account = Arc::new(crate::Account::new(root.clone(), "rs", runtime));
    assert_eq!(account.user_name(), "system:serviceaccount:kube-system:rs");
    (root.acting_as(account), asked)
}

const ACCOUNTS: &str = "/api/v1/namespaces/kube-system/serviceaccounts";

/// manager.md, Client builders: the account and its namespace are created if missing, then a token
/// is requested; it is kept for 80 % of its life less 10 s, by all clients of the account.
#[test]
fn tokens_are_asked_for_and_kept() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let (client, asked) = account(&runtime, "");
        client.get("/pods").await.unwrap();
        runtime.clock.sleep(Duration::from_secs(2869)).await;
        client.clone().get("/pods").await.unwrap();
        runtime.clock.sleep(Duration::from_secs(1)).await;
        client.get("/pods").await.unwrap();
        let fetch = [
            format!("GET {ACCOUNTS}/rs"),
            "GET /api/v1/namespaces/kube-system".to_owned(),
            "POST /api/v1/namespaces".to_owned(),
            format!("POST {ACCOUNTS}"),
            format!("POST {ACCOUNTS}/rs/token"),
        ];
        let use_of = |token: &str| format!("GET /pods {token}");
        let expected =
            [&fetch[..], &[use_of("t1"), use_of("t1")], &fetch, &[use_of("t2")]].concat();
        assert_eq!(*asked.lock().unwrap(), expected);
    });
}

/// A caller that needs a token while one is requested waits for that one, also if the request
/// fails.
#[test]
fn several_at_once_ask_for_one_token() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let (client, asked) = account(&runtime, "");
        let all = futures::future::join_all((0..5).map(|_| client.get("/pods"))).await;
        assert!(all.iter().all(Result::is_ok), "{all:?}");
        let count = |end: &str| asked.lock().unwrap().iter().filter(|it| it.ends_with(end)).count();
        assert_eq!((count("/token"), count("GET /pods t1")), (1, 5));

        let server = server(0.0, 0, |_| (403, "{\"message\":\"no\"}"));
        let account = Arc::new(crate::Account::new(server.client.clone(), "rs", &runtime));
        let client = server.client.acting_as(account);
        let all = futures::future::join_all((0..5).map(|_| client.get("/pods"))).await;
        let refused = "no token for system:serviceaccount:kube-system:rs: no";
        assert!(
            all.iter().all(|it| *it == Err(ApiError::Credentials(refused.to_owned()))),
            "{all:?}"
        );
        assert_eq!(server.seen.lock().unwrap().len(), 4);
        // A failed request is over: the next caller requests again.
        client.get("/pods").await.unwrap_err();
        assert_eq!(server.seen.lock().unwrap().len(), 8);
    });
}

/// The caller may give up, as at a timeout, and does not block later ones.
#[test]
fn an_abandoned_token_request_is_repeated() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let (client, asked) = account(&runtime, "");
        assert!(client.get("/pods").now_or_never().is_none(), "it waits for the token");
        client.get("/pods").await.unwrap();
        assert!(asked.lock().unwrap().contains(&"GET /pods t1".to_owned()));
    });
}

/// manager.md, Client builders: a 401 drops the cached token.
#[test]
fn a_token_that_is_refused_is_replaced() {
    run(async {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let (client, _) = account(&runtime, "t2");
        let refused = client.get("/pods").await.unwrap_err();
        assert_eq!(refused.status().map(|status| status.code), Some(401));
        client.get("/pods").await.unwrap();
    });
}

/// manager.md, Client builders: each token request is tried 4 times (500 ms, doubled); the error is
/// about the token, not about the request that needed it.
#[test]
fn a_token_that_cannot_be_had_is_its_own_error() {
    run(async {
        let server = server(0.0, 0, |_| (403, "{\"message\":\"no\"}"));
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let account = Arc::new(crate::Account::new(server.client.clone(), "rs", &runtime));
        let error = server.client.acting_as(account).get("/pods").await.unwrap_err();
        let expected = "no token for system:serviceaccount:kube-system:rs: no";
        assert_eq!(error, ApiError::Credentials(expected.to_owned()));
        assert!(!error.is_ambiguous() && error.status().is_none());
        let times: Vec<_> = server.seen.lock().unwrap().iter().map(|(_, _, at)| *at).collect();
        let ms = Duration::from_millis;
        assert_eq!(times, [ms(0), ms(500), ms(1500), ms(3500)]);
    });
}

/// The engine's health check: each wait for the rate limit and each end of a try is a sign of life.
#[test]
fn pace_is_called_at_each_try() {
    run(async {
        let server = server(1.0, 1, |n| if n == 1 { (429, "{}") } else { (200, "{}") });
        let heard: Arc<Mutex<Vec<u64>>> = Arc::default();
        let log = Arc::clone(&heard);
        let client = server.client.paced(Arc::new(move |wait| {
            log.lock().unwrap().push(wait.as_millis().try_into().unwrap());
        }));
        client.get("/a").await.unwrap();
        // A try, its end; three seconds later another one; the next waits for the rate limit.
        assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), [0, 0, 0, 0]);
        client.get("/b").await.unwrap();
        assert_eq!(*heard.lock().unwrap(), [1000, 0]);
        server.client.get("/c").await.unwrap();
        assert_eq!(heard.lock().unwrap().len(), 2, "others go unheard");
    });
}

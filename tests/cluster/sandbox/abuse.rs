//! Requests that no client should send. Each response is the API server's, and the server lives on.

#![expect(clippy::disallowed_methods, reason = "real sockets keep real time")]

use super::LIMIT;
use anyhow::{Context, ensure};
use cluster_tests::{Sandbox, wait_until};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const PODS: &str = "/api/v1/namespaces/default/pods";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
/// Few enough for the descriptors that a process has by default.
const WATCHES: usize = 400;
const SLOW_CLIENTS: usize = 200;
/// What an abused server may hold on to.
const GROWTH_KIB_MAX: u64 = 150 << 10;

/// A method, a path, the type of the body, the body, the code, and what the response says.
type Ask = (&'static str, &'static str, &'static str, &'static str, u16, &'static str);

const ASKED: &[Ask] = &[
    ("POST", PODS, JSON, "{\"a\":", 400, "json parse error: unexpected end of JSON input"),
    ("POST", PODS, JSON, "[]", 400, "json: cannot unmarshal array into Go value of type v1.Pod"),
    (
        "POST",
        PODS,
        JSON,
        "{\"kind\":\"Foo\",\"apiVersion\":\"v1\"}",
        400,
        "no kind \\\"Foo\\\" is registered for version \\\"v1\\\" in scheme",
    ),
    ("POST", PODS, JSON, "{\"spec\":5}", 400, "field Pod.spec of type v1.PodSpec"),
    ("POST", PODS, "text/plain", "{}", 415, "the body of the request was in an unknown format"),
    (
        "POST",
        PODS,
        "application/vnd.kubernetes.protobuf",
        "k8s\0\x0a\x7f",
        400,
        "Pod in version \\\"v1\\\" cannot be handled as a Pod: unexpected EOF",
    ),
    ("POST", MAPS, "application/yaml", "metadata: {name: y}", 201, "ConfigMap"),
    ("POST", MAPS, "application/yaml", "metadata: {name: [", 400, "BadRequest"),
    ("PATCH", "/api/v1/namespaces/default/configmaps/y", JSON, "{}", 415, "UnsupportedMediaType"),
    ("PATCH", "/api/v1/namespaces/default/configmaps/y", JSON_PATCH, "{}", 400, "jsonPatchOp"),
    (
        "PATCH",
        "/api/v1/namespaces/default/configmaps/y",
        JSON_PATCH,
        "[{\"op\":\"remove\",\"path\":\"/none\"}]",
        422,
        "the server rejected our request due to an error in our request",
    ),
    ("PATCH", "/api/v1/namespaces/default/configmaps/y", MERGE_PATCH, "x", 400, "decoding patch"),
    (
        "PATCH",
        "/api/v1/namespaces/default/configmaps/y",
        STRATEGIC_PATCH,
        "{\"data\":5}",
        422,
        "json: cannot unmarshal number into Go struct field ConfigMap.data",
    ),
    ("PUT", PODS, JSON, "{}", 405, "the server does not allow this method"),
    ("GET", "/api/v1/none", "", "", 404, "the server could not find the requested resource"),
    ("GET", "/api/v1/pods?labelSelector=a%20in%20(b", "", "", 400, "unable to parse requirement"),
    ("GET", "/api/v1/pods?fieldSelector=a%3Db", "", "", 400, "field label not supported: a"),
    ("GET", "/api/v1/pods?limit=a", "", "", 400, "strconv.ParseInt: parsing \\\"a\\\": invalid"),
    ("GET", "/api/v1/pods?limit=1&continue=a", "", "", 400, "continue key is not valid"),
    ("GET", "/api/v1/pods?resourceVersion=a", "", "", 400, "strconv.ParseUint: parsing"),
    ("GET", "/api/v1/pods?resourceVersion=99999999", "", "", 504, "Too large resource version"),
    ("GET", "/api/v1/pods?watch=1&timeoutSeconds=a", "", "", 400, "strconv.ParseInt"),
    ("GET", "/api/v1/namespaces/%00/pods/%ff", "", "", 404, "NotFound"),
];

#[tokio::test]
async fn broken_requests_are_refused() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(1).await?;
    let before = sandbox.resident_kib()?;
    for (method, path, kind, body, code, expected) in ASKED {
        let (said, text) = ask(&sandbox, method, path, kind, body.as_bytes()).await?;
        ensure!(said == *code && text.contains(expected), "{method} {path} {body}: {said} {text}");
    }
    let deep = format!("{{\"spec\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let (code, text) = ask(&sandbox, "POST", PODS, JSON, deep.as_bytes()).await?;
    ensure!(code == 400 && text.contains("exceeded max depth"), "{code} {text}");
    for _ in 0..3 {
        let large = vec![b'a'; 100 << 20];
        let (code, text) = ask(&sandbox, "POST", MAPS, JSON, &large).await?;
        ensure!(code == 413 && text.contains("limit is 3145728"), "{code} {text}");
    }
    let after = sandbox.resident_kib()?;
    ensure!(after < before + GROWTH_KIB_MAX, "{before} KiB before, {after} KiB after");
    sandbox.must("get pods").await?;
    Ok(())
}

/// Many watches see the same change, and leave nothing behind; clients that never finish their
/// requests keep no other client from being served.
#[tokio::test]
async fn many_watches_and_slow_clients_are_borne() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(1).await?;
    let before = sandbox.resident_kib()?;
    let mut slow = Vec::new();
    for _ in 0..SLOW_CLIENTS {
        let mut stream = connect(&sandbox).await?;
        stream.write_all(b"GET /api/v1/pods HTTP/1.1\r\nHost: a\r\nX-Slow: ").await?;
        slow.push(stream);
    }
    let mut watches = Vec::new();
    for _ in 0..WATCHES {
        let mut stream = connect(&sandbox).await?;
        let head = format!("GET {MAPS}?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: a\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        watches.push(BufReader::new(stream));
    }
    sandbox.must("create configmap seen").await?;
    for watch in &mut watches {
        let seen = async {
            let mut line = String::new();
            while !line.contains("\"name\":\"seen\"") {
                line.clear();
                ensure!(watch.read_line(&mut line).await? > 0, "the watch ended");
            }
            Ok(())
        };
        tokio::time::timeout(LIMIT, seen).await.context("a watch saw nothing")??;
    }
    let during = sandbox.resident_kib()?;
    ensure!(during < before + GROWTH_KIB_MAX, "{before} KiB before, {during} KiB during");
    drop(watches);
    // A slow client's connection ends: its head may take half a minute.
    let ended = async || {
        let mut rest = Vec::new();
        let stream = slow.last_mut().context("a slow client")?;
        let read = tokio::time::timeout(Duration::from_millis(100), stream.read_to_end(&mut rest));
        Ok(read.await.ok())
    };
    let _ended = wait_until("the end of a slow client", LIMIT, ended).await?;
    sandbox.must("get configmaps").await?;
    Ok(())
}

async fn connect(sandbox: &Sandbox) -> anyhow::Result<TcpStream> {
    let address = sandbox.url().strip_prefix("http://").context("the URL's scheme")?;
    Ok(TcpStream::connect(address).await?)
}

/// The code and the body of a response. The server may answer before it has read all of the body.
async fn ask(
    sandbox: &Sandbox,
    method: &str,
    path: &str,
    kind: &str,
    body: &[u8],
) -> anyhow::Result<(u16, String)> {
    let (mut reading, mut writing) = connect(sandbox).await?.into_split();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {kind}\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    let mut answer = Vec::new();
    let write = async {
        writing.write_all(head.as_bytes()).await?;
        writing.write_all(body).await
    };
    let read = tokio::time::timeout(LIMIT, reading.read_to_end(&mut answer));
    let (_written, read) = tokio::join!(write, read);
    // A connection that is closed with unread data may be reset after the response.
    let _read = read.context("no response")?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    Ok((code.with_context(|| format!("{method} {path}: {answer:?}"))?, answer))
}

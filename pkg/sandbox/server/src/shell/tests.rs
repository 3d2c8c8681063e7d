//! A real client, with and without a socket.

use std::time::Duration;

use api::Time;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use runtime::Runtime;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use crate::read::tests::World;
use crate::server::{Options, Server};

/// get, list, pages and watch as `kube::Client` does them, by virtual time.
#[tokio::test(start_paused = true)]
async fn kube_without_a_socket() {
    let world = World::new();
    for index in 0..5 {
        world.put("default", &format!("pod-{index}"), &json!({"app": "x"}));
    }
    let client = kube::Client::new(world.server.service(), "default");
    let pods: Api<Pod> = Api::default_namespaced(client);
    let pod = pods.get("pod-3").await.unwrap();
    assert_eq!(pod.metadata.resource_version.as_deref(), Some("5"));
    let error = pods.get("none").await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!((status.code, &*status.message), (404, "pods \"none\" not found"));
    let list = pods.list(&ListParams::default().labels("app=x").limit(2)).await.unwrap();
    assert_eq!(list.items.len(), 2);
    let token = list.metadata.continue_.unwrap();
    let rest = pods.list(&ListParams::default().continue_token(&token)).await.unwrap();
    assert_eq!(rest.items.len(), 3);

    let clock = world.server.shared.runtime.clock.clone();
    let started = clock.instant();
    let writer = World { server: world.server.clone() };
    let write = runtime::spawn("writer", async move {
        writer.server.shared.runtime.clock.sleep(Duration::from_mins(10)).await;
        writer.remove("default", "pod-1");
    });
    let parameters = WatchParams::default().timeout(290);
    let mut told = Vec::new();
    for _ in 0..3 {
        let watch = pods.watch(&parameters, "6").await.unwrap();
        let events: Vec<_> = watch.try_collect().await.unwrap();
        told.extend(events.into_iter().map(|event| match event {
            WatchEvent::Deleted(pod) => format!("gone {}", pod.metadata.name.unwrap()),
            WatchEvent::Bookmark(bookmark) => format!("at {}", bookmark.metadata.resource_version),
            other => format!("{other:?}"),
        }));
    }
    write.await.unwrap();
    assert_eq!(clock.instant() - started, Duration::from_secs(870));
    assert!(told.contains(&"gone pod-1".to_owned()), "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("at 7"));
}

fn request<B>(body: B) -> http::Request<B> {
    http::Request::post("/api/v1/namespaces/a/pods").body(body).unwrap()
}

/// A body that does not end is not waited for, and one that is too large is not kept.
#[tokio::test(start_paused = true)]
async fn bodies_that_never_end() {
    let runtime = Runtime::simulated(Time::EPOCH, 1);
    let server = Server::new(&runtime, Options { body_bytes_max: 1000, ..Options::default() });
    let frames = |count: usize| {
        let frame =
            || Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from_static(&[b' '; 400])));
        futures::stream::iter((0..count).map(move |_| frame()))
    };
    let fast = Runtime::faster(api::Time::EPOCH, std::num::NonZeroU32::new(60).unwrap());
    for server in [&server, &Server::new(&fast, Options::default())] {
        let started = runtime::Clock::system().instant();
        let slow = http_body_util::StreamBody::new(frames(1).chain(futures::stream::pending()));
        let answer = server.service().oneshot(request(slow)).await.unwrap();
        assert_eq!(answer.status(), 408);
        let took = runtime::Clock::system().instant() - started;
        assert_eq!(took.as_secs(), 60, "whatever the clock of the sandbox says");
    }
    let large = http_body_util::StreamBody::new(frames(usize::MAX));
    let answer = server.service().oneshot(request(large)).await.unwrap();
    assert_eq!(answer.status(), 413);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"{\"kind\":\"Status\""));
    let whole = Full::new(Bytes::from_static(b"{}"));
    let answer = server.service().oneshot(request(whole)).await.unwrap();
    assert_ne!(answer.status(), 413);
}

async fn start(world: &World) -> (std::net::SocketAddr, runtime::Task) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, server) = (listener.local_addr().unwrap(), world.server.clone());
    (
        address,
        runtime::spawn("server", async move { server.serve(listener, axum::Router::new()).await }),
    )
}

/// Reads until the text is there.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let (mut all, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut chunk).await.unwrap();
        all.extend_from_slice(&chunk[..count]);
        let found = String::from_utf8_lossy(&all).into_owned();
        if found.contains(text) || count == 0 {
            return found;
        }
    }
}

/// HTTP/1.1 over a socket: a get, a watch that shows a write, and the end of both.
#[tokio::test]
async fn http_with_a_socket() {
    let runtime = Runtime::system();
    let world = World { server: Server::empty(&runtime, Options::default()) };
    world.put("a", "one", &json!({}));
    let (address, serving) = start(&world).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes();
    stream.write_all(&ask("/api/v1/namespaces/a/pods/one")).await.unwrap();
    let answer = read_until(&mut stream, "\"nodeName\":\"n\"").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    stream.write_all(&ask("/api/v1/pods?watch=1&resourceVersion=2")).await.unwrap();
    let head = read_until(&mut stream, "\r\n\r\n").await;
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    world.put("a", "two", &json!({}));
    let event = read_until(&mut stream, "\"two\"").await;
    assert!(event.contains("\"ADDED\""), "{event}");
    let mut broken = TcpStream::connect(address).await.unwrap();
    broken.write_all(b"\x16\x03\x01 no HTTP\r\n\r\n").await.unwrap();
    let answer = read_until(&mut broken, "\r\n\r\n").await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    runtime.cancel.cancel();
    let limit = runtime.clock.timeout(Duration::from_secs(4), serving).await;
    limit.expect("serving ends before its own limit").unwrap();
    assert_eq!(stream.read(&mut [0; 4096]).await.map_or(0, |count| count.min(5)), 5);
}

/// HTTP/2 with prior knowledge: the server's settings are its answer to the preface.
#[tokio::test]
async fn http2_with_prior_knowledge() {
    let runtime = Runtime::system();
    let world = World { server: Server::empty(&runtime, Options::default()) };
    let (address, serving) = start(&world).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame[3], 4, "a settings frame");
    drop(stream);
    runtime.cancel.cancel();
    serving.await.unwrap();
}

//! Gated connections against a server on a real socket.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Request, Response};
use http_body_util::Full;
use kube::client::Body;
use metrics::Registry;
use runtime::Runtime;
use tokio::net::{TcpListener, TcpStream};
use tower::{Service as _, service_fn};

use super::GatedConnector;
use crate::network::Liveness;
use crate::{
    Client, ConnectOptions, Connection, GatedUser, Guard, Metrics, Settings, Transport, connect,
};

/// Answers each request, which must come in one piece, and counts them.
async fn serve(listener: TcpListener, requests: Arc<AtomicUsize>) {
    while let Ok((stream, _)) = listener.accept().await {
        let requests = Arc::clone(&requests);
        runtime::spawn("connection", async move {
            while read(&stream).await.is_ok_and(|count| count > 0) {
                requests.fetch_add(1, Ordering::SeqCst);
                stream.writable().await.unwrap();
                stream.try_write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
            }
        });
    }
}

async fn read(stream: &TcpStream) -> std::io::Result<usize> {
    let mut bytes = [0; 4096];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

/// Decision 0008: a request that was allowed and has not left yet does not leave later, neither on
/// an open connection nor on a new one; other connections are not affected.
#[tokio::test]
async fn nothing_leaves_while_the_guard_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let master = Some(format!("http://{}", listener.local_addr().unwrap()));
    let (open, requests) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&open);
    let guard: Guard = Arc::new(move || {
        if seen.load(Ordering::SeqCst) { Ok(()) } else { Err("the lease ended".to_owned()) }
    });
    let connection =
        connect(&ConnectOptions { master, ..ConnectOptions::default() }).await.unwrap();
    let gated = connection.gated(&guard, GatedUser::Same, None);
    runtime::spawn("server", serve(listener, Arc::clone(&requests)));
    let (runtime, metrics) = (Runtime::system(), Metrics::new(&Registry::default()).unwrap());
    let client = |transport: &Transport| {
        let host = connection.host.clone();
        let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host };
        Client::new(transport.clone(), settings, &metrics, &runtime)
    };
    let (free, gated) = (client(&connection.transport), client(&gated.transport));
    gated.create("/x", Bytes::new()).await.unwrap();
    open.store(false, Ordering::SeqCst);
    for _ in 0..2 {
        let error = gated.create("/x", Bytes::new()).await.unwrap_err();
        assert!(error.to_string().contains("the lease ended"), "{error}");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 1);
    free.create("/x", Bytes::new()).await.unwrap();
    open.store(true, Ordering::SeqCst);
    gated.create("/x", Bytes::new()).await.unwrap();
    assert_eq!(requests.load(Ordering::SeqCst), 3);
}

/// The same inside the process as over the network: a process that stood still between the check
/// and the sending, as by SIGSTOP, is checked again.
#[tokio::test]
async fn a_request_that_was_allowed_and_has_not_left_is_refused_inside_too() {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let server = service_fn(move |_: Request<Body>| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"{}")))) }
    });
    let open = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&open);
    let guard: Guard = Arc::new(move || {
        if seen.load(Ordering::SeqCst) { Ok(()) } else { Err("the lease ended".to_owned()) }
    });
    let inside = Connection::inside(server.clone(), server);
    let gated = inside.gated(&guard, GatedUser::Same, None);
    let (runtime, metrics) = (Runtime::system(), Metrics::new(&Registry::default()).unwrap());
    let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host: gated.host };
    let client = Client::new(gated.transport, settings, &metrics, &runtime);
    let mut pending = Box::pin(client.create("/x", Bytes::new()));
    assert!(pending.as_mut().now_or_never().is_none());
    // The connection's task takes over from here, and has a future for the caller.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    open.store(false, Ordering::SeqCst);
    let error = pending.await.unwrap_err();
    assert!(error.to_string().contains("the lease ended"), "{error}");
    assert_eq!(requests.load(Ordering::SeqCst), 0);
}

/// Decision 0008: data in the kernel leaves in time or not at all.
#[tokio::test]
async fn the_kernel_gives_up_at_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server: http::Uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    for limit in [None, Some(Duration::from_secs(4))] {
        let liveness = Liveness { unacknowledged_max: limit, ..Liveness::USUAL };
        let mut connector = GatedConnector { tcp: liveness.tcp(), guard: None };
        let opened = connector.call(server.clone()).await.unwrap();
        let socket = socket2::SockRef::from(opened.stream.inner());
        assert_eq!(socket.tcp_user_timeout().unwrap(), limit);
    }
}

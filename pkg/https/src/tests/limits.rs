//! Clients that are slow, silent, large or many.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;

use super::fixture::{Client, LARGE_BYTES, Served, ended, get_page};
use super::{Log, client, connect, get, serve, settings, within};
use crate::listen::open_files_max;
use crate::port::accept_delay;
use crate::{Limits, Settings};

/// Practically no limit, and practically zero.
const NEVER: Duration = Duration::from_hours(1);
const SOON: Duration = Duration::from_millis(50);
const PATIENT: Limits =
    Limits { handshake: NEVER, head: NEVER, idle: NEVER, write: NEVER, ..Limits::USUAL };

type Sender = http2::SendRequest<Empty<Bytes>>;

async fn serve_with(limits: Limits) -> Served {
    serve(Settings { limits, ..settings() }).await
}

/// An HTTP/2 client that reads `window` bytes of each response, and the end of its connection.
async fn http_2_client(port: &Served, window: u32) -> (Sender, runtime::Task) {
    let mut config = client();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let io = TokioIo::new(connect(port.address, config, "localhost").await.unwrap());
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let (sender, connection) =
        builder.initial_stream_window_size(window).handshake::<_, Empty<Bytes>>(io).await.unwrap();
    (sender, runtime::spawn("client", async move { drop(connection.await) }))
}

async fn ask(sender: &mut Sender, path: &str) -> hyper::Result<http::Response<Incoming>> {
    let request = Request::get(format!("https://localhost{path}"));
    within(sender.send_request(request.body(Empty::new()).unwrap())).await
}

#[tokio::test]
async fn a_slow_handshake_is_ended_and_not_logged() {
    let log = Log::new();
    let port = serve_with(Limits { handshake: SOON, ..PATIENT }).await;
    let mut silent = TcpStream::connect(port.address).await.unwrap();
    assert_eq!(ended(&mut silent).await, "");
    let lines = log.lines();
    let mut slow = TcpStream::connect(port.address).await.unwrap();
    slow.write_all(&[22, 3, 1, 2, 0]).await.unwrap();
    assert_eq!(ended(&mut slow).await, "");
    assert_eq!(log.lines(), lines);
}

#[tokio::test]
async fn a_slow_head_is_ended_be_it_of_the_first_request_or_of_a_later_one() {
    let port = serve_with(Limits { head: SOON, ..PATIENT }).await;
    let mut silent = connect(port.address, client(), "localhost").await.unwrap();
    assert_eq!(ended(&mut silent).await, "");
    let mut first = connect(port.address, client(), "localhost").await.unwrap();
    first.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
    assert_eq!(ended(&mut first).await, "");
    let mut later = connect(port.address, client(), "localhost").await.unwrap();
    get_page(&mut later, "/").await.unwrap();
    later.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
    assert_eq!(ended(&mut later).await, "");
}

#[tokio::test]
async fn an_idle_connection_is_ended() {
    let port = serve_with(Limits { idle: SOON, ..PATIENT }).await;
    let mut client = connect(port.address, client(), "localhost").await.unwrap();
    get_page(&mut client, "/").await.unwrap();
    assert_eq!(ended(&mut client).await, "");
}

#[tokio::test]
async fn a_page_may_take_longer_than_a_client_may_be_idle() {
    let limits = Limits { head: NEVER, idle: Duration::ZERO, ..PATIENT };
    let port = serve_with(limits).await;
    let mut client = connect(port.address, client(), "localhost").await.unwrap();
    client.write_all(b"GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    // Other requests begin and end meanwhile.
    for _ in 0..3 {
        get(port.address, "/").await.unwrap();
    }
    port.release.cancel();
    let answer = ended(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test]
async fn an_idle_http_2_connection_is_ended() {
    let port = serve_with(Limits { idle: SOON, head: Duration::ZERO, ..PATIENT }).await;
    let (_sender, connection) = http_2_client(&port, 1 << 16).await;
    // It closes properly: with GOAWAY.
    within(connection).await.unwrap();
}

/// The window stays closed, so nothing of the body ever leaves.
#[tokio::test]
async fn an_http_2_client_that_does_not_take_its_answer_is_broken_off() {
    let port = serve_with(Limits { write: SOON, ..PATIENT }).await;
    let (mut sender, connection) = http_2_client(&port, 0).await;
    let answer = ask(&mut sender, "/").await.unwrap();
    within(connection).await.unwrap();
    assert!(within(answer.into_body().collect()).await.is_err());
}

#[tokio::test]
async fn an_http_1_client_that_does_not_take_its_answer_is_broken_off() {
    let port = serve_with(Limits { write: SOON, ..PATIENT }).await;
    let mut client = connect(port.address, client(), "localhost").await.unwrap();
    client.write_all(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    within(client.get_ref().0.ready(Interest::ERROR)).await.unwrap();
    let mut bytes = Vec::new();
    let _: io::Result<usize> = within(client.read_to_end(&mut bytes)).await;
    assert!(bytes.len() < LARGE_BYTES, "{}", bytes.len());
}

#[tokio::test]
async fn a_client_that_takes_its_answer_slowly_gets_all_of_it() {
    let port = serve_with(Limits { write: Duration::from_secs(10), ..PATIENT }).await;
    let mut client = connect(port.address, client(), "localhost").await.unwrap();
    let request = b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    client.write_all(request).await.unwrap();
    let mut bytes = Vec::new();
    within(client.read_to_end(&mut bytes)).await.unwrap();
    assert!(bytes.len() > LARGE_BYTES);
}

/// As `writeHeaders` of Go's HTTP/2 server: it has no such header, and does what the header says.
#[tokio::test]
async fn a_page_can_hang_up_on_an_http_2_client() {
    let port = serve_with(PATIENT).await;
    let (mut sender, connection) = http_2_client(&port, 1 << 16).await;
    let held = ask(&mut sender.clone(), "/who").await.unwrap();
    let answer = ask(&mut sender, "/bye").await.unwrap();
    assert_eq!(answer.headers().get("connection"), None);
    let body = within(answer.into_body().collect()).await.unwrap().to_bytes();
    assert_eq!(body, "bye");
    drop(held);
    // The client keeps its side open, and sends more requests; they do not keep it alive.
    within(async { while ask(&mut sender, "/").await.is_ok() {} }).await;
    within(connection).await.unwrap();
}

#[tokio::test]
async fn a_head_of_more_than_a_mebibyte_is_refused_in_words() {
    let port = serve_with(PATIENT).await;
    for (bytes, status) in [(1_000_000, "200 OK"), (1_100_000, "431 ")] {
        let client = connect(port.address, client(), "localhost").await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(client);
        let value = "x".repeat(bytes);
        let head = format!("GET / HTTP/1.1\r\nConnection: close\r\nX-Large: {value}\r\n\r\n");
        // The response may come before all has been sent.
        let send = async { writer.write_all(head.as_bytes()).await };
        let (sent, answer): (io::Result<()>, String) = tokio::join!(send, ended(&mut reader));
        let start = format!("HTTP/1.1 {status}");
        let line = answer.lines().next().unwrap_or_default();
        assert!(line.starts_with(&start), "{bytes}: {line}");
        // The server still reads, so the response is not lost.
        sent.unwrap();
        for _ in 0..2 {
            writer.write_all(b"more").await.unwrap();
            writer.flush().await.unwrap();
        }
    }
}

/// What an unauthenticated client does with a connection.
#[derive(Clone, Copy, Debug)]
enum Unauthenticated {
    SaysNothing,
    SaysNothingAfterTheHandshake,
    AsksNowAndThen,
    HasClosedItsWindow,
    WaitsForAPage,
}

/// Keeps the connection open as long as it lives.
#[expect(dead_code, reason = "they are held, and nothing else")]
enum Held {
    Plain(TcpStream),
    Tls(Box<Client>),
    Http2(Sender, http::Response<Incoming>),
}

impl Unauthenticated {
    async fn come(self, port: &Served) -> Held {
        match self {
            Self::SaysNothing => Held::Plain(TcpStream::connect(port.address).await.unwrap()),
            Self::SaysNothingAfterTheHandshake => {
                let client = connect(port.address, client(), "localhost").await.unwrap();
                Held::Tls(Box::new(client))
            }
            Self::AsksNowAndThen => {
                let mut client = connect(port.address, client(), "localhost").await.unwrap();
                get_page(&mut client, "/").await.unwrap();
                Held::Tls(Box::new(client))
            }
            Self::HasClosedItsWindow => {
                let (mut sender, _) = http_2_client(port, 0).await;
                let answer = ask(&mut sender, "/").await.unwrap();
                Held::Http2(sender, answer)
            }
            Self::WaitsForAPage => {
                let mut client = connect(port.address, client(), "localhost").await.unwrap();
                let request = b"GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n";
                client.write_all(request).await.unwrap();
                Held::Tls(Box::new(client))
            }
        }
    }
}

/// They may stay as long as there is room, and lock nobody out when there is none.
#[tokio::test]
async fn a_crowd_of_unauthenticated_clients_does_not_lock_out_others() {
    let kinds = [
        Unauthenticated::SaysNothing,
        Unauthenticated::SaysNothingAfterTheHandshake,
        Unauthenticated::AsksNowAndThen,
        Unauthenticated::HasClosedItsWindow,
        Unauthenticated::WaitsForAPage,
    ];
    for kind in kinds {
        let port = serve_with(Limits { connections: 8, ..PATIENT }).await;
        let mut crowd = Vec::new();
        for _ in 0..12 {
            crowd.push(kind.come(&port).await);
        }
        for _ in 0..10 {
            assert!(get(port.address, "/").await.unwrap().ends_with("hello"), "{kind:?}");
            crowd.push(kind.come(&port).await);
        }
    }
}

#[tokio::test]
async fn authenticated_clients_stay_when_others_make_room() {
    let port = serve_with(Limits { connections: 8, ..PATIENT }).await;
    let mut known = connect(port.address, client(), "localhost").await.unwrap();
    get_page(&mut known, "/known").await.unwrap();
    let mut probe = connect(port.address, client(), "localhost").await.unwrap();
    get_page(&mut probe, "/").await.unwrap();
    for _ in 0..20 {
        get(port.address, "/").await.unwrap();
        let _held = TcpStream::connect(port.address).await.unwrap();
    }
    let mut crowd = Vec::new();
    for _ in 0..20 {
        crowd.push(Unauthenticated::SaysNothingAfterTheHandshake.come(&port).await);
    }
    assert_eq!(ended(&mut probe).await, "");
    assert!(get_page(&mut known, "/").await.unwrap().ends_with("hello"));
}

#[test]
fn errors_of_accept_are_waited_out_unless_they_are_about_one_client() {
    // 24 is EMFILE.
    let full = io::Error::from_raw_os_error(24);
    let mut delays = Vec::new();
    let mut delay = None;
    for _ in 0..10 {
        delay = accept_delay(delay, &full);
        delays.push(delay.unwrap().as_millis());
    }
    assert_eq!(delays, [5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
    assert_eq!(accept_delay(delay, &io::ErrorKind::ConnectionAborted.into()), None);
}

/// As every Go program at its start (rlimit.go of package syscall).
#[test]
fn as_many_files_may_be_open_as_the_system_admits() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let lower = maximum.unwrap_or(1 << 20) - 1;
    setrlimit(Resource::Nofile, Rlimit { current: Some(lower), maximum }).unwrap();
    assert_eq!(open_files_max(), maximum);
    assert_eq!(getrlimit(Resource::Nofile).current, maximum);
}

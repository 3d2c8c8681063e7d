//! Clients that are slow, silent, large or many.

use std::io;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::fixture::{Served, ended, get_page};
use super::{Log, client, connect, get, serve, settings, within};
use crate::port::accept_delay;
use crate::{Limits, Settings};

/// As good as none, and as good as at once.
const NEVER: Duration = Duration::from_hours(1);
const SOON: Duration = Duration::from_millis(50);
const PATIENT: Limits = Limits { handshake: NEVER, head: NEVER, idle: NEVER, ..Limits::USUAL };

async fn serve_with(limits: Limits) -> Served {
    serve(Settings { limits, ..settings() }).await
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
    // Others come and go meanwhile.
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
    let mut config = client();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let io = TokioIo::new(connect(port.address, config, "localhost").await.unwrap());
    let (sender, connection) =
        http2::handshake::<_, _, Empty<Bytes>>(TokioExecutor::new(), io).await.unwrap();
    // It ends in peace: with GOAWAY.
    within(connection).await.unwrap();
    drop(sender);
}

#[tokio::test]
async fn a_head_of_more_than_a_mebibyte_is_refused_in_words() {
    let port = serve_with(PATIENT).await;
    for (bytes, status) in [(1_000_000, "200 OK"), (1_100_000, "431 ")] {
        let client = connect(port.address, client(), "localhost").await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(client);
        let value = "x".repeat(bytes);
        let head = format!("GET / HTTP/1.1\r\nConnection: close\r\nX-Large: {value}\r\n\r\n");
        // The answer may come before all has been sent.
        let send = async { writer.write_all(head.as_bytes()).await };
        let (sent, answer): (io::Result<()>, String) = tokio::join!(send, ended(&mut reader));
        let start = format!("HTTP/1.1 {status}");
        let line = answer.lines().next().unwrap_or_default();
        assert!(line.starts_with(&start), "{bytes}: {line}");
        // The server still listens, so the answer is not lost on its way.
        sent.unwrap();
        for _ in 0..2 {
            writer.write_all(b"more").await.unwrap();
            writer.flush().await.unwrap();
        }
    }
}

#[tokio::test]
async fn one_connection_too_many_waits_until_another_ends() {
    let port = serve_with(Limits { connections: 2, ..PATIENT }).await;
    let mut first = connect(port.address, client(), "localhost").await.unwrap();
    get_page(&mut first, "/").await.unwrap();
    let second = connect(port.address, client(), "localhost").await.unwrap();
    let mut third = pin!(get(port.address, "/"));
    let pages = async {
        for _ in 0..20 {
            get_page(&mut first, "/").await.unwrap();
        }
    };
    tokio::select! { biased;
        answer = third.as_mut() => panic!("there is no place for it: {answer:?}"),
        () = pages => {}
    }
    drop(second);
    assert!(third.await.unwrap().ends_with("hello"));
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

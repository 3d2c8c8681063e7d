//! Which clients may connect, and what the service knows of them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::fixture::{ended, get_page};
use super::{Log, certificate, client, connect, get, open, serve, settings, within};
use crate::listen::{keep_alive, listen};
use crate::{Error, Settings};

/// Presents one certificate, with or without the right key.
#[derive(Debug)]
struct Shows(Arc<CertifiedKey>);

impl ResolvesClientCert for Shows {
    fn resolve(&self, hints: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        assert!(hints.is_empty(), "any certificate is welcome");
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn client_showing(certs: &[&str], key: &str) -> ClientConfig {
    let chain = certs.iter().map(|cert| CertificateDer::from_pem_slice(cert.as_bytes()).unwrap());
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let key = ring::default_provider().key_provider.load_private_key(key).unwrap();
    let mut config = client();
    config.client_auth_cert_resolver =
        Arc::new(Shows(Arc::new(CertifiedKey::new(chain.collect(), key))));
    config
}

#[tokio::test]
async fn a_client_without_a_certificate_is_served_and_known_by_its_address() {
    let port = serve(settings()).await;
    let answer = get(port.address, "/who").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n127.0.0.1 "), "{answer}");
}

#[tokio::test]
async fn the_service_gets_the_chain_of_the_client_from_any_issuer() {
    let port = serve(settings()).await;
    let ((cert, key), (other, _)) = (certificate("somebody"), certificate("authority"));
    for versions in [&[&rustls::version::TLS12], &[&rustls::version::TLS13]] {
        let showing = client_showing(&[&cert, &other], &key);
        let mut config = super::client_with(ring::default_provider(), versions);
        config.client_auth_cert_resolver = showing.client_auth_cert_resolver;
        let mut client = connect(port.address, config, "localhost").await.unwrap();
        let answer = get_page(&mut client, "/who").await.unwrap();
        assert!(answer.ends_with("127.0.0.1 somebody,authority"), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_has_not_the_key_of_its_certificate_is_refused() {
    let port = serve(settings()).await;
    let ((cert, _), (_, key)) = (certificate("somebody"), certificate("thief"));
    let answer = async {
        let config = client_showing(&[&cert], &key);
        get_page(&mut connect(port.address, config, "localhost").await?, "/who").await
    };
    let error = answer.await.unwrap_err();
    assert!(error.to_string().contains("DecryptError"), "{error}");
}

#[tokio::test]
async fn clients_may_choose_http_2() {
    let port = serve(settings()).await;
    let mut config = client();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = connect(port.address, config, "localhost").await.unwrap();
    let io = TokioIo::new(stream);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let connection = runtime::spawn("client", async move { drop(connection.await) });
    for (path, status) in [("/who", StatusCode::OK), ("/panic", StatusCode::INTERNAL_SERVER_ERROR)]
    {
        let request = Request::get(format!("https://localhost{path}"));
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let response = within(sender.send_request(request)).await.unwrap();
        assert_eq!((response.version(), response.status()), (Version::HTTP_2, status));
        let body = within(response.into_body().collect()).await.unwrap().to_bytes();
        assert_eq!(body.is_empty(), path == "/panic");
    }
    port.runtime.cancel.cancel();
    within(port.task).await.unwrap();
    within(connection).await.unwrap();
}

#[tokio::test]
async fn http_2_clients_get_the_limits() {
    for (asked, streams) in [(0, 100_u32), (7, 7)] {
        let port = serve(Settings { http2_max_streams: asked, ..settings() }).await;
        let mut config = client();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let mut client = connect(port.address, config, "localhost").await.unwrap();
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut head = [0; 9];
        within(client.read_exact(&mut head)).await.unwrap();
        assert_eq!((head[0], head[1], head[3]), (0, 0, 4), "SETTINGS");
        let mut rows = vec![0; usize::from(head[2])];
        within(client.read_exact(&mut rows)).await.unwrap();
        let rows: BTreeMap<u8, u32> = rows
            .chunks(6)
            .map(|row| (row[1], u32::from_be_bytes([row[2], row[3], row[4], row[5]])))
            .collect();
        // MAX_CONCURRENT_STREAMS and MAX_HEADER_LIST_SIZE.
        assert_eq!((rows[&3], rows[&6]), (streams, 1 << 20));
    }
}

#[tokio::test]
async fn http_2_can_be_switched_off() {
    let port = serve(Settings { http2: false, ..settings() }).await;
    let mut config = client();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut client = connect(port.address, config, "localhost").await.unwrap();
    assert_eq!(client.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    assert!(get_page(&mut client, "/").await.unwrap().ends_with("hello"));
}

#[tokio::test]
async fn a_connection_takes_many_requests_and_a_panic_is_one_answer() {
    let port = serve(settings()).await;
    let mut client = connect(port.address, client(), "localhost").await.unwrap();
    assert!(get_page(&mut client, "/").await.unwrap().ends_with("hello"));
    let answer = get_page(&mut client, "/panic").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 500 Internal Server Error\r\n"), "{answer}");
    assert!(get_page(&mut client, "/").await.unwrap().ends_with("hello"));
}

/// As `tlsRecordHeaderLooksLikeHTTP` of Go's net/http.
#[tokio::test]
async fn plain_http_gets_an_explanation() {
    let port = serve(settings()).await;
    let mut stream = TcpStream::connect(port.address).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    // Closed, not aborted, although the request was not read.
    within(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.0 400 Bad Request\r\n"), "{answer}");
    assert!(answer.ends_with("Client sent an HTTP request to an HTTPS server.\n"), "{answer}");
}

#[tokio::test]
async fn garbage_ends_its_connection_alone_and_is_not_logged() {
    let log = Log::new();
    let port = serve(settings()).await;
    assert!(get(port.address, "/").await.unwrap().ends_with("hello"));
    let lines = log.lines();
    assert!(lines > 0, "what is served is logged");
    let header = [22, 3, 1, 0, 5, 1, 2, 3, 4, 5];
    let rows: [&[u8]; 4] = [b"SSH-2.0-scanner\r\n", &[0; 64], &header, b"\x16"];
    for garbage in rows {
        let mut stream = TcpStream::connect(port.address).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = ended(&mut stream).await;
        assert!(!answer.contains("HTTP"), "{answer}");
    }
    assert!(get(port.address, "/").await.unwrap().ends_with("hello"));
    assert_eq!(log.lines(), lines);
}

#[tokio::test]
async fn an_address_in_use_is_an_error_in_upstreams_words() {
    let first = open(settings()).await.unwrap();
    let port = first.address().port();
    let error = open(Settings { port, ..settings() }).await.err().unwrap();
    let text = format!(
        "failed to create listener: failed to listen on 127.0.0.1:{port}: \
         listen tcp 127.0.0.1:{port}: bind: address already in use"
    );
    assert_eq!(error.to_string(), text);
    assert!(matches!(error, Error::Listen { step: "bind", .. }));
}

#[tokio::test]
async fn a_port_can_be_shared_if_both_sides_say_so() {
    let shared = Settings { share_port: true, ..settings() };
    let first = open(shared.clone()).await.unwrap();
    let port = first.address().port();
    assert_eq!(open(Settings { port, ..shared }).await.unwrap().address().port(), port);
    assert!(open(Settings { port, ..settings() }).await.is_err());
}

/// As every listener in Go: connections of the previous process do not keep the port.
#[tokio::test]
async fn a_port_can_be_opened_again_at_once() {
    let listener = listen(&settings()).unwrap();
    assert!(SockRef::from(&listener).reuse_address().unwrap());
    assert!(!SockRef::from(&listener).reuse_port().unwrap());
}

#[tokio::test]
async fn connections_detect_a_dead_client() {
    let listener = listen(&settings()).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    keep_alive(&client).unwrap();
    let socket = SockRef::from(&client);
    assert!(socket.keepalive().unwrap() && client.nodelay().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_mins(3));
    assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(15));
}

/// The help of --bind-address: an unspecified address means all families.
#[tokio::test]
async fn the_unspecified_address_of_either_family_is_both_families() {
    for bind in [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()] {
        let port = serve(Settings { bind, ..settings() }).await;
        for own in ["127.0.0.1", "::1"] {
            let address = SocketAddr::new(own.parse().unwrap(), port.address.port());
            let answer = get(address, "/who").await.unwrap();
            assert!(answer.ends_with(&format!("\r\n\r\n{own} ")), "{bind}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_port_finishes_its_responses_and_accepts_no_client() {
    let port = serve(settings()).await;
    let mut idle = connect(port.address, client(), "localhost").await.unwrap();
    get_page(&mut idle, "/").await.unwrap();
    let mut slow = connect(port.address, client(), "localhost").await.unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let mut asking = connect(port.address, client(), "localhost").await.unwrap();
    asking.write_all(b"GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    // A later request is answered, so the first one is held by now.
    assert!(get(port.address, "/").await.unwrap().ends_with("hello"));
    port.runtime.cancel.cancel();
    assert_eq!(ended(&mut idle).await, "");
    assert_eq!(ended(&mut slow).await, "");
    within(async { while TcpStream::connect(port.address).await.is_ok() {} }).await;
    port.release.cancel();
    let answer = ended(&mut asking).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    within(port.task).await.unwrap();
}

#[tokio::test]
async fn a_port_that_is_dropped_ends_its_connections() {
    let port = serve(settings()).await;
    let mut client = connect(port.address, client(), "localhost").await.unwrap();
    get_page(&mut client, "/").await.unwrap();
    port.task.abort();
    assert_eq!(ended(&mut client).await, "");
}

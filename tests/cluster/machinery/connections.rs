//! Clients that occupy connections. /healthz responds without authentication, so the port itself
//! must see to it that a probe gets through.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use cluster_tests::{Binary, Cluster, Manager, Options, User};
use futures::stream::{self, StreamExt, TryStreamExt};
use http::Request;
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use runtime::Clock;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Half as many again as there are places.
const CROWD: usize = 1500;
/// So many come at once.
const AT_ONCE: usize = 50;
const PROBES: usize = 10;
/// The kubelet's default timeout of a probe.
const PROBE_MAX: Duration = Duration::from_secs(1);
const PROBE: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// What everybody in a crowd does.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Connects, and says nothing.
    Silent,
    /// Says nothing after the TLS handshake.
    SilentInTls,
    /// Keeps its connection, and asks for an open page now and then.
    KeptAlive,
    /// Asks for an open page over HTTP/2, and opens no window for the response.
    NoWindow,
}

/// A connection of a crowd, as long as this lives.
enum Held {
    Plain(#[expect(dead_code, reason = "it is held, and nothing else")] TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Http2(
        #[expect(dead_code, reason = "it is held, and nothing else")]
        http::Response<hyper::body::Incoming>,
    ),
}

/// 1,500 connections of each kind, which is half as many again as there are places: the kubelet's
/// probe gets a response within its second, each time.
#[tokio::test]
async fn a_probe_gets_a_response_whatever_else_is_connected() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let args = ["--controllers=replicaset", "--leader-elect=true"];
    let mut manager = Manager::start(&cluster, Binary::Ours, User::ControllerManager, &args)?;
    manager.healthy().await?;
    let address = manager.address()?;
    for kind in [Kind::Silent, Kind::SilentInTls, Kind::KeptAlive, Kind::NoWindow] {
        let come = (0..CROWD).map(|_| kind.come(address));
        let crowd = stream::iter(come).buffer_unordered(AT_ONCE).try_collect::<Vec<_>>();
        let mut crowd = crowd.await.with_context(|| format!("{kind:?}"))?;
        ensure!(crowd.len() == CROWD);
        for number in 0..PROBES {
            let what = || format!("{kind:?}: probe {number} of {PROBES}");
            let probe = Clock::system().timeout(PROBE_MAX, probe(address)).await;
            let answer = probe.ok().with_context(|| format!("{} takes too long", what()))?;
            let answer = answer.with_context(what)?;
            ensure!(answer.starts_with("HTTP/1.1 200 OK"), "{}: {answer}", what());
            if let (Kind::KeptAlive, Some(some)) = (kind, crowd.rchunks_mut(AT_ONCE).nth(number)) {
                ask_on(some).await;
            }
        }
    }
    Ok(())
}

/// A new connection, as the kubelet makes one for each probe.
async fn probe(address: SocketAddr) -> anyhow::Result<String> {
    let mut stream = connect(address, b"http/1.1").await?;
    ask(&mut stream).await
}

async fn ask(stream: &mut TlsStream<TcpStream>) -> anyhow::Result<String> {
    stream.write_all(PROBE).await?;
    let mut answer = vec![0; 1024];
    let count = stream.read(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer[..count]).into_owned())
}

/// Those that were not made to leave ask once more.
async fn ask_on(crowd: &mut [Held]) {
    let asking = crowd.iter_mut().filter_map(|held| match held {
        Held::Tls(stream) => Some(stream),
        Held::Plain(_) | Held::Http2(..) => None,
    });
    let asked = stream::iter(asking).map(|stream| ask(stream)).buffer_unordered(AT_ONCE);
    asked.for_each(|_| std::future::ready(())).await;
}

async fn connect(
    address: SocketAddr,
    protocol: &'static [u8],
) -> anyhow::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(ring::default_provider())))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from("localhost")?;
    Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
}

// === impl Kind ===

impl Kind {
    async fn come(self, address: SocketAddr) -> anyhow::Result<Held> {
        Ok(match self {
            Self::Silent => Held::Plain(TcpStream::connect(address).await?),
            Self::SilentInTls => Held::Tls(Box::new(connect(address, b"http/1.1").await?)),
            Self::KeptAlive => {
                let mut stream = connect(address, b"http/1.1").await?;
                ask(&mut stream).await?;
                Held::Tls(Box::new(stream))
            }
            Self::NoWindow => {
                let stream = TokioIo::new(connect(address, b"h2").await?);
                let mut builder = http2::Builder::new(TokioExecutor::new());
                let builder = builder.initial_stream_window_size(0);
                let (mut sender, connection) = builder.handshake(stream).await?;
                // Ends with the response that is held, or when the server ends it.
                drop(runtime::spawn("a client", async move { drop(connection.await) }));
                let request = Request::get("https://localhost/healthz");
                let request = request.body(Empty::<Bytes>::new())?;
                Held::Http2(sender.send_request(request).await?)
            }
        })
    }
}

/// Any client reaches the manager that this test has started.
#[derive(Debug)]
struct Trusting(CryptoProvider);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

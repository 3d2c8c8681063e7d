//! Ports with a small service, clients that trust every server, and certificates.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use axum::Router;
use axum::routing;
use http::Request;
use rcgen::{CertificateParams, DnType, KeyPair};
use runtime::{Cancel, Clock, Runtime};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Level, Metadata, span};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use crate::{CertificateSource, Error, Limits, Line, PeerCertificates, Port, Settings};

/// Longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) type Client = TlsStream<TcpStream>;

/// A port that is served.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) runtime: Runtime,
    pub(crate) task: runtime::Task,
    /// When cancelled, `/hold` responds.
    pub(crate) release: Cancel,
}

/// A temporary folder of this test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("https-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a new certificate for `name` to `<file>.crt` and its key to `<file>.key`.
    pub(crate) fn pair(&self, file: &str, name: &str) -> (PathBuf, PathBuf) {
        let (cert, key) = certificate(name);
        (self.write(&format!("{file}.crt"), &cert), self.write(&format!("{file}.key"), &key))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        bind: Ipv4Addr::LOCALHOST.into(),
        port: 0,
        share_port: false,
        certificate: CertificateSource::SelfSigned,
        sni: Vec::new(),
        min_version: String::new(),
        cipher_suites: Vec::new(),
        curves: Vec::new(),
        http2: true,
        http2_max_streams: 0,
        limits: Limits::USUAL,
    }
}

pub(crate) async fn open(settings: Settings) -> Result<Port, Error> {
    Port::open(settings, Runtime::system()).await
}

pub(crate) async fn serve(settings: Settings) -> Served {
    let runtime = Runtime::system();
    let port = Port::open(settings, runtime.clone()).await.unwrap();
    let address = port.address();
    let release = Cancel::new();
    let task = runtime::spawn("port", port.serve(pages(release.clone())));
    Served { address, runtime, task, release }
}

/// More bytes than all buffers of the kernel hold.
pub(crate) const LARGE_BYTES: usize = 64 << 20;

/// `/who` returns the client's identity, `/hold` responds when it is released, `/panic` panics,
/// `/known` vouches for the client, `/bye` closes the connection, `/large` has very many bytes.
fn pages(release: Cancel) -> Router {
    let who = |request: Request<axum::body::Body>| async move {
        let chain = request.extensions().get::<PeerCertificates>().unwrap().0.clone();
        let peer = request.extensions().get::<SocketAddr>().unwrap();
        let chain: Vec<String> = chain.iter().map(subject).collect();
        format!("{} {}", peer.ip(), chain.join(","))
    };
    let panic = |request: Request<axum::body::Body>| async move {
        assert_ne!(request.uri().path(), "/panic", "a page that panics");
    };
    let known = |request: Request<axum::body::Body>| async move {
        request.extensions().get::<Line>().unwrap().vouch();
    };
    Router::new()
        .route("/known", routing::get(known))
        .route("/bye", routing::get(|| async { ([("connection", "Close")], "bye") }))
        .route("/large", routing::get(|| async { vec![0; LARGE_BYTES] }))
        .route("/", routing::get(|| async { "hello" }))
        .route("/who", routing::get(who))
        .route("/panic", routing::get(panic))
        .route("/hold", routing::get(|| async move { release.cancelled().await }))
}

/// A self-signed certificate for `name`, and its key.
pub(crate) fn certificate(name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// The common name.
pub(crate) fn subject(certificate: &CertificateDer<'_>) -> String {
    let (_, certificate) = X509Certificate::from_der(certificate).unwrap();
    certificate.subject().iter_common_name().next().unwrap().as_str().unwrap().to_owned()
}

/// A client without a certificate.
pub(crate) fn client() -> ClientConfig {
    client_with(ring::default_provider(), rustls::ALL_VERSIONS)
}

pub(crate) fn client_with(
    provider: rustls::crypto::CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth()
}

pub(crate) async fn connect(
    address: SocketAddr,
    config: ClientConfig,
    name: &str,
) -> io::Result<Client> {
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    within(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
}

/// Requests a page and reads one response; the connection stays open.
pub(crate) async fn get_page(client: &mut Client, path: &str) -> io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    loop {
        let mut bytes = [0; 4096];
        let count = within(client.read(&mut bytes)).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer += std::str::from_utf8(&bytes[..count]).unwrap();
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return Ok(answer);
        }
    }
}

/// The response to one request on its own connection.
pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    get_page(&mut connect(address, client(), "localhost").await?, path).await
}

/// Waits until the server has closed the connection; returns what it sent until then.
pub(crate) async fn ended(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut bytes = Vec::new();
    // An aborted connection has ended, too.
    let _: io::Result<usize> = within(stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    Clock::system().timeout(PATIENCE, future).await.expect("this should not take so long")
}

/// Counts what this thread logs at info and above, until it is dropped.
pub(crate) struct Log {
    lines: Arc<Mutex<usize>>,
    _guard: tracing::subscriber::DefaultGuard,
}

struct Counting(Arc<Mutex<usize>>);

impl Log {
    pub(crate) fn new() -> Self {
        // With one log in the process, the first test that reaches a line decides for all tests
        // whether the line is enabled; with two, both are asked each time.
        static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
        LazyLock::force(&OTHER);
        let lines = Arc::default();
        let guard = tracing::subscriber::set_default(Counting(Arc::clone(&lines)));
        Self { lines, _guard: guard }
    }

    pub(crate) fn lines(&self) -> usize {
        *self.lines.lock().unwrap()
    }
}

impl tracing::Subscriber for Counting {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        *self.0.lock().unwrap() += 1;
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Debug)]
struct Trusting;

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
        let algorithms = ring::default_provider().signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

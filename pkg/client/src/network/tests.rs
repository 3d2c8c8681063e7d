//! An API server on a real socket behind TLS: through proxies, over connections that are cut, and
//! with files that change.

mod identity;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use metrics::Registry;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use runtime::{Clock, Runtime};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::Liveness;
use crate::connect::{Surroundings, connect_in};
use crate::proxy::{Environment, Variable};
use crate::{ApiError, Client, ConfigError, ConnectOptions, Connection, Metrics, Settings};

const LIMIT: Duration = Duration::from_secs(30);

/// A CA.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its key, PEM.
struct Pair(String, String);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate of this name, for servers and clients alike.
    fn issue(&self, name: &str) -> Pair {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        Pair(cert.pem(), key.serialize_pem())
    }

    /// The TLS configuration of a server with a certificate of this CA, which accepts clients with
    /// a certificate of it and clients without one.
    fn serving(&self, name: &str) -> Arc<ServerConfig> {
        let Pair(cert, key) = self.issue(name);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        let clients = WebPkiClientVerifier::builder(Arc::new(roots)).allow_unauthenticated();
        let config = ServerConfig::builder().with_client_cert_verifier(clients.build().unwrap());
        let chain = vec![CertificateDer::from_pem_slice(cert.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let mut config = config.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }
}

/// An API server that answers with the identity of the client: certificate, token, impersonation.
struct Server {
    address: String,
    tls: Arc<Mutex<Arc<ServerConfig>>>,
    /// The identity that it rejects, as a part of its answer; none if empty.
    refused: Arc<Mutex<String>>,
}

impl Server {
    async fn start(authority: &Authority) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let tls = Arc::new(Mutex::new(authority.serving("api.test")));
        let serving = Arc::clone(&tls);
        let refused = Arc::<Mutex<String>>::default();
        let unknown = Arc::clone(&refused);
        runtime::spawn("server", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let tls = Arc::clone(&serving.lock().unwrap());
                runtime::spawn("connection", answer(stream, tls, Arc::clone(&unknown)));
            }
        });
        Self { address, tls, refused }
    }

    /// The cluster of a kubeconfig, with the CA in a file.
    fn known_by(&self, authority: &Path) -> Value {
        let url = format!("https://{}", self.address);
        json!({"server": url, "certificate-authority": authority, "tls-server-name": "api.test"})
    }
}

async fn answer(stream: TcpStream, tls: Arc<ServerConfig>, refused: Arc<Mutex<String>>) {
    // A client that does not trust us disconnects.
    let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await else { return };
    let chain = stream.get_ref().1.peer_certificates();
    let who = chain.map(|chain| chain[0].to_vec()).unwrap_or_default();
    let has = move |name: &str| who.windows(name.len()).any(|part| part == name.as_bytes());
    let who = ["user-one", "user-two"].into_iter().find(|name| has(name)).unwrap_or("nobody");
    let service = service_fn(move |request: Request<Incoming>| {
        let all = |name: &str| {
            let values = request.headers().get_all(name).into_iter();
            values.map(|value| value.to_str().unwrap()).collect::<Vec<_>>().join(" ")
        };
        let token = Some(all("authorization")).filter(|it| !it.is_empty());
        let mut text = format!("{who}, {}", token.as_deref().unwrap_or("no token"));
        let user = all("impersonate-user");
        if !user.is_empty() {
            text = format!("{text}, {user} in {}", all("impersonate-group"));
        }
        let refused = refused.lock().unwrap();
        let is_known = refused.is_empty() || !text.contains(&*refused);
        let mut answer = Response::new(Full::new(Bytes::from(text.trim_end().to_owned())));
        if !is_known {
            *answer.status_mut() = http::StatusCode::UNAUTHORIZED;
        }
        async { Ok::<_, Infallible>(answer) }
    });
    let http = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    drop(http.serve_connection(TokioIo::new(stream), service).await);
}

/// The requests that a proxy received.
type Heads = Arc<Mutex<Vec<String>>>;

/// A proxy that connects to one server, whatever the request names.
async fn proxy(server: &str, tls: Option<Arc<ServerConfig>>) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (heads, server) = (Heads::default(), server.to_owned());
    let log = Arc::clone(&heads);
    runtime::spawn("proxy", async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (log, server, tls) = (Arc::clone(&log), server.clone(), tls.clone());
            runtime::spawn("tunnel", async move {
                match tls {
                    None => pass(stream, &server, &log).await,
                    Some(tls) => {
                        let stream = TlsAcceptor::from(tls).accept(stream).await.unwrap();
                        pass(stream, &server, &log).await;
                    }
                }
            });
        }
    });
    (address, heads)
}

async fn pass(mut stream: impl AsyncRead + AsyncWrite + Unpin, server: &str, log: &Heads) {
    let first = stream.read_u8().await.unwrap();
    if first == 5 {
        // RFC 1928: no authentication; a name and a port follow.
        let mut hello = [0; 2];
        stream.read_exact(&mut hello).await.unwrap();
        stream.write_all(&[5, 0]).await.unwrap();
        let mut start = [0; 5];
        stream.read_exact(&mut start).await.unwrap();
        let mut rest = vec![0; usize::from(start[4]) + 2];
        stream.read_exact(&mut rest).await.unwrap();
        let (name, port) = rest.split_at(rest.len() - 2);
        let (name, port) = (String::from_utf8_lossy(name), u16::from_be_bytes([port[0], port[1]]));
        log.lock().unwrap().push(format!("SOCKS {name}:{port}"));
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    } else {
        let mut head = vec![first];
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let is_tunnel = head.starts_with("CONNECT ");
        log.lock().unwrap().push(head);
        if !is_tunnel {
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nforwarded";
            return stream.write_all(answer.as_bytes()).await.unwrap();
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    }
    let mut server = TcpStream::connect(server).await.unwrap();
    drop(copy_bidirectional(&mut stream, &mut server).await);
}

/// A folder with a kubeconfig, and the files that it names.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn kubeconfig(&self, cluster: &Value, user: &Value) -> PathBuf {
        let context = json!({"cluster": "c", "user": "u"});
        let all = json!({
            "current-context": "x",
            "contexts": [{"name": "x", "context": context}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        });
        self.write("kubeconfig", &all.to_string())
    }
}

async fn connect(kubeconfig: &Path, https_proxy: &str) -> Result<Connection, ConfigError> {
    let https = Variable { name: "https_proxy", value: https_proxy.to_owned() };
    let environment = Environment { https, ..Environment::default() };
    let look_interval = Duration::from_millis(20);
    let kubeconfig = Some(kubeconfig.to_owned());
    let options = ConnectOptions { kubeconfig, ..ConnectOptions::default() };
    connect_in(&options, Surroundings { environment, look_interval }).await
}

fn client(connection: &Connection) -> Client {
    let host = connection.host.clone();
    let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host };
    let metrics = Metrics::new(&Registry::default()).unwrap();
    Client::new(connection.transport.clone(), settings, &metrics, &Runtime::system())
}

async fn ask(client: &Client) -> Result<String, ApiError> {
    let answer = Clock::system().timeout(LIMIT, client.get("/x")).await.unwrap();
    answer.map(|body| String::from_utf8(body.to_vec()).unwrap())
}

/// Repeats a request until this is the response.
async fn becomes(client: &Client, expected: &str) {
    let again = async { while !ask(client).await.is_ok_and(|answer| answer == expected) {} };
    Clock::system().timeout(LIMIT, again).await.unwrap_or_else(|_| panic!("never {expected}"));
}

/// client-go: `proxy-url` takes precedence over the environment, and a proxy may be HTTP, HTTPS or
/// SOCKS 5. TLS goes through a tunnel.
#[tokio::test]
async fn an_api_server_is_reached_through_a_proxy() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let server = Server::start(&authority).await;
    let ca = folder.write("ca.crt", &authority.pem);
    let (plain, plain_heads) = proxy(&server.address, None).await;
    let (secure, secure_heads) = proxy(&server.address, Some(authority.serving("127.0.0.1"))).await;
    let unusable = "http://127.0.0.1:1";
    for (url, environment, heads, start) in [
        (format!("http://me:p%3Ass@{plain}"), unusable, &plain_heads, "CONNECT api.test:6443 HTTP"),
        (
            String::new(),
            &*format!("http://me:p%3Ass@{plain}"),
            &plain_heads,
            "CONNECT api.test:6443",
        ),
        (String::new(), &*plain, &plain_heads, "CONNECT api.test:6443"),
        (format!("https://{secure}"), "", &secure_heads, "CONNECT api.test:6443"),
        (format!("socks5://{plain}"), "", &plain_heads, "SOCKS api.test:6443"),
    ] {
        let cluster = json!({
            "server": "https://api.test:6443", "certificate-authority": ca, "proxy-url": url,
        });
        let path = folder.kubeconfig(&cluster, &json!({"token": "t"}));
        let connection = connect(&path, environment).await.unwrap();
        assert_eq!(ask(&client(&connection)).await.unwrap(), "nobody, Bearer t", "{url}");
        let head = heads.lock().unwrap().pop().unwrap();
        assert!(head.starts_with(start), "{url}: {head}");
        let authorization = "Proxy-Authorization: Basic bWU6cDpzcw==\r\n";
        let has_user = url.contains('@') || environment.contains('@');
        assert_eq!(head.contains(authorization), has_user, "{url}: {head}");
    }
}

/// As Go's net/http: plain HTTP is forwarded request by request.
#[tokio::test]
async fn plain_requests_are_forwarded() {
    let folder = Folder::new();
    let (address, heads) = proxy("nowhere", None).await;
    let url = format!("http://me:p%3Ass@{address}");
    let cluster = json!({"server": "http://api.test:8080", "proxy-url": url});
    let path = folder.kubeconfig(&cluster, &json!({}));
    let connection = connect(&path, "").await.unwrap();
    assert_eq!(ask(&client(&connection)).await.unwrap(), "forwarded");
    let head = heads.lock().unwrap().pop().unwrap().to_lowercase();
    assert!(head.starts_with("get http://api.test:8080/x http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic bwu6cdpzcw==\r\n"), "{head}");
}

/// An operator must see that the proxy is at fault.
#[tokio::test]
async fn a_proxy_that_fails_is_named() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap();
    let url = format!("http://me:secret@{silent}");
    let cluster = json!({"server": "https://api.test:6443", "proxy-url": url});
    let path = folder.kubeconfig(&cluster, &json!({}));
    let connection = connect(&path, "").await.unwrap().prompt(Duration::from_secs(1));
    let error = ask(&client(&connection)).await.unwrap_err().to_string();
    let named = format!("cannot connect through the proxy http://{silent}: nothing within 300ms");
    assert!(error.contains(&named), "{error}");

    let cluster = json!({"server": "https://api.test", "proxy-url": "ftp://me:secret@p"});
    let path = folder.kubeconfig(&cluster, &json!({}));
    let Err(error) = connect(&path, "").await else { panic!("it connected") };
    let expected = format!(
        "--kubeconfig {}: clusters[0].cluster.proxy-url: \
         unsupported scheme \"ftp\", must be http, https, or socks5",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
    let cluster = json!({"server": "https://api.test"});
    let Err(error) = connect(&folder.kubeconfig(&cluster, &json!({})), "ftp://p").await else {
        panic!("it connected")
    };
    let expected = "environment variable https_proxy: unsupported scheme \"ftp\", must be http, \
                    https, or socks5";
    assert_eq!(error.to_string(), expected);
}

/// client-go reloads them too: transport/cert_rotation.go, ca_rotation.go, token_source.go.
#[tokio::test]
async fn files_that_change_are_followed() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let server = Server::start(&authority).await;
    let write =
        |pair: &Pair| (folder.write("user.crt", &pair.0), folder.write("user.key", &pair.1));
    let ca = folder.write("ca.crt", &authority.pem);
    let (cert, key) = write(&authority.issue("user-one"));
    let token = folder.write("token", "one\n");
    let url = format!("https://{}", server.address);
    let cluster =
        json!({"server": url, "certificate-authority": ca, "tls-server-name": "api.test"});
    let user = json!({"client-certificate": cert, "client-key": key, "tokenFile": token});
    let connection = connect(&folder.kubeconfig(&cluster, &user), "").await.unwrap();
    let client = client(&connection);
    assert_eq!(ask(&client).await.unwrap(), "user-one, Bearer one");

    folder.write("token", "two");
    becomes(&client, "user-one, Bearer two").await;
    // Half of a pair, and no pair at all, change nothing.
    let pair = authority.issue("user-two");
    folder.write("user.crt", &pair.0);
    folder.write("ca.crt", "no certificate");
    for _ in 0..20 {
        assert_eq!(ask(&client).await.unwrap(), "user-one, Bearer two");
    }
    folder.write("ca.crt", &authority.pem);
    write(&pair);
    becomes(&client, "user-two, Bearer two").await;

    // Another CA, for the server and for us.
    let authority = Authority::new();
    *server.tls.lock().unwrap() = authority.serving("api.test");
    write(&authority.issue("user-one"));
    folder.write("ca.crt", &authority.pem);
    becomes(&client, "user-one, Bearer two").await;

    // Another connection, without credentials, follows the CA.
    let open: crate::Guard = Arc::new(|| Ok(()));
    let nobody = connection.gated(&open, crate::GatedUser::Nobody, None);
    assert_eq!(ask(&self::client(&nobody)).await.unwrap(), "nobody, no token");
}

/// A file that cannot be read at the start is named.
#[tokio::test]
async fn a_file_that_is_missing_is_named() {
    let folder = Folder::new();
    let token = folder.0.path().join("none");
    let user = json!({"tokenFile": token});
    let path = folder.kubeconfig(&json!({"server": "https://api.test"}), &user);
    let Err(error) = connect(&path, "").await else { panic!("it connected") };
    let expected = format!("--kubeconfig {}: tokenFile {}: ", path.display(), token.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
}

/// Forwards bytes, until the test cuts the open connections: then nothing arrives on them any more,
/// and neither end is notified.
async fn wire(server: &str, cut: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = server.to_owned();
    runtime::spawn("wire", async move {
        let mut is_first = true;
        while let Ok((mut near, _)) = listener.accept().await {
            let mut far = TcpStream::connect(&server).await.unwrap();
            let cut = std::mem::take(&mut is_first).then(|| Arc::clone(&cut));
            runtime::spawn("passing", async move {
                let Some(cut) = cut else {
                    return drop(copy_bidirectional(&mut near, &mut far).await);
                };
                let (mut up, mut down) = ([0; 4096], [0; 4096]);
                loop {
                    tokio::select! {
                        biased;
                        Ok(size @ 1..) = near.read(&mut up) => {
                            if !cut.load(Ordering::SeqCst) {
                                far.write_all(&up[..size]).await.unwrap();
                            }
                        }
                        Ok(size @ 1..) = far.read(&mut down) => {
                            if !cut.load(Ordering::SeqCst) {
                                near.write_all(&down[..size]).await.unwrap();
                            }
                        }
                        else => return,
                    }
                }
            });
        }
    });
    address
}

/// Decision 0008: a leader with a dead connection, half open as after a firewall has forgotten it,
/// must notice that early enough to renew its lease over another one.
#[tokio::test]
async fn a_dead_wire_is_left_within_the_limit() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let server = Server::start(&authority).await;
    let cut = Arc::new(AtomicBool::new(false));
    let url = format!("https://{}", wire(&server.address, Arc::clone(&cut)).await);
    let ca = folder.write("ca.crt", &authority.pem);
    let cluster =
        json!({"server": url, "certificate-authority": ca, "tls-server-name": "api.test"});
    let connection = connect(&folder.kubeconfig(&cluster, &json!({})), "").await.unwrap();
    let limit = Duration::from_secs(3);
    let client = client(&connection.prompt(limit));
    ask(&client).await.unwrap();
    cut.store(true, Ordering::SeqCst);
    let renewed = async { while ask(&client).await.is_err() {} };
    Clock::system().timeout(limit, renewed).await.unwrap();
}

/// Pings may be answered while requests are not: after a request is given up, the next one uses
/// another connection.
#[tokio::test]
async fn a_connection_without_an_answer_is_left() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let server = Server::start(&authority).await;
    let cut = Arc::new(AtomicBool::new(false));
    let url = format!("https://{}", wire(&server.address, Arc::clone(&cut)).await);
    let ca = folder.write("ca.crt", &authority.pem);
    let cluster =
        json!({"server": url, "certificate-authority": ca, "tls-server-name": "api.test"});
    let connection = connect(&folder.kubeconfig(&cluster, &json!({})), "").await.unwrap();
    // No ping is due before the end of the test.
    let client = client(&connection.prompt(LIMIT * 100));
    ask(&client).await.unwrap();
    cut.store(true, Ordering::SeqCst);
    let patience = Duration::from_millis(50);
    assert!(Clock::system().timeout(patience, client.get("/x")).await.is_err());
    ask(&client).await.unwrap();
}

/// 10 seconds are the usual renew deadline; pings are not more frequent than useful.
#[test]
fn liveness_follows_the_limit() {
    let ms = Duration::from_millis;
    let Liveness { open_limit, ping_interval, ping_limit, unacknowledged_max, .. } =
        Liveness::within(Duration::from_secs(10));
    assert_eq!((open_limit, ping_interval, ping_limit), (ms(3000), ms(1000), ms(2000)));
    assert_eq!(unacknowledged_max, Some(ms(3000)));
    let usual = Liveness::USUAL;
    let slow = Liveness::within(Duration::from_hours(1));
    assert_eq!(slow.ping_interval + slow.ping_limit, usual.ping_interval + usual.ping_limit);
    assert_eq!(slow.open_limit, usual.open_limit);
}

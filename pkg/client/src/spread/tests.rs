//! Many streams, over fake connections and to an HTTP/2 server on a real socket.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Channel, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::Body;
use runtime::Clock;
use tokio::net::TcpListener;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceExt};

use super::{CONNECTIONS_MAX, Spread};
use crate::network::{Liveness, Unanswered};

const STREAMS_MAX: usize = super::STREAMS_MAX as usize;
const LIMIT: Duration = Duration::from_mins(1);

type Connection = BoxService<Request<Body>, Response<Full<Bytes>>, BoxError>;
type Answer = Response<super::Counted>;

/// Connections that answer with their own name: `0`, `1` and so on.
fn named() -> Spread<Connection> {
    let made = AtomicUsize::default();
    let connect = move || {
        let name = made.fetch_add(1, Ordering::SeqCst).to_string();
        let answer = move |_| {
            let response = Response::new(Full::from(name.clone()));
            async move { Ok::<_, BoxError>(response) }
        };
        tower::service_fn(answer).boxed()
    };
    Spread::new(connect, Unanswered::Stays)
}

fn request() -> Request<Body> {
    Request::new(Body::empty())
}

async fn streams<S>(spread: &mut Spread<S>, count: usize) -> Vec<Answer>
where
    Spread<S>: Service<Request<Body>, Response = Answer, Error = BoxError>,
{
    let mut answers = Vec::new();
    for _ in 0..count {
        answers.push(spread.call(request()).await.unwrap());
    }
    answers
}

/// The connection that a response came over.
async fn name(answer: Answer) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn a_full_connection_is_left_for_another_one() {
    let mut spread = named();
    // A clone counts the same streams: a sender makes a clone for each request.
    let mut first = streams(&mut spread.clone(), STREAMS_MAX).await;
    let mut second = streams(&mut spread, 2).await;
    assert_eq!(name(second.pop().unwrap()).await, "1");
    assert_eq!(name(first.pop().unwrap()).await, "0");
    // There is room again, and the other connection still has a stream.
    first.extend(streams(&mut spread, 1).await);
    second.extend(streams(&mut spread, 1).await);
    assert_eq!(name(second.pop().unwrap()).await, "1");

    // The other one is closed once it has no streams and is not needed.
    drop(second);
    assert_eq!(name(first.pop().unwrap()).await, "0");
    first.extend(streams(&mut spread, 1).await);
    let third = streams(&mut spread, 1).await.pop().unwrap();
    assert_eq!(name(third).await, "2");
    for answer in first {
        assert_eq!(name(answer).await, "0");
    }
}

#[tokio::test]
async fn requests_without_an_answer_count_too() {
    let mut spread = named();
    let mut waiting: Vec<_> = (0..STREAMS_MAX).map(|_| spread.call(request())).collect();
    assert_eq!(name(spread.call(request()).await.unwrap()).await, "1");
    // The request is given up.
    drop(waiting.pop());
    assert_eq!(name(spread.call(request()).await.unwrap()).await, "0");
}

#[tokio::test]
async fn connections_are_limited_and_share_the_rest() {
    let mut spread = named();
    let mut all = streams(&mut spread, STREAMS_MAX * CONNECTIONS_MAX).await;
    let rest = streams(&mut spread, CONNECTIONS_MAX).await;
    for (at, answer) in rest.into_iter().enumerate() {
        assert_eq!(name(answer).await, at.to_string());
    }
    assert_eq!(name(all.pop().unwrap()).await, (CONNECTIONS_MAX - 1).to_string());
}

/// What a server has received and sent.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    /// Bytes of `/flood`.
    flooded: AtomicUsize,
}

/// Allows 100 streams on each connection, as the API server. `/watch` sends a byte and does not
/// end, `/flood` sends as much as it can.
async fn serve(listener: TcpListener, seen: Arc<Seen>) {
    while let Ok((stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let seen = Arc::clone(&seen);
        let answer = move |request: Request<_>| {
            let (mut sender, body) = Channel::<Bytes>::new(1);
            let seen = Arc::clone(&seen);
            runtime::spawn("answer", async move {
                if request.uri().path() == "/watch" {
                    sender.send_data(Bytes::from_static(b"x")).await.unwrap();
                    std::future::pending::<()>().await;
                }
                let piece = Bytes::from(vec![b'x'; 64 * 1024]);
                while sender.send_data(piece.clone()).await.is_ok() {
                    seen.flooded.fetch_add(piece.len(), Ordering::SeqCst);
                }
            });
            std::future::ready(Ok::<_, Infallible>(Response::new(body)))
        };
        let mut http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let http = http.max_concurrent_streams(100);
        let connection = http.serve_connection(TokioIo::new(stream), service_fn(answer));
        runtime::spawn("connection", async move { drop(connection.await) });
    }
}

/// The first bytes of this many responses to this path, none of which is read further.
async fn begin<S>(spread: &mut Spread<S>, uri: &str, count: usize) -> Vec<(usize, super::Counted)>
where
    Spread<S>: Service<Request<Body>, Future = super::Answered<super::Counted>>,
{
    let request = || Request::get(uri).body(Body::empty()).unwrap();
    let calls: Vec<_> = (0..count).map(|_| spread.call(request())).collect();
    let first = |call: super::Answered<super::Counted>| async {
        let mut body = call.await.unwrap().into_body();
        let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
        (piece.len(), body)
    };
    let all = futures::future::join_all(calls.into_iter().map(first));
    Clock::system().timeout(LIMIT, all).await.unwrap()
}

/// The purpose: 250 watches, none of which ends, all get their response; and responses that are not
/// read do not block others on their connection.
#[tokio::test]
async fn more_streams_than_a_server_admits_are_all_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::<Seen>::default();
    runtime::spawn("server", serve(listener, Arc::clone(&seen)));
    let mut spread = {
        let connect = || Liveness::USUAL.http().http2_only(true).build_http::<Body>();
        Spread::new(connect, Unanswered::Stays)
    };
    let watches = begin(&mut spread, &format!("{server}/watch"), 250).await;
    assert_eq!(seen.connections.load(Ordering::SeqCst), 3);
    assert!(watches.iter().all(|(size, _)| *size == 1));
    drop(watches);

    let unread = begin(&mut spread, &format!("{server}/flood"), 8).await;
    let full = unread.len() * 2 * 1024 * 1024;
    while seen.flooded.load(Ordering::SeqCst) < full {
        begin(&mut spread, &format!("{server}/watch"), 1).await;
    }
    begin(&mut spread, &format!("{server}/watch"), 1).await;
    assert_eq!(seen.connections.load(Ordering::SeqCst), 3);
}

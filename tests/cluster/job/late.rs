//! Events of Jobs that come late, which needs something between the manager and the API server.

use std::convert::Infallible;
use std::fs;
use std::time::Duration;

use anyhow::ensure;
use bytes::Bytes;
use cluster_tests::{Cluster, Manager, Objects, quiet};
use futures::stream::BoxStream;
use futures::{StreamExt, TryFutureExt};
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use runtime::Latest;
use serde_json::json;
use tokio::net::TcpListener;

use super::{COMPLETE, FAILED, end, has_ended_so, none_is_tracked, pods, says, start};

/// Longer than the manager gathers changes of pods for.
const CALM: Duration = Duration::from_secs(3);

type Frames = StreamBody<BoxStream<'static, kube::Result<Frame<Bytes>>>>;

/// Passes requests on to the API server, as an admin, and keeps back what watches of Jobs report.
/// Plain HTTP, so that it knows one watch from another.
pub(super) struct Relay {
    flag: String,
    hold: Hold,
}

#[derive(Clone)]
struct Hold {
    keeps_back: Latest<bool>,
    /// How often something was kept back.
    kept: Latest<usize>,
}

impl Relay {
    pub(super) async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "relay",
            "clusters": [{"name": "relay", "cluster": {
                "server": format!("http://{}", listener.local_addr()?)}}],
            "contexts": [{"name": "relay", "context": {"cluster": "relay", "user": "relay"}}],
            "users": [{"name": "relay", "user": {}}]});
        let path = cluster.dir().join("relay.kubeconfig");
        fs::write(&path, kubeconfig.to_string())?;
        let hold = Hold { keeps_back: Latest::new(false), kept: Latest::new(0) };
        let (client, held) = (cluster.admin_once()?, hold.clone());
        runtime::spawn("relay", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let (client, held) = (client.clone(), held.clone());
                let service =
                    service_fn(move |request| pass_on(client.clone(), held.clone(), request));
                let line = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // A manager that ends breaks its connections.
                runtime::spawn("relayed", line.unwrap_or_else(drop));
            }
        });
        Ok(Self { flag: format!("--kubeconfig={}", path.display()), hold })
    }

    /// What a manager is started with to go through this.
    pub(super) fn flag(&self) -> &str {
        &self.flag
    }
}

impl Hold {
    /// Returns once nothing is kept back.
    async fn pass(&self) {
        if self.keeps_back.get() {
            self.kept.update(|kept| {
                *kept += 1;
                true
            });
        }
        self.keeps_back.wait_for(|keeps_back| (!keeps_back).then_some(())).await;
    }
}

/// What cannot be passed on is as if the API server was not there.
async fn pass_on(
    client: Client,
    hold: Hold,
    request: Request<Incoming>,
) -> Result<Response<Frames>, Infallible> {
    let uri = request.uri();
    let is_watch = uri.query().is_some_and(|query| query.contains("watch=t"));
    let is_about_jobs = is_watch && uri.path() == "/apis/batch/v1/jobs";
    let (head, body) = match send(client, request).await {
        Ok(response) => response.into_parts(),
        Err(error) => {
            let body = Body::from(error.to_string().into_bytes());
            let mut response = Response::new(body);
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response.into_parts()
        }
    };
    let frames = BodyStream::new(body).then(move |frame| {
        let hold = hold.clone();
        async move {
            if is_about_jobs {
                hold.pass().await;
            }
            frame
        }
    });
    let mut response = Response::from_parts(head, StreamBody::new(frames.boxed()));
    for of_connection in [header::CONNECTION, header::TRANSFER_ENCODING] {
        response.headers_mut().remove(of_connection);
    }
    Ok(response)
}

async fn send(client: Client, request: Request<Incoming>) -> anyhow::Result<Response<Body>> {
    let (mut head, body) = request.into_parts();
    head.uri = head.uri.path_and_query().map_or("/", PathAndQuery::as_str).parse()?;
    for of_connection in [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING] {
        head.headers.remove(of_connection);
    }
    let body = Body::from(body.collect().await?.to_bytes());
    Ok(client.send(Request::from_parts(head, body)).await?)
}

/// TestDelayedJobUpdateEvent: pods that have ended and are counted are seen before the Jobs that
/// count them. No pod is made in their place, and none counts twice.
pub(super) async fn events_come_after_those_of_pods(
    cluster: &Cluster,
    manager: &Manager,
    relay: &Relay,
    objects: Objects,
) -> anyhow::Result<()> {
    let once = json!({"backoffLimit": 0});
    let rows = [
        ("succeeds", "Succeeded", json!({}), COMPLETE, "CompletionsReached", [1, 0]),
        ("fails", "Failed", once, FAILED, "BackoffLimitExceeded", [0, 1]),
    ];
    for (name, _, more, ..) in &rows {
        start(&objects, name, more.clone(), 1).await?;
    }
    quiet(cluster, manager, CALM).await?;
    relay.hold.keeps_back.set(true);
    for (name, phase, ..) in &rows {
        end(&objects, name, phase, 1).await?;
    }
    for (name, ..) in &rows {
        none_is_tracked(&objects, name).await?;
    }
    quiet(cluster, manager, CALM).await?;
    ensure!(relay.hold.kept.get() > 0, "no event of a Job came");
    for (name, ..) in &rows {
        ensure!(pods(&objects, name).await?.len() == 1, "{name}: another pod was made");
    }
    relay.hold.keeps_back.set(false);
    for (name, _, _, types, reason, [succeeded, failed]) in rows {
        has_ended_so(&objects, name, types, reason).await?;
        says(&objects, name, &json!({"succeeded": succeeded, "failed": failed})).await?;
        ensure!(pods(&objects, name).await?.len() == 1, "{name}: another pod was made");
    }
    Ok(())
}

//! A cluster around the server: nodes, a scheduler and perhaps volumes, behind the same clock.

use std::sync::{Arc, Mutex, PoisonError};

use api::{Key, Resource};
use bytes::Bytes;
use hollow::{Attacher, Cloud, Kubelet, Nodes, Part, Scheduler, Sender, Sent, Volumes};
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;
use tokio::sync::Notify;

use crate::follow::Follower;
use crate::keys::Keys;
use crate::{Request, Server, User};

/// A server with nodes and a scheduler, until the runtime of the server is cancelled. Clones are
/// the same one.
#[derive(Clone)]
pub struct Cluster {
    server: Server,
    kubelets: Arc<Mutex<Kubelet>>,
    cloud: Arc<Cloud>,
    /// Notified when a test has done something to the kubelets.
    wake: Arc<Notify>,
}

impl Cluster {
    /// Starts nodes and a scheduler on a server.
    pub fn start(server: Server, nodes: &Nodes, seed: u64) -> Self {
        let kubelets = Arc::new(Mutex::new(Kubelet::new(nodes, seed)));
        let cloud = Arc::new(Cloud::new(Arc::clone(&kubelets)));
        let wake = Arc::new(Notify::new());
        let scheduler = Arc::new(Mutex::new(Scheduler::default()));
        runtime::spawn("kubelets", drive(server.clone(), kubelets.clone(), wake.clone()));
        runtime::spawn("scheduler", drive(server.clone(), scheduler, Arc::new(Notify::new())));
        Self { server, kubelets, cloud, wake }
    }

    /// The same, with volumes for all volume claims.
    #[must_use]
    pub fn providing_volumes(self) -> Self {
        self.with("volumes", Volumes::binding())
    }

    /// The same, with a provisioner of volumes, for a manager that binds them.
    #[must_use]
    pub fn provisioning_volumes(self) -> Self {
        self.with("volumes", Volumes::provisioning())
    }

    /// The same, with an attacher of volumes, for a manager that asks for attachments.
    #[must_use]
    pub fn attaching_volumes(self) -> Self {
        self.with("attacher", Attacher::default())
    }

    fn with(self, name: &'static str, part: impl Part + 'static) -> Self {
        let part = Arc::new(Mutex::new(part));
        runtime::spawn(name, drive(self.server.clone(), part, Arc::new(Notify::new())));
        self
    }

    /// The API server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The cloud that its machines are in.
    pub fn cloud(&self) -> Arc<Cloud> {
        Arc::clone(&self.cloud)
    }

    /// Does something to the nodes, which they show at once.
    pub fn kubelets<T>(&self, act: impl FnOnce(&mut Kubelet) -> T) -> T {
        let done = act(&mut self.kubelets.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_one();
        done
    }

    /// Adds a node whose kubelet joins by TLS bootstrap, as the user of the bootstrap token with
    /// this id. False: there is a node of this name.
    pub fn join(&self, node: &str, token: &str) -> bool {
        self.kubelets(|kubelets| kubelets.join(node, token, Arc::new(Keys)))
    }
}

/// Passes changes to a part, and sends its requests.
async fn drive<P: Part + 'static>(server: Server, part: Arc<Mutex<P>>, wake: Arc<Notify>) {
    let runtime = server.runtime().clone();
    let watches = part.lock().unwrap_or_else(PoisonError::into_inner).watches();
    let mut follower = Follower::new(server.clone(), watches.to_vec());
    loop {
        let changes = follower.changes();
        let now = runtime.clock.now();
        let reaction = part.lock().unwrap_or_else(PoisonError::into_inner).step(now, &changes);
        for Sent { by, request } in reaction.requests {
            let request = as_http(request).by(user(&by));
            let path = request.path.clone();
            let answer = server.call(request);
            if !answer.status().is_success() {
                tracing::debug!(path, code = answer.status().as_u16(), "a hollow part was refused");
            }
        }
        let again = async {
            match reaction.again {
                Some(again) => runtime.clock.sleep(again.since(runtime.clock.now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = runtime.cancel.cancelled() => return,
            () = follower.changed() => {}
            () = wake.notified() => {}
            () = again => {}
        }
    }
}

/// The user of a part's requests.
fn user(by: &Sender) -> User {
    match by {
        Sender::Node(name) => User::node(name),
        Sender::Bootstrap(token) => User::bootstrap(token),
        Sender::Scheduler => User::new("system:kube-scheduler", &[]),
        Sender::Operator => User::admin(),
    }
}

/// A request of a part as the server takes it.
fn as_http(request: hollow::Request) -> Request {
    let (method, kind, target, body) = match request {
        hollow::Request::Create(target, body) => (Method::POST, "application/json", target, body),
        hollow::Request::Update(target, body) => (Method::PUT, "application/json", target, body),
        hollow::Request::Patch(target, body) => {
            (Method::PATCH, "application/strategic-merge-patch+json", target, body)
        }
        hollow::Request::Delete(target, body) => (Method::DELETE, "application/json", target, body),
    };
    let path = path(&method, &target.resource, &target.key, target.subresource);
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let body = json(&body);
    Request { headers, body, ..Request::new(method, &path, "") }
}

fn path(method: &Method, resource: &Resource, key: &Key, subresource: &str) -> String {
    if *method == Method::POST && subresource.is_empty() {
        return resource.collection_path(&key.namespace);
    }
    let slash = if subresource.is_empty() { "" } else { "/" };
    // A part writes what it was shown, and so has names; no path is one that nobody knows.
    format!("{}{slash}{subresource}", resource.object_path(key).unwrap_or_default())
}

fn json(body: &Value) -> Bytes {
    serde_json::to_vec(body).unwrap_or_default().into()
}

//! What a script plays on.

use std::time::Duration;

use api::Key;
use http::{HeaderMap, HeaderValue, Method, header};
use sandbox::{Request, Server, User};
use serde_json::Value;
use why::Question;

/// A cluster that scripts can play on.
#[expect(async_fn_in_trait, reason = "players are not sent between threads")]
pub trait Cluster {
    /// Sends a request to the API server. An error is a server without a response; a Status that
    /// says that a request failed is a response.
    async fn ask(&self, ask: Ask) -> anyhow::Result<Reply>;

    /// Lets time pass.
    async fn tick(&self, time: Duration);

    /// Does something to a node.
    fn node(&self, act: NodeAct, name: &str) -> Result<(), Unsupported>;

    /// Adds a node whose kubelet joins by TLS bootstrap, with the bootstrap token of this id.
    fn join(&self, node: &str, token: &str) -> Result<(), Unsupported> {
        Err(Unsupported(format!("{node} cannot join with the token {token}")))
    }

    /// Makes the containers of a pod end with an error.
    fn fail(&self, pod: &Key) -> Result<(), Unsupported>;

    /// What the controller of a resource would do for an object, and why, as lines.
    async fn explain(&self, plural: &str, key: &Key) -> Result<Vec<String>, Unsupported>;

    /// What `kubectl why` says of an object to a user (none: the administrator), as lines.
    async fn why(
        &self,
        question: &Question,
        user: Option<&str>,
    ) -> Result<Vec<String>, Unsupported> {
        let user = user.map(|user| format!(" as {user}")).unwrap_or_default();
        let Question { kind, name, .. } = question;
        Err(Unsupported(format!("nobody looks at {kind}/{name}{user}")))
    }
}

/// A request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The method.
    pub method: Method,
    /// With the query.
    pub path: String,
    /// What the response may be.
    pub accept: &'static str,
    /// The content type and the body.
    pub body: Option<(&'static str, Value)>,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP code.
    pub code: u16,
    /// The JSON; null if it is none.
    pub body: Value,
}

/// What is done to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAct {
    /// The machine is off.
    Kill,
    /// It is on again.
    Revive,
    /// Its network is cut, its pods run on.
    Partition,
    /// Its network is back.
    Heal,
    /// The machine is removed for good; its Node stays until a controller deletes it.
    Terminate,
}

/// Something that cannot be done here, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

// === impl Ask ===

impl Ask {
    /// GET for JSON.
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), accept: "application/json", body: None }
    }

    /// With a JSON body.
    pub fn send(method: Method, path: impl Into<String>, body: Value) -> Self {
        Self { method, body: Some(("application/json", body)), ..Self::get(path) }
    }

    /// Sends a request to a sandbox in this process, which responds at once, as its administrator.
    pub fn put_to(self, server: &Server) -> anyhow::Result<Reply> {
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(self.accept));
        let mut body = Vec::new();
        if let Some((kind, json)) = &self.body {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            body = serde_json::to_vec(json)?;
        }
        let request = Request::new(self.method, path, query).by(User::admin());
        let answer = server.call(Request { headers, body: body.into(), ..request });
        let body = serde_json::from_slice(answer.body()).unwrap_or(Value::Null);
        Ok(Reply { code: answer.status().as_u16(), body })
    }

    /// A patch of this content type.
    pub fn patch(path: impl Into<String>, kind: &'static str, patch: Value) -> Self {
        Self { method: Method::PATCH, body: Some((kind, patch)), ..Self::get(path) }
    }
}

// === impl NodeAct ===

impl NodeAct {
    /// Does it to a hollow node; nothing if there is none of that name.
    pub fn on(self, cluster: &sandbox::Cluster, node: &str) {
        cluster.kubelets(|kubelets| match self {
            Self::Kill => kubelets.kill(node),
            Self::Revive => kubelets.revive(node),
            Self::Partition => kubelets.partition(node),
            Self::Heal => kubelets.heal(node),
            Self::Terminate => kubelets.terminate(node),
        });
    }
}

// === impl Reply ===

impl Reply {
    /// Whether it was done. The refusal of an eviction may come with 201.
    pub fn is_ok(&self) -> bool {
        let is_refused = || self.body.get("status").is_some_and(|status| status == "Failure");
        self.code < 300 && !is_refused()
    }

    /// As kubectl prints a failure.
    pub fn failure(&self) -> String {
        let text = |field: &str| self.body.get(field).and_then(Value::as_str).unwrap_or_default();
        let reason = match text("reason") {
            "" => String::new(),
            reason => format!(" ({reason})"),
        };
        format!("Error from server{reason}: {}", text("message"))
    }
}

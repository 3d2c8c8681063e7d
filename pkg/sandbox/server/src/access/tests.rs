//! Rows of upstream's tests of the same things, and what the sandbox adds.

mod bindings;
mod credentials;
mod escalation;
mod policy;
mod rules;

use api::Time;
use bytes::Bytes;
use http::Method;
use runtime::Runtime;
use serde_json::{Value, json};

use super::User;
use crate::request::Request;
use crate::server::{Options, Policy, Server};

/// When these tests take place.
const NOW: Time = Time::from_unix(1_767_225_600, 0);

fn server() -> Server {
    server_with(Options::default())
}

fn server_with(options: Options) -> Server {
    Server::new(&Runtime::simulated(NOW, 1), options)
}

/// Sends a request as a user: the code and the response.
fn ask(server: &Server, user: &User, request: &str, body: Option<&Value>) -> (u16, Value) {
    let (method, path) = request.split_once(' ').unwrap();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut request = Request::new(method.parse::<Method>().unwrap(), path, query);
    if let Some(body) = body {
        request = request.with_json(Bytes::from(body.to_string()));
    }
    let answer = server.call(request.by(user.clone()));
    let body = serde_json::from_slice(answer.body()).unwrap_or(Value::Null);
    (answer.status().as_u16(), body)
}

/// Writes as the administrator.
fn make(server: &Server, request: &str, body: &Value) -> Value {
    let (code, answer) = ask(server, &User::admin(), request, Some(body));
    assert!(code < 300, "{request}: {answer}");
    answer
}

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

/// Makes a ClusterRole, and gives it to a user.
fn grant(server: &Server, name: &str, rules: &Value, user: &str) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": name}, "rules": rules});
    make(server, &format!("POST {rbac}/clusterroles"), &role);
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    });
    make(server, &format!("POST {rbac}/clusterrolebindings"), &binding);
}

/// The tests of this module need a simulated clock, and that a runtime.
fn within(body: impl FnOnce()) {
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    let tokio = tokio.enable_time().start_paused(true).build().unwrap();
    tokio.block_on(async { body() });
}

//! Requests in, responses out: the rules of reading, and of watching.

mod abuse;
mod form;
mod listing;
mod watching;

use api::{Key, Time};
use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use runtime::Runtime;
use serde_json::{Value, json};

use super::Watch;
use crate::request::Request;
use crate::server::{Options, Reply, Server};

/// A server whose objects are put into its store.
pub(crate) struct World {
    pub(crate) server: Server,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        Self { server: Server::empty(&Runtime::simulated(Time::EPOCH, 1), options) }
    }

    /// Writes a pod and returns the version.
    pub(crate) fn put(&self, namespace: &str, name: &str, labels: &Value) -> u64 {
        let object = json!({
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"nodeName": "n"},
        });
        let key = Key::new(namespace, name);
        let revision = self.server.state().store.put(&"pods".into(), &key, object).revision;
        self.server.publish();
        revision
    }

    pub(crate) fn remove(&self, namespace: &str, name: &str) {
        let key = Key::new(namespace, name);
        self.server.state().store.remove("pods", &key).unwrap();
        self.server.publish();
    }

    /// Another write, so that the revision advances.
    pub(crate) fn touch(&self) {
        let object = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}});
        self.server.state().store.put(&"nodes".into(), &Key::new("", "n"), object);
        self.server.publish();
    }

    fn ask(&self, path: &str, accept: &str) -> Reply {
        self.ask_to(Method::GET, path, accept)
    }

    fn ask_to(&self, method: Method, path: &str, accept: &str) -> Reply {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut request = Request::new(method, path, query);
        let mut headers = HeaderMap::new();
        headers.insert("accept", accept.parse().unwrap());
        request.headers = headers;
        self.server.answer(request)
    }

    fn respond(&self, path: &str, accept: &str) -> Response<Bytes> {
        match self.ask(path, accept) {
            Reply::Whole(response) => response,
            Reply::Watch(_) => panic!("{path} is a watch"),
        }
    }

    /// The code and the document.
    fn get(&self, path: &str) -> (u16, Value) {
        self.get_as(path, "application/json")
    }

    fn get_as(&self, path: &str, accept: &str) -> (u16, Value) {
        let response = self.respond(path, accept);
        assert_eq!(response.headers()["content-type"], "application/json");
        (response.status().as_u16(), serde_json::from_slice(response.body()).unwrap())
    }

    fn watch(&self, path: &str) -> Watch {
        self.watch_as(path, "application/json")
    }

    fn watch_as(&self, path: &str, accept: &str) -> Watch {
        match self.ask(path, accept) {
            Reply::Watch(watch) => watch,
            Reply::Whole(response) => panic!("{path}: {response:?}"),
        }
    }
}

/// The events of a chunk.
fn events(chunk: &Bytes) -> Vec<Value> {
    let lines = chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// All events that are there now: the type, the object and its version.
fn drain(watch: &mut Watch) -> String {
    let mut texts = Vec::new();
    while let Some(chunk) = watch.try_next() {
        texts.extend(events(&chunk).iter().map(show));
    }
    texts.join(", ")
}

fn show(event: &Value) -> String {
    let text = |path| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let name = text("/object/metadata/name");
    match text("/type") {
        "ERROR" => format!("ERROR {} {}", event["object"]["code"], text("/object/message")),
        "BOOKMARK" => {
            let annotations = &event["object"]["metadata"]["annotations"];
            let ends = annotations["k8s.io/initial-events-end"] == "true";
            let ends = if ends { " end" } else { "" };
            format!("BOOKMARK {}{ends}", text("/object/metadata/resourceVersion"))
        }
        kind => format!("{kind} {name}@{}", text("/object/metadata/resourceVersion")),
    }
}

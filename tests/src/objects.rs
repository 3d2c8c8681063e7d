//! Objects as JSON, for tests that compare whole objects or do not care for their types.

use crate::cluster::{Caller, Cluster};
use crate::pki::User;
use crate::wait::wait_until;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use http::{Method, Request};
use kube::Client;
use kube::api::WatchEvent;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// What the workload controllers read and write, besides events.
pub const WORKLOADS: [&str; 7] = [
    "deployments",
    "replicasets",
    "daemonsets",
    "statefulsets",
    "controllerrevisions",
    "replicationcontrollers",
    "pods",
];
/// Those of them that are of the core group.
const CORE: [&str; 2] = ["replicationcontrollers", "pods"];

/// Generous: what is waited for takes a moment, but for a progress deadline.
const LIMIT: Duration = Duration::from_mins(1);
/// For the end of an object: new kinds are looked for every half minute only, and a key that has
/// failed for long tries again no sooner than after as long.
const LONG_LIMIT: Duration = Duration::from_mins(3);

/// Requests in flight while many objects are made.
const AT_ONCE: usize = 48;

/// The objects of one namespace as a user sees them, by resource and name. A resource is one of the
/// core group (`pods`), of [`WORKLOADS`], or any other, with its version and group
/// (`jobs.v1.batch`).
#[derive(Clone)]
pub struct Objects {
    client: Client,
    namespace: String,
}

impl Objects {
    /// The objects of this namespace. The empty one stands for cluster-wide objects, and for those
    /// of all namespaces where they are listed.
    pub fn of(cluster: &Cluster, namespace: &str) -> anyhow::Result<Self> {
        Self::seen_by(cluster, &Caller::User(User::Admin), namespace)
    }

    /// As [`Objects::of`], with this caller's rights.
    pub fn seen_by(cluster: &Cluster, caller: &Caller, namespace: &str) -> anyhow::Result<Self> {
        let client = cluster.client_as(&cluster.url(), caller)?;
        Ok(Self { client, namespace: namespace.to_owned() })
    }

    /// As [`Objects::of`], with each request sent once: what is refused for now (429) is an error.
    pub fn asking_once(cluster: &Cluster, namespace: &str) -> anyhow::Result<Self> {
        Ok(Self { client: cluster.admin_once()?, namespace: namespace.to_owned() })
    }

    /// Makes this namespace and returns its objects, none.
    pub async fn in_new(cluster: &Cluster, namespace: &str) -> anyhow::Result<Self> {
        cluster.create_namespace(namespace).await?;
        Self::of(cluster, namespace)
    }

    /// As the same caller sees them, the objects that are in no namespace.
    #[must_use]
    pub fn of_all(&self) -> Self {
        Self { client: self.client.clone(), namespace: String::new() }
    }

    /// The namespace's name.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// All objects of a resource; unlike in the response of the API server, each has its `kind`.
    pub async fn list(&self, resource: &str) -> anyhow::Result<Vec<Value>> {
        let mut list = self.ask(Method::GET, &self.path(resource, ""), None).await?;
        let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
        let Value::Array(mut items) = list["items"].take() else { return Ok(Vec::new()) };
        for item in &mut items {
            item["kind"] = kind.clone().into();
        }
        Ok(items)
    }

    /// All objects of a resource, as the API server lists them, and the version of the list.
    pub async fn list_at(&self, resource: &str) -> anyhow::Result<(Vec<Value>, String)> {
        let mut list = self.ask(Method::GET, &self.path(resource, ""), None).await?;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        let Value::Array(items) = list["items"].take() else { return Ok((Vec::new(), version)) };
        Ok((items, version))
    }

    /// What becomes of the objects of a resource after this version.
    pub async fn watch(
        &self,
        resource: &str,
        version: &str,
    ) -> anyhow::Result<BoxStream<'static, kube::Result<WatchEvent<Value>>>> {
        let query = format!("watch=true&allowWatchBookmarks=true&resourceVersion={version}");
        let request = Request::get(format!("{}?{query}", self.path(resource, "")));
        let events = self.client.request_events::<Value>(request.body(Vec::new())?).await?;
        Ok(events.boxed())
    }

    /// How many objects of a resource there are.
    pub async fn count(&self, resource: &str) -> anyhow::Result<u64> {
        let path = format!("{}?limit=1", self.path(resource, ""));
        let list = self.ask(Method::GET, &path, None).await?;
        let shown = list["items"].as_array().map_or(0, Vec::len);
        let rest = list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
        Ok(u64::try_from(shown)? + rest)
    }

    /// All objects of [`WORKLOADS`], by `<resource> <namespace>/<name>`.
    pub async fn workloads(&self) -> anyhow::Result<BTreeMap<String, Value>> {
        let mut all = BTreeMap::new();
        for resource in WORKLOADS {
            for object in self.list(resource).await? {
                let [namespace, name] = ["namespace", "name"].map(|key| &object["metadata"][key]);
                let [namespace, name] = [namespace, name].map(|v| v.as_str().unwrap_or_default());
                all.insert(format!("{resource} {namespace}/{name}"), object);
            }
        }
        Ok(all)
    }

    /// The object, which must be there.
    pub async fn get(&self, resource: &str, name: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, &self.path(resource, name), None).await
    }

    /// The object, or none if it is not there.
    pub async fn find(&self, resource: &str, name: &str) -> anyhow::Result<Option<Value>> {
        match self.get(resource, name).await {
            Err(error) if status_code(&error) == Some(404) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Makes the object and returns it as the API server keeps it.
    pub async fn create(&self, resource: &str, object: &Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, &self.path(resource, ""), Some(object)).await
    }

    /// Makes all of these objects, many at a time.
    pub async fn create_all(
        &self,
        resource: &str,
        objects: impl IntoIterator<Item = Value>,
    ) -> anyhow::Result<()> {
        stream::iter(objects)
            .map(|object| async move { self.create(resource, &object).await.map(drop) })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// A JSON merge patch.
    pub async fn merge(&self, resource: &str, name: &str, patch: &Value) -> anyhow::Result<()> {
        self.ask(Method::PATCH, &self.path(resource, name), Some(patch)).await.map(drop)
    }

    /// Puts this in the object's place, or in that of its subresource (`name/finalize`).
    pub async fn replace(&self, resource: &str, name: &str, object: &Value) -> anyhow::Result<()> {
        self.ask(Method::PUT, &self.path(resource, name), Some(object)).await.map(drop)
    }

    /// Deletes the object and leaves what it owns to a garbage collector, if one runs.
    pub async fn delete(&self, resource: &str, name: &str) -> anyhow::Result<()> {
        let options = json!({"propagationPolicy": "Background"});
        self.delete_with(resource, name, &options).await.map(drop)
    }

    /// Deletes the object with these DeleteOptions, and returns what is left of it or a Status.
    pub async fn delete_with(
        &self,
        resource: &str,
        name: &str,
        options: &Value,
    ) -> anyhow::Result<Value> {
        self.ask(Method::DELETE, &self.path(resource, name), Some(options)).await
    }

    /// Waits until the object is not there; the error shows what holds it.
    pub async fn gone(&self, resource: &str, name: &str) -> anyhow::Result<()> {
        let what = format!("the end of {resource} {}/{name}", self.namespace);
        wait_until(&what, LONG_LIMIT, async || {
            let Some(object) = self.find(resource, name).await? else { return Ok(Some(())) };
            let key = |key: &str| &object["metadata"][key];
            let (deleted, finalizers) = (key("deletionTimestamp"), key("finalizers"));
            let (owners, conditions) = (key("ownerReferences"), &object["status"]["conditions"]);
            anyhow::bail!("deleted {deleted}, {finalizers}, owned by {owners}, {conditions}")
        })
        .await
    }

    /// Waits until the object is as wanted; the error shows its status.
    pub async fn wait(
        &self,
        resource: &str,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let what = format!("{resource} {}/{name} {what}", self.namespace);
        wait_until(&what, LIMIT, async || {
            let object = self.get(resource, name).await?;
            anyhow::ensure!(wanted(&object), "{}", object["status"]);
            Ok(Some(object))
        })
        .await
    }

    fn path(&self, resource: &str, name: &str) -> String {
        path(&self.namespace, resource, name)
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = body.map(serde_json::to_vec).transpose()?.unwrap_or_default();
        let request =
            Request::builder().method(method).uri(path).header("content-type", content_type);
        Ok(self.client.request(request.body(body)?).await?)
    }
}

fn path(namespace: &str, resource: &str, name: &str) -> String {
    let (resource, group) = match resource.split_once('.') {
        // Without a group it is no resource, and the API server says so.
        Some((resource, rest)) => {
            let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
            (resource, format!("/apis/{group}/{version}"))
        }
        None if WORKLOADS.contains(&resource) && !CORE.contains(&resource) => {
            (resource, "/apis/apps/v1".to_owned())
        }
        None => (resource, "/api/v1".to_owned()),
    };
    let namespace = match namespace {
        "" => String::new(),
        namespace => format!("/namespaces/{namespace}"),
    };
    format!("{group}{namespace}/{resource}/{name}").trim_end_matches('/').to_owned()
}

/// The HTTP status with which the API server has refused something, if that is what the error is.
pub fn status_code(error: &anyhow::Error) -> Option<u16> {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

/// Whether a Deployment or DaemonSet has observed its spec and is all as asked for.
pub fn rolled_out(object: &Value) -> bool {
    let (spec, status) = (&object["spec"], &object["status"]);
    let count = |key: &str| status[key].as_i64().unwrap_or(0);
    if status["observedGeneration"] != object["metadata"]["generation"] {
        return false;
    }
    match spec["replicas"].as_i64() {
        Some(wanted) => {
            ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
                .iter()
                .all(|key| count(key) == wanted)
                && count("terminatingReplicas") == 0
        }
        None => ["currentNumberScheduled", "updatedNumberScheduled", "numberAvailable"]
            .iter()
            .all(|key| count(key) == count("desiredNumberScheduled")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_says_its_group_or_is_known() {
        let rows = [
            ("a", "pods", "p", "/api/v1/namespaces/a/pods/p"),
            ("a", "deployments", "", "/apis/apps/v1/namespaces/a/deployments"),
            ("a", "replicationcontrollers", "", "/api/v1/namespaces/a/replicationcontrollers"),
            ("", "nodes", "n", "/api/v1/nodes/n"),
            ("a", "jobs.v1.batch", "j", "/apis/batch/v1/namespaces/a/jobs/j"),
            ("", "things.v1.x.example.com", "", "/apis/x.example.com/v1/things"),
        ];
        for (namespace, resource, name, expected) in rows {
            assert_eq!(path(namespace, resource, name), expected);
        }
    }

    #[test]
    fn rolled_out_means_every_count_of_the_current_generation() {
        let done = json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
            "availableReplicas": 2, "observedGeneration": 3});
        let object = |status: &Value| {
            let metadata = json!({"generation": 3});
            json!({"metadata": metadata, "spec": {"replicas": 2}, "status": status})
        };
        assert!(rolled_out(&object(&done)));
        for key in ["updatedReplicas", "availableReplicas", "observedGeneration"] {
            let mut status = done.clone();
            status[key] = 1.into();
            assert!(!rolled_out(&object(&status)), "{key}");
        }
    }
}

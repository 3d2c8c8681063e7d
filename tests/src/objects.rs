//! Objects as JSON, for tests that compare whole objects or do not care for their types.

use crate::cluster::Cluster;
use crate::wait::wait_until;
use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// What the workload controllers read and write, besides events.
pub const WORKLOADS: [&str; 5] =
    ["deployments", "replicasets", "daemonsets", "controllerrevisions", "pods"];

/// Generous: what is waited for takes a moment, but for a progress deadline.
const LIMIT: Duration = Duration::from_mins(1);

/// The objects of one namespace as an admin sees them, by resource (`pods`) and name. Resources
/// are those of the core group and of apps/v1.
#[derive(Clone)]
pub struct Objects {
    client: Client,
    namespace: String,
}

impl Objects {
    /// The objects of this namespace. The empty one stands for cluster-wide objects, and for those
    /// of all namespaces where they are listed.
    pub fn of(cluster: &Cluster, namespace: &str) -> anyhow::Result<Self> {
        Ok(Self { client: cluster.admin()?, namespace: namespace.to_owned() })
    }

    /// All objects of a resource; unlike in the answer of the API server, each has its `kind`.
    pub async fn list(&self, resource: &str) -> anyhow::Result<Vec<Value>> {
        let mut list = self.ask(Method::GET, &self.path(resource, ""), None).await?;
        let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
        let Value::Array(mut items) = list["items"].take() else { return Ok(Vec::new()) };
        for item in &mut items {
            item["kind"] = kind.clone().into();
        }
        Ok(items)
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

    /// Makes the object and returns it as the API server keeps it.
    pub async fn create(&self, resource: &str, object: &Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, &self.path(resource, ""), Some(object)).await
    }

    /// A JSON merge patch.
    pub async fn merge(&self, resource: &str, name: &str, patch: &Value) -> anyhow::Result<()> {
        self.ask(Method::PATCH, &self.path(resource, name), Some(patch)).await.map(drop)
    }

    /// Deletes the object and leaves what it owns alone: no garbage collector runs.
    pub async fn delete(&self, resource: &str, name: &str) -> anyhow::Result<()> {
        let options = json!({"propagationPolicy": "Background"});
        self.ask(Method::DELETE, &self.path(resource, name), Some(&options)).await.map(drop)
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
        let group = match resource {
            "deployments" | "replicasets" | "daemonsets" | "controllerrevisions" => "/apis/apps/v1",
            _ => "/api/v1",
        };
        let namespace = match self.namespace.as_str() {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        format!("{group}{namespace}/{resource}/{name}").trim_end_matches('/').to_owned()
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

//! Waiting until something is so.

use std::time::Duration;

use api::Key;
use serde_json::Value;

use crate::command::Target;
use crate::play::{counted, version};
use crate::resources::{items, text};
use crate::show::{field, number};
use crate::{Ask, Cluster, Player};

/// How often is looked whether something is so.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// For how long nothing may change before a cluster has settled.
const QUIET: Duration = Duration::from_secs(3);
/// For how long is waited for the account that pods need.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Whose objects are looked at for that, in the namespaces that the script is about.
const MOVING: [&str; 8] = [
    "configmaps",
    "controllerrevisions",
    "daemonsets",
    "deployments",
    "pods",
    "replicasets",
    "secrets",
    "serviceaccounts",
];
impl<C: Cluster> Player<'_, C> {
    /// Waits until pods can be made. A manager that makes no accounts is not waited for.
    pub(crate) async fn begin(&self) -> anyhow::Result<()> {
        let accounts = self.resources.named("serviceaccounts")?;
        let path = accounts.object_path(&Key::new(&self.namespace, "default"))?;
        let mut waited = Duration::ZERO;
        while waited < START_LIMIT && !self.cluster.ask(Ask::get(path.clone())).await?.is_ok() {
            self.cluster.tick(LOOK).await;
            waited += LOOK;
        }
        Ok(())
    }

    /// Waits until nothing has changed for a while.
    pub(crate) async fn settle(&self, limit: Duration) -> anyhow::Result<Vec<String>> {
        let (mut waited, mut quiet, mut last) = (Duration::ZERO, Duration::ZERO, None);
        while quiet < QUIET {
            if waited >= limit {
                return Ok(vec![format!("not settled after {}s", limit.as_secs())]);
            }
            let versions = self.versions().await?;
            quiet = if last.as_ref() == Some(&versions) { quiet + LOOK } else { Duration::ZERO };
            last = Some(versions);
            self.cluster.tick(LOOK).await;
            waited += LOOK;
        }
        Ok(Vec::new())
    }

    /// The versions of all objects that a settled cluster does not change.
    async fn versions(&self) -> anyhow::Result<Vec<String>> {
        let mut versions = Vec::new();
        for namespace in &self.seen {
            let path = self.resources.named("namespaces")?.object_path(&Key::new("", namespace))?;
            versions.push(version(&self.cluster.ask(Ask::get(path)).await?).unwrap_or_default());
            for name in MOVING {
                let path = self.resources.named(name)?.collection_path(namespace);
                let reply = self.cluster.ask(Ask::get(path)).await?;
                let listed = items(&reply.body, "items").iter();
                versions.extend(listed.map(|it| {
                    let metadata = it.get("metadata").unwrap_or(&Value::Null);
                    format!("{} {}", text(metadata, "uid"), text(metadata, "resourceVersion"))
                }));
            }
        }
        Ok(versions)
    }

    pub(crate) async fn until(
        &self,
        target: &Target,
        path: &str,
        value: &str,
        limit: Duration,
    ) -> anyhow::Result<Vec<String>> {
        let mut waited = Duration::ZERO;
        let wanted = format!("{path}: {value}");
        loop {
            let objects = match self.objects(target).await? {
                Ok(objects) => objects,
                Err(failure) => vec![Err(failure)],
            };
            let told = |it: &Result<Value, String>| match it {
                Ok(object) => format!("{path}: {}", field(object, path)),
                Err(failure) => failure.clone(),
            };
            let is_so = |it: &Result<Value, String>| {
                told(it) == wanted && it.as_ref().is_ok_and(|it| is_recent(it, path))
            };
            if !objects.is_empty() && objects.iter().all(is_so) {
                return Ok(Vec::new());
            }
            if waited >= limit {
                let mut lines = vec![format!("not so after {}s:", limit.as_secs())];
                lines.extend(counted(&objects.iter().map(told).collect::<Vec<_>>()));
                return Ok(lines);
            }
            self.cluster.tick(LOOK).await;
            waited += LOOK;
        }
    }

    pub(crate) async fn until_gone(
        &self,
        target: &Target,
        limit: Duration,
    ) -> anyhow::Result<Vec<String>> {
        let mut waited = Duration::ZERO;
        loop {
            let mut left = 0;
            if let Ok((resource, keys)) = self.find(target).await? {
                for key in keys {
                    let reply = self.cluster.ask(Ask::get(resource.object_path(&key)?)).await?;
                    left += usize::from(reply.code != 404);
                }
            }
            if left == 0 {
                return Ok(Vec::new());
            }
            if waited >= limit {
                return Ok(vec![format!("{left} still there after {}s", limit.as_secs())]);
            }
            self.cluster.tick(LOOK).await;
            waited += LOOK;
        }
    }
}

/// Whether its controller has seen what an object asks for, if a field of the status is looked at:
/// as `kubectl wait`, what was true of the last generation does not count.
fn is_recent(object: &Value, path: &str) -> bool {
    let of = |path: &str| number(object, path).unwrap_or_default();
    let is_observed = object.pointer("/status/observedGeneration").is_some();
    !path.starts_with(".status.")
        || !is_observed
        || of(".status.observedGeneration") >= of(".metadata.generation")
}

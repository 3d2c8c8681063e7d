//! `rollout`, as kubectl does it.

use anyhow::Context as _;
use api::{Key, Resource};
use http::Method;
use serde_json::{Value, json};

use crate::command::{Rollout, Target};
use crate::play::outcome;
use crate::resources::{items, text};
use crate::show::{field, number};
use crate::{Ask, Cluster, Player};

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const REVISION: &str = "deployment.kubernetes.io/revision";
const HASH: &str = "pod-template-hash";

/// A revision that an object can go back to.
struct Revision {
    number: i64,
    /// The patch of the rollback.
    patch: Value,
}

impl<C: Cluster> Player<'_, C> {
    pub(crate) async fn rollout(
        &self,
        what: Rollout,
        target: &Target,
    ) -> anyhow::Result<Vec<String>> {
        let merge = |done: &'static str, patch: Value| async move {
            self.each(target, done, |path| Ask::patch(path, MERGE, patch.clone())).await
        };
        match what {
            Rollout::Restart => {
                let object = match self.one(target).await? {
                    Ok((_, _, object)) => object,
                    Err(failure) => return Ok(vec![failure]),
                };
                // Any other value will do; this one does not depend on the time.
                let old = object.pointer("/spec/template/metadata/annotations");
                let old = old.map(|it| text(it, "kubectl.kubernetes.io/restartedAt"));
                let next = old.unwrap_or_default().parse::<u64>().unwrap_or(0) + 1;
                let mark = json!({"kubectl.kubernetes.io/restartedAt": next.to_string()});
                let metadata = json!({"metadata": {"annotations": mark}});
                merge("restarted", json!({"spec": {"template": metadata}})).await
            }
            Rollout::Pause => merge("paused", json!({"spec": {"paused": true}})).await,
            Rollout::Resume => merge("resumed", json!({"spec": {"paused": null}})).await,
            Rollout::Undo(to) => self.undo(target, to).await,
            Rollout::Status => {
                let (resource, key, object) = match self.one(target).await? {
                    Ok(found) => found,
                    Err(failure) => return Ok(vec![failure]),
                };
                Ok(vec![status(&resource, &key, &object)?])
            }
            Rollout::History => {
                let (resource, key, object) = match self.one(target).await? {
                    Ok(found) => found,
                    Err(failure) => return Ok(vec![failure]),
                };
                let revisions = self.revisions(&resource, &key, &object).await?;
                Ok(revisions.iter().map(|it| format!("revision {}", it.number)).collect())
            }
        }
    }

    async fn undo(&self, target: &Target, to: Option<u64>) -> anyhow::Result<Vec<String>> {
        let (resource, key, object) = match self.one(target).await? {
            Ok(found) => found,
            Err(failure) => return Ok(vec![failure]),
        };
        let revisions = self.revisions(&resource, &key, &object).await?;
        let wanted = match to.map(i64::try_from) {
            Some(to) => revisions.iter().find(|it| Ok(it.number) == to),
            None => revisions.iter().rev().nth(1),
        };
        let Some(Revision { patch, .. }) = wanted else {
            return Ok(vec!["error: no such revision to roll back to".to_owned()]);
        };
        let path = resource.object_path(&key)?;
        let reply = self.cluster.ask(Ask::patch(path, STRATEGIC, patch.clone())).await?;
        Ok(vec![outcome(&reply, &resource, &key, "rolled back")])
    }

    /// The one object of a target.
    async fn one(&self, target: &Target) -> anyhow::Result<Result<(Resource, Key, Value), String>> {
        let (resource, keys) = match self.find(target).await? {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure)),
        };
        let key = keys.into_iter().next().context("there is no such object")?;
        let ask = Ask { method: Method::GET, ..Ask::get(resource.object_path(&key)?) };
        let reply = self.cluster.ask(ask).await?;
        Ok(if reply.is_ok() { Ok((resource, key, reply.body)) } else { Err(reply.failure()) })
    }

    /// Those that an object had, the oldest first: ReplicaSets of a Deployment, ControllerRevisions
    /// of others.
    async fn revisions(
        &self,
        resource: &Resource,
        key: &Key,
        object: &Value,
    ) -> anyhow::Result<Vec<Revision>> {
        let is_deployment = resource.kind == "Deployment";
        let name = if is_deployment { "replicasets" } else { "controllerrevisions" };
        let path = self.resources.named(name)?.collection_path(&key.namespace);
        let reply = self.cluster.ask(Ask::get(path)).await?;
        let uid = field(object, ".metadata.uid");
        let is_own = |it: &&Value| owners(it).iter().any(|owner| text(owner, "uid") == uid);
        let owned = items(&reply.body, "items").iter().filter(is_own);
        let mut revisions = Vec::new();
        for it in owned {
            revisions.push(if is_deployment { of_replica_set(it)? } else { of_revision(it)? });
        }
        revisions.sort_by_key(|it| it.number);
        Ok(revisions)
    }
}

fn of_replica_set(set: &Value) -> anyhow::Result<Revision> {
    let annotations = set.pointer("/metadata/annotations").unwrap_or(&Value::Null);
    // One that was adopted has none, which kubectl takes for 0.
    let number = match text(annotations, REVISION).as_str() {
        "" => 0,
        number => number.parse().context(REVISION)?,
    };
    let mut template = set.pointer("/spec/template").cloned().unwrap_or_default();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(HASH);
    }
    if let Some(template) = template.as_object_mut() {
        template.insert("$patch".to_owned(), "replace".into());
    }
    Ok(Revision { number, patch: json!({"spec": {"template": template}}) })
}

fn of_revision(revision: &Value) -> anyhow::Result<Revision> {
    let patch = revision.get("data").cloned().unwrap_or_default();
    Ok(Revision { number: number(revision, ".revision")?, patch })
}

fn owners(object: &Value) -> &[Value] {
    items(object.get("metadata").unwrap_or(&Value::Null), "ownerReferences")
}

/// As kubectl's DeploymentStatusViewer and DaemonSetStatusViewer.
fn status(resource: &Resource, key: &Key, object: &Value) -> anyhow::Result<String> {
    let name = &key.name;
    let seen = number(object, ".status.observedGeneration")?;
    if seen < number(object, ".metadata.generation")? {
        return Ok(format!("Waiting for {} spec update to be observed...", resource.kind));
    }
    let of = |path: &str| number(object, path);
    if resource.kind == "DaemonSet" {
        let wanted = of(".status.desiredNumberScheduled")?;
        let (updated, available) =
            (of(".status.updatedNumberScheduled")?, of(".status.numberAvailable")?);
        let waiting = format!("Waiting for daemon set {name:?} rollout to finish:");
        return Ok(if updated < wanted {
            format!("{waiting} {updated} out of {wanted} new pods have been updated...")
        } else if available < wanted {
            format!("{waiting} {available} of {wanted} updated pods are available...")
        } else {
            format!("daemon set {name:?} successfully rolled out")
        });
    }
    if field(object, ".status.conditions[Progressing].reason") == "ProgressDeadlineExceeded" {
        return Ok(format!("error: deployment {name:?} exceeded its progress deadline"));
    }
    let (wanted, updated) = (of(".spec.replicas")?, of(".status.updatedReplicas")?);
    let (replicas, available) = (of(".status.replicas")?, of(".status.availableReplicas")?);
    let waiting = format!("Waiting for deployment {name:?} rollout to finish:");
    Ok(if updated < wanted {
        format!("{waiting} {updated} out of {wanted} new replicas have been updated...")
    } else if replicas > updated {
        format!("{waiting} {} old replicas are pending termination...", replicas - updated)
    } else if available < updated {
        format!("{waiting} {available} of {updated} updated replicas are available...")
    } else {
        format!("deployment {name:?} successfully rolled out")
    })
}

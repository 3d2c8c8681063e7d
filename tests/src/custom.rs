//! Kinds that come and go while a cluster runs, and kinds that cannot be had: a conversion webhook
//! that is down, an aggregated API without a server.

use crate::cluster::Cluster;
use crate::objects::Objects;
use crate::wait::wait_until;
use serde_json::{Value, json};
use std::time::Duration;

const DEFINITIONS: &str = "customresourcedefinitions.v1.apiextensions.k8s.io";
const API_SERVICES: &str = "apiservices.v1.apiregistration.k8s.io";
/// An API server with a thousand definitions takes its time.
const LIMIT: Duration = Duration::from_mins(1);

/// A namespaced kind that a CustomResourceDefinition brings. It is served as v1 and v1beta1, and
/// stored as v1beta1: a client that reads v1, the preferred version, needs the conversion.
#[derive(Debug, Clone)]
pub struct CustomKind {
    plural: String,
    group: String,
}

/// A group of APIs that an APIService promises but that no server provides.
#[derive(Debug, Clone)]
pub struct NoServer {
    group: String,
}

// === impl CustomKind ===

impl CustomKind {
    /// A kind with this plural in a group of its own; nothing is made yet.
    pub fn new(plural: &str) -> Self {
        Self::of_group(plural, &format!("{plural}.example.com"))
    }

    /// A kind of this group.
    pub fn of_group(plural: &str, group: &str) -> Self {
        Self { plural: plural.to_owned(), group: group.to_owned() }
    }

    /// Makes the definition and waits until the kind is served.
    pub async fn define(&self, cluster: &Cluster) -> anyhow::Result<()> {
        self.define_in(cluster, &versions(), &self.resource()).await
    }

    /// The same with the version alone that objects are stored in.
    pub async fn define_as_stored(&self, cluster: &Cluster) -> anyhow::Result<()> {
        self.define_in(cluster, &[version("v1beta1", true)], &self.stored_resource()).await
    }

    /// From now on a newer version is served too, and preferred, but cannot be read: conversion is
    /// done by a webhook at an address that refuses connections. Returns once discovery says so.
    pub async fn prefer_unreadable(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let all = Objects::of(cluster, "")?;
        let patch = json!({"spec": {"versions": versions(), "conversion": dead_webhook()}});
        all.merge(DEFINITIONS, &self.definition_name(), &patch).await?;
        wait_until(&format!("v1 of {} to be preferred", self.group), LIMIT, async || {
            let groups = cluster.aggregated_discovery().await?;
            let mut items = groups["items"].as_array().into_iter().flatten();
            let group = items.find(|item| item["metadata"]["name"] == *self.group);
            Ok(group.filter(|group| group["versions"][0]["version"] == "v1").map(drop))
        })
        .await
    }

    /// Deletes the definition, all objects with it, and waits until both are deleted.
    pub async fn withdraw(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let all = Objects::of(cluster, "")?;
        all.delete(DEFINITIONS, &self.definition_name()).await?;
        all.gone(DEFINITIONS, &self.definition_name()).await
    }

    /// From now on conversion is done by a webhook at an address that refuses connections. Returns
    /// once this object of the kind cannot be read.
    pub async fn break_conversion(&self, objects: &Objects, name: &str) -> anyhow::Result<()> {
        self.convert_by(objects, &dead_webhook()).await?;
        wait_until("the conversion to fail", LIMIT, async || {
            Ok(objects.get(&self.resource(), name).await.err().map(drop))
        })
        .await
    }

    /// Lets conversion be nothing to do again, and returns once this object can be read, or has
    /// been deleted by a manager that could read it sooner.
    pub async fn repair_conversion(&self, objects: &Objects, name: &str) -> anyhow::Result<()> {
        self.convert_by(objects, &json!({"strategy": "None", "webhook": null})).await?;
        let served = async || objects.find(&self.resource(), name).await.map(Some);
        wait_until("the conversion to work", LIMIT, served).await.map(drop)
    }

    /// The resource as [`Objects`] names it.
    pub fn resource(&self) -> String {
        format!("{}.v1.{}", self.plural, self.group)
    }

    /// The same in the version that objects are stored in.
    pub fn stored_resource(&self) -> String {
        format!("{}.v1beta1.{}", self.plural, self.group)
    }

    /// The kind's name.
    pub fn kind(&self) -> String {
        let plural = self.plural.trim_end_matches('s');
        let (first, rest) = plural.split_at(1.min(plural.len()));
        format!("{}{rest}", first.to_uppercase())
    }

    /// An object of the kind with this metadata.
    pub fn object(&self, metadata: &Value) -> Value {
        let version = format!("{}/v1", self.group);
        json!({"apiVersion": version, "kind": self.kind(), "metadata": metadata})
    }

    async fn define_in(
        &self,
        cluster: &Cluster,
        versions: &[Value],
        resource: &str,
    ) -> anyhow::Result<()> {
        let all = Objects::of(cluster, "")?;
        all.create(DEFINITIONS, &self.definition(versions)).await?;
        let what = format!("{resource} to be served");
        wait_until(&what, LIMIT, async || Ok(Some(all.count(resource).await?))).await.map(drop)
    }

    async fn convert_by(&self, objects: &Objects, conversion: &Value) -> anyhow::Result<()> {
        let patch = json!({"spec": {"conversion": conversion}});
        objects.of_all().merge(DEFINITIONS, &self.definition_name(), &patch).await
    }

    fn definition_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    fn definition(&self, versions: &[Value]) -> Value {
        let names = json!({"plural": self.plural, "kind": self.kind(),
            "singular": self.kind().to_lowercase(), "listKind": format!("{}List", self.kind())});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.definition_name()},
            "spec": {"group": self.group, "scope": "Namespaced", "names": names,
                "versions": versions},
        })
    }
}

fn versions() -> [Value; 2] {
    [version("v1", false), version("v1beta1", true)]
}

fn version(name: &str, is_stored: bool) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"name": name, "served": true, "storage": is_stored,
        "schema": {"openAPIV3Schema": schema}})
}

/// A conversion without a webhook behind it.
fn dead_webhook() -> Value {
    let client = json!({"url": "https://127.0.0.1:1/convert"});
    let webhook = json!({"clientConfig": client, "conversionReviewVersions": ["v1"]});
    json!({"strategy": "Webhook", "webhook": webhook})
}

// === impl NoServer ===

impl NoServer {
    /// Promises v1 of this group and waits until discovery calls it unavailable.
    pub async fn promise(cluster: &Cluster, group: &str) -> anyhow::Result<Self> {
        let all = Objects::of(cluster, "")?;
        let name = format!("v1.{group}");
        let service = json!({"name": "nobody", "namespace": "default"});
        let spec = json!({"group": group, "version": "v1", "service": service,
            "insecureSkipTLSVerify": true, "groupPriorityMinimum": 1000, "versionPriority": 10});
        all.create(API_SERVICES, &json!({"metadata": {"name": name}, "spec": spec})).await?;
        all.wait(API_SERVICES, &name, "to be unavailable", |service| {
            let conditions = service["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|c| c["type"] == "Available" && c["status"] == "False")
        })
        .await?;
        let here = Self { group: group.to_owned() };
        here.is_discovered(cluster).await?;
        Ok(here)
    }

    /// Takes the promise back; discovery forgets the group some moments later.
    pub async fn take_back(self, cluster: &Cluster) -> anyhow::Result<()> {
        let all = Objects::of(cluster, "")?;
        all.delete(API_SERVICES, &format!("v1.{}", self.group)).await
    }

    async fn is_discovered(&self, cluster: &Cluster) -> anyhow::Result<()> {
        wait_until(&format!("{} in discovery", self.group), LIMIT, async || {
            let groups = cluster.aggregated_discovery().await?;
            let mut items = groups["items"].as_array().into_iter().flatten();
            let is_there = items.any(|item| item["metadata"]["name"] == self.group);
            Ok(is_there.then_some(()))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_the_plural() {
        let kind = CustomKind::new("things");
        assert_eq!(kind.resource(), "things.v1.things.example.com");
        assert_eq!(kind.definition(&versions())["metadata"]["name"], "things.things.example.com");
        let object = kind.object(&json!({"name": "one"}));
        assert_eq!(object["apiVersion"], "things.example.com/v1");
        assert_eq!(object["kind"], "Thing");
    }
}

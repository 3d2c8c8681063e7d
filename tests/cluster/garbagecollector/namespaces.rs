//! Owners in other namespaces, and in none: upstream's garbage_collector_test.go and
//! cluster_scoped_owner_test.go.

use super::{LIMIT, World, knows, name_of, owned_by, start};
use anyhow::{Context, ensure};
use cluster_tests::{Cluster, Manager, Objects, Options, wait_until};
use serde_json::{Value, json};

const CHILDREN: usize = 10;
const INVALID: usize = 5;

/// A parent with its children in one namespace, and children in another that may not be its own.
pub(super) struct Across {
    valid: Objects,
    invalid: Objects,
    parent: Value,
}

/// TestCrossNamespaceReferencesWithoutWatchCache
pub(super) async fn without_watch_cache() -> anyhow::Result<()> {
    let apiserver_args = vec!["--watch-cache=false".to_owned()];
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    let across = Across::prepare(&cluster, ["a", "b"]).await?;
    let manager = start(&cluster).await?;
    across.check(&manager).await.with_context(|| manager.log())
}

// === impl Across ===

impl Across {
    /// Before a manager runs, so that it is as after a restart of one.
    pub(super) async fn prepare(cluster: &Cluster, names: [&str; 2]) -> anyhow::Result<Self> {
        let invalid = Objects::in_new(cluster, names[0]).await?;
        let valid = Objects::in_new(cluster, names[1]).await?;
        let parent = json!({"metadata": {"name": "parent"}});
        let parent = valid.create("configmaps", &parent).await?;
        let owner = owned_by(&parent, json!({"controller": false}));
        let metadata = json!({"generateName": "child-", "ownerReferences": [owner]});
        let child = json!({"metadata": metadata});
        valid.create_all("secrets", vec![child; CHILDREN]).await?;

        let across = Self { valid, invalid, parent };
        let mut owners: Vec<_> = (0..25)
            .map(|number| {
                json!({"apiVersion": "test/v1", "kind": format!("invalid{number}"),
                    "name": "invalid", "uid": format!("invalid-{number}")})
            })
            .collect();
        owners.push(across.bad_reference());
        let metadata = json!({"generateName": "invalid-child-", "ownerReferences": owners});
        let child = json!({"metadata": metadata});
        across.invalid.create_all("configmaps", vec![child.clone(); INVALID]).await?;
        across.invalid.create_all("secrets", vec![child; INVALID]).await?;
        across.invalid.create_all("secrets", vec![across.bad_child("bad-"); INVALID]).await?;
        Ok(across)
    }

    pub(super) async fn check(&self, manager: &Manager) -> anyhow::Result<()> {
        wait_until("the end of the bad children", LIMIT, async || {
            let secrets = self.invalid.list("secrets").await?;
            let bad = secrets.iter().filter(|secret| name_of(secret).starts_with("bad-")).count();
            ensure!(bad == 0, "{bad} are left");
            Ok(Some(()))
        })
        .await?;
        ensure!(self.valid.list("secrets").await?.len() == CHILDREN);
        ensure!(knows(manager, &self.parent).await?, "the parent is in the graph");
        // The graph is right by now: a new one is deleted too, and no other object.
        let late = self.invalid.create("secrets", &self.bad_child("late-")).await?;
        self.invalid.gone("secrets", &name_of(&late)).await?;
        self.event(&name_of(&late)).await?;
        ensure!(self.valid.list("secrets").await?.len() == CHILDREN);
        // One of these owners may exist, for all that is known of its kind.
        ensure!(self.invalid.list("secrets").await?.len() == INVALID);
        ensure!(self.invalid.list("configmaps").await?.len() == INVALID);
        Ok(())
    }

    /// The Event about this child; of the others only if the parent was seen before them.
    async fn event(&self, child: &str) -> anyhow::Result<()> {
        let namespace = self.invalid.namespace();
        let uid = self.parent["metadata"]["uid"].as_str().context("a uid")?;
        let owner = format!("ownerRef [v1/Pod, namespace: {namespace}, name: invalid, uid: {uid}]");
        let message = format!("{owner} does not exist in namespace \"{namespace}\"");
        wait_until("the event", LIMIT, async || {
            let events = self.invalid.list("events").await?;
            let mut of_child = events.iter().filter(|e| e["involvedObject"]["name"] == child);
            let Some(event) = of_child.next() else { return Ok(None) };
            ensure!(event["message"] == message, "{event}");
            ensure!(event["reason"] == "OwnerRefInvalidNamespace", "{event}");
            ensure!(event["type"] == "Warning", "{event}");
            ensure!(event["source"]["component"] == "garbage-collector-controller", "{event}");
            Ok(Some(()))
        })
        .await
    }

    /// The parent's uid, but in the wrong namespace and of the wrong kind and name.
    fn bad_reference(&self) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "name": "invalid", "controller": false,
            "uid": self.parent["metadata"]["uid"]})
    }

    fn bad_child(&self, prefix: &str) -> Value {
        let owners = json!([self.bad_reference()]);
        json!({"metadata": {"generateName": prefix, "ownerReferences": owners}})
    }
}

/// TestClusterScopedOwners, and a namespaced owner of a cluster-wide object: what cannot be known
/// to be without owners stays.
pub(super) async fn cluster_scoped(world: World<'_>) -> anyhow::Result<()> {
    let volume = json!({"metadata": {"name": "pv-valid"}, "spec": {
        "hostPath": {"path": "/foo"}, "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"]}});
    let all = Objects::of(world.cluster, "")?;
    let volume = all.create("persistentvolumes", &volume).await?;
    let reference = |kind: &str, version: &str| {
        let (name, uid) = ("missing", "missing-uid");
        json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid})
    };
    world.config_map("valid", &[owned_by(&volume, json!({}))]).await?;
    world.config_map("unknown", &[reference("UnknownType", "unknown.group/v1")]).await?;
    let owner = world.config_map("owner", &[]).await?;
    let metadata = json!({"name": "namespaced", "ownerReferences": [owned_by(&owner, json!({}))]});
    all.create("namespaces", &json!({"metadata": metadata})).await?;
    world.objects.delete("configmaps", "owner").await?;
    // This one is deleted, as is the next, after all that was there has been looked at.
    for name in ["missing", "missing-later"] {
        world.config_map(name, &[reference("PersistentVolume", "v1")]).await?;
        world.objects.gone("configmaps", name).await?;
    }
    ensure!(world.names("configmaps").await? == ["unknown", "valid"]);
    ensure!(all.find("namespaces", "namespaced").await?.is_some());
    all.delete("persistentvolumes", "pv-valid").await?;
    // No controller here sees that it is not in use.
    let free = json!({"metadata": {"finalizers": null}});
    all.merge("persistentvolumes", "pv-valid", &free).await?;
    world.objects.gone("configmaps", "valid").await
}

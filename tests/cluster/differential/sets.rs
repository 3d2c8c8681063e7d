//! StatefulSets: their pods, claims and revisions after each step; quotas and ranges of addresses
//! beside them.

use std::collections::BTreeMap;

use anyhow::Context as _;
use cluster_tests::{quiet, rolled_out};
use serde_json::{Value, json};

use super::{CALM, Scene, Teller};

const SETS: &str = "statefulsets";
const CLAIMS: &str = "persistentvolumeclaims";
const REVISIONS: &str = "controllerrevisions.v1.apps";
const QUOTAS: &str = "resourcequotas";
const RANGES: &str = "servicecidrs.v1.networking.k8s.io";

impl Teller {
    /// It is scaled and updated, keeps its claims first and lets them go later.
    pub(super) async fn set_with_claims(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(SETS, "s-claims").await?;
        let objects = scene.objects.clone();
        scene.create_set(json!({"replicas": 2, "volumeClaimTemplates": [claim()]})).await?;
        self.all_done(&scene, "made").await?;
        for replicas in [3, 1] {
            scene.spec(json!({"replicas": replicas})).await?;
            self.all_done(&scene, &format!("to {replicas}")).await?;
        }
        for (when_scaled, when_deleted) in
            [("Retain", "Delete"), ("Delete", "Retain"), ("Delete", "Delete")]
        {
            let policy = json!({"whenScaled": when_scaled, "whenDeleted": when_deleted});
            scene.spec(json!({"persistentVolumeClaimRetentionPolicy": policy})).await?;
            self.all_done(&scene, &format!("policy {policy}")).await?;
        }
        scene.spec(json!({"replicas": 3})).await?;
        self.all_done(&scene, "to 3 again").await?;
        scene.spec(json!({"replicas": 1})).await?;
        for name in ["data-s-claims-2", "data-s-claims-1"] {
            objects.gone(CLAIMS, name).await?;
        }
        self.all_done(&scene, "to 1 without claims").await?;
        objects.delete(SETS, scene.name).await?;
        objects.gone(CLAIMS, "data-s-claims-0").await?;
        self.all_settled(&scene, "deleted").await
    }

    /// Updates, one that is undone, a partition, and a pod that is stuck until somebody deletes
    /// it. The revisions have the same names and the same bytes.
    pub(super) async fn set_rolls(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(SETS, "s-rolls").await?;
        let objects = scene.objects.clone();
        scene.create_set(json!({"replicas": 2, "revisionHistoryLimit": 2})).await?;
        self.all_done(&scene, "made").await?;
        for image in ["two", "three", "four", "five"] {
            scene.image(image).await?;
            self.all_done(&scene, image).await?;
        }
        self.kubectl(&scene, "undo").await?;
        self.all_done(&scene, "undone").await?;
        let partition = |at: i64| json!({"updateStrategy": {"rollingUpdate": {"partition": at}}});
        scene.spec(partition(1)).await?;
        scene.image("six").await?;
        let is_half = |set: &Value| {
            set["status"]["updatedReplicas"] == 1 && set["status"]["readyReplicas"] == 2
        };
        objects.wait(SETS, scene.name, "to update one pod", is_half).await?;
        self.all_settled(&scene, "down to the partition").await?;
        scene.spec(partition(0)).await?;
        self.all_done(&scene, "without a partition").await?;
        scene.unready().await?;
        let is_stuck = |set: &Value| {
            set["status"]["updatedReplicas"] == 1 && set["status"]["readyReplicas"] == 1
        };
        objects.wait(SETS, scene.name, "to be stuck", is_stuck).await?;
        self.all_settled(&scene, "stuck").await?;
        let metadata = json!({"annotations": {"cluster-tests/outcome": null}});
        scene.spec(json!({"template": {"metadata": metadata}})).await?;
        self.all_settled(&scene, "still stuck").await?;
        objects.delete("pods", "s-rolls-1").await?;
        self.all_done(&scene, "freed").await
    }

    /// All at once, from another number on; left alone by its set, and found by the next one.
    pub(super) async fn set_is_parallel(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(SETS, "s-parallel").await?;
        let spec = json!({"replicas": 3, "podManagementPolicy": "Parallel",
            "ordinals": {"start": 5}, "minReadySeconds": 1});
        scene.create_set(spec.clone()).await?;
        self.all_done(&scene, "made").await?;
        scene.spec(json!({"ordinals": {"start": 6}})).await?;
        scene.objects.gone("pods", "s-parallel-5").await?;
        self.all_done(&scene, "renumbered").await?;
        let orphan = json!({"propagationPolicy": "Orphan"});
        scene.objects.delete_with(SETS, scene.name, &orphan).await?;
        scene.objects.gone(SETS, scene.name).await?;
        self.all_settled(&scene, "orphans").await?;
        let mut spec = spec;
        spec["ordinals"]["start"] = json!(6);
        scene.create_set(spec).await?;
        self.all_done(&scene, "adopted").await
    }

    /// e2e: should not delete PVCs when there is another controller; should delete PVCs after
    /// adopting pod. Of two claims that have other owners, one is managed by its owner.
    pub(super) async fn set_shares_claims(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(SETS, "s-shared").await?;
        let objects = scene.objects.clone();
        let map = json!({"metadata": {"name": "keeper"}});
        let keeper = objects.create("configmaps", &map).await?;
        self.normal.learn([&keeper]);
        let uid = &keeper["metadata"]["uid"];
        scene.create_set(json!({"replicas": 4, "volumeClaimTemplates": [claim()]})).await?;
        self.all_done(&scene, "made").await?;
        for (name, manages) in [("data-s-shared-1", Value::Null), ("data-s-shared-3", true.into())]
        {
            let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "keeper",
                "uid": uid, "controller": manages});
            objects.merge(CLAIMS, name, &json!({"metadata": {"ownerReferences": [owner]}})).await?;
        }
        let orphan = json!({"metadata": {"ownerReferences": null}});
        objects.merge("pods", "s-shared-2", &orphan).await?;
        let is_owned = |pod: &Value| pod["metadata"]["ownerReferences"].is_array();
        objects.wait("pods", "s-shared-2", "to be adopted", is_owned).await?;
        let delete = json!({"whenScaled": "Delete", "whenDeleted": "Delete"});
        scene.spec(json!({"persistentVolumeClaimRetentionPolicy": delete})).await?;
        self.all_done(&scene, "policy").await?;
        scene.spec(json!({"replicas": 1})).await?;
        objects.gone(CLAIMS, "data-s-shared-2").await?;
        self.all_done(&scene, "to 1").await?;
        objects.delete(SETS, scene.name).await?;
        objects.gone(CLAIMS, "data-s-shared-0").await?;
        self.all_settled(&scene, "deleted").await?;
        for name in ["data-s-shared-1", "data-s-shared-3"] {
            objects.get(CLAIMS, name).await?;
        }
        Ok(())
    }

    /// e2e: should not deadlock when a pod's predecessor fails.
    pub(super) async fn set_waits_for_pods(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(SETS, "s-waits").await?;
        let objects = scene.objects.clone();
        let mut set = scene.object(json!({"replicas": 2}));
        let unready = json!({"cluster-tests/outcome": "unready"});
        set["spec"]["template"]["metadata"]["annotations"] = unready;
        objects.create(SETS, &set).await?;
        let runs = |pod: &Value| pod["status"]["phase"] == "Running";
        objects.wait("pods", "s-waits-0", "to run", runs).await?;
        self.all_settled(&scene, "the first is not ready").await?;
        let resume = json!({"metadata": {"annotations": {"cluster-tests/outcome": "running"}}});
        let old = objects.get("pods", "s-waits-0").await?["metadata"]["uid"].clone();
        objects.merge("pods", "s-waits-0", &resume).await?;
        objects.wait("pods", "s-waits-1", "to run", runs).await?;
        self.all_settled(&scene, "the second is not ready").await?;
        objects.delete("pods", "s-waits-0").await?;
        let runs_again = |pod: &Value| pod["metadata"]["uid"] != old && runs(pod);
        objects.wait("pods", "s-waits-0", "to run again", runs_again).await?;
        self.all_settled(&scene, "the first is another one").await?;
        for name in ["s-waits-1", "s-waits-0"] {
            objects.merge("pods", name, &resume).await?;
        }
        self.all_done(&scene, "both are ready").await
    }

    /// What is used of quotas as objects come and go and limits change.
    pub(super) async fn quotas_count(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(QUOTAS, "quotas").await?;
        let objects = &scene.objects;
        let hard = json!({"cpu": "10", "limits.memory": "0.5Ti", "pods": "10", "services": "1k",
            "services.nodeports": "3", "requests.storage": "10Gi", CLAIMS: "4",
            "fast.storageclass.storage.k8s.io/requests.storage": "5Gi",
            "count/configmaps": "100", "count/nothing.example.com": "1"});
        for (name, hard, scopes) in [
            ("all", &hard, json!([])),
            ("ends", &json!({"pods": "5"}), json!(["Terminating"])),
            ("poor", &json!({"pods": "5"}), json!(["BestEffort", "NotTerminating"])),
        ] {
            let spec = json!({"hard": hard, "scopes": scopes});
            objects.create(QUOTAS, &json!({"metadata": {"name": name}, "spec": spec})).await?;
            let is_counted = |quota: &Value| quota["status"]["used"]["pods"] == "0";
            objects.wait(QUOTAS, name, "to be counted", is_counted).await?;
        }
        self.counted(&scene, "made").await?;
        make_what_counts(&scene).await?;
        self.counted(&scene, "used").await?;
        objects.delete_with("pods", "big", &json!({"gracePeriodSeconds": 0})).await?;
        objects.delete("services", "open").await?;
        let is_less = |quota: &Value| {
            quota["status"]["used"]["pods"] == "1"
                && quota["status"]["used"]["services.nodeports"] == "0"
        };
        objects.wait(QUOTAS, "all", "to count less", is_less).await?;
        self.counted(&scene, "less used").await?;
        let hard = json!({"spec": {"hard": {"cpu": null, "pods": "0", "secrets": "7"}}});
        objects.merge(QUOTAS, "all", &hard).await?;
        let has_more = |quota: &Value| quota["status"]["used"]["secrets"] == "0";
        objects.wait(QUOTAS, "all", "to have other limits", has_more).await?;
        self.counted(&scene, "other limits").await?;
        objects.delete(QUOTAS, "all").await?;
        self.counted(&scene, "one deleted").await
    }

    /// A range that is ready, and one that is deleted while a Service has an address of it.
    pub(super) async fn ranges_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(RANGES, "ranges").await?;
        let all = scene.objects.of_all();
        let says = async |name: &str, status: &str| {
            let is_so = |range: &Value| range["status"]["conditions"][0]["status"] == status;
            all.wait(RANGES, name, &format!("to say {status} of Ready"), is_so).await
        };
        for (name, cidr) in [("spare", "10.97.0.0/24"), ("taken", "10.98.0.0/24")] {
            let range = json!({"metadata": {"name": name}, "spec": {"cidrs": [cidr]}});
            all.create(RANGES, &range).await?;
            says(name, "True").await?;
        }
        self.ranged(&scene, "made").await?;
        let spec = json!({"clusterIP": "10.98.0.7", "ports": [{"port": 80}]});
        let service = json!({"metadata": {"name": "far"}, "spec": spec});
        scene.objects.create("services", &service).await?;
        all.delete(RANGES, "taken").await?;
        says("taken", "False").await?;
        self.ranged(&scene, "held back").await?;
        scene.objects.delete("services", "far").await?;
        all.gone(RANGES, "taken").await?;
        self.ranged(&scene, "gone").await
    }

    async fn all_done(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        let done = scene.objects.wait(SETS, scene.name, step, rolled_out).await;
        done.with_context(|| self.manager.log())?;
        self.all_settled(scene, step).await
    }

    /// Keeps the workloads with their claims, and the revisions as they are.
    async fn all_settled(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let mut objects: Vec<_> = scene.objects.workloads().await?.into_values().collect();
        objects.extend(scene.objects.list(CLAIMS).await?);
        self.keep(scene, step, &objects);
        let mut raw = BTreeMap::new();
        for revision in scene.objects.list(REVISIONS).await? {
            let name = &revision["metadata"]["name"];
            raw.insert(format!("{name} {} {}", revision["revision"], revision["data"]), 1);
        }
        self.story.steps.push((format!("{}: {step}: revisions", scene.name), raw));
        Ok(())
    }

    async fn counted(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let objects = scene.objects.list(QUOTAS).await?;
        self.keep(scene, step, &objects);
        Ok(())
    }

    async fn ranged(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let objects = scene.objects.of_all().list(RANGES).await?;
        self.keep(scene, step, &objects);
        Ok(())
    }
}

impl Scene {
    /// Makes a set whose pods are placed: nobody binds claims here.
    async fn create_set(&self, more: Value) -> anyhow::Result<()> {
        let mut set = self.object(more);
        set["spec"]["template"]["spec"]["nodeName"] = json!("node-0");
        self.objects.create(SETS, &set).await.map(drop)
    }
}

/// Objects of each kind that the quotas count, some of them in one scope only.
async fn make_what_counts(scene: &Scene) -> anyhow::Result<()> {
    let objects = &scene.objects;
    let big = json!({"requests": {"cpu": "0.25"}, "limits": {"cpu": "1500m", "memory": "1536Mi"}});
    let none = json!({"limits": {"cpu": "1", "memory": "1k"}});
    for (name, resources, deadline) in [("big", big, Value::Null), ("ends", none, json!(100_000))] {
        let container = json!({"name": "main", "image": "main", "resources": resources});
        let spec = json!({"nodeName": "node-0", "activeDeadlineSeconds": deadline,
            "containers": [container]});
        objects.create("pods", &json!({"metadata": {"name": name}, "spec": spec})).await?;
        let runs = |pod: &Value| pod["status"]["phase"] == "Running";
        objects.wait("pods", name, "to run", runs).await?;
    }
    for (name, class) in [("a", "fast"), ("b", "slow")] {
        let spec = json!({"storageClassName": class, "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1536Mi"}}});
        objects.create(CLAIMS, &json!({"metadata": {"name": name}, "spec": spec})).await?;
    }
    let ports = json!([{"port": 80}]);
    for (name, kind) in [("open", "NodePort"), ("plain", "ClusterIP")] {
        let spec = json!({"type": kind, "ports": ports});
        objects.create("services", &json!({"metadata": {"name": name}, "spec": spec})).await?;
    }
    let is_counted = |quota: &Value| quota["status"]["used"][CLAIMS] == "2";
    objects.wait(QUOTAS, "all", "to count all", is_counted).await.map(drop)
}

fn claim() -> Value {
    json!({"metadata": {"name": "data", "labels": {"of": "all"}}, "spec": {
        "storageClassName": "", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}})
}

//! How things end: owners with what they own, and namespaces with what is in them.

use super::{CALM, LIMIT, Scene, Teller};
use anyhow::Context;
use cluster_tests::{quiet, wait_until};
use serde_json::{Value, json};

/// What is compared beside the workloads.
const OTHERS: [&str; 5] = ["configmaps", "serviceaccounts", "jobs.v1.batch", CLAIMS, BUDGETS];
const BUDGETS: &str = "poddisruptionbudgets.v1.policy";
const CLAIMS: &str = "persistentvolumeclaims";

pub(super) async fn tell(teller: &mut Teller) -> anyhow::Result<()> {
    teller.deployments_end().await?;
    teller.references_end().await?;
    teller.jobs_end().await?;
    teller.accounts_come_back().await?;
    teller.claims_end().await?;
    teller.volumes_end().await?;
    teller.classes_end().await?;
    teller.pods_get_volumes().await?;
    teller.tokens_sign_and_end().await?;
    teller.guarded_pods_end().await?;
    teller.certificates_are_signed().await?;
    teller.authorities_are_published().await?;
    teller.namespaces_end().await
}

impl Teller {
    /// In each of the three ways.
    async fn deployments_end(&mut self) -> anyhow::Result<()> {
        for (name, policy) in
            [("background", "Background"), ("foreground", "Foreground"), ("orphan", "Orphan")]
        {
            let scene = self.scene("deployments", name).await?;
            scene.create(json!({"replicas": 2})).await?;
            self.done(&scene, "made").await?;
            let options = json!({ "propagationPolicy": policy });
            scene.objects.delete_with("deployments", name, &options).await?;
            scene.objects.gone("deployments", name).await?;
            if policy != "Orphan" {
                wait_until("the pods to go", LIMIT, async || {
                    Ok((scene.objects.count("pods").await? == 0).then_some(()))
                })
                .await?;
            }
            self.ended(&scene, "deleted").await?;
        }
        Ok(())
    }

    /// Owners that are there, that never were, that are elsewhere, and that wait.
    async fn references_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("configmaps", "references").await?;
        let elsewhere = self.scene("configmaps", "elsewhere").await?;
        let solid = scene.map("solid", &[], json!({})).await?;
        let far = elsewhere.map("far", &[], json!({})).await?;
        self.ended(&elsewhere, "there").await?;
        let never = ("never".to_owned(), "00000000-0000-0000-0000-000000000000".to_owned());
        scene.map("of-never", &[&never], json!({})).await?;
        scene.map("of-both", &[&solid, &never], json!({})).await?;
        scene.map("of-far", &[&far], json!({})).await?;
        for name in ["of-never", "of-far"] {
            scene.objects.gone("configmaps", name).await?;
        }
        let lone = |map: &Value| map["metadata"]["ownerReferences"].as_array().map(Vec::len);
        scene
            .objects
            .wait("configmaps", "of-both", "to let go", |map| lone(map) == Some(1))
            .await?;
        self.ended(&scene, "referred").await?;

        let waiting = scene.map("waiting", &[], json!({})).await?;
        let held = json!({"finalizers": ["example.com/held"]});
        scene.map("holding", &[&waiting], held).await?;
        scene.map("loose", &[&waiting, &solid], json!({})).await?;
        let options = json!({"propagationPolicy": "Foreground"});
        scene.objects.delete_with("configmaps", "waiting", &options).await?;
        let is_deleted = |map: &Value| map["metadata"]["deletionTimestamp"].is_string();
        scene.objects.wait("configmaps", "holding", "to be deleted", is_deleted).await?;
        scene.objects.wait("configmaps", "loose", "to let go", |map| lone(map) == Some(1)).await?;
        self.ended(&scene, "waits").await?;
        let free = json!({"metadata": {"finalizers": null}});
        scene.objects.merge("configmaps", "holding", &free).await?;
        scene.objects.gone("configmaps", "waiting").await?;
        self.ended(&scene, "waited").await
    }

    /// One at once, with what it owns; one is held, and one stays.
    async fn jobs_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("jobs.v1.batch", "jobs").await?;
        let container = json!({"name": "main", "image": "example.com/image"});
        let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
        for (name, ttl_seconds, finalizers) in [
            ("now", json!(0), json!([])),
            ("held", json!(1), json!(["example.com/held"])),
            ("stays", Value::Null, json!([])),
        ] {
            let spec = json!({"ttlSecondsAfterFinished": ttl_seconds, "template": template});
            let metadata = json!({"name": name, "finalizers": finalizers});
            let job = json!({"metadata": metadata, "spec": spec});
            let job = scene.objects.create("jobs.v1.batch", &job).await?;
            let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name,
                "uid": job["metadata"]["uid"], "blockOwnerDeletion": true}]);
            let metadata = json!({"name": format!("of-{name}"), "ownerReferences": owner});
            scene.objects.create("configmaps", &json!({ "metadata": metadata })).await?;
            let at = &job["metadata"]["creationTimestamp"];
            let is = |word| json!({"type": word, "status": "True", "lastTransitionTime": at});
            let conditions = json!([is("FailureTarget"), is("Failed")]);
            let status = json!({"status": {"startTime": at, "conditions": conditions}});
            scene.objects.merge("jobs.v1.batch", &format!("{name}/status"), &status).await?;
        }
        scene.objects.gone("jobs.v1.batch", "now").await?;
        scene.objects.gone("configmaps", "of-held").await?;
        let is_held = |job: &Value| job["metadata"]["finalizers"] == json!(["example.com/held"]);
        scene.objects.wait("jobs.v1.batch", "held", "to wait", is_held).await?;
        self.ended(&scene, "gone").await?;
        let free = json!({"metadata": {"finalizers": null}});
        scene.objects.merge("jobs.v1.batch", "held", &free).await?;
        scene.objects.gone("jobs.v1.batch", "held").await?;
        self.ended(&scene, "let go").await
    }

    async fn accounts_come_back(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("serviceaccounts", "accounts").await?;
        let there = async || {
            scene.objects.wait("serviceaccounts", "default", "to be there", |_| true).await?;
            scene.objects.wait("configmaps", "kube-root-ca.crt", "to be there", |_| true).await
        };
        there().await?;
        self.ended(&scene, "made").await?;
        scene.objects.delete("serviceaccounts", "default").await?;
        scene.objects.delete("configmaps", "kube-root-ca.crt").await?;
        there().await?;
        self.ended(&scene, "made again").await
    }

    /// One that a pod uses, one that a pod on no node names, and one that no pod does.
    async fn claims_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(CLAIMS, "claims").await?;
        let objects = &scene.objects;
        for name in ["used", "awaited", "unused", "bare"] {
            let resources = json!({"requests": {"storage": "1Gi"}});
            let spec = json!({"storageClassName": "", "accessModes": ["ReadWriteOnce"],
                "resources": resources});
            objects.create(CLAIMS, &json!({"metadata": {"name": name}, "spec": spec})).await?;
        }
        for (claim, place) in [
            ("used", json!({"nodeName": "node-0"})),
            ("awaited", json!({"schedulerName": "nobody"})),
        ] {
            let mut spec = place;
            spec["containers"] = json!([{"name": "main", "image": "main"}]);
            spec["volumes"] =
                json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
            objects.create("pods", &json!({"metadata": {"name": claim}, "spec": spec})).await?;
        }
        let runs = |pod: &Value| pod["status"]["phase"] == "Running";
        objects.wait("pods", "used", "to run", runs).await?;
        objects.merge(CLAIMS, "bare", &json!({"metadata": {"finalizers": null}})).await?;
        let is_protected = |claim: &Value| claim["metadata"]["finalizers"].is_array();
        objects.wait(CLAIMS, "bare", "to be protected", is_protected).await?;
        self.ended(&scene, "made").await?;
        for name in ["used", "awaited", "unused"] {
            scene.objects.delete(CLAIMS, name).await?;
        }
        for name in ["awaited", "unused"] {
            scene.objects.gone(CLAIMS, name).await?;
        }
        self.ended(&scene, "deleted").await?;
        scene.objects.delete("pods", "used").await?;
        scene.objects.gone(CLAIMS, "used").await?;
        self.ended(&scene, "unused").await
    }

    /// A pod that is evicted, and is replaced.
    async fn guarded_pods_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "guarded").await?;
        let objects = &scene.objects;
        scene.create(json!({"replicas": 3})).await?;
        self.done(&scene, "made").await?;
        let spec = json!({"maxUnavailable": "34%",
            "selector": {"matchLabels": {"app": "guarded"}}});
        objects.create(BUDGETS, &json!({"metadata": {"name": "guard"}, "spec": spec})).await?;
        let allows = |budget: &Value| budget["status"]["disruptionsAllowed"] == 2;
        objects.wait(BUDGETS, "guard", "to allow two", allows).await?;
        self.ended(&scene, "guarded").await?;
        let pods = objects.list("pods").await?;
        let name = pods[0]["metadata"]["name"].as_str().context("a name")?;
        let eviction = json!({"metadata": {"name": name}});
        objects.create(&format!("pods/{name}/eviction"), &eviction).await?;
        objects.gone("pods", name).await?;
        objects.wait(BUDGETS, "guard", "to allow two again", allows).await?;
        self.ended(&scene, "evicted").await
    }

    /// One that a finalizer holds, and then not.
    async fn namespaces_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "ends").await?;
        scene.create(json!({"replicas": 2})).await?;
        self.done(&scene, "made").await?;
        for name in ["a", "b"] {
            scene.map(name, &[], json!({"finalizers": ["example.com/held"]})).await?;
        }
        let all = scene.objects.of_all();
        all.delete("namespaces", "ends").await?;
        let is_held = |namespace: &Value| {
            let conditions = namespace["status"]["conditions"].to_string();
            conditions.contains("example.com/held in 2 resource instances")
        };
        all.wait("namespaces", "ends", "to be held", is_held)
            .await
            .with_context(|| self.manager.log())?;
        self.ended(&scene, "held").await?;
        for name in ["a", "b"] {
            let free = json!({"metadata": {"finalizers": null}});
            scene.objects.merge("configmaps", name, &free).await?;
        }
        all.gone("namespaces", "ends").await?;
        self.ended(&scene, "ended").await
    }

    /// Waits until nothing more happens, and keeps what is there, the namespace too.
    async fn ended(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let mut objects: Vec<_> = scene.objects.workloads().await?.into_values().collect();
        for resource in OTHERS {
            objects.extend(scene.objects.list(resource).await?);
        }
        objects.extend(scene.objects.of_all().find("namespaces", scene.name).await?);
        for object in &mut objects {
            // The clusters have authorities of their own.
            if object["metadata"]["name"] == "kube-root-ca.crt" {
                object["data"]["ca.crt"] = json!(object["data"]["ca.crt"].is_string());
            }
        }
        self.keep(scene, step, &objects);
        Ok(())
    }
}

impl Scene {
    /// Makes a ConfigMap with these owners, as name and uid, whose deletion it blocks. Returns its
    /// own name and uid.
    async fn map(
        &self,
        name: &str,
        owners: &[&(String, String)],
        more: Value,
    ) -> anyhow::Result<(String, String)> {
        let owner = |(name, uid): &(String, String)| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid,
                "blockOwnerDeletion": true})
        };
        let mut metadata = more;
        metadata["name"] = name.into();
        metadata["ownerReferences"] = owners.iter().map(|it| owner(it)).collect();
        let made = self.objects.create("configmaps", &json!({ "metadata": metadata })).await?;
        let uid = made["metadata"]["uid"].as_str().context("a uid")?;
        Ok((name.to_owned(), uid.to_owned()))
    }
}

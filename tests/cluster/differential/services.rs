//! Services: what is listed of their pods, after each step. All pods are by hand, so that both
//! clusters have the same addresses.

use std::time::Duration;

use anyhow::Context as _;
use cluster_tests::{Objects, quiet};
use serde_json::{Value, json};

use super::{Scene, Teller};

/// Longer than slices wait until changes of theirs are looked at.
const CALM: Duration = Duration::from_secs(3);
const SLICES: &str = "endpointslices.v1.discovery.k8s.io";
const NODE: &str = "by-hand";

pub(super) async fn tell(teller: &mut Teller) -> anyhow::Result<()> {
    let node = json!({"metadata": {"name": NODE, "labels": {"topology.kubernetes.io/zone": "a"}}});
    Objects::of(&teller.cluster, "")?.create("nodes", &node).await?;
    let scene = teller.scene("services", "services").await?;
    teller.shapes_are_made(&scene).await?;
    teller.pods_come_and_go(&scene).await?;
    teller.services_change(&scene).await?;
    teller.endpoints_are_mirrored(&scene).await?;
    for name in ["plain", "named", "custom", "headless"] {
        scene.objects.delete("services", name).await?;
    }
    teller.listed(&scene, "deleted").await
}

impl Teller {
    async fn shapes_are_made(&mut self, scene: &Scene) -> anyhow::Result<()> {
        let selector = json!({"app": "web"});
        let named = json!([{"name": "http", "port": 80, "targetPort": "http"}]);
        for (name, spec) in [
            ("plain", json!({"selector": selector, "ports": [{"port": 80}]})),
            ("named", json!({"selector": selector, "ports": named})),
            ("headless", json!({"selector": selector, "clusterIP": "None", "ports": named})),
            ("no-ports", json!({"selector": selector, "clusterIP": "None"})),
            (
                "publishes",
                json!({"selector": selector, "publishNotReadyAddresses": true, "ports": named}),
            ),
            (
                "same-node",
                json!({"selector": selector, "trafficDistribution": "PreferSameNode",
                    "ports": [{"port": 80}]}),
            ),
            (
                "several",
                json!({"selector": selector, "ports": [
                    {"name": "a", "port": 80, "targetPort": 1, "appProtocol": "example.com/x"},
                    {"name": "b", "port": 81, "targetPort": "http"},
                    {"name": "c", "port": 82, "targetPort": "none"},
                    {"name": "d", "port": 80, "protocol": "UDP"}]}),
            ),
            (
                "external",
                json!({"type": "ExternalName", "externalName": "example.com",
                "selector": selector}),
            ),
            ("custom", json!({"ports": [{"port": 80}]})),
        ] {
            let metadata = json!({"name": name, "labels": {"team": "a"}});
            scene.objects.create("services", &json!({"metadata": metadata, "spec": spec})).await?;
        }
        self.listed(scene, "made").await
    }

    async fn pods_come_and_go(&mut self, scene: &Scene) -> anyhow::Result<()> {
        let objects = &scene.objects;
        for (number, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            let port = json!({"name": "http", "containerPort": 8080 + number % 2});
            let container = json!({"name": "main", "image": "main", "ports": [port]});
            let mut pod = json!({"metadata": {"name": name, "labels": {"app": "web"}},
                "spec": {"nodeName": NODE, "containers": [container]}});
            if name == "a" {
                pod["spec"]["hostname"] = json!("h");
                pod["spec"]["subdomain"] = json!("headless");
            }
            objects.create("pods", &pod).await?;
        }
        self.listed(scene, "pods without addresses").await?;
        let say = async |name: &str, phase: &str, ready: &str, since: &str| {
            let ip = format!("10.200.0.{}", name.as_bytes()[0]);
            let since = format!("2026-01-02T03:04:{since}Z");
            let condition = json!({"type": "Ready", "status": ready, "lastTransitionTime": since});
            let status = json!({"phase": phase, "podIP": ip, "podIPs": [{ "ip": ip }],
                "conditions": [condition]});
            objects.merge("pods", &format!("{name}/status"), &json!({ "status": status })).await
        };
        for (name, ready) in [("a", "True"), ("b", "True"), ("c", "False"), ("d", "True")] {
            say(name, "Running", ready, "05").await?;
            self.listed(scene, &format!("{name} has an address")).await?;
        }
        say("c", "Running", "True", "06").await?;
        self.listed(scene, "one is ready").await?;
        say("b", "Running", "False", "07").await?;
        self.listed(scene, "one is not ready").await?;
        objects.merge("pods", "b", &json!({"metadata": {"labels": {"app": "db"}}})).await?;
        self.listed(scene, "one has other labels").await?;
        say("d", "Succeeded", "False", "08").await?;
        self.listed(scene, "one has ended").await?;
        objects.delete("pods", "a").await?;
        self.listed(scene, "one is terminating").await?;
        let grace = json!({"gracePeriodSeconds": 0});
        for name in ["a", "d"] {
            objects.delete_with("pods", name, &grace).await?;
        }
        self.listed(scene, "one is left").await
    }

    async fn services_change(&mut self, scene: &Scene) -> anyhow::Result<()> {
        for (name, patch) in [
            ("plain", json!({"metadata": {"labels": {"team": "b", "x": "y"}}})),
            ("plain", json!({"metadata": {"annotations": {"x": "y"}}})),
            ("plain", json!({"spec": {"ports": [{"port": 80, "targetPort": 81}]}})),
            ("named", json!({"spec": {"selector": {"app": "db"}}})),
            ("publishes", json!({"spec": {"publishNotReadyAddresses": false}})),
            ("same-node", json!({"spec": {"trafficDistribution": null}})),
            ("several", json!({"spec": {"selector": null}})),
            (
                "external",
                json!({"spec": {"type": "ClusterIP", "externalName": null,
                "ports": [{"port": 80}]}}),
            ),
            ("no-ports", json!({"spec": {"ports": [{"port": 80}]}})),
        ] {
            scene.objects.merge("services", name, &patch).await?;
            self.listed(scene, &format!("{name} {patch}")).await?;
        }
        Ok(())
    }

    async fn endpoints_are_mirrored(&mut self, scene: &Scene) -> anyhow::Result<()> {
        let objects = &scene.objects;
        let first = json!({"addresses": [{"ip": "192.0.2.2"}, {"ip": "192.0.2.1", "hostname": "h",
            "nodeName": "n"}], "ports": [{"name": "sql", "port": 5432}]});
        let second = json!({"notReadyAddresses": [{"ip": "fd00::1"}],
            "ports": [{"name": "x", "port": 1, "protocol": "UDP", "appProtocol": "x.io/y"}]});
        let metadata = json!({"name": "custom", "labels": {"a": "b"}, "annotations": {"c": "d"}});
        let made = json!({"metadata": metadata, "subsets": [first, second]});
        objects.create("endpoints", &made).await?;
        self.listed(scene, "mirrored").await?;
        let skip = |value: Value| {
            let label = "endpointslice.kubernetes.io/skip-mirror";
            json!({"metadata": {"labels": {label: value}}})
        };
        for patch in [
            json!({"metadata": {"labels": {"a": null}, "annotations": {"c": "e"}}}),
            json!({"subsets": [second, first, second]}),
            json!({"subsets": [first]}),
            json!({"subsets": null}),
            json!({"subsets": [first]}),
            skip(json!("true")),
            skip(Value::Null),
        ] {
            objects.merge("endpoints", "custom", &patch).await?;
            self.listed(scene, &format!("custom {patch}")).await?;
        }
        let selected = json!({"spec": {"selector": {"app": "db"}}});
        objects.merge("services", "custom", &selected).await?;
        self.listed(scene, "custom has a selector").await
    }

    /// Keeps what is listed of all Services once nothing more happens.
    async fn listed(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let mut objects = Vec::new();
        for resource in ["services", "pods", "endpoints", SLICES] {
            objects.extend(scene.objects.list(resource).await?);
        }
        // What names refer to.
        self.normal.learn(&objects);
        objects.retain(|it| it["kind"] == "Endpoints" || it["kind"] == "EndpointSlice");
        objects.iter_mut().for_each(plain);
        self.keep(scene, step, &objects);
        Ok(())
    }
}

/// Without made up names, and how often a slice was written; in the order of the addresses, which
/// is chance with upstream's manager.
fn plain(object: &mut Value) {
    if object["kind"] == "EndpointSlice"
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove("name");
        metadata.remove("generation");
    }
    let sort = |list: &mut Value| {
        if let Some(items) = list.as_array_mut() {
            items.sort_by_key(ToString::to_string);
        }
    };
    for list in ["endpoints", "ports"] {
        if object.get(list).is_some() {
            sort(&mut object[list]);
        }
    }
    for subset in object.get_mut("subsets").and_then(Value::as_array_mut).into_iter().flatten() {
        for list in ["addresses", "notReadyAddresses", "ports"] {
            if subset.get(list).is_some() {
                sort(&mut subset[list]);
            }
        }
    }
    if object.get("subsets").is_some() {
        sort(&mut object["subsets"]);
    }
}

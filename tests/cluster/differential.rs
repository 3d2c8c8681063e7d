//! The same story on two clusters, one with upstream's manager and one with ours: after each step
//! the same objects are there, and in the end the same events.
//!
//! What is left out of the comparison: see [`Normal`]. What is compared of `managedFields`: which
//! managers wrote which part of an object, not the fields.

mod certificates;
mod ending;
mod services;
mod sets;
mod tokens;
mod volumes;

use anyhow::{Context, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Normal, Objects, Options, User, kubectl, quiet, rolled_out,
    wait_until,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

const NODES: usize = 3;
/// Above the minute in which the garbage collection of pods comes round twice.
const LIMIT: Duration = Duration::from_secs(100);
/// How long nothing may happen until a step counts as done.
const CALM: Duration = Duration::from_secs(1);
const ARGS: &[&str] =
    &["--controllers=daemonset-controller,deployment-controller,replicaset-controller,\
     replicationcontroller-controller,pod-garbage-collector-controller"];
/// Controllers that delete, beside those that create.
const ENDING: &[&str] = &[
    "--controllers=daemonset-controller,deployment-controller,replicaset-controller,\
     garbage-collector-controller,namespace-controller,serviceaccount-controller,\
     root-ca-certificate-publisher-controller,ttl-after-finished-controller,\
     certificatesigningrequest-approving-controller,certificatesigningrequest-signing-controller,\
     persistentvolumeclaim-protection-controller,\
     disruption-controller,ephemeral-volume-controller,persistentvolume-protection-controller,\
     volumeattributesclass-protection-controller,bootstrap-signer-controller,\
     token-cleaner-controller,kube-apiserver-serving-clustertrustbundle-publisher-controller",
    GATE,
];
/// So that there are bundles of authorities, for the API server and the managers.
const GATE: &str = "--feature-gates=ClusterTrustBundle=true";
const BETAS_SERVED: &str = "--runtime-config=certificates.k8s.io/v1beta1=true";
/// Controllers that list the pods of Services.
const LISTING: &[&str] = &["--controllers=endpoints-controller,endpointslice-controller,\
                           endpointslice-mirroring-controller"];
/// Controllers that keep sets with claims, count, and watch over addresses.
const KEEPING: &[&str] =
    &["--controllers=statefulset-controller,resourcequota-controller,service-cidr-controller,\
     garbage-collector-controller,persistentvolumeclaim-protection-controller"];
/// Rollouts that move more than one pod at a time take their steps as pods get ready; and a surge
/// pod that is to go is deleted twice by upstream's manager if it does not see the first time soon.
/// What their events count is a matter of moments, as it is how often a set tries what is refused,
/// or a pod finds a claim in its way, or a set one that others manage.
const LOOSE: [&str; 6] = ["loose", "pauses", "d-surges", "old", "blocked", "s-shared"];

/// Other components that emit Events: the scheduler, and the API server when it finds that the
/// address of its own Service is not noted down yet (1.36.3,
/// pkg/registry/core/service/ipallocator/controller).
const OTHERS: [&str; 3] =
    ["default-scheduler", "ipallocator-repair-controller", "portallocator-repair-controller"];

/// What was seen on one cluster.
#[derive(Default)]
struct Story {
    /// The objects after each step, in JSON, and how many were equal.
    steps: Vec<(String, BTreeMap<String, usize>)>,
    /// How often each Event was reported.
    events: BTreeMap<String, u64>,
}

#[tokio::test]
async fn both_managers_tell_the_same_story() -> anyhow::Result<()> {
    let told_by = async |binary| {
        let teller = Teller::begin(binary, ARGS).await?;
        tell(teller).await.with_context(|| format!("{binary:?}"))
    };
    let (upstream, ours) = tokio::try_join!(told_by(Binary::Upstream), told_by(Binary::Ours))?;
    compare(&upstream, &ours)
}

#[tokio::test]
async fn both_managers_end_things_alike() -> anyhow::Result<()> {
    let told_by = async |binary| {
        let mut teller = Teller::begin(binary, ENDING).await?;
        ending::tell(&mut teller).await.with_context(|| format!("{binary:?}"))?;
        teller.end().await
    };
    let (upstream, ours) = tokio::try_join!(told_by(Binary::Upstream), told_by(Binary::Ours))?;
    compare(&upstream, &ours)
}

#[tokio::test]
async fn both_managers_list_pods_alike() -> anyhow::Result<()> {
    let told_by = async |binary| {
        let mut teller = Teller::begin(binary, LISTING).await?;
        services::tell(&mut teller).await.with_context(|| format!("{binary:?}"))?;
        teller.end().await
    };
    let (upstream, ours) = tokio::try_join!(told_by(Binary::Upstream), told_by(Binary::Ours))?;
    compare(&upstream, &ours)
}

#[tokio::test]
async fn both_managers_keep_sets_and_counts_alike() -> anyhow::Result<()> {
    let told_by = async |binary| {
        let mut teller = Teller::begin(binary, KEEPING).await?;
        let told = async {
            teller.set_with_claims().await?;
            teller.set_rolls().await?;
            teller.set_is_parallel().await?;
            teller.set_shares_claims().await?;
            teller.set_waits_for_pods().await?;
            teller.quotas_count().await?;
            teller.ranges_end().await
        };
        told.await.with_context(|| format!("{binary:?}"))?;
        teller.end().await
    };
    let (upstream, ours) = tokio::try_join!(told_by(Binary::Upstream), told_by(Binary::Ours))?;
    compare(&upstream, &ours)
}

fn compare(upstream: &Story, ours: &Story) -> anyhow::Result<()> {
    let mut differences = String::new();
    for ((step, left), (_, right)) in upstream.steps.iter().zip(&ours.steps) {
        difference(&mut differences, step, left, right)?;
    }
    difference(&mut differences, "events", &upstream.events, &ours.events)?;
    ensure!(differences.is_empty(), "{differences}");
    let objects = upstream.steps.iter().flat_map(|(_, objects)| objects.values()).sum::<usize>();
    let (steps, events) = (upstream.steps.len(), upstream.events.len());
    println!("{steps} steps, {objects} objects and {events} kinds of events are equal");
    Ok(())
}

/// Writes down what only one side has, or has more often.
fn difference<N: PartialEq + std::fmt::Display>(
    out: &mut String,
    step: &str,
    upstream: &BTreeMap<String, N>,
    ours: &BTreeMap<String, N>,
) -> std::fmt::Result {
    for (side, here, there) in [("upstream", upstream, ours), ("ours", ours, upstream)] {
        for (text, count) in here.iter().filter(|(text, count)| there.get(*text) != Some(count)) {
            writeln!(out, "{step}: only {side}: {count} × {text}")?;
        }
    }
    Ok(())
}

/// Each scene has a namespace of its own and leaves its objects where they are.
async fn tell(mut teller: Teller) -> anyhow::Result<Story> {
    let gone = teller.nodes_come_and_go().await?;
    teller.deployment_scales().await?;
    teller.deployment_rolls().await?;
    teller.deployment_rolls_without_surge().await?;
    teller.deployment_rolls_faster().await?;
    teller.deployment_stalls().await?;
    teller.deployment_pauses().await?;
    teller.deployment_recreates().await?;
    teller.deployment_forgets().await?;
    teller.deployment_is_made_again().await?;
    teller.orphans_are_adopted().await?;
    teller.replication_controller_scales().await?;
    teller.daemon_set_rolls().await?;
    teller.daemon_set_waits_for_deletion().await?;
    teller.daemon_set_surges().await?;
    teller.daemon_pod_fails().await?;
    teller.daemon_set_is_made_again().await?;
    teller.pods_of_a_deleted_node(&gone).await?;
    teller.end().await
}

/// One cluster and what was seen of it.
struct Teller {
    cluster: Cluster,
    manager: Manager,
    normal: Normal,
    story: Story,
}

/// One namespace and the workload in it, which have the same name.
struct Scene {
    objects: Objects,
    resource: &'static str,
    name: &'static str,
}

impl Teller {
    async fn begin(binary: Binary, args: &[&str]) -> anyhow::Result<Self> {
        let apiserver_args = [GATE, BETAS_SERVED].map(str::to_owned).to_vec();
        let options = Options { nodes: NODES, apiserver_args, ..Options::default() };
        let cluster = Cluster::start(options).await?;
        let manager = Manager::start(&cluster, binary, User::ControllerManager, args)?;
        Ok(Self { cluster, manager, normal: Normal::default(), story: Story::default() })
    }

    async fn deployment_scales(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "scales").await?;
        scene.create(json!({"replicas": 2})).await?;
        self.done(&scene, "made").await?;
        for replicas in [5, 1, 0, 3] {
            scene.spec(json!({"replicas": replicas})).await?;
            self.done(&scene, &format!("to {replicas}")).await?;
        }
        Ok(())
    }

    async fn deployment_rolls(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "rolls").await?;
        let strategy = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
        scene.create(json!({"replicas": 2, "strategy": strategy})).await?;
        self.done(&scene, "made").await?;
        for image in ["two", "three"] {
            scene.image(image).await?;
            self.done(&scene, image).await?;
        }
        Ok(())
    }

    async fn deployment_rolls_without_surge(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "shifts").await?;
        let strategy = json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
        scene.create(json!({"replicas": 2, "strategy": strategy})).await?;
        self.done(&scene, "made").await?;
        for image in ["two", "one"] {
            scene.image(image).await?;
            self.done(&scene, image).await?;
        }
        // In annotations of a Deployment, which its ReplicaSets get too.
        let notes = json!({"metadata": {"annotations": {"example.com/note": "<é>"}}});
        scene.objects.merge("deployments", scene.name, &notes).await?;
        scene.spec(json!({"minReadySeconds": 1})).await?;
        self.done(&scene, "annotated").await
    }

    async fn deployment_rolls_faster(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "loose").await?;
        let strategy = json!({"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "50%"}});
        scene.create(json!({"replicas": 4, "strategy": strategy})).await?;
        self.done(&scene, "made").await?;
        scene.image("two").await?;
        self.done(&scene, "two").await?;
        scene.unready().await?;
        scene.spec(json!({"replicas": 9})).await?;
        self.settled(&scene, "scaled while it hangs").await
    }

    async fn deployment_stalls(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "stalls").await?;
        scene.create(json!({"replicas": 2, "progressDeadlineSeconds": 5})).await?;
        self.done(&scene, "made").await?;
        scene.unready().await?;
        let late = |object: &Value| object.to_string().contains("ProgressDeadlineExceeded");
        scene.objects.wait("deployments", "stalls", "to have stalled", late).await?;
        self.settled(&scene, "stalled").await?;
        self.kubectl(&scene, "undo").await?;
        self.done(&scene, "undone").await
    }

    async fn deployment_pauses(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "pauses").await?;
        scene.create(json!({"replicas": 2})).await?;
        self.done(&scene, "made").await?;
        self.kubectl(&scene, "pause").await?;
        scene.image("two").await?;
        scene.image("three").await?;
        self.settled(&scene, "paused").await?;
        scene.spec(json!({"replicas": 4})).await?;
        self.settled(&scene, "scaled while paused").await?;
        self.kubectl(&scene, "resume").await?;
        self.done(&scene, "resumed").await
    }

    async fn deployment_recreates(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "recreates").await?;
        scene.create(json!({"replicas": 3, "strategy": {"type": "Recreate"}})).await?;
        self.done(&scene, "made").await?;
        scene.image("two").await?;
        self.done(&scene, "two").await
    }

    async fn deployment_forgets(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "forgets").await?;
        scene.create(json!({"replicas": 1, "revisionHistoryLimit": 1})).await?;
        self.done(&scene, "made").await?;
        for image in ["two", "three", "four"] {
            scene.image(image).await?;
            self.done(&scene, image).await?;
        }
        scene.spec(json!({"revisionHistoryLimit": 0})).await?;
        self.done(&scene, "all forgotten").await
    }

    /// The name of the new ReplicaSet is taken by that of the old Deployment.
    async fn deployment_is_made_again(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "again").await?;
        scene.create(json!({"replicas": 1})).await?;
        self.done(&scene, "made").await?;
        scene.objects.delete("deployments", "again").await?;
        self.settled(&scene, "deleted").await?;
        scene.create(json!({"replicas": 1})).await?;
        self.done(&scene, "made again").await
    }

    async fn orphans_are_adopted(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("deployments", "orphans").await?;
        let objects = &scene.objects;
        let set = scene.object(json!({"replicas": 2}));
        objects.create("replicasets", &set).await?;
        let ready = |set: &Value| set["status"]["availableReplicas"] == 2;
        objects.wait("replicasets", scene.name, "to be ready", ready).await?;
        scene.create(json!({"replicas": 2})).await?;
        self.done(&scene, "set adopted").await?;

        let spec = &set["spec"]["template"]["spec"];
        for (app, node) in [("p-set", ""), ("p-daemon", "node-0")] {
            let mut pod = json!({"metadata": {"name": app, "labels": {"app": app}}, "spec": spec});
            if !node.is_empty() {
                pod["spec"]["nodeName"] = node.into();
            }
            objects.create("pods", &pod).await?;
            objects.wait("pods", app, "to run", |pod| pod["status"]["phase"] == "Running").await?;
        }
        let pods = Scene { objects: objects.clone(), resource: "replicasets", name: "p-set" };
        pods.create(json!({"replicas": 2})).await?;
        objects.wait("replicasets", "p-set", "to be ready", ready).await?;
        self.settled(&scene, "pod adopted").await?;
        let daemon = Scene { objects: objects.clone(), resource: "daemonsets", name: "p-daemon" };
        daemon.create(json!({})).await?;
        self.done(&daemon, "daemon pod adopted").await?;

        let pod = daemon.pod_on("node-1").await?;
        objects.merge("pods", &pod, &json!({"metadata": {"labels": {"app": "away"}}})).await?;
        daemon.replaced("node-1", &pod).await?;
        self.done(&daemon, "daemon pod released").await
    }

    /// It takes a pod, is scaled, cannot make pods for a while, and lets a pod go.
    async fn replication_controller_scales(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("replicationcontrollers", "old").await?;
        let objects = scene.objects.clone();
        let spec = scene.object(json!({}))["spec"]["template"]["spec"].clone();
        let pod = json!({"metadata": {"name": "orphan", "labels": {"app": "old"}}, "spec": spec});
        objects.create("pods", &pod).await?;
        objects.wait("pods", "orphan", "to run", |pod| pod["status"]["phase"] == "Running").await?;
        let mut set = scene.object(json!({"replicas": 1}));
        set["spec"]["selector"] = json!({"app": "old"});
        objects.create(scene.resource, &set).await?;
        scene.has(1).await?;
        self.settled(&scene, "adopted").await?;
        for replicas in [3, 0, 2] {
            scene.spec(json!({"replicas": replicas})).await?;
            scene.has(replicas).await?;
            self.settled(&scene, &format!("to {replicas}")).await?;
        }
        let pods = json!({"pods": "2"});
        let quota = json!({"metadata": {"name": "two"}, "spec": {"hard": pods}});
        objects.create("resourcequotas", &quota).await?;
        let used = json!({"status": {"hard": pods, "used": pods}});
        objects.merge("resourcequotas", "two/status", &used).await?;
        scene.spec(json!({"replicas": 3})).await?;
        let fails = |set: &Value| set["status"].to_string().contains("exceeded quota: two");
        let failing = objects.wait(scene.resource, scene.name, "to fail", fails).await?;
        let reason = &failing["status"]["conditions"][0]["reason"];
        ensure!(reason == "FailedCreate", "{failing}");
        objects.delete("resourcequotas", "two").await?;
        scene.spec(json!({"replicas": 2})).await?;
        scene.has(2).await?;
        let name = |pod: &Value| pod["metadata"]["name"].as_str().map(str::to_owned);
        let first = objects.list("pods").await?.first().and_then(name).context("a pod")?;
        objects.merge("pods", &first, &json!({"metadata": {"labels": {"app": "away"}}})).await?;
        wait_until("another pod", LIMIT, async || {
            Ok((objects.count("pods").await? == 3).then_some(()))
        })
        .await?;
        scene.has(2).await?;
        self.settled(&scene, "released").await
    }

    async fn daemon_set_rolls(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("daemonsets", "d-rolls").await?;
        let spec = json!({"revisionHistoryLimit": 1});
        scene.create(spec).await?;
        self.done(&scene, "made").await?;
        for image in ["two", "three", "four"] {
            scene.image(image).await?;
            self.done(&scene, image).await?;
        }
        scene
            .spec(json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}}}))
            .await?;
        self.kubectl(&scene, "undo").await?;
        self.done(&scene, "undone").await?;
        scene.spec(json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}})).await?;
        scene.unready().await?;
        self.settled(&scene, "hanging").await?;
        self.kubectl(&scene, "undo").await?;
        self.done(&scene, "undone while hanging").await
    }

    async fn daemon_set_waits_for_deletion(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("daemonsets", "d-waits").await?;
        scene.create(json!({"updateStrategy": {"type": "OnDelete"}})).await?;
        self.done(&scene, "made").await?;
        scene.image("two").await?;
        self.settled(&scene, "waiting").await?;
        let pod = scene.pod_on("node-1").await?;
        scene.objects.delete("pods", &pod).await?;
        scene.replaced("node-1", &pod).await?;
        self.settled(&scene, "one deleted").await
    }

    async fn daemon_set_surges(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("daemonsets", "d-surges").await?;
        let surge = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
        scene.create(json!({"updateStrategy": surge})).await?;
        self.done(&scene, "made").await?;
        scene.image("two").await?;
        self.done(&scene, "two").await?;
        scene.unready().await?;
        self.settled(&scene, "hanging").await?;
        self.kubectl(&scene, "undo").await?;
        self.done(&scene, "undone").await
    }

    async fn daemon_pod_fails(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("daemonsets", "d-fails").await?;
        scene.create(json!({})).await?;
        self.done(&scene, "made").await?;
        let pod = scene.pod_on("node-2").await?;
        let failed = json!({"metadata": {"annotations": {"cluster-tests/outcome": "failed"}}});
        scene.objects.merge("pods", &pod, &failed).await?;
        scene.replaced("node-2", &pod).await?;
        self.done(&scene, "replaced").await
    }

    /// The revision is that of the old DaemonSet, the pods are new ones.
    async fn daemon_set_is_made_again(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("daemonsets", "d-again").await?;
        scene.create(json!({})).await?;
        self.done(&scene, "made").await?;
        scene.objects.delete("daemonsets", "d-again").await?;
        self.settled(&scene, "deleted").await?;
        scene.create(json!({})).await?;
        self.done(&scene, "made again").await
    }

    /// Returns the name of a node that was deleted.
    async fn nodes_come_and_go(&mut self) -> anyhow::Result<String> {
        let scene = self.scene("daemonsets", "d-nodes").await?;
        scene.create(json!({})).await?;
        self.done(&scene, "made").await?;
        let new = self.cluster.add_nodes(1).await?.pop().context("the new node")?;
        scene.desires(4).await?;
        self.done(&scene, "node added").await?;
        let nodes = Objects::of(&self.cluster, "")?;
        let taint = async |effect: &str| {
            let taints = json!([{"key": "example.com/taint", "effect": effect}]);
            nodes.merge("nodes", &new, &json!({"spec": {"taints": taints}})).await
        };
        // Such a taint alone is not looked at before the DaemonSet is.
        taint("NoSchedule").await?;
        self.settled(&scene, "NoSchedule").await?;
        let touched = json!({"metadata": {"annotations": {"touched": "true"}}});
        scene.objects.merge("daemonsets", scene.name, &touched).await?;
        scene.desires(3).await?;
        self.settled(&scene, "touched").await?;
        taint("NoExecute").await?;
        let misplaced = |set: &Value| set["status"]["numberMisscheduled"] == 0;
        scene.objects.wait("daemonsets", scene.name, "to be off the node", misplaced).await?;
        self.settled(&scene, "NoExecute").await?;
        nodes.merge("nodes", &new, &json!({"spec": {"taints": null}})).await?;
        scene.desires(4).await?;
        self.done(&scene, "taints removed").await?;
        let labels = |value: Value| json!({"metadata": {"labels": {"example.com/pool": value}}});
        nodes.merge("nodes", "node-1", &labels("a".into())).await?;
        let selector = json!({"example.com/pool": "a"});
        scene.spec(json!({"template": {"spec": {"nodeSelector": selector}}})).await?;
        scene.desires(1).await?;
        self.done(&scene, "node selected").await?;
        nodes.merge("nodes", "node-1", &labels(Value::Null)).await?;
        nodes.merge("nodes", &new, &labels("a".into())).await?;
        scene.pod_on(&new).await?;
        self.done(&scene, "label moved").await?;
        // Not looked at before its pods are collected.
        nodes.delete("nodes", &new).await?;
        self.settled(&scene, "node removed").await?;
        Ok(new)
    }

    async fn pods_of_a_deleted_node(&mut self, node: &str) -> anyhow::Result<()> {
        let name = "d-nodes";
        let objects = Objects::of(&self.cluster, name)?;
        wait_until("the pods of the deleted node to be deleted", LIMIT, async || {
            let pods = objects.list("pods").await?;
            Ok((!pods.iter().any(|pod| pod["spec"]["nodeName"] == node)).then_some(()))
        })
        .await?;
        let scene = Scene { objects, resource: "daemonsets", name };
        scene.desires(0).await?;
        self.done(&scene, "pods collected").await
    }

    async fn scene(&self, resource: &'static str, name: &'static str) -> anyhow::Result<Scene> {
        self.cluster.create_namespace(name).await?;
        Ok(Scene { objects: Objects::of(&self.cluster, name)?, resource, name })
    }

    async fn kubectl(&self, scene: &Scene, verb: &str) -> anyhow::Result<()> {
        let workload = format!("{}/{}", scene.resource, scene.name);
        kubectl(&self.cluster, &["-n", scene.name, "rollout", verb, &workload]).await.map(drop)
    }

    /// Waits until the workload is all as asked for, and [`Teller::settled`].
    async fn done(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        scene
            .objects
            .wait(scene.resource, scene.name, step, rolled_out)
            .await
            .with_context(|| self.manager.log())?;
        self.settled(scene, step).await
    }

    /// Waits until nothing more happens, and keeps what is there.
    async fn settled(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let objects: Vec<_> = scene.objects.workloads().await?.into_values().collect();
        self.keep(scene, step, &objects);
        Ok(())
    }

    /// Keeps what is there, without what differs between equal clusters.
    fn keep(&mut self, scene: &Scene, step: &str, objects: &[Value]) {
        self.normal.learn(objects);
        let mut counted = BTreeMap::new();
        for object in objects {
            let mut object = self.normal.object(object);
            // All pods are deleted at once and created at once: which condition changed last is
            // chance.
            if scene.name == "recreates"
                && let Some(conditions) = object["status"]["conditions"].as_array_mut()
            {
                conditions.sort_by_key(|condition| condition["type"].to_string());
            }
            let mut text = object.to_string();
            // Which node comes first is chance, with upstream's manager too.
            if step.contains("hanging") {
                let names = (0..NODES).map(|index| format!("\"node-{index}\""));
                text = names.fold(text, |text, name| text.replace(&name, "<node>"));
            }
            *counted.entry(text).or_default() += 1;
        }
        self.story.steps.push((format!("{}: {step}", scene.name), counted));
    }

    async fn end(mut self) -> anyhow::Result<Story> {
        let mut loose = BTreeSet::new();
        for event in Objects::of(&self.cluster, "")?.list("events").await? {
            if OTHERS.iter().any(|other| event["reportingComponent"] == *other) {
                continue;
            }
            let (told, count) = self.normal.event(&event);
            let is_of = |scene: &&&str| event["involvedObject"]["namespace"] == ***scene;
            match LOOSE.iter().find(is_of) {
                Some(scene) => drop(loose.insert(format!("{scene} {}", event["reason"]))),
                None => *self.story.events.entry(told).or_default() += count,
            }
        }
        self.story.events.extend(loose.into_iter().map(|reason| (reason, 1)));
        Ok(self.story)
    }
}

impl Scene {
    /// The workload, with `more` in its spec.
    fn object(&self, mut more: Value) -> Value {
        let labels = json!({"app": self.name});
        more["selector"] = json!({"matchLabels": labels});
        let container = json!({"name": "main", "image": "example.com/one", "args": ["<&>", "é"]});
        more["template"] =
            json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
        json!({"metadata": {"name": self.name}, "spec": more})
    }

    async fn create(&self, more: Value) -> anyhow::Result<()> {
        self.objects.create(self.resource, &self.object(more)).await.map(drop)
    }

    async fn spec(&self, change: Value) -> anyhow::Result<()> {
        self.objects.merge(self.resource, self.name, &json!({"spec": change})).await
    }

    async fn image(&self, image: &str) -> anyhow::Result<()> {
        let container = json!({"name": "main", "image": format!("example.com/{image}")});
        self.spec(json!({"template": {"spec": {"containers": [container]}}})).await
    }

    /// A template whose pods never get ready.
    async fn unready(&self) -> anyhow::Result<()> {
        let metadata = json!({"annotations": {"cluster-tests/outcome": "unready"}});
        self.spec(json!({"template": {"metadata": metadata}})).await
    }

    /// Waits until a set has so many pods, all available.
    async fn has(&self, replicas: i64) -> anyhow::Result<()> {
        let done = |set: &Value| {
            let status = &set["status"];
            status["observedGeneration"] == set["metadata"]["generation"]
                && status["replicas"] == replicas
                && status["availableReplicas"].as_i64().unwrap_or(0) == replicas
                && status["conditions"].is_null()
        };
        let what = format!("to have {replicas} pods");
        self.objects.wait(self.resource, self.name, &what, done).await.map(drop)
    }

    async fn desires(&self, nodes: i64) -> anyhow::Result<()> {
        let wanted = |set: &Value| {
            let generation = &set["metadata"]["generation"];
            let status = &set["status"];
            status["observedGeneration"] == *generation && status["desiredNumberScheduled"] == nodes
        };
        let what = format!("to want {nodes} pods");
        self.objects.wait(self.resource, self.name, &what, wanted).await.map(drop)
    }

    /// The name of its pod on the node, once it is there.
    async fn pod_on(&self, node: &str) -> anyhow::Result<String> {
        wait_until(&format!("a pod of {} on {node}", self.name), LIMIT, async || {
            let pods = self.objects.list("pods").await?;
            let of_node = |pod: &&Value| {
                pod["spec"]["nodeName"] == node && pod["metadata"]["labels"]["app"] == self.name
            };
            let pod = pods.iter().find(of_node);
            Ok(pod.and_then(|pod| pod["metadata"]["name"].as_str()).map(str::to_owned))
        })
        .await
    }

    /// Waits until another pod than `old` is on the node.
    async fn replaced(&self, node: &str, old: &str) -> anyhow::Result<()> {
        wait_until(&format!("another pod than {old}"), LIMIT, async || {
            Ok((self.pod_on(node).await? != old).then_some(()))
        })
        .await
    }
}

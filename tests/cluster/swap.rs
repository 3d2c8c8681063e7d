//! Managers exchanged over running workloads: the next holder of the Lease finds all as it would
//! have made it itself, and writes nothing.

mod bootstrap;
mod certificates;
mod jobs;
mod quotas;
mod ranges;
mod services;
mod volumes;

use anyhow::{Context, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, Queues, User, kubectl, quiet, rolled_out, since,
    wait_until,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::endpoints::DUAL_STACK;

const LIMIT: Duration = Duration::from_mins(1);
/// How long nothing may happen until a manager counts as done.
const CALM: Duration = Duration::from_secs(5);
const NAMESPACE: &str = "swap";
pub(crate) const ARGS: &[&str] = &[
    "--controllers=daemonset-controller,deployment-controller,replicaset-controller,\
     replicationcontroller-controller,statefulset-controller,ttl-after-finished-controller,\
     cronjob-controller,job-controller,\
     pod-garbage-collector-controller,garbage-collector-controller,namespace-controller,\
     serviceaccount-controller,root-ca-certificate-publisher-controller,\
     clusterrole-aggregation-controller,ttl-controller,\
     certificatesigningrequest-approving-controller,certificatesigningrequest-signing-controller,\
     persistentvolumeclaim-protection-controller,\
     disruption-controller,endpoints-controller,endpointslice-controller,\
     endpointslice-mirroring-controller,ephemeral-volume-controller,\
     persistentvolume-protection-controller,volumeattributesclass-protection-controller,\
     bootstrap-signer-controller,token-cleaner-controller,\
     certificatesigningrequest-cleaner-controller,podcertificaterequest-cleaner-controller,\
     kube-apiserver-serving-clustertrustbundle-publisher-controller,\
     resourcequota-controller,service-cidr-controller",
    "--leader-elect=true",
    GATES,
];
/// So that there are certificate requests of pods, and bundles of authorities, for the API server
/// and the managers.
pub(crate) const GATES: &str = "--feature-gates=PodCertificateRequest=true,ClusterTrustBundle=true";
const BETAS_SERVED: &str = "--runtime-config=certificates.k8s.io/v1beta1=true";
/// Templates that the workloads are made of, see there.
const MOST: &str = include_str!("workloads/most.yaml");
const REST: &str = include_str!("workloads/rest.yaml");

/// What is compared beside the workloads.
const OTHERS: [&str; 19] = [
    "configmaps",
    "secrets",
    "serviceaccounts",
    "namespaces",
    "clusterroles.v1.rbac.authorization.k8s.io",
    "jobs.v1.batch",
    "cronjobs.v1.batch",
    "persistentvolumeclaims",
    volumes::VOLUMES,
    volumes::CLASSES,
    quotas::QUOTAS,
    ranges::RANGES,
    "services",
    "endpoints",
    SLICES,
    BUDGETS,
    certificates::REQUESTS,
    certificates::OF_PODS,
    certificates::BUNDLES,
];
const BUDGETS: &str = "poddisruptionbudgets.v1.policy";
const SLICES: &str = "endpointslices.v1.discovery.k8s.io";

/// What exists of the kinds that are compared, whole, by resource and name.
type Everything = BTreeMap<String, Value>;

#[tokio::test]
async fn ours_changes_nothing_of_upstreams() -> anyhow::Result<()> {
    let cluster = Cluster::start(options()).await?;
    let upstream = built_by(&cluster, Binary::Upstream).await?;
    let ours = swapped(&cluster, upstream, Binary::Ours).await?;
    let upstream = swapped(&cluster, ours, Binary::Upstream).await?;
    let ours = swapped(&cluster, upstream, Binary::Ours).await?;
    rollouts_go_on(&cluster, &ours).await
}

#[tokio::test]
async fn upstreams_changes_nothing_of_ours() -> anyhow::Result<()> {
    let cluster = Cluster::start(options()).await?;
    let ours = built_by(&cluster, Binary::Ours).await?;
    let upstream = swapped(&cluster, ours, Binary::Upstream).await?;
    rollouts_go_on(&cluster, &upstream).await
}

pub(crate) fn options() -> Options {
    let apiserver_args = [GATES, BETAS_SERVED, DUAL_STACK].map(str::to_owned).to_vec();
    Options { nodes: 3, apiserver_args, ..Options::default() }
}

/// Has this manager make all workloads, and returns it once it has nothing left to do.
pub(crate) async fn built_by(cluster: &Cluster, binary: Binary) -> anyhow::Result<Manager> {
    cluster.create_namespace(NAMESPACE).await?;
    let manager = Manager::start(cluster, binary, User::ControllerManager, ARGS)?;
    let objects = Objects::of(cluster, NAMESPACE)?;
    let most: Value = serde_yaml::from_str(MOST)?;
    let rest: Value = serde_yaml::from_str(REST)?;
    deployments(cluster, &objects, &most, &rest).await?;
    daemon_sets(&objects, &most, &rest).await?;
    stateful_sets(&objects, &most, &rest).await?;
    for (name, template, replicas) in [("bare", &most, 2), ("bare-none", &rest, 0)] {
        let set = workload(name, template, json!({"replicas": replicas}));
        objects.create("replicasets", &set).await?;
    }
    for (name, template, replicas) in [("old", &most, 2), ("old-none", &rest, 0)] {
        let mut set = workload(name, template, json!({"replicas": replicas}));
        set["spec"]["selector"] = json!({"app": name});
        objects.create("replicationcontrollers", &set).await?;
    }
    jobs::make(&objects).await?;
    jobs::make_cron(&objects).await?;
    let pod = json!({"metadata": {"name": "alone", "labels": {"app": "alone"}},
        "spec": most["spec"].clone()});
    objects.create("pods", &pod).await?;
    for (resource, name) in [("replicasets", "bare"), ("replicationcontrollers", "old")] {
        let ready = |set: &Value| set["status"]["availableReplicas"] == 2;
        objects.wait(resource, name, "to be ready", ready).await?;
    }
    owners(&objects).await?;
    claims(&objects).await?;
    volumes::make(&objects).await.with_context(|| manager.log())?;
    bootstrap::make(cluster).await.with_context(|| manager.log())?;
    budgets(&objects).await?;
    certificates::make(&objects).await.with_context(|| manager.log())?;
    services::create(&objects).await.with_context(|| manager.log())?;
    ranges::make(&objects).await.with_context(|| manager.log())?;
    quotas::make(cluster, &objects).await.with_context(|| manager.log())?;
    quiet(cluster, &manager, CALM).await.with_context(|| manager.log())?;
    Ok(manager)
}

/// An owner that waits for a dependent, which a finalizer holds; and one that let its dependents
/// go.
async fn owners(objects: &Objects) -> anyhow::Result<()> {
    let map = async |name: &str, owner: Option<&Value>, finalizers: Value| {
        let owner = owner.map(|owner| &owner["metadata"]).map(|owner| {
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"],
                "uid": owner["uid"], "blockOwnerDeletion": true}])
        });
        let metadata = json!({"name": name, "ownerReferences": owner, "finalizers": finalizers});
        objects.create("configmaps", &json!({ "metadata": metadata })).await
    };
    for (owner, dependent, policy) in
        [("waiting", "holding", "Foreground"), ("left", "orphan", "Orphan")]
    {
        let made = map(owner, None, Value::Null).await?;
        map(dependent, Some(&made), json!(["example.com/held"])).await?;
        let options = json!({ "propagationPolicy": policy });
        objects.delete_with("configmaps", owner, &options).await?;
    }
    objects.gone("configmaps", "left").await?;
    let is_deleted = |map: &Value| map["metadata"]["deletionTimestamp"].is_string();
    objects.wait("configmaps", "holding", "to be deleted", is_deleted).await?;
    Ok(())
}

/// A claim that is there, and one that is deleted while a pod uses it.
async fn claims(objects: &Objects) -> anyhow::Result<()> {
    for name in ["there", "used"] {
        let resources = json!({"requests": {"storage": "1Gi"}});
        let spec = json!({"storageClassName": "", "accessModes": ["ReadWriteOnce"],
            "resources": resources});
        let claim = json!({"metadata": {"name": name}, "spec": spec});
        objects.create("persistentvolumeclaims", &claim).await?;
    }
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "used"}});
    let spec = json!({"nodeName": "node-0", "volumes": [volume],
        "containers": [{"name": "main", "image": "main"}]});
    let pod = json!({"metadata": {"name": "user"}, "spec": spec});
    objects.create("pods", &pod).await?;
    objects.delete("persistentvolumeclaims", "used").await
}

/// Budgets for each kind of workload, in the middle of a rollout too; one of them for a pod that
/// is to be evicted soon, by a clock that is far ahead. None without pods: both managers report
/// those in an Event each time they look.
async fn budgets(objects: &Objects) -> anyhow::Result<()> {
    for (app, amount) in [
        ("history", json!({"maxUnavailable": "34%"})),
        ("midway", json!({"minAvailable": "50%"})),
        ("stalled", json!({"minAvailable": 1})),
        ("s-stuck", json!({"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"})),
        ("bare", json!({"maxUnavailable": 0})),
        ("old", json!({"minAvailable": "100%"})),
        ("d-midway", json!({"minAvailable": 0})),
    ] {
        let mut spec = amount;
        spec["selector"] = json!({"matchLabels": {"app": app}});
        objects.create(BUDGETS, &json!({"metadata": {"name": app}, "spec": spec})).await?;
        let is_seen = |budget: &Value| budget["status"]["observedGeneration"] == 1;
        objects.wait(BUDGETS, app, "to be counted", is_seen).await?;
    }
    let pods = objects.list("pods").await?;
    let pod = pods.iter().find(|pod| pod["metadata"]["labels"]["app"] == "bare");
    let name = pod.context("a pod")?["metadata"]["name"].as_str().context("its name")?;
    let status = json!({"status": {"disruptedPods": {name: "2999-01-01T00:00:00Z"}}});
    objects.merge(BUDGETS, "bare/status", &status).await?;
    let is_less = |budget: &Value| budget["status"]["currentHealthy"] == 1;
    objects.wait(BUDGETS, "bare", "to count one less", is_less).await.map(drop)
}

async fn deployments(
    cluster: &Cluster,
    objects: &Objects,
    most: &Value,
    rest: &Value,
) -> anyhow::Result<()> {
    let create = async |name, template, spec| {
        objects.create("deployments", &workload(name, template, spec)).await
    };
    let change = async |name: &str, outcome: &str| {
        objects.merge("deployments", name, &outcome_of_template(outcome)).await
    };
    let done = async |name| objects.wait("deployments", name, "to be done", rolled_out).await;

    create("history", most, json!({"replicas": 3, "revisionHistoryLimit": 3})).await?;
    create("recreate", most, json!({"replicas": 2, "strategy": {"type": "Recreate"}})).await?;
    create("paused", most, json!({"replicas": 2})).await?;
    create("none", rest, json!({"replicas": 0})).await?;
    create("undone", most, json!({"replicas": 1})).await?;
    let strategy = json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}});
    create("midway", most, json!({"replicas": 5, "strategy": strategy})).await?;
    create("stalled", most, json!({"replicas": 2, "progressDeadlineSeconds": 3})).await?;
    for name in ["history", "recreate", "paused", "none", "undone", "midway", "stalled"] {
        done(name).await?;
    }
    for outcome in ["running", "none", "other"] {
        change("history", outcome).await?;
        done("history").await?;
    }
    change("recreate", "running").await?;
    done("recreate").await?;
    change("undone", "unready").await?;
    kubectl(cluster, &["-n", NAMESPACE, "rollout", "undo", "deployment/undone"]).await?;
    done("undone").await?;
    objects.merge("deployments", "paused", &json!({"spec": {"paused": true}})).await?;
    change("paused", "running").await?;
    objects.merge("deployments", "paused", &json!({"spec": {"replicas": 3}})).await?;
    change("midway", "unready").await?;
    change("stalled", "unready").await?;
    objects
        .wait("deployments", "stalled", "to have stalled", |deployment| {
            deployment["status"].to_string().contains("ProgressDeadlineExceeded")
        })
        .await?;
    Ok(())
}

async fn daemon_sets(objects: &Objects, most: &Value, rest: &Value) -> anyhow::Result<()> {
    let create = async |name, template, spec| {
        objects.create("daemonsets", &workload(name, template, spec)).await
    };
    let change = async |name: &str, outcome: &str| {
        objects.merge("daemonsets", name, &outcome_of_template(outcome)).await
    };
    let done = async |name| objects.wait("daemonsets", name, "to be done", rolled_out).await;

    let mut nowhere = rest.clone();
    nowhere["spec"]["nodeName"] = Value::Null;
    nowhere["spec"]["nodeSelector"] = json!({"example.com/node": "none"});
    create("d-none", &nowhere, json!({})).await?;
    create("d-history", most, json!({"revisionHistoryLimit": 2})).await?;
    create("d-ondelete", most, json!({"updateStrategy": {"type": "OnDelete"}})).await?;
    create("d-midway", most, json!({})).await?;
    let surge = json!({"rollingUpdate": {"maxSurge": "40%", "maxUnavailable": 0}});
    create("d-surge", most, json!({"updateStrategy": surge, "minReadySeconds": 1})).await?;
    for name in ["d-none", "d-history", "d-ondelete", "d-midway", "d-surge"] {
        done(name).await?;
    }
    for outcome in ["running", "none", "other", "running"] {
        change("d-history", outcome).await?;
        done("d-history").await?;
    }
    change("d-ondelete", "running").await?;
    change("d-midway", "unready").await?;
    change("d-surge", "unready").await?;
    Ok(())
}

/// Sets that are done, that are in the middle of a rollout or of scaling down, and one whose pod
/// is stuck at a template that nobody wants any more.
async fn stateful_sets(objects: &Objects, most: &Value, rest: &Value) -> anyhow::Result<()> {
    let create = async |name, template, spec| {
        objects.create("statefulsets", &workload(name, template, spec)).await
    };
    let change = async |name: &str, outcome: &str| {
        objects.merge("statefulsets", name, &outcome_of_template(outcome)).await
    };
    let done = async |name| objects.wait("statefulsets", name, "to be done", rolled_out).await;
    let has = async |name: &str, fields: Value| {
        let is_so = |set: &Value| {
            let fields = fields.as_object().into_iter().flatten();
            fields.into_iter().all(|(field, value)| set["status"][field] == *value)
                && set["status"]["observedGeneration"] == set["metadata"]["generation"]
        };
        objects.wait("statefulsets", name, &format!("to say {fields}"), is_so).await
    };

    // Nobody binds claims here.
    let mut placed = most.clone();
    placed["spec"]["nodeName"] = json!("node-0");
    let resources = json!({"requests": {"storage": "1Gi"}});
    let claim = json!({"metadata": {"name": "data"}, "spec": {"storageClassName": "",
        "accessModes": ["ReadWriteOnce"], "resources": resources}});
    let delete = json!({"whenScaled": "Delete", "whenDeleted": "Delete"});
    let with_claims = json!({"replicas": 3, "volumeClaimTemplates": [claim],
        "persistentVolumeClaimRetentionPolicy": delete});
    let partition = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});

    create("s-none", rest, json!({"replicas": 0})).await?;
    create("s-history", most, json!({"replicas": 2, "revisionHistoryLimit": 2})).await?;
    create("s-partition", most, json!({"replicas": 3, "updateStrategy": partition})).await?;
    create("s-ondelete", most, json!({"replicas": 2, "updateStrategy": {"type": "OnDelete"}}))
        .await?;
    create("s-midway", most, json!({"replicas": 3})).await?;
    create("s-stuck", most, json!({"replicas": 2})).await?;
    create("s-scaled", &placed, with_claims).await?;
    let parallel = json!({"replicas": 3, "podManagementPolicy": "Parallel",
        "ordinals": {"start": 5}, "minReadySeconds": 1});
    create("s-parallel", most, parallel).await?;
    let names = ["s-none", "s-history", "s-partition", "s-ondelete", "s-midway", "s-stuck"];
    for name in names.into_iter().chain(["s-scaled", "s-parallel"]) {
        done(name).await?;
    }
    for outcome in ["running", "none", "other", "running"] {
        change("s-history", outcome).await?;
        done("s-history").await?;
    }
    change("s-partition", "running").await?;
    has("s-partition", json!({"updatedReplicas": 1, "readyReplicas": 3})).await?;
    change("s-ondelete", "running").await?;
    change("s-midway", "unready").await?;
    has("s-midway", json!({"updatedReplicas": 1, "readyReplicas": 2})).await?;
    change("s-stuck", "unready").await?;
    has("s-stuck", json!({"updatedReplicas": 1, "readyReplicas": 1})).await?;
    change("s-stuck", "running").await?;
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    objects.merge("pods", "s-scaled-1", &hold).await?;
    objects.merge("statefulsets", "s-scaled", &json!({"spec": {"replicas": 1}})).await?;
    objects.gone("persistentvolumeclaims", "data-s-scaled-2").await?;
    let is_deleted = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string();
    objects.wait("pods", "s-scaled-1", "to be deleted", is_deleted).await?;
    Ok(())
}

/// A workload of `apps` with this name and template, and with `more` in its spec.
fn workload(name: &str, template: &Value, mut more: Value) -> Value {
    let labels = json!({"app": name});
    more["selector"] = json!({"matchLabels": labels});
    more["template"] = template.clone();
    more["template"]["metadata"]["labels"] = labels;
    json!({"metadata": {"name": name}, "spec": more})
}

fn outcome_of_template(outcome: &str) -> Value {
    let metadata = json!({"annotations": {"cluster-tests/outcome": outcome}});
    json!({"spec": {"template": {"metadata": metadata}}})
}

/// Ends the one manager, has the other take its place and checks that it changes nothing.
async fn swapped(cluster: &Cluster, mut old: Manager, new: Binary) -> anyhow::Result<Manager> {
    let all = Objects::of(cluster, "")?;
    let objects = everything(&all).await?;
    let events = events(&all).await?;
    let holder = holder(cluster).await?;
    let requests = cluster.request_counts().await?;
    old.sigterm()?;
    old.ended(LIMIT).await?;
    let manager = Manager::start(cluster, new, User::ControllerManager, ARGS)?;
    let calm = takes_over(cluster, &manager, &holder, &objects).await;
    // First what it has done, which shows more than that it does not come to an end.
    let told = || format!("{new:?} took over");
    same(&objects, &everything(&all).await?).with_context(told)?;
    same(&events, &self::events(&all).await?).with_context(told)?;
    let made = since(&requests, &cluster.request_counts().await?);
    let writes: Vec<_> = made
        .iter()
        .filter(|(request, _)| request.is_write() && !is_of_election_or_nodes(&request.resource))
        .collect();
    ensure!(writes.is_empty(), "{new:?} has written {writes:?}");
    calm.with_context(|| format!("{new:?}: {}", manager.log()))?;
    Ok(manager)
}

/// Waits until the manager leads, has looked at each workload and has nothing left to do.
async fn takes_over(
    cluster: &Cluster,
    manager: &Manager,
    old: &str,
    objects: &Everything,
) -> anyhow::Result<()> {
    wait_until("a new holder of the lease", LIMIT, async || {
        let holder = holder(cluster).await?;
        Ok((!holder.is_empty() && holder != old).then_some(()))
    })
    .await?;
    let queues = [
        ("daemonset", "daemonsets"),
        ("deployment", "deployments"),
        ("endpoint", "services"),
        ("endpoint_slice", "services"),
    ];
    let sets = [
        ("replicaset", "replicasets"),
        ("replicationmanager", "replicationcontrollers"),
        ("statefulset", "statefulsets"),
        ("disruption", BUDGETS),
        ("job", "jobs.v1.batch"),
        ("cronjob", "cronjobs.v1.batch"),
        ("resourcequota_primary", quotas::QUOTAS),
        ("ipaddresses", ranges::RANGES),
    ];
    let queues = queues.iter().chain(&sets);
    let count = |resource: &str| {
        let of = |key: &&String| key.starts_with(&format!("{resource} "));
        u64::try_from(objects.keys().filter(of).count())
    };
    for (queue, resource) in queues {
        let wanted = count(resource)?;
        wait_until(&format!("{wanted} keys in queue {queue}"), LIMIT, async || {
            let adds = Queues::of(manager).await?.adds.get(*queue).copied().unwrap_or(0);
            Ok((adds >= wanted).then_some(()))
        })
        .await?;
    }
    quiet(cluster, manager, CALM).await
}

async fn everything(all: &Objects) -> anyhow::Result<Everything> {
    let mut found = all.workloads().await?;
    for resource in OTHERS {
        for object in all.list(resource).await? {
            let [namespace, name] = ["namespace", "name"].map(|key| &object["metadata"][key]);
            found.insert(format!("{resource} {namespace}/{name}"), object);
        }
    }
    Ok(found)
}

/// What is written to lead, to have tokens and to renew nodes.
fn is_of_election_or_nodes(resource: &str) -> bool {
    let known = ["leases", "events", "nodes/status", "serviceaccounts", "serviceaccounts/token"];
    known.contains(&resource) || resource.ends_with("reviews")
}

async fn holder(cluster: &Cluster) -> anyhow::Result<String> {
    let args = ["-n", "kube-system", "get", "lease", "kube-controller-manager", "-o"];
    kubectl(cluster, &[&args[..], &["jsonpath={.spec.holderIdentity}"]].concat()).await
}

/// All events but those of election, by name.
async fn events(all: &Objects) -> anyhow::Result<Everything> {
    let events = all.list("events").await?.into_iter();
    let events = events.filter(|event| event["reason"] != "LeaderElection");
    Ok(events.map(|event| (event["metadata"]["name"].to_string(), event)).collect())
}

/// An error that names what was made, deleted or changed, down to its version.
fn same(before: &Everything, after: &Everything) -> anyhow::Result<()> {
    let mut differences = Vec::new();
    for (key, object) in after {
        match before.get(key) {
            None => differences.push(format!("made: {key}: {object}")),
            Some(old) if old != object => {
                differences.push(format!("changed: {key}\n  from {old}\n  to   {object}"));
            }
            Some(_) => {}
        }
    }
    let deleted = before.keys().filter(|key| !after.contains_key(*key));
    differences.extend(deleted.map(|key| format!("deleted: {key}")));
    ensure!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

/// Pods that would not get ready do, one after the other: the rollouts that hung on them end, in
/// the ReplicaSets and revisions that were there.
async fn rollouts_go_on(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::of(cluster, NAMESPACE)?;
    let names = |all: &Everything| {
        let is_pod = |key: &&String| key.starts_with("pods ");
        all.keys().filter(|key| !is_pod(key)).cloned().collect::<Vec<_>>()
    };
    let before = names(&objects.workloads().await?);
    let hanging = [
        ("deployments", "midway"),
        ("deployments", "stalled"),
        ("daemonsets", "d-midway"),
        ("daemonsets", "d-surge"),
        ("statefulsets", "s-midway"),
        ("statefulsets", "s-stuck"),
    ];
    for (resource, name) in hanging {
        ensure!(!rolled_out(&objects.get(resource, name).await?), "{name} hangs");
        wait_until(&format!("{resource} {name} to go on"), LIMIT, async || {
            for pod in objects.list("pods").await? {
                let metadata = &pod["metadata"];
                let unready = metadata["annotations"]["cluster-tests/outcome"] == "unready";
                if unready && metadata["labels"]["app"] == name {
                    let name = metadata["name"].as_str().context("a pod's name")?;
                    let ready = json!({"annotations": {"cluster-tests/outcome": "running"}});
                    objects.merge("pods", name, &json!({"metadata": ready})).await?;
                }
            }
            Ok(rolled_out(&objects.get(resource, name).await?).then_some(()))
        })
        .await
        .with_context(|| manager.log())?;
    }
    let after = names(&objects.workloads().await?);
    ensure!(before == after, "{before:?}, then {after:?}");
    jobs::go_on(&objects).await.with_context(|| manager.log())?;
    // So do the deletions.
    objects.get("persistentvolumeclaims", "data-s-scaled-1").await?;
    objects.merge("pods", "s-scaled-1", &json!({"metadata": {"finalizers": null}})).await?;
    objects.gone("persistentvolumeclaims", "data-s-scaled-1").await?;
    objects.get("persistentvolumeclaims", "data-s-scaled-0").await?;
    objects.get("persistentvolumeclaims", "used").await?;
    objects.delete("pods", "user").await?;
    objects.gone("persistentvolumeclaims", "used").await?;
    volumes::go_on(&objects).await.with_context(|| manager.log())?;
    bootstrap::go_on(cluster).await.with_context(|| manager.log())?;
    certificates::go_on(&objects).await.with_context(|| manager.log())?;
    ranges::go_on(&objects).await.with_context(|| manager.log())?;
    quotas::go_on(cluster).await.with_context(|| manager.log())?;
    objects.find("configmaps", "waiting").await?.context("the owner waits")?;
    let free = json!({"metadata": {"finalizers": null}});
    for name in ["holding", "orphan"] {
        objects.merge("configmaps", name, &free).await?;
    }
    objects.gone("configmaps", "waiting").await?;
    objects.get("configmaps", "orphan").await?;
    services::end(&objects).await.with_context(|| manager.log())?;
    let all = objects.of_all();
    all.delete("namespaces", NAMESPACE).await?;
    all.gone("namespaces", NAMESPACE).await.with_context(|| manager.log())
}

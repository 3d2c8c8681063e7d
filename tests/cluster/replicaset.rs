//! ReplicaSets on the real API server, with our manager as kubeadm runs it: as the user
//! `system:kube-controller-manager`, with `--use-service-account-credentials`, so that RBAC grants
//! exactly what upstream's bootstrap policy gives to each service account.

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Options, User, ours, since, wait_until, writes};
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{Event, Namespace, Pod};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);
const ARGS: &[&str] = &["--controllers=replicaset", "--kube-api-qps=500", "--kube-api-burst=500"];

#[tokio::test]
async fn replicasets_are_kept() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 100, ..Options::default() }).await?;
    let mut manager = start(&cluster)?;
    scales_up_and_down(&cluster).await?;
    converged_is_silent(&cluster).await?;
    adoption(&cluster).await?;
    pods_leave_and_join_with_their_labels(&cluster).await?;
    overlapping_sets_leave_each_other_alone(&cluster).await?;
    deleting_and_failed_pods_are_replaced(&cluster).await?;
    pod_deletion_cost(&cluster).await?;
    terminating_replicas(&cluster).await?;
    min_ready_seconds(&cluster).await?;
    refused_creates_are_reported(&cluster).await?;
    terminating_namespace_is_left_alone(&cluster).await?;
    only_granted_requests_were_sent(&cluster).await?;
    sigkill_while_scaling(&cluster, &mut manager).await?;
    the_api_server_comes_back(&cluster, &manager).await?;
    forbidden_lists_are_named_and_recovered_from(&cluster).await?;
    wrong_ca_is_named(&cluster)?;
    Ok(())
}

fn start(cluster: &Cluster) -> anyhow::Result<Manager> {
    Manager::start(cluster, Binary::Ours, User::ControllerManager, ARGS)
}

/// Issue: 0 → 1000 → 10 → 0 with exact status at each stop.
async fn scales_up_and_down(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "scale").await?;
    world.create("big", 0, json!({})).await?;
    for replicas in [0, 1000, 10, 0] {
        world.scale("big", replicas).await?;
        world.settled("big", replicas).await?;
        ensure!(world.active_pods("big").await?.len() == usize::try_from(replicas)?);
    }
    Ok(())
}

/// Issue: no write in 60 s, by the API server's own count.
async fn converged_is_silent(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "silent").await?;
    world.create("set", 20, json!({})).await?;
    world.settled("set", 20).await?;
    // Events of the last writes may still be on their way.
    world.event("set", "SuccessfulCreate").await?;
    let mut before = cluster.request_counts().await?;
    let mut quiet_since = now();
    wait_until("60 seconds without a write", Duration::from_secs(150), async || {
        let after = cluster.request_counts().await?;
        if writes(&since(&before, &after), |r| !r.is_fake_clusters_own()) > 0 {
            (before, quiet_since) = (after, now());
        }
        Ok((now() - quiet_since >= Duration::from_mins(1)).then_some(()))
    })
    .await
}

/// Upstream's integration test TestAdoption.
async fn adoption(cluster: &Cluster) -> anyhow::Result<()> {
    type Owners = fn(&ReplicaSet) -> Value;
    let rows: [(&str, Owners, Owners); 4] = [
        (
            "owner",
            |set| json!([owner_of(set, json!({}))]),
            |set| json!([owner_of(set, json!({"controller": true, "blockOwnerDeletion": true}))]),
        ),
        (
            "none",
            |_| json!([]),
            |set| json!([owner_of(set, json!({"controller": true, "blockOwnerDeletion": true}))]),
        ),
        (
            "controller",
            |set| json!([owner_of(set, json!({"controller": true}))]),
            |set| json!([owner_of(set, json!({"controller": true}))]),
        ),
        (
            "other",
            |set| json!([other_owner(), owner_of(set, json!({}))]),
            |set| json!([other_owner(), owner_of(set, json!({}))]),
        ),
    ];
    for (name, existing, expected) in rows {
        let world = World::new(cluster, &format!("adoption-{name}")).await?;
        // No set takes the pod before it has the owners of the row.
        let set = world.create("rs", 1, json!({})).await?;
        world.settled("rs", 1).await?;
        let mut pod = world.pod("pod", "rs");
        pod["metadata"]["ownerReferences"] = existing(&set);
        world.pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
        let expected: Vec<OwnerReference> = serde_json::from_value(expected(&set))?;
        let adopted = wait_until(name, LIMIT, async || {
            let pod = world.pods.get_opt("pod").await?;
            // Surplus pods may be deleted once they are adopted: one was there already.
            let Some(pod) = pod else { return Ok(Some(())) };
            Ok((pod.metadata.owner_references == Some(expected.clone())).then_some(()))
        });
        adopted.await?;
        world.settled("rs", 1).await?;
    }
    Ok(())
}

fn owner_of(set: &ReplicaSet, more: Value) -> Value {
    let mut owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "name": set.metadata.name, "uid": set.metadata.uid});
    if let (Some(owner), Value::Object(more)) = (owner.as_object_mut(), more) {
        owner.extend(more);
    }
    owner
}

fn other_owner() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "anotherRS", "uid": "1",
        "controller": true})
}

/// Upstream's TestPodOrphaningAndAdoptionWhenLabelsChange and TestGeneralPodAdoption.
async fn pods_leave_and_join_with_their_labels(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "labels").await?;
    let set = world.create("set", 1, json!({})).await?;
    world.settled("set", 1).await?;
    let first = world.only_pod("set").await?;
    world.patch_pod(&first, json!({"metadata": {"labels": {"app": "away"}}})).await?;
    let released = async || {
        let pod = world.pods.get(&first).await?;
        Ok(pod.metadata.owner_references.unwrap_or_default().is_empty().then_some(()))
    };
    wait_until("the pod to be released", LIMIT, released).await?;
    world.settled("set", 1).await?;
    let second = world.only_pod("set").await?;
    ensure!(first != second, "a new pod takes its place");

    world.delete_pod(&second, 0).await?;
    world.scale("set", 2).await?;
    world.settled("set", 2).await?;
    world.scale("set", 3).await?;
    world.patch_pod(&first, json!({"metadata": {"labels": {"app": "set"}}})).await?;
    world.settled("set", 3).await?;
    let first = world.pods.get_opt(&first).await?;
    if let Some(owners) = first.and_then(|pod| pod.metadata.owner_references) {
        ensure!(owners.iter().all(|owner| Some(&owner.uid) == set.metadata.uid.as_ref()));
    }
    Ok(())
}

/// Upstream's TestOverlappingRSs.
async fn overlapping_sets_leave_each_other_alone(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "overlap").await?;
    for name in ["one", "two"] {
        let spec = json!({"selector": {"matchLabels": {"app": "both"}},
            "template": {"metadata": {"labels": {"app": "both"}}}});
        world.create(name, 3, spec).await?;
    }
    for name in ["one", "two"] {
        world.settled(name, 3).await?;
    }
    ensure!(world.active_pods("both").await?.len() == 6, "three pods each");
    Ok(())
}

/// Upstream's integration test TestDeletingAndFailedPods.
async fn deleting_and_failed_pods_are_replaced(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "failed").await?;
    world.create("set", 2, json!({})).await?;
    world.settled("set", 2).await?;
    let names = world.active_pods("set").await?;
    world.patch_pod(&names[0], json!({"metadata": {"finalizers": ["example.com/block"]}})).await?;
    world.delete_pod(&names[0], 0).await?;
    let failed = json!({"metadata": {"annotations": {"cluster-tests/outcome": "failed"}}});
    world.patch_pod(&names[1], failed).await?;
    wait_until("the failed pod to be replaced", LIMIT, async || {
        let pods = world.pods.list(&ListParams::default().labels("app=set")).await?.items;
        let has = |name: &String| pods.iter().any(|pod| pod.metadata.name.as_ref() == Some(name));
        Ok((pods.len() == 4 && has(&names[0]) && has(&names[1])).then_some(()))
    })
    .await?;
    world.settled("set", 2).await?;
    world.patch_pod(&names[0], json!({"metadata": {"finalizers": null}})).await?;
    Ok(())
}

/// Upstream's integration test TestPodDeletionCost (the gate is on by default).
async fn pod_deletion_cost(cluster: &Cluster) -> anyhow::Result<()> {
    for (row, costs) in [("cost-first", ["1000", "100"]), ("cost-second", ["-5", "7"])] {
        let world = World::new(cluster, row).await?;
        world.create("set", 2, json!({})).await?;
        world.settled("set", 2).await?;
        let names = world.active_pods("set").await?;
        for (name, cost) in names.iter().zip(costs) {
            let cost = json!({"controller.kubernetes.io/pod-deletion-cost": cost});
            world.patch_pod(name, json!({"metadata": {"annotations": cost}})).await?;
        }
        world.scale("set", 1).await?;
        world.settled("set", 1).await?;
        let expected = if costs[0] == "1000" { &names[0] } else { &names[1] };
        ensure!(&world.only_pod("set").await? == expected, "{row}: the dearer pod stays");
    }
    Ok(())
}

/// Upstream's integration test TestTerminatingReplicas (the gate is on by default).
async fn terminating_replicas(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "terminating").await?;
    // No kubelet: pods stay as they are until they are deleted without grace.
    let spec = json!({"nodeName": "no-such-node", "terminationGracePeriodSeconds": 300});
    world.create("set", 5, json!({"template": {"spec": spec}})).await?;
    world.counted("set", 5, 0).await?;
    let names = world.active_pods("set").await?;
    world.delete_pod(&names[0], 300).await?;
    world.counted("set", 5, 1).await?;
    world.delete_pod(&names[1], 300).await?;
    world.counted("set", 5, 2).await?;
    world.delete_pod(&names[0], 0).await?;
    world.counted("set", 5, 1).await?;
    ensure!(world.active_pods("set").await?.len() == 5);
    Ok(())
}

/// Upstream's TestReadyAndAvailableReplicas, with a pod that becomes available by waiting.
async fn min_ready_seconds(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "available").await?;
    world.create("set", 3, json!({"minReadySeconds": 5})).await?;
    let ready_first = wait_until("ready pods that are not available", LIMIT, async || {
        let status = world.status("set").await?;
        Ok((status.ready_replicas == Some(3)).then_some(status.available_replicas.unwrap_or(0)))
    });
    ensure!(ready_first.await? < 3, "not available before five seconds");
    world.settled("set", 3).await
}

/// replicaset.md: ReplicaFailure while pods cannot be created, removed once they can.
async fn refused_creates_are_reported(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "refused").await?;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
        "spec": {"hard": {"pods": "0"}}, "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}});
    let quotas: Api<k8s_openapi::api::core::v1::ResourceQuota> =
        Api::namespaced(cluster.admin()?, "refused");
    quotas.create(&PostParams::default(), &serde_json::from_value(quota.clone())?).await?;
    quotas.patch_status("none", &PatchParams::default(), &Patch::Merge(&quota)).await?;
    world.create("set", 2, json!({})).await?;
    let condition = wait_until("the condition ReplicaFailure", LIMIT, async || {
        let conditions = world.status("set").await?.conditions.unwrap_or_default();
        Ok(conditions.into_iter().find(|condition| condition.type_ == "ReplicaFailure"))
    })
    .await?;
    ensure!(condition.status == "True" && condition.reason.as_deref() == Some("FailedCreate"));
    let message = condition.message.context("a message")?;
    ensure!(message.contains("exceeded quota: none"), "{message}");
    let event = world.event("set", "FailedCreate").await?;
    ensure!(event.message.context("a message")?.starts_with("Error creating: pods \"set-"));
    quotas.delete("none", &DeleteParams::default()).await?;
    world.settled("set", 2).await?;
    let conditions = world.status("set").await?.conditions.unwrap_or_default();
    ensure!(conditions.is_empty(), "{conditions:?}");
    Ok(())
}

/// replicaset.md: a create refused since the namespace is being deleted is no error and no event.
async fn terminating_namespace_is_left_alone(cluster: &Cluster) -> anyhow::Result<()> {
    let world = World::new(cluster, "ending").await?;
    world.create("set", 1, json!({})).await?;
    world.settled("set", 1).await?;
    let namespaces: Api<Namespace> = Api::all(cluster.admin()?);
    namespaces.delete("ending", &DeleteParams::default()).await?;
    let name = world.only_pod("set").await?;
    let before = cluster.request_counts().await?;
    world.delete_pod(&name, 0).await?;
    wait_until("a create that is refused", LIMIT, async || {
        let new = since(&before, &cluster.request_counts().await?);
        let refused = |r: &cluster_tests::Request| r.resource == "pods" && r.code == 403;
        Ok((writes(&new, refused) > 0).then_some(()))
    })
    .await?;
    let events: Api<Event> = Api::namespaced(cluster.admin()?, "ending");
    let events = events.list(&ListParams::default()).await?.items;
    ensure!(events.iter().all(|event| event.reason.as_deref() != Some("FailedCreate")));
    Ok(())
}

/// design.md, section 4: only verbs that upstream's roles grant.
async fn only_granted_requests_were_sent(cluster: &Cluster) -> anyhow::Result<()> {
    let requests = cluster.request_counts().await?;
    let refused: Vec<_> = requests.keys().filter(|r| r.code == 403 && r.verb != "POST").collect();
    ensure!(refused.is_empty(), "{refused:?}");
    Ok(())
}

/// Issue: SIGKILL at any moment of the scale-up never leaves more or fewer pods than asked for.
async fn sigkill_while_scaling(cluster: &Cluster, manager: &mut Manager) -> anyhow::Result<()> {
    let world = World::new(cluster, "sigkill").await?;
    world.create("set", 0, json!({})).await?;
    world.settled("set", 0).await?;
    for (round, kill_at) in [1, 40, 150, 299].into_iter().enumerate() {
        let replicas = 300 * (i32::try_from(round)? % 2 + 1);
        world.scale("set", replicas - 300).await?;
        world.settled("set", replicas - 300).await?;
        world.scale("set", replicas).await?;
        wait_until("the scale-up to be under way", LIMIT, async || {
            let pods = world.active_pods("set").await?.len();
            Ok((pods >= usize::try_from(replicas - 300)? + kill_at).then_some(()))
        })
        .await?;
        manager.sigkill();
        *manager = start(cluster)?;
        world.settled("set", replicas).await?;
        ensure!(world.active_pods("set").await?.len() == usize::try_from(replicas)?);
    }
    Ok(())
}

/// Issue: the manager recovers by itself when the server comes back, without a busy loop.
async fn the_api_server_comes_back(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let world = World::new(cluster, "outage").await?;
    world.create("set", 3, json!({})).await?;
    world.settled("set", 3).await?;
    let cpu = manager.cpu_seconds()?;
    cluster.stop_apiserver().await?;
    wait_until("the manager to notice", LIMIT, async || {
        Ok(manager.log().contains("Connection refused").then_some(()))
    })
    .await?;
    cluster.start_apiserver().await?;
    ensure!(manager.cpu_seconds()? - cpu < 2.0, "no busy loop while the server is away");
    world.scale("set", 5).await?;
    world.settled("set", 5).await
}

/// Issue: a 403 on a list is a clear message, no busy loop, and over once the right is granted.
async fn forbidden_lists_are_named_and_recovered_from(cluster: &Cluster) -> anyhow::Result<()> {
    let nobody = User::ServiceAccount("nobody");
    let manager = Manager::start(cluster, Binary::Ours, nobody, ARGS)?;
    for resource in ["pods", "replicasets"] {
        let refused = format!("kube-system:nobody\" cannot list resource \"{resource}\"");
        // Log lines quote the message.
        let message = async || Ok(manager.log().replace('\\', "").contains(&refused).then_some(()));
        wait_until(&refused, LIMIT, message).await.with_context(|| manager.log())?;
    }
    ensure!(manager.cpu_seconds()? < 2.0, "no busy loop");
    let roles: Api<ClusterRoleBinding> = Api::all(cluster.admin()?);
    let binding = json!({"metadata": {"name": "nobody"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "system:controller:replicaset-controller"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "kube-system", "name": "nobody"}]});
    roles.create(&PostParams::default(), &serde_json::from_value(binding)?).await?;
    wait_until("the manager to recover", LIMIT, async || {
        Ok(manager.log().contains("starting workers").then_some(()))
    })
    .await
}

/// Issue: a wrong CA is a clear message that names the server.
fn wrong_ca_is_named(cluster: &Cluster) -> anyhow::Result<()> {
    let other = rcgen::generate_simple_self_signed(vec!["example.com".to_owned()])?;
    let (ca, kubeconfig) =
        (cluster.dir().join("other.crt"), cluster.dir().join("other.kubeconfig"));
    std::fs::write(&ca, other.cert.pem())?;
    let right = std::fs::read_to_string(cluster.kubeconfig(User::Admin)?)?;
    let (right_ca, wrong_ca) = (cluster.ca_path(), ca.display().to_string());
    std::fs::write(&kubeconfig, right.replace(&right_ca.display().to_string(), &wrong_ca))?;
    let output = std::process::Command::new(ours()?)
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg("--leader-elect=false")
        .output()?;
    let text = String::from_utf8(output.stderr)?;
    let server = cluster.url().replace("https://", "");
    let expected = format!("failed to wait for apiserver being healthy: /healthz of {server}: ");
    ensure!(text.contains(&expected) && text.contains("invalid peer certificate"), "{text}");
    ensure!(output.status.code() == Some(1));
    Ok(())
}

fn now() -> std::time::Instant {
    #[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
    std::time::Instant::now()
}

/// One namespace.
struct World {
    namespace: String,
    sets: Api<ReplicaSet>,
    pods: Api<Pod>,
    events: Api<Event>,
}

impl World {
    async fn new(cluster: &Cluster, namespace: &str) -> anyhow::Result<Self> {
        cluster.create_namespace(namespace).await?;
        let client = cluster.admin()?;
        Ok(Self {
            namespace: namespace.to_owned(),
            sets: Api::namespaced(client.clone(), namespace),
            pods: Api::namespaced(client.clone(), namespace),
            events: Api::namespaced(client, namespace),
        })
    }

    fn pod(&self, name: &str, app: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {"app": app}},
            "spec": {"containers": [{"name": "main", "image": "example.com/image"}],
                "terminationGracePeriodSeconds": 0}})
    }

    /// A set with pods of label `app=<name>`, and `more` in its spec.
    async fn create(&self, name: &str, replicas: i32, more: Value) -> anyhow::Result<ReplicaSet> {
        let template = self.pod("", name);
        let mut set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": template["spec"]}}});
        merge(&mut set["spec"], more);
        Ok(self.sets.create(&PostParams::default(), &serde_json::from_value(set)?).await?)
    }

    async fn scale(&self, name: &str, replicas: i32) -> anyhow::Result<()> {
        let patch = json!({"spec": {"replicas": replicas}});
        self.sets.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn status(&self, name: &str) -> anyhow::Result<ReplicaSetStatus> {
        self.sets.get_status(name).await?.status.context("a status")
    }

    /// Waits until the whole status says that all is done.
    async fn settled(&self, name: &str, replicas: i32) -> anyhow::Result<()> {
        let some = (replicas > 0).then_some(replicas);
        wait_until(&format!("{}/{name} to have {replicas}", self.namespace), LIMIT, async || {
            let set = self.sets.get(name).await?;
            let status = set.status.clone().context("a status")?;
            let expected = ReplicaSetStatus {
                replicas,
                fully_labeled_replicas: some,
                ready_replicas: some,
                available_replicas: some,
                observed_generation: set.metadata.generation,
                ..status.clone()
            };
            if status == expected && status.terminating_replicas.unwrap_or(0) == 0 {
                return Ok(Some(()));
            }
            anyhow::bail!("{status:?}")
        })
        .await
    }

    async fn counted(&self, name: &str, replicas: i32, terminating: i32) -> anyhow::Result<()> {
        let what = format!("{replicas} pods, {terminating} more terminating");
        wait_until(&what, LIMIT, async || {
            let status = self.status(name).await?;
            let counted = (status.replicas, status.terminating_replicas);
            Ok((counted == (replicas, Some(terminating))).then_some(()))
        })
        .await
    }

    /// Names of the pods with label `app=<app>` that run and are not being deleted.
    async fn active_pods(&self, app: &str) -> anyhow::Result<Vec<String>> {
        let params = ListParams::default().labels(&format!("app={app}"));
        let pods = self.pods.list(&params).await?.items.into_iter();
        let active = pods.filter(|pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            pod.metadata.deletion_timestamp.is_none() && phase != Some("Failed")
        });
        Ok(active.filter_map(|pod| pod.metadata.name).collect())
    }

    /// The name of the one pod with label `app=<app>`, once there is just one.
    async fn only_pod(&self, app: &str) -> anyhow::Result<String> {
        wait_until(&format!("just one pod of {app}"), LIMIT, async || {
            let mut names = self.active_pods(app).await?;
            Ok(names.pop().filter(|_| names.is_empty()))
        })
        .await
    }

    async fn patch_pod(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        self.pods.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn delete_pod(&self, name: &str, grace_seconds: u32) -> anyhow::Result<()> {
        let params = DeleteParams::default().grace_period(grace_seconds);
        self.pods.delete(name, &params).await?;
        Ok(())
    }

    /// Waits for an Event about the set.
    async fn event(&self, name: &str, reason: &str) -> anyhow::Result<Event> {
        wait_until(&format!("event {reason}"), LIMIT, async || {
            let events = self.events.list(&ListParams::default()).await?.items;
            let about = |event: &Event| {
                event.involved_object.name.as_deref() == Some(name)
                    && event.reason.as_deref() == Some(reason)
            };
            Ok(events.into_iter().find(about))
        })
        .await
    }
}

/// Puts the fields of `more` over those of `object`, objects field by field.
fn merge(object: &mut Value, more: Value) {
    match (object, more) {
        (Value::Object(object), Value::Object(more)) => {
            for (name, value) in more {
                merge(object.entry(name).or_insert(Value::Null), value);
            }
        }
        (object, more) => *object = more,
    }
}

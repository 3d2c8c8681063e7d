//! Claims of devices on the real API server and scheduler: upstream's integration tests
//! (test/integration/dra) and e2e tests (dra/dra.go). No driver runs: a slice of devices is all
//! that the scheduler needs.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since, wait_until,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=resourceclaim-controller,garbage-collector-controller"];
const LIMIT: Duration = Duration::from_mins(1);
const CALM: Duration = Duration::from_secs(3);
const CLAIMS: &str = "resourceclaims.v1.resource.k8s.io";
const TEMPLATES: &str = "resourceclaimtemplates.v1.resource.k8s.io";
const CLASS: &str = "gpu.example.com";
const DEVICES: usize = 4;

#[tokio::test]
async fn pods_get_devices_and_give_them_back() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 2, ..Options::default() }).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    devices(&cluster).await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        a_claim_is_made_and_reserved(&cluster, &manager).await?;
        if binary == Binary::Ours {
            a_claim_is_made_again(&cluster).await?;
        }
        a_claim_is_shared_and_deallocated(&cluster).await?;
        a_pod_with_a_node_gets_its_reservation(&cluster).await?;
        a_template_may_come_later(&cluster).await?;
        access_for_administrators_is_counted(&cluster, &manager).await?;
        if binary == Binary::Ours {
            a_pod_that_is_over_reserves_nothing(&cluster).await?;
        }
        let made = since(&requests, &cluster.request_counts().await?);
        none_forbidden(&made)?;
        silent(&cluster, &manager, [CALM; 2], |it| !it.is_fake_clusters_own()).await
    };
    run.await.with_context(|| manager.log())
}

/// e2e: "generates a ResourceClaim", "deletes generated claims when pod is done", and the whole way
/// between them: as many pods as devices at a time.
async fn a_claim_is_made_and_reserved(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "generated").await?;
    objects.create(TEMPLATES, &template(&json!({"deviceClassName": CLASS}))).await?;
    for number in 0..DEVICES {
        objects.create("pods", &pod(&format!("pod-{number}"), TEMPLATE)).await?;
    }
    for number in 0..DEVICES {
        let name = format!("pod-{number}");
        let pod = objects.wait("pods", &name, "to run", is_running).await?;
        let claim = claim_of(&objects, &pod).await?;
        let owner = &claim["metadata"]["ownerReferences"][0];
        ensure!(owner["uid"] == pod["metadata"]["uid"] && owner["controller"] == true, "{owner}");
        let reserved = &claim["status"]["reservedFor"][0];
        ensure!(reserved["uid"] == pod["metadata"]["uid"], "{claim}");
        ensure!(claim["metadata"]["labels"]["app"] == "web", "{claim}");
    }
    let gauge = "resourceclaim_controller_resource_claims{admin_access=\"false\",\
                 allocated=\"true\",source=\"resource_claim_template\"}";
    has_metric(manager, gauge, DEVICES).await?;
    // One that waits for a device gets it once another pod has ended.
    objects.create("pods", &pod("waits", TEMPLATE)).await?;
    objects.wait("pods", "waits", "to have its claim", |pod| !claim_name(pod).is_empty()).await?;
    objects.merge("pods", "pod-0/status", &json!({"status": {"phase": "Succeeded"}})).await?;
    objects.wait("pods", "waits", "to run", is_running).await?;
    for number in 0..DEVICES {
        objects.delete("pods", &format!("pod-{number}")).await?;
    }
    objects.delete("pods", "waits").await?;
    no_claims(&objects).await
}

/// Upstream's comment in `handleClaim`: "perhaps it was deleted accidentally. In that case we
/// re-create it". But for an hour upstream's takes a claim that it has made for one that is there
/// (`claimCache` of NewController), and makes no other.
async fn a_claim_is_made_again(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "again").await?;
    objects.create(TEMPLATES, &template(&json!({"deviceClassName": "none.example.com"}))).await?;
    objects.create("pods", &pod("web", TEMPLATE)).await?;
    let named = |pod: &Value| !claim_name(pod).is_empty();
    let pod = objects.wait("pods", "web", "to have its claim", named).await?;
    let first = claim_name(&pod).to_owned();
    objects.delete(CLAIMS, &first).await?;
    let other = |pod: &Value| !claim_name(pod).is_empty() && claim_name(pod) != first;
    let pod = objects.wait("pods", "web", "to have another claim", other).await?;
    let claims = objects.list(CLAIMS).await?;
    ensure!(claims.len() == 1 && claims[0]["metadata"]["name"] == claim_name(&pod), "{claims:?}");
    objects.delete("pods", "web").await?;
    no_claims(&objects).await
}

/// testShareResourceClaimSequentially; e2e: "supports sharing a claim concurrently", "must
/// deallocate after use", "supports external claim referenced by multiple pods".
async fn a_claim_is_shared_and_deallocated(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "shared").await?;
    objects.create(CLAIMS, &claim("external", CLASS)).await?;
    for name in ["a", "b", "c"] {
        objects.create("pods", &pod(name, CLAIM)).await?;
    }
    for name in ["a", "b", "c"] {
        objects.wait("pods", name, "to run", is_running).await?;
    }
    let of_three = |claim: &Value| users(claim) == 3 && is_allocated(claim);
    objects.wait(CLAIMS, "external", "to be reserved for three", of_three).await?;
    for (name, left) in [("a", 2), ("b", 1)] {
        objects.delete("pods", name).await?;
        let fewer = |claim: &Value| users(claim) == left && is_allocated(claim);
        objects.wait(CLAIMS, "external", "to be reserved for fewer", fewer).await?;
    }
    objects.delete("pods", "c").await?;
    let free = |claim: &Value| users(claim) == 0 && !is_allocated(claim) && !is_held(claim);
    objects.wait(CLAIMS, "external", "to be deallocated", free).await?;
    // Deleted while it is used: it stays until the pod is over.
    objects.create("pods", &pod("d", CLAIM)).await?;
    objects.wait("pods", "d", "to run", is_running).await?;
    objects.delete(CLAIMS, "external").await?;
    ensure!(is_held(&objects.get(CLAIMS, "external").await?), "its finalizer keeps it");
    objects.delete("pods", "d").await?;
    objects.gone(CLAIMS, "external").await
}

/// e2e: "must run pod if driver starts after claim is created", of a pod that names its node.
async fn a_pod_with_a_node_gets_its_reservation(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "bound").await?;
    objects.create(CLAIMS, &claim("external", CLASS)).await?;
    objects.create("pods", &pod("first", CLAIM)).await?;
    let pod = objects.wait("pods", "first", "to run", is_running).await?;
    let mut second = self::pod("second", CLAIM);
    second["spec"]["nodeName"] = pod["spec"]["nodeName"].clone();
    let second = objects.create("pods", &second).await?;
    let both = |claim: &Value| {
        users(claim) == 2 && claim["status"]["reservedFor"][1]["uid"] == second["metadata"]["uid"]
    };
    objects.wait(CLAIMS, "external", "to be reserved for both", both).await?;
    for name in ["first", "second"] {
        objects.delete("pods", name).await?;
    }
    let free = |claim: &Value| users(claim) == 0 && !is_allocated(claim);
    objects.wait(CLAIMS, "external", "to be deallocated", free).await?;
    Ok(())
}

/// TestSyncHandler, "missing-template".
async fn a_template_may_come_later(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "later").await?;
    objects.create("pods", &pod("web", TEMPLATE)).await?;
    let message = "PodResourceClaim device: resource claim template \"gpu\": \
                   resourceclaimtemplate.resource.k8s.io \"gpu\" not found";
    wait_until("the event of the missing template", LIMIT, async || {
        let events = objects.list("events").await?;
        let is_it = |event: &Value| {
            event["reason"] == "FailedResourceClaimCreation"
                && event["type"] == "Warning"
                && event["source"]["component"] == "resource_claim"
                && event["message"] == message
        };
        Ok(events.iter().any(is_it).then_some(()))
    })
    .await?;
    objects.create(TEMPLATES, &template(&json!({"deviceClassName": CLASS}))).await?;
    objects.wait("pods", "web", "to run", is_running).await?;
    objects.delete("pods", "web").await?;
    no_claims(&objects).await
}

/// testControllerManagerMetrics, testAdminAccess.
async fn access_for_administrators_is_counted(
    cluster: &Cluster,
    manager: &Manager,
) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "administrators").await?;
    let label = json!({"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}});
    Objects::of(cluster, "")?.merge("namespaces", "administrators", &label).await?;
    let request = json!({"deviceClassName": CLASS, "adminAccess": true});
    objects.create(TEMPLATES, &template(&request)).await?;
    objects.create("pods", &pod("web", TEMPLATE)).await?;
    objects.wait("pods", "web", "to run", is_running).await?;
    let creates =
        "resourceclaim_controller_creates_total{admin_access=\"true\",status=\"success\"}";
    has_metric(manager, creates, 1).await?;
    objects.delete("pods", "web").await?;
    no_claims(&objects).await
}

/// kubernetes/kubernetes#141274: upstream's reserves it again and again.
async fn a_pod_that_is_over_reserves_nothing(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "over").await?;
    objects.create(CLAIMS, &claim("external", CLASS)).await?;
    for name in ["ends", "runs"] {
        objects.create("pods", &pod(name, CLAIM)).await?;
    }
    for name in ["ends", "runs"] {
        objects.wait("pods", name, "to run", is_running).await?;
    }
    objects.merge("pods", "ends/status", &json!({"status": {"phase": "Succeeded"}})).await?;
    let of_one = |claim: &Value| users(claim) == 1;
    objects.wait(CLAIMS, "external", "to be reserved for one", of_one).await?;
    // And a claim that was made for a pod is not made again once that is over.
    objects.create(TEMPLATES, &template(&json!({"deviceClassName": CLASS}))).await?;
    objects.create("pods", &pod("once", TEMPLATE)).await?;
    let once = objects.wait("pods", "once", "to run", is_running).await?;
    objects.merge("pods", "once/status", &json!({"status": {"phase": "Failed"}})).await?;
    objects.gone(CLAIMS, claim_name(&once)).await
    // What would be written again shows when all is silent in the end.
}

// === What the scenes share ===

const CLAIM: (&str, &str) = ("resourceClaimName", "external");
const TEMPLATE: (&str, &str) = ("resourceClaimTemplateName", "gpu");

/// The class, and a slice with devices that all nodes can use.
async fn devices(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::of(cluster, "")?;
    objects
        .create(
            "deviceclasses.v1.resource.k8s.io",
            &json!({"metadata": {"name": CLASS}, "spec": {"selectors":
                [{"cel": {"expression": format!("device.driver == {CLASS:?}")}}]}}),
        )
        .await?;
    let devices: Vec<_> = (0..DEVICES).map(|at| json!({"name": format!("gpu-{at}")})).collect();
    let slice = json!({"metadata": {"name": "slice"}, "spec": {"driver": CLASS, "allNodes": true,
        "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1}, "devices": devices}});
    objects.create("resourceslices.v1.resource.k8s.io", &slice).await.map(drop)
}

fn template(request: &Value) -> Value {
    json!({"metadata": {"name": "gpu"}, "spec": {"metadata": {"labels": {"app": "web"}},
        "spec": {"devices": {"requests": [{"name": "a", "exactly": request}]}}}})
}

fn claim(name: &str, class: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"devices": {"requests":
        [{"name": "a", "exactly": {"deviceClassName": class}}]}}})
}

fn pod(name: &str, (field, value): (&str, &str)) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"terminationGracePeriodSeconds": 1,
            "containers": [{"name": "container", "image": "pause",
                "resources": {"claims": [{"name": "device"}]}}],
            "resourceClaims": [{"name": "device", (field): value}]},
    })
}

fn claim_name(pod: &Value) -> &str {
    pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"].as_str().unwrap_or_default()
}

async fn claim_of(objects: &Objects, pod: &Value) -> anyhow::Result<Value> {
    objects.get(CLAIMS, claim_name(pod)).await
}

fn users(claim: &Value) -> usize {
    claim["status"]["reservedFor"].as_array().map_or(0, Vec::len)
}

fn is_allocated(claim: &Value) -> bool {
    claim["status"]["allocation"].is_object()
}

fn is_held(claim: &Value) -> bool {
    claim["metadata"]["finalizers"].is_array()
}

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running"
}

async fn no_claims(objects: &Objects) -> anyhow::Result<()> {
    wait_until("the end of the claims", LIMIT, async || {
        let claims = objects.list(CLAIMS).await?;
        ensure!(claims.is_empty(), "{claims:?}");
        Ok(Some(()))
    })
    .await
}

async fn has_metric(manager: &Manager, series: &str, wanted: usize) -> anyhow::Result<()> {
    wait_until(&format!("{series} {wanted}"), LIMIT, async || {
        let page = manager.get("/metrics").await?;
        let value = page.lines().find_map(|line| line.strip_prefix(series));
        ensure!(value.is_some_and(|value| value.trim() == wanted.to_string()), "{value:?}");
        Ok(Some(()))
    })
    .await
}

//! A Service each, and what becomes of it.

use anyhow::ensure;
use cluster_tests::{Cluster, Manager, Objects, quiet};
use serde_json::{Value, json};

use super::{
    CALM, MANAGED_BY, NODE, SLICES, addresses, endpoints, is_placeholder, pod, run, say, service,
    set, sliced, slices, that_are,
};

const OURS: &str = "endpointslice-controller.k8s.io";
const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";

pub(super) async fn play(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    objects_are_as_upstreams(cluster).await?;
    what_is_right_is_not_written(cluster, manager).await?;
    readiness_that_flips_ends_right(cluster, manager).await?;
    external_names_get_none(cluster, manager).await?;
    terminating_pods_serve(cluster).await?;
    labels_are_those_of_the_service(cluster).await?;
    both_families_get_slices(cluster).await?;
    unknown_nodes_leave_pods_out(cluster).await?;
    distribution_gives_hints(cluster).await?;
    services_come_and_go(cluster, manager).await
}

/// All that is written for one pod, field by field.
async fn objects_are_as_upstreams(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "whole").await?;
    let made = objects.create("services", &service("web", &json!({}))).await?;
    let mut one = pod("one");
    one["spec"]["hostname"] = json!("h");
    one["spec"]["subdomain"] = json!("web");
    run(&objects, &one, &["10.0.0.1"], "True").await?;
    let found = sliced(&objects, "web", "with an address", |it| {
        that_are(it, "ready") == set(&["10.0.0.1"])
    });
    let slice = found.await?.remove(0);
    let uid = objects.get("pods", "one").await?["metadata"]["uid"].clone();
    let target = json!({"kind": "Pod", "namespace": "whole", "name": "one", "uid": uid});
    let endpoint = json!({"addresses": ["10.0.0.1"], "hostname": "h", "nodeName": NODE, "zone": "a",
        "conditions": {"ready": true, "serving": true, "terminating": false}, "targetRef": target});
    let port = json!({"name": "port-443", "port": 443, "protocol": "TCP"});
    ensure!(slice["endpoints"] == json!([endpoint]), "{slice}");
    ensure!(slice["ports"] == json!([port]) && slice["addressType"] == "IPv4", "{slice}");
    let metadata = &slice["metadata"];
    let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": "web",
        "uid": made["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}]);
    ensure!(metadata["ownerReferences"] == owner, "{slice}");
    ensure!(metadata["generateName"] == "web-", "{slice}");
    let labels = json!({"foo": "bar", "kubernetes.io/service-name": "web", MANAGED_BY: OURS});
    ensure!(metadata["labels"] == labels, "{slice}");

    let has_it = |it: &Value| addresses(it, "addresses") == set(&["10.0.0.1"]);
    let found = endpoints(&objects, "web", "with an address", has_it).await?;
    let address = json!({"ip": "10.0.0.1", "hostname": "h", "nodeName": NODE, "targetRef": target});
    let subsets = json!([{"addresses": [address], "ports": [port]}]);
    ensure!(found["subsets"] == subsets, "{found}");
    let labels = json!({"foo": "bar", "endpoints.kubernetes.io/managed-by": "endpoint-controller"});
    ensure!(found["metadata"]["labels"] == labels, "{found}");
    ensure!(found["metadata"]["ownerReferences"].is_null(), "{found}");
    Ok(())
}

/// TestEndpointUpdates; and the trigger, which the first Endpoints have from their Service.
async fn what_is_right_is_not_written(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "unwritten").await?;
    run(&objects, &pod("test-pod"), &["1.1.1.1", "2001:db8::"], "True").await?;
    let made = objects.create("services", &service("foo1", &json!({}))).await?;
    let there = |it: &Value| !it["subsets"].is_null();
    let first = endpoints(&objects, "foo1", "to be there", there).await?;
    let created = &made["metadata"]["creationTimestamp"];
    ensure!(first["metadata"]["annotations"] == json!({ TRIGGER: created }), "{first}");
    let has_one = |it: &[Value]| it.len() == 1 && it[0]["endpoints"][0].is_object();
    let slice = sliced(&objects, "foo1", "to be there", has_one).await?;
    ensure!(slice[0]["metadata"]["annotations"] == json!({ TRIGGER: created }), "{slice:?}");
    let note = json!({"metadata": {"annotations": {"foo": "bar"}}});
    objects.merge("services", "foo1", &note).await?;
    objects.create("services", &service("foo2", &json!({}))).await?;
    endpoints(&objects, "foo2", "to be there", there).await?;
    quiet(cluster, manager, CALM).await?;
    ensure!(first == endpoints(&objects, "foo1", "to stay", |_| true).await?);
    ensure!(slice == slices(&objects, "foo1").await?);
    Ok(())
}

/// TestEndpointWithMultiplePodUpdates (issue 125638): readiness that changes and changes back.
async fn readiness_that_flips_ends_right(
    cluster: &Cluster,
    manager: &Manager,
) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "flips").await?;
    run(&objects, &pod("test-pod"), &["1.1.1.1"], "True").await?;
    let names: Vec<_> = (0..10).map(|number| format!("foo{number}")).collect();
    objects.create_all("services", names.iter().map(|it| service(it, &json!({})))).await?;
    let is_ready = |it: &Value| addresses(it, "addresses") == set(&["1.1.1.1"]);
    for name in &names {
        endpoints(&objects, name, "to be ready", is_ready).await?;
    }
    for _ in 0..3 {
        say(&objects, "test-pod", &["1.1.1.1"], "False").await?;
        say(&objects, "test-pod", &["1.1.1.1"], "True").await?;
    }
    quiet(cluster, manager, CALM).await?;
    for name in &names {
        let found = objects.get("endpoints", name).await?;
        ensure!(is_ready(&found) && addresses(&found, "notReadyAddresses").is_empty(), "{found}");
        let slices = slices(&objects, name).await?;
        ensure!(that_are(&slices, "ready") == set(&["1.1.1.1"]), "{slices:?}");
    }
    Ok(())
}

/// TestExternalNameToClusterIPTransition.
async fn external_names_get_none(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "external").await?;
    run(&objects, &pod("test-pod"), &["1.1.1.1"], "True").await?;
    let named = json!({"type": "ExternalName", "externalName": "example.com"});
    objects.create("services", &service("foo1", &named)).await?;
    quiet(cluster, manager, CALM).await?;
    ensure!(objects.find("endpoints", "foo1").await?.is_none());
    ensure!(slices(&objects, "foo1").await?.is_empty());
    let back = json!({"spec": {"type": "ClusterIP", "externalName": null}});
    objects.merge("services", "foo1", &back).await?;
    let there = |it: &Value| addresses(it, "addresses") == set(&["1.1.1.1"]);
    let found = endpoints(&objects, "foo1", "to be there", there).await?;
    let headless = &found["metadata"]["labels"]["service.kubernetes.io/headless"];
    ensure!(headless.is_null(), "{found}");
    sliced(&objects, "foo1", "to be there", |it| !that_are(it, "ready").is_empty()).await?;
    // What there is then stays.
    objects
        .merge(
            "services",
            "foo1",
            &json!({"spec": {"type": "ExternalName",
        "externalName": "example.com", "clusterIP": null, "clusterIPs": null}}),
        )
        .await?;
    // Services and pods are watched apart: the manager is to see this first.
    quiet(cluster, manager, CALM).await?;
    objects.delete_with("pods", "test-pod", &json!({"gracePeriodSeconds": 0})).await?;
    quiet(cluster, manager, CALM).await?;
    endpoints(&objects, "foo1", "to stay", there).await?;
    ensure!(that_are(&slices(&objects, "foo1").await?, "ready") == set(&["1.1.1.1"]));
    Ok(())
}

/// TestEndpointWithTerminatingPod, TestEndpointSliceTerminating.
async fn terminating_pods_serve(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "terminating").await?;
    objects.create("services", &service("test-service", &json!({}))).await?;
    run(&objects, &pod("ready"), &["10.0.0.1"], "True").await?;
    run(&objects, &pod("not-ready"), &["10.0.0.2"], "False").await?;
    let both = |it: &Value| {
        addresses(it, "addresses") == set(&["10.0.0.1"])
            && addresses(it, "notReadyAddresses") == set(&["10.0.0.2"])
    };
    endpoints(&objects, "test-service", "with both", both).await?;
    for name in ["ready", "not-ready"] {
        objects.delete("pods", name).await?;
    }
    let none = |it: &Value| it["subsets"].is_null();
    endpoints(&objects, "test-service", "without addresses", none).await?;
    let terminate = |it: &[Value]| that_are(it, "terminating") == set(&["10.0.0.1", "10.0.0.2"]);
    let slices = sliced(&objects, "test-service", "to be terminating", terminate).await?;
    ensure!(that_are(&slices, "ready").is_empty(), "{slices:?}");
    ensure!(that_are(&slices, "serving") == set(&["10.0.0.1"]), "{slices:?}");
    for name in ["ready", "not-ready"] {
        objects.get("pods", name).await?;
        objects.delete_with("pods", name, &json!({"gracePeriodSeconds": 0})).await?;
    }
    let empty = |it: &[Value]| it.len() == 1 && is_placeholder(&it[0]);
    sliced(&objects, "test-service", "to be empty", empty).await.map(drop)
}

/// TestEndpointsControllersLabelSemantics, TestEndpointsHeadlessLabel.
async fn labels_are_those_of_the_service(cluster: &Cluster) -> anyhow::Result<()> {
    const HEADLESS: &str = "service.kubernetes.io/headless";
    let objects = Objects::in_new(cluster, "labels").await?;
    let is_there = |labels: &Value, label: &str| !labels[label].is_null();
    for (number, headless, labelled) in
        [(0, false, false), (1, true, false), (2, false, true), (3, true, true)]
    {
        let name = format!("test-svc-{number}");
        let more = if headless { json!({"clusterIP": "None"}) } else { json!({}) };
        let mut made = service(&name, &more);
        if labelled {
            made["metadata"]["labels"][HEADLESS] = json!("");
        }
        objects.create("services", &made).await?;
        let right = |labels: &Value| is_there(labels, HEADLESS) == headless;
        let is = |it: &Value| right(&it["metadata"]["labels"]);
        endpoints(&objects, &name, "to be labelled", is).await?;
        sliced(&objects, &name, "to be labelled", |it| it.len() == 1 && is(&it[0])).await?;
    }
    let labels = json!({"foo": null, "new-label": "new-label-value"});
    objects.merge("services", "test-svc-1", &json!({"metadata": {"labels": labels}})).await?;
    let is = |it: &Value| {
        let labels = &it["metadata"]["labels"];
        labels["foo"].is_null()
            && labels["new-label"] == "new-label-value"
            && is_there(labels, HEADLESS)
    };
    endpoints(&objects, "test-svc-1", "to have the new label", is).await?;
    sliced(&objects, "test-svc-1", "to have the new label", |it| it.len() == 1 && is(&it[0]))
        .await?;
    Ok(())
}

/// TestDualStackEndpoints: a slice for each family, Endpoints for the first one.
async fn both_families_get_slices(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "dual-stack").await?;
    run(&objects, &pod("test-pod"), &["1.1.1.1", "2001:db2::65"], "False").await?;
    let ip = |family: &str| if family == "IPv4" { "1.1.1.1" } else { "2001:db2::65" };
    for (name, families, policy) in [
        ("v4", vec!["IPv4"], "SingleStack"),
        ("v6", vec!["IPv6"], "SingleStack"),
        ("v6-v4", vec!["IPv6", "IPv4"], "RequireDualStack"),
        ("v4-v6", vec!["IPv4", "IPv6"], "RequireDualStack"),
    ] {
        let more = json!({"ipFamilies": families, "ipFamilyPolicy": policy});
        objects.create("services", &service(name, &more)).await?;
        let first = set(&[ip(families[0])]);
        let is = |it: &Value| addresses(it, "notReadyAddresses") == first;
        endpoints(&objects, name, "of the first family", is).await?;
        let mut wanted = families.clone();
        wanted.sort_unstable();
        let each = |it: &[Value]| {
            let fits = |(slice, family): (&Value, &&str)| {
                slice["addressType"] == **family
                    && slice["endpoints"][0]["addresses"] == json!([ip(family)])
                    && slice["endpoints"][0]["conditions"]["ready"] == false
            };
            it.len() == wanted.len() && it.iter().zip(&wanted).all(fits)
        };
        sliced(&objects, name, "of each family", each).await?;
    }
    // The second family is given back.
    let single = json!({"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"],
        "clusterIPs": null}});
    let kept = objects.get("services", "v4-v6").await?["spec"]["clusterIP"].clone();
    let mut single = single;
    single["spec"]["clusterIPs"] = json!([kept]);
    objects.merge("services", "v4-v6", &single).await?;
    let one = |it: &[Value]| it.len() == 1 && it[0]["addressType"] == "IPv4";
    sliced(&objects, "v4-v6", "of one family", one).await.map(drop)
}

/// TestReconcilerPodMissingNode: the pod is left out, with an Event, until its node is there.
async fn unknown_nodes_leave_pods_out(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "unknown-node").await?;
    let mut lost = pod("lost");
    lost["spec"]["nodeName"] = json!("unknown");
    run(&objects, &lost, &["10.0.0.1"], "True").await?;
    run(&objects, &pod("known"), &["10.0.0.2"], "True").await?;
    objects.create("services", &service("web", &json!({}))).await?;
    let all = json!({"publishNotReadyAddresses": true});
    objects.create("services", &service("all", &all)).await?;
    let known = |it: &[Value]| that_are(it, "ready") == set(&["10.0.0.2"]);
    sliced(&objects, "web", "without the lost pod", known).await?;
    let both = |it: &[Value]| that_are(it, "ready") == set(&["10.0.0.1", "10.0.0.2"]);
    sliced(&objects, "all", "with both", both).await?;
    let message = "Error updating Endpoint Slices for Service unknown-node/web: \
                   skipping Pod lost for Service unknown-node/web: Node unknown Not Found";
    cluster_tests::wait_until("an Event about the missing node", super::LIMIT, async || {
        let events = objects.list("events").await?;
        let is = |it: &Value| {
            it["reason"] == "FailedToUpdateEndpointSlices"
                && it["type"] == "Warning"
                && it["message"] == message
                && it["source"]["component"] == "endpoint-slice-controller"
        };
        ensure!(events.iter().any(is), "{events:?}");
        Ok(Some(()))
    })
    .await?;
    let nodes = objects.of_all();
    nodes.create("nodes", &json!({"metadata": {"name": "unknown"}})).await?;
    sliced(&objects, "web", "with both", both).await?;
    objects.delete_with("pods", "lost", &json!({"gracePeriodSeconds": 0})).await?;
    nodes.delete("nodes", "unknown").await?;
    sliced(&objects, "web", "without the lost pod", known).await.map(drop)
}

/// e2e: Traffic Distribution; upstream's test/integration/service,
/// Test_TransitionsForTrafficDistribution.
async fn distribution_gives_hints(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "distribution").await?;
    run(&objects, &pod("ready"), &["10.0.0.1"], "True").await?;
    let (zones, nodes) = (json!([{"name": "a"}]), json!([{ "name": NODE }]));
    objects.create("services", &service("web", &json!({}))).await?;
    let (none, auto) = (Value::Null, json!("Auto"));
    for (distribution, mode, hints) in [
        (json!("PreferClose"), &none, json!({ "forZones": zones })),
        // One pod is too few for that, and it takes precedence.
        (json!("PreferClose"), &auto, Value::Null),
        (json!("PreferClose"), &none, json!({ "forZones": zones })),
        (Value::Null, &none, Value::Null),
        (json!("PreferSameZone"), &none, json!({ "forZones": zones })),
        (json!("PreferSameNode"), &none, json!({"forZones": zones, "forNodes": nodes})),
        (Value::Null, &none, Value::Null),
        (json!("PreferSameZone"), &none, json!({ "forZones": zones })),
    ] {
        let patch = json!({"spec": {"trafficDistribution": distribution},
            "metadata": {"annotations": {"service.kubernetes.io/topology-mode": mode}}});
        objects.merge("services", "web", &patch).await?;
        let is = |it: &[Value]| {
            it.len() == 1
                && it[0]["endpoints"][0].is_object()
                && it[0]["endpoints"][0]["hints"] == hints
        };
        sliced(&objects, "web", &format!("hinted by {distribution}"), is).await?;
    }
    Ok(())
}

/// What a Service leaves behind: its Endpoints are deleted; its slices are for the garbage
/// collector, which does not run here. What another one leaves is replaced.
async fn services_come_and_go(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "come-and-go").await?;
    objects.create("services", &service("web", &json!({}))).await?;
    run(&objects, &pod("one"), &["10.0.0.1"], "True").await?;
    let one = |it: &[Value]| it.len() == 1 && that_are(it, "ready") == set(&["10.0.0.1"]);
    sliced(&objects, "web", "with an address", one).await?;
    endpoints(&objects, "web", "with an address", |it| !it["subsets"].is_null()).await?;
    objects.delete("services", "web").await?;
    objects.gone("endpoints", "web").await?;
    quiet(cluster, manager, CALM).await?;
    let left = slices(&objects, "web").await?;
    ensure!(one(&left), "{left:?}");
    let made = objects.create("services", &service("web", &json!({}))).await?;
    let uid = &made["metadata"]["uid"];
    let owned = |it: &[Value]| one(it) && it[0]["metadata"]["ownerReferences"][0]["uid"] == *uid;
    sliced(&objects, "web", "of the new Service", owned).await?;
    endpoints(&objects, "web", "with an address", |it| !it["subsets"].is_null()).await?;
    // Deleted by somebody else, both come back.
    objects.delete("endpoints", "web").await?;
    let slice = slices(&objects, "web").await?.remove(0);
    objects.delete(SLICES, slice["metadata"]["name"].as_str().unwrap_or_default()).await?;
    let again = |it: &[Value]| owned(it) && it[0]["metadata"]["uid"] != slice["metadata"]["uid"];
    sliced(&objects, "web", "again", again).await?;
    endpoints(&objects, "web", "again", |it| !it["subsets"].is_null()).await.map(drop)
}

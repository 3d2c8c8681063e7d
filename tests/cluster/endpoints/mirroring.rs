//! Endpoints that people make, and the slices that mirror them. As upstream's
//! test/integration/endpointslice/endpointslicemirroring_test.go.

use anyhow::ensure;
use cluster_tests::{Cluster, Manager, Objects, quiet, wait_until};
use serde_json::{Value, json};

use super::{CALM, LIMIT, MANAGED_BY, addresses, endpoints, set, sliced, slices, that_are};

const MIRRORED: &str = "endpointslicemirroring-controller.k8s.io";
const OF_PODS: &str = "endpointslice-controller.k8s.io";
const NAME: &str = "test-123";

pub(super) async fn play(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    slices_are_made(cluster, manager).await?;
    updates_are_mirrored(cluster).await?;
    selectors_end_it(cluster).await?;
    what_is_skipped_is_reported(cluster).await?;
    all_that_is_mirrored_is_equal(cluster, manager).await
}

fn service(selector: &Value) -> Value {
    let spec = json!({"ports": [{"port": 80}], "selector": selector});
    json!({"metadata": {"name": NAME}, "spec": spec})
}

fn custom(subsets: &Value) -> Value {
    json!({"metadata": {"name": NAME}, "subsets": subsets})
}

fn subset(name: &str, port: i32, ip: &str) -> Value {
    let mut port = json!({ "port": port });
    if !name.is_empty() {
        port["name"] = json!(name);
    }
    json!({"addresses": [{"ip": ip}], "ports": [port]})
}

/// How many of the slices this manager has.
fn managed(slices: &[Value], by: &str) -> usize {
    slices.iter().filter(|it| it["metadata"]["labels"][MANAGED_BY] == by).count()
}

/// TestEndpointSliceMirroring, all rows.
async fn slices_are_made(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let selector = json!({"foo": "bar"});
    let one = json!([subset("", 80, "10.0.0.1")]);
    let same = json!([subset("port1", 80, "10.0.0.1"), subset("port2", 90, "10.0.0.1")]);
    let two = json!([subset("port1", 80, "10.0.0.1"), subset("port2", 90, "10.0.0.2")]);
    for (number, of, made, count, by) in [
        (0, Some(&selector), None, 1, OF_PODS),
        (1, Some(&Value::Null), Some(&one), 1, MIRRORED),
        (2, Some(&Value::Null), Some(&same), 1, MIRRORED),
        (3, Some(&Value::Null), Some(&two), 2, MIRRORED),
        (4, Some(&selector), None, 1, OF_PODS),
        (5, None, Some(&one), 0, MIRRORED),
    ] {
        let objects = Objects::in_new(cluster, &format!("mirroring-{number}")).await?;
        if let Some(selector) = of {
            objects.create("services", &service(selector)).await?;
        }
        if let Some(subsets) = made {
            objects.create("endpoints", &custom(subsets)).await?;
        }
        if count == 0 {
            quiet(cluster, manager, CALM).await?;
        }
        let is = |it: &[Value]| it.len() == count && managed(it, by) == count;
        sliced(&objects, NAME, &format!("of row {number}"), is).await?;
    }
    Ok(())
}

/// TestEndpointSliceMirroringUpdates, all rows, one after the other.
async fn updates_are_mirrored(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "mirroring-updates").await?;
    objects.create("services", &service(&Value::Null)).await?;
    objects.create("endpoints", &custom(&json!([subset("", 80, "10.0.0.1")]))).await?;
    let two =
        json!([{"addresses": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.6"}], "ports": [{"port": 80}]}]);
    let applied = "kubectl.kubernetes.io/last-applied-configuration";
    let trigger = "endpoints.kubernetes.io/last-change-trigger-time";
    for patch in [
        json!({}),
        json!({"metadata": {"labels": {"foo": "bar"}}}),
        json!({"metadata": {"annotations": {"foo2": "bar2"}}}),
        json!({"metadata": {"annotations": {"foo3": "bar3", trigger: "date", applied: "{}"}}}),
        json!({ "subsets": two }),
        json!({"metadata": {"labels": {"foo": null}, "annotations": {"foo2": null}}}),
    ] {
        objects.merge("endpoints", NAME, &patch).await?;
        let now = objects.get("endpoints", NAME).await?;
        let mut annotations = now["metadata"]["annotations"].clone();
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.remove(trigger);
            annotations.remove(applied);
        }
        let labels = now["metadata"]["labels"].as_object();
        let is = |it: &[Value]| {
            let mirrors = |it: &Value| {
                let has = &it["metadata"]["labels"];
                let mut wanted = labels.into_iter().flatten();
                it["metadata"]["annotations"] == annotations
                    && wanted.all(|(name, value)| has[name] == *value)
                    && has["foo"].is_null() != labels.is_some_and(|it| it.contains_key("foo"))
            };
            it.len() == 1
                && managed(it, MIRRORED) == 1
                && mirrors(&it[0])
                && that_are(it, "ready") == addresses(&now, "addresses")
        };
        sliced(&objects, NAME, &format!("after {patch}"), is).await?;
    }
    objects.delete("endpoints", NAME).await?;
    sliced(&objects, NAME, "to be deleted", <[Value]>::is_empty).await.map(drop)
}

/// TestEndpointSliceMirroringSelectorTransition, all rows. The Endpoints controller, which upstream
/// does not run there, takes the Endpoints for its own once there is a selector.
async fn selectors_end_it(cluster: &Cluster) -> anyhow::Result<()> {
    let (none, some) = (json!({}), json!({"foo": "bar"}));
    let rows = [
        (0, &Value::Null, 1, &some, 0),
        (1, &some, 0, &Value::Null, 1),
        (2, &none, 1, &some, 0),
        (3, &some, 0, &none, 1),
    ];
    for (number, from, first, to, last) in rows {
        let objects = Objects::in_new(cluster, &format!("selectors-{number}")).await?;
        objects.create("services", &service(from)).await?;
        let subsets = json!([subset("", 80, "10.0.0.1")]);
        if first == 1 {
            objects.create("endpoints", &custom(&subsets)).await?;
        } else {
            let is_there = |_: &Value| true;
            endpoints(&objects, NAME, "to be there", is_there).await?;
        }
        let mirrored = |count| move |it: &[Value]| managed(it, MIRRORED) == count;
        sliced(&objects, NAME, "at first", mirrored(first)).await?;
        let mut selector = to.clone();
        if to.as_object().is_some_and(serde_json::Map::is_empty) {
            selector["foo"] = Value::Null;
        }
        objects.merge("services", NAME, &json!({"spec": {"selector": selector}})).await?;
        if last == 1 {
            objects.merge("endpoints", NAME, &json!({ "subsets": subsets })).await?;
        }
        sliced(&objects, NAME, "after the transition", mirrored(last)).await?;
    }
    Ok(())
}

/// Upstream's events.go: what is too much is reported, and the rest mirrored.
async fn what_is_skipped_is_reported(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "mirroring-limits").await?;
    objects.create("services", &service(&Value::Null)).await?;
    let ips = (0..1001).map(|number| format!("10.1.{}.{}", number / 250, number % 250 + 1));
    let all: Vec<_> = ips.map(|ip| json!({ "ip": ip })).collect();
    let subsets = json!([{"addresses": all, "ports": [{"port": 80}]}]);
    objects.create("endpoints", &custom(&subsets)).await?;
    sliced(&objects, NAME, "to be full", |it| that_are(it, "ready").len() == 1000).await?;
    wait_until("an Event about what is skipped", LIMIT, async || {
        let events = objects.list("events").await?;
        let is = |it: &Value| {
            it["reason"] == "TooManyAddressesToMirror"
                && it["source"]["component"] == "endpoint-slice-mirroring-controller"
                && it["message"]
                    == "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints \
                        subset. 1 addresses were skipped"
        };
        ensure!(events.iter().any(is), "{events:?}");
        Ok(Some(()))
    })
    .await?;
    let skip = |value: Value| {
        let label = "endpointslice.kubernetes.io/skip-mirror";
        json!({"metadata": {"labels": {label: value}}})
    };
    objects.merge("endpoints", NAME, &skip(json!("true"))).await?;
    sliced(&objects, NAME, "to be deleted", <[Value]>::is_empty).await?;
    objects.merge("endpoints", NAME, &skip(Value::Null)).await?;
    sliced(&objects, NAME, "to be full again", |it| that_are(it, "ready").len() == 1000)
        .await
        .map(drop)
}

/// All fields of what is mirrored, in both families.
async fn all_that_is_mirrored_is_equal(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "mirroring-whole").await?;
    objects.create("services", &service(&Value::Null)).await?;
    let target = json!({"kind": "Pod", "namespace": "mirroring-whole", "name": "p"});
    let subsets = json!([
        {"addresses": [{"ip": "10.0.0.1", "hostname": "h", "nodeName": "n", "targetRef": target}],
            "notReadyAddresses": [{"ip": "fd00::1"}],
            "ports": [{"name": "a", "port": 80, "protocol": "UDP", "appProtocol": "x.io/y"}]},
    ]);
    let made = objects.create("endpoints", &custom(&subsets)).await?;
    let each = |it: &[Value]| it.len() == 2 && managed(it, MIRRORED) == 2;
    let found = sliced(&objects, NAME, "for each family", each).await?;
    let port = json!({"name": "a", "port": 80, "protocol": "UDP", "appProtocol": "x.io/y"});
    let first = json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "hostname": "h",
        "nodeName": "n", "targetRef": target});
    let second = json!({"addresses": ["fd00::1"], "conditions": {"ready": false}});
    let owner = json!([{"apiVersion": "v1", "kind": "Endpoints", "name": NAME,
        "uid": made["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}]);
    let labels = json!({"kubernetes.io/service-name": NAME, MANAGED_BY: MIRRORED});
    for (slice, endpoint) in found.iter().zip([first, second]) {
        ensure!(
            slice["ports"] == json!([port]) && slice["endpoints"] == json!([endpoint]),
            "{slice}"
        );
        let metadata = &slice["metadata"];
        ensure!(metadata["ownerReferences"] == owner && metadata["labels"] == labels, "{slice}");
        ensure!(metadata["annotations"].is_null(), "{slice}");
        ensure!(metadata["generateName"] == format!("{NAME}-"), "{slice}");
    }
    quiet(cluster, manager, CALM).await?;
    ensure!(slices(&objects, NAME).await? == found, "nothing is written twice");
    ensure!(set(&["10.0.0.1"]) == that_are(&found, "ready"));
    Ok(())
}

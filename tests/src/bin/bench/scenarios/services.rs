//! Services, their slices and Endpoints: of every ten Deployments that a Service selects one each,
//! ten select a fifth of all pods.

use super::workloads::deployment;
use super::{has_version, merge_all, timed, to_version};
use crate::world::{Acted, World};
use cluster_tests::{Follow, Weight, rolled_out};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NAMESPACE: &str = "services";
const DEPLOYMENTS: &str = "deployments";
const SLICES: &str = "endpointslices.v1.discovery.k8s.io";
/// Of each Deployment.
const REPLICAS: usize = 10;
/// Parts into which the pods are divided, in two ways; each part has a Service.
const PARTS: usize = 5;
const LARGE: usize = 2 * PARTS;
const NEXT: &str = "2";

pub(super) async fn prepare(world: &mut World) -> anyhow::Result<()> {
    world.namespace(NAMESPACE).await.map(drop)
}

pub(super) async fn make(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects(NAMESPACE)?, world.plan.limit);
    let count = count(world);
    let none = BTreeSet::new();
    let mut slices = Follow::start(&objects, SLICES, |slice| weigh(slice, &none)).await?;
    let change = async {
        objects.create_all("services", services(count)).await?;
        let all = (0..count)
            .map(|number| deployment(&format!("app-{number}"), &labels(number, count), REPLICAS));
        objects.create_all(DEPLOYMENTS, all).await
    };
    timed(change, slices.becomes("all endpoints", limit, endpoints(count)?)).await
}

pub(super) async fn prepare_roll(world: &mut World) -> anyhow::Result<()> {
    let objects = world.namespace(NAMESPACE).await?;
    match objects.find(DEPLOYMENTS, "app-0").await? {
        Some(_) => Ok(()),
        None => make(world).await.map(drop),
    }
}

pub(super) async fn roll(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects(NAMESPACE)?, world.plan.limit);
    let count = count(world);
    let listed = objects.list(SLICES).await?;
    let old: BTreeSet<_> = listed.iter().flat_map(uids).map(str::to_owned).collect();
    let mut slices = Follow::start(&objects, SLICES, |slice| weigh(slice, &old)).await?;
    let is_done = |it: &Value| Weight::one(has_version(it, NEXT) && rolled_out(it));
    let mut followed = Follow::start(&objects, DEPLOYMENTS, is_done).await?;
    let (names, patch) = ((0..count).map(|number| format!("app-{number}")), to_version(NEXT));
    let change = merge_all(&objects, DEPLOYMENTS, names, &patch);
    let end = async {
        let slices = slices.becomes("all endpoints to be new", limit, endpoints(count)?);
        let rolled = followed.becomes("all Deployments", limit, u64::try_from(count)?);
        futures::future::try_join(slices, rolled).await.map(drop)
    };
    timed(change, end).await
}

/// How many Services and Deployments there are.
fn count(world: &World) -> usize {
    world.plan.scaled(500).max(LARGE + 1)
}

/// How many endpoints all Services have: each pod is one of two large ones, and of a small one but
/// where a large one has its place.
fn endpoints(count: usize) -> anyhow::Result<u64> {
    Ok(u64::try_from((2 * count + count - LARGE) * REPLICAS)?)
}

fn labels(number: usize, count: usize) -> Value {
    let (near, far) = (number * PARTS / count, number % PARTS);
    let (near, far) = (format!("part-{near}"), format!("part-{far}"));
    json!({"app": format!("app-{number}"), "near": near, "far": far})
}

fn services(count: usize) -> impl Iterator<Item = Value> {
    let small = (LARGE..count).map(|number| ("app".to_owned(), format!("app-{number}")));
    let large = ["near", "far"]
        .into_iter()
        .flat_map(|key| (0..PARTS).map(move |part| (key.to_owned(), format!("part-{part}"))));
    large.chain(small).map(|(key, value)| {
        let selector = Value::Object([(key.clone(), value.clone().into())].into_iter().collect());
        json!({"metadata": {"name": format!("{key}-{value}")}, "spec": {"selector": selector,
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}})
    })
}

/// An endpoint is good that is ready, and of a pod that is not old.
fn weigh(slice: &Value, old: &BTreeSet<String>) -> Weight {
    let mut weight = Weight::default();
    for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
        let uid = endpoint["targetRef"]["uid"].as_str().unwrap_or_default();
        if endpoint["conditions"]["ready"] == true && !old.contains(uid) {
            weight.good += 1;
        } else {
            weight.bad += 1;
        }
    }
    weight
}

fn uids(slice: &Value) -> impl Iterator<Item = &str> {
    let endpoints = slice["endpoints"].as_array();
    endpoints.into_iter().flatten().filter_map(|endpoint| endpoint["targetRef"]["uid"].as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_endpoints_as_the_selectors_select() {
        for count in [11, 25, 500] {
            let mut selected = 0;
            for service in services(count) {
                let (key, value) =
                    service["spec"]["selector"].as_object().unwrap().iter().next().unwrap();
                let pods = (0..count).filter(|number| labels(*number, count)[key] == *value);
                selected += pods.count() * REPLICAS;
            }
            assert_eq!(services(count).count(), count);
            assert_eq!(endpoints(count).unwrap(), u64::try_from(selected).unwrap());
        }
    }

    #[test]
    fn old_and_unready_endpoints_must_not_be() {
        let endpoint = |uid: &str, ready: bool| {
            let conditions = json!({"ready": ready});
            json!({"targetRef": {"uid": uid}, "conditions": conditions})
        };
        let endpoints = [endpoint("a", true), endpoint("b", true), endpoint("c", false)];
        let slice = json!({"endpoints": endpoints});
        let weight = weigh(&slice, &["b".to_owned()].into());
        assert_eq!(weight, Weight { good: 1, bad: 2 });
        assert_eq!(uids(&slice).collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}

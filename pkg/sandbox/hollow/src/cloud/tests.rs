//! What the cloud says of load balancers, routes and machines.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use api::{BalancedService, Codec, Object as _};
use serde_json::{Value, json};

use super::*;
use crate::Nodes;

/// The result of a call, which takes no time here.
fn now<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it takes time"),
    }
}

fn cloud() -> Cloud {
    Cloud::new(Arc::new(Mutex::new(Kubelet::new(&Nodes::new(2), 7))))
}

fn service(name: &str, extra: &Value) -> Arc<BalancerSpec> {
    let mut json = json!({
        "metadata": {"namespace": "shop", "name": name, "uid": name},
        "spec": {},
    });
    for (field, value) in extra.as_object().unwrap() {
        match field.as_str() {
            "annotations" => json["metadata"][field] = value.clone(),
            _ => json["spec"][field] = value.clone(),
        }
    }
    BalancedService::decode(Codec::Json, json.to_string().as_bytes()).unwrap().spec
}

fn instance(name: &str) -> Instance {
    Instance { name: name.into(), provider_id: Text::default(), addresses: Box::default() }
}

fn ensured(cloud: &Cloud, service: &BalancerSpec) -> Result<String, String> {
    let nodes = [instance("node-0")];
    let addresses = now(cloud.ensure("k8s", service, &nodes));
    let addresses = addresses.map_err(|failure| failure.to_string())?;
    Ok(addresses.unwrap()[0].ip.clone().unwrap())
}

#[test]
fn services_have_addresses_of_their_own() {
    let cloud = cloud();
    let (a, b, c) = (service("a", &json!({})), service("b", &json!({})), service("c", &json!({})));
    assert_eq!(ensured(&cloud, &a).as_deref(), Ok("198.18.0.1"));
    assert_eq!(ensured(&cloud, &b).as_deref(), Ok("198.18.0.2"));
    assert_eq!(ensured(&cloud, &a).as_deref(), Ok("198.18.0.1"), "it stays");
    assert!(now(cloud.get("k8s", &a)).unwrap().is_some());
    assert_eq!(now(cloud.get("other", &a)), Ok(None), "of another cluster");
    now(cloud.ensure_deleted("k8s", &a)).unwrap();
    now(cloud.ensure_deleted("k8s", &a)).unwrap();
    assert_eq!(now(cloud.get("k8s", &a)), Ok(None));
    assert_eq!(ensured(&cloud, &c).as_deref(), Ok("198.18.0.1"), "it is free again");
}

#[test]
fn a_service_may_ask_for_an_address_or_for_an_error() {
    let cloud = cloud();
    let asks = |ip: &str| json!({"loadBalancerIP": ip});
    assert_eq!(ensured(&cloud, &service("a", &asks("198.18.0.9"))).as_deref(), Ok("198.18.0.9"));
    let taken = ensured(&cloud, &service("b", &asks("198.18.0.9")));
    assert_eq!(taken.unwrap_err(), "no address is free");
    assert_eq!(ensured(&cloud, &service("a", &asks("198.18.0.7"))).as_deref(), Ok("198.18.0.7"));
    let fails = json!({"annotations": {"sandbox/load-balancer-error": "no quota"}});
    assert_eq!(ensured(&cloud, &service("a", &fails)).unwrap_err(), "no quota");
}

#[test]
fn a_load_balancer_leads_where_it_is_told() {
    let (cloud, service) = (cloud(), service("a", &json!({})));
    let nodes = [instance("node-0"), instance("node-1")];
    let failure = now(cloud.update("k8s", &service, &nodes)).unwrap_err();
    assert_eq!(failure.to_string(), "shop/a has no load balancer");
    ensured(&cloud, &service).unwrap();
    let leads = |cloud: &Cloud| cloud.balancers().into_values().next().unwrap().join(" ");
    assert_eq!(leads(&cloud), "node-0");
    now(cloud.update("k8s", &service, &nodes)).unwrap();
    assert_eq!(leads(&cloud), "node-0 node-1");
}

#[test]
fn routes_are_listed_as_they_were_made() {
    let cloud = cloud();
    let route = |cidr: &str| Route { node: "a".into(), cidr: cidr.into(), ..Route::default() };
    for cidr in ["10.0.1.0/24", "fd00::/64"] {
        now(cloud.create("k8s", "u1", &route(cidr))).unwrap();
    }
    now(cloud.create("other", "u1", &route("10.0.1.0/24"))).unwrap();
    let listed = now(cloud.list("k8s")).unwrap();
    let names: Vec<&str> = listed.iter().map(|route| &*route.name).collect();
    assert_eq!(names, ["k8s-u1-10.0.1.0/24", "k8s-u1-fd00::/64"]);
    now(cloud.delete("k8s", &listed[0])).unwrap();
    assert_eq!(now(cloud.list("k8s")).unwrap(), listed[1..]);
    assert_eq!(now(cloud.list("other")).unwrap().len(), 1);
}

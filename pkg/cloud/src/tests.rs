//! Names and texts.

use std::sync::Arc;

use api::{BalancedService, Codec, Object as _};

use super::*;

fn service(uid: &str) -> Arc<api::BalancerSpec> {
    let json = format!(r#"{{"metadata":{{"namespace":"shop","name":"web","uid":"{uid}"}}}}"#);
    BalancedService::decode(Codec::Json, json.as_bytes()).unwrap().spec
}

/// Upstream's `DefaultLoadBalancerName`: the dashes go first, then what is too long.
#[test]
fn a_load_balancer_is_named_after_the_uid() {
    for (uid, expected) in [
        ("", "a"),
        ("1-2", "a12"),
        ("9c8b4a1e-7a52-4f0a-8f43-1f2e3d4c5b6a", "a9c8b4a1e7a524f0a8f431f2e3d4c5b6"),
    ] {
        assert_eq!(default_name(&service(uid)), expected);
    }
}

#[test]
fn questions_and_orders_say_what_they_are_about() {
    let instance = |name: &str| Instance {
        name: name.into(),
        provider_id: Text::default(),
        addresses: Box::default(),
    };
    let (cluster, service) = (Text::from("kubernetes"), service("u1"));
    let nodes: Arc<[Instance]> = [instance("a"), instance("b")].into();
    let route = Route { node: "a".into(), cidr: "10.0.1.0/24".into(), ..Route::default() };
    let asks = [
        Ask::Balancer { cluster: cluster.clone(), service: service.clone() },
        Ask::Routes { cluster: cluster.clone() },
        Ask::Exists(Arc::new(instance("a"))),
        Ask::IsShutDown(Arc::new(instance("a"))),
    ];
    let orders = [
        Order::Ensure { cluster: cluster.clone(), service: service.clone(), nodes: nodes.clone() },
        Order::Update { cluster: cluster.clone(), service: service.clone(), nodes },
        Order::Delete { cluster: cluster.clone(), service },
        Order::CreateRoute { cluster: cluster.clone(), hint: "u2".into(), route: route.clone() },
        Order::DeleteRoute { cluster, route: Route { name: "r1".into(), ..route } },
    ];
    let asks = asks.iter().map(ToString::to_string);
    let said: Vec<_> = asks.chain(orders.iter().map(ToString::to_string)).collect();
    assert_eq!(
        said,
        [
            "cloud: load balancer of shop/web",
            "cloud: routes of kubernetes",
            "cloud: does the instance of a exist",
            "cloud: is the instance of a shut down",
            "cloud: ensure load balancer of shop/web to [a b]",
            "cloud: update load balancer of shop/web to [a b]",
            "cloud: delete load balancer of shop/web",
            "cloud: create route 10.0.1.0/24 to a with hint u2",
            "cloud: delete route r1 10.0.1.0/24 to a",
        ]
    );
}

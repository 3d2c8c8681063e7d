//! What quotas count, and quotas.

use serde_json::{Value, json};

use crate::*;

/// The view of upstream's bytes; both codecs show the same.
fn read<T: Kind + PartialEq + std::fmt::Debug>(protobuf: &[u8], json: &[u8]) -> T {
    let view = T::decode(Codec::Protobuf, protobuf).unwrap();
    assert_eq!(T::decode(Codec::Json, json).as_ref(), Ok(&view));
    view
}

fn json<T: Kind>(object: &Value) -> T {
    T::decode(Codec::Json, object.to_string().as_bytes()).unwrap()
}

fn texts(list: &ResourceList) -> Vec<String> {
    list.iter().map(|(name, amount)| format!("{name}={amount}")).collect()
}

#[test]
fn upstreams_bytes_of_what_a_pod_uses_are_read_from_both_codecs() {
    let pod: Pod = read(
        include_bytes!("../../testdata/quota-pod.pb"),
        include_bytes!("../../testdata/quota-pod.json"),
    );
    let quota = &pod.quota;
    let requests = ["cpu=1610m", "example.com/gpu=1", "memory=3Gi"];
    assert_eq!(texts(&quota.resources.requests), requests);
    assert_eq!(texts(&quota.resources.limits), ["cpu=3010m", "memory=4Gi"]);
    let of_containers = quota.of_containers.as_deref().unwrap();
    let requests = ["cpu=1610m", "example.com/gpu=1", "memory=1Gi"];
    assert_eq!(texts(&of_containers.requests), requests);
    assert_eq!(texts(&of_containers.limits), ["cpu=3010m"]);
    assert_eq!(quota.priority_class.as_deref(), Some("high"));
    assert!(quota.has_deadline && quota.crosses_namespaces && !quota.is_best_effort);
    assert_eq!(quota.extended_claim.as_deref(), Some("claim"));
    let deleted = pod.meta.deletion_timestamp.unwrap();
    let ends = deleted + std::time::Duration::from_secs(30);
    assert_eq!(quota.grace_ends, Some(ends));
    assert!(pod.is_charged(ends) && !pod.is_charged(ends + std::time::Duration::from_nanos(1)));
}

/// The pods of a template share what quotas count of them, and it takes no more than a word.
#[test]
fn equal_pods_share_what_they_use() {
    let pod = |name: &str, memory: &str| -> Pod {
        let container = json!({"resources": {"requests": {"memory": memory}}});
        json(&json!({"metadata": {"name": name}, "spec": {"containers": [container]}}))
    };
    let shared = |a: &str, b: &str| std::sync::Arc::ptr_eq(&pod("a", a).quota, &pod("b", b).quota);
    let first = pod("a", "1Gi");
    assert!(std::sync::Arc::ptr_eq(&first.quota, &pod("b", "1024Mi").quota));
    assert!(!shared("1Gi", "1073741824"), "as much, but it prints otherwise");
    assert!(pod("a", "1Gi").quota != pod("a", "1073741824").quota);
    let memory = first.quota.resources.requests.get("memory").unwrap();
    assert_eq!(memory.to_string(), "1Gi");
    assert!(first.quota.resources.limits.is_empty());
}

#[test]
fn upstreams_bytes_of_a_load_balancer_are_read_from_both_codecs() {
    let service: Service = read(
        include_bytes!("../../testdata/balancer-service.pb"),
        include_bytes!("../../testdata/balancer-service.json"),
    );
    assert!(service.is_load_balancer);
    assert_eq!(service.node_ports, 1, "what is allocated, since no others will be");
}

#[test]
fn upstreams_bytes_of_claimed_devices_are_read() {
    let claim = include_bytes!("../../testdata/resource-claim.json");
    let claim = ResourceClaim::decode(Codec::Json, claim).unwrap();
    assert_eq!(*claim.devices, [("gpu".into(), 5), ("tpu".into(), 32)]);
    assert_eq!(claim.extended_for.as_deref(), Some("pod-uid"));
    let class: DeviceClass = read(
        include_bytes!("../../testdata/device-class.pb"),
        include_bytes!("../../testdata/device-class.json"),
    );
    assert_eq!(class.extended_resource.as_deref(), Some("example.com/gpu"));
    assert_eq!(DeviceClass::INDEXES[0].of(&class).as_slice(), ["example.com/gpu".into()]);
}

#[test]
fn upstreams_bytes_of_a_pod_with_claims_of_devices_are_read_from_both_codecs() {
    let pod: Pod = read(
        include_bytes!("../../testdata/resource-claims-pod.pb"),
        include_bytes!("../../testdata/resource-claims-pod.json"),
    );
    let text = |it: &PodResourceClaim| format!("{} {:?} {:?}", it.name, it.template, it.claim);
    let claims: Vec<_> = pod.resource_claims().iter().map(text).collect();
    let expected = [
        "given None Given(\"shared\")",
        "made Some(\"gpu\") Made(\"a-made-x\")",
        "unmade Some(\"gpu\") NotMade",
        "needless Some(\"tpu\") NotNeeded",
        "unknown None Unsupported",
    ];
    assert_eq!(claims, expected);
    let found = |name| {
        let index = Pod::INDEXES.iter().find(|index| index.name == name).unwrap();
        index.of(&pod).as_slice().join(" ")
    };
    assert_eq!(found(Pod::BY_RESOURCE_CLAIM), "shop/a-made-x shop/shared");
    assert_eq!(found(Pod::BY_CLAIM_TEMPLATE), "shop/gpu shop/tpu");
    assert_eq!(pod.group().map(|it| &**it), Some("gang"));
    assert_eq!(found(Pod::ACTIVE_BY_GROUP), "shop/gang");
}

/// Amounts may be numbers; scopes are `spec.scopes` and then the selector.
#[test]
fn a_quota_is_read_with_its_scopes() {
    let in_classes = json!({"scopeName": "PriorityClass", "operator": "In", "values": ["a"]});
    let exists = json!({"scopeName": "PriorityClass", "operator": "Exists", "values": ["x"]});
    let broken = json!({"scopeName": "PriorityClass", "operator": "Like"});
    let quota: ResourceQuota = json(&json!({
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": {"cpu": 2, "pods": "10"}, "scopes": ["BestEffort"],
            "scopeSelector": {"matchExpressions": [in_classes, exists, broken]}},
        "status": {"hard": null, "used": {"pods": "1"}},
    }));
    let amounts: Vec<_> = quota.hard.iter().map(|(name, it)| format!("{name}={it}")).collect();
    assert_eq!(amounts, ["cpu=2", "pods=10"]);
    assert!(quota.status_hard.is_empty() && quota.used.len() == 1);
    let names: Vec<_> = quota.scopes.iter().map(|scope| scope.name.as_str()).collect();
    assert_eq!(names, ["BestEffort", "PriorityClass", "PriorityClass", "PriorityClass"]);
    assert_eq!(quota.scopes[0].requirement, Ok(Requirement::Exists));
    assert_eq!(quota.scopes[1].requirement, Ok(Requirement::In(["a".to_owned()].into())));
    assert_eq!(quota.scopes[2].requirement, Ok(Requirement::Exists));
    assert_eq!(quota.scopes[3].requirement, Err(SelectorError::Operator("Like".to_owned())));
    assert_eq!(ResourceQuota::INDEXES[1].of(&quota).as_slice(), ["cpu".into(), "pods".into()]);
    let none: ResourceQuota = json(&json!({"metadata": {"name": "q"}}));
    assert!(none.hard.is_empty() && none.scopes.is_empty());
}

#[test]
fn upstreams_bytes_of_devices_are_read_from_both_codecs() {
    let slice: ResourceSlice = read(
        include_bytes!("../../testdata/resource-slice.pb"),
        include_bytes!("../../testdata/resource-slice.json"),
    );
    let ResourceSlice { driver, pool, generation, slices, node_name, devices, tainted, .. } =
        &slice;
    assert_eq!((&**driver, &**pool, *generation, *slices, *devices), ("d", "p", 7, 2, 3));
    assert_eq!(node_name.as_deref(), Some("node-1"));
    let noon = Time::parse("2024-05-01T12:00:00Z").ok();
    let taint =
        |key: &str, value: &str, added| DeviceTaint { key: key.into(), value: value.into(), added };
    let taints = [taint("a", "x", noon), taint("c", "", None)].into();
    assert_eq!(**tainted, [TaintedDevice { name: "bad".into(), taints }]);
    assert_eq!(ResourceSlice::INDEXES[0].of(&slice).as_slice(), ["d/p".into()]);
}

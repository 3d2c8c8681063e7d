//! What is counted of Services, volume claims, and objects of any kind.

use super::*;

/// TestServiceEvaluatorUsage and TestServiceEvaluatorMatchesResources.
#[test]
fn services_use_ports_of_nodes_by_their_type() {
    let ports = json!([{"port": 27443, "nodePort": 32001}, {"port": 27444}]);
    let names = ["count/services", "services", "services.loadbalancers", "services.nodeports"];
    for (spec, balancers, node_ports) in [
        (json!({"type": "LoadBalancer", "ports": ports}), "1", "2"),
        (json!({"type": "LoadBalancer"}), "1", "0"),
        (
            json!({"type": "LoadBalancer", "ports": ports, "allocateLoadBalancerNodePorts": false}),
            "1",
            "1",
        ),
        (
            json!({"type": "LoadBalancer", "ports": ports, "allocateLoadBalancerNodePorts": true}),
            "1",
            "2",
        ),
        (json!({"type": "ClusterIP", "ports": ports}), "0", "0"),
        (json!({"type": "NodePort", "ports": ports}), "0", "2"),
        (json!({"type": "ExternalName"}), "0", "0"),
    ] {
        let services = vec![with(named("a"), json!({ "spec": spec }))];
        let mut world = World { services, ..World::of(of(&names)) };
        let expected = json!({"count/services": "1", "services": "1",
            "services.loadbalancers": balancers, "services.nodeports": node_ports});
        assert_eq!(world.used(), expected, "{spec}");
    }
}

/// TestPersistentVolumeClaimEvaluatorUsage and …MatchingResources.
#[test]
fn volume_claims_use_storage_by_class() {
    let names = [
        "count/persistentvolumeclaims",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
        "gold.storageclass.storage.k8s.io/requests.storage",
        "persistentvolumeclaims",
        "requests.storage",
    ];
    let asks = |amount: &str| json!({"spec": {"resources": {"requests": {"storage": amount}}}});
    let allocated = |amount| json!({"status": {"allocatedResources": {"storage": amount}}});
    let gold = json!({"spec": {"storageClassName": "gold"}});
    let beta = |class: &str| {
        let annotations = json!({"volume.beta.kubernetes.io/storage-class": class});
        json!({"metadata": {"annotations": annotations}})
    };
    for (parts, of_class, storage) in [
        (vec![asks("10Gi")], false, "10Gi"),
        (vec![asks("10Gi"), gold.clone()], true, "10Gi"),
        (vec![asks("10Gi"), beta("gold")], true, "10Gi"),
        (vec![asks("10Gi"), gold.clone(), beta("")], false, "10Gi"),
        (vec![asks("10Gi"), gold.clone(), beta("silver")], false, "10Gi"),
        // "pvc-storage-class-non-integer": whole bytes.
        (vec![asks("10000m"), gold.clone()], true, "10"),
        (vec![asks("1100m")], false, "2"),
        (vec![asks("10Gi"), allocated("5Gi")], false, "10Gi"),
        (vec![asks("5Gi"), allocated("10Gi"), gold.clone()], true, "10Gi"),
        (vec![allocated("10Gi")], false, "0"),
    ] {
        let claim = parts.into_iter().fold(named("a"), with);
        let mut world = World { claims: vec![claim.clone()], ..World::of(of(&names)) };
        let (count, by_class) = if of_class { ("1", storage) } else { ("0", "0") };
        let expected = json!({"count/persistentvolumeclaims": "1",
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims": count,
            "gold.storageclass.storage.k8s.io/requests.storage": by_class,
            "persistentvolumeclaims": "1", "requests.storage": storage});
        assert_eq!(world.used(), expected, "{claim}");
    }
}

/// TestPersistentVolumeClaimEvaluatorMatchingScopes.
#[test]
fn volume_claims_are_in_scope_by_any_of_their_attributes_classes() {
    let has = |spec: &str, current: &str, target: &str| {
        let status = json!({"currentVolumeAttributesClassName": current,
            "modifyVolumeStatus": {"targetVolumeAttributesClassName": target}});
        json!({"spec": {"volumeAttributesClassName": spec}, "status": status})
    };
    let is_in = |claim: &Value, operator: &str, values: &[&str]| {
        let expression =
            json!({"scopeName": "VolumeAttributesClass", "operator": operator, "values": values});
        let spec = json!({"hard": {"persistentvolumeclaims": "9"},
            "scopeSelector": {"matchExpressions": [expression]}});
        let claims = vec![with(named("a"), claim.clone())];
        World { claims, ..World::of(quota(&spec)) }.used()["persistentvolumeclaims"] == "1"
    };
    let none = json!({});
    assert!(is_in(&none, "DoesNotExist", &[]) && is_in(&none, "NotIn", &["gold"]));
    assert!(!is_in(&none, "Exists", &[]) && !is_in(&none, "In", &["gold"]));
    for claim in [has("gold", "", ""), has("", "gold", ""), has("silver", "silver", "gold")] {
        assert!(is_in(&claim, "Exists", &[]) && is_in(&claim, "In", &["gold"]), "{claim}");
        assert!(!is_in(&claim, "DoesNotExist", &[]), "{claim}");
    }
    assert!(!is_in(&has("gold", "", ""), "NotIn", &["gold"]));
    assert!(is_in(&has("silver", "", "gold"), "NotIn", &["gold"]), "by the other one");
}

/// What has no scopes is in none.
#[test]
fn other_objects_are_in_no_scope() {
    let names = ["configmaps", "count/services", "persistentvolumeclaims", "services.nodeports"];
    let mut quota = of(&names);
    quota["spec"]["scopes"] = json!(["NotTerminating"]);
    let services = vec![with(named("a"), json!({"spec": {"type": "NodePort", "ports": [{}]}}))];
    let claims = vec![named("a")];
    let mut world = World { services, claims, ..World::of(quota) };
    world.counted.insert(CONFIG_MAPS, vec![named("a")]);
    let used: Vec<_> = world.used().as_object().unwrap().values().cloned().collect();
    assert_eq!(used, ["0", "0", "0", "0"]);
}

/// `legacyObjectCountAliases`, and the count of any kind.
#[test]
fn objects_of_any_kind_are_counted() {
    let names = ["configmaps", "count/configmaps", "count/widgets.example.com", "widgets"];
    let elsewhere = with(named("c"), json!({"metadata": {"namespace": "other"}}));
    let mut world = World::of(of(&names));
    world.counted.insert(CONFIG_MAPS, vec![named("a"), named("b"), elsewhere.clone()]);
    world.counted.insert(WIDGETS, vec![named("a"), elsewhere]);
    assert_eq!(world.used(), json!({"configmaps": "2", "count/configmaps": "2"}));
    world.serve(&[WIDGETS]);
    let used =
        json!({"configmaps": "2", "count/configmaps": "2", "count/widgets.example.com": "1"});
    assert_eq!(world.used(), used);
}

/// TestDiscoverySync: evaluators are never removed. What is no longer served is not there; that
/// does not hold for a group that cannot be discovered, whose kinds stay listed.
#[test]
fn a_kind_that_is_no_longer_served_has_no_objects() {
    let mut world = World::of(of(&["count/widgets.example.com"]));
    world.serve(&[WIDGETS]);
    world.counted.insert(WIDGETS, vec![named("a")]);
    assert_eq!(world.used(), json!({"count/widgets.example.com": "1"}));
    world.serve(&[]);
    assert_eq!(world.used(), json!({"count/widgets.example.com": "1"}), "still listed");
    world.counted.clear();
    assert_eq!(world.used(), json!({"count/widgets.example.com": "0"}));
    // After a restart nothing is known of it.
    world.kinds = Shared::default();
    world.quota["status"]["used"] = json!({"count/widgets.example.com": "7"});
    assert_eq!(world.used(), json!({"count/widgets.example.com": "7"}));
}

/// Kinds outside of namespaces, and those that cannot be created, are not counted; nor are events.
#[test]
fn only_what_is_stored_in_namespaces_is_counted() {
    let events = Resource::namespaced("events.k8s.io", "v1", "events", "Event");
    let nodes = Resource::cluster_scoped("", "v1", "nodes", "Node");
    let metrics = Resource::namespaced("metrics.k8s.io", "v1", "pods", "PodMetrics");
    let mut kinds: Vec<_> = served(&[events, nodes, metrics]).kinds.clone();
    kinds[2].verbs = [Verb::Delete, Verb::List, Verb::Watch].into();
    let mut known = Kinds::default();
    known.serve(&Served::new(kinds, BTreeMap::new()));
    for name in ["count/events.events.k8s.io", "count/nodes", "count/pods.metrics.k8s.io"] {
        assert_eq!(known.find(name), None, "{name}");
    }
}

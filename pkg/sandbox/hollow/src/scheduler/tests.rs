//! Rules of the scheduler. Rows name upstream's plugin and its test.

mod attempts;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::cluster::Cluster;
use super::filter::refuse;
use super::pod::{Amounts, Pod};
use super::score::best;
use super::topology::Facts;
use crate::seed::Seed;
use crate::world::pod_with;

fn pod(name: &str, spec: &Value) -> Value {
    let mut pod = pod_with(name, &[], spec);
    pod["metadata"]["uid"] = json!(name);
    pod
}

fn labelled(name: &str, app: &str, spec: &Value) -> Value {
    let mut pod = pod(name, spec);
    pod["metadata"]["labels"] = json!({ "app": app });
    pod
}

fn asks(requests: &Value) -> Value {
    json!({ "containers": [{ "name": "main", "resources": { "requests": requests } }] })
}

/// `host` in zone `z`, with 1 CPU, 1 GiB, 2 pods and 3 GPUs.
fn node(name: &str, zone: &str) -> Value {
    let room = json!({ "cpu": "1", "memory": "1Gi", "pods": "2", "x/gpu": "3" });
    json!({
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": zone,
                "disk": "ssd",
                "size": "5",
            },
        },
        "status": { "allocatable": room },
    })
}

fn read(object: Value) -> Arc<Pod> {
    Arc::new(Pod::read(&Arc::new(object)))
}

/// Name, the pod's spec, the pods that are there, what the node says.
type Row<'a> = (&'a str, Value, Vec<(&'a str, Value)>, &'a str);

/// What the node `host` says of a pod, with these pods on these nodes.
fn refusal(pod: Value, host: &Value, placed: &[(&str, Value)]) -> String {
    let mut cluster = Cluster::default();
    for it in [host, &node("other", "z"), &node("far", "y")] {
        cluster.show_node(it);
    }
    for (node, pod) in placed {
        cluster.put(&read(pod.clone()), node);
    }
    let pod = read(pod);
    let facts = Facts::new(&pod, &cluster, &BTreeSet::new());
    let host = cluster.host(cluster.place("host").unwrap()).unwrap();
    let Some(refusal) = refuse(&pod, host, &facts, &cluster) else { return String::new() };
    let reasons: Vec<String> = refusal.reasons.iter().map(ToString::to_string).collect();
    let hopeless = if refusal.hopeless { "!" } else { "" };
    format!("{}{hopeless}", reasons.join(", ").replace("node(s) ", ""))
}

fn host() -> Value {
    node("host", "z")
}

fn tainted(key: &str, effect: &str) -> Value {
    let mut node = host();
    node["spec"]["taints"] = json!([{ "key": key, "value": "v", "effect": effect }]);
    node
}

#[test]
fn nodes_that_keep_pods_away() {
    let taint = "had untolerated taint(s)!";
    let mut cordoned = host();
    cordoned["spec"]["unschedulable"] = json!(true);
    let tolerates = |toleration: Value| pod("p", &json!({ "tolerations": [toleration] }));
    let plain = || pod("p", &json!({}));
    let rows = [
        ("NodeUnschedulable", plain(), cordoned.clone(), "were unschedulable!"),
        (
            "NodeUnschedulable: tolerated",
            tolerates(json!({ "key": "node.kubernetes.io/unschedulable", "operator": "Exists" })),
            cordoned,
            "",
        ),
        ("TaintTolerationFilter: NoSchedule", plain(), tainted("k", "NoSchedule"), taint),
        ("TaintTolerationFilter: NoExecute", plain(), tainted("k", "NoExecute"), taint),
        ("TaintTolerationFilter: soft", plain(), tainted("k", "PreferNoSchedule"), ""),
        (
            "TaintTolerationFilter: equal",
            tolerates(json!({ "key": "k", "value": "v", "effect": "NoSchedule" })),
            tainted("k", "NoSchedule"),
            "",
        ),
        (
            "TaintTolerationFilter: other value",
            tolerates(json!({ "key": "k", "value": "w" })),
            tainted("k", "NoSchedule"),
            taint,
        ),
        (
            "TaintTolerationFilter: other effect",
            tolerates(json!({ "key": "k", "operator": "Exists", "effect": "NoExecute" })),
            tainted("k", "NoSchedule"),
            taint,
        ),
        (
            "TaintTolerationFilter: everything",
            tolerates(json!({ "operator": "Exists" })),
            tainted("k", "NoSchedule"),
            "",
        ),
        (
            "TaintTolerationFilter: numbers need a gate",
            tolerates(json!({ "key": "k", "operator": "Gt", "value": "1" })),
            tainted("k", "NoSchedule"),
            taint,
        ),
    ];
    for (name, pod, node, wanted) in rows {
        assert_eq!(refusal(pod, &node, &[]), wanted, "{name}");
    }
}

#[test]
fn nodes_that_pods_ask_for() {
    let no = "didn't match Pod's node affinity/selector!";
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = |terms: Value| {
        let node = json!({ required: { "nodeSelectorTerms": terms } });
        json!({ "affinity": { "nodeAffinity": node } })
    };
    let one = |key: &str, operator: &str, values: &[&str]| {
        let expression = json!({ "key": key, "operator": operator, "values": values });
        json!({ "matchExpressions": [expression] })
    };
    let name = |operator: &str, name: &str| {
        let field = json!({ "key": "metadata.name", "operator": operator, "values": [name] });
        json!({ "matchFields": [field] })
    };
    let rows = [
        ("selector", json!({ "nodeSelector": { "disk": "ssd" } }), ""),
        ("selector, other", json!({ "nodeSelector": { "disk": "hdd" } }), no),
        ("In", terms(json!([one("disk", "In", &["hdd", "ssd"])])), ""),
        ("In, other", terms(json!([one("disk", "In", &["hdd"])])), no),
        ("NotIn", terms(json!([one("disk", "NotIn", &["ssd"])])), no),
        ("NotIn, absent", terms(json!([one("none", "NotIn", &["ssd"])])), ""),
        ("Exists", terms(json!([one("none", "Exists", &[])])), no),
        ("DoesNotExist", terms(json!([one("none", "DoesNotExist", &[])])), ""),
        ("Gt", terms(json!([one("size", "Gt", &["4"])])), ""),
        ("Gt, equal", terms(json!([one("size", "Gt", &["5"])])), no),
        ("Lt", terms(json!([one("size", "Lt", &["6"])])), ""),
        ("Lt, no number", terms(json!([one("disk", "Lt", &["6"])])), no),
        (
            "one of two terms",
            terms(json!([one("none", "Exists", &[]), one("disk", "Exists", &[])])),
            "",
        ),
        ("no terms", terms(json!([])), no),
        ("an empty term", terms(json!([{}])), no),
        ("matchFields", terms(json!([name("In", "host")])), ""),
        ("matchFields, other", terms(json!([name("In", "other")])), no),
        ("matchFields NotIn", terms(json!([name("NotIn", "host")])), no),
    ];
    for (name, spec, wanted) in rows {
        assert_eq!(refusal(pod("p", &spec), &host(), &[]), wanted, "TestNodeAffinity: {name}");
    }
}

#[test]
fn room() {
    let here = |requests: Value| ("host", pod("here", &asks(&requests)));
    let port = |host: &str, port: i64, protocol: &str| {
        let port = json!({ "hostIP": host, "hostPort": port, "protocol": protocol });
        json!({ "containers": [{ "name": "main", "ports": [port] }] })
    };
    let ports = "didn't have free ports for the requested pod ports";
    let with_port = |address: &str| vec![("host", pod("here", &port(address, 80, "TCP")))];
    let rows: Vec<Row<'_>> = vec![
        ("fits", asks(&json!({ "cpu": "600m" })), vec![here(json!({ "cpu": "400m" }))], ""),
        (
            "cpu",
            asks(&json!({ "cpu": "601m" })),
            vec![here(json!({ "cpu": "400m" }))],
            "Insufficient cpu",
        ),
        ("too large", asks(&json!({ "cpu": 2 })), vec![], "Insufficient cpu!"),
        (
            "two resources",
            asks(&json!({ "cpu": "1", "memory": "1Gi" })),
            vec![here(json!({ "cpu": "1m", "memory": "1" }))],
            "Insufficient cpu, Insufficient memory",
        ),
        (
            "storage",
            asks(&json!({ "ephemeral-storage": "1" })),
            vec![],
            "Insufficient ephemeral-storage!",
        ),
        (
            "extended",
            asks(&json!({ "x/gpu": "2" })),
            vec![here(json!({ "x/gpu": "2" }))],
            "Insufficient x/gpu",
        ),
        (
            "pods",
            json!({}),
            vec![here(json!({})), ("host", pod("there", &json!({})))],
            "Too many pods",
        ),
        ("port", port("", 80, "TCP"), with_port("127.0.0.1"), ports),
        ("port of another address", port("10.0.0.1", 80, "TCP"), with_port("10.0.0.2"), ""),
        ("port of all addresses", port("10.0.0.1", 80, "TCP"), with_port("0.0.0.0"), ports),
        ("port of another protocol", port("", 80, "UDP"), with_port(""), ""),
        ("another port", port("", 81, "TCP"), with_port(""), ""),
    ];
    for (name, spec, placed, wanted) in rows {
        let found = refusal(pod("p", &spec), &host(), &placed);
        assert_eq!(found, wanted, "TestEnoughRequests, TestNodePorts: {name}");
    }
}

#[test]
fn requests_of_pods() {
    let one = |cpu: &str| json!({ "name": cpu, "resources": { "requests": { "cpu": cpu } } });
    let sidecar = |cpu: &str| {
        let mut container = one(cpu);
        container["restartPolicy"] = json!("Always");
        container
    };
    let rows = [
        ("sum", json!({ "containers": [one("1"), one("2")] }), 3000),
        ("init larger", json!({ "containers": [one("1")], "initContainers": [one("5")] }), 5000),
        (
            "init smaller",
            json!({ "containers": [one("1")], "initContainers": [one("500m")] }),
            1000,
        ),
        (
            "sidecar counts for both",
            json!({ "containers": [one("1")], "initContainers": [sidecar("2"), one("4")] }),
            6000,
        ),
        (
            "init before a sidecar",
            json!({ "containers": [one("1")], "initContainers": [one("4"), sidecar("2")] }),
            4000,
        ),
        ("overhead", json!({ "containers": [one("1")], "overhead": { "cpu": "250m" } }), 1250),
        (
            "of the pod",
            json!({ "containers": [one("1")], "resources": { "requests": { "cpu": "3" } } }),
            3000,
        ),
    ];
    for (name, spec, wanted) in rows {
        let found = Amounts::of_pod(&json!({ "spec": spec })).cpu_millis;
        assert_eq!(found, wanted, "TestPodRequests: {name}");
    }
}

fn affinity(kind: &str, app: &str, topology: &str) -> Value {
    let term = json!({
        "labelSelector": { "matchLabels": { "app": app } },
        "topologyKey": topology,
    });
    json!({ "affinity": { kind: { "requiredDuringSchedulingIgnoredDuringExecution": [term] } } })
}

#[test]
fn pods_near_and_far() {
    const ZONE: &str = "topology.kubernetes.io/zone";
    const HOST: &str = "kubernetes.io/hostname";
    let near =
        |app: &str, topology: &str| labelled("p", "a", &affinity("podAffinity", app, topology));
    let far =
        |app: &str, topology: &str| labelled("p", "a", &affinity("podAntiAffinity", app, topology));
    let other = |app: &str| vec![("other", labelled("here", app, &json!({})))];
    let no_near = "didn't match pod affinity rules!";
    let no_far = "didn't match pod anti-affinity rules";
    let blocked = "didn't satisfy existing pods anti-affinity rules";
    let loner = || vec![("other", labelled("here", "x", &affinity("podAntiAffinity", "a", ZONE)))];
    let mut foreign = labelled("here", "b", &json!({}));
    foreign["metadata"]["namespace"] = json!("elsewhere");
    let rows = [
        ("near, same zone", near("b", ZONE), other("b"), ""),
        ("near, other host", near("b", HOST), other("b"), no_near),
        ("near, nobody", near("b", ZONE), vec![], no_near),
        ("near itself, the first", near("a", ZONE), vec![], ""),
        ("near itself, not the first", near("a", HOST), other("a"), no_near),
        ("near, no such label", near("b", "none"), other("b"), no_near),
        ("near, other namespace", near("b", ZONE), vec![("other", foreign.clone())], no_near),
        ("far, same zone", far("b", ZONE), other("b"), no_far),
        ("far, other host", far("b", HOST), other("b"), ""),
        ("far, other pods", far("c", ZONE), other("b"), ""),
        ("far, other namespace", far("b", ZONE), vec![("other", foreign)], ""),
        ("kept away", labelled("p", "a", &json!({})), loner(), blocked),
        ("not kept away", labelled("p", "b", &json!({})), loner(), ""),
    ];
    for (name, pod, placed, wanted) in rows {
        let found = refusal(pod, &host(), &placed);
        assert_eq!(found, wanted, "TestRequiredAffinitySingleNode and others: {name}");
    }
}

#[test]
fn pods_that_spread() {
    let spread = |fields: Value| {
        let mut constraint = json!({
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": { "matchLabels": { "app": "a" } },
        });
        let fields = fields.as_object().cloned().unwrap();
        constraint.as_object_mut().unwrap().extend(fields);
        labelled("p", "a", &json!({ "topologySpreadConstraints": [constraint] }))
    };
    let on = |nodes: &[&'static str]| -> Vec<(&str, Value)> {
        let pod = |at: usize| labelled(&format!("here-{at}"), "a", &json!({}));
        nodes.iter().enumerate().map(|(at, node)| (*node, pod(at))).collect()
    };
    let no = "didn't match pod topology spread constraints";
    let rows = [
        ("balanced", spread(json!({})), on(&["other", "far"]), ""),
        ("one more here", spread(json!({})), on(&["other"]), no),
        ("one more there", spread(json!({})), on(&["far"]), ""),
        ("more skew", spread(json!({ "maxSkew": 2 })), on(&["other"]), ""),
        ("soft", spread(json!({ "whenUnsatisfiable": "ScheduleAnyway" })), on(&["other"]), ""),
        (
            "no label",
            spread(json!({ "topologyKey": "none" })),
            on(&[]),
            &*format!("{no} (missing required label)!"),
        ),
        ("too few domains", spread(json!({ "minDomains": 3 })), on(&["other", "far"]), no),
        (
            "other pods",
            spread(json!({ "labelSelector": { "matchLabels": { "app": "b" } } })),
            on(&["other"]),
            "",
        ),
    ];
    for (name, pod, placed, wanted) in rows {
        let found = refusal(pod, &host(), &placed);
        assert_eq!(found, wanted, "TestSingleConstraint: {name}");
    }
}

/// Which of the nodes is best.
fn chosen(pod: Value, nodes: &[Value], placed: &[(&str, Value)]) -> String {
    let mut cluster = Cluster::default();
    for node in nodes {
        cluster.show_node(node);
    }
    for (node, pod) in placed {
        cluster.put(&read(pod.clone()), node);
    }
    let places = cluster.order().to_vec();
    let place = best(&read(pod), &places, &cluster, Seed(1)).unwrap();
    cluster.host(place).unwrap().name.clone()
}

#[test]
fn the_best_node() {
    let owned = |name: &str| {
        let mut pod = pod(name, &json!({}));
        pod["metadata"]["ownerReferences"] = json!([{ "uid": "set", "controller": true }]);
        pod
    };
    let soft = tainted("k", "PreferNoSchedule");
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let expression = json!({ "key": "kubernetes.io/hostname", "operator": "In", "values": ["b"] });
    let likes_b = json!({ "affinity": { "nodeAffinity": { preferred: [
        { "weight": 1, "preference": { "matchExpressions": [expression] } },
    ] } } });
    let term = json!({
        "labelSelector": { "matchLabels": { "app": "x" } },
        "topologyKey": "kubernetes.io/hostname",
    });
    let avoids_x = json!({ "affinity": { "podAntiAffinity": { preferred: [
        { "weight": 100, "podAffinityTerm": term },
    ] } } });
    let spec = json!({});
    let two = || vec![node("a", "y"), node("b", "z")];
    let rows = [
        (
            "LeastAllocated",
            pod("p", &spec),
            two(),
            vec![("a", pod("q", &asks(&json!({ "cpu": "1", "memory": "1Gi" }))))],
            "b",
        ),
        (
            "BalancedAllocation",
            pod("p", &asks(&json!({ "cpu": "500m" }))),
            two(),
            vec![
                ("a", pod("q", &asks(&json!({ "cpu": "400m", "memory": "1Mi" })))),
                ("b", pod("r", &asks(&json!({ "cpu": "1m", "memory": "410Mi" })))),
            ],
            "b",
        ),
        ("TaintTolerationScore", pod("p", &spec), vec![soft, node("b", "z")], vec![], "b"),
        ("NodeAffinityPriority", pod("p", &likes_b), two(), vec![], "b"),
        (
            "PreferredAntiAffinity",
            pod("p", &avoids_x),
            two(),
            vec![("a", labelled("q", "x", &spec)), ("b", labelled("r", "y", &spec))],
            "b",
        ),
        (
            "DefaultSpreading: hosts",
            owned("p"),
            vec![node("a", "z"), node("b", "z")],
            vec![("a", owned("q")), ("b", pod("r", &spec))],
            "b",
        ),
        (
            "DefaultSpreading: zones",
            owned("p"),
            vec![node("a", "y"), node("a2", "y"), node("b", "z")],
            vec![("a", owned("q"))],
            "b",
        ),
    ];
    for (name, pod, nodes, placed, wanted) in rows {
        assert_eq!(chosen(pod, &nodes, &placed), wanted, "{name}");
    }
}

#[test]
fn nodes_are_tried_zone_by_zone() {
    let mut cluster = Cluster::default();
    for (name, zone) in [("a", "x"), ("b", "x"), ("c", "x"), ("d", "y"), ("e", "z"), ("f", "z")] {
        cluster.show_node(&node(name, zone));
    }
    cluster.drop_node("a");
    let order = cluster.order().to_vec();
    let names: Vec<&str> =
        order.iter().filter_map(|place| Some(cluster.host(*place)?.name.as_str())).collect();
    assert_eq!(names, ["b", "d", "e", "c", "f"], "TestNodeTree_List");
}

#[test]
fn room_that_was_made_is_kept() {
    let with = |name: &str, priority: i64| {
        let mut spec = asks(&json!({ "cpu": "600m" }));
        spec["priority"] = json!(priority);
        read(pod(name, &spec))
    };
    let mut cluster = Cluster::default();
    cluster.show_node(&host());
    let place = cluster.place("host").unwrap();
    let fits = |cluster: &Cluster, pod: &Pod| {
        refuse(pod, cluster.host(place).unwrap(), &Facts::default(), cluster).is_none()
    };
    let expected = with("x", 5);
    cluster.nominate(&expected, "host");
    let rows = [("lower", 1, false), ("equal", 5, false), ("higher", 9, true), ("x", 5, true)];
    for (name, priority, wanted) in rows {
        let found = fits(&cluster, &with(name, priority));
        assert_eq!(found, wanted, "RunFilterPluginsWithNominatedPods: {name}");
    }
    cluster.nominate(&expected, "");
    assert!(fits(&cluster, &with("lower", 1)));
}

#[test]
fn pods_of_a_controller_are_counted_where_they_are() {
    let mut owned = pod("p", &json!({}));
    owned["metadata"]["ownerReferences"] = json!([{ "uid": "set", "controller": true }]);
    let owned = read(owned);
    let mut cluster = Cluster::default();
    cluster.put(&owned, "late");
    for name in ["a", "late"] {
        cluster.show_node(&node(name, "z"));
    }
    let counts = |cluster: &Cluster| -> Vec<(usize, i64)> {
        cluster.owners.values().flatten().map(|(place, count)| (*place, *count)).collect()
    };
    assert_eq!(counts(&cluster), [(1, 1)], "on a node that was not known");
    cluster.put(&owned, "a");
    assert_eq!(counts(&cluster), [(0, 1)], "moved");
    cluster.drop_node("a");
    assert_eq!(counts(&cluster), [], "its node is gone");
    assert_eq!(cluster.take(&owned.key).as_deref(), Some("a"));
    assert!(cluster.place("a").is_none() && cluster.len() == 1);
}

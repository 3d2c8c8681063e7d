//! What is counted of pods.

use super::*;

const ALL: [&str; 15] = [
    "count/pods",
    "cpu",
    "ephemeral-storage",
    "hugepages-2Mi",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.deviceclass.resource.kubernetes.io/dongle",
    "requests.ephemeral-storage",
    "requests.example.com/dongle",
    "requests.hugepages-2Mi",
    "requests.memory",
];

/// What a pod uses, without what is zero.
fn used_with(pod: &Value, controller: &Controller) -> Value {
    let mut world = World { pods: vec![with(named("a"), pod.clone())], ..World::of(of(&ALL)) };
    world.sync_by(controller);
    let mut used = world.quota["status"]["used"].take();
    used.as_object_mut().unwrap().retain(|_, amount| *amount != "0");
    used
}

fn used(pod: &Value) -> Value {
    used_with(pod, &CONTROLLER)
}

fn asks(requests: impl Into<Value>, limits: impl Into<Value>) -> Value {
    let [requests, limits]: [Value; 2] = [requests.into(), limits.into()];
    json!({"resources": {"requests": requests, "limits": limits}})
}

/// TestPodEvaluatorUsage, of one container or init container.
#[test]
fn a_container_uses_what_it_asks_for() {
    let rows = [
        (
            asks(json!({"cpu": "1m"}), json!({"cpu": "2m"})),
            json!({"requests.cpu": "1m", "limits.cpu": "2m", "cpu": "1m"}),
        ),
        (
            asks(json!({"memory": "1m"}), json!({"memory": "2m"})),
            json!({"requests.memory": "1m", "limits.memory": "2m", "memory": "1m"}),
        ),
        (
            asks(json!({"ephemeral-storage": "32Mi"}), json!({"ephemeral-storage": "64Mi"})),
            json!({"requests.ephemeral-storage": "32Mi", "limits.ephemeral-storage": "64Mi",
                "ephemeral-storage": "32Mi"}),
        ),
        (
            asks(json!({"hugepages-2Mi": "100Mi"}), json!({})),
            json!({"requests.hugepages-2Mi": "100Mi", "hugepages-2Mi": "100Mi"}),
        ),
        (
            asks(json!({"example.com/dongle": "3"}), json!({"example.com/dongle": "3"})),
            json!({"requests.example.com/dongle": "3"}),
        ),
        (
            asks(json!({"deviceclass.resource.kubernetes.io/dongle": 3}), json!({})),
            json!({"requests.deviceclass.resource.kubernetes.io/dongle": "3"}),
        ),
    ];
    for (container, expected) in rows {
        for field in ["containers", "initContainers"] {
            let pod = json!({"spec": {field: [container]}});
            let expected = with(json!({"pods": "1", "count/pods": "1"}), expected.clone());
            assert_eq!(used(&pod), expected, "{field}: {container}");
        }
    }
}

/// TestPodEvaluatorUsage, "init container maximums override sum of containers".
#[test]
fn the_largest_init_container_may_need_more_than_all_others() {
    let container = |cpu, memory, dongles, cpu_max, memory_max| {
        asks(
            json!({"cpu": cpu, "memory": memory, "example.com/dongle": dongles}),
            json!({"cpu": cpu_max, "memory": memory_max, "example.com/dongle": dongles}),
        )
    };
    let init = [container("4", "100M", "4", "8", "200M"), container("1", "50M", "2", "2", "100M")];
    let all = [container("1", "50M", "1", "2", "100M"), container("2", "25M", "2", "5", "50M")];
    let pod = json!({"spec": {"containers": all, "initContainers": init}});
    let expected = json!({"count/pods": "1", "cpu": "4", "limits.cpu": "8",
        "limits.memory": "200M", "memory": "100M", "pods": "1", "requests.cpu": "4",
        "requests.example.com/dongle": "4", "requests.memory": "100M"});
    assert_eq!(used(&pod), expected);
}

/// component-helpers/resource, TestPodResourceRequests: sidecars run beside what comes later.
#[test]
fn sidecars_are_counted_beside_all_that_come_later() {
    let cpu = |cpu: &str| asks(json!({ "cpu": cpu }), json!({}));
    let sidecar = |amount| with(cpu(amount), json!({"restartPolicy": "Always"}));
    let cpu_of = |init: Value, containers: Value| {
        let pod = json!({"spec": {"containers": containers, "initContainers": init}});
        used(&pod)["cpu"].as_str().unwrap_or("0").to_owned()
    };
    assert_eq!(cpu_of(json!([sidecar("1")]), json!([cpu("2")])), "3");
    assert_eq!(cpu_of(json!([sidecar("1"), cpu("5")]), json!([cpu("2")])), "6");
    assert_eq!(cpu_of(json!([cpu("5"), sidecar("1")]), json!([cpu("2")])), "5");
    assert_eq!(cpu_of(json!([sidecar("1"), cpu("2"), sidecar("3")]), json!([cpu("1")])), "5");
}

/// TestPodEvaluatorUsage: "terminated generic count still appears", "pod deletion timestamp
/// exceeded" and "… not exceeded".
#[test]
fn a_pod_that_has_ended_is_only_stored() {
    let container = asks(json!({"cpu": "1"}), json!({"cpu": "2"}));
    let base = json!({"spec": {"containers": [container]}});
    let stored = json!({"count/pods": "1"});
    let all = json!({"count/pods": "1", "cpu": "1", "limits.cpu": "2", "pods": "1",
        "requests.cpu": "1"});
    let leaving = |seconds: i64| {
        let meta = json!({"deletionTimestamp": ago(seconds), "deletionGracePeriodSeconds": 30});
        with(base.clone(), json!({ "metadata": meta }))
    };
    for phase in ["Succeeded", "Failed"] {
        assert_eq!(used(&with(base.clone(), json!({"status": {"phase": phase}}))), stored);
    }
    assert_eq!(used(&leaving(60)), stored);
    assert_eq!(used(&leaving(0)), all);
    assert_eq!(used(&leaving(30)), all, "at the end it is still charged");
    let pods = vec![with(named("a"), leaving(20))];
    let mut world = World { pods, ..World::of(of(&ALL)) };
    world.sync();
    let again = world.sync().plan.again;
    assert_eq!(again, Some(Duration::from_millis(10_001)), "not at the next event");
}

/// TestPodEvaluatorUsage, "count pod overhead as usage" and pod-level resources; without the gate
/// `PodLevelResources` these do not count.
#[test]
fn what_a_pod_asks_for_as_a_whole_counts() {
    let container = asks(json!({"cpu": "1"}), json!({"cpu": "2"}));
    let pod =
        json!({"spec": {"containers": [container], "overhead": {"cpu": "1", "memory": "1Mi"}}});
    let expected = json!({"count/pods": "1", "cpu": "2", "limits.cpu": "3", "memory": "1Mi",
        "pods": "1", "requests.cpu": "2", "requests.memory": "1Mi"});
    assert_eq!(used(&pod), expected, "what has no limit gets none");

    let storage = asks(json!({"ephemeral-storage": "32Mi"}), json!({"ephemeral-storage": "64Mi"}));
    let spec = asks(json!({"memory": "1Mi", "ephemeral-storage": "1"}), json!({"memory": "2Mi"}));
    let pod = json!({"spec": with(json!({"containers": [storage]}), spec)});
    let of_containers = json!({"count/pods": "1", "ephemeral-storage": "32Mi",
        "limits.ephemeral-storage": "64Mi", "pods": "1", "requests.ephemeral-storage": "32Mi"});
    let whole = json!({"limits.memory": "2Mi", "memory": "1Mi", "requests.memory": "1Mi"});
    assert_eq!(used(&pod), with(of_containers.clone(), whole));
    let skipped = Controller { pod_level: PodLevel::Skipped, ..CONTROLLER };
    assert_eq!(used_with(&pod, &skipped), of_containers);
}

/// TestPodEvaluatorUsageResourceResize; and a resize that the node refuses.
#[test]
fn a_resized_pod_uses_the_most_of_all_that_is_said() {
    let pod = |spec: &str, actuated: Value, allocated: Value, conditions: Value| {
        let container = with(asks(json!({"cpu": spec}), json!({"cpu": "2"})), json!({"name": "c"}));
        let status = json!({"name": "c", "allocatedResources": allocated, "resources": actuated});
        let status = json!({"containerStatuses": [status], "conditions": conditions});
        used(&json!({"spec": {"containers": [container]}, "status": status}))
    };
    let cpu = |amount: &str| json!({"requests": {"cpu": amount}, "limits": {"cpu": "3"}});
    let numbers = |used: &Value| (used["requests.cpu"].clone(), used["limits.cpu"].clone());
    let found = numbers(&pod("100m", cpu("150m"), json!({}), json!([])));
    assert_eq!(found, (json!("150m"), json!("3")));
    let found = numbers(&pod("200m", cpu("150m"), json!({"cpu": "250m"}), json!([])));
    assert_eq!(found, (json!("250m"), json!("3")));
    let found = numbers(&pod("200m", Value::Null, json!({"cpu": "250m"}), json!([])));
    assert_eq!(found, (json!("200m"), json!("2")), "without actuated resources nothing counts");
    let pending = |reason: &str| {
        json!([{"type": "PodResizePending", "status": "True",
        "reason": reason}])
    };
    let found = numbers(&pod("4", cpu("150m"), json!({"cpu": "160m"}), pending("Infeasible")));
    assert_eq!(found, (json!("160m"), json!("3")));
    let found = numbers(&pod("4", cpu("150m"), json!({"cpu": "160m"}), pending("Deferred")));
    assert_eq!(found, (json!("4"), json!("3")));
}

/// TestPodEvaluatorMatchingScopes.
#[test]
fn a_pod_is_in_its_scopes() {
    let affinity = |kind: &str, when: &str, term: Value| {
        let term = if when.starts_with("preferred") {
            json!({"weight": 1, "podAffinityTerm": term})
        } else {
            term
        };
        json!({"spec": {"activeDeadlineSeconds": 30, "affinity": {kind: {when: [term]}}}})
    };
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let crossing = &["BestEffort", "CrossNamespacePodAffinity", "Terminating"][..];
    let elsewhere = json!({"namespaces": ["ns1"]});
    let anywhere = json!({"labelSelector": {}, "namespaceSelector": {}});
    let container = asks(json!({"cpu": "1"}), json!({}));
    let dongle = asks(json!({"example.com/dongle": "1"}), json!({}));
    let rows = [
        (json!({}), &["BestEffort", "NotTerminating"][..]),
        (
            json!({"spec": {"priorityClassName": "class1"}}),
            &["BestEffort", "NotTerminating", "PriorityClass"],
        ),
        (json!({"spec": {"containers": [container]}}), &["NotBestEffort", "NotTerminating"]),
        (json!({"spec": {"initContainers": [container]}}), &["NotBestEffort", "NotTerminating"]),
        (json!({"spec": {"containers": [dongle]}}), &["BestEffort", "NotTerminating"]),
        (json!({"spec": container}), &["NotBestEffort", "NotTerminating"]),
        (json!({"status": {"qosClass": "Burstable"}}), &["NotBestEffort", "NotTerminating"]),
        (json!({"spec": {"activeDeadlineSeconds": 30}}), &["BestEffort", "Terminating"]),
        (json!({"spec": {"activeDeadlineSeconds": -1}}), &["BestEffort", "NotTerminating"]),
        (affinity("podAffinity", required, elsewhere.clone()), crossing),
        (affinity("podAffinity", preferred, anywhere.clone()), crossing),
        (affinity("podAntiAffinity", required, elsewhere), crossing),
        (affinity("podAntiAffinity", preferred, anywhere), crossing),
        (
            affinity("podAffinity", required, json!({"labelSelector": {}})),
            &["BestEffort", "Terminating"],
        ),
    ];
    for (pod, expected) in rows {
        let is_in = |scope: &&str| {
            let quota = quota(&json!({"hard": {"pods": "1"}, "scopes": [scope]}));
            World { pods: vec![with(named("a"), pod.clone())], ..World::of(quota) }.used()["pods"]
                == "1"
        };
        let scopes = [
            "BestEffort",
            "CrossNamespacePodAffinity",
            "NotBestEffort",
            "NotTerminating",
            "PriorityClass",
            "Terminating",
            "VolumeAttributesClass",
        ];
        let found: Vec<_> = scopes.into_iter().filter(is_in).collect();
        assert_eq!(found, expected, "{pod}");
    }
}

/// TestPodEvaluatorUsageStats, "w/ multiple scopeNames specified".
#[test]
fn a_pod_must_be_in_all_scopes() {
    let classed = |name: &str, class: &str, resources: Value| {
        with(pod(name, resources), json!({"spec": {"priorityClassName": class}}))
    };
    let asks = json!({"requests": {"cpu": "1"}});
    let pods = vec![
        classed("p1", "high", asks.clone()),
        ended(classed("p2", "high", asks.clone())),
        classed("p3", "low", asks),
        ended(classed("p4", "high", json!({}))),
    ];
    let expression = json!({"scopeName": "PriorityClass", "operator": "In", "values": ["high"]});
    let spec = json!({"hard": {"count/pods": "9", "pods": "9"},
        "scopes": ["PriorityClass", "BestEffort"],
        "scopeSelector": {"matchExpressions": [expression]}});
    let mut world = World { pods, ..World::of(quota(&spec)) };
    assert_eq!(world.used(), json!({"count/pods": "1", "pods": "0"}));
}

/// As Go adds and prints: the first amount that is not zero decides how the sum prints.
#[test]
fn sums_print_as_go_prints_them() {
    let sum = |amounts: &[&str]| {
        let pods = amounts.iter().zip('a'..);
        let pods = pods
            .map(|(amount, name)| pod(&name.to_string(), json!({"requests": {"memory": amount}})));
        World { pods: pods.collect(), ..World::of(of(&["memory"])) }.used()["memory"].clone()
    };
    for (amounts, expected) in [
        (&["512Mi", "512Mi"][..], "1Gi"),
        (&["0", "1Ki", "1k"], "2024"),
        (&["1k", "1Ki"], "2024"),
        (&["1M", "1Mi"], "2048576"),
        (&["1.5Gi", "1m"], "1610612736001m"),
        (&["1e3", "1Ki"], "2024"),
        (&["1e6"], "1e6"),
        (&["0.1", "0.9"], "1"),
        (&["128974848", "129e6"], "257974848"),
        (&["100Gi", "24Gi", "900Gi"], "1Ti"),
    ] {
        assert_eq!(sum(amounts), expected, "{amounts:?}");
    }
}

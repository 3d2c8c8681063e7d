//! TestComputePodQOS.

use serde_json::{Value, json};

use crate::pod::qos::class;

/// A list of resources; empty texts say nothing.
fn amounts(cpu: &str, memory: &str) -> Value {
    let mut amounts = json!({});
    for (name, amount) in [("cpu", cpu), ("memory", memory)] {
        if !amount.is_empty() {
            amounts[name] = amount.into();
        }
    }
    amounts
}

fn resources(requests: [&str; 2], limits: [&str; 2]) -> Value {
    json!({
        "requests": amounts(requests[0], requests[1]),
        "limits": amounts(limits[0], limits[1]),
    })
}

/// Requests and limits of each container.
fn spec(containers: &[([&str; 2], [&str; 2])]) -> Value {
    let containers: Vec<_> = containers
        .iter()
        .map(|(one, other)| json!({"resources": resources(*one, *other)}))
        .collect();
    json!({"containers": containers})
}

fn of_pod(mut spec: Value, requests: [&str; 2], limits: [&str; 2]) -> Value {
    spec["resources"] = resources(requests, limits);
    spec
}

#[test]
fn classes_follow_requests_and_limits() {
    let none = (["", ""], ["", ""]);
    let same = (["100m", "100Mi"], ["100m", "100Mi"]);
    let burstable = (["1", "100Mi"], ["2", "100Mi"]);
    let huge = |amount: &str| {
        json!({"containers": [{"resources": {
            "requests": {"cpu": "0", "memory": "0", "hugepages-2Mi": amount},
            "limits": {"cpu": "0", "memory": "0", "hugepages-2Mi": amount},
        }}]})
    };
    let mut init = spec(&[none]);
    init["initContainers"] = spec(&[(["10m", "100Mi"], ["100m", "200Mi"])])["containers"].clone();
    let rows = [
        ("guaranteed", spec(&[same]), "Guaranteed"),
        ("guaranteed-guaranteed", spec(&[same, same]), "Guaranteed"),
        ("written otherwise", spec(&[(["0.1", "102400Ki"], ["100m", "100Mi"])]), "Guaranteed"),
        ("best-effort-best-effort", spec(&[none, none]), "BestEffort"),
        ("best-effort-burstable", spec(&[none, (["1", ""], ["2", ""])]), "Burstable"),
        ("best-effort-guaranteed", spec(&[none, same]), "Burstable"),
        ("burstable-cpu-guaranteed-memory", spec(&[(["", "1Mi"], ["", "1Mi"])]), "Burstable"),
        ("burstable-no-limits", spec(&[(["100m", "100Mi"], ["", ""])]), "Burstable"),
        ("burstable-guaranteed", spec(&[burstable, same]), "Burstable"),
        (
            "burstable-unbounded-but-requests-match-limits",
            spec(&[(["100m", "100Mi"], ["200m", "200Mi"]), (["100m", "100Mi"], ["", ""])]),
            "Burstable",
        ),
        ("burstable-1", spec(&[(["10m", "100Mi"], ["100m", "200Mi"])]), "Burstable"),
        ("burstable-2", spec(&[(["0", "0"], ["100m", "200Mi"])]), "Burstable"),
        ("best-effort-hugepages", huge("1Gi"), "BestEffort"),
        ("init-container", init, "Burstable"),
        (
            "guaranteed-with-pod-level-resources",
            of_pod(spec(&[none]), ["10m", "100Mi"], ["10m", "100Mi"]),
            "Guaranteed",
        ),
        (
            "guaranteed-with-pod-and-container-level-resources",
            of_pod(spec(&[(["3m", "10Mi"], ["5m", "20Mi"])]), ["10m", "1Mi"], ["10m", "1Mi"]),
            "Guaranteed",
        ),
        (
            "burstable-with-pod-level-resources",
            of_pod(spec(&[none]), ["10m", "10Mi"], ["20m", "50Mi"]),
            "Burstable",
        ),
        (
            "burstable-with-pod-and-container-level-requests",
            of_pod(spec(&[(["5m", "10Mi"], ["", ""])]), ["10m", "10Mi"], ["", ""]),
            "Burstable",
        ),
        (
            "burstable-with-pod-and-container-level-resources-2",
            of_pod(spec(&[same]), ["10m", "10Mi"], ["5m", ""]),
            "Burstable",
        ),
    ];
    for (name, spec, expected) in rows {
        assert_eq!(class(&spec), expected, "{name}");
    }
}

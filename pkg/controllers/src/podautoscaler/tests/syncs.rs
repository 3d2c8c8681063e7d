//! Whole syncs.

use controller::Refused;

use super::world::{
    CUSTOM, EXTERNAL, RESOURCE, SCALE, World, autoscaler, broken, cpu, of_pods, outside, running,
    scale, usage,
};
use super::*;
use controller::fixture::with;

/// Upstream's `statusOk`.
const FINE: [&str; 3] = [
    "AbleToScale True SucceededRescale",
    "ScalingActive True ValidMetricFound",
    "ScalingLimited False DesiredWithinRange",
];

/// The world of a case of `horizontal_test.go`, as `prepareTestClient` has it.
fn world(row: &Value) -> World {
    let case = &row["case"];
    let name = row["name"].as_str().unwrap();
    let of = |field: &str| int(&case[field]);
    let levels: Vec<_> =
        case["reportedLevels"].as_array().into_iter().flatten().map(long).collect();
    let (spec, status) = (of("specReplicas"), of("statusReplicas"));
    let selector = match name {
        "TestConditionInvalidSelectorMissing" => "",
        "TestConditionInvalidSelectorUnparsable" => "cheddar cheese",
        _ => "name=test-pod",
    };
    let mut target = scale(spec, status, selector);
    let resource = &case["resource"];
    target = with(target, json!({"metadata": {"name": resource["name"]}}));
    let path = match resource["kind"].as_str().unwrap() {
        "ReplicationController" => SCALE,
        "Deployment" => "/apis/apps/v1/namespaces/test-namespace/deployments/test-dep/scale",
        "ReplicaSet" => "/apis/apps/v1/namespaces/test-namespace/replicasets/test-replicaset/scale",
        other => panic!("{other}"),
    };
    let object = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/test-namespace/deployments.apps/\
                  some-deployment/qps";
    let first = levels.first().copied().unwrap_or_default();
    let mut world = World { autoscaler: autoscaler_of(case), pods: pods(case), ..World::default() };
    world = world
        .with(path, target)
        .with(RESOURCE, usage(&levels))
        .with(CUSTOM, of_pods(&levels))
        .with(object, of_pods(&[first]))
        .with(EXTERNAL, outside(&levels));
    if let Some(past) = case["recommendations"].as_array() {
        let all = past.iter().map(|one| Recommendation {
            replicas: int(&one["recommendation"]),
            at: uptime_ago(&one["timestamp"]["ago"]),
        });
        world.memory.recommend(&super::world::key(), "uid-hpa", all.collect());
    }
    world.controller.0.scales_to_zero = row["scaleToZero"] == true;
    world.controller.0.admits_tolerances = row["fixedTolerance"] != true;
    faults(world, name)
}

/// What the test itself changes.
fn faults(mut world: World, name: &str) -> World {
    let all = [RESOURCE, CUSTOM, EXTERNAL];
    match name {
        "TestConditionFailedGetMetrics" => {
            let object = world.responses.keys().find(|path| path.contains("some-deployment"));
            let object = object.unwrap().clone();
            all.into_iter()
                .chain([object.as_str()])
                .fold(world, |world, path| world.refusing(path, broken()))
        }
        "TestScaleUpOneMetricEmpty" | "TestNoScaleDownOneMetricEmpty" => {
            world.refusing(EXTERNAL, broken())
        }
        "TestConditionFailedGetScale" => world.refusing(SCALE, broken()),
        "TestConditionFailedUpdateScale" => {
            world.outcome =
                Outcome { error: Some("no".to_owned()), step: Some(0), ..Outcome::default() };
            world
        }
        "TestConditionNoAmbiguousSelectorWhenNoSelectorOverlapBetweenHPAs" => {
            world.beside("test-hpa-2", "cheddar=cheese")
        }
        "TestConditionAmbiguousSelectorWhenFullSelectorOverlapBetweenHPAs" => {
            world.beside("test-hpa-2", "name=test-pod")
        }
        "TestConditionAmbiguousSelectorWhenPartialSelectorOverlapBetweenHPAs" => {
            let labels = json!({"metadata": {"labels": {"cheddar": "cheese"}}});
            for pod in &mut world.pods {
                *pod = with(pod.clone(), labels.clone());
            }
            world.beside("test-hpa-2", "cheddar=cheese")
        }
        _ => world,
    }
}

fn autoscaler_of(case: &Value) -> Value {
    let of = |field: &str| int(&case[field]);
    let mut metrics = Vec::new();
    if of("CPUTarget") > 0 {
        metrics.push(cpu(of("CPUTarget")));
    }
    metrics.extend(case["metricsTarget"].as_array().cloned().unwrap_or_default());
    if metrics.is_empty() {
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu"}}));
    }
    let rules = [&case["scaleUpRules"], &case["scaleDownRules"]];
    let behavior = rules.iter().any(|it| !it.is_null());
    let behavior = behavior.then(|| json!({"scaleUp": rules[0], "scaleDown": rules[1]}));
    let last = case["lastScaleTime"].get("ago").map(|ago| seconds_ago(ago).to_string());
    let spec = json!({
        "scaleTargetRef": null, "minReplicas": of("minReplicas"),
        "maxReplicas": of("maxReplicas"), "metrics": metrics, "behavior": behavior,
    });
    let status = json!({
        "currentReplicas": of("specReplicas"), "desiredReplicas": of("specReplicas"),
        "lastScaleTime": last, "conditions": case["initialConditions"],
    });
    let all = autoscaler(&spec, &status);
    with(all, json!({"spec": {"scaleTargetRef": case["resource"]}}))
}

fn pods(case: &Value) -> Vec<Value> {
    let requests = case["reportedCPURequests"].as_array();
    let count = requests.map_or(long(&case["statusReplicas"]), |all| all.len().try_into().unwrap());
    let pod = |at: usize| {
        let request = requests.map_or("1", |all| all[at].as_str().unwrap());
        let milli = apimachinery::Quantity::parse(request).unwrap().milli_value();
        let pod = running(&format!("test-pod-{at}"), milli);
        let start = &case["reportedPodStartTime"][at]["ago"];
        let start = if start.is_null() { Time::EPOCH } else { seconds_ago(start) }.to_string();
        let ready = case["reportedPodReadiness"][at].as_str().unwrap_or("True");
        let phase = case["reportedPodPhase"][at].as_str().unwrap_or("Running");
        let gone = case["reportedPodDeletionTimestamp"][at] == true;
        with(
            pod,
            json!({
                "metadata": {"deletionTimestamp": gone.then(|| start.clone())},
                "status": {"phase": phase, "startTime": start, "conditions": [
                    {"type": "Ready", "status": ready, "lastTransitionTime": start}]},
            }),
        )
    };
    (0..usize::try_from(count).unwrap()).map(pod).collect()
}

/// The sizes that upstream's tests reach only with its factor of 8; ours is 2, as upstream's
/// outside of tests.
fn within_factor(row: &Value) -> bool {
    let (from, to) =
        (int(&row["case"]["specReplicas"]), int(&row["case"]["expectedDesiredReplicas"]));
    row["case"]["scaleUpRules"] != Value::Null || f64::from(to) <= f64::from(2 * from).max(4.0)
}

/// All cases of `horizontal_test.go` that are a sync of one autoscaler.
#[test]
fn syncs_end_as_upstream() {
    let all = rows(UPSTREAM, "horizontal");
    let far: Vec<_> = all.iter().filter(|row| !within_factor(row)).collect();
    for row in all.iter().filter(|row| within_factor(row)) {
        let (case, name) = (&row["case"], row["name"].as_str().unwrap());
        if name == "TestAvoidUnnecessaryUpdates" {
            continue;
        }
        let mut world = world(row);
        let synced = world.sync();
        let (from, to) = (int(&case["specReplicas"]), int(&case["expectedDesiredReplicas"]));
        let about = || format!("{name}: {}\n{:?}", synced.why, synced.events);
        if name != "TestConditionFailedUpdateScale" {
            assert_eq!(synced.size, (from != to).then_some(to), "{}", about());
        }
        let status = synced.status.as_ref().expect("a status is written");
        assert_eq!(int(&status["desiredReplicas"]), to, "{}", about());
        let conditions = match case["expectedConditions"].as_array() {
            None => FINE.map(str::to_owned).to_vec(),
            Some(all) => all
                .iter()
                .map(|it| {
                    let of = |field: &str| it[field].as_str().unwrap_or_default();
                    format!("{} {} {}", of("type"), of("status"), of("reason"))
                })
                .collect(),
        };
        assert_eq!(synced.conditions(), conditions, "{}", about());
        assert_eq!(reconciled(&synced.counts), expected_reconciled(case), "{}", about());
        assert_eq!(computed(&synced.counts), expected_computed(case), "{}", about());
    }
    let names: Vec<_> = far.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, FAR);
}

/// Those of upstream's cases that reach beyond our factor.
const FAR: [&str; 0] = [];

fn reconciled(counts: &[String]) -> Vec<String> {
    let total = "horizontal_pod_autoscaler_controller_reconciliations_total ";
    counts.iter().filter_map(|it| it.strip_prefix(total)).map(str::to_owned).collect()
}

fn expected_reconciled(case: &Value) -> Vec<String> {
    let of = |field: &str| case[field].as_str().unwrap_or_default();
    let action = of("expectedReportedReconciliationActionLabel");
    vec![format!("{action} {}", of("expectedReportedReconciliationErrorLabel"))]
}

fn computed(counts: &[String]) -> Vec<String> {
    let total = "horizontal_pod_autoscaler_controller_metric_computation_total ";
    let found = counts.iter().filter_map(|it| it.strip_prefix(total)).map(str::to_owned);
    let mut found: Vec<_> = found.collect();
    found.sort();
    found
}

fn expected_computed(case: &Value) -> Vec<String> {
    let actions = case["expectedReportedMetricComputationActionLabels"].as_object();
    let errors = &case["expectedReportedMetricComputationErrorLabels"];
    let expected = actions.into_iter().flatten().map(|(r#type, action)| {
        format!("{} {} {type}", action.as_str().unwrap(), errors[r#type].as_str().unwrap())
    });
    let mut expected: Vec<_> = expected.collect();
    expected.sort();
    expected
}

/// `TestHPARescaleWithSuccessfulConflictRetry`: nothing is said of a target that had changed, up to
/// four times; then it is an error.
#[test]
fn a_target_that_changed_is_read_again() {
    let row = rows(UPSTREAM, "horizontal");
    let row = row.iter().find(|row| row["name"] == "TestHPARescaleWithSuccessfulConflictRetry");
    let mut world = world(row.unwrap());
    let error = "the object has been modified".to_owned();
    world.outcome = Outcome {
        error: Some(error),
        step: Some(0),
        reason: "Conflict".to_owned(),
        code: Some(409),
        ..Outcome::default()
    };
    for _ in 0..4 {
        let synced = world.sync();
        assert_eq!(synced.status, None);
        assert_eq!(synced.announce.unwrap().silent, ["Conflict"]);
        assert_eq!(synced.calls, "after 10ms test-namespace/test-hpa\n");
    }
    let synced = world.sync();
    assert_eq!(synced.conditions()[0], "AbleToScale False FailedUpdateScale");
    assert_eq!(synced.announce.unwrap().silent, [""; 0]);
    assert_eq!(synced.calls, "");

    world.outcome = Outcome::default();
    let synced = world.sync();
    assert_eq!(synced.size, Some(5));
    assert_eq!(synced.conditions(), FINE);
}

/// `TestAvoidUnnecessaryUpdates`.
#[test]
fn a_status_that_is_right_is_not_written() {
    let since = "2024-05-01T11:00:00Z";
    let condition = |r#type: &str, status: &str, reason: &str, message: &str| {
        json!({"type": r#type, "status": status, "lastTransitionTime": since, "reason": reason,
            "message": message})
    };
    let found = "the HPA was able to successfully calculate a replica count from cpu resource \
                 utilization (percentage of request)";
    let few = "the desired replica count is less than the minimum replica count";
    let status = json!({
        "currentReplicas": 2, "desiredReplicas": 2, "lastScaleTime": since,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
            "current": {"averageUtilization": 40, "averageValue": "400m"}}}],
        "conditions": [
            condition("AbleToScale", "True", "ReadyForNewScale",
                "recommended size matches current size"),
            condition("ScalingActive", "True", "ValidMetricFound", found),
            condition("ScalingLimited", "True", "TooFewReplicas", few),
        ],
    });
    let row = rows(UPSTREAM, "horizontal");
    let row = row.iter().find(|row| row["name"] == "TestAvoidUnnecessaryUpdates").unwrap();
    let mut world = world(row);
    let spec = json!({"minReplicas": 2, "maxReplicas": 6, "metrics": [cpu(80)]});
    world.autoscaler = autoscaler(&spec, &status);
    let synced = world.sync();
    assert_eq!((synced.status, synced.size, synced.error), (None, None, None), "{}", synced.why);
}

/// What is written, and in which words.
#[test]
fn the_new_size_is_written_to_the_scale() {
    let mut world = World { pods: vec![running("test-pod-0", 100)], ..World::default() };
    world = world.with(SCALE, scale(1, 1, "name=test-pod")).with(RESOURCE, usage(&[120]));
    let synced = world.sync();
    assert_eq!(
        synced.why,
        "scales from 1 to 3: cpu resource utilization (percentage of request) is at 120% of 50%, \
         which asks for 3",
    );
    assert_eq!(synced.put, Some(scale(3, 1, "name=test-pod")));
    let announce = synced.announce.unwrap();
    let message = "New size: 3; reason: cpu resource utilization (percentage of request) above \
                   target";
    let done = controller::Message::Whole(message.to_owned());
    assert_eq!(announce.done, Some(("SuccessfulRescale", done)));
    assert_eq!(announce.failed, ("FailedRescale", format!("{message}; error: ").into()));
    let status = synced.status.unwrap();
    assert_eq!(status["lastScaleTime"], controller::fixture::NOW);
    assert_eq!(status["currentReplicas"], 1);
    let current = json!([{"type": "Resource", "resource": {"name": "cpu",
        "current": {"averageUtilization": 120, "averageValue": "120m"}}}]);
    assert_eq!(status["currentMetrics"], current);
    let message = "the HPA controller was able to update the target scale to 3";
    assert_eq!(status["conditions"][0]["message"], message);
    let path = "/apis/metrics.k8s.io/v1beta1/namespaces/test-namespace/pods?\
                labelSelector=name%3Dtest-pod";
    assert_eq!(
        synced.reads,
        [vec!["what is served".to_owned()], vec![SCALE.to_owned()], vec![path.to_owned()],]
    );
    // What was served is believed for a while.
    assert_eq!(world.sync().reads.len(), 2);
    world.uptime += Duration::from_secs(30);
    assert_eq!(world.sync().reads.len(), 3);
}

/// Recommendations hold for five minutes from when they were made, and a new object of the name
/// begins anew.
#[test]
fn a_lower_size_waits() {
    let mut world = World {
        pods: (0..4).map(|at| running(&format!("test-pod-{at}"), 100)).collect(),
        ..World::default()
    };
    world = world.with(SCALE, scale(4, 4, "name=test-pod")).with(RESOURCE, usage(&[10; 4]));
    let synced = world.sync();
    assert_eq!(synced.size, None);
    assert_eq!(
        synced.why,
        "does not scale: cpu resource utilization (percentage of request) is at 10% of 50%, which \
         asks for 1; recent recommendations were higher than current one, applying the highest \
         recent recommendation: 4",
    );
    assert_eq!(synced.conditions()[0], "AbleToScale True ScaleDownStabilized");
    world.uptime += Duration::from_mins(5);
    assert_eq!(world.sync().size, None);
    world.uptime += Duration::from_secs(1);
    assert_eq!(world.sync().size, Some(1));

    // The size that the other one recommended holds no more.
    world.autoscaler = with(world.autoscaler, json!({"metadata": {"uid": "another"}}));
    assert_eq!(world.sync().size, None, "the present size is the first recommendation");
    assert_eq!(world.memory.past(&super::world::key(), &"another".into()).desired, Some(4));
}

/// A 404 without a `Status` has client-go's words.
#[test]
fn errors_have_upstreams_words() {
    let mut world = World { pods: vec![running("test-pod-0", 100)], ..World::default() };
    world = world.with(SCALE, scale(1, 1, "name=test-pod"));
    let synced = world.sync();
    let error = "failed to get cpu utilization: unable to get metrics for resource cpu: unable to \
                 fetch metrics from resource metrics API: the server could not find the requested \
                 resource (get pods.metrics.k8s.io)";
    assert_eq!(
        synced.events,
        [
            format!("Warning FailedGetResourceMetric: {error}"),
            format!(
                "Warning FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first \
             error is: failed to get cpu resource metric value: {error}"
            ),
        ]
    );
    assert!(synced.why.starts_with("does not scale: invalid metrics (1 invalid out of 1)"));
    let status = synced.status.clone().unwrap();
    assert_eq!(status["currentMetrics"], json!([{"type": ""}]));
    let message = format!("the HPA was unable to compute the replica count: {error}");
    assert_eq!(status["conditions"][1]["message"], message);
    assert_eq!(
        synced.error.unwrap(),
        format!(
            "failed to compute desired number of replicas based on listed metrics for \
             ReplicationController/test-namespace/test-rc: invalid metrics (1 invalid out of 1), \
             first error is: failed to get cpu resource metric value: {error}"
        )
    );
}

/// Errors of the reference, and of the target.
#[test]
fn targets_that_cannot_be_scaled() {
    let missing = Refused {
        code: Some(404),
        ..Refused::from("replicationcontrollers \"test-rc\" not found")
    };
    for (target, message, label) in [
        (json!({"apiVersion": "a/b/c"}), "unexpected GroupVersion string: a/b/c", "none spec"),
        (
            json!({"apiVersion": "apps/v1", "kind": "Nothing"}),
            "no matches for kind \"Nothing\" in group \"apps\"",
            "none internal",
        ),
        (json!({}), "replicationcontrollers \"test-rc\" not found", "none internal"),
    ] {
        let mut world = World::default().refusing(SCALE, missing.clone());
        let patch = json!({"spec": {"scaleTargetRef": target}});
        world.autoscaler = with(world.autoscaler, patch);
        let synced = world.sync();
        assert_eq!(synced.events, [format!("Warning FailedGetScale: {message}")]);
        assert_eq!(
            synced.why,
            format!("does not scale: the size of the target is not known: {message}")
        );
        assert_eq!(synced.conditions(), ["AbleToScale False FailedGetScale"]);
        assert_eq!(reconciled(&synced.counts), [label]);
    }
}

/// The version of the reference does not count, and custom kinds have a scale too.
#[test]
fn a_custom_kind_is_scaled() {
    let path = "/apis/example.com/v1/namespaces/test-namespace/widgets/w/scale";
    let mut world = World { pods: vec![running("test-pod-0", 100)], ..World::default() };
    world = world.with(path, scale(2, 2, "name=test-pod")).with(RESOURCE, usage(&[300]));
    let target = json!({"apiVersion": "example.com/v9", "kind": "Widget", "name": "w"});
    world.autoscaler = with(world.autoscaler, json!({"spec": {"scaleTargetRef": target}}));
    assert_eq!(world.sync().size, Some(4));
}

//! From samples to a number of replicas.

use api::Pod;
use controller::fixture::{ago, decode, time, with};

use super::*;
use crate::podautoscaler::metric;
use crate::podautoscaler::replicas::{self, Calculator, Tolerances};
use crate::podautoscaler::samples::{self, Sample, Samples};

/// Long ago, as Go's zero time.
const LONG_AGO: &str = "1970-01-01T00:00:00Z";

/// A pod as `prepareTestClientSet` has it.
fn pod(case: &Value, at: usize) -> Arc<Pod> {
    let start = case["podStartTime"][at].get("ago").map(|ago| seconds_ago(ago).to_string());
    let start = start.unwrap_or_else(|| LONG_AGO.to_owned());
    let text = |field: &str, default: &str| case[field][at].as_str().unwrap_or(default).to_owned();
    let requests = match case["resource"]["requests"].get(at) {
        Some(amount) => {
            let name = case["resource"]["name"].as_str().unwrap();
            json!({ "requests": {name: amount} })
        }
        None => json!({}),
    };
    let container = |name: &str| json!({ "name": name, "resources": requests });
    let deletion = case["podDeletionTimestamp"][at].as_bool().unwrap_or_default();
    decode(&json!({
        "metadata": {
            "name": format!("test-pod-{at}"), "namespace": "test-namespace",
            "deletionTimestamp": deletion.then(|| ago(0)),
        },
        "spec": {"containers": [container("container1"), container("container2")]},
        "status": {
            "phase": text("podPhase", "Running"), "startTime": start,
            "conditions": [{"type": "Ready", "status": text("podReadiness", "True")}],
        },
    }))
}

/// The response of the resource metrics API.
fn items(resource: &Value, timestamp: &Value) -> Vec<Value> {
    let timestamp = timestamp.as_f64().map(|_| seconds_ago(timestamp).to_string());
    let levels = resource["levels"].as_array().unwrap().iter().enumerate();
    let item = |(at, containers): (usize, &Value)| {
        let name = format!("test-pod-{at}");
        let name = resource["podNames"][at].as_str().unwrap_or(&name).to_owned();
        let containers = containers.as_array().unwrap().iter().zip(1..).map(|(level, number)| {
            let usage = json!({resource["name"].as_str().unwrap(): format!("{level}m")});
            json!({"name": format!("container{number}"), "usage": usage})
        });
        let containers: Vec<_> = containers.collect();
        json!({"metadata": {"name": name}, "timestamp": timestamp, "window": "1m0s",
            "containers": containers})
    };
    levels.map(item).collect()
}

/// TestReplicaCalc*, TestPlainMetricReplicaCalc*, TestExternalPerPodMetric*.
#[test]
fn numbers_of_replicas_are_upstreams() {
    for row in rows(UPSTREAM, "calc") {
        let (case, name) = (&row["case"], &row["name"]);
        let current = int(&case["currentReplicas"]);
        let phases = case["podPhase"].as_array().map_or(0, Vec::len);
        let count = phases.max(usize::try_from(current).unwrap());
        let pods: Vec<_> = (0..count).map(|at| pod(case, at)).collect();
        let tolerance = |field: &str| match case["tolerances"].get(field) {
            None => 0.1,
            Some(share) => share.as_f64().unwrap(),
        };
        let tolerances = Tolerances { down: tolerance("scaleDown"), up: tolerance("scaleUp") };
        let calculator =
            Calculator { now: time(0), options: &OPTIONS, pods: &pods, tolerances, current };
        let (computed, expected) = match (&case["resource"], &case["metric"]) {
            (Value::Null, metric) => {
                (of_metric(&calculator, metric), (&metric["expectedUsage"], &Value::Null))
            }
            (resource, _) => {
                let items = items(resource, &case["timestamp"]["ago"]);
                let of = resource["name"].as_str().unwrap();
                let container = case["container"].as_str().unwrap_or_default();
                let samples = samples::resource(&items, of, container);
                let target = int(&resource["targetUtilization"]);
                let computed = if items.is_empty() {
                    Err("no metrics returned from resource metrics API".to_owned())
                } else {
                    calculator.utilization((of, container), samples, target)
                };
                (computed, (&resource["expectedValue"], &resource["expectedUtilization"]))
            }
        };
        if let Some(error) = case["expectedError"].as_str() {
            let found = computed.expect_err("an error");
            assert!(error.contains(&found) || found.contains(error), "{name}: {found}");
        } else {
            let computed = computed.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(computed.replicas, int(&case["expectedReplicas"]), "{name}");
            assert_eq!(computed.usage, long(expected.0), "{name}");
            assert_eq!(computed.utilization, int(expected.1), "{name}");
        }
    }
}

fn of_metric(calculator: &Calculator<'_>, metric: &Value) -> Result<replicas::Computed, String> {
    let levels: Vec<_> = metric["levels"].as_array().unwrap().iter().map(long).collect();
    let target = long(&metric["targetUsage"]);
    let per_pod = long(&metric["perPodTargetUsage"]);
    let current = calculator.current;
    match long(&metric["metricType"]) {
        0 => calculator.total(levels[0], target),
        1 => Ok(calculator.shared(levels[0], per_pod, current)),
        2 => calculator.total(replicas::sum(levels), target),
        3 => Ok(calculator.shared(replicas::sum_shared(levels), per_pod, current)),
        4 => {
            let item = |(at, level): (usize, &i64)| {
                json!({"describedObject": {"name": format!("test-pod-{at}")},
                    "value": format!("{level}m")})
            };
            let items: Vec<_> = levels.iter().enumerate().map(item).collect();
            calculator.average("", samples::custom(&items), target)
        }
        other => panic!("an unknown type of metric: {other}"),
    }
}

/// `TestGroupPods`.
#[test]
fn pods_are_grouped_as_upstream() {
    for row in rows(UPSTREAM, "group") {
        let (case, name) = (&row["case"], &row["name"]);
        let base = json!({"metadata": {"namespace": "test-namespace"}});
        let pods = case["pods"].as_array().unwrap().iter();
        let pods: Vec<Arc<Pod>> =
            pods.map(|pod| decode(&with(pod.clone(), base.clone()))).collect();
        let samples = case["metrics"].as_object().unwrap().iter().map(|(pod, sample)| {
            let timestamp = &sample["Timestamp"]["ago"];
            let timestamp = if timestamp.is_null() { Time::EPOCH } else { seconds_ago(timestamp) };
            let window = Duration::from_nanos(sample["Window"].as_u64().unwrap_or(0));
            (pod.clone(), Sample { timestamp, window, value: long(&sample["Value"]) })
        });
        let samples: Samples = samples.collect();
        let resource = case["resource"].as_str().unwrap();
        let groups = replicas::group(&pods, &samples, resource, (&OPTIONS, time(0)));
        let names = |field: &str| case[field].as_object().unwrap().keys().cloned().collect();
        let expected = replicas::Groups {
            ready: usize::try_from(int(&case["expectReadyPodCount"])).unwrap(),
            unready: names("expectUnreadyPods"),
            missing: names("expectMissingPods"),
            ignored: names("expectIgnoredPods"),
        };
        assert_eq!(groups, expected, "{name}");
    }
}

/// `TestCalculateRequests`, `TestCalculatePodRequestsFromContainers_NonExistentContainer`.
#[test]
fn requests_are_added_up_as_upstream() {
    for row in rows(UPSTREAM, "requests") {
        let (case, name) = (&row["case"], &row["name"]);
        let pods = case["pods"].as_array().unwrap();
        let pods: Vec<Arc<Pod>> = pods.iter().map(decode).collect();
        let counts_pod_level = case["enablePodLevelResources"].as_bool().unwrap_or_default();
        let options = Options { counts_pod_level, ..OPTIONS };
        let container = case["container"].as_str().unwrap_or_default();
        let resource = case["resource"].as_str().unwrap();
        let found = replicas::requests(&pods, container, resource, &options);
        match case["expectedError"].as_str() {
            Some(error) => assert_eq!(found, Err(error.to_owned()), "{name}"),
            None => assert_eq!(json!(found.unwrap()), case["expectedRequests"], "{name}"),
        }
    }
    let pod = decode(&json!({"metadata": {"name": "test-pod", "namespace": "a"},
        "spec": {"containers": [
            {"name": "container1", "resources": {"requests": {"cpu": "100m"}}}]}}));
    let found = replicas::requests(&[pod], "non-existent-container", "cpu", &OPTIONS);
    let error = "container non-existent-container not found in Pod test-pod";
    assert_eq!(found, Err(error.to_owned()));
}

/// `TestBuildQuantity`.
#[test]
fn quantities_print_as_upstream() {
    for row in rows(UPSTREAM, "quantity") {
        let case = &row["case"];
        let resource = case["resourceName"].as_str().unwrap();
        let quantity = metric::quantity(resource, long(&case["rawProposal"]));
        assert_eq!(quantity.to_string(), case["expected"].as_str().unwrap(), "{}", row["name"]);
    }
}

/// Random pods and samples.
#[test]
fn random_cases_end_as_upstream() {
    for row in rows(RANDOM, "random_calc") {
        let pods = row["pods"].as_array().unwrap();
        let is_pod = |it: &&Value| it["stray"] != true;
        let samples = pods.iter().filter(|it| it.get("value").is_some()).map(|it| {
            let (window, timestamp) = (Duration::from_secs(30), seconds_ago(&it["ago"]));
            let sample = Sample { timestamp, window, value: long(&it["value"]) };
            (it["name"].as_str().unwrap().to_owned(), sample)
        });
        let samples: Samples = samples.collect();
        let pods: Vec<Arc<Pod>> = pods.iter().filter(is_pod).map(random_pod).collect();
        let of = |field: &str| row[field].as_f64().unwrap();
        let tolerances = Tolerances { down: of("down"), up: of("up") };
        let current = int(&row["current"]);
        let calculator =
            Calculator { now: time(0), options: &OPTIONS, pods: &pods, tolerances, current };
        let (target, more) = (long(&row["target"]), current + 1);
        let values: Vec<_> = row["values"].as_array().unwrap().iter().map(long).collect();
        let computed = match row["of"].as_str().unwrap() {
            "utilization" => calculator.utilization(("cpu", ""), samples, int(&row["target"])),
            "raw" => calculator.average("cpu", samples, target),
            "pods" => calculator.average("", samples, target),
            "object" => calculator.total(values[0], target * 100),
            "object_shared" => Ok(calculator.shared(values[0], target * 100, more)),
            "external" => calculator.total(replicas::sum(values), target * 100),
            "external_shared" => {
                Ok(calculator.shared(replicas::sum_shared(values), target * 100, more))
            }
            other => panic!("{other}"),
        };
        match (computed, row["error"].as_str()) {
            (Ok(found), None) => {
                let expected =
                    (int(&row["replicas"]), long(&row["usage"]), int(&row["utilization"]));
                let found = (found.replicas, found.usage, found.utilization);
                assert_eq!(found, expected, "{row}");
            }
            (Err(error), Some(expected)) => assert!(expected.ends_with(&error), "{error}: {row}"),
            (found, _) => panic!("{found:?}: {row}"),
        }
    }
}

fn random_pod(it: &Value) -> Arc<Pod> {
    let requests = if it["asks"] == false {
        json!({})
    } else {
        json!({"requests": {"cpu": format!("{}m", it["request"])}})
    };
    let since = |field: &str| seconds_ago(&it[field]).to_string();
    decode(&json!({
        "metadata": {"name": it["name"], "namespace": "a",
            "deletionTimestamp": (it["gone"] == true).then(|| ago(0))},
        "spec": {"containers": [{"name": "c", "resources": requests}]},
        "status": {"phase": it["phase"], "startTime": since("start"),
            "conditions": [{"type": "Ready", "status": it["ready"],
                "lastTransitionTime": since("since")}]},
    }))
}

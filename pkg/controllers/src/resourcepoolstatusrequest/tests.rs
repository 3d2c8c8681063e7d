//! Tables, mirroring upstream's `pkg/controller/resourcepoolstatusrequest/controller_test.go`.

use std::time::Duration;

use controller::fixture::{self, Fixture, NOW, ago, decode, enqueued, with};
use controller::{Controller as _, Step, When};
use serde_json::{Value, json};

use super::*;

const INCOMPLETE: &str = "error: incomplete pools detected, requeueing\n";

/// A request for the pools of a driver, an hour old.
fn request(spec: Value) -> Value {
    let spec = with(json!({"driver": "test.example.com"}), spec);
    json!({"metadata": {"name": "q", "uid": "q", "resourceVersion": "1",
        "creationTimestamp": ago(3600)}, "spec": spec})
}

/// A slice of this pool, on this node, with so many devices.
fn slice(name: &str, pool: &str, node: &str, devices: usize) -> Value {
    counted(name, pool, node, devices, (1, 1))
}

/// The same, of this generation, which has so many slices.
fn counted(
    name: &str,
    pool: &str,
    node: &str,
    devices: usize,
    (generation, slices): (i64, i64),
) -> Value {
    let devices: Vec<_> = (0..devices).map(|number| json!({"name": number.to_string()})).collect();
    let node = if node.is_empty() { json!(null) } else { json!(node) };
    json!({"metadata": {"name": name}, "spec": {"driver": "test.example.com", "nodeName": node,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": slices},
        "devices": devices}})
}

/// A claim that has got a device of each of these pools.
fn claim(name: &str, pools: &[&str]) -> Value {
    let (request, driver) = ("r", "test.example.com");
    let results: Vec<_> = pools
        .iter()
        .map(|pool| json!({"request": request, "driver": driver, "pool": pool, "device": "0"}))
        .collect();
    json!({"metadata": {"name": name, "namespace": "shop"},
        "status": {"allocation": {"devices": {"results": results}}}})
}

fn caches(request: Value, slices: &[Value], claims: &[Value]) -> Fixture {
    let fixture = Fixture::default().holding::<ResourcePoolStatusRequest>(&[request]);
    fixture.holding::<ResourceSlice>(slices).holding::<ResourceClaim>(claims)
}

fn plan(fixture: &Fixture) -> (Plan, Verdict) {
    let snapshot = Controller.observe(&Key::new("", "q"), &fixture.view(), &()).unwrap();
    Controller.decide(&snapshot, &Facts::default())
}

/// The status that is written.
fn status(plan: &Plan) -> Value {
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    fixture::body(actions[0].write().unwrap())["status"].clone()
}

/// What a status says, pool after pool.
fn told(status: &Value) -> String {
    let text = |pool: &Value, field: &str| {
        pool[field].as_str().map_or_else(|| pool[field].to_string(), str::to_owned)
    };
    let pool = |pool: &Value| {
        let fields = ["poolName", "generation", "nodeName", "resourceSliceCount", "totalDevices"];
        let more = ["allocatedDevices", "availableDevices", "unavailableDevices"];
        let fields = fields.into_iter().chain(more);
        fields.map(|field| text(pool, field)).collect::<Vec<_>>().join(" ")
    };
    let pools = status["pools"].as_array().map(Vec::as_slice).unwrap_or_default();
    pools.iter().map(pool).collect::<Vec<_>>().join("; ")
}

/// TestCalculatePoolStatus.
#[test]
fn pools_are_counted_as_upstream() {
    let one = |node: &str| vec![slice("a", "p1", node, 4)];
    let two = || vec![slice("a", "p1", "n1", 4), slice("b", "p2", "n2", 2)];
    let elsewhere = with(slice("c", "p3", "n3", 9), json!({"spec": {"driver": "other"}}));
    let on = |nodes: [&str; 2]| vec![slice("a", "p1", nodes[0], 4), slice("b", "p1", nodes[1], 4)];
    let three = || (0..3).map(|at| slice(&format!("{at}"), &format!("p{at}"), "n", 4)).collect();
    let first = "p1 1 n1 1 4 0 4 0";
    for (row, spec, slices, claims, expected) in [
        ("single-pool-no-allocations", json!({}), one("n1"), vec![], first),
        (
            "single-pool-with-allocations",
            json!({}),
            one("n1"),
            { vec![claim("x", &["p1"]), claim("y", &["p1"])] },
            "p1 1 n1 1 4 2 2 0",
        ),
        ("multiple-pools", json!({}), two(), vec![], "p1 1 n1 1 4 0 4 0; p2 1 n2 1 2 0 2 0"),
        ("filter-by-driver", json!({}), vec![one("n1").remove(0), elsewhere], vec![], first),
        ("filter-by-pool-name", json!({"poolName": "p2"}), two(), vec![], "p2 1 n2 1 2 0 2 0"),
        ("multiple-slices-same-pool", json!({}), on(["n1", "n1"]), vec![], "p1 1 n1 2 8 0 8 0"),
        ("limit-pools", json!({"limit": 2}), three(), vec![], {
            "p0 1 n 1 4 0 4 0; p1 1 n 1 4 0 4 0"
        }),
        ("no-matching-pools", json!({"driver": "none"}), one("n1"), vec![], ""),
        (
            "older-generation-slices-ignored",
            json!({}),
            { vec![slice("a", "p1", "n0", 9), counted("b", "p1", "n1", 4, (2, 1))] },
            vec![],
            "p1 2 n1 1 4 0 4 0",
        ),
        ("mixed-node-pool-clears-nodename", json!({}), on(["n1", "n2"]), vec![], {
            "p1 1 null 2 8 0 8 0"
        }),
        ("nil-nodename-slices-no-nodename", json!({}), one(""), vec![], "p1 1 null 1 4 0 4 0"),
        (
            "all-pools-complete-no-validation-errors",
            json!({}),
            { vec![counted("a", "p1", "n1", 4, (1, 2)), counted("b", "p1", "n1", 4, (1, 2))] },
            vec![],
            "p1 1 n1 2 8 0 8 0",
        ),
        // More than upstream's rows.
        (
            "more devices are allocated than there are",
            json!({}),
            { vec![slice("a", "p1", "n1", 1)] },
            vec![claim("x", &["p1", "p1", "p2"])],
            "p1 1 n1 1 1 2 0 0",
        ),
    ] {
        let (plan, verdict) = plan(&caches(request(spec), &slices, &claims));
        assert_eq!((told(&status(&plan)).as_str(), verdict), (expected, Verdict::Answers), "{row}");
    }
    let (plan, _) = plan(&caches(request(json!({"limit": 2})), &three(), &[]));
    let status = status(&plan);
    assert_eq!(status["poolCount"], json!(3), "before the cut");
    let condition = json!([{"type": "Complete", "status": "True", "lastTransitionTime": NOW,
        "reason": "CalculationComplete", "message": "Calculated status for 2 pools"}]);
    assert_eq!(status["conditions"], condition);
}

/// TestSyncRequestRequeuesIncompletePool, "incomplete-pool-has-validation-error",
/// "mix-of-complete-and-incomplete-pools".
#[test]
fn a_request_waits_for_the_slices_of_a_pool() {
    let slices = [slice("a", "p1", "n1", 4), counted("b", "p2", "n2", 4, (1, 3))];
    let why = "why: waits for the slices of pool p2: 1 of 3 slices, 0 of 4 devices\n";
    let (plan_of_two, verdict) = plan(&caches(request(json!({})), &slices, &[]));
    let expected = format!("{why}{INCOMPLETE}");
    assert_eq!((plan_of_two.to_string(), verdict), (expected, Verdict::Other));
    let (first, _) = plan(&caches(request(json!({"limit": 1})), &slices, &[]));
    assert_eq!(told(&status(&first)), "p1 1 n1 1 4 0 4 0", "what is not returned may be missing");
    let fixture = caches(request(json!({})), &slices, &[]);
    let added = Change::Added(decode::<ResourceSlice>(&slices[1]));
    assert_eq!(enqueued(&Controller, &added, &fixture), "now q\n");
    let other = with(slices[1].clone(), json!({"spec": {"driver": "other"}}));
    let added = Change::Added(decode::<ResourceSlice>(&other));
    assert_eq!(enqueued(&Controller, &added, &fixture), "");
}

/// TestSyncRequest, the metrics.
#[test]
fn answers_are_counted_by_driver() {
    let fixture = caches(request(json!({})), &[slice("a", "p1", "n1", 4)], &[]);
    let snapshot = Controller.observe(&Key::new("", "q"), &fixture.view(), &()).unwrap();
    let (plan, verdict) = Controller.decide(&snapshot, &Facts::default());
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let counts = &actions[0].write().unwrap().counts;
    let counts: Vec<_> = counts.iter().map(|it| (it.family.name, &*it.labels, it.when)).collect();
    let driver = &["test.example.com".to_owned()][..];
    let expected = [
        (decide::PROCESSED_TOTAL.name, driver, When::Always),
        (decide::ERRORS_TOTAL.name, driver, When::Failed),
    ];
    assert_eq!(counts, expected);
    let ended = |unsettled| {
        let took = Duration::from_millis(20);
        Ended { took, unsettled, error: None, code: None }
    };
    let took = Controller.counts(Some(&snapshot), Some(&verdict), &ended(false));
    assert_eq!(took.len(), 1);
    assert_eq!((took[0].value, &*took[0].labels), (Amount::Of(0.02), driver));
    assert!(Controller.counts(Some(&snapshot), Some(&verdict), &ended(true)).is_empty());
    assert!(Controller.counts(Some(&snapshot), Some(&Verdict::Other), &ended(false)).is_empty());
    assert!(Controller.counts(None, None, &ended(false)).is_empty());
}

/// TestShouldDeleteRequest, TestIsOlderThan, TestCleanupExpiredRequests, TestSkipProcessedRequest.
#[test]
fn requests_end_as_upstream() {
    let answered = |kind: &str, seconds: i64| {
        let condition = json!({"type": kind, "status": "True", "lastTransitionTime": ago(seconds)});
        with(request(json!({})), json!({"status": {"conditions": [condition]}}))
    };
    let made = |seconds: i64| json!({"metadata": {"creationTimestamp": ago(seconds)}});
    let pending = |seconds| with(request(json!({})), made(seconds));
    let bare = |seconds| with(pending(seconds), json!({"status": {}}));
    let untimed = with(
        answered("Complete", 0),
        json!({"status": {"conditions":
        [{"type": "Complete", "lastTransitionTime": null}]}}),
    );
    let delete = "why: it was there for long enough
in order: delete resourcepoolstatusrequests.resource.k8s.io q\n";
    let rest = "why: it has its answer\n";
    let again = |left: &str| format!("{rest}again in {left}\n");
    let terminating =
        with(answered("Failed", 7200), json!({"metadata": {"deletionTimestamp": NOW}}));
    for (row, request, expected) in [
        ("completed-request-not-expired", answered("Complete", 1800), again("1800s")),
        ("completed-request-expired", answered("Complete", 7200), delete.to_owned()),
        ("failed request, expired", answered("Failed", 3600), delete.to_owned()),
        ("just-under-boundary-is-not-older", answered("Failed", 3599), again("1s")),
        ("pending-request-expired", pending(90_000), delete.to_owned()),
        ("no condition, not expired", bare(1800), again("1800s")),
        ("no condition, expired", bare(7200), delete.to_owned()),
        ("zero-time-is-not-older", untimed, rest.to_owned()),
        ("being deleted", terminating, "why: it is being deleted\n".to_owned()),
    ] {
        assert_eq!(plan(&caches(request, &[], &[])).0.to_string(), expected, "{row}");
    }
    let (waits, verdict) = plan(&caches(pending(3600), &[], &[]));
    assert_eq!((waits.steps.len(), verdict), (1, Verdict::Answers), "pending-request-not-expired");
    let unreadable = caches(pending(0), &[], &[])
        .holding_unreadable::<ResourcePoolStatusRequest>(&request(json!({})), "broken");
    assert_eq!(plan(&unreadable).0.to_string(), "why: the request cannot be read: broken\n");
}

/// `enqueueRequest`, and the moment at which a request ends that is never answered.
#[test]
fn requests_are_enqueued_for_their_answer_and_their_end() {
    let fixture = caches(request(json!({})), &[], &[]);
    let of = |json: &Value| decode::<ResourcePoolStatusRequest>(json);
    let enqueues =
        |change: Change<ResourcePoolStatusRequest>| enqueued(&Controller, &change, &fixture);
    let pending = of(&request(json!({})));
    assert_eq!(enqueues(Change::Added(pending.clone())), "now q\nafter 82800s q\n");
    let answered = of(&with(request(json!({})), json!({"status": {}})));
    assert_eq!(enqueues(Change::Updated { old: pending, new: answered.clone() }), "now q\n");
    assert_eq!(enqueues(Change::Deleted(answered)), "forget q\n");
}

#[test]
fn facts_for_an_operator() {
    let fixture = caches(request(json!({})), &[slice("a", "p1", "n1", 4)], &[claim("x", &["p1"])]);
    let snapshot = Controller.observe(&Key::new("", "q"), &fixture.view(), &()).unwrap();
    let facts: Vec<_> = Controller.summary(&snapshot).into_iter().map(|(_, fact)| fact).collect();
    let pool = "p1: 1 of 1 slices, 1 of 4 devices";
    assert_eq!(facts[..3], ["test.example.com", "all", "false"]);
    assert_eq!(facts[4], pool);
}

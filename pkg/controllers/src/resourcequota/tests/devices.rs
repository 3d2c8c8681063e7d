//! What is counted of ResourceClaims, as `resource_claims_test.go` has it.

use super::*;

const COUNT: &str = "count/resourceclaims.resource.k8s.io";
const DEVICES: &str = "gpu.deviceclass.resource.k8s.io/devices";
const TPUS: &str = "tpu.deviceclass.resource.k8s.io/devices";
const IMPLICIT: &str = "requests.deviceclass.resource.kubernetes.io/gpu";
const EXPLICIT: &str = "requests.example.com/gpu";

fn class(name: &str, extended: impl Into<Value>) -> Value {
    let extended = extended.into();
    with(
        named(name),
        json!({"metadata": {"namespace": null},
        "spec": {"extendedResourceName": extended}}),
    )
}

fn exactly(count: i64) -> Value {
    json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count})
}

/// A claim with these requests.
fn claim(name: &str, requests: impl Into<Value>) -> Value {
    let requests = requests.into();
    with(named(name), json!({"spec": {"devices": {"requests": requests}}}))
}

/// The same for the extended resources of a pod.
fn for_pod(claim: Value, pod: &str) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": pod,
        "uid": format!("uid-{pod}"), "controller": true});
    with(
        claim,
        json!({"metadata": {"ownerReferences": [owner],
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}}),
    )
}

fn world(claims: Vec<Value>) -> World {
    let classes = vec![class("gpu", json!("example.com/gpu")), class("tpu", Value::Null)];
    let names = [COUNT, DEVICES, TPUS, IMPLICIT, EXPLICIT];
    World { resource_claims: claims, classes, ..World::of(of(&names)) }
}

/// Count, devices, and the two extended resources.
fn used(world: &mut World) -> [String; 4] {
    let used = world.used();
    [COUNT, DEVICES, IMPLICIT, EXPLICIT].map(|name| used[name].as_str().unwrap().to_owned())
}

/// TestResourceClaimEvaluatorUsage: simple, many-requests, count, all, unknown-count-mode, admin,
/// and the lists of alternatives.
#[test]
fn a_claim_uses_the_most_devices_that_it_may_get() {
    let all = json!({"deviceClassName": "gpu", "allocationMode": "All"});
    let future = json!({"deviceClassName": "gpu", "allocationMode": "future-mode", "count": 3});
    let admin = with(exactly(1), json!({"adminAccess": true}));
    let tpus = json!({"deviceClassName": "tpu", "allocationMode": "All"});
    let one = |it: &Value| json!([{ "exactly": it }]);
    let first = |all: &[&Value]| json!([{ "firstAvailable": all }]);
    for (name, requests, gpus, others) in [
        ("simple", one(&exactly(1)), "1", "0"),
        ("many-requests", json!([{"exactly": exactly(2)}, {"exactly": exactly(3)}]), "5", "0"),
        ("all", one(&all), "32", "0"),
        ("unknown-count-mode", one(&future), "0", "0"),
        ("admin", one(&admin), "1", "0"),
        ("prioritized-list", first(&[&exactly(1)]), "1", "0"),
        ("multiple-subrequests", first(&[&exactly(2), &exactly(1)]), "2", "0"),
        ("allocation-mode-all", first(&[&exactly(1), &all]), "32", "0"),
        ("different-device-classes", first(&[&exactly(1), &tpus]), "1", "32"),
        ("a request of the future", json!([{"perhaps": {}}]), "0", "0"),
    ] {
        let mut world = world(vec![claim("foo", requests)]);
        assert_eq!(used(&mut world), ["1", gpus, gpus, gpus], "{name}");
        assert_eq!(world.quota["status"]["used"][TPUS], others, "{name}");
    }
}

/// The extended resource claims of TestResourceClaimEvaluatorUsage: what the pod asks for is
/// charged for the pod.
#[test]
fn a_claim_for_a_pod_is_counted_without_what_the_pod_asks_for() {
    let implicit = "deviceclass.resource.kubernetes.io/gpu";
    let two = json!([{"exactly": exactly(1)}, {"exactly": exactly(1)}]);
    let one = json!([{"exactly": exactly(1)}]);
    let says = |claim: &str| {
        json!({"status": {"extendedResourceClaimStatus":
        {"resourceClaimName": claim}}})
    };
    let asks = |names: &[&str]| {
        let requests: BTreeMap<_, _> = names.iter().map(|name| (*name, "1")).collect();
        json!({ "requests": requests })
    };
    for (name, pod, requests, expected) in [
        ("implicit", with(pod("p", asks(&[implicit])), says("foo")), &one, ["1", "1", "1", "1"]),
        (
            "explicit",
            with(pod("p", asks(&["example.com/gpu"])), says("foo")),
            &one,
            ["1", "1", "1", "1"],
        ),
        (
            "hybrid",
            with(pod("p", asks(&[implicit, "example.com/gpu"])), says("foo")),
            &two,
            ["1", "2", "2", "2"],
        ),
        ("nil status", pod("p", asks(&[implicit])), &two, ["1", "2", "2", "2"]),
        (
            "a pod that says another claim",
            with(pod("p", asks(&[implicit])), says("bar")),
            &one,
            ["1", "1", "2", "1"],
        ),
        (
            "another pod of this name",
            with(pod("p", asks(&[implicit])), json!({"metadata": {"uid": "x"}})),
            &one,
            ["1", "1", "2", "1"],
        ),
        ("a pod that has ended", ended(pod("p", asks(&[implicit]))), &one, ["1", "1", "1", "1"]),
    ] {
        let mut world = world(vec![for_pod(claim("foo", requests.clone()), "p")]);
        world.pods = vec![pod];
        assert_eq!(used(&mut world), expected, "{name}: of the claim and of the pod");
    }
}

/// "nil-status-two-extended-resource-claims": the older one, or else the first name.
#[test]
fn only_the_first_claim_for_a_pod_is_counted_so() {
    let one = json!([{"exactly": exactly(1)}]);
    let [a, b] = ["a", "b"].map(|name| for_pod(claim(name, one.clone()), "p"));
    let asks = json!({"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}});
    let mut world = world(vec![a, b.clone()]);
    world.pods = vec![pod("p", asks)];
    assert_eq!(used(&mut world), ["2", "2", "2", "2"]);
    let created = |at: &str| json!({"metadata": {"creationTimestamp": at}});
    for claim in &mut world.resource_claims {
        *claim = with(claim.clone(), created(NOW));
    }
    world.resource_claims[1] = with(b, created(&ago(5)));
    assert_eq!(used(&mut world), ["2", "2", "2", "2"], "one of them, whichever");
}

/// TestResourceClaimEvaluatorMatchingResources; without the gate, and without a class.
#[test]
fn extended_resources_are_devices_only_of_known_classes() {
    let one = json!([{"exactly": exactly(1)}]);
    let mut world = world(vec![claim("foo", one)]);
    let off = Controller { extended: false, ..CONTROLLER };
    world.sync_by(&off);
    assert_eq!(world.quota["status"]["used"][IMPLICIT], "0", "of pods");
    assert_eq!(world.quota["status"]["used"][DEVICES], "1");
    world.classes.clear();
    assert_eq!(used(&mut world), ["1", "1", "0", "0"]);
    world.quota = of(&["resourceclaims", "bronze.deviceclass.resource.k8s.io/storage", "storage"]);
    assert_eq!(world.used(), Value::Null);
}

/// Where resource.k8s.io is not served, the other figures are written.
#[test]
fn claims_that_are_not_served_keep_their_figures() {
    let mut world = world(Vec::new());
    world.without_resource_claims = true;
    world.quota = of(&[COUNT, "pods"]);
    let synced = world.sync();
    assert_eq!(synced.status.unwrap()["used"], json!({"pods": "0"}));
    let error = format!("cannot count {COUNT}: these objects are not listed yet");
    assert_eq!(synced.plan.error, Some(error));
}

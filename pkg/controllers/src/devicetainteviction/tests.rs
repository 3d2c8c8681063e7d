//! Tables, mirroring upstream's `pkg/controller/devicetainteviction/device_taint_eviction_test.go`.

use std::time::Duration;

use api::{Key, Kind as _};
use controller::fixture::{self, Fixture, NOW, ago, decode, enqueued, time, with};
use controller::{Change, Controller as _, Facts, News, ObjectRef, Outcome, Shared, Step, When};
use serde_json::{Value, json};

use super::*;

const UNTAINTED: &str = "why: its devices have no taint with the effect NoExecute, or its claims \
                         tolerate it for good\n";

/// Upstream's `podWithClaimName`: a pod `shop/web` on a node, with the claim `gpu`.
fn pod() -> Value {
    let claims = json!([{"name": "entry", "resourceClaimName": "gpu"}]);
    with(fixture::pod("web"), json!({"spec": {"resourceClaims": claims}}))
}

/// Upstream's `podWithClaimTemplate`.
fn templated(statuses: &Value) -> Value {
    let claims = json!([{"name": "entry", "resourceClaimTemplateName": "gpu"}]);
    let status = json!({"resourceClaimStatuses": statuses});
    with(pod(), json!({"spec": {"resourceClaims": claims}, "status": status}))
}

/// Upstream's `podWithClaimTemplateInStatus`.
fn in_status() -> Value {
    templated(&json!([{"name": "entry", "resourceClaimName": "gpu"}]))
}

/// Upstream's `inUseClaim`: the pod's, with one device.
fn claim() -> Value {
    tolerating(&json!(null))
}

fn tolerating(tolerations: &Value) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "uid-web",
        "controller": true});
    let device = json!({"request": "a", "driver": "d", "pool": "n", "device": "instance",
        "tolerations": tolerations});
    json!({
        "metadata": {"name": "gpu", "namespace": "shop", "uid": "c", "ownerReferences": [owner]},
        "status": {"allocation": {"devices": {"results": [device]}},
            "reservedFor": [{"resource": "pods", "name": "web", "uid": "uid-web"}]},
    })
}

/// A toleration of any taint with the effect `NoExecute`.
fn any(seconds: &Value) -> Value {
    json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds})
}

/// A slice of the pool `n` with this device.
fn slice(generation: i64, device: &str, taints: &Value) -> Value {
    json!({
        "metadata": {"name": format!("s{generation}"), "resourceVersion": "1"},
        "spec": {"driver": "d", "nodeName": "n",
            "pool": {"name": "n", "generation": generation, "resourceSliceCount": 1},
            "devices": [{"name": "other"}, {"name": device, "taints": taints}]},
    })
}

/// A taint that is a minute old.
fn taint(key: &str, value: &str, effect: &str) -> Value {
    json!({"key": key, "value": value, "effect": effect, "timeAdded": ago(60)})
}

/// Upstream's `sliceTainted`.
fn tainted() -> Value {
    slice(1, "instance", &json!([taint("k", "v", "NoExecute")]))
}

fn caches(pods: &[Value], claims: &[Value], slices: &[Value]) -> Fixture {
    let fixture = Fixture::default().holding::<Pod>(pods).holding::<ResourceClaim>(claims);
    fixture.holding::<ResourceSlice>(slices)
}

/// The plan for the pod, and what is remembered once it was acted on with this outcome.
fn acted(fixture: &Fixture, memory: &Shared<Evictions>, outcome: &Outcome) -> String {
    let key = Key::new("shop", "web");
    let snapshot = Controller.observe(&key, &fixture.view(), &memory.read());
    let Some(snapshot) = snapshot else {
        Controller.remember(&mut memory.write(), News::Gone(&key), &mut Enqueue::default());
        return "gone".to_owned();
    };
    let (plan, verdict) = Controller.decide(&snapshot, &Facts::default());
    let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome };
    Controller.remember(&mut memory.write(), news, &mut Enqueue::default());
    plan.to_string()
}

fn planned(pod: Value, claims: &[Value], slices: &[Value]) -> String {
    acted(&caches(&[pod], claims, slices), &Shared::default(), &Outcome::default())
}

/// The plan that evicts the pod.
fn evicts(taint: &str) -> String {
    let event = "in order: event Normal DeviceTaintManagerEviction: Marking for deletion\n";
    again(taint).replacen("in order", &format!("{event}in order"), 1)
}

/// The same, when the Event is sent already.
fn again(taint: &str) -> String {
    format!(
        "why: it does not tolerate {taint} of device d/n/instance of claim gpu, or no longer
in order: patch pods shop/web status {{\"metadata\":{{\"uid\":\"uid-web\"}},\"status\":\
         {{\"conditions\":[{{\"lastTransitionTime\":\"{NOW}\",\"message\":\
         \"Device Taint manager: deleting due to NoExecute taint\",\"reason\":\
         \"DeletionByDeviceTaintManager\",\"status\":\"True\",\"type\":\"DisruptionTarget\"}}]}}}}
in order: delete pods shop/web\n"
    )
}

/// TestController: what becomes of a pod of which nothing is remembered.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn pods_are_evicted_as_upstream() {
    let unscheduled = with(pod(), json!({"spec": {"nodeName": null}}));
    let only = |claim: Value| vec![claim];
    let shorter = json!({"key": "x", "value": "v", "effect": "NoExecute", "tolerationSeconds": 20});
    let of_k = json!({"operator": "Exists", "key": "k", "effect": "NoExecute"});
    let old = json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod",
        "name": "web", "uid": "other", "controller": true}]}});
    let twice =
        || slice(1, "instance", &json!([taint("k", "", "NoExecute"), taint("x", "", "NoExecute")]));
    let soon = |key: &str, seconds: u64| {
        let until = time(0) - Duration::from_mins(1) + Duration::from_secs(seconds);
        let left = seconds - 60;
        format!(
            "why: it tolerates {key} of device d/n/instance of claim gpu until {until}\n\
             again in {left}s\n"
        )
    };
    let with_seconds = |toleration: &Value, seconds: u64| {
        with(toleration.clone(), json!({"tolerationSeconds": seconds}))
    };
    let many = json!([shorter, any(&json!(120)), any(&json!(90))]);
    for (row, pod, claims, slices, expected) in [
        ("empty", pod(), vec![], vec![], UNTAINTED.to_owned()),
        ("evict-pod-resourceclaim", pod(), only(claim()), vec![tainted()], evicts("k=v")),
        ("evict-pod-resourceclaimtemplate", in_status(), only(claim()), vec![tainted()], {
            evicts("k=v")
        }),
        (
            "evict-pod-later",
            pod(),
            only(tolerating(&json!([any(&json!(3600))]))),
            vec![tainted()],
            soon("k=v", 3600),
        ),
        ("evict-pod-later-many", pod(), only(tolerating(&many)), vec![tainted()], soon("k=v", 90)),
        (
            "evict-pod-toleration-mismatch",
            pod(),
            only(tolerating(&json!([shorter]))),
            { vec![tainted()] },
            evicts("k=v"),
        ),
        (
            "no-evict-pod-toleration-forever",
            pod(),
            only(tolerating(&json!([any(&json!(null))]))),
            { vec![tainted()] },
            UNTAINTED.to_owned(),
        ),
        (
            "no-evict-pod-toleration-forever-many",
            pod(),
            only(tolerating(&json!([any(&json!(60)), any(&json!(null))]))),
            vec![tainted()],
            UNTAINTED.to_owned(),
        ),
        ("evict-pod-partial-toleration", pod(), only(tolerating(&json!([of_k]))), vec![twice()], {
            evicts("x")
        }),
        (
            "evict-pod-many-taints",
            pod(),
            only(tolerating(&json!([
                with_seconds(&of_k, 120),
                with(with_seconds(&of_k, 90), json!({"key": "x"})),
            ]))),
            vec![twice()],
            soon("x", 90),
        ),
        ("no-evict-pod-not-scheduled", unscheduled, only(claim()), vec![tainted()], {
            "why: it is on no node\n".to_owned()
        }),
        ("no-evict-no-taint", pod(), only(claim()), vec![slice(1, "instance", &json!([]))], {
            UNTAINTED.to_owned()
        }),
        (
            "no-evict-pod-resourceclaimtemplate-no-status",
            templated(&json!([])),
            only(claim()),
            { vec![tainted()] },
            UNTAINTED.to_owned(),
        ),
        (
            "no-evict-pod-resourceclaimtemplate-no-claim",
            templated(&json!([{"name": "entry"}])),
            only(claim()),
            vec![tainted()],
            UNTAINTED.to_owned(),
        ),
        (
            "no-evict-other-device",
            in_status(),
            only(claim()),
            vec![slice(1, "x", &json!([taint("k", "v", "NoExecute")]))],
            UNTAINTED.to_owned(),
        ),
        (
            "no-evict-wrong-pod",
            with(pod(), json!({"metadata": {"uid": "other"}})),
            only(claim()),
            { vec![tainted()] },
            UNTAINTED.to_owned(),
        ),
        (
            "ignore-none-effect",
            in_status(),
            only(claim()),
            vec![slice(1, "instance", &json!([taint("k", "v", "None")]))],
            UNTAINTED.to_owned(),
        ),
        (
            "ignore-unknown-effect",
            in_status(),
            only(claim()),
            vec![slice(1, "instance", &json!([taint("k", "v", "Boom")]))],
            UNTAINTED.to_owned(),
        ),
        ("no-evict-wrong-resourceclaim", in_status(), only(with(claim(), old)), vec![tainted()], {
            UNTAINTED.to_owned()
        }),
        // More than upstream's rows.
        (
            "an empty effect in a toleration does not match",
            pod(),
            only(tolerating(&json!([{"operator": "Exists"}]))),
            vec![tainted()],
            evicts("k=v"),
        ),
        (
            "an unknown operator does not match",
            pod(),
            only(tolerating(&json!([{"operator": "Gt", "effect": "NoExecute"}]))),
            vec![tainted()],
            evicts("k=v"),
        ),
        (
            "negative seconds are none",
            pod(),
            only(tolerating(&json!([any(&json!(-5))]))),
            vec![tainted()],
            evicts("k=v"),
        ),
        (
            "an older generation of the pool does not count",
            pod(),
            only(claim()),
            vec![tainted(), slice(2, "instance", &json!([]))],
            UNTAINTED.to_owned(),
        ),
    ] {
        assert_eq!(planned(pod, &claims, &slices), expected, "{row}");
    }
}

/// TestController: what becomes of a pod that waits, and of its Events.
#[test]
fn evictions_are_cancelled_as_upstream() {
    let cancelled = |why: &str| {
        format!("{why}in order: event Normal DeviceTaintManagerEviction: Cancelling deletion\n")
    };
    let waiting = tolerating(&json!([any(&json!(3600))]));
    let untainted = slice(1, "instance", &json!([]));
    let noschedule = slice(1, "instance", &json!([taint("k", "v", "NoSchedule")]));
    let deallocated = with(waiting.clone(), json!({"status": {"allocation": null}}));
    for (row, claims, slices) in [
        ("cancel-eviction-remove-taint", vec![waiting.clone()], vec![untainted.clone()]),
        ("cancel-eviction-reduce-taint", vec![waiting.clone()], vec![noschedule]),
        (
            "cancel-eviction-remove-taint-in-new-slice",
            vec![waiting.clone()],
            vec![slice(2, "instance", &json!([]))],
        ),
        ("cancel-eviction-remove-slice", vec![waiting.clone()], vec![]),
        ("no-evict-resourceclaim-deallocated", vec![deallocated], vec![tainted()]),
        ("no-evict-resourceclaim-deleted", vec![], vec![tainted()]),
    ] {
        let memory = Shared::default();
        let before = caches(&[pod()], std::slice::from_ref(&waiting), &[tainted()]);
        let plan = acted(&before, &memory, &Outcome::default());
        assert!(plan.contains("again in"), "{row}: {plan}");
        assert_eq!(memory.read().len(), 1);
        let plan = acted(&caches(&[pod()], &claims, &slices), &memory, &Outcome::default());
        assert_eq!(plan, cancelled(UNTAINTED), "{row}");
        assert_eq!(memory.read().len(), 0);
    }
    // "eviction-change-taint": the deadline is what the caches say now.
    let memory = Shared::default();
    let before = caches(&[pod()], std::slice::from_ref(&waiting), &[tainted()]);
    acted(&before, &memory, &Outcome::default());
    let earlier = caches(&[pod()], &[claim()], &[tainted()]);
    assert_eq!(acted(&earlier, &memory, &Outcome::default()), evicts("k=v"));
    // "cancel-eviction-pod-deletion", TestCancelEviction: without an Event.
    assert_eq!(memory.read().len(), 1);
    let gone = caches(&[], &[waiting], &[tainted()]);
    assert_eq!(acted(&gone, &memory, &Outcome::default()), "gone");
    assert_eq!(memory.read().len(), 0);
}

/// TestEviction, TestRetry, TestParallelPodDeletion.
#[test]
fn an_eviction_is_announced_and_counted_once() {
    let memory = Shared::default();
    let fixture = caches(&[pod()], &[claim()], &[tainted()]);
    let failed = Outcome { error: Some("timed out".to_owned()), ..Outcome::default() };
    assert_eq!(acted(&fixture, &memory, &failed), evicts("k=v"));
    assert_eq!(acted(&fixture, &memory, &failed), again("k=v"), "the Event comes once");
    assert_eq!(acted(&fixture, &memory, &Outcome::default()), again("k=v"));
    let done = "why: it is evicted already, and is being deleted\n";
    assert_eq!(acted(&fixture, &memory, &Outcome::default()), done);
    // Another pod of this name.
    let replaced = with(pod(), json!({"metadata": {"uid": "uid-new"}}));
    let user = json!([{"resource": "pods", "name": "web", "uid": "uid-new"}]);
    let reserved = with(claim(), json!({"status": {"reservedFor": user}}));
    let fixture = caches(&[replaced], &[reserved], &[tainted()]);
    let plan = acted(&fixture, &memory, &Outcome::default());
    assert_eq!(plan, evicts("k=v").replace("uid-web", "uid-new"));
}

/// The metrics, and the pod that the Events are about: its uid is among what they name.
#[test]
fn evictions_count_from_the_moment_at_which_they_are_due() {
    let snapshot = |pod: Value| {
        let fixture = caches(&[pod], &[claim()], &[tainted()]);
        let key = Key::new("shop", "web");
        Controller.observe(&key, &fixture.view(), &Evictions::default()).unwrap()
    };
    let (plan, _) = Controller.decide(&snapshot(pod()), &Facts::default());
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let controller::Action::Event(event) = &actions[0] else { panic!("{plan}") };
    assert_eq!(*event.about, ObjectRef::new(&Pod::RESOURCE, &decode::<Pod>(&pod()).meta));
    let delete = actions[2].write().unwrap();
    let due = time(0) - Duration::from_mins(1);
    let counts = [
        controller::Count::one(&decide::DELETIONS_TOTAL),
        controller::Count::since(&decide::DELETION_DURATION, due),
    ];
    assert_eq!(delete.counts, counts.clone().map(|count| count.when(When::Done)));
    // Somebody else deletes it: counted, and no Event.
    let deleted = with(pod(), json!({"metadata": {"deletionTimestamp": NOW}}));
    let (plan, verdict) = Controller.decide(&snapshot(deleted), &Facts::default());
    assert_eq!(
        (plan.to_string().as_str(), verdict),
        ("why: it is being deleted\n", Verdict::Evict)
    );
    assert_eq!(plan.counts, counts);
}

/// `handlePodChange`, `handleClaimChange`, `handleSliceChange`.
#[test]
fn changes_enqueue_the_pods_that_they_concern() {
    let fixture = caches(&[pod()], &[claim()], &[tainted()]);
    let now = "now shop/web\n";
    let pods = |change: Change<Pod>| enqueued(&Controller, &change, &fixture);
    let of_pod = |json: &Value| decode::<Pod>(json);
    let update =
        |old: &Value, new: &Value| pods(Change::Updated { old: of_pod(old), new: of_pod(new) });
    assert_eq!(pods(Change::Added(of_pod(&pod()))), now);
    assert_eq!(pods(Change::Added(of_pod(&fixture::pod("web")))), "", "it has no claims");
    assert_eq!(pods(Change::Deleted(of_pod(&pod()))), "forget shop/web\n");
    assert_eq!(pods(Change::Deleted(of_pod(&fixture::pod("web")))), "");
    assert_eq!(update(&with(pod(), json!({"spec": {"nodeName": null}})), &pod()), now);
    assert_eq!(update(&templated(&json!([])), &in_status()), now);
    assert_eq!(update(&pod(), &with(pod(), json!({"status": {"phase": "Failed"}}))), "");

    let claims = |change: Change<ResourceClaim>| enqueued(&Controller, &change, &fixture);
    let of_claim = |json: &Value| decode::<ResourceClaim>(json);
    let free = with(claim(), json!({"status": {"allocation": null}}));
    let update = |old: &Value, new: &Value| {
        claims(Change::Updated { old: of_claim(old), new: of_claim(new) })
    };
    assert_eq!(claims(Change::Added(of_claim(&claim()))), now);
    assert_eq!(claims(Change::Added(of_claim(&free))), "");
    assert_eq!(claims(Change::Deleted(of_claim(&claim()))), now);
    assert_eq!(update(&free, &claim()), now);
    assert_eq!(update(&claim(), &free), now);
    assert_eq!(update(&free, &free), "");
    let group = json!({"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g",
        "uid": "g"});
    let other = json!({"resource": "pods", "name": "b", "uid": "b"});
    let others = with(claim(), json!({"status": {"reservedFor": [group, other]}}));
    assert_eq!(update(&claim(), &others), "now shop/web\nnow shop/b\n");

    let slices = |change: Change<ResourceSlice>| enqueued(&Controller, &change, &fixture);
    let of_slice = |json: &Value| decode::<ResourceSlice>(json);
    let update = |old: &Value, new: &Value| {
        slices(Change::Updated { old: of_slice(old), new: of_slice(new) })
    };
    let elsewhere = with(tainted(), json!({"spec": {"pool": {"name": "m"}}}));
    assert_eq!(slices(Change::Added(of_slice(&tainted()))), now);
    assert_eq!(slices(Change::Deleted(of_slice(&tainted()))), now);
    assert_eq!(slices(Change::Added(of_slice(&elsewhere))), "");
    assert_eq!(update(&tainted(), &slice(1, "instance", &json!([]))), now);
    assert_eq!(update(&tainted(), &with(tainted(), json!({"spec": {"nodeName": "m"}}))), "");
}

#[test]
fn facts_for_an_operator() {
    let memory = Shared::<Evictions>::default();
    let fixture = caches(&[pod()], &[tolerating(&json!([any(&json!(120))]))], &[tainted()]);
    acted(&fixture, &memory, &Outcome::default());
    let key = Key::new("shop", "web");
    let snapshot = Controller.observe(&key, &fixture.view(), &memory.read()).unwrap();
    let facts: Vec<_> = Controller.summary(&snapshot).into_iter().map(|(_, fact)| fact).collect();
    let until = time(60_000_000_000);
    let expected = [
        "node-1".to_owned(),
        "false".to_owned(),
        format!("k=v of device d/n/instance of claim gpu, until {until}"),
        format!("waits until {until}"),
    ];
    assert_eq!(facts, expected);
}

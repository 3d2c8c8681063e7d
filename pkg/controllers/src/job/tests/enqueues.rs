//! Whose key a change enqueues: TestAddPod, TestUpdatePod and the like in upstream's
//! `job_controller_test.go`; and the pods that no Job counts: TestSyncOrphanPod and
//! TestFinalizerCleanup.

use std::sync::Arc;

use api::{Job, Key, Pod};
use controller::fixture::{self, Fixture, decode, with};
use controller::{Change, Controller as _, Facts};
use serde_json::{Value, json};

use super::super::{Backoffs, Controller, Options, Orphans};
use super::world::{FINALIZER, job, pod};

const CONTROLLER: Controller = Controller::new(Options { resets_start_time: true });
const SOON: &str = "after 1s shop/foobar";

fn holding(job: &Value, pods: &[Value]) -> Fixture {
    Fixture::default().holding::<Job>(std::slice::from_ref(job)).holding::<Pod>(pods)
}

fn holding_no_job() -> Fixture {
    Fixture::default().holding::<Job>(&[]).holding::<Pod>(&[])
}

fn enqueued<C: controller::Controller, T: api::Kind>(
    controller: &C,
    change: &Change<T>,
    fixture: &Fixture,
) -> String {
    fixture::enqueued(controller, change, fixture).trim_end().to_owned()
}

fn updated<T: api::Kind>(old: &Value, new: &Value) -> Change<T> {
    let new = with(new.clone(), json!({"metadata": {"resourceVersion": "99"}}));
    Change::Updated { old: decode(old), new: decode(&new) }
}

fn finished(job: Value) -> Value {
    with(job, json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}))
}

#[test]
fn jobs_enqueue_themselves() {
    let (job, empty) = (job(json!({})), Fixture::default());
    let asked = |change: &Change<Job>| enqueued(&CONTROLLER, change, &empty);
    assert_eq!(asked(&Change::Added(decode(&job))), "now shop/foobar");
    assert_eq!(asked(&Change::Deleted(decode(&job))), "forget shop/foobar");
    let newer = with(job.clone(), json!({"metadata": {"generation": 2}}));
    assert_eq!(asked(&updated(&job, &newer)), "now shop/foobar");
    // TestUpdateJobRequeue: a change of its status alone waits for others.
    assert_eq!(asked(&updated(&job, &job)), SOON);
    assert_eq!(asked(&updated(&job, &finished(newer))), "");
    let external = with(job, json!({"spec": {"managedBy": "example.com/custom"}}));
    assert!(asked(&Change::Added(decode(&external))).starts_with("now shop/foobar"));
}

#[test]
fn pods_enqueue_their_job_a_second_later() {
    let job = job(json!({}));
    let running = pod("a", "r", None);
    let fixture = holding(&job, &[]);
    let asked = |change: &Change<Pod>| enqueued(&CONTROLLER, change, &fixture);
    assert_eq!(asked(&Change::Added(decode(&running))), SOON);
    assert_eq!(asked(&Change::Deleted(decode(&running))), SOON);
    assert_eq!(asked(&updated(&running, &pod("a", "R", None))), SOON);
    assert_eq!(asked(&updated(&running, &pod("a", "t", None))), SOON);
    let orphan = with(running.clone(), json!({"metadata": {"ownerReferences": null}}));
    assert_eq!(asked(&Change::Added(decode(&orphan))), SOON);
    let other = with(orphan.clone(), json!({"metadata": {"labels": {"foo": "baz"}}}));
    assert_eq!(asked(&Change::Added(decode(&other))), "");
    assert_eq!(asked(&updated(&other, &orphan)), SOON);
    let same = Change::Updated { old: decode(&running), new: decode::<Pod>(&running) };
    assert_eq!(asked(&same), "");
}

#[test]
fn pods_that_no_job_counts_are_found() {
    let job = job(json!({}));
    let (running, ending) = (pod("a", "r", None), pod("a", "t", None));
    let orphan = with(running.clone(), json!({"metadata": {"ownerReferences": null}}));
    let free = with(orphan.clone(), json!({"metadata": {"finalizers": null}}));
    let without = holding_no_job();
    let (with_job, with_finished) = (holding(&job, &[]), holding(&finished(job.clone()), &[]));
    for (name, pod, fixture, expected) in [
        ("TestAddPodOrphan", &orphan, &with_job, "now shop/a"),
        ("without finalizer", &free, &with_job, ""),
        ("of a Job", &ending, &with_job, ""),
        ("of a Job that was deleted, not being deleted", &running, &without, ""),
        ("of a Job that was deleted", &ending, &without, "now shop/a"),
        ("of a finished Job", &ending, &with_finished, "now shop/a"),
    ] {
        assert_eq!(
            enqueued(&Orphans, &Change::Added(decode::<Pod>(pod)), fixture),
            expected,
            "{name}"
        );
    }
    // A Job that was deleted or has finished frees its pods, also at the start.
    let counted = with(pod("b", "s", None), json!({"metadata": {"finalizers": null}}));
    let fixture = holding(&job, &[running, counted]);
    let asked = |change: &Change<Job>| enqueued(&Orphans, change, &fixture);
    assert_eq!(asked(&Change::Added(decode(&job))), "");
    assert_eq!(asked(&Change::Deleted(decode(&job))), "now shop/a");
    assert_eq!(asked(&updated(&job, &finished(job.clone()))), "now shop/a");
    assert_eq!(asked(&Change::Added(decode(&finished(job.clone())))), "now shop/a");
}

/// TestSyncOrphanPod: who controls the pod, and whether its finalizer is removed.
#[test]
fn orphans_lose_their_finalizer() {
    let goes = format!(
        "patch pods shop/a {}",
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER], "uid": "uid-a"}})
    );
    let owner = |patch: Value| {
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "foobar", "uid": "u1",
            "controller": true});
        json!({"metadata": {"ownerReferences": [with(owner, patch)]}})
    };
    let external = job(json!({"managedBy": "example.com/custom"}));
    for (name, owner, job, expected) in [
        ("nothing", json!({"metadata": {"ownerReferences": null}}), job(json!({})), Some(&goes)),
        ("a Job", owner(json!({})), job(json!({})), None),
        ("a finished Job", owner(json!({})), finished(job(json!({}))), Some(&goes)),
        ("a former Job", owner(json!({"uid": "u0"})), job(json!({})), Some(&goes)),
        ("a Job of another controller", owner(json!({})), finished(external), None),
        ("another kind", owner(json!({"kind": "ReplicaSet"})), job(json!({})), None),
        ("another group", owner(json!({"apiVersion": "x.io/v1"})), job(json!({})), None),
    ] {
        let fixture = holding(&job, &[with(pod("a", "f", None), owner)]);
        let snapshot = Orphans.observe(&Key::new("shop", "a"), &fixture.view(), &()).unwrap();
        let plan = Orphans.decide(&snapshot, &Facts::default()).0.to_string();
        let writes = plan.lines().find_map(|line| line.strip_prefix("in order: "));
        assert_eq!(writes, expected.map(String::as_str), "{name}");
        assert_eq!(Orphans.summary(&snapshot)[0], ("tracked", "true".to_owned()));
    }
    let gone = Orphans.observe(&Key::new("shop", "a"), &holding_no_job().view(), &());
    assert!(gone.is_none());
}

/// TestGetPodsForJob, TestJobPodLookup: what it adopts gets the finalizer, what it releases loses
/// it.
#[test]
fn pods_are_adopted_and_released_with_their_finalizer() {
    let job = job(json!({"parallelism": 2, "completions": 5}));
    let foreign = json!({"metadata": {"labels": {"foo": "baz"}}});
    let orphan = json!({"metadata": {"ownerReferences": null, "finalizers": null}});
    let pods = [with(pod("a", "r", None), foreign), with(pod("b", "r", None), orphan)];
    let fixture = holding(&job, &pods);
    let snapshot =
        CONTROLLER.observe(&Key::new("shop", "foobar"), &fixture.view(), &Backoffs::default());
    let query = controller::Query::object(<Job as api::Kind>::RESOURCE, Key::new("shop", "foobar"));
    let live: Arc<Job> = decode(&job);
    let answer = controller::Answer::Found(Box::new((live.meta.clone(), live.raw.clone())));
    let facts = Facts::from([(query, answer)]);
    let plan = CONTROLLER.decide(&snapshot.unwrap(), &facts).0.to_string();
    let claims: Vec<_> = plan.lines().filter(|line| line.starts_with("together")).collect();
    assert_eq!(
        claims,
        [
            "together: patch pods shop/b {\"metadata\":{\"uid\":\"uid-b\",\"ownerReferences\":\
             [{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"foobar\",\"uid\":\"u1\",\
             \"controller\":true,\"blockOwnerDeletion\":true}],\"finalizers\":\
             [\"batch.kubernetes.io/job-tracking\"]}}",
            "together: patch pods shop/a {\"metadata\":{\"uid\":\"uid-a\",\"ownerReferences\":\
             [{\"$patch\":\"delete\",\"uid\":\"u1\"}],\
             \"$deleteFromPrimitiveList/finalizers\":[\"batch.kubernetes.io/job-tracking\"]}}",
        ]
    );
}

//! Tables, mirroring upstream's tests in `pkg/controller/deployment`, its `util`, and
//! `test/integration/deployment` where they are about decisions.

mod creation;
mod enqueueing;
mod numbers;
mod scaling;
mod simulation;
mod status;

use std::sync::Arc;

use api::{Deployment, Key, Kind, Object as _, Pod, Raw, ReplicaSet};
use controller::fixture::{self, Fixture, NOW, ago, decode, owned_by, pod, with};
use controller::{
    Action, Answer, Change, Controller as _, Facts, Outcome, Plan, Query, Step, Write,
};
use serde_json::{Value, json};

use super::*;

const CONTROLLER: Controller = Controller { counts_terminating: true };

const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// `shop/foo`, which selects `foo=bar` and rolls from image to image, all pods at once if need be.
fn deployment(image: &str, replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "foo", "namespace": "shop", "uid": "d1", "resourceVersion": "7",
            "generation": 1, "creationTimestamp": ago(9000), "annotations": {REVISION: "1"},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"foo": "bar"}},
            "strategy": rolling(&json!(0), &json!(0)),
            "template": template(image),
        },
        "status": {"observedGeneration": 1},
    })
}

fn template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"foo": "bar"}},
        "spec": {"containers": [{"name": "main", "image": image, "resources": {}}]},
    })
}

fn rolling(surge: &Value, unavailable: &Value) -> Value {
    json!({"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

fn spec(object: Value, patch: Value) -> Value {
    with(object, Value::Object([("spec".to_owned(), patch)].into_iter().collect()))
}

fn recreate(deployment: Value) -> Value {
    spec(deployment, json!({"strategy": {"type": "Recreate", "rollingUpdate": null}}))
}

fn annotated(object: Value, annotations: Value) -> Value {
    let meta = Value::Object([("annotations".to_owned(), annotations)].into_iter().collect());
    with(object, json!({ "metadata": meta }))
}

fn deleted(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": NOW}}))
}

/// The set `foo-<image>` of `shop/foo`, all of whose pods are available. `image` is `v1` and so
/// on: later versions are younger, and have higher revisions.
fn set(image: &str, replicas: i32) -> Value {
    let revision: i64 = image[1..].parse().unwrap();
    let name = format!("foo-{image}");
    let owner = json!({"metadata": {"name": "foo", "uid": "d1"}});
    let mut template = template(image);
    template["metadata"]["labels"]["pod-template-hash"] = json!(image);
    let bare = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "3", "generation": 1, "creationTimestamp": ago(8000 - revision),
            "labels": {"foo": "bar", "pod-template-hash": image},
            "annotations": {REVISION: revision.to_string()},
        },
        "spec": {"replicas": replicas, "minReadySeconds": 0, "template": template,
            "selector": {"matchLabels": {"foo": "bar", "pod-template-hash": image}}},
        "status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "terminatingReplicas": 0, "observedGeneration": 1},
    });
    with(bare, json!({"metadata": owned_by("Deployment", &owner)}))
}

/// The set, scaled when its Deployment had so many pods.
fn sized(set: Value, desired: i32, most: i32) -> Value {
    annotated(set, json!({DESIRED: desired.to_string(), MOST: most.to_string()}))
}

fn available(set: Value, count: i32) -> Value {
    with(set, json!({"status": {"availableReplicas": count, "readyReplicas": count}}))
}

fn orphaned(set: Value) -> Value {
    with(set, json!({"metadata": {"ownerReferences": null}}))
}

fn caches(deployments: &[Value], sets: &[Value], pods: &[Value]) -> Fixture {
    let fixture = Fixture::default().holding::<Deployment>(deployments);
    fixture.holding::<ReplicaSet>(sets).holding::<Pod>(pods)
}

fn observed(deployment: &Value, sets: &[Value], pods: &[Value]) -> Snapshot {
    let fixture = caches(std::slice::from_ref(deployment), sets, pods);
    CONTROLLER.observe(&Key::new("shop", "foo"), &fixture.view(), &()).unwrap()
}

fn found<T: Kind>(object: &Value) -> (Query, Answer) {
    let meta = decode::<T>(object).meta().clone();
    let raw = Raw::parse(object.to_string().as_bytes()).unwrap();
    let query = Query::object(T::RESOURCE, meta.key.clone());
    (query, Answer::Found(Box::new((meta, raw))))
}

/// What is decided where the API server has what the caches show.
fn decided(deployment: &Value, snapshot: &Snapshot) -> (Plan, Verdict) {
    let mut facts = Facts::from([found::<Deployment>(deployment)]);
    let (plan, verdict) = CONTROLLER.decide(snapshot, &facts);
    let Some(Step::Fetch(queries)) = plan.steps.first() else { return (plan, verdict) };
    facts.answers.extend(queries.iter().map(|query| (query.clone(), Answer::NotFound)));
    CONTROLLER.decide(snapshot, &facts)
}

fn planned(deployment: &Value, sets: &[Value], pods: &[Value]) -> Plan {
    decided(deployment, &observed(deployment, sets, pods)).0
}

/// What is written once the plan went so.
fn reported(deployment: &Value, sets: &[Value], outcome: &Outcome) -> Option<Write> {
    let snapshot = observed(deployment, sets, &[]);
    let (_, verdict) = decided(deployment, &snapshot);
    CONTROLLER.report(&snapshot, Some(&verdict), outcome)
}

fn text(deployment: &Value, sets: &[Value]) -> String {
    planned(deployment, sets, &[]).to_string()
}

fn actions(plan: &Plan) -> Vec<&Action> {
    let steps = plan.steps.iter().flat_map(|step| match step {
        Step::InOrder(actions) | Step::Together(actions) => actions.as_slice(),
        Step::SlowStart(_) | Step::Chains(_) | Step::Fetch(_) => &[],
    });
    steps.collect()
}

/// The messages of the Events, in order.
fn messages(plan: &Plan) -> Vec<String> {
    let messages = actions(plan).into_iter().filter_map(|action| {
        let Action::Event(event) = action else { return None };
        Some(event.message.clone())
    });
    messages.collect()
}

/// The names of what is deleted, in order.
fn removed(plan: &Plan) -> Vec<String> {
    let removed = actions(plan).into_iter().filter_map(|action| {
        let write = action.write().filter(|write| write.deleted().is_some())?;
        Some(write.object.key.name.to_string())
    });
    removed.collect()
}

/// The body of the only create.
fn created(plan: &Plan) -> Value {
    let mut bodies = actions(plan)
        .into_iter()
        .filter_map(|action| action.write().filter(|write| write.created().is_some()).map(body));
    bodies.next().expect("a create")
}

fn body(write: &Write) -> Value {
    fixture::body(write)
}

fn failed(error: &str, reason: &str) -> Outcome {
    let (error, reason) = (Some(error.to_owned()), reason.to_owned());
    Outcome { error, reason, ..Outcome::default() }
}

// === What is left alone ===

/// TestDontSyncDeploymentsWithEmptyPodSelector, and card, Sync 1.
#[test]
fn a_deployment_that_selects_all_gets_a_warning() {
    let all = spec(deployment("v1", 1), json!({"selector": {"matchLabels": null}}));
    let expected = "why: the selector is empty\nin order: event Warning SelectingAll: This \
        deployment is selecting all pods. A non-empty selector is required.\n";
    assert_eq!(text(&all, &[]), expected);
    assert!(reported(&all, &[], &Outcome::default()).is_none());
    let newer = with(all, json!({"metadata": {"generation": 4}}));
    let update = reported(&newer, &[], &Outcome::default()).unwrap();
    assert_eq!(json!(fixture::status(&update)), json!({"observedGeneration": 4}));
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    let it = deployment("v1", 1);
    let invalid = spec(it.clone(), json!({"selector": {"matchLabels": {"foo": "no value!"}}}));
    let expected = "why: deployment shop/foo has invalid label selector: key \"foo\": \
        \"no value!\" is not a valid label value\n";
    assert_eq!(text(&invalid, &[set("v1", 5)]), expected);
    assert!(reported(&invalid, &[], &Outcome::default()).is_none());
    let error = api::DecodeError("spec.replicas: too big".to_owned());
    let mut s = observed(&it, &[set("v1", 1)], &[]);
    let broken = ReplicaSet::unreadable(s.claim.mine[0].meta.clone(), &error);
    s.claim.mine[0] = Arc::new(broken);
    let plan = CONTROLLER.decide(&s, &Facts::default()).0.to_string();
    let expected = "why: ReplicaSet shop/foo-v1 cannot be read: spec.replicas: too big\n";
    assert_eq!(plan, expected);
    let broken = Deployment::unreadable(s.deployment.meta.clone(), &error);
    let s = Snapshot { deployment: Arc::new(broken), ..s };
    let (plan, verdict) = CONTROLLER.decide(&s, &Facts::default());
    assert_eq!(plan.to_string(), "why: the Deployment cannot be read: spec.replicas: too big\n");
    assert!(CONTROLLER.report(&s, Some(&verdict), &Outcome::default()).is_none());
    let fixture = caches(&[it], &[], &[]);
    assert!(CONTROLLER.observe(&Key::new("shop", "other"), &fixture.view(), &()).is_none());
}

#[test]
fn a_strategy_of_another_name_is_a_failure() {
    let it = spec(deployment("v1", 1), json!({"strategy": {"type": "Canary"}}));
    let expected = "why: the Deployment cannot be rolled out\n\
        error: unexpected deployment strategy type: Canary\n";
    assert_eq!(text(&it, &[]), expected);
    let odd = json!({"strategy": rolling(&json!("many"), &json!(1))});
    let plan = text(&spec(deployment("v1", 1), odd), &[]);
    assert!(plan.contains("error: invalid value for IntOrString"), "{plan}");
}

/// TestSyncDeploymentDontDoAnythingDuringDeletion.
#[test]
fn a_deployment_that_goes_only_counts() {
    let it = deleted(spec(deployment("v2", 5), json!({"paused": true})));
    let sets = [sized(set("v1", 3), 3, 3), orphaned(set("v2", 1))];
    assert_eq!(text(&it, &sets), "why: the Deployment is being deleted\n");
    let update = reported(&it, &sets, &Outcome::default()).unwrap();
    assert_eq!(fixture::status(&update)["replicas"], 3);
}

/// TestSyncDeploymentDeletionRace, TestGetReplicaSetsForDeploymentAdoptRelease,
/// TestGeneralReplicaSetAdoption and TestReplicaSetOrphaningAndAdoptionWhenLabelsChange
/// (integration).
#[test]
fn sets_are_claimed_first_in_the_plan_that_counts_on_them() {
    let it = deployment("v1", 1);
    let strange = with(set("v2", 1), json!({"metadata": {"labels": {"foo": "baz"}}}));
    let elsewhere = with(orphaned(set("v3", 1)), json!({"metadata": {"namespace": "other"}}));
    let sets = [orphaned(set("v1", 1)), strange, elsewhere];
    let plan = text(&it, &sets);
    let why = "why: 1 to adopt, 1 to release; the rollout is under way: 1 of 1 pods of foo-v1 are \
        available\n";
    assert!(plan.starts_with(why), "{plan}");
    assert_eq!(plan.matches("together: patch replicasets.apps shop/foo-v").count(), 2, "{plan}");
    let snapshot = observed(&it, &sets, &[]);
    let update = reported(&it, &sets, &Outcome::default()).unwrap();
    assert_eq!(fixture::status(&update)["replicas"], 1, "what is adopted counts");
    let refused = Outcome { step: Some(0), ..failed("no", "") };
    assert!(reported(&it, &sets, &refused).is_none());
    assert!(reported(&it, &sets, &failed("can't adopt", "")).is_none());
    let facts = Facts::from([found::<Deployment>(&deleted(it))]);
    let plan = CONTROLLER.decide(&snapshot, &facts).0.to_string();
    assert!(plan.contains("error: can't adopt ReplicaSet shop/foo-v1"), "{plan}");
}

/// A set whose release a webhook undoes, or that cannot be written any more (422), is released in
/// each sync, and holds nothing up.
#[test]
fn a_release_that_does_not_stick_stops_nothing() {
    let one = rolling(&json!(1), &json!(0));
    let it = spec(deployment("v3", 2), json!({ "strategy": one }));
    let strange = with(set("v1", 1), json!({"metadata": {"labels": {"foo": "baz"}}}));
    let sets = [strange, sized(set("v2", 2), 2, 3)];
    let plan = planned(&it, &sets, &[]);
    let release = "together: patch replicasets.apps shop/foo-v1 ";
    assert!(plan.to_string().contains(release), "{plan}");
    assert_eq!(created(&plan)["spec"]["replicas"], 1, "the rollout goes on: {plan}");
    let snapshot = Snapshot { has_failed: true, ..observed(&it, &sets, &[]) };
    let name = super::creation::name(&snapshot).set;
    let query = Query::object(ReplicaSet::RESOURCE, Key::new("shop", &name));
    let asked = CONTROLLER.decide(&snapshot, &Facts::default()).0.to_string();
    assert!(asked.ends_with(&format!("fetch {query}\n")) && !asked.contains("patch"), "{asked}");
    let update = reported(&it, &sets, &Outcome::default()).unwrap();
    assert_eq!(body(&update)["status"]["replicas"], 2);
}

// === Recreate ===

/// TestScaleDownOldReplicaSets, TestOldPodsRunning, and card, Recreate.
#[test]
fn recreate_waits_for_all_old_pods() {
    let it = recreate(deployment("v2", 3));
    let of_old = |phase: &str| {
        let old = json!({"metadata": {"name": "foo-v1", "uid": "uid-foo-v1"}});
        let pod = with(pod("p"), json!({"metadata": owned_by("ReplicaSet", &old)}));
        with(pod, json!({"status": {"phase": phase, "conditions": null}}))
    };
    let gone = || sized(set("v1", 0), 3, 3);
    let counting = with(gone(), json!({"status": {"replicas": 1}}));
    let wait = "why: old pods must end first\n";
    for (name, sets, pods, expected) in [
        ("old pods that still run", vec![gone()], vec![of_old("Running")], wait),
        ("one that is pending", vec![gone()], vec![of_old("Pending")], wait),
        ("one in unknown phase", vec![gone()], vec![of_old("Unknown")], wait),
        ("one that is being deleted", vec![gone()], vec![deleted(of_old("Running"))], wait),
        ("no pods but non-zero status replicas", vec![counting.clone()], vec![], wait),
        ("also if the new one is there", vec![counting, sized(set("v2", 1), 3, 3)], vec![], wait),
        (
            "scaled to nothing first",
            vec![sized(set("v1", 3), 3, 3)],
            vec![],
            "why: old ReplicaSets must be empty first\n\
             in order: update replicasets.apps shop/foo-v1 spec.replicas=0\n\
             in order: event Normal ScalingReplicaSet: \
             Scaled down replica set foo-v1 from 3 to 0\n",
        ),
        (
            "then the new one comes",
            vec![gone(), sized(set("v2", 0), 3, 3)],
            vec![of_old("Failed"), of_old("Succeeded")],
            "why: the rollout is under way\n\
             in order: update replicasets.apps shop/foo-v2 spec.replicas=3\n\
             in order: event Normal ScalingReplicaSet: Scaled up replica set foo-v2 from 0 to 3\n",
        ),
    ] {
        assert_eq!(planned(&it, &sets, &pods).to_string(), expected, "{name}");
    }
    let plan = planned(&it, &[gone()], &[]);
    assert_eq!(created(&plan)["spec"]["replicas"], 3, "no old RSs, no new one yet");
    assert_eq!(created(&plan)["metadata"]["annotations"][MOST], "3");
}

// === Rollback ===

const ROLLBACK: &str = "deprecated.deployment.rollback.to";

/// TestReentrantRollback, and card, Rollback.
#[test]
fn a_rollback_restores_template_and_annotations() {
    let asked = |to: &str| {
        annotated(
            deployment("v2", 1),
            json!({REVISION: "2", ROLLBACK: to, "cause": "edit", "b": "2"}),
        )
    };
    let old = annotated(set("v1", 0), json!({"cause": "create", DESIRED: "9"}));
    let new = annotated(sized(set("v2", 1), 1, 1), json!({"cause": "edit", "b": "2"}));
    let sets = [old, new];
    let restored = format!(
        "in order: update deployments.apps shop/foo spec.template={} \
         metadata.annotations={{\"cause\":\"create\",\"{REVISION}\":\"2\"}}\n\
         in order: event Normal DeploymentRollback: Rolled back deployment \"foo\" to revision 1\n",
        template("v1"),
    );
    let refused = |reason: &str, message: &str| {
        format!(
            "in order: event Warning DeploymentRollback{reason}: {message}\n\
             in order: update deployments.apps shop/foo \
             metadata.annotations={{\"b\":\"2\",\"cause\":\"edit\",\"{REVISION}\":\"2\"}}\n"
        )
    };
    for (to, expected) in [
        ("0", restored.clone()),
        ("1", restored),
        ("7", refused("RevisionNotFound", "Unable to find the revision to rollback to.")),
        (
            "2",
            refused(
                "TemplateUnchanged",
                "The rollback revision contains the same template as current deployment \"foo\"",
            ),
        ),
    ] {
        let it = asked(to);
        let expected = format!("why: asked to roll back to revision {to}\n{expected}");
        assert_eq!(text(&it, &sets), expected, "to {to}");
        let none = reported(&it, &sets, &Outcome::default());
        assert!(none.is_none(), "a status would be written to an old version");
    }
    let late = text(&annotated(asked("2"), json!({REVISION: "1"})), &sets);
    let revised = format!("\"{REVISION}\":\"2\"");
    assert!(late.contains(&revised), "the revision of the new set goes along: {late}");
    let only = text(&asked("0"), &sets[1..]);
    assert!(only.contains("RevisionNotFound: Unable to find last revision."), "{only}");
    let rests = "why: the rollout is under way: 1 of 1 pods of foo-v2 are available\n";
    assert_eq!(text(&asked("last"), &sets), rests, "no number");
    let plan = planned(&asked("0"), &sets[..1], &[]);
    assert_eq!(created(&plan)["metadata"]["annotations"][REVISION], "2", "the new set first");
    // The last revision is derived from what the new set gets, and so is the Deployment's.
    let behind = annotated(sets[1].clone(), json!({REVISION: Value::Null}));
    let plan = text(&asked("0"), &[sets[0].clone(), behind]);
    let synced = format!(
        "in order: update replicasets.apps shop/foo-v2 metadata.annotations.{REVISION}=\"2\"\n"
    );
    assert!(
        plan.starts_with(&format!("why: asked to roll back to revision 0\n{synced}")),
        "{plan}"
    );
    assert!(plan.contains("Rolled back deployment \"foo\" to revision 1"), "{plan}");
    assert!(plan.contains(&format!("\"{REVISION}\":\"2\"")), "{plan}");
    let paused = spec(asked("1"), json!({"paused": true, "revisionHistoryLimit": 0}));
    assert_eq!(text(&paused, &sets), "why: the Deployment is paused\n", "nothing is deleted");
}

// === Cleanup ===

/// A complete Deployment that keeps so many old sets.
fn complete(limit: i32) -> Value {
    let status = json!({"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
        "readyReplicas": 1, "observedGeneration": 1});
    with(
        spec(deployment("v9", 1), json!({"revisionHistoryLimit": limit})),
        json!({"status": status}),
    )
}

/// TestDeploymentController_cleanupDeployment.
#[test]
fn old_sets_are_deleted_but_for_the_last_ones() {
    let counts = |image: &str, spec_replicas, replicas| {
        let set = with(set(image, replicas), json!({"status": {"replicas": replicas}}));
        sized(spec(set, json!({"replicas": spec_replicas})), 1, 1)
    };
    let empty = |image| counts(image, 0, 0);
    let unseen = with(empty("v1"), json!({"metadata": {"generation": 2}}));
    let cases: [(&str, Vec<Value>, i32, Vec<&str>); 7] = [
        ("scenario 0", vec![empty("v1"), empty("v2"), empty("v3")], 1, vec!["foo-v1", "foo-v2"]),
        // With pods of old sets the rollout is not over: `clean_up` itself is asked below.
        ("scenario 2", vec![empty("v1"), empty("v2")], 0, vec!["foo-v1", "foo-v2"]),
        ("scenario 4", vec![deleted(empty("v1"))], 0, vec![]),
        ("scenario 5", vec![empty("v1"), empty("v2"), empty("v3")], i32::MAX, vec![]),
        ("not observed yet", vec![unseen, empty("v2")], 1, vec![]),
        ("as many as may be", vec![empty("v1"), empty("v2")], 2, vec![]),
        ("it has pods: no other one instead", vec![counts("v1", 0, 1), empty("v2")], 1, vec![]),
    ];
    for (name, old, limit, expected) in cases {
        let sets = [old, vec![sized(set("v9", 1), 1, 1)]].concat();
        assert_eq!(removed(&planned(&complete(limit), &sets, &[])), expected, "{name}");
    }
    let mixed = [empty("v1"), counts("v2", 0, 1), counts("v3", 1, 0), counts("v4", 1, 1)];
    let s = observed(&complete(0), &mixed, &[]);
    let mut changes = changes::Changes::new(&s);
    rollout::clean_up(&mut changes);
    assert_eq!(changes.actions.len(), 1, "scenario 1");
    let s = observed(&complete(0), &[counts("v1", 1, 1), counts("v2", 1, 1)], &[]);
    let mut changes = changes::Changes::new(&s);
    rollout::clean_up(&mut changes);
    assert!(changes.is_empty(), "scenario 3");
    let rolling = with(complete(0), json!({"status": {"updatedReplicas": 0}}));
    let plan = planned(&rolling, &[empty("v1"), sized(set("v9", 1), 1, 1)], &[]);
    assert!(removed(&plan).is_empty(), "nothing during a rollout");
    let paused = spec(rolling, json!({"paused": true}));
    let plan = planned(&paused, &[empty("v1"), sized(set("v9", 1), 1, 1)], &[]);
    assert_eq!(removed(&plan), ["foo-v1"], "but while paused");
    let all = spec(complete(0), json!({"paused": true}));
    let plan = planned(&all, &[empty("v1"), empty("v2")], &[]);
    assert_eq!(messages(&plan), ["Scaled up replica set foo-v2 from 0 to 1"]);
    assert_eq!(removed(&plan), ["foo-v1"], "not the one that is scaled up");
}

/// TestDeploymentController_cleanupDeploymentOrder.
#[test]
fn the_lowest_revisions_are_deleted_first() {
    let revised = |image: &str, replicas, revision: &str| {
        let revision = if revision.is_empty() { Value::Null } else { json!(revision) };
        annotated(set(image, replicas), json!({ REVISION: revision }))
    };
    for (name, revisions, busy, limit, expected) in [
        ("rs1 < rs2", vec!["1", "2"], 0, 1, vec!["foo-v1"]),
        ("rs2 < rs1", vec!["2", "1"], 0, 1, vec!["foo-v2"]),
        ("rs2 has none", vec!["1", ""], 0, 1, vec!["foo-v2"]),
        ("rs1 has none", vec!["", "2"], 0, 1, vec!["foo-v1"]),
        ("rs1 has replicas", vec!["1", "2", "3"], 1, 1, vec!["foo-v2"]),
        ("rs1 and rs2 have replicas", vec!["1", "2", "3"], 2, 1, vec![]),
        ("rs2 < rs4 < rs1 < rs3", vec!["3", "1", "4", "2"], 0, 2, vec!["foo-v2", "foo-v4"]),
        ("of equal ones the oldest", vec!["1", "1"], 0, 1, vec!["foo-v1"]),
    ] {
        let old = revisions
            .iter()
            .enumerate()
            .map(|(at, revision)| revised(&format!("v{}", at + 1), i32::from(at < busy), revision));
        let sets: Vec<Value> = old.collect();
        let s = observed(&complete(limit), &sets, &[]);
        let mut changes = changes::Changes::new(&s);
        rollout::clean_up(&mut changes);
        let plan = Plan::one("", Step::InOrder(changes.actions));
        assert_eq!(removed(&plan), expected, "{name}");
    }
}

// === Summary ===

#[test]
fn the_summary_says_what_counts() {
    let it = spec(deployment("v2", 4), json!({"strategy": rolling(&json!(1), &json!("25%"))}));
    let sets = [set("v1", 4), available(set("v2", 1), 0)];
    let summary = |it: &Value| {
        let facts = CONTROLLER.summary(&observed(it, &sets, &[]));
        let lines = facts.iter().map(|(name, value)| format!("{name}: {value}\n"));
        lines.collect::<Vec<_>>().concat()
    };
    let expected = "wanted: 4\npods at most: 5\navailable at least: 3\n\
        new ReplicaSet: foo-v2 wants 1, has 1, available 0\nold ReplicaSets: 1\n\
        old ones with pods: foo-v1 wants 4, has 4, available 4\n";
    assert!(summary(&it).starts_with(expected), "{}", summary(&it));
    let all = spec(it, json!({"selector": {"matchLabels": null}}));
    assert!(summary(&all).starts_with("left alone: it selects all pods\n"), "{}", summary(&all));
}

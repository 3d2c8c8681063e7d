//! Tables, mirroring upstream's
//! `pkg/controller/volume/pvcprotection/pvc_protection_controller_test.go`, and
//! `pkg/controller/util/protectionutil`.

use std::fmt::Write as _;
use std::sync::Arc;

use api::Pod;
use controller::fixture::{Fixture, NOW, decode, decode_all, enqueued, lines, remembered, with};
use controller::{Answer, Controller as _, Outcome, Shared, Step, Views};
use serde_json::{Value, json};

use super::*;

const LIST: &str = "fetch all pods in shop\n";
const RELEASED: &str = "why: no pod uses it
in order: update persistentvolumeclaims shop/data metadata.finalizers=null
";
const PROTECTED: &str = "why: it is protected\n";

fn controller(tracks_unused: bool) -> Controller {
    Controller { tracks_unused }
}

/// As upstream's `pvc`.
fn claim(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
        "resourceVersion": "1"}, "spec": {}, "status": {"phase": "Bound"}})
}

/// As upstream's `withProtectionFinalizer`.
fn protected(claim: Value) -> Value {
    with(claim, json!({"metadata": {"finalizers": [PersistentVolumeClaim::PROTECTION]}}))
}

/// As upstream's `deleted`, of one that is protected.
fn deleted(name: &str) -> Value {
    with(protected(claim(name)), json!({"metadata": {"deletionTimestamp": NOW}}))
}

/// As upstream's `withUnusedCondition`.
fn says_unused(status: &str, claim: Value) -> Value {
    let condition = json!({"type": "Unused", "status": status});
    with(claim, json!({"status": {"conditions": [condition]}}))
}

/// As upstream's `pod` and `withPVC`: a pod on a node with a claim, without a status.
fn pod(claim: &str) -> Value {
    named("pod", claim)
}

fn named(name: &str, claim: &str) -> Value {
    let volume = json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "1"},
        "spec": {"nodeName": "node1", "volumes": [volume]},
    })
}

/// The same, on no node.
fn unscheduled(pod: Value) -> Value {
    with(pod, json!({"spec": {"nodeName": null}}))
}

fn phase(phase: &str, pod: Value) -> Value {
    with(pod, json!({"status": {"phase": phase}}))
}

/// A pod with an ephemeral volume, whose claim is `pod-data`.
fn ephemeral() -> Value {
    let volume = json!({"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}});
    with(pod(""), json!({"spec": {"volumes": [volume]}}))
}

/// A claim that a pod manages.
fn managed(claim: Value, uid: &str) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": uid,
        "controller": true});
    with(claim, json!({"metadata": {"ownerReferences": [owner]}}))
}

fn caches(claims: &[Value], pods: &[Value]) -> Fixture {
    Fixture::default().holding::<PersistentVolumeClaim>(claims).holding::<Pod>(pods)
}

fn answer(pods: &[Value]) -> Answer {
    Answer::Views(Views::new(decode_all::<Pod>(pods)))
}

/// What a sync asks for, and then does, of the claim with this name.
fn synced(
    (controller, memory): (Controller, &Shared<Unused>),
    name: &str,
    fixture: &Fixture,
    live: &Answer,
) -> String {
    let key = Key::new("shop", name);
    let snapshot = controller.observe(&key, &fixture.view(), &memory.read()).unwrap();
    let (mut text, mut facts) = (String::new(), Facts::default());
    loop {
        let (plan, verdict) = controller.decide(&snapshot, &facts);
        let [Step::Fetch(queries)] = plan.steps.as_slice() else {
            let acted = News::Acted {
                snapshot: &snapshot,
                verdict: &verdict,
                outcome: &Outcome::default(),
            };
            controller.remember(&mut memory.write(), acted, &mut Enqueue::default());
            return text + &plan.to_string();
        };
        for query in queries {
            writeln!(text, "fetch {query}").unwrap();
            let news = News::Answered { snapshot: &snapshot, query, answer: live };
            controller.remember(&mut memory.write(), news, &mut Enqueue::default());
            facts.answers.insert(query.clone(), live.clone());
        }
    }
}

/// A sync of the claim `data`, with these pods in the cache and in a live list.
fn sync(tracks_unused: bool, claim: Value, cached: &[Value], live: &[Value]) -> String {
    let name = claim["metadata"]["name"].as_str().unwrap().to_owned();
    let it = (controller(tracks_unused), &Shared::default());
    synced(it, &name, &caches(&[claim], cached), &answer(live))
}

/// Which keys a change enqueues, and the plans of those that are enqueued, with these objects in
/// the cache.
fn after<T: api::Kind>(change: &Change<T>, claims: &[Value], pods: &[Value]) -> String {
    let fixture = caches(claims, pods);
    let it = (controller(false), &Shared::default());
    let queue = remembered(&it.0, it.1, change, &fixture);
    let is_known = |name: &str| claims.iter().any(|it| it["metadata"]["name"] == *name);
    let text = lines(&queue);
    let enqueued = text.lines().filter_map(|line| line.split_once("shop/"));
    let enqueued = enqueued.map(|(_, name)| name).filter(|name| is_known(name));
    enqueued.map(|name| synced(it, name, &fixture, &answer(pods))).collect()
}

fn keeps(pod: &str) -> String {
    format!("why: pod shop/{pod} uses it\n")
}

/// TestPVCProtectionController, "PVC events". That updates are tried again after a failure is the
/// engine's.
#[test]
fn claims_are_protected_and_let_go_as_upstream() {
    let added = "why: it lacks the finalizer
in order: update persistentvolumeclaims shop/data \
                 metadata.finalizers=[\"kubernetes.io/pvc-protection\"]\n";
    let listed = format!("{LIST}{RELEASED}");
    let listed_and_kept = format!("{LIST}{}", keeps("pod"));
    let empty = json!({"name": "emptyDir", "emptyDir": {}});
    let unrelated = || {
        let pod = pod("unrelated");
        let volume = pod["spec"]["volumes"][0].clone();
        vec![with(pod, json!({"spec": {"volumes": [volume, empty]}}))]
    };
    let uses = || vec![pod("data")];
    let finished = || vec![phase("Failed", pod("data"))];
    for (name, claim, cached, live, expected) in [
        ("PVC without finalizer", claim("data"), vec![], vec![], added),
        ("PVC with finalizer", protected(claim("data")), vec![], vec![], PROTECTED),
        ("deleted PVC with finalizer", deleted("data"), vec![], vec![], &listed),
        ("a pod with the PVC exists", deleted("data"), uses(), uses(), &keeps("pod")),
        (
            "pod with unrelated PVC and EmptyDir exists",
            deleted("data"),
            unrelated(),
            unrelated(),
            &listed,
        ),
        (
            "pod with the PVC finished but is not deleted",
            deleted("data"),
            finished(),
            finished(),
            &keeps("pod"),
        ),
        (
            "pod is not in the informer's cache yet",
            deleted("data"),
            vec![],
            uses(),
            &listed_and_kept,
        ),
        // More than upstream's rows.
        ("the cache has a pod that is deleted", deleted("data"), uses(), vec![], &keeps("pod")),
        (
            "a pod on no node",
            deleted("data"),
            vec![unscheduled(pod("data"))],
            vec![unscheduled(pod("data"))],
            &listed,
        ),
    ] {
        assert_eq!(sync(false, claim, &cached, &live), expected, "{name}");
    }
}

/// `IsDeletionCandidate` and `NeedToAddFinalizer`, the rows of both tests.
#[test]
fn other_finalizers_are_left_alone() {
    let two = json!({"metadata": {"finalizers": ["a/b", "kubernetes.io/pvc-protection", "c/d"]}});
    let plan = sync(false, with(deleted("data"), two), &[], &[]);
    assert!(plan.ends_with("metadata.finalizers=[\"a/b\",\"c/d\"]\n"), "{plan}");
    let one = json!({"metadata": {"finalizers": ["a/b"]}});
    let plan = sync(false, with(claim("data"), one.clone()), &[], &[]);
    let expected = "metadata.finalizers=[\"a/b\",\"kubernetes.io/pvc-protection\"]\n";
    assert!(plan.ends_with(expected), "{plan}");
    let plan = sync(false, with(deleted("data"), one), &[], &[]);
    assert_eq!(plan, "why: it is being deleted, and waits for no pod\n");
}

/// Ephemeral volumes, which upstream's table has no row for: `podUsesPVCForDeletion`.
#[test]
fn a_claim_for_an_ephemeral_volume_is_kept_by_its_own_pod() {
    let shut_down = |grace: i64| {
        let metadata = json!({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": grace,
            "finalizers": ["a/b"]});
        with(ephemeral(), json!({ "metadata": metadata }))
    };
    let by_name =
        with(shut_down(0), json!({"spec": {"volumes": pod("pod-data")["spec"]["volumes"]}}));
    for (name, uid, pod, kept) in [
        ("its pod", "uid-pod", ephemeral(), true),
        ("a pod of another time", "uid-other", ephemeral(), false),
        ("its pod, on no node", "uid-pod", unscheduled(ephemeral()), false),
        ("its pod is ending", "uid-pod", shut_down(30), true),
        ("its pod is shut down", "uid-pod", shut_down(0), false),
        ("a pod that names it is shut down", "uid-pod", by_name, true),
    ] {
        let claim = managed(deleted("pod-data"), uid);
        let plan = sync(false, claim, std::slice::from_ref(&pod), std::slice::from_ref(&pod));
        assert_eq!(plan == keeps("pod"), kept, "{name}: {plan}");
        assert_eq!(plan.contains("metadata.finalizers=null"), !kept, "{name}: {plan}");
    }
    let plan = sync(false, deleted("pod-data"), &[ephemeral()], &[ephemeral()]);
    assert!(plan.contains("metadata.finalizers=null"), "nobody manages it: {plan}");
}

/// TestPVCProtectionController, the rows about several claims: one list is enough for all that were
/// seen as deleted before, and one that was found to be used is listed again.
#[test]
fn one_list_is_enough_for_all_that_wait() {
    let claims = [deleted("a"), deleted("b"), deleted("c"), protected(claim("d"))];
    let it = (controller(false), &Shared::default());
    let fixture = caches(&claims, &[]);
    let live = answer(&[pod("c")]);
    let released = |name: &str| RELEASED.replace("/data", &format!("/{name}"));
    assert_eq!(synced(it, "a", &fixture, &live), format!("{LIST}{}", released("a")));
    // Whatever is there now: it has no users any more once it is deleted.
    let failed = Answer::Failed("no".into());
    assert_eq!(synced(it, "b", &fixture, &failed), released("b"));
    let unlisted = "why: the pods are not known\nerror: live list of pods failed: no\n";
    assert_eq!(synced(it, "c", &fixture, &failed), format!("{LIST}{unlisted}"));
    // What was written, or tried to be, is looked at anew.
    assert_eq!(synced(it, "b", &fixture, &failed), format!("{LIST}{unlisted}"));
    // One that is deleted now was not when the list was asked for.
    let fixture = caches(&[deleted("d")], &[]);
    assert_eq!(synced(it, "d", &fixture, &failed), format!("{LIST}{unlisted}"));
}

/// "deleted PVC with finalizers across different namespaces": a list is of one namespace.
#[test]
fn each_namespace_is_listed_for_itself() {
    let elsewhere = with(deleted("a"), json!({"metadata": {"namespace": "other"}}));
    let it = (controller(false), &Shared::default());
    let fixture = caches(&[deleted("a"), elsewhere], &[]);
    assert_eq!(
        synced(it, "a", &fixture, &answer(&[])),
        format!("{LIST}{}", RELEASED.replace("/data", "/a"))
    );
    let snapshot = it.0.observe(&Key::new("other", "a"), &fixture.view(), &it.1.read()).unwrap();
    let plan = it.0.decide(&snapshot, &Facts::default()).0.to_string();
    assert!(plan.ends_with("fetch all pods in other\n"), "{plan}");
}

/// A new claim with the name of one that was found unused is another claim.
#[test]
fn what_was_found_unused_is_known_by_its_uid() {
    let it = (controller(false), &Shared::default());
    let fixture = caches(&[deleted("a"), deleted("b")], &[]);
    assert!(synced(it, "a", &fixture, &answer(&[])).contains("metadata.finalizers=null"));
    let other = with(deleted("b"), json!({"metadata": {"uid": "uid-later"}}));
    let plan = synced(it, "b", &caches(&[other], &[]), &answer(&[pod("b")]));
    assert_eq!(plan, format!("{LIST}{}", keeps("pod")));
}

/// What is remembered of a claim is dropped with it.
#[test]
fn what_is_deleted_is_forgotten() {
    let it = (controller(false), &Shared::default());
    let claims = [deleted("a"), deleted("b")];
    let _ = synced(it, "a", &caches(&claims, &[]), &answer(&[]));
    assert!(it.1.read().has(&decode::<PersistentVolumeClaim>(&claims[1])));
    let gone = Key::new("shop", "b");
    it.0.remember(&mut it.1.write(), News::Gone(&gone), &mut Enqueue::default());
    assert_eq!(format!("{:?}", it.1.read()), "Unused({})");
}

/// "pod list fails": no finalizer is removed, and the sync is retried. A pod that cannot be read
/// may use any claim.
#[test]
fn what_is_not_known_is_not_let_go() {
    let it = (controller(false), &Shared::default());
    let fixture = caches(&[deleted("data"), deleted("other")], &[]);
    let unreadable = |with: &[Value]| {
        let meta = decode::<Pod>(&pod("x")).meta.clone();
        let error = api::DecodeError("spec: no".to_owned());
        let broken = <Pod as api::Object>::unreadable(meta, &error);
        let mut pods = decode_all::<Pod>(with);
        pods.push(Arc::new(broken));
        Answer::Views(Views::new(pods))
    };
    for (live, expected) in [
        (
            Answer::Failed("timeout".into()),
            "why: the pods are not known\nerror: live list of pods failed: timeout\n",
        ),
        (
            Answer::NotFound,
            "why: the pods are not known\n\
             error: live list of pods failed: there are none to be listed\n",
        ),
        (
            unreadable(&[]),
            "why: a pod may use it\nerror: pod shop/pod cannot be read, and may use the claim\n",
        ),
        (unreadable(&[named("user", "data")]), &keeps("user")),
    ] {
        assert_eq!(synced(it, "data", &fixture, &live), format!("{LIST}{expected}"));
        assert_eq!(format!("{:?}", it.1.read()), "Unused({})", "nothing was learnt");
    }
    let broken = Fixture::default().holding::<Pod>(&[]);
    let broken = broken.holding_unreadable::<PersistentVolumeClaim>(&deleted("data"), "spec: no");
    let plan = synced(it, "data", &broken, &answer(&[]));
    assert_eq!(plan, "why: the claim cannot be read: spec: no\n");
}

/// TestPVCProtectionController, "Pod events".
#[test]
fn pods_enqueue_their_claims_as_upstream() {
    let held = || vec![deleted("data")];
    let listed = format!("{LIST}{RELEASED}");
    let added = |pod: Value| Change::Added(decode::<Pod>(&pod));
    let gone = |pod: Value| Change::Deleted(decode::<Pod>(&pod));
    let running = || phase("Running", pod("data"));
    let finished = || phase("Succeeded", pod("data"));
    let waits = || unscheduled(pod("data"));
    for (name, changes, claims, pods, expected) in [
        ("updated running pod", vec![added(running())], held(), vec![running()], String::new()),
        ("updated finished pod", vec![added(finished())], held(), vec![finished()], keeps("pod")),
        ("updated unscheduled pod", vec![added(waits())], held(), vec![waits()], listed.clone()),
        ("deleted running pod", vec![gone(running())], held(), vec![], listed.clone()),
        // A pod that was replaced by one with its name comes as two changes.
        (
            "old pod used deleted PVC",
            vec![gone(pod("data")), added(pod("x"))],
            held(),
            vec![pod("x")],
            listed.clone(),
        ),
        (
            "old pod used non-deleted PVC",
            vec![gone(pod("data")), added(pod("x"))],
            vec![protected(claim("data"))],
            vec![pod("x")],
            PROTECTED.to_owned(),
        ),
        (
            "both pods reference deleted PVC",
            vec![gone(pod("data")), added(pod("data"))],
            held(),
            vec![pod("data")],
            keeps("pod"),
        ),
        (
            "pod update from unscheduled to scheduled",
            vec![Change::Updated { old: decode(&waits()), new: decode(&pod("data")) }],
            held(),
            vec![pod("data")],
            String::new(),
        ),
    ] {
        let found: String = changes.iter().map(|it| after(it, &claims, &pods)).collect();
        assert_eq!(found, expected, "{name}");
    }
}

/// `pvcAddedUpdated` and `enqueuePVCs`.
#[test]
fn changes_enqueue_those_that_they_may_matter_to() {
    let enqueues = |tracks, claim: Value| {
        let change = Change::Added(decode::<PersistentVolumeClaim>(&claim));
        enqueued(&controller(tracks), &change, &caches(&[], &[]))
    };
    assert_eq!(enqueues(false, claim("data")), "now shop/data\n");
    assert_eq!(enqueues(false, protected(claim("data"))), "");
    assert_eq!(enqueues(false, deleted("data")), "now shop/data\n");
    assert_eq!(enqueues(true, protected(claim("data"))), "now shop/data\n");
    assert_eq!(enqueues(true, says_unused("False", protected(claim("data")))), "");
    let other = json!({"metadata": {"finalizers": ["a/b"]}});
    assert_eq!(enqueues(false, with(deleted("data"), other)), "");
    let gone = Change::Deleted(decode::<PersistentVolumeClaim>(&claim("data")));
    assert_eq!(enqueued(&controller(false), &gone, &caches(&[], &[])), "forget shop/data\n");

    let two = json!([pod("b")["spec"]["volumes"][0], ephemeral()["spec"]["volumes"][0]]);
    let two = with(pod("b"), json!({"spec": {"volumes": two}}));
    let gone = Change::Deleted(decode::<Pod>(&two));
    let expected = "now shop/b\nnow shop/pod-data\n";
    assert_eq!(enqueued(&controller(false), &gone, &caches(&[], &[])), expected);
    let running = Change::Added(decode::<Pod>(&two));
    assert_eq!(enqueued(&controller(false), &running, &caches(&[], &[])), "");
    assert_eq!(enqueued(&controller(true), &running, &caches(&[], &[])), expected);
}

/// What used no claim that is known may have used any.
#[test]
fn a_pod_that_could_not_be_read_enqueues_all_that_wait() {
    let fixture = caches(&[deleted("a"), protected(claim("b")), deleted("c")], &[]);
    let meta = decode::<Pod>(&pod("x")).meta.clone();
    let error = api::DecodeError("spec: no".to_owned());
    let broken = Arc::new(<Pod as api::Object>::unreadable(meta, &error));
    let readable = decode::<Pod>(&pod("z"));
    for change in
        [Change::Deleted(Arc::clone(&broken)), Change::Updated { old: broken, new: readable }]
    {
        assert_eq!(enqueued(&controller(false), &change, &fixture), "now shop/a\nnow shop/c\n");
    }
}

fn condition(status: &str, reason: &str, message: &str) -> String {
    format!(
        "in order: update persistentvolumeclaims shop/data status status.conditions=\
         [{{\"lastTransitionTime\":\"{NOW}\",\"message\":\"{message}\",\"reason\":\"{reason}\",\
         \"status\":\"{status}\",\"type\":\"Unused\"}}]\n"
    )
}

/// TestPVCProtectionController, "PVC UnusedSince condition".
#[test]
fn claims_say_since_when_they_are_unused_as_upstream() {
    let unused = condition("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC");
    let unused = format!("why: no pod refers to it, and its condition does not say so\n{unused}");
    let listed = format!("{LIST}{unused}");
    let used = condition("False", "PodUsingPVC", "A pod is currently referencing this PVC");
    let used = format!("why: pod shop/pod refers to it, and its condition does not say so\n{used}");
    let listed_and_used = format!("{LIST}{used}");
    let released = format!("{LIST}{RELEASED}");
    let good = || protected(claim("data"));
    let running = || vec![phase("Running", pod("data"))];
    let on_no_node = || vec![unscheduled(pod("data"))];
    let succeeded = || vec![phase("Succeeded", pod("data"))];
    let failed = || vec![phase("Failed", pod("data"))];
    for (name, claim, cached, live, expected) in [
        ("unused PVC with no pods", good(), vec![], vec![], &*listed),
        ("still unused", says_unused("True", good()), vec![], vec![], PROTECTED),
        ("running pod, was unused", says_unused("True", good()), running(), running(), &used),
        ("running pod, no condition", good(), running(), running(), &used),
        ("running pod, says so", says_unused("False", good()), running(), running(), PROTECTED),
        ("deleting PVC", deleted("data"), vec![], vec![], &released),
        ("unscheduled pending pod", good(), on_no_node(), on_no_node(), &used),
        ("terminated (Succeeded) pod", good(), succeeded(), succeeded(), &listed),
        ("terminated (Failed) pod", good(), failed(), failed(), &listed),
        ("pod not in informer cache", good(), vec![], running(), &listed_and_used),
        (
            "deleting PVC that already has Unused=True",
            says_unused("True", deleted("data")),
            vec![],
            vec![],
            &released,
        ),
        ("pod deleted", says_unused("False", good()), vec![], vec![], &listed),
        (
            "one of two pods deleted, remaining pod keeps PVC in use",
            says_unused("True", good()),
            running(),
            running(),
            &used,
        ),
        // Then its own change enqueues it, and it gets the finalizer.
        ("used PVC without finalizer", claim("data"), running(), running(), &used),
        ("deleted PVC and pod using it", deleted("data"), running(), running(), &keeps("pod")),
    ] {
        assert_eq!(sync(true, claim, &cached, &live), expected, "{name}");
    }
    let plan = sync(false, good(), &[], &[]);
    assert_eq!(plan, PROTECTED, "feature disabled");
}

/// Other conditions stay as they are, and where they are.
#[test]
fn the_condition_takes_its_own_place() {
    let resizing = json!({"type": "Resizing", "status": "True", "fieldOfTomorrow": 1});
    let last = json!({"type": "X", "status": "True"});
    let conditions = json!([resizing, {"type": "Unused", "status": "False"}, last]);
    let claim = with(protected(claim("data")), json!({"status": {"conditions": conditions}}));
    let plan = sync(true, claim, &[], &[]);
    let kinds: Vec<&str> =
        plan.split("\"type\":").skip(1).filter_map(|it| it.split('"').nth(1)).collect();
    assert_eq!(kinds, ["Resizing", "Unused", "X"], "{plan}");
    assert!(plan.contains("\"fieldOfTomorrow\":1"), "{plan}");
}

/// What `explain` shows of a claim that stays.
#[test]
fn a_summary_shows_which_pods_keep_a_claim() {
    let fixture = caches(&[deleted("data")], &[pod("data")]);
    let it = controller(false);
    let key = Key::new("shop", "data");
    let snapshot = it.observe(&key, &fixture.view(), &Unused::default()).unwrap();
    let lines: Vec<_> =
        it.summary(&snapshot).into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let expected = [
        "being deleted: true",
        "finalizers: kubernetes.io/pvc-protection",
        "kept by a pod in the cache: shop/pod",
        "a live list found it unused: false",
    ];
    assert_eq!(lines, expected);
    let gone = Key::new("shop", "gone");
    assert!(it.observe(&gone, &fixture.view(), &Unused::default()).is_none());
}

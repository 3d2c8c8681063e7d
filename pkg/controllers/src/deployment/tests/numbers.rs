//! The small functions, as upstream's `util/deployment_util_test.go` has them.

use api::{Amount, Condition, DeploymentStatus, Status};
use controller::fixture::time;

use super::super::template::{self, Template};
use super::super::{limits, progress, revision, rollout};
use super::*;

fn percent(text: &str) -> Amount {
    Amount::Share(text.to_owned())
}

fn view(it: &Value) -> Arc<Deployment> {
    decode(it)
}

#[test]
fn fenceposts_as_test_resolve_fenceposts() {
    for (surge, unavailable, desired, expected) in [
        (Some("0%"), Some("0%"), 0, Ok((0, 1))),
        (Some("39%"), Some("39%"), 10, Ok((4, 3))),
        (Some("oops"), Some("39%"), 10, Err(())),
        (Some("55%"), Some("urg"), 10, Err(())),
        (None, Some("39%"), 10, Ok((0, 3))),
        (Some("39%"), None, 10, Ok((4, 0))),
        (None, None, 10, Ok((0, 1))),
    ] {
        let (surge, unavailable) = (surge.map(percent), unavailable.map(percent));
        let posts = limits::fenceposts(surge.as_ref(), unavailable.as_ref(), desired);
        assert_eq!(posts.map_err(drop), expected, "{surge:?}, {unavailable:?} of {desired}");
    }
}

/// TestMaxUnavailable. TestMinAvailable's rows are the same numbers, taken from the replicas.
#[test]
fn no_more_may_be_unavailable_than_there_are() {
    for (replicas, unavailable, expected) in [
        (10, json!(5), 5),
        (10, json!(10), 10),
        (5, json!(10), 5),
        (0, json!(10), 0),
        (10, json!("50%"), 5),
        (10, json!("100%"), 10),
        (5, json!("100%"), 5),
        (10, json!("60%"), 6),
    ] {
        let strategy = rolling(&json!(1), &unavailable);
        let it = view(&spec(deployment("v1", replicas), json!({ "strategy": strategy })));
        assert_eq!(limits::max_unavailable(&it), expected, "{unavailable} of {replicas}");
    }
    assert_eq!(limits::max_unavailable(&view(&recreate(deployment("v1", 10)))), 0);
    assert_eq!(limits::max_surge(&view(&recreate(deployment("v1", 10)))), 0);
    let odd = rolling(&json!("oops"), &json!(3));
    let it = view(&spec(deployment("v1", 10), json!({ "strategy": odd })));
    assert_eq!((limits::max_surge(&it), limits::max_unavailable(&it)), (0, 0), "as upstream");
}

#[test]
fn new_sizes_as_test_new_rs_new_replicas() {
    let rolls = |replicas, surge: i32| {
        spec(deployment("v1", replicas), json!({"strategy": rolling(&json!(surge), &json!(1))}))
    };
    for (name, it, size, expected) in [
        ("can not scale up - to newRSReplicas", rolls(1, 1), 5, Ok(5)),
        ("scale up - to depReplicas", rolls(6, 10), 2, Ok(6)),
        ("recreate - to depReplicas", recreate(deployment("v1", 3)), 1, Ok(3)),
        (
            "no surge at all",
            spec(rolls(6, 10), json!({"strategy": {"rollingUpdate": {"maxSurge": null}}})),
            2,
            Err("nil value for IntOrString".to_owned()),
        ),
    ] {
        assert_eq!(limits::new_size(&view(&it), 5, size), expected, "{name}");
    }
}

#[test]
fn sizes_in_annotations_as_test_get_non_negative_int32_from_annotation() {
    for (text, expected) in [
        (None, None),
        (Some("invalid"), None),
        (Some("-1"), None),
        (Some("+1"), None),
        (Some(""), None),
        (Some("0"), Some(0)),
        (Some("13"), Some(13)),
        (Some("2147483647"), Some(i32::MAX)),
        (Some("2147483648"), None),
        (Some("4294967296"), None),
    ] {
        let pair = text.map(|text| ("test".to_owned(), text.to_owned()));
        assert_eq!(revision::size(&pair.into_iter().collect(), "test"), expected, "{text:?}");
    }
}

/// TestAnnotationUtils: revisions 11 to 20 with room for two.
#[test]
fn the_oldest_revisions_are_forgotten() {
    let mut history = String::new();
    for at in 11..20 {
        history = revision::appended(&history, &at.to_string(), 5).unwrap();
        let expected = if at == 11 { "11".to_owned() } else { format!("{},{at}", at - 1) };
        assert_eq!(history, expected);
    }
    assert_eq!(revision::appended("1,2", "123456", 5), None, "too long alone");
    assert_eq!(revision::appended(",2", "3", 5).as_deref(), Some("3"), "no first one, as upstream");
}

#[test]
fn the_last_revision_is_the_second_highest() {
    let sets = |revisions: &[&str]| {
        let sets = revisions.iter().enumerate().map(|(at, revision)| {
            annotated(set(&format!("v{}", at + 1), 0), json!({ REVISION: revision }))
        });
        observed(&deployment("v99", 1), &sets.collect::<Vec<_>>(), &[])
    };
    for (revisions, highest, last) in [
        (vec!["1", "3", "2"], 3, 2),
        (vec!["2", "2"], 2, 2),
        (vec!["x", "4"], 4, 0),
        (vec![], 0, 0),
    ] {
        let s = sets(&revisions);
        let found =
            (revision::highest(s.sets()), revision::last(s.sets().map(|set| &set.annotations)));
        assert_eq!(found, (highest, last), "{revisions:?}");
    }
}

// === Templates ===

fn read(template: &Value) -> Template {
    let object = json!({"spec": {"template": template}}).to_string();
    Template::of(Raw::parse(object.as_bytes()).unwrap().field("spec"))
}

/// TestEqualIgnoreHash.
#[test]
fn templates_are_compared_without_their_hash() {
    let labels = |hash: &str, other: Option<(&str, &str)>| {
        let mut labels = json!({});
        if !hash.is_empty() {
            labels["pod-template-hash"] = json!(hash);
        }
        if let Some((key, value)) = other {
            labels[key] = json!(value);
        }
        labels
    };
    let of = |name: &str, labels: Value| {
        let meta = json!({"name": name, "labels": labels});
        json!({"metadata": meta, "spec": {"nodeName": "foo-node"}})
    };
    let else_ = Some(("something", "else"));
    for (name, a, b, expected) in [
        ("same", of("foo", labels("1", else_)), of("foo", labels("1", else_)), true),
        ("another hash", of("foo", labels("1", else_)), of("foo", labels("2", else_)), true),
        ("no hash", of("foo", labels("", else_)), of("foo", labels("2", else_)), true),
        ("a label less", of("foo", labels("", else_)), of("foo", labels("2", None)), false),
        ("a label more", of("foo", labels("1", None)), of("foo", labels("1", else_)), false),
        ("another name", of("foo-1", labels("1", else_)), of("foo-2", labels("2", else_)), false),
        (
            "other labels",
            of("foo", labels("", else_)),
            of("foo", labels("", Some(("nothing", "else")))),
            false,
        ),
    ] {
        assert_eq!(read(&a) == read(&b), expected, "{name}");
        assert_eq!(read(&b) == read(&a), expected, "{name}, the other way round");
        assert_eq!(read(&a).hash(None) == read(&b).hash(None), expected, "{name}: the hash");
    }
}

/// As `equality.Semantic`.
#[test]
fn templates_that_mean_the_same_are_equal() {
    let base = template("v1");
    let pod = |patch: Value| with(base.clone(), json!({ "spec": patch }));
    let container = |patch: Value| {
        let mut template = base.clone();
        let container = template["spec"]["containers"][0].take();
        template["spec"]["containers"][0] = with(container, patch);
        template
    };
    let cpu = |cpu: &str| container(json!({"resources": {"limits": {"cpu": cpu}}}));
    let volume = |source: Value| pod(json!({"volumes": [with(json!({"name": "v"}), source)]}));
    let raw = |field: &str, value: Value| {
        let mut template = base.clone();
        template["spec"][field] = value;
        template
    };
    for (name, a, b, expected) in [
        ("null", raw("affinity", Value::Null), base.clone(), true),
        ("an empty list", raw("tolerations", json!([])), base.clone(), true),
        ("an empty map", raw("nodeSelector", json!({})), base.clone(), true),
        ("no creation time", with(base.clone(), json!({"metadata": {}})), base.clone(), true),
        ("no resources", container(json!({"resources": null})), base.clone(), true),
        ("an emptyDir", volume(json!({"emptyDir": {}})), volume(json!({})), false),
        ("a security context", raw("securityContext", json!({})), base.clone(), false),
        ("the order of a list", raw("x", json!([1, 2])), raw("x", json!([2, 1])), false),
        ("a number", raw("x", json!(1)), raw("x", json!(1.0)), true),
        ("another number", raw("x", json!(1)), raw("x", json!(1.5)), false),
        ("false is said", raw("x", json!(false)), base.clone(), false),
        ("an empty text is said", raw("x", json!("")), base.clone(), false),
        ("cpu", cpu("500m"), cpu("0.5"), true),
        ("more cpu", cpu("500m"), cpu("0.6"), false),
        (
            "a size",
            volume(json!({"emptyDir": {"sizeLimit": "1Gi"}})),
            volume(json!({"emptyDir": {"sizeLimit": "1024Mi"}})),
            true,
        ),
        ("a text that looks like one", raw("x", json!("1Ki")), raw("x", json!("1024")), false),
        ("another image", base.clone(), template("v2"), false),
    ] {
        assert_eq!(read(&a) == read(&b), expected, "{name}");
    }
}

/// TestGenerateReplicaSetName, TestDeploymentController_generateReplicaSetName.
#[test]
fn names_are_cut_to_what_a_name_may_have() {
    let long = |letter: &str, count| letter.repeat(count);
    let hash = "abcde12345";
    for (deployment, hash, kept) in [
        ("my-deployment".to_owned(), hash.to_owned(), "my-deployment".to_owned()),
        (long("a", 242), hash.to_owned(), long("a", 242)),
        (long("b", 250), hash.to_owned(), long("b", 242)),
        (long("d", 252), long("h", 252), long("d", 252)),
        (long("d", 252), long("h", 300), long("d", 252)),
    ] {
        assert_eq!(template::set_name(&deployment, &hash), format!("{kept}-{hash}"));
    }
}

/// Names must stay as they are: a set that was made under one is looked up under it.
#[test]
fn hashes_do_not_change() {
    assert_eq!(read(&template("v1")).hash(None), "69c74766b7");
    assert_eq!(read(&template("v1")).hash(Some(1)), "5d79f4db58");
    assert_eq!(read(&template("v2")).hash(None), "f4d579488");
}

// === Conditions ===

fn condition(name: &str, status: Status, reason: &str) -> Condition {
    progress::condition(name, status, time(0), (reason, String::new()))
}

fn reasons(status: &DeploymentStatus) -> Vec<&str> {
    status.conditions.iter().map(|condition| condition.reason.as_str()).collect()
}

/// TestSetCondition, TestRemoveCondition.
#[test]
fn conditions_are_set_and_removed() {
    let mut status = DeploymentStatus::default();
    progress::remove(&mut status, "Progressing");
    let mut early = condition("Progressing", Status::False, "ForSomeReason");
    early.last_transition_time = Some(time(-60_000_000_000));
    progress::set(&mut status, early.clone());
    assert_eq!(reasons(&status), ["ForSomeReason"], "set for the first time");
    progress::set(&mut status, condition("Available", Status::True, "AwesomeController"));
    assert_eq!(reasons(&status), ["ForSomeReason", "AwesomeController"], "simple set");
    let noisy = Condition { message: "more".to_owned(), ..early.clone() };
    progress::set(&mut status, noisy);
    assert_eq!(status.conditions[0], early, "a message alone changes nothing");
    progress::set(&mut status, condition("Progressing", Status::False, "Another"));
    assert_eq!(reasons(&status), ["AwesomeController", "Another"]);
    assert_eq!(status.conditions[1].last_transition_time, early.last_transition_time);
    progress::set(&mut status, condition("Progressing", Status::True, "BecauseItIs"));
    assert_eq!(reasons(&status), ["AwesomeController", "BecauseItIs"], "overwrite");
    assert_eq!(status.conditions[1].last_transition_time, Some(time(0)));
    progress::remove(&mut status, "ReplicaFailure");
    assert_eq!(status.conditions.len(), 2, "doesn't remove anything");
    progress::remove(&mut status, "Progressing");
    assert_eq!(reasons(&status), ["AwesomeController"], "simple remove");
}

fn counts([replicas, updated, ready, available]: [i32; 4]) -> DeploymentStatus {
    DeploymentStatus {
        replicas,
        updated_replicas: updated,
        ready_replicas: ready,
        available_replicas: available,
        observed_generation: 1,
        ..DeploymentStatus::default()
    }
}

/// TestDeploymentComplete.
#[test]
fn a_rollout_is_complete_when_all_pods_are_new_and_available() {
    for (name, desired, [replicas, updated, available], expected) in [
        ("min but not all pods become available", 5, [5, 5, 4], false),
        ("min availability is not honored", 5, [5, 5, 3], false),
        ("complete", 5, [5, 5, 5], true),
        ("all pods are available but not updated", 5, [5, 4, 5], false),
        ("still running old pods", 1, [2, 1, 1], false),
        ("one replica deployment never comes up", 1, [1, 1, 0], false),
    ] {
        let status = counts([replicas, updated, 0, available]);
        let it = view(&deployment("v1", desired));
        assert_eq!(rollout::is_complete(&it, &status), expected, "{name}");
        let unseen = DeploymentStatus { observed_generation: 0, ..status };
        assert!(!rollout::is_complete(&it, &unseen), "{name}: not observed");
    }
}

#[test]
fn progress_as_test_deployment_progressing() {
    for (name, before, now, expected) in [
        ("updated pods", [10, 4, 4, 4], [10, 6, 4, 4], true),
        ("not progressing", [10, 4, 4, 4], [10, 4, 4, 4], false),
        ("old pods removed", [10, 4, 6, 6], [8, 4, 6, 6], true),
        ("less new pods", [10, 7, 3, 3], [10, 6, 3, 3], false),
        ("less overall but more new pods", [10, 4, 7, 7], [8, 8, 5, 5], true),
        ("more ready pods", [10, 10, 9, 8], [10, 10, 10, 8], true),
        ("more available pods", [10, 10, 10, 9], [10, 10, 10, 10], true),
    ] {
        assert_eq!(progress::is_progressing(&counts(before), &counts(now)), expected, "{name}");
    }
}

#[test]
fn deadlines_as_test_deployment_timed_out() {
    let ago = |seconds: i64| Some(time(-seconds * 1_000_000_000));
    for (name, deadline, reason, since, expected) in [
        ("nil progressDeadlineSeconds", Value::Null, "", ago(11), false),
        ("infinite progressDeadlineSeconds", json!(i32::MAX), "", ago(11), false),
        ("11s of 10s", json!(10), "", ago(11), true),
        ("9s of 10s", json!(10), "", ago(9), false),
        ("10s of 10s", json!(10), "", ago(10), false),
        ("a complete deployment", json!(10), "NewReplicaSetAvailable", None, false),
        ("timed out already", json!(10), "ProgressDeadlineExceeded", ago(1), true),
        ("never updated", json!(10), "", None, true),
    ] {
        let it = view(&spec(deployment("v1", 1), json!({"progressDeadlineSeconds": deadline})));
        let mut known = condition("Progressing", Status::True, reason);
        known.last_update_time = since;
        let status = DeploymentStatus { conditions: vec![known], ..counts([1, 1, 1, 0]) };
        assert_eq!(progress::is_timed_out(&it, &status, time(0)), expected, "{name}");
    }
    let it = view(&spec(deployment("v1", 1), json!({"progressDeadlineSeconds": 10})));
    assert!(!progress::is_timed_out(&it, &counts([1; 4]), time(0)), "no condition");
}

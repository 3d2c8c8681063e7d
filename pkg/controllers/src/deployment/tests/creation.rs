//! The new ReplicaSet: its name, its fields, and how it follows its Deployment.

use super::super::creation;
use super::*;

/// TestNewDeployment (integration), TestSyncDeploymentCreatesReplicaSet: all that upstream copies.
#[test]
fn the_first_set_is_made() {
    let it = annotated(
        spec(deployment("v1", 3), json!({"minReadySeconds": 5})),
        json!({REVISION: null, "note": "kept",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            HISTORY: "9", DESIRED: "9", MOST: "9", "deprecated.deployment.rollback.to": "no"}),
    );
    let plan = planned(&it, &[], &[]);
    let set = created(&plan);
    let hash = set["spec"]["selector"]["matchLabels"]["pod-template-hash"].as_str().unwrap();
    let expected = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": format!("foo-{hash}"), "namespace": "shop",
            "labels": {"foo": "bar", "pod-template-hash": hash},
            "annotations": {"note": "kept", REVISION: "1", DESIRED: "3", MOST: "3"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "foo",
                "uid": "d1", "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {
            "replicas": 3, "minReadySeconds": 5,
            "selector": {"matchLabels": {"foo": "bar", "pod-template-hash": hash}},
            "template": with(template("v1"),
                json!({"metadata": {"labels": {"pod-template-hash": hash}}})),
        },
    });
    assert_eq!(set, expected);
    let expected = format!(
        "why: new ReplicaSet foo-{hash} with 3 pods\nin order: create replicasets.apps in shop\n\
         in order: event Normal ScalingReplicaSet: Scaled up replica set foo-{hash} from 0 to 3\n"
    );
    assert_eq!(plan.to_string(), expected);
}

#[test]
fn a_new_set_gets_what_the_surge_allows() {
    let rolls =
        |surge: Value| spec(deployment("v2", 4), json!({"strategy": rolling(&surge, &json!(1))}));
    let old = |most| [sized(set("v1", 4), 4, most)];
    for (name, it, sets, replicas) in [
        ("no surge", rolls(json!(0)), old(4), 0),
        ("a quarter", rolls(json!("25%")), old(5), 1),
        ("all", rolls(json!("100%")), old(8), 4),
    ] {
        let plan = planned(&it, &sets, &[]);
        let set = created(&plan);
        assert_eq!(set["spec"]["replicas"], replicas, "{name}");
        assert_eq!(set["metadata"]["annotations"][REVISION], "2", "{name}");
        assert_eq!(messages(&plan).len(), usize::from(replicas > 0), "{name}: no Event for 0 pods");
    }
}

/// TestDeploymentHashCollision (integration), and what `getNewReplicaSet` does on AlreadyExists.
#[test]
fn a_name_that_is_taken_is_recognized() {
    let it = deployment("v1", 1);
    let snapshot = Snapshot { has_failed: true, ..observed(&it, &[], &[]) };
    let name = creation::name(&snapshot).set;
    let fetch = format!(
        "why: there is no ReplicaSet of the template; is its name free?\n\
         fetch replicasets.apps shop/{name}\n"
    );
    assert_eq!(CONTROLLER.decide(&snapshot, &Facts::default()).0.to_string(), fetch);
    let named = |set: Value| with(set, json!({"metadata": {"name": name}}));
    let foreign = with(named(set("v1", 1)), json!({"metadata": {"ownerReferences": null}}));
    let bump = format!(
        "why: the name of the new ReplicaSet is taken by another one\n\
         error: replicasets.apps \"{name}\" already exists\n"
    );
    let wait = format!(
        "why: the new ReplicaSet exists already\n\
         error: replicasets.apps \"{name}\" is not in the cache yet\n"
    );
    for (case, live, expected, collisions) in [
        ("ours, and equal", named(set("v1", 1)), &wait, None),
        ("another template", named(set("v2", 1)), &bump, Some(1)),
        ("another owner's", foreign, &bump, Some(1)),
    ] {
        let facts = Facts::from([found::<ReplicaSet>(&live)]);
        let (plan, verdict) = CONTROLLER.decide(&snapshot, &facts);
        assert_eq!(plan.to_string(), *expected, "{case}");
        let outcome = failed(plan.error.as_deref().unwrap(), "");
        let update = CONTROLLER.report(&snapshot, Some(&verdict), &outcome);
        let written = update.map(|update| json!(fixture::status(&update)));
        assert_eq!(written, collisions.map(|count| json!({"collisionCount": count})), "{case}");
    }
    let bumped = with(it, json!({"status": {"collisionCount": 1}}));
    assert_ne!(creation::name(&observed(&bumped, &[], &[])).set, name, "another name");
}

/// As `getNewReplicaSet`: neither a name that was taken meanwhile nor a number of collisions that
/// could not be written is reported.
#[test]
fn a_collision_is_no_failure_to_create() {
    let plan =
        planned(&spec(deployment("v1", 1), json!({"progressDeadlineSeconds": 60})), &[], &[]);
    let announces = actions(&plan).into_iter().filter_map(|action| {
        action.write().filter(|write| write.created().is_some())?.announce.first().cloned()
    });
    let silent: Vec<_> = announces.map(|announce| announce.silent).collect();
    assert_eq!(silent, [&["AlreadyExists"]]);
}

/// As upstream, which creates at once: only a sync that could not looks at what has the name.
#[test]
fn a_name_is_looked_up_only_after_a_failure() {
    let it = deployment("v1", 1);
    for (failures, fetches) in [(0, false), (1, true)] {
        let mut fixture = caches(std::slice::from_ref(&it), &[], &[]);
        fixture.failures = failures;
        let key = Key::new("shop", "foo");
        let snapshot = CONTROLLER.observe(&key, &fixture.view(), &()).unwrap();
        let (plan, verdict) = CONTROLLER.decide(&snapshot, &Facts::default());
        let is_fetch = matches!(plan.steps.first(), Some(Step::Fetch(_)));
        assert_eq!(is_fetch, fetches, "after {failures} failures: {plan}");
        // The API server says so, and then it is looked up: no Event and no status.
        let outcome = failed("already exists", "AlreadyExists");
        assert!(CONTROLLER.report(&snapshot, Some(&verdict), &outcome).is_none());
    }
}

/// If the name cannot be looked up, creating the set shows whether it is taken.
#[test]
fn a_failed_look_up_does_not_stop_the_creation() {
    let snapshot = observed(&deployment("v1", 1), &[], &[]);
    let name = creation::name(&snapshot).set;
    let query = Query::object(ReplicaSet::RESOURCE, Key::new("shop", &name));
    let facts = Facts::from([(query, Answer::Failed("no route to host".into()))]);
    assert_eq!(created(&CONTROLLER.decide(&snapshot, &facts).0)["metadata"]["name"], *name);
}

/// Card, "Existing": one write with all that the Deployment has to give, and with the size.
#[test]
fn the_new_set_follows_its_deployment() {
    let it = annotated(spec(deployment("v1", 3), json!({"minReadySeconds": 5})), json!({"a": "b"}));
    let first = "why: the new ReplicaSet comes first\n";
    let why = "why: the rollout is under way\n";
    let update = "in order: update replicasets.apps shop/foo-v1";
    let had = |revision: &str, history: Value| {
        annotated(
            sized(set("v1", 3), 3, 3),
            json!({REVISION: revision, HISTORY: history, "a": "b"}),
        )
    };
    let old = sized(set("v4", 0), 3, 3);
    let ready = |set| spec(set, json!({"minReadySeconds": 5}));
    let revised = |history: &str| {
        format!(
            "{why}{update} metadata.annotations.{REVISION}=\"5\" \
             metadata.annotations.{HISTORY}=\"{history}\"\n"
        )
    };
    for (name, sets, expected) in [
        (
            "annotations, minReadySeconds and size at once",
            vec![sized(set("v1", 2), 3, 3)],
            format!(
                "{first}{update} metadata.annotations.a=\"b\" spec.minReadySeconds=5 \
                 spec.replicas=3\nin order: event Normal ScalingReplicaSet: \
                 Scaled up replica set foo-v1 from 2 to 3\n"
            ),
        ),
        ("rolled back to", vec![ready(had("1", Value::Null)), old.clone()], revised("1")),
        ("and again", vec![ready(had("3", json!("1"))), old.clone()], revised("1,3")),
        (
            "the highest already",
            vec![ready(had("7", Value::Null)), old.clone()],
            "why: the rollout is under way: 3 of 3 pods of foo-v1 are available\n".to_owned(),
        ),
        (
            "a revision that is no number is left alone",
            vec![ready(had("x", Value::Null)), old],
            "why: the rollout is under way: 3 of 3 pods of foo-v1 are available\n".to_owned(),
        ),
    ] {
        assert_eq!(text(&it, &sets), expected, "{name}");
    }
}

/// A webhook may write an annotation of the new set anew each time. As upstream, the sync asks for
/// it and continues with the next step: rolling, a rollback, cleaning up, Recreate, a resize.
#[test]
fn an_annotation_that_does_not_stick_stops_nothing() {
    let noted = |it: Value| annotated(it, json!({"note": "asked for"}));
    let other = |it: Value| annotated(it, json!({"note": "written by a webhook"}));
    let edit = "in order: update replicasets.apps shop/foo-v2 \
        metadata.annotations.note=\"asked for\"\n";
    let shrink = "in order: update replicasets.apps shop/foo-v1 spec.replicas=0\n\
        in order: event Normal ScalingReplicaSet: \
        Scaled down replica set foo-v1 from 1 to 0\n";
    let to = format!("spec.replicas=0 metadata.annotations.{DESIRED}=\"2\"");
    let resized = shrink.replace("spec.replicas=0", &to);
    let delete = "in order: delete replicasets.apps shop/foo-v1\n";
    let (full, half) = (|set| sized(set, 2, 2), |set| sized(set, 2, 3));
    let one = rolling(&json!(1), &json!(0));
    let rolls = noted(spec(deployment("v2", 2), json!({ "strategy": one })));
    let done = json!({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
        "readyReplicas": 2, "observedGeneration": 1});
    let complete = with(noted(deployment("v2", 2)), json!({ "status": done }));
    let complete = spec(complete, json!({"revisionHistoryLimit": 0}));
    let back = json!({REVISION: "2", "deprecated.deployment.rollback.to": "7"});
    let back = annotated(noted(deployment("v2", 2)), back);
    let restored = "in order: event Warning DeploymentRollbackRevisionNotFound: \
        Unable to find the revision to rollback to.\n\
        in order: update deployments.apps shop/foo metadata.annotations={\"deployment.kubernetes.io\
        /revision\":\"2\",\"note\":\"asked for\"}\n";
    for (name, it, sets, expected) in [
        (
            "old sets shrink",
            rolls,
            [half(set("v1", 1)), other(half(set("v2", 2)))],
            format!("why: old ReplicaSets have more pods than needed\n{edit}{shrink}"),
        ),
        (
            "Recreate",
            recreate(noted(deployment("v2", 2))),
            [full(set("v1", 1)), other(full(set("v2", 1)))],
            format!("why: old ReplicaSets must be empty first\n{edit}{shrink}"),
        ),
        (
            "a resize for which nothing is to be done",
            recreate(noted(deployment("v2", 2))),
            [sized(set("v1", 1), 1, 2), available(other(full(set("v2", 2))), 1)],
            format!("why: old ReplicaSets must be empty first\n{edit}{resized}"),
        ),
        (
            "old sets are deleted",
            complete,
            [full(set("v1", 0)), other(full(set("v2", 2)))],
            format!("why: the rollout is complete\n{edit}{delete}"),
        ),
        (
            "a rollback",
            back,
            [full(set("v1", 0)), other(full(set("v2", 2)))],
            format!("why: asked to roll back to revision 7\n{edit}{restored}"),
        ),
    ] {
        assert_eq!(text(&it, &sets), expected, "{name}");
    }
}

/// TestFindNewReplicaSet, TestFindOldReplicaSets.
#[test]
fn the_oldest_set_of_the_template_is_the_new_one() {
    let it = deployment("v2", 1);
    let aged = |set: Value, name: &str, seconds| {
        with(
            set,
            json!({"metadata": {"name": name, "uid": name, "creationTimestamp": ago(seconds)}}),
        )
    };
    let (new, twin) = (aged(set("v2", 1), "new", 10), aged(set("v2", 1), "twin", 20));
    let old = aged(set("v1", 0), "old", 15);
    let tie = aged(set("v2", 1), "a-tie", 20);
    let elsewhere = with(aged(set("v2", 1), "x", 30), json!({"metadata": {"namespace": "other"}}));
    for (name, sets, expected, others) in [
        ("another hash", vec![new.clone(), old.clone(), elsewhere], Some("new"), vec!["old"]),
        (
            "the oldest of two",
            vec![new.clone(), old.clone(), twin.clone()],
            Some("twin"),
            vec!["old", "new"],
        ),
        ("of the same age by name", vec![twin, tie], Some("a-tie"), vec!["twin"]),
        ("none", vec![old], None, vec!["old"]),
        ("no old ones", vec![new], Some("new"), vec![]),
    ] {
        let s = observed(&it, &sets, &[]);
        assert_eq!(s.new.as_ref().map(Set::name), expected, "{name}");
        assert_eq!(s.old.iter().map(Set::name).collect::<Vec<_>>(), others, "{name}");
    }
}

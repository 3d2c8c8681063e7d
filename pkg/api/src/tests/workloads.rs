//! The kinds that are kept whole: what is read of them, and how they are edited.

use serde_json::{Value, json};

use crate::*;

fn read<T: Kind>(object: &Value) -> T {
    T::decode(Codec::Json, object.to_string().as_bytes()).unwrap()
}

fn metadata() -> Value {
    json!({"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "9"})
}

#[test]
fn a_daemon_set_is_read() {
    let mut meta = metadata();
    meta["annotations"] = json!({"deprecated.daemonset.template.generation": "4"});
    let set: DaemonSet = read(&json!({
        "metadata": meta,
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "minReadySeconds": 3,
            "revisionHistoryLimit": 2,
            "updateStrategy": {
                "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "20%", "maxSurge": 0},
            },
            "template": {
                "metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
                "spec": {
                    "nodeName": "node-1", "hostNetwork": true,
                    "tolerations": [{"key": "k", "operator": "Exists"}],
                },
            },
        },
        "status": {"currentNumberScheduled": 1, "numberMisscheduled": 2,
            "desiredNumberScheduled": 3, "numberReady": 4, "collisionCount": 1},
    }));
    let strategy = DaemonSetStrategy::RollingUpdate {
        max_unavailable: Some(Amount::Share("20%".to_owned())),
        max_surge: Some(Amount::Count(0)),
    };
    assert_eq!(set.strategy, strategy);
    assert_eq!((set.min_ready_seconds, set.revision_history_limit), (3, 2));
    assert_eq!(set.template_generation, Some(4));
    assert_eq!(set.template_labels.get("app"), Some("web"));
    assert_eq!(set.placement.node_name.as_deref(), Some("node-1"));
    assert!(set.placement.host_network);
    assert_eq!(set.placement.tolerations.len(), 1);
    assert_eq!((set.status.number_ready, set.status.collision_count), (4, Some(1)));
    let least: DaemonSet = read(&json!({"metadata": metadata(), "spec": {"template": {}}}));
    assert_eq!(least.revision_history_limit, 10);
    assert_eq!(least.strategy, DaemonSetStrategy::Other(String::new()));
}

#[test]
fn a_stateful_set_is_read() {
    let set: StatefulSet = read(&json!({
        "metadata": metadata(),
        "spec": {
            "replicas": 4,
            "ordinals": {"start": 2},
            "selector": {"matchLabels": {"app": "web"}},
            "minReadySeconds": 3,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {
                "type": "RollingUpdate", "rollingUpdate": {"partition": 1, "maxUnavailable": "20%"},
            },
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "log"}}],
            "template": {"metadata": {"creationTimestamp": null, "labels": {"app": "web"}}},
        },
        "status": {"replicas": 4, "currentRevision": "web-a", "collisionCount": 1},
    }));
    assert_eq!((set.replicas, set.start, set.min_ready_seconds), (4, 2, 3));
    assert_eq!(set.management, PodManagement::Parallel);
    assert_eq!(set.strategy.r#type, StatefulSetUpdate::RollingUpdate);
    let max_unavailable = Some(Amount::Share("20%".to_owned()));
    assert_eq!(set.strategy.rolling, Some(RollingStatefulSet { partition: 1, max_unavailable }));
    let (when_deleted, when_scaled) = (Retention::Retain, Retention::Delete);
    assert_eq!(set.retention, ClaimRetention { when_deleted, when_scaled });
    assert_eq!(*set.claims, ["data".into(), "log".into()]);
    assert_eq!(set.template_labels.get("app"), Some("web"));
    assert_eq!((set.status.replicas, set.status.collision_count), (4, Some(1)));
    assert_eq!((&*set.status.current_revision, &*set.status.update_revision), ("web-a", ""));
    let least: StatefulSet = read(&json!({
        "metadata": metadata(),
        "spec": {"template": {}, "ordinals": null, "updateStrategy": {"type": "OnDelete"}},
    }));
    assert_eq!((least.replicas, least.start, least.revision_history_limit), (1, 0, 10));
    assert_eq!(least.strategy.rolling, None);
    assert_eq!(least.management, PodManagement::OrderedReady);
}

#[test]
fn a_cron_job_is_read() {
    let entry = json!({"apiVersion": "batch/v1", "kind": "Job", "namespace": "shop", "name": "a",
        "uid": "u1", "resourceVersion": "3", "fieldPath": "x"});
    let it: CronJob = read(&json!({
        "metadata": metadata(),
        "spec": {
            "schedule": "@hourly", "timeZone": "Asia/Tokyo", "startingDeadlineSeconds": 60,
            "concurrencyPolicy": "Replace", "suspend": true, "successfulJobsHistoryLimit": 0,
            "failedJobsHistoryLimit": 1, "jobTemplate": {"spec": {}},
        },
        "status": {"active": [entry], "lastScheduleTime": "2024-05-01T12:00:00Z",
            "lastSuccessfulTime": "2024-05-01T11:00:00Z"},
    }));
    assert_eq!((&*it.schedule, it.time_zone.as_deref()), ("@hourly", Some("Asia/Tokyo")));
    assert_eq!((it.starting_deadline_seconds, it.suspended), (Some(60), true));
    assert_eq!(it.concurrency, ConcurrencyPolicy::Replace);
    assert_eq!(
        (it.successful_jobs_history_limit, it.failed_jobs_history_limit),
        (Some(0), Some(1))
    );
    let active = ActiveJob { key: Key::new("shop", "a"), uid: "u1".into(), reference: entry };
    assert_eq!(it.status.active, [active]);
    let times = [it.status.last_schedule_time, it.status.last_successful_time];
    let expected = ["2024-05-01T12:00:00Z", "2024-05-01T11:00:00Z"];
    assert_eq!(times, expected.map(|at| Time::parse(at).ok()));

    let status = json!({"active": null, "lastScheduleTime": null});
    let least: CronJob = read(&json!({"metadata": metadata(), "spec": {}, "status": status}));
    assert_eq!((least.status, least.suspended), (CronJobStatus::default(), false));
    assert_eq!((least.time_zone, least.concurrency), (None, ConcurrencyPolicy::Allow));
    assert_eq!(least.successful_jobs_history_limit, None);
    let error = DecodeError("spec: no".to_owned());
    let unreadable = CronJob::unreadable(it.meta, &error);
    assert!(unreadable.suspended && unreadable.unreadable == Some(error));
}

#[test]
fn a_deployment_is_read() {
    let it: Deployment = read(&json!({
        "metadata": metadata(),
        "spec": {
            "replicas": 3, "paused": true, "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10, "minReadySeconds": 5,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "template": {"metadata": {"labels": {"app": "web"}}},
        },
        "status": {"replicas": 3, "terminatingReplicas": 1, "conditions": [{
            "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
            "lastUpdateTime": "2024-05-01T12:00:00Z", "lastTransitionTime": "2024-05-01T11:00:00Z",
            "message": "m",
        }]},
    }));
    let max_surge = Some(Amount::Share("25%".to_owned()));
    let strategy = DeploymentStrategy::RollingUpdate { max_unavailable: None, max_surge };
    assert_eq!(it.strategy, strategy);
    assert_eq!((it.replicas, it.paused, it.min_ready_seconds), (3, true, 5));
    assert_eq!((it.revision_history_limit, it.progress_deadline_seconds), (Some(10), Some(600)));
    assert_eq!(it.status.terminating_replicas, Some(1));
    let updated = it.status.conditions[0].last_update_time;
    assert_eq!(updated.map(|at| at.to_string()).as_deref(), Some("2024-05-01T12:00:00Z"));
    let least: Deployment = read(&json!({"metadata": metadata(), "spec": {}}));
    assert_eq!((least.replicas, least.revision_history_limit), (1, None));
}

/// As `convertRCtoRS`; its selector is a map, and fields that are not read are kept unchanged.
#[test]
fn a_replication_controller_is_read_as_a_replica_set() {
    let object = json!({
        "apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata(),
        "spec": {
            "replicas": 3, "minReadySeconds": 5, "selector": {"app": "web", "tier": ""},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"x": 1}},
        },
        "status": {"replicas": 2, "fullyLabeledReplicas": 1, "readyReplicas": 2,
            "availableReplicas": 1, "observedGeneration": 4, "conditions": [{
            "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]},
    });
    let ReplicationController(set) = read(&object);
    assert_eq!((set.replicas, set.min_ready_seconds), (3, 5));
    let selector = set.selector.as_ref().unwrap();
    assert_eq!(*selector, Selector::of(&[("app", "web"), ("tier", "")]));
    assert_eq!(set.template_labels.get("app"), Some("web"));
    let ReplicaSetStatus { replicas, fully_labeled_replicas, conditions, .. } = &set.status;
    assert_eq!((*replicas, *fully_labeled_replicas, conditions.len()), (2, 1, 1));
    assert_eq!((set.status.observed_generation, set.status.terminating_replicas), (4, None));
    let edits = [Edit::new(["status", "replicas"], json!(3))];
    let body = set.raw.edited(&ReplicationController::RESOURCE, &edits).unwrap();
    let mut expected = object;
    expected["status"]["replicas"] = json!(3);
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
}

#[test]
fn a_replication_controller_may_lack_what_the_api_server_fills_in() {
    let selector = |selector: Value| {
        let spec = json!({"selector": selector, "template": null});
        let object = json!({"metadata": metadata(), "spec": spec}).to_string();
        ReplicationController::decode(Codec::Json, object.as_bytes()).map(|it| it.0)
    };
    for empty in [Value::Null, json!({})] {
        let set = selector(empty.clone()).unwrap();
        assert_eq!((set.replicas, set.template_labels.is_empty()), (1, true), "{empty}");
        assert!(set.selector.as_ref().is_ok_and(Selector::is_empty), "{empty}");
    }
    let invalid = selector(json!({"app": "no value!"})).unwrap().selector.clone();
    assert!(matches!(invalid, Err(SelectorError::Value { .. })), "{invalid:?}");
    let error = selector(json!({"matchLabels": {"app": "web"}})).unwrap_err();
    assert!(error.to_string().starts_with("spec.selector"), "that is a ReplicaSet's: {error}");
    let meta = read::<ReplicationController>(&json!({"metadata": metadata(), "spec": {}}));
    let unreadable = ReplicationController::unreadable(meta.0.meta.clone(), &error);
    assert_eq!((unreadable.0.replicas, &unreadable.0.unreadable), (0, &Some(error)));
    let protobuf = ReplicationController::decode(Codec::Protobuf, b"k8s\0").unwrap_err();
    assert_eq!(protobuf.0, "a ReplicationController must be JSON, to be kept whole");
}

/// Upstream reads `null` as an empty object.
#[test]
fn a_template_without_metadata_has_no_labels() {
    for template in [json!({"metadata": null}), json!({"metadata": {"labels": null}}), json!({})] {
        let object = json!({"metadata": metadata(), "spec": {"template": template}});
        let labels = [
            read::<DaemonSet>(&object).template_labels,
            read::<Deployment>(&object).template_labels,
            read::<ReplicaSet>(&object).template_labels,
        ];
        assert!(labels.iter().all(Labels::is_empty), "{template}: {labels:?}");
    }
}

#[test]
fn a_revision_keeps_its_bytes() {
    let data = r#"{"spec":{"template":{"$patch":"replace","a":"\u003c","n":1.0}}}"#;
    let json = format!(r#"{{"metadata":{},"revision":7,"data":{data}}}"#, metadata());
    let revision = ControllerRevision::decode(Codec::Json, json.as_bytes()).unwrap();
    assert_eq!(revision.revision, 7);
    assert_eq!(revision.data().map(serde_json::value::RawValue::get), Some(data));
}

#[test]
fn an_edit_leaves_everything_beside_it_byte_by_byte() {
    let json = r#"{"apiVersion":"apps/v1","kind":"ReplicaSet",
        "metadata":{"name":"web","annotations":{"a":"1"},"managedFields":[]},
        "spec":{"replicas":1,"template":{"spec":{"x":1.50,"big":12345678901234567890}}}}"#;
    let raw = Raw::parse(json.as_bytes()).unwrap();
    let edits = [
        Edit::new(["spec", "replicas"], json!(3)),
        Edit::new(["metadata", "annotations", "b/c"], json!("2")),
        Edit::new(["metadata", "annotations", "a"], Value::Null),
        Edit::new(["status", "deep", "er"], json!(true)),
    ];
    assert_eq!(
        raw.edited(&ReplicaSet::RESOURCE, &edits).unwrap(),
        concat!(
            r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","#,
            r#""metadata":{"annotations":{"b/c":"2"},"name":"web"},"#,
            r#""spec":{"replicas":3,"template":{"spec":{"x":1.50,"big":12345678901234567890}}},"#,
            r#""status":{"deep":{"er":true}}}"#,
        )
    );
    assert_eq!(raw.annotations().get("a").map(String::as_str), Some("1"));
    let broken = [Edit::new(["spec", "replicas", "deeper"], json!(1))];
    assert!(raw.edited(&ReplicaSet::RESOURCE, &broken).is_err(), "a number has no fields");
}

/// Rows of upstream's TestGetScaledValueFromIntOrPercent (apimachinery, intstr_test.go).
#[test]
fn amounts_are_rounded_as_upstreams() {
    let (up, down) = (Rounding::Up, Rounding::Down);
    let share = |text: &str| Amount::Share(text.to_owned());
    for (amount, total, rounding, expected) in [
        (Amount::Count(123), 456, up, Some(123)),
        (share("90%"), 100, up, Some(90)),
        (share("90%"), 95, up, Some(86)),
        (share("90%"), 95, down, Some(85)),
        (share("20%"), 3, up, Some(1)),
        (share("20%"), 3, down, Some(0)),
        (share("200%"), 3, down, Some(6)),
        (share("%"), 100, down, None),
        (share("90#"), 100, down, None),
        (share("#%"), 100, down, None),
        (share("90"), 100, down, None),
    ] {
        assert_eq!(amount.of(total, rounding).ok(), expected, "{amount:?} of {total}");
    }
}

#[test]
fn a_disruption_budget_is_read() {
    let time = |text: &str| Time::parse(text).unwrap();
    let it: PodDisruptionBudget = read(&json!({
        "metadata": metadata(),
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}},
        "status": {
            "observedGeneration": 2, "disruptionsAllowed": 1, "currentHealthy": 4,
            "desiredHealthy": 3, "expectedPods": 5,
            "disruptedPods": {"a": "2024-05-01T12:00:00Z", "b": null},
            "conditions": [{"type": "Other", "status": "True", "lastTransitionTime": null},
                {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods",
                "message": "", "observedGeneration": 2,
                "lastTransitionTime": "2024-05-01T11:00:00Z"}],
        },
    }));
    assert!(it.is_for(&Labels::new([("app", "web"), ("b", "c")])));
    assert!(!it.is_for(&Labels::new([("b", "c")])));
    assert_eq!(it.min_available, Some(Amount::Share("50%".to_owned())));
    let disrupted = [("a", "2024-05-01T12:00:00Z"), ("b", "0001-01-01T00:00:00Z")];
    assert_eq!(
        it.status,
        BudgetStatus {
            observed_generation: 2,
            disrupted_pods: disrupted.map(|(pod, at)| (pod.to_owned(), time(at))).into(),
            disruptions_allowed: 1,
            current_healthy: 4,
            desired_healthy: 3,
            expected_pods: 5,
            allowed: Some(BudgetCondition {
                status: Status::True,
                reason: "SufficientPods".to_owned(),
                message: String::new(),
                observed_generation: 2,
            }),
        }
    );
    let least: PodDisruptionBudget = read(&json!({"metadata": metadata(), "status": null}));
    assert!(!least.is_for(&Labels::default()), "without a selector it is for no pod");
    let all: PodDisruptionBudget = read(&json!({
        "metadata": metadata(), "spec": {"maxUnavailable": 1, "selector": {}},
        "status": {"conditions": null, "disruptedPods": null}}));
    assert!(all.is_for(&Labels::default()));
    assert_eq!(all.max_unavailable, Some(Amount::Count(1)));
}

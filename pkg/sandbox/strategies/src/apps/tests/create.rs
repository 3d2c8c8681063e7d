//! What new objects may not say.

use serde_json::{Value, json};

use super::body;
use crate::Strategy;
use crate::apps::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use crate::fixture::{created, lines, merged};

const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' \
                       (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

fn faults(strategy: &dyn Strategy, patch: &Value) -> Vec<String> {
    let object = created(strategy, &merged(&body("Any"), patch));
    lines(&strategy.validate_create(&object))
}

fn check(strategy: &dyn Strategy, rows: &[(Value, &[&str])]) {
    for (patch, expected) in rows {
        assert_eq!(&faults(strategy, patch), expected, "{patch}");
    }
}

fn spec(patch: &Value) -> Value {
    json!({ "spec": patch })
}

fn rolling(patch: &Value) -> Value {
    spec(&json!({ "strategy": { "rollingUpdate": patch } }))
}

/// TestValidateDeployment.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn deployments() {
    let not_percent =
        format!("spec.strategy.rollingUpdate.maxSurge invalid \"20Percent\": {PERCENT}");
    check(
        &Deployment,
        &[
            (json!({}), &[]),
            (
                spec(&json!({ "replicas": -1 })),
                &["spec.replicas invalid -1: must be greater than or equal to 0"],
            ),
            (
                spec(&json!({ "selector": null })),
                &[
                    "spec.selector required: ",
                    "spec.template.metadata.labels invalid {\"app\":\"web\"}: `selector` does not \
                 match template `labels`",
                ],
            ),
            (
                spec(&json!({ "selector": { "matchLabels": { "app": "db" } } })),
                &["spec.template.metadata.labels invalid {\"app\":\"web\"}: `selector` does not \
               match template `labels`"],
            ),
            (
                spec(&json!({ "selector": { "matchLabels": null } })),
                &["spec.selector invalid {}: empty selector is invalid for deployment"],
            ),
            (
                spec(&json!({ "selector": {
                        "matchExpressions": [{ "key": "app", "operator": "Is" }],
                    } })),
                &[
                    "spec.selector.matchExpressions[0].operator invalid \"Is\": not a valid \
                 selector operator",
                    "spec.selector invalid {\"matchExpressions\":[{\"key\":\"app\",\"operator\":\
                 \"Is\"}],\"matchLabels\":{\"app\":\"web\"}}: invalid label selector",
                ],
            ),
            (
                spec(&json!({ "template": { "spec": { "restartPolicy": "OnFailure" } } })),
                &["spec.template.spec.restartPolicy unsupported \"OnFailure\": Always"],
            ),
            (
                spec(&json!({ "template": { "spec": { "activeDeadlineSeconds": 1 } } })),
                &["spec.template.spec.activeDeadlineSeconds forbidden: activeDeadlineSeconds in \
               ReplicaSet is not Supported"],
            ),
            (
                spec(&json!({ "strategy": { "type": "Recreate", "rollingUpdate": {} } })),
                &["spec.strategy.rollingUpdate forbidden: may not be specified when strategy \
               `type` is 'Recreate'"],
            ),
            (
                spec(&json!({ "strategy": { "type": "foo" } })),
                &["spec.strategy unsupported {\"type\":\"foo\"}: Recreate RollingUpdate"],
            ),
            (rolling(&json!({ "maxSurge": "20Percent" })), &[&not_percent]),
            (
                rolling(&json!({ "maxSurge": 0, "maxUnavailable": "0%" })),
                &["spec.strategy.rollingUpdate.maxUnavailable invalid \"0%\": may not be 0 when \
               `maxSurge` is 0"],
            ),
            (
                rolling(&json!({ "maxUnavailable": "110%" })),
                &["spec.strategy.rollingUpdate.maxUnavailable invalid \"110%\": must not be \
               greater than 100%"],
            ),
            (rolling(&json!({ "maxSurge": "110%" })), &[]),
            (
                rolling(&json!({ "maxUnavailable": -1 })),
                &["spec.strategy.rollingUpdate.maxUnavailable invalid -1: must be greater than \
               or equal to 0"],
            ),
            (
                spec(&json!({ "minReadySeconds": -1, "revisionHistoryLimit": -2 })),
                &[
                    "spec.minReadySeconds invalid -1: must be greater than or equal to 0",
                    "spec.revisionHistoryLimit invalid -2: must be greater than or equal to 0",
                ],
            ),
            (
                spec(&json!({ "progressDeadlineSeconds": 600, "minReadySeconds": 600 })),
                &["spec.progressDeadlineSeconds invalid 600: must be greater than minReadySeconds"],
            ),
            (spec(&json!({ "progressDeadlineSeconds": 601, "minReadySeconds": 600 })), &[]),
        ],
    );
}

/// TestValidateReplicaSet.
#[test]
fn replica_sets() {
    check(
        &ReplicaSet,
        &[
            (json!({}), &[]),
            (
                spec(&json!({ "replicas": -1, "minReadySeconds": -1 })),
                &[
                    "spec.replicas invalid -1: must be greater than or equal to 0",
                    "spec.minReadySeconds invalid -1: must be greater than or equal to 0",
                ],
            ),
            (
                spec(&json!({ "selector": { "matchLabels": { "app": "db" } } })),
                &["spec.template.metadata.labels invalid {\"app\":\"web\"}: `selector` does not \
               match template `labels`"],
            ),
            (
                spec(&json!({ "template": { "spec": { "restartPolicy": "Never" } } })),
                &["spec.template.spec.restartPolicy unsupported \"Never\": Always"],
            ),
        ],
    );
}

/// TestValidateDaemonSet, TestDaemonSetUpdateMaxSurge.
#[test]
fn daemon_sets() {
    let rolling = |patch: &Value| spec(&json!({ "updateStrategy": { "rollingUpdate": patch } }));
    check(
        &DaemonSet,
        &[
            (json!({}), &[]),
            (spec(&json!({ "updateStrategy": { "type": "OnDelete" } })), &[]),
            (
                spec(&json!({ "selector": null })),
                &["spec.template.metadata.labels invalid {\"app\":\"web\"}: `selector` does not \
               match template `labels`"],
            ),
            (
                spec(&json!({ "selector": { "matchLabels": null } })),
                &["spec.selector invalid {}: empty selector is invalid for daemonset"],
            ),
            (
                spec(&json!({ "updateStrategy": { "type": "x" }, "minReadySeconds": -1 })),
                &[
                    "spec.minReadySeconds invalid -1: must be greater than or equal to 0",
                    "spec.updateStrategy unsupported {\"type\":\"x\"}: RollingUpdate OnDelete",
                ],
            ),
            (
                rolling(&json!({ "maxUnavailable": 0, "maxSurge": 0 })),
                &["spec.updateStrategy.rollingUpdate.maxUnavailable required: cannot be 0 when \
               maxSurge is 0"],
            ),
            (
                rolling(&json!({ "maxUnavailable": "1%", "maxSurge": "1%" })),
                &["spec.updateStrategy.rollingUpdate.maxSurge invalid \"1%\": may not be set \
               when maxUnavailable is non-zero"],
            ),
            (rolling(&json!({ "maxUnavailable": 0, "maxSurge": "100%" })), &[]),
            (
                rolling(&json!({ "maxUnavailable": 0, "maxSurge": "101%" })),
                &["spec.updateStrategy.rollingUpdate.maxSurge invalid \"101%\": must not be \
               greater than 100%"],
            ),
        ],
    );
}

/// TestValidateStatefulSet, TestValidateStatefulSetMinReadySeconds.
#[test]
fn stateful_sets() {
    check(
        &StatefulSet,
        &[
            (json!({}), &[]),
            (spec(&json!({ "podManagementPolicy": "Parallel", "ordinals": { "start": 2 } })), &[]),
            (
                spec(&json!({ "podManagementPolicy": "foo" })),
                &["spec.podManagementPolicy invalid \"foo\": must be 'OrderedReady' or 'Parallel'"],
            ),
            (
                spec(&json!({ "updateStrategy": { "type": "foo" } })),
                &["spec.updateStrategy invalid {\"type\":\"foo\"}: must be 'RollingUpdate' or \
               'OnDelete'"],
            ),
            (
                spec(&json!({ "updateStrategy": {
                        "type": "OnDelete",
                        "rollingUpdate": { "partition": 1 },
                    } })),
                &["spec.updateStrategy.rollingUpdate invalid {\"partition\":1}: only allowed for \
               updateStrategy 'RollingUpdate'"],
            ),
            (
                spec(&json!({ "updateStrategy": { "rollingUpdate": { "partition": -1 } } })),
                &["spec.updateStrategy.rollingUpdate.partition invalid -1: must be greater than \
               or equal to 0"],
            ),
            (
                spec(&json!({ "persistentVolumeClaimRetentionPolicy": { "whenScaled": "x" } })),
                &["spec.persistentVolumeClaimRetentionPolicy.whenScaled unsupported \"x\": \
               Retain Delete"],
            ),
            (
                spec(&json!({
                    "replicas": -1,
                    "minReadySeconds": -1,
                    "ordinals": { "start": -2 },
                })),
                &[
                    "spec.replicas invalid -1: must be greater than or equal to 0",
                    "spec.minReadySeconds invalid -1: must be greater than or equal to 0",
                    "spec.ordinals.start invalid -2: must be greater than or equal to 0",
                ],
            ),
            (
                spec(&json!({ "serviceName": "a.b" })),
                &["spec.serviceName invalid \"a.b\": must not contain dots"],
            ),
            (
                spec(&json!({ "selector": { "matchLabels": null } })),
                &["spec.selector invalid {}: empty selector is invalid for statefulset"],
            ),
            (
                spec(&json!({ "template": { "spec": { "restartPolicy": "Never" } } })),
                &["spec.template.spec.restartPolicy unsupported \"Never\": Always"],
            ),
        ],
    );
}

/// TestControllerRevisionStrategy, TestValidateControllerRevision.
#[test]
fn controller_revisions() {
    for (patch, expected) in [
        (json!({ "data": { "a": 1 } }), vec![]),
        (json!({ "data": {} }), vec![]),
        (json!({}), vec!["data required: data is mandatory"]),
        (json!({ "data": [1] }), vec!["data required: data must be a valid JSON object"]),
        (
            json!({ "data": {}, "revision": -1 }),
            vec!["revision invalid -1: must be greater than or equal to 0"],
        ),
    ] {
        let object = created(&ControllerRevision, &patch);
        assert_eq!(lines(&ControllerRevision.validate_create(&object)), expected, "{patch}");
    }
}

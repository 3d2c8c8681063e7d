//! What the spec of a Job may not say: TestValidateJob of upstream.

use serde_json::{Value, json};

use super::job;
use crate::Strategy;
use crate::batch::Job;
use crate::fixture::{created, lines, merged};

fn check(rows: &[(Value, &[&str])]) {
    for (patch, expected) in rows {
        let object = created(&Job, &merged(&job(), &json!({ "spec": patch })));
        assert_eq!(&lines(&Job.validate_create(&object)), expected, "{patch}");
    }
}

fn indexed(patch: &Value) -> Value {
    merged(&json!({ "completionMode": "Indexed", "completions": 3 }), patch)
}

#[test]
fn numbers() {
    check(&[
        (
            json!({ "parallelism": -1, "completions": -2, "activeDeadlineSeconds": -3 }),
            &[
                "spec.parallelism invalid -1: must be greater than or equal to 0",
                "spec.completions invalid -2: must be greater than or equal to 0",
                "spec.activeDeadlineSeconds invalid -3: must be greater than or equal to 0",
            ],
        ),
        (
            json!({ "backoffLimit": -1, "ttlSecondsAfterFinished": -1 }),
            &[
                "spec.backoffLimit invalid -1: must be greater than or equal to 0",
                "spec.ttlSecondsAfterFinished invalid -1: must be greater than or equal to 0",
            ],
        ),
        (
            json!({ "backoffLimitPerIndex": 1, "maxFailedIndexes": 1 }),
            &[
                "spec.backoffLimitPerIndex invalid 1: requires indexed completion mode",
                "spec.maxFailedIndexes invalid 1: requires indexed completion mode",
            ],
        ),
        (
            indexed(&json!({ "maxFailedIndexes": 1 })),
            &["spec.backoffLimitPerIndex required: when maxFailedIndexes is specified"],
        ),
        (
            json!({ "completionMode": "Indexed", "parallelism": 100_001 }),
            &[
                "spec.completions required: when completion mode is Indexed",
                "spec.parallelism invalid 100001: must be less than or equal to 100000 when \
                 completion mode is Indexed",
            ],
        ),
        (
            indexed(&json!({ "maxFailedIndexes": 4, "backoffLimitPerIndex": 1 })),
            &["spec.maxFailedIndexes invalid 4: must be less than or equal to completions"],
        ),
        (
            indexed(&json!({ "completions": 100_001, "backoffLimitPerIndex": 1 })),
            &["spec.maxFailedIndexes required: must be specified when completions is above 100000"],
        ),
        (
            indexed(&json!({
                "completions": 100_001,
                "parallelism": 10_001,
                "backoffLimitPerIndex": 1,
                "maxFailedIndexes": 10_001,
            })),
            &[
                "spec.parallelism invalid 10001: must be less than or equal to 10000 when \
                 completions are above 100000 and used with backoff limit per index",
                "spec.maxFailedIndexes invalid 10001: must be less than or equal to 10000 when \
                 completions are above 100000 and used with backoff limit per index",
            ],
        ),
        (
            json!({ "completionMode": "x" }),
            &["spec.completionMode unsupported \"x\": NonIndexed Indexed"],
        ),
    ]);
}

#[test]
fn names_and_restarts() {
    let restart = |policy: &str| json!({ "template": { "spec": { "restartPolicy": policy } } });
    let long = format!("acme.io/{}", "a".repeat(56));
    check(&[
        (restart("OnFailure"), &[]),
        (
            restart("Always"),
            &["spec.template.spec.restartPolicy required: valid values: \"OnFailure\", \"Never\""],
        ),
        (
            restart("Invalid"),
            &[
                "spec.template.spec.restartPolicy unsupported \"Invalid\": Always OnFailure Never",
                "spec.template.spec.restartPolicy unsupported \"Invalid\": OnFailure Never",
            ],
        ),
        (json!({ "managedBy": "acme.io/foo" }), &[]),
        (json!({ "managedBy": "" }), &["spec.managedBy required: "]),
        (
            json!({ "managedBy": "foo" }),
            &["spec.managedBy invalid \"foo\": must be a domain-prefixed path (such as \
               \"acme.io/foo\")"],
        ),
        (
            json!({ "managedBy": "acme.io/ \"" }),
            &["spec.managedBy invalid \" \\\"\": Invalid path (regex used for validation is \
               '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"],
        ),
        (json!({ "managedBy": long }), &["spec.managedBy too long: 63"]),
        (
            json!({ "podReplacementPolicy": "x" }),
            &["spec.podReplacementPolicy unsupported \"x\": Failed TerminatingOrFailed"],
        ),
    ]);
    // TestValidateJob: "maximum length" of the name of the last pod of an Indexed Job.
    let name = "a".repeat(61);
    let patch =
        json!({ "metadata": { "name": name }, "spec": indexed(&json!({ "completions": 11 })) });
    let object = created(&Job, &merged(&job(), &patch));
    let expected = format!(
        "metadata.name invalid \"{name}\": will not able to create pod with invalid DNS label: \
         {name}-10"
    );
    assert_eq!(lines(&Job.validate_create(&object)), [expected]);
}

#[test]
fn failure_policies() {
    let policy = |rule: Value| json!({ "podFailurePolicy": { "rules": [rule] } });
    let codes = |codes: Value| policy(json!({ "action": "Ignore", "onExitCodes": codes }));
    let condition = json!([{ "type": "DisruptionTarget" }]);
    let rule = "spec.podFailurePolicy.rules[0]";
    let action = format!(
        "{rule}.action required: valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]"
    );
    check(&[
        (policy(json!({ "action": "FailJob", "onPodConditions": condition })), &[]),
        (codes(json!({ "operator": "NotIn", "values": [0, 1], "containerName": "main" })), &[]),
        (policy(json!({ "onPodConditions": condition })), &[&action]),
        (
            policy(json!({ "action": "FailIndex", "onPodConditions": condition })),
            &["spec.podFailurePolicy.rules[0].action invalid \"FailIndex\": requires the \
               backoffLimitPerIndex to be set"],
        ),
        (
            policy(json!({ "action": "x", "onPodConditions": condition })),
            &["spec.podFailurePolicy.rules[0].action unsupported \"x\": Count FailIndex FailJob \
               Ignore"],
        ),
        (
            policy(json!({ "action": "Count" })),
            &["spec.podFailurePolicy.rules[0] invalid: specifying one of OnExitCodes and \
               OnPodConditions is required"],
        ),
        (
            policy(json!({
                "action": "Count",
                "onPodConditions": condition,
                "onExitCodes": { "operator": "In", "values": [1] },
            })),
            &["spec.podFailurePolicy.rules[0] invalid: specifying both OnExitCodes and \
               OnPodConditions is not supported"],
        ),
        (
            codes(json!({ "operator": "In", "values": [0, 3, 2, 2], "containerName": "x" })),
            &[
                "spec.podFailurePolicy.rules[0].onExitCodes.containerName invalid \"x\": must be \
                 one of the container or initContainer names in the pod template",
                "spec.podFailurePolicy.rules[0].onExitCodes.values[0] invalid 0: must not be 0 \
                 for the In operator",
                "spec.podFailurePolicy.rules[0].onExitCodes.values[3] duplicate 2",
                "spec.podFailurePolicy.rules[0].onExitCodes.values invalid [0,3,2,2]: must be \
                 ordered",
            ],
        ),
        (
            codes(json!({ "values": [] })),
            &[
                "spec.podFailurePolicy.rules[0].onExitCodes.operator required: valid values: \
                 [\"In\" \"NotIn\"]",
                "spec.podFailurePolicy.rules[0].onExitCodes.values invalid []: at least one value \
                 is required",
            ],
        ),
        (
            json!({
                "podFailurePolicy": { "rules": [] },
                "template": { "spec": { "restartPolicy": "OnFailure" } },
                "podReplacementPolicy": "TerminatingOrFailed",
            }),
            &[
                "spec.podReplacementPolicy unsupported \"TerminatingOrFailed\": Failed",
                "spec.template.spec.restartPolicy invalid \"OnFailure\": only \"Never\" is \
                 supported when podFailurePolicy is specified",
            ],
        ),
    ]);
}

#[test]
fn success_policies() {
    let policy = |rule: Value| indexed(&json!({ "successPolicy": { "rules": [rule] } }));
    check(&[
        (policy(json!({ "succeededCount": 2, "succeededIndexes": "0-1" })), &[]),
        (
            json!({ "successPolicy": { "rules": [] } }),
            &["spec.successPolicy invalid {\"rules\":[]}: requires indexed completion mode"],
        ),
        (
            indexed(&json!({ "successPolicy": { "rules": [] } })),
            &["spec.successPolicy.rules required: at least one rules must be specified when the \
               successPolicy is specified"],
        ),
        (
            policy(json!({})),
            &["spec.successPolicy.rules[0] required: at least one of succeededCount or \
               succeededIndexes must be specified"],
        ),
        (
            policy(json!({ "succeededCount": 4 })),
            &["spec.successPolicy.rules[0].succeededCount invalid 4: must be less than or equal \
               to 3 (the number of specified completions)"],
        ),
        (
            policy(json!({ "succeededCount": 3, "succeededIndexes": "0,2" })),
            &["spec.successPolicy.rules[0].succeededCount invalid 3: must be less than or equal \
               to 2 (the number of indexes in the specified succeededIndexes field)"],
        ),
        (
            policy(json!({ "succeededIndexes": "0-9" })),
            &["spec.successPolicy.rules[0].succeededIndexes invalid \"0-9\": error parsing \
               succeededIndexes: too large index: \"9\""],
        ),
    ]);
}

//! CronJobs.

use serde_json::{Value, json};

use super::job;
use crate::Strategy;
use crate::batch::CronJob;
use crate::fixture::{created, defaulted, lines, merged, refused, row, updated};

fn body(patch: &Value) -> Value {
    let spec = json!({ "schedule": "* * * * ?", "jobTemplate": { "spec": job()["spec"] } });
    merged(&json!({ "metadata": { "name": "sum" }, "spec": spec }), &json!({ "spec": patch }))
}

/// TestSetDefaultCronJob.
#[test]
fn defaults() {
    let object =
        defaulted(&CronJob, &body(&json!({ "jobTemplate": { "spec": { "suspend": null } } })));
    let spec = object.get("spec").unwrap();
    let mut rest = spec.clone();
    rest.as_object_mut().unwrap().remove("jobTemplate");
    let expected = json!({
        "schedule": "* * * * ?",
        "concurrencyPolicy": "Allow",
        "suspend": false,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    });
    assert_eq!(rest, expected);
    // A Job gets its own defaults once it is made.
    assert_eq!(spec.pointer("/jobTemplate/spec/backoffLimit"), None);
    let set = json!({ "concurrencyPolicy": "Forbid", "failedJobsHistoryLimit": 0 });
    let object = defaulted(&CronJob, &body(&set));
    assert_eq!(object.pointer("/spec/concurrencyPolicy"), Some(&json!("Forbid")));
    assert_eq!(object.pointer("/spec/failedJobsHistoryLimit"), Some(&json!(0)));
}

/// TestValidateCronJob.
#[test]
fn create() {
    let in_job = |patch: Value| json!({ "jobTemplate": { "spec": patch } });
    let rows: [(Value, &[&str]); 9] = [
        (json!({}), &[]),
        (json!({ "schedule": "@hourly", "timeZone": "Europe/Rome" }), &[]),
        (json!({ "schedule": "" }), &["spec.schedule required: "]),
        (
            json!({ "schedule": "error" }),
            &["spec.schedule invalid \"error\": expected exactly 5 fields, found 1: [error]"],
        ),
        (
            json!({ "schedule": "TZ=UTC 0 * * * *" }),
            &["spec.schedule invalid \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in schedule, \
               use timeZone field instead"],
        ),
        (
            json!({ "startingDeadlineSeconds": -1, "failedJobsHistoryLimit": -1 }),
            &[
                "spec.startingDeadlineSeconds invalid -1: must be greater than or equal to 0",
                "spec.failedJobsHistoryLimit invalid -1: must be greater than or equal to 0",
            ],
        ),
        (
            json!({ "concurrencyPolicy": "x" }),
            &["spec.concurrencyPolicy unsupported \"x\": Allow Forbid Replace"],
        ),
        (
            in_job(json!({ "selector": { "matchLabels": { "a": "b" } }, "manualSelector": true })),
            &[
                "spec.jobTemplate.spec.selector invalid {\"matchLabels\":{\"a\":\"b\"}}: \
                 `selector` will be auto-generated",
                "spec.jobTemplate.spec.manualSelector unsupported true: nil false",
            ],
        ),
        (
            in_job(
                json!({ "parallelism": -1, "template": { "spec": { "restartPolicy": "Always" } } }),
            ),
            &[
                "spec.jobTemplate.spec.parallelism invalid -1: must be greater than or equal to 0",
                "spec.jobTemplate.spec.template.spec.restartPolicy required: valid values: \
                 \"OnFailure\", \"Never\"",
            ],
        ),
    ];
    for (patch, expected) in rows {
        let object = created(&CronJob, &body(&patch));
        assert_eq!(lines(&CronJob.validate_create(&object)), expected, "{patch}");
    }
    let name = "a".repeat(53);
    let long = merged(&body(&json!({})), &json!({ "metadata": { "name": name } }));
    let expected = format!("metadata.name invalid \"{name}\": must be no more than 52 characters");
    assert_eq!(lines(&CronJob.validate_create(&created(&CronJob, &long))), [expected]);
    assert_eq!(refused(&CronJob, &long, &long), [""; 0]);
}

/// TestValidateCronJobScheduleTZ, TestValidateCronJobSpec: what was wrong before may stay.
#[test]
fn update() {
    let zoned = json!({ "schedule": "TZ=UTC 0 * * * *" });
    let both = json!({ "schedule": "TZ=UTC 0 * * * *", "timeZone": "UTC" });
    let broken = json!({ "timeZone": "broken" });
    let rows: [(&Value, &Value, &[&str]); 5] = [
        (&zoned, &zoned, &[]),
        (
            &json!({}),
            &zoned,
            &["spec.schedule invalid \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in schedule, \
               use timeZone field instead"],
        ),
        (
            &zoned,
            &both,
            &["spec.schedule invalid \"TZ=UTC 0 * * * *\": cannot use both timeZone field and TZ \
               or CRON_TZ in schedule"],
        ),
        (&broken, &broken, &[]),
        (&json!({}), &broken, &["spec.timeZone invalid \"broken\": unknown time zone broken"]),
    ];
    for (old, new, expected) in rows {
        let [old, new] = [old, new].map(body);
        let old = created(&CronJob, &old);
        assert_eq!(refused(&CronJob, &new, &old), expected, "{new}");
        let generation = i64::from(old.get("spec") != defaulted(&CronJob, &new).get("spec")) + 1;
        let found = updated(&CronJob, &new, &old);
        assert_eq!(found.pointer("/metadata/generation"), Some(&json!(generation)));
    }
}

/// TestPrintCronJob.
#[test]
fn rows() {
    let object = body(&json!({ "suspend": false }));
    let cells = json!(row(&CronJob, &object));
    let expected = json!([
        "sum",
        "* * * * ?",
        "<none>",
        "False",
        0,
        "<none>",
        "<unknown>",
        "main",
        "sum:1",
        "<none>",
    ]);
    assert_eq!(cells, expected);
    let patch = json!({
        "metadata": { "creationTimestamp": "2024-05-01T11:55:00Z" },
        "spec": { "suspend": true, "timeZone": "UTC" },
        "status": { "active": [{}, {}], "lastScheduleTime": "2024-05-01T11:59:50Z" },
    });
    let cells = json!(row(&CronJob, &merged(&object, &patch)));
    let expected =
        json!(["sum", "* * * * ?", "UTC", "True", 2, "10s", "5m", "main", "sum:1", "<none>"]);
    assert_eq!(cells, expected);
    let unset = merged(&object, &json!({ "spec": { "suspend": null } }));
    assert_eq!(row(&CronJob, &unset).get(3), Some(&json!("<unset>")));
}

//! The Job that is made. As `getJobFromTemplate2` in upstream's `pkg/controller/cronjob/utils.go`.

use api::cron::Zone;
use api::{CronJob, Job, Key, Kind, Time};
use controller::{Write, controller_ref};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Where a Job says when it was due.
const SCHEDULED_TIMESTAMP: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// What the Job that is due then is called: one name for each minute.
pub(super) fn key(cron_job: &CronJob, due: Time) -> Key {
    let Key { namespace, name } = &cron_job.meta.key;
    let minute = due.unix_nanos().div_euclid(60_000_000_000);
    Key { namespace: namespace.clone(), name: format!("{name}-{minute}").into() }
}

/// Makes the Job that is due then; or why it cannot be made.
pub(super) fn create(cron_job: &CronJob, due: Time, local: &Zone) -> Result<Write, String> {
    let spec = cron_job.raw.field("spec").map_or("null", RawValue::get);
    let mut spec: Value = serde_json::from_str(spec).map_err(|error| error.to_string())?;
    let mut template = spec["jobTemplate"].take();
    let zone = Zone::load(cron_job.time_zone.as_deref().unwrap_or(""), local)?;
    let mut annotations = template["metadata"]["annotations"].take();
    if !annotations.is_object() {
        annotations = json!({});
    }
    annotations[SCHEDULED_TIMESTAMP] = zone.rfc3339(due).into();
    let Key { namespace, name } = key(cron_job, due);
    let body = json!({
        "apiVersion": Job::RESOURCE.api_version(),
        "kind": Job::RESOURCE.kind,
        "metadata": {
            "name": *name, "namespace": *namespace,
            "labels": template["metadata"]["labels"].take(),
            "annotations": annotations,
            "ownerReferences": [controller_ref(&CronJob::RESOURCE, &cron_job.meta)],
        },
        "spec": template["spec"].take(),
    });
    Ok(Write::create(Job::RESOURCE, namespace, body.to_string()))
}

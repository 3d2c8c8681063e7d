//! CronJobs. Upstream: pkg/apis/batch, pkg/registry/batch/cronjob.

use api::Time;
use api::cron::{Schedule, Zone};
use serde_json::{Value, json};

use super::spec::{self, default_failure_policy};
use super::timezone;
use crate::generation;
use crate::selector;
use crate::table::{
    CONTAINERS, IMAGES, NAME, SELECTOR, age, container_cells, heading, integer, name, since,
};
use crate::value::{fields, fill, fill_zero, get, items, or_null, section, text};
use crate::workload::{self, name_warning, not_negative};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

/// CronJobs.
pub struct CronJob;

/// Its Jobs are named after it and a time, and after these their pods.
const NAME_BYTES_MAX: usize = 52;

impl Strategy for CronJob {
    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &[]);
        let spec = section(object, "spec");
        fill_zero(spec, "concurrencyPolicy", "Allow");
        fill(spec, "suspend", false);
        fill(spec, "successfulJobsHistoryLimit", 3);
        fill(spec, "failedJobsHistoryLimit", 1);
        let job = section(section(spec, "jobTemplate"), "spec");
        fields(job);
        default_failure_policy(job);
        workload::default_template(job);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        workload::created(object, &[]);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut faults = validate_spec(&or_null(object, "/spec"), &Value::Null);
        let name = text(object, "/metadata/name");
        if name.len() > NAME_BYTES_MAX {
            let path = Path::new("metadata").child("name");
            faults.push(path.invalid(name, "must be no more than 52 characters"));
        }
        faults
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::updated(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        validate_spec(&or_null(new, "/spec"), &or_null(old, "/spec"))
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = if old.is_none() { name_warning(object) } else { Vec::new() };
        if generation::is_new(object, old) {
            let path = Path::new("spec").child("jobTemplate").child("spec");
            warnings.extend(spec::warnings(&or_null(object, "/spec/jobTemplate/spec"), &path));
        }
        // A new CronJob cannot say so.
        if old.is_some() && text(object, "/spec/schedule").contains("TZ") {
            let warning = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, \
                           see https://kubernetes.io/docs/concepts/workloads/controllers/\
                           cron-jobs/ for more details";
            warnings.push(warning.to_owned());
        }
        warnings
    }

    fn columns(&self) -> &'static [Column] {
        const COLUMNS: &[Column] = &[
            NAME,
            heading("Schedule"),
            heading("Timezone"),
            Column { name: "Suspend", kind: "boolean", format: "", wide: false },
            integer("Active"),
            heading("Last Schedule"),
            heading("Age"),
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ];
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let [names, images] = container_cells(&or_null(object, "/spec/jobTemplate/spec/template"));
        let zone = get(object, "/spec/timeZone").and_then(Value::as_str);
        let suspend = match get(object, "/spec/suspend") {
            Some(Value::Bool(true)) => "True",
            Some(_) => "False",
            None => "<unset>",
        };
        let last = get(object, "/status/lastScheduleTime").and_then(Value::as_str);
        let last = last.map_or_else(|| "<none>".to_owned(), |last| since(Some(last), now));
        vec![
            name(object),
            json!(text(object, "/spec/schedule")),
            json!(zone.unwrap_or("<none>")),
            json!(suspend),
            json!(items(object, "/status/active").len()),
            json!(last),
            age(object, now),
            names,
            images,
            json!(selector::print(&or_null(object, "/spec/jobTemplate/spec/selector"))),
        ]
    }
}

/// `old`: null if the CronJob is new.
fn validate_spec(spec: &Value, old: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let mut faults = validate_schedule(spec, old, &path.child("schedule"));
    faults.extend(not_negative(spec, &["startingDeadlineSeconds"], &path));
    let [zone, old_zone] = [spec, old].map(|it| get(it, "/timeZone").and_then(Value::as_str));
    if let Some(zone) = zone.filter(|zone| old_zone != Some(*zone)) {
        faults.extend(timezone::validate(zone, &path.child("timeZone")));
    }
    faults.extend(validate_concurrency(spec, &path.child("concurrencyPolicy")));
    faults.extend(validate_template(spec, &path.child("jobTemplate").child("spec")));
    let limits = ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
    faults.extend(not_negative(spec, &limits, &path));
    faults
}

fn validate_schedule(spec: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    let schedule = text(spec, "/schedule");
    if schedule.is_empty() {
        return vec![path.required("")];
    }
    let mut faults = Vec::new();
    if let Err(error) = Schedule::parse(schedule, &Zone::UTC) {
        faults.push(path.invalid(schedule, &error));
    }
    let had_zone = text(old, "/schedule").contains("TZ");
    let has_field = get(spec, "/timeZone").is_some();
    match (schedule.contains("TZ"), had_zone) {
        (true, true) if has_field => {
            let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
            faults.push(path.invalid(schedule, detail));
        }
        (true, false) => {
            let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            faults.push(path.invalid(schedule, detail));
        }
        (true, true) | (false, _) => {}
    }
    faults
}

fn validate_concurrency(spec: &Value, path: &Path) -> Option<Invalid> {
    match text(spec, "/concurrencyPolicy") {
        "" => Some(path.required("")),
        "Allow" | "Forbid" | "Replace" => None,
        other => Some(path.not_supported(other, &["Allow", "Forbid", "Replace"])),
    }
}

/// As ValidateJobTemplateSpec: selectors are made for each Job.
fn validate_template(spec: &Value, path: &Path) -> Vec<Invalid> {
    let job = or_null(spec, "/jobTemplate/spec");
    let mut faults = spec::validate(&job, path);
    if let Some(selector) = get(&job, "/selector") {
        let detail = "`selector` will be auto-generated";
        faults.push(path.child("selector").invalid(selector.clone(), detail));
    }
    if get(&job, "/manualSelector") == Some(&Value::Bool(true)) {
        faults.push(path.child("manualSelector").not_supported(true, &["nil", "false"]));
    }
    faults
}

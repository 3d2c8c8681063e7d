//! Jobs. Upstream: pkg/apis/batch, pkg/registry/batch/job.

use std::borrow::Cow;

use api::Time;
use serde_json::{Value, json};

use super::spec::{self, default_failure_policy};
use super::{status, transition};
use crate::formats::dns_label;
use crate::generation;
use crate::selector::{self, Values, values_of_update};
use crate::semantic::same;
use crate::table::{
    CONTAINERS, IMAGES, NAME, SELECTOR, age, container_cells, heading, human, name,
};
use crate::value::{count, fields, fill, get, items, number, or_null, pairs, section, set, text};
use crate::workload::{self, immutable, name_warning};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

/// Jobs.
pub struct Job;

const JOB_NAMES: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const CONTROLLER_UIDS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

/// What the template must be labelled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Labels {
    /// Both with upstream's prefix and without.
    All,
    /// Only without: the Job is older than the prefix.
    Legacy,
}

impl Strategy for Job {
    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &[]);
        let spec = section(object, "spec");
        if get(spec, "/parallelism").is_none() {
            fill(spec, "completions", 1);
            fill(spec, "parallelism", 1);
        }
        let per_index = get(spec, "/backoffLimitPerIndex").is_some();
        fill(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
        fill(spec, "completionMode", "NonIndexed");
        fill(spec, "suspend", false);
        let failure_policy = get(spec, "/podFailurePolicy").is_some();
        let replacement = if failure_policy { "Failed" } else { "TerminatingOrFailed" };
        fill(spec, "podReplacementPolicy", replacement);
        fill(spec, "manualSelector", false);
        default_failure_policy(spec);
        workload::default_template(spec);
        // A new Job takes its template's labels once that has them all, below.
        if get(object, "/spec/selector").is_some() {
            label_as_template(object);
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        if get(object, "/spec/manualSelector") != Some(&Value::Bool(true)) {
            generate_selector(object);
        }
        label_as_template(object);
        workload::created(object, &[]);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        validate(object, Labels::All, Values::Checked)
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::updated(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let old_labels = or_null(old, "/spec/template/metadata/labels");
        let has = |key: &str| old_labels.get(key).is_some();
        let prefixed = has(JOB_NAMES[1]) && has(CONTROLLER_UIDS[1]);
        let labels = if prefixed { Labels::All } else { Labels::Legacy };
        let values = values_of_update(&or_null(old, "/spec/selector"));
        let mut faults = validate(new, labels, values);
        faults.extend(validate_spec_update(new, old, values));
        faults
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        transition::validate(new, old)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = if old.is_none() { name_warning(object) } else { Vec::new() };
        if generation::is_new(object, old) {
            warnings.extend(spec::warnings(&or_null(object, "/spec"), &Path::new("spec")));
        }
        warnings
    }

    fn default_propagation(&self) -> &'static str {
        "Orphan"
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let succeeded = || count(object, "/status/succeeded").to_string().into();
        (field == "status.successful").then(succeeded)
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["status.successful"]
    }

    fn columns(&self) -> &'static [Column] {
        const COLUMNS: &[Column] = &[
            NAME,
            heading("Status"),
            heading("Completions"),
            heading("Duration"),
            heading("Age"),
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ];
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let [names, images] = container_cells(&or_null(object, "/spec/template"));
        vec![
            name(object),
            json!(printed_status(object)),
            json!(printed_completions(object)),
            json!(printed_duration(object, now)),
            age(object, now),
            names,
            images,
            json!(selector::print(&or_null(object, "/spec/selector"))),
        ]
    }
}

// === What the API server fills in ===

/// A Job without labels has those of its template. (Upstream's defaulting makes them one map, and
/// happens again whenever a Job is read from etcd.)
fn label_as_template(object: &mut Value) {
    let labels = or_null(object, "/spec/template/metadata/labels");
    if !labels.is_null() && pairs(object, "/metadata/labels").is_empty() {
        set(section(object, "metadata"), "labels", labels);
    }
}

/// The Job selects its pods by its uid, and labels them so, but for labels that are there already.
fn generate_selector(object: &mut Value) {
    let [job, uid] = ["/metadata/name", "/metadata/uid"].map(|it| text(object, it).to_owned());
    let spec = section(object, "spec");
    let labels = section(section(section(spec, "template"), "metadata"), "labels");
    for (keys, value) in [(JOB_NAMES, &job), (CONTROLLER_UIDS, &uid)] {
        let labels = fields(labels);
        for key in keys {
            labels.entry(key).or_insert_with(|| json!(value));
        }
    }
    let selected = section(section(spec, "selector"), "matchLabels");
    fields(selected).entry(CONTROLLER_UIDS[1]).or_insert_with(|| json!(uid));
}

// === What a Job may not say ===

fn validate(object: &Value, labels: Labels, values: Values) -> Vec<Invalid> {
    let path = Path::new("spec");
    let spec = or_null(object, "/spec");
    let mut faults = validate_generated_selector(object, labels);
    faults.extend(spec::validate_with_selector(&spec, values, &path));
    let completions = number(&spec, "/completions").filter(|it| *it > 0);
    let indexed = text(&spec, "/completionMode") == "Indexed";
    if let Some(completions) = completions.filter(|_| indexed) {
        // The host name of the last pod.
        let name = text(object, "/metadata/name");
        let pod = format!("{name}-{}", completions - 1);
        if !dns_label(&pod).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {pod}");
            faults.push(Path::new("metadata").child("name").invalid(name, &detail));
        }
    }
    faults
}

fn validate_generated_selector(object: &Value, required: Labels) -> Vec<Invalid> {
    let manual = get(object, "/spec/manualSelector") == Some(&Value::Bool(true));
    let Some(selector) = get(object, "/spec/selector").filter(|_| !manual) else {
        return Vec::new();
    };
    let [job, uid] = ["/metadata/name", "/metadata/uid"].map(|it| text(object, it));
    let mut faults = Vec::new();
    if uid.is_empty() {
        faults.push(Path::new("metadata").child("uid").required(""));
    }
    let mut wanted = vec![(CONTROLLER_UIDS[0], uid), (JOB_NAMES[0], job)];
    if required == Labels::All {
        wanted.extend([(CONTROLLER_UIDS[1], uid), (JOB_NAMES[1], job)]);
    }
    let labels = or_null(object, "/spec/template/metadata/labels");
    let path = Path::new("spec").child("template").child("metadata").child("labels");
    for (key, value) in &wanted {
        let detail = format!("must be '{value}'");
        match labels.get(key).and_then(Value::as_str) {
            None => faults.push(path.key(key).required(&detail)),
            Some(other) if other != *value => {
                faults.push(path.key(key).invalid(labels.clone(), &detail));
            }
            Some(_) => {}
        }
    }
    let mut generated = json!({});
    for (key, value) in &wanted {
        set(&mut generated, key, json!(value));
    }
    let read = selector::LabelSelector::read(selector);
    if read.is_some_and(|read| !read.matches(&generated)) {
        let path = Path::new("spec").child("selector");
        faults.push(path.invalid(selector.clone(), "`selector` not auto-generated"));
    }
    faults
}

fn validate_spec_update(new: &Value, old: &Value, values: Values) -> Vec<Invalid> {
    let path = Path::new("spec");
    let [spec, old_spec] = [new, old].map(|it| or_null(it, "/spec"));
    let mut faults = spec::validate_with_selector(&spec, values, &path);
    faults.extend(validate_completions(&spec, &old_spec, &path));
    faults.extend(immutable(&spec, &old_spec, "selector", &path));
    faults.extend(validate_template_update(&spec, old, &path));
    for name in
        ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    {
        faults.extend(immutable(&spec, &old_spec, name, &path));
    }
    faults
}

/// An Indexed Job may grow and shrink, if its parallelism changes with it.
fn validate_completions(spec: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    if text(spec, "/completionMode") != "Indexed" {
        return immutable(spec, old, "completions", path);
    }
    let [new, old] = [spec, old].map(|it| number(it, "/completions"));
    match new {
        Some(completions) if new != old && number(spec, "/parallelism") != new => {
            let detail = "can only be modified in tandem with spec.parallelism";
            vec![path.child("completions").invalid(completions, detail)]
        }
        _ => Vec::new(),
    }
}

/// The template of a Job that is suspended and has no pods may change in where its pods go and in
/// what they need.
fn validate_template_update(spec: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    let suspended = get(old, "/spec/suspend") == Some(&Value::Bool(true));
    let stopped = get(old, "/status/startTime").is_none() || status::is_true(old, "Suspended");
    let mutable = suspended && stopped && count(old, "/status/active") == 0;
    let template = or_null(spec, "/template");
    let mut old_template = or_null(old, "/spec/template");
    if !mutable {
        let [new, old] = [template, old_template].map(|it| json!({ "template": it }));
        return immutable(&new, &old, "template", path);
    }
    take_scheduling(&mut old_template, &template);
    take_resources(&mut old_template, &template);
    let [new, old] = [template, old_template].map(|it| or_null(&it, "/spec"));
    if same(&new, &old) {
        return Vec::new();
    }
    vec![path.child("template.spec").invalid(new, "field is immutable")]
}

/// Gives the old template what the new one says of nodes.
fn take_scheduling(old: &mut Value, new: &Value) {
    let pod = section(old, "spec");
    let affinity = "/spec/affinity/nodeAffinity";
    let node_affinity = or_null(new, affinity);
    if get(pod, "/affinity").is_some() || get(new, "/spec/affinity").is_some() {
        set(section(pod, "affinity"), "nodeAffinity", node_affinity);
    }
    for name in ["nodeSelector", "tolerations", "schedulingGates"] {
        set(pod, name, or_null(new, &format!("/spec/{name}")));
    }
}

/// Gives the containers of the old template the resources that the new one's have.
fn take_resources(old: &mut Value, new: &Value) {
    for list in ["/spec/containers", "/spec/initContainers"] {
        let new = items(new, list);
        let old = old.pointer_mut(list).and_then(Value::as_array_mut);
        let Some(old) = old.filter(|old| old.len() == new.len()) else {
            continue;
        };
        for (old, new) in old.iter_mut().zip(new) {
            if text(old, "/name") == text(new, "/name") {
                set(old, "resources", or_null(new, "/resources"));
            }
        }
    }
}

// === What its table says ===

fn printed_status(object: &Value) -> &'static str {
    // The first of a type counts.
    let holds = |kind: &str| {
        let mut conditions = items(object, "/status/conditions").iter();
        let condition = conditions.find(|it| text(it, "/type") == kind);
        condition.is_some_and(|it| text(it, "/status") == "True")
    };
    if let Some(end) = ["Complete", "Failed"].into_iter().find(|it| holds(it)) {
        return end;
    }
    if get(object, "/metadata/deletionTimestamp").is_some() {
        return "Terminating";
    }
    let states = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
    states.into_iter().find(|it| holds(it)).unwrap_or("Running")
}

fn printed_completions(object: &Value) -> String {
    let succeeded = count(object, "/status/succeeded");
    match (number(object, "/spec/completions"), count(object, "/spec/parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn printed_duration(object: &Value, now: Time) -> String {
    let time = |pointer: &str| Time::parse(text(object, pointer)).ok();
    let Some(start) = time("/status/startTime") else {
        return String::new();
    };
    let end = time("/status/completionTime").unwrap_or(now);
    human(end.unix_nanos().saturating_sub(start.unix_nanos()) / 1_000_000_000)
}

//! The pods that a Job makes. From `manageJob` in upstream's `job_controller.go` and from
//! `indexed_job_utils.go`.

use std::sync::Arc;

use api::{Edit, Job, Kind, Pod, Raw};
use controller::{Action, Verb, Write};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::pods;
use super::standing::Standing;

/// The environment variable by which containers know their index.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
/// Longer prefixes of names are cut, so that the API server has room for its letters.
const PREFIX_MAX: usize = 58;
const NOT_MADE: &str = "no pod was made";

/// So many equal pods.
pub(super) fn creates(standing: &Standing<'_>, count: usize) -> Result<Vec<Action>, String> {
    let create = create(standing.job, &template(standing.job)?)?;
    Ok(vec![create.into(); count])
}

/// A pod for each of these indexes.
pub(super) fn creates_indexes(
    standing: &Standing<'_>,
    indexes: &[i64],
) -> Result<Vec<Action>, String> {
    let job = standing.job;
    let mut template = template(job)?;
    add_variable(&mut template);
    let create = create(job, &template)?;
    let body = create.created().ok_or(NOT_MADE)?;
    let pod: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let for_index = |index: &i64| {
        let body: Arc<str> = with_index(standing, pod.clone(), *index).to_string().into();
        Write { verb: Verb::Create(body), ..create.clone() }.into()
    };
    Ok(indexes.iter().map(for_index).collect())
}

/// The template of the Job, with the finalizer.
fn template(job: &Job) -> Result<Value, String> {
    let spec = job.raw.field("spec").map_or("null", RawValue::get);
    let mut spec: Value = serde_json::from_str(spec).map_err(|error| error.to_string())?;
    let mut template = spec.get_mut("template").map(Value::take).ok_or("it has no template")?;
    let labels = template.pointer("/metadata/labels").and_then(Value::as_object);
    if labels.is_none_or(serde_json::Map::is_empty) {
        return Err("unable to create pods, no labels".to_owned());
    }
    let mut finalizers = template["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    if !finalizers.iter().any(|it| it == Job::TRACKING_FINALIZER) {
        finalizers.push(Job::TRACKING_FINALIZER.into());
    }
    template["metadata"]["finalizers"] = finalizers.into();
    Ok(template)
}

fn create(job: &Job, template: &Value) -> Result<Write, String> {
    let text = |error: serde_json::Error| error.to_string();
    let edits = [Edit::new(["spec"], json!({ "template": template }))];
    let edited = job.raw.edited(&Job::RESOURCE, &edits).map_err(text)?;
    let edited = Raw::parse(edited.as_bytes()).map_err(|error| error.0)?;
    let spec = edited.field("spec");
    let creates = controller::pods::creates(&Job::RESOURCE, &job.meta, spec, 1)?;
    let create = creates.iter().find_map(Action::write);
    create.cloned().ok_or_else(|| NOT_MADE.to_owned())
}

/// Containers that have such a variable already keep it.
fn add_variable(template: &mut Value) {
    let variable = json!({
        "name": INDEX_VARIABLE,
        "valueFrom": {
            "fieldRef": { "fieldPath": format!("metadata.labels['{}']", Job::COMPLETION_INDEX) },
        },
    });
    for list in ["initContainers", "containers"] {
        let containers = template["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let variables = container["env"].as_array().cloned().unwrap_or_default();
            if variables.iter().all(|it| it["name"] != INDEX_VARIABLE) {
                container["env"] = [variables, vec![variable.clone()]].concat().into();
            }
        }
    }
}

fn with_index(standing: &Standing<'_>, mut pod: Value, index: i64) -> Value {
    let job = standing.job;
    let name = &job.meta.key.name;
    let text = index.to_string();
    let metadata = &mut pod["metadata"];
    metadata["generateName"] = prefix(name, index).into();
    metadata["labels"][Job::COMPLETION_INDEX] = text.as_str().into();
    metadata["annotations"][Job::COMPLETION_INDEX] = text.as_str().into();
    if let Some(Some(delayed)) =
        standing.indexes.as_ref().map(|it| it.failed.as_ref().map(|_| &it.delayed))
    {
        let (failures, ignored) = failures(standing, delayed.get(&index));
        metadata["annotations"][Job::INDEX_FAILURES] = failures.to_string().into();
        if ignored > 0 {
            metadata["annotations"][Job::INDEX_IGNORED_FAILURES] = ignored.to_string().into();
        }
    }
    pod["spec"]["hostname"] = format!("{name}-{index}").into();
    pod
}

/// How often the index has failed, with and without that it counts. As `getNewIndexFailureCounts`.
fn failures(standing: &Standing<'_>, replaced: Option<&Arc<Pod>>) -> (i32, i32) {
    let Some(pod) = replaced else { return (0, 0) };
    let (failures, ignored) = (pods::failures(pod), pods::ignored_failures(pod));
    if standing.judge(pod).counts() {
        (failures.saturating_add(1), ignored)
    } else {
        (failures, ignored.saturating_add(1))
    }
}

/// As `podGenerateNameWithIndex`.
pub(super) fn prefix(job: &str, index: i64) -> String {
    let end = format!("-{index}-");
    let room = PREFIX_MAX.saturating_sub(end.len());
    format!("{}{end}", job.get(..room.min(job.len())).unwrap_or(job))
}

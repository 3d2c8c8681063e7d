//! StatefulSets. Upstream: pkg/apis/apps, pkg/registry/apps/statefulset.

use api::Time;
use serde_json::{Value, json};

use crate::formats::dns_label;
use crate::selector::{self, LabelSelector};
use crate::semantic::same;
use crate::table::{CONTAINERS, IMAGES, NAME, age, container_cells, heading, name};
use crate::value::{count, fields, fill, fill_zero, get, items, or_null, section, set, text};
use crate::workload::{
    self, amount, amount_number, at_most_all, endless, mismatch, not_above, not_negative,
    required_selector,
};
use crate::{Cell, Column, Environment, Invalid, NameRule, Path, Strategy, pod};

/// StatefulSets.
pub struct StatefulSet;

/// Written also if they are 0.
const STATUS: [&str; 2] = ["replicas", "availableReplicas"];

/// What an update may change of the spec.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// How much of a template is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Template {
    /// All of it.
    Whole,
    /// Its labels: the pods were wrong before, and may stay so.
    Labels,
}

impl Strategy for StatefulSet {
    /// Its pods are named after it.
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &STATUS);
        let spec = section(object, "spec");
        fill_zero(spec, "podManagementPolicy", "OrderedReady");
        fill(spec, "serviceName", "");
        default_strategy(section(spec, "updateStrategy"));
        let retention = section(spec, "persistentVolumeClaimRetentionPolicy");
        fill_zero(retention, "whenDeleted", "Retain");
        fill_zero(retention, "whenScaled", "Retain");
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        workload::default_template(spec);
        let claims = spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
        claims.into_iter().flatten().for_each(default_claim);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        workload::created(object, &STATUS);
        drop_max_unavailable(object, &Value::Null);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let spec = or_null(object, "/spec");
        let path = Path::new("spec");
        let mut faults = validate_spec(&spec, Template::Whole, &path);
        let service = text(&spec, "/serviceName");
        if !service.is_empty() {
            let path = path.child("serviceName");
            faults.extend(path.refuse(service, dns_label(service)));
        }
        faults
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        drop_max_unavailable(new, old);
        workload::updated(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let [mut new, mut old] = [new, old].map(|it| or_null(it, "/spec"));
        let path = Path::new("spec");
        let template = match validate_spec(&old, Template::Whole, &path).as_slice() {
            [] => Template::Whole,
            _ => Template::Labels,
        };
        let mut faults = validate_spec(&new, template, &path);
        for spec in [&mut new, &mut old] {
            let spec = fields(spec);
            spec.retain(|name, _| !MUTABLE.contains(&name.as_str()));
        }
        if !same(&new, &old) {
            faults.push(path.forbidden(
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
                 'template', 'updateStrategy', 'revisionHistoryLimit', \
                 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            ));
        }
        faults
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        const COUNTS: [&str; 7] = [
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ];
        let status = or_null(new, "/status");
        let mut faults = not_negative(&status, &COUNTS, &Path::new("status"));
        let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
        let detail = "cannot be greater than status.replicas";
        faults.extend(not_above(&status, &parts, "replicas", detail));
        let detail = "cannot be greater than status.readyReplicas";
        faults.extend(not_above(&status, &["availableReplicas"], "readyReplicas", detail));
        faults.extend(workload::collisions(new, old));
        faults
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = workload::template_warnings(object, old);
        if count(object, "/spec/revisionHistoryLimit") < 0 {
            let warning = "spec.revisionHistoryLimit: a negative value retains all historical \
                           revisions; a value >= 0 is recommended";
            warnings.push(warning.to_owned());
        }
        warnings
    }

    fn columns(&self) -> &'static [Column] {
        const COLUMNS: &[Column] = &[NAME, heading("Ready"), heading("Age"), CONTAINERS, IMAGES];
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let [ready, desired] =
            ["/status/readyReplicas", "/spec/replicas"].map(|it| count(object, it));
        let [names, images] = container_cells(&or_null(object, "/spec/template"));
        vec![name(object), json!(format!("{ready}/{desired}")), age(object, now), names, images]
    }

    fn scale_selector(&self, object: &Value) -> Option<String> {
        crate::scale::selector(object)
    }
}

fn default_strategy(strategy: &mut Value) {
    if text(strategy, "/type").is_empty() {
        fill_zero(strategy, "type", "RollingUpdate");
        fields(section(strategy, "rollingUpdate"));
    }
    if text(strategy, "/type") == "RollingUpdate" && get(strategy, "/rollingUpdate").is_some() {
        fill(section(strategy, "rollingUpdate"), "partition", 0);
    }
    drop_null(strategy, "rollingUpdate");
}

/// Claims of a StatefulSet name their kind, unlike other objects within objects.
fn default_claim(claim: &mut Value) {
    set(claim, "apiVersion", json!("v1"));
    set(claim, "kind", json!("PersistentVolumeClaim"));
    fill(section(claim, "spec"), "volumeMode", "Filesystem");
    fill_zero(section(claim, "status"), "phase", "Pending");
}

fn drop_null(object: &mut Value, name: &str) {
    if object.get(name).is_some_and(Value::is_null) {
        fields(object).remove(name);
    }
}

/// The feature gate MaxUnavailableStatefulSet is off: only an object that has the field keeps it.
fn drop_max_unavailable(new: &mut Value, old: &Value) {
    let in_use = get(old, "/spec/updateStrategy/rollingUpdate/maxUnavailable").is_some();
    let rolling = new.pointer_mut("/spec/updateStrategy/rollingUpdate");
    if let Some(rolling) = rolling.and_then(Value::as_object_mut).filter(|_| !in_use) {
        rolling.remove("maxUnavailable");
    }
}

fn validate_spec(spec: &Value, template: Template, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let policy = text(spec, "/podManagementPolicy");
    let policy_path = path.child("podManagementPolicy");
    match policy {
        "" => faults.push(policy_path.required("")),
        "OrderedReady" | "Parallel" => {}
        _ => faults.push(policy_path.invalid(policy, "must be 'OrderedReady' or 'Parallel'")),
    }
    let strategy = or_null(spec, "/updateStrategy");
    faults.extend(validate_strategy(&strategy, &path.child("updateStrategy")));
    let retention = path.child("persistentVolumeClaimRetentionPolicy");
    for name in ["whenDeleted", "whenScaled"] {
        let pointer = format!("/persistentVolumeClaimRetentionPolicy/{name}");
        let value = text(spec, &pointer);
        if !matches!(value, "Retain" | "Delete") {
            let path = retention.child(name);
            faults.push(path.not_supported(value, &["Retain", "Delete"]));
        }
    }
    faults.extend(not_negative(spec, &["replicas", "minReadySeconds"], path));
    faults.extend(not_negative(&or_null(spec, "/ordinals"), &["start"], &path.child("ordinals")));
    faults.extend(required_selector(spec, "statefulset", path));
    let selector = or_null(spec, "/selector");
    match LabelSelector::read(&selector) {
        Some(selector) => faults.extend(validate_template(spec, &selector, template, path)),
        None => faults.push(path.child("selector").invalid(selector, "")),
    }
    let template = or_null(spec, "/template");
    faults.extend(endless(&template, "StatefulSet", &path.child("template")));
    faults
}

fn validate_strategy(strategy: &Value, path: &Path) -> Vec<Invalid> {
    let rolling = get(strategy, "/rollingUpdate");
    let rolling_path = path.child("rollingUpdate");
    match (text(strategy, "/type"), rolling) {
        ("", _) => vec![path.required("")],
        ("OnDelete", Some(rolling)) => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            vec![rolling_path.invalid(rolling.clone(), detail)]
        }
        ("RollingUpdate", Some(rolling)) => validate_rolling(rolling, &rolling_path),
        ("OnDelete" | "RollingUpdate", None) => Vec::new(),
        _ => vec![path.invalid(strategy.clone(), "must be 'RollingUpdate' or 'OnDelete'")],
    }
}

fn validate_rolling(rolling: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = not_negative(rolling, &["partition"], path);
    if let Some(unavailable) = get(rolling, "/maxUnavailable") {
        let path = path.child("maxUnavailable");
        faults.extend(amount(unavailable, &path));
        if amount_number(unavailable) == 0 {
            faults.push(path.invalid(unavailable.clone(), "cannot be 0"));
        }
        faults.extend(at_most_all(unavailable, &path));
    }
    faults
}

fn validate_template(
    spec: &Value,
    selector: &LabelSelector,
    checked: Template,
    path: &Path,
) -> Vec<Invalid> {
    let path = path.child("template");
    let template = effective_template(spec);
    let mut faults = Vec::new();
    if !selector.is_everything() {
        faults.extend(mismatch(selector, &template, &path));
    }
    faults.extend(match checked {
        Template::Whole => pod::validate_template(&template, &path),
        Template::Labels => selector::validate_labels(
            &or_null(&template, "/metadata/labels"),
            &path.child("labels"),
        ),
    });
    faults
}

/// The template as pods are made of it: they get their host name, their subdomain and the volumes
/// of claims from the controller, whatever the template says.
fn effective_template(spec: &Value) -> Value {
    let mut template = or_null(spec, "/template");
    let claims: Vec<&str> = items(spec, "/volumeClaimTemplates")
        .iter()
        .map(|claim| text(claim, "/metadata/name"))
        .collect();
    let Some(pod) = template.get_mut("spec").filter(|pod| pod.is_object()) else {
        return template;
    };
    fields(pod).retain(|name, _| name != "subdomain" && name != "hostname");
    if !claims.is_empty() {
        let claimed = claims
            .iter()
            .map(|name| json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }));
        let others = items(pod, "/volumes").iter();
        let others = others.filter(|volume| !claims.contains(&text(volume, "/name"))).cloned();
        let volumes: Vec<Value> = claimed.chain(others).collect();
        set(pod, "volumes", volumes);
    }
    template
}

//! DaemonSets. Upstream: pkg/apis/apps, pkg/registry/apps/daemonset.
//!
//! The generation of the template is a field of upstream's internal type; on the wire it is an
//! annotation, which only the API server changes.

use api::Time;
use serde_json::{Value, json};

use crate::selector::{self, LabelSelector, Values, values_of_update};
use crate::semantic::same_at;
use crate::table::{
    CONTAINERS, IMAGES, NAME, SELECTOR, age, container_cells, heading, integer, name,
};
use crate::value::{count, fill, fill_zero, get, or_null, section, set, text};
use crate::workload::{
    self, amount, amount_number, at_most_all, empty_selector, endless, immutable, mismatch,
    not_negative,
};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy, pod};

/// DaemonSets.
pub struct DaemonSet;

/// Written also if they are 0.
const STATUS: [&str; 4] =
    ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"];

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

impl Strategy for DaemonSet {
    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &STATUS);
        let spec = section(object, "spec");
        let strategy = section(spec, "updateStrategy");
        fill_zero(strategy, "type", "RollingUpdate");
        if text(strategy, "/type") == "RollingUpdate" {
            let rolling = section(strategy, "rollingUpdate");
            fill(rolling, "maxUnavailable", 1);
            fill(rolling, "maxSurge", 0);
        }
        fill(spec, "revisionHistoryLimit", 10);
        workload::default_template(spec);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        workload::created(object, &STATUS);
        let generation = template_generation(object).max(1);
        set_template_generation(object, generation);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        validate_spec(&or_null(object, "/spec"), Values::Checked)
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::updated(new, old);
        let template = "/spec/template";
        let changed = !same_at(new, old, template);
        set_template_generation(new, template_generation(old).saturating_add(i64::from(changed)));
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let [new, old] = [new, old].map(|it| or_null(it, "/spec"));
        let mut faults = immutable(&new, &old, "selector", &Path::new("spec"));
        faults.extend(validate_spec(&new, values_of_update(&or_null(&old, "/selector"))));
        faults
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
        set_template_generation(new, template_generation(old));
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        const COUNTS: [&str; 9] = [
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ];
        let mut faults = not_negative(&or_null(new, "/status"), &COUNTS, &Path::new("status"));
        faults.extend(workload::collisions(new, old));
        faults
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let generation = template_generation(object);
        if old.is_some_and(|old| template_generation(old) == generation) {
            return Vec::new();
        }
        let path = Path::new("spec").child("template");
        pod::template_warnings(&or_null(object, "/spec/template"), &path)
    }

    fn columns(&self) -> &'static [Column] {
        const COLUMNS: &[Column] = &[
            NAME,
            integer("Desired"),
            integer("Current"),
            integer("Ready"),
            integer("Up-to-date"),
            integer("Available"),
            heading("Node Selector"),
            heading("Age"),
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ];
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        const COUNTS: [&str; 5] = [
            "/status/desiredNumberScheduled",
            "/status/currentNumberScheduled",
            "/status/numberReady",
            "/status/updatedNumberScheduled",
            "/status/numberAvailable",
        ];
        let [names, images] = container_cells(&or_null(object, "/spec/template"));
        let mut cells = vec![name(object)];
        cells.extend(COUNTS.map(|it| count(object, it).into()));
        cells.extend([
            json!(selector::print_labels(&or_null(object, "/spec/template/spec/nodeSelector"))),
            age(object, now),
            names,
            images,
            json!(selector::print(&or_null(object, "/spec/selector"))),
        ]);
        cells
    }
}

fn template_generation(object: &Value) -> i64 {
    let annotation =
        object.pointer("/metadata/annotations").and_then(|it| it.get(TEMPLATE_GENERATION));
    annotation.and_then(Value::as_str).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn set_template_generation(object: &mut Value, generation: i64) {
    let annotations = section(section(object, "metadata"), "annotations");
    set(annotations, TEMPLATE_GENERATION, json!(generation.to_string()));
}

fn validate_spec(spec: &Value, values: Values) -> Vec<Invalid> {
    let path = Path::new("spec");
    let (selector, template) = (or_null(spec, "/selector"), or_null(spec, "/template"));
    let (selector_path, template_path) = (path.child("selector"), path.child("template"));
    let mut faults = selector::validate(&selector, values, &selector_path);
    if let Some(selector) = LabelSelector::read(&selector) {
        faults.extend(mismatch(&selector, &template, &template_path));
    }
    if !selector.is_null() {
        faults.extend(empty_selector(&selector, "daemonset", &selector_path));
    }
    faults.extend(pod::validate_template(&template, &template_path));
    faults.extend(endless(&template, "DaemonSet", &template_path));
    faults.extend(not_negative(spec, &["minReadySeconds"], &path));
    let strategy = or_null(spec, "/updateStrategy");
    faults.extend(validate_strategy(&strategy, &path.child("updateStrategy")));
    faults.extend(not_negative(spec, &["revisionHistoryLimit"], &path));
    faults
}

fn validate_strategy(strategy: &Value, path: &Path) -> Vec<Invalid> {
    let rolling_path = path.child("rollingUpdate");
    match (text(strategy, "/type"), get(strategy, "/rollingUpdate")) {
        ("OnDelete", _) => Vec::new(),
        ("RollingUpdate", Some(rolling)) => validate_rolling(rolling, &rolling_path),
        ("RollingUpdate", None) => vec![rolling_path.required("")],
        _ => vec![path.not_supported(strategy.clone(), &["RollingUpdate", "OnDelete"])],
    }
}

fn validate_rolling(rolling: &Value, path: &Path) -> Vec<Invalid> {
    let [unavailable, surge] = ["/maxUnavailable", "/maxSurge"].map(|it| or_null(rolling, it));
    let (unavailable_path, surge_path) = (path.child("maxUnavailable"), path.child("maxSurge"));
    let mut faults = amount(&unavailable, &unavailable_path);
    faults.extend(amount(&surge, &surge_path));
    faults.extend(at_most_all(&unavailable, &unavailable_path));
    faults.extend(at_most_all(&surge, &surge_path));
    match (amount_number(&unavailable) != 0, amount_number(&surge) != 0) {
        (true, true) => {
            faults
                .push(surge_path.invalid(surge, "may not be set when maxUnavailable is non-zero"));
        }
        (false, false) => {
            faults.push(unavailable_path.required("cannot be 0 when maxSurge is 0"));
        }
        (true, false) | (false, true) => {}
    }
    faults
}

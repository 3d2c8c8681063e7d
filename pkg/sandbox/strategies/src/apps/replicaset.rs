//! ReplicaSets. Upstream: pkg/apis/apps, pkg/registry/apps/replicaset.

use std::borrow::Cow;

use api::Time;
use serde_json::{Value, json};

use crate::table::{
    CONTAINERS, IMAGES, NAME, SELECTOR, age, container_cells, heading, integer, name,
};
use crate::value::{count, fill, or_null, section};
use crate::workload::{self, immutable, not_above, not_negative, selected_template};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy, selector};

/// ReplicaSets.
pub struct ReplicaSet;

/// Written also if it is 0.
const STATUS: [&str; 1] = ["replicas"];

impl Strategy for ReplicaSet {
    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &STATUS);
        let spec = section(object, "spec");
        fill(spec, "replicas", 1);
        workload::default_template(spec);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        workload::created(object, &STATUS);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        validate_spec(&or_null(object, "/spec"))
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::updated(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let [new, old] = [new, old].map(|it| or_null(it, "/spec"));
        let mut faults = validate_spec(&new);
        faults.extend(immutable(&new, &old, "selector", &Path::new("spec")));
        faults
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        validate_status(&or_null(new, "/status"))
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        workload::warnings(object, old)
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let replicas = || count(object, "/status/replicas").to_string().into();
        (field == "status.replicas").then(replicas)
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["status.replicas"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        row(object, &selector::print(&or_null(object, "/spec/selector")), now)
    }

    fn scale_selector(&self, object: &Value) -> Option<String> {
        crate::scale::selector(object)
    }
}

/// Those of ReplicationControllers too.
pub(crate) const COLUMNS: &[Column] = &[
    NAME,
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    heading("Age"),
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

/// A row of [`COLUMNS`].
pub(crate) fn row(object: &Value, selector: &str, now: Time) -> Vec<Cell> {
    let [names, images] = container_cells(&or_null(object, "/spec/template"));
    let counts = ["/spec/replicas", "/status/replicas", "/status/readyReplicas"];
    let mut cells = vec![name(object)];
    cells.extend(counts.map(|it| count(object, it).into()));
    cells.extend([age(object, now), names, images, json!(selector)]);
    cells
}

/// What a status may not say, that of ReplicationControllers neither.
pub(crate) fn validate_status(status: &Value) -> Vec<Invalid> {
    const COUNTS: [&str; 6] = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    let mut faults = not_negative(status, &COUNTS, &Path::new("status"));
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    let detail = "cannot be greater than status.replicas";
    faults.extend(not_above(status, &parts, "replicas", detail));
    let detail = "cannot be greater than readyReplicas";
    faults.extend(not_above(status, &["availableReplicas"], "readyReplicas", detail));
    faults
}

fn validate_spec(spec: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let mut faults = not_negative(spec, &["replicas", "minReadySeconds"], &path);
    faults.extend(selected_template(spec, &path));
    faults
}

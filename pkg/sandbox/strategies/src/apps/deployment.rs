//! Deployments. Upstream: pkg/apis/apps, pkg/registry/apps/deployment.

use api::Time;
use serde_json::{Value, json};

use crate::generation;
use crate::selector::LabelSelector;
use crate::table::{CONTAINERS, IMAGES, NAME, SELECTOR, age, container_cells, heading, name};
use crate::value::{count, fill, fill_zero, get, keep, number, or_null, section, text};
use crate::workload::{
    self, amount, amount_number, at_most_all, immutable, not_above, not_negative, selected_template,
};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

/// Deployments.
pub struct Deployment;

impl Strategy for Deployment {
    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &[]);
        let spec = section(object, "spec");
        fill(spec, "replicas", 1);
        let strategy = section(spec, "strategy");
        fill_zero(strategy, "type", "RollingUpdate");
        if text(strategy, "/type") == "RollingUpdate" {
            let rolling = section(strategy, "rollingUpdate");
            fill(rolling, "maxUnavailable", "25%");
            fill(rolling, "maxSurge", "25%");
        }
        fill(spec, "revisionHistoryLimit", 10);
        fill(spec, "progressDeadlineSeconds", 600);
        workload::default_template(spec);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        workload::created(object, &[]);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        validate_spec(&or_null(object, "/spec"))
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
        // Annotations count too: they are copied to the ReplicaSets.
        generation::count(new, old, &["/spec", "/metadata/annotations"]);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let [new, old] = [new, old].map(|it| or_null(it, "/spec"));
        let mut faults = validate_spec(&new);
        faults.extend(immutable(&new, &old, "selector", &Path::new("spec")));
        faults
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
        keep(section(new, "metadata"), &or_null(old, "/metadata"), "labels");
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        const COUNTS: [&str; 8] = [
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ];
        let status = or_null(new, "/status");
        let mut faults = not_negative(&status, &COUNTS, &Path::new("status"));
        let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
        let detail = "cannot be greater than status.replicas";
        faults.extend(not_above(&status, &parts, "replicas", detail));
        let detail = "cannot be greater than readyReplicas";
        faults.extend(not_above(&status, &["availableReplicas"], "readyReplicas", detail));
        faults.extend(workload::collisions(new, old));
        faults
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        workload::warnings(object, old)
    }

    fn columns(&self) -> &'static [Column] {
        const COLUMNS: &[Column] = &[
            NAME,
            heading("Ready"),
            heading("Up-to-date"),
            heading("Available"),
            heading("Age"),
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ];
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let [ready, desired] =
            ["/status/readyReplicas", "/spec/replicas"].map(|it| count(object, it));
        let [names, images] = container_cells(&or_null(object, "/spec/template"));
        let selector = LabelSelector::read(&or_null(object, "/spec/selector"));
        let selector = selector.map_or_else(|| "<invalid>".to_owned(), |it| it.to_string());
        vec![
            name(object),
            json!(format!("{ready}/{desired}")),
            count(object, "/status/updatedReplicas").into(),
            count(object, "/status/availableReplicas").into(),
            age(object, now),
            names,
            images,
            json!(selector),
        ]
    }

    fn scale_selector(&self, object: &Value) -> Option<String> {
        crate::scale::selector(object)
    }
}

fn validate_spec(spec: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let mut faults = not_negative(spec, &["replicas"], &path);
    faults.extend(selected_template(spec, &path));
    faults.extend(validate_strategy(&or_null(spec, "/strategy"), &path.child("strategy")));
    let counts = ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"];
    faults.extend(not_negative(spec, &counts, &path));
    let deadline = number(spec, "/progressDeadlineSeconds");
    if let Some(deadline) = deadline.filter(|it| *it <= count(spec, "/minReadySeconds")) {
        let path = path.child("progressDeadlineSeconds");
        faults.push(path.invalid(deadline, "must be greater than minReadySeconds"));
    }
    faults
}

fn validate_strategy(strategy: &Value, path: &Path) -> Vec<Invalid> {
    let rolling = get(strategy, "/rollingUpdate");
    let rolling_path = path.child("rollingUpdate");
    match (text(strategy, "/type"), rolling) {
        ("Recreate", Some(_)) => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            vec![rolling_path.forbidden(detail)]
        }
        ("Recreate", None) => Vec::new(),
        ("RollingUpdate", Some(rolling)) => validate_rolling(rolling, &rolling_path),
        ("RollingUpdate", None) => {
            vec![rolling_path.required("this should be defaulted and never be nil")]
        }
        _ => vec![path.not_supported(strategy.clone(), &["Recreate", "RollingUpdate"])],
    }
}

fn validate_rolling(rolling: &Value, path: &Path) -> Vec<Invalid> {
    let [unavailable, surge] = ["/maxUnavailable", "/maxSurge"].map(|it| or_null(rolling, it));
    let unavailable_path = path.child("maxUnavailable");
    let mut faults = amount(&unavailable, &unavailable_path);
    faults.extend(amount(&surge, &path.child("maxSurge")));
    if amount_number(&unavailable) == 0 && amount_number(&surge) == 0 {
        let detail = "may not be 0 when `maxSurge` is 0";
        faults.push(unavailable_path.invalid(unavailable.clone(), detail));
    }
    faults.extend(at_most_all(&unavailable, &unavailable_path));
    faults
}

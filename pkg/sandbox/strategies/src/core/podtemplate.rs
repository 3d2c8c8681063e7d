//! PodTemplate.

use api::Time;
use serde_json::Value;

use crate::generation;
use crate::selector;
use crate::table::{NAME, container_cells, heading, name};
use crate::value::{fields, or_null, section};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy, pod};

const COLUMNS: &[Column] = &[NAME, heading("Containers"), heading("Images"), heading("Pod Labels")];

/// A template of pods, by itself.
pub struct PodTemplate;

impl Strategy for PodTemplate {
    fn default(&self, object: &mut Value) {
        let template = section(object, "template");
        fields(template);
        pod::default_template(template);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        pod::validate_template(&or_null(object, "/template"), &Path::new("template"))
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/template"]);
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if !generation::is_new(object, old) {
            return Vec::new();
        }
        pod::template_warnings(&or_null(object, "/template"), &Path::new("template"))
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, _now: Time) -> Vec<Cell> {
        let [names, images] = container_cells(&or_null(object, "/template"));
        let labels = selector::print_labels(&or_null(object, "/template/metadata/labels"));
        vec![name(object), names, images, labels.into()]
    }
}

//! The rules of the objects of a CustomResourceDefinition (apiextensions' registry/customresource).
//! Its schema is not applied: objects may hold anything.

use std::borrow::Cow;

use api::Time;
use apimachinery::fields;
use serde_json::{Value, json};
use strategies::{Cell, Column, Environment, NameRule, Plain, Strategy};

use super::jsonpath::JsonPath;
use super::lasting;
use crate::registry::ScalePaths;

/// The rules of one version of a definition.
pub(super) struct Custom {
    columns: &'static [Column],
    /// What stands in the columns after the first.
    cells: Vec<(Sort, Option<JsonPath>)>,
    /// The fields that lists can be filtered by, and where they are.
    selectable: Vec<(&'static str, JsonPath)>,
    selectable_names: Vec<&'static str>,
    /// Whether the status has a path of its own.
    has_status: bool,
    scale: Option<ScalePaths>,
    name_rule: NameRule,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Integer,
    Number,
    Boolean,
    Text,
    Date,
}

// === impl Custom ===

impl Custom {
    /// The rules that an item of `spec.versions` asks for.
    pub(super) fn new(version: &Value, scale: Option<ScalePaths>, name_rule: NameRule) -> Self {
        let name = Column { name: "Name", kind: "string", format: "name", wide: false };
        let age = json!([
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ]);
        let said = version.get("additionalPrinterColumns").and_then(Value::as_array);
        let said = said.filter(|columns| !columns.is_empty()).or(age.as_array());
        let (mut columns, mut cells) = (vec![name], Vec::new());
        for column in said.into_iter().flatten() {
            let text = |field| column.get(field).and_then(Value::as_str).unwrap_or_default();
            columns.push(Column {
                name: lasting::text(text("name")),
                kind: lasting::text(text("type")),
                format: lasting::text(text("format")),
                wide: column.get("priority").and_then(Value::as_i64).is_some_and(|it| it > 0),
            });
            cells.push((Sort::of(text("type")), JsonPath::parse(text("jsonPath"))));
        }
        let has_status =
            fields::at(version, "/subresources/status").is_some_and(|it| !it.is_null());
        let selectable = selectable(version);
        let selectable_names = selectable.iter().map(|(name, _)| *name).collect();
        let columns = lasting::columns(columns);
        Self { columns, cells, selectable, selectable_names, has_status, scale, name_rule }
    }
}

impl Strategy for Custom {
    fn name_rule(&self) -> NameRule {
        self.name_rule
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        if let Some(fields) = object.as_object_mut().filter(|_| self.has_status) {
            fields.remove("status");
        }
        set_generation(object, 1);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        if self.has_status {
            take(new, old, "status");
        }
        // Everything but metadata counts, and the status if it is written elsewhere.
        let same = |(name, value): (&String, &Value)| {
            let aside = name == "metadata" || (name == "status" && self.has_status);
            aside || old.get(name) == Some(value)
        };
        let fields = |it: &Value| it.as_object().map_or(0, serde_json::Map::len);
        let is_same = new.as_object().is_some_and(|it| it.iter().all(same));
        let generation = generation(old);
        let changed = !is_same || fields(new) != fields(old);
        set_generation(new, generation + i64::from(changed));
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        let mut kept = old.clone();
        take(&mut kept, new, "status");
        let managed = fields::at(new, "/metadata/managedFields").cloned();
        if let Some(metadata) = kept.get_mut("metadata").and_then(Value::as_object_mut) {
            match managed {
                Some(managed) => drop(metadata.insert("managedFields".to_owned(), managed)),
                None => drop(metadata.remove("managedFields")),
            }
        }
        *new = kept;
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let (_, path) = self.selectable.iter().find(|(name, _)| *name == field)?;
        match path.first(object)? {
            Value::String(text) => Some(text.clone().into()),
            value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string().into()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn selectable_fields(&self) -> &[&'static str] {
        &self.selectable_names
    }

    fn columns(&self) -> &'static [Column] {
        self.columns
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let name = fields::at(object, "/metadata/name").cloned().unwrap_or_default();
        let cells = self.cells.iter().map(|(sort, path)| {
            let value = path.as_ref().and_then(|path| path.first(object));
            value.map_or(Value::Null, |value| sort.cell(value, now))
        });
        std::iter::once(name).chain(cells).collect()
    }

    fn scale_selector(&self, object: &Value) -> Option<String> {
        let path = self.scale.as_ref()?.selector.as_ref()?;
        fields::at(object, path).and_then(Value::as_str).map(str::to_owned)
    }
}

/// The `selectableFields` of a version: their names, and their paths.
fn selectable(version: &Value) -> Vec<(&'static str, JsonPath)> {
    let said = version.get("selectableFields").and_then(Value::as_array);
    let paths = said.into_iter().flatten().filter_map(|it| it.get("jsonPath")?.as_str());
    let field = |path: &str| {
        let name = lasting::text(path.strip_prefix('.').unwrap_or(path));
        Some((name, JsonPath::parse(path)?))
    };
    paths.filter_map(field).collect()
}

/// A field as another object has it.
fn take(into: &mut Value, from: &Value, field: &str) {
    let Some(fields) = into.as_object_mut() else { return };
    match from.get(field) {
        Some(value) => drop(fields.insert(field.to_owned(), value.clone())),
        None => drop(fields.remove(field)),
    }
}

fn generation(object: &Value) -> i64 {
    fields::at(object, "/metadata/generation").and_then(Value::as_i64).unwrap_or(0)
}

fn set_generation(object: &mut Value, generation: i64) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("generation".to_owned(), generation.into());
    }
}

// === impl Sort ===

impl Sort {
    fn of(text: &str) -> Self {
        match text {
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            _ => Self::Text,
        }
    }

    /// What a column of this type shows of a value (cellForJSONValue).
    fn cell(self, value: &Value, now: Time) -> Cell {
        match (self, value) {
            (_, Value::Null) => Value::Null,
            (Self::Text, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_)) => value.clone(),
            (Self::Text, value) => value.to_string().into(),
            (Self::Integer, Value::Number(number)) => match number.as_i64() {
                Some(whole) => whole.into(),
                None => whole(number.as_f64()),
            },
            (Self::Date, Value::String(text)) if Time::parse(text).is_err() => "<invalid>".into(),
            (Self::Date, Value::String(_)) => {
                let object = json!({"metadata": {"creationTimestamp": value}});
                Plain.row(&object, now).pop().unwrap_or_default()
            }
            (Self::Integer | Self::Number | Self::Boolean | Self::Date, _) => Value::Null,
        }
    }
}

/// A number without its fraction.
fn whole(number: Option<f64>) -> Value {
    let text = number.map(|number| format!("{:.0}", number.trunc()));
    text.and_then(|text| text.parse::<i64>().ok()).map_or(Value::Null, Value::from)
}

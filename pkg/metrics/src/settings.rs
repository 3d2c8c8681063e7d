//! The command line flags for metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::allow_list::AllowLists;
use crate::family::Family;
use crate::version::VERSION;

const LABEL: &str = "[a-zA-Z_][a-zA-Z0-9_]*";
const METRIC: &str = "[a-zA-Z_:][a-zA-Z0-9_:]*";

/// The flags, as given. Upstream: `MetricsConfiguration` of component-base/metrics/api.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flags {
    /// `--show-hidden-metrics-for-version`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub show_hidden_metrics_for_version: String,
    /// `--disabled-metrics`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_metrics: Vec<String>,
    /// `--allow-metric-labels`, if given: `metric,label` to `value,value`.
    #[serde(skip_serializing_if = "is_none_or_empty")]
    pub allow_list_mapping: Option<BTreeMap<String, String>>,
    /// `--allow-metric-labels-manifest`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub allow_list_mapping_manifest: String,
}

/// What a registry shows. The default shows all but outdated families.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    disabled: BTreeSet<String>,
    outdated_are_shown: bool,
    pub(crate) allowed: AllowLists,
}

// === impl Flags ===

impl Flags {
    /// The settings of the flags, or all errors in them, with upstream's texts
    /// (component-base/metrics/api/v1/config.go). Reads the manifest.
    pub fn settings(&self) -> Result<Settings, Vec<String>> {
        let manifest = self.manifest();
        let mut errors: Vec<String> = [self.version(), self.disabled(), self.mapping()]
            .into_iter()
            .chain([manifest.as_ref().err().cloned()])
            .flatten()
            .collect();
        let path = &self.allow_list_mapping_manifest;
        if self.allow_list_mapping.is_some() && !path.is_empty() {
            let both = "cannot specify both allowListMapping and allowListMappingManifest";
            errors.push(invalid("", self, both));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let read = manifest.unwrap_or_default();
        Ok(Settings {
            // Upstream ignores an empty name; here it is refused before.
            disabled: self.disabled_metrics.iter().cloned().collect(),
            outdated_are_shown: !self.show_hidden_metrics_for_version.is_empty(),
            allowed: AllowLists::new(self.allow_list_mapping.as_ref().unwrap_or(&read)),
        })
    }

    fn version(&self) -> Option<String> {
        let (given, good) = (&self.show_hidden_metrics_for_version, VERSION.previous());
        let why = format!(
            "must be omitted or have the value '{good}'; only the previous minor version is allowed"
        );
        let is_good = given.is_empty() || *given == good;
        (!is_good).then(|| invalid(".showHiddenMetricsForVersion", given, &why))
    }

    fn disabled(&self) -> Option<String> {
        let bad = self.disabled_metrics.iter().find(|name| !is_metric(name))?;
        let why =
            format!("must be fully qualified metric names matching \"^{METRIC}$\", got {bad:?}");
        Some(invalid(".disabledMetrics", &self.disabled_metrics, &why))
    }

    fn mapping(&self) -> Option<String> {
        bad_mapping(".allowListMapping", self.allow_list_mapping.as_ref()?)
    }

    /// The mapping in the manifest; empty if there is none.
    fn manifest(&self) -> Result<BTreeMap<String, String>, String> {
        let (field, path) = (".allowListMappingManifest", &self.allow_list_mapping_manifest);
        if path.is_empty() {
            return Ok(BTreeMap::new());
        }
        let text = std::fs::read_to_string(Path::new(path)).map_err(|error| {
            let why = format!("failed to read allow list manifest: open {path}: {error}");
            invalid(field, path, &why)
        })?;
        let mapping = mapping_of(&text).map_err(|error| {
            invalid(field, path, &format!("failed to parse allow list manifest: {error}"))
        })?;
        match bad_mapping(field, &mapping) {
            None => Ok(mapping),
            Some(error) => {
                let why = format!("invalid allow list mapping in manifest: [{error}]");
                Err(invalid(field, path, &why))
            }
        }
    }
}

// === impl Settings ===

impl Settings {
    pub(crate) fn hides(&self, family: &Family<'_>) -> bool {
        let is_outdated = family.is_outdated() && !self.outdated_are_shown;
        is_outdated || self.disabled.contains(family.name())
    }

    pub(crate) fn disabled_count(&self) -> u64 {
        self.disabled.len() as u64
    }
}

/// As a `field.Invalid` of apimachinery prints.
fn invalid(field: &str, value: &impl Serialize, why: &str) -> String {
    let value = serde_json::to_string(value).unwrap_or_default();
    format!("metrics{field}: Invalid value: {value}: {why}")
}

fn bad_mapping(field: &str, mapping: &BTreeMap<String, String>) -> Option<String> {
    let is_good = |key: &String| {
        key.split_once(',').is_some_and(|(metric, label)| is_metric(metric) && is_label(label))
    };
    let why = format!(
        "must have keys with format `metricName,labelName` where metricName matches {METRIC:?} and \
         labelName matches {LABEL:?}"
    );
    (!mapping.keys().all(is_good)).then(|| invalid(field, mapping, &why))
}

/// Numbers and booleans are their texts, as Go's YAML reads them into strings.
fn mapping_of(text: &str) -> Result<BTreeMap<String, String>, String> {
    if text.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    let mapping: BTreeMap<String, serde_yaml::Value> =
        serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let texts = mapping.into_iter().map(|(key, value)| match value {
        serde_yaml::Value::String(text) => Ok((key, text)),
        serde_yaml::Value::Number(number) => Ok((key, number.to_string())),
        serde_yaml::Value::Bool(value) => Ok((key, value.to_string())),
        serde_yaml::Value::Null => Ok((key, String::new())),
        serde_yaml::Value::Sequence(_)
        | serde_yaml::Value::Mapping(_)
        | serde_yaml::Value::Tagged(_) => Err(format!("{key}: expected a string")),
    });
    texts.collect()
}

/// Matches [`METRIC`].
fn is_metric(name: &str) -> bool {
    is_word(name, |c| c == '_' || c == ':')
}

/// Matches [`LABEL`].
fn is_label(name: &str) -> bool {
    is_word(name, |c| c == '_')
}

fn is_word(name: &str, is_mark: impl Fn(char) -> bool) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || is_mark(c);
    name.starts_with(is_first) && name.chars().all(|c| is_first(c) || c.is_ascii_digit())
}

#[expect(clippy::ref_option, reason = "serde calls it with the field")]
fn is_none_or_empty(mapping: &Option<BTreeMap<String, String>>) -> bool {
    mapping.as_ref().is_none_or(BTreeMap::is_empty)
}

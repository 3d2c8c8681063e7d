//! Feature gates, and the emulated release.
//!
//! `table.txt` has all gates of upstream's binary, its libraries' included, with their whole
//! history, as `--help` and the metric `kubernetes_feature_enabled` show them. The rules are those
//! of k8s.io/component-base (featuregate, compatibility), and so are the errors; where Go's map
//! order decides which error comes first, here it is the order of names.

pub(crate) mod features;
mod table;
#[cfg(test)]
mod tests;
mod versions;

use std::collections::BTreeMap;

pub(crate) use features::Feature;
use table::{Gate, Spec, Stage};
pub use versions::{Minor, Versions};

use crate::flags::{Flags, boolean, handles};
use crate::registry::Entry;

/// The component of these gates and versions; upstream's manager has no other.
const COMPONENT: &str = "kube";

/// All gates, with the settings of the command line.
#[derive(Clone, Debug)]
pub struct Gates {
    /// The release of this binary, and the emulated one.
    pub versions: Versions,
    /// By name. Gates that the emulated release did not have are off and have no stage.
    states: BTreeMap<&'static str, State>,
    /// Gates that were set explicitly.
    given: BTreeMap<&'static str, bool>,
    /// Gates that were set although they will be removed.
    outdated: Vec<(&'static str, bool, Stage)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    stage: Option<Stage>,
    on: bool,
}

impl Gates {
    /// The settings of `--feature-gates`, `--emulated-version` and `--min-compatibility-version`.
    /// The error is upstream's (`ComponentGlobalsRegistry.Set`). The range of the versions is not
    /// checked yet: see [`Versions::errors`].
    pub fn from_flags(flags: &Flags) -> Result<Self, String> {
        let versions = Versions::from_flags(flags)?;
        let table = table::gates();
        let wanted = settings(flags.list(handles::FEATURE_GATES))?;
        let outdated = check(&wanted, &table, &versions)?;
        let states = states(&wanted, &table, versions.emulation);
        let given = |(name, on)| Some((*table.get_key_value(name)?.0, on));
        let given = wanted.into_iter().filter_map(given).collect();
        let errors = dependencies(&states, &table);
        if errors.is_empty() {
            Ok(Self { versions, states, given, outdated })
        } else {
            Err(crate::validation::aggregate(&errors))
        }
    }

    /// Whether a gate is on.
    pub(crate) fn is_on(&self, feature: Feature) -> bool {
        self.has(feature.name())
    }

    /// The explicit setting of a gate, if there is one.
    pub(crate) fn given(&self, feature: Feature) -> Option<bool> {
        self.given.get(feature.name()).copied()
    }

    /// Whether all gates of a row of the registry are on. A name that is not in the table of gates
    /// is a bug in this program and panics.
    pub(crate) fn let_run(&self, row: &Entry) -> bool {
        row.gates.iter().all(|name| self.has(name))
    }

    /// The gates that were set although nothing here reads them, by name. Rows of `registry` that
    /// are implemented read their gates.
    pub(crate) fn without_effect(&self, registry: &[Entry]) -> Vec<&'static str> {
        let asks = |row: &Entry, name| row.start.is_some() && row.gates.contains(&name);
        let is_asked = |name: &&'static str| {
            features::NAMES.contains(name)
                || [table::ALL_ALPHA, table::ALL_BETA].contains(name)
                || registry.iter().any(|row| asks(row, name))
        };
        self.given.keys().copied().filter(|name| !is_asked(name)).collect()
    }

    fn has(&self, name: &str) -> bool {
        match self.states.get(name) {
            Some(state) => state.on,
            None => unreachable!("{name} is no feature gate"),
        }
    }

    /// The gates of the emulated release, sorted by name: name, stage as in the metric
    /// `kubernetes_feature_enabled`, whether it is on.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        self.states.iter().filter_map(|(name, state)| Some((*name, state.stage?.label(), state.on)))
    }

    /// Logs the gates that were set although they will be removed, as upstream does.
    pub fn log(&self) {
        for (name, value, stage) in &self.outdated {
            let kind = if *stage == Stage::Deprecated { "deprecated" } else { "GA" };
            tracing::info!(
                feature_gate = name,
                value,
                "Warning: setting {kind} feature gate. It will be removed in a future release."
            );
        }
    }
}

/// The settings of a `--feature-gates` list; the last one for a gate counts.
fn settings(list: &[String]) -> Result<BTreeMap<&str, bool>, String> {
    let mut components: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for word in list {
        let (component, setting) = word.split_once(':').unwrap_or(("", word));
        components.entry(component.trim()).or_default().push(setting.trim());
    }
    if components.contains_key("") && components.contains_key(COMPONENT) {
        return Err("set kube feature gates with default empty prefix or kube: prefix \
                    consistently, do not mix use"
            .to_owned());
    }
    let strange = components.keys().find(|component| !["", COMPONENT].contains(component));
    if let Some(component) = strange {
        return Err(format!("component not registered: {component}"));
    }
    let settings = components.into_values().flatten().filter(|setting| !setting.is_empty());
    settings.map(setting).collect()
}

fn setting(text: &str) -> Result<(&str, bool), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("missing bool value for {text}"))?;
    let (name, value) = (name.trim(), value.trim());
    let on =
        boolean(value).map_err(|error| format!("invalid value of {name}={value}, err: {error}"))?;
    Ok((name, on))
}

/// Checks that each gate may be set as it is; returns those that will be removed.
fn check(
    wanted: &BTreeMap<&str, bool>,
    table: &BTreeMap<&'static str, Gate>,
    versions: &Versions,
) -> Result<Vec<(&'static str, bool, Stage)>, String> {
    let mut errors = Vec::new();
    let mut outdated = Vec::new();
    for (&name, &value) in wanted {
        let Some((&name, gate)) = table.get_key_value(name) else {
            errors.push(format!("unrecognized feature gate: {name}"));
            break;
        };
        let cannot = format!("cannot set feature gate {name} to {value}, feature is");
        match gate.at(versions.emulation) {
            Some(Spec { locked: true, on, .. }) if on != value => {
                errors.push(format!("{cannot} locked to {on}"));
            }
            Some(Spec { stage: stage @ (Stage::Ga | Stage::Deprecated), .. }) => {
                outdated.push((name, value, stage));
            }
            Some(Spec { stage: Stage::Alpha | Stage::Beta, .. }) => {}
            None => {
                let Versions { emulation, min_compat, .. } = versions;
                errors.push(format!(
                    "{cannot} PreAlpha at emulated version {emulation}, min compatibility version \
                     {min_compat}"
                ));
            }
        }
    }
    if errors.is_empty() { Ok(outdated) } else { Err(crate::validation::aggregate(&errors)) }
}

/// Explicit settings take precedence, then `AllAlpha` and `AllBeta`, then the default.
fn states(
    wanted: &BTreeMap<&str, bool>,
    table: &BTreeMap<&'static str, Gate>,
    emulation: Minor,
) -> BTreeMap<&'static str, State> {
    let state = |(&name, gate): (&&'static str, &Gate)| {
        let spec = gate.at(emulation);
        let all = match spec.map(|spec| spec.stage) {
            Some(Stage::Alpha) => wanted.get(table::ALL_ALPHA),
            Some(Stage::Beta) => wanted.get(table::ALL_BETA),
            Some(Stage::Ga | Stage::Deprecated) | None => None,
        };
        let default = spec.is_some_and(|spec| spec.on);
        let on = wanted.get(name).or(all).copied().unwrap_or(default);
        (name, State { stage: spec.map(|spec| spec.stage), on })
    };
    table.iter().map(state).collect()
}

/// A gate that is on requires the gates that it depends on.
fn dependencies(
    states: &BTreeMap<&'static str, State>,
    table: &BTreeMap<&'static str, Gate>,
) -> Vec<String> {
    let is_on = |name: &str| states.get(name).is_some_and(|state| state.on);
    let error = |(name, gate): (&&str, &Gate)| {
        let off = gate.needs.iter().copied().filter(|need| !is_on(need)).collect::<Vec<_>>();
        let is_broken = is_on(name) && !off.is_empty();
        is_broken.then(|| {
            let off = off.join(" ");
            format!("{name} is enabled, but depends on features that are disabled: [{off}]")
        })
    };
    table.iter().filter_map(error).collect()
}

//! Parses the table of gates: `Name: 1.22 alpha off, 1.34 ga on locked; needs Other, Another`.

use std::collections::BTreeMap;

use super::Minor;

/// One line per gate, sorted by name.
const TABLE: &str = include_str!("table.txt");

/// Sets all alpha gates without an explicit setting.
pub(super) const ALL_ALPHA: &str = "AllAlpha";
/// The same for beta.
pub(super) const ALL_BETA: &str = "AllBeta";

/// The history of a gate, oldest release first, and the gates that it depends on.
#[derive(Debug)]
pub(super) struct Gate {
    specs: Vec<(Minor, Spec)>,
    pub(super) needs: Vec<&'static str>,
}

/// The state of a gate in one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) stage: Stage,
    /// By default.
    pub(super) on: bool,
    /// Whether it cannot be changed.
    pub(super) locked: bool,
}

/// The stage of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// May be removed again.
    Alpha,
    /// Will stay, and may still change.
    Beta,
    /// Stable; the gate will be removed.
    Ga,
    /// Will be removed.
    Deprecated,
}

impl Stage {
    /// As in the metric `kubernetes_feature_enabled`.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Ga => "",
            Self::Deprecated => "DEPRECATED",
        }
    }
}

impl Gate {
    /// Its state in `release`; none if that did not have it.
    pub(super) fn at(&self, release: Minor) -> Option<Spec> {
        let mut specs = self.specs.iter().rev();
        specs.find(|(since, _)| *since <= release).map(|(_, spec)| *spec)
    }
}

/// All gates, by name.
pub(super) fn gates() -> BTreeMap<&'static str, Gate> {
    let rows = TABLE.lines().map(|line| row(line).expect("each line of the table can be read"));
    rows.collect()
}

fn row(line: &'static str) -> Option<(&'static str, Gate)> {
    let (name, rest) = line.split_once(": ")?;
    let (specs, needs) = rest.split_once("; needs ").unwrap_or((rest, ""));
    let needs = needs.split(", ").filter(|need| !need.is_empty()).collect();
    let specs = specs.split(", ").map(spec).collect::<Option<_>>()?;
    Some((name, Gate { specs, needs }))
}

fn spec(text: &str) -> Option<(Minor, Spec)> {
    let mut words = text.split(' ');
    let since = Minor::parse(words.next()?).ok()?;
    let stage = match words.next()? {
        "alpha" => Stage::Alpha,
        "beta" => Stage::Beta,
        "ga" => Stage::Ga,
        "deprecated" => Stage::Deprecated,
        _ => return None,
    };
    let on = match words.next()? {
        "on" => true,
        "off" => false,
        _ => return None,
    };
    let locked = match words.next() {
        Some("locked") => true,
        None => false,
        Some(_) => return None,
    };
    Some((since, Spec { stage, on, locked }))
}

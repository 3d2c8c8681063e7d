//! Which nodes a pod may be on: taints and tolerations, node selectors and node affinity. From
//! upstream's `component-helpers/scheduling/corev1`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::selector::check_requirement;
use crate::wire::null_is_empty;
use crate::{Labels, Requirement, Text, Time, intern, is_label_value};

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its name.
    pub key: Text,
    /// Its value, mostly empty.
    pub value: Text,
    /// What it does to pods that do not tolerate it.
    pub effect: Effect,
    /// When it was added; none if nobody has written that.
    pub added: Option<Time>,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// New ones are not put there.
    NoSchedule,
    /// New ones are put there only if nowhere else; also what unknown words read as.
    PreferNoSchedule,
    /// New ones are not put there, and those that are there must go.
    NoExecute,
}

/// An entry of `spec.tolerations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct Toleration {
    /// The taint's name; empty: every taint.
    pub key: String,
    /// `Exists`, `Equal`, or empty, which means `Equal`; behind a feature gate, `Lt` and `Gt`.
    pub operator: String,
    /// What the taint's value is compared with.
    pub value: String,
    /// The taint's effect; empty: every effect.
    pub effect: String,
    /// For how long it tolerates a taint with the effect `NoExecute`; none: for good.
    #[serde(rename = "tolerationSeconds")]
    pub seconds: Option<i64>,
}

/// Where pods of a template may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// `nodeName`, if the template names one.
    pub node_name: Option<String>,
    /// `hostNetwork`.
    pub host_network: bool,
    /// `tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `nodeSelector`: the labels that a node must have.
    node_selector: BTreeMap<String, String>,
    /// The required node affinity: of these terms one must hold.
    terms: Option<Vec<Term>>,
}

/// A term of a node selector: all of it must hold. None: it cannot be read, or asks for nothing;
/// such a term never holds.
type Term = Option<Vec<Condition>>;

/// One condition of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Label(String, Requirement),
    Greater(String, i64),
    Less(String, i64),
    /// A field is (or is not) this text. The only field is the node's name.
    Field(String, String, bool),
}

/// The parts of a pod's `spec` that a [`Placement`] is read from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WirePlacement {
    #[serde(deserialize_with = "null_is_empty")]
    node_name: String,
    host_network: bool,
    #[serde(deserialize_with = "null_is_empty")]
    tolerations: Vec<Toleration>,
    #[serde(deserialize_with = "null_is_empty")]
    node_selector: BTreeMap<String, String>,
    affinity: Option<WireAffinity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireAffinity {
    node_affinity: Option<WireNodeAffinity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireNodeAffinity {
    required_during_scheduling_ignored_during_execution: Option<WireTerms>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireTerms {
    #[serde(deserialize_with = "null_is_empty")]
    node_selector_terms: Vec<WireTerm>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireTerm {
    #[serde(deserialize_with = "null_is_empty")]
    match_expressions: Vec<WireCondition>,
    #[serde(deserialize_with = "null_is_empty")]
    match_fields: Vec<WireCondition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    key: String,
    operator: String,
    #[serde(deserialize_with = "null_is_empty")]
    values: Vec<String>,
}

// === impl Taint ===

impl Taint {
    /// A taint.
    pub fn new(key: &str, value: &str, effect: Effect) -> Self {
        Self { key: intern(key), value: intern(value), effect, added: None }
    }

    /// As the API writes it.
    pub fn to_json(&self) -> Value {
        let Self { key, value, effect, added } = self;
        let mut json = json!({"key": &**key, "effect": effect.as_str()});
        if !value.is_empty() {
            json["value"] = (**value).into();
        }
        if let Some(added) = added {
            json["timeAdded"] = json!(added);
        }
        json
    }
}

impl fmt::Display for Taint {
    /// As kubectl writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, effect, added: _ } = self;
        let equals = if value.is_empty() { "" } else { "=" };
        write!(f, "{key}{equals}{value}:{}", effect.as_str())
    }
}

impl Effect {
    /// Reads the API's word.
    pub fn parse(word: &str) -> Self {
        match word {
            "NoSchedule" => Self::NoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => Self::PreferNoSchedule,
        }
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

// === impl Toleration ===

impl Toleration {
    /// Whether it tolerates a taint. As `ToleratesTaint` without the gate
    /// `TaintTolerationComparisonOperators`: an operator that compares numbers tolerates nothing.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let any_or = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        any_or(&self.effect, taint.effect.as_str())
            && any_or(&self.key, &taint.key)
            && match self.operator.as_str() {
                "" | "Equal" => self.value == *taint.value,
                operator => operator == "Exists",
            }
    }

    /// Whether it tolerates a taint since the taint's value is a smaller (`Lt`) or greater (`Gt`)
    /// number. That counts only with the gate `TaintTolerationComparisonOperators`. As
    /// `compareNumericValues` of k8s.io/api.
    pub fn tolerates_by_number(&self, taint: &Taint) -> bool {
        let any_or = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        let (Some(bound), Some(found)) = (canonical(&self.value), canonical(&taint.value)) else {
            return false;
        };
        any_or(&self.effect, taint.effect.as_str())
            && any_or(&self.key, &taint.key)
            && match self.operator.as_str() {
                "Lt" => found < bound,
                "Gt" => found > bound,
                _ => false,
            }
    }
}

impl fmt::Display for Toleration {
    /// As its fields are written, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_any = |word: &'static str, text: &str| {
            if text.is_empty() { word.to_owned() } else { text.to_owned() }
        };
        f.write_str(&or_any("any taint", &self.key))?;
        match self.operator.as_str() {
            "Exists" => {}
            "" | "Equal" => write!(f, "={}", self.value)?,
            operator => write!(f, " {operator} {}", self.value)?,
        }
        write!(f, ":{}", or_any("any effect", &self.effect))?;
        self.seconds.map_or(Ok(()), |seconds| write!(f, " for {seconds}s"))
    }
}

/// A whole number as it prints: no plus sign, no leading zero, no minus zero.
fn canonical(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

// === impl Placement ===

impl Placement {
    /// Whether the node selector and the required node affinity let a node in. As
    /// `RequiredNodeAffinity.Match`.
    pub fn matches(&self, node_name: &str, node_labels: &Labels) -> bool {
        let wanted = &mut self.node_selector.iter();
        if !wanted.all(|(key, value)| node_labels.get(key) == Some(value)) {
            return false;
        }
        let holds = |term: &Term| {
            let conditions = term.as_ref();
            conditions.is_some_and(|all| all.iter().all(|c| c.holds(node_name, node_labels)))
        };
        self.terms.as_ref().is_none_or(|terms| terms.iter().any(holds))
    }
}

impl Condition {
    fn holds(&self, node_name: &str, labels: &Labels) -> bool {
        let number = |key: &str| labels.get(key)?.parse::<i64>().ok();
        match self {
            Self::Label(key, requirement) => requirement.holds(labels.get(key)),
            Self::Greater(key, bound) => number(key).is_some_and(|number| number > *bound),
            Self::Less(key, bound) => number(key).is_some_and(|number| number < *bound),
            Self::Field(field, value, equal) => {
                let found = if field == "metadata.name" { node_name } else { "" };
                (found == value) == *equal
            }
        }
    }
}

impl WirePlacement {
    pub(crate) fn view(self) -> Placement {
        let required = self.affinity.and_then(|affinity| affinity.node_affinity);
        let required = required
            .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution);
        let terms = required
            .map(|required| required.node_selector_terms.iter().map(WireTerm::parse).collect());
        Placement {
            node_name: Some(self.node_name).filter(|name| !name.is_empty()),
            host_network: self.host_network,
            tolerations: self.tolerations,
            node_selector: self.node_selector,
            terms,
        }
    }
}

impl WireTerm {
    fn parse(&self) -> Term {
        if self.match_expressions.is_empty() && self.match_fields.is_empty() {
            return None;
        }
        let labels = self.match_expressions.iter().map(WireCondition::label);
        let fields = self.match_fields.iter().map(WireCondition::field);
        labels.chain(fields).collect()
    }
}

impl WireCondition {
    /// As `labels.NewRequirement`; none if it is invalid.
    fn label(&self) -> Option<Condition> {
        let key = self.key.clone();
        let number = || match self.values.as_slice() {
            [number] if is_label_value(number) => number.parse::<i64>().ok(),
            _ => None,
        };
        match self.operator.as_str() {
            "Gt" => return Some(Condition::Greater(key, number()?)),
            "Lt" => return Some(Condition::Less(key, number()?)),
            _ => {}
        }
        let values = self.values.iter().cloned().collect();
        let requirement = Requirement::read(&key, &self.operator, values).ok()?;
        check_requirement(&key, &requirement).ok()?;
        Some(Condition::Label(key, requirement))
    }

    /// As `nodeSelectorRequirementsAsFieldSelector`; none if it is invalid.
    fn field(&self) -> Option<Condition> {
        let equal = match self.operator.as_str() {
            "In" => true,
            "NotIn" => false,
            _ => return None,
        };
        let [value] = self.values.as_slice() else { return None };
        Some(Condition::Field(self.key.clone(), value.clone(), equal))
    }
}

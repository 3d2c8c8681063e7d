//! Which rules a role should have. As `syncClusterRole` in upstream's
//! `pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go`.

use std::collections::BTreeSet;

use api::{ClusterRole, Kind, PolicyRule, Selector, SelectorError, Text};
use controller::{Action, ObjectRef, PatchKind, Plan, Step, Write};
use mutant::Mutant;
use serde_json::{Value, json};

use super::snapshot::Snapshot;

/// Owns the rules that are applied; upstream's name.
const FIELD_MANAGER: &str = "clusterrole-aggregation-controller";

pub(super) fn decide(s: &Snapshot) -> Plan {
    let Some(selectors) = &s.role.aggregates else {
        return Plan::rest("the role aggregates none");
    };
    let rules = match sum(selectors, s) {
        Ok(rules) => rules,
        Err(error) => return Plan::failed("the rules cannot be known", error),
    };
    if rules.iter().copied().eq(&s.role.rules) {
        return Plan::rest("the rules are right");
    }
    let why = format!("{} rules are aggregated, {} are there", rules.len(), s.role.rules.len());
    Plan::one(why, Step::InOrder(vec![apply(&s.role, &rules)]))
}

/// The rules of all roles that the selectors find, each once.
fn sum<'a>(
    selectors: &[Result<Selector, SelectorError>],
    s: &'a Snapshot,
) -> Result<Vec<&'a PolicyRule>, String> {
    let (mut rules, mut known) = (Vec::new(), BTreeSet::new());
    let is_last_only = mutant::is(Mutant::LastSelectorOnly);
    let first = if is_last_only { selectors.len().saturating_sub(1) } else { 0 };
    for (number, selector) in selectors.iter().enumerate().skip(first) {
        let selector = selector.as_ref();
        let selector = selector
            .map_err(|error| format!("aggregationRule.clusterRoleSelectors[{number}]: {error}"))?;
        for role in s.others.iter().filter(|role| selector.matches(&role.meta.labels)) {
            if let Some(error) = &role.unreadable {
                return Err(format!("cannot read clusterrole {}: {error}", role.meta.key));
            }
            rules.extend(role.rules.iter().filter(|rule| known.insert(*rule)));
        }
    }
    Ok(rules)
}

/// The name and the rules, and nothing else: all other fields stay with their managers.
fn apply(role: &ClusterRole, rules: &[&PolicyRule]) -> Action {
    let mut body = json!({
        "apiVersion": ClusterRole::RESOURCE.api_version(),
        "kind": ClusterRole::RESOURCE.kind,
        "metadata": { "name": &*role.meta.key.name, "uid": &*role.meta.uid },
    });
    if !rules.is_empty() {
        body["rules"] = rules.iter().map(|rule| json(rule)).collect();
    }
    let object = ObjectRef::new(&ClusterRole::RESOURCE, &role.meta);
    let kind = PatchKind::Apply { field_manager: FIELD_MANAGER, force: true };
    Write::patch(object, kind, body.to_string()).into()
}

/// A rule as upstream writes it: without empty lists.
fn json(rule: &PolicyRule) -> Value {
    let fields: [(&str, &[Text]); 5] = [
        ("verbs", &rule.verbs),
        ("apiGroups", &rule.api_groups),
        ("resources", &rule.resources),
        ("resourceNames", &rule.resource_names),
        ("nonResourceURLs", &rule.non_resource_urls),
    ];
    let fields = fields.into_iter().filter(|(_, list)| !list.is_empty());
    fields.map(|(name, list)| (name.to_owned(), json!(list))).collect()
}

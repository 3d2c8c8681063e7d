//! What is said of admission policies.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{at, list, number, text, uid};
use super::{Judged, Oracle};

/// The account that says which generation it has looked at.
pub(super) const ACCOUNT: &str = "validatingadmissionpolicy-status-controller";

/// By uid and generation: whether that has expressions to check.
#[derive(Default)]
pub(super) struct Policies(BTreeMap<(String, i64), bool>);

// === impl Policies ===

impl Policies {
    /// A policy was written.
    pub(super) fn learn(&mut self, policy: &Value) {
        let generation = number(policy, "/metadata/generation");
        self.0.insert((uid(policy).to_owned(), generation), has_something_to_check(policy));
    }
}

impl Oracle {
    /// Why that is not to be said of a policy.
    pub(super) fn says_wrong(&self, policy: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let generation = number(it.sent, "/status/observedGeneration");
        let known = self.policies.0.get(&(uid(policy).to_owned(), generation));
        let Some(has_something) = known else { return Some("there was no such generation") };
        let is_checked = !at(it.sent, "/status/typeChecking").is_null();
        (is_checked && *has_something).then_some("nobody has checked its expressions")
    }
}

/// What must be said of a policy.
pub(super) fn policy_lacks(policy: &Value) -> Option<String> {
    let [is, seen] =
        ["/metadata/generation", "/status/observedGeneration"].map(|path| number(policy, path));
    (is != seen).then(|| format!("its generation is {is}, and {seen} was looked at"))
}

/// The policies here have one rule, in one version.
fn has_something_to_check(policy: &Value) -> bool {
    let rules = list(policy, "/spec/matchConstraints/resourceRules");
    let names = |rule: &Value, path| {
        list(rule, path).iter().map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let is_named = |rule: &Value| {
        let any = Some("*".to_owned());
        !names(rule, "/apiGroups").contains(&any)
            && names(rule, "/resources").contains(&Some("deployments".to_owned()))
    };
    let has_expressions = !text(policy, "/spec/validations/0/expression").is_empty();
    has_expressions && rules.iter().any(is_named)
}

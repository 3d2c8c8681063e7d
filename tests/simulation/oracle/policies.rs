//! What is said of admission policies.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{at, list, number, text, uid};
use super::{Judged, Oracle};
use crate::policies::WRONG;

/// The account that says which generation it has looked at.
pub(super) const ACCOUNT: &str = "validatingadmissionpolicy-status-controller";

/// By uid and generation: what is right to say of it.
#[derive(Default)]
pub(super) struct Policies(BTreeMap<(String, i64), Expressions>);

/// What a policy has to check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expressions {
    /// Nothing, or what is right.
    Fine,
    /// A field that its kind does not have.
    Wrong,
}

// === impl Policies ===

impl Policies {
    /// A policy was written.
    pub(super) fn learn(&mut self, policy: &Value) {
        let generation = number(policy, "/metadata/generation");
        self.0.insert((uid(policy).to_owned(), generation), expressions(policy));
    }
}

impl Oracle {
    /// Why that is not to be said of a policy.
    pub(super) fn says_wrong(&self, policy: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let generation = number(it.sent, "/status/observedGeneration");
        let known = self.policies.0.get(&(uid(policy).to_owned(), generation));
        let Some(expressions) = known else { return Some("there was no such generation") };
        let said = at(it.sent, "/status/typeChecking");
        let has_warnings = !list(said, "/expressionWarnings").is_empty();
        // Without that field nobody has checked them, as when discovery fails.
        match (said.is_null(), has_warnings, expressions) {
            (false, false, Expressions::Wrong) => Some("nobody has checked its expressions"),
            (false, true, Expressions::Fine) => Some("nothing is wrong with its expressions"),
            (true, _, _)
            | (false, true, Expressions::Wrong)
            | (false, false, Expressions::Fine) => None,
        }
    }
}

/// What must be said of a policy.
pub(super) fn policy_lacks(policy: &Value) -> Option<String> {
    let [is, seen] =
        ["/metadata/generation", "/status/observedGeneration"].map(|path| number(policy, path));
    (is != seen).then(|| format!("its generation is {is}, and {seen} was looked at"))
}

/// The policies here have one rule, in one version.
fn expressions(policy: &Value) -> Expressions {
    let rules = list(policy, "/spec/matchConstraints/resourceRules");
    let names = |rule: &Value, path| {
        list(rule, path).iter().map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let is_named = |rule: &Value| {
        let any = Some("*".to_owned());
        !names(rule, "/apiGroups").contains(&any)
            && names(rule, "/resources").contains(&Some("deployments".to_owned()))
    };
    let is_wrong = text(policy, "/spec/validations/0/expression").contains(WRONG);
    if is_wrong && rules.iter().any(is_named) { Expressions::Wrong } else { Expressions::Fine }
}

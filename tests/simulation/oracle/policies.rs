//! What is said of admission policies.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::{at, list, number, text, uid};
use super::{Judged, Oracle};
use crate::policies::WRONG;

/// The account that says which generation it has looked at.
pub(super) const ACCOUNT: &str = "validatingadmissionpolicy-status-controller";

/// What is known of policies.
#[derive(Default)]
pub(super) struct Policies {
    /// By uid and generation: what is right to say of it.
    known: BTreeMap<(String, i64), Expressions>,
    /// The lives that have said something of a uid and a generation.
    said: BTreeSet<(String, String, i64)>,
}

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
        self.known.insert((uid(policy).to_owned(), generation), expressions(policy));
    }
}

impl Oracle {
    /// The manager has said something of a policy.
    pub(super) fn learn_said(&mut self, it: &Judged<'_>) {
        if it.account == ACCOUNT {
            let generation = number(it.sent, "/status/observedGeneration");
            let said = (it.life.to_owned(), uid(it.got).to_owned(), generation);
            self.policies.said.insert(said);
        }
    }

    /// A life knows what it has said, and reads the policy before it says anything.
    fn repeats(&self, policy: &Value, it: &Judged<'_>, generation: i64) -> bool {
        let said = (it.life.to_owned(), uid(policy).to_owned(), generation);
        number(policy, "/status/observedGeneration") >= generation
            && self.policies.said.contains(&said)
            && self.tries.none_was_lost(it.path)
    }

    /// Why that is not to be said of a policy.
    pub(super) fn says_wrong(&self, policy: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let generation = number(it.sent, "/status/observedGeneration");
        if self.repeats(policy, it, generation) {
            return Some("that generation was looked at");
        }
        let known = self.policies.known.get(&(uid(policy).to_owned(), generation));
        let Some(expressions) = known else { return Some("there was no such generation") };
        let said = at(it.sent, "/status/typeChecking");
        let has_warnings = !list(said, "/expressionWarnings").is_empty();
        // Kinds that discovery lacks are left out, as upstream's RESTMapper leaves them out
        // (`typesToCheck` in k8s.io/apiserver's policy/validating/typechecking.go; seed
        // `kinds-of-a-policy-unknown`).
        let may_lack = || self.knowledge.may_lack(&self.decider, it.account, "Deployment");
        // Without that field nobody has checked them.
        match (said.is_null(), has_warnings, expressions) {
            (false, false, Expressions::Wrong) => {
                (!may_lack()).then_some("nobody has checked its expressions")
            }
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

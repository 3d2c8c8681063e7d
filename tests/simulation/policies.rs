//! Admission policies that come and change, drawn from a seed. None is bound, so no request meets
//! one.

use crate::dice::Dice;
use crate::workload::{applied, tick};

/// The controller of what is said of policies runs in cases that have this.
pub(crate) const KIND: &str = "ValidatingAdmissionPolicy";

/// A field that Deployments do not have, of which there must be a warning.
pub(crate) const WRONG: &str = "replicaz";

/// Something about policies.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let name = format!("policy-{}", dice.below(3));
    let named = format!("validatingadmissionpolicy/{name}");
    let wait = || tick(dice.pick(&[1, 1, 50, 2000]));
    match dice.below(8) {
        0..=2 => vec![policy(dice, &name)],
        3..=5 => {
            vec![policy(dice, &name), wait(), policy(dice, &name), wait(), policy(dice, &name)]
        }
        6 => vec![format!("> delete {named}\n"), wait(), policy(dice, &name)],
        _ => vec![format!("> delete {named}\n")],
    }
}

fn policy(dice: &Dice, name: &str) -> String {
    let groups = dice.pick(&["apps", "apps", "'*'"]);
    let resources = dice.pick(&["deployments", "deployments, '*'", "deployments/scale"]);
    let limit = dice.below(9);
    let field = if limit < 5 { "replicas" } else { WRONG };
    let check = format!("validations: [{{expression: 'object.spec.{field} < {limit}'}}]");
    let audit = "auditAnnotations: [{key: a, valueExpression: 'null'}]";
    let says = if dice.chance(0.8) { check.as_str() } else { audit };
    applied(&format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: {KIND}\nmetadata: {{name: {name}}}\n\
        spec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [{groups}],\n  \
        apiVersions: [v1], operations: ['*'], resources: [{resources}]}}]}}\n  {says}"
    ))
}

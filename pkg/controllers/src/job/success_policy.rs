//! Whether enough indexes have succeeded. As upstream's `success_policy.go`.

use api::{SuccessPolicy, SuccessRule};

use super::indexes::Indexes;

/// What is said of the Job if a rule holds.
pub(super) fn matched(
    policy: Option<&SuccessPolicy>,
    completions: i64,
    succeeded: &Indexes,
) -> Option<String> {
    let rules = policy.filter(|_| !succeeded.is_empty()).map_or(&[][..], |policy| &policy.rules);
    let at = rules.iter().position(|rule| holds(rule, completions, succeeded))?;
    Some(format!("Matched rules at index {at}"))
}

fn holds(rule: &SuccessRule, completions: i64, succeeded: &Indexes) -> bool {
    let count = rule.succeeded_count.map(i64::from);
    let Some(asked) = &rule.succeeded_indexes else {
        return count.is_some_and(|count| succeeded.total() >= count);
    };
    let asked = Indexes::parse(asked, completions);
    let common = asked.in_common(succeeded);
    let enough = common == asked.total() || count.is_some_and(|count| common >= count);
    !asked.is_empty() && enough
}
